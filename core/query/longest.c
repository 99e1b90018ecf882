#include "core/query/overlap_longest_internal.h"

#include "core/base/bits.h"

const struct iforest_page_peaks *iforest_longest_peaks(struct iforest_cursor *cursor)
{
	struct iforest_page_peaks *peaks = cursor->path[0].page.peaks;

	return peaks && iforest_leaf_has_peaks(&cursor->leaf, peaks) ? peaks : NULL;
}

enum iforest_status iforest_longest_read_block(struct iforest_longest_search *search, unsigned b, uint64_t *which)
{
	struct iforest_block_reader *reader = &search->cursor->reader;
	enum iforest_status status;

	iforest_cursor_read_block(search->cursor, b);
	status = iforest_block_need(reader, IFOREST_VALUES + search->duration);
	if (!status)
		status = iforest_block_need(reader, IFOREST_TIMES);
	*which = iforest_low_bits(reader->block.n) & ~reader->block.dead;
	return iforest_cursor_blame_leaf(search->cursor, status);
}

enum iforest_status iforest_longest_row(struct iforest_longest_search *search, unsigned i, struct iforest_row *row)
{
	struct iforest_block_reader *reader = &search->cursor->reader;
	int64_t ref = 0;
	enum iforest_status status = iforest_block_pick(reader, IFOREST_REFS, i, &ref);

	*row = (struct iforest_row){ .value.integer = reader->block.values[search->duration][i],
		.time = reader->block.times[i], .ref = ref, .is_set = true };
	return iforest_cursor_blame_leaf(search->cursor, status);
}

static enum iforest_status search_block(struct iforest_longest_search *search, unsigned b)
{
	const struct iforest_block *block = &search->cursor->reader.block;
	uint64_t which;
	enum iforest_status status = iforest_longest_read_block(search, b, &which);

	for (which = status ? 0 : which; which && !status; which &= which - 1) {
		unsigned i = iforest_trailing_zeros(which);
		bool is_present = block->present[search->duration] >> i & 1;
		int64_t duration = is_present ? block->values[search->duration][i] : 0;
		struct iforest_row row;

		if (block->times[i] >= search->to)
			break;
		if (!iforest_longest_overlaps(search, block->times[i], duration))
			continue;
		search->found = true;
		if (!is_present || (search->best.is_set && duration < search->best.value.integer))
			continue;
		status = iforest_longest_row(search, i, &row);
		if (!status)
			iforest_longest_offer(search, &row);
	}
	return status;
}

/* Can a block of which there is no peak have a better span? */
static enum iforest_status may_improve(struct iforest_longest_search *search, unsigned b, bool *may)
{
	struct iforest_block_reader *reader = &search->cursor->reader;
	unsigned column = IFOREST_VALUES + search->duration;
	enum iforest_status status;

	*may = true;
	if (!search->best.is_set)
		return IFOREST_OK;
	iforest_cursor_read_block(search->cursor, b);
	status = iforest_cursor_blame_leaf(search->cursor, iforest_block_find_column(reader, column));
	if (!status && reader->has_summary[search->duration]) {
		unsigned high = reader->summaries[search->duration].high;

		*may = iforest_column_at(&reader->columns[column], high) >= search->best.value.integer;
	}
	return status;
}

static enum iforest_status search_blocks(struct iforest_longest_search *search)
{
	const struct iforest_leaf *leaf = &search->cursor->leaf;
	enum iforest_status status = IFOREST_OK;

	for (unsigned b = 0; b < leaf->header.n_items && !status; b++) {
		struct iforest_key first = iforest_leaf_block(leaf, b).first;
		bool may;

		if (first.series != search->longest->series || first.time_is_null || first.time >= search->to)
			continue;
		status = may_improve(search, b, &may);
		if (!status && may)
			status = search_block(search, b);
	}
	return status;
}

/* Peaks that overlap the bucket are offered first; then the blocks of the others are opened, if they may have a better span. */
static enum iforest_status search_peaks(struct iforest_longest_search *search, const struct iforest_page_peaks *peaks)
{
	uint32_t others = 0;
	enum iforest_status status = IFOREST_OK;

	for (unsigned b = 0; b < peaks->n && peaks->blocks[b].first_time < search->to; b++) {
		const struct iforest_peak *peak = &peaks->blocks[b];

		if (peak->latest_end < search->from || (search->best.is_set && peak->value < search->best.value.integer))
			continue;
		if (peak->time < search->to && iforest_longest_overlaps(search, peak->time, peak->value))
			iforest_longest_offer(search, &(struct iforest_row){ .value.integer = peak->value, .time = peak->time,
									      .ref = peak->ref, .is_set = true });
		else
			others |= UINT32_C(1) << b;
	}
	for (; others && !status; others &= others - 1) {
		unsigned b = iforest_trailing_zeros(others);

		if (!search->best.is_set || peaks->blocks[b].value >= search->best.value.integer)
			status = search_block(search, b);
	}
	return status;
}

enum iforest_status iforest_longest_search_leaf(struct iforest_longest_search *search, uint64_t number)
{
	const struct iforest_page_peaks *peaks;
	enum iforest_status status = iforest_cursor_hold(search->cursor, 0, number);

	if (status)
		return status;
	peaks = iforest_longest_peaks(search->cursor);
	if (!peaks)
		return search_blocks(search);
	return peaks->series == search->longest->series ? search_peaks(search, peaks) : IFOREST_OK;
}
