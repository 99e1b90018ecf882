/* tests/sqlite/test_distinct.c -- Tests of distinct sketches in SQL: estimates against count(DISTINCT x), merges byte by byte,
 * and the columns distinct_x of an index against iforest_distinct(x) over the table's rows, while these change. */
#include "life.h"

#include "tests/support/distinct_vectors.h"

/* ---- the functions ---- */

/* tests/pg/test_sketch.c compares the same in PostgreSQL. */
static void both_engines_give_the_same_bytes(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	for (size_t i = 0; i < sizeof distinct_vectors / sizeof distinct_vectors[0]; i++) {
		const struct distinct_vector *vector = &distinct_vectors[i];
		char *expected = sqlite3_mprintf("%d|%s|%d\n", vector->n_bytes, vector->start, vector->n);

		run(db, "DROP TABLE IF EXISTS v; CREATE TABLE v AS %s", vector->sql);
		run_gives(db, expected, "SELECT length(s), lower(hex(substr(s, 1, 12))), iforest_distinct_count(s) FROM v");
		sqlite3_free(expected);
	}
	close_database(db);
}

/* Makes values of all types, some of which are equal although their types differ. */
static void make_values(sqlite3 *db, struct random *random, int n, int most)
{
	run(db, "DROP TABLE IF EXISTS t; CREATE TABLE t(id INTEGER PRIMARY KEY, g, v); BEGIN");
	for (int i = 1; i <= n; i++) {
		int value = (int)random_below(random, most);
		static const char *const forms[] = { "%d", "%d / 4.0", "'text ' || %d", "CAST(%d AS BLOB)", "CAST(%d AS REAL)", "NULL" };
		char *form = sqlite3_mprintf(forms[random_below(random, 6)], value);

		run(db, "INSERT INTO t VALUES(%d, %d, %s)", i, (int)random_below(random, 5), form);
		sqlite3_free(form);
	}
	run(db, "COMMIT");
}

/* The standard error is 1.625 %; six times that is not exceeded by chance. */
#define IS_NEAR(estimate, exact) "abs(" estimate " - " exact ") <= iif(" exact " < 700, 1, 0.0975 * " exact ")"

static void estimates_are_near_the_exact_counts(void **state)
{
	struct random random = { test_seed() };
	sqlite3 *db = open_database(":memory:", 0);
	static const int sizes[][2] = { { 100, 20 }, { 600, 5000 }, { 4000, 400 }, { 4000, 100000 }, { 20000, 30000 } };

	(void)state;
	for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
		make_values(db, &random, sizes[s][0], sizes[s][1]);
		run_gives(db, "1\n", "SELECT " IS_NEAR("iforest_distinct_count(iforest_distinct(v))", "count(DISTINCT v)") " FROM t");
		run_gives(db, "0\n", "SELECT count(*) FROM (SELECT iforest_distinct_count(iforest_distinct(v)) AS e, count(DISTINCT v) AS n FROM t GROUP BY g) WHERE NOT " IS_NEAR("e", "n"));
		/* merging in any order, and merging the same values twice, changes nothing */
		run_gives(db, "1\n", "SELECT (SELECT iforest_distinct_merge(s) FROM (SELECT iforest_distinct(v) AS s FROM t GROUP BY g UNION ALL SELECT iforest_distinct(v) FROM t WHERE g > 2)) = "
			"(SELECT iforest_distinct(v) FROM (SELECT v FROM t ORDER BY v DESC))");
	}
	close_database(db);
}

static void what_functions_give_and_refuse(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run_gives(db, "1|1|0|1\n", "SELECT iforest_distinct(NULL) IS NULL, iforest_distinct_merge(NULL) IS NULL, iforest_distinct_count(NULL), iforest_distinct(1) IS NULL FROM (SELECT 1) WHERE 0");
	run_gives(db, "0\n", "SELECT iforest_distinct_count(iforest_distinct(1)) FROM (SELECT 1) WHERE 0");
	run_gives(db, "7\n", "SELECT iforest_distinct_count(iforest_distinct(column1)) FROM (VALUES (1), (1.0), ('1'), (x'31'), (''), (x''), (0), (-0.0), (NULL), (9e999))");
	run_gives(db, "1|1\n", "SELECT iforest_distinct(5) = iforest_distinct(5.0), iforest_distinct('x') <> iforest_distinct(x'78')");
	run_fails(db, "iforest_distinct_count: not a sketch, or a damaged one; it takes what iforest_distinct() gives", "SELECT iforest_distinct_count('text')");
	run_fails(db, "iforest_distinct_count: not a sketch, or a damaged one", "SELECT iforest_distinct_count(iforest_sketch(1))");
	run_fails(db, "iforest_sketch_count: not a sketch, or a damaged one; it takes what iforest_sketch() gives", "SELECT iforest_sketch_count(iforest_distinct(1))");
	run_fails(db, "iforest_distinct_merge: not a sketch, or a damaged one; it takes what iforest_distinct() gives", "SELECT iforest_distinct_merge(x'')");
	run_fails(db, "iforest_distinct_count: not a sketch, or a damaged one", "SELECT iforest_distinct_count(substr(iforest_distinct(1), 1, 15))");
	run_fails(db, "iforest_distinct() may not be used as a window function", "SELECT iforest_distinct(1) OVER ()");
	close_database(db);
}

/* ---- the columns of an index ---- */

enum { N_ROWS = 40000, LAST = N_ROWS * 100 };

#define INDEX "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, value=(r AS real), by=track, distinct=(dur, real, who, who AS again))"

/* Some values of who are texts that differ only in case, some are numbers. */
static sqlite3 *open_spans(const char *index)
{
	sqlite3 *db = open_database(":memory:", 0);

	run(db, "CREATE TABLE d(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER, r REAL, who COLLATE NOCASE);"
		"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < %d) INSERT INTO d SELECT x, CASE WHEN x %% 5 THEN 'cpu' ELSE 'gpu' END, "
		"iif(x %% 97, x * 100 + x * 37 %% 50, NULL), iif(x %% 31, x * 7919 %% 3001, NULL), (x * 104729 %% 1000003 - 1000) / 7.0, "
		"CASE WHEN x %% 11 = 0 THEN NULL WHEN x %% 2 THEN 'User ' || (x * x %% 20011) ELSE x %% 701 END FROM n", N_ROWS);
	run(db, "%s", index);
	return db;
}

static void expect_windows(sqlite3 *db, struct random *random, int n)
{
	same_rows(db, "SELECT track, count, hex(distinct_dur), hex(distinct_real), hex(distinct_who), hex(distinct_again) FROM d_if ORDER BY track",
		  "SELECT track, count(*), hex(iforest_distinct(dur)), hex(iforest_distinct(r)), hex(iforest_distinct(who)), hex(iforest_distinct(who)) FROM d GROUP BY track ORDER BY track");
	for (int i = 0; i < n; i++) {
		sqlite3_int64 width = random_below(random, (LAST >> random_below(random, 12)) + 1);
		sqlite3_int64 t0 = random_below(random, LAST) - LAST / 4, t1 = t0 + width;
		char *asked = sqlite3_mprintf("SELECT track, count, hex(distinct_dur), hex(distinct_who) FROM d_if(%lld, %lld) ORDER BY track", t0, t1);
		char *request = sqlite3_mprintf("SELECT track, count(*), hex(iforest_distinct(dur)), hex(iforest_distinct(who)) FROM d WHERE ts >= %lld AND ts < %lld "
					       "GROUP BY track ORDER BY track", t0, t1);

		same_rows(db, asked, request);
		sqlite3_free(asked);
		sqlite3_free(request);
		run_gives(db, "0\n", "SELECT count(*) FROM d_if(%lld, %lld, %d) AS b WHERE distinct_who IS NOT (SELECT iforest_distinct(who) FROM d WHERE "
			"track = b.track AND ts >= bucket_start AND ts < bucket_end)", t0, t1 + 1, 1 + (int)random_below(random, 4));
		run_gives(db, "1\n", "SELECT (SELECT distinct_real FROM d_all WHERE t0 = %lld) IS (SELECT iforest_distinct(r) FROM d WHERE ts >= %lld)", t0, t0);
		run_gives(db, "1\n", "SELECT (SELECT distinct_who FROM d_all WHERE t1 = %lld) IS (SELECT iforest_distinct(who) FROM d WHERE ts < %lld)", t1, t1);
	}
}

static const struct life life = {
	.updates = "UPDATE d SET dur = dur * 3, who = upper(who) WHERE id % 1000 = 1; UPDATE d SET who = CAST(who AS BLOB) WHERE id % 1000 = 3;"
		   " DELETE FROM d WHERE id % 999 = 5; UPDATE d SET ts = ts + 5000, track = 'gpu' WHERE id % 1001 = 9;"
		   " INSERT INTO d SELECT id + 40000, 'new', ts + 3, dur, r, 'other' || id FROM d WHERE id % 500 = 2",
	.inserts = "INSERT INTO d SELECT id + 80000, track, ts + 7, dur, r, who FROM d WHERE id < 9000",
	.kept = "d_if_distinct",
	.damage = "d_if: corrupt: the sketch kept of the page is wrong (run ",
	.query = "SELECT count(distinct_who) FROM d_if",
	.expect = expect_windows,
};

static void a_window_has_the_sketch_of_its_rows(void **state)
{
	struct random random = { test_seed() };
	sqlite3 *db = open_spans(INDEX);

	(void)state;
	run(db, "CREATE VIRTUAL TABLE d_all USING iforest_fold(d_if)");
	run_gives(db, "0|1\n1|1\n2|1\n3|1\n", "SELECT value, count(*) > 0 FROM d_if_distinct GROUP BY value");
	life_live(&life, db, &random);
	close_database(db);
}

/* A hashed column has only a distinct_ column, and no column in the tables over the index. */
static void hashed_columns_are_not_values(void **state)
{
	sqlite3 *db = open_spans(INDEX);

	(void)state;
	run(db, "CREATE VIRTUAL TABLE d_rows USING iforest_rows(d_if); CREATE VIRTUAL TABLE d_overlap USING iforest_overlap(d_if); CREATE VIRTUAL TABLE d_cover USING iforest_cover(d_if)");
	run_gives(db, "distinct_dur\ndistinct_real\ndistinct_who\ndistinct_again\n", "SELECT name FROM pragma_table_info('d_if') WHERE name GLOB '*who*' OR name GLOB '*again*' OR name GLOB 'distinct*'");
	run_gives(db, "0\n", "SELECT count(*) FROM (SELECT name FROM pragma_table_info('d_rows') UNION ALL SELECT name FROM pragma_table_info('d_overlap') UNION ALL "
		"SELECT name FROM pragma_table_info('d_cover')) WHERE name GLOB '*who*' OR name GLOB '*again*'");
	same_rows(db, "SELECT ts, dur, real FROM d_rows WHERE dur > 2990 ORDER BY dur DESC, ts LIMIT 20", "SELECT ts, dur, r FROM d WHERE dur > 2990 ORDER BY dur DESC, ts LIMIT 20");
	same_rows(db, "SELECT overlaps, clipped_dur FROM d_overlap(5000, 100000) WHERE track = 'gpu'",
		  "SELECT count(*), sum(min(ts + dur, 100000) - max(ts, 5000)) FROM d WHERE track = 'gpu' AND ts < 100000 AND (ts + ifnull(dur, 0) > 5000 OR (ts >= 5000 AND ifnull(dur, 0) <= 0))");
	close_database(db);
}

static void times_of_other_kinds(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		sqlite3 *db = open_spans("SELECT 1");

		run(db, "UPDATE d SET ts = 1 WHERE ts IS NULL; CREATE TABLE e(id INTEGER PRIMARY KEY, at %s, dur, who)", i ? "TEXT" : "REAL");
		run(db, "%s", i ? "INSERT INTO e SELECT id, strftime('%Y-%m-%d %H:%M:%f', ts / 1000.0, 'unixepoch'), dur, who FROM d"
				: "INSERT INTO e SELECT id, ts / 8.0, dur / 4.0, who FROM d");
		run(db, "CREATE VIRTUAL TABLE e_if USING iforest(content=e, time=at, duration=dur%s, distinct=(who, dur))", i ? ", unit=ms" : "");
		run_gives(db, "1|1\n", "SELECT distinct_who = (SELECT iforest_distinct(who) FROM e), distinct_dur = (SELECT iforest_distinct(dur) FROM e) FROM e_if");
		run(db, "UPDATE e SET who = 'late ' || id WHERE id %% 7 = 1");
		run_gives(db, "1|1\n", "SELECT distinct_who = (SELECT iforest_distinct(who) FROM e), distinct_dur = (SELECT iforest_distinct(dur) FROM e) FROM e_if");
		run(db, "INSERT INTO e_if(e_if) VALUES('flush'); INSERT INTO e_if(e_if) VALUES('integrity-check')");
		run_gives(db, "1\n", "SELECT distinct_who = (SELECT iforest_distinct(who) FROM e WHERE at >= x AND at < y) FROM (SELECT (SELECT at FROM e WHERE id = 900) AS x, "
			"(SELECT at FROM e WHERE id = 30000) AS y) JOIN e_if(x, y)");
		close_database(db);
	}
}

static void kept_sketches_may_be_lost_but_not_wrong(void **state)
{
	struct random random = { test_seed() };
	sqlite3 *db = open_spans(INDEX);

	(void)state;
	run(db, "CREATE VIRTUAL TABLE d_all USING iforest_fold(d_if)");
	life_lose_kept(&life, db, &random);
	run(db, "UPDATE d_if_distinct SET bytes = (SELECT iforest_sketch(1))"); /* a quantile sketch */
	run_fails(db, life.damage, "%s", life.query);
	/* a sketch of other values: only the integrity check notices */
	run(db, "UPDATE d_if_distinct SET bytes = (SELECT iforest_distinct(1))");
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
	run_gives(db, "other_distinct\n", "SELECT name FROM sqlite_schema WHERE name GLOB '*_distinct'");
	run(db, "ALTER TABLE other RENAME TO d_if");
	expect_windows(db, &random, 1);
	run(db, "DROP TABLE d_all; DROP TABLE d_if");
	run_gives(db, "0\n", "SELECT count(*) FROM sqlite_schema WHERE name GLOB '*_distinct*'");
	run(db, "CREATE TABLE d_if_distinct(x); CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur)");
	run_fails(db, "no such column: distinct_dur", "SELECT distinct_dur FROM d_if");
	run(db, "DROP TABLE d_if; INSERT INTO d_if_distinct VALUES(1)");
	close_database(db);
}

static void arguments_that_are_refused(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE d(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER, a, b, c, e, f, g, h)");
	run_fails(db, "iforest: no column \"nobody\" in \"d\"", "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, distinct=nobody)");
	run_fails(db, "iforest: distinct=(...) names \"DUR\" twice", "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, distinct=(dur, DUR))");
	run_fails(db, "iforest: argument \"distinct\" is given twice",
		  "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, distinct=dur, distinct=dur)");
	run_fails(db, "iforest: cannot read argument \"distinct=()\"", "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, distinct=())");
	run_fails(db, "iforest: at most 8 value columns, those of distinct=(...) among them; make a second index",
		  "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, distinct=(a, b, c, e, f, g, h, track))");
	run(db, "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, distinct=(a, b, c, e, f, g, h, dur))");
	run(db, "INSERT INTO d VALUES(1, 'x', 5, 6, 1, 2, 3, 4, 5, 6, 7)");
	run_gives(db, "1|1|1\n", "SELECT iforest_distinct_count(distinct_h), iforest_distinct_count(distinct_a), iforest_distinct_count(distinct_dur) FROM d_if");
	close_database(db);
}

static void it_holds_with_every_way_of_following(void **state)
{
	static const char *const syncs[] = { "append", "manual" };

	(void)state;
	for (int s = 0; s < 2; s++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, "CREATE TABLE d(id INTEGER PRIMARY KEY, ts INTEGER, who TEXT);"
			"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 30000) INSERT INTO d SELECT x, x, 'u' || (x * x %% 9001) FROM n;"
			"CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, sync=%s, distinct=who);"
			"CREATE TABLE before AS SELECT * FROM d;"
			"INSERT INTO d SELECT id + 30000, ts + 15000, who || 'b' FROM d", syncs[s]);
		run_gives(db, "1\n", "SELECT distinct_who = (SELECT iforest_distinct(who) FROM %s WHERE ts >= 300 AND ts < 44000) FROM d_if(300, 44000)",
			  s ? "before" : "d");
		run(db, "INSERT INTO d_if(d_if) VALUES('%s')", s ? "rebuild" : "flush");
		run_gives(db, "1\n", "SELECT distinct_who = (SELECT iforest_distinct(who) FROM d WHERE ts >= 300 AND ts < 44000) FROM d_if(300, 44000)");
		run(db, "INSERT INTO d_if(d_if) VALUES('integrity-check')");
		close_database(db);
	}
}

/* ---- recorded traces ---- */

static void estimates_of_recorded_traces(void **state)
{
	static const char *const columns[] = { "name", "dur", "track", "ts", "ts / 1000" };
	const char *directory = getenv("IFOREST_TRACES");
	sqlite3 *db = open_database(":memory:", 0);
	char *error = NULL;

	(void)state;
	if (!directory || !load_library(db, "chrometrace.so", &error)) {
		print_message("skipped: there are no traces\n");
		close_database(db);
		return;
	}
	run(db, "CREATE TABLE s AS SELECT track, ts_ns AS ts, dur_ns AS dur, name FROM read_trace('%s/bazel_profile_queuing.json.gz')", directory);
	for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
		sqlite3_int64 exact = integer_of(db, "SELECT count(DISTINCT %s) FROM s", columns[c]);
		sqlite3_int64 estimate = integer_of(db, "SELECT iforest_distinct_count(iforest_distinct(%s)) FROM s", columns[c]);

		print_message("%s: %lld of %lld values\n", columns[c], estimate, exact);
		run_gives(db, "1\n", "SELECT " IS_NEAR("%lld", "%lld"), estimate, exact, exact, exact);
	}
	run(db, "CREATE VIRTUAL TABLE s_if USING iforest(content=s, time=ts, duration=dur, by=track, distinct=(name, dur))");
	run_gives(db, "0\n", "SELECT count(*) FROM s_if AS i WHERE distinct_name IS NOT (SELECT iforest_distinct(name) FROM s WHERE track = i.track)");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_engines_give_the_same_bytes),
		cmocka_unit_test(estimates_are_near_the_exact_counts),
		cmocka_unit_test(what_functions_give_and_refuse),
		cmocka_unit_test(a_window_has_the_sketch_of_its_rows),
		cmocka_unit_test(hashed_columns_are_not_values),
		cmocka_unit_test(times_of_other_kinds),
		cmocka_unit_test(kept_sketches_may_be_lost_but_not_wrong),
		cmocka_unit_test(its_table_comes_and_goes_with_the_index),
		cmocka_unit_test(arguments_that_are_refused),
		cmocka_unit_test(it_holds_with_every_way_of_following),
		cmocka_unit_test(estimates_of_recorded_traces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
