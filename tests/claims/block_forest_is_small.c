/* A forest over blocks of the default size, with times, takes at most 3 % of entries of 32 bytes, whatever built-in kind it is
 * of: all memory that it has, not only what it uses. (In place: by moving there may be twice as much.) */
#include "core/forest/block_forest.h"
#include "tests/support/alloc_fault.h"
#include "tests/support/harness.h"

enum { N_ENTRIES = 10000000, ENTRY_BYTES = 32 };

/* All entries are alike, so that none need be kept. */
static void fold(void *context, uint64_t from, uint64_t to, void *state)
{
	const struct iforest_monoid *kind = context;
	struct iforest_sample sample = { .has_value = true, .time = 5, .ref = (int64_t)from };
	uint64_t lifted[8];

	(void)to;
	kind->lift(lifted, &sample);
	kind->combine(state, state, lifted);
}

static void of_each_kind(void **state)
{
	static const struct iforest_monoid *const kinds[] = { &iforest_monoid_count,       &iforest_monoid_sum_int64,
							    &iforest_monoid_sum_float64, &iforest_monoid_min_int64,
							    &iforest_monoid_max_int64,   &iforest_monoid_min_float64,
							    &iforest_monoid_max_float64, &iforest_monoid_first,
							    &iforest_monoid_last };
	static const int64_t time = 5;

	(void)state;
	for (unsigned k = 0; k < COUNT_OF(kinds); k++) {
		struct iforest_entries of = { .fold = fold, .context = (void *)(uintptr_t)kinds[k], .times = { &time, 0 } };
		struct alloc_fault fault;
		struct iforest_block_forest blocks;
		uint64_t n_bytes;

		alloc_fault_init(&fault);
		assert_ok(iforest_block_forest_init(&blocks, kinds[k], &fault.alloc, IFOREST_GROW_IN_PLACE, &of, 0));
		assert_ok(iforest_block_forest_extend(&blocks, N_ENTRIES, 1));
		n_bytes = blocks.forest.slots.n_bytes + blocks.times.n_bytes + fault.n_peak_bytes;
		print_message("%-11s %.2f %% of the entries\n", kinds[k]->name, 100.0 * (double)n_bytes / N_ENTRIES / ENTRY_BYTES);
		assert_in_range(n_bytes, iforest_forest_bytes(kinds[k], N_ENTRIES / IFOREST_DEFAULT_BLOCK) +
					 N_ENTRIES / IFOREST_DEFAULT_BLOCK * sizeof time,
				(uint64_t)N_ENTRIES * ENTRY_BYTES * 3 / 100);
		iforest_block_forest_release(&blocks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_each_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
