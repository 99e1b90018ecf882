/* tests/sqlite/test_stats.c -- Tests of iforest_stats() while rows are pending, removed, rolled back and flushed. */
#include "harness.h"

enum { N_ROUNDS = 20, N_STEPS = 10 };

#define INDEX "CREATE TABLE t(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER);" \
	"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, duration=dur, by=track)"

/* *last_sealed is the last rowid of the table at the last flush. */
static void change(sqlite3 *db, struct random *random, int64_t *last_sealed)
{
	switch (random_below(random, 8)) {
	case 0:
		run(db, "DELETE FROM t WHERE id %% 7 = %lld", random_below(random, 7));
		break;
	case 1:
		run(db, "UPDATE t SET ts = ts + 5 WHERE id %% 9 = %lld", random_below(random, 9));
		break;
	case 2:
		run(db, "SAVEPOINT s; DELETE FROM t WHERE id %% 2; INSERT INTO t(track) VALUES('gone'); ROLLBACK TO s; RELEASE s");
		break;
	case 3:
		run(db, "INSERT OR REPLACE INTO t VALUES(%lld, 'replaced', NULL, 3)", 1 + random_below(random, 100));
		break;
	case 4:
		run(db, "INSERT INTO t_if(t_if) VALUES('flush')");
		*last_sealed = integer_of(db, "SELECT ifnull(max(id), %" PRId64 ") FROM t", INT64_MIN);
		break;
	case 5:
		run(db, "INSERT INTO t_if(t_if) VALUES(%Q)", one_in(random, 2) ? "optimize" : "rebuild");
		*last_sealed = integer_of(db, "SELECT ifnull(max(id), %" PRId64 ") FROM t", INT64_MIN);
		break;
	default:
		run(db, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < %lld)"
		    " INSERT INTO t(track, ts, dur) SELECT 'track ' || (x %% 5), random(), x FROM n", 1 + random_below(random, 300));
	}
}

static void check(sqlite3 *db, int64_t last_sealed)
{
	int64_t n_pending = integer_of(db, "SELECT count(*) FROM (SELECT id FROM t_if_log UNION SELECT id FROM t WHERE id > %" PRId64 ")", last_sealed);
	int64_t n_rows = integer_of(db, "SELECT count(*) FROM t");

	if (integer_of(db, "SELECT rows FROM iforest_stats('t_if')") != n_rows)
		fail_msg("%lld rows instead of %lld", (long long)integer_of(db, "SELECT rows FROM iforest_stats('t_if')"), (long long)n_rows);
	assert_int_equal(integer_of(db, "SELECT pending FROM iforest_stats('t_if')"), n_pending);
	assert_int_equal(integer_of(db, "SELECT pages FROM iforest_stats('t_if')"), integer_of(db, "SELECT count(*) - 1 FROM t_if_page"));
	run_gives(db, "1\n", "SELECT bytes = (SELECT sum(length(bytes)) FROM t_if_page) + (SELECT ifnull(sum(length(key)), 0) FROM t_if_series)"
		  " FROM iforest_stats('t_if')");
}

static void it_counts_what_the_tables_hold(void **state)
{
	(void)state;
	for (int round = 0; round < N_ROUNDS; round++) {
		struct random random = { test_seed() + (uint64_t)round };
		sqlite3 *db = open_database(":memory:", 0);

		int64_t last_sealed = INT64_MIN;

		run(db, INDEX);
		for (int step = 0; step < N_STEPS; step++) {
			change(db, &random, &last_sealed);
			check(db, last_sealed);
		}
		run(db, "INSERT INTO t_if(t_if) VALUES('optimize')");
		run_gives(db, "1|0|0\n", "SELECT runs <= 1, removed, pending FROM iforest_stats('t_if')");
		run_gives(db, "1\n", "SELECT series >= (SELECT count(DISTINCT track) FROM t) FROM iforest_stats('t_if')");
		close_database(db);
	}
}

static void it_tells_runs_removed_and_levels(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, INDEX);
	run_gives(db, "0|0|0|0|0|0||0|log\n", "SELECT rows, removed, runs, pending, series, pages, bytes_per_row, levels, sync FROM iforest_stats('t_if')");
	run(db, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5000) INSERT INTO t SELECT x, 'a', x, x FROM n;"
		"INSERT INTO t_if(t_if) VALUES('flush'); DELETE FROM t WHERE id <= 100; INSERT INTO t_if(t_if) VALUES('flush')");
	run_gives(db, "4900|100|1|0|1|1\n", "SELECT rows, removed, runs, pending, series, levels FROM iforest_stats('t_if')");
	run(db, "INSERT INTO t VALUES(1, 'b', 1, 1); INSERT INTO t_if(t_if) VALUES('flush')");
	run_gives(db, "4901|100|2|0|2|1\n", "SELECT rows, removed, runs, pending, series, levels FROM iforest_stats('t_if')");
	run(db, "INSERT INTO t_if(t_if) VALUES('optimize')");
	run_gives(db, "4901|0|1|0|2|1\n", "SELECT rows, removed, runs, pending, series, levels FROM iforest_stats('t_if')");
	close_database(db);
}

/* The time is that of the last flush of any rows, of a rebuild, or of the creation. */
static void it_tells_the_last_flush(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, INDEX);
	run_gives(db, "1\n", "SELECT last_flush BETWEEN unixepoch() - 60 AND unixepoch() FROM iforest_stats('t_if')");
	run(db, "UPDATE t_if_config SET value = 77 WHERE name = 'flushed'; INSERT INTO t_if(t_if) VALUES('flush')");
	run_gives(db, "77\n", "SELECT last_flush FROM iforest_stats('t_if')");
	run(db, "INSERT INTO t VALUES(1, 'a', 1, 1)");
	run_gives(db, "77|1\n", "SELECT last_flush, pending FROM iforest_stats('t_if')");
	run(db, "INSERT INTO t_if(t_if) VALUES('flush')");
	run_gives(db, "1\n", "SELECT last_flush > 77 FROM iforest_stats('t_if')");
	run(db, "UPDATE t_if_config SET value = 77 WHERE name = 'flushed'; INSERT INTO t_if(t_if) VALUES('rebuild')");
	run_gives(db, "1\n", "SELECT last_flush > 77 FROM iforest_stats('t_if')");
	run(db, "DELETE FROM t_if_config WHERE name = 'flushed'"); /* as in an index of an older version */
	run_gives(db, "1|\n", "SELECT rows, last_flush FROM iforest_stats('t_if')");
	close_database(db);
}

/* There is a note about more than 10 000 rows with fewer than 4 per series. */
static void it_notices_too_many_series(void **state)
{
	static const struct { int n_rows, rows_a_series; bool is_noticed; } cases[] = {
		{ 10001, 1, true }, { 10000, 1, false }, { 10001, 3, true }, { 10001, 5, false }, { 10001, 20000, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		sqlite3 *db = open_database(":memory:", 0);
		char *expected = sqlite3_mprintf("%d series for %d rows make it large and slow: leave out by columns that differ from row to row\n",
						 (cases[i].n_rows - 1) / cases[i].rows_a_series + 1, cases[i].n_rows);

		run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, request INTEGER, ts INTEGER);"
			"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < %d) INSERT INTO t SELECT x, (x - 1) / %d, x FROM n",
		    cases[i].n_rows, cases[i].rows_a_series);
		run(db, "CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, by=request)");
		run_gives(db, cases[i].is_noticed ? expected : "\n", "SELECT notice FROM iforest_stats('t_if')");
		sqlite3_free(expected);
		close_database(db);
	}
}

static void it_finds_its_index(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER); INSERT INTO t VALUES(1, 1, 1);"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, sync=append); CREATE VIRTUAL TABLE f USING iforest_fold(t_if)");
	run(db, "ATTACH ':memory:' AS other; CREATE TABLE other.t(id INTEGER PRIMARY KEY, ts INTEGER); INSERT INTO other.t VALUES(1, 1), (2, 2);"
		"CREATE VIRTUAL TABLE other.t_if USING iforest(content=t, time=ts); CREATE VIRTUAL TABLE other.\"odd \"\" name\" USING iforest(content=t, time=ts, sync=manual)");
	run_gives(db, "1|append|t_if|main\n", "SELECT rows, sync, index_name, schema_name FROM iforest_stats('t_if')");
	run_gives(db, "2|log|other\n", "SELECT rows, sync, schema_name FROM iforest_stats('t_if', 'other')");
	run_gives(db, "2|manual|other\n", "SELECT rows, sync, schema_name FROM iforest_stats('odd \" name')");
	run_gives(db, "t_if|main|1\nt_if|other|2\n", "SELECT index_name, schema_name, rows FROM (SELECT 'main' AS s UNION ALL SELECT 'other') JOIN iforest_stats('t_if', s)");
	run_gives(db, "", "SELECT rows FROM iforest_stats(NULL)");
	run(db, "CREATE VIEW v AS SELECT rows FROM iforest_stats('t_if'); PRAGMA trusted_schema = off");
	run_gives(db, "1\n", "SELECT * FROM v");
	run_fails(db, "iforest_stats: no index \"none\" in schema \"main\"", "SELECT * FROM iforest_stats('none')");
	run_fails(db, "iforest_stats: no index \"t\" in schema \"main\"", "SELECT * FROM iforest_stats('t')");
	run_fails(db, "iforest_stats: \"f\" is no index of iforest", "SELECT * FROM iforest_stats('f')");
	run_fails(db, "iforest_stats: no schema \"nowhere\"", "SELECT * FROM iforest_stats('t_if', 'nowhere')");
	run_fails(db, "iforest_stats: name an index: iforest_stats('spans_if')", "SELECT * FROM iforest_stats");
	run_gives(db, "1|t_if\n", "SELECT rows, index_name FROM iforest_stats('t_if') WHERE pending > 5 OR rows > 0");
	run_gives(db, "t_if\n", "SELECT name FROM sqlite_schema JOIN iforest_stats(name) WHERE sql LIKE '%%USING iforest(%%' AND (runs > 9 OR rows > 0)");
	run_gives(db, "1|2\n", "SELECT a.rows, b.rows FROM sqlite_schema AS s, iforest_stats AS a, iforest_stats AS b WHERE s.name LIKE 't_if' AND"
		  " a.index_name = s.name AND b.index_name = a.index_name AND a.schema_name = 'main' AND b.schema_name = 'other'");
	run_fails(db, "no such module: iforest_stats", "CREATE VIRTUAL TABLE s USING iforest_stats(t_if)");
	close_database(db);
}

/* iforest_stats() refuses an index that a query would refuse. */
static void it_refuses_what_a_question_refuses(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, INDEX);
	run(db, "DROP TRIGGER t_if_insert");
	run_fails(db, "t_if: detached from its table", "SELECT rows FROM iforest_stats('t_if')");
	run(db, "INSERT INTO t_if(t_if) VALUES('rebuild'); UPDATE t_if_page SET bytes = zeroblob(100) WHERE id = 0");
	run_fails(db, "t_if: corrupt", "SELECT rows FROM iforest_stats('t_if')");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_counts_what_the_tables_hold),
		cmocka_unit_test(it_tells_runs_removed_and_levels),
		cmocka_unit_test(it_tells_the_last_flush),
		cmocka_unit_test(it_notices_too_many_series),
		cmocka_unit_test(it_finds_its_index),
		cmocka_unit_test(it_refuses_what_a_question_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
