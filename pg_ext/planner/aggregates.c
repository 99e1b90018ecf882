#include "pg_ext/planner/aggregates.h"
#include "pg_ext/planner/affine.h"
#include "pg_ext/planner/monotone.h"
#include "pg_ext/planner/planner_index_query_own.h"

#include "access/sysattr.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#define EXTREME_IS_WRITTEN_DIFFERENTLY "equal values of an extreme may be written differently"

/* ---- arms ---- */

struct reading {
	const struct iforest_question *question;
	enum iforest_function function;
	List *arms;
	const char *reason;
};

static bool is_number(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID || type == NUMERICOID || type == FLOAT4OID ||
	       type == FLOAT8OID;
}

/* The value column that a node mentions, -1 if none, -2 if several. */
static int value_of(const struct iforest_question *question, Node *node)
{
	int found = -1;

	for (int v = 0; question->n_by + 1 + v < list_length(question->columns); v++)
		if (iforest_mentions(node, (AttrNumber)(question->n_by + 2 + v)))
			found = found == -1 ? v : -2;
	return found;
}

static bool mentions_by(const struct iforest_question *question, Node *node)
{
	for (int i = 1; i <= question->n_by; i++)
		if (iforest_mentions(node, (AttrNumber)i))
			return true;
	return false;
}

static bool is_real_column(Node *expression)
{
	Oid type = getBaseType(linitial_node(Var, pull_var_clause(expression, 0))->vartype);

	return type == FLOAT4OID || type == FLOAT8OID;
}

/* Dates and timestamps have infinities, too, of which extract() makes numbers. */
static bool is_time_type(const struct iforest_question *question, AttrNumber attribute)
{
	Oid type = getBaseType(exprType(list_nth(question->columns, attribute - 1)));

	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

/* Why the variance of an expression of value column v alone is not known; NULL if it is. */
static const char *refuse_variance(const struct iforest_question *question, Node *expression, int v)
{
	AttrNumber attribute = (AttrNumber)(question->n_by + 2 + v);
	Oid type = exprType(expression);

	if (type == FLOAT4OID || type == FLOAT8OID)
		return "variances of reals are not exact";
	if (!iforest_is_column(expression, attribute))
		return "the argument of a variance is not a value column alone";
	if (!(question->squares >> v & 1))
		return "the index does not keep the squares of a value column (variance)";
	return NULL;
}

/* Why the sketch of an expression is not known; NULL if it is. Integers count as integers, all else as reals; and the index
 * holds numerics as integers. */
static const char *refuse_sketch(const struct iforest_question *question, Node *expression, int v)
{
	Oid type = getBaseType(exprType(expression));
	Oid column = v < 0 ? InvalidOid : getBaseType(exprType(list_nth(question->columns, question->n_by + 1 + v)));
	bool is_integer = type == INT2OID || type == INT4OID || type == INT8OID;

	if (type == NUMERICOID || column == NUMERICOID)
		return "a sketch of numerics counts them as double precision, which the index does not hold";
	if (v < 0 || (!is_integer && type != FLOAT4OID && type != FLOAT8OID) ||
	    !iforest_is_column(expression, (AttrNumber)(question->n_by + 2 + v)))
		return "the argument of a sketch is not a value column alone";
	if (is_integer != (column == INT2OID || column == INT4OID || column == INT8OID))
		return "the argument of a sketch is not a value column alone";
	return NULL;
}

/* May the expression be NULL at some times, as what keeps its values between breaks may? */
static bool has_value_break(const List *breaks)
{
	ListCell *cell;

	foreach(cell, breaks)
		if (iforest_break_kind(lfirst(cell)) == IFOREST_BREAK_VALUE)
			return true;
	return false;
}

/* Why an expression of one column alone does not do for the function; NULL if it does. */
static const char *refuse(const struct iforest_question *question, enum iforest_function function, Node *expression,
			  AttrNumber attribute)
{
	bool is_time = attribute == iforest_time_attribute(question);
	List *breaks = NIL;

	/* infinite factors make NaN of zeros, which neither sums nor extremes show */
	if (function != IFOREST_FUNCTION_COUNT && iforest_may_be_infinite(expression))
		return "a constant in an aggregate is infinite, or a parameter that may be";
	if (function == IFOREST_FUNCTION_SUM || function == IFOREST_FUNCTION_AVG) {
		if (is_time || !iforest_is_affine(expression, attribute))
			return "a sum or average is of something over which sums do not distribute exactly";
		return NULL;
	}
	if (!iforest_is_monotone(expression, attribute, &breaks))
		return "the argument of an aggregate is not monotone in its column";
	if (function == IFOREST_FUNCTION_COUNT)
		return has_value_break(breaks) ? "the argument of an aggregate is not monotone in its column" : NULL;
	if (is_time_type(question, attribute) && iforest_may_make_nan(expression))
		return "the argument of an aggregate is not monotone in its column";
	if (breaks != NIL)
		return "the extreme of a time hangs on a time zone";
	if (is_real_column(expression) && !iforest_is_ascending(expression, attribute))
		return "the extreme of a function of a real is not that of the column, where NaN is the greatest";
	return iforest_equal_is_identical(expression) ? NULL : EXTREME_IS_WRITTEN_DIFFERENTLY;
}

static void add_constant(struct reading *reading, struct iforest_arm *arm)
{
	Oid type = exprType(arm->expression);

	arm->kind = IFOREST_MEASURE_CONSTANT;
	if (IsA(arm->expression, Const) && castNode(Const, arm->expression)->constisnull)
		return;
	if (iforest_function_needs_squares(reading->function))
		reading->reason = "the argument of a variance is not a value column alone";
	if (reading->function == IFOREST_FUNCTION_COUNT && IsA(arm->expression, Const)) {
		arm->kind = IFOREST_MEASURE_ROWS;
		arm->expression = NULL;
	} else if ((reading->function == IFOREST_FUNCTION_SUM || reading->function == IFOREST_FUNCTION_AVG) &&
		   !is_number(type)) {
		reading->reason = "a sum is of something that is no number";
	} else if ((reading->function == IFOREST_FUNCTION_MIN || reading->function == IFOREST_FUNCTION_MAX) &&
		   !iforest_equal_is_identical(arm->expression)) {
		reading->reason = EXTREME_IS_WRITTEN_DIFFERENTLY;
	}
	reading->arms = lappend(reading->arms, arm);
}

/* An expression without value columns. Of the time alone its first and last may do; else it is looked at once a bucket. */
static void add_valueless(struct reading *reading, struct iforest_arm *arm)
{
	AttrNumber time = iforest_time_attribute(reading->question);
	bool is_extreme = reading->function == IFOREST_FUNCTION_MIN || reading->function == IFOREST_FUNCTION_MAX;

	if ((reading->function == IFOREST_FUNCTION_COUNT || is_extreme) && iforest_mentions(arm->expression, time) &&
	    !mentions_by(reading->question, arm->expression) &&
	    !refuse(reading->question, reading->function, arm->expression, time)) {
		arm->kind = IFOREST_MEASURE_TIME;
		reading->arms = lappend(reading->arms, arm);
	} else {
		add_constant(reading, arm);
	}
}

static void add_arm(struct reading *reading, Node *expression, List *conditions, List *wanted)
{
	const struct iforest_question *question = reading->question;
	struct iforest_arm *arm = palloc0(sizeof *arm);

	*arm = (struct iforest_arm){ .kind = IFOREST_MEASURE_VALUE, .conditions = conditions, .wanted = wanted,
				     .expression = expression };
	arm->value = value_of(question, expression);
	if (reading->function == IFOREST_FUNCTION_SKETCH) {
		arm->kind = IFOREST_MEASURE_SKETCH;
		if (!IsA(expression, Const) || !castNode(Const, expression)->constisnull) {
			reading->reason = refuse_sketch(question, expression, arm->value);
			reading->arms = lappend(reading->arms, arm);
		}
		return;
	}
	if (arm->value == -1) {
		add_valueless(reading, arm);
		return;
	}
	if (iforest_function_needs_squares(reading->function) && arm->value >= 0)
		reading->reason = refuse_variance(question, expression, arm->value);
	else if (arm->value == -2 || mentions_by(question, expression) ||
	    iforest_mentions(expression, iforest_time_attribute(question)))
		reading->reason = "the argument of an aggregate mixes columns";
	else
		reading->reason =
			refuse(question, reading->function, expression, (AttrNumber)(question->n_by + 2 + arm->value));
	reading->arms = lappend(reading->arms, arm);
}

static bool is_condition(struct reading *reading, Node *condition)
{
	if (value_of(reading->question, condition) != -1)
		reading->reason = "a condition in an aggregate is on a value column";
	return !reading->reason;
}

/* CASE x WHEN y is CASE WHEN x = y, where the comparison has a placeholder for x. */
static Node *fill_in(Node *node, void *tested)
{
	if (!node || IsA(node, CaseExpr))
		return node;
	if (IsA(node, CaseTestExpr))
		return tested;
	return expression_tree_mutator(node, fill_in, tested);
}

/* CASE WHEN c THEN x ... ELSE y END. */
static void add_arms(struct reading *reading, Node *node, List *conditions, List *wanted)
{
	CaseExpr *choice = IsA(node, CaseExpr) ? castNode(CaseExpr, node) : NULL;
	ListCell *cell;

	if (!choice || value_of(reading->question, node) == -1) {
		add_arm(reading, node, conditions, wanted);
		return;
	}
	foreach(cell, choice->args) {
		CaseWhen *when = lfirst_node(CaseWhen, cell);
		Node *condition = choice->arg ? fill_in((Node *)when->expr, choice->arg) : (Node *)when->expr;

		if (!is_condition(reading, condition))
			return;
		conditions = lappend(list_copy(conditions), condition);
		add_arms(reading, (Node *)when->result, conditions, lappend_int(list_copy(wanted), 1));
		if (reading->reason)
			return;
		wanted = lappend_int(list_copy(wanted), 0);
	}
	if (choice->defresult)
		add_arms(reading, (Node *)choice->defresult, conditions, wanted);
}

/* Of equal extremes of several arms a plain plan shows whichever comes first. */
static void compare_arms(struct reading *reading)
{
	Node *first = NULL;
	ListCell *cell;

	if (reading->function != IFOREST_FUNCTION_MIN && reading->function != IFOREST_FUNCTION_MAX)
		return;
	foreach(cell, reading->arms) {
		Node *expression = ((struct iforest_arm *)lfirst(cell))->expression;

		if (first && !iforest_are_written_alike(first, expression))
			reading->reason = EXTREME_IS_WRITTEN_DIFFERENTLY;
		first = first ? first : expression;
	}
}

/* ---- aggregates of a row ---- */

static const char not_of_columns[] = "an aggregate of a row is not of a value column, the time column and ctid";

const char *iforest_aggregate_take_ctid(Aggref *aggregate, Index relid)
{
	TargetEntry *argument = list_length(aggregate->args) == 3 ? lthird_node(TargetEntry, aggregate->args) : NULL;
	Var *ctid = argument && IsA(argument->expr, Var) ? castNode(Var, argument->expr) : NULL;
	enum iforest_function function;

	if (!iforest_function_find(aggregate->aggfnoid, &function) || !iforest_function_is_of_row(function))
		return NULL;
	if (!ctid || (Index)ctid->varno != relid || ctid->varattno != SelfItemPointerAttributeNumber || ctid->varlevelsup != 0)
		return not_of_columns;
	argument->expr = (Expr *)makeNullConst(TIDOID, -1, InvalidOid);
	return NULL;
}

static enum iforest_measure_kind row_of(enum iforest_function function)
{
	switch (function) {
	case IFOREST_FUNCTION_MIN_ROW:
	case IFOREST_FUNCTION_MIN_TIME:
		return IFOREST_MEASURE_MIN_ROW;
	case IFOREST_FUNCTION_MAX_ROW:
	case IFOREST_FUNCTION_MAX_TIME:
		return IFOREST_MEASURE_MAX_ROW;
	case IFOREST_FUNCTION_FIRST:
	case IFOREST_FUNCTION_FIRST_TIME:
		return IFOREST_MEASURE_FIRST_ROW;
	default:
		return IFOREST_MEASURE_LAST_ROW;
	}
}

/* Only of the columns themselves is known which row it is. */
static void add_row(struct reading *reading, const Aggref *aggregate, List *conditions, List *wanted)
{
	const struct iforest_question *question = reading->question;
	struct iforest_arm *arm = palloc0(sizeof *arm);
	Node *value = (Node *)linitial_node(TargetEntry, aggregate->args)->expr;
	Node *time = (Node *)lsecond_node(TargetEntry, aggregate->args)->expr;

	*arm = (struct iforest_arm){ .kind = row_of(reading->function), .conditions = conditions, .wanted = wanted,
				     .expression = value };
	arm->value = value_of(question, value);
	if (arm->value < 0 || !IsA(value, Var) || !IsA(time, Var) ||
	    castNode(Var, time)->varattno != iforest_time_attribute(question))
		reading->reason = not_of_columns;
	reading->arms = lappend(reading->arms, arm);
}

/* ---- aggregates ---- */

const char *iforest_aggregate_read(Aggref *aggregate, const struct iforest_question *question,
				   enum iforest_function *function, List **arms)
{
	struct reading reading = { .question = question };
	List *conditions = NIL, *wanted = NIL;

	*arms = NIL;
	if (!iforest_function_find(aggregate->aggfnoid, &reading.function))
		return psprintf("the index does not keep what %s() needs", get_func_name(aggregate->aggfnoid));
	if (aggregate->aggdistinct != NIL || aggregate->aggorder != NIL)
		return "an aggregate has DISTINCT or ORDER BY";
	if (aggregate->agglevelsup != 0 || aggregate->aggsplit != AGGSPLIT_SIMPLE || aggregate->aggkind != AGGKIND_NORMAL)
		return "an aggregate is of another query level or partial";
	if (contain_volatile_functions((Node *)aggregate->args) || contain_volatile_functions((Node *)aggregate->aggfilter))
		return "an aggregate has a volatile function";
	if (aggregate->aggfilter && !is_condition(&reading, (Node *)aggregate->aggfilter))
		return reading.reason;
	if (aggregate->aggfilter) {
		conditions = list_make1(aggregate->aggfilter);
		wanted = list_make1_int(1);
	}
	*function = reading.function;
	if (aggregate->args == NIL) {
		struct iforest_arm *arm = palloc0(sizeof *arm);

		arm->kind = IFOREST_MEASURE_ROWS;
		arm->conditions = conditions;
		arm->wanted = wanted;
		*arms = list_make1(arm);
		return NULL;
	}
	if (iforest_function_is_of_row(reading.function))
		add_row(&reading, aggregate, conditions, wanted);
	else
		add_arms(&reading, (Node *)linitial_node(TargetEntry, aggregate->args)->expr, conditions, wanted);
	if (!reading.reason)
		compare_arms(&reading);
	*arms = reading.arms;
	return reading.reason;
}

List *iforest_aggregate_conditions(Aggref *aggregate, const struct iforest_question *question)
{
	enum iforest_function function;
	List *arms, *conditions = NIL;
	ListCell *cell;

	if (iforest_aggregate_read(aggregate, question, &function, &arms))
		return NIL;
	foreach(cell, arms) {
		struct iforest_arm *arm = lfirst(cell);

		conditions = list_concat(conditions, arm->conditions);
		if (arm->kind == IFOREST_MEASURE_CONSTANT)
			conditions = lappend(conditions, arm->expression);
	}
	return conditions;
}

uint32 iforest_aggregate_sketches(Aggref *aggregate, const struct iforest_question *question)
{
	enum iforest_function function;
	uint32 values = 0;
	List *arms;
	ListCell *cell;

	if (iforest_aggregate_read(aggregate, question, &function, &arms) || function != IFOREST_FUNCTION_SKETCH)
		return 0;
	foreach(cell, arms)
		values |= 1u << ((struct iforest_arm *)lfirst(cell))->value;
	return values;
}
