#include "tests/support/merge_simulation.h"

#include <stdlib.h>

/* Merges the runs that the policy chooses; false if it chooses none. */
static bool merge_once(struct merge_simulation *s)
{
	uint32_t n = iforest_merge_choose(s->runs, s->n_runs, &s->settings, s->chosen), n_left = 0;
	struct iforest_merge_candidate merged = { .low = INT64_MAX, .high = INT64_MIN };

	for (uint32_t r = 0, i = 0; n > 0 && r < s->n_runs; r++) {
		const struct iforest_merge_candidate *run = &s->runs[r];

		if (i == n || s->chosen[i] != r) {
			s->runs[n_left++] = *run;
			continue;
		}
		i++;
		merged.n_pages += run->n_pages;
		merged.n_rows += run->n_rows;
		merged.low = run->low < merged.low ? run->low : merged.low;
		merged.high = run->high > merged.high ? run->high : merged.high;
	}
	if (n == 0)
		return false;
	s->runs[n_left++] = merged;
	s->n_runs = n_left;
	s->n_merged += merged.n_pages;
	s->n_largest_merge = merged.n_pages > s->n_largest_merge ? merged.n_pages : s->n_largest_merge;
	return true;
}

void merge_simulation_flush(struct merge_simulation *s, const struct iforest_merge_candidate *run)
{
	uint64_t n_before = s->n_flushed + s->n_merged, n_work;

	if (s->n_runs == MERGE_SIMULATION_RUNS)
		abort();
	s->runs[s->n_runs++] = *run;
	s->n_flushed += run->n_pages;
	s->settings.most_pages = s->few_pages ? iforest_merge_bound(s->few_pages, s->n_runs) : UINT64_MAX;
	while (merge_once(s) && !s->few_pages)
		;
	n_work = s->n_flushed + s->n_merged - n_before;
	s->n_most_work = n_work > s->n_most_work ? n_work : s->n_most_work;
	s->n_most_runs = s->n_runs > s->n_most_runs ? s->n_runs : s->n_most_runs;
}

struct iforest_merge_candidate merge_simulation_run(enum merge_order order, int64_t first, int64_t n_rows, int64_t n_all,
						    struct random *dice)
{
	struct iforest_merge_candidate run = { .n_pages = (uint64_t)((n_rows + MERGE_ROWS_A_PAGE - 1) / MERGE_ROWS_A_PAGE),
					       .n_rows = (uint64_t)n_rows,
					       .low = INT64_MAX,
					       .high = INT64_MIN };

	for (int64_t row = first; row < first + n_rows; row++) {
		int64_t time = order == MERGE_RANDOM ? random_between(dice, 0, n_all - 1) :
			       order == MERGE_LATE   ? row - random_between(dice, 0, MERGE_LATEST) : row;

		run.low = time < run.low ? time : run.low;
		run.high = time > run.high ? time : run.high;
	}
	return run;
}
