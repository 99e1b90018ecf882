#include "core/run/remove.h"

#include <string.h>

#include "core/base/array.h"
#include "core/base/bits.h"
#include "core/page/leaf_fold.h"
#include "core/run/cursor.h"

/* A change of a run's leaf pages, and of the nodes above them. */
struct renewal {
	struct iforest_store *store;
	struct iforest_manifest *manifest;
	/* a copy, because the manifest's moves with every commit; never marked, because its nodes match its pages */
	struct iforest_run run;
	bool is_marked;		      /* the run in the manifest is marked */
	struct iforest_cursor cursor; /* on the copy */
	uint32_t *changed;	      /* numbers of the changed leaf pages, ascending; later those of the level above */
	size_t n_changed, n_reserved;
	bool are_all;	      /* all pages of the level changed; `changed` is not used */
	uint32_t n_batch;     /* pages of the batch not written yet */
	uint8_t *batch_bytes; /* max_batch_pages of page_bytes */
	struct iforest_page_write *batch;
};

/* ---- Writing ---- */

static enum iforest_status commit(struct renewal *renewal, bool removal_in_progress)
{
	struct iforest_run named = renewal->run;
	struct iforest_edit edit = { .changed = &named };

	renewal->is_marked = named.removal_in_progress = removal_in_progress;
	return iforest_manifest_commit(renewal->manifest, renewal->store, &edit);
}

/* Marks the run in the manifest, unless it is marked, and writes the batch. */
static enum iforest_status flush(struct renewal *renewal)
{
	const struct iforest_pager *pager = renewal->store->pager;
	uint32_t n_pages = renewal->n_batch;
	enum iforest_status status = IFOREST_OK;

	renewal->n_batch = 0;
	if (n_pages > 0 && !renewal->is_marked)
		status = commit(renewal, true);
	if (n_pages > 0 && !status)
		status = pager->write(pager->context, &renewal->run.place, renewal->batch, n_pages);
	return status;
}

/* Gives a writable copy of the page pinned on a level, to be written with the batch. */
static enum iforest_status copy_page(struct renewal *renewal, unsigned level, uint32_t length, uint8_t **page)
{
	const struct iforest_pinned_page *pinned = &renewal->cursor.path[level];
	enum iforest_status status = renewal->n_batch == renewal->store->pager->max_batch_pages ? flush(renewal) : IFOREST_OK;

	if (status)
		return status;
	*page = renewal->batch_bytes + (size_t)renewal->n_batch * renewal->manifest->page_bytes;
	memcpy(*page, pinned->page.bytes, length);
	renewal->batch[renewal->n_batch++] = (struct iforest_page_write){
		.index = iforest_run_page_index(renewal->manifest, &renewal->run, level, pinned->number),
		.bytes = *page,
		.n_bytes = length,
	};
	return IFOREST_OK;
}

/* Gives a writable copy of the pinned leaf page, to be finished before the next call. Once per page, ascending. */
static enum iforest_status renewal_change_leaf(struct renewal *renewal, uint8_t **page)
{
	enum iforest_status status;

	if (!iforest_array_reserve(renewal->store->alloc, &renewal->changed, sizeof *renewal->changed, renewal->n_changed + 1,
				   &renewal->n_reserved))
		return IFOREST_NO_MEMORY;
	status = copy_page(renewal, 0, renewal->cursor.leaf.header.length, page);
	if (!status)
		renewal->changed[renewal->n_changed++] = (uint32_t)renewal->cursor.path[0].number;
	return status;
}

/* ---- Nodes ---- */

/* Computes the node over page `number` of level - 1 from that page. */
static enum iforest_status compute_node(struct iforest_cursor *cursor, unsigned level, uint64_t number,
					struct iforest_node *node)
{
	const struct iforest_node_schema *fields = &cursor->manifest->fields;
	const struct iforest_pinned_page *pinned = &cursor->path[level - 1];
	enum iforest_status status = iforest_cursor_pin(cursor, level - 1, number);

	if (status)
		return status;
	if (level == 1)
		return iforest_cursor_report_leaf(cursor, iforest_leaf_node(&cursor->leaf, node));
	iforest_node_read(node, fields, iforest_node_at(pinned->page.bytes, fields, 0));
	for (unsigned i = 1; i < pinned->header.n_items; i++) {
		struct iforest_node next;

		iforest_node_read(&next, fields, iforest_node_at(pinned->page.bytes, fields, i));
		iforest_node_combine(node, &next, fields);
	}
	return IFOREST_OK;
}

/* Returns the number of the k-th changed page. */
static uint32_t changed_page(const struct renewal *renewal, uint64_t k)
{
	return renewal->are_all ? (uint32_t)k : renewal->changed[k];
}

/* Recomputes the nodes over the changed pages of level - 1. Afterwards the changed pages are those of `level`. */
static enum iforest_status renew_level(struct renewal *renewal, unsigned level)
{
	const struct iforest_node_schema *fields = &renewal->manifest->fields;
	struct iforest_cursor *cursor = &renewal->cursor;
	uint32_t fanout = renewal->manifest->fanout;
	uint64_t n_changed = 0;
	enum iforest_status status = IFOREST_OK;

	for (uint64_t k = 0; k < renewal->n_changed && !status;) {
		uint32_t number = changed_page(renewal, k) / fanout;
		uint8_t *page;
		unsigned n_nodes;

		status = iforest_cursor_pin(cursor, level, number);
		if (status)
			break;
		n_nodes = cursor->path[level].header.n_items;
		status = copy_page(renewal, level, cursor->path[level].header.length, &page);
		for (; !status && k < renewal->n_changed && changed_page(renewal, k) / fanout == number; k++) {
			uint32_t child = changed_page(renewal, k);
			struct iforest_node node;

			if (child % fanout >= n_nodes)
				return iforest_cursor_report_corrupt(cursor, IFOREST_CORRUPT, "the page has too few nodes",
								     level, number);
			status = compute_node(cursor, level, child, &node);
			if (!status)
				iforest_node_write(&node, fields,
						   page + IFOREST_PAGE_HEADER + child % fanout * fields->node_bytes);
		}
		if (!status)
			iforest_node_page_finish(page, fields, renewal->run.place.run_id, level, number, n_nodes);
		if (!renewal->are_all)
			renewal->changed[n_changed] = number;
		n_changed++;
	}
	renewal->n_changed = n_changed;
	return status ? status : flush(renewal);
}

/* Unpins pages read before a write, and draws a new generation, so that the pager's cached pages are not used. */
static void forget_pages(struct renewal *renewal)
{
	iforest_cursor_release(&renewal->cursor);
	renewal->run.place.generation = iforest_random63(renewal->store);
}

/* Writes the batch, recomputes the nodes above the changed leaf pages, and publishes; does nothing if no page changed. */
static enum iforest_status renewal_finish(struct renewal *renewal)
{
	struct iforest_run *run = &renewal->run;
	struct iforest_node root;
	enum iforest_status status = flush(renewal);

	if (renewal->n_changed == 0)
		return status;
	for (unsigned level = 1; level <= run->n_levels && !status; level++) {
		forget_pages(renewal);
		status = renew_level(renewal, level);
	}
	forget_pages(renewal);
	if (!status)
		status = compute_node(&renewal->cursor, run->n_levels + 1, 0, &root);
	if (status)
		return status;
	iforest_node_write(&root, &renewal->manifest->fields, run->root);
	renewal->n_changed = 0;
	renewal->are_all = false;
	return commit(renewal, false);
}

/* ---- Life cycle ---- */

static enum iforest_status repair(struct renewal *renewal)
{
	renewal->are_all = true;
	renewal->n_changed = renewal->run.n_leaves;
	return renewal_finish(renewal);
}

/* Prepares a renewal, without repair. *made is NULL if there is no memory for it, or no such run. */
static enum iforest_status prepare(struct renewal **made, struct iforest_store *store, struct iforest_manifest *manifest,
				   uint64_t run_id)
{
	uint32_t r = iforest_manifest_find(manifest, run_id), n_batch = store->pager->max_batch_pages;
	struct renewal *renewal;

	*made = NULL;
	if (r == manifest->n_runs)
		return IFOREST_NOT_FOUND;
	renewal = iforest_allocate(store->alloc, sizeof *renewal);
	if (!renewal)
		return IFOREST_NO_MEMORY;
	*made = renewal;
	renewal->store = store;
	renewal->manifest = manifest;
	renewal->run = manifest->runs[r];
	renewal->is_marked = renewal->run.removal_in_progress;
	renewal->run.removal_in_progress = false;
	iforest_cursor_init(&renewal->cursor, store, manifest, &renewal->run);
	renewal->changed = NULL;
	renewal->n_changed = renewal->n_reserved = 0;
	renewal->are_all = false;
	renewal->n_batch = 0;
	renewal->batch_bytes = iforest_allocate(store->alloc, (size_t)n_batch * manifest->page_bytes);
	renewal->batch = iforest_allocate(store->alloc, n_batch * sizeof *renewal->batch);
	return renewal->batch_bytes && renewal->batch ? IFOREST_OK : IFOREST_NO_MEMORY;
}

/* Starts a renewal of a run, which is repaired first if marked. The renewal needs renewal_end(), also on error.
 * Errors  IFOREST_NOT_FOUND: there is no such run. */
static enum iforest_status renewal_start(struct renewal **renewal, struct iforest_store *store,
					 struct iforest_manifest *manifest, uint64_t run_id)
{
	enum iforest_status status = prepare(renewal, store, manifest, run_id);

	/* a removal would recompute only the nodes above the pages it touches, and then clear the mark */
	if (!status && (*renewal)->is_marked)
		status = repair(*renewal);
	return status;
}

static void renewal_end(struct renewal *renewal)
{
	const struct iforest_alloc *alloc;

	if (!renewal)
		return;
	alloc = renewal->store->alloc;
	iforest_cursor_release(&renewal->cursor);
	iforest_release(alloc, renewal->changed);
	iforest_release(alloc, renewal->batch_bytes);
	iforest_release(alloc, renewal->batch);
	iforest_release(alloc, renewal);
}

enum iforest_status iforest_run_repair(struct iforest_store *store, struct iforest_manifest *manifest, uint64_t run_id)
{
	struct renewal *renewal;
	enum iforest_status status = prepare(&renewal, store, manifest, run_id);

	if (!status)
		status = repair(renewal);
	renewal_end(renewal);
	return status;
}

/* ---- Choice of the entries to remove ---- */

/* Position of an entry. */
struct spot {
	uint32_t leaf;
	uint16_t block, entry;
};

/* ---- By key, in one run ---- */

/* A search for ascending keys in a run. */
struct finder {
	struct iforest_cursor *cursor;
	/* position of the last search; NULL at the end of the run and before the first search */
	const struct iforest_block *block;
	unsigned entry; /* in the block; block->n after the last */
};

static struct iforest_key key_of(const struct iforest_block *block, unsigned entry)
{
	return (struct iforest_key){ .series = block->series,
				     .time_is_null = block->time_is_null,
				     .time = block->time_is_null ? 0 : block->times[entry],
				     .ref = block->refs[entry] };
}

static bool stands_at(const struct finder *finder, const struct iforest_key *key)
{
	struct iforest_key found;

	if (!finder->block || finder->entry == finder->block->n)
		return false;
	found = key_of(finder->block, finder->entry);
	return iforest_key_compare(&found, key) == 0;
}

/* Finds the live entry with a key, and moves past it. Successive keys are usually those of neighbouring entries.
 * Errors  IFOREST_NOT_FOUND: there is no such entry, and the finder is at the first entry at or after the key. */
static enum iforest_status find_entry(struct finder *finder, const struct iforest_key *key, struct spot *spot)
{
	struct iforest_cursor *cursor = finder->cursor;
	enum iforest_status status = IFOREST_OK;

	if (!stands_at(finder, key)) {
		finder->block = NULL;
		status = iforest_cursor_seek(cursor, key);
		if (!status)
			status = iforest_cursor_block(cursor, 1u << IFOREST_TIMES | 1u << IFOREST_REFS, &finder->block);
		finder->entry = cursor->entry;
		if (!status && !stands_at(finder, key))
			status = IFOREST_NOT_FOUND;
	}
	if (!status && finder->block->dead >> finder->entry & 1)
		status = IFOREST_NOT_FOUND;
	if (status)
		return status;
	*spot = (struct spot){ .leaf = (uint32_t)cursor->leaf_number,
			       .block = (uint16_t)cursor->block,
			       .entry = (uint16_t)finder->entry };
	finder->entry++;
	return IFOREST_OK;
}

static bool is_ascending(const struct iforest_key *keys, uint64_t n_keys)
{
	for (uint64_t k = 1; k < n_keys; k++)
		if (iforest_key_compare(&keys[k - 1], &keys[k]) >= 0)
			return false;
	return true;
}

static enum iforest_status find_all(struct iforest_cursor *cursor, const struct iforest_key *keys, uint64_t n_keys,
				    struct spot *spots)
{
	struct finder finder = { .cursor = cursor };
	enum iforest_status status = is_ascending(keys, n_keys) ? IFOREST_OK : IFOREST_UNORDERED;

	for (uint64_t k = 0; k < n_keys && !status; k++)
		status = find_entry(&finder, &keys[k], &spots[k]);
	return status;
}

static enum iforest_status remove_spots(struct renewal *renewal, const struct spot *spots, uint64_t n_spots)
{
	struct iforest_cursor *cursor = &renewal->cursor;
	enum iforest_status status = IFOREST_OK;

	for (uint64_t k = 0; k < n_spots && !status;) {
		uint32_t number = spots[k].leaf;
		struct iforest_page_header header;
		uint8_t *page;

		status = iforest_cursor_pin(cursor, 0, number);
		if (!status)
			status = renewal_change_leaf(renewal, &page);
		header = cursor->leaf.header;
		for (; !status && k < n_spots && spots[k].leaf == number; k++)
			iforest_leaf_remove(page, &header, spots[k].block, spots[k].entry);
		if (!status)
			iforest_page_finish(page, &header);
	}
	return status;
}

enum iforest_status iforest_run_remove(struct iforest_store *store, struct iforest_manifest *manifest, uint64_t run_id,
				       const struct iforest_key *keys, uint64_t n_keys)
{
	struct renewal *renewal;
	struct spot *spots = NULL;
	enum iforest_status status = renewal_start(&renewal, store, manifest, run_id);

	if (!status) {
		spots = iforest_allocate(store->alloc, n_keys * sizeof *spots);
		status = spots ? find_all(&renewal->cursor, keys, n_keys, spots) : IFOREST_NO_MEMORY;
	}
	if (!status)
		status = remove_spots(renewal, spots, n_keys);
	if (!status)
		status = renewal_finish(renewal);
	iforest_release(store->alloc, spots);
	renewal_end(renewal);
	return status;
}

/* ---- By key, in any run ---- */

enum { NOWHERE = UINT32_MAX };

/* The place of a key. */
struct whereabouts {
	uint32_t run; /* index in the manifest of the run that has it, or NOWHERE */
	struct spot spot;
};

/* Returns the first of the keys, from `from` on, at or after a position, by galloping search. */
static uint64_t pass_keys(const struct iforest_key *keys, uint64_t from, uint64_t n_keys, const struct iforest_key *position)
{
	uint64_t step = 1;

	while (step < n_keys - from && iforest_key_compare(&keys[from + step], position) < 0) {
		from += step;
		step *= 2;
	}
	return from + iforest_key_search(keys + from, step < n_keys - from ? step : n_keys - from, position);
}

/* Records the keys that run r has. Keys between two of its entries are skipped together. */
static enum iforest_status find_in_run(struct iforest_store *store, const struct iforest_manifest *manifest, uint32_t r,
				       struct iforest_cursor *cursor, const struct iforest_key *keys, uint64_t n_keys,
				       struct whereabouts *whereabouts)
{
	const struct iforest_run *run = &manifest->runs[r];
	struct iforest_key at = iforest_node_first(run->root), last = iforest_node_last(run->root);
	struct finder finder = { .cursor = cursor };
	enum iforest_status status = IFOREST_OK;
	uint64_t k = iforest_key_search(keys, n_keys, &at);

	iforest_cursor_init(cursor, store, manifest, run);
	while (k < n_keys && !status && iforest_key_compare(&keys[k], &last) <= 0) {
		struct spot spot;

		status = whereabouts[k].run == NOWHERE ? find_entry(&finder, &keys[k], &spot) : IFOREST_NOT_FOUND;
		if (!status)
			whereabouts[k] = (struct whereabouts){ .run = r, .spot = spot };
		if (whereabouts[k].run != NOWHERE) {
			k++;
		} else if (status == IFOREST_NOT_FOUND) {
			if (!finder.block)
				break;
			at = key_of(finder.block, finder.entry);
			k = pass_keys(keys, k + 1, n_keys, &at);
		}
		if (status == IFOREST_NOT_FOUND)
			status = IFOREST_OK;
	}
	iforest_cursor_release(cursor);
	return status == IFOREST_NOT_FOUND ? IFOREST_OK : status;
}

static enum iforest_status find_everywhere(struct iforest_store *store, const struct iforest_manifest *manifest,
					   const struct iforest_key *keys, uint64_t n_keys, struct whereabouts *whereabouts)
{
	struct iforest_cursor *cursor = iforest_allocate(store->alloc, sizeof *cursor);
	enum iforest_status status = cursor ? IFOREST_OK : IFOREST_NO_MEMORY;

	for (uint64_t k = 0; k < n_keys; k++)
		whereabouts[k].run = NOWHERE;
	for (uint32_t r = 0; r < manifest->n_runs && !status; r++)
		status = find_in_run(store, manifest, r, cursor, keys, n_keys, whereabouts);
	iforest_release(store->alloc, cursor);
	return status;
}

static enum iforest_status remove_pinned(struct iforest_store *store, struct iforest_manifest *manifest, uint64_t run_id,
					 const struct spot *spots, uint64_t n_spots)
{
	struct renewal *renewal;
	enum iforest_status status = renewal_start(&renewal, store, manifest, run_id);

	if (!status)
		status = remove_spots(renewal, spots, n_spots);
	if (!status)
		status = renewal_finish(renewal);
	renewal_end(renewal);
	return status;
}

static enum iforest_status remove_everywhere(struct iforest_store *store, struct iforest_manifest *manifest, uint64_t n_keys,
					     const struct whereabouts *whereabouts, const uint64_t *run_ids, uint32_t n_runs,
					     struct spot *spots, uint64_t *n_removed)
{
	enum iforest_status status = IFOREST_OK;

	for (uint32_t r = 0; r < n_runs && !status; r++) {
		uint64_t n_pinned = 0;

		for (uint64_t k = 0; k < n_keys; k++)
			if (whereabouts[k].run == r)
				spots[n_pinned++] = whereabouts[k].spot;
		if (n_pinned > 0)
			status = remove_pinned(store, manifest, run_ids[r], spots, n_pinned);
		*n_removed += status ? 0 : n_pinned;
	}
	return status;
}

enum iforest_status iforest_runs_remove(struct iforest_store *store, struct iforest_manifest *manifest,
					const struct iforest_key *keys, uint64_t n_keys, uint64_t *n_removed)
{
	uint32_t n_runs = manifest->n_runs;
	struct whereabouts *whereabouts = iforest_allocate(store->alloc, n_keys * sizeof *whereabouts);
	struct spot *spots = iforest_allocate(store->alloc, n_keys * sizeof *spots);
	uint64_t *run_ids = iforest_allocate(store->alloc, n_runs * sizeof *run_ids);
	enum iforest_status status = IFOREST_NO_MEMORY;

	for (uint32_t r = 0; run_ids && r < n_runs; r++) /* every publish moves the list of runs */
		run_ids[r] = manifest->runs[r].place.run_id;
	*n_removed = 0;
	if (whereabouts && spots && run_ids)
		status = is_ascending(keys, n_keys) ? find_everywhere(store, manifest, keys, n_keys, whereabouts)
						    : IFOREST_UNORDERED;
	if (!status)
		status = remove_everywhere(store, manifest, n_keys, whereabouts, run_ids, n_runs, spots, n_removed);
	iforest_release(store->alloc, whereabouts);
	iforest_release(store->alloc, spots);
	iforest_release(store->alloc, run_ids);
	return status;
}

/* ---- By call-back ---- */

/* Calls is_dead() for the live entries of the current leaf page. */
static enum iforest_status ask_leaf(struct renewal *renewal, const struct iforest_remover *remover,
				    struct iforest_removal *removal)
{
	struct iforest_cursor *cursor = &renewal->cursor;
	const struct iforest_block *block = &cursor->reader.block;
	struct iforest_page_header header;
	uint8_t *page = NULL;
	enum iforest_status status = iforest_cursor_pin(cursor, 0, cursor->leaf_number);

	if (status)
		return status;
	header = cursor->leaf.header;
	for (unsigned b = 0; b < header.n_items && !status; b++) {
		uint64_t live;

		iforest_cursor_read_block(cursor, b);
		live = iforest_low_bits(block->n) & ~block->dead;
		if (live)
			status = iforest_cursor_report_leaf(cursor, iforest_block_need(&cursor->reader, IFOREST_REFS));
		for (; live && !status; live &= live - 1) {
			unsigned i = iforest_trailing_zeros(live);

			if (!remover->is_dead(remover->context, block->refs[i])) {
				removal->n_kept++;
				continue;
			}
			if (!page)
				status = renewal_change_leaf(renewal, &page);
			if (status)
				break;
			iforest_leaf_remove(page, &header, b, i);
			removal->n_removed++;
		}
	}
	if (!status && page)
		iforest_page_finish(page, &header);
	return status;
}

enum iforest_status iforest_run_remove_where(struct iforest_store *store, struct iforest_manifest *manifest, uint64_t run_id,
					     const struct iforest_remover *remover, struct iforest_removal *removal)
{
	struct iforest_removal counted = { 0 };
	struct renewal *renewal;
	enum iforest_status status = renewal_start(&renewal, store, manifest, run_id);

	while (!status) {
		struct iforest_cursor *cursor = &renewal->cursor;

		status = iforest_cursor_pass_dead(cursor);
		if (status || cursor->leaf_number == renewal->run.n_leaves)
			break;
		status = ask_leaf(renewal, remover, &counted);
		iforest_cursor_stand_at(cursor, cursor->leaf_number + 1, 0, 0);
	}
	if (!status)
		status = renewal_finish(renewal);
	if (!status)
		*removal = counted;
	renewal_end(renewal);
	return status;
}
