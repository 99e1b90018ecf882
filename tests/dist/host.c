/* tests/dist/host.c -- Smallest SQLite shell that the guided tour needs, to be compiled for any platform.
 *
 *   host MODULE [DATABASE] <sql/sqlite/tour.sql     loads MODULE, runs the statements, prints rows as `.mode list` does
 *
 * It knows .print; the other commands of the tour are what it does anyway. An error ends it, with status 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite3.h"

#define SEPARATOR " | "
#define NO_VALUE "NULL"

static int fail(sqlite3 *db)
{
	fprintf(stderr, "%s\n", sqlite3_errmsg(db));
	return 1;
}

static void print_row(sqlite3_stmt *statement)
{
	for (int i = 0; i < sqlite3_column_count(statement); i++) {
		const char *text = (const char *)sqlite3_column_text(statement, i);

		printf("%s%s", i > 0 ? SEPARATOR : "", text ? text : NO_VALUE);
	}
	printf("\n");
}

static void print_names(sqlite3_stmt *statement)
{
	for (int i = 0; i < sqlite3_column_count(statement); i++)
		printf("%s%s", i > 0 ? SEPARATOR : "", sqlite3_column_name(statement, i));
	printf("\n");
}

static int run(sqlite3 *db, const char *sql)
{
	while (*sql) {
		sqlite3_stmt *statement;
		int n_rows = 0, rc;

		if (sqlite3_prepare_v2(db, sql, -1, &statement, &sql))
			return fail(db);
		while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
			if (n_rows++ == 0)
				print_names(statement);
			print_row(statement);
		}
		if (sqlite3_finalize(statement))
			return fail(db);
	}
	return 0;
}

static void print_text(const char *line)
{
	size_t length;

	line += strlen(".print");
	line += strspn(line, " \"");
	length = strcspn(line, "\n");
	while (length > 0 && line[length - 1] == '"')
		length--;
	printf("%.*s\n", (int)length, line);
}

static int run_file(sqlite3 *db, FILE *file)
{
	static char sql[1 << 16], line[1 << 12];
	size_t length = 0;

	while (fgets(line, sizeof line, file)) {
		if (line[0] == '.') {
			if (!strncmp(line, ".print", strlen(".print")))
				print_text(line);
			continue;
		}
		if (length + strlen(line) >= sizeof sql)
			return 1;
		strcpy(sql + length, line);
		length += strlen(line);
		if (!sqlite3_complete(sql))
			continue;
		if (run(db, sql))
			return 1;
		length = 0;
		sql[0] = '\0';
	}
	return length > 0 ? run(db, sql) : 0;
}

int main(int argc, char **argv)
{
	sqlite3 *db = NULL;
	char *message = NULL;
	int failed;

	if (argc < 2)
		return 2;
	if (sqlite3_open(argc > 2 ? argv[2] : ":memory:", &db))
		return fail(db);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
	if (sqlite3_load_extension(db, argv[1], NULL, &message)) {
		fprintf(stderr, "%s\n", message);
		return 1;
	}
	failed = run_file(db, stdin);
	sqlite3_close(db);
	return failed;
}
