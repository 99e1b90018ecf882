/* tests/trace/generated.h -- Trace files that are made while they are read, as large as one likes. */
#ifndef TESTS_TRACE_GENERATED_H
#define TESTS_TRACE_GENERATED_H

#include "trace/trace.h"

enum { GENERATED_PART_BYTES = 2 * 1024 * 1024 };

/* Makes part i of the file, which has n_parts. Returns its bytes, at most GENERATED_PART_BYTES. */
typedef size_t (*generated_part)(uint64_t i, uint64_t n_parts, char *data);

/* Reads all of it: the status, and what the trace says at its end. Nothing is kept. */
struct generated_reading {
	int status;
	char error[900];
	struct trace_counts counts;
	uint64_t n_left_out; /* sum of the report */
};

struct generated_reading generated_read(generated_part part, uint64_t n_parts, const struct trace_options *options);

#endif
