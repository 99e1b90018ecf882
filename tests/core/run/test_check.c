/* Lies with a right checksum that only recomputing finds. Damage without one is in claims/damaged_bytes_are_reported.c. */
#include "core/run/check.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/base/xxh64.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

static const struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 4, .kinds = "s", .duration = 0 };

static struct sample_index index_checked;
static struct sample_index *const x = &index_checked;

static int start(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	sample_start(x, &shape);
	sample_entries(x, &dice, 3000, 2, SAMPLE_STEADY);
	assert_ok(sample_build(x, 0));
	sample_remove(x, &dice, 0, 10);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	sample_stop(x);
	return 0;
}

/* The bytes of a page of the run. */
static uint8_t *page_at(unsigned level, uint64_t number, uint32_t **n_bytes)
{
	const struct iforest_run *run = &x->manifest.runs[0];
	uint8_t *page = iforest_pager_memory_bytes(&x->memory, run->place.location,
						   iforest_run_page_index(&x->manifest, run, level, number), n_bytes);

	assert_non_null(page);
	return page;
}

static void seal(uint8_t *page)
{
	iforest_store32(page + 4, (uint32_t)iforest_xxh64(page + 8, iforest_load16(page + 20) - 8u));
}

static void assert_finds(const char *what, unsigned level, uint64_t number)
{
	struct iforest_check_result result;

	assert_status(iforest_check(&x->store, &x->manifest, &result), IFOREST_CORRUPT);
	assert_string_equal(x->store.fault.what, what);
	assert_int_equal(x->store.fault.level, level);
	assert_int_equal(x->store.fault.number, number);
	assert_true(x->store.fault.run_id == x->manifest.runs[0].place.run_id);
	assert_int_equal(x->memory.n_pages_pinned, 0);
}

static void what_was_read_is_counted(void **state)
{
	struct iforest_check_result result;

	(void)state;
	assert_ok(iforest_check(&x->store, &x->manifest, &result));
	assert_int_equal(result.n_rows + result.n_dead, 3000);
	assert_int_equal(result.n_leaf_pages, x->manifest.runs[0].n_leaves);
	assert_int_equal(result.n_pages, iforest_run_pages(&x->manifest, &x->manifest.runs[0]));
	sample_check(x);
}

static void every_byte_of_every_node_is_compared(void **state)
{
	unsigned n_levels = x->manifest.runs[0].n_levels;

	(void)state;
	assert_true(n_levels >= 2);
	for (unsigned level = 1; level <= n_levels; level++) {
		uint8_t *page = page_at(level, 0, NULL);

		for (unsigned i = 0; i < x->manifest.fields.node_bytes; i++) {
			page[IFOREST_PAGE_HEADER + i] ^= 0x20;
			seal(page);
			assert_finds("a node is not the aggregate of the page below it", level, 0);
			page[IFOREST_PAGE_HEADER + i] ^= 0x20;
			seal(page);
		}
	}
	for (unsigned i = 0; i < x->manifest.fields.node_bytes; i++) {
		x->manifest.runs[0].root[i] ^= 0x20;
		assert_finds("a node is not the aggregate of the page below it", n_levels + 1, 0);
		x->manifest.runs[0].root[i] ^= 0x20;
	}
	sample_check(x);
}

static void a_dead_bit_without_its_count(void **state)
{
	uint8_t *page = page_at(0, 1, NULL);
	uint8_t kept = page[28];

	(void)state;
	page[28] ^= 1;
	seal(page);
	assert_finds("the page's number of removed entries is wrong", 0, 1);
	page[28] = kept;
	seal(page);
	sample_check(x);
}

static void refs_that_do_not_ascend_as_said(void **state)
{
	uint8_t *page = page_at(0, 1, NULL);

	(void)state;
	assert_int_equal(page[30], 0); /* the sample's refs are scattered */
	page[30] = IFOREST_PAGE_REFS_ASCEND;
	seal(page);
	assert_finds("refs do not ascend as the page says", 0, 1);
	page[30] = 0;
	seal(page);
	sample_check(x);
}

static void keys_out_of_order(void **state)
{
	uint8_t *page = page_at(0, 1, NULL), *first_time = page + IFOREST_PAGE_HEADER + 8;
	uint64_t kept = iforest_load64(first_time);

	(void)state;
	iforest_store64(first_time, kept - 1000000000); /* all times of a block hang on its first */
	seal(page);
	assert_finds("entries are out of order", 0, 1);
	iforest_store64(first_time, kept);
	seal(page);
	sample_check(x);
}

/* The summary of a block's first value column stands where its columns begin: entry of the smallest number, of the greatest.
 * Where the sum is too large there is none. */
static void a_summary_that_is_wrong(void **state)
{
	unsigned n_found = 0;

	(void)state;
	for (uint32_t leaf = 0; leaf < x->manifest.runs[0].n_leaves; leaf++) {
		uint8_t *page = page_at(0, leaf, NULL), *summary = page + iforest_load16(page + IFOREST_PAGE_HEADER + 4);

		for (unsigned k = 0; k < 2 && summary[0] != 255 && page[IFOREST_PAGE_HEADER + 6] > 1; k++) {
			uint8_t kept = summary[k];

			summary[k] = kept == 0;
			seal(page);
			assert_finds("a block is not what its summary says", 0, leaf);
			summary[k] = kept;
			seal(page);
			n_found++;
		}
	}
	assert_true(n_found > 2);
	sample_check(x);
}

static void a_missing_node(void **state)
{
	unsigned top = x->manifest.runs[0].n_levels;
	uint32_t *n_bytes;
	uint8_t *page = page_at(top, 0, &n_bytes);
	unsigned n = iforest_load16(page + 24);

	(void)state;
	assert_true(n > 1);
	iforest_store16(page + 24, (uint16_t)(n - 1));
	iforest_store16(page + 20, (uint16_t)(iforest_load16(page + 20) - x->manifest.fields.node_bytes));
	seal(page);
	assert_finds("the page has too few nodes", top, 0);
	iforest_store16(page + 24, (uint16_t)n);
	iforest_store16(page + 20, (uint16_t)(iforest_load16(page + 20) + x->manifest.fields.node_bytes));
	seal(page);
	sample_check(x);
}

/* A node over a leaf page that does not exist: found by the check, and no seek is led astray by it. */
static void a_node_too_many(void **state)
{
	const struct iforest_run *run = &x->manifest.runs[0];
	uint64_t last = (run->n_leaves - 1) / x->manifest.fanout;
	uint16_t node_bytes = x->manifest.fields.node_bytes;
	struct iforest_key after_all = iforest_key_at((uint64_t)UINT32_MAX + 1, INT64_MIN);
	struct iforest_cursor cursor;
	uint8_t *page = page_at(1, last, NULL), longer[1024] = { 0 };
	uint16_t length = iforest_load16(page + 20), n = iforest_load16(page + 24);
	struct iforest_page_write write = { .index = iforest_run_page_index(&x->manifest, run, 1, last), .bytes = longer };

	(void)state;
	assert_true(n < x->manifest.fanout);
	memcpy(longer, page, length);
	memcpy(longer + length, page + length - node_bytes, node_bytes);
	iforest_store16(longer + 20, (uint16_t)(length + node_bytes));
	iforest_store16(longer + 24, (uint16_t)(n + 1));
	seal(longer);
	write.n_bytes = length + node_bytes;
	assert_ok(x->memory.pager.write(&x->memory, &run->place, &write, 1));
	assert_finds("the page's number of nodes is wrong", 1, last);
	iforest_cursor_init(&cursor, &x->store, &x->manifest, run);
	assert_status(iforest_cursor_seek(&cursor, &after_all), IFOREST_CORRUPT);
	assert_string_equal(x->store.fault.what, "the page has too many nodes");
	iforest_cursor_release(&cursor);
	iforest_store16(longer + 20, length);
	iforest_store16(longer + 24, n);
	seal(longer);
	write.n_bytes = length;
	assert_ok(x->memory.pager.write(&x->memory, &run->place, &write, 1));
	sample_check(x);
}

static void an_index_without_runs_is_sound(void **state)
{
	struct sample_index empty;

	(void)state;
	sample_start(&empty, &shape);
	sample_check(&empty);
	sample_stop(&empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_read_is_counted),
		cmocka_unit_test(every_byte_of_every_node_is_compared),
		cmocka_unit_test(a_dead_bit_without_its_count),
		cmocka_unit_test(refs_that_do_not_ascend_as_said),
		cmocka_unit_test(keys_out_of_order),
		cmocka_unit_test(a_summary_that_is_wrong),
		cmocka_unit_test(a_missing_node),
		cmocka_unit_test(a_node_too_many),
		cmocka_unit_test(an_index_without_runs_is_sound),
	};

	return random_report(cmocka_run_group_tests(tests, start, stop));
}
