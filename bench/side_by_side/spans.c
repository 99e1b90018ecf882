/* spans.c -- the rows that all systems load, as CSV: id, ts and dur in nanoseconds, track.
 *
 *   spans ROWS LATE >FILE      LATE in 1000 rows are of up to 20 000 rows before; to standard error goes the end of all
 *                              times, and the times of some rows
 *
 * Gaps and durations are those of bench/forest/events.h; 32 tracks are interleaved. The same arguments give the same bytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/forest/events.h"

enum { TRACKS = 32, LATEST_ROWS = 20000, TIMES = 99 };

int main(int argc, char **argv)
{
	uint64_t n = argc == 3 ? strtoull(argv[1], NULL, 10) : 0, late = argc == 3 ? strtoull(argv[2], NULL, 10) : 0, state = 2;
	struct event *events = n > 0 ? malloc(n * sizeof *events) : NULL;

	if (!events) {
		fprintf(stderr, "usage: spans ROWS LATE (and memory for them)\n");
		return 1;
	}
	make_events(events, n);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t back = random_below(&state, 1000) < late ? random_below(&state, LATEST_ROWS) : 0;
		int64_t ts = events[i - (back < i ? back : i)].time_ns;

		printf("%" PRIu64 ",%" PRId64 ",%" PRIu32 ",track %u\n", i + 1, ts, events[i].duration_ns,
		       events[i].name % TRACKS);
	}
	fprintf(stderr, "%" PRId64 "\n", events[n - 1].time_ns + 1);
	for (int i = 0; i < TIMES; i++)
		fprintf(stderr, "%" PRId64 "\n", events[random_below(&state, n)].time_ns);
	free(events);
	return fflush(stdout) != 0;
}
