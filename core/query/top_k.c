#include "core/query/top_k.h"

#include "core/query/descent.h"

enum { FIRST_RESERVED = 64, MOST_TAKEN = 8 };

/* ---- Order ---- */

static bool is_by_value(const struct iforest_top_k *top_k)
{
	return top_k->question.order == IFOREST_SMALLEST_FIRST || top_k->question.order == IFOREST_LARGEST_FIRST;
}

/* Compares two rows: negative if a comes before b, 0 if they are the same, positive if a comes after b. */
static int row_order(const struct iforest_top_k *top_k, const struct iforest_extreme *a, const struct iforest_extreme *b)
{
	int order = is_by_value(top_k) ? iforest_number_compare(a->value, b->value, top_k->type) : 0;

	if (order)
		return top_k->question.order == IFOREST_LARGEST_FIRST ? -order : order;
	order = iforest_extreme_compare(a, b);
	return top_k->question.order == IFOREST_LATEST_FIRST ? -order : order;
}

static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
	const struct iforest_top_k *top_k = context;
	const struct iforest_top_k_item *x = &top_k->items[a], *y = &top_k->items[b];
	int order = row_order(top_k, &x->row, &y->row);

	return order ? order < 0 : x->level > y->level; /* a node's row may be only a bound */
}

/* ---- Memory ---- */

static enum iforest_status add_runs(struct iforest_top_k *top_k, struct iforest_store *store,
				    const struct iforest_manifest *manifest)
{
	const struct iforest_alloc *alloc = top_k->store->alloc;
	uint32_t n = top_k->n_cursors + manifest->n_runs;
	struct iforest_cursor *cursors;

	if (manifest->n_runs == 0)
		return IFOREST_OK;
	cursors = alloc->reallocate(alloc->context, top_k->cursors, n * sizeof *cursors);
	if (!cursors)
		return IFOREST_NO_MEMORY;
	for (uint32_t r = top_k->n_cursors; r < n; r++)
		iforest_cursor_init(&cursors[r], store, manifest, &manifest->runs[r - top_k->n_cursors]);
	top_k->cursors = cursors;
	top_k->n_cursors = n;
	return IFOREST_OK;
}

enum iforest_status iforest_top_k_init(struct iforest_top_k *top_k, struct iforest_store *store,
				       const struct iforest_manifest *manifest)
{
	enum iforest_status status;

	*top_k = (struct iforest_top_k){ .store = store, .heap = { .comes_before = comes_before } };
	status = add_runs(top_k, store, manifest);
	top_k->n_own = top_k->n_cursors;
	return status;
}

enum iforest_status iforest_top_k_join(struct iforest_top_k *top_k, struct iforest_store *store,
				       const struct iforest_manifest *manifest)
{
	return add_runs(top_k, store, manifest);
}

void iforest_top_k_release(struct iforest_top_k *top_k)
{
	const struct iforest_alloc *alloc = top_k->store->alloc;

	for (uint32_t r = 0; r < top_k->n_cursors; r++)
		iforest_cursor_release(&top_k->cursors[r]);
	iforest_release(alloc, top_k->cursors);
	iforest_release(alloc, top_k->items);
	iforest_release(alloc, top_k->unused);
	iforest_priority_queue_release(&top_k->heap, alloc);
	*top_k = (struct iforest_top_k){ .store = top_k->store, .heap = { .comes_before = comes_before } };
}

static enum iforest_status reserve(struct iforest_top_k *top_k)
{
	const struct iforest_alloc *alloc = top_k->store->alloc;
	uint32_t n = top_k->n_reserved ? 2 * top_k->n_reserved : FIRST_RESERVED;
	void *grown;

	if (n < top_k->n_reserved)
		return IFOREST_NO_MEMORY;
	grown = alloc->reallocate(alloc->context, top_k->items, n * sizeof *top_k->items);
	if (!grown)
		return IFOREST_NO_MEMORY;
	top_k->items = grown;
	grown = alloc->reallocate(alloc->context, top_k->unused, n * sizeof *top_k->unused);
	if (!grown)
		return IFOREST_NO_MEMORY;
	top_k->unused = grown;
	top_k->n_reserved = n;
	return IFOREST_OK;
}

static enum iforest_status push(struct iforest_top_k *top_k, const struct iforest_top_k_item *item)
{
	enum iforest_status status = top_k->n_unused == 0 && top_k->n_items == top_k->n_reserved ? reserve(top_k) : IFOREST_OK;
	uint32_t slot;

	if (status)
		return status;
	slot = top_k->n_unused ? top_k->unused[--top_k->n_unused] : top_k->n_items++;
	top_k->items[slot] = *item;
	return iforest_priority_queue_push(&top_k->heap, top_k->store->alloc, slot);
}

static struct iforest_top_k_item pop(struct iforest_top_k *top_k)
{
	uint32_t slot = iforest_priority_queue_pop(&top_k->heap);

	top_k->unused[top_k->n_unused++] = slot;
	return top_k->items[slot];
}

/* ---- The question ---- */

static struct iforest_key in_series(struct iforest_key key, uint64_t series)
{
	key.series += series;
	return key;
}

/* True if keys of the series in [first, last] may be in the question. */
static bool series_meets(const struct iforest_top_k *top_k, uint64_t series, const struct iforest_key *first,
			 const struct iforest_key *last)
{
	struct iforest_key from = in_series(top_k->question.from, series), to = in_series(top_k->question.to, series);

	return iforest_key_compare(first, &to) < 0 && iforest_key_compare(last, &from) >= 0;
}

/* Returns the index of the first series of the question that is not less. */
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

/* True if a key in [first, last] may be in the question. */
static bool keys_meet(const struct iforest_top_k *top_k, const struct iforest_key *first, const struct iforest_key *last)
{
	const struct iforest_top_k_question *question = &top_k->question;

	if (!question->series)
		return last->series > first->series + 1 || series_meets(top_k, first->series, first, last) ||
		       series_meets(top_k, last->series, first, last);
	for (uint32_t s = find_series(question, first->series); s < question->n_series && question->series[s] <= last->series;
	     s++)
		if ((question->series[s] > first->series && question->series[s] < last->series) ||
		    series_meets(top_k, question->series[s], first, last))
			return true;
	return false;
}

static const struct iforest_filter *filter_of(const struct iforest_top_k *top_k, uint32_t run)
{
	return run < top_k->n_own ? top_k->question.filter : NULL;
}

/* ---- Nodes ---- */

static struct iforest_extreme row_of_key(const struct iforest_key *key)
{
	return (struct iforest_extreme){
		.time = key->time, .ref = key->ref, .time_is_null = key->time_is_null, .is_set = true
	};
}

/* Returns the best row by time that a node can have. A node of several series can have any time of the question. */
static struct iforest_extreme bound_of_times(const struct iforest_top_k *top_k, const struct iforest_key *first,
					     const struct iforest_key *last)
{
	bool latest = top_k->question.order == IFOREST_LATEST_FIRST;
	uint64_t series = first->series;
	struct iforest_key bound = in_series(latest ? top_k->question.to : top_k->question.from, series);
	const struct iforest_key *edge = latest ? last : first;

	if (first->series == last->series &&
	    (latest ? iforest_key_compare(edge, &bound) < 0 : iforest_key_compare(edge, &bound) > 0))
		bound = *edge;
	if (bound.series > series) /* the end of the series, after all rows without a time */
		bound = (struct iforest_key){ .time_is_null = true, .ref = INT64_MAX };
	return row_of_key(&bound);
}

/* Pushes a node if an entry under it may be in the question. */
static enum iforest_status offer_node(struct iforest_top_k *top_k, uint32_t run, unsigned level, uint64_t number,
				      const uint8_t *node)
{
	const struct iforest_node_schema *fields = &top_k->cursors[run].manifest->fields;
	const struct iforest_filter *filter = filter_of(top_k, run);
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);
	struct iforest_top_k_item item = { .run = run, .level = (uint8_t)level, .number = number };

	if (!keys_meet(top_k, &first, &last) ||
	    iforest_value_predicate_node(&top_k->question.match, fields, node) == IFOREST_COUNTS_NONE)
		return IFOREST_OK;
	if (is_by_value(top_k)) {
		item.row = iforest_node_extreme(node, fields, top_k->question.value,
						top_k->question.order == IFOREST_LARGEST_FIRST ? 1 : -1);
	} else {
		item.row = bound_of_times(top_k, &first, &last);
	}
	if (!item.row.is_set || (filter && filter->of_node(filter->context, node) == IFOREST_COUNTS_NONE))
		return IFOREST_OK;
	return push(top_k, &item);
}

/* ---- Entries ---- */

static enum iforest_status find_in_block(struct iforest_top_k *top_k, struct iforest_block_reader *reader, unsigned number,
					 uint64_t *live)
{
	struct iforest_key first = iforest_leaf_block(reader->leaf, number).first;
	struct iforest_key from = in_series(top_k->question.from, first.series),
			   to = in_series(top_k->question.to, first.series);
	unsigned n_before = 0, n_within = reader->block.n;
	enum iforest_status status = IFOREST_OK;

	*live = 0;
	if (top_k->question.series) {
		uint32_t s = find_series(&top_k->question, first.series);

		if (s == top_k->question.n_series || top_k->question.series[s] != first.series)
			return IFOREST_OK;
	}
	if (iforest_key_compare(&first, &from) < 0)
		status = iforest_block_find(reader, &from, &n_before);
	if (!status && to.series == first.series)
		status = iforest_block_find(reader, &to, &n_within);
	*live = status ? 0 : iforest_low_bits(n_within) & ~iforest_low_bits(n_before) & ~reader->block.dead;
	if (!status && *live)
		status = iforest_value_predicate_entries(&top_k->question.match, reader, live);
	if (!status && *live && is_by_value(top_k)) {
		status = iforest_block_need(reader, IFOREST_VALUES + top_k->question.value);
		*live &= status ? 0 : reader->block.present[top_k->question.value];
	}
	if (!status && *live)
		status = iforest_block_need(reader, IFOREST_TIMES);
	return status || !*live ? status : iforest_block_need(reader, IFOREST_REFS);
}

static struct iforest_extreme row_at(const struct iforest_top_k *top_k, const struct iforest_block *block, unsigned i)
{
	return (struct iforest_extreme){ .value.integer = is_by_value(top_k) ? block->values[top_k->question.value][i] : 0,
					 .time = block->times[i],
					 .ref = block->refs[i],
					 .time_is_null = block->time_is_null,
					 .is_set = true };
}

/* Returns the first in order of the entries in *live, and clears those that do not come after `after`. */
static unsigned find_first(const struct iforest_top_k *top_k, const struct iforest_block *block,
			   const struct iforest_extreme *after, uint64_t *live, struct iforest_extreme *first)
{
	unsigned found = IFOREST_BLOCK_ENTRIES;

	for (uint64_t left = *live; left; left &= left - 1) {
		unsigned i = iforest_trailing_zeros(left);
		struct iforest_extreme row = row_at(top_k, block, i);

		if (after->is_set && row_order(top_k, &row, after) <= 0) {
			*live &= ~(UINT64_C(1) << i);
		} else if (found == IFOREST_BLOCK_ENTRIES || row_order(top_k, &row, first) < 0) {
			found = i;
			*first = row;
		}
	}
	return found;
}

/* Pushes the first n entries after a row of a block of the pinned leaf page. The filter checks only these. */
static enum iforest_status take_entries(struct iforest_top_k *top_k, uint32_t run, unsigned block, unsigned n,
					const struct iforest_extreme *after)
{
	struct iforest_cursor *cursor = &top_k->cursors[run];
	const struct iforest_filter *filter = filter_of(top_k, run);
	struct iforest_top_k_item item = { .run = run, .number = cursor->path[0].number, .block = (uint16_t)block };
	enum iforest_status status;
	uint64_t live;
	unsigned n_taken = 0;

	iforest_cursor_read_block(cursor, block);
	status = find_in_block(top_k, &cursor->reader, block, &live);
	while (!status && live && n_taken < n) {
		unsigned i = find_first(top_k, &cursor->reader.block, after, &live, &item.row);
		uint64_t counts = i < IFOREST_BLOCK_ENTRIES ? UINT64_C(1) << i : 0;

		live &= ~counts;
		if (counts && filter)
			status = filter->of_entries(filter->context, &cursor->reader, &counts);
		if (status || !counts)
			continue;
		n_taken++;
		item.entry = (uint8_t)i;
		item.n_taken = n_taken == n ? (uint8_t)n : 0;
		status = push(top_k, &item);
	}
	return status == IFOREST_NO_MEMORY ? status : iforest_cursor_report_leaf(cursor, status);
}

/* ---- The descent ---- */

static enum iforest_status open_node(struct iforest_top_k *top_k, const struct iforest_top_k_item *item)
{
	struct iforest_cursor *cursor = &top_k->cursors[item->run];
	uint64_t fanout = cursor->manifest->fanout;
	unsigned below = item->level - 1u;
	enum iforest_status status = iforest_cursor_pin(cursor, below, item->number);

	if (below == 0)
		for (unsigned b = 0; !status && b < cursor->leaf.header.n_items; b++)
			status = take_entries(top_k, item->run, b, 1, &top_k->question.after);
	else
		for (unsigned c = 0; !status && c < cursor->path[below].header.n_items; c++)
			status = offer_node(top_k, item->run, below, item->number * fanout + c,
					    iforest_cursor_sibling(cursor, below, c));
	return status;
}

static enum iforest_status give_entry(struct iforest_top_k *top_k, const struct iforest_top_k_item *item,
				      struct iforest_entry *entry)
{
	struct iforest_cursor *cursor = &top_k->cursors[item->run];
	uint32_t columns = top_k->question.values << IFOREST_VALUES | 1u << IFOREST_TIMES | 1u << IFOREST_REFS;
	const struct iforest_block *block;
	enum iforest_status status;

	iforest_cursor_stand_at(cursor, item->number, item->block, item->entry);
	status = iforest_cursor_block(cursor, columns, &block);
	if (status)
		return status;
	iforest_block_entry(block, item->entry, top_k->question.values, entry);
	if (item->n_taken > 0)
		status = take_entries(top_k, item->run, item->block,
				      item->n_taken < MOST_TAKEN ? 2u * item->n_taken : MOST_TAKEN, &item->row);
	return status;
}

enum iforest_status iforest_top_k_start(struct iforest_top_k *top_k, const struct iforest_top_k_question *question)
{
	enum iforest_status status = IFOREST_OK;

	top_k->question = *question;
	top_k->heap.context = top_k;
	top_k->heap.n = top_k->n_items = top_k->n_unused = 0;
	if (is_by_value(top_k) && top_k->n_cursors > 0) {
		struct iforest_value_predicate *match = &top_k->question.match;

		top_k->type = (enum iforest_value_type)top_k->cursors[0].manifest->fields.value_types[question->value];
		/* a bound that excludes nodes with nothing after it */
		if (question->after.is_set && question->order == IFOREST_LARGEST_FIRST)
			iforest_value_predicate_at_most(match, question->value, question->after.value, top_k->type);
		else if (question->after.is_set)
			iforest_value_predicate_at_least(match, question->value, question->after.value, top_k->type);
	}
	for (uint32_t r = 0; r < top_k->n_cursors && !status; r++)
		status = offer_node(top_k, r, top_k->cursors[r].run->n_levels + 1, 0, top_k->cursors[r].run->root);
	return status;
}

enum iforest_status iforest_top_k_next(struct iforest_top_k *top_k, struct iforest_entry *entry, bool *found)
{
	enum iforest_status status = IFOREST_OK;

	*found = false;
	while (!status && !*found && top_k->heap.n > 0) {
		struct iforest_top_k_item item = pop(top_k);

		*found = item.level == 0;
		status = *found ? give_entry(top_k, &item, entry) : open_node(top_k, &item);
	}
	return status;
}

uint64_t iforest_top_k_pages(const struct iforest_top_k *top_k)
{
	uint64_t n_pages = 0;

	for (uint32_t r = 0; r < top_k->n_cursors; r++)
		n_pages += top_k->cursors[r].n_pages_opened;
	return n_pages;
}
