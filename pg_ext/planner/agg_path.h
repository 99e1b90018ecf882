/* aggregate_plan.h -- Custom Scan (IForestAggregate): grouped query levels whose answer an index knows.
 *
 * The planner's hook for upper relations offers a path beside the ordinary ones for each GROUP BY, aggregation or DISTINCT over
 * one table (match.h), with a cost (aggregate_cost.c), and the cheapest wins. The plan has scanrelid 0; its scan tuple is the
 * group keys and aggregates, above which the executor projects and filters (HAVING) as above any scan.
 *
 *   custom_scan_tlist  group keys and Aggrefs, as the query has them
 *   custom_exprs       the parameters that the question mentions, so that rescans are known of
 *   custom_private     the question (question.h)
 */
#ifndef IFP_PLANNER_AGG_PATH_H
#define IFP_PLANNER_AGG_PATH_H

#include "pg_ext/planner/query_match.h"

#include "nodes/extensible.h"

/* Registers hook, node and parameters; once, when the library is loaded. */
void ifp_agg_path_register(void);

#endif
