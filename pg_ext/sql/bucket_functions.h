/* sql/bucket_functions.h -- SQL functions of buckets, windows and span ends; times and steps as arguments and results.
 *
 * Each SQL function is documented where it is created (sql/pg/iforest--*.sql).
 */
#ifndef IFP_SQL_BUCKET_FUNCTIONS_H
#define IFP_SQL_BUCKET_FUNCTIONS_H

#include "pg_ext/base/engine.h"

#include "fmgr.h"

#include "core/model/bucket.h"

/* Reads t0, t1, n, step and origin, the arguments from `first` on; missing ones are NULL. An infinite bound leaves the window
 * open at that end. Raises an error if arguments exclude each other or are out of range.
 * Requires  t0 and t1 are not NULL. */
struct iforest_bucketing ifp_bucketing_argument(FunctionCallInfo fcinfo, int first, Oid type);

/* Raises the error that the number of a bucket is out of range. */
_Noreturn void ifp_bucket_out_of_range(void);

/* Converts a time of an index to the type of the arguments. */
Datum ifp_bucket_time(int64 time, Oid type);

/* Returns the start or end of a bucket; NULL if the window is open there and not divided. */
Datum ifp_bucket_bound(const struct iforest_bucketing *bucketing, int64 bucket, bool is_end, Oid type, bool *is_null);

#endif
