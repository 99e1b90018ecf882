/* base/array.h -- Growable array whose capacity doubles.
 *
 *   struct iforest_key *key = iforest_array_add(alloc, &list->keys, sizeof *list->keys, &list->n, &list->n_reserved);
 *   if (!key) return IFOREST_NO_MEMORY;
 *   *key = ...;
 */
#ifndef IFOREST_BASE_ARRAY_H
#define IFOREST_BASE_ARRAY_H

#include <stdbool.h>
#include <string.h>

#include "core/base/alloc.h"

enum { IFOREST_ARRAY_FIRST = 16 }; /* items of the first allocation */

/* Ensures capacity for n items in total, growing to at least twice the old capacity. `items` is the address of the pointer to
 * the items, which is NULL at first. Returns false if there is no memory for them; the array is then unchanged. */
static inline bool iforest_array_reserve(const struct iforest_alloc *alloc, void *items, size_t item_bytes, size_t n,
					 size_t *n_reserved)
{
	size_t n_wanted = *n_reserved ? 2 * *n_reserved : IFOREST_ARRAY_FIRST, n_bytes;
	void *grown;

	if (n <= *n_reserved)
		return true;
	n_wanted = n_wanted > n ? n_wanted : n;
	if (__builtin_mul_overflow(n_wanted, item_bytes, &n_bytes))
		return false;
	memcpy(&grown, items, sizeof grown);
	grown = alloc->reallocate(alloc->context, grown, n_bytes);
	if (!grown)
		return false;
	memcpy(items, &grown, sizeof grown);
	*n_reserved = n_wanted;
	return true;
}

/* Returns a new item at the end, and increments *n; NULL without memory. Requires: as iforest_array_reserve(). */
static inline void *iforest_array_add(const struct iforest_alloc *alloc, void *items, size_t item_bytes, size_t *n,
				      size_t *n_reserved)
{
	char *first;

	if (!iforest_array_reserve(alloc, items, item_bytes, *n + 1, n_reserved))
		return NULL;
	memcpy(&first, items, sizeof first);
	return first + (*n)++ * item_bytes;
}

#endif
