/* planner/quick_refusal.h -- What tells, before anything is made of a query, that an index does not answer it.
 *
 * Most queries over a table are none for its index, and should not pay for that. These look at the query's expressions as they
 * are, over the table, and allocate nothing. planner/query_match.h finds out the same later, and says why.
 */
#ifndef IFP_PLANNER_QUICK_REFUSAL_H
#define IFP_PLANNER_QUICK_REFUSAL_H

#include "pg_ext/planner/query_level.h"

/* True if the column belongs to the level's table and is never NULL. */
bool ifp_is_never_null(const struct ifp_query_level *level, Var *var);

/* True if the expression gives no value to two rows, compared by the operator `equality`: a column that is never NULL and has a
 * unique index, or a CASE that gives that column to some rows and NULL to others. */
bool ifp_differs_by_row(const struct ifp_query_level *level, Node *expression, Oid equality);

/* Returns a column of the table that is needed and that the index lacks; NULL if that is not as simple.
 * restrictions: RestrictInfos, over the table; columns: of the index, as expressions or target list entries. */
Var *ifp_find_lacking(const struct ifp_query_level *level, const List *restrictions, const List *columns);

/* True if a group key has a value column of many values, or an aggregate asks more of one than sums, extremes and counts, and nothing in
 * it tells values apart: without kept histograms the index does not answer the query. columns: of the index, as expressions over the query's table, and any
 * others behind them. */
bool ifp_asks_too_much(const struct ifp_query_level *level, const List *columns, const IndexOptInfo *index,
		       const List *aggregates);

#endif
