#include "core/page/leaf_sums.h"

#include "core/base/bits.h"

/* The sum of a stretch of entries, removed ones included: of these, or of all without the others, if those are fewer. */
static bool sum_of_stretch(const struct iforest_block_reader *reader, unsigned from, unsigned to, iforest_int128 *sum)
{
	const struct iforest_column *column = &reader->columns[IFOREST_VALUES];
	unsigned n = reader->block.n;
	bool is_edge = from == 0 || to == n, most = 2 * (to - from) > n;

	if (!is_edge || !most || !reader->has_summary[0] || column->present != iforest_low_bits(n))
		return iforest_column_sum(column, from, to, sum);
	*sum = 0;
	if (to - from < n && !iforest_column_sum(column, from == 0 ? to : 0, from == 0 ? n : from, sum))
		return false;
	*sum = reader->summaries[0].sum - *sum;
	return true;
}

enum iforest_status iforest_block_add_sums(struct iforest_block_reader *reader, unsigned from, unsigned to, bool of_value,
					   struct iforest_sums *sums)
{
	uint64_t range = iforest_low_bits(to) & ~iforest_low_bits(from), which = range & ~reader->block.dead;
	const struct iforest_block *block = &reader->block;
	enum iforest_status status;
	iforest_int128 sum;

	sums->n_rows += to - from;
	if (which != range) {
		sums->n_dead += iforest_popcount(range & ~which);
		sums->n_rows -= iforest_popcount(range & ~which);
	}
	if (!of_value)
		return IFOREST_OK;
	status = iforest_block_find_column(reader, IFOREST_VALUES);
	if (status)
		return status;
	which &= reader->columns[IFOREST_VALUES].present;
	sums->n += iforest_popcount(which);
	if (sum_of_stretch(reader, from, to, &sum) &&
	    iforest_column_take_out(&reader->columns[IFOREST_VALUES], range & ~which, &sum)) {
		sums->sum = iforest_add_wrapping(sums->sum, sum);
		return IFOREST_OK;
	}
	status = iforest_block_need(reader, IFOREST_VALUES);
	for (; which && !status; which &= which - 1)
		sums->sum = iforest_add_wrapping(sums->sum, block->values[0][iforest_trailing_zeros(which)]);
	return status;
}

/* By what the directory and the summary say, where they do. */
static enum iforest_status add_block(const struct iforest_leaf *leaf, unsigned b, bool of_value, struct iforest_sums *sums)
{
	struct iforest_block_reader reader;
	unsigned n;
	int64_t sum;

	if (of_value && iforest_leaf_block_sum(leaf, b, &n, &sum)) {
		sums->n_rows += n;
		sums->n += n;
		sums->sum = iforest_add_wrapping(sums->sum, sum);
		return IFOREST_OK;
	}
	iforest_block_start(&reader, leaf, b);
	return iforest_block_add_sums(&reader, 0, reader.block.n, of_value, sums);
}

enum iforest_status iforest_leaf_sums_from(const struct iforest_leaf *leaf, const struct iforest_sums *all,
					   struct iforest_block_reader *reader, unsigned entry, bool of_value,
					   struct iforest_sums *rest)
{
	unsigned block = reader->number, n_blocks = leaf->header.n_items, n = reader->block.n;
	bool is_before = block < n_blocks / 2;
	unsigned from = is_before ? 0 : block + 1, to = is_before ? block : n_blocks;
	struct iforest_sums side = { .n_rows = 0 };
	enum iforest_status status = IFOREST_OK;

	if (is_before ? entry > 0 : entry < n)
		status = iforest_block_add_sums(reader, is_before ? 0 : entry, is_before ? entry : n, of_value, &side);
	for (unsigned b = from; b < to && !status; b++)
		status = add_block(leaf, b, of_value, &side);
	*rest = side;
	if (is_before) {
		*rest = *all;
		iforest_sums_take_out(rest, &side);
	}
	return status;
}
