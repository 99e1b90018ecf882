/* planner/topk_path.h -- Paths for ORDER BY value LIMIT k, for the best rows of each series, and for spans that reach into a window.
 *
 * A path in the order of a value is added if the query's first sort key is a column INCLUDEd in the index, or rises with it; the
 * planner adds LIMIT and sorts by further keys. A path for spans that reach into a window is added if a condition requires that
 * spans end after a time. The nodes are in exec/topk_scan.h.
 */
#ifndef IFP_PLANNER_TOPK_PATH_H
#define IFP_PLANNER_TOPK_PATH_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

/* An order of the rows of an index by a value column. */
struct ifp_value_order {
	int value; /* number of the value column */
	bool descends, nulls_first;
};

/* Returns a path that gives the rows of one series after the other, in this order within each, over an IndexPath. It is for a
 * node above that leaves each series early (planner/skip_path.h), and its costs are those of all rows. Requires  a value column
 * that is no key. */
CustomPath *ifp_topk_path_of_series(PlannerInfo *root, IndexOptInfo *index, const struct ifp_value_order *order);

/* Returns the cost of starting a search by value among so many entries: it looks at those of a few leaf pages. */
Cost ifp_topk_search_cost(double n_entries);

/* Adds paths for a table, once it has its others. */
void ifp_topk_path_consider(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *table);

#endif
