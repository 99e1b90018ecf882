/* bench/forest/structure.h -- Interface of the structures that are compared: over the same array of events they find the
 * longest event of a range.
 *
 * The array is the caller's and is not counted: bytes() is what a structure adds to it. All but those called "forest" and
 * "block forest" are written here for comparison only.
 */
#ifndef BENCH_FOREST_STRUCTURE_H
#define BENCH_FOREST_STRUCTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/forest/events.h"
#include "core/forest/forest.h"

struct structure {
	const char *name;
	uint64_t most_events;   /* it would need too much for more; 0: any number */
	bool is_slow;           /* asked less often */
	bool appends;           /* extend() may be called again and again, with one event more each time */
	bool has_threads;
	const void *options;    /* for create() */

	void *(*create)(const void *options, const struct event *events);
	void (*extend)(void *self, uint64_t n_events, unsigned n_threads); /* it stands over the first n_events now */
	void (*destroy)(void *self);
	uint64_t (*bytes)(const void *self);
	uint64_t (*n_moved)(const void *self); /* bytes copied so far because memory had to move; NULL: none */

	struct longest (*fold)(const void *self, uint64_t from, uint64_t to);
	/* NULL: one after the other */
	void (*fold_many)(const void *self, const struct iforest_range *ranges, size_t n, struct longest *answers);
	/* Answer p is of the times [bounds[p], bounds[p + 1]). NULL: two binary searches and a fold for each. */
	void (*zoom)(const void *self, const int64_t *bounds, size_t n_pixels, struct longest *answers);
};

extern const struct structure textbook, scan, segment_tree, wide_tree, pointer_tree, b_tree, sparse_table,
	sparse_table_of_blocks;
extern const struct structure forest, block_forest, block_forest_16, block_forest_32, block_forest_64, block_forest_256,
	block_forest_moving, block_forest_unsure;

/* The second question, the sum of durations: it can be subtracted, so that prefixes are enough. */
struct sum_structure {
	const char *name;
	void *(*create)(const struct event *events, uint64_t n);
	void (*destroy)(void *self);
	uint64_t (*bytes)(const void *self);
	uint64_t (*sum)(const void *self, uint64_t from, uint64_t to);
};

extern const struct sum_structure fenwick_tree, prefix_sums, sum_block_forest;

/* Memory or the end of the program; and the same for the forests. */
void *get_memory(void *old, size_t n_bytes);
extern const struct iforest_alloc libc_alloc;

#endif
