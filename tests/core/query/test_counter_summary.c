/* tests/core/query/test_counter_summary.c -- Counter pieces kept of nodes: made once, renewed where entries were removed,
 * and looked at before they are believed.
 *
 * That its sums are right is for test_counting.c.
 */
#include "core/query/counter_scan.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/run/layout.h"
#include "core/base/xxh64.h"
#include "tests/support/harness.h"
#include "tests/support/memory_sidecar.h"
#include "tests/support/sample_index.h"

static struct sample_index index_;
static struct memory_sidecar sidecar;

static void start(struct random *dice)
{
	sample_start(&index_, &(struct sample_shape){ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "if", .duration = 0 });
	sample_entries(&index_, dice, 20000, 2, SAMPLE_STEADY);
	assert_ok(sample_build(&index_, 0));
	sample_entries(&index_, dice, 20, 1, SAMPLE_CROWDED);
	assert_ok(sample_build(&index_, 1));
	memory_sidecar_start(&sidecar, &index_.core_alloc.alloc);
}

static void stop(void)
{
	memory_sidecar_clear(&sidecar);
	sample_stop(&index_);
}

static enum iforest_status keep(const struct iforest_sidecar *on)
{
	enum iforest_status status = IFOREST_OK;

	for (uint32_t r = 0; r < index_.manifest.n_runs && !status; r++)
		for (unsigned v = 0; v < 2 && !status; v++)
			status = iforest_run_keep_counters(&index_.store, &index_.manifest, &index_.manifest.runs[r], v, on);
	return status;
}

/* One for each column and node page of more than one node, whatever its series; none of a run of one leaf page. */
static void each_page_of_nodes_has_a_table(void **state)
{
	struct random dice = random_from(random_seed());
	unsigned n_pages = 0;

	(void)state;
	start(&dice);
	assert_ok(keep(&sidecar.base));
	for (unsigned level = 1; level <= index_.manifest.runs[0].n_levels; level++) {
		uint64_t n_below = iforest_pages_at(index_.manifest.runs[0].n_leaves, level - 1, index_.manifest.fanout);

		n_pages += (unsigned)iforest_pages_at(index_.manifest.runs[0].n_leaves, level, index_.manifest.fanout) -
			   (n_below % index_.manifest.fanout == 1);
	}
	assert_int_equal(index_.manifest.runs[1].n_leaves, 1);
	assert_int_equal(sidecar.n_put, 2 * n_pages);
	assert_ok(keep(&sidecar.base));
	assert_int_equal(sidecar.n_put, 2 * n_pages);
	stop();
}

static void few_removals_make_few_tables_old(void **state)
{
	struct random dice = random_from(random_seed());
	struct iforest_key *keys;
	size_t *picked, n;
	unsigned n_put;

	(void)state;
	start(&dice);
	assert_ok(keep(&sidecar.base));
	n_put = sidecar.n_put;
	n = sample_pick(&index_, &dice, 0, 100, &keys, &picked);
	assert_ok(iforest_run_remove(&index_.store, &index_.manifest, index_.run_ids[0], keys + n / 2, 1));
	index_.oracle.entries[picked[n / 2]].is_dead = true;
	assert_ok(keep(&sidecar.base));
	assert_in_range(sidecar.n_put - n_put, 2, 2 * index_.manifest.runs[0].n_levels);
	free(keys);
	free(picked);
	stop();
}

/* A table that is damaged is made anew; the check tells of it, also where its checksum is right. */
static void what_is_kept_may_be_checked(void **state)
{
	struct random dice = random_from(random_seed());
	struct iforest_sidecar_comparison comparison = { .kept = &sidecar.base,
						       .store = &index_.store,
						       .what = IFOREST_COUNTER_WRONG };
	struct iforest_sidecar comparing = iforest_sidecar_comparing(&comparison);
	unsigned n_put;

	(void)state;
	start(&dice);
	assert_ok(keep(&sidecar.base));
	assert_ok(keep(&comparing));
	n_put = sidecar.n_put;
	for (unsigned k = 0; k < 5; k++) {
		unsigned which = (unsigned)random_below(&dice, sidecar.n);
		uint8_t *bytes = sidecar.kept[which].bytes;
		size_t n_bytes = sidecar.kept[which].n_bytes;

		bytes[IFOREST_COUNTER_HEADER + random_below(&dice, n_bytes - IFOREST_COUNTER_HEADER)] ^= 1;
		if (k % 2)
			iforest_store32(bytes + 4, (uint32_t)iforest_xxh64(bytes + 8, n_bytes - 8));
		assert_status(keep(&comparing), IFOREST_CORRUPT);
		assert_string_equal(index_.store.fault.what, IFOREST_COUNTER_WRONG);
		bytes[0] ^= 1; /* found, but of no use; above it those that are whole say that it is there */
		for (unsigned above = which; above < sidecar.n; above++)
			if (sidecar.kept[above].name.value == sidecar.kept[which].name.value)
				sidecar.kept[above].bytes[0] ^= above > which;
		assert_ok(keep(&sidecar.base));
		assert_true(sidecar.n_put > n_put);
		assert_ok(keep(&comparing));
	}
	stop();
}

/* Sums that no samples have, in a table with a right checksum, are not added up. */
static void impossible_rows_are_refused(void **state)
{
	enum { N = 16, FIRST = 24, LAST = 40, N_RESETS = 64, KNOWN = 72, INTEGRAL = 80, INCREASE = 96 };
	static const struct { unsigned offset; uint64_t value;
	} damages[] = {
		{ 0, INT64_MAX },
		{ 8, (uint64_t)INT64_MIN },
		{ N, 1 },
		{ N, UINT64_MAX },
		{ FIRST, INT64_MAX },
		{ LAST, (uint64_t)INT64_MIN },
		{ N_RESETS, UINT64_MAX },
		{ KNOWN, UINT64_MAX },
		{ INTEGRAL + 8, INT64_MAX },
		{ INTEGRAL + 8, (uint64_t)INT64_MIN },
		{ INCREASE + 8, INT64_MAX },
		{ INCREASE + 8, (uint64_t)INT64_MIN },
	};
	struct random dice = random_from(random_seed());
	const uint8_t *node;
	struct iforest_counter_row row;
	struct iforest_page page;
	const struct iforest_run *run;
	uint8_t *table;

	(void)state;
	start(&dice);
	assert_ok(keep(&sidecar.base));
	run = &index_.manifest.runs[0];
	assert_int_equal(sidecar.kept[0].name.level, 2);
	table = sidecar.kept[0].bytes;
	assert_ok(index_.store.pager->get(index_.store.pager->context, &run->place,
					  iforest_run_page_index(&index_.manifest, run, 1, sidecar.kept[0].name.number), &page));
	node = iforest_node_at(page.bytes, &index_.manifest.fields, 0);
	assert_true(iforest_node_is_counted(node));
	assert_true(iforest_counter_row_read(table, 0, node, &index_.manifest.fields, 0, &row));
	for (size_t d = 0; d < COUNT_OF(damages); d++) {
		uint8_t *at = table + IFOREST_COUNTER_HEADER + damages[d].offset;
		uint64_t before = iforest_load64(at);

		iforest_store64(at, damages[d].value);
		assert_false(iforest_counter_row_read(table, 0, node, &index_.manifest.fields, 0, &row));
		iforest_store64(at, before);
	}
	assert_true(iforest_counter_row_read(table, 0, node, &index_.manifest.fields, 0, &row));
	index_.store.pager->release(index_.store.pager->context, &page);
	stop();
}

/* A node may be forged with its table, and say of samples what no run has. */
static void impossible_nodes_have_no_rows(void **state)
{
	enum { N = 16 };
	static const uint64_t many[] = { UINT64_C(1) << 48, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX };
	struct random dice = random_from(random_seed());
	uint8_t node[IFOREST_MAX_NODE_BYTES], *table;
	struct iforest_counter_row row;
	struct iforest_page page;
	const struct iforest_run *run;

	(void)state;
	start(&dice);
	assert_ok(keep(&sidecar.base));
	run = &index_.manifest.runs[0];
	table = sidecar.kept[0].bytes;
	assert_ok(index_.store.pager->get(index_.store.pager->context, &run->place,
					  iforest_run_page_index(&index_.manifest, run, 1, sidecar.kept[0].name.number), &page));
	memcpy(node, iforest_node_at(page.bytes, &index_.manifest.fields, 0), index_.manifest.fields.node_bytes);
	index_.store.pager->release(index_.store.pager->context, &page);
	assert_true(iforest_counter_row_read(table, 0, node, &index_.manifest.fields, 0, &row));
	for (size_t i = 0; i < COUNT_OF(many); i++) {
		iforest_store64(node + index_.manifest.fields.value_offset[0], many[i]);
		iforest_store64(table + IFOREST_COUNTER_HEADER + N, many[i]);
		assert_false(iforest_counter_row_read(table, 0, node, &index_.manifest.fields, 0, &row));
	}
	stop();
}

/* Of each series the greatest integral there is; that of several would not fit. */
static void sums_of_several_series_are_not_made(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	sample_start(&index_, &(struct sample_shape){ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "i", .duration = ORACLE_NONE });
	sample_entries(&index_, &dice, 3000, 3, SAMPLE_EXTREME);
	for (size_t i = 0; i < index_.oracle.n_entries; i++)
		index_.oracle.entries[i].value[0].integer = i % 9 ? INT64_MIN : INT64_MIN + 1;
	assert_ok(sample_build(&index_, 0));
	memory_sidecar_start(&sidecar, &index_.core_alloc.alloc);
	assert_true(index_.manifest.runs[0].n_leaves > 3);
	assert_ok(iforest_run_keep_counters(&index_.store, &index_.manifest, &index_.manifest.runs[0], 0, &sidecar.base));
	assert_ok(iforest_run_keep_counters(&index_.store, &index_.manifest, &index_.manifest.runs[0], 0, &sidecar.base));
	stop();
}

/* A duration below 0, and an end before the time, are those of a sample that has not ended; an end may lie before the time 0. */
static void samples_hold_to_their_ends(void **state)
{
	struct iforest_node_schema lasts = { .end_rule = IFOREST_END_DURATION }, ends = { .end_rule = IFOREST_END_COLUMN };

	(void)state;
	assert_int_equal(iforest_sample_until(&lasts, -50, true, 10), -40);
	assert_int_equal(iforest_sample_until(&lasts, -50, true, 0), -50);
	assert_true(iforest_sample_until(&lasts, -50, true, -40) == INT64_MAX);
	assert_true(iforest_sample_until(&lasts, -50, false, 0) == INT64_MAX);
	assert_true(iforest_sample_until(&lasts, INT64_MAX - 1, true, 9) == INT64_MAX);
	assert_int_equal(iforest_sample_until(&ends, -50, true, -40), -40);
	assert_int_equal(iforest_sample_until(&ends, -50, true, 60), 60);
	assert_int_equal(iforest_sample_until(&ends, -50, true, -50), -50);
	assert_true(iforest_sample_until(&ends, -50, true, -60) == INT64_MAX);
	assert_true(iforest_sample_until(&ends, -50, false, 0) == INT64_MAX);
}

static void every_allocation_may_fail(void **state)
{
	struct random dice = random_from(random_seed());
	enum iforest_status status = IFOREST_NO_MEMORY;
	unsigned long n = 0;

	(void)state;
	start(&dice);
	while (status) {
		index_.core_alloc.fail_at = index_.core_alloc.n_calls + ++n;
		status = keep(&sidecar.base);
		assert_true(!status || status == IFOREST_NO_MEMORY);
	}
	index_.core_alloc.fail_at = 0;
	assert_true(n > 20);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_page_of_nodes_has_a_table),
		cmocka_unit_test(few_removals_make_few_tables_old),
		cmocka_unit_test(what_is_kept_may_be_checked),
		cmocka_unit_test(impossible_rows_are_refused),
		cmocka_unit_test(impossible_nodes_have_no_rows),
		cmocka_unit_test(sums_of_several_series_are_not_made),
		cmocka_unit_test(samples_hold_to_their_ends),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
