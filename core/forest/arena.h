/* forest/arena.h -- Growable byte array, in place in reserved address space or by reallocation.
 *
 *   in place    address space is reserved at first use, far more than there is memory, and memory put behind it as it is
 *               needed, 2 MiB at a time, in huge pages but for the first. Nothing is ever copied
 *   by moving   from the allocator, doubled when full: each byte is copied once on average, all of them in the worst call
 *
 * If no address space can be had, an array that should grow in place grows by moving.
 */
#ifndef IFOREST_FOREST_ARENA_H
#define IFOREST_FOREST_ARENA_H

#include <stdint.h>

#include "core/base/alloc.h"
#include "core/base/status.h"

enum iforest_growth { IFOREST_GROW_IN_PLACE, IFOREST_GROW_BY_MOVING };

struct iforest_arena {
	const struct iforest_alloc *alloc;
	enum iforest_growth growth;
	uint8_t *bytes;
	size_t n_bytes;	   /* usable; new bytes are zeros in place, undefined after moving */
	size_t n_reserved; /* address space; 0: bytes come from alloc */
	uint64_t n_moved;  /* bytes copied so far */
};

/* Starts an empty array. alloc must outlive it. */
void iforest_arena_init(struct iforest_arena *arena, const struct iforest_alloc *alloc, enum iforest_growth growth);
void iforest_arena_release(struct iforest_arena *arena);

/* Grows the array to at least n_bytes.
 * Errors  IFOREST_NO_MEMORY; the array is then as it was. */
enum iforest_status iforest_arena_reserve(struct iforest_arena *arena, size_t n_bytes);

#endif
