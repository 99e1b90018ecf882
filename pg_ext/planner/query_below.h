/* planner/query_below.h -- Queries that a query level has planned below it, in place of its own relations.
 *
 *   Custom Scan (IForestCombine)      the level's own expressions
 *     -> Subquery Scan                what the planner makes of a query like any other
 *
 * A path of the level has to give expressions over the level's relations. The custom scan gives the subquery's columns as those
 * expressions, and computes others from them.
 */
#ifndef IFP_PLANNER_QUERY_BELOW_H
#define IFP_PLANNER_QUERY_BELOW_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

/* True if expressions mean the same in another query level, and may be evaluated there. */
bool ifp_may_move(List *expressions);

/* Returns target list entries; the first n_numbered have numbers for GROUP BY or ORDER BY. */
List *ifp_entries_of(List *expressions, int n_numbered);

/* Returns the clauses of GROUP BY or ORDER BY for columns that are numbered from 1. */
List *ifp_numbered_clauses(const List *clauses);

/* Returns SELECT entries FROM table WHERE condition. The table's columns are Vars of varno 1. */
Query *ifp_simple_query(RangeTblEntry *table, List *entries, Node *condition);

/* Returns an entry that makes a query a table of another one, and its columns as Vars of varno 1. */
RangeTblEntry *ifp_subquery_entry(Query *query);
List *ifp_columns_of(const Query *query);

/* Plans a query as a subquery of this level. Returns its path. */
Path *ifp_plan_below(PlannerInfo *root, Query *query);

/* Returns a path of `output` for the target over a path whose columns have the values of `columns`: expressions of this level,
 * of which the target and `having` (NIL: no condition) are made. Its rows have no order. */
CustomPath *ifp_combine_path(PlannerInfo *root, RelOptInfo *output, PathTarget *target, Path *below, List *columns,
			     List *having);

#endif
