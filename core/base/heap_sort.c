#include "core/base/heap_sort.h"

#include <string.h>

struct sorting {
	char *items;
	size_t item_bytes;
	bool (*comes_before)(const void *a, const void *b);
};

static char *at(const struct sorting *sorting, size_t i)
{
	return sorting->items + i * sorting->item_bytes;
}

/* Sifts the item down from position `top` of a max-heap of n items. */
static void sink(const struct sorting *sorting, const char *item, size_t top, size_t n)
{
	size_t child;

	while ((child = 2 * top + 1) < n) {
		child += child + 1 < n && sorting->comes_before(at(sorting, child), at(sorting, child + 1));
		if (!sorting->comes_before(item, at(sorting, child)))
			break;
		memcpy(at(sorting, top), at(sorting, child), sorting->item_bytes);
		top = child;
	}
	memcpy(at(sorting, top), item, sorting->item_bytes);
}

/* A unit of work moves and compares as many items as sinking so many does. */
static bool ends_unit(size_t i)
{
	return i % (IFOREST_UNIT_OF_WORK / 64) == 0;
}

enum iforest_status iforest_heap_sort(void *items, size_t n, size_t item_bytes,
				      bool (*comes_before)(const void *a, const void *b),
				      const struct iforest_interrupt *interrupt)
{
	struct sorting sorting = { items, item_bytes, comes_before };
	enum iforest_status status = IFOREST_OK;
	char item[IFOREST_SORTED_BYTES];
	size_t n_sorted = 1;

	for (; n_sorted < n && !status && !comes_before(at(&sorting, n_sorted), at(&sorting, n_sorted - 1)); n_sorted++)
		status = ends_unit(n_sorted) ? iforest_interrupt_check(interrupt) : IFOREST_OK;
	if (n_sorted >= n)
		return status;
	for (size_t i = n / 2; i > 0 && !status; i--) {
		memcpy(item, at(&sorting, i - 1), item_bytes);
		sink(&sorting, item, i - 1, n);
		status = ends_unit(i) ? iforest_interrupt_check(interrupt) : IFOREST_OK;
	}
	for (size_t left = n - 1; left > 0 && !status; left--) {
		memcpy(item, at(&sorting, left), item_bytes);
		memcpy(at(&sorting, left), at(&sorting, 0), item_bytes);
		sink(&sorting, item, 0, left);
		status = ends_unit(left) ? iforest_interrupt_check(interrupt) : IFOREST_OK;
	}
	return status;
}
