#include "core/page/leaf_split.h"

#include "core/page/leaf_take_out.h"

/* Sides on which wanted extremes stand. */
enum { BEFORE = 1, AFTER = 2 };

static unsigned side_of(const struct iforest_row *extreme, const struct iforest_key *key)
{
	struct iforest_key at = { .series = key->series, .time = extreme->time, .ref = extreme->ref };

	return iforest_key_compare(&at, key) < 0 ? BEFORE : AFTER;
}

/* An extreme is the earliest of its value, so that none before it is as good; and those after it are folded if it stands
 * before. */
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

/* The sides of a cut in block `block` that have to be folded: one, or both where the node is of no use. */
static unsigned sides_to_fold(const struct iforest_leaf *leaf, const uint8_t *node, const struct iforest_key *key,
			      unsigned block, const struct iforest_wanted *wanted)
{
	/* removed entries stay removed: as many of them are the same ones */
	bool can_take_out = iforest_can_take_out(wanted, leaf->fields) && iforest_node_dead(node) == leaf->header.n_dead;
	unsigned taken = can_take_out ? sides_of_extremes(node, leaf->fields, key, wanted) : BEFORE | AFTER;

	if (taken == (BEFORE | AFTER))
		return BEFORE | AFTER;
	if (taken)
		return taken == BEFORE ? AFTER : BEFORE;
	return block < leaf->header.n_items / 2 ? BEFORE : AFTER;
}

/* Finds where the key belongs, which is in the block or after it. */
static enum iforest_status find_cut(const struct iforest_leaf *leaf, const struct iforest_key *key, unsigned block,
				    struct iforest_block_reader *reader, struct iforest_leaf_cut *cut)
{
	enum iforest_status status;

	iforest_block_start(reader, leaf, block);
	status = iforest_block_find(reader, key, &cut->entry);
	if (status)
		return status;
	if (cut->entry == reader->block.n) {
		cut->entry = 0;
		block++;
	}
	cut->block = block;
	cut->first = (struct iforest_key){ .series = key->series };
	if (block < leaf->header.n_items)
		cut->first = iforest_leaf_block(leaf, block).first;
	cut->first.ref = INT64_MIN;
	return cut->entry > 0 ? iforest_block_pick(reader, IFOREST_TIMES, cut->entry, &cut->first.time) : IFOREST_OK;
}

static enum iforest_status fold_side(const struct iforest_leaf *leaf, struct iforest_block_reader *reader, unsigned side,
				     const struct iforest_leaf_cut *cut, const struct iforest_wanted *wanted,
				     struct iforest_aggregate *aggregate)
{
	unsigned from = side == BEFORE ? 0 : cut->entry, to = side == BEFORE ? cut->entry : reader->block.n;
	enum iforest_status status = IFOREST_OK;
	uint64_t counted;

	if (cut->entry > 0)
		status = iforest_block_fold(reader, from, to, wanted, aggregate, &counted);
	if (status)
		return status;
	from = side == BEFORE ? 0 : cut->block + (cut->entry > 0);
	to = side == BEFORE ? cut->block : leaf->header.n_items;
	return iforest_leaf_fold_blocks(leaf, from, to, wanted, aggregate);
}

/* rest = the node without that side; it is empty before. Its extremes are the node's. */
static void take_out_side(const uint8_t *node, const struct iforest_fields *fields, const struct iforest_wanted *wanted,
			  const struct iforest_aggregate *side, struct iforest_aggregate *rest)
{
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

bool iforest_leaf_can_split(const uint8_t *node, const struct iforest_key *key, const struct iforest_wanted *wanted)
{
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);

	return first.series == key->series && last.series == key->series && !first.time_is_null && !last.time_is_null &&
	       !wanted->firsts && !wanted->lasts && !wanted->times && !wanted->node_fields && !wanted->extremes_alone;
}

/* What is better than these is looked for, no others. */
static void seed_extremes(const struct iforest_aggregate *from, unsigned n_values, struct iforest_aggregate *side)
{
	for (unsigned v = 0; v < n_values; v++) {
		side->values[v].min = from->values[v].min;
		side->values[v].max = from->values[v].max;
	}
}

enum iforest_status iforest_leaf_split(const struct iforest_leaf *leaf, const uint8_t *node, const struct iforest_key *key,
				       const struct iforest_wanted *wanted, struct iforest_aggregate *into,
				       struct iforest_aggregate *after, struct iforest_leaf_cut *cut)
{
	const struct iforest_fields *fields = leaf->fields;
	unsigned block = iforest_leaf_find_block(leaf, key), sides = sides_to_fold(leaf, node, key, block, wanted);
	struct iforest_aggregate before;
	struct iforest_block_reader reader;
	struct iforest_wanted all = *wanted;
	enum iforest_status status;

	all.filter = NULL;
	iforest_leaf_expect_block(leaf, block);
	iforest_leaf_expect(leaf, sides & BEFORE ? 0 : block + 1, sides & AFTER ? leaf->header.n_items : block);
	status = find_cut(leaf, key, block, &reader, cut);
	iforest_aggregate_clear(&before, fields->n_values);
	iforest_aggregate_clear(after, fields->n_values);
	if (!status && sides & BEFORE) {
		seed_extremes(into, fields->n_values, &before);
		status = fold_side(leaf, &reader, BEFORE, cut, &all, &before);
	}
	if (!status && sides & AFTER)
		status = fold_side(leaf, &reader, AFTER, cut, &all, after);
	if (sides == BEFORE)
		take_out_side(node, fields, wanted, &before, after);
	else if (sides == AFTER)
		take_out_side(node, fields, wanted, after, &before);
	iforest_aggregate_combine(into, &before, fields->kinds, fields->n_values);
	return status;
}
