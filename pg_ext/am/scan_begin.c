#include "pg_ext/am/index_scan.h"

#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "pg_ext/storage/pending.h"
#include "pg_ext/am/am_index_scan_own.h"

/* A cursor for each run. */
static void make_sources(struct iforest_index_scan *scan)
{
	MemoryContext before = MemoryContextSwitchTo(scan->run_context);
	uint32 n_runs = scan->index->manifest.n_runs;

	scan->sources = palloc0((n_runs + 1) * sizeof *scan->sources);
	for (uint32 r = 0; r < n_runs; r++) {
		scan->sources[r].cursor = palloc(sizeof *scan->sources[r].cursor);
		iforest_cursor_init(scan->sources[r].cursor, &scan->index->store, &scan->index->manifest,
				    &scan->index->manifest.runs[r]);
	}
	scan->heap = binaryheap_allocate((int)n_runs + 1, iforest_scan_compare_sources, scan);
	MemoryContextSwitchTo(before);
}

static void drop_sources(struct iforest_index_scan *scan)
{
	for (uint32 r = 0; scan->sources && r < scan->index->manifest.n_runs; r++)
		iforest_cursor_release(scan->sources[r].cursor);
	scan->sources = NULL;
	MemoryContextReset(scan->run_context);
}

void iforest_scan_read_index(struct iforest_index_scan *scan)
{
	MemoryContext before = MemoryContextSwitchTo(scan->context);

	drop_sources(scan);
	scan->index->met_foreign_page = false;
	iforest_index_refresh(scan->index);
	make_sources(scan);
	MemoryContextSwitchTo(before);
}

/* Of the chain's entries, those of the series (ids ascending) and ranges that are asked for. */
static void match_chain(struct iforest_index_scan *scan, struct iforest_chain_reader *reader,
			const struct iforest_chain *chain, const uint32 *ids)
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
			if (iforest_scan_keys_hold(&scan->keys, key) &&
			    bsearch(&id, ids, scan->keys.n_series, sizeof id, iforest_compare_series))
				scan->n_matching++;
		}
	}
}

static void sort_matching(struct iforest_index_scan *scan)
{
	struct iforest_arrival *arrivals = iforest_arrivals_sorted(scan->matching, sizeof *scan->matching, scan->n_matching);

	for (uint32 i = 0; i < scan->n_matching; i++)
		scan->matching[i] = arrivals[i].key;
	pfree(arrivals);
}

/* Reads what is pending. Where a chain was sealed and its pages given away since the metapage was read, all is read again. */
static void match_pending(struct iforest_index_scan *scan)
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
		if (n == IFOREST_MOST_RESTARTS)
			iforest_require(IFOREST_CORRUPT, scan->index->relation,
					&(struct iforest_fault){ .what = "a chain of pending pages is broken" });
		iforest_scan_read_index(scan);
	}
	sort_matching(scan);
	pfree(ids);
	pfree(reader);
	MemoryContextSwitchTo(before);
}

void iforest_scan_begin_keys(IndexScanDesc scan_desc, bool in_order)
{
	struct iforest_index_scan *scan = scan_desc->opaque;
	MemoryContext before;

	if (!scan->index) {
		before = MemoryContextSwitchTo(scan->context);
		iforest_definition_read(scan_desc->indexRelation, &scan->definition);
		scan->index = palloc(sizeof *scan->index);
		iforest_index_open(scan->index, scan_desc->indexRelation);
		MemoryContextSwitchTo(before);
		iforest_scan_read_index(scan);
	} else if (!IsMVCCSnapshot(scan_desc->xs_snapshot)) {
		/* of an exclusion constraint, or of a subscriber that looks for a row: it wants what has come since, too */
		iforest_scan_read_index(scan);
	}
	iforest_meta_test_for_old_snapshot(scan_desc->indexRelation, scan_desc->xs_snapshot);
	before = MemoryContextSwitchTo(scan->key_context);
	/* series come after the manifest: so all that its runs have are known */
	iforest_scan_keys_read(scan_desc->indexRelation, &scan->definition, scan->index->meta.index_id, scan_desc->keyData,
			       scan_desc->numberOfKeys, in_order, &scan->keys);
	MemoryContextSwitchTo(before);
	scan->has_keys = true;
}

void iforest_scan_begin(IndexScanDesc scan_desc, bool in_order)
{
	iforest_scan_begin_keys(scan_desc, in_order);
	match_pending(scan_desc->opaque);
}

bool iforest_scan_begin_again(struct iforest_index_scan *scan)
{
	uint64 manifest_id = scan->index->manifest.id;

	scan->is_open = false;
	if (!scan->index->met_foreign_page)
		return false;
	iforest_scan_read_index(scan);
	match_pending(scan);
	return scan->index->manifest.id != manifest_id;
}
