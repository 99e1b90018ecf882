#include "pg_ext/planner/selectivity.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_statistic.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"

#include "pg_ext/am/handler.h"
#include "pg_ext/am/plan_facts.h"
#include "pg_ext/am/scan_keys.h"
#include "pg_ext/base/engine.h"
#include "pg_ext/planner/query_match.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/storage/pending.h"
#include "pg_ext/types/values.h"

/* ---- windows ---- */

/* Reads a comparison of the time as a scan key. Returns false if the other side is not known at planning time. */
static bool read_bound(PlannerInfo *root, Relation index, const struct ifp_key_condition *condition, ScanKey key)
{
	Node *comparand = condition->comparand ? estimate_expression_value(root, (Node *)condition->comparand) : NULL;
	FmgrInfo *function = palloc(sizeof *function);
	int time = IndexRelationGetNumberOfKeyAttributes(index);

	if (!comparand || condition->is_array || !IsA(comparand, Const) || castNode(Const, comparand)->constisnull)
		return false;
	fmgr_info(condition->function, function);
	ScanKeyEntryInitializeWithInfo(key, 0, (AttrNumber)time,
				       (StrategyNumber)get_op_opfamily_strategy(condition->opno, index->rd_opfamily[time - 1]),
				       condition->right_type, condition->collation, function,
				       castNode(Const, comparand)->constvalue);
	return true;
}

bool ifp_selectivity_window_times(PlannerInfo *root, Relation relation, const struct ifp_index_query *query,
				  struct ifp_scan_keys *times)
{
	ScanKey keys = palloc0((list_length(query->keys) + 1) * sizeof *keys);
	struct ifp_definition definition;
	ListCell *cell;
	int n = 0;

	foreach (cell, query->keys) {
		struct ifp_key_condition condition;

		ifp_key_condition_read(lfirst(cell), &condition);
		if (condition.column == query->n_by + 1 && !read_bound(root, relation, &condition, &keys[n++]))
			return false;
	}
	ifp_definition_read(relation, &definition);
	ifp_scan_times_read(relation, &definition, keys, n, times);
	return n > 0;
}

/* Returns the fraction of the times from first to last that lies in the ranges. */
static double part_of(const struct ifp_scan_keys *times, int64 first, int64 last)
{
	double part = 0;

	for (uint32 i = 0; i < times->n_ranges; i++) {
		int64 low = Max(times->ranges[i].low, first), high = Min(times->ranges[i].high, last);

		if (low <= high)
			part += ((double)high - (double)low + 1) / ((double)last - (double)first + 1);
	}
	return part;
}

/* Returns -1 if a run has several series. */
static double rows_of(const struct ifp_index *index, const struct ifp_scan_keys *times)
{
	const struct iforest_node_schema *fields = &index->manifest.fields;
	int64 latest = PG_INT64_MIN;
	double n_rows = 0;

	for (uint32 r = 0; r < index->manifest.n_runs; r++) {
		struct iforest_node root;

		/* with several series, the first and last keys do not bound the times */
		iforest_node_read(&root, fields, index->manifest.runs[r].root);
		if (root.first.series != root.last.series || root.first.time_is_null || root.last.time_is_null)
			return -1;
		n_rows += (double)root.aggregate.n_rows * part_of(times, root.first.time, root.last.time);
		latest = Max(latest, root.last.time);
	}
	if (times->n_ranges > 0 && times->ranges[times->n_ranges - 1].high > latest)
		n_rows += ifp_pending_guess(ifp_pending_pages(&index->meta), fields->n_values);
	return n_rows;
}

bool ifp_selectivity_window_rows(PlannerInfo *root, Oid oid, const struct ifp_index_query *query, double *n_rows)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "iforest known rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);
	Relation relation = index_open(oid, NoLock);
	struct ifp_index *index = palloc(sizeof *index);
	struct ifp_scan_keys times;

	*n_rows = -1;
	if (ifp_selectivity_window_times(root, relation, query, &times)) {
		ifp_index_open(index, relation);
		ifp_index_refresh(index);
		*n_rows = rows_of(index, &times);
	}
	index_close(relation, NoLock);
	MemoryContextSwitchTo(before);
	MemoryContextDelete(context);
	return *n_rows >= 0;
}

/* ---- series ---- */

double ifp_selectivity_series(Oid oid)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "iforest series", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);
	Relation relation = index_open(oid, NoLock);
	struct ifp_index *index = palloc(sizeof *index);
	double n = 0;

	ifp_index_open(index, relation);
	ifp_index_refresh(index);
	for (uint32 r = 0; r < index->manifest.n_runs; r++) {
		struct iforest_node root;

		iforest_node_read(&root, &index->manifest.fields, index->manifest.runs[r].root);
		n = Max(n, (double)root.last.series + 1);
	}
	index_close(relation, NoLock);
	MemoryContextSwitchTo(before);
	MemoryContextDelete(context);
	return n;
}

/* ---- newer rows in the index ---- */

/* Approximate numbers of all rows and of those after a time. */
struct newer {
	double n_rows, n_newer;
	int64 after, end; /* end: the last of all times */
};

/* Adds rows that are spread evenly between the times of two keys, in any order. */
static void add_stretch(struct newer *newer, double n_rows, const struct iforest_key *a, const struct iforest_key *b)
{
	int64 low = Min(a->time, b->time), high = Max(a->time, b->time);

	if (a->time_is_null || b->time_is_null)
		return;
	newer->n_rows += n_rows;
	if (high <= newer->after)
		return;
	newer->n_newer +=
		low > newer->after ? n_rows : n_rows * (((double)high - (double)newer->after) / ((double)high - (double)low));
	newer->end = Max(newer->end, high);
}

/* Reads the first or last key of a page. Returns false if the chain has been removed meanwhile. */
static bool read_key_of(struct ifp_chain_reader *reader, const struct ifp_chain *chain, BlockNumber page, bool is_last,
			struct iforest_key *key)
{
	struct ifp_chain from_page = { .clock = chain->clock, .head = page, .tail = page, .n_pages = 1 };

	ifp_chain_open(reader, reader->index, &from_page);
	if (chain->clock == 0 || !ifp_chain_next(reader) || reader->page.n_entries == 0)
		return false;
	*key = reader->page.keys[is_last ? reader->page.n_entries - 1 : 0];
	return true;
}

static void add_chain(struct newer *newer, struct ifp_chain_reader *reader, const struct ifp_chain *chain)
{
	struct iforest_key first, last;

	if (read_key_of(reader, chain, chain->head, false, &first) && read_key_of(reader, chain, chain->tail, true, &last))
		add_stretch(newer,
			    ifp_pending_guess(chain->n_pages - 1, reader->index->manifest.fields.n_values) +
				    reader->page.n_entries,
			    &first, &last);
}

/* The first and last keys of a run are taken as its bounds even if it has several series. */
static struct newer read_newer(struct ifp_index *index, int64 after)
{
	struct ifp_chain_reader *reader = palloc(sizeof *reader);
	struct newer newer = { .after = after, .end = after };

	for (uint32 r = 0; r < index->manifest.n_runs; r++) {
		struct iforest_node root;

		iforest_node_read(&root, &index->manifest.fields, index->manifest.runs[r].root);
		if (root.aggregate.n_rows > 0)
			add_stretch(&newer, (double)root.aggregate.n_rows, &root.first, &root.last);
	}
	reader->index = index;
	for (int c = 0; c < IFP_CHAINS; c++)
		add_chain(&newer, reader, &index->meta.open[c]);
	for (uint32 c = 0; c < index->meta.n_closed; c++)
		add_chain(&newer, reader, &index->meta.closed[c]);
	return newer;
}

/* ---- the histogram ---- */

/* Returns the time before which a fraction of all rows lies: first those of the histogram, then the newer ones. */
static int64 bound_at(const int64 *times, int n, const struct newer *newer, double part)
{
	double newer_part = newer->n_newer / newer->n_rows, place = part * (n - 1) / (1 - newer_part);

	if (place < n - 1) {
		int i = (int)place;

		return times[i] + (int64)(((double)times[i + 1] - (double)times[i]) * (place - i));
	}
	return newer->after +
	       (int64)(((double)newer->end - (double)newer->after) * Min((part - 1 + newer_part) / newer_part, 1));
}

/* Returns replacements for the histogram's bounds; NULL if nothing is newer or some time is infinite. */
static ArrayType *new_bounds(struct ifp_index *index, const AttStatsSlot *slot)
{
	int64 *times = palloc(slot->nvalues * sizeof *times);
	Datum *bounds = palloc(slot->nvalues * sizeof *bounds);
	struct ifp_definition definition;
	struct ifp_time_keys keys;
	struct newer newer;
	int n = slot->nvalues;
	int16 length;
	bool is_by_value;
	char alignment;

	ifp_definition_read(index->relation, &definition);
	keys = ifp_time_keys(&definition);
	for (int i = 0; i < n; i++)
		times[i] = ifp_time_from_datum(&definition, slot->values[i]);
	if (n < 2 || times[0] < keys.lowest_finite || times[n - 1] > keys.highest_finite)
		return NULL;
	newer = read_newer(index, times[n - 1]);
	if (newer.n_newer == 0 || newer.end > keys.highest_finite)
		return NULL;
	for (int i = 0; i < n; i++)
		bounds[i] = ifp_time_to_datum(&definition, i == 0 ? times[0] : bound_at(times, n, &newer, (double)i / (n - 1)));
	get_typlenbyvalalign(slot->valuetype, &length, &is_by_value, &alignment);
	return construct_array(bounds, n, slot->valuetype, length, is_by_value, alignment);
}

/* Returns a copy of the statistics with these bounds. */
static HeapTuple with_bounds(HeapTuple tuple, ArrayType *bounds)
{
	const int16 *kinds = &((Form_pg_statistic)GETSTRUCT(tuple))->stakind1;
	Relation statistics = table_open(StatisticRelationId, AccessShareLock);
	Datum values[Natts_pg_statistic] = { 0 };
	bool are_null[Natts_pg_statistic] = { false }, are_new[Natts_pg_statistic] = { false };
	HeapTuple copy;

	for (int i = 0; i < STATISTIC_NUM_SLOTS; i++)
		if (kinds[i] == STATISTIC_KIND_HISTOGRAM) {
			values[Anum_pg_statistic_stavalues1 - 1 + i] = PointerGetDatum(bounds);
			are_new[Anum_pg_statistic_stavalues1 - 1 + i] = true;
		}
	copy = heap_modify_tuple(tuple, RelationGetDescr(statistics), values, are_null, are_new);
	table_close(statistics, AccessShareLock);
	return copy;
}

/* Returns a copy of the statistics with the index's newer rows; NULL if there are none. */
static HeapTuple improved(HeapTuple tuple, Relation relation)
{
	struct ifp_index *index = palloc(sizeof *index);
	HeapTuple changed = NULL;
	AttStatsSlot slot;

	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_HISTOGRAM, InvalidOid, ATTSTATSSLOT_VALUES)) {
		ArrayType *bounds;

		ifp_index_open(index, relation);
		ifp_index_refresh(index);
		bounds = new_bounds(index, &slot);
		free_attstatsslot(&slot);
		changed = bounds ? with_bounds(tuple, bounds) : NULL;
	}
	return changed;
}

/* Returns improved statistics of a column, in the current memory context; NULL if they need no change. */
static HeapTuple statistics_of(Oid table, AttrNumber column, Oid oid)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "iforest newer rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);
	HeapTuple tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(table), Int16GetDatum(column), BoolGetDatum(false));
	HeapTuple changed = NULL;

	if (HeapTupleIsValid(tuple)) {
		Relation index = index_open(oid, NoLock);

		changed = improved(tuple, index);
		index_close(index, NoLock);
		ReleaseSysCache(tuple);
	}
	MemoryContextSwitchTo(before);
	changed = changed ? heap_copytuple(changed) : NULL;
	MemoryContextDelete(context);
	return changed;
}

/* ---- hook ---- */

static get_relation_stats_hook_type previous_hook;

pg_attribute_hot static const RelOptInfo *find_rel(PlannerInfo *root, const RangeTblEntry *table)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
		if (root->simple_rte_array[i] == table)
			return root->simple_rel_array[i];
	return NULL;
}

/* Finds an index of all rows whose time is this column, with the fewest key columns. */
pg_attribute_hot static const IndexOptInfo *find_index(const RelOptInfo *rel, AttrNumber column)
{
	const IndexOptInfo *found = NULL;
	ListCell *cell;

	foreach (cell, rel ? rel->indexlist : NIL) {
		const IndexOptInfo *index = lfirst(cell);

		if ((!found || index->nkeycolumns < found->nkeycolumns) && index->indexkeys[index->nkeycolumns - 1] == column &&
		    index->indpred == NIL && ifp_is_usable(index))
			found = index;
	}
	return found;
}

pg_attribute_hot static bool are_same(const struct ifp_meta_sizes *a, const struct ifp_meta_sizes *b)
{
	return a->index_id == b->index_id && a->manifest_id == b->manifest_id && a->n_pending_pages == b->n_pending_pages;
}

/* Returns the statistics of the time column of an index, improved, in the current memory context; NULL if they need no change.
 * The planner asks for them once for each condition of a query. */
pg_attribute_hot static HeapTuple find_statistics(Oid table, AttrNumber column, const IndexOptInfo *index)
{
	struct ifp_meta_sizes now = *ifp_plan_facts_sizes(index);
	struct ifp_plan_facts *facts = ifp_plan_facts(index->indexoid);
	uint64 number = facts->number;
	HeapTuple tuple;

	if (facts->is_time_assessed && are_same(&facts->assessed, &now))
		return facts->time_statistics ? heap_copytuple(facts->time_statistics) : NULL;
	tuple = statistics_of(table, column, index->indexoid);
	facts = ifp_plan_facts(index->indexoid);
	if (facts->number == number)
		ifp_plan_facts_store(facts, &now, tuple);
	return tuple;
}

/* True if the user may read all rows and columns of a table, or of the table that it is a partition or child of in the query: its
 * policies and privileges apply then. To others PostgreSQL's own statistics are left, with its own checks: functions that are not
 * leakproof must not see values of rows that the user may not read. */
pg_attribute_hot static bool may_read_all(PlannerInfo *root, Index number)
{
	const RangeTblEntry *table = planner_rt_fetch(number, root);
	const AppendRelInfo *child = root->append_rel_array ? root->append_rel_array[number] : NULL;

	if (child && planner_rt_fetch(child->parent_relid, root)->rtekind == RTE_RELATION)
		return may_read_all(root, child->parent_relid);
	return table->securityQuals == NIL &&
	       pg_class_aclcheck(table->relid, ifp_user_of(table, find_base_rel(root, (int)number)), ACL_SELECT) == ACLCHECK_OK;
}

pg_attribute_hot static bool look(PlannerInfo *root, RangeTblEntry *table, AttrNumber column, VariableStatData *variable)
{
	const RelOptInfo *rel;
	const IndexOptInfo *index;
	HeapTuple tuple;

	if (previous_hook && previous_hook(root, table, column, variable))
		return true;
	if (!ifp_enable || table->rtekind != RTE_RELATION || table->inh || column <= 0)
		return false;
	rel = find_rel(root, table);
	index = find_index(rel, column);
	if (!index || !may_read_all(root, rel->relid))
		return false;
	tuple = find_statistics(table->relid, column, index);
	if (!tuple)
		return false;
	variable->statsTuple = tuple;
	variable->freefunc = heap_freetuple;
	variable->acl_ok = true;
	return true;
}

void ifp_selectivity_histogram_register(void)
{
	previous_hook = get_relation_stats_hook;
	get_relation_stats_hook = look;
}
