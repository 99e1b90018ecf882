#include "core/query/overlap.h"

enum { NO_SLOT = UINT32_MAX, FIRST_RESERVED = 16 };

static iforest_int128 end_of(const struct iforest_open_span *span)
{
	return (iforest_int128)span->time + span->duration;
}

static const struct iforest_open_span *span_at(const struct iforest_open_spans *open, uint32_t slot)
{
	return &open->slots[slot].span;
}

static bool ends_before(const void *context, uint32_t a, uint32_t b)
{
	return end_of(span_at(context, a)) < end_of(span_at(context, b));
}

static bool is_longer(const void *context, uint32_t slot_a, uint32_t slot_b)
{
	const struct iforest_open_span *a = span_at(context, slot_a), *b = span_at(context, slot_b);

	if (a->duration != b->duration)
		return a->duration > b->duration;
	return a->time != b->time ? a->time < b->time : a->ref < b->ref;
}

void iforest_open_spans_init(struct iforest_open_spans *open, const struct iforest_alloc *alloc, bool wants_longest)
{
	*open = (struct iforest_open_spans){ .alloc = alloc, .wants_longest = wants_longest, .free = NO_SLOT,
		.by_end = { .comes_before = ends_before, .context = open },
		.by_duration = { .comes_before = is_longer, .context = open } };
}

void iforest_open_spans_release(struct iforest_open_spans *open)
{
	iforest_heap_release(&open->by_end, open->alloc);
	iforest_heap_release(&open->by_duration, open->alloc);
	iforest_release(open->alloc, open->slots);
	iforest_open_spans_init(open, open->alloc, open->wants_longest);
}

void iforest_open_spans_clear(struct iforest_open_spans *open, bool wants_longest)
{
	open->by_end.n = open->by_duration.n = open->n_slots = 0;
	open->free = NO_SLOT;
	open->wants_longest = wants_longest;
}

/* ---- slots ---- */

static enum iforest_status take_slot(struct iforest_open_spans *open, uint32_t *slot)
{
	*slot = open->free;
	if (*slot != NO_SLOT) {
		open->free = open->slots[*slot].next;
		return IFOREST_OK;
	}
	if (open->n_slots == open->n_reserved) {
		uint32_t n = open->n_reserved ? 2 * open->n_reserved : FIRST_RESERVED;
		void *slots = NULL;

		if (n > open->n_reserved)
			slots = open->alloc->reallocate(open->alloc->context, open->slots, n * sizeof *open->slots);
		if (!slots)
			return IFOREST_NO_MEMORY;
		open->slots = slots;
		open->n_reserved = n;
	}
	*slot = open->n_slots++;
	return IFOREST_OK;
}

static void give_slot(struct iforest_open_spans *open, uint32_t slot)
{
	open->slots[slot].next = open->free;
	open->free = slot;
}

enum iforest_status iforest_open_spans_add(struct iforest_open_spans *open, const struct iforest_open_span *span)
{
	uint32_t slot;
	enum iforest_status status = take_slot(open, &slot);

	if (status)
		return status;
	open->slots[slot] = (struct iforest_open_slot){ .span = *span };
	status = iforest_heap_push(&open->by_end, open->alloc, slot);
	if (!status && open->wants_longest)
		status = iforest_heap_push(&open->by_duration, open->alloc, slot);
	return status;
}

/* ---- time moves on ---- */

/* The span with the earliest end is open no more; its slot is needed as long as the heap by duration has it. */
static void end_first(struct iforest_open_spans *open)
{
	uint32_t slot = iforest_heap_pop(&open->by_end);

	open->slots[slot].has_ended = true;
	if (!open->wants_longest)
		give_slot(open, slot);
}

/* Clears the heap by duration of what has ended: at its top, and, where that is most of it, all. */
static void drop_ended(struct iforest_open_spans *open)
{
	struct iforest_heap *heap = &open->by_duration;
	uint32_t n;

	while (heap->n > 0 && open->slots[heap->items[0]].has_ended)
		give_slot(open, iforest_heap_pop(heap));
	if (heap->n <= 2 * (uint64_t)open->by_end.n + FIRST_RESERVED)
		return;
	n = heap->n;
	heap->n = 0;
	for (uint32_t i = 0; i < n; i++) { /* pushes write no item that is still to be read, and need no memory */
		if (open->slots[heap->items[i]].has_ended)
			give_slot(open, heap->items[i]);
		else
			iforest_heap_push(heap, open->alloc, heap->items[i]);
	}
}

void iforest_open_spans_pass(struct iforest_open_spans *open, iforest_int128 from, iforest_int128 to,
			     struct iforest_stretch *stretch)
{
	struct iforest_heap *by_end = &open->by_end;

	*stretch = (struct iforest_stretch){ .n = by_end->n };
	if (open->by_duration.n > 0) {
		const struct iforest_open_span *longest = span_at(open, open->by_duration.items[0]);

		stretch->longest = (struct iforest_row){ .value.integer = longest->duration, .time = longest->time,
							 .ref = longest->ref, .is_set = true };
	}
	while (by_end->n > 0 && end_of(span_at(open, by_end->items[0])) <= to) {
		stretch->inside += end_of(span_at(open, by_end->items[0])) - from;
		end_first(open);
	}
	stretch->inside += (iforest_int128)by_end->n * (to - from);
	drop_ended(open);
}
