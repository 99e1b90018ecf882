#include "pg_ext/top.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "pg_ext/aggregate_plan.h"
#include "pg_ext/compat.h"
#include "pg_ext/match.h"

/* Measured: what it takes to find the next entry, beside the time of an operator; its row is fetched on top of that. */
enum { OPERATORS_AN_ENTRY = 200 };

static set_rel_pathlist_hook_type previous_hook;

/* ---- conditions ---- */

static bool collations_fit(Oid of_index, Oid of_clause)
{
	return !OidIsValid(of_index) || of_index == of_clause;
}

/* What a comparison of a column of the index says as a scan key; NIL where it is none. */
static List *key_of_comparison(PlannerInfo *root, RestrictInfo *restriction, IndexOptInfo *index, int column)
{
	OpExpr *clause = castNode(OpExpr, restriction->clause);
	Oid commutator;

	if (list_length(clause->args) != 2 || !collations_fit(index->indexcollations[column], clause->inputcollid))
		return NIL;
	if (match_index_to_operand(linitial(clause->args), column, index) &&
	    is_pseudo_constant_for_index(root, lsecond(clause->args), index) && op_in_opfamily(clause->opno, index->opfamily[column]))
		return list_make1(restriction);
	if (!match_index_to_operand(lsecond(clause->args), column, index) ||
	    !is_pseudo_constant_for_index(root, linitial(clause->args), index))
		return NIL;
	commutator = get_commutator(clause->opno);
	if (!OidIsValid(commutator) || !op_in_opfamily(commutator, index->opfamily[column]))
		return NIL;
	return list_make1(commute_restrictinfo(restriction, commutator));
}

static List *key_of_array(PlannerInfo *root, RestrictInfo *restriction, IndexOptInfo *index, int column)
{
	ScalarArrayOpExpr *clause = castNode(ScalarArrayOpExpr, restriction->clause);

	if (clause->useOr && collations_fit(index->indexcollations[column], clause->inputcollid) &&
	    match_index_to_operand(linitial(clause->args), column, index) &&
	    is_pseudo_constant_for_index(root, lsecond(clause->args), index) && op_in_opfamily(clause->opno, index->opfamily[column]))
		return list_make1(restriction);
	return NIL;
}

/* The conditions of the table that choose series and times, as IndexClauses. All are checked again by the index scan, or are exact. */
static List *index_clauses(PlannerInfo *root, IndexOptInfo *index)
{
	List *clauses = NIL;
	ListCell *cell;

	for (int column = 0; column < index->nkeycolumns; column++)
		foreach(cell, index->indrestrictinfo) {
			RestrictInfo *restriction = lfirst_node(RestrictInfo, cell);
			IndexClause *clause;
			List *keys = NIL;

			if (!restriction_is_securely_promotable(restriction, index->rel))
				continue;
			if (IsA(restriction->clause, OpExpr))
				keys = key_of_comparison(root, restriction, index, column);
			else if (IsA(restriction->clause, ScalarArrayOpExpr))
				keys = key_of_array(root, restriction, index, column);
			if (keys == NIL)
				continue;
			clause = makeNode(IndexClause);
			clause->rinfo = restriction;
			clause->indexquals = keys;
			clause->indexcol = (AttrNumber)column;
			clauses = lappend(clauses, clause);
		}
	return clauses;
}

/* ---- conditions on the value itself ---- */

/* What the conditions leave of the values. They are all checked again: this says where nothing need be looked for. */
struct limits {
	bool has_nulls, has_values;
	List *expressions, *are_low; /* of bounds */
};

/* A comparison in the order of the value's type is false for NULL; one with a constant of the same type is a bound. */
static void read_comparison(PlannerInfo *root, OpExpr *clause, IndexOptInfo *index, int column, Oid type, struct limits *limits)
{
	Oid family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	bool is_left = list_length(clause->args) == 2 && match_index_to_operand(linitial(clause->args), column, index);
	Node *other;
	int strategy;

	if (!is_left && (list_length(clause->args) != 2 || !match_index_to_operand(lsecond(clause->args), column, index)))
		return;
	strategy = get_op_opfamily_strategy(clause->opno, family);
	other = is_left ? lsecond(clause->args) : linitial(clause->args);
	if (strategy == InvalidStrategy)
		return;
	limits->has_nulls = false;
	if (type == NUMERICOID || getBaseType(exprType(other)) != type || !is_pseudo_constant_for_index(root, other, index))
		return;
	if (strategy == BTEqualStrategyNumber || (strategy < BTEqualStrategyNumber) != is_left) {
		limits->expressions = lappend(limits->expressions, other);
		limits->are_low = lappend_int(limits->are_low, true);
	}
	if (strategy == BTEqualStrategyNumber || (strategy < BTEqualStrategyNumber) == is_left) {
		limits->expressions = lappend(limits->expressions, other);
		limits->are_low = lappend_int(limits->are_low, false);
	}
}

static struct limits limits_of(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index, int column, Oid type)
{
	struct limits limits = { .has_nulls = true, .has_values = true };
	ListCell *cell;

	foreach(cell, rel->baserestrictinfo) {
		Expr *clause = lfirst_node(RestrictInfo, cell)->clause;

		if (IsA(clause, OpExpr))
			read_comparison(root, castNode(OpExpr, clause), index, column, type, &limits);
		else if (IsA(clause, NullTest) && match_index_to_operand((Node *)castNode(NullTest, clause)->arg, column, index))
			*(castNode(NullTest, clause)->nulltesttype == IS_NULL ? &limits.has_values : &limits.has_nulls) = false;
	}
	return limits;
}

/* ---- the path ---- */

/* Each entry that meets the conditions of the index costs a look at its row, anywhere in the table; who takes a few pays for a few. */
static void estimate(CustomPath *path, const IndexPath *below, const RelOptInfo *rel)
{
	double n_entries = clamp_row_est(below->indexselectivity * below->indexinfo->tuples);
	Cost an_entry = random_page_cost + cpu_tuple_cost + OPERATORS_AN_ENTRY * cpu_operator_cost + rel->baserestrictcost.per_tuple;

	path->path.rows = below->path.rows;
	path->path.startup_cost = below->path.startup_cost + rel->baserestrictcost.startup + random_page_cost;
	path->path.total_cost = path->path.startup_cost + n_entries * an_entry +
				below->path.rows * path->path.pathtarget->cost.per_tuple;
	iforest_copy_disabled(&path->path, &below->path);
}

static char *order_text(const char *column, const PathKey *key)
{
	bool descends = iforest_descends(key);

	return psprintf("%s%s%s", quote_identifier(column), descends ? " DESC" : "",
			key->pk_nulls_first == descends ? "" : descends ? " NULLS LAST" : " NULLS FIRST");
}

static Plan *plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target, List *clauses, List *plans)
{
	CustomScan *scan = makeNode(CustomScan);

	(void)root;
	(void)rel;
	(void)clauses; /* the index scan has them */
	scan->scan.plan.targetlist = target;
	scan->custom_scan_tlist = copyObject(linitial_node(Plan, plans)->targetlist);
	scan->custom_plans = plans;
	scan->custom_exprs = linitial(path->custom_private);
	scan->custom_private = list_copy_tail(path->custom_private, 1);
	scan->flags = path->flags;
	scan->methods = &iforest_top_scan_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = { .CustomName = "IForestTopK", .PlanCustomPath = plan_path };

static void add_top(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index, int v)
{
	IndexPath *below = create_index_path(root, index, index_clauses(root, index), NIL, NIL, NIL, ForwardScanDirection, false, NULL,
					     1.0, false);
	const PathKey *key = linitial_node(PathKey, root->query_pathkeys);
	int column = index->nkeycolumns + v;
	const Var *var = castNode(Var, list_nth_node(TargetEntry, index->indextlist, column)->expr);
	struct limits limits = limits_of(root, rel, index, column, getBaseType(var->vartype));
	char *name = get_attname(planner_rt_fetch(rel->relid, root)->relid, var->varattno, false);
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.parallel_safe = rel->consider_parallel;
	path->path.pathkeys = list_make1((void *)key);
	path->custom_paths = list_make1(below);
	/* the expressions apart: the planner finishes those of a plan */
	path->custom_private = list_make4(limits.expressions,
					  list_make5_int(v, iforest_descends(key), key->pk_nulls_first, limits.has_nulls, limits.has_values),
					  limits.are_low, makeString(order_text(name, key)));
	path->methods = &path_methods;
	estimate(path, below, rel);
	add_path(rel, &path->path);
}

/* ---- the query ---- */

/* Is the query ordered by this value column of the index, in the order of its type? */
static bool is_ordered_by(const PathKey *key, const RelOptInfo *rel, const TargetEntry *value)
{
	TypeCacheEntry *type = lookup_type_cache(getBaseType(exprType((Node *)value->expr)), TYPECACHE_BTREE_OPFAMILY);

	return IsA(value->expr, Var) && key->pk_opfamily == type->btree_opf && !key->pk_eclass->ec_has_volatile &&
	       find_ec_member_matching_expr(key->pk_eclass, value->expr, rel->relids);
}

static void consider_index(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index)
{
	const PathKey *key = linitial_node(PathKey, root->query_pathkeys);

	for (int v = 0; v < index->ncolumns - index->nkeycolumns; v++)
		if (is_ordered_by(key, rel, list_nth_node(TargetEntry, index->indextlist, index->nkeycolumns + v))) {
			add_top(root, rel, index, v);
			break;
		}
}

/* A condition without columns is asked by a node between this one and the index scan, which then is not where it is looked for. */
static bool has_constant_condition(const RelOptInfo *rel)
{
	ListCell *cell;

	foreach(cell, rel->baserestrictinfo)
		if (lfirst_node(RestrictInfo, cell)->pseudoconstant)
			return true;
	return false;
}

static void consider_scans(PlannerInfo *root, RelOptInfo *rel, Index number, RangeTblEntry *table)
{
	ListCell *cell;

	if (previous_hook)
		previous_hook(root, rel, number, table);
	if (!iforest_enable || root->query_pathkeys == NIL || table->rtekind != RTE_RELATION || table->inh || table->tablesample ||
	    IS_DUMMY_REL(rel) || (rel->reloptkind != RELOPT_BASEREL && rel->reloptkind != RELOPT_OTHER_MEMBER_REL) ||
	    has_constant_condition(rel))
		return;
	foreach(cell, rel->indexlist)
		if (iforest_is_usable(lfirst(cell)))
			consider_index(root, rel, lfirst(cell));
}

void iforest_top_register(void)
{
	RegisterCustomScanMethods(&iforest_top_scan_methods);
	previous_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = consider_scans;
}
