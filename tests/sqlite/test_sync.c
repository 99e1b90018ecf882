/* tests/sqlite/test_sync.c -- Tests of sync=append and sync=manual, and of what happens to the table and the file of an index:
 * other processes, VACUUM, copies, dumps, attached files, renames, read-only files. */
#define _XOPEN_SOURCE 700 /* fork, kill, waitpid */

#include "harness.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SPANS                                                                                                         \
	"CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER, code INTEGER UNIQUE);"       \
	"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 500)"                               \
	" INSERT INTO spans SELECT i, char(97 + i %% 3), i * 7 %% 1000, i %% 11, i FROM c;"
#define INDEX "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track);"
#define COMMAND(command) "INSERT INTO spans_if(spans_if) VALUES('" command "');"
#define CHANGES                                                                                                       \
	"UPDATE spans SET dur = dur + 1 WHERE id %% 5 = 0; REPLACE INTO spans SELECT id + 450, 'new', ts, dur, code FROM spans WHERE id < 20;" \
	"DELETE FROM spans WHERE id %% 50 = 3;"

static void expect_same(sqlite3 *db, const char *schema, const char *table)
{
	char *answer = sqlite3_mprintf("SELECT track, bucket, count, sum_dur, max_dur FROM %s.spans_if(0, 1000, 10) ORDER BY track, bucket", schema);
	char *plain = sqlite3_mprintf("SELECT track, ts / 100, count(*), sum(dur), max(dur) FROM %s.\"%w\" WHERE ts BETWEEN 0 AND 999"
				      " GROUP BY track, ts / 100 ORDER BY track, ts / 100", schema, table);

	same_rows(db, answer, plain);
	sqlite3_free(answer);
	sqlite3_free(plain);
}

/* ---- sync=append, sync=manual ---- */

static void appended_rows_are_seen(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track, sync=append)");
	assert_int_equal(integer_of(db, "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' OR name LIKE '%%log'"), 0);
	for (int i = 0; i < 30; i++) {
		expect_same(db, "main", "spans");
		run(db, "INSERT INTO spans(track, ts, dur) VALUES('a', %d, 1), ('x%d', %d, 2)", i, i, 3 * i);
		expect_same(db, "main", "spans");
		run(db, "BEGIN; INSERT INTO spans(track, ts, dur) VALUES('a', %d, 100)", i);
		expect_same(db, "main", "spans");
		run(db, "ROLLBACK; INSERT INTO spans(track, ts, dur) VALUES('b', %d, 7)", i);
		expect_same(db, "main", "spans");
		if (i % 7 == 5)
			run(db, COMMAND("flush"));
	}
	run(db, COMMAND("integrity-check") COMMAND("optimize") COMMAND("integrity-check"));
	expect_same(db, "main", "spans");
	run(db, "DELETE FROM spans WHERE id > 550");
	run_fails(db, "spans_if: rows of \"spans\" were deleted, but sync=append", "SELECT * FROM spans_if");
	run(db, COMMAND("rebuild"));
	expect_same(db, "main", "spans");
	run(db, "UPDATE spans SET dur = 5 WHERE id = 7");
	run_fails(db, "spans_if: holds other rows than the table", COMMAND("integrity-check"));
	run(db, COMMAND("rebuild") "ALTER TABLE spans RENAME TO moved");
	run_fails(db, "iforest: no table \"spans\" in schema \"main\"", "SELECT * FROM spans_if");
	run(db, "ALTER TABLE moved RENAME TO spans");
	expect_same(db, "main", "spans");
	run(db, "ALTER TABLE spans_if RENAME TO x; SELECT count(*) FROM x; DROP TABLE x");
	assert_int_equal(integer_of(db, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'x%%'"), 0);
	close_database(db);
}

static void a_manual_index_waits(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track, sync = MANUAL)");
	run(db, COMMAND("integrity-check") "DELETE FROM spans WHERE id > 100");
	run_gives(db, "500\n", "SELECT sum(count) FROM spans_if");
	run(db, COMMAND("flush"));
	run_gives(db, "500\n", "SELECT sum(count) FROM spans_if");
	run_fails(db, "spans_if: holds other rows than the table \"spans\" (500 and 100 rows", COMMAND("integrity-check"));
	run(db, COMMAND("rebuild") COMMAND("integrity-check"));
	expect_same(db, "main", "spans");
	run(db, "ALTER TABLE spans RENAME TO moved");
	run_gives(db, "100\n", "SELECT sum(count) FROM spans_if");
	run_fails(db, "iforest: no table \"spans\" in schema \"main\"", COMMAND("rebuild"));
	run(db, "ALTER TABLE moved RENAME TO spans;" COMMAND("rebuild") "DROP TABLE spans");
	run_gives(db, "100\n", "SELECT sum(count) FROM spans_if");
	run_fails(db, "iforest: cannot read argument \"sync=never\": it is log, append or manual",
		  "CREATE VIRTUAL TABLE x USING iforest(content=spans, time=ts, sync=never)");
	run_fails(db, "iforest: argument \"sync\" is given twice", "CREATE VIRTUAL TABLE x USING iforest(content=spans, time=ts, sync=log, sync=log)");
	close_database(db);
}

/* Such an index has no log and no triggers. Objects with their names are the user's, and stay. */
static void names_that_only_a_log_needs_stay_free(void **state)
{
	static const char *const modes[] = { "manual", "append" };

	(void)state;
	for (int m = 0; m < 2; m++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, SPANS "CREATE TABLE spans_if_log(precious); INSERT INTO spans_if_log VALUES('kept'); CREATE TABLE x_log(another);"
			"CREATE TABLE spans_if_front AS SELECT 'mine' AS whose; CREATE TABLE x_front(another);"
			"CREATE TRIGGER spans_if_insert AFTER INSERT ON spans BEGIN INSERT INTO spans_if_log VALUES(new.id); END;"
			"CREATE TRIGGER spans_if_before_insert AFTER INSERT ON x_log BEGIN SELECT 1; END;"
			"CREATE TRIGGER x_delete AFTER DELETE ON spans BEGIN SELECT 1; END");
		run(db, "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track, sync=%s)", modes[m]);
		run(db, COMMAND("rebuild"));
		expect_same(db, "main", "spans");
		run(db, "ALTER TABLE spans_if RENAME TO x; ALTER TABLE x RENAME TO spans_if; DROP TABLE spans_if; INSERT INTO spans(id) VALUES(1000)");
		run_gives(db, "kept\n1000\n", "SELECT precious FROM spans_if_log");
		run_gives(db, "mine\n", "SELECT whose FROM spans_if_front");
		run_gives(db, "spans_if_before_insert\nspans_if_front\nspans_if_insert\nspans_if_log\nx_delete\nx_front\nx_log\n",
			  "SELECT name FROM sqlite_schema WHERE name LIKE 'spans_if%%' OR name LIKE 'x%%' ORDER BY name");
		close_database(db);
	}
}

/* ---- the file ---- */

static void pending_rows_outlive_what_happens_to_the_file(void **state)
{
	const char *path = test_path("file.db"), *copy = test_path("copy.db");
	sqlite3 *db = open_database(path, 0), *other;
	char *uri;

	(void)state;
	run(db, SPANS INDEX CHANGES);
	expect_same(db, "main", "spans");
	run(db, "VACUUM");
	expect_same(db, "main", "spans");
	run(db, "VACUUM INTO %Q", copy);
	run(db, "ALTER TABLE spans RENAME TO \"the spans\"");
	expect_same(db, "main", "the spans");
	run(db, "UPDATE \"the spans\" SET track = 'z' WHERE id = 10");
	expect_same(db, "main", "the spans");
	run(db, COMMAND("flush"));
	expect_same(db, "main", "the spans");
	run(db, "ALTER TABLE \"the spans\" RENAME TO spans; ATTACH %Q AS \"o'ther\"", copy);
	expect_same(db, "\"o'ther\"", "spans");
	run(db, "DELETE FROM \"o'ther\".spans WHERE id < 9; UPDATE main.spans SET dur = 9 WHERE id = 101");
	expect_same(db, "\"o'ther\"", "spans");
	expect_same(db, "main", "spans");
	run(db, "INSERT INTO \"o'ther\".spans_if(spans_if) VALUES('flush')");
	expect_same(db, "\"o'ther\"", "spans");
	assert_int_equal(integer_of(db, "SELECT count(*) FROM \"o'ther\".spans_if_log"), 0);
	assert_true(integer_of(db, "SELECT count(*) FROM main.spans_if_log") > 0);
	close_database(db);

	other = open_database(copy, 0);
	expect_same(other, "main", "spans");
	run(other, CHANGES);
	close_database(other);
	other = open_database(copy, SQLITE_OPEN_READONLY);
	expect_same(other, "main", "spans");
	run_fails(other, "attempt to write a readonly database", COMMAND("flush"));
	close_database(other);
	uri = sqlite3_mprintf("file:%s?immutable=1", copy);
	other = open_database(uri, SQLITE_OPEN_READONLY);
	sqlite3_free(uri);
	expect_same(other, "main", "spans");
	close_database(other);
	remove_database(path);
	remove_database(copy);
}

/* Dumps a file as SQL and restores it to another, by the shell without the extension. */
static void dump_and_restore(const char *path, const char *copy)
{
	char *command = sqlite3_mprintf("unset LD_LIBRARY_PATH; sqlite3 '%s' .dump | sqlite3 -bail '%s'", path, copy);

	assert_int_equal(system(command), 0);
	sqlite3_free(command);
}

static void a_dump_holds_what_is_pending(void **state)
{
	static const char *const modes[] = { "log", "append", "manual" };
	const char *path = test_path("dumped.db"), *copy = test_path("restored.db");

	(void)state;
	if (system("command -v sqlite3 >/dev/null"))
		skip();
	for (int m = 0; m < 3; m++) {
		sqlite3 *db = open_database(path, 0);
		int64_t n_pending;

		run(db, SPANS "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track, sync=%s);"
			"CREATE VIRTUAL TABLE folded USING iforest_fold(spans_if)", modes[m]);
		if (m == 0)
			run(db, CHANGES COMMAND("flush") "DELETE FROM spans WHERE id %% 40 = 1;" CHANGES);
		else if (m == 1)
			run(db, "INSERT INTO spans(track, ts, dur) SELECT track, ts, dur FROM spans LIMIT 50;" COMMAND("flush")
				"INSERT INTO spans(track, ts, dur) SELECT track, ts, dur FROM spans LIMIT 70");
		n_pending = m == 0 ? integer_of(db, "SELECT count(*) FROM spans_if_log") : 0;
		assert_true(m > 0 || n_pending > 0);
		close_database(db);
		dump_and_restore(path, copy);
		db = open_database(copy, 0);
		if (m == 0)
			assert_int_equal(integer_of(db, "SELECT count(*) FROM spans_if_log"), n_pending);
		expect_same(db, "main", "spans");
		run(db, COMMAND("integrity-check"));
		if (m < 2)
			run(db, "INSERT INTO spans(track, ts, dur) VALUES('late', 500, 3);");
		expect_same(db, "main", "spans");
		run(db, COMMAND("flush") COMMAND("integrity-check"));
		expect_same(db, "main", "spans");
		same_rows(db, "SELECT count, sum_dur FROM folded", "SELECT count(*), sum(dur) FROM spans");
		close_database(db);
		remove_database(path);
		remove_database(copy);
	}
}

/* If no column of the index is generated, an update of other columns is not logged. */
static void a_generated_column_beside_an_index_costs_nothing(void **state)
{
	static const char *const kinds[] = { "VIRTUAL", "STORED" };

	(void)state;
	for (int k = 0; k < 2; k++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, "CREATE TABLE spans(id INTEGER PRIMARY KEY, early AS (note || track) %s, track TEXT, ts INTEGER, dur INTEGER, code UNIQUE, note TEXT,"
			" late INTEGER AS (ts + length(note)) %s); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100)"
			" INSERT INTO spans(track, ts, dur, code, note) SELECT char(97 + i %% 3), i * 7, i %% 11, i, 'x' FROM c;" INDEX, kinds[k], kinds[k]);
		run(db, "UPDATE spans SET note = note || 'y'; UPDATE spans SET dur = dur, ts = ts, code = code");
		assert_int_equal(integer_of(db, "SELECT count(*) FROM spans_if_log"), 0);
		run(db, "UPDATE spans SET note = 'z', dur = dur + late WHERE id = 5; UPDATE OR REPLACE spans SET note = early, code = 8 WHERE id = 9;"
			"UPDATE spans SET ts = late, id = id + 1000 WHERE id > 90; REPLACE INTO spans(id, ts, code, note) VALUES(1000, 3, 20, NULL)");
		expect_same(db, "main", "spans");
		run(db, COMMAND("integrity-check") COMMAND("flush") COMMAND("integrity-check"));
		expect_same(db, "main", "spans");
		close_database(db);
	}
}

static void any_column_may_be_generated(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE spans(id INTEGER PRIMARY KEY, raw TEXT, track TEXT AS (substr(raw, 1, 1)), ts INTEGER AS (length(raw)) STORED, "
		"dur INTEGER AS (length(raw) * 2), code UNIQUE, other INTEGER); INSERT INTO spans(raw) VALUES('abc'), ('b'), ('abcd');" INDEX);
	run(db, "UPDATE spans SET raw = raw || 'x' WHERE id = 1; INSERT OR REPLACE INTO spans(id, raw) VALUES(2, 'bbb')");
	expect_same(db, "main", "spans");
	run(db, "UPDATE spans SET raw = NULL WHERE id = 3");
	expect_same(db, "main", "spans");
	run(db, COMMAND("flush") "UPDATE spans SET raw = 'zz' WHERE id = 3; UPDATE spans SET other = 5");
	expect_same(db, "main", "spans");
	run(db, COMMAND("flush"));
	expect_same(db, "main", "spans");
	run(db, COMMAND("integrity-check"));
	run_fails(db, "iforest: \"g\" has an expression or a generated column in UNIQUE index",
		  "CREATE TABLE g(id INTEGER PRIMARY KEY, ts, u AS (id %% 3) UNIQUE); CREATE VIRTUAL TABLE g_if USING iforest(content=g, time=ts)");
	close_database(db);
}

/* If the index is flushed, merged or rolled back while an answer is read, the answer ends with an error, or is that of its
 * start. */
static void an_answer_is_not_mixed_up(void **state)
{
	static const char *const commands[] = { COMMAND("flush"), COMMAND("optimize"), COMMAND("rebuild"), "ROLLBACK TO s", CHANGES };

	(void)state;
	for (size_t c = 0; c < sizeof commands / sizeof *commands; c++)
		for (int folded = 0; folded < 2; folded++) {
			sqlite3 *db = open_database(":memory:", 0);
			sqlite3_stmt *answer;
			int64_t expected, sum;
			int rc;

			run(db, SPANS INDEX CHANGES "CREATE VIRTUAL TABLE folded USING iforest_fold(spans_if, track); BEGIN; SAVEPOINT s;"
			    "DELETE FROM spans WHERE id < 100;" COMMAND("flush"));
			expected = integer_of(db, "SELECT sum(dur) FROM spans WHERE ts < 1000");
			run(db, "UPDATE spans SET dur = dur * 2 WHERE id = 200");
			expected += integer_of(db, "SELECT dur / 2 FROM spans WHERE id = 200");
			assert_int_equal(sqlite3_prepare_v2(db, folded ? "SELECT sum_dur FROM folded(0, 1000, 500)" : "SELECT sum_dur FROM spans_if(0, 1000, 500)",
							    -1, &answer, NULL), SQLITE_OK);
			assert_int_equal(sqlite3_step(answer), SQLITE_ROW);
			sum = sqlite3_column_int64(answer, 0);
			run_any(db, commands[c]);
			while ((rc = sqlite3_step(answer)) == SQLITE_ROW)
				sum += sqlite3_column_int64(answer, 0);
			if (rc == SQLITE_DONE)
				assert_int_equal(sum, expected);
			else
				assert_non_null(strstr(sqlite3_errmsg(db), "while it was being read"));
			sqlite3_finalize(answer);
			run_any(db, "ROLLBACK");
			expect_same(db, "main", "spans");
			run(db, COMMAND("integrity-check"));
			close_database(db);
		}
}

/* A query whose first rows are in memory has no lock of a shared cache yet when another connection removes entries. Nothing
 * that is rolled back stays cached. */
static void an_answer_from_a_shared_cache_is_not_mixed_up(void **state)
{
	static const char *const ends[] = { "COMMIT", "ROLLBACK" };

	(void)state;
	for (int way = 0; way < 2; way++) {
		const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
		sqlite3 *writer = open_database("file:shared_sync?mode=memory&cache=shared", flags);
		sqlite3 *reader = open_database("file:shared_sync?mode=memory&cache=shared", flags);
		sqlite3_stmt *answer;
		int rc;

		run(writer, "CREATE TABLE spans(id INTEGER PRIMARY KEY, track INTEGER, ts INTEGER, dur INTEGER);"
			    "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20000) INSERT INTO spans SELECT i, i / 1000, i, 1 FROM c;" INDEX);
		run(reader, "PRAGMA read_uncommitted = %d", way);
		for (int i = 0; i < 2; i++)
			run_gives(reader, "0|500\n", "SELECT track, count FROM spans_if(500, 19500, 2) WHERE track = 0");
		assert_int_equal(sqlite3_prepare_v2(reader, "SELECT track, count FROM spans_if(500, 19500, 2)", -1, &answer, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_step(answer), SQLITE_ROW);
		run(writer, "BEGIN; DELETE FROM spans WHERE id %% 50 = 7;" COMMAND("flush"));
		if (way == 0)
			run(writer, "%s", ends[way]);
		do {
			rc = sqlite3_step(answer);
		} while (rc == SQLITE_ROW);
		assert_int_equal(rc, SQLITE_ABORT);
		assert_non_null(strstr(sqlite3_errmsg(reader), "while it was being read"));
		sqlite3_finalize(answer);
		if (way == 1)
			run(writer, "%s", ends[way]);
		same_rows(reader, "SELECT track, bucket, count FROM spans_if(500, 19500, 7) ORDER BY track, bucket",
			  "SELECT track, iforest_bucket(ts, 500, 19500, 7) AS b, count(*) FROM spans WHERE b NOTNULL GROUP BY track, b ORDER BY track, b");
		close_database(reader);
		close_database(writer);
	}
}

static void sqlite_checks_it_too(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);
	char *rows;

	(void)state;
	if (sqlite3_libversion_number() < 3044000) {
		close_database(db);
		skip();
	}
	run(db, SPANS INDEX CHANGES);
	run_gives(db, "ok\n", "PRAGMA integrity_check");
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	run(db, "UPDATE spans SET dur = 100 WHERE id = 77");
	run_gives(db, "ok\n", "PRAGMA quick_check");
	rows = rows_of(db, "PRAGMA integrity_check");
	assert_non_null(strstr(rows, "spans_if: holds other rows than the table \"spans\""));
	free(rows);
	run(db, "DELETE FROM spans_if_page WHERE id > 0");
	rows = rows_of(db, "PRAGMA quick_check(spans_if)");
	assert_non_null(strstr(rows, "spans_if: corrupt"));
	free(rows);
	close_database(db);
}

/* ---- processes ---- */

/* Writes for a while in its own process, with or without the extension. */
static void write_alone(const char *path, int number)
{
	struct random random = { test_seed() + (uint64_t)number };
	sqlite3 *db = number % 2 ? open_database(path, 0) : open_plain(path, 0);

	sqlite3_busy_timeout(db, 60000);
	for (int i = 0; i < 60; i++) {
		int id = (int)random_below(&random, 600);

		run(db, "BEGIN IMMEDIATE; UPDATE spans SET dur = dur + 1, ts = (ts + 3) %% 1000 WHERE id IN (%d, %d, %d)", id, id + 1, id + 70);
		run(db, "INSERT OR REPLACE INTO spans VALUES(%lld, 'p%d', %d, 5, %d)", random_below(&random, 700), number, id, id);
		if (number % 2 && one_in(&random, 6))
			run(db, COMMAND("flush"));
		run(db, one_in(&random, 5) ? "ROLLBACK" : "COMMIT");
	}
	close_database(db);
}

static void processes_share_an_index(void **state)
{
	static const char *const modes[] = { "DELETE", "WAL" };

	(void)state;
	for (int m = 0; m < 2; m++) {
		const char *path = test_path("shared.db");
		sqlite3 *db = open_database(path, 0);
		pid_t children[2];
		int status, n_left = 2;

		run(db, "PRAGMA journal_mode = %s", modes[m]);
		run(db, SPANS INDEX);
		close_database(db);
		for (int i = 0; i < 2; i++) {
			children[i] = fork();
			if (children[i] == 0) {
				write_alone(path, i);
				_exit(0);
			}
		}
		db = open_database(path, 0);
		sqlite3_busy_timeout(db, 60000);
		while (n_left > 0) {
			run(db, "BEGIN");
			expect_same(db, "main", "spans");
			run(db, "COMMIT");
			if (waitpid(-1, &status, WNOHANG) > 0) {
				assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
				n_left--;
			}
		}
		expect_same(db, "main", "spans");
		run(db, COMMAND("integrity-check") COMMAND("optimize") COMMAND("integrity-check"));
		expect_same(db, "main", "spans");
		close_database(db);
		remove_database(path);
	}
}

/* Changes rows and flushes until it is killed. */
static void write_until_killed(const char *path, int number)
{
	struct random random = { test_seed() + (uint64_t)number };
	sqlite3 *db = open_database(path, 0);

	for (;;) {
		int id = (int)random_below(&random, 600);

		run(db, "BEGIN; UPDATE spans SET dur = dur + 1, ts = (ts + 3) %% 1000 WHERE id BETWEEN %d AND %d", id, id + 20);
		run(db, "INSERT OR REPLACE INTO spans VALUES(%d, 'k%d', %d, 5, NULL); COMMIT", id, id % 9, id);
		if (one_in(&random, 3))
			run(db, COMMAND("flush"));
		if (one_in(&random, 40))
			run(db, COMMAND("optimize"));
	}
}

/* After each kill the file is sound, and the index returns what plain SQL returns. */
static void a_writer_may_be_killed_at_any_time(void **state)
{
	static const char *const modes[] = { "DELETE", "WAL" };
	struct random random = { test_seed() };

	(void)state;
	for (int m = 0; m < 2; m++) {
		const char *path = test_path("killed.db");
		sqlite3 *db = open_database(path, 0);

		run(db, "PRAGMA journal_mode = %s", modes[m]);
		run(db, SPANS INDEX);
		for (int i = test_rounds(12); i > 0; i--) {
			struct timespec pause = { .tv_nsec = random_below(&random, 40000000) };
			pid_t child;
			int status;

			close_database(db);
			child = fork();
			if (child == 0)
				write_until_killed(path, i);
			nanosleep(&pause, NULL);
			assert_int_equal(kill(child, SIGKILL), 0);
			assert_int_equal(waitpid(child, &status, 0), child);
			assert_true(WIFSIGNALED(status));
			db = open_database(path, 0);
			run_gives(db, "ok\n", "PRAGMA integrity_check");
			expect_same(db, "main", "spans");
			run(db, COMMAND("integrity-check"));
		}
		close_database(db);
		remove_database(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appended_rows_are_seen),
		cmocka_unit_test(a_manual_index_waits),
		cmocka_unit_test(names_that_only_a_log_needs_stay_free),
		cmocka_unit_test(pending_rows_outlive_what_happens_to_the_file),
		cmocka_unit_test(a_dump_holds_what_is_pending),
		cmocka_unit_test(a_generated_column_beside_an_index_costs_nothing),
		cmocka_unit_test(any_column_may_be_generated),
		cmocka_unit_test(an_answer_is_not_mixed_up),
		cmocka_unit_test(an_answer_from_a_shared_cache_is_not_mixed_up),
		cmocka_unit_test(sqlite_checks_it_too),
		cmocka_unit_test(processes_share_an_index),
		cmocka_unit_test(a_writer_may_be_killed_at_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
