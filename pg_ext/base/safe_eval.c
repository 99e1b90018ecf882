#include "pg_ext/base/safe_eval.h"

#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "commands/extension.h"
#include "executor/executor.h"
#include "executor/nodeSubplan.h"
#include "utils/lsyscache.h"

const char *ifp_extension_function(Oid function)
{
	static const char prefix[] = "iforest_";
	const char *name = function < FirstNormalObjectId ? NULL : get_func_name(function);
	Oid extension;

	if (!name || strncmp(name, prefix, strlen(prefix)) != 0)
		return NULL;
	extension = get_extension_oid("iforest", true);
	return OidIsValid(extension) && getExtensionOfObject(ProcedureRelationId, function) == extension ? name : NULL;
}

bool ifp_is_extension_function(Oid function, const char *name)
{
	const char *own = ifp_extension_function(function);

	return own && strcmp(own, name) == 0;
}

static bool is_foreign(Oid function, void *context)
{
	(void)context;
	return function >= FirstNormalObjectId && !ifp_extension_function(function);
}

struct search {
	check_function_callback is_meant;
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
		return check_functions_in_node(node, search->is_meant, NULL) ||
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
	struct search search = { is_meant };

	return calls_walker(node, &search);
}

bool ifp_calls_foreign_functions(Node *node)
{
	return ifp_may_call(node, is_foreign);
}

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
