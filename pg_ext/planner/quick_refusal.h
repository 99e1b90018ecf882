/* planner/quick_refusal.h -- Cheap tests that reject a query for an index before it is analyzed.
 *
 * An index answers few of the queries over its table, and the others should not pay for it. These tests look at the query's
 * expressions over the table and allocate nothing. planner/query_match.h would reject the same queries later, with a reason.
 */
#ifndef IFP_PLANNER_QUICK_REFUSAL_H
#define IFP_PLANNER_QUICK_REFUSAL_H

#include "pg_ext/planner/query_level.h"

/* True if the column belongs to the level's table and is never NULL. */
bool ifp_is_never_null(const struct ifp_query_level *level, Var *var);

/* True if no two rows have equal values of the expression, compared by the operator `equality`: a column that is never NULL and
 * has a unique index, or a CASE that gives that column for some rows and NULL for others. */
bool ifp_differs_by_row(const struct ifp_query_level *level, Node *expression, Oid equality);

/* Returns a column of the table that the query needs and the index does not have, or NULL if no such column is found easily.
 * restrictions: RestrictInfos, over the table; columns: of the index, as expressions or target list entries. */
Var *ifp_find_lacking(const struct ifp_query_level *level, const List *restrictions, const List *columns);

/* True if the index cannot answer the query without kept histograms: a group key has a value column of many values, or an
 * aggregate needs more of one than sums, extremes and counts, and nothing in that key or aggregate tells values apart. columns:
 * columns of the index, as expressions over the query's table; others may follow. */
bool ifp_asks_too_much(const struct ifp_query_level *level, const List *columns, const IndexOptInfo *index,
		       const List *aggregates);

#endif
