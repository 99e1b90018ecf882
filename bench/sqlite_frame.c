/* bench/sqlite_frame.c -- Benchmark of frames of a timeline, 16 tracks of 1920 pixels, through SQL: the index, plain SQL and
 * SQLite's own floor.
 *
 *   sqlite_frame DATABASE EXTENSION PART...
 *
 *   make=ROWS      makes the database: spans with ids from 1 on, an index by track, two covering indexes for plain SQL
 *   plain          one frame a depth beside plain SQL, where it has few enough rows; answers are compared
 *   same           the longest span of each pixel is the same whether sums are asked for beside it or not
 *   longest, sums, overlaps     walks: frames of that question
 *   make-names=ROWS, names      an index of 10^5 series is made; asked
 *   cache=KIB      PRAGMA cache_size of the parts that follow; threads=N PRAGMA threads
 *   depths=N, pans=N            of the walks that follow, at most 7 and 24
 *
 * A walk zooms in from the whole trace to a millionth of it and pans at every depth. Statements are prepared once; a walk goes
 * before that is not timed, so that all is warm.
 */
#include "bench/sqlite_floor.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_TRACKS = 16, N_PIXELS = 1920, N_DEPTHS = 7, N_PANS = 24, MOST_PLAIN_ROWS = 1000000 };

static sqlite3 *db;

static double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* Of all threads. */
static double processor_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void fail(const char *what)
{
	fprintf(stderr, "sqlite_frame: %s: %s\n", what, sqlite3_errmsg(db));
	exit(1);
}

static void run(const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		fail(sql);
}

static void timed(const char *what, const char *sql)
{
	double start = now_ms();

	run(sql);
	printf("%-42s %8.1f s\n", what, (now_ms() - start) / 1e3);
}

static sqlite3_stmt *prepare(const char *sql)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL))
		fail(sql);
	return statement;
}

/* ---- frames ---- */

struct frame {
	sqlite3_int64 t0, t1;
	unsigned depth; /* the frame is 10^-depth of the trace */
};

struct answer {
	double ms, processor_ms;
	sqlite3_int64 n_rows, check;
};

static struct frame frames[N_DEPTHS * N_PANS];
static unsigned n_frames, n_depths = N_DEPTHS, n_pans = N_PANS;

static sqlite3_int64 place(unsigned frame, sqlite3_int64 room)
{
	return (sqlite3_int64)((double)room * ((frame * 40503u + 12345u) % 65536u) / 65536);
}

static void plan_walk(sqlite3_int64 end)
{
	sqlite3_int64 width = end;

	for (unsigned depth = 0; depth < n_depths; depth++, width /= 10) {
		sqlite3_int64 t0 = place(depth, end - width), step = depth ? width / 10 : 0;

		for (unsigned pan = 0; pan < n_pans; pan++, t0 += step)
			if (t0 + width <= end)
				frames[n_frames++] = (struct frame){ .t0 = t0, .t1 = t0 + width, .depth = depth };
	}
}

/* Steps through all rows and adds up what the columns say: in any order of rows, as different for different rows as products
 * are. */
static struct answer ask(sqlite3_stmt *statement, sqlite3_int64 first, sqlite3_int64 second)
{
	struct answer answer = { .n_rows = 0 };
	int n_columns = sqlite3_column_count(statement);
	double start = now_ms(), processor_start = processor_ms();
	uint64_t check = 0;

	sqlite3_bind_int64(statement, 1, first);
	sqlite3_bind_int64(statement, 2, second);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		uint64_t row = 1;

		for (int c = 0; c < n_columns; c++)
			row = (row ^ (uint64_t)sqlite3_column_int64(statement, c)) * UINT64_C(0x9E3779B97F4A7C15);
		check += row ^ row >> 32;
		answer.n_rows++;
	}
	if (sqlite3_reset(statement))
		fail("a frame");
	answer.check = (sqlite3_int64)check;
	answer.ms = now_ms() - start;
	answer.processor_ms = processor_ms() - processor_start;
	return answer;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(double *values, unsigned n, double q)
{
	qsort(values, n, sizeof *values, compare_doubles);
	return values[(unsigned)(q * (n - 1) + 0.5)];
}

/* Pages that SQLite was asked for: what our own cache did not have, and the way down to it. */
static int sqlite_pages(void)
{
	int hits, misses, most;

	sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_HIT, &hits, &most, 0);
	sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &misses, &most, 0);
	return hits + misses;
}

static void walk(const char *what, const char *sql)
{
	sqlite3_stmt *statement = prepare(sql), *floor = prepare("SELECT a, b, c, d FROM counting(?1 + 0 * ?2)");

	printf("\n%s\n%-10s %9s %9s %9s %9s %9s %12s %14s\n", what, "frame", "rows", "median ms", "p95 ms", "processor",
	       "floor ms", "cells/s", "SQLite pages");
	for (unsigned f = 0; f < n_frames; f++)
		ask(statement, frames[f].t0, frames[f].t1);
	for (unsigned depth = 0; depth < n_depths; depth++) {
		double times[N_PANS], processor_times[N_PANS], floors[N_PANS], total = 0, n_rows = 0;
		unsigned n = 0;
		int n_pages = sqlite_pages();

		for (unsigned f = 0; f < n_frames; f++) {
			struct answer answer;

			if (frames[f].depth != depth)
				continue;
			answer = ask(statement, frames[f].t0, frames[f].t1);
			times[n] = answer.ms;
			processor_times[n] = answer.processor_ms;
			floors[n++] = ask(floor, answer.n_rows, 0).ms;
			total += answer.ms;
			n_rows += (double)answer.n_rows;
		}
		n_pages = sqlite_pages() - n_pages;
		printf("1/10^%-5u %9.0f %9.2f %9.2f %9.2f %9.2f %12.0f %14d\n", depth, n_rows / n, quantile(times, n, 0.5),
		       quantile(times, n, 0.95), quantile(processor_times, n, 0.5), quantile(floors, n, 0.5),
		       n_rows / total * 1e3, n_pages / (int)n);
		fflush(stdout);
	}
	sqlite3_finalize(statement);
	sqlite3_finalize(floor);
}

/* One frame a depth by plain SQL, if it has few enough rows. A bucket is the one of the index (docs/sqlite.md); ids ascend with
 * time, so that the lowest one of the longest spans is the earliest. */
static void compare_with_plain_sql(sqlite3_int64 n_spans, sqlite3_int64 end)
{
	static const char *const buckets = "FROM (SELECT track, ((ts - ?1 + 1) * 1920 - 1) / (?2 - ?1) AS bucket, dur, id FROM "
					   "spans WHERE ts >= ?1 AND ts < ?2) GROUP BY 1, 2";
	char sql[512];
	sqlite3_stmt *plain_longest, *plain_sums,
		*longest = prepare("SELECT track, bucket, max_dur, max_dur_id FROM spans_if(?1, ?2, 1920)");
	sqlite3_stmt *sums = prepare("SELECT track, bucket, sum_dur, count FROM spans_if(?1, ?2, 1920)");

	snprintf(sql, sizeof sql, "SELECT track, bucket, m >> 32, 4294967295 - (m & 4294967295) FROM (SELECT track, bucket, "
		 "max(dur << 32 | (4294967295 - id)) AS m %s)", buckets);
	plain_longest = prepare(sql);
	snprintf(sql, sizeof sql, "SELECT track, bucket, sum(dur), count(*) %s", buckets);
	plain_sums = prepare(sql);
	printf("\n%-10s %16s %16s %16s %16s\n", "frame", "longest, plain", "by index", "sums, plain", "by index");
	for (unsigned f = 0; f < n_frames; f++) {
		struct frame *frame = &frames[f];
		struct answer of[4];

		if ((f > 0 && frames[f - 1].depth == frame->depth) ||
		    (double)(frame->t1 - frame->t0) / (double)end * (double)n_spans > MOST_PLAIN_ROWS)
			continue;
		of[0] = ask(plain_longest, frame->t0, frame->t1);
		of[1] = ask(longest, frame->t0, frame->t1);
		of[2] = ask(plain_sums, frame->t0, frame->t1);
		of[3] = ask(sums, frame->t0, frame->t1);
		printf("1/10^%-5u %13.2f ms %13.2f ms %13.2f ms %13.2f ms   %s\n", frame->depth, of[0].ms, of[1].ms, of[2].ms,
		       of[3].ms, of[0].check == of[1].check && of[2].check == of[3].check ? "same answers" : "ANSWERS DIFFER");
		if (of[0].check != of[1].check || of[2].check != of[3].check)
			exit(1);
	}
	sqlite3_finalize(plain_longest);
	sqlite3_finalize(plain_sums);
	sqlite3_finalize(longest);
	sqlite3_finalize(sums);
}

/* The longest span is the same whether or not a sum is asked for beside it: with a sum every boundary page is read. */
static void compare_questions(void)
{
	sqlite3_stmt *longest = prepare("SELECT track, bucket, max_dur, max_dur_id FROM spans_if(?1, ?2, 1920)");
	sqlite3_stmt *both =
		prepare("SELECT track, bucket, max_dur, max_dur_id FROM spans_if(?1, ?2, 1920) WHERE sum_dur >= max_dur");

	for (unsigned f = 0; f < n_frames; f++)
		if (ask(longest, frames[f].t0, frames[f].t1).check != ask(both, frames[f].t0, frames[f].t1).check) {
			printf("frame %u: ANSWERS DIFFER\n", f);
			exit(1);
		}
	printf("\n%u frames: the longest spans are the same with and without sums\n", n_frames);
	sqlite3_finalize(longest);
	sqlite3_finalize(both);
}

/* ---- many series ---- */

/* Ids are 1, 2, 3 ... */
static sqlite3_int64 count_rows(const char *sql)
{
	sqlite3_stmt *statement = prepare(sql);
	sqlite3_int64 n_rows = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;

	sqlite3_finalize(statement);
	return n_rows;
}

static void time_series(const char *what, const char *sql, sqlite3_int64 t0, sqlite3_int64 t1)
{
	sqlite3_stmt *statement = prepare(sql);
	double times[9];
	struct answer answer = { .n_rows = 0 };

	for (unsigned r = 0; r < 9; r++) {
		answer = ask(statement, t0, t1);
		times[r] = answer.ms;
	}
	printf("%-48s %12.3f ms  %8lld rows\n", what, quantile(times, 9, 0.5), answer.n_rows);
	sqlite3_finalize(statement);
}

/* 10^5 names, of which a few bear most of the spans. */
static void make_names(sqlite3_int64 n_spans)
{
	char sql[512];

	snprintf(sql, sizeof sql,
		 "CREATE TABLE calls(id INTEGER PRIMARY KEY, name TEXT, ts INTEGER, dur INTEGER);"
		 "INSERT INTO calls(name, ts, dur) WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i + 1 "
		 "< %lld)"
		 "SELECT 'name ' || ((i * 2654435761 & 0xffffffff) %% (CASE WHEN i & 1 THEN 100 ELSE 100000 END)), i * 1000 + "
		 "(i * 40503 & 1023),"
		 " (i * 2246822519 >> 3) & ((1 << ((i * 3266489917 >> 5) %% 24)) - 1) FROM g",
		 (long long)n_spans);
	timed("calls of 100 000 names written in", sql);
	timed("iforest by name made in",
	      "CREATE VIRTUAL TABLE calls_if USING iforest(content=calls, time=ts, duration=dur, by=name)");
	timed("iforest_fold made in", "CREATE VIRTUAL TABLE calls_all USING iforest_fold(calls_if)");
}

static void ask_names(void)
{
	sqlite3_int64 end = count_rows("SELECT max(id) FROM calls") * 1000;

	printf("\n");
	time_series("one name, a window", "SELECT count, max_dur, max_dur_id FROM calls_if(?1, ?2) WHERE name = 'name 4242'",
		    end / 3, end / 2);
	time_series("one name, 1920 buckets",
		    "SELECT bucket, max_dur, max_dur_id FROM calls_if(?1, ?2, 1920) WHERE name = 'name 42'", end / 3, end / 2);
	time_series("all names, a row each, a window", "SELECT name, count, max_dur, max_dur_id FROM calls_if(?1, ?2)", end / 3,
		    end / 2);
	time_series("all names, a row each, 1/10^4", "SELECT name, count, max_dur, max_dur_id FROM calls_if(?1, ?2)", end / 3,
		    end / 3 + end / 10000);
	time_series("all names added up, a window", "SELECT count, max_dur, max_dur_id FROM calls_all(?1, ?2)", end / 3,
		    end / 2);
	time_series("all names added up, 1920 buckets", "SELECT bucket, max_dur, max_dur_id FROM calls_all(?1, ?2, 1920)",
		    end / 3, end / 2);
}

/* ---- */

static void make_spans(sqlite3_int64 n_spans)
{
	char sql[1024];

	snprintf(sql, sizeof sql,
		 "CREATE TABLE spans(id INTEGER PRIMARY KEY, track INTEGER, ts INTEGER, dur INTEGER);"
		 "INSERT INTO spans(track, ts, dur) WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i + 1 "
		 "< %lld)"
		 "SELECT (i * 2654435761 >> 7) & %d, i * 1000 + (i * 40503 & 1023),"
		 " (i * 2246822519 >> 3) & ((1 << ((i * 3266489917 >> 5) %% 24)) - 1) FROM g",
		 (long long)n_spans, N_TRACKS - 1);
	timed("spans written in", sql);
	timed("iforest by track made in",
	      "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track)");
	run("CREATE VIRTUAL TABLE spans_overlap USING iforest_overlap(spans_if)");
	timed("covering index (track, ts, dur) made in", "CREATE INDEX spans_track ON spans(track, ts, dur)");
	timed("index (ts, track, dur) made in", "CREATE INDEX spans_ts ON spans(ts, track, dur)");
}

static void open_database(const char *path, const char *extension)
{
	char sql[512];

	if (sqlite3_open(path, &db) || sqlite3_enable_load_extension(db, 1) ||
	    sqlite3_create_module(db, "counting", &sqlite_floor_module, NULL))
		fail(path);
	snprintf(sql, sizeof sql, "SELECT load_extension('%s')", extension);
	run(sql);
	run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -2000000");
}

static void set(const char *pragma, const char *value)
{
	char sql[100];

	snprintf(sql, sizeof sql, "PRAGMA %s = %s", pragma, value);
	run(sql);
	printf("\n%s\n", sql);
}

static void run_part(const char *part)
{
	const char *equals = strchr(part, '='), *value = equals ? equals + 1 : "";
	sqlite3_int64 n_spans;

	if (strncmp(part, "make=", 5) == 0)
		make_spans(atoll(value));
	else if (strncmp(part, "make-names=", 11) == 0)
		make_names(atoll(value));
	else if (strncmp(part, "cache=", 6) == 0)
		set("cache_size", value);
	else if (strncmp(part, "depths=", 7) == 0 && atoi(value) >= 1 && atoi(value) <= N_DEPTHS)
		n_depths = (unsigned)atoi(value);
	else if (strncmp(part, "pans=", 5) == 0 && atoi(value) >= 1 && atoi(value) <= N_PANS)
		n_pans = (unsigned)atoi(value);
	else if (strncmp(part, "threads=", 8) == 0)
		set("threads", value);
	else if (strcmp(part, "names") == 0)
		ask_names();
	if (equals || strcmp(part, "names") == 0)
		return;
	n_spans = count_rows("SELECT max(id) FROM spans");
	n_frames = 0;
	plan_walk(n_spans * 1000);
	run("BEGIN");
	if (strcmp(part, "plain") == 0)
		compare_with_plain_sql(n_spans, n_spans * 1000);
	else if (strcmp(part, "same") == 0)
		compare_questions();
	else if (strcmp(part, "longest") == 0)
		walk("the longest span of each pixel, with its id",
		     "SELECT track, bucket, max_dur, max_dur_id FROM spans_if(?1, ?2, 1920)");
	else if (strcmp(part, "sums") == 0)
		walk("sums and counts", "SELECT track, bucket, sum_dur, count FROM spans_if(?1, ?2, 1920)");
	else if (strcmp(part, "overlaps") == 0)
		walk("the longest span that reaches into each pixel, with its id",
		     "SELECT track, bucket, longest_dur, longest_dur_id FROM spans_overlap(?1, ?2, 1920)");
	else
		fprintf(stderr, "sqlite_frame: %s is none of the parts\n", part);
	run("COMMIT");
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: sqlite_frame DATABASE EXTENSION PART...\n");
		return 2;
	}
	open_database(argv[1], argv[2]);
	printf("SQLite %s, %d tracks, durations of 1 ns to 16 ms\n\n", sqlite3_libversion(), N_TRACKS);
	for (int i = 3; i < argc; i++)
		run_part(argv[i]);
	sqlite3_close(db);
	return 0;
}
