/* planner/partition_groups.h -- Groups that foreign partitions compute, and that are combined on this server.
 *
 * PostgreSQL sends a grouped query to foreign partitions only if the partition key is among the groups. Otherwise it fetches
 * rows. This path sends each partition the query as if it were the only one, and combines what comes back:
 *
 *   SELECT avg(v) ... GROUP BY k          Custom Scan (IForestCombine)      the query's own expressions: k, avg(v)
 *                                           -> Subquery Scan
 *   of partitions p1, p2                      -> Aggregate by k             sum(s) / sum(n)
 *                                               -> Append
 *                                                 -> Foreign Scan of p1     SELECT k, sum(v) AS s, count(v) AS n ... GROUP BY k
 *                                                 -> Foreign Scan of p2
 *
 * If every partition is of a server that computes the groups, these are paths of the query itself: the server is asked for the cost
 * of groups only, as that of rows is known. Otherwise what a partition is asked is an arm of UNION ALL, so local partitions are
 * answered as any table is, and postgres_fdw decides by cost what it sends. Partitions that are pruned do not occur. What may be
 * combined, and how, is in planner/combination.h; a query with other aggregates is left to PostgreSQL.
 */
#ifndef IFP_PLANNER_PARTITION_GROUPS_H
#define IFP_PLANNER_PARTITION_GROUPS_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

/* Adds a path for a query level that groups or aggregates a relation with partitions. */
void ifp_partition_groups_consider(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, const GroupPathExtraData *extra);

#endif
