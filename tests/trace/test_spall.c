/* Spall's traces that are written for the purpose: each version, times, names, cut and damaged files. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/harness.h"
#include "tests/support/random.h"
#include "tests/trace/recording.h"
#include "trace/spall.h"

static const struct trace_options everything = { .args = true, .complete = true };
static const struct trace_options strictly = { .args = true, .complete = true, .strict = true };

/* ---- Files that are written ---- */

static unsigned char file[20000];
static size_t n_file;

static void put(uint64_t value, int n_bytes)
{
	for (; n_bytes-- > 0; value >>= 8)
		file[n_file++] = (unsigned char)value;
}

static void put_double(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	put(bits, 8);
}

static void put_text(const char *text)
{
	memcpy(file + n_file, text, strlen(text));
	n_file += strlen(text);
}

static void put_header(uint64_t version, double unit)
{
	n_file = 0;
	put(0x0BADF00D, 8);
	put(version, 8);
	put_double(unit);
	put(0, 8);
}

/* Versions 0 and 1. */
static void put_begin(int version, uint32_t pid, uint32_t tid, double time, const char *name, const char *args)
{
	put(3, 1);
	if (version == 1)
		put(9, 1);
	put(pid, 4);
	put(tid, 4);
	put_double(time);
	put(strlen(name), 1);
	if (version == 1)
		put(strlen(args), 1);
	put_text(name);
	if (version == 1)
		put_text(args);
}

static void put_end(uint32_t pid, uint32_t tid, double time)
{
	put(4, 1);
	put(pid, 4);
	put(tid, 4);
	put_double(time);
}

/* Version 3: a buffer, whose size is put right by end_buffer(). */
static size_t begin_buffer(uint32_t pid, uint32_t tid)
{
	put(0, 4);
	put(tid, 4);
	put(pid, 4);
	put(77, 8);
	return n_file;
}

static void end_buffer(size_t start)
{
	size_t end = n_file;

	n_file = start - 20;
	put(end - start, 4);
	n_file = end;
}

static void put_begin_3(uint64_t time, const char *name, const char *args)
{
	put(3, 1);
	put(time, 8);
	put(strlen(name), 1);
	put(strlen(args), 1);
	put_text(name);
	put_text(args);
}

static void put_end_3(uint64_t time)
{
	put(4, 1);
	put(time, 8);
}

static void put_name_3(int type, const char *name)
{
	put((uint64_t)type, 1);
	put(strlen(name), 1);
	put_text(name);
}

/* ---- What is expected ---- */

static void expect(const char *shown)
{
	for (size_t piece_bytes = 0; piece_bytes < 3; piece_bytes++) {
		struct trace_options options = everything;
		struct recording recording;
		char *text;

		options.piece_bytes = piece_bytes;
		recording_of_bytes(&recording, file, n_file, &options);
		if (recording.status != TRACE_OK)
			fail_msg("status %d: %s", recording.status, recording.error);
		assert_string_equal(recording.format, "Spall");
		text = recording_text(&recording);
		assert_string_equal(text, shown);
		free(text);
		recording_release(&recording);
	}
}

static void expect_error(const struct trace_options *options, int status, const char *error)
{
	char actual[900];

	assert_int_equal(recording_status(file, n_file, options, actual), status);
	assert_string_equal(actual, error);
}

static void versions_0_and_1_have_microseconds(void **state)
{
	(void)state;
	for (int version = 0; version < 2; version++) {
		put_header((uint64_t)version, 0.5);
		put_begin(version, 1, 2, 10, "a", "x=\"1\"");
		put_begin(version, 1, 3, 12, "b", "");
		if (version == 1) {
			put(7, 1);
			put(3, 4);
			put_text("pad");
		}
		put_begin(version, 1, 2, 10.25, "", "");
		put_end(1, 2, 11);
		put_end(1, 3, 12.0005);
		put_end(1, 3, 13);
		expect(version == 0 ? "span 1 at 5000 for -1 depth=0 track=1/2 name=a\n"
				      "span 3 at 5125 for 375 depth=1 track=1/2 name=\n"
				      "span 2 at 6000 for 0 depth=0 track=1/3 name=b\n"
				      "left out: end without begin 1\n"
				      "track process 1 (unused)\ntrack thread 1/2 in=1\ntrack thread 1/3 in=1\n"
				    : "span 1 at 5000 for -1 depth=0 track=1/2 name=a args=\"x=\\\"1\\\"\"\n"
				      "span 3 at 5125 for 375 depth=1 track=1/2 name=\n"
				      "span 2 at 6000 for 0 depth=0 track=1/3 name=b\n"
				      "left out: end without begin 1\n"
				      "track process 1 (unused)\ntrack thread 1/2 in=1\ntrack thread 1/3 in=1\n");
	}
}

static void version_3_has_buffers(void **state)
{
	size_t buffer;

	(void)state;
	put_header(3, 0.25);
	buffer = begin_buffer(4294967295u, 7);
	put_name_3(8, "proc\xc3\xa9ss");
	put_name_3(9, "th\xff");
	put_begin_3(400, "a", "\n");
	end_buffer(buffer);
	buffer = begin_buffer(1, 8);
	put_begin_3(402, "b", "");
	put(7, 1);
	put(2, 4);
	put_text("??");
	end_buffer(buffer);
	end_buffer(begin_buffer(1, 9));
	buffer = begin_buffer(4294967295u, 7);
	put_end_3(440);
	end_buffer(buffer);
	buffer = begin_buffer(1, 8);
	put_end_3(406);
	end_buffer(buffer);
	expect("span 1 at 100 for 10 depth=0 track=4294967295/7 name=a args=\"\\n\"\n"
	       "span 2 at 100 for 2 depth=0 track=1/8 name=b\n" /* 100.5 is rounded to 100, and 101.5 to 102 */
	       "mended: string that is not UTF-8 1\n"
	       "track process 4294967295 (unused) name=proc\xc3\xa9ss\n"
	       "track thread 4294967295/7 name=th\xEF\xBF\xBD in=4294967295\n"
	       "track process 1 (unused)\ntrack thread 1/8 in=1\ntrack thread 1/9 (unused) in=1\n");
	expect_error(&strictly, TRACE_ERROR_FORMAT, "trace: byte 62: a text of the event that starts here is not UTF-8");
}

/* The product rounded half to even, bit by bit: an oracle that is slow and has no shifts of its own to get wrong. */
static bool slow_ticks(uint64_t ticks, double unit, int64_t *product)
{
	long double exact = (long double)ticks * (long double)unit; /* exact where both have few digits */

	if (exact >= 9223372036854775808.0L)
		return false;
	*product = (int64_t)llrintl(exact);
	return true;
}

static void times_are_exact(void **state)
{
	static const struct {
		uint64_t ticks;
		double unit;
		int64_t ns;
	} ticks[] = {
		{ 9007199254740993, 1, 9007199254740993 }, /* 2^53 + 1 is no double */
		{ 9223372036854775807, 1, INT64_MAX },
		{ 18446744073709551615u, 0.5, -1 /* 2^63 - 0.5 is rounded to 2^63, which does not fit */ },
		{ 18446744073709551614u, 0.5, INT64_MAX },
		{ 3, 0.5, 2 },
		{ 5, 0.5, 2 },
		{ 1, 0.5, 0 },
		{ 7, 5e-324, 0 },
		{ 0, DBL_MAX, 0 },
		{ 1, 1e19, -1 },
		{ 6004799503160661, 0.3333333333333333, 2001599834386887 }, /* the product has 105 digits, and ends in .99999 */
	};
	struct random dice = random_from(random_seed());
	int64_t actual, expected;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ticks); i++) {
		assert_int_equal(trace_spall_ticks(ticks[i].ticks, ticks[i].unit, &actual), ticks[i].ns >= 0);
		if (ticks[i].ns >= 0)
			assert_int_equal(actual, ticks[i].ns);
	}
	for (unsigned i = 0; i < random_rounds(20000); i++) {
		/* 11 digits of the unit: the product has 64 at most */
		double unit = ldexp((double)random_below(&dice, 2048), (int)random_between(&dice, -30, 12));
		uint64_t n = random_below(&dice, UINT64_C(1) << 53);
		bool fits = slow_ticks(n, unit, &expected);

		assert_int_equal(trace_spall_ticks(n, unit, &actual), fits);
		if (fits)
			assert_int_equal(actual, expected);
		assert_int_equal(trace_spall_time((double)(n >> 11), -unit, 1, &actual), slow_ticks(n >> 11, unit, &expected));
		if (slow_ticks(n >> 11, unit, &expected))
			assert_int_equal(actual, -expected);
	}
	assert_true(trace_spall_time(1.5, 1, 1000, &actual));
	assert_int_equal(actual, 1500);
	assert_true(trace_spall_time(9223372036854774.0, 1, 1000, &actual));
	assert_int_equal(actual, 9223372036854774000);
	assert_false(trace_spall_time(9223372036854776.0, 1, 1000, &actual));
	assert_false(trace_spall_time((double)NAN, 1, 1, &actual));
	assert_false(trace_spall_time(1, (double)INFINITY, 1, &actual));
}

/* As on the way to another core: an end closes the innermost open span of the file, whatever the clock says. */
static void a_clock_that_steps_back_pairs_no_other_events(void **state)
{
	(void)state;
	put_header(0, 1);
	put_begin(0, 0, 7, 10, "main", "");
	put_begin(0, 0, 7, 20, "sleep", "");
	put_end(0, 7, 30);
	put_begin(0, 0, 7, 40, "work", "");
	put_end(0, 7, 35);
	put_end(0, 7, 60);
	expect("span 1 at 10000 for 50000 depth=0 track=0/7 name=main\n"
	       "span 2 at 20000 for 10000 depth=1 track=0/7 name=sleep\n"
	       "span 3 at 40000 for -1 depth=1 track=0/7 name=work\n"
	       "mended: span that ends before it starts 1\n"
	       "track process 0 (unused)\n"
	       "track thread 0/7 in=0\n");
}

static void a_cut_file_gives_what_is_whole(void **state)
{
	size_t buffer, n_whole;

	(void)state;
	put_header(3, 1);
	buffer = begin_buffer(1, 2);
	put_begin_3(10, "a", "b");
	put_end_3(20);
	put_begin_3(30, "c", "");
	end_buffer(buffer);
	n_whole = n_file;
	for (n_file = 32; n_file < n_whole; n_file++) {
		struct recording recording;
		char error[900];
		bool has_span = n_file >= buffer + 13, is_over = n_file == 32;

		recording_of_bytes(&recording, file, n_file, &everything);
		assert_int_equal(recording.status, TRACE_OK);
		assert_int_equal(recording.n_spans, has_span);
		assert_int_equal(recording.shown && strstr(recording.shown, "mended: file cut in an event or buffer 1\n"),
				 !is_over);
		if (has_span)
			assert_int_equal(recording.spans[0].dur_ns, n_file >= buffer + 22 ? 10 : -1);
		recording_release(&recording);
		assert_int_equal(recording_status(file, n_file, &strictly, error), is_over ? TRACE_OK : TRACE_ERROR_FORMAT);
	}
	for (n_file = 8; n_file < 32; n_file++) {
		char error[100];

		snprintf(error, sizeof error, "trace: byte %zu: the file ends in its header", n_file);
		expect_error(&everything, TRACE_ERROR_FORMAT, error);
	}
}

static void breaches_are_errors_with_their_byte(void **state)
{
	static const uint64_t versions[] = { 2, 4, UINT64_MAX };
	static const double units[] = { 0, -1, (double)NAN, (double)INFINITY };
	size_t buffer;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(versions); i++) {
		put_header(versions[i], 1);
		expect_error(&everything, TRACE_ERROR_NOT_TRACE, "trace: byte 8: Spall's versions are 0, 1 and 3");
	}
	for (size_t i = 0; i < COUNT_OF(units); i++) {
		put_header(3, units[i]);
		expect_error(&everything, TRACE_ERROR_FORMAT, "trace: byte 16: the unit of time is no positive number");
	}
	put_header(3, 1);
	n_file = 0;
	put(0xABADF00D, 8);
	n_file = 32;
	expect_error(
		&everything, TRACE_ERROR_NOT_TRACE,
		"trace: byte 0: Spall's native format has addresses in place of names, and only the program knows these");
	put_header(3, 1);
	buffer = begin_buffer(1, 2);
	put(5, 1);
	put_end_3(3);
	end_buffer(buffer);
	expect_error(&everything, TRACE_ERROR_FORMAT, "trace: byte 52: an event of type 5, which Spall does not have");
	put_header(3, 1);
	buffer = begin_buffer(1, 2);
	put_begin_3(1, "name", "");
	end_buffer(buffer);
	file[32]--;
	expect_error(&everything, TRACE_ERROR_FORMAT, "trace: byte 52: the event that starts here does not end in its buffer");
	put_header(3, 1);
	buffer = begin_buffer(1, 2);
	put(7, 1);
	put(UINT32_MAX, 4);
	end_buffer(buffer);
	expect_error(&everything, TRACE_ERROR_FORMAT, "trace: byte 52: what is to be skipped here does not end in its buffer");
	put_header(1, 1e300);
	put_end(1, 2, 1e300);
	expect_error(&everything, TRACE_ERROR_RANGE,
		     "trace: byte 32: the time of the event that starts here does not fit into 64-bit nanoseconds");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_0_and_1_have_microseconds),
		cmocka_unit_test(version_3_has_buffers),
		cmocka_unit_test(times_are_exact),
		cmocka_unit_test(a_clock_that_steps_back_pairs_no_other_events),
		cmocka_unit_test(a_cut_file_gives_what_is_whole),
		cmocka_unit_test(breaches_are_errors_with_their_byte),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
