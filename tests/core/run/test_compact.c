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

/* ---- the choice and the merge in one ---- */

/* Leaves one run alone, and gives the others ranges far from each other's, or the same one. */
struct engine {
	uint64_t left_alone;
	int64_t next;
	bool lie_apart;
	uint32_t n_asked;
};

static bool may_merge(void *context, const struct iforest_run *run, int64_t *low, int64_t *high)
{
	struct engine *engine = context;

	assert_true(*low == INT64_MIN && *high == INT64_MAX);
	engine->n_asked++;
	if (engine->lie_apart)
		*low = *high = engine->next++;
	return run->place.run_id != engine->left_alone;
}

/* Six runs of a size, of which five may be merged, four at a time. */
static void the_policy_is_applied_to_runs_that_may_be_merged(void **state)
{
	struct random dice = random_from(random_seed());
	struct sample_index index;
	struct engine engine = { .lie_apart = true };
	struct iforest_compaction compaction = { .settings = { .fan_in = 4, .cap_pages = 0, .most_pages = UINT64_MAX },
						 .may_merge = may_merge, .context = &engine };
	uint32_t n;
	uint64_t n_pages, most_pages;

	(void)state;
	sample_start(&index, &shape);
	for (unsigned g = 0; g < 6; g++)
		assert_ok(sample_build(&index, sample_entries(&index, &dice, 300, 2, SAMPLE_STEADY)));
	n_pages = iforest_run_pages(&index.manifest, &index.manifest.runs[0]);
	engine.left_alone = index.run_ids[2];
	/* above the cap and apart */
	assert_ok(iforest_compact_next(&index.store, &index.manifest, &compaction, &n));
	assert_int_equal(n, 0);
	assert_int_equal(engine.n_asked, 6);
	engine.lie_apart = false;
	/* too little for four */
	compaction.settings.most_pages = 3 * n_pages;
	assert_ok(iforest_compact_peek(&index.manifest, &compaction, &n));
	assert_int_equal(n, 0);
	compaction.settings.most_pages = most_pages = 10 * n_pages;
	assert_ok(iforest_compact_peek(&index.manifest, &compaction, &n));
	assert_int_equal(n, 5);
	assert_int_equal(index.manifest.n_runs, 6);
	assert_ok(iforest_compact_next(&index.store, &index.manifest, &compaction, &n));
	assert_int_equal(n, 5);
	assert_int_equal(index.manifest.n_runs, 2);
	assert_true(iforest_manifest_find(&index.manifest, engine.left_alone) < 2);
	assert_true(compaction.settings.most_pages < most_pages && compaction.settings.most_pages >= 4 * n_pages);
	sample_note_merge(&index, (const unsigned[]){ 0, 1, 3, 4, 5 }, 5);
	sample_check(&index);
	sample_compare_many(&index, &dice, 10);
	sample_stop(&index);
}

static void all_runs_become_one(void **state)
{
	struct random dice = random_from(random_seed());
	struct sample_index index;
	struct iforest_compaction compaction = { .to_one = true };
	uint32_t n;

	(void)state;
	sample_start(&index, &shape);
	assert_ok(iforest_compact_next(&index.store, &index.manifest, &compaction, &n));
	assert_int_equal(n, 0);
	for (unsigned g = 0; g < 3; g++)
		assert_ok(sample_build(&index, sample_entries(&index, &dice, 100 << 2 * g, 2, SAMPLE_STEADY)));
	assert_ok(iforest_compact_next(&index.store, &index.manifest, &compaction, &n));
	assert_int_equal(n, 3);
	sample_note_merge(&index, (const unsigned[]){ 0, 1, 2 }, 3);
	assert_ok(iforest_compact_next(&index.store, &index.manifest, &compaction, &n));
	assert_int_equal(n, 0);
	/* one with removed entries is written again */
	sample_remove(&index, &dice, 3, 10);
	assert_ok(iforest_compact_next(&index.store, &index.manifest, &compaction, &n));
	assert_int_equal(n, 1);
	sample_note_merge(&index, (const unsigned[]){ 3 }, 1);
	sample_check(&index);
	sample_compare_many(&index, &dice, 10);
	index.core_alloc.fail_at = index.core_alloc.n_calls + 1;
	assert_status(iforest_compact_next(&index.store, &index.manifest, &compaction, &n), IFOREST_NO_MEMORY);
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
		cmocka_unit_test(the_policy_is_applied_to_runs_that_may_be_merged),
		cmocka_unit_test(all_runs_become_one),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
