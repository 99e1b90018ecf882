/* tests/sqlite/test_bucket_function.c -- Tests of iforest_bucket(): it returns the bucket numbers of an index, over the whole
 * range of times. */
#include "harness.h"

enum { N_ROUNDS = 300, N_ROWS = 60 };

/* Returns a time in the window; t0 if the window is empty. */
static int64_t random_inside(struct random *random, int64_t t0, int64_t t1)
{
	return t1 > t0 ? (int64_t)((uint64_t)t0 + random64(random) % ((uint64_t)t1 - (uint64_t)t0)) : t0;
}

/* Returns a time, near another one or anywhere. */
static int64_t random_time(struct random *random, int64_t near)
{
	switch (random_below(random, 5)) {
	case 0:
		return INT64_MIN + random_below(random, 4);
	case 1:
		return INT64_MAX - random_below(random, 4);
	case 2:
		return random_below(random, 2000) - 1000;
	case 3:
		return (int64_t)((uint64_t)near + (uint64_t)random_below(random, 100));
	default:
		return (int64_t)random64(random);
	}
}

static void it_numbers_buckets_as_an_index_does(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER); CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts)");
	for (int round = 0; round < N_ROUNDS; round++) {
		struct random random = { test_seed() + (uint64_t)round };
		int64_t near = (int64_t)random64(&random), t0 = random_time(&random, near), t1 = random_time(&random, near);
		int64_t n = one_in(&random, 4) ? (int64_t)(random64(&random) >> 1 | 1) : 1 + random_below(&random, 3000);
		char *of_index, *of_function;

		run(db, "DELETE FROM t; BEGIN");
		for (int i = 0; i < N_ROWS; i++)
			run(db, one_in(&random, 20) ? "INSERT INTO t(ts) VALUES(NULL)" : "INSERT INTO t(ts) VALUES(%lld)",
			    one_in(&random, 3) ? random_inside(&random, t0, t1) : random_time(&random, near));
		run(db, "COMMIT");
		of_index = sqlite3_mprintf("SELECT bucket, count FROM t_if(%lld, %lld, %lld) ORDER BY bucket", t0, t1, n);
		of_function = sqlite3_mprintf("SELECT iforest_bucket(ts, %lld, %lld, %lld) AS b, count(*) FROM t WHERE b IS NOT NULL GROUP BY b ORDER BY b",
					      t0, t1, n);
		same_rows(db, of_index, of_function);
		sqlite3_free(of_index);
		sqlite3_free(of_function);
	}
	close_database(db);
}

static void it_knows_what_has_no_bucket(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run_gives(db, "0|3|||\n", "SELECT iforest_bucket(0, 0, 100, 4), iforest_bucket(99, 0, 100, 4), iforest_bucket(100, 0, 100, 4), "
		  "iforest_bucket(-1, 0, 100, 4), iforest_bucket(5, 9, 3, 4)");
	run_gives(db, "|||\n", "SELECT iforest_bucket(NULL, 0, 100, 4), iforest_bucket(1, NULL, 100, 4), iforest_bucket(1, 0, NULL, 4), "
		  "iforest_bucket(1, 0, 100, NULL)");
	run_gives(db, "2\n", "SELECT iforest_bucket(60e9, 0e0, 120e9, 4.0)");
	run_fails(db, "iforest_bucket: argument t0 is not an integer: a blob", "SELECT iforest_bucket(1, x'00', 10, 2)");
	run_fails(db, "iforest_bucket: argument ts is not a time such as '2026-01-31 23:59:59.5': 1", "SELECT iforest_bucket(1, 0, '10', 2)");
	run_fails(db, "iforest_bucket: argument t1 is not a time such as '2026-01-31 23:59:59.5': 10", "SELECT iforest_bucket('2026-01-01', '2026-01-01', '10', 2)");
	run_fails(db, "iforest_bucket: argument t1 is infinite: leave it out", "SELECT iforest_bucket(1.5, 0, 9e999, 2)");
	run_fails(db, "iforest_bucket: argument t0 is an integer that no real is equal to: 9007199254740993", "SELECT iforest_bucket(1.5, 9007199254740993, 1e300, 2)");
	run_gives(db, "1|2|1|9|0|\n", "SELECT iforest_bucket(1.5, 0, 3, 2), iforest_bucket(0.75, 0.25, 1, 3), iforest_bucket(3, 0.5, 4.5, 2), iforest_bucket(0.95, 0, 1, 10), iforest_bucket(0.0, 0, 1, 10), iforest_bucket(1.5, 0, 1.5, 2)");
	run_gives(db, "12|23||8\n", "SELECT iforest_bucket('2026-01-01T13:00+01:00', '2026-01-01', '2026-01-02', 24), iforest_bucket('2026-01-01 23:59:59.999999999', '2026-01-01', '2026-01-02', 24),"
		  " iforest_bucket('2026-01-02', '2026-01-01', '2026-01-02', 24), iforest_bucket('1000-01-01', '0200-01-01', '1200-01-01', 10)");
	run_fails(db, "iforest_bucket: n must be greater than 0", "SELECT iforest_bucket(1, 0, 10, 0)");
	run_fails(db, "iforest_bucket: n must be greater than 0", "SELECT iforest_bucket(1, 0, 10, -3)");
	run_fails(db, "wrong number of arguments", "SELECT iforest_bucket(1, 0, 10)");
	close_database(db);
}

/* An index on an expression needs a deterministic function; a view in a schema that is not trusted, an innocuous one. */
static void it_may_stand_in_schemas(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(ts INTEGER, b AS (iforest_bucket(ts, 0, 100, 10))); CREATE INDEX t_b ON t(iforest_bucket(ts, 0, 100, 10));"
		"CREATE VIEW buckets AS SELECT iforest_bucket(ts, 0, 100, 10) AS bucket FROM t; INSERT INTO t VALUES(42); PRAGMA trusted_schema = off");
	run_gives(db, "4|4\n", "SELECT bucket, b FROM buckets, t");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_numbers_buckets_as_an_index_does),
		cmocka_unit_test(it_knows_what_has_no_bucket),
		cmocka_unit_test(it_may_stand_in_schemas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
