#include "pg_ext/monotone.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

/* ---- functions of which the order of values is known ---- */

/* Breaks that a function adds for its monotone argument. */
enum breaks {
	NO_BREAKS,
	UTC_OF_SESSION,   /* the argument is turned into local time of the session's zone */
	LOCAL_OF_SESSION, /* the argument is local time of the session's zone */
	UTC_OF_ARGUMENT,  /* the same for the zone that another argument names */
	LOCAL_OF_ARGUMENT
};

struct monotone_function {
	Oid function;
	int argument;       /* the function is monotone in it, whatever constants the others are */
	enum breaks breaks;
	int zone;           /* the argument that names the zone */
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
	{ F_TRUNC_NUMERIC, 0, NO_BREAKS, 0 },
	{ F_TRUNC_FLOAT8, 0, NO_BREAKS, 0 },
	{ F_TRUNC_NUMERIC_INT4, 0, NO_BREAKS, 0 },
	{ F_ROUND_NUMERIC, 0, NO_BREAKS, 0 },
	{ F_ROUND_FLOAT8, 0, NO_BREAKS, 0 },
	{ F_ROUND_NUMERIC_INT4, 0, NO_BREAKS, 0 },
	{ F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4, 0, NO_BREAKS, 0 },
	{ F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4, 0, NO_BREAKS, 0 },

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
	F_INT2PL,    F_INT4PL,    F_INT8PL,    F_INT24PL,   F_INT28PL,	F_INT42PL,    F_INT48PL,    F_INT82PL,	  F_INT84PL,
	F_INT2MI,    F_INT4MI,    F_INT8MI,    F_INT24MI,   F_INT28MI,	F_INT42MI,    F_INT48MI,    F_INT82MI,	  F_INT84MI,
	F_INT2MUL,   F_INT4MUL,	  F_INT8MUL,   F_INT24MUL,  F_INT28MUL, F_INT42MUL,   F_INT48MUL,   F_INT82MUL,	  F_INT84MUL,
	F_FLOAT4PL,  F_FLOAT8PL,  F_FLOAT48PL, F_FLOAT84PL, F_FLOAT4MI, F_FLOAT8MI,   F_FLOAT48MI,  F_FLOAT84MI,  F_FLOAT4MUL,
	F_FLOAT8MUL, F_FLOAT48MUL, F_FLOAT84MUL, F_NUMERIC_ADD, F_NUMERIC_SUB, F_NUMERIC_MUL,
};

static const Oid remainders[] = { F_INT2MOD, F_INT4MOD, F_INT8MOD, F_MOD_INT2_INT2, F_MOD_INT4_INT4, F_MOD_INT8_INT8,
				  F_NUMERIC_MOD, F_MOD_NUMERIC_NUMERIC };
static const Oid roundings[] = { F_FLOOR_NUMERIC, F_CEIL_NUMERIC, F_CEILING_NUMERIC, F_TRUNC_NUMERIC, F_ROUND_NUMERIC };
static const Oid differences[] = { F_INT2MI, F_INT4MI, F_INT8MI, F_NUMERIC_SUB };
static const Oid extracts[] = { F_EXTRACT_TEXT_TIMESTAMP, F_EXTRACT_TEXT_TIMESTAMPTZ, F_EXTRACT_TEXT_INTERVAL,
				F_DATE_PART_TEXT_TIMESTAMP, F_DATE_PART_TEXT_TIMESTAMPTZ, F_DATE_PART_TEXT_INTERVAL, F_EXTRACT_TEXT_DATE };
static const Oid interval_shifts[] = { F_TIMESTAMP_PL_INTERVAL, F_TIMESTAMP_MI_INTERVAL, F_TIMESTAMPTZ_PL_INTERVAL,
				       F_TIMESTAMPTZ_MI_INTERVAL, F_DATE_PL_INTERVAL, F_DATE_MI_INTERVAL };

static bool is_one_of(Oid function, const Oid *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == function)
			return true;
	return false;
}

#define IS_ONE_OF(function, list) is_one_of(function, list, lengthof(list))

/* ---- expressions ---- */

static bool mentions_walker(Node *node, void *attribute)
{
	if (!node)
		return false;
	if (IsA(node, Var))
		return !attribute || castNode(Var, node)->varattno == *(AttrNumber *)attribute;
	return expression_tree_walker(node, mentions_walker, attribute);
}

bool iforest_mentions(Node *expression, AttrNumber attribute)
{
	return mentions_walker(expression, &attribute);
}

bool iforest_has_columns(Node *expression)
{
	return mentions_walker(expression, NULL);
}

/* The function that a node calls, and its arguments. */
static Oid called(Node *node, List **arguments)
{
	if (IsA(node, FuncExpr)) {
		*arguments = castNode(FuncExpr, node)->args;
		return castNode(FuncExpr, node)->funcid;
	}
	if (IsA(node, OpExpr)) {
		set_opfuncid(castNode(OpExpr, node));
		*arguments = castNode(OpExpr, node)->args;
		return castNode(OpExpr, node)->opfuncid;
	}
	*arguments = NIL;
	return InvalidOid;
}

/* Have all arguments but one no column? */
static bool others_are_constant(const List *arguments, int argument)
{
	for (int i = 0; i < list_length(arguments); i++)
		if (i != argument && iforest_has_columns(list_nth(arguments, i)))
			return false;
	return true;
}

static void add_break(List **breaks, Node *argument, Node *zone, bool is_local)
{
	List *one = list_make3(argument, zone, is_local ? makeBoolConst(true, false) : NULL);

	if (!list_member(*breaks, one))
		*breaks = lappend(*breaks, one);
}

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
		add_break(breaks, argument, NULL, false);
		break;
	case LOCAL_OF_SESSION:
		add_break(breaks, as_timestamp(argument), NULL, true);
		break;
	case UTC_OF_ARGUMENT:
		add_break(breaks, argument, list_nth(arguments, function->zone), false);
		break;
	case LOCAL_OF_ARGUMENT:
		add_break(breaks, argument, list_nth(arguments, function->zone), true);
		break;
	}
}

/* Division of numerics keeps 16 digits and more, as many as the leading digits of both sides suggest: where that number drops, a
 * quotient may be rounded below that of a smaller dividend. Not so for powers of ten, and where dividends have few digits; nor is it
 * seen once the quotient is rounded to an integer. */
static bool is_exact_division(List *arguments)
{
	Const *divisor = lsecond(arguments);
	List *inner;
	Oid dividend = called(linitial(arguments), &inner);
	int n_ones = 0;

	if (iforest_has_columns((Node *)divisor))
		return false;
	if (dividend == F_NUMERIC_INT2 || dividend == F_NUMERIC_INT4 || IS_ONE_OF(dividend, extracts))
		return true;
	if (!IsA(divisor, Const) || divisor->constisnull)
		return false;
	for (const char *digit = DatumGetCString(DirectFunctionCall1(numeric_out, divisor->constvalue)); *digit; digit++) {
		if (*digit != '0' && *digit != '1' && *digit != '.')
			return false;
		n_ones += *digit == '1';
	}
	return n_ones == 1;
}

static bool is_listed(Oid function, List *arguments, AttrNumber attribute, List **breaks)
{
	if (function == F_NUMERIC_DIV)
		return is_exact_division(arguments) && iforest_is_monotone(linitial(arguments), attribute, breaks);
	if (IS_ONE_OF(function, roundings)) {
		List *division;

		if (called(linitial(arguments), &division) == F_NUMERIC_DIV && !iforest_has_columns(lsecond(division)))
			return iforest_is_monotone(linitial(division), attribute, breaks);
	}
	if (IS_ONE_OF(function, sums_and_products) && list_length(arguments) == 2) {
		int i = iforest_has_columns(linitial(arguments)) ? 0 : 1;

		return others_are_constant(arguments, i) && iforest_is_monotone(list_nth(arguments, i), attribute, breaks);
	}
	for (size_t i = 0; i < lengthof(functions); i++) {
		const struct monotone_function *known = &functions[i];

		if (known->function != function || !others_are_constant(arguments, known->argument) ||
		    !iforest_is_monotone(list_nth(arguments, known->argument), attribute, breaks))
			continue;
		add_breaks(breaks, known, arguments);
		return true;
	}
	return false;
}

/* x - x % w is x / w * w. */
static bool is_less_remainder(Oid function, List *arguments, AttrNumber attribute, List **breaks)
{
	List *inner;

	return IS_ONE_OF(function, differences) && IS_ONE_OF(called(lsecond(arguments), &inner), remainders) &&
	       equal(linitial(arguments), linitial(inner)) && !iforest_has_columns(lsecond(inner)) &&
	       iforest_is_monotone(linitial(arguments), attribute, breaks);
}

/* A field, or the unit of date_trunc, in small letters; empty where it is not known when planning. */
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

/* extract(year from ts) and the like; of an interval only its length, which a difference of times has without months. */
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
		Oid of = called(lsecond(arguments), &inner);

		if (!is_epoch || (of != F_TIMESTAMP_MI && of != F_TIMESTAMPTZ_MI))
			return false;
	} else if (!is_epoch && !is_among(field, years)) {
		return false;
	}
	if (!iforest_is_monotone(lsecond(arguments), attribute, breaks))
		return false;
	if (!is_epoch && exprType(lsecond(arguments)) == TIMESTAMPTZOID)
		add_break(breaks, lsecond(arguments), NULL, false);
	return true;
}

/* ts + interval. With months it is not monotone: the 30th and the 31st of January both go to the last of February. Days of a
 * timestamptz are added in local time, which is turned back into UTC. */
static bool is_shift(Oid function, List *arguments, AttrNumber attribute, List **breaks)
{
	Interval *interval;
	Node *local;

	if (!IS_ONE_OF(function, interval_shifts) || !IsA(lsecond(arguments), Const) ||
	    castNode(Const, lsecond(arguments))->constisnull)
		return false;
	interval = DatumGetIntervalP(castNode(Const, lsecond(arguments))->constvalue);
	if (interval->month != 0 || !iforest_is_monotone(linitial(arguments), attribute, breaks))
		return false;
	if (interval->day == 0 || exprType(linitial(arguments)) != TIMESTAMPTZOID)
		return true;
	local = (Node *)makeFuncExpr(F_TIMESTAMP_TIMESTAMPTZ, TIMESTAMPOID, list_make1(linitial(arguments)), InvalidOid,
				     InvalidOid, COERCE_EXPLICIT_CALL);
	local = (Node *)makeFuncExpr(function == F_TIMESTAMPTZ_PL_INTERVAL ? F_TIMESTAMP_PL_INTERVAL : F_TIMESTAMP_MI_INTERVAL,
				     TIMESTAMPOID, list_make2(local, lsecond(arguments)), InvalidOid, InvalidOid,
				     COERCE_EXPLICIT_CALL);
	add_break(breaks, linitial(arguments), NULL, false);
	add_break(breaks, local, NULL, true);
	return true;
}

/* x < c and the like, of built-in types: false up to somewhere and true from there on, or the other way round. */
static bool is_comparison(Node *node, AttrNumber attribute, List **breaks)
{
	List *arguments;
	Node *side;
	Oid type;
	int i;

	if (!IsA(node, OpExpr) || castNode(OpExpr, node)->opno >= FirstNormalObjectId)
		return false;
	(void)called(node, &arguments);
	if (list_length(arguments) != 2 || !iforest_is_inequality(castNode(OpExpr, node)->opno))
		return false;
	i = iforest_has_columns(linitial(arguments)) ? 0 : 1;
	side = list_nth(arguments, i);
	type = exprType(side);
	if (!others_are_constant(arguments, i) || !iforest_is_monotone(side, attribute, breaks))
		return false;
	/* compared as timestamptz, which local time is turned into */
	if ((type == TIMESTAMPOID || type == DATEOID) && exprType(list_nth(arguments, 1 - i)) == TIMESTAMPTZOID)
		add_break(breaks, as_timestamp(side), NULL, true);
	return true;
}

bool iforest_keeps_order(const RelabelType *relabel)
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
		return iforest_keeps_order(castNode(RelabelType, node)) &&
		       iforest_is_monotone((Node *)castNode(RelabelType, node)->arg, attribute, breaks);
	if (is_notclause(node))
		return iforest_is_monotone((Node *)get_notclausearg(node), attribute, breaks);
	function = called(node, &arguments);
	if (!OidIsValid(function))
		return false;
	return is_listed(function, arguments, attribute, breaks) ||
	       is_less_remainder(function, arguments, attribute, breaks) ||
	       is_field(function, arguments, attribute, breaks) || is_shift(function, arguments, attribute, breaks) ||
	       is_comparison(node, attribute, breaks);
}

bool iforest_is_monotone(Node *expression, AttrNumber attribute, List **breaks)
{
	List *before = list_copy(*breaks);

	if (is_monotone(expression, attribute, breaks))
		return true;
	*breaks = before;
	return false;
}
