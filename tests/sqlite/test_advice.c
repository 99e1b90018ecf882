/* tests/sqlite/test_advice.c -- Tests of the SQL and the options that error messages advise: each message is provoked, its
 * advice is followed, and the index then has the answers that the person meant, also after more changes of the table. A message
 * of the sources that advises SQL or an option, and is not provoked here, fails the last test.
 */
#include <ctype.h>
#include <dirent.h>

#include "harness.h"

#define SPANS "CREATE TABLE spans(id INTEGER PRIMARY KEY, track, ts, dur, name TEXT);"
#define ROWS "INSERT INTO spans VALUES(17, 'cpu', 10, 5, 'x'), (18, 'gpu', 20, 7, 'y');"
#define FROM_SPANS "content=spans, time=ts"

/* ---- what is provoked ---- */

static char *provoked[400];
static int n_provoked;

/* As run_fails(), and notes the message. */
static void fails(sqlite3 *db, const char *message, const char *format, const char *text)
{
	run_fails(db, message, format, text);
	assert_true(n_provoked < (int)(sizeof provoked / sizeof provoked[0]));
	provoked[n_provoked++] = sqlite3_mprintf("%s", last_message());
}

/* A collation under which texts of the same length are equal. */
static int compare_lengths(void *context, int n_a, const void *a, int n_b, const void *b)
{
	(void)context;
	(void)a;
	(void)b;
	return n_a - n_b;
}

/* True if a text is a decimal number as a whole, with spaces around it. */
static bool is_number(const char *text)
{
	size_t n_digits, n_fraction = 0;

	text += strspn(text, " \t\n\v\f\r");
	text += *text == '+' || *text == '-';
	n_digits = strspn(text, "0123456789");
	text += n_digits;
	if (*text == '.') {
		n_fraction = strspn(text + 1, "0123456789");
		text += 1 + n_fraction;
	}
	if (n_digits + n_fraction == 0)
		return false;
	if (*text == 'e' || *text == 'E') {
		text++;
		text += *text == '+' || *text == '-';
		if (!isdigit((unsigned char)*text))
			return false;
		text += strspn(text, "0123456789");
	}
	return text[strspn(text, " \t\n\v\f\r")] == 0;
}

/* SQL function number_of(x): what a person means by a number; NULL for anything else. */
static void number_function(sqlite3_context *context, int n, sqlite3_value **values)
{
	int type = sqlite3_value_type(values[0]);
	const char *text = type == SQLITE_TEXT ? (const char *)sqlite3_value_text(values[0]) : NULL;
	double real;

	(void)n;
	if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
		sqlite3_result_value(context, values[0]);
	} else if (text && is_number(text)) {
		real = strtod(text, NULL);
		if (real == (double)(int64_t)real && real < 1e15 && real > -1e15)
			sqlite3_result_int64(context, (int64_t)real);
		else
			sqlite3_result_double(context, real);
	}
}

static sqlite3 *open_with_functions(void)
{
	sqlite3 *db = open_database(":memory:", 0);

	assert_int_equal(sqlite3_create_collation(db, "of_length", SQLITE_UTF8, NULL, compare_lengths), SQLITE_OK);
	sqlite3_create_function(db, "number_of", 1, SQLITE_UTF8, NULL, number_function, NULL, NULL);
	return db;
}

/* ---- advice that is SQL, and advice in words ---- */

/* `changes` are made after the advice was followed. Then the index must return what plain SQL returns. */
static const struct {
	const char *setup, *arguments, *repaired, *question, *rows, *changes, *plain;
} remedies[] = {
	{ "CREATE TABLE spans(id TEXT PRIMARY KEY, ts INTEGER) WITHOUT ROWID; INSERT INTO spans VALUES('a', 1)", FROM_SPANS,
	  FROM_SPANS, "SELECT count, last_ts FROM x", "1|1\n",
	  "INSERT INTO spans VALUES('b', 5), ('c', 6); UPDATE spans SET ts = 8 WHERE id = 'a'; DELETE FROM spans WHERE id = 'b'", "SELECT count(*), max(ts) FROM spans" },
	{ "CREATE TABLE strict(id TEXT PRIMARY KEY, ts INTEGER, strict ANYTHING) WITHOUT ROWID; INSERT INTO strict VALUES('a', 1, 2)", "content=strict, time=ts",
	  "content=strict, time=ts", "SELECT count, last_ts FROM x", "1|1\n", "INSERT OR REPLACE INTO strict VALUES('a', 5, 1), ('b', 3, 1)", "SELECT count(*), max(ts) FROM strict" },
	{ "CREATE TABLE \"spa\"\"n's(\"(\"tr\"\"ack\" TEXT DEFAULT (')'), ts INTEGER, t2 INTEGER AS (ts + 1), PRIMARY KEY(\"tr\"\"ack\", ts)) WITHOUT /* ) */ ROWID, STRICT;"
	  "INSERT INTO \"spa\"\"n's(\" VALUES('a', 1)", "content=\"spa\"\"n's(\", time=ts",
	  "content=\"spa\"\"n's(\", time=t2, by=\"tr\"\"ack\"", "SELECT \"tr\"\"ack\", count, last_ts FROM x", "a|1|2\n",
	  "INSERT INTO \"spa\"\"n's(\"(\"tr\"\"ack\", ts) VALUES('a', 7), ('a', 8); UPDATE \"spa\"\"n's(\" SET ts = 9 WHERE ts = 7", "SELECT 'a', count(*), max(t2) FROM \"spa\"\"n's(\"" },
	{ "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT COLLATE NOCASE, ts); INSERT INTO spans VALUES(1, 'A', 2), (2, 'a', 3)", FROM_SPANS ", by=track",
	  FROM_SPANS ", by=(\"track_key\" AS \"track\")", "SELECT * FROM (SELECT track, count FROM x)", "a|2\n",
	  "INSERT INTO spans(track, ts) VALUES('a', 4), ('B', 5), ('\u00c4', 6), ('\u00e4', 7), (NULL, 8); UPDATE spans SET track = 'b' WHERE id = 1", "SELECT lower(track), count(*) FROM spans GROUP BY track" },
	{ "CREATE TABLE spans(id INTEGER PRIMARY KEY, \"tr\"\"ack\" TEXT COLLATE RTRIM, ts); INSERT INTO spans VALUES(1, 'a ', 2), (2, 'a', 3), (3, ' a', 3)", FROM_SPANS ", by=\"tr\"\"ack\"",
	  FROM_SPANS ", by=(\"tr\"\"ack_key\" AS \"tr\"\"ack\")", "SELECT * FROM (SELECT \"tr\"\"ack\", count FROM x)", " a|1\na|2\n",
	  "INSERT INTO spans(\"tr\"\"ack\", ts) VALUES('a   ', 4), ('b', 5), ('b ', 5); UPDATE spans SET \"tr\"\"ack\" = 'b   ' WHERE id = 1", "SELECT rtrim(\"tr\"\"ack\"), count(*) FROM spans GROUP BY \"tr\"\"ack\"" },
	{ "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT COLLATE of_length, ts); INSERT INTO spans VALUES(1, 'a', 2), (2, 'b', 3)", FROM_SPANS ", by=track",
	  FROM_SPANS ", by=(track_key AS track)", "SELECT * FROM (SELECT track, count FROM x)", "a|1\nb|1\n",
	  "INSERT INTO spans(track, ts) VALUES('a', 4), ('B', 5); UPDATE spans SET track = 'c' WHERE id = 1", "SELECT track, count(*) FROM spans GROUP BY track COLLATE BINARY" },
	{ "CREATE TABLE k(ts, rowid, _rowid_, OID); INSERT INTO k VALUES(1, 'x', 'y', 'z')", "content=k, time=ts", "content=k, time=ts",
	  "SELECT count, last_ts FROM x", "1|1\n", "INSERT INTO k(ts) VALUES(7), (9); UPDATE k SET ts = 10 WHERE ts = 7; DELETE FROM k WHERE ts = 1", "SELECT count(*), max(ts) FROM k" },
	{ "CREATE VIRTUAL TABLE f USING fts5(ts, word); INSERT INTO f VALUES(3, 'a')", "content=f, time=ts", "content=f_rows, time=ts",
	  "SELECT count, last_ts FROM x", "1|3\n", "INSERT INTO f VALUES(5, 'b'), (6, 'c'); DELETE FROM f_rows; INSERT INTO f_rows SELECT * FROM f", "SELECT count(*), max(ts) FROM f" },
};

/* Follows a second message, too, because the table may then be refused for another reason. */
static void the_sql_that_a_message_offers_works(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++) {
		sqlite3 *db = open_with_functions();
		char *remedy, *rows;
		int n = 0;

		run(db, "%s", remedies[i].setup);
		fails(db, "iforest: ", "CREATE VIRTUAL TABLE x USING iforest(%s)", remedies[i].arguments);
		do {
			remedy = remedy_of(last_message());
			run(db, "%s", remedy);
			sqlite3_free(remedy);
		} while (run_any(db, "CREATE VIRTUAL TABLE x USING iforest(%s)", remedies[i].repaired) && ++n < 2);
		run_gives(db, remedies[i].rows, "%s", remedies[i].question);
		for (int flushed = 0; flushed < 2; flushed++) {
			run(db, "%s", flushed ? "INSERT INTO x(x) VALUES('flush')" : remedies[i].changes);
			rows = rows_of(db, remedies[i].plain);
			run_gives(db, rows, "%s", remedies[i].question);
			free(rows);
		}
		close_database(db);
	}
}

/* `changes` are made after the advice was followed. Then the index must return what plain SQL returns for the original
 * columns. */
#define TEXT_TIMES SPANS ROWS "UPDATE spans SET ts = '2026-01-0' || (id - 16); "
#define DELETE_AND_MOVE "DELETE FROM spans WHERE id = 17; UPDATE spans SET id = 40 WHERE id = 18; "

static const struct {
	const char *setup, *arguments, *repaired, *question, *rows, *changes, *plain;
} followed[] = {
	{ SPANS ROWS "UPDATE spans SET ts = '10' WHERE id = 17", FROM_SPANS, "content=spans, time=ts_number, value=dur", "SELECT first_ts, last_ts, sum_dur FROM x(10, 30)", "10|20|12\n",
	  DELETE_AND_MOVE "INSERT INTO spans(id, track, ts, dur, name) VALUES(20, 'cpu', '12', 3, ''), (21, 'cpu', 29, 9, ''), (22, 'cpu', '30', 9, '')",
	  "SELECT min(ts + 0), max(ts + 0), sum(dur) FROM spans WHERE ts + 0 >= 10 AND ts + 0 < 30" },
	{ SPANS ROWS "UPDATE spans SET ts = '1.5' WHERE id = 17", FROM_SPANS, "content=spans, time=ts_number", "SELECT first_ts, last_ts FROM x", "1.5|20.0\n",
	  "INSERT INTO spans(id, track, ts, dur, name) VALUES(20, 'cpu', '20.25', 3, '')", "SELECT 1.5, 20.25" },
	{ SPANS ROWS "UPDATE spans SET dur = '12' WHERE id = 17", FROM_SPANS ", value=dur", FROM_SPANS ", value=dur_number", "SELECT sum_dur_number FROM x", "19\n",
	  DELETE_AND_MOVE "INSERT INTO spans(id, track, ts, dur, name) VALUES(20, 'cpu', 12, '30', '')", "SELECT sum(dur) FROM spans" },
	{ SPANS ROWS "UPDATE spans SET dur = '12.5' WHERE id = 17", FROM_SPANS ", value=dur", FROM_SPANS ", value=dur_number", "SELECT sum_dur_number FROM x", "19.5\n",
	  "INSERT INTO spans(id, track, ts, dur, name) VALUES(20, 'cpu', 12, '30.25', '')", "SELECT sum(dur) FROM spans" },
	{ "CREATE TABLE spans(ts INTEGER, dur TEXT) STRICT; INSERT INTO spans VALUES(10, '5'), (20, '7')", FROM_SPANS ", value=dur", FROM_SPANS ", value=dur_number",
	  "SELECT sum_dur_number FROM x", "12\n", "INSERT INTO spans(ts, dur) VALUES(12, '30'); UPDATE spans SET dur = '9' WHERE ts = 10; DELETE FROM spans WHERE ts = 20", "SELECT sum(CAST(dur AS INTEGER)) FROM spans" },
	{ SPANS ROWS "UPDATE spans SET dur = '21.5' WHERE id = 17", FROM_SPANS ", value=dur", FROM_SPANS ", value=(dur_number AS v)", "SELECT count, count_v, min_v, max_v, sum_v FROM x", "2|2|7.0|21.5|28.5\n",
	  "INSERT INTO spans(id, ts, dur) VALUES(20, 12, 'unavailable'), (21, 13, '00:00:05'), (22, 13, 'true'), (23, 14, '5 kWh'), (24, 15, '1,234'), (25, 15, ''), (26, 16, x'37'), (27, 17, ' 8 '), (28, 18, '-2e1'), (29, 19, '0x10'), (30, 20, NULL), (31, 21, 'inf'), (32, 22, '1 2')",
	  "SELECT count(*), count(number_of(dur)), min(number_of(dur)) + 0.0, max(number_of(dur)), sum(number_of(dur)) FROM spans" },
	{ SPANS ROWS "UPDATE spans SET dur = '2026' WHERE id = 17", FROM_SPANS ", end=dur", FROM_SPANS ", end=dur_number AS took", "SELECT count, count_took, sum_took FROM x", "2|2|2003\n",
	  "INSERT INTO spans(id, ts, dur) VALUES(20, 12, 'running'), (21, 13, '14'), (22, 13, '15:00')", "SELECT count(*), count(number_of(dur)), sum(number_of(dur) - ts) FROM spans" },
	{ SPANS ROWS "UPDATE spans SET ts = '2460000.5' WHERE id = 17", FROM_SPANS, FROM_SPANS "_number, value=dur", "SELECT count, first_ts, last_ts FROM x", "2|20.0|2460000.5\n",
	  "INSERT INTO spans(id, ts, dur) VALUES(20, 'soon', 1), (21, '3000000', 1), (22, '12:00', 1), (23, '2026-01-01', 2)", "SELECT count(*), min(number_of(ts)) + 0.0, max(number_of(ts)) + 0.0 FROM spans" },
	{ SPANS ROWS "UPDATE spans SET ts = ts + 0.5, dur = dur + 0.5", FROM_SPANS ", duration=dur, variance=dur", FROM_SPANS ", duration=dur, value=(dur, dur_integer), variance=dur_integer", "SELECT count, sum_dur_integer, round(var_dur_integer / 1e12, 3) FROM x", "2|13000000|2.0\n",
	  "INSERT INTO spans(id, ts, dur) VALUES(20, 30.25, 10.0)", "SELECT count(*), sum(CAST(round(dur * 1000000) AS INTEGER)), round((avg(dur * dur) - avg(dur) * avg(dur)) * count(*) / (count(*) - 1), 3) FROM spans" },
	{ "CREATE TABLE spans(id INTEGER PRIMARY KEY, ts INTEGER, price DECIMAL(10, 2)); INSERT INTO spans VALUES(1, 10, 3)", FROM_SPANS ", value=price, variance=price",
	  FROM_SPANS ", value=(price, price_integer), variance=price_integer", "SELECT sum_price, sum_price_integer, round(var_price_integer / 1e12, 6) FROM x", "3.0|3000000|\n",
	  "INSERT INTO spans VALUES(2, 20, 9.99), (3, 30, 0.01)", "SELECT sum(price), sum(CAST(round(price * 1000000) AS INTEGER)), round((avg(price * price) - avg(price) * avg(price)) * count(*) / (count(*) - 1), 6) FROM spans" },
	{ SPANS ROWS, FROM_SPANS ", duration=dur, unit=s, duration_unit=ms", FROM_SPANS "_ms, duration=dur, unit=ms, duration_unit=ms", "SELECT first_ts, last_ts, sum_dur FROM x", "10000|20000|12\n",
	  DELETE_AND_MOVE "INSERT INTO spans(id, ts, dur) VALUES(20, 12, 3)", "SELECT min(ts) * 1000, max(ts) * 1000, sum(dur) FROM spans" },
	{ SPANS ROWS "UPDATE spans SET dur = 5.25 WHERE id = 17", FROM_SPANS ", duration=dur, unit=s, duration_unit=s", FROM_SPANS "_us, duration=dur, unit=us, duration_unit=s", "SELECT first_ts, last_ts, sum_dur FROM x", "10000000|20000000|12250000\n",
	  DELETE_AND_MOVE "INSERT INTO spans(id, ts, dur) VALUES(20, 12, 3.5)", "SELECT min(ts) * 1000000, max(ts) * 1000000, CAST(sum(dur) * 1000000 AS INTEGER) FROM spans" },
	{ SPANS ROWS "UPDATE spans SET dur = 5.5 WHERE id = 17", FROM_SPANS ", duration=dur, unit=ns, duration_unit=ns", FROM_SPANS ", duration=dur_ns, unit=ns, duration_unit=ns", "SELECT sum_dur_ns FROM x", "13\n",
	  DELETE_AND_MOVE "INSERT INTO spans(id, ts, dur) VALUES(20, 12, 3.25)", "SELECT sum(CAST(round(dur) AS INTEGER)) FROM spans" },
	{ "CREATE TABLE spans(ts INTEGER, dur INTEGER, both AS (ts + dur)); CREATE INDEX covers ON spans(dur, ts); INSERT INTO spans VALUES(10, 5), (20, 7)", FROM_SPANS, FROM_SPANS ", value=dur", "SELECT count, sum_dur FROM x", "2|12\n",
	  "INSERT INTO spans(ts, dur) VALUES(1, 2); DELETE FROM spans WHERE ts = 10", "SELECT count(*), sum(dur) FROM spans" },
	{ "CREATE TABLE spans(id INTEGER PRIMARY KEY, ts TEXT COLLATE of_length, dur); INSERT INTO spans VALUES(1, '2026-01-01', 5), (2, '2026-01-02', 7)", FROM_SPANS, FROM_SPANS "_binary, value=dur", "SELECT count, last_ts FROM x", "2|2026-01-02\n",
	  "INSERT INTO spans(ts, dur) VALUES('2026-01-05', 2); DELETE FROM spans WHERE id = 1", "SELECT count(*), max(ts COLLATE BINARY) FROM spans" },
	{ SPANS ROWS "UPDATE spans SET dur = '12' WHERE id = 17", FROM_SPANS ", end=dur", FROM_SPANS ", end=dur_number", "SELECT count, sum_dur, max_dur_id FROM x", "2|-11|17\n",
	  DELETE_AND_MOVE "INSERT INTO spans(id, track, ts, dur, name) VALUES(20, 'cpu', 12, '30', ''), (21, 'cpu', 29, 90, '')", "SELECT count(*), sum(dur - ts), 21 FROM spans" },
};

/* The advice is followed literally. The table is then written to by SQL that does not know the new column. */
static void a_column_that_a_message_offers_is_followed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof followed / sizeof followed[0]; i++) {
		static const char *const syncs[] = { "", ", sync=manual" };

		for (size_t s = 0; s < sizeof syncs / sizeof syncs[0]; s++) {
			sqlite3 *db = open_with_functions();
			char *remedy, *rows;

			run(db, "%s", followed[i].setup);
			fails(db, "iforest: ", "CREATE VIRTUAL TABLE x USING iforest(%s)", followed[i].arguments);
			remedy = remedy_of(last_message());
			run(db, "%s", remedy);
			run(db, "CREATE VIRTUAL TABLE x USING iforest(%s%s)", followed[i].repaired, syncs[s]);
			run_gives(db, followed[i].rows, "%s", followed[i].question);
			run(db, "%s", followed[i].changes);
			if (s == 1)
				run(db, "INSERT INTO x(x) VALUES('rebuild')");
			rows = rows_of(db, followed[i].plain);
			run_gives(db, rows, "%s", followed[i].question);
			run(db, "INSERT INTO x(x) VALUES('integrity-check'); INSERT INTO x(x) VALUES('flush')");
			run_gives(db, rows, "%s", followed[i].question);
			free(rows);
			sqlite3_free(remedy);
			close_database(db);
		}
	}
}

/* Advice in words: the SQL by which a person would follow it, and the index after it. */
#define UNIQUE_U "CREATE TABLE p(id INTEGER PRIMARY KEY, ts, u, v); INSERT INTO p VALUES(1, 10, 5, 1), (2, 20, 6, 2); "
#define WRITE_P "INSERT OR REPLACE INTO p VALUES(3, 30, 5, 3), (4, 40, 8, 4); UPDATE OR REPLACE p SET u = 8 WHERE id = 3; UPDATE p SET ts = 25, v = 9 WHERE id = 2; "
#define WRITE_SPANS "INSERT INTO spans VALUES(20, 'cpu', 30, 9, 'z'), (21, 'new', 31, NULL, 'z'); UPDATE spans SET dur = 8, track = 'cpu' WHERE id = 18; DELETE FROM spans WHERE id = 17; "

static const struct {
	/* `arguments` of an index, or the statement that fails; NULL: the question */
	const char *setup, *arguments, *message, *advice, *repaired, *changes, *question, *plain;
} advised[] = {
	{ SPANS ROWS "CREATE VIEW seen AS SELECT * FROM spans WHERE dur > 2", "content=seen, time=ts", "iforest: \"seen\" is a view; index the table below it", "", FROM_SPANS ", value=dur",
	  WRITE_SPANS, "SELECT count, sum_dur FROM x", "SELECT count(*), sum(dur) FROM spans" },
	{ "CREATE TABLE p(id INTEGER PRIMARY KEY, ts, u UNIQUE ON CONFLICT REPLACE, v); INSERT INTO p VALUES(1, 10, 5, 1), (2, 20, 6, 2)", "content=p, time=ts", "iforest: \"p\" uses ON CONFLICT REPLACE",
	  "ALTER TABLE p RENAME TO old; CREATE TABLE p(id INTEGER PRIMARY KEY, ts, u UNIQUE, v); INSERT INTO p SELECT * FROM old; DROP TABLE old", "content=p, time=ts, value=v",
	  WRITE_P, "SELECT count, sum_v, last_ts FROM x", "SELECT count(*), sum(v), max(ts) FROM p" },
	{ UNIQUE_U "CREATE UNIQUE INDEX pu ON p(u) WHERE u > 0", "content=p, time=ts", "iforest: \"p\" has a partial UNIQUE index \"pu\", whose conflicts triggers cannot foresee; make it a UNIQUE index on columns without WHERE",
	  "DROP INDEX pu; CREATE UNIQUE INDEX pu ON p(u)", "content=p, time=ts, value=v", WRITE_P, "SELECT count, sum_v, last_ts FROM x", "SELECT count(*), sum(v), max(ts) FROM p" },
	{ UNIQUE_U "CREATE UNIQUE INDEX pu ON p(abs(u))", "content=p, time=ts", "iforest: \"p\" has an expression or a generated column in UNIQUE index \"pu\"",
	  "DROP INDEX pu; CREATE UNIQUE INDEX pu ON p(u, ts)", "content=p, time=ts, value=v", WRITE_P "INSERT OR REPLACE INTO p VALUES(9, 30, 8, 70);", "SELECT count, sum_v, last_ts FROM x", "SELECT count(*), sum(v), max(ts) FROM p" },
	{ "CREATE TABLE spans(id INTEGER PRIMARY KEY, count, ts, dur, name TEXT);" ROWS, FROM_SPANS ", by=count", "iforest: two columns named \"count\"; give the by column another name: by=(\"count\" AS \"count_\")", "",
	  FROM_SPANS ", value=dur, by=(\"count\" AS \"count_\")", "INSERT INTO spans VALUES(20, 'cpu', 30, 9, 'z'); UPDATE spans SET count = 'cpu' WHERE id = 18; DELETE FROM spans WHERE id = 17",
	  "SELECT count_, count, sum_dur FROM x", "SELECT count, count(*), sum(dur) FROM spans GROUP BY 1" },
	{ SPANS ROWS, FROM_SPANS ", value=(dur, dur)", "iforest: two columns named \"count_dur\"; give a value column another name: value=(\"column\" AS \"other\")", "", FROM_SPANS ", value=(dur, \"dur\" AS \"other\")",
	  WRITE_SPANS, "SELECT sum_dur, sum_other FROM x", "SELECT sum(dur), sum(dur) FROM spans" },
	{ SPANS ROWS "UPDATE spans SET dur = 1.5 WHERE id = 18", FROM_SPANS ", value=dur, variance=dur", "iforest: value column \"dur\" of row 18 holds the real 1.5, and variances are kept of integers alone; store integers, or leave the column out of variance=...", "",
	  FROM_SPANS ", value=dur", WRITE_SPANS "INSERT INTO spans VALUES(30, 'a', 5, 0.25, '')", "SELECT count_dur, sum_dur FROM x", "SELECT count(dur), sum(dur) FROM spans" },
	{ SPANS ROWS "UPDATE spans SET dur = 1.5 WHERE id = 18", FROM_SPANS ", duration=dur", "iforest: duration column \"dur\" of row 18 holds the real 1.5 next to times that are integers; say what both columns count, such as unit=ns, duration_unit=ms (for sums of reals alone leave duration out and write value=...)", "",
	  FROM_SPANS ", value=dur", WRITE_SPANS "INSERT INTO spans VALUES(30, 'a', 5, 0.25, '')", "SELECT count_dur, sum_dur FROM x", "SELECT count(dur), sum(dur) FROM spans" },
	{ SPANS ROWS "UPDATE spans SET dur = 9223372036854775807, ts = -1 WHERE id = 18", FROM_SPANS ", end=dur", "iforest: end column \"dur\" of row 18 holds 9223372036854775807, further from the time than 64 bits can say",
	  "UPDATE spans SET dur = NULL WHERE id = 18", FROM_SPANS ", end=dur", WRITE_SPANS, "SELECT count, count_dur, sum_dur FROM x", "SELECT count(*), count(dur), sum(dur - ts) FROM spans" },
	{ SPANS ROWS "UPDATE spans SET dur = 9007199254740993 WHERE id = 17; UPDATE spans SET dur = 0.5 WHERE id = 18", FROM_SPANS ", value=dur", "iforest: value column \"dur\" of row 17 holds the integer 9007199254740993, and next to reals integers are exact up to 2^53 only; store integers only, or reals only",
	  "UPDATE spans SET dur = 9007199254740993.0 WHERE id = 17", FROM_SPANS ", value=dur", WRITE_SPANS, "SELECT count_dur, sum_dur FROM x", "SELECT count(dur), total(dur) FROM spans" },
	{ SPANS ROWS "CREATE TRIGGER x_insert AFTER INSERT ON spans BEGIN SELECT 1; END", FROM_SPANS, "iforest: there is already a trigger named \"x_insert\"; give the index another name", "DROP TRIGGER x_insert",
	  FROM_SPANS ", value=dur", WRITE_SPANS, "SELECT count_dur, sum_dur FROM x", "SELECT count(dur), sum(dur) FROM spans" },
	{ SPANS ROWS, FROM_SPANS ", duration=dur-ts", "iforest: cannot read argument \"duration=dur-ts\"", "", FROM_SPANS ", end=dur", WRITE_SPANS, "SELECT count, count_dur, sum_dur FROM x", "SELECT count(*), count(dur), sum(dur - ts) FROM spans" },
	{ SPANS ROWS, FROM_SPANS ", by=(upper(track)), value=dur", "iforest: cannot read argument \"by=(upper(track))\"", "ALTER TABLE spans ADD COLUMN loud AS (upper(track))", FROM_SPANS ", by=loud, value=dur",
	  WRITE_SPANS, "SELECT loud, count, sum_dur FROM x ORDER BY loud", "SELECT upper(track), count(*), sum(dur) FROM spans GROUP BY 1 ORDER BY 1" },
	{ SPANS ROWS, FROM_SPANS ", value=dur, where=(track LIKE ('c%'))", "iforest: where=...: like is changed by PRAGMA case_sensitive_like; write x LIKE 'a%'", "", FROM_SPANS ", value=dur, where=(track LIKE 'c%')",
	  WRITE_SPANS "INSERT INTO spans VALUES(30, 'CPU', 5, 4, '')", "SELECT ifnull(sum(count), 0), sum(sum_dur) FROM x", "SELECT count(*), sum(dur) FROM spans WHERE track LIKE 'c%'" },
	{ SPANS ROWS, FROM_SPANS ", value=dur, where=(track LIKE name)", "iforest: where=...: LIKE takes a text in single quotes here", "ALTER TABLE spans ADD COLUMN is_alike AS (track GLOB name)", FROM_SPANS ", value=dur, where=(is_alike)",
	  WRITE_SPANS "INSERT INTO spans VALUES(30, 'cpu', 5, 4, 'c*')", "SELECT ifnull(sum(count), 0), sum(sum_dur) FROM x", "SELECT count(*), sum(dur) FROM spans WHERE track GLOB name" },
	{ SPANS ROWS, FROM_SPANS ", value=dur, where=(name LIKE 'y' || '%')", "iforest: where=...: LIKE takes a text alone here; put what follows it out of parentheses: (x LIKE 'a%')", "", FROM_SPANS ", value=dur, where=((name LIKE 'y') || '1' = '11')",
	  WRITE_SPANS, "SELECT ifnull(sum(count), 0), sum(sum_dur) FROM x", "SELECT count(*), sum(dur) FROM spans WHERE (name LIKE 'y') || '1' = '11'" },
	{ SPANS ROWS "PRAGMA case_sensitive_like = 1", FROM_SPANS ", value=dur, where=(name LIKE 'Y%')", "iforest: where=...: LIKE tells upper case from lower in this connection, and in an index it does not; write GLOB, or set PRAGMA case_sensitive_like = 0",
	  "PRAGMA case_sensitive_like = 0", FROM_SPANS ", value=dur, where=(name LIKE 'Y%')", WRITE_SPANS, "SELECT ifnull(sum(count), 0), sum(sum_dur) FROM x", "SELECT count(*), sum(dur) FROM spans WHERE name LIKE 'Y%'" },
	{ SPANS ROWS, FROM_SPANS ", value=dur, where=(time(ts, 'unixepoch', 'localtime') >= '01:00')", "iforest: where=...: 'localtime' depends on where it is asked", "", FROM_SPANS ", value=dur, where=(time(ts, 'unixepoch', '+01:00') >= '01:00')",
	  WRITE_SPANS, "SELECT ifnull(sum(count), 0), sum(sum_dur) FROM x", "SELECT count(*), sum(dur) FROM spans WHERE time(ts, 'unixepoch', '+01:00') >= '01:00'" },
	{ SPANS ROWS "UPDATE spans SET ts = '2026-01-0' || (id - 16)", FROM_SPANS ", duration=dur", "iforest: times of \"spans\" are texts, which do not tell the unit of column \"dur\"; say in what durations are counted: unit=s, unit=ms, unit=us or unit=ns", "",
	  FROM_SPANS ", duration=dur, unit=us", "INSERT INTO spans VALUES(20, 'cpu', '2025-12-31T23:59:59.5Z', 9, 'z'); UPDATE spans SET dur = 8 WHERE id = 18; DELETE FROM spans WHERE id = 17", "SELECT count, sum_dur, last_ts FROM x", "SELECT count(*), sum(dur), max(ts) FROM spans" },
	/* units */
#define OF_TEXTS "CREATE TABLE t(id INTEGER PRIMARY KEY, at TEXT, took); "
#define WRITE_T "INSERT INTO t(at, took) VALUES('2026-01-01 00:00:00.5', 2), ('2026-01-03', 0.25), ('2026-01-04', NULL); UPDATE t SET took = 1.5 WHERE id = 2; "
#define MICROSECONDS(factor) "SELECT count(*), CAST(round(sum(took) * " factor ") AS INTEGER), CAST(round(max(took) * " factor ") AS INTEGER) FROM t"
	{ OF_TEXTS "INSERT INTO t VALUES(1, '2026-01-01 00:00:00.123', 60), (2, '2026-01-02', 3600)", "content=t, time=at, duration=took, unit=s",
	  "iforest: time column \"at\" of row 1 holds '2026-01-01 00:00:00.123', which has digits beyond the index's unit=s; make the index with a finer unit, and say what durations count: unit=us, duration_unit=s", "",
	  "content=t, time=at, duration=took, unit=us, duration_unit=s", WRITE_T, "SELECT count, sum_took, max_took FROM x", MICROSECONDS("1000000") },
	{ OF_TEXTS "INSERT INTO t VALUES(1, '2026-01-01 00:00:00.123', 60), (2, '2026-01-02', 3600)", "content=t, time=at, unit=s",
	  "iforest: time column \"at\" of row 1 holds '2026-01-01 00:00:00.123', which has digits beyond the index's unit=s; make the index with a finer unit; ns is the finest", "",
	  "content=t, time=at, unit=ms, value=took", "INSERT INTO t(at, took) VALUES('2026-01-05 12:00:00.007', 4)", "SELECT count, sum_took, max_took FROM x", "SELECT count(*), sum(took), max(took) FROM t" },
	{ OF_TEXTS "INSERT INTO t VALUES(1, '2026-01-01 00:00:00.123', 0.5), (2, '2026-01-02', 60)", "content=t, time=at, duration=took, unit=ms",
	  "iforest: duration column \"took\" of row 1 holds the real 0.5, and the index counts whole units; say what that column counts: duration_unit=s for seconds, duration_unit=ms for milliseconds, and count in a finer unit: unit=us, or unit=ns", "",
	  "content=t, time=at, duration=took, unit=us, duration_unit=s", WRITE_T, "SELECT count, sum_took, max_took FROM x", MICROSECONDS("1000000") },
	{ OF_TEXTS "INSERT INTO t VALUES(1, '2026-01-01 00:00:00.123', 0.5), (2, '2026-01-02', 60)", "content=t, time=at, duration=took, unit=ms",
	  "iforest: duration column \"took\" of row 1 holds the real 0.5, and the index counts whole units;", "",
	  "content=t, time=at, duration=took, unit=us, duration_unit=ms", WRITE_T, "SELECT count, sum_took, max_took FROM x", MICROSECONDS("1000") },
	{ OF_TEXTS "INSERT INTO t VALUES(1, '2026-01-01', 0.5), (2, '2026-01-02', 60)", "content=t, time=at, duration=took, unit=s, duration_unit=s",
	  "iforest: duration column \"took\" of row 1 holds 0.5, which has digits beyond the index's unit=s; make the index with unit=us, duration_unit=s", "",
	  "content=t, time=at, duration=took, unit=us, duration_unit=s", WRITE_T, "SELECT count, sum_took, max_took FROM x", MICROSECONDS("1000000") },
	{ OF_TEXTS "INSERT INTO t VALUES(1, '2026-01-01', 5), (2, '2026-01-02', 60)", "content=t, time=at, duration=took, unit=s, duration_unit=us",
	  "iforest: duration_unit=us is finer than unit=s, in which the index counts; write unit=us", "", "content=t, time=at, duration=took, unit=us, duration_unit=us",
	  "INSERT INTO t(at, took) VALUES('2026-01-01 00:00:00.5', 2)", "SELECT count, sum_took, max_took FROM x", MICROSECONDS("1") },
	{ "CREATE TABLE t(id INTEGER PRIMARY KEY, at INTEGER, took); INSERT INTO t VALUES(1, 100, 5), (2, 200, 60)", "content=t, time=at, duration=took, duration_unit=s", "iforest: duration_unit=s needs unit=..., too: what the numbers of column \"at\" count",
	  "", "content=t, time=at, duration=took, duration_unit=s, unit=us", "INSERT INTO t VALUES(3, 4000, 0.25)", "SELECT count, sum_took, max_took FROM x", MICROSECONDS("1000000") },
	{ "CREATE TABLE t(id INTEGER PRIMARY KEY, at INTEGER, took REAL)", "content=t, time=at, duration=took", "iforest: duration column \"took\" is declared REAL, for fractions, and times are integers; say what both columns count, such as unit=us, duration_unit=s",
	  "", "content=t, time=at, duration=took, unit=us, duration_unit=s", "INSERT INTO t VALUES(3, 4000, 0.25), (4, 5000, 3)", "SELECT ifnull(sum(count), 0), sum(sum_took), max(max_took) FROM x", MICROSECONDS("1000000") },
	{ SPANS ROWS, FROM_SPANS ", value=dur, duration_unit=s", "iforest: duration_unit=... goes with duration=... alone; leave it out", "", FROM_SPANS ", value=dur", WRITE_SPANS, "SELECT count, sum_dur FROM x", "SELECT count(*), sum(dur) FROM spans" },
	{ SPANS ROWS "UPDATE spans SET dur = 9223372036854775807 WHERE id = 18", FROM_SPANS ", duration=dur, unit=ms, duration_unit=s", "iforest: duration column \"dur\" of row 18 holds 9223372036854775807, more ms than 64 bits can count; store NULL, or make the index with a coarser unit=...",
	  "UPDATE spans SET dur = NULL WHERE id = 18", FROM_SPANS ", duration=dur, unit=ms, duration_unit=s", WRITE_SPANS, "SELECT count, sum_dur FROM x", "SELECT count(*), sum(dur) * 1000 FROM spans" },
	{ OF_TEXTS "INSERT INTO t VALUES(1, '0001-01-01', 5), (2, '2026-01-02', 60)", "content=t, time=at", "iforest: time column \"at\" of row 1 holds '0001-01-01', which lies outside the years 1677 to 2262, all that 64 bits of nanoseconds can count; make the index with unit=us",
	  "", "content=t, time=at, unit=us", "INSERT INTO t(at) VALUES('9999-12-31')", "SELECT count, first_ts, last_ts FROM x", "SELECT count(*), min(at), max(at) FROM t" },
	{ OF_TEXTS "INSERT INTO t VALUES(1, '2026-01-01', 5); CREATE VIRTUAL TABLE x USING iforest(content=t, time=at)", NULL, "x: argument t0 lies outside the years 1677 to 2262, which nanoseconds can count: 0001-01-01; make the index with unit=us",
	  "DROP TABLE x", "content=t, time=at, unit=us", "INSERT INTO t(at) VALUES('1500-12-31')", "SELECT count FROM x('0001-01-01')", "SELECT count(*) FROM t WHERE at >= '0001-01-01'" },
	{ OF_TEXTS "INSERT INTO t VALUES(1, '2026-01-01', 5), (2, '2026-01-31', 6), (3, '2026-02-01', 7); CREATE VIRTUAL TABLE x USING iforest(content=t, time=at, value=took)", "SELECT count FROM x WHERE step = '1 month'",
	  "x: argument step is '1 month', but months and years differ in length; ask for days and group them: GROUP BY strftime('%Y-%m', bucket_start)", "", NULL, "INSERT INTO t(at, took) VALUES('2026-03-31', 9)",
	  "SELECT strftime('%Y-%m', bucket_start), sum(sum_took) FROM x WHERE step = '1 day' GROUP BY strftime('%Y-%m', bucket_start)", "SELECT strftime('%Y-%m', at), sum(took) FROM t GROUP BY 1" },
	{ "CREATE TABLE t(id INTEGER PRIMARY KEY, at INTEGER, took); INSERT INTO t VALUES(1, 100, 5), (2, 200000, 60); CREATE VIRTUAL TABLE x USING iforest(content=t, time=at)", NULL,
	  "x: argument step is '1 minute', but the unit of the time column is not known: give a number in it, or make the index with unit=...", "DROP TABLE x", "content=t, time=at, unit=ms",
	  "INSERT INTO t(at) VALUES(60000)", "SELECT bucket, count FROM x WHERE step = '1 minute'", "SELECT at / 60000, count(*) FROM t GROUP BY 1" },
	{ OF_TEXTS "INSERT INTO t VALUES(1, '2026-01-01', 5), (2, '2026-01-31', 6); CREATE VIRTUAL TABLE x USING iforest(content=t, time=at, value=took); CREATE VIRTUAL TABLE x_rows USING iforest_rows(x)", "SELECT id FROM x_rows WHERE at >= '2026-01-31T00:00Z'",
	  "x_rows: column at is compared as text, in the form of the index's times: write '2026-01-31' for '2026-01-31T00:00Z', or use t0 and t1", "", NULL, "INSERT INTO t(at, took) VALUES('2026-03-31', 9)",
	  "SELECT id FROM x_rows WHERE at >= '2026-01-31' ORDER BY id", "SELECT id FROM t WHERE at >= '2026-01-31'" },
	{ OF_TEXTS "INSERT INTO t VALUES(1, '2026-01-01 00:00:00.1234567891', 5)", "content=t, time=at", "iforest: time column \"at\" of row 1 holds '2026-01-01 00:00:00.1234567891', which has digits beyond the index's unit=ns; there is no finer unit: add a generated column without them, and name that",
	  "ALTER TABLE t ADD COLUMN at_ns TEXT AS (substr(at, 1, 29))", "content=t, time=at_ns", "INSERT INTO t(at) VALUES('2026-01-02'), ('2026-01-03 00:00:00.99999999999999')", "SELECT count, last_ts FROM x", "SELECT count(*), max(substr(at, 1, 29)) FROM t" },
	/* classes */
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur); INSERT INTO spans VALUES(19, 'cpu', 5.5, 5, '')", NULL, "iforest: time column \"ts\" of row 19 holds 5.5, and the index was made when it held integers only; run the command 'rebuild'",
	  "INSERT INTO x(x) VALUES('rebuild')", NULL, WRITE_SPANS, "SELECT count, sum_dur, first_ts FROM x", "SELECT count(*), sum(dur), min(ts) FROM spans" },
	{ "CREATE TABLE t(id INTEGER PRIMARY KEY, at DATETIME, v); CREATE VIRTUAL TABLE x USING iforest(content=t, time=at, value=v, unit=ms); INSERT INTO t VALUES(1, 1700000000123, 4)", NULL,
	  "iforest: time column \"at\" of row 1 holds a number (1700000000123), and times of the index are texts; store times of one kind alone, and run the command 'rebuild' if the index exists already",
	  "INSERT INTO x(x) VALUES('rebuild')", NULL, "INSERT INTO t VALUES(2, 1700000060000, 5)", "SELECT count, sum_v, last_ts FROM x", "SELECT count(*), sum(v), max(at) FROM t" },
	{ SPANS ROWS "CREATE TABLE other AS SELECT * FROM spans", "content=main.spans, time=ts", "iforest: cannot read argument \"content=main.spans\": it takes a name without a schema, and the index lives in that of its table: CREATE VIRTUAL TABLE \"main\".name USING iforest(content=...)", "",
	  FROM_SPANS ", value=dur", WRITE_SPANS, "SELECT count, sum_dur FROM main.x", "SELECT count(*), sum(dur) FROM spans" },
	{ SPANS ROWS, "spans, ts", "iforest: cannot read argument \"spans\": write key=value, as in content=spans, time=ts", "", FROM_SPANS, "", "SELECT count FROM x", "SELECT count(*) FROM spans" },
	{ SPANS ROWS, FROM_SPANS ", sketch=dur", "iforest: sketch=(dur): no value column has that name; list it in value=(...)", "", FROM_SPANS ", value=(dur), sketch=dur", WRITE_SPANS,
	  "SELECT count, iforest_sketch_count(sketch_dur) FROM x", "SELECT count(*), count(dur) FROM spans" },
	{ SPANS ROWS, FROM_SPANS ", value=dur, where=(track = \"cpu\")", "iforest: where=(track = \"cpu\"): no such column: ", "", FROM_SPANS ", value=dur, where=(track = 'cpu')", WRITE_SPANS,
	  "SELECT count, sum_dur FROM x", "SELECT count(*), sum(dur) FROM spans WHERE track = 'cpu'" },
	/* the index exists already: then `repaired` is NULL */
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur); INSERT INTO spans VALUES(19, 'cpu', 5, 0.5, '')", NULL, "iforest: value column \"dur\" of row 19 holds the real 0.5, and the index was made when it held integers only; run the command 'rebuild'",
	  "INSERT INTO x(x) VALUES('rebuild')", NULL, WRITE_SPANS, "SELECT count, sum_dur FROM x", "SELECT count(*), sum(dur) FROM spans" },
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur); CREATE UNIQUE INDEX u ON spans(name, ts)", NULL, "x: detached from its table", "INSERT INTO x(x) VALUES('rebuild')", NULL,
	  WRITE_SPANS "INSERT OR REPLACE INTO spans VALUES(22, 'cpu', 20, 4, 'y')", "SELECT count, sum_dur FROM x", "SELECT count(*), sum(dur) FROM spans" },
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur, sync=append); DELETE FROM spans WHERE id = 18", NULL, "x: rows of \"spans\" were deleted, but sync=append takes rows that are only ever added; run INSERT INTO \"x\"(\"x\") VALUES('rebuild'), or",
	  "INSERT INTO \"x\"(\"x\") VALUES('rebuild')", NULL, "INSERT INTO spans VALUES(20, 'cpu', 30, 9, 'z'), (21, 'new', 31, NULL, 'z')", "SELECT count, sum_dur FROM x", "SELECT count(*), sum(dur) FROM spans" },
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur); CREATE TRIGGER mine AFTER INSERT ON spans WHEN new.id = 99 BEGIN SELECT RAISE(IGNORE); END", NULL,
	  "x: trigger \"mine\" on \"spans\" says RAISE(IGNORE) after a row was inserted", "INSERT INTO \"x\"(\"x\") VALUES('rebuild')", NULL, WRITE_SPANS "INSERT INTO spans VALUES(99, 'a', 1, 1, '')", "SELECT count, sum_dur FROM x",
	  "SELECT count(*), sum(dur) FROM spans" },
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur); CREATE TEMP TRIGGER mine AFTER INSERT ON spans WHEN new.id = 99 BEGIN SELECT RAISE(IGNORE); END", NULL,
	  "x: temporary trigger \"mine\" on \"spans\" says RAISE(IGNORE)", "DROP TRIGGER mine; INSERT INTO \"x\"(\"x\") VALUES('rebuild')", NULL, WRITE_SPANS, "SELECT count, sum_dur FROM x", "SELECT count(*), sum(dur) FROM spans" },
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur); ALTER TABLE spans RENAME COLUMN dur TO took", NULL, "x: detached from its table",
	  "DROP TABLE x; ALTER TABLE spans RENAME COLUMN took TO dur; CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur)", NULL, WRITE_SPANS, "SELECT count, sum_dur FROM x", "SELECT count(*), sum(dur) FROM spans" },
	/* tables over an index */
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur); ", "CREATE VIRTUAL TABLE x_o USING iforest_overlap(x)", "iforest_overlap: index \"x\" has no durations: make it with duration=... or end=...", "DROP TABLE x; CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", duration=dur); CREATE VIRTUAL TABLE x_o USING iforest_overlap(x)",
	  NULL, WRITE_SPANS, "SELECT overlaps FROM x_o(15, 25)", "SELECT count(*) FROM spans WHERE ts < 25 AND (ts >= 15 OR ts + dur > 15)" },
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS "); ", "CREATE VIRTUAL TABLE x_c USING iforest_counter(x)", "iforest_counter: \"x\" has no value column; make an index with value=...", "DROP TABLE x; CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur); CREATE VIRTUAL TABLE x_c USING iforest_counter(x)",
	  NULL, "INSERT INTO spans VALUES(20, 'cpu', 30, 9, 'z')", "SELECT count_dur FROM x_c(0, 50)", "SELECT count(dur) FROM spans" },
	{ SPANS ROWS "ALTER TABLE spans RENAME COLUMN track TO run_id; CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", duration=dur, by=run_id)", "CREATE VIRTUAL TABLE x_c USING iforest_cover(x)", "iforest_cover: duplicate column name: run_id; give the by column another name in the index: by=(c AS c_)",
	  "DROP TABLE x; CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", duration=dur, by=(run_id AS run_id_)); CREATE VIRTUAL TABLE x_c USING iforest_cover(x)", NULL, "INSERT INTO spans VALUES(20, 'cpu', 30, 9, 'z')",
	  "SELECT sum(count) FROM x_c", "SELECT count(*) FROM spans" },
	{ SPANS ROWS "ALTER TABLE spans RENAME COLUMN track TO gap_start; CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", duration=dur, by=gap_start)", "CREATE VIRTUAL TABLE x_g USING iforest_gaps(x)", "iforest_gaps: two columns named \"gap_start\"; make the index with by=(\"gap_start\" AS \"gap_start_\")",
	  "DROP TABLE x; CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", duration=dur, by=(\"gap_start\" AS \"gap_start_\")); CREATE VIRTUAL TABLE x_g USING iforest_gaps(x)", NULL, "INSERT INTO spans VALUES(20, 'cpu', 30, 9, 'z')",
	  "SELECT gap_start, gap_end FROM x_g WHERE gap_start_ = 'cpu' ORDER BY 1", "SELECT a.ts + a.dur, b.ts FROM spans AS a JOIN spans AS b ON a.gap_start = 'cpu' AND b.gap_start = 'cpu' AND b.ts > a.ts" },
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur)", "SELECT count FROM x WHERE +t0 = 0", "x: argument t0 is used, but not given with =: write x(t0, t1), not inside OR, an expression, a row value or the far side of an outer join", "", NULL, WRITE_SPANS,
	  "SELECT count, sum_dur FROM x(0, 100)", "SELECT count(*), sum(dur) FROM spans" },
	{ SPANS ROWS "ALTER TABLE spans RENAME COLUMN track TO bucket_width; CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur, by=bucket_width)", "INSERT INTO x(x, step) VALUES('export', 100)",
	  "x: by column \"bucket_width\" has the name of a column of the export; give it another one in the index: by=(\"bucket_width\" AS \"bucket_width_\")",
	  "DROP TABLE x; CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur, by=(\"bucket_width\" AS \"bucket_width_\")); INSERT INTO x(x, step) VALUES('export', 100)", NULL, "",
	  "SELECT sum(count) FROM x_rollup WHERE bucket_level = 0", "SELECT count(*) FROM spans" },
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur)", "INSERT INTO x(x) VALUES('export')", "x: the first export needs the width of its finest buckets: INSERT INTO \"x\"(\"x\", step) VALUES('export', ...)", "INSERT INTO \"x\"(\"x\", step) VALUES('export', 100)", NULL, "",
	  "SELECT sum(count) FROM x_rollup WHERE bucket_level = 0", "SELECT count(*) FROM spans" },
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur)", "SELECT * FROM iforest_histogram", "iforest_histogram: give it a sketch: iforest_histogram((SELECT iforest_sketch(v) FROM ...))", "", NULL, "",
	  "SELECT sum(count) FROM iforest_histogram((SELECT iforest_sketch(dur) FROM spans))", "SELECT count(dur) FROM spans" },
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur)", "SELECT * FROM iforest_advise", "iforest_advise: give a query: iforest_advise('SELECT ...')", "", NULL, "",
	  "SELECT count(*) > 0 FROM iforest_advise('SELECT count(*) FROM spans WHERE ts >= 0')", "SELECT 1" },
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur)", "DELETE FROM x", "x may not be modified; write to \"spans\"", "DELETE FROM \"spans\" WHERE id = 17", NULL, "INSERT INTO spans VALUES(20, 'cpu', 30, 9, 'z')",
	  "SELECT count, sum_dur FROM x", "SELECT count(*), sum(dur) FROM spans" },
	/* what became of the table, or of the index */
	{ "CREATE TABLE t(k TEXT, ts INTEGER, v INTEGER); INSERT INTO t VALUES('a', 10, 5), ('b', 20, 7), ('c', 30, 8); CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=v); DELETE FROM t WHERE k = 'b'; VACUUM", NULL,
	  "x: the rows of \"t\" may have other rowids than the index knows: VACUUM or a copy numbered them anew, for the table has no INTEGER PRIMARY KEY; run INSERT INTO \"x\"(\"x\") VALUES('rebuild')", "INSERT INTO \"x\"(\"x\") VALUES('rebuild')", NULL,
	  "INSERT INTO t VALUES('d', 5, 1)", "SELECT count, sum_v, max_v_id FROM x", "SELECT count(*), sum(v), (SELECT rowid FROM t ORDER BY v DESC LIMIT 1) FROM t" },
	{ "CREATE TABLE t(k PRIMARY KEY, ts, v); INSERT INTO t VALUES('a', 10, 5), ('b', 20, 7); CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=v); CREATE TABLE n(k, ts, v); INSERT INTO n SELECT * FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t", "INSERT INTO x(x) VALUES('rebuild')",
	  "x: the table was made anew without PRIMARY KEY and UNIQUE, for which the index is not made; run DROP TABLE \"x\", and create it again", "DROP TABLE \"x\"", "content=t, time=ts, value=v", "INSERT INTO t VALUES('d', 5, 1)",
	  "SELECT count, sum_v FROM x", "SELECT count(*), sum(v) FROM t" },
	{ "CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT, ts, v); INSERT INTO t VALUES(1, 'a', 10, 5), (2, 'b', 20, 7); CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=v, by=k); "
	  "CREATE TABLE n(id INTEGER PRIMARY KEY, k INTEGER, ts, v); INSERT INTO n SELECT * FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t", "INSERT INTO x(x) VALUES('rebuild')",
	  "x: by column \"k\" has affinity INTEGER now, and had TEXT when the index was made; run DROP TABLE \"x\", and create it again", "DROP TABLE \"x\"", "content=t, time=ts, value=v, by=k", "INSERT INTO t VALUES(3, 5, 5, 1)",
	  "SELECT k, count, sum_v FROM x ORDER BY k", "SELECT k, count(*), sum(v) FROM t GROUP BY k" },
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur, sync=append); UPDATE spans SET dur = 90 WHERE id = 17", "INSERT INTO x(x) VALUES('integrity-check')", "x: holds other rows than the table \"spans\"", "INSERT INTO \"x\"(\"x\") VALUES('rebuild')", NULL,
	  "INSERT INTO spans VALUES(20, 'cpu', 30, 9, 'z')", "SELECT count, sum_dur FROM x", "SELECT count(*), sum(dur) FROM spans" },
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur); UPDATE x_page SET bytes = zeroblob(length(bytes)) WHERE id <> 0", "SELECT count, sum_dur FROM x(12, 1000)", "x: ", "INSERT INTO \"x\"(\"x\") VALUES('rebuild')", NULL,
	  WRITE_SPANS, "SELECT count, sum_dur FROM x(12, 1000)", "SELECT count(*), sum(dur) FROM spans WHERE ts >= 12" },
	{ SPANS ROWS "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=dur, by=track); DELETE FROM x_series", NULL, "x: corrupt: the table of series is wrong", "INSERT INTO \"x\"(\"x\") VALUES('rebuild')", NULL,
	  WRITE_SPANS, "SELECT track, count FROM x ORDER BY track", "SELECT track, count(*) FROM spans GROUP BY track" },
};

static void advice_in_words_loses_no_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof advised / sizeof advised[0]; i++) {
		sqlite3 *db = open_with_functions();
		const char *failing = advised[i].arguments ? advised[i].arguments : advised[i].question;
		char *rows;

		run(db, "%s", advised[i].setup);
		fails(db, advised[i].message, isupper((unsigned char)*failing) ? "%s" : "CREATE VIRTUAL TABLE x USING iforest(%s)", failing);
		run(db, "%s", advised[i].advice);
		if (advised[i].repaired)
			run(db, "CREATE VIRTUAL TABLE x USING iforest(%s)", advised[i].repaired);
		for (int step = 0; step < 3; step++) {
			static const char *const steps[] = { "", NULL, "INSERT INTO x(x) VALUES('flush'), ('integrity-check')" };

			run(db, "%s", steps[step] ? steps[step] : advised[i].changes);
			rows = rows_of(db, advised[i].plain);
			run_gives(db, rows, "%s", advised[i].question);
			free(rows);
		}
		close_database(db);
	}
}

/* ---- texts that are numbers ---- */

/* A column of texts that the advice makes numbers of, of random texts. */
static void a_text_is_a_number_as_a_whole_or_none(void **state)
{
	static const char *const parts[] = { "1", "0", "7", "25", ".", "e", "E", "-", "+", " ", ",", ":", "x", "0x", "nan", "inf", "kWh", "99999", "\t", "" };
	struct random random = { test_seed() };
	int n = test_rounds(20000);
	sqlite3 *db = open_with_functions();
	char *remedy;

	(void)state;
	run(db, SPANS "INSERT INTO spans VALUES(1, '', 0, '5', ''); BEGIN");
	for (int i = 2; i < n; i++) {
		char *text = sqlite3_mprintf("");

		for (int p = (int)random_below(&random, 6); p >= 0; p--)
			text = sqlite3_mprintf("%z%s", text, parts[random_below(&random, sizeof parts / sizeof parts[0])]);
		run(db, "INSERT INTO spans VALUES(%d, '', 0, %Q, '')", i, text);
		sqlite3_free(text);
	}
	run(db, "COMMIT");
	fails(db, "iforest: value column \"dur\" of row 1 holds text", "CREATE VIRTUAL TABLE x USING iforest(%s, value=dur)", FROM_SPANS);
	remedy = remedy_of(last_message());
	run(db, "%s", remedy);
	run_gives(db, "", "SELECT id, dur, dur_number, number_of(dur) FROM spans WHERE dur_number IS NOT number_of(dur) AND NOT coalesce(abs(dur_number - number_of(dur)) <= 1e-12 * abs(dur_number), 0) LIMIT 5");
	assert_true(integer_of(db, "SELECT count(dur_number) FROM spans") > n / 10 && integer_of(db, "SELECT count(*) - count(dur_number) FROM spans") > n / 10);
	run(db, "CREATE VIRTUAL TABLE x USING iforest(" FROM_SPANS ", value=(dur_number AS v))");
	run_gives(db, "1|1|1|1\n", "SELECT (SELECT count_v FROM x) = count(number_of(dur)), (SELECT min_v FROM x) = min(number_of(dur)), (SELECT max_v FROM x) = max(number_of(dur)), "
				     "(SELECT coalesce(abs(sum_v - total(number_of(dur))) <= 1e-9 * total(abs(number_of(dur))), 1) FROM x) FROM spans");
	sqlite3_free(remedy);
	close_database(db);
}

/* ---- the messages of the sources ---- */

/* Marks of advice in a message: SQL, and options of an index. */
static const char *const marks[] = { "ALTER TABLE", "CREATE TABLE", "CREATE VIRTUAL", "INSERT INTO", "INSERT OR", "DROP TABLE", "PRAGMA ", "'rebuild'", "unit=", "by=(", "value=",
				     "sync=", "end=", "duration=", "GROUP BY", "write ", "where=(", "SELECT " };

/* Messages that other tests provoke, or of which there is one for this version of SQLite and one for others. */
static const char *const elsewhere[] = {
	"the temporary file in which rows are sorted", /* test_build.c */
	"gives other values when it is read again",    /* test_build.c */
	"RENAME COLUMN oid TO oid_",		       /* one of both */
	"AS oid_ FROM",
	"it takes a name, or name AS other", /* words alone, test_refusals.c */
	"it takes a condition in parentheses", "it is log, append or manual", "it is ns, us, ms or s", "write column AS name",
	"unknown argument",
	"ends before its end", /* of a forged schema */
	"and create it with another condition", /* tests/security/test_sqlite_conditions.c */
};

/* True if the pieces of a format between its conversions are in a provoked message, in that order. */
static bool is_provoked(const char *format)
{
	for (int p = 0; p < n_provoked; p++) {
		const char *in = provoked[p], *at = format;

		while (in && *at) {
			size_t n = 0;
			char piece[512];

			while (*at && *at != '%' && n < sizeof piece - 1) {
				at += *at == '\\';
				piece[n++] = *at++;
			}
			if (*at == '%' && at[1] == '%') {
				piece[n++] = '%';
				at += 2;
			} else if (*at == '%') {
				at++;
				at += strspn(at, ".*l");
				at++;
			}
			piece[n] = 0;
			in = strstr(in, piece);
			in = in ? in + n : NULL;
		}
		if (in)
			return true;
	}
	return false;
}

/* True if a text of the sources is a message that advises something; SQL of the index itself begins with a capital letter. */
static bool is_advice(const char *text)
{
	const char *end = text + strspn(text, "abcdefghijklmnopqrstuvwxyz_%");
	bool is_message = (end > text && (*end == ' ' || *end == ':')) || strncmp(text, ": ", 2) == 0;

	for (size_t e = 0; e < sizeof elsewhere / sizeof elsewhere[0]; e++)
		if (strstr(text, elsewhere[e]))
			return false;
	for (size_t m = 0; is_message && m < sizeof marks / sizeof marks[0]; m++)
		if (strstr(text, marks[m]))
			return true;
	return false;
}

/* Moves past space, comments and names of macros in capital letters; each name becomes a conversion. */
static const char *pass_between(const char *at, char *text, size_t *n)
{
	for (;;) {
		if (isspace((unsigned char)*at)) {
			at++;
		} else if (strncmp(at, "/*", 2) == 0) {
			at = strstr(at, "*/") + 2;
		} else if (isupper((unsigned char)*at)) {
			at += strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
			memcpy(text + *n, "%s", 2);
			*n += 2;
		} else {
			return at;
		}
	}
}

/* Checks the literals of a source, adjacent ones as one. Returns how many advise something. */
static int check_source(const char *path, char *source, int *n_missing)
{
	int n_advice = 0;

	for (const char *at = source; *at;) {
		char text[2048];
		size_t n = 0;

		if (strncmp(at, "/*", 2) == 0 && strstr(at, "*/")) {
			at = strstr(at, "*/") + 2;
		} else if (*at == '\'') {
			at += at[1] == '\\' ? 4 : 3;
		} else if (strncmp(at, "#include", 8) == 0 || *at != '"') {
			at += strncmp(at, "#include", 8) == 0 ? strcspn(at, "\n") : 1;
		} else {
			while (*at == '"' && n < sizeof text - 256) {
				for (at++; *at && *at != '"' && n < sizeof text - 256; at++) {
					text[n++] = *at;
					if (*at == '\\')
						text[n++] = *++at;
				}
				at = pass_between(at + 1, text, &n);
			}
			text[n] = 0;
			n_advice += is_advice(text);
			if (is_advice(text) && !is_provoked(text)) {
				print_error("%s: no test follows the advice of\n  %s\n", path, text);
				(*n_missing)++;
			}
		}
	}
	return n_advice;
}

static char *read_source(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *text = malloc(1 << 20);
	size_t n = file && text ? fread(text, 1, (1 << 20) - 1, file) : 0;

	if (file)
		fclose(file);
	if (text)
		text[n] = 0;
	return text;
}

static void each_advice_of_the_sources_is_followed(void **state)
{
	static const char *const folders[] = { "storage", "follow", "maintain", "query", "vtab" };
	int n_advice = 0, n_missing = 0;

	(void)state;
	for (size_t f = 0; f < sizeof folders / sizeof folders[0]; f++) {
		char *folder = sqlite3_mprintf("sqlite_ext/%s", folders[f]);
		DIR *directory = opendir(folder);
		const struct dirent *entry;

		assert_non_null(directory);
		while ((entry = readdir(directory))) {
			char *path = sqlite3_mprintf("%s/%s", folder, entry->d_name), *source;

			/* the reasons of iforest_advise() are answers, which test_advise.c follows */
			if (strstr(path, ".c") && !strstr(path, "/advise") && (source = read_source(path))) {
				n_advice += check_source(path, source, &n_missing);
				free(source);
			}
			sqlite3_free(path);
		}
		closedir(directory);
		sqlite3_free(folder);
	}
	assert_true(n_advice > 40 && n_missing == 0);
	while (n_provoked > 0)
		sqlite3_free(provoked[--n_provoked]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sql_that_a_message_offers_works), cmocka_unit_test(a_column_that_a_message_offers_is_followed), cmocka_unit_test(advice_in_words_loses_no_row),
		cmocka_unit_test(a_text_is_a_number_as_a_whole_or_none), cmocka_unit_test(each_advice_of_the_sources_is_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
