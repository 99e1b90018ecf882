/* tests/sqlite/test_where.c -- Tests of an index of the rows that meet a condition: its answers are those of plain SQL with the
 * same WHERE, whoever writes. A condition that the index cannot follow is refused, and the message names why. */
#include "harness.h"

#define SPANS "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts, dur, status TEXT COLLATE NOCASE);"
#define ROWS "INSERT INTO spans VALUES(1, 'a', 1, 5, 'ok'), (2, 'a', 2, 6, 'error'), (3, 'b', 3, 7, NULL), (4, 'b', 'x', 'y', 'ok'), (5, 'c', 9, 9, 'Error');"

static void rows_that_do_not_meet_it_are_not_looked_at(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS ROWS "CREATE VIRTUAL TABLE e USING iforest(content=spans, time=ts, duration=dur, by=track, where=(status = 'error'))");
	run_gives(db, "a|1|6|2\nc|1|9|5\n", "SELECT track, count, sum_dur, max_dur_id FROM e");
	run(db, "INSERT INTO spans VALUES(6, x'00', 'no time', 0.5, 'ok'); UPDATE spans SET dur = 'none' WHERE id = 1");
	run_gives(db, "a|1|6|2\nc|1|9|5\n", "SELECT track, count, sum_dur, max_dur_id FROM e");
	run(db, "INSERT INTO e(e) VALUES('flush'), ('integrity-check')");
	run(db, "UPDATE spans SET status = 'ERROR' WHERE id = 6");
	run_fails(db, "iforest: time column \"ts\" of row 6 holds text (no time), and times of the index are integers", "SELECT count FROM e");
	run(db, "UPDATE spans SET ts = 4, dur = 1 WHERE id = 6");
	run_gives(db, "3\n", "SELECT sum(count) FROM e");
	run_gives(db, "1\n", "SELECT count(*) FROM e WHERE track = x'00'");
	close_database(db);
}

/* The type of a column is decided by the rows that meet the condition. */
static void types_are_those_of_the_rows_that_meet_it(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS "INSERT INTO spans VALUES(1, 'a', 1, 0.5, 'ok'), (2, 'a', 2, 9007199254740993, 'error');"
		"CREATE VIRTUAL TABLE e USING iforest(content=spans, time=ts, value=dur, where=(status = 'error'));"
		"CREATE VIRTUAL TABLE o USING iforest(content=spans, time=ts, value=dur, where=(status <> 'error'))");
	run_gives(db, "9007199254740993|0.5\n", "SELECT e.sum_dur, o.sum_dur FROM e, o");
	run(db, "INSERT INTO spans VALUES(3, 'a', 3, 7, 'error'), (4, 'a', 4, 0.25, 'error')");
	run_fails(db, "iforest: value column \"dur\" of row 4 holds the real 0.25", "SELECT sum_dur FROM e");
	run_gives(db, "0.5\n", "SELECT sum_dur FROM o");
	run(db, "DELETE FROM spans WHERE id = 2; INSERT INTO e(e) VALUES('rebuild')");
	run_gives(db, "7.25\n", "SELECT sum_dur FROM e");
	/* so is the kind of times */
	run(db, "DROP TABLE e; DROP TABLE o; DELETE FROM spans; INSERT INTO spans VALUES(1, 'a', 1.5, 1, 'real'), (2, 'a', '2026-01-01', 2, 'text'), (3, 'a', 7, 3, 'integer'),"
		" (4, 'a', '2026-01-02T00:00:00.5', 4, 'text'), (5, 'a', 8.0, 5, 'integer'), (6, 'a', '12', 6, 'number'), (7, 'a', 2, 7, 'real');"
		"CREATE VIRTUAL TABLE r USING iforest(content=spans, time=ts, value=dur, where=(status = 'real'));"
		"CREATE VIRTUAL TABLE t USING iforest(content=spans, time=ts, value=dur, where=(status = 'text'));"
		"CREATE VIRTUAL TABLE i USING iforest(content=spans, time=ts, value=dur, where=(status = 'integer'))");
	run_gives(db, "1.5|2.0|2026-01-01 00:00:00|2026-01-02 00:00:00.5|7|8\n", "SELECT r.first_ts, r.last_ts, t.first_ts, t.last_ts, i.first_ts, i.last_ts FROM r, t, i");
	run_fails(db, "iforest: time column \"ts\" of row 6 holds text (12); ", "CREATE VIRTUAL TABLE m USING iforest(content=spans, time=ts, where=(status = 'number'))");
	run(db, "ALTER TABLE spans ADD COLUMN n AS (CAST(ts AS INTEGER)); CREATE VIRTUAL TABLE m USING iforest(content=spans, time=n, where=(status = 'number'))");
	run(db, "UPDATE spans SET status = 'text' WHERE id = 4; INSERT INTO spans(id, ts, dur, status) VALUES(8, '2025-12-31 23:59:59.75', 8, 'text'), (9, 0.25, 9, 'real'), (10, '13', 9, 'number')");
	run_gives(db, "0.25|3|2025-12-31 23:59:59.75|3|2|13\n", "SELECT r.first_ts, r.count, t.first_ts, t.count, i.count, m.last_ts FROM r, t, i, m");
	close_database(db);
}

/* For rows in the front, the log records neither that they were replaced, nor by what. */
static void rows_of_the_front_come_and_go(void **state)
{
	static const char *const statuses[] = { "ok", "error", "ok", "ok", "error", "error", "ok", "error" };
	sqlite3 *db = open_database(test_path("front.db"), 0), *writer = open_plain(test_path("front.db"), 0);

	(void)state;
	run(db, SPANS "CREATE VIRTUAL TABLE e USING iforest(content=spans, time=ts, value=dur, where=(status = 'error'))");
	run_gives(db, "0\n", "SELECT ifnull(sum(count), 0) FROM e");
	for (int i = 0; i < 8; i++) {
		run(writer, "INSERT OR REPLACE INTO spans VALUES(5, 'a', %d, 1, %Q)", i, statuses[i]);
		run_gives(db, strcmp(statuses[i], "error") == 0 ? "1\n" : "0\n", "SELECT ifnull(sum(count), 0) FROM e");
	}
	run(writer, "INSERT OR REPLACE INTO spans VALUES(5, 'a', 3, 1, 'ok'); DELETE FROM spans WHERE id = 5");
	run_gives(db, "0\n", "SELECT ifnull(sum(count), 0) FROM e");
	run(db, "INSERT INTO e(e) VALUES('integrity-check')");
	close_database(writer);
	close_database(db);
	remove_database(test_path("front.db"));
}

static void other_tables_over_it_and_other_modes(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(ts INTEGER, dur INTEGER, kind INTEGER); INSERT INTO t VALUES(0, 100, 1), (10, 20, 2), (20, 100, 2), (200, 5, 2), (300, 1, 1);"
		"CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, duration=dur, where=(kind = 2), sync=append);"
		"CREATE VIRTUAL TABLE m USING iforest(content=t, time=ts, duration=dur, where=(kind = 1), sync=manual);"
		"CREATE VIRTUAL TABLE x_overlap USING iforest_overlap(x); CREATE VIRTUAL TABLE x_gaps USING iforest_gaps(x); CREATE VIRTUAL TABLE x_rows USING iforest_rows(x);"
		"CREATE VIRTUAL TABLE x_all USING iforest_fold(x)");
	run_gives(db, "2|30\n", "SELECT overlaps, clipped_dur FROM x_overlap(15, 35)");
	run_gives(db, "120|200\n", "SELECT * FROM x_gaps");
	run_gives(db, "3|20|100\n2|10|20\n4|200|5\n", "SELECT id, ts, dur FROM x_rows ORDER BY dur = 100 DESC, ts");
	run_gives(db, "0\n1\n", "SELECT count(*) FROM x_rows WHERE id = 1 UNION ALL SELECT count(*) FROM x_rows WHERE id = 2");
	run(db, "INSERT INTO t VALUES(400, 7, 2), (500, 8, 1); VACUUM");
	run_gives(db, "4|132\n", "SELECT count, sum_dur FROM x_all");
	run(db, "INSERT INTO x(x) VALUES('flush'); VACUUM"); /* rows that do not meet the condition leave no gap */
	run_gives(db, "4|132\n", "SELECT count, sum_dur FROM x_all");
	run_gives(db, "2|101\n", "SELECT count, sum_dur FROM m");
	run(db, "INSERT INTO m(m) VALUES('rebuild'); INSERT INTO m(m) VALUES('integrity-check'); INSERT INTO x(x) VALUES('integrity-check')");
	run_gives(db, "3|109\n", "SELECT count, sum_dur FROM m");
	run(db, "ALTER TABLE x RENAME TO y; INSERT INTO t VALUES(600, 9, 2); INSERT INTO y(y) VALUES('rebuild')");
	run_gives(db, "5|141\n", "SELECT count, sum_dur FROM y");
	close_database(db);
}

static void columns_of_the_condition_are_kept(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS ROWS "CREATE VIRTUAL TABLE e USING iforest(content=spans, time=ts, where=(status = 'error'))");
	run_fails(db, "error in trigger e_", "ALTER TABLE spans DROP COLUMN status");
	run(db, "ALTER TABLE spans RENAME COLUMN status TO state");
	run_fails(db, "e: detached from its table", "SELECT count FROM e");
	run(db, "ALTER TABLE spans RENAME COLUMN state TO status; INSERT INTO e(e) VALUES('rebuild')");
	run_gives(db, "2\n", "SELECT count FROM e");
	run(db, "ALTER TABLE spans RENAME TO events; UPDATE events SET status = 'error' WHERE id = 1");
	run_gives(db, "3\n", "SELECT count FROM e");
	close_database(db);
}

static const struct {
	const char *where, *message;
} refusals[] = {
	{ "status = 'error'", "iforest: cannot read argument \"where=status = 'error'\": it takes a condition in parentheses" },
	{ "(status = 'error') OR (id = 1)", "iforest: cannot read argument" },
	{ "id IN (1, 2)", "iforest: cannot read argument" },
	{ "", "iforest: cannot read argument" },
	{ "()", "iforest: where=(): near \")\": syntax error" },
	{ "(id = )", "iforest: where=(id = ): near \")\": syntax error" },
	{ "(no = 1)", "iforest: where=(no = 1): no such column: no; columns are written without their table, texts in single quotes" },
	{ "(spans.id = 1)", "iforest: where=(spans.id = 1): no such column: spans.id" },
	{ "(old.id = 1)", "iforest: where=(old.id = 1): no such column: old.id" },
	{ "(s.id = 1)", "iforest: where=(s.id = 1): no such column: s.id" },
	{ "(id = ?)", "iforest: where=(id = ?): parameters prohibited" },
	{ "(id = :x)", "iforest: where=(id = :x): parameters prohibited" },
	{ "(id IN (SELECT 1))", "iforest: where=(id IN (SELECT 1)): subqueries prohibited" },
	{ "(EXISTS(SELECT 1))", "iforest: where=(EXISTS(SELECT 1)): subqueries prohibited" },
	{ "(random() > id)", "iforest: where=...: random is not a function that a condition may call; make a column of it" },
	{ "(sqlite_version() > '3')", "iforest: where=...: sqlite_version is not a function that a condition may call; make a column of it" },
	{ "(count(*) > 1)", "iforest: where=...: count is not a function that a condition may call" },
	{ "(absent(id))", "iforest: where=...: absent is not one of SQLite's own functions, and another connection may lack it" },
	{ "(iforest_bucket(id, 0, 9, 3) = 1)", "iforest: where=...: iforest_bucket is not one of SQLite's own functions, and another connection may lack it" },
	{ "(\"Iforest_Version\"() = '1')", "iforest: where=...: Iforest_Version is not one of SQLite's own functions" },
	{ "(abs(id) = 1)", "iforest: where=...: abs is the program's function in this connection, not SQLite's own" }, /* registered below */
	{ "(id = 1 AND status GLOB 'e*')", NULL },
	{ "(status LIKE 'e%')", NULL },
	{ "(like('e%', status))", "iforest: where=...: like is changed by PRAGMA case_sensitive_like; write x LIKE 'a%'" },
	{ "(status LIKE ('e%'))", "iforest: where=...: like is changed by PRAGMA case_sensitive_like; write x LIKE 'a%'" },
	{ "(status LIKE track)", "iforest: where=...: LIKE takes a text in single quotes here, such as 'a%'" },
	{ "(status LIKE 'e' || '%')", "iforest: where=...: LIKE takes a text alone here; put what follows it out of parentheses: (x LIKE 'a%')" },
	{ "(status LIKE 'e%' ESCAPE track)", "iforest: where=...: LIKE takes a single character as ESCAPE here, neither % nor _" },
	{ "(status LIKE 'e%' ESCAPE '%')", "iforest: where=...: LIKE takes a single character as ESCAPE here, neither % nor _" },
	{ "(status LIKE 'e!' ESCAPE '!')", "iforest: where=...: LIKE has a pattern that ends in its ESCAPE" },
	{ "(status LIKE 'e%' COLLATE NOCASE)", "iforest: where=...: LIKE takes a text alone here" },
	{ "(CASE WHEN status LIKE 'e%' THEN track NOT LIKE 'x' ELSE 1 END)", NULL },
	{ "(status REGEXP 'e')", "iforest: where=...: REGEXP is not one of SQLite's own functions" },
	{ "(status MATCH 'e')", "iforest: where=...: match is not a function that a condition may call" },
	{ "(ts > CURRENT_TIMESTAMP)", "iforest: where=...: current_timestamp is another value each time" },
	{ "(date(ts) > '2024')", NULL },
	{ "(strftime('%H', ts, 'unixepoch', '+1 day') IN ('08', '09') AND julianday('2024-01-01') < julianday(ts))", NULL },
	{ "(\"unixepoch\"('now') > ts)", "iforest: where=...: \"unixepoch\" of 'now' is another value each time" },
	{ "(date() > ts)", "iforest: where=...: date without a time is another value each time" },
	{ "(strftime('%Y') = '2026')", "iforest: where=...: strftime without a time is another value each time" },
	{ "(time(ts, 'localtime') > '08')", "iforest: where=...: 'localtime' depends on where it is asked" },
	{ "(datetime(date(ts), 'UTC') > '08')", "iforest: where=...: 'UTC' depends on where it is asked" },
	{ "(date(date(date(date(date(date(ts)))))) > '2024')", NULL },
	{ "(date(date(date(date(date(date(time(ts))))))) > '2024')", "iforest: where=...: time stands in too many functions of dates; make a column of some" },
	{ "(date(ts, track) > '2024')", "iforest: where=...: date takes modifiers in single quotes here" },
	{ "(length(date(datetime('NOW'))))", "iforest: where=...: datetime of 'now' is another value each time" },
	{ "(status = \"error\")", "iforest: where=(status = \"error\"): no such column: " },
	{ "(status = 'x' COLLATE backwards)", "iforest: where=(status = 'x' COLLATE backwards): no such collation sequence: backwards" },
	{ "(odd = 'x')", "iforest: where=...: odd has a collation that is not SQLite's own" },
	{ "(\"od\" || 'x' = 'x' COLLATE [NoCase] /* ) */ -- (\n)", "iforest: where=(\"od\" || 'x' = 'x' COLLATE [NoCase] /* ) */ -- (\n): no such column: " },
	{ "(iif([status] IS NOT NULL, `id`, \"dur\") = x'00' /* ) */ -- (\n)", NULL },
};

static void do_nothing(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n;
	(void)values;
	sqlite3_result_null(context);
}

static int compare_backwards(void *context, int n_a, const void *a, int n_b, const void *b)
{
	(void)context;
	return n_a == n_b ? memcmp(b, a, (size_t)n_a) : n_b - n_a;
}

static void what_cannot_be_followed_is_refused_by_name(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS ROWS);
	assert_int_equal(sqlite3_create_collation(db, "backwards", SQLITE_UTF8, NULL, compare_backwards), SQLITE_OK);
	assert_int_equal(sqlite3_create_function(db, "abs", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, do_nothing, NULL, NULL), SQLITE_OK);
	run(db, "ALTER TABLE spans ADD COLUMN odd TEXT COLLATE backwards");
	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
		const char *sql = "CREATE VIRTUAL TABLE e USING iforest(content=spans, time=id, where=%s)";

		if (refusals[i].message)
			run_fails(db, refusals[i].message, sql, refusals[i].where);
		else
			run(db, sql, refusals[i].where);
		run(db, "DROP TABLE IF EXISTS e");
	}
	run_gives(db, "0\n", "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'e%%' OR name LIKE 'iforest%%'");
	run_fails(db, "iforest: argument \"where\" is given twice", "CREATE VIRTUAL TABLE e USING iforest(content=spans, time=id, where=(id), where=(id))");
	close_database(db);
}

/* ---- LIKE and dates ---- */

/* Returns a text of few different letters, so that patterns match. */
static char *random_word(struct random *random, const char *letters)
{
	char word[12];
	int n = (int)random_below(random, 7), at = 0;

	while (n-- > 0) {
		const char *letter = letters + random_below(random, (int64_t)strlen(letters));

		if (*letter & 0x80) { /* both bytes of ä */
			memcpy(word + at, "\xc3\xa4", 2);
			at += 2 - (at > 8);
		} else {
			word[at++] = *letter;
		}
		if (at > 9)
			break;
	}
	word[at] = 0;
	return sqlite3_mprintf("%q", word);
}

static void like_is_that_of_plain_sql(void **state)
{
	struct random random = { test_seed() };
	sqlite3 *db = open_database(":memory:", 0), *other;

	(void)state;
	run(db, "BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, s)");
	for (int i = 0; i < 400; i++) {
		char *word = random_word(&random, "aAbB*?[]^-%_!'\xc3z");

		run(db, "INSERT INTO t VALUES(%d, %d, '%s')", i, i, word);
		sqlite3_free(word);
	}
	run(db, "INSERT INTO t VALUES(500, 1, NULL), (501, 2, 12), (502, 3, 1.5), (503, 4, x'6142'); COMMIT");
	for (int i = 0; i < 300; i++) {
		char *pattern = random_word(&random, "aAbB%%%__*?[]^-'\xc3z1."), *where, *plain;

		where = sqlite3_mprintf("(s %sLIKE '%s'%s)", one_in(&random, 4) ? "NOT " : "", pattern, one_in(&random, 4) ? " ESCAPE 'z'" : one_in(&random, 4) ? " OR id = 7" : "");
		plain = sqlite3_mprintf("SELECT count(*), ifnull(sum(id), 0) FROM t WHERE %s", where);
		if (!strstr(where, "ESCAPE") || pattern[0] == 0 || pattern[strlen(pattern) - 1] != 'z') {
			run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=id, where=%s)", where);
			same_rows(db, "SELECT ifnull(sum(count), 0), ifnull(sum(sum_id), 0) FROM x", plain);
			run(db, "DROP TABLE x");
		}
		sqlite3_free(pattern);
		sqlite3_free(where);
		sqlite3_free(plain);
	}
	close_database(db);
	/* also in connections whose LIKE is case-sensitive */
	db = open_database(test_path("like.db"), 0);
	other = open_plain(test_path("like.db"), 0);
	run(other, "PRAGMA case_sensitive_like = 1");
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, s); INSERT INTO t(ts, s) VALUES(1, 'Error: x'), (2, 'ok'), (3, 'ERROR: y'); CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, where=(s LIKE 'error%%'))");
	run(other, "INSERT INTO t(ts, s) VALUES(4, 'eRRor'), (5, 'Ok'); UPDATE t SET s = 'OK' WHERE id = 1; UPDATE t SET s = 'error' WHERE id = 2; DELETE FROM t WHERE id = 3");
	run_gives(db, "2|2|4\n", "SELECT count, first_ts, last_ts FROM x");
	run(db, "PRAGMA case_sensitive_like = 1; INSERT INTO t(ts, s) VALUES(6, 'ERROR'); INSERT INTO x(x) VALUES('flush'), ('integrity-check')");
	run_gives(db, "3|2|6\n", "SELECT count, first_ts, last_ts FROM x");
	run_fails(db, "iforest: where=...: LIKE tells upper case from lower in this connection, and in an index it does not; write GLOB, or set PRAGMA case_sensitive_like = 0",
		  "CREATE VIRTUAL TABLE y USING iforest(content=t, time=ts, where=(s LIKE 'error%%'))");
	run(db, "PRAGMA case_sensitive_like = 0; CREATE VIRTUAL TABLE y USING iforest(content=t, time=ts, where=(s LIKE 'error%%'))");
	run_gives(db, "3\n", "SELECT count FROM y");
	close_database(other);
	close_database(db);
	remove_database(test_path("like.db"));
}

/* Date functions are those of plain SQL, except that a text such as 'now' is not a time. */
static void dates_are_those_of_plain_sql(void **state)
{
	static const char *const dates[] = { "(date(s) >= '2026-01-02')", "(strftime('%H', s) BETWEEN '09' AND '17')", "(strftime('%w', s, '+1 day') IN ('0', '6'))", "(julianday(s) - julianday('2026-01-01') < 1.5)",
					     "(date(datetime(s, '+20 hours')) = '2026-01-02')", "(unixepoch(id, 'unixepoch', 'start of day') = 0)", "(time(s) IS NULL)", "(date(coalesce(s, '2026-01-05')) > '2026-01-03')" };
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, s); WITH RECURSIVE n(n) AS (VALUES(0) UNION ALL SELECT n + 1 FROM n WHERE n < 200) INSERT INTO t SELECT n, n, datetime('2026-01-01', n || ' hours') FROM n;"
		"INSERT INTO t VALUES(300, 300, NULL), (301, 301, 'soon'), (302, 302, 2461041.5), (303, 303, x'00')");
	for (size_t d = 0; d < sizeof dates / sizeof *dates; d++) {
		char *plain = sqlite3_mprintf("SELECT count(*), ifnull(sum(id), 0) FROM t WHERE %s", dates[d]);

		run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=id, where=%s)", dates[d]);
		same_rows(db, "SELECT ifnull(sum(count), 0), ifnull(sum(sum_id), 0) FROM x", plain);
		run(db, "UPDATE t SET s = datetime(s, '+3 hours') WHERE id %% 5 = %d; INSERT INTO t SELECT id + 1000 * %d, ts, s FROM t WHERE id < 9", (int)d % 5, (int)d + 1);
		same_rows(db, "SELECT ifnull(sum(count), 0), ifnull(sum(sum_id), 0) FROM x", plain);
		run(db, "INSERT INTO x(x) VALUES('flush'), ('integrity-check'); DROP TABLE x");
		sqlite3_free(plain);
	}
	run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=id, where=(date(s) IS NULL)); DELETE FROM t; INSERT INTO t VALUES(1, 1, 'now'), (2, 2, 'Now'), (3, 3, 'later'), (4, 4, '2026-01-01')");
	run_gives(db, "3|6\n", "SELECT count, sum_id FROM x");
	close_database(db);
}

/* ---- random changes ---- */

enum { N_ROUNDS = 20, STEPS = 25 };

static const char *const conditions[] = {
	"(s = 'error')",
	"(s = 'Error' COLLATE BINARY)",
	"(s IS NOT NULL AND v > 50)",
	"(v IS NULL OR v < 20)",
	"(s IN ('a', 'ERROR') AND ts % 2)",
	"(g = 1)",
	"(ts BETWEEN 100 AND 400)",
	"(s GLOB 'e*')",
	"(w)",
	"(NOT w)",
	"(typeof(w) = 'integer')",
	"(w = '1')",
	"(w = 1)",
	"(CASE WHEN s = 'a' THEN a = 1 ELSE v > 30 END)",
	"(\"length\" /* a column, */ (s) > 2)",
	"(rowid % 3 = 0)",
	"(0)",
	"(NULL)",
	"(1)",
	"(u > 20 AND id <> 7)",
	"(s LIKE 'E%')",
	"(s LIKE '_rr!or' ESCAPE '!' OR w LIKE '%1%')",
	"(s NOT LIKE '%r' AND NOT (w LIKE 'x'))",
	"(strftime('%S', ts, 'unixepoch') > '30')",
	"(date(w) IS NULL AND time(v, 'unixepoch') < '00:01')",
};

enum { N_CONDITIONS = sizeof conditions / sizeof *conditions };

static const char *random_text(struct random *random, const char *const *texts, int64_t n)
{
	return texts[random_below(random, n)];
}

static void change(sqlite3 *db, struct random *random)
{
	static const char *const states[] = { "'error'", "'ERROR'", "'Error'", "'ok'", "'a'", "NULL", "''", "'e'" }, *const others[] = { "1", "1.0", "'1'", "x'31'", "0", "NULL", "'x'", "2.5" };
	int64_t id = random_below(random, 400);
	const char *s = random_text(random, states, 8), *w = random_text(random, others, 8);
	char *values = sqlite3_mprintf("%lld, %lld, %s, %s, %s, %s, %s", id, random_below(random, 4), one_in(random, 12) ? "NULL" : "abs(random() %% 500)",
				       one_in(random, 6) ? "NULL" : "abs(random() %% 100)", one_in(random, 2) ? "NULL" : "abs(random() %% 60)", s, w);

	switch (random_below(random, 10)) {
	case 0:
	case 1:
		run_any(db, "INSERT OR IGNORE INTO t(rowid, a, ts, v, u, s, w) VALUES(%s)", values);
		break;
	case 2:
		run_any(db, "INSERT OR REPLACE INTO t(rowid, a, ts, v, u, s, w) VALUES(%s)", values);
		break;
	case 3: /* at the end of the table, where the front is */
		run_any(db, "INSERT OR REPLACE INTO t(rowid, a, ts, v, u, s, w) SELECT ifnull(max(rowid), 0) + abs(random() %% 3) - abs(random() %% 3), a, ts, v, NULL, %s, %s FROM t", s, w);
		break;
	case 4:
		run_any(db, "INSERT INTO t(a, ts, v, s, w) VALUES(abs(random() %% 4), abs(random() %% 500), abs(random() %% 100), %s, %s)", s, w);
		break;
	case 5:
		run_any(db, "UPDATE t SET s = %s WHERE rowid BETWEEN %lld AND %lld", s, id, id + 20);
		break;
	case 6:
		run_any(db, "UPDATE t SET w = %s WHERE rowid BETWEEN %lld AND %lld", w, id, id + 20);
		break;
	case 7:
		run_any(db, "UPDATE OR REPLACE t SET v = abs(random() %% 100), u = abs(random() %% 60) WHERE rowid BETWEEN %lld AND %lld", id, id + 5);
		break;
	case 8:
		run_any(db, "UPDATE OR REPLACE t SET rowid = %lld, ts = ts + 1 WHERE rowid = %lld", random_below(random, 400), id);
		break;
	default:
		run_any(db, "DELETE FROM t WHERE rowid BETWEEN %lld AND %lld", id, id + random_below(random, 10));
	}
	sqlite3_free(values);
}

static void ask(sqlite3 *db, const char *where, struct random *random)
{
	int64_t t0 = random_below(random, 400), t1 = t0 + 1 + random_below(random, 200);
	char *sql, *plain;

	for (int all = 0; all < 2; all++) {
		char *window = sqlite3_mprintf("(%lld, %lld)", t0, t1), *times = sqlite3_mprintf(" AND ts >= %lld AND ts < %lld", t0, t1);

		sql = sqlite3_mprintf("SELECT a, count, count_v, sum_v, min_v, max_v, first_ts, last_ts FROM x%s ORDER BY a", all ? "" : window);
		plain = sqlite3_mprintf("SELECT a, count(*), count(v), sum(v), min(v), max(v), min(ts), max(ts) FROM t WHERE %s%s GROUP BY a ORDER BY a", where, all ? "" : times);
		same_rows(db, sql, plain);
		sqlite3_free(sql);
		sqlite3_free(plain);
		sqlite3_free(window);
		sqlite3_free(times);
	}
	plain = sqlite3_mprintf("SELECT rowid, a, ts, v FROM t WHERE %s ORDER BY 1", where);
	same_rows(db, "SELECT id, a, ts, v FROM x_rows ORDER BY 1", plain);
	sqlite3_free(plain);
	sql = sqlite3_mprintf("SELECT total(overlaps), total(clipped_v) FROM x_overlap(%lld, %lld)", t0, t1);
	plain = sqlite3_mprintf("SELECT count(*) * 1.0, total(iif(v > 0, min(ts + v, %lld) - max(ts, %lld), 0)) FROM t WHERE %s AND ts < %lld AND (ts + v > %lld OR (ifnull(v, 0) <= 0 AND ts >= %lld))", t1, t0, where, t1, t0, t0);
	same_rows(db, sql, plain);
	sqlite3_free(sql);
	sqlite3_free(plain);
}

/* VACUUM may renumber the rows of a table without a key. A query then asks for a rebuild. */
static void heal(sqlite3 *db)
{
	if (run_any(db, "SELECT count FROM x") == SQLITE_OK)
		return;
	if (!strstr(last_message(), "may have other rowids"))
		fail_msg("%s", last_message());
	run(db, "INSERT INTO x(x) VALUES('rebuild')");
}

static void run_round(struct random *random)
{
	static const char *const commands[] = { "flush", "flush", "flush", "merge", "optimize", "rebuild", "integrity-check" };
	sqlite3 *db = open_database(test_path("where.db"), 0), *writer = open_plain(test_path("where.db"), 0);
	const char *where = random_text(random, conditions, N_CONDITIONS);
	bool is_open = false;

	run(db, "PRAGMA synchronous = OFF");
	run(writer, "PRAGMA synchronous = OFF; PRAGMA trusted_schema = 0; PRAGMA recursive_triggers = %lld", random_below(random, 2));
	run(db, "CREATE TABLE t(id %s, a, ts INTEGER, v INTEGER, u INTEGER UNIQUE, s TEXT COLLATE NOCASE, w, g AS (v %% 3))", one_in(random, 3) ? "INT" : "INTEGER PRIMARY KEY");
	for (int64_t i = random_below(random, 200); i > 0; i--)
		change(db, random);
	run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, duration=v, by=a, where=%s); CREATE VIRTUAL TABLE x_rows USING iforest_rows(x);"
		"CREATE VIRTUAL TABLE x_overlap USING iforest_overlap(x)", where);
	for (int step = 0; step < STEPS; step++) {
		sqlite3 *by = one_in(random, 2) && !is_open ? writer : db;

		if (by == db && !is_open && one_in(random, 3)) {
			run(db, "BEGIN");
			is_open = true;
		}
		for (int64_t i = random_below(random, one_in(random, 4) ? 40 : 6); i > 0; i--)
			change(by, random);
		if (!is_open && one_in(random, 15))
			run(writer, "VACUUM");
		heal(db);
		if (one_in(random, 3))
			run(db, "INSERT INTO x(x) VALUES(%Q)", random_text(random, commands, 7));
		ask(db, where, random);
		if (is_open && one_in(random, 2)) {
			run(db, one_in(random, 2) ? "COMMIT" : "ROLLBACK");
			is_open = false;
			heal(db);
			ask(db, where, random);
		}
	}
	run_any(db, "COMMIT");
	heal(db);
	run(db, "INSERT INTO x(x) VALUES('integrity-check'); INSERT INTO x(x) VALUES('optimize'); INSERT INTO x(x) VALUES('integrity-check')");
	ask(db, where, random);
	close_database(writer);
	close_database(db);
	remove_database(test_path("where.db"));
}

static uint64_t seed_of_round;

static int print_seed(void **state)
{
	(void)state;
	print_message("last round: IFOREST_SEED=%" PRIu64 " IFOREST_ROUNDS=1\n", seed_of_round);
	return 0;
}

static void an_index_follows_the_rows_of_its_condition(void **state)
{
	int n_rounds = test_rounds(N_ROUNDS);

	(void)state;
	for (int i = 0; i < n_rounds; i++) {
		struct random random = { seed_of_round = test_seed() + (uint64_t)i };

		run_round(&random);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_that_do_not_meet_it_are_not_looked_at),
		cmocka_unit_test(types_are_those_of_the_rows_that_meet_it),
		cmocka_unit_test(rows_of_the_front_come_and_go),
		cmocka_unit_test(other_tables_over_it_and_other_modes),
		cmocka_unit_test(columns_of_the_condition_are_kept),
		cmocka_unit_test(what_cannot_be_followed_is_refused_by_name),
		cmocka_unit_test(like_is_that_of_plain_sql),
		cmocka_unit_test(dates_are_those_of_plain_sql),
		cmocka_unit_test_teardown(an_index_follows_the_rows_of_its_condition, print_seed),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
