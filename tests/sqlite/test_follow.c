/* tests/sqlite/test_follow.c -- Tests of an index that follows its table: the next query sees every change, whoever makes it,
 * and a rollback leaves the index correct. If the index cannot follow, queries are errors. */
#include "harness.h"

#include "tests/support/sanitizer.h"

#define DETACHED "spans_if: detached from its table"
#define FLUSH "INSERT INTO spans_if(spans_if) VALUES('flush')"
#define REBUILD "INSERT INTO spans_if(spans_if) VALUES('rebuild')"
#define QUESTION "SELECT track, count, sum_dur FROM spans_if(0, 900) ORDER BY track"
#define PLAIN "SELECT track, count(*), sum(dur) FROM spans WHERE ts >= 0 AND ts < 900 GROUP BY track ORDER BY track"

static void make_index(sqlite3 *db)
{
	run(db, "CREATE TABLE tracks(track TEXT PRIMARY KEY); INSERT INTO tracks VALUES('a'), ('b'), ('c')");
	run(db, "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT REFERENCES tracks ON DELETE CASCADE ON UPDATE CASCADE, ts INTEGER, dur INTEGER,"
		" code INTEGER UNIQUE, note TEXT)");
	run(db, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300)"
		" INSERT INTO spans SELECT i, char(97 + i %% 3), i * 7 %% 1000, i %% 11, i, NULL FROM c");
	run(db, "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track)");
}

static void expect_good(sqlite3 *db)
{
	same_rows(db, QUESTION, PLAIN);
	same_rows(db, "SELECT track, count, sum_dur, min_dur, max_dur, first_ts, last_ts FROM spans_if ORDER BY track",
		  "SELECT track, count(*), sum(dur), min(dur), max(dur), min(ts), max(ts) FROM spans GROUP BY track ORDER BY track");
	same_rows(db, "SELECT track, bucket, count, sum_dur FROM spans_if(0, 1000, 10) ORDER BY track, bucket",
		  "SELECT track, ts / 100, count(*), sum(dur) FROM spans WHERE ts BETWEEN 0 AND 999 GROUP BY track, ts / 100 ORDER BY track, ts / 100");
	run(db, "INSERT INTO spans_if(spans_if) VALUES('integrity-check')");
}

/* Statements that change rows of the table. */
#define FROM_A_VIEW                                                                                             \
	"CREATE VIEW seen AS SELECT * FROM spans; CREATE TRIGGER through INSTEAD OF DELETE ON seen BEGIN"       \
	" DELETE FROM spans WHERE id = old.id; END; DELETE FROM seen WHERE id = 8"

static const char *const changes[] = {
	"INSERT INTO spans VALUES(1000, 'a', 5, 5, 1000, '')",
	"INSERT INTO spans DEFAULT VALUES",
	"INSERT INTO spans SELECT id + 1000, track, ts, dur, code + 1000, note FROM spans WHERE id < 5",
	"UPDATE spans SET dur = dur + 1 WHERE id = 5",
	"UPDATE spans SET ts = 3 WHERE id = 5",
	"UPDATE spans SET track = 'b' WHERE id = 3",
	"UPDATE spans SET id = 5000 WHERE id = 5",
	"UPDATE spans SET dur = 2 FROM tracks WHERE tracks.track = spans.track AND spans.id = 6",
	"DELETE FROM spans WHERE id = 5",
	"DELETE FROM spans",
	"DELETE FROM spans WHERE 1",
	"REPLACE INTO spans VALUES(5, 'a', 5, 55, 5, '')",
	"REPLACE INTO spans VALUES(1001, 'a', 5, 55, 7, '')",
	"INSERT OR REPLACE INTO spans VALUES(5, 'a', 5, 55, 8, '')",
	"UPDATE OR REPLACE spans SET code = 9 WHERE id = 10",
	"UPDATE OR REPLACE spans SET id = 9 WHERE id = 10",
	"INSERT INTO spans VALUES(5, 'a', 5, 55, 5, '') ON CONFLICT(id) DO UPDATE SET dur = excluded.dur",
	"INSERT INTO spans VALUES(1002, 'a', 5, 55, 5, '') ON CONFLICT(code) DO UPDATE SET ts = 12",
	"INSERT OR IGNORE INTO spans VALUES(5, 'a', 5, 5, 5, ''), (1003, 'a', 5, 5, 1003, '')",
	"DELETE FROM tracks WHERE track = 'b'",
	"UPDATE tracks SET track = 'z' WHERE track = 'b'",
	"REPLACE INTO tracks VALUES('b')",
	"CREATE TABLE other(x); CREATE TRIGGER far AFTER INSERT ON other BEGIN DELETE FROM spans WHERE id = new.x; END; INSERT INTO other VALUES(7)",
	FROM_A_VIEW,
	"WITH x AS (SELECT 5 AS y) UPDATE spans SET dur = 77 WHERE id IN (SELECT y FROM x) RETURNING dur",
};

enum { N_CHANGES = sizeof changes / sizeof changes[0] };

static void every_change_is_seen_at_once(void **state)
{
	(void)state;
	for (int settings = 0; settings < 4; settings += sanitizer_shortens() ? 3 : 1)
		for (int i = 0; i < N_CHANGES; i++) {
			sqlite3 *db = open_database(":memory:", 0);

			sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, settings / 2, NULL);
			run(db, "PRAGMA foreign_keys = 1; PRAGMA trusted_schema = %d; PRAGMA recursive_triggers = %d", 1 - settings / 2, settings % 2);
			make_index(db);
			run(db, "%s", changes[i]);
			expect_good(db);
			run(db, FLUSH);
			assert_int_equal(integer_of(db, "SELECT count(*) FROM spans_if_log"), 0);
			expect_good(db);
			run(db, "INSERT INTO spans(ts) VALUES(50)");
			expect_good(db);
			run(db, REBUILD);
			assert_int_equal(integer_of(db, "SELECT count(*) FROM spans_if_log"), 0);
			expect_good(db);
			close_database(db);
		}
}

static void a_change_is_undone_by_a_rollback(void **state)
{
	(void)state;
	for (int i = 0; i < N_CHANGES; i++)
		for (int with_flush = 0; with_flush < 2; with_flush++) {
			const char *flush = with_flush ? FLUSH : "";
			sqlite3 *db = open_database(":memory:", 0);

			run(db, "PRAGMA foreign_keys = 1");
			make_index(db);
			expect_good(db);
			run(db, "BEGIN; %s; %s", changes[i], flush);
			expect_good(db);
			run(db, "ROLLBACK");
			expect_good(db);
			run(db, "BEGIN; UPDATE spans SET dur = dur + 1 WHERE id > 290; SAVEPOINT a; %s; %s; ROLLBACK TO a", changes[i], flush);
			expect_good(db);
			run(db, "SAVEPOINT b; %s; RELEASE b; %s", changes[i], flush);
			expect_good(db);
			run(db, "ROLLBACK TO a; INSERT INTO spans(ts, dur) VALUES(5, 6)");
			expect_good(db);
			run(db, "COMMIT");
			expect_good(db);
			close_database(db);
		}
}

static void a_prepared_question_follows(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);
	sqlite3_stmt *question;
	int64_t before;

	(void)state;
	make_index(db);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT sum(sum_dur) FROM spans_if", -1, &question, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(question), SQLITE_ROW);
	before = sqlite3_column_int64(question, 0);
	for (int i = 1; i < 40; i++) {
		sqlite3_reset(question);
		run(db, "UPDATE spans SET dur = dur + 1 WHERE id IN (%d, %d)", i % 7, i);
		if (i % 9 == 0)
			run(db, FLUSH);
		assert_int_equal(sqlite3_step(question), SQLITE_ROW);
		before += integer_of(db, "SELECT count(*) FROM spans WHERE id IN (%d, %d)", i % 7, i);
		assert_int_equal(sqlite3_column_int64(question, 0), before);
	}
	sqlite3_finalize(question);
	close_database(db);
}

/* A row's entry in the runs has the key that the first row of the log names, not the last. */
static void two_updates_in_one_seal(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	make_index(db);
	run(db, "PRAGMA reverse_unordered_selects = 1");
	run(db, "UPDATE spans SET ts = 500, track = 'b' WHERE id = 4; UPDATE spans SET ts = 501, track = 'new' WHERE id = 4");
	expect_good(db);
	run(db, "UPDATE spans SET id = 4000 WHERE id = 4; INSERT INTO spans(id, track, ts) VALUES(4, 'a', 1); DELETE FROM spans WHERE id = 4000");
	expect_good(db);
	run(db, FLUSH);
	expect_good(db);
	run(db, "UPDATE spans SET ts = 2 WHERE id = 4; " FLUSH);
	expect_good(db);
	close_database(db);
}

/* A BEFORE INSERT trigger sees a row that has no rowid yet as one with rowid -1, which is also a valid rowid. */
static void the_row_minus_one_is_followed(void **state)
{
	static const char *const steps[] = {
		"REPLACE INTO spans VALUES(-1, 'b', 51, 7, -1, '')", FLUSH, "REPLACE INTO spans VALUES(-1, 'c', 52, 9, -2, '')",
		"REPLACE INTO spans VALUES(-1, 'a', 53, 11, -2, '')", FLUSH, "UPDATE spans SET ts = 54 WHERE id = -1",
		"REPLACE INTO spans VALUES(-1, 'b', 55, 12, 5, '')", FLUSH, FLUSH, "DELETE FROM spans WHERE id = -1",
		"INSERT INTO spans(id, track, ts) VALUES(-1, 'a', 56)", FLUSH, "DELETE FROM spans WHERE id = -1", FLUSH,
		"REPLACE INTO spans VALUES(-1, 'c', 57, 13, 6, '')", "REPLACE INTO spans VALUES(-1, 'b', 58, 14, 6, '')", REBUILD,
		"REPLACE INTO spans VALUES(-1, 'a', 59, 15, 7, '')", "UPDATE OR REPLACE spans SET id = -1 WHERE id = 30",
		"INSERT INTO spans_if(spans_if) VALUES('optimize')", "REPLACE INTO spans VALUES(-1, 'a', 60, 16, 8, '')",
		"DELETE FROM spans WHERE id <> -1", "INSERT INTO spans(track, ts) VALUES('a', 7)", "DELETE FROM spans; " FLUSH,
		"INSERT INTO spans(id, track, ts) VALUES(-2, 'a', 9)", "INSERT INTO spans(track, ts) VALUES('a', 10)", FLUSH,
		"REPLACE INTO spans VALUES(-1, 'a', 61, 17, 9, '')",
	};

	(void)state;
	for (int had_it = 0; had_it < 2; had_it++)
		for (int rolls_back = 0; rolls_back < 2; rolls_back++) {
			sqlite3 *db = open_database(":memory:", 0);

			make_index(db);
			if (had_it) {
				run(db, "DROP TABLE spans_if; INSERT INTO spans VALUES(-1, 'a', 50, 5, 0, '')");
				run(db, "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track)");
			}
			for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
				if (rolls_back) {
					run(db, "BEGIN; REPLACE INTO spans VALUES(-1, 'z', 3, 3, 3, ''); " FLUSH "; REPLACE INTO spans VALUES(-1, 'y', 4, 4, 4, '')");
					expect_good(db);
					run(db, "ROLLBACK");
				}
				run(db, "%s", steps[i]);
				expect_good(db);
			}
			assert_int_equal(integer_of(db, "SELECT max(id) FROM spans"), -1);
			close_database(db);
		}
}

/* Within a transaction SQLite does not undo a command that fails, so that every part of it must leave the index correct. */
static void a_command_that_a_trigger_of_the_user_ends_does_no_harm(void **state)
{
	static const char *const triggers[] = {
		"BEFORE DELETE ON spans_if_log", "AFTER DELETE ON spans_if_log WHEN old.seq % 3 = 0", "BEFORE INSERT ON spans_if_log WHEN new.id = -1",
		"BEFORE INSERT ON spans_if_page", "BEFORE INSERT ON spans_if_page WHEN new.id = 0", "AFTER INSERT ON spans_if_page WHEN new.id = 0",
		"BEFORE DELETE ON spans_if_page", "BEFORE INSERT ON spans_if_series", "BEFORE INSERT ON spans_if_config", "BEFORE DELETE ON spans_if_config",
	};
	static const char *const commands[] = { FLUSH, "INSERT INTO spans_if(spans_if) VALUES('optimize')", REBUILD };

	(void)state;
	for (size_t t = 0; t < sizeof triggers / sizeof *triggers; t++)
		for (int c = 0; c < 3; c++)
			for (int in_transaction = 0; in_transaction < 2; in_transaction++) {
				sqlite3 *db = open_database(":memory:", 0);
				bool failed;

				make_index(db);
				run(db, "INSERT INTO spans(id, track, ts, dur) VALUES(-1, 'a', 1, 1), (-5, 'b', 2, 2)");
				run(db, FLUSH "; UPDATE spans SET dur = dur + 1, ts = ts + 3 WHERE id %% 5 = 0; DELETE FROM spans WHERE id %% 7 = 0;"
					"REPLACE INTO spans VALUES(-1, 'new', 5, 5, 5, ''); INSERT INTO spans(track, ts, dur) VALUES('newer', 6, 60)");
				run(db, "CREATE TRIGGER mine %s BEGIN SELECT RAISE(ABORT, 'not so'); END", triggers[t]);
				run(db, in_transaction ? "BEGIN; UPDATE spans SET dur = 9 WHERE id = 8" : "SELECT 1");
				failed = run_any(db, commands[c]) != SQLITE_OK;
				if (run_any(db, QUESTION) == SQLITE_OK)
					expect_good(db);
				else
					assert_true(failed && in_transaction && c == 2 &&
						    strncmp(last_message(), DETACHED, strlen(DETACHED)) == 0);
				run(db, in_transaction ? "COMMIT; DROP TRIGGER mine" : "DROP TRIGGER mine");
				if (failed && in_transaction && c == 2 && run_any(db, QUESTION))
					run(db, REBUILD);
				expect_good(db);
				run(db, "DELETE FROM spans WHERE id < 20; " FLUSH);
				expect_good(db);
				close_database(db);
			}
}

static void what_changes_nothing_leaves_it_good(void **state)
{
	static const char *const harmless[] = {
		"DELETE FROM spans WHERE id = 99999",
		"UPDATE spans SET dur = 5 WHERE 0",
		"INSERT INTO spans SELECT * FROM spans WHERE 0",
		"CREATE INDEX more ON spans(ts)",
		"CREATE TRIGGER mine AFTER INSERT ON spans BEGIN SELECT 1; END",
		"ALTER TABLE spans ADD COLUMN extra DEFAULT 5",
		"ALTER TABLE spans ADD COLUMN another; ALTER TABLE spans DROP COLUMN another",
		"ALTER TABLE spans ADD COLUMN made AS (ts / 2)",
		"ALTER TABLE spans RENAME COLUMN note TO remark",
		"CREATE UNIQUE INDEX u ON spans(code) WHERE code > 5; DROP INDEX u",
		"ANALYZE; REINDEX; VACUUM",
		"INSERT INTO tracks VALUES('new')",
	};
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	make_index(db);
	for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
		run(db, "%s", harmless[i]);
		expect_good(db);
	}
	close_database(db);
}

static void changes_of_another_connection_are_seen(void **state)
{
	static const char *const modes[] = { "DELETE", "WAL" };

	(void)state;
	for (int m = 0; m < 2; m++) {
		const char *path = test_path("followed.db");
		sqlite3 *db = open_database(path, 0), *writer;

		run(db, "PRAGMA journal_mode = %s", modes[m]);
		make_index(db);
		for (int i = 0; i < N_CHANGES; i++) {
			expect_good(db);
			writer = i % 2 ? open_database(path, 0) : open_plain(path, 0); /* with or without the extension */
			run(writer, "PRAGMA foreign_keys = 1; BEGIN; %s; ROLLBACK", changes[i]);
			expect_good(db);
			run(writer, "%s", changes[i]);
			close_database(writer);
			expect_good(db);
			run(db, "DELETE FROM spans; DELETE FROM tracks; DROP TABLE spans_if; DROP TABLE spans; DROP TABLE tracks;"
				"DROP TABLE IF EXISTS other; DROP VIEW IF EXISTS seen");
			make_index(db);
		}
		close_database(db);
		remove_database(path);
	}
}

/* Ways to detach an index from its table. If `heals`, a rebuild must repair the index. */
static const struct {
	const char *change, *message;
	bool heals;
} partings[] = {
	{ "DROP TABLE spans", DETACHED, false },
	{ "DROP TABLE spans; CREATE TABLE spans(id INTEGER PRIMARY KEY, track CHAR, ts, dur)", DETACHED, true },
	{ "DROP TABLE spans; CREATE TABLE spans(id INTEGER PRIMARY KEY, track, ts, dur)", DETACHED, false },
	{ "CREATE TABLE new(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER, code, extra); INSERT INTO new SELECT id, track, ts, dur + 1, code, 0 FROM spans;"
	  "DROP TABLE spans; ALTER TABLE new RENAME TO spans", DETACHED, true },
	{ "ALTER TABLE spans RENAME TO old; CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER);"
	  "INSERT INTO spans SELECT id, track, ts, dur + 1 FROM old; DROP TABLE old", DETACHED, true },
	{ "DROP TRIGGER spans_if_insert", DETACHED, true },
	{ "DROP TRIGGER spans_if_update", DETACHED, true },
	{ "DROP TRIGGER spans_if_delete", DETACHED, true },
	{ "DROP TRIGGER spans_if_delete; DELETE FROM spans WHERE id = 5", DETACHED, true },
	{ "DROP TRIGGER spans_if_insert; CREATE TRIGGER spans_if_insert AFTER INSERT ON spans BEGIN SELECT 1; END", DETACHED, true },
	{ "DROP TRIGGER spans_if_insert; CREATE TRIGGER spans_if_insert AFTER INSERT ON tracks BEGIN INSERT INTO spans_if_log(id) VALUES(new.rowid); END", DETACHED, true },
	{ "DROP TABLE spans; CREATE VIEW spans AS SELECT 1 AS ts", "spans_if: ", false },
	{ "DROP TABLE spans_if_log", DETACHED, true },
	{ "DROP TRIGGER spans_if_before_insert", DETACHED, true },
	{ "CREATE UNIQUE INDEX later ON spans(ts, id)", DETACHED, true },
	{ "CREATE UNIQUE INDEX later ON spans(note COLLATE NOCASE)", DETACHED, true },
	{ "CREATE UNIQUE INDEX later ON spans(note) WHERE id > 5", DETACHED, false },
	{ "CREATE UNIQUE INDEX later ON spans(abs(code))", DETACHED, false },
	{ "CREATE TRIGGER mine AFTER INSERT ON spans BEGIN SELECT RAISE(IGNORE); END", "spans_if: trigger \"mine\" on \"spans\" says RAISE(IGNORE)", true },
	{ "CREATE TRIGGER mine AFTER INSERT ON spans WHEN new.id = 5 BEGIN SELECT raise ( /* ( */ Fail, 'no'); END", "spans_if: trigger \"mine\" on \"spans\" says RAISE(FAIL)", true },
	{ "CREATE TRIGGER mine AFTER INSERT ON spans WHEN new.id = 5 BEGIN INSERT OR FAIL INTO tracks VALUES('a'); END", "spans_if: trigger \"mine\" on \"spans\" says OR FAIL", true },
	{ "CREATE TRIGGER mine AFTER INSERT ON spans BEGIN INSERT OR IGNORE INTO tracks VALUES('a'); END", "spans_if: trigger \"mine\" on \"spans\" says OR IGNORE", true },
};

/* Who detaches the index, and who queries it then. */
enum parter { ITSELF, AND_IS_OPENED_AGAIN, ANOTHER_CONNECTION, N_PARTERS };

static sqlite3 *part(sqlite3 *db, const char *path, const char *change, enum parter parter)
{
	sqlite3 *other;

	if (parter == ANOTHER_CONNECTION) {
		other = open_database(path, 0);
		run(other, "BEGIN; %s; COMMIT", change);
		close_database(other);
		return db;
	}
	run(db, "BEGIN; %s; COMMIT", change);
	if (parter == ITSELF)
		return db;
	close_database(db);
	return open_database(path, 0);
}

static void expect_parted(sqlite3 *db, size_t i)
{
	int rc = run_any(db, QUESTION);

	if (rc == SQLITE_OK || strncmp(last_message(), partings[i].message, strlen(partings[i].message)) != 0 ||
	    (partings[i].heals && !strstr(last_message(), "'rebuild'")))
		fail_msg("after %s\n  it answers, or says: %s\n  instead of: %s", partings[i].change, last_message(), partings[i].message);
	rc = run_any(db, REBUILD);
	if (partings[i].heals && rc)
		fail_msg("after %s\n  rebuild fails: %s", partings[i].change, last_message());
	if (rc == SQLITE_OK) {
		expect_good(db);
		run(db, "DELETE FROM spans WHERE id = 7; INSERT INTO spans(id, track, ts, dur) VALUES(70000, 'c', 3, 3)");
		expect_good(db);
	}
	if (run_any(db, "DROP TABLE spans_if"))
		fail_msg("after %s\n  DROP TABLE fails: %s", partings[i].change, last_message());
	assert_int_equal(integer_of(db, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'spans_if%%'"),
			 strstr(partings[i].change, "ON tracks BEGIN") != NULL && rc ? 1 : 0);
}

static void a_parted_index_says_so(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof partings / sizeof partings[0]; i++)
		for (enum parter parter = 0; parter < N_PARTERS; parter++) {
			const char *path = test_path("parted.db");
			sqlite3 *db = open_database(path, 0);

			make_index(db);
			expect_good(db);
			db = part(db, path, partings[i].change, parter);
			expect_parted(db, i);
			close_database(db);
			remove_database(path);
		}
}

/* The index's triggers look for rows by the columns of UNIQUE indexes, so that a dropped one is noticed, too. */
static void a_unique_index_that_goes_is_noticed(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	make_index(db);
	run(db, "CREATE UNIQUE INDEX later ON spans(ts, id); " REBUILD);
	expect_good(db);
	run(db, "DROP INDEX later");
	run_fails(db, DETACHED, QUESTION);
	run(db, REBUILD);
	expect_good(db);
	close_database(db);
}

/* Renames columns that the triggers name, but the index does not hold. */
static void renames_beside_the_index_are_followed(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	make_index(db);
	run(db, "ALTER TABLE spans RENAME COLUMN code TO number; REPLACE INTO spans(id, track, ts, dur, number) VALUES(7000, 'a', 5, 5, 9)");
	expect_good(db);
	run(db, "ALTER TABLE spans RENAME COLUMN id TO key; UPDATE spans SET key = 9000 WHERE key = 10;"
		"REPLACE INTO spans(key, track, ts, dur) VALUES(11, 'b', 5, 5)");
	expect_good(db);
	run(db, FLUSH "; DELETE FROM spans WHERE key < 20");
	expect_good(db);
	close_database(db);
}

/* SQLite compares a by column by the type that it had when the index was connected, so a rebuild with another type is
 * refused. */
static void a_by_column_keeps_its_type(void **state)
{
	static const char *const syncs[] = { "log", "append", "manual" };
	static const char *const numbers = "WITH n(i) AS (VALUES(5), (10)) INSERT INTO t SELECT i, i, i, i FROM n";

	(void)state;
	for (int s = 0; s < 3; s++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER); %s;"
			"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=dur, by=(dur AS d, track), sync=%s);"
			"CREATE VIRTUAL TABLE f USING iforest_fold(t_if, track); CREATE VIRTUAL TABLE r USING iforest_rows(t_if)", numbers, syncs[s]);
		run_gives(db, "5|1\n10|1\n", "SELECT track, count FROM f WHERE track < '6' ORDER BY length(track)");
		run(db, "DROP TABLE t; CREATE TABLE t(id INTEGER PRIMARY KEY, track INTEGER, ts INTEGER, dur INTEGER); %s", numbers);
		for (int again = 0; again < 2; again++)
			run_fails(db, "t_if: by column \"track\" has affinity INTEGER now, and had TEXT when the index was made; run DROP TABLE \"t_if\"",
				  "INSERT INTO t_if(t_if) VALUES('rebuild')");
		run(db, "DROP TABLE t_if;"
			"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=dur, by=(dur AS d, track), sync=%s)", syncs[s]);
		run_gives(db, "5|1\n", "SELECT track, count FROM t_if WHERE track < '6'");
		run_fails(db, "t_if: the index was made anew with other columns", "SELECT track, count FROM f WHERE track < '6'");
		run_fails(db, "t_if: the index was made anew with other columns", "SELECT id FROM r WHERE track < '6'");
		run(db, "DROP TABLE f; CREATE VIRTUAL TABLE f USING iforest_fold(t_if, track)");
		run_gives(db, "5|1\n", "SELECT track, count FROM f WHERE track < '6'");
		close_database(db);
	}
}

/* If a function gives the rowid in a single row of VALUES, SQLite passes triggers another rowid than it inserts. These forms
 * are not affected. */
static void rows_at_random_places_are_followed(void **state)
{
	static const char *const places[] = {
		"INSERT OR REPLACE INTO spans(id, track, ts) SELECT abs(random()) % 20, 'b', 1",
		"INSERT OR REPLACE INTO spans(id, track, ts) VALUES(abs(random()) % 20, 'b', 2), (abs(random()) % 20, 'c', 3)",
		"INSERT OR REPLACE INTO spans(id, track, ts) VALUES((SELECT abs(random()) % 20), 'b', 4)",
		"UPDATE OR REPLACE spans SET id = abs(random()) % 20 WHERE id = (SELECT min(id) FROM spans)",
		"PRAGMA recursive_triggers = 1; INSERT OR REPLACE INTO spans(id, track, ts) VALUES(abs(random()) % 20, 'c', 5)",
	};
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	make_index(db);
	for (size_t p = 0; p < sizeof places / sizeof *places; p++)
		for (int i = 0; i < 10; i++) {
			run(db, "%s", places[p]);
			expect_good(db);
		}
	close_database(db);
}

/* With legacy_alter_table SQLite does not rewrite the bodies of triggers: writes fail until a rebuild. */
static void a_table_renamed_the_old_way_is_found(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	make_index(db);
	run(db, "PRAGMA legacy_alter_table = 1; ALTER TABLE spans RENAME TO moved");
	run_fails(db, DETACHED, QUESTION);
	run(db, REBUILD "; UPDATE moved SET dur = 7 WHERE id < 5; ALTER TABLE moved RENAME TO spans; " REBUILD);
	expect_good(db);
	run(db, "REPLACE INTO spans VALUES(5, 'a', 5, 55, 8, '')");
	expect_good(db);
	close_database(db);
}

/* The log of an earlier version had one more column, which its triggers filled by random(). */
static void an_index_of_an_earlier_version_is_made_well_by_rebuild(void **state)
{
	static const char *const names[] = { "before_insert", "insert", "update", "delete" };
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	make_index(db);
	run(db, "DROP TABLE spans_if_log; CREATE TABLE spans_if_log(seq INTEGER PRIMARY KEY, nonce INTEGER, id INTEGER, was INTEGER, time, by_0)");
	for (int i = 0; i < 4; i++) {
		char *sql = sqlite3_mprintf("SELECT replace(replace(replace(replace(sql, '_log\"(', '_log\"(nonce, '), 'VALUES(', 'VALUES(random(), '),"
					    " ' SELECT new.', ' SELECT random(), new.'), 'SELECT s.', 'SELECT random(), s.')"
					    " FROM sqlite_schema WHERE name = 'spans_if_%s'", names[i]);
		char *trigger = rows_of(db, sql);

		run(db, "DROP TRIGGER spans_if_%s; %s", names[i], trigger);
		free(trigger);
		sqlite3_free(sql);
	}
	run(db, "UPDATE spans SET dur = 50 WHERE id = 5; INSERT INTO spans(track, ts) VALUES('new', 6); REPLACE INTO spans(id, ts) VALUES(7, 8)");
	assert_int_equal(integer_of(db, "SELECT count(*) FROM spans_if_log WHERE nonce NOTNULL"), 4);
	run_fails(db, DETACHED, QUESTION);
	run_fails(db, DETACHED, FLUSH);
	run(db, REBUILD);
	expect_good(db);
	run(db, "UPDATE spans SET dur = 60 WHERE id = 5; INSERT INTO spans(track, ts) VALUES('newer', 6)");
	expect_good(db);
	run(db, "BEGIN; DELETE FROM spans WHERE id < 9");
	expect_good(db);
	run(db, "ROLLBACK; DELETE FROM spans WHERE id > 9; " FLUSH);
	expect_good(db);
	close_database(db);
}

static void renamed_columns_are_noticed(void **state)
{
	static const char *const renames[] = {
		"ALTER TABLE spans RENAME COLUMN dur TO duration",
		"ALTER TABLE spans RENAME COLUMN ts TO \"start of it\"",
		"ALTER TABLE spans RENAME COLUMN track TO thread",
		"ALTER TABLE spans RENAME COLUMN dur TO x; ALTER TABLE spans RENAME COLUMN code TO dur",
	};

	(void)state;
	for (size_t i = 0; i < sizeof renames / sizeof renames[0]; i++) {
		sqlite3 *db = open_database(":memory:", 0);

		make_index(db);
		run(db, "CREATE VIRTUAL TABLE folded USING iforest_fold(spans_if)");
		run(db, "BEGIN; %s", renames[i]);
		run_fails(db, DETACHED, QUESTION);
		run_fails(db, DETACHED, "SELECT * FROM folded");
		if (i < 3)
			run_fails(db, "iforest: no column", REBUILD);
		run(db, "UPDATE spans SET id = id + 1 WHERE id = 300; ROLLBACK");
		expect_good(db);
		run(db, "%s; DROP TABLE spans_if", renames[i]);
		assert_int_equal(integer_of(db, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'spans_if%%'"), 0);
		close_database(db);
	}
}

static void a_column_under_an_index_is_not_made_anew_unseen(void **state)
{
	static const char *const columns[] = { "ts", "dur", "note" };

	(void)state;
	for (int i = 0; i < 3; i++) {
		sqlite3 *db = open_database(":memory:", 0);

		make_index(db);
		run(db, "DROP TABLE spans_if; CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=(track, note))");
		run_fails(db, "error in trigger spans_if_", "ALTER TABLE spans DROP COLUMN %s", columns[i]);
		expect_good(db);
		run(db, "DROP TABLE spans_if; ALTER TABLE spans DROP COLUMN %s", columns[i]);
		close_database(db);
	}
}

static uint64_t content_of_index(sqlite3 *db)
{
	return digest_of(db, "SELECT * FROM spans_if_page UNION ALL SELECT * FROM spans_if_series UNION ALL SELECT * FROM spans_if_config"
			     " UNION ALL SELECT name, sql FROM sqlite_schema UNION ALL SELECT seq, id FROM spans_if_log");
}

/* SQLite runs the newest trigger first, so that a user's trigger may run before those of the index. */
static void triggers_of_the_user_hide_nothing(void **state)
{
	static const char *const refused = "spans_if: a command cannot be run by a trigger";
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	make_index(db);
	run(db, "CREATE TABLE seen(sum); CREATE TRIGGER mine BEFORE UPDATE ON spans BEGIN INSERT INTO seen SELECT sum(sum_dur) FROM spans_if; END;"
		"CREATE TRIGGER mine_too BEFORE DELETE ON spans BEGIN INSERT INTO seen SELECT sum(sum_dur) FROM spans_if; END;"
		"DROP TABLE spans_if; CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track)");
	for (int i = 0; i < 3; i++) {
		run(db, "UPDATE spans SET dur = dur + 1 WHERE id < 9");
		expect_good(db);
		run(db, "BEGIN; DELETE FROM spans WHERE id < 4");
		expect_good(db);
		run(db, "DROP TRIGGER mine; CREATE TRIGGER mine BEFORE UPDATE ON spans BEGIN INSERT INTO seen SELECT sum(sum_dur) FROM spans_if; END; ROLLBACK");
		expect_good(db);
	}
	run(db, "DROP TRIGGER mine; CREATE TRIGGER mine BEFORE INSERT ON spans BEGIN " FLUSH "; END");
	run_fails(db, refused, "INSERT INTO spans VALUES(1001, 'a', 5, 5, 1001, '')");
	run(db, "DROP TRIGGER mine; CREATE TRIGGER mine BEFORE INSERT ON spans BEGIN " REBUILD "; END");
	run_fails(db, refused, "INSERT INTO spans VALUES(1001, 'a', 5, 5, 1001, '')");
	run(db, "DROP TRIGGER mine; CREATE VIEW door AS SELECT 1 AS x; CREATE TRIGGER mine INSTEAD OF INSERT ON door BEGIN " FLUSH "; END");
	run_fails(db, refused, "INSERT INTO door VALUES(1)");
	run(db, "/* INSERT INTO door */ -- INTO\n INSERT OR ABORT INTO main . \"SPANS_IF\" (spans_if) VALUES('flush')");
	run(db, "CREATE TRIGGER ignorer BEFORE DELETE ON spans WHEN old.id = 9 BEGIN SELECT RAISE(IGNORE); END; DELETE FROM spans WHERE id < 12");
	expect_good(db);
	close_database(db);
}

/* Statements of an AFTER INSERT trigger that keep the row, and may prevent the triggers after it. */
static const char *const endings[] = {
	"SELECT RAISE(IGNORE)", "SELECT RAISE(FAIL, 'no')", "INSERT OR FAIL INTO tracks VALUES('a')", "INSERT OR IGNORE INTO tracks VALUES('a')",
};

enum { N_ENDINGS = sizeof endings / sizeof endings[0] };

static void insert_in_every_way(sqlite3 *db)
{
	static const char *const ways[] = { "INSERT", "INSERT OR FAIL", "INSERT OR IGNORE", "INSERT OR REPLACE" };
	int64_t n_before = integer_of(db, "SELECT count(*) FROM spans");

	for (int w = 0; w < 4; w++)
		run_any(db, "%s INTO spans(track, ts, dur) VALUES('a', 5, %d)", ways[w], w);
	assert_true(integer_of(db, "SELECT count(*) FROM spans") > n_before);
}

/* A trigger that is older than the index runs after that of the index, and hides nothing. */
static void older_triggers_may_end_an_insert(void **state)
{
	(void)state;
	for (int e = 0; e < N_ENDINGS; e++) {
		const char *path = test_path("older.db");
		sqlite3 *db = open_database(path, 0);

		make_index(db);
		run(db, "CREATE TRIGGER mine AFTER INSERT ON spans BEGIN %s; END; " REBUILD, endings[e]);
		insert_in_every_way(db);
		expect_good(db);
		run(db, "ALTER TABLE spans ADD COLUMN more; VACUUM");
		insert_in_every_way(db);
		close_database(db);
		db = open_database(path, 0);
		insert_in_every_way(db);
		expect_good(db);
		close_database(db);
		remove_database(path);
	}
}

/* A temporary trigger runs before all others. */
static void temporary_triggers_may_not_end_an_insert(void **state)
{
	static const char *const refused = "spans_if: temporary trigger \"mine\" on \"spans\" says ";

	(void)state;
	for (int e = 0; e < N_ENDINGS; e++) {
		sqlite3 *db = open_database(":memory:", 0);

		make_index(db);
		run(db, "CREATE TEMP TABLE other(x); CREATE TEMP TRIGGER mine AFTER INSERT ON other BEGIN %s; END", endings[e]);
		run(db, "CREATE TEMP TRIGGER early BEFORE INSERT ON spans WHEN new.id = 1 BEGIN %s; END", endings[e]);
		expect_good(db);
		run(db, "DROP TRIGGER mine; CREATE TEMP TRIGGER mine AFTER INSERT ON spans BEGIN %s; END", endings[e]);
		insert_in_every_way(db);
		run_fails(db, refused, QUESTION);
		run_fails(db, refused, FLUSH);
		run_fails(db, refused, REBUILD);
		run(db, "DROP TRIGGER mine; " REBUILD);
		expect_good(db);
		close_database(db);
	}
}

/* Columns into which REPLACE puts a default, and how many of 300 rows (z counts from 1, code is 0 to 4) may then be
 * replaced. */
static const struct {
	const char *columns;
	int n_logged;
} defaults[] = {
	{ "z INTEGER NOT NULL DEFAULT 7 UNIQUE, code", 1 },
	{ "z REAL NOT NULL DEFAULT +7.0 UNIQUE, code", 1 },
	{ "z INTEGER NOT NULL DEFAULT '7' UNIQUE, code", 1 },
	{ "z TEXT NOT NULL DEFAULT 7 UNIQUE, code", 1 },
	{ "z NOT NULL DEFAULT -7 UNIQUE, code", 0 },
	{ "z TEXT NOT NULL DEFAULT 'it''s 7' UNIQUE, code", 0 },
	{ "z NOT NULL DEFAULT (3 + 4) UNIQUE, code", 300 },
	{ "z NOT NULL DEFAULT 0x7 UNIQUE, code", 300 },
	{ "z NOT NULL DEFAULT CURRENT_DATE UNIQUE, code", 300 },
	{ "made AS (track || ts), z NOT NULL DEFAULT 7 UNIQUE, code", 1 },
	{ "z NOT NULL DEFAULT (3 + 4), code, UNIQUE(code, z)", 60 },
	{ "z NOT NULL DEFAULT 7, code, UNIQUE(z, code)", 1 },
	{ "z NOT NULL DEFAULT 7, code NOT NULL DEFAULT 2, UNIQUE(z, code)", 1 },
	{ "z INTEGER NOT NULL DEFAULT 7, code NOT NULL DEFAULT 3, UNIQUE(code, z)", 1 },
};

static void a_default_logs_the_rows_in_its_way_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER, %s)", defaults[i].columns);
		run(db, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300)"
			" INSERT INTO spans SELECT i, char(97 + i %% 3), i * 7 %% 1000, i %% 11, i, i %% 5 FROM c");
		run(db, "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track)");
		run(db, "INSERT OR IGNORE INTO spans VALUES(5000, 'a', 5, 5, NULL, 2)");
		if (integer_of(db, "SELECT count(*) FROM spans_if_log") != defaults[i].n_logged)
			fail_msg("%s: logs %"PRId64" rows", defaults[i].columns, integer_of(db, "SELECT count(*) FROM spans_if_log"));
		for (int code = 0; code < 5; code++) {
			run(db, "INSERT OR REPLACE INTO spans VALUES(%d, 'a', 5, 5, NULL, %d), (NULL, 'b', 6, 6, NULL, %d)", 1000 + code, code, code);
			expect_good(db);
			run_any(db, "UPDATE OR REPLACE spans SET z = NULL, code = NULL WHERE id = %d", 20 + code);
			expect_good(db);
		}
		run(db, FLUSH);
		expect_good(db);
		close_database(db);
	}
}

static void a_rename_takes_no_trigger_of_the_user(void **state)
{
	static const char *const names[] = { "before_insert", "insert", "update", "delete" };

	(void)state;
	for (int i = 0; i < 4; i++) {
		sqlite3 *db = open_database(":memory:", 0);
		uint64_t before;

		make_index(db);
		run(db, "CREATE TABLE seen(id); CREATE TRIGGER y_%s AFTER DELETE ON spans BEGIN INSERT INTO seen VALUES(old.id); END", names[i]);
		before = content_of_index(db);
		run_fails(db, "iforest: there is already a trigger named \"y_", "ALTER TABLE spans_if RENAME TO y");
		assert_true(content_of_index(db) == before);
		run(db, "DELETE FROM spans WHERE id = 5");
		run_gives(db, "5\n", "SELECT id FROM seen");
		expect_good(db);
		close_database(db);
	}
}

static void a_command_inserts_no_row_of_the_user(void **state)
{
	static const char *const commands[] = { "flush", "merge", "optimize", "rebuild", "integrity-check" };
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	make_index(db);
	for (int i = 0; i < 5; i++) {
		run(db, "INSERT INTO spans(id, track, ts) VALUES(%d, 'a', 5); INSERT INTO spans_if(spans_if) VALUES('%s')", 7000 + i, commands[i]);
		assert_int_equal(sqlite3_last_insert_rowid(db), 7000 + i);
	}
	run(db, "UPDATE spans SET ts = 'late' WHERE id = 7000");
	run_fails(db, "iforest: time column \"ts\" of row 7000 holds text", REBUILD);
	assert_int_equal(sqlite3_last_insert_rowid(db), 7004);
	close_database(db);
}

/* The result of a query inside a statement that changes the table is not cached, because a row may be half changed. */
static void what_is_read_in_between_is_not_kept(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	make_index(db);
	run(db, "UPDATE spans SET dur = (SELECT sum(max_dur) FROM spans_if) + id WHERE id < 20");
	expect_good(db);
	run(db, "BEGIN; UPDATE spans SET dur = (SELECT sum(count) FROM spans_if(0, 500)) WHERE id > 250; INSERT INTO spans(track, ts, dur)"
		" SELECT track, bucket, count FROM spans_if(0, 900, 9)");
	expect_good(db);
	run(db, "COMMIT");
	expect_good(db);
	close_database(db);
}

/* SQLite reuses a schema version that was rolled back, for another schema. */
static void a_schema_version_given_twice_deceives_nobody(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);
	int64_t version;

	(void)state;
	make_index(db);
	run(db, "BEGIN; CREATE TABLE other(x)");
	version = integer_of(db, "PRAGMA schema_version");
	expect_good(db);
	run(db, "ROLLBACK; DROP TRIGGER spans_if_update");
	assert_int_equal(integer_of(db, "PRAGMA schema_version"), version);
	run(db, "UPDATE spans SET dur = dur + 1");
	run_fails(db, DETACHED, QUESTION);
	close_database(db);
}

static void a_rebuild_that_fails_changes_nothing(void **state)
{
	(void)state;
	for (int in_transaction = 0; in_transaction < 2; in_transaction++) {
		sqlite3 *db = open_database(":memory:", 0);
		uint64_t before;

		make_index(db);
		run(db, "UPDATE spans SET track = 'z' WHERE id > 200; UPDATE spans SET ts = 'late' WHERE id = 299;"
			"UPDATE spans_if_config SET value = 5 WHERE name = 'flushed'");
		before = content_of_index(db);
		if (in_transaction)
			run(db, "BEGIN");
		for (int i = 0; i < 3; i++) {
			run_fails(db, "", REBUILD);
			assert_non_null(strstr(last_message(), "time column \"ts\" of row 299 holds text"));
			assert_true(content_of_index(db) == before);
			run_fails(db, "iforest: time column \"ts\" of row 299 holds text", QUESTION);
			run_fails(db, "iforest: time column \"ts\" of row 299 holds text", FLUSH);
			assert_true(content_of_index(db) == before);
		}
		if (in_transaction)
			run(db, "COMMIT");
		assert_true(content_of_index(db) == before);
		run(db, "UPDATE spans SET ts = 4 WHERE id = 299");
		expect_good(db);
		run(db, FLUSH);
		expect_good(db);
		close_database(db);
	}
}
/* Uncommitted changes of another connection may be read in a shared cache. They are not cached after a rollback. */
static void what_is_not_committed_is_not_kept(void **state)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
	sqlite3 *writer = open_database("file:shared_follow?mode=memory&cache=shared", flags);
	sqlite3 *reader = open_database("file:shared_follow?mode=memory&cache=shared", flags);

	(void)state;
	make_index(writer);
	run(reader, "PRAGMA read_uncommitted = 1");
	for (int i = 0; i < 3; i++) {
		expect_good(writer);
		same_rows(reader, QUESTION, PLAIN);
		run(writer, "BEGIN; INSERT INTO spans(track, ts, dur) VALUES('a', 1, 1000)");
		same_rows(reader, QUESTION, PLAIN);
		same_rows(reader, QUESTION, PLAIN);
		run(writer, i < 2 ? "ROLLBACK" : "COMMIT");
		same_rows(reader, QUESTION, PLAIN);
	}
	close_database(reader);
	close_database(writer);
}

/* A connection queries before, between and after its own changes, in transactions, with and without savepoints. */
static void own_changes_are_seen_between_questions(void **state)
{
	static const char *const statements[] = {
		"BEGIN", "", "INSERT INTO spans(track, ts, dur) VALUES('a', 1, 1000)", "SAVEPOINT s", "DELETE FROM spans WHERE id < 9",
		"ROLLBACK TO s", "", "ROLLBACK", "", "BEGIN", "", "UPDATE spans SET ts = ts + 1 WHERE id = 20", "ROLLBACK", "BEGIN", "", "COMMIT",
		"CREATE TEMP TABLE other(x)", "", "BEGIN", "INSERT INTO other VALUES(1)", "", "DELETE FROM spans WHERE id = 21", "", "COMMIT", "",
		"BEGIN", "", FLUSH, "", "ROLLBACK", "", FLUSH, "", "VACUUM", "", "UPDATE spans SET dur = 0 WHERE id = 22", "", REBUILD, "",
		"DROP TABLE other",
	};
	const char *path = test_path("moments.db");
	sqlite3 *db = open_database(path, 0), *another;

	(void)state;
	make_index(db);
	for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
		if (*statements[i])
			run(db, "%s", statements[i]);
		same_rows(db, QUESTION, PLAIN);
		same_rows(db, QUESTION, PLAIN);
	}
	another = open_database(path, 0);
	for (int i = 0; i < 4; i++) {
		run(another, "UPDATE spans SET dur = dur + 1 WHERE id = %d; %s", 30 + i, i % 2 ? FLUSH : "");
		same_rows(db, QUESTION, PLAIN);
	}
	close_database(another);
	run(db, "CREATE TEMP TRIGGER ending AFTER INSERT ON spans BEGIN SELECT RAISE(IGNORE); END");
	run_fails(db, "spans_if: temporary trigger \"ending\"", QUESTION);
	run(db, "DROP TRIGGER ending");
	expect_good(db);
	close_database(db);
	remove_database(path);
}


/* A prepared statement is run again over another database with the same count of commits. */
static void a_deserialized_database_is_another_one(void **state)
{
	const unsigned flags = SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE;
	sqlite3 *maker = open_database(":memory:", 0), *db = open_database(":memory:", 0);
	sqlite3_stmt *statement = NULL;
	sqlite3_int64 n_bytes;

	(void)state;
	make_index(maker);
	for (int round = 0; round < 2; round++) {
		unsigned char *image = sqlite3_serialize(maker, "main", &n_bytes, 0);

		assert_int_equal(sqlite3_deserialize(db, "main", image, n_bytes, n_bytes, flags), SQLITE_OK);
		if (!statement)
			assert_int_equal(sqlite3_prepare_v2(db, "SELECT sum(sum_dur) FROM spans_if", -1, &statement, NULL),
					 SQLITE_OK);
		for (int i = 0; i < 2 - round; i++) {
			assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
			assert_int_equal(sqlite3_column_int64(statement, 0), integer_of(maker, "SELECT sum(dur) FROM spans"));
			sqlite3_reset(statement);
		}
		run(maker, "UPDATE spans SET dur = dur + 100");
	}
	sqlite3_finalize(statement);
	close_database(db);
	close_database(maker);
}

static void a_writer_without_the_extension_is_not_hindered(void **state)
{
	const char *path = test_path("plain.db");
	sqlite3 *db = open_database(path, 0), *plain;

	(void)state;
	make_index(db);
	close_database(db);
	plain = open_plain(path, 0);
	run(plain, "INSERT INTO spans(ts, dur, track) VALUES(5, 6, 'a'); UPDATE spans SET dur = 1; DELETE FROM spans WHERE id < 10");
	run(plain, "ALTER TABLE spans RENAME TO elsewhere; ALTER TABLE elsewhere RENAME TO spans; ALTER TABLE spans ADD COLUMN more; VACUUM");
	run_gives(plain, "ok\n", "PRAGMA integrity_check");
	close_database(plain);
	db = open_database(path, 0);
	expect_good(db);
	run(db, FLUSH);
	expect_good(db);
	close_database(db);
	remove_database(path);
}

/* If rows are inserted after the index was created, a column that is declared for fractions is one of reals from the start. */
static void an_empty_column_of_reals_is_one(void **state)
{
	static const char *const types[] = { "REAL", "DOUBLE", "DOUBLE PRECISION", "FLOAT", "float(24)", "NUMERIC", "decimal", "DECIMAL(10, 5)", "NUMBER", "money",
					     "FLOATING POINT", "INTEGER", "DECIMAL(10)", "NUMERIC(12, 0)", "BOOLEAN", "" };
	const size_t n_reals = 10;

	(void)state;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, v %s); CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=v)", types[i]);
		run(db, "INSERT INTO t(ts, v) VALUES(1, 2)");
		/* FLOATING POINT has the affinity INTEGER, because POINT contains INT */
		run_gives(db, i < n_reals ? "real\n" : "integer\n", "SELECT typeof(sum_v) FROM t_if");
		run(db, "INSERT INTO t(ts, v) VALUES(1, 0.5)");
		if (i < n_reals)
			run_gives(db, "2|2.5\n", "SELECT count, sum_v FROM t_if");
		else
			run_fails(db, "iforest: value column \"v\" of row 2 holds the real 0.5, and the index was made when it held integers only", "SELECT sum_v FROM t_if");
		close_database(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_change_is_seen_at_once),
		cmocka_unit_test(a_change_is_undone_by_a_rollback),
		cmocka_unit_test(a_prepared_question_follows),
		cmocka_unit_test(two_updates_in_one_seal),
		cmocka_unit_test(the_row_minus_one_is_followed),
		cmocka_unit_test(a_command_that_a_trigger_of_the_user_ends_does_no_harm),
		cmocka_unit_test(what_changes_nothing_leaves_it_good),
		cmocka_unit_test(changes_of_another_connection_are_seen),
		cmocka_unit_test(a_parted_index_says_so),
		cmocka_unit_test(a_unique_index_that_goes_is_noticed),
		cmocka_unit_test(renames_beside_the_index_are_followed),
		cmocka_unit_test(a_by_column_keeps_its_type),
		cmocka_unit_test(rows_at_random_places_are_followed),
		cmocka_unit_test(a_table_renamed_the_old_way_is_found),
		cmocka_unit_test(an_index_of_an_earlier_version_is_made_well_by_rebuild),
		cmocka_unit_test(renamed_columns_are_noticed),
		cmocka_unit_test(a_column_under_an_index_is_not_made_anew_unseen),
		cmocka_unit_test(triggers_of_the_user_hide_nothing),
		cmocka_unit_test(older_triggers_may_end_an_insert),
		cmocka_unit_test(temporary_triggers_may_not_end_an_insert),
		cmocka_unit_test(a_default_logs_the_rows_in_its_way_alone),
		cmocka_unit_test(a_rename_takes_no_trigger_of_the_user),
		cmocka_unit_test(a_command_inserts_no_row_of_the_user),
		cmocka_unit_test(what_is_read_in_between_is_not_kept),
		cmocka_unit_test(a_schema_version_given_twice_deceives_nobody),
		cmocka_unit_test(a_rebuild_that_fails_changes_nothing),
		cmocka_unit_test(what_is_not_committed_is_not_kept),
		cmocka_unit_test(own_changes_are_seen_between_questions),
		cmocka_unit_test(a_deserialized_database_is_another_one),
		cmocka_unit_test(a_writer_without_the_extension_is_not_hindered),
		cmocka_unit_test(an_empty_column_of_reals_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
