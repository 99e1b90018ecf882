/* aggregate_estimate.h -- Not for others. */
#ifndef IFOREST_PG_AGGREGATE_ESTIMATE_H
#define IFOREST_PG_AGGREGATE_ESTIMATE_H

#include "pg_ext/planner/query_match.h"

/* Rows and cost of answering a question. */
struct iforest_estimate {
	double n_rows;
	Cost startup, total;
	double n_groups_bytes;   /* memory that groups will need */
	bool is_slower;          /* than a plain plan, whose cost is told too high for lack of statistics */
};

void iforest_aggregate_estimate(const struct iforest_query *query, const struct iforest_candidate *candidate,
				const struct iforest_question *question, struct iforest_estimate *estimate);

/* What any answer costs at least. */
Cost iforest_aggregate_least_cost(void);

#endif
