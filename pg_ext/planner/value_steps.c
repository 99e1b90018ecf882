#include "pg_ext/planner/value_steps.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/typcache.h"

#include "pg_ext/base/safe_eval.h"
#include "pg_ext/planner/affine.h"
#include "pg_ext/types/values.h"

enum { MAX_STEPS = IFOREST_MAX_BOUNDS + 2 };

/* An expression of the value column only, and its values on the steps. For a numeric division these are reciprocals, with
 * enough digits that the product equals the quotient, including its scale. */
struct leaf {
	Node *node;
	bool is_division;
	int16 type_length;
	bool type_by_value;
	Datum values[MAX_STEPS];
	bool are_null[MAX_STEPS];
};

/* The type of a value column, with numerics as integers in units of 10^-scale, and the range of its numbers. */
struct column_type {
	Oid type;
	int scale;
	int64 least, greatest;
};

struct splitting {
	AttrNumber attribute; /* of the value column */
	struct column_type type;
	bool is_drawn;	/* the bounds are drawn from the expressions themselves */
	bool is_within; /* the node is an argument of an operator or function, so divisions are ignored */
	const int64_t *bounds;
	int n_bounds;
	List *leaves;
	ExprContext *econtext;
	int step;	   /* for substitute() */
	bool is_condition; /* a condition is not constant on steps */
};

/* ---- steps ---- */

void ifp_value_steps_add_boundless(struct iforest_accumulators *accumulators, unsigned n_others, unsigned n_values)
{
	for (unsigned v = 0; n_others + n_values <= IFOREST_MAX_ACCUMULATORS && v < n_values; v++)
		if (iforest_accumulators_named(accumulators, IFOREST_KIND_HISTOGRAM, v, IFOREST_NO_VALUE) < 0)
			accumulators->list[accumulators->n++] =
				(struct iforest_accumulator){ .code = IFOREST_KIND_HISTOGRAM,
							      .value = (uint8)v,
							      .second = IFOREST_NO_VALUE,
							      .first_parameter = accumulators->n_parameters };
}

static bool is_real(struct column_type type)
{
	return type.type == FLOAT4OID || type.type == FLOAT8OID;
}

static struct column_type type_of(const struct ifp_index_query *query, unsigned value)
{
	Node *column = list_nth(query->columns, query->n_by + 1 + (int)value);
	int32 modifier = exprTypmod(column);
	struct column_type type = { .type = getBaseTypeAndTypmod(exprType(column), &modifier), .greatest = PG_INT64_MAX };

	switch (type.type) {
	case INT2OID:
		type.greatest = PG_INT16_MAX;
		break;
	case INT4OID:
		type.greatest = PG_INT32_MAX;
		break;
	case NUMERICOID:
		type.scale = ifp_numeric_scale(modifier);
		type.greatest = 1;
		for (int digit = 0; digit < ifp_numeric_precision(modifier); digit++)
			type.greatest *= 10;
		break;
	case FLOAT4OID:
	case FLOAT8OID:
		type.greatest = ifp_key_from_double(NAN);
	}
	type.least = is_real(type) ? ifp_key_from_double(-INFINITY) : -type.greatest - 1;
	return type;
}

/* Converts a number to the nearest value of the type; numbers of reals are those of ifp_key_from_double(). */
static Datum number_datum(struct column_type type, int64 number)
{
	number = Max(Min(number, type.greatest), type.least);
	switch (type.type) {
	case INT2OID:
		return Int16GetDatum((int16)number);
	case INT4OID:
		return Int32GetDatum((int32)number);
	case NUMERICOID:
		return ifp_numeric_from_int128(number, type.scale);
	case FLOAT4OID:
	case FLOAT8OID:
		return type.type == FLOAT4OID ? Float4GetDatum((float4)ifp_double_from_key(number))
					      : Float8GetDatum(ifp_double_from_key(number));
	default:
		return Int64GetDatum(number);
	}
}

/* Return the least and the greatest number of a step that is not NULL. A step above the greatest integer is empty; any value
 * will do. */
static int64 least_of(const int64_t *bounds, int step)
{
	return step == 0 ? PG_INT64_MIN : bounds[step - 1] == PG_INT64_MAX ? PG_INT64_MAX : bounds[step - 1] + 1;
}

static int64 greatest_of(const int64_t *bounds, int n_bounds, int step)
{
	return step == n_bounds ? PG_INT64_MAX : bounds[step];
}

static unsigned n_bounds_of(const struct iforest_accumulators *accumulators, unsigned a)
{
	return accumulators->list[a].n_parameters;
}

/* Returns the number of rows on a step or before it. */
static uint64 count_through(const struct iforest_accumulators *accumulators, unsigned a, int step,
			    const struct iforest_aggregate *fold)
{
	const struct iforest_accumulator *histogram = &accumulators->list[a];
	int n_bounds = histogram->n_parameters;

	if (step < n_bounds)
		return fold->words[histogram->word + step];
	return step == n_bounds ? fold->values[histogram->value].n : fold->n_rows;
}

uint64 ifp_value_steps_count(const struct iforest_accumulators *accumulators, unsigned a, uint64 steps,
			     const struct iforest_aggregate *fold)
{
	uint64 all = iforest_low_bits(n_bounds_of(accumulators, a) + 2), n = 0;

	steps &= all;
	/* each stretch adds the count through its last step minus the count through the step before it */
	for (uint64 changes = (steps ^ steps >> 1) & all; changes; changes &= changes - 1) {
		int step = (int)iforest_trailing_zeros(changes);
		uint64 through = count_through(accumulators, a, step, fold);

		n += steps >> step & 1 ? through : -through;
	}
	return n;
}

bool ifp_value_steps_range(const struct ifp_index_query *query, int histogram, uint64 steps, int64 *low, int64 *high)
{
	const int64_t *bounds = iforest_accumulator_parameters(&query->accumulators, (unsigned)histogram);
	int n_bounds = (int)n_bounds_of(&query->accumulators, (unsigned)histogram);
	struct column_type type = type_of(query, query->accumulators.list[histogram].value);
	int first = (int)iforest_trailing_zeros(steps), last = first;

	if (first > n_bounds)
		return false;
	while (last < n_bounds && steps >> (last + 1) & 1)
		last++;
	*low = Max(least_of(bounds, first), type.least);
	*high = Min(greatest_of(bounds, n_bounds, last), type.greatest);
	return true;
}

static Expr *compared(Node *column, int16 strategy, struct column_type type, int64 number)
{
	Oid family = lookup_type_cache(type.type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	int16 length;
	bool by_value;

	get_typlenbyval(type.type, &length, &by_value);
	return make_opclause(get_opfamily_member(family, type.type, type.type, strategy), BOOLOID, false, (Expr *)column,
			     (Expr *)makeConst(type.type, -1, InvalidOid, length, number_datum(type, number), false, by_value),
			     InvalidOid, InvalidOid);
}

Node *ifp_value_steps_condition(const struct ifp_index_query *query, int histogram, uint64 steps)
{
	unsigned value = query->accumulators.list[histogram].value;
	Node *column = list_nth(query->columns, query->n_by + 1 + (int)value);
	Var *var = makeVar(1, (AttrNumber)(query->n_by + 2 + (int)value), exprType(column), exprTypmod(column), InvalidOid, 0);
	struct column_type type = type_of(query, value);
	NullTest *test = makeNode(NullTest);
	int64 low, high;

	if (ifp_value_steps_range(query, histogram, steps, &low, &high))
		return (Node *)make_andclause(list_make2(compared((Node *)var, BTGreaterEqualStrategyNumber, type, low),
							 compared((Node *)var, BTLessEqualStrategyNumber, type, high)));
	test->arg = (Expr *)var;
	test->nulltesttype = IS_NULL;
	test->location = -1;
	return (Node *)test;
}

bool ifp_value_steps_need_values(const struct iforest_accumulators *accumulators, unsigned a, uint64 steps)
{
	unsigned last = n_bounds_of(accumulators, a);

	return (steps >> last & 1) != (steps >> (last + 1) & 1);
}

Datum ifp_value_steps_datum(const struct ifp_index_query *query, int histogram, uint64 steps, bool *is_null)
{
	const struct iforest_accumulators *all = &query->accumulators;
	int step = steps ? (int)iforest_trailing_zeros(steps) : 0;

	*is_null = step > (int)n_bounds_of(all, (unsigned)histogram);
	/* without bounds only whether it is NULL is looked at */
	return *is_null || n_bounds_of(all, (unsigned)histogram) == 0
		       ? (Datum)0
		       : number_datum(type_of(query, all->list[histogram].value),
				      least_of(iforest_accumulator_parameters(all, (unsigned)histogram), step));
}

/* ---- evaluation ---- */

static bool has_parameters(Node *node, void *context)
{
	return node && (IsA(node, Param) || expression_tree_walker(node, has_parameters, context));
}

/* True if the expression has the same value whenever it is evaluated. */
static bool is_known(Node *node)
{
	return !has_parameters(node, NULL) && !contain_mutable_functions(node) && !ifp_calls_foreign_functions(node);
}

/* Replaces the column by a placeholder, which takes its value from the expression context. */
static Node *with_placeholder(Node *node, void *context)
{
	if (!node)
		return NULL;
	if (IsA(node, Var)) {
		CaseTestExpr *placeholder = makeNode(CaseTestExpr);

		placeholder->typeId = exprType(node);
		placeholder->typeMod = exprTypmod(node);
		placeholder->collation = exprCollation(node);
		return (Node *)placeholder;
	}
	return expression_tree_mutator(node, with_placeholder, context);
}

static bool evaluate(const struct splitting *splitting, const struct ifp_safe_expression *expression, bool of_null,
		     int64 number, Datum *value, bool *is_null)
{
	splitting->econtext->caseValue_datum = of_null ? (Datum)0 : number_datum(splitting->type, number);
	splitting->econtext->caseValue_isNull = of_null;
	return ifp_safe_eval(expression, splitting->econtext, value, is_null, NULL);
}

static bool is_same(const struct leaf *leaf, Datum a, bool a_is_null, Datum b, bool b_is_null)
{
	return a_is_null || b_is_null ? a_is_null == b_is_null : datumIsEqual(a, b, leaf->type_by_value, leaf->type_length);
}

/* Sets the values of a monotone expression on steps from .. to. Returns false if it is not constant on each of them. */
static bool fill_in(const struct splitting *splitting, const struct ifp_safe_expression *expression, int from, int to,
		    struct leaf *leaf)
{
	int middle = from + (to - from) / 2;
	Datum low, high;
	bool low_is_null, high_is_null;

	if (!evaluate(splitting, expression, false, least_of(splitting->bounds, from), &low, &low_is_null) ||
	    !evaluate(splitting, expression, false, greatest_of(splitting->bounds, splitting->n_bounds, to), &high,
		      &high_is_null))
		return false;
	if (!is_same(leaf, low, low_is_null, high, high_is_null))
		return from < to && fill_in(splitting, expression, from, middle, leaf) &&
		       fill_in(splitting, expression, middle + 1, to, leaf);
	for (int step = from; step <= to; step++) {
		leaf->values[step] = low;
		leaf->are_null[step] = low_is_null;
	}
	return true;
}

static struct leaf *make_leaf(Node *node)
{
	struct leaf *leaf = palloc0(sizeof *leaf);

	leaf->node = node;
	get_typlenbyval(exprType(node), &leaf->type_length, &leaf->type_by_value);
	return leaf;
}

/* Returns the leaf of a monotone expression; NULL if it is not constant on each step. */
static struct leaf *monotone_leaf(const struct splitting *splitting, Node *node)
{
	struct ifp_safe_expression expression = ifp_safe_eval_prepare((Expr *)with_placeholder(node, NULL));
	struct leaf *leaf = make_leaf(node);
	int null = splitting->n_bounds + 1;

	return fill_in(splitting, &expression, 0, splitting->n_bounds, leaf) &&
			       evaluate(splitting, &expression, true, 0, &leaf->values[null], &leaf->are_null[null])
		       ? leaf
		       : NULL;
}

/* ---- leaves ---- */

/* x IS NULL */
static struct leaf *null_leaf(const struct splitting *splitting, NullTest *test)
{
	struct leaf *leaf = make_leaf((Node *)test);

	for (int step = 0; step < splitting->n_bounds + 2; step++)
		leaf->values[step] = BoolGetDatum((step > splitting->n_bounds) == (test->nulltesttype == IS_NULL));
	return leaf;
}

/* x = c is x >= c AND x <= c, and x <> c is neither x < c nor x > c. */
static struct leaf *equality_leaf(const struct splitting *splitting, Node *node)
{
	Node *equality = ifp_as_equality(node);
	List *both = ifp_run_key_bounds(equality, splitting->attribute, false);
	struct leaf *from = both ? monotone_leaf(splitting, linitial(both)) : NULL;
	struct leaf *until = from ? monotone_leaf(splitting, lsecond(both)) : NULL;

	if (!until)
		return NULL;
	from->node = node;
	for (int step = 0; step < splitting->n_bounds + 2; step++) {
		bool is_equal = DatumGetBool(from->values[step]) && DatumGetBool(until->values[step]);

		from->values[step] = BoolGetDatum(is_equal == (equality == node));
		from->are_null[step] = from->are_null[step] || until->are_null[step];
	}
	return from;
}

/* True if the order of a comparison is that of the column: a function of a real may put NaN elsewhere. */
static bool keeps_order(const struct splitting *splitting, Node *node)
{
	List *arguments = IsA(node, OpExpr) ? castNode(OpExpr, node)->args : NIL;

	return !is_real(splitting->type) ||
	       (list_length(arguments) == 2 && (ifp_is_ascending(linitial(arguments), splitting->attribute) ||
						ifp_is_ascending(lsecond(arguments), splitting->attribute)));
}

/* Returns the leaf of an expression of the column only; NULL if it is not one. */
static struct leaf *find_leaf(const struct splitting *splitting, Node *node)
{
	List *breaks = NIL;

	if (IsA(node, NullTest) && IsA(castNode(NullTest, node)->arg, Var))
		return null_leaf(splitting, castNode(NullTest, node));
	if (splitting->n_bounds == 0 || !keeps_order(splitting, node) || !is_known(node) || ifp_may_be_infinite(node))
		return NULL;
	if (ifp_is_monotone_beside_null(node, splitting->attribute, &breaks) && breaks == NIL)
		return monotone_leaf(splitting, node);
	return equality_leaf(splitting, node);
}

/* ---- divisions ---- */

/* True for x / c of numerics, where x is a multiple of the column, and c is a constant. */
static bool is_division(const struct splitting *splitting, Node *node)
{
	OpExpr *call = (OpExpr *)node;

	if (!IsA(node, OpExpr) || splitting->is_within)
		return false;
	set_opfuncid(call);
	return call->opfuncid == F_NUMERIC_DIV && IsA(lsecond(call->args), Const) && !is_real(splitting->type) &&
	       ifp_is_multiple(linitial(call->args), splitting->attribute);
}

/* Returns the number of digits after the point of an expression. */
static Node *scale_of(Node *node)
{
	return (Node *)makeFuncExpr(F_SCALE, INT4OID, list_make1(node), InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

/* Computes 1 / c with n_digits digits after the point. Returns false if that is not exact. */
static bool find_reciprocal(Datum c, int n_digits, Datum *reciprocal)
{
	Datum one = NumericGetDatum(int64_to_numeric(1));

	if (n_digits < 0 || numeric_is_nan(DatumGetNumeric(c)) || numeric_is_inf(DatumGetNumeric(c)) ||
	    DatumGetBool(DirectFunctionCall2(numeric_eq, c, NumericGetDatum(int64_to_numeric(0)))))
		return false;
	*reciprocal = DirectFunctionCall2(numeric_round, DirectFunctionCall2(numeric_div, one, c), Int32GetDatum(n_digits));
	return DatumGetBool(DirectFunctionCall2(numeric_eq, DirectFunctionCall2(numeric_mul, *reciprocal, c), one));
}

/* Returns the leaf of a division; NULL if a quotient on one of the steps is rounded or the number of digits varies within a
 * step. */
static struct leaf *division_leaf(const struct splitting *splitting, Node *node)
{
	Node *dividend = linitial(castNode(OpExpr, node)->args);
	Const *divisor = lsecond_node(Const, castNode(OpExpr, node)->args);
	Node *scale = (Node *)with_placeholder(scale_of(node), NULL);
	struct ifp_safe_expression expression = ifp_safe_eval_prepare((Expr *)scale);
	struct ifp_safe_expression of_dividend = ifp_safe_eval_prepare((Expr *)with_placeholder(scale_of(dividend), NULL));
	struct leaf *leaf = make_leaf(node), *scales = make_leaf(scale);
	Datum n_digits;
	bool is_null;

	leaf->is_division = true;
	leaf->are_null[splitting->n_bounds + 1] = true;
	if (divisor->constisnull || !evaluate(splitting, &of_dividend, false, 0, &n_digits, &is_null))
		return NULL;
	/* step by step: the number of digits depends on the magnitude, so it is not monotone */
	for (int step = 0; step <= splitting->n_bounds; step++)
		if (!fill_in(splitting, &expression, step, step, scales) ||
		    !find_reciprocal(divisor->constvalue, DatumGetInt32(scales->values[step]) - DatumGetInt32(n_digits),
				     &leaf->values[step]))
			return NULL;
	return leaf;
}

/* Collects the largest leaves. Returns true if the expression depends on more than steps. */
static bool collect(Node *node, void *context)
{
	struct splitting *splitting = context;
	bool before, hangs_on_more;
	struct leaf *leaf;

	if (!node || !ifp_mentions(node, splitting->attribute))
		return false;
	if (IsA(node, Var))
		return !splitting->is_drawn;
	leaf = IsA(node, List) || IsA(node, CaseWhen)		     ? NULL
	       : splitting->is_drawn && is_division(splitting, node) ? division_leaf(splitting, node)
								     : find_leaf(splitting, node);
	if (leaf) {
		splitting->leaves = lappend(splitting->leaves, leaf);
		return false;
	}
	before = splitting->is_within;
	splitting->is_within = before || IsA(node, OpExpr) || IsA(node, FuncExpr);
	hangs_on_more = expression_tree_walker(node, collect, context);
	splitting->is_within = before;
	if (!hangs_on_more)
		return false;
	splitting->is_condition =
		splitting->is_condition || (!IsA(node, List) && !IsA(node, CaseWhen) && exprType(node) == BOOLOID);
	return true;
}

/* ---- pieces ---- */

/* Lists are taken apart up to this length. */
enum { MOST_ELEMENTS = IFOREST_MAX_BOUNDS / 2 };

/* Returns x = ANY (list) or x <> ALL (list) as comparisons with each element; other nodes unchanged. */
static Node *with_elements(Node *node)
{
	ScalarArrayOpExpr *call = (ScalarArrayOpExpr *)node;
	Const *list = IsA(node, ScalarArrayOpExpr) ? lsecond(call->args) : NULL;
	List *comparisons = NIL;
	Datum *elements;
	bool *are_null, by_value;
	char alignment;
	int16 length;
	Oid type;
	int n;

	if (!list || !IsA(list, Const) || list->constisnull)
		return node;
	type = ARR_ELEMTYPE(DatumGetArrayTypeP(list->constvalue));
	get_typlenbyvalalign(type, &length, &by_value, &alignment);
	deconstruct_array(DatumGetArrayTypeP(list->constvalue), type, length, by_value, alignment, &elements, &are_null, &n);
	if (n == 0 || n > MOST_ELEMENTS)
		return node;
	for (int i = 0; i < n; i++) {
		Const *element = makeConst(type, -1, list->constcollid, length, elements[i], are_null[i], by_value);
		OpExpr *comparison = (OpExpr *)make_opclause(call->opno, BOOLOID, false, linitial(call->args), (Expr *)element,
							     InvalidOid, call->inputcollid);

		set_opfuncid(comparison);
		comparisons = lappend(comparisons, comparison);
	}
	return (Node *)(call->useOr ? make_orclause(comparisons) : make_andclause(comparisons));
}

/* Returns coalesce(x, y) of a column x as CASE WHEN x IS NOT NULL THEN x ELSE y END; other nodes unchanged. */
static Node *with_null_test(Node *node)
{
	CoalesceExpr *coalesce = (CoalesceExpr *)node;
	NullTest *test;
	CaseExpr *choice;
	CaseWhen *when;

	if (!IsA(node, CoalesceExpr) || list_length(coalesce->args) != 2 || !IsA(linitial(coalesce->args), Var))
		return node;
	test = makeNode(NullTest);
	test->arg = linitial(coalesce->args);
	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	when = makeNode(CaseWhen);
	when->expr = (Expr *)test;
	when->result = linitial(coalesce->args);
	when->location = -1;
	choice = makeNode(CaseExpr);
	choice->casetype = coalesce->coalescetype;
	choice->casecollid = coalesce->coalescecollid;
	choice->args = list_make1(when);
	choice->defresult = lsecond(coalesce->args);
	choice->location = -1;
	return (Node *)choice;
}

/* The same within comparisons, where coalesce() preserves the order of its column. */
static Node *with_conditions_within(Node *node, void *context)
{
	return node ? expression_tree_mutator(with_elements(ifp_case_conditions(node)), with_conditions_within, context) : NULL;
}

/* Returns the expressions with conditions in each CASE, lists expanded to their elements, and coalesce() as a CASE. */
static Node *with_conditions(Node *node, void *context)
{
	if (!node || IsA(node, OpExpr) || IsA(node, ScalarArrayOpExpr))
		return with_conditions_within(node, context);
	return expression_tree_mutator(with_elements(ifp_case_conditions(with_null_test(node))), with_conditions, context);
}

Node *ifp_value_steps_normalize(Node *expressions)
{
	return with_conditions(expressions, NULL);
}

/* Returns the value of a leaf on a step: a constant, or a product with one. */
static Node *on_step(const struct leaf *leaf, int step)
{
	Node *node = leaf->node;
	bool is_null = leaf->are_null[step];
	Node *constant =
		(Node *)makeConst(exprType(node), exprTypmod(node), exprCollation(node), leaf->type_length,
				  is_null ? (Datum)0 : datumCopy(leaf->values[step], leaf->type_by_value, leaf->type_length),
				  is_null, leaf->type_by_value);

	if (!leaf->is_division || is_null)
		return constant;
	return (Node *)makeFuncExpr(F_NUMERIC_MUL, NUMERICOID, list_make2(linitial(castNode(OpExpr, node)->args), constant),
				    InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

/* Returns the expression on a step, with constants for the leaves. */
static Node *substitute(Node *node, void *context)
{
	struct splitting *splitting = context;
	ListCell *cell;

	if (!node)
		return NULL;
	foreach (cell, splitting->leaves) {
		const struct leaf *leaf = lfirst(cell);

		if (leaf->node == node)
			return on_step(leaf, splitting->step);
	}
	return expression_tree_mutator(node, substitute, context);
}

/* Evaluates a node without columns to a constant, if that raises no error. */
static Node *simplify(const struct splitting *splitting, Node *node)
{
	struct ifp_safe_expression expression;
	int16 length;
	bool by_value, is_null;
	Datum value;

	if (!node || IsA(node, Const) || ifp_has_columns(node) || !is_known(node))
		return node;
	expression = ifp_safe_eval_prepare((Expr *)node);
	if (!ifp_safe_eval(&expression, splitting->econtext, &value, &is_null, NULL))
		return node;
	get_typlenbyval(exprType(node), &length, &by_value);
	return (Node *)makeConst(exprType(node), exprTypmod(node), exprCollation(node), length,
				 is_null ? (Datum)0 : datumCopy(value, by_value, length), is_null, by_value);
}

/* True if all leaves are the same on both steps. */
static bool are_alike(const struct splitting *splitting, int a, int b)
{
	ListCell *cell;

	foreach (cell, splitting->leaves) {
		const struct leaf *leaf = lfirst(cell);

		if (!is_same(leaf, leaf->values[a], leaf->are_null[a], leaf->values[b], leaf->are_null[b]))
			return false;
	}
	return true;
}

static List *expressions_on(struct splitting *splitting, List *expressions, int step)
{
	List *result = NIL;
	ListCell *cell;

	splitting->step = step;
	foreach (cell, expressions)
		result = lappend(result, simplify(splitting, substitute(lfirst(cell), splitting)));
	return result;
}

/* Adds a step to the piece with the same expressions, or to a new piece. */
static List *add_step(struct splitting *splitting, List *pieces, List *expressions, int step)
{
	struct ifp_piece *piece;
	ListCell *cell;

	foreach (cell, pieces) {
		piece = lfirst(cell);
		if (are_alike(splitting, (int)iforest_trailing_zeros(piece->steps), step)) {
			piece->steps |= UINT64CONST(1) << step;
			return pieces;
		}
	}
	piece = palloc(sizeof *piece);
	*piece = (struct ifp_piece){ UINT64CONST(1) << step, expressions_on(splitting, expressions, step) };
	return lappend(pieces, piece);
}

/* Joins pieces whose expressions are equal although their leaves are not. */
static List *join(List *pieces)
{
	List *joined = NIL;
	ListCell *cell, *with;

	foreach (cell, pieces) {
		struct ifp_piece *piece = lfirst(cell);

		foreach (with, joined)
			if (equal(((struct ifp_piece *)lfirst(with))->expressions, piece->expressions))
				break;
		if (with)
			((struct ifp_piece *)lfirst(with))->steps |= piece->steps;
		else
			joined = lappend(joined, piece);
	}
	return joined;
}

/* True if the column is used other than in x IS [NOT] NULL. */
static bool mentions_values(Node *node, void *attribute)
{
	if (!node || (IsA(node, NullTest) && IsA(castNode(NullTest, node)->arg, Var)))
		return false;
	if (IsA(node, Var))
		return castNode(Var, node)->varattno == *(const AttrNumber *)attribute;
	return expression_tree_walker(node, mentions_values, attribute);
}

static bool is_drawn(const struct ifp_index_query *query, int value)
{
	return query->drawn >> value & 1;
}

/* Returns the number of a value column's histogram; -1 if it has none. */
static int histogram_of(const struct ifp_index_query *query, int value)
{
	const struct iforest_accumulators *all = &query->accumulators;

	for (int a = 0; is_drawn(query, value) && a < all->n; a++)
		if (all->list[a].value == value && !ifp_value_steps_is_kept(all, (unsigned)a))
			return a;
	return iforest_accumulators_named(all, IFOREST_KIND_HISTOGRAM, (unsigned)value, IFOREST_NO_VALUE);
}

static struct splitting begin_splitting(const struct ifp_index_query *query, int value, int histogram)
{
	struct splitting splitting = { .attribute = (AttrNumber)(query->n_by + 2 + value),
				       .type = type_of(query, (unsigned)value),
				       .is_drawn = is_drawn(query, value),
				       .bounds = iforest_accumulator_parameters(&query->accumulators, (unsigned)histogram),
				       .n_bounds = (int)n_bounds_of(&query->accumulators, (unsigned)histogram),
				       .econtext = CreateStandaloneExprContext() };

	return splitting;
}

/* Collects the leaves of expressions in the only column of a drawn histogram that has any; sets *histogram to -1 if none or
 * several have. */
static struct splitting collect_drawn(const struct ifp_index_query *query, List *expressions, int *histogram)
{
	struct splitting found = { .leaves = NIL };
	int n_found = 0;

	*histogram = -1;
	for (int v = 0; query->drawn >> v; v++) {
		struct splitting splitting;

		if (!is_drawn(query, v))
			continue;
		splitting = begin_splitting(query, v, histogram_of(query, v));
		(void)collect((Node *)expressions, &splitting);
		if (splitting.leaves == NIL) {
			FreeExprContext(splitting.econtext, true);
			continue;
		}
		if (n_found++ > 0)
			FreeExprContext(found.econtext, true);
		found = splitting;
		*histogram = histogram_of(query, v);
	}
	if (n_found > 1) {
		FreeExprContext(found.econtext, true);
		*histogram = -1;
	}
	return found;
}

static void split_all(struct splitting *splitting, List *expressions, List **pieces)
{
	*pieces = NIL;
	for (int step = 0; step < splitting->n_bounds + 2; step++)
		*pieces = add_step(splitting, *pieces, expressions, step);
	*pieces = join(*pieces);
}

enum ifp_steps_result ifp_value_steps_split(const struct ifp_index_query *query, List *expressions, int *histogram,
					    List **pieces)
{
	int value = ifp_mentioned_value(query, (Node *)expressions);
	struct splitting splitting;
	bool is_split;

	if (query->drawn) {
		expressions = (List *)with_conditions((Node *)expressions, NULL);
		splitting = collect_drawn(query, expressions, histogram);
		if (*histogram < 0)
			return IFP_STEPS_NO_HISTOGRAM;
		split_all(&splitting, expressions, pieces);
		FreeExprContext(splitting.econtext, true);
		return IFP_STEPS_FOUND;
	}
	*histogram = value < 0 ? -1 : histogram_of(query, value);
	if (*histogram < 0)
		return IFP_STEPS_NO_HISTOGRAM;
	splitting = begin_splitting(query, value, *histogram);
	/* without bounds the steps are non-NULL and NULL, and nothing is evaluated to find them */
	if (splitting.n_bounds == 0 && mentions_values((Node *)expressions, &splitting.attribute)) {
		FreeExprContext(splitting.econtext, true);
		return IFP_STEPS_NO_HISTOGRAM;
	}
	expressions = (List *)with_conditions((Node *)expressions, NULL);
	is_split = !collect((Node *)expressions, &splitting);
	if (is_split)
		split_all(&splitting, expressions, pieces);
	FreeExprContext(splitting.econtext, true);
	if (is_split)
		return IFP_STEPS_FOUND;
	return splitting.is_condition ? IFP_STEPS_NO_BOUNDS : IFP_STEPS_NO_CONSTANT;
}

/* ---- drawing bounds ---- */

struct drawing {
	struct splitting splitting;
	int64 bounds[IFOREST_MAX_BOUNDS];
	int n_bounds;
	bool has_leaf, has_too_many;
};

static void draw_bound(struct drawing *drawing, int64 bound)
{
	int at = 0;

	while (at < drawing->n_bounds && drawing->bounds[at] < bound)
		at++;
	if (at < drawing->n_bounds && drawing->bounds[at] == bound)
		return;
	if (drawing->n_bounds == IFOREST_MAX_BOUNDS) {
		drawing->has_too_many = true;
		return;
	}
	memmove(drawing->bounds + at + 1, drawing->bounds + at, (size_t)(drawing->n_bounds - at) * sizeof *drawing->bounds);
	drawing->bounds[at] = bound;
	drawing->n_bounds++;
}

/* Draws a bound wherever a monotone expression changes from low to high, where its values are known. Returns false if it cannot
 * be evaluated. */
static bool draw_between(struct drawing *drawing, const struct ifp_safe_expression *expression, const struct leaf *ends,
			 int64 low, int64 high)
{
	struct leaf middle = *ends;
	int64 at = low + (int64)(((uint64)high - (uint64)low) / 2);

	if (is_same(ends, ends->values[0], ends->are_null[0], ends->values[1], ends->are_null[1]) || drawing->has_too_many)
		return true;
	if ((uint64)high - (uint64)low == 1) {
		draw_bound(drawing, low);
		return true;
	}
	if (!evaluate(&drawing->splitting, expression, false, at, &middle.values[1], &middle.are_null[1]) ||
	    !draw_between(drawing, expression, &middle, low, at))
		return false;
	middle.values[0] = middle.values[1];
	middle.are_null[0] = middle.are_null[1];
	middle.values[1] = ends->values[1];
	middle.are_null[1] = ends->are_null[1];
	return draw_between(drawing, expression, &middle, at, high);
}

/* Requires  the expression is monotone from low to high. */
static bool draw_in(struct drawing *drawing, Node *node, int64 low, int64 high)
{
	struct ifp_safe_expression expression = ifp_safe_eval_prepare((Expr *)with_placeholder(node, NULL));
	struct leaf *ends = make_leaf(node);

	return evaluate(&drawing->splitting, &expression, false, low, &ends->values[0], &ends->are_null[0]) &&
	       evaluate(&drawing->splitting, &expression, false, high, &ends->values[1], &ends->are_null[1]) &&
	       draw_between(drawing, &expression, ends, low, high);
}

static bool draw_bounds(struct drawing *drawing, Node *node)
{
	return draw_in(drawing, node, drawing->splitting.type.least, drawing->splitting.type.greatest);
}

/* Draws bounds where the quotients of a division change their number of digits: it falls as their magnitude grows, but zero has
 * fewer digits than the smallest numerics. */
static bool draw_scales(struct drawing *drawing, Node *division)
{
	Node *scale = scale_of(division);

	draw_bound(drawing, -1);
	draw_bound(drawing, 0);
	return draw_in(drawing, scale, drawing->splitting.type.least, -1) &&
	       draw_in(drawing, scale, 1, drawing->splitting.type.greatest);
}

/* True for conditions and numbers of buckets, which have few values. */
static bool is_few_valued(Node *node)
{
	Oid function = IsA(node, FuncExpr) ? castNode(FuncExpr, node)->funcid : InvalidOid;

	return exprType(node) == BOOLOID || function == F_WIDTH_BUCKET_ANYCOMPATIBLE_ANYCOMPATIBLEARRAY ||
	       function == F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4 || function == F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4;
}

bool ifp_value_steps_may_draw(Node *node)
{
	if (IsA(node, NullTest) || IsA(node, CoalesceExpr))
		return true;
	if (IsA(node, OpExpr))
		return castNode(OpExpr, node)->opresulttype == BOOLOID;
	return IsA(node, ScalarArrayOpExpr) || (IsA(node, FuncExpr) && is_few_valued(node));
}

/* Draws the bounds of an expression of the column alone. Returns false if it is none. */
static bool draw_leaf(struct drawing *drawing, Node *node)
{
	const struct splitting *splitting = &drawing->splitting;
	List *breaks = NIL, *both;

	if (IsA(node, NullTest) && IsA(castNode(NullTest, node)->arg, Var))
		return true;
	if (is_division(splitting, node))
		return draw_scales(drawing, node);
	if (!is_few_valued(node) || !keeps_order(splitting, node) || !is_known(node) || ifp_may_be_infinite(node))
		return false;
	if (ifp_is_monotone_beside_null(node, splitting->attribute, &breaks) && breaks == NIL)
		return draw_bounds(drawing, node);
	both = ifp_run_key_bounds(ifp_as_equality(node), splitting->attribute, false);
	return both && draw_bounds(drawing, linitial(both)) && draw_bounds(drawing, lsecond(both));
}

static bool can_draw(struct column_type type)
{
	return type.type == INT2OID || type.type == INT4OID || type.type == INT8OID || type.type == NUMERICOID || is_real(type);
}

bool ifp_value_steps_draw_leaf(const struct ifp_index_query *query, int value, Node *expression, int64 *bounds, int *n_bounds)
{
	struct drawing drawing = { .splitting = { .attribute = (AttrNumber)(query->n_by + 2 + value),
						  .type = type_of(query, (unsigned)value),
						  .is_within = true },
				   .n_bounds = *n_bounds };
	bool is_drawn;

	if (!can_draw(drawing.splitting.type))
		return false;
	memcpy(drawing.bounds, bounds, (Size)*n_bounds * sizeof *bounds);
	drawing.splitting.econtext = CreateStandaloneExprContext();
	is_drawn = draw_leaf(&drawing, expression);
	FreeExprContext(drawing.splitting.econtext, true);
	memcpy(bounds, drawing.bounds, (Size)drawing.n_bounds * sizeof *bounds);
	*n_bounds = drawing.n_bounds;
	return is_drawn && !drawing.has_too_many;
}

static bool draw(Node *node, void *context)
{
	struct drawing *drawing = context;
	bool before = drawing->splitting.is_within, stops;

	if (!node || IsA(node, Var) || !ifp_mentions(node, drawing->splitting.attribute))
		return false;
	if (!IsA(node, List) && !IsA(node, CaseWhen) && draw_leaf(drawing, node)) {
		drawing->has_leaf = true;
		return false;
	}
	drawing->splitting.is_within = before || IsA(node, OpExpr) || IsA(node, FuncExpr);
	stops = expression_tree_walker(node, draw, context);
	drawing->splitting.is_within = before;
	return stops;
}

/* Adds the histogram, replacing one without bounds if there is one. Returns false if there is no room. */
static bool add_drawn(struct ifp_index_query *query, int value, const struct drawing *drawing)
{
	struct iforest_accumulators *all = &query->accumulators;
	int a = 0;

	while (a < all->n && (all->list[a].value != value || ifp_value_steps_is_kept(all, (unsigned)a)))
		a++;
	if (a == IFOREST_MAX_ACCUMULATORS || all->n_parameters + drawing->n_bounds > IFOREST_MAX_ACCUMULATOR_WORDS)
		return false;
	all->list[a] = (struct iforest_accumulator){ .code = IFOREST_KIND_HISTOGRAM,
						     .value = (uint8)value,
						     .second = IFOREST_NO_VALUE,
						     .n_parameters = (uint8)drawing->n_bounds,
						     .first_parameter = all->n_parameters };
	memcpy(all->parameters + all->n_parameters, drawing->bounds, (size_t)drawing->n_bounds * sizeof *drawing->bounds);
	all->n_parameters = (uint16)(all->n_parameters + drawing->n_bounds);
	all->n = (uint8)Max(all->n, a + 1);
	query->drawn |= 1u << value;
	return true;
}

bool ifp_value_steps_draw(struct ifp_index_query *query, List *conditions, List *arguments)
{
	List *expressions;
	bool is_drawn = true;

	conditions = (List *)with_conditions((Node *)conditions, NULL);
	arguments = (List *)with_conditions((Node *)arguments, NULL);
	expressions = list_concat_copy(conditions, arguments);
	for (int v = 0; v < ifp_n_values(query) && is_drawn; v++) {
		struct drawing drawing = { .splitting = { .attribute = (AttrNumber)(query->n_by + 2 + v),
							  .type = type_of(query, (unsigned)v) } };

		if (!can_draw(drawing.splitting.type) || !ifp_mentions((Node *)expressions, drawing.splitting.attribute))
			continue;
		drawing.splitting.econtext = CreateStandaloneExprContext();
		(void)draw((Node *)arguments, &drawing);
		drawing.splitting.is_within = true;
		(void)draw((Node *)conditions, &drawing);
		FreeExprContext(drawing.splitting.econtext, true);
		is_drawn = !drawing.has_too_many && (!drawing.has_leaf || add_drawn(query, v, &drawing));
	}
	return is_drawn && query->drawn;
}
