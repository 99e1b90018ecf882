#include "core/query/fold.h"

#include "core/base/bits.h"
#include "core/query/descent.h"
#include "core/query/filtered_nodes.h"

/* Edges are what nodes do not keep: the first and last row of each value column, and the first and last time. Of the nodes that
 * a fold uses whole, only the first and the last with such a row matter: the fold descends into the first at once; it records
 * the last here and descends into it at the end. */
enum { TIME = IFOREST_MAX_VALUES, N_EDGES }; /* edges are numbered like value columns; TIME: those of the times */

struct edges {
	uint32_t seen; /* bit e: the first row was seen */
	uint32_t open; /* bit e: the last row so far is under the recorded node */
	struct {
		unsigned level;
		uint64_t i;
	} last[N_EDGES];
};

/* A fold up to a key. */
struct folding {
	struct iforest_descent descent;
	struct iforest_fold *fold;
	const struct iforest_request *request;
	const struct iforest_filter *filter; /* NULL, or the filter whose filtered nodes are used; the request then has none */
	struct iforest_request without;	     /* this request */
	struct iforest_aggregate *aggregate;
	bool has_nodes; /* a whole node was used: the range is wide, and the next one probably is, too */
	struct edges edges;
	/* a step */
	bool is_step;
	unsigned level; /* of the node passed, 0: part of a leaf page */
	uint64_t number;
	/* sums alone */
	bool of_value;	/* nodes have sums of the first value column, requested or not */
	bool is_opened; /* `own` is that of the node opened last, whose page comes next */
	struct iforest_sums sums, own;
};

/* Keeps the key of the cursor's position. */
static void note_key(struct iforest_fold *fold, const struct iforest_key *key)
{
	const struct iforest_cursor *cursor = &fold->cursor;

	fold->at.leaf_number = cursor->leaf_number;
	fold->at.block = cursor->block;
	fold->at.entry = cursor->entry;
	fold->at.key = *key;
}

static void forget(struct iforest_fold *fold)
{
	fold->classified_leaf = fold->asked_leaf = fold->rest.leaf_number = fold->at.leaf_number = UINT64_MAX;
	for (unsigned e = 0; e < 3; e++)
		fold->expected[e].leaf_number = UINT64_MAX;
	fold->prefetched_siblings = UINT64_MAX;
}

void iforest_fold_init(struct iforest_fold *fold, struct iforest_store *store, const struct iforest_manifest *manifest,
		       const struct iforest_run *run)
{
	iforest_cursor_init(&fold->cursor, store, manifest, run);
	for (unsigned level = 0; level <= run->n_levels; level++)
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

/* Finds the key of the cursor's position in the excerpt, or after it. */
static enum iforest_status find_key_in_excerpt(struct iforest_fold *fold)
{
	struct iforest_cursor *cursor = &fold->cursor;
	const struct iforest_block *block = &cursor->reader.block;
	struct iforest_key key = { .series = block->series, .time_is_null = block->time_is_null, .ref = INT64_MIN };
	enum iforest_status status = IFOREST_OK;

	if (iforest_cursor_is_in_excerpt(cursor))
		status = iforest_block_pick(&cursor->reader, IFOREST_TIMES, cursor->entry, &key.time);
	else
		key = cursor->excerpt.next;
	if (status)
		return iforest_cursor_report_corrupt(cursor, status, "a packed column is wrong", 0, cursor->leaf_number);
	note_key(fold, &key);
	return IFOREST_OK;
}

enum iforest_status iforest_fold_seek_before(struct iforest_fold *fold, const struct iforest_key *key,
					     const struct iforest_key *to)
{
	enum iforest_status status;

	forget(fold);
	status = iforest_cursor_seek_before(&fold->cursor, key, to);
	return !status && fold->cursor.excerpt.is_there ? find_key_in_excerpt(fold) : status;
}

/* Adds the entries before the key, all of which are in the excerpt. */
static enum iforest_status fold_excerpt(struct iforest_fold *fold, const struct iforest_key *key,
					const struct iforest_request *request, struct iforest_aggregate *aggregate)
{
	struct iforest_cursor *cursor = &fold->cursor;
	uint64_t counted;
	unsigned entry = 0;
	enum iforest_status status;

	do {
		status = iforest_block_find(&cursor->reader, key, &entry);
		if (status)
			break;
		entry = entry > cursor->entry ? entry : cursor->entry;
		if (entry > cursor->entry)
			status = iforest_block_fold(&cursor->reader, cursor->entry, entry, request, aggregate, &counted);
	} while (!status && iforest_cursor_stand_in_excerpt(cursor, entry));
	if (status)
		return iforest_cursor_report_corrupt(cursor, status, "a packed column is wrong", 0, cursor->leaf_number);
	return find_key_in_excerpt(fold);
}

/* True if the cursor is where fold->rest begins. */
static bool is_at_rest(const struct iforest_fold *fold)
{
	const struct iforest_cursor *cursor = &fold->cursor;

	return fold->rest.leaf_number == cursor->leaf_number && fold->rest.cut.block == cursor->block &&
	       fold->rest.cut.entry == cursor->entry;
}

/* Computes the key of the cursor's position. */
static enum iforest_status find_key(struct iforest_fold *fold, struct iforest_key *key, bool *at_end)
{
	bool is_at_start = fold->cursor.block == 0 && fold->cursor.entry == 0;

	if (is_at_start || !is_at_rest(fold))
		return iforest_cursor_key(&fold->cursor, key, at_end);
	*at_end = false;
	*key = fold->rest.cut.first;
	key->ref = INT64_MIN;
	return IFOREST_OK;
}

enum iforest_status iforest_fold_find_key(struct iforest_fold *fold, struct iforest_key *key, bool *at_end)
{
	enum iforest_status status = find_key(fold, key, at_end);

	fold->at.leaf_number = UINT64_MAX;
	if (!status && !*at_end)
		note_key(fold, key);
	return status;
}

/* ---- First and last rows ---- */

/* True if the node has a live entry with that edge: a value, or, for TIME, any. */
static bool has_edge(const struct iforest_fold *fold, const uint8_t *node, unsigned e)
{
	return (e == TIME ? iforest_node_rows(node) : iforest_node_value_rows(node, &fold->cursor.manifest->fields, e)) > 0;
}

static enum iforest_status lacks_edge(struct iforest_fold *fold, unsigned level, uint64_t number)
{
	return iforest_cursor_report_corrupt(&fold->cursor, IFOREST_CORRUPT, "the page lacks the row that its node promises",
					     level, number);
}

/* Folds only the first or last entry with an edge in the pinned leaf page. */
static enum iforest_status fold_edge_of_leaf(struct folding *folding, unsigned e, bool forward)
{
	struct iforest_cursor *cursor = &folding->fold->cursor;
	struct iforest_request edge = { .times = e == TIME };
	struct iforest_aggregate *aggregate = folding->aggregate;
	unsigned n_blocks = cursor->leaf.header.n_items;
	enum iforest_status status = IFOREST_OK;

	if (e != TIME)
		*(forward ? &edge.firsts : &edge.lasts) = 1u << e;
	for (unsigned k = 0; k < n_blocks && !status; k++) {
		uint64_t which, n_rows = aggregate->n_rows, n_dead = aggregate->n_dead;
		unsigned i;

		iforest_cursor_read_block(cursor, forward ? k : n_blocks - 1 - k);
		which = iforest_low_bits(cursor->reader.block.n) & ~cursor->reader.block.dead;
		if (which && e != TIME) {
			status = iforest_block_find_column(&cursor->reader, IFOREST_VALUES + e);
			which &= status ? 0 : cursor->reader.columns[IFOREST_VALUES + e].present;
		}
		if (!which)
			continue;
		i = forward ? iforest_trailing_zeros(which) : iforest_highest_bit(which);
		status = iforest_block_fold(&cursor->reader, i, i + 1, &edge, aggregate, &which);
		aggregate->n_rows = n_rows;
		aggregate->n_dead = n_dead;
		return iforest_cursor_report_leaf(cursor, status);
	}
	return status ? iforest_cursor_report_leaf(cursor, status) : lacks_edge(folding->fold, 0, cursor->path[0].number);
}

/* Finds the first or last node with an edge on the page under node i of a level; *i becomes its number. */
static enum iforest_status find_edge_node(struct folding *folding, unsigned level, uint64_t *i, unsigned e, bool forward)
{
	struct iforest_cursor *cursor = &folding->fold->cursor;
	enum iforest_status status = iforest_cursor_pin(cursor, level - 1, *i);
	unsigned n = status ? 0 : cursor->path[level - 1].header.n_items;

	for (unsigned k = 0; k < n; k++) {
		unsigned at = forward ? k : n - 1 - k;
		uint64_t number = *i * cursor->manifest->fanout + at;
		const uint8_t *node = iforest_cursor_sibling(cursor, level - 1, at);

		if (folding->filter)
			status = iforest_filtered_node(cursor, level - 1, number, folding->filter, &node);
		if (status || !node)
			return status ? status : IFOREST_NO_MEMORY;
		if (has_edge(folding->fold, node, e)) {
			*i = number;
			return IFOREST_OK;
		}
	}
	return status ? status : lacks_edge(folding->fold, level - 1, *i);
}

/* Folds the first or last entry with an edge under a node.
 * Cost  one page per level. */
static enum iforest_status fold_edge(struct folding *folding, unsigned level, uint64_t i, unsigned e, bool forward)
{
	struct iforest_cursor *cursor = &folding->fold->cursor;
	enum iforest_status status = IFOREST_OK;
	const uint8_t *node;
	bool known = true;

	for (; level > 1 && !status; level--)
		status = find_edge_node(folding, level, &i, e, forward);
	if (!status && folding->filter) {
		status = iforest_cursor_node(cursor, 1, i, &node);
		if (!status)
			status = iforest_filtered_leaf(cursor, i, folding->filter, &node, &known);
	}
	if (!status)
		status = known ? iforest_cursor_pin(cursor, 0, i) : IFOREST_NO_MEMORY;
	return status ? status : fold_edge_of_leaf(folding, e, forward);
}

/* Records a whole node that has an edge. */
static enum iforest_status note_edge(struct folding *folding, unsigned level, uint64_t i, unsigned e, bool is_first,
				     bool is_last)
{
	struct edges *edges = &folding->edges;

	if (is_last) {
		edges->open |= 1u << e;
		edges->last[e].level = level;
		edges->last[e].i = i;
	}
	if (!is_first || edges->seen >> e & 1)
		return IFOREST_OK;
	edges->seen |= 1u << e;
	return fold_edge(folding, level, i, e, true);
}

/* Records that entries folded after all nodes so far have the edge. */
static void pass_edge(struct folding *folding, unsigned e)
{
	folding->edges.seen |= 1u << e;
	folding->edges.open &= ~(1u << e);
}

/* Adds the times of a node: those of its key range, unless entries were removed. */
static enum iforest_status fold_node_times(struct folding *folding, unsigned level, uint64_t i, const uint8_t *node)
{
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);

	if (first.time_is_null || iforest_node_rows(node) == 0)
		return IFOREST_OK;
	if (iforest_node_dead(node) > 0)
		return note_edge(folding, level, i, TIME, true, true);
	iforest_aggregate_add_time(folding->aggregate, first.time);
	iforest_aggregate_add_time(folding->aggregate, last.time);
	pass_edge(folding, TIME);
	return IFOREST_OK;
}

static enum iforest_status fold_lasts(struct folding *folding)
{
	const struct edges *edges = &folding->edges;
	enum iforest_status status = IFOREST_OK;

	for (unsigned e = 0; edges->open >> e && !status; e++)
		if (edges->open >> e & 1)
			status = fold_edge(folding, edges->last[e].level, edges->last[e].i, e, false);
	return status;
}

/* ---- Whole nodes ---- */

/* Adds whole node i of a level.
 * Cost  one page per level if it must descend to a first row or time. */
static enum iforest_status fold_node(struct folding *folding, unsigned level, uint64_t i, const uint8_t *node)
{
	const struct iforest_node_schema *fields = &folding->fold->cursor.manifest->fields;
	const struct iforest_request *request = folding->request;
	uint32_t rows = request->firsts | request->lasts;
	uint8_t copy[IFOREST_MAX_NODE_BYTES];
	enum iforest_status status = IFOREST_OK;

	folding->fold->n_nodes_folded++;
	if (folding->filter && (rows || request->times)) /* opening pages below may evict the filtered node */
		node = memcpy(copy, node, fields->node_bytes);
	iforest_request_fold_node(request, node, fields, folding->aggregate);
	for (unsigned v = 0; v < fields->n_values && rows >> v && !status; v++)
		if (rows >> v & 1 && iforest_node_value_rows(node, fields, v) > 0)
			status = note_edge(folding, level, i, v, request->firsts >> v & 1, request->lasts >> v & 1);
	return !status && request->times ? fold_node_times(folding, level, i, node) : status;
}

/* Classifies a node that lies before the key. *node becomes its filtered node, if there is one. */
static enum iforest_status classify_node(struct folding *folding, unsigned level, uint64_t i, const uint8_t **node,
					 enum iforest_filter_class *filter_class)
{
	const struct iforest_filter *filter = folding->filter ? folding->filter : folding->request->filter;
	const uint8_t *left = *node;
	enum iforest_status status = IFOREST_OK;

	*filter_class = IFOREST_COUNTS_ALL;
	if (folding->filter)
		status = iforest_filtered_node(&folding->fold->cursor, level, i, filter, &left);
	if (left && folding->filter)
		*node = left;
	else
		*filter_class = iforest_filter_class_of_node(filter, *node);
	return status;
}

static enum iforest_status pass_node(struct iforest_descent *descent, const struct iforest_visited_node *visited, bool *open)
{
	struct folding *folding = descent->context;
	const uint8_t *node = visited->bytes;
	enum iforest_filter_class filter_class;
	enum iforest_status status;

	*open = visited->place != IFOREST_INSIDE;
	if (*open)
		return IFOREST_OK;
	status = classify_node(folding, visited->level, visited->i, &node, &filter_class);
	*open = filter_class == IFOREST_COUNTS_MOST || filter_class == IFOREST_COUNTS_SOME;
	if (status || *open)
		return status;
	folding->has_nodes = true;
	folding->level = visited->level;
	folding->number = visited->i;
	descent->is_done = folding->is_step;
	return filter_class == IFOREST_COUNTS_ALL ? fold_node(folding, visited->level, visited->i, node) : IFOREST_OK;
}

/* Prefetches the leaf page that the key may cut, while its siblings are added. */
static void look_at_page(struct iforest_descent *descent, struct iforest_siblings *siblings)
{
	const struct iforest_cursor *cursor = descent->cursor;
	unsigned low = siblings->low, high = iforest_cursor_last_node(cursor, siblings->level, low, descent->to, false);

	siblings->high = high;
	if (siblings->level == 1 && high > low && cursor->store->pager->pin_briefly)
		iforest_cursor_prefetch(cursor, 0, cursor->path[1].number * cursor->manifest->fanout + high, false);
}

/* ---- Leaf pages ---- */

/* Classifies the pinned leaf page by its node, so that the filter need not check its entries. Does nothing if only a few
 * entries are folded, for the first time on this page. */
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

/* Adds the part of a leaf page before the key, and keeps the rest. Must not read other pages: this one may be pinned
 * briefly. */
static enum iforest_status split_leaf(struct folding *folding, const struct iforest_leaf *leaf, const uint8_t *node,
				      const struct iforest_request *request)
{
	struct iforest_fold *fold = folding->fold;
	uint64_t number = fold->cursor.leaf_number;
	struct iforest_leaf_cut *cut = &fold->rest.cut;
	enum iforest_status status =
		iforest_leaf_split(leaf, node, folding->descent.to, request, folding->aggregate, &fold->rest.aggregate, cut);

	fold->rest.leaf_number = UINT64_MAX;
	if (status)
		return iforest_cursor_report_corrupt(&fold->cursor, status, "a packed column is wrong", 0, number);
	if (cut->block == leaf->header.n_items) {
		iforest_cursor_stand_at(&fold->cursor, number + 1, 0, 0);
		return IFOREST_OK;
	}
	fold->rest.leaf_number = number;
	fold->rest.request = *request;
	fold->rest.is_sums = false;
	iforest_cursor_stand_at(&fold->cursor, number, cut->block, cut->entry);
	return IFOREST_OK;
}

/* At the start of the leaf page that the key cuts: passes the part before the key, if all entries count and the page can be
 * split. */
static enum iforest_status fold_cut(struct folding *folding, const uint8_t *node, const struct iforest_request *request,
				    bool *done)
{
	struct iforest_cursor *cursor = &folding->fold->cursor;
	struct iforest_page page;
	struct iforest_leaf leaf;
	enum iforest_filter_class filter_class;
	enum iforest_status status = classify_leaf(folding->fold, request->filter, false, &filter_class);

	*done = !status && filter_class == IFOREST_COUNTS_ALL && iforest_leaf_can_split(node, folding->descent.to, request);
	if (!*done)
		return status;
	status = iforest_cursor_pin_briefly(cursor, cursor->leaf_number, &page, &leaf);
	if (status)
		return status;
	status = split_leaf(folding, &leaf, node, request);
	iforest_cursor_unpin_brief(cursor, &page);
	return status;
}

static bool is_same_request(const struct iforest_request *a, const struct iforest_request *b)
{
	return a->values == b->values && a->no_mins == b->no_mins && a->no_maxs == b->no_maxs && a->no_rows == b->no_rows &&
	       a->accumulators == b->accumulators && a->filter == b->filter && b->firsts == 0 && b->lasts == 0 && !b->times &&
	       !b->node_fields && !b->extremes_alone;
}

/* Adds the rest of a leaf page, if it is known and lies before the key. */
static bool fold_rest(struct folding *folding)
{
	struct iforest_fold *fold = folding->fold;
	const struct iforest_node_schema *fields = &fold->cursor.manifest->fields;

	if (!is_at_rest(fold) || fold->rest.is_sums || !is_same_request(&fold->rest.request, folding->request))
		return false;
	iforest_aggregate_combine(folding->aggregate, &fold->rest.aggregate, fields->value_types, fields->n_values,
				  &fields->accumulators);
	iforest_cursor_stand_at(&fold->cursor, fold->cursor.leaf_number + 1, 0, 0);
	return true;
}

/* Folds the entries [from, to) of a block of the pinned leaf page. */
static enum iforest_status fold_block(struct folding *folding, unsigned block, unsigned from, unsigned to,
				      const struct iforest_request *request)
{
	struct iforest_cursor *cursor = &folding->fold->cursor;
	uint64_t counted = 0;
	enum iforest_status status;

	iforest_cursor_read_block(cursor, block);
	to = to < cursor->reader.block.n ? to : cursor->reader.block.n;
	if (from >= to)
		return IFOREST_OK;
	status = iforest_cursor_report_leaf(cursor, iforest_block_fold(&cursor->reader, from, to, request, folding->aggregate,
								       &counted));
	if (status || !counted)
		return status;
	pass_edge(folding, TIME);
	for (unsigned v = 0; v < cursor->manifest->fields.n_values; v++)
		if ((request->firsts | request->lasts) >> v & 1 && counted & cursor->reader.columns[IFOREST_VALUES + v].present)
			pass_edge(folding, v);
	return IFOREST_OK;
}

/* Prepares to add the entries of the pinned leaf page from the position up to a block and some of its entries, if there are as
 * many. *done: nothing is left to add. Otherwise the request's filter is removed if all entries count. */
static enum iforest_status start_leaf(struct folding *folding, unsigned block, struct iforest_request *request, bool *done)
{
	struct iforest_fold *fold = folding->fold;
	const struct iforest_cursor *cursor = &fold->cursor;
	unsigned n_blocks = cursor->leaf.header.n_items, b = cursor->block;
	enum iforest_filter_class filter_class;
	enum iforest_status status = classify_leaf(fold, request->filter, block - b < n_blocks / 8u, &filter_class);

	*done = false;
	if (!status && filter_class == IFOREST_COUNTS_MOST && b == 0 && cursor->entry == 0 && block == n_blocks)
		status = fold_most_of_leaf(fold, request, folding->aggregate, done);
	if (status)
		return status;
	if (filter_class == IFOREST_COUNTS_ALL)
		request->filter = NULL;
	*done = *done || filter_class == IFOREST_COUNTS_NONE;
	if (!*done)
		iforest_leaf_prefetch(&cursor->leaf, b, block);
	return IFOREST_OK;
}

/* Adds the entries of the pinned leaf page from the position up to the start of a later block. */
static enum iforest_status fold_blocks(struct folding *folding, unsigned block, const struct iforest_request *request)
{
	struct iforest_cursor *cursor = &folding->fold->cursor;
	bool has_edges = request->firsts | request->lasts || request->times;
	unsigned b = cursor->block, from = cursor->entry;
	enum iforest_status status = IFOREST_OK;

	for (; !status && b < block && (from > 0 || has_edges); b++, from = 0)
		status = fold_block(folding, b, from, IFOREST_BLOCK_ENTRIES, request);
	if (!status && b < block)
		status = iforest_cursor_report_leaf(cursor, iforest_leaf_fold_blocks(&cursor->leaf, b, block, request,
										     folding->aggregate));
	return status;
}

/* Moves to an entry of the pinned leaf page; (block, number of entries) is the next block, or the next page. */
static void stand_in(struct iforest_cursor *cursor, unsigned block, unsigned entry)
{
	if (entry > 0 && entry == iforest_leaf_block(&cursor->leaf, block).n) {
		entry = 0;
		block++;
	}
	if (block == cursor->leaf.header.n_items)
		iforest_cursor_stand_at(cursor, cursor->leaf_number + 1, 0, 0);
	else
		iforest_cursor_stand_at(cursor, cursor->leaf_number, block, entry);
}

/* Adds the entries of the pinned leaf page from the position up to (block, entry), and moves there. */
static enum iforest_status fold_entries(struct folding *folding, unsigned block, unsigned entry, struct iforest_request request)
{
	struct iforest_cursor *cursor = &folding->fold->cursor;
	bool done;
	enum iforest_status status;

	if (block < cursor->block || (block == cursor->block && entry <= cursor->entry))
		return IFOREST_OK;
	status = start_leaf(folding, block, &request, &done);
	if (!status && !done && block > cursor->block)
		status = fold_blocks(folding, block, &request);
	if (!status && !done && entry > 0)
		status = fold_block(folding, block, block > cursor->block ? 0 : cursor->entry, entry, &request);
	if (!status)
		stand_in(cursor, block, entry);
	return status;
}

/* Adds the entries of the pinned leaf page from the position up to the key, which cuts the page, and moves there. Each block is
 * left before the next one is read. */
static enum iforest_status fold_before(struct folding *folding, struct iforest_request request)
{
	struct iforest_cursor *cursor = &folding->fold->cursor;
	const struct iforest_key *key = folding->descent.to;
	unsigned block = iforest_leaf_find_block_from(&cursor->leaf, cursor->block, key), from = cursor->entry, entry;
	bool done;
	enum iforest_status status = start_leaf(folding, block, &request, &done);

	if (!status && block > cursor->block) {
		status = done ? IFOREST_OK : fold_blocks(folding, block, &request);
		from = 0;
	}
	if (status)
		return status;
	iforest_cursor_read_block(cursor, block);
	status = iforest_cursor_report_leaf(cursor, iforest_block_find(&cursor->reader, key, &entry));
	entry = entry > from ? entry : from;
	if (!status && !done && entry > from)
		status = fold_block(folding, block, from, entry, &request);
	if (!status)
		stand_in(cursor, block, entry);
	return status;
}

/* Passes the entries of the current leaf page that lie before the key. */
static enum iforest_status pass_leaf(struct iforest_descent *descent, const struct iforest_visited_node *visited)
{
	struct folding *folding = descent->context;
	struct iforest_cursor *cursor = &folding->fold->cursor;
	struct iforest_request request = *folding->request;
	bool is_inside = visited->place == IFOREST_INSIDE, done = false, known = true;
	const uint8_t *node = visited->bytes;
	enum iforest_status status = IFOREST_OK;

	folding->level = 0;
	folding->number = visited->i;
	descent->is_done = folding->is_step;
	if (is_inside)
		done = fold_rest(folding);
	if (!done && folding->filter)
		status = iforest_filtered_leaf(cursor, visited->i, folding->filter, &node, &known);
	if (!known)
		request.filter = folding->filter;
	if (!status && !is_inside && folding->has_nodes && cursor->block == 0 && cursor->entry == 0)
		status = fold_cut(folding, node, &request, &done);
	if (!status && !done)
		status = iforest_cursor_pin(cursor, 0, visited->i);
	if (status || done)
		return status;
	return is_inside ? fold_entries(folding, cursor->leaf.header.n_items, 0, request) : fold_before(folding, request);
}

static const struct iforest_visitor visitor = { .page = look_at_page, .node = pass_node, .leaf = pass_leaf };

/* ---- Counts and sums alone: siblings on node pages ----
 * At each bucket boundary we sum the shorter side of the leaf page and of each node page above it, derive the other by
 * subtraction, and keep it for the next bucket. */

static void add_node(struct folding *folding, const uint8_t *node, struct iforest_sums *sums)
{
	folding->fold->n_nodes_folded++;
	iforest_sums_add_node(sums, node, &folding->fold->cursor.manifest->fields, folding->of_value);
}

/* Adds nodes [from, to) of a pinned page. */
static struct iforest_sums sum_siblings(struct folding *folding, unsigned level, unsigned from, unsigned to)
{
	struct iforest_sums sums = { .n_rows = 0 };

	for (unsigned k = from; k < to; k++)
		add_node(folding, iforest_cursor_sibling(&folding->fold->cursor, level, k), &sums);
	return sums;
}

/* Returns the last node of a pinned page, from `low` on, that begins before the key; usually the expected one. */
static unsigned last_node(const struct folding *folding, unsigned level, unsigned low)
{
	const struct iforest_fold *fold = folding->fold;
	uint64_t expected = fold->expected[0].leaf_number,
		 first = fold->cursor.path[level].number * fold->cursor.manifest->fanout;
	bool is_expected = level == 1 && expected != UINT64_MAX && expected > first;

	return iforest_cursor_last_node_near(&fold->cursor, level, low, is_expected ? (unsigned)(expected - first) : 0,
					     folding->descent.to, false);
}

/* Adds the siblings before the key, except the last one that begins before it. */
static void sum_page(struct iforest_descent *descent, struct iforest_siblings *siblings)
{
	struct folding *folding = descent->context;
	struct iforest_fold_page *page = iforest_fold_page(folding->fold, siblings->level);
	unsigned level = siblings->level, low = siblings->low, n = descent->cursor->path[level].header.n_items, high;
	bool is_opened = folding->is_opened;
	struct iforest_sums all = folding->own, before;

	if (!is_opened && iforest_node_ends_before(iforest_cursor_sibling(descent->cursor, level, n - 1), descent->to)) {
		before = page->after_node == low ? page->after : sum_siblings(folding, level, low, n);
		iforest_sums_add(&folding->sums, &before);
		siblings->low = n;
		siblings->high = n - 1;
		return;
	}
	siblings->high = high = last_node(folding, level, low);
	if (high == low && !iforest_cursor_begins_before(descent->cursor, level, low, descent->to, false))
		return;
	folding->own = sum_siblings(folding, level, high, high + 1);
	if (is_opened && high >= n / 2) {
		page->after = sum_siblings(folding, level, high + 1, n);
		before = all;
		iforest_sums_subtract(&before, &page->after);
		iforest_sums_subtract(&before, &folding->own);
	} else {
		before = sum_siblings(folding, level, low, high);
		if (is_opened)
			page->after = all;
		iforest_sums_subtract(&page->after, &before);
		iforest_sums_subtract(&page->after, &folding->own);
	}
	page->after_node = is_opened || page->after_node == low ? high + 1 : UINT_MAX;
	iforest_sums_add(&folding->sums, &before);
	siblings->low = high;
}

static enum iforest_status sum_node(struct iforest_descent *descent, const struct iforest_visited_node *node, bool *open)
{
	struct folding *folding = descent->context;

	if (node->level > descent->cursor->run->n_levels) { /* the root is on no page */
		folding->own = (struct iforest_sums){ .n_rows = 0 };
		add_node(folding, node->bytes, &folding->own);
	}
	*open = folding->is_opened = node->place != IFOREST_INSIDE;
	if (!*open)
		iforest_sums_add(&folding->sums, &folding->own);
	return IFOREST_OK;
}

/* ---- Counts and sums alone: the leaf page that the key cuts ---- */

/* Moves the cursor to an entry of the reader's block, or to the next page, and keeps the rest of the page. */
static enum iforest_status stand_in_leaf(struct folding *folding, unsigned entry, const struct iforest_sums *rest)
{
	struct iforest_fold *fold = folding->fold;
	struct iforest_cursor *cursor = &fold->cursor;
	struct iforest_leaf_cut *cut = &fold->rest.cut;
	unsigned block = cursor->reader.number;
	enum iforest_status status = IFOREST_OK;

	fold->rest.leaf_number = UINT64_MAX;
	if (entry == cursor->reader.block.n) {
		entry = 0;
		block++;
	}
	if (block == cursor->leaf.header.n_items) {
		iforest_cursor_stand_at(cursor, cursor->leaf_number + 1, 0, 0);
		return IFOREST_OK;
	}
	*cut = (struct iforest_leaf_cut){ .block = block, .entry = entry };
	cut->first = iforest_leaf_block(&cursor->leaf, block).first;
	cut->first.ref = INT64_MIN;
	if (entry > 0 && !cut->first.time_is_null)
		status = iforest_block_pick(&cursor->reader, IFOREST_TIMES, entry, &cut->first.time);
	if (status)
		return iforest_cursor_report_leaf(cursor, status);
	fold->rest.leaf_number = cursor->leaf_number;
	fold->rest.request.values = folding->request->values;
	fold->rest.is_sums = true;
	fold->rest.sums = *rest;
	iforest_cursor_stand_at(cursor, cursor->leaf_number, block, entry);
	return IFOREST_OK;
}

/* True if the current block is open and the key belongs in it. */
static bool is_in_same_block(const struct iforest_cursor *cursor, const struct iforest_key *key)
{
	struct iforest_key next;

	if (!cursor->reader_is_open || cursor->path[0].number != cursor->leaf_number || cursor->reader.number != cursor->block)
		return false;
	if (cursor->block + 1u == cursor->leaf.header.n_items)
		return true;
	next = iforest_leaf_block(&cursor->leaf, cursor->block + 1).first;
	return iforest_key_compare(&next, key) > 0;
}

/* Finds the key's entry in the reader's block, from an entry on, which is usually close. */
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

/* Passes the part of the pinned leaf page that is before the key. all: the sums of its node; rest: those of its entries not
 * passed yet. If buckets are narrower than blocks, only the part is added up. */
static enum iforest_status cut_leaf(struct folding *folding, const struct iforest_sums *all, struct iforest_sums *rest)
{
	struct iforest_cursor *cursor = &folding->fold->cursor;
	const struct iforest_key *key = folding->descent.to;
	bool is_near = is_in_same_block(cursor, key);
	unsigned block = is_near ? cursor->block : iforest_leaf_find_block(&cursor->leaf, key), entry;
	struct iforest_sums part = { .n_rows = 0 }, after;
	enum iforest_status status;

	if (!is_near)
		iforest_leaf_prefetch_block(&cursor->leaf, block);
	iforest_cursor_read_block(cursor, block);
	status = is_near ? find_near(&cursor->reader, key, cursor->entry, &entry)
			 : iforest_block_find(&cursor->reader, key, &entry);
	if (!status && (block < cursor->block || (block == cursor->block && entry <= cursor->entry)))
		return IFOREST_OK; /* the key was passed before */
	if (!status && is_near) {
		status = iforest_block_add_sums(&cursor->reader, cursor->entry, entry, folding->request->values, &part);
		after = *rest;
		iforest_sums_subtract(&after, &part);
	} else if (!status) {
		status = iforest_leaf_sums_from(&cursor->leaf, all, &cursor->reader, entry, folding->request->values, &after);
		part = *rest;
		iforest_sums_subtract(&part, &after);
	}
	if (status)
		return iforest_cursor_report_leaf(cursor, status);
	iforest_sums_add(&folding->sums, &part);
	return stand_in_leaf(folding, entry, &after);
}

/* pass_leaf() for sums only. A leaf page that differs from its node, because entries were removed meanwhile, is folded. */
static enum iforest_status sum_leaf(struct iforest_descent *descent, const struct iforest_visited_node *node)
{
	struct folding *folding = descent->context;
	struct iforest_fold *fold = folding->fold;
	struct iforest_cursor *cursor = &fold->cursor;
	bool is_cut = node->place == IFOREST_CUT, is_within = cursor->block > 0 || cursor->entry > 0;
	bool is_known = is_at_rest(fold) && fold->rest.is_sums && fold->rest.request.values == folding->request->values;
	struct iforest_sums all = { .n_rows = 0 }, rest;
	enum iforest_status status = IFOREST_OK;

	if (is_cut && is_within && is_at_rest(fold) && iforest_key_compare(&fold->rest.cut.first, descent->to) >= 0)
		return IFOREST_OK;
	if (is_cut || (is_within && !is_known))
		status = iforest_cursor_pin(cursor, 0, node->i);
	iforest_sums_add_node(&all, node->bytes, &cursor->manifest->fields, folding->of_value);
	if (!status && (is_cut || (is_within && !is_known)) && all.n_dead != cursor->leaf.header.n_dead)
		return pass_leaf(descent, node);
	rest = is_known ? fold->rest.sums : all;
	if (!status && is_within && !is_known) {
		iforest_cursor_read_block(cursor, cursor->block);
		status = iforest_cursor_report_leaf(cursor,
						    iforest_leaf_sums_from(&cursor->leaf, &all, &cursor->reader, cursor->entry,
									   folding->request->values, &rest));
	}
	if (status || is_cut)
		return status ? status : cut_leaf(folding, &all, &rest);
	iforest_sums_add(&folding->sums, &rest);
	iforest_cursor_stand_at(cursor, node->i + 1, 0, 0);
	return IFOREST_OK;
}

/* For sums only, in a fraction of the instructions.
 * Requires  key->ref is INT64_MIN, so that the last key of a node tells, without its ref, on which side of the key its last
 *           entry is. */
static const struct iforest_visitor sums_visitor = { .page = sum_page, .node = sum_node, .leaf = sum_leaf };

/* ---- The fold ---- */

/* Initialises only the members that are needed: clearing all would take as long as a fold of sums. */
static void start(struct folding *folding, struct iforest_fold *fold, const struct iforest_key *key,
		  const struct iforest_request *request, struct iforest_aggregate *aggregate)
{
	folding->descent =
		(struct iforest_descent){ .visitor = &visitor, .context = folding, .cursor = &fold->cursor, .to = key };
	folding->fold = fold;
	folding->request = request;
	folding->filter = NULL;
	folding->aggregate = aggregate;
	folding->has_nodes = folding->is_step = false;
	folding->edges.seen = folding->edges.open = 0;
}

/* Uses the filter's filtered nodes, if the fold can. Not for first and last rows with a fixed cache: these descend into
 * filtered pages, which it may lack. */
static void use_filtered_nodes(struct folding *folding)
{
	const struct iforest_request *request = folding->request;
	const struct iforest_filtered_nodes *filtered_nodes = request->filter ? request->filter->filtered_nodes : NULL;

	if (!filtered_nodes || (filtered_nodes->is_fixed && (request->firsts | request->lasts || request->times)))
		return;
	folding->without = *request;
	folding->without.filter = NULL;
	folding->request = &folding->without;
	folding->filter = request->filter;
}

static enum iforest_status fold_sums(struct folding *folding)
{
	const struct iforest_node_schema *fields = &folding->fold->cursor.manifest->fields;
	enum iforest_status status;

	folding->descent.visitor = &sums_visitor;
	folding->of_value = fields->n_values > 0 && fields->value_types[0] == IFOREST_INT64;
	folding->is_opened = false;
	folding->sums = (struct iforest_sums){ .n_rows = 0 };
	status = iforest_descend_forward(&folding->descent);
	iforest_sums_add_to_aggregate(&folding->sums, folding->request, folding->aggregate);
	return status;
}

/* True if all live entries of the pinned leaf page, on which the position is, are known to count. */
static bool is_whole_leaf(const struct iforest_fold *fold, const struct iforest_filter *filter)
{
	return !filter || (fold->classified_leaf == fold->cursor.leaf_number && fold->filter_class == IFOREST_COUNTS_ALL);
}

/* Adds the entries before the key if it lies in the open block of the position: narrow buckets need no descent. */
static enum iforest_status fold_in_block(struct iforest_fold *fold, const struct iforest_key *key,
					 const struct iforest_request *request, struct iforest_aggregate *aggregate, bool *done)
{
	struct iforest_cursor *cursor = &fold->cursor;
	struct iforest_request of_all;
	unsigned from = cursor->entry, entry;
	uint64_t counted;
	enum iforest_status status;

	*done = false;
	if (key->ref != INT64_MIN || !is_in_same_block(cursor, key) || !is_whole_leaf(fold, request->filter))
		return IFOREST_OK;
	status = find_near(&cursor->reader, key, from, &entry);
	*done = !status && entry > from && entry < cursor->reader.block.n;
	if (!*done)
		return iforest_cursor_report_leaf(cursor, status);
	of_all = *request;
	of_all.filter = NULL;
	status = iforest_block_fold(&cursor->reader, from, entry, &of_all, aggregate, &counted);
	if (!status)
		cursor->entry = entry;
	return iforest_cursor_report_leaf(cursor, status);
}

enum iforest_status iforest_fold_until(struct iforest_fold *fold, const struct iforest_key *key,
				       const struct iforest_request *request, struct iforest_aggregate *aggregate)
{
	struct folding folding;
	bool done;
	enum iforest_status status;

	if (iforest_cursor_is_in_excerpt(&fold->cursor) && iforest_key_compare(key, &fold->cursor.excerpt.next) <= 0)
		return fold_excerpt(fold, key, request, aggregate);
	if (key->ref == INT64_MIN && iforest_wants_sums(request, &fold->cursor.manifest->fields)) {
		start(&folding, fold, key, request, aggregate);
		return fold_sums(&folding);
	}
	status = fold_in_block(fold, key, request, aggregate, &done);
	if (status || done)
		return status;
	start(&folding, fold, key, request, aggregate);
	use_filtered_nodes(&folding);
	status = iforest_descend_forward(&folding.descent);
	return status ? status : fold_lasts(&folding);
}

enum iforest_status iforest_fold_in_leaf(struct iforest_fold *fold, unsigned block, unsigned entry,
					 const struct iforest_request *request, struct iforest_aggregate *aggregate)
{
	struct folding folding;

	start(&folding, fold, NULL, request, aggregate);
	return fold_entries(&folding, block, entry, *request);
}

enum iforest_status iforest_fold_step(struct iforest_fold *fold, const struct iforest_key *key,
				      const struct iforest_request *request, struct iforest_aggregate *aggregate,
				      unsigned *level, uint64_t *number, bool *at_end)
{
	struct folding folding;
	uint64_t leaf_number = fold->cursor.leaf_number;
	enum iforest_status status;

	start(&folding, fold, key, request, aggregate);
	folding.is_step = true;
	folding.level = 0;
	folding.number = leaf_number;
	status = iforest_descend_forward(&folding.descent);
	*level = folding.level;
	*number = folding.number;
	*at_end = fold->cursor.leaf_number == leaf_number;
	return status ? status : fold_lasts(&folding);
}
