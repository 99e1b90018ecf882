#include "core/query/overlap_longest_internal.h"

/* Buckets that a leaf page may have; with more, what starts in each is sooner read entry by entry. */
enum { BUCKETS_A_LEAF = 256 };

/* ---- going on ---- */

static enum iforest_status look_at_node(struct iforest_longest_search *search, unsigned level, uint64_t number,
					const uint8_t *node);

/* What is under a node of which its longest span does not tell enough. */
static enum iforest_status look_below(struct iforest_longest_search *search, unsigned level, uint64_t number)
{
	struct iforest_cursor *cursor = search->cursor;
	struct iforest_key to = iforest_key_at(search->longest->series, search->to);
	enum iforest_status status;

	if (level == 1)
		return iforest_longest_search_leaf(search, number);
	status = iforest_cursor_hold(cursor, level - 1, number);
	for (unsigned k = 0; !status && k < cursor->path[level - 1].header.n_items; k++) {
		const uint8_t *node = iforest_node_at(cursor->path[level - 1].page.bytes, &cursor->manifest->fields, k);

		if (!iforest_cursor_begins_before(cursor, level - 1, k, &to, false))
			break;
		status = look_at_node(search, level - 1, number * cursor->manifest->fanout + k, node);
	}
	return status;
}

/* A node under which spans start that were not looked at before this bucket; all or some before its end. */
static enum iforest_status look_at_node(struct iforest_longest_search *search, unsigned level, uint64_t number,
					const uint8_t *node)
{
	const struct iforest_fields *fields = &search->cursor->manifest->fields;
	uint64_t series = search->longest->series;
	struct iforest_row row;
	bool is_ours;

	if (iforest_node_rows(node) == 0 || !iforest_longest_has_series(node, series))
		return IFOREST_OK;
	if (search->best.is_set &&
	    iforest_node_extreme_value(node, fields, search->duration, 1).integer < search->best.value.integer)
		return IFOREST_OK;
	row = iforest_longest_of_node(search, node);
	is_ours = row.is_set && iforest_longest_is_pure(node, series);
	if (is_ours && row.time < search->to && iforest_longest_overlaps(search, row.time, row.value.integer)) {
		iforest_longest_offer(search, &row);
		return IFOREST_OK;
	}
	if (row.is_set ? is_ours && search->best.is_set && !iforest_row_is_greater(&row, &search->best) : search->found)
		return IFOREST_OK;
	return look_below(search, level, number);
}

/* The largest node that begins with the leaf page that comes next, and ends before the bucket does; *level is 0 if there is
 * none. */
static enum iforest_status largest_node(struct iforest_longest_search *search, const struct iforest_key *to, unsigned *level,
					uint64_t *number, uint64_t *n_leaves, const uint8_t **node)
{
	struct iforest_cursor *cursor = search->cursor;
	uint64_t fanout = cursor->manifest->fanout, n_run = cursor->run->n_leaves;
	uint64_t passed = search->longest->passed[search->run];
	enum iforest_status status = IFOREST_OK;

	*number = passed;
	*n_leaves = 1;
	for (*level = 1; *level <= cursor->run->n_levels && *number % fanout == 0; ++*level) {
		*number /= fanout;
		*n_leaves *= fanout;
	}
	for (; *level > 0; --*level, *number *= fanout, *n_leaves /= fanout) {
		struct iforest_key last;

		status = iforest_cursor_node(cursor, *level, *number, node);
		if (status)
			return status;
		last = iforest_node_last(*node);
		if (iforest_key_compare(&last, to) < 0)
			break;
	}
	if (*n_leaves > n_run - passed)
		*n_leaves = n_run - passed;
	return IFOREST_OK;
}

/* What starts before the bucket's end and was not passed before. The leaf page that the end cuts is looked at, and passed
 * later. */
static enum iforest_status go_on(struct iforest_longest_search *search)
{
	struct iforest_longest *longest = search->longest;
	uint64_t *passed = &longest->passed[search->run];
	struct iforest_key to = iforest_key_at(longest->series, search->to);
	enum iforest_status status = IFOREST_OK;
	unsigned level = 1;

	while (!status && level > 0 && *passed < search->cursor->run->n_leaves) {
		uint64_t number, n_leaves;
		const uint8_t *node;

		status = largest_node(search, &to, &level, &number, &n_leaves, &node);
		if (!status && level == 0)
			status = iforest_cursor_node(search->cursor, 1, *passed, &node);
		if (status)
			return status;
		if (level == 0) {
			struct iforest_key first = iforest_node_first(node);

			return iforest_key_compare(&first, &to) < 0 ? look_at_node(search, 1, *passed, node) : IFOREST_OK;
		}
		/* kept first: looking below may let go of the page that the node stands on */
		status = iforest_longest_keep(search, level, number, node, search->to);
		if (!status)
			status = look_at_node(search, level, number, node);
		*passed += n_leaves;
	}
	return status;
}

/* ---- starting ---- */

void iforest_longest_init(struct iforest_longest *longest, struct iforest_scan *scan)
{
	*longest = (struct iforest_longest){ .scan = scan };
	iforest_longest_forget(longest);
}

void iforest_longest_let_go(struct iforest_longest *longest)
{
	for (uint32_t r = 0; r < longest->n_runs; r++)
		iforest_cursor_release(&longest->behind[r]);
}

void iforest_longest_release(struct iforest_longest *longest)
{
	const struct iforest_alloc *alloc = longest->scan->store->alloc;

	iforest_longest_let_go(longest);
	iforest_release(alloc, longest->behind);
	iforest_release(alloc, longest->passed);
	iforest_release(alloc, longest->items);
	iforest_heap_release(&longest->heap, alloc);
	iforest_longest_init(longest, longest->scan);
}

static enum iforest_status make_room(struct iforest_longest *longest)
{
	const struct iforest_scan *scan = longest->scan;
	const struct iforest_alloc *alloc = scan->store->alloc;

	if (longest->behind || scan->n_cursors == 0)
		return IFOREST_OK;
	longest->behind = iforest_allocate(alloc, scan->n_cursors * sizeof *longest->behind);
	longest->passed = iforest_allocate(alloc, scan->n_cursors * sizeof *longest->passed);
	if (!longest->behind || !longest->passed) {
		iforest_longest_release(longest);
		return IFOREST_NO_MEMORY;
	}
	longest->n_runs = scan->n_cursors;
	for (uint32_t r = 0; r < longest->n_runs; r++)
		iforest_cursor_init(&longest->behind[r], scan->cursors[r].store, scan->cursors[r].manifest,
				    scan->cursors[r].run);
	return IFOREST_OK;
}

/* The leaf page in which a key belongs. What is passed on the way to it and may be open is kept, where `search` is given. */
static enum iforest_status leaf_of(struct iforest_cursor *cursor, const struct iforest_key *key,
				   struct iforest_longest_search *search, uint64_t *number)
{
	enum iforest_status status = IFOREST_OK;

	*number = 0;
	for (unsigned level = cursor->run->n_levels; level > 0 && !status; level--) {
		unsigned n;

		status = iforest_cursor_hold(cursor, level, *number);
		if (status)
			return status;
		n = iforest_cursor_last_node(cursor, level, 0, key, true);
		for (unsigned k = 0; search && k < n && !status; k++) {
			const uint8_t *node = iforest_node_at(cursor->path[level].page.bytes, &cursor->manifest->fields, k);

			status = iforest_longest_keep(search, level, *number * cursor->manifest->fanout + k, node, key->time);
		}
		*number = *number * cursor->manifest->fanout + n;
	}
	return status;
}

static bool is_answerable(const struct iforest_bucketing *bucketing)
{
	const struct iforest_window *window = &bucketing->window;

	if (bucketing->mode == IFOREST_STEP || !window->has_t0 || !window->has_t1 || window->t0 >= window->t1)
		return false;
	return bucketing->mode == IFOREST_WHOLE || (uint64_t)window->t1 - (uint64_t)window->t0 >= (uint64_t)bucketing->n;
}

enum iforest_status iforest_longest_start(struct iforest_longest *longest, const struct iforest_bucketing *bucketing,
					  uint64_t series, int64_t bucket, bool *takes)
{
	struct iforest_key to;
	uint64_t n_leaves = 0;
	enum iforest_status status = IFOREST_OK;

	*takes = is_answerable(bucketing);
	if (!*takes)
		return IFOREST_OK;
	status = make_room(longest);
	longest->bucketing = *bucketing;
	longest->series = series;
	longest->bucket = bucket;
	longest->n_buckets = bucketing->mode == IFOREST_COUNT ? bucketing->n : 1;
	longest->start = iforest_bucket_start(bucketing, bucket);
	iforest_longest_forget(longest);
	to = iforest_key_at(series, bucketing->window.t1);
	for (uint32_t r = 0; r < longest->n_runs && !status; r++) {
		struct iforest_longest_search search = { .longest = longest, .cursor = &longest->scan->cursors[r], .run = r,
					 .duration = longest->scan->manifest->fields.duration_value };
		struct iforest_key from = iforest_key_at(series, longest->start);
		uint64_t end = 0;

		status = leaf_of(search.cursor, &from, &search, &longest->passed[r]);
		if (!status)
			status = leaf_of(search.cursor, &to, NULL, &end);
		n_leaves += end - longest->passed[r] + 1;
	}
	*takes = n_leaves >= (uint64_t)(longest->n_buckets - bucket) / BUCKETS_A_LEAF;
	return status;
}

/* ---- buckets ---- */

static enum iforest_status answer(struct iforest_longest *longest, struct iforest_row *row, bool *found)
{
	struct iforest_longest_search search = { .longest = longest,
		.duration = longest->scan->manifest->fields.duration_value, .from = longest->start };
	bool after_all;
	enum iforest_status status;

	search.to = iforest_bucket_end(&longest->bucketing, longest->bucket, &after_all);
	status = iforest_longest_look_back(&search);
	for (uint32_t r = 0; r < longest->n_runs && !status; r++) {
		search.run = r;
		search.cursor = &longest->scan->cursors[r];
		status = go_on(&search);
	}
	longest->start = search.to;
	longest->bucket++;
	*row = search.best;
	*found = search.found;
	return status;
}

enum iforest_status iforest_longest_next(struct iforest_longest *longest, int64_t *bucket, struct iforest_row *row, bool *found)
{
	enum iforest_status status = IFOREST_OK;

	*found = false;
	while (!status && !*found && longest->bucket < longest->n_buckets) {
		*bucket = longest->bucket;
		status = answer(longest, row, found);
	}
	return status;
}
