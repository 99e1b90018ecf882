#include "core/block_forest.h"

#include "core/bits.h"
#include "core/forest_internal.h"

enum { AHEAD = 4, CACHE_LINE = 64 };

enum iforest_status iforest_block_forest_init(struct iforest_block_forest *blocks, const struct iforest_kind *kind,
					      const struct iforest_alloc *alloc, enum iforest_growth growth,
					      const struct iforest_entries *entries, uint64_t block_entries)
{
	if (block_entries == 0)
		block_entries = IFOREST_DEFAULT_BLOCK;
	if (block_entries & (block_entries - 1))
		return IFOREST_ARGUMENT;
	*blocks = (struct iforest_block_forest){ .entries = *entries, .block_level = iforest_trailing_zeros(block_entries) };
	iforest_forest_init(&blocks->forest, kind, alloc, growth);
	return IFOREST_OK;
}

void iforest_block_forest_release(struct iforest_block_forest *blocks)
{
	iforest_forest_release(&blocks->forest);
	blocks->n_entries = 0;
}

/* ---- changing ---- */

struct block_maker {
	struct iforest_leaf_maker maker;
	const struct iforest_block_forest *blocks;
};

static void fold_block(const struct iforest_block_forest *blocks, uint64_t block, void *state)
{
	blocks->forest.kind->identity(state);
	blocks->entries.fold(blocks->entries.context, block << blocks->block_level, (block + 1) << blocks->block_level, state);
}

static void make_leaf(const struct iforest_leaf_maker *maker, uint64_t leaf, void *state)
{
	fold_block(((const struct block_maker *)maker)->blocks, leaf, state);
}

enum iforest_status iforest_block_forest_extend(struct iforest_block_forest *blocks, uint64_t n_entries, unsigned n_threads)
{
	struct block_maker maker = { .maker = { .make = make_leaf, .forest = &blocks->forest }, .blocks = blocks };
	enum iforest_status status = iforest_forest_extend(&blocks->forest, n_entries >> blocks->block_level, &maker.maker,
							   n_threads);

	if (!status)
		blocks->n_entries = n_entries;
	return status;
}

enum iforest_status iforest_block_forest_update(struct iforest_block_forest *blocks, uint64_t i)
{
	uint64_t block = i >> blocks->block_level;

	if (blocks->forest.is_mapped)
		return IFOREST_ARGUMENT;
	if (block >= blocks->forest.n_leaves)
		return IFOREST_OK;
	fold_block(blocks, block, iforest_forest_slot(&blocks->forest, 0, block));
	iforest_forest_renew(&blocks->forest, block);
	return IFOREST_OK;
}

enum iforest_status iforest_block_forest_truncate(struct iforest_block_forest *blocks, uint64_t n_entries)
{
	enum iforest_status status = iforest_forest_truncate(&blocks->forest, n_entries >> blocks->block_level);

	if (!status)
		blocks->n_entries = n_entries;
	return status;
}

/* ---- folding ---- */

/* The whole blocks of entries [from, to); none where first >= end. */
static inline struct iforest_range whole_blocks(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to)
{
	unsigned level = blocks->block_level;

	return (struct iforest_range){ (from + iforest_low_bits(level)) >> level, to >> level };
}

static inline void fold_entries(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to, void *state)
{
	if (from < to)
		blocks->entries.fold(blocks->entries.context, from, to, state);
}

static inline void add(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to, void *state)
{
	struct iforest_range whole = whole_blocks(blocks, from, to);

	if (whole.from >= whole.to) {
		fold_entries(blocks, from, to, state);
		return;
	}
	fold_entries(blocks, from, whole.from << blocks->block_level, state);
	iforest_forest_add(&blocks->forest, whole.from, whole.to, state);
	fold_entries(blocks, whole.to << blocks->block_level, to, state);
}

void iforest_block_forest_fold(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to, void *state)
{
	blocks->forest.kind->identity(state);
	add(blocks, from, to, state);
}

static inline void prefetch_entries(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to)
{
	const uint8_t *start = (const uint8_t *)blocks->entries.array + from * blocks->entries.entry_bytes;

	for (size_t at = 0; at < (to - from) * blocks->entries.entry_bytes; at += CACHE_LINE)
		__builtin_prefetch(start + at);
}

static inline void prefetch(const struct iforest_block_forest *blocks, const struct iforest_range *range)
{
	struct iforest_range whole = whole_blocks(blocks, range->from, range->to);

	if (whole.from >= whole.to) {
		if (blocks->entries.array)
			prefetch_entries(blocks, range->from, range->to);
		return;
	}
	iforest_forest_prefetch(&blocks->forest, whole.from, whole.to);
	if (blocks->entries.array) {
		prefetch_entries(blocks, range->from, whole.from << blocks->block_level);
		prefetch_entries(blocks, whole.to << blocks->block_level, range->to);
	}
}

void iforest_block_forest_fold_many(const struct iforest_block_forest *blocks, const struct iforest_range *ranges, size_t n,
				    void *states)
{
	uint8_t *state = states;

	for (size_t i = 0; i < n && i < AHEAD; i++)
		prefetch(blocks, &ranges[i]);
	for (size_t i = 0; i < n; i++, state += blocks->forest.kind->state_bytes) {
		if (i + AHEAD < n)
			prefetch(blocks, &ranges[i + AHEAD]);
		iforest_block_forest_fold(blocks, ranges[i].from, ranges[i].to, state);
	}
}

static void fold_many(const void *blocks, const struct iforest_range *ranges, size_t n, void *states)
{
	iforest_block_forest_fold_many(blocks, ranges, n, states);
}

void iforest_block_forest_zoom(const struct iforest_block_forest *blocks, const struct iforest_times *times,
			       const int64_t *bounds, size_t n_buckets, void *states)
{
	iforest_zoom(fold_many, blocks, blocks->n_entries, blocks->forest.kind->state_bytes, times, bounds, n_buckets, states);
}

/* ---- seeking ---- */

/* Entries one by one, from `from` on; `before` is the fold of those before it. */
static bool seek_entry(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to,
		       const struct iforest_predicate *predicate, uint64_t *i, void *before, void *with)
{
	size_t n_bytes = blocks->forest.kind->state_bytes;

	for (; from < to; from++) {
		memcpy(with, before, n_bytes);
		fold_entries(blocks, from, from + 1, with);
		if (predicate->holds(predicate->context, with)) {
			*i = from;
			return true;
		}
		memcpy(before, with, n_bytes);
	}
	return false;
}

bool iforest_block_forest_seek_first(const struct iforest_block_forest *blocks, uint64_t from,
				     const struct iforest_predicate *predicate, uint64_t *i, void *before, void *with)
{
	const struct iforest_forest *forest = &blocks->forest;
	uint64_t block = whole_blocks(blocks, from, from).from, rest = forest->n_leaves << blocks->block_level;

	forest->kind->identity(before);
	if (block < forest->n_leaves) {
		if (seek_entry(blocks, from, block << blocks->block_level, predicate, i, before, with))
			return true;
		if (iforest_forest_seek_on(forest, block, predicate, &block, before, with))
			return seek_entry(blocks, block << blocks->block_level, (block + 1) << blocks->block_level, predicate, i,
					  before, with);
		from = rest;
	}
	return seek_entry(blocks, from, blocks->n_entries, predicate, i, before, with);
}
