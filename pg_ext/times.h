/* times.h -- times as SQL functions are given them: datums of a type that is known at the call, and 64-bit numbers. */
#ifndef IFOREST_PG_TIMES_H
#define IFOREST_PG_TIMES_H

#include "pg_ext/host.h"

#include "fmgr.h"

#include "core/bucket.h"

/* bigint as it is, timestamps in microseconds and dates in days since 2000; -infinity and infinity are the ends of int64. */
int64 iforest_time_argument(FunctionCallInfo fcinfo, int argument, Oid type);

/* And back; what lies beyond the type's range becomes infinite. Without infinities, bigint, it is the number. */
Datum iforest_time_result(int64 time, Oid type);

/* The type of an argument of time. */
Oid iforest_time_argument_type(FunctionCallInfo fcinfo, int argument);

/* A step in the unit of the times: bigint, interval without months, or days. Raises an error of others. */
int64 iforest_step_argument(FunctionCallInfo fcinfo, int argument, Oid type);

/* The moment that steps are counted from where no other is given: 0, or the first of January 1970, UTC. */
int64 iforest_default_origin(Oid type);

/* A number of buckets: greater than 0. */
int64 iforest_n_argument(FunctionCallInfo fcinfo, int argument);

/* t0, t1, n, step and origin, the arguments from `first` on; what is beyond the last is NULL. A window to an end of time is
 * open there. Raises errors of what does not go together.
 * Requires  t0 and t1 are not NULL. */
struct iforest_bucketing iforest_bucketing_argument(FunctionCallInfo fcinfo, int first, Oid type);

_Noreturn void iforest_bucket_out_of_range(void);

/* The start or end of a bucket; NULL where the window is open and not cut. */
Datum iforest_bucket_bound(const struct iforest_bucketing *bucketing, int64 bucket, bool is_end, Oid type, bool *is_null);

#endif
