/* tests/sqlite/test_threads.c -- Tests of threads (PRAGMA threads): answers are the same with and without them, and those of
 * plain SQL, with all, some or no pages in memory, and with pending, changed and deleted rows. Runs under -fsanitize=thread,
 * too. */
#include "harness.h"

#include "tests/support/sanitizer.h"

enum { N_ROWS = 60000, N_TRACKS = 23, END = 6000000 };

static const char *const questions[] = {
	"SELECT track, bucket, max_dur, max_dur_id FROM spans_if(%d, %d, 997)",
	"SELECT track, bucket, sum_dur, count FROM spans_if(%d, %d, 997)",
	"SELECT * FROM spans_if(%d, %d, 300)",
	"SELECT track, bucket, min_dur_id, avg_dur, last_dur FROM spans_if(%d, %d) WHERE step = 9000",
	"SELECT track, bucket, max_dur, sum_dur FROM spans_if(%d, %d, 400) WHERE fill = 'last'",
	"SELECT track, bucket, first_ts, count FROM spans_if(%d, %d, 900) WHERE track IN (3, 9, 4, 22, 7) AND fill = 'zero'",
	"SELECT bucket, sum_dur, max_dur_id FROM spans_all(%d, %d, 800)",
	"SELECT half, bucket, max_dur, max_dur_id FROM spans_half(%d, %d, 2000)",
	"SELECT track, bucket, longest_dur, longest_dur_id FROM spans_overlap(%d, %d, 500)",
	"SELECT track, bucket, overlaps, clipped_dur, longest_dur_ts FROM spans_overlap(%d, %d, 500)",
	"SELECT track, bucket, longest_dur_id FROM spans_overlap(%d, %d) WHERE step = 7001",
	"SELECT track, bucket, overlaps, peak, peak_ts FROM spans_overlap(%d, %d, 500)",
	"SELECT track, bucket, longest_dur FROM spans_overlap(%d, %d, 400) WHERE fill = 'null'",
};
enum { N_QUESTIONS = sizeof questions / sizeof *questions };

static void make_spans(const char *path)
{
	sqlite3 *db = open_database(path, 0);

	run(db, "CREATE TABLE spans(id INTEGER PRIMARY KEY, track, half, ts, dur);"
		"INSERT INTO spans(track, half, ts, dur) WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i + 1 < %d)"
		" SELECT (i * 2654435761 >> 7) %% %d, i %% 2, i * 100 + (i * 40503 & 127), (i * 2246822519 >> 3) & ((1 << (i * 7 %% 24)) - 1) FROM g;"
		"CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=(half, track));"
		"CREATE VIRTUAL TABLE spans_all USING iforest_fold(spans_if);"
		"CREATE VIRTUAL TABLE spans_overlap USING iforest_overlap(spans_if);"
		"CREATE VIRTUAL TABLE spans_half USING iforest_fold(spans_if, half)", N_ROWS, N_TRACKS);
	close_database(db);
}

static void compare(sqlite3 *alone, sqlite3 *helped, int t0, int t1)
{
	for (int q = 0; q < N_QUESTIONS; q++)
		assert_true(digest_of(alone, questions[q], t0, t1) == digest_of(helped, questions[q], t0, t1));
}

/* Compares a small window first, so that the pages of its ends are in memory for the larger one, and others are not. */
static void compare_windows(const char *path)
{
	static const int windows[][2] = { { 2000000, 2100000 }, { 1000000, 2500000 }, { 0, END },
					  { 0, END },		{ -5, 4000001 },      { 7, 7 } };
	sqlite3 *alone = open_database(path, 0), *helped = open_database(path, 0);

	run(helped, "PRAGMA threads = 3");
	for (unsigned w = 0; w < sizeof windows / sizeof *windows; w++)
		compare(alone, helped, windows[w][0], windows[w][1]);
	close_database(helped);
	for (int q = 0; q < N_QUESTIONS; q++) {
		helped = open_database(path, 0); /* no page is in memory */
		run(helped, "PRAGMA threads = 2");
		assert_true(digest_of(alone, questions[q], 0, END) == digest_of(helped, questions[q], 0, END));
		close_database(helped);
	}
	close_database(alone);
}

static void compare_with_plain_sql(const char *path)
{
	sqlite3 *db = open_database(path, 0);

	run(db, "PRAGMA threads = 3");
	for (int i = 0; i < 2; i++)
		same_rows(db, "SELECT half, track, bucket, sum_dur, count, max_dur FROM spans_if(1000, 5000000, 700) ORDER BY 1, 2, 3",
			  "SELECT half, track, iforest_bucket(ts, 1000, 5000000, 700) AS b, sum(dur), count(*), max(dur) FROM spans"
			  " WHERE ts >= 1000 AND ts < 5000000 GROUP BY 1, 2, b ORDER BY 1, 2, 3");
	close_database(db);
}

static void answers_are_the_same_with_threads(void **state)
{
	const char *path = test_path("threads.db");
	sqlite3 *db;

	(void)state;
	make_spans(path);
	if (!sanitizer_shortens()) { /* the same is tested after the flush */
		compare_windows(path);
		compare_with_plain_sql(path);
	}
	db = open_database(path, 0);
	run(db, "DELETE FROM spans WHERE id %% 97 = 0; UPDATE spans SET dur = dur + 5, ts = ts + 300 WHERE id %% 501 = 3;"
		"INSERT INTO spans(track, half, ts, dur) SELECT track, half, ts + 1, dur + 1 FROM spans WHERE id %% 53 = 5");
	compare_windows(path);
	compare_with_plain_sql(path);
	run(db, "INSERT INTO spans_if(spans_if) VALUES('flush')");
	compare_windows(path);
	compare_with_plain_sql(path);
	close_database(db);
}

/* Series of the build are swept over (query/series_sweep.h), those that came later, in no order of their ids, are answered by
 * threads. */
static void swept_series_and_others_are_told_apart(void **state)
{
	static const char *const plain = "SELECT k, count(*), sum(dur), max(dur) FROM many WHERE ts >= %d AND ts < %d GROUP BY 1 ORDER BY 1";
	const char *path = test_path("many.db");
	sqlite3 *db;

	(void)state;
	db = open_database(path, 0);
	run(db, "CREATE TABLE many(id INTEGER PRIMARY KEY, k, ts, dur);"
		"INSERT INTO many(k, ts, dur) WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i < 8999)"
		" SELECT i %% 1500 * 2, i, i * 7 %% 1000 FROM g;"
		"CREATE VIRTUAL TABLE many_if USING iforest(content=many, time=ts, duration=dur, by=k);"
		"CREATE VIRTUAL TABLE many_all USING iforest_fold(many_if);"
		"INSERT INTO many(k, ts, dur) WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i < 5999)"
		" SELECT i * 733 %% 3000 * 2 + 1, i, i * 11 %% 1000 FROM g");
	for (int flushed = 0; flushed < 2; flushed++)
		for (int threads = 0; threads <= 3; threads += 3)
			for (int t0 = 0; t0 < 6000; t0 += 2900) {
				char *reference = sqlite3_mprintf(plain, t0, t0 + 2500), *whole, *sql;

				whole = sqlite3_mprintf("SELECT count(*), sum(sum_dur), max(max_dur) FROM many_if(%d, %d)", t0, t0 + 2500);
				sql = sqlite3_mprintf("SELECT k, count, sum_dur, max_dur FROM many_if(%d, %d) ORDER BY 1", t0, t0 + 2500);
				run(db, "PRAGMA threads = %d", threads);
				same_rows(db, sql, reference);
				sqlite3_free(sql);
				sql = sqlite3_mprintf("SELECT (SELECT count(DISTINCT k) FROM many WHERE ts >= %d AND ts < %d), sum_dur, max_dur FROM many_all(%d, %d)",
						      t0, t0 + 2500, t0, t0 + 2500);
				same_rows(db, whole, sql);
				sqlite3_free(sql);
				sqlite3_free(whole);
				sqlite3_free(reference);
				if (flushed == 0 && threads == 3 && t0 > 2900)
					run(db, "INSERT INTO many_if(many_if) VALUES('flush')");
			}
	close_database(db);
}

/* Answers that were computed ahead are returned only while the index is unchanged. */
static void changes_between_rows_are_noticed(void **state)
{
	const char *path = test_path("changed.db");
	sqlite3 *db;
	sqlite3_stmt *statement;

	(void)state;
	make_spans(path);
	db = open_database(path, 0);
	run(db, "PRAGMA threads = 3");
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT track, bucket, sum_dur FROM spans_if(0, 6000000, 997)", -1, &statement, NULL), SQLITE_OK);
	for (int i = 0; i < 2000; i++)
		assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	run(db, "DELETE FROM spans WHERE id < 100; INSERT INTO spans_if(spans_if) VALUES('rebuild')");
	assert_int_equal(sqlite3_step(statement), SQLITE_ABORT);
	sqlite3_finalize(statement);
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_the_same_with_threads),
		cmocka_unit_test(swept_series_and_others_are_told_apart),
		cmocka_unit_test(changes_between_rows_are_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
