/* exec/skip_scan.h -- Custom Scan (IForestSkip): the first rows of each series, from either end of its times.
 *
 *   Unique, WindowAgg                      of PostgreSQL: DISTINCT ON, row_number()
 *     ->  Sort
 *           ->  Custom Scan (IForestSkip)          counts the rows of a series, and leaves it when it has enough
 *                 ->  Index Scan [Backward]        PostgreSQL's own node: all conditions, rows, rechecks
 *                       ifp_get_tuple()            the entries in the order of series and times (am/index_scan.h)
 *
 * The nodes above choose and order rows as they would of the whole table. The scan only leaves out rows that cannot be chosen:
 * those of a series that already gave as many rows with better times as are asked for. Rows that have the last of these times
 * are given as well, for what comes next in ORDER BY decides among them.
 */
#ifndef IFP_EXEC_SKIP_SCAN_H
#define IFP_EXEC_SKIP_SCAN_H

#include "pg_ext/base/engine.h"

/* Registers the node under the name by which its path (planner/skip_path.h) finds it.
 * Requires  called once, when the library is loaded. */
void ifp_skip_scan_register(void);

#endif
