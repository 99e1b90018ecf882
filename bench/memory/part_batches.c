/* bench/memory/part_batches.c -- Gain of many loads at once: independent chases, prefetching, and a second thread. */
#include "memory.h"

#include <stdio.h>

static const int widths[] = { 1, 2, 4, 8, 16, 32 };
static const unsigned distances[] = { 0, 4, 8, 16, 32 };
enum { N_WIDTHS = sizeof widths / sizeof *widths, N_DISTANCES = sizeof distances / sizeof *distances };

static double share_of_huge(const struct memory *memory)
{
	return (double)memory_huge_bytes(memory) / (double)memory->n_bytes;
}

/* ---- independent chases ---- */

static void measure_widths(enum pages pages, double median_ns[N_WIDTHS][MOST_THREADS])
{
	struct memory memory = memory_map(settings.out_of_cache_bytes, pages);
	struct cycle cycle = cycle_make(&memory, memory.n_bytes);
	char what[64];

	for (int w = 0; w < N_WIDTHS; w++)
		for (int t = 0; t < settings.n_threads; t++) {
			struct figures figures = cycle_measure(&cycle, widths[w], t + 1);

			median_ns[w][t] = figures.median;
			snprintf(what, sizeof what, "%d chases a thread", widths[w]);
			csv_row("width", what, memory.n_bytes, pages, share_of_huge(&memory), t + 1, &figures, "ns");
		}
	memory_unmap(&memory);
}

void part_width(void)
{
	double median_ns[N_PAGES][N_WIDTHS][MOST_THREADS];
	char text[16];

	for (enum pages p = SMALL_PAGES; p < N_PAGES; p++)
		measure_widths(p, median_ns[p]);
	printf("\nwidth: ns a load, of so many independent chases at once in each thread, through %s\n",
	       bytes_text(settings.out_of_cache_bytes, text));
	printf("(two threads: of all loads together, so half is twice as fast)\n");
	printf("%-16s %24s %24s\n", "chases a thread", "one thread: 4 KiB, huge",
	       settings.n_threads > 1 ? "two threads: 4 KiB, huge" : "");
	for (int w = 0; w < N_WIDTHS; w++) {
		printf("%-16d", widths[w]);
		for (int t = 0; t < settings.n_threads; t++)
			printf(" %15.1f %8.1f", median_ns[SMALL_PAGES][w][t], median_ns[HUGE_PAGES][w][t]);
		printf("\n");
	}
}

/* ---- prefetching ---- */

static void measure_distances(enum pages pages, double median_ns[N_DISTANCES][2])
{
	struct memory memory = memory_map(settings.out_of_cache_bytes, pages);
	struct reads reads = { .n_states = memory.n_bytes / LINE_BYTES, .state_bytes = 8, .stride_bytes = LINE_BYTES };
	char what[64];

	reads_fill(&memory, &reads);
	for (int d = 0; d < N_DISTANCES; d++)
		for (int waits = 0; waits < 2; waits++) {
			struct figures figures;

			reads.distance = distances[d];
			reads.waits = waits;
			figures = reads_measure(&memory, &reads);
			median_ns[d][waits] = figures.median;
			snprintf(what, sizeof what, "%s; prefetched %u ahead", waits ? "waiting" : "overlapping", distances[d]);
			csv_row("prefetch", what, memory.n_bytes, pages, share_of_huge(&memory), 1, &figures, "ns");
		}
	memory_unmap(&memory);
}

void part_prefetch(void)
{
	double median_ns[N_PAGES][N_DISTANCES][2];
	char text[16];

	for (enum pages p = SMALL_PAGES; p < N_PAGES; p++)
		measure_distances(p, median_ns[p]);
	printf("\nprefetch: ns a read of a line whose place is in an array, prefetched so many reads ahead, in %s\n",
	       bytes_text(settings.out_of_cache_bytes, text));
	printf("%-16s %24s %24s\n", "reads ahead", "waiting: 4 KiB, huge", "overlapping: 4 KiB, huge");
	for (int d = 0; d < N_DISTANCES; d++) {
		printf("%-16u", distances[d]);
		for (int waits = 1; waits >= 0; waits--)
			printf(" %15.1f %8.1f", median_ns[SMALL_PAGES][d][waits], median_ns[HUGE_PAGES][d][waits]);
		printf("\n");
	}
}
