#include "core/base/array.h"

#include "tests/support/alloc_fault.h"
#include "tests/support/harness.h"

/* Items keep their values when the array moves, and room doubles, so that n items take log2(n) allocations. */
static void items_are_added(void **state)
{
	struct alloc_fault fault;
	int *items = NULL;
	size_t n = 0, n_reserved = 0;

	(void)state;
	alloc_fault_init(&fault);
	for (int i = 0; i < 1000; i++) {
		int *item = iforest_array_add(&fault.alloc, &items, sizeof *items, &n, &n_reserved);

		assert_ptr_equal(item, &items[i]);
		*item = i;
	}
	assert_int_equal(n, 1000);
	assert_true(n_reserved >= n && n_reserved < 2 * n);
	assert_int_equal(fault.n_calls, 7); /* 16, 32 ... 1024 */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	iforest_release(&fault.alloc, items);
	assert_int_equal(fault.n_live, 0);
}

static void room_is_made_at_once(void **state)
{
	struct alloc_fault fault;
	char *items = NULL;
	size_t n_reserved = 0;

	(void)state;
	alloc_fault_init(&fault);
	assert_true(iforest_array_reserve(&fault.alloc, &items, 1, 0, &n_reserved));
	assert_null(items);
	assert_true(iforest_array_reserve(&fault.alloc, &items, 1, 500, &n_reserved));
	assert_int_equal(n_reserved, 500);
	assert_true(iforest_array_reserve(&fault.alloc, &items, 1, 500, &n_reserved));
	assert_true(iforest_array_reserve(&fault.alloc, &items, 1, 501, &n_reserved));
	assert_int_equal(n_reserved, 1000);
	assert_int_equal(fault.n_calls, 2);
	iforest_release(&fault.alloc, items);
}

static void a_failure_changes_nothing(void **state)
{
	struct alloc_fault fault;
	int *items = NULL, *before;
	size_t n = 0, n_reserved = 0;

	(void)state;
	alloc_fault_init(&fault);
	for (int i = 0; i < 16; i++)
		*(int *)iforest_array_add(&fault.alloc, &items, sizeof *items, &n, &n_reserved) = i;
	before = items;
	fault.fail_at = fault.n_calls + 1;
	assert_null(iforest_array_add(&fault.alloc, &items, sizeof *items, &n, &n_reserved));
	assert_ptr_equal(items, before);
	assert_true(n == 16 && n_reserved == 16 && items[15] == 15);
	iforest_release(&fault.alloc, items);
}

static void a_size_that_overflows_is_refused(void **state)
{
	struct alloc_fault fault;
	uint64_t *items = NULL;
	size_t n_reserved = 0;

	(void)state;
	alloc_fault_init(&fault);
	assert_false(iforest_array_reserve(&fault.alloc, &items, sizeof *items, SIZE_MAX / sizeof *items + 2, &n_reserved));
	assert_null(items);
	assert_true(n_reserved == 0 && fault.n_calls == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_are_added),
		cmocka_unit_test(room_is_made_at_once),
		cmocka_unit_test(a_failure_changes_nothing),
		cmocka_unit_test(a_size_that_overflows_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
