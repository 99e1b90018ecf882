#include "pg_ext/sql/index_info.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "storage/bufmgr.h"

#include "core/run/layout.h"
#include "core/page/node_slice.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/storage/pending.h"
#include "pg_ext/storage/series_dict.h"
#include "pg_ext/sql/sql_index_info_own.h"

enum { MOST_ATTEMPTS = 100 };

static TupleDesc result_type(FunctionCallInfo fcinfo)
{
	TupleDesc type;

	if (get_call_result_type(fcinfo, NULL, &type) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return BlessTupleDesc(type);
}

/* ---- one row for the index ---- */

struct totals {
	uint64 n_leaf_pages, n_node_pages, n_entries, n_removed, n_pending, n_pending_pages, n_free;
	unsigned n_levels;
};

static void add_runs(const struct iforest_manifest *manifest, struct totals *totals)
{
	for (uint32 r = 0; r < manifest->n_runs; r++) {
		const struct iforest_run *run = &manifest->runs[r];

		totals->n_leaf_pages += run->n_leaves;
		totals->n_node_pages += iforest_run_pages(manifest, run) - run->n_leaves;
		totals->n_entries += iforest_node_rows(run->root);
		totals->n_removed += iforest_node_dead(run->root);
		totals->n_levels = Max(totals->n_levels, run->n_levels);
	}
}

static void add_chain(struct iforest_index *index, const struct iforest_chain *chain, struct totals *totals)
{
	struct iforest_chain_reader *reader = palloc(sizeof *reader);

	iforest_chain_open(reader, index, chain);
	while (iforest_chain_next(reader)) {
		totals->n_pending += reader->n_entries;
		totals->n_pending_pages++;
	}
	pfree(reader);
}

/* Reads the index as it is at one moment; again if a chain was sealed meanwhile. */
static void read_totals(struct iforest_index *index, struct totals *totals)
{
	for (int n = 0;; n++) {
		*totals = (struct totals){ 0 };
		index->met_foreign_page = false;
		iforest_index_refresh(index);
		add_runs(&index->manifest, totals);
		for (unsigned c = 0; c < IFOREST_CHAINS; c++)
			add_chain(index, &index->meta.open[c], totals);
		for (uint32 c = 0; c < index->meta.n_closed; c++)
			add_chain(index, &index->meta.closed[c], totals);
		if (!index->met_foreign_page)
			break;
		if (n == MOST_ATTEMPTS)
			iforest_require(IFOREST_CORRUPT, index->relation,
					&(struct iforest_fault){ .what = "a chain of pending pages is broken" });
	}
}

static uint64 free_pages(Relation relation)
{
	uint32 n_extents;
	struct iforest_extent *extents = iforest_space_read(relation, &n_extents);
	uint64 n = 0;

	for (uint32 i = 0; i < n_extents; i++)
		if (extents[i].owner == IFOREST_OWNER_NONE || extents[i].freed)
			n += extents[i].n_blocks;
	return n;
}

IFOREST_SQL_FUNCTION(iforest_stats_index);

Datum iforest_stats_index(PG_FUNCTION_ARGS)
{
	struct iforest_index *index = palloc(sizeof *index);
	TupleDesc type = result_type(fcinfo);
	Relation heap, relation = iforest_open_named(PG_GETARG_OID(0), AccessShareLock, &heap);
	bool has_by = IndexRelationGetNumberOfKeyAttributes(relation) > 1;
	struct totals totals;
	BlockNumber n_blocks;
	Datum values[15];
	bool are_null[15] = { false };
	int i = 0;

	iforest_may_look(relation);
	iforest_index_open(index, relation);
	read_totals(index, &totals);
	n_blocks = RelationGetNumberOfBlocks(relation);
	values[i++] = Int32GetDatum((int32)index->meta.version);
	values[i++] = Int32GetDatum(index->manifest.fields.n_values);
	values[i++] = Int32GetDatum((int32)index->manifest.n_runs);
	values[i++] = Int32GetDatum((int32)totals.n_levels);
	values[i++] = Int64GetDatum((int64)totals.n_leaf_pages);
	values[i++] = Int64GetDatum((int64)totals.n_node_pages);
	values[i++] = Int64GetDatum((int64)totals.n_entries);
	values[i++] = Int64GetDatum((int64)totals.n_removed);
	values[i++] = Int64GetDatum((int64)totals.n_pending);
	values[i++] = Int64GetDatum((int64)totals.n_pending_pages);
	values[i++] = Int64GetDatum(
		has_by ? iforest_series_refresh(relation, iforest_series_cache_get(relation, index->meta.index_id)) : 1);
	values[i++] = Int64GetDatum((int64)free_pages(relation));
	values[i++] = Int64GetDatum(n_blocks);
	are_null[i] = totals.n_entries + totals.n_pending == 0;
	values[i] = Float8GetDatum(are_null[i] ? 0
					       : (double)n_blocks * BLCKSZ / (double)(totals.n_entries + totals.n_pending));
	i++;
	values[i++] = Int64GetDatum((int64)index->meta.removal_epoch);
	iforest_close_named(relation, heap, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(type, values, are_null)));
}

/* ---- a row for each run ---- */

IFOREST_SQL_FUNCTION(iforest_runs_index);

Datum iforest_runs_index(PG_FUNCTION_ARGS)
{
	struct iforest_index *index = palloc(sizeof *index);
	ReturnSetInfo *result = (ReturnSetInfo *)fcinfo->resultinfo;
	Relation heap, relation;

	InitMaterializedSRF(fcinfo, 0);
	relation = iforest_open_named(PG_GETARG_OID(0), AccessShareLock, &heap);
	iforest_may_look(relation);
	iforest_index_open(index, relation);
	iforest_index_refresh(index);
	for (uint32 r = 0; r < index->manifest.n_runs; r++) {
		const struct iforest_run *run = &index->manifest.runs[r];
		bool are_null[11] = { false };
		struct iforest_node node;
		Datum values[11];

		iforest_node_read(&node, &index->manifest.fields, run->root);
		values[0] = Int64GetDatum((int64)run->place.run_id);
		values[1] = Int64GetDatum((int64)run->place.generation);
		values[2] = Int64GetDatum(iforest_run_clock(run));
		values[3] = Int64GetDatum(run->n_leaves);
		values[4] = Int64GetDatum((int64)iforest_run_pages(&index->manifest, run) - run->n_leaves);
		values[5] = Int32GetDatum((int32)run->n_levels);
		values[6] = Int64GetDatum((int64)node.aggregate.n_rows);
		values[7] = Int64GetDatum((int64)node.aggregate.n_dead);
		values[8] = Int64GetDatum(node.aggregate.lowest_block);
		values[9] = Int64GetDatum(node.aggregate.highest_block);
		are_null[8] = are_null[9] = node.aggregate.n_rows == 0;
		values[10] = BoolGetDatum(run->removal_in_progress);
		tuplestore_putvalues(result->setResult, result->setDesc, values, are_null);
	}
	iforest_close_named(relation, heap, AccessShareLock);
	PG_RETURN_VOID();
}
