#include "pg_ext/base/engine.h"

#include "access/amapi.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "pg_ext/types/definition_slice.h"
#include "pg_ext/storage/meta.h"
#include "pg_ext/am/handler.h"

/* Measured beside the time of a row in a sequential scan: looking for a series in a run, and reading a page of pending
 * entries. */
enum { OPERATORS_A_PROBE = 400, OPERATORS_A_PENDING_PAGE = 40 };

/* of a manifest (core/run/manifest.h), near enough to tell the number of runs from its length */
enum { MANIFEST_HEADER_BYTES = 48, RUN_BYTES = 92, VALUE_BYTES = 72 };

/* of an index-only scan, which has to look at every row all the same (amscan.c): the planner thinks it has not */
static const Cost index_only_penalty = 1e8;

/* How the order of the time column goes with the order of the table: what a fetch of a range of times costs hangs on it. */
static double time_correlation(struct PlannerInfo *root, const IndexOptInfo *index)
{
	AttrNumber attribute = (AttrNumber)index->indexkeys[index->nkeycolumns - 1];
	RangeTblEntry *table = planner_rt_fetch(index->rel->relid, root);
	double correlation = 0;
	AttStatsSlot slot;
	HeapTuple tuple;

	if (attribute == 0)
		return 0;
	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(table->relid), Int16GetDatum(attribute),
				BoolGetDatum(table->inh));
	if (!HeapTupleIsValid(tuple))
		return 0;
	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_CORRELATION, InvalidOid, ATTSTATSSLOT_NUMBERS)) {
		correlation = slot.numbers[0];
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(tuple);
	return correlation;
}

/* Series that the scan goes through: those of the table, less what conditions on by columns leave out. */
static double series_scanned(struct PlannerInfo *root, const IndexPath *path)
{
	const IndexOptInfo *index = path->indexinfo;
	List *conditions = NIL;
	ListCell *cell;
	double n_series = 1;

	for (int i = 0; i < index->nkeycolumns - 1; i++) {
		VariableStatData variable;
		bool is_default;

		examine_variable(root, (Node *)((TargetEntry *)list_nth(index->indextlist, i))->expr, (int)index->rel->relid,
				 &variable);
		n_series *= get_variable_numdistinct(&variable, &is_default);
		ReleaseVariableStats(variable);
	}
	n_series = Min(n_series, Max(index->tuples, 1));
	foreach(cell, path->indexclauses) {
		IndexClause *clause = lfirst_node(IndexClause, cell);

		if (clause->indexcol < index->nkeycolumns - 1)
			conditions = lappend(conditions, clause->rinfo);
	}
	n_series *= clauselist_selectivity(root, conditions, (int)index->rel->relid, JOIN_INNER, NULL);
	return Max(n_series, 1);
}

double iforest_estimate_runs(Relation index, const struct iforest_meta *meta)
{
	int n_values = IndexRelationGetNumberOfAttributes(index) - IndexRelationGetNumberOfKeyAttributes(index);
	double n_runs = ((double)meta->manifest_bytes - MANIFEST_HEADER_BYTES) / (RUN_BYTES + VALUE_BYTES * n_values);

	return Max(n_runs, 1);
}

uint32 iforest_pending_pages(const struct iforest_meta *meta)
{
	uint32 n = 0;

	for (unsigned c = 0; c < IFOREST_CHAINS; c++)
		n += meta->open[c].n_pages;
	for (uint32 c = 0; c < meta->n_closed; c++)
		n += meta->closed[c].n_pages;
	return n;
}

void iforest_cost_estimate(struct PlannerInfo *root, struct IndexPath *path, double loop_count, Cost *startup_cost,
			   Cost *total_cost, Selectivity *selectivity, double *correlation, double *pages)
{
	GenericCosts costs = { 0 };
	struct iforest_meta *meta = palloc(sizeof *meta);
	Relation index = index_open(path->indexinfo->indexoid, NoLock);
	double n_runs, n_pending, n_probes;

	genericcostestimate(root, path, loop_count, &costs);
	iforest_meta_read(index, meta);
	n_runs = iforest_estimate_runs(index, meta);
	n_pending = iforest_pending_pages(meta);
	index_close(index, NoLock);
	pfree(meta);

	/* each series is looked for in each run, on pages that are soon in memory */
	n_probes = series_scanned(root, path) * n_runs;
	*startup_cost = costs.indexStartupCost +
			(n_probes * OPERATORS_A_PROBE + n_pending * OPERATORS_A_PENDING_PAGE) * cpu_operator_cost;
	/* entries are unpacked and merged, and their rows fetched: an index-only scan of a B-tree is quicker, a plain one
	 * not */
	*total_cost = costs.indexTotalCost + costs.numIndexTuples * cpu_tuple_cost +
		      (n_probes * OPERATORS_A_PROBE + n_pending * OPERATORS_A_PENDING_PAGE) * cpu_operator_cost;
	if (path->path.pathtype == T_IndexOnlyScan)
		*total_cost += index_only_penalty;
	*selectivity = costs.indexSelectivity;
	*correlation = time_correlation(root, path->indexinfo);
	if (path->indexinfo->nkeycolumns > 1)
		*correlation *= 0.75;
	*pages = costs.numIndexPages;
}
