#include "pg_ext/exec/agg_scan.h"

#include "nodes/extensible.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "pg_ext/exec/answer.h"

struct aggregate_state {
	CustomScanState custom;
	struct iforest_question question;
	struct iforest_answer *answer;      /* NULL under EXPLAIN without ANALYZE */
};

static Node *create_state(CustomScan *scan);
static void begin(CustomScanState *node, EState *estate, int flags);
static TupleTableSlot *execute(CustomScanState *node);
static void end(CustomScanState *node);
static void rescan(CustomScanState *node);
static void explain(CustomScanState *node, List *ancestors, ExplainState *es);

static const CustomScanMethods scan_methods = { .CustomName = "IForestAggregate", .CreateCustomScanState = create_state };

static const CustomExecMethods exec_methods = { .CustomName = "IForestAggregate", .BeginCustomScan = begin,
						.ExecCustomScan = execute, .EndCustomScan = end, .ReScanCustomScan = rescan,
						.ExplainCustomScan = explain };

/* ---- executing ---- */

static Node *create_state(CustomScan *scan)
{
	struct aggregate_state *state = palloc0(sizeof *state);

	NodeSetTag(state, T_CustomScanState);
	state->custom.methods = &exec_methods;
	iforest_question_read(&state->question, scan->custom_private);
	return (Node *)state;
}

static void begin(CustomScanState *node, EState *estate, int flags)
{
	struct aggregate_state *state = (struct aggregate_state *)node;

	(void)estate;
	if (!(flags & EXEC_FLAG_EXPLAIN_ONLY))
		state->answer = iforest_answer_begin(&state->question, &node->ss.ps);
}

static TupleTableSlot *next(CustomScanState *node)
{
	struct aggregate_state *state = (struct aggregate_state *)node;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	if (!iforest_answer_next(state->answer, slot->tts_values, slot->tts_isnull))
		return slot;
	return ExecStoreVirtualTuple(slot);
}

/* Not ExecScan(): where a row that others have changed is looked at again (EvalPlanQual), that takes a node without a table
 * of its own for a join of such rows; older servers do so even in a subquery that depends on the row. */
static TupleTableSlot *execute(CustomScanState *node)
{
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;

	for (;;) {
		TupleTableSlot *slot;

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(econtext);
		slot = next(node);
		if (TupIsNull(slot))
			return projection ? ExecClearTuple(projection->pi_state.resultslot) : slot;
		econtext->ecxt_scantuple = slot;
		if (!node->ss.ps.qual || ExecQual(node->ss.ps.qual, econtext))
			return projection ? ExecProject(projection) : slot;
		InstrCountFiltered1(node, 1);
	}
}

static void rescan(CustomScanState *node)
{
	struct aggregate_state *state = (struct aggregate_state *)node;

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	iforest_answer_rescan(state->answer);
}

static void end(CustomScanState *node)
{
	struct aggregate_state *state = (struct aggregate_state *)node;

	if (state->answer)
		iforest_answer_end(state->answer);
}

/* ---- EXPLAIN ---- */

/* What subqueries and outer levels give is shown as a parameter: the plan nodes that it comes from are not known to whoever
 * writes a condition. */
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

static void explain_conditions(const struct iforest_question *question, const char *label, List *conditions,
			       ExplainState *es)
{
	List *context = deparse_context_for(get_rel_name(question->table), question->table);
	Node *all;

	if (conditions == NIL)
		return;
	all = with_parameters(iforest_over_columns((Node *)make_ands_explicit(conditions), question->columns), NULL);
	ExplainPropertyText(label, deparse_expression(all, context, false, false), es);
}

static const char *bucket_method(const struct iforest_question *question)
{
	const char *method = "galloping";
	struct iforest_run_keys keys;
	ListCell *cell;

	iforest_question_bucket_keys(question, &keys);
	if (keys.expressions == NIL)
		return "none";
	foreach(cell, keys.breaks)
		if (iforest_break_kind(lfirst(cell)) == IFOREST_BREAK_MONTHS)
			return "galloping within months";
		else if (iforest_break_kind(lfirst(cell)) != IFOREST_BREAK_VALUE)
			method = "galloping between time zone transitions";
	return method;
}

static void explain_counts(const struct iforest_answer_counts *counts, ExplainState *es)
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

static void explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	struct aggregate_state *state = (struct aggregate_state *)node;
	const struct iforest_question *question = &state->question;
	List *indexes = NIL;
	ListCell *cell;

	(void)ancestors;
	foreach(cell, question->tables)
		indexes = lappend(indexes, get_rel_name(lsecond_oid(lfirst(cell))));
	if (list_length(indexes) == 1)
		ExplainPropertyText("Index", linitial(indexes), es);
	else
		ExplainPropertyList("Indexes", indexes, es);
	explain_conditions(question, "Index Cond", question->keys, es);
	explain_conditions(question, "Series Filter", list_concat_copy(question->series, question->late), es);
	explain_conditions(question, "Time Filter", question->runs, es);
	explain_conditions(question, "Value Range", question->values, es);
	explain_conditions(question, "One-Time Filter", question->gates, es);
	if (es->verbose || es->analyze)
		ExplainPropertyText("Bucket Method", bucket_method(question), es);
	if (es->analyze && state->answer) {
		struct iforest_answer_counts counts = iforest_answer_counts(state->answer);

		explain_counts(&counts, es);
	}
}

void iforest_aggregate_node_register(void)
{
	RegisterCustomScanMethods(&scan_methods);
}
