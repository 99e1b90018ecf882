/* planner/value_passes.h -- Passes over an index, each of which reads the rows between drawn bounds.
 *
 * If no index keeps a histogram with the bounds of a query's conditions on values, the index is read several times, each time
 * for the rows whose value is in one range, or is NULL. Nodes outside the range are skipped and nodes inside it are used whole,
 * as for a condition in WHERE.
 *
 *   count(*), sum(took) FILTER (WHERE took > 500)            all rows; those above 500
 *   GROUP BY took > 500                                      up to 500; above 500; NULL
 *   WHERE took <> 7                                          below 7; above 7
 */
#ifndef IFP_PLANNER_VALUE_PASSES_H
#define IFP_PLANNER_VALUE_PASSES_H

#include "pg_ext/planner/index_query.h"

struct ifp_value_pass {
	int histogram; /* index of a drawn histogram in query->accumulators; -1: all rows are read */
	uint64 steps;  /* the adjacent steps that are read; IFP_ALL_STEPS: all */
};

/* Returns the passes (list of struct ifp_value_pass) of a query with drawn histograms; NIL if it has none. */
List *ifp_value_passes(const struct ifp_index_query *query);

#endif
