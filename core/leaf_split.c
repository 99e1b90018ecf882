#include "core/leaf_split.h"

/* Sides on which wanted extremes stand. */
enum { BEFORE = 1, AFTER = 2 };

static unsigned side_of(const struct iforest_row *extreme, const struct iforest_key *key)
{
	struct iforest_key at = { .series = key->series, .time = extreme->time, .ref = extreme->ref };

	return iforest_key_compare(&at, key) < 0 ? BEFORE : AFTER;
}

/* An extreme is the earliest of its value, so that none before it is as good; and those after it are folded if it stands before. */
static unsigned sides_of_extremes(const uint8_t *node, const struct iforest_fields *fields, const struct iforest_key *key,
				  const struct iforest_wanted *wanted)
{
	unsigned sides = 0;

	for (unsigned v = 0; v < fields->n_values; v++) {
		struct iforest_row min, max;

		if (!(wanted->values >> v & 1) || iforest_node_value_rows(node, fields, v) == 0)
			continue;
		min = iforest_node_extreme(node, fields, v, -1);
		max = iforest_node_extreme(node, fields, v, 1);
		if (!(wanted->no_mins >> v & 1))
			sides |= side_of(&min, key);
		if (!(wanted->no_maxs >> v & 1))
			sides |= side_of(&max, key);
	}
	return sides;
}

/* The page has this series alone, and times. */
static bool is_simple(const uint8_t *node, uint64_t series)
{
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);

	return first.series == series && last.series == series && !first.time_is_null && !last.time_is_null;
}

static enum iforest_status fold_side(const struct iforest_leaf *leaf, struct iforest_block_reader *reader, unsigned side,
				     unsigned block, unsigned entry, const struct iforest_wanted *wanted,
				     struct iforest_aggregate *aggregate)
{
	unsigned from = side == BEFORE ? 0 : block + (entry > 0), to = side == BEFORE ? block : leaf->header.n_items;
	struct iforest_block_reader others;
	enum iforest_status status = IFOREST_OK;
	uint64_t counted;

	if (entry > 0)
		status = iforest_block_fold(reader, side == BEFORE ? 0 : entry, side == BEFORE ? entry : reader->block.n, wanted,
					    aggregate, &counted);
	for (unsigned b = from; b < to && !status; b++) {
		iforest_block_start(&others, leaf, b);
		status = iforest_block_fold(&others, 0, others.block.n, wanted, aggregate, &counted);
	}
	return status;
}

/* rest = the node without that side. Its extremes are the node's. */
static void take_out_side(const uint8_t *node, const struct iforest_fields *fields, const struct iforest_wanted *wanted,
			  const struct iforest_aggregate *side, struct iforest_aggregate *rest)
{
	iforest_aggregate_clear(rest, fields->n_values);
	iforest_node_fold(node, fields, &(struct iforest_node_parts){ .values = wanted->values, .no_mins = wanted->no_mins,
								      .no_maxs = wanted->no_maxs }, rest);
	rest->n_rows -= side->n_rows;
	rest->n_dead -= side->n_dead;
	for (unsigned v = 0; v < fields->n_values; v++)
		if (wanted->values >> v & 1) {
			rest->values[v].n -= side->values[v].n;
			rest->values[v].sum = iforest_add_wrapping(rest->values[v].sum, -side->values[v].sum);
		}
}

enum iforest_status iforest_leaf_split(const struct iforest_leaf *leaf, const uint8_t *node, struct iforest_block_reader *reader,
				       const struct iforest_key *key, unsigned block, unsigned entry,
				       const struct iforest_wanted *wanted, struct iforest_aggregate *before,
				       struct iforest_aggregate *after, bool *done)
{
	const struct iforest_fields *fields = leaf->fields;
	unsigned sides = sides_of_extremes(node, fields, key, wanted), folded;
	struct iforest_wanted all = *wanted;
	enum iforest_status status;

	*done = sides != (BEFORE | AFTER) && is_simple(node, key->series) && iforest_can_take_out(wanted, fields) &&
		iforest_node_dead(node) == leaf->header.n_dead;
	if (!*done)
		return IFOREST_OK;
	if (sides)
		folded = sides == BEFORE ? AFTER : BEFORE;
	else
		folded = block < leaf->header.n_items / 2 ? BEFORE : AFTER;
	all.filter = NULL;
	iforest_aggregate_clear(folded == BEFORE ? before : after, fields->n_values);
	status = fold_side(leaf, reader, folded, block, entry, &all, folded == BEFORE ? before : after);
	take_out_side(node, fields, wanted, folded == BEFORE ? before : after, folded == BEFORE ? after : before);
	return status;
}
