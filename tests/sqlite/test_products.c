/* tests/sqlite/test_products.c -- Tests of correlations and regressions against plain SQL over the table, while it changes. */
#include "tests/sqlite/harness.h"

/* Compares the aggregates of pairs, over the rows that have both values: v with w, and v with the time. */
static void compare_all(sqlite3 *db)
{
	static const char *const windows[] = { "0 AS t0, 100000 AS t1, 1 AS n", "0 AS t0, 96000 AS t1, 24 AS n",
					       "777 AS t0, 43152 AS t1, 113 AS n" };
	static const char *const arguments[] = { "0, 100000, 1", "0, 96000, 24", "777, 43152, 113" };
	static const struct {
		const char *names, *other;
	} pairs[] = { { "v_w", "w" }, { "v_ts", "ts" } };

	for (unsigned i = 0; i < 6; i++) {
		const char *names = pairs[i % 2].names, *other = pairs[i % 2].other;
		char *index = sqlite3_mprintf("SELECT k, bucket, regr_count_%s, round(regr_slope_%s, 9), round(regr_intercept_%s, 5),"
					      " round(covar_pop_%s, 6), round(covar_samp_%s, 6), round(corr_%s, 9), round(regr_r2_%s, 9)"
					      " FROM t_if(%s) ORDER BY 1, 2",
					      names, names, names, names, names, names, names, arguments[i / 2]);
		char *table = sqlite3_mprintf(
			"WITH b AS (SELECT k, (ts - t0) * n / (t1 - t0) AS bucket, v AS y, %s AS x, v IS NOT NULL AND %s IS NOT NULL AS has"
			" FROM t, (SELECT %s) WHERE ts >= t0 AND ts < t1),"
			" s AS (SELECT k, bucket, total(has) AS n, sum(y) FILTER (WHERE has) AS y, sum(x) FILTER (WHERE has) AS x,"
			" sum(y * y) FILTER (WHERE has) AS yy, sum(x * x) FILTER (WHERE has) AS xx, sum(x * y) FILTER (WHERE has) AS xy"
			" FROM b GROUP BY 1, 2),"
			" d AS (SELECT k, bucket, CAST(n AS INT) AS n, y, x, CAST(n * yy - y * y AS REAL) AS yy,"
			" CAST(CAST(n AS INT) * xx - x * x AS REAL) AS dx, xx, CAST(CAST(n AS INT) * xy - x * y AS REAL) AS dxy, xy FROM s)"
			" SELECT k, bucket, n, round(dxy / dx, 9), round((y - dxy / dx * x) / n, 5), round(dxy / n / n, 6),"
			" round(dxy / n / nullif(n - 1, 0), 6), round(dxy / sqrt(dx) / sqrt(nullif(yy, 0)), 9),"
			" iif(dx > 0, iif(yy > 0, round(dxy / dx * dxy / yy, 9), 1.0), NULL) FROM d ORDER BY 1, 2",
			other, other, windows[i / 2]);

		same_rows(db, index, table);
		sqlite3_free(index);
		sqlite3_free(table);
	}
	run(db, "INSERT INTO t_if(t_if) VALUES('integrity-check')");
}

static sqlite3 *make_table(void)
{
	sqlite3 *db = open_database(":memory:", 0);

	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, k INT, ts INT, v INT, w INT);"
		"WITH RECURSIVE c(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM c WHERE value < 20000)"
		" INSERT INTO t SELECT value, value %% 3, value * 7919 %% 100000, CASE WHEN value %% 19 > 0 THEN value * 31 %% 1009 - 200 END,"
		" CASE WHEN value %% 7 > 0 THEN value * 31 %% 1009 * 2 + value %% 13 END FROM c");
	return db;
}

static void results_follow_the_table(void **state)
{
	sqlite3 *db = make_table();

	(void)state;
	run(db, "CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=(v, w), by=k, products=(v*w, v * ts), variance=w)");
	compare_all(db);
	run(db, "INSERT INTO t SELECT id + 20000, k, (ts + 5) %% 100000, v + 1, w FROM t WHERE id %% 5 = 0");
	run(db, "DELETE FROM t WHERE id %% 11 = 0");
	run(db, "UPDATE t SET v = v - 2 WHERE id %% 17 = 0");
	run(db, "UPDATE t SET v = NULL WHERE id %% 23 = 0");
	compare_all(db);
	run(db, "INSERT INTO t_if(t_if) VALUES('flush')");
	compare_all(db);
	run(db, "DELETE FROM t WHERE id %% 3 = 0");
	compare_all(db);
	run(db, "INSERT INTO t_if(t_if) VALUES('optimize')");
	compare_all(db);
	close_database(db);
}

static void columns_are_named_by_both(void **state)
{
	sqlite3 *db = make_table();

	(void)state;
	run(db, "CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=(v AS x, w), products=(w*x))");
	run_gives(db, "regr_count_w_x|corr_w_x|covar_pop_w_x|covar_samp_w_x|regr_slope_w_x|regr_intercept_w_x|regr_r2_w_x\n",
		  "SELECT group_concat(name, '|') FROM (SELECT name FROM pragma_table_info('t_if') WHERE name LIKE '%%w_x' ORDER BY cid)");
	close_database(db);
}

static void rows_with_a_null_are_left_out(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INT, v INT, w INT);"
		"INSERT INTO t(ts, v, w) VALUES(1, 5, 7), (2, NULL, 9), (3, 6, NULL), (NULL, 7, 9), (5, NULL, NULL), (15, 3, 3), (25, NULL, 1);"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=(v, w), products=(v*w, v*ts))");
	run_gives(db, "3|4.0|0.642857|3\n",
		  "SELECT regr_count_v_w, covar_pop_v_w, round(regr_slope_v_w, 6), regr_count_v_ts FROM t_if");
	run_gives(db, "0|1|||0.0|\n1|1|||0.0|\n2|0||||\n",
		  "SELECT bucket, regr_count_v_w, corr_v_w, regr_slope_v_w, covar_pop_v_w, covar_samp_v_w FROM t_if(0, 30, 3)");
	close_database(db);
}

static void wrong_lists_are_refused(void **state)
{
	static const struct {
		const char *argument, *message;
	} wrong[] = {
		{ "products=v", "iforest: cannot read argument \"products=v\": it takes a list of pairs of columns" },
		{ "products=v*w*v", "iforest: cannot read argument" },
		{ "products=(v*)", "iforest: cannot read argument" },
		{ "products=(v, w)", "iforest: cannot read argument" },
		{ "products=v*2", "iforest: " },
		{ "products=ts*v", "iforest: products=... takes names of value columns of the index, and \"ts\" is none" },
		{ "products=v*k", "iforest: products=... takes names of value columns of the index, and \"k\" is none" },
		{ "products=(v*w, V*W)", "iforest: products=... names \"W\" twice" },
		{ "products=(v*v, v*w, v*ts, w*v, w*w, w*ts)", "iforest: products=... is too much for one index" },
	};
	sqlite3 *db = make_table();

	(void)state;
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
		run_fails(db, wrong[i].message, "CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=(v, w), %s)",
			  wrong[i].argument);
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_follow_the_table),
		cmocka_unit_test(columns_are_named_by_both),
		cmocka_unit_test(rows_with_a_null_are_left_out),
		cmocka_unit_test(wrong_lists_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
