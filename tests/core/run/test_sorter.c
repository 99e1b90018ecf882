#include "core/run/compact.h"
#include "core/run/sorter.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

static const struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 4, .kinds = "sf", .duration = 0 };

/* An index whose runs are made by sorting, and where batches wait. */
struct sorting {
	struct sample_index index, waiting;
	struct iforest_run_sorter *sort;
	struct iforest_run_writer *builder;
};

static void start(struct sorting *sorting)
{
	sample_start(&sorting->index, &shape);
	sample_start(&sorting->waiting, &shape);
	sorting->sort = malloc(sizeof *sorting->sort);
	sorting->builder = malloc(sizeof *sorting->builder);
	assert_true(sorting->sort && sorting->builder);
}

/* Nothing is left where batches waited. */
static void stop(struct sorting *sorting)
{
	assert_int_equal(iforest_pager_memory_total(&sorting->waiting.memory), 0);
	free(sorting->sort);
	free(sorting->builder);
	sample_stop(&sorting->waiting);
	sample_stop(&sorting->index);
}

/* Gives the entries of the group in any order, or as the oracle has them, that is as they came. */
static enum iforest_status add_group(struct sorting *sorting, struct random *dice, unsigned group, bool any_order)
{
	const struct oracle *oracle = &sorting->index.oracle;
	size_t n = 0, *order = malloc((oracle->n_entries + 1) * sizeof *order);
	enum iforest_status status = IFOREST_OK;

	assert_non_null(order);
	for (size_t i = 0; i < oracle->n_entries; i++)
		if (oracle->entries[i].run == group)
			order[n++] = i;
	for (size_t i = 0; i < n && !status; i++) {
		size_t j = any_order ? i + (size_t)random_below(dice, n - i) : i, taken = order[j];
		struct iforest_entry entry = sample_entry(&oracle->entries[taken]);

		order[j] = order[i];
		status = iforest_run_sorter_add(sorting->sort, &entry);
	}
	free(order);
	return status;
}

/* Builds the run of a group and publishes it. *n_batches waited. */
static enum iforest_status build_sorted(struct sorting *sorting, struct random *dice, unsigned group, bool any_order,
					size_t most_bytes, uint32_t *n_batches)
{
	struct sample_index *index = &sorting->index;
	struct iforest_run run = { .n_leaves = 0 };
	enum iforest_status status = iforest_run_writer_start(sorting->builder, &index->store, &index->manifest);

	if (status)
		return status;
	iforest_run_sorter_start(sorting->sort, &sorting->waiting.store, &index->manifest, most_bytes);
	status = add_group(sorting, dice, group, any_order);
	if (!status)
		status = iforest_run_sorter_finish(sorting->sort, sorting->builder);
	*n_batches = sorting->sort->n_runs;
	if (status)
		iforest_run_writer_abandon(sorting->builder);
	else
		status = iforest_run_writer_finish(sorting->builder, &run);
	iforest_run_sorter_release(sorting->sort);
	if (!status && run.n_leaves > 0) {
		index->run_ids[group] = run.place.run_id;
		status = sample_add_run(index, &run);
	}
	return status;
}

/* Memory for all entries, for some hundred, or for next to none. */
static void any_order_gives_a_sound_run(void **state)
{
	static const size_t sizes[] = { 1 << 20, 20000, 0 };

	(void)state;
	for (unsigned round = 0; round < random_rounds(60); round++) {
		struct random dice = random_from(random_seed() + round);
		struct sorting sorting;
		size_t n = random_below(&dice, random_chance(&dice, 30) ? 10 : 3000);
		unsigned size = (unsigned)random_below(&dice, COUNT_OF(sizes)), group;
		uint32_t n_batches;

		start(&sorting);
		sorting.index.seed = dice.seed;
		group = sample_entries(&sorting.index, &dice, n, 1 + (unsigned)random_below(&dice, 20),
				       (enum sample_times)random_below(&dice, SAMPLE_STYLES));
		assert_ok(build_sorted(&sorting, &dice, group, random_chance(&dice, 50), sizes[size], &n_batches));
		if (size == 0)
			assert_int_equal(n_batches, 0);
		if (size == 2)
			assert_int_equal(n_batches, n <= 64 ? 0 : n <= 3 * 64 ? 2 : n <= 7 * 64 ? 3 : n_batches);
		sample_check(&sorting.index);
		sample_compare_many(&sorting.index, &dice, 20);
		stop(&sorting);
	}
}

/* It is the run that sorted entries make, page for page but for the run's id. */
static void the_run_is_that_of_sorted_entries(void **state)
{
	struct random dice = random_from(random_seed());
	struct sorting sorting;
	struct iforest_run *runs;
	unsigned group;
	uint32_t n_batches;

	(void)state;
	start(&sorting);
	group = sample_entries(&sorting.index, &dice, 2500, 3, SAMPLE_STEADY);
	assert_ok(build_sorted(&sorting, &dice, group, true, 20000, &n_batches));
	assert_true(n_batches > 2);
	assert_ok(sample_build(&sorting.index, group));
	runs = sorting.index.manifest.runs;
	assert_int_equal(runs[0].n_leaves, runs[1].n_leaves);
	assert_memory_equal(runs[0].root, runs[1].root, sorting.index.manifest.fields.node_bytes);
	for (uint64_t i = 0; i < iforest_run_pages(&sorting.index.manifest, &runs[0]); i++) {
		uint32_t *n, *n_sorted;

		assert_non_null(iforest_pager_memory_bytes(&sorting.index.memory, runs[0].place.location, i, &n));
		assert_non_null(iforest_pager_memory_bytes(&sorting.index.memory, runs[1].place.location, i, &n_sorted));
		assert_int_equal(*n, *n_sorted);
	}
	assert_ok(iforest_manifest_commit(&sorting.index.manifest, &sorting.index.store,
					  &(struct iforest_edit){ .removed = &(uint64_t){ runs[1].place.run_id },
								  .n_removed = 1 }));
	stop(&sorting);
}

/* Each of several sorts leaves its batches; all of them are merged at once. */
static void batches_of_several_sorts_are_merged(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(20); round++) {
		struct random dice = random_from(random_seed() + round);
		struct iforest_run *runs = NULL, merged;
		struct sorting sorting;
		struct sample_index *index = &sorting.index;
		size_t n, n_runs = 0, n_expected = 0;
		unsigned group;

		start(&sorting);
		group = sample_entries(index, &dice, 1 + random_below(&dice, 3000), 1 + (unsigned)random_below(&dice, 20),
				       (enum sample_times)random_below(&dice, SAMPLE_STYLES));
		n = index->oracle.n_entries;
		for (size_t from = 0, to; from < n; from = to) {
			to = from + 1 + (size_t)random_below(&dice, n);
			to = to < n ? to : n;
			iforest_run_sorter_start(sorting.sort, &sorting.waiting.store, &index->manifest, 20000);
			for (size_t i = from; i < to; i++) {
				struct iforest_entry entry = sample_entry(&index->oracle.entries[i]);

				assert_ok(iforest_run_sorter_add(sorting.sort, &entry));
			}
			assert_ok(iforest_run_sorter_put_off(sorting.sort));
			assert_ok(iforest_run_sorter_put_off(sorting.sort)); /* nothing is left */
			n_expected += sorting.sort->n_runs;
			runs = realloc(runs, (n_runs + sorting.sort->n_runs) * sizeof *runs);
			assert_non_null(runs);
			memcpy(runs + n_runs, sorting.sort->runs, sorting.sort->n_runs * sizeof *runs);
			n_runs = n_expected;
			sorting.sort->n_runs = 0; /* they stay */
			iforest_run_sorter_release(sorting.sort);
		}
		assert_ok(iforest_run_writer_start(sorting.builder, &index->store, &index->manifest));
		assert_ok(iforest_compact_into(&sorting.waiting.store, &index->manifest, runs, (uint32_t)n_runs, sorting.builder));
		assert_ok(iforest_run_writer_finish(sorting.builder, &merged));
		for (size_t r = 0; r < n_runs; r++)
			assert_ok(sorting.waiting.store.pager->drop_run(sorting.waiting.store.pager->context, &runs[r].place,
									iforest_run_pages(&index->manifest, &runs[r])));
		free(runs);
		index->run_ids[group] = merged.place.run_id;
		assert_ok(sample_add_run(index, &merged));
		sample_check(index);
		sample_compare_many(index, &dice, 20);
		stop(&sorting);
	}
}

static void equal_keys_are_refused(void **state)
{
	(void)state;
	for (unsigned apart = 1; apart < 300; apart += 100) {
		struct random dice = random_from(random_seed() + apart);
		struct sorting sorting;
		unsigned group;
		uint32_t n_batches;

		start(&sorting);
		group = 0;
		for (int64_t i = 0; i < 500; i++)
			sample_append(&sorting.index, group, 0, i == 300 ? 300 - (int64_t)apart : i,
				      i == 300 ? 300 - (int64_t)apart : i);
		assert_status(build_sorted(&sorting, &dice, group, false, 0, &n_batches), IFOREST_UNORDERED);
		assert_int_equal(sorting.index.manifest.n_runs, 0);
		stop(&sorting);
	}
}

/* Breaks the n-th call of one kind. Returns whether it came to it. */
static bool breaks(unsigned kind, unsigned long n)
{
	struct random dice = random_from(random_seed());
	struct sorting sorting;
	unsigned group;
	uint32_t n_batches;
	bool came;
	enum iforest_status status;

	start(&sorting);
	group = sample_entries(&sorting.index, &dice, 700, 3, SAMPLE_STEADY);
	sorting.waiting.core_alloc.fail_at = kind == 0 ? sorting.waiting.core_alloc.n_calls + n : 0;
	sorting.index.core_alloc.fail_at = kind == 1 ? sorting.index.core_alloc.n_calls + n : 0;
	sorting.waiting.pager.fail_write_at = kind == 2 ? n : 0;
	sorting.waiting.pager.fail_get_at = kind == 3 ? n : 0;
	sorting.index.pager.fail_write_at = kind == 4 ? sorting.index.pager.n_writes + n : 0;
	status = build_sorted(&sorting, &dice, group, true, 0, &n_batches);
	came = kind == 0 ? sorting.waiting.core_alloc.n_calls >= sorting.waiting.core_alloc.fail_at :
	       kind == 1 ? sorting.index.core_alloc.n_calls >= sorting.index.core_alloc.fail_at :
	       kind == 2 ? sorting.waiting.pager.n_writes >= n :
	       kind == 3 ? sorting.waiting.pager.n_gets >= n :
			   sorting.index.pager.n_writes >= sorting.index.pager.fail_write_at;
	assert_int_equal(status != IFOREST_OK, came);
	sorting.waiting.core_alloc.fail_at = sorting.index.core_alloc.fail_at = 0;
	sorting.waiting.pager.fail_write_at = sorting.index.pager.fail_write_at = 0;
	if (came)
		assert_int_equal(sorting.index.manifest.n_runs, 0);
	else
		sample_compare_many(&sorting.index, &dice, 5);
	stop(&sorting);
	return came;
}

static void any_call_may_fail(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 5; kind++) {
		unsigned long n = 1;

		while (breaks(kind, n))
			n++;
		assert_true(n > 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order_gives_a_sound_run),
		cmocka_unit_test(the_run_is_that_of_sorted_entries),
		cmocka_unit_test(batches_of_several_sorts_are_merged),
		cmocka_unit_test(equal_keys_are_refused),
		cmocka_unit_test(any_call_may_fail),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
