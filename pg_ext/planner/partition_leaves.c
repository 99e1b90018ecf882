#include "pg_ext/planner/partition_leaves.h"

#include "pg_ext/base/engine.h"

#include "catalog/pg_class.h"
#include "foreign/fdwapi.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "rewrite/rewriteManip.h"

#include "pg_ext/base/compat.h"
#include "pg_ext/planner/query_below.h"

/* ---- partitions ---- */

bool ifp_is_foreign_leaf(const RelOptInfo *leaf)
{
	return leaf->fdwroutine && leaf->fdwroutine->GetForeignUpperPaths;
}

/* Adds all leaves to the list. Returns true if one of them is foreign. */
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
		has_foreign |= ifp_is_foreign_leaf(part);
	}
	return has_foreign;
}

List *ifp_foreign_leaves(PlannerInfo *root, const RelOptInfo *rel)
{
	List *leaves = NIL;

	return find_leaves(root, rel, &leaves) ? leaves : NIL;
}

bool ifp_may_divide(const PlannerInfo *root, const RelOptInfo *rel, List *leaves)
{
	const RangeTblEntry *table = root->simple_rte_array[rel->relid];
	ListCell *cell;

	if (root->qual_security_level > 0 || !bms_is_empty(rel->lateral_relids) || table->tablesample ||
	    ifp_user_of(table, rel) != GetUserId())
		return false;
	foreach (cell, leaves) {
		const RelOptInfo *leaf = lfirst(cell);

		if (extract_actual_clauses(leaf->baserestrictinfo, true) != NIL ||
		    !ifp_may_move(extract_actual_clauses(leaf->baserestrictinfo, false)))
			return false;
	}
	return true;
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

Query *ifp_leaf_query(PlannerInfo *root, const RelOptInfo *rel, RelOptInfo *leaf, List *expressions, int n_numbered)
{
	RangeTblEntry *table = copyObject(root->simple_rte_array[leaf->relid]);
	List *entries = ifp_entries_of(over_leaf(root, rel, leaf, expressions), n_numbered);
	List *conditions = copyObject(extract_actual_clauses(leaf->baserestrictinfo, false));
	Query *query;

	table->inh = false;
	ChangeVarNodes((Node *)conditions, (int)leaf->relid, 1, 0);
	query = ifp_simple_query(table, entries, conditions == NIL ? NULL : (Node *)make_ands_explicit(conditions));
	ifp_drop_privileges(query);
	return query;
}

static Node *reference(int number)
{
	RangeTblRef *made = makeNode(RangeTblRef);

	made->rtindex = number;
	return (Node *)made;
}

Query *ifp_union_of(List *queries)
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
