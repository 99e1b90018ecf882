#include "core/bits.h"
#include "core/cursor_internal.h"

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

/* Folds the first or last entry with value v (or any, v >= n_values) under a node. Cost: one page a level. */
static enum iforest_status fold_edge(struct iforest_cursor *cursor, unsigned level, uint64_t i, unsigned v, bool forward,
				     const struct iforest_wanted *wanted, struct iforest_aggregate *aggregate)
{
	const struct iforest_fields *fields = &cursor->manifest->fields;
	enum iforest_status status;

	for (; level > 1; level--) {
		unsigned n, k = 0;

		status = iforest_cursor_hold(cursor, level - 1, i);
		if (status)
			return status;
		n = cursor->path[level - 1].header.n_items;
		while (k < n && !node_has(cursor, iforest_node_at(cursor->path[level - 1].page.bytes, fields,
								  forward ? k : n - 1 - k), v))
			k++;
		if (k == n)
			return iforest_cursor_blame(cursor, IFOREST_CORRUPT, "the page lacks the row that its node promises",
						    level - 1, i);
		i = i * cursor->manifest->fanout + (forward ? k : n - 1 - k);
	}
	if (i >= cursor->run->n_leaves)
		return iforest_cursor_blame(cursor, IFOREST_CORRUPT, "the page has too many nodes", 1,
					    i / cursor->manifest->fanout);
	status = iforest_cursor_hold(cursor, 0, i);
	return status ? status : fold_edge_of_leaf(cursor, v, forward, wanted, aggregate);
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
	return fold_edge(cursor, level, i, IFOREST_MAX_VALUES, true, &times, aggregate);
}

enum iforest_status iforest_cursor_fold_node(struct iforest_cursor *cursor, unsigned level, uint64_t i, const uint8_t *node,
				     const struct iforest_wanted *wanted, struct iforest_edges *edges,
				     struct iforest_aggregate *aggregate)
{
	const struct iforest_fields *fields = &cursor->manifest->fields;
	uint32_t rows = wanted->firsts | wanted->lasts;
	enum iforest_status status = IFOREST_OK;

	cursor->n_nodes_folded++;
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
			status = fold_edge(cursor, level, i, v, true, &first, aggregate);
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
			status = fold_edge(cursor, edges->last[v].level, edges->last[v].i, v, false, &last, aggregate);
	}
	if (!status && edges->open_last_time)
		status = fold_edge(cursor, edges->last_time.level, edges->last_time.i, IFOREST_MAX_VALUES, false, &times,
				   aggregate);
	return status;
}
