/* planner/outer_rows.h -- Aggregates of the rows of a table that each row of other relations joins, such as an axis of times.
 *
 *   SELECT t, count(s.ts) FROM generate_series(a, b, interval '1 hour') AS t
 *     LEFT JOIN spans AS s ON s.ts >= t AND s.ts < t + interval '1 hour' GROUP BY t
 *
 * A plain plan makes all pairs and groups them. This path asks the index once for each outer row, and combines what belongs to
 * one group (planner/combination.h):
 *
 *   SELECT t, sum(n) FROM generate_series(a, b, interval '1 hour') AS t,
 *     LATERAL (SELECT count(ts) AS n FROM spans AS s WHERE s.ts >= t AND s.ts < t + interval '1 hour') AS parts GROUP BY t
 *
 * Proof. The pairs of a group are, for each outer row of the group, the rows of the table that meet the join conditions with
 * it; of an outer join, the outer row with NULLs if there are none. Let an aggregate ignore rows whose argument is NULL, or its
 * FILTER not true. If argument or FILTER is strict in a column of the table, the row of NULLs does not count; count(*) counts
 * it as one row.
 *
 * Groups must be of outer columns alone, and aggregates of the table's alone. The outer relations may be tables, functions,
 * VALUES, CTEs and subqueries without tables, joined by inner joins.
 */
#ifndef IFP_PLANNER_OUTER_ROWS_H
#define IFP_PLANNER_OUTER_ROWS_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

/* Adds a path for a query level that groups a join. Returns false if there is none. */
bool ifp_outer_rows_consider(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, const GroupPathExtraData *extra);

#endif
