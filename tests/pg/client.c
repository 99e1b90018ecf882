#include "tests/pg/client.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool is_worker;
static char note[200];

void client_fail(const char *format, ...)
{
	char message[20000];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	if (is_worker) {
		fprintf(stderr, "worker %d: %s (%s)\n", (int)getpid(), message, note);
		_exit(1);
	}
	fail_msg("%s (%s)", message, note);
	abort();
}

void client_note(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(note, sizeof note, format, arguments);
	va_end(arguments);
}

/* ---- text ---- */

static void add(struct text *text, const char *format, va_list arguments)
{
	int n = vsnprintf(text->at + text->n, sizeof text->at - text->n, format, arguments);

	if (n < 0 || (size_t)n >= sizeof text->at - text->n)
		client_fail("a text is too long: %.200s", text->at);
	text->n += (size_t)n;
}

void text_set(struct text *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	text->n = 0;
	add(text, format, arguments);
	va_end(arguments);
}

void text_add(struct text *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add(text, format, arguments);
	va_end(arguments);
}

/* ---- connections ---- */

static void ignore_notice(void *context, const char *message)
{
	(void)context;
	(void)message;
}

PGconn *client_try_connect(const char *folder)
{
	const char *names[] = { "host", "options", NULL }, *values[] = { folder, "-c client_min_messages=error", NULL };
	PGconn *pg = PQconnectdbParams(names + (folder ? 0 : 1), values + (folder ? 0 : 1), 0);

	PQsetNoticeProcessor(pg, ignore_notice, NULL);
	if (PQstatus(pg) == CONNECTION_OK)
		return pg;
	PQfinish(pg);
	return NULL;
}

PGconn *client_connect(const char *folder)
{
	PGconn *pg = client_try_connect(folder);

	if (!pg)
		client_fail("cannot connect to %s", folder ? folder : "PGHOST's server");
	return pg;
}

int client_set_up(void **state)
{
	*state = client_connect(NULL);
	client_run(*state, "CREATE EXTENSION iforest");
	return 0;
}

int client_tear_down(void **state)
{
	PQfinish(*state);
	return 0;
}

static PGresult *execute(PGconn *pg, struct text *sql, const char *format, va_list arguments)
{
	sql->n = 0;
	add(sql, format, arguments);
	return PQexec(pg, sql->at);
}

static bool has_succeeded(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

static PGresult *execute_well(PGconn *pg, const char *format, va_list arguments)
{
	struct text sql;
	PGresult *result = execute(pg, &sql, format, arguments);

	if (!has_succeeded(result)) {
		PQclear(result);
		client_fail("%s in: %s", PQerrorMessage(pg), sql.at);
	}
	return result;
}

void client_run(PGconn *pg, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	PQclear(execute_well(pg, format, arguments));
	va_end(arguments);
}

PGresult *client_rows(PGconn *pg, const char *format, ...)
{
	va_list arguments;
	PGresult *result;

	va_start(arguments, format);
	result = execute_well(pg, format, arguments);
	va_end(arguments);
	return result;
}

long long client_number(PGconn *pg, const char *format, ...)
{
	va_list arguments;
	PGresult *result;
	long long number;

	va_start(arguments, format);
	result = execute_well(pg, format, arguments);
	va_end(arguments);
	if (PQntuples(result) != 1 || PQgetisnull(result, 0, 0))
		client_fail("no number from: %s", format);
	number = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	return number;
}

const char *client_try(PGconn *pg, const char *format, ...)
{
	static char state[6];
	struct text sql;
	va_list arguments;
	const char *code;
	PGresult *result;
	bool is_lost;

	va_start(arguments, format);
	result = execute(pg, &sql, format, arguments);
	va_end(arguments);
	code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	snprintf(state, sizeof state, "%s", has_succeeded(result) ? "" : code ? code : "?????");
	PQclear(result);
	is_lost = PQstatus(pg) == CONNECTION_BAD || strncmp(state, "57P0", 4) == 0;
	return is_lost ? "lost" : state;
}

void client_hurry(PGconn *pg, unsigned statement_timeout, unsigned lock_timeout)
{
	while (*client_try(pg, "SET statement_timeout = %u; SET lock_timeout = %u", statement_timeout, lock_timeout))
		;
}

void client_calm(PGconn *pg)
{
	client_hurry(pg, 0, 0);
	while (*client_try(pg, "SELECT 1"))
		;
}

void client_same_rows(PGresult *actual, PGresult *expected, const char *what)
{
	int n_columns = PQnfields(expected);

	if (PQntuples(actual) != PQntuples(expected) || PQnfields(actual) != n_columns)
		client_fail("%d rows, expected %d, of %s", PQntuples(actual), PQntuples(expected), what);
	for (int row = 0; row < PQntuples(expected); row++)
		for (int column = 0; column < n_columns; column++)
			if (PQgetisnull(actual, row, column) != PQgetisnull(expected, row, column) ||
			    strcmp(PQgetvalue(actual, row, column), PQgetvalue(expected, row, column)) != 0)
				client_fail("row %d, column %d is '%s', expected '%s', of %s", row, column,
					    PQgetvalue(actual, row, column), PQgetvalue(expected, row, column), what);
}

/* ---- how rows are read ---- */

static const struct {
	const char *node;
	bool by_table, by_index, by_index_only, by_bitmap;
} ways[CLIENT_WAYS] = {
	[BY_TABLE] = { .node = "Seq Scan", .by_table = true },
	[BY_INDEX] = { .node = "Index Scan", .by_index = true },
	[BY_INDEX_ONLY] = { .node = "Index Only Scan", .by_index = true, .by_index_only = true },
	[BY_BITMAP] = { .node = "Bitmap Index Scan", .by_bitmap = true },
};

void client_read(PGconn *pg, enum client_way way)
{
	client_run(pg, "SET iforest.enable = off; SET enable_seqscan = %d; SET enable_indexscan = %d; SET enable_indexonlyscan = %d;"
		       " SET enable_bitmapscan = %d",
		   ways[way].by_table, ways[way].by_index, ways[way].by_index_only, ways[way].by_bitmap);
}

void client_plan_must(PGconn *pg, enum client_way way, const char *query)
{
	PGresult *plan = client_rows(pg, "EXPLAIN (COSTS off) %s", query);
	struct text shown = { .n = 0 };
	bool found = false;

	for (int row = 0; row < PQntuples(plan); row++) {
		const char *line = PQgetvalue(plan, row, 0), *node = strstr(line, ways[way].node);

		/* "Index Scan" is at the end of "Bitmap Index Scan" too; and = NULL needs no scan */
		if (node && (way != BY_INDEX || node < line + 7 || strncmp(node - 7, "Bitmap ", 7) != 0))
			found = true;
		if (strstr(line, "One-Time Filter: false"))
			found = true;
		text_add(&shown, "%s\n", line);
	}
	if (!found)
		client_fail("no %s in the plan of %s:\n%s", ways[way].node, query, shown.at);
	PQclear(plan);
}

void client_same_answers(PGconn *pg, const char *query)
{
	PGresult *expected, *actual;
	static const enum client_way index_ways[] = { BY_INDEX, BY_INDEX_ONLY, BY_BITMAP };

	client_run(pg, "BEGIN ISOLATION LEVEL REPEATABLE READ");
	client_read(pg, BY_TABLE);
	expected = client_rows(pg, "%s", query);
	for (unsigned i = 0; i < COUNT_OF(index_ways); i++) {
		client_read(pg, index_ways[i]);
		actual = client_rows(pg, "%s", query);
		client_same_rows(actual, expected, query);
		PQclear(actual);
	}
	PQclear(expected);
	client_run(pg, "ROLLBACK");
}

void client_check(PGconn *pg, const char *index)
{
	client_run(pg, "SELECT iforest_check('%s', true)", index);
}

void client_entries_are_rows(PGconn *pg, const char *table)
{
	long long n_rows = client_number(pg, "SELECT count(*) FROM %s", table), n_entries = -1;

	/* a background worker that is merging has a snapshot, which keeps dead rows */
	for (int n_attempts = 0; n_attempts < 500 && n_entries != n_rows; n_attempts++) {
		if (n_attempts > 0)
			pause_microseconds(20000);
		client_run(pg, "VACUUM (INDEX_CLEANUP on) %s", table);
		n_entries = client_number(pg, "SELECT entries + pending_entries FROM iforest_stats('%s_if')", table);
	}
	if (n_entries != n_rows)
		client_fail("%lld entries for %lld rows", n_entries, n_rows);
}

/* ---- time ---- */

void pause_microseconds(uint64_t n)
{
	struct timespec left = { .tv_sec = (time_t)(n / 1000000), .tv_nsec = (long)(n % 1000000 * 1000) };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

uint64_t now_microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- workers ---- */

void workers_begin(struct workers *workers)
{
	*workers = (struct workers){ .stop = { -1, -1 } };
	if (pipe(workers->stop))
		client_fail("no pipe");
}

/* Has the test closed its end of the pipe, or died? */
static bool is_told_to_stop(int pipe_end)
{
	struct pollfd end = { .fd = pipe_end, .events = POLLIN };

	return poll(&end, 1, 0) != 0;
}

static _Noreturn void be_worker(struct workers *workers, const char *folder, client_work work, struct worker worker,
				int ready)
{
	is_worker = true;
	close(workers->stop[1]);
	worker.pg = client_connect(folder);
	if (write(ready, "", 1) != 1)
		client_fail("no test");
	close(ready);
	while (work(&worker) && !is_told_to_stop(workers->stop[0]))
		;
	PQfinish(worker.pg);
	_exit(0);
}

void workers_add(struct workers *workers, const char *folder, client_work work, uint64_t seed, const void *context)
{
	struct worker worker = { .dice = random_from(seed), .number = workers->n, .context = context };
	int ready[2];
	char byte;
	pid_t pid;

	assert_true(workers->n < MOST_WORKERS);
	if (pipe(ready))
		client_fail("no pipe");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		client_fail("no process");
	if (pid == 0)
		be_worker(workers, folder, work, worker, ready[1]);
	workers->pids[workers->n++] = pid;
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		client_fail("a worker has not begun");
	close(ready[0]);
}

/* Waits for all; the number of those that failed. */
static unsigned wait_for_all(struct workers *workers)
{
	unsigned n_failed = 0;
	int status;

	for (int end = 0; end < 2; end++)
		if (workers->stop[end] >= 0)
			close(workers->stop[end]);
	workers->stop[0] = workers->stop[1] = -1;
	for (unsigned i = 0; i < workers->n; i++)
		n_failed += waitpid(workers->pids[i], &status, 0) != workers->pids[i] || status != 0;
	workers->n = 0;
	return n_failed;
}

void workers_stop(struct workers *workers)
{
	unsigned n_failed = wait_for_all(workers);

	if (n_failed > 0)
		client_fail("%u workers failed", n_failed);
}

void workers_abandon(struct workers *workers)
{
	for (unsigned i = 0; i < workers->n; i++)
		kill(workers->pids[i], SIGTERM);
	(void)wait_for_all(workers);
}
