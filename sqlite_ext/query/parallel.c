#include "sqlite_ext/query/parallel.h"

#include <stdlib.h>

#include "core/base/platform.h"

enum { MOST_THREADS = 64, MOST_PARTS = 4096 };

/* A thread's view of the index: its pagers change nothing and fetch nothing. */
struct ifs_parallel_worker {
	struct ifs_index *index;
	struct ifs_snapshot *snapshot;
	struct iforest_pager pager, delta_pager;
	struct iforest_store store, delta_store;
	struct iforest_scan scan;
	struct iforest_overlap overlap; /* over the scan, for iforest_overlap */
	bool is_checked;		/* true, for pages in memory */
	char *items;			/* room for most_items */
	uint32_t n_items;
	bool is_full; /* no further series is begun */
};

/* ---- pages in memory ---- */

static enum iforest_status cached_get(void *context, const struct iforest_place *place, uint64_t page_index,
				      struct iforest_page *page)
{
	struct ifs_parallel_worker *worker = context;

	if (!ifs_page_cache_peek(&worker->index->cache, place, page_index, page))
		return IFOREST_IO;
	if (!*page->is_checked)
		page->maxima = NULL;
	page->is_checked = *page->is_checked ? &worker->is_checked : NULL;
	return IFOREST_OK;
}

static void cached_prefetch(void *context, const struct iforest_place *place, uint64_t page_index, bool of_maxima)
{
	struct ifs_parallel_worker *worker = context;

	ifs_page_cache_prefetch(&worker->index->cache, place, page_index, of_maxima);
}

static const uint8_t *cached_peek(void *context, const struct iforest_place *place, uint64_t page_index, uint32_t *n_bytes)
{
	struct ifs_parallel_worker *worker = context;

	return ifs_page_cache_peek_bytes(&worker->index->cache, place, page_index, n_bytes);
}

static enum iforest_status delta_get(void *context, const struct iforest_place *place, uint64_t page_index,
				     struct iforest_page *page)
{
	struct ifs_parallel_worker *worker = context;
	uint32_t *n_bytes;
	const uint8_t *bytes =
		iforest_pager_memory_bytes(&worker->snapshot->delta.memtable.memory, place->location, page_index, &n_bytes);

	if (!bytes)
		return IFOREST_IO;
	*page = (struct iforest_page){ .bytes = bytes, .n_bytes = *n_bytes, .is_checked = &worker->is_checked };
	return IFOREST_OK;
}

static void unpin(void *context, struct iforest_page *page)
{
	(void)context;
	(void)page;
}

/* ---- memory for any thread ---- */

static void *any_reallocate(void *context, void *memory, size_t n_bytes)
{
	(void)context;
	return realloc(memory, n_bytes);
}

static void any_release(void *context, void *memory)
{
	(void)context;
	free(memory);
}

static const struct iforest_alloc any_alloc = { .reallocate = any_reallocate, .release = any_release };

/* ---- scan or overlap ---- */

static enum iforest_status start(struct iforest_scan *scan, struct iforest_overlap *overlap, uint64_t series)
{
	return overlap ? iforest_overlap_start(overlap, series) : iforest_scan_start(scan, series);
}

static enum iforest_status next(struct iforest_scan *scan, struct iforest_overlap *overlap, int64_t *bucket,
				struct iforest_aggregate *aggregate, bool *found)
{
	return overlap ? iforest_overlap_next(overlap, bucket, aggregate, found)
		       : iforest_scan_next(scan, bucket, aggregate, found);
}

/* ---- opening ---- */

static size_t item_bytes(const struct ifs_parallel *parallel)
{
	const struct iforest_node_schema *fields = &parallel->snapshot->manifest.fields;

	return sizeof(int64_t) + iforest_aggregate_bytes(fields->n_values, &fields->accumulators);
}

static bool open_worker(struct ifs_parallel *parallel, struct ifs_parallel_worker *worker)
{
	struct ifs_snapshot *snapshot = parallel->snapshot;

	*worker = (struct ifs_parallel_worker){ .index = parallel->index, .snapshot = snapshot, .is_checked = true };
	worker->items = parallel->items + (size_t)parallel->n_opened * parallel->most_items * item_bytes(parallel);
	worker->pager = (struct iforest_pager){ .context = worker,
						.page_bytes = parallel->index->pager.page_bytes,
						.get = cached_get,
						.release = unpin,
						.prefetch = cached_prefetch,
						.peek = cached_peek };
	worker->delta_pager = worker->pager;
	worker->delta_pager.get = delta_get;
	worker->delta_pager.prefetch = NULL;
	worker->delta_pager.peek = NULL;
	worker->store = (struct iforest_store){ .pager = &worker->pager, .alloc = &any_alloc };
	worker->delta_store = (struct iforest_store){ .pager = &worker->delta_pager, .alloc = &any_alloc };
	if (iforest_scan_init(&worker->scan, &worker->store, &snapshot->manifest))
		return false;
	worker->scan.bucketing = parallel->scan->bucketing;
	worker->scan.request = parallel->scan->request;
	worker->scan.joined_filter = parallel->scan->joined_filter;
	parallel->n_opened++;
	iforest_overlap_init(&worker->overlap, &worker->scan);
	if (parallel->overlap) {
		worker->overlap.bucketing = parallel->overlap->bucketing;
		worker->overlap.filter = parallel->overlap->filter;
		worker->overlap.real_duration = parallel->overlap->real_duration;
		worker->overlap.wants_inside = parallel->overlap->wants_inside;
		worker->overlap.wants_longest = parallel->overlap->wants_longest;
		worker->overlap.longest_alone = parallel->overlap->longest_alone;
	}
	return !iforest_scan_join(&worker->scan, &worker->delta_store, &snapshot->delta.memtable.manifest);
}

/* Returns how many buckets of a step begin after a window's first; UINT64_MAX where that is not known. */
static uint64_t most_steps(const struct iforest_bucketing *bucketing)
{
	const struct iforest_window *window = &bucketing->window;
	int64_t first, last;

	if (!window->has_t0 || !window->has_t1)
		return UINT64_MAX;
	if (bucketing->edges != IFOREST_EDGES_OF_REALS)
		return ((uint64_t)window->t1 - (uint64_t)window->t0) / (uint64_t)bucketing->step;
	if (iforest_window_is_empty(window))
		return 0;
	if (iforest_bucket_of(bucketing, window->t0, &first) || iforest_bucket_of(bucketing, window->t1 - 1, &last))
		return UINT64_MAX;
	return (uint64_t)last - (uint64_t)first;
}

/* Returns a bound on the buckets of a series, 0 if they are too many. With a step there are at most two more than fit the
 * window, which may cut the first and the last. */
static uint32_t most_buckets(const struct ifs_parallel *parallel)
{
	const struct iforest_bucketing *bucketing =
		parallel->overlap ? &parallel->overlap->bucketing : &parallel->scan->bucketing;
	uint64_t most = 1;

	if (bucketing->mode == IFOREST_COUNT)
		most = (uint64_t)bucketing->n;
	else if (bucketing->mode == IFOREST_STEP)
		most = most_steps(bucketing);
	return most <= IFS_PARALLEL_BYTES / item_bytes(parallel) / 2 - 2 ? (uint32_t)most + 2 : 0;
}

void ifs_parallel_open(struct ifs_parallel *parallel, struct ifs_index *index, struct ifs_snapshot *snapshot,
		       struct iforest_scan *scan, struct iforest_overlap *overlap, const struct ifs_series *const *members,
		       uint32_t n_members)
{
	*parallel = (struct ifs_parallel){ .index = index,
					   .snapshot = snapshot,
					   .scan = scan,
					   .overlap = overlap,
					   .members = members,
					   .n_members = n_members };
}

void ifs_parallel_close(struct ifs_parallel *parallel)
{
	for (uint32_t w = 0; w < parallel->n_opened; w++) {
		iforest_overlap_release(&parallel->workers[w].overlap);
		iforest_scan_release(&parallel->workers[w].scan);
	}
	sqlite3_free(parallel->workers);
	sqlite3_free(parallel->parts);
	sqlite3_free(parallel->items);
	parallel->workers = NULL;
	parallel->parts = NULL;
	parallel->items = NULL;
	parallel->n_opened = parallel->n_threads = 0;
}

/* Starts the threads for the members that are left, if threads are allowed. */
static void begin(struct ifs_parallel *parallel, uint32_t n_left)
{
	int n_helpers = sqlite3_limit(parallel->index->db, SQLITE_LIMIT_WORKER_THREADS, -1);
	unsigned n_threads = n_helpers >= MOST_THREADS ? MOST_THREADS : (unsigned)n_helpers + 1;
	uint32_t fit = (uint32_t)(IFS_PARALLEL_BYTES / item_bytes(parallel));
	bool is_open = true;

	parallel->was_begun = true;
	n_threads = n_threads < n_left ? n_threads : n_left;
	parallel->most_buckets = n_threads > 1 ? most_buckets(parallel) : 0;
	if (parallel->most_buckets == 0)
		return;
	n_threads = n_threads < fit / parallel->most_buckets ? n_threads : fit / parallel->most_buckets;
	parallel->most_items = fit / n_threads;
	parallel->most_parts = n_left < MOST_PARTS ? n_left : MOST_PARTS;
	parallel->parts = sqlite3_malloc64(parallel->most_parts * sizeof *parallel->parts);
	parallel->items = sqlite3_malloc64((uint64_t)n_threads * parallel->most_items * item_bytes(parallel));
	parallel->workers = sqlite3_malloc64(n_threads * sizeof *parallel->workers);
	is_open = parallel->parts && parallel->items && parallel->workers;
	while (is_open && parallel->n_opened < n_threads)
		is_open = open_worker(parallel, &parallel->workers[parallel->n_opened]);
	if (is_open)
		parallel->n_threads = n_threads;
	else
		ifs_parallel_close(parallel);
}

/* ---- answering ---- */

/* Answers a series, up to an error: the caller meets it again and reports it. */
static void answer(void *context, unsigned thread, uint32_t p)
{
	struct ifs_parallel *parallel = context;
	struct ifs_parallel_part *part = &parallel->parts[p];
	struct ifs_parallel_worker *worker = &parallel->workers[thread];
	struct iforest_overlap *overlap = parallel->overlap ? &worker->overlap : NULL;
	enum iforest_status status;
	bool found = true;

	if (parallel->members[parallel->first + p]->id < parallel->first_id) {
		part->is_begun = part->is_whole = true;
		return;
	}
	worker->is_full = worker->is_full || parallel->most_items - worker->n_items < parallel->most_buckets;
	if (worker->is_full)
		return;
	part->is_begun = true;
	part->items = worker->items + worker->n_items * item_bytes(parallel);
	status = start(&worker->scan, overlap, parallel->members[parallel->first + p]->id);
	while (!status && found && part->n_buckets < parallel->most_buckets) {
		char *item = worker->items + worker->n_items * item_bytes(parallel);

		status = next(&worker->scan, overlap, (int64_t *)(void *)item,
			      (struct iforest_aggregate *)(void *)(item + sizeof(int64_t)), &found);
		part->n_buckets += !status && found;
		worker->n_items += !status && found;
	}
	part->is_whole = !status && !found;
}

/* Answers the next members on all threads. Cached pages stay in place only until the caller goes on. A series that found
 * no room, and those after it, are answered by the next pass. */
static void run_pass(struct ifs_parallel *parallel, uint32_t first)
{
	uint32_t n_left = parallel->n_members - first, n_parts = n_left < parallel->most_parts ? n_left : parallel->most_parts;

	parallel->first = first;
	memset(parallel->parts, 0, n_parts * sizeof *parallel->parts);
	for (unsigned t = 0; t < parallel->n_threads; t++) {
		parallel->workers[t].n_items = 0;
		parallel->workers[t].is_full = false;
	}
	parallel->snapshot->delta.filtered_nodes.is_fixed = true;
	iforest_parallel_for(parallel->n_threads, n_parts, answer, parallel);
	parallel->snapshot->delta.filtered_nodes.is_fixed = false;
	for (unsigned t = 0; t < parallel->n_threads; t++)
		iforest_overlap_unpin(&parallel->workers[t].overlap);
	for (parallel->n_parts = 0; parallel->n_parts < n_parts && parallel->parts[parallel->n_parts].is_begun;
	     parallel->n_parts++)
		;
}

enum iforest_status ifs_parallel_start(struct ifs_parallel *parallel, uint32_t member)
{
	if (!parallel->was_begun && parallel->n_alone >= IFS_PARALLEL_AFTER)
		begin(parallel, parallel->n_members - member);
	if (parallel->n_threads == 0)
		return start(parallel->scan, parallel->overlap, parallel->members[member]->id);
	if (member - parallel->first >= parallel->n_parts)
		run_pass(parallel, member);
	parallel->part = member - parallel->first;
	parallel->at = 0;
	parallel->is_reading = true;
	return IFOREST_OK;
}

/* Goes on by the scan where a part ends. */
static enum iforest_status go_on(struct ifs_parallel *parallel)
{
	uint64_t series = parallel->members[parallel->first + parallel->part]->id;
	int64_t last;

	parallel->is_reading = false;
	if (parallel->at == 0)
		return start(parallel->scan, parallel->overlap, series);
	memcpy(&last, parallel->parts[parallel->part].items + (parallel->at - 1) * item_bytes(parallel), sizeof last);
	return parallel->overlap ? iforest_overlap_start_after(parallel->overlap, series, last)
				 : iforest_scan_start_after(parallel->scan, series, last);
}

enum iforest_status ifs_parallel_next(struct ifs_parallel *parallel, int64_t *bucket, struct iforest_aggregate *aggregate,
				      bool *found)
{
	const struct ifs_parallel_part *part = parallel->is_reading ? &parallel->parts[parallel->part] : NULL;
	enum iforest_status status = IFOREST_OK;

	if (part && parallel->at < part->n_buckets) {
		const char *item = part->items + parallel->at++ * item_bytes(parallel);

		memcpy(bucket, item, sizeof *bucket);
		memcpy(aggregate, item + sizeof *bucket, item_bytes(parallel) - sizeof *bucket);
		*found = true;
		return IFOREST_OK;
	}
	*found = false;
	if (part && part->is_whole)
		return IFOREST_OK;
	if (part)
		status = go_on(parallel);
	parallel->n_alone++;
	return status ? status : next(parallel->scan, parallel->overlap, bucket, aggregate, found);
}
