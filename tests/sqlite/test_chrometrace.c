/* tests/sqlite/test_chrometrace.c -- Tests of the loadable module chrometrace.so through SQL.
 *
 * The module is taken from the folder IFOREST_BUILD (default build). The real traces and their expected answers are
 * taken from the folder IFOREST_TRACES (default ../shared/data/traces); without that folder their test is skipped.
 * docs/traces.md and docs/trace_formats.md are tested, too: their ```json blocks are written to trace.json and otlp.json, and
 * each ```sql block must return what the ```text block after it shows, in the format of the shell's list mode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/support/sanitizer.h"

static char module_path[1200], folder[200], trace_path[240], project[1000];

static int make_folder(void **state)
{
	const char *build = getenv("IFOREST_BUILD"), *parent = getenv("TMPDIR");

	(void)state;
	if (!build || !*build)
		build = "build";
	if (!getcwd(project, sizeof project))
		return -1;
	snprintf(module_path, sizeof module_path, "%s%s%.150s/chrometrace.so", *build == '/' ? "" : project,
		 *build == '/' ? "" : "/", build);
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

static sqlite3 *open_database(void)
{
	sqlite3 *database;
	char *message = NULL;

	assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
	sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
	if (sqlite3_load_extension(database, module_path, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", module_path, message);
	return database;
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
}

static void write_trace(const char *text)
{
	write_text(trace_path, text);
}

/* Runs one or more statements, with ?1 bound to argument. Returns the rows as the shell prints them in list mode, in a text
 * that is valid until the next call; after a failure, the text "error: ...". */
static const char *rows_of(sqlite3 *database, const char *sql, const char *argument)
{
	static char rows[200000];
	size_t n_bytes = 0;

	rows[0] = 0;
	while (*sql) {
		sqlite3_stmt *statement = NULL;
		int rc = sqlite3_prepare_v2(database, sql, -1, &statement, &sql);

		if (rc == SQLITE_OK && !statement)
			break;
		if (statement && sqlite3_bind_parameter_count(statement) > 0)
			sqlite3_bind_text(statement, 1, argument, -1, SQLITE_STATIC);
		while (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
			for (int i = 0; i < sqlite3_column_count(statement); i++) {
				const char *text = (const char *)sqlite3_column_text(statement, i);

				n_bytes += (size_t)snprintf(rows + n_bytes, sizeof rows - n_bytes, "%s%s", i ? "|" : "",
							    text ? text : "");
				assert_true(n_bytes < sizeof rows - 2);
			}
			strcpy(rows + n_bytes++, "\n");
		}
		if (rc != SQLITE_OK || sqlite3_reset(statement) != SQLITE_OK) {
			snprintf(rows, sizeof rows, "error: %s", sqlite3_errmsg(database));
			sqlite3_finalize(statement);
			break;
		}
		sqlite3_finalize(statement);
	}
	return rows;
}

static void expect_rows(sqlite3 *database, const char *sql, const char *expected)
{
	const char *rows = rows_of(database, sql, trace_path);

	if (strcmp(rows, expected) != 0)
		fail_msg("gives\n%.300s\ninstead of\n%.300s\n: %s", rows, expected, sql);
}

/* Compares the columns that most tests look at, for a trace of these events. */
static void expect_spans(sqlite3 *database, const char *trace, const char *expected)
{
	write_trace(trace);
	expect_rows(database, "SELECT ts_ns, dur_ns, track, name FROM read_chrome_trace(?1)", expected);
}

static void expect_error(sqlite3 *database, const char *sql, const char *format, ...)
{
	char expected[600] = "error: ";
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(expected + strlen(expected), sizeof expected - strlen(expected), format, arguments);
	va_end(arguments);
	expect_rows(database, sql, expected);
}

/* --- the quirks of real traces ----------------------------------------------------------------------------------- */

static void times_are_exact(void **state)
{
	sqlite3 *database = open_database();

	(void)state;
	expect_spans(database, "[{\"ph\":\"X\",\"ts\":1712195495406752.797,\"dur\":0.001}]", "1712195495406752797|1|/|\n");
	expect_spans(database, "[{\"ph\":\"X\",\"ts\":1683564901540885,\"dur\":1}]", "1683564901540885000|1000|/|\n");
	expect_spans(database, "[{\"ph\":\"X\",\"ts\":1124609193879.8845,\"dur\":0.0015}]", "1124609193879884|2|/|\n");
	expect_spans(database, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]}",
		     "1000|1000|/|\n");
	expect_spans(database, "[{\"ph\":\"X\",\"ts\":-1891000,\"dur\":0},{\"ph\":\"X\",\"ts\":\"1.5e3\",\"dur\":\"2\"}]",
		     "-1891000000|0|/|\n1500000|2000|/|\n");
	sqlite3_close(database);
}

static void row_ids_follow_the_order_of_the_file(void **state)
{
	sqlite3 *database = open_database();

	(void)state;
	write_trace("[{\"ph\":\"B\",\"ts\":1,\"name\":\"outer\"},{\"ph\":\"X\",\"ts\":5,\"dur\":1,\"name\":\"late\"},"
		    "{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"name\":\"early\"},{\"ph\":\"E\",\"ts\":9}]");
	expect_rows(database, "SELECT rowid, name, depth FROM read_chrome_trace(?1)", "1|outer|0\n3|early|1\n2|late|1\n");
	expect_rows(database, "SELECT rowid, name FROM read_chrome_trace(?1) ORDER BY rowid", "1|outer\n2|late\n3|early\n");
	sqlite3_close(database);
}

static void shapes_of_files(void **state)
{
	sqlite3 *database = open_database();

	(void)state;
	expect_spans(database, "[{\"ph\":\"X\",\"ts\":1,\"dur\":1},\n", "1000|1000|/|\n");
	expect_spans(database, "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"ph\":\"X\",\"ts", "1000|1000|/|\n");
	expect_spans(database,
		     "{\"systemTraceEvents\":{\"events\":[{\"ph\":\"X\",\"ts\":7,\"dur\":1}]},"
		     "\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]}",
		     "1000|1000|/|\n");
	expect_spans(database, "{\"traceEvents\":[]}", "");
	sqlite3_close(database);
}

static void pairs_and_what_has_no_partner(void **state)
{
	sqlite3 *database = open_database();

	(void)state;
	expect_spans(
	    database,
	    "[{\"ph\":\"B\",\"ts\":1,\"pid\":1,\"tid\":1,\"name\":\"never\"},{\"ph\":\"E\",\"ts\":1,\"pid\":1,\"tid\":2},"
	    "{\"ph\":\"X\",\"ts\":2,\"pid\":1,\"tid\":1,\"name\":\"open\"},"
	    "{\"ph\":\"B\",\"ts\":3,\"pid\":1,\"tid\":1,\"name\":\"a\"},{\"ph\":\"E\",\"ts\":4,\"pid\":1,\"tid\":1,"
	    "\"name\":\"a\"}]",
	    "3000|1000|1/1|a\n");
	sqlite3_close(database);
}

static void ids_and_missing_fields(void **state)
{
	sqlite3 *database = open_database();

	(void)state;
	write_trace("[{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"pid\":\"Spans\",\"tid\":\"stream 7\",\"cat\":\"c\"},"
		    "{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"pid\":-1,\"args\":{}}]");
	expect_rows(database,
		    "SELECT quote(pid), quote(tid), quote(track), quote(name), quote(category), quote(args) "
		    "FROM read_chrome_trace(?1)",
		    "'Spans'|'stream 7'|'Spans/stream 7'|''|'c'|NULL\n'-1'|''|'-1/'|''|NULL|'{}'\n");
	sqlite3_close(database);
}

static void counters_have_series(void **state)
{
	sqlite3 *database = open_database();

	(void)state;
	write_trace("[{\"ph\":\"C\",\"ts\":1,\"pid\":1,\"name\":\"cpu\",\"args\":{\"user\":1,\"system\":\"8."
		    "395000000000001\",\"x\":null}},"
		    "{\"ph\":\"C\",\"ts\":2,\"pid\":1,\"name\":\"cpu\",\"id\":\"0xa\",\"args\":{\"user\":3}}]");
	expect_rows(database,
		    "SELECT ts_ns, pid, name, quote(id), key, value = 8.395000000000001, typeof(value) "
		    "FROM read_chrome_counters(?1)",
		    "1000|1|cpu|NULL|user|0|real\n1000|1|cpu|NULL|system|1|real\n2000|1|cpu|'0xa'|user|0|real\n");
	sqlite3_close(database);
}

static void depths_follow_the_rule(void **state)
{
	sqlite3 *database = open_database();

	(void)state;
	write_trace("[{\"ph\":\"X\",\"tid\":1,\"ts\":5,\"dur\":20,\"name\":\"c\"},{\"ph\":\"X\",\"tid\":1,\"ts\":0,\"dur\":"
		    "10,\"name\":\"b\"},"
		    "{\"ph\":\"X\",\"tid\":2,\"ts\":1,\"dur\":1,\"name\":\"other\"},{\"ph\":\"X\",\"tid\":1,\"ts\":0,"
		    "\"dur\":10,\"name\":\"b2\"},"
		    "{\"ph\":\"X\",\"tid\":1,\"ts\":12,\"dur\":0,\"name\":\"d\"},{\"ph\":\"X\",\"tid\":1,\"ts\":0,\"dur\":"
		    "90,\"name\":\"a\"},"
		    "{\"ph\":\"X\",\"tid\":1,\"ts\":25,\"dur\":1,\"name\":\"e\"}]");
	expect_rows(database, "SELECT name, depth FROM read_chrome_trace(?1) ORDER BY rowid",
		    "c|3\nb|1\nother|0\nb2|2\nd|4\na|0\ne|1\n");
	sqlite3_close(database);
}

/* --- use and misuse ---------------------------------------------------------------------------------------------- */

static void the_path_must_be_given(void **state)
{
	sqlite3 *database = open_database();

	(void)state;
	write_trace("[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"ph\":\"C\",\"ts\":1,\"args\":{\"a\":1}}]");
	expect_error(database, "SELECT * FROM read_chrome_trace", "read_chrome_trace(path) needs the path of a trace file");
	expect_error(database, "SELECT * FROM read_chrome_counters()",
		     "read_chrome_counters(path) needs the path of a trace file");
	expect_error(database, "SELECT * FROM read_chrome_trace WHERE path > 'a'",
		     "read_chrome_trace(path) needs the path of a trace file");
	expect_error(database, "SELECT * FROM read_chrome_trace(NULL)",
		     "read_chrome_trace: the path is NULL; give the path of a trace file");
	expect_error(database, "SELECT * FROM read_chrome_trace(CAST(x'610062' AS TEXT))",
		     "read_chrome_trace: a: the path contains a NUL byte");
	expect_rows(database, "SELECT count(*), path = ?1 FROM read_chrome_trace WHERE path = ?1", "1|1\n");
	expect_rows(database, "SELECT count(*) FROM read_chrome_trace WHERE path IN (?1, ?1 || '')", "1\n");
	expect_rows(database, "SELECT count(*) FROM read_chrome_trace WHERE path = ?1 OR path = ?1", "1\n");
	expect_rows(database, "SELECT count(*) FROM (SELECT ?1 AS p UNION ALL SELECT ?1), read_chrome_trace(p)", "2\n");
	expect_rows(database, "SELECT count(*) FROM read_chrome_trace(?1) a JOIN read_chrome_counters(?1) c USING(ts_ns)",
		    "1\n");
	expect_rows(database, "SELECT count(*) FROM (SELECT ?1 AS p) LEFT JOIN read_chrome_trace t ON t.path = p", "1\n");
	sqlite3_close(database);
}

static void files_that_cannot_be_read_are_errors(void **state)
{
	sqlite3 *database = open_database();

	(void)state;
	expect_error(database, "SELECT * FROM read_chrome_trace('/no/such/file')",
		     "read_chrome_trace: /no/such/file: cannot open the file: No such file or directory");
	expect_error(database, "SELECT depth FROM read_chrome_trace('/no/such/file')",
		     "read_chrome_trace: /no/such/file: cannot open the file: No such file or directory");
	write_trace("[{\"ph\":\"X\",\"ts\":1e30,\"dur\":1}]");
	for (int i = 0; i < 2; i++)
		expect_error(database,
			     i ? "SELECT depth FROM read_chrome_trace(?1)" : "SELECT count(*) FROM read_chrome_trace(?1)",
			     "read_chrome_trace: %s: byte 1: the ts of the event that starts here does not fit into 64-bit "
			     "nanoseconds",
			     trace_path);
	write_trace("{\"spans\":[]}");
	expect_error(database, "SELECT * FROM read_chrome_counters(?1)",
		     "read_chrome_counters: %s: byte 12: there is no array \"traceEvents\" at the top level. Formats that are read: "
		     "Chrome JSON, Perfetto protobuf, OTLP (JSON, lines of JSON, protobuf), .spall; plain or gzip", trace_path);
	expect_error(database, "SELECT depth FROM read_chrome_trace('/dev/null')",
		     "read_chrome_trace: /dev/null: the file is empty");
	sqlite3_close(database);
}

static void schemas_cannot_use_the_functions(void **state)
{
	sqlite3 *database = open_database();

	(void)state;
	write_trace("[]");
	assert_int_equal(sqlite3_exec(database, "CREATE VIEW v AS SELECT * FROM read_chrome_trace('x')", NULL, NULL, NULL),
			 SQLITE_OK);
	expect_error(database, "SELECT * FROM v", "unsafe use of virtual table \"read_chrome_trace\"");
	expect_error(database, "CREATE VIRTUAL TABLE t USING read_chrome_trace(x)", "no such module: read_chrome_trace");
	sqlite3_close(database);
}

static void a_statement_can_run_again(void **state)
{
	sqlite3 *database = open_database();
	sqlite3_stmt *statement;

	(void)state;
	write_trace("[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"ph\":\"X\",\"ts\":2,\"dur\":1}]");
	assert_int_equal(
	    sqlite3_prepare_v2(database, "SELECT rowid, depth, args FROM read_chrome_trace(?1)", -1, &statement, NULL),
	    SQLITE_OK);
	sqlite3_bind_text(statement, 1, trace_path, -1, SQLITE_STATIC);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
		assert_int_equal(sqlite3_column_int(statement, 0), 1);
		sqlite3_reset(statement);
	}
	sqlite3_finalize(statement);
	sqlite3_close(database);
}

static void damaged_files_never_crash(void **state)
{
	static const char trace[] =
	    "{\"traceEvents\":[{\"ph\":\"B\",\"ts\":1.25,\"pid\":1,\"tid\":\"t\",\"name\":\"a\\u00e9\",\"args\":{\"x\":[1,"
	    "\"\\\"\"]}},"
	    "{\"ph\":\"C\",\"ts\":2,\"args\":{\"v\":\"1.5\"}},{\"ph\":\"E\",\"ts\":3,\"pid\":1,\"tid\":\"t\"}],\"z\":null}";
	sqlite3 *database = open_database();
	char damaged[sizeof trace];

	(void)state;
	for (size_t i = 0; i < 9 * strlen(trace); i++) {
		memcpy(damaged, trace, sizeof trace);
		if (i % 9 == 8)
			damaged[i / 9] = 0; /* cut here */
		else
			damaged[i / 9] = (char)(damaged[i / 9] ^ 1 << i % 9);
		write_trace(damaged);
		rows_of(database, "SELECT * FROM read_chrome_trace(?1)", trace_path);
		rows_of(database, "SELECT * FROM read_chrome_counters(?1)", trace_path);
	}
	sqlite3_close(database);
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

static void write_big_trace(int n_events)
{
	FILE *file = fopen(trace_path, "wb");

	assert_non_null(file);
	fputs("{\"traceEvents\":[\n{\"ph\":\"X\",\"ts\":0,\"dur\":0,\"args\":{\"picture\":\"", file);
	for (int i = 0; i < 1000000; i += 50)
		fputs("abcdefghijklmnopqrstuvwxyz0123456789+/ABCDEFGHIJKL", file);
	fputs("\"}}", file);
	for (int i = 0; i < n_events; i++) {
		int track = i % 6 == 3 ? i - 3 : i; /* an E has the track of its B */

		fprintf(file,
			",\n{\"ph\":\"%c\",\"ts\":%d.125,\"pid\":%d,\"tid\":%d,\"name\":\"task "
			"%d\",\"cat\":\"work\",\"dur\":5.5,"
			"\"args\":{\"data\":{\"frame\":%d,\"url\":\"https://example.org/a/b/c?d=%d\"}}}",
			i % 3	? 'X'
			: i % 2 ? 'E'
				: 'B',
			i, track % 4, track % 50, i % 1000, i, i);
	}
	fputs("]}\n", file);
	assert_int_equal(fclose(file), 0);
}

/* Returns the peak memory in KiB that a query adds to a process of its own. */
static long peak_kib_of(const char *sql)
{
	int ends[2];
	long n_kib = -1;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		sqlite3 *database = open_database();
		struct rusage before, after;
		const char *rows;

		rows_of(database, "SELECT 1", NULL);
		getrusage(RUSAGE_SELF, &before);
		rows = rows_of(database, sql, trace_path);
		getrusage(RUSAGE_SELF, &after);
		if (strncmp(rows, "error", 5) != 0)
			n_kib = after.ru_maxrss - before.ru_maxrss;
		_exit(write(ends[1], &n_kib, sizeof n_kib) != sizeof n_kib);
	}
	assert_int_equal(read(ends[0], &n_kib, sizeof n_kib), sizeof n_kib);
	close(ends[0]);
	close(ends[1]);
	waitpid(child, NULL, 0);
	return n_kib;
}

static void memory_does_not_grow_with_the_file(void **state)
{
	long plain_kib, args_kib, depth_kib;

	(void)state;
#ifdef UNDER_ADDRESS_SANITIZER
	skip();
#endif
	write_big_trace(350000);
	plain_kib = peak_kib_of("SELECT count(*), sum(dur_ns), max(name) FROM read_chrome_trace(?1)");
	depth_kib = peak_kib_of("SELECT count(*), max(depth) FROM read_chrome_trace(?1)");
	args_kib = peak_kib_of("SELECT sum(length(args)) FROM read_chrome_trace(?1) WHERE ts_ns > 0");
	print_message("50 MB of trace, one string of 1 MB: %ld KiB, with depth %ld KiB, with args %ld KiB\n", plain_kib,
		      depth_kib, args_kib);
	assert_in_range(plain_kib, 0, 16 * 1024);
	assert_in_range(depth_kib, 0, 24 * 1024);
	assert_in_range(args_kib, 0, 24 * 1024);
}

/* --- the documentation ------------------------------------------------------------------------------------------- */

/* Returns the next block of a kind after *at, and moves *at behind it. NULL if there is none. The caller frees the text. */
static char *next_block(const char **at, const char *fence)
{
	const char *start = strstr(*at, fence), *end = start ? strstr(start + 4, "\n```") : NULL;

	if (!end)
		return NULL;
	*at = end + 4;
	start += strlen(fence);
	return strndup(start, (size_t)(end + 1 - start));
}

static void examples_of_the_documentation_hold(void **state)
{
	static const char *const pages[] = { "docs/traces.md", "docs/trace_formats.md" };
	static char text[100000];
	sqlite3 *database = open_database();
	const char *at = text;
	size_t n_bytes = 0;
	char *block;
	int n_examples = 0;

	(void)state;
	for (size_t p = 0; p < sizeof pages / sizeof *pages; p++) {
		FILE *file = fopen(pages[p], "rb");

		assert_non_null(file);
		n_bytes += fread(text + n_bytes, 1, sizeof text - 1 - n_bytes, file);
		fclose(file);
	}
	text[n_bytes] = 0;
	block = next_block(&at, "\n```json\n");
	assert_non_null(block);
	write_trace(block);
	free(block);
	assert_int_equal(chdir(folder), 0);
	block = next_block(&at, "\n```json\n");
	assert_non_null(block);
	write_text("otlp.json", block);
	free(block);
	at = text;
	while ((block = next_block(&at, "\n```sql\n")) != NULL) {
		char *expected = next_block(&at, "\n```text\n");

		assert_non_null(expected);
		expect_rows(database, block, expected);
		free(block);
		free(expected);
		n_examples++;
	}
	assert_int_equal(unlink("otlp.json"), 0);
	assert_int_equal(chdir(project), 0);
	assert_true(n_examples >= 6);
	sqlite3_close(database);
}

/* --- real traces ------------------------------------------------------------------------------------------------- */

/* The expected answers are JSON, which is parsed once into expected(answers). The comparisons are SQL: each query returns a row
 * for every figure that differs. */
static const char load_sql[] =
    "CREATE TEMP TABLE spans AS SELECT rowid AS seq, ts_ns, dur_ns, track, depth, name FROM read_chrome_trace(?1);"
    "CREATE INDEX temp.spans_ts ON spans(ts_ns);"
    "CREATE TEMP TABLE samples AS SELECT * FROM read_chrome_counters(?1);";

static const char *const difference_sqls[] = {
	"WITH answer AS (SELECT count(*) AS spans, sum(dur_ns) AS sum, min(dur_ns) AS min, max(dur_ns) AS max,"
	" sum(dur_ns = 0) AS zero_dur, sum(dur_ns < 0) AS negative_dur, min(ts_ns) AS first_ts, max(ts_ns + dur_ns) AS "
	"last_end,"
	" count(DISTINCT track) AS tracks, count(DISTINCT name) AS distinct_names, max(depth) + 1 AS max_depth FROM spans),"
	"figure(key, value) AS (SELECT 'spans', spans FROM answer UNION ALL SELECT 'sum', sum FROM answer"
	" UNION ALL SELECT 'min', min FROM answer UNION ALL SELECT 'max', max FROM answer"
	" UNION ALL SELECT 'zero_dur', zero_dur FROM answer UNION ALL SELECT 'negative_dur', negative_dur FROM answer"
	" UNION ALL SELECT 'first_ts', first_ts FROM answer UNION ALL SELECT 'last_end', last_end FROM answer"
	" UNION ALL SELECT 'tracks', tracks FROM answer UNION ALL SELECT 'distinct_names', distinct_names FROM answer"
	" UNION ALL SELECT 'max_depth', max_depth FROM answer)"
	"SELECT 'total', key, e.value, f.value FROM expected, json_each(answers, '$.totals') e LEFT JOIN figure f "
	"USING(key)"
	" WHERE e.value IS NOT f.value AND key <> 'partial_overlaps'",

	"WITH answer AS (SELECT track, json_object('count', count(*), 'sum', sum(dur_ns), 'max', max(dur_ns), 'max_depth',"
	" max(depth) + 1) AS figures FROM spans GROUP BY track),"
	"wanted AS (SELECT key AS track, json_remove(value, '$.partial_overlaps') AS figures FROM expected, "
	"json_each(answers, '$.tracks'))"
	"SELECT 'track', * FROM (SELECT * FROM answer EXCEPT SELECT * FROM wanted) UNION ALL "
	"SELECT 'no track', * FROM (SELECT * FROM wanted EXCEPT SELECT * FROM answer)",

	"WITH answer AS (SELECT pid || '|' || name || coalesce('|id=' || id, '') || '|' || key AS series, count(*) AS n, "
	"min(ts_ns) AS t0,"
	" max(ts_ns) AS t1, sum(value) AS sum, min(value) AS min, max(value) AS max FROM samples GROUP BY 1),"
	"wanted AS (SELECT key AS series, value AS v FROM expected, json_each(answers, '$.counters'))"
	"SELECT 'counter', * FROM wanted LEFT JOIN answer USING(series) WHERE n IS NOT v ->> 'n' OR t0 IS NOT v ->> 't0'"
	" OR t1 IS NOT v ->> 't1' OR min IS NOT v ->> 'min' OR max IS NOT v ->> 'max'"
	" OR NOT abs(sum - (v ->> 'sum')) <= 1e-12 * abs(sum)"
	" UNION ALL SELECT 'no counter', series, NULL, n, t0, t1, sum, min, max FROM answer WHERE series NOT IN (SELECT "
	"series FROM wanted)",

	"WITH wanted AS (SELECT key, value ->> 'a' AS a, value ->> 'b' AS b, value AS v FROM expected, json_each(answers, "
	"'$.windows')),"
	"answer AS (SELECT key, v, count(ts_ns) AS count, sum(dur_ns) AS sum, min(dur_ns) AS min, max(dur_ns) AS max"
	" FROM wanted LEFT JOIN spans ON ts_ns >= a AND ts_ns < b GROUP BY key)"
	"SELECT 'window', * FROM answer WHERE count IS NOT v ->> 'count' OR coalesce(sum, 0) IS NOT coalesce(v ->> 'sum', "
	"0)"
	" OR min IS NOT v ->> 'min' OR max IS NOT v ->> 'max'",

	"WITH wanted AS (SELECT key, value ->> 'a' AS a, value ->> 'b' AS b, value AS v FROM expected, json_each(answers, "
	"'$.windows')),"
	"answer AS (SELECT *, (SELECT json_group_array(json_array(ts_ns, dur_ns, name)) FROM"
	" (SELECT ts_ns, dur_ns, name FROM spans WHERE ts_ns >= a AND ts_ns < b ORDER BY dur_ns DESC, ts_ns, name LIMIT "
	"5)) AS top5"
	" FROM wanted) SELECT 'top5', * FROM answer WHERE top5 IS NOT v -> 'top5'",
};

static void load_expected(sqlite3 *database, const char *path)
{
	char *json = NULL;
	size_t n_allocated = 0;
	sqlite3_stmt *insert;
	FILE *file = fopen(path, "rb");
	ssize_t n_bytes;

	assert_non_null(file);
	n_bytes = getdelim(&json, &n_allocated, 0, file);
	fclose(file);
	assert_true(n_bytes > 0);
	rows_of(database, "CREATE TABLE expected(answers TEXT)", NULL);
	assert_int_equal(sqlite3_prepare_v2(database, "INSERT INTO expected VALUES(json(?1))", -1, &insert, NULL), SQLITE_OK);
	sqlite3_bind_text(insert, 1, json, -1, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
	sqlite3_finalize(insert);
	free(json);
}

static void expect_figures(const char *traces, const char *name)
{
	sqlite3 *database = open_database();
	char path[1000];

	snprintf(path, sizeof path, "%s/%s.expected.json", traces, name);
	load_expected(database, path);
	snprintf(path, sizeof path, "%s/%s.json.gz", traces, name);
	assert_string_equal(rows_of(database, load_sql, path), "");
	for (size_t i = 0; i < sizeof difference_sqls / sizeof *difference_sqls; i++)
		expect_rows(database, difference_sqls[i], "");
	sqlite3_close(database);
}

/* Comparisons for a file of any format; ?1 is its path. The reader turns each byte that is not UTF-8 into a U+FFFD; the
 * expected answers have one U+FFFD for several such bytes. */
#define MENDED(text) "replace(replace(" text ", char(65533, 65533), char(65533)), char(65533, 65533), char(65533))"

#define IS_PERFETTO "(SELECT answers ->> 'format' = 'perfetto-protobuf' FROM expected)"

/* In the random files, flows of the phases s, t and f differ from Perfetto's. tests/trace/test_perfetto_files has the reason,
 * and compares them. */
#define IS_RANDOM "(SELECT answers ->> 'file' LIKE 'random%' FROM expected)"

/* The expected answers have separate lists of states, and of the threads that run on a CPU, which are spans here. Perfetto's
 * answers do not distinguish processes that reuse a number, and name a counter's uuid only if it is needed. */
static const char load_model_sql[] =
	"CREATE TEMP TABLE tracks AS SELECT * FROM read_trace_tracks(?1);"
	"CREATE TEMP TABLE all_spans AS SELECT rowid AS number, ts_ns AS ts, coalesce(dur_ns, -1) AS dur, track, depth, printf('%s', " MENDED("name") ") AS name, "
	MENDED("category") " AS cat, pid, tid, process, thread, id, parent, trace_id, args, "
	"(SELECT kind FROM tracks t WHERE t.track = r.track AND (kind IN ('state', 'cpu')) = (r.track LIKE 'state:%' OR r.track LIKE 'cpu:%')) AS kind "
	"FROM read_trace(?1) r;"
	"UPDATE all_spans SET kind = 'state' WHERE track IN (SELECT track FROM tracks WHERE kind = 'state');"
	"CREATE TEMP VIEW spans AS SELECT * FROM all_spans WHERE kind NOT IN ('state', 'cpu');"
	"CREATE TEMP TABLE report AS SELECT * FROM read_trace_report(?1);"
	"CREATE TEMP TABLE instants AS SELECT rowid AS number, ts_ns AS ts, track, " MENDED("name") " AS name, category AS cat FROM read_trace_instants(?1);"
	"UPDATE instants SET track = substr(track, 1, instr(track, '#') - 1) WHERE track IN (SELECT track FROM tracks WHERE kind = 'process' AND track LIKE '%#%');"
	"CREATE TEMP TABLE flows AS SELECT * FROM read_trace_flows(?1);"
	"CREATE TEMP TABLE samples AS SELECT *, iif(" IS_PERFETTO ", coalesce(track, '') || '|' || name || iif((SELECT count(DISTINCT o.id) "
	"FROM read_trace_counters(?1) o WHERE o.track IS r.track AND o.name = r.name) > 1, '|uuid:' || id, ''), "
	"pid || '|' || name || coalesce('|id=' || id, '') || '|' || key) AS series FROM read_trace_counters(?1) r;";

/* Returns the rows that only one of two queries has, or has more often. */
#define DIFFERENCE(what, columns, actual, wanted)                                                                              \
	"WITH a AS (SELECT " columns ", count(*) FROM (" actual ") GROUP BY " columns "), "                                    \
	"w AS (SELECT " columns ", count(*) FROM (" wanted ") GROUP BY " columns ") "                                          \
	"SELECT '" what "', * FROM (SELECT * FROM a EXCEPT SELECT * FROM w) UNION ALL "                                        \
	"SELECT 'no " what "', * FROM (SELECT * FROM w EXCEPT SELECT * FROM a)"

#define FIELD(name) "value ->> '" name "' AS " name

static const char *const model_difference_sqls[] = {
	DIFFERENCE("total", "n, unclosed, sum, min, max, tracks, names, depth",
		   "SELECT count(*) AS n, coalesce(sum(dur < 0), 0) AS unclosed, coalesce(sum(dur) FILTER (WHERE dur >= 0), 0) AS sum, "
		   "min(dur) FILTER (WHERE dur >= 0) AS min, max(dur) FILTER (WHERE dur >= 0) AS max, count(DISTINCT track) AS tracks, "
		   "count(DISTINCT name) AS names, coalesce(max(depth) + 1, 0) AS depth FROM spans",
		   "SELECT t ->> 'spans' AS n, t ->> 'unclosed' AS unclosed, t ->> 'sum' AS sum, t ->> 'min' AS min, t ->> 'max' AS max, "
		   "t ->> 'tracks' AS tracks, t ->> 'distinct_names' AS names, t ->> 'max_depth' AS depth "
		   "FROM (SELECT answers -> 'totals' AS t FROM expected)"),
	DIFFERENCE("track", "track, count, unclosed, sum, max, max_depth",
		   "SELECT track, count(*) AS count, sum(dur < 0) AS unclosed, coalesce(sum(dur) FILTER (WHERE dur >= 0), 0) AS sum, "
		   "max(dur) FILTER (WHERE dur >= 0) AS max, max(depth) + 1 AS max_depth FROM spans GROUP BY track",
		   "SELECT key AS track, " FIELD("count") ", " FIELD("unclosed") ", " FIELD("sum") ", " FIELD("max") ", " FIELD("max_depth")
		   " FROM expected, json_each(answers, '$.tracks')"),
	/* the expected answers have all spans, or the first ones */
	DIFFERENCE("span", "ts, dur, track, name, cat, depth",
		   "SELECT * FROM spans WHERE (SELECT answers -> 'spans' FROM expected) IS NOT NULL",
		   "SELECT " FIELD("ts") ", " FIELD("dur") ", " FIELD("track") ", printf('%s', " MENDED("value ->> 'name'") ") AS name, "
		   MENDED("value ->> 'cat'") " AS cat, " FIELD("depth") " FROM expected, json_each(answers, '$.spans')"),
	"SELECT 'no first span', value FROM expected, json_each(answers, '$.spans_first_50') WHERE NOT EXISTS (SELECT 1 FROM spans "
	"WHERE ts = value ->> 'ts' AND dur = value ->> 'dur' AND track = value ->> 'track' AND name = value ->> 'name' "
	"AND cat IS value ->> 'cat' AND depth = value ->> 'depth')",
	DIFFERENCE("thread of an asynchronous span", "ts, track, name, pid, tid",
		   "SELECT * FROM spans WHERE track LIKE 'async:%' AND (SELECT answers -> 'spans' FROM expected) IS NOT NULL AND NOT " IS_PERFETTO,
		   "SELECT " FIELD("ts") ", " FIELD("track") ", " FIELD("name") ", " FIELD("pid") ", " FIELD("tid")
		   " FROM expected, json_each(answers, '$.spans') WHERE value ->> 'track' LIKE 'async:%' AND NOT " IS_PERFETTO),
	DIFFERENCE("state", "ts, dur, track, name",
		   "SELECT ts, dur, iif(track LIKE 'state:%', substr(track, 7), track) AS track, name FROM all_spans WHERE kind = 'state'",
		   "SELECT " FIELD("ts") ", " FIELD("dur") ", " FIELD("track") ", value ->> iif(" IS_PERFETTO ", 'name', 'state') AS name "
		   "FROM expected, json_each(coalesce(answers -> 'thread_states', answers -> 'states', '[]'))"),
	DIFFERENCE("track of a CPU", "track, count, unclosed, sum, max",
		   "SELECT track, count(*) AS count, sum(dur < 0) AS unclosed, sum(dur) FILTER (WHERE dur >= 0) AS sum, max(dur) AS max "
		   "FROM all_spans WHERE kind = 'cpu' GROUP BY track",
		   "SELECT key AS track, " FIELD("count") ", " FIELD("unclosed") ", " FIELD("sum") ", " FIELD("max")
		   " FROM expected, json_each(answers, '$.sched.tracks')"),
	"SELECT 'no run', value FROM expected, json_each(answers, '$.sched.spans_first_50') WHERE NOT EXISTS (SELECT 1 FROM all_spans WHERE kind = 'cpu' "
	"AND ts = value ->> 'ts' AND dur = value ->> 'dur' AND track = value ->> 'track' AND name = value ->> 'name' AND id = CAST(value ->> 'tid' AS TEXT) "
	"AND args ->> 'tid' = value ->> 'tid' AND args ->> 'prio' = value ->> 'prio' AND args ->> 'end_state' = value ->> 'end_state')",
	DIFFERENCE("span of OTLP", "ts, name, trace_id, id, parent",
		   "SELECT * FROM spans WHERE (SELECT answers ->> 'format' FROM expected) = 'otlp'",
		   "SELECT " FIELD("ts") ", " FIELD("name") ", nullif(value ->> 'trace_id', '') AS trace_id, nullif(value ->> 'span_id', '') AS id, "
		   "nullif(value ->> 'parent_span_id', '') AS parent FROM expected, json_each(answers, '$.spans') WHERE answers ->> 'format' = 'otlp'"),
	/* for OTLP, the expected answers have the numbers of events and of links */
	"SELECT 'instants', (SELECT count(*) FROM instants) FROM expected "
	"WHERE (SELECT count(*) FROM instants) <> coalesce(answers ->> '$.stats.events' * (answers ->> 'format' = 'otlp'), 0) + answers ->> '$.instants.n'",
	"SELECT 'links', (SELECT count(*) FROM flows) FROM expected WHERE answers ->> 'format' = 'otlp' AND answers ->> '$.stats.links' "
	"<> (SELECT count(*) FROM flows) + (SELECT total(n) FROM report WHERE what = 'link without start')",
	DIFFERENCE("instant", "ts, track, name, cat",
		   "SELECT * FROM instants WHERE (SELECT count(*) FROM instants) = (SELECT json_array_length(answers, '$.instants.list') FROM expected)",
		   "SELECT " FIELD("ts") ", " FIELD("track") ", " MENDED("value ->> 'name'") " AS name, " FIELD("cat")
		   " FROM expected, json_each(answers, '$.instants.list') "
		   "WHERE (SELECT count(*) FROM instants) = json_array_length(answers, '$.instants.list')"),
	DIFFERENCE("instants of a track", "track, n", "SELECT track, count(*) AS n FROM instants GROUP BY track",
		   "SELECT key AS track, value AS n FROM expected, json_each(answers, '$.instants.tracks') "
		   "UNION ALL SELECT value ->> 'track', sum(value ->> 'events') FROM expected, json_each(answers, '$.spans') "
		   "WHERE answers ->> 'format' = 'otlp' AND value ->> 'events' > 0 GROUP BY 1"),
	DIFFERENCE("counter", "series, n, t0, t1, min, max",
		   "SELECT series, count(*) AS n, min(ts_ns) AS t0, max(ts_ns) AS t1, min(value) AS min, max(value) AS max FROM samples GROUP BY 1",
		   "SELECT key AS series, " FIELD("n") ", " FIELD("t0") ", " FIELD("t1") ", " FIELD("min") ", " FIELD("max")
		   " FROM expected, json_each(answers, '$.counters')"),
	"SELECT 'no sample', s.key, s.value FROM expected, json_each(answers, '$.counter_samples') c, json_each(c.value) s WHERE NOT EXISTS (SELECT 1 "
	"FROM samples WHERE series = c.key AND ts_ns = s.value ->> '$[0]' "
	"AND value = s.value ->> '$[1]')",
	"SELECT 'flows', (SELECT count(*) FROM flows) FROM expected WHERE answers ->> 'format' <> 'otlp' AND NOT " IS_RANDOM
	" AND (SELECT count(*) FROM flows) <> answers ->> '$.flows.n'",
	DIFFERENCE("flow", "a, b, c, d, e, f, g, h",
		   "SELECT x.ts AS a, x.dur AS b, x.track AS c, x.name AS d, y.ts AS e, y.dur AS f, y.track AS g, y.name AS h FROM flows "
		   "JOIN all_spans x ON x.number = from_span JOIN all_spans y ON y.number = to_span WHERE NOT " IS_PERFETTO,
		   "SELECT value ->> '$.from[0]' AS a, value ->> '$.from[1]' AS b, value ->> '$.from[2]' AS c, value ->> '$.from[3]' AS d, "
		   "value ->> '$.to[0]' AS e, value ->> '$.to[1]' AS f, value ->> '$.to[2]' AS g, value ->> '$.to[3]' AS h "
		   "FROM expected, json_each(answers, '$.flows.list') WHERE NOT " IS_PERFETTO),
	/* in Perfetto's answers, the earlier end of a flow comes first */
	"WITH ends AS (SELECT 0 AS is_instant, number, ts, dur, track, name FROM all_spans UNION ALL SELECT 1, number, ts, 0, track, name FROM instants), "
	"given AS (SELECT x.ts <= y.ts AS is_forth, json_array(x.ts, x.dur, x.track, x.name) AS x, json_array(y.ts, y.dur, y.track, y.name) AS y FROM flows f "
	"JOIN ends x ON x.number = coalesce(from_span, from_instant) AND x.is_instant = (from_span IS NULL) "
	"JOIN ends y ON y.number = coalesce(to_span, to_instant) AND y.is_instant = (to_span IS NULL) "
	"WHERE " IS_PERFETTO " AND NOT (" IS_RANDOM " AND (f.name IS NOT NULL OR f.category IS NOT NULL))), "
	"a AS (SELECT iif(is_forth, x, y) AS x, iif(is_forth, y, x) AS y, count(*) FROM given GROUP BY 1, 2), "
	"w AS (SELECT value ->> 'from' AS x, value ->> 'to' AS y, count(*) FROM expected, json_each(answers, '$.flows.list') WHERE " IS_PERFETTO " GROUP BY 1, 2) "
	"SELECT 'flow', * FROM (SELECT * FROM a EXCEPT SELECT * FROM w) UNION ALL "
	"SELECT 'no flow', * FROM (SELECT * FROM w EXCEPT SELECT * FROM a) WHERE NOT " IS_RANDOM,
	DIFFERENCE("left out", "what, n",
		   /* some reasons have names behind a colon */
		   "SELECT iif(what LIKE '% without %:%', substr(what, 1, instr(what, ':') - 1), what) AS what, sum(n) AS n FROM report WHERE finding = 'left out' "
		   "AND what <> 'link without start' AND NOT (" IS_RANDOM " AND what LIKE '%flow%') GROUP BY 1",
		   "SELECT replace(replace(key, 'trace_processor: end_without_begin', 'end without begin'), 'event: not sched_switch', 'event: other') AS what, "
		   "value AS n FROM expected, json_each(answers, '$.left_out') WHERE key NOT LIKE 'trace_processor: flow%'"),
	DIFFERENCE("name", "sort, key, value",
		   "SELECT * FROM (SELECT 'process' AS sort, track AS key, name AS value FROM tracks WHERE kind = 'process' AND name IS NOT NULL UNION ALL "
		   "SELECT 'thread', track, name FROM tracks WHERE kind = 'thread' AND name IS NOT NULL UNION ALL "
		   "SELECT kind || '_sort_index', track, CAST(sort_index AS TEXT) FROM tracks WHERE sort_index IS NOT NULL UNION ALL "
		   "SELECT 'process_labels', track, labels FROM tracks WHERE labels IS NOT NULL) WHERE NOT " IS_PERFETTO,
		   "SELECT n.key AS sort, t.key AS key, CAST(t.value AS TEXT) AS value FROM expected, json_each(answers, '$.names') n, json_each(n.value) t "
		   "WHERE NOT " IS_PERFETTO),
	"SELECT 'track without its names', t.key, t.value FROM expected, json_each(answers, '$.names.tracks') t WHERE " IS_PERFETTO " AND NOT EXISTS ("
	"SELECT 1 FROM tracks r WHERE r.track = t.key AND (r.kind IN ('process', 'thread') OR r.name IS t.value ->> 'name') "
	"AND (r.kind <> 'thread' OR (r.tid = CAST(t.value ->> 'tid' AS TEXT) AND r.name IS t.value ->> 'thread')) "
	"AND (r.kind NOT IN ('process', 'thread') OR r.pid = CAST(t.value ->> 'pid' AS TEXT)) AND (r.kind NOT IN ('process', 'thread') OR r.process IS t.value ->> 'process'))",
	"SELECT 'name of a thread', s.number FROM all_spans s JOIN tracks t ON t.kind = 'thread' AND t.pid = s.pid AND t.tid = s.tid "
	"WHERE (s.thread IS NOT t.name OR s.process IS NOT t.process) "
	"AND (SELECT count(*) FROM tracks u WHERE u.kind = 'thread' AND u.pid = t.pid AND u.tid = t.tid) = 1",
};

#define SPANS_OF_PAIRS \
	"SELECT name, ts_ns, coalesce(dur_ns, -1), track FROM read_trace(?1) WHERE name NOT GLOB '*X*' OR name GLOB 'B/E*' ORDER BY ts_ns, rowid"

/* Of these files the expected answers let an E end the innermost B, whatever its name is. */
static const struct other_answer {
	const char *name, *sql, *rows;
} other_answers[] = {
	{ "quirk_shuffled.json.expected.json",
	  "SELECT count(*), sum(dur_ns IS NULL), sum(dur_ns), (SELECT sum(n) FROM read_trace_report(?1) WHERE what LIKE "
	  "'E without B: _') FROM read_trace(?1) WHERE track NOT LIKE '%:%'",
	  "24|8|2646500|9\n" },
	{ "speedscope_unbalanced-name.json.expected.json", SPANS_OF_PAIRS, "alpha|0|9000|0/0\nbeta|1000|9000|0/0\n" },
	{ "speedscope_zero-duration-events.json.expected.json", SPANS_OF_PAIRS, "A|0|10000|0/0\nB|1000|0|0/0\nC|2000|-1|0/0\nD|3000|0|0/0\n" },
	{ "pf_json_all_slice_types.json.expected.json", SPANS_OF_PAIRS, "BeginEvent|100000|-1|10/11\nCompleteEvent|250000|50000|10/12\n" },
	{ "quirk_order.json.expected.json", SPANS_OF_PAIRS,
	  "negative|-5500|1000|-1/-2\na|10000|10000|1/1\nopen|30000|-1|1/1\nin open|31000|1000|1/1\np|40000|2000|1/2\nq|41000|-1|1/2\n"
	  "no pid|50000|1000|/\ntext ids|60000|1000|1/1\nkeys twice|71000|2000|1/1\n" },
	{ "simple_trace.json.gz.expected.json", SPANS_OF_PAIRS,
	  "A long name that doesnt fit but is exceedingly informative|826000|-1|22630/22630\n"
	  "Asub with a name that wont fit|827000|6000|22630/22630\nA|827000|27000|22630/22631\nAsub|829000|3000|22630/22630\n"
	  "A not as long a name|840000|8000|22630/22630\nB|850000|4000|22630/22630\n"
	  "B/E over X|860000|10000|22630/22630\nB/E under X|860000|10000|22630/22630\n" },
};

/* True if the file was compared with another answer: its spans with a begin and an end. */
static bool expect_other_answer(const char *path, const char *name)
{
	sqlite3 *database;

	for (size_t i = 0; i < sizeof other_answers / sizeof *other_answers; i++) {
		if (strcmp(name, other_answers[i].name) != 0)
			continue;
		database = open_database();
		assert_string_equal(rows_of(database, other_answers[i].sql, path), other_answers[i].rows);
		sqlite3_close(database);
		return true;
	}
	return false;
}

static void expect_model(const char *format_folder, const char *name)
{
	sqlite3 *database;
	char path[1500];

	snprintf(path, sizeof path, "%s/%.*s", format_folder, (int)(strlen(name) - strlen(".expected.json")), name);
	if (expect_other_answer(path, name))
		return;
	database = open_database();
	snprintf(path, sizeof path, "%s/%s", format_folder, name);
	load_expected(database, path);
	path[strlen(path) - strlen(".expected.json")] = 0;
	if (*rows_of(database, "SELECT 1 FROM expected WHERE answers ->> 'error' IS NOT NULL", NULL)) {
		assert_non_null(strstr(rows_of(database, "SELECT count(*) FROM read_trace(?1)", path), ": byte "));
		sqlite3_close(database);
		return;
	}
	assert_string_equal(rows_of(database, load_model_sql, path), "");
	for (size_t i = 0; i < sizeof model_difference_sqls / sizeof *model_difference_sqls; i++) {
		const char *rows = rows_of(database, model_difference_sqls[i], path);

		if (*rows)
			fail_msg("%s: %.2000s", path, rows);
	}
	sqlite3_close(database);
}

/* Compares every file of a folder that has expected answers beside it. */
static void every_file_gives_the_expected_model(void **state)
{
	const char *traces = getenv("IFOREST_TRACES"), *suffix = ".expected.json";
	char format_folder[1000];
	struct dirent *entry;
	int n_files = 0;
	DIR *files;

	snprintf(format_folder, sizeof format_folder, "%s/formats/%s", traces && *traces ? traces : "../shared/data/traces",
		 (const char *)*state);
	files = opendir(format_folder);
	if (!files) {
		print_message("skipped: there is no folder %s\n", format_folder);
		skip();
	}
	while ((entry = readdir(files))) {
		size_t n_bytes = strlen(entry->d_name);

		if (n_bytes > strlen(suffix) && strcmp(entry->d_name + n_bytes - strlen(suffix), suffix) == 0) {
			expect_model(format_folder, entry->d_name);
			n_files++;
		}
	}
	closedir(files);
	assert_true(n_files > 0);
}

static void real_traces_give_the_expected_answers(void **state)
{
	const char *traces = getenv("IFOREST_TRACES");

	(void)state;
	if (!traces || !*traces)
		traces = "../shared/data/traces";
	if (access(traces, R_OK) != 0) {
		print_message("skipped: there is no folder %s\n", traces);
		skip();
	}
	expect_figures(traces, "fuchsia_trace");
	expect_figures(traces, "chrome_thread_time");
	expect_figures(traces, "pytorch_hta_rank0");
	expect_figures(traces, "bazel_profile_queuing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_exact),
		cmocka_unit_test(row_ids_follow_the_order_of_the_file),
		cmocka_unit_test(shapes_of_files),
		cmocka_unit_test(pairs_and_what_has_no_partner),
		cmocka_unit_test(ids_and_missing_fields),
		cmocka_unit_test(counters_have_series),
		cmocka_unit_test(depths_follow_the_rule),
		cmocka_unit_test(the_path_must_be_given),
		cmocka_unit_test(files_that_cannot_be_read_are_errors),
		cmocka_unit_test(schemas_cannot_use_the_functions),
		cmocka_unit_test(a_statement_can_run_again),
		cmocka_unit_test(damaged_files_never_crash),
		cmocka_unit_test(memory_does_not_grow_with_the_file),
		cmocka_unit_test(examples_of_the_documentation_hold),
		cmocka_unit_test(real_traces_give_the_expected_answers),
		{ "chrome_json gives the expected model", every_file_gives_the_expected_model, NULL, NULL, (void *)"chrome_json" },
		{ "perfetto gives the expected model", every_file_gives_the_expected_model, NULL, NULL, (void *)"perfetto" },
		{ "otlp gives the expected model", every_file_gives_the_expected_model, NULL, NULL, (void *)"otlp" },
		{ "spall gives the expected model", every_file_gives_the_expected_model, NULL, NULL, (void *)"spall" },
	};

	return cmocka_run_group_tests_name("chrometrace", tests, make_folder, remove_folder);
}
