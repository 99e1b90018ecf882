/* bench/sqlite_floor.h -- Cost of SQLite itself for handing rows to its caller: a virtual table of columns a, b, c, d that
 * only counts, to its argument. */
#ifndef SQLITE_FLOOR_H
#define SQLITE_FLOOR_H

#include <sqlite3.h>

extern const sqlite3_module sqlite_floor_module;

#endif
