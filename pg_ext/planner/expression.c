#include "pg_ext/planner/expression.h"

#include <math.h>

#include "access/nbtree.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/typcache.h"

#include "pg_ext/types/values.h"

/* ---- columns and calls ---- */

static bool mentions_walker(Node *node, void *attribute)
{
	if (!node)
		return false;
	if (IsA(node, Var))
		return !attribute || castNode(Var, node)->varattno == *(AttrNumber *)attribute;
	return expression_tree_walker(node, mentions_walker, attribute);
}

bool ifp_mentions(Node *expression, AttrNumber attribute)
{
	return mentions_walker(expression, &attribute);
}

static bool mentions_others(Node *node, void *attribute)
{
	if (!node || IsA(node, Var))
		return node && castNode(Var, node)->varattno != *(const AttrNumber *)attribute;
	return expression_tree_walker(node, mentions_others, attribute);
}

bool ifp_mentions_others(Node *expression, AttrNumber attribute)
{
	return mentions_others(expression, &attribute);
}

bool ifp_has_columns(Node *expression)
{
	return mentions_walker(expression, NULL);
}

/* smallint is cast to oid, regclass and the like by its function for integer, but these have the order of unsigned numbers. */
static bool is_cast_to_oid(const FuncExpr *call)
{
	return call->funcid == F_INT4_INT2 && call->funcresulttype != INT4OID;
}

Oid ifp_called_function(Node *node, List **arguments)
{
	if (IsA(node, FuncExpr) && !is_cast_to_oid(castNode(FuncExpr, node))) {
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

/* Substitutes x for its placeholder in the conditions of CASE x WHEN y. */
static Node *fill_in(Node *node, void *tested)
{
	if (!node || IsA(node, CaseExpr))
		return node;
	if (IsA(node, CaseTestExpr))
		return tested;
	return expression_tree_mutator(node, fill_in, tested);
}

Node *ifp_case_conditions(Node *node)
{
	CaseExpr *choice = (CaseExpr *)node;
	ListCell *cell;

	if (!IsA(node, CaseExpr) || !choice->arg)
		return node;
	choice = copyObject(choice);
	foreach (cell, choice->args) {
		CaseWhen *when = lfirst_node(CaseWhen, cell);

		when->expr = (Expr *)fill_in((Node *)when->expr, choice->arg);
	}
	choice->arg = NULL;
	return (Node *)choice;
}

/* ---- infinities and NaN ---- */

/* The remainder of an infinity is NaN. */
static bool is_numeric_remainder(Oid function, void *context)
{
	(void)context;
	return function == F_NUMERIC_MOD || function == F_MOD_NUMERIC_NUMERIC;
}

/* True for a constant that is infinite or NaN, and a parameter that may be; with zero_too, also for zeros and remainders. */
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
	value = ifp_number_from_datum(castNode(Const, node)->constvalue, type);
	return !isfinite(value) || (zero_too && value == 0);
}

bool ifp_may_be_infinite(Node *expression)
{
	return is_special(expression, NULL);
}

bool ifp_may_make_nan(Node *expression)
{
	bool zero_too = true;

	return is_special(expression, &zero_too);
}

/* ---- equal and identical values ---- */

/* Returns the base type, and the modifier of the type or its domain; -1 if there is none. */
static Oid type_with_modifier(Node *node, int32 *modifier)
{
	*modifier = exprTypmod(node);
	return getBaseTypeAndTypmod(exprType(node), modifier);
}

/* True if a numeric expression writes all its values with the same number of digits after the point. */
static bool has_fixed_scale(Node *node)
{
	List *arguments;
	ListCell *cell;
	int32 modifier;

	if (!ifp_has_columns(node) || type_with_modifier(node, &modifier) != NUMERICOID || modifier >= 0)
		return true;
	if (IsA(node, RelabelType))
		return has_fixed_scale((Node *)castNode(RelabelType, node)->arg);
	switch (ifp_called_function(node, &arguments)) {
	case F_FLOOR_NUMERIC:
	case F_CEIL_NUMERIC:
	case F_CEILING_NUMERIC:
	case F_DIV:
	case F_NUMERIC_INT2:
	case F_NUMERIC_INT4:
	case F_NUMERIC_INT8:
		return true;
	case F_TRUNC_NUMERIC_INT4:
	case F_ROUND_NUMERIC_INT4:
		return !ifp_has_columns(lsecond(arguments));
	case F_EXTRACT_TEXT_DATE:
	case F_EXTRACT_TEXT_TIMESTAMP:
	case F_EXTRACT_TEXT_TIMESTAMPTZ:
	case F_EXTRACT_TEXT_INTERVAL:
		/* all fields but the Julian day, which is a quotient */
		return IsA(linitial(arguments), Const) && !castNode(Const, linitial(arguments))->constisnull &&
		       pg_strcasecmp(TextDatumGetCString(castNode(Const, linitial(arguments))->constvalue), "julian") != 0;
	case F_NUMERIC_ADD:
	case F_NUMERIC_SUB:
	case F_NUMERIC_MUL:
	case F_NUMERIC_UMINUS:
	case F_NUMERIC_MOD:
		break;
	default:
		return false;
	}
	foreach (cell, arguments)
		if (!has_fixed_scale(lfirst(cell)))
			return false;
	return true;
}

bool ifp_equal_is_identical(Node *expression)
{
	Oid type = getBaseType(exprType(expression)), function;
	TypeCacheEntry *entry;

	if (type == INT2OID || type == INT4OID || type == INT8OID || type == FLOAT4OID || type == FLOAT8OID ||
	    !ifp_has_columns(expression))
		return true;
	if (type == NUMERICOID)
		return has_fixed_scale(expression);
	entry = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);
	if (!OidIsValid(entry->btree_opf))
		return false;
	function = get_opfamily_proc(entry->btree_opf, entry->btree_opintype, entry->btree_opintype, BTEQUALIMAGE_PROC);
	return OidIsValid(function) &&
	       DatumGetBool(OidFunctionCall1Coll(function, exprCollation(expression), ObjectIdGetDatum(entry->btree_opintype)));
}

bool ifp_is_power_of_ten(Node *node)
{
	const Const *constant = (const Const *)node;
	const char *digits;
	int n_ones = 0;

	if (!IsA(node, Const) || constant->constisnull || constant->consttype != NUMERICOID)
		return false;
	digits = DatumGetCString(DirectFunctionCall1(numeric_out, constant->constvalue));
	for (const char *digit = digits; *digit; digit++) {
		if (*digit != '0' && *digit != '1' && *digit != '.')
			return false;
		n_ones += *digit == '1';
	}
	return n_ones == 1 && strlen(digits) <= 100;
}

static bool is_one(Node *node)
{
	return ifp_is_power_of_ten(node) && DatumGetBool(DirectFunctionCall2(numeric_eq, castNode(Const, node)->constvalue,
									     NumericGetDatum(int64_to_numeric(1))));
}

/* True for an integer as a numeric, for a column of at most 18 digits, and for one of these times 1.0. */
static bool is_short_number(Node *node)
{
	List *arguments;
	int32 modifier;
	Oid function = ifp_called_function(node, &arguments);

	if (function == F_NUMERIC_MUL)
		return is_one(lsecond(arguments)) && is_short_number(linitial(arguments));
	if (function == F_NUMERIC_INT2 || function == F_NUMERIC_INT4 || function == F_NUMERIC_INT8)
		return true;
	return IsA(node, Var) && type_with_modifier(node, &modifier) == NUMERICOID && modifier >= VARHDRSZ &&
	       ifp_numeric_precision(modifier) <= 18;
}

/* Numeric division computes with digits to base 10000. Let the first digit of v have weight j, and let the first digit of
 * c = 10^k be d, with weight w. The quotient has r = 16 - 4 (j - w) decimals if the first digit of v is greater than d, and four
 * more if not; fewer than either side has are made up to that, which changes nothing. So the scale of v / c changes where |v|
 * reaches (d + 1) * 10000^j. There the quotient is exact in r decimals, because k <= 4 w + 3. With s decimals in v, the quotient
 * of the next smaller v is exact, too, in r + 4 decimals: it has k + s, and 4 j + s <= 17 since v has at most 18 digits, or s is 0
 * and j <= 4 for a bigint. These two differ, so quotients of different scales are never equal. */
bool ifp_is_decimal_quotient(Node *expression)
{
	List *arguments;

	return ifp_called_function(expression, &arguments) == F_NUMERIC_DIV && is_short_number(linitial(arguments)) &&
	       ifp_is_power_of_ten(lsecond(arguments));
}

/* Returns the number of digits after the point of a numeric expression; -1 if neither type nor value tells it. */
static int scale_of(Node *node, int32 modifier)
{
	if (modifier >= VARHDRSZ)
		return ifp_numeric_scale(modifier);
	if (IsA(node, Const) && !castNode(Const, node)->constisnull) {
		Numeric number = DatumGetNumeric(castNode(Const, node)->constvalue);

		if (!numeric_is_nan(number) && !numeric_is_inf(number))
			return DatumGetInt32(DirectFunctionCall1(numeric_scale, NumericGetDatum(number)));
	}
	return -1;
}

bool ifp_are_written_alike(Node *a, Node *b)
{
	int32 modifier_a, modifier_b;
	int scale;

	if (equal(a, b) || type_with_modifier(a, &modifier_a) != NUMERICOID || type_with_modifier(b, &modifier_b) != NUMERICOID)
		return true;
	scale = scale_of(a, modifier_a);
	return scale >= 0 && scale == scale_of(b, modifier_b);
}
