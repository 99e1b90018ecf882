#include "core/query/filtered_nodes.h"

#include <string.h>

#include "core/base/bits.h"

void iforest_filtered_nodes_init(struct iforest_filtered_nodes *filtered_nodes, const struct iforest_alloc *alloc)
{
	*filtered_nodes = (struct iforest_filtered_nodes){ .alloc = alloc, .most_bytes = IFOREST_FILTERED_NODES_BYTES };
}

static void forget(struct iforest_filtered_nodes *filtered_nodes)
{
	for (size_t b = 0; b < filtered_nodes->n_buckets; b++) {
		struct iforest_filtered_page **link = &filtered_nodes->buckets[b];

		while (*link) {
			struct iforest_filtered_page *page = *link;

			if (page->n_pins > 0) {
				link = &page->next;
				continue;
			}
			*link = page->next;
			filtered_nodes->n_pages--;
			filtered_nodes->n_bytes -= page->n_bytes;
			iforest_release(filtered_nodes->alloc, page);
		}
	}
	filtered_nodes->last = NULL;
}

void iforest_filtered_nodes_release(struct iforest_filtered_nodes *filtered_nodes)
{
	forget(filtered_nodes);
	iforest_release(filtered_nodes->alloc, filtered_nodes->buckets);
	filtered_nodes->buckets = NULL;
	filtered_nodes->n_buckets = 0;
}

static struct iforest_filtered_page **bucket_of(const struct iforest_filtered_nodes *filtered_nodes, uint64_t run_id,
						unsigned level, uint64_t number)
{
	/* run ids are random, so they need no hash */
	return &filtered_nodes->buckets[(run_id + number + level * UINT64_C(0x9e3779b1)) & (filtered_nodes->n_buckets - 1)];
}

static bool is_of(const struct iforest_filtered_page *page, const struct iforest_place *place, unsigned level, uint64_t number)
{
	return page->number == number && page->level == level && page->run_id == place->run_id &&
	       page->generation == place->generation;
}

struct iforest_filtered_page *iforest_filtered_nodes_find(struct iforest_filtered_nodes *filtered_nodes,
							  const struct iforest_place *place, unsigned level, uint64_t number)
{
	struct iforest_filtered_page *page = filtered_nodes->last;

	if (page && is_of(page, place, level, number))
		return page;
	page = filtered_nodes->n_buckets > 0 ? *bucket_of(filtered_nodes, place->run_id, level, number) : NULL;
	while (page && !is_of(page, place, level, number))
		page = page->next;
	if (page && !filtered_nodes->is_fixed)
		filtered_nodes->last = page;
	return page;
}

enum { LEAST_BUCKETS = 64 };

/* Doubles the number of buckets. */
static bool grow(struct iforest_filtered_nodes *filtered_nodes)
{
	size_t n_before = filtered_nodes->n_buckets, n_buckets = n_before ? 2 * n_before : LEAST_BUCKETS;
	struct iforest_filtered_page **before = filtered_nodes->buckets,
				     **buckets = iforest_allocate(filtered_nodes->alloc, n_buckets * sizeof(void *));

	if (!buckets)
		return false;
	for (size_t b = 0; b < n_buckets; b++)
		buckets[b] = NULL;
	filtered_nodes->buckets = buckets;
	filtered_nodes->n_buckets = n_buckets;
	for (size_t b = 0; b < n_before; b++)
		while (before[b]) {
			struct iforest_filtered_page *page = before[b], **bucket = bucket_of(filtered_nodes, page->run_id,
											     page->level, page->number);

			before[b] = page->next;
			page->next = *bucket;
			*bucket = page;
		}
	iforest_release(filtered_nodes->alloc, before);
	return true;
}

struct iforest_filtered_page *iforest_filtered_nodes_make(struct iforest_filtered_nodes *filtered_nodes,
							  const struct iforest_place *place, unsigned level, uint64_t number,
							  unsigned n_items, const struct iforest_node_schema *fields)
{
	size_t n_head = sizeof(struct iforest_filtered_page) + (level > 0 ? n_items * sizeof(uint64_t) : 0);
	size_t n_bytes = n_head + n_items * (level > 0 ? fields->node_bytes : sizeof(struct iforest_block_exclusion));
	struct iforest_filtered_page *page, **bucket;

	if (filtered_nodes->n_bytes + n_bytes > filtered_nodes->most_bytes)
		forget(filtered_nodes);
	if (filtered_nodes->n_pages >= filtered_nodes->n_buckets && !grow(filtered_nodes))
		return NULL;
	page = iforest_allocate(filtered_nodes->alloc, n_bytes);
	if (!page)
		return NULL;
	bucket = bucket_of(filtered_nodes, place->run_id, level, number);
	*page = (struct iforest_filtered_page){ .next = *bucket,
						.run_id = place->run_id,
						.generation = place->generation,
						.number = number,
						.level = level,
						.n_items = n_items,
						.n_bytes = n_bytes,
						.version = filtered_nodes->version,
						.n_keys = IFOREST_NOT_KNOWN,
						.blocks =
							level > 0 ? NULL : (struct iforest_block_exclusion *)(void *)(page + 1),
						.nodes = level > 0 ? (uint8_t *)page + n_head : NULL };
	for (unsigned k = 0; k < n_items && level > 0; k++)
		page->n_excluded[k] = IFOREST_NOT_KNOWN;
	*bucket = page;
	filtered_nodes->last = page;
	filtered_nodes->n_pages++;
	filtered_nodes->n_bytes += n_bytes;
	return page;
}

/* ---- Leaf pages ---- */

/* Restores all entries of the pinned leaf page. */
static void put_back(struct iforest_cursor *cursor)
{
	if (!cursor->n_users)
		return;
	cursor->leaf.excluded = NULL;
	cursor->leaf.header.n_dead = (uint16_t)(cursor->leaf.header.n_dead - cursor->n_excluded);
	cursor->reader_is_open = false;
	--*cursor->n_users;
	cursor->n_users = NULL;
}

/* Hides the excluded entries of the pinned leaf page. A fixed cache evicts no pages, so no pin is needed. */
static void exclude(struct iforest_cursor *cursor, struct iforest_filtered_page *filtered_page, bool is_fixed)
{
	if (cursor->leaf.excluded == filtered_page->blocks)
		return;
	put_back(cursor);
	cursor->leaf.excluded = filtered_page->blocks;
	cursor->leaf.header.n_dead = (uint16_t)(cursor->leaf.header.n_dead + filtered_page->n_entries);
	cursor->reader_is_open = false;
	if (is_fixed)
		return;
	cursor->n_excluded = filtered_page->n_entries;
	cursor->n_users = &filtered_page->n_pins;
	filtered_page->n_pins++;
}

/* Stores the sum of the remaining entries of the reader's block. */
static enum iforest_status sum_up(struct iforest_block_reader *reader, uint64_t left, struct iforest_block_exclusion *excluded)
{
	const struct iforest_node_schema *fields = reader->leaf->fields;
	iforest_int128 sum = 0;
	enum iforest_status status;

	if (fields->n_values == 0 || fields->value_types[0] != IFOREST_INT64)
		return IFOREST_OK;
	status = iforest_block_need(reader, IFOREST_VALUES);
	if (status)
		return status;
	for (uint64_t rest = left; rest; rest &= rest - 1)
		sum += reader->block.values[0][iforest_trailing_zeros(rest)];
	excluded->sum = (int64_t)sum;
	excluded->has_sum =
		reader->columns[IFOREST_VALUES].present == iforest_low_bits(reader->block.n) && excluded->sum == sum;
	return IFOREST_OK;
}

/* Asks the filter about the live entries of the pinned leaf page. */
static enum iforest_status ask_leaf(struct iforest_cursor *cursor, const struct iforest_filter *filter, uint64_t n_keys,
				    struct iforest_filtered_page *filtered_page)
{
	struct iforest_block_reader reader;
	enum iforest_status status = IFOREST_OK;

	put_back(cursor);
	filtered_page->n_entries = 0;
	filtered_page->n_keys = IFOREST_NOT_KNOWN;
	for (unsigned b = 0; b < filtered_page->n_items && !status; b++) {
		uint64_t live, counting;

		iforest_block_start(&reader, &cursor->leaf, b);
		live = counting = iforest_low_bits(reader.block.n) & ~reader.block.dead;
		if (live)
			status = iforest_cursor_report_leaf(cursor, filter->of_entries(filter->context, &reader, &counting));
		filtered_page->blocks[b] = (struct iforest_block_exclusion){ .entries = live & ~counting };
		filtered_page->n_entries = (uint16_t)(filtered_page->n_entries + iforest_popcount(live & ~counting));
		if (!status && counting != live)
			status =
				iforest_cursor_report_leaf(cursor, sum_up(&reader, live & counting, &filtered_page->blocks[b]));
	}
	if (!status)
		filtered_page->n_keys = n_keys;
	return status;
}

/* Pins a leaf page without its excluded entries, given the number of excluded keys in its range. */
static enum iforest_status pin_leaf(struct iforest_cursor *cursor, uint64_t number, const struct iforest_filter *filter,
				    uint64_t n_keys, bool *known)
{
	struct iforest_filtered_nodes *filtered_nodes = filter->filtered_nodes;
	const struct iforest_place *place = &cursor->run->place;
	struct iforest_filtered_page *filtered_page;
	enum iforest_status status = iforest_cursor_pin(cursor, 0, number);

	*known = false;
	if (status)
		return status;
	filtered_page = iforest_filtered_nodes_find(filtered_nodes, place, 0, number);
	if (!filtered_page && !filtered_nodes->is_fixed)
		filtered_page = iforest_filtered_nodes_make(filtered_nodes, place, 0, number, cursor->leaf.header.n_items,
							    &cursor->manifest->fields);
	if (!filtered_page)
		return IFOREST_OK;
	if (filtered_page->n_items != cursor->leaf.header.n_items)
		return iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "the page has changed", 0, number);
	if (filtered_page->n_keys != n_keys && !filtered_nodes->is_fixed)
		status = ask_leaf(cursor, filter, n_keys, filtered_page);
	*known = !status && filtered_page->n_keys == n_keys;
	if (*known)
		exclude(cursor, filtered_page, filtered_nodes->is_fixed);
	return status;
}

/* ---- Nodes ---- */

/* Combines the filtered nodes of the page under node i of a level. */
static enum iforest_status combine_page(struct iforest_cursor *cursor, unsigned level, uint64_t i,
					const struct iforest_filter *filter, struct iforest_aggregate *aggregate, bool *known)
{
	static const struct iforest_node_parts all = { .values = UINT32_MAX, .accumulators = UINT32_MAX, .node_fields = true };
	const struct iforest_node_schema *fields = &cursor->manifest->fields;
	enum iforest_status status = iforest_cursor_pin(cursor, level - 1, i);

	*known = true;
	iforest_aggregate_clear(aggregate, fields->n_values, &fields->accumulators);
	for (unsigned k = 0; !status && *known && k < cursor->path[level - 1].header.n_items; k++) {
		const uint8_t *node = iforest_cursor_sibling(cursor, level - 1, k);

		status = iforest_filtered_node(cursor, level - 1, i * cursor->manifest->fanout + k, filter, &node);
		*known = !status && node;
		if (*known)
			iforest_node_fold(node, fields, &all, aggregate);
	}
	return status;
}

/* Computes a filtered node, in place of the given bytes. *known becomes false if the cache has no room for what is needed. */
static enum iforest_status compute(struct iforest_cursor *cursor, unsigned level, uint64_t i,
				   const struct iforest_filter *filter, uint64_t n_keys, uint8_t *bytes, bool *known)
{
	struct iforest_node left;
	struct iforest_key first = iforest_node_first(bytes), last = iforest_node_last(bytes);
	enum iforest_status status;

	if (level > 1) {
		status = combine_page(cursor, level, i, filter, &left.aggregate, known);
	} else {
		status = pin_leaf(cursor, i, filter, n_keys, known);
		if (!status && *known)
			status = iforest_cursor_report_leaf(cursor, iforest_leaf_node(&cursor->leaf, &left));
	}
	left.first = first;
	left.last = last;
	if (!status && *known)
		iforest_node_write(&left, &cursor->manifest->fields, bytes);
	return status;
}

/* Invalidates nodes of a page that have more excluded keys now. */
static void bring_up_to_date(struct iforest_filtered_page *filtered_page, const struct iforest_filter *filter,
			     const struct iforest_node_schema *fields)
{
	for (unsigned k = 0; k < filtered_page->n_items; k++)
		if (filtered_page->n_excluded[k] != IFOREST_NOT_KNOWN &&
		    filtered_page->n_excluded[k] !=
			    filter->n_excluded(filter->context, filtered_page->nodes + (size_t)k * fields->node_bytes))
			filtered_page->n_excluded[k] = IFOREST_NOT_KNOWN;
	filtered_page->version = filter->filtered_nodes->version;
}

/* Returns the up-to-date cache entry of the node page pinned on a level, created if needed; NULL if there can be none. */
static struct iforest_filtered_page *filtered_page_of(struct iforest_cursor *cursor, unsigned level,
						      const struct iforest_filter *filter)
{
	struct iforest_filtered_nodes *filtered_nodes = filter->filtered_nodes;
	const struct iforest_pinned_page *pinned = &cursor->path[level];
	const struct iforest_node_schema *fields = &cursor->manifest->fields;
	struct iforest_filtered_page *found =
		iforest_filtered_nodes_find(filtered_nodes, &cursor->run->place, level, pinned->number);

	if (found && found->n_items != pinned->header.n_items)
		return NULL; /* on forged pages */
	if (filtered_nodes->is_fixed)
		return found && found->version == filtered_nodes->version ? found : NULL;
	if (found && found->version != filtered_nodes->version)
		bring_up_to_date(found, filter, fields);
	return found ? found
		     : iforest_filtered_nodes_make(filtered_nodes, &cursor->run->place, level, pinned->number,
						   pinned->header.n_items, fields);
}

/* Finds or computes a filtered node. *n_keys becomes the number of excluded keys in its range. */
static enum iforest_status find_filtered_page(struct iforest_cursor *cursor, unsigned level, uint64_t i,
					      const struct iforest_filter *filter, const uint8_t **node, uint64_t *n_keys)
{
	const struct iforest_node_schema *fields = &cursor->manifest->fields;
	unsigned k = (unsigned)(i % cursor->manifest->fanout);
	struct iforest_filtered_page *filtered_page =
		level <= cursor->run->n_levels ? filtered_page_of(cursor, level, filter) : NULL;
	const uint8_t *whole = *node;
	uint8_t bytes[IFOREST_MAX_NODE_BYTES];
	bool known = true;
	enum iforest_status status = IFOREST_OK;

	*n_keys = filtered_page ? filtered_page->n_excluded[k] : IFOREST_NOT_KNOWN;
	*node = *n_keys != IFOREST_NOT_KNOWN ? filtered_page->nodes + (size_t)k * fields->node_bytes : NULL;
	if (*node || !filtered_page || filter->filtered_nodes->is_fixed)
		return IFOREST_OK;
	*n_keys = filter->n_excluded(filter->context, whole);
	memcpy(bytes, whole, fields->node_bytes);
	if (*n_keys > 0)
		status = compute(cursor, level, i, filter, *n_keys, bytes, &known);
	/* the recursion may have evicted the page's entry */
	filtered_page = !status && known ? filtered_page_of(cursor, level, filter) : NULL;
	if (filtered_page) {
		uint8_t *kept = filtered_page->nodes + (size_t)k * fields->node_bytes;

		memcpy(kept, bytes, fields->node_bytes);
		filtered_page->n_excluded[k] = *n_keys;
		*node = kept;
	}
	return status;
}

enum iforest_status iforest_filtered_node(struct iforest_cursor *cursor, unsigned level, uint64_t i,
					  const struct iforest_filter *filter, const uint8_t **node)
{
	uint64_t n_keys;

	return find_filtered_page(cursor, level, i, filter, node, &n_keys);
}

const uint8_t *iforest_filtered_node_if_known(struct iforest_cursor *cursor, unsigned level, unsigned k,
					      const struct iforest_filter *filter)
{
	struct iforest_filtered_page *filtered_page = filtered_page_of(cursor, level, filter);

	if (!filtered_page || filtered_page->n_excluded[k] == IFOREST_NOT_KNOWN)
		return NULL;
	return filtered_page->nodes + (size_t)k * cursor->manifest->fields.node_bytes;
}

enum iforest_status iforest_filtered_leaf(struct iforest_cursor *cursor, uint64_t number, const struct iforest_filter *filter,
					  const uint8_t **node, bool *known)
{
	const uint8_t *whole = *node;
	uint64_t n_keys;
	enum iforest_status status = find_filtered_page(cursor, 1, number, filter, node, &n_keys);

	*known = *node != NULL;
	if (!*node)
		*node = whole;
	if (!status && *known && n_keys > 0)
		status = pin_leaf(cursor, number, filter, n_keys, known);
	return status;
}
