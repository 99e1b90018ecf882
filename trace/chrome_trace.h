/* trace/chrome_trace.h -- Reader of Chrome's trace event format: spans and counter samples in one pass over the file.
 *
 *     struct trace_reader *reader;
 *     struct trace_event event;
 *     int status = trace_reader_open("trace.json.gz", &(struct trace_options){.spans = true}, &reader);
 *     while (status >= 0 && (status = trace_reader_next(reader, &event)) == TRACE_ROW)
 *         use(event.ts_ns, event.dur_ns, event.track);
 *     if (status < 0)
 *         complain(trace_reader_error(reader));
 *     trace_reader_close(reader);
 *
 * What is read: an object with an array "traceEvents", or a bare array of events; plain or gzip. An array that is
 * not closed gives the events that are complete. Events outside that array are not events.
 *
 * Span:    an event of phase X with a numeric duration, or a pair of phases B and E. E closes the latest open B of its
 *          (pid, tid) in file order, whatever its name. What finds no partner, and X without duration, is counted in
 *          the statistics and left out.
 * Counter: each numeric argument of an event of phase C (numbers in strings too).
 * Times:   the file's microseconds as integer nanoseconds, rounded half to even, from the digits and never through
 *          a double. An event without numeric ts is left out and counted.
 * Order:   that in which the events become complete in the file: a B/E pair stands at its E.
 *
 * Memory: one piece of the file (64 KiB), the events complete in it, a few copies of the longest event that must be
 * kept, and the B events that are open. It does not grow with the file.
 */
#ifndef IFOREST_CHROME_TRACE_H
#define IFOREST_CHROME_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/bytes.h"
#include "trace/status.h"

struct trace_options {
	bool spans;	    /* hand out spans */
	bool counters;	    /* hand out counter samples */
	bool args;	    /* with spans: their arguments too; otherwise these are skipped and never kept */
	size_t piece_bytes; /* how much of the file is parsed at a time; 0 is 64 KiB. Does not change any answer */
};

enum trace_kind { TRACE_SPAN, TRACE_COUNTER };

/* Texts are UTF-8 as far as the file is. Those that the event does not have are empty; where "or NULL" is said, their
 * data is NULL instead. */
struct trace_event {
	enum trace_kind kind;
	int64_t ts_ns;
	int64_t dur_ns;		    /* span: may be negative if the file says so */
	double value;		    /* counter */
	struct trace_text track;    /* "pid/tid" */
	struct trace_text pid, tid; /* numbers and strings alike as they are written; they lie inside track */
	struct trace_text name;
	struct trace_text category; /* span: or NULL */
	struct trace_text args;	    /* span: JSON as it is written, or NULL where absent or not asked for */
	struct trace_text id;	    /* counter: or NULL */
	struct trace_text key;	    /* counter: the argument's name */
};

/* Counts so far; complete when the reader has answered TRACE_OK. */
struct trace_statistics {
	uint64_t n_events;	     /* objects in the array of events, of any phase */
	uint64_t n_complete_spans;   /* phase X */
	uint64_t n_matched_spans;    /* phases B and E */
	uint64_t n_without_duration; /* X left out */
	uint64_t n_without_time;     /* X, B, E or C left out */
	uint64_t n_unmatched_begin;  /* B that are open */
	uint64_t n_unmatched_end;    /* E left out */
	uint64_t n_counter_events;   /* phase C, if counters are asked for */
	bool truncated;		     /* the file ends before its array of events does */
};

struct trace_reader;

/* Opens a trace.
 * Requires: path and options are not NULL; options are copied.
 * Returns:  TRACE_OK or an error of opening the file. *reader is a reader also after an error, which then only knows
 *           its error; it is NULL only with TRACE_ERROR_MEMORY. The caller closes it. */
int trace_reader_open(const char *path, const struct trace_options *options, struct trace_reader **reader);

/* The next event.
 * Returns:  TRACE_ROW with *event filled; TRACE_OK at the end; a negative enum trace_status. The last two are final and
 *           repeat. Events that were complete before an error are handed out before it.
 * Ownership: the texts of *event belong to the reader until its next call or its closing.
 * Complexity: O(bytes of the file) for all calls together. */
int trace_reader_next(struct trace_reader *reader, struct trace_event *event);

/* One line that names the file, the byte (of the unpacked text) and what is wrong; "out of memory" for a NULL reader;
 * "" if there was no error. Owned by the reader. */
const char *trace_reader_error(const struct trace_reader *reader);

const struct trace_statistics *trace_reader_statistics(const struct trace_reader *reader);

/* Bytes of the file read so far, packed as they are: for a progress bar. */
uint64_t trace_reader_position(const struct trace_reader *reader);

/* Releases everything. NULL is allowed. */
void trace_reader_close(struct trace_reader *reader);

#endif
