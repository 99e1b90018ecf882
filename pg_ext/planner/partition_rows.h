/* planner/partition_rows.h -- ORDER BY ... LIMIT over foreign partitions: the first rows of each are sorted on this server.
 *
 * PostgreSQL sends no LIMIT to foreign partitions: it sorts their rows here, or merges what they sort, and a partition that has
 * to sort reads and sorts all of its rows. This path asks each partition for as many rows as the query skips and returns
 * together:
 *
 *   SELECT id, dur ... ORDER BY dur DESC LIMIT 10 OFFSET 5
 *
 *   Limit
 *     -> Sort by dur DESC                      the first 15 of at most 15 a partition
 *       -> Custom Scan (IForestCombine)
 *         -> Append
 *           -> Foreign Scan of p1              SELECT dur, id ... ORDER BY dur DESC LIMIT 15
 *           -> Foreign Scan of p2
 *
 * Proof. A row that the query returns has fewer than 15 rows before it, and so has it within its partition: it is among the
 * first 15 there. Among rows that tie with the last one, PostgreSQL returns any.
 *
 * What a partition is asked is planned as a query of its own (planner/partition_leaves.h): if its server does not sort as this
 * one does, rows are sorted here, and LIMIT stays above that.
 */
#ifndef IFP_PLANNER_PARTITION_ROWS_H
#define IFP_PLANNER_PARTITION_ROWS_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

/* Adds a sorted path to `output` for a query level that returns rows of one partitioned table, `input`, with a foreign
 * partition, if LIMIT and OFFSET are known numbers and the path is cheaper than those there.
 * Cost  if there may be enough to gain, plans a query for each partition, for which postgres_fdw may ask its server. */
void ifp_partition_rows_consider(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output);

#endif
