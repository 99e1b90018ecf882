/* tests/sqlite/test_rows.c -- Tests of iforest_rows and iforest_gaps by example: columns, EXPLAIN QUERY PLAN, refusals, and how
 * many pages of the index a query reads. test_rows_random.c tests answers at random. */
#include "harness.h"

/* ---- pages that are read ---- */

static int n_pages_read;

/* Counts pages that are read: each takes one run of a statement of its own, unless it is in memory. */
static int count_pages(unsigned event, void *context, void *statement, void *text)
{
	(void)event;
	(void)context;
	(void)statement;
	n_pages_read += strstr(text, "SELECT bytes FROM") != NULL; /* "-- " precedes the text, because the statement runs within another */
	return SQLITE_OK;
}

/* Returns how many pages a query reads on a connection that has none in memory. It must return n_rows rows. */
static int pages_of(const char *path, int n_rows, const char *sql)
{
	sqlite3 *db = open_database(path, 0);
	sqlite3_stmt *statement;
	int n = 0;

	n_pages_read = 0;
	sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count_pages, NULL);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	while (sqlite3_step(statement) == SQLITE_ROW)
		n++;
	sqlite3_finalize(statement);
	close_database(db);
	if (n != n_rows)
		fail_msg("%s gives %d rows, not %d", sql, n, n_rows);
	print_message("%4d pages: %s\n", n_pages_read, sql);
	return n_pages_read;
}

/* 300 000 spans of 4 tracks take about 600 pages in three levels, and one for the manifest. */
static void what_is_not_asked_for_is_not_read(void **state)
{
	const char *path = test_path("pages.db");
	sqlite3 *db;

	(void)state;
	remove_database(path);
	db = open_database(path, 0);
	run(db, "CREATE TABLE spans(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, track TEXT);"
		"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300000) INSERT INTO spans "
		"SELECT i, i * 100 + (i * 2654435761 >> 7) %% 97, CASE WHEN i %% 50000 = 7 THEN 1000000 + i ELSE i * 2654435761 %% 900001 & 524287 END, 't' || (i %% 4) FROM c;"
		"CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track);"
		"CREATE VIRTUAL TABLE spans_rows USING iforest_rows(spans_if)");
	close_database(db);
	assert_true(pages_of(path, 1, "SELECT sum(dur + ts) FROM spans_rows") > 300);
	/* a path of 4 pages for each row, and one for each end of the range */
	assert_true(pages_of(path, 10, "SELECT * FROM spans_rows ORDER BY dur DESC LIMIT 10") <= 1 + 12 * 4);
	assert_true(pages_of(path, 10, "SELECT * FROM spans_rows WHERE track = 't3' ORDER BY dur DESC LIMIT 10") <= 1 + 12 * 4);
	assert_true(pages_of(path, 10, "SELECT * FROM spans_rows WHERE track = 't3' AND ts >= 5000000 AND ts < 20000000 ORDER BY dur DESC LIMIT 10") <= 1 + 12 * 4);
	assert_true(pages_of(path, 10, "SELECT * FROM spans_rows WHERE track IN ('t3', 't1') AND ts >= 0 ORDER BY dur DESC, ts LIMIT 10") <= 1 + 14 * 4);
	assert_true(pages_of(path, 10, "SELECT * FROM spans_rows WHERE track = 't2' ORDER BY ts LIMIT 10") <= 1 + 2 * 4);
	assert_true(pages_of(path, 10, "SELECT * FROM spans_rows WHERE track = 't2' ORDER BY ts DESC LIMIT 10") <= 1 + 2 * 4);
	assert_true(pages_of(path, 10, "SELECT * FROM spans_rows ORDER BY ts LIMIT 10") <= 1 + 4 * 2 * 4);
	/* the next long span, the previous one, and open spans */
	assert_true(pages_of(path, 1, "SELECT * FROM spans_rows WHERE track = 't3' AND ts >= 10000001 AND dur > 1000000 ORDER BY ts LIMIT 1") <= 1 + 4 * 4);
	assert_true(pages_of(path, 1, "SELECT * FROM spans_rows WHERE track = 't3' AND ts < 20000000 AND dur > 1000000 ORDER BY ts DESC LIMIT 1") <= 1 + 4 * 4);
	assert_true(pages_of(path, 594, "SELECT * FROM spans_rows(20500000, 20500001) WHERE track = 't3'") <= 1 + 8 * 4);
	assert_true(pages_of(path, 6, "SELECT * FROM spans_rows WHERE dur >= 1000000") <= 1 + 6 * 4 + 4 * 2);
	assert_true(pages_of(path, 1, "SELECT * FROM spans_rows WHERE ts BETWEEN 15000000 AND 15000099") <= 1 + 4 * 4);
	assert_true(pages_of(path, 0, "SELECT * FROM spans_rows WHERE track = 't9'") <= 1);
	/* a row by its id, several rows, and a join */
	assert_true(pages_of(path, 1, "SELECT * FROM spans_rows WHERE id = 123456") <= 1 + 4);
	assert_true(pages_of(path, 1, "SELECT * FROM spans_rows WHERE rowid = 123456 ORDER BY dur DESC") <= 1 + 4);
	assert_true(pages_of(path, 3, "SELECT * FROM spans_rows WHERE id IN (1, 150000, 299999, 7000000)") <= 1 + 3 * 4);
	assert_true(pages_of(path, 10, "SELECT * FROM (VALUES(7), (8), (9), (200000), (200001), (200002), (200003), (3), (4), (5)) p JOIN spans_rows ON id = p.column1") <= 1 + 10 * 4);
	assert_true(pages_of(path, 0, "SELECT * FROM spans_rows(0, 5000) WHERE id = 123456") <= 1);
	assert_true(pages_of(path, 0, "SELECT * FROM spans_rows WHERE dur IS NULL") <= 1);
	remove_database(path);
}

/* ---- by hand ---- */

static sqlite3 *small_table(void)
{
	sqlite3 *db = open_database(":memory:", 0);

	run(db, "CREATE TABLE spans(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, track TEXT);"
		"INSERT INTO spans VALUES(1, 10, 5, 'a'), (2, 12, -1, 'a'), (3, NULL, 9, 'b'), (4, 20, NULL, 'b'), (5, 9223372036854775800, 100, 'b');"
		"CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track);"
		"CREATE VIRTUAL TABLE spans_rows USING iforest_rows(spans_if)");
	return db;
}

static void rows_are_those_of_the_table(void **state)
{
	sqlite3 *db = small_table();

	(void)state;
	run_gives(db, "1|a|10|5|15\n2|a|12|-1|12\n3|b||9|\n4|b|20||20\n5|b|9223372036854775800|100|9223372036854775807\n",
		  "SELECT * FROM spans_rows ORDER BY id");
	run_gives(db, "integer|text|integer|integer\n", "SELECT typeof(id), typeof(track), typeof(ts), typeof(dur) FROM spans_rows WHERE id = 1");
	run_gives(db, "1\n2\n", "SELECT rowid FROM spans_rows(12, 13) ORDER BY ts");
	run_gives(db, "2\n", "SELECT id FROM spans_rows WHERE t0 = 15 - 3 AND t1 = 13.0 AND dur < 0");
	run_gives(db, "", "SELECT id FROM spans_rows(NULL, 13)");
	run_gives(db, "3\n", "SELECT id FROM spans_rows WHERE ts IS NULL");
	run_gives(db, "3\n1\n2\n4\n5\n", "SELECT id FROM spans_rows ORDER BY ts");
	run_gives(db, "5\n3\n1\n2\n4\n", "SELECT id FROM spans_rows ORDER BY dur DESC");
	run_gives(db, "1\n2\n3\n4\n5\n", "SELECT s.id FROM spans s JOIN spans_rows r ON r.id = s.id AND r.track = s.track ORDER BY 1");
	run(db, "CREATE TABLE points(id INTEGER PRIMARY KEY, at INTEGER, v REAL); INSERT INTO points VALUES(1, 5, 0.5), (2, 6, NULL), (3, 7, 3);"
		"CREATE VIRTUAL TABLE points_if USING iforest(content=points, time=at, value=v);"
		"CREATE VIRTUAL TABLE points_rows USING iforest_rows(points_if)");
	run_gives(db, "2|6|\n3|7|3.0\n", "SELECT * FROM points_rows(6) ORDER BY at");
	run_gives(db, "3\n", "SELECT id FROM points_rows WHERE v > 0.5");
	run(db, "DELETE FROM points");
	run_gives(db, "", "SELECT * FROM points_rows ORDER BY v LIMIT 1");
	close_database(db);
}

/* Fails unless the plan of a query ends so. */
static void plan_is(sqlite3 *db, const char *expected, const char *sql)
{
	char *explain = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql), *plan = rows_of(db, explain);

	assert_non_null(plan);
	if (!strstr(plan, expected))
		fail_msg("%s\n  is done so: %s  and not by %s", sql, plan, expected);
	free(plan);
	sqlite3_free(explain);
}

static void plans_say_what_is_done(void **state)
{
	sqlite3 *db = small_table();

	(void)state;
	plan_is(db, ": track=, ts>=, in order of dur descending\n", "SELECT * FROM spans_rows WHERE track = 'a' AND ts >= 5 ORDER BY dur DESC");
	plan_is(db, ": t0, t1, track in, in order of ts\n", "SELECT * FROM spans_rows(1, 2) WHERE track IN ('a', 'b') ORDER BY ts");
	plan_is(db, "USE TEMP B-TREE FOR ORDER BY", "SELECT * FROM spans_rows ORDER BY track");
	plan_is(db, "USE TEMP B-TREE FOR ORDER BY", "SELECT * FROM spans_rows ORDER BY dur DESC, ts"); /* because times may be NULL */
	plan_is(db, ": ts>=, in order of dur\n", "SELECT * FROM spans_rows WHERE ts >= 0 ORDER BY dur, ts, id");
	plan_is(db, ": all rows\n", "SELECT * FROM spans_rows");
	close_database(db);
}

/* The id may be compared with any value, and the row may have been changed in any way. */
static void a_row_is_looked_up_by_its_id(void **state)
{
	static const char *const syncs[] = { "log", "append", "manual" };

	(void)state;
	for (size_t s = 0; s < sizeof syncs / sizeof syncs[0]; s++) {
		sqlite3 *db = small_table();

		run(db, "DROP TABLE spans_rows; DROP TABLE spans_if; INSERT INTO spans VALUES(9223372036854775807, 9223372036854775807, 1, 'z'), (-9223372036854775807 - 1, NULL, NULL, 'z');"
			"CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track, sync=%s);"
			"CREATE VIRTUAL TABLE spans_rows USING iforest_rows(spans_if)", syncs[s]);
		plan_is(db, s < 2 ? ": id=\n" : ": all rows\n", "SELECT * FROM spans_rows WHERE id = 3");
		run_gives(db, "3|b||9|\n", "SELECT * FROM spans_rows WHERE id = 3");
		plan_is(db, s < 2 ? ": id=\n" : ": ts=\n", "SELECT * FROM spans_rows WHERE ts IN (1, 12) AND ts IN (12, 13) AND id IN (2, 3)");
		run_gives(db, "2|a|12|-1|12\n", "SELECT * FROM spans_rows WHERE ts IN (1, 12) AND ts IN (12, 13) AND id IN (2, 3)");
		run_gives(db, "3|b||9|\n", "SELECT * FROM spans_rows WHERE rowid IS '3'");
		run_gives(db, "2|a|12|-1|12\n", "SELECT * FROM spans_rows(12, 13) WHERE id = 2.0 AND track > '' ORDER BY dur LIMIT 5");
		run_gives(db, "", "SELECT * FROM spans_rows(13, 14) WHERE id = 2");
		run_gives(db, "", "SELECT * FROM spans_rows(0) WHERE id = 3");
		run_gives(db, "", "SELECT * FROM spans_rows WHERE id = 2.5 OR id = 'x' OR id = NULL OR id IS NULL OR id = 77 OR id = x'32'");
		run_gives(db, "", "SELECT * FROM spans_rows WHERE id = 2 AND id = 3");
		run_gives(db, "", "SELECT * FROM spans_rows WHERE id = 2 AND track = 'b'");
		run_gives(db, "9223372036854775807\n-9223372036854775808\n", "SELECT id FROM spans_rows WHERE id IN (9223372036854775807, -9223372036854775807 - 1, NULL, 1.5) ORDER BY id DESC");
		run_gives(db, "1|1\n2|2\n3|3\n4|4\n5|5\n", "SELECT s.id, r.id FROM spans s LEFT JOIN spans_rows r USING(id) WHERE s.id BETWEEN 0 AND 10 ORDER BY 1");
		if (s == 0) { /* rows that are pending, moved, deleted, and inserted again */
			run(db, "UPDATE spans SET track = 'new', ts = ts + 1 WHERE id = 2; DELETE FROM spans WHERE id = 4; INSERT INTO spans VALUES(6, 7, 8, 'c')");
			run_gives(db, "2|new|13\n6|c|7\n", "SELECT id, track, ts FROM spans_rows WHERE id IN (2, 4, 6) ORDER BY id");
			run(db, "BEGIN; UPDATE spans SET ts = 50 WHERE id = 6");
			run_gives(db, "50\n", "SELECT ts FROM spans_rows WHERE id = 6");
			run(db, "ROLLBACK");
			run_gives(db, "7\n", "SELECT ts FROM spans_rows WHERE id = 6");
			/* a user's trigger may run before that of the index, which then has the old row, or none yet */
			run(db, "CREATE TABLE seen(one, all_); CREATE TRIGGER tell AFTER UPDATE ON spans BEGIN INSERT INTO seen SELECT"
				" (SELECT ts FROM spans_rows WHERE id = new.id), (SELECT ts FROM spans_rows WHERE id + 0 = new.id); END;"
				"UPDATE spans SET ts = ts + 1000 WHERE id IN (1, 6)");
			run_gives(db, "1\n1\n", "SELECT one IS all_ FROM seen");
			run(db, "DROP TRIGGER tell; ALTER TABLE spans RENAME TO old_spans");
			run_gives(db, "1007\n", "SELECT ts FROM spans_rows WHERE id = 6");
			run(db, "INSERT INTO spans_if(spans_if) VALUES('flush')");
			run_gives(db, "1007\n", "SELECT ts FROM spans_rows WHERE id = 6");
		}
		if (s == 2) { /* rows are those of the last rebuild */
			run(db, "UPDATE spans SET ts = 500, track = 'q' WHERE id = 2; DELETE FROM spans WHERE id = 1");
			run_gives(db, "1|10\n2|12\n", "SELECT id, ts FROM spans_rows WHERE id IN (1, 2) ORDER BY id");
		}
		close_database(db);
	}
}

/* Compared with a column of numeric affinity, a text that is a number becomes a number, which is less than any text. */
static void texts_beside_numbers_are_compared_as_in_the_table(void **state)
{
	static const char *const types[] = { "INTEGER", "REAL", "NUMERIC", "TEXT", "" };
	static const char *const values[] = { "''", "'abc'", "' x'", "'5 apples'", "'!'", "5", "10", "'1e1'", "'.5'", "'1e'", "' +7. '", "'-'", "1.5", "x'31'", "NULL" };
	static const char *const operators[] = { "<", "<=", ">", ">=", "=", "IS" };
	enum { N_VALUES = sizeof values / sizeof *values };

	(void)state;
	for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, k %s, ts INTEGER); CREATE TABLE n(id INTEGER PRIMARY KEY, i INTEGER)", types[t]);
		for (int v = 0; v < N_VALUES; v++)
			run(db, "INSERT INTO t(k, ts) VALUES(%s, 1), (%s, 90); INSERT INTO n(i) VALUES(%s)", values[v], values[v], values[v]);
		run(db, "CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, by=k); CREATE VIRTUAL TABLE r USING iforest_rows(t_if);"
			"CREATE VIRTUAL TABLE g USING iforest_gaps(t_if)");
		for (size_t o = 0; o < sizeof operators / sizeof *operators; o++) {
			char *by_table = sqlite3_mprintf("SELECT n.id, a.id FROM n JOIN t AS a ON a.k %s n.i ORDER BY 1, 2", operators[o]);
			char *by_rows = sqlite3_mprintf("SELECT n.id, a.id FROM n CROSS JOIN r AS a ON a.k %s n.i ORDER BY 1, 2", operators[o]);

			same_rows(db, by_rows, by_table);
			sqlite3_free(by_table);
			sqlite3_free(by_rows);
			for (int v = 0; v < N_VALUES; v++) {
				by_table = sqlite3_mprintf("SELECT DISTINCT k FROM t WHERE k %s %s ORDER BY quote(k)", operators[o], values[v]);
				by_rows = sqlite3_mprintf("SELECT DISTINCT k FROM r WHERE k %s %s ORDER BY quote(k)", operators[o], values[v]);
				same_rows(db, by_rows, by_table);
				sqlite3_free(by_rows);
				by_rows = sqlite3_mprintf("SELECT k FROM g WHERE k %s %s ORDER BY quote(k)", operators[o], values[v]);
				same_rows(db, by_rows, by_table);
				sqlite3_free(by_table);
				sqlite3_free(by_rows);
			}
		}
		close_database(db);
	}
}

static void what_cannot_be_is_refused(void **state)
{
	sqlite3 *db = small_table();

	(void)state;
	run_fails(db, "iforest_rows: name an index", "CREATE VIRTUAL TABLE x USING iforest_rows");
	run_fails(db, "iforest_rows: no index \"nothing\"", "CREATE VIRTUAL TABLE x USING iforest_rows(nothing)");
	run_fails(db, "iforest_rows: there is no column \"x\" to be called \"y\"", "CREATE VIRTUAL TABLE x USING iforest_rows(spans_if, x AS y)");
	run_fails(db, "iforest_rows: there is no column \"t0\" to be called", "CREATE VIRTUAL TABLE x USING iforest_rows(spans_if, t0 AS y)");
	run_fails(db, "iforest: cannot read \"ts AS\"", "CREATE VIRTUAL TABLE x USING iforest_rows(spans_if, ts AS)");
	run_fails(db, "iforest_rows: two columns named \"dur\"", "CREATE VIRTUAL TABLE x USING iforest_rows(spans_if, ts AS dur)");
	run_fails(db, "spans_rows: argument t0 takes = only", "SELECT * FROM spans_rows WHERE t0 > 3");
	run_fails(db, "spans_rows: argument t1 is used, but not given", "SELECT t1 FROM spans_rows");
	run_fails(db, "spans_rows: argument t0 is used, but not given", "SELECT * FROM spans_rows WHERE t0 = 3 OR ts = 5");
	run_fails(db, "spans_rows: argument t0 is not an integer", "SELECT * FROM spans_rows('x', 5)");
	run_fails(db, "table spans_rows may not be modified", "DELETE FROM spans_rows");
	run_fails(db, "too many arguments on spans_rows() - max 2", "SELECT * FROM spans_rows(1, 2, 3)");
	run(db, "CREATE TABLE odd(key INTEGER PRIMARY KEY, ts INTEGER, id INTEGER, \"end\" TEXT); INSERT INTO odd VALUES(1, 2, 3, 'x');"
		"CREATE VIRTUAL TABLE odd_if USING iforest(content=odd, time=ts, duration=id, by=\"end\")");
	run_fails(db, "iforest_rows: two columns named \"id\"; give the first of them another name: iforest_rows(index, \"id\" AS \"id_\")",
		  "CREATE VIRTUAL TABLE x USING iforest_rows(odd_if, \"end\" AS finish)");
	run(db, "CREATE VIRTUAL TABLE odd_rows USING iforest_rows(odd_if, id AS key, \"end\" AS name)");
	run_gives(db, "1|x|2|3|5\n", "SELECT key, name, ts, id, end FROM odd_rows");
	run(db, "CREATE VIRTUAL TABLE spans_gaps USING iforest_gaps(spans_if)");
	run_fails(db, "iforest_gaps: name an index", "CREATE VIRTUAL TABLE x USING iforest_gaps");
	run_fails(db, "iforest_gaps: takes one argument, the index, and not \"dur\"", "CREATE VIRTUAL TABLE x USING iforest_gaps(spans_if, dur)");
	run_fails(db, "spans_gaps: argument t0 takes = only", "SELECT * FROM spans_gaps WHERE t0 < 3");
	run_fails(db, "spans_gaps: argument longer_than is used, but not given", "SELECT longer_than FROM spans_gaps");
	run_fails(db, "spans_gaps: argument longer_than is not an integer: 1.5", "SELECT * FROM spans_gaps(1, 2, 1.5)");
	run_fails(db, "spans_gaps: longer_than must not be negative", "SELECT * FROM spans_gaps(1, 2, -1)");
	run_gives(db, "", "SELECT * FROM spans_gaps(1, 2, NULL)");
	run(db, "CREATE TABLE named(id INTEGER PRIMARY KEY, ts INTEGER, gap_end TEXT);"
		"CREATE VIRTUAL TABLE named_if USING iforest(content=named, time=ts, by=gap_end)");
	run_fails(db, "iforest_gaps: two columns named \"gap_end\"; make the index with by=(\"gap_end\" AS \"gap_end_\")",
		  "CREATE VIRTUAL TABLE x USING iforest_gaps(named_if)");
	run(db, "DROP TABLE spans_if");
	run_fails(db, "spans_gaps: ", "SELECT * FROM spans_gaps");
	run_fails(db, "spans_rows: ", "SELECT * FROM spans_rows");
	run(db, "DROP TABLE spans_rows");
	close_database(db);
}

/* SQLite compares texts by their bytes in the encoding of the database. In UTF-16le, U+0100 comes before "a". */
static void texts_are_in_the_order_of_the_database(void **state)
{
	static const char *const texts[] = { "a", "b", "\xc4\x80", "\xef\xbf\xbf", "\xf0\x9f\x98\x80", "", "a\xc4\x80", "ab", "\xc3\xa9", "\xd0\xb0" };
	static const char *const encodings[] = { "UTF-8", "UTF-16le", "UTF-16be" }, *const operators[] = { "<", "<=", ">", ">=", "=", "IS" };

	(void)state;
	for (int e = 0; e < 3; e++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, "PRAGMA encoding = '%s'", encodings[e]);
		run(db, "CREATE TABLE spans(id INTEGER PRIMARY KEY, ts INTEGER, track TEXT)");
		for (int i = 0; i < 10; i++)
			run(db, "INSERT INTO spans VALUES(%d, 1, %Q), (%d, 2, %Q)", i, texts[i], i + 10, texts[i]);
		run(db, "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, by=track);"
			"CREATE VIRTUAL TABLE spans_rows USING iforest_rows(spans_if); CREATE VIRTUAL TABLE spans_gaps USING iforest_gaps(spans_if)");
		for (int i = 0; i < 10; i++)
			for (int o = 0; o < 6; o++) {
				char *where = sqlite3_mprintf("WHERE track %s %Q ORDER BY 1", operators[o], texts[i]);
				char *rows = sqlite3_mprintf("SELECT id FROM spans_rows %s", where);
				char *gaps = sqlite3_mprintf("SELECT track FROM spans_gaps %s", where);
				char *plain[] = { sqlite3_mprintf("SELECT id FROM spans %s", where),
						  sqlite3_mprintf("SELECT DISTINCT track FROM spans %s", where) };

				same_rows(db, rows, plain[0]);
				same_rows(db, gaps, plain[1]);
				sqlite3_free(where);
				sqlite3_free(rows);
				sqlite3_free(gaps);
				sqlite3_free(plain[0]);
				sqlite3_free(plain[1]);
			}
		close_database(db);
	}
}

/* A text is a number if all of it looks like one, in every version of SQLite. SQLite 3.53 crashes if it is asked for the
 * numeric type of a copied value. */
static void texts_are_compared_as_numbers(void **state)
{
	static const char *const texts[] = { "10", " 12 ", "+11.5", "\t7\n", "10.", ".5", "1e1", "12E0x", "1.2e+1 ", "1e", "e1", ".", "-", "", "x", "10x", "1 0", "0x0a",
					     "9223372036854775808", "-9223372036854775809", "9223372036854775807", "1e400", "-1e400", "--1" };
	static const char *const columns[] = { "ts", "dur", "id" }, *const operators[] = { "=", "<", "<=", ">", ">=" };

	(void)state;
	for (int are_reals = 0; are_reals < 2; are_reals++) {
		sqlite3 *db = small_table();

		if (are_reals)
			run(db, "DROP TABLE spans_rows; UPDATE spans SET ts = ts + 0.5, dur = dur / 2.0; INSERT INTO spans_if(spans_if) VALUES('rebuild');"
				"CREATE VIRTUAL TABLE spans_rows USING iforest_rows(spans_if)");
		for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
			for (size_t c = 0; c < 3; c++)
				for (size_t o = 0; o < 5; o++) {
					char *plain = sqlite3_mprintf("SELECT id FROM spans WHERE %s %s %Q ORDER BY id", columns[c], operators[o], texts[t]);
					char *asked = sqlite3_mprintf("SELECT id FROM spans_rows WHERE %s %s %Q ORDER BY id", columns[c], operators[o], texts[t]);

					same_rows(db, asked, plain);
					sqlite3_free(plain);
					sqlite3_free(asked);
				}
		close_database(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_those_of_the_table),
		cmocka_unit_test(plans_say_what_is_done),
		cmocka_unit_test(a_row_is_looked_up_by_its_id),
		cmocka_unit_test(texts_are_compared_as_numbers),
		cmocka_unit_test(texts_beside_numbers_are_compared_as_in_the_table),
		cmocka_unit_test(texts_are_in_the_order_of_the_database),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(what_is_not_asked_for_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
