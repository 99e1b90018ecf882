#include "tests/trace/recording.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are read as a file. */
struct source {
	const char *bytes;
	size_t n_bytes, at;
};

static int read_source(void *context, char *data, size_t n_bytes, size_t *n_read)
{
	struct source *source = context;

	*n_read = source->n_bytes - source->at < n_bytes ? source->n_bytes - source->at : n_bytes;
	if (*n_read > 0)
		memcpy(data, source->bytes + source->at, *n_read);
	source->at += *n_read;
	return TRACE_OK;
}

static void append(char **text, size_t *n_bytes, const char *format, va_list arguments)
{
	va_list again;
	int n;
	char *longer;

	va_copy(again, arguments);
	n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	longer = realloc(*text, *n_bytes + (size_t)n + 1);
	if (!longer)
		abort();
	vsnprintf(longer + *n_bytes, (size_t)n + 1, format, arguments);
	*text = longer;
	*n_bytes += (size_t)n;
}

static void show(struct recording *recording, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	append(&recording->shown, &recording->n_shown_bytes, format, arguments);
	va_end(arguments);
}

/* A byte that is NUL is shown as one. */
static char *copy(struct trace_text text)
{
	char *bytes;

	if (!text.data)
		return NULL;
	bytes = malloc(text.n_bytes + 1);
	if (!bytes)
		abort();
	memcpy(bytes, text.data, text.n_bytes);
	bytes[text.n_bytes] = 0;
	return bytes;
}

static void show_text(struct recording *recording, const char *name, struct trace_text text)
{
	if (text.data)
		show(recording, " %s=%.*s", name, (int)text.n_bytes, text.data);
}

static int on_span(void *context, const struct trace_span *span)
{
	struct recording *recording = context;
	struct recorded_span *spans = recording->spans;

	if ((recording->n_spans & (recording->n_spans - 1)) == 0)
		spans = realloc(spans, (recording->n_spans ? 2 * recording->n_spans : 1) * sizeof *spans);
	if (!spans)
		abort();
	recording->spans = spans;
	spans[recording->n_spans++] = (struct recorded_span){
		.number = span->number,
		.ts_ns = span->ts_ns,
		.dur_ns = span->dur_ns,
		.depth = span->depth,
		.track = copy(span->track->key),
		.name = copy(span->name),
		.category = copy(span->category),
		.id = copy(span->id),
		.parent_id = copy(span->parent_id),
		.trace_id = copy(span->trace_id),
		.args = copy(span->args),
	};
	return TRACE_OK;
}

static int on_sample(void *context, const struct trace_sample *sample)
{
	struct recording *recording = context;

	show(recording, "sample %" PRId64 " %.17g", sample->ts_ns, sample->value);
	show_text(recording, "name", sample->name);
	show(recording, "\n");
	return TRACE_OK;
}

static int on_instant(void *context, const struct trace_instant *instant)
{
	struct recording *recording = context;

	show(recording, "instant %" PRId64, instant->ts_ns);
	show_text(recording, "track", instant->track->key);
	show_text(recording, "name", instant->name);
	show_text(recording, "cat", instant->category);
	show_text(recording, "id", instant->id);
	show_text(recording, "args", instant->args);
	show(recording, "\n");
	return TRACE_OK;
}

static int on_flow(void *context, const struct trace_flow *flow)
{
	struct recording *recording = context;

	show(recording, "flow %" PRIu64 " at %" PRId64 " to %" PRIu64 " at %" PRId64, flow->from.span, flow->from.ts_ns,
	     flow->to.span, flow->to.ts_ns);
	show_text(recording, "id", flow->id);
	show(recording, "\n");
	return TRACE_OK;
}

static int on_track(void *context, const struct trace_track *track)
{
	struct recording *recording = context;
	struct recorded_track *tracks = realloc(recording->tracks, (recording->n_tracks + 1) * sizeof *tracks);

	if (!tracks)
		abort();
	recording->tracks = tracks;
	tracks[recording->n_tracks++] = (struct recorded_track){
		.kind = trace_track_kind_name(track->kind),
		.key = copy(track->key),
		.name = copy(track->name),
		.parent = track->parent ? copy(track->parent->key) : NULL,
		.is_used = track->is_used,
	};
	return TRACE_OK;
}

static int compare_spans(const void *a, const void *b)
{
	const struct recorded_span *x = a, *y = b;
	uint64_t x_length = x->dur_ns < 0 ? UINT64_MAX : (uint64_t)x->dur_ns;
	uint64_t y_length = y->dur_ns < 0 ? UINT64_MAX : (uint64_t)y->dur_ns;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	if (x_length != y_length)
		return x_length > y_length ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void note_end(struct recording *recording, struct trace *trace)
{
	const struct trace_report_line *line;

	snprintf(recording->error, sizeof recording->error, "%s", trace_error(trace));
	if (!trace)
		return;
	snprintf(recording->format, sizeof recording->format, "%s", trace_format_name(trace));
	recording->counts = *trace_counts(trace);
	for (size_t i = 0; (line = trace_report(trace, i)); i++)
		show(recording, "%s: %s %" PRIu64 "\n", line->finding == TRACE_LEFT_OUT ? "left out" : "mended", line->what,
		     line->n);
	if (recording->n_spans > 1)
		qsort(recording->spans, recording->n_spans, sizeof *recording->spans, compare_spans);
}

static const struct trace_sink recorder = {
	.on_span = on_span,
	.on_sample = on_sample,
	.on_instant = on_instant,
	.on_flow = on_flow,
	.on_track = on_track,
};

static void record(struct recording *recording, struct trace *trace, int status)
{
	while (status >= 0 && (status = trace_step(trace)) == TRACE_ROW)
		continue;
	recording->status = status;
	note_end(recording, trace);
	trace_close(trace);
}

void recording_of_file(struct recording *recording, const char *path, const struct trace_options *options)
{
	struct trace_sink sink = recorder;
	struct trace *trace;
	int status;

	*recording = (struct recording){ 0 };
	sink.context = recording;
	status = trace_open(path, options, &sink, &trace);
	record(recording, trace, status);
}

void recording_of_bytes(struct recording *recording, const void *bytes, size_t n_bytes, const struct trace_options *options)
{
	struct source source = { bytes, n_bytes, 0 };
	struct trace_sink sink = recorder;
	struct trace *trace;
	int status;

	*recording = (struct recording){ 0 };
	sink.context = recording;
	status = trace_open_source(read_source, &source, "trace", options, &sink, &trace);
	record(recording, trace, status);
}

static int pass_span(void *context, const struct trace_span *span)
{
	(void)context;
	(void)span;
	return TRACE_OK;
}

static int pass_instant(void *context, const struct trace_instant *instant)
{
	(void)context;
	(void)instant;
	return TRACE_OK;
}

static int pass_flow(void *context, const struct trace_flow *flow)
{
	(void)context;
	(void)flow;
	return TRACE_OK;
}

static int pass_track(void *context, const struct trace_track *track)
{
	(void)context;
	(void)track;
	return TRACE_OK;
}

int recording_status(const void *bytes, size_t n_bytes, const struct trace_options *options, char error[900])
{
	static const struct trace_sink sink = {
		.on_span = pass_span,
		.on_instant = pass_instant,
		.on_flow = pass_flow,
		.on_track = pass_track,
	};
	struct source source = { bytes, n_bytes, 0 };
	struct trace *trace;
	int status = trace_open_source(read_source, &source, "trace", options, &sink, &trace);

	while (status >= 0 && (status = trace_step(trace)) == TRACE_ROW)
		continue;
	if (error)
		snprintf(error, 900, "%s", trace_error(trace));
	trace_close(trace);
	return status;
}

/* ---- As text ---- */

struct text {
	char *bytes;
	size_t n_bytes;
};

static void put(struct text *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	append(&text->bytes, &text->n_bytes, format, arguments);
	va_end(arguments);
}

static void put_field(struct text *text, const char *name, const char *value)
{
	if (value)
		put(text, " %s=%s", name, value);
}

char *recording_text(const struct recording *recording)
{
	struct text text = { 0 };

	for (size_t i = 0; i < recording->n_spans; i++) {
		const struct recorded_span *span = &recording->spans[i];

		put(&text, "span %" PRIu64 " at %" PRId64 " for %" PRId64, span->number, span->ts_ns, span->dur_ns);
		if (span->depth != TRACE_UNKNOWN_DEPTH)
			put(&text, " depth=%" PRId64, span->depth);
		put_field(&text, "track", span->track);
		put_field(&text, "name", span->name);
		put_field(&text, "cat", span->category);
		put_field(&text, "id", span->id);
		put_field(&text, "parent", span->parent_id);
		put_field(&text, "trace", span->trace_id);
		put_field(&text, "args", span->args);
		put(&text, "\n");
	}
	put(&text, "%s", recording->shown ? recording->shown : "");
	for (size_t i = 0; i < recording->n_tracks; i++) {
		put(&text, "track %s %s%s", recording->tracks[i].kind, recording->tracks[i].key,
		    recording->tracks[i].is_used ? "" : " (unused)");
		put_field(&text, "name", recording->tracks[i].name);
		put_field(&text, "in", recording->tracks[i].parent);
		put(&text, "\n");
	}
	return text.bytes;
}

void recording_release(struct recording *recording)
{
	for (size_t i = 0; i < recording->n_spans; i++) {
		struct recorded_span *span = &recording->spans[i];
		char *texts[] = {
			span->track, span->name, span->category, span->id, span->parent_id, span->trace_id, span->args
		};

		for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
			free(texts[k]);
	}
	for (size_t i = 0; i < recording->n_tracks; i++) {
		free(recording->tracks[i].key);
		free(recording->tracks[i].name);
		free(recording->tracks[i].parent);
	}
	free(recording->spans);
	free(recording->tracks);
	free(recording->shown);
	*recording = (struct recording){ 0 };
}

/* ---- Whole and in pieces ---- */

static char *read_all(struct recording *recording, const void *bytes, size_t n_bytes, bool is_strict, size_t piece_bytes)
{
	struct trace_options options = { .args = true, .complete = true, .strict = is_strict, .piece_bytes = piece_bytes };

	recording_of_bytes(recording, bytes, n_bytes, &options);
	return recording_text(recording);
}

static bool is_judged(const struct recording *recording, const char *const *formats)
{
	if (!formats)
		return true;
	while (*formats && strcmp(recording->format, *formats) != 0)
		formats++;
	return *formats;
}

void recording_check_pieces(struct recording *recording, const void *bytes, size_t n_bytes, bool is_strict, size_t piece_bytes,
			    const char *const *formats)
{
	struct recording pieces;
	char *of_whole = read_all(recording, bytes, n_bytes, is_strict, 0),
	     *of_pieces = read_all(&pieces, bytes, n_bytes, is_strict, piece_bytes);

	if (is_judged(recording, formats)) {
		if (recording->status != pieces.status || strcmp(recording->error, pieces.error) != 0 ||
		    strcmp(of_whole, of_pieces) != 0) {
			fprintf(stderr, "pieces of %zu bytes give status %d, %s\n%s\ninstead of %d, %s\n%s\n", piece_bytes,
				pieces.status, pieces.error, of_pieces, recording->status, recording->error, of_whole);
			abort();
		}
		if (recording->status < 0 && recording->status != TRACE_ERROR_NOT_TRACE && !strstr(recording->error, "byte")) {
			fprintf(stderr, "an error without its byte: %s\n", recording->error);
			abort();
		}
	}
	free(of_whole);
	free(of_pieces);
	recording_release(&pieces);
}
