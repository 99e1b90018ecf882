#include "pg_ext/planner/partition_rows.h"

#include "pg_ext/base/engine.h"

#include <float.h>

#include "catalog/pg_type.h"
#include "common/int.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"

#include "pg_ext/base/compat.h"
#include "pg_ext/planner/partition_leaves.h"
#include "pg_ext/planner/query_below.h"
#include "pg_ext/planner/query_level.h"

/* ---- what is asked for ---- */

/* Returns how many rows LIMIT and OFFSET need; 0 if that is not known, or none are returned. */
static int64 wanted_rows(const Query *parse)
{
	const Const *limit = (const Const *)parse->limitCount, *offset = (const Const *)parse->limitOffset;
	int64 returned, skipped = 0;

	/* root->limit_tuples may be an estimate only, as from a stable function */
	if (parse->limitOption != LIMIT_OPTION_COUNT || !limit || !IsA(limit, Const) || limit->constisnull ||
	    (offset && !IsA(offset, Const)))
		return 0;
	returned = DatumGetInt64(limit->constvalue);
	if (offset && !offset->constisnull)
		skipped = DatumGetInt64(offset->constvalue);
	return returned <= 0 || skipped < 0 || pg_add_s64_overflow(returned, skipped, &returned) ? 0 : returned;
}

/* Returns what partitions give: the keys of ORDER BY, then the columns that the target is made of. Returns NIL if the target
 * needs what only a scan of the table itself gives, or keys cannot be computed elsewhere. */
static List *columns_of(const PlannerInfo *root, const RelOptInfo *input)
{
	List *columns = get_sortgrouplist_exprs(root->parse->sortClause, root->processed_tlist);
	ListCell *cell;

	if (!ifp_may_move(columns))
		return NIL;
	foreach (cell, pull_var_clause((Node *)input->reltarget->exprs, PVC_INCLUDE_PLACEHOLDERS)) {
		const Var *var = lfirst(cell);

		if (!IsA(var, Var) || (Index)var->varno != input->relid || var->varattno <= 0)
			return NIL;
		columns = list_append_unique(columns, lfirst(cell));
	}
	return columns;
}

/* ---- what first rows cost ---- */

static Cost cost_to_begin(PlannerInfo *root, const Path *path, List *keys)
{
	Path sort = { .pathtarget = path->pathtarget };

	if (pathkeys_contained_in(keys, path->pathkeys))
		return path->startup_cost;
	/* a sort that the plan will have and the path has not */
	ifp_cost_sort(&sort, root, keys, path, -1);
	return sort.startup_cost;
}

/* Returns what it costs to begin with partitions that come after the first n rows, if rows come in the order of partitions. */
static Cost cost_of_others(PlannerInfo *root, const Path *path, double n)
{
	Cost cost = 0;
	ListCell *cell;

	while (IsA(path, ProjectionPath) || IsA(path, IncrementalSortPath))
		path = IsA(path, ProjectionPath) ? ((const ProjectionPath *)path)->subpath : ((const SortPath *)path)->subpath;
	if (!IsA(path, AppendPath) || path->pathkeys == NIL)
		return 0;
	foreach (cell, ((const AppendPath *)path)->subpaths) {
		const Path *part = lfirst(cell);

		if (n <= 0)
			cost += cost_to_begin(root, part, path->pathkeys);
		n -= part->rows;
	}
	return cost;
}

/* Returns what the first n rows of a path cost. PostgreSQL's own estimate has all partitions begin, even if the first one in
 * their order has enough rows. */
static Cost cost_of_first(PlannerInfo *root, const Path *path, double n)
{
	Cost run_cost = path->total_cost - path->startup_cost;

	return path->startup_cost + run_cost * Min(n / path->rows, 1) - cost_of_others(root, path, n);
}

/* Returns what the first n rows cost by PostgreSQL's own paths. */
static Cost cost_without(PlannerInfo *root, const RelOptInfo *output, double n)
{
	Cost least = DBL_MAX;
	ListCell *cell;

	foreach (cell, output->pathlist)
		if (!ifp_is_disabled(lfirst(cell)))
			least = Min(least, cost_of_first(root, lfirst(cell), n));
	return least;
}

/* True if there may be enough to gain: a foreign partition has more than n rows, and PostgreSQL's own path costs more than twice
 * what it does to begin to read each partition: once to do so, and once for the estimates that servers are asked for. */
static bool may_gain(const List *leaves, double n, Cost without)
{
	bool has_more = false;
	Cost begun = 0;
	ListCell *cell;

	foreach (cell, leaves) {
		const RelOptInfo *leaf = lfirst(cell);

		has_more |= ifp_is_foreign_leaf(leaf) && leaf->rows > n;
		begun += leaf->cheapest_startup_path->startup_cost;
	}
	return has_more && 2 * begun < without;
}

/* ---- path ---- */

/* Returns the query of a partition's first n rows. */
static Query *leaf_query(PlannerInfo *root, const RelOptInfo *rel, RelOptInfo *leaf, List *columns, int64 n)
{
	List *keys = root->parse->sortClause;
	Query *query = ifp_leaf_query(root, rel, leaf, columns, list_length(keys));

	query->sortClause = ifp_numbered_clauses(keys);
	query->limitOption = LIMIT_OPTION_COUNT;
	query->limitCount = (Node *)makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(n), false, FLOAT8PASSBYVAL);
	return query;
}

/* Returns a path in order over the first rows of all partitions. */
static Path *sort_rows(PlannerInfo *root, const RelOptInfo *input, RelOptInfo *output, List *columns, Path *below, double n)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	Path *rows = &ifp_combine_path(root, output, input->reltarget, below, columns, NIL)->path;
	Path *sorted = (Path *)create_sort_path(root, output, rows, root->sort_pathkeys, n);

	return sorted->pathtarget == target ? sorted : apply_projection_to_path(root, output, sorted, target);
}

/* Requires leaves of which one is foreign, and n > 0. */
static void consider_leaves(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, List *leaves, int64 n)
{
	Cost without = cost_without(root, output, (double)n);
	List *columns, *queries = NIL;
	ListCell *cell;
	Path *path;

	if (!may_gain(leaves, (double)n, without) || !ifp_may_divide(root, input, leaves))
		return;
	columns = columns_of(root, input);
	if (columns == NIL)
		return;
	foreach (cell, leaves)
		queries = lappend(queries, leaf_query(root, input, lfirst(cell), columns, n));
	path = sort_rows(root, input, output, columns, ifp_plan_below(root, ifp_union_of(queries)), (double)n);
	if (path->total_cost < without)
		add_path(output, path);
}

void ifp_partition_rows_consider(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output)
{
	int64 n = root->limit_tuples > 0 ? wanted_rows(root->parse) : 0;
	List *leaves;

	if (n == 0 || root->sort_pathkeys == NIL || input->reloptkind != RELOPT_BASEREL || IS_DUMMY_REL(input) ||
	    !ifp_returns_rows(root->parse))
		return;
	leaves = ifp_foreign_leaves(root, input);
	if (leaves != NIL)
		consider_leaves(root, input, output, leaves, n);
}
