#include "pg_ext/exec/agg_explain.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "pg_ext/planner/aggregate_arms.h"
#include "pg_ext/planner/value_passes.h"

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

static void explain_conditions(const struct ifp_index_query *query, const char *label, List *conditions, ExplainState *es)
{
	List *context = deparse_context_for(get_rel_name(query->table), query->table);
	Node *all;

	if (conditions == NIL)
		return;
	all = with_parameters(ifp_over_columns((Node *)make_ands_explicit(conditions), query->columns), NULL);
	ExplainPropertyText(label, deparse_expression(all, context, false, false), es);
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
	List *context = deparse_context_for(get_rel_name(query->table), query->table), *sets = NIL;
	ListCell *cell, *number;

	foreach (cell, query->sets) {
		StringInfoData set;

		initStringInfo(&set);
		foreach (number, lfirst(cell)) {
			Node *key = ifp_over_columns(list_nth(query->groups, lfirst_int(number)), query->columns);

			appendStringInfo(&set, "%s%s", set.len > 0 ? ", " : "",
					 deparse_expression(with_parameters(key, NULL), context, false, false));
		}
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

void ifp_agg_explain_counts(const struct ifp_agg_counts *counts, ExplainState *es)
{
	ExplainPropertyUInteger("Series", NULL, counts->n_series, es);
	ExplainPropertyUInteger("Buckets", NULL, counts->n_buckets, es);
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
	explain_conditions(query, "Index Cond", query->keys, es);
	explain_conditions(query, "Series Filter", list_concat_copy(query->series, query->late), es);
	explain_conditions(query, "Time Filter", query->runs, es);
	explain_conditions(query, "Value Range",
			   query->drawn ? list_concat_copy(query->values, query->by_steps) : query->values, es);
	explain_conditions(query, "Histogram Cond", query->drawn ? NIL : query->by_steps, es);
	if (query->drawn)
		ExplainPropertyInteger("Value Passes", NULL, list_length(ifp_value_passes(query)), es);
	explain_conditions(query, "One-Time Filter", query->gates, es);
	explain_sets(query, es);
	explain_percentiles(query, es);
	explain_distinct_counts(query, es);
	if (es->verbose || es->analyze)
		ExplainPropertyText("Bucket Method", bucket_method(query), es);
}
