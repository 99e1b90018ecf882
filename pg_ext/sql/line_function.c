#include "pg_ext/base/engine.h"

#include "fmgr.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "core/model/aggregate.h"
#include "pg_ext/sql/bucket_functions.h"
#include "pg_ext/sql/sql_bucket_functions_own.h"

/* A line between two samples, for fill => 'linear'. Times are within their width, whose difference has 64 bits. */

IFOREST_SQL_FUNCTION(iforest_line);

/* (time, time of a, time of b, a, b) */
enum { TIME, TIME_A, TIME_B, A, B };

static Datum number(uint64 n)
{
	Datum low = NumericGetDatum(int64_to_numeric((int64)(n >> 1)));

	return DirectFunctionCall2(numeric_add, DirectFunctionCall2(numeric_add, low, low),
				   NumericGetDatum(int64_to_numeric((int64)(n & 1))));
}

static Datum numeric_line(Datum a, Datum b, uint64 part, uint64 width)
{
	Datum rise = DirectFunctionCall2(numeric_mul, DirectFunctionCall2(numeric_sub, b, a), number(part));

	return DirectFunctionCall2(numeric_add, a, DirectFunctionCall2(numeric_div, rise, number(width)));
}

/* Of dates and timestamps: rounded down. An infinite one has no line. */
static int64 time_line(int64 a, int64 b, uint64 part, uint64 width)
{
	uint64 rise = b < a ? (uint64)a - (uint64)b : (uint64)b - (uint64)a;
	iforest_uint128 whole = (iforest_uint128)rise * part;

	if (b < a)
		return (int64)((uint64)a - (uint64)((whole + width - 1) / width));
	return (int64)((uint64)a + (uint64)(whole / width));
}

Datum iforest_line(PG_FUNCTION_ARGS)
{
	Oid time_type = iforest_time_argument_type(fcinfo, TIME), type = get_fn_expr_argtype(fcinfo->flinfo, A);
	int64 start = iforest_time_argument(fcinfo, TIME_A, time_type);
	uint64 part = (uint64)iforest_time_argument(fcinfo, TIME, time_type) - (uint64)start;
	uint64 width = (uint64)iforest_time_argument(fcinfo, TIME_B, time_type) - (uint64)start;
	int64 a, b;

	if (width == 0)
		PG_RETURN_NULL();
	switch (type) {
	case FLOAT8OID:
		PG_RETURN_FLOAT8(PG_GETARG_FLOAT8(A) * ((double)(width - part) / (double)width) +
				 PG_GETARG_FLOAT8(B) * ((double)part / (double)width));
	case NUMERICOID:
		return numeric_line(PG_GETARG_DATUM(A), PG_GETARG_DATUM(B), part, width);
	case DATEOID:
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
		a = iforest_time_argument(fcinfo, A, type);
		b = iforest_time_argument(fcinfo, B, type);
		if (a == PG_INT64_MIN || a == PG_INT64_MAX || b == PG_INT64_MIN || b == PG_INT64_MAX)
			PG_RETURN_NULL();
		return iforest_time_result(time_line(a, b, part, width), type);
	default:
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("a line is not drawn between values of type %s", format_type_be(type)));
	}
}
