/* bound.h -- what `column op value` leaves of a column of numbers, by SQLite's rules: a text that looks like a number is one,
 * any other text and every blob is greater than all numbers, integers and reals compare exactly, and NULL is nothing. */
#ifndef IFOREST_SQLITE_BOUND_H
#define IFOREST_SQLITE_BOUND_H

#include "sqlite_ext/storage/engine.h"

/* Operators of conditions: '=', '<', '>', and 'l' for <=, 'g' for >=. */

/* Narrows [*low, *high], which may be empty afterwards, to the integers that pass. False where none can. Without memory a text
 * narrows nothing. */
bool iforest_bound_integers(char op, sqlite3_value *value, int64_t *low, int64_t *high);

/* The same for reals; the interval may hold one more on either side. */
bool iforest_bound_reals(char op, sqlite3_value *value, double *low, double *high);

#endif
