/* tests/sqlite/test_counter_pieces.c -- Tests of iforest_counter over an index with counter=...: it returns the same as over an
 * index without it, and as plain SQL, while rows change. Kept summaries may be lost; wrong ones must be noticed. */
#include "life.h"

enum { N_ROWS = 40000, LAST = N_ROWS * 100 };

#define INDEX "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, value=(v, r AS real), by=track, counter=(v, real))"
#define WITH_ENDS "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, value=(v, r AS real), by=track, counter=(v, real))"

/* Counters that grow and reset, fall below 0, and sometimes have no value; some samples have equal times, or no time. Reals are
 * eighths, so that their sums are the same in any order. */
static sqlite3 *open_samples(const char *index)
{
	sqlite3 *db = open_database(":memory:", 0);

	run(db, "CREATE TABLE d(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, v INTEGER, r REAL, dur INTEGER);"
		"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < %d) INSERT INTO d SELECT x, CASE WHEN x %% 5 THEN 'cpu' ELSE 'gpu' END, "
		"iif(x %% 97, x * 100 + x * 37 %% 350 / 10 * 10, NULL), iif(x %% 31, x %% 1777 * (x * 31 %% 13) - 900, NULL), (x * 104729 %% 1003 - 100) / 8.0, "
		"CASE x %% 10 WHEN 0 THEN NULL WHEN 1 THEN -1 WHEN 2 THEN 0 WHEN 3 THEN 40000 ELSE x * 37 %% 141 END FROM n", N_ROWS);
	run(db, "%s; CREATE VIRTUAL TABLE c USING iforest_counter(d_if)", index);
	return db;
}

/* Creates an index of the same rows again, without counter=...: it reads every sample. */
static void make_plain(sqlite3 *db)
{
	bool has_ends = integer_of(db, "SELECT sql LIKE '%%duration=%%' FROM sqlite_schema WHERE name = 'd_if'");

	run(db, "DROP TABLE IF EXISTS p; DROP TABLE IF EXISTS p_if; CREATE VIRTUAL TABLE p_if USING iforest(content=d, time=ts, %svalue=(v, r AS real), by=track);"
		"CREATE VIRTUAL TABLE p USING iforest_counter(p_if)", has_ends ? "duration=dur, " : "");
}

static void same_columns(sqlite3 *db, const char *columns, sqlite3_int64 t0, sqlite3_int64 t1, const char *where)
{
	char *asked = sqlite3_mprintf("SELECT %s FROM c(%lld, %lld) WHERE %s ORDER BY track, bucket", columns, t0, t1, where);
	char *request = sqlite3_mprintf("SELECT %s FROM p(%lld, %lld) WHERE %s ORDER BY track, bucket", columns, t0, t1, where);

	same_rows(db, asked, request);
	sqlite3_free(asked);
	sqlite3_free(request);
}

#define OF(v) "count_" v ", start_" v ", end_" v ", twa_" v ", increase_" v ", rate_" v ", resets_" v

static void expect_windows(sqlite3 *db, struct random *random, int n)
{
	static const char *const columns[] = {
		"track, bucket, count, first_ts, last_ts, " OF("v") ", " OF("real"), "track, bucket, " OF("v"), "track, bucket, count, first_ts, " OF("real"),
		"track, bucket, count, first_ts, last_ts",
	};

	make_plain(db);
	for (int i = 0; i < n; i++) {
		sqlite3_int64 width = random_below(random, (LAST >> random_below(random, 8)) + 1) + 1;
		sqlite3_int64 t0 = random_below(random, LAST) - LAST / 4, t1 = t0 + width;
		char where[100];

		same_columns(db, columns[random_below(random, 4)], t0, t1, "1");
		snprintf(where, sizeof where, "n = %d", 1 + (int)random_below(random, 30));
		same_columns(db, columns[random_below(random, 4)], t0, t1, where);
		snprintf(where, sizeof where, "step = %lld AND origin = 17 AND track = 'cpu'", (long long)(width / (1 + random_below(random, 9)) + 1));
		same_columns(db, columns[random_below(random, 4)], t0, t1, where);
	}
	same_columns(db, columns[0], -1000, 2 * LAST, "1");
	same_columns(db, columns[0], INT64_MIN, INT64_MAX, "1");
}

/* Compares with plain SQL, which goes through pairs of samples. */
static void expect_plain_sql(sqlite3 *db, sqlite3_int64 t0, sqlite3_int64 t1)
{
	char *ours = sqlite3_mprintf("SELECT track, count_v, increase_v, resets_v, twa_v FROM c(%lld, %lld) ORDER BY track", t0, t1);
	char *plain = sqlite3_mprintf(
		"WITH s AS (SELECT track, ts, v, lag(v) OVER w AS was, lead(ts, 1, %lld) OVER w AS next FROM d WHERE v IS NOT NULL AND ts IS NOT NULL"
		" WINDOW w AS (PARTITION BY track ORDER BY ts, id))"
		" SELECT track, sum(ts >= %lld), sum(iif(ts >= %lld, iif(v < was, v, v - was), 0)), sum(ts >= %lld AND v < was),"
		" sum(v * (min(next, %lld) - max(ts, %lld))) * 1.0 / sum(min(next, %lld) - max(ts, %lld))"
		" FROM s WHERE ts < %lld AND (ts >= %lld OR next > %lld) GROUP BY track ORDER BY track",
		t1, t0, t0, t0, t1, t0, t1, t0, t1, t0, t0);

	same_rows(db, ours, plain);
	sqlite3_free(ours);
	sqlite3_free(plain);
}

static const struct life life = {
	.updates = "UPDATE d SET v = v * 3, r = r + 1 WHERE id % 1000 = 1; DELETE FROM d WHERE id % 999 = 5;"
		   " UPDATE d SET ts = ts + 5000, track = 'gpu' WHERE id % 1001 = 9;"
		   " INSERT INTO d SELECT id + 40000, 'new', ts + 3, v, r, dur FROM d WHERE id % 500 = 2",
	.inserts = "INSERT INTO d SELECT id + 80000, track, ts + 4000000, v, r, dur FROM d WHERE id < 9000",
	.kept = "d_if_piece",
	.damage = "d_if: corrupt: what is kept of the page's counters is wrong (run ",
	.query = "SELECT count(twa_v) FROM c(0, 3000000)",
	.expect = expect_windows,
};

static void change_and_ask(sqlite3 *db, struct random *random)
{
	run_gives(db, "0|1\n1|1\n", "SELECT value, count(*) > 0 FROM d_if_piece GROUP BY value");
	life_live(&life, db, random);
	run(db, "INSERT INTO d SELECT id + 120000, track, ts + 7, v, r, dur FROM d WHERE id < 20000"); /* late */
	expect_windows(db, random, 3);
	run(db, "INSERT INTO d_if(d_if) VALUES('flush')");
	expect_windows(db, random, 3);
}

static void it_is_the_same_as_sample_by_sample(void **state)
{
	struct random random = { test_seed() };
	sqlite3 *db = open_samples(INDEX);

	(void)state;
	expect_plain_sql(db, 123456, 2999999);
	expect_plain_sql(db, 1, LAST * 2);
	change_and_ask(db, &random);
	expect_plain_sql(db, 123456, 3999999);
	close_database(db);
}

static void so_it_is_with_durations(void **state)
{
	struct random random = { test_seed() + 1 };
	sqlite3 *db = open_samples(WITH_ENDS);

	(void)state;
	change_and_ask(db, &random);
	close_database(db);
}

/* A window over one run reads its summaries. If they are damaged, the query fails; without them, the result is the same. */
static void pieces_may_be_lost_but_not_wrong(void **state)
{
	struct random random = { test_seed() };
	sqlite3 *db = open_samples(INDEX);

	(void)state;
	run(db, "DELETE FROM d_if_piece WHERE level = 2 AND number %% 2");
	expect_windows(db, &random, 3);
	run(db, "INSERT INTO d_if(d_if) VALUES('merge')");
	life_lose_kept(&life, db, &random);
	run(db, "DROP TABLE kept; CREATE TABLE kept AS SELECT * FROM d_if_piece; UPDATE d_if_piece AS x SET bytes ="
		" (SELECT bytes FROM kept WHERE value = x.value AND level = x.level AND number <> x.number)"
		" WHERE EXISTS (SELECT 1 FROM kept WHERE value = x.value AND level = x.level AND number <> x.number)"); /* those of another node */
	run_fails(db, life.damage, "%s", life.query);
	close_database(db);
}

static void its_table_comes_and_goes_with_the_index(void **state)
{
	sqlite3 *db = open_samples(INDEX);

	(void)state;
	run(db, "DROP TABLE c; ALTER TABLE d_if RENAME TO other; CREATE VIRTUAL TABLE c USING iforest_counter(other)");
	run_gives(db, "other_piece\n", "SELECT name FROM sqlite_schema WHERE name GLOB '*_piece'");
	expect_plain_sql(db, 4321, 3456789);
	run(db, "DROP TABLE c; DROP TABLE other");
	run_gives(db, "0\n", "SELECT count(*) FROM sqlite_schema WHERE name GLOB '*_piece*'");
	run(db, "CREATE TABLE d_if_piece(x); CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, value=v, by=track)");
	run(db, "CREATE VIRTUAL TABLE c USING iforest_counter(d_if)");
	expect_plain_sql(db, 4321, 3456789);
	run(db, "DROP TABLE d_if; INSERT INTO d_if_piece VALUES(1)");
	close_database(db);
}

static void arguments_that_are_refused(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE d(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, v INTEGER, dur INTEGER)");
	run_fails(db, "iforest: counter=(track): no value column has that name; list it in value=(...)",
		  "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, value=v, counter=track)");
	run_fails(db, "iforest: counter=(v): no value column has that name; list it in value=(...)",
		  "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, value=(v AS w), counter=v)");
	run_fails(db, "iforest: counter=(...) names \"V\" twice", "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, value=v, counter=(v, V))");
	run_fails(db, "iforest: argument \"counter\" is given twice",
		  "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, value=v, counter=v, counter=v)");
	run(db, "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, value=v, variance=v, by=track, sync=manual, sketch=v, counter=v)"); /* all */
	run(db, "INSERT INTO d VALUES(1, 'a', 5, 7, 2); INSERT INTO d_if(d_if) VALUES('rebuild'); CREATE VIRTUAL TABLE c USING iforest_counter(d_if)");
	run_gives(db, "a|7.0\n", "SELECT track, twa_v FROM c(0, 10)");
	close_database(db);
}

/* Summaries are kept for one of two columns: queries of the other read samples. */
static void columns_of_which_nothing_is_kept_are_read(void **state)
{
	sqlite3 *db = open_samples("CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, value=(v, r AS real), by=track, counter=real)");

	(void)state;
	run_gives(db, "1\n", "SELECT group_concat(DISTINCT value) FROM d_if_piece");
	expect_plain_sql(db, 4321, 3456789);
	run(db, "UPDATE d_if_piece SET bytes = x'00'");
	expect_plain_sql(db, 4321, 3456789);
	run_fails(db, "d_if: corrupt: what is kept of the page's counters is wrong (run ", "SELECT twa_real FROM c(0, 3000000)");
	run(db, "SELECT twa_real, twa_v FROM c(0, 3000000)");
	close_database(db);
}

static void it_holds_with_every_way_of_following(void **state)
{
	static const char *const syncs[] = { "append", "manual" };

	(void)state;
	for (int s = 0; s < 2; s++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, "CREATE TABLE d(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, v INTEGER);"
			"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 30000) INSERT INTO d SELECT x, 'a', x, x * 31 %% 997 FROM n;"
			"CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, value=v, by=track, sync=%s, counter=v);"
			"CREATE VIRTUAL TABLE c USING iforest_counter(d_if);"
			"INSERT INTO d SELECT id + 30000, 'a', ts + 20000, v + 1 FROM d", syncs[s]);
		if (s == 0)
			expect_plain_sql(db, 300, 44000);
		run(db, "INSERT INTO d_if(d_if) VALUES('%s')", s ? "rebuild" : "flush");
		expect_plain_sql(db, 300, 44000);
		run(db, "INSERT INTO d_if(d_if) VALUES('integrity-check')");
		close_database(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_same_as_sample_by_sample),
		cmocka_unit_test(so_it_is_with_durations),
		cmocka_unit_test(pieces_may_be_lost_but_not_wrong),
		cmocka_unit_test(its_table_comes_and_goes_with_the_index),
		cmocka_unit_test(arguments_that_are_refused),
		cmocka_unit_test(columns_of_which_nothing_is_kept_are_read),
		cmocka_unit_test(it_holds_with_every_way_of_following),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
