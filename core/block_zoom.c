#include "core/block_forest.h"
#include "core/forest_internal.h"

enum { BUCKETS_AT_ONCE = 256, AHEAD = 12 };
enum { FEW_ENTRIES = 16, FEW_BLOCKS = 4 }; /* a bucket */

/* The entries among which a bound stands, when the first block that begins at or after it is known. */
static inline struct iforest_range around(const struct iforest_block_forest *blocks, uint64_t block)
{
	return (struct iforest_range){ block ? (block - 1) << blocks->block_level : 0,
				       block < blocks->forest.n_leaves ? block << blocks->block_level : blocks->n_entries };
}

static inline uint64_t position(const struct iforest_block_forest *blocks, uint64_t block, int64_t bound)
{
	struct iforest_range range = around(blocks, block);

	return iforest_gallop(&blocks->entries.times, range.from, range.to, range.from + (range.to - range.from) / 2, bound);
}

static struct iforest_times block_times(const struct iforest_block_forest *blocks)
{
	return (struct iforest_times){ blocks->times.bytes, sizeof(int64_t) };
}

uint64_t iforest_block_forest_find(const struct iforest_block_forest *blocks, int64_t time)
{
	struct iforest_times times = block_times(blocks);
	uint64_t block = iforest_gallop(&times, 0, blocks->forest.n_leaves, 0, time);

	return position(blocks, block, time);
}

/* A stretch of buckets. starts[b] is the first block that begins at or after bounds[b]; there are n + 1 of both. */
struct stretch {
	const struct iforest_block_forest *blocks;
	const int64_t *bounds;
	size_t n;
	uint64_t starts[BUCKETS_AT_ONCE + 1];
};

/* ---- by entries ---- */

/* One pass over entries [at, end). */
static void zoom_into_entries(const struct stretch *stretch, uint64_t at, uint64_t end, uint8_t *state)
{
	const struct iforest_block_forest *blocks = stretch->blocks;
	const struct iforest_times times = blocks->entries.times;
	const struct iforest_kind *kind = blocks->forest.kind;
	uint64_t n_most = UINT64_C(1) << blocks->block_level;

	for (size_t b = 0; b < stretch->n; b++, state += kind->state_bytes) {
		uint64_t from = at;

		while (at < end && iforest_time_at(&times, at) < stretch->bounds[b + 1])
			at++;
		if (at - from >= n_most) {
			iforest_block_forest_fold(blocks, from, at, state);
			continue;
		}
		kind->identity(state);
		if (from < at)
			blocks->entries.fold(blocks->entries.context, from, at, state);
	}
}

/* ---- by the entries at both ends of each bucket ---- */

static void prefetch_times(const struct stretch *stretch, size_t b)
{
	const struct iforest_times *times = &stretch->blocks->entries.times;
	struct iforest_range range = around(stretch->blocks, stretch->starts[b]);

	__builtin_prefetch((const uint8_t *)times->first + (range.from + (range.to - range.from) / 2) * times->stride);
}

static void zoom_by_ends(const struct stretch *stretch, uint8_t *states)
{
	struct iforest_range ranges[BUCKETS_AT_ONCE];
	uint64_t from;

	for (size_t b = 0; b <= stretch->n && b < AHEAD; b++)
		prefetch_times(stretch, b);
	from = position(stretch->blocks, stretch->starts[0], stretch->bounds[0]);
	for (size_t b = 0; b < stretch->n; b++) {
		if (b + AHEAD <= stretch->n)
			prefetch_times(stretch, b + AHEAD);
		ranges[b].from = from;
		from = position(stretch->blocks, stretch->starts[b + 1], stretch->bounds[b + 1]);
		ranges[b].to = from;
	}
	iforest_block_forest_fold_many(stretch->blocks, ranges, stretch->n, states);
}

/* ---- by whole blocks and the nodes of those that bounds cut ---- */

/* A bucket's whole blocks; none where it has too few for that, or its end is not in a block. */
static inline void list_whole_blocks(const struct stretch *stretch, size_t b, struct iforest_listed *listed)
{
	uint64_t first = stretch->starts[b], last = stretch->starts[b + 1];

	listed->n = 0;
	if (last >= stretch->blocks->forest.n_leaves || last <= first + 1)
		return;
	iforest_forest_list(&stretch->blocks->forest, first, last - 1, listed);
	/* the cut block at the end, as that at the start is the last bucket's */
	__builtin_prefetch(iforest_forest_slot(&stretch->blocks->forest, 0, last - 1));
}

/* Is the fold of the whole blocks the answer, whatever stands at the ends? */
static inline bool settles(const struct stretch *stretch, size_t b, const void *state)
{
	const struct iforest_forest *forest = &stretch->blocks->forest;
	uint64_t first = stretch->starts[b], last = stretch->starts[b + 1];

	return (first == 0 || forest->kind->absorbs(state, iforest_forest_slot(forest, 0, first - 1), true)) &&
	       forest->kind->absorbs(state, iforest_forest_slot(forest, 0, last - 1), false);
}

/* Ends that matter are fetched, and looked at when all else has been done. */
static void zoom_by_nodes(const struct stretch *stretch, uint8_t *states)
{
	const struct iforest_block_forest *blocks = stretch->blocks;
	const struct iforest_kind *kind = blocks->forest.kind;
	struct iforest_listed listed[AHEAD];
	uint16_t open[BUCKETS_AT_ONCE];
	size_t n_open = 0;

	for (size_t i = 0; i < stretch->n + AHEAD; i++) {
		struct iforest_listed *whole = &listed[i % AHEAD];
		size_t b = i - AHEAD;

		if (i >= AHEAD) {
			kind->identity(states + b * kind->state_bytes);
			iforest_forest_add_listed(&blocks->forest, whole, states + b * kind->state_bytes);
			if (whole->n == 0 || !settles(stretch, b, states + b * kind->state_bytes)) {
				open[n_open++] = (uint16_t)b;
				prefetch_times(stretch, b);
				prefetch_times(stretch, b + 1);
			}
		}
		if (i < stretch->n)
			list_whole_blocks(stretch, i, whole);
	}
	for (size_t i = 0; i < n_open; i++) {
		size_t b = open[i];

		iforest_block_forest_fold(blocks, position(blocks, stretch->starts[b], stretch->bounds[b]),
					  position(blocks, stretch->starts[b + 1], stretch->bounds[b + 1]),
					  states + b * kind->state_bytes);
	}
}

void iforest_block_forest_zoom(const struct iforest_block_forest *blocks, const int64_t *bounds, size_t n_buckets, void *states)
{
	struct stretch stretch = { .blocks = blocks, .bounds = bounds };
	struct iforest_times times = block_times(blocks);
	uint64_t from = 0, n_begun = 0, n_blocks = blocks->forest.n_leaves;
	uint8_t *state = states;

	for (; n_buckets > 0; n_buckets -= stretch.n) {
		/* as many blocks may be expected as in the last stretch */
		uint64_t guess = n_begun < n_blocks - from ? from + n_begun : n_blocks, end;

		stretch.n = n_buckets < BUCKETS_AT_ONCE ? n_buckets : BUCKETS_AT_ONCE;
		end = iforest_gallop(&times, from, n_blocks, guess, stretch.bounds[stretch.n]);
		iforest_gallop_many(&times, from, end, stretch.bounds, stretch.n + 1, stretch.starts);
		from = stretch.starts[stretch.n];
		n_begun = from - stretch.starts[0];
		if (blocks->forest.kind->absorbs && n_begun > FEW_BLOCKS * (uint64_t)stretch.n) {
			zoom_by_nodes(&stretch, state);
		} else {
			uint64_t first = position(blocks, stretch.starts[0], stretch.bounds[0]);
			uint64_t last = position(blocks, stretch.starts[stretch.n], stretch.bounds[stretch.n]);

			if (last - first <= FEW_ENTRIES * (uint64_t)stretch.n)
				zoom_into_entries(&stretch, first, last, state);
			else
				zoom_by_ends(&stretch, state);
		}
		state += stretch.n * blocks->forest.kind->state_bytes;
		stretch.bounds += stretch.n;
	}
}
