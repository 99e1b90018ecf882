/* trace/perfetto_clocks.h -- Clocks of a Perfetto trace, and conversion of times between them.
 *
 * A snapshot says what several clocks showed at one moment. Clocks that occur together in a snapshot are joined; a time is
 * converted along the shortest way between two clocks, on each step by the latest snapshot of the two at or before it, or by
 * the first one. Snapshots count from where the file has them.
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

/* What names a clock: numbers 64 to 127 belong to a sequence. */
uint64_t trace_perfetto_clock_id(uint32_t number, uint32_t sequence);

/* A clock in a snapshot. */
struct trace_clock_reading {
	uint64_t id;
	uint64_t timestamp, unit_ns; /* unit_ns = 0 is 1 */
	bool is_incremental;	     /* times of this clock are written as differences, each to the one before */
};

struct trace_perfetto_clock;

/* All zero but for budget and trace_clock is empty. */
struct trace_perfetto_clocks {
	struct trace_budget *budget;
	uint64_t trace_clock;		     /* to which times are converted */
	struct trace_perfetto_clock *clocks; /* owned */
	size_t n_clocks, n_allocated;
	struct trace_u64_map by_id;
	uint64_t n_changes; /* of how clocks are joined: a way that was found before is looked for anew */
};

void trace_perfetto_clocks_release(struct trace_perfetto_clocks *clocks);

/* Adds a snapshot. *problem is NULL, or says why it is not to be believed and was ignored.
 * TRACE_OK, TRACE_ERROR_MEMORY or TRACE_ERROR_LIMIT. O(n²) amortised. */
int trace_perfetto_clocks_add(struct trace_perfetto_clocks *clocks, const struct trace_clock_reading *readings, size_t n,
			      const char **problem);

/* Converts a time to the trace's clock; a time of an incremental clock moves this clock on.
 * Returns: TRACE_ROW; TRACE_OK if there is no way, or none that fits into 64 bits; TRACE_ERROR_MEMORY or TRACE_ERROR_LIMIT.
 * Cost:    O(log n) in snapshots; after a change of how clocks are joined, a search that looks at 128 clocks at most. */
int trace_perfetto_clocks_convert(struct trace_perfetto_clocks *clocks, uint64_t id, uint64_t timestamp, int64_t *ts_ns);

#endif
