/* rows_question.h -- what of rows.c turns the values of conditions into series, ranges and bounds. */
#ifndef IFOREST_SQLITE_ROWS_QUESTION_H
#define IFOREST_SQLITE_ROWS_QUESTION_H

#include "sqlite_ext/query/rows_slice.h"

/* Fills in the series chosen, the match and the parts, of rows->plan, over the snapshot at hand. Without parts there are no
 * rows. */
int iforest_rows_ask(struct ifs_row_query *rows, sqlite3_value **argv, struct iforest_error *error);

#endif
