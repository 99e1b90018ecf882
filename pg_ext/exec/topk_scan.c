#include "pg_ext/exec/topk_scan.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "nodes/value.h"

#include "pg_ext/am/index_scan.h"
#include "pg_ext/base/compat.h"

struct topk_state {
	CustomScanState custom;
	struct ifp_scan_order order;
	List *bounds; /* ExprStates of the order's bounds */
	const char *order_text;
};

static void begin(CustomScanState *node, EState *estate, int flags)
{
	struct topk_state *state = (struct topk_state *)node;
	CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	IndexScanState *below = castNode(IndexScanState, ExecInitNode(linitial(scan->custom_plans), estate, flags));

	state->bounds = ExecInitExprList(scan->custom_exprs, &node->ss.ps);
	node->custom_ps = list_make1(below);
	/* the slots returned are those of the index scan: the table's slots if it has nothing to project */
	node->ss.ps.resultops = ExecGetResultSlotOps(&below->ss.ps, &node->ss.ps.resultopsfixed);
	node->ss.ps.resultopsset = true;
	/* the row of WHERE CURRENT OF a cursor */
	node->ss.ss_currentRelation = below->ss.ss_currentRelation;
	node->ss.ss_ScanTupleSlot = below->ss.ss_ScanTupleSlot;
}

/* Sets the order with the current bounds. A comparison with NULL is true for no row. */
static void set_order(IndexScanDesc scan, struct topk_state *state)
{
	struct ifp_scan_order order = state->order;
	ExprContext *econtext = state->custom.ss.ps.ps_ExprContext;
	ListCell *cell;
	int n = 0;

	ResetExprContext(econtext); /* of the last bounds */
	foreach (cell, state->bounds) {
		bool is_null;

		order.bounds[n++].datum = ExecEvalExprSwitchContext((ExprState *)lfirst(cell), econtext, &is_null);
		order.has_values = order.has_values && !is_null;
		order.has_nulls = order.has_nulls && !is_null;
	}
	ifp_index_scan_set_order(scan, &order);
}

/* Begins the index scan of the node below, which would otherwise begin it at its first row, without the order. */
static void begin_index_scan(struct topk_state *state, IndexScanState *node)
{
	node->iss_ScanDesc = ifp_index_beginscan(node);
	set_order(node->iss_ScanDesc, state);
	if (node->iss_NumRuntimeKeys == 0 || node->iss_RuntimeKeysReady)
		index_rescan(node->iss_ScanDesc, node->iss_ScanKeys, node->iss_NumScanKeys, node->iss_OrderByKeys,
			     node->iss_NumOrderByKeys);
}

static TupleTableSlot *execute(CustomScanState *node)
{
	IndexScanState *below = castNode(IndexScanState, linitial(node->custom_ps));

	if (!below->iss_ScanDesc)
		begin_index_scan((struct topk_state *)node, below);
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
		set_order(below->iss_ScanDesc, (struct topk_state *)node);
	if (!below->ss.ps.chgParam)
		ExecReScan(&below->ss.ps);
}

static void explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	(void)ancestors;
	if (((struct topk_state *)node)->order.by_value)
		ExplainPropertyText("Order By", ((struct topk_state *)node)->order_text, es);
}

static const CustomExecMethods exec_methods = { .CustomName = "IForestTopK",
						.BeginCustomScan = begin,
						.ExecCustomScan = execute,
						.EndCustomScan = end,
						.ReScanCustomScan = rescan,
						.ExplainCustomScan = explain };

/* custom_private: value (-1: by time), descends, nulls_first, has_nulls, has_values, by_series; the type of each bound; the order
 * as EXPLAIN shows it. custom_exprs: the bounds. */
static Node *create_state(CustomScan *scan)
{
	struct topk_state *state = palloc0(sizeof *state);
	List *numbers = linitial(scan->custom_private);
	ListCell *cell;

	NodeSetTag(state, T_CustomScanState);
	state->custom.methods = &exec_methods;
	state->order = (struct ifp_scan_order){
		.is_set = true,
		.by_value = linitial_int(numbers) >= 0,
		.value = (uint8)Max(linitial_int(numbers), 0),
		.descends = lsecond_int(numbers),
		.nulls_first = lthird_int(numbers),
		.has_nulls = lfourth_int(numbers),
		.has_values = list_nth_int(numbers, 4),
		.by_series = list_nth_int(numbers, 5),
		.bounds = palloc0((list_length(scan->custom_exprs) + 1) * sizeof *state->order.bounds),
	};
	foreach (cell, lsecond(scan->custom_private))
		state->order.bounds[state->order.n_bounds++].type = (enum ifp_scan_bound_type)lfirst_int(cell);
	state->order_text = strVal(lthird(scan->custom_private));
	return (Node *)state;
}

static const CustomScanMethods top_scan_methods = { .CustomName = "IForestTopK", .CreateCustomScanState = create_state };
static const CustomScanMethods reach_scan_methods = { .CustomName = "IForestReach", .CreateCustomScanState = create_state };

void ifp_topk_scan_register(void)
{
	RegisterCustomScanMethods(&top_scan_methods);
	RegisterCustomScanMethods(&reach_scan_methods);
}
