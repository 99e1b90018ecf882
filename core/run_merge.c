#include "core/run_merge.h"

#include <string.h>

#include "core/cursor.h"
#include "core/run_build.h"

/* One run being merged: the entry it stands at is entry `at` of `block`. */
struct source {
	struct iforest_cursor cursor;
	const struct iforest_block *block;
	unsigned at;
	struct iforest_key key;
};

struct merge {
	struct source *sources;
	struct source **heap;       /* smallest key first */
	uint32_t n_sources, n_heap;
};

/* Moves a source to its next live entry; block is NULL when there is none. */
static enum iforest_status advance(struct source *source, unsigned at)
{
	enum iforest_status status = IFOREST_OK;

	for (;; at++) {
		while (!status && (!source->block || at == source->block->n)) {
			status = iforest_cursor_next_block(&source->cursor, &source->block);
			at = 0;
			if (!source->block)
				return status;
		}
		if (status || !(source->block->dead >> at & 1))
			break;
	}
	source->at = at;
	if (!status)
		source->key = (struct iforest_key){ .series = source->block->series,
			.time_is_null = source->block->time_is_null, .time = source->block->times[at],
			.ref = source->block->refs[at] };
	return status;
}

static void sift_down(struct merge *merge, uint32_t i)
{
	for (;;) {
		uint32_t least = i;

		for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < merge->n_heap; child++)
			if (iforest_key_compare(&merge->heap[child]->key, &merge->heap[least]->key) < 0)
				least = child;
		if (least == i)
			return;
		struct source *moved = merge->heap[i];

		merge->heap[i] = merge->heap[least];
		merge->heap[least] = moved;
		i = least;
	}
}

static enum iforest_status fill_heap(struct merge *merge)
{
	enum iforest_status status = IFOREST_OK;

	for (uint32_t s = 0; s < merge->n_sources && !status; s++) {
		status = advance(&merge->sources[s], 0);
		if (!status && merge->sources[s].block)
			merge->heap[merge->n_heap++] = &merge->sources[s];
	}
	for (uint32_t i = merge->n_heap / 2; i-- > 0;)
		sift_down(merge, i);
	return status;
}

static enum iforest_status drain_heap(struct merge *merge, struct iforest_run_builder *builder)
{
	enum iforest_status status = IFOREST_OK;

	while (!status && merge->n_heap > 0) {
		struct source *least = merge->heap[0];

		status = iforest_run_builder_add_block(builder, least->block, least->at, least->at + 1);
		if (!status)
			status = advance(least, least->at + 1);
		if (!status && !least->block)
			merge->heap[0] = merge->heap[--merge->n_heap];
		sift_down(merge, 0);
	}
	return status;
}

/* Names the new run instead of the old ones, then gives the old pages back. */
static enum iforest_status replace(struct iforest_store *store, struct iforest_manifest *manifest, const uint32_t *chosen,
				   uint32_t n_chosen, const struct iforest_run *merged)
{
	const struct iforest_pager *pager = store->pager;
	struct iforest_run *old = iforest_allocate(store->alloc, n_chosen * sizeof *old);
	enum iforest_status status = old ? IFOREST_OK : IFOREST_NO_MEMORY;

	for (uint32_t c = n_chosen; !status && c-- > 0;) {
		old[c] = manifest->runs[chosen[c]];
		iforest_manifest_remove(manifest, chosen[c]);
	}
	if (!status && merged->n_leaves > 0)
		status = iforest_manifest_add(manifest, merged);
	if (!status)
		status = iforest_manifest_publish(manifest, store);
	/* nothing names the new run then, so a failure to drop it costs space and no answer */
	if (status && merged->n_leaves > 0)
		(void)pager->drop_run(pager->context, &merged->place, iforest_run_pages(manifest, merged));
	for (uint32_t c = 0; !status && c < n_chosen; c++)
		status = pager->drop_run(pager->context, &old[c].place, iforest_run_pages(manifest, &old[c]));
	iforest_release(store->alloc, old);
	return status;
}

enum iforest_status iforest_runs_merge(struct iforest_store *store, struct iforest_manifest *manifest,
				       const uint32_t *chosen, uint32_t n_chosen)
{
	struct merge merge = { .n_sources = n_chosen };
	struct iforest_run_builder *builder = iforest_allocate(store->alloc, sizeof *builder);
	struct iforest_run merged;
	enum iforest_status status = IFOREST_NO_MEMORY;

	merge.sources = iforest_allocate(store->alloc, n_chosen * sizeof *merge.sources);
	merge.heap = iforest_allocate(store->alloc, n_chosen * sizeof(struct source *));
	if (builder && merge.sources && merge.heap)
		status = iforest_run_builder_start(builder, store, manifest);
	if (!status) {
		for (uint32_t s = 0; s < n_chosen; s++) {
			iforest_cursor_init(&merge.sources[s].cursor, store, manifest, &manifest->runs[chosen[s]]);
			merge.sources[s].block = NULL;
		}
		status = fill_heap(&merge);
		if (!status)
			status = drain_heap(&merge, builder);
		for (uint32_t s = 0; s < n_chosen; s++)
			iforest_cursor_release(&merge.sources[s].cursor);
		if (status)
			iforest_run_builder_abandon(builder);
		else
			status = iforest_run_builder_finish(builder, &merged);
		if (!status)
			status = replace(store, manifest, chosen, n_chosen, &merged);
	}
	iforest_release(store->alloc, merge.sources);
	iforest_release(store->alloc, merge.heap);
	iforest_release(store->alloc, builder);
	return status;
}
