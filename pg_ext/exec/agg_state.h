/* exec/agg_state.h -- Aggregate states of a group: built from folds of entries, and turned into results.
 *
 * The state of a group is an array with one element for each measure (planner/aggregate_arms.h), followed by the words of the
 * accumulators that measures need. A result evaluates the aggregate's own expression at the extremes of its column, so it
 * raises the errors that a plain plan would raise.
 */
#ifndef IFP_EXEC_AGG_STATE_H
#define IFP_EXEC_AGG_STATE_H

#include "pg_ext/planner/aggregate_arms.h"

#include "executor/tuptable.h"

#include "core/page/leaf_fold.h"
#include "pg_ext/exec/measure_state.h"
#include "pg_ext/planner/value_passes.h"

struct ifp_agg_states;

/* Data of a bucket that folds do not have, for each value column that needs it. */
struct ifp_bucket_values {
	bytea *sketches[IFOREST_N_DIGESTS][IFOREST_MAX_VALUES]; /* NULL: no values */
	struct ifp_numbers numbers[IFOREST_MAX_VALUES];
};

/* Prepares the measures and results of a query, in the current memory context. Expressions are evaluated in econtext, whose
 * scan tuple is a row of the index's columns. The columns that expressions read must be set. */
struct ifp_agg_states *ifp_agg_states_begin(const struct ifp_index_query *query, const struct ifp_definition *definition,
					    ExprContext *econtext);

/* Sets the table in which ctids of rows are looked up. Must not be called if there are several tables. */
void ifp_agg_states_set_table(struct ifp_agg_states *aggs, Relation heap, Snapshot snapshot);

/* Tells that parameters may have changed. What depends on them is evaluated again when needed, and allocated in that
 * context. */
void ifp_agg_states_rescan(struct ifp_agg_states *aggs, MemoryContext parameters);

/* Starts new groups: forgets distinct values of arguments. New ones are allocated in the context. */
void ifp_agg_states_reset(struct ifp_agg_states *aggs, MemoryContext context);

/* Sets the pass whose folds are added next; NULL: there are no passes. */
void ifp_agg_states_set_pass(struct ifp_agg_states *aggs, const struct ifp_value_pass *pass);

/* Sets the accumulators of the index whose folds are added next.  */
void ifp_agg_states_set_index(struct ifp_agg_states *aggs, const struct iforest_accumulators *accumulators);

/* Returns the request for folds of that index; without accumulators if no index was set. The caller sets its filter. */
struct iforest_request ifp_agg_states_wanted(const struct ifp_agg_states *aggs);

/* Changes such a request to one for rows without a time. */
void ifp_agg_states_want_timeless(const struct ifp_agg_states *aggs, struct iforest_request *request);

/* Returns a bit mask of the value columns that have measures of that type: SKETCH, DISTINCT or NUMBERS. */
uint32 ifp_agg_states_need(const struct ifp_agg_states *aggs, enum ifp_measure_type type);

/* Returns the size of a group's states in bytes. */
Size ifp_agg_states_bytes(const struct ifp_agg_states *aggs);

/* Returns the number of rows of a fold on steps of the query's histogram; of all rows for IFP_ALL_STEPS. */
uint64 ifp_agg_states_rows(const struct ifp_agg_states *aggs, uint64 steps, const struct iforest_aggregate *fold);

/* Adds the fold of a bucket, or its n_rows rows on steps of the query's histogram. The row must have the bucket's by values and
 * time. has_time: the times of its rows are not NULL. Data that a state keeps is allocated in the context. */
void ifp_agg_states_add(const struct ifp_agg_states *aggs, struct ifp_measure_state *states,
			const struct iforest_aggregate *fold, uint64 steps, uint64 n_rows,
			const struct ifp_bucket_values *values, bool has_time, MemoryContext context);

/* Returns the result of aggregate i of query->aggregates, in the current memory context. Overwrites the row's time and values.
 */
Datum ifp_agg_states_result(const struct ifp_agg_states *aggs, int i, const struct ifp_measure_state *states, bool *is_null);

#endif
