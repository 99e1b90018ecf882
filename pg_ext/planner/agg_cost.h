/* planner/agg_cost.h -- Cost of answering an aggregate query from an index.
 *
 * The cost covers everything an answer reads: leaf pages at the ends of buckets and ranges, pages under heap blocks that are
 * not all-visible, pending pages, sketches. planner/piece_counts.h estimates the number of buckets.
 */
#ifndef IFP_PLANNER_AGG_COST_H
#define IFP_PLANNER_AGG_COST_H

#include "pg_ext/planner/query_match.h"

/* Estimated rows, cost and memory of answering a query. */
struct ifp_agg_cost {
	double n_rows;	   /* groups */
	double n_returned; /* those that are returned; fewer if LIMIT leaves out others (planner/top_groups.h) */
	Cost startup, total;
	double n_groups_bytes;	/* memory for groups */
	double n_numbers_bytes; /* memory for values that are kept one by one */
	double n_joined_bytes;	/* memory for the rows of dimensions */
	bool is_slower;		/* slower than a plain plan, whose cost the planner overestimates for lack of statistics */
};

void ifp_agg_cost_estimate(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			   const struct ifp_index_query *query, struct ifp_agg_cost *estimate);

/* Returns a lower bound for the cost of any answer: that of one bucket of one series in one run. */
Cost ifp_agg_cost_least(const struct ifp_query_level *level);

#endif
