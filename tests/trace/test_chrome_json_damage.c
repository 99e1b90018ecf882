/* The reader of Chrome JSON against files that are cut, packed, read in pieces, damaged, or long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/support/sanitizer.h"
#include "tests/trace/chrome_file.h"

static void write_gzip(const char *data, size_t n_bytes, const char *mode)
{
	gzFile file = gzopen(trace_path, mode);

	assert_non_null(file);
	assert_int_equal(gzwrite(file, data, (unsigned)n_bytes), n_bytes);
	assert_int_equal(gzclose(file), Z_OK);
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
		read_path(trace_path, &options);
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
			read_path(trace_path, &everything);
			assert_int_equal(reading.status, TRACE_OK);
			assert_non_null(strstr(reading.report, "mended 1 file without its end\n"));
			assert_int_equal(reading.counts.n_events == 6, strstr(reading.shown, varied_events) != NULL);
			expect_part_of_varied_events();
		}
		assert_int_equal(reading.counts.n_events, 6);
	}
	for (size_t n_bytes = 0; n_bytes <= n_before; n_bytes++) {
		write_file(varied_trace, n_bytes);
		read_path(trace_path, &everything);
		assert_int_equal(reading.status, TRACE_ERROR_NOT_TRACE);
	}
	for (size_t n_bytes = (size_t)(array_end - varied_trace) + 3; n_bytes <= strlen(varied_trace); n_bytes++) {
		write_file(varied_trace, n_bytes);
		read_path(trace_path, &everything);
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
	read_path(trace_path, &everything);
	expect_reading(TRACE_OK, varied_events);
	/* Two members, as some loggers append them. */
	write_gzip(varied_trace, 100, "wb");
	write_gzip(varied_trace + 100, strlen(varied_trace) - 100, "ab");
	read_path(trace_path, &everything);
	expect_reading(TRACE_OK, varied_events);
	/* Padded, as to whole blocks. */
	append(padding, sizeof padding);
	read_path(trace_path, &everything);
	expect_reading(TRACE_OK, varied_events);
	/* Cut before it was packed. */
	write_gzip(cut, strlen(cut), "wb");
	read_path(trace_path, &everything);
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
		read_path(trace_path, &everything);
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
		read_path(trace_path, &everything);
		assert_int_equal(reading.status, TRACE_ERROR_GZIP);
		assert_string_equal(reading.error, expected);
	}
	/* all that is before it is handed out, but for what waits for the end of the file */
	write_gzip(varied_trace, strlen(varied_trace), "wb");
	append("\n", 1);
	read_path(trace_path, &everything);
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
		read_path(trace_path, &everything);
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
		read_path(trace_path, &everything);
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
		read_path(trace_path, &options);
		assert_true(reading.status <= TRACE_OK);
	}
}

/* --- errors ------------------------------------------------------------------------------------------------------ */

static void errors_say_where_and_what(void **state)
{
	(void)state;
	expect_error("", TRACE_ERROR_NOT_TRACE, "the file is empty");
	expect_error("{\"a\":1}", TRACE_ERROR_NOT_TRACE, "byte 7: there is no array \"traceEvents\" at the top level");
	/* a span of Zipkin */
	expect_error("[{\"id\":\"b\",\"timestamp\":1458702,\"duration\":386}]", TRACE_ERROR_NOT_TRACE,
		     "byte 47: no event has a phase (\"ph\"), so this is no trace of Chrome");
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
		read_path(trace_path, &everything);
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
		read_path(trace_path, &strict);
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
	read_path(trace_path, &(struct choice){ .spans = true, .complete = true });
	expect_reading(TRACE_OK, "span 1000 5000 [1/1] [out] NULL NULL 0\nspan 2000 2000 [1/1] [in] NULL NULL 1\n"
				 "span 3000 -1 [1/1] [open] NULL NULL 2\nspan 9000 5000 [1/1] [late] NULL NULL 3\n");
}

static void files_that_cannot_be_read_say_why(void **state)
{
	char long_path[2000];

	(void)state;
	read_path("/no/such/folder/trace.json", &everything);
	assert_int_equal(reading.status, TRACE_ERROR_OPEN);
	assert_string_equal(reading.error, "/no/such/folder/trace.json: cannot open the file: No such file or directory");
	read_path(folder, &everything);
	assert_int_equal(reading.status, TRACE_ERROR_READ);
	assert_non_null(strstr(reading.error, ": cannot read beyond byte 0: Is a directory"));
	memset(long_path, 'x', sizeof long_path);
	long_path[sizeof long_path - 1] = 0;
	read_path(long_path, &everything);
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

		read_path(trace_path, &options);
		expect_reading(TRACE_OK, "span 1000 2000 [/] [after] NULL NULL\nspan 3000 4000 [/] [] NULL NULL\n");
		options.args = true;
		read_path(trace_path, &options);
		expect_reading(TRACE_OK,
			       "span 1000 2000 [/] [after] NULL (450014 bytes)\nspan 3000 4000 [/] [] NULL NULL\n");
	}
	/* Errors behind a long string know where they are. */
	text[n_bytes - 1] = '}';
	write_file(text, n_bytes);
	read_path(trace_path, &(struct choice){ .spans = true });
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

		read_path(trace_path, &options);
		expect_reading(TRACE_OK, "span 1000 2000 [/] [] NULL NULL\nspan 3000 4000 [/] (20005 bytes) NULL NULL\n");
		options.args = true;
		read_path(trace_path, &options);
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
		read_path(trace_path, &everything);
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
	read_path(trace_path, &(struct choice){ .spans = true });
	assert_int_equal(reading.status, TRACE_OK);
	assert_int_equal(reading.counts.n_spans, N_TRACKS * N_LEVELS);
	expect_report("1 empty object\n");
	assert_ptr_equal(strstr(reading.shown, "span 19000 1000 [0/0] [] NULL NULL\nspan 19000 1000 [1/1] [] NULL NULL\n"),
			 reading.shown);
	/* on each track level k lasts N_LEVELS * 2 - 1 - k * 2 us */
	assert_int_equal(reading.closed_ns, INT64_C(1000) * N_TRACKS * N_LEVELS * N_LEVELS);
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
	read_path(trace_path, &everything);
	assert_int_equal(reading.status, TRACE_OK);
	assert_int_equal(reading.n_events, 11);
	assert_ptr_equal(strstr(reading.shown, "sample 1000 0 [] [] NULL [first]\nsample 1000 99990 [] [] NULL [k0]\n"),
			 reading.shown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
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

	return cmocka_run_group_tests_name("chrome_json_damage", tests, make_folder, remove_folder);
}
