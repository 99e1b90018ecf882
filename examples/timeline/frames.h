/* examples/timeline/frames.h -- Queries of a timeline: what is visible of a trace in a window, out of a database.
 *
 * The database is as trace2sqlite makes it; of the tables only spans(id, ts, dur, track, depth, name) and its index must be there. It
 * may be written to meanwhile: frames show what is there, but rows and the length of the trace are those of the start. The rows of
 * a frame are shared out to a thread a processor. Functions may be called by several threads.
 *
 * A frame is for typed arrays of a browser on the same machine, so in its byte order: how many bytes each of the arrays has (u32
 * each, N_ARRAYS of them, an even number), and behind them the arrays as `enum frame_array` lists them.
 *
 * - Of each lane and pixel it has the longest span that covers it, once for all pixels in a row; those wider than NAMED_PIXELS have
 *   the number of their name, the others -1. A span that was never closed has the end Infinity.
 * - Of each track and pixel it has the first instant, with how many there are. On rows without spans those with some room behind
 *   them have a name.
 * - Of each counter it has the pixels in which it changes: the least, the greatest and the last value there.
 *
 * Times are from the base on, so that a double holds nanoseconds exactly for 104 days.
 */
#ifndef TIMELINE_FRAMES_H
#define TIMELINE_FRAMES_H

#include "bytes.h"
#include "database.h"
#include "layout.h"

#include <pthread.h>

enum {
	NAMED_PIXELS = 8,
	NAMED_INSTANT_PIXELS = 60,
	MOST_PIXELS = 16384,
	MOST_READERS = 8,
	MOST_ARROWS = 200,
	MOST_OF_SPAN = 1000,
	SECONDS_TO_OPEN = 120
};

enum frame_array {
	SPAN_STARTS,	/* f64 */
	SPAN_ENDS,	/* f64 */
	SPAN_IDS,	/* f64 */
	INSTANT_TIMES,	/* f64 */
	INSTANT_IDS,	/* f64 */
	SAMPLE_TIMES,	/* f64: when the pixel begins */
	SAMPLE_LEASTS,	/* f64 */
	SAMPLE_MOSTS,	/* f64 */
	SAMPLE_LASTS,	/* f64 */
	SPAN_ROWS,	/* i32 */
	SPAN_NAMES,	/* i32 */
	INSTANT_ROWS,	/* i32 */
	INSTANT_COUNTS, /* i32 */
	INSTANT_NAMES,	/* i32 */
	SAMPLE_ROWS,	/* i32 */
	NAMES,		/* UTF-8, a NUL after each */
	N_ARRAYS
};

/* Rows of a frame are shared out to readers, each with a connection and a thread of its own: one a processor. */
struct reader {
	struct frames *frames;
	sqlite3 *db;
	sqlite3_stmt *spans, *instants, *samples, *span_name, *instant_name;
	struct part *part; /* of the frame at hand */
};

struct frames {
	pthread_mutex_t lock; /* of the connections */
	struct reader readers[MOST_READERS];
	int n_readers;
	struct tables tables;
	struct layout layout;
	int n_seconds; /* that a query may take */
	struct time_limit limit;
	/* of the first reader */
	sqlite3_stmt *span, *instant, *leaving, *arriving, *flow, *flows_of_span, *left_out;
};

/* Opens the database, once for each reader, and reads its rows. Queries may take n_seconds, the opening SECONDS_TO_OPEN. Returns
 * false after it has said on stderr what is wrong; *frames is of no use then. */
bool frames_open(struct frames *frames, const char *path, const char *extension, int n_seconds);

/* Appends the frame of rows [from, to) in [t0, t1), times from the base on, on n pixels (from 1 to MOST_PIXELS) to *out, which
 * the caller frees. Returns NULL, or why there is no frame. */
const char *frames_make(struct frames *frames, int64_t t0, int64_t t1, int64_t n, int from, int to, struct bytes *out);

/* Appends arrows that leave or reach rows [from, to) in [t0, t1), at most MOST_ARROWS and then spread over the window, as JSON to *out:
 * {"arrows": [[id, from_ts, from_row, to_ts, to_row], ...], "all": bool}; a row is -1 where the track has none. */
const char *frames_arrows(struct frames *frames, int64_t t0, int64_t t1, int from, int to, struct bytes *out);

/* The same of the flows that lead from or to a span, at most MOST_OF_SPAN. */
const char *frames_arrows_of_span(struct frames *frames, int64_t id, struct bytes *out);

/* Appends a span, or an instant, as a JSON object to *out, or nothing where there is none. Returns NULL, or what is wrong. */
const char *frames_span(struct frames *frames, int64_t id, struct bytes *out);
const char *frames_instant(struct frames *frames, int64_t id, struct bytes *out);

/* Appends what was left out and mended as a JSON array: [[finding, what, n], ...]. */
const char *frames_left_out(struct frames *frames, struct bytes *out);

#endif
