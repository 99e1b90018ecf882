/* exec/agg_state.h -- Aggregate states of a group: built from folds of entries, and turned into results.
 *
 * The state of a group is an array with one element for each measure (planner/index_query.h), and then the words of the
 * accumulators that measures need. A result evaluates the
 * aggregate's own expression at the extremes of its column, so that it raises the errors that a plain plan would raise.
 */
#ifndef IFP_EXEC_AGG_STATE_H
#define IFP_EXEC_AGG_STATE_H

#include "pg_ext/planner/aggregate_arms.h"

#include "executor/tuptable.h"

#include "core/page/leaf_fold.h"
#include "pg_ext/exec/measure_state.h"
#include "pg_ext/planner/value_passes.h"

struct ifp_agg_states;

/* What folds do not give of a bucket, by value column where it is needed. */
struct ifp_bucket_values {
	bytea *sketches[IFOREST_N_DIGESTS][IFOREST_MAX_VALUES]; /* NULL: no values */
	struct ifp_numbers numbers[IFOREST_MAX_VALUES];
};

/* Prepares the measures and results of a query, in the current memory context. Expressions are evaluated in econtext over a row
 * of the index's columns, its scan tuple. The columns that expressions read must be filled in. */
struct ifp_agg_states *ifp_agg_states_begin(const struct ifp_index_query *query, const struct ifp_definition *definition,
					    ExprContext *econtext);

/* Sets the table in which the ctids of rows are looked up. Not called if there are several tables. */
void ifp_agg_states_set_table(struct ifp_agg_states *aggs, Relation heap, Snapshot snapshot);

/* Parameters may have changed: what depends on them is evaluated again when needed, and lives in that context. */
void ifp_agg_states_rescan(struct ifp_agg_states *aggs, MemoryContext parameters);

/* Groups begin anew: distinct values of their arguments are forgotten. New ones are kept in the context. */
void ifp_agg_states_reset(struct ifp_agg_states *aggs, MemoryContext context);

/* Sets the pass whose folds are added next; NULL: there are none. */
void ifp_agg_states_set_pass(struct ifp_agg_states *aggs, const struct ifp_value_pass *pass);

/* Sets the accumulators of the index whose folds are added next.  */
void ifp_agg_states_set_index(struct ifp_agg_states *aggs, const struct iforest_accumulators *accumulators);

/* Returns the request for folds of that index; of no index: without accumulators. The caller sets its filter. */
struct iforest_request ifp_agg_states_wanted(const struct ifp_agg_states *aggs);

/* Returns the value columns that have measures of that type, SKETCH, DISTINCT or NUMBERS: a bit each. */
uint32 ifp_agg_states_need(const struct ifp_agg_states *aggs, enum ifp_measure_type type);

/* Returns the size of a group's states in bytes. */
Size ifp_agg_states_bytes(const struct ifp_agg_states *aggs);

/* Returns how many rows of a fold are on steps of the query's histogram; IFP_ALL_STEPS: all of them. */
uint64 ifp_agg_states_rows(const struct ifp_agg_states *aggs, uint64 steps, const struct iforest_aggregate *fold);

/* Adds the fold of a bucket, or its rows on steps of the query's histogram, of which there are n_rows. Its by values and time
 * are in the row. has_time: the times of its rows are not NULL. Data that a state keeps are allocated in the context. */
void ifp_agg_states_add(const struct ifp_agg_states *aggs, struct ifp_measure_state *states,
			const struct iforest_aggregate *fold, uint64 steps, uint64 n_rows,
			const struct ifp_bucket_values *values, bool has_time, MemoryContext context);

/* Returns the result of aggregate i of query->aggregates, in the current memory context. Overwrites the row's time and values.
 */
Datum ifp_agg_states_result(const struct ifp_agg_states *aggs, int i, const struct ifp_measure_state *states, bool *is_null);

#endif
