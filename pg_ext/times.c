#include "pg_ext/times.h"

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
