#include "pg_ext/planner/monotone.h"

#include "access/nbtree.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/typcache.h"

#include "pg_ext/types/definition_slice.h"
#include "pg_ext/base/own.h"

/* ---- fields of a time ---- */

/* The unit of date_trunc in which a field of extract() keeps its value; NULL: in none of a second or longer. */
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

/* The same for a format of to_char(). Letters in quotes are taken as fields, too: then the unit is smaller than need be. */
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

/* Functions of one field of a time keep their value within a unit: date_trunc(unit, time). NULL where it is no such call. */
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
	if (!IsA(word, Const) || castNode(Const, word)->constisnull ||
	    !iforest_is_monotone_beside_null(time, attribute, &breaks))
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

/* ---- iforest_bucket() ---- */

/* Adds left < right. */
static void add_comparison(Node *left, Node *right, struct iforest_run_keys *keys)
{
	TypeCacheEntry *type = lookup_type_cache(exprType(left), TYPECACHE_LT_OPR);
	Expr *comparison = make_opclause(type->lt_opr, BOOLOID, false, (Expr *)left, (Expr *)right, InvalidOid, InvalidOid);

	set_opfuncid(castNode(OpExpr, (Node *)comparison));
	keys->expressions = list_append_unique(keys->expressions, comparison);
}

/* iforest_bucket(time, t0, t1, n) is NULL before t0 and from t1 on, and monotone between: adds what tells these three apart. */
static bool add_bucket_keys(Node *node, AttrNumber attribute, struct iforest_run_keys *keys)
{
	List *arguments = IsA(node, FuncExpr) ? castNode(FuncExpr, node)->args : NIL;

	if (!IsA(node, FuncExpr) || !iforest_is_own_function(castNode(FuncExpr, node)->funcid, "iforest_bucket"))
		return false;
	for (int i = 1; i < list_length(arguments); i++)
		if (iforest_has_columns(list_nth(arguments, i)))
			return false;
	if (!iforest_is_monotone(linitial(arguments), attribute, &keys->breaks))
		return false;
	keys->expressions = list_append_unique(keys->expressions, node);
	add_comparison(linitial(arguments), lsecond(arguments), keys);
	add_comparison(linitial(arguments), lthird(arguments), keys);
	return true;
}

/* ---- what depends on the order of its arguments alone ---- */

/* Adds what tells whether an expression is before, at or after a bound. */
static bool add_bound(Node *expression, Node *bound, AttrNumber attribute, struct iforest_run_keys *keys)
{
	if (exprType(expression) != exprType(bound) || iforest_has_columns(bound) ||
	    !iforest_is_monotone_beside_null(expression, attribute, &keys->breaks))
		return false;
	add_comparison(expression, bound, keys);
	add_comparison(bound, expression, keys);
	return true;
}

/* time <@ range */
static bool add_range(List *arguments, AttrNumber attribute, struct iforest_run_keys *keys)
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
static bool add_overlap(List *arguments, AttrNumber attribute, struct iforest_run_keys *keys)
{
	int i = iforest_has_columns(linitial(arguments)) ? 0 : 2;
	Node *time = list_nth(arguments, i);

	return equal(time, list_nth(arguments, i + 1)) && add_bound(time, list_nth(arguments, 2 - i), attribute, keys) &&
	       add_bound(time, list_nth(arguments, 3 - i), attribute, keys);
}

/* (x, time) < (a, b) and the like: by columns are constants here */
static bool add_row_order(RowCompareExpr *row, AttrNumber attribute, struct iforest_run_keys *keys)
{
	ListCell *left, *right;

	forboth(left, row->largs, right, row->rargs)
		if ((iforest_mentions(lfirst(left), attribute) || iforest_mentions(lfirst(right), attribute)) &&
		    !add_bound(lfirst(left), lfirst(right), attribute, keys))
			return false;
	return true;
}

static bool add_order_keys(Node *node, AttrNumber attribute, struct iforest_run_keys *keys)
{
	struct iforest_run_keys before = { list_copy(keys->expressions), list_copy(keys->breaks) };
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

/* ---- equality ---- */

/* x = c as x >= c, or x <= c; NULL where the operator is no equality of a btree order. */
static Node *as_inequality(Node *condition, int strategy)
{
	OpExpr *equality = (OpExpr *)condition;
	Oid operator = InvalidOid;
	ListCell *cell;

	if (!IsA(condition, OpExpr) || !op_mergejoinable(equality->opno, exprType(linitial(equality->args))))
		return NULL;
	foreach(cell, get_mergejoin_opfamilies(equality->opno)) {
		Oid left, right;
		int found;

		get_op_opfamily_properties(equality->opno, lfirst_oid(cell), false, &found, &left, &right);
		operator = get_opfamily_member(lfirst_oid(cell), left, right, (int16)strategy);
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

List *iforest_halves(Node *condition, AttrNumber attribute, bool may_break)
{
	Node *from = as_inequality(condition, BTGreaterEqualStrategyNumber);
	Node *until = as_inequality(condition, BTLessEqualStrategyNumber);
	List *breaks = NIL;
	bool (*is_monotone)(Node *, AttrNumber, List **) = may_break ? iforest_is_monotone_beside_null : iforest_is_monotone;

	if (!from || !until || !is_monotone(from, attribute, &breaks) || !is_monotone(until, attribute, &breaks) ||
	    (breaks != NIL && !may_break))
		return NIL;
	return list_make2(from, until);
}

/* x <> c as x = c; what is neither stays as it is. */
static Node *as_equality(Node *node)
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
	struct iforest_run_keys *keys;
};

static bool collect(Node *node, void *context)
{
	struct collecting *collecting = context;
	AttrNumber attribute = collecting->attribute;
	Node *truncated;
	List *both;

	if (!node || !iforest_mentions(node, attribute))
		return false;
	/* the same for all times that are not NULL, and those that are have a run of their own */
	if (IsA(node, NullTest) && IsA(castNode(NullTest, node)->arg, Var))
		return false;
	if (add_bucket_keys(node, attribute, collecting->keys))
		return false;
	truncated = truncated_to_unit(node, attribute);
	if (truncated)
		node = truncated;
	if (add_order_keys(node, attribute, collecting->keys))
		return false;
	if (iforest_is_monotone_beside_null(node, attribute, &collecting->keys->breaks)) {
		collecting->keys->expressions = list_append_unique(collecting->keys->expressions, node);
		return false;
	}
	/* whether two are equal changes where either half does */
	both = iforest_halves(as_equality(node), attribute, true);
	if (both != NIL)
		return collect((Node *)both, context);
	return expression_tree_walker(node, collect, context);
}

void iforest_add_run_keys(Node *expression, AttrNumber attribute, struct iforest_run_keys *keys)
{
	struct collecting collecting = { .attribute = attribute, .keys = keys };

	(void)collect(expression, &collecting);
}

/* ---- equal and identical ---- */

/* The base type, and what the type or its domain says of digits; -1 if nothing. */
static Oid type_with_modifier(Node *node, int32 *modifier)
{
	*modifier = exprTypmod(node);
	return getBaseTypeAndTypmod(exprType(node), modifier);
}

/* Does a numeric expression write all of its values with the same number of digits after the point? */
static bool has_fixed_scale(Node *node)
{
	List *arguments;
	ListCell *cell;
	int32 modifier;

	if (!iforest_has_columns(node) || type_with_modifier(node, &modifier) != NUMERICOID || modifier >= 0)
		return true;
	if (IsA(node, RelabelType))
		return has_fixed_scale((Node *)castNode(RelabelType, node)->arg);
	if (!IsA(node, FuncExpr) && !IsA(node, OpExpr))
		return false;
	if (IsA(node, OpExpr))
		set_opfuncid(castNode(OpExpr, node));
	arguments = IsA(node, OpExpr) ? castNode(OpExpr, node)->args : castNode(FuncExpr, node)->args;
	switch (IsA(node, OpExpr) ? castNode(OpExpr, node)->opfuncid : castNode(FuncExpr, node)->funcid) {
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
		return !iforest_has_columns(lsecond(arguments));
	case F_EXTRACT_TEXT_DATE:
	case F_EXTRACT_TEXT_TIMESTAMP:
	case F_EXTRACT_TEXT_TIMESTAMPTZ:
	case F_EXTRACT_TEXT_INTERVAL:
		/* all fields but the day of Julius Caesar, which is a quotient */
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
	foreach(cell, arguments)
		if (!has_fixed_scale(lfirst(cell)))
			return false;
	return true;
}

bool iforest_equal_is_identical(Node *expression)
{
	Oid type = getBaseType(exprType(expression)), function;
	TypeCacheEntry *entry;

	if (!iforest_has_columns(expression) || type == FLOAT4OID || type == FLOAT8OID)
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

/* The digits after the point of a numeric expression; -1 if they are not known from its type or value. */
static int scale_of(Node *node, int32 modifier)
{
	if (modifier >= VARHDRSZ)
		return iforest_numeric_scale(modifier);
	if (IsA(node, Const) && !castNode(Const, node)->constisnull) {
		Numeric number = DatumGetNumeric(castNode(Const, node)->constvalue);

		if (!numeric_is_nan(number) && !numeric_is_inf(number))
			return DatumGetInt32(DirectFunctionCall1(numeric_scale, NumericGetDatum(number)));
	}
	return -1;
}

bool iforest_are_written_alike(Node *a, Node *b)
{
	int32 modifier_a, modifier_b;
	int scale;

	if (equal(a, b) || type_with_modifier(a, &modifier_a) != NUMERICOID || type_with_modifier(b, &modifier_b) != NUMERICOID)
		return true;
	scale = scale_of(a, modifier_a);
	return scale >= 0 && scale == scale_of(b, modifier_b);
}
