/* tools/connection.h -- Connection to a PostgreSQL server and its error messages.
 *
 * A signal cancels the statement that runs (interrupt.h). Only connection.c uses libpq.
 */
#ifndef IFOREST_CONNECTION_H
#define IFOREST_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>

/* Zeros: not connected. Functions that return false have set problem and sqlstate. After a signal no statement is started. */
struct connection {
	void *libpq;	    /* PGconn, owned */
	char problem[2000]; /* usually the server's message: several lines, without the last newline */
	char sqlstate[6];   /* "" if the error is not the server's */
};

/* Connects by a connection string or URI, or by the PG* environment (conninfo NULL). Nothing in the session times
 * out, and texts are UTF-8. */
bool connection_open(struct connection *connection, const char *conninfo);
void connection_close(struct connection *connection);

/* True unless the connection is known to be lost. */
bool connection_is_alive(const struct connection *connection);

/* Runs one or more statements; their text is formatted as by printf. */
__attribute__((format(printf, 2, 3))) bool connection_run(struct connection *connection, const char *format, ...);

/* Runs a query of one row and one column, with parameter as $1 unless that is NULL. *value is the answer's text, owned by
 * the caller. */
__attribute__((format(printf, 4, 5))) bool connection_ask(struct connection *connection, char **value, const char *parameter,
							  const char *format, ...);

/* COPY ... FROM STDIN: a start, data in pieces of any size, an end. An error of the server may be reported only at the end. */
__attribute__((format(printf, 2, 3))) bool connection_copy_start(struct connection *connection, const char *format, ...);
bool connection_copy_data(struct connection *connection, const char *data, size_t n_bytes);
bool connection_copy_end(struct connection *connection);

#endif
