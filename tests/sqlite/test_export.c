/* tests/sqlite/test_export.c -- Tests of exported tables: they have what plain SQL returns for the rows, are the same after a
 * refresh as after a full export, and can be read by SQLite without the extension. */
#include "harness.h"

enum { N_ROUNDS = 15, N_STEPS = 6 };

#define TABLE "CREATE TABLE t(id INTEGER PRIMARY KEY, track, depth INTEGER, ts INTEGER, dur INTEGER, v REAL);"
#define INDEX "CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, duration=dur, value=(dur, v), by=(track, depth))"
#define EXPORT "INSERT INTO t_if(t_if) VALUES('export')"
#define ALL "SELECT * FROM t_if_rollup ORDER BY bucket_level, bucket_start, track, depth"

/* floor(ts / width) * width */
#define BUCKET "(ts / bucket_width - (ts % bucket_width < 0)) * bucket_width"

#define PLAIN_BUCKETS                                                                                                          \
	"SELECT bucket_level, " BUCKET " AS b, track, depth, count(*), min(ts), max(ts), count(dur), sum(dur), min(dur), "     \
				       "max(dur), count(v), sum(v), min(v), max(v)"                                            \
	" FROM t CROSS JOIN t_if_levels WHERE ts NOTNULL GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
#define BUCKETS                                                                                                                \
	"SELECT bucket_level, bucket_start, track, depth, count, first_ts, last_ts, count_dur, sum_dur, min_dur, max_dur, "    \
	"count_v, sum_v, min_v, max_v"                                                                                         \
	" FROM t_if_rollup ORDER BY 1, 2, 3, 4"

static void append(sqlite3 *db, struct random *random, int64_t *now)
{
	run(db, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < %lld)"
	    " INSERT INTO t(track, depth, ts, dur, v) SELECT iif(x %% 5, 'track ' || (x %% 3), NULL), x %% 2, %lld + x * %lld, iif(x %% 7, x %% 77 - 9, NULL), x / 4.0 FROM n",
	    1 + random_below(random, 100), *now, 1 + random_below(random, 20));
	*now = integer_of(db, "SELECT max(ts) FROM t");
}

static void change(sqlite3 *db, struct random *random, int64_t *now)
{
	switch (random_below(random, 9)) {
	case 0:
		run(db, "DELETE FROM t WHERE id %% 11 = %lld", random_below(random, 11));
		break;
	case 1:
		run(db, "UPDATE t SET ts = ts - 500, v = NULL WHERE id = %lld", random_below(random, 200));
		break;
	case 2:
		run(db, "SAVEPOINT s; DELETE FROM t WHERE id %% 2; INSERT INTO t(track, ts) VALUES('gone', 3); INSERT INTO t_if(t_if) VALUES('flush');"
			"ROLLBACK TO s; RELEASE s");
		break;
	case 3:
		run(db, "INSERT INTO t(track, depth, ts, dur) VALUES('timeless', 1, NULL, 3), ('early', 0, %lld, NULL)", *now - 20000);
		break;
	case 4:
		run(db, "DELETE FROM t WHERE ts > (SELECT max(ts) - 900 FROM t)");
		break;
	case 5:
		run(db, "DELETE FROM t WHERE ts < (SELECT min(ts) + 900 FROM t)");
		break;
	case 6:
		run(db, "INSERT INTO t_if(t_if) VALUES(%Q)", one_in(random, 3) ? "optimize" : "flush");
		break;
	default:
		append(db, random, now);
	}
}

/* Compares the exported tables with those of a full export, which a rebuild causes. */
static void expect_as_anew(sqlite3 *db)
{
	uint64_t refreshed = digest_of(db, ALL), levels = digest_of(db, "SELECT * FROM t_if_levels ORDER BY 1");
	char *rows = rows_of(db, ALL), *anew;

	run(db, "INSERT INTO t_if(t_if) VALUES('rebuild'); " EXPORT);
	anew = rows_of(db, ALL);
	if (strcmp(rows, anew) != 0 || refreshed != digest_of(db, ALL))
		fail_msg("refreshed (IFOREST_SEED=%" PRIu64 "):\n%s\nanew:\n%s", test_seed(), rows, anew);
	assert_true(levels == digest_of(db, "SELECT * FROM t_if_levels ORDER BY 1"));
	free(rows);
	free(anew);
}

static void a_refresh_gives_what_making_anew_gives(void **state)
{
	(void)state;
	for (int round = 0; round < N_ROUNDS; round++) {
		struct random random = { test_seed() + (uint64_t)round };
		sqlite3 *db = open_database(":memory:", 0);
		bool only_appends = round % 3 == 0;
		int64_t now = random_below(&random, 40000) - 20000;

		run(db, TABLE INDEX);
		run(db, "INSERT INTO t_if(t_if, step) VALUES('export', %lld)", 1 + random_below(&random, 300));
		for (int step = 0; step < N_STEPS; step++) {
			for (int64_t i = random_below(&random, 4); i >= 0; i--)
				if (only_appends)
					append(db, &random, &now);
				else
					change(db, &random, &now);
			if (one_in(&random, 2))
				run(db, "INSERT INTO t_if(t_if) VALUES('flush')");
			run(db, EXPORT);
			same_rows(db, BUCKETS, PLAIN_BUCKETS);
			run_gives(db, "0|1\n", "SELECT count(*), (SELECT max(bucket_width) > (SELECT ifnull(max(ts) - min(ts), 0) FROM t) FROM t_if_levels)"
				  " FROM t_if_rollup WHERE bucket_level NOT IN (SELECT bucket_level FROM t_if_levels)");
			if (one_in(&random, 2) || step == N_STEPS - 1)
				expect_as_anew(db);
		}
		close_database(db);
	}
}

/* Buckets that are not recomputed keep what the test wrote into them. */
static void only_what_changed_is_made_anew(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, TABLE INDEX);
	run(db, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000) INSERT INTO t(track, depth, ts, dur) SELECT 'a', 0, x * 10, 1 FROM n;"
		"INSERT INTO t_if(t_if, step) VALUES('export', 100); UPDATE t_if_rollup SET count = -1");
	run(db, "INSERT INTO t(track, depth, ts, dur) VALUES('a', 0, 10020, 1); INSERT INTO t_if(t_if) VALUES('flush'); " EXPORT);
	run_gives(db, "10000|2\n", "SELECT bucket_start, count FROM t_if_rollup WHERE bucket_level = 0 AND count >= 0");
	run(db, "UPDATE t SET dur = 2 WHERE ts BETWEEN 2010 AND 2150; " EXPORT);
	run_gives(db, "2000|10\n2100|10\n10000|2\n", "SELECT bucket_start, count FROM t_if_rollup WHERE bucket_level = 0 AND count >= 0 ORDER BY 1");
	run(db, "DELETE FROM t WHERE ts = 510; INSERT INTO t_if(t_if) VALUES('optimize'); INSERT INTO t(track, depth, ts, dur) VALUES('a', 0, 10200, 1); " EXPORT);
	run_gives(db, "500|9\n2000|10\n2100|10\n10000|2\n10200|1\n", "SELECT bucket_start, count FROM t_if_rollup WHERE bucket_level = 0 AND count >= 0 ORDER BY 1");
	run(db, "INSERT INTO t_if(t_if) VALUES('rebuild'); " EXPORT);
	run_gives(db, "0\n", "SELECT count(*) FROM t_if_rollup WHERE count < 0");
	run(db, "UPDATE t_if_rollup SET count = -1; INSERT INTO t_if(t_if, step) VALUES('export', 100)"); /* the same width */
	run_gives(db, "1\n", "SELECT count(*) > 50 FROM t_if_rollup WHERE count < 0");
	run(db, "INSERT INTO t_if(t_if, step) VALUES('export', 50)");
	run_gives(db, "50|0\n", "SELECT min(bucket_width), (SELECT count(*) FROM t_if_rollup WHERE count < 0) FROM t_if_levels");
	run(db, "UPDATE t_if_rollup SET count = -1; DROP VIEW t_if_export; " EXPORT);
	run_gives(db, "0\n", "SELECT count(*) FROM t_if_export WHERE count < 0");
	run(db, "DROP VIEW t_if_export; DROP TABLE t_if_rollup; DROP TABLE t_if_levels; " EXPORT);
	same_rows(db, BUCKETS, PLAIN_BUCKETS);
	close_database(db);
}

/* The query of a Grafana panel, with a range and an interval. */
#define PANEL "SELECT bucket_start, track, sum_dur, avg_dur FROM t_if_export WHERE %d >= interval_from AND %d < interval_to AND bucket_start > %d - bucket_width AND bucket_start < %d"

static void a_plain_sqlite_reads_it(void **state)
{
	const char *path = test_path("export.db");
	static const struct {
		int interval, width;
	} panels[] = { { -5, 10 }, { 0, 10 },  { 10, 10 },     { 19, 10 },
		       { 20, 20 }, { 90, 80 }, { 5000, 2560 }, { 100000000, 10240 } };
	sqlite3 *db;
	char *plan;

	(void)state;
	remove_database(path);
	db = open_database(path, 0);
	run(db, TABLE INDEX);
	run(db, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000) INSERT INTO t(track, depth, ts, dur) SELECT 'track ' || (x %% 3), 0, x * 5, x %% 50 FROM n;"
		"INSERT INTO t_if(t_if, step) VALUES('export', 10)");
	close_database(db);
	db = open_plain(path, SQLITE_OPEN_READONLY);
	run_fails(db, "no such module: iforest", "SELECT * FROM t_if");
	for (size_t p = 0; p < sizeof panels / sizeof panels[0]; p++) {
		int interval = panels[p].interval, width = panels[p].width;
		char *panel = sqlite3_mprintf(PANEL " ORDER BY 1, 2", interval, interval, 333, 7777);
		char *plain = sqlite3_mprintf("SELECT ts / %d * %d AS b, track, sum(dur), avg(dur) FROM t GROUP BY 1, 2 HAVING b > 333 - %d AND b < 7777 ORDER BY 1, 2", width, width, width);

		same_rows(db, panel, plain);
		run_gives(db, "1\n", "SELECT count(*) FROM t_if_levels WHERE %d >= interval_from AND %d < interval_to", interval, interval);
		sqlite3_free(panel);
		sqlite3_free(plain);
	}
	same_rows(db, "SELECT bucket_start, sum(sum_dur) FROM t_if_export WHERE bucket_width = (SELECT max(bucket_width) FROM t_if_levels WHERE bucket_width <= 700) GROUP BY 1 ORDER BY 1",
		  "SELECT ts / 640 * 640, sum(dur) FROM t GROUP BY 1 ORDER BY 1");
	plan = sqlite3_mprintf("EXPLAIN QUERY PLAN " PANEL, 100, 100, 333, 7777);
	{
		char *rows = rows_of(db, plan);

		if (!strstr(rows, "(bucket_level=? AND bucket_start>? AND bucket_start<?)"))
			fail_msg("a panel reads more than its range: %s", rows);
		free(rows);
	}
	sqlite3_free(plan);
	close_database(db);
	remove_database(path);
}

static void it_goes_with_its_index(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, TABLE INDEX);
	run(db, "INSERT INTO t(track, depth, ts, dur) VALUES('a', 0, 1, 5), (NULL, 1, 2, 6); INSERT INTO t_if(t_if, step) VALUES('export', 10)");
	run(db, "ALTER TABLE t_if RENAME TO \"other name\"");
	run_gives(db, "a|5\n|6\n", "SELECT track, sum_dur FROM \"other name_export\" ORDER BY 1 DESC");
	run_gives(db, "0\n", "SELECT count(*) FROM sqlite_schema WHERE name LIKE 't_if%%' OR sql LIKE '%%t_if%%'");
	run(db, "INSERT INTO t(track, depth, ts, dur) VALUES('a', 0, 100, 7); INSERT INTO \"other name\"(\"other name\") VALUES('export')");
	run_gives(db, "12|7\n", "SELECT sum(sum_dur), max(max_dur) FROM \"other name_export\" WHERE 0 >= interval_from AND 0 < interval_to AND track = 'a'");
	run(db, "CREATE TABLE x_levels(a)");
	run_fails(db, "other name: there is already something named \"x_levels\"", "ALTER TABLE \"other name\" RENAME TO x");
	run(db, "CREATE VIEW mine AS SELECT count FROM \"other name_export\"");
	run_fails(db, "error in view mine", "ALTER TABLE \"other name\" RENAME TO t_if");
	run_gives(db, "1\n", "SELECT sum(count) > 3 FROM mine");
	run(db, "DROP VIEW mine; ALTER TABLE \"other name\" RENAME TO t_if; DROP TABLE t_if");
	run_gives(db, "t\nx_levels\n", "SELECT name FROM sqlite_schema ORDER BY 1");
	/* tables of these names that are not part of an export */
	run(db, INDEX);
	run(db, "CREATE TABLE t_if_rollup(mine)");
	run_fails(db, "t_if: there is already something named \"t_if_rollup\"", "INSERT INTO t_if(t_if, step) VALUES('export', 10)");
	run(db, "DROP TABLE t_if");
	run_gives(db, "t\nt_if_rollup\nx_levels\n", "SELECT name FROM sqlite_schema ORDER BY 1");
	close_database(db);
}

static void it_refuses_what_makes_no_sense(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, TABLE INDEX);
	run_fails(db, "t_if: the first export needs the width of its finest buckets", EXPORT);
	run_fails(db, "t_if: step must be greater than 0", "INSERT INTO t_if(t_if, step) VALUES('export', 0)");
	run_fails(db, "t_if: argument step is not an integer: 1.5", "INSERT INTO t_if(t_if, step) VALUES('export', 1.5)");
	run_fails(db, "t_if: step goes with the command export alone", "INSERT INTO t_if(t_if, step) VALUES('flush', 3)");
	run_gives(db, "0\n", "SELECT count(*) FROM sqlite_schema WHERE name LIKE 't_if_rollup'");
	run(db, "INSERT INTO t_if(t_if, step) VALUES('export', 60e9)");
	run_gives(db, "60000000000|0\n", "SELECT bucket_width, (SELECT count(*) FROM t_if_export) FROM t_if_levels");
	run(db, "CREATE VIRTUAL TABLE o USING iforest(content=t, time=ts, by=(track AS Bucket_Width))");
	run_fails(db, "o: by column \"Bucket_Width\" has the name of a column of the export", "INSERT INTO o(o, step) VALUES('export', 10)");
	close_database(db);
}

/* A command that fails within a transaction leaves no part of an export. */
static void a_failure_leaves_no_half(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, TABLE INDEX);
	run(db, "INSERT INTO t(track, depth, ts, dur) VALUES('a', 0, 1, 5), ('a', 0, 1000, 6); INSERT INTO t_if(t_if, step) VALUES('export', 10);"
		"INSERT INTO t(track, depth, ts, dur) VALUES('a', 0, 50, 9223372036854775807), ('a', 0, 52, 1)");
	run_fails(db, "t_if: integer overflow", EXPORT);
	run_gives(db, "5\n", "SELECT min(sum_dur) FROM t_if_export"); /* rolled back */
	run(db, "BEGIN");
	run_fails(db, "t_if: integer overflow", EXPORT);
	run(db, "COMMIT");
	run_gives(db, "0\n", "SELECT count(*) FROM t_if_export");
	run(db, "DELETE FROM t WHERE ts = 50; " EXPORT);
	same_rows(db, "SELECT sum_dur FROM t_if_export WHERE bucket_width = 10 ORDER BY bucket_start", "SELECT dur FROM t ORDER BY ts");
	expect_as_anew(db);
	close_database(db);
}

static void times_at_the_ends_are_exported(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, TABLE INDEX);
	run(db, "INSERT INTO t(track, depth, ts, dur) VALUES('a', 0, -9223372036854775807 - 1, 1), ('a', 0, 9223372036854775807, 2), ('a', 0, -1, 3), ('b', 1, 0, 4);"
		"INSERT INTO t_if(t_if, step) VALUES('export', 1000000007)");
	run_gives(db, "4|10|34\n", "SELECT sum(count), sum(sum_dur), (SELECT count(*) FROM t_if_levels) FROM t_if_rollup WHERE bucket_level = 0");
	run(db, "UPDATE t SET dur = dur + 1; INSERT INTO t(track, ts) VALUES('c', 9223372036854775806); " EXPORT);
	run_gives(db, "5|14\n", "SELECT sum(count), sum(sum_dur) FROM t_if_rollup WHERE bucket_level = 33");
	expect_as_anew(db);
	run(db, "DELETE FROM t WHERE ts <> 0; " EXPORT);
	run_gives(db, "1|1|b\n", "SELECT (SELECT count(*) FROM t_if_levels), count, track FROM t_if_export");
	run(db, "DELETE FROM t; " EXPORT);
	run_gives(db, "1|0\n", "SELECT (SELECT count(*) FROM t_if_levels), count(*) FROM t_if_export");
	close_database(db);
}

/* Tests the other values of sync=, and an index without by columns and values. */
static void every_sync_exports(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER); INSERT INTO t(ts) VALUES(1), (5), (25);"
		"CREATE VIRTUAL TABLE a USING iforest(content=t, time=ts, sync=append); CREATE VIRTUAL TABLE m USING iforest(content=t, time=ts, sync=manual);"
		"INSERT INTO a(a, step) VALUES('export', 10); INSERT INTO m(m, step) VALUES('export', 10); INSERT INTO t(ts) VALUES(26), (2), (47);"
		"INSERT INTO a(a) VALUES('flush'); INSERT INTO a(a) VALUES('export'); INSERT INTO m(m) VALUES('export')");
	run_gives(db, "0|3\n20|2\n40|1\n", "SELECT bucket_start, count FROM a_export WHERE bucket_width = 10 ORDER BY 1");
	run_gives(db, "0|2\n20|1\n", "SELECT bucket_start, count FROM m_export WHERE bucket_width = 10 ORDER BY 1");
	run(db, "INSERT INTO m(m) VALUES('rebuild'); INSERT INTO m(m) VALUES('export')");
	run_gives(db, "0|3\n20|2\n40|1\n", "SELECT bucket_start, count FROM m_export WHERE bucket_width = 10 ORDER BY 1");
	close_database(db);
}

/* A rebuild may turn a column of reals into one of integers, which is exact beyond 2^53, and back. */
static void numbers_stay_what_the_index_says(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, v); INSERT INTO t VALUES(1, 0, 1.5), (2, 30, 2.0);"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=v); INSERT INTO t_if(t_if, step) VALUES('export', 10);"
		"UPDATE t SET v = 9007199254740993; INSERT INTO t_if(t_if) VALUES('rebuild'); " EXPORT);
	run_gives(db, "0|9007199254740993|9007199254740993|integer\n30|9007199254740993|9007199254740993|integer\n",
		  "SELECT bucket_start, sum_v, max_v, typeof(sum_v) FROM t_if_export WHERE bucket_width = 10 ORDER BY 1");
	run(db, "UPDATE t SET v = 2.0; INSERT INTO t_if(t_if) VALUES('rebuild'); " EXPORT);
	run_gives(db, "0|2.0|2.0|real\n30|2.0|2.0|real\n",
		  "SELECT bucket_start, sum_v, max_v, typeof(sum_v) FROM t_if_export WHERE bucket_width = 10 ORDER BY 1");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refresh_gives_what_making_anew_gives),
		cmocka_unit_test(only_what_changed_is_made_anew),
		cmocka_unit_test(a_plain_sqlite_reads_it),
		cmocka_unit_test(it_goes_with_its_index),
		cmocka_unit_test(it_refuses_what_makes_no_sense),
		cmocka_unit_test(a_failure_leaves_no_half),
		cmocka_unit_test(times_at_the_ends_are_exported),
		cmocka_unit_test(every_sync_exports),
		cmocka_unit_test(numbers_stay_what_the_index_says),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
