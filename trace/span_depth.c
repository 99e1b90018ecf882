#include "trace/span_depth.h"

#include <stdbool.h>
#include <stdlib.h>

/* True if end <= at, without computing the end, which may not fit. Requires span->ts_ns <= at. */
static bool has_ended(const struct trace_open_interval *span, int64_t at)
{
	uint64_t elapsed_ns = (uint64_t)at - (uint64_t)span->ts_ns;

	return span->dur_ns >= 0 && (uint64_t)span->dur_ns <= elapsed_ns;
}

void trace_span_depth_start_track(struct trace_span_depth *depths)
{
	depths->n_open = 0;
}

int trace_span_depth_next(struct trace_span_depth *depths, int64_t ts_ns, int64_t dur_ns, int64_t *depth)
{
	while (depths->n_open > 0 && has_ended(&depths->open[depths->n_open - 1], ts_ns))
		depths->n_open--;
	if (depths->n_open == depths->n_allocated) {
		size_t n_allocated = depths->n_allocated ? 2 * depths->n_allocated : 64;
		struct trace_open_interval *open = realloc(depths->open, n_allocated * sizeof *open);

		if (!open)
			return TRACE_ERROR_MEMORY;
		depths->open = open;
		depths->n_allocated = n_allocated;
	}
	*depth = (int64_t)depths->n_open;
	depths->open[depths->n_open++] = (struct trace_open_interval){ ts_ns, dur_ns };
	return TRACE_OK;
}

void trace_span_depth_release(struct trace_span_depth *depths)
{
	free(depths->open);
	*depths = (struct trace_span_depth){ 0 };
}
