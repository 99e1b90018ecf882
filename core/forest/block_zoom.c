#include "core/forest/block_internal.h"

enum { BUCKETS_AT_ONCE = 256, AHEAD = 12 };
enum { EIGHTHS = 8, TIMES_A_LINE = 4 }; /* of a block, looked at first; in a cache line, about */

/* The entries among which a bound stands, when the first block that begins at or after it is known: those of the block it
 * cuts. */
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

/* ---- by entries ---- */

/* One pass over the entries of blocks [start - 1, end), but for what is beyond a block in any bucket. */
static void zoom_into_entries(const struct iforest_block_forest *blocks, uint64_t start, uint64_t end, const int64_t *bounds,
			      size_t n_buckets, uint8_t *state)
{
	const struct iforest_times times = blocks->entries.times;
	const struct iforest_kind *kind = blocks->forest.kind;
	uint64_t n_most = UINT64_C(1) << blocks->block_level, last = around(blocks, end).to;
	uint64_t at = position(blocks, start, bounds[0]);

	for (size_t b = 0; b < n_buckets; b++, state += kind->state_bytes) {
		uint64_t from = at, near = last - from < n_most ? last : from + n_most;

		at = iforest_pass(&times, from, near, bounds[b + 1]);
		if (at - from < n_most) {
			kind->identity(state);
			iforest_block_fold_after(blocks, from, at, state);
		} else {
			at = iforest_gallop(&times, at, last, at, bounds[b + 1]);
			iforest_block_forest_fold(blocks, from, at, state);
		}
	}
}

/* ---- positions of bounds in the blocks that they cut ---- */

/* Are bounds i - 1 and i in the same block? */
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

/* One time in each eighth of a block. */
static inline void prefetch_eighths(const struct stretch *stretch, size_t i)
{
	struct iforest_range block = around(stretch->blocks, stretch->starts[i]);

	prefetch_times(stretch, block.from, block.to, (block.to - block.from) / EIGHTHS + 1);
}

/* The eighth that bound i stands in, whose times are fetched. */
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

/* Of all wanted bounds together. One in the block of the one before, which must be wanted too, is looked for from there on. */
static void find_positions(struct stretch *stretch, const uint8_t *wanted)
{
	const struct iforest_times *times = &stretch->blocks->entries.times;
	struct iforest_range within[AHEAD];
	uint16_t searched[BUCKETS_AT_ONCE + 1];
	uint64_t *positions = stretch->positions;
	size_t n = 0;

	for (size_t i = 0; i <= stretch->n; i++)
		if (wanted[i] && !is_beside_last(stretch, i))
			searched[n++] = (uint16_t)i;
	for (size_t k = 0; k < n + 2 * AHEAD; k++) {
		if (k >= 2 * AHEAD) {
			size_t i = searched[k - 2 * AHEAD];

			positions[i] = iforest_search(times, within[k % AHEAD].from, within[k % AHEAD].to, stretch->bounds[i]);
		}
		if (k >= AHEAD && k < n + AHEAD)
			within[k % AHEAD] = narrow(stretch, searched[k - AHEAD]);
		if (k < n)
			prefetch_eighths(stretch, searched[k]);
	}
	for (size_t i = 1; i <= stretch->n; i++)
		if (wanted[i] && is_beside_last(stretch, i))
			positions[i] = iforest_gallop(times, positions[i - 1], around(stretch->blocks, stretch->starts[i]).to,
						      positions[i - 1], stretch->bounds[i]);
}

/* ---- by the entries at both ends of each bucket ---- */

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

/* ---- by whole blocks, and the parts of cut ones that matter ---- */

/* Of the block that a bound cuts: what is before the bound, what is not. */
enum { BEFORE = 1, AFTER = 2 };

/* A bucket's whole blocks; as the bound at its end cuts one, all from starts[b] on but that. */
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
	iforest_forest_list(forest, stretch->starts[b], stretch->starts[b + 1] - 1, listed);
	/* the cut block at the end, as that at the start is the last bucket's */
	__builtin_prefetch(iforest_forest_slot(forest, 0, stretch->starts[b + 1] - 1));
}

/* Does any part of the block that bound i cuts leave the state as it is? */
static inline bool is_absorbed(const struct stretch *stretch, size_t i, const void *state, bool from_left)
{
	const struct iforest_forest *forest = &stretch->blocks->forest;
	uint64_t start = stretch->starts[i];

	return start == 0 || (start < forest->n_leaves &&
			      forest->kind->absorbs(state, iforest_forest_slot(forest, 0, start - 1), from_left));
}

/* Folds the whole blocks of all buckets, and notes what else is wanted: all of a bucket that has none. */
static void add_whole_blocks(const struct stretch *stretch, uint8_t *states, uint8_t *wanted)
{
	const struct iforest_forest *forest = &stretch->blocks->forest;
	struct iforest_listed listed[AHEAD];

	wanted[0] = 0;
	for (size_t i = 0; i < stretch->n + AHEAD; i++) {
		if (i >= AHEAD) {
			size_t b = i - AHEAD;
			uint8_t *state = states + b * forest->kind->state_bytes;
			bool has_whole = has_whole_blocks(stretch, b);

			forest->kind->identity(state);
			iforest_forest_add_listed(forest, &listed[i % AHEAD], state);
			wanted[b] |= has_whole && is_absorbed(stretch, b, state, true) ? 0 : AFTER;
			wanted[b + 1] = has_whole && is_absorbed(stretch, b + 1, state, false) ? 0 : BEFORE;
		}
		if (i < stretch->n)
			list_whole_blocks(stretch, i, &listed[i % AHEAD]);
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

/* ---- all ---- */

/* Stretch by stretch, of blocks [start, last). */
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
