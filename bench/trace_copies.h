/* bench/trace_copies.h -- Files of any length that are copies of a recorded trace, one behind the other in time. */
#ifndef BENCH_TRACE_COPIES_H
#define BENCH_TRACE_COPIES_H

#include <stddef.h>
#include <stdint.h>

/* A trace in memory, unpacked. */
struct recorded_trace {
	char *data;
	size_t n_bytes;
	char format[40]; /* as trace_format_name() has it */
	uint64_t n_spans;
	int64_t length_ns; /* from the first start to the last end */
};

/* Reads a trace, plain or gzip. Ends the program if it is none. */
struct recorded_trace recorded_trace_read(const char *path);

/* The text; what else is known of it stays. */
void recorded_trace_release(struct recorded_trace *recorded);

/* Writes copies until the file has n_bytes, and answers how many there are. Of Chrome JSON the events are copied, and not what is
 * around them. Times in Perfetto's traces have to be absolute. */
uint64_t trace_copies_write(const struct recorded_trace *recorded, uint64_t n_bytes, const char *path);

#endif
