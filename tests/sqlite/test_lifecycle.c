/* tests/sqlite/test_lifecycle.c -- Tests of an index in its database file: it persists, moves with the file, rolls back with
 * the transaction, and is renamed and dropped without a trace. test_follow.c tests changes of its table. */
#include "harness.h"

#define SPANS                                                                                                          \
	"CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER);"                             \
	"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 3000)"                               \
	" INSERT INTO spans(track, ts, dur) SELECT 'track ' || (i %% 5), i * 7919 %% 10007, i * 31 %% 997 FROM c;"
#define INDEX "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track);"
#define QUESTION "SELECT track, count, sum_dur, max_dur, max_dur_id FROM %s.spans_if(1000, 9000) ORDER BY track"

static char *expected_rows(sqlite3 *db)
{
	char *rows = rows_of(db, "SELECT track, count(*), sum(dur), max(dur), (SELECT id FROM spans t WHERE t.track = s.track AND t.ts >= 1000"
				 " AND t.ts < 9000 ORDER BY dur DESC, ts, id LIMIT 1) FROM spans s WHERE ts >= 1000 AND ts < 9000 GROUP BY track ORDER BY track");

	assert_non_null(rows);
	assert_true(strlen(rows) > 50);
	return rows;
}

/* Fails unless the index in this schema returns what plain SQL returned. */
static void expect_answer(sqlite3 *db, const char *schema, const char *expected)
{
	run_gives(db, expected, QUESTION, schema);
	if (!sqlite3_db_readonly(db, schema))
		run(db, "INSERT INTO %s.spans_if(spans_if) VALUES('integrity-check')", schema);
}

static void persists_in(const char *journal_mode)
{
	const char *path = test_path("persist.db"), *copy = test_path("copy.db");
	sqlite3 *db = open_database(path, 0);
	char *expected, *uri;

	run(db, "PRAGMA journal_mode = %s; " SPANS INDEX, journal_mode);
	expected = expected_rows(db);
	expect_answer(db, "main", expected);
	close_database(db);

	db = open_database(path, 0);
	expect_answer(db, "main", expected);
	run(db, "VACUUM");
	expect_answer(db, "main", expected);
	run(db, "VACUUM INTO %Q", copy);
	run(db, "ATTACH %Q AS other", copy);
	expect_answer(db, "other", expected);
	expect_answer(db, "main", expected);
	run(db, "INSERT INTO other.spans_if(spans_if) VALUES('rebuild'); DROP TABLE main.spans_if");
	expect_answer(db, "other", expected);
	run(db, "DETACH other");
	close_database(db);

	db = open_database(copy, SQLITE_OPEN_READONLY);
	expect_answer(db, "main", expected);
	run_fails(db, "attempt to write a readonly database", "INSERT INTO spans_if(spans_if) VALUES('rebuild')");
	close_database(db);

	uri = sqlite3_mprintf("file:%s?immutable=1", copy);
	db = open_database(uri, SQLITE_OPEN_READONLY);
	expect_answer(db, "main", expected);
	close_database(db);
	sqlite3_free(uri);
	free(expected);
	remove_database(path);
	remove_database(copy);
}

static void an_index_persists(void **state)
{
	(void)state;
	persists_in("DELETE");
	persists_in("WAL");
	persists_in("TRUNCATE");
}

static void an_index_works_in_an_attached_file(void **state)
{
	const char *path = test_path("attached.db");
	sqlite3 *db = open_database(":memory:", 0);
	char *expected;

	(void)state;
	run(db, SPANS "ATTACH %Q AS \"a\"\"ux\"; CREATE TABLE \"a\"\"ux\".spans(id, ts, PRIMARY KEY(id)) WITHOUT ROWID", path);
	run_fails(db, "iforest: \"spans\" is WITHOUT ROWID", "CREATE VIRTUAL TABLE \"a\"\"ux\".spans_if USING iforest(content=spans, time=ts)");
	run(db, "DROP TABLE \"a\"\"ux\".spans; CREATE TABLE \"a\"\"ux\".spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER);"
		"INSERT INTO \"a\"\"ux\".spans SELECT * FROM main.spans; UPDATE main.spans SET dur = 1;"
		"CREATE VIRTUAL TABLE \"a\"\"ux\".spans_if USING iforest(content=spans, time=ts, duration=dur, by=track);"
		"CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track)");
	run_gives(db, "1|3000\n", "SELECT max(max_dur), sum(count) FROM main.spans_if");
	run_gives(db, "3000\n", "SELECT sum(count) FROM \"a\"\"ux\".spans_if WHERE max_dur > 900");
	run(db, "INSERT INTO main.spans(ts) VALUES(1)");
	run_gives(db, "3000\n", "SELECT sum(count) FROM \"a\"\"ux\".spans_if WHERE max_dur > 900");
	run_gives(db, "3001\n", "SELECT sum(count) FROM main.spans_if");
	run(db, "DETACH \"a\"\"ux\"");
	close_database(db);

	db = open_database(path, 0);
	expected = expected_rows(db);
	expect_answer(db, "main", expected);
	free(expected);
	close_database(db);
	remove_database(path);
}

static int command(const char *format, ...)
{
	va_list arguments;
	char *line;
	int result;

	va_start(arguments, format);
	line = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	result = system(line);
	sqlite3_free(line);
	return result;
}

static void a_dump_restores_the_index(void **state)
{
	const char *path = test_path("dump.db"), *restored = test_path("restored.db"), *text = test_path("dump.sql");
	sqlite3 *db;
	char *expected;

	(void)state;
	if (command("sqlite3 -version > /dev/null 2>&1")) {
		print_message("the sqlite3 shell is missing: skipped\n");
		skip();
	}
	db = open_database(path, 0);
	run(db, SPANS INDEX);
	expected = expected_rows(db);
	close_database(db);
	/* neither side needs the extension */
	assert_int_equal(command("sqlite3 '%s' .dump > '%s'", path, text), 0);
	assert_int_equal(command("sqlite3 '%s' < '%s'", restored, text), 0);
	db = open_database(restored, 0);
	expect_answer(db, "main", expected);
	run(db, "DROP TABLE spans_if");
	assert_int_equal(integer_of(db, "SELECT count(*) FROM sqlite_schema"), 1);
	close_database(db);
	free(expected);
	remove_database(path);
	remove_database(restored);
	remove(text);
}

#define SCHEMA "SELECT type, name, tbl_name, sql FROM sqlite_schema"

static void rolling_back_takes_everything_back(void **state)
{
	static const char *const journal_modes[] = { "DELETE", "WAL" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *path = test_path("rollback.db");
		sqlite3 *db = open_database(path, 0);
		uint64_t before;
		char *expected;

		run(db, "PRAGMA journal_mode = %s; " SPANS, journal_modes[i]);
		before = digest_of(db, SCHEMA);
		expected = expected_rows(db);
		run(db, "BEGIN; " INDEX);
		expect_answer(db, "main", expected);
		run(db, "ROLLBACK");
		assert_true(digest_of(db, SCHEMA) == before);
		run_fails(db, "no such table: spans_if", "SELECT * FROM spans_if");

		run(db, "BEGIN; SAVEPOINT a; " INDEX "SAVEPOINT b; DROP TABLE spans_if; ROLLBACK TO b");
		expect_answer(db, "main", expected);
		run(db, "ROLLBACK TO a; COMMIT");
		assert_true(digest_of(db, SCHEMA) == before);

		run(db, INDEX "BEGIN; DROP TABLE spans_if; ROLLBACK");
		expect_answer(db, "main", expected);

		/* a rebuild inside savepoints */
		run(db, "BEGIN; UPDATE spans SET dur = dur + 1; SAVEPOINT a; INSERT INTO spans_if(spans_if) VALUES('rebuild')");
		run_gives(db, "3000|997\n", "SELECT sum(count), max(max_dur) FROM spans_if");
		run(db, "ROLLBACK TO a");
		run_gives(db, "3000|997\n", "SELECT sum(count), max(max_dur) FROM spans_if");
		run(db, "INSERT INTO spans_if(spans_if) VALUES('flush')");
		run_gives(db, "3000|997\n", "SELECT sum(count), max(max_dur) FROM spans_if");
		run(db, "ROLLBACK");
		expect_answer(db, "main", expected);
		run(db, "BEGIN; INSERT INTO spans_if(spans_if) VALUES('rebuild'); ALTER TABLE spans_if RENAME TO other; ROLLBACK");
		expect_answer(db, "main", expected);
		free(expected);
		close_database(db);
		remove_database(path);
	}
}

static void a_drop_leaves_nothing(void **state)
{
	const char *path = test_path("drop.db");
	sqlite3 *db = open_database(path, 0);
	uint64_t before, content;

	(void)state;
	run(db, SPANS "CREATE INDEX by_ts ON spans(ts); CREATE TRIGGER mine AFTER INSERT ON spans BEGIN SELECT 1; END; VACUUM");
	before = digest_of(db, "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema");
	content = digest_of(db, "SELECT * FROM spans");
	run(db, INDEX "INSERT INTO spans_if(spans_if) VALUES('rebuild'); CREATE VIRTUAL TABLE f USING iforest_fold(spans_if)");
	assert_true(integer_of(db, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'spans_if%%'") >= 8);
	run(db, "DROP TABLE f; DROP TABLE spans_if; VACUUM");
	assert_true(digest_of(db, "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema") == before);
	assert_true(digest_of(db, "SELECT * FROM spans") == content);
	run_gives(db, "ok\n", "PRAGMA integrity_check");
	run(db, INDEX "DROP TABLE spans_if; " INDEX "DROP TABLE IF EXISTS spans_if; DROP TABLE IF EXISTS spans_if");
	close_database(db);
	remove_database(path);
}

static void a_rebuild_takes_the_place_of_the_index_before(void **state)
{
	static const char *const sizes = "SELECT (SELECT count(*) FROM spans_if_page), (SELECT count(*) FROM spans_if_series), (SELECT count(*) FROM spans_if_log)";
	sqlite3 *db = open_database(":memory:", 0);
	char *before;

	(void)state;
	run(db, SPANS INDEX);
	before = rows_of(db, sizes);
	for (int i = 0; i < 3; i++) {
		run(db, "UPDATE spans SET dur = dur + 1; INSERT INTO spans_if(spans_if) VALUES('rebuild')");
		same_rows(db, "SELECT track, sum_dur, max_dur FROM spans_if(0, 5000, 1) ORDER BY track",
			  "SELECT track, sum(dur), max(dur) FROM spans WHERE ts < 5000 GROUP BY track ORDER BY track");
	}
	run(db, "UPDATE spans SET dur = dur - 3; INSERT INTO spans_if(spans_if) VALUES('rebuild')");
	run_gives(db, before, "%s", sizes);
	free(before);
	close_database(db);
}

static void a_fold_notices_another_index_of_the_same_name(void **state)
{
	static const char *const indexes[] = {
		"CREATE VIRTUAL TABLE i USING iforest(content=spans, time=ts, value=(dur, ts AS t), by=(track), sync=%s)",
		"CREATE VIRTUAL TABLE i USING iforest(content=spans, time=ts, value=(ts AS t, dur), by=(track), sync=%s)",
	};
	static const char *const syncs[] = { "log", "append", "manual" };
	sqlite3 *db = open_database(":memory:", 0);
	char *sum;

	(void)state;
	run(db, SPANS);
	sum = rows_of(db, "SELECT sum(dur) FROM spans");
	for (unsigned s = 0; s < 3; s++) {
		run(db, indexes[0], syncs[s]);
		run(db, "CREATE VIRTUAL TABLE f USING iforest_fold(i)");
		run_gives(db, sum, "SELECT sum_dur FROM f");
		run(db, "DROP TABLE i");
		run(db, indexes[0], syncs[s]);
		run_gives(db, sum, "SELECT sum_dur FROM f");
		run(db, "DROP TABLE i");
		run(db, indexes[1], syncs[s]);
		run_fails(db, "i: the index was made anew with other columns", "SELECT sum_dur FROM f");
		run(db, "DROP TABLE f; CREATE VIRTUAL TABLE f USING iforest_fold(i)");
		run_gives(db, sum, "SELECT sum_dur FROM f");
		run(db, "DROP TABLE f; DROP TABLE i");
	}
	free(sum);
	close_database(db);
}

/* SQLite does not connect a table again that was first used while its index did not exist. The message says what helps. */
static void a_fold_is_made_anew_after_its_index(void **state)
{
	static const char *const missing = "f: iforest_fold: no index \"spans_if\" in schema \"main\"";
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS INDEX "CREATE VIRTUAL TABLE f USING iforest_fold(spans_if); DROP TABLE spans_if; VACUUM");
	run_fails(db, missing, "SELECT * FROM f");
	run_fails(db, "no such column: count", "SELECT count FROM f");
	run(db, INDEX);
	run_fails(db, missing, "SELECT * FROM f(5, 6)");
	assert_non_null(strstr(last_message(), "; once that is put right, drop this table and create it again, or open the database again"));
	run(db, "DROP TABLE f; CREATE VIRTUAL TABLE f USING iforest_fold(spans_if)");
	run_gives(db, "3000\n", "SELECT count FROM f");
	close_database(db);
}

static void renames_are_followed(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS INDEX "ALTER TABLE spans_if RENAME TO \"new \"\"name\"");
	run_gives(db, "3000\n", "SELECT sum(count) FROM \"new \"\"name\"");
	run_gives(db, "0\n", "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'spans_if%%' OR sql LIKE '%%spans_if%%'");
	run(db, "INSERT INTO spans(ts, dur) VALUES(5, 5)");
	run_gives(db, "3001\n", "SELECT sum(count) FROM \"new \"\"name\"");
	run(db, "INSERT INTO \"new \"\"name\"(\"new \"\"name\") VALUES('flush')");
	run_gives(db, "3001\n", "SELECT sum(count) FROM \"new \"\"name\"");

	run(db, "ALTER TABLE spans RENAME TO \"it's\"");
	run_gives(db, "3001\n", "SELECT sum(count) FROM \"new \"\"name\"");
	run(db, "DELETE FROM \"it's\" WHERE id = 3001");
	run_gives(db, "3000\n", "SELECT sum(count) FROM \"new \"\"name\"");
	run(db, "INSERT INTO \"new \"\"name\"(\"new \"\"name\") VALUES('rebuild')");
	run_gives(db, "3000\n", "SELECT sum(count) FROM \"new \"\"name\"");
	run(db, "ALTER TABLE \"new \"\"name\" RENAME TO spans_if; ALTER TABLE \"it's\" RENAME TO spans");
	run_gives(db, "3000\n", "SELECT sum(count) FROM spans_if");
	run(db, "DROP TABLE spans_if");
	assert_int_equal(integer_of(db, "SELECT count(*) FROM sqlite_schema"), 1);
	run(db, "INSERT INTO spans(ts) VALUES(1); DELETE FROM spans WHERE id > 3000");
	close_database(db);
}

/* An index has a column of its own name, for commands. No other column may have that name, or the index could not be
 * dropped. */
static void an_index_is_not_named_as_its_column(void **state)
{
	static const char *const names[] = { "track", "COUNT", "t0", "bucket", "max_dur_id" };
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS INDEX);
	for (int i = 0; i < 5; i++) {
		run_fails(db, "iforest: two columns named ", "CREATE VIRTUAL TABLE %s USING iforest(content=spans, time=ts, duration=dur, by=track)", names[i]);
		assert_non_null(strstr(last_message(), "; give the index another name"));
		run_fails(db, "iforest: two columns named ", "ALTER TABLE spans_if RENAME TO %s", names[i]);
		run_gives(db, "3000\n", "SELECT sum(count) FROM spans_if");
		run(db, "INSERT INTO spans_if(spans_if) VALUES('integrity-check')");
	}
	run(db, "ALTER TABLE spans_if RENAME TO dur; DROP TABLE dur");
	assert_int_equal(integer_of(db, "SELECT count(*) FROM sqlite_schema"), 1);
	close_database(db);
}

static void any_name_will_do(void **state)
{
	static const char *const names[] = { "select", "two words", "quo\"te", "it's", "sm\xc3\xb8r", "[x]", "`y`", "a.b", "a,b", "a)", "(a",
					     "--", "/*", "", "%s%n", "Order", "1", " x ", "AS", "a\nb" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		sqlite3 *db = open_database(":memory:", 0);
		const char *n = names[i];

		run(db, "CREATE TABLE \"%w\"(\"i%w\" INTEGER PRIMARY KEY, \"b%w\", \"t%w\", \"v%w\")", n, n, n, n, n);
		run(db, "INSERT INTO \"%w\" VALUES(1, 'x', 10, 5), (2, 'y', 20, 6)", n);
		run(db, "CREATE VIRTUAL TABLE \"f%w\" USING iforest(content=\"%w\", time=\"t%w\", value=\"v%w\", by=(\"b%w\"))", n, n, n, n, n);
		run(db, "CREATE VIRTUAL TABLE \"g%w\" USING iforest_fold(\"f%w\", \"b%w\")", n, n, n);
		run_gives(db, "x|1|5|1\ny|1|6|2\n", "SELECT \"b%w\", count, \"sum_v%w\", \"max_v%w_id\" FROM \"f%w\"", n, n, n, n);
		run_gives(db, "y|6\n", "SELECT \"b%w\", \"sum_v%w\" FROM \"g%w\"(15) WHERE \"b%w\" = 'y'", n, n, n, n);
		run(db, "UPDATE \"%w\" SET \"v%w\" = 7", n, n);
		run_gives(db, "14\n", "SELECT sum(\"sum_v%w\") FROM \"f%w\"", n, n);
		run(db, "INSERT INTO \"f%w\"(\"f%w\") VALUES('flush')", n, n);
		run_gives(db, "14\n", "SELECT sum(\"sum_v%w\") FROM \"f%w\"", n, n);
		run(db, "INSERT INTO \"f%w\"(\"f%w\") VALUES('integrity-check')", n, n);
		run(db, "DROP TABLE \"g%w\"; DROP TABLE \"f%w\"", n, n);
		assert_int_equal(integer_of(db, "SELECT count(*) FROM sqlite_schema"), 1);
		run(db, "DELETE FROM \"%w\"", n);
		close_database(db);
	}
}

/* Letters of any language, digits and $ need no quotes. */
static void names_without_quotes_will_do(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE gr\xc3\xb6\xc3\x9f" "en(id INTEGER PRIMARY KEY, jahr\xe2\x82\xac, w$1); INSERT INTO gr\xc3\xb6\xc3\x9f" "en VALUES(1, 5, 6);"
		"CREATE VIRTUAL TABLE \xe5\xb9\xb4$2 USING iforest(content=gr\xc3\xb6\xc3\x9f" "en, time=jahr\xe2\x82\xac, value=w$1);"
		"UPDATE gr\xc3\xb6\xc3\x9f" "en SET w$1 = 7; INSERT INTO \xe5\xb9\xb4$2(\xe5\xb9\xb4$2) VALUES('flush');"
		"INSERT INTO main.\xe5\xb9\xb4$2(\xe5\xb9\xb4$2) VALUES('integrity-check')");
	run_gives(db, "1|7\n", "SELECT count, sum_w$1 FROM \xe5\xb9\xb4$2");
	close_database(db);
}

/* In SQL, names are the same in upper and lower case. */
static void names_may_be_written_in_any_case(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE Spans(Id INTEGER PRIMARY KEY, Track TEXT, ts, dur); INSERT INTO spans VALUES(1, 'x', 10, 5), (2, 'y', 20, 6);"
		"CREATE VIRTUAL TABLE Spans_If USING iforest(content=SPANS, time=TS, duration=Dur, by=TRACK);"
		"CREATE VIRTUAL TABLE f USING iforest_fold(SPANS_IF, track); CREATE VIRTUAL TABLE r USING iforest_rows(spans_if);"
		"CREATE VIRTUAL TABLE o USING iforest_overlap(spans_IF, ()); CREATE VIRTUAL TABLE g USING iforest_gaps(spans_if);"
		"UPDATE spans SET DUR = 7 WHERE ID = 1");
	for (int flushed = 0; flushed < 2; flushed++) {
		run_gives(db, "x|7\ny|6\n", "SELECT track, sum_dur FROM SPANS_if ORDER BY track");
		run_gives(db, "x|7\ny|6\n", "SELECT track, sum_dur FROM f ORDER BY track");
		run_gives(db, "1|17\n2|26\n", "SELECT id, \"end\" FROM r ORDER BY id");
		run_gives(db, "2|13\n", "SELECT overlaps, clipped_dur FROM o(0, 100)");
		run_gives(db, "", "SELECT * FROM g");
		run_gives(db, "2|log\n2|log\n", "SELECT rows, sync FROM iforest_stats('spans_IF') UNION ALL SELECT rows, sync FROM iforest_stats('SPANS_IF', 'MAIN')");
		run(db, "INSERT INTO SPANS_IF(spans_if) VALUES('flush')");
	}
	close_database(db);
}

static void aliases_name_columns(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, count TEXT, \"order\" INTEGER, ts); INSERT INTO t VALUES(1, 'a', 5, 1), (2, 'b', 6, 2)");
	run(db, "CREATE VIRTUAL TABLE x USING iforest(content = t, TIME = \"ts\", Value=(id as Item, \"order\"), by = (count AS \"n items\"))");
	run_gives(db, "a|1|1|5\nb|1|2|6\n", "SELECT \"n items\", count, sum_item, max_order FROM x");
	/* the index is defined by the former names of the columns */
	run(db, "ALTER TABLE t RENAME COLUMN count TO label; ALTER TABLE t RENAME COLUMN \"order\" TO place");
	run_fails(db, "x: detached from its table", "SELECT * FROM x");
	run_fails(db, "iforest: no column \"order\" in \"t\"", "INSERT INTO x(x) VALUES('rebuild')");
	run(db, "ALTER TABLE t RENAME COLUMN label TO count; ALTER TABLE t RENAME COLUMN place TO \"order\"");
	run_gives(db, "a|1|1|5\nb|1|2|6\n", "SELECT \"n items\", count, sum_item, max_order FROM x");
	run(db, "INSERT INTO t VALUES(3, 'a', 7, 3); INSERT INTO x(x) VALUES('rebuild')");
	run_gives(db, "a|2|4|7\nb|1|2|6\n", "SELECT \"n items\", count, sum_item, max_order FROM x");
	close_database(db);
}

static void a_temporary_table_has_a_temporary_index(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TEMP TABLE spans(id INTEGER PRIMARY KEY, ts, dur); INSERT INTO temp.spans VALUES(1, 5, 6), (2, 7, 8)");
	run(db, "CREATE VIRTUAL TABLE temp.spans_if USING iforest(content=spans, time=ts, duration=dur)");
	run_gives(db, "2|14\n", "SELECT count, sum_dur FROM spans_if");
	run(db, "INSERT INTO temp.spans VALUES(3, 5, 6)");
	run_gives(db, "3|20\n", "SELECT count, sum_dur FROM spans_if");
	run(db, "INSERT INTO spans_if(spans_if) VALUES('flush')");
	run_gives(db, "3|20\n", "SELECT count, sum_dur FROM temp.spans_if");
	run(db, "DROP TABLE spans_if");
	run_gives(db, "1|0\n", "SELECT (SELECT count(*) FROM temp.sqlite_schema), (SELECT count(*) FROM main.sqlite_schema)");
	close_database(db);
}

static void a_hostile_setting_does_not_stop_it(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	run(db, "PRAGMA foreign_keys = 1; PRAGMA recursive_triggers = 1; PRAGMA reverse_unordered_selects = 1; PRAGMA case_sensitive_like = 1;"
		"PRAGMA count_changes = 1;" SPANS INDEX);
	run(db, "CREATE VIEW v AS SELECT sum(count) AS n FROM spans_if; CREATE TABLE log(n);"
		"CREATE TRIGGER l AFTER INSERT ON log BEGIN UPDATE log SET n = (SELECT sum(count) FROM spans_if); END; INSERT INTO log VALUES(0)");
	run_gives(db, "3000|3000\n", "SELECT v.n, log.n FROM v, log");
	run_fails(db, "table spans_if_page may not be modified", "DELETE FROM spans_if_page");
	run_fails(db, "table spans_if_config may not be modified", "UPDATE spans_if_config SET value = 1");
	run_fails(db, "table spans_if_series may not be ", "DROP TABLE spans_if_series");
	run(db, "INSERT INTO spans(ts) VALUES(5)");
	run_gives(db, "3001\n", "SELECT n FROM v");
	run(db, "INSERT INTO spans_if(spans_if) VALUES('flush'); ALTER TABLE spans_if RENAME TO x");
	run_gives(db, "3001\n", "SELECT sum(count) FROM x");
	run(db, "DROP TABLE x");
	close_database(db);
}

static void an_open_cursor_is_safe(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);
	sqlite3_stmt *cursor;
	int n = 0, rc;

	(void)state;
	run(db, SPANS INDEX);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT track, bucket, count FROM spans_if(0, 10007, 500)", -1, &cursor, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(cursor), SQLITE_ROW);
	assert_int_not_equal(run_any(db, "DROP TABLE spans_if"), SQLITE_OK);
	run_any(db, "INSERT INTO spans_if(spans_if) VALUES('rebuild')");
	run_any(db, "ALTER TABLE spans_if RENAME TO other");
	run_any(db, "VACUUM");
	run_any(db, "UPDATE spans SET dur = 0 WHERE id = 5");
	while ((rc = sqlite3_step(cursor)) == SQLITE_ROW)
		n++;
	if (rc != SQLITE_DONE)
		assert_int_not_equal(sqlite3_errmsg(db)[0], '\0');
	assert_true(n < 500 * 5);
	sqlite3_finalize(cursor);
	run(db, "DROP TABLE %s", integer_of(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'other'") ? "other" : "spans_if");
	assert_int_equal(integer_of(db, "SELECT count(*) FROM sqlite_schema"), 1);
	close_database(db);
}

static void two_connections_see_their_snapshots(void **state)
{
	const char *path = test_path("two.db");
	sqlite3 *reader, *writer = open_database(path, 0);
	char *expected;

	(void)state;
	run(writer, "PRAGMA journal_mode = WAL;" SPANS);
	reader = open_database(path, 0);
	run(reader, "SELECT count(*) FROM spans");
	expected = expected_rows(writer);
	run(writer, INDEX);
	expect_answer(reader, "main", expected);
	run(reader, "BEGIN");
	run_gives(reader, expected, QUESTION, "main");
	run(writer, "UPDATE spans SET dur = 1");
	run_gives(reader, expected, QUESTION, "main");
	run_gives(writer, "1|3000\n", "SELECT max(max_dur), sum(count) FROM spans_if");
	run(writer, "INSERT INTO spans_if(spans_if) VALUES('rebuild')");
	run_gives(reader, expected, QUESTION, "main");
	run_gives(writer, "1|3000\n", "SELECT max(max_dur), sum(count) FROM spans_if");
	run(writer, "DROP TABLE spans_if");
	run_gives(reader, expected, QUESTION, "main");
	run(reader, "COMMIT");
	run_fails(reader, "no such table: spans_if", "SELECT * FROM spans_if");
	run(writer, INDEX);
	run_gives(reader, "1|3000\n", "SELECT max(max_dur), sum(count) FROM spans_if");
	free(expected);
	close_database(reader);
	close_database(writer);
	remove_database(path);
}

/* A table that is first used while another connection locks the file must still get its columns' types: 5 equals '5' in a TEXT
 * column. */
static void a_locked_file_costs_no_type(void **state)
{
	static const char *const tables[] = { "spans_if", "folded" };
	const char *path = test_path("locked.db");
	sqlite3 *writer = open_database(path, 0);

	(void)state;
	run(writer, SPANS "UPDATE spans SET track = '5' WHERE id < 4;" INDEX "CREATE VIRTUAL TABLE folded USING iforest_fold(spans_if, track)");
	for (int t = 0; t < 2; t++) {
		sqlite3 *reader = open_database(path, 0);

		run(reader, "SELECT count(*) FROM sqlite_schema");
		run(writer, "BEGIN EXCLUSIVE");
		run_fails(reader, "database is locked", "SELECT count FROM %s WHERE track = 5", tables[t]);
		run(writer, "COMMIT");
		run_gives(reader, "3\n", "SELECT count FROM %s WHERE track = 5", tables[t]);
		close_database(reader);
	}
	close_database(writer);
	remove_database(path);
}

/* Queries many buckets, which reads many pages that a connection may cache. */
static void expect_frame(sqlite3 *db)
{
	same_rows(db, "SELECT track, bucket, count, sum_dur FROM spans_if(0, 10000, 50) ORDER BY track, bucket",
		  "SELECT track, ts / 200, count(*), sum(dur) FROM spans WHERE ts < 10000 GROUP BY track, ts / 200 ORDER BY track, ts / 200");
}

static void kept_pages_are_never_taken_for_others(void **state)
{
	static const char *const journal_modes[] = { "DELETE", "WAL" };

	(void)state;
	for (int m = 0; m < 2; m++) {
		const char *path = test_path("kept.db");
		sqlite3 *reader, *writer = open_database(path, 0);

		run(writer, "PRAGMA journal_mode = %s;" SPANS INDEX, journal_modes[m]);
		reader = open_database(path, 0);
		for (int i = 0; i < 4; i++) {
			expect_frame(reader);
			run(writer, "UPDATE spans SET dur = dur + id %% 17; BEGIN; INSERT INTO spans_if(spans_if) VALUES('rebuild')");
			expect_frame(writer);
			run(writer, "COMMIT");
			expect_frame(reader);
			run(writer, "BEGIN; UPDATE spans SET dur = 1; INSERT INTO spans_if(spans_if) VALUES('rebuild')");
			expect_frame(writer);
			run(writer, "ROLLBACK");
			expect_frame(writer);
			run(writer, "BEGIN; DROP TABLE spans_if; UPDATE spans SET dur = 2;" INDEX);
			expect_frame(writer);
			run(writer, "ROLLBACK");
			expect_frame(writer);
			expect_frame(reader);
		}
		close_database(reader);
		close_database(writer);
		remove_database(path);
	}
}

static void other_version(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
	(void)n_arguments;
	(void)arguments;
	sqlite3_result_text(context, "another", -1, SQLITE_STATIC);
}

/* The version is that of PostgreSQL's extension, which the C library has, too. */
static void the_version_is_told(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);
	FILE *control = fopen("sql/pg/iforest.control", "r");
	char line[200], version[20] = "";

	(void)state;
	assert_non_null(control);
	while (fgets(line, sizeof line, control) && sscanf(line, "default_version = '%18[^']", version) != 1)
		continue;
	fclose(control);
	run_gives(db, "1\n", "SELECT iforest_version() = '%s'", version);
	close_database(db);
}

/* It may also be loaded by a statement, during which SQLite refuses to replace functions; open statements continue. */
static void loading_twice_is_harmless(void **state)
{
	const char *build = getenv("IFOREST_BUILD");
	sqlite3 *db = open_database(":memory:", 0);
	char *error = NULL;

	(void)state;
	sqlite3_enable_load_extension(db, 1);
	run(db, SPANS INDEX);
	run_gives(db, "3000\n", "SELECT sum(count) FROM spans_if");
	assert_true(load_library(db, "iforest.so", &error));
	run_gives(db, "\n", "SELECT load_extension('%s/iforest')", build ? build : "build");
	run_gives(db, "3000\n", "SELECT sum(count) FROM spans_if, (SELECT load_extension('%s/iforest'))", build ? build : "build");
	run_gives(db, "4\n", "SELECT iforest_bucket(45, 0, 100, 10)");
	close_database(db);
}

/* Another version does not replace one that a statement uses. The message says so. */
static void another_version_is_refused_by_a_statement(void **state)
{
	const char *build = getenv("IFOREST_BUILD");
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	sqlite3_enable_load_extension(db, 1);
	assert_int_equal(sqlite3_create_function(db, "iforest_version", 0, SQLITE_UTF8, NULL, other_version, NULL, NULL), SQLITE_OK);
	run_fails(db, "error during initialization: iforest cannot be loaded while a statement runs, for this connection has another version",
		  "SELECT load_extension('%s/iforest')", build ? build : "build");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_index_persists),
		cmocka_unit_test(an_index_works_in_an_attached_file),
		cmocka_unit_test(a_dump_restores_the_index),
		cmocka_unit_test(rolling_back_takes_everything_back),
		cmocka_unit_test(a_drop_leaves_nothing),
		cmocka_unit_test(a_rebuild_takes_the_place_of_the_index_before),
		cmocka_unit_test(a_fold_notices_another_index_of_the_same_name),
		cmocka_unit_test(a_fold_is_made_anew_after_its_index),
		cmocka_unit_test(renames_are_followed),
		cmocka_unit_test(an_index_is_not_named_as_its_column),
		cmocka_unit_test(any_name_will_do),
		cmocka_unit_test(names_without_quotes_will_do),
		cmocka_unit_test(names_may_be_written_in_any_case),
		cmocka_unit_test(aliases_name_columns),
		cmocka_unit_test(a_temporary_table_has_a_temporary_index),
		cmocka_unit_test(a_hostile_setting_does_not_stop_it),
		cmocka_unit_test(an_open_cursor_is_safe),
		cmocka_unit_test(two_connections_see_their_snapshots),
		cmocka_unit_test(a_locked_file_costs_no_type),
		cmocka_unit_test(kept_pages_are_never_taken_for_others),
		cmocka_unit_test(the_version_is_told),
		cmocka_unit_test(loading_twice_is_harmless),
		cmocka_unit_test(another_version_is_refused_by_a_statement),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
