/* planner/agg_path.h -- Planner hook and costs of Custom Scan (IForestAggregate), which answers GROUP BY from an index.
 *
 * The planner's hook for upper relations offers a path beside the ordinary ones for each GROUP BY, aggregation or DISTINCT over
 * one table (planner/query_match.h), with a cost (planner/agg_path.c), and the cheapest wins. The plan has scanrelid 0; its scan tuple is the
 * group keys and aggregates, above which the executor projects and filters (HAVING) as above any scan.
 *
 *   custom_scan_tlist  group keys and Aggrefs, as the query has them
 *   custom_exprs       the parameters that the query mentions, so that rescans are known of
 *   custom_private     the query (planner/index_query.h)
 */
#ifndef IFP_PLANNER_AGG_PATH_H
#define IFP_PLANNER_AGG_PATH_H

#include "pg_ext/planner/query_match.h"

#include "nodes/extensible.h"

/* Registers hook, node and parameters; once, when the library is loaded. */
void ifp_agg_path_register(void);

#endif
