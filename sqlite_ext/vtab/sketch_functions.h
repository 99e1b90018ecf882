/* sketch_functions.h -- sketches in SQL (core/model/sketch.h), for any query:
 *
 *   iforest_sketch(v)                        aggregate, also over a window frame: the sketch of the numbers, a blob
 *   iforest_sketch_merge(sketch)             the same of sketches: their sum
 *   iforest_quantile(sketch, q [, min, max]) a quantile of it
 *   iforest_sketch_count(sketch)             how many numbers it holds
 *
 * NULL is the sketch of no numbers.
 */
#ifndef IFOREST_SQLITE_SKETCH_FUNCTIONS_H
#define IFOREST_SQLITE_SKETCH_FUNCTIONS_H

#include "sqlite_ext/storage/engine.h"

/* Returns SQLite's code. */
int iforest_sketch_functions_register(sqlite3 *db);

#endif
