/* vtab/buckets.h -- Virtual tables iforest_fold, iforest_overlap and iforest_counter: rows are buckets.
 *
 * The methods serve the table iforest, too.
 */
#ifndef IFS_VTAB_BUCKETS_H
#define IFS_VTAB_BUCKETS_H

#include "sqlite_ext/query/buckets.h"
#include "sqlite_ext/vtab/common.h"

/* Methods of the modules over an index that answer with buckets. */
extern const sqlite3_module ifs_bucket_methods;

/* The same methods one by one, for the module iforest, which has others besides. */
int ifs_buckets_best_index(sqlite3_vtab *base, sqlite3_index_info *info);
int ifs_buckets_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out);
int ifs_buckets_close(sqlite3_vtab_cursor *base);
int ifs_buckets_next(sqlite3_vtab_cursor *base);
int ifs_buckets_filter(sqlite3_vtab_cursor *base, int index_number, const char *index_text, int n_argv, sqlite3_value **argv);
int ifs_buckets_eof(sqlite3_vtab_cursor *base);
int ifs_buckets_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column);
int ifs_buckets_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid);

/* iforest_fold: a view of an index with fewer by columns. Stores nothing, as all below. */
extern const struct ifs_module ifs_fold_module;

/* iforest_overlap: the spans that overlap a window or its buckets, from an index with durations. */
extern const struct ifs_module ifs_overlap_module;

/* iforest_counter: the value columns of an index as counters. */
extern const struct ifs_module ifs_counter_module;

/* ---- Columns of a row ---- */

/* Sets the result to the count, sum, min or max of a value column of that type (core/model/aggregate.h). Returns
 * SQLITE_ERROR for a sum beyond 64 bits, with the result set to say so. */
int ifs_bucket_value(sqlite3_context *context, const struct iforest_value_aggregate *value, unsigned value_type,
		     enum ifs_value_column column);

#endif
