/* exec/dimension_rows.h -- Rows of a dimension in memory (planner/dimension.h), looked up by join columns. */
#ifndef IFP_EXEC_DIMENSION_ROWS_H
#define IFP_EXEC_DIMENSION_ROWS_H

#include "pg_ext/planner/dimension.h"

struct ifp_dimension_rows;

/* Prepares a dimension, in the current memory context. Expressions are evaluated in econtext. Columns of the dimension are
 * written to its scan tuple. */
struct ifp_dimension_rows *ifp_dimension_rows_begin(const struct ifp_dimension *dimension, ExprContext *econtext);

/* Reads all rows of the dimension from `node`, into the context. Forgets rows read before.
 * Requires  the node is at its first row. */
void ifp_dimension_rows_read(struct ifp_dimension_rows *rows, PlanState *node, MemoryContext context);

/* Starts a lookup of the rows that join the row in econtext, whose other columns must be set. */
void ifp_dimension_rows_start(struct ifp_dimension_rows *rows);

/* Writes the next match to the row, or NULLs if a left join or antijoin found none. Returns false after the last. */
bool ifp_dimension_rows_next(struct ifp_dimension_rows *rows);

#endif
