#include "core/page/page.h"

#include <string.h>

#include "core/base/bits.h"
#include "core/base/xxh64.h"
#include "tests/support/harness.h"

/* Published test values of XXH64 with seed 0 (the empty string, "a", "abc"), and lengths around its steps of 4, 8 and 32. */
static void the_checksum_is_xxh64(void **state)
{
	uint8_t bytes[101];

	(void)state;
	assert_true(iforest_xxh64((const uint8_t *)"", 0) == UINT64_C(0xEF46DB3751D8E999));
	assert_true(iforest_xxh64((const uint8_t *)"a", 1) == UINT64_C(0xD24EC4F1A98C6E5B));
	assert_true(iforest_xxh64((const uint8_t *)"abc", 3) == UINT64_C(0x44BC2CF5AD770999));
	assert_true(iforest_xxh64((const uint8_t *)"Nobody inspects the spammish repetition", 39) == UINT64_C(0xFBCEA83C8A378BF1));
	for (unsigned i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)i;
	for (unsigned n = 1; n < sizeof bytes; n++)
		for (unsigned i = 0; i < n; i++) {
			uint64_t sum = iforest_xxh64(bytes, n);

			bytes[i] ^= 0x10;
			assert_true(iforest_xxh64(bytes, n) != sum);
			bytes[i] ^= 0x10;
		}
}

enum { LENGTH = 100 };

static const struct iforest_page_header header = { .run_id = UINT64_C(0x123456789ABCDEF0),
						   .number = 77,
						   .length = LENGTH,
						   .level = 3,
						   .n_items = 5,
						   .n_entries = 500,
						   .n_dead = 20 };

static void make(uint8_t *page)
{
	memset(page, 0x33, LENGTH);
	iforest_page_finish(page, &header);
}

static enum iforest_status check(const uint8_t *page, uint32_t n_bytes, const char **what)
{
	struct iforest_page_header read;

	return iforest_page_check(page, n_bytes, header.run_id, header.level, header.number, false, &read, what);
}

static void bytes_stand_where_the_header_says(void **state)
{
	uint8_t page[LENGTH];
	struct iforest_page_header read;
	const char *what;

	(void)state;
	make(page);
	assert_memory_equal(page, "IFpg", 4);
	assert_true(iforest_load64(page + 8) == header.run_id);
	assert_int_equal(iforest_load32(page + 16), 77);
	assert_int_equal(iforest_load16(page + 20), LENGTH);
	assert_true(page[22] == 3 && page[23] == 1);
	assert_int_equal(iforest_load16(page + 24), 5);
	assert_int_equal(iforest_load16(page + 26), 500);
	assert_int_equal(iforest_load16(page + 28), 20);
	assert_int_equal(iforest_load16(page + 30), 0);
	assert_int_equal(iforest_load32(page + 4), (uint32_t)iforest_xxh64(page + 8, LENGTH - 8));
	assert_ok(iforest_page_check(page, LENGTH, header.run_id, 3, 77, false, &read, &what));
	assert_true(read.run_id == header.run_id && read.number == 77 && read.length == LENGTH && read.level == 3 &&
		    read.n_items == 5 && read.n_entries == 500 && read.n_dead == 20);
}

static void longer_storage_is_fine_and_shorter_is_not(void **state)
{
	uint8_t page[LENGTH + 50] = { 0 };
	const char *what;

	(void)state;
	make(page);
	assert_ok(check(page, LENGTH + 50, &what));
	for (uint32_t n = 0; n < LENGTH; n++) {
		assert_status(check(page, n, &what), IFOREST_CORRUPT);
		assert_string_equal(what, n < IFOREST_PAGE_HEADER ? "the page is cut short" : "the page's length is wrong");
	}
}

static void each_damage_has_its_name(void **state)
{
	static const struct { unsigned at; bool sealed; enum iforest_status status; const char *what; } cases[] = {
		{ 0, true, IFOREST_CORRUPT, "the page's magic is wrong" },
		{ 4, false, IFOREST_CORRUPT, "the page's checksum is wrong" },
		{ 8, true, IFOREST_CORRUPT, "another page stands in its place" },
		{ 16, true, IFOREST_CORRUPT, "another page stands in its place" },
		{ 21, false, IFOREST_CORRUPT, "the page's length is wrong" },
		{ 22, true, IFOREST_CORRUPT, "another page stands in its place" },
		{ 23, true, IFOREST_FORMAT, "the page's format version is unknown" },
		{ 99, false, IFOREST_CORRUPT, "the page's checksum is wrong" },
	};

	(void)state;
	for (unsigned c = 0; c < COUNT_OF(cases); c++) {
		uint8_t page[LENGTH];
		const char *what = NULL;

		make(page);
		page[cases[c].at] ^= 0x40;
		if (cases[c].sealed)
			iforest_store32(page + 4, (uint32_t)iforest_xxh64(page + 8, LENGTH - 8));
		assert_status(check(page, LENGTH, &what), cases[c].status);
		assert_string_equal(what, cases[c].what);
	}
}

static void checked_pages_are_not_checked_again(void **state)
{
	uint8_t page[LENGTH];
	struct iforest_page_header read;
	const char *what;

	(void)state;
	make(page);
	page[LENGTH - 1] ^= 1;
	assert_status(check(page, LENGTH, &what), IFOREST_CORRUPT);
	assert_ok(iforest_page_check(page, LENGTH, header.run_id, 3, 77, true, &read, &what));
	assert_int_equal(read.n_items, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_checksum_is_xxh64),
		cmocka_unit_test(bytes_stand_where_the_header_says),
		cmocka_unit_test(longer_storage_is_fine_and_shorter_is_not),
		cmocka_unit_test(each_damage_has_its_name),
		cmocka_unit_test(checked_pages_are_not_checked_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
