#include "core/query/overlap_longest_internal.h"

#include "core/base/bits.h"

enum { NO_ITEM = UINT32_MAX, FIRST_RESERVED = 32, LEAST_TO_CLEAR = 64 };

/* ---- items ---- */

static bool item_comes_before(const void *context, uint32_t a, uint32_t b)
{
	const struct iforest_longest *longest = context;

	return iforest_row_is_greater(&longest->items[a].longest, &longest->items[b].longest);
}

void iforest_longest_forget(struct iforest_longest *longest)
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
		return !iforest_longest_outlives(item->longest.time, item->longest.value.integer, time);
	return item->latest_end <= time && item->latest_end != INT64_MAX;
}

static void give_item(struct iforest_longest *longest, uint32_t i)
{
	longest->items[i].next = longest->free;
	longest->free = i;
}

/* Takes what has ended out of the heap. Pushes write no number that is still to be read, and need no memory. */
static void clear_ended(struct iforest_longest *longest, int64_t time)
{
	const struct iforest_alloc *alloc = longest->scan->store->alloc;
	struct iforest_heap *heap = &longest->heap;
	uint32_t n = heap->n;

	heap->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (has_ended(&longest->items[heap->items[i]], time))
			give_item(longest, heap->items[i]);
		else
			iforest_heap_push(heap, alloc, heap->items[i]);
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
	if (longest->n_items == longest->n_reserved) {
		uint32_t n = longest->n_reserved ? 2 * longest->n_reserved : FIRST_RESERVED;
		void *items = NULL;

		if (n > longest->n_reserved)
			items = alloc->reallocate(alloc->context, longest->items, n * sizeof *longest->items);
		if (!items)
			return IFOREST_NO_MEMORY;
		longest->items = items;
		longest->n_reserved = n;
	}
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
	return iforest_heap_push(&longest->heap, longest->scan->store->alloc, i);
}

enum iforest_status iforest_longest_keep(struct iforest_longest_search *search, unsigned level, uint64_t number,
					 const uint8_t *node, int64_t time)
{
	struct iforest_longest_item item = { .kind = IFOREST_LONGEST_NODE, .run = search->run, .level = level, .number = number,
		.latest_end = iforest_node_latest_end(node, &search->cursor->manifest->fields) };

	if (has_ended(&item, time) || iforest_node_rows(node) == 0 ||
	    !iforest_longest_has_series(node, search->longest->series))
		return IFOREST_OK;
	item.longest = iforest_longest_of_node(search, node);
	item.is_ours = iforest_longest_is_pure(node, search->longest->series);
	return item.longest.is_set && item.longest.value.integer > 0 ? push(search->longest, &item, time) : IFOREST_OK;
}

/* ---- opening them ---- */

static enum iforest_status keep_spans(struct iforest_longest_search *search, unsigned b)
{
	const struct iforest_block *block = &search->cursor->reader.block;
	struct iforest_longest_item item = { .kind = IFOREST_LONGEST_SPAN, .run = search->run, .is_ours = true };
	uint64_t which;
	enum iforest_status status = iforest_longest_read_block(search, b, &which);

	for (which &= status ? 0 : block->present[search->duration]; which && !status; which &= which - 1) {
		unsigned i = iforest_trailing_zeros(which);

		if (!iforest_longest_outlives(block->times[i], block->values[search->duration][i], search->from))
			continue;
		status = iforest_longest_row(search, i, &item.longest);
		if (!status)
			status = push(search->longest, &item, search->from);
	}
	return status;
}

static enum iforest_status keep_peaks(struct iforest_longest_search *search, const struct iforest_page_peaks *peaks,
				      const struct iforest_longest_item *page)
{
	enum iforest_status status = IFOREST_OK;

	for (unsigned b = 0; b < peaks->n && !status; b++) {
		const struct iforest_peak *peak = &peaks->blocks[b];
		struct iforest_longest_item item = { .kind = IFOREST_LONGEST_BLOCK, .run = page->run, .number = page->number,
			.block = b, .is_ours = true, .latest_end = peak->latest_end,
			.longest = { .value.integer = peak->value, .time = peak->time, .ref = peak->ref, .is_set = true } };

		if (peak->value > 0 && !has_ended(&item, search->from))
			status = push(search->longest, &item, search->from);
	}
	return status;
}

static enum iforest_status open_leaf(struct iforest_longest_search *search, const struct iforest_longest_item *item)
{
	struct iforest_cursor *cursor = search->cursor;
	const struct iforest_page_peaks *peaks;
	enum iforest_status status;

	if (item->number >= cursor->run->n_leaves)
		return iforest_cursor_blame(cursor, IFOREST_CORRUPT, "the page has too many nodes", 1,
					    item->number / cursor->manifest->fanout);
	status = iforest_cursor_hold(cursor, 0, item->number);
	if (status)
		return status;
	if (item->kind == IFOREST_LONGEST_BLOCK)
		return keep_spans(search, item->block);
	peaks = iforest_longest_peaks(cursor);
	if (peaks)
		return peaks->series == search->longest->series ? keep_peaks(search, peaks, item) : IFOREST_OK;
	for (unsigned b = 0; b < cursor->leaf.header.n_items && !status; b++) {
		struct iforest_key first = iforest_leaf_block(&cursor->leaf, b).first;

		if (first.series == search->longest->series && !first.time_is_null)
			status = keep_spans(search, b);
	}
	return status;
}

/* Puts what is under an item in its place. */
static enum iforest_status open_item(struct iforest_longest_search *search, const struct iforest_longest_item *item)
{
	struct iforest_cursor *cursor = search->cursor;
	unsigned level = item->level - 1;
	enum iforest_status status;

	if (item->kind == IFOREST_LONGEST_BLOCK || level == 0)
		return open_leaf(search, item);
	status = iforest_cursor_hold(cursor, level, item->number);
	for (unsigned k = 0; !status && k < cursor->path[level].header.n_items; k++) {
		const uint8_t *node = iforest_node_at(cursor->path[level].page.bytes, &cursor->manifest->fields, k);

		status = iforest_longest_keep(search, level, item->number * cursor->manifest->fanout + k, node, search->from);
	}
	return status;
}

enum iforest_status iforest_longest_look_back(struct iforest_longest_search *search)
{
	struct iforest_longest *longest = search->longest;
	struct iforest_heap *heap = &longest->heap;
	enum iforest_status status = IFOREST_OK;

	while (!status && heap->n > 0) {
		struct iforest_longest_item item = longest->items[heap->items[0]];
		bool ended = has_ended(&item, search->from);
		bool is_open = item.is_ours &&
			iforest_longest_outlives(item.longest.time, item.longest.value.integer, search->from);

		if (is_open) {
			iforest_longest_offer(search, &item.longest);
			break;
		}
		give_item(longest, iforest_heap_pop(heap));
		if (ended)
			continue;
		search->run = item.run;
		search->cursor = &longest->behind[item.run];
		status = open_item(search, &item);
	}
	return status;
}
