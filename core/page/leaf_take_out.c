#include "core/page/leaf_take_out.h"

#include "core/base/bits.h"

enum { FEW_GONE = 8 }; /* of a block; where more do not count, the others are sooner folded */

bool iforest_can_take_out(const struct iforest_wanted *wanted, const struct iforest_fields *fields)
{
	bool can = !wanted->firsts && !wanted->lasts && !wanted->squares && !wanted->times && !wanted->node_fields &&
		   !wanted->extremes_alone;

	for (unsigned v = 0; v < fields->n_values && can; v++)
		can = !(wanted->values >> v & 1) || fields->kinds[v] == IFOREST_INT64;
	return can;
}

/* May the entry be the one that an extreme stands in? */
static enum iforest_status is_extreme(struct iforest_block_reader *reader, int64_t number, unsigned i, bool is_wanted,
				      const struct iforest_row *extreme, bool *done)
{
	enum iforest_status status = IFOREST_OK;

	if (!is_wanted || number != extreme->value.integer)
		return IFOREST_OK;
	status = iforest_block_need(reader, IFOREST_REFS);
	if (!status && reader->block.refs[i] == extreme->ref)
		*done = false;
	return status;
}

/* Takes entries out of a column of the node. *done becomes false where one of them is an extreme. */
static enum iforest_status take_out_value(struct iforest_block_reader *reader, unsigned v, uint64_t gone,
					  const struct iforest_wanted *wanted, struct iforest_value_aggregate *rest, bool *done)
{
	enum iforest_status status = iforest_block_find_column(reader, IFOREST_VALUES + v);

	if (!status)
		gone &= reader->columns[IFOREST_VALUES + v].present;
	for (; gone && !status && *done; gone &= gone - 1) {
		unsigned i = iforest_trailing_zeros(gone);
		int64_t number = iforest_column_at(&reader->columns[IFOREST_VALUES + v], i);

		rest->n--;
		rest->sum = iforest_add_wrapping(rest->sum, -(iforest_int128)number);
		status = is_extreme(reader, number, i, !(wanted->no_mins >> v & 1), &rest->min, done);
		if (!status)
			status = is_extreme(reader, number, i, !(wanted->no_maxs >> v & 1), &rest->max, done);
	}
	return status;
}

/* Takes the entries of the reader's block whose bit is set out of the node. */
static enum iforest_status take_out(struct iforest_block_reader *reader, uint64_t gone, const struct iforest_wanted *wanted,
				    struct iforest_aggregate *rest, bool *done)
{
	enum iforest_status status = IFOREST_OK;

	rest->n_rows -= iforest_popcount(gone);
	for (unsigned v = 0; v < reader->leaf->fields->n_values && gone && !status && *done; v++)
		if (wanted->values >> v & 1)
			status = take_out_value(reader, v, gone, wanted, &rest->values[v], done);
	return status;
}

/* By the refs of those that do not count. */
static enum iforest_status take_out_refs(const struct iforest_leaf *leaf, const int64_t *refs, unsigned n_refs,
					 struct iforest_block_reader *reader, const struct iforest_wanted *wanted,
					 struct iforest_aggregate *rest, bool *done)
{
	enum iforest_status status = IFOREST_OK;

	for (unsigned r = 0; r < n_refs && !status && *done; r++) {
		unsigned i;
		bool found;

		status = iforest_leaf_find_ref(leaf, refs[r], reader, &i, &found);
		if (!status && found && !(reader->block.dead >> i & 1))
			status = take_out(reader, UINT64_C(1) << i, wanted, rest, done);
	}
	return status;
}

/* By asking about all of them. */
static enum iforest_status take_out_others(const struct iforest_leaf *leaf, struct iforest_block_reader *reader,
					   const struct iforest_wanted *wanted, struct iforest_aggregate *rest, bool *done)
{
	enum iforest_status status = IFOREST_OK;

	for (unsigned b = 0; b < leaf->header.n_items && !status && *done; b++) {
		uint64_t live, kept;

		iforest_block_start(reader, leaf, b);
		live = kept = iforest_low_bits(reader->block.n) & ~reader->block.dead;
		if (live)
			status = wanted->filter->of_entries(wanted->filter->context, reader, &kept);
		*done = iforest_popcount(live & ~kept) <= FEW_GONE;
		if (!status && *done)
			status = take_out(reader, live & ~kept, wanted, rest, done);
	}
	return status;
}

enum iforest_status iforest_leaf_fold_most(const struct iforest_leaf *leaf, const uint8_t *node,
					   struct iforest_block_reader *reader, const struct iforest_wanted *wanted,
					   struct iforest_aggregate *aggregate, bool *done)
{
	const struct iforest_fields *fields = leaf->fields;
	const struct iforest_filter *filter = wanted->filter;
	struct iforest_aggregate rest;
	int64_t refs[IFOREST_MOST_GONE];
	unsigned n_refs;
	enum iforest_status status;

	/* removed entries stay removed: as many of them are the same ones */
	*done = iforest_can_take_out(wanted, fields) && iforest_node_dead(node) == leaf->header.n_dead;
	if (!*done)
		return IFOREST_OK;
	iforest_aggregate_clear(&rest, fields->n_values);
	iforest_node_fold(node, fields, &(struct iforest_node_parts){ .values = wanted->values, .no_mins = wanted->no_mins,
								      .no_maxs = wanted->no_maxs }, &rest);
	if (leaf->header.flags & IFOREST_PAGE_REFS_ASCEND && filter->refs_gone &&
	    filter->refs_gone(filter->context, node, refs, &n_refs))
		status = take_out_refs(leaf, refs, n_refs, reader, wanted, &rest, done);
	else
		status = take_out_others(leaf, reader, wanted, &rest, done);
	if (!status && *done)
		iforest_aggregate_combine(aggregate, &rest, fields->kinds, fields->n_values);
	return status;
}
