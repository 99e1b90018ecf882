#include "pg_ext/base/engine.h"

#include "fmgr.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/supportnodes.h"
#include "utils/builtins.h"

#include "pg_ext/sql/bucket_functions.h"
#include "pg_ext/sql/sql_bucket_functions_own.h"

#include "core/model/aggregate.h"
#include "core/model/bucket.h"

IFOREST_SQL_FUNCTION(iforest_bucket_number);
IFOREST_SQL_FUNCTION(iforest_bucket_of_time);
IFOREST_SQL_FUNCTION(iforest_bucket_starts);
IFOREST_SQL_FUNCTION(iforest_bucket_ends);
IFOREST_SQL_FUNCTION(iforest_window_asks);
IFOREST_SQL_FUNCTION(iforest_overlap_asks);
IFOREST_SQL_FUNCTION(iforest_asks_support);
IFOREST_SQL_FUNCTION(iforest_window_last);

/* t0, t1, n, step, origin, in this order; step and origin may be missing. */
/* ---- numbers ---- */

Datum iforest_bucket_number(PG_FUNCTION_ARGS)
{
	Oid type = iforest_time_argument_type(fcinfo, 0);
	int64 time = iforest_time_argument(fcinfo, 0, type), bucket;
	struct iforest_bucketing bucketing = { .mode = IFOREST_COUNT,
					       .window = { .has_t0 = true, .t0 = iforest_time_argument(fcinfo, 1, type),
							   .has_t1 = true, .t1 = iforest_time_argument(fcinfo, 2, type) },
					       .n = iforest_n_argument(fcinfo, 3) };

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
	type = iforest_time_argument_type(fcinfo, 0);
	time = iforest_time_argument(fcinfo, 0, type);
	bucketing = iforest_bucketing_argument(fcinfo, 1, type);
	if (bucketing.mode == IFOREST_COUNT && time < bucketing.window.t0)
		PG_RETURN_INT64(-1);
	if (bucketing.mode == IFOREST_COUNT && time >= bucketing.window.t1)
		PG_RETURN_INT64(bucketing.n);
	if (iforest_bucket_of(&bucketing, time, &bucket))
		iforest_bucket_out_of_range();
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
	type = iforest_time_argument_type(fcinfo, 1);
	bucketing = iforest_bucketing_argument(fcinfo, 1, type);
	result = iforest_bucket_bound(&bucketing, PG_GETARG_INT64(0), is_end, type, &is_null);
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
	Oid type = iforest_time_argument_type(fcinfo, 0);
	int64 t1 = iforest_time_argument(fcinfo, 0, type);

	if (t1 == PG_INT64_MAX)
		return iforest_time_result(t1, type);
	if (t1 == PG_INT64_MIN)
		PG_RETURN_NULL();
	return iforest_time_result(t1 - 1, type);
}

/* Is fill given, and not 'none'? */
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
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), /* those that know it do not ask here */
		errmsg("fill '%s' is not known to these functions of an index", fill),
		errhint("They were made before it was: ALTER EXTENSION iforest UPDATE, and call "
			"iforest_create_functions again."));
}

/* What t0, t1, n, step, origin and fill ask for. Of a window in which no time lies, nothing. */
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
	bucketing = iforest_bucketing_argument(fcinfo, 0, iforest_time_argument_type(fcinfo, T0));
	asked.is_filled = is_filled(fcinfo, FILL, is_overlap);
	if (asked.is_filled && bucketing.mode == IFOREST_STEP && (!bucketing.window.has_t0 || !bucketing.window.has_t1))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("fill with step needs both t0 and t1"));
	asked.is_open = !bucketing.window.has_t0 && !bucketing.window.has_t1 && bucketing.mode == IFOREST_WHOLE;
	asked.is_anything = !iforest_window_is_empty(&bucketing.window);
	return asked;
}

/* Is that an answer without bounds (or with), and filled (or not)? */
Datum iforest_window_asks(PG_FUNCTION_ARGS)
{
	enum { IS_OPEN = N_OF_BUCKETING + 1, IS_FILLED };
	struct asked asked = read_asked(fcinfo, false);

	PG_RETURN_BOOL(asked.is_anything && asked.is_open == PG_GETARG_BOOL(IS_OPEN) &&
		       asked.is_filled == PG_GETARG_BOOL(IS_FILLED));
}

/* Of overlaps, which know no difference between what is open and what is not. */
Datum iforest_overlap_asks(PG_FUNCTION_ARGS)
{
	enum { IS_FILLED = N_OF_BUCKETING + 1 };
	struct asked asked = read_asked(fcinfo, true);

	PG_RETURN_BOOL(asked.is_anything && asked.is_filled == PG_GETARG_BOOL(IS_FILLED));
}

/* ---- while planning ---- */

/* Is that fill, as it is written in a query, known to be none, or to be one? */
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

/* Of arguments some of which are not known yet: false where those that are rule it out. Errors are raised by the one of the
 * gates that this does not go for. */
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
