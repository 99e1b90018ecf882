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
	IndexScanState *index;
	int64 n_wanted;	   /* rows of each series */
	bool counts_nulls; /* rows without a time count among these; otherwise they are returned in addition */
	/* a series is being read */
	bool has_series;
	int64 n_given;		    /* that count */
	struct ifp_scan_place last; /* of the last counted row, or of any row of the series */
};

static void begin(CustomScanState *node, EState *estate, int flags)
{
	CustomScan *scan = castNode(CustomScan, node->ss.ps.plan);
	ScanState *below = (ScanState *)ExecInitNode(linitial(scan->custom_plans), estate, flags);

	node->custom_ps = list_make1(below);
	((struct skip_state *)node)->index =
		castNode(IndexScanState, IsA(below, CustomScanState) ? linitial(((CustomScanState *)below)->custom_ps) : below);
	/* the slots returned are those of the index scan */
	node->ss.ps.resultops = ExecGetResultSlotOps(&below->ps, &node->ss.ps.resultopsfixed);
	node->ss.ps.resultopsset = true;
	node->ss.ss_currentRelation = below->ss_currentRelation;
	node->ss.ss_ScanTupleSlot = below->ss_ScanTupleSlot;
}

static bool is_tie(const struct ifp_scan_place *a, const struct ifp_scan_place *b)
{
	return a->is_null == b->is_null && iforest_number_compare(a->number, b->number, a->type) == 0;
}

/* True if the query may select the row. Counts it. */
static bool is_wanted(struct skip_state *state, const struct ifp_scan_place *place)
{
	bool counts = !place->is_null || state->counts_nulls;

	if (!state->has_series || place->series != state->last.series) {
		state->has_series = true;
		state->n_given = 0;
		state->last = *place;
	}
	if (state->n_given >= state->n_wanted)
		return !counts || is_tie(place, &state->last);
	if (counts) {
		state->n_given++;
		state->last = *place;
	}
	return true;
}

static TupleTableSlot *execute(CustomScanState *node)
{
	struct skip_state *state = (struct skip_state *)node;

	for (;;) {
		TupleTableSlot *slot = ExecProcNode(linitial(node->custom_ps));
		struct ifp_scan_place place;

		/* a row being rechecked does not come from a scan */
		if (TupIsNull(slot) || !state->index->iss_ScanDesc)
			return slot;
		place = ifp_index_scan_place(state->index->iss_ScanDesc);
		if (is_wanted(state, &place))
			return slot;
		ifp_index_scan_leave_series(state->index->iss_ScanDesc);
	}
}

static void end(CustomScanState *node)
{
	ExecEndNode(linitial(node->custom_ps));
}

static void rescan(CustomScanState *node)
{
	PlanState *below = linitial(node->custom_ps);

	((struct skip_state *)node)->has_series = false;
	if (node->ss.ps.chgParam)
		UpdateChangedParamSet(below, node->ss.ps.chgParam);
	if (!below->chgParam)
		ExecReScan(below);
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
