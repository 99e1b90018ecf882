#include "core/run/compact.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/harness.h"
#include "tests/support/merge_simulation.h"

enum { FEW_PAGES = 256, CAP_PAGES = 8192, N_SEALS = 100000, TURNS_OF_BOUND = 32 };

/* ---- worked examples ---- */

/* Runs as the header draws them: "16 [0, 9]", "16 [0, 9] 100 dead", "16 [0, 9] empty"; of 300 entries each. */
static struct iforest_merge_candidate drawn(const char *text)
{
	struct iforest_merge_candidate run = { .n_rows = 300 };

	assert_true(sscanf(text, "%" SCNu64 " [%" SCNd64 ", %" SCNd64 "] %" SCNu64, &run.n_pages, &run.low, &run.high, &run.n_dead) >= 3);
	if (strstr(text, "empty"))
		run.n_dead = 300;
	run.n_rows -= run.n_dead;
	return run;
}

static void assert_chosen(const char *const *texts, uint32_t n, uint64_t most_pages, uint64_t cap_pages, const char *expected)
{
	struct iforest_merge_settings settings = { .fan_in = 4, .most_pages = most_pages, .cap_pages = cap_pages };
	struct iforest_merge_candidate runs[16];
	uint32_t chosen[16], n_chosen;
	char got[17] = "";

	for (uint32_t r = 0; r < n; r++)
		runs[r] = drawn(texts[r]);
	n_chosen = iforest_merge_choose(runs, n, &settings, chosen);
	for (uint32_t i = 0; i < n_chosen; i++)
		got[i] = (char)('a' + chosen[i]);
	assert_string_equal(got, expected);
}

#define CHOSEN(most_pages, cap_pages, expected, ...)                                                                \
	assert_chosen((const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), \
		      most_pages, cap_pages, expected)
#define ANY UINT64_MAX

static void the_lowest_full_tier_is_merged(void **state)
{
	(void)state;
	assert_chosen(NULL, 0, ANY, ANY, "");
	CHOSEN(ANY, ANY, "", "1 [0, 0]", "1 [1, 1]", "1 [2, 2]");
	CHOSEN(ANY, ANY, "abcd", "1 [0, 0]", "1 [1, 1]", "1 [2, 2]", "2 [3, 3]");
	CHOSEN(ANY, ANY, "bcde", "20 [0, 9]", "5 [10, 19]", "6 [20, 29]", "4 [30, 39]", "9 [40, 49]", "1 [50, 50]");
	CHOSEN(ANY, ANY, "bcdef", "20 [0, 9]", "5 [10, 19]", "6 [20, 29]", "4 [30, 39]", "9 [40, 49]", "1 [25, 26]");
	CHOSEN(ANY, ANY, "efgh", "16 [0, 9]", "16 [0, 9]", "16 [0, 9]", "16 [0, 9]", "1 [50, 50]", "1 [51, 51]", "1 [52, 52]", "1 [53, 53]");
	CHOSEN(ANY, ANY, "abcd", "16 [0, 9]", "16 [0, 9]", "16 [0, 9]", "16 [0, 9]", "4 [50, 53]");
}

static void what_is_taken_along_is_cheap(void **state)
{
	(void)state;
	/* a fan-in'th of 16 pages is 4: two of the small ones fit, the third does not */
	CHOSEN(ANY, ANY, "abcdef", "4 [0, 9]", "4 [10, 19]", "4 [20, 29]", "4 [30, 39]", "2 [5, 5]", "2 [6, 6]", "2 [7, 7]");
	CHOSEN(17, ANY, "abcde", "4 [0, 9]", "4 [10, 19]", "4 [20, 29]", "4 [30, 39]", "1 [5, 5]", "1 [6, 6]");
}

static void above_the_cap_runs_that_lie_apart_are_left_alone(void **state)
{
	(void)state;
	CHOSEN(ANY, 10, "", "16 [0, 9]", "16 [10, 19]", "16 [20, 29]", "16 [30, 39]");
	CHOSEN(ANY, 10, "abcd", "16 [0, 9]", "16 [0, 9]", "16 [2, 8]", "16 [1, 9]");
	CHOSEN(ANY, 16, "abcd", "16 [0, 9]", "16 [10, 19]", "16 [20, 29]", "16 [30, 39]");
	/* neighbours that meet in a heap block still lie apart, those that share more do not */
	CHOSEN(ANY, 10, "", "16 [0, 10]", "16 [10, 20]", "16 [20, 30]", "16 [30, 40]");
	CHOSEN(ANY, 10, "abcd", "16 [0, 13]", "16 [10, 23]", "16 [20, 33]", "16 [30, 43]");
	/* one wide run overlaps all; a run apart stays out */
	CHOSEN(ANY, 10, "abcd", "16 [0, 9]", "16 [10, 19]", "16 [20, 29]", "16 [-9223372036854775808, 30]", "16 [60, 9223372036854775807]");
	CHOSEN(ANY, 10, "abcd", "16 [5, 5]", "16 [5, 5]", "16 [5, 5]", "16 [-9223372036854775808, 9223372036854775807]");
	/* of another size: not counted */
	CHOSEN(ANY, 10, "", "16 [0, 9]", "16 [0, 9]", "16 [0, 9]", "70 [0, 9]");
}

static void dead_and_empty_runs(void **state)
{
	(void)state;
	CHOSEN(ANY, ANY, "a", "16 [0, 9] 100 dead");
	CHOSEN(ANY, 4, "b", "16 [0, 9] 75 dead", "16 [10, 19] 76 dead"); /* more than a quarter */
	CHOSEN(15, ANY, "", "16 [0, 9] 100 dead");
	CHOSEN(ANY, ANY, "abcd", "1 [0, 0]", "1 [1, 1]", "1 [2, 2] 100 dead", "2 [3, 3]");
	CHOSEN(ANY, ANY, "c", "1 [0, 0]", "1 [1, 1]", "99 [2, 2] empty");
	CHOSEN(0, 0, "ab", "9 [0, 0] empty", "99 [2, 2] empty");
	CHOSEN(5, ANY, "abcde", "1 [0, 0]", "1 [1, 1]", "99 [0, 99] empty", "1 [2, 2]", "2 [3, 3]");
	CHOSEN(ANY, ANY, "ab", "99 [0, 9] empty", "16 [0, 9] 150 dead");
}

static void a_merge_keeps_to_its_bound(void **state)
{
	(void)state;
	CHOSEN(10, ANY, "abcd", "1 [0, 0]", "2 [1, 1]", "2 [2, 2]", "3 [3, 3]", "3 [4, 4]", "1 [5, 5]");
	CHOSEN(16, ANY, "", "4 [0, 0]", "5 [1, 1]", "4 [2, 2]", "4 [3, 3]");
	CHOSEN(17, ANY, "abcd", "4 [0, 0]", "5 [1, 1]", "4 [2, 2]", "4 [3, 3]");
	CHOSEN(16, ANY, "bcde", "14 [0, 0]", "4 [1, 1]", "4 [2, 2]", "4 [3, 3]", "4 [4, 4]");
	/* beside each other by where they lie, whatever their numbers */
	CHOSEN(8, ANY, "bdfh", "3 [7, 7]", "1 [0, 0]", "3 [6, 6]", "1 [1, 1]", "3 [5, 5]", "1 [2, 2]", "3 [4, 4]", "3 [3, 3]");
	/* a higher tier fits where a lower one is not full */
	CHOSEN(16, ANY, "abcd", "4 [0, 0]", "4 [1, 1]", "4 [2, 2]", "4 [3, 3]", "1 [9, 9]");
}

static void the_bound_widens_with_the_runs(void **state)
{
	(void)state;
	assert_int_equal(iforest_merge_bound(100, 0), 100);
	assert_int_equal(iforest_merge_bound(100, IFOREST_RUNS_A_DOUBLING - 1), 100);
	assert_int_equal(iforest_merge_bound(100, IFOREST_RUNS_A_DOUBLING), 200);
	assert_int_equal(iforest_merge_bound(100, 3 * IFOREST_RUNS_A_DOUBLING), 800);
	assert_true(iforest_merge_bound(100, 4096) == UINT64_MAX);
	assert_true(iforest_merge_bound(1, 63 * IFOREST_RUNS_A_DOUBLING) == UINT64_C(1) << 63);
	assert_true(iforest_merge_bound(0, 4096) == 0);
}

/* Any runs: numbers ascend, the bound holds, and merging by policy comes to an end. */
static void any_runs_are_merged_until_there_is_nothing_to_do(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		struct random dice = random_from(random_seed() + round);
		struct iforest_merge_settings settings = { .fan_in = 2 + (uint32_t)random_below(&dice, 8),
							   .most_pages = random_chance(&dice, 50) ? UINT64_MAX :
												    random_below(&dice, 2000),
							   .cap_pages = random_below(&dice, 500) };
		struct iforest_merge_candidate runs[80];
		uint32_t n = (uint32_t)random_below(&dice, 80), chosen[80], n_chosen, n_steps = 0;

		for (uint32_t r = 0; r < n; r++) {
			runs[r] = (struct iforest_merge_candidate){
				.n_pages = 1 + random_below(&dice, UINT64_C(1) << random_below(&dice, 10)),
				.n_rows = random_chance(&dice, 10) ? 0 : 1 + random_below(&dice, 50),
				.n_dead = random_chance(&dice, 70) ? 0 : random_below(&dice, 50),
				.low = random_between(&dice, -50, 50)
			};
			runs[r].high = runs[r].low + random_between(&dice, 0, 20);
		}
		while ((n_chosen = iforest_merge_choose(runs, n, &settings, chosen)) > 0) {
			struct iforest_merge_candidate merged = { .low = INT64_MAX, .high = INT64_MIN };
			uint32_t n_left = 0;

			assert_true(n_chosen <= n && ++n_steps <= 81);
			for (uint32_t r = 0, i = 0; r < n; r++) {
				if (i == n_chosen || chosen[i] != r) {
					runs[n_left++] = runs[r];
					continue;
				}
				i++;
				merged.n_pages += runs[r].n_rows ? runs[r].n_pages : 0;
				merged.n_rows += runs[r].n_rows;
				merged.low = runs[r].low < merged.low ? runs[r].low : merged.low;
				merged.high = runs[r].high > merged.high ? runs[r].high : merged.high;
			}
			assert_int_equal(n_left, n - n_chosen); /* ascending, none twice */
			assert_true(merged.n_pages <= settings.most_pages);
			if (merged.n_rows)
				runs[n_left++] = merged;
			n = n_left;
		}
		for (uint32_t r = 0; r < n; r++)
			assert_true(runs[r].n_rows > 0);
	}
}

/* ---- a hundred thousand seals ---- */

/* is_bounded: after each seal one merge within iforest_merge_bound(), and nobody else merges. Else: all that the policy
 * wants, at once. */
static struct merge_simulation *simulate(bool in_order, bool is_bounded)
{
	struct merge_simulation *s = calloc(1, sizeof *s);
	struct random dice = random_from(random_seed());

	assert_non_null(s);
	s->settings = (struct iforest_merge_settings){ .fan_in = IFOREST_USUAL_FAN_IN, .cap_pages = CAP_PAGES };
	s->few_pages = is_bounded ? FEW_PAGES : 0;
	for (int64_t seal = 0; seal < N_SEALS; seal++) {
		uint64_t n_pages = 1 + random_below(&dice, 40);

		merge_simulation_flush(s, &(struct iforest_merge_candidate){
						 .n_pages = n_pages,
						 .n_rows = n_pages * 1000,
						 .low = in_order ? seal * 100 : random_between(&dice, 0, 99),
						 .high = in_order ? seal * 100 + 100 : random_between(&dice, 900, 999) });
	}
	print_message("%d seals %s, %s: at most %u runs, %u in the end; each page written %.2f times after the seal; largest "
		      "merge %llu of %llu pages\n",
		      N_SEALS, in_order ? "in order" : "that overlap",
		      is_bounded ? "one bounded merge a seal" : "merged at once", s->n_most_runs, s->n_runs,
		      (double)s->n_merged / (double)s->n_flushed, (unsigned long long)s->n_largest_merge,
		      (unsigned long long)s->n_flushed);
	return s;
}

/* Tiers that runs of up to so many pages are in. */
static unsigned tiers_of(uint64_t n_pages)
{
	unsigned n = 1;

	for (; n_pages >= IFOREST_USUAL_FAN_IN; n_pages /= IFOREST_USUAL_FAN_IN)
		n++;
	return n;
}

static void overlapping_runs_merged_at_once(void **state)
{
	struct merge_simulation *s = simulate(false, false);

	(void)state;
	assert_true(s->n_most_runs < tiers_of(s->n_flushed) * IFOREST_USUAL_FAN_IN);
	assert_true(s->n_merged <= tiers_of(s->n_flushed) * s->n_flushed);
	free(s);
}

/* Large runs stay as they are: no merge grows with the index. */
static void runs_in_order_merged_at_once(void **state)
{
	struct merge_simulation *s = simulate(true, false);

	(void)state;
	assert_true(s->n_most_runs < tiers_of(CAP_PAGES) * IFOREST_USUAL_FAN_IN + s->n_flushed / CAP_PAGES);
	assert_true(s->n_merged <= tiers_of(CAP_PAGES) * s->n_flushed);
	assert_true(s->n_largest_merge <= 2 * IFOREST_USUAL_FAN_IN * CAP_PAGES);
	free(s);
}

/* The runs that one bounded merge a seal leaves: a doubling's worth for each doubling that a whole merge is away. */
static uint64_t runs_under_bound(uint64_t n_largest)
{
	uint64_t n = TURNS_OF_BOUND;

	for (uint64_t bound = FEW_PAGES; bound < n_largest; bound *= 2)
		n += TURNS_OF_BOUND;
	return n;
}

static void overlapping_runs_under_the_bound(void **state)
{
	struct merge_simulation *s = simulate(false, true);

	(void)state;
	assert_true(s->n_most_runs <= runs_under_bound(s->n_flushed));
	assert_true(s->n_merged <= tiers_of(s->n_flushed) * s->n_flushed);
	free(s);
}

static void runs_in_order_under_the_bound(void **state)
{
	struct merge_simulation *s = simulate(true, true);

	(void)state;
	assert_true(s->n_most_runs <= runs_under_bound(CAP_PAGES) + s->n_flushed / CAP_PAGES);
	assert_true(s->n_merged <= tiers_of(CAP_PAGES) * s->n_flushed);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lowest_full_tier_is_merged),
		cmocka_unit_test(what_is_taken_along_is_cheap),
		cmocka_unit_test(above_the_cap_runs_that_lie_apart_are_left_alone),
		cmocka_unit_test(dead_and_empty_runs),
		cmocka_unit_test(a_merge_keeps_to_its_bound),
		cmocka_unit_test(the_bound_widens_with_the_runs),
		cmocka_unit_test(any_runs_are_merged_until_there_is_nothing_to_do),
		cmocka_unit_test(overlapping_runs_merged_at_once),
		cmocka_unit_test(runs_in_order_merged_at_once),
		cmocka_unit_test(overlapping_runs_under_the_bound),
		cmocka_unit_test(runs_in_order_under_the_bound),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
