/* Every allocation of every operation fails, alone and with all that follow. The operation then says "out of memory", leaks
 * nothing, and what is published answers as before; with memory again, the operation succeeds. */
#include <stdlib.h>
#include <string.h>

#include "core/check.h"
#include "core/forest.h"
#include "core/run_remove.h"
#include "core/scan.h"
#include "core/series.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

static const struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 3, .kinds = "if", .duration = 0 };

struct attempt {
	struct sample_index *index;
	struct iforest_key *keys;
	size_t *picked, n_picked;
};

static enum iforest_status build(struct attempt *attempt)
{
	return sample_build(attempt->index, 2);
}

static enum iforest_status reread(struct attempt *attempt)
{
	return sample_reread(attempt->index);
}

static enum iforest_status scan(struct attempt *attempt)
{
	struct iforest_scan scan;
	struct iforest_aggregate aggregate;
	int64_t bucket;
	bool found = true;
	enum iforest_status status = iforest_scan_init(&scan, &attempt->index->store, &attempt->index->manifest);

	if (status)
		return status;
	scan.bucketing = (struct iforest_bucketing){ .mode = IFOREST_STEP, .step = 1000 };
	scan.wanted = (struct iforest_wanted){ .values = 3, .firsts = 3, .lasts = 3, .times = true, .node_fields = true };
	status = iforest_scan_start(&scan, 1);
	while (!status && found)
		status = iforest_scan_next(&scan, &bucket, &aggregate, &found);
	iforest_scan_release(&scan);
	return status;
}

static enum iforest_status removal(struct attempt *attempt)
{
	struct sample_index *index = attempt->index;

	return iforest_run_remove(&index->store, &index->manifest, sample_run(index, 0), attempt->keys, attempt->n_picked);
}

static enum iforest_status merge(struct attempt *attempt)
{
	return sample_try_merge(attempt->index, (const unsigned[]){ 0, 1 }, 2);
}

static enum iforest_status repair(struct attempt *attempt)
{
	return iforest_run_repair(&attempt->index->store, &attempt->index->manifest, 0);
}

static enum iforest_status check(struct attempt *attempt)
{
	struct iforest_check_result result;

	return iforest_check(&attempt->index->store, &attempt->index->manifest, &result);
}

/* With memory again: what is published is sound, after repair if it asks for one. */
static void recover(struct attempt *attempt)
{
	struct sample_index *index = attempt->index;

	assert_ok(sample_reread(index));
	for (uint32_t r = 0; r < index->manifest.n_runs; r++)
		if (index->manifest.runs[r].removal_in_progress)
			assert_ok(iforest_run_repair(&index->store, &index->manifest, r));
	if (sample_run(index, 0) < index->manifest.n_runs)
		assert_ok(sample_note_removed(index, 0, attempt->keys, attempt->picked, attempt->n_picked));
	assert_ok(check(attempt));
}

/* One allocation of one operation. Returns false once the operation has fewer allocations than that. */
static bool fail_once(enum iforest_status (*operation)(struct attempt *), bool of_pager, bool fail_after, unsigned long nth)
{
	struct sample_index index;
	struct random dice = random_from(random_seed());
	struct attempt attempt = { .index = &index };
	struct alloc_fault *fault = of_pager ? &index.pager_alloc : &index.core_alloc;
	enum iforest_status status;

	sample_start(&index, &shape);
	for (unsigned g = 0; g < 3; g++)
		sample_entries(&index, &dice, 150, 2, SAMPLE_STEADY);
	assert_ok(sample_build(&index, 0));
	assert_ok(sample_build(&index, 1));
	attempt.n_picked = sample_pick(&index, &dice, 0, 10, &attempt.keys, &attempt.picked);
	fault->fail_after = fail_after;
	fault->fail_at = fault->n_calls + nth;
	status = operation(&attempt);
	assert_int_equal(status != IFOREST_OK, fault->n_calls >= fault->fail_at);
	assert_true(status == IFOREST_OK || status == IFOREST_NO_MEMORY);
	assert_int_equal(index.memory.n_pages_held, 0);
	fault->fail_at = 0;
	if (status)
		recover(&attempt);
	free(attempt.keys);
	free(attempt.picked);
	sample_stop(&index);
	return status != IFOREST_OK;
}

static void fail_every_one(enum iforest_status (*operation)(struct attempt *))
{
	for (unsigned way = 0; way < 4; way++) {
		unsigned long nth = 1;

		while (fail_once(operation, way & 1, way & 2, nth))
			nth++;
		assert_true(nth > 1 || (way & 1 && operation == reread)); /* reading a manifest needs no page */
	}
}

static void in_build(void **state) { (void)state; fail_every_one(build); }
static void in_reading_the_manifest(void **state) { (void)state; fail_every_one(reread); }
static void in_scan(void **state) { (void)state; fail_every_one(scan); }
static void in_removal(void **state) { (void)state; fail_every_one(removal); }
static void in_merge(void **state) { (void)state; fail_every_one(merge); }
static void in_repair(void **state) { (void)state; fail_every_one(repair); }
static void in_check(void **state) { (void)state; fail_every_one(check); }

static void in_the_forest(void **state)
{
	struct alloc_fault fault;
	struct iforest_forest forest;
	struct iforest_sample sample = { .has_value = true };
	uint64_t n = 0, count;

	(void)state;
	alloc_fault_init(&fault);
	iforest_forest_init(&forest, &iforest_kind_count, &fault.alloc);
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

static void in_a_series_key(void **state)
{
	struct alloc_fault fault;
	struct iforest_series_key key = { .alloc = &fault.alloc };
	struct iforest_by_value number = { .tag = IFOREST_BY_INTEGER, .integer = 7 };
	uint8_t before[64];

	(void)state;
	alloc_fault_init(&fault);
	fault.fail_at = 1;
	assert_status(iforest_series_append(&key, &number), IFOREST_NO_MEMORY);
	assert_int_equal(key.n_bytes, 0);
	assert_ok(iforest_series_append(&key, &number));
	assert_int_equal(key.n_bytes, 9);
	memcpy(before, key.bytes, key.n_bytes);
	fault.fail_at = fault.n_calls + 1;
	while (fault.n_calls < fault.fail_at) {
		uint32_t n_bytes = key.n_bytes;
		enum iforest_status status = iforest_series_append(&key, &number);

		assert_true(status == IFOREST_OK || (status == IFOREST_NO_MEMORY && key.n_bytes == n_bytes));
	}
	assert_memory_equal(key.bytes, before, 9);
	iforest_series_release(&key);
	assert_int_equal(fault.n_live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_build),
		cmocka_unit_test(in_reading_the_manifest),
		cmocka_unit_test(in_scan),
		cmocka_unit_test(in_removal),
		cmocka_unit_test(in_merge),
		cmocka_unit_test(in_repair),
		cmocka_unit_test(in_check),
		cmocka_unit_test(in_the_forest),
		cmocka_unit_test(in_a_series_key),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
