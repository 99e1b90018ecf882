#include "tools/connection.h"

#include <errno.h>
#include <libpq-fe.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/interrupt.h"

/* What a signal cancels: the statement that runs. */
static void cancel_statement(void *cancel)
{
	char problem[256];

	PQcancel(cancel, problem, sizeof problem);
}

static struct interrupt_action statement = { .cancel = cancel_statement };

/* `cancel` becomes ours; NULL: nothing is to be cancelled. */
static void set_cancelled(PGcancel *cancel)
{
	interrupt_cancels(NULL);
	PQfreeCancel(statement.context);
	statement.context = cancel;
	if (cancel)
		interrupt_cancels(&statement);
}

/* libpq copies each piece: larger pieces would cost memory and gain nothing. */
enum { COPY_PIECE_BYTES = 64 * 1024 };

static bool fail(struct connection *connection, const char *problem, const char *sqlstate)
{
	size_t n_bytes = strlen(problem);

	while (n_bytes > 0 && problem[n_bytes - 1] == '\n')
		n_bytes--;
	snprintf(connection->problem, sizeof connection->problem, "%.*s", (int)n_bytes, problem);
	snprintf(connection->sqlstate, sizeof connection->sqlstate, "%s", sqlstate ? sqlstate : "");
	return false;
}

static bool fail_with_result(struct connection *connection, const PGresult *result)
{
	const char *problem = PQresultErrorMessage(result);

	return fail(connection, *problem ? problem : PQerrorMessage(connection->libpq),
		    PQresultErrorField(result, PG_DIAG_SQLSTATE));
}

/* Timeouts that not every version of the server has. */
static bool lift_newer_timeouts(struct connection *connection)
{
	char *n_lifted;
	bool succeeded =
		connection_ask(connection, &n_lifted, NULL,
			       "SELECT pg_catalog.count(pg_catalog.set_config(name, '0', false)) FROM pg_catalog.pg_settings "
			       "WHERE name IN ('idle_session_timeout', 'transaction_timeout')");

	if (succeeded)
		free(n_lifted);
	return succeeded;
}

bool connection_open(struct connection *connection, const char *conninfo)
{
	static const char *const keywords[] = { "dbname", "fallback_application_name", "client_encoding", NULL };
	const char *const values[] = { conninfo, "trace2pg", "UTF8", NULL };

	connection->libpq = PQconnectdbParams(keywords, values, 1);
	if (!connection->libpq)
		return fail(connection, "out of memory", NULL);
	if (PQstatus(connection->libpq) != CONNECTION_OK)
		return fail(connection, PQerrorMessage(connection->libpq), NULL);
	set_cancelled(PQgetCancel(connection->libpq));
	return connection_run(connection, "SET client_min_messages = warning; SET statement_timeout = 0; "
					  "SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0") &&
	       lift_newer_timeouts(connection);
}

void connection_close(struct connection *connection)
{
	set_cancelled(NULL);
	PQfinish(connection->libpq);
	connection->libpq = NULL;
}

bool connection_is_alive(const struct connection *connection)
{
	return PQstatus(connection->libpq) == CONNECTION_OK;
}

static char *format_text(const char *format, va_list arguments)
{
	va_list again;
	char *text;
	int n_bytes;

	va_copy(again, arguments);
	n_bytes = vsnprintf(NULL, 0, format, again);
	va_end(again);
	text = malloc((size_t)n_bytes + 1);
	if (text)
		vsnprintf(text, (size_t)n_bytes + 1, format, arguments);
	return text;
}

/* Runs a statement whose text is made as by vprintf, with parameter as $1 unless that is NULL. Returns NULL, with the problem
 * set, if the status of the result is not the expected one. */
static PGresult *run(struct connection *connection, ExecStatusType expected, const char *parameter, const char *format,
		     va_list arguments)
{
	char *sql;
	PGresult *result;

	/* the signal may have come when no statement ran that could be cancelled */
	if (interrupt_signal()) {
		fail(connection, "interrupted", NULL);
		return NULL;
	}
	sql = format_text(format, arguments);
	if (!sql) {
		fail(connection, "out of memory", NULL);
		return NULL;
	}
	result = parameter ? PQexecParams(connection->libpq, sql, 1, NULL, &parameter, NULL, NULL, 0)
			   : PQexec(connection->libpq, sql);
	free(sql);
	if (PQresultStatus(result) == expected)
		return result;
	fail_with_result(connection, result);
	PQclear(result);
	return NULL;
}

bool connection_run(struct connection *connection, const char *format, ...)
{
	va_list arguments;
	PGresult *result;

	va_start(arguments, format);
	result = run(connection, PGRES_COMMAND_OK, NULL, format, arguments);
	va_end(arguments);
	PQclear(result);
	return result;
}

bool connection_ask(struct connection *connection, char **value, const char *parameter, const char *format, ...)
{
	va_list arguments;
	PGresult *result;

	va_start(arguments, format);
	result = run(connection, PGRES_TUPLES_OK, parameter, format, arguments);
	va_end(arguments);
	if (!result)
		return false;
	*value = strdup(PQgetvalue(result, 0, 0));
	PQclear(result);
	return *value || fail(connection, "out of memory", NULL);
}

bool connection_copy_start(struct connection *connection, const char *format, ...)
{
	va_list arguments;
	PGresult *result;

	va_start(arguments, format);
	result = run(connection, PGRES_COPY_IN, NULL, format, arguments);
	va_end(arguments);
	PQclear(result);
	return result;
}

bool connection_copy_data(struct connection *connection, const char *data, size_t n_bytes)
{
	for (size_t i = 0; i < n_bytes; i += COPY_PIECE_BYTES) {
		size_t n = n_bytes - i < COPY_PIECE_BYTES ? n_bytes - i : COPY_PIECE_BYTES;

		if (PQputCopyData(connection->libpq, data + i, (int)n) != 1) {
			fail(connection, PQerrorMessage(connection->libpq), NULL);
			connection_copy_end(connection); /* reports what the server said before it closed the connection */
			return false;
		}
	}
	return true;
}

bool connection_copy_end(struct connection *connection)
{
	bool succeeded = PQputCopyEnd(connection->libpq, NULL) == 1;
	PGresult *result;

	if (!succeeded)
		fail(connection, PQerrorMessage(connection->libpq), NULL);
	while ((result = PQgetResult(connection->libpq))) {
		ExecStatusType status = PQresultStatus(result);

		if (status == PGRES_FATAL_ERROR)
			succeeded = fail_with_result(connection, result);
		PQclear(result);
		if (status == PGRES_COPY_IN)
			break;
	}
	return succeeded;
}
