#include "core/run/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/run/layout.h"
#include "core/base/xxh64.h"
#include "tests/support/harness.h"
#include "tests/support/rival.h"
#include "tests/support/sample_index.h"

static const struct sample_shape shape = { .page_bytes = 4000, .max_batch_pages = 4, .kinds = "if", .duration = 0 };

static struct iforest_run made_run(uint64_t run_id, uint32_t n_leaves)
{
	struct iforest_run run = { .place = { .run_id = run_id, .generation = run_id * 3, .location = run_id * 5 },
				   .n_leaves = n_leaves };

	memset(run.root, (int)run_id, sizeof run.root);
	return run;
}

static void set_host_bytes(struct sample_index *index, const char *text)
{
	index->manifest.n_host_bytes = (uint32_t)strlen(text);
	index->manifest.host_bytes = iforest_allocate(&index->core_alloc.alloc, strlen(text));
	memcpy(index->manifest.host_bytes, text, strlen(text));
}

static void what_is_published_is_what_is_read(void **state)
{
	struct sample_index index;
	uint64_t id;

	(void)state;
	sample_start(&index, &shape);
	set_host_bytes(&index, "pending: 17");
	for (unsigned r = 1; r <= 40; r++) {
		struct iforest_run run = made_run(r, r * r * 1000);

		run.removal_in_progress = r % 3 == 0;
		assert_ok(sample_add_run(&index, &run));
	}
	id = index.manifest.id;
	assert_ok(sample_reread(&index));
	assert_true(index.manifest.id == id && index.manifest.page_bytes == 4000 && index.manifest.n_runs == 40);
	assert_int_equal(index.manifest.fanout, iforest_fanout(&index.manifest.fields, 4000));
	assert_int_equal(index.manifest.n_host_bytes, 11);
	assert_memory_equal(index.manifest.host_bytes, "pending: 17", 11);
	for (unsigned r = 1; r <= 40; r++) {
		const struct iforest_run *run = &index.manifest.runs[r - 1];
		struct iforest_run expected = made_run(r, r * r * 1000);

		assert_true(run->place.run_id == r && run->place.generation == 3 * r && run->place.location == 5 * r);
		assert_true(run->n_leaves == r * r * 1000 && run->removal_in_progress == (r % 3 == 0));
		assert_int_equal(run->n_levels, iforest_node_levels(r * r * 1000, index.manifest.fanout));
		assert_memory_equal(run->root, expected.root, index.manifest.fields.node_bytes);
	}
	assert_ok(iforest_manifest_commit(&index.manifest, &index.store, NULL));
	assert_true(index.manifest.id != id);
	sample_stop(&index);
}

static enum iforest_status remove_runs(struct sample_index *index, const uint64_t *run_ids, uint32_t n)
{
	struct iforest_edit edit = { .removed = run_ids, .n_removed = n };

	return iforest_manifest_commit(&index->manifest, &index->store, &edit);
}

static void a_copy_is_the_same_and_stays(void **state)
{
	struct sample_index index;
	struct iforest_manifest copy;
	struct iforest_run run = made_run(7, 1000), more = made_run(8, 3);

	(void)state;
	sample_start(&index, &shape);
	set_host_bytes(&index, "pending: 17");
	assert_ok(sample_add_run(&index, &run));
	assert_ok(iforest_manifest_copy(&copy, &index.core_alloc.alloc, &index.manifest));
	assert_true(copy.id == index.manifest.id && copy.fanout == index.manifest.fanout && copy.n_runs == 1);
	assert_ok(sample_add_run(&index, &more));
	assert_true(copy.n_runs == 1 && copy.id != index.manifest.id);
	assert_true(copy.runs[0].place.run_id == 7 && copy.runs[0].place.location == 35 && copy.runs[0].n_leaves == 1000);
	assert_memory_equal(copy.runs[0].root, run.root, copy.fields.node_bytes);
	assert_int_equal(copy.n_host_bytes, 11);
	assert_memory_equal(copy.host_bytes, "pending: 17", 11);
	iforest_manifest_release(&copy);
	for (unsigned n = 1; n <= 2; n++) {
		index.core_alloc.fail_at = index.core_alloc.n_calls + n;
		assert_int_equal(iforest_manifest_copy(&copy, &index.core_alloc.alloc, &index.manifest), IFOREST_NO_MEMORY);
	}
	index.core_alloc.fail_at = 0;
	sample_stop(&index);
}

static void runs_are_found_by_id_and_keep_their_order(void **state)
{
	struct sample_index index;

	(void)state;
	sample_start(&index, &shape);
	for (unsigned r = 1; r <= 5; r++) {
		struct iforest_run run = made_run(r, 1);

		assert_ok(sample_add_run(&index, &run));
	}
	assert_int_equal(iforest_manifest_find(&index.manifest, 3), 2);
	assert_int_equal(iforest_manifest_find(&index.manifest, 9), 5);
	assert_ok(remove_runs(&index, (const uint64_t[]){ 2 }, 1));
	assert_int_equal(iforest_manifest_find(&index.manifest, 2), 4);
	assert_int_equal(iforest_manifest_find(&index.manifest, 3), 1);
	assert_ok(remove_runs(&index, (const uint64_t[]){ 5 }, 1));
	assert_int_equal(iforest_manifest_find(&index.manifest, 5), 3);
	assert_int_equal(index.manifest.n_runs, 3);
	sample_stop(&index);
}

static void page_sizes_outside_the_format_are_refused(void **state)
{
	struct iforest_node_schema narrow = sample_fields(&shape), wide = sample_fields(&(struct sample_shape){ .kinds = "ffffffff", .duration = ORACLE_NONE });
	struct iforest_manifest manifest;
	struct alloc_fault fault;

	(void)state;
	alloc_fault_init(&fault);
	assert_status(iforest_manifest_init(&manifest, &fault.alloc, &narrow, IFOREST_MIN_PAGE_BYTES - 1), IFOREST_ARGUMENT);
	assert_status(iforest_manifest_init(&manifest, &fault.alloc, &narrow, IFOREST_MAX_PAGE_BYTES + 1), IFOREST_ARGUMENT);
	assert_ok(iforest_manifest_init(&manifest, &fault.alloc, &narrow, IFOREST_MIN_PAGE_BYTES));
	iforest_manifest_release(&manifest);
	/* two nodes */
	assert_status(iforest_manifest_init(&manifest, &fault.alloc, &wide, IFOREST_MIN_PAGE_BYTES), IFOREST_ARGUMENT);
	assert_ok(iforest_manifest_init(&manifest, &fault.alloc, &wide, IFOREST_MAX_PAGE_BYTES));
	assert_true(wide.node_bytes <= IFOREST_MAX_NODE_BYTES);
	iforest_manifest_release(&manifest);
	iforest_manifest_release(&manifest); /* twice is fine */
	assert_int_equal(fault.n_live, 0);
}

static void there_is_a_limit_to_runs(void **state)
{
	struct sample_index index;
	struct iforest_run run = made_run(1, 1);

	(void)state;
	sample_start(&index, &shape);
	index.manifest.runs = iforest_allocate(&index.core_alloc.alloc, IFOREST_MAX_RUNS * sizeof run);
	while (index.manifest.n_runs < IFOREST_MAX_RUNS)
		index.manifest.runs[index.manifest.n_runs++] = run;
	assert_status(sample_add_run(&index, &run), IFOREST_TOO_LARGE);
	assert_int_equal(index.manifest.n_runs, IFOREST_MAX_RUNS);
	assert_ok(iforest_manifest_commit(&index.manifest, &index.store, NULL));
	assert_ok(sample_reread(&index));
	assert_int_equal(index.manifest.n_runs, IFOREST_MAX_RUNS);
	sample_stop(&index);
}

/* In memory too: nothing of the edit is left. */
static void a_commit_that_fails_leaves_the_old_one(void **state)
{
	struct sample_index index;
	struct iforest_run run = made_run(1, 1), changed = made_run(1, 9), other = made_run(2, 1);
	struct iforest_edit edit = { .changed = &changed, .added = &other };
	uint64_t id;

	(void)state;
	sample_start(&index, &shape);
	assert_ok(sample_add_run(&index, &run));
	id = index.manifest.id;
	for (unsigned way = 0; way < 3; way++) {
		index.pager.fail_write_at = way == 0 ? index.pager.n_writes + 1 : 0;
		index.core_alloc.fail_at = way > 0 ? index.core_alloc.n_calls + way : 0;
		assert_status(iforest_manifest_commit(&index.manifest, &index.store, &edit),
			      way ? IFOREST_NO_MEMORY : IFOREST_IO);
		for (unsigned reread = 0; reread < 2; reread++) {
			assert_true(index.manifest.n_runs == 1 && index.manifest.id == id &&
				    index.manifest.runs[0].n_leaves == 1);
			assert_ok(sample_reread(&index));
		}
	}
	sample_stop(&index);
}

static void an_edit_names_runs_that_are_there(void **state)
{
	struct sample_index index;
	struct iforest_run absent = made_run(9, 1), present = made_run(3, 77);
	struct iforest_edit edit;
	uint64_t n_writes;

	(void)state;
	sample_start(&index, &shape);
	for (unsigned r = 1; r <= 4; r++) {
		struct iforest_run run = made_run(r, 1);

		assert_ok(sample_add_run(&index, &run));
	}
	n_writes = index.memory.n_writes;
	assert_status(remove_runs(&index, (const uint64_t[]){ 2, 9 }, 2), IFOREST_NOT_FOUND);
	assert_status(remove_runs(&index, (const uint64_t[]){ 2, 2 }, 2), IFOREST_NOT_FOUND);
	edit = (struct iforest_edit){ .changed = &absent };
	assert_status(iforest_manifest_commit(&index.manifest, &index.store, &edit), IFOREST_NOT_FOUND);
	edit = (struct iforest_edit){ .changed = &present, .removed = (const uint64_t[]){ 3 }, .n_removed = 1 };
	assert_status(iforest_manifest_commit(&index.manifest, &index.store, &edit), IFOREST_NOT_FOUND);
	assert_int_equal(index.memory.n_writes, n_writes);
	edit = (struct iforest_edit){
		.changed = &present, .added = &absent, .removed = (const uint64_t[]){ 4, 1 }, .n_removed = 2
	};
	assert_ok(iforest_manifest_commit(&index.manifest, &index.store, &edit));
	assert_ok(sample_reread(&index));
	assert_int_equal(index.manifest.n_runs, 3);
	for (unsigned r = 0; r < 3; r++)
		assert_int_equal(index.manifest.runs[r].place.run_id, ((const unsigned[]){ 2, 3, 9 })[r]);
	assert_int_equal(index.manifest.runs[1].n_leaves, 77);
	sample_stop(&index);
}

/* ---- beside another writer ---- */

enum { MINE, ALSO_MINE, THEIRS, THEIRS_LATER };

/* The other writer adds a run, and the first time rewrites one, so that the others are numbered anew. */
static void add_and_rewrite(struct rival *rival)
{
	assert_true(rival->n_acts <= 2);
	if (rival->n_acts == 1)
		sample_merge(rival->index, (const unsigned[]){ THEIRS }, 1);
	assert_ok(sample_build(rival->index, THEIRS_LATER + rival->n_acts - 1));
	rival->index->manifest.n_host_bytes = 0;
	iforest_release(&rival->index->core_alloc.alloc, rival->index->manifest.host_bytes);
	rival->index->manifest.host_bytes = NULL;
	set_host_bytes(rival->index, rival->n_acts == 1 ? "once" : "twice");
	assert_ok(iforest_manifest_commit(&rival->index->manifest, &rival->index->store, NULL));
}

static void remove_keys(struct sample_index *index, struct random *dice)
{
	sample_remove(index, dice, MINE, 30);
}

static void remove_by_asking(struct sample_index *index, struct random *dice)
{
	struct sample_remover remover;

	sample_remover_start(&remover, index, MINE);
	for (size_t k = 0; k < remover.n_live; k++)
		remover.goes[k] = random_chance(dice, 30);
	sample_remove_where(index, MINE, &remover);
	sample_remover_stop(&remover);
}

static void repair(struct sample_index *index, struct random *dice)
{
	(void)dice;
	assert_ok(iforest_run_repair(&index->store, &index->manifest, index->run_ids[MINE]));
}

static void merge(struct sample_index *index, struct random *dice)
{
	(void)dice;
	sample_merge(index, (const unsigned[]){ MINE, ALSO_MINE }, 2);
}

/* Both writers' changes survive, whatever the second one was doing. */
static void assert_both_survive(void (*operate)(struct sample_index *, struct random *), unsigned n_commits)
{
	struct random dice = random_from(random_seed());
	struct sample_index index;
	struct rival rival;

	sample_start(&index, &(struct sample_shape){ .page_bytes = 1024, .max_batch_pages = 3, .kinds = "i", .duration = 0 });
	for (unsigned g = 0; g < THEIRS_LATER + n_commits; g++)
		sample_entries(&index, &dice, 700, 3, SAMPLE_STEADY);
	for (unsigned g = 0; g < THEIRS_LATER; g++)
		assert_ok(sample_build(&index, (unsigned[]){ THEIRS, MINE, ALSO_MINE }[g]));
	rival_start(&rival, &index, add_and_rewrite);
	operate(&index, &dice);
	rival_stop(&rival);
	assert_int_equal(rival.n_acts, n_commits);
	for (unsigned reread = 0; reread < 2; reread++) { /* what is in memory is what is stored */
		assert_int_equal(index.manifest.n_host_bytes, n_commits == 1 ? 4 : 5);
		assert_memory_equal(index.manifest.host_bytes, n_commits == 1 ? "once" : "twice", index.manifest.n_host_bytes);
		sample_check(&index);
		sample_compare_many(&index, &dice, 20);
		assert_ok(sample_reread(&index));
	}
	sample_stop(&index);
}

static void removal_beside_another_writer(void **state) { (void)state; assert_both_survive(remove_keys, 2); }
static void removal_by_asking_beside_another_writer(void **state) { (void)state; assert_both_survive(remove_by_asking, 2); }
static void repair_beside_another_writer(void **state) { (void)state; assert_both_survive(repair, 2); }
static void merge_beside_another_writer(void **state) { (void)state; assert_both_survive(merge, 1); }

/* The run that is to be changed was taken away by somebody: nothing is published, and memory has the newest manifest. */
static void remove_mine(struct rival *rival)
{
	assert_ok(remove_runs(rival->index, (const uint64_t[]){ 1 }, 1));
}

static void an_edit_of_a_run_that_is_gone_is_refused(void **state)
{
	struct sample_index index;
	struct iforest_run run = made_run(1, 1), other = made_run(2, 1);
	struct iforest_edit edit = { .changed = &run, .added = &other };
	struct rival rival;

	(void)state;
	sample_start(&index, &shape);
	assert_ok(sample_add_run(&index, &run));
	rival_start(&rival, &index, remove_mine);
	assert_status(iforest_manifest_commit(&index.manifest, &index.store, &edit), IFOREST_NOT_FOUND);
	assert_int_equal(index.manifest.n_runs, 0);
	rival.act = NULL;
	rival.is_locked = false; /* the host's transaction has ended */
	edit.changed = NULL;
	assert_ok(iforest_manifest_commit(&index.manifest, &index.store, &edit));
	assert_int_equal(index.manifest.n_runs, 1);
	rival_stop(&rival);
	sample_stop(&index);
}

/* What begin_publish gives is as foreign as any other bytes. */
static void spoil(struct rival *rival)
{
	rival->index->memory.manifest[16] ^= 1; /* its id, and with it the checksum */
}

static void make_another_index(struct rival *rival)
{
	rival->index->manifest.page_bytes = 2048;
	assert_ok(iforest_manifest_commit(&rival->index->manifest, &rival->index->store, NULL));
}

static void the_newest_manifest_is_checked(void **state)
{
	static const struct { void (*act)(struct rival *); const char *what; } lies[] = {
		{ spoil, "the manifest's checksum is wrong" },
		{ make_another_index, "the manifest is of another index" },
	};

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(lies); i++) {
		struct sample_index index;
		struct iforest_run run = made_run(1, 1);
		struct rival rival;
		uint64_t id;

		sample_start(&index, &shape);
		assert_ok(sample_add_run(&index, &run));
		id = index.manifest.id;
		rival_start(&rival, &index, lies[i].act);
		assert_status(iforest_manifest_commit(&index.manifest, &index.store, NULL), IFOREST_CORRUPT);
		assert_string_equal(index.store.fault.what, lies[i].what);
		assert_true(index.manifest.id == id && index.manifest.n_runs == 1);
		rival.is_locked = false;
		rival_stop(&rival);
		sample_stop(&index);
	}
}

/* Sealed lies. */
static void forged_manifests_are_refused(void **state)
{
	static const struct { unsigned at; uint8_t value; enum iforest_status status; const char *what; } lies[] = {
		{ 0, 'X', IFOREST_CORRUPT, "the manifest's magic is wrong" },
		{ 8, 2, IFOREST_FORMAT, "the manifest's format version is unknown" },
		{ 12, 1, IFOREST_CORRUPT, "the manifest's length is wrong" },
		{ 25, 0, IFOREST_CORRUPT, "the manifest's field list is wrong" },     /* pages of 160 bytes */
		{ 27, 1, IFOREST_CORRUPT, "the manifest's field list is wrong" },     /* pages of 16 MiB */
		{ 28, 2, IFOREST_CORRUPT, "the manifest's list of runs is wrong" },
		{ 31, 1, IFOREST_CORRUPT, "the manifest's list of runs is wrong" },
		{ 32, 1, IFOREST_CORRUPT, "the manifest's field list is wrong" },
		{ 33, 99, IFOREST_FORMAT, "the manifest's field list is wrong" },
		{ 32 + 11, 0xff, IFOREST_CORRUPT, "the manifest's engine data are wrong" },
		{ 32 + 11 + 4 + 24, 0, IFOREST_CORRUPT, "the manifest's list of runs is wrong" }, /* a run without leaf pages */
	};
	struct sample_index index;
	struct iforest_run run = made_run(1, 1);

	(void)state;
	sample_start(&index, &shape);
	assert_ok(sample_add_run(&index, &run));
	for (unsigned i = 0; i < COUNT_OF(lies); i++) {
		uint8_t *bytes = index.memory.manifest, kept = bytes[lies[i].at];
		uint32_t n_bytes = index.memory.n_manifest_bytes;
		struct iforest_manifest read;
		const char *what = NULL;
		long n_live = index.core_alloc.n_live;

		bytes[lies[i].at] = lies[i].value;
		iforest_store32(bytes + 4, (uint32_t)iforest_xxh64(bytes + 8, n_bytes - 8));
		assert_status(iforest_manifest_read(&read, &index.core_alloc.alloc, bytes, n_bytes, &what), lies[i].status);
		assert_string_equal(what, lies[i].what);
		assert_int_equal(index.core_alloc.n_live, n_live); /* it holds nothing */
		bytes[lies[i].at] = kept;
	}
	sample_stop(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_published_is_what_is_read),
		cmocka_unit_test(a_copy_is_the_same_and_stays),
		cmocka_unit_test(runs_are_found_by_id_and_keep_their_order),
		cmocka_unit_test(page_sizes_outside_the_format_are_refused),
		cmocka_unit_test(there_is_a_limit_to_runs),
		cmocka_unit_test(a_commit_that_fails_leaves_the_old_one),
		cmocka_unit_test(an_edit_names_runs_that_are_there),
		cmocka_unit_test(removal_beside_another_writer),
		cmocka_unit_test(removal_by_asking_beside_another_writer),
		cmocka_unit_test(repair_beside_another_writer),
		cmocka_unit_test(merge_beside_another_writer),
		cmocka_unit_test(an_edit_of_a_run_that_is_gone_is_refused),
		cmocka_unit_test(the_newest_manifest_is_checked),
		cmocka_unit_test(forged_manifests_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
