#include "core/base/bits.h"
#include "core/query/fold_internal.h"

/* What to look for in a node: a live entry, or one that has value v (v < n_values). */
static bool node_has(const struct iforest_cursor *cursor, const uint8_t *node, unsigned v)
{
	const struct iforest_fields *fields = &cursor->manifest->fields;

	return (v < fields->n_values ? iforest_node_value_rows(node, fields, v) : iforest_node_rows(node)) > 0;
}

/* Folds just the first or last such entry of the leaf page that is held. */
static enum iforest_status fold_edge_of_leaf(struct iforest_cursor *cursor, unsigned v, bool forward,
					     const struct iforest_wanted *wanted, struct iforest_aggregate *aggregate)
{
	unsigned n_blocks = cursor->leaf.header.n_items;
	struct iforest_block_reader *reader = &cursor->reader;

	for (unsigned k = 0; k < n_blocks; k++) {
		enum iforest_status status = IFOREST_OK;
		uint64_t which;
		unsigned i;

		iforest_cursor_read_block(cursor, forward ? k : n_blocks - 1 - k);
		which = iforest_low_bits(reader->block.n) & ~reader->block.dead;
		if (which && v < cursor->manifest->fields.n_values) {
			status = iforest_block_find_column(reader, IFOREST_VALUES + v);
			which &= status ? 0 : reader->columns[IFOREST_VALUES + v].present;
		}
		if (!status && which) {
			struct iforest_aggregate before = { .n_rows = aggregate->n_rows, .n_dead = aggregate->n_dead };
			uint64_t counted;

			i = forward ? iforest_trailing_zeros(which) : iforest_highest_bit(which);
			status = iforest_block_fold(reader, i, i + 1, wanted, aggregate, &counted);
			aggregate->n_rows = before.n_rows;
			aggregate->n_dead = before.n_dead;
			return iforest_cursor_blame_leaf(cursor, status);
		}
		if (status)
			return iforest_cursor_blame_leaf(cursor, status);
	}
	return iforest_cursor_blame(cursor, IFOREST_CORRUPT, "the page lacks the row that its node promises", 0,
				    cursor->path[0].number);
}

/* Finds the first or last node of the page under node i of a level that has such an entry; *i becomes its number. */
static enum iforest_status find_edge_node(struct iforest_cursor *cursor, unsigned level, uint64_t *i, unsigned v, bool forward,
					  const struct iforest_filter *filter)
{
	const struct iforest_fields *fields = &cursor->manifest->fields;
	enum iforest_status status = iforest_cursor_hold(cursor, level - 1, *i);
	unsigned n = status ? 0 : cursor->path[level - 1].header.n_items;

	for (unsigned k = 0; k < n && !status; k++) {
		unsigned at = forward ? k : n - 1 - k;
		uint64_t number = *i * cursor->manifest->fanout + at;
		const uint8_t *node = iforest_node_at(cursor->path[level - 1].page.bytes, fields, at);

		if (filter)
			status = iforest_cursor_remainder(cursor, level - 1, number, filter, &node);
		if (!status && !node)
			return IFOREST_NO_MEMORY;
		if (!status && node_has(cursor, node, v)) {
			*i = number;
			return IFOREST_OK;
		}
	}
	return status ? status : iforest_cursor_blame(cursor, IFOREST_CORRUPT, "the page lacks the row that its node promises",
						      level - 1, *i);
}

/* Holds a leaf page, without what does not count of it. */
static enum iforest_status hold_edge_leaf(struct iforest_cursor *cursor, uint64_t number, const struct iforest_filter *filter)
{
	const uint8_t *node;
	bool known = true;
	enum iforest_status status = IFOREST_OK;

	if (number >= cursor->run->n_leaves)
		return iforest_cursor_blame(cursor, IFOREST_CORRUPT, "the page has too many nodes", 1,
					    number / cursor->manifest->fanout);
	if (filter)
		status = iforest_cursor_node(cursor, 1, number, &node);
	if (filter && !status)
		status = iforest_cursor_leaf_remainder(cursor, number, filter, &node, &known);
	if (!status && !known)
		status = IFOREST_NO_MEMORY;
	return status ? status : iforest_cursor_hold(cursor, 0, number);
}

/* Folds the first or last entry with value v (or any, v >= n_values) under a node. filter: NULL, or that by which the node is
 * what is left of it. Cost: one page a level. */
static enum iforest_status fold_edge(struct iforest_cursor *cursor, unsigned level, uint64_t i, unsigned v, bool forward,
				     const struct iforest_filter *filter, const struct iforest_wanted *wanted,
				     struct iforest_aggregate *aggregate)
{
	enum iforest_status status = IFOREST_OK;

	for (; level > 1 && !status; level--)
		status = find_edge_node(cursor, level, &i, v, forward, filter);
	if (!status)
		status = hold_edge_leaf(cursor, i, filter);
	return status ? status : fold_edge_of_leaf(cursor, v, forward, wanted, aggregate);
}

static const struct iforest_filter *filter_of(const struct iforest_edges *edges)
{
	return edges->asked ? edges->asked->filter : NULL;
}

/* Times of a node in which nothing was removed stand in its key range. */
static enum iforest_status fold_node_times(struct iforest_cursor *cursor, unsigned level, uint64_t i, const uint8_t *node,
					   struct iforest_edges *edges, struct iforest_aggregate *aggregate)
{
	static const struct iforest_wanted times = { .times = true };
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);

	if (first.time_is_null || iforest_node_rows(node) == 0)
		return IFOREST_OK;
	edges->open_last_time = 0;
	if (iforest_node_dead(node) == 0) {
		iforest_aggregate_add_time(aggregate, first.time);
		iforest_aggregate_add_time(aggregate, last.time);
		edges->seen_time = 1;
		return IFOREST_OK;
	}
	edges->open_last_time = 1;
	edges->last_time.level = level;
	edges->last_time.i = i;
	if (edges->seen_time)
		return IFOREST_OK;
	edges->seen_time = 1;
	return fold_edge(cursor, level, i, IFOREST_MAX_VALUES, true, filter_of(edges), &times, aggregate);
}

enum iforest_status iforest_cursor_fold_node(struct iforest_cursor *cursor, unsigned level, uint64_t i, const uint8_t *node,
				     const struct iforest_wanted *wanted, struct iforest_edges *edges,
				     struct iforest_aggregate *aggregate)
{
	const struct iforest_fields *fields = &cursor->manifest->fields;
	uint32_t rows = wanted->firsts | wanted->lasts;
	uint8_t copy[IFOREST_MAX_NODE_BYTES];
	enum iforest_status status = IFOREST_OK;

	cursor->n_nodes_folded++;
	if (edges->asked && (rows || wanted->times)) /* what is left of it may be forgotten when pages below it are opened */
		node = memcpy(copy, node, fields->node_bytes);
	iforest_node_fold(node, fields,
			  &(struct iforest_node_parts){ .values = wanted->values,
							.no_mins = wanted->no_mins,
							.no_maxs = wanted->no_maxs,
							.squares = wanted->squares,
							.node_fields = wanted->node_fields },
			  aggregate);
	for (unsigned v = 0; v < fields->n_values && rows >> v && !status; v++) {
		uint32_t bit = 1u << v;

		if (!(rows & bit) || iforest_node_value_rows(node, fields, v) == 0)
			continue;
		if (wanted->lasts & bit) {
			edges->open_lasts |= bit;
			edges->last[v].level = level;
			edges->last[v].i = i;
		}
		if (wanted->firsts & bit && !(edges->seen_firsts & bit)) {
			struct iforest_wanted first = { .firsts = bit };

			edges->seen_firsts |= bit;
			status = fold_edge(cursor, level, i, v, true, filter_of(edges), &first, aggregate);
		}
	}
	if (!status && wanted->times)
		status = fold_node_times(cursor, level, i, node, edges, aggregate);
	return status;
}

enum iforest_status iforest_cursor_fold_lasts(struct iforest_cursor *cursor, const struct iforest_edges *edges,
					   struct iforest_aggregate *aggregate)
{
	static const struct iforest_wanted times = { .times = true };
	enum iforest_status status = IFOREST_OK;

	for (unsigned v = 0; v < cursor->manifest->fields.n_values && !status; v++) {
		struct iforest_wanted last = { .lasts = 1u << v };

		if (edges->open_lasts >> v & 1)
			status = fold_edge(cursor, edges->last[v].level, edges->last[v].i, v, false, filter_of(edges), &last,
					   aggregate);
	}
	if (!status && edges->open_last_time)
		status = fold_edge(cursor, edges->last_time.level, edges->last_time.i, IFOREST_MAX_VALUES, false,
				   filter_of(edges), &times, aggregate);
	return status;
}
