/* trace/perfetto_clocks.h -- Clocks of a Perfetto trace, and conversion of times between them.
 *
 * A snapshot has the times of several clocks at one moment. Clocks that occur together in a snapshot are connected; a time is
 * converted along the shortest path between two clocks, at each step by the latest snapshot of the two at or before it, or else
 * by the first. A snapshot applies from its position in the file on.
 *
 *     sequence's clock 64 --+-- MONOTONIC (3) --+-- BOOTTIME (6), the trace's clock
 *       snapshots of a writer      snapshots of the service
 *
 * After Perfetto's src/trace_processor/util/clock_synchronizer, in own words.
 */
#ifndef IFOREST_PERFETTO_CLOCKS_H
#define IFOREST_PERFETTO_CLOCKS_H

#include "trace/u64_map.h"

enum { TRACE_CLOCK_MONOTONIC = 3, TRACE_CLOCK_BOOTTIME = 6, TRACE_CLOCKS_A_SNAPSHOT = 32 };

/* Returns the id of a clock: numbers 64 to 127 are local to a sequence. */
uint64_t trace_perfetto_clock_id(uint32_t number, uint32_t sequence);

/* A clock in a snapshot. */
struct trace_clock_reading {
	uint64_t id;
	uint64_t timestamp, unit_ns; /* unit_ns = 0 is 1 */
	bool is_incremental;	     /* times of this clock are written as differences to the previous time */
};

struct trace_perfetto_clock;

/* Empty if all zero except budget and trace_clock. */
struct trace_perfetto_clocks {
	struct trace_budget *budget;
	uint64_t trace_clock;		     /* to which times are converted */
	struct trace_perfetto_clock *clocks; /* owned */
	size_t n_clocks, n_allocated;
	struct trace_u64_map by_id;
	uint64_t n_changes; /* changes of connections, after which paths are searched for again */
};

void trace_perfetto_clocks_release(struct trace_perfetto_clocks *clocks);

/* Adds a snapshot. *problem is NULL, or the reason why it was ignored.
 * TRACE_OK, TRACE_ERROR_MEMORY or TRACE_ERROR_LIMIT. O(n²) amortised. */
int trace_perfetto_clocks_add(struct trace_perfetto_clocks *clocks, const struct trace_clock_reading *readings, size_t n,
			      const char **problem);

/* Converts a time to the trace's clock; a time of an incremental clock advances that clock.
 * Returns: TRACE_ROW; TRACE_OK if there is no path, or the result exceeds int64; TRACE_ERROR_MEMORY or
 * TRACE_ERROR_LIMIT.
 * Cost:    O(log n) in snapshots; after a change of connections, a search of at most 128 clocks. */
int trace_perfetto_clocks_convert(struct trace_perfetto_clocks *clocks, uint64_t id, uint64_t timestamp, int64_t *ts_ns);

#endif
