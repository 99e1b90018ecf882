#include "pg_ext/base/safe_eval.h"

#include "access/transam.h"
#include "executor/executor.h"
#include "executor/nodeSubplan.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pg_ext/base/known_functions.h"

/* ---- functions that an expression calls ---- */

static bool is_foreign(Oid function, void *context)
{
	(void)context;
	return !ifp_holds_only_memory(function);
}

static bool is_of_enums(Oid function)
{
	switch (function) {
	case F_ENUM_EQ:
	case F_ENUM_NE:
	case F_ENUM_LT:
	case F_ENUM_LE:
	case F_ENUM_GT:
	case F_ENUM_GE:
		return true;
	default:
		return false;
	}
}

/* True if an argument is of a type that may have functions of its own, which the called function would call. PostgreSQL compares
 * enums without any. */
static bool has_foreign_type(Oid function, const List *arguments)
{
	ListCell *cell;

	if (is_of_enums(function))
		return false;
	foreach (cell, arguments)
		if (exprType(lfirst(cell)) >= FirstNormalObjectId)
			return true;
	return false;
}

static bool gets_foreign_type(Node *node)
{
	switch (nodeTag(node)) {
	case T_FuncExpr:
		return has_foreign_type(castNode(FuncExpr, node)->funcid, castNode(FuncExpr, node)->args);
	case T_OpExpr:
	case T_DistinctExpr:
	case T_NullIfExpr:
		return has_foreign_type(get_opcode(((OpExpr *)node)->opno), ((OpExpr *)node)->args);
	case T_ScalarArrayOpExpr:
		return has_foreign_type(get_opcode(castNode(ScalarArrayOpExpr, node)->opno),
					castNode(ScalarArrayOpExpr, node)->args);
	case T_RowCompareExpr:
		return has_foreign_type(InvalidOid, castNode(RowCompareExpr, node)->largs) ||
		       has_foreign_type(InvalidOid, castNode(RowCompareExpr, node)->rargs);
	default:
		return false;
	}
}

struct search {
	check_function_callback is_meant;
	bool by_type; /* foreign types of arguments count, too */
};

static bool calls_walker(Node *node, void *context)
{
	const struct search *search = context;

	if (!node)
		return false;
	switch (nodeTag(node)) {
	case T_Var:
	case T_Const:
	case T_Param:
	case T_FuncExpr:
	case T_OpExpr:
	case T_DistinctExpr:
	case T_NullIfExpr:
	case T_ScalarArrayOpExpr:
	case T_BoolExpr:
	case T_NullTest:
	case T_BooleanTest:
	case T_RelabelType:
	case T_CaseExpr:
	case T_CaseWhen:
	case T_CaseTestExpr:
	case T_CoalesceExpr:
	case T_SQLValueFunction:
	case T_RowCompareExpr:
	case T_List:
		return check_functions_in_node(node, search->is_meant, NULL) || (search->by_type && gets_foreign_type(node)) ||
		       expression_tree_walker(node, calls_walker, context);
	case T_MinMaxExpr:
		/* its comparison function is not in the node */
		return castNode(MinMaxExpr, node)->minmaxtype >= FirstNormalObjectId ||
		       expression_tree_walker(node, calls_walker, context);
	default:
		return true;
	}
}

bool ifp_may_call(Node *node, check_function_callback is_meant)
{
	struct search search = { .is_meant = is_meant };

	return calls_walker(node, &search);
}

bool ifp_calls_foreign_functions(Node *node)
{
	struct search search = { .is_meant = is_foreign, .by_type = true };

	return calls_walker(node, &search);
}

/* ---- evaluation ---- */

static bool collect_parameters(Node *node, void *context)
{
	Bitmapset **parameters = context;

	if (!node)
		return false;
	if (IsA(node, Param) && castNode(Param, node)->paramkind == PARAM_EXEC)
		*parameters = bms_add_member(*parameters, castNode(Param, node)->paramid);
	return expression_tree_walker(node, collect_parameters, context);
}

struct ifp_safe_expression ifp_safe_eval_prepare(Expr *expression)
{
	struct ifp_safe_expression result = { .state = ExecInitExpr(expression, NULL),
					      .may_catch = !ifp_calls_foreign_functions((Node *)expression) };

	(void)collect_parameters((Node *)expression, &result.parameters);
	return result;
}

/* True for errors that depend on data. An indeterminate collation concerns one comparison, not the query. */
static bool is_of_data(int code)
{
	return ERRCODE_TO_CATEGORY(code) == ERRCODE_DATA_EXCEPTION || code == ERRCODE_FEATURE_NOT_SUPPORTED ||
	       code == ERRCODE_INDETERMINATE_COLLATION;
}

static bool evaluate(const struct ifp_safe_expression *expression, ExprContext *econtext, Datum *value, bool *is_null,
		     ErrorData **error)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool done = false;

	PG_TRY();
	{
		*value = ExecEvalExprSwitchContext(expression->state, econtext, is_null);
		done = true;
	}
	PG_CATCH();
	{
		if (!is_of_data(geterrcode()))
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		if (error)
			*error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	return done;
}

bool ifp_safe_eval(const struct ifp_safe_expression *expression, ExprContext *econtext, Datum *value, bool *is_null,
		   ErrorData **error)
{
	if (expression->may_catch) {
		ExecSetParamPlanMulti(expression->parameters, econtext);
		return evaluate(expression, econtext, value, is_null, error);
	}
	*value = ExecEvalExprSwitchContext(expression->state, econtext, is_null);
	return true;
}
