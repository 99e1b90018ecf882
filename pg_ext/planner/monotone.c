#include "pg_ext/planner/monotone_internal.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

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
	switch (iforest_called(interval, &arguments)) {
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

/* x * interval, without days and months: one of days is cut into whole days and the rest of a day. */
static bool is_multiple(Node *interval, AttrNumber attribute, List **breaks)
{
	List *arguments;
	Oid function = iforest_called(interval, &arguments);
	int factor = function == F_INTERVAL_MUL ? 1 : 0;

	return (function == F_INTERVAL_MUL || function == F_MUL_D_INTERVAL) && unit_of(interval) == TIME &&
	       !iforest_has_columns(list_nth(arguments, 1 - factor)) &&
	       iforest_is_monotone_beside_null(list_nth(arguments, factor), attribute, breaks);
}

/* ---- breaks ---- */

/* The order holds while the expression keeps its value. */
static void add_values(List **breaks, Node *expression, AttrNumber attribute)
{
	struct iforest_run_keys keys = { NIL, *breaks };
	ListCell *cell;

	iforest_add_run_keys(expression, attribute, &keys);
	*breaks = keys.breaks;
	foreach(cell, keys.expressions)
		iforest_add_break(breaks, lfirst(cell), NULL, IFOREST_BREAK_VALUE);
}

/* Does it tell any two times of the column apart, but where clocks are put back? What does not is in few pieces as it is. */
static bool is_fine(Node *node)
{
	List *arguments;

	if (IsA(node, Var))
		return true;
	if (IsA(node, RelabelType))
		return is_fine((Node *)castNode(RelabelType, node)->arg);
	switch (iforest_called(node, &arguments)) {
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

/* date_trunc('day', interval): without what is added once days and months have been. */
static Node *whole_days(Node *interval)
{
	Node *day = (Node *)makeConst(TEXTOID, -1, InvalidOid, -1, CStringGetTextDatum("day"), false, false);

	return eval_const_expressions(NULL, call(F_DATE_TRUNC_TEXT_INTERVAL, INTERVALOID, list_make2(day, interval)));
}

/* Days and months are added to the local time of a timestamptz, which is then turned back into UTC. With months the 30th and
 * the 31st of January both go to the last of February; days of a date remain in order even so. */
static void add_shift_breaks(List **breaks, Oid function, List *arguments, enum unit unit)
{
	bool is_added = function == F_TIMESTAMPTZ_PL_INTERVAL;
	Node *time = linitial(arguments), *local = time;

	if (exprType(time) == TIMESTAMPTZOID && unit != TIME) {
		local = call(F_TIMESTAMP_TIMESTAMPTZ, TIMESTAMPOID, list_make1(time));
		iforest_add_break(breaks, time, NULL, IFOREST_BREAK_UTC);
		iforest_add_break(breaks,
				  call(is_added ? F_TIMESTAMP_PL_INTERVAL : F_TIMESTAMP_MI_INTERVAL, TIMESTAMPOID,
				       list_make2(local, whole_days(lsecond(arguments)))),
				  NULL, IFOREST_BREAK_LOCAL);
	}
	if (exprType(local) == TIMESTAMPOID && unit == MONTHS)
		iforest_add_break(breaks, local, NULL, IFOREST_BREAK_MONTHS);
}

/* ---- times ---- */

/* time + interval, one of which may be without columns. */
static bool is_shift(Oid function, List *arguments, AttrNumber attribute, List **breaks)
{
	Node *time = linitial(arguments), *interval = lsecond(arguments);

	if (!iforest_has_columns(time))
		return is_multiple(interval, attribute, breaks);
	if ((iforest_has_columns(interval) && !is_fine(time)) || !iforest_is_monotone_beside_null(time, attribute, breaks))
		return false;
	if (iforest_has_columns(interval))
		add_values(breaks, interval, attribute);
	add_shift_breaks(breaks, function, arguments, unit_of(interval));
	return true;
}

/* time - date_trunc('day', time), and the like */
static bool is_difference(List *arguments, AttrNumber attribute, List **breaks)
{
	if (!is_fine(linitial(arguments)) || !iforest_has_columns(lsecond(arguments)) ||
	    !iforest_is_monotone_beside_null(linitial(arguments), attribute, breaks))
		return false;
	add_values(breaks, lsecond(arguments), attribute);
	return true;
}

static bool is_time_of_day(Oid function, List *arguments, AttrNumber attribute, List **breaks)
{
	Oid to_day = function == F_TIME_TIMESTAMP ? F_DATE_TIMESTAMP : F_DATE_TIMESTAMPTZ;

	if (!iforest_is_monotone_beside_null(linitial(arguments), attribute, breaks))
		return false;
	add_values(breaks, call(to_day, DATEOID, list_copy(arguments)), attribute);
	return true;
}

bool iforest_is_shifted(Oid function, List *arguments, AttrNumber attribute, List **breaks)
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
