#include "pg_ext/planner/index_query.h"

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

#include "pg_ext/base/engine.h"
#include "pg_ext/base/safe_eval.h"
#include "pg_ext/planner/affine.h"
#include "pg_ext/planner/monotone.h"
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

/* Returns false for a function that is none of these. */
static bool function_find(Oid oid, enum ifp_agg_function *function)
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
	};
	static const struct named_function own[] = {
		{ "iforest_min_row", IFP_AGG_MIN_ROW },	      { "iforest_max_row", IFP_AGG_MAX_ROW },
		{ "iforest_min_time", IFP_AGG_MIN_TIME },     { "iforest_max_time", IFP_AGG_MAX_TIME },
		{ "iforest_first", IFP_AGG_FIRST },	      { "iforest_last", IFP_AGG_LAST },
		{ "iforest_first_time", IFP_AGG_FIRST_TIME }, { "iforest_last_time", IFP_AGG_LAST_TIME },
		{ "iforest_last_row", IFP_AGG_LAST_ROW },     { "iforest_sketch", IFP_AGG_SKETCH },
	};
	enum iforest_pair_function pair;

	*function = IFP_AGG_PAIR;
	if (oid < FirstNormalObjectId)
		return pair_find(oid, &pair) || find_named(get_func_name(oid), known, lengthof(known), function);
	return find_named(ifp_extension_function(oid), own, lengthof(own), function);
}

bool ifp_aggregate_needs_accumulators(Aggref *aggregate)
{
	enum ifp_agg_function function;

	return function_find(aggregate->aggfnoid, &function) &&
	       (ifp_agg_function_needs_squares(function) || function == IFP_AGG_PAIR ||
		(function == IFP_AGG_COUNT && aggregate->aggfilter));
}

bool ifp_aggregate_is_ctid(Aggref *aggregate)
{
	enum ifp_agg_function function;

	return function_find(aggregate->aggfnoid, &function) &&
	       (function == IFP_AGG_MIN_ROW || function == IFP_AGG_MAX_ROW || function == IFP_AGG_LAST_ROW);
}

bool ifp_aggregate_is_real(Aggref *aggregate)
{
	enum ifp_agg_function function;
	Oid type;

	if (aggregate->args == NIL || !function_find(aggregate->aggfnoid, &function) || function == IFP_AGG_COUNT ||
	    function == IFP_AGG_SKETCH)
		return false;
	type = exprType((Node *)linitial_node(TargetEntry, aggregate->args)->expr);
	return type == FLOAT4OID || type == FLOAT8OID;
}

#define EXTREME_IS_WRITTEN_DIFFERENTLY "equal values of an extreme may be written differently"

/* ---- arms ---- */

struct aggregate_reading {
	const struct ifp_index_query *query;
	enum ifp_agg_function function;
	List *arms;
	const char *reason;
};

static bool is_number(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID || type == NUMERICOID || type == FLOAT4OID ||
	       type == FLOAT8OID;
}

/* Returns the value column that a node mentions; -1 if none, -2 if several. */
static int value_of(const struct ifp_index_query *query, Node *node)
{
	int found = -1;

	for (int v = 0; query->n_by + 1 + v < list_length(query->columns); v++)
		if (ifp_mentions(node, (AttrNumber)(query->n_by + 2 + v)))
			found = found == -1 ? v : -2;
	return found;
}

static bool mentions_by(const struct ifp_index_query *query, Node *node)
{
	for (int i = 1; i <= query->n_by; i++)
		if (ifp_mentions(node, (AttrNumber)i))
			return true;
	return false;
}

static bool is_real_column(Node *expression)
{
	Oid type = getBaseType(linitial_node(Var, pull_var_clause(expression, 0))->vartype);

	return type == FLOAT4OID || type == FLOAT8OID;
}

/* True for dates and timestamps, which have infinities that extract() turns into numbers. */
static bool is_time_type(const struct ifp_index_query *query, AttrNumber attribute)
{
	Oid type = getBaseType(exprType(list_nth(query->columns, attribute - 1)));

	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

/* Returns NULL if the variance of an expression of value column v alone is known, or why it is not. */
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

/* Returns NULL if the sketch of an expression is known, or why it is not. Sketches count integers as integers and all else as
 * reals, but the index holds numerics as integers. */
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

/* True if a break is a change of value: between such breaks the expression may be NULL. */
static bool has_value_break(const List *breaks)
{
	ListCell *cell;

	foreach (cell, breaks)
		if (ifp_break_type(lfirst(cell)) == IFP_BREAK_VALUE)
			return true;
	return false;
}

/* Returns NULL if the function of an expression of one column is known, or why it is not. */
static const char *refuse(const struct ifp_index_query *query, enum ifp_agg_function function, Node *expression,
			  AttrNumber attribute)
{
	bool is_time = attribute == ifp_time_attribute(query);
	List *breaks = NIL;

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
	return ifp_equal_is_identical(expression) ? NULL : EXTREME_IS_WRITTEN_DIFFERENTLY;
}

static void add_constant(struct aggregate_reading *reading, struct ifp_arm *arm)
{
	Oid type = exprType(arm->expression);

	arm->type = IFP_MEASURE_CONSTANT;
	if (IsA(arm->expression, Const) && castNode(Const, arm->expression)->constisnull)
		return;
	if (ifp_agg_function_needs_squares(reading->function))
		reading->reason = "the argument of a variance is not a value column alone";
	if (reading->function == IFP_AGG_COUNT && IsA(arm->expression, Const)) {
		arm->type = IFP_MEASURE_ROWS;
		arm->expression = NULL;
	} else if ((reading->function == IFP_AGG_SUM || reading->function == IFP_AGG_AVG) && !is_number(type)) {
		reading->reason = "a sum is of something that is no number";
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
	    !mentions_by(reading->query, arm->expression) &&
	    !refuse(reading->query, reading->function, arm->expression, time)) {
		arm->type = IFP_MEASURE_TIME;
		reading->arms = lappend(reading->arms, arm);
	} else {
		add_constant(reading, arm);
	}
}

static void add_arm(struct aggregate_reading *reading, Node *expression, List *conditions, List *wanted)
{
	const struct ifp_index_query *query = reading->query;
	struct ifp_arm *arm = palloc0(sizeof *arm);

	*arm = (struct ifp_arm){
		.type = IFP_MEASURE_VALUE, .conditions = conditions, .wanted = wanted, .expression = expression
	};
	arm->value = value_of(query, expression);
	if (reading->function == IFP_AGG_SKETCH) {
		arm->type = IFP_MEASURE_SKETCH;
		if (!IsA(expression, Const) || !castNode(Const, expression)->constisnull) {
			reading->reason = refuse_sketch(query, expression, arm->value);
			reading->arms = lappend(reading->arms, arm);
		}
		return;
	}
	if (arm->value == -1) {
		add_valueless(reading, arm);
		return;
	}
	if (ifp_agg_function_needs_squares(reading->function) && arm->value >= 0)
		reading->reason = refuse_variance(query, expression, arm->value);
	else if (arm->value == -2 || mentions_by(query, expression) || ifp_mentions(expression, ifp_time_attribute(query)))
		reading->reason = "the argument of an aggregate mixes columns";
	else
		reading->reason = refuse(query, reading->function, expression, (AttrNumber)(query->n_by + 2 + arm->value));
	reading->arms = lappend(reading->arms, arm);
}

static bool is_condition(struct aggregate_reading *reading, Node *condition)
{
	if (value_of(reading->query, condition) != -1)
		reading->reason = "a condition in an aggregate is on a value column";
	return !reading->reason;
}

/* Fills in x in CASE x WHEN y, which is CASE WHEN x = y with a placeholder for x. */
static Node *fill_in(Node *node, void *tested)
{
	if (!node || IsA(node, CaseExpr))
		return node;
	if (IsA(node, CaseTestExpr))
		return tested;
	return expression_tree_mutator(node, fill_in, tested);
}

/* Adds the arms of CASE WHEN c THEN x ... ELSE y END, or the expression as one arm. */
static void add_arms(struct aggregate_reading *reading, Node *node, List *conditions, List *wanted)
{
	CaseExpr *choice = IsA(node, CaseExpr) ? castNode(CaseExpr, node) : NULL;
	ListCell *cell;

	if (!choice || value_of(reading->query, node) == -1) {
		add_arm(reading, node, conditions, wanted);
		return;
	}
	foreach (cell, choice->args) {
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

/* Refuses extremes whose arms may be equal but written differently: a plain plan shows whichever comes first. */
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

/* ---- counts by a histogram ---- */

/* Narrows low <= value <= high by a comparison of value column v with a constant. Returns false for any other condition. */
static bool narrow(const struct ifp_index_query *query, Node *condition, int v, iforest_int128 *low, iforest_int128 *high)
{
	OpExpr *call = IsA(condition, OpExpr) ? copyObject(castNode(OpExpr, condition)) : NULL;
	Const *constant;
	int64 number;
	int strategy;

	if (!call || list_length(call->args) != 2)
		return false;
	if (IsA(linitial(call->args), Const)) {
		if (!OidIsValid(get_commutator(call->opno)))
			return false;
		CommuteOpExpr(call);
	}
	constant = lsecond(call->args);
	strategy = get_op_opfamily_strategy(call->opno, INTEGER_BTREE_FAM_OID);
	if (strategy == 0 || !ifp_is_column(linitial(call->args), (AttrNumber)(query->n_by + 2 + v)) || !IsA(constant, Const) ||
	    constant->constisnull)
		return false;
	number = constant->consttype == INT2OID	  ? DatumGetInt16(constant->constvalue)
		 : constant->consttype == INT4OID ? DatumGetInt32(constant->constvalue)
						  : DatumGetInt64(constant->constvalue);
	if (strategy >= BTEqualStrategyNumber)
		*low = Max(*low, (iforest_int128)number + (strategy == BTGreaterStrategyNumber));
	if (strategy <= BTEqualStrategyNumber)
		*high = Min(*high, (iforest_int128)number - (strategy == BTLessStrategyNumber));
	return true;
}

/* Finds a bound. Returns false if it is not kept. One beyond all integers is none. */
static bool find_bound(const struct iforest_accumulators *all, int a, iforest_int128 bound, int *found)
{
	const int64_t *bounds = iforest_accumulator_parameters(all, (unsigned)a);

	*found = -1;
	if (bound < INT64_MIN || bound >= INT64_MAX)
		return true;
	for (int i = 0; i < all->list[a].n_parameters; i++)
		if (bounds[i] == bound)
			*found = i;
	return *found >= 0;
}

/* True for count(*), and for the count of a column or constant that is not NULL where the filter holds. */
static bool counts_rows(const struct ifp_index_query *query, const Aggref *aggregate, int v)
{
	Node *argument = aggregate->args == NIL ? NULL : (Node *)linitial_node(TargetEntry, aggregate->args)->expr;

	return !argument || (IsA(argument, Const) && !castNode(Const, argument)->constisnull) ||
	       ifp_is_column(argument, (AttrNumber)(query->n_by + 2 + v));
}

/* Adds the arm of a count whose filter has conditions on a value column. */
static void add_range(struct aggregate_reading *reading, const Aggref *aggregate)
{
	const struct ifp_index_query *query = reading->query;
	struct ifp_arm *arm = palloc0(sizeof *arm);
	iforest_int128 low = INT64_MIN, high = INT64_MAX;
	ListCell *cell;

	*arm = (struct ifp_arm){ .type = IFP_MEASURE_RANGE, .value = value_of(query, (Node *)aggregate->aggfilter) };
	reading->reason = "a condition in an aggregate is on a value column";
	if (arm->value < 0 || reading->function != IFP_AGG_COUNT || !counts_rows(query, aggregate, arm->value))
		return;
	arm->accumulator = iforest_accumulators_named(&query->accumulators, IFOREST_KIND_HISTOGRAM, (unsigned)arm->value,
						      IFOREST_NO_VALUE);
	if (arm->accumulator < 0)
		return;
	foreach (cell, make_ands_implicit(aggregate->aggfilter)) {
		if (value_of(query, lfirst(cell)) == -1) {
			arm->conditions = lappend(arm->conditions, lfirst(cell));
			arm->wanted = lappend_int(arm->wanted, 1);
		} else if (!narrow(query, lfirst(cell), arm->value, &low, &high)) {
			return;
		}
	}
	reading->reason = low <= high && find_bound(&query->accumulators, arm->accumulator, low - 1, &arm->low) &&
					  find_bound(&query->accumulators, arm->accumulator, high, &arm->high)
				  ? NULL
				  : "the histogram of a value column does not have the bounds of a condition (histogram)";
	reading->arms = list_make1(arm);
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
	return column->varattno > ifp_time_attribute(query) ? column->varattno - query->n_by - 2 : -1;
}

static int products_of(const struct ifp_index_query *query, int value, int second)
{
	return iforest_accumulators_named(&query->accumulators, IFOREST_KIND_PRODUCTS, (unsigned)value, (unsigned)second);
}

/* Adds the arm of a function of two columns, y first. */
static void add_pair(struct aggregate_reading *reading, const Aggref *aggregate, List *conditions, List *wanted)
{
	const struct ifp_index_query *query = reading->query;
	struct ifp_arm *arm = palloc0(sizeof *arm);
	int y = column_of_pair(query, (Node *)linitial_node(TargetEntry, aggregate->args)->expr);
	int x = column_of_pair(query, (Node *)lsecond_node(TargetEntry, aggregate->args)->expr);
	enum iforest_pair_function pair = IFOREST_REGR_COUNT;

	(void)pair_find(aggregate->aggfnoid, &pair);
	*arm = (struct ifp_arm){
		.type = IFP_MEASURE_PAIR, .conditions = conditions, .wanted = wanted, .accumulator = -1, .pair = pair
	};
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
		return IFP_MEASURE_FIRST_ROW;
	default:
		return IFP_MEASURE_LAST_ROW;
	}
}

/* Adds an arm of a row. The row is known only for the columns themselves. */
static void add_row(struct aggregate_reading *reading, const Aggref *aggregate, List *conditions, List *wanted)
{
	const struct ifp_index_query *query = reading->query;
	struct ifp_arm *arm = palloc0(sizeof *arm);
	Node *value = (Node *)linitial_node(TargetEntry, aggregate->args)->expr;
	Node *time = (Node *)lsecond_node(TargetEntry, aggregate->args)->expr;

	*arm = (struct ifp_arm){
		.type = row_of(reading->function), .conditions = conditions, .wanted = wanted, .expression = value
	};
	arm->value = value_of(query, value);
	if (arm->value < 0 || !IsA(value, Var) || !IsA(time, Var) || castNode(Var, time)->varattno != ifp_time_attribute(query))
		reading->reason = not_of_columns;
	reading->arms = lappend(reading->arms, arm);
}

/* ---- aggregates ---- */

const char *ifp_aggregate_read(Aggref *aggregate, const struct ifp_index_query *query, enum ifp_agg_function *function,
			       List **arms)
{
	struct aggregate_reading reading = { .query = query };
	List *conditions = NIL, *wanted = NIL;

	*arms = NIL;
	if (!function_find(aggregate->aggfnoid, &reading.function))
		return psprintf("the index does not keep what %s() needs", get_func_name(aggregate->aggfnoid));
	if (aggregate->aggdistinct != NIL || aggregate->aggorder != NIL)
		return "an aggregate has DISTINCT or ORDER BY";
	if (aggregate->agglevelsup != 0 || aggregate->aggsplit != AGGSPLIT_SIMPLE || aggregate->aggkind != AGGKIND_NORMAL)
		return "an aggregate is of another query level or partial";
	if (contain_volatile_functions((Node *)aggregate->args) || contain_volatile_functions((Node *)aggregate->aggfilter))
		return "an aggregate has a volatile function";
	*function = reading.function;
	if (aggregate->aggfilter && value_of(query, (Node *)aggregate->aggfilter) != -1) {
		add_range(&reading, aggregate);
		*arms = reading.arms;
		return reading.reason;
	}
	if (aggregate->aggfilter) {
		conditions = list_make1(aggregate->aggfilter);
		wanted = list_make1_int(1);
	}
	if (aggregate->args == NIL) {
		struct ifp_arm *arm = palloc0(sizeof *arm);

		arm->type = IFP_MEASURE_ROWS;
		arm->conditions = conditions;
		arm->wanted = wanted;
		*arms = list_make1(arm);
		return NULL;
	}
	if (ifp_agg_function_is_of_row(reading.function))
		add_row(&reading, aggregate, conditions, wanted);
	else if (reading.function == IFP_AGG_PAIR)
		add_pair(&reading, aggregate, conditions, wanted);
	else
		add_arms(&reading, (Node *)linitial_node(TargetEntry, aggregate->args)->expr, conditions, wanted);
	if (!reading.reason)
		compare_arms(&reading);
	*arms = reading.arms;
	return reading.reason;
}

List *ifp_aggregate_conditions(Aggref *aggregate, const struct ifp_index_query *query)
{
	enum ifp_agg_function function;
	List *arms, *conditions = NIL;
	ListCell *cell;

	if (ifp_aggregate_read(aggregate, query, &function, &arms))
		return NIL;
	foreach (cell, arms) {
		struct ifp_arm *arm = lfirst(cell);

		conditions = list_concat(conditions, arm->conditions);
		if (arm->type == IFP_MEASURE_CONSTANT)
			conditions = lappend(conditions, arm->expression);
	}
	return conditions;
}

uint32 ifp_aggregate_sketches(Aggref *aggregate, const struct ifp_index_query *query)
{
	enum ifp_agg_function function;
	uint32 values = 0;
	List *arms;
	ListCell *cell;

	if (ifp_aggregate_read(aggregate, query, &function, &arms) || function != IFP_AGG_SKETCH)
		return 0;
	foreach (cell, arms)
		values |= 1u << ((struct ifp_arm *)lfirst(cell))->value;
	return values;
}

/* ---- key conditions ---- */

/* Returns the key column that one side of a condition is; 0 if it is none. */
static AttrNumber key_column(const struct ifp_index_query *query, Node *side)
{
	while (IsA(side, RelabelType))
		side = (Node *)castNode(RelabelType, side)->arg;
	if (!IsA(side, Var) || castNode(Var, side)->varattno > query->n_by + 1)
		return 0;
	return castNode(Var, side)->varattno;
}

/* True if local time is compared with a timestamptz: scan keys would hold more than the condition. */
static bool is_local_against_utc(Oid left, Oid right)
{
	return (left == TIMESTAMPOID || left == DATEOID) && right == TIMESTAMPTZOID;
}

/* True if an operator on a key column belongs to its operator family and scan keys can hold it. */
static bool is_key_operator(const struct ifp_index_query *query, const IndexOptInfo *index, AttrNumber column, Oid operator,
			    Oid collation, Oid right_type)
{
	int strategy = get_op_opfamily_strategy(operator, index->opfamily[column - 1]);

	if (strategy == 0 ||
	    (OidIsValid(index->indexcollations[column - 1]) && collation != index->indexcollations[column - 1]))
		return false;
	if (column <= query->n_by)
		return strategy == BTEqualStrategyNumber;
	return !is_local_against_utc(index->opcintype[column - 1], right_type);
}

/* Returns the condition as a column, an operator and parameters, commuted if need be; NULL if it has another form. */
static Node *as_key(const struct ifp_index_query *query, const IndexOptInfo *index, Node *condition)
{
	Oid left_type, right_type;
	int strategy;

	if (IsA(condition, NullTest))
		return key_column(query, (Node *)castNode(NullTest, condition)->arg) && !castNode(NullTest, condition)->argisrow
			       ? condition
			       : NULL;
	if (IsA(condition, OpExpr) && list_length(castNode(OpExpr, condition)->args) == 2) {
		OpExpr *call = castNode(OpExpr, condition);

		if (ifp_has_columns(lsecond(call->args))) {
			if (ifp_has_columns(linitial(call->args)) || !OidIsValid(get_commutator(call->opno)))
				return NULL;
			call = copyObject(call);
			CommuteOpExpr(call);
		}
		if (!key_column(query, linitial(call->args)) ||
		    get_op_opfamily_strategy(call->opno, index->opfamily[key_column(query, linitial(call->args)) - 1]) == 0)
			return NULL;
		get_op_opfamily_properties(call->opno, index->opfamily[key_column(query, linitial(call->args)) - 1], false,
					   &strategy, &left_type, &right_type);
		return is_key_operator(query, index, key_column(query, linitial(call->args)), call->opno, call->inputcollid,
				       right_type)
			       ? (Node *)call
			       : NULL;
	}
	if (IsA(condition, ScalarArrayOpExpr)) {
		ScalarArrayOpExpr *call = castNode(ScalarArrayOpExpr, condition);
		AttrNumber column = key_column(query, linitial(call->args));

		return call->useOr && column && !ifp_has_columns(lsecond(call->args)) &&
				       is_key_operator(query, index, column, call->opno, call->inputcollid,
						       get_base_element_type(exprType(lsecond(call->args))))
			       ? condition
			       : NULL;
	}
	return NULL;
}

void ifp_key_condition_read(Node *condition, struct ifp_key_condition *result)
{
	Node *side;

	*result = (struct ifp_key_condition){ .is_null_test = IsA(condition, NullTest) };
	if (result->is_null_test) {
		side = (Node *)castNode(NullTest, condition)->arg;
		result->wants_null = castNode(NullTest, condition)->nulltesttype == IS_NULL;
	} else if (IsA(condition, OpExpr)) {
		side = linitial(castNode(OpExpr, condition)->args);
		result->comparand = lsecond(castNode(OpExpr, condition)->args);
		result->function = castNode(OpExpr, condition)->opno;
		result->collation = castNode(OpExpr, condition)->inputcollid;
		result->right_type = exprType((Node *)result->comparand);
	} else {
		side = linitial(castNode(ScalarArrayOpExpr, condition)->args);
		result->comparand = lsecond(castNode(ScalarArrayOpExpr, condition)->args);
		result->function = castNode(ScalarArrayOpExpr, condition)->opno;
		result->collation = castNode(ScalarArrayOpExpr, condition)->inputcollid;
		result->is_array = true;
		result->right_type = get_base_element_type(exprType((Node *)result->comparand));
	}
	while (IsA(side, RelabelType))
		side = (Node *)castNode(RelabelType, side)->arg;
	result->column = castNode(Var, side)->varattno;
}

/* ---- sorting conditions ---- */

/* Functions that raise no error, or only for a wrong pattern, and that PostgreSQL does not mark as leakproof. */
static const Oid harmless[] = {
	F_TEXTLIKE,	 F_TEXTNLIKE,	    F_TEXTICLIKE,	  F_TEXTICNLIKE,
	F_NAMELIKE,	 F_LOWER_TEXT,	    F_UPPER_TEXT,	  F_STRPOS,
	F_TEXTCAT,	 F_STARTS_WITH,	    F_TEXT_BOOL,	  F_INT8_INT4,
	F_INT4_INT2,	 F_INT8_INT2,	    F_NUMERIC_INT2,	  F_NUMERIC_INT4,
	F_NUMERIC_INT8,	 F_FLOAT8_INT2,	    F_FLOAT8_INT4,	  F_FLOAT8_INT8,
	F_FLOAT8_FLOAT4, F_NUMERIC_EQ,	    F_NUMERIC_NE,	  F_NUMERIC_LT,
	F_NUMERIC_LE,	 F_NUMERIC_GT,	    F_NUMERIC_GE,	  F_BPCHAREQ,
	F_BPCHARLIKE,	 F_TEXT_BPCHAR,	    F_FLOAT4_INT2,	  F_FLOAT4_INT4,
	F_FLOAT4_INT8,	 F_NUMERIC_FLOAT4,  F_NUMERIC_FLOAT8,	  F_FLOOR_NUMERIC,
	F_CEIL_NUMERIC,	 F_CEILING_NUMERIC, F_ROUND_NUMERIC_INT4, F_TRUNC_NUMERIC_INT4,
};

static bool may_fail(Oid function, void *context)
{
	(void)context;
	for (size_t i = 0; i < lengthof(harmless); i++)
		if (harmless[i] == function)
			return false;
	return !get_func_leakproof(function);
}

static uint32 mentioned_values(const struct ifp_index_query *query, Node *node)
{
	uint32 mentioned = 0;

	for (int v = 0; query->n_by + 1 + v < list_length(query->columns); v++)
		if (ifp_mentions(node, (AttrNumber)(query->n_by + 2 + v)))
			mentioned |= 1u << v;
	return mentioned;
}

static bool is_real(Node *column)
{
	Oid type = getBaseType(exprType(column));

	return type == FLOAT4OID || type == FLOAT8OID;
}

/* True for a comparison of an expression that keeps the order of the column, with NaN as the greatest. */
static bool compares_ascending(Node *condition, AttrNumber attribute)
{
	List *arguments = IsA(condition, OpExpr) ? castNode(OpExpr, condition)->args : NIL;

	return list_length(arguments) == 2 &&
	       (ifp_is_ascending(linitial(arguments), attribute) || ifp_is_ascending(lsecond(arguments), attribute));
}

/* True for x / c of integers or numerics with a positive constant. */
static bool is_safe_division(OpExpr *call)
{
	static const Oid divisions[] = { F_INT2DIV,  F_INT4DIV,	 F_INT8DIV,  F_INT24DIV, F_INT28DIV,
					 F_INT42DIV, F_INT48DIV, F_INT82DIV, F_INT84DIV, F_NUMERIC_DIV };
	Const *divisor = list_length(call->args) == 2 ? lsecond(call->args) : NULL;

	if (!divisor || !IsA(divisor, Const) || divisor->constisnull)
		return false;
	for (size_t i = 0; i < lengthof(divisions); i++)
		if (call->opfuncid == divisions[i])
			return ifp_number_from_datum(divisor->constvalue, divisor->consttype) > 0;
	return false;
}

/* True for a cast of a numeric(p, s) to a type that every value fits into, by its digits before the point; rounding may add one
 * digit. A value column has no NaN. */
static bool is_safe_cast(const FuncExpr *call)
{
	static const struct {
		Oid cast;
		int most_digits;
	} casts[] = { { F_INT2_NUMERIC, 4 },
		      { F_INT4_NUMERIC, 9 },
		      { F_INT8_NUMERIC, 18 },
		      { F_FLOAT4_NUMERIC, FLT_MAX_10_EXP },
		      { F_FLOAT8_NUMERIC, DBL_MAX_10_EXP } };
	Node *argument = linitial(call->args);
	int32 modifier = exprTypmod(argument);

	for (size_t i = 0; i < lengthof(casts); i++)
		if (casts[i].cast == call->funcid)
			return getBaseTypeAndTypmod(exprType(argument), &modifier) == NUMERICOID && modifier >= VARHDRSZ &&
			       ifp_numeric_precision(modifier) - ifp_numeric_scale(modifier) <= casts[i].most_digits;
	return false;
}

/* True if the condition might raise an error for some value. It is evaluated also for values of rows that other conditions
 * exclude. Arithmetic of numerics cannot overflow here, that of integers can. Parts without the value fail for all rows or
 * none; such an error is reported when the condition is evaluated, if it can be caught. */
static bool may_fail_of_value(Node *node, void *context)
{
	static const Oid exact[] = { F_NUMERIC_ADD, F_NUMERIC_SUB, F_NUMERIC_MUL, F_NUMERIC_UMINUS };
	OpExpr *call = (OpExpr *)node;

	if (!node)
		return false;
	if (!ifp_has_columns(node))
		return ifp_calls_foreign_functions(node);
	if (IsA(node, OpExpr)) {
		set_opfuncid(call);
		for (size_t i = 0; i < lengthof(exact); i++)
			if (call->opfuncid == exact[i])
				return may_fail_of_value((Node *)call->args, context);
		if (is_safe_division(call))
			return may_fail_of_value(linitial(call->args), context);
		return may_fail(call->opfuncid, NULL) || may_fail_of_value((Node *)call->args, context);
	}
	if (IsA(node, FuncExpr))
		return (may_fail(castNode(FuncExpr, node)->funcid, NULL) && !is_safe_cast(castNode(FuncExpr, node))) ||
		       may_fail_of_value((Node *)castNode(FuncExpr, node)->args, context);
	if (IsA(node, Var))
		return false;
	if (IsA(node, List) || IsA(node, RelabelType) || IsA(node, BoolExpr))
		return expression_tree_walker(node, may_fail_of_value, context);
	return ifp_may_call(node, may_fail);
}

static const char *add_value_condition(struct ifp_index_query *query, Node *condition, AttrNumber attribute)
{
	List *breaks = NIL, *both;

	if (IsA(condition, NullTest) && IsA(castNode(NullTest, condition)->arg, Var)) {
		query->values = lappend(query->values, condition);
		return NULL;
	}
	if (may_fail_of_value(condition, NULL))
		return "a condition on a value column might raise an error for other rows";
	if (is_real(list_nth(query->columns, attribute - 1)) && !compares_ascending(condition, attribute))
		return "a condition on a real value column is not a comparison of it";
	if (ifp_is_monotone(condition, attribute, &breaks) && breaks == NIL) {
		query->values = lappend(query->values, condition);
		return NULL;
	}
	both = ifp_run_key_bounds(condition, attribute, false);
	query->values = list_concat(query->values, both);
	if (both)
		return NULL;
	return "a condition on a value column is not a range of it";
}

const char *ifp_index_query_add(struct ifp_index_query *query, const IndexOptInfo *index, Node *condition)
{
	uint32 values = mentioned_values(query, condition);
	Node *key = as_key(query, index, condition);
	bool has_time = ifp_mentions(condition, ifp_time_attribute(query));
	List *both = has_time ? ifp_run_key_bounds(condition, ifp_time_attribute(query), true) : NIL;

	if (contain_volatile_functions(condition))
		return "a condition has a volatile function";
	if (values) {
		int v = (int)iforest_trailing_zeros(values);

		for (AttrNumber column = 1; column <= query->n_by + 1; column++)
			if (ifp_mentions(condition, column))
				return "a condition compares a value column with another column";
		if (values & (values - 1))
			return "a condition compares a value column with another column";
		return add_value_condition(query, condition, (AttrNumber)(query->n_by + 2 + v));
	}
	if (!ifp_has_columns(condition))
		query->gates = lappend(query->gates, condition);
	else if (key)
		query->keys = lappend(query->keys, key);
	else if (has_time ? ifp_calls_foreign_functions(condition) : ifp_may_call(condition, may_fail))
		query->late = lappend(query->late, condition);
	else if (has_time)
		query->runs = list_concat(query->runs, both ? both : list_make1(condition));
	else
		query->series = lappend(query->series, condition);
	return NULL;
}

/* ---- run keys ---- */

static void add_list(List *expressions, AttrNumber time, struct ifp_run_keys *keys)
{
	ListCell *cell;

	foreach (cell, expressions)
		ifp_add_run_keys(lfirst(cell), time, keys);
}

void ifp_index_query_range_keys(const struct ifp_index_query *query, struct ifp_run_keys *keys)
{
	*keys = (struct ifp_run_keys){ NIL, NIL };
	add_list(query->runs, ifp_time_attribute(query), keys);
}

void ifp_index_query_bucket_keys(const struct ifp_index_query *query, struct ifp_run_keys *keys)
{
	AttrNumber time = ifp_time_attribute(query);
	ListCell *cell;

	*keys = (struct ifp_run_keys){ NIL, NIL };
	add_list(query->groups, time, keys);
	add_list(query->late, time, keys);
	foreach (cell, query->aggregates)
		add_list(ifp_aggregate_conditions(lfirst(cell), query), time, keys);
}

/* ---- back to the table ---- */

static Node *over_columns(Node *node, void *columns)
{
	if (!node)
		return NULL;
	if (IsA(node, Var))
		return list_nth(columns, castNode(Var, node)->varattno - 1);
	return expression_tree_mutator(node, over_columns, columns);
}

Node *ifp_over_columns(Node *expression, List *columns)
{
	return over_columns(expression, columns);
}

/* ---- the list in a plan ---- */

/* Accumulators travel as their bytes in memory, NULL if there are none: a plan is never read by another program. */
static Const *write_accumulators(const struct iforest_accumulators *accumulators)
{
	bytea *bytes;

	if (accumulators->n == 0)
		return makeNullConst(BYTEAOID, -1, InvalidOid);
	bytes = palloc(VARHDRSZ + sizeof *accumulators);
	SET_VARSIZE(bytes, VARHDRSZ + sizeof *accumulators);
	memcpy(VARDATA(bytes), accumulators, sizeof *accumulators);
	return makeConst(BYTEAOID, -1, InvalidOid, -1, PointerGetDatum(bytes), false, false);
}

static void read_accumulators(const Const *constant, struct iforest_accumulators *accumulators)
{
	if (!constant->constisnull)
		memcpy(accumulators, VARDATA(DatumGetPointer(constant->constvalue)), sizeof *accumulators);
}

List *ifp_index_query_write(const struct ifp_index_query *query)
{
	List *tables = lcons(list_make1_oid(query->table), query->tables);
	List *list = list_make4(tables, makeInteger(query->n_by), query->columns, query->groups);

	list = list_concat(list, list_make4(query->operators, query->aggregates, query->gates, query->keys));
	list = list_concat(list, list_make4(query->series, query->runs, query->late, query->values));
	return lappend(list, write_accumulators(&query->accumulators));
}

void ifp_index_query_read(struct ifp_index_query *query, List *list)
{
	*query = (struct ifp_index_query){ .table = linitial_oid(linitial(list_nth(list, 0))),
					   .tables = list_copy_tail(list_nth(list, 0), 1),
					   .n_by = intVal(list_nth(list, 1)),
					   .columns = list_nth(list, 2),
					   .groups = list_nth(list, 3),
					   .operators = list_nth(list, 4),
					   .aggregates = list_nth(list, 5),
					   .gates = list_nth(list, 6),
					   .keys = list_nth(list, 7),
					   .series = list_nth(list, 8),
					   .runs = list_nth(list, 9),
					   .late = list_nth(list, 10),
					   .values = list_nth(list, 11) };
	read_accumulators(list_nth_node(Const, list, 12), &query->accumulators);
}
