/* storage/accumulator_columns.h -- SQL columns of accumulators (core/model/kind.h): names, requested parts and results.
 *
 * The columns are ordered by kind, and within a kind by accumulator. Each kind is one row of the table in the source.
 */
#ifndef IFS_STORAGE_ACCUMULATOR_COLUMNS_H
#define IFS_STORAGE_ACCUMULATOR_COLUMNS_H

#include "core/page/leaf_fold.h"
#include "sqlite_ext/storage/engine.h"

/* Returns the number of columns: at most IFOREST_MAX_ACCUMULATOR_WORDS. */
unsigned ifs_n_accumulator_columns(const struct iforest_accumulators *accumulators);

/* Returns the name of column c, from sqlite3_mprintf(). values has the names of the value columns, and at index
 * IFOREST_MAX_VALUES that of the time column. */
char *ifs_accumulator_column_name(const struct iforest_accumulators *accumulators, const char *const *values, unsigned c);

/* Adds the parts that column c needs to a request. */
void ifs_accumulator_column_request(const struct iforest_accumulators *accumulators, unsigned c,
				    struct iforest_request *request);

/* Sets the result to column c of an aggregate. */
void ifs_accumulator_column_result(sqlite3_context *context, const struct iforest_accumulators *accumulators, unsigned c,
				   const struct iforest_aggregate *aggregate);

#endif
