#include "tests/trace/generated.h"

#include <stdio.h>
#include <string.h>

struct generated {
	generated_part part;
	uint64_t n_parts, next;
	size_t n_bytes, n_given; /* of the part at hand */
	char data[GENERATED_PART_BYTES];
};

static int give(void *context, char *data, size_t n_bytes, size_t *n_read)
{
	struct generated *file = context;
	size_t n;

	while (file->n_given == file->n_bytes && file->next < file->n_parts) {
		file->n_bytes = file->part(file->next++, file->n_parts, file->data);
		file->n_given = 0;
	}
	n = file->n_bytes - file->n_given;
	*n_read = n < n_bytes ? n : n_bytes;
	memcpy(data, file->data + file->n_given, *n_read);
	file->n_given += *n_read;
	return TRACE_OK;
}

static int take_span(void *context, const struct trace_span *span)
{
	(void)context;
	(void)span;
	return TRACE_OK;
}

static int take_sample(void *context, const struct trace_sample *sample)
{
	(void)context;
	(void)sample;
	return TRACE_OK;
}

static int take_instant(void *context, const struct trace_instant *instant)
{
	(void)context;
	(void)instant;
	return TRACE_OK;
}

static int take_flow(void *context, const struct trace_flow *flow)
{
	(void)context;
	(void)flow;
	return TRACE_OK;
}

struct generated_reading generated_read(generated_part part, uint64_t n_parts, const struct trace_options *options)
{
	static struct generated file;
	const struct trace_sink sink = { NULL, take_span, take_sample, take_instant, take_flow, NULL };
	const struct trace_report_line *line;
	struct generated_reading reading = { 0 };
	struct trace *trace;

	file = (struct generated){ .part = part, .n_parts = n_parts };
	reading.status = trace_open_source(give, &file, "trace", options, &sink, &trace);
	while (reading.status >= 0 && (reading.status = trace_step(trace)) == TRACE_ROW)
		continue;
	snprintf(reading.error, sizeof reading.error, "%s", trace_error(trace));
	reading.counts = *trace_counts(trace);
	for (size_t i = 0; (line = trace_report(trace, i)); i++)
		reading.n_left_out += line->n;
	trace_close(trace);
	return reading;
}
