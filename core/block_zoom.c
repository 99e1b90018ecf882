#include "core/block_forest.h"
#include "core/forest_internal.h"

enum { BUCKETS_AT_ONCE = 64 };
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

/* By the entries at both ends of each bucket. starts[b] is the first block that begins at or after bounds[b]. */
static void zoom_by_entries(const struct iforest_block_forest *blocks, const int64_t *bounds, const uint64_t *starts, size_t n,
			    void *states)
{
	struct iforest_range ranges[BUCKETS_AT_ONCE];
	uint64_t positions[BUCKETS_AT_ONCE + 1];

	if ((starts[n] - starts[0]) << blocks->block_level <= FEW_ENTRIES * (uint64_t)n) {
		iforest_gallop_many(&blocks->entries.times, around(blocks, starts[0]).from, around(blocks, starts[n]).to, bounds,
				    n + 1, positions);
	} else {
		for (size_t b = 0; b <= n; b++)
			__builtin_prefetch((const uint8_t *)blocks->entries.times.first +
					   around(blocks, starts[b]).from * blocks->entries.times.stride);
		for (size_t b = 0; b <= n; b++)
			positions[b] = position(blocks, starts[b], bounds[b]);
	}
	for (size_t b = 0; b < n; b++)
		ranges[b] = (struct iforest_range){ positions[b], positions[b + 1] };
	iforest_block_forest_fold_many(blocks, ranges, n, states);
}

/* By whole blocks, and the nodes of those that bounds cut: entries are read only where these do not settle it. */
static void zoom_by_nodes(const struct iforest_block_forest *blocks, const int64_t *bounds, const uint64_t *starts, size_t n,
			  void *states)
{
	const struct iforest_forest *forest = &blocks->forest;
	const struct iforest_kind *kind = forest->kind;
	uint8_t *state = states;

	for (size_t b = 0; b < n; b++)
		iforest_forest_prefetch(forest, starts[b], starts[b + 1]);
	for (size_t b = 0; b < n; b++, state += kind->state_bytes) {
		uint64_t first = starts[b], last = starts[b + 1];

		if (last < forest->n_leaves && last > first + 1) {
			kind->identity(state);
			iforest_forest_add(forest, first, last - 1, state);
			if ((first == 0 || kind->absorbs(state, iforest_forest_slot(forest, 0, first - 1), true)) &&
			    kind->absorbs(state, iforest_forest_slot(forest, 0, last - 1), false))
				continue;
		}
		iforest_block_forest_fold(blocks, position(blocks, first, bounds[b]), position(blocks, last, bounds[b + 1]), state);
	}
}

void iforest_block_forest_zoom(const struct iforest_block_forest *blocks, const int64_t *bounds, size_t n_buckets, void *states)
{
	struct iforest_times times = block_times(blocks);
	uint64_t starts[BUCKETS_AT_ONCE + 1], from = 0;
	uint8_t *state = states;

	while (n_buckets > 0) {
		size_t n = n_buckets < BUCKETS_AT_ONCE ? n_buckets : BUCKETS_AT_ONCE;

		iforest_gallop_many(&times, from, blocks->forest.n_leaves, bounds, n + 1, starts);
		if (blocks->forest.kind->absorbs && starts[n] - starts[0] > FEW_BLOCKS * (uint64_t)n)
			zoom_by_nodes(blocks, bounds, starts, n, state);
		else
			zoom_by_entries(blocks, bounds, starts, n, state);
		from = starts[n];
		state += n * blocks->forest.kind->state_bytes;
		bounds += n;
		n_buckets -= n;
	}
}
