/* tests/sqlite/test_advise.c -- Tests of iforest_advise(): the proposed index can be created, and the query over it returns
 * what the SELECT returns. */
#include "harness.h"

#define SPANS "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, depth INTEGER, ts INTEGER, dur INTEGER, weight REAL, name TEXT, fin INTEGER);"
#define STATEMENT(of) "CREATE VIRTUAL TABLE \"main\".\"spans_if\" USING iforest(content=\"spans\", time=\"ts\"" of ")"

/* If query or statement is NULL, none is proposed, for this reason. */
static const struct advised { const char *sql, *statement, *query, *reason;
} cases[] = {
	{ "SELECT track, count(*), sum(dur), max(dur) FROM spans WHERE ts >= 100 AND ts < 700 GROUP BY track",
	  STATEMENT(", value=(\"dur\"), by=(\"track\")"), "SELECT \"track\", count, \"sum_dur\", \"max_dur\" FROM \"main\".\"spans_if\" WHERE t0 = 100 AND t1 = 700",
	  NULL },
	{ "SELECT track, depth, count(*), avg(dur), avg(weight) FROM spans WHERE ts > 100 AND ts <= 700 GROUP BY track, depth",
	  STATEMENT(", value=(\"dur\", \"weight\"), by=(\"track\", \"depth\")"), "SELECT \"track\", \"depth\", count, \"avg_dur\", \"avg_weight\" FROM \"main\".\"spans_if\" WHERE t0 = 101 AND t1 = 701",
	  NULL },
	{ "SELECT track, count(*), min(dur) FROM spans WHERE ts BETWEEN 5 AND 900 AND track = 'track 1' GROUP BY track",
	  STATEMENT(", value=(\"dur\"), by=(\"track\")"), "SELECT \"track\", count, \"min_dur\" FROM \"main\".\"spans_if\" WHERE \"track\" = 'track 1' AND t0 = 5 AND t1 = 901",
	  NULL },
	{ "SELECT count(*), sum(dur) FROM spans WHERE ts >= 5",
	  STATEMENT(", value=(\"dur\")"), "SELECT coalesce(sum(count), 0), sum(\"sum_dur\") FROM \"main\".\"spans_if\" WHERE t0 = 5",
	  NULL },
	{ "SELECT depth, count(*) FROM spans WHERE depth = 3 AND 50 <= ts GROUP BY 1",
	  STATEMENT(", by=(\"depth\")"), "SELECT \"depth\", count FROM \"main\".\"spans_if\" WHERE \"depth\" = 3 AND t0 = 50",
	  NULL },
	{ "SELECT count(*) FROM spans WHERE ts < 500",
	  STATEMENT(""), "SELECT coalesce(sum(count), 0) FROM \"main\".\"spans_if\" WHERE t1 = 500",
	  NULL },
	{ "SELECT sum(dur) FROM spans WHERE ts >= 5 + 1 AND ts > 5.5 AND ts <= '700' AND ts < 1e3",
	  STATEMENT(", value=(\"dur\")"), "SELECT sum(\"sum_dur\") FROM \"main\".\"spans_if\" WHERE t0 = 6 AND t1 = 701",
	  NULL },
	{ "SELECT max(dur) FROM spans WHERE ts >= 0 AND ts <= 9223372036854775807",
	  STATEMENT(", value=(\"dur\")"), "SELECT max(\"max_dur\") FROM \"main\".\"spans_if\" WHERE t0 = 0",
	  NULL },
	{ "SELECT count(*) FROM spans WHERE ts > 'abc'",
	  STATEMENT(""), "SELECT coalesce(sum(count), 0) FROM \"main\".\"spans_if\" WHERE t0 = 0 AND t1 = 0",
	  NULL },
	{ "SELECT max(dur) FROM spans WHERE ts >= 0 AND ts > 5 AND ts < 10 AND ts < 8",
	  STATEMENT(", value=(\"dur\")"), "SELECT max(\"max_dur\") FROM \"main\".\"spans_if\" WHERE t0 = 6 AND t1 = 8",
	  NULL },
	{ "SELECT depth, sum(fin - ts), max(s.fin - s.ts) AS longest FROM spans AS s WHERE ts >= 0 GROUP BY depth",
	  STATEMENT(", end=\"fin\" AS \"span_length\", by=(\"depth\")"), "SELECT \"depth\", \"sum_span_length\", \"max_span_length\" AS longest FROM \"main\".\"spans_if\" WHERE t0 = 0",
	  NULL },
	{ "SELECT track, min(ts), max(ts) FROM spans WHERE ts >= 0 GROUP BY track",
	  STATEMENT(", by=(\"track\")"), "SELECT \"track\", first_ts, last_ts FROM \"main\".\"spans_if\" WHERE t0 = 0",
	  NULL },
	{ "SELECT ts / 60 AS minute, track, max(dur) FROM spans WHERE ts >= 0 GROUP BY 1, track ORDER BY minute, 2 LIMIT 20",
	  STATEMENT(", value=(\"dur\"), by=(\"track\")"), "SELECT bucket AS minute, \"track\", \"max_dur\" FROM \"main\".\"spans_if\" WHERE t0 = 0 AND step = 60 ORDER BY minute, 2 LIMIT 20",
	  NULL },
	{ "SELECT ts / 60 * 60, sum(dur) FROM spans WHERE track LIKE 'track%' AND ts >= 0 GROUP BY ts / 60 HAVING count(*) > 3",
	  STATEMENT(", value=(\"dur\"), by=(\"track\")"), "SELECT +bucket * 60, sum(\"sum_dur\") FROM \"main\".\"spans_if\" WHERE \"track\" LIKE 'track%' AND t0 = 0 AND step = 60 GROUP BY bucket HAVING coalesce(sum(count), 0) > 3",
	  NULL },
	{ "SELECT count(DISTINCT track), count(name), max(name) FROM spans WHERE ts >= 0",
	  STATEMENT(", by=(\"track\", \"name\")"), "SELECT count(DISTINCT \"track\"), coalesce(sum(iif(\"name\" IS NULL, 0, count)), 0), max(\"name\") FROM \"main\".\"spans_if\" WHERE t0 = 0",
	  NULL },
	{ "SELECT max(dur) - min(dur), round(sum(dur) * 1.0 / count(*), 3), CASE WHEN count(*) > 5 THEN 'many' ELSE 'few' END FROM spans WHERE ts >= 0 AND (track = 'track 1' OR depth = 1)",
	  STATEMENT(", value=(\"dur\"), by=(\"track\", \"depth\")"), "SELECT max(\"max_dur\") - min(\"min_dur\"), round(sum(\"sum_dur\") * 1.0 / coalesce(sum(count), 0), 3), CASE WHEN coalesce(sum(count), 0) > 5 THEN 'many' ELSE 'few' END FROM \"main\".\"spans_if\" WHERE (\"track\" = 'track 1' OR \"depth\" = 1) AND t0 = 0",
	  NULL },
	{ "SELECT track, count(*) FROM spans WHERE ts >= 0 AND track GLOB '*1' AND track BETWEEN 'a' AND 'z' AND track = 'track 1' AND track = 'track 2' GROUP BY track",
	  STATEMENT(", by=(\"track\")"), "SELECT \"track\", count FROM \"main\".\"spans_if\" WHERE \"track\" GLOB '*1' AND \"track\" BETWEEN 'a' AND 'z' AND \"track\" = 'track 1' AND \"track\" = 'track 2' AND t0 = 0",
	  NULL },
	{ "SELECT sum(dur) FROM spans WHERE track = ? AND ts >= ? AND ts <= ?",
	  STATEMENT(", value=(\"dur\"), by=(\"track\")"), "SELECT sum(\"sum_dur\") FROM \"main\".\"spans_if\" WHERE \"track\" = ?1 AND t0 = ?2 AND t1 = ?3 + 1",
	  NULL },
	{ "SELECT sum(dur) FROM spans WHERE ts >= :from AND ts >= 5 AND ts < :from + 60 AND track = :track",
	  STATEMENT(", value=(\"dur\"), by=(\"track\")"), "SELECT sum(\"sum_dur\") FROM \"main\".\"spans_if\" WHERE \"track\" = :track AND t0 = max(5, :from) AND t1 = (:from + 60)",
	  NULL },
	/* an index, and no query */
	{ "SELECT lower(track), max(dur) FROM spans WHERE ts >= 0 GROUP BY 1",
	  STATEMENT(", value=(\"dur\"), by=(\"track\")"), NULL,
	  "the query is left to you: groups are neither columns nor \"ts\" / 60, but by expressions" },
	{ "SELECT max(dur) FROM spans WHERE ts >= 0 AND dur > 5",
	  STATEMENT(", value=(\"dur\")"), NULL,
	  "the query is left to you: a range of \"dur\", which is neither the time nor a column of texts; where=, if it is always the same" },
	{ "SELECT max(dur) FROM spans WHERE ts >= 0 AND track = 'a' COLLATE NOCASE",
	  STATEMENT(", value=(\"dur\"), by=(\"track\")"), NULL,
	  "the query is left to you: \"COLLATE\" is not understood" },
	{ "SELECT max(dur) FROM spans WHERE ts >= 0 AND dur % 2 = 1",
	  STATEMENT(", value=(\"dur\")"), NULL,
	  "the query is left to you: \"%\" is not understood" },
	{ "SELECT sum(dur * 2) FROM spans WHERE ts >= 0",
	  STATEMENT(", value=(\"dur\")"), NULL,
	  "the query is left to you: sum() of an expression, which no index has" },
	{ "SELECT max(-dur) FROM spans WHERE ts >= 0",
	  STATEMENT(", value=(\"dur\")"), NULL,
	  "the query is left to you: max() of an expression, which no index has" },
	{ "SELECT count(nullif(dur, 5)) FROM spans WHERE ts >= 0",
	  STATEMENT(", value=(\"dur\")"), NULL,
	  "the query is left to you: count() of an expression, which no index has" },
	{ "SELECT max(dur, 10), count(*) FROM spans WHERE ts >= 0",
	  STATEMENT(", value=(\"dur\")"), NULL,
	  "the query is left to you: \"dur\" is neither grouped by nor aggregated" },
	{ "SELECT sum(ts) FROM spans WHERE ts >= 0",
	  STATEMENT(""), NULL,
	  "the query is left to you: sum() of the time" },
	{ "SELECT sum(dur) FILTER (WHERE dur > 5) FROM spans WHERE ts >= 0",
	  STATEMENT(", value=(\"dur\")"), NULL,
	  "the query is left to you: \"FILTER\" is not understood" },
	{ "SELECT sum(dur), name FROM spans WHERE ts >= 0 GROUP BY track",
	  STATEMENT(", value=(\"dur\"), by=(\"track\", \"name\")"), NULL,
	  "the query is left to you: \"name\" is neither grouped by nor aggregated" },
	{ "SELECT count(*) FROM spans WHERE ts >= 0 AND rowid = 2",
	  STATEMENT(""), NULL,
	  "the query is left to you: \"rowid\" is not understood" },
	{ "SELECT count(*) FROM spans WHERE ts >= 0 AND id = 2",
	  STATEMENT(""), NULL,
	  "the query is left to you: \"id\" is the rowid" },
	{ "SELECT count(*) FROM spans WHERE (ts, fin) >= (150, 200)",
	  STATEMENT(", value=(\"fin\")"), NULL,
	  "the query is left to you: a condition on the time \"ts\" is not a comparison with a constant" },
	{ "SELECT count(*) FROM spans WHERE ts >= 0 OR track = 'a'",
	  STATEMENT(", by=(\"track\")"), NULL,
	  "the query is left to you: OR in a condition on the time" },
	{ "SELECT count(*) FROM spans WHERE ts <> 5 AND ts > 0",
	  STATEMENT(""), NULL,
	  "the query is left to you: a condition on the time \"ts\" is not a comparison with a constant" },
	{ "SELECT count(*) FROM spans WHERE ts >= abs(5)",
	  STATEMENT(""), NULL,
	  "the query is left to you: the time is compared with \"abs\", which is not understood" },
	{ "SELECT track, count(*) FROM spans WHERE ts >= 0 GROUP BY track ORDER BY 2 DESC LIMIT 3",
	  STATEMENT(", by=(\"track\")"), NULL,
	  "the query is left to you: LIMIT, where ORDER BY has not all groups" },
	{ "SELECT sum(dur) FROM spans WHERE ts >= ? AND track = :track",
	  STATEMENT(", value=(\"dur\"), by=(\"track\")"), NULL,
	  "the query is left to you: it is more than SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY and LIMIT, or has parameters with and without names" },
	{ "SELECT count(dur) FROM spans WHERE ts >= 0 AND depth = 1 AND dur = 5",
	  STATEMENT(", by=(\"depth\", \"dur\")"), "SELECT coalesce(sum(iif(\"dur\" IS NULL, 0, count)), 0) FROM \"main\".\"spans_if\" WHERE \"depth\" = 1 AND \"dur\" = 5 AND t0 = 0",
	  NULL },
	/* no index */
	{ "SELECT sum(dur) FROM spans", NULL, NULL, "no column looks like a time: ask for a range of it" },
	{ "SELECT * FROM spans WHERE ts > 5", NULL, NULL, "nothing is aggregated by count, sum, total, min, max or avg" },
	{ "SELECT count(*) FROM spans a, spans b WHERE a.ts > 5", NULL, NULL, "it does not read one table once: tables are read 2 times" },
	{ "SELECT count(*) FROM spans WHERE ts > (SELECT max(ts) FROM spans)", NULL, NULL,
	  "it does not read one table once: tables are read 2 times" },
	{ "SELECT count(*)", NULL, NULL, "it does not read one table once: tables are read 0 times" },
	{ "SELECT missing FROM spans", NULL, NULL, "no such column: missing" },
	{ "SELECT count(*) FROM nowhere", NULL, NULL, "no such table: nowhere" },
	{ "SELECT 1; SELECT 2", NULL, NULL, "it is not one SELECT" },
	{ "DELETE FROM spans", NULL, NULL, "table spans may not be modified" },
	{ "", NULL, NULL, "it is not one SELECT" },
};

static void fill(sqlite3 *db)
{
	run(db, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000) INSERT INTO spans(track, depth, ts, dur, weight, name, fin)"
		" SELECT 'track ' || x %% 3, x %% 4, x * 7919 %% 1009, x * 31 %% 97, x %% 8 / 4.0, 'n', x * 7919 %% 1009 + x %% 5 FROM n");
}

static void check_text(sqlite3 *db, const struct advised *advised, const char *column, const char *expected)
{
	char *sql = sqlite3_mprintf("SELECT %s FROM iforest_advise(%Q)", column, advised->sql);
	char *actual = rows_of(db, sql);

	if (!actual)
		fail_msg("%s  fails: %s", sql, last_message());
	actual[strlen(actual) - 1] = '\0';
	if (strcmp(actual, expected ? expected : "") != 0)
		fail_msg("%s\n  gives: %s\n  instead of: %s", sql, actual, expected);
	free(actual);
	sqlite3_free(sql);
}

static void it_says_what_is_expected(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		check_text(db, &cases[i], "statement", cases[i].statement);
		check_text(db, &cases[i], "query", cases[i].query);
		check_text(db, &cases[i], "reason", cases[i].reason);
	}
	run_gives(db, "1\n", "SELECT count(*) FROM sqlite_schema");
	close_database(db);
}

static void the_query_gives_what_the_select_gives(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, SPANS);
		fill(db);
		if (cases[i].statement)
			run(db, "%s", cases[i].statement);
		if (cases[i].query && !strpbrk(cases[i].query, ":?"))
			same_rows(db, cases[i].query, cases[i].sql);
		close_database(db);
	}
}

/* Names that need quotes, another schema, times that are reals or texts, tables that cannot have an index. */
static void it_knows_other_tables(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);
	char *statement;

	(void)state;
	run(db, "ATTACH ':memory:' AS \"o'ther\"; CREATE TABLE \"o'ther\".\"a \"\"b\"(\"the time\" REAL, \"by 1\" TEXT, v INTEGER)");
	run_gives(db, "a \"b|\n", "SELECT content, reason FROM iforest_advise('SELECT \"by 1\", sum(v) FROM \"a \"\"b\" WHERE \"the time\" >= 0.5 GROUP BY 1', 'o''ther')");
	statement = rows_of(db, "SELECT statement || '; ' || query FROM iforest_advise('SELECT \"by 1\", sum(v) FROM \"a \"\"b\" WHERE \"the time\" >= 0.5 GROUP BY 1', 'o''ther')");
	assert_non_null(statement);
	run(db, "%s", statement);
	free(statement);
	/* the next name that is free */
	run_gives(db, "SELECT sum(\"sum_v\") FROM \"o'ther\".\"a \"\"b_if2\" WHERE t1 = 0.50000000000000011|\n",
		  "SELECT query, reason FROM iforest_advise('SELECT sum(v) FROM \"a \"\"b\" WHERE \"the time\" <= 0.5', 'o''ther')");
	run(db, "CREATE TABLE e(at DATETIME, kind TEXT COLLATE NOCASE, v INTEGER); CREATE TABLE w(ts INTEGER, id INTEGER PRIMARY KEY, v INTEGER) WITHOUT ROWID;"
		"CREATE VIEW spans AS SELECT * FROM w");
	run_gives(db, "1\n", "SELECT statement LIKE '%%time=\"at\"%%' FROM iforest_advise('SELECT sum(v) FROM e')");
	run_gives(db, "1|1\n", "SELECT statement IS NULL, reason LIKE '%%NOCASE%%' FROM iforest_advise('SELECT kind, sum(v) FROM e GROUP BY 1')");
	run_gives(db, "1|1\n", "SELECT statement IS NULL, reason LIKE '%%rowid%%' FROM iforest_advise('SELECT sum(v) FROM w WHERE ts > 0')");
	run_gives(db, "no such table: spans\n", "SELECT reason FROM iforest_advise('SELECT sum(v) FROM spans WHERE ts > 0')");
	run_gives(db, "", "SELECT reason FROM iforest_advise(NULL)");
	run_fails(db, "iforest_advise: no schema \"nowhere\"", "SELECT * FROM iforest_advise('SELECT 1', 'nowhere')");
	run_fails(db, "iforest_advise: give a query: iforest_advise('SELECT ...')", "SELECT * FROM iforest_advise");
	run(db, "CREATE VIEW v AS SELECT * FROM iforest_advise('SELECT 1')");
	run_fails(db, "unsafe use of virtual table \"iforest_advise\"", "SELECT * FROM v");
	close_database(db);
}

/* The same SELECT has another query, or none, by what the table holds. */
static void it_looks_at_what_the_table_holds(void **state)
{
	static const struct {
		const char *type, *values, *condition, *query, *reason;
	} tables[] = {
		{ "INTEGER", "(1, 1), (6, 2)", "ts > 5", "WHERE t0 = 6", "" },
		{ "INTEGER", "(5.5, 1), (6, 2)", "ts > 5", "WHERE t0 = 5.0000000000000009", "" },
		{ "INTEGER", "(1, 1), ('2026-01-01', 2)", "ts > 5", "", "column \"ts\" has texts, which an index does not take" },
		{ "INTEGER", "(1, 'a'), (6, 2)", "ts > 5", "", "column \"v\" has texts, which an index does not take" },
		{ "", "(1, 1), (6, 2)", "ts > '5'", "WHERE t0 = 0 AND t1 = 0", "" },
		{ "TEXT", "('2026-01-01 10:00:00', 1), ('2026-01-02 10:00:00', 2)", "ts >= '2026-01-01 12:00:00'", "WHERE t0 = '2026-01-01 12:00:00'", "" },
		{ "TEXT", "('2026-01-01 10:00:00', 1), ('2026-01-02 10:00:00', 2)", "ts <= '2026-01-01 12:00:00'", "WHERE t1 = '2026-01-01 12:00:01'", "" },
		{ "TEXT", "('2026-01-01 10:00:00', 1), ('2026-01-02 10:00:00', 2)", "ts > '2026-02'", "WHERE t0 = '2026-02-01 00:00:00'", "" },
		{ "TEXT", "('2026-01-01 10:00:00', 1), ('2026-01-02 10:00:00', 2)", "ts >= '2026-01-01 12:00:00+05:00'", "WHERE t0 = '2026-01-01 12:00:01'", "" },
		{ "TEXT", "('2026-01-01 10:00:00', 1), ('2026-01-02 10:00:00', 2)", "ts >= '2026-01-01T12:00:00'", "",
		  "the query is left to you: the time is compared with '2026-01-01T12:00:00', which is of another form than its texts" },
		{ "TEXT", "('2026-01-01 10:00:00', 1), ('2026-01-02 10:00:00', 2)", "ts >= ?", "",
		  "the query is left to you: the time is compared with ?1, a parameter, as a text, whose form is not known" },
		{ "TEXT", "('2026-01-01', 1), ('2026-01-02 10:00:00', 2)", "ts >= '2026-01-01'", "",
		  "the query is left to you: the texts of \"ts\" have no form of YYYY-MM-DD HH:MM:SS in common, from 1678 to 2261" },
		{ "DATETIME", "('2026-01-01T10:00:00Z', 1), (NULL, 2)", "ts < '2026-01-02'", "WHERE t1 = '2026-01-02T00:00:00Z'", "" },
		{ "TEXT", "(NULL, 1)", "ts < '2026-01-02'", "", "the query is left to you: \"ts\" has no times yet, and their form is not known" },
	};

	sqlite3 *db;

	(void)state;
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		char *sql = sqlite3_mprintf("SELECT sum(v) FROM t WHERE %s", tables[i].condition), *query;

		db = open_database(":memory:", 0);
		run(db, "CREATE TABLE t(ts %s, v INTEGER, id INTEGER PRIMARY KEY); INSERT INTO t(ts, v) VALUES %s", tables[i].type, tables[i].values);
		query = tables[i].query[0] ? sqlite3_mprintf("SELECT sum(\"sum_v\") FROM \"main\".\"t_if\" %s", tables[i].query) : sqlite3_mprintf("");
		check_text(db, &(struct advised){ .sql = sql }, "query", query);
		check_text(db, &(struct advised){ .sql = sql }, "reason", tables[i].reason);
		if (query && query[0]) {
			char *statement = rows_of(db, sqlite3_snprintf(400, (char[400]){ 0 }, "SELECT statement FROM iforest_advise(%Q)", sql));

			run(db, "%s", statement);
			free(statement);
			same_rows(db, query, sql);
		}
		sqlite3_free(sql);
		sqlite3_free(query);
		close_database(db);
	}
	/* -5 / 10 is 0, but in bucket -1 */
	db = open_database(":memory:", 0);
	run(db, "CREATE TABLE t(ts INTEGER, id INTEGER PRIMARY KEY); INSERT INTO t(ts) VALUES (5), (15)");
	run_gives(db, "SELECT bucket, count FROM \"main\".\"t_if\" WHERE t1 = 50 AND step = 10|\n",
		  "SELECT query, reason FROM iforest_advise('SELECT ts / 10, count(*) FROM t WHERE ts < 50 GROUP BY 1')");
	run(db, "INSERT INTO t(ts) VALUES (-5)");
	run_gives(db, "|the query is left to you: a division of times that are not all integers, or negative, is no bucket\n",
		  "SELECT query, reason FROM iforest_advise('SELECT ts / 10, count(*) FROM t WHERE ts < 50 GROUP BY 1')");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_says_what_is_expected),
		cmocka_unit_test(the_query_gives_what_the_select_gives),
		cmocka_unit_test(it_looks_at_what_the_table_holds),
		cmocka_unit_test(it_knows_other_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
