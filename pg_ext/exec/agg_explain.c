#include "pg_ext/exec/agg_explain.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "pg_ext/planner/aggregate_arms.h"
#include "pg_ext/planner/dimension.h"
#include "pg_ext/planner/top_groups.h"
#include "pg_ext/planner/value_passes.h"
#include "pg_ext/planner/value_split.h"

/* Shows values of subqueries and outer levels as parameters: the deparser does not know the plan nodes that compute them. */
static Node *with_parameters(Node *node, void *context)
{
	if (!node)
		return NULL;
	if (IsA(node, Param) && castNode(Param, node)->paramkind == PARAM_EXEC) {
		Param *parameter = copyObject(castNode(Param, node));

		parameter->paramkind = PARAM_EXTERN;
		return (Node *)parameter;
	}
	return expression_tree_mutator(node, with_parameters, context);
}

/* Makes a range table entry that only has names. */
static RangeTblEntry *make_table(RTEKind kind, char *name, List *column_names)
{
	RangeTblEntry *table = makeNode(RangeTblEntry);

	table->rtekind = kind;
	table->eref = makeAlias(name, column_names);
	return table;
}

/* Returns the context in which the query's columns are named. */
static List *context_of(const struct ifp_index_query *query)
{
	PlannedStmt *names = makeNode(PlannedStmt);
	RangeTblEntry *table;
	Bitmapset *all;
	ListCell *cell;

	if (query->dimensions == NIL)
		return deparse_context_for(get_rel_name(query->table), query->table);
	table = make_table(RTE_RELATION, get_rel_name(query->table), NIL);
	table->relid = query->table;
	table->relkind = get_rel_relkind(query->table);
	table->rellockmode = AccessShareLock;
	names->rtable = list_make1(table);
	foreach (cell, query->dimensions) {
		struct ifp_dimension dimension;

		ifp_dimension_read(lfirst(cell), &dimension);
		names->rtable = lappend(names->rtable, make_table(RTE_VALUES, dimension.name, dimension.column_names));
	}
	all = bms_add_range(NULL, 1, list_length(names->rtable));
	return deparse_context_for_plan_tree(names, select_rtable_names_for_explain(names->rtable, all));
}

static char *deparse(const struct ifp_index_query *query, Node *expression)
{
	Node *over_tables = with_parameters(ifp_over_columns(expression, query->columns), NULL);

	return deparse_expression(over_tables, context_of(query), query->dimensions != NIL, false);
}

/* Returns the late conditions on classes, or the others. */
static List *of_classes(const struct ifp_index_query *query, bool are_wanted)
{
	List *conditions = NIL;
	ListCell *cell;

	foreach (cell, query->late) {
		bool is_of_class = false;

		for (int i = 0; i < list_length(query->splits); i++)
			is_of_class = is_of_class || ifp_mentions(lfirst(cell), ifp_value_split_column(query, i));
		if (is_of_class == are_wanted)
			conditions = lappend(conditions, lfirst(cell));
	}
	return conditions;
}

static void explain_conditions(const struct ifp_index_query *query, const char *label, List *conditions, ExplainState *es)
{
	if (conditions != NIL)
		ExplainPropertyText(label, deparse(query, (Node *)make_ands_explicit(conditions)), es);
}

/* Shows the join conditions of the dimensions. */
static void explain_joins(const struct ifp_index_query *query, ExplainState *es)
{
	List *conditions = NIL;
	ListCell *cell;

	foreach (cell, query->dimensions) {
		struct ifp_dimension dimension;

		ifp_dimension_read(lfirst(cell), &dimension);
		conditions = list_concat(conditions, list_concat_copy(dimension.equalities, dimension.conditions));
	}
	explain_conditions(query, "Join Cond", conditions, es);
}

static void explain_percentiles(const struct ifp_index_query *query, ExplainState *es)
{
	bool is_exact = ifp_aggregates_need(query, IFP_MEASURE_NUMBERS) != 0, is_near = false;
	ListCell *cell;

	foreach (cell, query->aggregates)
		is_near = is_near || ifp_aggregate_is_approximate(lfirst(cell), query);
	if (is_exact || is_near)
		ExplainPropertyText("Percentiles",
				    !is_near   ? "exact"
				    : is_exact ? "from sketches, at most 1/128 off; others exact"
					       : "from sketches, at most 1/128 off",
				    es);
}

static void explain_distinct_counts(const struct ifp_index_query *query, ExplainState *es)
{
	ListCell *cell;

	foreach (cell, query->aggregates)
		if (ifp_aggregate_is_estimated(lfirst(cell), query)) {
			ExplainPropertyText("Distinct Counts", "from sketches, exact up to 768, standard error 1.6 %", es);
			return;
		}
}

/* Shows which keys each grouping set has. */
static void explain_sets(const struct ifp_index_query *query, ExplainState *es)
{
	List *sets = NIL;
	ListCell *cell, *number;

	foreach (cell, query->sets) {
		StringInfoData set;

		initStringInfo(&set);
		foreach (number, lfirst(cell))
			appendStringInfo(&set, "%s%s", set.len > 0 ? ", " : "",
					 deparse(query, list_nth(query->groups, lfirst_int(number))));
		sets = lappend(sets, psprintf("(%s)", set.data));
	}
	if (sets != NIL)
		ExplainPropertyList("Grouping Sets", sets, es);
}

static const char *bucket_method(const struct ifp_index_query *query)
{
	const char *method = "galloping";
	struct ifp_run_keys keys;
	ListCell *cell;

	ifp_aggregate_bucket_keys(query, &keys);
	if (keys.expressions == NIL)
		return "none";
	foreach (cell, keys.breaks)
		if (ifp_break_type(lfirst(cell)) == IFP_BREAK_MONTHS)
			return "galloping within months";
		else if (ifp_break_type(lfirst(cell)) != IFP_BREAK_VALUE)
			method = "galloping between time zone transitions";
	return method;
}

/* Shows how the rows of a bucket are split. */
static void explain_splits(const struct ifp_index_query *query, ExplainState *es)
{
	List *columns = NIL;

	for (int i = 0; i < list_length(query->splits); i++) {
		Node *column = list_nth(query->columns, query->n_by + 1 + i);
		Var *var = makeVar(1, (AttrNumber)(query->n_by + 2 + i), exprType(column), exprTypmod(column), InvalidOid, 0);
		struct ifp_value_split split;

		if (!ifp_value_split_read(query, i, &split))
			continue;
		columns = lappend(columns, split.is_exact ? deparse(query, (Node *)var)
							  : psprintf("%s in %d ranges", deparse(query, (Node *)var),
								     split.n_bounds + 1));
	}
	if (columns != NIL)
		ExplainPropertyList("Split By", columns, es);
}

/* Shows the order of the groups that LIMIT leaves. */
static void explain_top(const struct ifp_index_query *query, ExplainState *es)
{
	struct ifp_top_groups top;

	if (query->top == NIL)
		return;
	ifp_top_groups_read(query, &top);
	ExplainPropertyText("Top Groups",
			    psprintf("%s%s", deparse(query, list_nth(query->aggregates, top.aggregate)),
				     top.is_descending ? " DESC" : ""),
			    es);
}

void ifp_agg_explain_counts(const struct ifp_index_query *query, const struct ifp_agg_counts *counts, ExplainState *es)
{
	ExplainPropertyUInteger("Series", NULL, counts->n_series, es);
	ExplainPropertyUInteger("Buckets", NULL, counts->n_buckets, es);
	if (query->top != NIL)
		ExplainPropertyUInteger("Groups Left Out", NULL, counts->n_left_out, es);
	ExplainPropertyUInteger("Buckets By Width", NULL, counts->buckets.n_by_width, es);
	ExplainPropertyUInteger("Key Evaluations", NULL, counts->buckets.n_evaluations, es);
	ExplainPropertyUInteger("Runs", NULL, counts->n_runs, es);
	ExplainPropertyUInteger("Nodes", NULL, counts->n_nodes, es);
	ExplainPropertyUInteger("Leaf Pages", NULL, counts->n_leaf_pages, es);
	ExplainPropertyUInteger("Node Pages", NULL, counts->n_pages - counts->n_leaf_pages, es);
	ExplainPropertyUInteger("Pending Entries", NULL, counts->n_pending, es);
	ExplainPropertyUInteger("Heap Blocks Checked", NULL, counts->n_heap_blocks, es);
	ExplainPropertyUInteger("Restarts", NULL, counts->n_restarts, es);
}

void ifp_agg_explain_query(const struct ifp_index_query *query, ExplainState *es)
{
	List *indexes = NIL;
	ListCell *cell;

	foreach (cell, query->tables)
		indexes = lappend(indexes, get_rel_name(lsecond_oid(lfirst(cell))));
	if (list_length(indexes) == 1)
		ExplainPropertyText("Index", linitial(indexes), es);
	else
		ExplainPropertyList("Indexes", indexes, es);
	explain_joins(query, es);
	explain_conditions(query, "Index Cond", query->keys, es);
	explain_conditions(query, "Series Filter", list_concat_copy(query->series, of_classes(query, false)), es);
	explain_conditions(query, "Class Filter", of_classes(query, true), es);
	explain_conditions(query, "Time Filter", query->runs, es);
	explain_conditions(query, "Value Range",
			   query->drawn ? list_concat_copy(query->values, query->by_steps) : query->values, es);
	explain_conditions(query, "Histogram Cond", query->drawn ? NIL : query->by_steps, es);
	if (query->drawn)
		ExplainPropertyInteger("Value Passes", NULL, list_length(ifp_value_passes(query)), es);
	explain_splits(query, es);
	explain_conditions(query, "One-Time Filter", query->gates, es);
	explain_sets(query, es);
	explain_top(query, es);
	explain_percentiles(query, es);
	explain_distinct_counts(query, es);
	if (es->verbose || es->analyze)
		ExplainPropertyText("Bucket Method", bucket_method(query), es);
}
