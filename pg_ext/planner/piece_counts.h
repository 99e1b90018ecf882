/* planner/piece_counts.h -- Estimates of the pieces into which a query cuts the times of an index: buckets, ranges, groups.
 *
 * A piece is a range of times in which the keys do not change. Its width is estimated by evaluating the query's own expressions
 * at times of ANALYZE's histogram.
 */
#ifndef IFP_PLANNER_PIECE_COUNTS_H
#define IFP_PLANNER_PIECE_COUNTS_H

#include "pg_ext/planner/query_match.h"

/* The numbers of buckets and ranges into which a query cuts the times of a series. */
struct ifp_piece_counts {
	double buckets;
	double groups; /* at most the number of buckets */
	double ranges; /* ranges in which conditions on the time are constant; 0: there are none to evaluate */
	double passed; /* fraction of the rows that pass these conditions */
};

/* Estimates the counts for one index of the candidate. window: fraction of rows that pass all conditions on the time; tuples:
 * number of rows of all tables. */
void ifp_piece_counts_estimate(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			       const struct ifp_index_query *query, Relation index, double window, double tuples,
			       struct ifp_piece_counts *pieces);

/* Returns the fraction of the table's rows that meet conditions over the index's columns. */
double ifp_share_of_rows(const struct ifp_query_level *level, const struct ifp_candidate *candidate, List *conditions);

#endif
