#include "core/query/filtered_nodes.h"

#include <string.h>

#include "core/base/bits.h"

void iforest_filtered_nodes_init(struct iforest_filtered_nodes *remainders, const struct iforest_alloc *alloc)
{
	*remainders = (struct iforest_filtered_nodes){ .alloc = alloc, .most_bytes = IFOREST_FILTERED_NODES_BYTES };
}

static void forget(struct iforest_filtered_nodes *remainders)
{
	for (size_t b = 0; b < remainders->n_buckets; b++) {
		struct iforest_filtered_page **link = &remainders->buckets[b];

		while (*link) {
			struct iforest_filtered_page *page = *link;

			if (page->n_holds > 0) {
				link = &page->next;
				continue;
			}
			*link = page->next;
			remainders->n_pages--;
			remainders->n_bytes -= page->n_bytes;
			iforest_release(remainders->alloc, page);
		}
	}
	remainders->last = NULL;
}

void iforest_filtered_nodes_release(struct iforest_filtered_nodes *remainders)
{
	forget(remainders);
	iforest_release(remainders->alloc, remainders->buckets);
	remainders->buckets = NULL;
	remainders->n_buckets = 0;
}

static struct iforest_filtered_page **bucket_of(const struct iforest_filtered_nodes *remainders, uint64_t run_id, unsigned level,
						 uint64_t number)
{
	/* run ids are random already */
	return &remainders->buckets[(run_id + number + level * UINT64_C(0x9e3779b1)) & (remainders->n_buckets - 1)];
}

static bool is_of(const struct iforest_filtered_page *page, const struct iforest_place *place, unsigned level, uint64_t number)
{
	return page->number == number && page->level == level && page->run_id == place->run_id &&
	       page->generation == place->generation;
}

struct iforest_filtered_page *iforest_filtered_nodes_find(struct iforest_filtered_nodes *remainders, const struct iforest_place *place,
						       unsigned level, uint64_t number)
{
	struct iforest_filtered_page *page = remainders->last;

	if (page && is_of(page, place, level, number))
		return page;
	page = remainders->n_buckets > 0 ? *bucket_of(remainders, place->run_id, level, number) : NULL;
	while (page && !is_of(page, place, level, number))
		page = page->next;
	if (page && !remainders->is_fixed)
		remainders->last = page;
	return page;
}

enum { LEAST_BUCKETS = 64 };

/* Twice as many buckets as before, and all pages in them. */
static bool grow(struct iforest_filtered_nodes *remainders)
{
	size_t n_before = remainders->n_buckets, n_buckets = n_before ? 2 * n_before : LEAST_BUCKETS;
	struct iforest_filtered_page **before = remainders->buckets,
				      **buckets = iforest_allocate(remainders->alloc, n_buckets * sizeof(void *));

	if (!buckets)
		return false;
	for (size_t b = 0; b < n_buckets; b++)
		buckets[b] = NULL;
	remainders->buckets = buckets;
	remainders->n_buckets = n_buckets;
	for (size_t b = 0; b < n_before; b++)
		while (before[b]) {
			struct iforest_filtered_page *page = before[b],
						      **bucket = bucket_of(remainders, page->run_id, page->level, page->number);

			before[b] = page->next;
			page->next = *bucket;
			*bucket = page;
		}
	iforest_release(remainders->alloc, before);
	return true;
}

struct iforest_filtered_page *iforest_filtered_nodes_make(struct iforest_filtered_nodes *remainders, const struct iforest_place *place,
						  unsigned level, uint64_t number, unsigned n_items,
						  const struct iforest_node_schema *fields)
{
	size_t n_head = sizeof(struct iforest_filtered_page) + (level > 0 ? n_items * sizeof(uint64_t) : 0);
	size_t n_bytes = n_head + n_items * (level > 0 ? fields->node_bytes : sizeof(struct iforest_block_gone));
	struct iforest_filtered_page *page, **bucket;

	if (remainders->n_bytes + n_bytes > remainders->most_bytes)
		forget(remainders);
	if (remainders->n_pages >= remainders->n_buckets && !grow(remainders))
		return NULL;
	page = iforest_allocate(remainders->alloc, n_bytes);
	if (!page)
		return NULL;
	bucket = bucket_of(remainders, place->run_id, level, number);
	*page = (struct iforest_filtered_page){ .next = *bucket, .run_id = place->run_id, .generation = place->generation,
					    .number = number, .level = level, .n_items = n_items, .n_bytes = n_bytes,
					    .version = remainders->version, .n_keys = IFOREST_NOT_KNOWN,
					    .blocks = level > 0 ? NULL : (struct iforest_block_gone *)(void *)(page + 1),
					    .nodes = level > 0 ? (uint8_t *)page + n_head : NULL };
	for (unsigned k = 0; k < n_items && level > 0; k++)
		page->n_gone[k] = IFOREST_NOT_KNOWN;
	*bucket = page;
	remainders->last = page;
	remainders->n_pages++;
	remainders->n_bytes += n_bytes;
	return page;
}

/* ---- Filtered nodes and leaf pages at a cursor ---- */

/* ---- of leaf pages ---- */

/* All entries of the leaf page that is held are there again. */
static void put_back(struct iforest_cursor *cursor)
{
	if (!cursor->n_users)
		return;
	cursor->leaf.gone = NULL;
	cursor->leaf.header.n_dead = (uint16_t)(cursor->leaf.header.n_dead - cursor->n_gone);
	cursor->reader_is_open = false;
	--*cursor->n_users;
	cursor->n_users = NULL;
}

/* Takes out of the leaf page that is held what does not count. Several threads that do so hold nothing: all stays. */
static void take_out(struct iforest_cursor *cursor, struct iforest_filtered_page *remainder, bool is_fixed)
{
	if (cursor->leaf.gone == remainder->blocks)
		return;
	put_back(cursor);
	cursor->leaf.gone = remainder->blocks;
	cursor->leaf.header.n_dead = (uint16_t)(cursor->leaf.header.n_dead + remainder->n_entries);
	cursor->reader_is_open = false;
	if (is_fixed)
		return;
	cursor->n_gone = remainder->n_entries;
	cursor->n_users = &remainder->n_holds;
	remainder->n_holds++;
}

/* Notes the sum of what is left of the reader's block. */
static enum iforest_status sum_up(struct iforest_block_reader *reader, uint64_t left, struct iforest_block_gone *gone)
{
	const struct iforest_node_schema *fields = reader->leaf->fields;
	iforest_int128 sum = 0;
	enum iforest_status status;

	if (fields->n_values == 0 || fields->kinds[0] != IFOREST_INT64)
		return IFOREST_OK;
	status = iforest_block_need(reader, IFOREST_VALUES);
	if (status)
		return status;
	for (uint64_t rest = left; rest; rest &= rest - 1)
		sum += reader->block.values[0][iforest_trailing_zeros(rest)];
	gone->sum = (int64_t)sum;
	gone->has_sum = reader->columns[IFOREST_VALUES].present == iforest_low_bits(reader->block.n) && gone->sum == sum;
	return IFOREST_OK;
}

/* Asks about the live entries of the leaf page that is held. */
static enum iforest_status ask_leaf(struct iforest_cursor *cursor, const struct iforest_filter *filter, uint64_t n_keys,
				    struct iforest_filtered_page *remainder)
{
	struct iforest_block_reader reader;
	enum iforest_status status = IFOREST_OK;

	put_back(cursor);
	remainder->n_entries = 0;
	remainder->n_keys = IFOREST_NOT_KNOWN;
	for (unsigned b = 0; b < remainder->n_items && !status; b++) {
		uint64_t live, counting;

		iforest_block_start(&reader, &cursor->leaf, b);
		live = counting = iforest_low_bits(reader.block.n) & ~reader.block.dead;
		if (live)
			status = iforest_cursor_report_leaf(cursor, filter->of_entries(filter->context, &reader, &counting));
		remainder->blocks[b] = (struct iforest_block_gone){ .entries = live & ~counting };
		remainder->n_entries = (uint16_t)(remainder->n_entries + iforest_popcount(live & ~counting));
		if (!status && counting != live)
			status = iforest_cursor_report_leaf(cursor, sum_up(&reader, live & counting, &remainder->blocks[b]));
	}
	if (!status)
		remainder->n_keys = n_keys;
	return status;
}

/* Holds a leaf page without what does not count of it, which n_keys keys do not. */
static enum iforest_status hold_leaf(struct iforest_cursor *cursor, uint64_t number, const struct iforest_filter *filter,
				     uint64_t n_keys, bool *known)
{
	struct iforest_filtered_nodes *remainders = filter->remainders;
	const struct iforest_place *place = &cursor->run->place;
	struct iforest_filtered_page *remainder;
	enum iforest_status status = IFOREST_OK;

	*known = false;
	if (number >= cursor->run->n_leaves)
		return iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "the page has too many nodes", 1,
					    number / cursor->manifest->fanout);
	status = iforest_cursor_pin(cursor, 0, number);
	if (status)
		return status;
	remainder = iforest_filtered_nodes_find(remainders, place, 0, number);
	if (!remainder && !remainders->is_fixed)
		remainder = iforest_filtered_nodes_make(remainders, place, 0, number, cursor->leaf.header.n_items,
						    &cursor->manifest->fields);
	if (!remainder)
		return IFOREST_OK;
	if (remainder->n_items != cursor->leaf.header.n_items)
		return iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "the page has changed", 0, number);
	if (remainder->n_keys != n_keys && !remainders->is_fixed)
		status = ask_leaf(cursor, filter, n_keys, remainder);
	*known = !status && remainder->n_keys == n_keys;
	if (*known)
		take_out(cursor, remainder, remainders->is_fixed);
	return status;
}

/* ---- of nodes ---- */

/* What is left of the page of nodes under node i of a level. */
static enum iforest_status combine_page(struct iforest_cursor *cursor, unsigned level, uint64_t i,
					const struct iforest_filter *filter, struct iforest_aggregate *aggregate, bool *known)
{
	static const struct iforest_node_parts all = { .values = UINT32_MAX, .squares = UINT32_MAX, .node_fields = true };
	const struct iforest_node_schema *fields = &cursor->manifest->fields;
	enum iforest_status status = iforest_cursor_pin(cursor, level - 1, i);

	*known = true;
	iforest_aggregate_clear(aggregate, fields->n_values);
	for (unsigned k = 0; !status && *known && k < cursor->path[level - 1].header.n_items; k++) {
		const uint8_t *node = iforest_node_at(cursor->path[level - 1].page.bytes, fields, k);

		status = iforest_filtered_node(cursor, level - 1, i * cursor->manifest->fanout + k, filter, &node);
		*known = !status && node;
		if (*known)
			iforest_node_fold(node, fields, &all, aggregate);
	}
	return status;
}

/* Computes what is left of a node of which some keys do not count. *known: all that it takes could be had. */
static enum iforest_status compute(struct iforest_cursor *cursor, unsigned level, uint64_t i,
				   const struct iforest_filter *filter, uint64_t n_keys, uint8_t *bytes, bool *known)
{
	struct iforest_node left;
	struct iforest_key first = iforest_node_first(bytes), last = iforest_node_last(bytes);
	enum iforest_status status;

	if (level > 1) {
		status = combine_page(cursor, level, i, filter, &left.aggregate, known);
	} else {
		status = hold_leaf(cursor, i, filter, n_keys, known);
		if (!status && *known)
			status = iforest_cursor_report_leaf(cursor, iforest_leaf_node(&cursor->leaf, &left));
	}
	left.first = first;
	left.last = last;
	if (!status && *known)
		iforest_node_write(&left, &cursor->manifest->fields, bytes);
	return status;
}

/* What is known is true as long as the filter takes out no more of it. */
static void bring_up_to_date(struct iforest_filtered_page *remainder, const struct iforest_filter *filter,
			     const struct iforest_node_schema *fields)
{
	for (unsigned k = 0; k < remainder->n_items; k++)
		if (remainder->n_gone[k] != IFOREST_NOT_KNOWN &&
		    remainder->n_gone[k] != filter->n_gone(filter->context, remainder->nodes + (size_t)k * fields->node_bytes))
			remainder->n_gone[k] = IFOREST_NOT_KNOWN;
	remainder->version = filter->remainders->version;
}

/* That of the node page of the level that is held; NULL where there is none. */
static struct iforest_filtered_page *remainder_of(struct iforest_cursor *cursor, unsigned level,
					      const struct iforest_filter *filter)
{
	struct iforest_filtered_nodes *remainders = filter->remainders;
	const struct iforest_pinned_page *held = &cursor->path[level];
	const struct iforest_node_schema *fields = &cursor->manifest->fields;
	struct iforest_filtered_page *found = iforest_filtered_nodes_find(remainders, &cursor->run->place, level, held->number);

	if (found && found->n_items != held->header.n_items)
		return NULL; /* on forged pages */
	if (remainders->is_fixed)
		return found && found->version == remainders->version ? found : NULL;
	if (found && found->version != remainders->version)
		bring_up_to_date(found, filter, fields);
	return found ? found : iforest_filtered_nodes_make(remainders, &cursor->run->place, level, held->number,
						       held->header.n_items, fields);
}

/* *n_keys: of them that do not count. */
static enum iforest_status find_remainder(struct iforest_cursor *cursor, unsigned level, uint64_t i,
					  const struct iforest_filter *filter, const uint8_t **node, uint64_t *n_keys)
{
	const struct iforest_node_schema *fields = &cursor->manifest->fields;
	unsigned k = (unsigned)(i % cursor->manifest->fanout);
	struct iforest_filtered_page *remainder = level <= cursor->run->n_levels ? remainder_of(cursor, level, filter) : NULL;
	const uint8_t *whole = *node;
	uint8_t bytes[IFOREST_MAX_NODE_BYTES];
	bool known = true;
	enum iforest_status status = IFOREST_OK;

	*n_keys = remainder ? remainder->n_gone[k] : IFOREST_NOT_KNOWN;
	*node = *n_keys != IFOREST_NOT_KNOWN ? remainder->nodes + (size_t)k * fields->node_bytes : NULL;
	if (*node || !remainder || filter->remainders->is_fixed)
		return IFOREST_OK;
	*n_keys = filter->n_gone(filter->context, whole);
	memcpy(bytes, whole, fields->node_bytes);
	if (*n_keys > 0)
		status = compute(cursor, level, i, filter, *n_keys, bytes, &known);
	/* others may have been made for what is below, and this one forgotten */
	remainder = !status && known ? remainder_of(cursor, level, filter) : NULL;
	if (remainder) {
		uint8_t *kept = remainder->nodes + (size_t)k * fields->node_bytes;

		memcpy(kept, bytes, fields->node_bytes);
		remainder->n_gone[k] = *n_keys;
		*node = kept;
	}
	return status;
}

enum iforest_status iforest_filtered_node(struct iforest_cursor *cursor, unsigned level, uint64_t i,
					     const struct iforest_filter *filter, const uint8_t **node)
{
	uint64_t n_keys;

	return find_remainder(cursor, level, i, filter, node, &n_keys);
}

const uint8_t *iforest_filtered_node_if_known(struct iforest_cursor *cursor, unsigned level, unsigned k,
					      const struct iforest_filter *filter)
{
	struct iforest_filtered_page *remainder = remainder_of(cursor, level, filter);

	if (!remainder || remainder->n_gone[k] == IFOREST_NOT_KNOWN)
		return NULL;
	return remainder->nodes + (size_t)k * cursor->manifest->fields.node_bytes;
}

enum iforest_status iforest_filtered_leaf(struct iforest_cursor *cursor, uint64_t number,
						  const struct iforest_filter *filter, const uint8_t **node, bool *known)
{
	const uint8_t *whole = *node;
	uint64_t n_keys;
	enum iforest_status status = find_remainder(cursor, 1, number, filter, node, &n_keys);

	*known = *node != NULL;
	if (!*node)
		*node = whole;
	if (!status && *known && n_keys > 0)
		status = hold_leaf(cursor, number, filter, n_keys, known);
	return status;
}
