/* examples/timeline/frames.h -- Queries of a timeline: what is visible of a trace in a window, out of a database.
 *
 * The database holds spans(id, ts_ns, dur_ns, track, depth, name), the index spans_if by=(track, depth) and spans_overlap over
 * it, as timeline.sh makes them. It may be written to meanwhile: frames show what is there, but lanes and the length of the
 * trace are those of the start. The lanes of a frame are shared out to a thread a processor.
 *
 * A frame is for typed arrays of a browser on the same machine, so in its byte order:
 *
 *   u32 n_spans | u32 bytes of names | f64 start[n] | f64 end[n] | f64 id[n] | i32 lane[n] | i32 name[n] | names, a NUL after
 *   each
 *
 * Of each lane and pixel it has the longest span that covers it, once for all pixels in a row; those wider than NAMED_PIXELS
 * have the number of their name, the others -1. Times are from the base on, so that a double holds nanoseconds exactly for 104
 * days.
 */
#ifndef TIMELINE_FRAMES_H
#define TIMELINE_FRAMES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

enum { NAMED_PIXELS = 8, MOST_PIXELS = 16384, MOST_READERS = 8, LONGEST_WAIT_MS = 10000 };

struct lane {
	char *track;
	int64_t depth;
};

/* Lanes of a frame are shared out to readers, each with a connection and a thread of its own: one a processor. */
struct reader {
	struct frames *frames;
	sqlite3 *db;
	sqlite3_stmt *frame, *name;
	struct part *part;             /* of the frame at hand */
};

struct frames {
	struct reader readers[MOST_READERS];
	int n_readers;
	sqlite3_stmt *span;            /* of the first reader, as the lanes are */
	int64_t base, length;
	struct lane *lanes;
	int n_lanes;
};

/* Bytes that grow; without memory they stay as they are, and `failed` says so. */
struct bytes {
	unsigned char *at;
	size_t n, n_reserved;
	bool failed;
};

void bytes_append(struct bytes *bytes, const void *from, size_t n);

/* Opens the database, once for each reader, with the extension, and reads its lanes. Returns false after it has said on stderr
 * what is wrong; *frames is of no use then. */
bool frames_open(struct frames *frames, const char *path, const char *extension);

/* Appends the frame of lanes [from, to) in [t0, t1), times from the base on, on n pixels (from 1 to MOST_PIXELS) to *out, which
 * the caller frees. Returns NULL, or why there is no frame. */
const char *frames_make(struct frames *frames, int64_t t0, int64_t t1, int64_t n, int from, int to, struct bytes *out);

/* Appends a span as a JSON object to *out, or nothing where there is none. Returns NULL, or what is wrong. */
const char *frames_span(struct frames *frames, int64_t id, struct bytes *out);

#endif
