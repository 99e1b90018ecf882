/* query/numeric_bound.h -- Range of the numbers that satisfy `column op value` by SQLite's rules.
 *
 * A text that looks like a number is converted to it. Any other text, and every blob, is greater than all numbers. Integers and
 * reals compare exactly, and no number satisfies NULL. Operators: '=', '<', '>', 'l' for <=, 'g' for >=.
 */
#ifndef IFS_QUERY_NUMERIC_BOUND_H
#define IFS_QUERY_NUMERIC_BOUND_H

#include "sqlite_ext/storage/engine.h"

/* Narrows [*low, *high], which may become empty, to the integers that satisfy it. Returns false if none can. A text narrows
 * nothing if memory runs out. */
bool ifs_bound_integers(char op, sqlite3_value *value, int64_t *low, int64_t *high);

/* Narrows [*low, *high] to the reals that satisfy it, and perhaps one more on either side. Returns false if none can. */
bool ifs_bound_reals(char op, sqlite3_value *value, double *low, double *high);

/* Narrows [*low, *high], times of a column of reals, as ifs_bound_integers() does. An integer may lie between two reals. */
bool ifs_bound_real_times(char op, sqlite3_value *value, int64_t *low, int64_t *high);

#endif
