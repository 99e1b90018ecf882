/* planner/piece_counts.h -- Estimates of the pieces into which a query cuts the times of an index: buckets, ranges, groups.
 *
 * Pieces are ranges of times in which the keys keep their values. Their width is found by evaluating the query's own expressions
 * at times of ANALYZE's histogram.
 */
#ifndef IFP_PLANNER_PIECE_COUNTS_H
#define IFP_PLANNER_PIECE_COUNTS_H

#include "pg_ext/planner/query_match.h"

/* The numbers of buckets and ranges into which a query cuts the times of a series. */
struct ifp_piece_counts {
	double buckets;
	double groups; /* may be fewer than the buckets */
	double ranges; /* in which the conditions on the time hold or not; 0: there are none to evaluate */
	double passed; /* fraction of the rows that lie in these ranges */
};

/* Estimates them for one index of the candidate. window: the fraction of the rows that all conditions on the time leave; tuples:
 * rows of all tables. */
void ifp_piece_counts_estimate(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			       const struct ifp_index_query *query, Relation index, double window, double tuples,
			       struct ifp_piece_counts *pieces);

/* Returns the fraction of the table's rows that meet conditions over the index's columns. */
double ifp_share_of_rows(const struct ifp_query_level *level, const struct ifp_candidate *candidate, List *conditions);

#endif
