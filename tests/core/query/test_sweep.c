/* Sweeps over all series of a window, against the oracle: several runs, removed entries, a joined memtable; forged pages: tests/claims. */
#include "core/query/sweep.h"

#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

enum { MOST_SERIES = 120 };

static const struct sample_shape shapes[] = {
	{ .page_bytes = 1024, .max_batch_pages = 8, .kinds = "i", .duration = 0, .has_blocks = true },
	{ .page_bytes = 1024, .max_batch_pages = 1, .kinds = "", .duration = ORACLE_NONE },
	{ .page_bytes = 4000, .max_batch_pages = 16, .kinds = "sf", .duration = 0 },
	{ .page_bytes = 8152, .max_batch_pages = 4, .fixed_pages = true, .kinds = "hip", .duration = 1, .has_blocks = true },
};

static void sweep_many(struct sample_index *index, struct random *dice, unsigned n_series)
{
	for (int i = 0; i < 12; i++) {
		struct oracle_question window = sample_question(index, dice);

		sample_compare_sweep(index, dice, &window, n_series);
	}
}

static void one_round(uint64_t seed)
{
	struct random dice = random_from(seed);
	struct sample_index index;
	unsigned n_runs = 1 + (unsigned)random_below(&dice, 4), n_series = 1 + (unsigned)random_below(&dice, MOST_SERIES);
	size_t most = 1 + random_below(&dice, 900);

	sample_start(&index, &shapes[random_below(&dice, COUNT_OF(shapes))]);
	index.seed = seed;
	if (random_chance(&dice, 50))
		pager_fault_lend(&index.pager);
	for (unsigned r = 0; r < n_runs; r++)
		assert_ok(sample_build(&index, sample_entries(&index, &dice, random_below(&dice, most), n_series,
							      (enum sample_times)random_below(&dice, SAMPLE_STYLES))));
	sweep_many(&index, &dice, n_series);
	for (unsigned g = 0; g < index.n_groups; g++)
		if (sample_run(&index, g) < index.manifest.n_runs)
			sample_remove(&index, &dice, g, (unsigned)random_below(&dice, 101));
	sweep_many(&index, &dice, n_series);
	sample_stop(&index);
}

static void a_sweep_gives_what_each_series_has(void **state)
{
	unsigned n_rounds = random_rounds(40);

	(void)state;
	for (unsigned r = 0; r < n_rounds; r++)
		one_round(random_seed() + r);
}

/* Series of sixteen entries, of which the window has five; a descent for each series would open hundreds of pages. */
static void a_sweep_opens_each_page_once(void **state)
{
	struct oracle_question window = { .has_t0 = true, .t0 = 5000, .has_t1 = true, .t1 = 5040 };
	struct random dice = random_from(1);
	struct sample_index index;
	struct iforest_scan scan;
	struct iforest_sweep sweep;
	uint64_t series, n_pages = 0;
	bool found;

	(void)state;
	sample_start(&index, &shapes[0]);
	for (int i = 0; i < 16 * MOST_SERIES; i++)
		(void)sample_append(&index, 0, (uint32_t)(i % MOST_SERIES), i * 7, i);
	assert_ok(sample_build(&index, 0));
	assert_int_equal(sample_compare_sweep(&index, &dice, &window, MOST_SERIES), 5);
	assert_ok(iforest_scan_init(&scan, &index.store, &index.manifest));
	scan.bucketing.window = (struct iforest_window){ .has_t0 = true, .t0 = 5000, .has_t1 = true, .t1 = 5040 };
	assert_ok(iforest_sweep_start(&sweep, &scan, 0, UINT32_MAX, false));
	do
		assert_ok(iforest_sweep_next(&sweep, &series, &found));
	while (found);
	for (unsigned r = 0; r < index.manifest.n_runs; r++)
		n_pages += index.manifest.runs[r].n_leaves;
	assert_true(n_pages > 5);
	assert_true(iforest_scan_leaf_pages(&scan) <= n_pages);
	iforest_sweep_release(&sweep);
	iforest_scan_release(&scan);
	sample_stop(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sweep_gives_what_each_series_has),
		cmocka_unit_test(a_sweep_opens_each_page_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
