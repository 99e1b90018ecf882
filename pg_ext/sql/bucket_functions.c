#include "pg_ext/sql/bucket_functions.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/supportnodes.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "core/model/aggregate.h"
#include "core/model/bucket.h"
#include "core/query/fill.h"
#include "pg_ext/base/engine.h"

/* ---- times and steps ---- */

static Oid time_argument_type(FunctionCallInfo fcinfo, int argument)
{
	Oid type = get_fn_expr_argtype(fcinfo->flinfo, argument);

	if (type != INT8OID && type != TIMESTAMPOID && type != TIMESTAMPTZOID && type != DATEOID)
		elog(ERROR, "a function of times is called with type %u", type);
	return type;
}

/* Returns a time as a number: bigint as it is, timestamps in microseconds and dates in days since 2000; -infinity and infinity
 * are the ends of int64. */
static int64 time_argument(FunctionCallInfo fcinfo, int argument, Oid type)
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

/* Returns a number as a time. Beyond the range of a type with infinities it becomes infinite. */
Datum ifp_bucket_time(int64 time, Oid type)
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

/* Returns a step in the unit of the times: bigint, interval without months, or days. Raises an error for others. */
static int64 step_argument(FunctionCallInfo fcinfo, int argument, Oid type)
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

/* Returns the default origin of steps: 0, or the first of January 1970, UTC. */
static int64 default_origin(Oid type)
{
	int64 epoch = UNIX_EPOCH_JDATE - POSTGRES_EPOCH_JDATE; /* in days */

	if (type == INT8OID)
		return 0;
	return type == DATEOID ? epoch : epoch * USECS_PER_DAY;
}

/* ---- buckets ---- */

/* Arguments of a bucketing, in this order; step and origin may be missing. */
enum { T0, T1, N, STEP, ORIGIN, N_OF_BUCKETING };

static bool is_given(FunctionCallInfo fcinfo, int argument)
{
	return argument < PG_NARGS() && !PG_ARGISNULL(argument);
}

static struct iforest_window read_window(FunctionCallInfo fcinfo, int first, Oid type)
{
	struct iforest_window window = { .t0 = time_argument(fcinfo, first + T0, type),
					 .t1 = time_argument(fcinfo, first + T1, type) };

	window.has_t0 = window.t0 != PG_INT64_MIN;
	window.has_t1 = window.t1 != PG_INT64_MAX;
	return window;
}

static int64 n_argument(FunctionCallInfo fcinfo, int argument)
{
	int64 n = PG_GETARG_INT64(argument);

	if (n <= 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("n must be greater than 0"));
	return n;
}

struct iforest_bucketing ifp_bucketing_argument(FunctionCallInfo fcinfo, int first, Oid type)
{
	struct iforest_bucketing bucketing = { .window = read_window(fcinfo, first, type) };
	bool has_n = is_given(fcinfo, first + N), has_step = is_given(fcinfo, first + STEP);

	if (has_n && has_step)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("n and step exclude each other"));
	if (!has_step && is_given(fcinfo, first + ORIGIN))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("origin needs step"));
	if (has_n)
		bucketing.n = n_argument(fcinfo, first + N);
	if (bucketing.n > 1 && (!bucketing.window.has_t0 || !bucketing.window.has_t1))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("n needs both t0 and t1"));
	if (bucketing.n > 1)
		bucketing.mode = IFOREST_COUNT;
	if (has_step) {
		bucketing.mode = IFOREST_STEP;
		bucketing.step = step_argument(fcinfo, first + STEP, type);
		bucketing.origin =
			is_given(fcinfo, first + ORIGIN) ? time_argument(fcinfo, first + ORIGIN, type) : default_origin(type);
	}
	return bucketing;
}

void ifp_bucket_out_of_range(void)
{
	ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("the number of a bucket is out of range"),
		errhint("Take a greater step, or another origin."));
}

Datum ifp_bucket_bound(const struct iforest_bucketing *bucketing, int64 bucket, bool is_end, Oid type, bool *is_null)
{
	bool after_all = false;
	int64 time;

	*is_null = (bucketing->mode == IFOREST_WHOLE && !(is_end ? bucketing->window.has_t1 : bucketing->window.has_t0)) ||
		   (bucketing->mode == IFOREST_COUNT &&
		    (bucket < 0 || bucket >= bucketing->n || iforest_window_is_empty(&bucketing->window)));
	if (*is_null)
		return (Datum)0;
	time = is_end ? iforest_bucket_end(bucketing, bucket, &after_all) : iforest_bucket_start(bucketing, bucket);
	return ifp_bucket_time(time, type);
}

IFP_SQL_FUNCTION(iforest_bucket_number);
IFP_SQL_FUNCTION(iforest_bucket_of_time);
IFP_SQL_FUNCTION(iforest_bucket_starts);
IFP_SQL_FUNCTION(iforest_bucket_ends);
IFP_SQL_FUNCTION(iforest_window_asks);
IFP_SQL_FUNCTION(iforest_overlap_asks);
IFP_SQL_FUNCTION(iforest_asks_support);
IFP_SQL_FUNCTION(iforest_window_last);

/* ---- numbers ---- */

Datum iforest_bucket_number(PG_FUNCTION_ARGS)
{
	Oid type = time_argument_type(fcinfo, 0);
	int64 time = time_argument(fcinfo, 0, type), bucket;
	struct iforest_bucketing bucketing = { .mode = IFOREST_COUNT,
					       .window = { .has_t0 = true,
							   .t0 = time_argument(fcinfo, 1, type),
							   .has_t1 = true,
							   .t1 = time_argument(fcinfo, 2, type) },
					       .n = n_argument(fcinfo, 3) };

	if (!iforest_window_holds(&bucketing.window, time) || iforest_bucket_of(&bucketing, time, &bucket))
		PG_RETURN_NULL();
	PG_RETURN_INT64(bucket);
}

Datum iforest_bucket_of_time(PG_FUNCTION_ARGS)
{
	struct iforest_bucketing bucketing;
	int64 time, bucket;
	Oid type;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1 + T0) || PG_ARGISNULL(1 + T1))
		PG_RETURN_NULL();
	type = time_argument_type(fcinfo, 0);
	time = time_argument(fcinfo, 0, type);
	bucketing = ifp_bucketing_argument(fcinfo, 1, type);
	if (bucketing.mode == IFOREST_COUNT && time < bucketing.window.t0)
		PG_RETURN_INT64(-1);
	if (bucketing.mode == IFOREST_COUNT && time >= bucketing.window.t1)
		PG_RETURN_INT64(bucketing.n);
	if (iforest_bucket_of(&bucketing, time, &bucket))
		ifp_bucket_out_of_range();
	PG_RETURN_INT64(bucket);
}

/* ---- bounds ---- */

static Datum bound(FunctionCallInfo fcinfo, bool is_end)
{
	struct iforest_bucketing bucketing;
	bool is_null;
	Datum result;
	Oid type;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1 + T0) || PG_ARGISNULL(1 + T1))
		PG_RETURN_NULL();
	type = time_argument_type(fcinfo, 1);
	bucketing = ifp_bucketing_argument(fcinfo, 1, type);
	result = ifp_bucket_bound(&bucketing, PG_GETARG_INT64(0), is_end, type, &is_null);
	fcinfo->isnull = is_null;
	return result;
}

Datum iforest_bucket_starts(PG_FUNCTION_ARGS)
{
	return bound(fcinfo, false);
}

Datum iforest_bucket_ends(PG_FUNCTION_ARGS)
{
	return bound(fcinfo, true);
}

/* ---- windows ---- */

Datum iforest_window_last(PG_FUNCTION_ARGS)
{
	Oid type = time_argument_type(fcinfo, 0);
	int64 t1 = time_argument(fcinfo, 0, type);

	if (t1 == PG_INT64_MAX)
		return ifp_bucket_time(t1, type);
	if (t1 == PG_INT64_MIN)
		PG_RETURN_NULL();
	return ifp_bucket_time(t1 - 1, type);
}

/* True if fill is given and not 'none'. Raises an error if it is unknown. */
static bool is_filled(FunctionCallInfo fcinfo, int argument, bool is_overlap)
{
	char *fill;

	if (PG_ARGISNULL(argument))
		return false;
	fill = text_to_cstring(PG_GETARG_TEXT_PP(argument));
	if (strcmp(fill, "none") == 0)
		return false;
	if (strcmp(fill, "null") == 0 || strcmp(fill, "zero") == 0)
		return true;
	if (strcmp(fill, "last") != 0 && strcmp(fill, "linear") != 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("fill is one of 'none', 'null', 'zero', 'last', 'linear'"));
	if (is_overlap)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("fill of overlaps is one of 'none', 'null', 'zero'"));
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), /* functions that know this fill do not call this */
		errmsg("fill '%s' is not known to these functions of an index", fill),
		errhint("They were made before it was: ALTER EXTENSION iforest UPDATE, and call "
			"iforest_create_functions again."));
}

/* The kind of answer that t0, t1, n, step, origin and fill select. is_anything is false for an empty window. */
struct asked {
	bool is_anything, is_open, is_filled;
};

static struct asked read_asked(FunctionCallInfo fcinfo, bool is_overlap)
{
	enum { FILL = N_OF_BUCKETING };
	struct iforest_bucketing bucketing;
	struct asked asked = { .is_anything = false };

	if (PG_ARGISNULL(T0) || PG_ARGISNULL(T1))
		return asked;
	bucketing = ifp_bucketing_argument(fcinfo, 0, time_argument_type(fcinfo, T0));
	asked.is_filled = is_filled(fcinfo, FILL, is_overlap);
	if (asked.is_filled && bucketing.mode == IFOREST_STEP && (!bucketing.window.has_t0 || !bucketing.window.has_t1))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("fill with step needs both t0 and t1"));
	asked.is_open = !bucketing.window.has_t0 && !bucketing.window.has_t1 && bucketing.mode == IFOREST_WHOLE;
	asked.is_anything = !iforest_window_is_empty(&bucketing.window);
	return asked;
}

/* The gate of an arm of windows: true if the arguments select an answer without bounds (or with), filled (or not). */
Datum iforest_window_asks(PG_FUNCTION_ARGS)
{
	enum { IS_OPEN = N_OF_BUCKETING + 1, IS_FILLED };
	struct asked asked = read_asked(fcinfo, false);

	PG_RETURN_BOOL(asked.is_anything && asked.is_open == PG_GETARG_BOOL(IS_OPEN) &&
		       asked.is_filled == PG_GETARG_BOOL(IS_FILLED));
}

/* The gate of an arm of overlaps, which do not distinguish open windows from others. */
Datum iforest_overlap_asks(PG_FUNCTION_ARGS)
{
	enum { IS_FILLED = N_OF_BUCKETING + 1 };
	struct asked asked = read_asked(fcinfo, true);

	PG_RETURN_BOOL(asked.is_anything && asked.is_filled == PG_GETARG_BOOL(IS_FILLED));
}

/* ---- gates while planning ---- */

/* True if fill, as written in a query, is known to be filled, or not to be. */
static bool is_known_fill(const Node *node, bool filled)
{
	const Const *fill = IsA(node, Const) ? (const Const *)node : NULL;
	char *name;

	if (!fill || fill->constisnull)
		return fill && !filled;
	name = TextDatumGetCString(fill->constvalue);
	return filled ? strcmp(name, "null") == 0 || strcmp(name, "zero") == 0 : strcmp(name, "none") == 0;
}

static bool is_constant_value(const Node *node)
{
	return IsA(node, Const) && !((const Const *)node)->constisnull;
}

static bool is_true(const Node *node)
{
	return is_constant_value(node) && DatumGetBool(((const Const *)node)->constvalue);
}

/* Simplifies a gate to false if the arguments known at planning time rule it out. Errors are raised by another gate, which is
 * not ruled out. */
Datum iforest_asks_support(PG_FUNCTION_ARGS)
{
	enum { FILL = N_OF_BUCKETING, N_OF_OVERLAP = FILL + 2 };
	Node *request = (Node *)PG_GETARG_POINTER(0);
	List *arguments;
	bool asks_open;

	if (!IsA(request, SupportRequestSimplify))
		PG_RETURN_POINTER(NULL);
	arguments = castNode(SupportRequestSimplify, request)->fcall->args;
	asks_open = list_length(arguments) > N_OF_OVERLAP && is_true(list_nth(arguments, FILL + 1));
	if (!(is_constant_value(llast(arguments)) && is_known_fill(list_nth(arguments, FILL), !is_true(llast(arguments)))) &&
	    !(asks_open && (is_constant_value(list_nth(arguments, N)) || is_constant_value(list_nth(arguments, STEP)))))
		PG_RETURN_POINTER(NULL);
	PG_RETURN_POINTER(makeBoolConst(false, false));
}

IFP_SQL_FUNCTION(iforest_span_ends);
IFP_SQL_FUNCTION(iforest_span_earliest);

/* ---- spans ---- */

/* Reads the unit of durations. Without one, and for dates and integers, they are in the unit of the times. */
static enum iforest_end_rule read_unit(FunctionCallInfo fcinfo, int argument, Oid type)
{
	static const struct {
		const char *unit;
		enum iforest_end_rule rule;
	} units[] = { { "us", IFOREST_END_DURATION },
		      { "ns", IFOREST_END_PER_1000 },
		      { "ms", IFOREST_END_TIMES_1000 },
		      { "s", IFOREST_END_TIMES_1000000 } };
	char *unit;

	if (PG_ARGISNULL(argument))
		return IFOREST_END_DURATION;
	unit = text_to_cstring(PG_GETARG_TEXT_PP(argument));
	for (size_t i = 0; i < lengthof(units) && (type == TIMESTAMPOID || type == TIMESTAMPTZOID); i++)
		if (strcmp(unit, units[i].unit) == 0)
			return units[i].rule;
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		errmsg("unit of durations \"%s\" is not valid for times of type %s", unit, format_type_be(type)),
		errhint("The unit is 'ns', 'us', 'ms', 's' or NULL for timestamps, and NULL for other times."));
}

Datum iforest_span_ends(PG_FUNCTION_ARGS)
{
	int64 time, duration;
	Oid type;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	type = time_argument_type(fcinfo, 0);
	time = time_argument(fcinfo, 0, type);
	if (type != INT8OID && (time == PG_INT64_MIN || time == PG_INT64_MAX))
		return ifp_bucket_time(time, type);
	duration = PG_ARGISNULL(1) ? 0 : PG_GETARG_INT64(1);
	return ifp_bucket_time(iforest_span_end(time, duration, true, read_unit(fcinfo, 2, type)), type);
}

/* Arguments: t0, longest, unit. Returns the earliest start of a span that lasts at most `longest` and reaches beyond t0. */
Datum iforest_span_earliest(PG_FUNCTION_ARGS)
{
	int64 t0, length;
	Oid type;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	type = time_argument_type(fcinfo, 0);
	t0 = time_argument(fcinfo, 0, type);
	if (PG_ARGISNULL(1) || t0 == PG_INT64_MIN || (type != INT8OID && t0 == PG_INT64_MAX))
		return ifp_bucket_time(t0, type);
	/* the reach of a span that starts at 0; if it saturates, so does the result */
	length = iforest_span_end(0, PG_GETARG_INT64(1), true, read_unit(fcinfo, 2, type));
	if (length == PG_INT64_MAX || t0 < PG_INT64_MIN + length)
		return ifp_bucket_time(PG_INT64_MIN, type);
	return ifp_bucket_time(t0 - length, type);
}

/* ---- interpolation ----
 *
 * A line between two samples, for fill => 'linear'. Times are relative to the first sample, whose distance to the second fits
 * 64 bits without a sign. */

IFP_SQL_FUNCTION(iforest_line);

/* Arguments: time, time of a, time of b, a, b. */
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

/* Interpolates dates and timestamps, rounded down. Requires  they are finite. */
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
	Oid time_type = time_argument_type(fcinfo, TIME), type = get_fn_expr_argtype(fcinfo->flinfo, A);
	int64 start = time_argument(fcinfo, TIME_A, time_type);
	uint64 part = (uint64)time_argument(fcinfo, TIME, time_type) - (uint64)start;
	uint64 width = (uint64)time_argument(fcinfo, TIME_B, time_type) - (uint64)start;
	int64 a, b;

	if (width == 0)
		PG_RETURN_NULL();
	switch (type) {
	case FLOAT8OID:
		PG_RETURN_FLOAT8(iforest_line_real(PG_GETARG_FLOAT8(A), PG_GETARG_FLOAT8(B), part, width));
	case NUMERICOID:
		return numeric_line(PG_GETARG_DATUM(A), PG_GETARG_DATUM(B), part, width);
	case DATEOID:
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
		a = time_argument(fcinfo, A, type);
		b = time_argument(fcinfo, B, type);
		if (a == PG_INT64_MIN || a == PG_INT64_MAX || b == PG_INT64_MIN || b == PG_INT64_MAX)
			PG_RETURN_NULL();
		return ifp_bucket_time(time_line(a, b, part, width), type);
	default:
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("a line is not drawn between values of type %s", format_type_be(type)));
	}
}
