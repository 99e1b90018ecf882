/* bench/pg_overlap.c -- Benchmark of the overlap function of an iforest index and its order by value in PostgreSQL, beside
 * SQL with B-trees and with a GiST index on ranges.
 *
 * pg_overlap.sh starts it in a cluster of its own.
 *
 *   pg_overlap load ROWS
 *   pg_overlap measure
 *
 * Spans of up to 8 ms begin a millisecond apart; one is open over all of them. Of each contender only its own indexes may be
 * used, and the figure is that of the fastest of several settings: what a client waits for, planning included; medians. Every
 * answer is compared, as text.
 */
#include "pg_session.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BY_BTREE, BY_GIST, BY_IFOREST, N_WAYS_TO_ASK };
enum { ROUNDS = 5, N_BUCKETS = 1920 };
static const double SLOW_SECONDS = 2;
static const char *const prefixes[N_WAYS_TO_ASK] = { "bt_", "gi_", "if_" };

/* %1$ is t0, %2$ t1, %3$ the width of a bucket */
#define BTREE_WINDOW "ts < %2$lld AND ts + dur > %1$lld"
#define GIST_WINDOW "int8range(ts, ts + dur) && int8range(%1$lld, %2$lld)"
#define WHOLE "SELECT count(*), sum(least(ts + dur, %2$lld) - greatest(ts, %1$lld)), max(dur) FROM spans WHERE "
#define BUCKETS                                                                                                                \
	"SELECT b, count(*), sum(least(ts + dur, %1$lld + (b + 1) * %3$lld) - greatest(ts, %1$lld + b * %3$lld)), max(dur)"    \
	" FROM spans, generate_series((greatest(ts, %1$lld) - %1$lld) / %3$lld,"                                               \
	" (least(ts + dur, %2$lld) - 1 - %1$lld) / %3$lld) b WHERE "
#define TOP "SELECT dur FROM spans WHERE ts >= %1$lld AND ts < %2$lld ORDER BY dur DESC LIMIT 10"

static const struct form {
	const char *name;
	const char *sql[N_WAYS_TO_ASK]; /* NULL: not asked so */
} forms[] = {
	{ "window", { WHOLE BTREE_WINDOW, WHOLE GIST_WINDOW,
		      "SELECT count, clipped_dur, longest_dur FROM if_ts_overlap(%1$lld, %2$lld)" } },
	{ "1920 buckets", { BUCKETS BTREE_WINDOW " GROUP BY 1 ORDER BY 1", BUCKETS GIST_WINDOW " GROUP BY 1 ORDER BY 1",
			    "SELECT bucket, count, clipped_dur, longest_dur FROM if_ts_overlap(%1$lld, %2$lld, 1920)" } },
	{ "the 10 longest", { TOP, NULL, TOP } },
};

static const double percents[] = { 100, 10, 1, 0.1 };

static const char *const settings[] = {
	"SET jit = off",
	"SELECT 1",
	"SET jit = off; SET enable_seqscan = off",
	"SET jit = off; SET max_parallel_workers_per_gather = 0",
};

static long long n_rows;

/* ---- data ---- */

static double seconds_of(const char *sql)
{
	double start = now_seconds();

	run(sql);
	return now_seconds() - start;
}

static void load(void)
{
	run("CREATE EXTENSION iforest;"
	    " CREATE TABLE spans(id bigint, name text, ts bigint NOT NULL, dur bigint NOT NULL)");
	RUN("INSERT INTO spans SELECT i, 'span ' || i %% 100, i * 1000, CASE WHEN i = 0 THEN %lld::bigint * 1000 ELSE 1 +"
	    " ((i * 2246822519 >> 3) & ((1 << ((i * 3266489917 >> 5) %% 14)::int) - 1)) END FROM generate_series(0, "
	    "%lld::bigint - 1) i",
	    n_rows, n_rows);
	run("SET maintenance_work_mem = '512MB'");
	printf("  %-30s %8.2f s\n", "B-trees (ts), (ts + dur), (dur)",
	       seconds_of("CREATE INDEX bt_ts ON spans (ts) INCLUDE (dur); CREATE INDEX bt_end ON spans ((ts + dur));"
			  " CREATE INDEX bt_dur ON spans (dur) INCLUDE (ts)"));
	printf("  %-30s %8.2f s\n", "GiST (int8range(ts, ts + dur))",
	       seconds_of("CREATE INDEX gi_range ON spans USING gist (int8range(ts, ts + dur))"));
	printf("  %-30s %8.2f s\n", "iforest (ts) INCLUDE (dur)",
	       seconds_of("CREATE INDEX if_ts ON spans USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur')"));
	run("DO $$ BEGIN PERFORM iforest_create_functions('if_ts'); END $$");
	run("VACUUM (FREEZE, ANALYZE) spans");
	settle();
}

static void print_sizes(void)
{
	PGresult *sizes = checked(connection, PQexec(connection, "SELECT relname, pg_relation_size(oid) / 1e6 FROM pg_class"
								 " WHERE oid IN (SELECT indexrelid FROM pg_index WHERE"
								 " indrelid = 'spans'::regclass) ORDER BY 1"), "sizes");

	for (int r = 0; r < PQntuples(sizes); r++)
		printf("  %-30s %8.1f MB\n", PQgetvalue(sizes, r, 0), atof(PQgetvalue(sizes, r, 1)));
	PQclear(sizes);
}

/* ---- asking ---- */

static void show_indexes(int way)
{
	RUN("RESET ALL; SET client_min_messages = warning; UPDATE pg_index SET indisvalid = (SELECT relname LIKE '%.2s\\_%%' "
	    "FROM pg_class"
	    " WHERE oid = indexrelid) WHERE indrelid = 'spans'::regclass",
	    prefixes[way]);
}

/* A window of that share, at a place that the round decides; its width is whole buckets. */
static void write_question(const char *sql, double percent, int round, char *to, size_t size)
{
	long long all = n_rows * 1000, width = (long long)((double)all * percent / 100) / N_BUCKETS, t0 = 0;
	uint64_t place = (uint64_t)(round + 1) * UINT64_C(0x9e3779b97f4a7c15);

	if (width * N_BUCKETS < all - N_BUCKETS)
		t0 = (long long)((place ^ place >> 29) % (uint64_t)(all - width * N_BUCKETS));
	snprintf(to, size, sql, t0, t0 + width * N_BUCKETS, width);
}

static uint64_t digest_of(const PGresult *result)
{
	uint64_t digest = UINT64_C(14695981039346656037);

	for (int i = 0; i < PQntuples(result) * PQnfields(result); i++)
		for (const char *at = PQgetvalue(result, i / PQnfields(result), i % PQnfields(result));; at++) {
			digest = (digest ^ (unsigned char)*at) * UINT64_C(1099511628211);
			if (!*at)
				break;
		}
	return digest;
}

static double ask(const char *sql, double percent, int round, uint64_t *digest)
{
	char question[2048];
	double start, seconds;
	PGresult *result;

	write_question(sql, percent, round, question, sizeof question);
	start = now_seconds();
	result = checked(connection, PQexec(connection, question), question);
	seconds = now_seconds() - start;
	*digest = digest_of(result);
	PQclear(result);
	return seconds;
}

/* The best median over the settings, and digests of the rounds; a slow question has one round, and digests of 0 for the
 * others. */
static double best_of_settings(const char *sql, double percent, int way, uint64_t *digests)
{
	double best = -1;

	for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
		double seconds[ROUNDS], first;
		int n;

		show_indexes(way);
		run(settings[s]);
		seconds[0] = first = ask(sql, percent, 0, &digests[0]);
		n = first > SLOW_SECONDS ? 1 : ROUNDS;
		for (int r = 0; r < n && n > 1; r++)
			seconds[r] = ask(sql, percent, r, &digests[r]);
		qsort(seconds, (size_t)n, sizeof *seconds, compare_doubles);
		if (best < 0 || seconds[n / 2] < best)
			best = seconds[n / 2];
	}
	return best;
}

static void measure_item(const struct form *form, double percent)
{
	uint64_t digests[N_WAYS_TO_ASK][ROUNDS] = { 0 };
	double seconds[N_WAYS_TO_ASK];

	printf("  %-16s %6g %%", form->name, percent);
	for (int way = 0; way < N_WAYS_TO_ASK; way++) {
		if (!form->sql[way]) {
			printf(" %14s", "");
			continue;
		}
		seconds[way] = best_of_settings(form->sql[way], percent, way, digests[way]);
		printf(" %11.3f ms", 1000 * seconds[way]);
		fflush(stdout);
		for (int r = 0; r < ROUNDS; r++)
			if (digests[way][r] != digests[BY_BTREE][r] && digests[way][r] && digests[BY_BTREE][r]) {
				printf("\nanswers differ\n");
				exit(1);
			}
	}
	printf(" %9.1fx", seconds[BY_BTREE] / seconds[BY_IFOREST]);
	if (form->sql[BY_GIST])
		printf(" %9.1fx", seconds[BY_GIST] / seconds[BY_IFOREST]);
	printf("\n");
}

static void measure(void)
{
	n_rows = (long long)get_number("SELECT count(*) FROM spans");
	printf("%lld spans, one over all of them; of the trace:\n  %-25s %14s %14s %14s\n", n_rows, "", "B-trees", "GiST",
	       "iforest");
	for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
		for (size_t p = 0; p < sizeof percents / sizeof *percents; p++)
			measure_item(&forms[f], percents[p]);
	run("UPDATE pg_index SET indisvalid = true WHERE indrelid = 'spans'::regclass");
}

int main(int n_arguments, char **arguments)
{
	connection = new_connection();
	if (n_arguments == 3 && strcmp(arguments[1], "load") == 0) {
		n_rows = atoll(arguments[2]);
		load();
		print_sizes();
	} else {
		measure();
	}
	PQfinish(connection);
	return 0;
}
