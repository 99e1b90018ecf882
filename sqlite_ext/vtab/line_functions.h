/* vtab/line_functions.h -- SQL aggregate iforest_lttb(): downsampled points of a line chart.
 *
 *   iforest_lttb(ts, v, n)   n of the points (core/model/lttb.h), in order of time: a JSON array of [ts, v]
 */
#ifndef IFS_VTAB_LINE_FUNCTIONS_H
#define IFS_VTAB_LINE_FUNCTIONS_H

#include "sqlite_ext/storage/engine.h"

/* Registers the aggregate. Returns SQLite's code. */
int ifs_line_functions_register(sqlite3 *db);

#endif
