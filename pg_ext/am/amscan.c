#include "pg_ext/base/engine.h"

#include "access/amapi.h"

#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "pg_ext/am/index_scan.h"
#include "pg_ext/am/am_index_scan_own.h"

/* Moves the place to the range after (or before) the one it is in. False after the last. */
static bool next_range(struct iforest_index_scan *scan)
{
	struct iforest_place_in_scan *place = &scan->place;
	uint32 n_ranges = scan->keys.n_ranges + (scan->keys.has_nulls ? 1 : 0);

	if (n_ranges == 0 || scan->keys.n_series == 0)
		return false;
	if (!place->is_started) {
		*place = (struct iforest_place_in_scan){ .is_started = true,
							 .series = scan->backward ? scan->keys.n_series - 1 : 0,
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

/* The next entry of all, in this direction; its key is that of the place. */
static bool next_entry(struct iforest_index_scan *scan, bool backward)
{
	bool found = false;

	if (backward != scan->backward)
		scan->is_open = false;
	scan->backward = backward;
	for (int n_restarts = 0; !found;) {
		enum iforest_status status = IFOREST_OK;

		if (!scan->is_open && scan->place.is_started)
			status = iforest_scan_open_range(scan);
		if (!status && scan->is_open)
			status = iforest_scan_next_in_range(scan, &found);
		if (status) {
			if (n_restarts++ == IFOREST_MOST_RESTARTS || !iforest_scan_begin_again(scan))
				iforest_index_require(scan->index, status);
		} else if (!found) {
			/* of many series and ranges, in none of which there is a page to be read */
			CHECK_FOR_INTERRUPTS();
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
	struct iforest_index_scan *scan = palloc0(sizeof *scan);

	scan->context = AllocSetContextCreate(CurrentMemoryContext, "iforest scan", ALLOCSET_DEFAULT_SIZES);
	scan->key_context = AllocSetContextCreate(scan->context, "iforest scan keys", ALLOCSET_DEFAULT_SIZES);
	scan->run_context = AllocSetContextCreate(scan->context, "iforest scan runs", ALLOCSET_DEFAULT_SIZES);
	scan_desc->opaque = scan;
	return scan_desc;
}

void iforest_rescan(IndexScanDesc scan_desc, ScanKey keys, int n_keys, ScanKey order_bys, int n_order_bys)
{
	struct iforest_index_scan *scan = scan_desc->opaque;

	(void)n_keys;
	(void)order_bys;
	(void)n_order_bys;
	if (keys && scan_desc->numberOfKeys > 0)
		memmove(scan_desc->keyData, keys, (size_t)scan_desc->numberOfKeys * sizeof *keys);
	iforest_top_rescan(scan);
	MemoryContextReset(scan->key_context);
	scan->matching = NULL;
	scan->has_keys = scan->is_open = false;
	scan->place = scan->mark = (struct iforest_place_in_scan){ .is_started = false };
}

/* The planner takes any index for an index-only scan that needs no column, as of count(*). The executor would then trust the
 * visibility map after the entry was read, and a VACUUM in between may have removed the entry and set the bit. So the row is
 * looked at here: what this snapshot sees stays. The tuple that is asked for has no column that anyone reads. */
static bool is_visible(IndexScanDesc scan_desc)
{
	struct iforest_index_scan *scan = scan_desc->opaque;
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

/* In the order of a value, or of time. */
static bool next_of_scan(IndexScanDesc scan_desc, ScanDirection direction, struct iforest_key *key)
{
	struct iforest_index_scan *scan = scan_desc->opaque;

	if (scan->order.is_set)
		return iforest_top_next(scan_desc, key);
	if (!scan->has_keys) {
		pgstat_count_index_scan(scan_desc->indexRelation);
		iforest_scan_begin(scan_desc, true);
	}
	if (!next_entry(scan, ScanDirectionIsBackward(direction)))
		return false;
	*key = scan->place.key;
	return true;
}

bool iforest_get_tuple(IndexScanDesc scan_desc, ScanDirection direction)
{
	struct iforest_index_scan *scan = scan_desc->opaque;
	struct iforest_key key;

	while (next_of_scan(scan_desc, direction, &key)) {
		ItemPointerData tid;

		/* to a snapshot that sees rows newer than itself an entry may lead to another row by now */
		scan_desc->xs_recheck = scan->keys.must_recheck || !IsMVCCSnapshot(scan_desc->xs_snapshot);
		iforest_ref_to_tid(key.ref, &tid);
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
	struct iforest_index_scan *scan = scan_desc->opaque;
	ItemPointerData tids[256];
	int n = 0;
	int64 n_all = 0;

	pgstat_count_index_scan(scan_desc->indexRelation);
	iforest_scan_begin(scan_desc, false);
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
	struct iforest_index_scan *scan = scan_desc->opaque;

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
	struct iforest_index_scan *scan = scan_desc->opaque;

	scan->mark = scan->place;
}

void iforest_restore_position(IndexScanDesc scan_desc)
{
	struct iforest_index_scan *scan = scan_desc->opaque;

	scan->place = scan->mark;
	scan->is_open = false;
}
