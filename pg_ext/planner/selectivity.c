#include "pg_ext/planner/selectivity.h"

#include "access/genam.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/storage/pending.h"
#include "pg_ext/am/scan_keys.h"
#include "pg_ext/am/handler.h"

/* A comparison of the time with what is known while planning, as a scan key. */
static bool read_bound(PlannerInfo *root, Relation index, const struct iforest_key_condition *condition, ScanKey key)
{
	Node *comparand = condition->comparand ? estimate_expression_value(root, (Node *)condition->comparand) : NULL;
	FmgrInfo *function = palloc(sizeof *function);
	int time = IndexRelationGetNumberOfKeyAttributes(index);

	if (!comparand || condition->is_array || !IsA(comparand, Const) || castNode(Const, comparand)->constisnull)
		return false;
	fmgr_info(get_opcode(condition->function), function);
	ScanKeyEntryInitializeWithInfo(
		key, 0, (AttrNumber)time,
		(StrategyNumber)get_op_opfamily_strategy(condition->function, index->rd_opfamily[time - 1]),
		condition->right_type, condition->collation, function, castNode(Const, comparand)->constvalue);
	return true;
}

bool iforest_known_times(PlannerInfo *root, Relation relation, const struct iforest_question *question,
			 struct iforest_scan_keys *times)
{
	ScanKey keys = palloc0((list_length(question->keys) + 1) * sizeof *keys);
	struct iforest_definition definition;
	ListCell *cell;
	int n = 0;

	foreach(cell, question->keys) {
		struct iforest_key_condition condition;

		iforest_key_condition_read(lfirst(cell), &condition);
		if (condition.column == question->n_by + 1 && !read_bound(root, relation, &condition, &keys[n++]))
			return false;
	}
	iforest_definition_read(relation, &definition);
	iforest_scan_times_read(relation, &definition, keys, n, times);
	return n > 0;
}

/* Which part of the times from first to last lies in the ranges. */
static double part_of(const struct iforest_scan_keys *times, int64 first, int64 last)
{
	double part = 0;

	for (uint32 i = 0; i < times->n_ranges; i++) {
		int64 low = Max(times->ranges[i].low, first), high = Min(times->ranges[i].high, last);

		if (low <= high)
			part += ((double)high - (double)low + 1) / ((double)last - (double)first + 1);
	}
	return part;
}

static double rows_of(const struct iforest_index *index, const struct iforest_scan_keys *times)
{
	const struct iforest_fields *fields = &index->manifest.fields;
	int64 latest = PG_INT64_MIN;
	double n_rows = 0;

	for (uint32 r = 0; r < index->manifest.n_runs; r++) {
		struct iforest_node root;

		/* of several series, first and last are no bounds of all times */
		iforest_node_read(&root, fields, index->manifest.runs[r].root);
		if (root.first.series != root.last.series || root.first.time_is_null || root.last.time_is_null)
			return -1;
		n_rows += (double)root.aggregate.n_rows * part_of(times, root.first.time, root.last.time);
		latest = Max(latest, root.last.time);
	}
	if (times->n_ranges > 0 && times->ranges[times->n_ranges - 1].high > latest)
		n_rows += (double)iforest_pending_pages(&index->meta) * IFOREST_CONTENT_BYTES /
			  iforest_pending_entry_bytes(fields->n_values);
	return n_rows;
}

bool iforest_known_rows(PlannerInfo *root, Oid oid, const struct iforest_question *question, double *n_rows)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "iforest known rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);
	Relation relation = index_open(oid, NoLock);
	struct iforest_index *index = palloc(sizeof *index);
	struct iforest_scan_keys times;

	*n_rows = -1;
	if (iforest_known_times(root, relation, question, &times)) {
		iforest_index_open(index, relation);
		iforest_index_refresh(index);
		*n_rows = rows_of(index, &times);
	}
	index_close(relation, NoLock);
	MemoryContextSwitchTo(before);
	MemoryContextDelete(context);
	return *n_rows >= 0;
}
