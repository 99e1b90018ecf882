/* forest/block_forest.h -- In-memory forest over blocks of entries that the caller keeps.
 *
 *      entries    |................|................|................|....       the caller's, in an array or elsewhere
 *      forest      leaf 0           leaf 1           leaf 2           none yet: the block is not full
 *      times       first time       first time       first time                  of each block, where entries have times
 *
 * A fold takes whole blocks from the forest, and asks the caller to fold the entries at both ends, unless the kind can tell
 * that they do not matter (monoid.h, absorbs). A forest costs two states and a time for each block: with 128 entries of 32
 * bytes and a state of 32 bytes, 1.8 % of the size of the entries.
 */
#ifndef IFOREST_FOREST_BLOCK_FOREST_H
#define IFOREST_FOREST_BLOCK_FOREST_H

#include "core/forest/forest.h"

/* The caller's entries. */
struct iforest_entries {
	/* state = state + entries [from, to), in order; from < to. Called concurrently if several threads extend or fold. */
	void (*fold)(void *context, uint64_t from, uint64_t to, void *state);
	void *context;
	/* Location of the entries; the caller may change array and times.first when they move. */
	const void *array; /* entries entry_bytes apart, for prefetching; NULL: not in an array */
	size_t entry_bytes;
	struct iforest_times times; /* of the entries, ascending; both members 0: they have none */
};

struct iforest_block_forest {
	struct iforest_forest forest;
	struct iforest_arena times; /* int64: the time of each block's first entry */
	struct iforest_entries entries;
	uint64_t n_entries;
	unsigned block_level; /* a block has 2^block_level entries */
	bool has_times;
};

static inline bool iforest_entries_have_times(const struct iforest_entries *entries)
{
	return entries->times.first || entries->times.stride;
}

#define IFOREST_DEFAULT_BLOCK 128

/* Starts an empty forest. block_entries is a power of two, or 0 for the default. The kind's lift is not used.
 * Errors  IFOREST_ARGUMENT: not a power of two, or a state too large for a kind that absorbs (monoid.h). */
enum iforest_status iforest_block_forest_init(struct iforest_block_forest *blocks, const struct iforest_monoid *kind,
					      const struct iforest_alloc *alloc, enum iforest_growth growth,
					      const struct iforest_entries *entries, uint64_t block_entries);
void iforest_block_forest_release(struct iforest_block_forest *blocks);

/* Tells the forest that there are n_entries >= blocks->n_entries entries now; n_threads threads fold the blocks that have
 * become full.
 * Cost    each entry is folded once, and on average there is one combine per block.
 * Errors  IFOREST_NO_MEMORY; IFOREST_ARGUMENT: the forest reads an image, there are fewer entries than before, or n_threads is
 *         not 1 to IFOREST_MAX_THREADS. The forest is then unchanged. */
enum iforest_status iforest_block_forest_extend(struct iforest_block_forest *blocks, uint64_t n_entries, unsigned n_threads);

/* Tells the forest that entry i has changed, its time included.
 * Cost  its block is folded again, and log2(number of blocks) combines. */
enum iforest_status iforest_block_forest_update(struct iforest_block_forest *blocks, uint64_t i);

/* Drops all but the first n_entries <= blocks->n_entries entries. Cost: O(1). */
enum iforest_status iforest_block_forest_truncate(struct iforest_block_forest *blocks, uint64_t n_entries);

/* Like the functions of forest.h, over entries instead of leaves.
 * Cost  the combines of the forest, and at most two calls of entries.fold() for fewer than two blocks of entries in all; a
 *       seek folds the entries of one block one by one. */
void iforest_block_forest_fold(const struct iforest_block_forest *blocks, uint64_t from, uint64_t to, void *state);
void iforest_block_forest_fold_many(const struct iforest_block_forest *blocks, const struct iforest_range *ranges, size_t n,
				    void *states);
bool iforest_block_forest_seek_first(const struct iforest_block_forest *blocks, uint64_t from,
				     const struct iforest_predicate *predicate, uint64_t *i, void *before, void *with);

/* Returns the position of the first entry whose time is not before `time`; n_entries if there is none. Requires times. */
uint64_t iforest_block_forest_find(const struct iforest_block_forest *blocks, int64_t time);

/* Writes the folds of adjacent buckets: state b is that of the entries whose time lies in [bounds[b], bounds[b + 1]), b <
 * n_buckets.
 * Requires  times; n_buckets + 1 ascending bounds.
 * Cost      O(log n), and for each bucket its entries if it has less than a block of them; otherwise O(log w), where w is the
 *           number of blocks in the window, and the entries of the blocks that its bounds cut (for a kind that absorbs, only
 *           those that matter). */
void iforest_block_forest_zoom(const struct iforest_block_forest *blocks, const int64_t *bounds, size_t n_buckets,
			       void *states);

#endif
