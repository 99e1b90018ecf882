/* forest_internal.h -- what forest.c, block_forest.c and forest_image.c share. Not for others. */
#ifndef IFOREST_FOREST_INTERNAL_H
#define IFOREST_FOREST_INTERNAL_H

#include "core/forest.h"
#include "core/layout.h"

static inline void *iforest_forest_slot(const struct iforest_forest *forest, unsigned level, uint64_t group)
{
	return forest->slots.bytes + iforest_slot(level, group) * forest->kind->state_bytes;
}

/* state = state + leaves [from, to). */
static inline void iforest_forest_add(const struct iforest_forest *forest, uint64_t from, uint64_t to, void *state)
{
	void (*combine)(void *, const void *, const void *) = forest->kind->combine;

	while (from < to) {
		unsigned level = iforest_cover_level(from, to);

		combine(state, state, iforest_forest_slot(forest, level, from >> level));
		from += UINT64_C(1) << level;
	}
}

/* The nodes of a cover, listed and fetched some time before they are combined. */
struct iforest_listed {
	unsigned n;
	const void *nodes[128];
};

static inline void iforest_forest_list(const struct iforest_forest *forest, uint64_t from, uint64_t to,
				       struct iforest_listed *listed)
{
	listed->n = 0;
	while (from < to) {
		unsigned level = iforest_cover_level(from, to);
		const void *node = iforest_forest_slot(forest, level, from >> level);

		__builtin_prefetch(node);
		listed->nodes[listed->n++] = node;
		from += UINT64_C(1) << level;
	}
}

/* state = state + the nodes. */
static inline void iforest_forest_add_listed(const struct iforest_forest *forest, const struct iforest_listed *listed, void *state)
{
	void (*combine)(void *, const void *, const void *) = forest->kind->combine;

	for (unsigned i = 0; i < listed->n; i++)
		combine(state, state, listed->nodes[i]);
}

/* Writes the states of leaves. */
struct iforest_leaf_maker {
	void (*make)(const struct iforest_leaf_maker *maker, uint64_t leaf, void *state);
	const struct iforest_forest *forest;
	const uint8_t *samples;   /* the maker's own */
	size_t sample_bytes;
	uint64_t first;
};

/* Appends leaves up to n_leaves. Errors: IFOREST_NO_MEMORY, IFOREST_ARGUMENT. */
enum iforest_status iforest_forest_extend(struct iforest_forest *forest, uint64_t n_leaves, const struct iforest_leaf_maker *maker,
					  unsigned n_threads);

/* iforest_forest_seek_first() of [from, i] and what stands before it, whose fold is in `before`. */
bool iforest_forest_seek_on(const struct iforest_forest *forest, uint64_t from, const struct iforest_predicate *predicate,
			    uint64_t *i, void *before, void *with);

/* Combines anew what lies above leaf i. */
void iforest_forest_renew(struct iforest_forest *forest, uint64_t i);

#endif
