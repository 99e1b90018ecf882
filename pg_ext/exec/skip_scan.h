/* exec/skip_scan.h -- Custom Scan (IForestSkip): the first rows of each series, by time or by a value.
 *
 *   Unique, WindowAgg                      of PostgreSQL: DISTINCT ON, row_number()
 *     ->  Sort
 *           ->  Custom Scan (IForestSkip)          counts the rows of a series, and skips the rest when it has enough
 *                 ->  Index Scan [Backward]        PostgreSQL's own node: all conditions, rows, rechecks
 *                       ifp_get_tuple()            the entries in the order of series and times (am/index_scan.h)
 *
 * In the order of a value Custom Scan (IForestTopK) (exec/topk_scan.h) lies between the skip scan and the index scan.
 *
 * The nodes above select and order rows as they would from the whole table. The scan only omits rows that cannot be selected:
 * those of a series that already gave the wanted number of better rows. Rows that tie with the last of these are returned too,
 * since further ORDER BY keys decide among them.
 */
#ifndef IFP_EXEC_SKIP_SCAN_H
#define IFP_EXEC_SKIP_SCAN_H

#include "pg_ext/base/engine.h"

/* Registers the node under the name by which its path (planner/skip_path.h) finds it.
 * Requires  called once, when the library is loaded. */
void ifp_skip_scan_register(void);

#endif
