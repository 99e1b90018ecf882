#include "pg_ext/sql/index_info.h"

#include "access/amapi.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "lib/bloomfilter.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "core/base/bits.h"
#include "core/page/node.h"
#include "core/run/check.h"
#include "core/run/cursor.h"
#include "core/run/layout.h"
#include "pg_ext/am/build.h"
#include "pg_ext/am/insert.h"
#include "pg_ext/base/engine.h"
#include "pg_ext/base/owner_context.h"
#include "pg_ext/storage/compact.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/storage/locks.h"
#include "pg_ext/storage/pending.h"
#include "pg_ext/storage/series_dict.h"
#include "pg_ext/storage/sidecar.h"
#include "pg_ext/types/values.h"

/* ---- opening ---- */

/* Returns the names of the table's iforest indexes; NULL if it has none. */
static const char *indexes_of_table(Relation table)
{
	StringInfoData names;
	ListCell *cell;

	initStringInfo(&names);
	foreach (cell, table->rd_rel->relhasindex ? RelationGetIndexList(table) : NIL) {
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);

		if (index->rd_indam->ambuild == ifp_build)
			appendStringInfo(&names, "%s\"%s\"", names.len > 0 ? ", " : "", RelationGetRelationName(index));
		index_close(index, AccessShareLock);
	}
	return names.len > 0 ? names.data : NULL;
}

static void refuse_relation(Relation relation, bool is_partitioned)
{
	const char *indexes = indexes_of_table(relation);

	ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE),
		errmsg("\"%s\" is not an iforest index", RelationGetRelationName(relation)),
		is_partitioned ? errhint("A partitioned index holds nothing itself; name the index of a partition.")
		: indexes      ? errhint("It is a table. Its iforest indexes are: %s.", indexes)
			       : 0);
}

static Relation open_index(Oid oid, LOCKMODE lock_mode, bool or_partitioned, Relation *heap)
{
	Oid heap_oid = IndexGetRelation(oid, true);
	Relation table = OidIsValid(heap_oid) ? try_table_open(heap_oid, lock_mode) : NULL;
	Relation index = try_relation_open(oid, lock_mode);
	bool is_partitioned, is_index;

	if (!index)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("there is no relation with OID %u", oid));
	is_partitioned = index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX;
	is_index = index->rd_rel->relkind == RELKIND_INDEX || (is_partitioned && or_partitioned);
	if (!is_index || !table || index->rd_indam->ambuild != ifp_build)
		refuse_relation(index, is_partitioned && !or_partitioned);
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("\"%s\" is a temporary index of another session", RelationGetRelationName(index)));
	if (heap)
		*heap = table;
	return index;
}

static Relation open_valid(Oid oid, LOCKMODE lock_mode, bool or_partitioned, Relation *heap)
{
	Relation index = open_index(oid, lock_mode, or_partitioned, heap);

	if (!index->rd_index->indisvalid)
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			errmsg("index \"%s\" is not valid", RelationGetRelationName(index)),
			index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX
				? errhint("A partition lacks the index: CREATE INDEX there, and ALTER INDEX ... ATTACH "
					  "PARTITION.")
				: errhint("REINDEX INDEX or DROP INDEX: a concurrent build of it was cut off."));
	return index;
}

Relation ifp_open_index(Oid oid, LOCKMODE lock_mode, Relation *heap)
{
	return open_index(oid, lock_mode, true, heap);
}

/* Opens a valid index that is not partitioned. */
static Relation open_named(Oid oid, LOCKMODE lock_mode, Relation *heap)
{
	return open_valid(oid, lock_mode, false, heap);
}

Relation ifp_open_valid_or_partitioned_index(Oid oid, LOCKMODE lock_mode, Relation *heap)
{
	return open_valid(oid, lock_mode, true, heap);
}

void ifp_close_index(Relation index, Relation heap, LOCKMODE lock_mode)
{
	relation_close(index, lock_mode);
	table_close(heap, lock_mode);
}

/* Raises an error unless the user owns the index or is a member of pg_stat_scan_tables. */
static void require_may_look(Relation index)
{
	if (!ifp_owns_class(RelationGetRelid(index)) && !has_privs_of_role(GetUserId(), ROLE_PG_STAT_SCAN_TABLES))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(index));
}

/* ---- iforest_merge() ---- */

IFP_SQL_FUNCTION(iforest_merge_index);

Datum iforest_merge_index(PG_FUNCTION_ARGS)
{
	Oid oid = PG_GETARG_OID(0);
	bool complete = PG_GETARG_BOOL(1);
	struct ifp_index *index = palloc(sizeof *index);
	struct ifp_owner_context caller;
	Relation relation, heap;
	uint32 n_runs;

	if (RecoveryInProgress())
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("recovery is in progress"),
			errhint("Merge on the primary; the standby follows."));
	relation = open_named(oid, RowExclusiveLock, &heap);
	if (!ifp_owns_class(oid))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(relation));
	caller = ifp_become_owner(heap);
	ifp_index_open(index, relation);
	(void)ifp_maintenance_begin(index, true);
	/* pages that earlier attempts left; later those that this one frees */
	ifp_compact_reclaim(index);
	ifp_compact_all(index, complete);
	ifp_compact_reclaim(index);
	ifp_sidecar_keep(index);
	n_runs = index->manifest.n_runs;
	ifp_maintenance_end(index);
	ifp_leave_owner(&caller);
	ifp_close_index(relation, heap, RowExclusiveLock);
	PG_RETURN_INT32((int32)n_runs);
}

enum { MOST_ATTEMPTS = 100 };

static TupleDesc result_type(FunctionCallInfo fcinfo)
{
	TupleDesc type;

	if (get_call_result_type(fcinfo, NULL, &type) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return BlessTupleDesc(type);
}

/* ---- iforest_stats(): one row for the index ---- */

struct totals {
	uint64 n_leaf_pages, n_node_pages, n_entries, n_removed, n_pending, n_pending_pages;
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

static void add_chain(struct ifp_index *index, const struct ifp_chain *chain, struct totals *totals)
{
	struct ifp_chain_reader *reader = palloc(sizeof *reader);

	ifp_chain_open(reader, index, chain);
	while (ifp_chain_next(reader)) {
		totals->n_pending += reader->page.n_entries;
		totals->n_pending_pages++;
	}
	pfree(reader);
}

/* Reads the index as of one moment; restarts if a chain was flushed meanwhile. */
static void read_totals(struct ifp_index *index, struct totals *totals)
{
	for (int n = 0;; n++) {
		*totals = (struct totals){ 0 };
		index->met_foreign_page = false;
		ifp_index_refresh(index);
		add_runs(&index->manifest, totals);
		for (unsigned c = 0; c < IFP_CHAINS; c++)
			add_chain(index, &index->meta.open[c], totals);
		for (uint32 c = 0; c < index->meta.n_closed; c++)
			add_chain(index, &index->meta.closed[c], totals);
		if (!index->met_foreign_page)
			break;
		if (n == MOST_ATTEMPTS)
			ifp_require(IFOREST_CORRUPT, index->relation,
				    &(struct iforest_fault){ .what = "a chain of pending pages is broken" });
	}
}

static uint64 free_pages(Relation relation)
{
	uint32 n_extents;
	struct ifp_extent *extents = ifp_extents_read(relation, &n_extents);
	uint64 n = 0;

	for (uint32 i = 0; i < n_extents; i++)
		if (extents[i].owner == IFP_OWNER_NONE || extents[i].freed)
			n += extents[i].n_blocks;
	return n;
}

IFP_SQL_FUNCTION(iforest_stats_index);

Datum iforest_stats_index(PG_FUNCTION_ARGS)
{
	struct ifp_index *index = palloc(sizeof *index);
	TupleDesc type = result_type(fcinfo);
	Relation heap, relation = open_named(PG_GETARG_OID(0), AccessShareLock, &heap);
	bool has_by = IndexRelationGetNumberOfKeyAttributes(relation) > 1;
	struct totals totals;
	BlockNumber n_blocks;
	Datum values[15];
	bool are_null[15] = { false };
	int i = 0;

	require_may_look(relation);
	ifp_index_open(index, relation);
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
		has_by ? ifp_series_dict_refresh(relation, ifp_series_dict_get(relation, index->meta.index_id)) : 1);
	values[i++] = Int64GetDatum((int64)free_pages(relation));
	values[i++] = Int64GetDatum(n_blocks);
	are_null[i] = totals.n_entries + totals.n_pending == 0;
	values[i] = Float8GetDatum(are_null[i] ? 0 : (double)n_blocks * BLCKSZ / (double)(totals.n_entries + totals.n_pending));
	i++;
	values[i++] = Int64GetDatum((int64)index->meta.removal_epoch);
	ifp_close_index(relation, heap, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(type, values, are_null)));
}

/* ---- iforest_runs(): a row for each run ---- */

IFP_SQL_FUNCTION(iforest_runs_index);

Datum iforest_runs_index(PG_FUNCTION_ARGS)
{
	struct ifp_index *index = palloc(sizeof *index);
	ReturnSetInfo *result = (ReturnSetInfo *)fcinfo->resultinfo;
	Relation heap, relation;

	InitMaterializedSRF(fcinfo, 0);
	relation = open_named(PG_GETARG_OID(0), AccessShareLock, &heap);
	require_may_look(relation);
	ifp_index_open(index, relation);
	ifp_index_refresh(index);
	for (uint32 r = 0; r < index->manifest.n_runs; r++) {
		const struct iforest_run *run = &index->manifest.runs[r];
		bool are_null[11] = { false };
		struct iforest_node node;
		Datum values[11];

		iforest_node_read(&node, &index->manifest.fields, run->root);
		values[0] = Int64GetDatum((int64)run->place.run_id);
		values[1] = Int64GetDatum((int64)run->place.generation);
		values[2] = Int64GetDatum(ifp_run_clock(run));
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
	ifp_close_index(relation, heap, AccessShareLock);
	PG_RETURN_VOID();
}

static const char *page_type_name(uint8 type)
{
	static const char *const names[] = { "unknown", "meta", "manifest", "space", "series", "pending", "run", "sketch" };

	return type < lengthof(names) ? names[type] : names[0];
}

/* Returns a copy of a block, whatever it holds. Raises an error if there is no such block. */
static Page copy_block(Relation relation, int64 block)
{
	Page copy = palloc(BLCKSZ);
	Buffer buffer;

	if (!superuser())
		ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("must be superuser to look at pages"));
	if (block < 0 || block >= (int64)RelationGetNumberOfBlocks(relation))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("index \"%s\" has blocks 0 to %u, not %lld", RelationGetRelationName(relation),
			       RelationGetNumberOfBlocks(relation) - 1, (long long)block));
	buffer = ReadBuffer(relation, (BlockNumber)block);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(copy, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	return copy;
}

static bool is_ours(Page page)
{
	return !PageIsNew(page) && PageGetSpecialSize(page) == MAXALIGN(sizeof(struct ifp_special)) &&
	       ifp_page_is(page, (enum ifp_page_type)ifp_special(page)->page_type, ifp_special(page)->owner);
}

/* True if the block has no owner any more, whatever it contains. */
static bool is_free(Relation relation, BlockNumber block)
{
	uint32 n;
	struct ifp_extent *extents = ifp_extents_read(relation, &n);
	bool found = false;

	for (uint32 i = 0; i < n && !found; i++)
		found = (extents[i].owner == IFP_OWNER_NONE || extents[i].freed) && block >= extents[i].start &&
			block - extents[i].start < extents[i].n_blocks;
	return found;
}

IFP_SQL_FUNCTION(iforest_page_info);

Datum iforest_page_info(PG_FUNCTION_ARGS)
{
	Relation heap, relation = open_named(PG_GETARG_OID(0), AccessShareLock, &heap);
	Page page = copy_block(relation, PG_GETARG_INT64(1));
	Datum values[8] = { 0 };
	bool are_null[8] = { false, true, true, true, true, true, true, true };
	TupleDesc type;

	if (get_call_result_type(fcinfo, NULL, &type) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = CStringGetTextDatum(PageIsNew(page) ? "empty" : "unknown");
	if (is_free(relation, (BlockNumber)PG_GETARG_INT64(1))) {
		values[0] = CStringGetTextDatum("free");
	} else if (is_ours(page)) {
		const struct ifp_special *special = ifp_special(page);

		values[0] = CStringGetTextDatum(page_type_name(special->page_type));
		values[1] = Int64GetDatum(special->owner);
		values[7] = Int32GetDatum((int32)ifp_content_used(page));
		are_null[1] = are_null[7] = false;
		if (special->page_type == IFP_PAGE_RUN && ifp_content_used(page) >= IFOREST_PAGE_HEADER) {
			const uint8 *header = ifp_content(page);

			values[2] = Int64GetDatum(iforest_load32(header + 16));
			values[3] = Int32GetDatum(header[22]);
			values[4] = Int32GetDatum(iforest_load16(header + 24));
			values[5] = Int32GetDatum(iforest_load16(header + 26));
			values[6] = Int32GetDatum(iforest_load16(header + 28));
			memset(are_null, 0, sizeof are_null);
		}
	}
	ifp_close_index(relation, heap, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(type), values, are_null)));
}

/* ---- entries ---- */

static void put_entry(ReturnSetInfo *result, unsigned n_values, const struct iforest_entry *entry, bool is_removed)
{
	bool missing[IFOREST_MAX_VALUES], are_null[5] = { false };
	Datum numbers[IFOREST_MAX_VALUES], values[5];
	ItemPointer tid = palloc(sizeof *tid);
	int n = (int)n_values, lower_bound = 1;

	for (unsigned v = 0; v < n_values; v++) {
		missing[v] = !(entry->present >> v & 1);
		numbers[v] = Int64GetDatum(entry->values[v].integer);
	}
	ifp_ref_to_tid(entry->key.ref, tid);
	values[0] = Int64GetDatum((int64)entry->key.series);
	values[1] = Int64GetDatum(entry->key.time);
	are_null[1] = entry->key.time_is_null;
	values[2] = PointerGetDatum(tid);
	values[3] = BoolGetDatum(is_removed);
	values[4] = n == 0 ? PointerGetDatum(construct_empty_array(INT8OID))
			   : PointerGetDatum(construct_md_array(numbers, missing, 1, &n, &lower_bound, INT8OID, 8,
								FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	tuplestore_putvalues(result->setResult, result->setDesc, values, are_null);
}

static void put_block(ReturnSetInfo *result, const struct iforest_node_schema *fields, const struct iforest_block *block)
{
	for (unsigned i = 0; i < block->n; i++) {
		struct iforest_entry entry = { .key = { .series = block->series,
							.time_is_null = block->time_is_null,
							.time = block->times[i],
							.ref = block->refs[i] } };

		for (unsigned v = 0; v < fields->n_values; v++) {
			entry.values[v].integer = block->values[v][i];
			entry.present |= (uint32)(block->present[v] >> i & 1) << v;
		}
		put_entry(result, fields->n_values, &entry, block->dead >> i & 1);
	}
}

static void put_leaf(ReturnSetInfo *result, struct ifp_index *index, Page page)
{
	const struct iforest_node_schema *fields = &index->manifest.fields;
	const uint8 *content = ifp_content(page);
	struct iforest_fault fault = { .run_id = iforest_load64(content + 8), .number = iforest_load32(content + 16) };
	struct iforest_block_reader *reader = palloc(sizeof *reader);
	struct iforest_leaf leaf;

	ifp_require(iforest_leaf_open(&leaf, fields, content, ifp_content_used(page), fault.run_id, (uint32)fault.number, false,
				      &fault.what),
		    index->relation, &fault);
	for (unsigned b = 0; b < leaf.header.n_items; b++) {
		iforest_block_start(reader, &leaf, b);
		for (unsigned column = 0; column < (unsigned)IFOREST_VALUES + fields->n_values; column++)
			ifp_require(iforest_block_need(reader, column), index->relation, &fault);
		put_block(result, fields, &reader->block);
	}
}

static void put_pending(ReturnSetInfo *result, struct ifp_index *index, BlockNumber block, Page page)
{
	struct ifp_pending_page *pending = palloc(sizeof *pending);
	struct iforest_entry entry;
	const char *wrong;

	ifp_pending_page_copy(pending, index->manifest.fields.n_values, page);
	wrong = ifp_pending_page_open(pending, block, false);
	if (wrong)
		ifp_page_wrong(index->relation, block, wrong);
	for (uint32 i = 0; i < pending->n_entries; i++) {
		ifp_pending_page_entry(pending, i, &entry);
		put_entry(result, index->manifest.fields.n_values, &entry, false);
	}
}

IFP_SQL_FUNCTION(iforest_page_entries);

Datum iforest_page_entries(PG_FUNCTION_ARGS)
{
	struct ifp_index *index = palloc(sizeof *index);
	ReturnSetInfo *result = (ReturnSetInfo *)fcinfo->resultinfo;
	Relation heap, relation;
	Page page;

	InitMaterializedSRF(fcinfo, 0);
	relation = open_named(PG_GETARG_OID(0), AccessShareLock, &heap);
	page = copy_block(relation, PG_GETARG_INT64(1));
	ifp_index_open(index, relation);
	ifp_index_refresh(index);
	if (is_ours(page) && ifp_special(page)->page_type == IFP_PAGE_PENDING)
		put_pending(result, index, (BlockNumber)PG_GETARG_INT64(1), page);
	else if (is_ours(page) && ifp_special(page)->page_type == IFP_PAGE_RUN && ifp_content(page)[22] == 0)
		put_leaf(result, index, page);
	else
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("block %lld of index \"%s\" holds no entries", (long long)PG_GETARG_INT64(1),
			       RelationGetRelationName(relation)),
			errhint("iforest_page() tells what it holds: entries are on pages of kind pending, and run with "
				"level 0."));
	ifp_close_index(relation, heap, AccessShareLock);
	PG_RETURN_VOID();
}

/* ---- iforest_check() ----
 *
 * First core's checks of the runs, then those that need PostgreSQL: series, TIDs, extents, and the table itself. */

enum { MOST_CHECK_ATTEMPTS = 20, INT8_LESS = 412 }; /* OID of the operator int8 < int8, for which pg_operator.h has no name */

struct check {
	struct ifp_index *index;
	struct ifp_definition definition;
	int64 highest_ref;
	uint64 highest_series;
	Tuplesortstate *refs;  /* of all live entries */
	bloom_filter *entries; /* of all live entries; NULL unless the table is checked */
};

static void fail(const struct check *check, const char *what)
{
	ifp_require(IFOREST_CORRUPT, check->index->relation, &(struct iforest_fault){ .what = what });
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
			struct iforest_entry entry = { .key = { .series = block->series,
								.time_is_null = block->time_is_null,
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

static void check_chain_entries(struct check *check, const struct ifp_chain *chain)
{
	struct ifp_chain_reader *reader = palloc(sizeof *reader);
	struct iforest_entry entry;

	ifp_chain_open(reader, check->index, chain);
	while (ifp_chain_next(reader))
		for (uint32 i = 0; i < reader->page.n_entries; i++) {
			ifp_pending_page_entry(&reader->page, i, &entry);
			check_entry(check, &entry);
		}
	pfree(reader);
}

/* Checks every page and entry of the index as of one moment. Returns false if something was flushed or merged away meanwhile.
 */
static bool check_entries(struct check *check)
{
	struct ifp_index *index = check->index;
	struct iforest_check_result counts;
	enum iforest_status status;

	index->met_foreign_page = false;
	ifp_index_refresh(index);
	check->highest_ref = 0;
	check->highest_series = 0;
	check->refs = tuplesort_begin_datum(INT8OID, INT8_LESS, InvalidOid, false, maintenance_work_mem, NULL, TUPLESORT_NONE);
	for (unsigned c = 0; c < IFP_CHAINS; c++)
		check_chain_entries(check, &index->meta.open[c]);
	for (uint32 c = 0; c < index->meta.n_closed; c++)
		check_chain_entries(check, &index->meta.closed[c]);
	status = index->met_foreign_page ? IFOREST_CORRUPT : iforest_check(&index->store, &index->manifest, &counts);
	for (uint32 r = 0; r < index->manifest.n_runs && !status; r++)
		status = check_run_entries(check, &index->manifest.runs[r]);
	if (!status) {
		/* after the entries: pending entries may have been added meanwhile, and series with them */
		uint32 n_series = check->definition.n_by == 0
					  ? 1
					  : ifp_series_dict_refresh(index->relation,
								    ifp_series_dict_get(index->relation, index->meta.index_id));

		if (check->highest_ref > 0 && check->highest_series >= n_series)
			fail(check, "an entry is of a series that is not in the dictionary");
		return true;
	}
	tuplesort_end(check->refs);
	if (!index->met_foreign_page && !RecoveryInProgress())
		ifp_index_require(index, status);
	return false;
}

static void check_refs(struct check *check)
{
	int64 previous = 0;
	bool is_null;
	Datum datum;

	tuplesort_performsort(check->refs);
	while (ifp_tuplesort_getdatum(check->refs, &datum, &is_null)) {
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
	struct ifp_extent *extents = ifp_extents_read(relation, &n);
	bool overlap = ifp_extents_overlap(extents, n);

	pfree(extents);
	return overlap;
}

/* The list may change while its pages are read, so extents that overlap once need not be wrong. */
static void check_extents(struct check *check)
{
	int n = 0;

	while (extents_overlap(check->index->relation))
		if (++n == MOST_CHECK_ATTEMPTS)
			fail(check, "two extents overlap");
}

/* ---- the table ---- */

static void check_row(Relation relation, ItemPointer tid, Datum *values, bool *are_null, bool is_alive, void *state)
{
	struct check *check = state;
	struct iforest_series_key key = { .alloc = &ifp_palloc_allocator };
	struct iforest_entry entry;
	struct fingerprint print;
	bool found = true;
	uint32 id = 0;

	(void)is_alive;
	ifp_entry_form(relation, &check->definition, values, are_null, tid, &entry);
	for (unsigned i = 0; i < check->definition.n_by; i++)
		ifp_by_append(relation, &check->definition, i, values[i], are_null[i], &key);
	if (check->definition.n_by > 0)
		found = ifp_series_dict_find(relation, ifp_series_dict_get(relation, check->index->meta.index_id), key.bytes,
					     key.n_bytes, &id);
	iforest_series_key_release(&key);
	entry.key.series = id;
	take_fingerprint(&entry, check->definition.n_values, &print);
	if (!found || bloom_lacks_element(check->entries, (unsigned char *)&print, sizeof print))
		ereport(ERROR, errcode(ERRCODE_INDEX_CORRUPTED),
			errmsg("index \"%s\" is corrupt: the row at (%u,%u) of its table is not in it",
			       RelationGetRelationName(relation), ItemPointerGetBlockNumber(tid),
			       ItemPointerGetOffsetNumber(tid)),
			errhint("Please REINDEX it."));
}

/* Requires  the user is the table's owner: this evaluates expressions and conditions of the index. */
static void check_heap(struct check *check, Relation heap, Snapshot snapshot)
{
	IndexInfo *info = BuildIndexInfo(check->index->relation);
	TableScanDesc scan = table_beginscan_strat(heap, snapshot, 0, NULL, true, true);

	/* as in a concurrent build, which does not wait for rows */
	info->ii_Concurrent = true;
	(void)table_index_build_scan(heap, check->index->relation, info, true, false, check_row, check, scan);
	bloom_free(check->entries);
}

/* Takes a snapshot before the index is read: all rows that it sees must be in the index. */
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

/* Prevents merging of and removal from the runs listed now; runs flushed later may be merged. A run that an interrupted removal
 * left marked is repaired first, as VACUUM does. On a standby, replay cannot be held back; an interrupted read is repeated. */
static void hold_runs(struct ifp_index *index)
{
	for (bool is_marked = true; is_marked;) {
		ifp_lock(index->relation, IFP_LOCK_MAINTENANCE, ShareLock);
		ifp_index_refresh(index);
		is_marked = false;
		for (uint32 r = 0; r < index->manifest.n_runs; r++)
			is_marked = is_marked || index->manifest.runs[r].removal_in_progress;
		if (is_marked) {
			ifp_unlock(index->relation, IFP_LOCK_MAINTENANCE, ShareLock);
			(void)ifp_maintenance_begin(index, true);
			ifp_maintenance_end(index);
		}
	}
	ifp_lock(index->relation, IFP_LOCK_NEWER, ExclusiveLock);
	ifp_set_worklist(index->relation);
	ifp_unlock(index->relation, IFP_LOCK_NEWER, ExclusiveLock);
}

IFP_SQL_FUNCTION(iforest_check_index);

/* Requires  the user is the table's owner. */
static void check_as_owner(Relation heap, Relation relation, bool with_heap)
{
	struct check *check = palloc0(sizeof *check);
	bool is_primary = !RecoveryInProgress();
	Snapshot snapshot = with_heap ? take_snapshot(relation) : InvalidSnapshot;
	int n_attempts = 0;

	check->index = palloc(sizeof *check->index);
	ifp_index_open(check->index, relation);
	check->index->trusts_nothing = true;
	ifp_definition_read(relation, &check->definition);
	if (is_primary)
		hold_runs(check->index);
	do {
		if (check->entries)
			bloom_free(check->entries);
		if (with_heap)
			check->entries =
				bloom_create((int64)Max(heap->rd_rel->reltuples, 1000), maintenance_work_mem, ifp_random());
		if (++n_attempts > MOST_CHECK_ATTEMPTS)
			ereport(ERROR, errcode(ERRCODE_OBJECT_IN_USE),
				errmsg("index \"%s\" changes faster than it can be checked", RelationGetRelationName(relation)),
				errhint("Try again."));
	} while (!check_entries(check));
	if (check->highest_ref > 0 && check->highest_ref >> 16 >= RelationGetNumberOfBlocks(heap))
		fail(check, "an entry leads beyond the end of the table");
	check_refs(check);
	check_extents(check);
	if (is_primary) {
		ifp_sidecar_check(check->index);
		ifp_unlock(relation, IFP_LOCK_MAINTENANCE, ShareLock);
	}
	if (with_heap) {
		check_heap(check, heap, snapshot);
		UnregisterSnapshot(snapshot);
	}
}

Datum iforest_check_index(PG_FUNCTION_ARGS)
{
	Relation heap, relation = open_named(PG_GETARG_OID(0), AccessShareLock, &heap);
	struct ifp_owner_context caller;

	require_may_look(relation);
	caller = ifp_become_owner(heap);
	check_as_owner(heap, relation, PG_GETARG_BOOL(1));
	ifp_leave_owner(&caller);
	ifp_close_index(relation, heap, AccessShareLock);
	PG_RETURN_VOID();
}
