#include "pg_ext/planner/index_query.h"

#include <float.h>

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pg_ext/planner/aggregates.h"
#include "pg_ext/base/safe_eval.h"
#include "pg_ext/planner/affine.h"
#include "pg_ext/types/values.h"
#include "pg_ext/planner/monotone.h"

/* ---- keys ---- */

/* The column that a key condition is about, and its other side; 0 if the condition is none. */
static AttrNumber key_column(const struct iforest_question *question, Node *side)
{
	while (IsA(side, RelabelType))
		side = (Node *)castNode(RelabelType, side)->arg;
	if (!IsA(side, Var) || castNode(Var, side)->varattno > question->n_by + 1)
		return 0;
	return castNode(Var, side)->varattno;
}

/* Local time against a timestamptz: scan keys would hold more than is asked for. */
static bool is_local_against_utc(Oid left, Oid right)
{
	return (left == TIMESTAMPOID || left == DATEOID) && right == TIMESTAMPTZOID;
}

/* Does an operator on a column of the index's key belong to its operator family, as one that scan keys know? */
static bool is_key_operator(const struct iforest_question *question, const IndexOptInfo *index, AttrNumber column,
			    Oid operator, Oid collation, Oid right_type)
{
	int strategy = get_op_opfamily_strategy(operator, index->opfamily[column - 1]);

	if (strategy == 0 ||
	    (OidIsValid(index->indexcollations[column - 1]) && collation != index->indexcollations[column - 1]))
		return false;
	if (column <= question->n_by)
		return strategy == BTEqualStrategyNumber;
	return !is_local_against_utc(index->opcintype[column - 1], right_type);
}

/* column operator parameters, with the column on the left; NULL if it is not that. */
static Node *as_key(const struct iforest_question *question, const IndexOptInfo *index, Node *condition)
{
	Oid left_type, right_type;
	int strategy;

	if (IsA(condition, NullTest))
		return key_column(question, (Node *)castNode(NullTest, condition)->arg) &&
				       !castNode(NullTest, condition)->argisrow ?
			       condition :
			       NULL;
	if (IsA(condition, OpExpr) && list_length(castNode(OpExpr, condition)->args) == 2) {
		OpExpr *call = castNode(OpExpr, condition);

		if (iforest_has_columns(lsecond(call->args))) {
			if (iforest_has_columns(linitial(call->args)) || !OidIsValid(get_commutator(call->opno)))
				return NULL;
			call = copyObject(call);
			CommuteOpExpr(call);
		}
		if (!key_column(question, linitial(call->args)) ||
		    get_op_opfamily_strategy(call->opno, index->opfamily[key_column(question, linitial(call->args)) - 1]) == 0)
			return NULL;
		get_op_opfamily_properties(call->opno, index->opfamily[key_column(question, linitial(call->args)) - 1], false,
					   &strategy, &left_type, &right_type);
		return is_key_operator(question, index, key_column(question, linitial(call->args)), call->opno,
				       call->inputcollid, right_type) ?
			       (Node *)call :
			       NULL;
	}
	if (IsA(condition, ScalarArrayOpExpr)) {
		ScalarArrayOpExpr *call = castNode(ScalarArrayOpExpr, condition);
		AttrNumber column = key_column(question, linitial(call->args));

		return call->useOr && column && !iforest_has_columns(lsecond(call->args)) &&
				       is_key_operator(question, index, column, call->opno, call->inputcollid,
						       get_base_element_type(exprType(lsecond(call->args))))
			       ? condition
			       : NULL;
	}
	return NULL;
}

void iforest_key_condition_read(Node *condition, struct iforest_key_condition *result)
{
	Node *side;

	*result = (struct iforest_key_condition){ .is_null_test = IsA(condition, NullTest) };
	if (result->is_null_test) {
		side = (Node *)castNode(NullTest, condition)->arg;
		result->wants_null = castNode(NullTest, condition)->nulltesttype == IS_NULL;
	} else if (IsA(condition, OpExpr)) {
		side = linitial(castNode(OpExpr, condition)->args);
		result->comparand = lsecond(castNode(OpExpr, condition)->args);
		result->function = castNode(OpExpr, condition)->opno;
		result->collation = castNode(OpExpr, condition)->inputcollid;
		result->right_type = exprType((Node *)result->comparand);
	} else {
		side = linitial(castNode(ScalarArrayOpExpr, condition)->args);
		result->comparand = lsecond(castNode(ScalarArrayOpExpr, condition)->args);
		result->function = castNode(ScalarArrayOpExpr, condition)->opno;
		result->collation = castNode(ScalarArrayOpExpr, condition)->inputcollid;
		result->is_array = true;
		result->right_type = get_base_element_type(exprType((Node *)result->comparand));
	}
	while (IsA(side, RelabelType))
		side = (Node *)castNode(RelabelType, side)->arg;
	result->column = castNode(Var, side)->varattno;
}

/* ---- sorting conditions ---- */

/* Functions that raise no error, or of a pattern alone that is wrong, beside those that PostgreSQL marks as leakproof. */
static const Oid harmless[] = {
	F_TEXTLIKE,    F_TEXTNLIKE,   F_TEXTICLIKE,    F_TEXTICNLIKE,  F_NAMELIKE,     F_LOWER_TEXT,
	F_UPPER_TEXT,  F_STRPOS,      F_TEXTCAT,       F_STARTS_WITH,  F_TEXT_BOOL,    F_INT8_INT4,
	F_INT4_INT2,   F_INT8_INT2,   F_NUMERIC_INT2,  F_NUMERIC_INT4, F_NUMERIC_INT8, F_FLOAT8_INT2,
	F_FLOAT8_INT4, F_FLOAT8_INT8, F_FLOAT8_FLOAT4, F_NUMERIC_EQ,   F_NUMERIC_NE,   F_NUMERIC_LT,
	F_NUMERIC_LE,  F_NUMERIC_GT,  F_NUMERIC_GE,    F_BPCHAREQ,     F_BPCHARLIKE,   F_TEXT_BPCHAR,
	F_FLOAT4_INT2, F_FLOAT4_INT4, F_FLOAT4_INT8,   F_NUMERIC_FLOAT4, F_NUMERIC_FLOAT8,
	F_FLOOR_NUMERIC, F_CEIL_NUMERIC, F_CEILING_NUMERIC, F_ROUND_NUMERIC_INT4, F_TRUNC_NUMERIC_INT4,
};

static bool may_fail(Oid function, void *context)
{
	(void)context;
	for (size_t i = 0; i < lengthof(harmless); i++)
		if (harmless[i] == function)
			return false;
	return !get_func_leakproof(function);
}

static uint32 mentioned_values(const struct iforest_question *question, Node *node)
{
	uint32 mentioned = 0;

	for (int v = 0; question->n_by + 1 + v < list_length(question->columns); v++)
		if (iforest_mentions(node, (AttrNumber)(question->n_by + 2 + v)))
			mentioned |= 1u << v;
	return mentioned;
}

static bool is_real(Node *column)
{
	Oid type = getBaseType(exprType(column));

	return type == FLOAT4OID || type == FLOAT8OID;
}

/* Is it a comparison of something that keeps the order of the column, NaN being the greatest? */
static bool compares_ascending(Node *condition, AttrNumber attribute)
{
	List *arguments = IsA(condition, OpExpr) ? castNode(OpExpr, condition)->args : NIL;

	return list_length(arguments) == 2 && (iforest_is_ascending(linitial(arguments), attribute) ||
					       iforest_is_ascending(lsecond(arguments), attribute));
}

/* x / c with a constant above 0, of integers or numerics. */
static bool is_safe_division(OpExpr *call)
{
	static const Oid divisions[] = { F_INT2DIV,  F_INT4DIV,	 F_INT8DIV,  F_INT24DIV,    F_INT28DIV,
					 F_INT42DIV, F_INT48DIV, F_INT82DIV, F_INT84DIV, F_NUMERIC_DIV };
	Const *divisor = list_length(call->args) == 2 ? lsecond(call->args) : NULL;

	if (!divisor || !IsA(divisor, Const) || divisor->constisnull)
		return false;
	for (size_t i = 0; i < lengthof(divisions); i++)
		if (call->opfuncid == divisions[i])
			return iforest_number_from_datum(divisor->constvalue, divisor->consttype) > 0;
	return false;
}

/* A cast of a numeric(p, s) that every value fits into, by its digits before the point, of which rounding adds one. A value
 * column has no NaN. */
static bool is_safe_cast(const FuncExpr *call)
{
	static const struct { Oid cast; int most_digits;
	} casts[] = { { F_INT2_NUMERIC, 4 }, { F_INT4_NUMERIC, 9 }, { F_INT8_NUMERIC, 18 },
		      { F_FLOAT4_NUMERIC, FLT_MAX_10_EXP }, { F_FLOAT8_NUMERIC, DBL_MAX_10_EXP } };
	Node *argument = linitial(call->args);
	int32 modifier = exprTypmod(argument);

	for (size_t i = 0; i < lengthof(casts); i++)
		if (casts[i].cast == call->funcid)
			return getBaseTypeAndTypmod(exprType(argument), &modifier) == NUMERICOID && modifier >= VARHDRSZ &&
			       iforest_numeric_precision(modifier) - iforest_numeric_scale(modifier) <= casts[i].most_digits;
	return false;
}

/* Could the condition raise an error for some value? It is asked about values of rows that others remove. Numerics have room
 * for whatever is made of a value; integers have not. What it has beside the value fails for all rows or none, which is told
 * when it is asked, if it can be caught. */
static bool may_fail_of_value(Node *node, void *context)
{
	static const Oid exact[] = { F_NUMERIC_ADD, F_NUMERIC_SUB, F_NUMERIC_MUL, F_NUMERIC_UMINUS };
	OpExpr *call = (OpExpr *)node;

	if (!node)
		return false;
	if (!iforest_has_columns(node))
		return iforest_calls_foreign_functions(node);
	if (IsA(node, OpExpr)) {
		set_opfuncid(call);
		for (size_t i = 0; i < lengthof(exact); i++)
			if (call->opfuncid == exact[i])
				return may_fail_of_value((Node *)call->args, context);
		if (is_safe_division(call))
			return may_fail_of_value(linitial(call->args), context);
		return may_fail(call->opfuncid, NULL) || may_fail_of_value((Node *)call->args, context);
	}
	if (IsA(node, FuncExpr))
		return (may_fail(castNode(FuncExpr, node)->funcid, NULL) && !is_safe_cast(castNode(FuncExpr, node))) ||
		       may_fail_of_value((Node *)castNode(FuncExpr, node)->args, context);
	if (IsA(node, Var))
		return false;
	if (IsA(node, List) || IsA(node, RelabelType) || IsA(node, BoolExpr))
		return expression_tree_walker(node, may_fail_of_value, context);
	return iforest_may_call(node, may_fail);
}

static const char *add_value_condition(struct iforest_question *question, Node *condition, AttrNumber attribute)
{
	List *breaks = NIL, *both;

	if (IsA(condition, NullTest) && IsA(castNode(NullTest, condition)->arg, Var)) {
		question->values = lappend(question->values, condition);
		return NULL;
	}
	if (may_fail_of_value(condition, NULL))
		return "a condition on a value column might raise an error for other rows";
	if (is_real(list_nth(question->columns, attribute - 1)) && !compares_ascending(condition, attribute))
		return "a condition on a real value column is not a comparison of it";
	if (iforest_is_monotone(condition, attribute, &breaks) && breaks == NIL) {
		question->values = lappend(question->values, condition);
		return NULL;
	}
	both = iforest_halves(condition, attribute, false);
	question->values = list_concat(question->values, both);
	if (both)
		return NULL;
	return "a condition on a value column is not a range of it";
}

const char *iforest_question_add(struct iforest_question *question, const IndexOptInfo *index, Node *condition)
{
	uint32 values = mentioned_values(question, condition);
	Node *key = as_key(question, index, condition);
	bool has_time = iforest_mentions(condition, iforest_time_attribute(question));
	List *both = has_time ? iforest_halves(condition, iforest_time_attribute(question), true) : NIL;

	if (contain_volatile_functions(condition))
		return "a condition has a volatile function";
	if (values) {
		int v = (int)iforest_trailing_zeros(values);

		for (AttrNumber column = 1; column <= question->n_by + 1; column++)
			if (iforest_mentions(condition, column))
				return "a condition compares a value column with another column";
		if (values & (values - 1))
			return "a condition compares a value column with another column";
		return add_value_condition(question, condition, (AttrNumber)(question->n_by + 2 + v));
	}
	if (!iforest_has_columns(condition))
		question->gates = lappend(question->gates, condition);
	else if (key)
		question->keys = lappend(question->keys, key);
	else if (has_time ? iforest_calls_foreign_functions(condition) : iforest_may_call(condition, may_fail))
		question->late = lappend(question->late, condition);
	else if (has_time)
		question->runs = list_concat(question->runs, both ? both : list_make1(condition));
	else
		question->series = lappend(question->series, condition);
	return NULL;
}

/* ---- run keys ---- */

static void add_list(List *expressions, AttrNumber time, struct iforest_run_keys *keys)
{
	ListCell *cell;

	foreach(cell, expressions)
		iforest_add_run_keys(lfirst(cell), time, keys);
}

void iforest_question_range_keys(const struct iforest_question *question, struct iforest_run_keys *keys)
{
	*keys = (struct iforest_run_keys){ NIL, NIL };
	add_list(question->runs, iforest_time_attribute(question), keys);
}

void iforest_question_bucket_keys(const struct iforest_question *question, struct iforest_run_keys *keys)
{
	AttrNumber time = iforest_time_attribute(question);
	ListCell *cell;

	*keys = (struct iforest_run_keys){ NIL, NIL };
	add_list(question->groups, time, keys);
	add_list(question->late, time, keys);
	foreach(cell, question->aggregates)
		add_list(iforest_aggregate_conditions(lfirst(cell), question), time, keys);
}

/* ---- over the table ---- */

static Node *over_columns(Node *node, void *columns)
{
	if (!node)
		return NULL;
	if (IsA(node, Var))
		return list_nth(columns, castNode(Var, node)->varattno - 1);
	return expression_tree_mutator(node, over_columns, columns);
}

Node *iforest_over_columns(Node *expression, List *columns)
{
	return over_columns(expression, columns);
}

/* ---- in a plan ---- */

List *iforest_question_write(const struct iforest_question *question)
{
	List *tables = lcons(list_make1_oid(question->table), question->tables);
	List *list = list_make4(tables, makeInteger(question->n_by), question->columns, question->groups);

	list = list_concat(list, list_make4(question->operators, question->aggregates, question->gates, question->keys));
	list = list_concat(list, list_make4(question->series, question->runs, question->late, question->values));
	return lappend(list, makeInteger((int)question->squares));
}

void iforest_question_read(struct iforest_question *question, List *list)
{
	*question = (struct iforest_question){ .table = linitial_oid(linitial(list_nth(list, 0))),
					       .tables = list_copy_tail(list_nth(list, 0), 1),
					       .n_by = intVal(list_nth(list, 1)),
					       .columns = list_nth(list, 2),
					       .groups = list_nth(list, 3),
					       .operators = list_nth(list, 4),
					       .aggregates = list_nth(list, 5),
					       .gates = list_nth(list, 6),
					       .keys = list_nth(list, 7),
					       .series = list_nth(list, 8),
					       .runs = list_nth(list, 9),
					       .late = list_nth(list, 10),
					       .values = list_nth(list, 11),
					       .squares = (uint32)intVal(list_nth(list, 12)) };
}
