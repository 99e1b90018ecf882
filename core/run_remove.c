#include "core/run_remove.h"

#include <string.h>

#include "core/cursor_internal.h"

/* Where an entry stands. */
struct spot {
	uint32_t leaf;
	uint16_t block, entry;
};

/* Pages waiting to be written as one batch. */
struct batch {
	struct iforest_store *store;
	const struct iforest_manifest *manifest;
	const struct iforest_run *run;
	uint32_t n_pages;
	uint8_t *bytes;                    /* max_batch_pages of page_bytes */
	struct iforest_page_write *writes;
};

static enum iforest_status start_batch(struct batch *batch, struct iforest_store *store,
				       const struct iforest_manifest *manifest, const struct iforest_run *run)
{
	uint32_t n = store->pager->max_batch_pages;

	*batch = (struct batch){ .store = store, .manifest = manifest, .run = run };
	batch->bytes = iforest_allocate(store->alloc, (size_t)n * manifest->page_bytes);
	batch->writes = iforest_allocate(store->alloc, n * sizeof *batch->writes);
	return batch->bytes && batch->writes ? IFOREST_OK : IFOREST_NO_MEMORY;
}

static void end_batch(struct batch *batch)
{
	iforest_release(batch->store->alloc, batch->bytes);
	iforest_release(batch->store->alloc, batch->writes);
}

static enum iforest_status flush(struct batch *batch)
{
	const struct iforest_pager *pager = batch->store->pager;
	uint32_t n_pages = batch->n_pages;

	batch->n_pages = 0;
	return n_pages ? pager->write(pager->context, &batch->run->place, batch->writes, n_pages) : IFOREST_OK;
}

/* A writable copy of a page that the cursor holds; it is written with the batch. */
static enum iforest_status copy_page(struct batch *batch, const struct iforest_held_page *held, unsigned level,
				     uint32_t length, uint8_t **page)
{
	enum iforest_status status = batch->n_pages == batch->store->pager->max_batch_pages ? flush(batch) : IFOREST_OK;

	if (status)
		return status;
	*page = batch->bytes + (size_t)batch->n_pages * batch->manifest->page_bytes;
	memcpy(*page, held->page.bytes, length);
	batch->writes[batch->n_pages++] = (struct iforest_page_write){
		.index = iforest_run_page_index(batch->manifest, batch->run, level, held->number),
		.bytes = *page,
		.n_bytes = length,
	};
	return IFOREST_OK;
}

/* ---- finding ---- */

static enum iforest_status find_entry(struct iforest_cursor *cursor, const struct iforest_key *key, struct spot *spot)
{
	const struct iforest_block *block = &cursor->reader.block;
	enum iforest_status status = iforest_cursor_seek(cursor, key);

	if (status)
		return status;
	if (cursor->leaf_number == cursor->run->n_leaves)
		return IFOREST_NOT_FOUND;
	status = iforest_cursor_hold(cursor, 0, cursor->leaf_number);
	if (status)
		return status;
	iforest_cursor_read_block(cursor, cursor->block);
	status = iforest_cursor_blame_leaf(cursor, iforest_block_need(&cursor->reader, IFOREST_TIMES));
	if (!status)
		status = iforest_cursor_blame_leaf(cursor, iforest_block_need(&cursor->reader, IFOREST_REFS));
	if (status)
		return status;
	if (block->series != key->series || block->time_is_null != key->time_is_null ||
	    block->times[cursor->entry] != key->time || block->refs[cursor->entry] != key->ref ||
	    block->dead >> cursor->entry & 1)
		return IFOREST_NOT_FOUND;
	*spot = (struct spot){ .leaf = (uint32_t)cursor->leaf_number, .block = (uint16_t)cursor->block,
			       .entry = (uint16_t)cursor->entry };
	return IFOREST_OK;
}

static enum iforest_status find_all(struct iforest_cursor *cursor, const struct iforest_key *keys, uint64_t n_keys,
				    struct spot *spots)
{
	enum iforest_status status = IFOREST_OK;

	for (uint64_t k = 0; k < n_keys && !status; k++) {
		if (k > 0 && iforest_key_compare(&keys[k - 1], &keys[k]) >= 0)
			return IFOREST_UNORDERED;
		status = find_entry(cursor, &keys[k], &spots[k]);
	}
	return status;
}

/* ---- writing ---- */

static enum iforest_status mark_leaves(struct iforest_cursor *cursor, struct batch *batch, const struct spot *spots,
				       uint64_t n_spots)
{
	enum iforest_status status = IFOREST_OK;

	for (uint64_t k = 0; k < n_spots && !status;) {
		uint32_t number = spots[k].leaf;
		struct iforest_page_header header;
		uint8_t *page;

		status = iforest_cursor_hold(cursor, 0, number);
		if (!status)
			status = copy_page(batch, &cursor->path[0], 0, cursor->leaf.header.length, &page);
		header = cursor->leaf.header;
		for (; !status && k < n_spots && spots[k].leaf == number; k++)
			iforest_leaf_remove(page, &header, spots[k].block, spots[k].entry);
		if (!status)
			iforest_page_seal(page, &header);
	}
	return status ? status : flush(batch);
}

/* The node over page `number` of level - 1, computed from that page. */
static enum iforest_status compute_node(struct iforest_cursor *cursor, unsigned level, uint64_t number,
					struct iforest_node *node)
{
	const struct iforest_fields *fields = &cursor->manifest->fields;
	const struct iforest_held_page *held = &cursor->path[level - 1];
	enum iforest_status status = iforest_cursor_hold(cursor, level - 1, number);

	if (status)
		return status;
	if (level == 1)
		return iforest_cursor_blame_leaf(cursor, iforest_leaf_node(&cursor->leaf, node));
	iforest_node_read(node, fields, iforest_node_at(held->page.bytes, fields, 0));
	for (unsigned i = 1; i < held->header.n_items; i++) {
		struct iforest_node next;

		iforest_node_read(&next, fields, iforest_node_at(held->page.bytes, fields, i));
		iforest_node_combine(node, &next, fields);
	}
	return IFOREST_OK;
}

/* Computes the nodes over the given pages of level - 1 anew; leaves in `pages` the pages of `level` that changed. */
static enum iforest_status renew_level(struct iforest_cursor *cursor, struct batch *batch, unsigned level, uint32_t *pages,
				       uint64_t *n_pages)
{
	const struct iforest_fields *fields = &cursor->manifest->fields;
	uint32_t fanout = cursor->manifest->fanout;
	uint64_t n_changed = 0;
	enum iforest_status status = IFOREST_OK;

	for (uint64_t k = 0; k < *n_pages && !status;) {
		uint32_t number = pages[k] / fanout;
		uint8_t *page;
		unsigned n_nodes;

		status = iforest_cursor_hold(cursor, level, number);
		if (status)
			break;
		n_nodes = cursor->path[level].header.n_items;
		status = copy_page(batch, &cursor->path[level], level, cursor->path[level].header.length, &page);
		for (; !status && k < *n_pages && pages[k] / fanout == number; k++) {
			struct iforest_node node;

			if (pages[k] % fanout >= n_nodes)
				return iforest_cursor_blame(cursor, IFOREST_CORRUPT, "the page has too few nodes", level, number);
			status = compute_node(cursor, level, pages[k], &node);
			if (!status)
				iforest_node_write(&node, fields, page + IFOREST_PAGE_HEADER + pages[k] % fanout * fields->node_bytes);
		}
		if (!status)
			iforest_node_page_finish(page, fields, cursor->run->place.run_id, level, number, n_nodes);
		pages[n_changed++] = number;
	}
	*n_pages = n_changed;
	return status ? status : flush(batch);
}

/* Pages held from before a write are not true any more, nor are those that the pager keeps under the generation. */
static void forget_pages(struct iforest_cursor *cursor, struct iforest_run *run)
{
	iforest_cursor_release(cursor);
	run->place.generation = iforest_random63(cursor->store);
}

/* Everything above the leaf pages listed (ascending), and the root. The list is used up. */
static enum iforest_status renew_nodes(struct iforest_cursor *cursor, struct iforest_run *run, struct batch *batch,
				       uint32_t *pages, uint64_t n_pages, struct iforest_node *root)
{
	enum iforest_status status = IFOREST_OK;

	for (unsigned level = 1; level <= run->n_levels && !status; level++) {
		forget_pages(cursor, run);
		status = renew_level(cursor, batch, level, pages, &n_pages);
	}
	forget_pages(cursor, run);
	return status ? status : compute_node(cursor, cursor->run->n_levels + 1, 0, root);
}

/* Marks the run, does the work with its page list, publishes the result. spots may be NULL: then only nodes are renewed. */
static enum iforest_status rewrite(struct iforest_store *store, struct iforest_manifest *manifest, uint32_t r,
				   struct iforest_cursor *cursor, const struct spot *spots, uint64_t n_spots,
				   uint32_t *pages, uint64_t n_pages)
{
	struct iforest_run *run = &manifest->runs[r];
	struct iforest_node root;
	struct batch batch;
	enum iforest_status status = start_batch(&batch, store, manifest, run);

	run->removal_in_progress = true;
	if (!status)
		status = iforest_manifest_publish(manifest, store);
	if (!status && spots)
		status = mark_leaves(cursor, &batch, spots, n_spots);
	if (!status)
		status = renew_nodes(cursor, run, &batch, pages, n_pages, &root);
	if (!status) {
		iforest_node_write(&root, &manifest->fields, run->root);
		run->removal_in_progress = false;
		status = iforest_manifest_publish(manifest, store);
	}
	end_batch(&batch);
	return status;
}

enum iforest_status iforest_run_remove(struct iforest_store *store, struct iforest_manifest *manifest, uint32_t r,
				       const struct iforest_key *keys, uint64_t n_keys)
{
	struct spot *spots = iforest_allocate(store->alloc, n_keys * sizeof *spots);
	uint32_t *pages = iforest_allocate(store->alloc, n_keys * sizeof *pages);
	struct iforest_cursor *cursor = iforest_allocate(store->alloc, sizeof *cursor);
	enum iforest_status status = spots && pages && cursor ? IFOREST_OK : IFOREST_NO_MEMORY;
	uint64_t n_pages = 0;

	if (!status) {
		iforest_cursor_init(cursor, store, manifest, &manifest->runs[r]);
		status = find_all(cursor, keys, n_keys, spots);
		for (uint64_t k = 0; k < n_keys && !status; k++)
			if (n_pages == 0 || pages[n_pages - 1] != spots[k].leaf)
				pages[n_pages++] = spots[k].leaf;
		/* below only the nodes over these keys are renewed, and then the mark is taken off */
		if (!status && n_keys > 0 && manifest->runs[r].removal_in_progress)
			status = iforest_run_repair(store, manifest, r);
		if (!status && n_keys > 0)
			status = rewrite(store, manifest, r, cursor, spots, n_keys, pages, n_pages);
		iforest_cursor_release(cursor);
	}
	iforest_release(store->alloc, spots);
	iforest_release(store->alloc, pages);
	iforest_release(store->alloc, cursor);
	return status;
}

enum iforest_status iforest_run_repair(struct iforest_store *store, struct iforest_manifest *manifest, uint32_t r)
{
	uint32_t n_leaves = manifest->runs[r].n_leaves;
	uint32_t *pages = iforest_allocate(store->alloc, (size_t)n_leaves * sizeof *pages);
	struct iforest_cursor *cursor = iforest_allocate(store->alloc, sizeof *cursor);
	enum iforest_status status = pages && cursor ? IFOREST_OK : IFOREST_NO_MEMORY;

	if (!status) {
		for (uint32_t i = 0; i < n_leaves; i++)
			pages[i] = i;
		iforest_cursor_init(cursor, store, manifest, &manifest->runs[r]);
		status = rewrite(store, manifest, r, cursor, NULL, 0, pages, n_leaves);
		iforest_cursor_release(cursor);
	}
	iforest_release(store->alloc, pages);
	iforest_release(store->alloc, cursor);
	return status;
}
