/* exec/agg_explain.h -- Properties of Custom Scan (IForestAggregate) in EXPLAIN, as docs/postgres_plans.md explains them. */
#ifndef IFP_EXEC_AGG_EXPLAIN_H
#define IFP_EXEC_AGG_EXPLAIN_H

#include "pg_ext/planner/bucket_finder.h"
#include "pg_ext/planner/index_query.h"

#include "commands/explain.h"

/* Numbers of what an answer has read, for its last attempt; restarts and evaluations are for all attempts. */
struct ifp_agg_counts {
	uint64 n_series, n_buckets, n_left_out, n_nodes, n_pages, n_leaf_pages, n_runs, n_pending, n_heap_blocks, n_restarts;
	struct ifp_bucket_finder_counts buckets;
};

/* Shows the indexes, conditions and methods of a query. */
void ifp_agg_explain_query(const struct ifp_index_query *query, ExplainState *es);

/* Shows these numbers, for EXPLAIN (ANALYZE). */
void ifp_agg_explain_counts(const struct ifp_index_query *query, const struct ifp_agg_counts *counts, ExplainState *es);

#endif
