#include "core/run/memtable.h"

#include "core/run/compact.h"
#include "core/run/remove.h"

/* Ids come from the index's pager, because runs in memory become runs of the index. */
static uint64_t draw_id(void *context)
{
	const struct iforest_pager *pager = ((struct iforest_memtable *)context)->pager; /* `memory` is its first member */

	return pager->random(pager->context);
}

enum iforest_status iforest_memtable_init(struct iforest_memtable *memtable, const struct iforest_store *store,
					  const struct iforest_node_schema *fields)
{
	const struct iforest_pager *pager = store->pager;

	memtable->pager = pager;
	iforest_pager_memory_init(&memtable->memory, store->alloc, pager->page_bytes, pager->max_batch_pages, false);
	memtable->memory.lends_pages = true;
	memtable->memory.pager.random = draw_id;
	memtable->memory.pager.interrupt = pager->interrupt;
	memtable->store = (struct iforest_store){ .pager = &memtable->memory.pager, .alloc = store->alloc };
	iforest_batch_init(&memtable->batch, store->alloc, fields->n_values);
	return iforest_manifest_init(&memtable->manifest, store->alloc, fields, pager->page_bytes);
}

void iforest_memtable_release(struct iforest_memtable *memtable)
{
	iforest_manifest_release(&memtable->manifest);
	if (memtable->memory.alloc)
		iforest_pager_memory_release(&memtable->memory);
	iforest_batch_release(&memtable->batch);
}

/* ---- Runs in memory ---- */

static enum iforest_status add_run(struct iforest_memtable *memtable)
{
	struct iforest_run *run = iforest_allocate(memtable->store.alloc, sizeof *run);
	struct iforest_edit edit = { .added = run };
	enum iforest_status status = IFOREST_NO_MEMORY;

	if (run)
		status = iforest_batch_write_run(&memtable->batch, &memtable->store, &memtable->manifest, run);
	if (!status)
		status = iforest_manifest_commit(&memtable->manifest, &memtable->store, &edit);
	iforest_batch_clear(&memtable->batch);
	iforest_release(memtable->store.alloc, run);
	return status;
}

static enum iforest_status merge_last_two(struct iforest_memtable *memtable)
{
	const struct iforest_run *last = &memtable->manifest.runs[memtable->manifest.n_runs - 1];
	uint64_t run_ids[] = { last[-1].place.run_id, last->place.run_id };
	struct iforest_run merged;

	return iforest_compact(&memtable->store, &memtable->manifest, run_ids, 2, &merged);
}

enum iforest_status iforest_memtable_build(struct iforest_memtable *memtable)
{
	const struct iforest_manifest *manifest = &memtable->manifest;
	enum iforest_status status = memtable->batch.n > 0 ? add_run(memtable) : IFOREST_OK;

	while (!status && manifest->n_runs > 1) {
		const struct iforest_run *last = &manifest->runs[manifest->n_runs - 1];

		if (iforest_node_rows(last[-1].root) > 2 * iforest_node_rows(last->root))
			break;
		status = merge_last_two(memtable);
	}
	return status;
}

enum iforest_status iforest_memtable_remove(struct iforest_memtable *memtable, const struct iforest_key *keys, uint64_t n_keys)
{
	uint64_t n_removed;
	enum iforest_status status = iforest_runs_remove(&memtable->store, &memtable->manifest, keys, n_keys, &n_removed);

	return !status && n_removed < n_keys ? IFOREST_NOT_FOUND : status;
}

/* ---- Flush ---- */

static enum iforest_status copy_page(struct iforest_memtable *memtable, const struct iforest_run *from, uint64_t i,
				     const struct iforest_store *store, const struct iforest_place *to)
{
	const struct iforest_pager *memory = memtable->store.pager;
	struct iforest_page page;
	enum iforest_status status = memory->get(memory->context, &from->place, i, &page);

	if (status)
		return status;
	status = store->pager->write(store->pager->context, to,
				     &(struct iforest_page_write){ .index = i, .bytes = page.bytes, .n_bytes = page.n_bytes },
				     1);
	memory->release(memory->context, &page);
	return status;
}

/* Copies the one run in memory to the store, under the same id. */
static enum iforest_status copy_run(struct iforest_memtable *memtable, const struct iforest_store *store,
				    struct iforest_run *run)
{
	const struct iforest_run *from = &memtable->manifest.runs[0];
	const struct iforest_pager *pager = store->pager;
	struct iforest_place place = from->place;
	uint64_t n_pages = iforest_run_pages(&memtable->manifest, from), n_copied = 0;
	enum iforest_status status = pager->create_run(pager->context, &place);

	if (status)
		return status;
	for (; n_copied < n_pages && !status; n_copied += !status)
		status = copy_page(memtable, from, n_copied, store, &place);
	if (status) {
		/* no manifest names the run, so a failure to drop it only wastes space */
		(void)pager->drop_run(pager->context, &place, n_copied);
		return status;
	}
	*run = *from;
	run->place = place;
	return IFOREST_OK;
}

enum iforest_status iforest_memtable_flush(struct iforest_memtable *memtable, struct iforest_store *store,
					   const struct iforest_manifest *manifest, struct iforest_run *run)
{
	struct iforest_compaction to_one = { .to_one = true };
	uint32_t n_merged;
	enum iforest_status status = IFOREST_OK;

	run->n_leaves = 0;
	if (memtable->manifest.n_runs == 0)
		return memtable->batch.n > 0 ? iforest_batch_write_run(&memtable->batch, store, manifest, run) : IFOREST_OK;
	if (memtable->batch.n > 0)
		status = add_run(memtable);
	if (!status)
		status = iforest_compact_next(&memtable->store, &memtable->manifest, &to_one, &n_merged);
	if (!status && memtable->manifest.n_runs > 0)
		status = copy_run(memtable, store, run);
	return status;
}
