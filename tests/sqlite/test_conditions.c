/* tests/sqlite/test_conditions.c -- Tests of an index in larger SQL: conditions on by columns of every affinity, joins with
 * tables of windows, subqueries, views, CTEs, parameters, ORDER BY and LIMIT, compared with plain SQL over the same table. */
#include "harness.h"

enum { ROWS = 400 };

/* Returns a value for a by column, as SQL. Some are deliberately similar: 3, 3.0, '3', x'33'. */
static const char *random_literal(struct random *random)
{
	static const char *const literals[] = { "1", "2", "3", "3.0", "'3'", "x'33'", "NULL", "'a'", "'A'", "'b'", "'abc'", "''",
						"x''", "2.5", "'2.5'", "-1", "'-1'", "1e300", "9007199254740993", "9007199254740992.0",
						"'3.0'", "' 3'", "'1e0'", "0.0", "'na\xc3\xafve'" };

	return literals[random_below(random, (int64_t)(sizeof literals / sizeof literals[0]))];
}

/* Makes t(id, c, d, ts, dur) with the given type of c, and an index. ANY is a type of STRICT tables. */
static sqlite3 *make_table(const char *type, const char *by)
{
	sqlite3 *db = open_database(":memory:", 0);
	struct random random = { test_seed() };

	run(db, "BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, c %s, d %s, ts INTEGER, dur INTEGER)%s", type, type, strcmp(type, "ANY") == 0 ? " STRICT" : "");
	for (int i = 0; i < ROWS; i++) {
		const char *c = random_literal(&random), *d = random_literal(&random);

		run(db, "INSERT INTO t(c, d, ts, dur) VALUES(%s, %s, %lld, %lld)", c, one_in(&random, 2) ? "7" : d,
		    random_below(&random, 1000), random_below(&random, 50));
	}
	run(db, "COMMIT; CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, duration=dur, by=%s)", by);
	run(db, "CREATE TABLE picks(k); INSERT INTO picks VALUES(1), (3.0), ('3'), ('a'), (NULL), (x'33')");
	run(db, "CREATE TABLE integers(i INTEGER PRIMARY KEY); INSERT INTO integers VALUES(1), (3), (7)");
	run(db, "CREATE TABLE words(k TEXT); INSERT INTO words VALUES('1'), ('3'), ('a'), ('3.0')");
	run(db, "CREATE TABLE windows(label INTEGER PRIMARY KEY, w0 INTEGER, w1 INTEGER)");
	run(db, "INSERT INTO windows VALUES(1, 0, 1000), (2, 100, 200), (3, 500, 500), (4, 700, 600), (5, 999, 1000), (6, -5, 3), (7, NULL, 5)");
	return db;
}

static const char *const conditions[] = {
	"c = 3", "c = '3'", "c = 3.0", "c = x'33'", "c = NULL", "c = ''", "c = x''", "3 = c", "'3' = c", "c == -0.0",
	"c IS 3", "c IS '3'", "c IS NULL", "c IS NOT NULL", "c IS NOT 3", "c IS 'a'", "c IS x'33'", "c ISNULL",
	"c IN (1, 2, '3', NULL)", "c IN ('1', '2', 'a')", "c IN (1, 1.0, '1', 1)", "c IN ()", "c IN (3)", "c NOT IN (1, 2)",
	"c IN (SELECT k FROM picks)", "c IN (SELECT i FROM integers)", "c IN (SELECT k FROM words)", "c NOT IN (SELECT k FROM words)", "c IN picks",
	"c IN (SELECT d FROM t)", "c IN (SELECT id / 2.0 FROM t)", "c IN (SELECT CAST(id AS TEXT) FROM t WHERE id > 1)",
	"c = (SELECT 3)", "c = (SELECT k FROM words LIMIT 1)", "c = CAST('3' AS TEXT)", "c = CAST(3 AS REAL)",
	"c > 2", "c >= '2'", "c < 'b'", "c <= 2.5", "c BETWEEN 1 AND 3", "c BETWEEN 'a' AND 'b'", "c > NULL", "c <> 3",
	"c LIKE 'a%'", "c LIKE 'A'", "c GLOB 'a*'", "c LIKE '3%'", "c = 'A' COLLATE NOCASE", "c COLLATE NOCASE = 'A'",
	"c IS 'A' COLLATE NOCASE", "c COLLATE NOCASE IN ('A', 'B')", "c = 'a ' COLLATE RTRIM", "c > 'A' COLLATE NOCASE",
	"c = 3 OR c = 'a'", "c = 3 OR c = '3'", "c = 3 OR count > 5", "c = 1 AND c = 1.0", "c = 1 AND c = 2", "c IN (1, 3) AND c = 3",
	"c IN (1, 3) AND c IN (3, 'a')", "c = 9007199254740993", "c = 9007199254740992.0", "c = 9007199254740992", "c = 1e300",
	"c + 0 = 3", "+c = 3", "+c = '3'", "length(c) > 4", "NOT c = 3", "c IS NOT '3'", "(c, 1) = (3, 1)", "c = -1", "c = '-1'",
	"c = 2.5", "c = '2.5'", "c = '3.0'", "c = ' 3'", "c = '1e0'", "CASE c WHEN 3 THEN 1 ELSE 0 END", "c IS TRUE", "c", "NOT c",
};

/* Makes tables of the groups of all rows, and of the rows in [100, 800), by plain SQL. The tables are made without conditions
 * on c, because SQLite 3.40 does not sort for GROUP BY c under c = CAST(3 AS REAL): it takes c to be constant, but c may be 3
 * or '3'. */
static void group_by_plain_sql(sqlite3 *db, const char *columns)
{
	run(db, "CREATE TABLE plain AS SELECT %s, count(*) AS count, sum(dur) AS sum_dur FROM t GROUP BY %s", columns, columns);
	run(db, "CREATE TABLE plain_window AS SELECT %s, count(*) AS count, sum(dur) AS sum_dur FROM t WHERE ts >= 100 AND ts < 800 GROUP BY %s",
	    columns, columns);
}

/* Fails unless an index and a table return the same rows under a condition. */
static void compare_under(sqlite3 *db, const char *index, const char *table, const char *columns, const char *condition)
{
	static const char *const format = "SELECT * FROM (SELECT %s, count, sum_dur FROM %s WHERE %s LIMIT -1) ORDER BY quote(c), 2, 3";
	char *sql = sqlite3_mprintf(format, columns, index, condition),
	     *plain = sqlite3_mprintf(format, columns, table, condition);

	same_rows(db, sql, plain);
	sqlite3_free(sql);
	sqlite3_free(plain);
}

static void conditions_on_a_by_column_hold_as_in_plain_sql(void **state)
{
	static const char *const types[] = { "", "INTEGER", "TEXT", "REAL", "NUMERIC", "BLOB", "VARCHAR(10)", "ANY THING", "ANY",
		"QUITE_SOME_TYPE_WHOSE_NAME_GOES_BEYOND_SIXTY_THREE_LETTERS_ALTOGETHER TEXT" };

	(void)state;
	for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
		sqlite3 *db = make_table(types[t], "(c)");

		group_by_plain_sql(db, "c");
		for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
			compare_under(db, "t_if", "plain", "c", conditions[i]);
			compare_under(db, "t_if(100, 800)", "plain_window", "c", conditions[i]);
		}
		close_database(db);
	}
}

static void conditions_on_two_by_columns_hold_as_in_plain_sql(void **state)
{
	struct random random = { test_seed() };
	sqlite3 *db = make_table("", "(d, c)");

	(void)state;
	group_by_plain_sql(db, "c, d");
	run(db, "CREATE VIRTUAL TABLE t_c USING iforest_fold(t_if, c); CREATE TABLE plain_c AS SELECT c, count(*) AS count, sum(dur) AS sum_dur FROM t GROUP BY c");
	for (int i = 0; i < 300; i++) {
		const char *on_c = conditions[random_below(&random, (int64_t)(sizeof conditions / sizeof conditions[0]))];
		char *both = sqlite3_mprintf("(%s) AND d %s %s", on_c, one_in(&random, 2) ? "=" : "IS", random_literal(&random));

		compare_under(db, "t_if", "plain", "c, d", both);
		compare_under(db, "t_if(100, 800)", "plain_window", "c, d", both);
		compare_under(db, "t_c", "plain_c", "c", on_c);
		sqlite3_free(both);
	}
	close_database(db);
}

static void buckets_come_in_the_order_that_was_asked_for(void **state)
{
	sqlite3 *db = make_table("", "(c)");

	(void)state;
	for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
		char *sql = sqlite3_mprintf("SELECT bucket FROM t_if(0, 1000, 20) WHERE %s ORDER BY bucket", conditions[i]);
		sqlite3_int64 bucket = -1;
		sqlite3_stmt *statement;

		assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
		while (sqlite3_step(statement) == SQLITE_ROW) {
			if (sqlite3_column_int64(statement, 0) < bucket)
				fail_msg("%s\n  gives bucket %lld after %lld", sql, sqlite3_column_int64(statement, 0), bucket);
			bucket = sqlite3_column_int64(statement, 0);
		}
		assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
		sqlite3_free(sql);
	}
	close_database(db);
}

#define IN_WINDOW "t.ts >= w0 AND t.ts < w1"

static const struct {
	const char *sql, *reference;
} larger[] = {
	/* joins with windows */
	{ "SELECT label, c, count, sum_dur, max_dur FROM windows, t_if(w0, w1) ORDER BY 1, 2",
	  "SELECT label, c, count(*), sum(dur), max(dur) FROM windows JOIN t ON " IN_WINDOW " GROUP BY 1, 2 ORDER BY 1, 2" },
	{ "SELECT label, c, count FROM windows JOIN t_if ON t_if.t0 = w0 AND t_if.t1 = w1 AND c IN (3, 'a') ORDER BY 1, 2",
	  "SELECT label, c, count(*) FROM windows JOIN t ON " IN_WINDOW " WHERE c IN (3, 'a') GROUP BY 1, 2 ORDER BY 1, 2" },
	{ "SELECT label, coalesce(sum(count), 0) FROM windows LEFT JOIN t_if ON t0 = w0 AND t1 = w1 GROUP BY 1 ORDER BY 1",
	  "SELECT label, count(t.id) FROM windows LEFT JOIN t ON " IN_WINDOW " GROUP BY 1 ORDER BY 1" },
	{ "SELECT label, coalesce(sum(count), 0) FROM windows LEFT JOIN t_if(w0, w1) GROUP BY 1 ORDER BY 1",
	  "SELECT label, count(t.id) FROM windows LEFT JOIN t ON " IN_WINDOW " GROUP BY 1 ORDER BY 1" },
	{ "SELECT label, c, count FROM t_if JOIN windows ON t0 = w0 AND t1 = w1 ORDER BY 1, 2",
	  "SELECT label, c, count(*) FROM windows JOIN t ON " IN_WINDOW " GROUP BY 1, 2 ORDER BY 1, 2" },
	{ "SELECT label, bucket, c, count FROM windows, t_if(w0, w1, label) ORDER BY 1, 2, 3",
	  "SELECT label, ((ts - w0 + 1) * label - 1) / (w1 - w0), c, count(*) FROM windows JOIN t ON " IN_WINDOW " GROUP BY 1, 2, 3 ORDER BY 1, 2, 3" },
	{ "SELECT a.c, a.count, b.count FROM t_if(0, 500) a JOIN t_if(500, 1000) b ON a.c IS b.c ORDER BY 1",
	  "SELECT c, sum(ts < 500), sum(ts >= 500) FROM t GROUP BY c HAVING min(ts) < 500 AND max(ts) >= 500 ORDER BY 1" },
	{ "SELECT k, typeof(k), count FROM picks JOIN t_if(100, 900) ON c = k ORDER BY 1, 2, 3",
	  "SELECT k, typeof(k), count(*) FROM picks JOIN t ON c = k WHERE ts >= 100 AND ts < 900 GROUP BY 1, 2 ORDER BY 1, 2, 3" },
	{ "SELECT k, count FROM words JOIN t_if ON c = k ORDER BY 1", "SELECT k, count(*) FROM words JOIN t ON c = k GROUP BY 1 ORDER BY 1" },
	{ "SELECT k, typeof(k), c, count FROM t_if(100, 900) CROSS JOIN picks WHERE c IS k ORDER BY 1, 2",
	  "SELECT k, typeof(k), c, count(*) FROM t CROSS JOIN picks WHERE c IS k AND ts >= 100 AND ts < 900 GROUP BY 1, 2 ORDER BY 1, 2" },
	/* subqueries, CTEs, compound queries */
	{ "SELECT label, (SELECT sum(sum_dur) FROM t_if(w0, w1)) FROM windows ORDER BY 1",
	  "SELECT label, (SELECT sum(dur) FROM t WHERE " IN_WINDOW ") FROM windows ORDER BY 1" },
	{ "SELECT label FROM windows WHERE EXISTS (SELECT 1 FROM t_if(w0, w1) WHERE c = 3) ORDER BY 1",
	  "SELECT label FROM windows WHERE EXISTS (SELECT 1 FROM t WHERE " IN_WINDOW " AND c = 3) ORDER BY 1" },
	{ "SELECT count(*) FROM t WHERE c IN (SELECT c FROM t_if(0, 50))", "SELECT count(*) FROM t WHERE c IN (SELECT c FROM t WHERE ts >= 0 AND ts < 50)" },
	/* the affinity of the other column turns texts into numbers */
	{ "SELECT c, count FROM t_if WHERE c IN (SELECT i FROM integers) ORDER BY 1", "SELECT c, count(*) FROM t WHERE c IN (SELECT i FROM integers) GROUP BY 1 ORDER BY 1" },
	{ "SELECT id, dur FROM t WHERE id IN (SELECT max_dur_id FROM t_if(0, 600)) ORDER BY 1",
	  "SELECT id, dur FROM (SELECT *, row_number() OVER (PARTITION BY c ORDER BY dur DESC, ts, id) AS place FROM t WHERE ts >= 0 AND ts < 600)"
	  " WHERE place = 1 ORDER BY 1" },
	{ "WITH RECURSIVE s(a) AS (SELECT 0 UNION ALL SELECT a + 100 FROM s WHERE a < 900) SELECT a, sum(count) FROM s, t_if(a, a + 100) GROUP BY a ORDER BY a",
	  "SELECT ts / 100 * 100, count(*) FROM t GROUP BY 1 ORDER BY 1" },
	{ "WITH x AS MATERIALIZED (SELECT * FROM t_if(10, 990)) SELECT sum(count), max(max_dur) FROM x",
	  "SELECT count(*), max(dur) FROM t WHERE ts >= 10 AND ts < 990" },
	{ "SELECT sum(count) FROM t_if(0, 300) UNION ALL SELECT sum(count) FROM t_if(300, 1000)",
	  "SELECT count(*) FROM t WHERE ts < 300 UNION ALL SELECT count(*) FROM t WHERE ts >= 300" },
	{ "SELECT c FROM t_if(0, 500) EXCEPT SELECT c FROM t_if(500, 1000) ORDER BY 1",
	  "SELECT c FROM t WHERE ts < 500 EXCEPT SELECT c FROM t WHERE ts >= 500 ORDER BY 1" },
	/* grouping, order, limit */
	{ "SELECT typeof(c) AS y, sum(count), sum(sum_dur), min(min_dur) FROM t_if(100, 400) GROUP BY y ORDER BY y",
	  "SELECT typeof(CASE WHEN c = CAST(c AS INTEGER) AND typeof(c) = 'real' AND abs(c) < 9e18 THEN CAST(c AS INTEGER) ELSE c END) AS y,"
	  " count(*), sum(dur), min(dur) FROM t WHERE ts >= 100 AND ts < 400 GROUP BY y ORDER BY y" },
	{ "SELECT c, sum_dur FROM t_if(0, 800) ORDER BY sum_dur DESC, c LIMIT 3 OFFSET 1",
	  "SELECT c, sum(dur) AS s FROM t WHERE ts < 800 GROUP BY c ORDER BY s DESC, c LIMIT 3 OFFSET 1" },
	{ "SELECT c, bucket, count FROM t_if(0, 1000, 7) ORDER BY bucket DESC, c DESC LIMIT 20 OFFSET 3",
	  "SELECT c, ((ts + 1) * 7 - 1) / 1000 AS b, count(*) FROM t GROUP BY c, b ORDER BY b DESC, c DESC LIMIT 20 OFFSET 3" },
	{ "SELECT DISTINCT count > 10 FROM t_if ORDER BY 1", "SELECT DISTINCT n > 10 FROM (SELECT count(*) AS n FROM t GROUP BY c) ORDER BY 1" },
	{ "SELECT c, count, sum(count) OVER (ORDER BY c) FROM t_if ORDER BY c",
	  "SELECT c, n, sum(n) OVER (ORDER BY c) FROM (SELECT c, count(*) AS n FROM t GROUP BY c) ORDER BY c" },
	{ "SELECT c, count FROM t_if(0, 1000) WHERE count > 15 AND max_dur < 50 ORDER BY c",
	  "SELECT c, count(*) FROM t GROUP BY c HAVING count(*) > 15 AND max(dur) < 50 ORDER BY c" },
	/* arguments */
	{ "SELECT t0, sum(count) FROM t_if WHERE t0 IN (0, 250, 250, 990) AND t1 = 1000 GROUP BY t0 ORDER BY 1",
	  "SELECT a, count(*) FROM (SELECT 0 AS a UNION SELECT 250 UNION SELECT 990) JOIN t ON ts >= a GROUP BY 1 ORDER BY 1" },
	{ "SELECT n, count(DISTINCT bucket), sum(count) FROM t_if(0, 1000) WHERE n IN (1, 2, 5) GROUP BY n ORDER BY 1",
	  "SELECT a, a, 400 FROM (SELECT 1 AS a UNION SELECT 2 UNION SELECT 5) ORDER BY 1" },
	{ "SELECT t1, sum(count) FROM t_if WHERE t1 = 100 OR t1 = 200 GROUP BY t1 ORDER BY 1",
	  "SELECT a, count(*) FROM (SELECT 100 AS a UNION SELECT 200) JOIN t ON ts < a GROUP BY 1 ORDER BY 1" },
	{ "SELECT count(*) FROM t_if(NULL, 5)", "SELECT 0" },
	{ "SELECT count(*) FROM t_if(5, NULL)", "SELECT 0" },
	{ "SELECT count(*) FROM t_if WHERE t1 = NULL", "SELECT 0" },
	{ "SELECT count(*) FROM t_if WHERE t0 = 5 AND t0 = 6", "SELECT 0" },
	{ "SELECT count(*) FROM t_if(5, 1000) WHERE t0 = 6", "SELECT 0" },
	{ "SELECT count(*) > 0, sum(count) FROM t_if(500) WHERE t0 = 500", "SELECT 1, count(*) FROM t WHERE ts >= 500" },
	{ "SELECT sum(count) FROM t_if(1e2, 3e2)", "SELECT count(*) FROM t WHERE ts >= 100 AND ts < 300" },
	{ "SELECT sum(count) FROM t_if(100 + 100, (SELECT max(ts) FROM t))", "SELECT count(*) FROM t WHERE ts >= 200 AND ts < (SELECT max(ts) FROM t)" },
	{ "SELECT count(*), sum(count) FROM t_if", "SELECT count(DISTINCT c) + 1, count(*) FROM t" },
	{ "SELECT DISTINCT step, origin, fill FROM t_if(0, 1000) WHERE step = 10 AND origin = 5 AND fill = 'zero'", "SELECT 10, 5, 'zero'" },
};

static void an_index_takes_part_in_larger_queries(void **state)
{
	sqlite3 *db = make_table("", "(c)");

	(void)state;
	for (size_t i = 0; i < sizeof larger / sizeof larger[0]; i++)
		same_rows(db, larger[i].sql, larger[i].reference);
	close_database(db);
}

/* SQLite may run a query for each side of an OR. It recognises rows that it has seen by their rowid. */
static void the_sides_of_an_or_hide_no_rows(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE s(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, track TEXT);"
		"INSERT INTO s(ts, dur, track) VALUES(0, 40, 'main'), (5, 10, 'main'), (60, 25, 'main'), (20, 70, 'io');"
		"CREATE VIRTUAL TABLE s_if USING iforest(content=s, time=ts, duration=dur, by=(track));"
		"CREATE TABLE u(id INTEGER PRIMARY KEY, ts INTEGER); INSERT INTO u VALUES(1, 1);"
		"CREATE VIRTUAL TABLE u_if USING iforest(content=u, time=ts)");
	run_gives(db, "io|0|1\nmain|0|2\n", "SELECT track, bucket, count FROM s_if(0, 100, 4) WHERE track = 'io' OR (track = 'main' AND bucket < 2)"
		  " ORDER BY 1, 2");
	run_gives(db, "io|0|1\nmain|0|2\n", "SELECT track, bucket, count FROM s_if(0, 100) WHERE step = 25 AND (track = 'io' OR"
		  " (track = 'main' AND bucket < 2)) ORDER BY 1, 2");
	run_gives(db, "4|4\n", "SELECT count(*), count(DISTINCT rowid) FROM (SELECT rowid FROM s_if(0, 100, 4) UNION ALL SELECT rowid FROM s_if(0, 50, 1)"
		  " WHERE track = 'io')");
	run(db, "CREATE VIRTUAL TABLE s_gaps USING iforest_gaps(s_if)");
	run_gives(db, "40|20\n40|50\n", "SELECT gap_start, t0 FROM s_gaps WHERE (track = 'main' AND t0 = 20) OR (track = 'main' AND t0 = 50)"
		  " ORDER BY 2");
	run_gives(db, "main|0|2\nmain|50|1\n", "SELECT track, t0, count FROM s_if WHERE (track = 'main' AND t0 = 0 AND t1 = 50) OR"
		  " (track = 'main' AND t0 = 50 AND t1 = 100) ORDER BY 2");
	run_gives(db, "0|none|2\n0|zero|2\n1|none|1\n1|zero|1\n", "SELECT bucket, fill, count FROM s_if WHERE track = 'main' AND ("
		  "(t0 = 0 AND t1 = 100 AND n = 2 AND fill = 'zero') OR (t0 = 0 AND t1 = 100 AND n = 2 AND fill = 'none')) ORDER BY 1, 2");
	run_gives(db, "s_if|4\nu_if|1\n", "SELECT index_name, rows FROM iforest_stats WHERE (index_name = 's_if' AND rows > 0) OR"
		  " (index_name = 'u_if' AND pending = 0) ORDER BY 1");
	close_database(db);
}

/* SQLite costs the sides of an OR without the windows, but must not query the index before it has them. The unary plus of the
 * reference query prevents the optimization. */
static void an_or_beside_windows_from_a_table_is_answered(void **state)
{
	static const struct {
		const char *table, *columns, *given, *condition;
	} questions[] = {
		{ "t_if(w0, w1)", "c, count, sum_dur", "1", "c = 3 OR c = 'a' AND count > 1" },
		{ "t_if(w0, w1, 5)", "c, bucket, count", "1", "c = 3 OR c = 'a' AND bucket > 1" },
		{ "t_if(w0, w1)", "c, bucket, count", "step = 7", "c = 3 OR c = 'a' AND bucket > 1" },
		{ "t_all(w0, w1, 20)", "bucket, count, sum_dur", "1", "bucket = 3 OR count > 10" },
		{ "t_overlap(w0, w1, 5)", "c, bucket, overlaps", "1", "c = 3 OR c = 'a' AND bucket > 1" },
		{ "t_counter(w0, w1, 5)", "c, bucket, end_dur", "1", "c = 3 OR c = 'a' AND bucket > 1" },
		{ "t_rows(w0, w1)", "id, ts, dur", "1", "dur = 7 OR id IN (1, 2) OR ts = 150" },
		{ "t_gaps(w0, w1, 3)", "c, gap_start, gap_end", "1", "c = 3 OR c > 'a' AND gap_start > 1" },
		{ "t_cover(w0, w1)", "c, node_level, count", "1", "c = 3 OR c > 'a' AND node_level >= 0" },
	};
	sqlite3 *db = make_table("", "(c)");

	(void)state;
	run(db, "CREATE VIRTUAL TABLE t_all USING iforest_fold(t_if); CREATE VIRTUAL TABLE t_overlap USING iforest_overlap(t_if);"
		"CREATE VIRTUAL TABLE t_counter USING iforest_counter(t_if); CREATE VIRTUAL TABLE t_rows USING iforest_rows(t_if);"
		"CREATE VIRTUAL TABLE t_gaps USING iforest_gaps(t_if); CREATE VIRTUAL TABLE t_cover USING iforest_cover(t_if)");
	run_gives(db, "400\n", "SELECT count(*) FROM t_rows"); /* t_rows knows from now on how many rows there are */
	for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
		char *from = sqlite3_mprintf("SELECT label, %s FROM windows JOIN %s WHERE %s", questions[i].columns, questions[i].table,
					     questions[i].given);
		char *sql = sqlite3_mprintf("%s AND (%s) ORDER BY 1, 2, 3, 4", from, questions[i].condition);
		char *reference = sqlite3_mprintf("%s AND +(%s) IS TRUE ORDER BY 1, 2, 3, 4", from, questions[i].condition);

		same_rows(db, sql, reference);
		sqlite3_free(from);
		sqlite3_free(sql);
		sqlite3_free(reference);
	}
	close_database(db);
}

/* SQLite offers c = 3 of the ON also to the table on the left, where it cannot be used, and requests plans without the IN. */
static void several_windows_beside_a_left_join_are_answered(void **state)
{
	static const char *const tables[][2] = {
		{ "t_if", "count, sum_dur" }, { "t_overlap", "overlaps, longest_dur" }, { "t_rows", "id, dur" }, { "t_gaps", "gap_start, gap_end" },
		{ "t_cover", "node_level, count" },
	};
	sqlite3 *db = make_table("", "(c)");

	(void)state;
	run(db, "CREATE VIRTUAL TABLE t_overlap USING iforest_overlap(t_if); CREATE VIRTUAL TABLE t_rows USING iforest_rows(t_if);"
		"CREATE VIRTUAL TABLE t_gaps USING iforest_gaps(t_if); CREATE VIRTUAL TABLE t_cover USING iforest_cover(t_if)");
	for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
		char *sql[2];

		for (int k = 0; k < 2; k++)
			sql[k] = sqlite3_mprintf("SELECT t1, c, %s, i FROM %s LEFT JOIN integers ON %sc = 3 AND i < 5 WHERE t1 IN (200, 500, 1000)"
						 " ORDER BY 1, 2, 3, 4, 5", tables[t][1], tables[t][0], k ? "+" : "");
		same_rows(db, sql[0], sql[1]);
		sqlite3_free(sql[0]);
		sqlite3_free(sql[1]);
	}
	close_database(db);
}

/* A window is that of another table: t0 of x then has two conditions, of which one needs y. */
static void a_window_is_handed_on(void **state)
{
	static const char *const tables[][2] = {
		{ "t_if", "x.count" }, { "t_overlap", "x.overlaps" }, { "t_rows", "x.id" }, { "t_gaps", "x.gap_start" }, { "t_cover", "x.node_level" },
	};
	static const char *const ways[] = {
		"windows, %s x, t_if y WHERE x.t0 = w0 AND x.t1 = w1 AND y.t0 = x.t0 AND y.t1 = x.t1",
		"windows, t_if y, %s x WHERE x.t1 = y.t1 AND x.t0 = y.t0 AND y.t0 = w0 AND y.t1 = w1",
		"windows JOIN %s x ON x.t0 = w0 AND x.t1 = w1 JOIN t_if y USING (t0, t1) WHERE 1",
	};
	sqlite3 *db = make_table("", "(c)");

	(void)state;
	run(db, "CREATE VIRTUAL TABLE t_overlap USING iforest_overlap(t_if); CREATE VIRTUAL TABLE t_rows USING iforest_rows(t_if);"
		"CREATE VIRTUAL TABLE t_gaps USING iforest_gaps(t_if); CREATE VIRTUAL TABLE t_cover USING iforest_cover(t_if)");
	for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
		const char *select = "SELECT label, x.c, %s, y.count FROM %z AND x.c IS y.c ORDER BY 1, 2, 3, 4";
		char *plain = sqlite3_mprintf(select, tables[t][1], sqlite3_mprintf("windows, %s(w0, w1) x, t_if(w0, w1) y WHERE 1", tables[t][0]));

		for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
			char *sql = sqlite3_mprintf(select, tables[t][1], sqlite3_mprintf(ways[w], tables[t][0]));

			same_rows(db, sql, plain);
			sqlite3_free(sql);
		}
		sqlite3_free(plain);
	}
	close_database(db);
}

/* If there are more than 32 conditions, SQLite does not offer all of them to the table. */
static void a_condition_among_many_holds(void **state)
{
	static const char *const tables[][2] = { { "t_if", "count" }, { "t_rows", "id" }, { "t_gaps", "gap_end" } };
	sqlite3 *db = make_table("", "(c)");

	(void)state;
	run(db, "CREATE VIRTUAL TABLE t_rows USING iforest_rows(t_if); CREATE VIRTUAL TABLE t_gaps USING iforest_gaps(t_if)");
	for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
		sqlite3_str *sql = sqlite3_str_new(NULL);
		char *many, *reference;

		sqlite3_str_appendf(sql, "SELECT DISTINCT c FROM %s WHERE ", tables[t][0]);
		for (int i = 1; i <= 40; i++)
			sqlite3_str_appendf(sql, "%s >= %d AND ", tables[t][1], -i);
		sqlite3_str_appendall(sql, "c IN (SELECT i FROM integers) ORDER BY c");
		many = sqlite3_str_finish(sql);
		reference = sqlite3_mprintf("SELECT DISTINCT c FROM %s WHERE c IN (SELECT i FROM integers) ORDER BY c", tables[t][0]);
		same_rows(db, many, reference);
		sqlite3_free(many);
		sqlite3_free(reference);
	}
	close_database(db);
}

static void a_view_passes_arguments_through(void **state)
{
	sqlite3 *db = make_table("", "(c)");

	(void)state;
	run(db, "CREATE VIEW frame AS SELECT c, bucket, count, sum_dur, t0, t1, n FROM t_if");
	same_rows(db, "SELECT c, bucket, count, sum_dur FROM frame WHERE t0 = 0 AND t1 = 1000 AND n = 10 ORDER BY 2, 1",
		  "SELECT c, ts / 100, count(*), sum(dur) FROM t GROUP BY c, ts / 100 ORDER BY 2, 1");
	same_rows(db, "SELECT c, count FROM (SELECT * FROM frame) WHERE t0 = 300 AND t1 = 1000 AND c = 3 ORDER BY 1",
		  "SELECT c, count(*) FROM t WHERE ts >= 300 AND c = 3 GROUP BY c");
	close_database(db);
}

static void parameters_may_be_bound_again_and_again(void **state)
{
	static const char *const sql = "SELECT c, count, sum_dur FROM t_if(?1, ?2) WHERE c IS ?3";
	static const char *const plain = "SELECT max(c), count(*), sum(dur) FROM t WHERE ts >= ?1 AND ts < ?2 AND c IS ?3 GROUP BY c";
	sqlite3 *db = make_table("", "(c)");
	struct random random = { test_seed() };
	sqlite3_stmt *statements[2];

	(void)state;
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statements[0], NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, plain, -1, &statements[1], NULL), SQLITE_OK);
	for (int i = 0; i < 500; i++) {
		int64_t t0 = random_below(&random, 1000), t1 = t0 + random_below(&random, 300),
			style = random_below(&random, 5);
		int rc[2];

		for (int s = 0; s < 2; s++) {
			sqlite3_reset(statements[s]);
			sqlite3_bind_int64(statements[s], 1, t0);
			sqlite3_bind_double(statements[s], 2, (double)t1);
			switch (style) {
			case 0: sqlite3_bind_int64(statements[s], 3, i % 4); break;
			case 1: sqlite3_bind_double(statements[s], 3, i % 4); break;
			case 2: sqlite3_bind_text(statements[s], 3, i % 2 ? "3" : "abc", -1, SQLITE_STATIC); break;
			case 3: sqlite3_bind_blob(statements[s], 3, "3", 1, SQLITE_STATIC); break;
			default: sqlite3_bind_null(statements[s], 3); break;
			}
			rc[s] = sqlite3_step(statements[s]);
		}
		assert_int_equal(rc[0], rc[1]);
		for (int column = 1; rc[0] == SQLITE_ROW && column < 3; column++)
			assert_int_equal(sqlite3_column_int64(statements[0], column),
					 sqlite3_column_int64(statements[1], column));
	}
	sqlite3_finalize(statements[0]);
	sqlite3_finalize(statements[1]);
	close_database(db);
}

static void cursors_do_not_disturb_each_other(void **state)
{
	sqlite3 *db = make_table("", "(c)");
	sqlite3_stmt *outer;
	char *all, *again;

	(void)state;
	all = rows_of(db, "SELECT c, bucket, count FROM t_if(0, 1000, 50)");
	assert_non_null(all);
	again = sqlite3_mprintf("");
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT c, bucket, count FROM t_if(0, 1000, 50)", -1, &outer, NULL), SQLITE_OK);
	while (sqlite3_step(outer) == SQLITE_ROW) {
		const char *c = (const char *)sqlite3_column_text(outer, 0);

		again = sqlite3_mprintf("%z%s|%lld|%lld\n", again, c ? c : "", sqlite3_column_int64(outer, 1), sqlite3_column_int64(outer, 2));
		same_rows(db, "SELECT sum(count) FROM t_if(0, 1000, 3)", "SELECT count(*) FROM t");
	}
	sqlite3_finalize(outer);
	assert_string_equal(all, again);
	free(all);
	sqlite3_free(again);
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_on_a_by_column_hold_as_in_plain_sql),
		cmocka_unit_test(conditions_on_two_by_columns_hold_as_in_plain_sql),
		cmocka_unit_test(buckets_come_in_the_order_that_was_asked_for),
		cmocka_unit_test(an_index_takes_part_in_larger_queries),
		cmocka_unit_test(the_sides_of_an_or_hide_no_rows),
		cmocka_unit_test(an_or_beside_windows_from_a_table_is_answered),
		cmocka_unit_test(several_windows_beside_a_left_join_are_answered),
		cmocka_unit_test(a_window_is_handed_on),
		cmocka_unit_test(a_condition_among_many_holds),
		cmocka_unit_test(a_view_passes_arguments_through),
		cmocka_unit_test(parameters_may_be_bound_again_and_again),
		cmocka_unit_test(cursors_do_not_disturb_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
