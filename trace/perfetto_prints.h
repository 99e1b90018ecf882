/* trace/perfetto_prints.h -- Prints of a Perfetto trace: text of programs and drivers among kernel events (atrace).
 *
 *     B|PID|NAME                     E|PID or E    begin and end on the thread that prints
 *     I|PID|NAME                                   an instant there
 *     C|PID|NAME|VALUE                             a sample of a counter of the process
 *     S|PID|NAME|COOKIE              F|PID|NAME|COOKIE             an operation of the process
 *     G|PID|TRACK|NAME|COOKIE        H|PID|TRACK|NAME|COOKIE       the same on a track with a name of its own, where they nest
 *     N|PID|TRACK|NAME                             an instant on such a track
 *
 * An S while the same operation is open goes on with it, and an F ends it, as some programs begin an operation again and again.
 *
 * After Perfetto's src/trace_processor/importers/systrace/systrace_parser, in own words.
 */
#ifndef IFOREST_PERFETTO_PRINTS_H
#define IFOREST_PERFETTO_PRINTS_H

#include "trace/perfetto_tasks.h"

/* All zero but for the first four is ready. */
struct trace_perfetto_prints {
	struct trace_assembly *assembly;
	struct trace_perfetto_tracks *tracks;
	struct trace_perfetto_tasks *tasks;
	uint64_t *n_mended; /* texts that are not UTF-8 */
	struct trace_bytes mended;
};

void trace_perfetto_prints_release(struct trace_perfetto_prints *prints);

/* Takes the message PrintFtraceEvent of a thread. One that is not of these is left out.
 * TRACE_OK, TRACE_ERROR_FORMAT, TRACE_ERROR_MEMORY, TRACE_ERROR_LIMIT, or what the assembly answered. O(bytes) expected. */
int trace_perfetto_prints_take(struct trace_perfetto_prints *prints, int64_t tid, int64_t ts_ns, struct trace_text message);

/* True if a field of the message FtraceEvent is a mark of a driver, which says the same in fields. */
bool trace_perfetto_prints_knows(uint32_t number);

/* Takes such a message. As trace_perfetto_prints_take. */
int trace_perfetto_prints_take_mark(struct trace_perfetto_prints *prints, uint32_t number, int64_t tid, int64_t ts_ns,
				    struct trace_text message);

#endif
