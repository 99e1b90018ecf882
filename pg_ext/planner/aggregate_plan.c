#include "pg_ext/planner/agg_path.h"
#include "pg_ext/planner/aggregate_estimate.h"

#include "executor/nodeHash.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/guc.h"

/* Groups are all in memory; a plain plan may use disk. */
static const double most_group_bytes = 256.0 * 1024 * 1024;

static create_upper_paths_hook_type previous_hook;

/* ---- path to plan ---- */

static bool collect_parameters(Node *node, void *parameters)
{
	if (!node || IsA(node, Integer) || IsA(node, OidList))
		return false;
	if (IsA(node, Param)) {
		*(List **)parameters = list_append_unique(*(List **)parameters, node);
		return false;
	}
	return expression_tree_walker(node, collect_parameters, parameters);
}

/* custom_private of a path: the question, the scan tuple's expressions, HAVING. */
static Plan *plan_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target, List *clauses, List *plans)
{
	CustomScan *scan = makeNode(CustomScan);
	List *parameters = NIL;
	AttrNumber number = 1;
	ListCell *cell;

	(void)root;
	(void)rel;
	(void)clauses;
	(void)plans;
	foreach(cell, lsecond(path->custom_private))
		scan->custom_scan_tlist =
			lappend(scan->custom_scan_tlist, makeTargetEntry(lfirst(cell), number++, NULL, false));
	(void)collect_parameters(linitial(path->custom_private), &parameters);
	scan->scan.plan.targetlist = target;
	scan->scan.plan.qual = lthird(path->custom_private);
	scan->scan.scanrelid = 0;
	scan->flags = path->flags;
	scan->custom_exprs = parameters;
	scan->custom_private = linitial(path->custom_private);
	scan->methods = GetCustomScanMethods("IForestAggregate", false);
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = { .CustomName = "IForestAggregate", .PlanCustomPath = plan_path };

/* ---- the query level ---- */

/* The expressions of GROUP BY or DISTINCT, and their operators. */
static void read_groups(struct iforest_query *query, List *clauses)
{
	ListCell *cell;

	foreach(cell, clauses) {
		SortGroupClause *clause = lfirst_node(SortGroupClause, cell);

		query->groups = lappend(query->groups, get_sortgroupclause_expr(clause, query->root->processed_tlist));
		query->operators = lappend_oid(query->operators, clause->hashable ? clause->eqop : InvalidOid);
	}
}

/* What is asked at this stage of planning; false if it is nothing for an index. */
static bool read_query(UpperRelationKind stage, const GroupPathExtraData *extra, PathTarget *target,
		       struct iforest_query *query)
{
	const Query *parse = query->root->parse;

	if (stage == UPPERREL_GROUP_AGG) {
		if (parse->groupingSets)
			return false;
		read_groups(query, parse->groupClause);
		query->outputs = list_concat(list_copy(target->exprs), (List *)extra->havingQual);
		return true;
	}
	if (parse->groupClause || parse->hasAggs || parse->hasWindowFuncs || parse->hasTargetSRFs || parse->hasDistinctOn ||
	    parse->setOperations || parse->groupingSets)
		return false;
	read_groups(query, parse->distinctClause);
	query->outputs = list_copy(target->exprs);
	return true;
}

/* Returns NULL, or why the path is not offered. */
static const char *add_candidate(const struct iforest_query *query, const struct iforest_candidate *candidate,
				 const struct iforest_question *question, List *aggregates, List *having, PathTarget *target,
				 RelOptInfo *output_rel)
{
	CustomPath *path = makeNode(CustomPath);
	struct iforest_estimate estimate;
	QualCost quals;

	iforest_aggregate_estimate(query, candidate, question, &estimate);
	if (estimate.n_groups_bytes > Max(most_group_bytes, (double)get_hash_memory_limit()))
		return "there would be too many groups for memory";
	if (estimate.is_slower)
		return NULL;
	cost_qual_eval(&quals, having, query->root);
	path->path.pathtype = T_CustomScan;
	path->path.parent = output_rel;
	path->path.pathtarget = target;
	path->path.parallel_safe = output_rel->consider_parallel;
	path->path.rows = clamp_row_est(having ? estimate.n_rows / 3 : estimate.n_rows);
	path->path.startup_cost = estimate.startup + target->cost.startup + quals.startup;
	path->path.total_cost = estimate.total + target->cost.startup + quals.startup +
				estimate.n_rows * (target->cost.per_tuple + quals.per_tuple);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_private =
		list_make3(iforest_question_write(question), list_concat(list_copy(query->groups), aggregates), having);
	path->methods = &path_methods;
	add_path(output_rel, &path->path);
	return NULL;
}

static void decline(const struct iforest_candidate *candidate, const char *reason)
{
	if (!iforest_explain_decline)
		return;
	if (candidate)
		ereport(NOTICE,
			errmsg("index \"%s\" does not answer this query",
			       get_rel_name(((IndexOptInfo *)linitial(candidate->indexes))->indexoid)),
			errdetail("%s.", reason));
	else
		ereport(NOTICE, errmsg("no iforest index answers this query"), errdetail("%s.", reason));
}

/* The cheapest path that is not disabled; NULL: there is none. */
static const Path *cheapest_of(const RelOptInfo *rel)
{
	const Path *cheapest = NULL;
	ListCell *cell;

	foreach(cell, rel->pathlist) {
		const Path *path = lfirst(cell);

		if (!iforest_is_disabled(path) && (!cheapest || path->total_cost < cheapest->total_cost))
			cheapest = path;
	}
	return cheapest;
}

/* Is there a path already that is cheaper than any answer from an index? Then planning need not take longer. */
static bool has_cheap_path(const RelOptInfo *rel)
{
	const Path *cheapest = cheapest_of(rel);

	return cheapest && cheapest->total_cost < iforest_aggregate_least_cost();
}

static bool is_answer(const Path *path)
{
	return path && IsA(path, CustomPath) && ((const CustomPath *)path)->methods == &path_methods;
}

static void consider(UpperRelationKind stage, RelOptInfo *output_rel, GroupPathExtraData *extra, PathTarget *target,
		     struct iforest_query *query)
{
	const char *reason;
	List *candidates = !iforest_explain_decline && has_cheap_path(output_rel) ? NIL : iforest_candidates(query, &reason);
	List *having = stage == UPPERREL_GROUP_AGG ? (List *)extra->havingQual : NIL;
	const struct iforest_candidate *answering = NULL;
	ListCell *cell;

	if (candidates == NIL && iforest_explain_decline && reason)
		decline(NULL, reason);
	if (candidates == NIL)
		return;
	if (!read_query(stage, extra, target, query)) {
		decline(linitial(candidates), "the query has grouping sets, or DISTINCT over more than rows of the table");
		return;
	}
	foreach(cell, candidates) {
		const struct iforest_candidate *candidate = lfirst(cell);
		struct iforest_question question;
		List *aggregates;

		reason = iforest_query_match(query, candidate, &question, &aggregates);
		if (!reason)
			reason = add_candidate(query, candidate, &question, aggregates, having, target, output_rel);
		if (reason)
			decline(candidate, reason);
		else
			answering = candidate;
	}
	if (answering && iforest_explain_decline && !is_answer(cheapest_of(output_rel)))
		decline(answering, "another plan is estimated to cost less");
}

static void consider_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel, RelOptInfo *output_rel,
				 void *extra)
{
	struct iforest_query query = { .root = root, .rel = input_rel };

	if (previous_hook)
		previous_hook(root, stage, input_rel, output_rel, extra);
	if (!iforest_enable)
		return;
	if (stage == UPPERREL_GROUP_AGG)
		consider(stage, output_rel, extra, output_rel->reltarget, &query);
	else if (stage == UPPERREL_DISTINCT)
		consider(stage, output_rel, NULL, root->upper_targets[UPPERREL_DISTINCT], &query);
}

/* ---- loading ---- */

void iforest_aggregate_register(void)
{
	DefineCustomBoolVariable("iforest.enable",
				 "Lets iforest indexes answer aggregate queries, and find the largest values first.", NULL,
				 &iforest_enable, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomBoolVariable("iforest.float_aggregates",
				 "Lets them answer sums, averages and extremes of real and double precision.",
				 "Such sums may differ from those of another plan in their last digits.",
				 &iforest_float_aggregates, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomBoolVariable("iforest.explain_decline", "Says why an index does not answer a query, as a NOTICE.", NULL,
				 &iforest_explain_decline, false, PGC_USERSET, 0, NULL, NULL, NULL);
	MarkGUCPrefixReserved("iforest");
	previous_hook = create_upper_paths_hook;
	create_upper_paths_hook = consider_upper_paths;
}
