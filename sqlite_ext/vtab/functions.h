/* vtab/functions.h -- Scalar and aggregate SQL functions: iforest_bucket() and the sketches of both kinds.
 *
 *   iforest_bucket(ts, t0, t1, n)            the bucket number that an index gives, in plain SQL
 *   iforest_sketch(v)                        aggregate, also over a window frame: the sketch of the numbers, a blob
 *   iforest_sketch_merge(sketch)             aggregate: the sum of sketches
 *   iforest_quantile(sketch, q [, min, max]) a quantile of the numbers
 *   iforest_rank(sketch, v)                  the share of the numbers at or below v
 *   iforest_sketch_count(sketch)             how many numbers there are
 *   iforest_distinct(x)                      aggregate: the distinct sketch of the values, a blob
 *   iforest_distinct_merge(sketch)           aggregate: the sketch of all values of sketches
 *   iforest_distinct_count(sketch)           estimated number of distinct values
 *
 * The sketch of no numbers or values is NULL.
 */
#ifndef IFS_VTAB_FUNCTIONS_H
#define IFS_VTAB_FUNCTIONS_H

#include "sqlite_ext/storage/engine.h"

/* Registers iforest_bucket(): the bucket of ts among n buckets of the window [t0, t1) (core/model/bucket.h). NULL if ts
 * lies outside or an argument is NULL; an error if one is not an integer, or n is not greater than 0. Deterministic and
 * innocuous. Returns SQLite's code. */
int ifs_bucket_function_register(sqlite3 *db);

/* Registers the sketch functions. Returns SQLite's code. */
int ifs_sketch_functions_register(sqlite3 *db);

/* Sets the error for a status that core returned for a sketch given to the SQL function `name`. Returns SQLite's code. */
int ifs_sketch_error_set(struct ifs_error *error, enum iforest_status status, const char *name);

#endif
