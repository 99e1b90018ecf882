#include "core/cursor_internal.h"
#include "core/leaf_peaks.h"

/* Nodes of a page that a bound cuts, and leaf pages. There are two, except on forged pages. */
enum { MOST_CUT = 2 };

/* A node whose greatest value lies outside the range, or may. */
struct cut {
	uint64_t number;
	struct iforest_row greatest;
};

/* What is looked for: the greatest value v in [from, to), times of one series. */
struct search {
	struct iforest_cursor *cursor;
	const struct iforest_key *from, *to;
	const struct iforest_wanted *wanted;
	struct iforest_aggregate *aggregate;
	struct iforest_row *best;      /* so far, in the aggregate */
	unsigned v;
	struct cut leaves[MOST_CUT];   /* left to the end, when most is known */
	unsigned n_leaves;
	bool is_narrow;
};

static inline bool has_time_in_range(const struct search *search, int64_t time)
{
	return time >= search->from->time && time < search->to->time;
}

static inline bool is_of_series(const struct search *search, const uint8_t *node)
{
	return iforest_node_first(node).series == search->from->series &&
	       iforest_node_last(node).series == search->from->series;
}

/* Can the row, or one that is less, be the greatest of the range? */
static inline bool may_improve(const struct search *search, const struct iforest_row *row)
{
	const struct iforest_row *best = search->best;

	if (search->aggregate->n_rows == 0)
		return true;
	return row->is_set && (!best->is_set || iforest_row_is_greater(row, best));
}

/* ---- a leaf page ---- */

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
static unsigned greatest_entry(struct search *search, const struct iforest_block *block)
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
static enum iforest_status search_cut_block(struct search *search, unsigned b)
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
static unsigned first_block(const struct search *search, const struct iforest_page_peaks *peaks)
{
	unsigned b = search->cursor->path[0].reached;

	if (peaks->blocks[b].first_time >= search->from->time)
		b = 0;
	while (b + 1u < peaks->n && peaks->blocks[b + 1].first_time < search->from->time)
		b++;
	return b;
}

static inline void offer_peak(struct search *search, const struct iforest_peak *peak)
{
	struct iforest_row row = { .value.integer = peak->value, .time = peak->time, .ref = peak->ref, .is_set = true };

	search->aggregate->n_rows++;
	if (!search->best->is_set || iforest_row_is_greater(&row, search->best))
		*search->best = row;
}

/* Offers the peak of a block that a bound cuts, if it lies in the range. Returns whether the block may have to be opened: it
 * begins before the range ends. */
static bool look_at_cut_block(struct search *search, const struct iforest_peak *peak)
{
	if (peak->first_time >= search->to->time)
		return false;
	search->aggregate->n_rows += peak->first_time >= search->from->time;
	if (!has_time_in_range(search, peak->time))
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

static enum iforest_status open_cut_block(struct search *search, const struct iforest_page_peaks *peaks, unsigned b)
{
	if (search->aggregate->n_rows > 0 && search->best->is_set && peaks->blocks[b].value < search->best->value.integer)
		return IFOREST_OK;
	return search_cut_block(search, b);
}

/* By the peaks of the leaf page that is held: first those that lie in the range, then of the blocks with which it begins and
 * ends those that it cuts off from their peaks. The last one stays unpacked. */
static enum iforest_status search_peaks(struct search *search, const struct iforest_page_peaks *peaks)
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

static enum iforest_status search_leaf(struct search *search, uint64_t number)
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
	return peaks->series == search->from->series ? search_peaks(search, peaks) : IFOREST_OK;
}

/* ---- node pages ---- */

static void take_whole(struct search *search, const uint8_t *node)
{
	const struct iforest_fields *fields = &search->cursor->manifest->fields;
	struct iforest_row row;

	search->cursor->n_nodes_folded++;
	search->aggregate->n_rows += iforest_node_rows(node);
	if (search->best->is_set &&
	    iforest_node_extreme_value(node, fields, search->v, 1).integer < search->best->value.integer)
		return;
	row = iforest_node_extreme(node, fields, search->v, 1);
	iforest_row_max(search->best, &row, IFOREST_INT64);
}

/* Takes the greatest value under a node that a bound cuts, if it lies in the range. Returns whether what is below has to be
 * looked at, and the value. */
static bool look_at_cut(struct search *search, const uint8_t *node, struct iforest_row *greatest)
{
	if (iforest_node_rows(node) == 0)
		return false;
	*greatest = iforest_node_extreme(node, &search->cursor->manifest->fields, search->v, 1);
	if (!may_improve(search, greatest))
		return false;
	if (!greatest->is_set || greatest->time_is_null || !is_of_series(search, node) ||
	    !has_time_in_range(search, greatest->time))
		return true;
	*search->best = *greatest;
	search->aggregate->n_rows++;
	return false;
}

/* Takes the nodes of a page that lie in the range as wholes. Returns how many are cut, and which. */
static unsigned look_at_nodes(struct search *search, unsigned level, unsigned cut[MOST_CUT])
{
	struct iforest_cursor *cursor = search->cursor;
	struct iforest_held_page *held = &cursor->path[level];
	unsigned low = held->reached, n_cut = 0;

	if (low > 0 && !iforest_cursor_begins_before(cursor, level, low, search->from, true))
		low = 0;
	low = iforest_cursor_last_node(cursor, level, low, search->from, true);
	for (unsigned k = low; k < held->header.n_items; k++) {
		const uint8_t *node = iforest_node_at(held->page.bytes, &cursor->manifest->fields, k);
		struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);

		if (iforest_key_compare(&first, search->to) >= 0)
			break;
		held->reached = k;
		if (iforest_key_compare(&last, search->to) < 0 && (k > low || iforest_key_compare(&first, search->from) >= 0))
			take_whole(search, node);
		else if (iforest_key_compare(&last, search->from) >= 0 && n_cut < MOST_CUT)
			cut[n_cut++] = k;
	}
	return n_cut;
}

/* All nodes of a page are looked at before any is opened. */
static enum iforest_status search_page(struct search *search, unsigned level, uint64_t number)
{
	struct iforest_cursor *cursor = search->cursor;
	const struct iforest_fields *fields = &cursor->manifest->fields;
	unsigned nodes[MOST_CUT], n, n_below = 0;
	struct cut below[MOST_CUT];
	enum iforest_status status = iforest_cursor_hold(cursor, level, number);

	if (status)
		return status;
	n = look_at_nodes(search, level, nodes);
	for (unsigned i = 0; i < n; i++) {
		below[n_below].number = number * cursor->manifest->fanout + nodes[i];
		n_below += look_at_cut(search, iforest_node_at(cursor->path[level].page.bytes, fields, nodes[i]),
				       &below[n_below].greatest);
	}
	for (unsigned i = 0; i < n_below && !status; i++) {
		if (!may_improve(search, &below[i].greatest))
			continue;
		if (level > 1)
			status = search_page(search, level - 1, below[i].number);
		else if (search->n_leaves < MOST_CUT)
			search->leaves[search->n_leaves++] = below[i];
		else
			status = search_leaf(search, below[i].number);
	}
	return status;
}

static enum iforest_status search_root(struct search *search)
{
	const uint8_t *root = search->cursor->run->root;
	struct iforest_key first = iforest_node_first(root), last = iforest_node_last(root);
	struct iforest_row greatest;

	if (iforest_key_compare(&last, search->from) < 0 || iforest_key_compare(&first, search->to) >= 0)
		return IFOREST_OK;
	if (iforest_key_compare(&first, search->from) >= 0 && iforest_key_compare(&last, search->to) < 0)
		take_whole(search, root);
	else if (look_at_cut(search, root, &greatest))
		return search_page(search, search->cursor->run->n_levels, 0);
	return IFOREST_OK;
}

/* ---- */

bool iforest_cursor_leaf_has(const struct iforest_cursor *cursor, const struct iforest_key *from, const struct iforest_key *to)
{
	const struct iforest_page_peaks *peaks = cursor->path[0].is_held ? cursor->path[0].page.peaks : NULL;

	return peaks && iforest_peaks_are_there(peaks) && peaks->series == from->series && peaks->series == to->series &&
	       !from->time_is_null && !to->time_is_null && from->ref == INT64_MIN && to->ref == INT64_MIN &&
	       peaks->blocks[0].first_time < from->time && to->time <= peaks->last_time;
}

bool iforest_cursor_has_greatest(const struct iforest_cursor *cursor, const struct iforest_key *from,
				 const struct iforest_key *to, const struct iforest_wanted *wanted)
{
	unsigned v = iforest_peaks_value(&cursor->manifest->fields);

	return v != IFOREST_NO_VALUE && wanted->values == 1u << v && wanted->no_mins >> v & 1 && !(wanted->no_maxs >> v & 1) &&
	       !wanted->filter && from->series == to->series && !from->time_is_null && !to->time_is_null &&
	       from->ref == INT64_MIN && to->ref == INT64_MIN;
}

enum iforest_status iforest_cursor_greatest(struct iforest_cursor *cursor, const struct iforest_key *from,
					    const struct iforest_key *to, const struct iforest_wanted *wanted,
					    struct iforest_aggregate *aggregate, bool *is_narrow)
{
	unsigned v = iforest_peaks_value(&cursor->manifest->fields), level;
	struct search search;
	enum iforest_status status;

	search.cursor = cursor;
	search.from = from;
	search.to = to;
	search.wanted = wanted;
	search.aggregate = aggregate;
	search.best = &aggregate->values[v].max;
	search.v = v;
	search.n_leaves = 0;
	search.is_narrow = *is_narrow = false;
	if (iforest_cursor_leaf_has(cursor, from, to))
		return search_peaks(&search, cursor->path[0].page.peaks);
	level = iforest_cursor_level_of(cursor, from, to);
	status = level > cursor->run->n_levels ? search_root(&search) : search_page(&search, level, cursor->path[level].number);
	for (unsigned i = 0; i < search.n_leaves && !status; i++)
		if (may_improve(&search, &search.leaves[i].greatest))
			status = search_leaf(&search, search.leaves[i].number);
	*is_narrow = search.is_narrow;
	return status;
}
