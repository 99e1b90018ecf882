#include "pg_ext/sql/index_info.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "core/base/bits.h"
#include "core/page/node_slice.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/storage/pending.h"
#include "pg_ext/types/values.h"
#include "pg_ext/sql/sql_index_info_own.h"

static const char *kind_name(uint8 kind)
{
	static const char *const names[] = { "unknown", "meta", "manifest", "space", "series", "pending", "run", "sketch" };

	return kind < lengthof(names) ? names[kind] : names[0];
}

/* A copy of a block that was asked for by number, whatever it holds. */
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
	return !PageIsNew(page) && PageGetSpecialSize(page) == MAXALIGN(sizeof(struct iforest_special)) &&
	       iforest_page_is(page, (enum iforest_page_kind)iforest_special(page)->kind, iforest_special(page)->owner);
}

/* Does the block belong to nobody any more, whatever still stands on it? */
static bool is_free(Relation relation, BlockNumber block)
{
	uint32 n;
	struct iforest_extent *extents = iforest_space_read(relation, &n);
	bool found = false;

	for (uint32 i = 0; i < n && !found; i++)
		found = (extents[i].owner == IFOREST_OWNER_NONE || extents[i].freed) && block >= extents[i].start &&
			block - extents[i].start < extents[i].n_blocks;
	return found;
}

IFOREST_SQL_FUNCTION(iforest_page_info);

Datum iforest_page_info(PG_FUNCTION_ARGS)
{
	Relation heap, relation = iforest_open_named(PG_GETARG_OID(0), AccessShareLock, &heap);
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
		const struct iforest_special *special = iforest_special(page);

		values[0] = CStringGetTextDatum(kind_name(special->kind));
		values[1] = Int64GetDatum(special->owner);
		values[7] = Int32GetDatum((int32)iforest_content_used(page));
		are_null[1] = are_null[7] = false;
		if (special->kind == IFOREST_KIND_RUN && iforest_content_used(page) >= IFOREST_PAGE_HEADER) {
			const uint8 *header = iforest_content(page);

			values[2] = Int64GetDatum(iforest_load32(header + 16));
			values[3] = Int32GetDatum(header[22]);
			values[4] = Int32GetDatum(iforest_load16(header + 24));
			values[5] = Int32GetDatum(iforest_load16(header + 26));
			values[6] = Int32GetDatum(iforest_load16(header + 28));
			memset(are_null, 0, sizeof are_null);
		}
	}
	iforest_close_named(relation, heap, AccessShareLock);
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
	iforest_ref_to_tid(entry->key.ref, tid);
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

static void put_block(ReturnSetInfo *result, const struct iforest_fields *fields, const struct iforest_block *block)
{
	for (unsigned i = 0; i < block->n; i++) {
		struct iforest_entry entry = { .key = { .series = block->series, .time_is_null = block->time_is_null,
							.time = block->times[i], .ref = block->refs[i] } };

		for (unsigned v = 0; v < fields->n_values; v++) {
			entry.values[v].integer = block->values[v][i];
			entry.present |= (uint32)(block->present[v] >> i & 1) << v;
		}
		put_entry(result, fields->n_values, &entry, block->dead >> i & 1);
	}
}

static void put_leaf(ReturnSetInfo *result, struct iforest_index *index, Page page)
{
	const struct iforest_fields *fields = &index->manifest.fields;
	const uint8 *content = iforest_content(page);
	struct iforest_fault fault = { .run_id = iforest_load64(content + 8), .number = iforest_load32(content + 16) };
	struct iforest_block_reader *reader = palloc(sizeof *reader);
	struct iforest_leaf leaf;

	iforest_require(iforest_leaf_open(&leaf, fields, content, iforest_content_used(page), fault.run_id,
					  (uint32)fault.number, false, &fault.what),
			index->relation, &fault);
	for (unsigned b = 0; b < leaf.header.n_items; b++) {
		iforest_block_start(reader, &leaf, b);
		for (unsigned column = 0; column < (unsigned)IFOREST_VALUES + fields->n_values; column++)
			iforest_require(iforest_block_need(reader, column), index->relation, &fault);
		put_block(result, fields, &reader->block);
	}
}

static void put_pending(ReturnSetInfo *result, struct iforest_index *index, Page page)
{
	struct iforest_chain_reader *reader = palloc0(sizeof *reader);
	struct iforest_entry entry;

	reader->index = index;
	memcpy(reader->content, iforest_content(page), iforest_content_used(page));
	reader->n_entries = iforest_content_used(page) / iforest_pending_entry_bytes(index->manifest.fields.n_values);
	for (uint32 i = 0; i < reader->n_entries; i++) {
		iforest_chain_entry(reader, i, &entry);
		put_entry(result, index->manifest.fields.n_values, &entry, false);
	}
}

IFOREST_SQL_FUNCTION(iforest_page_entries);

Datum iforest_page_entries(PG_FUNCTION_ARGS)
{
	struct iforest_index *index = palloc(sizeof *index);
	ReturnSetInfo *result = (ReturnSetInfo *)fcinfo->resultinfo;
	Relation heap, relation;
	Page page;

	InitMaterializedSRF(fcinfo, 0);
	relation = iforest_open_named(PG_GETARG_OID(0), AccessShareLock, &heap);
	page = copy_block(relation, PG_GETARG_INT64(1));
	iforest_index_open(index, relation);
	iforest_index_refresh(index);
	if (is_ours(page) && iforest_special(page)->kind == IFOREST_KIND_PENDING)
		put_pending(result, index, page);
	else if (is_ours(page) && iforest_special(page)->kind == IFOREST_KIND_RUN && iforest_content(page)[22] == 0)
		put_leaf(result, index, page);
	else
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("block %lld of index \"%s\" holds no entries", (long long)PG_GETARG_INT64(1),
			       RelationGetRelationName(relation)),
			errhint("iforest_page() tells what it holds: entries are on pages of kind pending, and run with "
				"level 0."));
	iforest_close_named(relation, heap, AccessShareLock);
	PG_RETURN_VOID();
}
