/* tests/sqlite/life.h -- Life cycle of an index with a sidecar (sketches or counters kept for pages): rows change, and pages
 * are flushed, merged and rebuilt.
 *
 * The index is "d_if" over the table "d", whose ids are 1 to n_rows, and whose times "ts" are below 1 000 000 for some rows.
 * After each step the test is called to compare windows of the index with the table.
 */
#ifndef IFOREST_TESTS_LIFE_H
#define IFOREST_TESTS_LIFE_H

#include "harness.h"

struct life {
	const char *updates; /* statements that change rows, delete some and insert others, late ones among them */
	const char *inserts; /* a statement that inserts enough rows for a second run */
	const char *kept;    /* the sidecar's table, with the columns run and bytes */
	const char *damage;  /* the message if its content is wrong */
	const char *query;   /* a query that reads it */

	/* Compares n random windows. */
	void (*expect)(sqlite3 *db, struct random *random, int n);
};

/* Changes rows and runs each command in turn, once inside a transaction that is rolled back. At the end there is one run. */
void life_live(const struct life *life, sqlite3 *db, struct random *random);

/* Removes the sidecar's rows, and damages them. Queries must compute what is missing from the entries, and a command must write
 * it again. Damage must be an error of the query and of the integrity check until the index is rebuilt. */
void life_lose_kept(const struct life *life, sqlite3 *db, struct random *random);

#endif
