#include "pg_ext/exec/top_conditions.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "pg_ext/planner/agg_path.h"
#include "pg_ext/base/compat.h"
#include "pg_ext/planner/query_match.h"

/* Measured: what it takes to find the next entry, beside the time of an operator; its row is fetched on top of that. */
enum { OPERATORS_AN_ENTRY = 200 };

static set_rel_pathlist_hook_type previous_hook;

/* ---- the path ---- */

/* The part of the rows that conditions on series and times leave, and spans that start before a time and end after it left
 * apart: these are few. */
static double entries_reached(PlannerInfo *root, const IndexPath *below, Node *reach)
{
	const IndexOptInfo *index = below->indexinfo;
	int time = index->nkeycolumns - 1;
	Oid type = index->opcintype[time], operator= get_opfamily_member(index->opfamily[time], type, type,
									 BTGreaterEqualStrategyNumber);
	Expr *time_column = list_nth_node(TargetEntry, index->indextlist, time)->expr;
	List *clauses = NIL;
	ListCell *cell;

	foreach(cell, below->indexclauses)
		clauses = lappend(clauses, lfirst_node(IndexClause, cell)->rinfo);
	if (OidIsValid(operator))
		clauses = lappend(clauses,
				  make_opclause(operator, BOOLOID, false, time_column, (Expr *)reach, InvalidOid, InvalidOid));
	return clamp_row_est(clauselist_selectivity(root, clauses, (int)index->rel->relid, JOIN_INNER, NULL) * index->tuples);
}

/* In the order of a value each entry costs a look at its row, anywhere in the table; who takes a few pays for a few. In that of
 * time rows lie together, as for the scan below. */
static void estimate(PlannerInfo *root, CustomPath *path, const IndexPath *below, const RelOptInfo *rel, Node *reach,
		     bool by_value)
{
	double n_below = clamp_row_est(below->indexselectivity * below->indexinfo->tuples);
	double n_entries = reach ? Min(entries_reached(root, below, reach), n_below) : n_below;
	Cost an_entry = random_page_cost + cpu_tuple_cost + rel->baserestrictcost.per_tuple;

	if (!by_value)
		an_entry = (below->path.total_cost - below->path.startup_cost) / n_below;
	path->path.rows = below->path.rows;
	path->path.startup_cost = below->path.startup_cost + rel->baserestrictcost.startup + random_page_cost;
	path->path.total_cost = path->path.startup_cost + n_entries * (an_entry + OPERATORS_AN_ENTRY * cpu_operator_cost) +
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
	scan->methods =
		linitial_int(linitial(scan->custom_private)) < 0 ? &reach_scan_methods : &top_scan_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = { .CustomName = "IForestTopK", .PlanCustomPath = plan_path };

/* A path over one that is made for it. v: the value column by which, -1 for none; limits->expressions and so on: what its
 * bounds are. */
static void add_scan(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index, int v, const struct iforest_top_limits *limits,
		     Node *reach)
{
	IndexPath *below = create_index_path(root, index, iforest_top_index_clauses(root, index), NIL, NIL, NIL,
					     ForwardScanDirection, false, NULL, 1.0, false);
	const PathKey *key = v >= 0 ? linitial_node(PathKey, root->query_pathkeys) : NULL;
	CustomPath *path = makeNode(CustomPath);
	char *text = pstrdup("");

	if (key) {
		const Var *var = castNode(Var, list_nth_node(TargetEntry, index->indextlist, index->nkeycolumns + v)->expr);

		text = order_text(get_attname(planner_rt_fetch(rel->relid, root)->relid, var->varattno, false), key);
		path->path.pathkeys = list_make1((void *)key);
	}
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.parallel_safe = rel->consider_parallel;
	path->custom_paths = list_make1(below);
	/* the expressions apart: the planner finishes those of a plan */
	path->custom_private = list_make4(limits->expressions,
					  list_make5_int(v, key && iforest_descends(key), key && key->pk_nulls_first,
							 limits->has_nulls, limits->has_values),
					  limits->kinds, makeString(text));
	path->methods = &path_methods;
	estimate(root, path, below, rel, reach, v >= 0);
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
	struct iforest_top_limits by_time = { .has_values = true };
	Node *reach = iforest_top_add_reach(root, index, &by_time);

	if (reach)
		add_scan(root, rel, index, -1, &by_time, reach);
	for (int v = 0; root->query_pathkeys && v < index->ncolumns - index->nkeycolumns; v++) {
		const TargetEntry *value = list_nth_node(TargetEntry, index->indextlist, index->nkeycolumns + v);
		struct iforest_top_limits limits;

		if (!is_ordered_by(linitial_node(PathKey, root->query_pathkeys), rel, value))
			continue;
		limits = iforest_top_limits_of(root, rel, index, index->nkeycolumns + v,
					       getBaseType(exprType((Node *)value->expr)));
		limits.expressions = list_concat(limits.expressions, by_time.expressions);
		limits.kinds = list_concat(limits.kinds, by_time.kinds);
		add_scan(root, rel, index, v, &limits, reach);
		break;
	}
}

/* A condition without columns is asked by a node between this one and the index scan, which then is not where it is looked
 * for. */
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
	/* what has to be computed here from other tables' columns needs a path that waits for them */
	if (!iforest_enable || table->rtekind != RTE_RELATION || table->inh || table->tablesample || IS_DUMMY_REL(rel) ||
	    !bms_is_empty(rel->lateral_relids) ||
	    (rel->reloptkind != RELOPT_BASEREL && rel->reloptkind != RELOPT_OTHER_MEMBER_REL) || has_constant_condition(rel))
		return;
	foreach(cell, rel->indexlist)
		if (iforest_is_usable(lfirst(cell)))
			consider_index(root, rel, lfirst(cell));
}

void iforest_top_register(void)
{
	RegisterCustomScanMethods(&top_scan_methods);
	RegisterCustomScanMethods(&reach_scan_methods);
	previous_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = consider_scans;
}
