#include "pg_ext/exec/topk_scan.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "nodes/execnodes.h"

#include "pg_ext/am/index_scan.h"

struct top_state {
	CustomScanState custom;
	struct iforest_top_order order;
	List *bounds;              /* ExprStates of those of the order */
	const char *order_text;
};

static Node *create_state(CustomScan *scan);
static void begin(CustomScanState *node, EState *estate, int flags);
static TupleTableSlot *execute(CustomScanState *node);
static void end(CustomScanState *node);
static void rescan(CustomScanState *node);
static void explain(CustomScanState *node, List *ancestors, ExplainState *es);

static const CustomScanMethods top_scan_methods = { .CustomName = "IForestTopK", .CreateCustomScanState = create_state };
static const CustomScanMethods reach_scan_methods = { .CustomName = "IForestReach", .CreateCustomScanState = create_state };

static const CustomExecMethods exec_methods = { .CustomName = "IForestTopK",
						.BeginCustomScan = begin,
						.ExecCustomScan = execute,
						.EndCustomScan = end,
						.ReScanCustomScan = rescan,
						.ExplainCustomScan = explain };

/* custom_private: value (-1 by time), descends, nulls_first, has_nulls, has_values; the kind of each bound; and the order as
 * EXPLAIN shows it. custom_exprs: the bounds. */
static Node *create_state(CustomScan *scan)
{
	struct top_state *state = palloc0(sizeof *state);
	List *numbers = linitial(scan->custom_private);
	ListCell *cell;

	NodeSetTag(state, T_CustomScanState);
	state->custom.methods = &exec_methods;
	state->order = (struct iforest_top_order){
		.is_set = true,
		.by_value = linitial_int(numbers) >= 0,
		.value = (uint8)Max(linitial_int(numbers), 0),
		.descends = lsecond_int(numbers),
		.nulls_first = lthird_int(numbers),
		.has_nulls = lfourth_int(numbers),
		.has_values = list_nth_int(numbers, 4),
		.bounds = palloc0((list_length(scan->custom_exprs) + 1) * sizeof *state->order.bounds),
	};
	foreach(cell, lsecond(scan->custom_private))
		state->order.bounds[state->order.n_bounds++].kind = (enum iforest_top_bound_kind)lfirst_int(cell);
	state->order_text = strVal(lthird(scan->custom_private));
	return (Node *)state;
}

static void begin(CustomScanState *node, EState *estate, int flags)
{
	struct top_state *state = (struct top_state *)node;
	CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	IndexScanState *below = castNode(IndexScanState, ExecInitNode(linitial_node(Plan, scan->custom_plans), estate, flags));

	state->bounds = ExecInitExprList(scan->custom_exprs, &node->ss.ps);
	node->custom_ps = list_make1(below);
	/* what is returned are the slots of the index scan: of the table where it has nothing to project */
	node->ss.ps.resultops = ExecGetResultSlotOps(&below->ss.ps, &node->ss.ps.resultopsfixed);
	node->ss.ps.resultopsset = true;
	/* the row that WHERE CURRENT OF a cursor means */
	node->ss.ss_currentRelation = below->ss.ss_currentRelation;
	node->ss.ss_ScanTupleSlot = below->ss.ss_ScanTupleSlot;
}

/* The order, with the bounds as they are now. A comparison with NULL holds for no row. */
static struct iforest_top_order order_now(struct top_state *state)
{
	struct iforest_top_order order = state->order;
	ExprContext *econtext = state->custom.ss.ps.ps_ExprContext;
	ListCell *cell;
	int n = 0;

	ResetExprContext(econtext); /* of the last bounds */
	foreach(cell, state->bounds) {
		bool is_null;

		order.bounds[n++].datum = ExecEvalExprSwitchContext((ExprState *)lfirst(cell), econtext, &is_null);
		order.has_values = order.has_values && !is_null;
		order.has_nulls = order.has_nulls && !is_null;
	}
	return order;
}

/* The index scan below would begin its scan of the index at its first row; it is begun for it, to be told of the order. */
static void begin_index_scan(struct top_state *state, IndexScanState *node)
{
	node->iss_ScanDesc = iforest_index_beginscan(node);
	((struct iforest_index_scan *)node->iss_ScanDesc->opaque)->order = order_now(state);
	if (node->iss_NumRuntimeKeys == 0 || node->iss_RuntimeKeysReady)
		index_rescan(node->iss_ScanDesc, node->iss_ScanKeys, node->iss_NumScanKeys, node->iss_OrderByKeys,
			     node->iss_NumOrderByKeys);
}

static TupleTableSlot *execute(CustomScanState *node)
{
	IndexScanState *below = castNode(IndexScanState, linitial(node->custom_ps));

	if (!below->iss_ScanDesc)
		begin_index_scan((struct top_state *)node, below);
	return ExecProcNode(&below->ss.ps);
}

static void end(CustomScanState *node)
{
	ExecEndNode(linitial(node->custom_ps));
}

static void rescan(CustomScanState *node)
{
	IndexScanState *below = castNode(IndexScanState, linitial(node->custom_ps));

	if (node->ss.ps.chgParam)
		UpdateChangedParamSet(&below->ss.ps, node->ss.ps.chgParam);
	if (below->iss_ScanDesc)
		((struct iforest_index_scan *)below->iss_ScanDesc->opaque)->order = order_now((struct top_state *)node);
	if (!below->ss.ps.chgParam)
		ExecReScan(&below->ss.ps);
}

static void explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	(void)ancestors;
	if (((struct top_state *)node)->order.by_value)
		ExplainPropertyText("Order By", ((struct top_state *)node)->order_text, es);
}
