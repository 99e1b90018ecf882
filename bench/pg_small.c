/* bench/pg_small.c -- Benchmark of small questions, and of questions over many series, in PostgreSQL: an iforest index beside
 * the covering B-tree on the same columns.
 *
 * pg_small.sh starts it in a cluster of its own.
 *
 *   pg_small load ROWS              fills the tables
 *   pg_small measure ROUNDS         asks in turn, and prints medians; ONLY: those questions whose labels have this in them
 *   pg_small questions TABLE ROWS   prints labels and questions over a table of any name
 *   pg_small prepared TABLE ROWS    prints labels, and statements that prepare each small question and execute it twelve times
 *
 * Three tables hold the same rows: one has the B-trees, one the iforest indexes, one both. In a round each question is asked
 * once of each table, unprepared and prepared (a generic plan), at a place that the round decides. A prepared figure is what a
 * client waits for without parsing and planning. Every answer is compared, as text, whatever the order of its rows.
 */
#include "pg_session.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OF_BTREE, OF_IFOREST, OF_BOTH, N_TABLES };
enum { MOST_ASKED = 2001, WARM_ROUNDS = 6 };

static const char *const tables[N_TABLES] = { "by_btree", "by_iforest", "by_both" };

/* Rows begin this many units of time apart. */
enum { SPACING = 1000 };

#define FIGURES "count(*), sum(dur), max(dur)"
#define WINDOW "ts >= $1 AND ts < $2"

/* %1$s: the table; $1 and $2: the window; $3: a number of a name. */
static const struct question {
	const char *label;
	double rows;  /* of the window; below 0: that part of all */
	int per_round; /* it is asked in one of so many rounds */
	const char *sql;
} questions[] = {
	{ "window of 10 rows", 10, 1, "SELECT " FIGURES " FROM %1$s WHERE " WINDOW },
	{ "window of 100 rows", 100, 1, "SELECT " FIGURES " FROM %1$s WHERE " WINDOW },
	{ "window of 500 rows", 500, 1, "SELECT " FIGURES " FROM %1$s WHERE " WINDOW },
	{ "window of 1000 rows", 1000, 1, "SELECT " FIGURES " FROM %1$s WHERE " WINDOW },
	{ "one of 10^5 names, 10 %", -0.1, 1, "SELECT " FIGURES " FROM %1$s WHERE name = 'name ' || $3::bigint AND " WINDOW },
	{ "one of 65 536 names, 10 %", -0.1, 1, "SELECT " FIGURES " FROM %1$s WHERE other = 'name ' || $3::bigint %% 65536 AND " WINDOW },
	{ "one of 65 536 names, all time", -1, 1, "SELECT " FIGURES " FROM %1$s WHERE other = 'name ' || $3::bigint %% 65536 AND " WINDOW },
	{ "20 of 10^5 names, 10 %", -0.1, 1,
	  "SELECT name, " FIGURES " FROM %1$s WHERE name = ANY (ARRAY(SELECT 'name ' || ($3::bigint + i * 997) %% 100000 FROM"
	  " generate_series(1, 20) i)) AND " WINDOW " GROUP BY name" },
	{ "1000 of 10^5 names, 10 %", -0.1, 20,
	  "SELECT name, " FIGURES " FROM %1$s WHERE name = ANY (ARRAY(SELECT 'name ' || ($3::bigint + i * 97) %% 100000 FROM"
	  " generate_series(1, 1000) i)) AND " WINDOW " GROUP BY name" },
	{ "each of 10^5 names, 0.01 %", -0.0001, 20, "SELECT name, " FIGURES " FROM %1$s WHERE " WINDOW " GROUP BY name" },
	{ "each of 10^5 names, 1 %", -0.01, 50, "SELECT name, " FIGURES " FROM %1$s WHERE " WINDOW " GROUP BY name" },
	{ "each of 10^5 names, 10 %", -0.1, 100, "SELECT name, " FIGURES " FROM %1$s WHERE " WINDOW " GROUP BY name" },
	{ "each of 10^5 names, all time", -1, 200, "SELECT name, " FIGURES " FROM %1$s WHERE " WINDOW " GROUP BY name" },
	{ "the 10 greatest of 65 536 names, 10 %", -0.1, 100,
	  "SELECT other, sum(dur) FROM %1$s WHERE " WINDOW " GROUP BY other ORDER BY sum(dur) DESC LIMIT 10" },
	{ "the 10 greatest of 65 536 names, all time", -1, 200,
	  "SELECT other, sum(dur) FROM %1$s WHERE " WINDOW " GROUP BY other ORDER BY sum(dur) DESC LIMIT 10" },
};
enum { N_QUESTIONS = sizeof questions / sizeof *questions, N_SMALL = 8 };

static long long n_rows;

/* ---- data ---- */

static void load(void)
{
	run("CREATE EXTENSION iforest; SET maintenance_work_mem = '512MB'");
	for (int t = 0; t < N_TABLES; t++) {
		RUN("CREATE TABLE %s(id bigint, ts bigint, dur bigint, name text, other text)", tables[t]);
		RUN("INSERT INTO %1$s SELECT i, i * %2$d + i * 7919 %% %2$d, (i * 2246822519 >> 3) & ((1 << ((i * 3266489917 >> 5)"
		    " %% 24)::int) - 1), 'name ' || i * 48271 %% 100000, 'name ' || i * 48271 %% 65536 FROM generate_series(0, %3$lld::bigint) i",
		    tables[t], SPACING, n_rows - 1);
		if (t != OF_IFOREST)
			RUN("CREATE INDEX ON %1$s (ts) INCLUDE (dur); CREATE INDEX ON %1$s (name, ts) INCLUDE (dur);"
			    "CREATE INDEX ON %1$s (other, ts) INCLUDE (dur)",
			    tables[t]);
		if (t != OF_BTREE)
			RUN("CREATE INDEX ON %1$s USING iforest (ts) INCLUDE (dur); CREATE INDEX ON %1$s USING iforest (name, ts)"
			    " INCLUDE (dur); CREATE INDEX ON %1$s USING iforest (other, ts) INCLUDE (dur)",
			    tables[t]);
		RUN("VACUUM (FREEZE, ANALYZE) %s", tables[t]);
	}
	settle();
}

/* ---- asking ---- */

/* The numbers that a question is asked with in a round. */
struct place {
	long long low, high, name;
};

static struct place place_of(const struct question *question, int round)
{
	double rows = question->rows < 0 ? -question->rows * (double)n_rows : question->rows;
	long long width = (long long)(rows * SPACING), room = n_rows * SPACING - width;
	uint64_t state = ((uint64_t)round + 1) * 0x9e3779b97f4a7c15;
	struct place place;

	state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
	state = (state ^ state >> 27) * 0x94d049bb133111eb;
	state ^= state >> 31;
	place.low = room > 0 ? (long long)(state % (uint64_t)room) : 0;
	place.high = place.low + width;
	place.name = (long long)(state >> 32) % 100000;
	return place;
}

/* Writes the question with numbers in place of its parameters. */
static void write_unprepared(const struct question *question, const char *table, int round, char *sql, size_t size)
{
	struct place place = place_of(question, round);
	const long long numbers[] = { place.low, place.high, place.name };
	char form[1024];
	size_t at = 0;

	snprintf(form, sizeof form, question->sql, table);
	for (const char *from = form; *from && at + 24 < size; from++)
		if (*from == '$')
			at += (size_t)snprintf(sql + at, size - at, "%lld", numbers[*++from - '1']);
		else
			sql[at++] = *from;
	sql[at] = 0;
}

static int n_parameters(const struct question *question)
{
	return strstr(question->sql, "$3") ? 3 : 2;
}

static PGresult *ask_prepared(int q, int table, int round)
{
	struct place place = place_of(&questions[q], round);
	char name[32], low[24], high[24], number[24];
	const char *const values[] = { low, high, number };

	snprintf(name, sizeof name, "q%d_%d", q, table);
	snprintf(low, sizeof low, "%lld", place.low);
	snprintf(high, sizeof high, "%lld", place.high);
	snprintf(number, sizeof number, "%lld", place.name);
	return PQexecPrepared(connection, name, n_parameters(&questions[q]), values, NULL, NULL, 0);
}

static void prepare(int q, int table)
{
	char name[32], sql[1024];

	snprintf(name, sizeof name, "q%d_%d", q, table);
	snprintf(sql, sizeof sql, questions[q].sql, tables[table]);
	PQclear(checked(connection, PQprepare(connection, name, sql, 0, NULL), sql));
}

/* Rows may come in any order. */
static uint64_t digest_of(const PGresult *result)
{
	uint64_t digest = (uint64_t)PQntuples(result);

	for (int r = 0; r < PQntuples(result); r++)
		digest += digest_of_row(result, r, START_OF_DIGEST);
	return digest;
}

/* Returns the microseconds that it took. */
static double ask(int q, int table, bool is_prepared, int round, uint64_t *digest)
{
	char sql[2048];
	PGresult *result;
	double start, seconds;

	write_unprepared(&questions[q], tables[table], round, sql, sizeof sql);
	start = now_seconds();
	result = is_prepared ? ask_prepared(q, table, round) : PQexec(connection, sql);
	seconds = now_seconds() - start;
	*digest = digest_of(checked(connection, result, sql));
	PQclear(result);
	return seconds * 1e6;
}

/* Shared buffers that the third asking at a place reads or finds, planning not included; *plan: what it was answered by. */
static double buffers_of(int q, int table, char *plan, size_t size)
{
	char sql[2048] = "EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off, SUMMARY off) ";
	PGresult *result;
	long n = 0, read = 0;

	write_unprepared(&questions[q], tables[table], 0, sql + strlen(sql), sizeof sql - strlen(sql));
	for (int i = 0; i < 2; i++)
		run(sql);
	result = checked(connection, PQexec(connection, sql), sql);
	snprintf(plan, size, "?");
	for (int r = 0; r < PQntuples(result); r++) {
		const char *text = PQgetvalue(result, r, 0), *found = strstr(text, "Buffers: shared");

		if (found && n == 0) {
			(void)sscanf(strstr(found, "hit=") ? strstr(found, "hit=") : "", "hit=%ld", &n);
			(void)sscanf(strstr(found, "read=") ? strstr(found, "read=") : "", "read=%ld", &read);
			n += read;
		}
		text += strspn(text, " ->");
		if (strstr(text, "Scan") && plan[0] == '?')
			snprintf(plan, size, "%.*s", (int)strcspn(text, "(") > 12 ? (int)strcspn(text, "(") : 34, text);
	}
	PQclear(result);
	plan[strcspn(plan, "\n")] = 0;
	return (double)n;
}

/* ---- figures ---- */

static double median(double *figures, int n)
{
	qsort(figures, (size_t)n, sizeof *figures, compare_doubles);
	return figures[n / 2];
}

static void measure(int q, int rounds)
{
	static double figures[N_TABLES][2][MOST_ASKED];
	double medians[N_TABLES][2], buffers[N_TABLES];
	int n = rounds / questions[q].per_round;
	char plans[N_TABLES][64];

	n = n < 3 ? 3 : n;
	for (int t = 0; t < N_TABLES; t++)
		prepare(q, t);
	for (int round = -WARM_ROUNDS; round < n; round++)
		for (int p = 0; p < 2; p++) {
			uint64_t digests[N_TABLES];

			for (int i = 0; i < N_TABLES; i++) {
				int t = (i + round + WARM_ROUNDS) % N_TABLES;
				double figure = ask(q, t, p == 1, round, &digests[t]);

				if (round >= 0)
					figures[t][p][round] = figure;
			}
			if (digests[OF_IFOREST] != digests[OF_BTREE] || digests[OF_BOTH] != digests[OF_BTREE]) {
				fprintf(stderr, "pg_small: ANSWERS DIFFER: %s, round %d\n", questions[q].label, round);
				exit(1);
			}
		}
	for (int t = 0; t < N_TABLES; t++) {
		for (int p = 0; p < 2; p++)
			medians[t][p] = median(figures[t][p], n);
		buffers[t] = buffers_of(q, t, plans[t], sizeof plans[t]);
	}
	printf("%-42s %9.0f %9.0f %9.0f %6.2fx %9.0f %9.0f %9.0f %6.2fx %8.0f %8.0f  %s; both: %s\n", questions[q].label, medians[OF_BTREE][0],
	       medians[OF_IFOREST][0], medians[OF_BOTH][0], medians[OF_BTREE][0] / medians[OF_IFOREST][0], medians[OF_BTREE][1],
	       medians[OF_IFOREST][1], medians[OF_BOTH][1], medians[OF_BTREE][1] / medians[OF_IFOREST][1], buffers[OF_BTREE],
	       buffers[OF_IFOREST], plans[OF_IFOREST], plans[OF_BOTH]);
	fflush(stdout);
}

static void measure_all(int rounds, const char *only)
{
	printf("\n%-42s %38s %38s %17s\n%-42s %9s %9s %9s %7s %9s %9s %9s %7s %8s %8s  plan with iforest; with both\n",
	       "microseconds, medians", "unprepared", "prepared", "buffers", "", "B-tree", "iforest", "both", "B:if", "B-tree",
	       "iforest", "both", "B:if", "B-tree", "iforest");
	run("SET jit = off; SET max_parallel_workers_per_gather = 0; SET plan_cache_mode = force_generic_plan");
	for (int q = 0; q < N_QUESTIONS; q++)
		if (!only || strstr(questions[q].label, only))
			measure(q, rounds);
}

static void print_questions(const char *table)
{
	for (int q = 0; q < N_QUESTIONS; q++) {
		char sql[2048];

		write_unprepared(&questions[q], table, 0, sql, sizeof sql);
		printf("%s\t%s\n", questions[q].label, sql);
	}
}

/* Of the twelve times the last four are at places that all before were at, too. */
static void print_prepared(const char *table)
{
	for (int q = 0; q < N_SMALL; q++) {
		const struct question *question = &questions[q];
		bool has_name = n_parameters(question) == 3;
		char sql[1024];

		snprintf(sql, sizeof sql, question->sql, table);
		printf("%s\tPREPARE q%d(bigint, bigint%s) AS %s\n", question->label, q, has_name ? ", bigint" : "", sql);
		for (int i = 0; i < 12; i++) {
			struct place place = place_of(question, i % 4);

			printf("%s\tEXECUTE q%d(%lld, %lld", question->label, q, place.low, place.high);
			if (has_name)
				printf(", %lld", place.name);
			printf(")\n");
		}
	}
}

int main(int argc, char **argv)
{
	const char *what = argc >= 3 ? argv[1] : "";

	if ((strcmp(what, "questions") == 0 || strcmp(what, "prepared") == 0) && argc == 4) {
		n_rows = atoll(argv[3]);
		(what[0] == 'q' ? print_questions : print_prepared)(argv[2]);
		return 0;
	}
	if (argc != 3 || (strcmp(what, "load") != 0 && strcmp(what, "measure") != 0) || atoll(argv[2]) < 1) {
		fprintf(stderr, "usage: pg_small load ROWS, pg_small measure ROUNDS, pg_small questions|prepared TABLE ROWS\n");
		return 2;
	}
	connection = new_connection();
	run("SET client_min_messages = warning");
	if (strcmp(what, "load") == 0) {
		n_rows = atoll(argv[2]);
		load();
	} else {
		n_rows = (long long)get_number("SELECT count(*) FROM by_btree");
		measure_all(atoi(argv[2]) > MOST_ASKED ? MOST_ASKED : atoi(argv[2]), getenv("ONLY"));
	}
	PQfinish(connection);
	return 0;
}
