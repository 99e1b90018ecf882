/* The depths of all spans of a trace, in the order in which the reader hands the spans out.
 *
 * A depth is known only when the spans of its track are sorted, so it takes a pass of its own over the file. The spans
 * go through a private temporary SQLite database, which sorts them and spills to disk: memory does not grow with
 * the file. */
#ifndef CHROMETRACE_DEPTHS_H
#define CHROMETRACE_DEPTHS_H

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

struct chrometrace_depths;

/* Computes the depths of the spans of a trace.
 * Returns SQLITE_OK, or an error with *message (to be freed with sqlite3_free; NULL if out of memory) and
 * *depths = NULL.
 * O(n log n) for n spans. */
static int chrometrace_depths_open(const char *path, struct chrometrace_depths **depths, char **message);

/* The depth of the next span.
 * Returns SQLITE_ROW, SQLITE_DONE if there were no more spans, or an error as above. */
static int chrometrace_depths_next(struct chrometrace_depths *depths, sqlite3_int64 *depth, char **message);

/* NULL is allowed. */
static void chrometrace_depths_close(struct chrometrace_depths *depths);

#endif
