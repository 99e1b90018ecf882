/* planner/aggregate_arms.h -- Aggregates of an index query, split into arms over measures that folds can answer.
 *
 * The argument of an aggregate is split into arms: each branch of a CASE WHEN is one, and anything else is a single arm. An arm
 * refers to a measure, a quantity that is accumulated for each group:
 *
 *   ROWS      the number of rows, for an argument that is never NULL
 *   VALUE     count, sum and extremes of a value column. Sums work for a * v + b only (planner/affine.h), variances for the
 *             column itself only, extremes and counts for anything monotone in v
 *   TIME      count and extremes of the time column
 *   CONSTANT  by columns and slowly changing expressions of the time: constant over the rows of a bucket
 *   ..._ROW   the row with the least, greatest, first or last value of a value column
 *   SKETCH    the sketch of a value column
 *   DISTINCT  its distinct sketch
 *   NUMBERS   the values of a value column themselves
 *   PAIR      the sums of products of two value columns, or of one and the time
 *
 * If conditions and arguments depend on the steps of a histogram (planner/value_steps.h), each of their pieces is an arm, whose
 * ROWS, TIME counts and CONSTANT cover only the rows on its steps. With a drawn histogram, whose ranges are read in separate
 * passes, this is true of all measures.
 *
 * A percentile has two arms: VALUE for the extremes of its column, and SKETCH or NUMBERS for the values between them. The first
 * element of array_agg() has FIRST_ROW or LAST_ROW, the row with a value, and TIME: if another row is earlier or later, its value
 * is NULL. It does not have TIME if FILTER leaves out NULL.
 *
 * Aggregates that need the same measure share it. The state of a group is an array of measures (exec/agg_state.h).
 */
#ifndef IFP_PLANNER_AGGREGATE_ARMS_H
#define IFP_PLANNER_AGGREGATE_ARMS_H

#include "pg_ext/planner/index_query.h"

#include "core/model/regression.h"

enum ifp_agg_function {
	IFP_AGG_COUNT,
	IFP_AGG_SUM,
	IFP_AGG_AVG,
	IFP_AGG_VAR_SAMP,
	IFP_AGG_VAR_POP,
	IFP_AGG_STDDEV_SAMP,
	IFP_AGG_STDDEV_POP,
	IFP_AGG_SQUARES, /* iforest_squares() */
	IFP_AGG_MIN,
	IFP_AGG_MAX,
	IFP_AGG_AND,
	IFP_AGG_OR,
	IFP_AGG_PAIR,	/* enum iforest_pair_function */
	IFP_AGG_SKETCH, /* this extension's */
	IFP_AGG_DISTINCT,
	IFP_AGG_DISTINCT_COUNT, /* count(DISTINCT value column), estimated */
	IFP_AGG_PERCENTILE_DISC,
	IFP_AGG_PERCENTILE_CONT,
	IFP_AGG_ELEMENT, /* planner/array_element.h */
	IFP_AGG_MIN_ROW, /* this and the following: this extension's aggregates of a row, over a value column, the time column
			  * and ctid */
	IFP_AGG_MAX_ROW,
	IFP_AGG_MIN_TIME,
	IFP_AGG_MAX_TIME,
	IFP_AGG_FIRST,
	IFP_AGG_LAST,
	IFP_AGG_FIRST_TIME,
	IFP_AGG_LAST_TIME,
	IFP_AGG_FIRST_ROW,
	IFP_AGG_LAST_ROW
};

static inline bool ifp_agg_function_needs_squares(enum ifp_agg_function function)
{
	return function >= IFP_AGG_VAR_SAMP && function <= IFP_AGG_SQUARES;
}

static inline bool ifp_agg_function_is_of_row(enum ifp_agg_function function)
{
	return function >= IFP_AGG_MIN_ROW;
}

static inline bool ifp_agg_function_is_percentile(enum ifp_agg_function function)
{
	return function == IFP_AGG_PERCENTILE_DISC || function == IFP_AGG_PERCENTILE_CONT;
}

enum ifp_measure_type {
	IFP_MEASURE_ROWS,
	IFP_MEASURE_VALUE,
	IFP_MEASURE_TIME,
	IFP_MEASURE_CONSTANT,
	IFP_MEASURE_MIN_ROW,
	IFP_MEASURE_MAX_ROW,
	IFP_MEASURE_FIRST_ROW,
	IFP_MEASURE_LAST_ROW,
	IFP_MEASURE_SKETCH,
	IFP_MEASURE_DISTINCT,
	IFP_MEASURE_NUMBERS,
	IFP_MEASURE_PAIR
};

/* An arm of an aggregate, over the index's columns. */
struct ifp_arm {
	enum ifp_measure_type type;
	List *conditions; /* evaluated in this order, up to the first that does not give its wanted value */
	List *wanted;	  /* IntList. 1: true, 0: false or NULL */
	Node *expression; /* NULL for ROWS and PAIR */
	int value;	  /* the value column of VALUE, ..._ROW, SKETCH, DISTINCT and NUMBERS */
	uint64 steps;	  /* the steps whose rows count; IFP_ALL_STEPS: all rows */
	int histogram;	  /* index in query->accumulators of the histogram of `steps`; -1: none */
	int accumulator;  /* index in query->accumulators of the products of PAIR */
	/* of PAIR: the function; is_swapped: its second argument is the accumulator's first column */
	enum iforest_pair_function pair;
	bool is_swapped;
};

/* Returns NULL, or the reason that no index keeps what the function needs. The aggregate may be over the table's columns. */
const char *ifp_aggregate_refuse_function(const Aggref *aggregate);

/* True for sum() and avg(); for these and count(). The aggregate may be over the table's columns. */
bool ifp_aggregate_is_sum(const Aggref *aggregate);
bool ifp_aggregate_adds_up(const Aggref *aggregate);

/* In an aggregate of a row, replaces the table's ctid, which is not a column of the index, by a constant. Leaves other
 * aggregates alone. Returns NULL, or why the aggregate cannot be answered. */
const char *ifp_aggregate_take_ctid(Aggref *aggregate, Index relid);

/* Splits an aggregate into *arms, a list of struct ifp_arm. Returns NULL, or why it cannot be answered. */
const char *ifp_aggregate_read(Aggref *aggregate, const struct ifp_index_query *query, enum ifp_agg_function *function,
			       List **arms);

/* The same for an aggregate that ifp_aggregate_read() accepts, without its look-ups. */
const char *ifp_aggregate_arms(Aggref *aggregate, const struct ifp_index_query *query, enum ifp_agg_function *function,
			       List **arms);

/* Returns the parts of an aggregate that are evaluated once for each bucket: conditions and constants. */
List *ifp_aggregate_conditions(Aggref *aggregate, const struct ifp_index_query *query);

/* Collects the run keys that end buckets: those of groups, aggregates and late conditions. */
void ifp_aggregate_bucket_keys(const struct ifp_index_query *query, struct ifp_run_keys *keys);

/* True if the aggregate has DISTINCT, its result depends on that, and it is exact. All its arms are CONSTANT; each distinct
 * value of any of them counts once. Requires  ifp_aggregate_read() accepts it. */
bool ifp_aggregate_is_distinct(const Aggref *aggregate, const struct ifp_index_query *query);

/* True if the aggregate, over the index's columns, is an estimated count of distinct values. */
bool ifp_aggregate_is_estimated(const Aggref *aggregate, const struct ifp_index_query *query);

/* True if the aggregate, over the table's columns, needs only the number of rows or of distinct values of its argument, a
 * column. */
bool ifp_aggregate_takes_keys(const Aggref *aggregate);

/* True if the aggregate may need query->accumulators. It may be over the table's columns. */
bool ifp_aggregate_needs_accumulators(Aggref *aggregate);

/* Returns a bit mask of the value columns for which aggregates of the query have arms of a type: SKETCH, DISTINCT or
 * NUMBERS. */
uint32 ifp_aggregates_need(const struct ifp_index_query *query, enum ifp_measure_type type);

/* True if the aggregate is a percentile that is read from a sketch. */
bool ifp_aggregate_is_approximate(Aggref *aggregate, const struct ifp_index_query *query);

/* True if the result is a ctid. */
bool ifp_aggregate_is_ctid(Aggref *aggregate);

/* True if the argument is real and the result depends on its values: a sum, whose last digits depend on the order of summation,
 * or an extreme. */
bool ifp_aggregate_is_real(Aggref *aggregate);

#endif
