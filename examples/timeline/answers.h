/* examples/timeline/answers.h -- Answers to what the page asks, whether a server or a worker of the browser carries them.
 *
 *   /trace               {"base": "1700000000000000000", "length": 5000000, "busy": [0, 5000000], "rows": [...], "left_out": [...]} (layout.h, frames.h)
 *   /frame?t0=&t1=&n=&from=&to=   what rows [from, to) show of [t0, t1) on n pixels, times from the base on (frames.h)
 *   /arrows?t0=&t1=&from=&to=     the flows there; with span=ID instead, those of a span
 *   /span?id=            {"name": ..., "ts": ..., "dur": ..., "track": ..., "depth": ...}; /instant?id= the same of an instant
 *   /file                the name of the database's file, as text
 *   /sql?q=&t0=&t1=      the answer to a question (box.h), /stop stops it
 */
#ifndef TIMELINE_ANSWERS_H
#define TIMELINE_ANSWERS_H

#include "box.h"
#include "frames.h"

struct answers {
	struct frames frames;
	struct box box;
	const char *file; /* its name, without folders */
};

/* What is asked: a path, and the value of an argument by its name, which is NULL where there is none. */
struct request {
	const char *path;
	const char *(*argument)(void *context, const char *name);
	void *context;
};

/* An answer: its status as HTTP has it, its type, and its bytes, of which the caller frees `at`. */
struct answer {
	unsigned status;
	const char *type;
	struct bytes body;
};

/* Opens the database of a trace (frames.h), whose path is kept; queries may take n_seconds. Returns false after it has said on stderr what is wrong. */
bool answers_open(struct answers *answers, const char *path, const char *extension, int n_seconds);

/* Answers, with an error if need be. May be called by several threads. */
struct answer answers_get(struct answers *answers, const struct request *request);

/* An answer of text: what is wrong. */
struct answer answers_error(unsigned status, const char *message);

#endif
