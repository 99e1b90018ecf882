/* base/priority_queue.h -- Priority queue: a binary heap of item numbers ordered by a callback. */
#ifndef IFOREST_BASE_PRIORITY_QUEUE_H
#define IFOREST_BASE_PRIORITY_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/alloc.h"
#include "core/base/status.h"

struct iforest_priority_queue {
	uint32_t *items; /* items[0] comes first */
	uint32_t n;
	size_t n_reserved;
	bool (*comes_before)(const void *context, uint32_t a, uint32_t b);
	const void *context;
};

/* Adds an item.
 * Cost    log2(n) comparisons, here and below.
 * Errors  IFOREST_NO_MEMORY; the heap is then unchanged. Cannot fail while n < n_reserved. */
enum iforest_status iforest_priority_queue_push(struct iforest_priority_queue *heap, const struct iforest_alloc *alloc,
						uint32_t item);

/* Removes and returns the first item. Requires n > 0. */
uint32_t iforest_priority_queue_pop(struct iforest_priority_queue *heap);

/* Restores the heap after items[0] has changed so that it may come later. Two comparisons if it still comes first. Requires
 * n > 0. */
void iforest_priority_queue_settle(struct iforest_priority_queue *heap);

void iforest_priority_queue_release(struct iforest_priority_queue *heap, const struct iforest_alloc *alloc);

#endif
