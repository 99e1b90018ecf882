/* aggregates.h -- which aggregate functions are answered, and how: from folds of entries (core/model/aggregate.h) to their results.
 *
 * An argument is taken apart into arms: CASE WHEN has some, everything else is one. An arm is something that is summed up
 * beside others of its kind, a measure:
 *
 *   ROWS      what is never NULL: the number of rows
 *   VALUE     an expression of one value column: the column's number, sum and extremes. Sums distribute over
 *             a * v + b alone, variances over nothing but the column, extremes and counts over what is monotone in v
 *   TIME      an expression of the time column: its number and extremes
 *   CONSTANT  by columns, and times that change seldom: the same for all rows of a bucket
 *   ..._ROW   a value column alone: the row with its least, greatest, first or last value
 *   SKETCH    a value column alone: its sketch
 *
 * Measures are kept once for all aggregates that need them. A group's state is an array of measures.
 */
#ifndef IFOREST_PG_AGGREGATES_H
#define IFOREST_PG_AGGREGATES_H

#include "pg_ext/planner/index_query.h"

#include "nodes/execnodes.h"

#include "core/page/leaf_fold.h"

enum iforest_function {
	IFOREST_FUNCTION_COUNT,
	IFOREST_FUNCTION_SUM,
	IFOREST_FUNCTION_AVG,
	IFOREST_FUNCTION_VAR_SAMP,
	IFOREST_FUNCTION_VAR_POP,
	IFOREST_FUNCTION_STDDEV_SAMP,
	IFOREST_FUNCTION_STDDEV_POP,
	IFOREST_FUNCTION_MIN,
	IFOREST_FUNCTION_MAX,
	IFOREST_FUNCTION_AND,
	IFOREST_FUNCTION_OR,
	IFOREST_FUNCTION_SKETCH,   /* this extension's own */
	IFOREST_FUNCTION_MIN_ROW,  /* those of a row: this extension's own, of a value column, the time column and ctid */
	IFOREST_FUNCTION_MAX_ROW,
	IFOREST_FUNCTION_MIN_TIME,
	IFOREST_FUNCTION_MAX_TIME,
	IFOREST_FUNCTION_FIRST,
	IFOREST_FUNCTION_LAST,
	IFOREST_FUNCTION_FIRST_TIME,
	IFOREST_FUNCTION_LAST_TIME,
	IFOREST_FUNCTION_LAST_ROW
};

static inline bool iforest_function_needs_squares(enum iforest_function function)
{
	return function >= IFOREST_FUNCTION_VAR_SAMP && function <= IFOREST_FUNCTION_STDDEV_POP;
}

static inline bool iforest_function_is_of_row(enum iforest_function function)
{
	return function >= IFOREST_FUNCTION_MIN_ROW;
}

enum iforest_measure_kind {
	IFOREST_MEASURE_ROWS,
	IFOREST_MEASURE_VALUE,
	IFOREST_MEASURE_TIME,
	IFOREST_MEASURE_CONSTANT,
	IFOREST_MEASURE_MIN_ROW,
	IFOREST_MEASURE_MAX_ROW,
	IFOREST_MEASURE_FIRST_ROW,
	IFOREST_MEASURE_LAST_ROW,
	IFOREST_MEASURE_SKETCH
};

/* An arm as it is written. */
struct iforest_arm {
	enum iforest_measure_kind kind;
	List *conditions;     /* asked in this order, up to the first that is not as it is wanted: */
	List *wanted;         /* IntList: 1: true, 0: false or NULL */
	Node *expression;     /* NULL of ROWS */
	int value;            /* of VALUE, ..._ROW and SKETCH */
};

/* Puts an aggregate of a row as the question has it: with a constant in place of the table's ctid, which is no column of the
 * index. Others are left as they are. Returns NULL, or why it cannot be answered. */
const char *iforest_aggregate_take_ctid(Aggref *aggregate, Index relid);

/* Takes an aggregate apart. Returns NULL, or why it cannot be answered. *arms is a list of struct iforest_arm. */
const char *iforest_aggregate_read(Aggref *aggregate, const struct iforest_question *question,
				   enum iforest_function *function, List **arms);

/* What of an aggregate has to be evaluated once a bucket: conditions and constants. */
List *iforest_aggregate_conditions(Aggref *aggregate, const struct iforest_question *question);

/* Is it a variance or a standard deviation? */
bool iforest_aggregate_needs_squares(Aggref *aggregate);

/* The value columns of which it needs sketches: a bit each. */
uint32 iforest_aggregate_sketches(Aggref *aggregate, const struct iforest_question *question);

/* Is its result a ctid? */
bool iforest_aggregate_is_ctid(Aggref *aggregate);

/* Does the result depend on the order in which reals are summed up, or is it an extreme of them? */
bool iforest_aggregate_is_real(Aggref *aggregate);

#endif
