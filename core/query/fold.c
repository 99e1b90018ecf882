#include "core/query/fold.h"

void iforest_cursor_expect(struct iforest_cursor *cursor, const struct iforest_key *key)
{
	const struct iforest_pager *pager = cursor->store->pager;
	const struct iforest_held_page *nodes = &cursor->path[1], *leaf = &cursor->path[0];
	uint64_t first = nodes->number * cursor->manifest->fanout;
	unsigned at, next;

	if (iforest_cursor_leaf_has(cursor, key, key))
		return;
	/* where the page of the last position was not opened, that of the next one may not be either */
	if (!pager->expect || !nodes->is_held || !leaf->is_held || leaf->number < first ||
	    leaf->number - first >= nodes->header.n_items)
		return;
	at = (unsigned)(leaf->number - first);
	next = iforest_cursor_last_node(cursor, 1, at, key, true);
	if (next != at)
		pager->expect(pager->context, &cursor->run->place, iforest_cursor_page_index(cursor, 0, first + next), true);
}

/* Begins to fetch what will be needed of a leaf page that is in memory: the block in which the key belongs, and the summaries
 * of the shorter side of it. */
static void expect_block(const struct iforest_cursor *cursor, uint64_t number, const struct iforest_key *key)
{
	const struct iforest_pager *pager = cursor->store->pager;
	const struct iforest_run *run = cursor->run;
	struct iforest_leaf leaf;
	const char *what;
	uint32_t n_bytes;
	const uint8_t *bytes =
		pager->glance(pager->context, &run->place, iforest_cursor_page_index(cursor, 0, number), &n_bytes);
	unsigned block, n_blocks;

	if (!bytes || iforest_leaf_open(&leaf, &cursor->manifest->fields, bytes, n_bytes, run->place.run_id, (uint32_t)number,
					true, &what))
		return;
	n_blocks = leaf.header.n_items;
	block = iforest_leaf_find_block(&leaf, key);
	iforest_leaf_expect_block(&leaf, block);
	if (block < n_blocks / 2)
		iforest_leaf_expect(&leaf, 0, block);
	else
		iforest_leaf_expect(&leaf, block + 1, n_blocks);
}

/* The leaf page of the next row of nodes, from `last` on, in which the key belongs. UINT64_MAX: the row is not in memory. */
static uint64_t locate_in_next_row(const struct iforest_cursor *cursor, const struct iforest_key *key, uint64_t last)
{
	const struct iforest_pager *pager = cursor->store->pager;
	const struct iforest_fields *fields = &cursor->manifest->fields;
	uint64_t number = cursor->path[1].number + 1, first = number * cursor->manifest->fanout;
	struct iforest_page_header header;
	const char *what;
	uint32_t n_bytes;
	const uint8_t *page;
	unsigned k;

	if (last >= first + cursor->manifest->fanout || first >= cursor->run->n_leaves)
		return UINT64_MAX;
	page = pager->glance(pager->context, &cursor->run->place, iforest_cursor_page_index(cursor, 1, number), &n_bytes);
	if (!page || iforest_node_page_check(page, n_bytes, fields, cursor->run->place.run_id, 1, (uint32_t)number, true,
					     &header, &what))
		return UINT64_MAX;
	for (k = last > first ? (unsigned)(last - first) : 0; k < header.n_items; k++) {
		struct iforest_key begin = iforest_node_first(iforest_node_at(page, fields, k));

		if (iforest_key_compare(&begin, key) >= 0)
			break;
	}
	return first + k - 1;
}

/* The leaf page in which a key belongs, from `last` on, which was the one of the key before; as a rule `step` further. */
static uint64_t locate(const struct iforest_cursor *cursor, const struct iforest_key *key, uint64_t last, uint64_t step)
{
	const struct iforest_held_page *nodes = &cursor->path[1];
	uint64_t first = nodes->number * cursor->manifest->fanout;
	unsigned n = nodes->header.n_items, k;

	if (last < first)
		return UINT64_MAX;
	if (last - first < n) {
		k = (unsigned)(last - first);
		k = iforest_cursor_last_node_near(cursor, 1, k, k + (unsigned)step, key, true);
		if (k + 1 < n)
			return first + k;
	}
	return locate_in_next_row(cursor, key, last);
}

void iforest_cursor_expect_cut(struct iforest_cursor *cursor, const struct iforest_key *key)
{
	const struct iforest_pager *pager = cursor->store->pager;
	const struct iforest_held_page *nodes = &cursor->path[1];
	uint64_t before, last, number;

	if (!pager->glance || !nodes->is_held)
		return;
	if (cursor->expected_row != nodes->number + 1 && nodes->number + 1 < cursor->run->n_leaves / cursor->manifest->fanout) {
		cursor->expected_row = nodes->number + 1;
		pager->expect(pager->context, &cursor->run->place, iforest_cursor_page_index(cursor, 1, nodes->number + 1),
			      false);
	}
	cursor->expected[0] = cursor->expected[1];
	cursor->expected[1] = cursor->expected[2];
	before = cursor->expected[0].leaf_number;
	last = cursor->expected[1].leaf_number;
	if (last != UINT64_MAX && last != cursor->leaf_number)
		expect_block(cursor, last, &cursor->expected[1].key);
	if (last == UINT64_MAX)
		last = cursor->leaf_number;
	number = locate(cursor, key, last, before < last ? last - before : 0);
	cursor->expected[2].key = *key;
	cursor->expected[2].leaf_number = number;
	if (number != UINT64_MAX && number != last)
		pager->expect(pager->context, &cursor->run->place, iforest_cursor_page_index(cursor, 0, number), false);
}
