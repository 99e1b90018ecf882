#include "pg_ext/planner/candidate.h"

#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "pg_ext/am/plan_facts.h"
#include "pg_ext/planner/dimension.h"
#include "pg_ext/planner/quick_refusal.h"
#include "pg_ext/planner/verdict.h"
#include "pg_ext/types/values.h"

pg_noinline static bool have_types(const IndexOptInfo *index)
{
	int number = 0;
	ListCell *cell;

	foreach (cell, index->indextlist) {
		Node *column = (Node *)lfirst_node(TargetEntry, cell)->expr;
		Oid type = IsA(column, Var) ? castNode(Var, column)->vartype : exprType(column);
		int32 modifier = IsA(column, Var) ? castNode(Var, column)->vartypmod : exprTypmod(column);

		number++;
		if (number < index->nkeycolumns ? !ifp_is_by_type(type, modifier)
						: number > index->nkeycolumns && !ifp_is_value_type(type, modifier))
			return false;
	}
	return true;
}

/* True if all columns (still) have types that can be stored. */
pg_attribute_hot static bool holds_columns(const IndexOptInfo *index)
{
	struct ifp_plan_facts *facts = ifp_plan_facts(index->indexoid);

	if (facts->holds_columns == IFP_NOT_KNOWN) {
		bool does = have_types(index);

		facts = ifp_plan_facts(index->indexoid);
		facts->holds_columns = does ? IFP_KNOWN_TRUE : IFP_KNOWN_FALSE;
	}
	return facts->holds_columns == IFP_KNOWN_TRUE;
}

pg_attribute_hot bool ifp_is_usable(const IndexOptInfo *index)
{
	return ifp_is_iforest(index) && (index->indpred == NIL || index->predOK) && holds_columns(index);
}

/* ---- one table ---- */

pg_attribute_hot static List *columns_of(const IndexOptInfo *index)
{
	List *columns = NIL;
	ListCell *cell;

	foreach (cell, index->indextlist)
		columns = lappend(columns, lfirst_node(TargetEntry, cell)->expr);
	return columns;
}

/* Inserts a candidate after those whose index has at most as many key columns. */
pg_attribute_hot static List *add_in_order(List *candidates, struct ifp_candidate *candidate)
{
	int place = 0;
	ListCell *cell;

	foreach (cell, candidates) {
		const struct ifp_candidate *before = lfirst(cell);

		if (linitial_node(IndexOptInfo, before->indexes)->nkeycolumns >
		    linitial_node(IndexOptInfo, candidate->indexes)->nkeycolumns)
			break;
		place++;
	}
	return list_insert_nth(candidates, place, candidate);
}

pg_attribute_hot static List *of_table(const struct ifp_query_level *level, const char **reason)
{
	RelOptInfo *rel = level->rel;
	List *candidates = NIL;
	ListCell *cell;

	foreach (cell, rel->indexlist) {
		IndexOptInfo *index = lfirst(cell);
		struct ifp_candidate *candidate;

		if (!ifp_is_iforest(index) || !(index->indpred == NIL || index->predOK))
			continue;
		if (!holds_columns(index)) {
			*reason = "a column has become of a type that the index cannot hold";
			continue;
		}
		if (!ifp_are_reasons_wanted() && ifp_find_lacking(level, index->indrestrictinfo, index->indextlist))
			continue;
		candidate = palloc0(sizeof *candidate);
		*candidate = (struct ifp_candidate){ .rels = list_make1(rel),
						     .indexes = list_make1(index),
						     .columns = columns_of(index),
						     .restrictions = index->indrestrictinfo };
		candidates = add_in_order(candidates, candidate);
	}
	return candidates;
}

/* ---- parts of a whole ---- */

/* True if both keys have the same operator families. */
static bool are_alike(const IndexOptInfo *a, const IndexOptInfo *b)
{
	return a->nkeycolumns == b->nkeycolumns && memcmp(a->opfamily, b->opfamily, a->nkeycolumns * sizeof *a->opfamily) == 0;
}

/* Returns the columns of an index of a part as columns of the whole; NIL if that is not possible. */
typedef List *(*to_whole)(const struct ifp_query_level *level, const RelOptInfo *part, const IndexOptInfo *index);

/* Finds the usable index of a part number `skip` that has these columns and is like `like`; any columns if `like` is NULL. */
static IndexOptInfo *find_alike(const struct ifp_query_level *level, RelOptInfo *part, to_whole columns_of_whole, List *columns,
				const IndexOptInfo *like, int skip)
{
	ListCell *cell;

	foreach (cell, part->indexlist) {
		IndexOptInfo *index = lfirst(cell);
		List *own;

		if (!ifp_is_usable(index) || index->indpred != NIL)
			continue;
		own = columns_of_whole(level, part, index);
		if (own == NIL || (like && (!equal(own, columns) || !are_alike(index, like))))
			continue;
		if (skip-- == 0)
			return index;
	}
	return NULL;
}

/* Returns a candidate for each index of the first part that all other parts have too. */
static List *of_parts(const struct ifp_query_level *level, List *parts, to_whole columns_of_whole, const char *lacking,
		      const char **reason)
{
	List *candidates = NIL;
	IndexOptInfo *first;

	for (int n = 0; parts != NIL && (first = find_alike(level, linitial(parts), columns_of_whole, NIL, NULL, n)); n++) {
		struct ifp_candidate *candidate = palloc0(sizeof *candidate);
		ListCell *cell;

		candidate->columns = columns_of_whole(level, linitial(parts), first);
		candidate->restrictions = level->rel->baserestrictinfo;
		foreach (cell, parts) {
			IndexOptInfo *index = find_alike(level, lfirst(cell), columns_of_whole, candidate->columns, first, 0);

			if (!index)
				break;
			candidate->rels = lappend(candidate->rels, lfirst(cell));
			candidate->indexes = lappend(candidate->indexes, index);
		}
		if (list_length(candidate->rels) == list_length(parts))
			candidates = lappend(candidates, candidate);
		else
			*reason = lacking;
	}
	return candidates;
}

/* ---- a partitioned table ---- */

/* Adds the leaf partitions that may have rows. Returns false if one is not an ordinary table. */
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

/* Returns the columns of a partition's index as columns of the parent, which has the same names; NIL if the index has
 * expressions. */
static List *columns_of_parent(const struct ifp_query_level *level, const RelOptInfo *part, const IndexOptInfo *index)
{
	Oid parent = planner_rt_fetch(level->rel->relid, level->root)->relid;
	Oid child = planner_rt_fetch(part->relid, level->root)->relid;
	List *columns = NIL;
	ListCell *cell;

	foreach (cell, columns_of(index)) {
		Var *var = lfirst(cell);
		AttrNumber attribute;

		if (!IsA(var, Var))
			return NIL;
		attribute = get_attnum(parent, get_attname(child, var->varattno, false));
		columns = lappend(columns,
				  makeVar((int)level->rel->relid, attribute, var->vartype, var->vartypmod, var->varcollid, 0));
	}
	return columns;
}

pg_noinline static List *of_partitions(const struct ifp_query_level *level, const char **reason)
{
	List *leaves = NIL;

	if (!add_leaves(level->root, level->rel, &leaves))
		return NIL;
	return of_parts(level, leaves, columns_of_parent, "a partition lacks the index", reason);
}

/* ---- arms of UNION ALL ---- */

/* The number of a column that the arms do not pass on: no query mentions it. */
enum { NOT_HANDED_ON = 20000 };

/* Returns the columns of an arm's index as columns of the UNION ALL. */
static List *columns_of_union(const struct ifp_query_level *level, const RelOptInfo *arm, const IndexOptInfo *index)
{
	const AppendRelInfo *info = level->root->append_rel_array[arm->relid];
	List *columns = NIL;
	ListCell *cell, *handed_on;

	foreach (cell, columns_of(index)) {
		Node *column = lfirst(cell);
		AttrNumber number = (AttrNumber)(NOT_HANDED_ON + foreach_current_index(cell));

		foreach (handed_on, info->translated_vars)
			if (equal(lfirst(handed_on), column)) {
				number = (AttrNumber)(foreach_current_index(handed_on) + 1);
				break;
			}
		columns = lappend(columns, makeVar((int)level->rel->relid, number, exprType(column), exprTypmod(column),
						   exprCollation(column), 0));
	}
	return columns;
}

/* True for a table all of whose rows are read. */
static bool is_whole_table(const RangeTblEntry *table)
{
	return table->rtekind == RTE_RELATION && table->relkind == RELKIND_RELATION && !table->inh && !table->tablesample &&
	       table->securityQuals == NIL;
}

pg_noinline static List *of_union(const struct ifp_query_level *level, const char **reason)
{
	List *arms = NIL, *candidates;
	bool are_tables = true, have_index = false;
	ListCell *cell;

	foreach (cell, level->root->append_rel_list) {
		const AppendRelInfo *info = lfirst_node(AppendRelInfo, cell);
		RelOptInfo *arm = level->root->simple_rel_array[info->child_relid];

		if (info->parent_relid != level->rel->relid || !arm || IS_DUMMY_REL(arm))
			continue;
		have_index = have_index || ifp_has_index(level->root, arm);
		are_tables = are_tables && is_whole_table(planner_rt_fetch(info->child_relid, level->root));
		arms = lappend(arms, arm);
	}
	if (!are_tables) {
		*reason = have_index ? "an arm of UNION ALL is no table, or has conditions of its own" : NULL;
		return NIL;
	}
	candidates = of_parts(level, arms, columns_of_union, "an arm of UNION ALL lacks the index", reason);
	/* columns are named as in the first arm */
	foreach (cell, candidates) {
		struct ifp_candidate *candidate = lfirst(cell);

		candidate->named = ((RelOptInfo *)linitial(arms))->relid;
		candidate->named_columns = columns_of(linitial(candidate->indexes));
	}
	return candidates;
}

/* ---- all ---- */

static bool has_usable_index(const RelOptInfo *rel)
{
	ListCell *cell;

	foreach (cell, rel->indexlist)
		if (ifp_is_iforest(lfirst(cell)))
			return true;
	return false;
}

bool ifp_may_have_candidates(const RelOptInfo *rel)
{
	if (rel->rtekind != RTE_RELATION)
		return false;
	if (has_usable_index(rel))
		return true;
	for (int i = 0; i < rel->nparts; i++)
		if (rel->part_rels[i])
			return ifp_may_have_candidates(rel->part_rels[i]);
	return false;
}

pg_attribute_hot static List *of_rel(const struct ifp_query_level *level, const char **reason)
{
	RelOptInfo *rel = level->rel;
	RangeTblEntry *table;

	if (rel->reloptkind != RELOPT_BASEREL || IS_DUMMY_REL(rel))
		return NIL;
	table = planner_rt_fetch(rel->relid, level->root);
	if (rel->rtekind == RTE_SUBQUERY && table->inh)
		return of_union(level, reason);
	if (rel->rtekind != RTE_RELATION)
		return NIL;
	if (table->tablesample && ifp_has_index(level->root, rel))
		*reason = "rows are chosen by TABLESAMPLE";
	if (table->tablesample)
		return NIL;
	if ((table->relkind == RELKIND_RELATION || table->relkind == RELKIND_MATVIEW) && !table->inh)
		return of_table(level, reason);
	return table->relkind == RELKIND_PARTITIONED_TABLE && table->inh ? of_partitions(level, reason) : NIL;
}

pg_attribute_hot List *ifp_candidates(const struct ifp_query_level *level, const char **reason)
{
	List *candidates = of_rel(level, reason);
	ListCell *cell;

	foreach (cell, candidates) {
		struct ifp_candidate *candidate = lfirst(cell);

		candidate->n_own = list_length(candidate->restrictions);
		candidate->restrictions = ifp_query_level_restrictions(level, candidate->restrictions);
		if (candidate->named == 0) {
			candidate->named = level->rel->relid;
			candidate->named_columns = list_copy(candidate->columns);
		}
		candidate->columns = list_concat(candidate->columns, ifp_dimensions_columns(level));
	}
	return candidates;
}
