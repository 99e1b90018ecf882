/* exec/topk_scan.h -- Custom scans for ORDER BY value LIMIT k and for spans that reach into a window.
 *
 *   Custom Scan (IForestTopK)          or IForestReach: sets the order and bounds of the scan below
 *     ->  Index Scan using spans_if    PostgreSQL's own node: conditions, rows, rechecks
 *           ifp_get_tuple()            the entries, best first (am/index_scan.h, core/query/top_k.h)
 *
 * So visibility, row locks, row security and rescans with other parameters work as in any index scan. A top-k path is added if
 * the query's first sort key is a column INCLUDEd in the index; the planner adds LIMIT and sorts by further keys. A path for
 * spans that reach into a window is added if a condition requires that spans end after a time.
 */
#ifndef IFP_EXEC_TOPK_SCAN_H
#define IFP_EXEC_TOPK_SCAN_H

#include "pg_ext/base/engine.h"

#include "nodes/extensible.h"

/* Registers the nodes and the planner's hook. Requires  called once, when the library is loaded. */
void ifp_topk_register(void);

#endif
