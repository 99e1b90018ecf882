/* tests/sqlite/test_time_limits.c -- Tests of times that are reals or texts, one by one: the earliest and the latest, the forms that
 * are read and written, how the kind of a column is settled, and what is refused. test_time_kinds.c compares random ones. */
#include "harness.h"

/* ---- extreme times, and refusals ---- */

static void the_years_that_there_are(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts); INSERT INTO t(ts) VALUES ('-4713-11-24 12:00:00'), ('-0001-12-31 23:59:59.5'), ('0000-01-01'), ('2024-02-29 23:59:59.999999'),"
		" ('2024-03-01'), ('9999-12-31 23:59:59.999999')");
	run_fails(db, "iforest: time column \"ts\" of row 1 holds '-4713-11-24 12:00:00', which lies outside the years 1677 to 2262, all that 64 bits of nanoseconds can count; make the index with unit=us",
		  "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts)");
	run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, unit=us)");
	run_gives(db, "6|-4713-11-24 12:00:00|9999-12-31 23:59:59.999999\n", "SELECT count, first_ts, last_ts FROM x");
	run_gives(db, "1|2024-02-29 23:59:59.999999\n1|2024-03-01 00:00:00\n", "SELECT count, first_ts FROM x('2024-02-29', '2024-03-02') WHERE step = '1 day' ORDER BY bucket");
	run_gives(db, "-4713-11-24 12:00:00|-4713-11-25 00:00:00|1\n", "SELECT bucket_start, bucket_end, count FROM x('-4713-11-24 12:00', '-4713-12-01') WHERE step = '1 day'");
	run_gives(db, "-4713-11-24 12:00:00|1\n", "SELECT bucket_start, count FROM x('-4713-11-24 12:00', '-4713-12-01') WHERE step = '1 week'"); /* the week begins before all times */
	run_gives(db, "9999-12-31 23:59:59.999999|1\n", "SELECT bucket_end, count FROM x('9999-12-31') WHERE step = '1 week'");
	run(db, "INSERT INTO t VALUES(7, '2024-02-29 12:00:00.0000001')");
	run_fails(db, "iforest: time column \"ts\" of row 7 holds '2024-02-29 12:00:00.0000001', which has digits beyond the index's unit=us", "SELECT count FROM x");
	run(db, "UPDATE t SET ts = '2024-02-30' WHERE id = 7");
	run_gives(db, "2024-03-01 00:00:00\n", "SELECT max(first_ts) FROM x('2024-02-29', '2024-03-02', 2)");
	run_fails(db, "x: argument t0 has more digits than times of this index: 2024-02-29 12:00:00.0000001", "SELECT count FROM x('2024-02-29 12:00:00.0000001')");
	run_fails(db, "x: argument step is no whole number of us, in which this index counts: 100 ns", "SELECT count FROM x WHERE step = '100 ns'");
	close_database(db);
}

static void the_nanoseconds_that_there_are(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts TEXT); INSERT INTO t(ts) VALUES ('1677-09-21 00:12:43.145224192'), ('2262-04-11T23:47:16.854775807Z'), ('2024-02-29 23:59:59.999999999'), ('2024-03-01'), ('2024-02-29 23:59:59.999999998'),"
		" ('2024-03-01 00:30:00.000000001+00:31'), ('2024-02-28 23:59:59.999999999-14:59'), ('1970-01-01 00:00:00.000000000'), ('1969-12-31 23:59:59.999999999'), ('2024-03-01 00:00:00+14:59');"
		"CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts); CREATE VIRTUAL TABLE x_rows USING iforest_rows(x)");
	run_gives(db, "10|1677-09-21 00:12:43.145224192|2262-04-11 23:47:16.854775807\n", "SELECT count, first_ts, last_ts FROM x");
	run_gives(db, "10|2024-02-29 09:01:00\n7|2024-02-29 14:58:59.999999999\n6|2024-02-29 23:59:00.000000001\n5|2024-02-29 23:59:59.999999998\n3|2024-02-29 23:59:59.999999999\n4|2024-03-01 00:00:00\n",
		  "SELECT id, ts FROM x_rows('2024-02-01', '2024-04-01') ORDER BY ts");
	run_gives(db, "5|2024-02-29 23:59:59.999999999\n1|2024-03-01 00:00:00\n", "SELECT count, last_ts FROM x('2024-02-01', '2024-04-01') WHERE step = '1 day' ORDER BY bucket");
	run_gives(db, "1|2024-02-29 23:59:59.999999998\n1|2024-02-29 23:59:59.999999999\n1|2024-03-01 00:00:00\n", "SELECT count, bucket_start FROM x('2024-02-29 23:59:59.999999998', '2024-03-01 00:00:00.000000001') WHERE step = '1 ns' ORDER BY bucket");
	run_gives(db, "1969-12-31 23:59:59.999999999|-1\n1970-01-01 00:00:00|0\n", "SELECT first_ts, bucket FROM x('1969-12-31', '1970-01-02') WHERE step = '1 ns' ORDER BY bucket");
	run_gives(db, "1|1|1\n", "SELECT a.count, b.count, c.count FROM x('2262-04-11 23:47:16.854775807') a, x('1677-09-21 00:12:43.145224192', '1677-09-21 00:12:43.145224193') b, x('2024-02-28 23:59:59.999999999-14:59', '2024-02-29T14:59Z') c");
	run(db, "INSERT INTO t VALUES(20, '2262-04-11 23:47:16.854775808')");
	run_fails(db, "iforest: time column \"ts\" of row 20 holds '2262-04-11 23:47:16.854775808', which lies outside the years 1677 to 2262", "SELECT count FROM x");
	run(db, "UPDATE t SET ts = '2024-02-29 23:59:59.9999999990' WHERE id = 20");
	run_gives(db, "11\n", "SELECT count FROM x");
	run(db, "UPDATE t SET ts = '2024-02-29 23:59:59.9999999991' WHERE id = 20");
	run_fails(db, "iforest: time column \"ts\" of row 20 holds '2024-02-29 23:59:59.9999999991', which ", "SELECT count FROM x");
	close_database(db);
}

/* Texts are read as SQLite's own functions read them. These know only milliseconds. */
static void texts_are_read_as_sqlite_reads_them(void **state)
{
	struct random random = { test_seed() };
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts TEXT)");
	for (int i = 0; i < 500; i++) {
		static const char *const parts[] = { "2024-02-29", "0000-01-01", "9999-12-31", "2023-02-31", "-0044-03-15", "-4713-11-24", "2026-13-01", "T", " ", "  ", "24:00", "23:59", "00:00",
						     "12:30:59", "12:30:60", ".5", ".125", ".", "Z", "z", "+01:00", "-14:59", "+15:00", "-00:30", "+0100", "x", "", "now", "12" };
		char *text = sqlite3_mprintf("%s%s%s%s%s%s", parts[random_below(&random, 7)], parts[7 + random_below(&random, 3)], one_in(&random, 6) ? "" : parts[10 + random_below(&random, 5)],
					     one_in(&random, 2) ? "" : parts[15 + random_below(&random, 3)], one_in(&random, 2) ? "" : parts[18 + random_below(&random, 11)], one_in(&random, 9) ? " " : "");

		run(db, "DELETE FROM t; INSERT INTO t VALUES(1, %Q)", text);
		if (integer_of(db, "SELECT datetime(ts) IS NULL FROM t")) {
			run_fails(db, "iforest: time column \"ts\" of row 1 holds ", "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, unit=us)");
		} else {
			run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, unit=us)");
			same_rows(db, "SELECT CAST(round(julianday(first_ts) * 86400000) AS INTEGER) FROM x", "SELECT CAST(round(julianday(ts) * 86400000) AS INTEGER) FROM t");
			run(db, "DROP TABLE x");
		}
		sqlite3_free(text);
	}
	close_database(db);
}

/* Compares with SQL that people write without an index. */
static void windows_and_buckets_are_those_of_sqlites_functions(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts TEXT, v INTEGER); WITH RECURSIVE n(n) AS (VALUES(0) UNION ALL SELECT n + 1 FROM n WHERE n < 3000), s AS (SELECT n, 820454400 + n * 7919 * 61 %% 400000 - iif(n %% 9, 0, n * 86400) AS s FROM n)"
		" INSERT INTO t SELECT n, CASE n %% 6 WHEN 0 THEN datetime(s, 'unixepoch') WHEN 1 THEN strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', s, 'unixepoch') WHEN 2 THEN datetime(s + 5400, 'unixepoch') || '+01:30'"
		" WHEN 3 THEN strftime('%%Y-%%m-%%d %%H:%%M', s, 'unixepoch') WHEN 4 THEN date(s, 'unixepoch') ELSE datetime(s, 'unixepoch') || '.250' END, n %% 101 FROM s;"
		"CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=v)");
	same_rows(db, "SELECT bucket_start, count, sum_v, max_v FROM x WHERE step = '5 minutes' ORDER BY bucket",
		  "SELECT datetime(CAST(strftime('%s', ts) AS INTEGER) / 300 * 300, 'unixepoch') AS b, count(*), sum(v), max(v) FROM t GROUP BY b ORDER BY b");
	same_rows(db, "SELECT bucket_start, count, sum_v FROM x WHERE step = '1 day' ORDER BY bucket", "SELECT date(ts) || ' 00:00:00' AS b, count(*), sum(v) FROM t GROUP BY b ORDER BY b");
	same_rows(db, "SELECT substr(bucket_start, 1, 13), count FROM x('1995-12-31 22:00', '1996-01-03T12:00:00Z') WHERE step = '1 h' ORDER BY bucket",
		  "SELECT strftime('%Y-%m-%d %H', ts) AS b, count(*) FROM t WHERE julianday(ts) >= julianday('1995-12-31 22:00') AND julianday(ts) < julianday('1996-01-03 12:00') GROUP BY b ORDER BY b");
	same_rows(db, "SELECT bucket_start, count FROM x WHERE step = '1 week' AND origin = '2000-01-03' ORDER BY bucket", "SELECT datetime(ts, 'start of day', 'weekday 0', '-6 days') AS b, count(*) FROM t GROUP BY b ORDER BY b");
	same_rows(db, "SELECT count, sum_v FROM x('1996-01-01', '1996-01-02 06:00')", "SELECT count(*), sum(v) FROM t WHERE datetime(ts) >= '1996-01-01' AND datetime(ts) < '1996-01-02 06:00:00'");
	close_database(db);
}

static void reals_at_their_ends(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts REAL, d REAL); INSERT INTO t(ts, d) VALUES(-0.0, 1), (0.0, 0.5), (4.9406564584124654e-324, 1), (-4.9406564584124654e-324, 2), (1.7976931348623157e308, 1),"
		" (-1.7976931348623157e308, 3.0e308), (0.1, NULL), (NULL, 7.5)");
	run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, duration=d); CREATE VIRTUAL TABLE x_rows USING iforest_rows(x);"
		"CREATE VIRTUAL TABLE x_overlap USING iforest_overlap(x); CREATE VIRTUAL TABLE x_gaps USING iforest_gaps(x)");
	same_rows(db, "SELECT count, first_ts, last_ts, count_d, min_d, max_d FROM x", "SELECT count(*), min(ts), max(ts), count(d), min(d), max(d) FROM t");
	run_gives(db, "2|0.0|0.0\n", "SELECT count, first_ts, last_ts FROM x(0, 4.9406564584124654e-324)");
	run_gives(db, "2\n", "SELECT count FROM x(-0.0, 4.9406564584124654e-324)");
	run_gives(db, "1\n", "SELECT count FROM x(-4.9406564584124654e-324, 0.0)");
	run_gives(db, "0|5\n", "SELECT bucket, count FROM x(-4.9406564584124654e-324, 0.5, 2)");
	run_gives(db, "0|1\n1|2\n", "SELECT bucket, count FROM x(-4.9406564584124654e-324, 4.9406564584124654e-324, 2)");
	run_gives(db, "1\n2\n4\n6\n", "SELECT id FROM x_rows(-0.0, 4.9406564584124654e-324) ORDER BY id");
	run_gives(db, "1\n2\n", "SELECT id FROM x_rows WHERE ts = -0.0 ORDER BY id");
	run_gives(db, "3\n7\n5\n", "SELECT id FROM x_rows WHERE ts > 0 ORDER BY ts");
	run_gives(db, "5\n", "SELECT id FROM x_rows WHERE ts > 9223372036854775807 AND ts < 9e999");
	run_gives(db, "6\n", "SELECT id FROM x_rows WHERE ts <= -9223372036854775807");
	run_gives(db, "0.0|Inf\n1.0e+308|1\n", "SELECT min(bucket_start), max(bucket_end) FROM x WHERE step = 1e308 AND t0 = 0 UNION ALL SELECT bucket_start, count FROM x WHERE step = 1e308 AND t0 = 1");
	run_fails(db, "x: a bucket number exceeds 64 bits", "SELECT bucket FROM x WHERE step = 1e-300");
	run_fails(db, "x: argument t1 is infinite: leave it out", "SELECT count FROM x(0, 9e999)");
	run_fails(db, "x: argument step is infinite", "SELECT count FROM x WHERE step = 9e999");
	run_fails(db, "x: step must be greater than 0", "SELECT count FROM x WHERE step = -0.5");
	run_fails(db, "x: argument t0 is not a number: 2026-01-01", "SELECT count FROM x('2026-01-01')");
	run_fails(db, "x: argument step is '1 hour', but the unit of the time column is not known: give a number in it", "SELECT count FROM x WHERE step = '1 hour'");
	run(db, "INSERT INTO t VALUES(20, 9e999, 1)");
	run_fails(db, "iforest: time column \"ts\" of row 20 holds Inf, which is not a time; store NULL", "SELECT count FROM x");
	run(db, "UPDATE t SET ts = 'soon' WHERE id = 20");
	run_fails(db, "iforest: time column \"ts\" of row 20 holds text (soon), and times of the index are numbers; store times of one kind alone", "SELECT count FROM x");
	run(db, "UPDATE t SET ts = NULL WHERE id = 20; INSERT INTO x(x) VALUES('integrity-check')");
	run_gives(db, "9\n", "SELECT count FROM x");
	run_fails(db, "x: times are reals or texts, and an export has buckets of integers", "INSERT INTO x(x, step) VALUES('export', 1)");
	for (size_t w = 0; w < 4; w++) {
		static const char *const windows[][2] = { { "0.0", "1.0" }, { "-1e308", "1e308" }, { "-4.9406564584124654e-324", "4.9406564584124654e-324" }, { "-1.7976931348623157e308", "1.7976931348623157e308" } };
		const char *from = windows[w][0], *to = windows[w][1];
		char *sql = sqlite3_mprintf("SELECT overlaps, clipped_d, longest_d, longest_d_id FROM x_overlap(%s, %s)", from, to);
		char *reference = sqlite3_mprintf("SELECT count(*), sum(min(%s, ts + ifnull(d, 0)) - max(%s, ts)), max(d), (SELECT id FROM t WHERE ts < %s AND ts + d > %s ORDER BY d DESC, ts, id LIMIT 1) FROM t"
						  " WHERE ts < %s AND (ts + d > %s OR ts >= %s AND d IS NULL)", to, from, to, from, to, from, from);

		same_rows(db, sql, reference);
		sqlite3_free(sql);
		sqlite3_free(reference);
	}
	run_gives(db, "Inf\n", "SELECT clipped_d FROM x_overlap(0.0)");
	run_gives(db, "1.0e+308\nInf\n", "SELECT clipped_d FROM x_overlap WHERE step = 1e308 AND t0 = 0.0 ORDER BY bucket");
	run(db, "CREATE VIRTUAL TABLE x_counter USING iforest_counter(x)");
	close_database(db);
}

/* A build decides the kind of times. Later rows of another kind are refused until a rebuild. */
static void the_kind_is_settled_by_a_build(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts, d, v); CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=v); CREATE VIRTUAL TABLE x_rows USING iforest_rows(x)");
	run(db, "INSERT INTO t VALUES(3, 1, NULL, 5), (4, 2.0, NULL, 6)");
	run_gives(db, "2|1|2\n", "SELECT count, first_ts, last_ts FROM x");
	run(db, "INSERT INTO x(x) VALUES('flush'); INSERT INTO t VALUES(5, 2.5, NULL, 7)");
	run_fails(db, "iforest: time column \"ts\" of row 5 holds 2.5, and the index was made when it held integers only; run the command 'rebuild'", "SELECT count FROM x");
	run_fails(db, "iforest: time column \"ts\" of row 5 holds 2.5", "SELECT id FROM x_rows");
	run(db, "INSERT INTO x(x) VALUES('rebuild')");
	run_gives(db, "3|1.0|2.5\n", "SELECT count, first_ts, last_ts FROM x");
	run_fails(db, "x: the index was made anew with other columns; drop the tables over it", "SELECT id FROM x_rows");
	run(db, "DROP TABLE x_rows; CREATE VIRTUAL TABLE x_rows USING iforest_rows(x)");
	run_gives(db, "3|1.0\n4|2.0\n5|2.5\n", "SELECT id, ts FROM x_rows ORDER BY ts");
	run(db, "UPDATE t SET ts = '2026-01-0' || id");
	run_fails(db, "iforest: time column \"ts\" of row 3 holds text (2026-01-03), and times of the index are numbers", "SELECT count FROM x");
	run(db, "INSERT INTO x(x) VALUES('rebuild'); DROP TABLE x_rows; CREATE VIRTUAL TABLE x_rows USING iforest_rows(x)");
	run_gives(db, "3|2026-01-03|2026-01-05\n", "SELECT count, first_ts, last_ts FROM x");
	run_gives(db, "TEXT\n", "SELECT type FROM pragma_table_info('x_rows') WHERE name = 'ts'");
	run(db, "UPDATE t SET ts = 7.5 WHERE id = 4");
	run_fails(db, "iforest: time column \"ts\" of row 4 holds a number (7.5), and times of the index are texts", "SELECT count FROM x");
	run_fails(db, "iforest: time column \"ts\" of row 4 holds a number (7.5), and times of the index are texts", "INSERT INTO x(x) VALUES('rebuild')");
	run(db, "UPDATE t SET ts = '7.5' WHERE id = 4");
	run_fails(db, "iforest: time column \"ts\" of row 4 holds '7.5', which is not a date, or date and time of day", "INSERT INTO x(x) VALUES('rebuild')");
	run(db, "UPDATE t SET ts = id; INSERT INTO x(x) VALUES('rebuild')");
	run_gives(db, "3|3|5\n", "SELECT count, first_ts, last_ts FROM x");
	close_database(db);
}

static void an_empty_column_is_of_its_declared_type(void **state)
{
	static const struct {
		const char *type, *arguments, *row, *shown;
	} empty[] = {
		{ "TEXT", "", "'2026-01-01'", "2026-01-01 00:00:00\n" },     { "DATETIME", "", "'2026-01-01T12:00Z'", "2026-01-01 12:00:00\n" }, { "timestamp", "", "'2026-01-01'", "2026-01-01 00:00:00\n" },
		{ "date", "", "'2026-01-01'", "2026-01-01 00:00:00\n" },     { "VARCHAR(30)", "", "'2026-01-01'", "2026-01-01 00:00:00\n" },     { "REAL", "", "1", "1.0\n" },
		{ "DOUBLE PRECISION", "", "0.5", "0.5\n" },		     { "INTEGER", "", "7", "7\n" },					 { "", "", "7", "7\n" },
		{ "NUMERIC", "", "7", "7.0\n" },				     { "", ", unit=s", "'2026-01-01'", "2026-01-01 00:00:00\n" },
		{ "INTEGER", ", unit=s", "7", "7\n" },			     { "DECIMAL(10, 2)", ", unit=s", "7.25", "7.25\n" },
		{ "DECIMAL(10)", "", "7", "7\n" },			     { "NUMBER", "", "7.5", "7.5\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts %s); INSERT INTO t VALUES(1, NULL); CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts%s)", empty[i].type, empty[i].arguments);
		run(db, "INSERT INTO t(ts) VALUES(%s)", empty[i].row);
		run_gives(db, empty[i].shown, "SELECT last_ts FROM x");
		run(db, "INSERT INTO x(x) VALUES('flush'), ('integrity-check')");
		run_gives(db, empty[i].shown, "SELECT first_ts FROM x");
		close_database(db);
	}
}

static const struct {
	const char *rows, *arguments, *message;
} refused[] = {
	{ "('2026-01-01', 5, 1)", "duration=d", "iforest: times of \"t\" are texts, which do not tell the unit of column \"d\"; say in what durations are counted: unit=s, unit=ms, unit=us or unit=ns" },
	{ "('2026-01-01', 5.5, 1)", "duration=d, unit=s", "iforest: duration column \"d\" of row 1 holds the real 5.5, and the index counts whole units; say what that column counts: duration_unit=s for seconds" },
	{ "('2026-01-01', 9e999, 1)", "duration=d, unit=us, duration_unit=s", "iforest: duration column \"d\" of row 1 holds Inf, more us than 64 bits can count; store NULL" },
	{ "('2026-01-01', 9223372036855.0, 1)", "duration=d, unit=us, duration_unit=s", "iforest: duration column \"d\" of row 1 holds 9223372036855.0, more us than 64 bits can count" },
	{ "('2026-01-01', 9223372036854.0, 1)", "duration=d, unit=us, duration_unit=s", "" },
	{ "('2026-01-01', -9223372036855, 1)", "duration=d, unit=us, duration_unit=s", "iforest: duration column \"d\" of row 1 holds -9223372036855, more us than 64 bits can count" },
	{ "('2026-01-01', 'x', 1)", "duration=d, unit=us, duration_unit=s", "iforest: value column \"d\" of row 1 holds text or a blob (x)" },
	{ "('2026-01-01', 1, 1)", "duration=d, unit=us, duration_unit=days", "iforest: cannot read argument \"duration_unit=days\": it is ns, us, ms or s" },
	{ "('2026-01-01', 1, 1)", "duration=d, unit=us, duration_unit=s, duration_unit=s", "iforest: argument \"duration_unit\" is given twice" },
	{ "('2026-01-01', '2026-01-01', 1)", "end=d, unit=us, duration_unit=s", "iforest: duration_unit=... goes with duration=... alone; leave it out" },
	{ "(1, 5, 1)", "duration=d, duration_unit=s", "iforest: duration_unit=s needs unit=..., too: what the numbers of column \"ts\" count" },
	{ "(0.5, 5, 1)", "duration=d, unit=s, duration_unit=ns", "" },
	{ "('2026-01-01', 5.5, 1)", "duration=d, duration_unit=s", "" },
	{ "('2026-01-01 00:00:00.5', 5, 1)", "duration=d, unit=s", "iforest: time column \"ts\" of row 1 holds '2026-01-01 00:00:00.5', which has digits beyond the index's unit=s; make the index with a finer unit, and say what durations count: unit=us, duration_unit=s" },
	{ "('2026-01-01 00:00:00.0123456789', 5, 1)", "value=v", "iforest: time column \"ts\" of row 1 holds '2026-01-01 00:00:00.0123456789', which has digits beyond the index's unit=ns; there is no finer unit: add a generated column without them, and name that" },
	{ "(1, 5, 1)", "duration=d, unit=s", "" },
	{ "(1.5, 5, 1)", "unit=s", "" },
	{ "('2026-01-01', 5, 1)", "unit=minutes", "iforest: cannot read argument \"unit=minutes\": it is ns, us, ms or s" },
	{ "('2026-01-01', 5, 1)", "unit=s, unit=s", "iforest: argument \"unit\" is given twice" },
	{ "('01/02/2026', 5, 1)", "value=v", "iforest: time column \"ts\" of row 1 holds '01/02/2026', which is not a date, or date and time of day, such as '2026-01-31 23:59:59.5'; add a generated column" },
	{ "('2026-01-01', 5, 1), (12, 1, 1)", "value=v", "iforest: time column \"ts\" of row 2 holds a number (12), and times of the index are texts" },
	{ "(12, 5, 1), ('2026-01-01', 1, 1)", "value=v", "iforest: time column \"ts\" of row 2 holds text (2026-01-01), and times of the index are integers" },
	{ "('2026-01-01', 5, 1)", "end=d", "iforest: end column \"d\" of row 1 holds a number (5), and times are texts; ends are, too" },
	{ "('2026-01-01', '9999-12-31', 1)", "end=d", "iforest: end column \"d\" of row 1 holds '9999-12-31', which lies outside the years 1677 to 2262, all that 64 bits of nanoseconds can count; make the index with unit=us" },
	{ "('1677-09-22', '2262-04-11', 1)", "end=d", "iforest: end column \"d\" of row 1 holds 2262-04-11, further from the time than 64 bits can say" },
	{ "('2026-01-01', 'x', 1)", "end=d", "iforest: end column \"d\" of row 1 holds 'x', which is not a date, or date and time of day" },
	{ "(9007199254740993, 5, 1), (0.5, 1, 1)", "value=v", "iforest: time column \"ts\" of row 1 holds the integer 9007199254740993 next to reals, which cannot hold it exactly" },
	{ "(0.5, 5, 1)", "end=d AS took, variance=took", "iforest: times of \"t\" are reals, and so are the durations, but variances are kept of integers alone; add a column of integers: "
	  "ALTER TABLE \"t\" ADD COLUMN \"took_integer\" INTEGER AS (CAST(round((\"d\" - \"ts\") * 1000000) AS INTEGER)), and name that in value=(...) and variance=..." },
	{ "(0.5, 5, 1)", "duration=d, value=(v, id, d AS a, d AS b, d AS c, d AS e, d)", "" },
	{ "(0.5, 5, 1)", "duration=d, value=(v, id, v AS a, v AS b, v AS c, v AS e, v AS f)", "iforest: at most 7 value columns next to durations of reals" },
	{ "(0.5, 'x', 1)", "duration=d", "iforest: value column \"d\" of row 1 holds text or a blob (x)" },
	{ "(0.5, 'x', 1)", "end=d", "iforest: end column \"d\" of row 1 holds text or a blob (x)" },
	{ "(0.5, 9e999, 1)", "end=d", "iforest: end column \"d\" of row 1 holds Inf, which is not a time" },
};

static void what_cannot_be_is_refused_by_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts, d, v); INSERT INTO t(ts, d, v) VALUES %s", refused[i].rows);
		if (*refused[i].message)
			run_fails(db, refused[i].message, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, %s)", refused[i].arguments);
		else
			run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, %s)", refused[i].arguments);
		close_database(db);
	}
}

static int compare_texts(void *context, int n, const void *a, int m, const void *b)
{
	(void)context;
	(void)a;
	(void)b;
	return n - m;
}

static void questions_in_other_forms_are_refused(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts TEXT); INSERT INTO t(ts) VALUES('2026-01-01'), ('2026-01-01 00:00:00.5'), ('2026-01-02'), ('2026-03-01');"
		"CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts); CREATE VIRTUAL TABLE x_rows USING iforest_rows(x)");
	run_fails(db, "x: argument step is '1 month', but months and years differ in length; ask for days and group them: GROUP BY strftime('%Y-%m', bucket_start)", "SELECT count FROM x WHERE step = '1 month'");
	run_gives(db, "2026-01|3\n2026-03|1\n", "SELECT strftime('%%Y-%%m', bucket_start) AS month, sum(count) FROM x WHERE step = '1 day' GROUP BY month");
	run_fails(db, "x: argument step is no length such as '5 minutes', '1 h', '1 day' or '500 ms': 60", "SELECT count FROM x WHERE step = 60");
	run_fails(db, "x: argument step is no length such as", "SELECT count FROM x WHERE step = 'often'");
	run_fails(db, "x: step must be greater than 0", "SELECT count FROM x WHERE step = '0 s'");
	run_fails(db, "x: argument t0 is not a time such as '2026-01-31 23:59:59.5': 5", "SELECT count FROM x(5)");
	run_fails(db, "x: argument t0 is not a time such as '2026-01-31 23:59:59.5': now", "SELECT count FROM x('now')");
	run_fails(db, "x: argument t1 lies outside the years 1677 to 2262, which nanoseconds can count: 9999-12-31", "SELECT count FROM x('2026-01-01', '9999-12-31')");
	run_fails(db, "x: argument origin is not a time", "SELECT count FROM x WHERE step = '1 day' AND origin = 7");
	run_gives(db, "", "SELECT count FROM x(NULL)");
	run_fails(db, "x_rows: column ts is compared as text, in the form of the index's times: write '2026-01-01 00:00:00' for '2026-01-01T00:00Z', or use t0 and t1", "SELECT id FROM x_rows WHERE ts >= '2026-01-01T00:00Z'");
	run_fails(db, "x_rows: column ts is compared as text", "SELECT id FROM x_rows WHERE ts < '2026-02-30'");
	run_fails(db, "x_rows: column ts is compared as text", "SELECT id FROM x_rows WHERE ts = '2026-01-01 00:00:00 '");
	run_fails(db, "x_rows: column ts is compared as text, in the form of the index's times: write '2026-01-01 00:00:00' for '2026-01-01 00:00', or use t0 and t1", "SELECT id FROM x_rows WHERE ts = '2026-01-01 00:00'");
	run_fails(db, "x_rows: column ts is compared as text", "SELECT id FROM x_rows WHERE ts IN ('2026-01-01 00:00:00', '2026-01-01')");
	run_fails(db, "x_rows: column ts is compared as text", "SELECT id FROM x_rows WHERE ts IS '2026-01-01 00:00:00.0'");
	/* other bounds are compared as SQLite compares texts */
	for (size_t i = 0; i < 6; i++) {
		static const char *const operators[] = { "<", "<=", ">", ">=", "=", "IS" };
		static const char *const bounds[] = { "'2026-01-01'", "'2026-01-01 00:00'", "'2026-01-01 00:00:00'", "'2026-01-01 00:00:00.5'", "'2026-01-01 00:00:00.500'", "'2026-01-01 00:00:00.'", "'2026'", "'x'", "''", "NULL",
						      "x'00'", "5", "'2026-01-01 00:00:00.50000000001'", "'-0001-01-01'" };

		for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
			char *sql = sqlite3_mprintf("SELECT id FROM x_rows WHERE ts %s %s ORDER BY id", operators[i], bounds[b]);
			char *reference = sqlite3_mprintf("SELECT id FROM (SELECT id, rtrim(rtrim(strftime('%%Y-%%m-%%d %%H:%%M:%%f', ts), '0'), '.') AS f FROM t), (SELECT 1) WHERE CAST(substr(f || ':00', 1, max(19, length(f))) AS TEXT) %s %s ORDER BY id",
							   operators[i], bounds[b]);

			/* no text is equal to a time in another form */
			if (i >= 4 && (b < 2 || b == 4 || b == 12))
				run_fails(db, "x_rows: column ts is compared as text, in the form of the index's times", "%s", sql);
			else
				same_rows(db, sql, reference);
			sqlite3_free(sql);
			sqlite3_free(reference);
		}
	}
	sqlite3_create_collation(db, "by_length", SQLITE_UTF8, NULL, compare_texts);
	run(db, "CREATE TABLE u(id INTEGER PRIMARY KEY, ts TEXT COLLATE by_length); INSERT INTO u(ts) VALUES('2026-01-01')");
	run_fails(db, "iforest: column \"ts\" has collation by_length, under which different times may be equal; add one without: ALTER TABLE \"u\" ADD COLUMN \"ts_binary\" TEXT AS (\"ts\"), and name that",
		  "CREATE VIRTUAL TABLE y USING iforest(content=u, time=ts)");
	run(db, "ALTER TABLE \"u\" ADD COLUMN \"ts_binary\" TEXT AS (\"ts\"); CREATE VIRTUAL TABLE y USING iforest(content=u, time=ts_binary); UPDATE u SET ts = '2026-01-02'");
	run_gives(db, "1|2026-01-02\n", "SELECT count, last_ts_binary FROM (SELECT count, last_ts AS last_ts_binary FROM y)");
	close_database(db);
}

static void the_kind_is_that_of_the_rows_of_the_index(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts, s); INSERT INTO t(ts, s) VALUES('never', 0), (5, 1), (7, 1), (8.5, 2), (x'00', 0), ('2026-01-01', 3)");
	for (int s = 1; s <= 3; s++)
		run(db, "CREATE VIRTUAL TABLE x%d USING iforest(content=t, time=ts, where=(s = %d))", s, s);
	run_gives(db, "2|7\n1|8.5\n1|2026-01-01\n", "SELECT count, last_ts FROM x1 UNION ALL SELECT count, last_ts FROM x2 UNION ALL SELECT count, last_ts FROM x3");
	run(db, "CREATE VIRTUAL TABLE x12 USING iforest(content=t, time=ts, where=(s = 1 OR s = 2)); UPDATE t SET s = 1 WHERE id = 4");
	run_gives(db, "3|8.5\n", "SELECT count, last_ts FROM x12");
	run_fails(db, "iforest: time column \"ts\" of row 4 holds 8.5, and the index was made when it held integers only", "SELECT count FROM x1");
	close_database(db);
}

/* If all texts of a column have one form, the index returns times in that form, and rows join by their times. */
static void texts_come_out_in_the_form_of_the_column(void **state)
{
	static const struct {
		const char *spelling; /* SQL of the second s and the millisecond m */
		const char *bucket, *other;
		const char *bound; /* a bound for x_rows; `refused` has another form */
		const char *refused;
	} spelled[] = {
		{ "strftime('%Y-%m-%d %H:%M:%S', s, 'unixepoch')", "2026-01-01 00:30:00", "2026-01-03T00:00Z", "2026-01-01 00:30:00", "2026-01-01T00:30:00" },
		{ "strftime('%Y-%m-%dT%H:%M:%S', s, 'unixepoch')", "2026-01-01T00:30:00", "2026-01-03 00:00", "2026-01-01T00:30", "2026-01-01 00:30:00" },
		{ "strftime('%Y-%m-%dT%H:%M:%SZ', s, 'unixepoch')", "2026-01-01T00:30:00Z", "2026-01-03", "2026-01-01T00:30:00Z", "2026-01-01T00:30:00.000Z" },
		{ "strftime('%Y-%m-%dT%H:%M:%S', s, 'unixepoch') || printf('.%03dZ', m)", "2026-01-01T00:30:00.000Z", "2026-01-03 00:00:00", "2026-01-01T00:30:00.000Z", "2026-01-01T00:30:00Z" },
		{ "strftime('%Y-%m-%d %H:%M:%S', s, 'unixepoch') || printf('.%06d', 1000 * m)", "2026-01-01 00:30:00.000000", "2026-01-03", "2026-01-01 00:30:00", "2026-01-01T00:30:00" },
		{ "strftime('%Y-%m-%dT%H:%M:%S', s, 'unixepoch') || iif(m, printf('.%06d', 1000 * m), '')", "2026-01-01T00:30:00", "2026-01-03", "2026-01-01T00:30:00.5", "2026-01-01 00:30:00" }, /* isoformat() */
		{ "strftime('%Y-%m-%dT%H:%M:%S+00:00', s, 'unixepoch')", "2026-01-01T00:30:00+00:00", "2026-01-03", "2026-01-01T00:30:00+00:00", "2026-01-01T00:30:00Z" },
		{ "strftime('%Y-%m-%dT%H:%M:%S', s, 'unixepoch') || rtrim(rtrim(printf('.%03d', m), '0'), '.')", "2026-01-01T00:30:00", "2026-01-03", "2026-01-01T00:30:00", "2026-01-01 00:30:00" },
		{ "strftime('%Y-%m-%dT%H:%M', s, 'unixepoch')", "2026-01-01T00:30", "2026-01-03", "2026-01-01T00:30", "2026-01-01 00:30" },
		{ "date(s, 'unixepoch')", "2026-01-01 00:30:00", "2026-01-03 00:00", "2026-01-01", "2026-01-01T00:30" },
		/* the column has no single form, or texts in its form are not in the order of their times */
		{ "strftime(iif(id % 2, '%Y-%m-%d %H:%M:%S', '%Y-%m-%dT%H:%M:%S'), s, 'unixepoch')", "2026-01-01 00:30:00", NULL, "2026-01-01 00:30:00", "2026-01-01T00:30:00" },
		{ "strftime('%Y-%m-%dT%H:%M:%S', s, 'unixepoch') || iif(m, printf('.%06dZ', 1000 * m), 'Z')", "2026-01-01 00:30:00", NULL, "2026-01-01 00:30:00", "2026-01-01T00:30:00Z" },
		{ "strftime('%Y-%m-%d %H:%M:%S+01:00', s, 'unixepoch')", "2026-01-01 00:30:00", NULL, "2026-01-01 00:30:00", "2026-01-01 00:30:00+01:00" },
		{ "strftime('%Y-%m-%d %H:%M:%S', s, 'unixepoch') || iif(m, printf('.%06d', 1000 * m), '.0')", "2026-01-01 00:30:00", NULL, "2026-01-01 00:30:00", "2026-01-01T00:30:00" },
	};

	(void)state;
	for (size_t f = 0; f < sizeof spelled / sizeof *spelled; f++) {
		sqlite3 *db = open_database(":memory:", 0);
		const char *spelling = spelled[f].spelling;
		char *expected, *asked;

		run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts TEXT, v INTEGER); WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 300),"
			" p AS (SELECT id, 1767225600 + id * 7919 %% 90000 AS s, id * 37 %% 10 * 100 AS m FROM n) INSERT INTO t SELECT id, %s, id FROM p", spelling);
		run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=v); CREATE VIRTUAL TABLE x_rows USING iforest_rows(x)");
		expected = sqlite3_mprintf("%s\n", spelled[f].bucket);
		run_gives(db, expected, "SELECT bucket_start FROM x('2026-01-01 00:30', '2026-01-02') WHERE step = '30 min' AND fill = 'zero' LIMIT 1");
		sqlite3_free(expected);
		expected = sqlite3_mprintf("SELECT count(*) FROM t WHERE julianday(ts) >= julianday('%s')", spelled[f].bound);
		asked = sqlite3_mprintf("SELECT count(*) FROM x_rows WHERE ts >= '%s'", spelled[f].bound);
		same_rows(db, asked, expected);
		sqlite3_free(asked);
		sqlite3_free(expected);
		run_fails(db, "x_rows: column ts is compared as text, in the form of the index's times", "SELECT count(*) FROM x_rows WHERE ts >= '%s'", spelled[f].refused);
		if (spelled[f].other) {
			run_gives(db, "300|0|1\n", "SELECT count(*), sum(t.ts <> r.ts), (SELECT first_ts = (SELECT min(ts) FROM t) AND last_ts = (SELECT max(ts) FROM t) FROM x) FROM t JOIN x_rows r USING(id)");
			run(db, "INSERT INTO t(id, ts, v) VALUES(301, '%s', 1000); INSERT INTO x(x) VALUES('flush'); DELETE FROM t WHERE id < 9; INSERT INTO x(x) VALUES('optimize')", spelled[f].other);
			expected = sqlite3_mprintf("SELECT 293, %s, 1000 FROM (SELECT 301 AS id, 1767398400 AS s, 0 AS m)", spelling);
			same_rows(db, "SELECT count, max_v_ts, max_v FROM x", expected);
			sqlite3_free(expected);
		}
		run(db, "INSERT INTO x(x) VALUES('integrity-check'); DELETE FROM t; INSERT INTO t(ts) VALUES('2026-01-01T10:00:00Z'); INSERT INTO x(x) VALUES('rebuild')");
		run_gives(db, "2026-01-01T10:00:00Z\n2026-01-01T10:00:00.5Z\n", "SELECT first_ts FROM x UNION ALL SELECT bucket_start FROM x('2026-01-01 10:00:00.5', '2026-01-02', 1) WHERE fill = 'zero'");
		close_database(db);
	}
}

static void durations_beside_texts(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts TEXT, fin TEXT); INSERT INTO t(ts, fin) VALUES('2026-01-01 00:00:00', '2026-01-01T00:00:10Z'), ('2026-01-01 00:00:05.5', '2026-01-01 01:00:07+01:00'), ('2026-01-01 00:00:08', NULL);"
		"CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, end=fin AS took, unit=ms); CREATE VIRTUAL TABLE x_overlap USING iforest_overlap(x)");
	run_gives(db, "3|2|11500|10000|1\n", "SELECT count, count_took, sum_took, max_took, max_took_id FROM x");
	run_gives(db, "2026-01-01 00:00:05|2026-01-01 00:00:10|3|6500|10000|2026-01-01 00:00:00\n",
		  "SELECT bucket_start, bucket_end, overlaps, clipped_took, longest_took, longest_took_ts FROM x_overlap('2026-01-01 00:00:05', '2026-01-01 00:00:10')");
	run_gives(db, "0|5000\n1|6500\n", "SELECT bucket - 353445120, clipped_took FROM x_overlap WHERE step = '5 s' ORDER BY 1");
	close_database(db);
}

/* Follows the advice of messages, and then changes rows. */
static void columns_of_integers_follow_reals(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE runs(id INTEGER PRIMARY KEY, began REAL, took REAL); INSERT INTO runs(began, took) VALUES(1760000000.25, 0.5), (1760000001.5, 2.25), (1760000002.125, NULL)");
	run_fails(db, "iforest: times of \"runs\" are reals, and so are the durations, but variances are kept of integers alone; add a column of integers: "
		      "ALTER TABLE \"runs\" ADD COLUMN \"took_integer\" INTEGER AS (CAST(round(\"took\" * 1000000) AS INTEGER)), and name that in value=(...) and variance=...",
		  "CREATE VIRTUAL TABLE x USING iforest(content=runs, time=began, duration=took, variance=took)");
	run(db, "ALTER TABLE \"runs\" ADD COLUMN \"took_integer\" INTEGER AS (CAST(round(\"took\" * 1000000) AS INTEGER));"
		"CREATE VIRTUAL TABLE x USING iforest(content=runs, time=began, duration=took, value=(took, took_integer), variance=took_integer, histogram=took_integer(1000000))");
	run_gives(db, "2|2.75|1531250000000.0|1\n", "SELECT count_took, sum_took, var_took_integer, count_took_integer_le_1000000 FROM x");
	run(db, "INSERT INTO runs(began, took) VALUES(1760000003.0, 5); UPDATE runs SET took = 0.75 WHERE id = 1; DELETE FROM runs WHERE id = 3");
	run_gives(db, "3|8.0|1\n", "SELECT count_took, sum_took, count_took_integer_le_1000000 FROM x");
	run_fails(db, "iforest: times of \"runs\" are reals, and so are the durations, but products are kept of integers alone; add a column of integers: "
		      "ALTER TABLE \"runs\" ADD COLUMN \"began_integer\" INTEGER AS (CAST(round(\"began\" * 1000000) AS INTEGER)), and name that in value=(...) and products=...",
		  "CREATE VIRTUAL TABLE y USING iforest(content=runs, time=began, value=took_integer, products=(took_integer*began))");
	run(db, "ALTER TABLE \"runs\" ADD COLUMN \"began_integer\" INTEGER AS (CAST(round(\"began\" * 1000000) AS INTEGER));"
		"CREATE VIRTUAL TABLE y USING iforest(content=runs, time=began, value=(took_integer, began_integer), products=(took_integer*began_integer))");
	run(db, "INSERT INTO runs(began, took) VALUES(1760000004.0, 6.5)");
	run_gives(db, "4\n", "SELECT regr_count_took_integer_began_integer FROM y");
	close_database(db);
}

/* Durations and times are not multiples of each other. Sums may differ from those of plain SQL by the order of summing, which
 * loses half a unit of the last digit per row. */
static void sums_over_reals_are_plain_sql_but_for_rounding(void **state)
{
	(void)state;
	for (int round = 0; round < 12; round++) {
		struct random random = { test_seed() + (uint64_t)round };
		sqlite3 *db = open_database(":memory:", 0);
		double base = round % 3 == 0 ? 0 : round % 3 == 1 ? 1760000000.1 : -0.3;
		bool has_ends = round % 2;

		run(db, "BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, g, ts REAL, d REAL, v REAL)");
		for (int i = 0; i < 2000; i++) {
			double ts = base + (double)random_below(&random, 1000000) / 997, d = one_in(&random, 50) ? -0.1 : (double)random_below(&random, 1000) / (one_in(&random, 20) ? 0.7 : 313);

			run(db, "INSERT INTO t(g, ts, d, v) VALUES(%lld, %!.17g, %!.17g, %!.17g)", random_below(&random, 2), ts, has_ends ? ts + d : d, (double)random_below(&random, 1000) / 7);
			if (i == 1500)
				run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, %s, by=g)", has_ends ? "end=d AS d, value=v" : "duration=d, value=(d, v)");
		}
		run(db, "COMMIT; CREATE VIRTUAL TABLE o USING iforest_overlap(x); CREATE VIRTUAL TABLE c USING iforest_counter(x);"
			"CREATE TABLE s AS SELECT g, id, ts, %s AS d, %s AS e, v FROM t", has_ends ? "d - ts" : "d", has_ends ? "d" : "ts + d");
		for (int i = 0; i < 40; i++) {
			double a = base + (double)random_below(&random, 1000) / 3, z = a + (double)random_below(&random, 100000) / 91;
			char *sql = sqlite3_mprintf("SELECT g, overlaps, longest_d, longest_d_id FROM o(%!.17g, %!.17g) ORDER BY g", a, z);
			char *reference = sqlite3_mprintf("SELECT g, n, m, id FROM (SELECT g, count(*) OVER (PARTITION BY g) AS n, max(d) OVER (PARTITION BY g) AS m, id, row_number() OVER (PARTITION BY g ORDER BY d DESC, ts, id) AS r"
							  " FROM s WHERE ts < %!.17g AND (d > 0 AND e > %!.17g OR d <= 0 AND ts >= %!.17g)) WHERE r = 1 ORDER BY g", z, a, a);

			same_rows(db, sql, reference);
			sqlite3_free(sql);
			sqlite3_free(reference);
			run_gives(db, "", "WITH p AS (SELECT g, count(*) AS n, sum(iif(ts >= %!.17g AND e <= %!.17g, d, min(e, %!.17g) - max(ts, %!.17g))) AS c FROM s WHERE d > 0 AND ts < %!.17g AND e > %!.17g GROUP BY g)"
				      " SELECT p.g, c, clipped_d FROM p JOIN o(%!.17g, %!.17g) AS o ON o.g = p.g WHERE NOT abs(c - clipped_d) <= p.n * c / 4503599627370496.0", a, z, z, a, z, a, a, z);
			run_gives(db, "", "WITH w AS (SELECT g, v, max(ts, %!.17g) AS f, min(%!.17g, ifnull(lead(ts) OVER (PARTITION BY g ORDER BY ts, id), 9e99), iif(d < 0, 9e99, e)) AS t, ts FROM s),"
				      " p AS (SELECT g, count(*) AS n, sum(v * (t - f)) / sum(t - f) AS m, max(v) AS most FROM w WHERE f < t GROUP BY g)"
				      " SELECT p.g, m, twa_v FROM p JOIN c(%!.17g, %!.17g) AS c ON c.g = p.g WHERE NOT abs(m - twa_v) <= 4 * p.n * most / 4503599627370496.0", a, z, a, z);
		}
		close_database(db);
	}
}

/* Tests samples that are carried or interpolated, and counters over texts. */
static void samples_between_times(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts TEXT, v INTEGER); INSERT INTO t(ts, v) VALUES('2026-01-01T00:00:05Z', 100), ('2026-01-01 00:00:28', 330), ('2026-01-01 00:00:29', 340), ('2026-01-01 01:00:52+01:00', 800);"
		"CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=v, unit=ms)");
	run_gives(db, "2026-01-01 00:00:10|0|100|2026-01-01 00:00:05\n2026-01-01 00:00:20|2|340|2026-01-01 00:00:29\n2026-01-01 00:00:30|0|340|2026-01-01 00:00:29\n2026-01-01 00:00:40|0|340|2026-01-01 00:00:29\n",
		  "SELECT bucket_start, count, max_v, max_v_ts FROM x('2026-01-01 00:00:10', '2026-01-01 00:00:50') WHERE step = '10 seconds' AND fill = 'last' ORDER BY bucket");
	run_gives(db, "150.0\n340\n360.0\n560.0\n", "SELECT last_v FROM x('2026-01-01 00:00:10', '2026-01-01 00:00:50') WHERE step = '10 seconds' AND fill = 'linear' ORDER BY bucket");
	run(db, "CREATE VIRTUAL TABLE x_counter USING iforest_counter(x)");
	run_gives(db, "100|800|700|14.0\n", "SELECT start_v, end_v, increase_v, rate_v * 1000 FROM x_counter('2026-01-01 00:00:10', '2026-01-01 00:01')");
	run(db, "CREATE TABLE r(id INTEGER PRIMARY KEY, ts REAL, v INTEGER); INSERT INTO r(ts, v) VALUES(0.5, 100), (2.8125, 330), (2.875, 340), (5.25, 800);"
		"CREATE VIRTUAL TABLE y USING iforest(content=r, time=ts, value=v)");
	run_gives(db, "1.0|0|100|0.5\n2.0|2|340|2.875\n3.0|0|340|2.875\n4.0|0|340|2.875\n", "SELECT bucket_start, count, max_v, max_v_ts FROM y(1, 5) WHERE step = 1 AND fill = 'last' ORDER BY bucket");
	same_rows(db, "SELECT last_v FROM y(1, 5) WHERE step = 1 AND fill = 'linear' ORDER BY bucket",
		  "VALUES(100 + 230 * 0.5 / 2.3125), (340), (340 + 460 * 0.125 / 2.375), (340 + 460 * 1.125 / 2.375)");
	close_database(db);
}

/* The end of a span, which core stores beside a real duration, is not a value column of the index. */
static void accumulators_beside_real_durations(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts REAL, dur REAL, x INTEGER); INSERT INTO t VALUES(1, 1.5, 2.5, 10), (2, 2.5, 3.25, 20), (3, 3.5, 1.0, 40);"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, duration=dur, value=x, variance=x, histogram=(x(15, 30)))");
	same_rows(db, "SELECT count, var_x, count_x_le_15, count_x_le_30 FROM t_if",
		  "SELECT count(*), (sum(x * x) - sum(x) * sum(x) / 3.0) / 2, sum(x <= 15), sum(x <= 30) FROM t");
	close_database(db);
}

static void threads_answer_over_reals(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, g, ts REAL, v); WITH RECURSIVE n(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM n WHERE n < 60000) INSERT INTO t(g, ts, v) SELECT n %% 40, n * 0.25 + 0.125, n FROM n;"
		"CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=v, by=g); PRAGMA threads = 3");
	same_rows(db, "SELECT g, bucket, count, sum_v FROM x(100, 14000) WHERE step = 0.5 ORDER BY g, bucket", "SELECT g, CAST(floor(ts / 0.5) AS INTEGER) AS b, count(*), sum(v) FROM t WHERE ts >= 100 AND ts < 14000 GROUP BY g, b ORDER BY g, b");
	same_rows(db, "SELECT g, bucket, count, sum_v FROM x(100, 14000, 640) ORDER BY g, bucket", "SELECT g, iforest_bucket(ts, 100, 14000, 640) AS b, count(*), sum(v) FROM t WHERE b IS NOT NULL GROUP BY g, b ORDER BY g, b");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_years_that_there_are),
		cmocka_unit_test(the_nanoseconds_that_there_are),
		cmocka_unit_test(texts_are_read_as_sqlite_reads_them),
		cmocka_unit_test(windows_and_buckets_are_those_of_sqlites_functions),
		cmocka_unit_test(reals_at_their_ends),
		cmocka_unit_test(the_kind_is_settled_by_a_build),
		cmocka_unit_test(an_empty_column_is_of_its_declared_type),
		cmocka_unit_test(what_cannot_be_is_refused_by_name),
		cmocka_unit_test(questions_in_other_forms_are_refused),
		cmocka_unit_test(the_kind_is_that_of_the_rows_of_the_index),
		cmocka_unit_test(texts_come_out_in_the_form_of_the_column),
		cmocka_unit_test(durations_beside_texts),
		cmocka_unit_test(columns_of_integers_follow_reals),
		cmocka_unit_test(sums_over_reals_are_plain_sql_but_for_rounding),
		cmocka_unit_test(samples_between_times),
		cmocka_unit_test(threads_answer_over_reals),
		cmocka_unit_test(accumulators_beside_real_durations),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
