#include "core/run/pager_memory.h"

#include <string.h>

#include "tests/support/alloc_fault.h"
#include "tests/support/harness.h"

enum { PAGE_BYTES = 1024, BATCH = 3 };

static struct alloc_fault fault;
static struct iforest_pager_memory memory;
static const struct iforest_pager *pager = &memory.pager;
static struct iforest_place place;

static int start_with(bool fixed_pages)
{
	alloc_fault_init(&fault);
	iforest_pager_memory_init(&memory, &fault.alloc, PAGE_BYTES, BATCH, fixed_pages);
	place = (struct iforest_place){ .run_id = 42 };
	return pager->create_run(pager->context, &place);
}

static int start(void **state) { (void)state; return start_with(false); }
static int start_fixed(void **state) { (void)state; return start_with(true); }

static int stop(void **state)
{
	(void)state;
	assert_int_equal(memory.n_pages_pinned, 0);
	iforest_pager_memory_release(&memory);
	assert_int_equal(fault.n_live, 0);
	return 0;
}

static struct iforest_page_write page_of(uint64_t index, const char *text)
{
	return (struct iforest_page_write){ .index = index, .bytes = (const uint8_t *)text, .n_bytes = (uint32_t)strlen(text) };
}

static enum iforest_status write_one(uint64_t index, const char *text)
{
	struct iforest_page_write page = page_of(index, text);

	return pager->write(pager->context, &place, &page, 1);
}

static void assert_reads(uint64_t index, const char *text, uint32_t n_bytes)
{
	struct iforest_page page;

	assert_ok(pager->get(pager->context, &place, index, &page));
	assert_int_equal(page.n_bytes, n_bytes);
	assert_memory_equal(page.bytes, text, strlen(text));
	for (size_t i = strlen(text); i < n_bytes; i++)
		assert_int_equal(page.bytes[i], 0);
	pager->release(pager->context, &page);
}

static void pages_are_read_as_written(void **state)
{
	(void)state;
	assert_ok(write_one(0, "zero"));
	assert_ok(write_one(1, "one"));
	assert_ok(write_one(0, "again"));
	assert_reads(0, "again", 5);
	assert_reads(1, "one", 3);
	assert_true(iforest_pager_memory_total(&memory) == 8 && memory.n_writes == 3 && memory.n_gets == 2);
}

static void pages_may_be_lent(void **state)
{
	struct iforest_place other = { .run_id = 99 };
	struct iforest_page page, again;

	(void)state;
	memory.lends_pages = true;
	assert_ok(write_one(0, "zero"));
	assert_ok(pager->get(pager->context, &place, 0, &page));
	assert_ok(pager->get(pager->context, &place, 0, &again));
	assert_ptr_equal(page.bytes, again.bytes);
	assert_true(*page.is_checked);
	pager->release(pager->context, &page);
	assert_memory_equal(again.bytes, "zero", 4);
	pager->release(pager->context, &again);
	assert_ok(pager->drop_run(pager->context, &place, 1));
	assert_ok(pager->create_run(pager->context, &other)); /* in the place of the one dropped */
	assert_int_equal(other.location, place.location);
	assert_status(pager->get(pager->context, &place, 0, &page), IFOREST_CORRUPT);
}

static void fixed_pages_read_at_full_length(void **state)
{
	(void)state;
	assert_ok(write_one(0, "short"));
	assert_reads(0, "short", PAGE_BYTES);
}

/* A page that is held stays as it was, whatever is written. */
static void held_pages_are_stable(void **state)
{
	struct iforest_page page;

	(void)state;
	assert_ok(write_one(0, "old"));
	assert_ok(pager->get(pager->context, &place, 0, &page));
	assert_ok(write_one(0, "new"));
	assert_memory_equal(page.bytes, "old", 3);
	assert_int_equal(memory.n_pages_pinned, 1);
	pager->release(pager->context, &page);
	assert_reads(0, "new", 3);
}

static void it_is_as_strict_as_engines_are(void **state)
{
	static const char long_page[PAGE_BYTES + 1];
	struct iforest_page_write pages[BATCH + 1] = { page_of(0, "a"), page_of(1, "b"), page_of(2, "c"), page_of(3, "d") };
	struct iforest_page_write too_long = { .bytes = (const uint8_t *)long_page, .n_bytes = PAGE_BYTES + 1 };
	struct iforest_place other = { .run_id = 42, .location = 9 };
	struct iforest_page page;

	(void)state;
	assert_status(pager->write(pager->context, &place, pages, BATCH + 1), IFOREST_ARGUMENT);
	assert_status(pager->write(pager->context, &place, pages, 0), IFOREST_ARGUMENT);
	assert_status(pager->write(pager->context, &place, &too_long, 1), IFOREST_ARGUMENT);
	assert_status(write_one(1, "a gap"), IFOREST_ARGUMENT);
	assert_status(pager->write(pager->context, &other, pages, 1), IFOREST_ARGUMENT);
	assert_status(pager->get(pager->context, &place, 0, &page), IFOREST_CORRUPT);
	assert_ok(pager->write(pager->context, &place, pages, BATCH));
	assert_status(pager->get(pager->context, &other, 0, &page), IFOREST_CORRUPT);
	assert_status(pager->get(pager->context, &place, BATCH, &page), IFOREST_CORRUPT);
	other = place;
	other.run_id = 43; /* another run's id on this location */
	assert_status(pager->get(pager->context, &other, 0, &page), IFOREST_CORRUPT);
	assert_status(pager->drop_run(pager->context, &place, 2), IFOREST_ARGUMENT);
	assert_ok(pager->drop_run(pager->context, &place, BATCH));
	assert_status(pager->get(pager->context, &place, 0, &page), IFOREST_CORRUPT);
	assert_int_equal(iforest_pager_memory_total(&memory), 0);
}

/* A batch becomes durable as one, or not at all: whichever allocation fails, and where a later page of it is refused. */
static void batches_are_atomic(void **state)
{
	struct iforest_page_write bad[2] = { page_of(0, "lost"), page_of(7, "a gap") };
	struct iforest_page_write batch[BATCH] = { page_of(0, "A"), page_of(1, "B"), page_of(2, "C") };
	enum iforest_status status = IFOREST_NO_MEMORY;
	struct iforest_page page;

	(void)state;
	assert_ok(write_one(0, "a"));
	assert_ok(write_one(1, "b"));
	assert_status(pager->write(pager->context, &place, bad, 2), IFOREST_ARGUMENT);
	assert_reads(0, "a", 1);
	for (unsigned nth = 1; status; nth++) {
		fault.fail_at = fault.n_calls + nth;
		status = pager->write(pager->context, &place, batch, BATCH);
		fault.fail_at = 0;
		if (!status)
			break;
		assert_status(status, IFOREST_NO_MEMORY);
		assert_reads(0, "a", 1);
		assert_reads(1, "b", 1);
		assert_status(pager->get(pager->context, &place, 2, &page), IFOREST_CORRUPT);
	}
	assert_reads(0, "A", 1);
	assert_reads(2, "C", 1);
}

static void publishing_replaces_the_manifest(void **state)
{
	(void)state;
	assert_null(memory.manifest);
	assert_ok(pager->publish(pager->context, (const uint8_t *)"one", 3));
	assert_ok(pager->publish(pager->context, (const uint8_t *)"second", 6));
	assert_int_equal(memory.n_manifest_bytes, 6);
	assert_memory_equal(memory.manifest, "second", 6);
	fault.fail_at = fault.n_calls + 1;
	assert_status(pager->publish(pager->context, (const uint8_t *)"third", 5), IFOREST_NO_MEMORY);
	assert_memory_equal(memory.manifest, "second", 6);
}

static void tests_can_reach_stored_bytes(void **state)
{
	uint32_t *n_bytes;

	(void)state;
	assert_ok(write_one(0, "bytes"));
	iforest_pager_memory_bytes(&memory, place.location, 0, &n_bytes)[0] = 'B';
	assert_int_equal(*n_bytes, 5);
	assert_reads(0, "Bytes", 5);
	assert_null(iforest_pager_memory_bytes(&memory, place.location, 1, NULL));
	assert_null(iforest_pager_memory_bytes(&memory, place.location + 1, 0, NULL));
}

static void random_numbers_do_not_repeat(void **state)
{
	uint64_t numbers[100];

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(numbers); i++) {
		numbers[i] = pager->random(pager->context);
		for (unsigned j = 0; j < i; j++)
			assert_true(numbers[j] != numbers[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pages_are_read_as_written, start, stop),
		cmocka_unit_test_setup_teardown(pages_may_be_lent, start, stop),
		cmocka_unit_test_setup_teardown(fixed_pages_read_at_full_length, start_fixed, stop),
		cmocka_unit_test_setup_teardown(held_pages_are_stable, start, stop),
		cmocka_unit_test_setup_teardown(it_is_as_strict_as_engines_are, start, stop),
		cmocka_unit_test_setup_teardown(batches_are_atomic, start, stop),
		cmocka_unit_test_setup_teardown(publishing_replaces_the_manifest, start, stop),
		cmocka_unit_test_setup_teardown(tests_can_reach_stored_bytes, start, stop),
		cmocka_unit_test_setup_teardown(random_numbers_do_not_repeat, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
