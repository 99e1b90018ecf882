#include "pg_ext/planner/aggregate_arms.h"

#include <float.h>

#include "access/stratnum.h"
#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "pg_ext/base/engine.h"
#include "pg_ext/base/known_functions.h"
#include "pg_ext/planner/affine.h"
#include "pg_ext/planner/array_element.h"
#include "pg_ext/planner/monotone.h"
#include "pg_ext/planner/value_steps.h"
#include "pg_ext/planner/verdict.h"
#include "pg_ext/types/values.h"

/* ---- aggregate functions ---- */

struct named_function {
	const char *name;
	enum ifp_agg_function function;
};

static bool find_named(const char *name, const struct named_function *known, size_t n, enum ifp_agg_function *function)
{
	for (size_t i = 0; name && i < n; i++)
		if (strcmp(name, known[i].name) == 0) {
			*function = known[i].function;
			return true;
		}
	return false;
}

/* Returns false for a function that is not of pairs. */
static bool pair_find(Oid oid, enum iforest_pair_function *pair)
{
	static const char *const names[IFOREST_PAIR_FUNCTIONS] = {
		[IFOREST_REGR_COUNT] = "regr_count", [IFOREST_CORR] = "corr",
		[IFOREST_COVAR_POP] = "covar_pop",   [IFOREST_COVAR_SAMP] = "covar_samp",
		[IFOREST_REGR_SLOPE] = "regr_slope", [IFOREST_REGR_INTERCEPT] = "regr_intercept",
		[IFOREST_REGR_R2] = "regr_r2",	     [IFOREST_REGR_AVGX] = "regr_avgx",
		[IFOREST_REGR_AVGY] = "regr_avgy",   [IFOREST_REGR_SXX] = "regr_sxx",
		[IFOREST_REGR_SYY] = "regr_syy",     [IFOREST_REGR_SXY] = "regr_sxy",
	};
	const char *name = get_func_name(oid);

	for (int i = 0; name && i < IFOREST_PAIR_FUNCTIONS; i++)
		if (strcmp(name, names[i]) == 0) {
			*pair = (enum iforest_pair_function)i;
			return true;
		}
	return false;
}

/* Returns false for any other function. */
static bool look_up(Oid oid, enum ifp_agg_function *function)
{
	static const struct named_function known[] = {
		{ "count", IFP_AGG_COUNT },
		{ "sum", IFP_AGG_SUM },
		{ "avg", IFP_AGG_AVG },
		{ "min", IFP_AGG_MIN },
		{ "max", IFP_AGG_MAX },
		{ "bool_and", IFP_AGG_AND },
		{ "every", IFP_AGG_AND },
		{ "bool_or", IFP_AGG_OR },
		{ "variance", IFP_AGG_VAR_SAMP },
		{ "var_samp", IFP_AGG_VAR_SAMP },
		{ "var_pop", IFP_AGG_VAR_POP },
		{ "stddev", IFP_AGG_STDDEV_SAMP },
		{ "stddev_samp", IFP_AGG_STDDEV_SAMP },
		{ "stddev_pop", IFP_AGG_STDDEV_POP },
		{ "percentile_disc", IFP_AGG_PERCENTILE_DISC },
		{ "percentile_cont", IFP_AGG_PERCENTILE_CONT },
		{ "array_agg", IFP_AGG_ELEMENT },
	};
	static const struct named_function own[] = {
		{ "iforest_min_row", IFP_AGG_MIN_ROW },	      { "iforest_max_row", IFP_AGG_MAX_ROW },
		{ "iforest_min_time", IFP_AGG_MIN_TIME },     { "iforest_max_time", IFP_AGG_MAX_TIME },
		{ "iforest_first", IFP_AGG_FIRST },	      { "iforest_last", IFP_AGG_LAST },
		{ "iforest_first_time", IFP_AGG_FIRST_TIME }, { "iforest_last_time", IFP_AGG_LAST_TIME },
		{ "iforest_first_row", IFP_AGG_FIRST_ROW },   { "iforest_last_row", IFP_AGG_LAST_ROW },
		{ "iforest_sketch", IFP_AGG_SKETCH },	      { "iforest_distinct", IFP_AGG_DISTINCT },
		{ "iforest_squares", IFP_AGG_SQUARES },
	};
	enum iforest_pair_function pair;

	*function = IFP_AGG_PAIR;
	if (oid < FirstNormalObjectId)
		return pair_find(oid, &pair) || find_named(get_func_name(oid), known, lengthof(known), function);
	return find_named(ifp_own_function(oid), own, lengthof(own), function);
}

/* As look_up(), with a cache for PostgreSQL's own functions, whose names never change: planning looks up each aggregate several
 * times. */
static bool function_find(Oid oid, enum ifp_agg_function *function)
{
	static struct recent {
		Oid oid;
		bool is_known;
		enum ifp_agg_function function;
	} recent[64];
	struct recent *one = &recent[oid % lengthof(recent)];

	if (one->oid != oid || oid >= FirstNormalObjectId) {
		one->is_known = look_up(oid, &one->function);
		one->oid = oid;
	}
	*function = one->function;
	return one->is_known;
}

bool ifp_aggregate_is_sum(const Aggref *aggregate)
{
	enum ifp_agg_function function;

	return function_find(aggregate->aggfnoid, &function) && (function == IFP_AGG_SUM || function == IFP_AGG_AVG);
}

bool ifp_aggregate_adds_up(const Aggref *aggregate)
{
	enum ifp_agg_function function;

	return ifp_aggregate_is_sum(aggregate) || (function_find(aggregate->aggfnoid, &function) && function == IFP_AGG_COUNT);
}

const char *ifp_aggregate_refuse_function(const Aggref *aggregate)
{
	enum ifp_agg_function function;

	if (function_find(aggregate->aggfnoid, &function) && (function != IFP_AGG_ELEMENT || ifp_is_array_element(aggregate)))
		return NULL;
	if (!ifp_are_reasons_wanted())
		return "";
	return psprintf("the index does not keep what %s() needs", get_func_name(aggregate->aggfnoid));
}

bool ifp_aggregate_needs_accumulators(Aggref *aggregate)
{
	enum ifp_agg_function function;

	if (!function_find(aggregate->aggfnoid, &function))
		return false;
	return ifp_agg_function_needs_squares(function) || function == IFP_AGG_PAIR || aggregate->aggfilter ||
	       (aggregate->args != NIL && !IsA(linitial_node(TargetEntry, aggregate->args)->expr, Var));
}

bool ifp_aggregate_is_ctid(Aggref *aggregate)
{
	enum ifp_agg_function function;

	return function_find(aggregate->aggfnoid, &function) && (function == IFP_AGG_MIN_ROW || function == IFP_AGG_MAX_ROW ||
								 function == IFP_AGG_FIRST_ROW || function == IFP_AGG_LAST_ROW);
}

static bool is_real_column(Node *expression)
{
	List *columns = pull_var_clause(expression, 0);
	Oid type = columns == NIL ? InvalidOid : getBaseType(linitial_node(Var, columns)->vartype);

	return type == FLOAT4OID || type == FLOAT8OID;
}

bool ifp_aggregate_is_real(Aggref *aggregate)
{
	enum ifp_agg_function function;
	Oid type;

	if (aggregate->args == NIL || !function_find(aggregate->aggfnoid, &function) || function == IFP_AGG_COUNT ||
	    function == IFP_AGG_SKETCH || function == IFP_AGG_DISTINCT)
		return false;
	/* a percentile adds nothing, and is converted to double precision from whatever the column is */
	if (ifp_agg_function_is_percentile(function))
		return is_real_column((Node *)linitial_node(TargetEntry, aggregate->args)->expr);
	type = exprType((Node *)linitial_node(TargetEntry, aggregate->args)->expr);
	return type == FLOAT4OID || type == FLOAT8OID;
}

#define EXTREME_IS_WRITTEN_DIFFERENTLY "equal values of an extreme may be written differently"

/* ---- arms ---- */

struct aggregate_reading {
	const struct ifp_index_query *query;
	enum ifp_agg_function function;
	bool is_distinct; /* each value counts once (ifp_aggregate_is_distinct()) */
	uint64 steps;	  /* steps of the arms, and their histogram */
	int histogram;
	List *arms;
	const char *reason;
};

/* Returns a new arm, which is not yet in the list. */
static struct ifp_arm *make_arm(const struct aggregate_reading *reading, enum ifp_measure_type type, Node *expression,
				List *conditions, List *wanted)
{
	struct ifp_arm *arm = palloc0(sizeof *arm);

	*arm = (struct ifp_arm){ .type = type,
				 .conditions = conditions,
				 .wanted = wanted,
				 .expression = expression,
				 .steps = reading->steps,
				 .histogram = reading->histogram,
				 .accumulator = -1 };
	return arm;
}

static bool is_number(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID || type == NUMERICOID || type == FLOAT4OID ||
	       type == FLOAT8OID;
}

/* True for dates and timestamps, which have infinities that extract() turns into numbers. */
static bool is_time_type(const struct ifp_index_query *query, AttrNumber attribute)
{
	Oid type = getBaseType(exprType(list_nth(query->columns, attribute - 1)));

	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

/* Returns NULL if the index knows the variance of an expression of value column v only, else the reason. */
static const char *refuse_variance(const struct ifp_index_query *query, Node *expression, int v)
{
	AttrNumber attribute = (AttrNumber)(query->n_by + 2 + v);
	Oid type = exprType(expression);

	if (type == FLOAT4OID || type == FLOAT8OID)
		return "variances of reals are not exact";
	if (!ifp_is_column(expression, attribute))
		return "the argument of a variance is not a value column alone";
	if (iforest_accumulators_named(&query->accumulators, IFOREST_KIND_SQUARES, (unsigned)v, IFOREST_NO_VALUE) < 0)
		return "the index does not keep the squares of a value column (variance)";
	return NULL;
}

/* Returns NULL if the index knows the sketch of an expression, else the reason. Sketches take integers as integers and all else
 * as reals, but the index stores numerics as integers. */
static const char *refuse_sketch(const struct ifp_index_query *query, Node *expression, int v)
{
	Oid type = getBaseType(exprType(expression));
	Oid column = v < 0 ? InvalidOid : getBaseType(exprType(list_nth(query->columns, query->n_by + 1 + v)));
	bool is_integer = type == INT2OID || type == INT4OID || type == INT8OID;

	if (type == NUMERICOID || column == NUMERICOID)
		return "a sketch of numerics counts them as double precision, which the index does not hold";
	if (v < 0 || (!is_integer && type != FLOAT4OID && type != FLOAT8OID) ||
	    !ifp_is_column(expression, (AttrNumber)(query->n_by + 2 + v)))
		return "the argument of a sketch is not a value column alone";
	if (is_integer != (column == INT2OID || column == INT4OID || column == INT8OID))
		return "the argument of a sketch is not a value column alone";
	return NULL;
}

/* Returns NULL if the index knows the distinct sketch of an expression, else the reason. */
static const char *refuse_distinct(const struct ifp_index_query *query, Node *expression, int v)
{
	if (v < 0 || !ifp_is_column(expression, (AttrNumber)(query->n_by + 2 + v)))
		return "the argument of a count of distinct values is not a value column alone";
	if (getBaseType(exprType(expression)) == NUMERICOID)
		return "distinct values of numerics count as double precision, which the index does not hold";
	return NULL;
}

/* True if a break is a change of value: between such breaks the expression may be NULL. */
static bool has_value_break(const List *breaks)
{
	ListCell *cell;

	foreach (cell, breaks)
		if (ifp_break_type(lfirst(cell)) == IFP_BREAK_VALUE)
			return true;
	return false;
}

/* Returns NULL if the index knows the function of an expression of one column, else the reason. */
static const char *refuse(const struct ifp_index_query *query, enum ifp_agg_function function, Node *expression,
			  AttrNumber attribute)
{
	bool is_time = attribute == ifp_time_attribute(query);
	List *breaks = NIL;

	/* of the column itself, as in most queries, only the last question below is open */
	if (IsA(expression, Var) && !is_time)
		return function == IFP_AGG_COUNT || function == IFP_AGG_SUM || function == IFP_AGG_AVG ||
				       ifp_equal_is_identical(expression)
			       ? NULL
			       : EXTREME_IS_WRITTEN_DIFFERENTLY;
	/* an infinite factor turns zeros into NaN, which neither sums nor extremes show */
	if (function != IFP_AGG_COUNT && ifp_may_be_infinite(expression))
		return "a constant in an aggregate is infinite, or a parameter that may be";
	if (function == IFP_AGG_SUM || function == IFP_AGG_AVG) {
		if (is_time || !ifp_is_affine(expression, attribute))
			return "a sum or average is of something over which sums do not distribute exactly";
		return NULL;
	}
	if (!ifp_is_monotone(expression, attribute, &breaks))
		return "the argument of an aggregate is not monotone in its column";
	if (function == IFP_AGG_COUNT)
		return has_value_break(breaks) ? "the argument of an aggregate is not monotone in its column" : NULL;
	if (is_time_type(query, attribute) && ifp_may_make_nan(expression))
		return "the argument of an aggregate is not monotone in its column";
	if (breaks != NIL)
		return "the extreme of a time hangs on a time zone";
	if (is_real_column(expression) && !ifp_is_ascending(expression, attribute))
		return "the extreme of a function of a real is not that of the column, where NaN is the greatest";
	return ifp_equal_is_identical(expression) || ifp_is_decimal_quotient(expression) ? NULL
											 : EXTREME_IS_WRITTEN_DIFFERENTLY;
}

static void add_constant(struct aggregate_reading *reading, struct ifp_arm *arm)
{
	Oid type = exprType(arm->expression);

	arm->type = IFP_MEASURE_CONSTANT;
	if (IsA(arm->expression, Const) && castNode(Const, arm->expression)->constisnull)
		return;
	if (ifp_agg_function_needs_squares(reading->function))
		reading->reason = "the argument of a variance is not a value column alone";
	if (reading->is_distinct) {
		if (reading->function != IFP_AGG_COUNT && (!is_number(type) || !ifp_equal_is_identical(arm->expression)))
			reading->reason = "equal values of a sum of distinct values may be written differently";
	} else if (reading->function == IFP_AGG_COUNT && IsA(arm->expression, Const)) {
		arm->type = IFP_MEASURE_ROWS;
		arm->expression = NULL;
	} else if ((reading->function == IFP_AGG_SUM || reading->function == IFP_AGG_AVG) && !is_number(type)) {
		reading->reason = "a sum is of something that is not a number";
	} else if ((reading->function == IFP_AGG_MIN || reading->function == IFP_AGG_MAX) &&
		   !ifp_equal_is_identical(arm->expression)) {
		reading->reason = EXTREME_IS_WRITTEN_DIFFERENTLY;
	}
	reading->arms = lappend(reading->arms, arm);
}

/* Adds an arm without value columns: a TIME if the extremes of the time suffice, else a CONSTANT of each bucket. */
static void add_valueless(struct aggregate_reading *reading, struct ifp_arm *arm)
{
	AttrNumber time = ifp_time_attribute(reading->query);
	bool is_extreme = reading->function == IFP_AGG_MIN || reading->function == IFP_AGG_MAX;

	if ((reading->function == IFP_AGG_COUNT || is_extreme) && ifp_mentions(arm->expression, time) &&
	    !ifp_mentions_by(reading->query, arm->expression) &&
	    !refuse(reading->query, reading->function, arm->expression, time)) {
		arm->type = IFP_MEASURE_TIME;
		reading->arms = lappend(reading->arms, arm);
	} else {
		add_constant(reading, arm);
	}
}

static bool is_of_distinct_sketch(enum ifp_agg_function function)
{
	return function == IFP_AGG_DISTINCT || function == IFP_AGG_DISTINCT_COUNT;
}

/* Returns the integer that is converted to numeric, or the expression. */
static Node *without_numeric(Node *expression)
{
	FuncExpr *cast = IsA(expression, FuncExpr) ? castNode(FuncExpr, expression) : NULL;

	if (cast && (cast->funcid == F_NUMERIC_INT2 || cast->funcid == F_NUMERIC_INT4 || cast->funcid == F_NUMERIC_INT8))
		return linitial(cast->args);
	return expression;
}

static void add_arm(struct aggregate_reading *reading, Node *expression, List *conditions, List *wanted)
{
	const struct ifp_index_query *query = reading->query;
	struct ifp_arm *arm;

	if (reading->function == IFP_AGG_SQUARES)
		expression = without_numeric(expression);
	arm = make_arm(reading, IFP_MEASURE_VALUE, expression, conditions, wanted);
	arm->value = ifp_mentioned_value(query, expression);
	if (reading->function == IFP_AGG_SKETCH || is_of_distinct_sketch(reading->function)) {
		arm->type = reading->function == IFP_AGG_SKETCH ? IFP_MEASURE_SKETCH : IFP_MEASURE_DISTINCT;
		if (!IsA(expression, Const) || !castNode(Const, expression)->constisnull) {
			reading->reason = (reading->function == IFP_AGG_SKETCH ? refuse_sketch : refuse_distinct)(
				query, expression, arm->value);
			reading->arms = lappend(reading->arms, arm);
		}
		return;
	}
	if (reading->is_distinct && arm->value != -1)
		reading->reason = "distinct values of a value column are not kept";
	else if (reading->is_distinct)
		add_constant(reading, arm);
	else if (arm->value == -1)
		add_valueless(reading, arm);
	if (reading->is_distinct || arm->value == -1)
		return;
	if (ifp_agg_function_needs_squares(reading->function) && arm->value >= 0)
		reading->reason = refuse_variance(query, expression, arm->value);
	else if (arm->value == -2 || ifp_mentions_by(query, expression) || ifp_mentions(expression, ifp_time_attribute(query)))
		reading->reason = "the argument of an aggregate mixes columns";
	else
		reading->reason = refuse(query, reading->function, expression, (AttrNumber)(query->n_by + 2 + arm->value));
	reading->arms = lappend(reading->arms, arm);
}

static bool is_condition(struct aggregate_reading *reading, Node *condition)
{
	int value = ifp_mentioned_value(reading->query, condition);

	if (value != -1)
		reading->reason = value < 0 ? "a condition in an aggregate is on several value columns"
					    : "a condition in an aggregate is on a value column";
	return !reading->reason;
}

static bool is_false(const Node *condition)
{
	const Const *constant = (const Const *)condition;

	return IsA(condition, Const) && (constant->constisnull || !DatumGetBool(constant->constvalue));
}

/* Adds the arms of CASE WHEN c THEN x ... ELSE y END, or the expression as one arm. Conditions may be constants, in pieces. */
static void add_arms(struct aggregate_reading *reading, Node *node, List *conditions, List *wanted)
{
	CaseExpr *choice = IsA(node, CaseExpr) ? castNode(CaseExpr, ifp_case_conditions(node)) : NULL;
	ListCell *cell;

	if (!choice || (ifp_mentioned_value(reading->query, node) == -1 && reading->steps == IFP_ALL_STEPS)) {
		add_arm(reading, node, conditions, wanted);
		return;
	}
	foreach (cell, choice->args) {
		CaseWhen *when = lfirst_node(CaseWhen, cell);
		Node *condition = (Node *)when->expr;

		if (is_false(condition))
			continue;
		if (IsA(condition, Const)) {
			add_arms(reading, (Node *)when->result, conditions, wanted);
			return;
		}
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

/* Rejects extremes whose arms may be equal but have different text forms: a plain plan returns whichever comes first. */
static void compare_arms(struct aggregate_reading *reading)
{
	Node *first = NULL;
	ListCell *cell;

	if (reading->function != IFP_AGG_MIN && reading->function != IFP_AGG_MAX)
		return;
	foreach (cell, reading->arms) {
		Node *expression = ((struct ifp_arm *)lfirst(cell))->expression;

		if (first && !ifp_are_written_alike(first, expression))
			reading->reason = EXTREME_IS_WRITTEN_DIFFERENTLY;
		first = first ? first : expression;
	}
}

/* ---- arms of the steps of a histogram ---- */

static const char of_part[] = "an aggregate of a part of the values of a column is no count";

static Node *argument_of(const Aggref *aggregate)
{
	return aggregate->args == NIL ? NULL : (Node *)linitial_node(TargetEntry, aggregate->args)->expr;
}

/* Splits the conditions of a piece into constants and those with other columns. Returns false if one is never true or cannot be
 * evaluated. */
static bool read_conditions(struct aggregate_reading *reading, const List *expressions, List **conditions, List **wanted)
{
	ListCell *cell;

	*conditions = *wanted = NIL;
	foreach (cell, expressions) {
		if (is_false(lfirst(cell)) || !is_condition(reading, lfirst(cell)))
			return false;
		if (!IsA(lfirst(cell), Const)) {
			*conditions = lappend(*conditions, lfirst(cell));
			*wanted = lappend_int(*wanted, 1);
		}
	}
	return true;
}

static void add_argument(struct aggregate_reading *reading, Node *argument, List *conditions, List *wanted)
{
	if (argument)
		add_arms(reading, argument, conditions, wanted);
	else
		reading->arms = lappend(reading->arms, make_arm(reading, IFP_MEASURE_ROWS, NULL, conditions, wanted));
}

/* True if the histogram's counts suffice for the arm: constants and numbers of rows. */
static bool is_counted(const struct aggregate_reading *reading, const struct ifp_arm *arm)
{
	return arm->type == IFP_MEASURE_ROWS || arm->type == IFP_MEASURE_CONSTANT ||
	       (arm->type == IFP_MEASURE_TIME && reading->function == IFP_AGG_COUNT && IsA(arm->expression, Var));
}

static bool all_are_counted(const struct aggregate_reading *reading)
{
	ListCell *cell;

	foreach (cell, reading->arms)
		if (!is_counted(reading, lfirst(cell)))
			return false;
	return true;
}

/* Adds the arms of the pieces of an aggregate. A piece has the argument, NULL for count(*), and then the conditions. */
static void add_pieces(struct aggregate_reading *reading, const List *pieces)
{
	ListCell *cell;

	foreach (cell, pieces) {
		const struct ifp_piece *piece = lfirst(cell);
		List *conditions, *wanted;

		reading->steps = piece->steps;
		if (read_conditions(reading, list_copy_tail(piece->expressions, 1), &conditions, &wanted))
			add_argument(reading, linitial(piece->expressions), conditions, wanted);
		if (reading->reason)
			return;
	}
	reading->reason = reading->query->drawn || all_are_counted(reading) ? NULL : of_part;
	compare_arms(reading);
}

/* Reads an aggregate whose argument or filter depends on the steps of a value column. If that column has no histogram, leaves
 * the reason unchanged. */
static void read_pieces(struct aggregate_reading *reading, const Aggref *aggregate)
{
	const struct ifp_index_query *query = reading->query;
	List *expressions = list_copy(make_ands_implicit(aggregate->aggfilter)), *pieces;
	Node *argument = argument_of(aggregate);
	enum ifp_steps_result result;

	/* count(x) depends only on what is NULL */
	if (!query->drawn && reading->function == IFP_AGG_COUNT && !reading->is_distinct && argument && IsA(argument, Var) &&
	    ifp_mentioned_value(query, argument) >= 0) {
		NullTest *test = makeNode(NullTest);

		test->arg = (Expr *)argument;
		test->nulltesttype = IS_NOT_NULL;
		expressions = lappend(expressions, test);
		argument = NULL;
	}
	reading->arms = NIL;
	result = ifp_value_steps_split(query, lcons(argument, expressions), &reading->histogram, &pieces);
	if (result == IFP_STEPS_NO_BOUNDS)
		reading->reason = "the histogram of a value column does not have the bounds of a condition (histogram)";
	else if (!reading->reason || (result == IFP_STEPS_NO_CONSTANT && aggregate->aggfilter))
		reading->reason = of_part;
	if (result != IFP_STEPS_FOUND)
		return;
	reading->reason = query->pieces && reading->histogram != query->histogram ? of_part : NULL;
	if (!reading->reason)
		add_pieces(reading, pieces);
}

/* ---- functions of pairs ---- */

/* Returns the value column, or IFOREST_TIME_COLUMN, that is converted to double precision; -1 for anything else. */
static int column_of_pair(const struct ifp_index_query *query, Node *argument)
{
	FuncExpr *cast = IsA(argument, FuncExpr) ? castNode(FuncExpr, argument) : NULL;
	Var *column = cast && list_length(cast->args) > 0 && IsA(linitial(cast->args), Var) ? linitial(cast->args) : NULL;

	if (!column || (cast->funcid != F_FLOAT8_INT2 && cast->funcid != F_FLOAT8_INT4 && cast->funcid != F_FLOAT8_INT8))
		return -1;
	if (column->varattno == ifp_time_attribute(query))
		return IFOREST_TIME_COLUMN;
	return ifp_mentioned_value(query, (Node *)column);
}

static int products_of(const struct ifp_index_query *query, int value, int second)
{
	return iforest_accumulators_named(&query->accumulators, IFOREST_KIND_PRODUCTS, (unsigned)value, (unsigned)second);
}

/* Adds the arm of a function of two columns, y first. */
static void add_pair(struct aggregate_reading *reading, const Aggref *aggregate, List *conditions, List *wanted)
{
	const struct ifp_index_query *query = reading->query;
	struct ifp_arm *arm = make_arm(reading, IFP_MEASURE_PAIR, NULL, conditions, wanted);
	int y = column_of_pair(query, (Node *)linitial_node(TargetEntry, aggregate->args)->expr);
	int x = column_of_pair(query, (Node *)lsecond_node(TargetEntry, aggregate->args)->expr);
	enum iforest_pair_function pair = IFOREST_REGR_COUNT;

	(void)pair_find(aggregate->aggfnoid, &pair);
	arm->pair = pair;
	if (x >= 0 && y >= 0)
		arm->accumulator = products_of(query, y, x);
	if (x >= 0 && y >= 0 && arm->accumulator < 0) {
		arm->accumulator = products_of(query, x, y);
		arm->is_swapped = true;
	}
	if (arm->accumulator < 0)
		reading->reason = "the index does not keep the products of two columns (products)";
	reading->arms = lappend(reading->arms, arm);
}

/* ---- aggregates of a row ---- */

static const char not_of_columns[] = "an aggregate of a row is not of a value column, the time column and ctid";

const char *ifp_aggregate_take_ctid(Aggref *aggregate, Index relid)
{
	TargetEntry *argument = list_length(aggregate->args) == 3 ? lthird_node(TargetEntry, aggregate->args) : NULL;
	Var *ctid = argument && IsA(argument->expr, Var) ? castNode(Var, argument->expr) : NULL;
	enum ifp_agg_function function;

	if (!function_find(aggregate->aggfnoid, &function) || !ifp_agg_function_is_of_row(function))
		return NULL;
	if (!ctid || (Index)ctid->varno != relid || ctid->varattno != SelfItemPointerAttributeNumber || ctid->varlevelsup != 0)
		return not_of_columns;
	argument->expr = (Expr *)makeNullConst(TIDOID, -1, InvalidOid);
	return NULL;
}

static enum ifp_measure_type row_of(enum ifp_agg_function function)
{
	switch (function) {
	case IFP_AGG_MIN_ROW:
	case IFP_AGG_MIN_TIME:
		return IFP_MEASURE_MIN_ROW;
	case IFP_AGG_MAX_ROW:
	case IFP_AGG_MAX_TIME:
		return IFP_MEASURE_MAX_ROW;
	case IFP_AGG_FIRST:
	case IFP_AGG_FIRST_TIME:
	case IFP_AGG_FIRST_ROW:
		return IFP_MEASURE_FIRST_ROW;
	default:
		return IFP_MEASURE_LAST_ROW;
	}
}

/* Adds an arm of a row. The row is known only for the columns themselves. */
static void add_row(struct aggregate_reading *reading, const Aggref *aggregate, List *conditions, List *wanted)
{
	const struct ifp_index_query *query = reading->query;
	Node *value = (Node *)linitial_node(TargetEntry, aggregate->args)->expr;
	Node *time = (Node *)lsecond_node(TargetEntry, aggregate->args)->expr;
	struct ifp_arm *arm = make_arm(reading, row_of(reading->function), value, conditions, wanted);

	arm->value = ifp_mentioned_value(query, value);
	if (arm->value < 0 || !IsA(value, Var) || !IsA(time, Var) || castNode(Var, time)->varattno != ifp_time_attribute(query))
		reading->reason = not_of_columns;
	reading->arms = lappend(reading->arms, arm);
}

/* ---- elements of arrays ---- */

/* Adds the arms of the first element of array_agg(). */
static void add_element(struct aggregate_reading *reading, const Aggref *aggregate)
{
	Node *value = argument_of(aggregate);
	struct ifp_array_element element;
	List *wanted = NIL;
	struct ifp_arm *arm;
	ListCell *cell;

	if (!ifp_array_element_read(aggregate, ifp_time_attribute(reading->query), &element) || !IsA(value, Var) ||
	    ifp_mentioned_value(reading->query, value) < 0) {
		reading->reason = "the first element of array_agg() is not of a value column in the order of the time column";
		return;
	}
	foreach (cell, element.conditions) {
		if (!is_condition(reading, lfirst(cell)))
			return;
		wanted = lappend_int(wanted, 1);
	}
	arm = make_arm(reading, element.is_last ? IFP_MEASURE_LAST_ROW : IFP_MEASURE_FIRST_ROW, value, element.conditions,
		       wanted);
	arm->value = ifp_mentioned_value(reading->query, value);
	reading->arms = lappend(reading->arms, arm);
	if (element.is_of_values)
		return;
	arm = make_arm(reading, IFP_MEASURE_TIME, element.time, element.conditions, wanted);
	arm->value = -1;
	reading->arms = lappend(reading->arms, arm);
}

/* ---- percentiles ---- */

/* True if WITHIN GROUP sorts by the operator < or > of the type. */
static bool has_usual_order(const Aggref *aggregate)
{
	const SortGroupClause *order = linitial_node(SortGroupClause, aggregate->aggorder);
	Oid type = exprType((Node *)linitial_node(TargetEntry, aggregate->args)->expr);

	return op_in_opfamily(order->sortop, lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf);
}

static bool counts_in_sketch(const struct ifp_index_query *query, int v)
{
	Oid type = getBaseType(exprType(list_nth(query->columns, query->n_by + 1 + v)));

	return type == INT2OID || type == INT4OID || type == INT8OID || type == FLOAT4OID || type == FLOAT8OID;
}

/* Adds the arms of a percentile. An order statistic of a monotone expression is the expression at an order statistic of its
 * column. */
static void add_percentile(struct aggregate_reading *reading, const Aggref *aggregate, List *conditions, List *wanted)
{
	const struct ifp_index_query *query = reading->query;
	Node *argument = argument_of(aggregate);
	struct ifp_arm *source, *ends;

	if (list_length(aggregate->args) != 1 || list_length(aggregate->aggdirectargs) != 1 || !has_usual_order(aggregate)) {
		reading->reason = "a percentile is in the order of another operator than < or >";
		return;
	}
	if (ifp_has_columns(linitial(aggregate->aggdirectargs))) {
		reading->reason = "the fraction of a percentile is not the same for all groups";
		return;
	}
	if (reading->function == IFP_AGG_PERCENTILE_CONT && exprType(argument) != FLOAT8OID) {
		reading->reason = "a percentile_cont is of intervals";
		return;
	}
	add_argument(reading, argument, conditions, wanted);
	if (reading->reason)
		return;
	ends = reading->arms == NIL ? NULL : linitial(reading->arms);
	if (list_length(reading->arms) != 1 || ends->type != IFP_MEASURE_VALUE) {
		reading->reason = "a percentile is not of one value column";
		return;
	}
	source = palloc(sizeof *source);
	*source = *ends;
	source->type = query->approximates && counts_in_sketch(query, ends->value) ? IFP_MEASURE_SKETCH : IFP_MEASURE_NUMBERS;
	reading->arms = lappend(reading->arms, source);
}

/* ---- aggregates ---- */

/* Adds the arms of an aggregate of all values. */
static void read_whole(struct aggregate_reading *reading, const Aggref *aggregate)
{
	List *conditions = NIL, *wanted = NIL;

	if (reading->function == IFP_AGG_ELEMENT) {
		add_element(reading, aggregate);
		return;
	}
	if (aggregate->aggfilter) {
		if (!is_condition(reading, (Node *)aggregate->aggfilter))
			return;
		conditions = list_make1(aggregate->aggfilter);
		wanted = list_make1_int(1);
	}
	if (ifp_agg_function_is_percentile(reading->function))
		add_percentile(reading, aggregate, conditions, wanted);
	else if (ifp_agg_function_is_of_row(reading->function))
		add_row(reading, aggregate, conditions, wanted);
	else if (reading->function == IFP_AGG_PAIR)
		add_pair(reading, aggregate, conditions, wanted);
	else
		add_argument(reading, argument_of(aggregate), conditions, wanted);
	if (!reading->reason)
		compare_arms(reading);
}

static bool is_extreme(enum ifp_agg_function function)
{
	return function == IFP_AGG_MIN || function == IFP_AGG_MAX || function == IFP_AGG_AND || function == IFP_AGG_OR;
}

/* True if DISTINCT can be answered; extremes ignore it. */
static bool may_be_distinct(const Aggref *aggregate, enum ifp_agg_function function)
{
	const SortGroupClause *clause = linitial_node(SortGroupClause, aggregate->aggdistinct);

	if (is_extreme(function))
		return true;
	return (function == IFP_AGG_COUNT || function == IFP_AGG_SUM || function == IFP_AGG_AVG) && clause->hashable &&
	       list_length(aggregate->args) == 1 && exprType(argument_of(aggregate)) != RECORDOID;
}

bool ifp_aggregate_is_estimated(const Aggref *aggregate, const struct ifp_index_query *query)
{
	enum ifp_agg_function function;

	return query->approximates_distinct && aggregate->aggdistinct != NIL && list_length(aggregate->args) == 1 &&
	       function_find(aggregate->aggfnoid, &function) && function == IFP_AGG_COUNT &&
	       !refuse_distinct(query, argument_of(aggregate), ifp_mentioned_value(query, argument_of(aggregate)));
}

bool ifp_aggregate_is_distinct(const Aggref *aggregate, const struct ifp_index_query *query)
{
	enum ifp_agg_function function;

	return aggregate->aggdistinct != NIL && function_find(aggregate->aggfnoid, &function) && !is_extreme(function) &&
	       !ifp_aggregate_is_estimated(aggregate, query);
}

bool ifp_aggregate_takes_keys(const Aggref *aggregate)
{
	enum ifp_agg_function function;

	return function_find(aggregate->aggfnoid, &function) && (function == IFP_AGG_COUNT || function == IFP_AGG_DISTINCT);
}

const char *ifp_aggregate_read(Aggref *aggregate, const struct ifp_index_query *query, enum ifp_agg_function *function,
			       List **arms)
{
	const char *unknown = ifp_aggregate_refuse_function(aggregate);
	bool is_percentile;

	*arms = NIL;
	if (unknown)
		return unknown;
	(void)function_find(aggregate->aggfnoid, function);
	is_percentile = ifp_agg_function_is_percentile(*function);
	if ((aggregate->aggorder != NIL && !is_percentile && *function != IFP_AGG_ELEMENT) ||
	    (aggregate->aggdistinct != NIL && !may_be_distinct(aggregate, *function)))
		return "an aggregate has DISTINCT or ORDER BY";
	if (aggregate->agglevelsup != 0 || aggregate->aggsplit != AGGSPLIT_SIMPLE ||
	    aggregate->aggkind != (is_percentile ? AGGKIND_ORDERED_SET : AGGKIND_NORMAL))
		return "an aggregate is of another query level or partial";
	if (contain_volatile_functions((Node *)aggregate->args) || contain_volatile_functions((Node *)aggregate->aggfilter) ||
	    contain_volatile_functions((Node *)aggregate->aggdirectargs))
		return "an aggregate has a volatile function";
	return ifp_aggregate_arms(aggregate, query, function, arms);
}

const char *ifp_aggregate_arms(Aggref *aggregate, const struct ifp_index_query *query, enum ifp_agg_function *function,
			       List **arms)
{
	struct aggregate_reading reading = { .query = query, .steps = IFP_ALL_STEPS, .histogram = -1 };
	bool is_whole;

	(void)function_find(aggregate->aggfnoid, &reading.function);
	is_whole = ifp_agg_function_is_percentile(reading.function) || ifp_agg_function_is_of_row(reading.function) ||
		   reading.function == IFP_AGG_PAIR || reading.function == IFP_AGG_ELEMENT;
	*function = reading.function;
	reading.is_distinct = ifp_aggregate_is_distinct(aggregate, query);
	if (ifp_aggregate_is_estimated(aggregate, query))
		*function = reading.function = IFP_AGG_DISTINCT_COUNT;
	read_whole(&reading, aggregate);
	if ((reading.reason || (query->pieces && !query->drawn && !all_are_counted(&reading))) && !is_whole)
		read_pieces(&reading, aggregate);
	else if (!reading.reason && query->pieces && !query->drawn && !all_are_counted(&reading))
		reading.reason = of_part;
	*arms = reading.arms;
	return reading.reason;
}

/* True for count(*) and aggregates of a plain value column: their arms have no conditions. */
static bool is_unconditional(const Aggref *aggregate, const struct ifp_index_query *query)
{
	const Node *argument = aggregate->args == NIL ? NULL : (const Node *)linitial_node(TargetEntry, aggregate->args)->expr;

	return !aggregate->aggfilter && list_length(aggregate->args) <= 1 &&
	       (!argument || (IsA(argument, Var) && ((const Var *)argument)->varattno > ifp_time_attribute(query)));
}

List *ifp_aggregate_conditions(Aggref *aggregate, const struct ifp_index_query *query)
{
	enum ifp_agg_function function;
	List *arms, *conditions = NIL;
	ListCell *cell;

	if (is_unconditional(aggregate, query) || ifp_aggregate_read(aggregate, query, &function, &arms))
		return NIL;
	foreach (cell, arms) {
		struct ifp_arm *arm = lfirst(cell);

		conditions = list_concat(conditions, arm->conditions);
		if (arm->type == IFP_MEASURE_CONSTANT)
			conditions = lappend(conditions, arm->expression);
	}
	return conditions;
}

void ifp_aggregate_bucket_keys(const struct ifp_index_query *query, struct ifp_run_keys *keys)
{
	AttrNumber time = ifp_time_attribute(query);
	ListCell *cell;

	*keys = (struct ifp_run_keys){ NIL, NIL };
	ifp_add_run_keys((Node *)query->groups, time, keys);
	ifp_add_run_keys((Node *)query->late, time, keys);
	foreach (cell, query->aggregates)
		ifp_add_run_keys((Node *)ifp_aggregate_conditions(lfirst(cell), query), time, keys);
}

/* True for the functions that have arms of sketches, or of numbers one by one. */
static bool may_need_single_values(const Aggref *aggregate)
{
	enum ifp_agg_function function;

	return function_find(aggregate->aggfnoid, &function) &&
	       (function == IFP_AGG_SKETCH || function == IFP_AGG_DISTINCT || ifp_agg_function_is_percentile(function) ||
		aggregate->aggdistinct != NIL);
}

uint32 ifp_aggregates_need(const struct ifp_index_query *query, enum ifp_measure_type type)
{
	uint32 values = 0;
	ListCell *cell, *arm_cell;

	foreach (cell, query->aggregates) {
		enum ifp_agg_function function;
		List *arms;

		if (!may_need_single_values(lfirst_node(Aggref, cell)))
			continue;
		(void)ifp_aggregate_read(lfirst(cell), query, &function, &arms);
		foreach (arm_cell, arms) {
			const struct ifp_arm *arm = lfirst(arm_cell);

			if (arm->type == type)
				values |= 1u << arm->value;
		}
	}
	return values;
}

bool ifp_aggregate_is_approximate(Aggref *aggregate, const struct ifp_index_query *query)
{
	enum ifp_agg_function function;
	List *arms;

	return !ifp_aggregate_read(aggregate, query, &function, &arms) && ifp_agg_function_is_percentile(function) &&
	       ((struct ifp_arm *)llast(arms))->type == IFP_MEASURE_SKETCH;
}
