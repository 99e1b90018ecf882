#include "core/query/iterator.h"

#include "core/run/cursor.h"

void iforest_run_iterator_init(struct iforest_run_iterator *walk, struct iforest_store *store,
			       const struct iforest_manifest *manifest, const struct iforest_run *run)
{
	walk->question = NULL;
	iforest_cursor_init(&walk->cursor, store, manifest, run);
	walk->is_at_end = true;
}

void iforest_run_iterator_release(struct iforest_run_iterator *walk)
{
	iforest_cursor_release(&walk->cursor);
	walk->is_at_end = true;
}

void iforest_run_iterator_start(struct iforest_run_iterator *walk, const struct iforest_iterator_question *question)
{
	walk->question = question;
	walk->is_started = walk->is_at_end = walk->has_given = walk->leaf_is_open = walk->has_node = walk->gave_node = false;
	walk->left = 0;
	walk->n_blocks_left = 0;
	walk->stretch_end = question->from;
}

void iforest_run_iterator_stretch(struct iforest_run_iterator *walk, const struct iforest_key *end)
{
	walk->stretch_end = *end;
}

bool iforest_run_iterator_may_begin(const struct iforest_run_iterator *walk, struct iforest_key *bound)
{
	const struct iforest_iterator_question *question = walk->question;
	const uint8_t *root = walk->cursor.run->root;
	struct iforest_key first = iforest_node_first(root), last = iforest_node_last(root);

	*bound = question->descends ? last : first;
	return iforest_key_compare(&last, &question->from) >= 0 && iforest_key_compare(&first, &question->to) < 0 &&
	       iforest_value_predicate_node(&question->match, &walk->cursor.manifest->fields, root);
}

/* ---- leaf pages ---- */

enum answer { MAY_HOLD, HAS_NONE, IS_BEYOND, IS_TAKEN };

static bool is_inside(const struct iforest_iterator_question *question, const struct iforest_key *first,
		      const struct iforest_key *last)
{
	return iforest_key_compare(first, &question->from) >= 0 && iforest_key_compare(last, &question->to) < 0;
}

/* May a node be given whole by its width? */
static bool is_narrow(const struct iforest_run_iterator *walk, const uint8_t *node, const struct iforest_key *first,
		      const struct iforest_key *last)
{
	return walk->question->takes_nodes && iforest_node_dead(node) == 0 &&
	       (uint64_t)last->time - (uint64_t)first->time <= walk->question->node_width;
}

/* Is node i of the level given whole? Then it is noted. */
static enum iforest_status take_node(struct iforest_run_iterator *walk, unsigned level, uint64_t i, const uint8_t *node,
				     bool *taken)
{
	const struct iforest_node_schema *fields = &walk->cursor.manifest->fields;
	const struct iforest_node_taker *taker = walk->question->taker;
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);
	enum iforest_status status = IFOREST_OK;

	*taken = false;
	if (!walk->leaf_is_inside || !walk->leaf_is_judged || first.series != last.series || last.time_is_null ||
	    first.time > last.time)
		return IFOREST_OK;
	if (!taker)
		*taken = is_narrow(walk, node, &first, &last);
	else if (iforest_key_compare(&last, &walk->stretch_end) < 0)
		status = taker->take(taker->context, &walk->cursor, level, i, node, taken);
	if (status || !*taken)
		return status;
	walk->has_node = true;
	walk->node_first = first;
	walk->node_last = last;
	walk->node_end = fields->latest_end_offset ? iforest_node_latest_end(node, fields) : last.time;
	return IFOREST_OK;
}

/* What node i of the level says. Of a leaf page's node it is noted what need not be asked of its entries. */
static enum iforest_status ask_node(struct iforest_run_iterator *walk, unsigned level, uint64_t i, enum answer *answer)
{
	const struct iforest_iterator_question *question = walk->question;
	const struct iforest_filter *filter = question->filter;
	enum iforest_filter_class filter_class = IFOREST_COUNTS_ALL;
	struct iforest_key first, last;
	const uint8_t *node;
	bool is_taken = false;
	enum iforest_status status = iforest_cursor_node(&walk->cursor, level, i, &node);

	if (status)
		return status;
	first = iforest_node_first(node);
	last = iforest_node_last(node);
	*answer = HAS_NONE;
	if (iforest_key_compare(&first, &question->to) >= 0 || iforest_key_compare(&last, &question->from) < 0) {
		bool comes_after = iforest_key_compare(&first, &question->to) >= 0;

		*answer = comes_after != question->descends ? IS_BEYOND : HAS_NONE;
	} else if (iforest_value_predicate_node(&question->match, &walk->cursor.manifest->fields, node)) {
		if (filter)
			filter_class = filter->of_node(filter->context, node);
		*answer = filter_class == IFOREST_COUNTS_NONE ? HAS_NONE : MAY_HOLD;
	}
	walk->leaf_is_inside = is_inside(question, &first, &last);
	walk->leaf_is_judged = filter_class == IFOREST_COUNTS_ALL;
	if (*answer == MAY_HOLD)
		status = take_node(walk, level, i, node, &is_taken);
	if (is_taken)
		*answer = IS_TAKEN;
	return status;
}

/* Does the node of so many leaf pages in which the leaf lies begin with it, or end with it where the walk descends? */
static bool is_at_edge(const struct iforest_run_iterator *walk, uint64_t leaf, uint64_t n_below)
{
	if (!walk->question->descends)
		return leaf % n_below == 0;
	return (leaf + 1) % n_below == 0 || leaf + 1 == walk->cursor.run->n_leaves;
}

/* Passes leaf pages, from where the walk stands, up to one that may hold something. Of the nodes that begin there the largest
 * is asked first. */
static enum iforest_status find_leaf(struct iforest_run_iterator *walk)
{
	const struct iforest_cursor *cursor = &walk->cursor;
	uint64_t fanout = cursor->manifest->fanout, n_leaves = cursor->run->n_leaves;

	while (!walk->is_at_end && !walk->has_node) {
		uint64_t n_below = 1, i;
		unsigned level = 1;
		enum answer answer;
		enum iforest_status status;

		for (; level <= cursor->run->n_levels && is_at_edge(walk, walk->leaf_number, n_below * fanout); level++)
			n_below *= fanout;
		status = ask_node(walk, level, walk->leaf_number / n_below, &answer);
		for (; !status && answer == MAY_HOLD && level > 1; level--) {
			n_below /= fanout;
			status = ask_node(walk, level - 1, walk->leaf_number / n_below, &answer);
		}
		if (status || answer == MAY_HOLD)
			return status;
		i = walk->leaf_number / n_below;
		walk->leaf_number = walk->question->descends ? i * n_below - 1 : (i + 1) * n_below;
		walk->is_at_end = answer == IS_BEYOND || (walk->question->descends ? i == 0 : walk->leaf_number >= n_leaves);
	}
	return IFOREST_OK;
}

/* To the leaf page in which the first entry would stand. */
static enum iforest_status find_start(struct iforest_run_iterator *walk)
{
	struct iforest_cursor *cursor = &walk->cursor;
	bool descends = walk->question->descends;
	enum iforest_status status = iforest_cursor_seek(cursor, descends ? &walk->question->to : &walk->question->from);

	if (status)
		return status;
	walk->is_started = true;
	walk->leaf_number = cursor->leaf_number;
	if (descends && cursor->block == 0 && cursor->entry == 0)
		walk->leaf_number--; /* of 0: beyond all, as is the end of the run for the other direction */
	walk->is_at_end = walk->leaf_number >= cursor->run->n_leaves;
	return IFOREST_OK;
}

/* ---- blocks ---- */

/* The entries of the block that the reader stands on whose keys lie in [from, to). */
static enum iforest_status find_range(struct iforest_run_iterator *walk, unsigned number, uint64_t *range)
{
	struct iforest_block_reader *reader = &walk->cursor.reader;
	struct iforest_key first = iforest_leaf_block(&walk->cursor.leaf, number).first;
	unsigned from = 0, to = 0;
	enum iforest_status status = IFOREST_OK;

	if (iforest_key_compare(&first, &walk->question->from) < 0)
		status = iforest_block_find(reader, &walk->question->from, &from);
	if (!status && iforest_key_compare(&first, &walk->question->to) < 0)
		status = iforest_block_find(reader, &walk->question->to, &to);
	*range = iforest_low_bits(to) & ~iforest_low_bits(from);
	return status;
}

/* Which entries of a block of the leaf page that is pinned are to be given; their times, refs and values are unpacked. */
static enum iforest_status enter_block(struct iforest_run_iterator *walk, unsigned number)
{
	const struct iforest_iterator_question *question = walk->question;
	struct iforest_block_reader *reader = &walk->cursor.reader;
	enum iforest_status status = IFOREST_OK;
	uint64_t live;

	iforest_cursor_read_block(&walk->cursor, number);
	live = iforest_low_bits(reader->block.n);
	if (!walk->leaf_is_inside)
		status = find_range(walk, number, &live);
	live &= ~reader->block.dead;
	if (!status && live)
		status = iforest_value_predicate_entries(&question->match, reader, &live);
	if (!status && live && !walk->leaf_is_judged)
		status = question->filter->of_entries(question->filter->context, reader, &live);
	if (!status && live)
		status = iforest_block_need(reader, IFOREST_TIMES);
	if (!status && live)
		status = iforest_block_need(reader, IFOREST_REFS);
	for (unsigned v = 0; v < walk->cursor.manifest->fields.n_values && live && !status; v++)
		if (question->values >> v & 1)
			status = iforest_block_need(reader, IFOREST_VALUES + v);
	walk->left = status ? 0 : live;
	return iforest_cursor_report_leaf(&walk->cursor, status);
}

/* Moves to the next block that has something to give. */
static enum iforest_status find_block(struct iforest_run_iterator *walk)
{
	enum iforest_status status = IFOREST_OK;

	while (!status && walk->left == 0 && !walk->is_at_end) {
		unsigned n_blocks = walk->cursor.leaf.header.n_items;

		if (walk->leaf_is_open && walk->n_blocks_left > 0) {
			walk->n_blocks_left--;
			status = enter_block(walk, walk->question->descends ? walk->n_blocks_left
									    : n_blocks - 1 - walk->n_blocks_left);
			continue;
		}
		if (walk->leaf_is_open) {
			walk->leaf_is_open = false;
			walk->is_at_end = walk->question->descends ? walk->leaf_number-- == 0
								   : ++walk->leaf_number == walk->cursor.run->n_leaves;
		}
		status = find_leaf(walk);
		if (status || walk->is_at_end || walk->has_node)
			break;
		status = iforest_cursor_pin(&walk->cursor, 0, walk->leaf_number);
		walk->leaf_is_open = !status;
		walk->n_blocks_left = walk->cursor.leaf.header.n_items;
	}
	return status;
}

/* ---- entries ---- */

/* A page whose checksum is right may still be forged; what several runs are merged by must be in order. */
static enum iforest_status check_order(struct iforest_run_iterator *walk, const struct iforest_key *key)
{
	int order = walk->has_given ? iforest_key_compare(key, &walk->last_given) : 0;

	if (walk->has_given && (walk->question->descends ? order >= 0 : order <= 0))
		return iforest_cursor_report_corrupt(&walk->cursor, IFOREST_CORRUPT, "entries are out of order", 0,
						     walk->leaf_number);
	walk->last_given = *key;
	walk->has_given = true;
	return IFOREST_OK;
}

enum iforest_status iforest_run_iterator_next(struct iforest_run_iterator *walk, struct iforest_entry *entry, bool *found)
{
	enum iforest_status status = walk->is_started ? IFOREST_OK : find_start(walk);
	unsigned i;

	*found = false;
	if (!status)
		status = find_block(walk);
	walk->gave_node = walk->has_node;
	if (!status && walk->has_node) {
		*entry = (struct iforest_entry){ .key = walk->node_first };
		walk->has_node = false;
		*found = true;
		status = check_order(walk, &entry->key);
		walk->last_given = walk->node_last;
		walk->last_given.ref = INT64_MIN; /* of the last key it is not known */
		return status;
	}
	if (status || walk->left == 0)
		return status;
	i = walk->question->descends ? iforest_highest_bit(walk->left) : iforest_trailing_zeros(walk->left);
	walk->left &= ~(UINT64_C(1) << i);
	iforest_block_entry(&walk->cursor.reader.block, i, walk->question->values, entry);
	*found = true;
	return check_order(walk, &entry->key);
}

/* ---- Merged over all runs ---- */

static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
	const struct iforest_iterator *walk = context;
	const struct iforest_iterator_head *x = &walk->heads[a], *y = &walk->heads[b];
	int order = iforest_key_compare(&x->bound, &y->bound);

	if (order)
		return walk->question.descends ? order > 0 : order < 0;
	return !x->is_found && y->is_found; /* what is not known yet may be the same key, and has to be looked at */
}

static enum iforest_status add_runs(struct iforest_iterator *walk, struct iforest_store *store,
				    const struct iforest_manifest *manifest, bool is_joined)
{
	const struct iforest_alloc *alloc = walk->store->alloc;
	uint32_t n = walk->n_heads + manifest->n_runs;
	struct iforest_iterator_head *heads;
	uint32_t *items;

	if (manifest->n_runs == 0)
		return IFOREST_OK;
	heads = alloc->reallocate(alloc->context, walk->heads, n * sizeof *heads);
	if (!heads)
		return IFOREST_NO_MEMORY;
	walk->heads = heads;
	items = alloc->reallocate(alloc->context, walk->heap.items, n * sizeof *items);
	if (!items)
		return IFOREST_NO_MEMORY;
	walk->heap.items = items;
	walk->heap.n_reserved = n;
	for (uint32_t r = 0; r < manifest->n_runs; r++) {
		struct iforest_iterator_head *head = &heads[walk->n_heads + r];

		iforest_run_iterator_init(&head->run, store, manifest, &manifest->runs[r]);
		head->is_joined = is_joined;
	}
	walk->n_heads = n;
	return IFOREST_OK;
}

enum iforest_status iforest_iterator_init(struct iforest_iterator *walk, struct iforest_store *store,
					  const struct iforest_manifest *manifest)
{
	enum iforest_status status;

	walk->store = store;
	walk->heads = NULL;
	walk->n_heads = 0;
	walk->heap = (struct iforest_priority_queue){ .comes_before = comes_before };
	status = add_runs(walk, store, manifest, false);
	if (status)
		iforest_iterator_release(walk);
	return status;
}

enum iforest_status iforest_iterator_join(struct iforest_iterator *walk, struct iforest_store *store,
					  const struct iforest_manifest *manifest)
{
	return add_runs(walk, store, manifest, true);
}

void iforest_iterator_release(struct iforest_iterator *walk)
{
	for (uint32_t r = 0; r < walk->n_heads; r++)
		iforest_run_iterator_release(&walk->heads[r].run);
	iforest_release(walk->store->alloc, walk->heads);
	iforest_priority_queue_release(&walk->heap, walk->store->alloc);
	walk->heads = NULL;
	walk->n_heads = 0;
}

void iforest_iterator_start(struct iforest_iterator *walk, const struct iforest_iterator_question *question)
{
	walk->question = walk->joined = *question;
	walk->joined.filter = NULL;
	walk->stretch_end = question->from;
	walk->heap.context = walk;
	walk->heap.n = 0;
	for (uint32_t r = 0; r < walk->n_heads; r++) {
		struct iforest_iterator_head *head = &walk->heads[r];

		iforest_run_iterator_start(&head->run, head->is_joined ? &walk->joined : &walk->question);
		head->is_found = false;
		if (iforest_run_iterator_may_begin(&head->run, &head->bound))
			iforest_priority_queue_push(&walk->heap, walk->store->alloc, r); /* there is room for all */
	}
}

void iforest_iterator_stretch(struct iforest_iterator *walk, const struct iforest_key *end)
{
	walk->stretch_end = *end;
}

/* Up to where the run that comes first has no others beside it: the next two in the heap are the first of all others. */
static struct iforest_key end_of_stretch(const struct iforest_iterator *walk)
{
	struct iforest_key end = walk->stretch_end;

	for (uint32_t k = 1; k <= 2 && k < walk->heap.n; k++) {
		const struct iforest_key *bound = &walk->heads[walk->heap.items[k]].bound;

		if (iforest_key_compare(bound, &end) < 0)
			end = *bound;
	}
	return end;
}

enum iforest_status iforest_iterator_next(struct iforest_iterator *walk, struct iforest_entry *entry, bool *found)
{
	enum iforest_status status = IFOREST_OK;

	*found = false;
	while (!status && !*found && walk->heap.n > 0) {
		struct iforest_iterator_head *head = &walk->heads[walk->heap.items[0]];

		if (head->is_found) {
			/* the key stays the run's bound: what comes next is looked for when it is asked for */
			*entry = head->entry;
			*found = true;
			head->is_found = false;
			continue;
		}
		if (walk->question.taker && iforest_run_iterator_looks(&head->run)) {
			struct iforest_key end = end_of_stretch(walk);

			iforest_run_iterator_stretch(&head->run, &end);
		}
		status = iforest_run_iterator_next(&head->run, &head->entry, &head->is_found);
		if (!head->is_found) {
			iforest_priority_queue_pop(&walk->heap);
			continue;
		}
		head->bound = head->entry.key;
		iforest_priority_queue_settle(&walk->heap);
	}
	return status;
}

bool iforest_iterator_gave_node(const struct iforest_iterator *walk, int64_t *end)
{
	const struct iforest_run_iterator *run = &walk->heads[walk->heap.items[0]].run;

	*end = run->node_end;
	return run->gave_node;
}

uint64_t iforest_iterator_pages(const struct iforest_iterator *walk)
{
	uint64_t n_pages = 0;

	for (uint32_t r = 0; r < walk->n_heads; r++)
		n_pages += walk->heads[r].run.cursor.n_pages_opened;
	return n_pages;
}
