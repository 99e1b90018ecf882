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
#include "pg_ext/am/plan_facts.h"
#include "pg_ext/base/engine.h"
#include "pg_ext/planner/aggregate_arms.h"
#include "pg_ext/planner/array_element.h"
#include "pg_ext/planner/dimension.h"
#include "pg_ext/planner/grouping_sets.h"
#include "pg_ext/planner/index_fields.h"
#include "pg_ext/planner/index_query.h"
#include "pg_ext/planner/monotone.h"
#include "pg_ext/planner/query_level.h"
#include "pg_ext/planner/quick_refusal.h"
#include "pg_ext/planner/value_passes.h"
#include "pg_ext/planner/value_split.h"
#include "pg_ext/planner/value_steps.h"

/* A reason that is not reported. */
static const char untold[] = "";

/* ---- from expressions over the table to expressions over the index ---- */

struct rewriting {
	const struct ifp_query_level *level;
	List *columns;
	const IndexOptInfo *index;
	bool takes_keys; /* keys suffice for the expression itself */
	const char *reason;
};

pg_attribute_hot static const char *column_name(const struct ifp_query_level *level, Var *var)
{
	RangeTblEntry *table = planner_rt_fetch(level->rel->relid, level->root);

	if ((Index)var->varno != level->rel->relid || var->varattno <= 0)
		return "a whole row or system column is asked for";
	if (!ifp_are_reasons_wanted())
		return untold;
	return psprintf("column \"%s\" is not in the index", get_rte_attribute_name(table, var->varattno));
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
		if (attribute > rewriting->index->nkeycolumns && attribute <= rewriting->index->ncolumns && !takes_keys &&
		    ifp_is_key_type(exprType(column)) && !rewriting->reason)
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
		/* without joins it only hides the columns of a subquery from grouping sets */
		if (!rewriting->level->join) {
			rewriting->takes_keys = takes_keys;
			return rewrite((Node *)castNode(PlaceHolderVar, node)->phexpr, context);
		}
		rewriting->reason = "an expression is evaluated elsewhere";
		return node;
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
	rewriting->index = linitial(candidate->indexes);
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

/* ---- dimensions ---- */

struct over_row {
	const struct ifp_query_level *level;
	const struct ifp_candidate *candidate;
};

static Node *over_row(Node *expression, void *context, const char **reason)
{
	const struct over_row *over = context;

	return over_index(over->level, over->candidate, ifp_query_level_expression(over->level, expression), reason);
}

static const char *add_dimensions(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
				  struct ifp_index_query *query)
{
	struct over_row over = { level, candidate };
	const char *reason = ifp_dimensions_add(level, query, over_row, &over);
	ListCell *cell;

	foreach (cell, level->join_conditions) {
		Node *condition = reason ? NULL : over_row(lfirst(cell), &over, &reason);

		/* it would be evaluated at each time */
		if (!reason && ifp_mentions(condition, ifp_time_attribute(query)))
			reason = "a join condition is on the time";
		if (!reason)
			reason = ifp_index_query_add(query, linitial(candidate->indexes), condition);
	}
	return reason;
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

/* Returns the cheaper restrictions first, as plain plans do, so that a condition that may fail stays behind the one that guards
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
	/* restrictions of a subquery before those on its rows */
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

/* True for a row of the table as a value, which is not NULL, even if all of its columns are. */
static bool is_whole_row(const struct ifp_query_level *level, const Var *var)
{
	return (Index)var->varno == level->rel->relid && var->varattno == InvalidAttrNumber && var->varlevelsup == 0;
}

/* Replaces columns that are never NULL by constants in the argument of count(): it only depends on what is NULL. */
static Node *without_not_null(Node *node, const struct ifp_query_level *level)
{
	if (!node)
		return NULL;
	if (IsA(node, Var) && (is_whole_row(level, castNode(Var, node)) || ifp_is_never_null(level, castNode(Var, node)))) {
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

/* Rewrites a count of one argument, over the table, so that it depends on as few columns as possible. */
static void simplify_count(Aggref *count, const struct ifp_query_level *level)
{
	TargetEntry *argument = linitial_node(TargetEntry, count->args);

	if (list_length(count->aggdistinct) == 1 && count->aggorder == NIL &&
	    ifp_differs_by_row(level, (Node *)argument->expr, linitial_node(SortGroupClause, count->aggdistinct)->eqop))
		count->aggdistinct = NIL;
	if (count->aggdistinct == NIL)
		argument->expr = (Expr *)without_not_null((Node *)argument->expr, level);
}

static const char *add_aggregate(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
				 struct ifp_index_query *query, Aggref *aggregate)
{
	Aggref *rewritten = castNode(Aggref, ifp_query_level_expression(level, copyObject((Node *)aggregate)));
	const char *reason = ifp_aggregate_take_ctid(rewritten, level->rel->relid);

	if (aggregate->aggfnoid == F_COUNT_ANY && list_length(rewritten->args) == 1)
		simplify_count(rewritten, level);
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
	List *computed, *aggregates, *groupings; /* computed: what the aggregates are in the outputs */
	const char *reason;
};

/* Collects aggregates and GROUPING() of outputs, which otherwise consist of group keys and expressions. */
pg_attribute_hot static bool collect(Node *node, void *context)
{
	struct collecting *collecting = context;
	Aggref *aggregate;

	if (!node || list_member(collecting->level->groups, node))
		return false;
	aggregate = ifp_output_aggregate(node);
	if (aggregate) {
		if (list_member(collecting->computed, node))
			return false;
		collecting->computed = lappend(collecting->computed, node);
		collecting->aggregates = lappend(collecting->aggregates, aggregate);
		return false;
	}
	if (IsA(node, GroupingFunc)) {
		collecting->groupings = list_append_unique(collecting->groupings, node);
		return false;
	}
	if (IsA(node, Var) || IsA(node, PlaceHolderVar)) {
		collecting->reason = "a column is neither a group key nor in an aggregate";
		return true;
	}
	return expression_tree_walker(node, collect, context);
}

pg_attribute_hot static const char *collect_outputs(const struct ifp_query_level *level, List **computed, List **aggregates,
						    List **groupings)
{
	struct collecting collecting = { .level = level };

	(void)collect((Node *)level->outputs, &collecting);
	*computed = collecting.computed;
	*aggregates = collecting.aggregates;
	*groupings = collecting.groupings;
	return collecting.reason;
}

/* Adds grouping sets and GROUPING(). */
static void add_sets(const struct ifp_query_level *level, const List *groupings, struct ifp_index_query *query)
{
	ListCell *cell;

	query->sets = level->sets;
	foreach (cell, groupings)
		query->groupings = lappend(query->groupings, ifp_grouping_keys(level->upper, lfirst_node(GroupingFunc, cell)));
}

/* Returns the reason if an aggregate's function is unknown, else NULL. */
pg_attribute_hot static const char *find_unknown(const List *aggregates)
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

	if (query->values != NIL || query->is_drawing || query->is_splitting ||
	    ifp_mentioned_value(query, (Node *)query->groups) >= 0)
		return true;
	foreach (cell, aggregates)
		if (ifp_aggregate_needs_accumulators(castNode(Aggref, ifp_query_level_expression(level, lfirst(cell)))))
			return true;
	return false;
}

/* What the conditions of query->by_steps are on a piece. */
enum truth { PIECE_TRUE, PIECE_NOT_TRUE, PIECE_OPEN };

/* A condition is open if its truth hangs on a parameter or on the clock, which are known only when the query runs. */
static enum truth truth_of(const struct ifp_index_query *query, const struct ifp_piece *piece)
{
	enum truth truth = PIECE_TRUE;
	ListCell *cell;

	for_each_from(cell, piece->expressions, list_length(query->groups))
	{
		const Const *constant = (const Const *)eval_const_expressions(NULL, lfirst(cell));

		if (!IsA(constant, Const))
			truth = PIECE_OPEN;
		else if (constant->constisnull || !DatumGetBool(constant->constvalue))
			return PIECE_NOT_TRUE;
	}
	return truth;
}

static void add_piece(struct ifp_index_query *query, uint64 steps)
{
	query->pieces = lappend(query->pieces, makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum((int64)steps),
							 false, FLOAT8PASSBYVAL));
}

/* True if a group key or condition still has a value column. */
static bool has_values(const struct ifp_index_query *query, const struct ifp_piece *piece)
{
	return ifp_mentioned_value(query, (Node *)piece->expressions) != -1;
}

/* Finds the pieces on which all group keys are constant and query->by_steps are true. */
static enum ifp_steps_result split(struct ifp_index_query *query)
{
	List *pieces;
	enum ifp_steps_result result =
		ifp_value_steps_split(query, list_concat_copy(query->groups, query->by_steps), &query->histogram, &pieces);
	ListCell *cell;

	query->pieces = NIL;
	foreach (cell, result == IFP_STEPS_FOUND ? pieces : NIL) {
		const struct ifp_piece *piece = lfirst(cell);
		enum truth truth = truth_of(query, piece);

		if (truth == PIECE_OPEN || (query->drawn && has_values(query, piece)))
			return IFP_STEPS_NO_CONSTANT;
		if (truth == PIECE_TRUE)
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

/* True for an argument of an aggregate that is a division of numerics, or is one for some rows. */
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

/* True for a comparison or similar node that mentions one of the columns. */
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
	List *values = list_copy_tail(list_copy_head(candidate->columns, index->ncolumns), index->nkeycolumns);

	return may_draw((Node *)candidate->restrictions, values) ||
	       may_draw(ifp_query_level_expression(level, (Node *)level->join_conditions), values) ||
	       may_draw(ifp_query_level_expression(level, (Node *)level->groups), values) ||
	       may_draw(ifp_query_level_expression(level, (Node *)level->outputs), values);
}

/* True if a group key has a value column, or bounds may be drawn from a condition. */
static bool may_be_split(const struct ifp_query_level *level, const struct ifp_candidate *candidate)
{
	const IndexOptInfo *index = linitial(candidate->indexes);
	List *groups = (List *)ifp_query_level_expression(level, (Node *)level->groups);
	ListCell *cell;

	foreach (cell, pull_var_clause((Node *)groups, PVC_RECURSE_PLACEHOLDERS))
		for (int i = index->nkeycolumns; i < index->ncolumns; i++)
			if (equal(lfirst(cell), list_nth(candidate->columns, i)))
				return true;
	return may_be_drawn(level, candidate);
}

static bool has_histogram(const struct iforest_accumulators *kept)
{
	for (unsigned a = 0; a < kept->n; a++)
		if (kept->list[a].code == IFOREST_KIND_HISTOGRAM)
			return true;
	return false;
}

static bool keeps_histograms(const struct ifp_candidate *candidate)
{
	Oid index = linitial_node(IndexOptInfo, candidate->indexes)->indexoid;
	struct ifp_plan_facts *facts = ifp_plan_facts(index);

	if (facts->keeps_histograms == IFP_NOT_KNOWN) {
		bool does = has_histogram(&ifp_index_fields(index)->accumulators);

		facts = ifp_plan_facts(index);
		facts->keeps_histograms = does ? IFP_KNOWN_TRUE : IFP_KNOWN_FALSE;
	}
	return facts->keeps_histograms == IFP_KNOWN_TRUE;
}

/* Draws bounds from group keys, conditions that are not ranges, and filters and arguments of aggregates. */
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

/* True if the query needs data that classes of values do not have. */
static bool needs_more_than_folds(const struct ifp_index_query *query)
{
	return ifp_aggregates_need(query, IFP_MEASURE_SKETCH) || ifp_aggregates_need(query, IFP_MEASURE_DISTINCT) ||
	       ifp_aggregates_need(query, IFP_MEASURE_NUMBERS);
}

/* Method for conditions and group keys on values. */
enum manner { BY_KEPT_HISTOGRAMS, IN_PASSES, BY_CLASSES };

/* Fills in the index query. */
static const char *match(const struct ifp_query_level *level, const struct ifp_candidate *candidate, enum manner manner,
			 const List *aggregates, struct ifp_index_query *query)
{
	const IndexOptInfo *index = linitial(candidate->indexes);
	const char *reason;
	ListCell *rel_cell, *index_cell;

	*query = (struct ifp_index_query){ .table = planner_rt_fetch(candidate->named, level->root)->relid,
					   .n_by = index->nkeycolumns - 1,
					   .approximates = ifp_approximate_percentiles,
					   .approximates_distinct = ifp_approximate_distinct,
					   .is_drawing = manner == IN_PASSES,
					   .is_splitting = manner == BY_CLASSES,
					   .columns = copyObject(candidate->named_columns) };
	ChangeVarNodes((Node *)query->columns, (int)candidate->named, 1, 0);
	query->n_joined = list_length(candidate->columns) - index->ncolumns;
	query->columns = list_concat(query->columns, ifp_dimensions_row_columns(level));
	forboth(rel_cell, candidate->rels, index_cell, candidate->indexes)
	{
		RelOptInfo *rel = lfirst(rel_cell);

		query->tables = lappend(query->tables, list_make2_oid(planner_rt_fetch(rel->relid, level->root)->relid,
								      ((IndexOptInfo *)lfirst(index_cell))->indexoid));
	}
	reason = add_conditions(level, candidate, query);
	if (!reason)
		reason = add_dimensions(level, candidate, query);
	if (!reason)
		reason = add_groups(level, candidate, query);
	if (!reason && need_accumulators(level, query, aggregates))
		query->accumulators = accumulators_kept(candidate);
	if (!reason)
		reason = add_aggregates(level, candidate, query, aggregates);
	if (!reason && ((manner == IN_PASSES && !draw(query)) || (manner == BY_CLASSES && !ifp_value_split(query))))
		reason = untold; /* keep the reason given for kept histograms */
	if (!reason)
		reason = split_groups(query);
	if (!reason)
		reason = read_aggregates(query);
	if (!reason && manner == BY_CLASSES && needs_more_than_folds(query))
		reason = untold;
	if (!reason && manner == BY_KEPT_HISTOGRAMS)
		answer_by_steps(query);
	return reason;
}

/* More passes than this take longer than one pass with classes. */
enum { MOST_PASSES = 3 };

pg_attribute_hot const char *ifp_query_match(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
					     struct ifp_index_query *query, List **computed)
{
	Var *lacking = ifp_find_lacking(level, candidate->restrictions, candidate->columns);
	struct ifp_index_query otherwise;
	List *aggregates, *groupings;
	const char *reason;
	bool asks_too_much;

	/* cheapest test first */
	if (lacking)
		return column_name(level, lacking);
	reason = collect_outputs(level, computed, &aggregates, &groupings);
	if (!reason)
		reason = find_unknown(aggregates);
	if (reason)
		return reason;
	asks_too_much = ifp_asks_too_much(level, candidate->columns, linitial(candidate->indexes), aggregates) &&
			!keeps_histograms(candidate);
	if (asks_too_much && !ifp_are_reasons_wanted())
		return untold;
	reason = match(level, candidate, BY_KEPT_HISTOGRAMS, aggregates, query);
	if (reason && may_be_drawn(level, candidate) && !match(level, candidate, IN_PASSES, aggregates, &otherwise)) {
		*query = otherwise;
		reason = NULL;
	}
	if ((reason || list_length(ifp_value_passes(query)) > MOST_PASSES) && may_be_split(level, candidate) &&
	    !match(level, candidate, BY_CLASSES, aggregates, &otherwise)) {
		*query = otherwise;
		reason = NULL;
	}
	if (!reason && asks_too_much)
		reason = ifp_costs_more_by_values;
	if (!reason)
		add_sets(level, groupings, query);
	*computed = list_concat(*computed, groupings);
	return reason;
}
