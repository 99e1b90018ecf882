/* sql_bucket_functions_own.h -- Not for others. */
#ifndef IFOREST_PG_SQL_BUCKET_FUNCTIONS_OWN_H
#define IFOREST_PG_SQL_BUCKET_FUNCTIONS_OWN_H

#include "pg_ext/base/engine.h"
#include "pg_ext/sql/bucket_functions.h"

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

#endif
