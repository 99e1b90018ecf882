/* tests/sqlite/harness.h -- Common functions of the SQLite tests: a connection with the extension, SQL that must work or must
 * fail, rows as text, a seeded random number generator, and a temporary directory that is removed at the end.
 *
 * Environment: IFOREST_BUILD (default "build") is the folder of iforest.so; IFOREST_SEED seeds the random tests. A function
 * that finds something wrong fails the calling test and prints the SQL.
 */
#ifndef IFOREST_TESTS_HARNESS_H
#define IFOREST_TESTS_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- connections ---- */

/* Opens a database with iforest.so loaded; `flags` are those of sqlite3_open_v2, 0 for reading and writing. */
sqlite3 *open_database(const char *path, int flags);

/* The same without the extension. */
sqlite3 *open_plain(const char *path, int flags);

/* Loads $IFOREST_BUILD/<name>. If that fails, returns false; the caller frees *error by sqlite3_free(). */
bool load_library(sqlite3 *db, const char *name, char **error);

void close_database(sqlite3 *db);

/* ---- SQL; formats are those of sqlite3_mprintf ---- */

/* Runs statements that must work. */
void run(sqlite3 *db, const char *format, ...);

/* Runs a statement that must fail with a message that begins with `message`. */
void run_fails(sqlite3 *db, const char *message, const char *format, ...);

/* Runs a statement that may work or fail. Returns the result code; the message is in last_message(). */
int run_any(sqlite3 *db, const char *format, ...);
const char *last_message(void);

/* Returns the SQL that a message offers: from its first keyword to the end, or to ", and name that". The caller frees it. */
char *remedy_of(const char *text);

/* Returns the rows of a query as the shell prints them: '|' between columns, a newline after each row. The caller frees the
 * text by free(). Returns NULL if the query fails; the message is in last_message(). */
char *rows_of(sqlite3 *db, const char *sql);

/* Runs a query that must return these rows. */
void run_gives(sqlite3 *db, const char *expected, const char *format, ...);

/* Runs two queries that must return the same rows in the same order. 1 equals 1.0; reals may differ by 1e-12 of their size. */
void same_rows(sqlite3 *db, const char *sql, const char *reference);

/* Returns the first column of the first row; 0 if there are no rows. */
int64_t integer_of(sqlite3 *db, const char *format, ...);

/* Returns a digest of everything that a query returns, including types. */
uint64_t digest_of(sqlite3 *db, const char *format, ...);

/* ---- random numbers ---- */

struct random {
	uint64_t state;
};

/* Returns IFOREST_SEED, or a fixed seed; it is printed when something fails. */
uint64_t test_seed(void);
/* Returns IFOREST_ROUNDS, or else the usual number: a third of it where the sanitizer shortens tests
 * (tests/support/sanitizer.h). */
int test_rounds(int usual);
uint64_t random64(struct random *random);
int64_t random_below(struct random *random, int64_t n); /* 0 <= result < n */
bool one_in(struct random *random, int64_t n);

/* ---- files ---- */

/* Returns the test program's own directory, which the first call makes. */
const char *test_directory(void);

/* Returns a path in that directory, in static storage that the eighth call after this one overwrites. */
const char *test_path(const char *name);

/* Removes the database and its journals. */
void remove_database(const char *path);

/* Removes the directory and its files. It is the group teardown of every program that uses files. */
int remove_test_directory(void **state);

#endif
