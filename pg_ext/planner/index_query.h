/* planner/index_query.h -- A query level as an index answers it: group keys, sorted conditions, aggregates as measures.
 *
 * The planner makes an index query (planner/query_match.h), and the executor answers it (exec/agg_scan.h). All expressions are
 * over a row of the index's columns: Vars of varno 1, numbered from 1: by columns, the time column, value columns. A plan
 * carries the query as a list that can be copied and sent to workers.
 *
 * Conditions are sorted by what their evaluation needs:
 *
 *   gates    parameters alone: evaluated once
 *   keys     a column of the index's key compared with parameters: gives the series and ranges of time (am/scan_keys.h)
 *   series   by columns; errors are unlikely: evaluated once for each series, before anything of it is read
 *   runs     the time and by columns, by expressions that change seldom (planner/monotone.h): evaluated once for each series
 *            and range of times in which they do not change
 *   late     as `series`, but may raise errors; or as `runs`, but calls foreign functions: evaluated for buckets with visible
 *            rows
 *   values   one value column, monotone: gives a range of values, by which nodes are classified (exec/value_filter.h)
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
 *   RANGE     the number of values of a value column between two bounds of its histogram
 *   PAIR      the sums of products of two value columns, or of one and the time
 *
 * Aggregates that need the same measure share it. The state of a group is an array of measures (exec/agg_state.h).
 */
#ifndef IFP_PLANNER_INDEX_QUERY_H
#define IFP_PLANNER_INDEX_QUERY_H

#include "pg_ext/base/engine.h"

#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

#include "core/model/regression.h"
#include "pg_ext/planner/monotone.h"
#include "pg_ext/types/definition.h"

/* ---- the query ---- */

struct ifp_index_query {
	Oid table;    /* that the query names: the parent of partitions */
	List *tables; /* OidLists of table and index. All indexes have the same columns */
	int n_by;
	struct iforest_accumulators accumulators; /* that all indexes keep, if an aggregate needs any */
	List *columns;	  /* the index's columns as expressions over the table, varno 1: Var i stands for element i - 1 */
	List *groups;	  /* group keys */
	List *operators;  /* their equality operators, OidList */
	List *aggregates; /* Aggrefs, each once */
	List *gates, *keys, *series, *runs, *late, *values;
};

static inline AttrNumber ifp_time_attribute(const struct ifp_index_query *query)
{
	return (AttrNumber)(query->n_by + 1);
}

/* Converts to and from the list that a plan carries. */
List *ifp_index_query_write(const struct ifp_index_query *query);
void ifp_index_query_read(struct ifp_index_query *query, List *list);

/* Replaces Var i by element i - 1 of columns: turns an expression over the index's columns into one over the table. */
Node *ifp_over_columns(Node *expression, List *columns);

/* ---- conditions ---- */

/* Adds a condition over the index's columns to the list where it belongs. Returns NULL, or why it cannot be answered. `index`
 * gives operator families and collations of the keys. */
struct IndexOptInfo;
const char *ifp_index_query_add(struct ifp_index_query *query, const struct IndexOptInfo *index, Node *condition);

/* A condition "column operator parameters", read for a scan key. The column is 1 .. n_by + 1. */
struct ifp_key_condition {
	AttrNumber column;
	Oid function, collation, right_type; /* function: the operator */
	Expr *comparand;		     /* NULL: the condition is IS [NOT] NULL */
	bool is_array, is_null_test, wants_null;
};

/* Requires  condition is an element of query->keys. */
void ifp_key_condition_read(Node *condition, struct ifp_key_condition *result);

/* Collects the run keys of the conditions `runs`: between changes of these they hold throughout or nowhere. */
void ifp_index_query_range_keys(const struct ifp_index_query *query, struct ifp_run_keys *keys);

/* Collects the run keys that end buckets: those of groups, aggregates and late conditions. */
void ifp_index_query_bucket_keys(const struct ifp_index_query *query, struct ifp_run_keys *keys);

/* ---- aggregates ---- */

enum ifp_agg_function {
	IFP_AGG_COUNT,
	IFP_AGG_SUM,
	IFP_AGG_AVG,
	IFP_AGG_VAR_SAMP,
	IFP_AGG_VAR_POP,
	IFP_AGG_STDDEV_SAMP,
	IFP_AGG_STDDEV_POP,
	IFP_AGG_MIN,
	IFP_AGG_MAX,
	IFP_AGG_AND,
	IFP_AGG_OR,
	IFP_AGG_PAIR,	 /* enum iforest_pair_function */
	IFP_AGG_SKETCH,	 /* this extension's */
	IFP_AGG_MIN_ROW, /* from here on aggregates of a row: this extension's, of a value column, the time column and ctid */
	IFP_AGG_MAX_ROW,
	IFP_AGG_MIN_TIME,
	IFP_AGG_MAX_TIME,
	IFP_AGG_FIRST,
	IFP_AGG_LAST,
	IFP_AGG_FIRST_TIME,
	IFP_AGG_LAST_TIME,
	IFP_AGG_LAST_ROW
};

static inline bool ifp_agg_function_needs_squares(enum ifp_agg_function function)
{
	return function >= IFP_AGG_VAR_SAMP && function <= IFP_AGG_STDDEV_POP;
}

static inline bool ifp_agg_function_is_of_row(enum ifp_agg_function function)
{
	return function >= IFP_AGG_MIN_ROW;
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
	IFP_MEASURE_RANGE,
	IFP_MEASURE_PAIR
};

/* An arm of an aggregate, over the index's columns. */
struct ifp_arm {
	enum ifp_measure_type type;
	List *conditions; /* evaluated in this order, up to the first that does not have its wanted value: */
	List *wanted;	  /* IntList. 1: true, 0: false or NULL */
	Node *expression; /* NULL for ROWS, RANGE and PAIR */
	int value;	  /* the value column of VALUE, ..._ROW, SKETCH and RANGE */
	int accumulator;  /* of RANGE and PAIR: the histogram or the products, one of query->accumulators */
	int low, high;	  /* of RANGE: values above bound `low` and at or below bound `high`, -1: any */
	/* of PAIR: the function; its second argument is the accumulator's first column */
	enum iforest_pair_function pair;
	bool is_swapped;
};

/* Replaces the table's ctid, which is no column of the index, by a constant in an aggregate of a row. Other aggregates stay as
 * they are. Returns NULL, or why the aggregate cannot be answered. */
const char *ifp_aggregate_take_ctid(Aggref *aggregate, Index relid);

/* Splits an aggregate into *arms, a list of struct ifp_arm. Returns NULL, or why it cannot be answered. */
const char *ifp_aggregate_read(Aggref *aggregate, const struct ifp_index_query *query, enum ifp_agg_function *function,
			       List **arms);

/* Returns the parts of an aggregate that are evaluated once for each bucket: conditions and constants. */
List *ifp_aggregate_conditions(Aggref *aggregate, const struct ifp_index_query *query);

/* True if the aggregate may need query->accumulators. It may be over the table's columns. */
bool ifp_aggregate_needs_accumulators(Aggref *aggregate);

/* Returns the value columns of which the aggregate needs sketches: a bit each. */
uint32 ifp_aggregate_sketches(Aggref *aggregate, const struct ifp_index_query *query);

/* True if the result is a ctid. */
bool ifp_aggregate_is_ctid(Aggref *aggregate);

/* True if the argument is real and the aggregate depends on its values: a sum (whose last digits depend on the order of
 * summation) or an extreme. */
bool ifp_aggregate_is_real(Aggref *aggregate);

#endif
