#include "pg_ext/exec/combine_scan.h"

#include "pg_ext/base/engine.h"

#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"

static void begin(CustomScanState *node, EState *estate, int flags)
{
	CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);

	node->custom_ps = list_make1(ExecInitNode(linitial(scan->custom_plans), estate, flags));
}

/* Copies the next row of the subquery, column by column, into the scan's slot. */
static TupleTableSlot *next_row(ScanState *node)
{
	TupleTableSlot *from = ExecProcNode(linitial(((CustomScanState *)node)->custom_ps));
	TupleTableSlot *to = node->ss_ScanTupleSlot;
	int n = to->tts_tupleDescriptor->natts;

	ExecClearTuple(to);
	if (TupIsNull(from))
		return to;
	slot_getsomeattrs(from, n);
	memcpy(to->tts_values, from->tts_values, (size_t)n * sizeof *to->tts_values);
	memcpy(to->tts_isnull, from->tts_isnull, (size_t)n * sizeof *to->tts_isnull);
	return ExecStoreVirtualTuple(to);
}

/* Requires nothing to be checked again: no row is locked below a group. */
static bool recheck(ScanState *node, TupleTableSlot *slot)
{
	(void)node;
	(void)slot;
	return true;
}

static TupleTableSlot *execute(CustomScanState *node)
{
	return ExecScan(&node->ss, next_row, recheck);
}

static void end(CustomScanState *node)
{
	ExecEndNode(linitial(node->custom_ps));
}

static void rescan(CustomScanState *node)
{
	PlanState *below = linitial(node->custom_ps);

	if (node->ss.ps.chgParam)
		UpdateChangedParamSet(below, node->ss.ps.chgParam);
	if (!below->chgParam)
		ExecReScan(below);
	ExecScanReScan(&node->ss);
}

static const CustomExecMethods exec_methods = { .CustomName = "IForestCombine",
						.BeginCustomScan = begin,
						.ExecCustomScan = execute,
						.EndCustomScan = end,
						.ReScanCustomScan = rescan };

static Node *create_state(CustomScan *scan)
{
	CustomScanState *state = palloc0(sizeof *state);

	(void)scan;
	NodeSetTag(state, T_CustomScanState);
	state->methods = &exec_methods;
	return (Node *)state;
}

static const CustomScanMethods scan_methods = { .CustomName = "IForestCombine", .CreateCustomScanState = create_state };

void ifp_combine_scan_register(void)
{
	RegisterCustomScanMethods(&scan_methods);
}
