/* planner/skip_path.h -- Paths for the first rows of each series by time or by a value: DISTINCT ON, and row_number() up to a number.
 *
 * SELECT DISTINCT ON (service) ... ORDER BY service, ts DESC selects the last row of each service. A plain plan sorts the whole
 * table. Entries of an index are ordered by series and time, so Custom Scan (IForestSkip) (exec/skip_scan.h) reads the last row
 * of each series and skips to the next one. It does the same for row_number() OVER (PARTITION BY service ORDER BY ts DESC) with
 * a condition above on the first n rows. With ORDER BY a value column, as for the three longest spans of each service, each
 * series is searched for its best entries (planner/topk_path.h).
 *
 * Proof. Let the keys of DISTINCT ON or PARTITION BY be expressions of by columns. All rows of a series then belong to one
 * group. Let the order within the group be by the time or by a value column, preceded at most by expressions of by columns. Then
 * a row for which n others of its series come before it in that order is not among the first n of its group. Returning more rows
 * than necessary is harmless, since PostgreSQL's own nodes select from them.
 *
 * The planner chooses the path by cost. Conditions may use any column: the index scan below checks them before a row is
 * counted.
 */
#ifndef IFP_PLANNER_SKIP_PATH_H
#define IFP_PLANNER_SKIP_PATH_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

/* Adds a path for the first rows of groups. stage: UPPERREL_DISTINCT, of a query with DISTINCT ON, or UPPERREL_WINDOW. */
void ifp_skip_path_consider(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output);

#endif
