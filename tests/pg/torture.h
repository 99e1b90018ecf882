/* torture.h -- sessions that change a table t(id, service, ts, dur), take changes back, vacuum, merge and rebuild its index
 * t_if, while others ask: in one snapshot, what the index answers is what the table answers.
 *
 * IFOREST_SECONDS says how long. Needs a server, as client.h does.
 */
#ifndef TESTS_PG_TORTURE_H
#define TESTS_PG_TORTURE_H

#include "tests/pg/client.h"

struct torture {
	unsigned seconds;      /* where IFOREST_SECONDS does not say it */
	const char *tables;    /* SQL that makes t, whose first columns are those above, and t_if */
	const char *by_index;  /* settings with which the index answers, or NULL */
	const char *node;      /* of the plan then; in some questions only, unless is_always_taken */
	bool is_always_taken;
	void (*make_question)(struct worker *worker, struct text *query); /* rows of text in an order of their own */
};

void torture_run(PGconn *pg, const struct torture *torture);

/* The teardown of a test that has run it. */
int torture_end(void **state);

/* 0 <= result < n, by the worker's dice. */
int torture_below(struct worker *worker, unsigned n);

#endif
