/* trace/span_depth.h -- Nesting depth of each span of a track.
 *
 * The depth of a span is the number of spans of the same track that are still open when it starts. Tracks of real
 * traces are not always properly nested, so this is a rule and not a fact of the file: spans are taken in the order
 * (ts ascending, dur descending, file position); of a stack of spans the topmost are dropped while they have ended
 * at or before the new span's start; the height that remains is the depth; then the span is put on top.
 *
 *     struct trace_span_depth depths = {0};
 *     for each track:
 *         trace_span_depth_start_track(&depths);
 *         for each span in the order above:
 *             status = trace_span_depth_next(&depths, ts_ns, dur_ns, &depth);
 *     trace_span_depth_release(&depths);
 */
#ifndef IFOREST_SPAN_DEPTH_H
#define IFOREST_SPAN_DEPTH_H

#include <stddef.h>
#include <stdint.h>

#include "trace/status.h"

struct trace_open_interval {
	int64_t ts_ns, dur_ns;
};

struct trace_span_depth {
	struct trace_open_interval *open; /* the stack, owned */
	size_t n_open, n_allocated;
};

/* Forgets the spans of the track before. O(1). */
void trace_span_depth_start_track(struct trace_span_depth *depths);

/* Requires: spans of one track come in the order above. A negative duration is that of a span that never ends. Any int64_t
 *           values: the end is never computed, so it cannot overflow.
 * Returns:  TRACE_OK and the depth, 0 for a span with none around it; TRACE_ERROR_MEMORY.
 * Complexity: O(1) amortised; 16 bytes for each span that is open. */
int trace_span_depth_next(struct trace_span_depth *depths, int64_t ts_ns, int64_t dur_ns, int64_t *depth);

void trace_span_depth_release(struct trace_span_depth *depths);

#endif
