/* test_transaction.c -- what a connection has read of its own transaction is kept as long as it stays, and read anew once it
 * was rolled back, whoever asks and whatever takes it back: ROLLBACK, ROLLBACK TO, a statement that fails. At random:
 * test_random_transactions.c. */
#include "harness.h"

#include "tests/support/sanitizer.h"

#define SPANS "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER CHECK(dur < 1000), code INTEGER UNIQUE);"
#define FREE_SPANS "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER, code INTEGER);" /* nothing fails half way */
#define ROWS(n) "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < " #n ")" \
		" INSERT INTO spans SELECT NULL, char(97 + i %% 3), i * 7 %% 1000, i %% 11, NULL FROM c;"
#define INDEX "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track);"
#define FOLD "CREATE VIRTUAL TABLE folded USING iforest_fold(spans_if);"
#define INSERT "INSERT INTO spans(track, ts, dur) VALUES('a', 5, 5);"
#define FAILS "INSERT INTO spans(id, ts, dur) VALUES(NULL, 6, 6), (1, 7, 1000)"
#define QUESTION "SELECT track, count, sum_dur, max_dur FROM spans_if ORDER BY track"
#define PLAIN "SELECT track, count(*), sum(dur), max(dur) FROM spans GROUP BY track ORDER BY track"

static void expect_good(sqlite3 *db)
{
	same_rows(db, QUESTION, PLAIN);
}

/* Rows are written and read, then taken back, and as many others come in their place. */
static const struct {
	const char *before, *take_back, *after;
} rollbacks[] = {
	{ "BEGIN", "ROLLBACK", "" },
	{ "SAVEPOINT a", "ROLLBACK TO a", "COMMIT" },
	{ "BEGIN; SAVEPOINT a", "ROLLBACK TO a", "COMMIT" },
	{ "BEGIN; SAVEPOINT a; SAVEPOINT b", "RELEASE b; ROLLBACK TO a", "COMMIT" },
	{ "BEGIN; SAVEPOINT a; SAVEPOINT b", "RELEASE b; SAVEPOINT c; ROLLBACK TO a", "COMMIT" },
	{ "BEGIN; SAVEPOINT a; " INSERT "SELECT * FROM spans_if; SAVEPOINT b", "SAVEPOINT c; ROLLBACK TO c; ROLLBACK TO b", "COMMIT" },
	{ "BEGIN", "INSERT OR ROLLBACK INTO spans(id) VALUES(1)", "" },
	{ "BEGIN IMMEDIATE; SELECT * FROM spans_if", "ROLLBACK", "" },
	{ "BEGIN; CREATE TABLE other(x)", "ROLLBACK", "" },
	{ "BEGIN; SAVEPOINT a; CREATE TABLE other(x)", "ROLLBACK TO a", "COMMIT" },
	{ "BEGIN; SAVEPOINT a", "DROP TABLE asked; ROLLBACK TO a", "COMMIT" },
	{ "BEGIN; " INSERT "SELECT * FROM asked; SAVEPOINT a", "DROP TABLE asked; ROLLBACK TO a", "COMMIT" },
	{ "BEGIN; " INSERT "SELECT * FROM asked; DROP TABLE asked; SAVEPOINT a", "ROLLBACK TO a", "COMMIT" },
	{ "BEGIN; " INSERT "SELECT * FROM asked; DROP TABLE asked; COMMIT; BEGIN", "ROLLBACK", "" },
	{ "BEGIN; SELECT * FROM spans_if; SAVEPOINT a", "INSERT INTO asked(asked) VALUES('flush'); ROLLBACK TO a", "COMMIT" },
	{ "BEGIN; SAVEPOINT a; CREATE VIRTUAL TABLE made USING iforest(content=spans, time=ts); SAVEPOINT b; " INSERT "SELECT * FROM made",
	  "ROLLBACK TO b", "COMMIT" },
	{ "BEGIN; PRAGMA query_only = 1; SELECT * FROM spans_if; PRAGMA query_only = 0; SAVEPOINT a", "ROLLBACK TO a", "COMMIT" },
};

static void a_row_in_the_place_of_another_is_seen(void **state)
{
	static const char *const kept[] = { QUESTION, "SELECT count, sum_dur FROM folded", "SELECT overlaps FROM overlapping" };

	(void)state;
	for (size_t i = 0; i < sizeof rollbacks / sizeof *rollbacks; i++)
		for (int k = 0; k < 6; k++) {
			sqlite3 *db = open_database(":memory:", 0);
			sqlite3_stmt *question;

			run(db, k < 3 ? SPANS : FREE_SPANS);
			run(db, ROWS(50) INDEX FOLD "CREATE VIRTUAL TABLE overlapping USING iforest_overlap(spans_if);"
				"CREATE VIRTUAL TABLE asked USING iforest(content=spans, time=ts, value=dur)");
			assert_int_equal(sqlite3_prepare_v2(db, kept[k % 3], -1, &question, NULL), SQLITE_OK);
			run(db, "%s; " INSERT, rollbacks[i].before);
			while (sqlite3_step(question) == SQLITE_ROW) {}
			assert_int_equal(sqlite3_reset(question), SQLITE_OK);
			run_any(db, "%s", rollbacks[i].take_back);
			run(db, "INSERT INTO spans(track, ts, dur) VALUES('b', 8, 300), ('new', 9, 400); %s", rollbacks[i].after);
			expect_good(db);
			same_rows(db, "SELECT count, sum_dur FROM folded", "SELECT count(*), sum(dur) FROM spans");
			same_rows(db, "SELECT sum(overlaps), sum(clipped_dur) FROM overlapping", "SELECT count(*), sum(dur) FROM spans");
			sqlite3_finalize(question);
			close_database(db);
		}
}

/* ---- what is kept ---- */

static int64_t n_steps, fatal_step;

static int count_step(void *ignored)
{
	(void)ignored;
	return ++n_steps == fatal_step;
}

/* Operations that SQLite takes for the question; of a row of the log that is read they are some ten. */
static int64_t steps_of(sqlite3 *db, const char *question)
{
	char *rows;

	n_steps = 0;
	fatal_step = INT64_MAX;
	sqlite3_progress_handler(db, 1, count_step, NULL);
	rows = rows_of(db, question);
	sqlite3_progress_handler(db, 0, NULL, NULL);
	if (!rows)
		fail_msg("%s\n  fails: %s", question, last_message());
	free(rows);
	return n_steps;
}

#define ASK "SELECT count FROM folded"
enum { MANY = 3000 };

static sqlite3 *open_pending(const char *table)
{
	sqlite3 *db = open_database(":memory:", 0);

	run(db, table);
	run(db, INDEX FOLD ROWS(3000));
	assert_true(steps_of(db, ASK) > MANY);
	assert_true(steps_of(db, ASK) < MANY);
	return db;
}

static void a_transaction_keeps_what_it_has_read(void **state)
{
	static const struct {
		bool is_read_anew;
		const char *sql;
	} deeds[] = {
		{ false, "BEGIN" }, { false, INSERT }, { false, "SELECT 1" }, { false, FAILS }, { false, "SAVEPOINT a" },
		{ false, "ROLLBACK TO a" }, { false, "UPDATE spans SET dur = 7 WHERE id = 5" }, { true, "ROLLBACK TO a" },
		{ false, "DELETE FROM spans WHERE id = 9" }, { false, "RELEASE a" }, { false, "SAVEPOINT b; " INSERT FAILS },
		{ false, "SAVEPOINT c" }, { false, "ROLLBACK TO c" }, { false, INSERT }, { false, "RELEASE c" }, { false, FAILS },
		{ false, "SAVEPOINT d; SAVEPOINT e" }, { true, "ROLLBACK TO b" }, { false, INSERT }, { false, "SAVEPOINT f" },
		{ false, "ROLLBACK TO f" }, { false, "RELEASE b; SAVEPOINT g" }, { false, "ROLLBACK TO g; COMMIT" },
		{ false, INSERT }, { false, "BEGIN; ROLLBACK" }, { false, "BEGIN; " INSERT "ROLLBACK" },
		{ false, "BEGIN; " INSERT "SELECT * FROM spans_if; ROLLBACK" }, { false, "BEGIN; " INSERT }, { true, "ROLLBACK" },
		{ false, "BEGIN IMMEDIATE" }, { false, "ROLLBACK" }, { false, "BEGIN; SAVEPOINT h; " INSERT }, { false, "COMMIT" },
		{ false, "BEGIN; INSERT INTO spans_if(spans_if) VALUES('merge'); " INSERT }, { false, "SAVEPOINT i; ROLLBACK TO i; COMMIT" },
	};

	(void)state;
	for (int t = 0; t < 2; t++) {
		sqlite3 *db = open_pending(t == 0 ? SPANS : FREE_SPANS);

		for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
			run_any(db, "%s", deeds[i].sql);
			if ((steps_of(db, ASK) > MANY) != deeds[i].is_read_anew)
				fail_msg("after deed %zu, %s, it is%s read anew", i, deeds[i].sql, deeds[i].is_read_anew ? " not" : "");
			expect_good(db);
		}
		close_database(db);
	}
}

/* SQLite has a table take part in the transaction that makes it, and does not say so. */
static void the_transaction_that_makes_an_index_keeps_too(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "BEGIN; " SPANS INDEX FOLD "SAVEPOINT a; " ROWS(3000));
	assert_true(steps_of(db, ASK) > MANY);
	assert_true(steps_of(db, ASK) < MANY);
	run(db, "ROLLBACK TO a; " ROWS(3000) INSERT);
	assert_true(steps_of(db, ASK) > MANY);
	expect_good(db);
	run(db, "COMMIT");
	assert_true(steps_of(db, ASK) < MANY);
	expect_good(db);
	close_database(db);
}

static int allow_no_delete(void *ignored, int action, const char *a, const char *b, const char *c, const char *d)
{
	(void)ignored, (void)a, (void)b, (void)c, (void)d;
	return action == SQLITE_DELETE ? SQLITE_DENY : SQLITE_OK;
}

/* Where SQLite does not let a reader write to the index, not even no row, it reads what it may not keep at each question. */
static void who_may_not_write_reads_anew(void **state)
{
	(void)state;
	for (int way = 0; way < 2; way++) {
		sqlite3 *db = open_pending(SPANS);

		run(db, "BEGIN; " INSERT);
		if (way == 0)
			run(db, "PRAGMA query_only = 1");
		else
			sqlite3_set_authorizer(db, allow_no_delete, NULL);
		for (int i = 0; i < 3; i++) {
			assert_true((steps_of(db, ASK) > MANY) == (i > 0));
			expect_good(db);
		}
		run(db, "PRAGMA query_only = 0; ROLLBACK; " INSERT);
		expect_good(db);
		assert_true(steps_of(db, ASK) > MANY);
		assert_true(steps_of(db, ASK) < MANY);
		close_database(db);
	}
}

/* names end with NULL */
static bool is_among(const char *name, const char *const *names)
{
	while (name && *names && strcmp(name, *names) != 0)
		names++;
	return name && *names;
}

/* What docs/sqlite.md says that an authorizer must allow; with sync=append. */
static int allow_as_documented(void *append, int action, const char *a, const char *b, const char *c, const char *d)
{
	static const char *const tables[] = {
		"spans", "folded", "spans_if", "spans_if_page", "spans_if_series", "spans_if_config", "spans_if_log",
		"spans_if_front", "sqlite_master", "sqlite_temp_master", "pragma_table_info", "pragma_table_xinfo", "pragma_index_list",
		"pragma_index_xinfo", "appended", "appended_page", "appended_series", "appended_config", NULL
	};
	static const char *const pragmas[] = {
		"table_info", "table_xinfo", "index_list", "index_xinfo", "schema_version", "read_uncommitted", NULL
	};
	static const char *const functions[] = { "iforest_pending", "glob", "iif", "like", "max", NULL };
	static const char *const for_append[] = { "table_list", "pragma_table_list", "count", "upper", NULL };
	bool allowed = action == SQLITE_SELECT;

	(void)c, (void)d;
	if (action == SQLITE_READ)
		allowed = is_among(a, tables) || (append && is_among(a, for_append));
	else if (action == SQLITE_PRAGMA)
		allowed = is_among(a, pragmas) || (append && is_among(a, for_append));
	else if (action == SQLITE_FUNCTION)
		allowed = is_among(b, functions) || (append && is_among(b, for_append));
	else if (action == SQLITE_UPDATE)
		allowed = a && strcmp(a, "sqlite_master") == 0;
	return allowed ? SQLITE_OK : SQLITE_DENY;
}

static void an_authorizer_need_allow_no_more(void **state)
{
	const char *path = test_path("authorized.db");
	sqlite3 *db = open_database(path, 0);

	(void)state;
	run(db, SPANS INDEX FOLD "CREATE VIRTUAL TABLE appended USING iforest(content=spans, time=ts, by=track, sync=append);" ROWS(3000));
	for (int is_new = 0; is_new < 2; is_new++) {
		if (is_new) {
			close_database(db);
			db = open_database(path, 0);
		}
		sqlite3_set_authorizer(db, allow_as_documented, (void *)(intptr_t)1);
		run_gives(db, "a|1000\nb|1000\nc|1000\n", "SELECT track, count FROM appended");
		sqlite3_set_authorizer(db, allow_as_documented, NULL);
		run_gives(db, "3000\n", ASK);
		assert_true(steps_of(db, ASK) < MANY);
		run_gives(db, "a|1000\nb|1000\nc|1000\n", "SELECT track, count FROM spans_if");
		run_fails(db, "", "INSERT INTO spans_if(spans_if) VALUES('flush')");
		sqlite3_set_authorizer(db, NULL, NULL);
		expect_good(db);
	}
	close_database(db);
	remove_database(path);
}

/* A question counts as no change; but the first one in a transaction that has written has SQLite count none. */
static void a_question_changes_nothing(void **state)
{
	sqlite3 *db = open_pending(SPANS);
	int n_changes = sqlite3_total_changes(db);

	(void)state;
	run(db, INSERT "SELECT * FROM folded");
	assert_int_equal(sqlite3_changes(db), 1);
	run(db, "BEGIN; INSERT INTO spans(id, dur) VALUES(7000, 3), (8000, 4); SELECT * FROM folded");
	assert_int_equal(sqlite3_changes(db), 0);
	assert_int_equal(sqlite3_last_insert_rowid(db), 8000);
	run(db, INSERT "SELECT * FROM folded");
	assert_int_equal(sqlite3_changes(db), 1);
	assert_int_equal(sqlite3_total_changes(db) - n_changes, 2 * 4); /* rows of the table and of the log */
	run(db, "COMMIT");
	close_database(db);
}

/* Interrupted once, anywhere, a question fails or is answered right; if SQLite has rolled back, it fails, and the next one
 * knows. */
static void a_question_may_be_interrupted_anywhere(void **state)
{
	int n_failed = 0, n_rolled_back = 0;

	(void)state;
	for (n_steps = 0, fatal_step = 1; n_steps >= fatal_step - 1; fatal_step++) {
		sqlite3 *db = open_database(":memory:", 0);
		char *rows;

		run(db, SPANS INDEX FOLD ROWS(5) "SELECT * FROM spans_if; SELECT * FROM folded; BEGIN; " INSERT);
		n_steps = 0;
		sqlite3_progress_handler(db, 1, count_step, NULL);
		rows = rows_of(db, ASK);
		sqlite3_progress_handler(db, 0, NULL, NULL);
		n_failed += !rows;
		n_rolled_back += sqlite3_get_autocommit(db);
		if (rows) {
			assert_string_equal(rows, "6\n");
			assert_false(sqlite3_get_autocommit(db));
		}
		free(rows);
		run_any(db, "ROLLBACK");
		run(db, INSERT INSERT);
		expect_good(db);
		same_rows(db, "SELECT count, sum_dur FROM folded", "SELECT count(*), sum(dur) FROM spans");
		close_database(db);
	}
	assert_true(n_failed > n_rolled_back && n_rolled_back > 0);
}

/* Wherever it comes, an interrupt is called one, not a table that is missing, nor no error. */
static void an_interrupt_is_called_one(void **state)
{
	static const char *const statements[] = {
		"CREATE VIRTUAL TABLE another USING iforest(content=spans, time=ts, duration=dur, by=(track, code))",
		"INSERT INTO spans_if(spans_if) VALUES('rebuild')", "INSERT INTO spans_if(spans_if) VALUES('flush')",
		"SELECT track, count, max_dur FROM spans_if", "SELECT count FROM appended", "ALTER TABLE spans_if RENAME TO another",
	};
	int n_interrupted = 0;

	(void)state;
	for (size_t s = 0; s < sizeof statements / sizeof *statements; s++) {
		bool failed = true;

		for (fatal_step = 1; failed; fatal_step += 1 + fatal_step / (sanitizer_shortens() ? 12 : 60)) {
			sqlite3 *db = open_database(":memory:", 0);
			const char *said;

			run(db, SPANS "CREATE VIRTUAL TABLE appended USING iforest(content=spans, time=ts, sync=append);" INDEX ROWS(5));
			n_steps = 0;
			sqlite3_progress_handler(db, 1, count_step, NULL);
			failed = run_any(db, "%s", statements[s]) != SQLITE_OK;
			n_interrupted += failed;
			said = strstr(last_message(), "interrupted");
			if (failed && (!said || strcmp(said, "interrupted") != 0))
				fail_msg("%s\n  interrupted at step %"PRId64": %s", statements[s], fatal_step, last_message());
			sqlite3_progress_handler(db, 0, NULL, NULL);
			close_database(db);
		}
	}
	assert_true(n_interrupted > 100);
}

/* A group of series is added up before its first row: meanwhile an interrupt, or the time limit of a progress handler, ends it,
 * also where all pages are in memory. */
static void a_group_may_be_interrupted(void **state)
{
	static const char *const questions[] = {
		"SELECT bucket, count FROM folded(0, 1000, 500) LIMIT 1", "SELECT bucket, overlaps FROM overlapping(0, 1000, 500) LIMIT 1",
		"SELECT bucket, count FROM folded(0, 1000, 500) WHERE fill = 'last' LIMIT 1",
		"SELECT * FROM empty(2000, 3000) UNION ALL SELECT * FROM empty(2000, 3000)",
	};
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS ROWS(30000) "UPDATE spans SET track = id / 15;" INDEX FOLD "CREATE VIRTUAL TABLE overlapping USING iforest_overlap(spans_if, ());"
		"CREATE VIRTUAL TABLE empty USING iforest(content=spans, time=ts, by=code)");
	run(db, "UPDATE spans SET code = id; INSERT INTO spans_if(spans_if) VALUES('optimize'); INSERT INTO empty(empty) VALUES('optimize')");
	for (int q = 0; q < 4; q++) {
		char *before = rows_of(db, questions[q]);
		int64_t n_all = steps_of(db, questions[q]);

		assert_non_null(before);
		if (n_all < 60)
			fail_msg("%s\n  lets SQLite look %"PRId64" times", questions[q], n_all);
		for (int part = 1; part < 4; part++) {
			n_steps = 0;
			fatal_step = n_all * part / 4;
			sqlite3_progress_handler(db, 1, count_step, NULL);
			run_fails(db, "", "%s", questions[q]);
			sqlite3_progress_handler(db, 0, NULL, NULL);
			assert_non_null(strstr(last_message(), "interrupted"));
			run_gives(db, before, "%s", questions[q]);
		}
		free(before);
	}
	close_database(db);
}

/* ---- another database in the place of one ---- */

static void copy_file(const char *path, const char *copy)
{
	FILE *from = fopen(path, "rb"), *to = fopen(copy, "wb");
	char bytes[4096];
	size_t n;

	assert_true(from && to);
	while ((n = fread(bytes, 1, sizeof bytes, from)) > 0)
		assert_int_equal(fwrite(bytes, 1, n, to), n);
	fclose(from);
	assert_int_equal(fclose(to), 0);
}

/* Two that were one, and whose logs have gone on each by itself. */
static void fork_database(const char *path, const char *other_path)
{
	sqlite3 *db = open_database(path, 0);

	run(db, SPANS ROWS(20) INDEX FOLD INSERT);
	close_database(db);
	copy_file(path, other_path);
	db = open_database(path, 0);
	run(db, INSERT);
	close_database(db);
	db = open_database(other_path, 0);
	run(db, "INSERT INTO spans(track, ts, dur) VALUES('other', 500, 501)");
	close_database(db);
}

static void deserialize(sqlite3 *db, sqlite3 *from)
{
	sqlite3_int64 n_bytes;
	unsigned char *image = sqlite3_serialize(from, "main", &n_bytes, 0);

	assert_int_equal(sqlite3_deserialize(db, "main", image, n_bytes, n_bytes,
					     SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE), SQLITE_OK);
}

/* A statement that is kept is asked again at once, before SQLite prepares another. */
static void a_fork_may_be_deserialized_over_the_other(void **state)
{
	const char *paths[] = { test_path("fork.db"), test_path("other.db") };
	sqlite3 *forks[2], *db;
	sqlite3_stmt *question;

	(void)state;
	fork_database(paths[0], paths[1]);
	for (int f = 0; f < 2; f++)
		forks[f] = open_database(paths[f], 0);
	for (int first = 0; first < 2; first++) {
		db = open_database(":memory:", 0);
		deserialize(db, forks[first]);
		assert_int_equal(sqlite3_prepare_v2(db, "SELECT sum_dur FROM folded", -1, &question, NULL), SQLITE_OK);
		for (int i = 0; i < 4; i++) {
			if (i == 3)
				deserialize(db, forks[!first]);
			assert_int_equal(sqlite3_step(question), SQLITE_ROW);
			assert_int_equal(sqlite3_column_int64(question, 0),
					 integer_of(forks[i < 3 ? first : !first], "SELECT sum(dur) FROM spans"));
			sqlite3_reset(question);
		}
		sqlite3_finalize(question);
		close_database(db);
	}
	for (int f = 0; f < 2; f++) {
		close_database(forks[f]);
		remove_database(paths[f]);
	}
}

/* By the backup API, into a file that is open in other connections, too. */
static void a_fork_may_be_restored_over_the_other(void **state)
{
	const char *path = test_path("fork.db"), *other_path = test_path("other.db");
	sqlite3 *db, *reader, *from;

	(void)state;
	fork_database(path, other_path);
	db = open_database(path, 0);
	reader = open_database(path, 0);
	from = open_database(other_path, 0);
	for (int i = 0; i < 4; i++) {
		sqlite3_backup *backup;

		expect_good(db);
		expect_good(reader);
		run(from, "INSERT INTO spans(track, ts, dur) VALUES('c', %d, %d)", i, 100 + i);
		backup = sqlite3_backup_init(db, "main", from, "main");
		assert_int_equal(sqlite3_backup_step(backup, -1), SQLITE_DONE);
		assert_int_equal(sqlite3_backup_finish(backup), SQLITE_OK);
		if (i % 2)
			expect_good(reader);
		run(db, INSERT INSERT INSERT);
		expect_good(reader);
	}
	expect_good(db);
	close_database(db);
	close_database(reader);
	close_database(from);
	remove_database(path);
	remove_database(other_path);
}

static void a_fork_may_be_attached_under_the_same_name(void **state)
{
	const char *path = test_path("fork.db"), *other_path = test_path("other.db");
	sqlite3 *db = open_database(":memory:", 0);
	sqlite3_stmt *question = NULL, *plain = NULL;

	(void)state;
	fork_database(path, other_path);
	for (int i = 0; i < 6; i++) {
		run(db, "ATTACH %Q AS o", i % 2 ? other_path : path);
		if (!question) {
			assert_int_equal(sqlite3_prepare_v2(db, "SELECT sum_dur FROM o.folded", -1, &question, NULL), SQLITE_OK);
			assert_int_equal(sqlite3_prepare_v2(db, "SELECT sum(dur) FROM o.spans", -1, &plain, NULL), SQLITE_OK);
		}
		for (int n = i % 3; n >= 0; n--) {
			assert_int_equal(sqlite3_step(question), SQLITE_ROW);
			assert_int_equal(sqlite3_step(plain), SQLITE_ROW);
			assert_int_equal(sqlite3_column_int64(question, 0), sqlite3_column_int64(plain, 0));
			sqlite3_reset(question);
			sqlite3_reset(plain);
		}
		run(db, "DETACH o");
	}
	sqlite3_finalize(question);
	sqlite3_finalize(plain);
	close_database(db);
	remove_database(path);
	remove_database(other_path);
}

/* ---- the triggers ---- */

/* A function in a trigger has SQLite keep a journal of each statement, which takes longer than the trigger. */
static void triggers_call_no_function(void **state)
{
	static const char *const writes[] = {
		"INSERT INTO spans(track, ts, dur) VALUES(?, ?, ?)", "REPLACE INTO spans VALUES(?, ?, ?, ?, ?)", "UPDATE spans SET id = ?, dur = ?",
		"UPDATE OR REPLACE spans SET code = ?", "DELETE FROM spans WHERE id = ?",
	};
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE spans(id INTEGER PRIMARY KEY, track, ts, dur, code NOT NULL DEFAULT 5 UNIQUE); " INDEX);
	for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
		char *sql = sqlite3_mprintf("EXPLAIN %s", writes[i]), *operations = rows_of(db, sql);

		assert_non_null(operations);
		assert_non_null(strstr(operations, "|Program|"));
		if (strstr(operations, "|Function|") || strstr(operations, "|PureFunc|"))
			fail_msg("%s calls a function:\n%s", writes[i], operations);
		free(operations);
		sqlite3_free(sql);
	}
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_in_the_place_of_another_is_seen),
		cmocka_unit_test(a_transaction_keeps_what_it_has_read),
		cmocka_unit_test(the_transaction_that_makes_an_index_keeps_too),
		cmocka_unit_test(who_may_not_write_reads_anew),
		cmocka_unit_test(an_authorizer_need_allow_no_more),
		cmocka_unit_test(a_question_changes_nothing),
		cmocka_unit_test(a_question_may_be_interrupted_anywhere),
		cmocka_unit_test(an_interrupt_is_called_one),
		cmocka_unit_test(a_group_may_be_interrupted),
		cmocka_unit_test(a_fork_may_be_deserialized_over_the_other),
		cmocka_unit_test(a_fork_may_be_restored_over_the_other),
		cmocka_unit_test(a_fork_may_be_attached_under_the_same_name),
		cmocka_unit_test(triggers_call_no_function),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
