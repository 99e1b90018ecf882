#include "core/query/extremes.h"

#include "core/page/page_maxima.h"
#include "core/query/filtered_nodes.h"

/* Most nodes of a level, or leaf pages, that the two bounds of a range cut; only forged pages have more. */
enum { MAX_CUT = 2 };

/* A leaf page that a bound cuts, and its node. */

struct cut_leaf {
	uint64_t number;
	uint8_t node[IFOREST_MAX_NODE_BYTES];
};

/* A search for extremes of [from, to). The best so far are in the aggregate. */
struct range_search {
	struct iforest_fold *fold;
	const struct iforest_key *from, *to;
	const struct iforest_request *request;
	struct iforest_aggregate *aggregate;
	struct cut_leaf *cut; /* opened last, when the best so far excludes most */
	unsigned n_cut;
	bool is_narrow;
	const struct iforest_filter *remaining; /* the filter, if it has a cache of filtered nodes; else NULL */
};

static bool is_in_range(const struct range_search *search, uint64_t series, const struct iforest_extreme *row)
{
	struct iforest_key key = { .series = series, .time_is_null = row->time_is_null, .time = row->time, .ref = row->ref };

	return iforest_key_compare(&key, search->from) >= 0 && iforest_key_compare(&key, search->to) < 0;
}

/* A node whose extremes are offered. */
struct candidate {
	const uint8_t *bytes; /* of the node, or of the filtered node */
	bool is_inside;	      /* all lie in the range */
	bool all_count;
	bool is_of_series; /* all are of the series of the range */
};

/* Compares the node's extreme with the best so far, by value alone: above 0 is better. */
static inline int order_of(const struct iforest_node_schema *fields, const uint8_t *bytes, unsigned v, int sign,
			   const struct iforest_extreme *best)
{
	if (!best->is_set)
		return 1;
	return sign * iforest_number_compare(iforest_node_extreme_value(bytes, fields, v, sign), best->value,
					     (enum iforest_value_type)fields->value_types[v]);
}

/* Takes the node's extreme if it is better than the best so far and certainly lies in the range and counts. Sets *open if it is
 * better but may not: the node must be opened. */
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
	if (!node->all_count || !(node->is_inside || (node->is_of_series && is_in_range(search, search->from->series, &row)))) {
		*open = true;
		return;
	}
	*best = row;
	search->aggregate->n_rows += !node->is_inside;
}

/* Adds what the node alone tells. is_left: the bytes are of a filtered node, so all of its entries count.
 * Returns true if the pages below it must be searched. */
static bool look_at_node(struct range_search *search, const uint8_t *bytes, bool is_inside, bool is_left)
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
	node.is_of_series = is_inside || (iforest_node_first(bytes).series == search->from->series &&
					  iforest_node_last(bytes).series == search->from->series);
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
		status = iforest_block_find(reader, search->from, &from);
	if (!status && may && cut_after)
		status = iforest_block_find(reader, search->to, &to);
	search->is_narrow = from > 0 && to < reader->block.n;
	if (!status && may && from < to)
		status = iforest_block_fold(reader, from, to, search->request, search->aggregate, &counted);
	return iforest_cursor_report_leaf(&fold->cursor, status);
}

/* Searches the pinned leaf page: whole blocks first, then cut ones. The last block comes last, and stays unpacked for the next
 * range, which begins in it. */
static enum iforest_status search_blocks(struct range_search *search)
{
	struct iforest_fold *fold = search->fold;
	enum iforest_status status = IFOREST_OK;
	struct iforest_key first;
	unsigned low, high;
	bool cut_before;

	low = iforest_leaf_find_block(&fold->cursor.leaf, search->from);
	high = iforest_leaf_find_block(&fold->cursor.leaf, search->to);
	first = iforest_leaf_block(&fold->cursor.leaf, low).first;
	cut_before = iforest_key_compare(&first, search->from) < 0;
	if (low == high)
		return search_block(search, low, cut_before, true);
	for (unsigned b = low + !!cut_before; b < high && !status; b++)
		status = search_block(search, b, false, false);
	if (!status && cut_before)
		status = search_block(search, low, true, false);
	return status ? status : search_block(search, high, false, true);
}

/* Searches a leaf page, whose node is on a pinned page. */
static enum iforest_status search_leaf(struct range_search *search, const uint8_t *node, uint64_t number)
{
	struct iforest_fold *fold = search->fold;
	const struct iforest_request *asked = search->request;
	struct iforest_request without = *asked;
	bool known = false;
	enum iforest_status status = IFOREST_OK;

	if (number >= fold->cursor.run->n_leaves)
		return iforest_cursor_report_corrupt(&fold->cursor, IFOREST_CORRUPT, "the page has too many nodes", 1,
						     number / fold->cursor.manifest->fanout);
	if (search->remaining)
		status = iforest_filtered_leaf(&fold->cursor, number, search->remaining, &node, &known);
	if (!status)
		status = iforest_cursor_pin(&fold->cursor, 0, number);
	if (known) {
		without.filter = NULL;
		search->request = &without;
	}
	if (!status)
		status = search_blocks(search);
	search->request = asked;
	return status;
}

/* ---- Node pages ---- */

/* Where a node lies relative to the range. */
enum place { BEFORE, INSIDE, CUT, AFTER };

static enum place place_of(const struct range_search *search, const uint8_t *bytes)
{
	struct iforest_key first = iforest_node_first(bytes), last = iforest_node_last(bytes);

	if (iforest_key_compare(&last, search->from) < 0)
		return BEFORE;
	if (iforest_key_compare(&first, search->to) >= 0)
		return AFTER;
	return iforest_key_compare(&first, search->from) >= 0 && iforest_key_compare(&last, search->to) < 0 ? INSIDE : CUT;
}

static const uint8_t *node_of_page(const struct iforest_fold *fold, unsigned level, unsigned k)
{
	return iforest_node_at(fold->cursor.path[level].page.bytes, &fold->cursor.manifest->fields, k);
}

/* Notes a cut leaf page for later. With a filter, pages inside the range may be opened too: these are searched at once. */
static enum iforest_status open_or_note_leaf(struct range_search *search, const uint8_t *node, uint64_t number)
{
	struct cut_leaf *cut = search->cut + search->n_cut;

	if (search->request->filter || search->n_cut == MAX_CUT)
		return search_leaf(search, node, number);
	cut->number = number;
	memcpy(cut->node, node, search->fold->cursor.manifest->fields.node_bytes);
	search->n_cut++;
	return IFOREST_OK;
}

/* look_at_node() of node k of the pinned page, or of its filtered node if that is cached. */
static bool look_at_known(struct range_search *search, unsigned level, unsigned k, const uint8_t *bytes, bool is_inside)
{
	const uint8_t *left =
		search->remaining ? iforest_filtered_node_if_known(&search->fold->cursor, level, k, search->remaining) : NULL;

	return look_at_node(search, left ? left : bytes, is_inside, left);
}

/* Takes the filtered node of a leaf page inside the range instead of opening the page. *node becomes NULL if that worked. */
static enum iforest_status find_filtered(struct range_search *search, uint64_t number, const uint8_t **node)
{
	const uint8_t *left = *node;
	enum iforest_status status = iforest_filtered_node(&search->fold->cursor, 1, number, search->remaining, &left);

	if (left)
		look_at_node(search, left, true, true);
	*node = left ? NULL : *node;
	return status;
}

/* Looks at all nodes of a page before it opens any. Without a filter only the outer two can need opening. */
static enum iforest_status search_page(struct range_search *search, unsigned level, uint64_t number)
{
	struct iforest_fold *fold = search->fold;
	enum iforest_status status = iforest_cursor_pin(&fold->cursor, level, number);
	bool any_may_open = search->request->filter != NULL;
	unsigned low, high;

	if (status)
		return status;
	low = iforest_fold_page(fold, level)->reached;
	if (low > 0 && !iforest_cursor_begins_before(&fold->cursor, level, low, search->from, true))
		low = 0;
	low = iforest_cursor_last_node(&fold->cursor, level, low, search->from, true);
	high = iforest_cursor_last_node(&fold->cursor, level, low, search->to, false);
	iforest_fold_page(fold, level)->reached = high;
	for (unsigned k = low; k <= high; k++) {
		bool is_outer = k == low || k == high;
		const uint8_t *bytes = node_of_page(fold, level, k);
		enum place place = is_outer ? place_of(search, bytes) : INSIDE;

		if (place == INSIDE || place == CUT)
			look_at_known(search, level, k, bytes, place == INSIDE);
	}
	for (unsigned k = low; k <= high && !status; k = any_may_open || k + 1 >= high ? k + 1 : high) {
		const uint8_t *bytes = node_of_page(fold, level, k);
		enum place place = place_of(search, bytes);
		uint64_t below = number * fold->cursor.manifest->fanout + k;

		if ((place != CUT && !(place == INSIDE && any_may_open)) ||
		    !look_at_known(search, level, k, bytes, place == INSIDE))
			continue;
		status = level == 1 && place == INSIDE && search->remaining ? find_filtered(search, below, &bytes) : IFOREST_OK;
		if (!status && bytes)
			status = level > 1 ? search_page(search, level - 1, below) : open_or_note_leaf(search, bytes, below);
	}
	return status;
}

static enum iforest_status search_root(struct range_search *search)
{
	const uint8_t *root = search->fold->cursor.run->root;
	enum place place = place_of(search, root);

	if ((place != INSIDE && place != CUT) || !look_at_node(search, root, place == INSIDE, false))
		return IFOREST_OK;
	return search_page(search, search->fold->cursor.run->n_levels, 0);
}

/* True if a page of the level is pinned and covers [from, to). */
static bool has_pinned(const struct iforest_fold *fold, unsigned level, const struct iforest_key *from,
		       const struct iforest_key *to)
{
	struct iforest_key last;

	if (!fold->cursor.path[level].is_pinned || !iforest_cursor_begins_before(&fold->cursor, level, 0, from, true))
		return false;
	last = iforest_node_last(node_of_page(fold, level, fold->cursor.path[level].header.n_items - 1u));
	return iforest_key_compare(&last, to) >= 0;
}

/* Returns the lowest level whose pinned page covers [from, to), or n_levels + 1 for the root. */
static unsigned level_of(const struct iforest_fold *fold, const struct iforest_key *from, const struct iforest_key *to)
{
	unsigned level = 1;

	while (level <= fold->cursor.run->n_levels && !has_pinned(fold, level, from, to))
		level++;
	return level;
}

static enum iforest_status extremes_of_leaf(struct iforest_fold *fold, const struct iforest_key *from,
					    const struct iforest_key *to, const struct iforest_request *request,
					    struct iforest_aggregate *aggregate, bool *is_narrow)
{
	struct range_search search = { .fold = fold, .from = from, .to = to, .request = request, .aggregate = aggregate };
	enum iforest_status status = search_blocks(&search);

	*is_narrow = search.is_narrow;
	return status;
}

/* ---- A single maximum: leaf pages ----
 * One maximum of a column that has page maxima, over times of one series and without a filter: the same answer in a fraction
 * of the instructions. */

/* A node whose maximum lies outside the range, or may. */
struct cut_node {
	uint64_t number;
	struct iforest_extreme maximum;
};

/* A search for the maximum of value v in [from, to). */
struct maximum_search {
	struct iforest_fold *fold;
	const struct iforest_key *from, *to;
	const struct iforest_request *request;
	struct iforest_aggregate *aggregate;
	struct iforest_extreme *best; /* so far, in the aggregate */
	unsigned v;
	struct cut_node leaves[MAX_CUT]; /* opened last, when the best so far excludes most */
	unsigned n_leaves;
	bool is_narrow;
};

static inline bool has_time(const struct maximum_search *search, int64_t time)
{
	return time >= search->from->time && time < search->to->time;
}

/* Returns the first entry of a block at or after a time. The guess is where the last range ended, and usually right. */
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
static unsigned maximum_entry(struct maximum_search *search, const struct iforest_block *block)
{
	const int64_t *values = block->values[search->v], *times = block->times;
	uint64_t present = block->present[search->v];
	int64_t maximum = INT64_MIN, end = search->to->time;
	unsigned n = block->n, from = first_at(block, search->from->time, search->fold->reached_entry), i = from, at = n;

	for (; i < n && times[i] < end; i++) {
		bool is_greater = (present >> i & 1) & ((values[i] > maximum) | (at == n));

		at = is_greater ? i : at;
		maximum = is_greater ? values[i] : maximum;
	}
	search->fold->reached_entry = i;
	search->aggregate->n_rows += i - from;
	return at;
}

/* Searches a block that a bound cuts. It stays unpacked, as the next range begins in it. */
static enum iforest_status search_cut_block(struct maximum_search *search, unsigned b)
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
	if (search->best->is_set && row.value.integer < search->best->value.integer)
		return IFOREST_OK;
	status = iforest_block_pick(reader, IFOREST_REFS, at, &row.ref);
	if (!status)
		iforest_extreme_max(search->best, &row, IFOREST_INT64);
	return iforest_cursor_report_leaf(&search->fold->cursor, status);
}

/* Returns the block in which the range begins. */
static unsigned first_block(const struct maximum_search *search, const struct iforest_page_maxima *maxima)
{
	unsigned b = iforest_fold_page(search->fold, 0)->reached;

	if (maxima->blocks[b].first_time >= search->from->time)
		b = 0;
	while (b + 1u < maxima->n && maxima->blocks[b + 1].first_time < search->from->time)
		b++;
	return b;
}

static inline void offer_maximum(struct maximum_search *search, const struct iforest_block_maximum *maximum)
{
	struct iforest_extreme row = {
		.value.integer = maximum->value, .time = maximum->time, .ref = maximum->ref, .is_set = true
	};

	search->aggregate->n_rows++;
	if (!search->best->is_set || iforest_row_is_greater(&row, search->best))
		*search->best = row;
}

/* Offers the maximum of a block that a bound cuts, if it lies in the range.
 * Returns true if the block may have to be opened: it begins before the range ends, and its maximum lies outside. */
static bool look_at_cut_block(struct maximum_search *search, const struct iforest_block_maximum *maximum)
{
	if (maximum->first_time >= search->to->time)
		return false;
	search->aggregate->n_rows += maximum->first_time >= search->from->time;
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

static enum iforest_status open_cut_block(struct maximum_search *search, const struct iforest_page_maxima *maxima, unsigned b)
{
	if (search->aggregate->n_rows > 0 && search->best->is_set && maxima->blocks[b].value < search->best->value.integer)
		return IFOREST_OK;
	return search_cut_block(search, b);
}

/* Searches the pinned leaf page by its maxima: whole blocks first, then the outer two, opened only where a bound separates them
 * from their maxima. The last one stays unpacked. */
static enum iforest_status maximum_of_blocks(struct maximum_search *search, const struct iforest_page_maxima *maxima)
{
	unsigned first = first_block(search, maxima), last = first;
	bool is_first_open, is_last_open = false;
	enum iforest_status status = IFOREST_OK;

	while (last + 1u < maxima->n && maxima->blocks[last + 1].first_time < search->to->time)
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

static enum iforest_status maximum_of_leaf(struct maximum_search *search, uint64_t number)
{
	struct iforest_fold *fold = search->fold;
	struct iforest_page_maxima *maxima;
	enum iforest_status status;

	if (number >= fold->cursor.run->n_leaves)
		return iforest_cursor_report_corrupt(&fold->cursor, IFOREST_CORRUPT, "the page has too many nodes", 1,
						     number / fold->cursor.manifest->fanout);
	status = iforest_cursor_pin(&fold->cursor, 0, number);
	if (status)
		return status;
	maxima = fold->cursor.path[0].page.maxima;
	if (!maxima || !iforest_leaf_has_maxima(&fold->cursor.leaf, maxima))
		return extremes_of_leaf(fold, search->from, search->to, search->request, search->aggregate, &search->is_narrow);
	return maxima->series == search->from->series ? maximum_of_blocks(search, maxima) : IFOREST_OK;
}

/* ---- A single maximum: node pages ---- */

static inline bool is_of_series(const struct maximum_search *search, const uint8_t *node)
{
	return iforest_node_first(node).series == search->from->series &&
	       iforest_node_last(node).series == search->from->series;
}

/* True if the row, as an upper bound, can improve the best so far, or if no entry was found yet. */
static inline bool may_improve(const struct maximum_search *search, const struct iforest_extreme *row)
{
	const struct iforest_extreme *best = search->best;

	if (search->aggregate->n_rows == 0)
		return true;
	return row->is_set && (!best->is_set || iforest_row_is_greater(row, best));
}

static void take_whole(struct maximum_search *search, const uint8_t *node)
{
	const struct iforest_node_schema *fields = &search->fold->cursor.manifest->fields;
	struct iforest_extreme row;

	search->fold->n_nodes_folded++;
	search->aggregate->n_rows += iforest_node_rows(node);
	if (search->best->is_set &&
	    iforest_node_extreme_value(node, fields, search->v, 1).integer < search->best->value.integer)
		return;
	row = iforest_node_extreme(node, fields, search->v, 1);
	iforest_extreme_max(search->best, &row, IFOREST_INT64);
}

/* Takes the maximum of a node that a bound cuts, if it lies in the range.
 * Returns true if the page below must be searched; *maximum is then the node's maximum, an upper bound. */
static bool look_at_cut(struct maximum_search *search, const uint8_t *node, struct iforest_extreme *maximum)
{
	if (iforest_node_rows(node) == 0)
		return false;
	*maximum = iforest_node_extreme(node, &search->fold->cursor.manifest->fields, search->v, 1);
	if (!may_improve(search, maximum))
		return false;
	if (!maximum->is_set || maximum->time_is_null || !is_of_series(search, node) || !has_time(search, maximum->time))
		return true;
	*search->best = *maximum;
	search->aggregate->n_rows++;
	return false;
}

/* Takes a node, which begins in the range or before it, if it lies inside. Returns true if the range cuts it instead. */
static bool is_cut(struct maximum_search *search, const uint8_t *node)
{
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);

	if (iforest_key_compare(&last, search->from) < 0)
		return false;
	if (iforest_key_compare(&first, search->from) < 0 || iforest_key_compare(&last, search->to) >= 0)
		return true;
	take_whole(search, node);
	return false;
}

/* Takes the greatest maximum of nodes [from, to) of a page, which lie inside the range; the first of several, as nodes are in
 * time order. */
static void take_maximum(struct maximum_search *search, const struct iforest_pinned_page *pinned, unsigned from, unsigned to)
{
	const int64_t *values = pinned->page.maxima->nodes.values;
	unsigned maximum = from;

	for (unsigned k = from + 1; k < to; k++)
		maximum = values[k] > values[maximum] ? k : maximum;
	search->fold->n_nodes_folded += to - from - 1;
	take_whole(search, iforest_node_at(pinned->page.bytes, &search->fold->cursor.manifest->fields, maximum));
}

/* look_at_nodes() by the maxima of the page: only nodes that may have the answer are read. */
static unsigned look_at_maxima(struct maximum_search *search, unsigned level, unsigned cut[MAX_CUT])
{
	const struct iforest_node_schema *fields = &search->fold->cursor.manifest->fields;
	struct iforest_pinned_page *pinned = &search->fold->cursor.path[level];
	const struct iforest_page_maxima *maxima = pinned->page.maxima;
	const int64_t *first_times = maxima->nodes.first_times;
	unsigned first = iforest_fold_page(search->fold, level)->reached, last, ends[MAX_CUT], n_ends = 0, n_cut = 0;

	if (maxima->series != search->from->series || first_times[0] >= search->to->time)
		return 0;
	if (first_times[first] >= search->from->time)
		first = 0;
	while (first + 1u < maxima->n && first_times[first + 1] < search->from->time)
		first++;
	for (last = first; last + 1u < maxima->n && first_times[last + 1] < search->to->time;)
		last++;
	iforest_fold_page(search->fold, level)->reached = last;
	if (first_times[first] < search->from->time)
		ends[n_ends++] = first++;
	if (first < last)
		take_maximum(search, pinned, first, last);
	if (first <= last)
		ends[n_ends++] = last;
	for (unsigned e = 0; e < n_ends; e++)
		if ((!search->best->is_set || maxima->nodes.values[ends[e]] >= search->best->value.integer) &&
		    is_cut(search, iforest_node_at(pinned->page.bytes, fields, ends[e])))
			cut[n_cut++] = ends[e];
	return n_cut;
}

/* Takes the nodes of a page that lie inside the range. Returns the number of nodes that it cuts, and which they are. */
static unsigned look_at_nodes(struct maximum_search *search, unsigned level, unsigned cut[MAX_CUT])
{
	struct iforest_fold *fold = search->fold;
	struct iforest_pinned_page *pinned = &fold->cursor.path[level];
	unsigned low = iforest_fold_page(search->fold, level)->reached, n_cut = 0;

	if (low > 0 && !iforest_cursor_begins_before(&fold->cursor, level, low, search->from, true))
		low = 0;
	low = iforest_cursor_last_node(&fold->cursor, level, low, search->from, true);
	for (unsigned k = low; k < pinned->header.n_items; k++) {
		const uint8_t *node = iforest_node_at(pinned->page.bytes, &fold->cursor.manifest->fields, k);
		struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);

		if (iforest_key_compare(&first, search->to) >= 0)
			break;
		iforest_fold_page(search->fold, level)->reached = k;
		if (iforest_key_compare(&last, search->to) < 0 && (k > low || iforest_key_compare(&first, search->from) >= 0))
			take_whole(search, node);
		else if (iforest_key_compare(&last, search->from) >= 0 && n_cut < MAX_CUT)
			cut[n_cut++] = k;
	}
	return n_cut;
}

static bool has_node_maxima(const struct iforest_fold *fold, unsigned level)
{
	const struct iforest_pinned_page *pinned = &fold->cursor.path[level];

	return pinned->page.maxima && iforest_node_page_has_maxima(pinned->page.bytes, &pinned->header,
								   &fold->cursor.manifest->fields, pinned->page.maxima);
}

/* Prefetches the page in which this range ends: the next range usually begins there. */
static void prefetch_below(const struct maximum_search *search, unsigned level, uint64_t number)
{
	const struct iforest_fold *fold = search->fold;
	const struct iforest_pager *pager = fold->cursor.store->pager;

	if (level > 1 && pager->prefetch &&
	    !(fold->cursor.path[level - 1].is_pinned && fold->cursor.path[level - 1].number == number))
		pager->prefetch(pager->context, &fold->cursor.run->place,
				iforest_cursor_page_index(&fold->cursor, level - 1, number), true);
}

/* search_page() for a single maximum. */
static enum iforest_status search_page_maxima(struct maximum_search *search, unsigned level, uint64_t number)
{
	struct iforest_fold *fold = search->fold;
	const struct iforest_node_schema *fields = &fold->cursor.manifest->fields;
	unsigned nodes[MAX_CUT], n, n_below = 0;
	struct cut_node below[MAX_CUT];
	enum iforest_status status = iforest_cursor_pin(&fold->cursor, level, number);

	if (status)
		return status;
	n = has_node_maxima(fold, level) ? look_at_maxima(search, level, nodes) : look_at_nodes(search, level, nodes);
	prefetch_below(search, level, number * fold->cursor.manifest->fanout + iforest_fold_page(fold, level)->reached);
	for (unsigned i = 0; i < n; i++) {
		below[n_below].number = number * fold->cursor.manifest->fanout + nodes[i];
		n_below += look_at_cut(search, iforest_node_at(fold->cursor.path[level].page.bytes, fields, nodes[i]),
				       &below[n_below].maximum);
	}
	for (unsigned i = 0; i < n_below && !status; i++) {
		if (!may_improve(search, &below[i].maximum))
			continue;
		if (level > 1)
			status = search_page_maxima(search, level - 1, below[i].number);
		else if (search->n_leaves < MAX_CUT)
			search->leaves[search->n_leaves++] = below[i];
		else
			status = maximum_of_leaf(search, below[i].number);
	}
	return status;
}

static enum iforest_status search_root_maximum(struct maximum_search *search)
{
	const uint8_t *root = search->fold->cursor.run->root;
	struct iforest_key first = iforest_node_first(root), last = iforest_node_last(root);
	struct iforest_extreme maximum;

	if (iforest_key_compare(&last, search->from) < 0 || iforest_key_compare(&first, search->to) >= 0)
		return IFOREST_OK;
	if (iforest_key_compare(&first, search->from) >= 0 && iforest_key_compare(&last, search->to) < 0)
		take_whole(search, root);
	else if (look_at_cut(search, root, &maximum))
		return search_page_maxima(search, search->fold->cursor.run->n_levels, 0);
	return IFOREST_OK;
}

/* True if the pinned page of a level covers the range. Not if both begin at the same time: the page before may end with that
 * time. */
static bool has_range(const struct maximum_search *search, unsigned level)
{
	const struct iforest_pinned_page *pinned = &search->fold->cursor.path[level];
	const struct iforest_page_maxima *maxima = pinned->page.maxima;

	if (!pinned->is_pinned || !maxima || !iforest_page_maxima_are_there(maxima))
		return has_pinned(search->fold, level, search->from, search->to);
	return maxima->series == search->from->series && maxima->nodes.first_times[0] < search->from->time &&
	       maxima->last_time >= search->to->time;
}

static unsigned level_of_range(const struct maximum_search *search)
{
	unsigned level = 1;

	while (level <= search->fold->cursor.run->n_levels && !has_range(search, level))
		level++;
	return level;
}

/* True if find_single_maximum() answers the request. */
static bool is_single_maximum(const struct iforest_fold *fold, const struct iforest_key *from, const struct iforest_key *to,
			      const struct iforest_request *request)
{
	unsigned v = iforest_page_maxima_value(&fold->cursor.manifest->fields);

	return v != IFOREST_NO_VALUE && request->values == 1u << v && request->no_mins >> v & 1 &&
	       !(request->no_maxs >> v & 1) && !request->filter && from->series == to->series && !from->time_is_null &&
	       !to->time_is_null && from->ref == INT64_MIN && to->ref == INT64_MIN;
}

static enum iforest_status find_single_maximum(struct iforest_fold *fold, const struct iforest_key *from,
					       const struct iforest_key *to, const struct iforest_request *request,
					       struct iforest_aggregate *aggregate, bool *is_narrow)
{
	unsigned v = iforest_page_maxima_value(&fold->cursor.manifest->fields), level;
	struct maximum_search search;
	enum iforest_status status;

	search.fold = fold;
	search.from = from;
	search.to = to;
	search.request = request;
	search.aggregate = aggregate;
	search.best = &aggregate->values[v].max;
	search.v = v;
	search.n_leaves = 0;
	search.is_narrow = *is_narrow = false;
	if (iforest_cursor_leaf_has(&fold->cursor, from, to))
		return maximum_of_blocks(&search, fold->cursor.path[0].page.maxima);
	level = level_of_range(&search);
	status = level > fold->cursor.run->n_levels ? search_root_maximum(&search)
						    : search_page_maxima(&search, level, fold->cursor.path[level].number);
	for (unsigned i = 0; i < search.n_leaves && !status; i++)
		if (may_improve(&search, &search.leaves[i].maximum))
			status = maximum_of_leaf(&search, search.leaves[i].number);
	*is_narrow = search.is_narrow;
	return status;
}

/* ---- Any extremes of a range ---- */

enum iforest_status iforest_extremes_of_range(struct iforest_fold *fold, const struct iforest_key *from,
					      const struct iforest_key *to, const struct iforest_request *request,
					      struct iforest_aggregate *aggregate, bool *is_narrow)
{
	struct cut_leaf cut[MAX_CUT];
	struct range_search search = { .fold = fold,
				       .from = from,
				       .to = to,
				       .request = request,
				       .aggregate = aggregate,
				       .cut = cut,
				       .remaining =
					       request->filter && request->filter->filtered_nodes ? request->filter : NULL };
	enum iforest_status status = IFOREST_OK;
	unsigned level;

	if (is_single_maximum(fold, from, to, request))
		return find_single_maximum(fold, from, to, request, aggregate, is_narrow);
	level = level_of(fold, from, to);
	status = level > fold->cursor.run->n_levels ? search_root(&search)
						    : search_page(&search, level, fold->cursor.path[level].number);
	for (unsigned i = 0; i < search.n_cut && !status; i++)
		if (look_at_node(&search, cut[i].node, false, false))
			status = search_leaf(&search, cut[i].node, cut[i].number);
	*is_narrow = search.is_narrow;
	return status;
}
