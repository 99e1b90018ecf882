#include "core/query/sweep.h"

/* ---- the window ---- */

/* Return the key at which the window begins, and ends, in a series. */
static struct iforest_key start_of(const struct iforest_sweep *sweep, uint64_t series)
{
	return iforest_key_at(series, sweep->window.has_t0 ? sweep->window.t0 : INT64_MIN);
}

static struct iforest_key end_of(const struct iforest_sweep *sweep, uint64_t series)
{
	if (sweep->has_nulls)
		return iforest_key_at(series + 1, INT64_MIN);
	return sweep->window.has_t1 ? iforest_key_at(series, sweep->window.t1) : iforest_key_nulls(series);
}

static bool is_before_window(const struct iforest_sweep *sweep, const struct iforest_key *key)
{
	return !key->time_is_null && sweep->window.has_t0 && key->time < sweep->window.t0;
}

static bool is_after_window(const struct iforest_sweep *sweep, const struct iforest_key *key)
{
	return key->time_is_null ? !sweep->has_nulls : sweep->window.has_t1 && key->time >= sweep->window.t1;
}

/* ---- a run ---- */

/* Where the entries of a block from some entry on lie relative to the window. */
enum block_place { ALL_BEFORE, SOME_WITHIN, ALL_AFTER, OF_NO_SERIES }; /* of no series that the sweep returns */

/* Finds the entries [*from, *to) of the window in the reader's block. */
static enum iforest_status find_window(const struct iforest_sweep *sweep, struct iforest_block_reader *reader, unsigned *from,
				       unsigned *to)
{
	const struct iforest_window *window = &sweep->window;
	enum iforest_status status = IFOREST_OK;

	*from = 0;
	*to = reader->block.n;
	if (reader->block.time_is_null || !(window->has_t0 || window->has_t1))
		return IFOREST_OK;
	status = iforest_block_find_times(reader, window->has_t0 ? window->t0 : INT64_MIN,
					  window->has_t1 ? window->t1 : INT64_MAX, from, to);
	if (!window->has_t1)
		*to = reader->block.n;
	return status;
}

/* Finds the window in a block of the pinned leaf page, from an entry on, which is 0 or the first that is not before the window.
 * If some entries are within, the run has their series, and the cursor its position. *continues: the next block has the same
 * series. */
static enum iforest_status find_in_block(const struct iforest_sweep *sweep, struct iforest_sweep_run *run, unsigned block,
					 unsigned entry, enum block_place *place, bool *continues)
{
	struct iforest_cursor *cursor = &run->fold->cursor;
	struct iforest_block_info info = iforest_leaf_block(&cursor->leaf, block);
	struct iforest_key next = info.first, start = start_of(sweep, next.series);
	bool has_next = block + 1u < cursor->leaf.header.n_items, goes_on;
	unsigned from = entry;
	enum iforest_status status = IFOREST_OK;

	if (has_next)
		next = iforest_leaf_block(&cursor->leaf, block + 1).first;
	*continues = has_next && next.series == info.first.series;
	*place = info.first.series > sweep->last ? OF_NO_SERIES : is_after_window(sweep, &info.first) ? ALL_AFTER : ALL_BEFORE;
	if (*place != ALL_BEFORE || (*continues && is_before_window(sweep, &next)))
		return IFOREST_OK;
	goes_on = *continues && !is_after_window(sweep, &next);
	run->end = info.n;
	if (!goes_on || (entry == 0 && is_before_window(sweep, &info.first))) {
		iforest_cursor_read_block(cursor, block);
		status = goes_on ? iforest_block_find(&cursor->reader, &start, &from)
				 : find_window(sweep, &cursor->reader, &from, &run->end);
	}
	entry = entry > from ? entry : from;
	if (status || entry == info.n)
		return status;
	*place = entry < run->end ? SOME_WITHIN : ALL_AFTER;
	run->is_short = run->end < info.n || (has_next && !goes_on);
	if (*place == ALL_AFTER)
		return IFOREST_OK;
	run->series = info.first.series;
	iforest_cursor_stand_at(cursor, cursor->leaf_number, block, entry);
	return IFOREST_OK;
}

/* Returns the first block of the page, after a block, that has another series. */
static unsigned block_of_next_series(const struct iforest_leaf *leaf, unsigned block)
{
	struct iforest_key last = iforest_key_nulls(iforest_leaf_block(leaf, block).first.series);

	last.ref = INT64_MAX;
	return iforest_leaf_find_block_from(leaf, block, &last) + 1;
}

/* Returns the block to read after one that has no entry in the window. */
static unsigned block_after(const struct iforest_sweep *sweep, const struct iforest_leaf *leaf, unsigned block,
			    enum block_place place, bool continues)
{
	struct iforest_key start = start_of(sweep, iforest_leaf_block(leaf, block).first.series);

	if (!continues)
		return block + 1;
	return place == ALL_AFTER ? block_of_next_series(leaf, block) : iforest_leaf_find_block_from(leaf, block + 1, &start);
}

/* Leaves a leaf page whose blocks have been passed: descends to the next entry that may lie in the window. */
static enum iforest_status leave_page(const struct iforest_sweep *sweep, struct iforest_fold *fold,
				      enum block_place place_of_last)
{
	struct iforest_cursor *cursor = &fold->cursor;
	uint64_t series = iforest_leaf_block(&cursor->leaf, cursor->leaf.header.n_items - 1u).first.series;
	struct iforest_key to = start_of(sweep, series + (place_of_last == ALL_AFTER));
	uint64_t leaf_number = cursor->leaf_number;
	enum iforest_status status = iforest_fold_seek(fold, &to);

	/* otherwise a forged page could make the sweep go on for ever */
	if (!status && cursor->leaf_number <= leaf_number)
		status = iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "entries are out of order", 0, leaf_number);
	return status;
}

/* Moves a run from its position to the next entry of the window. */
static enum iforest_status find_next(const struct iforest_sweep *sweep, struct iforest_sweep_run *run)
{
	struct iforest_cursor *cursor = &run->fold->cursor;
	enum iforest_status status = IFOREST_OK;

	run->series = UINT64_MAX;
	while (!status && cursor->leaf_number < cursor->run->n_leaves) {
		unsigned b = cursor->block, entry = cursor->entry;
		enum block_place place = ALL_AFTER; /* at the end of a page, the last block's series has been passed */
		bool continues;

		status = iforest_cursor_pin(cursor, 0, cursor->leaf_number);
		while (!status && b < cursor->leaf.header.n_items) {
			status = iforest_cursor_report_leaf(cursor, find_in_block(sweep, run, b, entry, &place, &continues));
			if (!status && (place == SOME_WITHIN || place == OF_NO_SERIES))
				return IFOREST_OK;
			b = block_after(sweep, &cursor->leaf, b, place, continues);
			entry = 0;
		}
		if (!status)
			status = leave_page(sweep, run->fold, place);
	}
	return status;
}

/* Finds the end of the run's series on the pinned leaf page. *within is false if the series may continue on the next page. */
static enum iforest_status find_end(const struct iforest_sweep *sweep, struct iforest_sweep_run *run, unsigned *block,
				    unsigned *entry, bool *within)
{
	struct iforest_cursor *cursor = &run->fold->cursor;
	struct iforest_key end = end_of(sweep, run->series);
	unsigned n_blocks = cursor->leaf.header.n_items, last = cursor->block;
	enum iforest_status status;

	for (; last + 1u < n_blocks; last++) {
		struct iforest_key next = iforest_leaf_block(&cursor->leaf, last + 1).first;

		if (next.series != run->series || is_after_window(sweep, &next))
			break;
	}
	*within = last + 1u < n_blocks;
	*block = last + 1;
	*entry = 0;
	if (!*within || !sweep->window.has_t1)
		return IFOREST_OK;
	iforest_cursor_read_block(cursor, last);
	status = iforest_cursor_report_leaf(cursor, iforest_block_find(&cursor->reader, &end, entry));
	*block = *entry == cursor->reader.block.n ? last + 1 : last;
	*entry = *block == last ? *entry : 0;
	return status;
}

/* Moves a run on after its series has been passed. The series began at an entry of a block. */
static enum iforest_status go_on(const struct iforest_sweep *sweep, struct iforest_sweep_run *run, uint64_t leaf_number,
				 unsigned block, unsigned entry)
{
	struct iforest_cursor *cursor = &run->fold->cursor;
	bool has_moved = cursor->leaf_number != leaf_number ? cursor->leaf_number > leaf_number
			 : cursor->block != block	    ? cursor->block > block
							    : cursor->entry > entry;

	/* otherwise a forged page could make the sweep go on for ever */
	return has_moved ? find_next(sweep, run)
			 : iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "entries are out of order", 0, leaf_number);
}

/* Adds a series that has entries of the window in one block alone. */
static enum iforest_status fold_short(const struct iforest_sweep *sweep, struct iforest_sweep_run *run,
				      const struct iforest_request *request, struct iforest_aggregate *aggregate)
{
	struct iforest_cursor *cursor = &run->fold->cursor;
	uint64_t counted;
	enum iforest_status status;

	iforest_cursor_read_block(cursor, cursor->block);
	status = iforest_block_fold(&cursor->reader, cursor->entry, run->end, request, aggregate, &counted);
	if (status)
		return iforest_cursor_report_leaf(cursor, status);
	iforest_cursor_stand_at(cursor, cursor->leaf_number, cursor->block + 1, 0);
	return find_next(sweep, run);
}

static enum iforest_status fold_run(struct iforest_sweep *sweep, struct iforest_sweep_run *run,
				    const struct iforest_request *request, struct iforest_aggregate *aggregate)
{
	struct iforest_cursor *cursor = &run->fold->cursor;
	uint64_t leaf_number = cursor->leaf_number;
	unsigned from_block = cursor->block, from_entry = cursor->entry;
	struct iforest_key end = end_of(sweep, run->series);
	struct iforest_request joined;
	unsigned block, entry;
	bool within;
	enum iforest_status status;

	request = iforest_scan_request_of(sweep->scan, run->fold, request, &joined);
	if (run->is_short && !request->filter) /* with one, iforest_fold_in_leaf() may see by a node that all entries count */
		return fold_short(sweep, run, request, aggregate);
	status = find_end(sweep, run, &block, &entry, &within);
	if (!status)
		status = within ? iforest_fold_in_leaf(run->fold, block, entry, request, aggregate)
				: iforest_fold_until(run->fold, &end, request, aggregate);
	if (!status && cursor->entry > 0) /* the rest of the block is after the window */
		iforest_cursor_stand_at(cursor, cursor->leaf_number, cursor->block + 1, 0);
	return status ? status : go_on(sweep, run, leaf_number, from_block, from_entry);
}

/* Passes the run's series. */
static enum iforest_status pass_run(const struct iforest_sweep *sweep, struct iforest_sweep_run *run)
{
	struct iforest_cursor *cursor = &run->fold->cursor;
	struct iforest_key next = start_of(sweep, run->series + 1);
	uint64_t leaf_number = cursor->leaf_number;
	unsigned from_block = cursor->block, from_entry = cursor->entry, b = block_of_next_series(&cursor->leaf, from_block);
	enum iforest_status status = IFOREST_OK;

	if (b < cursor->leaf.header.n_items)
		iforest_cursor_stand_at(cursor, cursor->leaf_number, b, 0);
	else
		status = iforest_fold_seek(run->fold, &next);
	return status ? status : go_on(sweep, run, leaf_number, from_block, from_entry);
}

/* ---- the joined batch ---- */

/* Moves the batch to its next entry of the window. */
static void find_in_batch(struct iforest_sweep *sweep)
{
	struct iforest_scan *scan = sweep->scan;

	sweep->in_batch = UINT64_MAX;
	while (scan->batch && scan->batch_at < scan->batch->n) {
		const struct iforest_key *key = iforest_batch_key(scan->batch, scan->batch_at);
		bool is_after = is_after_window(sweep, key);
		struct iforest_key to = start_of(sweep, key->series + is_after);

		if (key->series > sweep->last)
			return;
		if (!is_after && !is_before_window(sweep, key)) {
			sweep->in_batch = key->series;
			return;
		}
		scan->batch_at = iforest_batch_find(scan->batch, scan->batch_at, &to);
	}
}

static void pass_batch(struct iforest_sweep *sweep, const struct iforest_request *request, struct iforest_aggregate *aggregate)
{
	struct iforest_scan *scan = sweep->scan;
	struct iforest_key end = end_of(sweep, sweep->in_batch);
	uint32_t from = scan->batch_at;

	scan->batch_at = iforest_batch_find(scan->batch, from, &end);
	if (request)
		iforest_batch_fold(scan->batch, from, scan->batch_at, &scan->manifest->fields, request, aggregate);
	find_in_batch(sweep);
}

/* ---- all ---- */

/* Passes the series returned last, and adds it to the aggregate if there is a request. */
static enum iforest_status pass(struct iforest_sweep *sweep, const struct iforest_request *request,
				struct iforest_aggregate *aggregate)
{
	uint64_t series = sweep->series;
	enum iforest_status status = IFOREST_OK;

	sweep->series = UINT64_MAX;
	for (uint32_t r = 0; r < sweep->scan->n_folds && !status; r++)
		if (sweep->runs[r].series == series)
			status = request ? fold_run(sweep, &sweep->runs[r], request, aggregate)
					 : pass_run(sweep, &sweep->runs[r]);
	if (!status && sweep->in_batch == series)
		pass_batch(sweep, request, aggregate);
	return status;
}

/* Moves the batch to the series `first`. */
static void skip_batch(struct iforest_scan *scan, const struct iforest_key *first)
{
	scan->batch_at = scan->batch ? iforest_batch_find(scan->batch, 0, first) : 0;
}

enum iforest_status iforest_sweep_start(struct iforest_sweep *sweep, struct iforest_scan *scan, uint64_t first, uint64_t last,
					bool has_nulls)
{
	const struct iforest_alloc *alloc = scan->store->alloc;
	struct iforest_key from;
	enum iforest_status status = IFOREST_OK;

	*sweep = (struct iforest_sweep){
		.scan = scan, .window = scan->bucketing.window, .last = last, .has_nulls = has_nulls, .series = UINT64_MAX
	};
	sweep->runs = alloc->reallocate(alloc->context, NULL, (scan->n_folds + (size_t)1) * sizeof *sweep->runs);
	if (!sweep->runs)
		return IFOREST_NO_MEMORY;
	from = start_of(sweep, first);
	for (uint32_t r = 0; r < scan->n_folds && !status; r++) {
		sweep->runs[r] = (struct iforest_sweep_run){ .fold = &scan->folds[r], .series = UINT64_MAX };
		if (iforest_window_is_empty(&sweep->window))
			continue;
		status = iforest_fold_seek(&scan->folds[r], &from);
		if (!status)
			status = find_next(sweep, &sweep->runs[r]);
	}
	skip_batch(scan, &from);
	sweep->in_batch = UINT64_MAX;
	if (!iforest_window_is_empty(&sweep->window))
		find_in_batch(sweep);
	if (status)
		iforest_sweep_release(sweep);
	return status;
}

void iforest_sweep_release(struct iforest_sweep *sweep)
{
	iforest_scan_unpin(sweep->scan);
	iforest_release(sweep->scan->store->alloc, sweep->runs);
	sweep->runs = NULL;
}

enum iforest_status iforest_sweep_next(struct iforest_sweep *sweep, uint64_t *series, bool *found)
{
	enum iforest_status status = sweep->series != UINT64_MAX ? pass(sweep, NULL, NULL) : IFOREST_OK;

	*series = sweep->in_batch;
	for (uint32_t r = 0; r < sweep->scan->n_folds && !status; r++)
		if (sweep->runs[r].series < *series)
			*series = sweep->runs[r].series;
	*found = !status && *series != UINT64_MAX;
	sweep->series = *found ? *series : UINT64_MAX;
	return status;
}

enum iforest_status iforest_sweep_fold(struct iforest_sweep *sweep, const struct iforest_request *request,
				       struct iforest_aggregate *aggregate)
{
	return pass(sweep, request, aggregate);
}
