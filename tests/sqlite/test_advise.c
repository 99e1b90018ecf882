/* tests/sqlite/test_advise.c -- Tests of iforest_advise(): the proposed index can be created, and the query over it returns
 * what the SELECT returns. */
#include "harness.h"

#define SPANS "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, depth INTEGER, ts INTEGER, dur INTEGER, weight REAL, name TEXT);"
#define STATEMENT(of) "CREATE VIRTUAL TABLE \"main\".\"spans_if\" USING iforest(content=\"spans\", time=\"ts\"" of ")"

/* If query or statement is NULL, none is proposed, for this reason. */
static const struct advised { const char *sql, *statement, *query, *reason;
} cases[] = {
	{ "SELECT track, count(*), sum(dur), max(dur) FROM spans WHERE ts >= 100 AND ts < 700 GROUP BY track",
	  STATEMENT(", value=(\"dur\"), by=(\"track\")"),
	  "SELECT \"track\", count, \"sum_dur\", \"max_dur\" FROM \"main\".\"spans_if\" WHERE t0 = 100 AND t1 = 700", NULL },
	{ "SELECT track, depth, count(*), avg(dur), avg(weight) FROM spans WHERE ts > 100 AND ts <= 700 GROUP BY track, depth",
	  STATEMENT(", value=(\"dur\", \"weight\"), by=(\"track\", \"depth\")"),
	  "SELECT \"track\", \"depth\", count, \"avg_dur\", \"avg_weight\" FROM \"main\".\"spans_if\" WHERE t0 = 101 AND t1 = 701", NULL },
	{ "SELECT track, count(*), min(dur) FROM spans WHERE ts BETWEEN 5 AND 900 AND track = 'track 1' GROUP BY track",
	  STATEMENT(", value=(\"dur\"), by=(\"track\")"),
	  "SELECT \"track\", count, \"min_dur\" FROM \"main\".\"spans_if\" WHERE \"track\" = 'track 1' AND t0 = 5 AND t1 = 901", NULL },
	{ "SELECT count(*), sum(dur) FROM spans WHERE ts >= 5", STATEMENT(", value=(\"dur\")"),
	  "SELECT count, \"sum_dur\" FROM \"main\".\"spans_if\" WHERE t0 = 5", NULL },
	{ "SELECT depth, count(*) FROM spans WHERE depth = 3 AND 50 <= ts GROUP BY 1", STATEMENT(", by=(\"depth\")"),
	  "SELECT \"depth\", count FROM \"main\".\"spans_if\" WHERE \"depth\" = 3 AND t0 = 50", NULL },
	{ "SELECT count(*) FROM spans WHERE ts < 500", STATEMENT(""), "SELECT count FROM \"main\".\"spans_if\" WHERE t1 = 500", NULL },
	/* parameters, for which rows are not compared */
	{ "SELECT sum(dur) FROM spans WHERE track = ? AND ts >= ? AND ts <= ?", STATEMENT(", value=(\"dur\"), by=(\"track\")"),
	  "SELECT \"track\", count, \"sum_dur\" FROM \"main\".\"spans_if\" WHERE \"track\" = :value AND t0 = :t0 AND t1 = :t1 + 1", NULL },
	/* an index, and no query */
	{ "SELECT ts / 60, max(dur) FROM spans WHERE ts >= 0 GROUP BY 1", STATEMENT(", value=(\"dur\")"), NULL,
	  "the query is left to you: groups are no columns; buckets of the time are step or n" },
	{ "SELECT lower(track), max(dur) FROM spans WHERE ts >= 0 GROUP BY 1", STATEMENT(", value=(\"dur\"), by=(\"track\")"), NULL,
	  "the query is left to you: groups are no columns; buckets of the time are step or n" },
	{ "SELECT max(dur) FROM spans WHERE ts >= 0 AND dur > 5", STATEMENT(", value=(\"dur\")"), NULL,
	  "the query is left to you: a condition is neither a window of the time nor an equality of a by column" },
	{ "SELECT max(dur) FROM spans WHERE ts >= 0 AND ts > 5 AND ts < 10", STATEMENT(", value=(\"dur\")"), NULL,
	  "the query is left to you: a condition is neither a window of the time nor an equality of a by column" },
	{ "SELECT max(dur) FROM spans WHERE ts >= 0 AND ts <= 9223372036854775807", STATEMENT(", value=(\"dur\")"), NULL,
	  "the query is left to you: a condition is neither a window of the time nor an equality of a by column" },
	{ "SELECT max(dur) FROM spans WHERE ts >= 0 AND track = 'a' COLLATE NOCASE", STATEMENT(", value=(\"dur\"), by=(\"track\")"), NULL,
	  "the query is left to you: a condition is neither a window of the time nor an equality of a by column" },
	{ "SELECT max(dur) FROM spans WHERE ts >= 0 AND dur % 2 = 1", STATEMENT(", value=(\"dur\")"), NULL,
	  "the query is left to you: a condition is no comparison of a column" },
	{ "SELECT count(DISTINCT track) FROM spans WHERE ts >= 0", STATEMENT(", by=(\"track\")"), NULL,
	  "the query is left to you: the SELECT has more than conditions by AND, aggregates and GROUP BY" },
	{ "SELECT max(dur) FROM spans WHERE ts >= 0 AND (track = 'a' OR depth = 1)",
	  STATEMENT(", value=(\"depth\", \"dur\"), by=(\"track\")"), NULL,
	  "the query is left to you: the SELECT has more than conditions by AND, aggregates and GROUP BY" },
	{ "SELECT count(*), max(name) FROM spans WHERE ts >= 0", STATEMENT(", by=(\"name\")"), NULL,
	  "the query is left to you: series would have to be folded, by iforest_fold" },
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
	run(db, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000) INSERT INTO spans(track, depth, ts, dur, weight, name)"
		" SELECT 'track ' || x %% 3, x %% 4, x * 7919 %% 1009, x * 31 %% 97, x %% 8 / 4.0, 'n' FROM n");
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
		if (cases[i].query && !strchr(cases[i].query, ':'))
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
	run_gives(db, "|the query is left to you: a condition is neither a window of the time nor an equality of a by column\n",
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_says_what_is_expected),
		cmocka_unit_test(the_query_gives_what_the_select_gives),
		cmocka_unit_test(it_knows_other_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
