#include "core/query/top_k.h"

#include "core/run/cursor.h"

enum { FIRST_RESERVED = 64, MOST_TAKEN = 8 };

/* ---- order ---- */

static bool is_by_value(const struct iforest_top_k *best)
{
	return best->question.order == IFOREST_SMALLEST_FIRST || best->question.order == IFOREST_LARGEST_FIRST;
}

/* Negative, 0, positive as a row comes before another, is the same, comes after it. */
static int row_order(const struct iforest_top_k *best, const struct iforest_extreme *a, const struct iforest_extreme *b)
{
	int order = is_by_value(best) ? iforest_number_compare(a->value, b->value, best->kind) : 0;

	if (order)
		return best->question.order == IFOREST_LARGEST_FIRST ? -order : order;
	order = iforest_extreme_compare(a, b);
	return best->question.order == IFOREST_LATEST_FIRST ? -order : order;
}

static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
	const struct iforest_top_k *best = context;
	const struct iforest_top_k_item *x = &best->items[a], *y = &best->items[b];
	int order = row_order(best, &x->row, &y->row);

	return order ? order < 0 : x->level > y->level; /* the node's may be a bound alone */
}

/* ---- memory ---- */

static enum iforest_status add_runs(struct iforest_top_k *best, struct iforest_store *store,
				    const struct iforest_manifest *manifest)
{
	const struct iforest_alloc *alloc = best->store->alloc;
	uint32_t n = best->n_cursors + manifest->n_runs;
	struct iforest_cursor *cursors;

	if (manifest->n_runs == 0)
		return IFOREST_OK;
	cursors = alloc->reallocate(alloc->context, best->cursors, n * sizeof *cursors);
	if (!cursors)
		return IFOREST_NO_MEMORY;
	for (uint32_t r = best->n_cursors; r < n; r++)
		iforest_cursor_init(&cursors[r], store, manifest, &manifest->runs[r - best->n_cursors]);
	best->cursors = cursors;
	best->n_cursors = n;
	return IFOREST_OK;
}

enum iforest_status iforest_top_k_init(struct iforest_top_k *best, struct iforest_store *store,
				       const struct iforest_manifest *manifest)
{
	enum iforest_status status;

	*best = (struct iforest_top_k){ .store = store, .heap = { .comes_before = comes_before } };
	status = add_runs(best, store, manifest);
	best->n_own = best->n_cursors;
	return status;
}

enum iforest_status iforest_top_k_join(struct iforest_top_k *best, struct iforest_store *store,
				       const struct iforest_manifest *manifest)
{
	return add_runs(best, store, manifest);
}

void iforest_top_k_release(struct iforest_top_k *best)
{
	const struct iforest_alloc *alloc = best->store->alloc;

	for (uint32_t r = 0; r < best->n_cursors; r++)
		iforest_cursor_release(&best->cursors[r]);
	iforest_release(alloc, best->cursors);
	iforest_release(alloc, best->items);
	iforest_release(alloc, best->unused);
	iforest_priority_queue_release(&best->heap, alloc);
	*best = (struct iforest_top_k){ .store = best->store, .heap = { .comes_before = comes_before } };
}

static enum iforest_status reserve(struct iforest_top_k *best)
{
	const struct iforest_alloc *alloc = best->store->alloc;
	uint32_t n = best->n_reserved ? 2 * best->n_reserved : FIRST_RESERVED;
	void *grown;

	if (n < best->n_reserved)
		return IFOREST_NO_MEMORY;
	grown = alloc->reallocate(alloc->context, best->items, n * sizeof *best->items);
	if (!grown)
		return IFOREST_NO_MEMORY;
	best->items = grown;
	grown = alloc->reallocate(alloc->context, best->unused, n * sizeof *best->unused);
	if (!grown)
		return IFOREST_NO_MEMORY;
	best->unused = grown;
	best->n_reserved = n;
	return IFOREST_OK;
}

static enum iforest_status push(struct iforest_top_k *best, const struct iforest_top_k_item *item)
{
	enum iforest_status status = best->n_unused == 0 && best->n_items == best->n_reserved ? reserve(best) : IFOREST_OK;
	uint32_t slot;

	if (status)
		return status;
	slot = best->n_unused ? best->unused[--best->n_unused] : best->n_items++;
	best->items[slot] = *item;
	return iforest_priority_queue_push(&best->heap, best->store->alloc, slot);
}

static struct iforest_top_k_item pop(struct iforest_top_k *best)
{
	uint32_t slot = iforest_priority_queue_pop(&best->heap);

	best->unused[best->n_unused++] = slot;
	return best->items[slot];
}

/* ---- what is asked for ---- */

static struct iforest_key in_series(struct iforest_key key, uint64_t series)
{
	key.series += series;
	return key;
}

/* Are some keys of the series that are asked for in [first, last]? */
static bool series_meets(const struct iforest_top_k *best, uint64_t series, const struct iforest_key *first,
			 const struct iforest_key *last)
{
	struct iforest_key from = in_series(best->question.from, series), to = in_series(best->question.to, series);

	return iforest_key_compare(first, &to) < 0 && iforest_key_compare(last, &from) >= 0;
}

/* The place of the first series asked for that is not less. */
static uint32_t find_series(const struct iforest_top_k_question *question, uint64_t series)
{
	uint32_t low = 0, high = question->n_series;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (question->series[middle] < series)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* May a key in [first, last] be asked for? */
static bool keys_meet(const struct iforest_top_k *best, const struct iforest_key *first, const struct iforest_key *last)
{
	const struct iforest_top_k_question *question = &best->question;

	if (!question->series)
		return last->series > first->series + 1 || series_meets(best, first->series, first, last) ||
		       series_meets(best, last->series, first, last);
	for (uint32_t s = find_series(question, first->series); s < question->n_series && question->series[s] <= last->series;
	     s++)
		if ((question->series[s] > first->series && question->series[s] < last->series) ||
		    series_meets(best, question->series[s], first, last))
			return true;
	return false;
}

static const struct iforest_filter *filter_of(const struct iforest_top_k *best, uint32_t run)
{
	return run < best->n_own ? best->question.filter : NULL;
}

/* ---- nodes ---- */

static struct iforest_extreme row_of_key(const struct iforest_key *key)
{
	return (struct iforest_extreme){
		.time = key->time, .ref = key->ref, .time_is_null = key->time_is_null, .is_set = true
	};
}

/* The best row by time that a node can have. The times of one that holds several series are any that are asked for. */
static struct iforest_extreme bound_of_times(const struct iforest_top_k *best, const struct iforest_key *first,
					     const struct iforest_key *last)
{
	bool latest = best->question.order == IFOREST_LATEST_FIRST;
	uint64_t series = first->series;
	struct iforest_key bound = in_series(latest ? best->question.to : best->question.from, series);
	const struct iforest_key *edge = latest ? last : first;

	if (first->series == last->series &&
	    (latest ? iforest_key_compare(edge, &bound) < 0 : iforest_key_compare(edge, &bound) > 0))
		bound = *edge;
	if (bound.series > series) /* up to the end of the series: after all rows without a time */
		bound = (struct iforest_key){ .time_is_null = true, .ref = INT64_MAX };
	return row_of_key(&bound);
}

/* Puts a node into the heap if anything under it may be asked for. */
static enum iforest_status offer_node(struct iforest_top_k *best, uint32_t run, unsigned level, uint64_t number,
				      const uint8_t *node)
{
	const struct iforest_node_schema *fields = &best->cursors[run].manifest->fields;
	const struct iforest_filter *filter = filter_of(best, run);
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);
	struct iforest_top_k_item item = { .run = run, .level = (uint8_t)level, .number = number };

	if (!keys_meet(best, &first, &last) || !iforest_value_predicate_node(&best->question.match, fields, node))
		return IFOREST_OK;
	if (is_by_value(best)) {
		item.row = iforest_node_extreme(node, fields, best->question.value,
						best->question.order == IFOREST_LARGEST_FIRST ? 1 : -1);
	} else {
		item.row = bound_of_times(best, &first, &last);
	}
	if (!item.row.is_set || (filter && filter->of_node(filter->context, node) == IFOREST_COUNTS_NONE))
		return IFOREST_OK;
	return push(best, &item);
}

/* ---- entries ---- */

static enum iforest_status find_in_block(struct iforest_top_k *best, struct iforest_block_reader *reader, unsigned number,
					 uint64_t *live)
{
	struct iforest_key first = iforest_leaf_block(reader->leaf, number).first;
	struct iforest_key from = in_series(best->question.from, first.series), to = in_series(best->question.to, first.series);
	unsigned n_before = 0, n_within = reader->block.n;
	enum iforest_status status = IFOREST_OK;

	*live = 0;
	if (best->question.series) {
		uint32_t s = find_series(&best->question, first.series);

		if (s == best->question.n_series || best->question.series[s] != first.series)
			return IFOREST_OK;
	}
	if (iforest_key_compare(&first, &from) < 0)
		status = iforest_block_find(reader, &from, &n_before);
	if (!status && to.series == first.series)
		status = iforest_block_find(reader, &to, &n_within);
	*live = status ? 0 : iforest_low_bits(n_within) & ~iforest_low_bits(n_before) & ~reader->block.dead;
	if (!status && *live)
		status = iforest_value_predicate_entries(&best->question.match, reader, live);
	if (!status && *live && is_by_value(best)) {
		status = iforest_block_need(reader, IFOREST_VALUES + best->question.value);
		*live &= status ? 0 : reader->block.present[best->question.value];
	}
	if (!status && *live)
		status = iforest_block_need(reader, IFOREST_TIMES);
	return status || !*live ? status : iforest_block_need(reader, IFOREST_REFS);
}

static struct iforest_extreme row_at(const struct iforest_top_k *best, const struct iforest_block *block, unsigned i)
{
	return (struct iforest_extreme){ .value.integer = is_by_value(best) ? block->values[best->question.value][i] : 0,
					 .time = block->times[i],
					 .ref = block->refs[i],
					 .time_is_null = block->time_is_null,
					 .is_set = true };
}

/* Of the entries whose bits are set in *live the first one in the order. Those that come before `after`, or are it, are
 * cleared. */
static unsigned find_first(const struct iforest_top_k *best, const struct iforest_block *block,
			   const struct iforest_extreme *after, uint64_t *live, struct iforest_extreme *first)
{
	unsigned found = IFOREST_BLOCK_ENTRIES;

	for (uint64_t left = *live; left; left &= left - 1) {
		unsigned i = iforest_trailing_zeros(left);
		struct iforest_extreme row = row_at(best, block, i);

		if (after->is_set && row_order(best, &row, after) <= 0) {
			*live &= ~(UINT64_C(1) << i);
		} else if (found == IFOREST_BLOCK_ENTRIES || row_order(best, &row, first) < 0) {
			found = i;
			*first = row;
		}
	}
	return found;
}

/* Puts the first n entries of a block of the leaf page that is pinned into the heap, of those that come after a row. The filter
 * is asked about these alone. */
static enum iforest_status take_entries(struct iforest_top_k *best, uint32_t run, unsigned block, unsigned n,
					const struct iforest_extreme *after)
{
	struct iforest_cursor *cursor = &best->cursors[run];
	const struct iforest_filter *filter = filter_of(best, run);
	struct iforest_top_k_item item = { .run = run, .number = cursor->path[0].number, .block = (uint16_t)block };
	enum iforest_status status;
	uint64_t live;
	unsigned n_taken = 0;

	iforest_cursor_read_block(cursor, block);
	status = find_in_block(best, &cursor->reader, block, &live);
	while (!status && live && n_taken < n) {
		unsigned i = find_first(best, &cursor->reader.block, after, &live, &item.row);
		uint64_t counts = i < IFOREST_BLOCK_ENTRIES ? UINT64_C(1) << i : 0;

		live &= ~counts;
		if (counts && filter)
			status = filter->of_entries(filter->context, &cursor->reader, &counts);
		if (status || !counts)
			continue;
		n_taken++;
		item.entry = (uint8_t)i;
		item.n_taken = n_taken == n ? (uint8_t)n : 0;
		status = push(best, &item);
	}
	return status == IFOREST_NO_MEMORY ? status : iforest_cursor_report_leaf(cursor, status);
}

/* ---- the descent ---- */

static enum iforest_status open_node(struct iforest_top_k *best, const struct iforest_top_k_item *item)
{
	struct iforest_cursor *cursor = &best->cursors[item->run];
	uint64_t fanout = cursor->manifest->fanout;
	unsigned below = item->level - 1u;
	enum iforest_status status;

	if (below == 0 && item->number >= cursor->run->n_leaves)
		return iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "the page has too many nodes", 1,
						     item->number / fanout);
	status = iforest_cursor_pin(cursor, below, item->number);
	if (below == 0)
		for (unsigned b = 0; !status && b < cursor->leaf.header.n_items; b++)
			status = take_entries(best, item->run, b, 1, &best->question.after);
	else
		for (unsigned c = 0; !status && c < cursor->path[below].header.n_items; c++)
			status = offer_node(best, item->run, below, item->number * fanout + c,
					    iforest_node_at(cursor->path[below].page.bytes, &cursor->manifest->fields, c));
	return status;
}

static enum iforest_status give_entry(struct iforest_top_k *best, const struct iforest_top_k_item *item,
				      struct iforest_entry *entry)
{
	struct iforest_cursor *cursor = &best->cursors[item->run];
	uint32_t columns = best->question.values << IFOREST_VALUES | 1u << IFOREST_TIMES | 1u << IFOREST_REFS;
	const struct iforest_block *block;
	enum iforest_status status;

	iforest_cursor_stand_at(cursor, item->number, item->block, item->entry);
	status = iforest_cursor_block(cursor, columns, &block);
	if (status)
		return status;
	iforest_block_entry(block, item->entry, best->question.values, entry);
	if (item->n_taken > 0)
		status = take_entries(best, item->run, item->block,
				      item->n_taken < MOST_TAKEN ? 2u * item->n_taken : MOST_TAKEN, &item->row);
	return status;
}

enum iforest_status iforest_top_k_start(struct iforest_top_k *best, const struct iforest_top_k_question *question)
{
	enum iforest_status status = IFOREST_OK;

	best->question = *question;
	best->heap.context = best;
	best->heap.n = best->n_items = best->n_unused = 0;
	if (is_by_value(best) && best->n_cursors > 0) {
		struct iforest_value_predicate *match = &best->question.match;

		best->kind = (enum iforest_value_type)best->cursors[0].manifest->fields.value_types[question->value];
		/* so that nodes without anything after it are not opened */
		if (question->after.is_set && question->order == IFOREST_LARGEST_FIRST)
			iforest_value_predicate_at_most(match, question->value, question->after.value, best->kind);
		else if (question->after.is_set)
			iforest_value_predicate_at_least(match, question->value, question->after.value, best->kind);
	}
	for (uint32_t r = 0; r < best->n_cursors && !status; r++)
		status = offer_node(best, r, best->cursors[r].run->n_levels + 1, 0, best->cursors[r].run->root);
	return status;
}

enum iforest_status iforest_top_k_next(struct iforest_top_k *best, struct iforest_entry *entry, bool *found)
{
	enum iforest_status status = IFOREST_OK;

	*found = false;
	while (!status && !*found && best->heap.n > 0) {
		struct iforest_top_k_item item = pop(best);

		*found = item.level == 0;
		status = *found ? give_entry(best, &item, entry) : open_node(best, &item);
	}
	return status;
}

uint64_t iforest_top_k_pages(const struct iforest_top_k *best)
{
	uint64_t n_pages = 0;

	for (uint32_t r = 0; r < best->n_cursors; r++)
		n_pages += best->cursors[r].n_pages_opened;
	return n_pages;
}
