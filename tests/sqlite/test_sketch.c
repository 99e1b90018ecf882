/* tests/sqlite/test_sketch.c -- Tests of sketches in SQL: quantiles against the sorted values, window frames and merges byte by
 * byte, and the columns sketch_v of an index against iforest_sketch(v) over the table's rows, while these change. */
#include "life.h"

#include "tests/support/sketch_vectors.h"

/* ---- the functions ---- */

static void make_values(sqlite3 *db, struct random *random, int n, bool with_reals)
{
	run(db, "DROP TABLE IF EXISTS t; CREATE TABLE t(id INTEGER PRIMARY KEY, g, v)");
	run(db, "BEGIN");
	for (int i = 1; i <= n; i++) {
		int64_t number = (int64_t)(random64(random) >> random_below(random, 64));

		if (one_in(random, 10))
			run(db, "INSERT INTO t VALUES(%d, %d, NULL)", i, (int)random_below(random, 5));
		else if (with_reals && one_in(random, 2))
			run(db, "INSERT INTO t VALUES(%d, %d, %lld / 1000.0)", i, (int)random_below(random, 5), number);
		else
			run(db, "INSERT INTO t VALUES(%d, %d, %lld)", i, (int)random_below(random, 5), one_in(random, 4) ? -(number / 2) : number);
	}
	run(db, "COMMIT");
}

static void quantiles_are_near_those_of_the_sorted_values(void **state)
{
	struct random random = { test_seed() };
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	for (int round = 0; round < 6; round++) {
		make_values(db, &random, 1 + (int)random_below(&random, 400), round % 2);
		run(db, "DROP TABLE IF EXISTS q; CREATE TEMP TABLE q AS WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < 100) "
			"SELECT i / 100.0 AS q FROM s");
		/* percentile_disc is the value at position ceil(q n) */
		run(db, "DROP TABLE IF EXISTS ranked; CREATE TEMP TABLE ranked AS SELECT row_number() OVER (ORDER BY v) AS k, v FROM t WHERE v IS NOT NULL");
		run(db, "DROP TABLE IF EXISTS a; CREATE TEMP TABLE a AS SELECT q, iforest_quantile(s, q) AS near, iforest_quantile(s, q, low, high) AS "
			"clamped, (SELECT v FROM ranked WHERE k = max(1, CAST(q * n AS INTEGER) + (q * n > CAST(q * n AS INTEGER)))) AS exact, low, high, n "
			"FROM q, (SELECT iforest_sketch(v) AS s, min(v) AS low, max(v) AS high, count(v) AS n FROM t)");
		run_gives(db, "0\n", "SELECT count(*) FROM a WHERE n > 0 AND NOT abs(near * 1.0 - exact) <= abs(exact) / 127.9");
		run_gives(db, "0\n", "SELECT count(*) FROM a WHERE n > 0 AND NOT (abs(clamped * 1.0 - exact) <= abs(exact) / 127.9 AND clamped BETWEEN low AND high)");
		run_gives(db, "0\n", "SELECT count(*) FROM a WHERE q = 0 AND clamped IS NOT low OR q = 1 AND clamped IS NOT high");
		if (!(round % 2))
			run_gives(db, "0\n", "SELECT count(*) FROM a WHERE n > 0 AND typeof(near) <> 'integer'");
		run_gives(db, "1\n", "SELECT ifnull(iforest_sketch_count(iforest_sketch(v)), 0) = count(v) FROM t");
	}
	close_database(db);
}

static void merges_and_frames_are_byte_for_byte(void **state)
{
	struct random random = { test_seed() };
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	for (int round = 0; round < 4; round++) {
		make_values(db, &random, 300, round % 2);
		run_gives(db, "1\n", "SELECT (SELECT iforest_sketch_merge(s) FROM (SELECT iforest_sketch(v) AS s FROM t GROUP BY g)) = "
			"(SELECT iforest_sketch(v) FROM (SELECT v FROM t ORDER BY v DESC))");
		run_gives(db, "300|0\n", "SELECT count(*), sum(s IS NOT (SELECT iforest_sketch(v) FROM t WHERE id BETWEEN w.id - 5 AND w.id + 3)) FROM "
			"(SELECT id, iforest_sketch(v) OVER (ORDER BY id ROWS BETWEEN 5 PRECEDING AND 3 FOLLOWING) AS s FROM t) AS w");
		run_gives(db, "300|0\n", "SELECT count(*), sum(s IS NOT (SELECT iforest_sketch(v) FROM t WHERE id BETWEEN w.id - 2 AND w.id)) FROM (SELECT id, "
			"iforest_sketch_merge(s) OVER (ORDER BY id ROWS 2 PRECEDING) AS s FROM (SELECT id, iforest_sketch(v) AS s FROM t GROUP BY id)) AS w");
	}
	close_database(db);
}

static void what_functions_give_and_refuse(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run_gives(db, "1|1|1|0\n", "SELECT iforest_sketch(NULL) IS NULL, iforest_quantile(NULL, 0.5) IS NULL, iforest_sketch_merge(NULL) IS NULL, "
		"iforest_sketch_count(NULL)");
	run_gives(db, "1|1\n", "SELECT iforest_sketch(1) IS NULL, iforest_quantile(iforest_sketch(1), 0.5) IS NULL FROM (SELECT 1) WHERE 0");
	run_gives(db, "1\n", "SELECT iforest_quantile(iforest_sketch(7), NULL) IS NULL");
	run_gives(db, "7|integer\n", "SELECT iforest_quantile(s, 0.5), typeof(iforest_quantile(s, 1)) FROM (SELECT iforest_sketch('7') AS s)");
	run_gives(db, "real\n", "SELECT typeof(iforest_quantile(iforest_sketch(column1), 0)) FROM (VALUES(1), (2.5))");
	run_gives(db, "1\n", "SELECT iforest_sketch(column1) = iforest_sketch(+column1) FROM (VALUES(9223372036854775807), (-9223372036854775807 - 1))");
	run_gives(db, "-9223372036854775808\n", "SELECT iforest_quantile(iforest_sketch(-9223372036854775807 - 1), 0.5)");
	run_gives(db, "1000|2000\n", "SELECT iforest_quantile(s, 0, 1000, 2000), iforest_quantile(s, 1, 1000, 2000) FROM (SELECT iforest_sketch(column1) AS s "
		"FROM (VALUES(2000), (1000)))");
	run_gives(db, "1\n", "SELECT iforest_quantile(iforest_sketch(1000), 0.5, NULL, NULL) = iforest_quantile(iforest_sketch(1000), 0.5)");
	run_gives(db, "Inf|-Inf\n", "SELECT iforest_quantile(s, 1), iforest_quantile(s, 0) FROM (SELECT iforest_sketch(column1) AS s FROM (VALUES(9e999), (-9e999), (0)))");

	run_fails(db, "iforest_sketch: a value is not a number; cast it, or leave it out", "SELECT iforest_sketch('seven')");
	run_fails(db, "iforest_sketch: a value is not a number; cast it, or leave it out", "SELECT iforest_sketch(x'01')");
	run_fails(db, "iforest_quantile: not a sketch, or a damaged one; it takes what iforest_sketch() gives", "SELECT iforest_quantile('text', 0.5)");
	run_fails(db, "iforest_quantile: not a sketch, or a damaged one", "SELECT iforest_quantile(x'', 0.5)");
	run_fails(db, "iforest_quantile: not a sketch, or a damaged one", "SELECT iforest_quantile(zeroblob(100), 0.5)");
	run_fails(db, "iforest_sketch_count: not a sketch, or a damaged one", "SELECT iforest_sketch_count(12)");
	run_fails(db, "iforest_sketch_merge: not a sketch, or a damaged one", "SELECT iforest_sketch_merge(12)");
	run_fails(db, "iforest_quantile: the second argument is not a number from 0 to 1", "SELECT iforest_quantile(iforest_sketch(1), 1.01)");
	run_fails(db, "iforest_quantile: the second argument is not a number from 0 to 1", "SELECT iforest_quantile(iforest_sketch(1), -0.01)");
	run_fails(db, "iforest_quantile: the second argument is not a number from 0 to 1", "SELECT iforest_quantile(iforest_sketch(1), 'half')");
	run_fails(db, "iforest_quantile: min and max must be numbers", "SELECT iforest_quantile(iforest_sketch(1), 0.5, 'a', 2)");
	run_fails(db, "iforest_quantile: min and max are not those of the sketch's numbers", "SELECT iforest_quantile(iforest_sketch(1000), 0.5, 1, 1000)");
	run_fails(db, "wrong number of arguments", "SELECT iforest_quantile(iforest_sketch(1), 0.5, 1)");
	close_database(db);
}

/* ---- the columns of an index ---- */

enum { N_ROWS = 40000, LAST = N_ROWS * 100 };

#define INDEX "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, value=(r AS real), by=track, sketch=(dur, real))"
#define NUMBER "x * 7919 %% 1000003 * (1 << (x * 31 %% 20)) / 3" /* up to 38 bits, evenly distributed by length */

static sqlite3 *open_spans(const char *index)
{
	sqlite3 *db = open_database(":memory:", 0);

	run(db, "CREATE TABLE d(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER, r REAL);"
		"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < %d) INSERT INTO d SELECT x, CASE WHEN x %% 5 THEN 'cpu' ELSE 'gpu' END, "
		"iif(x %% 97, x * 100 + x * 37 %% 50, NULL), iif(x %% 31, " NUMBER ", NULL), (x * 104729 %% 1000003 - 1000) / 7.0 FROM n", N_ROWS);
	run(db, "%s", index);
	return db;
}

/* Fails unless sketches of windows, buckets and folds are those that the functions compute from the rows. */
static void expect_windows(sqlite3 *db, struct random *random, int n)
{
	same_rows(db, "SELECT track, count, hex(sketch_dur), hex(sketch_real) FROM d_if ORDER BY track",
		  "SELECT track, count(*), hex(iforest_sketch(dur)), hex(iforest_sketch(r)) FROM d GROUP BY track ORDER BY track");
	for (int i = 0; i < n; i++) {
		sqlite3_int64 width = random_below(random, (LAST >> random_below(random, 12)) + 1);
		sqlite3_int64 t0 = random_below(random, LAST) - LAST / 4, t1 = t0 + width;
		char *asked = sqlite3_mprintf("SELECT track, count, hex(sketch_dur), hex(sketch_real) FROM d_if(%lld, %lld) ORDER BY track", t0, t1);
		char *request = sqlite3_mprintf("SELECT track, count(*), hex(iforest_sketch(dur)), hex(iforest_sketch(r)) FROM d WHERE ts >= %lld AND ts < %lld "
					       "GROUP BY track ORDER BY track", t0, t1);

		same_rows(db, asked, request);
		sqlite3_free(asked);
		sqlite3_free(request);
		run_gives(db, "0\n", "SELECT count(*) FROM d_if(%lld, %lld, %d) AS b WHERE sketch_dur IS NOT (SELECT iforest_sketch(dur) FROM d WHERE "
			"track = b.track AND ts >= bucket_start AND ts < bucket_end)", t0, t1 + 1, 1 + (int)random_below(random, 4));
		run_gives(db, "0\n", "SELECT count(*) FROM d_if(%lld, %lld) AS b WHERE step = %d AND origin = 17 AND sketch_real IS NOT (SELECT iforest_sketch(r) "
			"FROM d WHERE track = b.track AND ts >= max(bucket_start, %lld) AND ts < min(bucket_end, %lld))", t0, t1 + 1,
			LAST / 3, t0, t1 + 1);
		run_gives(db, "1\n", "SELECT (SELECT sketch_dur FROM d_all WHERE t0 = %lld) IS (SELECT iforest_sketch(dur) FROM d WHERE ts >= %lld)", t0, t0);
		run_gives(db, "1\n", "SELECT (SELECT sketch_dur FROM d_all WHERE t1 = %lld) IS (SELECT iforest_sketch(dur) FROM d WHERE ts < %lld)", t1, t1);
	}
}

static const struct life life = {
	.updates = "UPDATE d SET dur = dur * 3, r = r + 1 WHERE id % 1000 = 1; DELETE FROM d WHERE id % 999 = 5;"
		   " UPDATE d SET ts = ts + 5000, track = 'gpu' WHERE id % 1001 = 9;"
		   " INSERT INTO d SELECT id + 40000, 'new', ts + 3, dur, r FROM d WHERE id % 500 = 2",
	.inserts = "INSERT INTO d SELECT id + 80000, track, ts + 7, dur, r FROM d WHERE id < 9000",
	.kept = "d_if_sketch",
	.damage = "d_if: corrupt: the sketch kept of the page is wrong (run ",
	.query = "SELECT count(sketch_dur) FROM d_if",
	.expect = expect_windows,
};

static void a_window_has_the_sketch_of_its_rows(void **state)
{
	struct random random = { test_seed() };
	sqlite3 *db = open_spans(INDEX);

	(void)state;
	run(db, "CREATE VIRTUAL TABLE d_all USING iforest_fold(d_if)");
	run_gives(db, "0|1\n1|1\n", "SELECT value, count(*) > 0 FROM d_if_sketch GROUP BY value");
	life_live(&life, db, &random);
	close_database(db);
}

static void buckets_without_rows_have_none(void **state)
{
	sqlite3 *db = open_spans(INDEX);

	(void)state;
	run_gives(db, "1|1|1\n", "SELECT bucket, sketch_dur IS NULL, iforest_quantile(sketch_dur, 0.5) IS NULL FROM d_if(-9000, -3000, 3) WHERE track = 'cpu' AND "
		"fill = 'zero' AND bucket = 1 AND count = 0");
	run(db, "DELETE FROM d; CREATE VIRTUAL TABLE d_all USING iforest_fold(d_if)");
	run_gives(db, "0\n", "SELECT count(*) FROM d_if WHERE sketch_dur IS NOT NULL");
	run_gives(db, "0\n", "SELECT count(*) FROM d_all WHERE sketch_dur IS NOT NULL");
	run(db, "INSERT INTO d VALUES(1, 'a', 5, NULL, 1.5)");
	run_gives(db, "1|1|1.5\n", "SELECT count, sketch_dur IS NULL, round(iforest_quantile(sketch_real, 0.5), 1) FROM d_if");
	close_database(db);
}

/* ---- kept sketches ---- */

static void kept_sketches_may_be_lost_but_not_wrong(void **state)
{
	struct random random = { test_seed() };
	sqlite3 *db = open_spans(INDEX);

	(void)state;
	run(db, "CREATE VIRTUAL TABLE d_all USING iforest_fold(d_if)");
	life_lose_kept(&life, db, &random);
	run(db, "UPDATE d_if_sketch SET bytes = (SELECT iforest_sketch(1))"); /* a valid one, of other numbers */
	run_fails(db, life.damage, "%s", life.query);
	run(db, "INSERT INTO d_if(d_if) VALUES('rebuild'); INSERT INTO d_if(d_if) VALUES('integrity-check')");
	/* a sketch of as many other numbers: only the integrity check notices */
	run(db, "UPDATE d_if_sketch SET bytes = (SELECT iforest_sketch(0) FROM d WHERE rowid <= (SELECT iforest_sketch_count(bytes)))");
	run(db, "%s", life.query);
	run_fails(db, life.damage, "INSERT INTO d_if(d_if) VALUES('integrity-check')");
	close_database(db);
}

static void its_table_comes_and_goes_with_the_index(void **state)
{
	struct random random = { test_seed() };
	sqlite3 *db = open_spans(INDEX);

	(void)state;
	run(db, "CREATE VIRTUAL TABLE d_all USING iforest_fold(d_if); ALTER TABLE d_if RENAME TO other");
	run_gives(db, "other_sketch\n", "SELECT name FROM sqlite_schema WHERE name GLOB '*_sketch'");
	run_gives(db, "1\n", "SELECT count(*) FROM other WHERE track = 'cpu' AND sketch_dur IS (SELECT iforest_sketch(dur) FROM d WHERE track = 'cpu')");
	run(db, "ALTER TABLE other RENAME TO d_if");
	expect_windows(db, &random, 1);
	run(db, "DROP TABLE d_all; DROP TABLE d_if");
	run_gives(db, "0\n", "SELECT count(*) FROM sqlite_schema WHERE name GLOB '*_sketch*'");
	run(db, "CREATE TABLE d_if_sketch(x); CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur)");
	run_fails(db, "no such column: sketch_dur", "SELECT sketch_dur FROM d_if");
	run(db, "DROP TABLE d_if; INSERT INTO d_if_sketch VALUES(1)");
	close_database(db);
}

/* The sketch of a row is computed when its column is read. By then a command may have rewritten the pages. */
static void a_row_from_before_a_command_has_none(void **state)
{
	sqlite3 *db = open_spans(INDEX);
	sqlite3_stmt *statement;

	(void)state;
	assert_int_equal(SQLITE_OK, sqlite3_prepare_v2(db, "SELECT count, iif(column1 = 2, sketch_dur, 0) FROM d_if CROSS JOIN (VALUES(1), (2))", -1,
						       &statement, NULL));
	assert_int_equal(SQLITE_ROW, sqlite3_step(statement));
	run(db, "DELETE FROM d WHERE id %% 3 = 0; INSERT INTO d_if(d_if) VALUES('flush')");
	assert_int_equal(SQLITE_ABORT, sqlite3_step(statement));
	assert_non_null(strstr(sqlite3_errmsg(db), "the index was changed or rolled back while it was being read; ask again"));
	sqlite3_finalize(statement);
	close_database(db);
}

static void arguments_that_are_refused(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE d(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER, sketch_dur INTEGER)");
	run_fails(db, "iforest: sketch=(track): no value column has that name; list it in value=(...)",
		  "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, sketch=track)");
	run_fails(db, "iforest: sketch=(dur): no value column has that name; list it in value=(...)",
		  "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, value=(dur AS d), sketch=dur)");
	run_fails(db, "iforest: sketch=(...) names \"DUR\" twice", "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, sketch=(dur, DUR))");
	run_fails(db, "iforest: argument \"sketch\" is given twice",
		  "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, sketch=dur, sketch=dur)");
	run_fails(db, "iforest: cannot read argument \"sketch=()\"", "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, sketch=())");
	run_fails(db, "iforest: two columns named \"sketch_dur\"",
		  "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, by=sketch_dur, sketch=dur)");
	run(db, "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, value=dur, variance=dur, by=track, sync=manual, sketch=dur)"); /* all eight */
	run(db, "CREATE VIRTUAL TABLE f USING iforest_fold(d_if)");
	run_gives(db, "", "SELECT sketch_dur FROM f");
	close_database(db);
}

static void it_holds_with_every_way_of_following(void **state)
{
	static const char *const syncs[] = { "append", "manual" };

	(void)state;
	for (int s = 0; s < 2; s++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, "CREATE TABLE d(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER);"
			"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 30000) INSERT INTO d SELECT x, x, " NUMBER " FROM n;"
			"CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, sync=%s, sketch=dur);"
			"CREATE TABLE before AS SELECT * FROM d;"
			"INSERT INTO d SELECT id + 30000, ts + 15000, dur + 1 FROM d", syncs[s]);
		run_gives(db, "1\n", "SELECT sketch_dur = (SELECT iforest_sketch(dur) FROM %s WHERE ts >= 300 AND ts < 44000) FROM d_if(300, 44000)",
			  s ? "before" : "d");
		run(db, "INSERT INTO d_if(d_if) VALUES('%s')", s ? "rebuild" : "flush");
		run_gives(db, "1\n", "SELECT sketch_dur = (SELECT iforest_sketch(dur) FROM d WHERE ts >= 300 AND ts < 44000) FROM d_if(300, 44000)");
		run(db, "INSERT INTO d_if(d_if) VALUES('integrity-check')");
		close_database(db);
	}
}

/* tests/pg/test_sketch.c compares the same in PostgreSQL. */
static void both_engines_give_the_same_bytes(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	for (size_t i = 0; i < sizeof sketch_vectors / sizeof sketch_vectors[0]; i++) {
		const struct sketch_vector *vector = &sketch_vectors[i];
		sqlite3_stmt *statement;
		const unsigned char *bytes;
		char start[23];

		assert_int_equal(sqlite3_prepare_v2(db, vector->sql, -1, &statement, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
		assert_int_equal(sqlite3_column_bytes(statement, 0), vector->n_bytes);
		bytes = sqlite3_column_blob(statement, 0);
		for (int b = 0; b < 11; b++)
			snprintf(start + 2 * b, 3, "%02x", bytes[b]);
		assert_string_equal(start, vector->start);
		sqlite3_finalize(statement);
	}
	close_database(db);
}

/* ---- counts below bounds ---- */

/* The numbers of v as a sketch of a single number returns them. */
#define HELD "(SELECT iforest_quantile(iforest_sketch(v), 0.5) AS h FROM t WHERE v IS NOT NULL GROUP BY id)"

static void counts_are_those_of_the_numbers(void **state)
{
	struct random random = { test_seed() };
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	for (int round = 0; round < 6; round++) {
		bool with_reals = round % 2;

		make_values(db, &random, 1 + (int)random_below(&random, 300), with_reals);
		/* in a sketch with reals, an integer counts as the middle of a bucket of reals */
		if (with_reals)
			run(db, "UPDATE t SET v = CAST(v AS REAL)");
		/* with few digits, because SQLite's JSON has at most 15 */
		run(db, "DROP TABLE IF EXISTS b; CREATE TABLE b AS SELECT DISTINCT CAST(printf('%%.12e', bound) AS REAL) AS bound FROM (SELECT v * (1 + (id %% 5 - 2) / 128.0) AS bound "
			"FROM t WHERE id %% 3 = 0 UNION ALL SELECT v FROM t WHERE id %% 7 = 0 UNION ALL SELECT 1024) WHERE bound IS NOT NULL ORDER BY bound");
		run_gives(db, "0\n", "SELECT count(*) FROM b, (SELECT iforest_sketch(v) AS s FROM t) WHERE iforest_rank(s, bound) IS NOT "
			"(SELECT avg(CAST(h AS REAL) <= CAST(bound AS REAL)) FROM " HELD ")");
		run_gives(db, "0\n", "SELECT count(*) FROM b, (SELECT iforest_sketch(v) AS s, count(v) AS n FROM t) WHERE n > 0 AND bound > 0 AND NOT iforest_rank(s, bound) * n "
			"BETWEEN (SELECT count(*) FROM t WHERE v * 129.0 <= bound * 128.0 * (1 - 1e-15)) - 1e-6 AND (SELECT count(*) FROM t WHERE v * 127.0 <= bound * 128.0 * (1 + 1e-15)) + 1e-6");
		same_rows(db, "SELECT lower, upper, count FROM iforest_histogram((SELECT iforest_sketch(v) FROM t), (SELECT json_group_array(bound) FROM b)) ORDER BY lower",
			  "WITH ends AS (SELECT -9e999 AS e UNION SELECT CAST(bound AS REAL) FROM b UNION SELECT 9e999), bins AS (SELECT e AS lower, lead(e) OVER (ORDER BY e) AS upper FROM ends) "
			  "SELECT lower, upper, (SELECT count(*) FROM " HELD " WHERE CAST(h AS REAL) >= lower AND CAST(h AS REAL) < upper) FROM bins WHERE upper IS NOT NULL ORDER BY lower");
		run_gives(db, "1|0\n", "SELECT sum(count) IS (SELECT nullif(count(v), 0) FROM t), sum(count IS NOT (SELECT count(*) FROM t WHERE v IS NOT NULL AND "
			"CASE WHEN lower = upper THEN v = lower WHEN lower < 0 THEN v > lower AND v <= upper ELSE v >= lower AND v < upper END)) "
			"FROM iforest_histogram((SELECT iforest_sketch(v) FROM t))");
	}
	close_database(db);
}

static void both_engines_give_the_same_counts(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	for (size_t i = 0; i < sizeof sketch_counts / sizeof sketch_counts[0]; i++) {
		const struct sketch_counts *vector = &sketch_counts[i];
		char bounds[] = SKETCH_BOUNDS, *rest = bounds, *bound;

		run(db, "DROP TABLE IF EXISTS a; CREATE TABLE a AS %s", vector->sql);
		for (int b = 0; b < 10; b++)
			assert_int_equal(integer_of(db, "SELECT count FROM a, iforest_histogram(s, '[" SKETCH_BOUNDS "]') LIMIT 1 OFFSET %d", b), vector->bins[b]);
		run_gives(db, "10\n", "SELECT count(*) FROM a, iforest_histogram(s, '[" SKETCH_BOUNDS "]')");
		for (int b = 0; (bound = strtok_r(rest, ",", &rest)); b++)
			assert_int_equal(integer_of(db, "SELECT round(ifnull(iforest_rank(s, %s), 0) * iforest_sketch_count(s)) FROM a", bound), vector->through[b]);
	}
	close_database(db);
}

static void histograms_in_joins_and_ors(void **state)
{
	sqlite3 *db = open_spans(INDEX);

	(void)state;
	same_rows(db, "SELECT track, bucket, lower, h.count FROM d_if(0, 4000000, 20) AS b, iforest_histogram(b.sketch_dur, '[1024,1048576]') AS h ORDER BY 1, 2, 3",
		  "SELECT track, iforest_bucket(ts, 0, 4000000, 20) AS bucket, l, sum(dur >= l AND dur < u) FROM d, (SELECT -9e999 AS l, 1024 AS u UNION ALL SELECT 1024.0, 1048576 UNION ALL "
		  "SELECT 1048576.0, 9e999) WHERE ts >= 0 AND ts < 4000000 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3");
	same_rows(db, "SELECT x, lower, h.count FROM (SELECT '[8,64]' AS x UNION ALL SELECT '[8]' UNION ALL SELECT '[8]' UNION ALL SELECT '[]'), (SELECT iforest_sketch(dur) AS s FROM d) "
		  "JOIN iforest_histogram AS h ON h.sketch = s AND h.bounds = x WHERE lower < 0 OR h.count = 0 OR lower = 64 ORDER BY 1, 2",
		  "SELECT '[8,64]', -9e999, sum(dur < 8) FROM d UNION ALL SELECT '[8,64]', 64.0, sum(dur >= 64) FROM d UNION ALL SELECT '[8]', -9e999, sum(dur < 8) FROM d "
		  "UNION ALL SELECT '[8]', -9e999, sum(dur < 8) FROM d UNION ALL SELECT '[]', -9e999, count(dur) FROM d");
	run_gives(db, "3\n", "SELECT count(*) FROM iforest_histogram WHERE sketch = (SELECT iforest_sketch(dur) FROM d) AND (bounds = '[8]' OR bounds = '[]')");
	run_gives(db, "[8]|1\n", "SELECT DISTINCT bounds, sketch = (SELECT iforest_sketch(dur) FROM d) FROM iforest_histogram((SELECT iforest_sketch(dur) FROM d), '[8]')");
	run_gives(db, "2|Inf\n", "SELECT count(*), max(lower) FROM iforest_histogram((SELECT iforest_sketch(1)), '[9e999]') WHERE count = 1 OR lower > 0");
	close_database(db);
}

static void what_counts_give_and_refuse(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run_gives(db, "1|1|0.0|1.0|1.0\n", "SELECT iforest_rank(NULL, 1) IS NULL, iforest_rank(iforest_sketch(1), NULL) IS NULL, iforest_rank(iforest_sketch(1), 0.99), "
		"iforest_rank(iforest_sketch(1), 1), iforest_rank(iforest_sketch(1), '2')");
	run_gives(db, "-Inf|1.0|0\n1.0|Inf|0\n", "SELECT * FROM iforest_histogram(NULL, '[1]')");
	run_gives(db, "", "SELECT * FROM iforest_histogram(NULL)");
	run_gives(db, "", "SELECT * FROM iforest_histogram((SELECT iforest_sketch(1)), NULL)");
	run_gives(db, "-Inf|Inf|1\n", "SELECT * FROM iforest_histogram((SELECT iforest_sketch(1)), ' [ ] ')");
	run_gives(db, "100.0|101.0|1\n-Inf|-Inf|1\n", "SELECT * FROM iforest_histogram((SELECT iforest_sketch(100))) UNION ALL SELECT * FROM iforest_histogram((SELECT iforest_sketch(-9e999)))");
	run_fails(db, "iforest_rank: the second argument is not a number", "SELECT iforest_rank(iforest_sketch(1), 'x')");
	run_fails(db, "iforest_rank: not a sketch, or a damaged one", "SELECT iforest_rank(x'00', 1)");
	run_fails(db, "iforest_histogram: not a sketch, or a damaged one", "SELECT * FROM iforest_histogram(x'00', '[1]')");
	run_fails(db, "iforest_histogram: not a sketch, or a damaged one", "SELECT * FROM iforest_histogram('')");
	run_fails(db, "iforest_histogram: give it a sketch: iforest_histogram((SELECT iforest_sketch(v) FROM ...))", "SELECT * FROM iforest_histogram");
	run_fails(db, "iforest_histogram: the bounds do not ascend", "SELECT * FROM iforest_histogram((SELECT iforest_sketch(1)), '[1, 2, 2]')");
	run_fails(db, "iforest_histogram: the bounds are no JSON array of numbers, such as '[1000, 2000]'", "SELECT * FROM iforest_histogram((SELECT iforest_sketch(1)), '[1, \"2\"]')");
	run_fails(db, "iforest_histogram: the bounds are no JSON array of numbers", "SELECT * FROM iforest_histogram((SELECT iforest_sketch(1)), '[null]')");
	run_fails(db, "iforest_histogram: the bounds are no JSON array of numbers", "SELECT * FROM iforest_histogram((SELECT iforest_sketch(1)), '{\"a\": 1}')");
	run_fails(db, "iforest_histogram: the bounds are no JSON array of numbers", "SELECT * FROM iforest_histogram((SELECT iforest_sketch(1)), 1)");
	run_fails(db, "iforest_histogram: bounds: malformed JSON", "SELECT * FROM iforest_histogram((SELECT iforest_sketch(1)), '[1')");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_near_those_of_the_sorted_values),
		cmocka_unit_test(merges_and_frames_are_byte_for_byte),
		cmocka_unit_test(what_functions_give_and_refuse),
		cmocka_unit_test(a_window_has_the_sketch_of_its_rows),
		cmocka_unit_test(buckets_without_rows_have_none),
		cmocka_unit_test(kept_sketches_may_be_lost_but_not_wrong),
		cmocka_unit_test(its_table_comes_and_goes_with_the_index),
		cmocka_unit_test(a_row_from_before_a_command_has_none),
		cmocka_unit_test(arguments_that_are_refused),
		cmocka_unit_test(it_holds_with_every_way_of_following),
		cmocka_unit_test(both_engines_give_the_same_bytes),
		cmocka_unit_test(counts_are_those_of_the_numbers),
		cmocka_unit_test(both_engines_give_the_same_counts),
		cmocka_unit_test(histograms_in_joins_and_ors),
		cmocka_unit_test(what_counts_give_and_refuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
