/* exec/agg_state.h -- Aggregate states of a group: gathered from folds of entries, and turned into results. */
#ifndef IFP_EXEC_AGG_STATE_H
#define IFP_EXEC_AGG_STATE_H

#include "pg_ext/planner/index_query.h"

#include "executor/tuptable.h"

#include "core/page/leaf_fold.h"

/* A measure of one group. Zeros: of no rows. */
struct ifp_agg_state {
	uint64 n;	    /* rows that are not NULL */
	bool has_null;	    /* of VALUE and TIME: others there are, too */
	iforest_int128 sum; /* of integers */
	union {
		struct iforest_squares squares; /* of integers, where they are asked for */
		struct iforest_extreme row;	/* of ..._ROW */
	};
	double real_sum; /* of reals that are finite; the others are counted: */
	uint64 n_nan, n_plus_infinity, n_minus_infinity;
	union iforest_number min, max; /* of VALUE; of TIME its first and last */
	Datum datum;		       /* of CONSTANT: an extreme, or a sum of numerics; of SKETCH its bytes */
	bool has_datum;
};

struct ifp_agg_states;

/* Prepares what a query asks for. Expressions are evaluated in econtext over a row of the index's columns, which is
 * econtext's scan tuple; the row's columns that expressions read must be filled in. Lives in the current memory context. */
struct ifp_agg_states *ifp_agg_states_begin(const struct ifp_index_query *query, const struct ifp_definition *definition,
					    ExprContext *econtext);

/* Where the ctids of rows are looked up, if there is one table only. */
void ifp_agg_states_set_table(struct ifp_agg_states *aggs, Relation heap, Snapshot snapshot);

/* Parameters may have changed: what is made of them is evaluated anew where it is needed, and lives in that context. */
void ifp_agg_states_rescan(struct ifp_agg_states *aggs, MemoryContext parameters);

/* What has to be folded for them. */
struct iforest_request ifp_agg_states_wanted(const struct ifp_agg_states *aggs);

/* The value columns of which sketches are needed: a bit each. */
uint32 ifp_agg_states_sketches(const struct ifp_agg_states *aggs);

/* Bytes of a group's states. */
Size ifp_agg_states_bytes(const struct ifp_agg_states *aggs);

/* Adds the fold of a bucket, whose by values and time are in the row. sketches: by value column, those that are needed, NULL
 * where there are no values. has_time: its rows' times are not NULL. Data that a state keeps go to the context. */
void ifp_agg_states_add(const struct ifp_agg_states *aggs, struct ifp_agg_state *states, const struct iforest_aggregate *fold,
			bytea *const *sketches, bool has_time, MemoryContext context);

/* The result of aggregate i (of the query's list), in the current memory context. The row's time and values are
 * overwritten. */
Datum ifp_agg_states_result(const struct ifp_agg_states *aggs, int i, const struct ifp_agg_state *states, bool *is_null);

#endif
