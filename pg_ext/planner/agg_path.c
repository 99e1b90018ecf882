#include "pg_ext/planner/agg_path.h"

#include "executor/nodeHash.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "utils/guc.h"

#include "pg_ext/planner/agg_cost.h"
#include "pg_ext/planner/aggregate_arms.h"
#include "pg_ext/planner/dimension.h"
#include "pg_ext/planner/grouping_sets.h"
#include "pg_ext/planner/index_query.h"
#include "pg_ext/planner/query_level.h"
#include "pg_ext/planner/query_match.h"
#include "pg_ext/planner/quick_refusal.h"
#include "pg_ext/planner/top_groups.h"

/* ---- path to plan ---- */

static bool collect_parameters(Node *node, void *parameters)
{
	if (!node || IsA(node, Integer) || IsA(node, String) || IsA(node, OidList) || IsA(node, IntList))
		return false;
	if (IsA(node, Param)) {
		*(List **)parameters = list_append_unique(*(List **)parameters, node);
		return false;
	}
	return expression_tree_walker(node, collect_parameters, parameters);
}

/* custom_private of the path: the query, the scan tuple's expressions, HAVING. */
static Plan *plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target, List *clauses, List *plans)
{
	CustomScan *scan = makeNode(CustomScan);
	List *parameters = NIL;
	AttrNumber number = 1;
	ListCell *cell;

	(void)root;
	(void)rel;
	(void)clauses;
	ifp_take(path);
	foreach (cell, lsecond(path->custom_private))
		scan->custom_scan_tlist =
			lappend(scan->custom_scan_tlist, makeTargetEntry(lfirst(cell), number++, NULL, false));
	(void)collect_parameters(linitial(path->custom_private), &parameters);
	scan->scan.plan.targetlist = target;
	scan->scan.plan.qual = lthird(path->custom_private);
	scan->scan.scanrelid = 0;
	scan->flags = path->flags;
	scan->custom_exprs = parameters;
	scan->custom_plans = plans;
	scan->custom_private = linitial(path->custom_private);
	scan->methods = GetCustomScanMethods("IForestAggregate", false);
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = { .CustomName = "IForestAggregate", .PlanCustomPath = plan_path };

/* ---- query level ---- */

/* Adds the expressions of GROUP BY or DISTINCT, and their operators. */
pg_attribute_hot static void read_groups(struct ifp_query_level *level, List *clauses)
{
	ListCell *cell;

	foreach (cell, clauses) {
		SortGroupClause *clause = lfirst_node(SortGroupClause, cell);

		level->groups = lappend(level->groups, get_sortgroupclause_expr(clause, level->upper->processed_tlist));
		level->operators = lappend_oid(level->operators, clause->hashable ? clause->eqop : InvalidOid);
	}
}

static const char more_than_rows[] = "the query has DISTINCT over more than rows of the table";

/* Reads the query level at this stage of planning. Returns NULL, or why no index can answer its form. */
pg_attribute_hot static const char *read_query(UpperRelationKind stage, const GroupPathExtraData *extra, PathTarget *target,
					       struct ifp_query_level *level)
{
	const Query *parse = level->upper->parse;
	const char *reason;

	if (stage == UPPERREL_GROUP_AGG) {
		read_groups(level, parse->groupClause);
		level->outputs = list_concat(list_copy(target->exprs), (List *)extra->havingQual);
		reason = ifp_grouping_sets_read(level->upper, level->groups, &level->sets);
		ifp_dimensions_add_dependent_groups(level);
		return reason;
	}
	if (parse->groupClause || parse->hasAggs || parse->hasWindowFuncs || parse->hasTargetSRFs || parse->hasDistinctOn ||
	    parse->setOperations || parse->groupingSets)
		return more_than_rows;
	read_groups(level, parse->distinctClause);
	level->outputs = list_copy(target->exprs);
	return NULL;
}

/* ---- paths ---- */

/* Limit of the memory for groups: they cannot spill to disk as a plain plan can. */
static const double most_group_bytes = 256.0 * 1024 * 1024;

/* Has other paths to the groups return as many rows as the index. The planner takes each value of an expression of the time for a
 * group. What reads the rows would be planned for too many; and a server that asks this one, by postgres_fdw, for an estimate would
 * rather fetch the table's rows. */
static void correct_rows(const RelOptInfo *output_rel, double n_rows)
{
	ListCell *cell;

	foreach (cell, output_rel->pathlist) {
		Path *other = lfirst(cell);

		if (other->parent == output_rel)
			other->rows = Min(other->rows, n_rows);
	}
}

/* Returns the reason if another path is cheaper. */
static const char *reason_if_beaten(const struct ifp_index_query *query)
{
	ListCell *cell;

	if (query->splits != NIL)
		return ifp_costs_more_by_values;
	foreach (cell, query->series)
		if (ifp_mentions_by(query, lfirst(cell)))
			return ifp_costs_more_by_series;
	return ifp_costs_more;
}

/* Returns NULL, or why the path is not offered. */
pg_noinline static const char *add_candidate(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
					     const struct ifp_index_query *query, List *computed, List *having,
					     PathTarget *target, RelOptInfo *output_rel)
{
	CustomPath *path = makeNode(CustomPath);
	struct ifp_agg_cost estimate;
	QualCost quals;
	ListCell *cell;

	ifp_agg_cost_estimate(level, candidate, query, &estimate);
	correct_rows(output_rel, clamp_row_est(having ? estimate.n_rows / 3 : estimate.n_rows));
	if (estimate.n_groups_bytes > Max(most_group_bytes, (double)get_hash_memory_limit()))
		return "there would be too many groups for memory";
	if (estimate.n_numbers_bytes > Max(most_group_bytes, (double)get_hash_memory_limit()))
		return "exact percentiles are of too many values for memory";
	if (estimate.n_joined_bytes > Max(most_group_bytes, (double)get_hash_memory_limit()))
		return "a joined table has too many rows for memory";
	if (estimate.is_slower)
		return NULL;
	cost_qual_eval(&quals, having, level->upper);
	path->path.pathtype = T_CustomScan;
	path->path.parent = output_rel;
	path->path.pathtarget = target;
	path->custom_paths = level->source ? list_make1(level->source) : ifp_dimensions_paths(level);
	path->path.parallel_safe = output_rel->consider_parallel && level->rel->consider_parallel;
	foreach (cell, path->custom_paths)
		path->path.parallel_safe = path->path.parallel_safe && ((const Path *)lfirst(cell))->parallel_safe;
	path->path.rows = clamp_row_est(having ? estimate.n_rows / 3 : estimate.n_returned);
	path->path.startup_cost = estimate.startup + target->cost.startup + quals.startup;
	path->path.total_cost = estimate.total + target->cost.startup + quals.startup +
				estimate.n_returned * (target->cost.per_tuple + quals.per_tuple);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_private =
		list_make3(ifp_index_query_write(query), list_concat(list_copy(level->groups), computed), having);
	path->methods = &path_methods;
	ifp_offer(level->upper, ifp_table_of(level->root, level->rel), candidate->indexes, path, path->path.total_cost,
		  level->cost_without, reason_if_beaten(query));
	add_path(output_rel, &path->path);
	return NULL;
}

static void decline(const struct ifp_query_level *level, const struct ifp_candidate *candidate, const char *reason)
{
	ifp_decline(level->upper, ifp_table_of(level->root, level->rel), candidate ? linitial(candidate->indexes) : NULL,
		    reason);
}

/* True if a path is cheaper than any answer from an index can be, so that no further planning is needed. */
pg_attribute_hot static bool has_cheap_path(const struct ifp_query_level *level, const RelOptInfo *rel)
{
	const Path *cheapest = ifp_cheapest_path(rel);

	return cheapest && cheapest->total_cost < ifp_agg_cost_least(level);
}

/* ---- indexes that need not be asked ---- */

/* True if each index of a table lacks a column that is asked for. */
pg_attribute_hot static bool lack_columns(const struct ifp_query_level *level)
{
	ListCell *cell;

	if (level->rel->rtekind != RTE_RELATION || level->rel->nparts > 0)
		return false;
	foreach (cell, level->rel->indexlist) {
		const IndexOptInfo *index = lfirst(cell);

		if (ifp_is_iforest(index) && !ifp_find_lacking(level, index->indrestrictinfo, index->indextlist))
			return false;
	}
	return true;
}

/* True if the other index has the same rows in more series: its by columns are this one's and more. */
static bool has_fewer_series(const struct ifp_candidate *candidate, const struct ifp_candidate *other)
{
	const IndexOptInfo *index = linitial(candidate->indexes), *of_other = linitial(other->indexes);
	int n_by = index->nkeycolumns - 1;

	if (list_length(candidate->indexes) != 1 || index->nkeycolumns >= of_other->nkeycolumns || of_other->indpred != NIL ||
	    !equal(list_nth(candidate->columns, n_by), list_nth(other->columns, of_other->nkeycolumns - 1)))
		return false;
	for (int i = 0; i < n_by; i++)
		if (!list_member(list_copy_head(other->columns, of_other->nkeycolumns - 1), list_nth(candidate->columns, i)))
			return false;
	return true;
}

/* True if the query can be answered in only one way, so that an index with fewer series costs less. */
static bool has_one_way(const struct ifp_index_query *query)
{
	return query->pieces == NIL && query->splits == NIL && query->values == NIL && query->by_steps == NIL &&
	       !query->drawn && !ifp_aggregates_need(query, IFP_MEASURE_SKETCH) &&
	       !ifp_aggregates_need(query, IFP_MEASURE_DISTINCT) && !ifp_aggregates_need(query, IFP_MEASURE_NUMBERS);
}

static bool is_answer(const Path *path)
{
	return path && IsA(path, CustomPath) && ((const CustomPath *)path)->methods == &path_methods;
}

/* Offers the answers of a level whose table was found. `reason` is the reason, if any, not to look for it. */
pg_attribute_hot static void consider_table(UpperRelationKind stage, RelOptInfo *output_rel, GroupPathExtraData *extra,
					    PathTarget *target, struct ifp_query_level *level, const char *reason)
{
	List *candidates = ifp_candidates(level, &reason);
	List *having = stage == UPPERREL_GROUP_AGG ? (List *)extra->havingQual : NIL;
	const struct ifp_candidate *answering = NULL, *best = NULL; /* best: none with more series is cheaper */
	const char *beaten = ifp_costs_more;
	const Path *plain;
	ListCell *cell;

	if (candidates == NIL && reason)
		decline(level, NULL, reason);
	if (candidates == NIL)
		return;
	reason = read_query(stage, extra, target, level);
	if (reason) {
		/* first rows of groups are for planner/skip_path.h */
		if (!level->upper->parse->hasDistinctOn)
			decline(level, linitial(candidates), reason);
		return;
	}
	plain = ifp_cheapest_path(output_rel);
	level->cost_without = plain ? plain->total_cost : -1;
	foreach (cell, candidates) {
		const struct ifp_candidate *candidate = lfirst(cell);
		struct ifp_index_query query;
		List *computed;

		if (best && has_fewer_series(best, candidate))
			continue;
		reason = ifp_query_match(level, candidate, &query, &computed);
		/* the LIMIT is not of a partition's groups */
		if (!reason && stage == UPPERREL_GROUP_AGG && !IS_OTHER_REL(output_rel))
			ifp_top_groups_find(level, computed, &query);
		if (!reason)
			reason = add_candidate(level, candidate, &query, computed, having, target, output_rel);
		if (reason) {
			decline(level, candidate, reason);
		} else {
			answering = candidate;
			beaten = reason_if_beaten(&query);
		}
		if (!reason && !best && !ifp_are_reasons_wanted() && has_one_way(&query))
			best = candidate;
	}
	if (answering && ifp_are_reasons_wanted() && !is_answer(ifp_cheapest_path(output_rel)))
		decline(level, answering, beaten);
}

/* Offers the answers of a join: any of its tables with an index may be the fact table, with the others as dimensions. */
pg_noinline static void consider_join(UpperRelationKind stage, RelOptInfo *output_rel, GroupPathExtraData *extra,
				      PathTarget *target, const struct ifp_query_level *level)
{
	const char *reason = NULL;
	bool is_entered = false;
	int relid = -1;

	while ((relid = bms_next_member(level->rel->relids, relid)) >= 0) {
		struct ifp_query_level joined = *level;
		RelOptInfo *fact = bms_is_member(relid, level->root->all_baserels) ? find_base_rel(level->root, relid) : NULL;
		const char *refused;

		if (!fact || !ifp_may_have_candidates(fact))
			continue;
		refused = ifp_dimensions_enter(&joined, fact);
		if (!refused)
			consider_table(stage, output_rel, extra, target, &joined, NULL);
		is_entered = is_entered || !refused;
		reason = refused ? refused : reason;
	}
	if (reason && !is_entered)
		decline(level, NULL, reason);
}

pg_attribute_hot static void consider(UpperRelationKind stage, RelOptInfo *output_rel, GroupPathExtraData *extra,
				      PathTarget *target, struct ifp_query_level *level)
{
	if (!ifp_are_reasons_wanted() && (lack_columns(level) || has_cheap_path(level, output_rel)))
		return;
	if (IS_JOIN_REL(level->rel))
		consider_join(stage, output_rel, extra, target, level);
	else
		consider_table(stage, output_rel, extra, target, level,
			       level->rel->rtekind == RTE_RELATION ? NULL : ifp_query_level_enter(level));
}

/* ---- entry ---- */

pg_attribute_hot void ifp_agg_path_consider(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
					    GroupPathExtraData *extra)
{
	struct ifp_query_level level = { .upper = root, .root = root, .rel = input };

	if (stage == UPPERREL_GROUP_AGG)
		consider(stage, output, extra, output->reltarget, &level);
	else
		consider(stage, output, NULL, root->upper_targets[UPPERREL_DISTINCT], &level);
}

void ifp_agg_path_register(void)
{
	DefineCustomBoolVariable("iforest.float_aggregates",
				 "Lets them answer sums, averages and extremes of real and double precision.",
				 "Such sums may differ from those of another plan in their last digits.", &ifp_float_aggregates,
				 true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomBoolVariable("iforest.approximate_percentiles",
				 "Lets them answer percentile_cont and percentile_disc from sketches.",
				 "The value of the column is at most 1/128 off.", &ifp_approximate_percentiles, false,
				 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomBoolVariable("iforest.approximate_distinct", "Lets them answer count(DISTINCT x) from sketches.",
				 "It is exact up to 768 values; from there on the standard error is 1.6 %.",
				 &ifp_approximate_distinct, false, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	MarkGUCPrefixReserved("iforest");
}
