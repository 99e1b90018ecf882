/* bench/memory/part_latency.c -- Cost of a load that has to wait for the one before, by working set and pages. */
#include "memory.h"

#include <stdio.h>

enum { MOST_SIZES = 48, SMALLEST_BYTES = 16 * 1024 };

struct latency {
	struct figures figures;
	double huge_share;
};

static int measure_sizes(enum pages pages, struct latency *latencies)
{
	struct memory memory = memory_map(settings.largest_bytes, pages);
	int n = 0;

	for (size_t n_bytes = SMALLEST_BYTES; n_bytes <= settings.largest_bytes && n < MOST_SIZES; n_bytes *= 2, n++) {
		struct cycle cycle = cycle_make(&memory, n_bytes);
		size_t n_huge = memory_huge_bytes(&memory);

		latencies[n].figures = cycle_measure(&cycle, 1, 1);
		latencies[n].huge_share = n_huge < n_bytes ? (double)n_huge / (double)n_bytes : 1;
		csv_row("latency", "a dependent load", n_bytes, pages, latencies[n].huge_share, 1, &latencies[n].figures, "ns");
	}
	memory_unmap(&memory);
	return n;
}

void part_latency(void)
{
	struct latency latencies[N_PAGES][MOST_SIZES];
	size_t n_bytes = SMALLEST_BYTES;
	int n_sizes = 0;
	char text[16];

	for (enum pages p = SMALL_PAGES; p < N_PAGES; p++)
		n_sizes = measure_sizes(p, latencies[p]);
	printf("\nlatency: ns a load, each waiting for the one before, one a cache line, in random order\n");
	printf("%-16s %12s %12s %20s\n", "working set", "4 KiB pages", "huge pages", "really in huge pages");
	for (int s = 0; s < n_sizes; s++, n_bytes *= 2)
		printf("%-16s %12.1f %12.1f %9.0f %% / %3.0f %%\n", bytes_text(n_bytes, text),
		       latencies[SMALL_PAGES][s].figures.median, latencies[HUGE_PAGES][s].figures.median,
		       100 * latencies[SMALL_PAGES][s].huge_share, 100 * latencies[HUGE_PAGES][s].huge_share);
}
