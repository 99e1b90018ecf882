/* base/alloc.h -- Allocator interface that the engine provides.
 *
 * Requires  reallocate(context, NULL, n) allocates, reallocate(context, p, n) resizes, both return NULL on failure
 *           and then leave p unchanged; n is never 0. release(context, NULL) does nothing.
 *           Memory is aligned to at least 8 bytes.
 * An engine whose allocator throws (PostgreSQL) may longjmp out of either: core holds no lock, file or static state then.
 */
#ifndef IFOREST_BASE_ALLOC_H
#define IFOREST_BASE_ALLOC_H

#include <stddef.h>

struct iforest_alloc {
	void *(*reallocate)(void *context, void *memory, size_t n_bytes);
	void (*release)(void *context, void *memory);
	void *context;
};

static inline void *iforest_allocate(const struct iforest_alloc *alloc, size_t n_bytes)
{
	return alloc->reallocate(alloc->context, NULL, n_bytes ? n_bytes : 1);
}

static inline void iforest_release(const struct iforest_alloc *alloc, void *memory)
{
	alloc->release(alloc->context, memory);
}

#endif
