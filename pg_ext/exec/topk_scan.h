/* exec/topk_scan.h -- Custom scans for ORDER BY value LIMIT k and for spans that reach into a window.
 *
 *   Custom Scan (IForestTopK)          or IForestReach: sets the order and bounds of the scan below
 *     ->  Index Scan using spans_if    PostgreSQL's own node: conditions, rows, rechecks
 *           ifp_get_tuple()            the entries, best first (am/index_scan.h, core/query/top_k.h)
 *
 * So visibility, row locks, row security and rescans with other parameters work as in any index scan. Below IForestSkip
 * (exec/skip_scan.h) it gives one series after the other. planner/topk_path.h says when a plan has such a node.
 */
#ifndef IFP_EXEC_TOPK_SCAN_H
#define IFP_EXEC_TOPK_SCAN_H

#include "pg_ext/base/engine.h"

#include "nodes/extensible.h"

/* Registers the nodes under the names by which their paths find them. Requires  called once, when the library is loaded. */
void ifp_topk_scan_register(void);

#endif
