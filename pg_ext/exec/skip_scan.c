#include "pg_ext/exec/skip_scan.h"

#include "access/genam.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/value.h"

#include "pg_ext/am/index_scan.h"
#include "pg_ext/base/compat.h"

struct skip_state {
	CustomScanState custom;
	int64 n_wanted;	   /* rows of each series */
	bool counts_nulls; /* rows without a time count among these; otherwise they are returned in addition */
	/* a series is being read */
	bool has_series;
	int64 n_given;		 /* that count */
	struct iforest_key last; /* of the last counted row, or of any row of the series */
};

static void begin(CustomScanState *node, EState *estate, int flags)
{
	CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	IndexScanState *below = castNode(IndexScanState, ExecInitNode(linitial_node(Plan, scan->custom_plans), estate, flags));

	node->custom_ps = list_make1(below);
	/* the slots returned are those of the index scan */
	node->ss.ps.resultops = ExecGetResultSlotOps(&below->ss.ps, &node->ss.ps.resultopsfixed);
	node->ss.ps.resultopsset = true;
	node->ss.ss_currentRelation = below->ss.ss_currentRelation;
	node->ss.ss_ScanTupleSlot = below->ss.ss_ScanTupleSlot;
}

/* True if the query may select the row. Counts it. */
static bool is_wanted(struct skip_state *state, const struct iforest_key *key)
{
	bool counts = !key->time_is_null || state->counts_nulls;

	if (!state->has_series || key->series != state->last.series) {
		state->has_series = true;
		state->n_given = 0;
		state->last = *key;
	}
	if (state->n_given >= state->n_wanted)
		return !counts || (key->time_is_null == state->last.time_is_null && key->time == state->last.time);
	if (counts) {
		state->n_given++;
		state->last = *key;
	}
	return true;
}

static TupleTableSlot *execute(CustomScanState *node)
{
	IndexScanState *below = castNode(IndexScanState, linitial(node->custom_ps));

	for (;;) {
		TupleTableSlot *slot = ExecProcNode(&below->ss.ps);
		struct iforest_key key;

		/* a row being rechecked does not come from a scan */
		if (TupIsNull(slot) || !below->iss_ScanDesc)
			return slot;
		key = ifp_index_scan_key(below->iss_ScanDesc);
		if (is_wanted((struct skip_state *)node, &key))
			return slot;
		ifp_index_scan_leave_series(below->iss_ScanDesc);
	}
}

static void end(CustomScanState *node)
{
	ExecEndNode(linitial(node->custom_ps));
}

static void rescan(CustomScanState *node)
{
	IndexScanState *below = castNode(IndexScanState, linitial(node->custom_ps));

	((struct skip_state *)node)->has_series = false;
	if (node->ss.ps.chgParam)
		UpdateChangedParamSet(&below->ss.ps, node->ss.ps.chgParam);
	if (!below->ss.ps.chgParam)
		ExecReScan(&below->ss.ps);
}

static void explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	(void)ancestors;
	ExplainPropertyInteger("Rows Per Series", NULL, ((struct skip_state *)node)->n_wanted, es);
}

static const CustomExecMethods exec_methods = { .CustomName = "IForestSkip",
						.BeginCustomScan = begin,
						.ExecCustomScan = execute,
						.EndCustomScan = end,
						.ReScanCustomScan = rescan,
						.ExplainCustomScan = explain };

/* custom_private: the rows of each series, and whether NULL times count. */
static Node *create_state(CustomScan *scan)
{
	struct skip_state *state = palloc0(sizeof *state);

	NodeSetTag(state, T_CustomScanState);
	state->custom.methods = &exec_methods;
	state->n_wanted = intVal(linitial(scan->custom_private));
	state->counts_nulls = boolVal(lsecond(scan->custom_private));
	return (Node *)state;
}

static const CustomScanMethods scan_methods = { .CustomName = "IForestSkip", .CreateCustomScanState = create_state };

void ifp_skip_scan_register(void)
{
	RegisterCustomScanMethods(&scan_methods);
}
