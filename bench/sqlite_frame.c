/* sqlite_frame.c -- frames of a timeline, 16 tracks of 1920 pixels, through SQL: the index, plain SQL and SQLite's own floor.
 *
 *   sqlite_frame ROWS FOLDER EXTENSION     the database is made in FOLDER and removed at the end
 *
 * A walk zooms in from the whole trace to a millionth of it and pans at every depth. Each frame is asked for twice: the
 * longest span of each pixel with its id, and exact sums and counts. Statements are prepared once; a walk goes before that is
 * not timed, so that all is warm. Answers are compared with plain SQL where a frame has few enough rows, and everywhere between
 * the two questions, which the index answers in different ways.
 *
 * The floor is what SQLite takes to hand as many rows of as many columns to the caller out of a virtual table that only counts.
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N_TRACKS = 16, N_PIXELS = 1920, N_DEPTHS = 7, N_PANS = 24, MOST_PLAIN_ROWS = 1000000 };

static sqlite3 *db;

static double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
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

/* ---- the floor: a virtual table that counts to `total` ---- */

struct counting {
	sqlite3_vtab_cursor base;
	sqlite3_int64 at, total;
};

static int counting_connect(sqlite3 *connection, void *context, int n, const char *const *arguments, sqlite3_vtab **table, char **message)
{
	(void)context, (void)n, (void)arguments, (void)message;
	*table = sqlite3_malloc(sizeof **table);
	memset(*table, 0, sizeof **table);
	return sqlite3_declare_vtab(connection, "CREATE TABLE x(a, b, c, d, total HIDDEN)");
}

static int counting_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

static int counting_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	for (int i = 0; i < info->nConstraint; i++)
		if (info->aConstraint[i].iColumn == 4 && info->aConstraint[i].usable) {
			info->aConstraintUsage[i].argvIndex = 1;
			info->aConstraintUsage[i].omit = 1;
		}
	return SQLITE_OK;
}

static int counting_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor)
{
	(void)table;
	*cursor = sqlite3_malloc(sizeof(struct counting));
	memset(*cursor, 0, sizeof(struct counting));
	return SQLITE_OK;
}

static int counting_close(sqlite3_vtab_cursor *cursor)
{
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static int counting_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int n, sqlite3_value **values)
{
	(void)number, (void)text;
	((struct counting *)cursor)->at = 0;
	((struct counting *)cursor)->total = n ? sqlite3_value_int64(values[0]) : 0;
	return SQLITE_OK;
}

static int counting_next(sqlite3_vtab_cursor *cursor)
{
	((struct counting *)cursor)->at++;
	return SQLITE_OK;
}

static int counting_eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct counting *)cursor)->at >= ((struct counting *)cursor)->total;
}

static int counting_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
	sqlite3_result_int64(context, ((struct counting *)cursor)->at + column);
	return SQLITE_OK;
}

static int counting_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	*rowid = ((struct counting *)cursor)->at;
	return SQLITE_OK;
}

static const sqlite3_module counting_module = {
	.xConnect = counting_connect, .xBestIndex = counting_best_index, .xDisconnect = counting_disconnect,
	.xOpen = counting_open, .xClose = counting_close, .xFilter = counting_filter, .xNext = counting_next,
	.xEof = counting_eof, .xColumn = counting_column, .xRowid = counting_rowid,
};

/* ---- frames ---- */

struct frame {
	sqlite3_int64 t0, t1;
	unsigned depth; /* the frame is 10^-depth of the trace */
};

struct answer {
	double ms;
	sqlite3_int64 n_rows, check;
};

static struct frame frames[N_DEPTHS * N_PANS];
static unsigned n_frames;

static sqlite3_int64 place(unsigned frame, sqlite3_int64 room)
{
	return (sqlite3_int64)((double)room * ((frame * 40503u + 12345u) % 65536u) / 65536);
}

static void plan_walk(sqlite3_int64 end)
{
	sqlite3_int64 width = end;

	for (unsigned depth = 0; depth < N_DEPTHS; depth++, width /= 10) {
		sqlite3_int64 t0 = place(depth, end - width), step = depth ? width / 10 : 0;

		for (unsigned pan = 0; pan < N_PANS; pan++, t0 += step)
			if (t0 + width <= end)
				frames[n_frames++] = (struct frame){ .t0 = t0, .t1 = t0 + width, .depth = depth };
	}
}

/* Steps through all rows and adds up what the columns say: in any order of rows, as different for different rows as products are. */
static struct answer ask(sqlite3_stmt *statement, sqlite3_int64 first, sqlite3_int64 second)
{
	struct answer answer = { .n_rows = 0 };
	int n_columns = sqlite3_column_count(statement);
	double start = now_ms();
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

	printf("\n%s\n%-10s %9s %9s %9s %9s %12s %14s\n", what, "frame", "rows", "median ms", "p95 ms", "floor ms", "cells/s",
	       "SQLite pages");
	for (unsigned f = 0; f < n_frames; f++)
		ask(statement, frames[f].t0, frames[f].t1);
	for (unsigned depth = 0; depth < N_DEPTHS; depth++) {
		double times[N_PANS], floors[N_PANS], total = 0, n_rows = 0;
		unsigned n = 0;
		int n_pages = sqlite_pages();

		for (unsigned f = 0; f < n_frames; f++) {
			struct answer answer;

			if (frames[f].depth != depth)
				continue;
			answer = ask(statement, frames[f].t0, frames[f].t1);
			times[n] = answer.ms;
			floors[n++] = ask(floor, answer.n_rows, 0).ms;
			total += answer.ms;
			n_rows += (double)answer.n_rows;
		}
		n_pages = sqlite_pages() - n_pages;
		printf("1/10^%-5u %9.0f %9.2f %9.2f %9.2f %12.0f %14d\n", depth, n_rows / n, quantile(times, n, 0.5), quantile(times, n, 0.95),
		       quantile(floors, n, 0.5), n_rows / total * 1e3, n_pages / (int)n);
	}
	sqlite3_finalize(statement);
	sqlite3_finalize(floor);
}

/* One frame a depth by plain SQL, if it has few enough rows. A bucket is the one of the index (docs/sqlite.md); ids ascend with
 * time, so that the lowest one of the longest spans is the earliest. */
static void compare_with_plain_sql(sqlite3_int64 n_spans, sqlite3_int64 end)
{
	static const char *const buckets =
		"FROM (SELECT track, ((ts - ?1 + 1) * 1920 - 1) / (?2 - ?1) AS bucket, dur, id FROM spans WHERE ts >= ?1 AND ts < ?2) GROUP BY 1, 2";
	char sql[512];
	sqlite3_stmt *plain_longest, *plain_sums, *longest = prepare("SELECT track, bucket, max_dur, max_dur_id FROM spans_if(?1, ?2, 1920)");
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
		printf("1/10^%-5u %13.2f ms %13.2f ms %13.2f ms %13.2f ms   %s\n", frame->depth, of[0].ms, of[1].ms, of[2].ms, of[3].ms,
		       of[0].check == of[1].check && of[2].check == of[3].check ? "same answers" : "ANSWERS DIFFER");
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
	sqlite3_stmt *both = prepare("SELECT track, bucket, max_dur, max_dur_id FROM spans_if(?1, ?2, 1920) WHERE sum_dur >= max_dur");

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
static void many_series(sqlite3_int64 n_spans)
{
	char sql[512];
	sqlite3_int64 end = n_spans * 1000;

	printf("\n");
	snprintf(sql, sizeof sql,
		 "CREATE TABLE calls(id INTEGER PRIMARY KEY, name TEXT, ts INTEGER, dur INTEGER);"
		 "INSERT INTO calls(name, ts, dur) WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i + 1 < %lld)"
		 "SELECT 'name ' || ((i * 2654435761 & 0xffffffff) %% (CASE WHEN i & 1 THEN 100 ELSE 100000 END)), i * 1000 + (i * 40503 & 1023),"
		 " (i * 2246822519 >> 3) & ((1 << ((i * 3266489917 >> 5) %% 24)) - 1) FROM g", (long long)n_spans);
	timed("calls of 100 000 names written in", sql);
	timed("iforest by name made in", "CREATE VIRTUAL TABLE calls_if USING iforest(content=calls, time=ts, duration=dur, by=name)");
	timed("iforest_fold made in", "CREATE VIRTUAL TABLE calls_all USING iforest_fold(calls_if)");
	time_series("one name, a window", "SELECT count, max_dur, max_dur_id FROM calls_if(?1, ?2) WHERE name = 'name 4242'", end / 3, end / 2);
	time_series("one name, 1920 buckets", "SELECT bucket, max_dur, max_dur_id FROM calls_if(?1, ?2, 1920) WHERE name = 'name 42'",
		    end / 3, end / 2);
	time_series("all names, a row each, a window", "SELECT name, count, max_dur, max_dur_id FROM calls_if(?1, ?2)", end / 3, end / 2);
	time_series("all names, a row each, 1/10^4", "SELECT name, count, max_dur, max_dur_id FROM calls_if(?1, ?2)", end / 3,
		    end / 3 + end / 10000);
	time_series("all names added up, a window", "SELECT count, max_dur, max_dur_id FROM calls_all(?1, ?2)", end / 3, end / 2);
	time_series("all names added up, 1920 buckets", "SELECT bucket, max_dur, max_dur_id FROM calls_all(?1, ?2, 1920)", end / 3, end / 2);
}

/* ---- */

static void make_spans(sqlite3_int64 n_spans)
{
	char sql[1024];

	snprintf(sql, sizeof sql,
		 "CREATE TABLE spans(id INTEGER PRIMARY KEY, track INTEGER, ts INTEGER, dur INTEGER);"
		 "INSERT INTO spans(track, ts, dur) WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g WHERE i + 1 < %lld)"
		 "SELECT (i * 2654435761 >> 7) & %d, i * 1000 + (i * 40503 & 1023),"
		 " (i * 2246822519 >> 3) & ((1 << ((i * 3266489917 >> 5) %% 24)) - 1) FROM g", (long long)n_spans, N_TRACKS - 1);
	timed("spans written in", sql);
	timed("iforest by track made in", "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track)");
	timed("covering index (track, ts, dur) made in", "CREATE INDEX spans_track ON spans(track, ts, dur)");
	timed("index (ts, track, dur) made in", "CREATE INDEX spans_ts ON spans(ts, track, dur)");
}

static void open_database(const char *path, const char *extension)
{
	char sql[512];

	if (sqlite3_open(path, &db) || sqlite3_enable_load_extension(db, 1) ||
	    sqlite3_create_module(db, "counting", &counting_module, NULL))
		fail(path);
	snprintf(sql, sizeof sql, "SELECT load_extension('%s')", extension);
	run(sql);
	run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -2000000");
}

int main(int argc, char **argv)
{
	sqlite3_int64 n_spans = argc > 1 ? atoll(argv[1]) : 10000000;
	char path[512];

	snprintf(path, sizeof path, "%s/sqlite_frame.db", argc > 2 ? argv[2] : ".");
	unlink(path);
	open_database(path, argc > 3 ? argv[3] : "build/iforest");
	printf("SQLite %s, %lld spans, %d tracks, durations of 1 ns to 16 ms\n\n", sqlite3_libversion(), n_spans, N_TRACKS);
	make_spans(n_spans);
	plan_walk(n_spans * 1000);
	run("BEGIN");
	compare_with_plain_sql(n_spans, n_spans * 1000);
	compare_questions();
	walk("the longest span of each pixel, with its id", "SELECT track, bucket, max_dur, max_dur_id FROM spans_if(?1, ?2, 1920)");
	walk("sums and counts", "SELECT track, bucket, sum_dur, count FROM spans_if(?1, ?2, 1920)");
	run("COMMIT");
	many_series(n_spans < 10000000 ? n_spans : 10000000);
	sqlite3_close(db);
	unlink(path);
	return 0;
}
