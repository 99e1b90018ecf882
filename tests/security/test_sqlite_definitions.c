/* tests/security/test_sqlite_definitions.c -- Definitions that a stranger has written into a database file: arguments, rows of
 * x_config, triggers, and objects under the names of others. Whatever they say, no function of the program is called, no other file
 * is written, and nothing breaks. */
#include "tests/security/stranger.h"

#include <unistd.h>

/* ---- known ways in ---- */

static void edit_schema(const char *path, const char *sql)
{
	sqlite3 *db = open_plain(path, 0);

	run(db, "PRAGMA writable_schema = ON");
	run(db, "%s", sql);
	close_database(db);
}

/* The text of the schema says table, and SQLite reads a view or a virtual table. */
static void a_table_that_is_none_is_refused(void **state)
{
	static const char *const texts[] = {
		"CREATE VIEW t AS SELECT 1 AS id, trap_direct() AS ts, 2 AS dur, ''a'' AS name, 1 AS kind, NULL AS js",
		"CREATE VIEW other AS SELECT 1 AS id, 0 AS ts, 2 AS dur, ''a'' AS name, 1 AS kind, NULL AS js",
		"CREATE VIRTUAL TABLE t USING iforest_fold(l)", /* fails itself */
	};
	const char *path = test_path("none.db");

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char *sql = sqlite3_mprintf("UPDATE sqlite_schema SET sql = '%s', rootpage = 0 WHERE name = 't'; DELETE FROM sqlite_schema WHERE type = 'trigger'", texts[i]);
		struct traps traps;
		sqlite3 *db;

		make_forgeable(path);
		edit_schema(path, sql);
		for (int is_trusted = 0; is_trusted < 2; is_trusted++) {
			db = open_strangers(path, is_trusted, &traps);
			assert_int_not_equal(run_any(db, "SELECT count FROM a"), SQLITE_OK);
			assert_int_not_equal(run_any(db, "SELECT count FROM a_fold"), SQLITE_OK);
			assert_int_not_equal(run_any(db, "INSERT INTO a(a) VALUES('rebuild')"), SQLITE_OK);
			assert_int_not_equal(run_any(db, "INSERT INTO m(m) VALUES('rebuild')"), SQLITE_OK);
			assert_int_not_equal(run_any(db, "INSERT INTO m(m) VALUES('integrity-check')"), SQLITE_OK);
			assert_int_not_equal(run_any(db, "SELECT count FROM l"), SQLITE_OK);
			expect_no_trap(&traps, texts[i]);
			close_database(db);
		}
		sqlite3_free(sql);
		remove_database(path);
	}
}

/* Puts a view over the table in its place, or in its text another text in the place of one. */
static void edit_table(const char *path, const char *name, const char *from, const char *to)
{
	sqlite3 *db = open_plain(path, 0);

	run(db, "PRAGMA writable_schema = ON");
	if (from) {
		run(db, "UPDATE sqlite_schema SET sql = replace(sql, %Q, %Q) WHERE name = %Q", from, to, name);
	} else {
		run(db, "CREATE TEMP TABLE columns AS SELECT group_concat('trap(' || name || ') AS ' || name) AS list FROM pragma_table_info(%Q)", name);
		run(db, "UPDATE sqlite_schema SET sql = replace(replace(sql, %Q, %Q || 'q'), ', PRIMARY KEY(run, value, level, number)', ''), name = name || 'q', tbl_name = name || 'q' WHERE name = %Q", name, name, name);
		run(db, "DELETE FROM sqlite_schema WHERE type IN ('index', 'trigger') AND tbl_name = %Q", name);
		run(db, "INSERT INTO sqlite_schema SELECT 'view', %Q, %Q, 0, 'CREATE VIEW ' || %Q || ' AS SELECT ' || list || ' FROM ' || %Q || 'q' FROM columns", name, name, name, name);
	}
	close_database(db);
}

/* Every statement that reads an index is refused, whether SQLite trusts the schema or not. */
static void expect_refused(const char *path, const char *name, const char *form)
{
	for (int is_trusted = 0; is_trusted < 2; is_trusted++) {
		struct traps traps;
		sqlite3 *db = open_strangers(path, is_trusted, &traps);
		char *index = sqlite3_mprintf("%.*s", (int)(strchr(name, '_') - name), name);
		char *said = sqlite3_mprintf("iforest: \"%s\" is not an ordinary table: the schema was edited", name);

		if (is_trusted)
			run_fails(db, said, "SELECT count FROM %s", index);
		assert_int_not_equal(run_any(db, "SELECT count FROM %s", index), SQLITE_OK);
		assert_int_not_equal(run_any(db, "SELECT * FROM %s_fold", index), SQLITE_OK);
		assert_int_not_equal(run_any(db, "SELECT * FROM iforest_stats(%Q)", index), SQLITE_OK);
		assert_int_not_equal(run_any(db, "INSERT INTO %s(%s) VALUES('integrity-check')", index, index), SQLITE_OK);
		assert_int_not_equal(run_any(db, "INSERT INTO %s(%s) VALUES('flush')", index, index), SQLITE_OK);
		assert_int_not_equal(run_any(db, "CREATE VIRTUAL TABLE n USING iforest_cover(%s)", index), SQLITE_OK);
		if (traps.n_calls)
			fail_msg("%s as %s, %s: %u calls", name, form, is_trusted ? "trusted" : "not trusted", traps.n_calls);
		sqlite3_free(said);
		sqlite3_free(index);
		close_database(db);
	}
}

/* The tables of an index are views, or have columns that are computed. */
static void tables_of_an_index_are_ordinary(void **state)
{
	static const char *const names[] = { "l_page", "l_series", "l_config", "l_log", "l_front", "a_page", "a_series", "a_config", "s_page", "s_sketch", "s_distinct", "s_piece", "s_mark" };
	static const struct {
		const char *name, *from, *to;
	} generated[] = { { "l_page", "bytes BLOB", "b BLOB, bytes AS (trap(b))" }, { "l_series", "key BLOB", "k BLOB, key AS (trap(k))" },
			  { "l_config", ", value)", ", v, value AS (trap(v)))" },     { "l_log", ", time", ", t, time AS (trap(t))" },
			  { "l_front", "(block INTEGER)", "(b, block AS (trap(b)))" }, { "a_page", "bytes BLOB", "b BLOB, bytes AS (trap(b))" } };
	const char *path = test_path("ordinary.db"), *original = test_path("ordinary_original.db");
	enum { N_NAMES = sizeof names / sizeof *names, N_GENERATED = sizeof generated / sizeof *generated };
	sqlite3 *db;

	(void)state;
	make_forgeable(original);
	db = open_database(original, 0);
	run(db, "CREATE TABLE u(ts INTEGER, dur INTEGER, name TEXT); INSERT INTO u VALUES (1, 2, 'a'), (3, 4, 'b')");
	run(db, "CREATE VIRTUAL TABLE s USING iforest(content=u, time=ts, duration=dur, by=name, sketch=dur, distinct=name, counter=dur); CREATE VIRTUAL TABLE s_fold USING iforest_fold(s)");
	close_database(db);
	for (int i = 0; i < N_NAMES + N_GENERATED; i++) {
		bool is_view = i < N_NAMES;
		const char *name = is_view ? names[i] : generated[i - N_NAMES].name;

		db = open_plain(original, 0);
		run(db, "VACUUM INTO %Q", path);
		close_database(db);
		edit_table(path, name, is_view ? NULL : generated[i - N_NAMES].from, is_view ? NULL : generated[i - N_NAMES].to);
		expect_refused(path, name, is_view ? "a view" : "computed");
		remove_database(path);
	}
	remove_database(original);
}

/* A row of the schema has the name of a table-valued function, and the text of another table. SQLite refuses such a file, but reads it
 * in a connection that is to mend it. */
static void a_function_in_the_place_of_the_table_is_refused(void **state)
{
	const char *path = test_path("edited.db");
	struct traps traps;
	sqlite3 *db;

	(void)state;
	make_forgeable(path);
	edit_schema(path, "UPDATE sqlite_schema SET name = 'json_each', tbl_name = 'json_each' WHERE name = 'secret'; UPDATE sqlite_schema SET sql = replace(sql, 'content=t', 'content=json_each') WHERE name = 'a'");
	db = open_strangers(path, false, &traps);
	run_fails(db, "malformed database schema", "SELECT count FROM a");
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	run(db, "PRAGMA writable_schema = ON");
	run_fails(db, "iforest: \"json_each\" is not an ordinary table: the schema was edited", "SELECT count FROM a");
	expect_no_trap(&traps, "content=json_each");
	close_database(db);
	remove_database(path);
}

/* iforest_advise() makes a copy of the table by the schema's text, of which SQLite reads the first statement alone. */
static void advice_runs_no_text_of_the_schema(void **state)
{
	static const char *const texts[] = {
		"CREATE TABLE t(ts INTEGER, dur INTEGER); ATTACH ''%s'' AS other; CREATE TABLE other.pwned(a)",
		"CREATE TABLE t(ts INTEGER, dur INTEGER);VACUUM INTO ''%s''",
		"CREATE VIEW  t AS SELECT 1 AS ts, load_extension(''%s'') AS dur",
		"CREATE VIEW xt AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) AS ts, 1 AS dur FROM c",
		"CREATE TABLE t(ts INTEGER, dur INTEGER AS (load_extension(''%s'')))",
		"CREATE TABLE t(ts INTEGER CHECK (load_extension(''%s'')), dur INTEGER DEFAULT (load_extension(''%s'')))",
	};
	const char *path = test_path("advised.db"), *other = test_path("pwned.db");

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char *text = sqlite3_mprintf(texts[i], other, other), *sql = sqlite3_mprintf("UPDATE sqlite_schema SET sql = '%s' WHERE name = 't'", text);
		struct traps traps;
		sqlite3 *db = open_plain(path, 0);

		run(db, "CREATE TABLE t(ts INTEGER, dur INTEGER); INSERT INTO t VALUES(1, 2)");
		close_database(db);
		edit_schema(path, sql);
		db = open_strangers(path, false, &traps);
		(void)run_any(db, "SELECT * FROM iforest_advise('SELECT count(*), sum(dur) FROM t WHERE ts >= 1 AND ts < 5')");
		expect_no_trap(&traps, text);
		if (access(other, F_OK) == 0)
			fail_msg("wrote another file: %s", text);
		close_database(db);
		sqlite3_free(sql);
		sqlite3_free(text);
		remove_database(path);
	}
}

/* A connection that has read the schema goes on with that until its version changes, and the text may be another one meanwhile. */
static void advice_takes_tables_alone(void **state)
{
	static const char *const texts[][2] = {
		{ "'CREATE TABLE t AS SELECT 1 AS ts, 2 AS dur'", "no CREATE TABLE with columns" },
		{ "'CREATE TABLE t AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) AS ts, 1 AS dur FROM c'", "no CREATE TABLE with columns" },
		{ "'CREATE TABLE t AS VALUES (1, 2)'", "no CREATE TABLE with columns" },
		{ "'CREATE VIEW  t AS SELECT 1 AS ts, 2 AS dur'", "no CREATE TABLE with columns" },
		{ "'CREATE VIEW xt(ts INTEGER, dur INTEGER)'", "no CREATE TABLE with columns" },
		{ "'CREATE TABLE'", "no CREATE TABLE with columns" },
		{ "''", "no CREATE TABLE with columns" },
		{ "NULL", "no such table" },
		{ "'CREATE TABLE temp.t(ts INTEGER, dur INTEGER)'", "syntax error" },
	};
	const char *path = test_path("stale.db");

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char *sql = sqlite3_mprintf("UPDATE sqlite_schema SET sql = %s WHERE name = 't'", texts[i][0]), *reason;
		struct traps traps;
		sqlite3 *db = open_plain(path, 0);

		run(db, "CREATE TABLE t(ts INTEGER, dur INTEGER); INSERT INTO t VALUES(1, 2)");
		close_database(db);
		db = open_strangers(path, false, &traps);
		run(db, "SELECT * FROM t");
		edit_schema(path, sql);
		reason = rows_of(db, "SELECT reason FROM iforest_advise('SELECT count(*), sum(dur) FROM t WHERE ts >= 1 AND ts < 5')");
		if (!reason || !strstr(reason, texts[i][1]))
			fail_msg("%s instead of %s: %s", reason ? reason : last_message(), texts[i][1], texts[i][0]);
		free(reason);
		close_database(db);
		sqlite3_free(sql);
		remove_database(path);
	}
}

/* ---- random ones ---- */

static const char *const arguments[] = {
	"content=t", "content=secret", "content=sqlite_schema", "content=sqlite_sequence", "content=l", "content=l_page", "content=json_each", "content=pragma_table_list", "content=v_l",
	"content=\"t\"\" AS s, secret --\"", "content=t AS s", "content='t'", "content=[t]", "content=main.t", "content=(SELECT trap())", "content=", "content=\"\"", "content=t;", "content=read_trace",
	"time=ts", "time=rowid", "time=id", "time=\"trap()\"", "time=trap()", "time=\"ts\"\" + trap() --\"", "time=name", "time=kind", "time=js", "time=\"no such\"", "time=(trap())", "time=\"\"",
	"duration=dur", "duration=trap()", "duration=\"dur\"\", trap(), \"\"\"", "duration=name", "end=ts", "end=ts AS \"e\"\", trap() AS \"\"\"", "end=ts AS count", "end=trap() AS e",
	"value=dur", "value=(dur, id, ts)", "value=(dur AS \"x\"\" HIDDEN, y\")", "value=(\"trap()\")", "value=(dur AS \"a\nb\", ts AS \"%s%n%n\")", "value=(a, b, c, d, e, f, g, h, i, j)", "value=(name)",
	"by=name", "by=(name, kind)", "by=(name AS \"x\"\" TEXT, y\")", "by=(name AS count)", "by=(\"trap()\")", "by=(name AS \"'||trap()||'\")", "by=(a1, a2, a3, a4, a5, a6, a7, a8, a9, b1, b2, b3, b4, b5, b6, b7, b8)",
	"sync=log", "sync=append", "sync=manual", "sync=trap()", "unit=ns", "unit=s", "unit=trap()", "sketch=dur", "sketch=(dur, ts)", "sketch=trap()", "distinct=(dur, name)", "distinct=(kind AS \"x\"\"\")", "distinct=trap()",
	"counter=dur", "counter=trap()", "variance=dur", "variance=(trap())", "histogram=(dur(1, 5, 30))", "histogram=(dur(trap()))", "histogram=(dur(1e999, -1))", "products=(dur*ts)", "products=(dur*trap())",
	"where=(ts > 0)", "where=(trap())", "where=(1) OR trap()", "where=(trap_direct(ts) OR 1)", "where=(?2 IS NULL)", "where=(ts IN secret)", "where=(name LIKE 'a%')", "where=(lower(name) = 'a')",
	"'", "\"", "(", ")", "--", "/*", ";", "=", "trap()=1", "", "\xff\xfe", "content", "where=", "where=(", "\x01=\x02",
};

static const char *argument_of(struct random *random)
{
	return arguments[random_below(random, sizeof arguments / sizeof *arguments)];
}

static const char *const other_values[] = { "TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB", "TEXT, trap() AS x", "INTEGER HIDDEN, y", "TEXT DEFAULT (trap())", "9223372036854775807", "-1", "0", "2", "'", "real", "text", "text'; SELECT trap()", "" };
static const char *const config_names[] = { "format", "argument 0", "argument 1", "argument 2", "argument 9", "argument 99", "by type 0", "by type 1", "time type", "mark", "automerge", "flushed", "export width", "export until", "export from", "export to" };

#define ONE_OF(random, texts) texts[random_below(random, sizeof texts / sizeof *texts)]

static void forge_config(struct forger *forger, struct random *random, const char *index)
{
	if (one_in(random, 3))
		(void)run_any(forger->db, "REPLACE INTO \"%w_config\" VALUES(%Q, %Q)", index, ONE_OF(random, config_names), ONE_OF(random, other_values));
	else
		(void)run_any(forger->db, "UPDATE \"%w_config\" SET value = %Q WHERE name = 'argument %d'", index, argument_of(random), (int)random_below(random, 6));
}

static char *arguments_of(struct random *random)
{
	sqlite3_str *text = sqlite3_str_new(NULL);
	int n = 1 + (int)random_below(random, 6);

	sqlite3_str_appendall(text, one_in(random, 2) ? "content=t, time=ts" : "content=t, time=ts, duration=dur, sync=append");
	for (int i = 0; i < n; i++)
		sqlite3_str_appendf(text, ", %s", argument_of(random));
	return sqlite3_str_finish(text);
}

static const char *const objects[] = { "l", "a", "m", "l_fold", "l_rows", "a_fold", "t", "secret", "l_log", "l_front", "l_page", "l_series", "l_config", "a_page", "a_config", "v_l",
				       "l_insert", "l_before_insert", "l_update", "l_delete" };
static const char *const other_texts[] = {
	"CREATE VIEW \"%w\" AS SELECT trap_direct() AS id, trap() AS bytes, 1 AS ts, 1 AS dur, 1 AS name, 1 AS value, 1 AS seq, 1 AS block, 1 AS was, 1 AS time, 1 AS key",
	"CREATE VIEW \"%w\" AS SELECT * FROM secret", "CREATE TABLE \"%w\"(id INTEGER PRIMARY KEY, ts, dur, name, bytes, key, value, seq, block, was, time, by_0)",
	"CREATE TABLE \"%w\"(id, ts AS (trap()), dur AS (trap_direct()), name DEFAULT (trap()), CHECK (trap()))", "CREATE VIRTUAL TABLE \"%w\" USING iforest_fold(l)", "CREATE VIRTUAL TABLE \"%w\" USING iforest_rows(a)",
	"CREATE VIRTUAL TABLE \"%w\" USING iforest(content=\"%w\", time=ts)", "CREATE TRIGGER \"%w\" AFTER INSERT ON t BEGIN SELECT trap(); END", "CREATE TRIGGER \"%w\" BEFORE INSERT ON \"t\" WHEN trap_direct() BEGIN SELECT 1; END",
	"CREATE INDEX \"%w\" ON t(trap(ts))", "CREATE TABLE \"%w\"(rowid, _rowid_, oid)", "CREATE TABLE \"%w\"(a PRIMARY KEY) WITHOUT ROWID", "CREATE TABLE \"%w\"(id INTEGER PRIMARY KEY, ts UNIQUE DEFAULT ('x' || trap()), dur NOT NULL DEFAULT (trap()))",
};

static void forge_schema(struct forger *forger, struct random *random)
{
	char *text = arguments_of(random), *sql;
	const char *object = ONE_OF(random, objects);

	switch (random_below(random, 5)) {
	case 0:
		(void)run_any(forger->db, "UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE ' || name || ' USING iforest(' || %Q || ')' WHERE name = %Q", text, random_below(random, 2) ? "l" : "a");
		break;
	case 1:
		sql = sqlite3_mprintf(ONE_OF(random, other_texts), object, object);
		(void)run_any(forger->db, "UPDATE sqlite_schema SET sql = %Q WHERE name = %Q", sql, object);
		sqlite3_free(sql);
		break;
	case 2:
		(void)run_any(forger->db, "UPDATE sqlite_schema SET %s = %Q WHERE name = %Q", random_below(random, 2) ? "tbl_name" : "name", ONE_OF(random, objects), object);
		break;
	case 3:
		(void)run_any(forger->db, "UPDATE sqlite_schema SET sql = replace(sql, 'BEGIN ', 'BEGIN SELECT trap(), trap_direct(); ') WHERE type = 'trigger' AND name = %Q", object);
		break;
	default:
		(void)run_any(forger->db, "UPDATE sqlite_schema SET type = %Q, rootpage = %d WHERE name = %Q", random_below(random, 2) ? "view" : "table", (int)random_below(random, 9), object);
	}
	sqlite3_free(text);
}

static const char *const questions[] = {
	"SELECT * FROM l", "SELECT * FROM l(0, 100, 4)", "SELECT * FROM l_fold", "SELECT * FROM l_rows", "SELECT * FROM a", "SELECT * FROM a_fold", "SELECT * FROM m", "SELECT * FROM v_l", "SELECT * FROM v_a_fold",
	"SELECT * FROM iforest_stats('l')", "SELECT * FROM iforest_stats('a')", "SELECT * FROM iforest_advise('SELECT sum(dur) FROM t WHERE ts > 1')", "INSERT INTO l(l) VALUES('flush')", "INSERT INTO a(a) VALUES('flush')",
	"INSERT INTO l(l) VALUES('rebuild')", "INSERT INTO a(a) VALUES('rebuild')", "INSERT INTO m(m) VALUES('rebuild')", "INSERT INTO l(l) VALUES('integrity-check')", "INSERT INTO a(a) VALUES('optimize')",
	"INSERT INTO l(l, step) VALUES('export', 5)", "ALTER TABLE l RENAME TO k", "DROP TABLE l", "DROP TABLE a", "CREATE VIRTUAL TABLE n USING iforest_overlap(l)", "CREATE VIRTUAL TABLE n USING iforest_cover(a)",
	"CREATE VIRTUAL TABLE n USING iforest_gaps(a)", "INSERT INTO t(ts) VALUES(9)", "UPDATE t SET ts = ts + 1", "DELETE FROM t WHERE id = 1", "PRAGMA integrity_check", "VACUUM",
};

/* Also of a connection that saw the definitions before they were forged. */
static void random_ones_break_nothing(void **state)
{
	const char *path = test_path("definitions.db"), *original = test_path("original.db");
	struct traps traps;
	uint64_t seed = test_seed();
	unsigned n_answered = 0, n_asked = 0, n_rounds = (unsigned)test_rounds(250);

	(void)state;
	make_forgeable(original);
	for (unsigned i = 0; i < n_rounds; i++) {
		struct random random = { .state = seed + i };
		struct forger forger;
		sqlite3 *db;
		char said[60];

		snprintf(said, sizeof said, "IFOREST_SEED=%" PRIu64 " IFOREST_ROUNDS=1", seed + i);
		db = open_plain(original, 0);
		run(db, "VACUUM INTO %Q", path);
		close_database(db);
		db = open_strangers(path, false, &traps);
		if (one_in(&random, 2))
			(void)run_any(db, "SELECT * FROM l, a, l_fold");
		forger = (struct forger){ .db = open_plain(path, 0), .n = 2000 };
		run(forger.db, "PRAGMA synchronous = off; PRAGMA writable_schema = ON");
		for (int64_t n = 1 + random_below(&random, 3); n > 0; n--) {
			forge_config(&forger, &random, random_below(&random, 2) ? "l" : "a");
			if (one_in(&random, 2))
				forge_schema(&forger, &random);
		}
		(void)run_any(forger.db, "PRAGMA schema_version = %d", forger.n);
		close_database(forger.db);
		for (int q = 0; q < 8; q++) {
			traps.n_ticks = traps.n_secrets = 0;
			n_answered += run_any(db, "%s", ONE_OF(&random, questions)) == SQLITE_OK;
			n_asked++;
			if (traps.n_calls)
				fail_msg("%u calls: %s", traps.n_calls, said);
		}
		close_database(db);
		remove_database(path);
	}
	print_message("%u files, %u questions, %u of them answered\n", n_rounds, n_asked, n_answered);
	remove_database(original);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_that_is_none_is_refused),
		cmocka_unit_test(tables_of_an_index_are_ordinary),
		cmocka_unit_test(a_function_in_the_place_of_the_table_is_refused),
		cmocka_unit_test(advice_runs_no_text_of_the_schema),
		cmocka_unit_test(advice_takes_tables_alone),
		cmocka_unit_test(random_ones_break_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
