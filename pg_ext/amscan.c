/* An index scan goes through the series it is asked for, in the order of their by values, through the ranges of time of
 * each, and through the entries of a range in all runs and what is pending, merged by key. It knows the last key it gave, so
 * that it can turn round, go back to a mark, or begin again where runs have been merged away under it, by opening the range
 * anew at that key. */
#include "pg_ext/am.h"

#include "access/relscan.h"
#include "access/tableam.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "utils/memutils.h"

#include "core/cursor.h"
#include "pg_ext/index.h"
#include "pg_ext/pending.h"
#include "pg_ext/scan_keys.h"

enum { MOST_RESTARTS = 100 };

/* One run, or what is pending, within the range that is open. */
struct source {
	struct iforest_cursor *cursor;          /* NULL: pending */
	const struct iforest_block *block;
	int32 at;                               /* entry of the block, or of the pending ones */
	struct iforest_key key;
};

/* A place between entries: everything up to the last key given, in the direction of the scan, is done. */
struct place {
	bool is_started;                        /* false: before the first entry (after the last one, backward) */
	uint32 series, range;                   /* numbers in the lists of scan_keys; range n_ranges: the NULL times */
	bool has_key;
	struct iforest_key key;                 /* last one given */
};

struct scan {
	MemoryContext context, key_context,
		run_context; /* whole scan; until the next rescan; until the index is read again */
	struct iforest_definition definition;
	struct iforest_index *index; /* as of the beginning of the scan: what came later is invisible to its snapshot */
	struct iforest_scan_keys keys;
	struct iforest_key *matching;           /* pending ones of the series and ranges asked for, sorted */
	uint32 n_matching, n_matching_reserved;
	bool has_keys;                          /* keys and matching are filled in */
	struct place place, mark;
	bool is_open;                           /* a range is open, in this direction: */
	bool backward;
	struct iforest_key lower, upper;        /* of it, upper excluded */
	struct source *sources;                 /* one a run, the last one what is pending */
	IndexFetchTableData *fetch;             /* of an index-only scan, and where it puts rows */
	TupleTableSlot *row;
	binaryheap *heap;                       /* of those that have an entry in the range, the next entry's first */
};

/* ---- what the index held when the scan began ---- */

/* Least key first; greatest first where the scan goes backward. binaryheap gives the greatest by this. */
static int compare_sources(Datum left, Datum right, void *context)
{
	const struct source *a = (const struct source *)DatumGetPointer(left),
			    *b = (const struct source *)DatumGetPointer(right);
	int order = iforest_key_compare(&a->key, &b->key);

	return ((const struct scan *)context)->backward ? order : -order;
}

/* A cursor for each run. */
static void make_sources(struct scan *scan)
{
	MemoryContext before = MemoryContextSwitchTo(scan->run_context);
	uint32 n_runs = scan->index->manifest.n_runs;

	scan->sources = palloc0((n_runs + 1) * sizeof *scan->sources);
	for (uint32 r = 0; r < n_runs; r++) {
		scan->sources[r].cursor = palloc(sizeof *scan->sources[r].cursor);
		iforest_cursor_init(scan->sources[r].cursor, &scan->index->store, &scan->index->manifest,
				    &scan->index->manifest.runs[r]);
	}
	scan->heap = binaryheap_allocate((int)n_runs + 1, compare_sources, scan);
	MemoryContextSwitchTo(before);
}

static void drop_sources(struct scan *scan)
{
	for (uint32 r = 0; scan->sources && r < scan->index->manifest.n_runs; r++)
		iforest_cursor_release(scan->sources[r].cursor);
	scan->sources = NULL;
	MemoryContextReset(scan->run_context);
}

static void read_index(struct scan *scan)
{
	MemoryContext before = MemoryContextSwitchTo(scan->context);

	drop_sources(scan);
	scan->index->met_foreign_page = false;
	iforest_index_refresh(scan->index);
	make_sources(scan);
	MemoryContextSwitchTo(before);
}

static bool in_ranges(const struct iforest_scan_keys *keys, const struct iforest_key *key)
{
	uint32 low = 0, high = keys->n_ranges;

	if (key->time_is_null)
		return keys->has_nulls;
	while (low < high) {
		uint32 middle = low + (high - low) / 2;

		if (keys->ranges[middle].high < key->time)
			low = middle + 1;
		else
			high = middle;
	}
	return low < keys->n_ranges && keys->ranges[low].low <= key->time;
}

static int compare_keys(const void *left, const void *right)
{
	return iforest_key_compare(left, right);
}

/* Of the chain's entries, those of the series (ids ascending) and ranges that are asked for. */
static void match_chain(struct scan *scan, struct iforest_chain_reader *reader, const struct iforest_chain *chain,
			const uint32 *ids)
{
	iforest_chain_open(reader, scan->index, chain);
	while (iforest_chain_next(reader)) {
		if (scan->n_matching + reader->n_entries > scan->n_matching_reserved) {
			scan->n_matching_reserved = 2 * (scan->n_matching + reader->n_entries);
			scan->matching = repalloc_huge(scan->matching, scan->n_matching_reserved * sizeof *scan->matching);
		}
		for (uint32 i = 0; i < reader->n_entries; i++) {
			struct iforest_key *key = &scan->matching[scan->n_matching];
			uint32 id;

			iforest_chain_key(reader, i, key);
			id = (uint32)key->series;
			if (in_ranges(&scan->keys, key) && bsearch(&id, ids, scan->keys.n_series, sizeof id, iforest_compare_series))
				scan->n_matching++;
		}
	}
}

/* Reads what is pending. Where a chain was sealed and its pages given away since the metapage was read, all is read again. */
static void match_pending(struct scan *scan)
{
	MemoryContext before = MemoryContextSwitchTo(scan->key_context);
	uint32 n_series = scan->keys.n_series;
	uint32 *ids = palloc((n_series + 1) * sizeof *ids);
	struct iforest_chain_reader *reader = palloc(sizeof *reader);

	memcpy(ids, scan->keys.series, n_series * sizeof *ids);
	qsort(ids, n_series, sizeof *ids, iforest_compare_series);
	if (scan->matching)
		pfree(scan->matching);
	scan->n_matching_reserved = 1;
	scan->matching = palloc(sizeof *scan->matching);
	for (int n = 0;; n++) {
		scan->n_matching = 0;
		for (unsigned c = 0; c < IFOREST_CHAINS; c++)
			match_chain(scan, reader, &scan->index->meta.open[c], ids);
		for (uint32 c = 0; c < scan->index->meta.n_closed; c++)
			match_chain(scan, reader, &scan->index->meta.closed[c], ids);
		if (!scan->index->met_foreign_page)
			break;
		if (n == MOST_RESTARTS)
			iforest_require(IFOREST_CORRUPT, scan->index->relation,
					&(struct iforest_fault){ .what = "a chain of pending pages is broken" });
		read_index(scan);
	}
	qsort(scan->matching, scan->n_matching, sizeof *scan->matching, compare_keys);
	pfree(ids);
	pfree(reader);
	MemoryContextSwitchTo(before);
}

static void read_keys(IndexScanDesc scan_desc, bool in_order)
{
	struct scan *scan = scan_desc->opaque;
	MemoryContext before;

	if (!scan->index) {
		before = MemoryContextSwitchTo(scan->context);
		iforest_definition_read(scan_desc->indexRelation, &scan->definition);
		scan->index = palloc(sizeof *scan->index);
		iforest_index_open(scan->index, scan_desc->indexRelation);
		MemoryContextSwitchTo(before);
		read_index(scan);
	} else if (!IsMVCCSnapshot(scan_desc->xs_snapshot)) {
		/* of an exclusion constraint, or of a subscriber that looks for a row: it wants what has come since, too */
		read_index(scan);
	}
	before = MemoryContextSwitchTo(scan->key_context);
	/* series come after the manifest: so all that its runs have are known */
	iforest_scan_keys_read(scan_desc->indexRelation, &scan->definition, scan->index->meta.index_id, scan_desc->keyData,
			       scan_desc->numberOfKeys, in_order, &scan->keys);
	MemoryContextSwitchTo(before);
	match_pending(scan);
	scan->has_keys = true;
}

/* ---- sources ---- */

/* Does the block lie after the range, or before it going backward? Wholly dead blocks would lead on and on. */
static bool is_beyond(const struct scan *scan, const struct iforest_block *block)
{
	unsigned at = scan->backward ? block->n - 1 : 0;
	struct iforest_key key = { .series = block->series, .time_is_null = block->time_is_null,
				   .time = block->time_is_null ? 0 : block->times[at], .ref = block->refs[at] };

	return scan->backward ? iforest_key_compare(&key, &scan->lower) < 0 : iforest_key_compare(&key, &scan->upper) >= 0;
}

/* Moves a source on, from entry `at`, to the next live entry in the scan's direction. */
static enum iforest_status find_live(const struct scan *scan, struct source *source, bool *found)
{
	uint32 columns = 1u << IFOREST_TIMES | 1u << IFOREST_REFS;
	enum iforest_status status = IFOREST_OK;
	bool at_start = false;

	*found = false;
	for (;;) {
		const struct iforest_block *block = source->block;

		while (block && source->at >= 0 && source->at < (int32)block->n && block->dead >> source->at & 1)
			source->at += scan->backward ? -1 : 1;
		if (block && source->at >= 0 && source->at < (int32)block->n)
			break;
		if (scan->backward)
			status = iforest_cursor_previous(source->cursor, &at_start);
		else
			status = iforest_cursor_next(source->cursor);
		if (!status && !at_start)
			status = iforest_cursor_block(source->cursor, columns, &source->block);
		if (status || at_start || !source->block || is_beyond(scan, source->block))
			return status;
		source->at = scan->backward ? (int32)source->block->n - 1 : 0;
	}
	source->key = (struct iforest_key){ .series = source->block->series,
					    .time_is_null = source->block->time_is_null,
					    .time = source->block->times[source->at],
					    .ref = source->block->refs[source->at] };
	if (source->block->time_is_null)
		source->key.time = 0;
	*found = scan->backward ? iforest_key_compare(&source->key, &scan->lower) >= 0
				: iforest_key_compare(&source->key, &scan->upper) < 0;
	return IFOREST_OK;
}

/* Can a run hold keys of the range? */
static bool may_hold(const struct iforest_run *run, const struct scan *scan)
{
	struct iforest_key first = iforest_node_first(run->root), last = iforest_node_last(run->root);

	return iforest_node_rows(run->root) > 0 && iforest_key_compare(&first, &scan->upper) < 0 &&
	       iforest_key_compare(&last, &scan->lower) >= 0;
}

static enum iforest_status open_run(struct scan *scan, struct source *source)
{
	enum iforest_status status = iforest_cursor_seek(source->cursor, scan->backward ? &scan->upper : &scan->lower);
	bool found;

	if (!status)
		status = iforest_cursor_block(source->cursor, 1u << IFOREST_TIMES | 1u << IFOREST_REFS, &source->block);
	source->at = (int32)source->cursor->entry - (scan->backward ? 1 : 0);
	if (!status)
		status = find_live(scan, source, &found);
	if (!status && found)
		binaryheap_add_unordered(scan->heap, PointerGetDatum(source));
	return status;
}

/* The first matching pending entry that is not before the key. */
static uint32 find_pending(const struct scan *scan, const struct iforest_key *key)
{
	uint32 low = 0, high = scan->n_matching;

	while (low < high) {
		uint32 middle = low + (high - low) / 2;

		if (iforest_key_compare(&scan->matching[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool take_pending(const struct scan *scan, struct source *source)
{
	if (source->at < 0 || source->at >= (int32)scan->n_matching)
		return false;
	source->key = scan->matching[source->at];
	return iforest_key_compare(&source->key, &scan->lower) >= 0 && iforest_key_compare(&source->key, &scan->upper) < 0;
}

static void open_pending(struct scan *scan)
{
	struct source *source = &scan->sources[scan->index->manifest.n_runs];

	source->at = scan->backward ? (int32)find_pending(scan, &scan->upper) - 1 : (int32)find_pending(scan, &scan->lower);
	if (take_pending(scan, source))
		binaryheap_add_unordered(scan->heap, PointerGetDatum(source));
}

/* The entry after this one of its source. */
static enum iforest_status advance(struct scan *scan, struct source *source, bool *found)
{
	source->at += scan->backward ? -1 : 1;
	if (source->cursor)
		return find_live(scan, source, found);
	*found = take_pending(scan, source);
	return IFOREST_OK;
}

/* ---- ranges ---- */

static struct iforest_key key_after(int64 series, int64 time)
{
	return time == PG_INT64_MAX ? iforest_key_nulls((uint64_t)series) : iforest_key_at((uint64_t)series, time + 1);
}

/* The bounds of the range at the place, less what has been given of it. */
static void set_bounds(struct scan *scan)
{
	const struct place *place = &scan->place;
	uint32 series = scan->keys.series[place->series];

	if (place->range == scan->keys.n_ranges) {
		scan->lower = iforest_key_nulls(series);
		scan->upper = iforest_key_at((uint64_t)series + 1, PG_INT64_MIN);
	} else {
		scan->lower = iforest_key_at(series, scan->keys.ranges[place->range].low);
		scan->upper = key_after(series, scan->keys.ranges[place->range].high);
	}
	if (place->has_key && scan->backward)
		scan->upper = place->key;
	if (place->has_key && !scan->backward) {
		scan->lower = place->key;
		scan->lower.ref++;
	}
}

static enum iforest_status open_range(struct scan *scan)
{
	const struct iforest_manifest *manifest = &scan->index->manifest;
	enum iforest_status status = IFOREST_OK;

	binaryheap_reset(scan->heap);
	set_bounds(scan);
	open_pending(scan);
	for (uint32 r = 0; r < manifest->n_runs && !status; r++)
		if (may_hold(&manifest->runs[r], scan))
			status = open_run(scan, &scan->sources[r]);
	if (!status)
		binaryheap_build(scan->heap);
	scan->is_open = !status;
	return status;
}

/* Moves the place to the range after (or before) the one it is in. False after the last. */
static bool next_range(struct scan *scan)
{
	struct place *place = &scan->place;
	uint32 n_ranges = scan->keys.n_ranges + (scan->keys.has_nulls ? 1 : 0);

	if (n_ranges == 0 || scan->keys.n_series == 0)
		return false;
	if (!place->is_started) {
		*place = (struct place){ .is_started = true, .series = scan->backward ? scan->keys.n_series - 1 : 0,
					 .range = scan->backward ? n_ranges - 1 : 0 };
		return true;
	}
	place->has_key = false;
	if (!scan->backward && ++place->range == n_ranges) {
		place->range = 0;
		return ++place->series < scan->keys.n_series;
	}
	if (scan->backward && place->range-- == 0) {
		place->range = n_ranges - 1;
		return place->series-- > 0;
	}
	return true;
}

/* ---- steps ---- */

/* The next entry of the open range. */
static enum iforest_status next_in_range(struct scan *scan, bool *found)
{
	struct source *source;
	enum iforest_status status;
	bool has_more;

	*found = false;
	if (binaryheap_empty(scan->heap))
		return IFOREST_OK;
	source = (struct source *)DatumGetPointer(binaryheap_first(scan->heap));
	scan->place.key = source->key;
	scan->place.has_key = true;
	*found = true;
	status = advance(scan, source, &has_more);
	if (status)
		return status;
	if (has_more)
		binaryheap_replace_first(scan->heap, PointerGetDatum(source));
	else
		(void)binaryheap_remove_first(scan->heap);
	return IFOREST_OK;
}

/* Where a run was merged away under the scan, its entries are in another one by now, or were of dead rows. False: it was
 * not, the page is wrong. */
static bool begin_again(struct scan *scan)
{
	uint64 manifest_id = scan->index->manifest.id;

	scan->is_open = false;
	if (!scan->index->met_foreign_page)
		return false;
	read_index(scan);
	match_pending(scan);
	return scan->index->manifest.id != manifest_id;
}

static bool next_entry(struct scan *scan, bool backward)
{
	bool found = false;

	if (backward != scan->backward)
		scan->is_open = false;
	scan->backward = backward;
	for (int n_restarts = 0; !found;) {
		enum iforest_status status = IFOREST_OK;

		if (!scan->is_open && scan->place.is_started)
			status = open_range(scan);
		if (!status && scan->is_open)
			status = next_in_range(scan, &found);
		if (status) {
			if (n_restarts++ == MOST_RESTARTS || !begin_again(scan))
				iforest_index_require(scan->index, status);
		} else if (!found) {
			scan->is_open = false;
			if (!next_range(scan)) {
				scan->place.is_started = false;
				break;
			}
		}
	}
	return found;
}

/* ---- what PostgreSQL calls ---- */

IndexScanDesc iforest_begin_scan(Relation index, int n_keys, int n_order_bys)
{
	IndexScanDesc scan_desc = RelationGetIndexScan(index, n_keys, n_order_bys);
	struct scan *scan = palloc0(sizeof *scan);

	scan->context = AllocSetContextCreate(CurrentMemoryContext, "iforest scan", ALLOCSET_DEFAULT_SIZES);
	scan->key_context = AllocSetContextCreate(scan->context, "iforest scan keys", ALLOCSET_DEFAULT_SIZES);
	scan->run_context = AllocSetContextCreate(scan->context, "iforest scan runs", ALLOCSET_DEFAULT_SIZES);
	scan_desc->opaque = scan;
	return scan_desc;
}

void iforest_rescan(IndexScanDesc scan_desc, ScanKey keys, int n_keys, ScanKey order_bys, int n_order_bys)
{
	struct scan *scan = scan_desc->opaque;

	(void)n_keys;
	(void)order_bys;
	(void)n_order_bys;
	if (keys && scan_desc->numberOfKeys > 0)
		memmove(scan_desc->keyData, keys, (size_t)scan_desc->numberOfKeys * sizeof *keys);
	MemoryContextReset(scan->key_context);
	scan->matching = NULL;
	scan->has_keys = scan->is_open = false;
	scan->place = scan->mark = (struct place){ .is_started = false };
}

/* The planner takes any index for an index-only scan that needs no column, as of count(*). The executor would then trust the
 * visibility map after the entry was read, and a VACUUM in between may have removed the entry and set the bit. So the row is
 * looked at here: what this snapshot sees stays. The tuple that is asked for has no column that anyone reads. */
static bool is_visible(IndexScanDesc scan_desc)
{
	struct scan *scan = scan_desc->opaque;
	bool again = false, found;

	if (!scan->fetch) {
		MemoryContext before = MemoryContextSwitchTo(scan->context);
		Datum values[INDEX_MAX_KEYS] = { 0 };
		bool are_null[INDEX_MAX_KEYS];

		memset(are_null, true, sizeof are_null);
		scan->fetch = table_index_fetch_begin(scan_desc->heapRelation);
		scan->row = table_slot_create(scan_desc->heapRelation, NULL);
		scan_desc->xs_itupdesc = RelationGetDescr(scan_desc->indexRelation);
		scan_desc->xs_itup = index_form_tuple(scan_desc->xs_itupdesc, values, are_null);
		MemoryContextSwitchTo(before);
	}
	found = table_index_fetch_tuple(scan->fetch, &scan_desc->xs_heaptid, scan_desc->xs_snapshot, scan->row, &again,
					NULL);
	ExecClearTuple(scan->row);
	return found;
}

bool iforest_get_tuple(IndexScanDesc scan_desc, ScanDirection direction)
{
	struct scan *scan = scan_desc->opaque;

	if (!scan->has_keys) {
		pgstat_count_index_scan(scan_desc->indexRelation);
		read_keys(scan_desc, true);
	}
	/* to a snapshot that sees rows newer than itself an entry may lead to another row by now */
	scan_desc->xs_recheck = scan->keys.must_recheck || !IsMVCCSnapshot(scan_desc->xs_snapshot);
	while (next_entry(scan, ScanDirectionIsBackward(direction))) {
		ItemPointerData tid;

		iforest_ref_to_tid(scan->place.key.ref, &tid);
		scan_desc->xs_heaptid = tid;
		if (!scan_desc->xs_want_itup || is_visible(scan_desc)) {
			scan_desc->xs_heaptid = tid;
			return true;
		}
	}
	return false;
}

int64 iforest_get_bitmap(IndexScanDesc scan_desc, TIDBitmap *bitmap)
{
	struct scan *scan = scan_desc->opaque;
	ItemPointerData tids[256];
	int n = 0;
	int64 n_all = 0;

	pgstat_count_index_scan(scan_desc->indexRelation);
	read_keys(scan_desc, false);
	while (next_entry(scan, false)) {
		iforest_ref_to_tid(scan->place.key.ref, &tids[n++]);
		n_all++;
		if (n == lengthof(tids)) {
			tbm_add_tuples(bitmap, tids, n, scan->keys.must_recheck);
			n = 0;
		}
	}
	tbm_add_tuples(bitmap, tids, n, scan->keys.must_recheck);
	return n_all;
}

void iforest_end_scan(IndexScanDesc scan_desc)
{
	struct scan *scan = scan_desc->opaque;

	if (scan->fetch) {
		table_index_fetch_end(scan->fetch);
		ExecDropSingleTupleTableSlot(scan->row);
		scan_desc->xs_itup = NULL;
	}
	MemoryContextDelete(scan->context);
	pfree(scan);
}

void iforest_mark_position(IndexScanDesc scan_desc)
{
	struct scan *scan = scan_desc->opaque;

	scan->mark = scan->place;
}

void iforest_restore_position(IndexScanDesc scan_desc)
{
	struct scan *scan = scan_desc->opaque;

	scan->place = scan->mark;
	scan->is_open = false;
}
