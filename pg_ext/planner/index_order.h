/* planner/index_order.h -- The orders of an index's key columns, cached by a backend.
 *
 * For each query over a table the server finds out by which B-tree operator family each key column of an index is ordered. For a
 * B-tree it has that at hand. For an index of another access method it searches pg_amop twice a column, which takes more time than
 * everything else that this extension adds to the planning of a query. What it found is the same each time, so it is cached, and
 * the server is told not to search again.
 */
#ifndef IFP_PLANNER_INDEX_ORDER_H
#define IFP_PLANNER_INDEX_ORDER_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

/* Completes the iforest indexes of a table that the planner has just collected. Requires  locks on them. */
void ifp_index_order_complete(PlannerInfo *root, Oid table, RelOptInfo *rel);

#endif
