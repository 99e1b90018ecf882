/* tests/sqlite/random_windows.h -- Random tables with an index and its folds, and random queries, whose columns are all
 * compared with a fold in C over the rows of the table (reference.h). */
#ifndef IFOREST_TESTS_RANDOM_WINDOWS_H
#define IFOREST_TESTS_RANDOM_WINDOWS_H

#include "reference.h"

enum { MOST_RANDOM_ROWS = 5000 };

/* How the rows of a random table are distributed. */
struct row_style {
	int n_rows, n_series, times, values[2];
};

/* Fills a table t(id, a, ts, v, b, w) that has `more` columns (", c, d" or "") and makes the index t_if over it. */
void make_table(sqlite3 *db, const char *more, struct table *table, struct row_style *style, struct random *random);

/* Binds parameters 1 to 6: a random id, a, ts, v, b, w. */
void bind_random_row(sqlite3_stmt *statement, const struct row_style *style, struct random *random);

/* Queries the index and every fold of it, and fails on the first difference. Folds that do not exist are created. A column for
 * which was_real is set returns reals, even if it holds none any more. */
void check_table(sqlite3 *db, struct table *table, struct random *random, int n_windows);

#endif
