/* w adjacent buckets are one pass and not w searches: every boundary opens the leaf page that it cuts, and the fold moves
 * forward through the nodes, so that a page of any level is opened at most once:
 *
 *   pages <= (w + 1) + sum over levels of min(w + 1 boundaries, two pages each; pages of the level)
 *
 * A search per bucket would open a page of each level for each bucket. */

#include "core/run/layout.h"
#include "core/run/writer.h"
#include "core/query/scan.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

enum { N_ENTRIES = 1000000 };

static struct sample_index index_of_steps;

static void add_entries(struct iforest_run_writer *writer, const void *context)
{
	struct random dice = random_from(random_seed());

	(void)context;
	for (int64_t i = 0; i < N_ENTRIES; i++) {
		struct iforest_entry entry = { .key = { .time = i, .ref = i },
					       .values[0].integer = random_between(&dice, 0, 1 << 20), .present = 1 };

		assert_ok(iforest_run_writer_add(writer, &entry));
	}
}

static int build(void **state)
{
	(void)state;
	sample_start(&index_of_steps, &(struct sample_shape){ .page_bytes = 1024, .max_batch_pages = 8, .kinds = "i",
							      .duration = ORACLE_NONE });
	sample_write_run(&index_of_steps, add_entries, NULL);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	sample_stop(&index_of_steps);
	return 0;
}

static const struct iforest_request all_of_values = { .values = 1 }, sums = { .values = 1, .no_mins = 1, .no_maxs = 1 };

/* Pages opened for n buckets over [t0, t1); every bucket has rows. */
static uint64_t pages_of_buckets(const struct iforest_request *request, int64_t t0, int64_t t1, int64_t n)
{
	struct iforest_scan scan;
	struct iforest_aggregate answer;
	uint64_t n_pages, n_rows = 0;
	int64_t bucket, n_buckets = 0;
	bool found;

	assert_ok(iforest_scan_init(&scan, &index_of_steps.store, &index_of_steps.manifest));
	scan.bucketing = (struct iforest_bucketing){ .mode = IFOREST_COUNT, .n = n,
		.window = { .has_t0 = true, .has_t1 = true, .t0 = t0, .t1 = t1 } };
	scan.request = *request;
	assert_ok(iforest_scan_start(&scan, 0));
	for (;;) {
		assert_ok(iforest_scan_next(&scan, &bucket, &answer, &found));
		if (!found)
			break;
		n_buckets++;
		n_rows += answer.n_rows;
	}
	assert_int_equal(n_buckets, n);
	assert_int_equal(n_rows, t1 - t0);
	n_pages = iforest_scan_pages(&scan);
	iforest_scan_release(&scan);
	return n_pages;
}

static uint64_t bound_of(uint64_t w)
{
	const struct iforest_run *run = &index_of_steps.manifest.runs[0];
	uint64_t bound = w + 1;

	for (unsigned level = 1; level <= run->n_levels; level++) {
		uint64_t n_pages = iforest_pages_at(run->n_leaves, level, index_of_steps.manifest.fanout);

		bound += n_pages < 2 * (w + 1) ? n_pages : 2 * (w + 1);
	}
	return bound;
}

static void adjacent_buckets_are_one_pass(void **state)
{
	static const int64_t widths[] = { 1, 2, 10, 100, 480, 1920 };
	const struct iforest_run *run = &index_of_steps.manifest.runs[0];

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(widths); i++) {
		uint64_t n = pages_of_buckets(&all_of_values, 0, N_ENTRIES, widths[i]);
		uint64_t n_of_sums = pages_of_buckets(&sums, 0, N_ENTRIES, widths[i]);

		print_message("%d buckets: %u pages of %u, for sums alone %u, bound %u\n", (int)widths[i], (unsigned)n,
			      (unsigned)iforest_run_pages(&index_of_steps.manifest, run), (unsigned)n_of_sums,
			      (unsigned)bound_of((uint64_t)widths[i]));
		assert_in_range(n, 1, bound_of((uint64_t)widths[i]));
		assert_in_range(n_of_sums, 1, n);
	}
	/* the bound tells a pass from searches only where it is lower than what they cost */
	assert_true(bound_of(1920) < 1920 * (run->n_levels + 1) / 2);
}

static void a_narrow_window_reads_each_page_once(void **state)
{
	uint64_t n_leaves = index_of_steps.manifest.runs[0].n_leaves;

	(void)state;
	/* 10 000 entries lie on about a hundredth of the leaf pages; 1920 buckets must not read them more than once */
	assert_in_range(pages_of_buckets(&all_of_values, 500000, 510000, 1920), 1, n_leaves / 100 + 2 + n_leaves / 100 + 2 * 6);
	assert_in_range(pages_of_buckets(&sums, 500000, 510000, 1920), 1, n_leaves / 100 + 2 + n_leaves / 100 + 2 * 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adjacent_buckets_are_one_pass),
		cmocka_unit_test(a_narrow_window_reads_each_page_once),
	};

	return random_report(cmocka_run_group_tests(tests, build, drop));
}
