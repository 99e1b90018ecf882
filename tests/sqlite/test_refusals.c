/* tests/sqlite/test_refusals.c -- Tests of every refusal and error of docs/sqlite.md, by the beginning of its message. A
 * refused CREATE leaves nothing behind. What messages advise is followed in test_advice.c. */
#include "harness.h"

#define SPANS "CREATE TABLE spans(id INTEGER PRIMARY KEY, track, ts, dur, name TEXT);"
#define ROWS "INSERT INTO spans VALUES(17, 'cpu', 10, 5, 'x'), (18, 'gpu', 20, 7, 'y');"
#define FROM_SPANS "content=spans, time=ts"

static const struct {
	const char *setup, *arguments, *message;
} refusals[] = {
	/* arguments */
	{ SPANS, "time=ts", "iforest: content=... is missing" },
	{ SPANS, "", "iforest: content=... is missing" },
	{ SPANS, "content=spans", "iforest: time=... is missing" },
	{ SPANS, FROM_SPANS ", colour=red", "iforest: unknown argument \"colour\"" },
	{ SPANS, FROM_SPANS ", time=ts", "iforest: argument \"time\" is given twice" },
	{ SPANS, FROM_SPANS ", CONTENT=spans", "iforest: argument \"content\" is given twice" },
	{ SPANS, FROM_SPANS ", by=track, by=name", "iforest: argument \"by\" is given twice" },
	{ SPANS, FROM_SPANS ", by=(track", "" },
	{ SPANS, FROM_SPANS ", by=track)", "" },
	{ SPANS, FROM_SPANS ", by=(track,)", "iforest: cannot read argument" },
	{ SPANS, FROM_SPANS ", by=(,track)", "iforest: cannot read argument" },
	{ SPANS, FROM_SPANS ", by=()", "iforest: cannot read argument" },
	{ SPANS, FROM_SPANS ", by=", "iforest: cannot read argument" },
	{ SPANS, FROM_SPANS ", by", "iforest: " },
	{ SPANS, FROM_SPANS ", by=(track name)", "iforest: cannot read argument" },
	{ SPANS, FROM_SPANS ", by=(track AS)", "iforest: cannot read argument" },
	{ SPANS, FROM_SPANS ", by=(track AS a b)", "iforest: cannot read argument" },
	{ SPANS, FROM_SPANS ", by=\"track", "" },
	{ SPANS, FROM_SPANS ", value=1+2", "iforest: cannot read argument \"value=1+2\": it takes a name, or (name, name AS other); make a column of an expression: ALTER TABLE ... ADD COLUMN ... AS (...)" },
	{ SPANS, FROM_SPANS ", duration=dur-ts", "iforest: cannot read argument \"duration=dur-ts\": it takes one name; make a column of an expression: ALTER TABLE ... ADD COLUMN ... AS (...), and where the table has an end write end=..." },
	{ SPANS, "spans, ts", "iforest: cannot read argument \"spans\": write key=value, as in content=spans, time=ts" },
	{ SPANS, "content=(spans, spans), time=ts", "iforest: cannot read argument" },
	{ SPANS, "content=spans, time=(ts, dur)", "iforest: cannot read argument" },
	{ SPANS, FROM_SPANS ", duration=(dur, dur)", "iforest: cannot read argument" },
	{ SPANS, FROM_SPANS ", end=dur, duration=dur", "iforest: duration and end exclude each other" },
	{ SPANS, FROM_SPANS ", end=dur, end=dur", "iforest: argument \"end\" is given twice" },
	{ SPANS, FROM_SPANS ", end=(dur)", "iforest: cannot read argument \"end=(dur)\"" },
	{ SPANS, FROM_SPANS ", end=dur AS", "iforest: cannot read argument \"end=dur AS\"" },
	{ SPANS, FROM_SPANS ", end=dur, value=dur", "iforest: two columns named \"count_dur\"" },
	{ SPANS, FROM_SPANS ", end=x", "iforest: no column \"x\" in \"spans\"" },
	{ SPANS, FROM_SPANS ", value=dur, variance=ts", "iforest: variance=... takes names of value columns of the index, and \"ts\" is none" },
	{ SPANS, FROM_SPANS ", variance=dur", "iforest: variance=... takes names of value columns of the index, and \"dur\" is none" },
	{ SPANS, FROM_SPANS ", variance=dur, value=(dur AS d)", "iforest: variance=... takes names of value columns of the index, and \"dur\" is none" },
	{ SPANS, FROM_SPANS ", variance=(dur AS d), value=dur", "iforest: variance=... takes names of value columns of the index, and \"d\" is none" },
	{ SPANS, FROM_SPANS ", variance=(dur, DUR), duration=dur", "iforest: variance=... names \"DUR\" twice" },
	{ SPANS, FROM_SPANS ", variance=(), value=dur", "iforest: cannot read argument \"variance=()\"" },
	{ SPANS, FROM_SPANS ", variance=, value=dur", "iforest: cannot read argument \"variance=\"" },
	{ SPANS, FROM_SPANS ", variance=(dur), dur, value=dur", "iforest: " },
	{ SPANS, FROM_SPANS ", variance=(dur(1)), value=dur", "iforest: cannot read argument" },
	{ SPANS, FROM_SPANS ", variance=dur, variance=dur, value=dur", "iforest: argument \"variance\" is given twice" },
	{ SPANS, FROM_SPANS ", value=(dur, id AS var_x), variance=dur, by=(track AS stddev_dur)", "iforest: two columns named \"stddev_dur\"" },
	{ SPANS, FROM_SPANS ", variance=(a, b, c, d, e, f, g, h, i)", "iforest: variance=... takes names of value columns of the index, and \"a\" is none" },
	/* the kind of table */
	{ SPANS, "content=nothing, time=ts", "iforest: no table \"nothing\" in schema \"main\"" },
	{ SPANS, "content=sqlite_schema, time=rootpage", "iforest: " },
	{ SPANS, "content=sqlite_master, time=rootpage", "iforest: " },
	{ SPANS "CREATE VIEW seen AS SELECT * FROM spans", "content=seen, time=ts", "iforest: \"seen\" is a view" },
	{ "CREATE VIRTUAL TABLE f USING fts5(ts)", "content=f, time=ts", "iforest: \"f\" is a virtual table" },
	{ "CREATE TABLE w(id INTEGER PRIMARY KEY, ts) WITHOUT ROWID", "content=w, time=ts", "iforest: \"w\" is WITHOUT ROWID" },
	{ "CREATE TABLE k(ts, rowid, _rowid_, OID)", "content=k, time=ts", "iforest: \"k\" has columns named rowid, _rowid_ and oid" },
	{ "CREATE TABLE r(id INTEGER PRIMARY KEY ON CONFLICT REPLACE, ts)", "content=r, time=ts", "iforest: \"r\" uses ON CONFLICT REPLACE" },
	{ "CREATE TABLE r(id INTEGER PRIMARY KEY, ts, u UNIQUE ON CONFLICT REPLACE)", "content=r, time=ts", "iforest: \"r\" uses ON CONFLICT REPLACE" },
	{ "CREATE TABLE r(id INTEGER PRIMARY KEY, ts, u, UNIQUE(u, ts) on /* */ conflict\n\t-- x\n replace)", "content=r, time=ts", "iforest: \"r\" uses ON CONFLICT REPLACE" },
	{ "CREATE TABLE p(id INTEGER PRIMARY KEY, ts, u); CREATE UNIQUE INDEX pu ON p(u) WHERE u > 0", "content=p, time=ts", "iforest: \"p\" has a partial UNIQUE index \"pu\"" },
	{ "CREATE TABLE p(id INTEGER PRIMARY KEY, ts, u); CREATE UNIQUE INDEX pu ON p(abs(u))", "content=p, time=ts", "iforest: \"p\" has an expression or a generated column in UNIQUE index \"pu\"" },
	/* columns */
	{ SPANS, "content=spans, time=when_", "iforest: no column \"when_\" in \"spans\"" },
	{ SPANS, FROM_SPANS ", duration=x", "iforest: no column \"x\" in \"spans\"" },
	{ SPANS, FROM_SPANS ", value=(dur, x)", "iforest: no column \"x\" in \"spans\"" },
	{ SPANS, FROM_SPANS ", by=(track, x)", "iforest: no column \"x\" in \"spans\"" },
	{ "CREATE TABLE c(id INTEGER PRIMARY KEY, ts, word TEXT COLLATE NOCASE)", "content=c, time=ts, by=word", "iforest: column \"word\" has collation NOCASE" },
	{ "CREATE TABLE c(id INTEGER PRIMARY KEY, ts, word TEXT COLLATE RTRIM)", "content=c, time=ts, by=word", "iforest: column \"word\" has collation RTRIM" },
	{ SPANS "ALTER TABLE spans ADD COLUMN count;", FROM_SPANS ", by=(count)", "iforest: two columns named \"count\"" },
	{ SPANS, FROM_SPANS ", by=(track, track)", "iforest: two columns named \"track\"" },
	{ SPANS, FROM_SPANS ", by=(track, name AS TRACK)", "iforest: two columns named" },
	{ SPANS, FROM_SPANS ", by=(track AS t0)", "iforest: two columns named \"t0\"" },
	{ SPANS, FROM_SPANS ", by=(track AS fill)", "iforest: two columns named \"fill\"" },
	{ SPANS, FROM_SPANS ", by=(track AS first_ts)", "iforest: two columns named \"first_ts\"" },
	{ SPANS, FROM_SPANS ", duration=dur, by=(track AS max_dur_id)", "iforest: two columns named \"max_dur_id\"" },
	{ SPANS, FROM_SPANS ", value=(dur, dur)", "iforest: two columns named" },
	{ SPANS, FROM_SPANS ", value=(id AS ts)", "iforest: two columns named \"first_ts\"" },
	{ SPANS, FROM_SPANS ", by=(track AS refused)", "iforest: two columns named \"refused\", for the index has one of its own name; give the index" },
	{ "CREATE TABLE m(id INTEGER PRIMARY KEY, ts, a, b, c, d, e, f, g, h, i)", "content=m, time=ts, value=(a, b, c, d, e, f, g, h, i)", "iforest: at most 8 value columns" },
	{ "CREATE TABLE m(id INTEGER PRIMARY KEY, ts, a)", "content=m, time=ts, by=(a AS a1, a AS a2, a AS a3, a AS a4, a AS a5, a AS a6, a AS a7, a AS a8, a AS a9, a AS a10, "
	  "a AS a11, a AS a12, a AS a13, a AS a14, a AS a15, a AS a16, a AS a17)", "iforest: at most 16 by columns" },
	/* values */
	{ SPANS ROWS "UPDATE spans SET ts = '10' WHERE id = 17", FROM_SPANS, "iforest: time column \"ts\" of row 17 holds text" },
	{ SPANS ROWS "UPDATE spans SET ts = x'10' WHERE id = 17", FROM_SPANS, "iforest: time column \"ts\" of row 17 holds a blob (...), and times of the index are integers" },
	{ SPANS ROWS "UPDATE spans SET ts = 9e999 WHERE id = 18", FROM_SPANS, "iforest: time column \"ts\" of row 18 holds " },
	{ SPANS ROWS "UPDATE spans SET dur = 'x' WHERE id = 17", FROM_SPANS ", value=dur", "iforest: value column \"dur\" of row 17 holds text" },
	{ SPANS ROWS "UPDATE spans SET dur = 1.5 WHERE id = 18", FROM_SPANS ", value=dur, variance=dur",
	  "iforest: value column \"dur\" of row 18 holds the real 1.5, and variances are kept of integers alone" },
	{ SPANS ROWS "UPDATE spans SET dur = x'00' WHERE id = 17", FROM_SPANS ", value=dur", "iforest: value column \"dur\" of row 17 holds text or a blob" },
	{ SPANS ROWS "UPDATE spans SET dur = 9007199254740993 WHERE id = 17; UPDATE spans SET dur = 0.5 WHERE id = 18", FROM_SPANS ", value=dur",
	  "iforest: value column \"dur\" of row 17 holds the integer 9007199254740993, and next to reals integers are exact up to 2^53 only" },
	{ SPANS ROWS "UPDATE spans SET dur = 0.5 WHERE id = 17; UPDATE spans SET dur = -9007199254740993 WHERE id = 18", FROM_SPANS ", value=dur",
	  "iforest: value column \"dur\" of row 18 holds the integer -9007199254740993, and next to reals" },
	{ SPANS ROWS "UPDATE spans SET dur = 0.5 WHERE id = 17", FROM_SPANS ", duration=dur", "iforest: duration column \"dur\" of row 17 holds the real 0.5 next to times that are integers" },
	{ SPANS ROWS "UPDATE spans SET dur = 'a' WHERE id = 17", FROM_SPANS ", duration=dur", "iforest: " },
	{ SPANS ROWS "UPDATE spans SET dur = x'' WHERE id = 17", FROM_SPANS ", duration=dur, value=id", "iforest: " },
};

/* Returns a digest of everything that a refused CREATE must not change. */
static uint64_t state_of(sqlite3 *db)
{
	return digest_of(db, "SELECT type, name, tbl_name, sql FROM sqlite_schema UNION ALL SELECT type, name, tbl_name, sql FROM temp.sqlite_schema");
}

static void a_refused_create_says_why_and_leaves_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
		sqlite3 *db = open_database(":memory:", 0);
		uint64_t before;

		run(db, "%s", refusals[i].setup);
		before = state_of(db);
		run_fails(db, refusals[i].message, "CREATE VIRTUAL TABLE refused USING iforest(%s)", refusals[i].arguments);
		assert_true(state_of(db) == before);
		run(db, "BEGIN; CREATE TABLE kept(x)");
		run_fails(db, refusals[i].message, "CREATE VIRTUAL TABLE refused USING iforest(%s)", refusals[i].arguments);
		assert_int_equal(integer_of(db, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'refused%%' OR sql LIKE '%%refused%%'"), 0);
		run(db, "COMMIT; INSERT INTO kept VALUES(1); DROP TABLE kept");
		assert_true(state_of(db) == before);
		close_database(db);
	}
}

static void names_of_schemas_stand_in_the_message(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS "ATTACH ':memory:' AS aux");
	run_fails(db, "iforest: no table \"spans\" in schema \"aux\"", "CREATE VIRTUAL TABLE aux.x USING iforest(" FROM_SPANS ")");
	run_fails(db, "iforest: no table \"spans\" in schema \"temp\"", "CREATE VIRTUAL TABLE temp.x USING iforest(" FROM_SPANS ")");
	close_database(db);
}

static void what_stands_in_the_way_is_kept(void **state)
{
	static const char *const taken[] = { "spans_if_page", "spans_if_series", "spans_if_config", "spans_if_log", "spans_if_front" };
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS ROWS);
	for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
		uint64_t before;

		run(db, "CREATE TABLE %s(mine)", taken[i]);
		before = state_of(db);
		run_fails(db, "", "CREATE VIRTUAL TABLE spans_if USING iforest(" FROM_SPANS ")");
		assert_true(state_of(db) == before);
		run(db, "DROP TABLE %s", taken[i]);
	}
	run(db, "CREATE TRIGGER spans_if_update AFTER UPDATE ON spans BEGIN SELECT 1; END");
	run_fails(db, "", "CREATE VIRTUAL TABLE spans_if USING iforest(" FROM_SPANS ")");
	run(db, "DROP TRIGGER spans_if_update; CREATE VIRTUAL TABLE spans_if USING iforest(" FROM_SPANS ")");
	close_database(db);
}

static const struct {
	const char *where, *message;
} bad_questions[] = {
	{ "t0 > 5", "spans_if: argument t0 takes = only" },
	{ "t1 < 5", "spans_if: argument t1 takes = only" },
	{ "t0 BETWEEN 1 AND 2", "spans_if: argument t0 takes = only" },
	{ "t0 >= 1 AND t1 <= 5", "spans_if: argument t" },
	{ "n > 1 AND t0 = 0 AND t1 = 5", "spans_if: argument n takes = only" },
	{ "step < 5", "spans_if: argument step takes = only" },
	{ "origin <> 5", "spans_if: argument origin takes = only" },
	{ "fill LIKE 'zero'", "spans_if: argument fill takes = only" },
	{ "fill GLOB 'zero'", "spans_if: argument fill takes = only" },
	{ "t0 IS NULL", "spans_if: argument t0 takes = only" },
	{ "t0 IS NOT NULL", "spans_if: argument t0 takes = only" },
	{ "t0 = 'x'", "spans_if: argument t0 is not an integer: 'x'" },
	{ "t0 = '5'", "spans_if: argument t0 is not an integer: '5'" },
	{ "t0 = 1.5", "spans_if: argument t0 is not an integer: " },
	{ "t1 = 9e999", "spans_if: argument t1 is not an integer: " },
	{ "t1 = 1e19", "spans_if: argument t1 is not an integer: " },
	{ "t1 = x'00'", "spans_if: argument t1 is not an integer: " },
	{ "n = 'x' AND t0 = 0 AND t1 = 5", "spans_if: argument n is not an integer: " },
	{ "step = 0.5", "spans_if: argument step is not an integer: " },
	{ "step = 5 AND origin = 'x'", "spans_if: argument origin is not an integer: " },
	{ "n = 5", "spans_if: n needs both t0 and t1" },
	{ "n = 5 AND t0 = 1", "spans_if: n needs both t0 and t1" },
	{ "n = 5 AND t1 = 1", "spans_if: n needs both t0 and t1" },
	{ "n = 0 AND t0 = 0 AND t1 = 9", "spans_if: n must be greater than 0" },
	{ "n = -1 AND t0 = 0 AND t1 = 9", "spans_if: n must be greater than 0" },
	{ "step = 0", "spans_if: step must be greater than 0" },
	{ "step = -9223372036854775808", "spans_if: step must be greater than 0" },
	{ "n = 5 AND step = 5 AND t0 = 0 AND t1 = 9", "spans_if: n and step exclude each other" },
	{ "origin = 5", "spans_if: origin needs step" },
	{ "origin = 5 AND t0 = 0 AND t1 = 9 AND n = 3", "spans_if: origin needs step" },
	{ "fill = 'previous'", "spans_if: fill is one of 'none', 'null', 'zero', 'last', 'linear'" },
	{ "fill = 0 AND step = 5 AND t0 = 0 AND t1 = 9", "spans_if: fill is one of 'none', 'null', 'zero', 'last', 'linear'" },
	{ "fill = 'zero' AND step = 5", "spans_if: fill with step needs both t0 and t1" },
	{ "fill = 'zero' AND step = 5 AND t0 = 0", "spans_if: fill with step needs both t0 and t1" },
	{ "fill = 'zero' AND step = 5 AND t1 = 0", "spans_if: fill with step needs both t0 and t1" },
	{ "fill = 'zero' AND n = 10000001 AND t0 = 0 AND t1 = 9", "spans_if: fill would give more than 10000000 buckets" },
	{ "fill = 'zero' AND step = 1 AND t0 = 0 AND t1 = 10000001", "spans_if: fill would give more than 10000000 buckets" },
	{ "fill = 'null' AND step = 1 AND t0 = -9223372036854775808 AND t1 = 9223372036854775807", "spans_if: fill would give more than 10000000 buckets" },
	{ "fill = 'null' AND n = 9223372036854775807 AND t0 = 0 AND t1 = 9", "spans_if: fill would give more than 10000000 buckets" },
	{ "+t0 > 3", "spans_if: argument t0 is used, but not given with =" },
	{ "t0 + 0 = 0", "spans_if: argument t0 is used, but not given with =" },
	{ "coalesce(t0, 5) = 5", "spans_if: argument t0 is used, but not given with =" },
	{ "NOT (t0 <> 0)", "spans_if: argument t0 " },
	{ "(t0 = 0 AND t1 = 50) OR t0 = 60", "spans_if: argument t0 is used, but not given with =" },
	{ "step = 1 AND origin = -9223372036854775808", "spans_if: a bucket number exceeds 64 bits" },
};

static void a_bad_question_is_an_error(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS ROWS "CREATE VIRTUAL TABLE spans_if USING iforest(" FROM_SPANS ", duration=dur, by=track)");
	for (size_t i = 0; i < sizeof bad_questions / sizeof bad_questions[0]; i++)
		run_fails(db, bad_questions[i].message, "SELECT * FROM spans_if WHERE %s", bad_questions[i].where);
	run_fails(db, "", "SELECT * FROM spans_if(1, 2, 3, 4, 5, 'zero', 7, 8)"); /* SQLite's words, or ours */
	assert_non_null(strstr(last_message(), "too many arguments"));
	run_fails(db, "spans_if: too many arguments; there are t0, t1, n, step, origin and fill", "SELECT * FROM spans_if(1, 2, 3, 4, 5, 6, 7)");
	run_fails(db, "no such column: dur", "SELECT sum(dur) FROM spans_if");
	run_fails(db, "no such column: ts", "SELECT * FROM spans_if WHERE ts > 5");
	close_database(db);
}

/* Some versions of SQLite check the arguments of the right table only after the other conditions of the join, on its rows of
 * all time. */
static void check_outer_joins(sqlite3 *db, const char *values)
{
	static const char *const tables[] = { "s_if", "s_fold", "s_rows", "s_gaps", "s_overlap", "s_counter", "s_cover" };
	static const char *const joins[] = { "names l RIGHT JOIN %s r", "names l FULL JOIN %s r", "names l LEFT JOIN %s r", "%s r RIGHT JOIN names l" };
	char *rows;

	run(db, SPANS "INSERT INTO spans VALUES(1, 'a', 1, 5, ''), (2, 'b', 2, 1, ''), (3, 'a', 60, 9, ''), (4, 'a', 100, 9, ''), (5, 'c', 100, 9, '')");
	run(db, "CREATE TABLE names(track); INSERT INTO names VALUES('x'), ('a'); CREATE VIRTUAL TABLE s_if USING iforest(" FROM_SPANS ", duration=dur, by=track%s)", values);
	for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
		char *asked = sqlite3_mprintf("%s(2, 70)", tables[t]), *message = sqlite3_mprintf("%s: argument t0 is used, but not given with =", tables[t]);

		if (t > 0)
			run(db, "CREATE VIRTUAL TABLE %s USING iforest_%s(s_if%s)", tables[t], tables[t] + strlen("s_"), t == 1 ? ", track" : "");
		run(db, "DROP TABLE IF EXISTS copy; CREATE TABLE copy AS SELECT * FROM %s", asked);
		for (size_t j = 0; j < sizeof joins / sizeof joins[0]; j++) {
			char *ours = sqlite3_mprintf(joins[j], asked), *plain = sqlite3_mprintf(joins[j], "copy");
			char *sql = sqlite3_mprintf("SELECT l.track, r.track FROM %s ON r.track = l.track ORDER BY 1, 2", ours);

			rows = rows_of(db, sql);
			if (rows)
				run_gives(db, rows, "SELECT l.track, r.track FROM %s ON r.track = l.track ORDER BY 1, 2", plain);
			else if (!strstr(last_message(), message) || j > 1)
				fail_msg("%s\n  fails: %s", ours, last_message());
			free(rows);
			sqlite3_free(sql);
			sqlite3_free(ours);
			sqlite3_free(plain);
		}
		sqlite3_free(asked);
		sqlite3_free(message);
	}
	run_gives(db, "5\n", "SELECT count(*) FROM s_rows l LEFT JOIN names r ON l.dur IS NOT NULL AND l.ts IS NOT NULL AND r.track = 'nothing'");
	run(db, "INSERT INTO spans VALUES(6, NULL, NULL, NULL, '')");
	run_gives(db, "6\n", "SELECT count(*) FROM s_rows l LEFT JOIN names r ON l.track IS NOT NULL AND l.ts IS NOT NULL AND r.track = 'nothing'");
	/* without the window the count is three */
	rows = rows_of(db, "SELECT wanted, count FROM (SELECT 1 AS wanted) RIGHT JOIN s_if(2, 70) ON count = wanted WHERE track = 'a'");
	if (rows)
		assert_string_equal(rows, "1|1\n");
	else
		assert_non_null(strstr(last_message(), "s_if: argument t0 is used, but not given with ="));
	free(rows);
}

/* Also tests more columns than SQLite distinguishes: its mask has 64 bits, the last of which stands for all other columns. */
static void outer_joins_are_right_or_refused(void **state)
{
	static const char *const values[] = { "", ", value=(dur, ts AS a, ts AS b, ts AS c, ts AS d, ts AS e, ts AS f, ts AS g)" };

	(void)state;
	if (sqlite3_libversion_number() < 3039000) /* has only LEFT JOIN */
		skip();
	for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
		sqlite3 *db = open_database(":memory:", 0);

		check_outer_joins(db, values[v]);
		close_database(db);
	}
}

/* Newer versions of SQLite pass the parts of a row value one by one; older ones compare it themselves. */
static void windows_as_row_values_are_right_or_refused(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);
	char *rows;

	(void)state;
	run(db, SPANS "INSERT INTO spans VALUES(1, 'a', 1, 5, ''), (2, 'b', 2, 1, ''), (3, 'a', 60, 9, ''), (4, 'a', 100, 9, '')");
	run(db, "CREATE VIRTUAL TABLE spans_if USING iforest(" FROM_SPANS ", value=dur)");
	rows = rows_of(db, "SELECT t0, t1, count, sum_dur FROM spans_if WHERE (t0, t1) IN (VALUES(0, 50), (50, 100)) ORDER BY t0");
	if (rows)
		assert_string_equal(rows, "0|50|2|6\n50|100|1|9\n");
	else
		assert_non_null(strstr(last_message(), "spans_if: argument t0 is used, but not given with ="));
	free(rows);
	close_database(db);
}

static void a_sum_beyond_64_bits_is_an_overflow_where_it_is_asked_for(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS "INSERT INTO spans VALUES(1, 'a', 1, 9223372036854775807, ''), (2, 'a', 2, 1, ''), (3, 'a', 3, -9, '')");
	run(db, "CREATE VIRTUAL TABLE spans_if USING iforest(" FROM_SPANS ", value=dur)");
	run_fails(db, "integer overflow", "SELECT sum_dur FROM spans_if(1, 3)");
	run_fails(db, "integer overflow", "SELECT * FROM spans_if(1, 3)");
	run_gives(db, "9223372036854775807|2\n", "SELECT max_dur, count FROM spans_if(1, 3)");
	run_gives(db, "9223372036854775799\n", "SELECT sum_dur FROM spans_if");
	run_gives(db, "4.61168601842739e+18\n", "SELECT printf('%%.14e', avg_dur) FROM spans_if(1, 3)");
	close_database(db);
}

static void the_index_itself_is_not_written_to(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);
	static const char *const message = "spans_if may not be modified; write to \"spans\"";

	(void)state;
	run(db, SPANS ROWS "CREATE VIRTUAL TABLE spans_if USING iforest(" FROM_SPANS ", duration=dur, by=track)");
	run_fails(db, message, "INSERT INTO spans_if(track, count) VALUES('a', 1)");
	run_fails(db, message, "DELETE FROM spans_if");
	run_fails(db, message, "UPDATE spans_if SET count = 5");
	run_fails(db, message, "UPDATE spans_if SET spans_if = 'rebuild'");
	run_fails(db, message, "INSERT INTO spans_if DEFAULT VALUES");
	run_fails(db, "spans_if: unknown command \"x\"; ", "INSERT INTO spans_if(spans_if) VALUES('x')");
	run_fails(db, "spans_if: unknown command \"5\"; ", "INSERT INTO spans_if(spans_if) VALUES(5)");
	run_fails(db, "spans_if", "INSERT INTO spans_if(spans_if, track) VALUES('x', 'y')");
	run_fails(db, "spans_if", "INSERT INTO spans_if(spans_if) VALUES(x'0001')");
	run_gives(db, "cpu|1|5\ngpu|1|7\n", "SELECT track, count, sum_dur FROM spans_if");
	close_database(db);
}

/* The functions that the index's own statements call refuse rows from other SQL. */
static void functions_of_the_index_are_its_own(void **state)
{
	static const char message[] = "iforest_pending() is for the statements of an index alone";
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS ROWS "CREATE VIRTUAL TABLE spans_if USING iforest(" FROM_SPANS ", duration=dur, by=track)");
	run_fails(db, message, "SELECT iforest_pending()");
	run_fails(db, message, "SELECT iforest_pending(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)");
	run_fails(db, message, "SELECT * FROM spans WHERE iforest_pending(NULL, id)");
	run(db, "CREATE VIEW v AS SELECT iforest_pending(NULL)");
	run_fails(db, "unsafe use of iforest_pending()", "SELECT * FROM v");
	close_database(db);
}

static void a_bad_fold_is_refused(void **state)
{
	static const char *const arguments[] = { "", "nothing", "spans", "spans_if, name", "spans_if, count", "spans_if, bucket", "spans_if, track, track",
						 "spans_if, (track)", "f", "seen" };
	sqlite3 *db = open_database(":memory:", 0);
	uint64_t before;

	(void)state;
	run(db, SPANS ROWS "CREATE VIRTUAL TABLE spans_if USING iforest(" FROM_SPANS ", duration=dur, by=track); CREATE VIEW seen AS SELECT * FROM spans_if");
	run(db, "CREATE VIRTUAL TABLE f USING fts5(track)");
	before = state_of(db);
	for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
		run_fails(db, "iforest_fold: ", "CREATE VIRTUAL TABLE folded USING iforest_fold(%s)", arguments[i]);
		assert_true(state_of(db) == before);
	}
	run(db, "CREATE VIRTUAL TABLE folded USING iforest_fold(spans_if)");
	run_fails(db, "", "INSERT INTO folded VALUES(1)");
	run_fails(db, "", "DELETE FROM folded");
	run_fails(db, "folded: argument t0 takes = only", "SELECT * FROM folded WHERE t0 > 1");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_create_says_why_and_leaves_nothing),
		cmocka_unit_test(names_of_schemas_stand_in_the_message),
		cmocka_unit_test(what_stands_in_the_way_is_kept),
		cmocka_unit_test(a_bad_question_is_an_error),
		cmocka_unit_test(outer_joins_are_right_or_refused),
		cmocka_unit_test(windows_as_row_values_are_right_or_refused),
		cmocka_unit_test(a_sum_beyond_64_bits_is_an_overflow_where_it_is_asked_for),
		cmocka_unit_test(the_index_itself_is_not_written_to),
		cmocka_unit_test(functions_of_the_index_are_its_own),
		cmocka_unit_test(a_bad_fold_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
