#include "core/query/extremes_internal.h"

/* A leaf page that a bound cuts, and its node. There are two, except on forged pages. */
enum { MOST_CUT = 2 };

struct cut_leaf {
	uint64_t number;
	uint8_t node[IFOREST_MAX_NODE_BYTES];
};

/* What is looked for, and the best so far in the aggregate. */
struct hunt {
	struct iforest_cursor *cursor;
	const struct iforest_key *from, *to;
	const struct iforest_wanted *wanted;
	struct iforest_aggregate *aggregate;
	struct cut_leaf *cut;     /* left to the end, when most is known */
	unsigned n_cut;
	bool is_narrow;
	const struct iforest_filter *remaining; /* NULL, or the filter where it keeps what is left of pages */
};

static bool is_in_range(const struct hunt *hunt, uint64_t series, const struct iforest_row *row)
{
	struct iforest_key key = { .series = series, .time_is_null = row->time_is_null, .time = row->time, .ref = row->ref };

	return iforest_key_compare(&key, hunt->from) >= 0 && iforest_key_compare(&key, hunt->to) < 0;
}

/* A node of which all, some or no entries lie in the range and count. */
struct judged {
	const uint8_t *bytes; /* or of what is left of it */
	bool is_inside;       /* all lie in the range */
	bool all_count;
	bool is_of_series;    /* all are of the series of the range */
};

/* How the node's extreme stands to the best, as its value alone shows: greater than 0 is better. */
static inline int order_of(const struct iforest_fields *fields, const uint8_t *bytes, unsigned v, int sign,
			   const struct iforest_row *best)
{
	if (!best->is_set)
		return 1;
	return sign * iforest_number_compare(iforest_node_extreme_value(bytes, fields, v, sign), best->value,
					     (enum iforest_value_kind)fields->kinds[v]);
}

/* Takes the node's best, if it is better than the best so far and is known to lie in the range. *open: it is better, and is
 * not. */
static void offer_extreme(struct hunt *hunt, const struct judged *node, unsigned v, int sign, struct iforest_row *best,
			  bool *open)
{
	const struct iforest_fields *fields = &hunt->cursor->manifest->fields;
	int order = order_of(fields, node->bytes, v, sign, best);
	struct iforest_row row;

	if (order < 0)
		return;
	row = iforest_node_extreme(node->bytes, fields, v, sign);
	if (!row.is_set || (order == 0 && iforest_row_compare(&row, best) >= 0))
		return;
	if (!node->all_count || !(node->is_inside || (node->is_of_series && is_in_range(hunt, hunt->from->series, &row)))) {
		*open = true;
		return;
	}
	*best = row;
	hunt->aggregate->n_rows += !node->is_inside;
}

/* Adds what a node alone tells, or what is left of it without entries that do not count. Returns whether what is below it has to
 * be looked at. */
static bool look_at_node(struct hunt *hunt, const uint8_t *bytes, bool is_inside, bool is_left)
{
	const struct iforest_wanted *wanted = hunt->wanted;
	struct iforest_aggregate *aggregate = hunt->aggregate;
	const struct iforest_filter *filter = wanted->filter;
	enum iforest_verdict verdict = iforest_node_rows(bytes) == 0 ? IFOREST_NONE :
				       filter && !is_left ? filter->of_node(filter->context, bytes) : IFOREST_ALL;
	struct judged node = { .bytes = bytes, .is_inside = is_inside, .all_count = verdict == IFOREST_ALL };
	bool open = false;

	if (verdict == IFOREST_NONE)
		return false;
	node.is_of_series = is_inside || (iforest_node_first(bytes).series == hunt->from->series &&
					  iforest_node_last(bytes).series == hunt->from->series);
	if (is_inside && node.all_count) {
		aggregate->n_rows += iforest_node_rows(bytes);
		hunt->cursor->n_nodes_folded++;
	}
	for (unsigned v = 0; v < hunt->cursor->manifest->fields.n_values; v++) {
		if (!(wanted->values >> v & 1))
			continue;
		if (!(wanted->no_mins >> v & 1))
			offer_extreme(hunt, &node, v, -1, &aggregate->values[v].min, &open);
		if (!(wanted->no_maxs >> v & 1))
			offer_extreme(hunt, &node, v, 1, &aggregate->values[v].max, &open);
	}
	return open || aggregate->n_rows == 0;
}

/* ---- a leaf page ---- */

/* Folds what of a block lies in the range. */
static enum iforest_status search_block(struct hunt *hunt, unsigned block, bool cut_before, bool cut_after)
{
	struct iforest_cursor *cursor = hunt->cursor;
	struct iforest_block_reader *reader = &cursor->reader;
	unsigned from = 0, to;
	uint64_t counted;
	bool may = true;
	enum iforest_status status = IFOREST_OK;

	iforest_cursor_read_block(cursor, block);
	to = reader->block.n;
	if (hunt->aggregate->n_rows > 0)
		status = iforest_block_may_improve(reader, hunt->wanted, hunt->aggregate, &may);
	if (!status && may && cut_before)
		status = iforest_block_find(reader, hunt->from, &from);
	if (!status && may && cut_after)
		status = iforest_block_find(reader, hunt->to, &to);
	hunt->is_narrow = from > 0 && to < reader->block.n;
	if (!status && may && from < to)
		status = iforest_block_fold(reader, from, to, hunt->wanted, hunt->aggregate, &counted);
	return iforest_cursor_blame_leaf(cursor, status);
}

/* Whole blocks of the page that is held first, then those that are cut, the last one at the end: with it the next range
 * begins. */
static enum iforest_status search_blocks(struct hunt *hunt)
{
	struct iforest_cursor *cursor = hunt->cursor;
	enum iforest_status status = IFOREST_OK;
	struct iforest_key first;
	unsigned low, high;
	bool cut_before;

	low = iforest_leaf_find_block(&cursor->leaf, hunt->from);
	high = iforest_leaf_find_block(&cursor->leaf, hunt->to);
	first = iforest_leaf_block(&cursor->leaf, low).first;
	cut_before = iforest_key_compare(&first, hunt->from) < 0;
	if (low == high)
		return search_block(hunt, low, cut_before, true);
	for (unsigned b = low + !!cut_before; b < high && !status; b++)
		status = search_block(hunt, b, false, false);
	if (!status && cut_before)
		status = search_block(hunt, low, true, false);
	return status ? status : search_block(hunt, high, false, true);
}

/* Of a leaf page whose node is of one that is held. */
static enum iforest_status search_leaf(struct hunt *hunt, const uint8_t *node, uint64_t number)
{
	struct iforest_cursor *cursor = hunt->cursor;
	const struct iforest_wanted *asked = hunt->wanted;
	struct iforest_wanted without = *asked;
	bool known = false;
	enum iforest_status status = IFOREST_OK;

	if (number >= cursor->run->n_leaves)
		return iforest_cursor_blame(cursor, IFOREST_CORRUPT, "the page has too many nodes", 1,
					    number / cursor->manifest->fanout);
	if (hunt->remaining)
		status = iforest_cursor_leaf_remainder(cursor, number, hunt->remaining, &node, &known);
	if (!status)
		status = iforest_cursor_hold(cursor, 0, number);
	if (known) {
		without.filter = NULL;
		hunt->wanted = &without;
	}
	if (!status)
		status = search_blocks(hunt);
	hunt->wanted = asked;
	return status;
}

/* ---- node pages ---- */

/* Does the node lie before the range, inside, after it, or is it cut? */
enum place { BEFORE, INSIDE, CUT, AFTER };

static enum place place_of(const struct hunt *hunt, const uint8_t *bytes)
{
	struct iforest_key first = iforest_node_first(bytes), last = iforest_node_last(bytes);

	if (iforest_key_compare(&last, hunt->from) < 0)
		return BEFORE;
	if (iforest_key_compare(&first, hunt->to) >= 0)
		return AFTER;
	return iforest_key_compare(&first, hunt->from) >= 0 && iforest_key_compare(&last, hunt->to) < 0 ? INSIDE : CUT;
}

static const uint8_t *node_of_page(const struct iforest_cursor *cursor, unsigned level, unsigned k)
{
	return iforest_node_at(cursor->path[level].page.bytes, &cursor->manifest->fields, k);
}

/* With a filter, pages within the range may have to be opened too, and are at once. */
static enum iforest_status open_or_note_leaf(struct hunt *hunt, const uint8_t *node, uint64_t number)
{
	struct cut_leaf *cut = hunt->cut + hunt->n_cut;

	if (hunt->wanted->filter || hunt->n_cut == MOST_CUT)
		return search_leaf(hunt, node, number);
	cut->number = number;
	memcpy(cut->node, node, hunt->cursor->manifest->fields.node_bytes);
	hunt->n_cut++;
	return IFOREST_OK;
}

/* Looks at node k of the page that is held, or at what is left of it if that is known. */
static bool look_at_known(struct hunt *hunt, unsigned level, unsigned k, const uint8_t *bytes, bool is_inside)
{
	const uint8_t *left =
		hunt->remaining ? iforest_cursor_known_remainder(hunt->cursor, level, k, hunt->remaining) : NULL;

	return look_at_node(hunt, left ? left : bytes, is_inside, left);
}

/* Instead of opening a leaf page within the range, finds out what is left of its node; *node is NULL if that could be had. */
static enum iforest_status find_left(struct hunt *hunt, uint64_t number, const uint8_t **node)
{
	const uint8_t *left = *node;
	enum iforest_status status = iforest_cursor_remainder(hunt->cursor, 1, number, hunt->remaining, &left);

	if (left)
		look_at_node(hunt, left, true, true);
	*node = left ? NULL : *node;
	return status;
}

/* All nodes of a page are looked at before any is opened. Without a filter only the outer two can be cut. */
static enum iforest_status search_page(struct hunt *hunt, unsigned level, uint64_t number)
{
	struct iforest_cursor *cursor = hunt->cursor;
	enum iforest_status status = iforest_cursor_hold(cursor, level, number);
	bool any_may_open = hunt->wanted->filter != NULL;
	unsigned low, high;

	if (status)
		return status;
	low = cursor->path[level].reached;
	if (low > 0 && !iforest_cursor_begins_before(cursor, level, low, hunt->from, true))
		low = 0;
	low = iforest_cursor_last_node(cursor, level, low, hunt->from, true);
	high = iforest_cursor_last_node(cursor, level, low, hunt->to, false);
	cursor->path[level].reached = high;
	for (unsigned k = low; k <= high; k++) {
		bool is_outer = k == low || k == high;
		const uint8_t *bytes = node_of_page(cursor, level, k);
		enum place place = is_outer ? place_of(hunt, bytes) : INSIDE;

		if (place == INSIDE || place == CUT)
			look_at_known(hunt, level, k, bytes, place == INSIDE);
	}
	for (unsigned k = low; k <= high && !status; k = any_may_open || k + 1 >= high ? k + 1 : high) {
		const uint8_t *bytes = node_of_page(cursor, level, k);
		enum place place = place_of(hunt, bytes);
		uint64_t below = number * cursor->manifest->fanout + k;

		if ((place != CUT && !(place == INSIDE && any_may_open)) ||
		    !look_at_known(hunt, level, k, bytes, place == INSIDE))
			continue;
		status = level == 1 && place == INSIDE && hunt->remaining ? find_left(hunt, below, &bytes) : IFOREST_OK;
		if (!status && bytes)
			status = level > 1 ? search_page(hunt, level - 1, below) : open_or_note_leaf(hunt, bytes, below);
	}
	return status;
}

static enum iforest_status search_root(struct hunt *hunt)
{
	const uint8_t *root = hunt->cursor->run->root;
	enum place place = place_of(hunt, root);

	if ((place != INSIDE && place != CUT) || !look_at_node(hunt, root, place == INSIDE, false))
		return IFOREST_OK;
	return search_page(hunt, hunt->cursor->run->n_levels, 0);
}

bool iforest_cursor_holds(const struct iforest_cursor *cursor, unsigned level, const struct iforest_key *from,
			  const struct iforest_key *to)
{
	struct iforest_key last;

	if (!cursor->path[level].is_held || !iforest_cursor_begins_before(cursor, level, 0, from, true))
		return false;
	last = iforest_node_last(node_of_page(cursor, level, cursor->path[level].header.n_items - 1u));
	return iforest_key_compare(&last, to) >= 0;
}

/* The lowest level on which a page that is held has all of [from, to); above the highest, the root. */
static unsigned level_of(const struct iforest_cursor *cursor, const struct iforest_key *from, const struct iforest_key *to)
{
	unsigned level = 1;

	while (level <= cursor->run->n_levels && !iforest_cursor_holds(cursor, level, from, to))
		level++;
	return level;
}

enum iforest_status iforest_cursor_extremes_of_leaf(struct iforest_cursor *cursor, const struct iforest_key *from,
						    const struct iforest_key *to, const struct iforest_wanted *wanted,
						    struct iforest_aggregate *aggregate, bool *is_narrow)
{
	struct hunt hunt = { .cursor = cursor, .from = from, .to = to, .wanted = wanted, .aggregate = aggregate };
	enum iforest_status status = search_blocks(&hunt);

	*is_narrow = hunt.is_narrow;
	return status;
}

enum iforest_status iforest_cursor_extremes(struct iforest_cursor *cursor, const struct iforest_key *from,
					    const struct iforest_key *to, const struct iforest_wanted *wanted,
					    struct iforest_aggregate *aggregate, bool *is_narrow)
{
	struct cut_leaf cut[MOST_CUT];
	struct hunt hunt = { .cursor = cursor, .from = from, .to = to, .wanted = wanted, .aggregate = aggregate, .cut = cut,
			     .remaining = wanted->filter && wanted->filter->remainders ? wanted->filter : NULL };
	enum iforest_status status = IFOREST_OK;
	unsigned level;

	if (iforest_cursor_has_greatest(cursor, from, to, wanted))
		return iforest_cursor_greatest(cursor, from, to, wanted, aggregate, is_narrow);
	level = level_of(cursor, from, to);
	status = level > cursor->run->n_levels ? search_root(&hunt) : search_page(&hunt, level, cursor->path[level].number);
	for (unsigned i = 0; i < hunt.n_cut && !status; i++)
		if (look_at_node(&hunt, cut[i].node, false, false))
			status = search_leaf(&hunt, cut[i].node, cut[i].number);
	*is_narrow = hunt.is_narrow;
	return status;
}
