/* sql/bucket_functions.h -- SQL functions of buckets, windows and span ends; times and steps as arguments and results. */
#ifndef IFP_SQL_BUCKET_FUNCTIONS_H
#define IFP_SQL_BUCKET_FUNCTIONS_H

#include "pg_ext/base/engine.h"

#include "fmgr.h"

#include "core/model/bucket.h"

/* t0, t1, n, step and origin, the arguments from `first` on; what is beyond the last is NULL. A window to an end of time is
 * open there. Raises errors of what does not go together.
 * Requires  t0 and t1 are not NULL. */
struct iforest_bucketing ifp_bucketing_argument(FunctionCallInfo fcinfo, int first, Oid type);

_Noreturn void ifp_bucket_out_of_range(void);

/* The start or end of a bucket; NULL where the window is open and not cut. */
Datum ifp_bucket_bound(const struct iforest_bucketing *bucketing, int64 bucket, bool is_end, Oid type, bool *is_null);

#endif
