#include "core/base/priority_queue.h"

#include "core/base/array.h"

enum iforest_status iforest_priority_queue_push(struct iforest_priority_queue *heap, const struct iforest_alloc *alloc,
						uint32_t item)
{
	uint32_t at = heap->n;

	if (!iforest_array_reserve(alloc, &heap->items, sizeof *heap->items, (size_t)at + 1, &heap->n_reserved))
		return IFOREST_NO_MEMORY;
	heap->n++;
	for (; at > 0 && heap->comes_before(heap->context, item, heap->items[(at - 1) / 2]); at = (at - 1) / 2)
		heap->items[at] = heap->items[(at - 1) / 2];
	heap->items[at] = item;
	return IFOREST_OK;
}

void iforest_priority_queue_settle(struct iforest_priority_queue *heap)
{
	uint32_t item = heap->items[0], at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < heap->n && heap->comes_before(heap->context, heap->items[child + 1], heap->items[child]))
			child++;
		if (child >= heap->n || !heap->comes_before(heap->context, heap->items[child], item))
			break;
		heap->items[at] = heap->items[child];
		at = child;
	}
	heap->items[at] = item;
}

uint32_t iforest_priority_queue_pop(struct iforest_priority_queue *heap)
{
	uint32_t first = heap->items[0];

	heap->items[0] = heap->items[--heap->n];
	if (heap->n > 0)
		iforest_priority_queue_settle(heap);
	return first;
}

void iforest_priority_queue_release(struct iforest_priority_queue *heap, const struct iforest_alloc *alloc)
{
	iforest_release(alloc, heap->items);
	heap->items = NULL;
	heap->n = 0;
	heap->n_reserved = 0;
}
