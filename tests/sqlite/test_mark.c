/* tests/sqlite/test_mark.c -- Tests of tables without INTEGER PRIMARY KEY, whose rows VACUUM and row-by-row copies renumber:
 * the index returns the rows of the table, or asks for a rebuild; it does not ask for one while rowids have no gap. */
#include "harness.h"

#define INDEX "CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=v, by=a);"
#define ROWS_OF_INDEX "CREATE VIRTUAL TABLE t_rows USING iforest_rows(t_if);"
#define TEN_ROWS "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 10) INSERT INTO t(k, a, ts, v) SELECT 'k' || i, i %% 3, i * 10, i * i FROM c;"
#define PLAIN "CREATE TABLE t(k TEXT, a, ts INTEGER, v INTEGER);"
#define KEYED_BY_TEXT "CREATE TABLE t(k TEXT PRIMARY KEY, a, ts INTEGER, v INTEGER);"
#define RENUMBERED "t_if: the rows of \"t\" may have other rowids than the index knows: VACUUM or a copy"

static void expect_rows(sqlite3 *db)
{
	same_rows(db, "SELECT id, a, ts, v FROM t_rows ORDER BY id", "SELECT rowid, a, ts, v FROM t ORDER BY rowid");
	same_rows(db, "SELECT a, count, sum_v, max_v, (SELECT v FROM t WHERE rowid = max_v_id) FROM t_if ORDER BY a",
		  "SELECT a, count(*), sum(v), max(v), max(v) FROM t GROUP BY a ORDER BY a");
}

static bool may_be_renumbered(sqlite3 *db)
{
	return integer_of(db, "SELECT count(*) FROM t_if_mark WHERE rowid = 1") == 0;
}

/* Changes that leave a gap or none, and whether VACUUM then changes rowids. */
static const struct {
	const char *table, *changes;
	bool gap, renumbers;
} cases[] = {
	{ PLAIN, "", false, false },
	{ PLAIN, "INSERT INTO t(ts) VALUES(5), (NULL)", false, false },
	{ PLAIN, "DELETE FROM t WHERE rowid = 10; DELETE FROM t WHERE rowid = 9", false, false },
	{ PLAIN, "DELETE FROM t; INSERT INTO t(ts) VALUES(1), (2)", true, false },
	{ PLAIN, "DELETE FROM t; INSERT INTO t(ts) VALUES(1), (2); INSERT INTO t_if(t_if) VALUES('flush')", false, false },
	{ PLAIN, "DELETE FROM t WHERE rowid > 4; INSERT INTO t(ts) VALUES(1), (2); INSERT INTO t_if(t_if) VALUES('flush')", false, false },
	{ PLAIN, "DELETE FROM t WHERE rowid = 3; UPDATE t SET ts = 5; INSERT INTO t_if(t_if) VALUES('flush')", true, true },
	{ PLAIN, "BEGIN; DELETE FROM t WHERE rowid = 3; ROLLBACK", false, false },
	{ PLAIN, "SAVEPOINT s; DELETE FROM t WHERE rowid = 3; ROLLBACK TO s; RELEASE s", false, false },
	{ PLAIN, "UPDATE t SET ts = ts + 1, v = 0", false, false },
	{ PLAIN, "INSERT OR REPLACE INTO t(ts) VALUES(5)", false, false },
	{ PLAIN, "DELETE FROM t WHERE rowid = 3", true, true },
	{ PLAIN, "DELETE FROM t WHERE rowid < 4", true, true },
	{ PLAIN, "INSERT INTO t(rowid, ts) VALUES(100, 1)", true, true },
	{ PLAIN, "INSERT INTO t(rowid, ts) VALUES(-1, 1)", true, true },
	{ PLAIN, "INSERT INTO t(rowid, ts) VALUES(0, 1)", true, true },
	{ PLAIN, "DELETE FROM t; INSERT INTO t(rowid, ts) VALUES(-1, 1)", true, true },
	{ PLAIN, "UPDATE t SET rowid = 11 WHERE rowid = 4", true, true },
	{ PLAIN, "UPDATE OR REPLACE t SET rowid = 5 WHERE rowid = 4", true, true },
	{ PLAIN "CREATE INDEX i ON t(ts);", "DELETE FROM t WHERE rowid = 3", true, false },
	{ PLAIN "CREATE INDEX i ON t(ts);", "DELETE FROM t WHERE rowid = 3; DROP INDEX i", true, true },
	{ PLAIN "CREATE UNIQUE INDEX i ON t(k);", "INSERT OR IGNORE INTO t(k, ts) VALUES('k3', 1)", true, false },
	{ PLAIN "CREATE UNIQUE INDEX i ON t(k);", "INSERT OR REPLACE INTO t(k, ts) VALUES('k3', 1)", true, false },
	{ KEYED_BY_TEXT, "DELETE FROM t WHERE rowid = 3", true, false },
	{ KEYED_BY_TEXT, "INSERT OR REPLACE INTO t(k, ts) VALUES('k3', 1)", true, false },
	{ KEYED_BY_TEXT, "UPDATE OR REPLACE t SET k = 'k3' WHERE k = 'k7'", true, false },
	{ KEYED_BY_TEXT, "UPDATE t SET k = 'new' WHERE k = 'k7'", false, false },
	{ KEYED_BY_TEXT, "INSERT INTO t(k, ts) VALUES('k3', 1) ON CONFLICT DO UPDATE SET ts = 7", true, false },
	{ "CREATE TABLE t(k ANY, a ANY, ts INTEGER, v INTEGER, UNIQUE(k, a)) STRICT;", "", false, false },
};

static void a_gap_is_noted_and_vacuum_is_noticed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		sqlite3 *db = open_database(":memory:", 0);
		uint64_t before;

		run(db, "%s", cases[i].table);
		run(db, TEN_ROWS INDEX ROWS_OF_INDEX);
		assert_false(may_be_renumbered(db));
		run(db, "%s", cases[i].changes);
		expect_rows(db);
		if (may_be_renumbered(db) != cases[i].gap)
			fail_msg("%s %s: the gap is%s noted", cases[i].table, cases[i].changes, cases[i].gap ? " not" : "");
		before = digest_of(db, "SELECT rowid, * FROM t");
		run(db, "VACUUM");
		if ((digest_of(db, "SELECT rowid, * FROM t") != before) != cases[i].renumbers)
			fail_msg("%s %s: VACUUM is not what was expected", cases[i].table, cases[i].changes);
		if (cases[i].renumbers) {
			run_fails(db, RENUMBERED, "SELECT count FROM t_if");
			run_fails(db, RENUMBERED, "SELECT count(*) FROM t_rows");
			run_fails(db, RENUMBERED, "INSERT INTO t_if(t_if) VALUES('flush')");
			run(db, "INSERT INTO t_if(t_if) VALUES('rebuild')");
		} else if (run_any(db, "SELECT count FROM t_if")) { /* a rebuild is requested although rowids are the same */
			assert_true(cases[i].gap);
			assert_non_null(strstr(last_message(), "VACUUM or a copy"));
			run(db, "INSERT INTO t_if(t_if) VALUES('rebuild')");
		}
		expect_rows(db);
		run(db, "DELETE FROM t WHERE rowid = 2; INSERT INTO t(k, ts) VALUES('more', 77); INSERT INTO t_if(t_if) VALUES('integrity-check')");
		expect_rows(db);
		run(db, "DROP TABLE t_if");
		run_gives(db, "0\n", "SELECT count(*) FROM sqlite_schema WHERE name LIKE 't_if%%'");
		close_database(db);
	}
}

/* VACUUM keeps the rowids of a table whose schema has a key, so no rebuild is requested. */
static void a_table_with_another_key_keeps_its_rowids(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, KEYED_BY_TEXT TEN_ROWS INDEX ROWS_OF_INDEX "DELETE FROM t WHERE k IN ('k2', 'k5'); VACUUM");
	run_gives(db, "8\n", "SELECT sum(count) FROM t_if");
	run(db, "VACUUM; INSERT INTO t(k, ts) VALUES('x', 3); VACUUM; INSERT INTO t_if(t_if) VALUES('flush'); VACUUM");
	expect_rows(db);
	close_database(db);
}

static void a_table_with_gaps_is_taken_too(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, PLAIN TEN_ROWS "DELETE FROM t WHERE rowid = 4;" INDEX ROWS_OF_INDEX);
	expect_rows(db);
	run(db, "ALTER TABLE t ADD COLUMN more DEFAULT 7; CREATE INDEX i ON t(k); CREATE TABLE other(x); INSERT INTO t(ts) VALUES(4)");
	expect_rows(db);
	run(db, "ALTER TABLE t DROP COLUMN more; ALTER TABLE t RENAME COLUMN k TO kk; DROP INDEX i; DROP TABLE other");
	expect_rows(db);
	run(db, "ALTER TABLE t RENAME TO u; ALTER TABLE u RENAME TO t; INSERT INTO t_if(t_if) VALUES('optimize')");
	expect_rows(db);
	run(db, "VACUUM");
	run_fails(db, RENUMBERED, "SELECT count FROM t_if");
	run(db, "DELETE FROM t; INSERT INTO t(ts) VALUES(9)"); /* emptying the table does not help */
	run_fails(db, RENUMBERED, "SELECT count FROM t_if");
	run(db, "INSERT INTO t_if(t_if) VALUES('rebuild'); VACUUM");
	expect_rows(db);
	run(db, "ALTER TABLE t_if RENAME TO z_if; DELETE FROM t WHERE rowid = 1; INSERT INTO t(ts) VALUES(1), (2); DELETE FROM t WHERE rowid = 1; VACUUM");
	run_fails(db, "z_if: the rows of \"t\" may have other rowids", "SELECT count FROM z_if");
	close_database(db);
}

static void other_modes_notice_it(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, PLAIN TEN_ROWS "CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=v, by=a, sync=append);" ROWS_OF_INDEX);
	run(db, "VACUUM; INSERT INTO t(ts) VALUES(5); VACUUM; INSERT INTO t_if(t_if) VALUES('flush'); VACUUM");
	expect_rows(db);
	run(db, "INSERT INTO t(rowid, ts) VALUES(20, 1); INSERT INTO t_if(t_if) VALUES('flush'); INSERT INTO t(ts) VALUES(5), (6)");
	expect_rows(db);
	run(db, "VACUUM; INSERT INTO t(ts) SELECT rowid FROM t");
	run_fails(db, RENUMBERED, "SELECT count FROM t_if");
	run(db, "INSERT INTO t_if(t_if) VALUES('rebuild')");
	expect_rows(db);
	run(db, "DROP TABLE t_if; DELETE FROM t WHERE rowid = 3; CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, sync=manual)");
	run_gives(db, "27\n", "SELECT count FROM t_if");
	run(db, "VACUUM");
	run_fails(db, RENUMBERED, "SELECT count FROM t_if");
	run(db, "INSERT INTO t_if(t_if) VALUES('rebuild'); VACUUM");
	run_gives(db, "27\n", "SELECT count FROM t_if");
	close_database(db);
}

/* Newer versions of SQLite do not add a column of such a name; a new table may have it. */
static void add_name_of_rowid(sqlite3 *db, const char *columns, const char *name)
{
	char *sql = sqlite3_mprintf("ALTER TABLE t ADD COLUMN %s", name);

	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		run(db, "CREATE TABLE n(%s, %s); INSERT INTO n(%s) SELECT %s FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t", columns, name, columns, columns);
	sqlite3_free(sql);
}

static void names_of_the_rowid_may_be_taken(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);
	char *remedy;

	(void)state;
	run(db, "CREATE TABLE t(k, a, ts, v, \"RowId\" TEXT); INSERT INTO t VALUES('k', 1, 2, 3, 'x'), ('l', 2, 3, 4, 'y');" INDEX ROWS_OF_INDEX
		"INSERT INTO t(ts, rowid) VALUES(9, 'z'); DELETE FROM t WHERE k = 'k'");
	same_rows(db, "SELECT id, ts FROM t_rows ORDER BY 1", "SELECT _rowid_, ts FROM t ORDER BY 1");
	add_name_of_rowid(db, "k, a, ts, v, \"RowId\"", "_rowid_"); /* the rowid has another name from now on */
	run_fails(db, "t_if: detached from its table", "SELECT count FROM t_if");
	run(db, "INSERT INTO t_if(t_if) VALUES('rebuild'); UPDATE t SET ts = 4 WHERE k = 'l'");
	same_rows(db, "SELECT id, ts FROM t_rows ORDER BY 1", "SELECT oid, ts FROM t ORDER BY 1");
	run(db, "DROP TABLE t_if");
	add_name_of_rowid(db, "k, a, ts, v, \"RowId\", _rowid_", "oid");
	run_fails(db, "iforest: \"t\" has columns named rowid, _rowid_ and oid, which leaves no name for the number of a row; ", INDEX);
	remedy = remedy_of(last_message());
	run(db, "%s", remedy);
	sqlite3_free(remedy);
	run(db, INDEX "INSERT INTO t(ts) VALUES(1); UPDATE t SET ts = 2 WHERE k = 'l'");
	same_rows(db, "SELECT id, ts FROM t_rows ORDER BY 1", "SELECT oid, ts FROM t ORDER BY 1");
	close_database(db);
}

/* The table is replaced under the index, by the steps that SQLite's documentation gives for other changes of a schema. */
static void a_table_made_anew_may_have_another_key(void **state)
{
#define ANEW(definition) \
	"CREATE TABLE n" definition "; INSERT INTO n(k, a, ts, v) SELECT k, a, ts, v FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t;"
	static const char *const forms[] = { ANEW("(k, a, ts, v)"), ANEW("(id INTEGER PRIMARY KEY, k, a, ts, v)"), ANEW("(k PRIMARY KEY, a, ts, v)"), ANEW("(k, a, ts, v, UNIQUE(k))") };

	(void)state;
	for (int i = 0; i < 16; i++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, PLAIN TEN_ROWS);
		run(db, "%s" INDEX ROWS_OF_INDEX "DELETE FROM t WHERE k = 'k5'; %s", forms[i / 4], forms[i % 4]);
		run_fails(db, "t_if: detached from its table", "SELECT count FROM t_if");
		if (i / 4 >= 2 && i % 4 == 0) { /* the existing mark would not reveal a VACUUM */
			run_fails(db, "t_if: the table was made anew without PRIMARY KEY and UNIQUE", "INSERT INTO t_if(t_if) VALUES('rebuild')");
			run_fails(db, "t_if: detached from its table", "SELECT count FROM t_if");
			run(db, "DROP TABLE t_if;" INDEX);
		} else {
			run(db, "INSERT INTO t_if(t_if) VALUES('rebuild')");
		}
		expect_rows(db);
		run(db, "DELETE FROM t WHERE k = 'k2'; INSERT INTO t(k, ts) VALUES('new', 3)");
		expect_rows(db);
		run(db, "VACUUM");
		if (run_any(db, "SELECT count FROM t_if")) {
			assert_non_null(strstr(last_message(), "VACUUM or a copy"));
			assert_true(i % 4 != 1);
			run(db, "INSERT INTO t_if(t_if) VALUES('rebuild')");
		}
		expect_rows(db);
		close_database(db);
	}
}

/* The same steps, and then the triggers are created again as they were. */
static void a_table_made_anew_with_its_triggers_is_noticed(void **state)
{
	static const char *const tables[] = { PLAIN, KEYED_BY_TEXT };

	(void)state;
	for (int i = 0; i < 8; i++) {
		sqlite3 *db = open_database(test_path("anew.db"), 0), *writer = open_plain(test_path("anew.db"), 0);
		sqlite3_stmt *statement;

		run(db, "%s", tables[i % 2]);
		run(db, TEN_ROWS INDEX ROWS_OF_INDEX "DELETE FROM t WHERE rowid = 3");
		if (i / 2 % 2)
			run(db, "ALTER TABLE t_if RENAME TO x; ALTER TABLE x RENAME TO t_if; INSERT INTO t_if(t_if) VALUES('flush')");
		if (i / 4)
			run(writer, "VACUUM; DELETE FROM t WHERE rowid = 5");
		if (run_any(db, "INSERT INTO t_if(t_if) VALUES('flush')"))
			run(db, "INSERT INTO t_if(t_if) VALUES('rebuild')");
		for (int again = 0; again < 2; again++) {
			run(writer, "BEGIN; CREATE TEMP TABLE saved AS SELECT sql FROM main.sqlite_schema WHERE type = 'trigger' AND tbl_name = 't'");
			run(writer, "ALTER TABLE t RENAME TO old; %s", tables[i % 2]);
			run(writer, "ALTER TABLE t ADD COLUMN more; INSERT INTO t(k, a, ts, v) SELECT k, a, ts, v FROM old ORDER BY rowid; DROP TABLE old");
			assert_int_equal(sqlite3_prepare_v2(writer, "SELECT sql FROM saved", -1, &statement, NULL), SQLITE_OK);
			while (sqlite3_step(statement) == SQLITE_ROW)
				run(writer, "%s", (const char *)sqlite3_column_text(statement, 0));
			sqlite3_finalize(statement);
			run(writer, "COMMIT; DROP TABLE temp.saved");
			run_fails(db, RENUMBERED, "SELECT count FROM t_if");
			run_fails(db, RENUMBERED, "ALTER TABLE t_if RENAME TO y");
			run(db, "INSERT INTO t_if(t_if) VALUES('rebuild'); DELETE FROM t WHERE rowid = 2; INSERT INTO t(ts) VALUES(1)");
			expect_rows(db);
		}
		run(db, "DROP TABLE t_if");
		run_gives(db, "0\n", "SELECT count(*) FROM sqlite_schema WHERE name LIKE 't_if%%'");
		close_database(writer);
		close_database(db);
		remove_database(test_path("anew.db"));
	}
}

/* .dump reads the columns that are not generated. If an SQL index covers all of them, .dump may read rows in the order of that
 * index, so that rows get other rowids even without a gap. */
static void an_index_of_all_columns_is_refused(void **state)
{
#define COVERED "CREATE TABLE t(ts INTEGER, v INTEGER, a AS (v %% 3), b TEXT AS (v || 'x'), c AS (ts + 1)"
#define REFUSED "iforest: \"t\" has no INTEGER PRIMARY KEY, and all its columns but generated ones are in index \""
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, COVERED ", UNIQUE(v, ts)); INSERT INTO t VALUES(3, 1), (1, 3), (2, 2)");
	run_gives(db, "2|1\n2|2\n2|3\n", "SELECT 2, v FROM (SELECT ts, v FROM t) LIMIT 3"); /* the order in which the table may be read */
	run_fails(db, REFUSED "sqlite_autoindex_t_1\"", INDEX);
	run(db, "ALTER TABLE \"t\" ADD COLUMN \"t_no_more\" INTEGER;" INDEX "INSERT INTO t(ts, v) VALUES(1, 9); UPDATE t SET v = 4 WHERE ts = 2; DELETE FROM t WHERE ts = 3");
	same_rows(db, "SELECT a, count, sum_v, max_v_id FROM t_if ORDER BY a", "SELECT a, count(*), sum(v), rowid FROM (SELECT rowid, * FROM t ORDER BY v DESC) GROUP BY a ORDER BY a");
	run(db, "DROP TABLE t_if; DROP TABLE t;" COVERED "); INSERT INTO t VALUES(3, 1), (1, 3), (2, 2); CREATE INDEX i ON t(ts);" INDEX);
	run(db, "DROP INDEX i; CREATE INDEX i ON t(ts, v) WHERE v > 0; CREATE INDEX k ON t(ts, c)");
	run_gives(db, "3\n", "SELECT sum(count) FROM t_if");
	run(db, "CREATE INDEX j ON t(ts, a, v)");
	run_fails(db, REFUSED "j\"", "SELECT sum(count) FROM t_if");
	run(db, "DROP INDEX j; INSERT INTO t(ts, v) VALUES(7, 7)");
	run_gives(db, "4\n", "SELECT sum(count) FROM t_if");
	run(db, "CREATE INDEX j ON t(ts, a, v); DROP TABLE t_if");
	run_fails(db, REFUSED "j\"", INDEX);
	close_database(db);
}

static void a_table_of_that_name_is_kept(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, PLAIN "CREATE TABLE t_if_mark(mine); INSERT INTO t_if_mark VALUES(5)");
	run_fails(db, "table \"t_if_mark\" already exists", INDEX);
	run(db, "DROP TABLE t; CREATE TABLE t(id INTEGER PRIMARY KEY, a, ts, v);" INDEX "DROP TABLE t_if");
	run_gives(db, "5\n", "SELECT mine FROM t_if_mark");
	close_database(db);
}

/* A connection that does not trust the schema of the file can still write. */
static void writers_need_not_trust_the_schema(void **state)
{
	sqlite3 *db = open_database(test_path("trust.db"), 0), *writer = open_plain(test_path("trust.db"), 0);

	(void)state;
	run(db, PLAIN TEN_ROWS INDEX ROWS_OF_INDEX);
	run(writer, "PRAGMA trusted_schema = 0; DELETE FROM t WHERE rowid = 2; INSERT INTO t(ts) VALUES(1)");
	expect_rows(db);
	run(writer, "VACUUM");
	run_fails(db, RENUMBERED, "SELECT count FROM t_if");
	close_database(writer);
	close_database(db);
	remove_database(test_path("trust.db"));
}

/* ---- random changes, copies and VACUUMs ---- */

struct round {
	struct random *random;
	const char *path; /* of the current database */
	int n_paths;
	sqlite3 *db, *writer; /* with the extension and without */
	bool must_hold;       /* since the last query nothing happened that may renumber rows */
	int *n_rebuilt, *n_held;
};

static const char *next_path(struct round *round)
{
	char name[32];

	snprintf(name, sizeof name, "copy%d.db", round->n_paths++ % 4);
	return test_path(name);
}

static void open_both(struct round *round, const char *path)
{
	if (round->db) {
		close_database(round->db);
		close_database(round->writer);
		remove_database(round->path);
	}
	round->path = path;
	round->db = open_database(path, 0);
	round->writer = open_plain(path, 0);
	run(round->db, "PRAGMA synchronous = OFF");
	run(round->writer, "PRAGMA synchronous = OFF");
}

/* Copies as .dump does: tables and their rows first, in the order of the schema, then indexes, triggers and views. */
static void copy_rows(const char *from, const char *to)
{
	sqlite3 *db = open_plain(to, 0);
	sqlite3_stmt *statement;

	run(db, "PRAGMA synchronous = OFF; ATTACH %Q AS source; BEGIN", from);
	for (int pass = 0; pass < 2; pass++) {
		assert_int_equal(sqlite3_prepare_v2(db, "SELECT type, name, sql FROM source.sqlite_schema WHERE sql NOT NULL AND (type = 'table') <> ?1 "
							"AND name NOT LIKE 'sqlite%' ORDER BY rowid", -1, &statement, NULL), SQLITE_OK);
		sqlite3_bind_int(statement, 1, pass);
		while (sqlite3_step(statement) == SQLITE_ROW) {
			const char *name = (const char *)sqlite3_column_text(statement, 1), *sql = (const char *)sqlite3_column_text(statement, 2);

			if (strncmp(sql, "CREATE VIRTUAL", 14) == 0) {
				run(db, "PRAGMA writable_schema = ON; INSERT INTO main.sqlite_schema VALUES('table', %Q, %Q, 0, %Q); PRAGMA writable_schema = OFF", name, name, sql);
				continue;
			}
			run(db, "%s", sql);
			if (pass == 0)
				run(db, "INSERT INTO main.\"%w\" SELECT * FROM source.\"%w\" WHERE 1", name, name);
		}
		sqlite3_finalize(statement);
	}
	run(db, "COMMIT");
	close_database(db);
}

static void back_up(sqlite3 *from, const char *to)
{
	sqlite3 *db = open_plain(to, 0);
	sqlite3_backup *backup;

	run(db, "PRAGMA synchronous = OFF; CREATE TABLE a(x); CREATE TABLE b(x); DROP TABLE a"); /* so that its schema cookie differs */
	backup = sqlite3_backup_init(db, "main", from, "main");
	assert_non_null(backup);
	assert_int_equal(sqlite3_backup_step(backup, -1), SQLITE_DONE);
	assert_int_equal(sqlite3_backup_finish(backup), SQLITE_OK);
	close_database(db);
}

static void happen(struct round *round)
{
	const char *path;

	switch (random_below(round->random, 7)) {
	case 0:
	case 1:
		run(one_in(round->random, 2) ? round->writer : round->db, "VACUUM");
		round->must_hold = false;
		break;
	case 2:
		path = next_path(round);
		copy_rows(round->path, path);
		open_both(round, path);
		round->must_hold = false;
		break;
	case 3:
		path = next_path(round);
		run(round->writer, "VACUUM INTO %Q", path);
		open_both(round, path);
		break;
	case 4:
		path = next_path(round);
		back_up(round->writer, path);
		open_both(round, path);
		break;
	case 5:
		run(round->writer, "CREATE INDEX IF NOT EXISTS i%d ON t(v); CREATE TABLE other(x); DROP TABLE other", (int)random_below(round->random, 2));
		break;
	default:
		run(round->writer, "DROP INDEX IF EXISTS i%d; ALTER TABLE t ADD COLUMN more DEFAULT 5; ALTER TABLE t DROP COLUMN more", (int)random_below(round->random, 2));
	}
}

static void change(struct round *round)
{
	static const char *const changes[] = {
		"INSERT INTO t(k, a, ts, v) VALUES('n' || random(), %d %% 3, %d, %d)",
		"INSERT INTO t(k, a, ts, v) SELECT 'm' || random(), %d %% 3, %d + rowid, %d FROM t LIMIT 30",
		"INSERT OR REPLACE INTO t(k, a, ts, v) VALUES('k%d', 1, %d, %d)",
		"INSERT OR IGNORE INTO t(k, a, ts, v) VALUES('k%d', 2, %d, %d)",
		"INSERT INTO t(k, a, ts, v) VALUES('k%d', 2, %d, %d) ON CONFLICT(k) DO UPDATE SET v = excluded.v",
		"INSERT OR REPLACE INTO t(rowid, k, a, ts, v) VALUES(%d - 3, 'r' || random(), 1, %d, %d)",
		"UPDATE t SET v = %d, ts = %d WHERE rowid %% 7 = %d %% 7",
		"UPDATE OR REPLACE t SET k = 'k%d' WHERE rowid = %d AND %d",
		"UPDATE OR REPLACE t SET rowid = %d WHERE rowid = %d AND %d",
		"DELETE FROM t WHERE rowid = %d AND %d AND %d",
		"DELETE FROM t WHERE rowid >= (SELECT max(rowid) FROM t) AND %d AND %d AND %d",
		"DELETE FROM t WHERE rowid > 2 * %d + 5 AND %d AND %d",
	};
	/* most changes keep rowids without gaps */
	int n = one_in(round->random, 3) ? (int)(sizeof changes / sizeof changes[0]) : 2;
	const char *format = changes[random_below(round->random, n)];

	run_any(round->writer, one_in(round->random, 60) ? "DELETE FROM t" : format, (int)random_below(round->random, 40) + 1,
		(int)random_below(round->random, 40) + 1, (int)random_below(round->random, 400) + 1);
}

static void ask(struct round *round)
{
	if (run_any(round->db, "SELECT count FROM t_if")) {
		if (round->must_hold || !strstr(last_message(), "may have other rowids"))
			fail_msg("%s (IFOREST_SEED=%" PRIu64 ")", last_message(), test_seed());
		run(round->db, "INSERT INTO t_if(t_if) VALUES('rebuild')");
		++*round->n_rebuilt;
	} else {
		*round->n_held += !round->must_hold;
	}
	round->must_hold = true;
	expect_rows(round->db);
}

static void rowids_are_right_or_not_used(void **state)
{
	static const char *const tables[] = { PLAIN, PLAIN "CREATE INDEX i0 ON t(v);", KEYED_BY_TEXT, PLAIN "CREATE UNIQUE INDEX u ON t(k);" };
	struct random random = { test_seed() };
	int n_rebuilt = 0, n_held = 0;

	(void)state;
	for (int i = 0; i < 16; i++) {
		struct round round = { .random = &random, .n_rebuilt = &n_rebuilt, .n_held = &n_held, .must_hold = true };

		open_both(&round, next_path(&round));
		run(round.db, "%s", tables[i % 4]);
		run(round.db, TEN_ROWS INDEX ROWS_OF_INDEX);
		for (int step = 0; step < 25; step++) {
			for (int64_t n = random_below(&random, 8); n >= 0; n--)
				change(&round);
			if (one_in(&random, 3) && !run_any(round.db, "SELECT count FROM t_if"))
				run(round.db, "INSERT INTO t_if(t_if) VALUES('flush')");
			if (one_in(&random, 3))
				happen(&round);
			if (one_in(&random, 2))
				change(&round);
			if (one_in(&random, 2))
				ask(&round);
		}
		ask(&round);
		run(round.db, "INSERT INTO t_if(t_if) VALUES('integrity-check')");
		close_database(round.db);
		close_database(round.writer);
		remove_database(round.path);
	}
	print_message("rebuilt %d times, held %d times\n", n_rebuilt, n_held);
	assert_true(n_rebuilt > 5 && n_held > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gap_is_noted_and_vacuum_is_noticed),
		cmocka_unit_test(a_table_with_another_key_keeps_its_rowids),
		cmocka_unit_test(a_table_with_gaps_is_taken_too),
		cmocka_unit_test(other_modes_notice_it),
		cmocka_unit_test(names_of_the_rowid_may_be_taken),
		cmocka_unit_test(a_table_made_anew_may_have_another_key),
		cmocka_unit_test(a_table_made_anew_with_its_triggers_is_noticed),
		cmocka_unit_test(an_index_of_all_columns_is_refused),
		cmocka_unit_test(a_table_of_that_name_is_kept),
		cmocka_unit_test(writers_need_not_trust_the_schema),
		cmocka_unit_test(rowids_are_right_or_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
