/* base/heap_sort.h -- Heap sort: in place, and without allocating. */
#ifndef IFOREST_BASE_HEAP_SORT_H
#define IFOREST_BASE_HEAP_SORT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/interrupt.h"

#define IFOREST_SORTED_BYTES 32 /* size of an item, at most */

/* Sorts n items of item_bytes each. Not stable. `interrupt` may be NULL.
 * Requires  item_bytes <= IFOREST_SORTED_BYTES.
 * Cost      n comparisons if the items are in order already, else about 2 n log2(n).
 * Errors    those of the interrupt. */
enum iforest_status iforest_heap_sort(void *items, size_t n, size_t item_bytes,
				      bool (*comes_before)(const void *a, const void *b),
				      const struct iforest_interrupt *interrupt);

#endif
