/* Every write and every publish of a build, a removal, a merge and a repair fails or is torn, each in its turn, as if the machine
 * went off there. What was published last must then
 *   answer as before the operation or as after it, or
 *   say by itself that it needs repair, and be right once repaired, or
 *   where a page was torn: name that page as corrupt.
 * Never a wrong answer, a leak or a page held. */
#include <stdlib.h>
#include <string.h>

#include "core/check.h"
#include "core/cursor.h"
#include "core/run_merge.h"
#include "core/run_remove.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

enum operation { BUILD, REMOVE, MERGE, REPAIR, N_OPERATIONS };
enum outcome { COMPLETED, FAILED };

static const struct sample_shape shapes[] = {
	{ .page_bytes = 1024, .max_batch_pages = 1, .kinds = "i", .duration = 0 },
	{ .page_bytes = 1024, .max_batch_pages = 4, .fixed_pages = true, .kinds = "if", .duration = 0, .has_blocks = true },
};

/* Two runs of several levels, one with removed entries, and a third that waits to be built. */
static void start(struct sample_index *index, const struct sample_shape *shape, struct random *dice)
{
	sample_start(index, shape);
	for (unsigned g = 0; g < 3; g++)
		sample_entries(index, dice, 900, 3, SAMPLE_MIXED);
	assert_ok(sample_build(index, 0));
	assert_ok(sample_build(index, 1));
	sample_remove(index, dice, 1, 30);
}

/* A failing operation, and what it would have removed. */
struct attempt {
	enum operation operation;
	struct iforest_key *keys;
	size_t *picked, n_picked;
};

static enum iforest_status operate(struct sample_index *index, struct attempt *attempt)
{
	static const unsigned both[] = { 0, 1 };

	switch (attempt->operation) {
	case BUILD: return sample_build(index, 2);
	case REMOVE:
		return iforest_run_remove(&index->store, &index->manifest, sample_run(index, 0), attempt->keys, attempt->n_picked);
	case MERGE: return sample_try_merge(index, both, 2);
	default: return iforest_run_repair(&index->store, &index->manifest, sample_run(index, 0));
	}
}

/* What the oracle must say now: entries of the run that was not built are out; of the picked ones those that are dead. */
static bool is_there(const struct sample_index *index, const struct oracle_entry *entry)
{
	return entry->run != 2 || sample_run(index, 2) < index->manifest.n_runs;
}

static void forget_unbuilt(struct sample_index *index)
{
	size_t n = 0;

	for (size_t i = 0; i < index->oracle.n_entries; i++)
		if (is_there(index, &index->oracle.entries[i]))
			index->oracle.entries[n++] = index->oracle.entries[i];
	index->oracle.n_entries = n;
}

static bool is_marked(const struct sample_index *index)
{
	for (uint32_t r = 0; r < index->manifest.n_runs; r++)
		if (index->manifest.runs[r].removal_in_progress)
			return true;
	return false;
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
static void recover(struct sample_index *index, struct attempt *attempt, struct random *dice)
{
	struct iforest_check_result result;
	enum iforest_status status = sample_reread(index);

	if (status) { /* a torn manifest: where publishing is not atomic there is nothing to fall back on */
		assert_status(status, IFOREST_CORRUPT);
		assert_int_equal(index->pager.mode, PAGER_FAULT_TEARS);
		return;
	}
	for (uint32_t r = 0; r < index->manifest.n_runs && !status; r++)
		if (index->manifest.runs[r].removal_in_progress) {
			assert_status(iforest_check(&index->store, &index->manifest, &result), IFOREST_CORRUPT);
			status = iforest_run_repair(&index->store, &index->manifest, r);
		}
	if (!status && attempt->operation == REMOVE)
		status = sample_note_removed(index, 0, attempt->keys, attempt->picked, attempt->n_picked);
	if (!status)
		status = iforest_check(&index->store, &index->manifest, &result);
	if (status) {
		assert_names_torn_page(index, status);
		return;
	}
	assert_false(is_marked(index));
	if (iforest_manifest_find(&index->manifest, index->run_ids[0]) == index->manifest.n_runs)
		sample_note_merge(index, (const unsigned[]){ 0, 1 }, 2);
	forget_unbuilt(index);
	sample_check(index);
	sample_compare_many(index, dice, 3);
}

/* Breaks the n-th write of the operation. */
static enum outcome crash(const struct sample_shape *shape, enum operation operation, enum pager_fault_mode mode,
			  bool stays_down, uint64_t nth)
{
	struct sample_index index;
	struct random dice = random_from(random_seed());
	struct attempt attempt = { .operation = operation };
	enum outcome outcome;

	start(&index, shape, &dice);
	index.seed = dice.seed;
	attempt.n_picked = sample_pick(&index, &dice, 0, 5, &attempt.keys, &attempt.picked);
	index.pager.mode = mode;
	index.pager.stays_down = stays_down;
	index.pager.fail_write_at = index.pager.n_writes + nth;
	outcome = operate(&index, &attempt) ? FAILED : COMPLETED;
	assert_int_equal(outcome == FAILED, index.pager.n_writes >= index.pager.fail_write_at);
	assert_int_equal(index.memory.n_pages_held, 0);
	index.pager.is_down = false;
	index.pager.fail_write_at = 0;
	recover(&index, &attempt, &dice);
	free(attempt.keys);
	free(attempt.picked);
	sample_stop(&index);
	return outcome;
}

static void crash_everywhere(enum operation operation)
{
	for (unsigned s = 0; s < COUNT_OF(shapes); s++)
		for (unsigned way = 0; way < 4; way++) {
			uint64_t nth = 1;

			while (crash(&shapes[s], operation, way & 1 ? PAGER_FAULT_TEARS : PAGER_FAULT_FAILS, way & 2, nth) == FAILED)
				nth++;
			assert_true(nth > 5); /* else the operation is too small to say anything */
		}
}

static void while_building(void **state) { (void)state; crash_everywhere(BUILD); }
static void while_removing(void **state) { (void)state; crash_everywhere(REMOVE); }
static void while_merging(void **state) { (void)state; crash_everywhere(MERGE); }
static void while_repairing(void **state) { (void)state; crash_everywhere(REPAIR); }

/* A merge that fails before it commits leaves no pages that nobody names. */
static void a_failed_merge_gives_its_pages_back(void **state)
{
	(void)state;
	for (uint64_t nth = 1;; nth++) {
		struct sample_index index;
		struct random dice = random_from(random_seed());
		uint64_t n_bytes;
		enum iforest_status status;

		start(&index, &shapes[0], &dice);
		n_bytes = iforest_pager_memory_total(&index.memory);
		index.pager.fail_write_at = index.pager.n_writes + nth;
		status = sample_try_merge(&index, (const unsigned[]){ 0, 1 }, 2);
		if (status)
			assert_int_equal(iforest_pager_memory_total(&index.memory), n_bytes);
		sample_stop(&index);
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
		struct attempt attempt = { .operation = REMOVE };

		start(&index, &shapes[0], &dice);
		attempt.n_picked = sample_pick(&index, &dice, 0, 5, &attempt.keys, &attempt.picked);
		index.pager.fail_write_at = index.pager.n_writes + nth;
		(void)operate(&index, &attempt);
		index.pager.fail_write_at = 0;
		assert_ok(sample_reread(&index));
		assert_ok(sample_note_removed(&index, 0, attempt.keys, attempt.picked, attempt.n_picked));
		sample_remove(&index, &dice, 0, 1);
		forget_unbuilt(&index);
		if (!is_marked(&index)) {
			sample_check(&index);
			sample_compare_many(&index, &dice, 3);
		}
		free(attempt.keys);
		free(attempt.picked);
		sample_stop(&index);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(while_building),
		cmocka_unit_test(while_removing),
		cmocka_unit_test(while_merging),
		cmocka_unit_test(while_repairing),
		cmocka_unit_test(a_failed_merge_gives_its_pages_back),
		cmocka_unit_test(removing_again_without_repair_is_safe),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
