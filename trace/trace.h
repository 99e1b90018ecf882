/* trace/trace.h -- Trace file of any format that is being read: open, step, close.
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

/* Opens a file, plain or gzip. Its format is told by its content.
 * Requires: nothing is NULL; options and sink are copied.
 * Returns:  TRACE_OK or an error. *trace is a trace also after an error, which then only knows its error; it is NULL only with
 *           TRACE_ERROR_MEMORY. The caller closes it. */
int trace_open(const char *path, const struct trace_options *options, const struct trace_sink *sink, struct trace **trace);

/* The same with bytes that a function gives; name stands in errors instead of a path. */
int trace_open_source(trace_source source, void *context, const char *name, const struct trace_options *options,
		      const struct trace_sink *sink, struct trace **trace);

/* Reads a piece of the file, or hands out a part of what was held back, and calls the sink meanwhile.
 * Returns: TRACE_ROW if there is more to do; TRACE_OK at the end; a negative enum trace_status. The last two are final and
 *          repeat. What came before an error has been handed out, except for spans that wait for other events: those with a begin
 *          and an end of their own, and all with options.complete.
 * Cost:    O(n log n) for all calls together, and O(n) for files whose spans are all written whole. Memory for a piece, for
 *          some copies of the longest event, for tracks and open spans, and 15 MiB for sorting; what is sorted beyond that
 *          goes to a temporary file without a name in $TMPDIR. */
int trace_step(struct trace *trace);

/* One line that names the file, the byte (of the unpacked text) and what is wrong; "out of memory" for a NULL trace; "" if
 * there was no error. Owned by the trace. */
const char *trace_error(const struct trace *trace);

/* The name of the format, such as "Chrome JSON"; "" before it is known. */
const char *trace_format_name(const struct trace *trace);

const struct trace_counts *trace_counts(const struct trace *trace);

/* Line i of the report, or NULL behind the last one. Complete at the end; lines are in the order of first use. */
const struct trace_report_line *trace_report(const struct trace *trace, size_t i);

/* Bytes of the file read so far, packed as they are: for a progress bar. */
uint64_t trace_position(const struct trace *trace);

/* Releases everything. NULL is allowed. */
void trace_close(struct trace *trace);

#endif
