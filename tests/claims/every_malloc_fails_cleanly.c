/* Every allocation of every operation fails, alone and with all that follow. The operation then says "out of memory", leaks
 * nothing, and what is published answers as before; with memory again, the operation succeeds. */
#include <string.h>

#include "core/forest/block_forest.h"
#include "core/model/series_key.h"
#include "tests/support/attempt.h"
#include "tests/support/harness.h"

static const struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 3, .kinds = "if", .duration = 0 };

/* One allocation of one operation. Returns false once the operation has fewer allocations than that. */
static bool fail_once(enum attempt_kind kind, bool of_pager, bool fail_after, unsigned long nth)
{
	struct sample_index index;
	struct random dice = random_from(random_seed());
	struct attempt attempt;
	struct alloc_fault *fault = of_pager ? &index.pager_alloc : &index.core_alloc;
	enum iforest_status status;

	attempt_start(&attempt, kind, &index, &shape, 150, 2, SAMPLE_STEADY, &dice);
	fault->fail_after = fail_after;
	fault->fail_at = fault->n_calls + nth;
	status = attempt_run(&attempt);
	assert_int_equal(status != IFOREST_OK, fault->n_calls >= fault->fail_at);
	assert_true(status == IFOREST_OK || status == IFOREST_NO_MEMORY);
	assert_int_equal(index.memory.n_pages_pinned, 0);
	fault->fail_at = 0;
	if (status) {
		assert_ok(sample_reread(&index));
		assert_ok(attempt_recover(&attempt));
	}
	attempt_stop(&attempt);
	return status != IFOREST_OK;
}

static void fail_every_one(enum attempt_kind kind)
{
	for (unsigned way = 0; way < 4; way++) {
		unsigned long nth = 1;

		while (fail_once(kind, way & 1, way & 2, nth))
			nth++;
		assert_true(nth > 1 || (way & 1 && kind == ATTEMPT_REREAD)); /* reading a manifest needs no page */
	}
}

static void in_build(void **state) { (void)state; fail_every_one(ATTEMPT_BUILD); }
static void in_reading_the_manifest(void **state) { (void)state; fail_every_one(ATTEMPT_REREAD); }
static void in_scan(void **state) { (void)state; fail_every_one(ATTEMPT_SCAN); }
static void in_extremes(void **state) { (void)state; fail_every_one(ATTEMPT_EXTREMES); }
static void in_pieces(void **state) { (void)state; fail_every_one(ATTEMPT_PIECES); }
static void in_overlap(void **state) { (void)state; fail_every_one(ATTEMPT_OVERLAP); }
static void in_longest(void **state) { (void)state; fail_every_one(ATTEMPT_LONGEST); }
static void in_walk(void **state) { (void)state; fail_every_one(ATTEMPT_WALK); }
static void in_gaps(void **state) { (void)state; fail_every_one(ATTEMPT_GAPS); }
static void in_peaks(void **state) { (void)state; fail_every_one(ATTEMPT_PEAKS); }
static void in_counting(void **state) { (void)state; fail_every_one(ATTEMPT_COUNT); }
static void in_sketch(void **state) { (void)state; fail_every_one(ATTEMPT_SKETCH); }
static void in_distinct_sketch(void **state) { (void)state; fail_every_one(ATTEMPT_DISTINCT); }
static void in_best_first(void **state) { (void)state; fail_every_one(ATTEMPT_BEST); }
static void in_removal(void **state) { (void)state; fail_every_one(ATTEMPT_REMOVE); }
static void in_removal_from_any_run(void **state) { (void)state; fail_every_one(ATTEMPT_REMOVE_ANYWHERE); }
static void in_removal_by_asking(void **state) { (void)state; fail_every_one(ATTEMPT_REMOVE_WHERE); }
static void in_merge(void **state) { (void)state; fail_every_one(ATTEMPT_MERGE); }
static void in_repair(void **state) { (void)state; fail_every_one(ATTEMPT_REPAIR); }
static void in_check(void **state) { (void)state; fail_every_one(ATTEMPT_CHECK); }

static void in_the_forest(void **state)
{
	struct alloc_fault fault;
	struct iforest_forest forest;
	struct iforest_sample sample = { .has_value = true };
	uint64_t n = 0, count;

	(void)state;
	alloc_fault_init(&fault);
	iforest_forest_init(&forest, &iforest_monoid_count, &fault.alloc, IFOREST_GROW_BY_MOVING);
	while (n < 1000) { /* every second call fails, and is made again */
		enum iforest_status status;

		fault.fail_at = fault.n_calls % 2 == 0 ? fault.n_calls + 1 : 0;
		status = iforest_forest_append(&forest, &sample);
		assert_true(status == IFOREST_OK || status == IFOREST_NO_MEMORY);
		n += status == IFOREST_OK;
		assert_int_equal(forest.n_leaves, n);
		iforest_forest_fold(&forest, 0, n, &count);
		assert_int_equal(count, n);
	}
	iforest_forest_release(&forest);
	assert_int_equal(fault.n_live, 0);
}

/* A state that counts entries, of which there is nothing to be read. */
static void count_entries(void *context, uint64_t from, uint64_t to, void *state)
{
	(void)context;
	*(uint64_t *)state += to - from;
}

/* Each allocation of the growing forest, alone and with all that follow, of slots and of times. */
static void in_the_block_forest(void **state)
{
	static const int64_t time = 0;
	struct iforest_entries entries = { .fold = count_entries, .times = { &time, 0 } };

	(void)state;
	for (unsigned long nth = 1, n_calls = nth; nth <= n_calls; nth++)
		for (unsigned way = 0; way < 2; way++) {
			struct alloc_fault fault;
			struct iforest_block_forest blocks;
			uint64_t n_refused = 0, count;

			alloc_fault_init(&fault);
			fault.fail_at = nth;
			fault.fail_after = way;
			assert_ok(iforest_block_forest_init(&blocks, &iforest_monoid_count, &fault.alloc, IFOREST_GROW_BY_MOVING,
							    &entries, 2));
			for (uint64_t n = 0; n < 5000; n += 35) {
				uint64_t n_before = blocks.n_entries;
				enum iforest_status status = iforest_block_forest_extend(&blocks, n, 2);

				if (status) {
					assert_status(status, IFOREST_NO_MEMORY);
					assert_int_equal(blocks.n_entries, n_before);
					n_refused++;
					fault.fail_at = 0;
					iforest_block_forest_fold(&blocks, 0, n_before, &count);
					assert_int_equal(count, n_before);
					assert_ok(iforest_block_forest_extend(&blocks, n, 2)); /* with memory again */
				}
				iforest_block_forest_fold(&blocks, 0, n, &count);
				assert_int_equal(count, n);
			}
			assert_int_equal(n_refused, 1);
			n_calls = fault.n_calls - 1; /* without the one that was made again */
			iforest_block_forest_release(&blocks);
			assert_int_equal(fault.n_live, 0);
		}
}

static void in_a_series_key(void **state)
{
	struct alloc_fault fault;
	struct iforest_series_key key = { .alloc = &fault.alloc };
	struct iforest_by_value number = { .tag = IFOREST_BY_INTEGER, .integer = 7 };
	uint8_t before[64];

	(void)state;
	alloc_fault_init(&fault);
	fault.fail_at = 1;
	assert_status(iforest_series_key_append(&key, &number), IFOREST_NO_MEMORY);
	assert_int_equal(key.n_bytes, 0);
	assert_ok(iforest_series_key_append(&key, &number));
	assert_int_equal(key.n_bytes, 9);
	memcpy(before, key.bytes, key.n_bytes);
	fault.fail_at = fault.n_calls + 1;
	while (fault.n_calls < fault.fail_at) {
		uint32_t n_bytes = key.n_bytes;
		enum iforest_status status = iforest_series_key_append(&key, &number);

		assert_true(status == IFOREST_OK || (status == IFOREST_NO_MEMORY && key.n_bytes == n_bytes));
	}
	assert_memory_equal(key.bytes, before, 9);
	iforest_series_key_release(&key);
	assert_int_equal(fault.n_live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_build),
		cmocka_unit_test(in_reading_the_manifest),
		cmocka_unit_test(in_scan),
		cmocka_unit_test(in_extremes),
		cmocka_unit_test(in_pieces),
		cmocka_unit_test(in_overlap),
		cmocka_unit_test(in_longest),
		cmocka_unit_test(in_walk),
		cmocka_unit_test(in_gaps),
		cmocka_unit_test(in_peaks),
		cmocka_unit_test(in_counting),
		cmocka_unit_test(in_sketch),
		cmocka_unit_test(in_distinct_sketch),
		cmocka_unit_test(in_best_first),
		cmocka_unit_test(in_removal),
		cmocka_unit_test(in_removal_from_any_run),
		cmocka_unit_test(in_removal_by_asking),
		cmocka_unit_test(in_merge),
		cmocka_unit_test(in_repair),
		cmocka_unit_test(in_check),
		cmocka_unit_test(in_the_forest),
		cmocka_unit_test(in_the_block_forest),
		cmocka_unit_test(in_a_series_key),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
