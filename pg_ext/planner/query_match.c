#include "pg_ext/planner/query_match.h"

#include "access/amapi.h"
#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pg_ext/am/handler.h"
#include "pg_ext/base/engine.h"
#include "pg_ext/planner/aggregate_arms.h"
#include "pg_ext/planner/index_fields.h"
#include "pg_ext/planner/index_query.h"
#include "pg_ext/planner/monotone.h"
#include "pg_ext/planner/query_level.h"
#include "pg_ext/planner/quick_refusal.h"
#include "pg_ext/planner/value_steps.h"

/* A reason that nobody is told. */
static const char untold[] = "";

/* True if all columns are (still) of types that can be kept. */
static bool holds_columns(const IndexOptInfo *index)
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

bool ifp_is_usable(const IndexOptInfo *index)
{
	return ifp_is_iforest(index) && (index->indpred == NIL || index->predOK) && holds_columns(index);
}

/* ---- one table ---- */

static List *columns_of(const IndexOptInfo *index)
{
	List *columns = NIL;
	ListCell *cell;

	foreach (cell, index->indextlist)
		columns = lappend(columns, lfirst_node(TargetEntry, cell)->expr);
	return columns;
}

static List *of_table(const struct ifp_query_level *level, const char **reason)
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
		candidate = palloc(sizeof *candidate);
		*candidate = (struct ifp_candidate){ .rels = list_make1(rel),
						     .indexes = list_make1(index),
						     .columns = columns_of(index),
						     .restrictions = index->indrestrictinfo };
		candidates = lappend(candidates, candidate);
	}
	return candidates;
}

/* ---- a partitioned table ---- */

/* Adds the leaf partitions that may have rows. Returns false if one is no ordinary table. */
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

/* True if both keys have the same operator families. */
static bool are_alike(const IndexOptInfo *a, const IndexOptInfo *b)
{
	return a->nkeycolumns == b->nkeycolumns && memcmp(a->opfamily, b->opfamily, a->nkeycolumns * sizeof *a->opfamily) == 0;
}

/* Finds the usable index of a partition number `skip` that has these columns and is like `like`; any columns if `like` is NULL.
 */
static IndexOptInfo *find_alike(const struct ifp_query_level *level, RelOptInfo *part, List *columns, const IndexOptInfo *like,
				int skip)
{
	ListCell *cell;

	foreach (cell, part->indexlist) {
		IndexOptInfo *index = lfirst(cell);
		List *own;

		if (!ifp_is_usable(index) || index->indpred != NIL)
			continue;
		own = columns_of_parent(level, part, index);
		if (own == NIL || (like && (!equal(own, columns) || !are_alike(index, like))))
			continue;
		if (skip-- == 0)
			return index;
	}
	return NULL;
}

/* Returns a candidate for each index of the first partition that all other partitions have too. */
static List *of_partitions(const struct ifp_query_level *level, const char **reason)
{
	List *leaves = NIL, *candidates = NIL;
	IndexOptInfo *first;

	if (!add_leaves(level->root, level->rel, &leaves) || leaves == NIL)
		return NIL;
	for (int n = 0; (first = find_alike(level, linitial(leaves), NIL, NULL, n)); n++) {
		struct ifp_candidate *candidate = palloc0(sizeof *candidate);
		ListCell *cell;

		candidate->columns = columns_of_parent(level, linitial(leaves), first);
		candidate->restrictions = level->rel->baserestrictinfo;
		foreach (cell, leaves) {
			IndexOptInfo *index = find_alike(level, lfirst(cell), candidate->columns, first, 0);

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

static List *of_rel(const struct ifp_query_level *level, const char **reason)
{
	RelOptInfo *rel = level->rel;
	RangeTblEntry *table;

	if (IS_JOIN_REL(rel) && ifp_has_index(level->root, rel))
		*reason = "tables are joined below the aggregates";
	if (rel->reloptkind != RELOPT_BASEREL || rel->rtekind != RTE_RELATION || IS_DUMMY_REL(rel))
		return NIL;
	table = planner_rt_fetch(rel->relid, level->root);
	if (table->tablesample && ifp_has_index(level->root, rel))
		*reason = "rows are chosen by TABLESAMPLE";
	if (table->tablesample)
		return NIL;
	if (table->relkind == RELKIND_RELATION && !table->inh)
		return of_table(level, reason);
	return table->relkind == RELKIND_PARTITIONED_TABLE && table->inh ? of_partitions(level, reason) : NIL;
}

List *ifp_candidates(const struct ifp_query_level *level, const char **reason)
{
	List *candidates = of_rel(level, reason);
	ListCell *cell;

	foreach (cell, candidates) {
		struct ifp_candidate *candidate = lfirst(cell);

		candidate->n_own = list_length(candidate->restrictions);
		candidate->restrictions = ifp_query_level_restrictions(level, candidate->restrictions);
	}
	return candidates;
}

/* ---- from expressions over the table to expressions over the index ---- */

struct rewriting {
	const struct ifp_query_level *level;
	List *columns;
	int n_keys;	 /* the columns from there on are values */
	bool takes_keys; /* of the expression itself nothing is asked but what keys tell */
	const char *reason;
};

static const char *column_name(const struct ifp_query_level *level, Var *var)
{
	RangeTblEntry *table = planner_rt_fetch(level->rel->relid, level->root);

	if ((Index)var->varno != level->rel->relid || var->varattno <= 0)
		return "a whole row or system column is asked for";
	if (!ifp_are_reasons_wanted())
		return untold;
	return psprintf("column \"%s\" is not in the index", get_attname(table->relid, var->varattno, false));
}

static Node *rewrite(Node *node, void *context)
{
	struct rewriting *rewriting = context;
	bool takes_keys = rewriting->takes_keys;
	AttrNumber attribute = 1;
	ListCell *cell;

	if (!node)
		return NULL;
	rewriting->takes_keys = takes_keys && (IsA(node, List) || IsA(node, TargetEntry));
	foreach (cell, rewriting->columns) {
		Node *column = lfirst(cell);

		if (!equal(node, column)) {
			attribute++;
			continue;
		}
		if (attribute > rewriting->n_keys && !takes_keys && ifp_is_key_type(exprType(column)) && !rewriting->reason)
			rewriting->reason = "a value column of text, bytea or uuid is only counted";
		return (Node *)makeVar(1, attribute, exprType(column), exprTypmod(column), exprCollation(column), 0);
	}
	switch (nodeTag(node)) {
	case T_Var:
		if (!rewriting->reason)
			rewriting->reason = column_name(rewriting->level, castNode(Var, node));
		return node;
	case T_SubPlan:
	case T_AlternativeSubPlan:
	case T_SubLink:
		rewriting->reason = "a subquery is evaluated for each row";
		return node;
	case T_PlaceHolderVar:
	case T_GroupingFunc:
	case T_CurrentOfExpr:
		rewriting->reason = "an expression is evaluated elsewhere";
		return node;
	default:
		return expression_tree_mutator(node, rewrite, context);
	}
}

static Node *rewritten_by(struct rewriting *rewriting, const struct ifp_candidate *candidate, Node *node, const char **reason)
{
	Node *result;

	rewriting->columns = candidate->columns;
	rewriting->n_keys = ((const IndexOptInfo *)linitial(candidate->indexes))->nkeycolumns;
	result = rewrite(node, rewriting);
	if (rewriting->reason && !*reason)
		*reason = rewriting->reason;
	return result;
}

static Node *over_index(const struct ifp_query_level *level, const struct ifp_candidate *candidate, Node *node,
			const char **reason)
{
	return rewritten_by(&(struct rewriting){ .level = level }, candidate, node, reason);
}

/* ---- conditions ---- */

/* True if a condition that is not leakproof must wait for those of row security or of a security barrier view. */
static bool may_leak(List *restrictions)
{
	Index lowest = UINT_MAX;
	ListCell *cell;

	foreach (cell, restrictions)
		lowest = Min(lowest, lfirst_node(RestrictInfo, cell)->security_level);
	foreach (cell, restrictions)
		if (lfirst_node(RestrictInfo, cell)->security_level > lowest && !lfirst_node(RestrictInfo, cell)->leakproof)
			return true;
	return false;
}

static Cost cost_of(PlannerInfo *root, RestrictInfo *restriction)
{
	QualCost cost;

	cost_qual_eval_node(&cost, (Node *)restriction, root);
	return cost.per_tuple;
}

/* Returns the cheaper restrictions first, the order of plain plans: a condition that may fail stays behind the one that guards
 * it. */
static List *in_order(PlannerInfo *root, List *restrictions)
{
	List *sorted = NIL;
	ListCell *cell;

	foreach (cell, restrictions) {
		RestrictInfo *restriction = lfirst_node(RestrictInfo, cell);
		int at = list_length(sorted);

		while (at > 0 && cost_of(root, restriction) < cost_of(root, list_nth(sorted, at - 1)))
			at--;
		sorted = list_insert_nth(sorted, at, restriction);
	}
	return sorted;
}

static const char *add_conditions(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
				  struct ifp_index_query *query)
{
	List *sorted;
	ListCell *cell;

	if (may_leak(candidate->restrictions))
		return "a condition might tell what row security or a security barrier hides";
	/* those of a subquery before those on its rows */
	sorted = list_concat(in_order(level->root, list_copy_head(candidate->restrictions, candidate->n_own)),
			     in_order(level->root, list_copy_tail(candidate->restrictions, candidate->n_own)));
	foreach (cell, sorted) {
		const char *reason = NULL;
		Node *condition = over_index(level, candidate, (Node *)lfirst_node(RestrictInfo, cell)->clause, &reason);

		if (!reason)
			reason = ifp_index_query_add(query, linitial(candidate->indexes), condition);
		if (reason)
			return reason;
	}
	return NULL;
}

/* ---- group keys ---- */

static const char *add_groups(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			      struct ifp_index_query *query)
{
	const char *reason = NULL;
	ListCell *cell, *operator;

	forboth(cell, level->groups, operator, level->operators)
	{
		Node *group = over_index(level, candidate, ifp_query_level_expression(level, lfirst(cell)), &reason);

		if (reason)
			return reason;
		if (contain_volatile_functions(group) || expression_returns_set(group))
			return "a group key is volatile or a set";
		if (!OidIsValid(lfirst_oid(operator)))
			return "a group key cannot be hashed";
		if (!ifp_equal_is_identical(group))
			return "equal values of a group key may be written differently";
		query->groups = lappend(query->groups, group);
	}
	query->operators = level->operators;
	return NULL;
}

/* ---- aggregates ---- */

/* Replaces columns that are never NULL by constants in the argument of count(): it only depends on what is NULL. */
static Node *without_not_null(Node *node, const struct ifp_query_level *level)
{
	if (!node)
		return NULL;
	if (IsA(node, Var) && ifp_is_never_null(level, castNode(Var, node))) {
		Oid type = exprType(node);
		int16 length;
		bool by_value;
		Datum any = (Datum)0;

		get_typlenbyval(type, &length, &by_value);
		if (!by_value)
			any = length > 0 ? PointerGetDatum(palloc0((Size)length)) : CStringGetTextDatum("");
		return (Node *)makeConst(type, exprTypmod(node), exprCollation(node), length, any, false, by_value);
	}
	/* the tested value and the conditions of CASE depend on values and stay as they are */
	if (IsA(node, CaseExpr)) {
		CaseExpr *choice = copyObject(castNode(CaseExpr, node));
		ListCell *cell;

		foreach (cell, choice->args)
			lfirst_node(CaseWhen, cell)->result =
				(Expr *)without_not_null((Node *)lfirst_node(CaseWhen, cell)->result, level);
		choice->defresult = (Expr *)without_not_null((Node *)choice->defresult, level);
		return (Node *)choice;
	}
	if (IsA(node, RelabelType)) {
		RelabelType *relabel = copyObject(castNode(RelabelType, node));

		relabel->arg = (Expr *)without_not_null((Node *)relabel->arg, level);
		return (Node *)relabel;
	}
	return node;
}

static const char *add_aggregate(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
				 struct ifp_index_query *query, Aggref *aggregate)
{
	Aggref *rewritten = castNode(Aggref, ifp_query_level_expression(level, copyObject((Node *)aggregate)));
	const char *reason = ifp_aggregate_take_ctid(rewritten, level->rel->relid);
	char *name = get_func_name(aggregate->aggfnoid);

	if (name && strcmp(name, "count") == 0 && list_length(rewritten->args) == 1 && rewritten->aggdistinct == NIL) {
		TargetEntry *argument = linitial_node(TargetEntry, rewritten->args);

		argument->expr = (Expr *)without_not_null((Node *)argument->expr, level);
	}
	rewritten->args =
		(List *)rewritten_by(&(struct rewriting){ .level = level, .takes_keys = ifp_aggregate_takes_keys(rewritten) },
				     candidate, (Node *)rewritten->args, &reason);
	rewritten->aggfilter = (Expr *)over_index(level, candidate, (Node *)rewritten->aggfilter, &reason);
	rewritten->aggdirectargs = (List *)over_index(level, candidate, (Node *)rewritten->aggdirectargs, &reason);
	if (reason)
		return reason;
	if (!ifp_float_aggregates && ifp_aggregate_is_real(rewritten))
		return "iforest.float_aggregates is off";
	if (list_length(candidate->rels) > 1 && ifp_aggregate_is_ctid(rewritten))
		return "a ctid does not say of which partition it is";
	query->aggregates = lappend(query->aggregates, rewritten);
	return NULL;
}

/* Keeps the accumulators that `other` has as well. */
static void intersect(struct iforest_accumulators *kept, const struct iforest_node_schema *other)
{
	struct iforest_accumulators both = { .n = 0 };

	for (unsigned a = 0; a < kept->n; a++) {
		const struct iforest_accumulator *accumulator = &kept->list[a];

		if (iforest_accumulators_find(&other->accumulators, kept, a) >= 0)
			(void)iforest_accumulators_add(&both, accumulator->code, accumulator->value, accumulator->second,
						       iforest_accumulator_parameters(kept, a), accumulator->n_parameters);
	}
	(void)iforest_accumulators_finish(&both, other->value_types, other->n_values, other->n_values * IFOREST_VALUE_WORDS);
	*kept = both;
}

/* Returns the accumulators that all indexes keep, and histograms without bounds. */
static struct iforest_accumulators accumulators_kept(const struct ifp_candidate *candidate)
{
	const IndexOptInfo *first = linitial(candidate->indexes);
	struct iforest_accumulators kept = { .n = 0 };
	unsigned n_most = 0;
	bool is_first = true;
	ListCell *cell;

	foreach (cell, candidate->indexes) {
		const struct iforest_node_schema *fields = ifp_index_fields(lfirst_node(IndexOptInfo, cell)->indexoid);

		if (is_first)
			kept = fields->accumulators;
		else
			intersect(&kept, fields);
		n_most = Max(n_most, fields->accumulators.n);
		is_first = false;
	}
	ifp_value_steps_add_boundless(&kept, n_most, (unsigned)(first->ncolumns - first->nkeycolumns));
	return kept;
}

struct collecting {
	const struct ifp_query_level *level;
	List *aggregates;
	const char *reason;
};

/* Collects the aggregates of outputs, which consist of group keys, aggregates, and expressions of these. */
static bool collect(Node *node, void *context)
{
	struct collecting *collecting = context;

	if (!node || list_member(collecting->level->groups, node))
		return false;
	if (IsA(node, Aggref)) {
		collecting->aggregates = list_append_unique(collecting->aggregates, node);
		return false;
	}
	if (IsA(node, Var) || IsA(node, GroupingFunc) || IsA(node, PlaceHolderVar)) {
		collecting->reason = "a column is neither a group key nor in an aggregate";
		return true;
	}
	return expression_tree_walker(node, collect, context);
}

static const char *collect_aggregates(const struct ifp_query_level *level, List **aggregates)
{
	struct collecting collecting = { .level = level };

	(void)collect((Node *)level->outputs, &collecting);
	*aggregates = collecting.aggregates;
	return collecting.reason;
}

/* Returns that a function of an aggregate is not known; else NULL. */
static const char *find_unknown(const List *aggregates)
{
	ListCell *cell;

	foreach (cell, aggregates) {
		const char *reason = ifp_aggregate_refuse_function(lfirst_node(Aggref, cell));

		if (reason)
			return reason;
	}
	return NULL;
}

static const char *add_aggregates(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
				  struct ifp_index_query *query, const List *aggregates)
{
	ListCell *cell;

	foreach (cell, aggregates) {
		const char *reason = add_aggregate(level, candidate, query, lfirst_node(Aggref, cell));

		if (reason)
			return reason;
	}
	return NULL;
}

/* Returns NULL if all aggregates can be answered, or why one cannot. */
static const char *read_aggregates(const struct ifp_index_query *query)
{
	ListCell *cell;

	foreach (cell, query->aggregates) {
		enum ifp_agg_function function;
		List *arms;
		const char *reason = ifp_aggregate_read(lfirst(cell), query, &function, &arms);

		if (reason)
			return reason;
	}
	return NULL;
}

/* ---- steps of a histogram ---- */

static bool need_accumulators(const struct ifp_query_level *level, const struct ifp_index_query *query, const List *aggregates)
{
	ListCell *cell;

	if (query->values != NIL || query->is_drawing || ifp_mentioned_value(query, (Node *)query->groups) >= 0)
		return true;
	foreach (cell, aggregates)
		if (ifp_aggregate_needs_accumulators(castNode(Aggref, ifp_query_level_expression(level, lfirst(cell)))))
			return true;
	return false;
}

static bool is_true(const Node *node)
{
	const Const *constant = (const Const *)node;

	return IsA(node, Const) && !constant->constisnull && DatumGetBool(constant->constvalue);
}

static void add_piece(struct ifp_index_query *query, uint64 steps)
{
	query->pieces = lappend(query->pieces, makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum((int64)steps),
							 false, FLOAT8PASSBYVAL));
}

/* True if a group key or condition still has a value column. */
static bool is_open(const struct ifp_index_query *query, const struct ifp_piece *piece)
{
	return ifp_mentioned_value(query, (Node *)piece->expressions) != -1;
}

/* Finds the pieces on which all group keys are constant and query->by_steps are true. */
static enum ifp_steps_result split(struct ifp_index_query *query)
{
	List *pieces;
	enum ifp_steps_result result =
		ifp_value_steps_split(query, list_concat_copy(query->groups, query->by_steps), &query->histogram, &pieces);
	ListCell *cell, *condition;

	query->pieces = NIL;
	foreach (cell, result == IFP_STEPS_FOUND ? pieces : NIL) {
		const struct ifp_piece *piece = lfirst(cell);
		bool is_met = true;

		if (query->drawn && is_open(query, piece))
			return IFP_STEPS_NO_CONSTANT;
		for_each_from(condition, piece->expressions, list_length(query->groups)) is_met =
			is_met && is_true(lfirst(condition));
		if (is_met)
			add_piece(query, piece->steps);
	}
	if (result == IFP_STEPS_FOUND && query->pieces == NIL)
		add_piece(query, 0);
	return result;
}

static const char *split_groups(struct ifp_index_query *query)
{
	if (ifp_mentioned_value(query, (Node *)query->groups) == -1 && !(query->drawn && query->by_steps))
		return NULL;
	switch (split(query)) {
	case IFP_STEPS_FOUND:
		return NULL;
	case IFP_STEPS_NO_HISTOGRAM:
		return "a group key has a value column";
	default:
		return "the histogram of a value column does not have the bounds of a group key (histogram)";
	}
}

/* Answers conditions on a value column by its histogram, if that suffices: nodes are then used whole, whatever values are under
 * them. */
static void answer_by_steps(struct ifp_index_query *query)
{
	struct ifp_index_query by_steps = *query;

	by_steps.by_steps = query->values;
	by_steps.values = NIL;
	if (query->values == NIL || split(&by_steps) != IFP_STEPS_FOUND)
		return;
	if (!read_aggregates(&by_steps))
		*query = by_steps;
}

/* ---- drawn histograms ---- */

/* True for an argument of an aggregate that is a division of numerics, or gives one to some rows. */
static bool is_divided(Node *node)
{
	OpExpr *call = (OpExpr *)node;
	ListCell *cell;

	if (IsA(node, TargetEntry))
		return is_divided((Node *)castNode(TargetEntry, node)->expr);
	if (IsA(node, CaseExpr))
		foreach (cell, castNode(CaseExpr, node)->args)
			if (is_divided((Node *)lfirst_node(CaseWhen, cell)->result))
				return true;
	return IsA(node, OpExpr) && call->opfuncid == F_NUMERIC_DIV;
}

/* True for a comparison or the like that mentions one of the columns. */
static bool may_draw(Node *node, void *columns)
{
	ListCell *cell;

	if (!node)
		return false;
	if (IsA(node, RestrictInfo))
		return may_draw((Node *)castNode(RestrictInfo, node)->clause, columns);
	if (ifp_value_steps_may_draw(node) || (IsA(node, TargetEntry) && is_divided(node)))
		foreach (cell, columns)
			if (list_member(pull_var_clause(node, PVC_RECURSE_AGGREGATES | PVC_RECURSE_PLACEHOLDERS), lfirst(cell)))
				return true;
	return expression_tree_walker(node, may_draw, columns);
}

/* ---- the match ---- */

static bool may_be_drawn(const struct ifp_query_level *level, const struct ifp_candidate *candidate)
{
	const IndexOptInfo *index = linitial(candidate->indexes);
	List *values = list_copy_tail(candidate->columns, index->nkeycolumns);

	return may_draw((Node *)candidate->restrictions, values) ||
	       may_draw(ifp_query_level_expression(level, (Node *)level->groups), values) ||
	       may_draw(ifp_query_level_expression(level, (Node *)level->outputs), values);
}

static bool keeps_histograms(const struct ifp_candidate *candidate)
{
	const IndexOptInfo *index = linitial(candidate->indexes);
	const struct iforest_accumulators *kept = &ifp_index_fields(index->indexoid)->accumulators;

	for (unsigned a = 0; a < kept->n; a++)
		if (kept->list[a].code == IFOREST_KIND_HISTOGRAM)
			return true;
	return false;
}

/* Draws bounds from group keys, conditions that are no ranges, and filters and arguments of aggregates. */
static bool draw(struct ifp_index_query *query)
{
	List *conditions = list_concat_copy(query->groups, query->by_steps), *arguments = NIL;
	ListCell *cell;

	foreach (cell, query->aggregates) {
		Aggref *aggregate = lfirst_node(Aggref, cell);
		ListCell *argument;

		conditions = lappend(conditions, aggregate->aggfilter);
		foreach (argument, aggregate->args)
			arguments = lappend(arguments, lfirst_node(TargetEntry, argument)->expr);
	}
	return ifp_value_steps_draw(query, conditions, arguments);
}

/* Fills in the index query, with the histograms that the indexes keep or with drawn ones. */
static const char *match(const struct ifp_query_level *level, const struct ifp_candidate *candidate, bool draws,
			 const List *aggregates, struct ifp_index_query *query)
{
	const IndexOptInfo *index = linitial(candidate->indexes);
	const char *reason;
	ListCell *rel_cell, *index_cell;

	*query = (struct ifp_index_query){ .table = planner_rt_fetch(level->rel->relid, level->root)->relid,
					   .n_by = index->nkeycolumns - 1,
					   .approximates = ifp_approximate_percentiles,
					   .approximates_distinct = ifp_approximate_distinct,
					   .is_drawing = draws,
					   .columns = copyObject(candidate->columns) };
	ChangeVarNodes((Node *)query->columns, (int)level->rel->relid, 1, 0);
	forboth(rel_cell, candidate->rels, index_cell, candidate->indexes)
	{
		RelOptInfo *rel = lfirst(rel_cell);

		query->tables = lappend(query->tables, list_make2_oid(planner_rt_fetch(rel->relid, level->root)->relid,
								      ((IndexOptInfo *)lfirst(index_cell))->indexoid));
	}
	reason = add_conditions(level, candidate, query);
	if (!reason)
		reason = add_groups(level, candidate, query);
	if (!reason && need_accumulators(level, query, aggregates))
		query->accumulators = accumulators_kept(candidate);
	if (!reason)
		reason = add_aggregates(level, candidate, query, aggregates);
	if (!reason && draws && !draw(query))
		reason = untold; /* the one without drawn histograms stands */
	if (!reason)
		reason = split_groups(query);
	if (!reason)
		reason = read_aggregates(query);
	if (!reason && !draws)
		answer_by_steps(query);
	return reason;
}

const char *ifp_query_match(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			    struct ifp_index_query *query, List **aggregates)
{
	Var *lacking = ifp_find_lacking(level, candidate->restrictions, candidate->columns);
	struct ifp_index_query drawn;
	const char *reason;

	/* first what is found out soonest */
	if (lacking)
		return column_name(level, lacking);
	reason = collect_aggregates(level, aggregates);
	if (!reason)
		reason = find_unknown(*aggregates);
	if (reason)
		return reason;
	if (!ifp_are_reasons_wanted() &&
	    ifp_asks_too_much(level, candidate->columns, ((const IndexOptInfo *)linitial(candidate->indexes))->nkeycolumns,
			      *aggregates) &&
	    !may_be_drawn(level, candidate) && !keeps_histograms(candidate))
		return untold;
	reason = match(level, candidate, false, *aggregates, query);
	if (reason && may_be_drawn(level, candidate) && !match(level, candidate, true, *aggregates, &drawn)) {
		*query = drawn;
		reason = NULL;
	}
	return reason;
}
