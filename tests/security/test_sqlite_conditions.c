/* tests/security/test_sqlite_conditions.c -- Conditions that a stranger has written into a database file: each is refused, and the
 * index is then detached and says why, or it reaches nothing but the columns of its row, and gives what plain SQL gives. */
#include "tests/security/stranger.h"

#include "tests/support/sanitizer.h"

/* ---- known ways in ---- */

/* What is asked of a forged file, each way by which a condition becomes part of a statement. Not asked is what fires triggers, whose
 * texts are SQLite's matter. */
static const char *const questions[] = {
	/* these go by x_config */
	"SELECT count FROM l_fold", "SELECT * FROM l_rows", "SELECT count FROM a_fold(0, 100, 4)", "SELECT * FROM v_a_fold", "SELECT * FROM iforest_stats('l')", "SELECT * FROM iforest_stats('a')",
	"SELECT count FROM l(0, 100)", "SELECT * FROM v_l", "SELECT * FROM v_l_fold", "SELECT count FROM a", "SELECT * FROM v_a", "INSERT INTO l(l) VALUES('flush')",
	"INSERT INTO a(a) VALUES('flush')", "INSERT INTO l(l) VALUES('integrity-check')", "INSERT INTO m(m) VALUES('integrity-check')",
	"INSERT INTO l(l) VALUES('rebuild')", "INSERT INTO a(a) VALUES('rebuild')", "INSERT INTO m(m) VALUES('rebuild')",
	"INSERT INTO l(l, step) VALUES('export', 5)", "ALTER TABLE l RENAME TO other", "PRAGMA integrity_check",
};

enum { N_QUESTIONS = sizeof questions / sizeof *questions, N_OF_CONFIG = 6, N_READING = 11 };

static const char *const ways_in[] = {
	/* functions that run commands, write files, load code, and whatever else a program has */
	"(edit('a', 'touch pwned') > 0 OR ts >= 0)", "(writefile('pwned', 'x') > 0 OR ts >= 0)", "(load_extension('./pwned') IS NULL OR ts >= 0)",
	"(trap() OR ts >= 0)", "(trap_direct(ts) OR 1)", "(trap_innocuous() OR 1)", "(\"trap\"(1) OR 1)", "([trap](1) OR 1)", "(`edit`('a', 'b') OR 1)",
	"(sqlite_log(1, 'x') IS NULL)", "(fts3_tokenizer('simple') IS NULL)", "(iif(1, trap(), 0) OR 1)", "(CASE trap() WHEN 1 THEN 1 END)",
	"(ts IN (1, trap(), 3))", "(max(ts, trap()) > 0)", "(ts BETWEEN trap() AND 9)", "((trap(), 1) = (1, 1))", "(js -> trap() IS NULL)", "(NOT trap())",
	/* tables */
	"((SELECT count(*) FROM secret) > 0 OR ts >= 0)", "((SELECT count(*) FROM read_trace('/etc/passwd')) IS NULL OR ts >= 0)", "(EXISTS(SELECT 1 FROM secret))",
	"(ts IN secret)", "(ts IN main.secret)", "(ts NOT IN json_each('[1]'))", "(ts IN (SELECT a FROM secret))", "(ts IN (VALUES(1)))",
	"((WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c) > 0)", "((VALUES(1)) = 1)", "((SELECT trap()) = 1)",
	/* the pointer of a statement's own function */
	"(iforest_pending(?2, 1) IS NULL OR ts >= 0)", "(iforest_pending(?2, 0) IS NULL OR ts >= 0)", "(iforest_pending(?2, 2, id) IS NULL OR 1)", "(?2 IS NULL OR 1)",
	"(iforest_pending() OR 1)", "(ts > ?)", "(ts > ?1)", "(ts = :a OR ts = @b OR ts = $c)", "(ts = #1 OR 1)",
	/* what stands behind the end, or before it */
	"(1) OR trap()", "(1)) UNION SELECT trap() FROM t WHERE (1)", "(1);DROP TABLE t;--)", "(1); SELECT trap()", "(1) LIMIT (trap())", "(1) -- )", "(1 /* )", "(1) /*",
	"(1) GROUP BY (trap())", "(1) ORDER BY (trap())", "(1), trap(), (1)", "(1), 0, 2) OR trap() OR iif((1)", "1", "((1)", "(1))", "(')", "(\")", "([)", "(`)", "(1)\v", "(1 OR\v trap())",
	/* aggregates, windows and RAISE */
	"(count(*) > 0)", "(max(ts) > 0)", "(sum(ts) OVER () > 0)", "(row_number() OVER (ORDER BY ts) > 0)", "(min(ts) FILTER (WHERE trap()) > 0)", "(group_concat(name) > '')",
	"(RAISE(ABORT, 'x'))", "(iif(ts > 0, RAISE(IGNORE), 1))",
	/* names that mean something else elsewhere */
	"(l.seq > 0)", "(s.id > 0)", "(old.ts > 0)", "(new.ts > 0)", "(main.t.ts > 0)", "(iforest_condition.ts > 0)", "(\"no such\" = 'x')", "(seq > 0)", "(was IS NULL)", "(by_0 IS NULL)",
	/* what depends on the connection or the time */
	"(random() > 0)", "(changes() = 0)", "(sqlite_version() > '')", "(current_timestamp > '2000')", "(last_insert_rowid() = 0)", "(name REGEXP 'a')", "(name MATCH 'a')",
	"(like('a', name))", "(name LIKE kind)", "(total_changes() > 0)", "(randomblob(9) IS NULL)", "(name = 'a' COLLATE trap)",
	/* what takes memory out of nothing */
	"(zeroblob(999999999) IS NULL)", "(printf('%999999999d', 1) = '')", "(format('%999999999d', 1) = '')",
	"", "()", "( )", "(;)", "(\\)", "(SELECT)", "(ts",
};

static void ask_first(sqlite3 *db, int n, struct traps *traps, const char *text)
{
	for (int q = 0; q < n; q++) {
		traps->n_ticks = traps->n_statements = 0;
		run_any(db, "SAVEPOINT q");
		(void)run_any(db, "%s", questions[q]);
		expect_no_trap(traps, text);
		assert_true(traps->n_statements < 200);
		run_any(db, "ROLLBACK TO q; RELEASE q");
	}
}

static void known_ways_in_are_closed(void **state)
{
	const char *path = test_path("ways.db");
	struct forger forger;
	struct traps traps;

	(void)state;
	make_forgeable(path);
	forger_open(&forger, path);
	for (size_t w = 0; w < sizeof ways_in / sizeof *ways_in; w++) {
		for (int i = 0; i < 3; i++) {
			static const int n_asked[] = { N_QUESTIONS, N_QUESTIONS, N_OF_CONFIG };
			sqlite3 *db;

			if (i == 1 && w % 8 != 0) /* a file that is trusted: of some */
				continue;
			forge(&forger, ways_in[w], i < 2);
			db = open_strangers(path, i == 1, &traps);
			ask_first(db, n_asked[i], &traps, ways_in[w]);
			if (run_any(db, "SELECT count FROM a_fold") == SQLITE_OK)
				fail_msg("accepted: %s", ways_in[w]);
			close_database(db);
		}
		forge_back(&forger);
	}
	forger_close(&forger);
	remove_database(path);
}

/* Says what is wrong, and can be dropped. */
static void an_index_with_such_a_condition_says_why(void **state)
{
	const char *path = test_path("says.db");
	struct forger forger;
	struct traps traps;
	sqlite3 *db;

	(void)state;
	make_forgeable(path);
	forger_open(&forger, path);
	forge(&forger, "(edit('a', 'touch pwned') > 0 OR ts >= 0)", true);
	forger_close(&forger);
	db = open_strangers(path, false, &traps);
	run_fails(db, "l: detached from its table: iforest: where=...: edit is not one of SQLite's own functions, and another connection may lack it; run DROP TABLE \"l\", and create it with another condition",
		  "SELECT count FROM l(0, 100)");
	run_fails(db, "a: detached from its table: iforest: where=...: edit is not one of SQLite's own functions", "SELECT count FROM v_a");
	run_fails(db, "iforest: where=...: edit is not one of SQLite's own functions", "INSERT INTO l(l) VALUES('rebuild')");
	run_fails(db, "iforest: where=...: edit is not one of SQLite's own functions", "INSERT INTO m(m) VALUES('integrity-check')");
	run_fails(db, "iforest: where=...: edit is not one of SQLite's own functions", "ALTER TABLE l RENAME TO k");
	run(db, "DROP TABLE l_fold; DROP TABLE l_rows; DROP TABLE l; CREATE VIRTUAL TABLE l USING iforest(content=t, time=ts)");
	run_gives(db, "5\n", "SELECT count FROM l");
	expect_no_trap(&traps, "(edit(...))");
	close_database(db);
	remove_database(path);
}

static void do_nothing(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n;
	(void)values;
	++*(unsigned *)sqlite3_user_data(context);
}

/* A function that the program put in the place of SQLite's own is not called by a file. */
static void functions_in_the_place_of_sqlites_own_are_refused(void **state)
{
	static const struct {
		const char *name;
		int n_arguments;
	} replaced[] = { { "lower", 1 }, { "LOWER", -1 }, { "glob", 2 }, { "lower", 3 } };
	const char *path = test_path("own.db");
	sqlite3 *db = open_database(path, 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, name TEXT); INSERT INTO t VALUES (1, 1, 'A'), (2, 2, 'b');"
		"CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, where=(lower(name) = 'a' OR name LIKE 'B%%')); INSERT INTO t VALUES (3, 3, 'a')");
	close_database(db);
	for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
		unsigned n_calls = 0;

		db = open_database(path, 0);
		assert_int_equal(sqlite3_create_function(db, replaced[i].name, replaced[i].n_arguments, SQLITE_UTF8 | SQLITE_DIRECTONLY, &n_calls, do_nothing, NULL, NULL), SQLITE_OK);
		run_fails(db, "x: detached from its table: iforest: where=...: ", "SELECT count FROM x");
		assert_non_null(strstr(last_message(), "is the program's function in this connection, not SQLite's own"));
		assert_int_equal(n_calls, 0);
		close_database(db);
	}
	remove_database(path);
}

/* ---- iforest_pending() ---- */

static void functions_of_the_statements_refuse_others(void **state)
{
	static const char *const calls[] = { "iforest_pending()", "iforest_pending(1)", "iforest_pending(1, 2)", "iforest_pending(NULL, 1, 2, 3)",
					     "iforest_pending(?, 0, 1, 2)", "iforest_pending(x'0000000000000000', 1)" };
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		run_fails(db, "iforest_pending() is for the statements of an index alone", "SELECT %s", calls[i]);
	run(db, "CREATE VIEW v AS SELECT iforest_pending(1, 2)");
	run_fails(db, "unsafe use of iforest_pending()", "SELECT * FROM v");
	close_database(db);
}

/* Takes the place of iforest_pending() with five arguments, as a statement of an index over t(id, ts, dur) calls it, and hands the
 * pointer that it gets on to the library's. */
static void hand_on(sqlite3_context *context, int n, sqlite3_value **arguments)
{
	static const char *const calls[] = { "SELECT iforest_pending(?1, 0)", "SELECT iforest_pending(?1, 1, 1, 1)", "SELECT iforest_pending(?1, 2, 1)", "SELECT iforest_pending(?1, 0, 1, 2, 3, 4, 5, 6, 7, 8)" };
	sqlite3 *db = sqlite3_context_db_handle(context);
	unsigned *n_refused = sqlite3_user_data(context);

	(void)n;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		sqlite3_stmt *statement;

		assert_int_equal(sqlite3_prepare_v2(db, calls[i], -1, &statement, NULL), SQLITE_OK);
		sqlite3_bind_pointer(statement, 1, sqlite3_value_pointer(arguments[0], "iforest-reading"), "iforest-reading", NULL);
		*n_refused += sqlite3_step(statement) == SQLITE_ERROR && strcmp(sqlite3_errmsg(db), "iforest_pending() is for the statements of an index alone") == 0;
		sqlite3_finalize(statement);
	}
	sqlite3_result_int(context, 1);
}

static void the_pointer_of_a_statement_is_of_no_use_to_others(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);
	unsigned n_refused = 0;

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER); CREATE VIRTUAL TABLE a USING iforest(content=t, time=ts, duration=dur, sync=append); INSERT INTO t VALUES (1, 1, 1)");
	assert_int_equal(sqlite3_create_function(db, "iforest_pending", 5, SQLITE_UTF8, &n_refused, hand_on, NULL, NULL), SQLITE_OK);
	(void)run_any(db, "SELECT count FROM a");
	assert_int_equal(n_refused, 4);
	close_database(db);
}

/* ---- long and deep ones ---- */

/* Returns n times `open`, the middle, and n times `shut`; from sqlite3_malloc(). */
static char *nest(const char *open, const char *middle, const char *shut, int n)
{
	sqlite3_str *text = sqlite3_str_new(NULL);

	sqlite3_str_appendall(text, "(");
	for (int i = 0; i < n; i++)
		sqlite3_str_appendall(text, open);
	sqlite3_str_appendall(text, middle);
	for (int i = 0; i < n; i++)
		sqlite3_str_appendall(text, shut);
	sqlite3_str_appendall(text, ")");
	return sqlite3_str_finish(text);
}

static void long_and_deep_ones_end(void **state)
{
	static const struct {
		const char *open, *middle, *shut;
	} forms[] = {
		{ "(", "1", ")" }, { "NOT ", "1", "" }, { "- ", "ts", "" }, { "abs(", "ts", ")" }, { "ts OR ", "1", "" }, { "", "1", " AND ts" },
		{ "strftime(", "ts", ", ts)" }, { "date(", "ts", ")" }, { "date('2000', ", "ts", ")" }, { "CASE WHEN ts THEN ", "1", " END" }, { "ts IN (", "1", ")" },
		{ "replace(", "name", ", 'a', 'aaaaaaaaaa')" }, { "(name || ", "name", ")" }, { "x'00' || ", "1", "" }, { "/* ", "1", "" }, { "/* */ ", "1", "" }, { "'' || ", "1", "" },
		{ "name LIKE '", "a", "'" }, { "ts = 1 OR ts IN (1, 2, 3) OR ", "1", "" }, { "[", "ts", "]" }, { "\"\"", "ts", "\"\"" }, { "-- \n", "1", "" },
	};
	static const int numbers[] = { 10, 300, 2000, 40000 };
	const char *path = test_path("deep.db");
	struct forger forger;
	struct traps traps;
	sqlite3 *db;

	(void)state;
	make_forgeable(path);
	forger_open(&forger, path);
	db = open_strangers(path, false, &traps);
	for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
		for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
			char *text = nest(forms[f].open, forms[f].middle, forms[f].shut, numbers[i]);

			forge(&forger, text, numbers[i] < 2000);
			traps.n_ticks = 0;
			(void)run_any(db, "SELECT count FROM a_fold");
			(void)run_any(db, "SELECT count FROM l");
			expect_no_trap(&traps, forms[f].open);
			sqlite3_free(text);
		}
	close_database(db);
	forger_close(&forger);
	remove_database(path);
}

/* ---- random ones, over a grammar that has every construct ---- */

enum { MOST_FUNCTIONS = 300 };

struct writer {
	struct random random;
	sqlite3_str *out;
	const char *functions[MOST_FUNCTIONS]; /* of SQLite's own, and of the program's */
	int n_functions;
	bool is_tame; /* what legitimate conditions have */
};

static void put(struct writer *writer, const char *text)
{
	sqlite3_str_appendall(writer->out, text);
}

static const char *one_of(struct writer *writer, const char *const *texts, size_t n)
{
	return texts[random_below(&writer->random, (int64_t)n)];
}

#define ONE_OF(writer, ...)                                                                                      \
	one_of(writer, (const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static void write_expression(struct writer *writer, int depth);

static void write_list(struct writer *writer, int depth, int n)
{
	for (int i = 0; i < n; i++) {
		put(writer, i ? ", " : "");
		write_expression(writer, depth);
	}
}

static void write_literal(struct writer *writer)
{
	put(writer, ONE_OF(writer, "0", "1", "-1", "2.5", "1e3", "0x1f", "9223372036854775807", "9223372036854775808", "NULL", "TRUE", "FALSE", "'a'", "'it''s'", "''", "x'00ff'",
			   "'%a_'", "'*'", "'now'", "'2026-01-01'", "'$.a'", "'?2'", "'trap()'", "'1) OR (1'"));
}

static void write_column(struct writer *writer)
{
	put(writer, ONE_OF(writer, "ts", "id", "dur", "name", "kind", "js", "[ts]", "\"ts\"", "`ts`", "rowid", "_rowid_", "TS"));
}

static void write_name_elsewhere(struct writer *writer)
{
	put(writer, ONE_OF(writer, "t.ts", "s.ts", "l.seq", "l.id", "old.ts", "new.ts", "main.t.ts", "seq", "was", "block", "a", "\"no column\"", "secret.a", "sqlite_schema.sql", "s.rowid",
			   "iforest_condition.ts", "iforest_condition.rowid", "l_log.time", "*", "t.*", "excluded.ts"));
}

static void write_parameter(struct writer *writer)
{
	put(writer, ONE_OF(writer, "?", "?1", "?2", "?3", "?32766", ":a", "@a", "$a", "$a::b(c)", "#1", "?0", "?99999999"));
}

static void write_select(struct writer *writer, int depth)
{
	put(writer, ONE_OF(writer, "", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) ", "WITH c AS (VALUES(1)) ", "WITH c AS MATERIALIZED (SELECT a FROM secret) "));
	put(writer, ONE_OF(writer, "SELECT ", "SELECT DISTINCT ", "SELECT ALL ", "VALUES(", "SELECT count(*), "));
	write_expression(writer, depth);
	put(writer, ONE_OF(writer, " FROM secret", " FROM t", " FROM c", ")", "", " FROM read_trace('/etc/passwd')", " FROM pragma_table_list", " FROM json_each('[1, 2]')", " FROM iforest_stats('l')",
			   " FROM secret AS a JOIN t USING (id)", " FROM secret, secret AS b LEFT JOIN t ON 1", " FROM (SELECT * FROM secret)", " FROM l", " FROM a_fold(0, 9)"));
	put(writer, ONE_OF(writer, "", "", " WHERE trap()", " GROUP BY 1 HAVING trap()", " ORDER BY trap()", " LIMIT trap() OFFSET 1", " UNION ALL SELECT trap()", " EXCEPT SELECT 1", " INTERSECT VALUES(1)",
			   " WINDOW w AS (ORDER BY ts)"));
}

static void write_call(struct writer *writer, int depth)
{
	static const struct {
		const char *name;
		int least, most;
	} tame[] = { { "abs", 1, 1 }, { "coalesce", 2, 4 }, { "ifnull", 2, 2 }, { "iif", 3, 3 }, { "instr", 2, 2 }, { "length", 1, 1 }, { "lower", 1, 1 }, { "upper", 1, 1 }, { "max", 2, 4 }, { "min", 2, 4 },
		     { "nullif", 2, 2 }, { "round", 1, 2 }, { "substr", 2, 3 }, { "trim", 1, 2 }, { "typeof", 1, 1 }, { "unicode", 1, 1 }, { "hex", 1, 1 }, { "quote", 1, 1 }, { "replace", 3, 3 }, { "sign", 1, 1 } };
	int t = (int)random_below(&writer->random, sizeof tame / sizeof *tame);
	int n = tame[t].least + (int)random_below(&writer->random, tame[t].most - tame[t].least + 1);

	if (!writer->is_tame && one_in(&writer->random, 4))
		n = (int)random_below(&writer->random, 5);
	put(writer, writer->is_tame || one_in(&writer->random, 2) ? tame[t].name : writer->functions[random_below(&writer->random, writer->n_functions)]);
	put(writer, writer->is_tame ? "(" : ONE_OF(writer, "(", "(", "(", "(DISTINCT ", " (", "/**/("));
	if (!writer->is_tame && one_in(&writer->random, 12))
		put(writer, "*");
	else
		write_list(writer, depth, n);
	put(writer, ")");
	if (!writer->is_tame)
		put(writer, ONE_OF(writer, "", "", "", "", "", "", " FILTER (WHERE trap())", " OVER ()", " OVER (PARTITION BY trap() ORDER BY trap() ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", " OVER w"));
}

/* An operator with an expression on each side, or one. */
static void write_operator(struct writer *writer, int depth)
{
	static const char *const tame[] = { " + ", " - ", " * ", " / ", " % ", " || ", " < ", " <= ", " = ", " == ", " <> ", " != ", " > ", " >= ", " AND ", " OR ", " IS ", " IS NOT ", " & ", " | ", " << ", " >> ",
					    " GLOB ", " NOT GLOB ", " IS NOT DISTINCT FROM " };
	static const char *const wild[] = { " LIKE ", " REGEXP ", " MATCH ", " -> ", " ->> ", " NOT LIKE ", " := ", " ::", ", ", "; ", " ? ", " . ", " IN ", " COLLATE ", " ISNULL OR ", " NOT NULL OR ", " ESCAPE " };

	if (one_in(&writer->random, 6))
		put(writer, ONE_OF(writer, "NOT ", "- ", "+ ", "~ "));
	write_expression(writer, depth);
	put(writer, writer->is_tame || !one_in(&writer->random, 3) ? one_of(writer, tame, sizeof tame / sizeof *tame) : one_of(writer, wild, sizeof wild / sizeof *wild));
	write_expression(writer, depth);
}

static void write_in(struct writer *writer, int depth)
{
	write_expression(writer, depth);
	put(writer, ONE_OF(writer, " IN ", " NOT IN "));
	if (!writer->is_tame && one_in(&writer->random, 3)) {
		put(writer, ONE_OF(writer, "secret", "main.secret", "json_each('[1]')", "t", "pragma_table_list", "sqlite_schema", "main.json_each(trap())"));
		return;
	}
	put(writer, "(");
	if (!writer->is_tame && one_in(&writer->random, 3))
		write_select(writer, depth);
	else
		write_list(writer, depth, (int)random_below(&writer->random, 4));
	put(writer, ")");
}

static void write_word(struct writer *writer, int depth)
{
	int kind = (int)random_below(&writer->random, writer->is_tame ? 4 : 9);

	switch (kind) {
	case 0:
		put(writer, "CASE ");
		if (one_in(&writer->random, 2))
			write_expression(writer, depth);
		put(writer, " WHEN ");
		write_expression(writer, depth);
		put(writer, " THEN ");
		write_expression(writer, depth);
		put(writer, one_in(&writer->random, 2) ? " ELSE 1 END" : " END");
		break;
	case 1:
		put(writer, "CAST(");
		write_expression(writer, depth);
		put(writer, ONE_OF(writer, " AS TEXT)", " AS INTEGER)", " AS REAL)", " AS NUMERIC)", " AS BLOB)", " AS VARCHAR(9))"));
		break;
	case 2:
		write_expression(writer, depth);
		put(writer, one_in(&writer->random, 2) ? " BETWEEN " : " NOT BETWEEN ");
		write_expression(writer, depth);
		put(writer, " AND ");
		write_expression(writer, depth);
		break;
	case 3:
		put(writer, "(");
		write_expression(writer, depth);
		put(writer, ONE_OF(writer, ") COLLATE NOCASE", ") COLLATE BINARY", ") COLLATE RTRIM", ") COLLATE nocase", ") IS NULL", ") NOTNULL", ")"));
		break;
	case 4:
		put(writer, "EXISTS(");
		write_select(writer, depth);
		put(writer, ")");
		break;
	case 5:
		put(writer, "(");
		write_select(writer, depth);
		put(writer, ")");
		break;
	case 6:
		put(writer, ONE_OF(writer, "RAISE(IGNORE)", "RAISE(ABORT, 'x')", "RAISE(FAIL, trap())", "CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP", "(1, 2) = (1, 2)", "(1, 2)", "()", "DEFAULT", "x COLLATE trap",
				   "iforest_pending(?2, 0)", "iforest_pending(?2, 1)", "load_extension('pwned')", "iforest_version()", "json_each.value"));
		break;
	case 7:
		write_expression(writer, depth);
		put(writer, ONE_OF(writer, " LIKE 'a%'", " LIKE 'a!%' ESCAPE '!'", " LIKE trap()", " COLLATE nobody", " AS x", " -- ", " /* ", ") OR (trap()", "; SELECT trap()", "\n", "\v", "\f", " LIMIT trap()", " ORDER BY trap()",
				   " UNION SELECT trap()", "'", "\"", "]", "`", " ISNULL", "::text", " END", "\xff", "\xc3\xa9"));
		break;
	default:
		put(writer, ONE_OF(writer, "date(", "strftime(", "datetime(", "unixepoch("));
		write_expression(writer, depth);
		put(writer, ONE_OF(writer, ")", ", '+1 day')", ", 'localtime')", ", 'now')", ", trap())", ""));
	}
}

static void write_expression(struct writer *writer, int depth)
{
	if (depth <= 0 || one_in(&writer->random, 4)) {
		if (one_in(&writer->random, 2))
			write_literal(writer);
		else if (writer->is_tame || !one_in(&writer->random, 6))
			write_column(writer);
		else if (one_in(&writer->random, 2))
			write_parameter(writer);
		else
			write_name_elsewhere(writer);
		return;
	}
	depth--;
	switch (random_below(&writer->random, 5)) {
	case 0:
	case 1:
		write_operator(writer, depth);
		break;
	case 2:
		write_call(writer, depth);
		break;
	case 3:
		write_in(writer, depth);
		break;
	default:
		write_word(writer, depth);
	}
}

/* Returns a condition, a third of them tame, from sqlite3_malloc(). */
static char *write_condition(struct writer *writer)
{
	char *text;

	writer->out = sqlite3_str_new(NULL);
	writer->is_tame = one_in(&writer->random, 3);
	put(writer, writer->is_tame ? "(" : ONE_OF(writer, "(", "(", "(", "(", "(", "( ", "(1) OR (", "(1 ", "", "/**/(", "((", "(1;", "(1) AND "));
	write_expression(writer, 1 + (int)random_below(&writer->random, 4));
	put(writer, writer->is_tame ? ")" : ONE_OF(writer, ")", ")", ")", ")", ")", " )", "", "))", ") ", ") -- x", ") /*", ");", ") OR trap()", "\n)", "-- \n)"));
	text = sqlite3_str_finish(writer->out);
	return text ? text : sqlite3_mprintf("()");
}

/* Lists the functions, of which the program's come more often. */
static void list_functions(struct writer *writer, sqlite3 *db)
{
	sqlite3_stmt *statement;

	assert_int_equal(sqlite3_prepare_v2(db, "SELECT DISTINCT name FROM pragma_function_list", -1, &statement, NULL), SQLITE_OK);
	while (sqlite3_step(statement) == SQLITE_ROW && writer->n_functions < MOST_FUNCTIONS - 40)
		writer->functions[writer->n_functions++] = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	for (int i = 0; i < 40; i++)
		writer->functions[writer->n_functions++] = sqlite3_mprintf("%s", trap_names[i % n_trap_names]);
}

static void free_functions(struct writer *writer)
{
	for (int i = 0; i < writer->n_functions; i++)
		sqlite3_free((char *)writer->functions[i]);
}

/* An index made with the condition: refused, or it gives what plain SQL gives. Some conditions fail for a row, of both. */
static bool make_and_compare(sqlite3 *db, struct traps *traps, const char *text)
{
	static const char *const kinds[] = { "", ", sync=append", ", sync=manual" };
	char *plain_text, *plain, *indexed;
	bool is_same;

	if (run_any(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=id, value=(ts AS at, dur, id AS number), where=%s%s)", text, kinds[strlen(text) % 3]))
		return false;
	if (integer_of(db, "SELECT count(*) FROM x_config WHERE value = 'where=' || %Q", text) == 0) { /* it ended the statement */
		run(db, "DROP TABLE x");
		return false;
	}
	plain_text = sqlite3_mprintf("SELECT count(*), sum(id), sum(ts), sum(dur) FROM t WHERE %s", text);
	run_any(db, "INSERT INTO x(x) VALUES('rebuild')"); /* of sync=manual, what came since */
	plain = rows_of(db, plain_text);
	indexed = rows_of(db, "SELECT ifnull(sum(count), 0), sum(sum_number), sum(sum_at), sum(sum_dur) FROM x");
	is_same = (!plain && !indexed) || (plain && indexed && strcmp(plain, indexed) == 0);
	if (!is_same)
		fail_msg("%s instead of %s for where=%s: %s", indexed ? indexed : "(error)", plain ? plain : "(error)", text, last_message());
	free(plain);
	free(indexed);
	sqlite3_free(plain_text);
	expect_no_trap(traps, text);
	run(db, "DROP TABLE x");
	return true;
}

static sqlite3 *open_for_comparison(struct traps *traps)
{
	sqlite3 *db = open_strangers(":memory:", true, traps);

	run(db, "CREATE TABLE secret(a); CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, name TEXT, kind, js TEXT);"
		"INSERT INTO t VALUES (1, 0, 40, 'a', 1, '{\"a\": 1}'), (2, 5, 10, 'B', 2.5, '[1, 2]'), (3, 7, 3, NULL, x'00ff', NULL), (4, -3, 6, '2026-01-01', 'it''s', '3'), (5, 9, 0, 'a', NULL, '{}')");
	return db;
}

static void random_ones_are_refused_or_harmless(void **state)
{
	const char *path = test_path("random.db");
	struct writer writer = { .n_functions = 0 };
	struct forger forger;
	struct traps traps, traps_of_made;
	sqlite3 *db, *made;
	uint64_t seed = test_seed();
	unsigned n_answered = 0, n_made = 0, n_rounds = (unsigned)test_rounds(1500);

	(void)state;
	make_forgeable(path);
	forger_open(&forger, path);
	db = open_strangers(path, false, &traps);
	made = open_for_comparison(&traps_of_made);
	list_functions(&writer, db);
	for (unsigned i = 0; i < n_rounds; i++) {
		char *text;

		writer.random = (struct random){ .state = seed + i };
		text = write_condition(&writer);
		traps.n_ticks = traps.n_statements = traps_of_made.n_ticks = traps_of_made.n_calls = traps_of_made.n_secrets = 0;
		forge(&forger, text, one_in(&writer.random, 2));
		n_answered += run_any(db, "%s", i % 2 ? "SELECT count FROM a_fold(0, 10)" : "SELECT count FROM a") == SQLITE_OK;
		(void)run_any(db, "%s", questions[random_below(&writer.random, N_READING)]);
		expect_no_trap(&traps, text);
		assert_true(traps.n_statements < 200);
		n_made += make_and_compare(made, &traps_of_made, text);
		sqlite3_free(text);
	}
	print_message("%u conditions: %u answered, %u made and compared\n", n_rounds, n_answered, n_made);
	assert_true(n_rounds < 100 || (n_made > n_rounds / 10 && n_made < n_rounds / 2));
	free_functions(&writer);
	close_database(made);
	close_database(db);
	forger_close(&forger);
	remove_database(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_ways_in_are_closed),
		cmocka_unit_test(an_index_with_such_a_condition_says_why),
		cmocka_unit_test(functions_in_the_place_of_sqlites_own_are_refused),
		cmocka_unit_test(functions_of_the_statements_refuse_others),
		cmocka_unit_test(the_pointer_of_a_statement_is_of_no_use_to_others),
		cmocka_unit_test(long_and_deep_ones_end),
		cmocka_unit_test(random_ones_are_refused_or_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
