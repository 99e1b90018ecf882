#include "core/query/greatest_internal.h"

static inline bool is_of_series(const struct iforest_greatest_search *search, const uint8_t *node)
{
	return iforest_node_first(node).series == search->from->series &&
	       iforest_node_last(node).series == search->from->series;
}

/* Can the row, or one that is less, be the greatest of the range? */
static inline bool may_improve(const struct iforest_greatest_search *search, const struct iforest_row *row)
{
	const struct iforest_row *best = search->best;

	if (search->aggregate->n_rows == 0)
		return true;
	return row->is_set && (!best->is_set || iforest_row_is_greater(row, best));
}

static void take_whole(struct iforest_greatest_search *search, const uint8_t *node)
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
static bool look_at_cut(struct iforest_greatest_search *search, const uint8_t *node, struct iforest_row *greatest)
{
	if (iforest_node_rows(node) == 0)
		return false;
	*greatest = iforest_node_extreme(node, &search->cursor->manifest->fields, search->v, 1);
	if (!may_improve(search, greatest))
		return false;
	if (!greatest->is_set || greatest->time_is_null || !is_of_series(search, node) ||
	    !iforest_greatest_has_time(search, greatest->time))
		return true;
	*search->best = *greatest;
	search->aggregate->n_rows++;
	return false;
}

/* Takes a node that begins in the range or before it, if it lies there as a whole. Is it cut instead? */
static bool is_cut(struct iforest_greatest_search *search, const uint8_t *node)
{
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);

	if (iforest_key_compare(&last, search->from) < 0)
		return false;
	if (iforest_key_compare(&first, search->from) < 0 || iforest_key_compare(&last, search->to) >= 0)
		return true;
	take_whole(search, node);
	return false;
}

/* Of the nodes [from, to) of a page, which lie in the range as wholes, takes the greatest value. They are in the order of
 * time. */
static void take_greatest(struct iforest_greatest_search *search, const struct iforest_held_page *held, unsigned from,
			  unsigned to)
{
	const int64_t *values = held->page.peaks->nodes.values;
	unsigned greatest = from;

	for (unsigned k = from + 1; k < to; k++)
		greatest = values[k] > values[greatest] ? k : greatest;
	search->cursor->n_nodes_folded += to - from - 1;
	take_whole(search, iforest_node_at(held->page.bytes, &search->cursor->manifest->fields, greatest));
}

/* look_at_nodes() by the peaks of the page: only nodes that may have the answer are read. */
static unsigned look_at_peaks(struct iforest_greatest_search *search, unsigned level, unsigned cut[IFOREST_MOST_CUT])
{
	const struct iforest_fields *fields = &search->cursor->manifest->fields;
	struct iforest_held_page *held = &search->cursor->path[level];
	const struct iforest_page_peaks *peaks = held->page.peaks;
	const int64_t *first_times = peaks->nodes.first_times;
	unsigned first = held->reached, last, ends[IFOREST_MOST_CUT], n_ends = 0, n_cut = 0;

	if (peaks->series != search->from->series || first_times[0] >= search->to->time)
		return 0;
	if (first_times[first] >= search->from->time)
		first = 0;
	while (first + 1u < peaks->n && first_times[first + 1] < search->from->time)
		first++;
	for (last = first; last + 1u < peaks->n && first_times[last + 1] < search->to->time;)
		last++;
	held->reached = last;
	if (first_times[first] < search->from->time)
		ends[n_ends++] = first++;
	if (first < last)
		take_greatest(search, held, first, last);
	if (first <= last)
		ends[n_ends++] = last;
	for (unsigned e = 0; e < n_ends; e++)
		if ((!search->best->is_set || peaks->nodes.values[ends[e]] >= search->best->value.integer) &&
		    is_cut(search, iforest_node_at(held->page.bytes, fields, ends[e])))
			cut[n_cut++] = ends[e];
	return n_cut;
}

/* Takes the nodes of a page that lie in the range as wholes. Returns how many are cut, and which. */
static unsigned look_at_nodes(struct iforest_greatest_search *search, unsigned level, unsigned cut[IFOREST_MOST_CUT])
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
		else if (iforest_key_compare(&last, search->from) >= 0 && n_cut < IFOREST_MOST_CUT)
			cut[n_cut++] = k;
	}
	return n_cut;
}

static bool has_node_peaks(const struct iforest_cursor *cursor, unsigned level)
{
	const struct iforest_held_page *held = &cursor->path[level];

	return held->page.peaks &&
	       iforest_node_page_has_peaks(held->page.bytes, &held->header, &cursor->manifest->fields, held->page.peaks);
}

/* The next range begins where this one ends, as a rule: below that node. */
static void expect_below(const struct iforest_greatest_search *search, unsigned level, uint64_t number)
{
	const struct iforest_cursor *cursor = search->cursor;
	const struct iforest_pager *pager = cursor->store->pager;

	if (level > 1 && pager->expect && !(cursor->path[level - 1].is_held && cursor->path[level - 1].number == number))
		pager->expect(pager->context, &cursor->run->place, iforest_cursor_page_index(cursor, level - 1, number), true);
}

/* All nodes of a page are looked at before any is opened. */
static enum iforest_status search_page(struct iforest_greatest_search *search, unsigned level, uint64_t number)
{
	struct iforest_cursor *cursor = search->cursor;
	const struct iforest_fields *fields = &cursor->manifest->fields;
	unsigned nodes[IFOREST_MOST_CUT], n, n_below = 0;
	struct iforest_greatest_cut below[IFOREST_MOST_CUT];
	enum iforest_status status = iforest_cursor_hold(cursor, level, number);

	if (status)
		return status;
	n = has_node_peaks(cursor, level) ? look_at_peaks(search, level, nodes) : look_at_nodes(search, level, nodes);
	expect_below(search, level, number * cursor->manifest->fanout + cursor->path[level].reached);
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
		else if (search->n_leaves < IFOREST_MOST_CUT)
			search->leaves[search->n_leaves++] = below[i];
		else
			status = iforest_greatest_of_leaf(search, below[i].number);
	}
	return status;
}

static enum iforest_status search_root(struct iforest_greatest_search *search)
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

/* Does the page of nodes that is held have all of the range? Not where both begin at the same time: the page before it may end
 * with that. */
static bool has_range(const struct iforest_greatest_search *search, unsigned level)
{
	const struct iforest_held_page *held = &search->cursor->path[level];
	const struct iforest_page_peaks *peaks = held->page.peaks;

	if (!held->is_held || !peaks || !iforest_peaks_are_there(peaks))
		return iforest_cursor_holds(search->cursor, level, search->from, search->to);
	return peaks->series == search->from->series && peaks->nodes.first_times[0] < search->from->time &&
	       peaks->last_time >= search->to->time;
}

static unsigned level_of(const struct iforest_greatest_search *search)
{
	unsigned level = 1;

	while (level <= search->cursor->run->n_levels && !has_range(search, level))
		level++;
	return level;
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
	struct iforest_greatest_search search;
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
		return iforest_greatest_of_peaks(&search, cursor->path[0].page.peaks);
	level = level_of(&search);
	status = level > cursor->run->n_levels ? search_root(&search) : search_page(&search, level, cursor->path[level].number);
	for (unsigned i = 0; i < search.n_leaves && !status; i++)
		if (may_improve(&search, &search.leaves[i].greatest))
			status = iforest_greatest_of_leaf(&search, search.leaves[i].number);
	*is_narrow = search.is_narrow;
	return status;
}
