#include "core/forest/arena.h"

#include "core/base/platform.h"

#define MOST_RESERVED ((size_t)1 << (sizeof(size_t) > 4 ? 40 : 28))
#define LEAST_RESERVED ((size_t)1 << (sizeof(size_t) > 4 ? 30 : 24))

void iforest_arena_init(struct iforest_arena *growing, const struct iforest_alloc *alloc, enum iforest_growth growth)
{
	*growing = (struct iforest_arena){ .alloc = alloc, .growth = growth };
}

void iforest_arena_release(struct iforest_arena *growing)
{
	if (growing->n_reserved)
		iforest_address_space_release(growing->bytes, growing->n_reserved);
	else
		iforest_release(growing->alloc, growing->bytes);
	iforest_arena_init(growing, growing->alloc, growing->growth);
}

/* Much, so that it is never used up; less where an address space is limited. */
static void reserve_address_space(struct iforest_arena *growing)
{
	for (size_t n = MOST_RESERVED; n >= LEAST_RESERVED && !growing->bytes; n /= 2) {
		growing->bytes = iforest_address_space(n);
		growing->n_reserved = growing->bytes ? n : 0;
	}
}

static enum iforest_status commit(struct iforest_arena *growing, size_t n_bytes)
{
	size_t n_wanted = (n_bytes + IFOREST_COMMIT_BYTES - 1) & ~(IFOREST_COMMIT_BYTES - 1);

	if (n_bytes > growing->n_reserved ||
	    !iforest_address_space_commit(growing->bytes + growing->n_bytes, n_wanted - growing->n_bytes,
					  n_wanted > IFOREST_COMMIT_BYTES))
		return IFOREST_NO_MEMORY;
	growing->n_bytes = n_wanted;
	return IFOREST_OK;
}

static enum iforest_status move(struct iforest_arena *growing, size_t n_bytes)
{
	size_t n_wanted = growing->n_bytes ? growing->n_bytes : 1024;
	uint8_t *bytes;

	while (n_wanted < n_bytes) {
		if (n_wanted > SIZE_MAX / 2)
			return IFOREST_NO_MEMORY;
		n_wanted *= 2;
	}
	bytes = growing->alloc->reallocate(growing->alloc->context, growing->bytes, n_wanted);
	if (!bytes)
		return IFOREST_NO_MEMORY;
	if (bytes != growing->bytes)
		growing->n_moved += growing->n_bytes;
	growing->bytes = bytes;
	growing->n_bytes = n_wanted;
	return IFOREST_OK;
}

enum iforest_status iforest_arena_reserve(struct iforest_arena *growing, size_t n_bytes)
{
	if (n_bytes <= growing->n_bytes)
		return IFOREST_OK;
	if (!growing->bytes && growing->growth == IFOREST_GROW_IN_PLACE)
		reserve_address_space(growing);
	return growing->n_reserved ? commit(growing, n_bytes) : move(growing, n_bytes);
}
