/* planner/aggregate_arms.h -- Aggregates of an index query as arms, each over one measure that folds give.
 *
 * The argument of an aggregate is split into arms: each branch of a CASE WHEN is one, and anything else is a single arm. An arm
 * refers to a measure, a quantity that is folded for a group:
 *
 *   ROWS      the number of rows, for an argument that is never NULL
 *   VALUE     count, sum and extremes of a value column. Sums distribute over a * v + b alone (planner/affine.h), variances
 *             need the column itself, extremes and counts anything monotone in v
 *   TIME      count and extremes of the time column
 *   CONSTANT  by columns, and expressions of the time that change seldom: constant over the rows of a bucket
 *   ..._ROW   the row with the least, greatest, first or last value of a value column
 *   SKETCH    the sketch of a value column
 *   DISTINCT  its distinct sketch
 *   NUMBERS   the values of a value column themselves
 *   PAIR      the sums of products of two value columns, or of one and the time
 *
 * Where conditions and arguments hang on the steps of a histogram (planner/value_steps.h), each of their pieces is an arm, and
 * ROWS, counts of TIME and CONSTANT are of the rows on its steps. Of a drawn histogram, whose rows are read apart, all measures
 * are.
 *
 * A percentile has two arms: a VALUE for the ends of its column, and a SKETCH or NUMBERS for what lies between.
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
	IFP_AGG_SQUARES, /* this extension's sum of squares */
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
	IFP_AGG_MIN_ROW, /* from here on aggregates of a row: this extension's, of a value column, the time column and ctid */
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
	List *conditions; /* evaluated in this order, up to the first that does not have its wanted value: */
	List *wanted;	  /* IntList. 1: true, 0: false or NULL */
	Node *expression; /* NULL for ROWS and PAIR */
	int value;	  /* the value column of VALUE, ..._ROW, SKETCH, DISTINCT and NUMBERS */
	uint64 steps;	  /* the rows that count; IFP_ALL_STEPS: all */
	int histogram;	  /* of the steps: one of query->accumulators; -1: none */
	int accumulator;  /* the products of PAIR, likewise */
	/* of PAIR: the function; its second argument is the accumulator's first column */
	enum iforest_pair_function pair;
	bool is_swapped;
};

/* Returns NULL, or that no index keeps what the function needs. The aggregate may be over the table's columns. */
const char *ifp_aggregate_refuse_function(const Aggref *aggregate);

/* True for sum() and avg(), and for count() as well. The aggregate may be over the table's columns. */
bool ifp_aggregate_is_sum(const Aggref *aggregate);
bool ifp_aggregate_adds_up(const Aggref *aggregate);

/* Replaces the table's ctid, which is no column of the index, by a constant in an aggregate of a row. Other aggregates stay as
 * they are. Returns NULL, or why the aggregate cannot be answered. */
const char *ifp_aggregate_take_ctid(Aggref *aggregate, Index relid);

/* Splits an aggregate into *arms, a list of struct ifp_arm. Returns NULL, or why it cannot be answered. */
const char *ifp_aggregate_read(Aggref *aggregate, const struct ifp_index_query *query, enum ifp_agg_function *function,
			       List **arms);

/* Returns the parts of an aggregate that are evaluated once for each bucket: conditions and constants. */
List *ifp_aggregate_conditions(Aggref *aggregate, const struct ifp_index_query *query);

/* Collects the run keys that end buckets: those of groups, aggregates and late conditions. */
void ifp_aggregate_bucket_keys(const struct ifp_index_query *query, struct ifp_run_keys *keys);

/* True if an aggregate that can be read is of DISTINCT values, depends on that, and is exact. Its arms are CONSTANT: each value of
 * all of them counts once. */
bool ifp_aggregate_is_distinct(const Aggref *aggregate, const struct ifp_index_query *query);

/* True if the aggregate over the index's columns is a count of distinct values that is estimated. */
bool ifp_aggregate_is_estimated(const Aggref *aggregate, const struct ifp_index_query *query);

/* True if the aggregate over the table's columns asks no more of the column that is its argument than how many rows or different
 * values there are. */
bool ifp_aggregate_takes_keys(const Aggref *aggregate);

/* True if the aggregate may need query->accumulators. It may be over the table's columns. */
bool ifp_aggregate_needs_accumulators(Aggref *aggregate);

/* Returns the value columns of which aggregates of the query have arms of that type, SKETCH, DISTINCT or NUMBERS: a bit each. */
uint32 ifp_aggregates_need(const struct ifp_index_query *query, enum ifp_measure_type type);

/* True if the aggregate is a percentile that is read from a sketch. */
bool ifp_aggregate_is_approximate(Aggref *aggregate, const struct ifp_index_query *query);

/* True if the result is a ctid. */
bool ifp_aggregate_is_ctid(Aggref *aggregate);

/* True if the argument is real and the aggregate depends on its values: a sum (whose last digits depend on the order of
 * summation) or an extreme. */
bool ifp_aggregate_is_real(Aggref *aggregate);

#endif
