/* aggregate_pieces.h -- into how many buckets and ranges a question cuts the times of a series, for what its answer costs. */
#ifndef IFOREST_PG_AGGREGATE_PIECES_H
#define IFOREST_PG_AGGREGATE_PIECES_H

#include "pg_ext/planner/agg_path.h"

struct iforest_piece_counts {
	double buckets;
	double groups;   /* of which several buckets may make one */
	double ranges;   /* in which the conditions on the time hold or not; 0: there are none that have to be asked */
	double passed;   /* the part of the rows that lie in these */
};

/* window: the part of the rows that all conditions on the time leave; tuples: of all tables. */
void iforest_count_pieces(const struct iforest_query *query, const struct iforest_candidate *candidate,
			  const struct iforest_question *question, Relation index, double window, double tuples,
			  struct iforest_piece_counts *pieces);

#endif
