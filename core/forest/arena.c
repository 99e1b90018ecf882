#include "core/forest/arena.h"

#include "core/base/platform.h"

#define MOST_RESERVED ((size_t)1 << (sizeof(size_t) > 4 ? 40 : 28))
#define LEAST_RESERVED ((size_t)1 << (sizeof(size_t) > 4 ? 30 : 24))

void iforest_arena_init(struct iforest_arena *arena, const struct iforest_alloc *alloc, enum iforest_growth growth)
{
	*arena = (struct iforest_arena){ .alloc = alloc, .growth = growth };
}

void iforest_arena_release(struct iforest_arena *arena)
{
	if (arena->n_reserved)
		iforest_address_space_release(arena->bytes, arena->n_reserved);
	else
		iforest_release(arena->alloc, arena->bytes);
	iforest_arena_init(arena, arena->alloc, arena->growth);
}

/* Reserves more address space than will ever be used; less where the system limits it. */
static void reserve_address_space(struct iforest_arena *arena)
{
	for (size_t n = MOST_RESERVED; n >= LEAST_RESERVED && !arena->bytes; n /= 2) {
		arena->bytes = iforest_address_space(n);
		arena->n_reserved = arena->bytes ? n : 0;
	}
}

static enum iforest_status commit(struct iforest_arena *arena, size_t n_bytes)
{
	size_t n_wanted = (n_bytes + IFOREST_COMMIT_BYTES - 1) & ~(IFOREST_COMMIT_BYTES - 1);

	if (n_bytes > arena->n_reserved ||
	    !iforest_address_space_commit(arena->bytes + arena->n_bytes, n_wanted - arena->n_bytes,
					  n_wanted > IFOREST_COMMIT_BYTES))
		return IFOREST_NO_MEMORY;
	arena->n_bytes = n_wanted;
	return IFOREST_OK;
}

static enum iforest_status move(struct iforest_arena *arena, size_t n_bytes)
{
	size_t n_wanted = arena->n_bytes ? arena->n_bytes : 1024;
	uint8_t *bytes;

	while (n_wanted < n_bytes) {
		if (n_wanted > SIZE_MAX / 2)
			return IFOREST_NO_MEMORY;
		n_wanted *= 2;
	}
	bytes = arena->alloc->reallocate(arena->alloc->context, arena->bytes, n_wanted);
	if (!bytes)
		return IFOREST_NO_MEMORY;
	if (bytes != arena->bytes)
		arena->n_moved += arena->n_bytes;
	arena->bytes = bytes;
	arena->n_bytes = n_wanted;
	return IFOREST_OK;
}

enum iforest_status iforest_arena_reserve(struct iforest_arena *arena, size_t n_bytes)
{
	if (n_bytes <= arena->n_bytes)
		return IFOREST_OK;
	if (!arena->bytes && arena->growth == IFOREST_GROW_IN_PLACE)
		reserve_address_space(arena);
	return arena->n_reserved ? commit(arena, n_bytes) : move(arena, n_bytes);
}
