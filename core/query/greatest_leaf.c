#include "core/query/greatest_internal.h"

/* The first entry of a block at or after a time. As a rule the range begins where the last one ended. */
static unsigned first_at(const struct iforest_block *block, int64_t time, unsigned guess)
{
	unsigned low = 0, high = block->n;

	if (guess < high && block->times[guess] >= time && (guess == 0 || block->times[guess - 1] < time))
		return guess;
	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (block->times[middle] < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The entry with the greatest value of those in the range, the first of several; n where none of them has a value. */
static unsigned greatest_entry(struct iforest_greatest_search *search, const struct iforest_block *block)
{
	const int64_t *values = block->values[search->v], *times = block->times;
	uint64_t present = block->present[search->v];
	int64_t greatest = INT64_MIN, end = search->to->time;
	unsigned n = block->n, from = first_at(block, search->from->time, search->cursor->reached_entry), i = from, at = n;

	for (; i < n && times[i] < end; i++) {
		bool is_greater = (present >> i & 1) & ((values[i] > greatest) | (at == n));

		at = is_greater ? i : at;
		greatest = is_greater ? values[i] : greatest;
	}
	search->cursor->reached_entry = i;
	search->aggregate->n_rows += i - from;
	return at;
}

/* What of a block lies in the range. It stays unpacked: the next range begins with it. */
static enum iforest_status search_cut_block(struct iforest_greatest_search *search, unsigned b)
{
	struct iforest_block_reader *reader = &search->cursor->reader;
	const struct iforest_block *block = &reader->block;
	struct iforest_row row = { .is_set = true };
	enum iforest_status status;
	unsigned at;

	iforest_cursor_read_block(search->cursor, b);
	status = iforest_block_need(reader, IFOREST_TIMES);
	if (!status)
		status = iforest_block_need(reader, IFOREST_VALUES + search->v);
	if (status)
		return iforest_cursor_blame_leaf(search->cursor, status);
	at = greatest_entry(search, block);
	if (at == block->n)
		return IFOREST_OK;
	row.value.integer = block->values[search->v][at];
	row.time = block->times[at];
	if (search->best->is_set && row.value.integer < search->best->value.integer)
		return IFOREST_OK;
	status = iforest_block_pick(reader, IFOREST_REFS, at, &row.ref);
	if (!status)
		iforest_row_max(search->best, &row, IFOREST_INT64);
	return iforest_cursor_blame_leaf(search->cursor, status);
}

/* The block with which the range begins. */
static unsigned first_block(const struct iforest_greatest_search *search, const struct iforest_page_peaks *peaks)
{
	unsigned b = search->cursor->path[0].reached;

	if (peaks->blocks[b].first_time >= search->from->time)
		b = 0;
	while (b + 1u < peaks->n && peaks->blocks[b + 1].first_time < search->from->time)
		b++;
	return b;
}

static inline void offer_peak(struct iforest_greatest_search *search, const struct iforest_peak *peak)
{
	struct iforest_row row = { .value.integer = peak->value, .time = peak->time, .ref = peak->ref, .is_set = true };

	search->aggregate->n_rows++;
	if (!search->best->is_set || iforest_row_is_greater(&row, search->best))
		*search->best = row;
}

/* Offers the peak of a block that a bound cuts, if it lies in the range. Returns whether the block may have to be opened: it
 * begins before the range ends. */
static bool look_at_cut_block(struct iforest_greatest_search *search, const struct iforest_peak *peak)
{
	if (peak->first_time >= search->to->time)
		return false;
	search->aggregate->n_rows += peak->first_time >= search->from->time;
	if (!iforest_greatest_has_time(search, peak->time))
		return true;
	offer_peak(search, peak);
	return false;
}

/* Of blocks [from, to), which lie in the range, from < to: the greatest peak. Peaks are in the order of time. */
static const struct iforest_peak *greatest_peak(const struct iforest_page_peaks *peaks, unsigned from, unsigned to)
{
	const struct iforest_peak *greatest = &peaks->blocks[from];

	for (unsigned b = from + 1; b < to; b++)
		greatest = peaks->blocks[b].value > greatest->value ? &peaks->blocks[b] : greatest;
	return greatest;
}

static enum iforest_status open_cut_block(struct iforest_greatest_search *search, const struct iforest_page_peaks *peaks,
					  unsigned b)
{
	if (search->aggregate->n_rows > 0 && search->best->is_set && peaks->blocks[b].value < search->best->value.integer)
		return IFOREST_OK;
	return search_cut_block(search, b);
}

/* By the peaks of the leaf page that is held: first those that lie in the range, then of the blocks with which it begins and
 * ends those that it cuts off from their peaks. The last one stays unpacked. */
enum iforest_status iforest_greatest_of_peaks(struct iforest_greatest_search *search, const struct iforest_page_peaks *peaks)
{
	unsigned first = first_block(search, peaks), last = first;
	bool is_first_open, is_last_open = false;
	enum iforest_status status = IFOREST_OK;

	while (last + 1u < peaks->n && peaks->blocks[last + 1].first_time < search->to->time)
		last++;
	search->cursor->path[0].reached = last;
	if (first + 1 < last)
		offer_peak(search, greatest_peak(peaks, first + 1, last));
	is_first_open = look_at_cut_block(search, &peaks->blocks[first]);
	if (first < last)
		is_last_open = look_at_cut_block(search, &peaks->blocks[last]);
	if (is_first_open)
		status = open_cut_block(search, peaks, first);
	if (!status && is_last_open)
		status = open_cut_block(search, peaks, last);
	return status;
}

enum iforest_status iforest_greatest_of_leaf(struct iforest_greatest_search *search, uint64_t number)
{
	struct iforest_cursor *cursor = search->cursor;
	struct iforest_page_peaks *peaks;
	enum iforest_status status;

	if (number >= cursor->run->n_leaves)
		return iforest_cursor_blame(cursor, IFOREST_CORRUPT, "the page has too many nodes", 1,
					    number / cursor->manifest->fanout);
	status = iforest_cursor_hold(cursor, 0, number);
	if (status)
		return status;
	peaks = cursor->path[0].page.peaks;
	if (!peaks || !iforest_leaf_has_peaks(&cursor->leaf, peaks))
		return iforest_cursor_extremes_of_leaf(cursor, search->from, search->to, search->wanted, search->aggregate,
						       &search->is_narrow);
	return peaks->series == search->from->series ? iforest_greatest_of_peaks(search, peaks) : IFOREST_OK;
}
