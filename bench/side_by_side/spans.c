/* bench/side_by_side/spans.c -- Random rows that all systems load (rows.h), times in nanoseconds.
 *
 *   spans ROWS LATE PREFIX          LATE in 1000 rows are of up to 20 000 rows before; tracks are PREFIX and a number
 *   spans ROWS LATE PREFIX times    only what goes to standard error
 *
 * Gaps and durations are those of bench/forest/events.h; 32 tracks are interleaved. The same arguments give the same bytes.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "bench/forest/events.h"
#include "bench/side_by_side/rows.h"

enum { TRACKS = 32, LATEST_ROWS = 20000, KEPT = 32768 };

/* One of the rows whose times are printed. */
struct place {
	uint64_t row;
	int i;
};

static int compare_places(const void *a, const void *b)
{
	uint64_t x = ((const struct place *)a)->row, y = ((const struct place *)b)->row;

	return (x > y) - (x < y);
}

static void make_rows(uint64_t n, uint64_t late, const char *prefix, bool only_times)
{
	static int64_t latest[KEPT]; /* times of the events before */
	struct event_source source = ALL_EVENTS;
	struct place places[TIMES];
	int64_t times[TIMES];
	uint64_t state = 2;
	int next = 0;
	char track[64];

	for (int i = 0; i < TIMES; i++)
		places[i] = (struct place){ random_below(&state, n), i };
	qsort(places, TIMES, sizeof *places, compare_places);
	for (uint64_t i = 0; i < n; i++) {
		struct event event = next_event(&source);
		uint64_t back = random_below(&state, 1000) < late ? random_below(&state, LATEST_ROWS) : 0;

		latest[i % KEPT] = event.time_ns;
		for (; next < TIMES && places[next].row == i; next++)
			times[places[next].i] = event.time_ns;
		if (only_times)
			continue;
		snprintf(track, sizeof track, "%s%u", prefix, event.name % TRACKS);
		print_row(i + 1, latest[(i - (back < i ? back : i)) % KEPT], event.duration_ns, track);
	}
	snprintf(track, sizeof track, *prefix ? "'%s7'" : "%s7", prefix);
	print_times(track, source.time_ns + 1, times);
}

int main(int argc, char **argv)
{
	uint64_t n = argc >= 4 ? strtoull(argv[1], NULL, 10) : 0;

	if (n == 0) {
		fprintf(stderr, "usage: spans ROWS LATE PREFIX [times]\n");
		return 1;
	}
	make_rows(n, strtoull(argv[2], NULL, 10), argv[3], argc > 4);
	return fflush(stdout) != 0;
}
