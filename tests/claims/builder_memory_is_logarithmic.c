/* A hundred times the entries cost the builder, and a merge, no more memory than a page for each level gained. */

#include "core/run/writer.h"
#include "core/run/compact.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

enum { PAGE_BYTES = 1024 };

static const struct sample_shape shape = { .page_bytes = PAGE_BYTES, .max_batch_pages = 8, .kinds = "i", .duration = ORACLE_NONE };

/* Every `stride`-th of n entries. */
struct numbers {
	int64_t n, from, stride;
};

static void add_entries(struct iforest_run_writer *writer, const void *context)
{
	const struct numbers *numbers = context;

	for (int64_t i = numbers->from; i < numbers->n; i += numbers->stride) {
		struct iforest_entry entry = { .key = { .time = i * 1000, .ref = i },
					       .values[0].integer = i * i % 1000,
					       .present = 1 };

		assert_ok(iforest_run_writer_add(writer, &entry));
	}
}

/* The most memory that building n entries needs, and the levels of the run. */
static size_t peak_of_build(int64_t n, unsigned *n_levels)
{
	struct sample_index index;
	size_t peak;

	sample_start(&index, &shape);
	sample_write_run(&index, add_entries, &(struct numbers){ n, 0, 1 });
	peak = index.core_alloc.n_peak_bytes;
	*n_levels = index.manifest.runs[0].n_levels;
	sample_stop(&index);
	return peak;
}

static size_t peak_of_merge(int64_t n, unsigned *n_levels)
{
	struct sample_index index;
	struct iforest_run merged;
	uint64_t run_ids[2];
	size_t peak, before;

	sample_start(&index, &shape);
	sample_write_run(&index, add_entries, &(struct numbers){ n, 0, 2 });
	sample_write_run(&index, add_entries, &(struct numbers){ n, 1, 2 });
	before = index.core_alloc.n_peak_bytes = index.core_alloc.n_live_bytes;
	for (unsigned r = 0; r < 2; r++)
		run_ids[r] = index.manifest.runs[r].place.run_id;
	assert_ok(iforest_compact(&index.store, &index.manifest, run_ids, 2, &merged));
	peak = index.core_alloc.n_peak_bytes - before;
	assert_int_equal(index.manifest.n_runs, 1);
	*n_levels = index.manifest.runs[0].n_levels;
	sample_stop(&index);
	return peak;
}

static void assert_grows_by_levels(size_t (*peak_of)(int64_t, unsigned *))
{
	unsigned n_few, n_many;
	size_t few = peak_of(10000, &n_few), many = peak_of(1000000, &n_many);

	print_message("10^4 entries: %zu bytes, %u levels; 10^6 entries: %zu bytes, %u levels\n", few, n_few, many, n_many);
	assert_true(n_many > n_few);
	assert_true(many >= few);
	assert_true(many - few <= (n_many - n_few + 1) * PAGE_BYTES);
}

static void building_a_run(void **state) { (void)state; assert_grows_by_levels(peak_of_build); }
static void merging_two_runs(void **state) { (void)state; assert_grows_by_levels(peak_of_merge); }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(building_a_run),
		cmocka_unit_test(merging_two_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
