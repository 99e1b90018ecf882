/* tests/sqlite/life.h -- Life of an index that keeps more than its nodes: the table's rows change, pages are flushed, merged and made anew.
 *
 * The index is "d_if" over the table "d", whose ids are 1 to n_rows, and whose times "ts" are below 1 000 000 for some rows. After
 * each step the test is called to compare windows of the index with the table.
 */
#ifndef IFOREST_TESTS_LIFE_H
#define IFOREST_TESTS_LIFE_H

#include "harness.h"

struct life {
	const char *updates; /* statements that change rows, delete some and insert others, late ones among them */
	const char *inserts; /* a statement that inserts rows enough for a second run */
	const char *kept;    /* table of what is kept of the pages, with the columns run and bytes */
	const char *damage;  /* message where that is wrong */
	const char *query;   /* a query that reads it */

	/* Compares n random windows. */
	void (*expect)(sqlite3 *db, struct random *random, int n);
};

/* Changes rows and runs each command in turn, once inside a transaction that is rolled back. In the end there is one run. */
void life_live(const struct life *life, sqlite3 *db, struct random *random);

/* Removes what is kept, and damages it. What is missing is read from the rows, and made again by a command; what is wrong is an error of the
 * query and of the integrity check, until the index is rebuilt. */
void life_lose_kept(const struct life *life, sqlite3 *db, struct random *random);

#endif
