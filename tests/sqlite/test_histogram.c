/* tests/sqlite/test_histogram.c -- Tests of counts up to kept bounds against plain SQL over the table, while it changes. */
#include "tests/sqlite/harness.h"

/* Compares counts of the index with those of the table, for the buckets of some windows. */
static void compare_all(sqlite3 *db)
{
	static const char *const windows[] = { "0 AS t0, 100000 AS t1, 1 AS n", "0 AS t0, 96000 AS t1, 24 AS n",
					       "777 AS t0, 43152 AS t1, 113 AS n", "50001 AS t0, 50003 AS t1, 2 AS n" };
	static const char *const arguments[] = { "0, 100000, 1", "0, 96000, 24", "777, 43152, 113", "50001, 50003, 2" };

	for (unsigned i = 0; i < sizeof windows / sizeof *windows; i++) {
		char *index = sqlite3_mprintf("SELECT k, bucket, count, \"count_v_le_-3\", count_v_le_0, count_v_le_500, count_w_le_9"
					      " FROM t_if(%s) ORDER BY 1, 2",
					      arguments[i]);
		char *table = sqlite3_mprintf("SELECT k, (ts - t0) * n / (t1 - t0), count(*), count(*) FILTER (WHERE v <= -3),"
					      " count(*) FILTER (WHERE v <= 0), count(*) FILTER (WHERE v <= 500),"
					      " count(*) FILTER (WHERE w <= 9)"
					      " FROM t, (SELECT %s) WHERE ts >= t0 AND ts < t1 GROUP BY 1, 2 ORDER BY 1, 2",
					      windows[i]);

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
		"INSERT INTO t SELECT value, value %% 3, value * 7919 %% 100000, CASE WHEN value %% 19 > 0 THEN value * 31 %% 1009 - 200 END,"
		" value %% 13 FROM (WITH RECURSIVE c(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM c WHERE value < 20000) SELECT value FROM c)");
	return db;
}

static void counts_follow_the_table(void **state)
{
	sqlite3 *db = make_table();

	(void)state;
	run(db, "CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=(v, w), by=k,"
		" histogram=(v(-3, 0, 500), w(9)), variance=w)");
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

static void columns_stand_in_order_of_kinds(void **state)
{
	sqlite3 *db = make_table();

	(void)state;
	run(db, "CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, histogram=(w(-9223372036854775808, 7), v(1)),"
		" value=(v AS x, w, v), variance=(w, x))");
	run_gives(db, "var_x|stddev_x|var_w|stddev_w|count_w_le_-9223372036854775808|count_w_le_7|count_v_le_1\n",
		  "SELECT group_concat(name, '|') FROM (SELECT name FROM pragma_table_info('t_if') WHERE cid >= 6 + 33 AND"
		  " name NOT IN ('t0', 't1') ORDER BY cid LIMIT 7)");
	close_database(db);
}

/* In a bucket without rows these counts are NULL with fill = 'null', otherwise 0, like the count of a value. */
static void empty_buckets_are_filled_as_counts_are(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INT, v INT); INSERT INTO t(ts, v) VALUES(1, 5), (2, NULL), (21, NULL);"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=v, histogram=v(4, 5))");
	run_gives(db, "0|1|0|1\n2|0|0|0\n", "SELECT bucket, count_v, count_v_le_4, count_v_le_5 FROM t_if(0, 30, 3)");
	run_gives(db, "0|1|0|1\n1|0|0|0\n2|0|0|0\n",
		  "SELECT bucket, count_v, count_v_le_4, count_v_le_5 FROM t_if(0, 30, 3) WHERE fill = 'zero'");
	run_gives(db, "0|1|0|1\n1|||\n2|0|0|0\n",
		  "SELECT bucket, count_v, count_v_le_4, count_v_le_5 FROM t_if(0, 30, 3) WHERE fill = 'null'");
	close_database(db);
}

static void plans_name_what_is_read(void **state)
{
	sqlite3 *db = make_table();
	char *plan;

	(void)state;
	run(db, "CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=(v, w), histogram=(v(1), w(2)), variance=v)");
	plan = rows_of(db, "EXPLAIN QUERY PLAN SELECT count_w_le_2, var_v FROM t_if(0, 10)");
	assert_non_null(strstr(plan, "; of \"v\": sum squares; of \"w\": histograms\n"));
	free(plan);
	close_database(db);
}

static void reals_are_refused(void **state)
{
	sqlite3 *db = make_table();

	(void)state;
	run(db, "CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=v, histogram=v(1))");
	run(db, "UPDATE t SET v = 1.5 WHERE id = 7");
	run_fails(db, "iforest: value column \"v\" of row 7 holds the real 1.5, and histograms are kept of integers alone",
		  "SELECT count_v_le_1 FROM t_if");
	run(db, "DROP TABLE t_if");
	run_fails(db, "iforest: value column \"v\" of row 7 holds the real 1.5, and histograms are kept of integers alone",
		  "CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=v, histogram=v(1))");
	close_database(db);
}

static void wrong_lists_are_refused(void **state)
{
	static const struct {
		const char *argument, *message;
	} wrong[] = {
		{ "histogram=v", "iforest: cannot read argument \"histogram=v\": it takes a list of columns with ascending bounds" },
		{ "histogram=(v)", "iforest: cannot read argument" },
		{ "histogram=(v())", "iforest: cannot read argument" },
		{ "histogram=v(1.5)", "iforest: cannot read argument" },
		{ "histogram=v(1), w(2)", "iforest: cannot read argument" },
		{ "histogram=(v(1), w(2)", "" },
		{ "histogram=()", "iforest: cannot read argument" },
		{ "histogram=", "iforest: cannot read argument" },
		{ "histogram=(v(2, 1))", "iforest: histogram=... takes numbers in ascending order" },
		{ "histogram=(v(1), v(2))", "iforest: histogram=... names \"v\" twice" },
		{ "histogram=ts(1)", "iforest: histogram=... takes names of value columns of the index, and \"ts\" is none" },
		{ "histogram=v(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33)",
		  "iforest: histogram=... is too much for one index" },
		{ "histogram=v(1), histogram=w(1)", "iforest: argument \"histogram\" is given twice" },
		{ "value=w AS count_v_le_1, histogram=v(1)", "iforest: " },
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
		cmocka_unit_test(counts_follow_the_table),
		cmocka_unit_test(columns_stand_in_order_of_kinds),
		cmocka_unit_test(empty_buckets_are_filled_as_counts_are),
		cmocka_unit_test(plans_name_what_is_read),
		cmocka_unit_test(reals_are_refused),
		cmocka_unit_test(wrong_lists_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
