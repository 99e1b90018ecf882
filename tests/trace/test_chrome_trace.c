/* The reader against small files that are written for the purpose, whole, cut and damaged, and against the counts of
 * real traces if IFOREST_TRACES (default ../shared/data/traces) names a folder that has them. */
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

#include "trace/chrome_trace.h"
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

/* All events of a trace as text, one line each. */
struct reading {
	int status;
	char error[800];
	struct trace_statistics statistics;
	size_t n_events, n_shown_bytes;
	char shown[8000];
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

static void show_event(struct reading *reading, const struct trace_event *event)
{
	reading->n_events++;
	show(reading, "%s %" PRId64, event->kind == TRACE_SPAN ? "span" : "sample", event->ts_ns);
	if (event->kind == TRACE_SPAN)
		show(reading, " %" PRId64, event->dur_ns);
	else
		show(reading, " %.17g", event->value);
	show_text(reading, event->track);
	show_text(reading, event->name);
	show_text(reading, event->kind == TRACE_SPAN ? event->category : event->id);
	show_text(reading, event->kind == TRACE_SPAN ? event->args : event->key);
	show(reading, "\n");
	assert_ptr_equal(event->pid.data, event->track.data);
	assert_ptr_equal(event->tid.data, event->pid.data + event->pid.n_bytes + 1);
	assert_int_equal(event->pid.n_bytes + 1 + event->tid.n_bytes, event->track.n_bytes);
}

static void read_path(const char *path, const struct trace_options *options, struct reading *reading)
{
	struct trace_reader *reader;
	struct trace_event event;

	*reading = (struct reading){ 0 };
	reading->status = trace_reader_open(path, options, &reader);
	assert_non_null(reader);
	while (reading->status >= 0 && (reading->status = trace_reader_next(reader, &event)) == TRACE_ROW)
		show_event(reading, &event);
	snprintf(reading->error, sizeof reading->error, "%s", trace_reader_error(reader));
	reading->statistics = *trace_reader_statistics(reader);
	if (reading->status == TRACE_OK || reading->n_events > 0)
		assert_int_equal(trace_reader_next(reader, &event), reading->status);
	assert_int_equal(reading->status < 0, reading->error[0] != 0);
	trace_reader_close(reader);
}

static const struct trace_options everything = { .spans = true, .counters = true, .args = true };

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
	assert_int_equal(reading.statistics.n_complete_spans, 2);
	assert_int_equal(reading.statistics.n_events, 2);
	assert_false(reading.statistics.truncated);
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
		      "span 1000 -1000 [1/1] [a] [x] [{\"n\":1}]\n");
	assert_int_equal(reading.statistics.n_matched_spans, 2);
	assert_int_equal(reading.statistics.n_unmatched_end, 2);
	assert_int_equal(reading.statistics.n_unmatched_begin, 1);
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
		      "sample 1000 1 [7/8] [mem] NULL [a]\n"
		      "sample 1000 2.5 [7/8] [mem] NULL [b]\n"
		      "sample 1000 -0.001 [7/8] [mem] NULL [i]\n"
		      "sample 2000 8.3950000000000014 [/] [] [0x1] [v]\n"
		      "sample 3000 3 [/] [] [5] [a]\n"
		      "sample 4000 2 [/] [] NULL [b]\n");
	assert_int_equal(reading.statistics.n_counter_events, 6);
	assert_int_equal(reading.statistics.n_without_time, 1);
}

static void other_phases_are_no_spans(void **state)
{
	char text[2000] = "[";

	(void)state;
	for (const char *phase = "benSTFpstfiIRNODMPvVaZ("; *phase; phase++)
		snprintf(text + strlen(text), 200,
			 "{\"ph\":\"%c\",\"ts\":1,\"dur\":1,\"pid\":1,\"tid\":1,\"args\":{\"a\":1}},", *phase);
	strcat(text, "{\"ph\":\"XX\",\"ts\":1,\"dur\":1},{\"ph\":null,\"ts\":1,\"dur\":1},{\"ts\":1,\"dur\":1},"
		     "{\"ph\":[\"X\"],\"ts\":1,\"dur\":1},{}]");
	expect_events(text, "");
	assert_int_equal(reading.statistics.n_events, 28);
}

static void what_lacks_a_number_is_left_out_and_counted(void **state)
{
	(void)state;
	expect_events(
	    "[{\"ph\":\"X\",\"ts\":1},{\"ph\":\"X\",\"ts\":1,\"dur\":null},{\"ph\":\"X\",\"ts\":1,\"dur\":\"long\"},"
	    "{\"ph\":\"X\",\"ts\":1,\"dur\":[5]},{\"ph\":\"X\",\"dur\":1},{\"ph\":\"B\",\"ts\":\"\"},{\"ph\":\"X\",\"ts\":{"
	    "},\"dur\":1}]",
	    "");
	assert_int_equal(reading.statistics.n_without_duration, 4);
	assert_int_equal(reading.statistics.n_without_time, 3);
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

static void negative_and_zero_durations_are_kept(void **state)
{
	(void)state;
	expect_events("[{\"ph\":\"X\",\"ts\":-1891000,\"dur\":-1},{\"ph\":\"X\",\"ts\":0,\"dur\":0}]",
		      "span -1891000000 -1000 [/] [] NULL NULL\nspan 0 0 [/] [] NULL NULL\n");
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
	assert_int_equal(reading.statistics.n_events, 1);
}

static void text_may_hold_any_byte(void **state)
{
	struct trace_reader *reader;
	struct trace_event event;
	const char text[] = "[{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"name\":\"a\\u0000b\\n\\\"\\u00e9\xff\xc3\"}]";

	(void)state;
	write_file(text, strlen(text));
	assert_int_equal(trace_reader_open(trace_path, &everything, &reader), TRACE_OK);
	assert_int_equal(trace_reader_next(reader, &event), TRACE_ROW);
	assert_int_equal(event.name.n_bytes, 9);
	assert_memory_equal(event.name.data, "a\0b\n\"\xc3\xa9\xff\xc3", 9);
	trace_reader_close(reader);
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
				       "sample 0 1 [/] [] NULL [k\xef\xbf\xbd\\user]\n";

static void half_a_surrogate_pair_becomes_a_replacement(void **state)
{
	(void)state;
	write_file(cut_names, strlen(cut_names));
	for (size_t piece_bytes = 0; piece_bytes <= sizeof cut_names; piece_bytes++) {
		struct trace_options options = everything;

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
		read_path(trace_path, &(struct trace_options){ .spans = true, .piece_bytes = piece_bytes }, &reading);
		expect_reading(TRACE_OK, "span 1000 2000 [/] [] NULL NULL\n");
	}
	expect_error("\xEF\xBB\xBF{\"a\":1}", TRACE_ERROR_NOT_TRACE,
		     "byte 10: there is no array \"traceEvents\" at the top level");
	expect_error("\xEF\xBB[]", TRACE_ERROR_FORMAT, "byte 0: not valid JSON: lexical error: invalid char in json text.");
	expect_error("[\xEF\xBB\xBF]", TRACE_ERROR_FORMAT, "byte 1: not valid JSON: lexical error: invalid char in json text.");
}

static void options_choose_what_is_handed_out(void **state)
{
	static const char text[] =
	    "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"a\":1}},{\"ph\":\"C\",\"ts\":1,\"args\":{\"a\":1}}]";

	(void)state;
	write_file(text, strlen(text));
	read_path(trace_path, &(struct trace_options){ .spans = true }, &reading);
	expect_reading(TRACE_OK, "span 1000 1000 [/] [] NULL NULL\n");
	assert_int_equal(reading.statistics.n_counter_events, 0);
	read_path(trace_path, &(struct trace_options){ .counters = true }, &reading);
	expect_reading(TRACE_OK, "sample 1000 1 [/] [] NULL [a]\n");
	assert_int_equal(reading.statistics.n_complete_spans, 0);
	read_path(trace_path, &(struct trace_options){ .args = true }, &reading);
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
									    ? "sample 1000 0,5 [/] [] NULL [a]\n"
									    : "sample 1000 0.5 [/] [] NULL [a]\n");
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

static const char varied_events[] = "sample 1000 12 [1/] [mem] [77] [used]\n"
				    "sample 1000 1.25 [1/] [mem] [77] [free]\n"
				    "span -5000 2 [/] [] [a,b] [125]\n"
				    "span 1712195495406752797 203 [1/t\xc3\xa9] [outer \"q\"] NULL "
				    "[{\"deep\": [[{\"a\": \"\\ud83d\\ude00 \\\\\"}]], \"n\": 12.50}]\n"
				    "span 10000 10000 [/] [] NULL NULL\n";

static void pieces_of_any_size_give_the_same(void **state)
{
	(void)state;
	write_file(varied_trace, strlen(varied_trace));
	for (size_t piece_bytes = 1; piece_bytes <= sizeof varied_trace; piece_bytes++) {
		struct trace_options options = everything;

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
			assert_true(reading.statistics.truncated);
			assert_memory_equal(reading.shown, varied_events, reading.n_shown_bytes);
		}
		assert_string_equal(reading.shown, varied_events);
		assert_int_equal(reading.statistics.n_events, 6);
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
		assert_false(reading.statistics.truncated);
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
	/* all that is before it is handed out */
	write_gzip(varied_trace, strlen(varied_trace), "wb");
	append("\n", 1);
	read_path(trace_path, &everything, &reading);
	assert_int_equal(reading.status, TRACE_ERROR_GZIP);
	assert_string_equal(reading.shown, varied_events);
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
		struct trace_options options = everything;

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
	expect_error("", TRACE_ERROR_NOT_TRACE, "byte 0: the file is empty");
	expect_error("{\"a\":1}", TRACE_ERROR_NOT_TRACE, "byte 7: there is no array \"traceEvents\" at the top level");
	expect_error("{\"a\":[1", TRACE_ERROR_NOT_TRACE, "byte 7: the file ends before an array \"traceEvents\" begins");
	expect_error("{\"traceEvents\":{}}", TRACE_ERROR_NOT_TRACE, "byte 15: \"traceEvents\" is not an array");
	expect_error("{\"traceEvents\":null}", TRACE_ERROR_NOT_TRACE, "byte 18: \"traceEvents\" is not an array");
	expect_error("{\"traceEvents\":[],\"traceEvents\":[]}", TRACE_ERROR_NOT_TRACE,
		     "byte 30: \"traceEvents\" occurs twice");
	expect_error("\"traceEvents\"", TRACE_ERROR_NOT_TRACE, "byte 12: a trace is an object or an array");
	expect_error("[{\"ph\":\"X\",\"ts\":1e30,\"dur\":1}]", TRACE_ERROR_RANGE,
		     "byte 1: the ts of the event that starts here does not fit into 64-bit nanoseconds");
	expect_error("[ {\"ph\":\"X\",\"ts\":1,\"dur\":-9223372036854775.809}]", TRACE_ERROR_RANGE,
		     "byte 2: the dur of the event that starts here does not fit into 64-bit nanoseconds");
	expect_error("[{\"ph\":\"B\",\"ts\":-9223372036854775},{\"ph\":\"E\",\"ts\":9223372036854775}]", TRACE_ERROR_RANGE,
		     "byte 35: the span that ends here is longer than 64-bit nanoseconds");
}

static void broken_json_is_an_error_behind_the_events_before_it(void **state)
{
	static const char *const texts[] = {
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},]",		  "[{\"ph\":\"X\",\"ts\":1,\"dur\":1}}",
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1} {}]",	  "[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"a\" 1}]",
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"a\":01}]", "[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"a\":\"\n\"}]",
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},NaN]",	  "[{\"ph\":\"X\",\"ts\":1,\"dur\":1}] x",
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1}][]",	  "[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]\\",
		"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},\\ud8",
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
		assert_non_null(strstr(reading.error, ": not valid JSON: "));
	}
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
	expect_error(text, TRACE_ERROR_LIMIT, "byte 1000: more than 1000 objects and arrays are nested here");
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
		struct trace_options options = { .spans = true, .piece_bytes = pieces[i] };

		read_path(trace_path, &options, &reading);
		expect_reading(TRACE_OK, "span 1000 2000 [/] [after] NULL NULL\nspan 3000 4000 [/] [] NULL NULL\n");
		options.args = true;
		read_path(trace_path, &options, &reading);
		expect_reading(TRACE_OK,
			       "span 1000 2000 [/] [after] NULL (450014 bytes)\nspan 3000 4000 [/] [] NULL NULL\n");
	}
	/* Errors behind a string that was skipped still know where they are. */
	text[n_bytes - 1] = 'x';
	write_file(text, n_bytes);
	read_path(trace_path, &(struct trace_options){ .spans = true }, &reading);
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
		struct trace_options options = { .spans = true, .piece_bytes = pieces[i] };

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

static void endless_numbers_are_refused(void **state)
{
	enum { N_BYTES = 3000000 };
	char *text = malloc(N_BYTES + 100);
	size_t n_bytes;

	(void)state;
	assert_non_null(text);
	n_bytes = (size_t)sprintf(text, "[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"a\":");
	memset(text + n_bytes, '1', N_BYTES);
	n_bytes += N_BYTES;
	strcpy(text + n_bytes, "}]");
	write_file(text, n_bytes + 2);
	read_path(trace_path, &everything, &reading);
	assert_int_equal(reading.status, TRACE_ERROR_LIMIT);
	assert_non_null(strstr(reading.error, "a number is longer than 1 MiB"));
	/* White space of the same length is none of our business. */
	memset(text + n_bytes - N_BYTES, ' ', N_BYTES);
	text[n_bytes - 1] = '7';
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
	read_path(trace_path, &(struct trace_options){ .spans = true }, &reading);
	assert_int_equal(reading.status, TRACE_OK);
	assert_int_equal(reading.statistics.n_matched_spans, N_TRACKS * N_LEVELS);
	assert_int_equal(reading.statistics.n_unmatched_begin, 0);
	assert_int_equal(reading.statistics.n_unmatched_end, 0);
	assert_ptr_equal(strstr(reading.shown, "span 19000 1000 [0/0] [] NULL NULL\nspan 19000 1000 [1/1] [] NULL NULL\n"),
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
	assert_ptr_equal(strstr(reading.shown, "sample 1000 0 [/] [] NULL [first]\nsample 1000 99990 [/] [] NULL [k0]\n"),
			 reading.shown);
}

/* --- real traces ------------------------------------------------------------------------------------------------- */

static uint64_t expected_count(const char *json, const char *name)
{
	char key[80];
	const char *found;

	snprintf(key, sizeof key, "\"%s\":", name);
	found = strstr(json, key);
	assert_non_null(found);
	return strtoull(found + strlen(key), NULL, 10);
}

static void real_traces_have_the_expected_counts(void **state)
{
	static const char *const names[] = { "fuchsia_trace", "chrome_thread_time", "pytorch_hta_rank0",
					     "bazel_profile_queuing" };
	const char *traces = getenv("IFOREST_TRACES");

	(void)state;
	if (!traces || !*traces)
		traces = "../shared/data/traces";
	if (access(traces, R_OK) != 0) {
		print_message("skipped: there is no folder %s\n", traces);
		skip();
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char path[1000], json[100000];
		const struct trace_statistics *counts = &reading.statistics;
		FILE *file;

		snprintf(path, sizeof path, "%s/%s.expected.json", traces, names[i]);
		file = fopen(path, "rb");
		assert_non_null(file);
		json[fread(json, 1, sizeof json - 1, file)] = 0;
		fclose(file);
		snprintf(path, sizeof path, "%s/%s.json.gz", traces, names[i]);
		read_path(path, &everything, &reading);
		assert_int_equal(reading.status, TRACE_OK);
		assert_int_equal(counts->n_events, expected_count(json, "events"));
		assert_int_equal(counts->n_complete_spans, expected_count(json, "x_spans"));
		assert_int_equal(counts->n_matched_spans, expected_count(json, "be_spans"));
		assert_int_equal(counts->n_without_duration, expected_count(json, "x_without_dur"));
		assert_int_equal(counts->n_unmatched_begin, expected_count(json, "unmatched_B"));
		assert_int_equal(counts->n_unmatched_end, expected_count(json, "unmatched_E"));
		assert_int_equal(counts->n_counter_events, expected_count(json, "counter_events"));
		assert_int_equal(counts->n_without_time, 0);
		assert_false(counts->truncated);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(complete_events_are_spans),
		cmocka_unit_test(begin_and_end_are_matched_last_in_first_out),
		cmocka_unit_test(matching_is_by_pid_and_tid),
		cmocka_unit_test(counters_give_a_sample_for_each_number),
		cmocka_unit_test(other_phases_are_no_spans),
		cmocka_unit_test(what_lacks_a_number_is_left_out_and_counted),
		cmocka_unit_test(the_last_of_two_keys_counts),
		cmocka_unit_test(ids_are_text_as_written),
		cmocka_unit_test(negative_and_zero_durations_are_kept),
		cmocka_unit_test(only_the_top_level_trace_events_are_events),
		cmocka_unit_test(text_may_hold_any_byte),
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
		cmocka_unit_test(files_that_cannot_be_read_say_why),
		cmocka_unit_test(nesting_is_limited),
		cmocka_unit_test(long_strings_are_kept_or_skipped),
		cmocka_unit_test(long_strings_of_escapes_are_kept_or_skipped),
		cmocka_unit_test(without_memory_a_long_string_is_an_error),
		cmocka_unit_test(a_long_key_is_no_known_key),
		cmocka_unit_test(endless_numbers_are_refused),
		cmocka_unit_test(many_tracks_and_deep_stacks_are_matched),
		cmocka_unit_test(many_keys_of_a_counter_are_settled),
		cmocka_unit_test(real_traces_have_the_expected_counts),
	};

	return cmocka_run_group_tests_name("chrome_trace", tests, make_folder, remove_folder);
}
