/* Spans that have begun and not ended: a stack for each (pid, tid). */
#ifndef TRACE_OPEN_SPANS_H
#define TRACE_OPEN_SPANS_H

#include "trace/chrome_trace.h"

struct trace_open_track;

/* All zero is the empty set. */
struct trace_open_spans {
	struct trace_open_track **buckets; /* owned */
	size_t n_buckets, n_tracks;
	uint64_t n_spans;
};

struct trace_open_span {
	struct trace_open_span *below;
	struct trace_event begin; /* its texts follow the struct, in the same allocation */
};

/* Puts a copy of a B event on the stack of its (pid, tid). TRACE_OK or TRACE_ERROR_MEMORY. O(1) amortised. */
int trace_open_spans_push(struct trace_open_spans *spans, const struct trace_event *begin);

/* Takes the top of a (pid, tid): the caller calls free() on it. NULL if none is open. O(1) expected. */
struct trace_open_span *trace_open_spans_pop(struct trace_open_spans *spans, struct trace_text pid, struct trace_text tid);

void trace_open_spans_release(struct trace_open_spans *spans);

#endif
