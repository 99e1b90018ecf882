#include "core/query/prefetch.h"

void iforest_fold_prefetch(struct iforest_fold *fold, const struct iforest_key *key)
{
	const struct iforest_pager *pager = fold->cursor.store->pager;
	const struct iforest_pinned_page *nodes = &fold->cursor.path[1], *leaf = &fold->cursor.path[0];
	uint64_t first = nodes->number * fold->cursor.manifest->fanout;
	unsigned at, next;

	if (iforest_cursor_leaf_has(&fold->cursor, key, key))
		return;
	/* if the page of the last position was not opened, the next may not be, either */
	if (!pager->prefetch || !nodes->is_pinned || !leaf->is_pinned || leaf->number < first ||
	    leaf->number - first >= nodes->header.n_items)
		return;
	at = (unsigned)(leaf->number - first);
	next = iforest_cursor_last_node(&fold->cursor, 1, at, key, true);
	if (next != at)
		iforest_cursor_prefetch(&fold->cursor, 0, first + next, true);
}

/* Prefetches the parts of a leaf page in memory that a cut needs: the key's block, and the summaries of the shorter side. */
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

/* Returns the leaf page in which a key belongs, at or after `last`, the page of the previous key; usually last + step. */
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
		iforest_cursor_prefetch(&fold->cursor, 1, nodes->number + 1, false);
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
		iforest_cursor_prefetch(&fold->cursor, 0, number, false);
}
