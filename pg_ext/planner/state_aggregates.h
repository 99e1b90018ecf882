/* planner/state_aggregates.h -- Aggregates of distributed tables in terms of states that shards send and a coordinator
 * combines.
 *
 * Citus splits an aggregate if its state is of an ordinary type and its arguments are not polymorphic; for other aggregates it
 * fetches all rows. So before Citus plans a statement over a distributed table, those are replaced by aggregates that it can
 * split. On a shard, these are in turn replaced by aggregates that an index answers:
 *
 *   the statement                   the coordinator                               a shard
 *   stddev(v)                       iforest_variance(count(v), sum(v),            iforest_squares(v)
 *                                     iforest_squares(v), ...)
 *   iforest_sketch(v)               iforest_sketch_states(                        iforest_sketch(v)
 *                                     iforest_sketch_state(v))
 *   iforest_last(v, ts, ctid)       iforest_state_value(iforest_last_state(       iforest_row_state(iforest_last(v, ts, ctid),
 *                                     iforest_row_state(v, ts, ctid)), ...)         iforest_last_time(v, ts, ctid), ...)
 *
 * Each replacement is equivalent to what it replaces, so it is correct without the other. Without Citus nothing is replaced.
 */
#ifndef IFP_PLANNER_STATE_AGGREGATES_H
#define IFP_PLANNER_STATE_AGGREGATES_H

#include "pg_ext/base/engine.h"

#include "nodes/primnodes.h"

/* Returns the aggregate as an expression over aggregates that can be combined; NULL if it is not one of these, or the extension
 * is not in the database. */
Node *ifp_state_aggregate_split(const Aggref *source);

/* Returns what a partition computes for an aggregate of such an expression, if not the aggregate itself; else NULL. */
Node *ifp_state_aggregate_join(const Aggref *source);

/* True if the aggregate is one of this extension over states, and gives such a state. */
bool ifp_is_state_combiner(Oid function);

/* Registers the hook.
 * Requires  called once, when the library is loaded. */
void ifp_state_aggregates_register(void);

#endif
