/* planner/index_query.h -- A query level as asked of an index: group keys, sorted conditions, aggregates as measures.
 *
 * The planner makes it (planner/query_match.h), and the executor answers it (exec/agg_scan.c). All expressions are over a row of the index's
 * columns: Vars of varno 1, numbered from 1: by columns, the time column, value columns. A plan carries it as a list that can
 * be copied and sent to workers.
 *
 * Conditions are sorted by what they need to be known:
 *
 *   gates    nothing but parameters: asked once
 *   keys     a column of the index's key against parameters: a list of series and ranges of time (am/scan_keys.h)
 *   series   by columns, and will hardly raise an error: asked once a series, before anything of it is read
 *   runs     also the time, by expressions that change seldom (planner/monotone.h): asked once for each range of times in which they
 *            do not change, and series
 *   late     as series, but may raise errors, or as runs, but calls functions of others: asked for buckets in which there are
 *            visible rows
 *   values   one value column, monotone: a range of it, by which nodes are judged
 */
#ifndef IFP_PLANNER_INDEX_QUERY_H
#define IFP_PLANNER_INDEX_QUERY_H

#include "pg_ext/base/engine.h"

#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

#include "core/page/leaf_fold.h"
#include "pg_ext/planner/monotone.h"
#include "pg_ext/types/definition.h"

struct ifp_index_query {
	Oid table;    /* that the query names: the parent of partitions */
	List *tables; /* of OidLists: table, index. All indexes have the same columns */
	int n_by;
	uint32 squares; /* bit v: all indexes keep the squares of value column v */
	/* the index's columns as expressions over the table, varno 1: what Var i stands for is element i - 1 */
	List *columns;
	List *groups;	  /* group keys */
	List *operators;  /* their equality operators, OidList */
	List *aggregates; /* Aggrefs, each once */
	List *gates, *keys, *series, *runs, *late, *values;
};

static inline AttrNumber ifp_time_attribute(const struct ifp_index_query *query)
{
	return (AttrNumber)(query->n_by + 1);
}

/* Sorts a condition, over the index's columns, to where it belongs. Returns NULL, or why it cannot be answered. `index`
 * gives operator families and collations of the keys. */
struct IndexOptInfo;
const char *ifp_index_query_add(struct ifp_index_query *query, const struct IndexOptInfo *index, Node *condition);

/* What decides between which times the conditions `runs` hold; and what decides where buckets end: all that depends on the
 * time in groups, aggregates and late conditions. */
void ifp_index_query_range_keys(const struct ifp_index_query *query, struct ifp_run_keys *keys);
void ifp_index_query_bucket_keys(const struct ifp_index_query *query, struct ifp_run_keys *keys);

/* The operator of a condition "column operator parameters", as a scan key has it. The column is 1 .. n_by + 1. */
struct ifp_key_condition {
	AttrNumber column;
	Oid function, collation, right_type;
	Expr *comparand; /* NULL: of IS [NOT] NULL */
	bool is_array, is_null_test, wants_null;
};

void ifp_key_condition_read(Node *condition, struct ifp_key_condition *result);

/* An expression over the index's columns, over the table again: what Var i stands for is element i - 1. */
Node *ifp_over_columns(Node *expression, List *columns);

/* To and from what a plan carries. */
List *ifp_index_query_write(const struct ifp_index_query *query);
void ifp_index_query_read(struct ifp_index_query *query, List *list);

/* Which aggregate functions are answered, and how: from folds of entries (core/model/aggregate.h) to their results.
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
	IFP_AGG_SKETCH,	 /* this extension's own */
	IFP_AGG_MIN_ROW, /* those of a row: this extension's own, of a value column, the time column and ctid */
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
	IFP_MEASURE_SKETCH
};

/* An arm as it is written. */
struct ifp_arm {
	enum ifp_measure_type type;
	List *conditions; /* asked in this order, up to the first that is not as it is wanted: */
	List *request;	  /* IntList: 1: true, 0: false or NULL */
	Node *expression; /* NULL of ROWS */
	int value;	  /* of VALUE, ..._ROW and SKETCH */
};

/* Puts an aggregate of a row as the query has it: with a constant in place of the table's ctid, which is no column of the
 * index. Others are left as they are. Returns NULL, or why it cannot be answered. */
const char *ifp_aggregate_take_ctid(Aggref *aggregate, Index relid);

/* Takes an aggregate apart. Returns NULL, or why it cannot be answered. *arms is a list of struct ifp_arm. */
const char *ifp_aggregate_read(Aggref *aggregate, const struct ifp_index_query *query, enum ifp_agg_function *function,
			       List **arms);

/* What of an aggregate has to be evaluated once a bucket: conditions and constants. */
List *ifp_aggregate_conditions(Aggref *aggregate, const struct ifp_index_query *query);

/* Is it a variance or a standard deviation? */
bool ifp_aggregate_needs_squares(Aggref *aggregate);

/* The value columns of which it needs sketches: a bit each. */
uint32 ifp_aggregate_sketches(Aggref *aggregate, const struct ifp_index_query *query);

/* Is its result a ctid? */
bool ifp_aggregate_is_ctid(Aggref *aggregate);

/* Does the result depend on the order in which reals are summed up, or is it an extreme of them? */
bool ifp_aggregate_is_real(Aggref *aggregate);

#endif
