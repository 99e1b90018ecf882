#include "pg_ext/base/engine.h"

#include "fmgr.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "pg_ext/sql/bucket_functions.h"
#include "pg_ext/sql/sql_bucket_functions_own.h"

#include "core/model/aggregate.h"

IFOREST_SQL_FUNCTION(iforest_span_ends);
IFOREST_SQL_FUNCTION(iforest_span_earliest);

/* Durations count in the unit of the times where none is given, and beside dates and integers. */
static enum iforest_end_rule read_unit(FunctionCallInfo fcinfo, int argument, Oid type)
{
	static const struct {
		const char *unit;
		enum iforest_end_rule rule;
	} units[] = { { "us", IFOREST_END_DURATION }, { "ns", IFOREST_END_PER_1000 }, { "ms", IFOREST_END_TIMES_1000 },
		      { "s", IFOREST_END_TIMES_1000000 } };
	char *unit;

	if (PG_ARGISNULL(argument))
		return IFOREST_END_DURATION;
	unit = text_to_cstring(PG_GETARG_TEXT_PP(argument));
	for (size_t i = 0; i < lengthof(units) && (type == TIMESTAMPOID || type == TIMESTAMPTZOID); i++)
		if (strcmp(unit, units[i].unit) == 0)
			return units[i].rule;
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unit \"%s\" is none of these times", unit),
		errhint("Beside timestamps it is 'ns', 'us', 'ms', 's' or NULL, beside others NULL."));
}

Datum iforest_span_ends(PG_FUNCTION_ARGS)
{
	int64 time, duration;
	Oid type;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	type = iforest_time_argument_type(fcinfo, 0);
	time = iforest_time_argument(fcinfo, 0, type);
	if (type != INT8OID && (time == PG_INT64_MIN || time == PG_INT64_MAX))
		return iforest_time_result(time, type);
	duration = PG_ARGISNULL(1) ? 0 : PG_GETARG_INT64(1);
	return iforest_time_result(iforest_span_end(time, duration, true, read_unit(fcinfo, 2, type)), type);
}

/* No span that lasts no longer than `longest` and reaches beyond t0 starts before. */
Datum iforest_span_earliest(PG_FUNCTION_ARGS)
{
	int64 t0, length;
	Oid type;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	type = iforest_time_argument_type(fcinfo, 0);
	t0 = iforest_time_argument(fcinfo, 0, type);
	if (PG_ARGISNULL(1) || t0 == PG_INT64_MIN || (type != INT8OID && t0 == PG_INT64_MAX))
		return iforest_time_result(t0, type);
	/* how far a span reaches from 0; saturated, as its start must be then */
	length = iforest_span_end(0, PG_GETARG_INT64(1), true, read_unit(fcinfo, 2, type));
	if (length == PG_INT64_MAX || t0 < PG_INT64_MIN + length)
		return iforest_time_result(PG_INT64_MIN, type);
	return iforest_time_result(t0 - length, type);
}
