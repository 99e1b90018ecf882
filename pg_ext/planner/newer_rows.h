/* newer_rows.h -- what ANALYZE has not seen yet: rows that are newer than any of its histogram of the times.
 *
 * A window of those, which dashboards ask for all the time, would be taken for one row, and read row by row: a table that grows
 * by 5000 rows a second has millions of them before autovacuum analyzes it. For columns that a B-tree begins with PostgreSQL
 * itself looks where the index ends (get_actual_variable_range()). This does the same for the time column of an iforest index,
 * and knows besides how many rows lie behind the histogram's end:
 *
 *   ANALYZE's     |----|----|----|----|              each part has as many rows
 *   runs, pending                     + + ++ +
 *   what is said  |------|------|------|------|      as many parts of as many rows, old and new
 *
 * Statistics are as they were where nothing is newer, where the first or last times are infinite, for partitioned tables as a
 * whole (each partition has its own), for who may not read the table, and with iforest.enable off. */
#ifndef IFOREST_PG_NEWER_ROWS_H
#define IFOREST_PG_NEWER_ROWS_H

#include "pg_ext/base/engine.h"

/* Registers the hook: called once, by _PG_init. */
void iforest_newer_rows_register(void);

#endif
