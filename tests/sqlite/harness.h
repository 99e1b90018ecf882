/* harness.h -- what the SQLite tests share: a connection with the extension, SQL that must work or must fail, answers as
 * text, a seeded random number generator, and a temporary directory that is removed again.
 *
 * Environment: IFOREST_BUILD (default "build") holds iforest.so; IFOREST_SEED seeds the random tests. Every function that
 * finds something wrong fails the test that called it and prints the SQL.
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

/* Loads $IFOREST_BUILD/<name>; returns false and leaves *error to sqlite3_free() where it cannot. */
bool load_library(sqlite3 *db, const char *name, char **error);

void close_database(sqlite3 *db);

/* ---- SQL; formats are those of sqlite3_mprintf ---- */

/* Runs statements that must work. */
void run(sqlite3 *db, const char *format, ...);

/* Runs a statement that must fail with a message that begins with `message`. */
void run_fails(sqlite3 *db, const char *message, const char *format, ...);

/* Runs a statement, whatever comes of it. Returns the result code; the message is in last_message(). */
int run_any(sqlite3 *db, const char *format, ...);
const char *last_message(void);

/* The SQL that a message offers: from its first keyword to the end, or to ", and name that". To be freed. */
char *remedy_of(const char *text);

/* The rows of a query as the CLI prints them: columns parted by '|', a newline after each row. To be freed with
 * free(). NULL where the query fails; the message is in last_message(). */
char *rows_of(sqlite3 *db, const char *sql);

/* The query must give these rows. */
void run_gives(sqlite3 *db, const char *expected, const char *format, ...);

/* Both queries must give the same rows in the same order; 1 and 1.0 are the same, reals may differ by 1e-12 of their size. */
void same_rows(sqlite3 *db, const char *sql, const char *reference);

/* The first column of the first row; 0 without rows. */
int64_t integer_of(sqlite3 *db, const char *format, ...);

/* A digest of everything that a query gives, types included. */
uint64_t digest_of(sqlite3 *db, const char *format, ...);

/* ---- random numbers ---- */

struct random {
	uint64_t state;
};

/* The seed of IFOREST_SEED, or a fixed one; printed when something fails. */
uint64_t test_seed(void);
/* IFOREST_ROUNDS; else as many as usual, and a third of them where the sanitizer shortens (tests/support/sanitizer.h). */
int test_rounds(int usual);
uint64_t random64(struct random *random);
int64_t random_below(struct random *random, int64_t n); /* 0 <= result < n */
bool one_in(struct random *random, int64_t n);

/* ---- files ---- */

/* Makes a directory of its own for the test program; the same one at each call. */
const char *test_directory(void);

/* A path in it; static storage, overwritten by the eighth call after. */
const char *test_path(const char *name);

/* Removes the database and its journals. */
void remove_database(const char *path);

/* Removes the directory with all that is in it: the group teardown of every program that uses files. */
int remove_test_directory(void **state);

#endif
