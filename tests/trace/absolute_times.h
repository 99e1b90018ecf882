/* tests/trace/absolute_times.h -- A Perfetto trace rewritten so that each packet has the absolute time of the trace's clock.
 *
 *     snapshots, differences, clocks of sequences, µs since a reference    ->    one clock, nanoseconds
 *
 * The reader of the trace must give the same of both forms. Here nothing of the reader is used: messages are walked byte by byte,
 * and a time is converted by trying all snapshots.
 */
#ifndef TESTS_TRACE_ABSOLUTE_TIMES_H
#define TESTS_TRACE_ABSOLUTE_TIMES_H

#include "tests/support/protobuf_writer.h"

struct rewritten {
	struct protobuf trace;
	size_t n_sequences;   /* with times */
	size_t n_relative;    /* packets whose time was a difference, or in another clock */
	size_t n_waited;      /* packets whose clock only a later snapshot connects */
	size_t n_unresolved;  /* packets whose clock cannot be converted; they are as they were */
};

void absolute_times(const uint8_t *bytes, size_t n_bytes, struct rewritten *rewritten);

#endif
