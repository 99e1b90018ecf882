/* iforest_check: what core checks of the runs, then what only PostgreSQL's side can know: series, TIDs, extents, and the
 * table itself. */
#include "pg_ext/sql/index_info.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "lib/bloomfilter.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

#include "core/run/check.h"
#include "core/run/cursor.h"
#include "pg_ext/am/insert.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/storage/locks.h"
#include "pg_ext/storage/compact.h"
#include "pg_ext/storage/pending.h"
#include "pg_ext/storage/series_dict.h"
#include "pg_ext/storage/sidecar.h"
#include "pg_ext/sql/sql_index_info_own.h"

enum { MOST_ATTEMPTS = 20, INT8_LESS = 412 }; /* the operator int8 < int8, which pg_operator.h has no name for */

struct check {
	struct iforest_index *index;
	struct iforest_definition definition;
	int64 highest_ref;
	uint64 highest_series;
	Tuplesortstate *refs;         /* of all live entries */
	bloom_filter *entries;        /* the same as a whole; NULL unless asked for */
};

static void fail(const struct check *check, const char *what)
{
	iforest_require(IFOREST_CORRUPT, check->index->relation, &(struct iforest_fault){ .what = what });
}

/* ---- entries ---- */

struct fingerprint {
	uint64 numbers[5 + IFOREST_MAX_VALUES];
};

static void take_fingerprint(const struct iforest_entry *entry, unsigned n_values, struct fingerprint *print)
{
	memset(print, 0, sizeof *print);
	print->numbers[0] = entry->key.series;
	print->numbers[1] = entry->key.time_is_null;
	print->numbers[2] = (uint64)entry->key.time;
	print->numbers[3] = (uint64)entry->key.ref;
	print->numbers[4] = entry->present;
	for (unsigned v = 0; v < n_values; v++)
		if (entry->present >> v & 1)
			print->numbers[5 + v] = (uint64)entry->values[v].integer;
}

static void check_entry(struct check *check, const struct iforest_entry *entry)
{
	struct fingerprint print;

	if (entry->key.ref < 1 || (entry->key.ref & 0xffff) == 0)
		fail(check, "an entry has an impossible TID");
	check->highest_ref = Max(check->highest_ref, entry->key.ref);
	check->highest_series = Max(check->highest_series, entry->key.series);
	tuplesort_putdatum(check->refs, Int64GetDatum(entry->key.ref), false);
	if (check->entries) {
		take_fingerprint(entry, check->definition.n_values, &print);
		bloom_add_element(check->entries, (unsigned char *)&print, sizeof print);
	}
}

static enum iforest_status check_run_entries(struct check *check, const struct iforest_run *run)
{
	struct iforest_cursor *cursor = palloc(sizeof *cursor);
	const struct iforest_block *block;
	enum iforest_status status;

	iforest_cursor_init(cursor, &check->index->store, &check->index->manifest, run);
	do {
		status = iforest_cursor_block(cursor, UINT32_MAX >> (30 - check->definition.n_values), &block);
		for (unsigned i = 0; !status && block && i < block->n; i++) {
			struct iforest_entry entry = { .key = { .series = block->series, .time_is_null = block->time_is_null,
								.time = block->time_is_null ? 0 : block->times[i],
								.ref = block->refs[i] } };

			if (block->dead >> i & 1)
				continue;
			for (unsigned v = 0; v < check->definition.n_values; v++) {
				entry.values[v].integer = block->values[v][i];
				entry.present |= (uint32)(block->present[v] >> i & 1) << v;
			}
			check_entry(check, &entry);
		}
		if (!status && block)
			status = iforest_cursor_next(cursor);
	} while (!status && block);
	iforest_cursor_release(cursor);
	return status;
}

static void check_chain_entries(struct check *check, const struct iforest_chain *chain)
{
	struct iforest_chain_reader *reader = palloc(sizeof *reader);
	struct iforest_entry entry;

	iforest_chain_open(reader, check->index, chain);
	while (iforest_chain_next(reader))
		for (uint32 i = 0; i < reader->n_entries; i++) {
			iforest_chain_entry(reader, i, &entry);
			check_entry(check, &entry);
		}
	pfree(reader);
}

/* Every page and entry of the index as of one moment. False if something was sealed or merged away meanwhile. */
static bool check_entries(struct check *check)
{
	struct iforest_index *index = check->index;
	struct iforest_check_result counts;
	enum iforest_status status;

	index->met_foreign_page = false;
	iforest_index_refresh(index);
	check->highest_ref = 0;
	check->highest_series = 0;
	check->refs = tuplesort_begin_datum(INT8OID, INT8_LESS, InvalidOid, false, maintenance_work_mem, NULL,
					    TUPLESORT_NONE);
	for (unsigned c = 0; c < IFOREST_CHAINS; c++)
		check_chain_entries(check, &index->meta.open[c]);
	for (uint32 c = 0; c < index->meta.n_closed; c++)
		check_chain_entries(check, &index->meta.closed[c]);
	status = index->met_foreign_page ? IFOREST_CORRUPT : iforest_check(&index->store, &index->manifest, &counts);
	for (uint32 r = 0; r < index->manifest.n_runs && !status; r++)
		status = check_run_entries(check, &index->manifest.runs[r]);
	if (!status) {
		/* after the entries: what is pending may have been added to meanwhile, and with it the dictionary */
		uint32 n_series =
			check->definition.n_by == 0 ?
				1 :
				iforest_series_refresh(index->relation,
						       iforest_series_cache_get(index->relation, index->meta.index_id));

		if (check->highest_ref > 0 && check->highest_series >= n_series)
			fail(check, "an entry is of a series that is not in the dictionary");
		return true;
	}
	tuplesort_end(check->refs);
	if (!index->met_foreign_page && !RecoveryInProgress())
		iforest_index_require(index, status);
	return false;
}

static void check_refs(struct check *check)
{
	int64 previous = 0;
	bool is_null;
	Datum datum;

	tuplesort_performsort(check->refs);
	while (iforest_tuplesort_getdatum(check->refs, &datum, &is_null)) {
		if (DatumGetInt64(datum) == previous)
			fail(check, "two entries lead to the same row");
		previous = DatumGetInt64(datum);
		CHECK_FOR_INTERRUPTS();
	}
	tuplesort_end(check->refs);
}

/* ---- extents ---- */

static bool extents_overlap(Relation relation)
{
	uint32 n;
	struct iforest_extent *extents = iforest_space_read(relation, &n);
	bool overlap = iforest_extents_overlap(extents, n);

	pfree(extents);
	return overlap;
}

/* The list may change between its pages while it is read: what overlaps once need not be wrong. */
static void check_extents(struct check *check)
{
	int n = 0;

	while (extents_overlap(check->index->relation))
		if (++n == MOST_ATTEMPTS)
			fail(check, "two extents overlap");
}

/* ---- the table ---- */

static void check_row(Relation relation, ItemPointer tid, Datum *values, bool *are_null, bool is_alive, void *state)
{
	struct check *check = state;
	struct iforest_series_key key = { .alloc = &iforest_pg_alloc };
	struct iforest_entry entry;
	struct fingerprint print;
	bool found = true;
	uint32 id = 0;

	(void)is_alive;
	iforest_entry_form(relation, &check->definition, values, are_null, tid, &entry);
	for (unsigned i = 0; i < check->definition.n_by; i++)
		iforest_by_append(relation, &check->definition, i, values[i], are_null[i], &key);
	if (check->definition.n_by > 0)
		found = iforest_series_find(iforest_series_cache_get(relation, check->index->meta.index_id), key.bytes,
					    key.n_bytes, &id);
	iforest_series_release(&key);
	entry.key.series = id;
	take_fingerprint(&entry, check->definition.n_values, &print);
	if (!found || bloom_lacks_element(check->entries, (unsigned char *)&print, sizeof print))
		ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED),
			errmsg("index \"%s\" is corrupt: the row at (%u,%u) of its table is not in it",
			       RelationGetRelationName(relation), ItemPointerGetBlockNumber(tid),
			       ItemPointerGetOffsetNumber(tid)),
			errhint("REINDEX INDEX makes it anew from the table."));
}

/* Expressions and predicates of the index are code of its owner's, and are run with the owner's rights. */
static void check_heap(struct check *check, Relation heap, Snapshot snapshot)
{
	IndexInfo *info = BuildIndexInfo(check->index->relation);
	TableScanDesc scan = table_beginscan_strat(heap, snapshot, 0, NULL, true, true);
	int context, level = NewGUCNestLevel();
	Oid user;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(heap->rd_rel->relowner, context | SECURITY_RESTRICTED_OPERATION);
	iforest_restrict_search_path();
	/* as for a concurrent build: no row is waited for */
	info->ii_Concurrent = true;
	(void)table_index_build_scan(heap, check->index->relation, info, true, false, check_row, check, scan);
	AtEOXact_GUC(false, level);
	SetUserIdAndSecContext(user, context);
	bloom_free(check->entries);
}

/* A snapshot from before the index is read: whatever it sees must be in the index. */
static Snapshot take_snapshot(Relation relation)
{
	Snapshot snapshot = RegisterSnapshot(GetTransactionSnapshot());

	if (IsolationUsesXactSnapshot() && relation->rd_index->indcheckxmin &&
	    !TransactionIdPrecedes(HeapTupleHeaderGetXmin(relation->rd_indextuple->t_data), snapshot->xmin))
		ereport(ERROR, errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			errmsg("index \"%s\" cannot be checked by the snapshot of this transaction",
			       RelationGetRelationName(relation)),
			errhint("Check it in a transaction that began after the index was built."));
	return snapshot;
}

/* Sees to it that the runs listed now are neither removed from nor merged away; what is sealed later may be. A run that a
 * cut-off removal left marked is repaired first, as a VACUUM would. On a standby nobody can hold the replay: what was half
 * done is read again. */
static void hold_runs(struct iforest_index *index)
{
	for (bool is_marked = true; is_marked;) {
		iforest_lock(index->relation, IFOREST_LOCK_MAINTENANCE, ShareLock);
		iforest_index_refresh(index);
		is_marked = false;
		for (uint32 r = 0; r < index->manifest.n_runs; r++)
			is_marked = is_marked || index->manifest.runs[r].removal_in_progress;
		if (is_marked) {
			iforest_unlock(index->relation, IFOREST_LOCK_MAINTENANCE, ShareLock);
			(void)iforest_maintenance_begin(index, true);
			iforest_maintenance_end(index);
		}
	}
	iforest_lock(index->relation, IFOREST_LOCK_NEWER, ExclusiveLock);
	iforest_set_worklist(index->relation);
	iforest_unlock(index->relation, IFOREST_LOCK_NEWER, ExclusiveLock);
}

IFOREST_SQL_FUNCTION(iforest_check_index);

Datum iforest_check_index(PG_FUNCTION_ARGS)
{
	struct check *check = palloc0(sizeof *check);
	bool with_heap = PG_GETARG_BOOL(1), is_primary = !RecoveryInProgress();
	Relation heap, relation = iforest_open_named(PG_GETARG_OID(0), AccessShareLock, &heap);
	Snapshot snapshot = with_heap ? take_snapshot(relation) : InvalidSnapshot;
	int n_attempts = 0;

	iforest_may_look(relation);
	check->index = palloc(sizeof *check->index);
	iforest_index_open(check->index, relation);
	check->index->trusts_nothing = true;
	iforest_definition_read(relation, &check->definition);
	if (is_primary)
		hold_runs(check->index);
	do {
		if (check->entries)
			bloom_free(check->entries);
		if (with_heap)
			check->entries = bloom_create((int64)Max(heap->rd_rel->reltuples, 1000), maintenance_work_mem,
						      iforest_pg_random());
		if (++n_attempts > MOST_ATTEMPTS)
			ereport(ERROR, errcode(ERRCODE_OBJECT_IN_USE),
				errmsg("index \"%s\" changes faster than it can be checked",
				       RelationGetRelationName(relation)),
				errhint("Try again."));
	} while (!check_entries(check));
	if (check->highest_ref > 0 && check->highest_ref >> 16 >= RelationGetNumberOfBlocks(heap))
		fail(check, "an entry leads beyond the end of the table");
	check_refs(check);
	check_extents(check);
	if (is_primary) {
		iforest_shelf_check(check->index);
		iforest_unlock(relation, IFOREST_LOCK_MAINTENANCE, ShareLock);
	}
	if (with_heap) {
		check_heap(check, heap, snapshot);
		UnregisterSnapshot(snapshot);
	}
	iforest_close_named(relation, heap, AccessShareLock);
	PG_RETURN_VOID();
}
