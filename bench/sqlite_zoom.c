/* bench/sqlite_zoom.c -- Benchmark of windows and buckets: plain SQL and the index, side by side, in one run on the same
 * rows.
 *
 *   sqlite_zoom ROWS FOLDER      the database is made in FOLDER and removed at the end
 *
 * The reference is plain SQL with a covering index for each question: (ts, dur) and (track, ts, dur).
 * Every pair of answers is compared; times are medians of several runs, prepared once, warm.
 */
#include <math.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RUNS = 101 };

static sqlite3 *db;

static double now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void fail(const char *what)
{
	fprintf(stderr, "sqlite_zoom: %s: %s\n", what, sqlite3_errmsg(db));
	exit(1);
}

static void run(const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		fail(sql);
}

static double timed(const char *what, const char *sql)
{
	double start = now_us(), seconds;

	run(sql);
	seconds = (now_us() - start) / 1e6;
	printf("%-42s %8.2f s\n", what, seconds);
	return seconds;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median time in us of stepping through all rows; the sum of all columns is the check. */
static double median_us(const char *sql, int n_runs, double *check)
{
	double times[MOST_RUNS];
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL))
		fail(sql);
	for (int r = 0; r < n_runs; r++) {
		double start = now_us();

		*check = 0;
		while (sqlite3_step(statement) == SQLITE_ROW)
			for (int c = 0; c < sqlite3_column_count(statement); c++)
				*check += sqlite3_column_double(statement, c) * (c + 1);
		if (sqlite3_reset(statement))
			fail(sql);
		times[r] = now_us() - start;
	}
	sqlite3_finalize(statement);
	qsort(times, (size_t)n_runs, sizeof *times, compare_doubles);
	return times[n_runs / 2];
}

static void compare(const char *what, const char *plain, const char *indexed)
{
	double plain_check, check;
	double plain_us = median_us(plain, 3, &plain_check), us = median_us(indexed, 31, &check);

	printf("%-42s %12.1f us %12.1f us %10.0fx  %s\n", what, plain_us, us, plain_us / us,
	       plain_check == check ? "same answer" : "ANSWERS DIFFER");
	if (plain_check != check)
		exit(1);
}

static sqlite3_int64 scalar(const char *sql)
{
	sqlite3_stmt *statement;
	sqlite3_int64 value;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) || sqlite3_step(statement) != SQLITE_ROW)
		fail(sql);
	value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}

static double bytes_a_row(const char *name, long long n_rows)
{
	char sql[128];

	snprintf(sql, sizeof sql, "SELECT sum(pgsize) FROM dbstat WHERE name = '%s'", name);
	return (double)scalar(sql) / (double)n_rows;
}

static void compare_all(sqlite3_int64 t1)
{
	char plain[512], indexed[512];

	printf("\n%-42s %15s %15s\n", "", "plain SQL", "index");
	compare("whole table: count, sum, max", "SELECT count(*), sum(dur), max(dur) FROM spans",
		"SELECT count, sum_dur, max_dur FROM spans_t");
	for (int shift = 0; shift <= 12; shift += 4) {
		long long width = t1 >> shift, t0 = (t1 - width) / 3;

		snprintf(plain, sizeof plain, "SELECT count(*), sum(dur), max(dur) FROM spans WHERE ts >= %lld AND ts < %lld",
			 t0, t0 + width - 1);
		snprintf(indexed, sizeof indexed, "SELECT count, sum_dur, max_dur FROM spans_t(%lld, %lld)", t0,
			 t0 + width - 1);
		compare(shift == 0 ? "window: nearly all" :
			shift == 4 ? "window: 1/16" :
			shift == 8 ? "window: 1/256" :
				     "window: 1/4096",
			plain, indexed);
	}
	for (int shift = 0; shift <= 12; shift += 6) {
		long long width = (t1 >> shift) / 1920 * 1920, t0 = (t1 - width) / 3;

		snprintf(plain, sizeof plain,
			 "SELECT (ts - %lld) / %lld, sum(dur), max(dur) FROM spans WHERE ts >= %lld AND ts < %lld "
			 "GROUP BY 1 ORDER BY 1",
			 t0, width / 1920, t0, t0 + width);
		snprintf(indexed, sizeof indexed, "SELECT bucket, sum_dur, max_dur FROM spans_t(%lld, %lld, 1920)", t0,
			 t0 + width);
		compare(shift == 0 ? "1920 buckets: all" :
			shift == 6 ? "1920 buckets of 1/64" :
				     "1920 buckets of 1/4096",
			plain, indexed);
	}
	snprintf(plain, sizeof plain,
		 "SELECT sum(b + 1), sum(s), sum(m) FROM (SELECT track, ts / %lld AS b, sum(dur) AS s, max(dur) AS m "
		 "FROM spans WHERE ts >= 0 AND ts < %lld GROUP BY 1, 2)",
		 t1 / 1920, t1 / 1920 * 1920);
	snprintf(indexed, sizeof indexed, "SELECT sum(bucket + 1), sum(sum_dur), sum(max_dur) FROM spans_by(0, %lld, 1920)",
		 t1 / 1920 * 1920);
	compare("1920 buckets x 32 tracks", plain, indexed);
}

int main(int argc, char **argv)
{
	long long n_rows = argc > 1 ? atoll(argv[1]) : 5000000;
	char path[512], sql[1024];

	snprintf(path, sizeof path, "%s/sqlite_zoom.db", argc > 2 ? argv[2] : ".");
	unlink(path);
	if (sqlite3_open(path, &db) || sqlite3_enable_load_extension(db, 1))
		fail(path);
	snprintf(sql, sizeof sql, "SELECT load_extension('%s/iforest')", argc > 2 ? argv[2] : ".");
	run(sql);
	run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000");
	printf("SQLite %s, %lld rows, 32 tracks, durations of 1 ns to 16 ms\n\n", sqlite3_libversion(), n_rows);
	snprintf(sql, sizeof sql,
		 "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER);"
		 "INSERT INTO spans(track, ts, dur) WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i + 1 "
		 "< %lld)"
		 "SELECT 'track ' || ((i * 2654435761 >> 7) & 31), i * 1000 + (i * 40503 & 1023),"
		 " (i * 2246822519 >> 3) & ((1 << ((i * 3266489917 >> 5) %% 24)) - 1) FROM g",
		 n_rows);
	timed("rows written in", sql);
	timed("covering index (ts, dur) made in", "CREATE INDEX spans_ts ON spans(ts, dur)");
	timed("covering index (track, ts, dur) made in", "CREATE INDEX spans_track ON spans(track, ts, dur)");
	timed("iforest without by columns made in",
	      "CREATE VIRTUAL TABLE spans_t USING iforest(content=spans, time=ts, duration=dur)");
	timed("iforest by track made in",
	      "CREATE VIRTUAL TABLE spans_by USING iforest(content=spans, time=ts, duration=dur, by=track)");
	printf("\nbytes a row (b-tree pages included): covering indexes %.2f and %.2f, iforest %.2f and by track %.2f\n",
	       bytes_a_row("spans_ts", n_rows), bytes_a_row("spans_track", n_rows), bytes_a_row("spans_t_page", n_rows),
	       bytes_a_row("spans_by_page", n_rows));
	run("BEGIN");
	compare_all(n_rows * 1000);
	run("COMMIT");
	sqlite3_close(db);
	unlink(path);
	return 0;
}
