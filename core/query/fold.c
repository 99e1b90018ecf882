#include "core/query/fold.h"

#include "core/base/bits.h"
#include "core/page/leaf_fold.h"
#include "core/query/filtered_nodes.h"

/* Search for first and last rows, which nodes do not keep. Of the whole nodes of a fold only the first and the last that have
 * such a row matter: the first is descended into at once, the last is noted here and descended into at the end. */
struct edges {
	uint32_t seen_firsts, seen_time;     /* first row of column v, a time: seen, so later ones do not matter */
	uint32_t open_lasts, open_last_time; /* the last one so far is in the node noted */
	struct {
		unsigned level;
		uint64_t i;
	} last[IFOREST_MAX_VALUES], last_time;
	bool has_nodes; /* a whole node was used: so the range is wide, and probably the next one too */
	/* if the fold uses filtered nodes: the request with its filter, which the request passed on lacks. Else NULL */
	const struct iforest_request *asked;
};

static void forget(struct iforest_fold *fold)
{
	fold->classified_leaf = fold->asked_leaf = fold->rest.leaf_number = UINT64_MAX;
	for (unsigned e = 0; e < 3; e++)
		fold->expected[e].leaf_number = UINT64_MAX;
	fold->prefetched_siblings = UINT64_MAX;
}

void iforest_fold_init(struct iforest_fold *fold, struct iforest_store *store, const struct iforest_manifest *manifest,
		       const struct iforest_run *run)
{
	iforest_cursor_init(&fold->cursor, store, manifest, run);
	for (unsigned level = 0; level <= IFOREST_MAX_LEVELS; level++)
		fold->pages[level].opening = 0;
	fold->reached_entry = 0;
	fold->n_nodes_folded = 0;
	forget(fold);
}

void iforest_fold_release(struct iforest_fold *fold)
{
	iforest_cursor_release(&fold->cursor);
	fold->rest.leaf_number = UINT64_MAX;
}

enum iforest_status iforest_fold_seek(struct iforest_fold *fold, const struct iforest_key *key)
{
	forget(fold);
	return iforest_cursor_seek(&fold->cursor, key);
}

/* True if the cursor is where fold->rest begins. */
static bool is_at_rest(const struct iforest_fold *fold)
{
	const struct iforest_cursor *cursor = &fold->cursor;

	return fold->rest.leaf_number == cursor->leaf_number && fold->rest.cut.block == cursor->block &&
	       fold->rest.cut.entry == cursor->entry;
}

enum iforest_status iforest_fold_key(struct iforest_fold *fold, struct iforest_key *key, bool *at_end)
{
	bool is_at_start = fold->cursor.block == 0 && fold->cursor.entry == 0;

	if (is_at_start || !is_at_rest(fold))
		return iforest_cursor_key(&fold->cursor, key, at_end);
	*at_end = false;
	*key = fold->rest.cut.first;
	key->ref = INT64_MIN;
	return IFOREST_OK;
}

void iforest_fold_prefetch(struct iforest_fold *fold, const struct iforest_key *key)
{
	const struct iforest_pager *pager = fold->cursor.store->pager;
	const struct iforest_pinned_page *nodes = &fold->cursor.path[1], *leaf = &fold->cursor.path[0];
	uint64_t first = nodes->number * fold->cursor.manifest->fanout;
	unsigned at, next;

	if (iforest_cursor_leaf_has(&fold->cursor, key, key))
		return;
	/* if the last position's page was not opened, the next one's may not be either */
	if (!pager->prefetch || !nodes->is_pinned || !leaf->is_pinned || leaf->number < first ||
	    leaf->number - first >= nodes->header.n_items)
		return;
	at = (unsigned)(leaf->number - first);
	next = iforest_cursor_last_node(&fold->cursor, 1, at, key, true);
	if (next != at)
		pager->prefetch(pager->context, &fold->cursor.run->place,
				iforest_cursor_page_index(&fold->cursor, 0, first + next), true);
}

/* Prefetches what a cut of a leaf page in memory needs: the key's block, and the summaries of its shorter side. */
static void prefetch_block(const struct iforest_fold *fold, uint64_t number, const struct iforest_key *key)
{
	const struct iforest_pager *pager = fold->cursor.store->pager;
	const struct iforest_run *run = fold->cursor.run;
	struct iforest_leaf leaf;
	const char *what;
	uint32_t n_bytes;
	const uint8_t *bytes =
		pager->peek(pager->context, &run->place, iforest_cursor_page_index(&fold->cursor, 0, number), &n_bytes);
	unsigned block, n_blocks;

	if (!bytes || iforest_leaf_open(&leaf, &fold->cursor.manifest->fields, bytes, n_bytes, run->place.run_id,
					(uint32_t)number, true, &what))
		return;
	n_blocks = leaf.header.n_items;
	block = iforest_leaf_find_block(&leaf, key);
	iforest_leaf_prefetch_block(&leaf, block);
	if (block < n_blocks / 2)
		iforest_leaf_prefetch(&leaf, 0, block);
	else
		iforest_leaf_prefetch(&leaf, block + 1, n_blocks);
}

/* Returns the leaf page in which the key belongs, under the next node page and from `last` on; UINT64_MAX if that node page is
 * not in memory. */
static uint64_t locate_in_next_page(const struct iforest_fold *fold, const struct iforest_key *key, uint64_t last)
{
	const struct iforest_pager *pager = fold->cursor.store->pager;
	const struct iforest_node_schema *fields = &fold->cursor.manifest->fields;
	uint64_t number = fold->cursor.path[1].number + 1, first = number * fold->cursor.manifest->fanout;
	struct iforest_page_header header;
	const char *what;
	uint32_t n_bytes;
	const uint8_t *page;
	unsigned k;

	if (last >= first + fold->cursor.manifest->fanout || first >= fold->cursor.run->n_leaves)
		return UINT64_MAX;
	page = pager->peek(pager->context, &fold->cursor.run->place, iforest_cursor_page_index(&fold->cursor, 1, number),
			   &n_bytes);
	if (!page || iforest_node_page_check(page, n_bytes, fields, fold->cursor.run->place.run_id, 1, (uint32_t)number, true,
					     &header, &what))
		return UINT64_MAX;
	for (k = last > first ? (unsigned)(last - first) : 0; k < header.n_items; k++) {
		struct iforest_key begin = iforest_node_first(iforest_node_at(page, fields, k));

		if (iforest_key_compare(&begin, key) >= 0)
			break;
	}
	return first + k - 1;
}

/* Returns the leaf page in which a key belongs, from `last` on, the page of the key before; it is usually `step` further. */
static uint64_t locate(const struct iforest_fold *fold, const struct iforest_key *key, uint64_t last, uint64_t step)
{
	const struct iforest_pinned_page *nodes = &fold->cursor.path[1];
	uint64_t first = nodes->number * fold->cursor.manifest->fanout;
	unsigned n = nodes->header.n_items, k;

	if (last < first)
		return UINT64_MAX;
	if (last - first < n) {
		k = (unsigned)(last - first);
		k = iforest_cursor_last_node_near(&fold->cursor, 1, k, k + (unsigned)step, key, true);
		if (k + 1 < n)
			return first + k;
	}
	return locate_in_next_page(fold, key, last);
}

void iforest_fold_prefetch_cut(struct iforest_fold *fold, const struct iforest_key *key)
{
	const struct iforest_pager *pager = fold->cursor.store->pager;
	const struct iforest_pinned_page *nodes = &fold->cursor.path[1];
	uint64_t before, last, number;

	if (!pager->peek || !nodes->is_pinned)
		return;
	if (fold->prefetched_siblings != nodes->number + 1 &&
	    nodes->number + 1 < fold->cursor.run->n_leaves / fold->cursor.manifest->fanout) {
		fold->prefetched_siblings = nodes->number + 1;
		pager->prefetch(pager->context, &fold->cursor.run->place,
				iforest_cursor_page_index(&fold->cursor, 1, nodes->number + 1), false);
	}
	fold->expected[0] = fold->expected[1];
	fold->expected[1] = fold->expected[2];
	before = fold->expected[0].leaf_number;
	last = fold->expected[1].leaf_number;
	if (last != UINT64_MAX && last != fold->cursor.leaf_number)
		prefetch_block(fold, last, &fold->expected[1].key);
	if (last == UINT64_MAX)
		last = fold->cursor.leaf_number;
	number = locate(fold, key, last, before < last ? last - before : 0);
	fold->expected[2].key = *key;
	fold->expected[2].leaf_number = number;
	if (number != UINT64_MAX && number != last)
		pager->prefetch(pager->context, &fold->cursor.run->place, iforest_cursor_page_index(&fold->cursor, 0, number),
				false);
}

/* ---- Whole nodes, and the first and last rows under them ---- */

/* True if the node has a live entry with value v; with v >= n_values, any live entry. */
static bool node_has(const struct iforest_fold *fold, const uint8_t *node, unsigned v)
{
	const struct iforest_node_schema *fields = &fold->cursor.manifest->fields;

	return (v < fields->n_values ? iforest_node_value_rows(node, fields, v) : iforest_node_rows(node)) > 0;
}

/* Folds only the first or last such entry of the pinned leaf page. */
static enum iforest_status fold_edge_of_leaf(struct iforest_fold *fold, unsigned v, bool forward,
					     const struct iforest_request *request, struct iforest_aggregate *aggregate)
{
	unsigned n_blocks = fold->cursor.leaf.header.n_items;
	struct iforest_block_reader *reader = &fold->cursor.reader;

	for (unsigned k = 0; k < n_blocks; k++) {
		enum iforest_status status = IFOREST_OK;
		uint64_t which;
		unsigned i;

		iforest_cursor_read_block(&fold->cursor, forward ? k : n_blocks - 1 - k);
		which = iforest_low_bits(reader->block.n) & ~reader->block.dead;
		if (which && v < fold->cursor.manifest->fields.n_values) {
			status = iforest_block_find_column(reader, IFOREST_VALUES + v);
			which &= status ? 0 : reader->columns[IFOREST_VALUES + v].present;
		}
		if (!status && which) {
			struct iforest_aggregate before = { .n_rows = aggregate->n_rows, .n_dead = aggregate->n_dead };
			uint64_t counted;

			i = forward ? iforest_trailing_zeros(which) : iforest_highest_bit(which);
			status = iforest_block_fold(reader, i, i + 1, request, aggregate, &counted);
			aggregate->n_rows = before.n_rows;
			aggregate->n_dead = before.n_dead;
			return iforest_cursor_report_leaf(&fold->cursor, status);
		}
		if (status)
			return iforest_cursor_report_leaf(&fold->cursor, status);
	}
	return iforest_cursor_report_corrupt(&fold->cursor, IFOREST_CORRUPT, "the page lacks the row that its node promises", 0,
					     fold->cursor.path[0].number);
}

/* Finds the first or last such node of the page under node i of a level; *i becomes its number. */
static enum iforest_status find_edge_node(struct iforest_fold *fold, unsigned level, uint64_t *i, unsigned v, bool forward,
					  const struct iforest_filter *filter)
{
	const struct iforest_node_schema *fields = &fold->cursor.manifest->fields;
	enum iforest_status status = iforest_cursor_pin(&fold->cursor, level - 1, *i);
	unsigned n = status ? 0 : fold->cursor.path[level - 1].header.n_items;

	for (unsigned k = 0; k < n && !status; k++) {
		unsigned at = forward ? k : n - 1 - k;
		uint64_t number = *i * fold->cursor.manifest->fanout + at;
		const uint8_t *node = iforest_node_at(fold->cursor.path[level - 1].page.bytes, fields, at);

		if (filter)
			status = iforest_filtered_node(&fold->cursor, level - 1, number, filter, &node);
		if (!status && !node)
			return IFOREST_NO_MEMORY;
		if (!status && node_has(fold, node, v)) {
			*i = number;
			return IFOREST_OK;
		}
	}
	return status ? status
		      : iforest_cursor_report_corrupt(&fold->cursor, IFOREST_CORRUPT,
						      "the page lacks the row that its node promises", level - 1, *i);
}

/* Pins a leaf page, without entries that the filter excludes. */
static enum iforest_status pin_edge_leaf(struct iforest_fold *fold, uint64_t number, const struct iforest_filter *filter)
{
	const uint8_t *node;
	bool known = true;
	enum iforest_status status = IFOREST_OK;

	if (number >= fold->cursor.run->n_leaves)
		return iforest_cursor_report_corrupt(&fold->cursor, IFOREST_CORRUPT, "the page has too many nodes", 1,
						     number / fold->cursor.manifest->fanout);
	if (filter)
		status = iforest_cursor_node(&fold->cursor, 1, number, &node);
	if (filter && !status)
		status = iforest_filtered_leaf(&fold->cursor, number, filter, &node, &known);
	if (!status && !known)
		status = IFOREST_NO_MEMORY;
	return status ? status : iforest_cursor_pin(&fold->cursor, 0, number);
}

/* Folds the first or last such entry under a node. filter: NULL, or that of the filtered node.
 * Cost  one page a level. */
static enum iforest_status fold_edge(struct iforest_fold *fold, unsigned level, uint64_t i, unsigned v, bool forward,
				     const struct iforest_filter *filter, const struct iforest_request *request,
				     struct iforest_aggregate *aggregate)
{
	enum iforest_status status = IFOREST_OK;

	for (; level > 1 && !status; level--)
		status = find_edge_node(fold, level, &i, v, forward, filter);
	if (!status)
		status = pin_edge_leaf(fold, i, filter);
	return status ? status : fold_edge_of_leaf(fold, v, forward, request, aggregate);
}

static const struct iforest_filter *filter_of(const struct edges *edges)
{
	return edges->asked ? edges->asked->filter : NULL;
}

/* Adds the times of a node: its key range has them unless entries were removed. */
static enum iforest_status fold_node_times(struct iforest_fold *fold, unsigned level, uint64_t i, const uint8_t *node,
					   struct edges *edges, struct iforest_aggregate *aggregate)
{
	static const struct iforest_request times = { .times = true };
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);

	if (first.time_is_null || iforest_node_rows(node) == 0)
		return IFOREST_OK;
	edges->open_last_time = 0;
	if (iforest_node_dead(node) == 0) {
		iforest_aggregate_add_time(aggregate, first.time);
		iforest_aggregate_add_time(aggregate, last.time);
		edges->seen_time = 1;
		return IFOREST_OK;
	}
	edges->open_last_time = 1;
	edges->last_time.level = level;
	edges->last_time.i = i;
	if (edges->seen_time)
		return IFOREST_OK;
	edges->seen_time = 1;
	return fold_edge(fold, level, i, IFOREST_MAX_VALUES, true, filter_of(edges), &times, aggregate);
}

/* Adds whole node i of a level.
 * Cost  a page a level if a first row or time is descended to. */
static enum iforest_status fold_node(struct iforest_fold *fold, unsigned level, uint64_t i, const uint8_t *node,
				     const struct iforest_request *request, struct edges *edges,
				     struct iforest_aggregate *aggregate)
{
	const struct iforest_node_schema *fields = &fold->cursor.manifest->fields;
	uint32_t rows = request->firsts | request->lasts;
	uint8_t copy[IFOREST_MAX_NODE_BYTES];
	enum iforest_status status = IFOREST_OK;

	fold->n_nodes_folded++;
	if (edges->asked && (rows || request->times)) /* the cache may drop the filtered node when pages below it are opened */
		node = memcpy(copy, node, fields->node_bytes);
	iforest_node_fold(node, fields,
			  &(struct iforest_node_parts){ .values = request->values,
							.no_mins = request->no_mins,
							.no_maxs = request->no_maxs,
							.accumulators = request->accumulators,
							.node_fields = request->node_fields },
			  aggregate);
	for (unsigned v = 0; v < fields->n_values && rows >> v && !status; v++) {
		uint32_t bit = 1u << v;

		if (!(rows & bit) || iforest_node_value_rows(node, fields, v) == 0)
			continue;
		if (request->lasts & bit) {
			edges->open_lasts |= bit;
			edges->last[v].level = level;
			edges->last[v].i = i;
		}
		if (request->firsts & bit && !(edges->seen_firsts & bit)) {
			struct iforest_request first = { .firsts = bit };

			edges->seen_firsts |= bit;
			status = fold_edge(fold, level, i, v, true, filter_of(edges), &first, aggregate);
		}
	}
	if (!status && request->times)
		status = fold_node_times(fold, level, i, node, edges, aggregate);
	return status;
}

static enum iforest_status fold_lasts(struct iforest_fold *fold, const struct edges *edges, struct iforest_aggregate *aggregate)
{
	static const struct iforest_request times = { .times = true };
	enum iforest_status status = IFOREST_OK;

	for (unsigned v = 0; v < fold->cursor.manifest->fields.n_values && !status; v++) {
		struct iforest_request last = { .lasts = 1u << v };

		if (edges->open_lasts >> v & 1)
			status = fold_edge(fold, edges->last[v].level, edges->last[v].i, v, false, filter_of(edges), &last,
					   aggregate);
	}
	if (!status && edges->open_last_time)
		status = fold_edge(fold, edges->last_time.level, edges->last_time.i, IFOREST_MAX_VALUES, false,
				   filter_of(edges), &times, aggregate);
	return status;
}

/* ---- Leaf pages ---- */

/* Classifies the pinned leaf page by its node, so that its entries need not be asked about; unless only a few entries are
 * folded, for the first time on this page. */
static enum iforest_status classify_leaf(struct iforest_fold *fold, const struct iforest_filter *filter, bool is_few,
					 enum iforest_filter_class *filter_class)
{
	const uint8_t *node;
	enum iforest_status status;

	if (filter && is_few && fold->classified_leaf != fold->cursor.leaf_number &&
	    fold->asked_leaf != fold->cursor.leaf_number) {
		fold->asked_leaf = fold->cursor.leaf_number;
		*filter_class = IFOREST_COUNTS_SOME;
		return IFOREST_OK;
	}
	if (filter && fold->classified_leaf != fold->cursor.leaf_number) {
		status = iforest_cursor_node(&fold->cursor, 1, fold->cursor.leaf_number, &node);
		if (status)
			return status;
		fold->filter_class = iforest_filter_class_of_node(filter, node);
		fold->classified_leaf = fold->cursor.leaf_number;
	}
	*filter_class = filter ? fold->filter_class : IFOREST_COUNTS_ALL;
	return IFOREST_OK;
}

/* Adds the pinned leaf page as its node minus the few excluded entries, if possible. */
static enum iforest_status fold_most_of_leaf(struct iforest_fold *fold, const struct iforest_request *request,
					     struct iforest_aggregate *aggregate, bool *done)
{
	const uint8_t *node;
	enum iforest_status status = iforest_cursor_node(&fold->cursor, 1, fold->cursor.leaf_number, &node);

	fold->cursor.reader_is_open = false;
	if (!status)
		status = iforest_cursor_report_leaf(&fold->cursor,
						    iforest_leaf_subtract(&fold->cursor.leaf, node, &fold->cursor.reader,
									  request, aggregate, done));
	fold->n_nodes_folded += *done;
	return status;
}

/* Adds the part of a leaf page before the key, and keeps the rest. Calls nothing else meanwhile: the page may be pinned
 * briefly. */
static enum iforest_status split_leaf(struct iforest_fold *fold, const struct iforest_leaf *leaf, const uint8_t *node,
				      const struct iforest_key *key, const struct iforest_request *request,
				      struct iforest_aggregate *aggregate)
{
	struct iforest_leaf_cut *cut = &fold->rest.cut;
	enum iforest_status status = iforest_leaf_split(leaf, node, key, request, aggregate, &fold->rest.aggregate, cut);

	fold->rest.leaf_number = UINT64_MAX;
	if (status)
		return iforest_cursor_report_corrupt(&fold->cursor, status, "a packed column is wrong", 0,
						     fold->cursor.leaf_number);
	if (cut->block == leaf->header.n_items) {
		iforest_cursor_stand_at(&fold->cursor, fold->cursor.leaf_number + 1, 0, 0);
		return IFOREST_OK;
	}
	fold->rest.leaf_number = fold->cursor.leaf_number;
	fold->rest.request = *request;
	iforest_cursor_stand_at(&fold->cursor, fold->cursor.leaf_number, cut->block, cut->entry);
	return IFOREST_OK;
}

/* From the start of the leaf page that the key cuts: passes the part before the key, if all entries count and the page can be
 * split. */
static enum iforest_status fold_cut(struct iforest_fold *fold, const struct iforest_key *key, const uint8_t *node,
				    const struct iforest_request *request, struct iforest_aggregate *aggregate, bool *done)
{
	struct iforest_page page;
	struct iforest_leaf leaf;
	enum iforest_filter_class filter_class;
	enum iforest_status status = classify_leaf(fold, request->filter, false, &filter_class);

	*done = !status && filter_class == IFOREST_COUNTS_ALL && iforest_leaf_can_split(node, key, request);
	if (!*done)
		return status;
	status = iforest_cursor_pin_briefly(&fold->cursor, fold->cursor.leaf_number, &page, &leaf);
	if (status)
		return status;
	status = split_leaf(fold, &leaf, node, key, request, aggregate);
	iforest_cursor_unpin_brief(&fold->cursor, &page);
	return status;
}

static bool is_same_request(const struct iforest_request *a, const struct iforest_request *b)
{
	return a->values == b->values && a->no_mins == b->no_mins && a->no_maxs == b->no_maxs && a->no_rows == b->no_rows &&
	       a->accumulators == b->accumulators && a->filter == b->filter && b->firsts == 0 && b->lasts == 0 && !b->times &&
	       !b->node_fields && !b->extremes_alone;
}

/* Adds the rest of a leaf page that lies before the key, if it is known. */
static bool fold_rest(struct iforest_fold *fold, const struct iforest_request *request, struct iforest_aggregate *aggregate)
{
	const struct iforest_node_schema *fields = &fold->cursor.manifest->fields;

	if (!is_at_rest(fold) || !is_same_request(&fold->rest.request, request))
		return false;
	if (iforest_wants_sums(request, fields)) {
		struct iforest_sums sums = iforest_sums_of_aggregate(&fold->rest.aggregate, request);

		iforest_sums_add_to_aggregate(&sums, request, aggregate);
	} else {
		iforest_aggregate_combine(aggregate, &fold->rest.aggregate, fields->value_types, fields->n_values,
					  &fields->accumulators);
	}
	iforest_cursor_stand_at(&fold->cursor, fold->cursor.leaf_number + 1, 0, 0);
	return true;
}

/* Adds the entries of the pinned leaf page from the position up to (block, entry), and moves there. */
static enum iforest_status fold_in_leaf(struct iforest_fold *fold, unsigned block, unsigned entry,
					const struct iforest_request *request, struct edges *edges,
					struct iforest_aggregate *aggregate)
{
	uint64_t leaf_number = fold->cursor.leaf_number;
	unsigned from = fold->cursor.entry;
	struct iforest_request asked = *request;
	enum iforest_filter_class filter_class = IFOREST_COUNTS_ALL;
	enum iforest_status status = IFOREST_OK;
	bool done = false, sums_alone;

	if (block < fold->cursor.block || (block == fold->cursor.block && entry <= from))
		return IFOREST_OK;
	status = classify_leaf(fold, request->filter, block - fold->cursor.block < fold->cursor.leaf.header.n_items / 8u,
			       &filter_class);
	if (filter_class == IFOREST_COUNTS_ALL)
		asked.filter = NULL;
	if (!status && filter_class == IFOREST_COUNTS_MOST && fold->cursor.block == 0 && from == 0 &&
	    block == fold->cursor.leaf.header.n_items)
		status = fold_most_of_leaf(fold, request, aggregate, &done);
	done = done || filter_class == IFOREST_COUNTS_NONE;
	sums_alone = iforest_summaries_suffice(&asked, &fold->cursor.manifest->fields);
	if (!done)
		iforest_leaf_prefetch(&fold->cursor.leaf, fold->cursor.block, block);
	for (unsigned b = fold->cursor.block; !done && b <= block && b < fold->cursor.leaf.header.n_items && !status;
	     b++, from = 0) {
		unsigned to;
		uint64_t counted = 0;

		if (sums_alone && b < block && from == 0 && iforest_leaf_add_summary(&fold->cursor.leaf, b, aggregate))
			continue;
		iforest_cursor_read_block(&fold->cursor, b);
		to = b == block ? entry : fold->cursor.reader.block.n;
		if (from >= to)
			continue;
		status = iforest_cursor_report_leaf(&fold->cursor, iforest_block_fold(&fold->cursor.reader, from, to, &asked,
										      aggregate, &counted));
		/* rows of this block come after those of all nodes folded before */
		if (counted) {
			edges->seen_time = 1;
			edges->open_last_time = 0;
		}
		for (unsigned v = 0; v < fold->cursor.manifest->fields.n_values && counted && !status; v++)
			if ((request->firsts | request->lasts) >> v & 1 &&
			    counted & fold->cursor.reader.columns[IFOREST_VALUES + v].present) {
				edges->seen_firsts |= 1u << v;
				edges->open_lasts &= ~(1u << v);
			}
	}
	if (block == fold->cursor.leaf.header.n_items)
		iforest_cursor_stand_at(&fold->cursor, leaf_number + 1, 0, 0);
	else
		iforest_cursor_stand_at(&fold->cursor, leaf_number, block, entry);
	return status;
}

/* Passes the rest of the pinned leaf page, if sums are all that is requested: sums the shorter side of the position. Declines
 * if entries were removed after the node was read. */
static enum iforest_status fold_end(struct iforest_fold *fold, const uint8_t *node, const struct iforest_request *request,
				    struct iforest_aggregate *aggregate, bool *done)
{
	const struct iforest_node_schema *fields = &fold->cursor.manifest->fields;
	struct iforest_sums all = { .n_rows = 0 }, rest;
	enum iforest_status status;

	*done = iforest_wants_sums(request, fields) && iforest_node_dead(node) == fold->cursor.leaf.header.n_dead;
	if (!*done)
		return IFOREST_OK;
	iforest_sums_add_node(&all, node, fields, request->values);
	iforest_cursor_read_block(&fold->cursor, fold->cursor.block);
	status =
		iforest_cursor_report_leaf(&fold->cursor, iforest_leaf_sums_from(&fold->cursor.leaf, &all, &fold->cursor.reader,
										 fold->cursor.entry, request->values, &rest));
	if (!status)
		iforest_sums_add_to_aggregate(&rest, request, aggregate);
	iforest_cursor_stand_at(&fold->cursor, fold->cursor.leaf_number + 1, 0, 0);
	return status;
}

/* Passes the entries of the present leaf page that lie before the key. */
static enum iforest_status fold_leaf(struct iforest_fold *fold, const struct iforest_key *key,
				     const struct iforest_request *request, struct edges *edges,
				     struct iforest_aggregate *aggregate)
{
	bool is_below, is_at_start = fold->cursor.block == 0 && fold->cursor.entry == 0, done = false, known = true;
	struct iforest_key first, last;
	unsigned block, entry = 0;
	const uint8_t *node;
	enum iforest_status status = iforest_cursor_node(&fold->cursor, 1, fold->cursor.leaf_number, &node);

	if (status)
		return status;
	first = iforest_node_first(node);
	last = iforest_node_last(node);
	is_below = iforest_key_compare(&last, key) < 0;
	done = is_below ? fold_rest(fold, request, aggregate) : is_at_start && iforest_key_compare(&first, key) >= 0;
	if (!done && edges->asked)
		status = iforest_filtered_leaf(&fold->cursor, fold->cursor.leaf_number, edges->asked->filter, &node, &known);
	if (!known)
		request = edges->asked;
	if (!status && !done && !is_below && edges->has_nodes && is_at_start)
		status = fold_cut(fold, key, node, request, aggregate, &done);
	if (status || done)
		return status;
	status = iforest_cursor_pin(&fold->cursor, 0, fold->cursor.leaf_number);
	block = status ? 0 : fold->cursor.leaf.header.n_items;
	if (!status && !is_below)
		status = iforest_cursor_find_in_leaf(&fold->cursor, key, &block, &entry);
	else if (!status && !is_at_start)
		status = fold_end(fold, node, request, aggregate, &done);
	return status || done ? status : fold_in_leaf(fold, block, entry, request, edges, aggregate);
}

/* ---- Counts and sums alone ---- */

/* A fold of sums alone up to a key. At each bucket boundary we sum the shorter side of the leaf page and of each node page
 * above it, derive the other by subtraction, and keep it for the next bucket. */
struct passing {
	struct iforest_fold *fold;
	const struct iforest_key *key;
	const struct iforest_request *request;
	bool of_value; /* nodes have sums of the first value column, requested or not */
	struct iforest_sums sums;
	bool is_declined; /* a leaf page differs from its node: fold it entry by entry */
};

static const uint8_t *node_at(const struct iforest_fold *fold, unsigned level, unsigned k)
{
	return iforest_node_at(fold->cursor.path[level].page.bytes, &fold->cursor.manifest->fields, k);
}

static void add_node(const struct passing *passing, const uint8_t *node, struct iforest_sums *sums)
{
	passing->fold->n_nodes_folded++;
	iforest_sums_add_node(sums, node, &passing->fold->cursor.manifest->fields, passing->of_value);
}

/* Adds nodes [from, to) of a pinned page. */
static struct iforest_sums sum_siblings(const struct passing *passing, unsigned level, unsigned from, unsigned to)
{
	struct iforest_sums sums = { .n_rows = 0 };

	for (unsigned k = from; k < to; k++)
		add_node(passing, node_at(passing->fold, level, k), &sums);
	return sums;
}

/* Places the cursor before node i of a level whose nodes have `span` leaf pages each. */
static void stand_before(struct iforest_fold *fold, uint64_t i, uint64_t span)
{
	uint64_t n_leaves = fold->cursor.run->n_leaves;

	iforest_cursor_stand_at(&fold->cursor, i * span < n_leaves ? i * span : n_leaves, 0, 0);
}

static bool is_passed(const struct passing *passing, const uint8_t *node)
{
	struct iforest_key last = iforest_node_last(node);

	return iforest_key_compare(&last, passing->key) < 0;
}

/* Returns the last node of a pinned page, from `low` on, that begins before the key; usually the expected one. */
static unsigned last_node(const struct passing *passing, unsigned level, unsigned low)
{
	const struct iforest_fold *fold = passing->fold;
	uint64_t expected = fold->expected[0].leaf_number,
		 first = fold->cursor.path[level].number * fold->cursor.manifest->fanout;
	bool is_expected = level == 1 && expected != UINT64_MAX && expected > first;

	return iforest_cursor_last_node_near(&fold->cursor, level, low, is_expected ? (unsigned)(expected - first) : 0,
					     passing->key, false);
}

/* Pins the page with node i of a level; *k is the node's number in it. */
static enum iforest_status pin_node(struct iforest_fold *fold, unsigned level, uint64_t i, unsigned *k)
{
	uint64_t fanout = fold->cursor.manifest->fanout, first = fold->cursor.path[level].number * fanout;
	const uint8_t *node;

	*k = (unsigned)(i - first);
	if (fold->cursor.path[level].is_pinned && i >= first && i - first < fold->cursor.path[level].header.n_items)
		return IFOREST_OK;
	*k = (unsigned)(i % fanout);
	return iforest_cursor_node(&fold->cursor, level, i, &node);
}

/* ---- Sums: the leaf page that the key cuts ---- */

/* True if the key belongs in the present block, at or after the position. */
static bool is_in_same_block(const struct passing *passing)
{
	const struct iforest_fold *fold = passing->fold;
	struct iforest_key next;

	if (!is_at_rest(fold) || !fold->cursor.path[0].is_pinned || fold->cursor.path[0].number != fold->cursor.leaf_number ||
	    !fold->cursor.reader_is_open || fold->cursor.reader.number != fold->cursor.block)
		return false;
	if (fold->cursor.block + 1u == fold->cursor.leaf.header.n_items)
		return true;
	next = iforest_leaf_block(&fold->cursor.leaf, fold->cursor.block + 1).first;
	return iforest_key_compare(&next, passing->key) > 0;
}

/* Places the cursor at an entry of the reader's block, or at the next page, and keeps the rest of the page. */
static enum iforest_status stand_in_leaf(struct passing *passing, unsigned entry, const struct iforest_sums *rest)
{
	struct iforest_fold *fold = passing->fold;
	struct iforest_leaf_cut *cut = &fold->rest.cut;
	uint64_t number = fold->cursor.leaf_number;
	unsigned block = fold->cursor.reader.number;
	enum iforest_status status = IFOREST_OK;

	fold->rest.leaf_number = UINT64_MAX;
	if (entry == fold->cursor.reader.block.n) {
		entry = 0;
		block++;
	}
	if (block == fold->cursor.leaf.header.n_items) {
		iforest_cursor_stand_at(&fold->cursor, number + 1, 0, 0);
		return IFOREST_OK;
	}
	*cut = (struct iforest_leaf_cut){ .block = block, .entry = entry };
	cut->first = iforest_leaf_block(&fold->cursor.leaf, block).first;
	cut->first.ref = INT64_MIN;
	if (entry > 0 && !cut->first.time_is_null)
		status = iforest_block_pick(&fold->cursor.reader, IFOREST_TIMES, entry, &cut->first.time);
	if (status)
		return iforest_cursor_report_leaf(&fold->cursor, status);
	fold->rest.leaf_number = number;
	fold->rest.request = *passing->request;
	fold->rest.aggregate.n_rows = fold->rest.aggregate.n_dead = fold->rest.aggregate.values[0].n = 0;
	fold->rest.aggregate.values[0].sum = 0;
	iforest_sums_add_to_aggregate(rest, passing->request, &fold->rest.aggregate);
	iforest_cursor_stand_at(&fold->cursor, number, block, entry);
	return IFOREST_OK;
}

/* Finds the key's entry in the reader's block, from an entry on; usually a near one. */
static enum iforest_status find_near(struct iforest_block_reader *reader, const struct iforest_key *key, unsigned from,
				     unsigned *entry)
{
	const struct iforest_block *block = &reader->block;

	if (!(reader->unpacked >> IFOREST_TIMES & 1) || block->time_is_null || key->time_is_null ||
	    key->series != block->series)
		return iforest_block_find(reader, key, entry);
	for (*entry = from; *entry < block->n && block->times[*entry] < key->time; ++*entry)
		;
	return IFOREST_OK;
}

/* Passes a part of one block, if buckets are narrower than blocks. */
static enum iforest_status cut_same_block(struct passing *passing, struct iforest_sums *rest)
{
	struct iforest_fold *fold = passing->fold;
	struct iforest_sums between = { .n_rows = 0 };
	unsigned from = fold->cursor.entry, entry;
	enum iforest_status status = find_near(&fold->cursor.reader, passing->key, from, &entry);

	if (!status && entry > from)
		status = iforest_block_add_sums(&fold->cursor.reader, from, entry, passing->request->values, &between);
	if (status || entry <= from)
		return iforest_cursor_report_leaf(&fold->cursor, status);
	iforest_sums_subtract(rest, &between);
	iforest_sums_add(&passing->sums, &between);
	return stand_in_leaf(passing, entry, rest);
}

/* Passes the part of the present leaf page that is before the key. all: the sums of its node; left: of these, what has not been
 * passed. */
static enum iforest_status cut_leaf(struct passing *passing, const struct iforest_sums *all, const struct iforest_sums *left)
{
	struct iforest_fold *fold = passing->fold;
	enum iforest_status status = iforest_cursor_pin(&fold->cursor, 0, fold->cursor.leaf_number);
	struct iforest_sums rest;
	unsigned block, entry;

	if (status)
		return status;
	passing->is_declined = all->n_dead != fold->cursor.leaf.header.n_dead;
	if (passing->is_declined)
		return IFOREST_OK;
	block = iforest_leaf_find_block(&fold->cursor.leaf, passing->key);
	iforest_leaf_prefetch_block(&fold->cursor.leaf, block);
	iforest_cursor_read_block(&fold->cursor, block);
	status = iforest_block_find(&fold->cursor.reader, passing->key, &entry);
	if (!status && (block < fold->cursor.block || (block == fold->cursor.block && entry <= fold->cursor.entry)))
		return IFOREST_OK; /* the key was passed before */
	if (!status)
		status = iforest_leaf_sums_from(&fold->cursor.leaf, all, &fold->cursor.reader, entry, passing->request->values,
						&rest);
	if (status)
		return iforest_cursor_report_leaf(&fold->cursor, status);
	iforest_sums_add(&passing->sums, left);
	iforest_sums_subtract(&passing->sums, &rest);
	return stand_in_leaf(passing, entry, &rest);
}

/* Gives the sums from a position within a leaf page on, computed unless they are kept. */
static enum iforest_status find_rest(struct passing *passing, const struct iforest_sums *all, struct iforest_sums *rest)
{
	struct iforest_fold *fold = passing->fold;
	enum iforest_status status;

	if (is_at_rest(fold) && fold->rest.request.values == passing->request->values &&
	    iforest_wants_sums(&fold->rest.request, &fold->cursor.manifest->fields)) {
		*rest = iforest_sums_of_aggregate(&fold->rest.aggregate, passing->request);
		return IFOREST_OK;
	}
	status = iforest_cursor_pin(&fold->cursor, 0, fold->cursor.leaf_number);
	if (status)
		return status;
	passing->is_declined = all->n_dead != fold->cursor.leaf.header.n_dead;
	if (passing->is_declined)
		return IFOREST_OK;
	iforest_cursor_read_block(&fold->cursor, fold->cursor.block);
	status = iforest_leaf_sums_from(&fold->cursor.leaf, all, &fold->cursor.reader, fold->cursor.entry,
					passing->request->values, rest);
	return iforest_cursor_report_leaf(&fold->cursor, status);
}

/* From within a leaf page: passes the rest of it, or the part before the key. *is_there: the key was reached. */
static enum iforest_status leave_leaf(struct passing *passing, bool *is_there)
{
	struct iforest_fold *fold = passing->fold;
	struct iforest_sums all = { .n_rows = 0 }, rest;
	unsigned k;
	const uint8_t *node;
	enum iforest_status status = pin_node(fold, 1, fold->cursor.leaf_number, &k);

	*is_there = true;
	if (status)
		return status;
	node = node_at(fold, 1, k);
	iforest_sums_add_node(&all, node, &fold->cursor.manifest->fields, passing->of_value);
	status = find_rest(passing, &all, &rest);
	if (status || passing->is_declined)
		return status;
	*is_there = !is_passed(passing, node);
	if (!*is_there) {
		iforest_sums_add(&passing->sums, &rest);
		iforest_cursor_stand_at(&fold->cursor, fold->cursor.leaf_number + 1, 0, 0);
		return IFOREST_OK;
	}
	if (is_at_rest(fold) && iforest_key_compare(&fold->rest.cut.first, passing->key) >= 0)
		return IFOREST_OK;
	return is_in_same_block(passing) ? cut_same_block(passing, &rest) : cut_leaf(passing, &all, &rest);
}

/* ---- Sums: siblings on node pages ---- */

/* Descends to the key, which is under node i of a level, and passes what comes before it. */
static enum iforest_status descend(struct passing *passing, unsigned level, uint64_t i, uint64_t span, struct iforest_sums all)
{
	struct iforest_fold *fold = passing->fold;

	while (level > 1) {
		struct iforest_pinned_page *pinned = &fold->cursor.path[--level];
		enum iforest_status status = iforest_cursor_pin(&fold->cursor, level, i);
		struct iforest_sums before, own = { .n_rows = 0 };
		unsigned k, n = pinned->header.n_items;

		if (status)
			return status;
		span /= fold->cursor.manifest->fanout;
		i *= fold->cursor.manifest->fanout;
		k = last_node(passing, level, 0);
		add_node(passing, node_at(fold, level, k), &own);
		if (k < n / 2) {
			before = sum_siblings(passing, level, 0, k);
			iforest_fold_page(fold, level)->after = all;
			iforest_sums_subtract(&iforest_fold_page(fold, level)->after, &before);
			iforest_sums_subtract(&iforest_fold_page(fold, level)->after, &own);
		} else {
			iforest_fold_page(fold, level)->after = sum_siblings(passing, level, k + 1, n);
			before = all;
			iforest_sums_subtract(&before, &iforest_fold_page(fold, level)->after);
			iforest_sums_subtract(&before, &own);
		}
		iforest_fold_page(fold, level)->after_node = k + 1;
		iforest_sums_add(&passing->sums, &before);
		i += k;
		if (is_passed(passing, node_at(fold, level, k))) {
			iforest_sums_add(&passing->sums, &own);
			stand_before(fold, i + 1, span);
			return IFOREST_OK;
		}
		all = own;
	}
	stand_before(fold, i, span);
	if (i >= fold->cursor.run->n_leaves)
		return iforest_cursor_report_corrupt(&fold->cursor, IFOREST_CORRUPT, "the page has too many nodes", 1,
						     i / fold->cursor.manifest->fanout);
	return cut_leaf(passing, &all, &all);
}

/* Passes siblings on a pinned page from node k on, which begins before the key, then descends. */
static enum iforest_status go_along(struct passing *passing, unsigned level, unsigned k, uint64_t span)
{
	struct iforest_fold *fold = passing->fold;
	struct iforest_pinned_page *pinned = &fold->cursor.path[level];
	unsigned last = last_node(passing, level, k);
	uint64_t i = pinned->number * fold->cursor.manifest->fanout + last;
	struct iforest_sums own = { .n_rows = 0 }, before = sum_siblings(passing, level, k, last);

	add_node(passing, node_at(fold, level, last), &own);
	iforest_sums_add(&passing->sums, &before);
	if (iforest_fold_page(fold, level)->after_node == k) {
		iforest_sums_subtract(&iforest_fold_page(fold, level)->after, &before);
		iforest_sums_subtract(&iforest_fold_page(fold, level)->after, &own);
		iforest_fold_page(fold, level)->after_node = last + 1;
	}
	if (!is_passed(passing, node_at(fold, level, last)))
		return descend(passing, level, i, span, own);
	iforest_sums_add(&passing->sums, &own);
	stand_before(fold, i + 1, span);
	return IFOREST_OK;
}

/* From the start of a leaf page: climbs while all siblings lie before the key, then passes siblings and descends. */
static enum iforest_status pass_siblings(struct passing *passing)
{
	struct iforest_fold *fold = passing->fold;
	uint64_t fanout = fold->cursor.manifest->fanout, i = fold->cursor.leaf_number, span = 1;

	for (unsigned level = 1; level <= fold->cursor.run->n_levels && i * span < fold->cursor.run->n_leaves; level++) {
		const struct iforest_pinned_page *pinned;
		struct iforest_sums row;
		unsigned k;
		enum iforest_status status;

		/* all siblings together are a node of the level above */
		for (; level < fold->cursor.run->n_levels && i % fanout == 0; level++, span *= fanout)
			i /= fanout;
		pinned = &fold->cursor.path[level];
		status = pin_node(fold, level, i, &k);
		if (status)
			return status;
		if (!is_passed(passing, node_at(fold, level, pinned->header.n_items - 1u))) {
			stand_before(fold, i, span);
			return iforest_cursor_begins_before(&fold->cursor, level, k, passing->key, false)
				       ? go_along(passing, level, k, span)
				       : IFOREST_OK;
		}
		row = iforest_fold_page(fold, level)->after_node == k ? iforest_fold_page(fold, level)->after
								      : sum_siblings(passing, level, k, pinned->header.n_items);
		iforest_sums_add(&passing->sums, &row);
		i = pinned->number + 1;
		span *= fanout;
	}
	iforest_cursor_stand_at(&fold->cursor, fold->cursor.run->n_leaves, 0, 0);
	return IFOREST_OK;
}

/* iforest_fold_until() for sums alone (iforest_wants_sums()), in a fraction of its instructions. *done becomes false if it
 * declines, and the general fold must go on from the cursor's position.
 * Requires  key->ref is INT64_MIN: then a node's last key, which lacks the ref, tells on which side of the key its last entry
 *           is. */
static enum iforest_status sums_until(struct iforest_fold *fold, const struct iforest_key *key,
				      const struct iforest_request *request, struct iforest_aggregate *aggregate, bool *done)
{
	const struct iforest_node_schema *fields = &fold->cursor.manifest->fields;
	struct passing passing = { .fold = fold,
				   .key = key,
				   .request = request,
				   .of_value = fields->n_values > 0 && fields->value_types[0] == IFOREST_INT64 };
	enum iforest_status status = IFOREST_OK;
	bool is_there = false;

	if (fold->cursor.block > 0 || fold->cursor.entry > 0)
		status = leave_leaf(&passing, &is_there);
	if (!status && !is_there)
		status = pass_siblings(&passing);
	iforest_sums_add_to_aggregate(&passing.sums, request, aggregate);
	*done = !passing.is_declined;
	return status;
}

/* ---- The fold ---- */

/* Classifies a node that lies before the key. If it has a filtered node, that becomes *node. */
static enum iforest_status classify_whole(struct iforest_fold *fold, unsigned level, uint64_t i,
					  const struct iforest_filter *filter, const struct edges *edges, const uint8_t **node,
					  enum iforest_filter_class *filter_class)
{
	const uint8_t *left = edges->asked ? *node : NULL;
	enum iforest_status status = IFOREST_OK;

	if (edges->asked)
		status = iforest_filtered_node(&fold->cursor, level, i, edges->asked->filter, &left);
	if (left)
		*node = left;
	*filter_class =
		left ? IFOREST_COUNTS_ALL : iforest_filter_class_of_node(edges->asked ? edges->asked->filter : filter, *node);
	return status;
}

/* Classifies node i of a level; SOME unless it lies before the key. */
static enum iforest_status classify_node(struct iforest_fold *fold, unsigned level, uint64_t i, const struct iforest_key *key,
					 const struct iforest_filter *filter, const struct edges *edges, const uint8_t **node,
					 enum iforest_filter_class *filter_class)
{
	struct iforest_key last;
	enum iforest_status status = iforest_cursor_node(&fold->cursor, level, i, node);

	*filter_class = IFOREST_COUNTS_SOME;
	if (status)
		return status;
	last = iforest_node_last(*node);
	return iforest_key_compare(&last, key) < 0 ? classify_whole(fold, level, i, filter, edges, node, filter_class)
						   : IFOREST_OK;
}

static bool is_mixed(enum iforest_filter_class filter_class)
{
	return filter_class == IFOREST_COUNTS_MOST || filter_class == IFOREST_COUNTS_SOME;
}

/* From the start of a leaf page: passes the largest node that begins here and can be used whole; *passed is its level, 0 for
 * none. Tries the highest level first, so that only pages on the path to the key are opened. */
static enum iforest_status fold_largest_node(struct iforest_fold *fold, const struct iforest_key *key,
					     const struct iforest_request *request, struct edges *edges,
					     struct iforest_aggregate *aggregate, unsigned *passed)
{
	uint64_t fanout = fold->cursor.manifest->fanout, i = fold->cursor.leaf_number, n_leaves = 1;
	unsigned level = 1;
	enum iforest_filter_class filter_class = IFOREST_COUNTS_SOME;
	const uint8_t *node;
	enum iforest_status status;

	for (; level <= fold->cursor.run->n_levels && i % fanout == 0; level++) {
		i /= fanout;
		n_leaves *= fanout;
	}
	status = classify_node(fold, level, i, key, request->filter, edges, &node, &filter_class);
	while (!status && is_mixed(filter_class) && level > 1) {
		level--;
		i *= fanout;
		n_leaves /= fanout;
		status = classify_node(fold, level, i, key, request->filter, edges, &node, &filter_class);
	}
	*passed = is_mixed(filter_class) ? 0 : level;
	if (status || !*passed)
		return status;
	if (filter_class == IFOREST_COUNTS_ALL)
		status = fold_node(fold, level, i, node, request, edges, aggregate);
	if (n_leaves > fold->cursor.run->n_leaves - fold->cursor.leaf_number)
		n_leaves = fold->cursor.run->n_leaves - fold->cursor.leaf_number;
	iforest_cursor_stand_at(&fold->cursor, fold->cursor.leaf_number + n_leaves, 0, 0);
	return status;
}

/* Passes one whole node, or the part of a leaf page before the key. *moving: into another leaf page. *level is the node's, 0
 * for a leaf page. */
static enum iforest_status fold_step(struct iforest_fold *fold, const struct iforest_key *key,
				     const struct iforest_request *request, struct edges *edges,
				     struct iforest_aggregate *aggregate, unsigned *level, bool *moving)
{
	uint64_t leaf_number = fold->cursor.leaf_number;
	enum iforest_status status = IFOREST_OK;

	*level = 0;
	if (fold->cursor.block == 0 && fold->cursor.entry == 0)
		status = fold_largest_node(fold, key, request, edges, aggregate, level);
	edges->has_nodes = edges->has_nodes || *level;
	if (!status && !*level)
		status = fold_leaf(fold, key, request, edges, aggregate);
	*moving = fold->cursor.leaf_number != leaf_number;
	return status;
}

/* Passes a leaf page that lies before the key. */
static enum iforest_status pass_leaf(struct iforest_fold *fold, const struct iforest_key *key,
				     const struct iforest_request *request, struct edges *edges,
				     struct iforest_aggregate *aggregate)
{
	uint64_t leaf_number = fold->cursor.leaf_number;
	enum iforest_status status = fold_leaf(fold, key, request, edges, aggregate);

	if (!status && fold->cursor.leaf_number == leaf_number)
		status = iforest_cursor_report_corrupt(&fold->cursor, IFOREST_CORRUPT, "entries are out of order", 0,
						       leaf_number);
	return status;
}

/* From a leaf page that is not the first under its node page: passes its siblings that lie before the key, but for the last,
 * which the key may cut and which is prefetched meanwhile. */
static enum iforest_status fold_siblings(struct iforest_fold *fold, const struct iforest_key *key,
					 const struct iforest_request *request, struct edges *edges,
					 struct iforest_aggregate *aggregate)
{
	const struct iforest_pager *pager = fold->cursor.store->pager;
	uint64_t fanout = fold->cursor.manifest->fanout, number = fold->cursor.leaf_number / fanout, first = number * fanout,
		 end;
	enum iforest_status status = iforest_cursor_pin(&fold->cursor, 1, number);

	if (status || fold->cursor.leaf_number - first >= fold->cursor.path[1].header.n_items)
		return status;
	end = first + iforest_cursor_last_node(&fold->cursor, 1, (unsigned)(fold->cursor.leaf_number - first), key, false);
	end = end < fold->cursor.run->n_leaves ? end : fold->cursor.run->n_leaves - 1; /* a forged page may claim more */
	if (pager->pin_briefly && pager->prefetch)
		pager->prefetch(pager->context, &fold->cursor.run->place, iforest_cursor_page_index(&fold->cursor, 0, end),
				false);
	while (!status && fold->cursor.leaf_number < end) {
		const uint8_t *node = iforest_node_at(fold->cursor.path[1].page.bytes, &fold->cursor.manifest->fields,
						      (unsigned)(fold->cursor.leaf_number - first));
		enum iforest_filter_class filter_class;

		status = classify_whole(fold, 1, fold->cursor.leaf_number, request->filter, edges, &node, &filter_class);
		edges->has_nodes = edges->has_nodes || !is_mixed(filter_class);
		if (!status && filter_class == IFOREST_COUNTS_ALL)
			status = fold_node(fold, 1, fold->cursor.leaf_number, node, request, edges, aggregate);
		if (!status && is_mixed(filter_class))
			status = pass_leaf(fold, key, request, edges, aggregate);
		else
			iforest_cursor_stand_at(&fold->cursor, fold->cursor.leaf_number + 1, 0, 0);
	}
	return status;
}

static bool is_among_siblings(const struct iforest_fold *fold)
{
	return fold->cursor.block == 0 && fold->cursor.entry == 0 &&
	       fold->cursor.leaf_number % fold->cursor.manifest->fanout != 0;
}

/* True if the fold uses filtered nodes. First and last rows descend into filtered pages, which a fixed cache may lack. */
static bool goes_by_filtered_nodes(const struct iforest_request *request)
{
	const struct iforest_filtered_nodes *filtered_nodes = request->filter ? request->filter->filtered_nodes : NULL;

	return filtered_nodes && !(filtered_nodes->is_fixed && (request->firsts | request->lasts || request->times));
}

enum iforest_status iforest_fold_until(struct iforest_fold *fold, const struct iforest_key *key,
				       const struct iforest_request *request, struct iforest_aggregate *aggregate)
{
	struct edges edges = { .seen_firsts = 0 };
	struct iforest_request without = *request;
	enum iforest_status status = IFOREST_OK;
	bool moving = true, done = false;
	unsigned level;

	if (key->ref == INT64_MIN && iforest_wants_sums(request, &fold->cursor.manifest->fields))
		status = sums_until(fold, key, request, aggregate, &done);
	if (status || done)
		return status;
	if (goes_by_filtered_nodes(request)) {
		edges.asked = request;
		without.filter = NULL;
		request = &without;
	}
	while (!status && moving && fold->cursor.leaf_number < fold->cursor.run->n_leaves) {
		if (is_among_siblings(fold))
			status = fold_siblings(fold, key, request, &edges, aggregate);
		if (!status)
			status = fold_step(fold, key, request, &edges, aggregate, &level, &moving);
	}
	return status ? status : fold_lasts(fold, &edges, aggregate);
}

enum iforest_status iforest_fold_step(struct iforest_fold *fold, const struct iforest_key *key,
				      const struct iforest_request *request, struct iforest_aggregate *aggregate,
				      unsigned *level, uint64_t *number, bool *at_end)
{
	struct edges edges = { .seen_firsts = 0 };
	enum iforest_status status = IFOREST_OK;
	bool moving = fold->cursor.leaf_number < fold->cursor.run->n_leaves;

	*level = 0;
	*number = fold->cursor.leaf_number;
	if (moving)
		status = fold_step(fold, key, request, &edges, aggregate, level, &moving);
	for (unsigned k = 1; k < *level; k++)
		*number /= fold->cursor.manifest->fanout;
	*at_end = !moving;
	return status ? status : fold_lasts(fold, &edges, aggregate);
}
