/* bench/memory/part_states.c -- Gain of padding states to a power of two, and its cost where they no longer fit a cache. */
#include "memory.h"

#include <stdio.h>

struct layout { unsigned state_bytes, stride_bytes; };

static const struct layout layouts[] = { { 16, 16 }, { 24, 24 }, { 24, 32 }, { 32, 32 }, { 48, 48 }, { 48, 64 } };
static const struct { const char *name; bool waits; unsigned distance; } ways[] = {
	{ "waiting", true, 0 }, { "prefetched 16 ahead", true, 16 }, { "overlapping", false, 0 },
};
enum { N_LAYOUTS = sizeof layouts / sizeof *layouts, N_WAYS = sizeof ways / sizeof *ways, N_SIZES = 2 };

static void measure_layout(const struct layout *layout, uint64_t n_states, double median_ns[N_WAYS])
{
	struct reads reads = { .n_states = n_states, .state_bytes = layout->state_bytes, .stride_bytes = layout->stride_bytes };
	size_t n_bytes = n_states * layout->stride_bytes;
	struct memory memory = memory_map(n_bytes, HUGE_PAGES);
	char what[96];

	reads_fill(&memory, &reads);
	for (int w = 0; w < N_WAYS; w++) {
		struct figures figures;

		reads.waits = ways[w].waits;
		reads.distance = ways[w].distance;
		figures = reads_measure(&memory, &reads);
		median_ns[w] = figures.median;
		snprintf(what, sizeof what, "%u bytes every %u; %s", layout->state_bytes, layout->stride_bytes, ways[w].name);
		csv_row("states", what, n_bytes, HUGE_PAGES, (double)memory_huge_bytes(&memory) / (double)n_bytes, 1, &figures,
			"ns");
	}
	memory_unmap(&memory);
}

void part_states(void)
{
	const uint64_t n_states[N_SIZES] = { (uint64_t)1 << 18, settings.out_of_cache_bytes / 64 };
	double median_ns[N_SIZES][N_LAYOUTS][N_WAYS];

	for (int s = 0; s < N_SIZES; s++)
		for (int l = 0; l < N_LAYOUTS; l++)
			measure_layout(&layouts[l], n_states[s], median_ns[s][l]);
	printf("\nstates: ns a random read of a whole state, huge pages, a number of states that caches hold, and one they do "
	       "not\n");
	for (int s = 0; s < N_SIZES; s++) {
		printf("%-16s %12s", "", "memory");
		for (int w = 0; w < N_WAYS; w++)
			printf(" %20s", ways[w].name);
		printf("     (%llu states)\n", (unsigned long long)n_states[s]);
		for (int l = 0; l < N_LAYOUTS; l++) {
			char text[16];

			printf("%2u bytes in %2u   %12s", layouts[l].state_bytes, layouts[l].stride_bytes,
			       bytes_text(n_states[s] * layouts[l].stride_bytes, text));
			for (int w = 0; w < N_WAYS; w++)
				printf(" %20.1f", median_ns[s][l][w]);
			printf("\n");
		}
	}
}
