/* tests/support/merge_simulation.h -- Simulation of a merge policy over many flushes, with the sizes of runs alone. */
#ifndef TESTS_MERGE_SIMULATION_H
#define TESTS_MERGE_SIMULATION_H

#include <stdbool.h>

#include "core/run/compact.h"
#include "tests/support/random.h"

enum { MERGE_SIMULATION_RUNS = 5000 };

struct merge_simulation {
	struct iforest_merge_settings settings; /* most_pages is set here */
	/* each flush merges once, within iforest_merge_bound(few_pages, ...); 0: as often as the policy wants */
	uint64_t few_pages;
	struct iforest_merge_candidate runs[MERGE_SIMULATION_RUNS];
	uint32_t chosen[MERGE_SIMULATION_RUNS], n_runs;
	uint32_t n_most_runs;            /* the most that there were after a flush */
	uint64_t n_flushed, n_merged;     /* pages written */
	uint64_t n_largest_merge;        /* pages */
	uint64_t n_most_work;            /* the most pages that a flush wrote, with its merges */
};

/* Flushes a run, and merges it with others. */
void merge_simulation_flush(struct merge_simulation *simulation, const struct iforest_merge_candidate *run);

/* ---- inserted rows ---- */

/* The order in which rows are inserted: by time; each up to MERGE_LATEST rows late, evenly distributed; at random. */
enum merge_order { MERGE_IN_ORDER, MERGE_LATE, MERGE_RANDOM };

enum { MERGE_LATEST = 20000, MERGE_ROWS_A_PAGE = 550 };

/* Returns the run of rows number [first, first + n_rows) of n_all: its pages, at iforest's 7 bytes a row, and its range of
 * times. */
struct iforest_merge_candidate merge_simulation_run(enum merge_order order, int64_t first, int64_t n_rows, int64_t n_all,
						    struct random *dice);

#endif
