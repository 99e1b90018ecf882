#include "pg_ext/planner/monotone_functions.h"
#include "pg_ext/planner/monotone_internal.h"

#include <math.h>

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "pg_ext/base/own.h"
#include "pg_ext/types/values.h"

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

/* ---- constants ---- */

/* The remainder of an infinity is NaN. */
static bool is_numeric_remainder(Oid function, void *context)
{
	(void)context;
	return function == F_NUMERIC_MOD || function == F_MOD_NUMERIC_NUMERIC;
}

static bool is_special(Node *node, void *zero_too)
{
	double value;
	Oid type;

	if (!node)
		return false;
	if (zero_too && check_functions_in_node(node, is_numeric_remainder, NULL))
		return true;
	if (!IsA(node, Const) && !IsA(node, Param))
		return expression_tree_walker(node, is_special, zero_too);
	type = getBaseType(exprType(node));
	if (IsA(node, Param) && zero_too && (type == INT2OID || type == INT4OID || type == INT8OID))
		return true;
	if (type != FLOAT4OID && type != FLOAT8OID && type != NUMERICOID)
		return false;
	if (IsA(node, Param) || castNode(Const, node)->constisnull)
		return IsA(node, Param);
	value = iforest_number_from_datum(castNode(Const, node)->constvalue, type);
	return !isfinite(value) || (zero_too && value == 0);
}

bool iforest_may_be_infinite(Node *expression)
{
	return is_special(expression, NULL);
}

bool iforest_may_make_nan(Node *expression)
{
	bool zero_too = true;

	return is_special(expression, &zero_too);
}

/* ---- functions ---- */

Oid iforest_called(Node *node, List **arguments)
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

void iforest_add_break(List **breaks, Node *argument, Node *zone, enum iforest_break_kind kind)
{
	List *one = list_make3(argument, zone,
			       makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(kind), false, true));

	if (!list_member(*breaks, one))
		*breaks = lappend(*breaks, one);
}

enum iforest_break_kind iforest_break_kind(const List *one)
{
	return (enum iforest_break_kind)DatumGetInt32(castNode(Const, lthird(one))->constvalue);
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
		iforest_add_break(breaks, argument, NULL, IFOREST_BREAK_UTC);
		break;
	case LOCAL_OF_SESSION:
		iforest_add_break(breaks, as_timestamp(argument), NULL, IFOREST_BREAK_LOCAL);
		break;
	case UTC_OF_ARGUMENT:
		iforest_add_break(breaks, argument, list_nth(arguments, function->zone), IFOREST_BREAK_UTC);
		break;
	case LOCAL_OF_ARGUMENT:
		iforest_add_break(breaks, argument, list_nth(arguments, function->zone), IFOREST_BREAK_LOCAL);
		break;
	}
}

/* Division of numerics keeps 16 digits and more, as many as the leading digits of both sides suggest: where that number drops,
 * a quotient may be rounded below that of a smaller dividend. Not so for powers of ten, and where dividends have few digits;
 * nor is it seen once the quotient is rounded to an integer. */
static bool is_exact_division(List *arguments)
{
	Const *divisor = lsecond(arguments);
	List *inner;
	Oid dividend = iforest_called(linitial(arguments), &inner);
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

/* round(x) and trunc(x) of numerics come as round(x, 0) and trunc(x, 0). */
static bool is_rounding(Oid function, const List *arguments)
{
	Const *digits = list_length(arguments) == 2 ? lsecond(arguments) : NULL;

	if (function != F_ROUND_NUMERIC_INT4 && function != F_TRUNC_NUMERIC_INT4)
		return IS_ONE_OF(function, roundings);
	return IsA(digits, Const) && !digits->constisnull && DatumGetInt32(digits->constvalue) <= 0;
}

/* A field of extract(), in small letters; empty where it is not known when planning. */
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

/* extract(julian from ts): days, and the part of the day that has gone by. That is a quotient, so more digits of it may be kept
 * of some than of others; rounded to an integer they are in order. */
static bool is_julian(Node *node, AttrNumber attribute, List **breaks)
{
	char field[16];
	List *arguments;
	Oid function = iforest_called(node, &arguments);

	if (function != F_EXTRACT_TEXT_TIMESTAMP && function != F_EXTRACT_TEXT_TIMESTAMPTZ)
		return false;
	constant_word(linitial(arguments), field, sizeof field);
	if (strcmp(field, "julian") != 0 || !iforest_is_monotone_beside_null(lsecond(arguments), attribute, breaks))
		return false;
	if (function == F_EXTRACT_TEXT_TIMESTAMPTZ)
		iforest_add_break(breaks, lsecond(arguments), NULL, IFOREST_BREAK_UTC);
	return true;
}

static bool is_listed(Oid function, List *arguments, AttrNumber attribute, List **breaks)
{
	if (function == F_NUMERIC_DIV)
		return is_exact_division(arguments) && iforest_is_monotone_beside_null(linitial(arguments), attribute, breaks);
	if (is_rounding(function, arguments)) {
		List *division;

		if (iforest_called(linitial(arguments), &division) == F_NUMERIC_DIV && !iforest_has_columns(lsecond(division)))
			return iforest_is_monotone_beside_null(linitial(division), attribute, breaks);
		if (is_julian(linitial(arguments), attribute, breaks))
			return true;
	}
	if (IS_ONE_OF(function, sums_and_products) && list_length(arguments) == 2) {
		int i = iforest_has_columns(linitial(arguments)) ? 0 : 1;

		if (IS_ONE_OF(function, real_products) && iforest_may_be_infinite(list_nth(arguments, 1 - i)))
			return false;
		return others_are_constant(arguments, i) &&
		       iforest_is_monotone_beside_null(list_nth(arguments, i), attribute, breaks);
	}
	for (size_t i = 0; i < lengthof(functions); i++) {
		const struct monotone_function *known = &functions[i];

		if (known->function != function || !others_are_constant(arguments, known->argument) ||
		    !iforest_is_monotone_beside_null(list_nth(arguments, known->argument), attribute, breaks))
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

	return IS_ONE_OF(function, differences) && IS_ONE_OF(iforest_called(lsecond(arguments), &inner), remainders) &&
	       equal(linitial(arguments), linitial(inner)) && !iforest_has_columns(lsecond(inner)) &&
	       iforest_is_monotone_beside_null(linitial(arguments), attribute, breaks);
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
		Oid of = iforest_called(lsecond(arguments), &inner);

		if (!is_epoch || (of != F_TIMESTAMP_MI && of != F_TIMESTAMPTZ_MI))
			return false;
	} else if (!is_epoch && !is_among(field, years)) {
		return false;
	}
	if (!iforest_is_monotone_beside_null(lsecond(arguments), attribute, breaks))
		return false;
	if (!is_epoch && exprType(lsecond(arguments)) == TIMESTAMPTZOID)
		iforest_add_break(breaks, lsecond(arguments), NULL, IFOREST_BREAK_UTC);
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
	(void)iforest_called(node, &arguments);
	if (list_length(arguments) != 2 || !iforest_is_inequality(castNode(OpExpr, node)->opno))
		return false;
	i = iforest_has_columns(linitial(arguments)) ? 0 : 1;
	side = list_nth(arguments, i);
	type = exprType(side);
	if (!others_are_constant(arguments, i) || !iforest_is_monotone_beside_null(side, attribute, breaks))
		return false;
	/* compared as timestamptz, which local time is turned into */
	if ((type == TIMESTAMPOID || type == DATEOID) && exprType(list_nth(arguments, 1 - i)) == TIMESTAMPTZOID)
		iforest_add_break(breaks, as_timestamp(side), NULL, IFOREST_BREAK_LOCAL);
	return true;
}

/* x < ALL (array) and the like: as its comparisons do, it changes once. */
static bool is_comparison_of_array(Node *node, AttrNumber attribute, List **breaks)
{
	ScalarArrayOpExpr *call = (ScalarArrayOpExpr *)node;

	return IsA(node, ScalarArrayOpExpr) && call->opno < FirstNormalObjectId && iforest_is_inequality(call->opno) &&
	       !iforest_has_columns(lsecond(call->args)) &&
	       exprType(linitial(call->args)) == get_base_element_type(exprType(lsecond(call->args))) &&
	       iforest_is_monotone_beside_null(linitial(call->args), attribute, breaks);
}

/* greatest(x, c), least(x, c), and coalesce(x, c), which is x unless that is NULL for all times or none. */
static bool is_choice(Node *node, AttrNumber attribute, List **breaks)
{
	List *arguments = NIL;
	int i = 0;

	if (IsA(node, MinMaxExpr))
		arguments = castNode(MinMaxExpr, node)->args;
	else if (IsA(node, CoalesceExpr) && exprType(node) != BOOLOID)
		arguments = castNode(CoalesceExpr, node)->args;
	while (IsA(node, MinMaxExpr) && i + 1 < list_length(arguments) && !iforest_has_columns(list_nth(arguments, i)))
		i++;
	return arguments != NIL && others_are_constant(arguments, i) &&
	       iforest_is_monotone_beside_null(list_nth(arguments, i), attribute, breaks);
}

/* iforest_bucket_of(), which numbers what lies beside its buckets, too. */
static bool is_bucket_number(Oid function, List *arguments, AttrNumber attribute, List **breaks)
{
	return iforest_is_own_function(function, "iforest_bucket_of") && others_are_constant(arguments, 0) &&
	       iforest_is_monotone_beside_null(linitial(arguments), attribute, breaks);
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
		       iforest_is_monotone_beside_null((Node *)castNode(RelabelType, node)->arg, attribute, breaks);
	if (is_notclause(node))
		return iforest_is_monotone_beside_null((Node *)get_notclausearg(node), attribute, breaks);
	function = iforest_called(node, &arguments);
	if (!OidIsValid(function))
		return is_comparison_of_array(node, attribute, breaks) || is_choice(node, attribute, breaks);
	return is_listed(function, arguments, attribute, breaks) ||
	       is_less_remainder(function, arguments, attribute, breaks) ||
	       is_field(function, arguments, attribute, breaks) || iforest_is_shifted(function, arguments, attribute, breaks) ||
	       is_comparison(node, attribute, breaks) || is_bucket_number(function, arguments, attribute, breaks);
}

bool iforest_is_monotone_beside_null(Node *expression, AttrNumber attribute, List **breaks)
{
	List *before = list_copy(*breaks);

	if (is_monotone(expression, attribute, breaks))
		return true;
	*breaks = before;
	return false;
}

/* May it be something else than NULL where its column is NULL? Of what is_monotone() takes. */
static bool has_value_of_null(Node *node, void *context)
{
	if (!node)
		return false;
	return IsA(node, CoalesceExpr) || IsA(node, MinMaxExpr) || IsA(node, ScalarArrayOpExpr) ||
	       expression_tree_walker(node, has_value_of_null, context);
}

bool iforest_is_monotone(Node *expression, AttrNumber attribute, List **breaks)
{
	return !has_value_of_null(expression, NULL) && iforest_is_monotone_beside_null(expression, attribute, breaks);
}
