/* forest/forest.h -- In-memory forest: append in amortised O(1), fold any range in O(log n), in one array without pointers.
 *
 * The layout of the array of 2n slots is drawn in slots.h. Order is kept, so a kind's combine need only be associative. For
 * forests over blocks of entries that the caller keeps, see block_forest.h.
 *
 * Several threads may fold at once as long as none changes the forest.
 *
 *   struct iforest_forest forest;
 *
 *   iforest_forest_init(&forest, &iforest_monoid_max_int64, &alloc, IFOREST_GROW_IN_PLACE);
 *   for (each sample)
 *           status = iforest_forest_append(&forest, &sample);
 *   iforest_forest_fold(&forest, from, to, &state);
 *   iforest_forest_release(&forest);
 */
#ifndef IFOREST_FOREST_FOREST_H
#define IFOREST_FOREST_FOREST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/platform.h"
#include "core/forest/arena.h"
#include "core/forest/search.h"
#include "core/forest/slots.h"
#include "core/model/monoid.h"

struct iforest_forest {
	const struct iforest_monoid *kind;
	struct iforest_arena slots;
	uint64_t n_leaves;
	bool is_mapped; /* reads an image (image.h); cannot be changed */
};

/* Starts an empty forest, without memory. kind and alloc must outlive it. */
void iforest_forest_init(struct iforest_forest *forest, const struct iforest_monoid *kind, const struct iforest_alloc *alloc,
			 enum iforest_growth growth);

/* Frees the memory; the forest must be initialised again before use. */
void iforest_forest_release(struct iforest_forest *forest);

/* ---- Changes. All fail with IFOREST_ARGUMENT if the forest reads an image ---- */

/* Appends a leaf, lifted from the sample.
 * Cost    one combine on average, at most log2(n).
 * Errors  IFOREST_NO_MEMORY; the forest is then unchanged. */
enum iforest_status iforest_forest_append(struct iforest_forest *forest, const void *sample);

/* Appends n leaves from an array of samples, sample_bytes apart, with n_threads threads (1 to IFOREST_MAX_THREADS).
 * The slots are bit for bit those of n appends, whatever the number of threads. With more than one thread, lift and combine are
 * called concurrently.
 * Errors  IFOREST_NO_MEMORY; IFOREST_ARGUMENT: n_threads is out of range. The forest is then unchanged. */
enum iforest_status iforest_forest_append_many(struct iforest_forest *forest, const void *samples, size_t sample_bytes,
					       uint64_t n, unsigned n_threads);

/* Replaces leaf i < n_leaves. Cost: at most log2(n) combines. */
enum iforest_status iforest_forest_update(struct iforest_forest *forest, uint64_t i, const void *sample);

/* Keeps the first n_leaves <= forest->n_leaves leaves. Cost: O(1); memory is kept for later appends. */
enum iforest_status iforest_forest_truncate(struct iforest_forest *forest, uint64_t n_leaves);

/* ---- Reading ---- */

/* Writes the fold of leaves [from, to) in order to *state; the identity when from == to.
 * Requires  from <= to <= n_leaves.
 * Cost      at most 2 log2(to - from) + 1 combines. */
void iforest_forest_fold(const struct iforest_forest *forest, uint64_t from, uint64_t to, void *state);

/* Writes the folds of n ranges to states, kind->state_bytes apart. Prefetches slots, so that cache misses overlap. */
struct iforest_range {
	uint64_t from, to;
};

void iforest_forest_fold_many(const struct iforest_forest *forest, const struct iforest_range *ranges, size_t n, void *states);

/* Writes the folds of adjacent buckets: state b is that of the leaves whose time lies in [bounds[b], bounds[b + 1]), b <
 * n_buckets.
 * Requires  ascending times of all n_leaves leaves; n_buckets + 1 ascending bounds.
 * Cost      for a window of w leaves: O(w + log n) if they are few, else O(log w) per bucket. */
void iforest_forest_zoom(const struct iforest_forest *forest, const struct iforest_times *times, const int64_t *bounds,
			 size_t n_buckets, void *states);

/* A predicate over folds. */
struct iforest_predicate {
	bool (*holds)(void *context, const void *state);
	void *context;
};

/* Finds the first position i >= from at which the predicate holds for the fold of leaves [from, i]. Once true, the predicate
 * must stay true as leaves are added. `before` is the fold of [from, i), `with` that of [from, i].
 * Returns   false if there is no such position; then `before` is the fold of [from, n_leaves).
 * Requires  from <= n_leaves; `before` and `with` have room for a state each, and do not overlap.
 * Cost      at most 2 log2(n) + 2 combines and calls of the predicate. */
bool iforest_forest_seek_first(const struct iforest_forest *forest, uint64_t from, const struct iforest_predicate *predicate,
			       uint64_t *i, void *before, void *with);

/* Finds the last position i < to at which the predicate holds for the fold of leaves [i, to). `after` is the fold of (i, to),
 * `with` that of [i, to). Without such a position returns false, and `after` is the fold of [0, to). Otherwise like
 * iforest_forest_seek_first(). */
bool iforest_forest_seek_last(const struct iforest_forest *forest, uint64_t to, const struct iforest_predicate *predicate,
			      uint64_t *i, void *after, void *with);

/* Iterates over the nodes whose fold is that of [from, to), from left to right:
 *
 *   struct iforest_cover cover = { .from = from, .to = to };
 *   while (iforest_forest_cover_next(&forest, &cover)) ... cover.state is of leaves [cover.first, cover.from) */
struct iforest_cover {
	uint64_t from, to; /* the rest */
	uint64_t first;	   /* first leaf of the node */
	unsigned level;	   /* the node has 2^level leaves */
	const void *state;
};

bool iforest_forest_cover_next(const struct iforest_forest *forest, struct iforest_cover *cover);

/* Returns the bytes of memory that n leaves need. */
static inline uint64_t iforest_forest_bytes(const struct iforest_monoid *kind, uint64_t n_leaves)
{
	return n_leaves ? (2 * n_leaves - 1) * kind->state_bytes : 0;
}

/* ---- For forests built over a forest (block_forest.h) ---- */

static inline void *iforest_forest_slot(const struct iforest_forest *forest, unsigned level, uint64_t group)
{
	return forest->slots.bytes + iforest_slot(level, group) * forest->kind->state_bytes;
}

static inline const void *iforest_forest_node(const struct iforest_forest *forest, uint64_t at, uint64_t width)
{
	return forest->slots.bytes + (2 * at + width - 1) * forest->kind->state_bytes;
}

/* state = state + leaves [from, to). */
static inline void iforest_forest_add(const struct iforest_forest *forest, uint64_t from, uint64_t to, void *state)
{
	void (*combine)(void *, const void *, const void *) = forest->kind->combine;
	uint64_t middle, rest, width;

	if (from >= to)
		return;
	middle = iforest_cover_middle(from, to);
	for (rest = middle - from; rest; rest &= rest - 1, from += width) {
		width = rest & -rest;
		combine(state, state, iforest_forest_node(forest, from, width));
	}
	for (rest = to - middle; rest; rest -= width, middle += width) {
		width = UINT64_C(1) << iforest_highest_bit(rest);
		combine(state, state, iforest_forest_node(forest, middle, width));
	}
}

/* The nodes of a cover, prefetched some time before they are combined. */
struct iforest_listed {
	unsigned n;
	const void *nodes[128];
};

static inline void iforest_forest_note(const struct iforest_forest *forest, uint64_t at, uint64_t width,
				       struct iforest_listed *listed)
{
	const void *node = iforest_forest_node(forest, at, width);

	__builtin_prefetch(node);
	listed->nodes[listed->n++] = node;
}

static inline void iforest_forest_list_nodes(const struct iforest_forest *forest, uint64_t from, uint64_t to,
					     struct iforest_listed *listed)
{
	uint64_t middle, rest, width;

	listed->n = 0;
	if (from >= to)
		return;
	middle = iforest_cover_middle(from, to);
	for (rest = middle - from; rest; rest &= rest - 1, from += width) {
		width = rest & -rest;
		iforest_forest_note(forest, from, width, listed);
	}
	for (rest = to - middle; rest; rest -= width, middle += width) {
		width = UINT64_C(1) << iforest_highest_bit(rest);
		iforest_forest_note(forest, middle, width, listed);
	}
}

/* state = state + the nodes. */
static inline void iforest_forest_add_listed(const struct iforest_forest *forest, const struct iforest_listed *listed,
					     void *state)
{
	void (*combine)(void *, const void *, const void *) = forest->kind->combine;

	for (unsigned i = 0; i < listed->n; i++)
		combine(state, state, listed->nodes[i]);
}

/* Writes the states of leaves. */
struct iforest_leaf_maker {
	void (*make)(const struct iforest_leaf_maker *maker, uint64_t leaf, void *state);
	const struct iforest_forest *forest;
	const uint8_t *samples; /* the maker's own */
	size_t sample_bytes;
	uint64_t first;
};

/* Appends leaves up to n_leaves. Errors: IFOREST_NO_MEMORY, IFOREST_ARGUMENT. */
enum iforest_status iforest_forest_extend(struct iforest_forest *forest, uint64_t n_leaves,
					  const struct iforest_leaf_maker *maker, unsigned n_threads);

/* Continues iforest_forest_seek_first() at `from`, with the fold of what comes before in `before`. */
bool iforest_forest_seek_on(const struct iforest_forest *forest, uint64_t from, const struct iforest_predicate *predicate,
			    uint64_t *i, void *before, void *with);

/* Recomputes the nodes above leaf i. */
void iforest_forest_renew(struct iforest_forest *forest, uint64_t i);

#endif
