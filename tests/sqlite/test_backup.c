/* tests/sqlite/test_backup.c -- Tests of backups by other programs, as docs/sqlite_backup.md tells: the shell's .dump, Python's
 * iterdump() and changesets give a copy whose index has the answers of plain SQL, and what a restore that failed leaves behind
 * can be removed by the SQL of the message. Each is skipped where its program is missing.
 */
#include <dlfcn.h>
#include <unistd.h>

#include "harness.h"

#include "tests/support/sanitizer.h"

#define PAGE "docs/sqlite_backup.md"
#define INDEX "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track)"

/* Makes traces.db in the test's directory, with pending rows and tables over the index; `build` there leads to the library. */
static void make_traces(void)
{
	const char *folder = getenv("IFOREST_BUILD") ? getenv("IFOREST_BUILD") : "build";
	char here[4096], *build;
	sqlite3 *db;

	assert_non_null(getcwd(here, sizeof here));
	build = sqlite3_mprintf("%s%s%s", *folder == '/' ? "" : here, *folder == '/' ? "" : "/", folder);
	(void)unlink(test_path("build"));
	assert_int_equal(symlink(build, test_path("build")), 0);
	sqlite3_free(build);
	remove_database(test_path("traces.db"));
	db = open_database(test_path("traces.db"), 0);
	run(db, "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER); INSERT INTO spans VALUES(1, 'cpu', 0, 50), (2, 'gpu', 15, 30);" INDEX);
	run(db, "CREATE VIRTUAL TABLE spans_all USING iforest_fold(spans_if); CREATE VIRTUAL TABLE \"rows of \"\"it\"\"\" USING iforest_rows(spans_if)");
	run(db, "INSERT INTO spans VALUES(3, 'cpu', 70, 20); UPDATE spans SET dur = 31 WHERE id = 2");
	close_database(db);
}

static void expect_good(const char *name, int64_t n)
{
	sqlite3 *db = open_database(test_path(name), 0);

	assert_int_equal(integer_of(db, "SELECT count(*) FROM spans"), n);
	same_rows(db, "SELECT track, count, sum_dur, max_dur FROM spans_if ORDER BY track", "SELECT track, count(*), sum(dur), max(dur) FROM spans GROUP BY track ORDER BY track");
	same_rows(db, "SELECT count, sum_dur FROM spans_all", "SELECT count(*), sum(dur) FROM spans");
	run(db, "INSERT INTO spans VALUES(99, 'new', 5, 6); INSERT INTO spans_if(spans_if) VALUES('integrity-check')");
	same_rows(db, "SELECT track, count, sum_dur, max_dur FROM spans_if ORDER BY track", "SELECT track, count(*), sum(dur), max(dur) FROM spans GROUP BY track ORDER BY track");
	close_database(db);
}

/* Returns the first block of the page that begins with the fence. */
static char *block_of(const char *fence)
{
	static char text[1 << 16];
	FILE *file = fopen(PAGE, "r");
	size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
	char *start, *end;

	if (file)
		fclose(file);
	text[n] = 0;
	start = strstr(text, fence);
	end = start ? strstr(start + 3, "\n```") : NULL;
	if (!end)
		fail_msg("%s has no block %s", PAGE, fence);
	*end = 0;
	return strchr(start, '\n') + 1;
}

/* Runs a line of the shell in the test's directory. Returns its first 4 KiB of output, in static storage. */
static const char *shell(const char *line)
{
	static char output[4096];
	char *command = sqlite3_mprintf("cd '%s' && { %s\n} 2>&1", test_directory(), line);
	FILE *pipe = popen(command, "r");
	size_t n = pipe ? fread(output, 1, sizeof output - 1, pipe) : 0;

	if (pipe)
		pclose(pipe);
	output[n] = 0;
	sqlite3_free(command);
	return output;
}

static bool has_shell(void)
{
	return strncmp(shell("echo 'SELECT 7;' | sqlite3 -batch :memory:"), "7", 1) == 0 && strstr(shell("echo '.dbconfig defensive' | sqlite3 :memory:"), "defensive");
}

static void a_dump_is_restored(void **state)
{
	(void)state;
	if (!has_shell())
		skip();
	make_traces();
	shell("rm -f restored.db restored.db-journal");
	assert_string_equal(shell("echo '.dbconfig defensive off' | sqlite3 :memory: | tr -d ' '"), "defensiveoff\n");
	assert_null(strstr(shell(block_of("```sh")), "rror"));
	expect_good("restored.db", 3);
}

static void what_a_restore_leaves_in_defensive_mode_can_be_removed(void **state)
{
	const char *message, *remedy;
	char *sql;
	sqlite3 *db;

	(void)state;
	if (!has_shell())
		skip();
	make_traces();
	shell("rm -f half.db half.db-journal; sqlite3 traces.db .dump > traces.sql");
	message = shell("{ echo '.dbconfig defensive on'; cat traces.sql; } | sqlite3 half.db");
	assert_non_null(strstr(message, "table sqlite_master may not be modified"));
	db = open_database(test_path("half.db"), 0);
	assert_int_equal(integer_of(db, "SELECT count(*) FROM spans"), 3);
	run(db, "INSERT INTO spans VALUES(4, 'cpu', 80, 2)"); /* the triggers do no harm */
	run_fails(db, "no such table: spans_if", "SELECT * FROM spans_if");
	run_fails(db, "iforest: tables and triggers of an index \"spans_if\" are there without it", INDEX);
	run_fails(db, "iforest: tables and triggers of an index \"SPANS_IF\" are there without it", "CREATE VIRTUAL TABLE SPANS_IF USING iforest(content=spans, time=ts, sync=append)");
	remedy = strstr(last_message(), "DROP ");
	assert_non_null(remedy);
	sql = sqlite3_mprintf("{ echo '.dbconfig defensive on'; echo '%s;'; } | sqlite3 half.db", remedy);
	close_database(db);
	message = shell(sql); /* without the extension */
	assert_null(strstr(message, "rror"));
	sqlite3_free(sql);
	db = open_database(test_path("half.db"), 0);
	run_gives(db, "spans\n", "SELECT name FROM sqlite_schema");
	run(db, INDEX "; CREATE VIRTUAL TABLE spans_all USING iforest_fold(spans_if)");
	close_database(db);
	expect_good("half.db", 4);
}

/* Tables of names that only resemble those of an index are no leftovers. */
static void tables_of_others_are_no_leftovers(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER); CREATE TABLE spans_if_notes(x); CREATE TABLE spans_ifx_page(x); CREATE TABLE spans_if_mark(x)");
	run(db, "CREATE TRIGGER spans_if_mine AFTER INSERT ON spans BEGIN SELECT 1; END; " INDEX "; DROP TABLE spans_if; INSERT INTO spans VALUES(1, 'a', 2, 3); " INDEX);
	run_gives(db, "1\n", "SELECT count FROM spans_if");
	close_database(db);
}

/* NULL where there is none that loads extensions, or the extension needs a runtime that Python has not. */
static const char *python(void)
{
#ifndef UNDER_ADDRESS_SANITIZER
	static const char *const programs[] = { "python3", "/usr/bin/python3" };

	for (size_t p = 0; p < sizeof programs / sizeof programs[0]; p++) {
		char *line = sqlite3_mprintf("%s -c \"import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True); print('can')\"", programs[p]);
		bool can = strcmp(shell(line), "can\n") == 0;

		sqlite3_free(line);
		if (can)
			return programs[p];
	}
#endif
	return NULL;
}

static void pythons_iterdump_is_restored(void **state)
{
	char *line;
	FILE *file;

	(void)state;
	if (!python())
		skip();
	make_traces();
	file = fopen(test_path("copy.py"), "w");
	assert_non_null(file);
	fputs(block_of("```python"), file);
	fclose(file);
	line = sqlite3_mprintf("rm -f copy.db; %s copy.py", python());
	assert_string_equal(shell(line), "3\n");
	sqlite3_free(line);
	expect_good("copy.db", 3);
	expect_good("traces.db", 3); /* as it was */
}

/* ---- changesets; Debian's SQLite has the session extension, other builds need not ---- */

typedef int session_create(sqlite3 *db, const char *schema, void **session);
typedef int session_attach(void *session, const char *table);
typedef int session_changeset(void *session, int *n, void **changeset);
typedef void session_delete(void *session);
typedef int changeset_apply(sqlite3 *db, int n, void *changeset, int (*filter)(void *, const char *), int (*conflict)(void *, int, void *), void *context);

static int omit_all(void *context, int conflict, void *iterator)
{
	(void)iterator;
	(void)conflict;
	(*(int *)context)++;
	return 2; /* SQLITE_CHANGESET_ABORT */
}

static void a_changeset_of_the_table_is_followed(void **state)
{
	session_create *create = (session_create *)dlsym(RTLD_DEFAULT, "sqlite3session_create");
	session_attach *attach = (session_attach *)dlsym(RTLD_DEFAULT, "sqlite3session_attach");
	session_changeset *changes = (session_changeset *)dlsym(RTLD_DEFAULT, "sqlite3session_changeset");
	session_delete *delete_session = (session_delete *)dlsym(RTLD_DEFAULT, "sqlite3session_delete");
	changeset_apply *apply = (changeset_apply *)dlsym(RTLD_DEFAULT, "sqlite3changeset_apply");

	(void)state;
	if (!create || !attach || !changes || !delete_session || !apply)
		skip();
	for (int is_of_all = 0; is_of_all < 2; is_of_all++) {
		sqlite3 *db, *copy;
		void *session, *changeset;
		int n, n_conflicts = 0;

		make_traces();
		remove_database(test_path("copy.db"));
		db = open_database(test_path("traces.db"), 0);
		run(db, "VACUUM INTO %Q", test_path("copy.db"));
		copy = open_database(test_path("copy.db"), 0);
		run(copy, "INSERT INTO spans_if(spans_if) VALUES('flush')"); /* the copy leads a life of its own */
		assert_int_equal(create(db, "main", &session), SQLITE_OK);
		assert_int_equal(attach(session, is_of_all ? NULL : "spans"), SQLITE_OK);
		run(db, "INSERT INTO spans VALUES(5, 'cpu', 100, 7), (6, 'new', 3, 1); UPDATE spans SET ts = 11, track = 'gpu' WHERE id = 1; DELETE FROM spans WHERE id = 3; INSERT INTO spans_if(spans_if) VALUES('flush')");
		assert_int_equal(changes(session, &n, &changeset), SQLITE_OK);
		delete_session(session);
		assert_int_equal(apply(copy, n, changeset, NULL, omit_all, &n_conflicts), is_of_all ? SQLITE_ABORT : SQLITE_OK);
		assert_int_equal(n_conflicts > 0, is_of_all);
		sqlite3_free(changeset);
		close_database(db);
		close_database(copy);
		expect_good("copy.db", is_of_all ? 3 : 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dump_is_restored),
		cmocka_unit_test(what_a_restore_leaves_in_defensive_mode_can_be_removed),
		cmocka_unit_test(tables_of_others_are_no_leftovers),
		cmocka_unit_test(pythons_iterdump_is_restored),
		cmocka_unit_test(a_changeset_of_the_table_is_followed),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
