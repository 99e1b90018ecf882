#include "core/query/iterator.h"

#include "core/run/cursor.h"

void iforest_run_iterator_init(struct iforest_run_iterator *iterator, struct iforest_store *store,
			       const struct iforest_manifest *manifest, const struct iforest_run *run)
{
	iterator->question = NULL;
	iforest_cursor_init(&iterator->cursor, store, manifest, run);
	iterator->is_at_end = true;
}

void iforest_run_iterator_release(struct iforest_run_iterator *iterator)
{
	iforest_cursor_release(&iterator->cursor);
	iterator->is_at_end = true;
}

void iforest_run_iterator_start(struct iforest_run_iterator *iterator, const struct iforest_iterator_question *question)
{
	iterator->question = question;
	iterator->is_started = iterator->is_at_end = iterator->has_given = iterator->leaf_is_open = iterator->has_node =
		iterator->gave_node = false;
	iterator->left = 0;
	iterator->stretch_end = question->from;
}

bool iforest_run_iterator_may_begin(const struct iforest_run_iterator *iterator, struct iforest_key *bound)
{
	const struct iforest_iterator_question *question = iterator->question;
	const uint8_t *root = iterator->cursor.run->root;
	struct iforest_key first = iforest_node_first(root), last = iforest_node_last(root);

	*bound = question->descends ? last : first;
	return iforest_key_compare(&last, &question->from) >= 0 && iforest_key_compare(&first, &question->to) < 0 &&
	       iforest_value_predicate_node(&question->match, &iterator->cursor.manifest->fields, root) != IFOREST_COUNTS_NONE;
}

/* ---- Nodes and leaf pages ---- */

enum node_class { MAY_HOLD, HAS_NONE, IS_BEYOND, IS_TAKEN };

static bool is_inside(const struct iforest_iterator_question *question, const struct iforest_key *first,
		      const struct iforest_key *last)
{
	return iforest_key_compare(first, &question->from) >= 0 && iforest_key_compare(last, &question->to) < 0;
}

/* True if a node is narrow enough to be returned whole. */
static bool is_narrow(const struct iforest_run_iterator *iterator, const uint8_t *node, const struct iforest_key *first,
		      const struct iforest_key *last)
{
	return iterator->question->takes_nodes && iforest_node_dead(node) == 0 &&
	       (uint64_t)last->time - (uint64_t)first->time <= iterator->question->node_width;
}

/* Makes node i of the level the next item, if it is returned whole. */
static enum iforest_status take_node(struct iforest_run_iterator *iterator, unsigned level, uint64_t i, const uint8_t *node,
				     bool *taken)
{
	const struct iforest_node_schema *fields = &iterator->cursor.manifest->fields;
	const struct iforest_node_taker *taker = iterator->question->taker;
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);
	enum iforest_status status = IFOREST_OK;

	*taken = false;
	if (!iterator->leaf_is_inside || !iterator->leaf_counts_whole || first.series != last.series || last.time_is_null ||
	    first.time > last.time)
		return IFOREST_OK;
	if (!taker)
		*taken = is_narrow(iterator, node, &first, &last);
	else if (iforest_key_compare(&last, &iterator->stretch_end) < 0)
		status = taker->take(taker->context, &iterator->cursor, level, i, node, taken);
	if (status || !*taken)
		return status;
	iterator->has_node = true;
	iterator->node_first = first;
	iterator->node_last = last;
	iterator->node_end = fields->latest_end_offset ? iforest_node_latest_end(node, fields) : last.time;
	return IFOREST_OK;
}

/* Decides by node i of a level whether the entries below are skipped. For a leaf page's node it records which checks its
 * entries do not need. */
static enum iforest_status ask_node(struct iforest_run_iterator *iterator, unsigned level, uint64_t i, enum node_class *answer)
{
	const struct iforest_iterator_question *question = iterator->question;
	const struct iforest_filter *filter = question->filter;
	enum iforest_filter_class filter_class = IFOREST_COUNTS_ALL;
	struct iforest_key first, last;
	const uint8_t *node;
	bool is_taken = false;
	enum iforest_status status = iforest_cursor_node(&iterator->cursor, level, i, &node);

	if (status)
		return status;
	first = iforest_node_first(node);
	last = iforest_node_last(node);
	*answer = HAS_NONE;
	if (iforest_key_compare(&first, &question->to) >= 0 || iforest_key_compare(&last, &question->from) < 0) {
		bool comes_after = iforest_key_compare(&first, &question->to) >= 0;

		*answer = comes_after != question->descends ? IS_BEYOND : HAS_NONE;
	} else if (iforest_value_predicate_node(&question->match, &iterator->cursor.manifest->fields, node) !=
		   IFOREST_COUNTS_NONE) {
		if (filter)
			filter_class = filter->of_node(filter->context, node);
		*answer = filter_class == IFOREST_COUNTS_NONE ? HAS_NONE : MAY_HOLD;
	}
	iterator->leaf_is_inside = is_inside(question, &first, &last);
	iterator->leaf_counts_whole = filter_class == IFOREST_COUNTS_ALL;
	if (*answer == MAY_HOLD)
		status = take_node(iterator, level, i, node, &is_taken);
	if (is_taken)
		*answer = IS_TAKEN;
	return status;
}

/* True if the node of n_leaves leaf pages that contains the leaf page begins with it (ends with it, when the iterator
 * descends). */
static bool is_at_edge(const struct iforest_run_iterator *iterator, uint64_t leaf, uint64_t n_below)
{
	if (!iterator->question->descends)
		return leaf % n_below == 0;
	return (leaf + 1) % n_below == 0 || leaf + 1 == iterator->cursor.run->n_leaves;
}

/* Skips leaf pages from the position up to one that may have a matching entry. Tries the largest node that begins there
 * first. */
static enum iforest_status find_leaf(struct iforest_run_iterator *iterator)
{
	const struct iforest_cursor *cursor = &iterator->cursor;
	uint64_t fanout = cursor->manifest->fanout, n_leaves = cursor->run->n_leaves;

	while (!iterator->is_at_end && !iterator->has_node) {
		uint64_t n_below = 1, i;
		unsigned level = 1;
		enum node_class answer;
		enum iforest_status status;

		for (; level <= cursor->run->n_levels && is_at_edge(iterator, iterator->leaf_number, n_below * fanout); level++)
			n_below *= fanout;
		status = ask_node(iterator, level, iterator->leaf_number / n_below, &answer);
		for (; !status && answer == MAY_HOLD && level > 1; level--) {
			n_below /= fanout;
			status = ask_node(iterator, level - 1, iterator->leaf_number / n_below, &answer);
		}
		if (status || answer == MAY_HOLD)
			return status;
		i = iterator->leaf_number / n_below;
		iterator->leaf_number = iterator->question->descends ? i * n_below - 1 : (i + 1) * n_below;
		iterator->is_at_end =
			answer == IS_BEYOND || (iterator->question->descends ? i == 0 : iterator->leaf_number >= n_leaves);
	}
	return IFOREST_OK;
}

/* Moves to the leaf page with the first entry of the range in the iterator's direction. */
static enum iforest_status find_start(struct iforest_run_iterator *iterator)
{
	struct iforest_cursor *cursor = &iterator->cursor;
	bool descends = iterator->question->descends;
	enum iforest_status status =
		iforest_cursor_seek(cursor, descends ? &iterator->question->to : &iterator->question->from);

	if (status)
		return status;
	iterator->is_started = true;
	iterator->leaf_number = cursor->leaf_number;
	if (descends && cursor->block == 0 && cursor->entry == 0)
		iterator->leaf_number--; /* wraps around at leaf page 0: the end in this direction */
	iterator->is_at_end = iterator->leaf_number >= cursor->run->n_leaves;
	return IFOREST_OK;
}

/* ---- Blocks ---- */

/* Finds the entries of the reader's block whose keys lie in [from, to). No further block is entered after the one in which the
 * range ends. */
static enum iforest_status find_range(struct iforest_run_iterator *iterator, unsigned number, uint64_t *range)
{
	const struct iforest_iterator_question *question = iterator->question;
	const struct iforest_leaf *leaf = &iterator->cursor.leaf;
	struct iforest_block_reader *reader = &iterator->cursor.reader;
	struct iforest_key first = iforest_leaf_block(leaf, number).first, next = question->to;
	unsigned from = 0, to = reader->block.n;
	enum iforest_status status = IFOREST_OK;

	if (number + 1 < leaf->header.n_items)
		next = iforest_leaf_block(leaf, number + 1).first;
	if (iforest_key_compare(&first, &question->from) < 0) {
		status = iforest_block_find(reader, &question->from, &from);
		iterator->next_block = question->descends ? number : iterator->next_block;
	}
	if (!status && (number + 1 == leaf->header.n_items || iforest_key_compare(&next, &question->to) > 0)) {
		status = iforest_block_find(reader, &question->to, &to);
		iterator->end_block = question->descends ? iterator->end_block : number + 1;
	}
	*range = iforest_low_bits(to) & ~iforest_low_bits(from);
	return status;
}

/* Decides which entries of a block of the pinned leaf page are returned, and unpacks their times, refs and values. */
static enum iforest_status enter_block(struct iforest_run_iterator *iterator, unsigned number)
{
	const struct iforest_iterator_question *question = iterator->question;
	struct iforest_block_reader *reader = &iterator->cursor.reader;
	enum iforest_status status = IFOREST_OK;
	uint64_t live;

	iforest_cursor_read_block(&iterator->cursor, number);
	live = iforest_low_bits(reader->block.n);
	if (!iterator->leaf_is_inside)
		status = find_range(iterator, number, &live);
	live &= ~reader->block.dead;
	if (!status && live)
		status = iforest_value_predicate_entries(&question->match, reader, &live);
	if (!status && live && !iterator->leaf_counts_whole)
		status = question->filter->of_entries(question->filter->context, reader, &live);
	if (!status && live)
		status = iforest_block_need(reader, IFOREST_TIMES);
	if (!status && live)
		status = iforest_block_need(reader, IFOREST_REFS);
	for (unsigned v = 0; v < iterator->cursor.manifest->fields.n_values && live && !status; v++)
		if (question->values >> v & 1)
			status = iforest_block_need(reader, IFOREST_VALUES + v);
	iterator->left = status ? 0 : live;
	return iforest_cursor_report_leaf(&iterator->cursor, status);
}

/* Enters a leaf page; the one in which the range begins, at the block found. */
static enum iforest_status enter_leaf(struct iforest_run_iterator *iterator)
{
	struct iforest_cursor *cursor = &iterator->cursor;
	enum iforest_status status = iforest_cursor_pin(cursor, 0, iterator->leaf_number);

	if (status)
		return status;
	iterator->leaf_is_open = true;
	iterator->next_block = 0;
	iterator->end_block = cursor->leaf.header.n_items;
	if (iterator->leaf_number == cursor->leaf_number && iterator->question->descends)
		iterator->end_block = cursor->block + 1;
	else if (iterator->leaf_number == cursor->leaf_number)
		iterator->next_block = cursor->block;
	return IFOREST_OK;
}

/* Moves to the next block that has a matching entry. */
static enum iforest_status find_block(struct iforest_run_iterator *iterator)
{
	enum iforest_status status = IFOREST_OK;

	while (!status && iterator->left == 0 && !iterator->is_at_end) {
		if (iterator->leaf_is_open && iterator->next_block < iterator->end_block) {
			status = enter_block(iterator,
					     iterator->question->descends ? --iterator->end_block : iterator->next_block++);
			continue;
		}
		if (iterator->leaf_is_open) {
			iterator->leaf_is_open = false;
			iterator->is_at_end = iterator->question->descends
						      ? iterator->leaf_number-- == 0
						      : ++iterator->leaf_number == iterator->cursor.run->n_leaves;
		}
		status = find_leaf(iterator);
		if (status || iterator->is_at_end || iterator->has_node)
			break;
		status = enter_leaf(iterator);
	}
	return status;
}

/* ---- Entries ---- */

static bool is_in_order(const struct iforest_run_iterator *iterator, const struct iforest_key *key)
{
	int order = iterator->has_given ? iforest_key_compare(key, &iterator->last_given) : 0;

	return !iterator->has_given || (iterator->question->descends ? order < 0 : order > 0);
}

/* Checks that entries lie in the range and ascend: the merge and callers rely on it, and a page with a valid checksum may be
 * forged. */
static enum iforest_status check_order(struct iforest_run_iterator *iterator, const struct iforest_key *key)
{
	if (!is_in_order(iterator, key) || iforest_key_compare(key, &iterator->question->from) < 0 ||
	    iforest_key_compare(key, &iterator->question->to) >= 0)
		return iforest_cursor_report_corrupt(&iterator->cursor, IFOREST_CORRUPT, "entries are out of order", 0,
						     iterator->leaf_number);
	iterator->last_given = *key;
	iterator->has_given = true;
	return IFOREST_OK;
}

static enum iforest_status give_node(struct iforest_run_iterator *iterator, struct iforest_entry *entry)
{
	enum iforest_status status;

	*entry = (struct iforest_entry){ .key = iterator->node_first };
	iterator->has_node = false;
	status = check_order(iterator, &entry->key);
	iterator->last_given = iterator->node_last;
	iterator->last_given.ref = INT64_MIN; /* last keys of nodes have no ref */
	return status;
}

/* Takes the next entry of the open block. */
static unsigned next_bit(struct iforest_run_iterator *iterator)
{
	unsigned i =
		iterator->question->descends ? iforest_highest_bit(iterator->left) : iforest_trailing_zeros(iterator->left);

	iterator->left &= ~(UINT64_C(1) << i);
	return i;
}

static enum iforest_status give_entry(struct iforest_run_iterator *iterator, struct iforest_entry *entry)
{
	iforest_block_entry(&iterator->cursor.reader.block, next_bit(iterator), iterator->question->values, entry);
	return check_order(iterator, &entry->key);
}

enum iforest_status iforest_run_iterator_next(struct iforest_run_iterator *iterator, struct iforest_entry *entry, bool *found)
{
	enum iforest_status status = IFOREST_OK;

	*found = false;
	if (iterator->left == 0) {
		if (!iterator->is_started)
			status = find_start(iterator);
		if (!status)
			status = find_block(iterator);
		if (status)
			return status;
	}
	iterator->gave_node = iterator->has_node;
	*found = iterator->has_node || iterator->left != 0;
	if (!*found)
		return IFOREST_OK;
	return iterator->has_node ? give_node(iterator, entry) : give_entry(iterator, entry);
}

/* ---- Merged over all runs ---- */

static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
	const struct iforest_iterator *iterator = context;
	const struct iforest_iterator_head *x = &iterator->heads[a], *y = &iterator->heads[b];
	int order = iforest_key_compare(&x->bound, &y->bound);

	if (order)
		return iterator->question.descends ? order > 0 : order < 0;
	return !x->is_found && y->is_found; /* a head with only a bound may have the same key, so it comes first */
}

static enum iforest_status add_runs(struct iforest_iterator *iterator, struct iforest_store *store,
				    const struct iforest_manifest *manifest, bool is_joined)
{
	const struct iforest_alloc *alloc = iterator->store->alloc;
	uint32_t n = iterator->n_heads + manifest->n_runs;
	struct iforest_iterator_head *heads;
	uint32_t *items;

	if (manifest->n_runs == 0)
		return IFOREST_OK;
	heads = alloc->reallocate(alloc->context, iterator->heads, n * sizeof *heads);
	if (!heads)
		return IFOREST_NO_MEMORY;
	iterator->heads = heads;
	items = alloc->reallocate(alloc->context, iterator->heap.items, n * sizeof *items);
	if (!items)
		return IFOREST_NO_MEMORY;
	iterator->heap.items = items;
	iterator->heap.n_reserved = n;
	for (uint32_t r = 0; r < manifest->n_runs; r++) {
		struct iforest_iterator_head *head = &heads[iterator->n_heads + r];

		iforest_run_iterator_init(&head->run, store, manifest, &manifest->runs[r]);
		head->is_joined = is_joined;
	}
	iterator->n_heads = n;
	return IFOREST_OK;
}

enum iforest_status iforest_iterator_init(struct iforest_iterator *iterator, struct iforest_store *store,
					  const struct iforest_manifest *manifest)
{
	enum iforest_status status;

	iterator->store = store;
	iterator->heads = NULL;
	iterator->n_heads = 0;
	iterator->heap = (struct iforest_priority_queue){ .comes_before = comes_before };
	status = add_runs(iterator, store, manifest, false);
	if (status)
		iforest_iterator_release(iterator);
	return status;
}

enum iforest_status iforest_iterator_join(struct iforest_iterator *iterator, struct iforest_store *store,
					  const struct iforest_manifest *manifest)
{
	return add_runs(iterator, store, manifest, true);
}

void iforest_iterator_release(struct iforest_iterator *iterator)
{
	for (uint32_t r = 0; r < iterator->n_heads; r++)
		iforest_run_iterator_release(&iterator->heads[r].run);
	iforest_release(iterator->store->alloc, iterator->heads);
	iforest_priority_queue_release(&iterator->heap, iterator->store->alloc);
	iterator->heads = NULL;
	iterator->n_heads = 0;
}

void iforest_iterator_start(struct iforest_iterator *iterator, const struct iforest_iterator_question *question)
{
	iterator->question = iterator->joined = *question;
	iterator->joined.filter = NULL;
	iterator->stretch_end = question->from;
	iterator->heap.context = iterator;
	iterator->heap.n = 0;
	for (uint32_t r = 0; r < iterator->n_heads; r++) {
		struct iforest_iterator_head *head = &iterator->heads[r];

		iforest_run_iterator_start(&head->run, head->is_joined ? &iterator->joined : &iterator->question);
		head->is_found = false;
		if (iforest_run_iterator_may_begin(&head->run, &head->bound))
			iforest_priority_queue_push(&iterator->heap, iterator->store->alloc, r); /* there is room for all */
	}
}

void iforest_iterator_stretch(struct iforest_iterator *iterator, const struct iforest_key *end)
{
	iterator->stretch_end = *end;
}

/* Returns the key before which no other run has entries: the next two heads in the heap precede all others. */
static struct iforest_key end_of_stretch(const struct iforest_iterator *iterator)
{
	struct iforest_key end = iterator->stretch_end;

	for (uint32_t k = 1; k <= 2 && k < iterator->heap.n; k++) {
		const struct iforest_key *bound = &iterator->heads[iterator->heap.items[k]].bound;

		if (iforest_key_compare(bound, &end) < 0)
			end = *bound;
	}
	return end;
}

/* True if the first head's bound is before those of all others. */
static bool is_before_others(const struct iforest_iterator *iterator)
{
	const struct iforest_key *first = &iterator->heads[iterator->heap.items[0]].bound;

	for (uint32_t k = 1; k <= 2 && k < iterator->heap.n; k++) {
		int order = iforest_key_compare(first, &iterator->heads[iterator->heap.items[k]].bound);

		if (iterator->question.descends ? order <= 0 : order >= 0)
			return false;
	}
	return true;
}

enum iforest_status iforest_iterator_next(struct iforest_iterator *iterator, struct iforest_entry *entry, bool *found)
{
	*found = false;
	while (!*found && iterator->heap.n > 0) {
		struct iforest_iterator_head *head = &iterator->heads[iterator->heap.items[0]];
		enum iforest_status status;
		bool has_more;

		if (head->is_found) {
			/* the key remains the run's bound; its next item is searched for when needed */
			*entry = head->entry;
			*found = true;
			head->is_found = false;
			break;
		}
		if (iterator->question.taker && iforest_run_iterator_looks(&head->run)) {
			struct iforest_key end = end_of_stretch(iterator);

			head->run.stretch_end = end;
		}
		status = iforest_run_iterator_next(&head->run, entry, &has_more);
		if (status)
			return status;
		if (!has_more) {
			iforest_priority_queue_pop(&iterator->heap);
			continue;
		}
		head->bound = entry->key;
		*found = is_before_others(iterator);
		if (!*found) {
			head->entry = *entry;
			head->is_found = true;
			iforest_priority_queue_settle(&iterator->heap);
		}
	}
	return IFOREST_OK;
}

/* True if the rest of the first head's block precedes the entries of all other runs; sets its bound to their last key. */
static bool is_block_before_others(struct iforest_iterator *iterator)
{
	struct iforest_iterator_head *head = &iterator->heads[iterator->heap.items[0]];
	struct iforest_key given = head->bound;
	uint64_t left = head->run.left;
	struct iforest_entry last;

	if (head->is_found || !left)
		return false;
	iforest_block_entry(&head->run.cursor.reader.block,
			    iterator->question.descends ? iforest_trailing_zeros(left) : iforest_highest_bit(left), 0, &last);
	head->bound = last.key;
	if (!is_before_others(iterator))
		head->bound = given;
	return iforest_key_compare(&head->bound, &given) != 0;
}

enum iforest_status iforest_iterator_next_keys(struct iforest_iterator *iterator,
					       struct iforest_key keys[IFOREST_BLOCK_ENTRIES], unsigned *n_keys)
{
	struct iforest_entry entry;
	bool found;
	enum iforest_status status = iforest_iterator_next(iterator, &entry, &found);

	*n_keys = 0;
	if (status || !found)
		return status;
	keys[(*n_keys)++] = entry.key;
	if (is_block_before_others(iterator)) {
		struct iforest_run_iterator *run = &iterator->heads[iterator->heap.items[0]].run;
		const struct iforest_block *block = &run->cursor.reader.block;

		while (run->left && !status) {
			unsigned i = next_bit(run);

			keys[*n_keys] = (struct iforest_key){ .series = block->series,
							      .time_is_null = block->time_is_null,
							      .time = block->times[i],
							      .ref = block->refs[i] };
			status = check_order(run, &keys[(*n_keys)++]);
		}
	}
	return status;
}

bool iforest_iterator_gave_node(const struct iforest_iterator *iterator, int64_t *end)
{
	const struct iforest_run_iterator *run = &iterator->heads[iterator->heap.items[0]].run;

	*end = run->node_end;
	return run->gave_node;
}

uint64_t iforest_iterator_pages(const struct iforest_iterator *iterator)
{
	uint64_t n_pages = 0;

	for (uint32_t r = 0; r < iterator->n_heads; r++)
		n_pages += iterator->heads[r].run.cursor.n_pages_opened;
	return n_pages;
}
