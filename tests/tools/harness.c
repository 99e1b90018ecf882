#define _DEFAULT_SOURCE /* wait4 */
#include "tests/tools/harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

PGconn *pg;
static char folder[200];

int harness_start(void **state)
{
	const char *parent = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof folder, "%.150s/iforest_trace2pg_XXXXXX", parent && *parent ? parent : "/tmp");
	if (!mkdtemp(folder))
		return -1;
	pg = PQconnectdb("");
	if (PQstatus(pg) != CONNECTION_OK) {
		print_error("%sRun this by tests/pg/cluster.sh run.\n", PQerrorMessage(pg));
		return -1;
	}
	run("SET client_min_messages = warning");
	return 0;
}

int harness_stop(void **state)
{
	char command[300];

	(void)state;
	PQfinish(pg);
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	return system(command);
}

const char *file_path(const char *name)
{
	static char paths[4][300];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof paths[0], "%s/%s", folder, name);
	return path;
}

const char *write_file(const char *name, const void *data, size_t n_bytes)
{
	const char *path = file_path(name);
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, n_bytes, file), n_bytes);
	assert_int_equal(fclose(file), 0);
	return path;
}

const char *write_text(const char *name, const char *text)
{
	return write_file(name, text, strlen(text));
}

static PGresult *query(const char *sql)
{
	PGresult *result = PQexec(pg, sql);
	ExecStatusType status = PQresultStatus(result);

	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
		fail_msg("%s\n%s", PQerrorMessage(pg), sql);
	return result;
}

static void format_sql(char *sql, size_t n, const char *format, va_list arguments)
{
	int n_needed = vsnprintf(sql, n, format, arguments);

	assert_true(n_needed >= 0 && (size_t)n_needed < n);
}

void run(const char *format, ...)
{
	char sql[4000];
	va_list arguments;

	va_start(arguments, format);
	format_sql(sql, sizeof sql, format, arguments);
	va_end(arguments);
	PQclear(query(sql));
}

long long number_of(const char *format, ...)
{
	char sql[4000];
	va_list arguments;
	PGresult *result;
	long long number;

	va_start(arguments, format);
	format_sql(sql, sizeof sql, format, arguments);
	va_end(arguments);
	result = query(sql);
	assert_int_equal(PQntuples(result), 1);
	number = atoll(PQgetvalue(result, 0, 0));
	PQclear(result);
	return number;
}

void same_rows(const char *sql, const char *expected_sql)
{
	PGresult *actual = query(sql), *expected = query(expected_sql);

	assert_int_not_equal(PQntuples(actual), 0);
	assert_int_equal(PQntuples(actual), PQntuples(expected));
	assert_int_equal(PQnfields(actual), PQnfields(expected));
	for (int row = 0; row < PQntuples(actual); row++) {
		for (int column = 0; column < PQnfields(actual); column++) {
			if (PQgetisnull(actual, row, column) != PQgetisnull(expected, row, column) ||
			    strcmp(PQgetvalue(actual, row, column), PQgetvalue(expected, row, column)) != 0)
				fail_msg("row %d, column %d: '%s' instead of '%s'\n%s", row, column,
					 PQgetvalue(actual, row, column), PQgetvalue(expected, row, column), sql);
		}
	}
	PQclear(actual);
	PQclear(expected);
}

static int make_file(void)
{
	FILE *file = tmpfile();
	int copy;

	assert_non_null(file);
	copy = dup(fileno(file));
	fclose(file);
	return copy;
}

void start_child(struct child *child, const char *const arguments[])
{
	const char *build = getenv("IFOREST_BUILD"), *command[20] = { NULL };
	char program[300];
	int n = 1;

	snprintf(program, sizeof program, "%s/trace2pg", build ? build : "build");
	command[0] = program;
	while (*arguments)
		command[n++] = *arguments++;
	assert_true(n < 20);
	*child = (struct child){ .output = make_file(), .errors = make_file() };
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		dup2(child->output, STDOUT_FILENO);
		dup2(child->errors, STDERR_FILENO);
		execv(program, (char *const *)command);
		_exit(127);
	}
}

static void read_all(int file, char *text, size_t n)
{
	ssize_t n_read = pread(file, text, n - 1, 0);

	assert_true(n_read >= 0);
	text[n_read] = '\0';
	close(file);
}

void wait_child(struct child *child)
{
	struct rusage usage;
	int status;

	assert_int_equal(wait4(child->pid, &status, 0, &usage), child->pid);
	child->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	child->peak_kib = usage.ru_maxrss;
	read_all(child->output, child->out, sizeof child->out);
	read_all(child->errors, child->err, sizeof child->err);
}

void run_child(struct child *child, int expected_status, const char *const arguments[])
{
	start_child(child, arguments);
	wait_child(child);
	if (child->status != expected_status)
		fail_msg("exit status %d instead of %d\n%s%s", child->status, expected_status, child->out, child->err);
}

void assert_says(const char *printed, const char *text)
{
	if (!strstr(printed, text))
		fail_msg("there is no '%s' in\n%s", text, printed);
}
