#include "pg_ext/sql/overlaps.h"

#include "access/relscan.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/predicate.h"
#include "utils/memutils.h"

#include "core/base/bits.h"
#include "core/query/overlap_slice.h"
#include "core/run/pager_memory.h"
#include "core/run/writer.h"
#include "pg_ext/storage/locks.h"
#include "pg_ext/base/test_points.h"

/* One attempt. */
struct reading {
	struct iforest_overlaps *overlaps;
	struct iforest_reader *reader;
	struct iforest_time_keys times;
	struct iforest_window window;        /* asked for */
	struct iforest_pager_memory memory;  /* of pending entries */
	struct iforest_store store;
	struct iforest_manifest manifest;
	struct iforest_filter filter;        /* the reader's, and a finite time */
	struct iforest_overlap overlap;
};

/* ---- infinite times ---- */

static bool has_infinities(const struct reading *reading)
{
	return reading->times.lowest < reading->times.lowest_finite;
}

static bool is_infinite(const struct reading *reading, int64 time)
{
	return has_infinities(reading) && (time == reading->times.lowest || time == reading->times.highest);
}

static enum iforest_verdict of_node(void *context, const uint8_t *node)
{
	const struct reading *reading = context;

	return reading->reader->filter.of_node(reading->reader->filter.context, node);
}

/* A span that starts at -infinity reaches nowhere, whatever its duration. */
static enum iforest_status of_entries(void *context, struct iforest_block_reader *block, uint64_t *live)
{
	const struct reading *reading = context;
	enum iforest_status status = reading->reader->filter.of_entries(reading->reader->filter.context, block, live);

	if (status || !has_infinities(reading) || block->block.time_is_null ||
	    iforest_leaf_block(block->leaf, block->number).first.time != reading->times.lowest)
		return status;
	status = iforest_block_need(block, IFOREST_TIMES);
	for (uint64 which = status ? 0 : *live; which; which &= which - 1) {
		unsigned i = iforest_trailing_zeros(which);

		if (block->block.times[i] == reading->times.lowest)
			*live &= ~(UINT64CONST(1) << i);
	}
	return status;
}

/* Notes whether visible spans of the runs start at that infinite time. */
static enum iforest_status look_at_infinity(struct reading *reading, uint32 series, int64 time)
{
	struct iforest_scan *scan = &reading->reader->scan;
	struct iforest_wanted wanted = { .filter = &reading->reader->filter };
	struct iforest_aggregate *found = palloc(sizeof *found);
	enum iforest_status status;

	iforest_aggregate_clear(found, reading->reader->index.manifest.fields.n_values);
	scan->bucketing = (struct iforest_bucketing){ .mode = IFOREST_WHOLE,
						      .window = { .has_t0 = true, .t0 = time, .has_t1 = time < PG_INT64_MAX,
								  .t1 = time < PG_INT64_MAX ? time + 1 : 0 } };
	scan->joined_filter = NULL;
	status = iforest_scan_start(scan, series);
	if (!status)
		status = iforest_scan_through(scan, time, &wanted, found);
	reading->overlaps->has_infinite_time |= found->n_rows > 0;
	pfree(found);
	return status;
}

/* ---- pending entries ---- */

/* A run of its own in memory, which joins those of the index. Those without a time overlap nothing. */
static void add_pending(struct reading *reading, struct iforest_run_builder *builder)
{
	const struct iforest_pending_rows *rows = &reading->reader->pending;

	for (uint32 i = 0; i < rows->n; i++) {
		const struct iforest_key *key = &rows->entries[i].key;

		if (key->time_is_null)
			continue;
		if (is_infinite(reading, key->time))
			reading->overlaps->has_infinite_time |= iforest_window_holds(&reading->window, key->time);
		else
			iforest_index_require(&reading->reader->index, iforest_run_builder_add(builder, &rows->entries[i]));
	}
}

static void join_pending(struct reading *reading)
{
	struct iforest_index *index = &reading->reader->index;
	struct iforest_run_builder *builder = palloc(sizeof *builder);
	struct iforest_run *run = palloc(sizeof *run);

	iforest_pager_memory_init(&reading->memory, &iforest_pg_alloc, IFOREST_PG_PAGE_BYTES, IFOREST_PG_BATCH_PAGES, false);
	reading->memory.lends_pages = true;
	reading->store = (struct iforest_store){ .pager = &reading->memory.pager, .alloc = &iforest_pg_alloc };
	iforest_index_require(index, iforest_manifest_init(&reading->manifest, &iforest_pg_alloc, &index->manifest.fields,
							   IFOREST_PG_PAGE_BYTES));
	iforest_index_require(index, iforest_run_builder_start(builder, &reading->store, &reading->manifest));
	add_pending(reading, builder);
	iforest_index_require(index, iforest_run_builder_finish(builder, run));
	if (run->n_leaves > 0)
		iforest_index_require(index, iforest_manifest_commit(&reading->manifest, &reading->store,
								     &(struct iforest_edit){ .added = run }));
	iforest_index_require(index, iforest_scan_join(&reading->reader->scan, &reading->store, &reading->manifest));
}

/* ---- what is found ---- */

/* Of many buckets and series there is more than may stay in memory. */
static void put_aside(struct iforest_overlaps *overlaps)
{
	if (!overlaps->file)
		overlaps->file = BufFileCreateTemp(false);
	BufFileWrite(overlaps->file, overlaps->rows, overlaps->n_rows * sizeof *overlaps->rows);
	overlaps->n_filed += overlaps->n_rows;
	overlaps->n_rows = 0;
}

static void keep_bucket(struct iforest_overlaps *overlaps, const struct iforest_overlapped *row)
{
	if (overlaps->n_rows == overlaps->n_reserved && overlaps->n_rows * sizeof *row >= work_mem * (Size)1024) {
		put_aside(overlaps);
	} else if (overlaps->n_rows == overlaps->n_reserved) {
		overlaps->n_reserved = Max(256, 2 * overlaps->n_reserved);
		overlaps->rows = overlaps->rows
			? repalloc_huge(overlaps->rows, overlaps->n_reserved * sizeof *overlaps->rows)
			: MemoryContextAllocHuge(overlaps->context, overlaps->n_reserved * sizeof *overlaps->rows);
	}
	overlaps->rows[overlaps->n_rows++] = *row;
}

bool iforest_overlaps_next(struct iforest_overlaps *overlaps, struct iforest_overlapped *row)
{
	uint64 i = overlaps->n_given++;

	if (i >= overlaps->n_filed + overlaps->n_rows)
		return false;
	if (i >= overlaps->n_filed)
		*row = overlaps->rows[i - overlaps->n_filed];
	else if ((i == 0 && BufFileSeek(overlaps->file, 0, 0, SEEK_SET) != 0) ||
		 BufFileRead(overlaps->file, row, sizeof *row) != sizeof *row)
		elog(ERROR, "could not read back what overlaps");
	return true;
}

void iforest_overlaps_release(struct iforest_overlaps *overlaps)
{
	if (overlaps->file)
		BufFileClose(overlaps->file);
	overlaps->file = NULL;
	overlaps->rows = NULL;
	overlaps->n_rows = overlaps->n_reserved = overlaps->n_filed = overlaps->n_given = 0;
}

/* ---- an attempt ---- */

static enum iforest_status read_series(struct reading *reading, uint32 i, struct iforest_aggregate *aggregate)
{
	struct iforest_overlaps *overlaps = reading->overlaps;
	struct iforest_overlap *overlap = &reading->overlap;
	uint32 series = reading->reader->keys.series[i];
	uint64 n_before = overlaps->n_filed + overlaps->n_rows;
	struct iforest_overlapped row = { .series = i };
	enum iforest_status status = IFOREST_OK;
	bool found = true;

	if (has_infinities(reading) && !reading->window.has_t0)
		status = look_at_infinity(reading, series, reading->times.lowest);
	if (!status && has_infinities(reading) && !reading->window.has_t1)
		status = look_at_infinity(reading, series, reading->times.highest);
	if (!status)
		status = iforest_overlap_start(overlap, series);
	while (!status && !(status = iforest_overlap_next(overlap, &row.bucket, aggregate, &found)) && found) {
		const struct iforest_value_aggregate *value = &aggregate->values[overlap->duration];

		CHECK_FOR_INTERRUPTS();
		row.n = aggregate->n_rows;
		row.inside = value->sum;
		row.longest = value->max;
		keep_bucket(overlaps, &row);
	}
	/* what is open after the last bucket goes on beyond the finite times, where the window does */
	if (!status && overlaps->n_filed + overlaps->n_rows > n_before && overlap->open.by_end.n > 0)
		overlaps->rows[overlaps->n_rows - 1].has_no_end = has_infinities(reading) && !reading->window.has_t1;
	return status;
}

static enum iforest_status read_index(struct reading *reading)
{
	struct iforest_overlaps *overlaps = reading->overlaps;
	struct iforest_overlap *overlap = &reading->overlap;
	struct iforest_window *window = &overlap->bucketing.window;
	struct iforest_aggregate *aggregate = palloc(sizeof *aggregate);
	enum iforest_status status = iforest_overlap_init(overlap, &reading->reader->scan);

	overlap->bucketing = overlaps->bucketing;
	if (has_infinities(reading) && !window->has_t0)
		*window = (struct iforest_window){ .has_t0 = true, .t0 = reading->times.lowest_finite, .has_t1 = window->has_t1,
						   .t1 = window->t1 };
	if (has_infinities(reading) && !window->has_t1)
		*window = (struct iforest_window){ .has_t0 = window->has_t0, .t0 = window->t0, .has_t1 = true,
						   .t1 = reading->times.highest_finite + 1 };
	reading->filter = (struct iforest_filter){ .context = reading, .of_node = of_node, .of_entries = of_entries };
	overlap->filter = &reading->filter;
	overlap->wants_inside = overlap->wants_longest = true;
	for (uint32 i = 0; i < reading->reader->keys.n_series && !status; i++) {
		status = read_series(reading, i, aggregate);
		iforest_pause("series read");
		CHECK_FOR_INTERRUPTS();
	}
	if (status == IFOREST_RANGE) {
		overlaps->is_out_of_range = true;
		status = IFOREST_OK;
	}
	return status;
}

/* Ended all spans before the window begins? As those of a partition whose time has passed, where a look at the roots is all. */
static bool is_over(const struct iforest_index *index, const struct iforest_window *window)
{
	const struct iforest_manifest *manifest = &index->manifest;
	bool is_over = window->has_t0 && index->meta.n_closed == 0;

	for (int i = 0; i < IFOREST_CHAINS && is_over; i++)
		is_over = index->meta.open[i].clock == 0;
	for (uint32 i = 0; i < manifest->n_runs && is_over; i++)
		is_over = iforest_node_latest_end(manifest->runs[i].root, &manifest->fields) < window->t0;
	return is_over;
}

static bool read_consistently(struct iforest_overlaps *overlaps)
{
	struct reading *reading = palloc0(sizeof *reading);
	struct iforest_reader *reader = overlaps->reader = palloc0(sizeof *reader);

	*reading = (struct reading){ .overlaps = overlaps, .reader = reader, .window = overlaps->bucketing.window };
	iforest_reader_open(reader, overlaps->index);
	if (is_over(&reader->index, &reading->window)) {
		iforest_meta_test_for_old_snapshot(overlaps->index, overlaps->snapshot);
		return true;
	}
	reading->times = iforest_time_keys(&reader->definition);
	/* series come after the manifest: so all that its runs have are known */
	iforest_scan_keys_read(overlaps->index, &reader->definition, reader->index.meta.index_id, overlaps->conditions,
			       overlaps->n_conditions, false, &reader->keys);
	if (!iforest_reader_read(reader, overlaps->heap, overlaps->snapshot))
		return false;
	join_pending(reading);
	return iforest_reader_finish(reader, read_index(reading));
}

static bool attempt(void *context, bool locked)
{
	struct iforest_overlaps *overlaps = context;
	bool done;

	iforest_overlaps_release(overlaps);
	MemoryContextReset(overlaps->context);
	overlaps->has_infinite_time = overlaps->is_out_of_range = false;
	if (locked)
		iforest_lock(overlaps->index, IFOREST_LOCK_MAINTENANCE, ShareLock);
	done = read_consistently(overlaps);
	if (locked)
		iforest_unlock(overlaps->index, IFOREST_LOCK_MAINTENANCE, ShareLock);
	return done;
}

void iforest_overlaps_read(struct iforest_overlaps *overlaps)
{
	MemoryContext before = MemoryContextSwitchTo(overlaps->context);

	/* as scans of the table and of the index would, before anything is read: see answer.c */
	PredicateLockRelation(overlaps->heap, overlaps->snapshot);
	PredicateLockRelation(overlaps->index, overlaps->snapshot);
	pgstat_count_index_scan(overlaps->index);
	iforest_attempt(attempt, overlaps, &overlaps->n_restarts);
	MemoryContextSwitchTo(before);
}
