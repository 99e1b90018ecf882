#include "core/forest/block_internal.h"

#include "core/base/bits.h"

enum { AHEAD = 8, CACHE_LINE = 64 };

static inline uint64_t first_of(const struct iforest_block_forest *blocks, uint64_t block)
{
	return block << blocks->block_level;
}

enum iforest_status iforest_block_forest_init(struct iforest_block_forest *blocks, const struct iforest_kind *kind,
					      const struct iforest_alloc *alloc, enum iforest_growth growth,
					      const struct iforest_entries *entries, uint64_t block_entries)
{
	if (block_entries == 0)
		block_entries = IFOREST_DEFAULT_BLOCK;
	if (block_entries & (block_entries - 1) || !iforest_kind_fits(kind))
		return IFOREST_ARGUMENT;
	*blocks = (struct iforest_block_forest){ .entries = *entries, .block_level = iforest_trailing_zeros(block_entries),
						 .has_times = iforest_entries_have_times(entries) };
	iforest_forest_init(&blocks->forest, kind, alloc, growth);
	iforest_growing_init(&blocks->times, alloc, growth);
	return IFOREST_OK;
}

void iforest_block_forest_release(struct iforest_block_forest *blocks)
{
	if (!blocks->forest.is_mapped)
		iforest_growing_release(&blocks->times);
	blocks->times.bytes = NULL;
	iforest_forest_release(&blocks->forest);
	blocks->n_entries = 0;
}

/* ---- changing ---- */

struct block_maker {
	struct iforest_leaf_maker maker;
	struct iforest_block_forest *blocks;
};

static void make_block(struct iforest_block_forest *blocks, uint64_t block, void *state)
{
	blocks->forest.kind->identity(state);
	blocks->entries.fold(blocks->entries.context, first_of(blocks, block), first_of(blocks, block + 1), state);
	if (blocks->has_times)
		((int64_t *)(void *)blocks->times.bytes)[block] =
			iforest_time_at(&blocks->entries.times, first_of(blocks, block));
}

static void make_leaf(const struct iforest_leaf_maker *maker, uint64_t leaf, void *state)
{
	make_block(((const struct block_maker *)maker)->blocks, leaf, state);
}

enum iforest_status iforest_block_forest_extend(struct iforest_block_forest *blocks, uint64_t n_entries, unsigned n_threads)
{
	struct block_maker maker = { .maker = { .make = make_leaf, .forest = &blocks->forest }, .blocks = blocks };
	uint64_t n_blocks = n_entries >> blocks->block_level;
	enum iforest_status status = blocks->forest.is_mapped || n_entries < blocks->n_entries ? IFOREST_ARGUMENT : IFOREST_OK;

	if (!status && n_threads == 1 && n_blocks == blocks->forest.n_leaves) {
		blocks->n_entries = n_entries;
		return IFOREST_OK;
	}
	if (!status && blocks->has_times)
		status = iforest_growing_reserve(&blocks->times, n_blocks * sizeof(int64_t));
	if (!status)
		status = iforest_forest_extend(&blocks->forest, n_blocks, &maker.maker, n_threads);
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
	make_block(blocks, block, iforest_forest_slot(&blocks->forest, 0, block));
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

/* Whether a part of the block changes nothing if it is added to the state, from the left or from the right. */
static inline bool is_absorbed(const struct iforest_block_forest *blocks, uint64_t block, const void *state, bool from_left)
{
	const struct iforest_forest *forest = &blocks->forest;

	return block < forest->n_leaves && forest->kind->absorbs(state, iforest_forest_slot(forest, 0, block), from_left);
}

/* Whole blocks come first, in `state`: then most ends need not be looked at. */
static inline void add_ends(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to,
			    const struct iforest_range *whole, void *state)
{
	uint64_t first = first_of(blocks, whole->from), end = first_of(blocks, whole->to);

	if (end < to && !is_absorbed(blocks, whole->to, state, false))
		iforest_block_fold_after(blocks, end, to, state);
	if (from < first && !is_absorbed(blocks, whole->from - 1, state, true))
		iforest_block_fold_before(blocks, from, first, state);
}

/* The nodes of the whole blocks are listed, or not. */
static inline void fold(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to,
			const struct iforest_listed *listed, void *state)
{
	struct iforest_range whole = whole_blocks(blocks, from, to);
	bool is_first = blocks->forest.kind->absorbs != NULL;

	blocks->forest.kind->identity(state);
	if (whole.from >= whole.to) {
		iforest_block_fold_after(blocks, from, to, state);
		return;
	}
	if (!is_first)
		iforest_block_fold_after(blocks, from, first_of(blocks, whole.from), state);
	if (listed)
		iforest_forest_add_listed(&blocks->forest, listed, state);
	else
		iforest_forest_add(&blocks->forest, whole.from, whole.to, state);
	if (is_first)
		add_ends(blocks, from, to, &whole, state);
	else
		iforest_block_fold_after(blocks, first_of(blocks, whole.to), to, state);
}

void iforest_block_forest_fold(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to, void *state)
{
	fold(blocks, from, to, NULL, state);
}

static inline void prefetch_entries(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to)
{
	const uint8_t *start = (const uint8_t *)blocks->entries.array + from * blocks->entries.entry_bytes;

	for (size_t at = 0; at < (to - from) * blocks->entries.entry_bytes; at += CACHE_LINE)
		__builtin_prefetch(start + at);
}

static inline void prefetch(const struct iforest_block_forest *blocks, const struct iforest_range *range,
			    struct iforest_listed *listed)
{
	struct iforest_range whole = whole_blocks(blocks, range->from, range->to);
	bool has_array = blocks->entries.array != NULL;

	iforest_forest_list(&blocks->forest, whole.from, whole.to, listed);
	if (whole.from >= whole.to) {
		if (has_array)
			prefetch_entries(blocks, range->from, range->to);
	} else if (blocks->forest.kind->absorbs) {
		__builtin_prefetch(iforest_forest_slot(&blocks->forest, 0, whole.from - (whole.from > 0)));
		__builtin_prefetch(iforest_forest_slot(&blocks->forest, 0, whole.to - (whole.to == blocks->forest.n_leaves)));
	} else if (has_array) {
		prefetch_entries(blocks, range->from, first_of(blocks, whole.from));
		prefetch_entries(blocks, first_of(blocks, whole.to), range->to);
	}
}

void iforest_block_forest_fold_many(const struct iforest_block_forest *blocks, const struct iforest_range *ranges, size_t n,
				    void *states)
{
	struct iforest_listed listed[AHEAD];
	uint8_t *state = states;

	for (size_t i = 0; i < n + AHEAD; i++) {
		if (i >= AHEAD) {
			fold(blocks, ranges[i - AHEAD].from, ranges[i - AHEAD].to, &listed[i % AHEAD], state);
			state += blocks->forest.kind->state_bytes;
		}
		if (i < n)
			prefetch(blocks, &ranges[i], &listed[i % AHEAD]);
	}
}

/* ---- seeking ---- */

/* Entries one by one, from `from` on; `before` is the fold of those before it. */
static bool seek_entry(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to,
		       const struct iforest_predicate *predicate, uint64_t *i, void *before, void *with)
{
	size_t n_bytes = blocks->forest.kind->state_bytes;

	for (; from < to; from++) {
		memcpy(with, before, n_bytes);
		iforest_block_fold_after(blocks, from, from + 1, with);
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
	uint64_t block = whole_blocks(blocks, from, from).from;

	forest->kind->identity(before);
	if (block < forest->n_leaves) {
		if (seek_entry(blocks, from, first_of(blocks, block), predicate, i, before, with))
			return true;
		/* one after the other reals may add up to less than by blocks: then it comes true after the block */
		for (; iforest_forest_seek_on(forest, block, predicate, &block, before, with); block++)
			if (seek_entry(blocks, first_of(blocks, block), first_of(blocks, block + 1), predicate, i, before,
				       with))
				return true;
		from = first_of(blocks, forest->n_leaves);
	}
	return seek_entry(blocks, from, blocks->n_entries, predicate, i, before, with);
}
