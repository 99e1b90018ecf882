/* planner/selectivity.h -- Row estimates for a window of time, from the index and beyond the end of ANALYZE's histogram.
 *
 * Without statistics the planner takes any window for half a percent of the table, and the costs of plain plans go by that.
 */
#ifndef IFP_PLANNER_SELECTIVITY_H
#define IFP_PLANNER_SELECTIVITY_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

#include "pg_ext/am/scan_keys.h"
#include "pg_ext/planner/index_query.h"

/* The ranges of time that are asked for. False where they are not known, or not narrowed. */
bool ifp_selectivity_window_times(PlannerInfo *root, Relation relation, const struct ifp_index_query *query,
				  struct ifp_scan_keys *times);

/* Estimates the entries of an index whose times lie between the query's bounds: runs are taken to be even, and what is
 * pending to lie behind them all. False where bounds are not known while planning, or there are none, or a run has several
 * series.
 * Requires  the index is on the query's table and time.
 * Cost      metapage and manifest are read, and bounds evaluated. */
bool ifp_selectivity_window_rows(PlannerInfo *root, Oid oid, const struct ifp_index_query *query, double *n_rows);

/* What ANALYZE has not seen yet: rows that are newer than any of its histogram of the times.
 *
 * A window of those, which dashboards ask for all the time, would be taken for one row, and read row by row: a table that grows
 * by 5000 rows a second has millions of them before autovacuum analyzes it. For columns that a B-tree begins with PostgreSQL
 * itself looks where the index ends (get_actual_variable_range()). This does the same for the time column of an iforest index,
 * and knows besides how many rows lie behind the histogram's end:
 *
 *   ANALYZE's     |----|----|----|----|              each part has as many rows
 *   runs, pending                     + + ++ +
 *   what is said  |------|------|------|------|      as many parts of as many rows, old and new
 *
 * Statistics are as they were where nothing is newer, where the first or last times are infinite, for partitioned tables as a
 * whole (each partition has its own), for who may not read the table, and with iforest.enable off. */

/* Registers the hook: called once, by _PG_init. */
void ifp_selectivity_histogram_register(void);

#endif
