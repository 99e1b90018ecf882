#include "pg_ext/planner/monotone.h"

#include <math.h>

#include "access/nbtree.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "pg_ext/base/known_functions.h"
#include "pg_ext/types/definition.h"
#include "pg_ext/types/values.h"

/* ---- the list of monotone functions ---- */

/* Breaks that a function adds for its monotone argument. */
enum breaks {
	NO_BREAKS,
	UTC_OF_SESSION,	  /* the argument is converted to local time of the session's zone */
	LOCAL_OF_SESSION, /* the argument is local time of the session's zone */
	UTC_OF_ARGUMENT,  /* the argument is converted to local time of the zone that another argument names */
	LOCAL_OF_ARGUMENT /* the argument is local time of the zone that another argument names */
};

struct monotone_function {
	Oid function;
	int argument; /* the function is monotone in it, whatever constants the others are */
	enum breaks breaks;
	int zone; /* the argument that names the zone */
};

static const struct monotone_function functions[] = {
	{ F_DATE_TRUNC_TEXT_TIMESTAMP, 1, NO_BREAKS, 0 },
	{ F_DATE_TRUNC_TEXT_TIMESTAMPTZ, 1, UTC_OF_SESSION, 0 },
	{ F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT, 1, UTC_OF_ARGUMENT, 2 },
	{ F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP, 1, NO_BREAKS, 0 },
	{ F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ, 1, NO_BREAKS, 0 },
	{ F_TIMEZONE_TEXT_TIMESTAMPTZ, 1, UTC_OF_ARGUMENT, 0 },
	{ F_TIMEZONE_TEXT_TIMESTAMP, 1, LOCAL_OF_ARGUMENT, 0 },
	{ F_TIMEZONE_INTERVAL_TIMESTAMPTZ, 1, NO_BREAKS, 0 },
	{ F_TIMEZONE_INTERVAL_TIMESTAMP, 1, NO_BREAKS, 0 },
	{ F_TO_TIMESTAMP_FLOAT8, 0, NO_BREAKS, 0 },
	{ F_TIMESTAMP_MI, 0, NO_BREAKS, 0 },
	{ F_TIMESTAMP_MI, 1, NO_BREAKS, 0 },
	{ F_TIMESTAMPTZ_MI, 0, NO_BREAKS, 0 },
	{ F_TIMESTAMPTZ_MI, 1, NO_BREAKS, 0 },
	{ F_DATE_MI, 0, NO_BREAKS, 0 },
	{ F_DATE_MI, 1, NO_BREAKS, 0 },
	{ F_DATE_PLI, 0, NO_BREAKS, 0 },
	{ F_DATE_PLI, 1, NO_BREAKS, 0 },
	{ F_DATE_MII, 0, NO_BREAKS, 0 },
	{ F_DATE_MII, 1, NO_BREAKS, 0 },

	/* casts */
	{ F_DATE_TIMESTAMPTZ, 0, UTC_OF_SESSION, 0 },
	{ F_TIMESTAMP_TIMESTAMPTZ, 0, UTC_OF_SESSION, 0 },
	{ F_TIMESTAMPTZ_TIMESTAMP, 0, LOCAL_OF_SESSION, 0 },
	{ F_TIMESTAMPTZ_DATE, 0, LOCAL_OF_SESSION, 0 },
	{ F_DATE_TIMESTAMP, 0, NO_BREAKS, 0 },
	{ F_TIMESTAMP_DATE, 0, NO_BREAKS, 0 },
	{ F_TIMESTAMP_TIMESTAMP_INT4, 0, NO_BREAKS, 0 },
	{ F_TIMESTAMPTZ_TIMESTAMPTZ_INT4, 0, NO_BREAKS, 0 },
	{ F_INT2_INT4, 0, NO_BREAKS, 0 },
	{ F_INT2_INT8, 0, NO_BREAKS, 0 },
	{ F_INT4_INT2, 0, NO_BREAKS, 0 },
	{ F_INT4_INT8, 0, NO_BREAKS, 0 },
	{ F_INT8_INT2, 0, NO_BREAKS, 0 },
	{ F_INT8_INT4, 0, NO_BREAKS, 0 },
	{ F_INT2_FLOAT4, 0, NO_BREAKS, 0 },
	{ F_INT2_FLOAT8, 0, NO_BREAKS, 0 },
	{ F_INT4_FLOAT4, 0, NO_BREAKS, 0 },
	{ F_INT4_FLOAT8, 0, NO_BREAKS, 0 },
	{ F_INT8_FLOAT4, 0, NO_BREAKS, 0 },
	{ F_INT8_FLOAT8, 0, NO_BREAKS, 0 },
	{ F_INT2_NUMERIC, 0, NO_BREAKS, 0 },
	{ F_INT4_NUMERIC, 0, NO_BREAKS, 0 },
	{ F_INT8_NUMERIC, 0, NO_BREAKS, 0 },
	{ F_FLOAT4_INT2, 0, NO_BREAKS, 0 },
	{ F_FLOAT4_INT4, 0, NO_BREAKS, 0 },
	{ F_FLOAT4_INT8, 0, NO_BREAKS, 0 },
	{ F_FLOAT4_FLOAT8, 0, NO_BREAKS, 0 },
	{ F_FLOAT4_NUMERIC, 0, NO_BREAKS, 0 },
	{ F_FLOAT8_INT2, 0, NO_BREAKS, 0 },
	{ F_FLOAT8_INT4, 0, NO_BREAKS, 0 },
	{ F_FLOAT8_INT8, 0, NO_BREAKS, 0 },
	{ F_FLOAT8_FLOAT4, 0, NO_BREAKS, 0 },
	{ F_FLOAT8_NUMERIC, 0, NO_BREAKS, 0 },
	{ F_NUMERIC_INT2, 0, NO_BREAKS, 0 },
	{ F_NUMERIC_INT4, 0, NO_BREAKS, 0 },
	{ F_NUMERIC_INT8, 0, NO_BREAKS, 0 },
	{ F_NUMERIC_FLOAT4, 0, NO_BREAKS, 0 },
	{ F_NUMERIC_FLOAT8, 0, NO_BREAKS, 0 },
	{ F_NUMERIC_NUMERIC_INT4, 0, NO_BREAKS, 0 },

	/* rounding */
	{ F_FLOOR_NUMERIC, 0, NO_BREAKS, 0 },
	{ F_FLOOR_FLOAT8, 0, NO_BREAKS, 0 },
	{ F_CEIL_NUMERIC, 0, NO_BREAKS, 0 },
	{ F_CEIL_FLOAT8, 0, NO_BREAKS, 0 },
	{ F_CEILING_NUMERIC, 0, NO_BREAKS, 0 },
	{ F_CEILING_FLOAT8, 0, NO_BREAKS, 0 },
	{ F_TRUNC_FLOAT8, 0, NO_BREAKS, 0 },
	{ F_TRUNC_NUMERIC_INT4, 0, NO_BREAKS, 0 },
	{ F_ROUND_FLOAT8, 0, NO_BREAKS, 0 },
	{ F_ROUND_NUMERIC_INT4, 0, NO_BREAKS, 0 },
	{ F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4, 0, NO_BREAKS, 0 },
	{ F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4, 0, NO_BREAKS, 0 },
	{ F_WIDTH_BUCKET_ANYCOMPATIBLE_ANYCOMPATIBLEARRAY, 0, NO_BREAKS, 0 }, /* uses a binary search, so monotone for any
									       * array */

	/* division by a constant */
	{ F_INT2DIV, 0, NO_BREAKS, 0 },
	{ F_INT4DIV, 0, NO_BREAKS, 0 },
	{ F_INT8DIV, 0, NO_BREAKS, 0 },
	{ F_INT24DIV, 0, NO_BREAKS, 0 },
	{ F_INT28DIV, 0, NO_BREAKS, 0 },
	{ F_INT42DIV, 0, NO_BREAKS, 0 },
	{ F_INT48DIV, 0, NO_BREAKS, 0 },
	{ F_INT82DIV, 0, NO_BREAKS, 0 },
	{ F_INT84DIV, 0, NO_BREAKS, 0 },
	{ F_DIV, 0, NO_BREAKS, 0 },
	{ F_FLOAT4DIV, 0, NO_BREAKS, 0 },
	{ F_FLOAT8DIV, 0, NO_BREAKS, 0 },
	{ F_FLOAT48DIV, 0, NO_BREAKS, 0 },
	{ F_FLOAT84DIV, 0, NO_BREAKS, 0 },

	{ F_INT2UM, 0, NO_BREAKS, 0 },
	{ F_INT4UM, 0, NO_BREAKS, 0 },
	{ F_INT8UM, 0, NO_BREAKS, 0 },
	{ F_NUMERIC_UMINUS, 0, NO_BREAKS, 0 },
	{ F_FLOAT4UM, 0, NO_BREAKS, 0 },
	{ F_FLOAT8UM, 0, NO_BREAKS, 0 },
};

/* monotone in either argument */
static const Oid sums_and_products[] = {
	F_INT2PL,    F_INT4PL,	  F_INT8PL,	F_INT24PL,    F_INT28PL,     F_INT42PL,	    F_INT48PL,
	F_INT82PL,   F_INT84PL,	  F_INT2MI,	F_INT4MI,     F_INT8MI,	     F_INT24MI,	    F_INT28MI,
	F_INT42MI,   F_INT48MI,	  F_INT82MI,	F_INT84MI,    F_INT2MUL,     F_INT4MUL,	    F_INT8MUL,
	F_INT24MUL,  F_INT28MUL,  F_INT42MUL,	F_INT48MUL,   F_INT82MUL,    F_INT84MUL,    F_FLOAT4PL,
	F_FLOAT8PL,  F_FLOAT48PL, F_FLOAT84PL,	F_FLOAT4MI,   F_FLOAT8MI,    F_FLOAT48MI,   F_FLOAT84MI,
	F_FLOAT4MUL, F_FLOAT8MUL, F_FLOAT48MUL, F_FLOAT84MUL, F_NUMERIC_ADD, F_NUMERIC_SUB, F_NUMERIC_MUL,
};

/* products in which 0 * infinity is NaN, which would break the order from -infinity to infinity */
static const Oid real_products[] = { F_FLOAT4MUL, F_FLOAT8MUL, F_FLOAT48MUL, F_FLOAT84MUL, F_NUMERIC_MUL };

static const Oid remainders[] = { F_INT2MOD,	   F_INT4MOD,	    F_INT8MOD,	   F_MOD_INT2_INT2,
				  F_MOD_INT4_INT4, F_MOD_INT8_INT8, F_NUMERIC_MOD, F_MOD_NUMERIC_NUMERIC };
static const Oid roundings[] = { F_FLOOR_NUMERIC, F_CEIL_NUMERIC, F_CEILING_NUMERIC };
static const Oid differences[] = { F_INT2MI, F_INT4MI, F_INT8MI, F_NUMERIC_SUB };
static const Oid extracts[] = { F_EXTRACT_TEXT_TIMESTAMP,   F_EXTRACT_TEXT_TIMESTAMPTZ,	  F_EXTRACT_TEXT_INTERVAL,
				F_DATE_PART_TEXT_TIMESTAMP, F_DATE_PART_TEXT_TIMESTAMPTZ, F_DATE_PART_TEXT_INTERVAL,
				F_EXTRACT_TEXT_DATE };

static bool is_one_of(Oid function, const Oid *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == function)
			return true;
	return false;
}

#define IS_ONE_OF(function, list) is_one_of(function, list, lengthof(list))

/* ---- calls ---- */

/* True if no other argument has columns. */
static bool others_are_constant(const List *arguments, int argument)
{
	for (int i = 0; i < list_length(arguments); i++)
		if (i != argument && ifp_has_columns(list_nth(arguments, i)))
			return false;
	return true;
}

/* ---- breaks ---- */

static void add_break(List **breaks, Node *argument, Node *zone, enum ifp_break_type type)
{
	List *one =
		list_make3(argument, zone, makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(type), false, true));

	if (!list_member(*breaks, one))
		*breaks = lappend(*breaks, one);
}

enum ifp_break_type ifp_break_type(const List *one)
{
	return (enum ifp_break_type)DatumGetInt32(castNode(Const, lthird(one))->constvalue);
}

/* ---- intervals ---- */

/* The largest unit that an interval may have. */
enum unit { TIME, DAYS, MONTHS };

static enum unit unit_of(Node *interval)
{
	List *arguments;

	if (IsA(interval, Const) && !castNode(Const, interval)->constisnull) {
		Interval *value = DatumGetIntervalP(castNode(Const, interval)->constvalue);

		return value->month != 0 ? MONTHS : value->day != 0 ? DAYS : TIME;
	}
	switch (ifp_called_function(interval, &arguments)) {
	case F_INTERVAL_MUL:
	case F_INTERVAL_UM:
		return unit_of(linitial(arguments));
	case F_MUL_D_INTERVAL:
		return unit_of(lsecond(arguments));
	case F_TIMESTAMP_MI:
	case F_TIMESTAMPTZ_MI:
		return DAYS;
	default:
		return MONTHS;
	}
}

/* True for x * interval without days and months. (An interval of days would be split into whole days and the rest of a day.) */
static bool is_multiple(Node *interval, AttrNumber attribute, List **breaks)
{
	List *arguments;
	Oid function = ifp_called_function(interval, &arguments);
	int factor = function == F_INTERVAL_MUL ? 1 : 0;

	return (function == F_INTERVAL_MUL || function == F_MUL_D_INTERVAL) && unit_of(interval) == TIME &&
	       !ifp_has_columns(list_nth(arguments, 1 - factor)) &&
	       ifp_is_monotone_beside_null(list_nth(arguments, factor), attribute, breaks);
}

/* ---- breaks of times that are shifted ---- */

/* Adds breaks where the expression changes: the order is preserved while it does not. */
static void add_values(List **breaks, Node *expression, AttrNumber attribute)
{
	struct ifp_run_keys keys = { NIL, *breaks };
	ListCell *cell;

	ifp_add_run_keys(expression, attribute, &keys);
	*breaks = keys.breaks;
	foreach (cell, keys.expressions)
		add_break(breaks, lfirst(cell), NULL, IFP_BREAK_VALUE);
}

/* True if the node differs for any two times of the column, except where clocks are set back. A coarser node already has few
 * pieces, and needs no breaks. */
static bool is_fine(Node *node)
{
	List *arguments;

	if (IsA(node, Var))
		return true;
	if (IsA(node, RelabelType))
		return is_fine((Node *)castNode(RelabelType, node)->arg);
	switch (ifp_called_function(node, &arguments)) {
	case F_TIMESTAMP_TIMESTAMPTZ:
	case F_TIMESTAMPTZ_TIMESTAMP:
	case F_TIMESTAMP_PL_INTERVAL:
	case F_TIMESTAMP_MI_INTERVAL:
	case F_TIMESTAMPTZ_PL_INTERVAL:
	case F_TIMESTAMPTZ_MI_INTERVAL:
		return is_fine(linitial(arguments));
	case F_TIMEZONE_TEXT_TIMESTAMPTZ:
	case F_TIMEZONE_TEXT_TIMESTAMP:
	case F_TIMEZONE_INTERVAL_TIMESTAMPTZ:
	case F_TIMEZONE_INTERVAL_TIMESTAMP:
		return is_fine(lsecond(arguments));
	default:
		return false;
	}
}

static Node *call(Oid function, Oid type, List *arguments)
{
	return (Node *)makeFuncExpr(function, type, arguments, InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

static Node *constant(Oid type, int16 length, Datum value)
{
	return (Node *)makeConst(type, -1, InvalidOid, length, value, false, length > 0);
}

/* Returns date_trunc('month', interval), which has only its months. */
static Node *months_of(Node *interval)
{
	Node *month = constant(TEXTOID, -1, CStringGetTextDatum("month"));

	return eval_const_expressions(NULL, call(F_DATE_TRUNC_TEXT_INTERVAL, INTERVALOID, list_make2(month, interval)));
}

/* Returns make_interval(days => extract(day from interval)); NULL if the interval is infinite. */
static Node *days_of(Node *interval)
{
	Node *day = constant(TEXTOID, -1, CStringGetTextDatum("day")),
	     *zero = constant(INT4OID, sizeof(int32), Int32GetDatum(0));
	Node *days = call(F_EXTRACT_TEXT_INTERVAL, NUMERICOID, list_make2(day, interval));
	List *parts = list_make4(zero, zero, zero, call(F_INT4_NUMERIC, INT4OID, list_make1(days)));

	parts = list_concat(parts, list_make3(zero, zero, constant(FLOAT8OID, sizeof(float8), Float8GetDatum(0))));
	return eval_const_expressions(NULL, call(F_MAKE_INTERVAL, INTERVALOID, parts));
}

static bool is_zero(Node *interval)
{
	static const Interval zero;

	return IsA(interval, Const) && !castNode(Const, interval)->constisnull &&
	       memcmp(DatumGetIntervalP(castNode(Const, interval)->constvalue), &zero, sizeof zero) == 0;
}

/* Adds breaks for whole months, or whole days, that are added to the local time of a timestamptz: the sum is converted back to
 * UTC. Returns that sum. */
static Node *add_local_breaks(List **breaks, Oid function, Node *time, Node *interval)
{
	Oid local_function = function == F_TIMESTAMPTZ_PL_INTERVAL ? F_TIMESTAMP_PL_INTERVAL : F_TIMESTAMP_MI_INTERVAL;
	Node *local = call(F_TIMESTAMP_TIMESTAMPTZ, TIMESTAMPOID, list_make1(time));

	if (is_zero(interval))
		return time;
	add_break(breaks, time, NULL, IFP_BREAK_UTC);
	add_break(breaks, call(local_function, TIMESTAMPOID, list_make2(local, interval)), NULL, IFP_BREAK_LOCAL);
	return call(function, TIMESTAMPTZOID, list_make2(time, interval));
}

/* An interval's months are added first, then its days, then the rest; each of the first two steps begins and ends in UTC, if
 * the time is a timestamptz. Adding a month maps both January 30 and 31 to the last of February. Days of a date still remain in
 * order. */
static void add_shift_breaks(List **breaks, Oid function, List *arguments, enum unit unit)
{
	Node *time = linitial(arguments), *interval = lsecond(arguments);
	bool is_local = exprType(time) != TIMESTAMPTZOID;

	if (unit == MONTHS && !is_local) {
		add_break(breaks, call(F_TIMESTAMP_TIMESTAMPTZ, TIMESTAMPOID, list_make1(time)), NULL, IFP_BREAK_MONTHS);
		time = add_local_breaks(breaks, function, time, months_of(interval));
	} else if (unit == MONTHS && exprType(time) == TIMESTAMPOID) {
		add_break(breaks, time, NULL, IFP_BREAK_MONTHS);
	}
	if (unit != TIME && !is_local)
		(void)add_local_breaks(breaks, function, time, days_of(interval));
}

/* ---- times that are shifted ---- */

/* time + interval and time - interval, of which one may have no columns */
static bool is_shift(Oid function, List *arguments, AttrNumber attribute, List **breaks)
{
	Node *time = linitial(arguments), *interval = lsecond(arguments);

	if (!ifp_has_columns(time))
		return is_multiple(interval, attribute, breaks);
	if ((ifp_has_columns(interval) && !is_fine(time)) || !ifp_is_monotone_beside_null(time, attribute, breaks))
		return false;
	if (ifp_has_columns(interval))
		add_values(breaks, interval, attribute);
	add_shift_breaks(breaks, function, arguments, unit_of(interval));
	return true;
}

/* time - date_trunc('day', time), and the like */
static bool is_difference(List *arguments, AttrNumber attribute, List **breaks)
{
	if (!is_fine(linitial(arguments)) || !ifp_has_columns(lsecond(arguments)) ||
	    !ifp_is_monotone_beside_null(linitial(arguments), attribute, breaks))
		return false;
	add_values(breaks, lsecond(arguments), attribute);
	return true;
}

static bool is_time_of_day(Oid function, List *arguments, AttrNumber attribute, List **breaks)
{
	Oid to_day = function == F_TIME_TIMESTAMP ? F_DATE_TIMESTAMP : F_DATE_TIMESTAMPTZ;

	if (!ifp_is_monotone_beside_null(linitial(arguments), attribute, breaks))
		return false;
	add_values(breaks, call(to_day, DATEOID, list_copy(arguments)), attribute);
	return true;
}

/* True for a time plus or minus an interval or another time, and for the time of day. Adds breaks only if true. */
static bool is_shifted(Oid function, List *arguments, AttrNumber attribute, List **breaks)
{
	switch (function) {
	case F_TIMESTAMP_PL_INTERVAL:
	case F_TIMESTAMP_MI_INTERVAL:
	case F_TIMESTAMPTZ_PL_INTERVAL:
	case F_TIMESTAMPTZ_MI_INTERVAL:
	case F_DATE_PL_INTERVAL:
	case F_DATE_MI_INTERVAL:
		return is_shift(function, arguments, attribute, breaks);
	case F_TIMESTAMP_MI:
	case F_TIMESTAMPTZ_MI:
		return is_difference(arguments, attribute, breaks);
	case F_TIME_TIMESTAMP:
	case F_TIME_TIMESTAMPTZ:
		return is_time_of_day(function, arguments, attribute, breaks);
	default:
		return false;
	}
}

/* ---- functions of the list ---- */

static Node *as_timestamp(Node *date)
{
	return exprType(date) != DATEOID ? date
					 : (Node *)makeFuncExpr(F_TIMESTAMP_DATE, TIMESTAMPOID, list_make1(date), InvalidOid,
								InvalidOid, COERCE_EXPLICIT_CALL);
}

static void add_breaks(List **breaks, const struct monotone_function *function, List *arguments)
{
	Node *argument = list_nth(arguments, function->argument);

	switch (function->breaks) {
	case NO_BREAKS:
		break;
	case UTC_OF_SESSION:
		add_break(breaks, argument, NULL, IFP_BREAK_UTC);
		break;
	case LOCAL_OF_SESSION:
		add_break(breaks, as_timestamp(argument), NULL, IFP_BREAK_LOCAL);
		break;
	case UTC_OF_ARGUMENT:
		add_break(breaks, argument, list_nth(arguments, function->zone), IFP_BREAK_UTC);
		break;
	case LOCAL_OF_ARGUMENT:
		add_break(breaks, argument, list_nth(arguments, function->zone), IFP_BREAK_LOCAL);
		break;
	}
}

/* Numeric division keeps 16 or more digits, depending on the leading digits of both sides. Where that number drops, a quotient
 * may be rounded below that of a smaller dividend. It does not drop for powers of ten and for dividends of few digits, and does
 * not matter if the quotient is then rounded to an integer. */
static bool is_exact_division(List *arguments)
{
	List *inner;
	Oid dividend = ifp_called_function(linitial(arguments), &inner);

	if (ifp_has_columns(lsecond(arguments)))
		return false;
	return dividend == F_NUMERIC_INT2 || dividend == F_NUMERIC_INT4 || IS_ONE_OF(dividend, extracts) ||
	       ifp_is_power_of_ten(lsecond(arguments));
}

/* round(x) and trunc(x) of numerics appear as round(x, 0) and trunc(x, 0). */
static bool is_rounding(Oid function, const List *arguments)
{
	Const *digits = list_length(arguments) == 2 ? lsecond(arguments) : NULL;

	if (function != F_ROUND_NUMERIC_INT4 && function != F_TRUNC_NUMERIC_INT4)
		return IS_ONE_OF(function, roundings);
	return IsA(digits, Const) && !digits->constisnull && DatumGetInt32(digits->constvalue) <= 0;
}

/* Reads a field of extract() in lower case; empty if it is not known while planning. */
static void constant_word(Node *node, char *word, size_t n_bytes)
{
	word[0] = '\0';
	if (IsA(node, Const) && !castNode(Const, node)->constisnull) {
		strlcpy(word, TextDatumGetCString(castNode(Const, node)->constvalue), n_bytes);
		for (char *letter = word; *letter; letter++)
			*letter = (char)pg_tolower((unsigned char)*letter);
	}
}

static bool is_among(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(word, *words) == 0)
			return true;
	return false;
}

/* extract(julian from ts): days and the elapsed fraction of the day. That is a quotient whose number of digits varies; rounded
 * to an integer it is in order. */
static bool is_julian(Node *node, AttrNumber attribute, List **breaks)
{
	char field[16];
	List *arguments;
	Oid function = ifp_called_function(node, &arguments);

	if (function != F_EXTRACT_TEXT_TIMESTAMP && function != F_EXTRACT_TEXT_TIMESTAMPTZ)
		return false;
	constant_word(linitial(arguments), field, sizeof field);
	if (strcmp(field, "julian") != 0 || !ifp_is_monotone_beside_null(lsecond(arguments), attribute, breaks))
		return false;
	if (function == F_EXTRACT_TEXT_TIMESTAMPTZ)
		add_break(breaks, lsecond(arguments), NULL, IFP_BREAK_UTC);
	return true;
}

static bool is_listed(Oid function, List *arguments, AttrNumber attribute, List **breaks)
{
	if (function == F_NUMERIC_DIV)
		return is_exact_division(arguments) && ifp_is_monotone_beside_null(linitial(arguments), attribute, breaks);
	if (is_rounding(function, arguments)) {
		List *division;

		if (ifp_called_function(linitial(arguments), &division) == F_NUMERIC_DIV && !ifp_has_columns(lsecond(division)))
			return ifp_is_monotone_beside_null(linitial(division), attribute, breaks);
		if (is_julian(linitial(arguments), attribute, breaks))
			return true;
	}
	if (IS_ONE_OF(function, sums_and_products) && list_length(arguments) == 2) {
		int i = ifp_has_columns(linitial(arguments)) ? 0 : 1;

		if (IS_ONE_OF(function, real_products) && ifp_may_be_infinite(list_nth(arguments, 1 - i)))
			return false;
		return others_are_constant(arguments, i) &&
		       ifp_is_monotone_beside_null(list_nth(arguments, i), attribute, breaks);
	}
	for (size_t i = 0; i < lengthof(functions); i++) {
		const struct monotone_function *known = &functions[i];

		if (known->function != function || !others_are_constant(arguments, known->argument) ||
		    !ifp_is_monotone_beside_null(list_nth(arguments, known->argument), attribute, breaks))
			continue;
		add_breaks(breaks, known, arguments);
		return true;
	}
	return false;
}

/* x - x % w, which is x / w * w */
static bool is_less_remainder(Oid function, List *arguments, AttrNumber attribute, List **breaks)
{
	List *inner;

	return IS_ONE_OF(function, differences) && IS_ONE_OF(ifp_called_function(lsecond(arguments), &inner), remainders) &&
	       equal(linitial(arguments), linitial(inner)) && !ifp_has_columns(lsecond(inner)) &&
	       ifp_is_monotone_beside_null(linitial(arguments), attribute, breaks);
}

/* extract(year from ts) and similar fields. For an interval only epoch, if it is a difference of times, which has no months. */
static bool is_field(Oid function, List *arguments, AttrNumber attribute, List **breaks)
{
	static const char *const years[] = { "year", "years", "isoyear", "decade", "century", "millennium", NULL };
	char field[16];
	bool is_epoch;

	if (!IS_ONE_OF(function, extracts) || !others_are_constant(arguments, 1))
		return false;
	constant_word(linitial(arguments), field, sizeof field);
	is_epoch = strcmp(field, "epoch") == 0;
	if (exprType(lsecond(arguments)) == INTERVALOID) {
		List *inner;
		Oid of = ifp_called_function(lsecond(arguments), &inner);

		if (!is_epoch || (of != F_TIMESTAMP_MI && of != F_TIMESTAMPTZ_MI))
			return false;
	} else if (!is_epoch && !is_among(field, years)) {
		return false;
	}
	if (!ifp_is_monotone_beside_null(lsecond(arguments), attribute, breaks))
		return false;
	if (!is_epoch && exprType(lsecond(arguments)) == TIMESTAMPTZOID)
		add_break(breaks, lsecond(arguments), NULL, IFP_BREAK_UTC);
	return true;
}

/* x < c, <=, >= and > of built-in types: they change once between false and true. */
static bool is_comparison(Node *node, AttrNumber attribute, List **breaks)
{
	List *arguments;
	Node *side;
	Oid type;
	int i;

	if (!IsA(node, OpExpr) || castNode(OpExpr, node)->opno >= FirstNormalObjectId)
		return false;
	(void)ifp_called_function(node, &arguments);
	if (list_length(arguments) != 2 || !ifp_is_inequality(castNode(OpExpr, node)->opno))
		return false;
	i = ifp_has_columns(linitial(arguments)) ? 0 : 1;
	side = list_nth(arguments, i);
	type = exprType(side);
	if (!others_are_constant(arguments, i) || !ifp_is_monotone_beside_null(side, attribute, breaks))
		return false;
	/* local time is converted to timestamptz for the comparison */
	if ((type == TIMESTAMPOID || type == DATEOID) && exprType(list_nth(arguments, 1 - i)) == TIMESTAMPTZOID)
		add_break(breaks, as_timestamp(side), NULL, IFP_BREAK_LOCAL);
	return true;
}

/* x < ANY (array), x < ALL (array) and the like change once, as their comparisons do. */
static bool is_comparison_of_array(Node *node, AttrNumber attribute, List **breaks)
{
	ScalarArrayOpExpr *call = (ScalarArrayOpExpr *)node;

	return IsA(node, ScalarArrayOpExpr) && call->opno < FirstNormalObjectId && ifp_is_inequality(call->opno) &&
	       !ifp_has_columns(lsecond(call->args)) &&
	       exprType(linitial(call->args)) == get_base_element_type(exprType(lsecond(call->args))) &&
	       ifp_is_monotone_beside_null(linitial(call->args), attribute, breaks);
}

/* greatest(x, c), least(x, c), and coalesce(x, c), which is x unless x is NULL for all times. */
static bool is_choice(Node *node, AttrNumber attribute, List **breaks)
{
	List *arguments = NIL;
	int i = 0;

	if (IsA(node, MinMaxExpr))
		arguments = castNode(MinMaxExpr, node)->args;
	else if (IsA(node, CoalesceExpr) && exprType(node) != BOOLOID)
		arguments = castNode(CoalesceExpr, node)->args;
	while (IsA(node, MinMaxExpr) && i + 1 < list_length(arguments) && !ifp_has_columns(list_nth(arguments, i)))
		i++;
	return arguments != NIL && others_are_constant(arguments, i) &&
	       ifp_is_monotone_beside_null(list_nth(arguments, i), attribute, breaks);
}

/* iforest_bucket_of(), which also numbers the times before and after its window. */
static bool is_bucket_number(Oid function, List *arguments, AttrNumber attribute, List **breaks)
{
	return ifp_is_own_function(function, "iforest_bucket_of") && others_are_constant(arguments, 0) &&
	       ifp_is_monotone_beside_null(linitial(arguments), attribute, breaks);
}

bool ifp_keeps_order(const RelabelType *relabel)
{
	return getBaseType(relabel->resulttype) == getBaseType(exprType((Node *)relabel->arg));
}

static bool is_monotone(Node *node, AttrNumber attribute, List **breaks)
{
	List *arguments;
	Oid function;

	if (IsA(node, Var))
		return castNode(Var, node)->varattno == attribute;
	if (IsA(node, RelabelType))
		return ifp_keeps_order(castNode(RelabelType, node)) &&
		       ifp_is_monotone_beside_null((Node *)castNode(RelabelType, node)->arg, attribute, breaks);
	if (is_notclause(node))
		return ifp_is_monotone_beside_null((Node *)get_notclausearg(node), attribute, breaks);
	function = ifp_called_function(node, &arguments);
	if (!OidIsValid(function))
		return is_comparison_of_array(node, attribute, breaks) || is_choice(node, attribute, breaks);
	return is_listed(function, arguments, attribute, breaks) || is_less_remainder(function, arguments, attribute, breaks) ||
	       is_field(function, arguments, attribute, breaks) || is_shifted(function, arguments, attribute, breaks) ||
	       is_comparison(node, attribute, breaks) || is_bucket_number(function, arguments, attribute, breaks);
}

bool ifp_is_monotone_beside_null(Node *expression, AttrNumber attribute, List **breaks)
{
	List *before = list_copy(*breaks);

	if (is_monotone(expression, attribute, breaks))
		return true;
	*breaks = before;
	return false;
}

/* True if a monotone expression may have a value where its column is NULL. */
static bool has_value_of_null(Node *node, void *context)
{
	if (!node)
		return false;
	return IsA(node, CoalesceExpr) || IsA(node, MinMaxExpr) || IsA(node, ScalarArrayOpExpr) ||
	       expression_tree_walker(node, has_value_of_null, context);
}

bool ifp_is_monotone(Node *expression, AttrNumber attribute, List **breaks)
{
	return !has_value_of_null(expression, NULL) && ifp_is_monotone_beside_null(expression, attribute, breaks);
}

/* ---- run keys: fields of a time ---- */

/* Returns the unit of date_trunc() within which a field of extract() is constant; NULL if it changes within a second. */
static const char *unit_of_field(const char *field)
{
	static const char *const units[][2] = {
		{ "hour", "hour" },    { "hours", "hour" },	 { "minute", "minute" },    { "minutes", "minute" },
		{ "day", "day" },      { "days", "day" },	 { "dow", "day" },	    { "isodow", "day" },
		{ "doy", "day" },      { "week", "week" },	 { "weeks", "week" },	    { "month", "month" },
		{ "months", "month" }, { "quarter", "quarter" }, { "quarters", "quarter" },
	};

	for (size_t i = 0; i < lengthof(units); i++)
		if (pg_strcasecmp(field, units[i][0]) == 0)
			return units[i][1];
	return NULL;
}

static bool has_letters(const char *format, const char *letters)
{
	size_t n = strlen(letters);

	for (; *format; format++)
		if (pg_strncasecmp(format, letters, n) == 0)
			return true;
	return false;
}

/* Returns the unit within which a format of to_char() is constant; NULL if it changes within a second. Quoted letters count as
 * fields too, which makes the unit smaller than necessary. */
static const char *unit_of_format(const char *format)
{
	if (has_letters(format, "ms") || has_letters(format, "us") || has_letters(format, "ff"))
		return NULL;
	if (has_letters(format, "ss"))
		return "second";
	if (has_letters(format, "mi"))
		return "minute";
	if (has_letters(format, "h") || has_letters(format, "m."))
		return "hour";
	if (has_letters(format, "am") || has_letters(format, "pm"))
		return "hour";
	if (has_letters(format, "d") || has_letters(format, "w") || has_letters(format, "j") || has_letters(format, "i"))
		return "day";
	return has_letters(format, "m") || has_letters(format, "q") || has_letters(format, "r") ? "month" : "day";
}

/* Returns date_trunc(unit, time) for a function of one field of a time, which is constant within a unit; NULL for any other
 * node. */
static Node *truncated_to_unit(Node *node, AttrNumber attribute)
{
	FuncExpr *call = IsA(node, FuncExpr) ? castNode(FuncExpr, node) : NULL;
	const char *unit = NULL;
	List *breaks = NIL;
	Node *time, *word;
	Oid type;

	if (!call || list_length(call->args) != 2)
		return NULL;
	switch (call->funcid) {
	case F_EXTRACT_TEXT_TIMESTAMP:
	case F_EXTRACT_TEXT_TIMESTAMPTZ:
	case F_DATE_PART_TEXT_TIMESTAMP:
	case F_DATE_PART_TEXT_TIMESTAMPTZ:
		word = linitial(call->args);
		time = lsecond(call->args);
		break;
	case F_TO_CHAR_TIMESTAMP_TEXT:
	case F_TO_CHAR_TIMESTAMPTZ_TEXT:
		time = linitial(call->args);
		word = lsecond(call->args);
		break;
	default:
		return NULL;
	}
	if (!IsA(word, Const) || castNode(Const, word)->constisnull || !ifp_is_monotone_beside_null(time, attribute, &breaks))
		return NULL;
	unit = TextDatumGetCString(castNode(Const, word)->constvalue);
	unit = time == linitial(call->args) ? unit_of_format(unit) : unit_of_field(unit);
	if (!unit)
		return NULL;
	type = exprType(time);
	word = (Node *)makeConst(TEXTOID, -1, InvalidOid, -1, CStringGetTextDatum(unit), false, false);
	return (Node *)makeFuncExpr(type == TIMESTAMPOID ? F_DATE_TRUNC_TEXT_TIMESTAMP : F_DATE_TRUNC_TEXT_TIMESTAMPTZ, type,
				    list_make2(word, time), InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

/* ---- run keys: iforest_bucket() ---- */

/* Adds left < right. */
static void add_comparison(Node *left, Node *right, struct ifp_run_keys *keys)
{
	TypeCacheEntry *type = lookup_type_cache(exprType(left), TYPECACHE_LT_OPR);
	Expr *comparison = make_opclause(type->lt_opr, BOOLOID, false, (Expr *)left, (Expr *)right, InvalidOid, InvalidOid);

	set_opfuncid(castNode(OpExpr, (Node *)comparison));
	keys->expressions = list_append_unique(keys->expressions, comparison);
}

/* iforest_bucket(time, t0, t1, n) is NULL before t0 and from t1 on, and monotone between. Adds keys that tell these three
 * ranges apart. */
static bool add_bucket_keys(Node *node, AttrNumber attribute, struct ifp_run_keys *keys)
{
	List *arguments = IsA(node, FuncExpr) ? castNode(FuncExpr, node)->args : NIL;

	if (!IsA(node, FuncExpr) || !ifp_is_own_function(castNode(FuncExpr, node)->funcid, "iforest_bucket"))
		return false;
	for (int i = 1; i < list_length(arguments); i++)
		if (ifp_has_columns(list_nth(arguments, i)))
			return false;
	if (!ifp_is_monotone(linitial(arguments), attribute, &keys->breaks))
		return false;
	keys->expressions = list_append_unique(keys->expressions, node);
	add_comparison(linitial(arguments), lsecond(arguments), keys);
	add_comparison(linitial(arguments), lthird(arguments), keys);
	return true;
}

/* ---- run keys: nodes that depend only on the order of their arguments ---- */

/* Adds keys that distinguish whether an expression is before, at or after a bound. */
static bool add_bound(Node *expression, Node *bound, AttrNumber attribute, struct ifp_run_keys *keys)
{
	if (exprType(expression) != exprType(bound) || ifp_has_columns(bound) ||
	    !ifp_is_monotone_beside_null(expression, attribute, &keys->breaks))
		return false;
	add_comparison(expression, bound, keys);
	add_comparison(bound, expression, keys);
	return true;
}

/* time <@ range */
static bool add_range(List *arguments, AttrNumber attribute, struct ifp_run_keys *keys)
{
	Node *time = linitial(arguments), *range = lsecond(arguments);
	static const Oid bounds[] = { F_LOWER_ANYRANGE, F_UPPER_ANYRANGE };

	for (size_t i = 0; i < lengthof(bounds); i++)
		if (!add_bound(time,
			       (Node *)makeFuncExpr(bounds[i], exprType(time), list_make1(range), InvalidOid, InvalidOid,
						    COERCE_EXPLICIT_CALL),
			       attribute, keys))
			return false;
	return true;
}

/* (time, time) OVERLAPS (a, b), either way round */
static bool add_overlap(List *arguments, AttrNumber attribute, struct ifp_run_keys *keys)
{
	int i = ifp_has_columns(linitial(arguments)) ? 0 : 2;
	Node *time = list_nth(arguments, i);

	return equal(time, list_nth(arguments, i + 1)) && add_bound(time, list_nth(arguments, 2 - i), attribute, keys) &&
	       add_bound(time, list_nth(arguments, 3 - i), attribute, keys);
}

/* (x, time) < (a, b) and the like: by columns are constants here */
static bool add_row_order(RowCompareExpr *row, AttrNumber attribute, struct ifp_run_keys *keys)
{
	ListCell *left, *right;

	forboth(left, row->largs, right,
		row->rargs) if ((ifp_mentions(lfirst(left), attribute) || ifp_mentions(lfirst(right), attribute)) &&
				!add_bound(lfirst(left), lfirst(right), attribute, keys)) return false;
	return true;
}

static bool add_order_keys(Node *node, AttrNumber attribute, struct ifp_run_keys *keys)
{
	struct ifp_run_keys before = { list_copy(keys->expressions), list_copy(keys->breaks) };
	bool added = false;

	if (IsA(node, RowCompareExpr)) {
		added = add_row_order(castNode(RowCompareExpr, node), attribute, keys);
	} else if (IsA(node, OpExpr) && get_opcode(castNode(OpExpr, node)->opno) == F_ELEM_CONTAINED_BY_RANGE) {
		added = add_range(castNode(OpExpr, node)->args, attribute, keys);
	} else if (IsA(node, FuncExpr) &&
		   (castNode(FuncExpr, node)->funcid == F_OVERLAPS_TIMESTAMP_TIMESTAMP_TIMESTAMP_TIMESTAMP ||
		    castNode(FuncExpr, node)->funcid == F_OVERLAPS_TIMESTAMPTZ_TIMESTAMPTZ_TIMESTAMPTZ_TIMESTAMPTZ)) {
		added = add_overlap(castNode(FuncExpr, node)->args, attribute, keys);
	}
	if (!added)
		*keys = before;
	return added;
}

/* ---- run keys: equality ---- */

/* Returns x = c as x >= c, or x <= c; NULL if the operator is not a B-tree equality. */
static Node *as_inequality(Node *condition, int strategy)
{
	OpExpr *equality = (OpExpr *)condition;
	Oid operator= InvalidOid;
	ListCell *cell;

	if (!IsA(condition, OpExpr) || !op_mergejoinable(equality->opno, exprType(linitial(equality->args))))
		return NULL;
	foreach (cell, get_mergejoin_opfamilies(equality->opno)) {
		Oid left, right;
		int found;

		get_op_opfamily_properties(equality->opno, lfirst_oid(cell), false, &found, &left, &right);
		operator= get_opfamily_member(lfirst_oid(cell), left, right, (int16)strategy);
		if (OidIsValid(operator))
			break;
	}
	if (!OidIsValid(operator))
		return NULL;
	equality = copyObject(equality);
	equality->opno = operator;
	equality->opfuncid = get_opcode(operator);
	return (Node *)equality;
}

List *ifp_run_key_bounds(Node *condition, AttrNumber attribute, bool may_break)
{
	Node *from = as_inequality(condition, BTGreaterEqualStrategyNumber);
	Node *until = as_inequality(condition, BTLessEqualStrategyNumber);
	List *breaks = NIL;
	bool (*can_be_key)(Node *, AttrNumber, List **) = may_break ? ifp_is_monotone_beside_null : ifp_is_monotone;

	if (!from || !until || !can_be_key(from, attribute, &breaks) || !can_be_key(until, attribute, &breaks) ||
	    (breaks != NIL && !may_break))
		return NIL;
	return list_make2(from, until);
}

Node *ifp_as_equality(Node *node)
{
	OpExpr *call = (OpExpr *)node;
	Oid equality = IsA(node, OpExpr) && call->opno < FirstNormalObjectId ? get_negator(call->opno) : InvalidOid;

	if (!OidIsValid(equality) || !op_mergejoinable(equality, exprType(linitial(call->args))))
		return node;
	call = copyObject(call);
	call->opno = equality;
	call->opfuncid = get_opcode(equality);
	return (Node *)call;
}

/* ---- run keys ---- */

struct collecting {
	AttrNumber attribute;
	struct ifp_run_keys *keys;
};

static bool collect(Node *node, void *context)
{
	struct collecting *collecting = context;
	AttrNumber attribute = collecting->attribute;
	Node *truncated;
	List *both;

	if (!node || !ifp_mentions(node, attribute))
		return false;
	/* constant over all non-NULL times; NULL times are folded separately */
	if (IsA(node, NullTest) && IsA(castNode(NullTest, node)->arg, Var))
		return false;
	if (add_bucket_keys(node, attribute, collecting->keys))
		return false;
	truncated = truncated_to_unit(node, attribute);
	if (truncated)
		node = truncated;
	if (add_order_keys(node, attribute, collecting->keys))
		return false;
	if (ifp_is_monotone_beside_null(node, attribute, &collecting->keys->breaks)) {
		collecting->keys->expressions = list_append_unique(collecting->keys->expressions, node);
		return false;
	}
	/* an equality changes where one of its two inequalities does */
	both = ifp_run_key_bounds(ifp_as_equality(node), attribute, true);
	if (both != NIL)
		return collect((Node *)both, context);
	return expression_tree_walker(node, collect, context);
}

void ifp_add_run_keys(Node *expression, AttrNumber attribute, struct ifp_run_keys *keys)
{
	struct collecting collecting = { .attribute = attribute, .keys = keys };

	(void)collect(expression, &collecting);
}
