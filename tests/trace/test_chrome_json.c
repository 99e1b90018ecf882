/* The reader of Chrome JSON against small files that are written for the purpose: what becomes of each event. What real traces
 * give is tested through SQL (tests/sqlite/test_chrometrace.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/trace/chrome_file.h"

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

/* An E closes what has its name, and the innermost one if it has none; what is inside goes on. */
static void begin_and_end_are_matched_by_name(void **state)
{
	(void)state;
	expect_events("[{\"ph\":\"B\",\"ts\":1,\"pid\":1,\"tid\":1,\"name\":\"a\",\"cat\":\"x\",\"args\":{\"n\":1}},"
		      "{\"ph\":\"B\",\"ts\":2,\"pid\":1,\"tid\":1,\"name\":\"b\"},"
		      "{\"ph\":\"E\",\"ts\":3,\"pid\":2,\"tid\":1},"
		      "{\"ph\":\"E\",\"ts\":4,\"pid\":\"1\",\"tid\":\"1\",\"name\":\"a\",\"args\":{\"m\":2}},"
		      "{\"ph\":\"B\",\"ts\":5,\"pid\":1,\"tid\":2},"
		      "{\"ph\":\"E\",\"ts\":0,\"pid\":1,\"tid\":1},"
		      "{\"ph\":\"E\",\"ts\":9,\"pid\":1,\"tid\":1}]",
		      "span 5000 -1 [1/2] [] NULL NULL\n"
		      "span 1000 3000 [1/1] [a] [x] [{\"n\":1}]\n"
		      "span 2000 7000 [1/1] [b] NULL NULL\n");
	expect_report("2 E without B\n");
	assert_int_equal(reading.counts.n_spans, 3);
}

/* As uftrace writes it, where the kernel took a thread off a CPU before the recording began. */
static void an_end_of_a_name_that_nothing_open_has_ends_nothing(void **state)
{
	(void)state;
	expect_events("[{\"ph\":\"B\",\"ts\":0,\"pid\":1,\"tid\":1,\"name\":\"main\"},"
		      "{\"ph\":\"E\",\"ts\":10,\"pid\":1,\"tid\":1,\"name\":\"linux:schedule\"},"
		      "{\"ph\":\"B\",\"ts\":20,\"pid\":1,\"tid\":1,\"name\":\"exit\"},"
		      "{\"ph\":\"E\",\"ts\":90,\"pid\":1,\"tid\":1,\"name\":\"exit\"},"
		      "{\"ph\":\"E\",\"ts\":91,\"pid\":1,\"tid\":1,\"name\":\"linux:schedule\"},"
		      "{\"ph\":\"E\",\"ts\":92,\"pid\":1,\"tid\":1,\"name\":\"bell \\u0007 \\u009b\"},"
		      "{\"ph\":\"B\",\"ts\":93,\"pid\":1,\"tid\":1},"
		      "{\"ph\":\"E\",\"ts\":94,\"pid\":1,\"tid\":1,\"name\":\"what has no name\"},"
		      "{\"ph\":\"E\",\"ts\":100,\"pid\":1,\"tid\":1,\"name\":\"main\"}]",
		      "span 20000 70000 [1/1] [exit] NULL NULL\n"
		      "span 93000 1000 [1/1] [] NULL NULL\n"
		      "span 0 100000 [1/1] [main] NULL NULL\n");
	expect_report("2 E without B: linux:schedule\n1 E without B: bell ? ?\n");
}

/* A file may have any number of names, but a report has not. */
static void names_in_a_report_are_few(void **state)
{
	static char text[8000];
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s{\"ph\":\"E\",\"ts\":%d,\"name\":\"%d\"}", i ? "," : "[", i, i);
	snprintf(text + n, sizeof text - n, "]");
	expect_events(text, "");
	assert_non_null(strstr(reading.report, "1 E without B: 19\n80 E without B, of other names\n"));
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
		      "span 1000 3000 [async:g:old:x] [old] NULL NULL\nspan 2000 -1 [async:p2:c:1] [mine] [c] NULL\n");
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
		read_path(trace_path, &(struct choice){ .spans = true });
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
	read_path(trace_path, &(struct choice){ .flows = true });
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
	read_path(trace_path, &(struct choice){ .instants = true });
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
	expect_report("4 element that is no object\n1 systemTraceEvents\n");
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
		read_path(trace_path, &options);
		expect_reading(TRACE_OK, cut_names_events);
	}
	for (size_t n_bytes = 1; n_bytes <= strlen(cut_names); n_bytes++) {
		write_file(cut_names, n_bytes);
		read_path(trace_path, &everything);
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
		read_path(trace_path, &(struct choice){ .spans = true, .piece_bytes = piece_bytes });
		expect_reading(TRACE_OK, "span 1000 2000 [/] [] NULL NULL\n");
	}
	expect_error("\xEF\xBB\xBF{\"a\":1}", TRACE_ERROR_NOT_TRACE,
		     "byte 10: there is no array \"traceEvents\" at the top level");
	expect_error("\xEF\xBB[]", TRACE_ERROR_NOT_TRACE, "the file is in no trace format that is known");
	expect_error("\xFF\xFE[", TRACE_ERROR_NOT_TRACE, "the file is a text in UTF-16; make it UTF-8");
	expect_error("\xFE\xFF[", TRACE_ERROR_NOT_TRACE, "the file is a text in UTF-16; make it UTF-8");
}

static void options_choose_what_is_handed_out(void **state)
{
	static const char text[] =
	    "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"a\":1}},{\"ph\":\"C\",\"ts\":1,\"args\":{\"a\":1}}]";

	(void)state;
	write_file(text, strlen(text));
	read_path(trace_path, &(struct choice){ .spans = true });
	expect_reading(TRACE_OK, "span 1000 1000 [/] [] NULL NULL\n");
	assert_int_equal(reading.counts.n_samples, 0);
	read_path(trace_path, &(struct choice){ .counters = true });
	expect_reading(TRACE_OK, "sample 1000 1 [] [] NULL [a]\n");
	assert_int_equal(reading.counts.n_spans, 0);
	read_path(trace_path, &(struct choice){ .args = true });
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(complete_events_are_spans),
		cmocka_unit_test(begin_and_end_are_matched_by_name),
		cmocka_unit_test(an_end_of_a_name_that_nothing_open_has_ends_nothing),
		cmocka_unit_test(names_in_a_report_are_few),
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
	};

	return cmocka_run_group_tests_name("chrome_json", tests, make_folder, remove_folder);
}
