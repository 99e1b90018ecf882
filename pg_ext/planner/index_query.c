#include "pg_ext/planner/index_query.h"

#include <float.h>

#include "access/stratnum.h"
#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pg_ext/base/engine.h"
#include "pg_ext/base/safe_eval.h"
#include "pg_ext/planner/affine.h"
#include "pg_ext/planner/monotone.h"
#include "pg_ext/types/values.h"

/* ---- columns ---- */

int ifp_mentioned_value(const struct ifp_index_query *query, Node *expression)
{
	int found = -1;

	for (int v = 0; v < ifp_n_values(query); v++)
		if (ifp_mentions(expression, (AttrNumber)(query->n_by + 2 + v)))
			found = found == -1 ? v : -2;
	return found;
}

bool ifp_mentions_by(const struct ifp_index_query *query, Node *expression)
{
	for (int column = 1; column <= query->n_by; column++)
		if (ifp_mentions(expression, (AttrNumber)column))
			return true;
	for (int i = 0; i < query->n_joined; i++)
		if (ifp_mentions(expression, (AttrNumber)(list_length(query->columns) - i)))
			return true;
	return false;
}

TupleTableSlot *ifp_index_query_row(const struct ifp_index_query *query)
{
	TupleDesc descriptor = CreateTemplateTupleDesc(list_length(query->columns));
	TupleTableSlot *row;
	AttrNumber attribute = 1;
	ListCell *cell;

	foreach (cell, query->columns) {
		Node *column = lfirst(cell);

		TupleDescInitEntry(descriptor, attribute, NULL, exprType(column), exprTypmod(column), 0);
		TupleDescInitEntryCollation(descriptor, attribute++, exprCollation(column));
	}
	row = MakeSingleTupleTableSlot(descriptor, &TTSOpsVirtual);
	ExecStoreAllNullTuple(row);
	return row;
}

/* ---- key conditions ---- */

/* Returns the key column that is one side of a condition; 0 if it is not one. */
static AttrNumber key_column(const struct ifp_index_query *query, Node *side)
{
	while (IsA(side, RelabelType))
		side = (Node *)castNode(RelabelType, side)->arg;
	if (!IsA(side, Var) || castNode(Var, side)->varattno > query->n_by + 1)
		return 0;
	return castNode(Var, side)->varattno;
}

/* True if local time is compared with a timestamptz: scan keys would hold more than the condition. */
static bool is_local_against_utc(Oid left, Oid right)
{
	return (left == TIMESTAMPOID || left == DATEOID) && right == TIMESTAMPTZOID;
}

/* True if an operator on a key column belongs to its operator family and scan keys can hold it. */
static bool is_key_operator(const struct ifp_index_query *query, const IndexOptInfo *index, AttrNumber column, Oid operator,
			    Oid collation, Oid right_type)
{
	int strategy = get_op_opfamily_strategy(operator, index->opfamily[column - 1]);

	if (strategy == 0 ||
	    (OidIsValid(index->indexcollations[column - 1]) && collation != index->indexcollations[column - 1]))
		return false;
	if (column <= query->n_by)
		return strategy == BTEqualStrategyNumber;
	return !is_local_against_utc(index->opcintype[column - 1], right_type);
}

/* Returns the condition as a column, an operator and parameters, commuted if need be; NULL if it has another form. */
static Node *as_key(const struct ifp_index_query *query, const IndexOptInfo *index, Node *condition)
{
	Oid left_type, right_type;
	int strategy;

	if (IsA(condition, NullTest))
		return key_column(query, (Node *)castNode(NullTest, condition)->arg) && !castNode(NullTest, condition)->argisrow
			       ? condition
			       : NULL;
	if (IsA(condition, OpExpr) && list_length(castNode(OpExpr, condition)->args) == 2) {
		OpExpr *call = castNode(OpExpr, condition);

		if (ifp_has_columns(lsecond(call->args))) {
			if (ifp_has_columns(linitial(call->args)) || !OidIsValid(get_commutator(call->opno)))
				return NULL;
			call = copyObject(call);
			CommuteOpExpr(call);
		}
		if (!key_column(query, linitial(call->args)) ||
		    get_op_opfamily_strategy(call->opno, index->opfamily[key_column(query, linitial(call->args)) - 1]) == 0)
			return NULL;
		get_op_opfamily_properties(call->opno, index->opfamily[key_column(query, linitial(call->args)) - 1], false,
					   &strategy, &left_type, &right_type);
		return is_key_operator(query, index, key_column(query, linitial(call->args)), call->opno, call->inputcollid,
				       right_type)
			       ? (Node *)call
			       : NULL;
	}
	if (IsA(condition, ScalarArrayOpExpr)) {
		ScalarArrayOpExpr *call = castNode(ScalarArrayOpExpr, condition);
		AttrNumber column = key_column(query, linitial(call->args));

		return call->useOr && column && !ifp_has_columns(lsecond(call->args)) &&
				       is_key_operator(query, index, column, call->opno, call->inputcollid,
						       get_base_element_type(exprType(lsecond(call->args))))
			       ? condition
			       : NULL;
	}
	return NULL;
}

void ifp_key_condition_read(Node *condition, struct ifp_key_condition *result)
{
	Node *side;

	*result = (struct ifp_key_condition){ .is_null_test = IsA(condition, NullTest) };
	if (result->is_null_test) {
		side = (Node *)castNode(NullTest, condition)->arg;
		result->wants_null = castNode(NullTest, condition)->nulltesttype == IS_NULL;
	} else if (IsA(condition, OpExpr)) {
		side = linitial(castNode(OpExpr, condition)->args);
		result->comparand = lsecond(castNode(OpExpr, condition)->args);
		result->opno = castNode(OpExpr, condition)->opno;
		result->function = castNode(OpExpr, condition)->opfuncid;
		result->collation = castNode(OpExpr, condition)->inputcollid;
		result->right_type = exprType((Node *)result->comparand);
	} else {
		side = linitial(castNode(ScalarArrayOpExpr, condition)->args);
		result->comparand = lsecond(castNode(ScalarArrayOpExpr, condition)->args);
		result->opno = castNode(ScalarArrayOpExpr, condition)->opno;
		result->function = castNode(ScalarArrayOpExpr, condition)->opfuncid;
		result->collation = castNode(ScalarArrayOpExpr, condition)->inputcollid;
		result->is_array = true;
		result->right_type = get_base_element_type(exprType((Node *)result->comparand));
	}
	/* expressions that were made for the query may lack it */
	if (!result->is_null_test && !OidIsValid(result->function))
		result->function = get_opcode(result->opno);
	while (IsA(side, RelabelType))
		side = (Node *)castNode(RelabelType, side)->arg;
	result->column = castNode(Var, side)->varattno;
}

/* ---- sorting conditions ---- */

/* Functions that raise no error, or only for a wrong pattern, and that PostgreSQL does not mark as leakproof. */
static const Oid harmless[] = {
	F_TEXTLIKE,	 F_TEXTNLIKE,	    F_TEXTICLIKE,	  F_TEXTICNLIKE,
	F_NAMELIKE,	 F_LOWER_TEXT,	    F_UPPER_TEXT,	  F_STRPOS,
	F_TEXTCAT,	 F_STARTS_WITH,	    F_TEXT_BOOL,	  F_INT8_INT4,
	F_INT4_INT2,	 F_INT8_INT2,	    F_NUMERIC_INT2,	  F_NUMERIC_INT4,
	F_NUMERIC_INT8,	 F_FLOAT8_INT2,	    F_FLOAT8_INT4,	  F_FLOAT8_INT8,
	F_FLOAT8_FLOAT4, F_NUMERIC_EQ,	    F_NUMERIC_NE,	  F_NUMERIC_LT,
	F_NUMERIC_LE,	 F_NUMERIC_GT,	    F_NUMERIC_GE,	  F_BPCHAREQ,
	F_BPCHARLIKE,	 F_TEXT_BPCHAR,	    F_FLOAT4_INT2,	  F_FLOAT4_INT4,
	F_FLOAT4_INT8,	 F_NUMERIC_FLOAT4,  F_NUMERIC_FLOAT8,	  F_FLOOR_NUMERIC,
	F_CEIL_NUMERIC,	 F_CEILING_NUMERIC, F_ROUND_NUMERIC_INT4, F_TRUNC_NUMERIC_INT4,
};

static bool may_fail(Oid function, void *context)
{
	(void)context;
	for (size_t i = 0; i < lengthof(harmless); i++)
		if (harmless[i] == function)
			return false;
	return !get_func_leakproof(function);
}

bool ifp_may_fail(Node *expression)
{
	return ifp_may_call(expression, may_fail);
}

static bool is_real(Node *column)
{
	Oid type = getBaseType(exprType(column));

	return type == FLOAT4OID || type == FLOAT8OID;
}

/* True for a comparison of an expression that keeps the order of the column, with NaN as the greatest. */
static bool compares_ascending(Node *condition, AttrNumber attribute)
{
	List *arguments = IsA(condition, OpExpr) ? castNode(OpExpr, condition)->args : NIL;

	return list_length(arguments) == 2 &&
	       (ifp_is_ascending(linitial(arguments), attribute) || ifp_is_ascending(lsecond(arguments), attribute));
}

/* True for x / c of integers or numerics with a positive constant. */
static bool is_safe_division(OpExpr *call)
{
	static const Oid divisions[] = { F_INT2DIV,  F_INT4DIV,	 F_INT8DIV,  F_INT24DIV, F_INT28DIV,
					 F_INT42DIV, F_INT48DIV, F_INT82DIV, F_INT84DIV, F_NUMERIC_DIV };
	Const *divisor = list_length(call->args) == 2 ? lsecond(call->args) : NULL;

	if (!divisor || !IsA(divisor, Const) || divisor->constisnull)
		return false;
	for (size_t i = 0; i < lengthof(divisions); i++)
		if (call->opfuncid == divisions[i])
			return ifp_number_from_datum(divisor->constvalue, divisor->consttype) > 0;
	return false;
}

/* True for a cast of a numeric(p, s) to a type that every value fits into, by its digits before the point; rounding may add one
 * digit. A value column has no NaN. */
static bool is_safe_cast(const FuncExpr *call)
{
	static const struct {
		Oid cast;
		int most_digits;
	} casts[] = { { F_INT2_NUMERIC, 4 },
		      { F_INT4_NUMERIC, 9 },
		      { F_INT8_NUMERIC, 18 },
		      { F_FLOAT4_NUMERIC, FLT_MAX_10_EXP },
		      { F_FLOAT8_NUMERIC, DBL_MAX_10_EXP } };
	Node *argument = linitial(call->args);
	int32 modifier = exprTypmod(argument);

	for (size_t i = 0; i < lengthof(casts); i++)
		if (casts[i].cast == call->funcid)
			return getBaseTypeAndTypmod(exprType(argument), &modifier) == NUMERICOID && modifier >= VARHDRSZ &&
			       ifp_numeric_precision(modifier) - ifp_numeric_scale(modifier) <= casts[i].most_digits;
	return false;
}

/* True if the condition might raise an error for some value. It is also evaluated for values of rows that other conditions
 * exclude. Numeric arithmetic cannot overflow here, integer arithmetic can. Parts without the value fail for all rows or none;
 * such an error is reported when the condition is evaluated, if it can be caught. */
static bool may_fail_of_value(Node *node, void *context)
{
	static const Oid exact[] = { F_NUMERIC_ADD, F_NUMERIC_SUB, F_NUMERIC_MUL, F_NUMERIC_UMINUS };
	OpExpr *call = (OpExpr *)node;

	if (!node)
		return false;
	if (!ifp_has_columns(node))
		return ifp_calls_foreign_functions(node);
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
	return ifp_may_call(node, may_fail);
}

static const char *add_value_condition(struct ifp_index_query *query, Node *condition, AttrNumber attribute)
{
	List *breaks = NIL, *both;
	bool is_range = false;

	if (IsA(condition, NullTest) && IsA(castNode(NullTest, condition)->arg, Var)) {
		query->values = lappend(query->values, condition);
		return NULL;
	}
	if (may_fail_of_value(condition, NULL))
		return "a condition on a value column might raise an error for other rows";
	if (is_real(list_nth(query->columns, attribute - 1)) && !compares_ascending(condition, attribute) && !query->is_drawing)
		return "a condition on a real value column is not a comparison of it";
	if (!is_real(list_nth(query->columns, attribute - 1)) || compares_ascending(condition, attribute))
		is_range = true;
	if (is_range && ifp_is_monotone(condition, attribute, &breaks) && breaks == NIL) {
		query->values = lappend(query->values, condition);
		return NULL;
	}
	both = is_range ? ifp_run_key_bounds(condition, attribute, false) : NIL;
	query->values = list_concat(query->values, both);
	if (both)
		return NULL;
	if (query->is_drawing) {
		query->by_steps = lappend(query->by_steps, condition);
		return NULL;
	}
	return "a condition on a value column is not a range of it";
}

const char *ifp_index_query_add(struct ifp_index_query *query, const IndexOptInfo *index, Node *condition)
{
	int value = ifp_mentioned_value(query, condition);
	Node *key = as_key(query, index, condition);
	bool has_time = ifp_mentions(condition, ifp_time_attribute(query));
	List *both = has_time ? ifp_run_key_bounds(condition, ifp_time_attribute(query), true) : NIL;

	if (contain_volatile_functions(condition))
		return "a condition has a volatile function";
	if (value != -1) {
		const char *reason;

		if (value < 0 || has_time || ifp_mentions_by(query, condition))
			reason = is_orclause(condition) ? "a value column and another column are joined by OR"
							: "a condition compares a value column with another column";
		else
			reason = add_value_condition(query, condition, (AttrNumber)(query->n_by + 2 + value));
		if (reason && query->is_splitting) {
			query->by_steps = lappend(query->by_steps, condition);
			reason = NULL;
		}
		return reason;
	}
	if (!ifp_has_columns(condition))
		query->gates = lappend(query->gates, condition);
	else if (key)
		query->keys = lappend(query->keys, key);
	else if (has_time ? ifp_calls_foreign_functions(condition) : ifp_may_fail(condition))
		query->late = lappend(query->late, condition);
	else if (has_time)
		query->runs = list_concat(query->runs, both ? both : list_make1(condition));
	else
		query->series = lappend(query->series, condition);
	return NULL;
}

/* ---- run keys ---- */

void ifp_index_query_range_keys(const struct ifp_index_query *query, struct ifp_run_keys *keys)
{
	*keys = (struct ifp_run_keys){ NIL, NIL };
	ifp_add_run_keys((Node *)query->runs, ifp_time_attribute(query), keys);
}

/* ---- back to the table ---- */

static Node *over_columns(Node *node, void *columns)
{
	if (!node)
		return NULL;
	if (IsA(node, Var))
		return list_nth(columns, castNode(Var, node)->varattno - 1);
	return expression_tree_mutator(node, over_columns, columns);
}

Node *ifp_over_columns(Node *expression, List *columns)
{
	return over_columns(expression, columns);
}

/* ---- the list in a plan ---- */

/* Accumulators are passed as their bytes in memory, NULL if there are none: no other program reads a plan. */
static Const *write_accumulators(const struct iforest_accumulators *accumulators)
{
	bytea *bytes;

	if (accumulators->n == 0)
		return makeNullConst(BYTEAOID, -1, InvalidOid);
	bytes = palloc(VARHDRSZ + sizeof *accumulators);
	SET_VARSIZE(bytes, VARHDRSZ + sizeof *accumulators);
	memcpy(VARDATA(bytes), accumulators, sizeof *accumulators);
	return makeConst(BYTEAOID, -1, InvalidOid, -1, PointerGetDatum(bytes), false, false);
}

static void read_accumulators(const Const *constant, struct iforest_accumulators *accumulators)
{
	if (!constant->constisnull)
		memcpy(accumulators, VARDATA(DatumGetPointer(constant->constvalue)), sizeof *accumulators);
}

List *ifp_index_query_write(const struct ifp_index_query *query)
{
	List *tables = lcons(list_make1_oid(query->table), query->tables);
	List *list = list_make4(tables, makeInteger(query->n_by), query->columns, query->groups);

	list = list_concat(list, list_make4(query->operators, query->aggregates, query->gates, query->keys));
	list = list_concat(list, list_make4(query->series, query->runs, query->late, query->values));
	list = list_concat(list, list_make4(query->pieces, makeInteger(query->histogram), query->by_steps,
					    makeInteger(query->approximates)));
	list = list_concat(list, list_make5(write_accumulators(&query->accumulators), makeInteger(query->approximates_distinct),
					    makeInteger((int)query->drawn), query->sets, query->groupings));
	return list_concat(list, list_make4(query->dimensions, makeInteger(query->n_joined), query->splits, query->top));
}

void ifp_index_query_read(struct ifp_index_query *query, List *list)
{
	*query = (struct ifp_index_query){ .table = linitial_oid(linitial(list_nth(list, 0))),
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
					   .pieces = list_nth(list, 12),
					   .histogram = intVal(list_nth(list, 13)),
					   .by_steps = list_nth(list, 14),
					   .approximates = intVal(list_nth(list, 15)),
					   .approximates_distinct = intVal(list_nth(list, 17)) };
	read_accumulators(list_nth_node(Const, list, 16), &query->accumulators);
	query->drawn = (uint32)intVal(list_nth(list, 18));
	query->sets = list_nth(list, 19);
	query->groupings = list_nth(list, 20);
	query->dimensions = list_nth(list, 21);
	query->n_joined = intVal(list_nth(list, 22));
	query->splits = list_nth(list, 23);
	query->top = list_nth(list, 24);
}
