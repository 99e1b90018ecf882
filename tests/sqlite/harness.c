#define _XOPEN_SOURCE 700 /* nftw, mkdtemp */

#include "harness.h"

#include <ftw.h>
#include <math.h>
#include <unistd.h>

#include "tests/support/sanitizer.h"

static char message[2000];

const char *last_message(void)
{
	return message;
}

static void keep_message(const char *text)
{
	snprintf(message, sizeof message, "%s", text ? text : "");
}

/* ---- connections ---- */

sqlite3 *open_plain(const char *path, int flags)
{
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(path, &db, (flags ? flags : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) | SQLITE_OPEN_URI,
				 NULL);

	if (rc)
		fail_msg("cannot open %s: %s", path, sqlite3_errmsg(db));
	sqlite3_extended_result_codes(db, 1);
	return db;
}

bool load_library(sqlite3 *db, const char *name, char **error)
{
	const char *build = getenv("IFOREST_BUILD");
	char path[1000];

	snprintf(path, sizeof path, "%s/%s", build ? build : "build", name);
	if (!strchr(path, '/'))
		snprintf(path, sizeof path, "./%s", name);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
	return sqlite3_load_extension(db, path, NULL, error) == SQLITE_OK;
}

sqlite3 *open_database(const char *path, int flags)
{
	sqlite3 *db = open_plain(path, flags);
	char *error = NULL;

	if (!load_library(db, "iforest.so", &error))
		fail_msg("cannot load iforest.so: %s", error);
	return db;
}

void close_database(sqlite3 *db)
{
	if (sqlite3_close(db))
		fail_msg("the connection does not close: %s", sqlite3_errmsg(db));
}

/* ---- SQL ---- */

static int execute(sqlite3 *db, const char *sql)
{
	char *error = NULL;
	int rc = sqlite3_exec(db, sql, NULL, NULL, &error);

	keep_message(error);
	sqlite3_free(error);
	return rc;
}

void run(sqlite3 *db, const char *format, ...)
{
	va_list arguments;
	char *sql;

	va_start(arguments, format);
	sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	if (execute(db, sql))
		fail_msg("%s\n  fails: %s", sql, message);
	sqlite3_free(sql);
}

int run_any(sqlite3 *db, const char *format, ...)
{
	va_list arguments;
	char *sql;
	int rc;

	va_start(arguments, format);
	sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	rc = execute(db, sql);
	sqlite3_free(sql);
	return rc;
}

void run_fails(sqlite3 *db, const char *expected, const char *format, ...)
{
	va_list arguments;
	char *sql;

	va_start(arguments, format);
	sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	if (execute(db, sql) == SQLITE_OK)
		fail_msg("%s\n  works, but should fail: %s", sql, expected);
	if (strncmp(message, expected, strlen(expected)) != 0)
		fail_msg("%s\n  fails with: %s\n  instead of: %s", sql, message, expected);
	sqlite3_free(sql);
}

static void print_row(FILE *text, sqlite3_stmt *statement)
{
	for (int i = 0; i < sqlite3_column_count(statement); i++) {
		const char *cell = (const char *)sqlite3_column_text(statement, i);

		fprintf(text, "%s%s", i ? "|" : "", cell ? cell : "");
	}
	fputc('\n', text);
}

char *rows_of(sqlite3 *db, const char *sql)
{
	char *rows = NULL;
	size_t n;
	FILE *text = open_memstream(&rows, &n); /* not SQLite's memory, which tests make fail */
	sqlite3_stmt *statement = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

	assert_non_null(text);
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(statement);
		if (rc == SQLITE_ROW)
			print_row(text, statement);
	}
	keep_message(rc == SQLITE_DONE ? "" : sqlite3_errmsg(db));
	sqlite3_finalize(statement);
	fclose(text);
	if (rc == SQLITE_DONE)
		return rows;
	free(rows);
	return NULL;
}

void run_gives(sqlite3 *db, const char *expected, const char *format, ...)
{
	va_list arguments;
	char *sql, *rows;

	va_start(arguments, format);
	sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	rows = rows_of(db, sql);
	if (!rows)
		fail_msg("%s\n  fails: %s", sql, message);
	if (strcmp(rows, expected) != 0)
		fail_msg("%s\n  gives:\n%s  instead of:\n%s", sql, rows, expected);
	free(rows);
	sqlite3_free(sql);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL))
		fail_msg("%s\n  fails: %s", sql, sqlite3_errmsg(db));
	return statement;
}

static bool is_number(int type)
{
	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

static bool same_cell(sqlite3_stmt *a, sqlite3_stmt *b, int i)
{
	int type = sqlite3_column_type(a, i), other = sqlite3_column_type(b, i);
	double x, y;

	if (type == SQLITE_INTEGER && other == SQLITE_INTEGER)
		return sqlite3_column_int64(a, i) == sqlite3_column_int64(b, i);
	if (is_number(type) && is_number(other)) {
		x = sqlite3_column_double(a, i);
		y = sqlite3_column_double(b, i);
		return x == y || fabs(x - y) <= 1e-12 * (fabs(x) + fabs(y));
	}
	if (type != other)
		return false;
	return sqlite3_column_bytes(a, i) == sqlite3_column_bytes(b, i) &&
	       (sqlite3_column_bytes(a, i) == 0 ||
		memcmp(sqlite3_column_blob(a, i), sqlite3_column_blob(b, i), (size_t)sqlite3_column_bytes(a, i)) == 0);
}

void same_rows(sqlite3 *db, const char *sql, const char *reference)
{
	sqlite3_stmt *a = prepare(db, sql), *b = prepare(db, reference);
	int row = 0, rc, rc_reference;

	assert_int_equal(sqlite3_column_count(a), sqlite3_column_count(b));
	do {
		rc = sqlite3_step(a);
		rc_reference = sqlite3_step(b);
		if (rc != rc_reference)
			fail_msg("%s\n  and %s\n  give %d and %d in row %d: %s", sql, reference, rc, rc_reference, row,
				 sqlite3_errmsg(db));
		for (int i = 0; rc == SQLITE_ROW && i < sqlite3_column_count(a); i++)
			if (!same_cell(a, b, i))
				fail_msg("%s\n  gives %s in row %d, column %d; \n%s\n  gives %s", sql, sqlite3_column_text(a, i),
					 row, i, reference, sqlite3_column_text(b, i));
		row++;
	} while (rc == SQLITE_ROW);
	if (rc != SQLITE_DONE)
		fail_msg("%s\n  fails: %s", sql, sqlite3_errmsg(db));
	sqlite3_finalize(a);
	sqlite3_finalize(b);
}

int64_t integer_of(sqlite3 *db, const char *format, ...)
{
	va_list arguments;
	sqlite3_stmt *statement;
	char *sql;
	int64_t result = 0;
	int rc;

	va_start(arguments, format);
	sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	statement = prepare(db, sql);
	rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW)
		result = sqlite3_column_int64(statement, 0);
	else if (rc != SQLITE_DONE)
		fail_msg("%s\n  fails: %s", sql, sqlite3_errmsg(db));
	sqlite3_finalize(statement);
	sqlite3_free(sql);
	return result;
}

static uint64_t digest_bytes(uint64_t digest, const void *bytes, int n)
{
	const uint8_t *at = bytes;

	for (int i = 0; i < n; i++)
		digest = (digest ^ at[i]) * UINT64_C(0x100000001b3);
	return digest;
}

uint64_t digest_of(sqlite3 *db, const char *format, ...)
{
	uint64_t digest = UINT64_C(0xcbf29ce484222325);
	va_list arguments;
	sqlite3_stmt *statement;
	char *sql;
	int rc;

	va_start(arguments, format);
	sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	statement = prepare(db, sql);
	while ((rc = sqlite3_step(statement)) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(statement); i++) {
			int type = sqlite3_column_type(statement, i);

			digest = digest_bytes(digest, &type, (int)sizeof type);
			digest = digest_bytes(digest, sqlite3_column_blob(statement, i), sqlite3_column_bytes(statement, i));
		}
	if (rc != SQLITE_DONE)
		fail_msg("%s\n  fails: %s", sql, sqlite3_errmsg(db));
	sqlite3_finalize(statement);
	sqlite3_free(sql);
	return digest;
}

/* ---- random numbers ---- */

uint64_t test_seed(void)
{
	const char *seed = getenv("IFOREST_SEED");

	return seed ? strtoull(seed, NULL, 0) : 20240229;
}

int test_rounds(int usual)
{
	const char *rounds = getenv("IFOREST_ROUNDS");

	if (rounds)
		return atoi(rounds);
	return sanitizer_shortens() ? (usual + 2) / 3 : usual;
}

uint64_t random64(struct random *random)
{
	uint64_t x = random->state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

int64_t random_below(struct random *random, int64_t n)
{
	return (int64_t)(random64(random) % (uint64_t)n);
}

bool one_in(struct random *random, int64_t n)
{
	return random_below(random, n) == 0;
}

/* ---- files ---- */

static char directory[300];

const char *test_directory(void)
{
	const char *base = getenv("TMPDIR");

	if (!directory[0]) {
		snprintf(directory, sizeof directory, "%s/iforest_test_XXXXXX", base ? base : "/tmp");
		if (!mkdtemp(directory))
			fail_msg("cannot make %s", directory);
	}
	return directory;
}

const char *test_path(const char *name)
{
	static char paths[8][600];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof paths[0], "%s/%s", test_directory(), name);
	return path;
}

void remove_database(const char *path)
{
	static const char *const suffixes[] = { "", "-journal", "-wal", "-shm" };
	char name[700];

	for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
		snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
		unlink(name);
	}
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *place)
{
	(void)info;
	(void)type;
	(void)place;
	return remove(path);
}

int remove_test_directory(void **state)
{
	(void)state;
	if (directory[0])
		nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	directory[0] = '\0';
	return 0;
}

char *remedy_of(const char *text)
{
	static const char *const keywords[] = { "CREATE TABLE ", "ALTER TABLE " };
	const char *end = strstr(text, ", and name that"), *first = NULL;

	for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
		const char *found = strstr(text, keywords[i]);

		if (found && (!first || found < first))
			first = found;
	}
	if (!first)
		fail_msg("no SQL in: %s", text);
	return sqlite3_mprintf("%.*s", (int)(end ? end - first : (long)strlen(first)), first);
}
