/* leaf_sums.h -- counts, and the sum of the first value column, where nothing else is wanted: what of an aggregate can also be
 * taken out again. So of a page, or a row of nodes, that a place cuts in two, one part is added up and the other is what is
 * left. */
#ifndef IFOREST_LEAF_SUMS_H
#define IFOREST_LEAF_SUMS_H

#include "core/page/leaf_fold.h"

struct iforest_sums {
	uint64_t n_rows, n_dead;  /* entries that are live, and removed ones */
	uint64_t n;               /* live ones that have a value; it and the sum are 0 where no value is wanted */
	iforest_int128 sum;
};

/* Is that all that is wanted, and of all entries? Of values, none or the first, which has integers. */
static inline bool iforest_wants_sums(const struct iforest_wanted *wanted, const struct iforest_fields *fields)
{
	bool is_sum = wanted->values == 1 && fields->kinds[0] == IFOREST_INT64 && wanted->no_mins & wanted->no_maxs & 1;

	return (is_sum || wanted->values == 0) && !(wanted->squares | wanted->firsts | wanted->lasts) && !wanted->times &&
	       !wanted->node_fields && !wanted->extremes_alone && !wanted->filter;
}

static inline void iforest_sums_add(struct iforest_sums *into, const struct iforest_sums *from)
{
	into->n_rows += from->n_rows;
	into->n_dead += from->n_dead;
	into->n += from->n;
	into->sum = iforest_add_wrapping(into->sum, from->sum);
}

static inline void iforest_sums_take_out(struct iforest_sums *from, const struct iforest_sums *part)
{
	from->n_rows -= part->n_rows;
	from->n_dead -= part->n_dead;
	from->n -= part->n;
	from->sum = (iforest_int128)((iforest_uint128)from->sum - (iforest_uint128)part->sum);
}

/* of_value: of the first value column too, which has integers. The same below. */
static inline void iforest_sums_add_node(struct iforest_sums *into, const uint8_t *node, const struct iforest_fields *fields,
					 bool of_value)
{
	const uint8_t *value = node + fields->value_offset[0];
	iforest_uint128 sum;

	into->n_rows += iforest_node_rows(node);
	into->n_dead += iforest_node_dead(node);
	if (!of_value)
		return;
	into->n += iforest_load64(value);
	sum = (iforest_uint128)iforest_load64(value + 16) << 64 | iforest_load64(value + 8);
	into->sum = iforest_add_wrapping(into->sum, (iforest_int128)sum);
}

/* Added to the parts of an aggregate that are wanted; and these alone. The other parts are left as they are. */
static inline void iforest_sums_add_to_aggregate(const struct iforest_sums *sums, const struct iforest_wanted *wanted,
						 struct iforest_aggregate *aggregate)
{
	aggregate->n_rows += sums->n_rows;
	aggregate->n_dead += sums->n_dead;
	if (!wanted->values)
		return;
	aggregate->values[0].n += sums->n;
	aggregate->values[0].sum = iforest_add_wrapping(aggregate->values[0].sum, sums->sum);
}

static inline struct iforest_sums iforest_sums_of_aggregate(const struct iforest_aggregate *aggregate,
							    const struct iforest_wanted *wanted)
{
	struct iforest_sums sums = { .n_rows = aggregate->n_rows, .n_dead = aggregate->n_dead };

	if (wanted->values) {
		sums.n = aggregate->values[0].n;
		sums.sum = aggregate->values[0].sum;
	}
	return sums;
}

/* sums = sums + the entries [from, to) of the block, from < to.
 * Cost    what the fewer take: these, or the others, where the block has a summary.
 * Errors  IFOREST_CORRUPT. */
enum iforest_status iforest_block_add_sums(struct iforest_block_reader *reader, unsigned from, unsigned to, bool of_value,
					   struct iforest_sums *sums);

/* What of a page comes from an entry of the reader's block on. all: what its node says of it.
 * Requires  the node has counted as many removed entries as the page has: removed ones stay removed, so they are the same ones.
 * Cost      a block, and the summaries of those on the shorter side of it.
 * Errors    IFOREST_CORRUPT. */
enum iforest_status iforest_leaf_sums_from(const struct iforest_leaf *leaf, const struct iforest_sums *all,
					   struct iforest_block_reader *reader, unsigned entry, bool of_value,
					   struct iforest_sums *rest);

#endif
