#include "pg_ext/am/index_scan.h"
#include "pg_ext/am/am_index_scan_own.h"

/* ---- sources ---- */

int iforest_scan_compare_sources(Datum left, Datum right, void *context)
{
	const struct iforest_source *a = (const struct iforest_source *)DatumGetPointer(left),
			    *b = (const struct iforest_source *)DatumGetPointer(right);
	int order = iforest_key_compare(&a->key, &b->key);

	return ((const struct iforest_index_scan *)context)->backward ? order : -order;
}

/* Does the block lie after the range, or before it going backward? Wholly dead blocks would lead on and on. */
static bool is_beyond(const struct iforest_index_scan *scan, const struct iforest_block *block)
{
	unsigned at = scan->backward ? block->n - 1 : 0;
	struct iforest_key key = { .series = block->series, .time_is_null = block->time_is_null,
				   .time = block->time_is_null ? 0 : block->times[at], .ref = block->refs[at] };

	return scan->backward ? iforest_key_compare(&key, &scan->lower) < 0 : iforest_key_compare(&key, &scan->upper) >= 0;
}

/* Moves a source on, from entry `at`, to the next live entry in the scan's direction. */
static enum iforest_status find_live(const struct iforest_index_scan *scan, struct iforest_source *source, bool *found)
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
static bool may_hold(const struct iforest_run *run, const struct iforest_index_scan *scan)
{
	struct iforest_key first = iforest_node_first(run->root), last = iforest_node_last(run->root);

	return iforest_node_rows(run->root) > 0 && iforest_key_compare(&first, &scan->upper) < 0 &&
	       iforest_key_compare(&last, &scan->lower) >= 0;
}

static enum iforest_status open_run(struct iforest_index_scan *scan, struct iforest_source *source)
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
static uint32 find_pending(const struct iforest_index_scan *scan, const struct iforest_key *key)
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

static bool take_pending(const struct iforest_index_scan *scan, struct iforest_source *source)
{
	if (source->at < 0 || source->at >= (int32)scan->n_matching)
		return false;
	source->key = scan->matching[source->at];
	return iforest_key_compare(&source->key, &scan->lower) >= 0 && iforest_key_compare(&source->key, &scan->upper) < 0;
}

static void open_pending(struct iforest_index_scan *scan)
{
	struct iforest_source *source = &scan->sources[scan->index->manifest.n_runs];

	source->at = scan->backward ? (int32)find_pending(scan, &scan->upper) - 1 : (int32)find_pending(scan, &scan->lower);
	if (take_pending(scan, source))
		binaryheap_add_unordered(scan->heap, PointerGetDatum(source));
}

/* The entry after this one of its source. */
static enum iforest_status advance(struct iforest_index_scan *scan, struct iforest_source *source, bool *found)
{
	source->at += scan->backward ? -1 : 1;
	if (source->cursor)
		return find_live(scan, source, found);
	*found = take_pending(scan, source);
	return IFOREST_OK;
}

/* ---- the range ---- */

static struct iforest_key key_after(int64 series, int64 time)
{
	return time == PG_INT64_MAX ? iforest_key_nulls((uint64_t)series) : iforest_key_at((uint64_t)series, time + 1);
}

/* The bounds of the range at the place, less what has been given of it. */
static void set_bounds(struct iforest_index_scan *scan)
{
	const struct iforest_place_in_scan *place = &scan->place;
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

enum iforest_status iforest_scan_open_range(struct iforest_index_scan *scan)
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

enum iforest_status iforest_scan_next_in_range(struct iforest_index_scan *scan, bool *found)
{
	struct iforest_source *source;
	enum iforest_status status;
	bool has_more;

	*found = false;
	if (binaryheap_empty(scan->heap))
		return IFOREST_OK;
	source = (struct iforest_source *)DatumGetPointer(binaryheap_first(scan->heap));
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
