#include "core/run/remove.h"

#include <stdlib.h>
#include <string.h>

#include "core/run/check.h"
#include "core/run/layout.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

static const struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 2, .kinds = "shp", .duration = 0 };

static void start(struct sample_index *index, struct random *dice, size_t n)
{
	*dice = random_from(random_seed());
	sample_start(index, &shape);
	index->seed = dice->seed;
	sample_entries(index, dice, n, 3, SAMPLE_STEADY);
	assert_ok(sample_build(index, 0));
}

static enum iforest_status remove_keys(struct sample_index *index, const struct iforest_key *keys, uint64_t n)
{
	return iforest_run_remove(&index->store, &index->manifest, index->run_ids[0], keys, n);
}

/* Batch after batch until nothing is left; each gives the run a new generation. */
static void until_the_run_is_empty(void **state)
{
	struct sample_index index;
	struct random dice;
	size_t n_left;

	(void)state;
	start(&index, &dice, 2000);
	do {
		uint64_t generation = index.manifest.runs[0].place.generation;
		struct iforest_key *keys;
		size_t *picked;

		sample_remove(&index, &dice, 0, 40);
		assert_true(index.manifest.runs[0].place.generation != generation);
		assert_false(index.manifest.runs[0].removal_in_progress);
		sample_check(&index);
		sample_compare_many(&index, &dice, 10);
		n_left = sample_pick(&index, &dice, 0, 100, &keys, &picked);
		if (n_left < 10 && n_left > 0) {
			assert_ok(remove_keys(&index, keys, n_left));
			n_left = 0;
		}
		free(keys);
		free(picked);
	} while (n_left > 0);
	assert_ok(sample_reread(&index));
	assert_int_equal(iforest_node_rows(index.manifest.runs[0].root), 0);
	assert_int_equal(iforest_node_dead(index.manifest.runs[0].root), 2000);
	sample_stop(&index);
}

/* What is not there cannot be removed, and then nothing at all is. */
static void unknown_keys_are_refused_before_anything_is_written(void **state)
{
	struct sample_index index;
	struct random dice;
	struct iforest_key *keys, kept;
	size_t *picked, n;
	uint64_t n_writes;

	(void)state;
	start(&index, &dice, 300);
	n = sample_pick(&index, &dice, 0, 100, &keys, &picked);
	n_writes = index.memory.n_writes;
	for (unsigned change = 0; change < 4; change++) {
		size_t i = n - 1;

		kept = keys[i];
		switch (change) {
		case 0: keys[i].ref = kept.ref ^ 1 << 20; break;
		case 1: keys[i].time = kept.time + 1; break;
		case 2: keys[i].series = kept.series + 1; break;
		default: keys[i] = iforest_key_nulls(kept.series + 5); break;
		}
		if (iforest_key_compare(&keys[i - 1], &keys[i]) < 0)
			assert_status(remove_keys(&index, keys, n), IFOREST_NOT_FOUND);
		keys[i] = kept;
	}
	assert_int_equal(index.memory.n_writes, n_writes);
	assert_ok(remove_keys(&index, keys, 1));
	n_writes = index.memory.n_writes;
	assert_status(remove_keys(&index, keys, 1), IFOREST_NOT_FOUND); /* removed already */
	assert_status(remove_keys(&index, keys, 2), IFOREST_NOT_FOUND);
	assert_int_equal(index.memory.n_writes, n_writes);
	free(keys);
	free(picked);
	sample_stop(&index);
}

static void keys_must_ascend(void **state)
{
	struct sample_index index;
	struct random dice;
	struct iforest_key *keys, twice[2];
	size_t *picked;
	uint64_t n_writes;

	(void)state;
	start(&index, &dice, 50);
	sample_pick(&index, &dice, 0, 100, &keys, &picked);
	n_writes = index.memory.n_writes;
	twice[0] = twice[1] = keys[3];
	assert_status(remove_keys(&index, twice, 2), IFOREST_UNORDERED);
	twice[1] = keys[2];
	assert_status(remove_keys(&index, twice, 2), IFOREST_UNORDERED);
	assert_ok(remove_keys(&index, keys, 0));
	assert_int_equal(index.memory.n_writes, n_writes);
	free(keys);
	free(picked);
	sample_stop(&index);
}

/* Entries never move: pages keep their length and place. */
static void pages_keep_their_size(void **state)
{
	struct sample_index index;
	struct random dice;
	uint64_t n_bytes;

	(void)state;
	start(&index, &dice, 1500);
	n_bytes = iforest_pager_memory_total(&index.memory);
	sample_remove(&index, &dice, 0, 70);
	assert_int_equal(iforest_pager_memory_total(&index.memory), n_bytes);
	sample_stop(&index);
}

/* Nodes that are lies: repair makes them true again. */
static void repair_computes_every_node_anew(void **state)
{
	struct sample_index index;
	struct random dice;
	struct iforest_check_result result;
	struct iforest_key *keys;
	size_t *picked, n;
	uint64_t generation;

	(void)state;
	start(&index, &dice, 1500);
	sample_remove(&index, &dice, 0, 30);
	index.pager.fail_write_at = index.pager.n_writes + 9; /* after some leaf pages, before all nodes */
	n = sample_pick(&index, &dice, 0, 90, &keys, &picked);
	assert_status(remove_keys(&index, keys, n), IFOREST_IO);
	assert_ok(sample_reread(&index));
	assert_ok(sample_note_removed(&index, 0, keys, picked, n));
	free(keys);
	free(picked);
	index.pager.fail_write_at = 0;
	assert_true(index.manifest.runs[0].removal_in_progress);
	assert_status(iforest_check(&index.store, &index.manifest, &result), IFOREST_CORRUPT);
	assert_string_equal(index.store.fault.what, "a removal was cut off; the run needs repair");
	generation = index.manifest.runs[0].place.generation;
	assert_ok(iforest_run_repair(&index.store, &index.manifest, index.run_ids[0]));
	assert_true(index.manifest.runs[0].place.generation != generation);
	assert_ok(sample_reread(&index));
	sample_check(&index);
	sample_compare_many(&index, &dice, 20);
	sample_stop(&index);
}

/* A manifest that is forged may say that there are any number of pages: no memory is asked for them before they are seen. */
static void pages_that_are_not_there_need_no_memory(void **state)
{
	struct sample_index index;
	struct random dice;
	struct iforest_run *run;

	(void)state;
	start(&index, &dice, 1500);
	run = &index.manifest.runs[0];
	run->n_leaves = UINT32_C(1) << 31;
	run->n_levels = iforest_node_levels(run->n_leaves, index.manifest.fanout);
	run->removal_in_progress = true;
	index.core_alloc.n_most_bytes = 1 << 17;
	assert_status(iforest_run_repair(&index.store, &index.manifest, index.run_ids[0]), IFOREST_CORRUPT);
	assert_non_null(index.store.fault.what);
	sample_stop(&index);
}

/* ---- by asking ---- */

/* Again and again; who is live is asked for, once and in order (sample_remover sees to it). */
static void asking_until_the_run_is_empty(void **state)
{
	struct sample_index index;
	struct random dice;
	size_t n_left;

	(void)state;
	start(&index, &dice, 2000);
	do {
		uint64_t generation = index.manifest.runs[0].place.generation;
		struct sample_remover remover;
		size_t n_goes = 0;

		sample_remover_start(&remover, &index, 0);
		n_left = remover.n_live;
		for (size_t k = 0; k < remover.n_live; k++)
			n_goes += remover.goes[k] = n_left < 20 || random_chance(&dice, k < n_left / 3 ? 90 : 2);
		sample_remove_where(&index, 0, &remover);
		sample_remover_stop(&remover);
		n_left -= n_goes;
		assert_true(n_goes == 0 || index.manifest.runs[0].place.generation != generation);
		assert_false(index.manifest.runs[0].removal_in_progress);
		sample_check(&index);
		sample_compare_many(&index, &dice, 5);
	} while (n_left > 0);
	assert_ok(sample_reread(&index));
	assert_int_equal(iforest_node_rows(index.manifest.runs[0].root), 0);
	sample_stop(&index);
}

static void where_nothing_is_dead_nothing_is_published(void **state)
{
	struct sample_index index;
	struct sample_remover remover;
	struct random dice;
	uint64_t n_writes, n_gets;

	(void)state;
	start(&index, &dice, 1000);
	sample_remove(&index, &dice, 0, 30);
	n_writes = index.memory.n_writes;
	n_gets = index.memory.n_gets;
	sample_remover_start(&remover, &index, 0);
	sample_remove_where(&index, 0, &remover);
	sample_remover_stop(&remover);
	assert_int_equal(index.memory.n_writes, n_writes);
	/* each page once */
	assert_true(index.memory.n_gets - n_gets <= iforest_run_pages(&index.manifest, &index.manifest.runs[0]));
	sample_stop(&index);
}

/* Takes the live entries of run 0 from so many tenths of them to so many out. */
static void take_out(struct sample_index *index, size_t from_tenths, size_t to_tenths)
{
	struct sample_remover remover;

	sample_remover_start(&remover, index, 0);
	for (size_t k = 0; k < remover.n_live; k++)
		remover.goes[k] = k >= remover.n_live * from_tenths / 10 && k < remover.n_live * to_tenths / 10;
	sample_remove_where(index, 0, &remover);
	sample_remover_stop(&remover);
}

/* After the older nine tenths were taken out it costs no reading any more, but for nodes on the way. */
static void what_is_dead_is_not_read_again(void **state)
{
	struct sample_index index;
	struct sample_remover remover;
	struct random dice;
	uint64_t n_gets, n_pages;

	(void)state;
	start(&index, &dice, 4000);
	n_pages = iforest_run_pages(&index.manifest, &index.manifest.runs[0]);
	take_out(&index, 0, 9);
	n_gets = index.memory.n_gets;
	sample_remover_start(&remover, &index, 0);
	sample_remove_where(&index, 0, &remover);
	sample_remover_stop(&remover);
	assert_true(index.memory.n_gets - n_gets < n_pages / 6);
	sample_stop(&index);
}

/* Nor where pages of the run have been written before it comes to what is dead: of the fifths of a run the first and the last
 * are live. */
static void what_is_dead_is_not_read_while_others_are_removed(void **state)
{
	struct sample_index index;
	struct sample_remover remover;
	struct random dice;
	uint64_t n_gets, n_pages;

	(void)state;
	start(&index, &dice, 4000);
	n_pages = iforest_run_pages(&index.manifest, &index.manifest.runs[0]);
	take_out(&index, 2, 8);
	n_gets = index.memory.n_gets;
	sample_remover_start(&remover, &index, 0);
	for (size_t k = 0; k < remover.n_live / 2; k++)
		remover.goes[k] = k % 20 == 0;
	sample_remove_where(&index, 0, &remover);
	sample_remover_stop(&remover);
	assert_true(index.memory.n_gets - n_gets < n_pages);
	sample_check(&index);
	sample_stop(&index);
}

/* A removal that was cut off is repaired before anybody is asked: what it had removed is not asked for again. */
static void asking_repairs_first(void **state)
{
	(void)state;
	for (unsigned nth = 2; nth < 12; nth++) {
		struct sample_index index;
		struct sample_remover remover;
		struct random dice;
		struct iforest_key *keys;
		size_t *picked, n;

		start(&index, &dice, 1500);
		n = sample_pick(&index, &dice, 0, 60, &keys, &picked);
		index.pager.fail_write_at = index.pager.n_writes + nth;
		assert_status(remove_keys(&index, keys, n), IFOREST_IO);
		assert_ok(sample_reread(&index));
		index.pager.fail_write_at = 0;
		assert_true(index.manifest.runs[0].removal_in_progress);
		assert_ok(sample_note_removed(&index, 0, keys, picked, n));
		sample_remover_start(&remover, &index, 0);
		for (size_t k = 0; k < remover.n_live; k++)
			remover.goes[k] = nth % 2 && random_chance(&dice, 10);
		sample_remove_where(&index, 0, &remover);
		sample_remover_stop(&remover);
		sample_check(&index);
		free(keys);
		free(picked);
		sample_stop(&index);
	}
}

static bool never(void *context, int64_t ref)
{
	(void)context;
	(void)ref;
	fail_msg("asked for a run that is not there");
	return false;
}

static void a_run_that_is_not_there_is_not_found(void **state)
{
	struct sample_index index;
	struct random dice;
	struct iforest_remover remover = { .is_dead = never };
	struct iforest_removal removal = { .n_kept = 17 };

	(void)state;
	start(&index, &dice, 10);
	assert_status(iforest_run_remove(&index.store, &index.manifest, 1, NULL, 0), IFOREST_NOT_FOUND);
	assert_status(iforest_run_remove_where(&index.store, &index.manifest, 1, &remover, &removal), IFOREST_NOT_FOUND);
	assert_status(iforest_run_repair(&index.store, &index.manifest, 1), IFOREST_NOT_FOUND);
	assert_int_equal(removal.n_kept, 17);
	sample_stop(&index);
}

/* ---- a pager that keeps what it has read under (run id, generation, index), as it may ---- */

enum { MOST_KEPT = 4096 };

struct keeper {
	struct iforest_pager pager;
	const struct iforest_pager *inner;
	struct {
		uint64_t run_id, generation, index;
		struct iforest_page page;
	} kept[MOST_KEPT];
	unsigned n_kept;
};

static enum iforest_status keeper_get(void *context, const struct iforest_place *place, uint64_t index,
				      struct iforest_page *page)
{
	struct keeper *keeper = context;
	struct iforest_page fresh;
	uint8_t *copy;
	enum iforest_status status;

	for (unsigned k = 0; k < keeper->n_kept; k++)
		if (keeper->kept[k].run_id == place->run_id && keeper->kept[k].generation == place->generation &&
		    keeper->kept[k].index == index) {
			*page = keeper->kept[k].page;
			return IFOREST_OK;
		}
	status = keeper->inner->get(keeper->inner->context, place, index, &fresh);
	if (status)
		return status;
	copy = malloc(fresh.n_bytes);
	memcpy(copy, fresh.bytes, fresh.n_bytes);
	*page = (struct iforest_page){ .bytes = copy, .n_bytes = fresh.n_bytes };
	keeper->inner->release(keeper->inner->context, &fresh);
	assert_true(keeper->n_kept < MOST_KEPT);
	keeper->kept[keeper->n_kept].run_id = place->run_id;
	keeper->kept[keeper->n_kept].generation = place->generation;
	keeper->kept[keeper->n_kept].index = index;
	keeper->kept[keeper->n_kept++].page = *page;
	return IFOREST_OK;
}

static void keeper_release(void *context, struct iforest_page *page)
{
	(void)context;
	(void)page;
}

static enum iforest_status keeper_write(void *context, const struct iforest_place *place,
					const struct iforest_page_write *pages, uint32_t n_pages)
{
	const struct iforest_pager *inner = ((struct keeper *)context)->inner;

	return inner->write(inner->context, place, pages, n_pages);
}

static enum iforest_status keeper_publish(void *context, const uint8_t *bytes, uint32_t n_bytes)
{
	const struct iforest_pager *inner = ((struct keeper *)context)->inner;

	return inner->publish(inner->context, bytes, n_bytes);
}

static uint64_t keeper_random(void *context)
{
	const struct iforest_pager *inner = ((struct keeper *)context)->inner;

	return inner->random(inner->context);
}

static void pages_that_the_pager_keeps_deceive_nobody(void **state)
{
	struct sample_index index;
	struct random dice;
	struct keeper *keeper = calloc(1, sizeof *keeper);

	(void)state;
	start(&index, &dice, 2000);
	keeper->inner = index.store.pager;
	keeper->pager = (struct iforest_pager){ .context = keeper, .page_bytes = keeper->inner->page_bytes,
		.max_batch_pages = keeper->inner->max_batch_pages, .get = keeper_get, .release = keeper_release,
		.write = keeper_write, .publish = keeper_publish, .random = keeper_random };
	index.store.pager = &keeper->pager;
	sample_check(&index);
	for (unsigned round = 0; round < 5; round++) {
		sample_remove(&index, &dice, 0, 20);
		sample_check(&index);
		sample_compare_many(&index, &dice, 10);
	}
	index.store.pager = keeper->inner;
	sample_check(&index);
	sample_stop(&index);
	for (unsigned k = 0; k < keeper->n_kept; k++)
		free((uint8_t *)keeper->kept[k].page.bytes);
	free(keeper);
}

static int compare_keys(const void *left, const void *right)
{
	return iforest_key_compare(left, right);
}

/* Keys of several runs, mixed with some that are nowhere: each goes from its run. */
static void keys_are_removed_from_whatever_run_holds_them(void **state)
{
	struct sample_index index;
	struct random dice;
	struct iforest_key *all;
	uint64_t n_removed;
	size_t n = 0, n_all;

	(void)state;
	start(&index, &dice, 900);
	for (unsigned group = 1; group < 4; group++) {
		sample_entries(&index, &dice, 300, 3, SAMPLE_CROWDED);
		assert_ok(sample_build(&index, group));
	}
	all = calloc(2000, sizeof *all);
	for (unsigned group = 0; group < 4; group++) {
		struct iforest_key *keys;
		size_t *picked, n_picked = sample_pick(&index, &dice, group, 30, &keys, &picked);

		memcpy(all + n, keys, n_picked * sizeof *keys);
		n += n_picked;
		for (size_t i = 0; i < n_picked; i++)
			index.oracle.entries[picked[i]].is_dead = true;
		free(keys);
		free(picked);
	}
	n_all = n;
	all[n_all++] = iforest_key_at(2, 77777);
	for (int64_t i = 0; i < 300; i++) { /* beside entries, and in stretches */
		all[n_all] = i % 3 ? all[random_below(&dice, n)] :
				     iforest_key_at(random_below(&dice, 5), (int64_t)random_below(&dice, 100));
		all[n_all++].ref = INT64_MAX - i;
	}
	qsort(all, n_all, sizeof *all, compare_keys);
	assert_ok(iforest_runs_remove(&index.store, &index.manifest, all, n_all, &n_removed));
	assert_int_equal(n_removed, n);
	sample_check(&index);
	sample_compare_many(&index, &dice, 200);
	assert_ok(iforest_runs_remove(&index.store, &index.manifest, all, n_all, &n_removed));
	assert_int_equal(n_removed, 0);
	assert_ok(iforest_runs_remove(&index.store, &index.manifest, all, 0, &n_removed));
	all[1] = all[0];
	assert_status(iforest_runs_remove(&index.store, &index.manifest, all, 2, &n_removed), IFOREST_UNORDERED);
	free(all);
	sample_stop(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(until_the_run_is_empty),
		cmocka_unit_test(unknown_keys_are_refused_before_anything_is_written),
		cmocka_unit_test(keys_must_ascend),
		cmocka_unit_test(keys_are_removed_from_whatever_run_holds_them),
		cmocka_unit_test(pages_keep_their_size),
		cmocka_unit_test(repair_computes_every_node_anew),
		cmocka_unit_test(pages_that_are_not_there_need_no_memory),
		cmocka_unit_test(asking_until_the_run_is_empty),
		cmocka_unit_test(where_nothing_is_dead_nothing_is_published),
		cmocka_unit_test(what_is_dead_is_not_read_again),
		cmocka_unit_test(what_is_dead_is_not_read_while_others_are_removed),
		cmocka_unit_test(asking_repairs_first),
		cmocka_unit_test(a_run_that_is_not_there_is_not_found),
		cmocka_unit_test(pages_that_the_pager_keeps_deceive_nobody),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
