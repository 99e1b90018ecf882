/* tests/core/run/test_sidecar.c -- Sidecar store that compares: it has nothing, and reports what another one keeps that is
 * not the same. */
#include "core/run/sidecar.h"

#include "tests/support/alloc_fault.h"
#include "tests/support/harness.h"
#include "tests/support/memory_sidecar.h"

static void what_differs_is_reported(void **state)
{
	static struct memory_sidecar kept;
	struct alloc_fault alloc;
	struct iforest_store store = { .alloc = &alloc.alloc };
	struct iforest_sidecar_comparison comparison = { .kept = &kept.base, .store = &store, .what = "it is wrong" };
	struct iforest_sidecar comparing = iforest_sidecar_comparing(&comparison);
	struct iforest_sidecar_name name = { .run_id = 7, .level = 3, .number = 5, .value = 1, .n_dead = 2 }, other = name;
	uint8_t bytes[] = { 1, 2, 3 }, *got;
	size_t n_got;
	bool found = true;

	(void)state;
	alloc_fault_init(&alloc);
	memory_sidecar_start(&kept, &alloc.alloc);
	assert_ok(kept.base.put(&kept, &name, bytes, 3));
	assert_ok(comparing.has(comparing.context, &name, &found));
	assert_false(found);
	found = true;
	assert_ok(comparing.get(comparing.context, &name, &got, &n_got, &found));
	assert_false(found);
	assert_ok(comparing.put(comparing.context, &name, bytes, 3));
	other.n_dead++; /* what is not kept may be anything */
	assert_ok(comparing.put(comparing.context, &other, bytes, 2));
	assert_status(comparing.put(comparing.context, &name, bytes, 2), IFOREST_CORRUPT);
	bytes[1]++;
	assert_status(comparing.put(comparing.context, &name, bytes, 3), IFOREST_CORRUPT);
	assert_string_equal(store.fault.what, "it is wrong");
	assert_int_equal(store.fault.run_id, 7);
	assert_int_equal(store.fault.level, 2);
	assert_int_equal(store.fault.number, 5);
	alloc.fail_at = alloc.n_calls + 1;
	assert_status(comparing.put(comparing.context, &name, bytes, 3), IFOREST_NO_MEMORY);
	memory_sidecar_clear(&kept);
	assert_int_equal(alloc.n_live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_differs_is_reported) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
