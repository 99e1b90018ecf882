/* bench/scale_model.c -- Model of indexes that nobody has at hand, of 10^6 to 10^12 spans and 1 to 10^7 series: pages, levels, what questions
 * read, runs, merges, manifest, memory; checked against measured indexes.
 *
 *   scale_model ENTRIES_BY_TIME ENTRIES_BY_SERIES [ROWS:SERIES:LEAVES:NODES:PAGES]...
 *
 * Entries of a leaf page are measured, of indexes in SQLite of one value column with the latest end, by time alone and by series; for
 * PostgreSQL's pages they are scaled. What follows are measured indexes in SQLite, of one run: leaf pages, node pages, and pages of SQLite that
 * the first question of a connection reads, 1920 buckets of all time. bench/scale.sh gives them.
 *
 * Layout (core/run/layout.h) and the choice of merges (core/run/compact.h) are core's own functions. Assumed are:
 *   - Rows come in the order of time, so many a flush that a table has at most MOST_FLUSHES of them; what smaller flushes add is a tier of
 *     merges for each factor of the fan-in. Merges happen as soon as the policy wants them.
 *   - Ends of buckets are as far from each other in the index as in time, and no two cut the same leaf page unless they must.
 *   - Above the pages of an index SQLite has a b-tree with INTERIOR_FANOUT pages under each of its own, and a connection reads
 *     OPENING_PAGES before its first question is answered.
 *   - "Warm": node pages above the lowest are in memory, which are a thousandth of an index.
 *   - A series is SERIES_BYTES in memory; a run CURSOR_BYTES while it is merged.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/run/layout.h"
#include "tests/support/merge_simulation.h"

enum { RUN_FIELDS = 32, PAGE_HEADER = 32, N_BUCKETS = 1920, ROWS_A_FLUSH = 100000, MOST_FLUSHES = 20000 };
enum { SERIES_BYTES = 65, CURSOR_BYTES = 20000, INTERIOR_FANOUT = 340, OPENING_PAGES = 16 };

struct engine {
	const char *name;
	uint32_t page_bytes, stored_bytes; /* of content; of a page in the file */
	uint32_t node_bytes;		   /* of one value column with the latest end; in PostgreSQL with heap blocks */
	uint64_t cap_pages;
	double entries_a_leaf; /* of the index in question */
	uint64_t most_pages, most_runs; /* what the format allows: of one run or file, and runs, of which more are refused or merged to one */
};

static struct engine engines[] = {
	{ "SQLite", 4000, 4096, 132, 262144, 0, UINT32_MAX, 4096 },
	/* 32 blocks of a manifest, of which three quarters may be full; 2^32 - 2 blocks of a relation */
	{ "PostgreSQL", 8152, 8192, 140, 131072, 0, UINT32_MAX - 1, 32 * 8152 / (RUN_FIELDS + 140) * 3 / 4 },
};

static uint64_t fanout_of(const struct engine *engine)
{
	return (engine->page_bytes - PAGE_HEADER) / engine->node_bytes;
}

/* Leaf pages of an index in one run. */
static uint64_t leaves_of(const struct engine *engine, double n_rows)
{
	return (uint64_t)ceil(n_rows / engine->entries_a_leaf);
}

/* Pages on the paths from the top to so many leaf pages, evenly spaced; from a level on. */
static uint64_t pages_of_cuts(uint64_t n_leaves, uint64_t fanout, double n_cuts, unsigned from, unsigned below)
{
	uint64_t n = 0;

	for (unsigned level = from; level < below; level++) {
		double n_pages = (double)iforest_pages_at(n_leaves, level, fanout);

		n += (uint64_t)(n_cuts < n_pages ? n_cuts : n_pages);
	}
	return n;
}

struct merges {
	double written; /* times each row is written */
	uint32_t n_most_runs, n_runs;
	uint64_t n_largest; /* pages of the largest merge */
};

static struct merges simulate(const struct engine *engine, double n_rows, uint64_t cap_pages)
{
	struct merge_simulation *s = calloc(1, sizeof *s);
	double n_flushes = n_rows / ROWS_A_FLUSH < MOST_FLUSHES ? ceil(n_rows / ROWS_A_FLUSH) : MOST_FLUSHES;
	double n_rows_flushed = n_rows / n_flushes;
	struct merges merges;

	if (!s)
		abort();
	s->settings = (struct iforest_merge_settings){ .fan_in = IFOREST_USUAL_FAN_IN, .cap_pages = cap_pages };
	for (int64_t f = 0; f < (int64_t)n_flushes; f++)
		merge_simulation_flush(s, &(struct iforest_merge_candidate){ .n_pages = leaves_of(engine, n_rows_flushed),
									     .n_rows = (uint64_t)n_rows_flushed,
									     .low = 2 * f,
									     .high = 2 * f + 1 });
	merges = (struct merges){ .written = (double)(s->n_flushed + s->n_merged) / (double)s->n_flushed,
				  .n_most_runs = s->n_most_runs,
				  .n_runs = s->n_runs,
				  .n_largest = s->n_largest_merge };
	if (n_rows_flushed > ROWS_A_FLUSH)
		merges.written += log(n_rows_flushed / ROWS_A_FLUSH) / log(IFOREST_USUAL_FAN_IN);
	free(s);
	return merges;
}

static const char *bytes_text(double bytes, char *to)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB", "PB" };
	unsigned unit = 0;

	for (; bytes >= 1000 && unit < 5; unit++)
		bytes /= 1000;
	sprintf(to, "%.3g %s", bytes, units[unit]);
	return to;
}

static void print_rows(const struct engine *engine)
{
	uint64_t fanout = fanout_of(engine);

	printf("\n%s, one series: pages of %u bytes, %.0f entries a leaf page, fan-out %" PRIu64 "\n\n", engine->name,
	       engine->stored_bytes, engine->entries_a_leaf, fanout);
	printf("| rows | leaf pages | levels of nodes | a window, cold; warm | 1920 buckets, cold | bytes | times a row is written | runs | manifest | largest merge | memory of merging |\n"
	       "|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (int power = 6; power <= 12; power++) {
		double n_rows = pow(10, power);
		uint64_t n_leaves = leaves_of(engine, n_rows), n_pages = iforest_pages_total(n_leaves, fanout);
		unsigned n_levels = iforest_node_levels(n_leaves, fanout);
		struct merges merges = simulate(engine, n_rows, engine->cap_pages);
		char size[32], manifest[32], largest[32], memory[32];

		printf("| 10^%d | %" PRIu64 " | %u | %" PRIu64 "; %" PRIu64 " | %" PRIu64 " | %s | %.1f | %u%s | %s | %s | %s |\n", power, n_leaves,
		       n_levels, pages_of_cuts(n_leaves, fanout, 2, 0, n_levels + 1), pages_of_cuts(n_leaves, fanout, 2, 0, 2),
		       pages_of_cuts(n_leaves, fanout, N_BUCKETS + 1, 0, n_levels + 1),
		       bytes_text((double)n_pages * engine->stored_bytes, size), merges.written, merges.n_runs,
		       merges.n_most_runs > engine->most_runs ? " (!)" : "",
		       bytes_text(28.0 + 20 + merges.n_runs * (double)(RUN_FIELDS + engine->node_bytes), manifest),
		       bytes_text((double)merges.n_largest * engine->stored_bytes, largest),
		       bytes_text(CURSOR_BYTES * (IFOREST_USUAL_FAN_IN + 1.0), memory));
		if (n_pages > engine->most_pages)
			printf("  more pages than the format allows in one run: %" PRIu64 "\n", engine->most_pages);
	}
}

/* Every series has as many rows. */
static void print_series(const struct engine *engine, double n_rows)
{
	uint64_t fanout = fanout_of(engine), n_leaves = leaves_of(engine, n_rows);
	unsigned n_levels = iforest_node_levels(n_leaves, fanout);

	printf("\n%s, %.0e rows of many series, by series, in one run\n\n"
	       "| series | rows a series | a window of one, cold | a window of each, cold | 1920 buckets of 16, cold | memory of the series |\n|---|---|---|---|---|---|\n",
	       engine->name, n_rows);
	for (int power = 0; power <= 7; power++) {
		double n_series = pow(10, power), n_cuts = n_rows / n_series / engine->entries_a_leaf;
		char memory[32];

		n_cuts = n_cuts < N_BUCKETS + 1 ? ceil(n_cuts) : N_BUCKETS + 1;
		printf("| 10^%d | %.0f | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %s |\n", power, n_rows / n_series,
		       pages_of_cuts(n_leaves, fanout, n_rows / n_series < engine->entries_a_leaf ? 1 : 2, 0, n_levels + 1),
		       pages_of_cuts(n_leaves, fanout, 2 * n_series, 0, n_levels + 1),
		       pages_of_cuts(n_leaves, fanout, n_cuts * (n_series < 16 ? n_series : 16), 0, n_levels + 1),
		       bytes_text(n_series * SERIES_BYTES, memory));
	}
}

static void print_error(const char *what, double measured, double predicted)
{
	printf(" %s %.0f, predicted %.0f (%+.1f %%);", what, measured, predicted, 100 * (predicted / measured - 1));
}

static void check_measured(struct engine *engine, const double entries[2], const char *text)
{
	double n_rows, n_series, n_leaves, n_nodes, n_pages, n_cuts, n_interior;
	uint64_t fanout = fanout_of(engine), predicted;

	if (sscanf(text, "%lf:%lf:%lf:%lf:%lf", &n_rows, &n_series, &n_leaves, &n_nodes, &n_pages) != 5) {
		fprintf(stderr, "scale_model: %s is no measured index\n", text);
		exit(2);
	}
	engine->entries_a_leaf = entries[n_series > 1];
	predicted = leaves_of(engine, n_rows);
	printf("- %.0f rows of %.0f series:", n_rows, n_series);
	print_error("leaf pages", n_leaves, (double)predicted);
	print_error("node pages", n_nodes, (double)(iforest_pages_total(predicted, fanout) - predicted));
	/* the first and the last end of a series lie where its entries begin and end, and cut nothing */
	n_cuts = (N_BUCKETS - 1) * n_series;
	n_interior = (double)iforest_pages_total(predicted, fanout) / INTERIOR_FANOUT;
	print_error("pages of 1920 buckets", n_pages,
		    (double)pages_of_cuts(predicted, fanout, n_cuts, 0, iforest_node_levels(predicted, fanout) + 1) +
			    (n_interior < n_cuts ? n_interior : n_cuts) + OPENING_PAGES);
	printf("\n");
}

int main(int argc, char **argv)
{
	double entries[2] = { argc > 2 ? atof(argv[1]) : 0, argc > 2 ? atof(argv[2]) : 0 };

	if (entries[0] <= 0 || entries[1] <= 0) {
		fprintf(stderr, "usage: scale_model ENTRIES_BY_TIME ENTRIES_BY_SERIES [ROWS:SERIES:LEAVES:NODES:PAGES]...\n");
		return 2;
	}
	for (unsigned e = 0; e < 2; e++) {
		engines[e].entries_a_leaf = entries[0] * engines[e].page_bytes / engines[0].page_bytes;
		print_rows(&engines[e]);
	}
	for (unsigned e = 0; e < 2; e++) {
		engines[e].entries_a_leaf = entries[1] * engines[e].page_bytes / engines[0].page_bytes;
		print_series(&engines[e], 1e9);
	}
	if (argc > 3)
		printf("\nMeasured in SQLite, and predicted from the smallest of each kind:\n\n");
	for (int i = 3; i < argc; i++)
		check_measured(&engines[0], entries, argv[i]);
	return 0;
}
