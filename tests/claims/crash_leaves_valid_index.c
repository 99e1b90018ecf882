/* Every write and every publish of a build, a removal by keys or by asking, a merge and a repair fails or is torn, each in
 * its turn, as if the machine went off there. What was published last must then
 *   answer as before the operation or as after it, or
 *   say by itself that it needs repair, and be right once repaired, or
 *   where a page was torn: name that page as corrupt.
 * Never a wrong answer, a leak or a page held. */
#include "tests/support/attempt.h"
#include "tests/support/harness.h"

enum outcome { COMPLETED, FAILED };

static const struct sample_shape shapes[] = {
	{ .page_bytes = 1024, .max_batch_pages = 1, .kinds = "i", .duration = 0 },
	{ .page_bytes = 1024, .max_batch_pages = 4, .fixed_pages = true, .kinds = "if", .duration = 0, .has_blocks = true },
};

/* Runs of several levels. */
static void start(struct attempt *attempt, enum attempt_kind kind, struct sample_index *index, const struct sample_shape *shape,
		  struct random *dice)
{
	attempt_start(attempt, kind, index, shape, 900, 3, SAMPLE_MIXED, dice);
}

/* IFOREST_CORRUPT is honest only after a torn write, and only if it says where. */
static void assert_names_torn_page(struct sample_index *index, enum iforest_status status)
{
	assert_status(status, IFOREST_CORRUPT);
	assert_int_equal(index->pager.mode, PAGER_FAULT_TEARS);
	assert_non_null(index->store.fault.what);
	assert_true(iforest_manifest_find(&index->manifest, index->store.fault.run_id) < index->manifest.n_runs);
}

/* The machine is on again: reads what was published, repairs what asks for it, and asks. */
static void recover(struct attempt *attempt, struct random *dice)
{
	struct sample_index *index = attempt->index;
	enum iforest_status status = sample_reread(index);

	if (status) { /* a torn manifest: where publishing is not atomic there is nothing to fall back on */
		assert_status(status, IFOREST_CORRUPT);
		assert_int_equal(index->pager.mode, PAGER_FAULT_TEARS);
		return;
	}
	status = attempt_recover(attempt);
	if (status)
		assert_names_torn_page(index, status);
	else
		sample_compare_many(index, dice, 3);
}

/* Breaks the n-th write of the operation. */
static enum outcome crash(const struct sample_shape *shape, enum attempt_kind kind, enum pager_fault_mode mode,
			  bool stays_down, uint64_t nth)
{
	struct sample_index index;
	struct random dice = random_from(random_seed());
	struct attempt attempt;
	enum outcome outcome;

	start(&attempt, kind, &index, shape, &dice);
	index.pager.mode = mode;
	index.pager.stays_down = stays_down;
	index.pager.fail_write_at = index.pager.n_writes + nth;
	outcome = attempt_run(&attempt) ? FAILED : COMPLETED;
	assert_int_equal(outcome == FAILED, index.pager.n_writes >= index.pager.fail_write_at);
	assert_int_equal(index.memory.n_pages_pinned, 0);
	index.pager.is_down = false;
	index.pager.fail_write_at = 0;
	recover(&attempt, &dice);
	attempt_stop(&attempt);
	return outcome;
}

static void crash_everywhere(enum attempt_kind kind)
{
	for (unsigned s = 0; s < COUNT_OF(shapes); s++)
		for (unsigned way = 0; way < 4; way++) {
			uint64_t nth = 1;

			while (crash(&shapes[s], kind, way & 1 ? PAGER_FAULT_TEARS : PAGER_FAULT_FAILS, way & 2, nth) == FAILED)
				nth++;
			assert_true(nth > 5); /* else the operation is too small to say anything */
		}
}

static void while_building(void **state) { (void)state; crash_everywhere(ATTEMPT_BUILD); }
static void while_removing(void **state) { (void)state; crash_everywhere(ATTEMPT_REMOVE); }
static void while_removing_from_any_run(void **state) { (void)state; crash_everywhere(ATTEMPT_REMOVE_ANYWHERE); }
static void while_removing_by_asking(void **state) { (void)state; crash_everywhere(ATTEMPT_REMOVE_WHERE); }
static void while_merging(void **state) { (void)state; crash_everywhere(ATTEMPT_MERGE); }
static void while_repairing(void **state) { (void)state; crash_everywhere(ATTEMPT_REPAIR); }

/* A merge that fails before it commits leaves no pages that nobody names. */
static void a_failed_merge_gives_its_pages_back(void **state)
{
	(void)state;
	for (uint64_t nth = 1;; nth++) {
		struct sample_index index;
		struct random dice = random_from(random_seed());
		struct attempt attempt;
		uint64_t n_bytes;
		enum iforest_status status;

		start(&attempt, ATTEMPT_MERGE, &index, &shapes[0], &dice);
		n_bytes = iforest_pager_memory_total(&index.memory);
		index.pager.fail_write_at = index.pager.n_writes + nth;
		status = attempt_run(&attempt);
		if (status)
			assert_int_equal(iforest_pager_memory_total(&index.memory), n_bytes);
		attempt_stop(&attempt);
		if (!status)
			break;
	}
}

/* A run whose removal was cut off: removing more must not pass off its old nodes as true. */
static void removing_again_without_repair_is_safe(void **state)
{
	(void)state;
	for (uint64_t nth = 1; nth < 100; nth += 3) {
		struct sample_index index;
		struct random dice = random_from(random_seed() + nth);
		struct attempt attempt;

		start(&attempt, ATTEMPT_REMOVE, &index, &shapes[0], &dice);
		index.pager.fail_write_at = index.pager.n_writes + nth;
		(void)attempt_run(&attempt);
		index.pager.fail_write_at = 0;
		assert_ok(sample_reread(&index));
		assert_ok(sample_note_removed(&index, 0, attempt.keys, attempt.picked, attempt.n_picked));
		sample_remove(&index, &dice, 0, 1);
		if (!attempt_is_marked(&index)) {
			assert_ok(attempt_recover(&attempt));
			sample_compare_many(&index, &dice, 3);
		}
		attempt_stop(&attempt);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(while_building),
		cmocka_unit_test(while_removing),
		cmocka_unit_test(while_removing_from_any_run),
		cmocka_unit_test(while_removing_by_asking),
		cmocka_unit_test(while_merging),
		cmocka_unit_test(while_repairing),
		cmocka_unit_test(a_failed_merge_gives_its_pages_back),
		cmocka_unit_test(removing_again_without_repair_is_safe),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
