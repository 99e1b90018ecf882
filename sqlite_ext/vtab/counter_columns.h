/* counter_columns.h -- what core/query/counting.h tells of a bucket, as the columns of iforest_counter. */
#ifndef IFOREST_SQLITE_COUNTER_COLUMNS_H
#define IFOREST_SQLITE_COUNTER_COLUMNS_H

#include "core/query/counting.h"
#include "sqlite_ext/storage/definition.h"

/* xColumn of a column of value v. Returns SQLITE_ERROR for an increase beyond 64 bits, with the result set to say so. */
int iforest_counter_column_result(sqlite3_context *context, const struct iforest_counting *counting, unsigned v,
				  enum iforest_counter_column column);

#endif
