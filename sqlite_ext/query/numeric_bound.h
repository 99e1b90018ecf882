/* query/numeric_bound.h -- Numbers that pass `column op value` by SQLite's rules.
 *
 * A text that looks like a number is one, any other text and every blob is greater than all numbers, integers and reals compare
 * exactly, and NULL passes nothing. Operators: '=', '<', '>', 'l' for <=, 'g' for >=.
 */
#ifndef IFS_QUERY_NUMERIC_BOUND_H
#define IFS_QUERY_NUMERIC_BOUND_H

#include "sqlite_ext/storage/engine.h"

/* Narrows [*low, *high], which may become empty, to the integers that pass. False if none can. Without memory a text
 * narrows nothing. */
bool ifs_bound_integers(char op, sqlite3_value *value, int64_t *low, int64_t *high);

/* Narrows [*low, *high] to the reals that pass, and perhaps one more on either side. False if none can. */
bool ifs_bound_reals(char op, sqlite3_value *value, double *low, double *high);

/* Narrows [*low, *high] to the times of reals that pass, as ifs_bound_integers() does. An integer may lie between two reals. */
bool ifs_bound_real_times(char op, sqlite3_value *value, int64_t *low, int64_t *high);

#endif
