/* planner/partition_leaves.h -- The partitions of a table with foreign ones, each as the only table of a query.
 *
 * PostgreSQL asks foreign partitions for rows. It sends no LIMIT below an Append, and GROUP BY only if no group is in two
 * partitions. Here each partition has a query of its own, planned as if it were asked alone: postgres_fdw sends what it would
 * send then, and a local partition is answered from its indexes. A plan above combines or sorts the UNION ALL of these queries.
 */
#ifndef IFP_PLANNER_PARTITION_LEAVES_H
#define IFP_PLANNER_PARTITION_LEAVES_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

/* True for a foreign table whose server may compute more than rows. */
bool ifp_is_foreign_leaf(const RelOptInfo *leaf);

/* Returns the leaf partitions (RelOptInfo) of a partitioned table that are not pruned. Returns NIL if none of them is such a
 * foreign table. */
List *ifp_foreign_leaves(PlannerInfo *root, const RelOptInfo *rel);

/* True if rows of the table may be asked for by partition: all conditions are on its columns and may move to another query, all
 * of its rows are wanted (no TABLESAMPLE, no row-level security), and they are read as the current user. */
bool ifp_may_divide(const PlannerInfo *root, const RelOptInfo *rel, List *leaves);

/* Returns SELECT expressions FROM leaf WHERE its conditions. The expressions are over the partitioned table, and are copied.
 * The first n_numbered columns have numbers for GROUP BY or ORDER BY. The query requires no privileges: those on the
 * partitioned table are checked, which stays in the statement.
 * Requires  ifp_may_divide(), and expressions that may move (query_below.h). */
Query *ifp_leaf_query(PlannerInfo *root, const RelOptInfo *rel, RelOptInfo *leaf, List *expressions, int n_numbered);

/* Returns UNION ALL of the queries, which have columns of the same types. Requires  there is one at least. */
Query *ifp_union_of(List *queries);

#endif
