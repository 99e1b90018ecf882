/* forest.h -- the in-memory forest: append in amortised O(1), fold any range in O(log n), in one array.
 *
 * The layout is drawn in layout.h. Order is kept, so a kind's combine needs to be associative only.
 * Not for use by two threads at once.
 */
#ifndef IFOREST_FOREST_H
#define IFOREST_FOREST_H

#include <stdint.h>

#include "core/alloc.h"
#include "core/kind.h"
#include "core/status.h"

struct iforest_forest {
	const struct iforest_kind *kind;
	const struct iforest_alloc *alloc;
	uint8_t *slots;
	uint64_t n_leaves;
	uint64_t n_reserved_slots;
};

/* An empty forest; holds no memory yet. kind and alloc must outlive it. */
void iforest_forest_init(struct iforest_forest *forest, const struct iforest_kind *kind, const struct iforest_alloc *alloc);

/* Gives the memory back; the forest must be initialised again before use. */
void iforest_forest_release(struct iforest_forest *forest);

/* Appends a leaf, lifted from the sample.
 * Cost    amortised one combine, at most log2(n) of them.
 * Errors  IFOREST_NO_MEMORY; the forest is as it was. */
enum iforest_status iforest_forest_append(struct iforest_forest *forest, const void *sample);

/* Writes the fold of leaves [from, to) in order to *state; the identity when from == to.
 * Requires  from <= to <= n_leaves.
 * Cost      at most 2 log2(to - from) + 1 combines. */
void iforest_forest_fold(const struct iforest_forest *forest, uint64_t from, uint64_t to, void *state);

#endif
