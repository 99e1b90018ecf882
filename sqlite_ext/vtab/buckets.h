/* vtab/buckets.h -- Virtual tables iforest_fold, iforest_overlap and iforest_counter: rows are buckets. */
#ifndef IFS_VTAB_BUCKETS_H
#define IFS_VTAB_BUCKETS_H

#include "sqlite_ext/query/buckets.h"
#include "sqlite_ext/vtab/common.h"

/* Reader of buckets, for the modules below and the module iforest. */
extern const struct ifs_reader ifs_bucket_reader;

/* iforest_fold: a view of an index with fewer by columns. Like the other modules below it stores nothing. */
extern const struct ifs_module ifs_fold_module;

/* iforest_overlap: the spans that overlap a window or its buckets, from an index with durations. */
extern const struct ifs_module ifs_overlap_module;

/* iforest_counter: the value columns of an index as counters. */
extern const struct ifs_module ifs_counter_module;

/* ---- Columns of a row ---- */

/* Sets the result to the count, sum, min or max of a value column of that type (core/model/aggregate.h). If a sum overflows 64
 * bits, sets an error as the result and returns SQLITE_ERROR. */
int ifs_bucket_value(sqlite3_context *context, const struct ifs_times *times, const struct iforest_value_aggregate *value,
		     unsigned value_type, enum ifs_value_column column);

#endif
