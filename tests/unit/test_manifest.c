#include "core/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "core/bits.h"
#include "core/layout.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

static const struct sample_shape shape = { .page_bytes = 4000, .max_batch_pages = 4, .kinds = "if", .duration = 0 };

static struct iforest_run made_run(uint64_t run_id, uint32_t n_leaves)
{
	struct iforest_run run = { .place = { .run_id = run_id, .generation = run_id * 3, .location = run_id * 5 }, .n_leaves = n_leaves };

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
		assert_ok(iforest_manifest_add(&index.manifest, &run));
	}
	assert_ok(iforest_manifest_publish(&index.manifest, &index.store));
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
	assert_ok(iforest_manifest_publish(&index.manifest, &index.store));
	assert_true(index.manifest.id != id);
	sample_stop(&index);
}

static void runs_are_found_by_id_and_keep_their_order(void **state)
{
	struct sample_index index;

	(void)state;
	sample_start(&index, &shape);
	for (unsigned r = 1; r <= 5; r++) {
		struct iforest_run run = made_run(r, 1);

		assert_ok(iforest_manifest_add(&index.manifest, &run));
	}
	assert_int_equal(iforest_manifest_find(&index.manifest, 3), 2);
	assert_int_equal(iforest_manifest_find(&index.manifest, 9), 5);
	iforest_manifest_remove(&index.manifest, 1);
	assert_int_equal(iforest_manifest_find(&index.manifest, 2), 4);
	assert_int_equal(iforest_manifest_find(&index.manifest, 3), 1);
	iforest_manifest_remove(&index.manifest, 3);
	assert_int_equal(iforest_manifest_find(&index.manifest, 5), 3);
	assert_int_equal(index.manifest.n_runs, 3);
	sample_stop(&index);
}

static void page_sizes_outside_the_format_are_refused(void **state)
{
	struct iforest_fields narrow = sample_fields(&shape), wide = sample_fields(&(struct sample_shape){ .kinds = "ffffffff", .duration = ORACLE_NONE });
	struct iforest_manifest manifest;
	struct alloc_fault fault;

	(void)state;
	alloc_fault_init(&fault);
	assert_status(iforest_manifest_init(&manifest, &fault.alloc, &narrow, IFOREST_MIN_PAGE_BYTES - 1), IFOREST_ARGUMENT);
	assert_status(iforest_manifest_init(&manifest, &fault.alloc, &narrow, IFOREST_MAX_PAGE_BYTES + 1), IFOREST_ARGUMENT);
	assert_ok(iforest_manifest_init(&manifest, &fault.alloc, &narrow, IFOREST_MIN_PAGE_BYTES));
	iforest_manifest_release(&manifest);
	assert_status(iforest_manifest_init(&manifest, &fault.alloc, &wide, IFOREST_MIN_PAGE_BYTES), IFOREST_ARGUMENT); /* two nodes */
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
	for (unsigned r = 0; r < IFOREST_MAX_RUNS; r++)
		assert_ok(iforest_manifest_add(&index.manifest, &run));
	assert_status(iforest_manifest_add(&index.manifest, &run), IFOREST_TOO_LARGE);
	assert_int_equal(index.manifest.n_runs, IFOREST_MAX_RUNS);
	assert_ok(iforest_manifest_publish(&index.manifest, &index.store));
	assert_ok(sample_reread(&index));
	assert_int_equal(index.manifest.n_runs, IFOREST_MAX_RUNS);
	sample_stop(&index);
}

static void a_publish_that_fails_leaves_the_old_one(void **state)
{
	struct sample_index index;
	struct iforest_run run = made_run(1, 1);

	(void)state;
	sample_start(&index, &shape);
	assert_ok(iforest_manifest_publish(&index.manifest, &index.store));
	assert_ok(iforest_manifest_add(&index.manifest, &run));
	index.pager.fail_write_at = index.pager.n_writes + 1;
	assert_status(iforest_manifest_publish(&index.manifest, &index.store), IFOREST_IO);
	assert_ok(sample_reread(&index));
	assert_int_equal(index.manifest.n_runs, 0);
	sample_stop(&index);
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
		{ 33, 9, IFOREST_FORMAT, "the manifest's field list is wrong" },
		{ 32 + 11, 0xff, IFOREST_CORRUPT, "the manifest's engine data are wrong" },
		{ 32 + 11 + 4 + 24, 0, IFOREST_CORRUPT, "the manifest's list of runs is wrong" }, /* a run without leaf pages */
	};
	struct sample_index index;
	struct iforest_run run = made_run(1, 1);

	(void)state;
	sample_start(&index, &shape);
	assert_ok(iforest_manifest_add(&index.manifest, &run));
	assert_ok(iforest_manifest_publish(&index.manifest, &index.store));
	for (unsigned i = 0; i < COUNT_OF(lies); i++) {
		uint8_t *bytes = index.memory.manifest, kept = bytes[lies[i].at];
		uint32_t n_bytes = index.memory.n_manifest_bytes;
		struct iforest_manifest read;
		const char *what = NULL;
		long n_live = index.core_alloc.n_live;

		bytes[lies[i].at] = lies[i].value;
		iforest_store32(bytes + 4, (uint32_t)iforest_checksum64(bytes + 8, n_bytes - 8));
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
		cmocka_unit_test(runs_are_found_by_id_and_keep_their_order),
		cmocka_unit_test(page_sizes_outside_the_format_are_refused),
		cmocka_unit_test(there_is_a_limit_to_runs),
		cmocka_unit_test(a_publish_that_fails_leaves_the_old_one),
		cmocka_unit_test(forged_manifests_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
