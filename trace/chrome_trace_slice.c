#include "trace/chrome_trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/event_queue.h"
#include "trace/input.h"
#include "trace/json_events.h"
#include "trace/open_spans.h"

enum {
	DEFAULT_PIECE_BYTES = 64 * 1024,
	SHOWN_PATH_BYTES = 300 /* of a longer path an error shows the end */
};

struct trace_reader {
	struct trace_options options;
	char *path;
	struct trace_input input;
	struct trace_json_events *parser;
	struct trace_event_queue queue;
	struct trace_open_spans open_spans;
	struct trace_statistics statistics;
	struct trace_bytes piece;
	int status; /* TRACE_ROW while there is more to read */
	char error[700];
};

static int fail(struct trace_reader *reader, int status, const char *format, ...)
{
	size_t n_path = strlen(reader->path);
	bool cut = n_path > SHOWN_PATH_BYTES;
	int n_prefix = snprintf(reader->error, sizeof reader->error, "%s%s: ", cut ? "..." : "",
				reader->path + (cut ? n_path - SHOWN_PATH_BYTES : 0));
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reader->error + n_prefix, sizeof reader->error - (size_t)n_prefix, format, arguments);
	va_end(arguments);
	return status;
}

static struct trace_text or_empty(struct trace_text text)
{
	return text.data ? text : (struct trace_text){ "", 0 };
}

/* What all phases have in common. */
static struct trace_event event_of(const struct trace_event_fields *fields)
{
	return (struct trace_event){
		.ts_ns = fields->ts.ns,
		.pid = or_empty(trace_fields_text(fields, TRACE_FIELD_PID)),
		.tid = or_empty(trace_fields_text(fields, TRACE_FIELD_TID)),
		.name = or_empty(trace_fields_text(fields, TRACE_FIELD_NAME)),
	};
}

static struct trace_event span_of(const struct trace_event_fields *fields)
{
	struct trace_event span = event_of(fields);

	span.kind = TRACE_SPAN;
	span.category = trace_fields_text(fields, TRACE_FIELD_CATEGORY);
	span.args = trace_fields_args(fields);
	return span;
}

static int complete_span(struct trace_reader *reader, const struct trace_event_fields *fields, const char **problem)
{
	struct trace_event span = span_of(fields);

	if (fields->dur.status == TRACE_TIME_OUT_OF_RANGE) {
		*problem = "the dur of the event that starts here does not fit into 64-bit nanoseconds";
		return TRACE_ERROR_RANGE;
	}
	if (fields->dur.status != TRACE_TIME_OK) {
		reader->statistics.n_without_duration++;
		return TRACE_OK;
	}
	reader->statistics.n_complete_spans++;
	span.dur_ns = fields->dur.ns;
	return trace_queue_push(&reader->queue, &span);
}

static int begin_span(struct trace_reader *reader, const struct trace_event_fields *fields)
{
	struct trace_event span = span_of(fields);
	int status = trace_open_spans_push(&reader->open_spans, &span);

	reader->statistics.n_unmatched_begin = reader->open_spans.n_spans;
	return status;
}

static bool subtract(int64_t end_ns, int64_t ts_ns, int64_t *dur_ns)
{
	bool fits = ts_ns >= 0 ? end_ns >= INT64_MIN + ts_ns : end_ns <= INT64_MAX + ts_ns;

	if (fits)
		*dur_ns = end_ns - ts_ns;
	return fits;
}

static int end_span(struct trace_reader *reader, const struct trace_event_fields *fields, const char **problem)
{
	struct trace_event end = event_of(fields), span;
	struct trace_open_span *open = trace_open_spans_pop(&reader->open_spans, end.pid, end.tid);
	int status;

	if (!open) {
		reader->statistics.n_unmatched_end++;
		return TRACE_OK;
	}
	reader->statistics.n_unmatched_begin = reader->open_spans.n_spans;
	reader->statistics.n_matched_spans++;
	span = open->begin;
	span.pid = end.pid;
	span.tid = end.tid;
	if (subtract(end.ts_ns, span.ts_ns, &span.dur_ns)) {
		status = trace_queue_push(&reader->queue, &span);
	} else {
		*problem = "the span that ends here is longer than 64-bit nanoseconds";
		status = TRACE_ERROR_RANGE;
	}
	free(open);
	return status;
}

static int sample_counters(struct trace_reader *reader, struct trace_event_fields *fields)
{
	struct trace_event sample = event_of(fields);

	reader->statistics.n_counter_events++;
	trace_fields_settle_samples(fields);
	sample.kind = TRACE_COUNTER;
	sample.id = trace_fields_text(fields, TRACE_FIELD_ID);
	for (size_t i = 0; i < fields->n_samples; i++) {
		sample.key = fields->samples[i].key_text;
		sample.value = fields->samples[i].value;
		if (trace_queue_push(&reader->queue, &sample) < 0)
			return TRACE_ERROR_MEMORY;
	}
	return TRACE_OK;
}

static bool is_wanted(const struct trace_options *options, char phase)
{
	switch (phase) {
	case 'X':
	case 'B':
	case 'E': return options->spans;
	case 'C': return options->counters;
	default: return false;
	}
}

static int on_event(void *context, struct trace_event_fields *fields, const char **problem)
{
	struct trace_reader *reader = context;

	reader->statistics.n_events++;
	if (!is_wanted(&reader->options, fields->phase))
		return TRACE_OK;
	if (fields->ts.status == TRACE_TIME_OUT_OF_RANGE) {
		*problem = "the ts of the event that starts here does not fit into 64-bit nanoseconds";
		return TRACE_ERROR_RANGE;
	}
	if (fields->ts.status != TRACE_TIME_OK) {
		reader->statistics.n_without_time++;
		return TRACE_OK;
	}
	switch (fields->phase) {
	case 'X': return complete_span(reader, fields, problem);
	case 'B': return begin_span(reader, fields);
	case 'E': return end_span(reader, fields, problem);
	default: return sample_counters(reader, fields);
	}
}

static int start(struct trace_reader *reader)
{
	struct trace_json_handler handler = {
		.on_event = on_event,
		.context = reader,
		.keep_args = reader->options.spans && reader->options.args,
		.keep_samples = reader->options.counters,
	};
	int status = trace_input_open(&reader->input, reader->path);

	if (status < 0)
		return fail(reader, status, "%s", reader->input.problem);
	reader->parser = trace_json_events_new(&handler);
	if (!reader->parser)
		return fail(reader, TRACE_ERROR_MEMORY, "out of memory");
	return TRACE_ROW;
}

int trace_reader_open(const char *path, const struct trace_options *options, struct trace_reader **reader)
{
	struct trace_reader *opened = calloc(1, sizeof *opened);

	*reader = opened;
	if (!opened)
		return TRACE_ERROR_MEMORY;
	opened->options = *options;
	if (opened->options.piece_bytes == 0)
		opened->options.piece_bytes = DEFAULT_PIECE_BYTES;
	opened->path = strdup(path);
	if (!opened->path) {
		free(opened);
		*reader = NULL;
		return TRACE_ERROR_MEMORY;
	}
	opened->status = start(opened);
	return opened->status < 0 ? opened->status : TRACE_OK;
}

static int parser_failed(struct trace_reader *reader, int status)
{
	const struct trace_json_problem *problem = trace_json_events_problem(reader->parser);

	return fail(reader, status, "byte %llu: %s", (unsigned long long)problem->offset, problem->text);
}

static int finish(struct trace_reader *reader)
{
	int status = trace_json_events_end(reader->parser, &reader->statistics.truncated);

	return status < 0 ? parser_failed(reader, status) : TRACE_OK;
}

/* Reads the next *n_read bytes of the file, behind what is left of the last piece. */
static int read_piece(struct trace_reader *reader, size_t *n_read)
{
	size_t n_wanted = trace_json_events_piece_bytes(reader->parser);
	struct trace_bytes *piece = &reader->piece;
	int status;

	if (n_wanted < reader->options.piece_bytes)
		n_wanted = reader->options.piece_bytes;
	if (piece->n_allocated > 2 * n_wanted && piece->n_bytes == 0)
		trace_bytes_release(piece);
	if (trace_bytes_reserve(piece, n_wanted) < 0)
		return fail(reader, TRACE_ERROR_MEMORY, "out of memory");
	status = trace_input_read(&reader->input, piece->data + piece->n_bytes, n_wanted, n_read);
	piece->n_bytes += *n_read;
	return status < 0 ? fail(reader, status, "%s", reader->input.problem) : TRACE_OK;
}

/* Parses the next piece. TRACE_ROW if there may be more, TRACE_OK at the end. */
static int advance(struct trace_reader *reader)
{
	struct trace_bytes *piece = &reader->piece;
	size_t n_read, n_taken;
	int status = read_piece(reader, &n_read);

	if (status < 0)
		return status;
	if (n_read == 0)
		return finish(reader);
	status = trace_json_events_feed(reader->parser, piece->data, piece->n_bytes, &n_taken);
	if (status < 0)
		return parser_failed(reader, status);
	piece->n_bytes -= n_taken;
	memmove(piece->data, piece->data + n_taken, piece->n_bytes);
	return TRACE_ROW;
}

int trace_reader_next(struct trace_reader *reader, struct trace_event *event)
{
	while (!trace_queue_pop(&reader->queue, event)) {
		if (reader->status != TRACE_ROW)
			return reader->status;
		trace_queue_clear(&reader->queue);
		reader->status = advance(reader);
	}
	return TRACE_ROW;
}

const char *trace_reader_error(const struct trace_reader *reader)
{
	return reader ? reader->error : "out of memory";
}

const struct trace_statistics *trace_reader_statistics(const struct trace_reader *reader)
{
	return &reader->statistics;
}

uint64_t trace_reader_position(const struct trace_reader *reader)
{
	return trace_input_position(&reader->input);
}

void trace_reader_close(struct trace_reader *reader)
{
	if (!reader)
		return;
	trace_json_events_free(reader->parser);
	trace_input_close(&reader->input);
	trace_queue_release(&reader->queue);
	trace_open_spans_release(&reader->open_spans);
	trace_bytes_release(&reader->piece);
	free(reader->path);
	free(reader);
}
