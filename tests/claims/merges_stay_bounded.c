/* merges_stay_bounded -- over ten million inserted rows, in order, late and in any order, with a seal every so many, one merge
 * a seal keeps runs few, writes a page few times, and never makes one writer wait for more than a stated number of pages.
 * Settings as in SQLite (sqlite_ext/maintain/compact.c); bench/policy.sh plots the same. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/harness.h"
#include "tests/support/merge_simulation.h"

enum { N_ROWS = 10000000, FEW_PAGES = 1024, CAP_PAGES = 262144 };

static const char *const order_names[] = { "in order", "late", "in any order" };

static struct merge_simulation *simulate(enum merge_order order, int64_t n_rows_sealed)
{
	struct merge_simulation *s = calloc(1, sizeof *s);
	struct random dice = random_from(random_seed());

	assert_non_null(s);
	s->settings = (struct iforest_merge_settings){ .fan_in = IFOREST_USUAL_FAN_IN, .cap_pages = CAP_PAGES };
	s->few_pages = FEW_PAGES;
	for (int64_t row = 0; row < N_ROWS; row += n_rows_sealed) {
		struct iforest_merge_candidate run = merge_simulation_run(order, row, n_rows_sealed, N_ROWS, &dice);

		merge_simulation_flush(s, &run);
	}
	print_message("%s, a seal every %lld rows: at most %u runs; each page written %.2f times; most work of a seal %llu of %llu pages\n", order_names[order],
		      (long long)n_rows_sealed, s->n_most_runs, (double)(s->n_flushed + s->n_merged) / (double)s->n_flushed,
		      (unsigned long long)s->n_most_work, (unsigned long long)s->n_flushed);
	return s;
}

/* What core/run/compact.h promises: runs for each doubling from the bound's least to the index's size, each page written about
 * once a tier, and a merge no larger than the bound for the runs there were, the new one included. */
static void check(enum merge_order order, int64_t n_rows_sealed)
{
	struct merge_simulation *s = simulate(order, n_rows_sealed);
	uint64_t n_seal = (uint64_t)(n_rows_sealed + MERGE_ROWS_A_PAGE - 1) / MERGE_ROWS_A_PAGE;
	unsigned n_most_runs = IFOREST_RUNS_A_DOUBLING, n_tiers = 1;

	for (uint64_t n = FEW_PAGES; n < s->n_flushed; n *= 2)
		n_most_runs += IFOREST_RUNS_A_DOUBLING;
	for (uint64_t n = n_seal * IFOREST_USUAL_FAN_IN; n <= s->n_flushed; n *= IFOREST_USUAL_FAN_IN)
		n_tiers++;
	assert_true(s->n_most_runs <= n_most_runs);
	assert_true(s->n_merged <= n_tiers * s->n_flushed);
	assert_true(s->n_most_work <= n_seal + iforest_merge_bound(FEW_PAGES, s->n_most_runs + 1));
	free(s);
}

static void rows_in_order(void **state)
{
	(void)state;
	check(MERGE_IN_ORDER, 1000);
	check(MERGE_IN_ORDER, 20000);
	check(MERGE_IN_ORDER, 100000);
}

static void rows_that_are_late(void **state)
{
	(void)state;
	check(MERGE_LATE, 1000);
	check(MERGE_LATE, 20000);
	check(MERGE_LATE, 100000);
}

static void rows_in_any_order(void **state)
{
	(void)state;
	check(MERGE_RANDOM, 1000);
	check(MERGE_RANDOM, 20000);
	check(MERGE_RANDOM, 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_in_order),
		cmocka_unit_test(rows_that_are_late),
		cmocka_unit_test(rows_in_any_order),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
