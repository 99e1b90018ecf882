#include "pg_ext/planner/skip_path.h"

#include "pg_ext/base/engine.h"

#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "pg_ext/base/compat.h"
#include "pg_ext/planner/expression.h"
#include "pg_ext/planner/index_clauses.h"
#include "pg_ext/planner/query_level.h"
#include "pg_ext/planner/query_match.h"
#include "pg_ext/planner/selectivity.h"
#include "pg_ext/planner/topk_path.h"
#include "pg_ext/types/definition.h"

/* The first rows of groups, over the columns of a table. */
struct first_rows {
	List *groups;  /* expressions that identify groups */
	List *order;   /* expressions, the order within a group */
	List *clauses; /* their SortGroupClauses */
	int64 n;       /* rows of each group */
};

/* How an index gives them. */
struct skip_order {
	bool is_backward, counts_nulls; /* by time: the end at which the scan starts; rows without a time count */
	bool by_value;
	struct ifp_value_order of_value;
};

/* ---- what an index gives ---- */

static Expr *index_column(const IndexOptInfo *index, int column)
{
	return list_nth_node(TargetEntry, index->indextlist, column)->expr;
}

/* True if the node has columns other than by columns of the index whose equal values are identical. */
static bool has_other_columns(Node *node, void *context)
{
	const IndexOptInfo *index = context;

	if (!node)
		return false;
	for (int i = 0; i < index->nkeycolumns - 1; i++)
		if (equal(node, index_column(index, i)))
			return !ifp_equal_is_identical(node);
	return IsA(node, Var) || IsA(node, PlaceHolderVar) || IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) ||
	       expression_tree_walker(node, has_other_columns, context);
}

/* True if the expression has one value for all rows of a series. */
static bool is_of_series(Node *expression, IndexOptInfo *index)
{
	return !has_other_columns(expression, index) && !contain_volatile_functions(expression);
}

static bool are_of_series(List *expressions, IndexOptInfo *index)
{
	ListCell *cell;

	foreach (cell, expressions)
		if (!is_of_series(lfirst(cell), index))
			return false;
	return true;
}

/* True if no row has a NULL time. */
static bool has_times(PlannerInfo *root, const IndexOptInfo *index)
{
	const Var *time = (const Var *)index_column(index, index->nkeycolumns - 1);

	return IsA(time, Var) && ifp_is_not_null(index->rel, planner_rt_fetch(index->rel->relid, root)->relid, time->varattno);
}

/* Finds the end at which the scan of a series starts. NULL times are last in an index, so an order that starts at the other end
 * with NULLs is not available. Returns false if the index does not give the order. */
static bool find_time_order(PlannerInfo *root, const SortGroupClause *sort, IndexOptInfo *index, struct skip_order *order)
{
	int strategy = get_op_opfamily_strategy(sort->sortop, index->opfamily[index->nkeycolumns - 1]);

	if (strategy != BTLessStrategyNumber && strategy != BTGreaterStrategyNumber)
		return false;
	order->is_backward = strategy == BTGreaterStrategyNumber;
	order->counts_nulls = sort->nulls_first == order->is_backward;
	return order->is_backward || order->counts_nulls || has_times(root, index);
}

/* Finds the value column that the expression is. Returns false if the index does not give its order. */
static bool find_value_order(Node *expression, const SortGroupClause *sort, IndexOptInfo *index, struct skip_order *order)
{
	Oid type = exprType(expression);
	int strategy = get_op_opfamily_strategy(sort->sortop,
						lookup_type_cache(getBaseType(type), TYPECACHE_BTREE_OPFAMILY)->btree_opf);

	if ((strategy != BTLessStrategyNumber && strategy != BTGreaterStrategyNumber) || ifp_is_key_type(type))
		return false;
	for (int v = 0; v < index->ncolumns - index->nkeycolumns; v++) {
		if (!equal(expression, index_column(index, index->nkeycolumns + v)))
			continue;
		*order = (struct skip_order){ .counts_nulls = true,
					      .by_value = true,
					      .of_value = { v, strategy == BTGreaterStrategyNumber, sort->nulls_first } };
		return true;
	}
	return false;
}

/* Finds the first key within groups that is not the same for all rows of a series. Returns false if the index does not give its
 * order. */
static bool find_order(PlannerInfo *root, const struct first_rows *rows, IndexOptInfo *index, struct skip_order *order)
{
	ListCell *cell, *clause;

	*order = (struct skip_order){ .by_value = false };
	forboth(cell, rows->order, clause, rows->clauses)
	{
		const SortGroupClause *sort = lfirst_node(SortGroupClause, clause);

		if (is_of_series(lfirst(cell), index))
			continue;
		if (equal(lfirst(cell), index_column(index, index->nkeycolumns - 1)))
			return find_time_order(root, sort, index, order);
		return find_value_order(lfirst(cell), sort, index, order);
	}
	return false;
}

/* ---- costs ---- */

/* Measured costs in units of cpu_operator_cost: of opening the index, and of finding the next entry and the next series,
 * without fetching a row. */
enum { OPENING = 4000, OPERATORS_AN_ENTRY = 50, OPERATORS_A_SERIES = 100 };

/* Returns the number of series that pass the conditions on by columns. */
static double n_series(PlannerInfo *root, IndexOptInfo *index)
{
	double n = 1, n_known;
	List *of_series = NIL;
	ListCell *cell;

	for (int i = 0; i < index->nkeycolumns - 1; i++) {
		VariableStatData variable;
		bool is_default;

		examine_variable(root, (Node *)index_column(index, i), (int)index->rel->relid, &variable);
		n *= get_variable_numdistinct(&variable, &is_default);
		ReleaseVariableStats(variable);
	}
	n_known = index->nkeycolumns > 2 ? ifp_selectivity_series(index->indexoid) : 0;
	if (n_known > 0)
		n = Min(n, n_known);
	foreach (cell, index->indrestrictinfo)
		if (is_of_series((Node *)lfirst_node(RestrictInfo, cell)->clause, index))
			of_series = lappend(of_series, lfirst(cell));
	n *= clauselist_selectivity(root, of_series, (int)index->rel->relid, JOIN_INNER, NULL);
	return Max(Min(n, index->tuples), 1);
}

/* Returns the rows without a time. */
static double n_without_time(PlannerInfo *root, IndexOptInfo *index)
{
	VariableStatData variable;
	double fraction = 0;

	examine_variable(root, (Node *)index_column(index, index->nkeycolumns - 1), (int)index->rel->relid, &variable);
	if (HeapTupleIsValid(variable.statsTuple))
		fraction = ((Form_pg_statistic)GETSTRUCT(variable.statsTuple))->stanullfrac;
	ReleaseVariableStats(variable);
	return fraction * index->tuples;
}

/* Each series reads its rows and one more, and skips rows that other conditions exclude. Small series share pages of the index,
 * and their rows those of the table. Settings such as enable_indexscan are for whole scans, and have no effect here. */
static void estimate(PlannerInfo *root, CustomPath *path, const IndexPath *below, int64 n, const struct skip_order *order)
{
	IndexOptInfo *index = below->indexinfo;
	RelOptInfo *rel = index->rel;
	double series = n_series(root, index), n_below = clamp_row_est(below->indexselectivity * index->tuples);
	double passed = Min(rel->rows / n_below, 1), of_series = Max(n_below / series, 1);
	double n_entries = series * Min(of_series, ((double)n + 1) / Max(passed, 1e-9));
	Cost a_series = OPERATORS_A_SERIES * cpu_operator_cost;
	Cost an_entry = cpu_tuple_cost + rel->baserestrictcost.per_tuple + OPERATORS_AN_ENTRY * cpu_operator_cost;
	double n_pages;

	if (!order->counts_nulls)
		n_entries += n_without_time(root, index);
	if (order->by_value)
		a_series += ifp_topk_search_cost(of_series);
	path->path.rows = clamp_row_est(Min(series * (double)n, rel->rows));
	n_pages = Min(series, index->pages) + index_pages_fetched(n_entries, rel->pages, index->pages, root);
	path->path.startup_cost = rel->baserestrictcost.startup + OPENING * cpu_operator_cost;
	path->path.total_cost = path->path.startup_cost + n_pages * random_page_cost + n_entries * an_entry +
				series * a_series + path->path.rows * path->path.pathtarget->cost.per_tuple;
}

/* ---- the scan of a table ---- */

static Plan *plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target, List *clauses, List *plans)
{
	(void)root;
	(void)rel;
	(void)clauses; /* the index scan has them */
	return &ifp_plan_above(path, target, plans, "IForestSkip")->scan.plan;
}

static const CustomPathMethods path_methods = { .CustomName = "IForestSkip", .PlanCustomPath = plan_path };

static IndexPath *index_path_of(const CustomPath *path)
{
	Path *below = linitial(path->custom_paths);

	return IsA(below, IndexPath) ? (IndexPath *)below : linitial_node(IndexPath, castNode(CustomPath, below)->custom_paths);
}

static Path *make_path(PlannerInfo *root, IndexOptInfo *index, const struct first_rows *rows, const struct skip_order *order)
{
	CustomPath *path;
	Path *below;

	if (order->by_value)
		below = &ifp_topk_path_of_series(root, index, &order->of_value)->path;
	else
		below = (Path *)create_index_path(root, index, ifp_index_clauses(root, index), NIL, NIL, NIL,
						  order->is_backward ? BackwardScanDirection : ForwardScanDirection, false,
						  NULL, 1.0, false);
	path = ifp_path_above(index, below, &path_methods);
	path->custom_private = list_make2(makeInteger((int)rows->n), makeBoolean(order->counts_nulls));
	estimate(root, path, index_path_of(path), rows->n, order);
	return &path->path;
}

/* Returns the cheapest path of a table by one of its indexes; NULL if there is none. */
static Path *path_of_table(PlannerInfo *root, RelOptInfo *rel, const struct first_rows *rows)
{
	Path *cheapest = NULL;
	ListCell *cell;

	if (ifp_has_constant_condition(rel) ||
	    contain_volatile_functions((Node *)extract_actual_clauses(rel->baserestrictinfo, false)))
		return NULL;
	foreach (cell, rel->indexlist) {
		IndexOptInfo *index = lfirst(cell);
		struct skip_order order;
		Path *path;

		if (!ifp_is_usable(index) || !are_of_series(rows->groups, index) || !find_order(root, rows, index, &order))
			continue;
		path = make_path(root, index, rows, &order);
		if (!cheapest || path->total_cost < cheapest->total_cost)
			cheapest = path;
	}
	return cheapest;
}

/* ---- the scan of a table or its partitions ---- */

/* Adds the paths of all leaf partitions. Returns false if one has none. */
static bool add_parts(PlannerInfo *root, RelOptInfo *rel, const struct first_rows *rows, List **paths)
{
	for (int i = 0; i < rel->nparts; i++) {
		RelOptInfo *part = rel->part_rels[i];
		RangeTblEntry *table;
		struct first_rows of_part = *rows;
		AppendRelInfo *info;
		Path *path;

		if (!part || IS_DUMMY_REL(part))
			continue;
		table = planner_rt_fetch(part->relid, root);
		info = root->append_rel_array[part->relid];
		of_part.groups = (List *)adjust_appendrel_attrs(root, (Node *)rows->groups, 1, &info);
		of_part.order = (List *)adjust_appendrel_attrs(root, (Node *)rows->order, 1, &info);
		if (table->relkind == RELKIND_PARTITIONED_TABLE) {
			if (!add_parts(root, part, &of_part, paths))
				return false;
			continue;
		}
		path = table->rtekind == RTE_RELATION && table->relkind == RELKIND_RELATION
			       ? path_of_table(root, part, &of_part)
			       : NULL;
		if (!path)
			return false;
		*paths = lappend(*paths, path);
	}
	return true;
}

/* Returns a path that gives the rows that may be first of their groups; NULL if no index gives them. */
static Path *path_of(PlannerInfo *root, RelOptInfo *rel, const struct first_rows *rows)
{
	const RangeTblEntry *table;
	List *paths = NIL;
	double n_rows = 0;
	ListCell *cell;

	if (rel->reloptkind != RELOPT_BASEREL || rel->rtekind != RTE_RELATION || IS_DUMMY_REL(rel) ||
	    !bms_is_empty(rel->lateral_relids) || rows->groups == NIL || root->parse->hasTargetSRFs)
		return NULL;
	table = planner_rt_fetch(rel->relid, root);
	if (table->tablesample)
		return NULL;
	if ((table->relkind == RELKIND_RELATION || table->relkind == RELKIND_MATVIEW) && !table->inh)
		return path_of_table(root, rel, rows);
	if (table->relkind != RELKIND_PARTITIONED_TABLE || !table->inh || !add_parts(root, rel, rows, &paths) || paths == NIL)
		return NULL;
	foreach (cell, paths)
		n_rows += ((Path *)lfirst(cell))->rows;
	return (Path *)create_append_path(root, rel, paths, NIL, NIL, NULL, 0, false, n_rows);
}

/* ---- offering a path ---- */

/* Reports the offer; of partitions all rows are taken, or none. */
static void report_offer(PlannerInfo *root, const RelOptInfo *input, Path *rows, Cost cost, Cost cost_without)
{
	List *scans = IsA(rows, AppendPath) ? ((AppendPath *)rows)->subpaths : list_make1(rows), *indexes = NIL;
	ListCell *cell;

	foreach (cell, ifp_collection ? scans : NIL)
		indexes = lappend(indexes, index_path_of(lfirst(cell))->indexinfo);
	ifp_offer(root, ifp_table_of(root, input), indexes, linitial(scans), cost, cost_without, ifp_costs_more);
}

/* Adds a path over that of the first rows; reports why there is none, or why it is not taken. */
static void offer(PlannerInfo *root, const RelOptInfo *input, RelOptInfo *output, Path *rows, Path *path)
{
	const Path *cheapest = ifp_cheapest_path(output);
	bool is_cheapest = path && (!cheapest || path->total_cost < cheapest->total_cost);

	if (path) {
		report_offer(root, input, rows, path->total_cost, cheapest ? cheapest->total_cost : -1);
		add_path(output, path);
	}
	if (is_cheapest || !ifp_has_index(root, input))
		return;
	ifp_decline(root, ifp_table_of(root, input), NULL,
		    path ? ifp_costs_more : "first rows are not of by columns' values and in the order of the time or a value");
}

/* ---- DISTINCT ON ---- */

/* Reads DISTINCT ON and what ORDER BY has after it. */
static struct first_rows read_distinct(PlannerInfo *root)
{
	const Query *parse = root->parse;
	struct first_rows rows = { .n = 1 };
	ListCell *cell;

	rows.groups = get_sortgrouplist_exprs(parse->distinctClause, root->processed_tlist);
	foreach (cell, parse->sortClause) {
		SortGroupClause *clause = lfirst_node(SortGroupClause, cell);

		if (get_sortgroupref_clause_noerr(clause->tleSortGroupRef, parse->distinctClause))
			continue;
		rows.clauses = lappend(rows.clauses, clause);
		rows.order = lappend(rows.order, get_sortgroupclause_expr(clause, root->processed_tlist));
	}
	return rows;
}

static void consider_distinct(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output)
{
	const Query *parse = root->parse;
	struct first_rows rows;
	List *order = list_length(root->distinct_pathkeys) < list_length(root->sort_pathkeys) ? root->sort_pathkeys
											      : root->distinct_pathkeys;
	double n_rows;
	Path *rows_path, *path;

	if (root->distinct_pathkeys == NIL || parse->groupClause || parse->groupingSets || parse->hasAggs ||
	    parse->hasWindowFuncs)
		return;
	rows = read_distinct(root);
	rows_path = path = path_of(root, input, &rows);
	if (path) {
		n_rows = path->rows;
		path = (Path *)create_sort_path(root, output, path, order, -1);
		path = (Path *)create_upper_unique_path(root, output, path, list_length(root->distinct_pathkeys), n_rows);
	}
	offer(root, input, output, rows_path, path);
}

/* ---- row_number() and rank() ---- */

static bool is_rank(Oid function)
{
	return function == F_ROW_NUMBER || function == F_RANK_;
}

/* True if the node is a window function whose value depends on rows that come later, or on all of them. */
static bool looks_ahead(Node *node, void *context)
{
	if (!node)
		return false;
	if (IsA(node, WindowFunc) && !is_rank(castNode(WindowFunc, node)->winfnoid) &&
	    castNode(WindowFunc, node)->winfnoid != F_DENSE_RANK_)
		return true;
	return expression_tree_walker(node, looks_ahead, context);
}

static bool is_at_most(Oid operator)
{
	Oid function = get_opcode(operator);

	return function == F_INT8LT || function == F_INT8LE || function == F_INT84LT || function == F_INT84LE;
}

/* Returns how many rows of each partition pass the conditions; 0 if unknown. */
static int64 most_rows(List *conditions)
{
	int64 most = 0;
	ListCell *cell;

	foreach (cell, conditions) {
		const OpExpr *condition = lfirst_node(OpExpr, cell);
		const WindowFunc *function = linitial(condition->args);
		const Const *limit = lsecond(condition->args);
		int64 n;

		if (!IsA(function, WindowFunc) || !is_rank(function->winfnoid) || !IsA(limit, Const) || limit->constisnull ||
		    !is_at_most(condition->opno))
			continue;
		n = limit->consttype == INT4OID ? DatumGetInt32(limit->constvalue) : DatumGetInt64(limit->constvalue);
		if (n > 0 && n < PG_INT32_MAX && (most == 0 || n < most))
			most = n;
	}
	return most;
}

/* Reads PARTITION BY and ORDER BY of the only window. */
static struct first_rows read_window(PlannerInfo *root, const WindowClause *window, List *conditions)
{
	struct first_rows rows = { .clauses = window->orderClause, .n = most_rows(conditions) };

	rows.groups = get_sortgrouplist_exprs(window->partitionClause, root->processed_tlist);
	rows.order = get_sortgrouplist_exprs(window->orderClause, root->processed_tlist);
	return rows;
}

/* Returns a copy of a path of window functions, over another path. */
static Path *over(PlannerInfo *root, const WindowAggPath *from, Path *below)
{
	WindowAggPath *path = makeNode(WindowAggPath);

	*path = *from;
	/* there is no sort key if conditions fix all columns of the window to one value */
	if (!pathkeys_contained_in(from->subpath->pathkeys, below->pathkeys))
		below = (Path *)create_sort_path(root, from->path.parent, below, from->subpath->pathkeys, -1);
	path->subpath = below;
	path->path.pathkeys = below->pathkeys;
	path->path.rows = below->rows;
	path->path.parallel_safe = path->path.parallel_safe && below->parallel_safe;
	path->path.startup_cost = below->startup_cost;
	/* about what cost_windowagg() charges for a row */
	path->path.total_cost = below->total_cost + below->rows * (cpu_tuple_cost + 10 * cpu_operator_cost);
	ifp_copy_disabled(&path->path, below);
	return &path->path;
}

/* True if there are no other windows. Since 16 the planner computes functions of several windows by one of them where it can;
 * the query keeps the others. */
static bool is_only_window(const WindowAggPath *path)
{
	const Path *below = path->subpath;

	while (IsA(below, SortPath) || IsA(below, IncrementalSortPath))
		below = ((const SortPath *)below)->subpath;
	return !IsA(below, WindowAggPath);
}

static void consider_window(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output)
{
	const Query *parse = root->parse;
	const WindowAggPath *plain = NULL;
	struct first_rows rows;
	Path *path;
	ListCell *cell;

	foreach (cell, output->pathlist)
		if (IsA(lfirst(cell), WindowAggPath))
			plain = lfirst(cell);
	if (!plain || !is_only_window(plain) || parse->groupClause || parse->groupingSets || parse->hasAggs ||
	    looks_ahead((Node *)root->processed_tlist, NULL))
		return;
	rows = read_window(root, plain->winclause, ifp_run_conditions(plain));
	if (rows.n == 0)
		return;
	path = path_of(root, input, &rows);
	offer(root, input, output, path, path ? over(root, plain, path) : NULL);
}

/* ---- entry ---- */

void ifp_skip_path_consider(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output)
{
	if (stage == UPPERREL_DISTINCT)
		consider_distinct(root, input, output);
	else
		consider_window(root, input, output);
}
