/* tests/sqlite/test_plan.c -- Tests of EXPLAIN QUERY PLAN, whatever the columns are called, and of an index in larger SQL:
 * named parameters, views over it, comparisons of two windows and of two files. */
#include "harness.h"

/* Fails unless the plan says this. */
static void explains(sqlite3 *db, const char *expected, const char *sql)
{
	char *explain = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql), *rows = rows_of(db, explain);

	if (!rows || !strstr(rows, expected))
		fail_msg("%s is planned as:\n%s  instead of: %s", sql, rows ? rows : last_message(), expected);
	free(rows);
	sqlite3_free(explain);
}

static void the_plan_is_readable(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, track TEXT, depth, ts INTEGER, dur INTEGER, v REAL);"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, duration=dur, value=(dur, v), by=(track, depth));"
		"CREATE VIRTUAL TABLE f USING iforest_fold(t_if, depth); CREATE VIRTUAL TABLE c USING iforest_cover(t_if);"
		"CREATE VIRTUAL TABLE o USING iforest_overlap(t_if)");
	explains(db, "INDEX 0:all time\n", "SELECT count FROM t_if");
	explains(db, "INDEX 1:from t0\n", "SELECT count FROM t_if(1)");
	explains(db, "INDEX 2:until t1; of \"dur\": sum\n", "SELECT avg_dur FROM t_if WHERE t1 = 3");
	explains(db, "INDEX 7:window [t0, t1), n buckets; by \"track\" =; by \"depth\" IS; of \"dur\": sum max; of \"v\": sum min id; times\n",
		 "SELECT sum_dur, max_dur, min_v_id, last_ts FROM t_if(1, 2, 3) WHERE track = 'a' AND depth IS 3");
	explains(db, "INDEX 59:window [t0, t1), buckets of step from origin, fill; of \"v\": first last\n",
		 "SELECT bucket, first_v, last_v FROM t_if(0, 9) WHERE step = 1 AND origin = 2 AND fill = 'zero'");
	explains(db, "INDEX 0:all time; by \"depth\" =; of \"dur\": sum min max id; extremes alone\n", "SELECT min_dur_id, max_dur FROM f WHERE depth = 1");
	explains(db, "INDEX 3:window [t0, t1)\n", "SELECT overlaps FROM o(1, 2)");
	explains(db, "INDEX 3:window [t0, t1); of \"dur\": sum\n", "SELECT clipped_dur FROM o(1, 2)");
	explains(db, "INDEX 7:window [t0, t1), n buckets; of \"dur\": max; extremes alone\n", "SELECT bucket, longest_dur_id FROM o(1, 9, 2)");
	explains(db, "INDEX 7:window [t0, t1), n buckets; of \"dur\": max\n", "SELECT overlaps, longest_dur_id FROM o(1, 9, 2)");
	explains(db, "INDEX 7:window [t0, t1), n buckets; peak\n", "SELECT overlaps, peak FROM o(1, 9, 2)");
	explains(db, "INDEX 3:cover; by \"track\" =\n", "SELECT count FROM c(1, 2) WHERE track = 'x'");
	close_database(db);
}

/* There are more columns than SQLite distinguishes; the hidden ones come first. */
static void an_index_may_have_many_columns(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, a, b, c, d, e, f, g, h, v INTEGER, w INTEGER);"
		"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 300)"
		"INSERT INTO t SELECT x, x, 1, 2, 3, 4, 5, 6, 7, x %% 2, x, -x FROM n;"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, by=(a, b, c, d, e, f, g, h, a AS a_, b AS b_, c AS c_, d AS d_, e AS e_, f AS f_,"
		" g AS g_, h AS h_), value=(v, w, v AS v3, w AS w4, v AS v5, w AS w6, v AS v7, w AS w8), variance=(v, w, v3, w4, v5, w6, v7, w8))");
	run_gives(db, "1|2|3|4|5|6|7|0|1|2|3|4|5|6|7|0|0|10|20|5\n1|2|3|4|5|6|7|1|1|2|3|4|5|6|7|1|0|10|20|5\n",
		  "SELECT a, b, c, d, e, f, g, h, a_, b_, c_, d_, e_, f_, g_, h_, bucket, bucket_start, bucket_end, count FROM t_if(10, 20) ORDER BY h");
	run_gives(db, "a\nb\nc\n", "SELECT name FROM pragma_table_info('t_if') LIMIT 3");
	run_gives(db, "158\n", "SELECT count(*) FROM pragma_table_info('t_if')");
	run(db, "CREATE TABLE seen AS SELECT * FROM t_if(10, 20)");
	run_gives(db, "10|10|18|-18|90|-10|10.0\n", "SELECT first_ts, min_v7, max_v7_id, min_w8, sum_v7 + 20, last_w8 + 8, var_w8 FROM seen WHERE h = 0");
	run_gives(db, "0|10|14|2\n1|14|18|2\n", "SELECT bucket, bucket_start, bucket_end, count FROM t_if(10, 20) WHERE step = 4 AND origin = 10 AND h_ = 0 LIMIT 2");
	run_gives(db, "10|20|3|zero\n", "SELECT t0, t1, n, fill FROM t_if(10, 20, 3) WHERE fill = 'zero' AND h = 1 LIMIT 1");
	explains(db, "INDEX 7:window [t0, t1), n buckets; by \"h_\" =; of \"w\": sum max id; extremes alone\n",
		 "SELECT bucket, max_w_id FROM t_if(10, 20, 3) WHERE h_ = 1");
	explains(db, "; of \"w8\": sum min max id first last squares\n", "SELECT sum_v7 FROM t_if(10, 20)");
	run_fails(db, "t_if may not be modified; write to \"t\"", "UPDATE t_if SET count = 5");
	run_fails(db, "t_if may not be modified; write to \"t\"", "DELETE FROM t_if");
	run_fails(db, "t_if: unknown command \"x\"", "INSERT INTO t_if(t_if) VALUES('x')");
	run(db, "INSERT INTO t_if(t_if, n) VALUES('merge', 500); INSERT INTO t_if(t_if) VALUES('integrity-check')");
	close_database(db);
}

/* Names that look like words of the plan, or contain quotes. */
static const char *const odd_names[] = { "a", "by", "; by ", "; of x", "\"", "\"\"", "a\"; of \"b", "times", ": sum", " =", "\" IS", "\xc3\xa9; times", "%s", "A\"" };

enum { N_ODD = sizeof odd_names / sizeof odd_names[0] };

/* A table with odd names must return the same as the same table with plain names. */
static void any_name_may_stand_in_a_plan(void **state)
{
	static const char *const columns[] = { "count", "sum_%s", "max_%s, max_%s_id", "min_%s", "first_%s", "last_%s, first_ts", "min_%s_ts, avg_%s" };

	(void)state;
	for (int seed = 0; seed < 150; seed++) {
		struct random random = { test_seed() + (uint64_t)seed };
		int64_t first = random_below(&random, N_ODD);
		sqlite3 *db = open_database(":memory:", 0);
		const char *odd[4];

		for (int i = 0; i < 4; i++)
			odd[i] = odd_names[(first + i * (1 + 3 * (seed % 4))) % N_ODD];
		if (run_any(db, "CREATE TABLE o(id INTEGER PRIMARY KEY, ts INTEGER, \"%w\" INTEGER, \"%w\", \"%w\" INTEGER, \"%w\" INTEGER)", odd[0], odd[1], odd[2], odd[3])) {
			close_database(db); /* a name occurs twice */
			continue;
		}
		run(db, "CREATE TABLE p(id INTEGER PRIMARY KEY, ts INTEGER, b INTEGER, c, v INTEGER, w INTEGER);"
			"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 60) INSERT INTO p SELECT x, x, x %% 3, iif(x %% 2, x %% 4, NULL), x * x %% 31, -x FROM n;"
			"INSERT INTO o SELECT * FROM p; CREATE VIRTUAL TABLE p_if USING iforest(content=p, time=ts, value=(v, w), by=(b, c));"
			"CREATE VIRTUAL TABLE o_if USING iforest(content=o, time=ts, value=(\"%w\", \"%w\"), by=(\"%w\", \"%w\"))", odd[2], odd[3], odd[0], odd[1]);
		for (int i = 0; i < 20; i++) {
			const char *column = columns[random_below(&random, 7)];
			int value = (int)random_below(&random, 2), condition = (int)random_below(&random, 4);
			const char *of_plain = value ? "w" : "v", *of_odd = odd[2 + value];
			char *quoted = sqlite3_mprintf("%w", of_odd), *in_plain = sqlite3_mprintf(column, of_plain, of_plain), *wide, *plain, *strange;
			sqlite3_str *text = sqlite3_str_new(db);

			/* quote each column */
			for (char *word = strtok(in_plain, ", "); word; word = strtok(NULL, ", ")) {
				const char *at = strchr(word, '_');
				bool is_fixed = strcmp(word, "count") == 0 || strcmp(word, "first_ts") == 0;

				if (is_fixed)
					sqlite3_str_appendf(text, "%s%s", sqlite3_str_length(text) ? ", " : "", word);
				else
					sqlite3_str_appendf(text, "%s\"%.*s%s%s\"", sqlite3_str_length(text) ? ", " : "", (int)(at + 1 - word), word, quoted, at + 2);
			}
			wide = sqlite3_str_finish(text);
			sqlite3_free(in_plain);
			in_plain = sqlite3_mprintf(column, of_plain, of_plain);
			plain = sqlite3_mprintf("SELECT b, c, %s FROM p_if(5, 50) WHERE %s ORDER BY 1, 2", in_plain,
						condition == 0 ? "1" : condition == 1 ? "b = 1" : condition == 2 ? "c IS NULL" : "c = 1 AND b = 2");
			strange = condition == 0 ? sqlite3_mprintf("SELECT \"%w\", \"%w\", %s FROM o_if(5, 50) ORDER BY 1, 2", odd[0], odd[1], wide) :
				  condition == 1 ? sqlite3_mprintf("SELECT \"%w\", \"%w\", %s FROM o_if(5, 50) WHERE \"%w\" = 1 ORDER BY 1, 2", odd[0], odd[1], wide, odd[0]) :
				  condition == 2 ? sqlite3_mprintf("SELECT \"%w\", \"%w\", %s FROM o_if(5, 50) WHERE \"%w\" IS NULL ORDER BY 1, 2", odd[0], odd[1], wide, odd[1]) :
				  sqlite3_mprintf("SELECT \"%w\", \"%w\", %s FROM o_if(5, 50) WHERE \"%w\" = 1 AND \"%w\" = 2 ORDER BY 1, 2", odd[0], odd[1], wide, odd[1], odd[0]);
			same_rows(db, strange, plain);
			sqlite3_free(quoted);
			sqlite3_free(in_plain);
			sqlite3_free(wide);
			sqlite3_free(plain);
			sqlite3_free(strange);
		}
		close_database(db);
	}
}

/* ---- inside larger SQL ---- */

#define SPANS "CREATE TABLE %s.spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER);" \
	"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 3000)" \
	" INSERT INTO %s.spans SELECT x, 'track ' || (x %% 5), x * 7 %% 10007, x * %d %% 101 FROM n;" \
	"CREATE VIRTUAL TABLE %s.spans_if USING iforest(content=spans, time=ts, duration=dur, by=track)"

static sqlite3 *open_spans(void)
{
	sqlite3 *db = open_database(":memory:", 0);

	run(db, SPANS, "main", "main", 3, "main");
	return db;
}

static void parameters_go_by_name(void **state)
{
	sqlite3 *db = open_spans();
	static const char *const forms[] = {
		"SELECT sum(count), count(*) FROM spans_if WHERE t0 = :a AND t1 = :b AND n = :n AND track = :track",
		"SELECT sum(count), count(*) FROM spans_if(:a, :b, :n) WHERE track = :track",
		"SELECT sum(count), count(*) FROM spans_if WHERE :n = n AND t1 = :b AND :track = track AND t0 = :a",
		"SELECT sum(count), count(*) FROM spans_if(:a) WHERE n = :n AND track = :track AND t1 = :b",
	};

	(void)state;
	for (int f = 0; f < 4; f++) {
		sqlite3_stmt *statement;

		assert_int_equal(sqlite3_prepare_v2(db, forms[f], -1, &statement, NULL), SQLITE_OK);
		for (int n = 1; n < 40; n += 13) {
			int64_t t0 = 100 * n, t1 = 9000 - n;

			sqlite3_bind_int64(statement, sqlite3_bind_parameter_index(statement, ":a"), t0);
			sqlite3_bind_int64(statement, sqlite3_bind_parameter_index(statement, ":b"), t1);
			sqlite3_bind_int64(statement, sqlite3_bind_parameter_index(statement, ":n"), n);
			sqlite3_bind_text(statement, sqlite3_bind_parameter_index(statement, ":track"), "track 2", -1, SQLITE_STATIC);
			assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
			assert_int_equal(sqlite3_column_int64(statement, 0),
					 integer_of(db, "SELECT count(*) FROM spans WHERE track = 'track 2' AND ts >= %lld AND ts < %lld", t0, t1));
			assert_int_equal(sqlite3_column_int64(statement, 1), n);
			sqlite3_reset(statement);
		}
		sqlite3_finalize(statement);
	}
	close_database(db);
}

static void views_stand_over_it(void **state)
{
	sqlite3 *db = open_spans();

	(void)state;
	run(db, "CREATE VIEW early AS SELECT track, bucket, sum_dur FROM spans_if(0, 1000, 10); CREATE VIEW tracks AS SELECT * FROM spans_if;"
		"CREATE VIEW latest AS SELECT track, count FROM spans_if((SELECT max(ts) - 100 FROM spans)); PRAGMA trusted_schema = off");
	same_rows(db, "SELECT * FROM early ORDER BY 1, 2",
		  "SELECT track, ts / 100 AS b, sum(dur) FROM spans WHERE ts >= 0 AND ts < 1000 GROUP BY 1, 2 ORDER BY 1, 2");
	same_rows(db, "SELECT count, max_dur FROM tracks WHERE track = 'track 3'", "SELECT count(*), max(dur) FROM spans WHERE track = 'track 3'");
	same_rows(db, "SELECT * FROM latest ORDER BY 1",
		  "SELECT track, count(*) FROM spans WHERE ts >= (SELECT max(ts) - 100 FROM spans) GROUP BY 1 ORDER BY 1");
	run(db, "CREATE TEMP VIEW t AS SELECT count FROM main.spans_if(5, 10)");
	run_gives(db, "", "SELECT * FROM t EXCEPT SELECT count(*) FROM spans WHERE ts >= 5 AND ts < 10 GROUP BY track");
	close_database(db);
}

static void two_windows_are_compared(void **state)
{
	sqlite3 *db = open_spans();
	static const char *const truth =
		"SELECT a.track, a.c, b.c, b.s - a.s FROM (SELECT track, count(*) AS c, sum(dur) AS s FROM spans WHERE ts >= 0 AND ts < 5000 GROUP BY 1) a JOIN"
		" (SELECT track, count(*) AS c, sum(dur) AS s FROM spans WHERE ts >= 5000 AND ts < 10000 GROUP BY 1) b USING (track) ORDER BY 1";

	(void)state;
	same_rows(db, "SELECT a.track, a.count, b.count, b.sum_dur - a.sum_dur FROM spans_if(0, 5000) a JOIN spans_if(5000, 10000) b USING (track) ORDER BY 1", truth);
	same_rows(db, "SELECT a.track, a.count, b.count, b.sum_dur - a.sum_dur FROM spans_if(0, 5000) a LEFT JOIN spans_if(5000, 10000) b ON a.track = b.track ORDER BY 1", truth);
	same_rows(db, "WITH a AS (SELECT * FROM spans_if(0, 5000)), b AS MATERIALIZED (SELECT * FROM spans_if(5000, 10000))"
		  " SELECT a.track, a.count, b.count, b.sum_dur - a.sum_dur FROM a, b WHERE a.track = b.track ORDER BY 1", truth);
	same_rows(db, "WITH w(label, w0, w1) AS (VALUES('a', 0, 5000), ('b', 5000, 10000)) SELECT label, track, count FROM w JOIN spans_if(w0, w1) ORDER BY 1, 2",
		  "SELECT iif(ts < 5000, 'a', 'b') AS label, track, count(*) FROM spans WHERE ts < 10000 GROUP BY 1, 2 ORDER BY 1, 2");
	same_rows(db, "SELECT bucket, a.count, b.count FROM spans_if(0, 5000, 10) a JOIN spans_if(5000, 10000, 10) b USING (track, bucket) WHERE track = 'track 1' ORDER BY 1",
		  "SELECT ts / 500 % 10 AS b, sum(ts < 5000), sum(ts >= 5000) FROM spans WHERE ts < 10000 AND track = 'track 1' GROUP BY 1 ORDER BY 1");
	same_rows(db, "WITH RECURSIVE zoom(level, t0, t1) AS (SELECT 0, 0, 8000 UNION ALL SELECT level + 1, t0, (t0 + t1) / 2 FROM zoom WHERE level < 6)"
		  " SELECT level, sum(z.count) FROM zoom JOIN spans_if(zoom.t0, zoom.t1) z GROUP BY 1 ORDER BY 1",
		  "WITH l(level) AS (VALUES(0), (1), (2), (3), (4), (5), (6)) SELECT level, count(*) FROM l JOIN spans ON ts < 8000 >> level GROUP BY 1 ORDER BY 1");
	close_database(db);
}

static void two_traces_are_compared(void **state)
{
	sqlite3 *db = open_spans(), *other;
	char path[500];

	(void)state;
	snprintf(path, sizeof path, "%s", test_path("other.db"));
	remove_database(path);
	other = open_database(path, 0);
	run(other, SPANS, "main", "main", 5, "main");
	close_database(other);
	run(db, "ATTACH %Q AS other", path);
	same_rows(db, "SELECT track, a.sum_dur, b.sum_dur FROM main.spans_if(100, 7000) a JOIN other.spans_if(100, 7000) b USING (track) ORDER BY 1",
		  "SELECT a.track, sum(a.dur), sum(b.dur) FROM spans a JOIN other.spans b ON a.id = b.id WHERE a.ts >= 100 AND a.ts < 7000 GROUP BY 1 ORDER BY 1");
	same_rows(db, "SELECT 'a', track, bucket, max_dur FROM spans_if(0, 9000, 7) UNION ALL SELECT 'b', track, bucket, max_dur FROM other.spans_if(0, 9000, 7) ORDER BY 1, 2, 3",
		  "SELECT 'a', track, iforest_bucket(ts, 0, 9000, 7) AS b, max(dur) FROM spans WHERE b NOTNULL GROUP BY 2, 3"
		  " UNION ALL SELECT 'b', track, iforest_bucket(ts, 0, 9000, 7) AS b, max(dur) FROM other.spans WHERE b NOTNULL GROUP BY 2, 3 ORDER BY 1, 2, 3");
	run(db, "INSERT INTO other.spans VALUES(9999, 'track 0', 150, 1000000)");
	run_gives(db, "101\n1000000\n", "SELECT 101 UNION ALL SELECT max_dur FROM other.spans_if(100, 7000) WHERE track = 'track 0' AND max_dur > (SELECT max(max_dur) FROM main.spans_if)");
	close_database(db);
	remove_database(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_plan_is_readable), cmocka_unit_test(an_index_may_have_many_columns),
		cmocka_unit_test(any_name_may_stand_in_a_plan),
		cmocka_unit_test(parameters_go_by_name),
		cmocka_unit_test(views_stand_over_it),
		cmocka_unit_test(two_windows_are_compared),
		cmocka_unit_test(two_traces_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
