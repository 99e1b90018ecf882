#include "core/model/key.h"

#include "tests/support/harness.h"

/* Keys in ascending order. */
static const struct iforest_key ordered[] = {
	{ .series = 0, .time = INT64_MIN, .ref = INT64_MIN },
	{ .series = 0, .time = INT64_MIN, .ref = 5 },
	{ .series = 0, .time = -1, .ref = INT64_MAX },
	{ .series = 0, .time = 0, .ref = INT64_MIN },
	{ .series = 0, .time = INT64_MAX, .ref = INT64_MAX },
	{ .series = 0, .time_is_null = true, .ref = INT64_MIN },
	{ .series = 0, .time_is_null = true, .ref = 3 },
	{ .series = 1, .time = INT64_MIN, .ref = -7 },
	{ .series = UINT32_MAX, .time = 4, .ref = 4 },
	{ .series = (uint64_t)UINT32_MAX + 1, .time = INT64_MIN, .ref = INT64_MIN },
};

static void order_is_series_time_ref_with_null_times_last(void **state)
{
	(void)state;
	for (int a = 0; a < (int)COUNT_OF(ordered); a++)
		for (int b = 0; b < (int)COUNT_OF(ordered); b++)
			assert_int_equal(iforest_key_compare(&ordered[a], &ordered[b]), (a > b) - (a < b));
}

static void positions_stand_before_all_refs(void **state)
{
	struct iforest_key at = iforest_key_at(3, 10), nulls = iforest_key_nulls(3), next = iforest_key_at(4, INT64_MIN);
	struct iforest_key before = { .series = 3, .time = 9, .ref = INT64_MAX },
			   same = { .series = 3, .time = 10, .ref = INT64_MIN };
	struct iforest_key last = { .series = 3, .time = INT64_MAX, .ref = INT64_MAX };
	struct iforest_key null = { .series = 3, .time_is_null = true, .ref = INT64_MAX };

	(void)state;
	assert_int_equal(iforest_key_compare(&at, &before), 1);
	assert_int_equal(iforest_key_compare(&at, &same), 0);
	assert_int_equal(iforest_key_compare(&nulls, &last), 1);
	assert_int_equal(iforest_key_compare(&nulls, &null), -1);
	assert_int_equal(iforest_key_compare(&null, &next), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_series_time_ref_with_null_times_last),
		cmocka_unit_test(positions_stand_before_all_refs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
