#include "pg_session.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *const contenders[N_CONTENDERS] = { "no index", "btree", "iforest" };
PGconn *connection;
int n_rounds;

/* ---- asking the server ---- */

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "%s\n%s\n", what, why);
	exit(1);
}

PGconn *new_connection(void)
{
	PGconn *made = PQconnectdb("");

	if (PQstatus(made) != CONNECTION_OK)
		fail("no connection", PQerrorMessage(made));
	return made;
}

PGresult *checked(PGconn *from, PGresult *result, const char *sql)
{
	if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
		fail(sql, PQerrorMessage(from));
	return result;
}

void run(const char *sql)
{
	PQclear(checked(connection, PQexec(connection, sql), sql));
}

void get_text(const char *sql, char *to, size_t size)
{
	PGresult *result = checked(connection, PQexec(connection, sql), sql);

	snprintf(to, size, "%s", PQgetvalue(result, 0, 0));
	PQclear(result);
}

double get_number(const char *sql)
{
	char text[64];

	get_text(sql, text, sizeof text);
	return atof(text);
}

double now_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

double processor_seconds(PGconn *const *of, int n)
{
	double nanoseconds = 0;

	for (int c = 0; c < n; c++) {
		char path[64];
		unsigned long long spent = 0;
		FILE *file;

		snprintf(path, sizeof path, "/proc/%d/schedstat", PQbackendPID(of[c]));
		file = fopen(path, "r");
		if (!file || fscanf(file, "%llu", &spent) != 1)
			fail(path, "cannot be read");
		fclose(file);
		nanoseconds += (double)spent;
	}
	return nanoseconds / 1e9;
}

/* ---- figures ---- */

int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void heading(const char *what)
{
	printf("\n%-66s %10s %10s %10s %9s\n", what, contenders[NO_INDEX], contenders[BTREE], contenders[IFOREST],
	       "B-tree:if");
}

void line(const char *what, const char *unit, double none, double btree, double iforest)
{
	char label[128];

	snprintf(label, sizeof label, "%s, %s", what, unit);
	printf("%-66s ", label);
	if (none >= 0)
		printf("%10.2f ", none);
	else
		printf("%10s ", "");
	printf("%10.2f %10.2f %8.2fx\n", btree, iforest, btree / iforest);
	fflush(stdout);
}

static double median(double *figures)
{
	qsort(figures, (size_t)n_rounds, sizeof *figures, compare_doubles);
	return figures[n_rounds / 2];
}

void line_of_medians(const char *what, const char *unit, double figures[N_CONTENDERS][MOST_ROUNDS], int first)
{
	line(what, unit, first == NO_INDEX ? median(figures[NO_INDEX]) : -1, median(figures[BTREE]),
	     median(figures[IFOREST]));
}

/* ---- tables and their indexes ---- */

void settle(void)
{
	while (get_number("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'iforest merge'") > 0)
		usleep(20000);
	run("CHECKPOINT");
}

void compare_answers(const char *table, long expected)
{
	char sql[512], plain[128], indexed[128];

	snprintf(sql, sizeof sql, "SELECT count(*) || ' ' || sum(dur) || ' ' || sum(id) FROM %s WHERE ts >= 0", table);
	run("SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off");
	get_text(sql, plain, sizeof plain);
	run("RESET ALL; SET enable_seqscan = off; SET client_min_messages = warning");
	get_text(sql, indexed, sizeof indexed);
	run("RESET enable_seqscan");
	if (strcmp(plain, indexed) != 0 || atol(plain) != expected) {
		fprintf(stderr, "pg_index: ANSWERS DIFFER: plain %s, by the index %s, %ld rows expected\n", plain, indexed,
			expected);
		exit(1);
	}
}

void print_shape(const char *index)
{
	char sql[512], shape[256];

	snprintf(sql, sizeof sql, "SELECT runs || ' runs, ' || pending_entries || ' entries pending, ' || "
		 "free_pages || ' of ' || total_pages || ' pages free' FROM iforest_stats('%s')", index);
	get_text(sql, shape, sizeof shape);
	printf("  iforest then: %s\n", shape);
}

uint64_t digest_of_row(const PGresult *result, int row, uint64_t digest)
{
	for (int f = 0; f < PQnfields(result); f++)
		for (const char *at = PQgetvalue(result, row, f);; at++) {
			digest = (digest ^ (unsigned char)*at) * 1099511628211u;
			if (!*at)
				break;
		}
	return digest;
}
