/* planner/agg_path.h -- Paths of Custom Scan (IForestAggregate), which answers GROUP BY from an index.
 *
 * For each GROUP BY, aggregation or DISTINCT over one table and the dimensions joined with it, a path is added
 * with its cost if an index can answer it (planner/query_match.h). The planner chooses the cheapest path. The plan
 * has scanrelid 0. Its scan tuple holds the group keys and aggregates; projection and HAVING are applied to it as to any scan.
 *
 *   custom_scan_tlist  group keys and Aggrefs, as the query has them
 *   custom_exprs       the parameters in the index query, so that changing one causes a rescan
 *   custom_plans       the plans of dimensions (planner/dimension.h), or the plan of the subquery that the answer replaces,
 *                      which is never run (planner/query_level.h)
 *   custom_private     the index query (planner/index_query.h)
 */
#ifndef IFP_PLANNER_AGG_PATH_H
#define IFP_PLANNER_AGG_PATH_H

#include "pg_ext/planner/query_match.h"

#include "nodes/extensible.h"

/* Adds paths for a query level that groups, aggregates or has DISTINCT. stage: UPPERREL_GROUP_AGG or UPPERREL_DISTINCT; extra is
 * only read in the first. */
void ifp_agg_path_consider(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
			   GroupPathExtraData *extra);

/* Registers the parameters iforest.float_aggregates, .approximate_percentiles and .approximate_distinct.
 * Requires  called once, when the library is loaded. */
void ifp_agg_path_register(void);

#endif
