/* planner/query_match.h -- Match of a query level with an index that can answer it, or the reason why none can.
 *
 * Three steps: find the indexes of the table, or sets of matching indexes of its partitions (candidates); rewrite the level's
 * expressions over the index's columns; classify conditions and aggregates into an index query (planner/index_query.h). A step
 * that fails returns a reason, which iforest.explain_decline shows.
 */
#ifndef IFP_PLANNER_QUERY_MATCH_H
#define IFP_PLANNER_QUERY_MATCH_H

#include "pg_ext/planner/candidate.h"
#include "pg_ext/planner/index_query.h"
#include "pg_ext/planner/query_level.h"

/* Fills in the index query. Returns NULL, or why the index cannot answer. Sets *computed to the aggregates of level->outputs
 * (ifp_output_aggregate()), in the order of query->aggregates, followed by the GROUPING() nodes in the order of query->groupings. */
const char *ifp_query_match(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			    struct ifp_index_query *query, List **computed);

#endif
