/* exec/topk_scan.h -- Custom scans for ORDER BY value LIMIT k and for spans that reach into a window.
 *
 *   Custom Scan (IForestTopK)          or IForestReach: what is promised, and its price (exec/topk_scan.c, exec/topk_scan.c); what
 *   tells
 *     ->  Index Scan using spans_if    the scan below (exec/topk_scan.c), which is PostgreSQL's own: conditions, rows, rechecks
 *           ifp_get_tuple()        the entries, best first (am/index_scan.c, core/query/top_k.h)
 *
 * So all that holds of an index scan holds of this one: what a snapshot sees, row locks, row security, rescans with other
 * parameters. A top is offered wherever the first thing that the query is ordered by is a column INCLUDEd in the index; LIMIT,
 * and what else it is ordered by, are the planner's to add. A reach is offered where a condition says that spans end after
 * something.
 */
#ifndef IFP_EXEC_TOPK_SCAN_H
#define IFP_EXEC_TOPK_SCAN_H

#include "pg_ext/base/engine.h"

#include "nodes/extensible.h"

/* Makes the planner offer such scans. Once, when the library is loaded. */
void ifp_topk_register(void);

#endif
