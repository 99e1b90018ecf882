/* planner/index_clauses.h -- Conditions of an index scan below one of the extension's own nodes.
 */
#ifndef IFP_PLANNER_INDEX_CLAUSES_H
#define IFP_PLANNER_INDEX_CLAUSES_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

/* Returns the conditions that choose series and times, as IndexClauses. They are exact, or checked again by the index scan. */
List *ifp_index_clauses(PlannerInfo *root, IndexOptInfo *index);

/* True if there is a condition without columns: a node between the own one and the index scan would check it, and the own one
 * would not find its index scan. */
bool ifp_has_constant_condition(const RelOptInfo *rel);

#endif
