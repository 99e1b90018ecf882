/* planner_overlap_index_own.h -- Not for others. */
#ifndef IFOREST_PG_PLANNER_OVERLAP_INDEX_OWN_H
#define IFOREST_PG_PLANNER_OVERLAP_INDEX_OWN_H

#include "pg_ext/base/engine.h"
#include "pg_ext/planner/overlap_index.h"
#include "pg_ext/planner/overlap_parts.h"
#include "pg_ext/planner/overlap_plan.h"

/* While planning: will that call of iforest_overlap_index() find one? It is not asked whether each partition has its own: that
 * would take longer than planning. False where arguments are not constants. O(indexes of the table + partitions). */
bool iforest_overlap_index_is_likely(const FuncExpr *call);

#endif
