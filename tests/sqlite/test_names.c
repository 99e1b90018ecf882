/* tests/sqlite/test_names.c -- Tests of names that are hard to quote, of tables, columns, indexes and attached databases, in
 * all modules, commands, triggers, exports and renames. Each answer is compared with that of a table with plain names, whose
 * index is compared with plain SQL. */
#include "harness.h"

#include "tests/support/sanitizer.h"

/* ---- SQL templates for names ---- */

/* In a template, @ is the name, {x@y} is quoted as one name, and ~ is the schema's name with a dot. */
struct names {
	const char *name, *schema; /* if schema is NULL, it is main */
};

static void add_quoted(sqlite3_str *sql, const char *text)
{
	for (; *text; text++)
		sqlite3_str_append(sql, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
}

static char *with_names(const struct names *names, const char *template)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);

	for (const char *at = template; *at; at++)
		switch (*at) {
		case '{':
		case '}':
			sqlite3_str_appendchar(sql, 1, '"');
			break;
		case '@':
			add_quoted(sql, names->name);
			break;
		case '~':
			sqlite3_str_appendf(sql, "\"%w\".", names->schema ? names->schema : "main");
			break;
		default:
			sqlite3_str_appendchar(sql, 1, *at);
		}
	return sqlite3_str_finish(sql);
}

static void run_with(sqlite3 *db, const struct names *names, const char *template)
{
	char *sql = with_names(names, template);

	run(db, "%s", sql);
	sqlite3_free(sql);
}

/* Fails unless a query returns the same for the names as for plain names. */
static void expect_same(sqlite3 *db, const struct names *names, const char *template)
{
	static const struct names plain = { "plain", NULL };
	char *sql = with_names(names, template), *reference = with_names(&plain, template);
	char *rows = rows_of(db, reference);

	assert_non_null(rows);
	if (strcmp(rows, "") == 0)
		fail_msg("no rows: %s", reference);
	free(rows);
	same_rows(db, sql, reference);
	sqlite3_free(sql);
	sqlite3_free(reference);
}

/* ---- statements and queries ---- */

static const char *const make[] = {
	"CREATE TABLE ~{@ tab}({@ id} INTEGER PRIMARY KEY, {@} TEXT, {@ ts} INTEGER, {@ dur} INTEGER, {@ v} REAL, {@ w} INTEGER, UNIQUE({@ w}))",
	"WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 300) "
	"INSERT INTO ~{@ tab} SELECT i, 's' || (i % 3), i * 10, i * 7 % 40, i % 11 + 0.5, i FROM n",
	"CREATE VIRTUAL TABLE ~{@ if} USING iforest(content={@ tab}, time={@ ts}, duration={@ dur}, value=({@ dur}, {@ v}, {@ w} AS {@ as}), "
	"by=({@}), variance=({@ dur}), sketch=({@ dur}), distinct=({@ w} AS {@ who}, {@ dur}), counter=({@ as}))",
	"CREATE VIRTUAL TABLE ~{@ fold} USING iforest_fold({@ if})",
	"CREATE VIRTUAL TABLE ~{@ part} USING iforest_fold({@ if}, {@})",
	"CREATE VIRTUAL TABLE ~{@ rows} USING iforest_rows({@ if})",
	"CREATE VIRTUAL TABLE ~{@ other rows} USING iforest_rows({@ if}, id AS {@ key}, {@ ts} AS {@ when})",
	"CREATE VIRTUAL TABLE ~{@ gaps} USING iforest_gaps({@ if})",
	"CREATE VIRTUAL TABLE ~{@ overlap} USING iforest_overlap({@ if}, {@})",
	"CREATE VIRTUAL TABLE ~{@ counter} USING iforest_counter({@ if})",
	"CREATE VIRTUAL TABLE ~{@ cover} USING iforest_cover({@ if})",
};

static const char *const questions[] = {
	"SELECT * FROM ~{@ if} ORDER BY 1",
	"SELECT * FROM ~{@ if}(100, 2000, 4) ORDER BY 1, 2",
	"SELECT {@}, {sum_@ dur}, {max_@ v_id}, {var_@ dur}, {first_@ as}, iforest_quantile({sketch_@ dur}, 0.5), iforest_distinct_count({distinct_@ who}) FROM ~{@ if}(5, 1500) WHERE {@} = 's1'",
	"SELECT * FROM ~{@ if}(100, 2000) WHERE step = 300 AND fill = 'last' ORDER BY 1, 2",
	"SELECT * FROM ~{@ fold}(0, 1000)",
	"SELECT * FROM ~{@ part}(0, 1000, 2) WHERE {@} IN ('s0', 's2') ORDER BY 1, 2",
	"SELECT * FROM ~{@ rows} WHERE {@} = 's2' ORDER BY {@ dur} DESC, id LIMIT 5",
	"SELECT * FROM ~{@ rows}(500, 700) ORDER BY id",
	"SELECT {@ key}, {@ when} FROM ~{@ other rows}(500, 700) ORDER BY 1",
	"SELECT * FROM ~{@ gaps}(0, 1000) ORDER BY 1, 2",
	"SELECT * FROM ~{@ overlap}(100, 2000, 3) ORDER BY 1, 2",
	"SELECT {longest_@ dur}, overlaps FROM ~{@ overlap}(100, 2000) WHERE {@} = 's1'",
	"SELECT * FROM ~{@ counter}(100, 2000, 3) ORDER BY 1, 2",
	"SELECT {@}, sum(count), sum({sum_@ dur}) FROM ~{@ cover}(100, 2000) GROUP BY 1 ORDER BY 1",
	"SELECT a.{@}, a.count, b.{@ dur} FROM ~{@ if} a JOIN ~{@ tab} b ON b.{@ id} = a.{max_@ dur_id} ORDER BY 1",
};

static const char *const changes[] = {
	"INSERT INTO ~{@ tab} VALUES(1000, 's1', 3333, 5, 1.5, 1000), (-5, 'new', 17, 8, NULL, 1001)",
	"UPDATE ~{@ tab} SET {@ dur} = {@ dur} + 3, {@} = 's0' WHERE {@ id} % 7 = 0",
	"DELETE FROM ~{@ tab} WHERE {@ id} BETWEEN 20 AND 30",
	"INSERT OR REPLACE INTO ~{@ tab} VALUES(2000, 's2', 44, 9, 2.5, 100)",
	"INSERT INTO ~{@ tab}({@}, {@ ts}, {@ w}) VALUES('s1', 50, 101) ON CONFLICT({@ w}) DO UPDATE SET {@ ts} = 50",
	"INSERT INTO ~{@ if}({@ if}) VALUES('integrity-check')",
	"INSERT INTO ~{@ if}({@ if}) VALUES('flush')",
	"INSERT INTO ~{@ if}({@ if}) VALUES('merge')",
	"INSERT INTO ~{@ if}({@ if}, n) VALUES('automerge', 4)",
	"INSERT INTO ~{@ if}({@ if}) VALUES('integrity-check')",
	"INSERT INTO ~{@ if}({@ if}) VALUES('optimize')",
	"INSERT INTO ~{@ if}({@ if}) VALUES('rebuild')",
	"INSERT INTO ~{@ if}({@ if}) VALUES('integrity-check')",
};

enum { N_PENDING = 6 }; /* after these changes rows are pending */

static const char *const exported[] = {
	"SELECT * FROM ~{@ if_export} WHERE bucket_width = 400 ORDER BY {@}, bucket_start",
	"SELECT * FROM ~{@ if_levels}",
	"SELECT count(*), sum({sum_@ dur}) FROM ~{@ if_rollup}",
};

static void expect_all(sqlite3 *db, const struct names *names)
{
	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
		expect_same(db, names, questions[i]);
}

static void make_all(sqlite3 *db, const struct names *names)
{
	for (size_t i = 0; i < sizeof make / sizeof *make; i++)
		run_with(db, names, make[i]);
}

/* Runs a statement for both tables, so that they have the same rows. */
static void run_both(sqlite3 *db, const struct names *names, const char *template)
{
	run_with(db, &(struct names){ "plain", NULL }, template);
	run_with(db, names, template);
}

static void expect_stats(sqlite3 *db, const struct names *names)
{
	char *index = sqlite3_mprintf("%s if", names->name);

	run_gives(db, "1\n", "SELECT (SELECT rows FROM iforest_stats(%Q, %Q)) = (SELECT rows FROM iforest_stats('plain if', 'main'))", index,
		  names->schema ? names->schema : "main");
	sqlite3_free(index);
}

static void export_both(sqlite3 *db, const struct names *names)
{
	run_both(db, names, "INSERT INTO ~{@ if}({@ if}, step) VALUES('export', 100)");
	for (size_t i = 0; i < sizeof exported / sizeof *exported; i++)
		expect_same(db, names, exported[i]);
	run_both(db, names, "INSERT INTO ~{@ tab}({@}, {@ ts}, {@ dur}) VALUES('late', 9999, 1)");
	run_both(db, names, "INSERT INTO ~{@ if}({@ if}) VALUES('export')");
	for (size_t i = 0; i < sizeof exported / sizeof *exported; i++)
		expect_same(db, names, exported[i]);
}

/* Renames the index to a name of the same kind. The tables over it are created again. */
static void rename_both(sqlite3 *db, const struct names *names)
{
	run_both(db, names, "DROP TABLE ~{@ rows}; DROP TABLE ~{@ other rows}; DROP TABLE ~{@ fold}; DROP TABLE ~{@ part}; DROP TABLE ~{@ gaps};"
			    "DROP TABLE ~{@ overlap}; DROP TABLE ~{@ counter}; DROP TABLE ~{@ cover}");
	run_both(db, names, "ALTER TABLE ~{@ if} RENAME TO {@ of}");
	run_both(db, names, "ALTER TABLE ~{@ tab} RENAME TO {@ bat}");
	run_both(db, names, "INSERT INTO ~{@ bat}({@}, {@ ts}, {@ dur}) VALUES('s1', 77, 2)");
	run_both(db, names, "UPDATE ~{@ bat} SET {@ dur} = 1 WHERE {@ id} = 5");
	expect_same(db, names, "SELECT * FROM ~{@ of}(0, 1000, 3) ORDER BY 1, 2");
	expect_same(db, names, "SELECT * FROM ~{@ of_export} WHERE bucket_width = 400 ORDER BY {@}, bucket_start");
	run_both(db, names, "INSERT INTO ~{@ of}({@ of}) VALUES('rebuild')");
	run_both(db, names, "INSERT INTO ~{@ of}({@ of}) VALUES('integrity-check')");
	expect_same(db, names, "SELECT * FROM ~{@ of}(0, 1000, 3) ORDER BY 1, 2");
}

static void expect_nothing_left(sqlite3 *db, const struct names *names)
{
	char *sql;

	run_both(db, names, "DROP TABLE ~{@ of}");
	run_both(db, names, "DROP TABLE ~{@ bat}");
	sql = with_names(names, "SELECT count(*) FROM ~sqlite_master WHERE name <> 'victim'");
	run_gives(db, "0\n", "%s", sql);
	sqlite3_free(sql);
	run_gives(db, "1\n", "SELECT count(*) FROM victim");
}

/* ---- tests ---- */

static const char *const hostile[] = {
	"plain", "A b", "select", "x\"y", "\"", "'", "x'; DROP TABLE victim; --", "x\"; DROP TABLE victim; --", "x); DROP TABLE victim; --",
	"[x]", "]", "a`b", "a\\b", "a\nb", "a\r\n\t;b", "a,b", "a=b", "(a)", ")", "%s%q%w%n", "/*", "--", "a.b",
	"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "NULL", "rowid", "new", "main", "?1", ":x", "  x ", "AS", "x'00'", "0x10", "\x01",
};
enum { N_HOSTILE = sizeof hostile / sizeof *hostile };

static void each_name_works(const char *name, const char *schema)
{
	struct names names = { name, schema }, plain = { "plain", NULL };
	sqlite3 *db = open_database(":memory:", 0);

	run(db, "CREATE TABLE victim(n); INSERT INTO victim VALUES(1)");
	if (schema)
		run(db, "ATTACH ':memory:' AS \"%w\"", schema);
	make_all(db, &plain);
	make_all(db, &names);
	expect_all(db, &names);
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		run_both(db, &names, changes[i]);
		if (i + 1 == N_PENDING || i + 1 == sizeof changes / sizeof *changes)
			expect_all(db, &names);
	}
	expect_stats(db, &names);
	export_both(db, &names);
	rename_both(db, &names);
	expect_nothing_left(db, &names);
	close_database(db);
}

static void some_names_work_in_main(void **state)
{
	(void)state;
	for (int i = 3; i < N_HOSTILE; i += 10)
		each_name_works(hostile[i], NULL);
}

static void every_name_works_for_a_schema_too(void **state)
{
	(void)state;
	for (int i = 0; i < N_HOSTILE; i += sanitizer_shortens() ? 3 : 1) {
		char *schema = sqlite3_mprintf("%s_", hostile[i]);

		each_name_works(hostile[i], schema);
		sqlite3_free(schema);
	}
}

static void the_plain_one_is_right(void **state)
{
	struct names plain = { "plain", NULL };
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	make_all(db, &plain);
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		run_with(db, &plain, changes[i]);
		same_rows(db, "SELECT plain, count, \"sum_plain dur\", \"max_plain v\", \"min_plain as\", \"first_ts\" FROM \"plain if\" ORDER BY 1",
			  "SELECT plain, count(*), sum(\"plain dur\"), max(\"plain v\"), min(\"plain w\"), min(\"plain ts\") FROM \"plain tab\" GROUP BY 1 ORDER BY 1");
		same_rows(db, "SELECT \"plain key\" FROM \"plain other rows\"(500, 700) ORDER BY 1",
			  "SELECT \"plain id\" FROM \"plain tab\" WHERE \"plain ts\" < 700 AND (\"plain ts\" + \"plain dur\" > 500 OR \"plain ts\" >= 500) ORDER BY 1");
		same_rows(db, "SELECT overlaps FROM \"plain overlap\"(500, 700) ORDER BY plain",
			  "SELECT count(*) FROM \"plain tab\" WHERE \"plain ts\" < 700 AND (\"plain ts\" + \"plain dur\" > 500 OR \"plain ts\" >= 500) GROUP BY plain ORDER BY plain");
	}
	close_database(db);
}

/* Arguments may be quoted in each of SQL's ways. */
static void every_way_to_quote_works(void **state)
{
	static const char *const ways[] = { "\"a b\"\"\"", "[a b\"]", "`a b\"`" };
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE [a b\"](id INTEGER PRIMARY KEY, [ts)] INTEGER); INSERT INTO [a b\"] VALUES(1, 10), (2, 20)");
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		run(db, "CREATE VIRTUAL TABLE x USING iforest(content=%s, time=[ts)])", ways[i]);
		run_gives(db, "2|10|20\n", "SELECT count, first_ts, last_ts FROM x");
		run(db, "INSERT INTO %s VALUES(3, 30)", ways[i]);
		run_gives(db, "3|10|30\n", "SELECT count, first_ts, last_ts FROM x");
		run(db, "DELETE FROM %s WHERE id = 3; DROP TABLE x", ways[i]);
	}
	close_database(db);
}

/* SQL in a name that does not exist is not run, and the error shows the name unchanged. */
static void what_does_not_exist_is_refused(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE victim(n INTEGER PRIMARY KEY); INSERT INTO victim VALUES(1)");
	for (int i = 1; i < N_HOSTILE; i++) {
		run_fails(db, "iforest: no table \"", "CREATE VIRTUAL TABLE x USING iforest(content=\"%w\", time=ts)", hostile[i]);
		assert_non_null(strstr(last_message(), hostile[i]));
		if (strcmp(hostile[i], "rowid") != 0)
			run_fails(db, "iforest: no column \"", "CREATE VIRTUAL TABLE x USING iforest(content=victim, time=\"%w\")", hostile[i]);
		run_any(db, "SELECT * FROM iforest_stats(%Q)", hostile[i]);
		run_any(db, "SELECT * FROM iforest_stats('x', %Q)", hostile[i]);
		run_any(db, "CREATE VIRTUAL TABLE x USING iforest(content=victim, time=%s)", hostile[i]);
		run_any(db, "CREATE VIRTUAL TABLE x USING iforest_fold(%s)", hostile[i]);
		run_any(db, "DROP TABLE IF EXISTS x");
	}
	run_gives(db, "victim\n", "SELECT name FROM sqlite_master");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_plain_one_is_right), cmocka_unit_test(some_names_work_in_main),
		cmocka_unit_test(every_name_works_for_a_schema_too), cmocka_unit_test(every_way_to_quote_works),
		cmocka_unit_test(what_does_not_exist_is_refused),
	};

	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
