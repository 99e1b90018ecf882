/* The program trace2sqlite: the tables and indexes that it makes, and what it refuses. It is taken from the folder IFOREST_BUILD
 * (default build). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[200], output[8000];

static const char *build(void)
{
	const char *named = getenv("IFOREST_BUILD");

	return named && *named ? named : "build";
}

static int make_folder(void **state)
{
	const char *parent = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof folder, "%.150s/iforest_load_XXXXXX", parent && *parent ? parent : "/tmp");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[300];

	(void)state;
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	return system(command);
}

static void write_file(const char *name, const char *text)
{
	char path[400];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
}

/* Runs the program in the folder; what it prints is in `output`. */
static void load(int expected_status, const char *arguments)
{
	char command[1500], project[1000];
	int status;
	FILE *pipe;

	assert_non_null(getcwd(project, sizeof project));
	snprintf(command, sizeof command, "cd '%s' && '%s%s%s/trace2sqlite' %s 2>&1", folder, *build() == '/' ? "" : project,
		 *build() == '/' ? "" : "/", build(), arguments);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	output[fread(output, 1, sizeof output - 1, pipe)] = 0;
	status = pclose(pipe);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != expected_status)
		fail_msg("exit status %d instead of %d: %s", WEXITSTATUS(status), expected_status, output);
}

static void expect_says(const char *text)
{
	if (!strstr(output, text))
		fail_msg("there is no '%s' in\n%s", text, output);
}

/* The rows of a query over t.db as the shell shows them. */
static void expect_rows(const char *sql, const char *expected)
{
	char path[400], module[1200], rows[4000] = "";
	sqlite3 *database;
	sqlite3_stmt *statement;

	snprintf(path, sizeof path, "%s/t.db", folder);
	snprintf(module, sizeof module, "%s%s/iforest", *build() == '/' ? "" : "./", build());
	assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
	sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
	assert_int_equal(sqlite3_load_extension(database, module, NULL, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sqlite3_errmsg(database), sql);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(statement); i++) {
			const char *text = (const char *)sqlite3_column_text(statement, i);

			snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "%s%s", i ? "|" : "", text ? text : "");
		}
		strcat(rows, "\n");
	}
	sqlite3_finalize(statement);
	sqlite3_close(database);
	assert_string_equal(rows, expected);
}

static const char small[] =
	"{\"traceEvents\": [{\"ph\": \"M\", \"pid\": 1, \"name\": \"process_name\", \"args\": {\"name\": \"app\"}},\n"
	"{\"ph\": \"B\", \"pid\": 1, \"tid\": 2, \"ts\": 10, \"name\": \"frame\", \"args\": {\"n\": NaN}},\n"
	"{\"ph\": \"X\", \"pid\": 1, \"tid\": 2, \"ts\": 12, \"dur\": 4, \"name\": \"layout\", \"cat\": \"ui\"},\n"
	"{\"ph\": \"s\", \"pid\": 1, \"tid\": 2, \"ts\": 13, \"id\": 9}, {\"ph\": \"f\", \"pid\": 1, \"tid\": 2, \"ts\": 14, \"id\": 9, \"bp\": \"e\"},\n"
	"{\"ph\": \"E\", \"pid\": 1, \"tid\": 2, \"ts\": 30},\n"
	"{\"ph\": \"b\", \"cat\": \"net\", \"id\": \"0x1\", \"pid\": 1, \"tid\": 2, \"ts\": 20, \"name\": \"get\"},\n"
	"{\"ph\": \"i\", \"pid\": 1, \"tid\": 2, \"ts\": 21, \"name\": \"click\"}, {\"ph\": \"O\", \"ts\": 1},\n"
	"{\"ph\": \"C\", \"pid\": 1, \"ts\": 30, \"name\": \"memory\", \"args\": {\"used\": 12}}]}\n";

static void every_table_is_filled_and_indexed(void **state)
{
	(void)state;
	write_file("small.json", small);
	load(0, "--replace t.db small.json");
	expect_says("small.json (Chrome JSON): 3 spans, 1 counter samples, 1 instants, 1 flows, 3 tracks");
	expect_says("left out: 1 phase O");
	expect_says("mended: 1 NaN or Infinity for a number");
	expect_says("Ask next");
	expect_rows("SELECT id, ts, dur, pid, tid, track, name, category, args, depth, process, span_id, kind FROM spans ORDER BY id",
		    "1|10000|20000|1|2|1/2|frame||{\"n\":null}|0|app||thread\n2|12000|4000|1|2|1/2|layout|ui||1|app||thread\n"
		    "3|20000|-1|1|2|async:g:net:0x1|get|net||0|app|0x1|async\n");
	expect_rows("SELECT ts, pid, name, key, value, track FROM counters", "30000|1|memory|used|12.0|1\n");
	expect_rows("SELECT ts, track, name FROM instants", "21000|1/2|click\n");
	expect_rows("SELECT flow_id, from_span, from_ts, to_span, to_ts FROM flows", "9|2|13000|2|14000\n");
	expect_rows("SELECT track, kind, name, parent FROM tracks", "1|process|app|\n1/2|thread||1\nasync:g:net:0x1|async||\n");
	expect_rows("SELECT finding, what, n FROM left_out", "left out|phase O|1\nmended|NaN or Infinity for a number|1\n");
	expect_rows("SELECT track, depth, count, sum_dur FROM spans_if(0, 20000)", "1/2|0|1|20000\n1/2|1|1|4000\n");
	expect_rows("SELECT pid, name, key, count, max_value FROM counters_if", "1|memory|used|1|12.0\n");
}

static void several_files_go_into_one_database(void **state)
{
	(void)state;
	write_file("small.json", small);
	load(0, "--replace --no-args --no-index t.db small.json small.json");
	expect_rows("SELECT id, track, args FROM spans ORDER BY id",
		    "1|1:1/2|\n2|1:1/2|\n3|1:async:g:net:0x1|\n4|2:1/2|\n5|2:1/2|\n6|2:async:g:net:0x1|\n");
	expect_rows("SELECT id, from_span, from_track FROM flows", "1|2|1:1/2\n2|5|2:1/2\n");
	expect_rows("SELECT count(*) FROM sqlite_schema WHERE name LIKE '%_if'", "0\n");
}

static void what_fails_changes_nothing(void **state)
{
	(void)state;
	write_file("small.json", small);
	write_file("bad.json", "[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"a\" 1}]");
	load(0, "--replace t.db small.json");
	load(1, "--replace t.db small.json bad.json");
	expect_says("bad.json: byte ");
	expect_says("nothing was loaded");
	load(1, "t.db small.json");
	expect_says("table \"spans\" already exists");
	load(1, "--replace t.db nowhere.json");
	expect_says("nowhere.json: cannot open the file");
	expect_rows("SELECT count(*), max(depth) FROM spans", "3|1\n");
	expect_rows("SELECT count(*) FROM spans_if(0, 20000)", "2\n");
	load(2, "t.db");
	expect_says("give a database and the files to load");
	load(2, "--wrong t.db small.json");
	load(0, "--help");
	expect_says("usage: trace2sqlite");
	load(0, "--spans 'my \"spans\"' --counters c2 --instants i2 --flows f2 --tracks t2 --left-out l2 t.db small.json");
	expect_rows("SELECT count(*) FROM \"my \"\"spans\"\"_if\"", "3\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_table_is_filled_and_indexed),
		cmocka_unit_test(several_files_go_into_one_database),
		cmocka_unit_test(what_fails_changes_nothing),
	};

	return cmocka_run_group_tests_name("trace2sqlite", tests, make_folder, remove_folder);
}
