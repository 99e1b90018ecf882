#include "core/run/run_merge.h"

#include "core/base/bits.h"
#include "core/run/cursor_internal.h"

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

static struct iforest_key key_of(const struct iforest_block *block, unsigned i)
{
	return (struct iforest_key){ .series = block->series, .time_is_null = block->time_is_null, .time = block->times[i],
				     .ref = block->refs[i] };
}

/* Moves a source to its first live entry at or after entry `at` of its block; block is NULL when there is none. */
static enum iforest_status settle(struct source *source, unsigned at)
{
	struct iforest_cursor *cursor = &source->cursor;
	uint32_t all = (1u << (IFOREST_VALUES + cursor->manifest->fields.n_values)) - 1;
	enum iforest_status status = IFOREST_OK;

	for (;; at = 0) {
		const struct iforest_block *block = source->block;
		uint64_t live = block ? iforest_low_bits(block->n) & ~iforest_low_bits(at) & ~block->dead : 0;

		if (live) {
			/* only now unpacked: of a block without live entries nothing is */
			status = iforest_cursor_block(cursor, all, &source->block);
			if (status)
				return status;
			source->at = iforest_trailing_zeros(live);
			source->key = key_of(source->block, source->at);
			return IFOREST_OK;
		}
		if (source->block)
			status = iforest_cursor_next(cursor);
		if (!status)
			status = iforest_cursor_pass_dead(cursor);
		if (!status)
			status = iforest_cursor_block(cursor, 0, &source->block);
		if (status || !source->block)
			return status;
	}
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
		status = settle(&merge->sources[s], 0);
		if (!status && merge->sources[s].block)
			merge->heap[merge->n_heap++] = &merge->sources[s];
	}
	for (uint32_t i = merge->n_heap / 2; i-- > 0;)
		sift_down(merge, i);
	return status;
}

/* The end of the stretch of live entries of the least source that come before those of all others; one entry at least. */
static unsigned end_of_stretch(const struct merge *merge)
{
	const struct source *least = merge->heap[0];
	const struct iforest_block *block = least->block;
	uint64_t dead = block->dead & ~iforest_low_bits(least->at);
	unsigned end = dead ? iforest_trailing_zeros(dead) : block->n, to;
	struct iforest_key limit, last = key_of(block, end - 1);

	if (merge->n_heap == 1)
		return end;
	limit = merge->heap[1]->key;
	if (merge->n_heap > 2 && iforest_key_compare(&merge->heap[2]->key, &limit) < 0)
		limit = merge->heap[2]->key;
	if (iforest_key_compare(&last, &limit) < 0)
		return end;
	for (to = least->at + 1; to < end; to++) {
		struct iforest_key key = key_of(block, to);

		if (iforest_key_compare(&key, &limit) >= 0)
			break;
	}
	return to;
}

static enum iforest_status drain_heap(struct merge *merge, struct iforest_run_builder *builder)
{
	enum iforest_status status = IFOREST_OK;

	while (!status && merge->n_heap > 0) {
		struct source *least = merge->heap[0];
		unsigned to = end_of_stretch(merge);

		status = iforest_run_builder_add_block(builder, least->block, least->at, to);
		if (!status)
			status = settle(least, to);
		if (!status && !least->block)
			merge->heap[0] = merge->heap[--merge->n_heap];
		sift_down(merge, 0);
	}
	return status;
}

enum iforest_status iforest_runs_add(struct iforest_store *store, const struct iforest_manifest *manifest,
				     const struct iforest_run *runs, uint32_t n_runs, struct iforest_run_builder *builder)
{
	struct merge merge = { .n_sources = n_runs };
	enum iforest_status status = IFOREST_NO_MEMORY;

	merge.sources = iforest_allocate(store->alloc, n_runs * sizeof *merge.sources);
	merge.heap = iforest_allocate(store->alloc, n_runs * sizeof(struct source *));
	if (merge.sources && merge.heap) {
		for (uint32_t s = 0; s < n_runs; s++) {
			merge.sources[s].block = NULL;
			iforest_cursor_init(&merge.sources[s].cursor, store, manifest, &runs[s]);
		}
		status = fill_heap(&merge);
		if (!status)
			status = drain_heap(&merge, builder);
		for (uint32_t s = 0; s < n_runs; s++)
			iforest_cursor_release(&merge.sources[s].cursor);
	}
	iforest_release(store->alloc, merge.sources);
	iforest_release(store->alloc, merge.heap);
	return status;
}

/* ---- runs of an index ---- */

/* Copies, as the manifest's may move. */
static enum iforest_status copy_runs(const struct iforest_manifest *manifest, const uint64_t *run_ids, uint32_t n_runs,
				     struct iforest_run *runs)
{
	for (uint32_t i = 0; i < n_runs; i++) {
		uint32_t r = iforest_manifest_find(manifest, run_ids[i]);

		if (r == manifest->n_runs)
			return IFOREST_NOT_FOUND;
		runs[i] = manifest->runs[r];
	}
	return IFOREST_OK;
}

static enum iforest_status build_merged(struct iforest_store *store, const struct iforest_manifest *manifest,
					const struct iforest_run *runs, uint32_t n_runs, struct iforest_run_builder *builder,
					struct iforest_run *merged)
{
	enum iforest_status status = iforest_run_builder_start(builder, store, manifest);

	if (status)
		return status;
	status = iforest_runs_add(store, manifest, runs, n_runs, builder);
	if (status)
		iforest_run_builder_abandon(builder);
	else
		status = iforest_run_builder_finish(builder, merged);
	return status;
}

/* Names the new run instead of the old ones, then gives the old pages back. */
static enum iforest_status replace(struct iforest_store *store, struct iforest_manifest *manifest, const uint64_t *run_ids,
				   const struct iforest_run *runs, uint32_t n_runs, const struct iforest_run *merged)
{
	const struct iforest_pager *pager = store->pager;
	struct iforest_edit edit = { .removed = run_ids, .n_removed = n_runs, .added = merged->n_leaves > 0 ? merged : NULL };
	enum iforest_status status = iforest_manifest_commit(manifest, store, &edit);

	/* nothing names the new run then, so a failure to drop it costs space and no answer */
	if (status && merged->n_leaves > 0)
		(void)pager->drop_run(pager->context, &merged->place, iforest_run_pages(manifest, merged));
	for (uint32_t i = 0; !status && i < n_runs; i++)
		status = pager->drop_run(pager->context, &runs[i].place, iforest_run_pages(manifest, &runs[i]));
	return status;
}

enum iforest_status iforest_runs_merge(struct iforest_store *store, struct iforest_manifest *manifest, const uint64_t *run_ids,
				       uint32_t n_runs, struct iforest_run *merged)
{
	struct iforest_run_builder *builder = iforest_allocate(store->alloc, sizeof *builder);
	struct iforest_run *runs = iforest_allocate(store->alloc, n_runs * sizeof *runs), made;
	enum iforest_status status = IFOREST_NO_MEMORY;

	if (builder && runs)
		status = copy_runs(manifest, run_ids, n_runs, runs);
	if (!status)
		status = build_merged(store, manifest, runs, n_runs, builder, &made);
	if (!status)
		status = replace(store, manifest, run_ids, runs, n_runs, &made);
	if (!status)
		*merged = made;
	iforest_release(store->alloc, runs);
	iforest_release(store->alloc, builder);
	return status;
}
