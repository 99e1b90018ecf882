/* bench/side_by_side/sqlite.c -- Driver of SQLite: sqlite DATABASE.
 *
 * Rows are loaded by one prepared INSERT in one transaction.
 */
#include "bench/side_by_side/driver.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 60000 };

static _Thread_local sqlite3 *db;

void engine_open(const char *where)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;

	if (sqlite3_open_v2(where, &db, flags, NULL) || sqlite3_enable_load_extension(db, 1) ||
	    sqlite3_busy_timeout(db, PATIENCE_MS))
		driver_fail(where, sqlite3_errmsg(db));
}

void engine_close(void)
{
	sqlite3_close(db);
}

void engine_run(const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		driver_fail(sql, sqlite3_errmsg(db));
}

void engine_load(FILE *rows)
{
	sqlite3_stmt *insert;
	char *line = NULL;
	size_t size = 0;

	engine_run("BEGIN");
	if (sqlite3_prepare_v2(db, "INSERT INTO spans(id, ts, dur, track) VALUES(?, ?, ?, ?)", -1, &insert, NULL))
		driver_fail("INSERT", sqlite3_errmsg(db));
	while (getline(&line, &size, rows) > 0) {
		char *at = line;

		for (int column = 1; column <= 3; column++) {
			sqlite3_bind_int64(insert, column, strtoll(at, &at, 10));
			at++;
		}
		sqlite3_bind_text(insert, 4, at, (int)strcspn(at, "\n"), SQLITE_STATIC);
		if (sqlite3_step(insert) != SQLITE_DONE)
			driver_fail(line, sqlite3_errmsg(db));
		sqlite3_reset(insert);
	}
	sqlite3_finalize(insert);
	engine_run("COMMIT");
	free(line);
}

void engine_ask(const char *sql, struct answer *answer)
{
	sqlite3_stmt *statement;
	int n_columns;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL))
		driver_fail(sql, sqlite3_errmsg(db));
	n_columns = sqlite3_column_count(statement);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		for (int column = 0; column < n_columns; column++) {
			if (answer)
				answer_cell(answer, (const char *)sqlite3_column_text(statement, column));
			else if (sqlite3_column_type(statement, column) == SQLITE_TEXT)
				(void)sqlite3_column_text(statement, column);
			else
				(void)sqlite3_column_int64(statement, column);
		}
		if (answer)
			answer_end_row(answer);
	}
	if (sqlite3_finalize(statement))
		driver_fail(sql, sqlite3_errmsg(db));
}

/* Pages that SQLite asked its cache for, from here on. */
static double pages_asked(void)
{
	static const int counters[] = { SQLITE_DBSTATUS_CACHE_HIT, SQLITE_DBSTATUS_CACHE_MISS };
	double pages = 0;

	for (int i = 0; i < 2; i++) {
		int n, highest;

		sqlite3_db_status(db, counters[i], &n, &highest, 1);
		pages += n;
	}
	return pages;
}

double engine_pages(const char *sql)
{
	pages_asked();
	engine_ask(sql, NULL);
	return pages_asked();
}
