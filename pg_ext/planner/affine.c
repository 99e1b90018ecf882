#include "pg_ext/planner/affine.h"
#include "pg_ext/types/values.h"
#include "pg_ext/planner/monotone.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

/* ---- shapes ---- */

enum shape { CAST, SUM, DIFFERENCE, PRODUCT, QUOTIENT, NEGATION, UNKNOWN };

/* CAST: changes no value, but may raise an error. */
static enum shape shape_of(Oid function)
{
	switch (function) {
	case F_INT2_INT4:
	case F_INT2_INT8:
	case F_INT4_INT2:
	case F_INT4_INT8:
	case F_INT8_INT2:
	case F_INT8_INT4:
	case F_NUMERIC_INT2:
	case F_NUMERIC_INT4:
	case F_NUMERIC_INT8:
	case F_FLOAT8_INT2:
	case F_FLOAT8_INT4:
	case F_FLOAT8_INT8:
	case F_FLOAT8_FLOAT4:
	case F_FLOAT8_NUMERIC:
		return CAST;
	case F_INT2PL:
	case F_INT4PL:
	case F_INT8PL:
	case F_INT24PL:
	case F_INT28PL:
	case F_INT42PL:
	case F_INT48PL:
	case F_INT82PL:
	case F_INT84PL:
	case F_NUMERIC_ADD:
	case F_FLOAT8PL:
		return SUM;
	case F_INT2MI:
	case F_INT4MI:
	case F_INT8MI:
	case F_INT24MI:
	case F_INT28MI:
	case F_INT42MI:
	case F_INT48MI:
	case F_INT82MI:
	case F_INT84MI:
	case F_NUMERIC_SUB:
	case F_FLOAT8MI:
		return DIFFERENCE;
	case F_INT2MUL:
	case F_INT4MUL:
	case F_INT8MUL:
	case F_INT24MUL:
	case F_INT28MUL:
	case F_INT42MUL:
	case F_INT48MUL:
	case F_INT82MUL:
	case F_INT84MUL:
	case F_NUMERIC_MUL:
	case F_FLOAT8MUL:
		return PRODUCT;
	case F_FLOAT8DIV:
		return QUOTIENT;
	case F_INT2UM:
	case F_INT4UM:
	case F_INT8UM:
	case F_NUMERIC_UMINUS:
	case F_FLOAT8UM:
		return NEGATION;
	default:
		return UNKNOWN;
	}
}

static enum shape shape_of_node(Node *node, List **arguments)
{
	return shape_of(ifp_called_function(node, arguments));
}

bool ifp_is_column(Node *expression, AttrNumber attribute)
{
	List *arguments;

	if (IsA(expression, Var))
		return castNode(Var, expression)->varattno == attribute;
	if (IsA(expression, RelabelType))
		return ifp_keeps_order(castNode(RelabelType, expression)) &&
		       ifp_is_column((Node *)castNode(RelabelType, expression)->arg, attribute);
	return shape_of_node(expression, &arguments) == CAST && ifp_is_column(linitial(arguments), attribute);
}

static bool is_real_type(Oid type)
{
	return type == FLOAT4OID || type == FLOAT8OID;
}

static bool is_affine(Node *expression, AttrNumber attribute, bool may_add)
{
	List *arguments;
	enum shape shape;

	if (IsA(expression, Var))
		return castNode(Var, expression)->varattno == attribute;
	if (IsA(expression, RelabelType))
		return ifp_keeps_order(castNode(RelabelType, expression)) &&
		       is_affine((Node *)castNode(RelabelType, expression)->arg, attribute, may_add);
	shape = shape_of_node(expression, &arguments);
	if (shape == UNKNOWN || (!may_add && (shape == SUM || shape == DIFFERENCE)))
		return false;
	if (list_length(arguments) == 1)
		return is_affine(linitial(arguments), attribute, may_add);
	if (!ifp_has_columns(lsecond(arguments)))
		return is_affine(linitial(arguments), attribute, may_add);
	return shape != QUOTIENT && !ifp_has_columns(linitial(arguments)) && is_affine(lsecond(arguments), attribute, may_add);
}

/* Sums and differences of reals are left out: subtraction may cancel most of each value. Subtracting from the rounded sum then
 * loses more than summing the small differences. */
bool ifp_is_affine(Node *expression, AttrNumber attribute)
{
	return is_affine(expression, attribute, !is_real_type(exprType(expression)));
}

/* True for a finite constant; a factor must also be positive. */
static bool is_plain_constant(Node *node, bool is_factor)
{
	Const *constant = (Const *)node;
	double value;

	if (!IsA(node, Const) || constant->constisnull)
		return false;
	value = ifp_number_from_datum(constant->constvalue, constant->consttype);
	return isfinite(value) && (!is_factor || value > 0);
}

bool ifp_is_multiple(Node *expression, AttrNumber attribute)
{
	List *arguments;
	Oid function;
	int i;

	if (ifp_is_column(expression, attribute))
		return true;
	function = ifp_called_function(expression, &arguments);
	if (function == F_NUMERIC_UMINUS)
		return ifp_is_multiple(linitial(arguments), attribute);
	if (function != F_NUMERIC_MUL)
		return false;
	i = ifp_has_columns(linitial(arguments)) ? 0 : 1;
	return is_plain_constant(list_nth(arguments, 1 - i), false) && ifp_is_multiple(list_nth(arguments, i), attribute);
}

bool ifp_is_ascending(Node *expression, AttrNumber attribute)
{
	List *arguments;
	enum shape shape;
	int i;

	if (IsA(expression, Var))
		return castNode(Var, expression)->varattno == attribute;
	if (IsA(expression, RelabelType))
		return ifp_keeps_order(castNode(RelabelType, expression)) &&
		       ifp_is_ascending((Node *)castNode(RelabelType, expression)->arg, attribute);
	shape = shape_of_node(expression, &arguments);
	if (shape == UNKNOWN || shape == NEGATION)
		return false;
	if (list_length(arguments) == 1)
		return shape == CAST && ifp_is_ascending(linitial(arguments), attribute);
	i = ifp_has_columns(linitial(arguments)) ? 0 : 1;
	return (i == 0 || shape == SUM || shape == PRODUCT) && ifp_is_ascending(list_nth(arguments, i), attribute) &&
	       is_plain_constant(list_nth(arguments, 1 - i), shape == PRODUCT || shape == QUOTIENT);
}

/* True for functions of one argument that round it to an integer, and for casts that round. */
static bool is_rounding(Oid function)
{
	static const Oid rounding[] = { F_ROUND_NUMERIC, F_FLOOR_NUMERIC, F_CEIL_NUMERIC,   F_CEILING_NUMERIC, F_TRUNC_NUMERIC,
					F_ROUND_FLOAT8,	 F_FLOOR_FLOAT8,  F_CEIL_FLOAT8,    F_CEILING_FLOAT8,  F_TRUNC_FLOAT8,
					F_INT2_NUMERIC,	 F_INT4_NUMERIC,  F_INT8_NUMERIC,   F_INT2_FLOAT8,     F_INT4_FLOAT8,
					F_INT8_FLOAT8,	 F_FLOAT4_FLOAT8, F_FLOAT4_NUMERIC, F_NUMERIC_FLOAT8 };

	for (size_t i = 0; i < lengthof(rounding); i++)
		if (rounding[i] == function)
			return true;
	return false;
}

static bool is_division(Oid function)
{
	static const Oid divisions[] = { F_INT2DIV,  F_INT4DIV,	 F_INT8DIV,  F_INT24DIV,    F_INT28DIV, F_INT42DIV,
					 F_INT48DIV, F_INT82DIV, F_INT84DIV, F_NUMERIC_DIV, F_FLOAT8DIV };

	for (size_t i = 0; i < lengthof(divisions); i++)
		if (divisions[i] == function)
			return true;
	return false;
}

bool ifp_is_rising(Node *expression, AttrNumber attribute)
{
	List *arguments;
	Oid function;

	if (ifp_is_ascending(expression, attribute))
		return true;
	if (IsA(expression, RelabelType))
		return ifp_keeps_order(castNode(RelabelType, expression)) &&
		       ifp_is_rising((Node *)castNode(RelabelType, expression)->arg, attribute);
	function = ifp_called_function(expression, &arguments);
	if (is_rounding(function) || (shape_of(function) == CAST && list_length(arguments) == 1))
		return ifp_is_rising(linitial(arguments), attribute);
	if ((function == F_ROUND_NUMERIC_INT4 || function == F_TRUNC_NUMERIC_INT4) &&
	    is_plain_constant(lsecond(arguments), false))
		return ifp_is_rising(linitial(arguments), attribute);
	if (list_length(arguments) != 2 ||
	    !is_plain_constant(lsecond(arguments), shape_of(function) == PRODUCT || is_division(function)))
		return false;
	return (is_division(function) || shape_of(function) == PRODUCT || shape_of(function) == SUM ||
		shape_of(function) == DIFFERENCE) &&
	       ifp_is_rising(linitial(arguments), attribute);
}

/* ---- factors ---- */

static Datum numeric_from(Datum datum, Oid type)
{
	switch (type) {
	case INT2OID:
		return NumericGetDatum(int64_to_numeric(DatumGetInt16(datum)));
	case INT4OID:
		return NumericGetDatum(int64_to_numeric(DatumGetInt32(datum)));
	case INT8OID:
		return NumericGetDatum(int64_to_numeric(DatumGetInt64(datum)));
	default:
		return datum;
	}
}

/* Evaluates a part without columns. Returns false if it is NULL. */
static bool evaluate(Node *part, ExprContext *econtext, bool is_real, struct ifp_affine *constant)
{
	bool is_null;
	Datum datum = ExecEvalExpr(ExecInitExpr((Expr *)part, NULL), econtext, &is_null);

	if (is_null)
		return false;
	if (is_real)
		constant->real_a = ifp_number_from_datum(datum, exprType(part));
	else
		constant->a = numeric_from(datum, exprType(part));
	return true;
}

static Datum negative(Datum number)
{
	return DirectFunctionCall1(numeric_uminus, number);
}

static void apply_real(enum shape shape, double constant, struct ifp_affine *result)
{
	int of_constant, of_result;
	double factor = frexp(constant, &of_constant);

	if (shape == PRODUCT)
		result->real_a *= factor;
	else
		result->real_a /= factor;
	result->real_a = frexp(result->real_a, &of_result);
	result->real_exponent += of_result + (shape == PRODUCT ? of_constant : -of_constant);
}

static void apply(enum shape shape, bool constant_first, const struct ifp_affine *constant, struct ifp_affine *result)
{
	bool is_negated = shape == NEGATION || (shape == DIFFERENCE && constant_first);

	if (result->is_real && is_negated) {
		result->real_a = -result->real_a;
		return;
	}
	if (result->is_real) {
		apply_real(shape, constant->real_a, result);
		return;
	}
	if (shape == PRODUCT) {
		result->a = DirectFunctionCall2(numeric_mul, result->a, constant->a);
		result->b = DirectFunctionCall2(numeric_mul, result->b, constant->a);
		return;
	}
	if (is_negated) {
		result->a = negative(result->a);
		result->b = negative(result->b);
	}
	if (shape == SUM || shape == DIFFERENCE)
		result->b =
			DirectFunctionCall2(shape == SUM || constant_first ? numeric_add : numeric_sub, result->b, constant->a);
}

static bool read_factors(Node *node, AttrNumber attribute, ExprContext *econtext, struct ifp_affine *result)
{
	struct ifp_affine constant = { .is_real = result->is_real };
	List *arguments;
	enum shape shape;
	bool constant_first;

	if (IsA(node, RelabelType))
		return read_factors((Node *)castNode(RelabelType, node)->arg, attribute, econtext, result);
	if (IsA(node, Var)) {
		result->real_a = 1;
		result->a = NumericGetDatum(int64_to_numeric(1));
		result->b = NumericGetDatum(int64_to_numeric(0));
		return true;
	}
	shape = shape_of_node(node, &arguments);
	constant_first = list_length(arguments) == 2 && !ifp_has_columns(linitial(arguments));
	if (!read_factors(list_nth(arguments, constant_first), attribute, econtext, result))
		return false;
	if (list_length(arguments) == 2 &&
	    !evaluate(list_nth(arguments, !constant_first), econtext, result->is_real, &constant))
		return false;
	if (shape != CAST)
		apply(shape, constant_first, &constant, result);
	return true;
}

bool ifp_affine_read(Node *expression, AttrNumber attribute, ExprContext *econtext, struct ifp_affine *result)
{
	*result = (struct ifp_affine){ .is_real = is_real_type(exprType(expression)) };
	return read_factors(expression, attribute, econtext, result);
}
