/* planner/agg_cost.h -- Cost of answering an aggregate query from an index.
 *
 * Costs count what an answer reads: leaf pages at the ends of buckets and ranges, pages under heap blocks that are not
 * all-visible, pending pages, sketches. The buckets are counted by planner/piece_counts.h.
 */
#ifndef IFP_PLANNER_AGG_COST_H
#define IFP_PLANNER_AGG_COST_H

#include "pg_ext/planner/query_match.h"

/* Fewer series are read one by one, and so are those that are less than one in MOST_PASSED of all; others are swept over. */
enum { IFP_FEWEST_SWEPT_SERIES = 64, IFP_MOST_PASSED_SERIES = 8 };

/* Rows and cost of answering a query. */
struct ifp_agg_cost {
	double n_rows;
	Cost startup, total;
	double n_groups_bytes;	/* memory that groups will need */
	double n_numbers_bytes; /* and values that are kept one by one */
	double n_joined_bytes;	/* and the rows of dimensions */
	bool is_slower;		/* than a plain plan, which the planner overestimates for lack of statistics */
};

void ifp_agg_cost_estimate(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			   const struct ifp_index_query *query, struct ifp_agg_cost *estimate);

/* The least cost of any answer: that of one series' bucket in one run. */
Cost ifp_agg_cost_least(void);

#endif
