/* sqlite_follow.c -- what it costs that an index follows its table: inserted rows, pending rows, a seal, a deleted half.
 *
 * Usage: sqlite_follow ROWS BUILD. Three tables with the same rows: alone, with a covering index (track, ts, dur), with an index of
 * iforest. Processor seconds of this process, of the best of three rounds, each in a file of its own in BUILD; answers are compared. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 3, N_PENDING = 100000, N_QUESTIONS = 1000 };

enum figure { INSERT, SEAL, QUESTION, FIRST_PENDING, PENDING, DELETE, SEAL_DELETED, N_FIGURES };

enum table { ALONE, COVERING, IFOREST, N_TABLES };

static const char *const table_names[N_TABLES] = { "alone", "covering", "iforest" };

static double best[N_TABLES][N_FIGURES];

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void run(sqlite3 *db, const char *sql)
{
	char *error = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &error)) {
		fprintf(stderr, "%s\n  fails: %s\n", sql, error);
		exit(1);
	}
}

/* Prepared, in a transaction, asked again and again: the first number of its row. */
static long long ask(sqlite3 *db, const char *sql, int times)
{
	sqlite3_stmt *question;
	long long answer = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &question, NULL)) {
		fprintf(stderr, "%s\n  fails: %s\n", sql, sqlite3_errmsg(db));
		exit(1);
	}
	for (int i = 0; i < times; i++) {
		sqlite3_reset(question);
		if (sqlite3_step(question) != SQLITE_ROW) {
			fprintf(stderr, "%s\n  fails: %s\n", sql, sqlite3_errmsg(db));
			exit(1);
		}
		answer = sqlite3_column_int64(question, 0);
	}
	sqlite3_finalize(question);
	return answer;
}

static void note(enum table table, enum figure figure, double since)
{
	double taken = seconds() - since;

	if (best[table][figure] == 0 || taken < best[table][figure])
		best[table][figure] = taken;
}

static void insert_rows(sqlite3 *db, long long from, long long to)
{
	char *sql = sqlite3_mprintf("WITH RECURSIVE n(i) AS (SELECT %lld UNION ALL SELECT i + 1 FROM n WHERE i < %lld) "
				    "INSERT INTO spans SELECT i, i * 7919 %% 32, i * 1000 + i * 31 %% 777, i * 7 %% 1000 FROM n", from, to - 1);

	run(db, sql);
	sqlite3_free(sql);
}

static void start(sqlite3 **db, const char *build, enum table table)
{
	char *path = sqlite3_mprintf("%s/bench/follow.db", build), *library = sqlite3_mprintf("%s/iforest.so", build), *error = NULL;

	remove(path);
	if (sqlite3_open(path, db) || sqlite3_db_config(*db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL) ||
	    sqlite3_load_extension(*db, library, NULL, &error)) {
		fprintf(stderr, "%s: %s\n", path, error ? error : sqlite3_errmsg(*db));
		exit(1);
	}
	run(*db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;"
		 "CREATE TABLE spans(id INTEGER PRIMARY KEY, track INTEGER, ts INTEGER, dur INTEGER)");
	if (table == COVERING)
		run(*db, "CREATE INDEX spans_covering ON spans(track, ts, dur)");
	if (table == IFOREST)
		run(*db, "CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track)");
	sqlite3_free(path);
	sqlite3_free(library);
}

static void one_round(const char *build, enum table table, long long n_rows)
{
	const char *question = table == IFOREST ? "SELECT sum_dur FROM spans_if(1000000, 900000000) WHERE track = 7" : NULL;
	const char *plain = "SELECT sum(dur) FROM spans WHERE track = 7 AND ts >= 1000000 AND ts < 900000000";
	sqlite3 *db;
	double since;

	start(&db, build, table);
	since = seconds();
	insert_rows(db, 0, n_rows);
	note(table, INSERT, since);
	if (question) {
		since = seconds();
		run(db, "INSERT INTO spans_if(spans_if) VALUES('flush')");
		note(table, SEAL, since);
		run(db, "BEGIN");
		ask(db, question, 1);
		since = seconds();
		ask(db, question, N_QUESTIONS);
		note(table, QUESTION, since);
		run(db, "COMMIT");
	}
	insert_rows(db, n_rows, n_rows + N_PENDING);
	if (question) {
		run(db, "BEGIN");
		since = seconds();
		if (ask(db, question, 1) != ask(db, plain, 1)) {
			fprintf(stderr, "the index and plain SQL differ\n");
			exit(1);
		}
		note(table, FIRST_PENDING, since);
		since = seconds();
		ask(db, question, N_QUESTIONS);
		note(table, PENDING, since);
		run(db, "COMMIT; INSERT INTO spans_if(spans_if) VALUES('flush')");
	}
	since = seconds();
	run(db, "DELETE FROM spans WHERE ts < (SELECT max(ts) / 2 FROM spans)");
	note(table, DELETE, since);
	if (question) {
		since = seconds();
		run(db, "INSERT INTO spans_if(spans_if) VALUES('flush')");
		note(table, SEAL_DELETED, since);
		if (ask(db, question, 1) != ask(db, plain, 1)) {
			fprintf(stderr, "the index and plain SQL differ\n");
			exit(1);
		}
	}
	sqlite3_close(db);
}

static void print(double n_rows)
{
	double alone = best[ALONE][INSERT], covering = best[COVERING][INSERT] - alone, log = best[IFOREST][INSERT] - alone;
	double seal = best[IFOREST][SEAL];

	printf("inserted row, microseconds: %.2f alone; %.2f more with the covering index; %.2f more with the log (%.2f x), %.2f with the seal (%.2f x)\n",
	       alone / n_rows * 1e6, covering / n_rows * 1e6, log / n_rows * 1e6, log / covering, (log + seal) / n_rows * 1e6,
	       (log + seal) / covering);
	printf("a window of one track, in a transaction: %.2f us; with %d rows pending: first (and plain SQL once) %.1f ms, then %.2f us (%.2f x)\n",
	       best[IFOREST][QUESTION] / N_QUESTIONS * 1e6, N_PENDING, best[IFOREST][FIRST_PENDING] * 1e3,
	       best[IFOREST][PENDING] / N_QUESTIONS * 1e6, best[IFOREST][PENDING] / best[IFOREST][QUESTION]);
	printf("DELETE of half, seconds: %.2f alone, %.2f with the covering index, %.2f with the log, %.2f with its seal (%.2f x the covering index)\n",
	       best[ALONE][DELETE], best[COVERING][DELETE], best[IFOREST][DELETE], best[IFOREST][DELETE] + best[IFOREST][SEAL_DELETED],
	       (best[IFOREST][DELETE] + best[IFOREST][SEAL_DELETED]) / best[COVERING][DELETE]);
}

int main(int argc, char **argv)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	long long n_rows = argc == 3 ? atoll(argv[1]) : 0;

	if (n_rows <= 0) {
		fprintf(stderr, "usage: sqlite_follow ROWS BUILD\n");
		return 2;
	}
	for (int round = 0; round < ROUNDS; round++)
		for (int t = 0; t < N_TABLES; t++) {
			fprintf(stderr, "round %d: %s\n", round + 1, table_names[t]);
			one_round(argv[2], (enum table)t, n_rows);
		}
	print((double)n_rows);
	for (int s = 0; s < 3; s++) {
		char *path = sqlite3_mprintf("%s/bench/follow.db%s", argv[2], suffixes[s]);

		remove(path);
		sqlite3_free(path);
	}
	return 0;
}
