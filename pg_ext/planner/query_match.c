#include "pg_ext/planner/query_match.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planmain.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "pg_ext/am/handler.h"

bool iforest_enable = true, iforest_float_aggregates = true, iforest_explain_decline = false;

static bool is_iforest(const IndexOptInfo *index)
{
	return (void *)index->amcostestimate == (void *)iforest_cost_estimate && !index->hypothetical;
}

/* Are all columns of types that can be kept, still? */
static bool holds_columns(const IndexOptInfo *index)
{
	for (int i = 0; i < index->ncolumns; i++) {
		Node *column = (Node *)list_nth_node(TargetEntry, index->indextlist, i)->expr;
		bool (*is_held)(Oid, int32) = i < index->nkeycolumns - 1 ? iforest_is_by_type : iforest_is_value_type;

		if (i != index->nkeycolumns - 1 && !is_held(exprType(column), exprTypmod(column)))
			return false;
	}
	return true;
}

bool iforest_is_usable(const IndexOptInfo *index)
{
	return is_iforest(index) && (index->indpred == NIL || index->predOK) && holds_columns(index);
}

/* ---- one table ---- */

static List *columns_of(const IndexOptInfo *index)
{
	List *columns = NIL;
	ListCell *cell;

	foreach(cell, index->indextlist)
		columns = lappend(columns, lfirst_node(TargetEntry, cell)->expr);
	return columns;
}

static List *of_table(RelOptInfo *rel, const char **reason)
{
	List *candidates = NIL;
	ListCell *cell;

	foreach(cell, rel->indexlist) {
		IndexOptInfo *index = lfirst(cell);
		struct iforest_candidate *candidate;

		if (is_iforest(index) && !holds_columns(index))
			*reason = "a column has become of a type that the index cannot hold";
		if (!iforest_is_usable(index))
			continue;
		candidate = palloc(sizeof *candidate);
		*candidate = (struct iforest_candidate){ .rels = list_make1(rel), .indexes = list_make1(index),
							 .columns = columns_of(index),
							 .restrictions = index->indrestrictinfo };
		candidates = lappend(candidates, candidate);
	}
	return candidates;
}

/* ---- a partitioned table ---- */

/* The leaf partitions that may have rows. False: one is no ordinary table. */
static bool add_leaves(PlannerInfo *root, RelOptInfo *rel, List **leaves)
{
	for (int i = 0; i < rel->nparts; i++) {
		RelOptInfo *part = rel->part_rels[i];
		RangeTblEntry *table;

		if (!part || IS_DUMMY_REL(part))
			continue;
		table = planner_rt_fetch(part->relid, root);
		if (table->relkind == RELKIND_PARTITIONED_TABLE) {
			if (!add_leaves(root, part, leaves))
				return false;
		} else if (table->rtekind != RTE_RELATION || table->relkind != RELKIND_RELATION) {
			return false;
		} else {
			*leaves = lappend(*leaves, part);
		}
	}
	return true;
}

/* The columns of a partition's index as columns of the parent, which has them under the same names; NIL where the index has
 * expressions. */
static List *columns_of_parent(const struct iforest_query *query, const RelOptInfo *part, const IndexOptInfo *index)
{
	Oid parent = planner_rt_fetch(query->rel->relid, query->root)->relid;
	Oid child = planner_rt_fetch(part->relid, query->root)->relid;
	List *columns = NIL;
	ListCell *cell;

	foreach(cell, columns_of(index)) {
		Var *var = lfirst(cell);
		AttrNumber attribute;

		if (!IsA(var, Var))
			return NIL;
		attribute = get_attnum(parent, get_attname(child, var->varattno, false));
		columns = lappend(columns,
				  makeVar((int)query->rel->relid, attribute, var->vartype, var->vartypmod, var->varcollid, 0));
	}
	return columns;
}

/* Have the keys of both the same operators? */
static bool are_alike(const IndexOptInfo *a, const IndexOptInfo *b)
{
	return a->nkeycolumns == b->nkeycolumns && memcmp(a->opfamily, b->opfamily, a->nkeycolumns * sizeof *a->opfamily) == 0;
}

/* The index of a partition that has these columns in the way of that one; any usable one where that is NULL. */
static IndexOptInfo *find_alike(const struct iforest_query *query, RelOptInfo *part, List *columns,
				const IndexOptInfo *like, int skip)
{
	ListCell *cell;

	foreach(cell, part->indexlist) {
		IndexOptInfo *index = lfirst(cell);
		List *own;

		if (!iforest_is_usable(index) || index->indpred != NIL)
			continue;
		own = columns_of_parent(query, part, index);
		if (own == NIL || (like && (!equal(own, columns) || !are_alike(index, like))))
			continue;
		if (skip-- == 0)
			return index;
	}
	return NULL;
}

/* One candidate for each index of the first partition that all others have, too. */
static List *of_partitions(const struct iforest_query *query, const char **reason)
{
	List *leaves = NIL, *candidates = NIL;
	IndexOptInfo *first;

	if (!add_leaves(query->root, query->rel, &leaves) || leaves == NIL)
		return NIL;
	for (int n = 0; (first = find_alike(query, linitial(leaves), NIL, NULL, n)); n++) {
		struct iforest_candidate *candidate = palloc0(sizeof *candidate);
		ListCell *cell;

		candidate->columns = columns_of_parent(query, linitial(leaves), first);
		candidate->restrictions = query->rel->baserestrictinfo;
		foreach(cell, leaves) {
			IndexOptInfo *index = find_alike(query, lfirst(cell), candidate->columns, first, 0);

			if (!index)
				break;
			candidate->rels = lappend(candidate->rels, lfirst(cell));
			candidate->indexes = lappend(candidate->indexes, index);
		}
		if (list_length(candidate->rels) == list_length(leaves))
			candidates = lappend(candidates, candidate);
		else
			*reason = "a partition lacks the index";
	}
	return candidates;
}

/* Has one of the tables such an index? Asked for a NOTICE alone. */
static bool has_iforest_index(PlannerInfo *root, const RelOptInfo *tables)
{
	int relid = -1;
	ListCell *cell;

	while (iforest_explain_decline && (relid = bms_next_member(tables->relids, relid)) >= 0) {
		RelOptInfo *rel = root->simple_rel_array[relid];

		foreach(cell, rel ? rel->indexlist : NIL)
			if (is_iforest(lfirst(cell)))
				return true;
	}
	return false;
}

List *iforest_candidates(const struct iforest_query *query, const char **reason)
{
	RelOptInfo *rel = query->rel;
	RangeTblEntry *table;

	*reason = NULL;
	if (IS_JOIN_REL(rel) && has_iforest_index(query->root, rel))
		*reason = "tables are joined below the aggregates";
	if (rel->reloptkind != RELOPT_BASEREL || rel->rtekind != RTE_RELATION || IS_DUMMY_REL(rel))
		return NIL;
	table = planner_rt_fetch(rel->relid, query->root);
	if (table->tablesample && has_iforest_index(query->root, rel))
		*reason = "rows are chosen by TABLESAMPLE";
	if (table->tablesample)
		return NIL;
	if (table->relkind == RELKIND_RELATION && !table->inh)
		return of_table(rel, reason);
	return table->relkind == RELKIND_PARTITIONED_TABLE && table->inh ? of_partitions(query, reason) : NIL;
}
