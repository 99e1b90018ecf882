/* trace/perfetto_clocks.h -- Clocks of a Perfetto trace, and conversion of times between them.
 *
 * A snapshot has the times of several clocks at one moment. Snapshots of the same set of clocks form a series, in the order of
 * the file. Only inside a series are times compared: writers commit their packets when they like, so that a snapshot of one
 * sequence may stand behind a later one of another sequence.
 *
 *     sequence's clock 64 --+-- MONOTONIC (3) --+-- BOOTTIME (6), the trace's clock
 *       snapshots of a writer      snapshots of the service
 *
 * Clocks that occur together in a snapshot are connected; a time is converted along the shortest path between two clocks, at
 * each step by the latest snapshot of the two at or before it, or else by the first. A snapshot applies from its position in the
 * file on.
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
struct trace_clock_series;

/* Empty if all zero except budget and trace_clock. */
struct trace_perfetto_clocks {
	struct trace_budget *budget;
	uint64_t trace_clock;		     /* to which times are converted */
	struct trace_perfetto_clock *clocks; /* owned */
	size_t n_clocks, n_allocated;
	struct trace_u64_map by_id;
	struct trace_clock_series *series; /* owned */
	size_t n_series, n_series_allocated;
	struct trace_u64_map by_set; /* indexes into series */
	uint64_t n_changes;	     /* changes of connections, after which paths are searched for again */
};

void trace_perfetto_clocks_release(struct trace_perfetto_clocks *clocks);

/* Adds a snapshot. *problem is NULL, or the reason why it was ignored.
 * TRACE_OK, TRACE_ERROR_MEMORY or TRACE_ERROR_LIMIT. O(n log n) amortised, O(n²) for the first of a series. */
int trace_perfetto_clocks_add(struct trace_perfetto_clocks *clocks, const struct trace_clock_reading *readings, size_t n,
			      const char **problem);

/* Converts a timestamp to nanoseconds of its own clock, and advances a clock whose timestamps are differences.
 * Returns TRACE_ROW; TRACE_OK if no snapshot has the clock yet, or the result exceeds int64. */
int trace_perfetto_clocks_take(struct trace_perfetto_clocks *clocks, uint64_t id, uint64_t timestamp, int64_t *time_ns);

/* True if timestamps of this clock are differences: one that was not taken when it came is lost. */
bool trace_perfetto_clocks_is_incremental(const struct trace_perfetto_clocks *clocks, uint64_t id);

/* Converts a clock's time to the trace's clock.
 * Returns: TRACE_ROW; TRACE_OK if there is no path, or the result exceeds int64.
 * Cost:    O(log n) in snapshots; after a change of connections, a search of at most 128 clocks. */
int trace_perfetto_clocks_resolve(struct trace_perfetto_clocks *clocks, uint64_t id, int64_t time_ns, int64_t *ts_ns);

/* Both, one after the other. */
int trace_perfetto_clocks_convert(struct trace_perfetto_clocks *clocks, uint64_t id, uint64_t timestamp, int64_t *ts_ns);

#endif
