/* The reader of Chrome JSON against small files that are written for the purpose, whole, cut and damaged. What real traces
 * give is tested through SQL (tests/sqlite/test_traces.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "trace/trace.h"
#include "tests/support/sanitizer.h"

static char folder[200], trace_path[240];

static int make_folder(void **state)
{
	const char *parent = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof folder, "%.150s/iforest_trace_XXXXXX", parent && *parent ? parent : "/tmp");
	if (!mkdtemp(folder))
		return -1;
	snprintf(trace_path, sizeof trace_path, "%s/trace.json", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(trace_path);
	return rmdir(folder);
}

static void write_file(const void *data, size_t n_bytes)
{
	FILE *file = fopen(trace_path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, n_bytes, file), n_bytes);
	assert_int_equal(fclose(file), 0);
}

static void write_gzip(const char *data, size_t n_bytes, const char *mode)
{
	gzFile file = gzopen(trace_path, mode);

	assert_non_null(file);
	assert_int_equal(gzwrite(file, data, (unsigned)n_bytes), n_bytes);
	assert_int_equal(gzclose(file), Z_OK);
}

/* What is asked for. */
struct choice {
	bool spans, counters, instants, flows, args, complete, strict;
	size_t piece_bytes;
};

/* All events of a trace as text, one line each. */
struct reading {
	int status;
	char error[1000];
	struct trace_counts counts;
	size_t n_events, n_shown_bytes;
	int64_t closed_ns; /* of spans that have an end */
	char shown[8000], report[2000];
};

static void show(struct reading *reading, const char *format, ...)
{
	size_t n_left = sizeof reading->shown - reading->n_shown_bytes;
	va_list arguments;
	int n_bytes;

	va_start(arguments, format);
	n_bytes = vsnprintf(reading->shown + reading->n_shown_bytes, n_left, format, arguments);
	va_end(arguments);
	if (n_bytes > 0 && (size_t)n_bytes < n_left)
		reading->n_shown_bytes += (size_t)n_bytes;
}

static void show_text(struct reading *reading, struct trace_text text)
{
	if (!text.data)
		show(reading, " NULL");
	else if (text.n_bytes > 200)
		show(reading, " (%zu bytes)", text.n_bytes);
	else
		show(reading, " [%.*s]", (int)text.n_bytes, text.data);
}

static int show_span(void *context, const struct trace_span *span)
{
	struct reading *reading = context;

	reading->n_events++;
	reading->closed_ns += span->dur_ns < 0 ? 0 : span->dur_ns;
	show(reading, "span %" PRId64 " %" PRId64, span->ts_ns, span->dur_ns);
	show_text(reading, span->track->key);
	show_text(reading, span->name);
	show_text(reading, span->category);
	show_text(reading, span->args);
	if (span->depth != TRACE_UNKNOWN_DEPTH)
		show(reading, " %" PRId64, span->depth);
	show(reading, "\n");
	return TRACE_OK;
}

static int show_sample(void *context, const struct trace_sample *sample)
{
	struct reading *reading = context;

	reading->n_events++;
	show(reading, "sample %" PRId64 " %.17g", sample->ts_ns, sample->value);
	show_text(reading, sample->track->key);
	show_text(reading, sample->name);
	show_text(reading, sample->id);
	show_text(reading, sample->key);
	show(reading, "\n");
	return TRACE_OK;
}

static int show_instant(void *context, const struct trace_instant *instant)
{
	struct reading *reading = context;

	reading->n_events++;
	show(reading, "instant %" PRId64, instant->ts_ns);
	show_text(reading, instant->track->key);
	show_text(reading, instant->name);
	show(reading, "\n");
	return TRACE_OK;
}

static int show_flow(void *context, const struct trace_flow *flow)
{
	struct reading *reading = context;

	reading->n_events++;
	show(reading, "flow %" PRIu64 " %" PRIu64, flow->from.span, flow->to.span);
	show_text(reading, flow->id);
	show(reading, "\n");
	return TRACE_OK;
}

static void show_report(const struct trace *trace, struct reading *reading)
{
	const struct trace_report_line *line;

	for (size_t i = 0; (line = trace_report(trace, i)); i++) {
		size_t n = strlen(reading->report);

		snprintf(reading->report + n, sizeof reading->report - n, "%s%" PRIu64 " %s\n",
			 line->finding == TRACE_MENDED ? "mended " : "", line->n, line->what);
	}
}

static void read_path(const char *path, const struct choice *choice, struct reading *reading)
{
	struct trace_options options = {
		.args = choice->args, .complete = choice->complete, .strict = choice->strict, .piece_bytes = choice->piece_bytes
	};
	struct trace_sink sink = {
		.context = reading,
		.on_span = choice->spans ? show_span : NULL,
		.on_sample = choice->counters ? show_sample : NULL,
		.on_instant = choice->instants ? show_instant : NULL,
		.on_flow = choice->flows ? show_flow : NULL,
	};
	struct trace *trace;

	*reading = (struct reading){ 0 };
	reading->status = trace_open(path, &options, &sink, &trace);
	assert_non_null(trace);
	while (reading->status >= 0 && (reading->status = trace_step(trace)) == TRACE_ROW)
		continue;
	snprintf(reading->error, sizeof reading->error, "%s", trace_error(trace));
	reading->counts = *trace_counts(trace);
	show_report(trace, reading);
	assert_int_equal(trace_step(trace), reading->status);
	assert_int_equal(reading->status < 0, reading->error[0] != 0);
	trace_close(trace);
}

static const struct choice everything = { .spans = true, .counters = true, .args = true };

static struct reading reading;

static void expect_reading(int status, const char *shown)
{
	if (reading.status != status)
		fail_msg("status %d instead of %d: %s", reading.status, status, reading.error);
	assert_string_equal(reading.shown, shown);
}

static void expect_events(const char *text, const char *shown)
{
	write_file(text, strlen(text));
	read_path(trace_path, &everything, &reading);
	expect_reading(TRACE_OK, shown);
}

static void expect_report(const char *report)
{
	assert_string_equal(reading.report, report);
}

static void expect_error(const char *text, int status, const char *error)
{
	char expected[400];

	write_file(text, strlen(text));
	read_path(trace_path, &everything, &reading);
	assert_int_equal(reading.status, status);
	snprintf(expected, sizeof expected, "%s: %s", trace_path, error);
	assert_string_equal(reading.error, expected);
}

/* --- what is read -------------------------------------------------------------------------------------------- */

static void complete_events_are_spans(void **state)
{
	(void)state;
	expect_events("[{\"ph\":\"X\",\"ts\":1.5,\"dur\":2,\"pid\":1,\"tid\":2,\"name\":\"a\",\"cat\":\"c\",\"args\":{ "
		      "\"k\" : [1, {}] }},"
		      "{\"args\":{\"k\":1},\"cat\":null,\"dur\":\"3\",\"ts\":\"4e0\",\"ph\":\"X\"}]",
		      "span 1500 2000 [1/2] [a] [c] [{ \"k\" : [1, {}] }]\n"
		      "span 4000 3000 [/] [] NULL [{\"k\":1}]\n");
	assert_int_equal(reading.counts.n_spans, 2);
	assert_int_equal(reading.counts.n_events, 2);
	expect_report("");
}

static void begin_and_end_are_matched_last_in_first_out(void **state)
{
	(void)state;
	expect_events("[{\"ph\":\"B\",\"ts\":1,\"pid\":1,\"tid\":1,\"name\":\"a\",\"cat\":\"x\",\"args\":{\"n\":1}},"
		      "{\"ph\":\"B\",\"ts\":2,\"pid\":1,\"tid\":1,\"name\":\"b\"},"
		      "{\"ph\":\"E\",\"ts\":3,\"pid\":2,\"tid\":1},"
		      "{\"ph\":\"E\",\"ts\":4,\"pid\":\"1\",\"tid\":\"1\",\"name\":\"a\",\"args\":{\"m\":2}},"
		      "{\"ph\":\"B\",\"ts\":5,\"pid\":1,\"tid\":2},"
		      "{\"ph\":\"E\",\"ts\":0,\"pid\":1,\"tid\":1},"
		      "{\"ph\":\"E\",\"ts\":9,\"pid\":1,\"tid\":1}]",
		      "span 2000 2000 [1/1] [b] NULL NULL\n"
		      "span 1000 8000 [1/1] [a] [x] [{\"n\":1}]\n"
		      "span 5000 -1 [1/2] [] NULL NULL\n");
	expect_report("2 E without B\n");
	assert_int_equal(reading.counts.n_spans, 3);
}

/* Not in the order of the file; of equal times the order of the file decides. */
static void begin_and_end_are_matched_in_the_order_of_time(void **state)
{
	(void)state;
	expect_events("[{\"ph\":\"E\",\"ts\":9,\"pid\":1,\"tid\":1},{\"ph\":\"E\",\"ts\":5,\"pid\":1,\"tid\":1},"
		      "{\"ph\":\"B\",\"ts\":3,\"pid\":1,\"tid\":1,\"name\":\"in\"},"
		      "{\"ph\":\"B\",\"ts\":1,\"pid\":1,\"tid\":1,\"name\":\"out\"},"
		      "{\"ph\":\"B\",\"ts\":9,\"pid\":1,\"tid\":1,\"name\":\"next\"},"
		      "{\"ph\":\"E\",\"ts\":9,\"pid\":1,\"tid\":1}]",
		      "span 3000 2000 [1/1] [in] NULL NULL\nspan 1000 8000 [1/1] [out] NULL NULL\n"
		      "span 9000 0 [1/1] [next] NULL NULL\n");
	expect_report("");
}

/* pid and tid are matched as a pair, even where they make the same track text. */
static void matching_is_by_pid_and_tid(void **state)
{
	(void)state;
	expect_events(
	    "[{\"ph\":\"B\",\"ts\":1,\"pid\":\"a/b\",\"tid\":\"c\"},{\"ph\":\"E\",\"ts\":2,\"pid\":\"a\",\"tid\":\"b/c\"},"
	    "{\"ph\":\"E\",\"ts\":3,\"pid\":\"a/b\",\"tid\":\"c\"}]",
	    "span 1000 2000 [a/b/c] [] NULL NULL\n");
}

static void counters_give_a_sample_for_each_number(void **state)
{
	(void)state;
	expect_events("[{\"ph\":\"C\",\"ts\":1,\"pid\":7,\"tid\":8,\"name\":\"mem\",\"args\":{\"a\":1,\"b\":\"2.5\",\"c\":"
		      "null,\"d\":true,"
		      "\"e\":\"x\",\"f\":{\"g\":3},\"h\":[4],\"i\":-1e-3}},"
		      "{\"args\":{\"v\":\"8.395000000000001\"},\"id\":\"0x1\",\"ph\":\"C\",\"ts\":2},"
		      "{\"ph\":\"C\",\"ts\":3,\"id\":5,\"args\":{\"a\":1,\"b\":2,\"a\":3,\"b\":\"none\"}},"
		      "{\"ph\":\"C\",\"ts\":4,\"args\":{\"a\":1},\"args\":{\"b\":2}},"
		      "{\"ph\":\"C\",\"ts\":4,\"args\":[5]},{\"ph\":\"C\",\"ts\":4},{\"ph\":\"C\",\"args\":{\"a\":1}}]",
		      "sample 1000 1 [7] [mem] NULL [a]\n"
		      "sample 1000 2.5 [7] [mem] NULL [b]\n"
		      "sample 1000 -0.001 [7] [mem] NULL [i]\n"
		      "sample 2000 8.3950000000000014 [] [] [0x1] [v]\n"
		      "sample 3000 3 [] [] [5] [a]\n"
		      "sample 4000 2 [] [] NULL [b]\n");
	expect_report("6 counter value that is no finite number\n2 C without arguments\n1 phase C without ts\n");
}

static void other_phases_are_counted(void **state)
{
	char text[2000] = "[";

	(void)state;
	for (const char *phase = "NODPvVaZ("; *phase; phase++)
		snprintf(text + strlen(text), 200,
			 "{\"ph\":\"%c\",\"ts\":1,\"dur\":1,\"pid\":1,\"tid\":1,\"args\":{\"a\":1}},", *phase);
	strcat(text, "{\"ph\":\"M\",\"name\":\"unknown\"},{\"ph\":null,\"ts\":1,\"dur\":1},{\"ts\":1,\"dur\":1},"
		     "{\"ph\":[\"X\"],\"ts\":1,\"dur\":1},{},5]");
	expect_events(text, "");
	assert_int_equal(reading.counts.n_events, 14);
	expect_report("1 phase N\n1 phase O\n1 phase D\n1 phase P\n1 phase v\n1 phase V\n1 phase a\n1 phase Z\n1 phase (\n"
		      "3 event without a phase\n1 empty object\n1 element that is no object\n");
}

/* An operation of an id nests; an e closes the innermost of its name, and children keep their own end. */
static void asynchronous_events_nest(void **state)
{
	(void)state;
	expect_events("[{\"ph\":\"b\",\"cat\":\"c\",\"id\":1,\"ts\":1,\"pid\":1,\"name\":\"out\"},"
		      "{\"ph\":\"b\",\"cat\":\"c\",\"id\":\"1\",\"ts\":2,\"pid\":2,\"name\":\"in\"},"
		      "{\"ph\":\"b\",\"cat\":\"c\",\"id2\":{\"local\":1},\"ts\":2,\"pid\":2,\"name\":\"mine\"},"
		      "{\"ph\":\"e\",\"cat\":\"c\",\"id\":1,\"ts\":5,\"name\":\"out\"},"
		      "{\"ph\":\"e\",\"cat\":\"c\",\"id\":1,\"ts\":7},{\"ph\":\"e\",\"cat\":\"c\",\"id\":1,\"ts\":8},"
		      "{\"ph\":\"S\",\"id\":\"x\",\"ts\":1,\"name\":\"old\"},{\"ph\":\"F\",\"id\":\"x\",\"ts\":4,\"name\":\"old\"},"
		      "{\"ph\":\"F\",\"id\":\"x\",\"ts\":5,\"name\":\"old\"}]",
		      "span 1000 4000 [async:g:c:1] [out] [c] NULL\nspan 2000 5000 [async:g:c:1] [in] [c] NULL\n"
		      "span 2000 -1 [async:p2:c:1] [mine] [c] NULL\nspan 1000 3000 [async:g:old:x] [old] NULL NULL\n");
	expect_report("1 async e without begin\n1 async F without begin\n");
}

/* Ends with names against a stack that is searched from its top, span by span. */
static void names_are_matched_as_by_hand(void **state)
{
	enum { N_EVENTS = 400, N_ROUNDS = 30 };
	unsigned seed = 77;

	(void)state;
	for (int round = 0; round < N_ROUNDS; round++) {
		struct {
			char name;
			int ts;
		} open[N_EVENTS];
		int n_open = 0, n_closed = 0, n_unmatched = 0;
		int64_t sum = 0;
		FILE *file = fopen(trace_path, "wb");

		assert_non_null(file);
		fputs("[{}", file);
		for (int i = 0; i < N_EVENTS; i++) {
			char name = (char)('a' + (seed = seed * 1664525u + 1013904223u, seed >> 20) % (unsigned)(1 + round % 5));
			bool is_begin = (seed >> 9) % 5 < 3;
			int k = n_open;

			fprintf(file, ",{\"ph\":\"%c\",\"cat\":\"c\",\"id\":1,\"ts\":%d,\"name\":\"%c\"}", is_begin ? 'b' : 'e', i, name);
			if (is_begin) {
				open[n_open].name = name;
				open[n_open++].ts = i;
				continue;
			}
			while (k > 0 && open[k - 1].name != name)
				k--;
			n_unmatched += k == 0;
			if (k == 0)
				continue;
			sum += i - open[k - 1].ts;
			memmove(&open[k - 1], &open[k], (size_t)(n_open - k) * sizeof *open);
			n_open--;
			n_closed++;
		}
		fputs("]", file);
		assert_int_equal(fclose(file), 0);
		read_path(trace_path, &(struct choice){ .spans = true }, &reading);
		assert_int_equal(reading.status, TRACE_OK);
		assert_int_equal(reading.counts.n_spans, n_closed + n_open);
		assert_int_equal(reading.closed_ns, sum * 1000);
		assert_int_equal(n_unmatched > 0, strstr(reading.report, "async e without begin") != NULL);
	}
}

static void flows_bind_to_spans_by_time(void **state)
{
	static const char text[] =
		"[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":10},{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":2,\"dur\":3},"
		"{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":20,\"dur\":1},{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":20,\"dur\":5},"
		"{\"ph\":\"s\",\"pid\":1,\"tid\":1,\"ts\":5,\"id\":7},{\"ph\":\"t\",\"pid\":1,\"tid\":1,\"ts\":6,\"id\":7},"
		"{\"ph\":\"f\",\"pid\":1,\"tid\":2,\"ts\":19,\"id\":7},"
		"{\"ph\":\"f\",\"bp\":\"e\",\"pid\":1,\"tid\":2,\"ts\":20.5,\"id\":7},"
		"{\"ph\":\"f\",\"bp\":\"e\",\"pid\":1,\"tid\":2,\"ts\":26,\"id\":7},{\"ph\":\"f\",\"pid\":1,\"tid\":2,\"ts\":21,\"id\":7},"
		"{\"ph\":\"t\",\"pid\":1,\"tid\":1,\"ts\":3,\"id\":8}]";

	(void)state;
	write_file(text, strlen(text));
	read_path(trace_path, &(struct choice){ .flows = true }, &reading);
	expect_reading(TRACE_OK, "flow 2 1 [7]\nflow 1 4 [7]\nflow 1 3 [7]\n");
	expect_report("2 flow f binds to no span\n1 flow t without start\n");
}

static void instants_stand_on_the_track_of_their_scope(void **state)
{
	static const char text[] = "[{\"ph\":\"i\",\"ts\":1,\"pid\":1,\"tid\":2,\"s\":\"g\",\"name\":\"a\"},"
				   "{\"ph\":\"I\",\"ts\":2,\"pid\":1,\"tid\":2,\"s\":\"p\"},{\"ph\":\"R\",\"ts\":3,\"pid\":1,\"tid\":2},"
				   "{\"ph\":\"n\",\"ts\":4,\"cat\":\"c\",\"id\":\"\"},"
				   "{\"ph\":\"T\",\"ts\":5,\"name\":\"o\",\"id\":1,\"args\":{\"step\":\"half\"}}]";

	(void)state;
	write_file(text, strlen(text));
	read_path(trace_path, &(struct choice){ .instants = true }, &reading);
	expect_reading(TRACE_OK, "instant 1000 [global] [a]\ninstant 2000 [1] []\ninstant 3000 [1/2] []\n"
				 "instant 4000 [async:g:c:] []\ninstant 5000 [async:g:o:1] [half]\n");
}

static void what_lacks_a_number_is_left_out_and_counted(void **state)
{
	(void)state;
	expect_events(
	    "[{\"ph\":\"X\",\"ts\":1},{\"ph\":\"X\",\"ts\":1,\"dur\":null},{\"ph\":\"X\",\"ts\":1,\"dur\":\"long\"},"
	    "{\"ph\":\"X\",\"ts\":1,\"dur\":[5]},{\"ph\":\"X\",\"dur\":1},{\"ph\":\"B\",\"ts\":\"\"},{\"ph\":\"X\",\"ts\":{"
	    "},\"dur\":1}]",
	    "");
	expect_report("4 X without dur\n2 phase X without ts\n1 phase B without ts\n");
}

static void the_last_of_two_keys_counts(void **state)
{
	(void)state;
	expect_events("[{\"ph\":\"B\",\"ph\":\"X\",\"ts\":9,\"ts\":1,\"dur\":null,\"dur\":2,\"name\":\"a\",\"name\":\"b\","
		      "\"pid\":1,\"pid\":2,"
		      "\"cat\":\"c\",\"cat\":null,\"args\":{\"a\":1},\"args\":\"none\",\"tid\":3,\"tid\":[4]},"
		      "{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"args\":{\"a\":1},\"args\":null}]",
		      "span 1000 2000 [2/] [b] NULL [\"none\"]\n"
		      "span 1000 2000 [/] [] NULL NULL\n");
}

static void ids_are_text_as_written(void **state)
{
	(void)state;
	expect_events("[{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"pid\":\"stream 7\",\"tid\":-1},"
		      "{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"pid\":1.0,\"tid\":\"4290336512\"},"
		      "{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"pid\":99999999999999999999,\"tid\":true,\"name\":5},"
		      "{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"pid\":null,\"tid\":{\"a\":1}}]",
		      "span 0 0 [stream 7/-1] [] NULL NULL\n"
		      "span 0 0 [1.0/4290336512] [] NULL NULL\n"
		      "span 0 0 [99999999999999999999/true] [5] NULL NULL\n"
		      "span 0 0 [/] [] NULL NULL\n");
}

static void a_negative_duration_is_none(void **state)
{
	(void)state;
	expect_events("[{\"ph\":\"X\",\"ts\":-1891000,\"dur\":-1},{\"ph\":\"X\",\"ts\":0,\"dur\":0}]", "span 0 0 [/] [] NULL NULL\n");
	expect_report("1 X without dur\n");
}

static void only_the_top_level_trace_events_are_events(void **state)
{
	(void)state;
	expect_events("{\"displayTimeUnit\":\"ns\",\"systemTraceEvents\":{\"events\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}],"
		      "\"traceEvents\":[{\"ph\":\"X\",\"ts\":2,\"dur\":1}]},\"x\":[{\"traceEvents\":[{\"ph\":\"X\",\"ts\":"
		      "3,\"dur\":1}]}],"
		      "\"traceEvents\":[null,1,\"x\",[{\"ph\":\"X\",\"ts\":4,\"dur\":1}],"
		      "{\"ph\":\"X\",\"ts\":5,\"dur\":1,\"args\":{\"traceEvents\":[{\"ph\":\"X\",\"ts\":6,\"dur\":1}]}}],"
		      "\"after\":[{\"ph\":\"X\",\"ts\":7,\"dur\":1}],\"metadata\":{\"ph\":\"X\",\"ts\":8,\"dur\":1}}",
		      "span 5000 1000 [/] [] NULL [{\"traceEvents\":[{\"ph\":\"X\",\"ts\":6,\"dur\":1}]}]\n");
	assert_int_equal(reading.counts.n_events, 1);
	expect_report("4 element that is no object\n");
}

static int check_name(void *context, const struct trace_span *span)
{
	(void)context;
	assert_int_equal(span->name.n_bytes, 13);
	assert_memory_equal(span->name.data, "a\0b\n\"\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd", 13);
	return TRACE_OK;
}

/* What is not UTF-8 becomes U+FFFD, a byte at a time. */
static void text_may_hold_any_character(void **state)
{
	const char text[] = "[{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"name\":\"a\\u0000b\\n\\\"\\u00e9\xff\xc3\"}]";
	struct trace *trace;

	(void)state;
	write_file(text, strlen(text));
	assert_int_equal(trace_open(trace_path, &(struct trace_options){ 0 }, &(struct trace_sink){ .on_span = check_name }, &trace),
			 TRACE_OK);
	while (trace_step(trace) == TRACE_ROW)
		continue;
	assert_int_equal(trace_step(trace), TRACE_OK);
	assert_int_equal(trace_counts(trace)->n_spans, 1);
	trace_close(trace);
}

/* Names that were cut in the middle of a character, whatever comes behind the cut, and what only looks like that. */
static const char cut_names[] = "[{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"name\":\"a\\ud83db\"},"
				"{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"name\":\"\\uD83D\"},"
				"{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"name\":\"\\ud83d\\\\user\\udbff\\\\x\"},"
				"{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"name\":\"\\ud83d\\\\\"},"
				"{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"name\":\"\\ud83d\\\\u\"},"
				"{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"name\":\"\\ud83d\\u2026\\ud83d\xe2\x80\xa6\\ud83d\\n\"},"
				"{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"name\":\"\\ude00|\\ud83d\\ud83d\\ude00|\\ude00\\ud83d\"},"
				"{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"name\":\"\\\\ud83d\\ud83d\\uDE00\\\"\","
				"\"args\":{\"\\ud83d\\\\user\":\"\\ude00\"}},"
				"{\"ph\":\"C\",\"ts\":0,\"name\":\"\",\"args\":{\"k\\ud83d\\\\user\":1}}]";
static const char cut_names_events[] = "span 0 0 [/] [a\xef\xbf\xbd"
				       "b] NULL NULL\n"
				       "span 0 0 [/] [\xef\xbf\xbd] NULL NULL\n"
				       "span 0 0 [/] [\xef\xbf\xbd\\user\xef\xbf\xbd\\x] NULL NULL\n"
				       "span 0 0 [/] [\xef\xbf\xbd\\] NULL NULL\n"
				       "span 0 0 [/] [\xef\xbf\xbd\\u] NULL NULL\n"
				       "span 0 0 [/] [\xef\xbf\xbd\xe2\x80\xa6\xef\xbf\xbd\xe2\x80\xa6\xef\xbf\xbd\n] NULL NULL\n"
				       "span 0 0 [/] [\xef\xbf\xbd|\xef\xbf\xbd\xf0\x9f\x98\x80|\xef\xbf\xbd\xef\xbf\xbd] NULL NULL\n"
				       "span 0 0 [/] [\\ud83d\xf0\x9f\x98\x80\"] NULL [{\"\\ud83d\\\\user\":\"\\ude00\"}]\n"
				       "sample 0 1 [] [] NULL [k\xef\xbf\xbd\\user]\n";

static void half_a_surrogate_pair_becomes_a_replacement(void **state)
{
	(void)state;
	write_file(cut_names, strlen(cut_names));
	for (size_t piece_bytes = 0; piece_bytes <= sizeof cut_names; piece_bytes++) {
		struct choice options = everything;

		options.piece_bytes = piece_bytes;
		read_path(trace_path, &options, &reading);
		expect_reading(TRACE_OK, cut_names_events);
	}
	for (size_t n_bytes = 1; n_bytes <= strlen(cut_names); n_bytes++) {
		write_file(cut_names, n_bytes);
		read_path(trace_path, &everything, &reading);
		assert_int_equal(reading.status, TRACE_OK);
		assert_memory_equal(reading.shown, cut_names_events, reading.n_shown_bytes);
	}
}

static void a_byte_order_mark_is_passed_over(void **state)
{
	static const char text[] = "\xEF\xBB\xBF{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":2}]}";

	(void)state;
	write_file(text, strlen(text));
	for (size_t piece_bytes = 0; piece_bytes < 10; piece_bytes++) {
		read_path(trace_path, &(struct choice){ .spans = true, .piece_bytes = piece_bytes }, &reading);
		expect_reading(TRACE_OK, "span 1000 2000 [/] [] NULL NULL\n");
	}
	expect_error("\xEF\xBB\xBF{\"a\":1}", TRACE_ERROR_NOT_TRACE,
		     "byte 10: there is no array \"traceEvents\" at the top level");
	expect_error("\xEF\xBB[]", TRACE_ERROR_NOT_TRACE, "the file is in no trace format that is known");
}

static void options_choose_what_is_handed_out(void **state)
{
	static const char text[] =
	    "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"a\":1}},{\"ph\":\"C\",\"ts\":1,\"args\":{\"a\":1}}]";

	(void)state;
	write_file(text, strlen(text));
	read_path(trace_path, &(struct choice){ .spans = true }, &reading);
	expect_reading(TRACE_OK, "span 1000 1000 [/] [] NULL NULL\n");
	assert_int_equal(reading.counts.n_samples, 0);
	read_path(trace_path, &(struct choice){ .counters = true }, &reading);
	expect_reading(TRACE_OK, "sample 1000 1 [] [] NULL [a]\n");
	assert_int_equal(reading.counts.n_spans, 0);
	read_path(trace_path, &(struct choice){ .args = true }, &reading);
	expect_reading(TRACE_OK, "");
}

static void numbers_have_a_point_in_any_locale(void **state)
{
	static const char *const locales[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8" };
	bool found = false;

	(void)state;
	for (size_t i = 0; !found && i < sizeof locales / sizeof *locales; i++)
		found = setlocale(LC_NUMERIC, locales[i]) != NULL;
	expect_events("[{\"ph\":\"C\",\"ts\":1,\"args\":{\"a\":0.5}}]", found && *localeconv()->decimal_point == ','
									    ? "sample 1000 0,5 [] [] NULL [a]\n"
									    : "sample 1000 0.5 [] [] NULL [a]\n");
	setlocale(LC_NUMERIC, "C");
}

/* --- whole, cut, in pieces ------------------------------------------------------------------------------------- */

static const char varied_trace[] =
    "{ \"otherData\": {\"x\": [1, -2.5e-3, \"\\\\\\\"\", {}, [], true, false, null]},\n"
    "  \"traceEvents\": [\n"
    "    {\"ph\": \"B\", \"ts\": 1712195495406752.797, \"pid\": 1, \"tid\": \"t\\u00e9\", \"name\": \"outer "
    "\\\"q\\\"\","
    " \"args\": {\"deep\": [[{\"a\": \"\\ud83d\\ude00 \\\\\"}]], \"n\": 12.50}},\n"
    "    {\"args\": {\"used\": 12, \"free\": \"1.25\"}, \"name\": \"mem\", \"ph\": \"C\", \"ts\": 1, \"pid\": 1, "
    "\"id\": 77},\n"
    "    {\"ph\": \"X\", \"ts\": -5, \"dur\": 0.0015, \"cat\": \"a,b\", \"args\" : 125 , \"name\": \"\"},\n"
    "    {\"ph\": \"M\", \"name\": \"thread_name\", \"args\": {\"name\": \"main ]}\"}},\n"
    "    {\"ph\": \"E\", \"ts\": 1712195495406753, \"pid\": 1, \"tid\": \"t\\u00e9\"},\n"
    "    {\"ph\": \"X\", \"ts\": 10, \"dur\": 1e1}\n"
    "  ], \"end\": {\"a\": \"b\"} }\n";

static const char varied_events[] = "sample 1000 12 [1] [mem] [77] [used]\n"
				    "sample 1000 1.25 [1] [mem] [77] [free]\n"
				    "span -5000 2 [/] [] [a,b] [125]\n"
				    "span 10000 10000 [/] [] NULL NULL\n"
				    "span 1712195495406752797 203 [1/t\xc3\xa9] [outer \"q\"] NULL "
				    "[{\"deep\": [[{\"a\": \"\\ud83d\\ude00 \\\\\"}]], \"n\": 12.50}]\n";
static const char varied_unclosed[] = "span 1712195495406752797 -1 [1/t\xc3\xa9] [outer \"q\"] NULL "
				      "[{\"deep\": [[{\"a\": \"\\ud83d\\ude00 \\\\\"}]], \"n\": 12.50}]\n";

/* Of a cut file: each event that is shown is one of the whole file's, but for the begin whose end was cut off. */
static void expect_part_of_varied_events(void)
{
	char *unclosed = strstr(reading.shown, varied_unclosed);

	if (unclosed) {
		assert_int_equal(strlen(unclosed), strlen(varied_unclosed));
		*unclosed = 0;
	}
	for (char *line = strtok(reading.shown, "\n"); line; line = strtok(NULL, "\n"))
		assert_non_null(strstr(varied_events, line));
}

static void pieces_of_any_size_give_the_same(void **state)
{
	(void)state;
	write_file(varied_trace, strlen(varied_trace));
	for (size_t piece_bytes = 1; piece_bytes <= sizeof varied_trace; piece_bytes++) {
		struct choice options = everything;

		options.piece_bytes = piece_bytes;
		read_path(trace_path, &options, &reading);
		expect_reading(TRACE_OK, varied_events);
	}
}

/* Everything in varied_trace up to each event of a bare array or of an object: the complete events are given. */
static void a_cut_file_gives_its_complete_events(void **state)
{
	const char *array = strstr(varied_trace, "[\n");
	const char *array_end = strstr(varied_trace, "  ], \"end\"");
	size_t n_before = (size_t)(array - varied_trace);

	(void)state;
	for (int bare = 0; bare <= 1; bare++) {
		for (const char *end = array + 1; end <= array_end; end++) {
			write_file(bare ? array : varied_trace, (size_t)(end - (bare ? array : varied_trace)));
			read_path(trace_path, &everything, &reading);
			assert_int_equal(reading.status, TRACE_OK);
			assert_non_null(strstr(reading.report, "mended 1 file without its end\n"));
			assert_int_equal(reading.counts.n_events == 6, strstr(reading.shown, varied_events) != NULL);
			expect_part_of_varied_events();
		}
		assert_int_equal(reading.counts.n_events, 6);
	}
	for (size_t n_bytes = 0; n_bytes <= n_before; n_bytes++) {
		write_file(varied_trace, n_bytes);
		read_path(trace_path, &everything, &reading);
		assert_int_equal(reading.status, TRACE_ERROR_NOT_TRACE);
	}
	for (size_t n_bytes = (size_t)(array_end - varied_trace) + 3; n_bytes <= strlen(varied_trace); n_bytes++) {
		write_file(varied_trace, n_bytes);
		read_path(trace_path, &everything, &reading);
		expect_reading(TRACE_OK, varied_events);
		expect_report(n_bytes < strlen(varied_trace) - 1 ? "mended 1 file without its end\n" : "");
	}
}

static void an_event_that_is_cut_is_dropped(void **state)
{
	(void)state;
	expect_events("[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"ph\":\"X\",\"ts\":2,\"dur\":2",
		      "span 1000 1000 [/] [] NULL NULL\n");
	expect_events("[{\"ph\":\"X\",\"ts\":1,\"dur\":1},", "span 1000 1000 [/] [] NULL NULL\n");
	expect_events("[{\"ph\":\"X\",\"ts\":1,\"dur\":1}", "span 1000 1000 [/] [] NULL NULL\n");
	expect_events("[", "");
}

static void append(const void *data, size_t n_bytes)
{
	FILE *file = fopen(trace_path, "ab");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, n_bytes, file), n_bytes);
	assert_int_equal(fclose(file), 0);
}

static void gzip_is_told_by_its_bytes(void **state)
{
	static const char cut[] = "[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{", padding[700];

	(void)state;
	write_gzip(varied_trace, strlen(varied_trace), "wb");
	read_path(trace_path, &everything, &reading);
	expect_reading(TRACE_OK, varied_events);
	/* Two members, as some loggers append them. */
	write_gzip(varied_trace, 100, "wb");
	write_gzip(varied_trace + 100, strlen(varied_trace) - 100, "ab");
	read_path(trace_path, &everything, &reading);
	expect_reading(TRACE_OK, varied_events);
	/* Padded, as to whole blocks. */
	append(padding, sizeof padding);
	read_path(trace_path, &everything, &reading);
	expect_reading(TRACE_OK, varied_events);
	/* Cut before it was packed. */
	write_gzip(cut, strlen(cut), "wb");
	read_path(trace_path, &everything, &reading);
	expect_reading(TRACE_OK, "span 1000 1000 [/] [] NULL NULL\n");
}

static size_t read_back(char *data, size_t n_allocated)
{
	FILE *file = fopen(trace_path, "rb");
	size_t n_bytes;

	assert_non_null(file);
	n_bytes = fread(data, 1, n_allocated, file);
	fclose(file);
	return n_bytes;
}

/* The first member, n zeros and the other, which begins on both sides of where a piece of the packed file may end. */
static void members_may_be_padded(void **state)
{
	static const char zeros[65600];
	char packed[2000];
	size_t n_packed;

	(void)state;
	write_gzip(varied_trace, 100, "wb");
	n_packed = read_back(packed, sizeof packed);
	for (size_t n_before = 65530; n_before < 65545; n_before++) {
		write_file(packed, n_packed);
		append(zeros, n_before - n_packed);
		write_gzip(varied_trace + 100, strlen(varied_trace) - 100, "ab");
		read_path(trace_path, &everything, &reading);
		expect_reading(TRACE_OK, varied_events);
	}
}

static void what_is_no_gzip_behind_a_member_is_an_error(void **state)
{
	static const struct {
		const char *bytes;
		size_t n_bytes;
	} strangers[] = { { "\n", 1 }, { "\x1f", 1 }, { "\x1f\x8a", 2 }, { "\0\0x", 3 }, { "[{\"ph\":\"X\"", 10 } };
	char expected[400];

	(void)state;
	snprintf(expected, sizeof expected, "%s: the gzip stream is broken after 100 unpacked bytes: what follows is not gzip",
		 trace_path);
	for (size_t i = 0; i < 2 * sizeof strangers / sizeof *strangers; i++) {
		write_gzip(varied_trace, 100, "wb");
		append(strangers[i / 2].bytes, strangers[i / 2].n_bytes);
		if (i % 2 == 1)
			write_gzip(varied_trace + 100, strlen(varied_trace) - 100, "ab");
		read_path(trace_path, &everything, &reading);
		assert_int_equal(reading.status, TRACE_ERROR_GZIP);
		assert_string_equal(reading.error, expected);
	}
	/* all that is before it is handed out, but for what waits for the end of the file */
	write_gzip(varied_trace, strlen(varied_trace), "wb");
	append("\n", 1);
	read_path(trace_path, &everything, &reading);
	assert_int_equal(reading.status, TRACE_ERROR_GZIP);
	assert_int_equal(reading.n_events, 4);
}

static void a_broken_gzip_stream_is_an_error(void **state)
{
	char packed[2000], damaged[2000], expected[400];
	size_t n_bytes;

	(void)state;
	write_gzip(varied_trace, strlen(varied_trace), "wb");
	n_bytes = read_back(packed, sizeof packed);
	for (size_t cut = 2; cut < n_bytes; cut++) {
		write_file(packed, cut);
		read_path(trace_path, &everything, &reading);
		assert_int_equal(reading.status, TRACE_ERROR_GZIP);
		assert_non_null(strstr(reading.error, "the gzip stream is broken after "));
	}
	snprintf(expected, sizeof expected, "%s: the gzip stream is broken after %zu unpacked bytes: it ends too early",
		 trace_path, strlen(varied_trace));
	assert_string_equal(reading.error, expected);
	for (size_t i = 0; i < 8 * n_bytes; i++) {
		memcpy(damaged, packed, n_bytes);
		damaged[i / 8] = (char)(damaged[i / 8] ^ 1 << i % 8);
		write_file(damaged, n_bytes);
		read_path(trace_path, &everything, &reading);
		if (reading.status == TRACE_OK) /* a bit that means nothing: the header's time, the padding */
			assert_string_equal(reading.shown, varied_events);
	}
}

static void no_damaged_byte_crashes(void **state)
{
	char damaged[sizeof varied_trace];
	unsigned seed = 99;

	(void)state;
	for (size_t i = 0; i < 8 * strlen(varied_trace); i++) {
		struct choice options = everything;

		memcpy(damaged, varied_trace, sizeof damaged);
		damaged[i / 8] = (char)(damaged[i / 8] ^ 1 << i % 8);
		seed = seed * 1664525u + 1013904223u;
		options.piece_bytes = 1 + (seed >> 8) % 40;
		write_file(damaged, strlen(varied_trace));
		read_path(trace_path, &options, &reading);
		assert_true(reading.status <= TRACE_OK);
	}
}

/* --- errors ------------------------------------------------------------------------------------------------------ */

static void errors_say_where_and_what(void **state)
{
	(void)state;
	expect_error("", TRACE_ERROR_NOT_TRACE, "the file is empty");
	expect_error("{\"a\":1}", TRACE_ERROR_NOT_TRACE, "byte 7: there is no array \"traceEvents\" at the top level");
	expect_error("{\"a\":[1", TRACE_ERROR_NOT_TRACE, "byte 7: the file ends before an array \"traceEvents\" begins");
	expect_error("{\"traceEvents\":{}}", TRACE_ERROR_NOT_TRACE, "byte 15: \"traceEvents\" is not an array");
	expect_error("{\"traceEvents\":null}", TRACE_ERROR_NOT_TRACE, "byte 15: \"traceEvents\" is not an array");
	expect_error("{\"traceEvents\":[],\"traceEvents\":[]}", TRACE_ERROR_NOT_TRACE,
		     "byte 18: \"traceEvents\" occurs twice");
	expect_error("\"traceEvents\"", TRACE_ERROR_NOT_TRACE, "the file is in no trace format that is known");
	expect_error("[{\"ph\":\"X\",\"ts\":1e30,\"dur\":1}]", TRACE_ERROR_RANGE,
		     "byte 1: the ts of the event that starts here does not fit into 64-bit nanoseconds");
	expect_error("[ {\"ph\":\"X\",\"ts\":1,\"dur\":-9223372036854775.809}]", TRACE_ERROR_RANGE,
		     "byte 2: the dur of the event that starts here does not fit into 64-bit nanoseconds");
	expect_events("[{\"ph\":\"B\",\"ts\":-9223372036854775},{\"ph\":\"E\",\"ts\":9223372036854775}]", "");
	expect_report("1 span longer than 64-bit nanoseconds\n");
}

static void broken_json_is_an_error_behind_the_events_before_it(void **state)
{
	static const char *const texts[] = {
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1}}",
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"a\" 1}]",
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"a\":01}]",
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"a\":wrong}]",
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"a\":1:2}]",
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{1:2}]",
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"a\"}]",
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"a\":}]",
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"a\":[1}]}]",
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"a\":\"\\ud8\"}]",
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"a\":\"\\x\"}]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char expected[300];

		write_file(texts[i], strlen(texts[i]));
		read_path(trace_path, &everything, &reading);
		expect_reading(TRACE_ERROR_FORMAT, "span 1000 1000 [/] [] NULL NULL\n");
		snprintf(expected, sizeof expected, "%s: byte ", trace_path);
		assert_memory_equal(reading.error, expected, strlen(expected));
		assert_in_range(strtol(reading.error + strlen(expected), NULL, 10), 26, (long)strlen(texts[i]));
		assert_non_null(strstr(reading.error, ": not valid JSON"));
	}
}

/* What real writers do wrong is read, unless strict; both say what it is. */
static void what_can_be_mended_is_counted_or_refused(void **state)
{
	static const struct {
		const char *text, *report, *args;
	} broken[] = {
		{ "[{\"ph\":\"X\",\"ts\":1,\"dur\":1},]", "mended 1 comma too many\n", NULL },
		{ "[,{\"ph\":\"X\",\"ts\":1,\"dur\":1},,{}]", "1 empty object\nmended 2 comma too many\n", NULL },
		{ "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,}]", "mended 1 comma too many\n", NULL },
		{ "[{\"ph\":\"X\",\"ts\":1,\"dur\":1} {}]", "1 empty object\nmended 1 comma missing\n", NULL },
		{ "[{\"ph\":\"X\" \"ts\":1,\"dur\":1}]", "mended 1 comma missing\n", NULL },
		{ "[{\"ph\":\"X\",\"ts\":1,\"dur\":1}] x", "mended 1 text behind the end of the trace\n", NULL },
		{ "[{\"ph\":\"X\",\"ts\":1,\"dur\":1}", "mended 1 file without its end\n", NULL },
		{ "[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"ph", "mended 1 file cut in an event\nmended 1 file without its end\n", NULL },
		{ "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"a\":NaN,\"b\":[-Infinity,inf,],\"c\":\"\t\"}}]",
		  "mended 1 comma too many\nmended 3 NaN or Infinity for a number\nmended 1 string with a control byte\n",
		  "{\"a\":null,\"b\":[null,null],\"c\":\"\\u0009\"}" },
		{ "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":\"\xff\"}]", "mended 1 string that is not UTF-8\n", "\"\xef\xbf\xbd\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		struct choice strict = everything;
		char shown[300];

		snprintf(shown, sizeof shown, "span 1000 1000 [/] [] NULL %s%s%s\n", broken[i].args ? "[" : "",
			 broken[i].args ? broken[i].args : "NULL", broken[i].args ? "]" : "");
		expect_events(broken[i].text, shown);
		expect_report(broken[i].report);
		strict.strict = true;
		read_path(trace_path, &strict, &reading);
		assert_int_equal(reading.status, TRACE_ERROR_FORMAT);
		assert_non_null(strstr(reading.error, ": not valid JSON: "));
	}
}

static void depths_and_names_come_when_the_file_is_read(void **state)
{
	static const char text[] = "[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":2,\"dur\":2,\"name\":\"in\"},"
				   "{\"ph\":\"B\",\"pid\":1,\"tid\":1,\"ts\":3,\"name\":\"open\"},"
				   "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":5,\"name\":\"out\"},"
				   "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":9,\"dur\":5,\"name\":\"late\"}]";

	(void)state;
	write_file(text, strlen(text));
	read_path(trace_path, &(struct choice){ .spans = true, .complete = true }, &reading);
	expect_reading(TRACE_OK, "span 1000 5000 [1/1] [out] NULL NULL 0\nspan 2000 2000 [1/1] [in] NULL NULL 1\n"
				 "span 3000 -1 [1/1] [open] NULL NULL 2\nspan 9000 5000 [1/1] [late] NULL NULL 3\n");
}

static void files_that_cannot_be_read_say_why(void **state)
{
	char long_path[2000];

	(void)state;
	read_path("/no/such/folder/trace.json", &everything, &reading);
	assert_int_equal(reading.status, TRACE_ERROR_OPEN);
	assert_string_equal(reading.error, "/no/such/folder/trace.json: cannot open the file: No such file or directory");
	read_path(folder, &everything, &reading);
	assert_int_equal(reading.status, TRACE_ERROR_READ);
	assert_non_null(strstr(reading.error, ": cannot read beyond byte 0: Is a directory"));
	memset(long_path, 'x', sizeof long_path);
	long_path[sizeof long_path - 1] = 0;
	read_path(long_path, &everything, &reading);
	assert_memory_equal(reading.error, "...xxx", 6);
	assert_non_null(strstr(reading.error, "x: cannot open the file: File name too long"));
}

static void nesting_is_limited(void **state)
{
	enum { N_LEVELS = 100000 };
	static char text[2 * N_LEVELS + 100];
	size_t n_bytes;

	(void)state;
	n_bytes = (size_t)sprintf(text, "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":");
	for (int i = 0; i < 998; i++)
		text[n_bytes++] = '[';
	for (int i = 0; i < 998; i++)
		text[n_bytes++] = ']';
	strcpy(text + n_bytes, "}]");
	expect_events(text, "span 1000 1000 [/] [] NULL (1996 bytes)\n");
	memset(text, '[', N_LEVELS);
	text[N_LEVELS] = 0;
	text[1] = '{';
	expect_error(text, TRACE_ERROR_LIMIT,
		     "byte 1: more than 1000 objects and arrays are nested in the event that starts here");
	n_bytes = (size_t)sprintf(text, "{\"metadata\":");
	memset(text + n_bytes, '[', N_LEVELS);
	text[n_bytes + N_LEVELS] = 0;
	expect_error(text, TRACE_ERROR_LIMIT, "byte 1013: more than 1000 objects and arrays are nested here");
}

/* --- long text --------------------------------------------------------------------------------------------------- */

static void long_strings_are_kept_or_skipped(void **state)
{
	static const size_t pieces[] = { 0, 997, 65536, 65537, 99991 };
	enum { N_REPEATS = 50000 };
	char *text = malloc(N_REPEATS * 10 + 400);
	size_t n_bytes;

	(void)state;
	assert_non_null(text);
	n_bytes = (size_t)sprintf(text, "[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"args\":{\"picture\":\"");
	for (int i = 0; i < N_REPEATS; i++)
		n_bytes += (size_t)sprintf(text + n_bytes, "\\\"a\\u12eF");
	n_bytes += (size_t)sprintf(text + n_bytes, "\"},\"name\":\"after\"},{\"ph\":\"X\",\"ts\":3,\"dur\":4}]");
	write_file(text, n_bytes);
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		struct choice options = { .spans = true, .piece_bytes = pieces[i] };

		read_path(trace_path, &options, &reading);
		expect_reading(TRACE_OK, "span 1000 2000 [/] [after] NULL NULL\nspan 3000 4000 [/] [] NULL NULL\n");
		options.args = true;
		read_path(trace_path, &options, &reading);
		expect_reading(TRACE_OK,
			       "span 1000 2000 [/] [after] NULL (450014 bytes)\nspan 3000 4000 [/] [] NULL NULL\n");
	}
	/* Errors behind a long string know where they are. */
	text[n_bytes - 1] = '}';
	write_file(text, n_bytes);
	read_path(trace_path, &(struct choice){ .spans = true }, &reading);
	assert_int_equal(reading.status, TRACE_ERROR_FORMAT);
	assert_int_equal(strtol(strstr(reading.error, ": byte ") + 7, NULL, 10), n_bytes - 1);
	free(text);
}

/* Escape sequences that belong together lie on both sides of every place where a piece may end. */
static void long_strings_of_escapes_are_kept_or_skipped(void **state)
{
	static const size_t pieces[] = { 0, 1009, 65537, 99991 };
	enum { N_REPEATS = 20000 };
	char *text = malloc(N_REPEATS * 22 + 400);
	size_t n_bytes;

	(void)state;
	assert_non_null(text);
	n_bytes = (size_t)sprintf(text, "[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"args\":\"");
	for (int i = 0; i < N_REPEATS; i++)
		n_bytes += (size_t)sprintf(text + n_bytes, "\\ud83d\\\\x\\ud83d\\ude00");
	n_bytes += (size_t)sprintf(text + n_bytes, "\"},{\"ph\":\"X\",\"ts\":3,\"dur\":4,\"name\":\"");
	for (int i = 0; i < N_REPEATS; i++)
		n_bytes += (size_t)sprintf(text + n_bytes, "%c", i % 8 ? 'a' : 'b');
	n_bytes += (size_t)sprintf(text + n_bytes, "\\ud83d\\\\x\"}]");
	write_file(text, n_bytes);
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		struct choice options = { .spans = true, .piece_bytes = pieces[i] };

		read_path(trace_path, &options, &reading);
		expect_reading(TRACE_OK, "span 1000 2000 [/] [] NULL NULL\nspan 3000 4000 [/] (20005 bytes) NULL NULL\n");
		options.args = true;
		read_path(trace_path, &options, &reading);
		expect_reading(TRACE_OK,
			       "span 1000 2000 [/] [] NULL (420002 bytes)\nspan 3000 4000 [/] (20005 bytes) NULL NULL\n");
	}
	free(text);
}

/* Reads the trace in a process that may have so much more memory than now: the status, or 99 for a crash. */
static int status_with_memory(size_t n_bytes)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		FILE *file = fopen("/proc/self/statm", "r");
		unsigned long n_pages = 0;
		struct rlimit limit;

		signal(SIGSEGV, SIG_DFL);
		if (!file || fscanf(file, "%lu", &n_pages) != 1)
			_exit(98);
		fclose(file);
		limit.rlim_cur = limit.rlim_max = n_pages * (rlim_t)sysconf(_SC_PAGESIZE) + n_bytes;
		if (setrlimit(RLIMIT_AS, &limit) != 0)
			_exit(98);
		read_path(trace_path, &everything, &reading);
		_exit(-reading.status);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : 99;
}

static void without_memory_a_long_string_is_an_error(void **state)
{
	enum { N_BYTES = 4 * 1024 * 1024 };
	int status = TRACE_ERROR_MEMORY;
	size_t n_mib = 1, n_bytes;
	char *text;

	(void)state;
#ifdef UNDER_ADDRESS_SANITIZER
	skip();
#endif
	text = malloc(N_BYTES + 400);
	assert_non_null(text);
	n_bytes = (size_t)sprintf(text, "[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"args\":\"\\n");
	memset(text + n_bytes, 'e', N_BYTES);
	strcpy(text + n_bytes + N_BYTES, "\"}]");
	write_file(text, strlen(text));
	free(text);
	for (; n_mib < 100 && status == TRACE_ERROR_MEMORY; n_mib++)
		status = status_with_memory(n_mib * 1024 * 1024);
	assert_int_equal(status, TRACE_OK);
	assert_true(n_mib > 10);
}

static void a_long_key_is_no_known_key(void **state)
{
	enum { N_BYTES = 300000 };
	char *text = malloc(N_BYTES + 400);
	size_t n_bytes;

	(void)state;
	assert_non_null(text);
	n_bytes = (size_t)sprintf(text, "[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"name");
	memset(text + n_bytes, 'e', N_BYTES);
	n_bytes += N_BYTES;
	sprintf(text + n_bytes, "\":\"wrong\",\"cat\":\"right\"}]");
	expect_events(text, "span 1000 2000 [/] [] [right] NULL\n");
	free(text);
}

static void a_number_may_be_long(void **state)
{
	enum { N_BYTES = 3000000 };
	char *text = malloc(N_BYTES + 100);
	size_t n_bytes;

	(void)state;
	assert_non_null(text);
	n_bytes = (size_t)sprintf(text, "[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"a\":");
	memset(text + n_bytes, '1', N_BYTES);
	strcpy(text + n_bytes + N_BYTES, "}]");
	expect_events(text, "span 1000 2000 [/] [] NULL NULL\n");
	free(text);
}

static void many_tracks_and_deep_stacks_are_matched(void **state)
{
	enum { N_TRACKS = 3000, N_LEVELS = 20 };
	FILE *file = fopen(trace_path, "wb");

	(void)state;
	assert_non_null(file);
	fputs("[{}", file);
	for (int level = 0; level < N_LEVELS; level++)
		for (int track = 0; track < N_TRACKS; track++)
			fprintf(file, ",{\"ph\":\"B\",\"ts\":%d,\"pid\":%d,\"tid\":%d}", level, track, track % 7);
	for (int level = N_LEVELS; level > 0; level--)
		for (int track = 0; track < N_TRACKS; track++)
			fprintf(file, ",{\"ph\":\"E\",\"ts\":%d,\"pid\":%d,\"tid\":%d}", 2 * N_LEVELS - level, track,
				track % 7);
	fputs("]", file);
	assert_int_equal(fclose(file), 0);
	read_path(trace_path, &(struct choice){ .spans = true }, &reading);
	assert_int_equal(reading.status, TRACE_OK);
	assert_int_equal(reading.counts.n_spans, N_TRACKS * N_LEVELS);
	expect_report("1 empty object\n");
	assert_ptr_equal(strstr(reading.shown, "span 19000 1000 [0/0] [] NULL NULL\nspan 18000 3000 [0/0] [] NULL NULL\n"),
			 reading.shown);
}

static void many_keys_of_a_counter_are_settled(void **state)
{
	enum { N_KEYS = 100000 };
	FILE *file = fopen(trace_path, "wb");

	(void)state;
	assert_non_null(file);
	fputs("[{\"ph\":\"C\",\"ts\":1,\"args\":{\"first\":0", file);
	for (int i = 0; i < N_KEYS; i++)
		fprintf(file, ",\"k%d\":%d", i % 10, i);
	fputs("}}]", file);
	assert_int_equal(fclose(file), 0);
	read_path(trace_path, &everything, &reading);
	assert_int_equal(reading.status, TRACE_OK);
	assert_int_equal(reading.n_events, 11);
	assert_ptr_equal(strstr(reading.shown, "sample 1000 0 [] [] NULL [first]\nsample 1000 99990 [] [] NULL [k0]\n"),
			 reading.shown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(complete_events_are_spans),
		cmocka_unit_test(begin_and_end_are_matched_last_in_first_out),
		cmocka_unit_test(begin_and_end_are_matched_in_the_order_of_time),
		cmocka_unit_test(matching_is_by_pid_and_tid),
		cmocka_unit_test(counters_give_a_sample_for_each_number),
		cmocka_unit_test(other_phases_are_counted),
		cmocka_unit_test(asynchronous_events_nest),
		cmocka_unit_test(names_are_matched_as_by_hand),
		cmocka_unit_test(flows_bind_to_spans_by_time),
		cmocka_unit_test(instants_stand_on_the_track_of_their_scope),
		cmocka_unit_test(what_lacks_a_number_is_left_out_and_counted),
		cmocka_unit_test(the_last_of_two_keys_counts),
		cmocka_unit_test(ids_are_text_as_written),
		cmocka_unit_test(a_negative_duration_is_none),
		cmocka_unit_test(only_the_top_level_trace_events_are_events),
		cmocka_unit_test(text_may_hold_any_character),
		cmocka_unit_test(half_a_surrogate_pair_becomes_a_replacement),
		cmocka_unit_test(a_byte_order_mark_is_passed_over),
		cmocka_unit_test(options_choose_what_is_handed_out),
		cmocka_unit_test(numbers_have_a_point_in_any_locale),
		cmocka_unit_test(pieces_of_any_size_give_the_same),
		cmocka_unit_test(a_cut_file_gives_its_complete_events),
		cmocka_unit_test(an_event_that_is_cut_is_dropped),
		cmocka_unit_test(gzip_is_told_by_its_bytes),
		cmocka_unit_test(a_broken_gzip_stream_is_an_error),
		cmocka_unit_test(members_may_be_padded),
		cmocka_unit_test(what_is_no_gzip_behind_a_member_is_an_error),
		cmocka_unit_test(no_damaged_byte_crashes),
		cmocka_unit_test(errors_say_where_and_what),
		cmocka_unit_test(broken_json_is_an_error_behind_the_events_before_it),
		cmocka_unit_test(what_can_be_mended_is_counted_or_refused),
		cmocka_unit_test(depths_and_names_come_when_the_file_is_read),
		cmocka_unit_test(files_that_cannot_be_read_say_why),
		cmocka_unit_test(nesting_is_limited),
		cmocka_unit_test(long_strings_are_kept_or_skipped),
		cmocka_unit_test(long_strings_of_escapes_are_kept_or_skipped),
		cmocka_unit_test(without_memory_a_long_string_is_an_error),
		cmocka_unit_test(a_long_key_is_no_known_key),
		cmocka_unit_test(a_number_may_be_long),
		cmocka_unit_test(many_tracks_and_deep_stacks_are_matched),
		cmocka_unit_test(many_keys_of_a_counter_are_settled),
	};

	return cmocka_run_group_tests_name("chrome_trace", tests, make_folder, remove_folder);
}
