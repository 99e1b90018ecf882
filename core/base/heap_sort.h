/* base/heap_sort.h -- Sorting of items in place, without memory. */
#ifndef IFOREST_BASE_HEAP_SORT_H
#define IFOREST_BASE_HEAP_SORT_H

#include <stdbool.h>
#include <stddef.h>

#define IFOREST_SORTED_BYTES 32 /* of an item at most */

/* Sorts n items of item_bytes each; items of which neither comes before the other end up in any order.
 * Requires  item_bytes <= IFOREST_SORTED_BYTES.
 * Cost      n comparisons if they are in order, else some 2 n log2(n). */
void iforest_heap_sort(void *items, size_t n, size_t item_bytes, bool (*comes_before)(const void *a, const void *b));

#endif
