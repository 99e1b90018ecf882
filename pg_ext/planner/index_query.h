/* planner/index_query.h -- A query level in the terms of an index: group keys, classified conditions, aggregates as measures.
 *
 * The planner makes an index query (planner/query_match.h), and the executor answers it (exec/agg_scan.h). All expressions are
 * over a row of the index's columns: Vars of varno 1, numbered from 1, first by columns, the time column and value columns,
 * then the columns of joined dimensions. A plan carries the query as a list, which can be copied and sent to workers.
 *
 * Conditions are classified by what their evaluation needs:
 *
 *   gates    parameters alone: evaluated once
 *   keys     a key column of the index compared with parameters: selects series and ranges of time (am/scan_keys.h)
 *   series   by columns, with errors unlikely: evaluated once for each series, before it is read
 *   runs     slowly changing expressions of the time and by columns (planner/monotone.h): evaluated once for each series and
 *            range of times in which they are constant
 *   late     as `series` but may raise errors, or as `runs` but calls foreign functions: evaluated for buckets with visible
 *            rows
 *   values   monotone in one value column: gives a range of values by which nodes are classified (exec/value_filter.h)
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
	Oid table;    /* as named in the query; for partitions, their parent */
	List *tables; /* OidLists of table and index; all indexes have the same columns */
	int n_by;
	struct iforest_accumulators accumulators; /* those that all indexes keep, if the query may need any */
	List *columns;	  /* the index's columns as expressions over the table, varno 1: Var i stands for element i - 1 */
	List *groups;	  /* group keys */
	List *operators;  /* their equality operators, OidList */
	List *aggregates; /* Aggrefs, each once */
	List *sets;	  /* grouping sets (planner/grouping_sets.h); NIL: one set of all keys */
	List *groupings;  /* the keys of each GROUPING(), IntLists */
	List *dimensions; /* joined relations (planner/dimension.h), as lists */
	int n_joined;	  /* number of dimensions' columns, the last of `columns`; they are treated as by columns */
	List *gates, *keys, *series, *runs, *late, *values;
	List *top;	   /* the groups that LIMIT leaves (planner/top_groups.h); NIL: all */
	bool approximates; /* percentiles of integers and reals are read from sketches (iforest.approximate_percentiles) */
	bool approximates_distinct; /* distinct values are counted by sketches (iforest.approximate_distinct) */

	/* If groups or conditions depend on the steps of a histogram (planner/value_steps.h): */
	List *pieces;	/* sets of steps on which they are constant, Const of int8; NIL: they do not depend on steps */
	int histogram;	/* index of the histogram in accumulators */
	List *by_steps; /* conditions applied by counting only the pieces where they are true */
	/* bit mask of value columns with drawn histograms: no index keeps them; bounds come from the query's conditions, and
	 * each range between bounds is read in a pass of its own (planner/value_passes.h) */
	uint32 drawn;
	bool is_drawing; /* conditions on values that are not ranges are added to by_steps */

	/* How the rows of a bucket are split by values (planner/value_split.h): one element for each value column, NIL if that
	 * is not split; NIL as a whole if none is. Each split column has a second column, among the last of n_joined */
	List *splits;
	bool is_splitting; /* conditions on values that are not ranges or use several columns are added to by_steps */
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

/* Returns the value column that an expression mentions, -1 if none, -2 if several. */
int ifp_mentioned_value(const struct ifp_index_query *query, Node *expression);

/* True if an expression mentions a by column, or a column of a dimension. */
bool ifp_mentions_by(const struct ifp_index_query *query, Node *expression);

/* True if the evaluation of an expression might raise an error. */
bool ifp_may_fail(Node *expression);

/* Replaces each Var i by element i - 1 of columns. Turns an expression over the index's columns into one over the table. */
Node *ifp_over_columns(Node *expression, List *columns);

/* ---- conditions ---- */

/* Adds a condition over the index's columns to the list of its class. Returns NULL, or why it cannot be answered. `index`
 * supplies operator families and collations of the keys. */
struct IndexOptInfo;
const char *ifp_index_query_add(struct ifp_index_query *query, const struct IndexOptInfo *index, Node *condition);

/* A condition "column operator parameters", for use as a scan key. The column is 1 .. n_by + 1. */
struct ifp_key_condition {
	AttrNumber column;
	Oid opno, function, collation, right_type; /* function: that of the operator opno */
	Expr *comparand;			   /* NULL: the condition is IS [NOT] NULL */
	bool is_array, is_null_test, wants_null;
};

/* Requires  condition is an element of query->keys. */
void ifp_key_condition_read(Node *condition, struct ifp_key_condition *result);

/* Collects the run keys of the conditions `runs`. While no run key changes, these conditions do not change either. */
void ifp_index_query_range_keys(const struct ifp_index_query *query, struct ifp_run_keys *keys);

#endif
