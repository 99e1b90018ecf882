/* bi_large.h -- the queries of bi/ over a million rows at default costs: does the planner take the index where entries say so,
 * are the rows those of the plain plan, and which is faster?
 *
 * Prints a table of times, which are not tested, and those statements for which the index was taken and took longer.
 */
#ifndef TESTS_PG_BI_LARGE_H
#define TESTS_PG_BI_LARGE_H

/* Returns the number of tests that fail. IFOREST_BI chooses queries by their names, IFOREST_ROWS another size.
 * Cost      some minutes. */
int bi_large_run(void);

#endif
