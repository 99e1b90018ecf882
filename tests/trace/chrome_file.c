#include "tests/trace/chrome_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/foreign.h"

char folder[200], trace_path[240];
struct reading reading;
const struct choice everything = { .spans = true, .counters = true, .args = true };

int make_folder(void **state)
{
	const char *parent = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof folder, "%.150s/iforest_trace_XXXXXX", parent && *parent ? parent : "/tmp");
	if (!mkdtemp(folder))
		return -1;
	snprintf(trace_path, sizeof trace_path, "%s/trace.json", folder);
	return 0;
}

int remove_folder(void **state)
{
	(void)state;
	unlink(trace_path);
	return rmdir(folder);
}

void write_file(const void *data, size_t n_bytes)
{
	FILE *file = fopen(trace_path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, n_bytes, file), n_bytes);
	assert_int_equal(fclose(file), 0);
}

static void show(const char *format, ...)
{
	size_t n_left = sizeof reading.shown - reading.n_shown_bytes;
	va_list arguments;
	int n_bytes;

	va_start(arguments, format);
	n_bytes = vsnprintf(reading.shown + reading.n_shown_bytes, n_left, format, arguments);
	va_end(arguments);
	if (n_bytes > 0 && (size_t)n_bytes < n_left)
		reading.n_shown_bytes += (size_t)n_bytes;
}

static void show_text(struct trace_text text)
{
	if (!text.data)
		show(" NULL");
	else if (text.n_bytes > 200)
		show(" (%zu bytes)", text.n_bytes);
	else
		show(" [%.*s]", (int)text.n_bytes, text.data);
}

static int show_span(void *context, const struct trace_span *span)
{
	(void)context;
	reading.n_events++;
	reading.closed_ns += span->dur_ns < 0 ? 0 : span->dur_ns;
	show("span %" PRId64 " %" PRId64, span->ts_ns, span->dur_ns);
	show_text(span->track->key);
	show_text(span->name);
	show_text(span->category);
	show_text(span->args);
	if (span->depth != TRACE_UNKNOWN_DEPTH)
		show(" %" PRId64, span->depth);
	show("\n");
	return TRACE_OK;
}

static int show_sample(void *context, const struct trace_sample *sample)
{
	(void)context;
	reading.n_events++;
	show("sample %" PRId64 " %.17g", sample->ts_ns, sample->value);
	show_text(sample->track->key);
	show_text(sample->name);
	show_text(sample->id);
	show_text(sample->key);
	show("\n");
	return TRACE_OK;
}

static int show_instant(void *context, const struct trace_instant *instant)
{
	(void)context;
	reading.n_events++;
	show("instant %" PRId64, instant->ts_ns);
	show_text(instant->track->key);
	show_text(instant->name);
	show("\n");
	return TRACE_OK;
}

static int show_flow(void *context, const struct trace_flow *flow)
{
	(void)context;
	reading.n_events++;
	show("flow %" PRIu64 " %" PRIu64, flow->from.span, flow->to.span);
	show_text(flow->id);
	show("\n");
	return TRACE_OK;
}

static void show_report(const struct trace *trace)
{
	const struct trace_report_line *line;

	for (size_t i = 0; (line = trace_report(trace, i)); i++) {
		size_t n = strlen(reading.report);

		snprintf(reading.report + n, sizeof reading.report - n, "%s%" PRIu64 " %s\n",
			 line->finding == TRACE_MENDED ? "mended " : "", line->n, line->what);
	}
}

void read_path(const char *path, const struct choice *choice)
{
	struct trace_options options = {
		.args = choice->args, .complete = choice->complete, .strict = choice->strict, .piece_bytes = choice->piece_bytes
	};
	struct trace_sink sink = {
		.on_span = choice->spans ? show_span : NULL,
		.on_sample = choice->counters ? show_sample : NULL,
		.on_instant = choice->instants ? show_instant : NULL,
		.on_flow = choice->flows ? show_flow : NULL,
	};
	struct trace *trace;

	reading = (struct reading){ 0 };
	reading.status = trace_open(path, &options, &sink, &trace);
	assert_non_null(trace);
	while (reading.status >= 0 && (reading.status = trace_step(trace)) == TRACE_ROW)
		continue;
	snprintf(reading.error, sizeof reading.error, "%s", trace_error(trace));
	reading.counts = *trace_counts(trace);
	show_report(trace);
	assert_int_equal(trace_step(trace), reading.status);
	assert_int_equal(reading.status < 0, reading.error[0] != 0);
	trace_close(trace);
}

void expect_reading(int status, const char *shown)
{
	if (reading.status != status)
		fail_msg("status %d instead of %d: %s", reading.status, status, reading.error);
	assert_string_equal(reading.shown, shown);
}

void expect_events(const char *text, const char *shown)
{
	write_file(text, strlen(text));
	read_path(trace_path, &everything);
	expect_reading(TRACE_OK, shown);
}

void expect_report(const char *report)
{
	assert_string_equal(reading.report, report);
}

void expect_error(const char *text, int status, const char *error)
{
	char expected[700];

	write_file(text, strlen(text));
	read_path(trace_path, &everything);
	assert_int_equal(reading.status, status);
	snprintf(expected, sizeof expected, "%s: %s%s%s", trace_path, error,
		 strstr(reading.error, trace_formats_read) ? ". " : "",
		 strstr(reading.error, trace_formats_read) ? trace_formats_read : "");
	assert_string_equal(reading.error, expected);
}
