/* tests/sqlite/test_settings.c -- Tests of commands that take a number: how many runs of a size are merged, and how many pages
 * a merge may read. */
#include "harness.h"

#define SPANS                                                                                                         \
	"CREATE TABLE spans(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER);"                                        \
	"CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur);"

static int64_t count_runs(sqlite3 *db, const char *index)
{
	return integer_of(db, "SELECT count(DISTINCT id >> 32) FROM %s_page WHERE id <> 0", index);
}

/* Flushes n_runs times, with rows_each new rows each time. */
static void flush_runs(sqlite3 *db, const char *index, int n_runs, int rows_each)
{
	for (int i = 0; i < n_runs; i++) {
		run(db, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d)"
			" INSERT INTO spans(ts, dur) SELECT random() %% 1000000, i %% 77 FROM c", rows_each);
		run(db, "INSERT INTO %s(%s) VALUES('flush')", index, index);
	}
}

static void expect_same(sqlite3 *db, const char *index)
{
	char *sql = sqlite3_mprintf("SELECT sum(count), sum(sum_dur), max(max_dur) FROM %s(-500000, 500000)", index);

	same_rows(db, sql, "SELECT count(*), sum(dur), max(dur) FROM spans WHERE ts >= -500000 AND ts < 500000");
	sqlite3_free(sql);
}

static void as_many_runs_are_merged_as_automerge_says(void **state)
{
	static const int fan_ins[] = { 2, 3, 8, 16 };

	(void)state;
	for (int f = 0; f < 4; f++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, SPANS);
		if (fan_ins[f] != 8) /* the default */
			run(db, "INSERT INTO spans_if(spans_if, n) VALUES('automerge', %d)", fan_ins[f]);
		flush_runs(db, "spans_if", fan_ins[f] - 1, 50);
		assert_int_equal(count_runs(db, "spans_if"), fan_ins[f] - 1);
		flush_runs(db, "spans_if", 1, 50);
		assert_int_equal(count_runs(db, "spans_if"), 1);
		expect_same(db, "spans_if");
		close_database(db);
	}
}

static void automerge_stays(void **state)
{
	const char *path = test_path("settings.db");
	sqlite3 *db = open_database(path, 0);

	(void)state;
	run(db, SPANS "INSERT INTO spans_if(spans_if, n) VALUES('automerge', 3)");
	run(db, "BEGIN; INSERT INTO spans_if(spans_if, n) VALUES('automerge', 9); ROLLBACK");
	close_database(db);
	db = open_database(path, 0);
	run(db, "INSERT INTO spans_if(spans_if) VALUES('rebuild'); ALTER TABLE spans_if RENAME TO x");
	flush_runs(db, "x", 2, 10);
	assert_int_equal(count_runs(db, "x"), 2);
	flush_runs(db, "x", 1, 10);
	assert_int_equal(count_runs(db, "x"), 1);
	expect_same(db, "x");
	/* an invalid setting is ignored */
	run(db, "UPDATE x_config SET value = 'many' WHERE name = 'automerge'");
	flush_runs(db, "x", 6, 10);
	assert_int_equal(count_runs(db, "x"), 7);
	run(db, "UPDATE x_config SET value = 1 WHERE name = 'automerge'");
	flush_runs(db, "x", 1, 10);
	assert_int_equal(count_runs(db, "x"), 1);
	close_database(db);
	remove_database(path);
}

/* Flushes leave 15 runs of at least two pages. Merges then read at most the given number of pages. */
static void a_merge_reads_no_more_pages_than_it_may(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);
	int64_t n_pages;

	(void)state;
	run(db, SPANS "INSERT INTO spans_if(spans_if, n) VALUES('automerge', 16)");
	flush_runs(db, "spans_if", 15, 1200);
	assert_int_equal(count_runs(db, "spans_if"), 15);
	n_pages = integer_of(db, "SELECT count(*) FROM spans_if_page WHERE id <> 0") / 15;
	assert_true(n_pages >= 2);
	run(db, "INSERT INTO spans_if(spans_if, n) VALUES('automerge', 5)");
	run(db, "INSERT INTO spans_if(spans_if, n) VALUES('merge', 1)");
	assert_int_equal(count_runs(db, "spans_if"), 15);
	run(db, "INSERT INTO spans_if(spans_if, n) VALUES('merge', %lld)", 5 * n_pages - 1);
	assert_int_equal(count_runs(db, "spans_if"), 15);
	run(db, "INSERT INTO spans_if(spans_if, n) VALUES('merge', %lld)", 6 * n_pages - 1);
	assert_int_equal(count_runs(db, "spans_if"), 11);
	expect_same(db, "spans_if");
	run(db, "INSERT INTO spans_if(spans_if) VALUES('merge'); INSERT INTO spans_if(spans_if) VALUES('integrity-check')");
	assert_true(count_runs(db, "spans_if") < 5);
	expect_same(db, "spans_if");
	close_database(db);
}

static void other_numbers_are_refused(void **state)
{
	static const char *const numbers[] = { "1", "17", "0", "-3", "9223372036854775807" };
	static const char *const commands[] = { "flush", "optimize", "rebuild", "integrity-check" };
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS);
	for (int i = 0; i < 5; i++)
		run_fails(db, "spans_if: automerge takes n from 2 to 16", "INSERT INTO spans_if(spans_if, n) VALUES('automerge', %s)", numbers[i]);
	run_fails(db, "spans_if: automerge takes n from 2 to 16", "INSERT INTO spans_if(spans_if) VALUES('automerge')");
	run_fails(db, "spans_if: argument n is not an integer: 2.5", "INSERT INTO spans_if(spans_if, n) VALUES('automerge', 2.5)");
	run_fails(db, "spans_if: argument n is not an integer: 'many'", "INSERT INTO spans_if(spans_if, n) VALUES('merge', 'many')");
	run_fails(db, "spans_if: argument n is not an integer: '5'", "INSERT INTO spans_if(spans_if, n) VALUES('automerge', '5')");
	run_fails(db, "spans_if: argument n is not an integer: a blob", "INSERT INTO spans_if(spans_if, n) VALUES('automerge', x'35')");
	run(db, "INSERT INTO spans_if(spans_if, n) VALUES('automerge', 5.0); INSERT INTO spans_if(spans_if, n) VALUES('merge', 1e3)");
	run_fails(db, "spans_if: n must be greater than 0", "INSERT INTO spans_if(spans_if, n) VALUES('merge', 0)");
	run_fails(db, "spans_if: n must be greater than 0", "INSERT INTO spans_if(spans_if, n) VALUES('merge', -16)");
	for (int i = 0; i < 4; i++) {
		char *message = sqlite3_mprintf("spans_if: command \"%s\" takes no n", commands[i]);

		run_fails(db, message, "INSERT INTO spans_if(spans_if, n) VALUES('%s', 5)", commands[i]);
		sqlite3_free(message);
	}
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_runs_are_merged_as_automerge_says),
		cmocka_unit_test(automerge_stays),
		cmocka_unit_test(a_merge_reads_no_more_pages_than_it_may),
		cmocka_unit_test(other_numbers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
