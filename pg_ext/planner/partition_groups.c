#include "pg_ext/planner/partition_groups.h"

#include "pg_ext/base/engine.h"

#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "foreign/fdwapi.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pg_ext/base/compat.h"
#include "pg_ext/base/safe_eval.h"
#include "pg_ext/planner/combination.h"

/* ---- query level ---- */

/* True if the partitioned table has foreign partitions that are not pruned; all its leaves are added to the list. */
static bool find_leaves(PlannerInfo *root, const RelOptInfo *rel, List **leaves)
{
	bool has_foreign = false;
	int i = -1;

	while ((i = bms_next_member(rel->live_parts, i)) >= 0) {
		RelOptInfo *part = rel->part_rels[i];

		if (!part || IS_DUMMY_REL(part))
			continue;
		if (root->simple_rte_array[part->relid]->relkind == RELKIND_PARTITIONED_TABLE) {
			has_foreign |= find_leaves(root, part, leaves);
			continue;
		}
		*leaves = lappend(*leaves, part);
		has_foreign |= part->fdwroutine && part->fdwroutine->GetForeignUpperPaths;
	}
	return has_foreign;
}

/* ---- queries ---- */

/* Returns expressions over the partitioned table as they are over a partition that is the only table of a query. */
static List *over_leaf(PlannerInfo *root, const RelOptInfo *rel, RelOptInfo *leaf, List *expressions)
{
	Node *over = ifp_adjust_for_partition(root, (Node *)expressions, leaf, rel);

	over = copyObject(over);
	ChangeVarNodes(over, (int)leaf->relid, 1, 0);
	return (List *)over;
}

/* Returns what is asked of a partition. */
static Query *leaf_query(PlannerInfo *root, const RelOptInfo *rel, RelOptInfo *leaf, const struct ifp_combination *combination)
{
	RangeTblEntry *table = copyObject(root->simple_rte_array[leaf->relid]);
	List *expressions = over_leaf(root, rel, leaf, list_concat_copy(combination->groups, combination->sent));
	List *conditions = copyObject(extract_actual_clauses(leaf->baserestrictinfo, false));
	Query *query;

	table->inh = false;
	ifp_forget_numbers(expressions);
	ChangeVarNodes((Node *)conditions, (int)leaf->relid, 1, 0);
	query = ifp_grouped_query(root, table, expressions, conditions == NIL ? NULL : (Node *)make_ands_explicit(conditions));
	/* privileges are those on the partitioned table, which stays in the statement */
	ifp_drop_privileges(query);
	return query;
}

static Node *reference(int number)
{
	RangeTblRef *made = makeNode(RangeTblRef);

	made->rtindex = number;
	return (Node *)made;
}

/* Returns UNION ALL of the queries, of which there is one at least. */
static Query *union_of(List *queries)
{
	const Query *first = linitial_node(Query, queries);
	Query *query = makeNode(Query);
	Node *tree = reference(1);
	ListCell *cell;

	if (list_length(queries) == 1)
		return linitial(queries);
	foreach (cell, queries) {
		SetOperationStmt *both;
		ListCell *entry;

		query->rtable = lappend(query->rtable, ifp_subquery_entry(lfirst(cell)));
		if (list_length(query->rtable) == 1)
			continue;
		both = makeNode(SetOperationStmt);
		both->op = SETOP_UNION;
		both->all = true;
		both->larg = tree;
		both->rarg = reference(list_length(query->rtable));
		foreach (entry, first->targetList) {
			Node *expression = (Node *)lfirst_node(TargetEntry, entry)->expr;

			both->colTypes = lappend_oid(both->colTypes, exprType(expression));
			both->colTypmods = lappend_int(both->colTypmods, exprTypmod(expression));
			both->colCollations = lappend_oid(both->colCollations, exprCollation(expression));
		}
		tree = (Node *)both;
	}
	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->jointree = makeFromExpr(NIL, NULL);
	query->setOperations = tree;
	query->targetList = ifp_entries_of(ifp_columns_of(first), 0);
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

	if (!leaf->fdwroutine || !leaf->fdwroutine->GetForeignUpperPaths)
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

/* True if rows of the table may be asked for by partition: all conditions are those of partitions, and the user is this one. */
static bool may_divide(const PlannerInfo *root, const RelOptInfo *input, List *leaves)
{
	ListCell *cell;

	if (root->qual_security_level > 0 || !bms_is_empty(input->lateral_relids) ||
	    ifp_user_of(root->simple_rte_array[input->relid], input) != GetUserId())
		return false;
	foreach (cell, leaves) {
		const RelOptInfo *leaf = lfirst(cell);

		if (extract_actual_clauses(leaf->baserestrictinfo, true) != NIL ||
		    !ifp_may_move(extract_actual_clauses(leaf->baserestrictinfo, false)))
			return false;
	}
	return true;
}

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

	if (input->reloptkind != RELOPT_BASEREL || !parse->hasAggs || parse->groupingSets != NIL || IS_DUMMY_REL(input) ||
	    is_divided(output) || !find_leaves(root, input, &leaves) || !may_divide(root, input, leaves) ||
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
	(void)ifp_combination_offer(root, output, having, &combination, union_of(queries), false);
}
