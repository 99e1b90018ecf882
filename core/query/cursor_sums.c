#include "core/query/fold_internal.h"

/* What is passed on the way to a key. Every place that is reached cuts a leaf page and the rows of nodes above it; of each the
 * shorter part is added up once, and what comes after the place is kept for when it is passed. */
struct passing {
	struct iforest_cursor *cursor;
	const struct iforest_key *key;
	const struct iforest_wanted *wanted;
	bool of_value;             /* of nodes: has the first value column sums, wanted or not? */
	struct iforest_sums sums;
	bool is_declined;          /* a leaf page is not what its node says: it has to be folded entry by entry */
};

static const uint8_t *node_at(const struct iforest_cursor *cursor, unsigned level, unsigned k)
{
	return iforest_node_at(cursor->path[level].page.bytes, &cursor->manifest->fields, k);
}

static void add_node(const struct passing *passing, const uint8_t *node, struct iforest_sums *sums)
{
	passing->cursor->n_nodes_folded++;
	iforest_sums_add_node(sums, node, &passing->cursor->manifest->fields, passing->of_value);
}

/* Nodes [from, to) of the page that is held. */
static struct iforest_sums row_of(const struct passing *passing, unsigned level, unsigned from, unsigned to)
{
	struct iforest_sums sums = { .n_rows = 0 };

	for (unsigned k = from; k < to; k++)
		add_node(passing, node_at(passing->cursor, level, k), &sums);
	return sums;
}

/* At the first leaf page under node i of a level, of which each has `span`. */
static void stand_before(struct iforest_cursor *cursor, uint64_t i, uint64_t span)
{
	uint64_t n_leaves = cursor->run->n_leaves;

	iforest_cursor_stand_at(cursor, i * span < n_leaves ? i * span : n_leaves, 0, 0);
}

static bool is_passed(const struct passing *passing, const uint8_t *node)
{
	struct iforest_key last = iforest_node_last(node);

	return iforest_key_compare(&last, passing->key) < 0;
}

/* The last node of the page that is held, from `low` on, that begins before the key. As a rule the one that was expected. */
static unsigned last_node(const struct passing *passing, unsigned level, unsigned low)
{
	const struct iforest_cursor *cursor = passing->cursor;
	uint64_t expected = cursor->expected[0].leaf_number, first = cursor->path[level].number * cursor->manifest->fanout;
	bool is_expected = level == 1 && expected != UINT64_MAX && expected > first;

	return iforest_cursor_last_node_near(cursor, level, low, is_expected ? (unsigned)(expected - first) : 0, passing->key,
					     false);
}

/* Sees to it that the page with node i of a level is held; *k: the node's number in it. */
static enum iforest_status hold_node(struct iforest_cursor *cursor, unsigned level, uint64_t i, unsigned *k)
{
	uint64_t fanout = cursor->manifest->fanout, first = cursor->path[level].number * fanout;
	const uint8_t *node;

	*k = (unsigned)(i - first);
	if (cursor->path[level].is_held && i >= first && i - first < cursor->path[level].header.n_items)
		return IFOREST_OK;
	*k = (unsigned)(i % fanout);
	return iforest_cursor_node(cursor, level, i, &node);
}

/* ---- the leaf page that the key cuts ---- */

/* Does the key belong in the block in which the cursor stands, at or after its entry? */
static bool is_in_same_block(const struct passing *passing)
{
	const struct iforest_cursor *cursor = passing->cursor;
	struct iforest_key next;

	if (!iforest_cursor_is_at_rest(cursor) || !cursor->path[0].is_held || cursor->path[0].number != cursor->leaf_number ||
	    !cursor->reader_is_open || cursor->reader.number != cursor->block)
		return false;
	if (cursor->block + 1u == cursor->leaf.header.n_items)
		return true;
	next = iforest_leaf_block(&cursor->leaf, cursor->block + 1).first;
	return iforest_key_compare(&next, passing->key) > 0;
}

/* Notes that the cursor stands in the block of its reader and what comes after, or at the end of the page. */
static enum iforest_status stand_in_leaf(struct passing *passing, unsigned entry, const struct iforest_sums *rest)
{
	struct iforest_cursor *cursor = passing->cursor;
	struct iforest_leaf_cut *cut = &cursor->rest.cut;
	uint64_t number = cursor->leaf_number;
	unsigned block = cursor->reader.number;
	enum iforest_status status = IFOREST_OK;

	cursor->rest.leaf_number = UINT64_MAX;
	if (entry == cursor->reader.block.n) {
		entry = 0;
		block++;
	}
	if (block == cursor->leaf.header.n_items) {
		iforest_cursor_stand_at(cursor, number + 1, 0, 0);
		return IFOREST_OK;
	}
	*cut = (struct iforest_leaf_cut){ .block = block, .entry = entry };
	cut->first = iforest_leaf_block(&cursor->leaf, block).first;
	cut->first.ref = INT64_MIN;
	if (entry > 0 && !cut->first.time_is_null)
		status = iforest_block_pick(&cursor->reader, IFOREST_TIMES, entry, &cut->first.time);
	if (status)
		return iforest_cursor_blame_leaf(cursor, status);
	cursor->rest.leaf_number = number;
	cursor->rest.wanted = *passing->wanted;
	cursor->rest.aggregate.n_rows = cursor->rest.aggregate.n_dead = cursor->rest.aggregate.values[0].n = 0;
	cursor->rest.aggregate.values[0].sum = 0;
	iforest_sums_add_to_aggregate(rest, passing->wanted, &cursor->rest.aggregate);
	iforest_cursor_stand_at(cursor, number, block, entry);
	return IFOREST_OK;
}

/* The entry of the reader's block at which the key stands, from one on. As a rule a near one. */
static enum iforest_status find_near(struct iforest_block_reader *reader, const struct iforest_key *key, unsigned from,
				     unsigned *entry)
{
	const struct iforest_block *block = &reader->block;

	if (!(reader->unpacked >> IFOREST_TIMES & 1) || block->time_is_null || key->time_is_null ||
	    key->series != block->series)
		return iforest_block_find(reader, key, entry);
	for (*entry = from; *entry < block->n && block->times[*entry] < key->time; ++*entry)
		;
	return IFOREST_OK;
}

/* Goes on within a block: windows may be narrower than blocks. */
static enum iforest_status cut_same_block(struct passing *passing, struct iforest_sums *rest)
{
	struct iforest_cursor *cursor = passing->cursor;
	struct iforest_sums between = { .n_rows = 0 };
	unsigned from = cursor->entry, entry;
	enum iforest_status status = find_near(&cursor->reader, passing->key, from, &entry);

	if (!status && entry > from)
		status = iforest_block_add_sums(&cursor->reader, from, entry, passing->wanted->values, &between);
	if (status || entry <= from)
		return iforest_cursor_blame_leaf(cursor, status);
	iforest_sums_take_out(rest, &between);
	iforest_sums_add(&passing->sums, &between);
	return stand_in_leaf(passing, entry, rest);
}

/* Passes what of the leaf page in which the cursor stands comes before the key. all: what its node says of it; left: what of
 * that has not been passed. */
static enum iforest_status cut_leaf(struct passing *passing, const struct iforest_sums *all, const struct iforest_sums *left)
{
	struct iforest_cursor *cursor = passing->cursor;
	enum iforest_status status = iforest_cursor_hold(cursor, 0, cursor->leaf_number);
	struct iforest_sums rest;
	unsigned block, entry;

	if (status)
		return status;
	passing->is_declined = all->n_dead != cursor->leaf.header.n_dead;
	if (passing->is_declined)
		return IFOREST_OK;
	block = iforest_leaf_find_block(&cursor->leaf, passing->key);
	iforest_leaf_expect_block(&cursor->leaf, block);
	iforest_cursor_read_block(cursor, block);
	status = iforest_block_find(&cursor->reader, passing->key, &entry);
	if (!status && (block < cursor->block || (block == cursor->block && entry <= cursor->entry)))
		return IFOREST_OK; /* the key lies behind */
	if (!status)
		status = iforest_leaf_sums_from(&cursor->leaf, all, &cursor->reader, entry, passing->wanted->values, &rest);
	if (status)
		return iforest_cursor_blame_leaf(cursor, status);
	iforest_sums_add(&passing->sums, left);
	iforest_sums_take_out(&passing->sums, &rest);
	return stand_in_leaf(passing, entry, &rest);
}

/* What comes from the position within a leaf page on, if it is not known. */
static enum iforest_status find_rest(struct passing *passing, const struct iforest_sums *all, struct iforest_sums *rest)
{
	struct iforest_cursor *cursor = passing->cursor;
	enum iforest_status status;

	if (iforest_cursor_is_at_rest(cursor) && cursor->rest.wanted.values == passing->wanted->values &&
	    iforest_wants_sums(&cursor->rest.wanted, &cursor->manifest->fields)) {
		*rest = iforest_sums_of_aggregate(&cursor->rest.aggregate, passing->wanted);
		return IFOREST_OK;
	}
	status = iforest_cursor_hold(cursor, 0, cursor->leaf_number);
	if (status)
		return status;
	passing->is_declined = all->n_dead != cursor->leaf.header.n_dead;
	if (passing->is_declined)
		return IFOREST_OK;
	iforest_cursor_read_block(cursor, cursor->block);
	status = iforest_leaf_sums_from(&cursor->leaf, all, &cursor->reader, cursor->entry, passing->wanted->values, rest);
	return iforest_cursor_blame_leaf(cursor, status);
}

/* Standing within a leaf page: passes the rest of it, or what of that comes before the key; *is_there: that was it. */
static enum iforest_status leave_leaf(struct passing *passing, bool *is_there)
{
	struct iforest_cursor *cursor = passing->cursor;
	struct iforest_sums all = { .n_rows = 0 }, rest;
	unsigned k;
	const uint8_t *node;
	enum iforest_status status = hold_node(cursor, 1, cursor->leaf_number, &k);

	*is_there = true;
	if (status)
		return status;
	node = node_at(cursor, 1, k);
	iforest_sums_add_node(&all, node, &cursor->manifest->fields, passing->of_value);
	status = find_rest(passing, &all, &rest);
	if (status || passing->is_declined)
		return status;
	*is_there = !is_passed(passing, node);
	if (!*is_there) {
		iforest_sums_add(&passing->sums, &rest);
		iforest_cursor_stand_at(cursor, cursor->leaf_number + 1, 0, 0);
		return IFOREST_OK;
	}
	if (iforest_cursor_is_at_rest(cursor) && iforest_key_compare(&cursor->rest.cut.first, passing->key) >= 0)
		return IFOREST_OK;
	return is_in_same_block(passing) ? cut_same_block(passing, &rest) : cut_leaf(passing, &all, &rest);
}

/* ---- rows of nodes ---- */

/* Down to the key, which lies under node i of a level: passes what comes before it. */
static enum iforest_status descend(struct passing *passing, unsigned level, uint64_t i, uint64_t span, struct iforest_sums all)
{
	struct iforest_cursor *cursor = passing->cursor;

	while (level > 1) {
		struct iforest_held_page *held = &cursor->path[--level];
		enum iforest_status status = iforest_cursor_hold(cursor, level, i);
		struct iforest_sums before, own = { .n_rows = 0 };
		unsigned k, n = held->header.n_items;

		if (status)
			return status;
		span /= cursor->manifest->fanout;
		i *= cursor->manifest->fanout;
		k = last_node(passing, level, 0);
		add_node(passing, node_at(cursor, level, k), &own);
		if (k < n / 2) {
			before = row_of(passing, level, 0, k);
			held->after = all;
			iforest_sums_take_out(&held->after, &before);
			iforest_sums_take_out(&held->after, &own);
		} else {
			held->after = row_of(passing, level, k + 1, n);
			before = all;
			iforest_sums_take_out(&before, &held->after);
			iforest_sums_take_out(&before, &own);
		}
		held->after_node = k + 1;
		iforest_sums_add(&passing->sums, &before);
		i += k;
		if (is_passed(passing, node_at(cursor, level, k))) {
			iforest_sums_add(&passing->sums, &own);
			stand_before(cursor, i + 1, span);
			return IFOREST_OK;
		}
		all = own;
	}
	stand_before(cursor, i, span);
	if (i >= cursor->run->n_leaves)
		return iforest_cursor_blame(cursor, IFOREST_CORRUPT, "the page has too many nodes", 1,
					    i / cursor->manifest->fanout);
	return cut_leaf(passing, &all, &all);
}

/* Along the row of the page that is held, from node k on, which begins before the key. */
static enum iforest_status go_along(struct passing *passing, unsigned level, unsigned k, uint64_t span)
{
	struct iforest_cursor *cursor = passing->cursor;
	struct iforest_held_page *held = &cursor->path[level];
	unsigned last = last_node(passing, level, k);
	uint64_t i = held->number * cursor->manifest->fanout + last;
	struct iforest_sums own = { .n_rows = 0 }, before = row_of(passing, level, k, last);

	add_node(passing, node_at(cursor, level, last), &own);
	iforest_sums_add(&passing->sums, &before);
	if (held->after_node == k) {
		iforest_sums_take_out(&held->after, &before);
		iforest_sums_take_out(&held->after, &own);
		held->after_node = last + 1;
	}
	if (!is_passed(passing, node_at(cursor, level, last)))
		return descend(passing, level, i, span, own);
	iforest_sums_add(&passing->sums, &own);
	stand_before(cursor, i + 1, span);
	return IFOREST_OK;
}

/* Standing at the start of a leaf page: climbs while rows lie before the key, then goes along one and down. */
static enum iforest_status pass_rows(struct passing *passing)
{
	struct iforest_cursor *cursor = passing->cursor;
	uint64_t fanout = cursor->manifest->fanout, i = cursor->leaf_number, span = 1;

	for (unsigned level = 1; level <= cursor->run->n_levels && i * span < cursor->run->n_leaves; level++) {
		const struct iforest_held_page *held;
		struct iforest_sums row;
		unsigned k;
		enum iforest_status status;

		/* from its first node on a row is a node of the level above */
		for (; level < cursor->run->n_levels && i % fanout == 0; level++, span *= fanout)
			i /= fanout;
		held = &cursor->path[level];
		status = hold_node(cursor, level, i, &k);
		if (status)
			return status;
		if (!is_passed(passing, node_at(cursor, level, held->header.n_items - 1u))) {
			stand_before(cursor, i, span);
			return iforest_cursor_begins_before(cursor, level, k, passing->key, false) ?
				       go_along(passing, level, k, span) :
				       IFOREST_OK;
		}
		row = held->after_node == k ? held->after : row_of(passing, level, k, held->header.n_items);
		iforest_sums_add(&passing->sums, &row);
		i = held->number + 1;
		span *= fanout;
	}
	iforest_cursor_stand_at(cursor, cursor->run->n_leaves, 0, 0);
	return IFOREST_OK;
}

enum iforest_status iforest_cursor_sums_until(struct iforest_cursor *cursor, const struct iforest_key *key,
					      const struct iforest_wanted *wanted, struct iforest_aggregate *aggregate,
					      bool *done)
{
	const struct iforest_fields *fields = &cursor->manifest->fields;
	struct passing passing = { .cursor = cursor, .key = key, .wanted = wanted,
				   .of_value = fields->n_values > 0 && fields->kinds[0] == IFOREST_INT64 };
	enum iforest_status status = IFOREST_OK;
	bool is_there = false;

	if (cursor->block > 0 || cursor->entry > 0)
		status = leave_leaf(&passing, &is_there);
	if (!status && !is_there)
		status = pass_rows(&passing);
	iforest_sums_add_to_aggregate(&passing.sums, wanted, aggregate);
	*done = !passing.is_declined;
	return status;
}
