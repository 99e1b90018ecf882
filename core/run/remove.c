#include <string.h>

#include "core/run/run_remove_internal.h"

/* ---- writing ---- */

static enum iforest_status commit(struct iforest_renewal *renewal, bool removal_in_progress)
{
	struct iforest_run named = renewal->run;
	struct iforest_edit edit = { .changed = &named };

	renewal->is_marked = named.removal_in_progress = removal_in_progress;
	return iforest_manifest_commit(renewal->manifest, renewal->store, &edit);
}

/* No page of the run is written before the manifest says that a removal is in progress. */
static enum iforest_status flush(struct iforest_renewal *renewal)
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

/* A writable copy of the page of a level that the cursor holds; it is written with the batch. */
static enum iforest_status copy_page(struct iforest_renewal *renewal, unsigned level, uint32_t length, uint8_t **page)
{
	const struct iforest_held_page *held = &renewal->cursor.path[level];
	enum iforest_status status = renewal->n_batch == renewal->store->pager->max_batch_pages ? flush(renewal) : IFOREST_OK;

	if (status)
		return status;
	*page = renewal->batch_bytes + (size_t)renewal->n_batch * renewal->manifest->page_bytes;
	memcpy(*page, held->page.bytes, length);
	renewal->batch[renewal->n_batch++] = (struct iforest_page_write){
		.index = iforest_run_page_index(renewal->manifest, &renewal->run, level, held->number),
		.bytes = *page,
		.n_bytes = length,
	};
	return IFOREST_OK;
}

static enum iforest_status reserve_one(struct iforest_renewal *renewal)
{
	const struct iforest_alloc *alloc = renewal->store->alloc;
	uint64_t n_wanted = renewal->n_reserved ? 2 * renewal->n_reserved : 1;
	uint32_t *grown;

	if (renewal->n_changed < renewal->n_reserved)
		return IFOREST_OK;
	grown = alloc->reallocate(alloc->context, renewal->changed, n_wanted * sizeof *grown);
	if (!grown)
		return IFOREST_NO_MEMORY;
	renewal->changed = grown;
	renewal->n_reserved = n_wanted;
	return IFOREST_OK;
}

enum iforest_status iforest_renewal_change_leaf(struct iforest_renewal *renewal, uint8_t **page)
{
	enum iforest_status status = reserve_one(renewal);

	if (!status)
		status = copy_page(renewal, 0, renewal->cursor.leaf.header.length, page);
	if (!status)
		renewal->changed[renewal->n_changed++] = (uint32_t)renewal->cursor.path[0].number;
	return status;
}

/* ---- nodes ---- */

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

/* The number of the k-th page that changed. */
static uint32_t changed_page(const struct iforest_renewal *renewal, uint64_t k)
{
	return renewal->are_all ? (uint32_t)k : renewal->changed[k];
}

/* Computes the nodes over the pages of level - 1 that changed anew; afterwards those of `level` have. */
static enum iforest_status renew_level(struct iforest_renewal *renewal, unsigned level)
{
	const struct iforest_fields *fields = &renewal->manifest->fields;
	struct iforest_cursor *cursor = &renewal->cursor;
	uint32_t fanout = renewal->manifest->fanout;
	uint64_t n_changed = 0;
	enum iforest_status status = IFOREST_OK;

	for (uint64_t k = 0; k < renewal->n_changed && !status;) {
		uint32_t number = changed_page(renewal, k) / fanout;
		uint8_t *page;
		unsigned n_nodes;

		status = iforest_cursor_hold(cursor, level, number);
		if (status)
			break;
		n_nodes = cursor->path[level].header.n_items;
		status = copy_page(renewal, level, cursor->path[level].header.length, &page);
		for (; !status && k < renewal->n_changed && changed_page(renewal, k) / fanout == number; k++) {
			uint32_t child = changed_page(renewal, k);
			struct iforest_node node;

			if (child % fanout >= n_nodes)
				return iforest_cursor_blame(cursor, IFOREST_CORRUPT, "the page has too few nodes", level,
							    number);
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

/* Pages held from before a write are not true any more, nor are those that the pager keeps under the generation. */
static void forget_pages(struct iforest_renewal *renewal)
{
	iforest_cursor_release(&renewal->cursor);
	renewal->run.place.generation = iforest_random63(renewal->store);
}

enum iforest_status iforest_renewal_finish(struct iforest_renewal *renewal)
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

/* ---- the whole ---- */

static enum iforest_status repair(struct iforest_renewal *renewal)
{
	renewal->are_all = true;
	renewal->n_changed = renewal->run.n_leaves;
	return iforest_renewal_finish(renewal);
}

/* Makes ready, without repair. *renewal is NULL where there is no memory for it, or no such run. */
static enum iforest_status prepare(struct iforest_renewal **made, struct iforest_store *store,
				   struct iforest_manifest *manifest, uint64_t run_id)
{
	uint32_t r = iforest_manifest_find(manifest, run_id), n_batch = store->pager->max_batch_pages;
	struct iforest_renewal *renewal;

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

enum iforest_status iforest_renewal_start(struct iforest_renewal **renewal, struct iforest_store *store,
					  struct iforest_manifest *manifest, uint64_t run_id)
{
	enum iforest_status status = prepare(renewal, store, manifest, run_id);

	/* a removal renews the nodes above what it touches alone, and then takes the mark off */
	if (!status && (*renewal)->is_marked)
		status = repair(*renewal);
	return status;
}

void iforest_renewal_end(struct iforest_renewal *renewal)
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
	struct iforest_renewal *renewal;
	enum iforest_status status = prepare(&renewal, store, manifest, run_id);

	if (!status)
		status = repair(renewal);
	iforest_renewal_end(renewal);
	return status;
}
