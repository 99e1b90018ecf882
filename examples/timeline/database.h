/* examples/timeline/database.h -- Connections to the database of a trace, as trace2sqlite makes it, or as a stranger does.
 *
 * The schema of the file is not trusted and nothing may write to it; texts and statements have limits, and what takes too long is
 * stopped (https://sqlite.org/security.html).
 */
#ifndef TIMELINE_DATABASE_H
#define TIMELINE_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum { LONGEST_WAIT_MS = 10000 };

/* How long the statements of one or several connections may take. */
struct time_limit {
	int n_seconds;
	int64_t deadline_ms;
};

/* Lets them take n_seconds from now on. Requires that none is running. */
void time_limit_start(struct time_limit *limit, int n_seconds);

bool time_limit_is_over(const struct time_limit *limit);

/* What there is besides spans, spans_if, spans_overlap and spans_rows, which must be there. */
struct tables {
	bool tracks, counters, instants, flows, left_out;
};

/* Opens a database for reading alone, with the extension, which is NULL where all connections have it. A statement that runs when
 * the limit is over is interrupted. Returns NULL after it has said on stderr what is wrong. */
sqlite3 *database_open(const char *path, const char *extension, struct time_limit *limit);

/* What is wrong where a statement of the connection ended with rc. Valid until the thread's next call. */
const char *database_error(sqlite3 *db, int rc, const struct time_limit *limit);

/* Says on stderr what is wrong, in printable ASCII: a stranger's file may have texts that a terminal takes for commands. */
void database_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Looks which tables and indexes there are. Those of `tracks`, `instants_if` and `counters_if` that are missing are made on this
 * connection, empty. Returns false after it has said on stderr what is wrong. */
bool database_tables(sqlite3 *db, const char *path, struct tables *tables);

/* Prepares a statement that is kept. Returns false after it has said on stderr what is wrong. */
bool database_prepare(sqlite3 *db, sqlite3_stmt **statement, const char *sql);

#endif
