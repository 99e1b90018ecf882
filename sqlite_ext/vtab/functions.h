/* bucket_function.h -- iforest_bucket(ts, t0, t1, n): in plain SQL the bucket number that an index gives. */
#ifndef IFOREST_SQLITE_BUCKET_FUNCTION_H
#define IFOREST_SQLITE_BUCKET_FUNCTION_H

#include "sqlite_ext/storage/engine.h"

/* Registers the function: the bucket of ts among n buckets of the window [t0, t1) (core/model/bucket.h). NULL where ts lies outside
 * or an argument is NULL; an error where one is no integer, or n is not greater than 0. Deterministic and innocuous. */
int iforest_bucket_register(sqlite3 *db);

#endif
