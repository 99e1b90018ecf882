#include "pg_ext/base/engine.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "pg_ext/planner/overlap_index.h"
#include "pg_ext/planner/overlap_plan.h"
#include "pg_ext/base/own.h"
#include "pg_ext/planner/planner_overlap_index_own.h"

static set_rel_pathlist_hook_type previous_hook;

/* ---- conditions ---- */

/* A column of the function's, perhaps as a type that is the same in bytes; else NULL. */
static const Var *column_of(Node *node, Index rel)
{
	while (IsA(node, RelabelType))
		node = (Node *)castNode(RelabelType, node)->arg;
	return IsA(node, Var) && castNode(Var, node)->varno == (int)rel && castNode(Var, node)->varlevelsup == 0 &&
			       castNode(Var, node)->varattno > 0
		       ? castNode(Var, node)
		       : NULL;
}

/* Is that = as the order of the column's type has it, and of no collation in which others are equal? */
static bool is_equality(Oid operator, Oid collation, const Var *column)
{
	TypeCacheEntry *type = lookup_type_cache(getBaseType(column->vartype), TYPECACHE_BTREE_OPFAMILY);

	return OidIsValid(type->btree_opf) && get_op_opfamily_strategy(operator, type->btree_opf) == BTEqualStrategyNumber &&
	       (!OidIsValid(collation) || get_collation_isdeterministic(collation));
}

/* Is it known when the function is called? */
static bool is_known(Node *node)
{
	return !contain_var_clause(node) && !contain_volatile_functions(node) && !contain_subplans(node);
}

static void add_condition(FuncExpr *call, const Var *column, Node *comparand)
{
	call->args = lappend(call->args, makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
						   Int32GetDatum(column->varattno), false, true));
	call->args = lappend(call->args, copyObject(comparand));
}

static void read_equal(FuncExpr *call, const OpExpr *condition, Index rel)
{
	Node *left = linitial(condition->args), *right = list_length(condition->args) == 2 ? lsecond(condition->args) : NULL;
	const Var *column = column_of(left, rel);
	Oid operator = condition->opno;

	if (right && !column) {
		column = column_of(right, rel);
		operator = get_commutator(operator);
		right = left;
	}
	if (right && column && OidIsValid(operator) && is_known(right) && is_equality(operator, condition->inputcollid, column))
		add_condition(call, column, right);
}

static void read_any(FuncExpr *call, const ScalarArrayOpExpr *condition, Index rel)
{
	const Var *column = column_of(linitial(condition->args), rel);

	if (condition->useOr && column && is_known(lsecond(condition->args)) &&
	    is_equality(condition->opno, condition->inputcollid, column))
		add_condition(call, column, lsecond(condition->args));
}

static void narrow(RelOptInfo *rel, Index number, RangeTblEntry *table)
{
	Node *call;
	ListCell *cell;

	if (list_length(table->functions) != 1 || table->funcordinality)
		return;
	call = linitial_node(RangeTblFunction, table->functions)->funcexpr;
	if (!call || !IsA(call, FuncExpr) ||
	    !iforest_is_own_function(castNode(FuncExpr, call)->funcid, "iforest_overlap_spans"))
		return;
	foreach(cell, rel->baserestrictinfo) {
		Node *condition = (Node *)lfirst_node(RestrictInfo, cell)->clause;

		if (list_length(castNode(FuncExpr, call)->args) > FUNC_MAX_ARGS - 2)
			break;
		if (IsA(condition, OpExpr))
			read_equal(castNode(FuncExpr, call), (OpExpr *)condition, number);
		else if (IsA(condition, ScalarArrayOpExpr))
			read_any(castNode(FuncExpr, call), (ScalarArrayOpExpr *)condition, number);
	}
}

/* ---- arms that are not run ---- */

/* What gives that parameter, if it is one column of a subquery that is run once; else NULL. */
static Plan *init_plan_of(PlannerInfo *root, const Param *param)
{
	ListCell *cell;

	if (param->paramkind != PARAM_EXEC)
		return NULL;
	foreach(cell, root->init_plans) {
		SubPlan *candidate = lfirst_node(SubPlan, cell);

		if (list_member_int(candidate->setParam, param->paramid))
			return list_nth(root->glob->subplans, candidate->plan_id - 1);
	}
	return NULL;
}

/* iforest_overlap_index(), if that condition is (SELECT i FROM i) IS NULL, i being what it gives; else NULL. */
static const FuncExpr *index_wanted(PlannerInfo *root, Node *condition)
{
	Plan *plan;
	Node *call;

	if (!IsA(condition, NullTest) || castNode(NullTest, condition)->nulltesttype != IS_NULL ||
	    !IsA(castNode(NullTest, condition)->arg, Param))
		return NULL;
	plan = init_plan_of(root, (Param *)castNode(NullTest, condition)->arg);
	if (!plan || !IsA(plan, CteScan))
		return NULL;
	plan = list_nth(root->glob->subplans, castNode(CteScan, plan)->ctePlanId - 1);
	if (!IsA(plan, Result) || list_length(plan->targetlist) != 1)
		return NULL;
	call = (Node *)linitial_node(TargetEntry, plan->targetlist)->expr;
	return IsA(call, FuncExpr) && iforest_is_own_function(castNode(FuncExpr, call)->funcid, "iforest_overlap_index")
		       ? castNode(FuncExpr, call)
		       : NULL;
}

/* Is that the gate of all times, and the window given by what is not known yet? Who gives one does so to ask of less. */
static bool is_gate_of_all_times(Node *condition)
{
	enum { T0, T1, IS_OPEN = 6, N_ARGUMENTS = 8 };
	List *arguments = IsA(condition, FuncExpr) ? castNode(FuncExpr, condition)->args : NIL;
	Node *is_open;

	if (list_length(arguments) != N_ARGUMENTS ||
	    (IsA(list_nth(arguments, T0), Const) && IsA(list_nth(arguments, T1), Const)))
		return false;
	is_open = list_nth(arguments, IS_OPEN);
	return IsA(is_open, Const) && !castNode(Const, is_open)->constisnull &&
	       DatumGetBool(castNode(Const, is_open)->constvalue) &&
	       iforest_is_own_function(castNode(FuncExpr, condition)->funcid, "iforest_window_asks");
}

static bool is_left_out(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell *cell;

	foreach(cell, rel->baserestrictinfo) {
		RestrictInfo *condition = lfirst_node(RestrictInfo, cell);
		const FuncExpr *call = condition->pseudoconstant ? index_wanted(root, (Node *)condition->clause) : NULL;

		if ((call && iforest_overlap_index_is_likely(call)) ||
		    (condition->pseudoconstant && is_gate_of_all_times((Node *)condition->clause)))
			return true;
	}
	return false;
}

/* The planner takes no account of conditions before a path that are checked once. Of several paths the cheapest is kept, as if
 * it were run. */
static void cost_nothing(PlannerInfo *root, RelOptInfo *rel)
{
	Path *cheapest = NULL;
	ListCell *cell;

	if (IS_DUMMY_REL(rel) || rel->pathlist == NIL || !is_left_out(root, rel))
		return;
	foreach(cell, rel->pathlist) {
		Path *path = lfirst(cell);

		if (!path->param_info && (!cheapest || path->total_cost < cheapest->total_cost))
			cheapest = path;
	}
	if (!cheapest)
		return;
	cheapest->startup_cost = 0;
	cheapest->total_cost = cpu_tuple_cost;
	cheapest->rows = 1;
	rel->rows = 1;
	rel->pathlist = list_make1(cheapest);
	rel->partial_pathlist = NIL;
}

/* ---- the hook ---- */

static void consider(PlannerInfo *root, RelOptInfo *rel, Index number, RangeTblEntry *table)
{
	if (previous_hook)
		previous_hook(root, rel, number, table);
	if (table->rtekind == RTE_FUNCTION)
		narrow(rel, number, table);
	else if (table->rtekind == RTE_SUBQUERY)
		cost_nothing(root, rel);
}

void iforest_overlap_register(void)
{
	previous_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = consider;
}
