/* planner/selectivity.h -- Estimates of the rows in a window of time, from the index if ANALYZE's statistics do not suffice.
 *
 * Without statistics the planner assumes that any window has half a percent of the table, which makes the costs of plain plans
 * wrong. ifp_selectivity_window_rows() estimates the number of rows from the index.
 *
 * With statistics the histogram of the time column ends at the last ANALYZE. Dashboards keep asking for newer rows, and the
 * planner expects one row in such a window. A table that grows by 5000 rows a second has millions of newer rows before
 * autovacuum analyzes it. For the first column of a B-tree, PostgreSQL looks up the actual end (get_actual_variable_range()). A
 * hook does that for the time column of an iforest index, and also counts the rows beyond the histogram's end:
 *
 *   ANALYZE's        |----|----|----|----|              each part has as many rows
 *   runs, pending                        + + ++ +
 *   as estimated     |------|------|------|------|      as many parts of as many rows, old and new
 *
 * Statistics are unchanged if nothing is newer, if the first or last times are infinite, for partitioned tables as a whole
 * (each partition has its own), for users who may not read the table, and with iforest.enable off.
 */
#ifndef IFP_PLANNER_SELECTIVITY_H
#define IFP_PLANNER_SELECTIVITY_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

#include "pg_ext/am/scan_keys.h"
#include "pg_ext/planner/index_query.h"

/* Evaluates the query's ranges of time. Returns false if they are not known at planning time, or if there is no condition on
 * the time. */
bool ifp_selectivity_window_times(PlannerInfo *root, Relation relation, const struct ifp_index_query *query,
				  struct ifp_scan_keys *times);

/* Estimates the entries of an index in the query's ranges of time, assuming that the entries of each run are evenly spread and
 * that pending entries are later than all runs. Returns false if the ranges are not known, or if a run has several series.
 * Requires  the index is on the query's table and time.
 * Cost      reads metapage and manifest, evaluates the bounds. */
bool ifp_selectivity_window_rows(PlannerInfo *root, Oid oid, const struct ifp_index_query *query, double *n_rows);

/* Returns the number of series in the runs of an index; 0 if there are no runs. This is better than the product of the by
 * columns' distinct values, since by columns may be correlated.
 * Cost      reads metapage and manifest. */
double ifp_selectivity_series(Oid index);

/* Registers the hook. Requires  called once, when the library is loaded. */
void ifp_selectivity_histogram_register(void);

#endif
