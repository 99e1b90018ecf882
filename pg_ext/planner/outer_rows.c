#include "pg_ext/planner/outer_rows.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"

#include "pg_ext/base/compat.h"
#include "pg_ext/planner/aggregate_arms.h"
#include "pg_ext/planner/candidate.h"
#include "pg_ext/planner/combination.h"
#include "pg_ext/planner/query_below.h"
#include "pg_ext/planner/query_level.h"

/* A join of outer relations with a table. */
struct outer_join {
	PlannerInfo *root;
	Index fact;
	bool is_outer;	     /* outer rows without a partner stay */
	List *from;	     /* the outer relations, RangeTblRefs */
	Relids outer;	     /* their numbers */
	List *outer_quals;   /* conditions on them alone */
	List *partner_quals; /* conditions on the table, or on both */
	bool is_refused;
};

/* ---- the join tree ---- */

static Relids relations_of(const struct outer_join *join, Node *expression)
{
	return bms_int_members(pull_varnos(join->root, expression), join->root->all_baserels);
}

static void take_quals(struct outer_join *join, List *quals)
{
	ListCell *cell;

	foreach (cell, quals) {
		bool has_fact = bms_is_member((int)join->fact, relations_of(join, lfirst(cell)));
		List **list = has_fact ? &join->partner_quals : &join->outer_quals;

		*list = lappend(*list, lfirst(cell));
	}
}

/* Takes apart inner joins. */
static void take(struct outer_join *join, Node *node)
{
	ListCell *cell;

	if (IsA(node, RangeTblRef)) {
		int number = castNode(RangeTblRef, node)->rtindex;

		if (number == (int)join->fact)
			return;
		join->from = lappend(join->from, node);
		join->outer = bms_add_member(join->outer, number);
	} else if (IsA(node, FromExpr)) {
		foreach (cell, castNode(FromExpr, node)->fromlist)
			take(join, lfirst(cell));
		take_quals(join, (List *)castNode(FromExpr, node)->quals);
	} else if (castNode(JoinExpr, node)->jointype == JOIN_INNER) {
		take(join, castNode(JoinExpr, node)->larg);
		take(join, castNode(JoinExpr, node)->rarg);
		take_quals(join, (List *)castNode(JoinExpr, node)->quals);
	} else {
		join->is_refused = true;
	}
}

/* Returns the only item of FROM, if it is a left join; else NULL. */
static JoinExpr *left_join_of(const FromExpr *from)
{
	Node *only = list_length(from->fromlist) == 1 ? linitial(from->fromlist) : NULL;

	return only && IsA(only, JoinExpr) && castNode(JoinExpr, only)->jointype == JOIN_LEFT ? castNode(JoinExpr, only) : NULL;
}

/* Returns the number of a relation that stands alone, 0 for a join. Adds the conditions that it has below the join. */
static int only_relation(Node *node, List **quals)
{
	while (IsA(node, FromExpr) && list_length(castNode(FromExpr, node)->fromlist) == 1) {
		*quals = list_concat(*quals, (List *)castNode(FromExpr, node)->quals);
		node = linitial(castNode(FromExpr, node)->fromlist);
	}
	return IsA(node, RangeTblRef) ? castNode(RangeTblRef, node)->rtindex : 0;
}

static bool may_be_fact(PlannerInfo *root, int relid)
{
	return relid > 0 && bms_is_member(relid, root->all_baserels) && ifp_may_have_candidates(find_base_rel(root, relid)) &&
	       !planner_rt_fetch(relid, root)->tablesample;
}

/* Reads a left join with the table on its right. Conditions of WHERE must be of outer relations. */
static bool read_left_join(PlannerInfo *root, JoinExpr *left, struct outer_join *join)
{
	List *quals = list_copy((List *)left->quals);

	*join = (struct outer_join){ .root = root, .fact = (Index)only_relation(left->rarg, &quals), .is_outer = true };
	if (!may_be_fact(root, (int)join->fact))
		return false;
	take(join, left->larg);
	take_quals(join, (List *)root->parse->jointree->quals);
	if (join->partner_quals != NIL)
		return false;
	join->partner_quals = quals;
	return true;
}

/* Reads inner joins, of which `relid` is the table. */
static void read_inner_joins(PlannerInfo *root, int relid, struct outer_join *join)
{
	*join = (struct outer_join){ .root = root, .fact = (Index)relid };
	take(join, (Node *)root->parse->jointree);
}

/* ---- what may move into other query levels ---- */

struct leaving {
	Index depth; /* of the query that is looked at, from 0 */
};

/* True if a subquery has tables, or something of an outer level: privileges are checked where a table stands. */
static bool is_more_than_values(Node *node, void *context)
{
	struct leaving *leaving = context;
	bool is_more;

	if (!node)
		return false;
	if (IsA(node, Var))
		return castNode(Var, node)->varlevelsup >= leaving->depth;
	if (IsA(node, RangeTblEntry)) {
		RTEKind kind = castNode(RangeTblEntry, node)->rtekind;

		return kind == RTE_RELATION || kind == RTE_CTE;
	}
	if (!IsA(node, Query))
		return expression_tree_walker(node, is_more_than_values, context);
	leaving->depth++;
	is_more = query_tree_walker(castNode(Query, node), is_more_than_values, context, QTW_EXAMINE_RTES_BEFORE);
	leaving->depth--;
	return is_more;
}

static bool is_of_user(const struct outer_join *join, int relid)
{
	return ifp_user_of(planner_rt_fetch(relid, join->root), find_base_rel(join->root, relid)) == GetUserId();
}

/* True if an outer relation may be part of another query. */
static bool may_be_outer(const struct outer_join *join, int relid)
{
	const RangeTblEntry *table = planner_rt_fetch(relid, join->root);
	ListCell *cell;

	if (!bms_is_member(relid, join->root->all_baserels) ||
	    bms_is_member((int)join->fact, find_base_rel(join->root, relid)->lateral_relids))
		return false;
	switch (table->rtekind) {
	case RTE_RELATION:
		return is_of_user(join, relid) && !table->tablesample;
	case RTE_SUBQUERY:
		return !is_more_than_values((Node *)table->subquery, &(struct leaving){ .depth = 0 });
	case RTE_FUNCTION:
		foreach (cell, table->functions)
			if (!ifp_may_move(list_make1(((RangeTblFunction *)lfirst(cell))->funcexpr)))
				return false;
		return true;
	case RTE_VALUES:
		return ifp_may_move(table->values_lists);
	case RTE_CTE:
		return !table->self_reference;
	default:
		return false;
	}
}

static bool is_of(const struct outer_join *join, Node *expression, bool is_fact)
{
	Relids found = relations_of(join, expression);

	return is_fact ? bms_is_subset(found, bms_make_singleton((int)join->fact)) : bms_is_subset(found, join->outer);
}

/* True if the expression is NULL for a row of the table that is all NULL. */
static bool is_strict(const struct outer_join *join, Node *expression)
{
	return bms_is_member((int)join->fact, relations_of(join, expression)) && !contain_nonstrict_functions(expression);
}

/* True for count(*), and count() of a constant, without FILTER. */
static bool is_count_of_rows(const Aggref *aggregate)
{
	const Const *constant =
		aggregate->args == NIL ? NULL : (const Const *)linitial_node(TargetEntry, aggregate->args)->expr;

	if (aggregate->aggfilter || aggregate->aggdistinct != NIL)
		return false;
	return aggregate->aggfnoid == F_COUNT_ ||
	       (aggregate->aggfnoid == F_COUNT_ANY && constant && IsA(constant, Const) && !constant->constisnull);
}

/* True if the aggregate is of the table alone, and it is known what the row of an outer row without a partner adds to it. */
static bool may_be_asked(const struct outer_join *join, const Aggref *aggregate)
{
	if (!is_of(join, (Node *)aggregate, true) ||
	    (!ifp_float_aggregates && ifp_aggregate_is_real(unconstify(Aggref *, aggregate))))
		return false;
	if (!join->is_outer || is_count_of_rows(aggregate))
		return true;
	if (aggregate->aggfilter && is_strict(join, (Node *)aggregate->aggfilter))
		return true;
	return aggregate->args != NIL && is_strict(join, (Node *)linitial_node(TargetEntry, aggregate->args)->expr);
}

/* ---- indexes ---- */

/* True if the columns of the table in a condition on both sides are keys of an index; with `of_time`, the time among them. */
static bool is_of_keys(const struct outer_join *join, Node *condition, const IndexOptInfo *index, bool of_time)
{
	bool has_time = false;
	ListCell *cell;

	foreach (cell, pull_var_clause(condition, 0)) {
		const Var *var = lfirst_node(Var, cell);
		int key = 0;

		if ((Index)var->varno != join->fact)
			continue;
		while (key < index->nkeycolumns && index->indexkeys[key] != var->varattno && index->indexkeys[key] != 0)
			key++;
		if (key == index->nkeycolumns)
			return false;
		has_time = has_time || key == index->nkeycolumns - 1;
	}
	return has_time || !of_time;
}

/* True if an index finds the rows that join an outer row by a condition on both. Inner joins by other keys than the time are for
 * planner/dimension.h. */
static bool is_joined_by(const struct outer_join *join, const IndexOptInfo *index)
{
	bool is_joined = false;
	ListCell *cell;

	if (!ifp_is_usable(index))
		return false;
	foreach (cell, join->partner_quals)
		if (!is_of(join, lfirst(cell), true) && is_of_keys(join, lfirst(cell), index, !join->is_outer))
			is_joined = true;
	return is_joined;
}

static bool is_joined_by_an_index(const struct outer_join *join, const RelOptInfo *rel)
{
	ListCell *cell;

	/* a partition may have its columns in another order */
	if (rel->nparts > 0)
		return true;
	foreach (cell, rel->indexlist)
		if (is_joined_by(join, lfirst(cell)))
			return true;
	return false;
}

/* ---- queries ---- */

/* True if the aggregates of each outer row may be asked and combined. */
static bool may_be_divided(const struct outer_join *join, const struct ifp_combination *combination)
{
	int relid = -1;
	ListCell *cell;

	if (join->is_refused || join->from == NIL || !is_of_user(join, (int)join->fact) ||
	    !is_joined_by_an_index(join, find_base_rel(join->root, (int)join->fact)) ||
	    !is_of(join, (Node *)combination->groups, false) || !ifp_may_move(join->outer_quals) ||
	    !ifp_may_move(join->partner_quals))
		return false;
	while ((relid = bms_next_member(join->outer, relid)) >= 0)
		if (!may_be_outer(join, relid))
			return false;
	foreach (cell, combination->aggregates)
		if (!may_be_asked(join, lfirst(cell)))
			return false;
	return true;
}

/* Moves an expression over both sides into the query of the table's rows, where the table is the only one. */
static Node *into_part(Node *node, void *context)
{
	const struct outer_join *join = context;
	Var *var;

	if (!node)
		return NULL;
	if (!IsA(node, Var))
		return expression_tree_mutator(node, into_part, context);
	var = copyObject(castNode(Var, node));
	if ((Index)var->varno == join->fact)
		var->varno = 1;
	else
		var->varlevelsup = 1;
	return (Node *)var;
}

/* Returns count(*) > 0: without it there is a row even if no row of the table is joined. */
static Node *has_rows(void)
{
	Aggref *count = makeNode(Aggref);
	Const *none = makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false, FLOAT8PASSBYVAL);

	count->aggfnoid = F_COUNT_;
	count->aggtype = INT8OID;
	count->aggstar = true;
	count->aggkind = AGGKIND_NORMAL;
	count->aggsplit = AGGSPLIT_SIMPLE;
	count->aggno = count->aggtransno = -1;
	count->location = -1;
	return (Node *)makeFuncExpr(F_INT8GT, BOOLOID, list_make2(count, none), InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

/* Returns the query of what is sent of the rows that join one outer row, which is one level above. */
static Query *part_query(const struct outer_join *join, const struct ifp_combination *combination)
{
	void *context = unconstify(struct outer_join *, join);
	List *sent = (List *)ifp_without_join_nulls(join->root, copyObject((Node *)combination->sent));
	Node *quals = into_part((Node *)make_ands_explicit(join->partner_quals), context);
	Query *query = ifp_simple_query(copyObject(planner_rt_fetch(join->fact, join->root)),
					ifp_entries_of((List *)into_part((Node *)sent, context), 0), quals);

	query->hasAggs = true;
	query->havingQual = join->is_outer ? NULL : has_rows();
	ifp_forget_numbers(query->targetList);
	ifp_drop_privileges(query);
	return query;
}

/* Returns the outer relations under the numbers that they have in the query; others are left empty. */
static List *outer_entries(const struct outer_join *join)
{
	List *entries = NIL;

	for (int relid = 1; relid <= list_length(join->root->parse->rtable); relid++) {
		RangeTblEntry *table = makeNode(RangeTblEntry);

		if (bms_is_member(relid, join->outer))
			table = copyObject(planner_rt_fetch(relid, join->root));
		else
			table->rtekind = RTE_RESULT;
		if (!table->eref)
			table->eref = makeAlias("none", NIL);
		/* it becomes a query two levels below */
		if (table->rtekind == RTE_CTE)
			table->ctelevelsup += 2;
		entries = lappend(entries, table);
	}
	return entries;
}

/* Returns a column of the parts as it is added up: to count(*) an outer row without a partner is a row. */
static Node *column_of_part(const struct outer_join *join, Node *sent, Var *column)
{
	MinMaxExpr *greatest;

	if (!join->is_outer || !IsA(sent, Aggref) || !is_count_of_rows(castNode(Aggref, sent)))
		return (Node *)column;
	greatest = makeNode(MinMaxExpr);
	greatest->minmaxtype = INT8OID;
	greatest->op = IS_GREATEST;
	greatest->args =
		list_make2(column, makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(1), false, FLOAT8PASSBYVAL));
	greatest->location = -1;
	return (Node *)greatest;
}

/* Returns the query of all outer rows, each with its groups and what is sent of its partners. */
static Query *rows_query(const struct outer_join *join, const struct ifp_combination *combination)
{
	Query *query = makeNode(Query), *part = part_query(join, combination);
	RangeTblEntry *parts = ifp_subquery_entry(part);
	RangeTblRef *from = makeNode(RangeTblRef);
	List *columns = copyObject(combination->groups);
	ListCell *cell, *sent;

	parts->lateral = true;
	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->rtable = lappend(outer_entries(join), parts);
	from->rtindex = list_length(query->rtable);
	query->jointree =
		makeFromExpr(lappend(copyObject(join->from), from),
			     join->outer_quals == NIL ? NULL : (Node *)make_ands_explicit(copyObject(join->outer_quals)));
	forboth(cell, part->targetList, sent, combination->sent) columns =
		lappend(columns, column_of_part(join, lfirst(sent), makeVarFromTargetEntry(from->rtindex, lfirst(cell))));
	query->targetList = ifp_entries_of(columns, 0);
	ifp_drop_privileges(query);
	return query;
}

/* ---- entry ---- */

static bool offer(struct outer_join *join, RelOptInfo *output, List *having, const struct ifp_combination *combination)
{
	const Path *without = ifp_cheapest_path(output);

	if (!may_be_divided(join, combination) ||
	    !ifp_combination_offer(join->root, output, having, combination, rows_query(join, combination), true))
		return false;
	if (without && ifp_cheapest_path(output) == without && ifp_are_reasons_wanted())
		ifp_decline(join->root, InvalidOid, NULL, ifp_costs_more);
	return true;
}

bool ifp_outer_rows_consider(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, const GroupPathExtraData *extra)
{
	const Query *parse = root->parse;
	List *having = (List *)extra->havingQual, *outputs;
	struct ifp_combination combination = { .groups = NIL };
	struct outer_join join;
	JoinExpr *left;
	int relid = -1;

	if (IS_DUMMY_REL(input) || !parse->hasAggs || parse->groupClause == NIL || parse->groupingSets != NIL ||
	    root->qual_security_level > 0)
		return false;
	outputs = list_concat_copy(output->reltarget->exprs, having);
	left = left_join_of(parse->jointree);
	if (left)
		return read_left_join(root, left, &join) && ifp_combination_read(root, outputs, &combination) &&
		       offer(&join, output, having, &combination);
	while ((relid = bms_next_member(root->all_baserels, relid)) >= 0) {
		if (!may_be_fact(root, relid))
			continue;
		read_inner_joins(root, relid, &join);
		return ifp_combination_read(root, outputs, &combination) && offer(&join, output, having, &combination);
	}
	return false;
}
