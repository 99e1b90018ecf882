/* bench/sqlite_follow.c -- Benchmark of an index that follows its table, beside a covering index (track, ts, dur).
 *
 *   sqlite_follow PART ROWS ROUNDS BUILD
 *
 *   insert   a row more, in transactions of 1 to 10 000, by one prepared statement for each row, or one for each transaction;
 *            the index is flushed after every 100 000 rows, which is counted apart; also with sync=append, without triggers
 *   delete   DELETE of the older half
 *   ask      a window of one track: in a transaction, and each by itself; with 100 000 rows pending, appended, then updated
 *            here and there; and what SQLite itself takes. ROWS is 100 000 or more
 *
 * Processor seconds of this process, medians of the rounds, each with a file of its own in BUILD: WAL, synchronous=NORMAL, 64
 * MB of cache. Answers are compared with plain SQL. */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/sqlite_floor.h"

enum { MOST_ROUNDS = 9, A_SEAL = 100000, N_PENDING = 100000, N_QUESTIONS = 10000 };

enum table { ALONE, COVERING, IFOREST, APPENDED, N_TABLES };

static const long long transactions[] = { 1, 10, 100, 1000, 10000 }; /* rows in each */
enum { N_TRANSACTIONS = sizeof transactions / sizeof *transactions };
#define LARGEST transactions[N_TRANSACTIONS - 1]

#define FLUSH "INSERT INTO spans_if(spans_if) VALUES('flush')"

static const char *build;
static sqlite3 *db;
static int n_rounds;

/* ---- measuring ---- */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median(double *values)
{
	qsort(values, (size_t)n_rounds, sizeof *values, compare);
	return n_rounds % 2 ? values[n_rounds / 2] : (values[n_rounds / 2 - 1] + values[n_rounds / 2]) / 2;
}

/* ---- SQL ---- */

static char question[100], plain[100]; /* the same window of one track */

static void fail(const char *sql)
{
	fprintf(stderr, "%s\n  fails: %s\n", sql, sqlite3_errmsg(db));
	exit(1);
}

static void run(const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		fail(sql);
}

static sqlite3_stmt *prepare(const char *sql)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL))
		fail(sql);
	return statement;
}

/* Asked again and again: the first number of its row, and seconds a question. */
static long long ask(const char *sql, int times, double *taken)
{
	sqlite3_stmt *question = prepare(sql);
	long long answer = 0;
	double since = seconds();

	for (int i = 0; i < times; i++) {
		if (sqlite3_step(question) != SQLITE_ROW)
			fail(sql);
		answer = sqlite3_column_int64(question, 0);
		sqlite3_reset(question);
	}
	*taken = (seconds() - since) / times;
	sqlite3_finalize(question);
	return answer;
}

static void expect_same(void)
{
	double ignored;

	if (ask(question, 1, &ignored) != ask(plain, 1, &ignored)) {
		fprintf(stderr, "the index and plain SQL differ in the window\n");
		exit(1);
	}
}

static void check(void)
{
	double ignored;

	if (ask("SELECT total(sum_dur) FROM spans_if(1000000)", 1, &ignored) !=
	    ask("SELECT total(dur) FROM spans WHERE ts >= 1000000", 1, &ignored)) {
		fprintf(stderr, "the index and plain SQL differ\n");
		exit(1);
	}
}

static void remove_files(void)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };

	for (int s = 0; s < 3; s++) {
		char *path = sqlite3_mprintf("%s/bench/follow.db%s", build, suffixes[s]);

		remove(path);
		sqlite3_free(path);
	}
}

/* COLUMN is what each column but the rowid is declared with. */
static void start(enum table table, const char *column)
{
	char *path = sqlite3_mprintf("%s/bench/follow.db", build), *library = sqlite3_mprintf("%s/iforest.so", build);
	char *create = sqlite3_mprintf("CREATE TABLE spans(id INTEGER PRIMARY KEY, track %s, ts %s, dur %s)", column, column,
				       column);

	remove_files();
	if (sqlite3_open(path, &db) || sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL) ||
	    sqlite3_load_extension(db, library, NULL, NULL) ||
	    sqlite3_create_module(db, "counting", &sqlite_floor_module, NULL))
		fail(path);
	run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536");
	run(create);
	if (table == COVERING)
		run("CREATE INDEX spans_covering ON spans(track, ts, dur)");
	if (table >= IFOREST)
		run(table == IFOREST ?
			    "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track)" :
			    "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track, "
			    "sync=append)");
	sqlite3_free(path);
	sqlite3_free(library);
	sqlite3_free(create);
}

static void stop(void)
{
	sqlite3_close(db);
	remove_files();
}

/* ---- rows ---- */

enum style { ROWID_CHOSEN, CONSTRAINED, ROWID_GIVEN, MANY_TRACKS, SELECTED, ANY_ORDER, N_STYLES };

#define CHOSEN "INSERT INTO spans(track, ts, dur) VALUES(?2, ?3, ?4)"

#define GIVEN "INSERT INTO spans VALUES(?1, ?2, ?3, ?4)"

static const struct {
	const char *name, *column, *sql;
	int n_tracks;
} styles[N_STYLES] = {
	{ "a statement a row, rowid chosen by SQLite", "INTEGER", CHOSEN, 32 },
	{ "the same, columns NOT NULL", "INTEGER NOT NULL", CHOSEN, 32 },
	{ "a statement a row, rowid given", "INTEGER", GIVEN, 32 },
	{ "the same, 1000 tracks", "INTEGER", GIVEN, 1000 },
	{ "INSERT ... SELECT, rowid given", "INTEGER",
	  "WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2 - 1) "
	  "INSERT INTO spans SELECT i, i * 7919 % 32, i * 1000 + i * 31 % 777, i * 7 % 1000 FROM n", 32 },
	{ "a statement a row, rowid chosen, times in any order", "INTEGER", CHOSEN, 32 },
};

static void step(sqlite3_stmt *insert)
{
	if (sqlite3_step(insert) != SQLITE_DONE)
		fail(sqlite3_sql(insert));
	sqlite3_reset(insert);
}

/* One transaction. */
static void insert_rows(sqlite3_stmt *insert, enum style style, long long from, long long to)
{
	run("BEGIN");
	if (style == SELECTED) {
		sqlite3_bind_int64(insert, 1, from);
		sqlite3_bind_int64(insert, 2, to);
		step(insert);
	}
	for (long long i = from; i < to && style != SELECTED; i++) {
		long long at = style == ANY_ORDER ? (long long)((unsigned long long)i * 0x9E3779B97F4A7C15u >> 40) * 60 :
						    i * 1000 + i * 31 % 777;

		sqlite3_bind_int64(insert, 1, i);
		sqlite3_bind_int64(insert, 2, i * 7919 % styles[style].n_tracks);
		sqlite3_bind_int64(insert, 3, at);
		sqlite3_bind_int64(insert, 4, i * 7 % 1000);
		step(insert);
	}
	run("COMMIT");
}

struct inserted {
	double rows, seals; /* seconds */
};

static struct inserted fill(enum table table, enum style style, long long a_transaction, long long n_rows)
{
	sqlite3_stmt *insert = prepare(styles[style].sql);
	struct inserted taken = { 0, 0 };

	for (long long from = 0; from < n_rows; from += a_transaction) {
		long long to = from + a_transaction < n_rows ? from + a_transaction : n_rows;
		double since = seconds();

		insert_rows(insert, style, from, to);
		taken.rows += seconds() - since;
		if (table < IFOREST || (to % A_SEAL && to < n_rows))
			continue;
		since = seconds();
		run(FLUSH);
		taken.seals += seconds() - since;
	}
	sqlite3_finalize(insert);
	return taken;
}

/* ---- parts ---- */

static void measure_style(enum style style, long long a_transaction, long long n_rows)
{
	double rows[N_TABLES][MOST_ROUNDS], seals[N_TABLES][MOST_ROUNDS], alone, covering;

	for (int round = 0; round < n_rounds; round++)
		for (int t = 0; t < N_TABLES; t++) {
			struct inserted taken;

			start((enum table)t, styles[style].column);
			taken = fill((enum table)t, style, a_transaction, n_rows);
			rows[t][round] = taken.rows / (double)n_rows * 1e6;
			seals[t][round] = taken.seals / (double)n_rows * 1e6;
			if (t >= IFOREST)
				check();
			stop();
		}
	alone = median(rows[ALONE]);
	covering = median(rows[COVERING]) - alone;
	printf("%6lld rows a transaction: %.2f us alone; more: %.2f covering", a_transaction, alone, covering);
	for (int t = IFOREST; t <= APPENDED; t++) {
		double log = median(rows[t]) - alone, seal = median(seals[t]);

		printf("; %s %.2f (%.2f x), %.2f seal, both %.2f (%.2f x)", t == IFOREST ? "log" : "sync=append", log,
		       log / covering, seal, log + seal, (log + seal) / covering);
	}
	printf("\n");
	fflush(stdout);
}

static void measure_inserts(long long n_rows)
{
	for (int s = 0; s < N_STYLES; s++) {
		printf("%s:\n", styles[s].name);
		for (int t = 0; t < N_TRANSACTIONS; t++)
			measure_style((enum style)s, transactions[t], n_rows);
	}
}

static void measure_delete(long long n_rows)
{
	double rows[N_TABLES][MOST_ROUNDS], seals[MOST_ROUNDS] = { 0 };

	for (int round = 0; round < n_rounds; round++)
		for (int t = 0; t <= IFOREST; t++) {
			double since;

			start((enum table)t, styles[SELECTED].column);
			fill((enum table)t, SELECTED, LARGEST, n_rows);
			since = seconds();
			run("DELETE FROM spans WHERE ts < (SELECT max(ts) / 2 FROM spans)");
			rows[t][round] = seconds() - since;
			if (t == IFOREST) {
				since = seconds();
				run(FLUSH);
				seals[round] = seconds() - since;
				check();
			}
			stop();
		}
	printf("DELETE of half of %lld rows, seconds: %.2f alone; %.2f with the covering index; %.2f with the log and %.2f for "
	       "its seal, "
	       "%.2f x the covering index\n",
	       n_rows, median(rows[ALONE]), median(rows[COVERING]), median(rows[IFOREST]), median(seals),
	       (median(rows[IFOREST]) + median(seals)) / median(rows[COVERING]));
}

static void print_asked(const char *what, const char *sql, int times)
{
	double taken[MOST_ROUNDS];

	for (int round = 0; round < n_rounds; round++)
		ask(sql, times, &taken[round]);
	printf("  %-78s %9.2f us\n", what, median(taken) * 1e6);
}

static void print_question(const char *what)
{
	char *label = sqlite3_mprintf("%s, in a transaction", what);

	run("BEGIN");
	print_asked(label, question, N_QUESTIONS);
	run("COMMIT");
	sqlite3_free(label);
	label = sqlite3_mprintf("%s, by itself", what);
	print_asked(label, question, N_QUESTIONS);
	sqlite3_free(label);
	expect_same();
}

/* Rows just became pending: the first question reads them. */
static void print_pending(const char *what)
{
	char *label = sqlite3_mprintf("%s, the first one", what);
	int n_before = n_rounds;

	n_rounds = 1;
	print_asked(label, question, 1);
	n_rounds = n_before;
	sqlite3_free(label);
	print_question(what);
}

/* A window that cuts what is there, with the rows that are to come, at both ends. */
static void make_question(long long n_rows)
{
	long long t0 = n_rows * 100 + 50, t1 = (n_rows + N_PENDING / 2) * 1000 + 50;

	sqlite3_snprintf(sizeof question, question, "SELECT sum_dur FROM spans_if(%lld, %lld) WHERE track = 7", t0, t1);
	sqlite3_snprintf(sizeof plain, plain, "SELECT sum(dur) FROM spans WHERE track = 7 AND ts >= %lld AND ts < %lld", t0,
			 t1);
}

static void measure_questions(long long n_rows)
{
	sqlite3_stmt *insert;
	char *update;

	start(IFOREST, styles[ROWID_CHOSEN].column);
	fill(IFOREST, ROWID_CHOSEN, LARGEST, n_rows);
	run("CREATE TABLE trivial(id INTEGER PRIMARY KEY, x); INSERT INTO trivial VALUES(1, 7)");
	make_question(n_rows);
	check();
	printf("a question, prepared and warm, %lld rows:\n", n_rows);
	run("BEGIN");
	print_asked("a row by rowid, in a transaction", "SELECT x FROM trivial WHERE id = 1", N_QUESTIONS);
	print_asked("a row of a virtual table that counts, in a transaction", "SELECT a FROM counting(1)", N_QUESTIONS);
	run("COMMIT");
	print_asked("a row by rowid, by itself", "SELECT x FROM trivial WHERE id = 1", N_QUESTIONS);
	print_asked("a row of a virtual table that counts, by itself", "SELECT a FROM counting(1)", N_QUESTIONS);
	print_question("a window of one track");
	run("INSERT INTO spans_if(spans_if) VALUES('optimize')");
	print_question("after optimize");
	insert = prepare(styles[ROWID_GIVEN].sql);
	insert_rows(insert, ROWID_GIVEN, n_rows + 1, n_rows + 1 + N_PENDING);
	sqlite3_finalize(insert);
	print_pending("with 100 000 rows pending, appended");
	run(FLUSH "; INSERT INTO spans_if(spans_if) VALUES('optimize')");
	update = sqlite3_mprintf("UPDATE spans SET dur = dur + 1 WHERE id %% %lld = 0", n_rows / N_PENDING + 1);
	run(update);
	sqlite3_free(update);
	print_pending("with 100 000 rows pending, updated here and there");
	check();
	stop();
}

int main(int argc, char **argv)
{
	long long n_rows = argc == 5 ? atoll(argv[2]) : 0;

	n_rounds = argc == 5 ? atoi(argv[3]) : 0;
	if (n_rows <= 0 || n_rounds <= 0 || n_rounds > MOST_ROUNDS) {
		fprintf(stderr, "usage: sqlite_follow PART ROWS ROUNDS BUILD\n");
		return 2;
	}
	build = argv[4];
	printf("SQLite %s, %s\n", sqlite3_libversion(),
	       sqlite3_compileoption_used("OMIT_LOOKASIDE") ? "built without lookaside" : "built with lookaside");
	if (strcmp(argv[1], "insert") == 0)
		measure_inserts(n_rows);
	else if (strcmp(argv[1], "delete") == 0)
		measure_delete(n_rows);
	else if (strcmp(argv[1], "ask") == 0)
		measure_questions(n_rows);
	else
		return fprintf(stderr, "there are insert, delete and ask\n"), 2;
	return 0;
}
