#include "pg_ext/planner/value_split.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "pg_ext/planner/aggregate_arms.h"
#include "pg_ext/planner/monotone.h"
#include "pg_ext/planner/value_steps.h"
#include "pg_ext/types/values.h"

/* A value column and how it may be split. */
struct class_column {
	AttrNumber attribute; /* of the value column */
	Var *class;	      /* its second column */
	bool is_used;
	struct ifp_value_split split;
};

struct splitting {
	const struct ifp_index_query *query;
	struct class_column columns[IFOREST_MAX_VALUES];
	int n;
};

/* ---- from value columns to their classes ---- */

static Node *with_class(Node *node, void *context)
{
	const struct class_column *column = context;

	if (!node)
		return NULL;
	if (IsA(node, Var) && castNode(Var, node)->varattno == column->attribute)
		return copyObject((Node *)column->class);
	return expression_tree_mutator(node, with_class, context);
}

/* Returns the number of the only column that a comparison or the like mentions, if that is a value column; else -1. */
static int column_of_leaf(const struct splitting *splitting, Node *node)
{
	int value;

	if (!ifp_value_steps_may_draw(node))
		return -1;
	value = ifp_mentioned_value(splitting->query, node);
	if (value < 0 || ifp_mentions_by(splitting->query, node) || ifp_mentions(node, ifp_time_attribute(splitting->query)))
		return -1;
	return value;
}

/* Draws bounds from comparisons, which then mention classes. */
static Node *with_steps(Node *node, void *context)
{
	struct splitting *splitting = context;
	int value = -1;

	if (!node || IsA(node, Var))
		return node;
	if (!IsA(node, List))
		value = column_of_leaf(splitting, node);
	if (value >= 0) {
		struct class_column *column = &splitting->columns[value];

		if (ifp_value_steps_draw_leaf(splitting->query, value, node, column->split.bounds, &column->split.n_bounds)) {
			column->is_used = true;
			return with_class(node, column);
		}
	}
	return expression_tree_mutator(node, with_steps, context);
}

/* Replaces the column by its class in the conditions of each CASE, but not in its results. */
static Node *with_classes_in_cases(Node *node, void *context)
{
	if (!node)
		return NULL;
	if (IsA(node, CaseWhen)) {
		CaseWhen *when = copyObject(castNode(CaseWhen, node));

		when->expr = (Expr *)with_class((Node *)when->expr, context);
		when->result = (Expr *)with_classes_in_cases((Node *)when->result, context);
		return (Node *)when;
	}
	return expression_tree_mutator(node, with_classes_in_cases, context);
}

/* Collects the conditions of each CASE. */
static bool collect_conditions(Node *node, void *conditions)
{
	if (!node)
		return false;
	if (IsA(node, CaseWhen))
		*(List **)conditions = lappend(*(List **)conditions, castNode(CaseWhen, node)->expr);
	return expression_tree_walker(node, collect_conditions, conditions);
}

/* ---- all expressions of a query ---- */

/* Returns the slowly changing expressions: group keys, conditions, filters, and conditions of CASE in arguments. */
static List *seldom_changing(const struct ifp_index_query *query)
{
	List *expressions = list_concat_copy(query->groups, query->by_steps);
	ListCell *cell;

	foreach (cell, query->aggregates) {
		const Aggref *aggregate = lfirst_node(Aggref, cell);

		if (aggregate->aggfilter)
			expressions = lappend(expressions, aggregate->aggfilter);
		(void)collect_conditions((Node *)aggregate->args, &expressions);
	}
	return expressions;
}

static void draw_steps(struct ifp_index_query *query, struct splitting *splitting)
{
	ListCell *cell;

	query->groups = (List *)with_steps(ifp_value_steps_normalize((Node *)query->groups), splitting);
	query->by_steps = (List *)with_steps(ifp_value_steps_normalize((Node *)query->by_steps), splitting);
	foreach (cell, query->aggregates) {
		Aggref *aggregate = lfirst_node(Aggref, cell);

		aggregate->aggfilter = (Expr *)with_steps(ifp_value_steps_normalize((Node *)aggregate->aggfilter), splitting);
		aggregate->args = (List *)with_steps(ifp_value_steps_normalize((Node *)aggregate->args), splitting);
	}
}

static void split_exactly(struct ifp_index_query *query, struct class_column *column)
{
	ListCell *cell;

	column->is_used = column->split.is_exact = true;
	query->groups = (List *)with_class((Node *)query->groups, column);
	query->by_steps = (List *)with_class((Node *)query->by_steps, column);
	foreach (cell, query->aggregates) {
		Aggref *aggregate = lfirst_node(Aggref, cell);

		aggregate->aggfilter = (Expr *)with_class((Node *)aggregate->aggfilter, column);
		aggregate->args = (List *)with_classes_in_cases((Node *)aggregate->args, column);
	}
}

/* True if equal values are equal numbers in entries; not for reals, whose zeros have signs. */
static bool may_be_exact(const struct class_column *column)
{
	Oid type = getBaseType(column->class->vartype);

	return type != FLOAT4OID && type != FLOAT8OID && !ifp_is_key_type(column->class->vartype);
}

/* ---- the list in a query ---- */

static List *write_split(const struct ifp_value_split *split)
{
	List *list = list_make2(makeInteger(split->value), makeInteger(split->is_exact));

	for (int i = 0; i < split->n_bounds && !split->is_exact; i++)
		list = lappend(list, makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(split->bounds[i]), false,
					       FLOAT8PASSBYVAL));
	return list;
}

bool ifp_value_split_read(const struct ifp_index_query *query, int i, struct ifp_value_split *split)
{
	List *list = list_nth(query->splits, i);
	ListCell *cell;

	if (list == NIL)
		return false;
	*split = (struct ifp_value_split){ .value = intVal(linitial(list)), .is_exact = intVal(lsecond(list)) };
	for_each_from(cell, list, 2) split->bounds[split->n_bounds++] = DatumGetInt64(lfirst_node(Const, cell)->constvalue);
	return true;
}

/* ---- a query ---- */

/* Prepares all value columns. */
static void begin(const struct ifp_index_query *query, struct splitting *splitting)
{
	*splitting = (struct splitting){ .query = query, .n = ifp_n_values(query) };
	for (int v = 0; v < splitting->n; v++) {
		struct class_column *column = &splitting->columns[v];
		Node *value = list_nth(query->columns, query->n_by + 1 + v);

		column->attribute = (AttrNumber)(query->n_by + 2 + v);
		column->split.value = v;
		column->class = makeVar(1, (AttrNumber)(list_length(query->columns) + 1 + v), exprType(value),
					exprTypmod(value), exprCollation(value), 0);
	}
}

/* Adds the second columns. */
static void add_columns(struct ifp_index_query *query, const struct splitting *splitting)
{
	for (int v = 0; v < splitting->n; v++) {
		const struct class_column *column = &splitting->columns[v];

		query->columns = lappend(query->columns, list_nth(query->columns, query->n_by + 1 + v));
		query->splits = lappend(query->splits, column->is_used ? write_split(&column->split) : NIL);
	}
}

/* True if the end of a bucket would depend on a class. */
static bool hangs_on_class(const struct ifp_index_query *query)
{
	struct ifp_run_keys keys;
	ListCell *cell;

	ifp_aggregate_bucket_keys(query, &keys);
	for (int i = 0; i < list_length(query->splits); i++) {
		if (ifp_mentions((Node *)keys.expressions, ifp_value_split_column(query, i)))
			return true;
		foreach (cell, keys.breaks)
			if (ifp_mentions(lfirst(cell), ifp_value_split_column(query, i)))
				return true;
	}
	return false;
}

bool ifp_value_split(struct ifp_index_query *query)
{
	struct splitting splitting;
	List *mentioned;

	begin(query, &splitting);
	draw_steps(query, &splitting);
	mentioned = seldom_changing(query);
	for (int v = 0; v < splitting.n; v++)
		if (ifp_mentions((Node *)mentioned, splitting.columns[v].attribute)) {
			if (!may_be_exact(&splitting.columns[v]))
				return false;
			split_exactly(query, &splitting.columns[v]);
		}
	query->late = list_concat(query->late, query->by_steps);
	query->by_steps = NIL;
	query->n_joined += splitting.n;
	add_columns(query, &splitting);
	return !hangs_on_class(query);
}
