/* planner/index_clauses.h -- Conditions of an index scan below one of the extension's own nodes.
 */
#ifndef IFP_PLANNER_INDEX_CLAUSES_H
#define IFP_PLANNER_INDEX_CLAUSES_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

/* Returns the conditions that select series and times, as IndexClauses. They are exact, or the index scan rechecks them. */
List *ifp_index_clauses(PlannerInfo *root, IndexOptInfo *index);

/* True if a condition has no columns. PostgreSQL checks it in a node between the extension's node and its index scan, which the
 * extension's node would then not find. */
bool ifp_has_constant_condition(const RelOptInfo *rel);

#endif
