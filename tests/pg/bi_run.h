/* bi_run.h -- runs the statements of bi/ over their tables, and compares what they give.
 */
#ifndef TESTS_PG_BI_RUN_H
#define TESTS_PG_BI_RUN_H

#include "tests/pg/bi_queries.h"

extern PGconn *bi_pg;
extern const char *bi_zone;          /* the session's time zone, for messages */
extern unsigned bi_n_mismatches;
extern struct text bi_details;       /* of the notices since the last statement */

/* Makes the tables, of about so many rows each, and a connection to them in time zone UTC. */
void bi_set_up(void **state, unsigned n_rows);

/* Tells of a mismatch; all are told before the test fails. */
FORMAT(2) void bi_mismatch(const struct bi_statement *statement, const char *format, ...);
void bi_no_mismatch_may_be_left(void);

/* Runs the statement under a setting "name = value" of iforest, with `explain` (maybe "") before it, and takes back what it
 * did. Returns NULL, and has told it, if it fails. Requires  a transaction has begun. */
PGresult *bi_ask(const struct bi_statement *statement, const char *setting, const char *explain);

/* Are columns, rows, and their order where there is one the same? */
void bi_compare(const struct bi_statement *statement, const PGresult *actual, const PGresult *expected);

/* How often an index answers in a plan. */
unsigned bi_count_nodes(const PGresult *plan);

#endif
