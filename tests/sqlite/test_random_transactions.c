/* tests/sqlite/test_random_transactions.c -- Tests of random transactions with queries in between: savepoints, statements that
 * fail midway, commands, and commits of other connections. Every answer is that of plain SQL. A failure prints its seed:
 * IFOREST_SEED=... IFOREST_ROUNDS=1 runs that round alone. */
#include "harness.h"

#define SPANS "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER CHECK(dur < 1000), code INTEGER UNIQUE);"
#define FREE_SPANS "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER, code INTEGER);" /* no statement fails midway */
#define INDEX "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track);"

enum { N_ROUNDS = 60, STEPS = 120, N_QUESTIONS = 4, IDS = 60 };

static const struct {
	const char *question, *plain;
} questions[N_QUESTIONS] = {
	{ "SELECT track, count, sum_dur, max_dur FROM spans_if ORDER BY track",
	  "SELECT track, count(*), sum(dur), max(dur) FROM spans GROUP BY track ORDER BY track" },
	{ "SELECT count, sum_dur, min_dur, first_ts FROM folded",
	  "SELECT count(*), sum(dur), min(dur), min(ts) FROM spans GROUP BY NULL" },
	{ "SELECT bucket, count, sum_code FROM by_time(0, 100, 7) ORDER BY bucket",
	  "SELECT iforest_bucket(ts, 0, 100, 7) AS b, count(*), sum(code) FROM spans WHERE b NOTNULL GROUP BY b ORDER BY b" },
	{ "SELECT id, track, ts, dur FROM o.spans_rows ORDER BY id", "SELECT id, track, ts, dur FROM o.spans ORDER BY id" },
};

struct round {
	sqlite3 *db, *another;
	sqlite3_stmt *questions[N_QUESTIONS], *plain[N_QUESTIONS];
	struct random *random;
	uint64_t seed;
	int n_savepoints;
};

static const char *const conflicts[] = { "", "OR ABORT", "OR FAIL", "OR IGNORE", "OR REPLACE", "OR ROLLBACK" };

enum { N_CONFLICTS = sizeof conflicts / sizeof *conflicts };

/* Returns a write of several rows, one of which may violate the CHECK, the UNIQUE constraint or the rowid. */
static char *random_write(struct random *random, const char *schema)
{
	const char *conflict = conflicts[random_below(random, N_CONFLICTS)];
	int id = (int)random_below(random, IDS), n = 1 + (int)random_below(random, 9);
	int dur = one_in(random, 3) ? 998 : (int)random_below(random, 900), code = (int)random_below(random, 40);

	switch (random_below(random, 6)) {
	case 0:
		return sqlite3_mprintf("WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < %d) INSERT %s INTO %s.spans "
				       "SELECT NULL, char(97 + i %% 4), %d + i, %d + i, NULL FROM c", n, conflict, schema, id, dur);
	case 1:
		return sqlite3_mprintf("WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < %d) INSERT %s INTO %s.spans "
				       "SELECT %d + i, 'b', %d - i, %d + i, %d - i FROM c", n, conflict, schema, id, id, dur, code);
	case 2:
		return sqlite3_mprintf("UPDATE %s %s.spans SET dur = dur + %d, code = nullif(%d + id, 50) WHERE id BETWEEN %d AND %d", conflict, schema,
				       n * 50, code, id, id + n);
	case 3:
		return sqlite3_mprintf("UPDATE %s %s.spans SET id = id + %d, track = 'd' WHERE id BETWEEN %d AND %d", conflict, schema, n, id, id + 3);
	case 4:
		return sqlite3_mprintf("DELETE FROM %s.spans WHERE id BETWEEN %d AND %d", schema, id, id + n);
	default: /* it contains a query, which sees half of it */
		return sqlite3_mprintf("INSERT %s INTO %s.spans SELECT NULL, track, count, sum_dur %% 1100, NULL FROM spans_if", conflict, schema);
	}
}

static void write_once(struct round *round)
{
	char *sql = random_write(round->random, one_in(round->random, 4) ? "o" : "main");

	run_any(round->db, "%s", sql);
	sqlite3_free(sql);
}

static void change_transaction(struct round *round)
{
	switch (random_below(round->random, 6)) {
	case 0:
	case 1:
		run(round->db, "SAVEPOINT s%d", round->n_savepoints++);
		break;
	case 2:
	case 3:
		if (round->n_savepoints > 0) {
			round->n_savepoints = 1 + (int)random_below(round->random, round->n_savepoints);
			run(round->db, "ROLLBACK TO s%d", round->n_savepoints - 1);
		}
		break;
	case 4:
		if (round->n_savepoints > 0) {
			round->n_savepoints = (int)random_below(round->random, round->n_savepoints);
			run(round->db, "RELEASE s%d", round->n_savepoints);
		}
		break;
	default:
		run_any(round->db, sqlite3_get_autocommit(round->db) ? one_in(round->random, 2) ? "BEGIN" : "BEGIN IMMEDIATE" :
				   one_in(round->random, 2) ? "COMMIT" : "ROLLBACK");
		round->n_savepoints = 0;
	}
}

static void command(struct round *round)
{
	static const char *const commands[] = {
		"INSERT INTO spans_if(spans_if) VALUES('flush')", "INSERT INTO by_time(by_time) VALUES('flush')", "INSERT INTO o.spans_if(spans_if) VALUES('flush')",
		"INSERT INTO spans_if(spans_if) VALUES('rebuild')", "INSERT INTO spans_if(spans_if) VALUES('optimize')",
		"DROP TABLE by_time; CREATE VIRTUAL TABLE by_time USING iforest(content=spans, time=ts, value=code)",
		"PRAGMA query_only = 1", "PRAGMA query_only = 0", "ALTER TABLE by_time RENAME TO x; ALTER TABLE x RENAME TO by_time",
	};

	run_any(round->db, "%s", commands[random_below(round->random, sizeof commands / sizeof *commands)]);
}

/* Lets another connection write and commit, if it can. */
static void write_elsewhere(struct round *round)
{
	char *sql = random_write(round->random, "main");

	if (round->another)
		run_any(round->another, "%s; %s", sql, one_in(round->random, 8) ? "INSERT INTO spans_if(spans_if) VALUES('flush')" : "");
	sqlite3_free(sql);
}

static void expect_same_answer(struct round *round, int q)
{
	sqlite3_stmt *question = round->questions[q], *plain = round->plain[q];
	int rc, rc_plain;

	do {
		rc = sqlite3_step(question);
		rc_plain = sqlite3_step(plain);
		for (int i = 0; i < sqlite3_column_count(plain) && rc == SQLITE_ROW && rc_plain == SQLITE_ROW; i++) {
			const char *text = (const char *)sqlite3_column_text(question, i),
				   *plain_text = (const char *)sqlite3_column_text(plain, i);

			if (strcmp(text ? text : "NULL", plain_text ? plain_text : "NULL") != 0)
				fail_msg("%s gives %s in column %d, and plain SQL %s (IFOREST_SEED=%" PRIu64 ")", questions[q].question, text, i, plain_text,
					 round->seed);
		}
	} while (rc == rc_plain && rc == SQLITE_ROW);
	if (rc != SQLITE_DONE || rc_plain != SQLITE_DONE)
		fail_msg("%s ends with %d, and plain SQL with %d: %s (IFOREST_SEED=%" PRIu64 ")", questions[q].question, rc, rc_plain,
			 sqlite3_errmsg(round->db), round->seed);
	sqlite3_reset(question);
	sqlite3_reset(plain);
}

/* Runs some of the queries and compares them with plain SQL, often in one transaction. */
static void ask(struct round *round)
{
	bool is_alone = sqlite3_get_autocommit(round->db);

	if (is_alone && one_in(round->random, 2))
		run(round->db, "BEGIN");
	for (int q = 0; q < N_QUESTIONS; q++)
		if (one_in(round->random, 2))
			expect_same_answer(round, q);
	if (is_alone && !sqlite3_get_autocommit(round->db))
		run(round->db, "COMMIT");
}

static void step(struct round *round)
{
	int64_t deed = random_below(round->random, 20);

	if (deed < 6)
		write_once(round);
	else if (deed < 11)
		change_transaction(round);
	else if (deed < 12)
		command(round);
	else if (deed < 13)
		write_elsewhere(round);
	else
		ask(round);
	if (sqlite3_get_autocommit(round->db)) /* after OR ROLLBACK, for example */
		round->n_savepoints = 0;
}

static void open_round(struct round *round, const char *path, const char *attached)
{
	bool is_file = round->seed % 3 > 0;

	round->db = open_database(is_file ? path : ":memory:", 0);
	run(round->db, "PRAGMA journal_mode = %s", round->seed % 3 == 1 ? "DELETE" : "WAL");
	run(round->db, one_in(round->random, 2) ? SPANS : FREE_SPANS);
	run(round->db, INDEX "CREATE VIRTUAL TABLE folded USING iforest_fold(spans_if)");
	run(round->db, "CREATE VIRTUAL TABLE by_time USING iforest(content=spans, time=ts, value=code); ATTACH %Q AS o;"
		       "CREATE TABLE o.spans(id INTEGER PRIMARY KEY, track, ts INTEGER, dur INTEGER, code INTEGER);"
		       "CREATE VIRTUAL TABLE o.spans_if USING iforest(content=spans, time=ts, duration=dur, by=track);"
		       "CREATE VIRTUAL TABLE o.spans_rows USING iforest_rows(spans_if)", attached);
	round->another = !is_file ? NULL : one_in(round->random, 2) ? open_database(path, 0) : open_plain(path, 0);
	for (int q = 0; q < N_QUESTIONS; q++) {
		assert_int_equal(sqlite3_prepare_v2(round->db, questions[q].question, -1, &round->questions[q], NULL),
				 SQLITE_OK);
		assert_int_equal(sqlite3_prepare_v2(round->db, questions[q].plain, -1, &round->plain[q], NULL), SQLITE_OK);
	}
}

static void close_round(struct round *round)
{
	for (int q = 0; q < N_QUESTIONS; q++) {
		sqlite3_finalize(round->questions[q]);
		sqlite3_finalize(round->plain[q]);
	}
	if (round->another)
		close_database(round->another);
	close_database(round->db); /* possibly in a transaction */
}

static void answers_follow_random_transactions(void **state)
{
	const char *path = test_path("random.db"), *attached = test_path("attached.db");
	int n_rounds = test_rounds(N_ROUNDS);

	(void)state;
	for (int i = 0; i < n_rounds; i++) {
		struct random random = { test_seed() + (uint64_t)i };
		struct round round = { .random = &random, .seed = random.state };

		open_round(&round, path, attached);
		for (int s = 0; s < STEPS; s++)
			step(&round);
		for (int q = 0; q < N_QUESTIONS; q++)
			expect_same_answer(&round, q);
		close_round(&round);
		remove_database(path);
		remove_database(attached);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(answers_follow_random_transactions) };

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
