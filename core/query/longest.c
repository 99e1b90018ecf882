#include "core/query/longest.h"

#include "core/base/array.h"
#include "core/base/bits.h"
#include "core/page/page_maxima.h"
#include "core/query/descent.h"

/* A search for the longest span of a bucket [from, to). */
struct longest_search {
	struct iforest_longest *longest;
	struct iforest_cursor *cursor;
	uint32_t run;
	unsigned duration; /* value column */
	int64_t from, to;
	struct iforest_extreme best;
	bool found; /* a span overlaps it */
};

/* True if a span ends after the bound. */
static inline bool outlives(int64_t time, int64_t duration, int64_t bound)
{
	return duration > 0 && (time >= bound || (uint64_t)duration > (uint64_t)bound - (uint64_t)time);
}

/* True if a span that starts before the bucket's end overlaps the bucket. */
static inline bool overlaps(const struct longest_search *search, int64_t time, int64_t duration)
{
	return time >= search->from || outlives(time, duration, search->from);
}

/* Offers a span that overlaps the bucket. */
static inline void offer(struct longest_search *search, const struct iforest_extreme *row)
{
	search->found = true;
	if (!search->best.is_set || iforest_row_is_greater(row, &search->best))
		search->best = *row;
}

/* The first is true if the node may have entries of the series, the second if it has only these and no NULL times. */
static inline bool has_series(const uint8_t *node, uint64_t series)
{
	return iforest_node_first(node).series <= series && iforest_node_last(node).series >= series;
}

static inline bool is_pure(const uint8_t *node, uint64_t series)
{
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);

	return first.series == series && last.series == series && !last.time_is_null;
}

static inline struct iforest_extreme longest_of_node(const struct longest_search *search, const uint8_t *node)
{
	return iforest_node_extreme(node, &search->cursor->manifest->fields, search->duration, 1);
}

/* ---- The pinned leaf page ---- */

/* Returns the maxima of the pinned leaf page; NULL if it has none. */
static const struct iforest_page_maxima *longest_of_maxima(struct iforest_cursor *cursor)
{
	struct iforest_page_maxima *maxima = cursor->path[0].page.maxima;

	return maxima && iforest_leaf_has_maxima(&cursor->leaf, maxima) ? maxima : NULL;
}

/* Unpacks a block's times and durations; *which becomes the bits of its live entries. */
static enum iforest_status longest_read_block(struct longest_search *search, unsigned b, uint64_t *which)
{
	struct iforest_block_reader *reader = &search->cursor->reader;
	enum iforest_status status;

	iforest_cursor_read_block(search->cursor, b);
	status = iforest_block_need(reader, IFOREST_VALUES + search->duration);
	if (!status)
		status = iforest_block_need(reader, IFOREST_TIMES);
	*which = iforest_low_bits(reader->block.n) & ~reader->block.dead;
	return iforest_cursor_report_leaf(search->cursor, status);
}

/* Gives entry i of the reader's block, with its ref. */
static enum iforest_status longest_row(struct longest_search *search, unsigned i, struct iforest_extreme *row)
{
	struct iforest_block_reader *reader = &search->cursor->reader;
	int64_t ref = 0;
	enum iforest_status status = iforest_block_pick(reader, IFOREST_REFS, i, &ref);

	*row = (struct iforest_extreme){ .value.integer = reader->block.values[search->duration][i],
					 .time = reader->block.times[i],
					 .ref = ref,
					 .is_set = true };
	return iforest_cursor_report_leaf(search->cursor, status);
}

static enum iforest_status search_block(struct longest_search *search, unsigned b)
{
	const struct iforest_block *block = &search->cursor->reader.block;
	uint64_t which;
	enum iforest_status status = longest_read_block(search, b, &which);

	for (which = status ? 0 : which; which && !status; which &= which - 1) {
		unsigned i = iforest_trailing_zeros(which);
		bool is_present = block->present[search->duration] >> i & 1;
		int64_t duration = is_present ? block->values[search->duration][i] : 0;
		struct iforest_extreme row;

		if (block->times[i] >= search->to)
			break;
		if (!overlaps(search, block->times[i], duration))
			continue;
		search->found = true;
		if (!is_present || (search->best.is_set && duration < search->best.value.integer))
			continue;
		status = longest_row(search, i, &row);
		if (!status)
			offer(search, &row);
	}
	return status;
}

/* Sets *may if a block of a page without maxima may have a better span. */
static enum iforest_status may_improve(struct longest_search *search, unsigned b, bool *may)
{
	struct iforest_block_reader *reader = &search->cursor->reader;
	unsigned column = IFOREST_VALUES + search->duration;
	enum iforest_status status;

	*may = true;
	if (!search->best.is_set)
		return IFOREST_OK;
	iforest_cursor_read_block(search->cursor, b);
	status = iforest_cursor_report_leaf(search->cursor, iforest_block_find_column(reader, column));
	if (!status && reader->has_summary[search->duration]) {
		unsigned high = reader->summaries[search->duration].high;

		*may = iforest_column_at(&reader->columns[column], high) >= search->best.value.integer;
	}
	return status;
}

static enum iforest_status search_blocks(struct longest_search *search)
{
	const struct iforest_leaf *leaf = &search->cursor->leaf;
	enum iforest_status status = IFOREST_OK;

	for (unsigned b = 0; b < leaf->header.n_items && !status; b++) {
		struct iforest_key first = iforest_leaf_block(leaf, b).first;
		bool may;

		if (first.series != search->longest->series || first.time_is_null || first.time >= search->to)
			continue;
		status = may_improve(search, b, &may);
		if (!status && may)
			status = search_block(search, b);
	}
	return status;
}

/* Offers block maxima that overlap the bucket, then opens the other blocks that may have a better span. */
static enum iforest_status search_maxima(struct longest_search *search, const struct iforest_page_maxima *maxima)
{
	uint32_t others = 0;
	enum iforest_status status = IFOREST_OK;

	for (unsigned b = 0; b < maxima->n && maxima->blocks[b].first_time < search->to; b++) {
		const struct iforest_block_maximum *maximum = &maxima->blocks[b];
		struct iforest_extreme row = iforest_block_maximum_row(maximum);

		if (maximum->latest_end < search->from || (search->best.is_set && maximum->value < search->best.value.integer))
			continue;
		if (maximum->time < search->to && overlaps(search, maximum->time, maximum->value))
			offer(search, &row);
		else
			others |= UINT32_C(1) << b;
	}
	for (; others && !status; others &= others - 1) {
		unsigned b = iforest_trailing_zeros(others);

		if (!search->best.is_set || maxima->blocks[b].value >= search->best.value.integer)
			status = search_block(search, b);
	}
	return status;
}

/* Searches a leaf page for spans that start before the bucket's end and overlap it. */
static enum iforest_status longest_search_leaf(struct longest_search *search, uint64_t number)
{
	const struct iforest_page_maxima *maxima;
	enum iforest_status status = iforest_cursor_pin(search->cursor, 0, number);

	if (status)
		return status;
	maxima = longest_of_maxima(search->cursor);
	if (!maxima)
		return search_blocks(search);
	return maxima->series == search->longest->series ? search_maxima(search, maxima) : IFOREST_OK;
}

/* ---- Spans that started before the bucket ---- */

enum { NO_ITEM = UINT32_MAX, LEAST_TO_CLEAR = 64 };

/* ---- Items ---- */

static bool item_comes_before(const void *context, uint32_t a, uint32_t b)
{
	const struct iforest_longest *longest = context;

	return iforest_row_is_greater(&longest->items[a].longest, &longest->items[b].longest);
}

/* Drops all items. */
static void longest_forget(struct iforest_longest *longest)
{
	longest->heap.comes_before = item_comes_before;
	longest->heap.context = longest;
	longest->heap.n = longest->n_items = 0;
	longest->free = NO_ITEM;
	longest->n_to_clear = LEAST_TO_CLEAR;
}

static bool has_ended(const struct iforest_longest_item *item, int64_t time)
{
	if (item->kind == IFOREST_LONGEST_SPAN)
		return !outlives(item->longest.time, item->longest.value.integer, time);
	return item->latest_end <= time && item->latest_end != INT64_MAX;
}

static void give_item(struct iforest_longest *longest, uint32_t i)
{
	longest->items[i].next = longest->free;
	longest->free = i;
}

/* Rebuilds the heap without ended items. Pushes only overwrite numbers that were already read, and allocate nothing. */
static void clear_ended(struct iforest_longest *longest, int64_t time)
{
	const struct iforest_alloc *alloc = longest->scan->store->alloc;
	struct iforest_priority_queue *heap = &longest->heap;
	uint32_t n = heap->n;

	heap->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (has_ended(&longest->items[heap->items[i]], time))
			give_item(longest, heap->items[i]);
		else
			iforest_priority_queue_push(heap, alloc, heap->items[i]);
	}
	longest->n_to_clear = 2 * heap->n + LEAST_TO_CLEAR;
}

static enum iforest_status take_item(struct iforest_longest *longest, uint32_t *i)
{
	const struct iforest_alloc *alloc = longest->scan->store->alloc;

	*i = longest->free;
	if (*i != NO_ITEM) {
		longest->free = longest->items[*i].next;
		return IFOREST_OK;
	}
	if (!iforest_array_reserve(alloc, &longest->items, sizeof *longest->items, (size_t)longest->n_items + 1,
				   &longest->n_reserved))
		return IFOREST_NO_MEMORY;
	*i = longest->n_items++;
	return IFOREST_OK;
}

static enum iforest_status push(struct iforest_longest *longest, const struct iforest_longest_item *item, int64_t time)
{
	uint32_t i;
	enum iforest_status status;

	if (longest->heap.n >= longest->n_to_clear)
		clear_ended(longest, time);
	status = take_item(longest, &i);
	if (status)
		return status;
	longest->items[i] = *item;
	return iforest_priority_queue_push(&longest->heap, longest->scan->store->alloc, i);
}

/* Adds a node, whose spans all start before a time, to the heap if one of them may be open at that time. */
static enum iforest_status longest_keep(struct longest_search *search, unsigned level, uint64_t number, const uint8_t *node,
					int64_t time)
{
	struct iforest_longest_item item = { .kind = IFOREST_LONGEST_NODE,
					     .run = search->run,
					     .level = level,
					     .number = number,
					     .latest_end = iforest_node_latest_end(node, &search->cursor->manifest->fields) };

	if (has_ended(&item, time) || iforest_node_rows(node) == 0 || !has_series(node, search->longest->series))
		return IFOREST_OK;
	item.longest = longest_of_node(search, node);
	item.is_ours = is_pure(node, search->longest->series);
	return item.longest.is_set && item.longest.value.integer > 0 ? push(search->longest, &item, time) : IFOREST_OK;
}

/* ---- Opening of items ---- */

static enum iforest_status keep_spans(struct longest_search *search, unsigned b)
{
	const struct iforest_block *block = &search->cursor->reader.block;
	struct iforest_longest_item item = { .kind = IFOREST_LONGEST_SPAN, .run = search->run, .is_ours = true };
	uint64_t which;
	enum iforest_status status = longest_read_block(search, b, &which);

	for (which &= status ? 0 : block->present[search->duration]; which && !status; which &= which - 1) {
		unsigned i = iforest_trailing_zeros(which);

		if (!outlives(block->times[i], block->values[search->duration][i], search->from))
			continue;
		status = longest_row(search, i, &item.longest);
		if (!status)
			status = push(search->longest, &item, search->from);
	}
	return status;
}

static enum iforest_status keep_maxima(struct longest_search *search, const struct iforest_page_maxima *maxima,
				       const struct iforest_longest_item *page)
{
	enum iforest_status status = IFOREST_OK;

	for (unsigned b = 0; b < maxima->n && !status; b++) {
		const struct iforest_block_maximum *maximum = &maxima->blocks[b];
		struct iforest_longest_item item = { .kind = IFOREST_LONGEST_BLOCK,
						     .run = page->run,
						     .number = page->number,
						     .block = b,
						     .is_ours = true,
						     .latest_end = maximum->latest_end,
						     .longest = iforest_block_maximum_row(maximum) };

		if (maximum->value > 0 && !has_ended(&item, search->from))
			status = push(search->longest, &item, search->from);
	}
	return status;
}

static enum iforest_status open_leaf(struct longest_search *search, const struct iforest_longest_item *item)
{
	struct iforest_cursor *cursor = search->cursor;
	const struct iforest_page_maxima *maxima;
	enum iforest_status status = iforest_cursor_pin(cursor, 0, item->number);

	if (status)
		return status;
	if (item->kind == IFOREST_LONGEST_BLOCK)
		return keep_spans(search, item->block);
	maxima = longest_of_maxima(cursor);
	if (maxima)
		return maxima->series == search->longest->series ? keep_maxima(search, maxima, item) : IFOREST_OK;
	for (unsigned b = 0; b < cursor->leaf.header.n_items && !status; b++) {
		struct iforest_key first = iforest_leaf_block(&cursor->leaf, b).first;

		if (first.series == search->longest->series && !first.time_is_null)
			status = keep_spans(search, b);
	}
	return status;
}

/* Replaces an item by the items below it. */
static enum iforest_status open_item(struct longest_search *search, const struct iforest_longest_item *item)
{
	struct iforest_cursor *cursor = search->cursor;
	unsigned level = item->level - 1;
	enum iforest_status status;

	if (item->kind == IFOREST_LONGEST_BLOCK || level == 0)
		return open_leaf(search, item);
	status = iforest_cursor_pin(cursor, level, item->number);
	for (unsigned k = 0; !status && k < cursor->path[level].header.n_items; k++)
		status = longest_keep(search, level, item->number * cursor->manifest->fanout + k,
				      iforest_cursor_sibling(cursor, level, k), search->from);
	return status;
}

/* Offers the longest of the spans in the heap that are open at the bucket's start. Changes the search's run and cursor. */
static enum iforest_status longest_look_back(struct longest_search *search)
{
	struct iforest_longest *longest = search->longest;
	struct iforest_priority_queue *heap = &longest->heap;
	enum iforest_status status = IFOREST_OK;

	while (!status && heap->n > 0) {
		struct iforest_longest_item item = longest->items[heap->items[0]];
		bool ended = has_ended(&item, search->from);
		bool is_open = item.is_ours && outlives(item.longest.time, item.longest.value.integer, search->from);

		if (is_open) {
			offer(search, &item.longest);
			break;
		}
		give_item(longest, iforest_priority_queue_pop(heap));
		if (ended)
			continue;
		search->run = item.run;
		search->cursor = &longest->behind[item.run];
		status = open_item(search, &item);
	}
	return status;
}

/* ---- Bucket by bucket ---- */

/* Most buckets per leaf page; with more, reading entries is faster. */
enum { BUCKETS_A_LEAF = 256 };

/* ---- Going on ---- */

/* Offers the longest span of a node with spans that were not seen before this bucket, and of which all or some start before its
 * end. *open becomes true if that is not enough, and the page below must be searched. */
static void look_at_node(struct longest_search *search, const uint8_t *node, bool *open)
{
	const struct iforest_node_schema *fields = &search->cursor->manifest->fields;
	uint64_t series = search->longest->series;
	struct iforest_extreme row;
	bool is_ours;

	if (iforest_node_rows(node) == 0 || !has_series(node, series))
		return;
	if (search->best.is_set &&
	    iforest_node_extreme_value(node, fields, search->duration, 1).integer < search->best.value.integer)
		return;
	row = longest_of_node(search, node);
	is_ours = row.is_set && is_pure(node, series);
	if (is_ours && row.time < search->to && overlaps(search, row.time, row.value.integer))
		offer(search, &row);
	else
		*open = row.is_set ? !is_ours || !search->best.is_set || iforest_row_is_greater(&row, &search->best)
				   : !search->found;
}

static enum iforest_status visit_node(struct iforest_descent *descent, const struct iforest_visited_node *node, bool *open)
{
	look_at_node(descent->context, node->bytes, open);
	return IFOREST_OK;
}

static enum iforest_status visit_leaf(struct iforest_descent *descent, const struct iforest_visited_node *node)
{
	return longest_search_leaf(descent->context, node->i);
}

/* Searches the spans below a node that start before the bucket's end. */
static enum iforest_status look_below(struct longest_search *search, const struct iforest_visited_node *node)
{
	static const struct iforest_visitor visitor = { .node = visit_node, .leaf = visit_leaf };
	struct iforest_key to = iforest_key_at(search->longest->series, search->to);
	struct iforest_descent descent = { .visitor = &visitor, .context = search, .cursor = search->cursor, .to = &to };

	return node->level > 1 ? iforest_descend(&descent, node->level - 1, node->i, 0) : longest_search_leaf(search, node->i);
}

/* Passes a node that starts and ends before the bucket does. */
static enum iforest_status pass_node(struct iforest_descent *descent, const struct iforest_visited_node *node, bool *open)
{
	struct longest_search *search = descent->context;
	bool has_better = false;
	enum iforest_status status;

	*open = node->place != IFOREST_INSIDE;
	if (*open)
		return IFOREST_OK;
	status = longest_keep(search, node->level, node->i, node->bytes, search->to);
	if (!status)
		look_at_node(search, node->bytes, &has_better);
	return has_better ? look_below(search, node) : status;
}

/* Searches the leaf page that the bucket's end cuts. The page is passed later. */
static enum iforest_status search_cut(struct iforest_descent *descent, const struct iforest_visited_node *node)
{
	bool has_better = false;

	look_at_node(descent->context, node->bytes, &has_better);
	return has_better ? longest_search_leaf(descent->context, node->i) : IFOREST_OK;
}

/* Passes the spans that start before the bucket's end. */
static enum iforest_status go_on(struct longest_search *search)
{
	static const struct iforest_visitor visitor = { .node = pass_node, .leaf = search_cut };
	struct iforest_key to = iforest_key_at(search->longest->series, search->to);
	struct iforest_descent descent = { .visitor = &visitor, .context = search, .cursor = search->cursor, .to = &to };

	return iforest_descend_forward(&descent);
}

/* ---- Starting ---- */

void iforest_longest_init(struct iforest_longest *longest, struct iforest_scan *scan)
{
	*longest = (struct iforest_longest){ .scan = scan };
	longest_forget(longest);
}

void iforest_longest_unpin(struct iforest_longest *longest)
{
	for (uint32_t r = 0; r < longest->n_runs; r++)
		iforest_cursor_release(&longest->behind[r]);
}

void iforest_longest_release(struct iforest_longest *longest)
{
	const struct iforest_alloc *alloc = longest->scan->store->alloc;

	iforest_longest_unpin(longest);
	iforest_release(alloc, longest->behind);
	iforest_release(alloc, longest->items);
	iforest_priority_queue_release(&longest->heap, alloc);
	iforest_longest_init(longest, longest->scan);
}

static enum iforest_status make_room(struct iforest_longest *longest)
{
	const struct iforest_scan *scan = longest->scan;
	const struct iforest_alloc *alloc = scan->store->alloc;

	if (longest->behind || scan->n_folds == 0)
		return IFOREST_OK;
	longest->behind = iforest_allocate(alloc, scan->n_folds * sizeof *longest->behind);
	if (!longest->behind)
		return IFOREST_NO_MEMORY;
	longest->n_runs = scan->n_folds;
	for (uint32_t r = 0; r < longest->n_runs; r++)
		iforest_cursor_init(&longest->behind[r], scan->folds[r].cursor.store, scan->folds[r].cursor.manifest,
				    scan->folds[r].cursor.run);
	return IFOREST_OK;
}

/* Finds the leaf page in which a key belongs. If `search` is given, adds to the heap the nodes passed that may have an open
 * span. */
static enum iforest_status leaf_of(struct iforest_cursor *cursor, const struct iforest_key *key, struct longest_search *search,
				   uint64_t *number)
{
	enum iforest_status status = IFOREST_OK;

	*number = 0;
	for (unsigned level = cursor->run->n_levels; level > 0 && !status; level--) {
		unsigned n;

		status = iforest_cursor_pin(cursor, level, *number);
		if (status)
			return status;
		n = iforest_cursor_last_node(cursor, level, 0, key, true);
		for (unsigned k = 0; search && k < n && !status; k++)
			status = longest_keep(search, level, *number * cursor->manifest->fanout + k,
					      iforest_cursor_sibling(cursor, level, k), key->time);
		*number = *number * cursor->manifest->fanout + n;
	}
	return status;
}

static bool is_answerable(const struct iforest_bucketing *bucketing)
{
	const struct iforest_window *window = &bucketing->window;

	if (bucketing->mode == IFOREST_STEP || !window->has_t0 || !window->has_t1 || window->t0 >= window->t1)
		return false;
	return bucketing->mode == IFOREST_WHOLE || iforest_bucketing_is_dense(bucketing);
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
	longest_forget(longest);
	to = iforest_key_at(series, bucketing->window.t1);
	for (uint32_t r = 0; r < longest->n_runs && !status; r++) {
		struct longest_search search = { .longest = longest,
						 .cursor = &longest->scan->folds[r].cursor,
						 .run = r,
						 .duration = longest->scan->manifest->fields.duration_value };
		struct iforest_key from = iforest_key_at(series, longest->start);
		uint64_t begin = 0, end = 0;

		status = leaf_of(search.cursor, &from, &search, &begin);
		if (!status)
			status = leaf_of(search.cursor, &to, NULL, &end);
		iforest_cursor_stand_at(search.cursor, begin, 0, 0);
		n_leaves += end - begin + 1;
	}
	*takes = n_leaves >= (uint64_t)(longest->n_buckets - bucket) / BUCKETS_A_LEAF;
	return status;
}

/* ---- Buckets ---- */

static enum iforest_status answer(struct iforest_longest *longest, struct iforest_extreme *row, bool *found)
{
	struct longest_search search = { .longest = longest,
					 .duration = longest->scan->manifest->fields.duration_value,
					 .from = longest->start };
	bool after_all;
	enum iforest_status status;

	search.to = iforest_bucket_end(&longest->bucketing, longest->bucket, &after_all);
	status = longest_look_back(&search);
	for (uint32_t r = 0; r < longest->n_runs && !status; r++) {
		search.run = r;
		search.cursor = &longest->scan->folds[r].cursor;
		status = go_on(&search);
	}
	longest->start = search.to;
	longest->bucket++;
	*row = search.best;
	*found = search.found;
	return status;
}

enum iforest_status iforest_longest_next(struct iforest_longest *longest, int64_t *bucket, struct iforest_extreme *row,
					 bool *found)
{
	enum iforest_status status = IFOREST_OK;

	*found = false;
	while (!status && !*found && longest->bucket < longest->n_buckets) {
		*bucket = longest->bucket;
		status = answer(longest, row, found);
	}
	return status;
}
