/* bench/cold.c -- Asks questions as the first of a fresh process, and says what was read for them; bench/cold.py starts it.
 *
 *   cold sqlite DATABASE EXTENSION SQL...     EXTENSION may be empty
 *   cold postgres SQL...                      in the server that the environment names
 *
 * Prints on one line: milliseconds from before the database is opened to the last row; rows; a sum over all rows, in any
 * order; KiB that came from the disk, calls that read, and how often the process waited, of the process that reads: this one, or
 * the server's; pages that SQLite read into its cache; KiB of memory at most.
 */
#include <inttypes.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
	long n_rows;
	uint64_t check, row;
} answer;

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "cold: %s: %s\n", what, why);
	exit(1);
}

static double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* A number that a line of a process's file in /proc begins with a name. */
static long long process_number(int pid, const char *file_name, const char *name)
{
	char path[64], line[256];
	long long number = -1;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/%s", pid, file_name);
	file = fopen(path, "r");
	if (!file)
		fail(path, "cannot be read");
	while (fgets(line, sizeof line, file))
		if (strncmp(line, name, strlen(name)) == 0)
			number = atoll(line + strlen(name));
	fclose(file);
	return number;
}

static void add_cell(int64_t cell)
{
	answer.row = (answer.row ^ (uint64_t)cell) * UINT64_C(0x9E3779B97F4A7C15);
}

static void begin_row(void)
{
	answer.row = 1;
	answer.n_rows++;
}

static void end_row(void)
{
	answer.check += answer.row ^ answer.row >> 32;
}

/* What a process has done so far. */
struct done {
	long long kib, reads, waits;
};

static struct done done_by(int pid)
{
	return (struct done){ .kib = process_number(pid, "io", "read_bytes: ") / 1024,
			      .reads = process_number(pid, "io", "syscr: "),
			      .waits = process_number(pid, "status", "voluntary_ctxt_switches:") };
}

static void print_figures(double start, int pid, struct done before, int n_pages)
{
	double ms = now_ms() - start;
	struct done done = done_by(pid);

	printf("%.3f %ld %" PRIu64 " %lld %lld %lld %d %lld\n", ms, answer.n_rows, answer.check, done.kib - before.kib,
	       done.reads - before.reads, done.waits - before.waits, n_pages, process_number(pid, "status", "VmHWM:"));
}

static int ask_sqlite(const char *path, const char *extension, char **questions, int n_questions)
{
	int pid = getpid(), n_pages, most;
	struct done before = done_by(pid);
	double start = now_ms();
	sqlite3 *db;

	if (sqlite3_open(path, &db) || sqlite3_enable_load_extension(db, 1) ||
	    (*extension && sqlite3_load_extension(db, extension, NULL, NULL)))
		fail(path, sqlite3_errmsg(db));
	for (int q = 0; q < n_questions; q++) {
		sqlite3_stmt *statement;

		if (sqlite3_prepare_v2(db, questions[q], -1, &statement, NULL))
			fail(questions[q], sqlite3_errmsg(db));
		while (sqlite3_step(statement) == SQLITE_ROW && strncmp(questions[q], "PRAGMA", 6) != 0) {
			begin_row();
			for (int c = 0; c < sqlite3_column_count(statement); c++)
				add_cell(sqlite3_column_int64(statement, c));
			end_row();
		}
		if (sqlite3_finalize(statement))
			fail(questions[q], sqlite3_errmsg(db));
	}
	sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &n_pages, &most, 0);
	print_figures(start, pid, before, n_pages);
	sqlite3_close(db);
	return 0;
}

static int ask_postgres(char **questions, int n_questions)
{
	double start = now_ms();
	PGconn *connection = PQconnectdb("");

	if (PQstatus(connection) != CONNECTION_OK)
		fail("no connection", PQerrorMessage(connection));
	for (int q = 0; q < n_questions; q++) {
		PGresult *result = PQexec(connection, questions[q]);

		if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
			fail(questions[q], PQerrorMessage(connection));
		for (int r = 0; r < PQntuples(result); r++) {
			begin_row();
			for (int c = 0; c < PQnfields(result); c++)
				add_cell(atoll(PQgetvalue(result, r, c)));
			end_row();
		}
		PQclear(result);
	}
	print_figures(start, PQbackendPID(connection), (struct done){ .kib = 0 }, -1);
	PQfinish(connection);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 4 && strcmp(argv[1], "sqlite") == 0)
		return ask_sqlite(argv[2], argv[3], argv + 4, argc - 4);
	if (argc > 2 && strcmp(argv[1], "postgres") == 0)
		return ask_postgres(argv + 2, argc - 2);
	fprintf(stderr, "usage: cold sqlite DATABASE EXTENSION SQL... | cold postgres SQL...\n");
	return 2;
}
