/* exec/dimension_rows.h -- Rows of a dimension in memory (planner/dimension.h), found by the columns on which it is joined. */
#ifndef IFP_EXEC_DIMENSION_ROWS_H
#define IFP_EXEC_DIMENSION_ROWS_H

#include "pg_ext/planner/dimension.h"

struct ifp_dimension_rows;

/* Prepares a dimension, in the current memory context. Expressions are evaluated in econtext, over its scan tuple, into which
 * the columns of the dimension are written. */
struct ifp_dimension_rows *ifp_dimension_rows_begin(const struct ifp_dimension *dimension, ExprContext *econtext);

/* Reads all rows of the dimension from the node that gives them, into the context. Forgets those read before.
 * Requires  the node is at its beginning. */
void ifp_dimension_rows_read(struct ifp_dimension_rows *rows, PlanState *node, MemoryContext context);

/* Begins to look for the rows that belong to the row in econtext, whose other columns are set. */
void ifp_dimension_rows_start(struct ifp_dimension_rows *rows);

/* Writes the next one into the row, or NULLs if a left join or antijoin found none. Returns false after the last. */
bool ifp_dimension_rows_next(struct ifp_dimension_rows *rows);

#endif
