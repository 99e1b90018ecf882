#include "pg_ext/planner/value_steps.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "pg_ext/base/safe_eval.h"

enum { MAX_STEPS = IFOREST_MAX_BOUNDS + 2 };

/* An expression of the value column alone, and its values on the steps. */
struct leaf {
	Node *node;
	int16 type_length;
	bool type_by_value;
	Datum values[MAX_STEPS];
	bool are_null[MAX_STEPS];
};

struct splitting {
	AttrNumber attribute; /* of the value column */
	Oid type;
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

static Oid type_of(const struct ifp_index_query *query, unsigned value)
{
	return getBaseType(exprType(list_nth(query->columns, query->n_by + 1 + (int)value)));
}

/* Returns the number as the nearest value of the type. */
static Datum integer_datum(Oid type, int64 number)
{
	switch (type) {
	case INT2OID:
		return Int16GetDatum((int16)Max(Min(number, PG_INT16_MAX), PG_INT16_MIN));
	case INT4OID:
		return Int32GetDatum((int32)Max(Min(number, PG_INT32_MAX), PG_INT32_MIN));
	default:
		return Int64GetDatum(number);
	}
}

/* Returns the least and the greatest number of a step that is not NULL. One above the greatest integer has none, and any value
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

/* Returns how many rows are on a step or before it. */
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
	/* each stretch counts what is through its last step, less what is through the step before it */
	for (uint64 changes = (steps ^ steps >> 1) & all; changes; changes &= changes - 1) {
		int step = (int)iforest_trailing_zeros(changes);
		uint64 through = count_through(accumulators, a, step, fold);

		n += steps >> step & 1 ? through : -through;
	}
	return n;
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
		       : integer_datum(type_of(query, all->list[histogram].value),
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

/* Puts a placeholder in the place of the column, which takes its value from the context. */
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
	splitting->econtext->caseValue_datum = of_null ? (Datum)0 : integer_datum(splitting->type, number);
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

/* Returns the leaf of an expression of the column alone; NULL if it is none. */
static struct leaf *find_leaf(const struct splitting *splitting, Node *node)
{
	List *breaks = NIL;

	if (IsA(node, NullTest) && IsA(castNode(NullTest, node)->arg, Var))
		return null_leaf(splitting, castNode(NullTest, node));
	if (splitting->n_bounds == 0 || !is_known(node) || ifp_may_be_infinite(node))
		return NULL;
	if (ifp_is_monotone_beside_null(node, splitting->attribute, &breaks) && breaks == NIL)
		return monotone_leaf(splitting, node);
	return equality_leaf(splitting, node);
}

/* Collects the largest leaves. Returns true if the expression hangs on more than steps. */
static bool collect(Node *node, void *context)
{
	struct splitting *splitting = context;
	struct leaf *leaf;

	if (!node || !ifp_mentions(node, splitting->attribute))
		return false;
	if (IsA(node, Var))
		return true;
	leaf = IsA(node, List) || IsA(node, CaseWhen) ? NULL : find_leaf(splitting, node);
	if (leaf) {
		splitting->leaves = lappend(splitting->leaves, leaf);
		return false;
	}
	if (!expression_tree_walker(node, collect, context))
		return false;
	splitting->is_condition =
		splitting->is_condition || (!IsA(node, List) && !IsA(node, CaseWhen) && exprType(node) == BOOLOID);
	return true;
}

/* ---- pieces ---- */

/* Returns the expressions with conditions in each CASE. */
static Node *with_conditions(Node *node, void *context)
{
	return node ? expression_tree_mutator(ifp_case_conditions(node), with_conditions, context) : NULL;
}

/* Returns the expression as it is on a step, with constants for the leaves. */
static Node *substitute(Node *node, void *context)
{
	struct splitting *splitting = context;
	ListCell *cell;

	if (!node)
		return NULL;
	foreach (cell, splitting->leaves) {
		const struct leaf *leaf = lfirst(cell);
		bool is_null = leaf->are_null[splitting->step];

		if (leaf->node == node)
			return (Node *)makeConst(exprType(node), exprTypmod(node), exprCollation(node), leaf->type_length,
						 is_null ? (Datum)0
							 : datumCopy(leaf->values[splitting->step], leaf->type_by_value,
								     leaf->type_length),
						 is_null, leaf->type_by_value);
	}
	return expression_tree_mutator(node, substitute, context);
}

/* Returns what has no column any more as a constant, if its evaluation raises no error. */
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

/* Adds a step to the piece with the same expressions, or a piece. */
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

/* True if the column is mentioned otherwise than in x IS [NOT] NULL. */
static bool mentions_values(Node *node, void *attribute)
{
	if (!node || (IsA(node, NullTest) && IsA(castNode(NullTest, node)->arg, Var)))
		return false;
	if (IsA(node, Var))
		return castNode(Var, node)->varattno == *(const AttrNumber *)attribute;
	return expression_tree_walker(node, mentions_values, attribute);
}

enum ifp_steps_result ifp_value_steps_split(const struct ifp_index_query *query, List *expressions, int *histogram,
					    List **pieces)
{
	int value = ifp_mentioned_value(query, (Node *)expressions);
	struct splitting splitting = { .attribute = (AttrNumber)(query->n_by + 2 + value) };
	bool is_split;

	*histogram = value < 0 ? -1
			       : iforest_accumulators_named(&query->accumulators, IFOREST_KIND_HISTOGRAM, (unsigned)value,
							    IFOREST_NO_VALUE);
	if (*histogram < 0)
		return IFP_STEPS_NO_HISTOGRAM;
	/* without bounds steps are values and NULL, and nothing is evaluated to find them */
	if (n_bounds_of(&query->accumulators, (unsigned)*histogram) == 0 &&
	    mentions_values((Node *)expressions, &splitting.attribute))
		return IFP_STEPS_NO_HISTOGRAM;
	expressions = (List *)with_conditions((Node *)expressions, NULL);
	splitting.type = type_of(query, (unsigned)value);
	splitting.bounds = iforest_accumulator_parameters(&query->accumulators, (unsigned)*histogram);
	splitting.n_bounds = (int)n_bounds_of(&query->accumulators, (unsigned)*histogram);
	*pieces = NIL;
	splitting.econtext = CreateStandaloneExprContext();
	is_split = !collect((Node *)expressions, &splitting);
	for (int step = 0; step < splitting.n_bounds + 2 && is_split; step++)
		*pieces = add_step(&splitting, *pieces, expressions, step);
	*pieces = join(*pieces);
	FreeExprContext(splitting.econtext, true);
	if (is_split)
		return IFP_STEPS_FOUND;
	return splitting.is_condition ? IFP_STEPS_NO_BOUNDS : IFP_STEPS_NO_CONSTANT;
}
