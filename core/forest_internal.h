/* forest_internal.h -- what forest*.c and block_*.c share. Not for others. */
#ifndef IFOREST_FOREST_INTERNAL_H
#define IFOREST_FOREST_INTERNAL_H

#include "core/forest.h"
#include "core/layout.h"

static inline void *iforest_forest_slot(const struct iforest_forest *forest, unsigned level, uint64_t group)
{
	return forest->slots.bytes + iforest_slot(level, group) * forest->kind->state_bytes;
}

/* The cover of [from, to), from < to, is that of [from, middle), whose nodes grow, and that of [middle, to), whose nodes
 * shrink: their sizes are the bits of the two lengths. The slot over `width` leaves from `at` on is 2 at + width - 1. */
static inline uint64_t iforest_forest_middle(uint64_t from, uint64_t to)
{
	return to & ~iforest_low_bits(iforest_highest_bit(from ^ to));
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
	middle = iforest_forest_middle(from, to);
	for (rest = middle - from; rest; rest &= rest - 1, from += width) {
		width = rest & -rest;
		combine(state, state, iforest_forest_node(forest, from, width));
	}
	for (rest = to - middle; rest; rest -= width, middle += width) {
		width = UINT64_C(1) << iforest_highest_bit(rest);
		combine(state, state, iforest_forest_node(forest, middle, width));
	}
}

/* The nodes of a cover, listed and fetched some time before they are combined. */
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

static inline void iforest_forest_list(const struct iforest_forest *forest, uint64_t from, uint64_t to,
				       struct iforest_listed *listed)
{
	uint64_t middle, rest, width;

	listed->n = 0;
	if (from >= to)
		return;
	middle = iforest_forest_middle(from, to);
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
	const uint8_t *samples;   /* the maker's own */
	size_t sample_bytes;
	uint64_t first;
};

/* Appends leaves up to n_leaves. Errors: IFOREST_NO_MEMORY, IFOREST_ARGUMENT. */
enum iforest_status iforest_forest_extend(struct iforest_forest *forest, uint64_t n_leaves,
					  const struct iforest_leaf_maker *maker, unsigned n_threads);

/* iforest_forest_seek_first() of [from, i] and what stands before it, whose fold is in `before`. */
bool iforest_forest_seek_on(const struct iforest_forest *forest, uint64_t from, const struct iforest_predicate *predicate,
			    uint64_t *i, void *before, void *with);

/* Combines anew what lies above leaf i. */
void iforest_forest_renew(struct iforest_forest *forest, uint64_t i);

#endif
