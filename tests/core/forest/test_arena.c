#include "core/forest/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/support/alloc_fault.h"
#include "tests/support/harness.h"
#include "tests/support/limited.h"
#include "tests/support/random.h"

#define MEBIBYTE ((size_t)1 << 20)
#define GIBIBYTE ((size_t)1 << 30)

/* Bytes [from, to) of a pattern that tells each place from its neighbours. */
static void mark(struct iforest_arena *growing, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		growing->bytes[i] = (uint8_t)(i * 2654435761u >> 13);
}

static bool is_marked(const struct iforest_arena *growing, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (growing->bytes[i] != (uint8_t)(i * 2654435761u >> 13))
			return false;
	return true;
}

static bool is_zeros(const uint8_t *bytes, size_t n)
{
	return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

static void in_place_bytes_never_move(void **state)
{
	struct random dice = random_from(random_seed());
	struct alloc_fault fault;
	struct iforest_arena growing;
	size_t n = 0;
	uint8_t *start;

	(void)state;
	alloc_fault_init(&fault);
	iforest_arena_init(&growing, &fault.alloc, IFOREST_GROW_IN_PLACE);
	assert_true(growing.n_bytes == 0 && growing.bytes == NULL);
	assert_ok(iforest_arena_reserve(&growing, 1));
	start = growing.bytes;
	assert_true(growing.n_reserved >= GIBIBYTE);
	while (growing.n_bytes < 24 * MEBIBYTE) {
		size_t n_wanted = growing.n_bytes + random_below(&dice, 5 * MEBIBYTE);

		assert_true(is_zeros(growing.bytes + n, growing.n_bytes - n));
		n = growing.n_bytes;
		mark(&growing, 0, n);
		assert_ok(iforest_arena_reserve(&growing, n_wanted));
		assert_ptr_equal(growing.bytes, start);
		assert_true(growing.n_bytes >= n_wanted && growing.n_bytes >= n);
	}
	assert_true(is_marked(&growing, n));
	assert_int_equal(growing.n_moved, 0);
	assert_int_equal(fault.n_calls, 0);
	n = growing.n_bytes;
	assert_ok(iforest_arena_reserve(&growing, 5)); /* as much is there already */
	assert_int_equal(growing.n_bytes, n);
	iforest_arena_release(&growing);
	assert_true(growing.n_bytes == 0 && growing.bytes == NULL && growing.n_reserved == 0);
	assert_ok(iforest_arena_reserve(&growing, 7)); /* released is as good as new */
	assert_true(growing.n_bytes >= 7 && is_zeros(growing.bytes, 7));
	iforest_arena_release(&growing);
}

static void moved_bytes_are_kept(void **state)
{
	struct random dice = random_from(random_seed());
	struct alloc_fault fault;
	struct iforest_arena growing;
	size_t n = 0, n_copied = 0;

	(void)state;
	alloc_fault_init(&fault);
	iforest_arena_init(&growing, &fault.alloc, IFOREST_GROW_BY_MOVING);
	while (n < 3 * MEBIBYTE) {
		size_t n_before = growing.n_bytes, n_wanted = n + 1 + random_below(&dice, n + 3);

		assert_ok(iforest_arena_reserve(&growing, n_wanted));
		n_copied += growing.n_bytes > n_before ? n_before : 0; /* this allocator always moves */
		assert_true(growing.n_bytes >= n_wanted && is_marked(&growing, n));
		mark(&growing, n, n_wanted);
		n = n_wanted;
		assert_int_equal(fault.n_live, 1);
		assert_int_equal(fault.n_live_bytes, growing.n_bytes);
	}
	assert_int_equal(growing.n_moved, n_copied);
	assert_true(n_copied > 0 && n_copied < growing.n_bytes && growing.n_bytes < 2 * n && growing.n_reserved == 0);
	assert_true(fault.n_calls < 20);
	iforest_arena_release(&growing);
	assert_int_equal(fault.n_live, 0);
	assert_int_equal(growing.n_moved, 0);
}

static void no_memory_leaves_all_as_it_was(void **state)
{
	struct alloc_fault fault;
	struct iforest_arena growing;

	(void)state;
	alloc_fault_init(&fault);
	iforest_arena_init(&growing, &fault.alloc, IFOREST_GROW_BY_MOVING);
	fault.fail_at = 1;
	assert_status(iforest_arena_reserve(&growing, 10), IFOREST_NO_MEMORY);
	assert_true(growing.bytes == NULL && growing.n_bytes == 0);
	for (size_t n = 10; n < MEBIBYTE; n = growing.n_bytes + 1) {
		struct iforest_arena before = growing;

		fault.fail_at = fault.n_calls + 1;
		assert_status(iforest_arena_reserve(&growing, n), IFOREST_NO_MEMORY);
		assert_memory_equal(&growing, &before, sizeof growing);
		assert_true(is_marked(&growing, growing.n_bytes));
		assert_ok(iforest_arena_reserve(&growing, n));
		assert_true(is_marked(&growing, before.n_bytes));
		mark(&growing, before.n_bytes, growing.n_bytes);
	}
	iforest_arena_release(&growing);
	assert_int_equal(fault.n_live, 0);
}

static void more_than_there_can_be(void **state)
{
	static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 2, (size_t)1 << 62 };
	struct alloc_fault fault;

	(void)state;
	alloc_fault_init(&fault);
	fault.n_most_bytes = 64 * MEBIBYTE;
	for (unsigned way = 0; way < 4; way++)
		for (unsigned i = 0; i < COUNT_OF(sizes); i++) {
			struct iforest_arena growing;
			size_t n = 0;

			iforest_arena_init(&growing, &fault.alloc, way & 1 ? IFOREST_GROW_BY_MOVING : IFOREST_GROW_IN_PLACE);
			if (way & 2) {
				assert_ok(iforest_arena_reserve(&growing, 3000));
				n = growing.n_bytes;
				mark(&growing, 0, n);
			}
			assert_status(iforest_arena_reserve(&growing, sizes[i]), IFOREST_NO_MEMORY);
			assert_int_equal(growing.n_bytes, n);
			assert_true(is_marked(&growing, n));
			assert_ok(iforest_arena_reserve(&growing, n + 1));
			assert_true(growing.n_bytes > n && is_marked(&growing, n));
			iforest_arena_release(&growing);
		}
	assert_int_equal(fault.n_live, 0);
}

/* ---- under limits ---- */

static int without_address_space(void)
{
	struct alloc_fault fault;
	struct iforest_arena growing;

	alloc_fault_init(&fault);
	iforest_arena_init(&growing, &fault.alloc, IFOREST_GROW_IN_PLACE);
	LIMITED_EXPECT(iforest_arena_reserve(&growing, 100) == IFOREST_OK);
	LIMITED_EXPECT(growing.n_reserved == 0 && fault.n_live == 1 && growing.n_bytes >= 100);
	mark(&growing, 0, 100);
	LIMITED_EXPECT(iforest_arena_reserve(&growing, 5 * MEBIBYTE) == IFOREST_OK);
	LIMITED_EXPECT(growing.n_reserved == 0 && growing.n_moved > 0 && is_marked(&growing, 100));
	LIMITED_EXPECT(iforest_arena_reserve(&growing, 2 * GIBIBYTE) == IFOREST_NO_MEMORY);
	LIMITED_EXPECT(is_marked(&growing, 100));
	iforest_arena_release(&growing);
	LIMITED_EXPECT(fault.n_live == 0);
	return 0;
}

/* Less than is wished for, and in place all the same. */
static int with_some_address_space(void)
{
	struct alloc_fault fault;
	struct iforest_arena growing;

	alloc_fault_init(&fault);
	iforest_arena_init(&growing, &fault.alloc, IFOREST_GROW_IN_PLACE);
	LIMITED_EXPECT(iforest_arena_reserve(&growing, 100) == IFOREST_OK);
	LIMITED_EXPECT(growing.n_reserved >= GIBIBYTE && growing.n_reserved < 8 * GIBIBYTE && fault.n_calls == 0);
	mark(&growing, 0, 100);
	LIMITED_EXPECT(iforest_arena_reserve(&growing, 20 * MEBIBYTE) == IFOREST_OK);
	LIMITED_EXPECT(growing.n_moved == 0 && is_marked(&growing, 100));
	LIMITED_EXPECT(iforest_arena_reserve(&growing, growing.n_reserved + 1) == IFOREST_NO_MEMORY);
	LIMITED_EXPECT(is_marked(&growing, 100) && growing.n_bytes < GIBIBYTE);
	iforest_arena_release(&growing);
	return 0;
}

/* Address space enough, but not the memory behind it. */
static int without_memory(void)
{
	struct alloc_fault fault;
	struct iforest_arena growing;
	size_t n;

	alloc_fault_init(&fault);
	iforest_arena_init(&growing, &fault.alloc, IFOREST_GROW_IN_PLACE);
	LIMITED_EXPECT(iforest_arena_reserve(&growing, 3 * MEBIBYTE) == IFOREST_OK);
	n = growing.n_bytes;
	mark(&growing, 0, n);
	LIMITED_EXPECT(iforest_arena_reserve(&growing, GIBIBYTE) == IFOREST_NO_MEMORY);
	LIMITED_EXPECT(growing.n_bytes == n && is_marked(&growing, n));
	LIMITED_EXPECT(iforest_arena_reserve(&growing, n + 1) == IFOREST_OK);
	LIMITED_EXPECT(growing.n_bytes > n && is_marked(&growing, n) && is_zeros(growing.bytes + n, growing.n_bytes - n));
	iforest_arena_release(&growing);
	return 0;
}

static void in_place_without_address_space_is_by_moving(void **state)
{
	(void)state;
	if (!limited_or_says_why_not())
		skip();
	assert_int_equal(limited_run(RLIMIT_AS, 512 * MEBIBYTE, without_address_space), 0);
}

static void in_place_with_less_address_space(void **state)
{
	(void)state;
	if (!limited_or_says_why_not())
		skip();
	assert_int_equal(limited_run(RLIMIT_AS, 8 * GIBIBYTE, with_some_address_space), 0);
}

static void in_place_without_memory(void **state)
{
	(void)state;
	if (!limited_or_says_why_not())
		skip();
	assert_int_equal(limited_run(RLIMIT_DATA, 256 * MEBIBYTE, without_memory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_place_bytes_never_move),
		cmocka_unit_test(moved_bytes_are_kept),
		cmocka_unit_test(no_memory_leaves_all_as_it_was),
		cmocka_unit_test(more_than_there_can_be),
		cmocka_unit_test(in_place_without_address_space_is_by_moving),
		cmocka_unit_test(in_place_with_less_address_space),
		cmocka_unit_test(in_place_without_memory),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
