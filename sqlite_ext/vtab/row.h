/* row.h -- the columns of an answer's row. */
#ifndef IFOREST_SQLITE_ROW_H
#define IFOREST_SQLITE_ROW_H

#include "sqlite_ext/query/query.h"

/* xColumn for every column but the hidden ones, numbered without them. Returns SQLITE_ERROR for a sum beyond 64 bits, with the
 * result set to say so. */
int iforest_row_column(sqlite3_context *context, struct iforest_query *query,
		       const struct iforest_definition *definition, int column);

/* The count, sum, min or max of a value column of that kind (core/model/aggregate.h), as in such a row. */
int iforest_row_value(sqlite3_context *context, const struct iforest_value_aggregate *value, unsigned kind,
		      enum iforest_value_column column);

#endif
