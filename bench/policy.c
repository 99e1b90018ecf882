/* bench/policy.c -- Simulation of merging after each flush of ten million inserted rows, as CSV: sizes only, no pages
 * (tests/support/merge_simulation.h).
 *
 * Arguments: rows a flush.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/merge_simulation.h"

enum { N_ROWS = 10000000, N_POINTS = 500, FEW_PAGES = 1024, CAP_PAGES = 262144 }; /* as sqlite_ext/maintain/compact.c */

static void simulate(enum merge_order order, const char *name, int64_t n_rows_flushed)
{
	struct merge_simulation *s = calloc(1, sizeof *s);
	struct random dice = random_from(random_seed());
	int64_t n_points = 0;

	if (!s)
		abort();
	s->settings = (struct iforest_merge_settings){ .fan_in = IFOREST_USUAL_FAN_IN, .cap_pages = CAP_PAGES };
	s->few_pages = FEW_PAGES;
	for (int64_t row = 0; row < N_ROWS; row += n_rows_flushed) {
		struct iforest_merge_candidate run = merge_simulation_run(order, row, n_rows_flushed, N_ROWS, &dice);

		merge_simulation_flush(s, &run);
		if ((row + n_rows_flushed) / (N_ROWS / N_POINTS) == n_points)
			continue;
		n_points = (row + n_rows_flushed) / (N_ROWS / N_POINTS);
		printf("%s,%" PRId64 ",%" PRId64 ",%u,%.3f,%" PRIu64 "\n", name, n_rows_flushed, row + n_rows_flushed, s->n_runs,
		       (double)(s->n_flushed + s->n_merged) / (double)s->n_flushed, s->n_most_work);
	}
	fprintf(stderr, "| %s | %" PRId64 " | %u | %u | %.2f | %" PRIu64 " of %" PRIu64 " |\n", name, n_rows_flushed,
		s->n_most_runs, s->n_runs, (double)(s->n_flushed + s->n_merged) / (double)s->n_flushed, s->n_most_work,
		s->n_flushed);
	free(s);
}

int main(int argc, char **argv)
{
	puts("order,flush,rows,runs,written,most_work");
	fprintf(stderr, "| rows come | rows a flush | most runs | in the end | times a page is written | most pages written by "
			"one flush, of all |\n"
			"|---|---|---|---|---|---|\n");
	for (int i = 1; i < argc; i++) {
		simulate(MERGE_IN_ORDER, "in order", atoll(argv[i]));
		simulate(MERGE_LATE, "late", atoll(argv[i]));
		simulate(MERGE_RANDOM, "in any order", atoll(argv[i]));
	}
	return 0;
}
