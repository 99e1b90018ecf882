/* tests/sqlite/test_trace2sqlite.c -- Tests of the program trace2sqlite: the tables and indexes that it makes, and what it
 * refuses. The program is taken from the folder IFOREST_BUILD (default build). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

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

static char before_program[200]; /* commands of the shell */

static void command(const char *commands)
{
	snprintf(before_program, sizeof before_program, "%s", commands);
}

/* Runs a line of the shell in the folder, where LOADER is the program, and sets `output` to what it prints. */
static void run_shell(int expected_status, const char *line)
{
	static char text[3000];
	char project[1000];
	int status;
	FILE *pipe;

	assert_non_null(getcwd(project, sizeof project));
	snprintf(text, sizeof text, "cd '%s' && LOADER='%s%s%s/trace2sqlite'; { %s; } 2>&1", folder, *build() == '/' ? "" : project,
		 *build() == '/' ? "" : "/", build(), line);
	pipe = popen(text, "r");
	assert_non_null(pipe);
	output[fread(output, 1, sizeof output - 1, pipe)] = 0;
	status = pclose(pipe);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != expected_status)
		fail_msg("exit status %d instead of %d: %s", WEXITSTATUS(status), expected_status, output);
}

/* Runs the program in the folder, and sets `output` to what it prints. */
static void load(int expected_status, const char *arguments)
{
	char line[1500];

	snprintf(line, sizeof line, "%s \"$LOADER\" %s", before_program, arguments);
	run_shell(expected_status, line);
}

static void expect_says(const char *text)
{
	if (!strstr(output, text))
		fail_msg("there is no '%s' in\n%s", text, output);
}

/* Opens t.db with the extension. */
static sqlite3 *open_loaded(void)
{
	char path[400], module[1200];
	sqlite3 *database;

	snprintf(path, sizeof path, "%s/t.db", folder);
	snprintf(module, sizeof module, "%s%s/iforest", *build() == '/' ? "" : "./", build());
	assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
	sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
	assert_int_equal(sqlite3_load_extension(database, module, NULL, NULL), SQLITE_OK);
	return database;
}

/* Compares the rows of a query over t.db, as the shell shows them. */
static void expect_rows(const char *sql, const char *expected)
{
	sqlite3 *database = open_loaded();
	char rows[4000] = "";
	sqlite3_stmt *statement;

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

/* Runs the queries that the program printed: each has an answer. */
static void ask_what_is_printed(int n_questions)
{
	sqlite3 *database = open_loaded();
	char *line = strstr(output, "Ask next");
	int n_asked = 0;

	assert_non_null(line);
	for (line = strtok(line, "\n"); line; line = strtok(NULL, "\n")) {
		sqlite3_stmt *statement;

		if (strncmp(line, "  SELECT ", 9) != 0)
			continue;
		if (sqlite3_prepare_v2(database, line, -1, &statement, NULL) != SQLITE_OK)
			fail_msg("%s: %s", sqlite3_errmsg(database), line);
		if (sqlite3_step(statement) != SQLITE_ROW || sqlite3_column_type(statement, 0) == SQLITE_NULL)
			fail_msg("no answer: %s", line);
		while (sqlite3_step(statement) == SQLITE_ROW)
			continue;
		if (sqlite3_finalize(statement) != SQLITE_OK)
			fail_msg("%s: %s", sqlite3_errmsg(database), line);
		n_asked++;
	}
	sqlite3_close(database);
	assert_int_equal(n_asked, n_questions);
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
	expect_says("small.json (Chrome JSON): 3 spans, 1 counter sample, 1 instant, 1 flow, 3 tracks");
	expect_says("left out: 1 phase O");
	expect_says("mended: 1 NaN or Infinity for a number");
	expect_says("indexed with iforest");
	ask_what_is_printed(6);
	expect_rows(
		"SELECT id, ts, dur, pid, tid, track, name, category, args, depth, process, span_id, kind FROM spans ORDER BY id",
		"1|10000|20000|1|2|1/2|frame||{\"n\":null}|0|app||thread\n2|12000|4000|1|2|1/2|layout|ui||1|app||thread\n"
		"3|20000||1|2|async:g:net:0x1|get|net||0|app|0x1|async\n");
	expect_rows("SELECT name, sum(dur) FROM spans GROUP BY name", "frame|20000\nget|\nlayout|4000\n");
	expect_rows("SELECT sum(count), sum(count_dur), sum(sum_dur) FROM spans_if", "3|2|24000\n");
	expect_rows("SELECT ts, pid, name, key, value, track FROM counters", "30000|1|memory|used|12.0|1\n");
	expect_rows("SELECT ts, track, name FROM instants", "21000|1/2|click\n");
	expect_rows("SELECT flow_id, from_span, from_ts, to_span, to_ts FROM flows", "9|2|13000|2|14000\n");
	expect_rows("SELECT track, kind, name, parent FROM tracks", "1|process|app|\n1/2|thread||1\nasync:g:net:0x1|async||\n");
	expect_rows("SELECT finding, what, n FROM left_out", "left out|phase O|1\nmended|NaN or Infinity for a number|1\n");
	expect_rows("SELECT track, depth, count, sum_dur FROM spans_if(0, 20000)", "1/2|0|1|20000\n1/2|1|1|4000\n");
	expect_rows("SELECT track, name, key, count, max_value FROM counters_if", "1|memory|used|1|12.0\n");
	expect_rows("SELECT track, depth, longest_dur_id FROM spans_overlap(13000, 14000)", "1/2|0|1\n1/2|1|2\n");
	expect_rows("SELECT track, count, first_id FROM instants_if(20000, 22000)", "1/2|1|1\n");
	expect_rows("SELECT from_track, count, first_id FROM flows_if(13000, 14000)", "1/2|1|1\n");
	expect_rows("SELECT to_track, count, first_id FROM flows_to_if(14000, 15000)", "1/2|1|1\n");
	expect_rows("SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'flows' ORDER BY 1",
		    "flows_from_span\nflows_to_span\n");
}

static void several_files_go_into_one_database(void **state)
{
	(void)state;
	write_file("small.json", small);
	load(0, "--replace --no-args --no-index t.db small.json small.json");
	ask_what_is_printed(3);
	expect_rows("SELECT id, track, args FROM spans ORDER BY id",
		    "1|1:1/2|\n2|1:1/2|\n3|1:async:g:net:0x1|\n4|2:1/2|\n5|2:1/2|\n6|2:async:g:net:0x1|\n");
	expect_rows("SELECT id, from_span, from_track FROM flows", "1|2|1:1/2\n2|5|2:1/2\n");
	expect_rows("SELECT count(*) FROM sqlite_schema WHERE name LIKE '%_if' OR type = 'index'", "0\n");
}

static void instants_alone_have_questions(void **state)
{
	(void)state;
	write_file(
		"instants.json",
		"[{\"ph\":\"i\",\"pid\":1,\"tid\":2,\"ts\":-5,\"name\":\"a\"},{\"ph\":\"i\",\"pid\":1,\"tid\":2,\"ts\":3,\"name\":\"b\"}]");
	load(0, "--replace t.db instants.json");
	expect_says("\"instants_if\"(-5000, 3001)");
	ask_what_is_printed(1);
	load(0, "--replace --no-index t.db instants.json");
	ask_what_is_printed(1);
}

/* Two threads of a process may have counters of the same name. */
static void counters_are_told_apart_by_their_tracks(void **state)
{
	static const unsigned char packets[] =
		/* track 1: thread 7 of process 5; track 2: thread 8; tracks 3 and 4: counters "time" below them */
		"\x0a\x0f\x40\x01\x50\x01\xe2\x03\x08\x08\x01\x22\x04\x08\x05\x10\x07"
		"\x0a\x0f\x40\x01\x50\x01\xe2\x03\x08\x08\x02\x22\x04\x08\x05\x10\x08"
		"\x0a\x13\x40\x01\x50\x01\xe2\x03\x0c\x08\x03\x28\x01\x12\x04time\x42\x00"
		"\x0a\x13\x40\x01\x50\x01\xe2\x03\x0c\x08\x04\x28\x02\x12\x04time\x42\x00"
		"\x0a\x0d\x40\x02\x50\x01\x5a\x07\x48\x04\x58\x03\xf0\x01\x0a"
		"\x0a\x0d\x40\x03\x50\x01\x5a\x07\x48\x04\x58\x04\xf0\x01\x14";
	char path[400];
	FILE *file;

	(void)state;
	snprintf(path, sizeof path, "%s/counters.pftrace", folder);
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(packets, 1, sizeof packets - 1, file), sizeof packets - 1);
	assert_int_equal(fclose(file), 0);
	load(0, "--replace t.db counters.pftrace");
	expect_rows("SELECT track, name, count, max_value FROM counters_if", "5/7|time|1|10.0\n5/8|time|1|20.0\n");
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
	load(1, "small.json t.db");
	expect_says("small.json: not a database; the database comes first, then the traces");
	load(2, "t.db");
	expect_says("give a database and the files to load");
	load(2, "--wrong t.db small.json");
	load(2, "--flows Spans t.db small.json");
	expect_says("what is loaded needs a table each, not two in \"Spans\"");
	load(2, "--tracks counters_if t.db small.json");
	load(2, "--instants spans_rows t.db small.json");
	expect_says("what is loaded needs a table each, not two in \"spans_rows\"");
	load(2, "--left-out Flows_To_If t.db small.json");
	load(0, "--version");
	expect_says("trace2sqlite ");
	load(0, "--replace stdin.db - < small.json");
	expect_says("3 spans");
	load(0, "--help");
	expect_says("usage: trace2sqlite");
	load(0, "--spans 'my \"spans\"' --counters c2 --instants i2 --flows f2 --tracks t2 --left-out l2 t.db small.json");
	load(0,
	     "--replace --spans 'my \"spans\"' --counters c2 --instants i2 --flows f2 --tracks t2 --left-out l2 t.db small.json");
	expect_rows("SELECT count(*) FROM \"my \"\"spans\"\"_if\"", "3\n");
	ask_what_is_printed(6);
	load(1, "'' small.json");
	expect_says("the database is to be a file, and \"\" names none");
	load(1, ":memory: small.json");
	expect_says("the database is to be a file, and \":memory:\" names none");
}

/* What is not loaded is said first, unless it is little; a file of which nothing is loaded is an error. */
static void what_is_left_out_is_said_first(void **state)
{
	static char many[4000];
	size_t n = 0;

	(void)state;
	write_file("half.json", "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"a\"},{\"ph\":\"N\",\"ts\":1},{\"ph\":\"s\",\"ts\":1,\"id\":1}]");
	load(0, "--replace t.db half.json");
	assert_ptr_equal(strstr(output, "half.json: 50 % of it is left out (1 of 2 events), most of it as: phase N\n"), output);
	for (int i = 0; i < 39; i++)
		n += (size_t)snprintf(many + n, sizeof many - n, "%s{\"ph\":\"X\",\"ts\":%d,\"dur\":1}", i ? "," : "[", i);
	snprintf(many + n, sizeof many - n, ",{\"ph\":\"N\",\"ts\":1}]");
	write_file("little.json", many);
	load(0, "--replace t.db little.json");
	assert_null(strstr(output, "of it is left out"));
	expect_says("left out: 1 phase N");
	write_file("nothing.json", "[{\"ph\":\"N\",\"ts\":1},{\"ph\":\"N\",\"ts\":1},{\"ph\":\"D\",\"ts\":1}]");
	load(1, "--replace t.db nothing.json");
	expect_says("nothing.json: nothing in it is a span, a counter sample or an instant: all is left out, most of it as \"phase N\"");
	expect_says("nothing was loaded");
	write_file("empty.json", "[]");
	load(0, "--replace t.db empty.json");
}

/* One early event, or a gap in the middle, or the ends of time: what is suggested has an answer. */
static void what_is_suggested_has_an_answer(void **state)
{
	static char text[40000];

	(void)state;
	write_file("early.json", "[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1,\"name\":\"a\"},"
				 "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1000,\"dur\":1,\"name\":\"b\"}]");
	load(0, "--replace t.db early.json");
	ask_what_is_printed(4);
	for (int n_late = 1; n_late <= 300; n_late += 299) {
		size_t n = (size_t)snprintf(text, sizeof text,
					    "[{\"ph\":\"X\",\"ts\":-9223372036854775,\"dur\":9e12},{\"ph\":\"C\",\"ts\":5,\"args\":{\"v\":1}},"
					    "{\"ph\":\"i\",\"ts\":77}");

		for (int i = 0; i < n_late; i++)
			n += (size_t)snprintf(text + n, sizeof text - n, ",{\"ph\":\"X\",\"tid\":%d,\"ts\":%" PRId64 ",\"dur\":0}",
					      i % 7, INT64_C(9223372036854775) - i);
		snprintf(text + n, sizeof text - n, "]");
		write_file("late.json", text);
		load(0, "--replace t.db late.json");
		ask_what_is_printed(6);
		load(0, "--replace --no-index t.db late.json");
		ask_what_is_printed(3);
	}
}

static bool exists(const char *name)
{
	char path[400];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

static void expect_no_database(const char *name)
{
	static const char *const suffixes[] = { "", "-journal", "-wal", "-shm" };
	char file[200];

	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		snprintf(file, sizeof file, "%s%s", name, suffixes[i]);
		if (exists(file))
			fail_msg("%s was left behind after: %s", file, output);
	}
}

static void a_failed_load_leaves_no_file(void **state)
{
	(void)state;
	write_file("small.json", small);
	write_file("bad.json", "[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"a\" 1}]");
	load(1, "new.db bad.json");
	expect_no_database("new.db");
	load(1, "new.db nowhere.json");
	expect_no_database("new.db");
	load(1, "trace.json new.db"); /* the arguments swapped */
	expect_no_database("trace.json");
	load(1, "nowhere/new.db small.json");
	expect_says("nowhere/new.db: unable to open database file");
	/* a file that was there stays, though it is empty */
	write_file("empty.db", "");
	load(1, "empty.db bad.json");
	assert_true(exists("empty.db"));
}

/* No file may be longer than some blocks: SQLite then fails as on a full disk. */
static void a_full_disk_leaves_nothing_behind(void **state)
{
	char path[400];
	FILE *file;

	(void)state;
	snprintf(path, sizeof path, "%s/long.json", folder);
	file = fopen(path, "wb");
	assert_non_null(file);
	for (int i = 0; i < 20000; i++)
		fprintf(file, "%s{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1,\"name\":\"span %d\"}", i ? "," : "[", i, i);
	fputs("]", file);
	assert_int_equal(fclose(file), 0);
	command("trap '' XFSZ; ulimit -f 300;");
	load(1, "new.db long.json");
	expect_says("new.db: ");
	expect_says("nothing was loaded");
	expect_no_database("new.db");
	command("");
	load(0, "--replace t.db small.json");
	command("trap '' XFSZ; ulimit -f 300;");
	load(1, "--replace t.db long.json");
	command("");
	assert_false(exists("t.db-journal"));
	expect_rows("SELECT count(*) FROM spans", "3\n");
}

/* The program reads a pipe that never ends, so it is within the load when the signal comes; or it waits for a lock. */
static void a_signal_leaves_the_database_as_it_was(void **state)
{
	static const char *const signals[][2] = { { "INT", "130" }, { "TERM", "143" }, { "HUP", "129" } };
	char line[900];

	(void)state;
	write_file("small.json", small);
	load(0, "--replace t.db small.json");
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		for (int is_new = 0; is_new < 2; is_new++) {
			/* the signal comes once the program has begun a transaction, which its journal shows */
			snprintf(line, sizeof line,
				 "mkfifo pipe; { printf '[%%s' '{\"ph\":\"X\",\"ts\":1,\"dur\":1},'; exec sleep 60; } >pipe & writer=$!; "
				 "(trap - INT HUP; exec \"$LOADER\" %s %s pipe) & loader=$!; "
				 "until [ -e %s-journal ]; do sleep 0.02; done; "
				 "kill -%s $loader; wait $loader; status=$?; kill $writer; rm pipe; exit $status",
				 is_new ? "" : "--replace", is_new ? "new.db" : "t.db", is_new ? "new.db" : "t.db", signals[i][0]);
			run_shell(atoi(signals[i][1]), line);
			expect_says("trace2sqlite: interrupted\ntrace2sqlite: nothing was loaded");
			expect_no_database("new.db");
			assert_false(exists("t.db-journal"));
		}
	}
	expect_rows("SELECT count(*) FROM spans", "3\n");
}

static void limits_are_kept(void **state)
{
	(void)state;
	write_file("small.json", small);
	load(0, "--replace t.db small.json");
	load(1, "--replace --max-rows 2 t.db small.json");
	expect_says("more than 2 rows, which --max-rows allows");
	expect_says("nothing was loaded");
	expect_rows("SELECT count(*) FROM spans", "3\n");
	load(1, "--replace --max-rows 10 t.db small.json");
	load(0, "--replace --max-rows 11 t.db small.json");
	expect_rows("SELECT (SELECT count(*) FROM spans) + (SELECT count(*) FROM counters) + (SELECT count(*) FROM instants) + (SELECT count(*) FROM flows)"
		    " + (SELECT count(*) FROM tracks) + (SELECT count(*) FROM left_out)", "11\n");
	load(0, "--replace --max-rows 100 --max-bytes 100000 t.db small.json");
	load(1, "--replace --max-bytes 100 t.db small.json");
	expect_says("small.json: the unpacked file has more than the 100 bytes that are allowed");
	/* what is counted is not what lies on the disk */
	run_shell(0, "head -c 2000000 /dev/zero | tr '\\0' ' ' >spaces && { printf '['; cat spaces; printf ']'; } | gzip >bomb.gz");
	load(1, "new.db --max-bytes 1000000 bomb.gz");
	expect_says("bomb.gz: the unpacked file has more than the 1000000 bytes that are allowed");
	load(0, "new.db --max-bytes 2000002 bomb.gz");
	load(2, "--max-rows 0 t.db small.json");
	expect_says("--max-rows needs a number from 1 on, and '0' is none");
	load(2, "--max-bytes 1k t.db small.json");
	expect_says("--max-bytes needs a number from 1 on, and '1k' is none");
}

/* True if a terminal takes nothing of the text for a command: printable characters of valid UTF-8, and newlines. */
static bool is_harmless(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		unsigned n = *at < 0x80 ? 1 : *at >= 0xF0 ? 4 : *at >= 0xE0 ? 3 : 2, c = *at & (n == 1 ? 0x7F : 0xFF >> (n + 1));

		if (*at >= 0x80 && *at < 0xC2)
			return false;
		for (unsigned i = 1; i < n; i++) {
			if ((at[i] & 0xC0) != 0x80)
				return false;
			c = c << 6 | (at[i] & 0x3F);
		}
		if ((c < ' ' && c != '\n') || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069))
			return false;
		at += n;
	}
	return true;
}

static void names_that_are_left_out_are_no_commands_either(void **state)
{
	(void)state;
	write_file("ends.json", "[{\"ph\": \"X\", \"ts\": 1, \"dur\": 1, \"name\": \"a\"}, "
				"{\"ph\": \"e\", \"cat\": \"c\", \"id\": 7, \"name\": \"\xe2\x80\xae\xc2\x9b\", \"ts\": 2}]");
	load(0, "--replace ends.db ends.json");
	expect_says("left out: 1 async e without begin: \\u202e");
	assert_true(is_harmless(output));
}

/* Random bytes as the names of a trace and of a database, in what is printed of a load and in messages; what is printed for the shell
 * is one word there. */
static void names_are_no_commands_to_the_terminal(void **state)
{
	static const char *const parts[] = { "\033]0;PWN\007", "\033[2J", "\n", "\r", "\x7f", "\xc2\x9b", "\xe2\x80\xae", "\xff", "\xc3",
					     "\xed\xa0\x80", "'", "\"", "$(touch pwned)", "`touch pwned`", ";touch pwned;", " ", "\xc3\xa4", "a", "\\",
					     "\xef\xbb\xbf", "\xf0\x9f\x98\x80", "\b", "%s", "-" };
	int rounds = test_rounds(60);

	(void)state;
	for (int round = 0; round < rounds; round++) {
		const uint64_t seed = test_seed() + (uint64_t)round;
		struct random dice = { seed };
		char name[200] = "n", line[200];

		for (int64_t n = 1 + random_below(&dice, 6); n > 0; n--)
			strcat(name, parts[random_below(&dice, sizeof parts / sizeof *parts)]);
		setenv("NAME", name, 1);
		write_file(name, small);
		run_shell(0, "\"$LOADER\" \"$NAME.db\" \"$NAME\" && \"$LOADER\" --replace --max-rows 1 \"$NAME.db\" \"$NAME\"; "
			     "\"$LOADER\" \"$NAME/x\" \"$NAME\"; \"$LOADER\" --replace \"$NAME.db\" \"$NAME.no\"; "
			     "\"$LOADER\" --spans \"$NAME\" --flows \"$NAME\" a.db b; \"$LOADER\" --max-rows \"$NAME\" a b; "
			     "\"$LOADER\" \"--$NAME\" a b; \"$LOADER\" \"-$NAME\" a b; true");
		if (!is_harmless(output) || exists("pwned"))
			fail_msg("seed %llu: %s", (unsigned long long)seed, output);
		snprintf(line, sizeof line, "%s", strstr(output, "in the shell: sqlite3 ") + strlen("in the shell: sqlite3 "));
		*strchr(line, '\n') = '\0';
		if (!strstr(line, "\\x") && !strstr(line, "\\u")) {
			setenv("WORD", line, 1);
			run_shell(0, "eval \"set -- $WORD\"; [ \"$#\" = 1 ] && [ \"$1\" = \"$NAME.db\" ]");
		}
		run_shell(0, "rm -f -- \"$NAME\" \"$NAME.db\"");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_table_is_filled_and_indexed), cmocka_unit_test(several_files_go_into_one_database),
		cmocka_unit_test(instants_alone_have_questions),     cmocka_unit_test(counters_are_told_apart_by_their_tracks),
		cmocka_unit_test(what_fails_changes_nothing),	     cmocka_unit_test(a_failed_load_leaves_no_file),
		cmocka_unit_test(what_is_suggested_has_an_answer), cmocka_unit_test(what_is_left_out_is_said_first),
		cmocka_unit_test(a_full_disk_leaves_nothing_behind), cmocka_unit_test(a_signal_leaves_the_database_as_it_was),
		cmocka_unit_test(limits_are_kept),		     cmocka_unit_test(names_are_no_commands_to_the_terminal),
		cmocka_unit_test(names_that_are_left_out_are_no_commands_either),
	};

	return cmocka_run_group_tests_name("trace2sqlite", tests, make_folder, remove_folder);
}
