/* bench/side_by_side/postgres.c -- Driver of PostgreSQL, of the server that PGHOST and its like lead to.
 *
 * Rows are loaded by COPY.
 */
#include "bench/side_by_side/driver.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local PGconn *connection;

void engine_open(const char *where)
{
	connection = PQconnectdb(where);
	if (PQstatus(connection) != CONNECTION_OK)
		driver_fail("connecting", PQerrorMessage(connection));
}

void engine_close(void)
{
	PQfinish(connection);
}

static PGresult *result_of(const char *sql)
{
	PGresult *result = PQexec(connection, sql);
	ExecStatusType status = PQresultStatus(result);

	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_COPY_IN)
		driver_fail(sql, PQerrorMessage(connection));
	return result;
}

void engine_run(const char *sql)
{
	PQclear(result_of(sql));
}

void engine_load(FILE *rows)
{
	static _Thread_local char buffer[1 << 18];
	PGresult *result;
	size_t n;

	engine_run("COPY spans FROM STDIN (FORMAT csv)");
	while ((n = fread(buffer, 1, sizeof buffer, rows)) > 0)
		if (PQputCopyData(connection, buffer, (int)n) != 1)
			driver_fail("COPY", PQerrorMessage(connection));
	if (PQputCopyEnd(connection, NULL) != 1)
		driver_fail("COPY", PQerrorMessage(connection));
	while ((result = PQgetResult(connection))) {
		if (PQresultStatus(result) != PGRES_COMMAND_OK)
			driver_fail("COPY", PQerrorMessage(connection));
		PQclear(result);
	}
}

void engine_ask(const char *sql, struct answer *answer)
{
	PGresult *result = result_of(sql); /* with all its cells, as text */

	for (int row = 0; answer && row < PQntuples(result); row++) {
		for (int column = 0; column < PQnfields(result); column++)
			answer_cell(answer, PQgetvalue(result, row, column));
		answer_end_row(answer);
	}
	PQclear(result);
}

/* Those that EXPLAIN names for the whole plan, without planning. */
double engine_pages(const char *sql)
{
	size_t size = strlen(sql) + 64;
	char *explain = malloc(size);
	double pages = 0;
	PGresult *result;

	if (!explain)
		driver_fail(sql, "there is no memory");
	snprintf(explain, size, "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) %s", sql);
	result = result_of(explain);
	for (int row = 0; row < PQntuples(result); row++) {
		const char *line = PQgetvalue(result, row, 0), *buffers = strstr(line, "Buffers: shared");
		const char *hit = buffers ? strstr(buffers, " hit=") : NULL, *read = buffers ? strstr(buffers, " read=") : NULL;
		const char *temporary = buffers ? strstr(buffers, ", ") : NULL;

		if (!buffers && !strstr(line, "Planning:"))
			continue;
		pages = hit ? atof(hit + strlen(" hit=")) : 0;
		pages += read && (!temporary || read < temporary) ? atof(read + strlen(" read=")) : 0;
		break;
	}
	PQclear(result);
	free(explain);
	return pages;
}
