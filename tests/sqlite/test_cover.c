/* tests/sqlite/test_cover.c -- Tests of iforest_cover: its rows add up to what plain SQL returns for the window, whatever is
 * pending, removed or rolled back. */
#include "harness.h"

enum { N_ROUNDS = 15, N_STEPS = 8, N_WINDOWS = 4 };

#define TABLE "CREATE TABLE t(id INTEGER PRIMARY KEY, track, depth INTEGER, ts INTEGER, dur INTEGER, v REAL);"
#define INDEX "CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, duration=dur, value=(dur, v), by=(track, depth));" \
	"CREATE VIRTUAL TABLE c USING iforest_cover(t_if);"

static void change(sqlite3 *db, struct random *random)
{
	switch (random_below(random, 9)) {
	case 0:
		run(db, "DELETE FROM t WHERE id %% 11 = %lld", random_below(random, 11));
		break;
	case 1:
		run(db, "UPDATE t SET ts = ts + 5, v = NULL WHERE id %% 13 = %lld AND ts < 1000000", random_below(random, 13));
		break;
	case 2:
		run(db, "SAVEPOINT s; DELETE FROM t WHERE id %% 2; INSERT INTO t(track, ts) VALUES('gone', 3); ROLLBACK TO s; RELEASE s");
		break;
	case 3:
		run(db, "INSERT INTO t(track, ts, dur) VALUES(NULL, %s, 3), ('far', %s, NULL)", one_in(random, 2) ? "NULL" : "-9223372036854775808",
		    one_in(random, 2) ? "9223372036854775807" : "NULL");
		break;
	case 4:
	case 5:
		run(db, "INSERT INTO t_if(t_if) VALUES(%Q)", one_in(random, 4) ? "optimize" : "flush");
		break;
	default:
		run(db, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < %lld)"
		    " INSERT INTO t(track, depth, ts, dur, v) SELECT 'track ' || (x %% 3), x %% 2, %lld + x, x %% 77 - 9, x / 4.0 FROM n",
		    1 + random_below(random, 2000), random_below(random, 10000));
	}
}

#define SUMS "track, depth, sum(count), min(first_ts), max(last_ts), sum(count_dur), sum(sum_dur), min(min_dur), max(max_dur), count(sum_v) > 0, sum(sum_v)"
#define PLAIN "track, depth, count(*), min(ts), max(ts), count(dur), sum(dur), min(dur), max(dur), count(v) > 0, sum(v)"

static void check(sqlite3 *db, struct random *random)
{
	for (int i = 0; i < N_WINDOWS; i++) {
		int64_t t0 = random_below(random, 15000) - 1000, t1 = t0 + random_below(random, 9000);
		char *from[] = { sqlite3_mprintf("c"), sqlite3_mprintf("c(%lld)", t0), sqlite3_mprintf("c WHERE t1 = %lld", t1),
				 sqlite3_mprintf("c(%lld, %lld)", t0, t1) };
		char *where[] = { sqlite3_mprintf("1"), sqlite3_mprintf("ts >= %lld", t0), sqlite3_mprintf("ts < %lld", t1),
				  sqlite3_mprintf("ts >= %lld AND ts < %lld", t0, t1) };
		int64_t open = random_below(random, 4);
		char *sums, *truth;

		sums = sqlite3_mprintf("SELECT " SUMS " FROM %s GROUP BY 1, 2 ORDER BY 1, 2", from[open]);
		truth = sqlite3_mprintf("SELECT " PLAIN " FROM t WHERE %s GROUP BY 1, 2 ORDER BY 1, 2", where[open]);
		same_rows(db, sums, truth);
		sqlite3_free(sums);
		sqlite3_free(truth);
		for (int w = 0; w < 4; w++) {
			sqlite3_free(from[w]);
			sqlite3_free(where[w]);
		}
	}
}

static void its_rows_add_up_to_the_window(void **state)
{
	(void)state;
	for (int round = 0; round < N_ROUNDS; round++) {
		struct random random = { test_seed() + (uint64_t)round };
		sqlite3 *db = open_database(":memory:", 0);

		run(db, TABLE INDEX);
		for (int step = 0; step < N_STEPS; step++) {
			bool in_transaction = one_in(&random, 3);

			run(db, in_transaction ? "BEGIN" : "SELECT 1");
			change(db, &random);
			change(db, &random);
			check(db, &random);
			run(db, !in_transaction ? "SELECT 1" : one_in(&random, 2) ? "COMMIT" : "ROLLBACK");
			check(db, &random);
		}
		close_database(db);
	}
}

/* Over a hundred thousand entries in one series and one run there are few rows, each a node or a part of a leaf page. */
static void its_rows_are_few(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER);"
		"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000) INSERT INTO t SELECT x, x * 10, x FROM n;"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, duration=dur); CREATE VIRTUAL TABLE c USING iforest_cover(t_if)");
	run_gives(db, "1|100000\n", "SELECT count(*), sum(count) FROM c");
	run_gives(db, "1|1\n", "SELECT count(*) BETWEEN 3 AND 60, sum(node_level = 0) <= 2 FROM c(777, 999001)");
	run_gives(db, "1|0\n", "SELECT count(DISTINCT run_id), sum(count <= 0) FROM c(777, 999001)");
	run_gives(db, "0\n", "SELECT count(*) FROM c a JOIN c b ON a.rowid = b.rowid AND a.node_number <> b.node_number");
	run_gives(db, "1|1\n", "SELECT count(DISTINCT rowid) = count(*), count(DISTINCT node_level || ',' || node_number) = count(*) FROM c(777, 999001)");
	/* pending rows are in memory, and in no run */
	run(db, "DELETE FROM t WHERE id = 50000; INSERT INTO t VALUES(50000, 3, 1)");
	run_gives(db, "1\n", "SELECT count FROM c(1, 4) WHERE run_id IS NULL");
	run_gives(db, "100000\n", "SELECT sum(count) FROM c");
	close_database(db);
}

/* Rows that are inserted between queries form sorted runs in memory, one for each bit of their number, with nodes over each. */
static void pending_rows_are_merged_by_doubling(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER);"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, duration=dur); CREATE VIRTUAL TABLE c USING iforest_cover(t_if)");
	for (int n = 1; n <= 128; n++) {
		run(db, "WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n LIMIT 50) INSERT INTO t(ts, dur) SELECT %d + x * 777, x FROM n", n);
		assert_int_equal(integer_of(db, "SELECT sum(count) FROM c"), n * 50);
		assert_true(integer_of(db, "SELECT count(*) FROM c") <= 8);
		assert_int_equal(integer_of(db, "SELECT count(run_id) FROM c"), 0);
	}
	run_gives(db, "1|1\n", "SELECT count(*) <= 4, max(node_level) > 0 FROM c"); /* the trees of one run's forest */
	same_rows(db, "SELECT bucket, count, sum_dur FROM t_if(0, 40000, 40) ORDER BY bucket",
		  "SELECT ts / 1000, count(*), sum(dur) FROM t GROUP BY 1 ORDER BY 1");
	close_database(db);
}

static void it_may_be_asked_as_a_table(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, TABLE INDEX "INSERT INTO t(track, depth, ts, dur) VALUES('a', 0, 1, 5), ('a', 1, 2, 6), ('b', 0, 3, 7)");
	run_gives(db, "a|0|1\na|1|1\n", "SELECT track, depth, count FROM c(0, 9) WHERE track = 'a' ORDER BY depth");
	run_gives(db, "0|9|3\n", "SELECT t0, t1, sum(count) FROM c(0, 9)");
	run_gives(db, "a|0\nb|0\n", "SELECT track, depth FROM c WHERE (track = 'a' AND depth = 0) OR track = 'b' ORDER BY 1");
	run_gives(db, "", "SELECT * FROM c(NULL, 3)");
	run_gives(db, "5\n", "SELECT sum(sum_dur) FROM c(1e0, 2.0)");
	run_gives(db, "1|1\n2|2\n", "SELECT w, sum(count) FROM (SELECT 1 AS w, 1 AS a, 2 AS b UNION ALL SELECT 2, 2, 9) JOIN c(a, b) GROUP BY w");
	run_fails(db, "c: argument t0 takes = only", "SELECT * FROM c WHERE t0 > 3");
	run_fails(db, "c: argument t0 is used, but not given with =", "SELECT t0 FROM c");
	run_fails(db, "c: argument t1 is not an integer: 'x'", "SELECT * FROM c(1, 'x')");
	run(db, "CREATE VIEW v AS SELECT * FROM c(0, 9); PRAGMA trusted_schema = off");
	run_gives(db, "3\n", "SELECT count(*) FROM v");
	run_fails(db, "iforest_cover: name an index", "CREATE VIRTUAL TABLE d USING iforest_cover");
	run_fails(db, "iforest_cover: no index \"x\" in schema \"main\"", "CREATE VIRTUAL TABLE d USING iforest_cover(x)");
	run_fails(db, "iforest_cover: takes an index and nothing else", "CREATE VIRTUAL TABLE d USING iforest_cover(t_if, track)");
	run(db, "CREATE VIRTUAL TABLE o USING iforest(content=t, time=ts, by=(track AS run_id))");
	run_fails(db, "iforest_cover: duplicate column name: run_id; give the by column another name", "CREATE VIRTUAL TABLE d USING iforest_cover(o)");
	run(db, "DROP TABLE t_if");
	run_any(db, "SELECT * FROM c");
	run(db, "DROP VIEW v; DROP TABLE c");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_rows_add_up_to_the_window),
		cmocka_unit_test(its_rows_are_few),
		cmocka_unit_test(pending_rows_are_merged_by_doubling),
		cmocka_unit_test(it_may_be_asked_as_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
