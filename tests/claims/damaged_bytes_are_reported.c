/* Stored bytes are foreign. A damaged byte anywhere is noticed and named; and bytes that are wrong behind a right checksum, as
 * somebody could forge them, lead to an error or to a wrong number, never to a crash, a hang, or memory read that is not
 * ours. */
#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/run/layout.h"
#include "core/query/scan.h"
#include "tests/support/harness.h"
#include "tests/support/sanitizer.h"
#include "tests/support/specimen.h"

static struct specimen specimen;

static int start(void **state) { (void)state; specimen_start(&specimen); return 0; }
static int stop(void **state) { (void)state; specimen_stop(&specimen); return 0; }

static bool is_refusal(enum iforest_status status)
{
	return status == IFOREST_CORRUPT || status == IFOREST_FORMAT;
}

/* The next byte of a page. The sanitizer is shown all of the header, and then a part: 23 is prime to the eight bits. */
static uint32_t next_byte(uint32_t i)
{
	return i < IFOREST_PAGE_HEADER || !sanitizer_shortens() ? i + 1 : i + 23;
}

/* The check refuses the index and names this page (by its header as it was built). */
static void assert_blamed(unsigned run, uint64_t index, enum iforest_status status)
{
	const uint8_t *built = specimen.pages[run][index].bytes;
	const struct iforest_fault *fault = &specimen.store.fault;

	assert_true(is_refusal(status));
	assert_non_null(fault->what);
	assert_true(fault->run_id == specimen.run_ids[run]);
	assert_int_equal(fault->level, built[22]);
	assert_int_equal(fault->number, iforest_load32(built + 16));
}

static void every_byte_of_a_page_is_checked(void **state)
{
	(void)state;
	specimen_restore(&specimen);
	assert_ok(specimen_read(&specimen));
	assert_ok(specimen_check(&specimen));
	for (uint64_t index = 0; index < specimen.n_pages[1]; index++) {
		uint32_t *n_bytes;
		uint8_t *bytes = specimen_page(&specimen, 1, index, &n_bytes);

		for (uint32_t i = 0; i < *n_bytes; i = next_byte(i)) {
			bytes[i] ^= (uint8_t)(1u << i % 8);
			assert_blamed(1, index, specimen_check(&specimen));
			bytes[i] ^= (uint8_t)(1u << i % 8);
		}
	}
	assert_ok(specimen_check(&specimen));
	specimen_forget(&specimen);
}

static void every_byte_of_the_manifest_is_checked(void **state)
{
	(void)state;
	specimen_restore(&specimen);
	for (uint32_t i = 0; i < specimen.n_manifest_bytes; i++) {
		specimen.memory.manifest[i] ^= (uint8_t)(1u << i % 8);
		assert_true(is_refusal(specimen_read(&specimen)));
		specimen.memory.manifest[i] ^= (uint8_t)(1u << i % 8);
	}
	assert_ok(specimen_read(&specimen));
	specimen_forget(&specimen);
}

static void another_version_is_told_from_damage(void **state)
{
	uint32_t *n_bytes;
	uint8_t *page;

	(void)state;
	specimen_restore(&specimen);
	assert_ok(specimen_read(&specimen));
	page = specimen_page(&specimen, 0, 0, &n_bytes);
	page[23]++;
	specimen_finish_page(page, *n_bytes);
	assert_status(specimen_check(&specimen), IFOREST_FORMAT);
	assert_blamed(0, 0, IFOREST_FORMAT);
	specimen.memory.manifest[8]++;
	specimen_finish_manifest(specimen.memory.manifest, specimen.memory.n_manifest_bytes);
	assert_status(specimen_read(&specimen), IFOREST_FORMAT);
}

static void pages_cut_short(void **state)
{
	(void)state;
	specimen_restore(&specimen);
	assert_ok(specimen_read(&specimen));
	for (uint64_t index = 0; index < specimen.n_pages[0]; index++) {
		uint32_t *n_bytes, n_built;

		specimen_page(&specimen, 0, index, &n_bytes);
		n_built = *n_bytes;
		for (uint32_t n = 0; n < n_built; n = next_byte(n)) {
			*n_bytes = n;
			assert_blamed(0, index, specimen_check(&specimen));
		}
		*n_bytes = n_built;
	}
	specimen_forget(&specimen);
}

static void a_manifest_cut_short(void **state)
{
	(void)state;
	specimen_restore(&specimen);
	for (uint32_t n = 0; n < specimen.n_manifest_bytes; n++) {
		specimen.memory.n_manifest_bytes = n;
		assert_status(specimen_read(&specimen), IFOREST_CORRUPT);
	}
	specimen.memory.n_manifest_bytes = specimen.n_manifest_bytes;
}

/* Sound pages in each other's place: of the same run and level, of another level, of another run. */
static void swapped_pages(void **state)
{
	(void)state;
	for (uint64_t a = 0; a < specimen.n_pages[0]; a++)
		for (unsigned run = 0; run < SPECIMEN_RUNS; run++) {
			uint64_t b = (a + 1) % specimen.n_pages[run];
			struct specimen_page kept = specimen.pages[run][b], moved = specimen.pages[0][a];

			specimen.pages[run][b] = moved;
			specimen.pages[0][a] = kept;
			specimen_restore(&specimen);
			specimen.pages[run][b] = kept;
			specimen.pages[0][a] = moved;
			assert_ok(specimen_read(&specimen));
			assert_status(specimen_check(&specimen), IFOREST_CORRUPT);
			assert_string_equal(specimen.store.fault.what, "another page stands in its place");
		}
}

static void missing_pages(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < specimen.n_pages[1]; n++) {
		uint64_t n_pages = specimen.n_pages[1];

		specimen.n_pages[1] = n;
		specimen_restore(&specimen);
		specimen.n_pages[1] = n_pages;
		assert_ok(specimen_read(&specimen));
		assert_status(specimen_check(&specimen), IFOREST_CORRUPT);
		assert_string_equal(specimen.store.fault.what, "the page is missing");
		specimen_exercise(&specimen, SPECIMEN_MERGES);
	}
}

/* The page of a level and number in run 0. */
static uint64_t index_of(unsigned level, uint64_t number)
{
	for (uint64_t i = 0; i < specimen.n_pages[0]; i++)
		if (specimen.pages[0][i].bytes[22] == level && iforest_load32(specimen.pages[0][i].bytes + 16) == number)
			return i;
	fail();
	return 0;
}

/* All of the header, the directory and the first node; then every fifth byte, or fewer. */
static uint32_t next_place(uint32_t i)
{
	return i < 120 ? i + 1 : i + (sanitizer_shortens() ? 17 : 5);
}

static void forged_pages_break_nothing(void **state)
{
	const uint64_t pages[] = { index_of(0, 0), index_of(0, 2), index_of(1, 0),
				   index_of(1, 1), index_of(2, 0), index_of(3, 0) };
	static const uint8_t patterns[] = { 0xff, 0x01 };

	(void)state;
	for (unsigned p = 0; p < COUNT_OF(pages); p++)
		for (uint32_t i = 8; i < specimen.pages[0][pages[p]].n_bytes; i = next_place(i))
			for (unsigned k = 0; k < COUNT_OF(patterns); k++) {
				uint32_t *n_bytes;
				uint8_t *bytes;

				specimen_restore(&specimen);
				bytes = specimen_page(&specimen, 0, pages[p], &n_bytes);
				bytes[i] ^= patterns[k];
				specimen_finish_page(bytes, *n_bytes);
				specimen_exercise(&specimen, (i % 16 == 0) | 2 * (i / 16 % 3));
			}
}

/* Each byte by three patterns. The sanitizer reads and checks all, and asks of one of them in turn. */
static void forged_manifests_break_nothing(void **state)
{
	static const uint8_t patterns[] = { 0xff, 0x01, 0x80 };

	(void)state;
	for (uint32_t i = 8; i < specimen.n_manifest_bytes; i++)
		for (unsigned k = 0; k < COUNT_OF(patterns); k++) {
			specimen_restore(&specimen);
			specimen.memory.manifest[i] ^= patterns[k];
			specimen_finish_manifest(specimen.memory.manifest, specimen.memory.n_manifest_bytes);
			if (!sanitizer_shortens() || k == i % COUNT_OF(patterns))
				specimen_exercise(&specimen, (i % 16 == 0) | 2 * (i / 16 % 3));
			else if (!specimen_read(&specimen))
				specimen_judge(&specimen, specimen_check(&specimen));
		}
}

/* A manifest that says that pages are smaller than they are: room made by it must not be overrun. The pages are made longer by
 * zeros behind what they hold, and sealed. */
static void a_forged_page_size(void **state)
{
	enum { LONG = 1400 };
	uint8_t longer[LONG];

	(void)state;
	specimen_restore(&specimen);
	specimen.memory.pager.page_bytes = LONG;
	for (uint64_t i = 0; i < specimen.n_pages[0]; i++) {
		struct iforest_place place = { .run_id = specimen.run_ids[0], .location = 0 };
		struct iforest_page_write page = { i, longer, LONG };

		memset(longer, 0, LONG);
		memcpy(longer, specimen.pages[0][i].bytes, specimen.pages[0][i].n_bytes);
		if (longer[22] == 0) {
			iforest_store16(longer + 20, LONG);
			specimen_finish_page(longer, LONG);
		}
		assert_ok(specimen.memory.pager.write(&specimen.memory, &place, &page, 1));
	}
	specimen_exercise(&specimen, SPECIMEN_MERGES);
}

/* Sums that overflow 128 bits when a leaf's values are added to a forged node's. */
static void a_forged_sum(void **state)
{
	uint32_t *n_bytes;
	uint8_t *page;
	struct iforest_node_schema *fields = &specimen.manifest.fields;

	(void)state;
	for (unsigned sign = 0; sign < 2; sign++)
		for (uint64_t number = 0; number < 2; number++) {
			specimen_restore(&specimen);
			assert_ok(specimen_read(&specimen));
			page = specimen_page(&specimen, 0, index_of(1, number), &n_bytes);
			for (unsigned node = 0; node < 2; node++) {
				uint8_t *sum =
					page + IFOREST_PAGE_HEADER + node * fields->node_bytes + fields->value_offset[0] + 8;

				iforest_store64(sum, sign ? 0 : UINT64_MAX);
				iforest_store64(sum + 8, sign ? (uint64_t)INT64_MIN : INT64_MAX);
			}
			specimen_finish_page(page, *n_bytes);
			specimen_exercise(&specimen, SPECIMEN_MERGES);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_of_a_page_is_checked),
		cmocka_unit_test(every_byte_of_the_manifest_is_checked),
		cmocka_unit_test(another_version_is_told_from_damage),
		cmocka_unit_test(pages_cut_short),
		cmocka_unit_test(a_manifest_cut_short),
		cmocka_unit_test(swapped_pages),
		cmocka_unit_test(missing_pages),
		cmocka_unit_test(forged_pages_break_nothing),
		cmocka_unit_test(forged_manifests_break_nothing),
		cmocka_unit_test(a_forged_page_size),
		cmocka_unit_test(a_forged_sum),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
