#include "core/query/extremes.h"

#include "core/page/page_maxima.h"
#include "core/query/descent.h"
#include "core/query/filtered_nodes.h"

/* Most leaf pages that the two bounds of a range can cut, unless pages are forged. */
enum { MAX_CUT = 2 };

/* A leaf page that a bound cuts, and its node. */
struct cut_leaf {
	uint64_t number;
	struct iforest_extreme greatest;      /* of the node, if only a maximum is requested */
	uint8_t node[IFOREST_MAX_NODE_BYTES]; /* otherwise */
};

/* A search for extremes of a range. The best so far are in the aggregate. */
struct range_search {
	struct iforest_descent descent;
	struct iforest_fold *fold;
	const struct iforest_request *request;
	struct iforest_aggregate *aggregate;
	struct iforest_extreme *maximum; /* the best, if page maxima (page_maxima.h) can answer the request; else NULL */
	unsigned v;			 /* its value column */
	struct cut_leaf cut[MAX_CUT];	 /* opened last, because by then the best so far excludes most */
	unsigned n_cut;
	bool is_narrow;
	const struct iforest_filter *filtered; /* the filter, if it has a cache of filtered nodes; else NULL */
};

static bool is_in_range(const struct range_search *search, uint64_t series, const struct iforest_extreme *row)
{
	struct iforest_key key = { .series = series, .time_is_null = row->time_is_null, .time = row->time, .ref = row->ref };

	return iforest_key_compare(&key, search->descent.from) >= 0 && iforest_key_compare(&key, search->descent.to) < 0;
}

/* A node whose extremes are offered. */
struct candidate {
	const uint8_t *bytes; /* of the node, or of the filtered node */
	bool is_inside;	      /* all its keys lie in the range */
	bool all_count;
	bool is_of_series; /* all its keys are of the series of the range */
};

/* Compares the node's extreme with the best so far, by value only; greater than 0 if better. */
static inline int order_of(const struct iforest_node_schema *fields, const uint8_t *bytes, unsigned v, int sign,
			   const struct iforest_extreme *best)
{
	if (!best->is_set)
		return 1;
	return sign * iforest_number_compare(iforest_node_extreme_value(bytes, fields, v, sign), best->value,
					     (enum iforest_value_type)fields->value_types[v]);
}

/* Takes the node's extreme if it is better than the best so far, and is known to lie in the range and to count. Sets *open if
 * it is better but not known to: then the node must be opened. */
static void offer_extreme(struct range_search *search, const struct candidate *node, unsigned v, int sign,
			  struct iforest_extreme *best, bool *open)
{
	const struct iforest_node_schema *fields = &search->fold->cursor.manifest->fields;
	int order = order_of(fields, node->bytes, v, sign, best);
	struct iforest_extreme row;

	if (order < 0)
		return;
	row = iforest_node_extreme(node->bytes, fields, v, sign);
	if (!row.is_set || (order == 0 && iforest_extreme_compare(&row, best) >= 0))
		return;
	if (!node->all_count ||
	    !(node->is_inside || (node->is_of_series && is_in_range(search, search->descent.from->series, &row)))) {
		*open = true;
		return;
	}
	*best = row;
	search->aggregate->n_rows += !node->is_inside;
}

static inline bool is_of_series(const struct range_search *search, const uint8_t *bytes)
{
	uint64_t series = search->descent.from->series;

	return iforest_node_first(bytes).series == series && iforest_node_last(bytes).series == series;
}

/* look_at_node() for any request. */
static bool look_at_extremes(struct range_search *search, const uint8_t *bytes, bool is_inside, bool is_left)
{
	const struct iforest_request *request = search->request;
	struct iforest_aggregate *aggregate = search->aggregate;
	const struct iforest_filter *filter = request->filter;
	enum iforest_filter_class filter_class = iforest_node_rows(bytes) == 0 ? IFOREST_COUNTS_NONE
						 : filter && !is_left	       ? filter->of_node(filter->context, bytes)
									       : IFOREST_COUNTS_ALL;
	struct candidate node = { .bytes = bytes, .is_inside = is_inside, .all_count = filter_class == IFOREST_COUNTS_ALL };
	bool open = false;

	if (filter_class == IFOREST_COUNTS_NONE)
		return false;
	node.is_of_series = is_inside || is_of_series(search, bytes);
	if (is_inside && node.all_count) {
		aggregate->n_rows += iforest_node_rows(bytes);
		search->fold->n_nodes_folded++;
	}
	for (unsigned v = 0; v < search->fold->cursor.manifest->fields.n_values; v++) {
		if (!(request->values >> v & 1))
			continue;
		if (!(request->no_mins >> v & 1))
			offer_extreme(search, &node, v, -1, &aggregate->values[v].min, &open);
		if (!(request->no_maxs >> v & 1))
			offer_extreme(search, &node, v, 1, &aggregate->values[v].max, &open);
	}
	return open || aggregate->n_rows == 0;
}

/* look_at_node() if only one maximum is requested. */
static bool look_at_maximum(struct range_search *search, const uint8_t *bytes, bool is_inside)
{
	struct iforest_extreme row = iforest_node_extreme(bytes, &search->descent.cursor->manifest->fields, search->v, 1);
	uint64_t n_rows = iforest_node_rows(bytes);

	if (n_rows == 0)
		return false;
	search->aggregate->n_rows += is_inside ? n_rows : 0;
	search->fold->n_nodes_folded += is_inside;
	if (!row.is_set || (search->maximum->is_set && !iforest_row_is_greater(&row, search->maximum)))
		return search->aggregate->n_rows == 0;
	if (!is_inside && !(is_of_series(search, bytes) && is_in_range(search, search->descent.from->series, &row)))
		return true;
	*search->maximum = row;
	search->aggregate->n_rows += !is_inside;
	return false;
}

/* Adds the node's extremes as far as they are known to count. is_left: the bytes are of a filtered node, so all of its entries
 * count. Returns true if the pages below it must be searched. */
static bool look_at_node(struct range_search *search, const uint8_t *bytes, bool is_inside, bool is_left)
{
	return search->maximum ? look_at_maximum(search, bytes, is_inside)
			       : look_at_extremes(search, bytes, is_inside, is_left);
}

/* ---- Leaf pages ---- */

/* Folds the entries of a block that lie in the range. */
static enum iforest_status search_block(struct range_search *search, unsigned block, bool cut_before, bool cut_after)
{
	struct iforest_fold *fold = search->fold;
	struct iforest_block_reader *reader = &fold->cursor.reader;
	unsigned from = 0, to;
	uint64_t counted;
	bool may = true;
	enum iforest_status status = IFOREST_OK;

	iforest_cursor_read_block(&fold->cursor, block);
	to = reader->block.n;
	if (search->aggregate->n_rows > 0)
		status = iforest_block_may_improve(reader, search->request, search->aggregate, &may);
	if (!status && may && cut_before)
		status = iforest_block_find(reader, search->descent.from, &from);
	if (!status && may && cut_after)
		status = iforest_block_find(reader, search->descent.to, &to);
	search->is_narrow = from > 0 && to < reader->block.n;
	if (!status && may && from < to)
		status = iforest_block_fold(reader, from, to, search->request, search->aggregate, &counted);
	return iforest_cursor_report_leaf(&fold->cursor, status);
}

/* Searches the pinned leaf page: whole blocks first, then cut ones. The last block is searched last, and stays unpacked for the
 * next range, which begins in it. */
static enum iforest_status search_blocks(struct range_search *search)
{
	struct iforest_fold *fold = search->fold;
	enum iforest_status status = IFOREST_OK;
	struct iforest_key first;
	unsigned low, high;
	bool cut_before;

	low = iforest_leaf_find_block(&fold->cursor.leaf, search->descent.from);
	high = iforest_leaf_find_block(&fold->cursor.leaf, search->descent.to);
	first = iforest_leaf_block(&fold->cursor.leaf, low).first;
	cut_before = iforest_key_compare(&first, search->descent.from) < 0;
	if (low == high)
		return search_block(search, low, cut_before, true);
	for (unsigned b = low + !!cut_before; b < high && !status; b++)
		status = search_block(search, b, false, false);
	if (!status && cut_before)
		status = search_block(search, low, true, false);
	return status ? status : search_block(search, high, false, true);
}

/* ---- Leaf pages by their maxima ---- */

static inline bool has_time(const struct range_search *search, int64_t time)
{
	return time >= search->descent.from->time && time < search->descent.to->time;
}

/* Returns the first entry of a block at or after a time. The guess, the end of the last range, is usually right. */
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

/* Returns the entry of the block with the greatest value in the range, the first of several; block->n if none has a value. */
static unsigned maximum_entry(struct range_search *search, const struct iforest_block *block)
{
	const int64_t *values = block->values[search->v], *times = block->times;
	uint64_t present = block->present[search->v];
	int64_t maximum = INT64_MIN, end = search->descent.to->time;
	unsigned n = block->n, from = first_at(block, search->descent.from->time, search->fold->reached_entry), i = from,
		 at = n;

	for (; i < n && times[i] < end; i++) {
		bool is_greater = (present >> i & 1) & ((values[i] > maximum) | (at == n));

		at = is_greater ? i : at;
		maximum = is_greater ? values[i] : maximum;
	}
	search->fold->reached_entry = i;
	search->aggregate->n_rows += i - from;
	return at;
}

/* Searches a block that a bound cuts. It stays unpacked for the next range, which begins in it. */
static enum iforest_status search_cut_block(struct range_search *search, unsigned b)
{
	struct iforest_block_reader *reader = &search->fold->cursor.reader;
	const struct iforest_block *block = &reader->block;
	struct iforest_extreme row = { .is_set = true };
	enum iforest_status status;
	unsigned at;

	iforest_cursor_read_block(&search->fold->cursor, b);
	status = iforest_block_need(reader, IFOREST_TIMES);
	if (!status)
		status = iforest_block_need(reader, IFOREST_VALUES + search->v);
	if (status)
		return iforest_cursor_report_leaf(&search->fold->cursor, status);
	at = maximum_entry(search, block);
	if (at == block->n)
		return IFOREST_OK;
	row.value.integer = block->values[search->v][at];
	row.time = block->times[at];
	if (search->maximum->is_set && row.value.integer < search->maximum->value.integer)
		return IFOREST_OK;
	status = iforest_block_pick(reader, IFOREST_REFS, at, &row.ref);
	if (!status)
		iforest_extreme_max(search->maximum, &row, IFOREST_INT64);
	return iforest_cursor_report_leaf(&search->fold->cursor, status);
}

/* Returns the block in which the range begins. */
static unsigned first_block(const struct range_search *search, const struct iforest_page_maxima *maxima)
{
	unsigned b = iforest_fold_page(search->fold, 0)->reached;

	if (maxima->blocks[b].first_time >= search->descent.from->time)
		b = 0;
	while (b + 1u < maxima->n && maxima->blocks[b + 1].first_time < search->descent.from->time)
		b++;
	return b;
}

static inline void offer_maximum(struct range_search *search, const struct iforest_block_maximum *maximum)
{
	struct iforest_extreme row = iforest_block_maximum_row(maximum);

	search->aggregate->n_rows++;
	if (!search->maximum->is_set || iforest_row_is_greater(&row, search->maximum))
		*search->maximum = row;
}

/* Offers the maximum of a block that a bound cuts, if it lies in the range.
 * Returns true if the block may have to be opened: it begins before the range ends, and its maximum lies outside. */
static bool look_at_cut_block(struct range_search *search, const struct iforest_block_maximum *maximum)
{
	if (maximum->first_time >= search->descent.to->time)
		return false;
	search->aggregate->n_rows += maximum->first_time >= search->descent.from->time;
	if (!has_time(search, maximum->time))
		return true;
	offer_maximum(search, maximum);
	return false;
}

/* Returns the greatest maximum of blocks [from, to), which lie inside the range, from < to; the first of several, as blocks
 * are in time order. */
static const struct iforest_block_maximum *maximum_of_whole_blocks(const struct iforest_page_maxima *maxima, unsigned from,
								   unsigned to)
{
	const struct iforest_block_maximum *maximum = &maxima->blocks[from];

	for (unsigned b = from + 1; b < to; b++)
		maximum = maxima->blocks[b].value > maximum->value ? &maxima->blocks[b] : maximum;
	return maximum;
}

static enum iforest_status open_cut_block(struct range_search *search, const struct iforest_page_maxima *maxima, unsigned b)
{
	if (search->aggregate->n_rows > 0 && search->maximum->is_set &&
	    maxima->blocks[b].value < search->maximum->value.integer)
		return IFOREST_OK;
	return search_cut_block(search, b);
}

/* Searches the pinned leaf page by its maxima: whole blocks first, then the outer two, which are opened only if their maximum
 * lies outside the range. The last one stays unpacked. */
static enum iforest_status search_maxima(struct range_search *search, const struct iforest_page_maxima *maxima)
{
	unsigned first = first_block(search, maxima), last = first;
	bool is_first_open, is_last_open = false;
	enum iforest_status status = IFOREST_OK;

	while (last + 1u < maxima->n && maxima->blocks[last + 1].first_time < search->descent.to->time)
		last++;
	iforest_fold_page(search->fold, 0)->reached = last;
	if (first + 1 < last)
		offer_maximum(search, maximum_of_whole_blocks(maxima, first + 1, last));
	is_first_open = look_at_cut_block(search, &maxima->blocks[first]);
	if (first < last)
		is_last_open = look_at_cut_block(search, &maxima->blocks[last]);
	if (is_first_open)
		status = open_cut_block(search, maxima, first);
	if (!status && is_last_open)
		status = open_cut_block(search, maxima, last);
	return status;
}

/* ---- Leaf pages of the descent ---- */

/* Searches a leaf page, whose node is on a pinned page. */
static enum iforest_status search_leaf(struct range_search *search, const uint8_t *node, uint64_t number)
{
	struct iforest_cursor *cursor = search->descent.cursor;
	const struct iforest_request *asked = search->request;
	struct iforest_request without;
	struct iforest_page_maxima *maxima;
	bool known = false;
	enum iforest_status status = IFOREST_OK;

	if (search->filtered)
		status = iforest_filtered_leaf(cursor, number, search->filtered, &node, &known);
	if (!status)
		status = iforest_cursor_pin(cursor, 0, number);
	if (status)
		return status;
	maxima = search->maximum ? cursor->path[0].page.maxima : NULL;
	if (maxima && iforest_leaf_has_maxima(&cursor->leaf, maxima))
		return maxima->series == search->descent.from->series ? search_maxima(search, maxima) : IFOREST_OK;
	if (known) {
		without = *asked;
		without.filter = NULL;
		search->request = &without;
	}
	status = search_blocks(search);
	search->request = asked;
	return status;
}

/* Records a cut leaf page for later. With a filter, pages inside the range may be opened too; these are searched at once. */
static enum iforest_status visit_leaf(struct iforest_descent *descent, const struct iforest_visited_node *node)
{
	struct range_search *search = descent->context;
	const struct iforest_node_schema *fields = &descent->cursor->manifest->fields;
	struct cut_leaf *cut = search->cut + search->n_cut;

	if (search->request->filter || search->n_cut == MAX_CUT)
		return search_leaf(search, node->bytes, node->i);
	cut->number = node->i;
	if (search->maximum)
		cut->greatest = iforest_node_extreme(node->bytes, fields, search->v, 1);
	else
		memcpy(cut->node, node->bytes, fields->node_bytes);
	search->n_cut++;
	return IFOREST_OK;
}

/* True if a leaf page recorded for later must still be searched: the best may have improved since. */
static bool must_search(struct range_search *search, const struct cut_leaf *cut)
{
	if (!search->maximum)
		return look_at_node(search, cut->node, false, false);
	if (!cut->greatest.is_set)
		return search->aggregate->n_rows == 0;
	return !search->maximum->is_set || iforest_row_is_greater(&cut->greatest, search->maximum);
}

/* ---- Node pages ---- */

/* Returns the maxima of the node page pinned on a level; NULL if it has none, or if they do not answer the request. */
static const struct iforest_page_maxima *maxima_of_page(const struct range_search *search, unsigned level)
{
	const struct iforest_cursor *cursor = search->descent.cursor;
	const struct iforest_pinned_page *pinned = &cursor->path[level];
	struct iforest_page_maxima *maxima = search->maximum ? pinned->page.maxima : NULL;

	return maxima && iforest_node_page_has_maxima(pinned->page.bytes, &pinned->header, &cursor->manifest->fields, maxima)
		       ? maxima
		       : NULL;
}

/* Finds the first and the last node of a page that the range may meet. The guess is the node in which the last range ended. */
static void find_ends(const struct range_search *search, struct iforest_siblings *siblings, unsigned guess)
{
	const struct iforest_cursor *cursor = search->descent.cursor;
	unsigned level = siblings->level;

	if (guess > 0 && !iforest_cursor_begins_before(cursor, level, guess, search->descent.from, true))
		guess = 0;
	siblings->low = iforest_cursor_last_node(cursor, level, guess, search->descent.from, true);
	siblings->high = iforest_cursor_last_node(cursor, level, siblings->low, search->descent.to, false);
}

static void find_ends_by_maxima(const struct range_search *search, const struct iforest_page_maxima *maxima,
				struct iforest_siblings *siblings, unsigned guess)
{
	int64_t from = search->descent.from->time, to = search->descent.to->time;
	const int64_t *first_times = maxima->nodes.first_times;
	unsigned low = first_times[guess] < from ? guess : 0, high;

	while (low + 1u < maxima->n && first_times[low + 1] < from)
		low++;
	for (high = low; high + 1u < maxima->n && first_times[high + 1] < to;)
		high++;
	siblings->low = low;
	siblings->high = high;
}

/* look_at_node() of node k of the pinned page, or of its filtered node if that is cached. */
static bool look_at_sibling(struct range_search *search, unsigned level, unsigned k, const uint8_t *bytes, bool is_inside)
{
	const uint8_t *left =
		search->filtered ? iforest_filtered_node_if_known(search->descent.cursor, level, k, search->filtered) : NULL;

	return look_at_node(search, left ? left : bytes, is_inside, left);
}

/* Looks at the nodes between the ends, which lie inside. With maxima, looks only at the greatest; at the first of equal ones,
 * as nodes are in time order. */
static void look_inside(struct range_search *search, const struct iforest_page_maxima *maxima,
			const struct iforest_siblings *siblings)
{
	unsigned level = siblings->level, greatest = siblings->low + 1;

	for (unsigned k = siblings->low + 1; k < siblings->high; k++)
		if (!maxima)
			look_at_sibling(search, level, k, iforest_cursor_sibling(search->descent.cursor, level, k), true);
		else if (maxima->nodes.values[k] > maxima->nodes.values[greatest])
			greatest = k;
	if (!maxima || greatest >= siblings->high)
		return;
	look_at_node(search, iforest_cursor_sibling(search->descent.cursor, level, greatest), true, false);
	search->fold->n_nodes_folded += siblings->high - siblings->low - 2;
}

/* look_at_end() with maxima, which imply that the page is of the range's series. */
static bool look_at_end_by_maxima(struct range_search *search, const struct iforest_page_maxima *maxima, unsigned k,
				  const uint8_t *bytes)
{
	int64_t first = maxima->nodes.first_times[k], last = iforest_node_last(bytes).time;
	int64_t from = search->descent.from->time, to = search->descent.to->time;

	if (search->maximum->is_set && maxima->nodes.values[k] < search->maximum->value.integer)
		return false;
	return first < to && last >= from && look_at_maximum(search, bytes, first >= from && last < to);
}

/* Looks at a node that a bound may cut. Returns true if the pages below it must be searched. */
static bool look_at_end(struct range_search *search, const struct iforest_page_maxima *maxima, unsigned level, unsigned k)
{
	const uint8_t *bytes = iforest_cursor_sibling(search->descent.cursor, level, k);
	enum iforest_node_place place;

	if (maxima)
		return look_at_end_by_maxima(search, maxima, k, bytes);
	place = iforest_node_place_of(bytes, search->descent.from, search->descent.to);
	return (place == IFOREST_INSIDE || place == IFOREST_CUT) &&
	       look_at_sibling(search, level, k, bytes, place == IFOREST_INSIDE);
}

/* Looks at all nodes of a page before opening any. Without a filter, only the outer two may need to be opened. */
static void look_at_page(struct iforest_descent *descent, struct iforest_siblings *siblings)
{
	struct range_search *search = descent->context;
	unsigned level = siblings->level;
	unsigned *reached = &iforest_fold_page(search->fold, level)->reached;
	const struct iforest_page_maxima *maxima = maxima_of_page(search, level);
	bool open_low, open_high;

	if (maxima && (maxima->series != descent->from->series || maxima->nodes.first_times[0] >= descent->to->time)) {
		siblings->low = 1; /* none */
		return;
	}
	if (maxima)
		find_ends_by_maxima(search, maxima, siblings, *reached);
	else
		find_ends(search, siblings, *reached);
	*reached = siblings->high;
	siblings->ends_alone = !search->request->filter;
	look_inside(search, maxima, siblings);
	open_low = look_at_end(search, maxima, level, siblings->low);
	open_high = siblings->high > siblings->low && look_at_end(search, maxima, level, siblings->high);
	if (siblings->ends_alone && !open_high)
		siblings->high = siblings->low;
	if (siblings->ends_alone && !open_low)
		siblings->low = open_high ? siblings->high : siblings->high + 1;
	/* the next range usually begins where this one ends */
	if (search->maximum && level > 1)
		iforest_cursor_prefetch(descent->cursor, level - 1,
					descent->cursor->path[level].number * descent->cursor->manifest->fanout + *reached,
					true);
}

/* Uses the filtered node of a leaf page inside the range instead of opening the page; *open becomes false if that worked. */
static enum iforest_status take_filtered(struct range_search *search, const struct iforest_visited_node *node, bool *open)
{
	const uint8_t *left = node->bytes;
	enum iforest_status status = iforest_filtered_node(search->descent.cursor, 1, node->i, search->filtered, &left);

	if (left)
		look_at_node(search, left, true, true);
	*open = !left;
	return status;
}

/* Leaves leaf pages for later, and checks other nodes again before they are opened: the best may have improved. */
static enum iforest_status visit_node(struct iforest_descent *descent, const struct iforest_visited_node *node, bool *open)
{
	struct range_search *search = descent->context;
	bool is_inside = node->place == IFOREST_INSIDE;

	if (node->level > descent->cursor->run->n_levels)
		*open = look_at_node(search, node->bytes, is_inside, false);
	else
		*open = (node->level == 1 && !search->request->filter) ||
			look_at_sibling(search, node->level, (unsigned)(node->i % descent->cursor->manifest->fanout),
					node->bytes, is_inside);
	return *open && node->level == 1 && is_inside && search->filtered ? take_filtered(search, node, open) : IFOREST_OK;
}

static const struct iforest_visitor visitor = { .page = look_at_page, .node = visit_node, .leaf = visit_leaf };

/* ---- The search ---- */

/* True if a page of the level is pinned and covers the range. */
static bool has_range(const struct iforest_cursor *cursor, unsigned level, const struct iforest_key *from,
		      const struct iforest_key *to)
{
	struct iforest_key last;

	if (!cursor->path[level].is_pinned || !iforest_cursor_begins_before(cursor, level, 0, from, true))
		return false;
	last = iforest_node_last(iforest_cursor_sibling(cursor, level, cursor->path[level].header.n_items - 1u));
	return iforest_key_compare(&last, to) >= 0;
}

/* True if page maxima answer the request: one maximum, of the column that has them, over times of one series and without a
 * filter. They give the same answer in a fraction of the instructions. */
static bool is_single_maximum(const struct iforest_request *request, unsigned v, const struct iforest_key *from,
			      const struct iforest_key *to)
{
	return v != IFOREST_NO_VALUE && request->values == 1u << v && request->no_mins >> v & 1 &&
	       !(request->no_maxs >> v & 1) && !request->filter && from->series == to->series && !from->time_is_null &&
	       !to->time_is_null && from->ref == INT64_MIN && to->ref == INT64_MIN;
}

enum iforest_status iforest_extremes_of_range(struct iforest_fold *fold, const struct iforest_key *from,
					      const struct iforest_key *to, const struct iforest_request *request,
					      struct iforest_aggregate *aggregate, bool *is_narrow)
{
	struct iforest_cursor *cursor = &fold->cursor;
	unsigned v = iforest_page_maxima_value(&cursor->manifest->fields), level = 1;
	enum iforest_status status;
	struct range_search search;

	search.descent =
		(struct iforest_descent){ .visitor = &visitor, .context = &search, .cursor = cursor, .from = from, .to = to };
	search.fold = fold;
	search.request = request;
	search.aggregate = aggregate;
	search.maximum = is_single_maximum(request, v, from, to) ? &aggregate->values[v].max : NULL;
	search.v = v;
	search.n_cut = 0;
	search.is_narrow = false;
	search.filtered = request->filter && request->filter->filtered_nodes ? request->filter : NULL;
	*is_narrow = false;
	if (search.maximum && iforest_cursor_leaf_has(cursor, from, to))
		return search_maxima(&search, cursor->path[0].page.maxima);
	while (level <= cursor->run->n_levels && !has_range(cursor, level, from, to))
		level++;
	status = level > cursor->run->n_levels ? iforest_descend_from_root(&search.descent)
					       : iforest_descend(&search.descent, level, cursor->path[level].number, 0);
	for (unsigned i = 0; i < search.n_cut && !status; i++)
		if (must_search(&search, &search.cut[i]))
			status = search_leaf(&search, search.cut[i].node, search.cut[i].number);
	*is_narrow = search.is_narrow;
	return status;
}
