#include "core/query/scan.h"

#include "core/base/bits.h"
#include "core/query/extremes.h"
#include "core/query/fold.h"
#include "core/query/prefetch.h"
#include "core/query/read_ahead.h"
#include "core/run/cursor.h"

/* True if the run may have an entry in [from, to). */
static inline bool may_hold(const struct iforest_run *run, const struct iforest_key *from, const struct iforest_key *to)
{
	struct iforest_key first = iforest_node_first(run->root), last = iforest_node_last(run->root);

	return iforest_key_compare(&last, from) >= 0 && iforest_key_compare(&first, to) < 0;
}

const struct iforest_request *iforest_scan_request_of(const struct iforest_scan *scan, const struct iforest_fold *fold,
						      const struct iforest_request *request, struct iforest_request *joined)
{
	if (request->filter == scan->joined_filter || fold->cursor.store == scan->store)
		return request;
	*joined = *request;
	joined->filter = scan->joined_filter;
	return joined;
}

static enum iforest_status fold_until(const struct iforest_scan *scan, struct iforest_fold *fold, const struct iforest_key *to,
				      const struct iforest_request *request, struct iforest_aggregate *aggregate)
{
	struct iforest_request joined;

	return iforest_fold_until(fold, to, iforest_scan_request_of(scan, fold, request, &joined), aggregate);
}

/* ---- The joined batch ---- */

static uint32_t find_in_batch(const struct iforest_scan *scan, uint32_t from, const struct iforest_key *key)
{
	return scan->batch ? iforest_batch_find(scan->batch, from, key) : 0;
}

/* Passes the entries of the batch up to the key, and adds them to the aggregate. */
static void fold_batch(struct iforest_scan *scan, const struct iforest_key *to, const struct iforest_request *request,
		       struct iforest_aggregate *aggregate)
{
	uint32_t from = scan->batch_at;

	if (!scan->batch || from == scan->batch->n)
		return;
	scan->batch_at = iforest_batch_find(scan->batch, from, to);
	if (scan->batch_at > from)
		iforest_batch_fold(scan->batch, from, scan->batch_at, &scan->manifest->fields, request, aggregate);
}

static void earliest_of_batch(const struct iforest_scan *scan, int64_t *time, bool *found)
{
	const struct iforest_key *key;

	if (!scan->batch || scan->batch_at == scan->batch->n)
		return;
	key = iforest_batch_key(scan->batch, scan->batch_at);
	if (key->time_is_null || iforest_key_compare(key, &scan->end) >= 0 || (*found && *time <= key->time))
		return;
	*time = key->time;
	*found = true;
}

static void latest_of_batch(const struct iforest_scan *scan, const struct iforest_key *end, int64_t *time, bool *found)
{
	uint32_t at = find_in_batch(scan, 0, end);
	const struct iforest_key *key = at > 0 ? iforest_batch_key(scan->batch, at - 1) : NULL;

	if (!key || key->series != end->series || key->time_is_null || (*found && *time >= key->time))
		return;
	*time = key->time;
	*found = true;
}

/* ---- Read-ahead ---- */

/* While nothing blocks, n_waits() is checked every ENDS_BETWEEN_LOOKS bucket ends. The scan reads ahead of the next ends if it
 * has waited for at least one page per ENDS_A_WAIT ends. */
enum { ENDS_BETWEEN_LOOKS = 8, ENDS_A_WAIT = 4 };

/* Gives up to n ends after `to`, `width` apart and before the window's end. Returns their number. */
static unsigned ends_after(const struct iforest_scan *scan, const struct iforest_key *to, uint64_t width,
			   struct iforest_key *ends, unsigned n)
{
	int64_t last = scan->end.time_is_null ? INT64_MAX : scan->end.time;
	uint64_t room = (uint64_t)last - (uint64_t)to->time;
	unsigned k;

	for (k = 0; k < n && room > width; k++, room -= width)
		ends[k] = iforest_key_at(scan->series, (int64_t)((uint64_t)last - room + width));
	return k;
}

static void read_ahead(const struct iforest_scan *scan, const struct iforest_key *to, uint64_t width, unsigned n_ends)
{
	struct iforest_key ends[IFOREST_MOST_CUTS_AHEAD];
	unsigned n = ends_after(scan, to, width, ends, n_ends);

	for (uint32_t a = 0; a < scan->n_active; a++) {
		const struct iforest_fold *fold = scan->active[a];

		if (fold->cursor.store == scan->store)
			iforest_read_ahead(scan->store, fold->cursor.manifest, fold->cursor.run, ends, n);
	}
}

/* Call it with the end of each bucket before the cursors reach it. If the scan has waited for pages, requests those that the
 * next ends will cut, assuming that these are as far apart as the last ones. Not for extremes alone: these open a fifth of the
 * leaf pages that wide buckets cut, and it is not known which. */
static void look_ahead(struct iforest_scan *scan, const struct iforest_key *to)
{
	const struct iforest_pager *pager = scan->store->pager;
	uint64_t width = (uint64_t)to->time - (uint64_t)scan->reached.time, n_waits;
	unsigned n_ends = ENDS_BETWEEN_LOOKS;

	if (!pager->read_ahead || to->time_is_null || scan->request.extremes_alone)
		return;
	scan->ahead.n_passed++;
	if (!scan->ahead.is_first && width > 0 && width < scan->ahead.width)
		scan->ahead.width = width;
	scan->ahead.is_first = false;
	if (scan->ahead.n_until > 1) {
		scan->ahead.n_until--;
		return;
	}
	n_waits = pager->n_waits(pager->context) - scan->ahead.n_waits;
	if (n_waits * ENDS_A_WAIT >= scan->ahead.n_passed && scan->ahead.width < UINT64_MAX && scan->n_active > 0) {
		if (scan->n_active < IFOREST_MOST_CUTS_AHEAD / ENDS_BETWEEN_LOOKS)
			n_ends = IFOREST_MOST_CUTS_AHEAD / scan->n_active;
		read_ahead(scan, to, scan->ahead.width, n_ends);
	}
	scan->ahead.n_waits = pager->n_waits(pager->context);
	scan->ahead.width = UINT64_MAX;
	scan->ahead.n_passed = 0;
	scan->ahead.n_until = n_ends;
}

/* ---- Stretch by stretch ---- */

/* Passes the entries of the active folds up to the key, and adds them to the aggregate. */
static enum iforest_status scan_fold(struct iforest_scan *scan, const struct iforest_key *to,
				     const struct iforest_request *request, struct iforest_aggregate *aggregate)
{
	enum iforest_status status = IFOREST_OK;

	for (uint32_t a = 0; a < scan->n_active && !status; a++)
		if (!iforest_fold_is_beyond(scan->active[a], to))
			status = fold_until(scan, scan->active[a], to, request, aggregate);
	if (!status)
		fold_batch(scan, to, request, aggregate);
	if (iforest_key_compare(&scan->reached, to) < 0)
		scan->reached = *to;
	return status;
}

/* Also removes folds without entries left from the active ones. */
enum iforest_status iforest_scan_earliest(struct iforest_scan *scan, int64_t *time, bool *found)
{
	uint32_t n_left = 0;

	*found = false;
	for (uint32_t a = 0; a < scan->n_active; a++) {
		struct iforest_key key;
		bool at_end;
		enum iforest_status status = iforest_fold_key(scan->active[a], &key, &at_end);

		if (status)
			return status;
		if (at_end || key.time_is_null || iforest_key_compare(&key, &scan->end) >= 0)
			continue;
		/* otherwise a forged page could keep a caller in an endless loop over buckets */
		if (iforest_key_compare(&key, &scan->reached) < 0)
			return iforest_cursor_report_corrupt(&scan->active[a]->cursor, IFOREST_CORRUPT,
							     "entries are out of order", 0,
							     scan->active[a]->cursor.leaf_number);
		scan->active[n_left++] = scan->active[a];
		if (!*found || key.time < *time)
			*time = key.time;
		*found = true;
	}
	scan->n_active = n_left;
	earliest_of_batch(scan, time, found);
	return IFOREST_OK;
}

enum iforest_status iforest_scan_through(struct iforest_scan *scan, int64_t time, const struct iforest_request *request,
					 struct iforest_aggregate *aggregate)
{
	struct iforest_key to = time == INT64_MAX ? iforest_key_nulls(scan->series) : iforest_key_at(scan->series, time + 1);

	if (iforest_key_compare(&scan->end, &to) < 0)
		to = scan->end;
	look_ahead(scan, &to);
	return scan_fold(scan, &to, request, aggregate);
}

enum iforest_status iforest_scan_nulls(struct iforest_scan *scan, const struct iforest_request *request,
				       struct iforest_aggregate *aggregate)
{
	struct iforest_key from = iforest_key_nulls(scan->series), to = iforest_key_at(scan->series + 1, INT64_MIN);
	enum iforest_status status = IFOREST_OK;

	for (uint32_t r = 0; r < scan->n_folds && !status; r++) {
		struct iforest_fold *fold = &scan->folds[r];

		if (!may_hold(fold->cursor.run, &from, &to))
			continue;
		status = iforest_fold_seek(fold, &from);
		if (!status)
			status = fold_until(scan, fold, &to, request, aggregate);
	}
	scan->batch_at = find_in_batch(scan, scan->batch_at, &from);
	if (!status)
		fold_batch(scan, &to, request, aggregate);
	scan->is_done = true;
	return status;
}

/* Gives the time of the run's last entry before `end`, if it is of the same series. */
static enum iforest_status latest_of_run(struct iforest_fold *fold, const struct iforest_key *end, int64_t *time, bool *found)
{
	const struct iforest_block *block = NULL;
	bool at_start = false;
	unsigned n = 0;
	enum iforest_status status = iforest_fold_seek(fold, end);

	if (!status && fold->cursor.entry > 0)
		n = fold->cursor.entry;
	else if (!status)
		status = iforest_cursor_previous(&fold->cursor, &at_start);
	if (!status && !at_start)
		status = iforest_cursor_block(&fold->cursor, 1u << IFOREST_TIMES, &block);
	if (status || at_start || block->series != end->series || block->time_is_null)
		return status;
	n = n ? n : block->n;
	if (!*found || block->times[n - 1] > *time)
		*time = block->times[n - 1];
	*found = true;
	return IFOREST_OK;
}

enum iforest_status iforest_scan_latest(struct iforest_scan *scan, uint64_t series, int64_t until, int64_t *time, bool *found)
{
	struct iforest_key from = iforest_key_at(series, INT64_MIN);
	struct iforest_key end = until == INT64_MAX ? iforest_key_nulls(series) : iforest_key_at(series, until + 1);
	enum iforest_status status = IFOREST_OK;

	*found = false;
	for (uint32_t r = 0; r < scan->n_folds && !status; r++)
		if (may_hold(scan->folds[r].cursor.run, &from, &end))
			status = latest_of_run(&scan->folds[r], &end, time, found);
	if (!status)
		latest_of_batch(scan, &end, time, found);
	return status;
}

enum iforest_status iforest_scan_everything(struct iforest_scan *scan, const struct iforest_request *request,
					    struct iforest_aggregate *aggregate)
{
	struct iforest_key from = iforest_key_at(0, INT64_MIN), to = iforest_key_at((uint64_t)UINT32_MAX + 1, INT64_MIN);
	enum iforest_status status = IFOREST_OK;

	for (uint32_t r = 0; r < scan->n_folds && !status; r++) {
		status = iforest_fold_seek(&scan->folds[r], &from);
		if (!status)
			status = fold_until(scan, &scan->folds[r], &to, request, aggregate);
	}
	scan->batch_at = 0;
	if (!status)
		fold_batch(scan, &to, request, aggregate);
	return status;
}

uint64_t iforest_scan_pages(const struct iforest_scan *scan)
{
	uint64_t n_pages = 0;

	for (uint32_t r = 0; r < scan->n_folds; r++)
		n_pages += scan->folds[r].cursor.n_pages_opened;
	return n_pages;
}

uint64_t iforest_scan_leaf_pages(const struct iforest_scan *scan)
{
	uint64_t n_pages = 0;

	for (uint32_t r = 0; r < scan->n_folds; r++)
		n_pages += scan->folds[r].cursor.n_leaf_pages_opened;
	return n_pages;
}

uint64_t iforest_scan_nodes(const struct iforest_scan *scan)
{
	uint64_t n_nodes = 0;

	for (uint32_t r = 0; r < scan->n_folds; r++)
		n_nodes += scan->folds[r].n_nodes_folded;
	return n_nodes;
}

/* ---- Bucket by bucket ---- */

enum iforest_status iforest_scan_init(struct iforest_scan *scan, struct iforest_store *store,
				      const struct iforest_manifest *manifest)
{
	*scan = (struct iforest_scan){ .store = store, .manifest = manifest, .n_folds = manifest->n_runs, .is_done = true };
	scan->folds = iforest_allocate(store->alloc, scan->n_folds * sizeof *scan->folds);
	scan->active = iforest_allocate(store->alloc, scan->n_folds * sizeof(struct iforest_fold *));
	if (!scan->folds || !scan->active) {
		scan->n_folds = 0;
		iforest_scan_release(scan);
		return IFOREST_NO_MEMORY;
	}
	if (store->pager->n_waits)
		scan->ahead.n_waits = store->pager->n_waits(store->pager->context);
	for (uint32_t r = 0; r < scan->n_folds; r++)
		iforest_fold_init(&scan->folds[r], store, manifest, &manifest->runs[r]);
	return IFOREST_OK;
}

void iforest_scan_unpin(struct iforest_scan *scan)
{
	for (uint32_t r = 0; r < scan->n_folds; r++)
		iforest_fold_release(&scan->folds[r]);
	scan->is_done = true;
}

void iforest_scan_release(struct iforest_scan *scan)
{
	iforest_scan_unpin(scan);
	iforest_release(scan->store->alloc, scan->folds);
	iforest_release(scan->store->alloc, scan->active);
	scan->folds = NULL;
	scan->active = NULL;
	scan->n_folds = scan->n_active = 0;
}

enum iforest_status iforest_scan_join(struct iforest_scan *scan, struct iforest_store *store,
				      const struct iforest_manifest *manifest)
{
	const struct iforest_alloc *alloc = scan->store->alloc;
	uint32_t n = scan->n_folds + manifest->n_runs;
	void *grown;

	if (manifest->n_runs == 0)
		return IFOREST_OK;
	grown = alloc->reallocate(alloc->context, scan->folds, n * sizeof *scan->folds);
	if (!grown)
		return IFOREST_NO_MEMORY;
	scan->folds = grown;
	grown = alloc->reallocate(alloc->context, scan->active, n * sizeof(struct iforest_fold *));
	if (!grown)
		return IFOREST_NO_MEMORY;
	scan->active = grown;
	for (uint32_t r = 0; r < manifest->n_runs; r++)
		iforest_fold_init(&scan->folds[scan->n_folds + r], store, manifest, &manifest->runs[r]);
	scan->n_folds = n;
	return IFOREST_OK;
}

enum iforest_status iforest_scan_join_memtable(struct iforest_scan *scan, struct iforest_memtable *memtable)
{
	enum iforest_status status = iforest_scan_join(scan, &memtable->store, &memtable->manifest);

	if (!status)
		status = iforest_batch_sort(&memtable->batch, &memtable->store.pager->interrupt);
	if (!status && memtable->batch.n > 0)
		scan->batch = &memtable->batch;
	return status;
}

static bool is_unbounded(const struct iforest_scan *scan)
{
	const struct iforest_bucketing *bucketing = &scan->bucketing;

	return bucketing->mode == IFOREST_WHOLE && !bucketing->window.has_t0 && !bucketing->window.has_t1;
}

static enum iforest_status place_cursors(struct iforest_scan *scan)
{
	enum iforest_status status = IFOREST_OK;

	for (uint32_t a = 0; a < scan->n_active && !status; a++)
		status = iforest_fold_seek_before(scan->active[a], &scan->reached, &scan->end);
	scan->is_placed = true;
	return status;
}

static void turn_to(struct iforest_scan *scan, uint64_t series)
{
	const struct iforest_window *window = &scan->bucketing.window;

	scan->series = series;
	scan->end = window->has_t1 ? iforest_key_at(series, window->t1) : iforest_key_nulls(series);
	scan->is_done = iforest_window_is_empty(window);
	scan->has_bucket = scan->is_dense = false;
}

static enum iforest_status start_from(struct iforest_scan *scan, const struct iforest_key *from)
{
	struct iforest_key after = iforest_key_at(scan->series + 1, INT64_MIN);

	scan->n_active = 0;
	scan->ahead.width = UINT64_MAX;
	scan->ahead.n_until = 2;
	scan->ahead.is_first = true;
	scan->batch_at = find_in_batch(scan, 0, from);
	scan->reached = *from;
	scan->is_placed = !(scan->request.extremes_alone && scan->bucketing.mode == IFOREST_WHOLE);
	for (uint32_t r = 0; r < scan->n_folds && !scan->is_done; r++) {
		struct iforest_fold *fold = &scan->folds[r];

		if (may_hold(fold->cursor.run, from, is_unbounded(scan) ? &after : &scan->end))
			scan->active[scan->n_active++] = fold;
	}
	return scan->is_placed ? place_cursors(scan) : IFOREST_OK;
}

enum iforest_status iforest_scan_start(struct iforest_scan *scan, uint64_t series)
{
	const struct iforest_window *window = &scan->bucketing.window;
	struct iforest_key from = iforest_key_at(series, window->has_t0 ? window->t0 : INT64_MIN);

	turn_to(scan, series);
	return start_from(scan, &from);
}

/* Adds the extremes between the position reached and `to` without moving the cursors there. */
static enum iforest_status find_extremes(struct iforest_scan *scan, const struct iforest_key *to,
					 struct iforest_aggregate *aggregate, bool *is_narrow)
{
	enum iforest_status status = IFOREST_OK;

	*is_narrow = false;
	for (uint32_t a = 0; a < scan->n_active && !status; a++) {
		struct iforest_request all;
		bool is_narrow_here;

		status = iforest_extremes_of_range(scan->active[a], &scan->reached, to,
						   iforest_scan_request_of(scan, scan->active[a], &scan->request, &all),
						   aggregate, &is_narrow_here);
		*is_narrow = *is_narrow || is_narrow_here;
	}
	if (!status)
		fold_batch(scan, to, &scan->request, aggregate);
	scan->reached = *to;
	scan->is_placed = false;
	return status;
}

static enum iforest_status whole_window(struct iforest_scan *scan, struct iforest_aggregate *aggregate)
{
	struct iforest_key after = iforest_key_at(scan->series + 1, INT64_MIN);
	struct iforest_request timeless = scan->request;
	enum iforest_status status;
	bool is_narrow;

	scan->is_done = true;
	if (scan->request.extremes_alone)
		return find_extremes(scan, is_unbounded(scan) ? &after : &scan->end, aggregate, &is_narrow);
	status = scan_fold(scan, &scan->end, &scan->request, aggregate);
	timeless.firsts = timeless.lasts = 0;
	timeless.times = false;
	if (!status && is_unbounded(scan))
		status = scan_fold(scan, &after, &timeless, aggregate);
	return status;
}

/* Passes entries whose bucket number exceeds int64; an error if one of them is live. */
static enum iforest_status pass_beyond(struct iforest_scan *scan, int64_t time, struct iforest_aggregate *aggregate)
{
	enum iforest_status status = iforest_scan_through(scan, time, &scan->request, aggregate);

	return !status && aggregate->n_rows > 0 ? IFOREST_RANGE : status;
}

/* Returns the end of a bucket, or of the window. */
static struct iforest_key end_of(const struct iforest_scan *scan, int64_t bucket)
{
	bool after_all;
	struct iforest_key to = iforest_key_at(scan->series, iforest_bucket_end(&scan->bucketing, bucket, &after_all));

	return after_all || iforest_key_compare(&scan->end, &to) < 0 ? scan->end : to;
}

enum iforest_status iforest_scan_start_after(struct iforest_scan *scan, uint64_t series, int64_t bucket)
{
	struct iforest_key from;

	turn_to(scan, series);
	from = end_of(scan, bucket);
	scan->has_bucket = true;
	scan->last_bucket = bucket;
	scan->is_done = scan->is_done || scan->bucketing.mode == IFOREST_WHOLE || iforest_key_compare(&from, &scan->end) >= 0;
	return start_from(scan, &from);
}

/* Prefetches one or two buckets ahead, assuming that ends are as far apart as this one is from the position reached. */
static void prefetch_next(const struct iforest_scan *scan, const struct iforest_key *to)
{
	uint64_t width = (uint64_t)to->time - (uint64_t)scan->reached.time;
	bool is_sums = iforest_wants_sums(&scan->request, &scan->manifest->fields);
	struct iforest_key next = iforest_key_at(scan->series, (int64_t)((uint64_t)to->time + (is_sums ? 2 * width : width)));

	for (uint32_t a = 0; a < scan->n_active; a++)
		(is_sums ? iforest_fold_prefetch_cut : iforest_fold_prefetch)(scan->active[a], &next);
}

/* Entries a bucket must have for branch and bound to pay: about as many as are unpacked at its two ends; fewer if most cut
 * blocks stay packed, because their maxima are cached. */
enum { MANY_ENTRIES = 2 * IFOREST_BLOCK_ENTRIES, MANY_BY_MAXIMA = 3 };

static bool is_many(const struct iforest_scan *scan, uint64_t n_entries)
{
	const struct iforest_pinned_page *leaf;

	if (scan->n_active == 0)
		return false;
	leaf = &scan->active[0]->cursor.path[0];
	return n_entries >= MANY_ENTRIES || (n_entries >= MANY_BY_MAXIMA && leaf->is_pinned && leaf->page.maxima);
}

/* Gives the bucket of the time at which the last bucket ends. */
static enum iforest_status bucket_after(const struct iforest_scan *scan, int64_t *bucket)
{
	if (iforest_bucketing_is_dense(&scan->bucketing)) {
		*bucket = scan->last_bucket + 1;
		return IFOREST_OK;
	}
	return iforest_bucket_of(&scan->bucketing, scan->reached.time, bucket);
}

/* Computes the bucket that begins where the last one ended. It may turn out to be empty. */
static enum iforest_status adjacent_bucket(struct iforest_scan *scan, int64_t *bucket, struct iforest_aggregate *aggregate)
{
	enum iforest_status status = bucket_after(scan, bucket);
	struct iforest_key to;
	bool is_narrow;

	scan->is_dense = false;
	if (status)
		return status == IFOREST_RANGE ? IFOREST_OK : status;
	to = end_of(scan, *bucket);
	prefetch_next(scan, &to);
	status = find_extremes(scan, &to, aggregate, &is_narrow);
	if (aggregate->n_rows == 0)
		return status;
	scan->last_bucket = *bucket;
	scan->is_dense = !is_narrow && iforest_key_compare(&scan->reached, &scan->end) < 0;
	return status;
}

/* Finds the bucket of the earliest entry not passed yet, usually the one after the last, and its end. */
static enum iforest_status bucket_of(const struct iforest_scan *scan, int64_t time, int64_t *bucket, struct iforest_key *to)
{
	enum iforest_status status;

	if (scan->has_bucket && scan->last_bucket < INT64_MAX && time >= scan->reached.time) {
		struct iforest_key at = iforest_key_at(scan->series, time);

		*bucket = scan->last_bucket + 1;
		*to = end_of(scan, *bucket);
		if (iforest_key_compare(&at, to) < 0)
			return IFOREST_OK;
	}
	status = iforest_bucket_of(&scan->bucketing, time, bucket);
	if (!status)
		*to = end_of(scan, *bucket);
	return status;
}

static enum iforest_status next_bucket(struct iforest_scan *scan, int64_t *bucket, struct iforest_aggregate *aggregate,
				       bool *found)
{
	struct iforest_key to;
	int64_t time;
	enum iforest_status status = IFOREST_OK;

	if (scan->is_dense)
		status = adjacent_bucket(scan, bucket, aggregate);
	if (status || aggregate->n_rows > 0)
		return status;
	*found = iforest_key_compare(&scan->reached, &scan->end) < 0;
	if (!scan->is_placed && *found)
		status = place_cursors(scan);
	if (!status && *found)
		status = iforest_scan_earliest(scan, &time, found);
	if (status || !*found)
		return status;
	status = bucket_of(scan, time, bucket, &to);
	if (status == IFOREST_RANGE)
		return pass_beyond(scan, time, aggregate);
	if (status)
		return status;
	scan->has_bucket = true;
	scan->last_bucket = *bucket;
	look_ahead(scan, &to);
	prefetch_next(scan, &to);
	status = scan_fold(scan, &to, &scan->request, aggregate);
	scan->is_dense =
		scan->request.extremes_alone && is_many(scan, aggregate->n_rows) && iforest_key_compare(&to, &scan->end) < 0;
	return status;
}

enum iforest_status iforest_scan_next(struct iforest_scan *scan, int64_t *bucket, struct iforest_aggregate *aggregate,
				      bool *found)
{
	enum iforest_status status = IFOREST_OK;
	bool more = true;

	iforest_aggregate_clear(aggregate, scan->manifest->fields.n_values, &scan->manifest->fields.accumulators);
	while (!status && !scan->is_done && aggregate->n_rows == 0) {
		aggregate->n_dead = 0;
		*bucket = 0;
		if (scan->bucketing.mode == IFOREST_WHOLE)
			status = whole_window(scan, aggregate);
		else
			status = next_bucket(scan, bucket, aggregate, &more);
		scan->is_done = scan->is_done || !more;
	}
	*found = aggregate->n_rows > 0;
	return status;
}

/* ---- The nodes and leaf parts that cover a window ---- */

void iforest_scan_cover_start(struct iforest_scan_cover *cover, struct iforest_scan *scan)
{
	*cover = (struct iforest_scan_cover){ .scan = scan, .request = scan->request };
	cover->request.firsts = cover->request.lasts = 0;
}

/* Moves on to the entries without a time, if they are in the cover. */
static bool go_on_to_nulls(struct iforest_scan_cover *cover)
{
	const struct iforest_window *window = &cover->scan->bucketing.window;

	if (cover->in_nulls || window->has_t0 || window->has_t1)
		return false;
	cover->in_nulls = true;
	cover->request.times = false;
	cover->at = 0;
	return true;
}

enum iforest_status iforest_scan_cover_next(struct iforest_scan_cover *cover, struct iforest_scan_cover_part *part, bool *found)
{
	const struct iforest_scan *scan = cover->scan;
	enum iforest_status status = IFOREST_OK;

	*found = false;
	while (!status && !*found && (cover->at < scan->n_active || go_on_to_nulls(cover))) {
		struct iforest_key to = cover->in_nulls ? iforest_key_at(scan->series + 1, INT64_MIN) : scan->end;
		struct iforest_request request = cover->request;
		struct iforest_fold *fold;
		bool at_end;

		if (cover->at == scan->n_active)
			break;
		fold = scan->active[cover->at];
		part->run = fold->cursor.run;
		part->is_joined = fold->cursor.store != scan->store;
		part->time_is_null = cover->in_nulls;
		if (part->is_joined)
			request.filter = NULL;
		iforest_aggregate_clear(&part->aggregate, scan->manifest->fields.n_values,
					&scan->manifest->fields.accumulators);
		status = iforest_fold_step(fold, &to, &request, &part->aggregate, &part->level, &part->number, &at_end);
		*found = !status && part->aggregate.n_rows > 0;
		cover->at += at_end;
	}
	return status;
}
