/* bench/side_by_side/rows.h -- Output of the two programs that make rows (spans.c, traces.c): rows go to standard output as
 * CSV, id, ts, dur and track; to standard error goes a line each of one track as an SQL literal, the end of all times, and
 * the times of some rows. */
#ifndef BENCH_SIDE_BY_SIDE_ROWS_H
#define BENCH_SIDE_BY_SIDE_ROWS_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

enum { TIMES = 99 };

static inline void print_row(uint64_t id, int64_t ts, int64_t dur, const char *track)
{
	printf("%" PRIu64 ",%" PRId64 ",%" PRId64 ",%s\n", id, ts, dur, track);
}

static inline void print_times(const char *track, int64_t end, const int64_t times[TIMES])
{
	fprintf(stderr, "%s\n%" PRId64 "\n", track, end);
	for (int i = 0; i < TIMES; i++)
		fprintf(stderr, "%" PRId64 "\n", times[i]);
}

#endif
