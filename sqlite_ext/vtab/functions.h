/* vtab/functions.h -- Scalar and aggregate SQL functions: iforest_bucket() and the quantile sketches.
 *
 *   iforest_bucket(ts, t0, t1, n)            the bucket number that an index gives, in plain SQL
 *   iforest_sketch(v)                        aggregate, also over a window frame: the sketch of the numbers, a blob
 *   iforest_sketch_merge(sketch)             aggregate: the sum of sketches
 *   iforest_quantile(sketch, q [, min, max]) a quantile of it
 *   iforest_sketch_count(sketch)             how many numbers it holds
 *
 * NULL is the sketch of no numbers.
 */
#ifndef IFS_VTAB_FUNCTIONS_H
#define IFS_VTAB_FUNCTIONS_H

#include "sqlite_ext/storage/engine.h"

/* Registers the function: the bucket of ts among n buckets of the window [t0, t1) (core/model/bucket.h). NULL where ts
 * lies outside
 * or an argument is NULL; an error where one is no integer, or n is not greater than 0. Deterministic and innocuous. */
int ifs_bucket_function_register(sqlite3 *db);

/* ---- Sketches ---- */

/* Returns SQLite's code. */
int ifs_sketch_functions_register(sqlite3 *db);

#endif
