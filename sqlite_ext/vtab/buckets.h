/* vtab_buckets.h -- virtual tables that answer with buckets. */
#ifndef IFOREST_SQLITE_VTAB_BUCKETS_H
#define IFOREST_SQLITE_VTAB_BUCKETS_H

#include "sqlite_ext/vtab/borrow.h"
#include "sqlite_ext/vtab/vtab.h"

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

#endif
