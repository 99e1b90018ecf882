/* examples/timeline/database.h -- Connections to the database of a trace, as trace2sqlite makes it. */
#ifndef TIMELINE_DATABASE_H
#define TIMELINE_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>

enum { LONGEST_WAIT_MS = 10000 };

/* What there is besides spans, spans_if and spans_overlap, which must be there. */
struct tables {
	bool tracks, counters, instants, flows, left_out;
};

/* Opens a database for reading alone, with the extension, which is NULL where all connections have it. Returns NULL after it has said on stderr what is wrong. */
sqlite3 *database_open(const char *path, const char *extension);

/* Looks which tables and indexes there are. Those of `tracks`, `instants_if` and `counters_if` that are missing are made on this
 * connection, empty. Returns false after it has said on stderr what is wrong. */
bool database_tables(sqlite3 *db, const char *path, struct tables *tables);

/* Prepares a statement that is kept. Returns false after it has said on stderr what is wrong. */
bool database_prepare(sqlite3 *db, sqlite3_stmt **statement, const char *sql);

#endif
