/* Loads that end in the middle (the server, the network, Ctrl-C), and what --resume makes of them: the rows of an unbroken
 * load.
 *
 * The trace goes through a pipe, so that the loader stands at a known place when it is hit. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/sanitizer.h"
#include "tests/tools/harness.h"

enum { N_EVENTS = 6000, BATCH_ROWS = 500 };

static char *trace; /* some hundred bytes an event: many of the reader's pieces */
static size_t n_trace_bytes, n_pipe_bytes;
static const char columns_of_spans[] = "id, ts, dur, pid, tid, track, name, category, args::text, depth";

/* Spans of every kind, and counters that come in lumps. */
static void print_trace(FILE *file, int n_events)
{
	for (int i = 0; i < n_events; i++) {
		fprintf(file, "%s{\"pid\": 1, \"tid\": %d, \"ts\": %d.%03d, ", i ? ",\n" : "[", i % 5, i * 3, i % 1000);
		if (i / 700 % 3 == 1)
			fprintf(file, "\"ph\": \"C\", \"name\": \"counter %d\", \"args\": {\"a\": %d, \"b\": %d.5}}", i % 3, i, -i);
		else if (i % 4 == 0)
			fprintf(file, "\"ph\": \"B\", \"name\": \"begun %d\", \"args\": {\"filler\": \"%0120d\"}}", i % 40, i);
		else if (i % 4 == 1)
			fprintf(file, "\"ph\": \"E\"}");
		else
			fprintf(file, "\"ph\": \"X\", \"dur\": %d, \"name\": \"span %d\", \"cat\": \"c\", \"args\": {\"f\": \"%090d\"}}",
				i % 50, i % 37, i);
	}
	fprintf(file, "]");
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	struct child child;

	if (harness_start(state) != 0)
		return -1;
	signal(SIGPIPE, SIG_IGN);
	print_trace(open_memstream(&trace, &n_trace_bytes), N_EVENTS);
	write_file("trace.json", trace, n_trace_bytes);
	LOAD(&child, 0, "--no-index", "--replace", "--spans", "whole_spans", "--counters", "whole_counters",
	     "--instants", "whole_instants", "--flows", "whole_flows", "--tracks", "whole_tracks", "--left-out", "whole_left_out",
	     file_path("trace.json"));
	assert_true(number_of("SELECT count(*) FROM whole_spans") > 2000 && number_of("SELECT count(*) FROM whole_counters") > 2000);
	return 0;
}

static int tear_down(void **state)
{
	free(trace);
	return harness_stop(state);
}

static void assert_whole(void)
{
	char actual[200], expected[200];

	same_rows("SELECT * FROM counters ORDER BY id", "SELECT * FROM whole_counters ORDER BY id");
	snprintf(actual, sizeof actual, "SELECT %s FROM spans ORDER BY id", columns_of_spans);
	snprintf(expected, sizeof expected, "SELECT %s FROM whole_spans ORDER BY id", columns_of_spans);
	same_rows(actual, expected);
}

/* Polls until the query's number is at least that. */
static void wait_until(long long number, const char *sql)
{
	for (int i = 0; number_of("%s", sql) < number; i++) {
		assert_true(i < 6000);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
}

/* Those that have opened their connection: the second of two statements that are a part of it has been run. */
#define LOADERS                                                                               \
	"FROM pg_stat_activity WHERE application_name = 'trace2pg' AND query <> '' "          \
	"AND query NOT LIKE 'SET client%%' AND (state = 'idle' OR query NOT LIKE 'SELECT pg_catalog.count(pg_catalog.set_config%%')"

static void wait_for_rows(long long n_rows)
{
	wait_until(1, "SELECT count(*) " LOADERS);
	if (n_rows > 0) {
		wait_until(2, "SELECT count(*) FROM pg_class WHERE relname IN ('spans', 'counters')");
		wait_until(n_rows, "SELECT (SELECT count(*) FROM spans) + (SELECT count(*) FROM counters)");
	}
}

/* The server takes its time to notice that a loader has gone; one that has is not to be taken for the next. */
static void wait_for_no_loader(void)
{
	wait_until(1, "SELECT (count(*) = 0)::int FROM pg_stat_activity WHERE application_name = 'trace2pg'");
}

/* Starts a loader that reads a pipe, and writes n_bytes of the trace into that. */
static int start_at_pipe(struct child *child, const char *option, size_t n_bytes)
{
	const char *path = file_path("pipe"), *const arguments[] = { "--no-index", "--batch", "500", path, option, NULL };
	int file;

	wait_for_no_loader();
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	start_child(child, arguments);
	file = open(path, O_WRONLY);
	assert_true(file >= 0);
	for (n_pipe_bytes = 0; n_pipe_bytes < n_bytes;) {
		ssize_t n = write(file, trace + n_pipe_bytes, n_bytes - n_pipe_bytes);

		assert_true(n > 0);
		n_pipe_bytes += (size_t)n;
	}
	return file;
}

/* The rest of the trace, as much of it as the loader still reads. */
static void end_pipe(int file)
{
	while (n_pipe_bytes < n_trace_bytes) {
		ssize_t n = write(file, trace + n_pipe_bytes, n_trace_bytes - n_pipe_bytes);

		if (n < 0)
			break;
		n_pipe_bytes += (size_t)n;
	}
	close(file);
}

/* A connection that breaks in a COMMIT leaves two possibilities, and both are told. */
static void assert_tells_what_is_committed(const struct child *child)
{
	const char *committed = strstr(child->err, "committed: "), *uncertain = strstr(child->err, "had no answer, ");
	long long n_spans = number_of("SELECT count(*) FROM spans"), n_samples = number_of("SELECT count(*) FROM counters");
	char expected[200];

	assert_says(child->err, "to go on, run the same command with --resume");
	assert_non_null(committed);
	snprintf(expected, sizeof expected, "%lld span%s in \"spans\", %lld counter sample%s in \"counters\"", n_spans,
		 n_spans == 1 ? "" : "s", n_samples, n_samples == 1 ? "" : "s");
	committed += strlen("committed: ");
	if (strncmp(committed, expected, strlen(expected)) != 0 &&
	    !(uncertain && strncmp(uncertain + strlen("had no answer, "), expected, strlen(expected)) == 0))
		fail_msg("'%s' is not in\n%s", expected, child->err);
}

/* Breaks the connection once n_rows are committed, behind n_bytes of the file. */
static void break_connection(const char *option, size_t n_bytes, long long n_rows)
{
	struct child child;
	int file = start_at_pipe(&child, option, n_bytes);

	wait_for_rows(n_rows);
	assert_int_equal(number_of("SELECT count(pg_terminate_backend(pid)) " LOADERS), 1);
	end_pipe(file);
	wait_child(&child);
	assert_int_equal(child.status, 1);
	assert_says(child.err, "the connection is lost: ");
	if (n_rows > 0)
		assert_tells_what_is_committed(&child);
	else
		assert_says(child.err, "committed: nothing");
}

static void a_broken_connection_is_resumed(void **state)
{
	static const struct {
		size_t n_bytes;
		long long n_rows;
	} breaks[] = { { 10000, 0 }, { 300000, BATCH_ROWS }, { 400000, 2 * BATCH_ROWS }, { 600000, 4 * BATCH_ROWS } };
	struct child child;

	(void)state;
	for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
		run("DROP TABLE IF EXISTS spans, counters, instants, flows, tracks, left_out");
		break_connection(NULL, breaks[i].n_bytes, breaks[i].n_rows);
		if (i > 0)
			assert_true(number_of("SELECT count(*) FROM spans") < number_of("SELECT count(*) FROM whole_spans"));
		LOAD(&child, 0, "--no-index", "--resume", file_path("trace.json"));
		assert_whole();
	}
}

/* Who writes the pipe may take as long as it likes. */
static void a_slow_file_does_not_time_out(void **state)
{
	struct child child;
	int file;

	(void)state;
	if (number_of("SELECT count(*) FROM pg_settings WHERE name = 'idle_session_timeout'") == 0)
		skip();
	run("DROP TABLE IF EXISTS spans, counters, instants, flows, tracks, left_out");
	file = start_at_pipe(&child, "--dbname=options='-c idle_session_timeout=200'", 0);
	wait_for_rows(0);
	nanosleep(&(struct timespec){ .tv_nsec = 600000000 }, NULL);
	end_pipe(file);
	wait_child(&child);
	assert_int_equal(child.status, 0);
	assert_whole();
}

static void a_load_may_break_again_and_again(void **state)
{
	struct child child;

	(void)state;
	run("DROP TABLE IF EXISTS spans, counters, instants, flows, tracks, left_out");
	break_connection(NULL, 250000, BATCH_ROWS);
	break_connection("--resume", 400000, 2 * BATCH_ROWS);
	break_connection("--resume", 600000, 4 * BATCH_ROWS);
	LOAD(&child, 0, "--no-index", "--batch", "333", "--resume", file_path("trace.json"));
	assert_whole();
	LOAD(&child, 0, "--no-index", "--resume", file_path("trace.json"));
	assert_whole();
}

static void a_signal_leaves_whole_batches(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM };
	struct child child;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		int file;

		run("DROP TABLE IF EXISTS spans, counters, instants, flows, tracks, left_out");
		file = start_at_pipe(&child, NULL, 400000);
		wait_for_rows(BATCH_ROWS);
		kill(child.pid, signals[i]);
		wait_child(&child);
		close(file);
		assert_int_equal(child.status, 128 + signals[i]);
		assert_says(child.err, "trace2pg: interrupted\n");
		assert_tells_what_is_committed(&child);
		LOAD(&child, 0, "--no-index", "--resume", file_path("trace.json"));
		assert_whole();
	}
}

/* The loader waits for the server; a signal has to reach that. */
static void a_signal_cancels_what_the_server_does(void **state)
{
	const char *const arguments[] = { "--no-index", "--resume", file_path("trace.json"), NULL };
	struct child child;

	(void)state;
	run("DROP TABLE IF EXISTS spans, counters, instants, flows, tracks, left_out");
	LOAD(&child, 0, "--no-index", file_path("trace.json"));
	run("BEGIN; LOCK TABLE counters IN ACCESS EXCLUSIVE MODE");
	start_child(&child, arguments);
	wait_until(1, "SELECT count(*) FROM pg_locks WHERE NOT granted");
	kill(child.pid, SIGINT);
	wait_child(&child);
	run("ROLLBACK");
	assert_int_equal(child.status, 128 + SIGINT);
	assert_says(child.err, "canceling statement due to user request");
	assert_whole();
}

/* The state after a load of two.json that broke behind the first span; the next load's COMMIT then runs the body in PL/pgSQL. */
static void load_one_and_trap(const char *body)
{
	struct child child;

	run("DROP TABLE IF EXISTS spans, counters, instants, flows, tracks, left_out");
	write_text("two.json", "[{\"ph\": \"X\", \"ts\": 1, \"dur\": 2}, {\"ph\": \"X\", \"ts\": 2, \"dur\": 2}]");
	LOAD(&child, 0, "--no-index", file_path("two.json"));
	run("DELETE FROM spans WHERE id > 1; DELETE FROM tracks");
	run("CREATE FUNCTION go() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN %s END$$;"
	    "CREATE CONSTRAINT TRIGGER go AFTER INSERT ON spans DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION go()", body);
}

/* A COMMIT may be beyond cancelling, as this one is: then the signal is the reason not to go on with the indexes. */
static void a_signal_that_cancels_nothing_ends_it_too(void **state)
{
	const char *arguments[] = { "--resume", NULL, NULL };
	struct child child;

	(void)state;
	load_one_and_trap("PERFORM pg_sleep(600); RETURN NULL; EXCEPTION WHEN query_canceled THEN RETURN NULL;");
	arguments[1] = file_path("two.json");
	start_child(&child, arguments);
	wait_until(1, "SELECT count(*) FROM pg_stat_activity WHERE query = 'COMMIT' AND wait_event = 'PgSleep'");
	kill(child.pid, SIGINT);
	wait_child(&child);
	assert_int_equal(child.status, 128 + SIGINT);
	assert_says(child.err, "all rows are committed, but not indexed: interrupted");
	assert_int_equal(number_of("SELECT count(*) FROM spans"), 2);
	assert_int_equal(number_of("SELECT count(*) FROM pg_index WHERE indrelid = 'spans'::regclass"), 1);
	run("DROP FUNCTION go() CASCADE");
}

/* Does the process notice SIGINT by now? */
static bool watches_signals(pid_t pid)
{
	char path[100], line[200];
	unsigned long long caught = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof line, file))
		sscanf(line, "SigCgt: %llx", &caught);
	fclose(file);
	return caught >> (SIGINT - 1) & 1;
}

/* Nobody ever writes into the pipe, nor opens it. */
static void a_signal_ends_the_wait_for_a_file(void **state)
{
	const char *path = file_path("pipe"), *const arguments[] = { "--no-index", path, NULL };
	struct child child;

	(void)state;
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	start_child(&child, arguments);
	for (int i = 0; !watches_signals(child.pid); i++) {
		assert_true(i < 6000);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	kill(child.pid, SIGTERM);
	wait_child(&child);
	assert_int_equal(child.status, 128 + SIGTERM);
	assert_string_equal(child.err, "trace2pg: interrupted\n");
}

/* Nobody can tell whether the last batch is there: the message has both numbers, and --resume finds out. */
static void a_commit_without_an_answer_is_told(void **state)
{
	struct child child;

	(void)state;
	load_one_and_trap("PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL;");
	LOAD(&child, 1, "--no-index", "--resume", file_path("two.json"));
	assert_says(child.err, "committed: 1 span in \"spans\", 0 counter samples in \"counters\"");
	assert_says(child.err, "; or, as the last COMMIT had no answer, 2 spans in \"spans\", 0 counter");
	run("DROP FUNCTION go() CASCADE");
	LOAD(&child, 0, "--no-index", "--resume", file_path("two.json"));
	assert_int_equal(number_of("SELECT count(*) FROM spans"), 2);
}

/* A text that the database's encoding does not have: the server refuses the batch, after others. */
static void a_refused_row_is_told(void **state)
{
	char *odd = strdup(trace), *place = strstr(strstr(odd + n_trace_bytes * 2 / 3, "\"tid\": 3"), "span ");
	long long n_spans = number_of("SELECT count(*) FROM whole_spans");
	struct child child;
	PGconn *before = pg;

	(void)state;
	memcpy(place, "\xE2\x82\xAC", 3);
	write_text("odd.json", odd);
	free(odd);
	run("DROP DATABASE IF EXISTS latin1");
	run("CREATE DATABASE latin1 ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
	LOAD(&child, 1, "--no-index", "-d", "latin1", "--batch", "500", file_path("odd.json"));
	pg = PQconnectdb("dbname=latin1");
	assert_says(child.err, "in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\"");
	assert_true(number_of("SELECT count(*) FROM spans") > BATCH_ROWS && number_of("SELECT count(*) FROM spans") < n_spans);
	assert_tells_what_is_committed(&child);
	LOAD(&child, 0, "--no-index", "-d", "latin1", "--resume", file_path("trace.json"));
	assert_int_equal(number_of("SELECT count(*) FROM spans"), n_spans);
	PQfinish(pg);
	pg = before;
	run("DROP DATABASE latin1");
}

/* Whatever makes the tables no beginning of the file. */
static void other_rows_are_not_resumed(void **state)
{
	static const char *const changes[] = {
		"DELETE FROM spans WHERE id = 1", "DELETE FROM counters WHERE id = 7",
		"DELETE FROM spans WHERE id > 2000", "DELETE FROM counters WHERE id > 100",
		"UPDATE spans SET ts = ts + 1 WHERE id = 5", "UPDATE spans SET dur = dur + 1 WHERE id = 5",
		"UPDATE spans SET name = name || 'x' WHERE id = 5", "UPDATE spans SET args = NULL",
		"UPDATE counters SET ts = ts + 1 WHERE id = 5", "UPDATE counters SET key = 'long' WHERE id = 5",
		"INSERT INTO spans SELECT 1000000, ts, dur, pid, tid, track, name FROM spans WHERE id = 1",
	};
	struct child child;

	(void)state;
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		long long n_rows;

		run("DROP TABLE IF EXISTS spans, counters, instants, flows, tracks, left_out");
		LOAD(&child, 0, "--no-index", file_path("trace.json"));
		run("%s", changes[i]);
		n_rows = number_of("SELECT (SELECT count(*) FROM spans) + (SELECT count(*) FROM counters)");
		LOAD(&child, 1, "--no-index", "--resume", file_path("trace.json"));
		assert_says(child.err, "trace.json does not begin with the rows in the tables; nothing was added");
		assert_int_equal(number_of("SELECT (SELECT count(*) FROM spans) + (SELECT count(*) FROM counters)"), n_rows);
	}
	LOAD(&child, 0, "--no-index", "--replace", file_path("trace.json"));
	assert_whole();
}

static long peak_of_events(int n_events, const char *batch_rows)
{
	struct child child;

	print_trace(fopen(file_path("long.json"), "w"), n_events);
	LOAD(&child, 0, "--no-index", "--replace", "--batch", batch_rows, file_path("long.json"));
	return child.peak_kib;
}

/* Four times the rows, the same memory. Of the shorter file, too, more spans stay open than are kept in memory. */
static void memory_does_not_grow_with_the_file(void **state)
{
	long peak_kib = peak_of_events(200000, "10000"), long_peak_kib = peak_of_events(800000, "10000");

	(void)state;
#ifdef UNDER_ADDRESS_SANITIZER
	print_message("peak %ld KiB, %ld KiB: not compared, the sanitizer keeps what is freed\n", peak_kib, long_peak_kib);
	skip();
#endif
	print_message("peak %ld KiB, %ld KiB\n", peak_kib, long_peak_kib);
	if (long_peak_kib > peak_kib + 2048)
		fail_msg("%ld KiB instead of %ld", long_peak_kib, peak_kib);
}

/* Counter samples wait for the spans' COPY to end: if there are many, it is ended before the batch is full. */
static void counters_do_not_gather_without_bound(void **state)
{
	(void)state;
	peak_of_events(120000, "1000000000");
	assert_true(number_of("SELECT count(DISTINCT xmin::text) FROM counters") > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_broken_connection_is_resumed),
		cmocka_unit_test(a_slow_file_does_not_time_out),
		cmocka_unit_test(a_load_may_break_again_and_again),
		cmocka_unit_test(a_signal_leaves_whole_batches),
		cmocka_unit_test(a_signal_cancels_what_the_server_does),
		cmocka_unit_test(a_signal_that_cancels_nothing_ends_it_too),
		cmocka_unit_test(a_signal_ends_the_wait_for_a_file),
		cmocka_unit_test(a_commit_without_an_answer_is_told),
		cmocka_unit_test(a_refused_row_is_told),
		cmocka_unit_test(other_rows_are_not_resumed),
		cmocka_unit_test(memory_does_not_grow_with_the_file),
		cmocka_unit_test(counters_do_not_gather_without_bound),
	};

	return cmocka_run_group_tests_name("broken loads", tests, set_up, tear_down);
}
