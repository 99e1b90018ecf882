#include "core/forest/block_forest.h"

#include <string.h>

#include "core/base/bits.h"
#include "core/forest/slots.h"

/* state = state + entries [from, to), of which there may be none. */
static inline void iforest_block_fold_after(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to, void *state)
{
	if (from < to)
		blocks->entries.fold(blocks->entries.context, from, to, state);
}

/* state = entries [from, to) + state, of a kind that absorbs. */
static inline void iforest_block_fold_before(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to, void *state)
{
	const struct iforest_monoid *kind = blocks->forest.kind;
	uint64_t left[IFOREST_ABSORBING_BYTES / sizeof(uint64_t)];

	if (from >= to)
		return;
	kind->identity(left);
	blocks->entries.fold(blocks->entries.context, from, to, left);
	kind->combine(left, left, state);
	memcpy(state, left, kind->state_bytes);
}

enum { AHEAD = 8, CACHE_LINE = 64 };

static inline uint64_t first_of(const struct iforest_block_forest *blocks, uint64_t block)
{
	return block << blocks->block_level;
}

enum iforest_status iforest_block_forest_init(struct iforest_block_forest *blocks, const struct iforest_monoid *kind,
					      const struct iforest_alloc *alloc, enum iforest_growth growth,
					      const struct iforest_entries *entries, uint64_t block_entries)
{
	if (block_entries == 0)
		block_entries = IFOREST_DEFAULT_BLOCK;
	if (block_entries & (block_entries - 1) || !iforest_monoid_fits(kind))
		return IFOREST_ARGUMENT;
	*blocks = (struct iforest_block_forest){ .entries = *entries,
						 .block_level = iforest_trailing_zeros(block_entries),
						 .has_times = iforest_entries_have_times(entries) };
	iforest_forest_init(&blocks->forest, kind, alloc, growth);
	iforest_arena_init(&blocks->times, alloc, growth);
	return IFOREST_OK;
}

void iforest_block_forest_release(struct iforest_block_forest *blocks)
{
	if (!blocks->forest.is_mapped)
		iforest_arena_release(&blocks->times);
	blocks->times.bytes = NULL;
	iforest_forest_release(&blocks->forest);
	blocks->n_entries = 0;
}

/* ---- Changing ---- */

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
		status = iforest_arena_reserve(&blocks->times, n_blocks * sizeof(int64_t));
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

/* ---- Folding ---- */

/* The whole blocks of entries [from, to); none where first >= end. */
static inline struct iforest_range whole_blocks(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to)
{
	unsigned level = blocks->block_level;

	return (struct iforest_range){ (from + iforest_low_bits(level)) >> level, to >> level };
}

/* True if no part of the block changes the state when added to it, from the left or from the right. */
static inline bool is_absorbed(const struct iforest_block_forest *blocks, uint64_t block, const void *state, bool from_left)
{
	const struct iforest_forest *forest = &blocks->forest;

	return block < forest->n_leaves && forest->kind->absorbs(state, iforest_forest_slot(forest, 0, block), from_left);
}

/* Takes whole blocks first, so that most ends need not be read. */
static inline void add_ends(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to,
			    const struct iforest_range *whole, void *state)
{
	uint64_t first = first_of(blocks, whole->from), end = first_of(blocks, whole->to);

	if (end < to && !is_absorbed(blocks, whole->to, state, false))
		iforest_block_fold_after(blocks, end, to, state);
	if (from < first && !is_absorbed(blocks, whole->from - 1, state, true))
		iforest_block_fold_before(blocks, from, first, state);
}

/* Folds a range whose whole blocks are listed already, or not. */
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

	iforest_forest_list_nodes(&blocks->forest, whole.from, whole.to, listed);
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

/* ---- Seeking ---- */

/* Seeks entry by entry, from `from` on; `before` is the fold of those before it. */
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
		/* sums of reals may round to less one by one than by blocks; the predicate then holds after the block */
		for (; iforest_forest_seek_on(forest, block, predicate, &block, before, with); block++)
			if (seek_entry(blocks, first_of(blocks, block), first_of(blocks, block + 1), predicate, i, before,
				       with))
				return true;
		from = first_of(blocks, forest->n_leaves);
	}
	return seek_entry(blocks, from, blocks->n_entries, predicate, i, before, with);
}

/* ---- Zooming: many adjacent ranges ---- */

enum { BUCKETS_AT_ONCE = 256, SEARCHES_AHEAD = 12 };
enum { EIGHTHS = 8, TIMES_A_LINE = 4 }; /* of a block, looked at first; in a cache line, about */

/* Returns the entries of the block that a bound cuts, given the first block that begins at or after the bound. */
static inline struct iforest_range around(const struct iforest_block_forest *blocks, uint64_t start)
{
	return (struct iforest_range){ start ? (start - 1) << blocks->block_level : 0,
				       start < blocks->forest.n_leaves ? start << blocks->block_level : blocks->n_entries };
}

static inline uint64_t position(const struct iforest_block_forest *blocks, uint64_t start, int64_t bound)
{
	struct iforest_range range = around(blocks, start);

	return iforest_search(&blocks->entries.times, range.from, range.to, bound);
}

static struct iforest_times block_times(const struct iforest_block_forest *blocks)
{
	return (struct iforest_times){ blocks->times.bytes, sizeof(int64_t) };
}

uint64_t iforest_block_forest_find(const struct iforest_block_forest *blocks, int64_t time)
{
	struct iforest_times times = block_times(blocks);

	return position(blocks, iforest_search(&times, 0, blocks->forest.n_leaves, time), time);
}

/* A stretch of buckets. starts[i] is the first block that begins at or after bounds[i], positions[i] the first entry that does;
 * there are n + 1 of each. */
struct stretch {
	const struct iforest_block_forest *blocks;
	const int64_t *bounds;
	size_t n;
	uint64_t starts[BUCKETS_AT_ONCE + 1], positions[BUCKETS_AT_ONCE + 1];
};

/* ---- By entries ---- */

/* Passes the entries of blocks [start - 1, end) once, without those that are more than a block into any bucket. */
static void zoom_into_entries(const struct iforest_block_forest *blocks, uint64_t start, uint64_t end, const int64_t *bounds,
			      size_t n_buckets, uint8_t *state)
{
	const struct iforest_times times = blocks->entries.times;
	const struct iforest_monoid *kind = blocks->forest.kind;
	uint64_t n_most = UINT64_C(1) << blocks->block_level, last = around(blocks, end).to;
	uint64_t at = position(blocks, start, bounds[0]);

	for (size_t b = 0; b < n_buckets; b++, state += kind->state_bytes) {
		uint64_t from = at, near = last - from < n_most ? last : from + n_most;

		at = iforest_linear_search(&times, from, near, bounds[b + 1]);
		if (at - from < n_most) {
			kind->identity(state);
			iforest_block_fold_after(blocks, from, at, state);
		} else {
			at = iforest_gallop(&times, at, last, at, bounds[b + 1]);
			iforest_block_forest_fold(blocks, from, at, state);
		}
	}
}

/* ---- Positions of bounds in the blocks that they cut ---- */

/* True if bounds i - 1 and i are in the same block. */
static inline bool is_beside_last(const struct stretch *stretch, size_t i)
{
	return i > 0 && stretch->starts[i] == stretch->starts[i - 1];
}

static inline void prefetch_times(const struct stretch *stretch, uint64_t from, uint64_t to, uint64_t step)
{
	const struct iforest_times *times = &stretch->blocks->entries.times;

	for (; from < to; from += step)
		__builtin_prefetch((const uint8_t *)times->first + from * times->stride);
}

/* Prefetches one time in each eighth of a block. */
static inline void prefetch_eighths(const struct stretch *stretch, size_t i)
{
	struct iforest_range block = around(stretch->blocks, stretch->starts[i]);

	prefetch_times(stretch, block.from, block.to, (block.to - block.from) / EIGHTHS + 1);
}

/* Finds the eighth of a block that bound i is in, and prefetches its times. */
static inline struct iforest_range narrow(const struct stretch *stretch, size_t i)
{
	const struct iforest_times *times = &stretch->blocks->entries.times;
	struct iforest_range block = around(stretch->blocks, stretch->starts[i]);
	uint64_t step = (block.to - block.from) / EIGHTHS + 1;
	struct iforest_times apart = { (const uint8_t *)times->first + block.from * times->stride, step * times->stride };
	uint64_t eighth = iforest_search(&apart, 0, (block.to - block.from + step - 1) / step, stretch->bounds[i]);

	if (eighth > 0)
		block.from += (eighth - 1) * step;
	if (block.to - block.from > step)
		block.to = block.from + step;
	prefetch_times(stretch, block.from, block.to, TIMES_A_LINE);
	return block;
}

/* Finds the positions of all wanted bounds together. A bound in the block of the one before, which must be wanted too, is
 * sought from there on. */
static void find_positions(struct stretch *stretch, const uint8_t *wanted)
{
	const struct iforest_times *times = &stretch->blocks->entries.times;
	struct iforest_range within[SEARCHES_AHEAD];
	uint16_t searched[BUCKETS_AT_ONCE + 1];
	uint64_t *positions = stretch->positions;
	size_t n = 0;

	for (size_t i = 0; i <= stretch->n; i++)
		if (wanted[i] && !is_beside_last(stretch, i))
			searched[n++] = (uint16_t)i;
	for (size_t k = 0; k < n + 2 * SEARCHES_AHEAD; k++) {
		if (k >= 2 * SEARCHES_AHEAD) {
			size_t i = searched[k - 2 * SEARCHES_AHEAD];

			positions[i] = iforest_search(times, within[k % SEARCHES_AHEAD].from, within[k % SEARCHES_AHEAD].to,
						      stretch->bounds[i]);
		}
		if (k >= SEARCHES_AHEAD && k < n + SEARCHES_AHEAD)
			within[k % SEARCHES_AHEAD] = narrow(stretch, searched[k - SEARCHES_AHEAD]);
		if (k < n)
			prefetch_eighths(stretch, searched[k]);
	}
	for (size_t i = 1; i <= stretch->n; i++)
		if (wanted[i] && is_beside_last(stretch, i))
			positions[i] = iforest_gallop(times, positions[i - 1], around(stretch->blocks, stretch->starts[i]).to,
						      positions[i - 1], stretch->bounds[i]);
}

/* ---- By the entries at both ends of each bucket ---- */

static void zoom_by_ends(struct stretch *stretch, uint8_t *states)
{
	struct iforest_range ranges[BUCKETS_AT_ONCE];
	uint8_t wanted[BUCKETS_AT_ONCE + 1];

	memset(wanted, true, sizeof wanted);
	find_positions(stretch, wanted);
	for (size_t b = 0; b < stretch->n; b++)
		ranges[b] = (struct iforest_range){ stretch->positions[b], stretch->positions[b + 1] };
	iforest_block_forest_fold_many(stretch->blocks, ranges, stretch->n, states);
}

/* ---- By whole blocks, and the parts of cut ones that matter ---- */

/* The parts of a cut block: before the bound, and after it. */
enum { BEFORE = 1, AFTER = 2 };

/* True if bucket b has whole blocks: those from starts[b] on, except the one that the bound at its end cuts. */
static inline bool has_whole_blocks(const struct stretch *stretch, size_t b)
{
	return stretch->starts[b + 1] > stretch->starts[b] + 1;
}

static inline void list_whole_blocks(const struct stretch *stretch, size_t b, struct iforest_listed *listed)
{
	const struct iforest_forest *forest = &stretch->blocks->forest;

	listed->n = 0;
	if (!has_whole_blocks(stretch, b))
		return;
	iforest_forest_list_nodes(forest, stretch->starts[b], stretch->starts[b + 1] - 1, listed);
	/* the cut block at the end; that at the start belongs to the last bucket */
	__builtin_prefetch(iforest_forest_slot(forest, 0, stretch->starts[b + 1] - 1));
}

/* True if no part of the block that bound i cuts changes the state. */
static inline bool is_bucket_absorbed(const struct stretch *stretch, size_t i, const void *state, bool from_left)
{
	const struct iforest_forest *forest = &stretch->blocks->forest;
	uint64_t start = stretch->starts[i];

	return start == 0 ||
	       (start < forest->n_leaves && forest->kind->absorbs(state, iforest_forest_slot(forest, 0, start - 1), from_left));
}

/* Folds the whole blocks of all buckets, and notes the parts that are needed besides: all of a bucket without whole blocks. */
static void add_whole_blocks(const struct stretch *stretch, uint8_t *states, uint8_t *wanted)
{
	const struct iforest_forest *forest = &stretch->blocks->forest;
	struct iforest_listed listed[SEARCHES_AHEAD];

	wanted[0] = 0;
	for (size_t i = 0; i < stretch->n + SEARCHES_AHEAD; i++) {
		if (i >= SEARCHES_AHEAD) {
			size_t b = i - SEARCHES_AHEAD;
			uint8_t *state = states + b * forest->kind->state_bytes;
			bool has_whole = has_whole_blocks(stretch, b);

			forest->kind->identity(state);
			iforest_forest_add_listed(forest, &listed[i % SEARCHES_AHEAD], state);
			wanted[b] |= has_whole && is_bucket_absorbed(stretch, b, state, true) ? 0 : AFTER;
			wanted[b + 1] = has_whole && is_bucket_absorbed(stretch, b + 1, state, false) ? 0 : BEFORE;
		}
		if (i < stretch->n)
			list_whole_blocks(stretch, i, &listed[i % SEARCHES_AHEAD]);
	}
}

static void add_parts(const struct stretch *stretch, size_t b, const uint8_t *wanted, uint8_t *state)
{
	const struct iforest_block_forest *blocks = stretch->blocks;
	uint64_t from = stretch->positions[b], to = stretch->positions[b + 1];

	if (!has_whole_blocks(stretch, b)) {
		iforest_block_fold_after(blocks, from, to, state);
		return;
	}
	if (wanted[b + 1] & BEFORE)
		iforest_block_fold_after(blocks, around(blocks, stretch->starts[b + 1]).from, to, state);
	if (wanted[b] & AFTER)
		iforest_block_fold_before(blocks, from, around(blocks, stretch->starts[b]).to, state);
}

/* Bounds in one block have no whole block between them: both are wanted, as find_positions() needs. */
static void zoom_by_nodes(struct stretch *stretch, uint8_t *states)
{
	uint8_t wanted[BUCKETS_AT_ONCE + 1];

	add_whole_blocks(stretch, states, wanted);
	find_positions(stretch, wanted);
	for (size_t b = 0; b < stretch->n; b++)
		add_parts(stretch, b, wanted, states + b * stretch->blocks->forest.kind->state_bytes);
}

/* ---- All ---- */

/* Zooms stretch by stretch over blocks [start, last). */
static void zoom_out(const struct iforest_block_forest *blocks, uint64_t start, uint64_t last, const int64_t *bounds,
		     size_t n_buckets, uint8_t *state)
{
	struct stretch stretch = { .blocks = blocks, .bounds = bounds };
	struct iforest_times times = block_times(blocks);
	uint64_t n_begun = 0, end;

	for (; n_buckets > 0; n_buckets -= stretch.n) {
		stretch.n = n_buckets < BUCKETS_AT_ONCE ? n_buckets : BUCKETS_AT_ONCE;
		/* as many blocks may be expected as in the last stretch */
		end = iforest_gallop(&times, start, last, n_begun < last - start ? start + n_begun : last,
				     stretch.bounds[stretch.n]);
		n_begun = end - start;
		if (n_begun <= stretch.n) {
			zoom_into_entries(blocks, start, end, stretch.bounds, stretch.n, state);
		} else {
			iforest_gallop_many(&times, start, end, stretch.bounds, stretch.n + 1, stretch.starts);
			if (blocks->forest.kind->absorbs)
				zoom_by_nodes(&stretch, state);
			else
				zoom_by_ends(&stretch, state);
		}
		start = end;
		state += stretch.n * blocks->forest.kind->state_bytes;
		stretch.bounds += stretch.n;
	}
}

void iforest_block_forest_zoom(const struct iforest_block_forest *blocks, const int64_t *bounds, size_t n_buckets, void *states)
{
	struct iforest_times times = block_times(blocks);
	uint64_t start = iforest_search(&times, 0, blocks->forest.n_leaves, bounds[0]);
	uint64_t end = iforest_gallop(&times, start, blocks->forest.n_leaves, start, bounds[n_buckets]);

	if (end - start <= n_buckets)
		zoom_into_entries(blocks, start, end, bounds, n_buckets, states);
	else
		zoom_out(blocks, start, end, bounds, n_buckets, states);
}
