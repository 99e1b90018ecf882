/* client.h -- what the tests of the PostgreSQL extension share: connections, SQL that must succeed or may fail, and workers
 * beside the test.
 *
 * Needs a server, by the PG* environment: tests/pg/cluster.sh run build/tests/pg/test_random
 */
#ifndef TESTS_PG_CLIENT_H
#define TESTS_PG_CLIENT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "tests/support/random.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define FORMAT(at) __attribute__((format(printf, at, at + 1)))

/* Fails the test, or in a worker ends it, so that the test fails when it stops its workers. */
_Noreturn FORMAT(1) void client_fail(const char *format, ...);

/* What every failure is to be reported with: the seed of the round, say. */
FORMAT(1) void client_note(const char *format, ...);

/* ---- text that grows at its end ---- */

struct text {
	char at[30000];
	size_t n;
};

FORMAT(2) void text_set(struct text *text, const char *format, ...);
FORMAT(2) void text_add(struct text *text, const char *format, ...);

/* ---- connections ---- */

/* To the server whose socket is in `folder`, NULL: to PGHOST's. */
PGconn *client_connect(const char *folder);

/* The same, NULL where the server does not take connections now. */
PGconn *client_try_connect(const char *folder);

/* For a group of tests: *state is a connection to PGHOST's server, whose database now has the extension. */
int client_set_up(void **state);
int client_tear_down(void **state);

/* Runs SQL; the text is made as by printf. Errors fail the test. Results are the caller's to clear. */
FORMAT(2) void client_run(PGconn *pg, const char *format, ...);
FORMAT(2) PGresult *client_rows(PGconn *pg, const char *format, ...);
FORMAT(2) long long client_number(PGconn *pg, const char *format, ...);

/* Runs SQL that may fail. Returns its SQLSTATE, "" if it succeeded, "lost" if the server went away. */
FORMAT(2) const char *client_try(PGconn *pg, const char *format, ...);

/* A limit of milliseconds on statements and on waiting for locks; and none. A timeout that comes late may end these too:
 * they try again. */
void client_hurry(PGconn *pg, unsigned statement_timeout, unsigned lock_timeout);
void client_calm(PGconn *pg);

/* Both results have the same rows. `what` is told if they have not. */
void client_same_rows(PGresult *actual, PGresult *expected, const char *what);

/* ---- how rows are read ---- */

enum client_way { BY_TABLE, BY_INDEX, BY_INDEX_ONLY, BY_BITMAP, CLIENT_WAYS };

/* From now on this session reads tables row by row in that way, where it can. */
void client_read(PGconn *pg, enum client_way way);

/* The plan of a query must read in that way, if it reads at all. */
void client_plan_must(PGconn *pg, enum client_way way, const char *query);

/* Runs a query of one row in a REPEATABLE READ transaction of its own, by the table and by the index: the same row. */
void client_same_answers(PGconn *pg, const char *query);

/* iforest_check(index, true), and no more. */
void client_check(PGconn *pg, const char *index);

/* Vacuums the table, until its index TABLE_if has an entry for each row and no other. Nobody else may have a snapshot for
 * long. */
void client_entries_are_rows(PGconn *pg, const char *table);

/* ---- time ---- */

void pause_microseconds(uint64_t n);
uint64_t now_microseconds(void);

/* ---- workers: processes that do the same again and again until they are told to stop ---- */

struct worker {
	PGconn *pg;
	struct random dice;
	unsigned number;
	const void *context;
};

/* One piece of work. False: there is nothing more to do. */
typedef bool (*client_work)(struct worker *worker);

enum { MOST_WORKERS = 16 };

struct workers {
	pid_t pids[MOST_WORKERS];
	unsigned n;
	int stop[2]; /* a pipe: workers go on while it has a writer */
};

void workers_begin(struct workers *workers);

/* A worker with a connection of its own, which it has when this returns. */
void workers_add(struct workers *workers, const char *folder, client_work work, uint64_t seed, const void *context);

/* Lets them finish what they are at, and fails if one of them failed. */
void workers_stop(struct workers *workers);

/* For teardown: ends those that are left. */
void workers_abandon(struct workers *workers);

#endif
