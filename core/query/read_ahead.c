#include "core/query/read_ahead.h"

/* Requests the pages of a level, given in ascending order; each once. */
static void ask_for(const struct iforest_cursor *cursor, unsigned level, const uint64_t *numbers, unsigned n)
{
	const struct iforest_pager *pager = cursor->store->pager;
	uint64_t indexes[IFOREST_MOST_CUTS_AHEAD];
	unsigned n_indexes = 0;

	for (unsigned k = 0; k < n; k++)
		if (k == 0 || numbers[k] != numbers[k - 1])
			indexes[n_indexes++] = iforest_cursor_page_index(cursor, level, numbers[k]);
	if (n_indexes > 0)
		pager->read_ahead(pager->context, &cursor->run->place, indexes, n_indexes);
}

/* Replaces the page of each key by the one below it. Returns for how many keys: all, unless a page is wrong. */
static unsigned descend(struct iforest_cursor *cursor, unsigned level, const struct iforest_key *keys, uint64_t *numbers,
			unsigned n)
{
	unsigned low = 0, k;

	for (k = 0; k < n; k++) {
		if (!cursor->path[level].is_pinned || cursor->path[level].number != numbers[k])
			low = 0;
		if (iforest_cursor_pin(cursor, level, numbers[k]))
			break;
		low = iforest_cursor_last_node(cursor, level, low, &keys[k], false);
		numbers[k] = numbers[k] * cursor->manifest->fanout + low;
	}
	return k;
}

void iforest_read_ahead(struct iforest_store *store, const struct iforest_manifest *manifest, const struct iforest_run *run,
			const struct iforest_key *keys, unsigned n)
{
	struct iforest_key first = iforest_node_first(run->root), last = iforest_node_last(run->root);
	struct iforest_fault fault = store->fault;
	struct iforest_cursor cursor;
	uint64_t numbers[IFOREST_MOST_CUTS_AHEAD] = { 0 };

	for (; n > 0 && iforest_key_compare(&keys[0], &first) <= 0; n--)
		keys++;
	while (n > 0 && iforest_key_compare(&keys[n - 1], &last) > 0)
		n--;
	iforest_cursor_init(&cursor, store, manifest, run);
	for (unsigned level = run->n_levels; level > 0; level--) {
		ask_for(&cursor, level, numbers, n);
		n = descend(&cursor, level, keys, numbers, n);
	}
	ask_for(&cursor, 0, numbers, n);
	iforest_cursor_release(&cursor);
	store->fault = fault;
}
