/* tests/sqlite/test_front.c -- Tests of rows at the end of a table, which are not logged: an index sees them inserted,
 * replaced, changed and deleted, by its own and by another connection, whatever was read before, at either end of the rowids,
 * through savepoints, rollbacks and flushes. A failure prints its seed. */
#include "harness.h"

#define INDEX "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER, u INTEGER UNIQUE);" \
	"CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track)"
#define FLUSH "INSERT INTO spans_if(spans_if) VALUES('flush')"
#define CHECK "INSERT INTO spans_if(spans_if) VALUES('integrity-check')"
#define MANY(n) "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < " #n ") "
#define WRONG "spans_if: corrupt: the table of the front is wrong; run INSERT INTO \"spans_if\"(\"spans_if\") VALUES('rebuild')"

enum { N_ROUNDS = 40, N_STEPS = 60 };

static void expect_good(sqlite3 *db)
{
	same_rows(db, "SELECT track, count, first_ts, last_ts, count_dur, sum_dur, min_dur, max_dur FROM spans_if ORDER BY track",
		  "SELECT track, count(*), min(ts), max(ts), count(dur), sum(dur), min(dur), max(dur) FROM spans GROUP BY 1 ORDER BY 1");
	same_rows(db, "SELECT sum(count), sum(sum_dur) FROM spans_if(20, 70)",
		  "SELECT nullif(count(*), 0), sum(dur) FROM spans WHERE ts >= 20 AND ts < 70");
}

static int64_t n_logged(sqlite3 *db)
{
	return integer_of(db, "SELECT count(*) FROM spans_if_log");
}

/* ---- by hand ---- */

static void rows_at_the_end_are_not_logged(void **state)
{
	const char *path = test_path("quiet.db");
	sqlite3 *db = open_database(path, 0), *other = open_database(path, 0);
	int64_t n;

	(void)state;
	run(db, INDEX);
	run(db, MANY(10000) "INSERT INTO spans(track, ts, dur) SELECT 'a', x, 1 FROM n");
	n = n_logged(db);
	assert_in_range(n, 1, 10000 / 100);
	run_gives(db, "10000\n", "SELECT pending FROM iforest_stats('spans_if')");
	expect_good(db);
	expect_good(other);
	run(db, "INSERT OR REPLACE INTO spans(id, track, ts, dur) VALUES(10000, 'b', 30, 100)");
	expect_good(db);
	expect_good(other);
	run(db, "INSERT OR REPLACE INTO spans(id, track, ts, dur) VALUES(10000, 'b', 30, 101)");
	expect_good(db);
	expect_good(other);
	assert_int_equal(n_logged(db), n);
	run(db, "INSERT OR REPLACE INTO spans(id, track, ts, dur) VALUES(5000, 'b', 30, 102)");
	assert_true(n_logged(db) > n);
	expect_good(db);
	expect_good(other);
	run(db, FLUSH);
	assert_int_equal(n_logged(db), 0);
	run_gives(other, "0\n", "SELECT pending FROM iforest_stats('spans_if')");
	expect_good(other);
	run(db, "INSERT OR REPLACE INTO spans(id, track, ts, dur) VALUES(10000, 'c', 30, 103)");
	expect_good(db);
	expect_good(other);
	run(db, CHECK);
	close_database(other);
	close_database(db);
}

/* A query whose statement is open continues with its old state. Other queries see new rows. */
static void an_open_question_is_left_alone(void **state)
{
	const char *path = test_path("open.db");
	sqlite3 *db = open_database(path, 0);
	sqlite3_stmt *open;
	int n_rows = 1;

	(void)state;
	run(db, "PRAGMA journal_mode = WAL");
	run(db, INDEX);
	run(db, MANY(50) "INSERT INTO spans(track, ts, dur) SELECT x, x, 1 FROM n");
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT track, sum_dur FROM spans_if ORDER BY track", -1, &open, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(open), SQLITE_ROW);
	run(db, "INSERT OR REPLACE INTO spans(id, track, ts, dur) VALUES(49, 'new', 60, 5), (52, 'x', 3, 3)");
	expect_good(db);
	run(db, "INSERT INTO spans(id, track, ts, dur) VALUES(51, 'between', 60, 5)");
	expect_good(db);
	while (sqlite3_step(open) == SQLITE_ROW) {
		assert_int_equal(sqlite3_column_int(open, 1), 1);
		n_rows++;
	}
	assert_int_equal(n_rows, 50);
	sqlite3_finalize(open);
	close_database(db);
}

/* After all rows were deleted, and that was flushed, new rows are at the end of the table again. */
static void the_front_comes_back_with_a_seal(void **state)
{
	sqlite3 *db = open_database(test_path("again.db"), 0);

	(void)state;
	run(db, INDEX);
	run(db, "INSERT INTO spans(id, ts, dur) VALUES(4611686018427387904, 1, 1)");
	run(db, FLUSH "; DELETE FROM spans;" FLUSH);
	run(db, MANY(1000) "INSERT INTO spans(track, ts, dur) SELECT 'a', x, 1 FROM n");
	assert_in_range(n_logged(db), 0, 20);
	expect_good(db);
	run(db, FLUSH);
	expect_good(db);
	run(db, CHECK);
	close_database(db);
}

/* If the greatest possible rowid is taken, SQLite chooses rowids at random. */
static void no_front_lies_behind_the_last_rowid(void **state)
{
	const char *path = test_path("last.db");
	sqlite3 *db = open_database(path, 0), *other = open_database(path, 0);

	(void)state;
	run(db, INDEX);
	for (int round = 0; round < 3; round++) {
		run(db, "INSERT OR REPLACE INTO spans(id, track, ts, dur) VALUES(9223372036854775807, 'last', 30, %d)", round);
		expect_good(db);
		expect_good(other);
		run(db, "INSERT INTO spans(track, ts, dur) VALUES('chosen', 40, 1), ('chosen', 41, 1)");
		expect_good(db);
		expect_good(other);
		run(db, "%s", round == 1 ? FLUSH : "");
		run(db, "UPDATE spans SET dur = dur + 5 WHERE id = 9223372036854775807");
		expect_good(db);
		expect_good(other);
	}
	run(db, CHECK);
	close_database(other);
	close_database(db);
}

/* ---- the table of the front ---- */

static void a_front_that_is_wrong_is_an_error(void **state)
{
	static const char *const damages[] = {
		"DELETE FROM spans_if_front", "UPDATE spans_if_front SET block = 0", "UPDATE spans_if_front SET block = -1 << 60",
		"UPDATE spans_if_front SET block = 1 << 60",
		"DROP TABLE spans_if_front; CREATE TABLE spans_if_front(block); INSERT INTO spans_if_front VALUES('x')",
	};

	(void)state;
	for (size_t d = 0; d < sizeof damages / sizeof damages[0]; d++) {
		sqlite3 *db = open_database(test_path("wrong.db"), 0);

		run(db, "DROP TABLE IF EXISTS spans; DROP TABLE IF EXISTS spans_if");
		run(db, INDEX);
		run(db, MANY(300) "INSERT INTO spans(track, ts, dur) SELECT 'a', x, 1 FROM n");
		run(db, FLUSH);
		expect_good(db);
		run(db, "%s", damages[d]);
		run_fails(db, WRONG, "SELECT count FROM spans_if");
		run_fails(db, WRONG, FLUSH);
		run(db, "INSERT INTO spans(track, ts, dur) VALUES('b', 1, 1)");
		run(db, "INSERT INTO spans_if(spans_if) VALUES('rebuild')");
		expect_good(db);
		run(db, "INSERT INTO spans(track, ts, dur) VALUES('c', 1, 1)");
		expect_good(db);
		close_database(db);
	}
}

/* Earlier versions logged every row that was inserted. */
static void an_index_of_an_earlier_version_is_made_well_by_rebuild(void **state)
{
	sqlite3 *db = open_database(test_path("earlier.db"), 0);
	char *trigger;

	(void)state;
	run(db, INDEX);
	run(db, MANY(300) "INSERT INTO spans(track, ts, dur) SELECT 'a', x, 1 FROM n");
	trigger = rows_of(db, "SELECT replace(sql, ' AND new.\"id\" >> 7 IS NOT (SELECT block FROM \"spans_if_front\")', '')"
			  " FROM sqlite_schema WHERE name = 'spans_if_before_insert'");
	assert_null(strstr(trigger, "front"));
	run(db, "DROP TRIGGER spans_if_before_insert; %s; DROP TRIGGER spans_if_insert; DROP TABLE spans_if_front;"
		"CREATE TRIGGER spans_if_insert AFTER INSERT ON spans BEGIN INSERT INTO \"spans_if_log\"(id) VALUES(new.\"id\"); END", trigger);
	free(trigger);
	run(db, "INSERT INTO spans(track, ts, dur) VALUES('b', 1, 1)");
	run_fails(db, "spans_if: detached from its table", "SELECT count FROM spans_if");
	run(db, "INSERT INTO spans_if(spans_if) VALUES('rebuild'); INSERT INTO spans(track, ts, dur) VALUES('c', 1, 1)");
	expect_good(db);
	run(db, "ALTER TABLE spans_if RENAME TO renamed; ALTER TABLE renamed RENAME TO spans_if; INSERT INTO spans(track, ts, dur) VALUES('d', 1, 1)");
	expect_good(db);
	run(db, "DROP TABLE spans_if_front");
	run(db, "DROP TABLE spans_if; INSERT INTO spans(track, ts, dur) VALUES('e', 1, 1)");
	close_database(db);
}

/* If there are several fronts, triggers and readers all take the first. */
static void of_several_fronts_the_first_holds(void **state)
{
	const char *path = test_path("several.db");
	sqlite3 *db = open_database(path, 0), *other = open_database(path, 0);

	(void)state;
	run(db, INDEX);
	run(db, MANY(300) "INSERT INTO spans(track, ts, dur) SELECT 'a', x, 1 FROM n");
	expect_good(other);
	run(db, "INSERT INTO spans_if_front VALUES(1000), (3)");
	for (int i = 0; i < 200; i++) {
		run(db, "INSERT OR REPLACE INTO spans(id, track, ts, dur) VALUES(%d, 'b', 25, %d)", i % 2 ? 290 + i : 128000 + i, i);
		expect_good(other);
	}
	run(db, FLUSH);
	expect_good(other);
	close_database(other);
	close_database(db);
}

static void what_holds_the_front_loses_nothing(void **state)
{
	static const struct {
		const char *change, *more, *what;
	} cases[] = {
		{ "DELETE FROM spans WHERE id = 3", "INSERT INTO spans(id, ts, dur) VALUES(1020, 25, 7)", "UPDATE ON spans_if_front WHEN new.block > old.block" },
		{ "DELETE FROM spans WHERE id > 100", "DELETE FROM spans WHERE id > 90", "UPDATE ON spans_if_front WHEN new.block < old.block" },
		{ "UPDATE spans SET dur = 7 WHERE id IN (3, 999)", "INSERT INTO spans(id, ts, dur) VALUES(1020, 25, 7)", "DELETE ON spans_if_log" },
		{ "DELETE FROM spans", "DELETE FROM spans", "DELETE ON spans_if_log" },
	};

	(void)state;
	for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
		for (int in_transaction = 0; in_transaction < 2; in_transaction++) {
			sqlite3 *db = open_database(test_path("held.db"), 0);

			run(db, "DROP TABLE IF EXISTS spans; DROP TABLE IF EXISTS spans_if");
			run(db, INDEX);
			run(db, MANY(1000) "INSERT INTO spans(track, ts, dur) SELECT 'a', x, 1 FROM n");
			run(db, "%s", cases[c].change);
			expect_good(db);
			run(db, "%s %s", in_transaction ? "BEGIN;" : "", in_transaction ? cases[c].more : "");
			run(db, "CREATE TRIGGER held BEFORE %s BEGIN SELECT RAISE(ABORT, 'held'); END", cases[c].what);
			run_fails(db, "spans_if: held", FLUSH);
			expect_good(db);
			run(db, "DROP TRIGGER held");
			expect_good(db);
			run(db, "INSERT OR REPLACE INTO spans(id, track, ts, dur) SELECT max(id), 'r', 26, 9 FROM spans");
			expect_good(db);
			run(db, FLUSH);
			expect_good(db);
			run(db, "%s", in_transaction ? "COMMIT" : "");
			run(db, CHECK);
			close_database(db);
		}
}

/* ---- at random ---- */

struct round {
	struct random random;
	sqlite3 *writer, *reader, *plain;
	int64_t base;               /* rowids are 0 to 500 above it, most of them near the last row */
	int depth;
};

static int64_t random_rowid(struct round *round, sqlite3 *db)
{
	int64_t last = integer_of(db, "SELECT ifnull(max(id), %" PRId64 ") FROM spans", round->base);
	uint64_t width = (uint64_t)last - (uint64_t)round->base; /* rows with rowid -1 may be far away */
	int64_t offset = one_in(&round->random, 4) ? 0 : width < 600 ? (int64_t)width - 100 : 500;

	offset += random_below(&round->random, one_in(&round->random, 3) ? 400 : 130);
	return round->base + (offset < 0 ? 0 : offset > 500 ? 500 : offset);
}

static void write_once(struct round *round, sqlite3 *db)
{
	static const char *const writes[] = {
		"INSERT OR IGNORE INTO spans VALUES(?1, ?2, ?3, ?4, ?5)",
		"INSERT OR REPLACE INTO spans VALUES(?1, ?2, ?3, ?4, ?5)",
		"INSERT OR REPLACE INTO spans VALUES(?1, ?2, ?3, ?4, NULL)",
		"INSERT OR REPLACE INTO spans VALUES(NULL, ?2, ?3, ?4, ?5)",
		"INSERT INTO spans VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT(id) DO UPDATE SET dur = ?4 ON CONFLICT DO NOTHING",
		"UPDATE OR REPLACE spans SET id = ?1, u = ?5 WHERE id = (SELECT id FROM spans WHERE id >= ?1 LIMIT 1)",
		"UPDATE OR IGNORE spans SET dur = ?4, track = ?2 WHERE id >= ?1",
		"DELETE FROM spans WHERE id = ?1 OR u = ?5",
		"DELETE FROM spans WHERE id > ?1 AND abs(?3) % 20 = 0",
		"INSERT OR IGNORE INTO spans WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x < ?4 % 150)"
		" SELECT (SELECT max(id) FROM spans) + (x + 1) * 2, ?2, ?3 + x, x, NULL FROM n"
		" WHERE (SELECT max(id) FROM spans) < 9223372036854775000",
	};
	static const char *const tracks[] = { "a", "b", "c", NULL };
	sqlite3_stmt *write;

	assert_int_equal(sqlite3_prepare_v2(db, writes[random_below(&round->random, sizeof writes / sizeof writes[0])], -1, &write, NULL), SQLITE_OK);
	sqlite3_bind_int64(write, 1, one_in(&round->random, 30) ? -1 : random_rowid(round, db));
	sqlite3_bind_text(write, 2, tracks[random_below(&round->random, 4)], -1, SQLITE_STATIC);
	if (!one_in(&round->random, 12))
		sqlite3_bind_int64(write, 3, random_below(&round->random, 100));
	sqlite3_bind_int64(write, 4, random_below(&round->random, 1000));
	sqlite3_bind_int64(write, 5, random_below(&round->random, 60));
	sqlite3_step(write);
	sqlite3_finalize(write);
}

/* The writer may be in a transaction. Then no other connection writes. */
static void step(struct round *round)
{
	sqlite3 *db = round->writer;

	switch (random_below(&round->random, 10)) {
	case 0:
		run(db, "SAVEPOINT s%d", round->depth++);
		break;
	case 1:
		if (round->depth > 0)
			run(db, "ROLLBACK TO s%d", (round->depth = 1 + (int)random_below(&round->random, round->depth)) - 1);
		break;
	case 2:
		if (round->depth > 0)
			run(db, one_in(&round->random, 3) ? "ROLLBACK" : "COMMIT");
		round->depth = 0;
		break;
	case 3:
		if (one_in(&round->random, 2))
			run(db, one_in(&round->random, 4) ? "INSERT INTO spans_if(spans_if) VALUES('rebuild')" : FLUSH);
		break;
	default:
		write_once(round, round->depth == 0 && one_in(&round->random, 2) ? round->plain : db);
	}
}

static void every_change_at_the_end_is_seen(void **state)
{
	static const int64_t bases[] = { 0, 0, -100, -250, INT64_MIN, INT64_MAX - 500, INT64_C(1) << 40 };

	(void)state;
	for (int n = 0; n < N_ROUNDS; n++) {
		const char *path = test_path("random.db");
		struct round round = { .random = { test_seed() + (uint64_t)n }, .base = bases[n % 7] };

		remove_database(path);
		round.writer = open_database(path, 0);
		run(round.writer, "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
		run(round.writer, INDEX);
		round.reader = open_database(path, 0);
		round.plain = open_plain(path, 0);
		for (int i = 0; i < N_STEPS; i++) {
			step(&round);
			if (!one_in(&round.random, 3))
				expect_good(round.writer);
			if (!one_in(&round.random, 3))
				expect_good(round.reader);
		}
		if (round.depth > 0)
			run(round.writer, "COMMIT");
		run(round.reader, CHECK);
		run(round.writer, FLUSH ";" CHECK);
		expect_good(round.reader);
		close_database(round.plain);
		close_database(round.reader);
		close_database(round.writer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_at_the_end_are_not_logged),
		cmocka_unit_test(an_open_question_is_left_alone),
		cmocka_unit_test(the_front_comes_back_with_a_seal),
		cmocka_unit_test(no_front_lies_behind_the_last_rowid),
		cmocka_unit_test(a_front_that_is_wrong_is_an_error),
		cmocka_unit_test(an_index_of_an_earlier_version_is_made_well_by_rebuild),
		cmocka_unit_test(of_several_fronts_the_first_holds),
		cmocka_unit_test(what_holds_the_front_loses_nothing),
		cmocka_unit_test(every_change_at_the_end_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
