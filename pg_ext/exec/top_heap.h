/* exec/top_heap.h -- The best groups so far of a query with ORDER BY an aggregate and LIMIT (planner/top_groups.h).
 *
 * A heap of the best values of that aggregate, as many as LIMIT and OFFSET together, the worst first. The query does not return a
 * group that is worse than all of these.
 */
#ifndef IFP_EXEC_TOP_HEAP_H
#define IFP_EXEC_TOP_HEAP_H

#include "pg_ext/planner/top_groups.h"

#include "nodes/execnodes.h"

#include "core/model/aggregate.h"

struct ifp_top_heap;

/* Prepares the heap of a query, in the current memory context. Returns NULL if all groups of the query are returned. */
struct ifp_top_heap *ifp_top_heap_begin(const struct ifp_index_query *query);

/* Empties the heap. LIMIT and OFFSET are evaluated in econtext; the heap is allocated in the context. */
void ifp_top_heap_reset(struct ifp_top_heap *heap, ExprContext *econtext, MemoryContext context);

/* Adds the aggregate of a group. Returns false if the query does not return the group. Requires  it has rows.
 * Cost  O(1) if it returns false, else O(log n) for n = LIMIT + OFFSET. */
bool ifp_top_heap_add(struct ifp_top_heap *heap, const struct iforest_aggregate *group);

#endif
