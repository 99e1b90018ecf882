#include "pg_ext/am.h"

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

#include "pg_ext/definition.h"
#include "pg_ext/meta.h"

enum { OPERATORS_A_PROBE = 100, RUN_BYTES_AT_LEAST = 84 };

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
	List *by_columns = NIL, *conditions = NIL;
	ListCell *cell;
	double n_series;

	for (int i = 0; i < index->nkeycolumns - 1; i++)
		by_columns = lappend(by_columns, ((TargetEntry *)list_nth(index->indextlist, i))->expr);
	if (!by_columns)
		return 1;
	n_series = estimate_num_groups(root, by_columns, Max(index->tuples, 1), NULL, NULL);
	foreach(cell, path->indexclauses) {
		IndexClause *clause = lfirst_node(IndexClause, cell);

		if (clause->indexcol < index->nkeycolumns - 1)
			conditions = lappend(conditions, clause->rinfo);
	}
	n_series *= clauselist_selectivity(root, conditions, (int)index->rel->relid, JOIN_INNER, NULL);
	return Max(n_series, 1);
}

void iforest_cost_estimate(struct PlannerInfo *root, struct IndexPath *path, double loop_count, Cost *startup_cost,
			   Cost *total_cost, Selectivity *selectivity, double *correlation, double *pages)
{
	GenericCosts costs = { 0 };
	struct iforest_meta *meta = palloc(sizeof *meta);
	Relation index = index_open(path->indexinfo->indexoid, NoLock);
	double n_runs, n_pending = 0, n_probes;

	genericcostestimate(root, path, loop_count, &costs);
	iforest_meta_read(index, meta);
	n_runs = 1 + (double)meta->manifest_bytes / (RUN_BYTES_AT_LEAST + 72 * (IndexRelationGetNumberOfAttributes(index) -
									     IndexRelationGetNumberOfKeyAttributes(index)));
	for (unsigned c = 0; c < IFOREST_CHAINS; c++)
		n_pending += meta->open[c].n_pages;
	for (uint32 c = 0; c < meta->n_closed; c++)
		n_pending += meta->closed[c].n_pages;
	index_close(index, NoLock);
	pfree(meta);

	/* each series is looked for in each run, on pages that are soon in memory */
	n_probes = series_scanned(root, path) * n_runs;
	*startup_cost = costs.indexStartupCost + (n_probes + n_pending) * OPERATORS_A_PROBE * cpu_operator_cost;
	*total_cost = costs.indexTotalCost + (n_probes + n_pending) * OPERATORS_A_PROBE * cpu_operator_cost;
	if (path->path.pathtype == T_IndexOnlyScan)
		*total_cost += index_only_penalty;
	*selectivity = costs.indexSelectivity;
	*correlation = time_correlation(root, path->indexinfo);
	if (path->indexinfo->nkeycolumns > 1)
		*correlation *= 0.75;
	*pages = costs.numIndexPages;
}
