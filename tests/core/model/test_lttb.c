/* The points of a line at the edges: few of them, none that is a number, the ends of 64 bits. tests/sqlite/test_line.c compares
 * whole lines with the algorithm as its author wrote it. */
#include "core/model/lttb.h"

#include <math.h>

#include "tests/support/harness.h"

static void few_points_are_all_kept(void **state)
{
	struct iforest_line_point points[3] = { { 5, 1, 0 }, { 6, 2, 1 }, { 7, 3, 2 } };

	(void)state;
	assert_int_equal(iforest_lttb(points, 0, 2), 0);
	assert_int_equal(iforest_lttb(points, 1, 2), 1);
	assert_int_equal(iforest_lttb(points, 3, 3), 3);
	assert_int_equal(points[1].time, 6);
	assert_int_equal(iforest_lttb(points, 3, 2), 2);
	assert_int_equal(points[0].time, 5);
	assert_int_equal(points[1].time, 7);
}

static void the_peak_of_a_flat_line_is_kept(void **state)
{
	struct iforest_line_point points[1000];

	(void)state;
	for (size_t peak = 1; peak < 999; peak += 37) {
		size_t n, n_high = 0;

		for (size_t i = 0; i < 1000; i++)
			points[i] = (struct iforest_line_point){ (int64_t)i * 3, i == peak ? 100 : 1, i };
		n = iforest_lttb(points, 1000, 10);
		assert_int_equal(n, 10);
		for (size_t i = 0; i < n; i++)
			n_high += points[i].row == peak;
		for (size_t i = 1; i < n; i++)
			assert_true(points[i - 1].time < points[i].time);
		assert_int_equal(n_high, 1);
	}
}

static void order_is_by_time_then_value_then_row(void **state)
{
	struct iforest_line_point points[] = { { INT64_MAX, 0, 0 }, { 1, 5, 1 }, { 1, -5, 2 }, { INT64_MIN, 9, 3 }, { 1, 5, 4 } };
	static const size_t rows[] = { 3, 2, 1, 4, 0 };

	(void)state;
	assert_ok(iforest_line_sort(points, COUNT_OF(points), NULL));
	for (size_t i = 0; i < COUNT_OF(points); i++)
		assert_int_equal(points[i].row, rows[i]);
	assert_int_equal(iforest_lttb(points, COUNT_OF(points), 3), 3);
	assert_true(points[0].time == INT64_MIN && points[2].time == INT64_MAX);
}

/* Areas that are no numbers choose nothing; the first point of a bucket stands for it. */
static void values_that_are_no_numbers_do_no_harm(void **state)
{
	struct iforest_line_point points[20];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(points); i++)
		points[i] = (struct iforest_line_point){ (int64_t)i, i % 2 ? NAN : INFINITY, i };
	assert_int_equal(iforest_lttb(points, COUNT_OF(points), 5), 5);
	for (size_t i = 1; i < 5; i++)
		assert_true(points[i - 1].time < points[i].time);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_points_are_all_kept),
		cmocka_unit_test(the_peak_of_a_flat_line_is_kept),
		cmocka_unit_test(order_is_by_time_then_value_then_row),
		cmocka_unit_test(values_that_are_no_numbers_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
