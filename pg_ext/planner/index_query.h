/* planner/index_query.h -- A query level as an index answers it: group keys, sorted conditions, aggregates as measures.
 *
 * The planner makes an index query (planner/query_match.h), and the executor answers it (exec/agg_scan.h). All expressions are
 * over a row of the index's columns: Vars of varno 1, numbered from 1: by columns, the time column, value columns; and then the
 * columns of joined dimensions. A plan carries the query as a list that can be copied and sent to workers.
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
 */
#ifndef IFP_PLANNER_INDEX_QUERY_H
#define IFP_PLANNER_INDEX_QUERY_H

#include "pg_ext/base/engine.h"

#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

#include "pg_ext/planner/monotone.h"
#include "pg_ext/types/definition.h"

/* ---- the query ---- */

struct ifp_index_query {
	Oid table;    /* that the query names: the parent of partitions */
	List *tables; /* OidLists of table and index. All indexes have the same columns */
	int n_by;
	struct iforest_accumulators accumulators; /* that all indexes keep, if something may need any */
	List *columns;	  /* the index's columns as expressions over the table, varno 1: Var i stands for element i - 1 */
	List *groups;	  /* group keys */
	List *operators;  /* their equality operators, OidList */
	List *aggregates; /* Aggrefs, each once */
	List *sets;	  /* grouping sets (planner/grouping_sets.h); NIL: one of all keys */
	List *groupings;  /* the keys of each GROUPING(), IntLists */
	List *dimensions; /* joined relations (planner/dimension.h), as lists */
	int n_joined;	  /* their columns, the last ones of `columns`; what is said of by columns is true of them, too */
	List *gates, *keys, *series, *runs, *late, *values;
	bool approximates; /* percentiles of integers and reals are read from sketches (iforest.approximate_percentiles) */
	bool approximates_distinct; /* distinct values are counted by sketches (iforest.approximate_distinct) */

	/* Where groups or conditions hang on the steps of a histogram (planner/value_steps.h): */
	List *pieces;	/* sets of steps on which they are constant, Const of int8; NIL: they do not */
	int histogram;	/* the number of the histogram in accumulators */
	List *by_steps; /* conditions that are met by counting only pieces where they are true */
	/* value columns whose histograms no index keeps: their bounds are drawn from the query's conditions, and rows between them
	 * are read apart (planner/value_passes.h). A bit each */
	uint32 drawn;
	bool is_drawing; /* conditions on values that are no ranges are added to by_steps */

	/* Where the rows of a bucket are split by values (planner/value_split.h): for each value column by what, NIL if it is not
	 * split; they have second columns, the last of n_joined. NIL: nothing is split */
	List *splits;
	bool is_splitting; /* conditions on values that are no ranges, and of several columns, are added to by_steps */
};

/* Returns the set of steps of an element of pieces. */
static inline uint64 ifp_piece_steps(const void *piece)
{
	return (uint64)DatumGetInt64(((const Const *)piece)->constvalue);
}

static inline AttrNumber ifp_time_attribute(const struct ifp_index_query *query)
{
	return (AttrNumber)(query->n_by + 1);
}

static inline int ifp_n_values(const struct ifp_index_query *query)
{
	return list_length(query->columns) - query->n_joined - query->n_by - 1;
}

/* Converts to and from the list that a plan carries. */
List *ifp_index_query_write(const struct ifp_index_query *query);
void ifp_index_query_read(struct ifp_index_query *query, List *list);

/* Returns a row of the columns, all NULL, in the current memory context. */
TupleTableSlot *ifp_index_query_row(const struct ifp_index_query *query);

/* Returns the value column that an expression mentions; -1 if none, -2 if several. */
int ifp_mentioned_value(const struct ifp_index_query *query, Node *expression);

/* True if an expression mentions a by column, or a column of a dimension. */
bool ifp_mentions_by(const struct ifp_index_query *query, Node *expression);

/* True if the evaluation of an expression might raise an error. */
bool ifp_may_fail(Node *expression);

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

#endif
