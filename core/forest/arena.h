/* forest/arena.h -- Growable byte array, in place in reserved address space or by reallocation.
 *
 *   in place    reserves address space at first use, far more than there is memory, and commits it as needed: 2 MiB at a time,
 *               in huge pages from the second step on. Bytes are never copied
 *   by moving   uses the allocator, and doubles when full: each byte is copied once on average, all of them in the worst call
 *
 * An array that should grow in place grows by moving if no address space can be reserved.
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
	size_t n_bytes;	   /* usable; new bytes are zero if grown in place, else undefined */
	size_t n_reserved; /* bytes of address space; 0: the array is from alloc */
	uint64_t n_moved;  /* bytes copied so far */
};

/* Starts an empty array. alloc must outlive it. */
void iforest_arena_init(struct iforest_arena *arena, const struct iforest_alloc *alloc, enum iforest_growth growth);
void iforest_arena_release(struct iforest_arena *arena);

/* Grows the array to at least n_bytes.
 * Errors  IFOREST_NO_MEMORY; the array is then unchanged. */
enum iforest_status iforest_arena_reserve(struct iforest_arena *arena, size_t n_bytes);

#endif
