/* vtab/buckets.h -- Virtual tables iforest_fold, iforest_overlap and iforest_counter: rows are buckets.
 *
 * The methods serve the table iforest, too.
 */
#ifndef IFS_VTAB_BUCKETS_H
#define IFS_VTAB_BUCKETS_H

#include "sqlite_ext/query/buckets.h"
#include "sqlite_ext/vtab/common.h"

/* The methods of modules over an index that answer with buckets. */
extern const sqlite3_module iforest_bucket_methods;

/* These methods one by one, for the module iforest, which has others besides. */
int iforest_table_best_index(sqlite3_vtab *base, sqlite3_index_info *info);
int iforest_table_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out);
int iforest_table_close(sqlite3_vtab_cursor *base);
int iforest_table_next(sqlite3_vtab_cursor *base);
int iforest_table_filter(sqlite3_vtab_cursor *base, int index_number, const char *index_text, int n_argv,
			 sqlite3_value **argv);
int iforest_table_eof(sqlite3_vtab_cursor *base);
int iforest_table_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column);
int iforest_table_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid);

/* iforest_fold: another view of an index, with fewer by columns; stores nothing, as all below. */
extern const struct iforest_module iforest_fold_module;

/* iforest_overlap: the spans that overlap a window or its buckets, by an index that has durations. */
extern const struct iforest_module iforest_overlap_module;

/* iforest_counter: the value columns of an index as counters. */
extern const struct iforest_module iforest_counter_module;

/* ---- Columns of a row ---- */

/* xColumn for every column but the hidden ones, numbered without them. Returns SQLITE_ERROR for a sum beyond 64 bits, with the
 * result set to say so. */
int iforest_row_column(sqlite3_context *context, struct iforest_query *query,
		       const struct iforest_definition *definition, int column);

/* The count, sum, min or max of a value column of that kind (core/model/aggregate.h), as in such a row. */
int iforest_row_value(sqlite3_context *context, const struct iforest_value_aggregate *value, unsigned kind,
		      enum iforest_value_column column);

#endif
