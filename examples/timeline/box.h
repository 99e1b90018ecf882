/* examples/timeline/box.h -- The box for SQL: questions that anybody may type, over the same database.
 *
 * A question is one statement that reads: an authorizer refuses all else, and the connection is opened for reading alone. It cannot
 * attach or make a database, load an extension, or read a file: the functions that read traces are not on this connection, and would
 * be refused. It is stopped after some seconds, and its answer is cut at BOX_ROWS, BOX_CELL_BYTES and BOX_ANSWER_BYTES.
 */
#ifndef TIMELINE_BOX_H
#define TIMELINE_BOX_H

#include "bytes.h"
#include "database.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>

enum { BOX_ROWS = 1000, BOX_CELL_BYTES = 10000, BOX_ANSWER_BYTES = 4 << 20, BOX_SQL_BYTES = 20000 };

struct box {
	pthread_mutex_t lock;
	sqlite3 *db;
	int n_seconds; /* that a question may take */
	struct time_limit limit;
};

/* Opens a connection of its own, for questions that take at most n_seconds. Returns false after it has said on stderr what is wrong. */
bool box_open(struct box *box, const char *path, const char *extension, int n_seconds);

/* Answers a question, in which :t0 and :t1 are these, as JSON appended to *out:
 *
 *   {"columns": ["id", ...], "rows": [["it...", "1", "a name", ...], ...], "is_cut": false, "ms": 1.25}
 *
 * The first text of a row has a letter for each column: i(nteger), r(eal), t(ext), b(lob, as X'...'), n(ull). Returns NULL, or an error that
 * is the caller's to free; *out may then hold anything. A second question has to wait for the first. */
char *box_ask(struct box *box, const char *sql, int64_t t0, int64_t t1, struct bytes *out);

/* Stops the question that is being answered, if there is one. */
void box_stop(struct box *box);

#endif
