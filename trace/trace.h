/* trace/trace.h -- Reader of a trace file of any format: open, step, close.
 *
 *     struct trace *trace;
 *     int status = trace_open("trace.json.gz", &options, &sink, &trace);
 *     while (status >= 0 && (status = trace_step(trace)) == TRACE_ROW)
 *         ;
 *     if (status < 0)
 *         complain(trace_error(trace));
 *     trace_close(trace);
 */
#ifndef IFOREST_TRACE_H
#define IFOREST_TRACE_H

#include "trace/input.h"
#include "trace/model.h"

struct trace;

/* Opens a file, plain or gzip. Its format is recognised by its content.
 * Requires: nothing is NULL; options and sink are copied.
 * Returns:  TRACE_OK or an error. After an error *trace can only report the error; it is NULL only with TRACE_ERROR_MEMORY. The
 *           caller closes it. */
int trace_open(const char *path, const struct trace_options *options, const struct trace_sink *sink, struct trace **trace);

/* The same for bytes from a function; error messages have `name` in place of the path. */
int trace_open_source(trace_source source, void *context, const char *name, const struct trace_options *options,
		      const struct trace_sink *sink, struct trace **trace);

/* Reads a piece of the file, or processes some of the pending data, and calls the sink.
 * Returns: TRACE_ROW if there is more to do; TRACE_OK at the end; a negative enum trace_status. The last two are final and are
 * returned again. All that precedes an error has been passed to the sink, except spans that wait for other events: those with
 * separate begin and end, and all spans with options.complete.
 * Cost:    O(n log n) for all calls together, O(n) for files with only complete spans. Memory for a piece, for some copies of
 *          the longest event, for tracks and open spans, and 15 MiB for sorting; larger sorts use an unnamed temporary file in
 *          $TMPDIR. */
int trace_step(struct trace *trace);

/* Returns one line with the file, the byte (of the uncompressed text) and the error; "out of memory" for a NULL trace; "" if
 * there was no error. Owned by the trace. */
const char *trace_error(const struct trace *trace);

/* Returns the name of the format, such as "Chrome JSON"; "" before it is known. */
const char *trace_format_name(const struct trace *trace);

const struct trace_counts *trace_counts(const struct trace *trace);

/* Returns line i of the report, or NULL after the last. Complete at the end; lines are in order of first use. */
const struct trace_report_line *trace_report(const struct trace *trace, size_t i);

/* Returns what part was left out. Complete at the end. */
struct trace_share trace_left_out(const struct trace *trace);

/* True if that is a notable part, which a user must be told first: one in twenty. */
bool trace_share_is_notable(const struct trace_share *share);

/* Returns the number of bytes read from the file so far, before decompression: for a progress bar. */
uint64_t trace_position(const struct trace *trace);

/* Releases everything. NULL is allowed. */
void trace_close(struct trace *trace);

#endif
