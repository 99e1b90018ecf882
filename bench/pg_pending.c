/* bench/pg_pending.c -- Benchmark of questions over rows that are in no run yet, in PostgreSQL: this build beside an earlier one.
 *
 * pg_pending.sh starts it, with a server of each build.
 *
 *   pg_pending load ROWS                  fills the tables of the server that PGHOST names
 *   pg_pending measure ROUNDS REFERENCE   asks the server that PGHOST names, and that at host REFERENCE, in turn
 *
 * The figures are medians of what a client waits for, parsing and planning included. Every
 * answer is compared, whatever the order of its rows.
 */
#include "pg_session.h"

#include <stdlib.h>
#include <string.h>

enum { THIS, REFERENCE, N_BUILDS };
enum { MOST_ASKED = 501, WARM_ROUNDS = 3 };

/* Rows that are pending, and how they came to be: appended, or rows here and there that were updated. */
static const struct state {
	const char *table;
	int n_pending;
	int is_updated;
} states[] = {
	{ "appended_10k", 10000, 0 },
	{ "updated_10k", 10000, 1 },
	{ "appended_100k", 100000, 0 },
	{ "updated_100k", 100000, 1 },
};
enum { N_STATES = sizeof states / sizeof *states };

/* %1$s: the table; %2$lld and %3$lld: a window of a tenth of the time, at its end; %4$lld: all of it. */
static const struct question {
	const char *label, *sql;
} questions[] = {
	{ "a window", "SELECT count(*), sum(dur), max(dur) FROM %1$s WHERE ts >= %2$lld AND ts < %3$lld" },
	{ "whole", "SELECT count(*), sum(dur), max(dur) FROM %1$s" },
	{ "32 tracks", "SELECT track, count(*), sum(dur), max(dur) FROM %1$s WHERE ts >= %2$lld AND ts < %3$lld GROUP BY track" },
	{ "the 10 longest", "SELECT dur FROM %1$s WHERE ts >= %2$lld AND ts < %3$lld ORDER BY dur DESC LIMIT 10" },
	{ "overlap", "SELECT count, clipped_dur, longest_dur FROM %1$s_ts_overlap(%2$lld, %3$lld)" },
	{ "1920 buckets", "SELECT ts / (%4$lld / 1920), count(*), sum(dur), max(dur) FROM %1$s GROUP BY 1" },
};
enum { N_QUESTIONS = sizeof questions / sizeof *questions };

enum { SPACING = 1000 };

static void load(long long n_rows)
{
	run("CREATE EXTENSION iforest; SET maintenance_work_mem = '256MB'");
	for (int s = 0; s < N_STATES; s++) {
		const char *table = states[s].table;
		long long n_appended = states[s].is_updated ? 0 : states[s].n_pending, n_loaded = n_rows - n_appended;

#define ROWS_FROM_TO "INSERT INTO %1$s SELECT i, i %% 32, i * %2$d + i * 7919 %% %2$d, (i * 2246822519 >> 3) &"                     \
	" ((1 << ((i * 3266489917 >> 5) %% 24)::int) - 1) FROM generate_series(%3$lld::bigint, %4$lld::bigint - 1) i"
		RUN("CREATE TABLE %s(id bigint, track bigint, ts bigint NOT NULL, dur bigint NOT NULL)", table);
		RUN(ROWS_FROM_TO, table, SPACING, 0LL, n_loaded);
		RUN("CREATE INDEX %1$s_ts ON %1$s USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur', pending_pages = 1000);"
		    "CREATE INDEX %1$s_track ON %1$s USING iforest (track, ts) INCLUDE (dur) WITH (pending_pages = 1000);"
		    "DO $$ BEGIN PERFORM iforest_create_functions('%1$s_ts'); END $$", table);
		RUN("VACUUM (FREEZE, ANALYZE) %s", table);
		if (states[s].is_updated)
			RUN("UPDATE %1$s SET dur = dur + 1 WHERE id %% (%2$lld::bigint / %3$d) = 0", table, n_rows, states[s].n_pending);
		else
			RUN(ROWS_FROM_TO, table, SPACING, n_loaded, n_rows);
		RUN("ANALYZE %s", table);
	}
	settle();
}

static double median(double *figures, int n)
{
	qsort(figures, (size_t)n, sizeof *figures, compare_doubles);
	return figures[n / 2];
}

static uint64_t digest_of(const PGresult *result)
{
	uint64_t digest = (uint64_t)PQntuples(result);

	for (int r = 0; r < PQntuples(result); r++)
		digest += digest_of_row(result, r, START_OF_DIGEST);
	return digest;
}

static void measure(const struct state *state, const struct question *question, PGconn *const builds[N_BUILDS], long long n_rows,
		    int rounds)
{
	static double figures[N_BUILDS][MOST_ASKED];
	double medians[N_BUILDS];
	long long all = n_rows * SPACING;
	char sql[1024];

	snprintf(sql, sizeof sql, question->sql, state->table, all - all / 10, all, all);
	for (int round = -WARM_ROUNDS; round < rounds; round++) {
		uint64_t digests[N_BUILDS];

		for (int i = 0; i < N_BUILDS; i++) {
			int b = (i + round + WARM_ROUNDS) % N_BUILDS;
			double start = now_seconds(), seconds;
			PGresult *result = PQexec(builds[b], sql);

			seconds = now_seconds() - start;
			digests[b] = digest_of(checked(builds[b], result, sql));
			PQclear(result);
			if (round >= 0)
				figures[b][round] = seconds * 1e6;
		}
		if (digests[THIS] != digests[REFERENCE]) {
			fprintf(stderr, "pg_pending: ANSWERS DIFFER: %s\n", sql);
			exit(1);
		}
	}
	for (int b = 0; b < N_BUILDS; b++)
		medians[b] = median(figures[b], rounds);
	printf("%-14s %-16s %10.0f %10.0f %8.2f\n", state->table, question->label, medians[REFERENCE], medians[THIS],
	       medians[THIS] / medians[REFERENCE]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *what = argc >= 3 ? argv[1] : "";
	PGconn *builds[N_BUILDS];
	int rounds;

	connection = new_connection();
	run("SET client_min_messages = warning");
	if (strcmp(what, "load") == 0 && argc == 3) {
		load(atoll(argv[2]));
		return 0;
	}
	if (strcmp(what, "measure") != 0 || argc != 4 || atoi(argv[2]) < 1) {
		fprintf(stderr, "usage: pg_pending load ROWS, pg_pending measure ROUNDS REFERENCE\n");
		return 2;
	}
	rounds = atoi(argv[2]) < MOST_ASKED ? atoi(argv[2]) : MOST_ASKED;
	builds[THIS] = connection;
	setenv("PGHOST", argv[3], 1);
	builds[REFERENCE] = new_connection();
	for (int b = 0; b < N_BUILDS; b++) {
		connection = builds[b];
		run("SET jit = off; SET max_parallel_workers_per_gather = 0");
	}
	printf("%-31s %10s %10s %8s\n", "microseconds, medians", "reference", "this", "ratio");
	for (int s = 0; s < N_STATES; s++)
		for (int q = 0; q < N_QUESTIONS; q++)
			measure(&states[s], &questions[q], builds, (long long)get_number("SELECT count(*) FROM updated_10k"), rounds);
	PQfinish(builds[THIS]);
	PQfinish(builds[REFERENCE]);
	return 0;
}
