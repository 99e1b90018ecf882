/* planner/partition_leaves.h -- The partitions of a table with foreign ones, each as the only table of a query.
 *
 * PostgreSQL asks foreign partitions for rows, and sends no GROUP BY or LIMIT below an Append unless groups are apart by partition.
 * A query for each partition is planned as if the partition were asked alone: postgres_fdw sends what it would send then, and a
 * local partition is answered from its indexes. UNION ALL of these queries gives what a plan above combines or sorts.
 */
#ifndef IFP_PLANNER_PARTITION_LEAVES_H
#define IFP_PLANNER_PARTITION_LEAVES_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

/* True for a foreign table whose server may compute more than rows. */
bool ifp_is_foreign_leaf(const RelOptInfo *leaf);

/* Returns the partitions (RelOptInfo) of a partitioned table that are not partitioned themselves and not pruned. Returns NIL if none of
 * them is such a foreign table. */
List *ifp_foreign_leaves(PlannerInfo *root, const RelOptInfo *rel);

/* True if rows of the table may be asked for by partition: all conditions are those of partitions and may move to another query, and
 * all rows of the table are read as the current user. */
bool ifp_may_divide(const PlannerInfo *root, const RelOptInfo *rel, List *leaves);

/* Returns SELECT expressions FROM leaf WHERE its conditions, which requires no privileges: those on the partitioned table, which stays
 * in the statement, are checked. The first n_numbered columns have numbers for GROUP BY or ORDER BY. */
Query *ifp_leaf_query(PlannerInfo *root, const RelOptInfo *rel, RelOptInfo *leaf, List *expressions, int n_numbered);

/* Returns UNION ALL of the queries, of which there is one at least. */
Query *ifp_union_of(List *queries);

#endif
