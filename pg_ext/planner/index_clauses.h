/* planner/index_clauses.h -- Index scans below the extension's own nodes: their conditions, and the node above.
 */
#ifndef IFP_PLANNER_INDEX_CLAUSES_H
#define IFP_PLANNER_INDEX_CLAUSES_H

#include "pg_ext/base/engine.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

/* Returns the conditions that select series and times, as IndexClauses. They are exact, or the index scan rechecks them. */
List *ifp_index_clauses(PlannerInfo *root, IndexOptInfo *index);

/* True if a condition has no columns. PostgreSQL checks it in a node between the extension's node and its index scan, which the
 * extension's node would then not find. */
bool ifp_has_constant_condition(const RelOptInfo *rel);

/* Returns a path of a node that hands on rows of another path over the index, without costs. */
CustomPath *ifp_path_above(IndexOptInfo *index, Path *below, const CustomPathMethods *methods);

/* Returns the plan of such a path. name: under which the node's methods are registered. */
CustomScan *ifp_plan_above(CustomPath *path, List *target, List *plans, const char *name);

#endif
