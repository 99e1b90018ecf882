#include "pg_ext/sql/bucket_functions.h"
#include "pg_ext/sql/sql_bucket_functions_own.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "datatype/timestamp.h"
#include "utils/date.h"
#include "utils/timestamp.h"

Oid iforest_time_argument_type(FunctionCallInfo fcinfo, int argument)
{
	Oid type = get_fn_expr_argtype(fcinfo->flinfo, argument);

	if (type != INT8OID && type != TIMESTAMPOID && type != TIMESTAMPTZOID && type != DATEOID)
		elog(ERROR, "a function of times is called with type %u", type);
	return type;
}

int64 iforest_time_argument(FunctionCallInfo fcinfo, int argument, Oid type)
{
	DateADT date;

	if (type != DATEOID)
		return PG_GETARG_INT64(argument);
	date = PG_GETARG_DATEADT(argument);
	if (DATE_IS_NOBEGIN(date))
		return PG_INT64_MIN;
	return DATE_IS_NOEND(date) ? PG_INT64_MAX : date;
}

static int64 date_of(int64 day)
{
	if (day < DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE)
		return DATEVAL_NOBEGIN;
	return day >= DATE_END_JULIAN - POSTGRES_EPOCH_JDATE ? DATEVAL_NOEND : day;
}

Datum iforest_time_result(int64 time, Oid type)
{
	if (type == DATEOID)
		return DateADTGetDatum((DateADT)date_of(time));
	if (type != INT8OID && time < MIN_TIMESTAMP)
		time = PG_INT64_MIN;
	else if (type != INT8OID && time >= END_TIMESTAMP)
		time = PG_INT64_MAX;
	return Int64GetDatum(time);
}

static int64 interval_microseconds(const Interval *interval)
{
	int64 microseconds;

	if (interval->month != 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("step must not have months or years"),
			errhint("They differ in length: GROUP BY date_trunc('month', ...)."));
	if (pg_mul_s64_overflow(interval->day, USECS_PER_DAY, &microseconds) ||
	    pg_add_s64_overflow(microseconds, interval->time, &microseconds))
		ereport(ERROR, errcode(ERRCODE_INTERVAL_FIELD_OVERFLOW), errmsg("step is out of range"));
	return microseconds;
}

int64 iforest_step_argument(FunctionCallInfo fcinfo, int argument, Oid type)
{
	int64 step;

	if (type == INT8OID)
		step = PG_GETARG_INT64(argument);
	else
		step = type == DATEOID ? PG_GETARG_INT32(argument) : interval_microseconds(PG_GETARG_INTERVAL_P(argument));
	if (step <= 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("step must be greater than 0"));
	return step;
}

int64 iforest_default_origin(Oid type)
{
	int64 epoch = UNIX_EPOCH_JDATE - POSTGRES_EPOCH_JDATE; /* in days */

	if (type == INT8OID)
		return 0;
	return type == DATEOID ? epoch : epoch * USECS_PER_DAY;
}

/* ---- buckets ---- */

enum { T0, T1, N, STEP, ORIGIN, N_OF_BUCKETING };

static bool is_given(FunctionCallInfo fcinfo, int argument)
{
	return argument < PG_NARGS() && !PG_ARGISNULL(argument);
}

static struct iforest_window read_window(FunctionCallInfo fcinfo, int first, Oid type)
{
	struct iforest_window window = { .t0 = iforest_time_argument(fcinfo, first + T0, type),
					 .t1 = iforest_time_argument(fcinfo, first + T1, type) };

	window.has_t0 = window.t0 != PG_INT64_MIN;
	window.has_t1 = window.t1 != PG_INT64_MAX;
	return window;
}

int64 iforest_n_argument(FunctionCallInfo fcinfo, int argument)
{
	int64 n = PG_GETARG_INT64(argument);

	if (n <= 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("n must be greater than 0"));
	return n;
}

struct iforest_bucketing iforest_bucketing_argument(FunctionCallInfo fcinfo, int first, Oid type)
{
	struct iforest_bucketing bucketing = { .window = read_window(fcinfo, first, type) };
	bool has_n = is_given(fcinfo, first + N), has_step = is_given(fcinfo, first + STEP);

	if (has_n && has_step)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("n and step exclude each other"));
	if (!has_step && is_given(fcinfo, first + ORIGIN))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("origin needs step"));
	if (has_n)
		bucketing.n = iforest_n_argument(fcinfo, first + N);
	if (bucketing.n > 1 && (!bucketing.window.has_t0 || !bucketing.window.has_t1))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("n needs both t0 and t1"));
	if (bucketing.n > 1)
		bucketing.mode = IFOREST_COUNT;
	if (has_step) {
		bucketing.mode = IFOREST_STEP;
		bucketing.step = iforest_step_argument(fcinfo, first + STEP, type);
		bucketing.origin = is_given(fcinfo, first + ORIGIN) ? iforest_time_argument(fcinfo, first + ORIGIN, type)
								    : iforest_default_origin(type);
	}
	return bucketing;
}

void iforest_bucket_out_of_range(void)
{
	ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("the number of a bucket is out of range"),
		errhint("Take a greater step, or another origin."));
}

Datum iforest_bucket_bound(const struct iforest_bucketing *bucketing, int64 bucket, bool is_end, Oid type, bool *is_null)
{
	bool after_all = false;
	int64 time;

	*is_null = (bucketing->mode == IFOREST_WHOLE && !(is_end ? bucketing->window.has_t1 : bucketing->window.has_t0)) ||
		   (bucketing->mode == IFOREST_COUNT &&
		    (bucket < 0 || bucket >= bucketing->n || iforest_window_is_empty(&bucketing->window)));
	if (*is_null)
		return (Datum)0;
	time = is_end ? iforest_bucket_end(bucketing, bucket, &after_all) : iforest_bucket_start(bucketing, bucket);
	return iforest_time_result(time, type);
}
