#include "core/open_spans.h"

typedef bool (*before_function)(const struct iforest_open_span *a, const struct iforest_open_span *b);

enum { FEWEST_RESERVED = 16 };

static iforest_int128 end_of(const struct iforest_open_span *span)
{
	return (iforest_int128)span->time + span->duration;
}

static bool ends_before(const struct iforest_open_span *a, const struct iforest_open_span *b)
{
	return end_of(a) < end_of(b);
}

static bool is_longer(const struct iforest_open_span *a, const struct iforest_open_span *b)
{
	if (a->duration != b->duration)
		return a->duration > b->duration;
	return a->time != b->time ? a->time < b->time : a->ref < b->ref;
}

/* ---- heaps ---- */

static void sift_down(struct iforest_span_heap *heap, size_t at, before_function before)
{
	struct iforest_open_span span = heap->spans[at];

	for (size_t child = 2 * at + 1; child < heap->n; child = 2 * at + 1) {
		if (child + 1 < heap->n && before(&heap->spans[child + 1], &heap->spans[child]))
			child++;
		if (!before(&heap->spans[child], &span))
			break;
		heap->spans[at] = heap->spans[child];
		at = child;
	}
	heap->spans[at] = span;
}

static enum iforest_status push(struct iforest_span_heap *heap, const struct iforest_alloc *alloc,
				const struct iforest_open_span *span, before_function before)
{
	size_t at = heap->n;

	if (heap->n == heap->n_reserved) {
		size_t n_wanted = heap->n_reserved ? 2 * heap->n_reserved : FEWEST_RESERVED;
		void *spans = alloc->reallocate(alloc->context, heap->spans, n_wanted * sizeof *heap->spans);

		if (!spans)
			return IFOREST_NO_MEMORY;
		heap->spans = spans;
		heap->n_reserved = n_wanted;
	}
	for (heap->n++; at > 0 && before(span, &heap->spans[(at - 1) / 2]); at = (at - 1) / 2)
		heap->spans[at] = heap->spans[(at - 1) / 2];
	heap->spans[at] = *span;
	return IFOREST_OK;
}

static void pop(struct iforest_span_heap *heap, before_function before)
{
	heap->spans[0] = heap->spans[--heap->n];
	if (heap->n > 0)
		sift_down(heap, 0, before);
}

/* ---- open spans ---- */

void iforest_open_spans_init(struct iforest_open_spans *open, const struct iforest_alloc *alloc, bool wants_longest)
{
	*open = (struct iforest_open_spans){ .alloc = alloc, .wants_longest = wants_longest };
}

void iforest_open_spans_release(struct iforest_open_spans *open)
{
	iforest_release(open->alloc, open->by_end.spans);
	iforest_release(open->alloc, open->by_duration.spans);
	iforest_open_spans_init(open, open->alloc, open->wants_longest);
}

void iforest_open_spans_clear(struct iforest_open_spans *open, bool wants_longest)
{
	open->by_end.n = open->by_duration.n = 0;
	open->wants_longest = wants_longest;
}

enum iforest_status iforest_open_spans_add(struct iforest_open_spans *open, const struct iforest_open_span *span)
{
	enum iforest_status status = push(&open->by_end, open->alloc, span, ends_before);

	if (!status && open->wants_longest)
		status = push(&open->by_duration, open->alloc, span, is_longer);
	return status;
}

/* Takes the spans that have ended at `now` out of all places, where they are many. */
static void drop_ended(struct iforest_open_spans *open, iforest_int128 now)
{
	struct iforest_span_heap *heap = &open->by_duration;
	size_t n_kept = 0;

	if (heap->n <= 2 * open->by_end.n + FEWEST_RESERVED)
		return;
	for (size_t i = 0; i < heap->n; i++)
		if (end_of(&heap->spans[i]) > now)
			heap->spans[n_kept++] = heap->spans[i];
	heap->n = n_kept;
	for (size_t i = n_kept / 2; i > 0; i--)
		sift_down(heap, i - 1, is_longer);
}

void iforest_open_spans_pass(struct iforest_open_spans *open, iforest_int128 from, iforest_int128 to,
			     struct iforest_stretch *stretch)
{
	struct iforest_span_heap *by_end = &open->by_end, *by_duration = &open->by_duration;

	*stretch = (struct iforest_stretch){ .n = by_end->n };
	while (by_duration->n > 0 && end_of(&by_duration->spans[0]) <= from)
		pop(by_duration, is_longer);
	if (by_duration->n > 0) {
		const struct iforest_open_span *longest = &by_duration->spans[0];

		stretch->longest = (struct iforest_row){ .value.integer = longest->duration, .time = longest->time,
							 .ref = longest->ref, .is_set = true };
	}
	while (by_end->n > 0 && end_of(&by_end->spans[0]) <= to) {
		stretch->inside += end_of(&by_end->spans[0]) - from;
		pop(by_end, ends_before);
	}
	stretch->inside += (iforest_int128)by_end->n * (to - from);
	drop_ended(open, to);
}
