#include "pg_ext/planner/partition_groups.h"

#include "pg_ext/base/engine.h"

#include "foreign/fdwapi.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"

#include "pg_ext/base/compat.h"
#include "pg_ext/planner/combination.h"
#include "pg_ext/planner/partition_leaves.h"
#include "pg_ext/planner/query_below.h"

/* ---- queries ---- */

/* Returns what is asked of a partition. */
static Query *leaf_query(PlannerInfo *root, const RelOptInfo *rel, RelOptInfo *leaf, const struct ifp_combination *combination)
{
	Query *query = ifp_leaf_query(root, rel, leaf, list_concat_copy(combination->groups, combination->sent),
				      list_length(root->parse->groupClause));

	ifp_group(root, query);
	return query;
}

/* ---- groups that servers compute ---- */

/* Returns a relation for the target over a partition, or over the table. */
static RelOptInfo *grouped_relation(const RelOptInfo *of, PathTarget *target)
{
	RelOptInfo *rel = makeNode(RelOptInfo);

	rel->reloptkind = RELOPT_OTHER_UPPER_REL;
	rel->relids = of->relids;
	rel->reltarget = target;
	rel->serverid = of->serverid;
	rel->userid = of->userid;
	rel->useridiscurrent = of->useridiscurrent;
	rel->fdwroutine = of->fdwroutine;
	return rel;
}

/* Returns a path of the partition's groups as its server computes them; NULL if it does not. What the server said of the
 * partition's rows is known already: it is asked for the groups alone. */
static Path *groups_of_server(PlannerInfo *root, const RelOptInfo *rel, RelOptInfo *leaf, PathTarget *target)
{
	GroupPathExtraData whole = { .patype = PARTITIONWISE_AGGREGATE_FULL };
	PathTarget *of_leaf = copy_pathtarget(target);
	RelOptInfo *groups = grouped_relation(leaf, of_leaf);

	if (!ifp_is_foreign_leaf(leaf))
		return NULL;
	of_leaf->exprs = (List *)ifp_adjust_for_partition(root, (Node *)target->exprs, leaf, rel);
	leaf->fdwroutine->GetForeignUpperPaths(root, UPPERREL_GROUP_AGG, leaf, groups, &whole);
	if (groups->pathlist == NIL)
		return NULL;
	set_cheapest(groups);
	return groups->cheapest_total_path;
}

/* Returns a path that gives the groups of all partitions, one after the other; NULL if a server does not compute them. */
static Path *groups_of_servers(PlannerInfo *root, RelOptInfo *rel, List *leaves, const struct ifp_combination *combination)
{
	PathTarget *target;
	List *paths = NIL;
	ListCell *cell;

	if (!grouping_is_hashable(root->parse->groupClause))
		return NULL;
	target = ifp_combination_target(root, combination);
	foreach (cell, leaves) {
		Path *path = groups_of_server(root, rel, lfirst(cell), target);

		if (!path)
			return NULL;
		paths = lappend(paths, path);
	}
	return (Path *)create_append_path(root, grouped_relation(rel, target), paths, NIL, NIL, NULL, 0, false, -1);
}

/* ---- path ---- */

/* True if PostgreSQL itself asks each partition for its groups, as none is in two of them. */
static bool is_divided(const RelOptInfo *output)
{
	ListCell *cell;

	foreach (cell, output->pathlist)
		if (IsA(lfirst(cell), AppendPath))
			return true;
	return false;
}

void ifp_partition_groups_consider(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, const GroupPathExtraData *extra)
{
	const Query *parse = root->parse;
	struct ifp_combination combination = { .groups = NIL };
	List *having = (List *)extra->havingQual;
	List *leaves = NIL, *queries = NIL;
	ListCell *cell;
	Path *parts;

	if (input->reloptkind == RELOPT_BASEREL && parse->hasAggs && parse->groupingSets == NIL && !IS_DUMMY_REL(input) &&
	    !is_divided(output))
		leaves = ifp_foreign_leaves(root, input);
	if (leaves == NIL || !ifp_may_divide(root, input, leaves) ||
	    !ifp_combination_read(root, list_concat_copy(output->reltarget->exprs, having), &combination))
		return;
	/* another server does not take columns outside GROUP BY, which the pulled-up columns of a subquery may have left */
	if (list_length(combination.groups) != list_length(parse->groupClause))
		return;
	parts = groups_of_servers(root, input, leaves, &combination);
	if (parts) {
		ifp_combination_offer_parts(root, output, having, &combination, parts);
		return;
	}
	foreach (cell, leaves)
		queries = lappend(queries, leaf_query(root, input, lfirst(cell), &combination));
	(void)ifp_combination_offer(root, output, having, &combination, ifp_union_of(queries), false);
}
