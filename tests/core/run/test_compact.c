#include "core/run/compact.h"

#include "core/run/remove.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

static const struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 4, .kinds = "sfp", .duration = 0 };

/* Runs that interleave, and in some rounds are partly or wholly removed. */
static void merged_runs_answer_as_before(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		struct random dice = random_from(random_seed() + round);
		struct sample_index index;
		unsigned groups[6], n_groups = 1 + (unsigned)random_below(&dice, 6), n_chosen = 0;

		sample_start(&index, &shape);
		index.seed = dice.seed;
		for (unsigned g = 0; g < n_groups; g++) {
			assert_ok(sample_build(&index, sample_entries(&index, &dice, 1 + random_below(&dice, 800), 4,
								      (enum sample_times)random_below(&dice, SAMPLE_STYLES))));
			sample_remove(&index, &dice, g, random_chance(&dice, 20) ? 100 : (unsigned)random_below(&dice, 50));
			if (random_chance(&dice, 70))
				groups[n_chosen++] = g;
		}
		if (n_chosen > 0) {
			unsigned merged = sample_merge(&index, groups, n_chosen);

			if (sample_run(&index, merged) < index.manifest.n_runs)
				assert_int_equal(iforest_node_dead(index.manifest.runs[sample_run(&index, merged)].root), 0);
		}
		assert_ok(sample_reread(&index));
		sample_check(&index);
		sample_compare_many(&index, &dice, 30);
		sample_stop(&index);
	}
}

static void old_pages_are_given_back(void **state)
{
	struct random dice = random_from(random_seed());
	struct sample_index index;
	uint64_t n_bytes = 0;

	(void)state;
	sample_start(&index, &shape);
	for (unsigned g = 0; g < 3; g++)
		assert_ok(sample_build(&index, sample_entries(&index, &dice, 500, 2, SAMPLE_STEADY)));
	sample_merge(&index, (const unsigned[]){ 0, 1, 2 }, 3);
	assert_int_equal(index.manifest.n_runs, 1);
	for (uint64_t i = 0; i < iforest_run_pages(&index.manifest, &index.manifest.runs[0]); i++) {
		uint32_t *n;

		assert_non_null(iforest_pager_memory_bytes(&index.memory, index.manifest.runs[0].place.location, i, &n));
		n_bytes += *n;
	}
	assert_int_equal(iforest_pager_memory_total(&index.memory), n_bytes);
	sample_stop(&index);
}

static void nothing_live_leaves_no_run(void **state)
{
	struct random dice = random_from(random_seed());
	struct sample_index index;

	(void)state;
	sample_start(&index, &shape);
	for (unsigned g = 0; g < 2; g++) {
		assert_ok(sample_build(&index, sample_entries(&index, &dice, 300, 2, SAMPLE_STEADY)));
		sample_remove(&index, &dice, g, 100);
	}
	sample_merge(&index, (const unsigned[]){ 0, 1 }, 2);
	assert_int_equal(index.manifest.n_runs, 0);
	assert_int_equal(iforest_pager_memory_total(&index.memory), 0);
	sample_compare_many(&index, &dice, 10);
	sample_stop(&index);
}

/* One run alone: what was removed goes, the rest stays. */
static void rewriting_one_run(void **state)
{
	struct random dice = random_from(random_seed());
	struct sample_index index;
	uint64_t n_bytes;

	(void)state;
	sample_start(&index, &shape);
	assert_ok(sample_build(&index, sample_entries(&index, &dice, 2000, 2, SAMPLE_STEADY)));
	n_bytes = iforest_pager_memory_total(&index.memory);
	sample_remove(&index, &dice, 0, 60);
	sample_merge(&index, (const unsigned[]){ 0 }, 1);
	assert_true(iforest_pager_memory_total(&index.memory) < n_bytes * 6 / 10);
	sample_check(&index);
	sample_stop(&index);
}

/* Retention: the older nine tenths were removed; rewriting reads the rest alone. */
static void what_is_dead_is_not_read(void **state)
{
	struct random dice = random_from(random_seed());
	struct sample_index index;
	struct sample_remover remover;
	uint64_t n_gets, n_pages;

	(void)state;
	sample_start(&index, &shape);
	assert_ok(sample_build(&index, sample_entries(&index, &dice, 4000, 1, SAMPLE_STEADY)));
	n_pages = iforest_run_pages(&index.manifest, &index.manifest.runs[0]);
	sample_remover_start(&remover, &index, 0);
	for (size_t k = 0; k < remover.n_live; k++)
		remover.goes[k] = k < remover.n_live * 9 / 10;
	sample_remove_where(&index, 0, &remover);
	sample_remover_stop(&remover);
	n_gets = index.memory.n_gets;
	sample_merge(&index, (const unsigned[]){ 0 }, 1);
	assert_true(index.memory.n_gets - n_gets < n_pages / 6);
	sample_check(&index);
	sample_compare_many(&index, &dice, 10);
	sample_stop(&index);
}

static void what_was_merged_is_told(void **state)
{
	struct random dice = random_from(random_seed());
	struct sample_index index;
	struct iforest_run merged = { .n_leaves = 77 };
	uint64_t n_bytes;

	(void)state;
	sample_start(&index, &shape);
	for (unsigned g = 0; g < 3; g++)
		assert_ok(sample_build(&index, sample_entries(&index, &dice, 300, 2, SAMPLE_STEADY)));
	n_bytes = iforest_pager_memory_total(&index.memory);
	assert_status(iforest_compact(&index.store, &index.manifest, (const uint64_t[]){ index.run_ids[0], 5 }, 2, &merged),
		      IFOREST_NOT_FOUND);
	assert_true(merged.n_leaves == 77 && index.manifest.n_runs == 3 &&
		    iforest_pager_memory_total(&index.memory) == n_bytes);
	/* in any order */
	assert_ok(iforest_compact(&index.store, &index.manifest, (const uint64_t[]){ index.run_ids[2], index.run_ids[0] }, 2,
				     &merged));
	assert_int_equal(index.manifest.n_runs, 2);
	assert_true(index.manifest.runs[1].place.run_id == merged.place.run_id && iforest_node_rows(merged.root) == 600);
	sample_note_merge(&index, (const unsigned[]){ 0, 2 }, 2);
	sample_remove(&index, &dice, 1, 100);
	assert_ok(iforest_compact(&index.store, &index.manifest, (const uint64_t[]){ index.run_ids[1] }, 1, &merged));
	assert_int_equal(merged.n_leaves, 0);
	sample_note_merge(&index, (const unsigned[]){ 1 }, 1);
	sample_compare_many(&index, &dice, 10);
	sample_stop(&index);
}

/* The same live key in two runs is a contradiction; where one of them is removed it is an update. */
static void a_key_may_live_in_one_run_only(void **state)
{
	struct random dice = random_from(random_seed());
	struct sample_index index;

	(void)state;
	sample_start(&index, &shape);
	for (unsigned g = 0; g < 2; g++) {
		for (int64_t i = 0; i < 100; i++)
			sample_append(&index, g, 0, i == 50 ? 50 : i * 2 + g, i == 50 ? 7 : i * 2 + g);
		assert_ok(sample_build(&index, g));
	}
	assert_status(sample_try_merge(&index, (const unsigned[]){ 0, 1 }, 2), IFOREST_UNORDERED);
	assert_ok(sample_reread(&index));
	assert_int_equal(index.manifest.n_runs, 2);
	sample_check(&index);
	sample_remove(&index, &dice, 0, 100);
	sample_merge(&index, (const unsigned[]){ 0, 1 }, 2);
	assert_int_equal(iforest_node_rows(index.manifest.runs[0].root), 100);
	sample_stop(&index);
}

/* Merging reads leaf pages only, so a run whose removal was cut off comes out right. */
static void merging_heals_a_run_that_needs_repair(void **state)
{
	struct random dice = random_from(random_seed());
	struct sample_index index;
	struct iforest_key *keys;
	size_t *picked, n;

	(void)state;
	sample_start(&index, &shape);
	assert_ok(sample_build(&index, sample_entries(&index, &dice, 1000, 2, SAMPLE_STEADY)));
	n = sample_pick(&index, &dice, 0, 50, &keys, &picked);
	index.pager.fail_write_at = index.pager.n_writes + 3;
	assert_status(iforest_run_remove(&index.store, &index.manifest, index.run_ids[0], keys, n), IFOREST_IO);
	assert_ok(sample_reread(&index));
	assert_true(index.manifest.runs[0].removal_in_progress);
	assert_ok(sample_note_removed(&index, 0, keys, picked, n));
	sample_merge(&index, (const unsigned[]){ 0 }, 1);
	sample_check(&index);
	sample_compare_many(&index, &dice, 10);
	free(keys);
	free(picked);
	sample_stop(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merged_runs_answer_as_before),
		cmocka_unit_test(old_pages_are_given_back),
		cmocka_unit_test(nothing_live_leaves_no_run),
		cmocka_unit_test(rewriting_one_run),
		cmocka_unit_test(what_is_dead_is_not_read),
		cmocka_unit_test(what_was_merged_is_told),
		cmocka_unit_test(a_key_may_live_in_one_run_only),
		cmocka_unit_test(merging_heals_a_run_that_needs_repair),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
