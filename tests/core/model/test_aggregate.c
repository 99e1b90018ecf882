#include "core/model/aggregate.h"

#include <math.h>
#include <string.h>

#include "tests/support/harness.h"
#include "tests/support/random.h"

static union iforest_number integer(int64_t x) { return (union iforest_number){ .integer = x }; }
static union iforest_number real(double x) { return (union iforest_number){ .real = x }; }

static struct iforest_extreme row(union iforest_number value, int64_t time, int64_t ref)
{
	return (struct iforest_extreme){ .value = value, .time = time, .ref = ref, .is_set = true };
}

static struct iforest_extreme timeless(union iforest_number value, int64_t ref)
{
	return (struct iforest_extreme){ .value = value, .ref = ref, .time_is_null = true, .is_set = true };
}

static void order_of_numbers(void **state)
{
	static const double reals[] = { -INFINITY, -1e300, -1, 0, 5e-324, 1, 1e300, INFINITY, NAN };
	static const int64_t integers[] = { INT64_MIN, -1, 0, 1, INT64_MAX };

	(void)state;
	for (int a = 0; a < (int)COUNT_OF(reals); a++)
		for (int b = 0; b < (int)COUNT_OF(reals); b++)
			assert_int_equal(iforest_number_compare(real(reals[a]), real(reals[b]), IFOREST_FLOAT64),
					 (a > b) - (a < b));
	for (int a = 0; a < (int)COUNT_OF(integers); a++)
		for (int b = 0; b < (int)COUNT_OF(integers); b++)
			assert_int_equal(iforest_number_compare(integer(integers[a]), integer(integers[b]), IFOREST_INT64),
					 (a > b) - (a < b));
	assert_int_equal(iforest_number_compare(real(-0.0), real(0.0), IFOREST_FLOAT64), 0);
	assert_int_equal(iforest_number_compare(real(-NAN), real(NAN), IFOREST_FLOAT64), 0);
}

/* Rows of one value from best to worst, as a tie is decided. */
static void ties_go_to_the_earliest_then_the_lowest_ref(void **state)
{
	const struct iforest_extreme rows[] = { row(integer(4), INT64_MIN, 9), row(integer(4), 0, -3), row(integer(4), 0, 5),
					    row(integer(4), 7, INT64_MIN), timeless(integer(4), -8), timeless(integer(4), 2) };

	(void)state;
	for (unsigned a = 0; a < COUNT_OF(rows); a++)
		for (unsigned b = 0; b < COUNT_OF(rows); b++) {
			struct iforest_extreme low = rows[a], high = rows[a];

			iforest_extreme_min(&low, &rows[b], IFOREST_INT64);
			iforest_extreme_max(&high, &rows[b], IFOREST_INT64);
			assert_true(low.ref == rows[a < b ? a : b].ref);
			assert_true(high.ref == rows[a < b ? a : b].ref);
		}
}

static void values_decide_before_ties(void **state)
{
	struct iforest_extreme low = row(integer(5), 0, 0), high = row(real(2), 0, 0), one = row(integer(4), 9, 9),
			   nan = row(real(NAN), 9, 9);
	struct iforest_extreme none = { .is_set = false }, taken = none;

	(void)state;
	iforest_extreme_min(&low, &one, IFOREST_INT64);
	assert_int_equal(low.ref, 9);
	iforest_extreme_max(&high, &nan, IFOREST_FLOAT64);
	assert_int_equal(high.ref, 9);
	iforest_extreme_min(&low, &none, IFOREST_INT64);
	iforest_extreme_first(&low, &none);
	iforest_extreme_last(&low, &none);
	assert_int_equal(low.ref, 9);
	iforest_extreme_max(&taken, &one, IFOREST_INT64);
	assert_true(taken.is_set && taken.ref == 9);
}

static void first_and_last_are_by_time_then_ref(void **state)
{
	const struct iforest_extreme rows[] = { row(integer(1), -5, 100), row(integer(2), -5, 101), row(integer(3), 0, -4),
					    row(integer(4), 1, -9) };
	struct iforest_extreme null = timeless(integer(7), 7), none = { .is_set = false };

	(void)state;
	for (unsigned a = 0; a < COUNT_OF(rows); a++)
		for (unsigned b = 0; b < COUNT_OF(rows); b++) {
			struct iforest_extreme first = rows[a], last = rows[a];

			iforest_extreme_first(&first, &rows[b]);
			iforest_extreme_last(&last, &rows[b]);
			assert_true(first.ref == rows[a < b ? a : b].ref);
			assert_true(last.ref == rows[a > b ? a : b].ref);
		}
	iforest_extreme_first(&none, &null);
	iforest_extreme_last(&none, &null);
	assert_false(none.is_set);
}

static void integer_sums_are_exact_in_128_bits(void **state)
{
	struct iforest_value_aggregate sum = { .n = 0 }, twice;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		iforest_value_add(&sum, integer(INT64_MIN), IFOREST_INT64);
		iforest_value_add(&sum, integer(-3), IFOREST_INT64);
	}
	assert_true(sum.sum == (iforest_int128)INT64_MIN * 1000 - 3000 && sum.n == 2000);
	twice = sum;
	iforest_value_combine(&twice, &sum, IFOREST_INT64);
	assert_true(twice.sum == 2 * sum.sum && twice.n == 4000);
	assert_true(iforest_mean(&sum, IFOREST_INT64) == (double)sum.sum / 2000);
}

static void nan_and_infinities_are_counted_apart(void **state)
{
	struct iforest_value_aggregate sum = { .n = 0 };

	(void)state;
	iforest_value_add(&sum, real(1.5), IFOREST_FLOAT64);
	iforest_value_add(&sum, real(-0.25), IFOREST_FLOAT64);
	assert_true(iforest_real_sum(&sum) == 1.25 && iforest_mean(&sum, IFOREST_FLOAT64) == 0.625);
	iforest_value_add(&sum, real(INFINITY), IFOREST_FLOAT64);
	assert_true(iforest_real_sum(&sum) == INFINITY && sum.real_sum == 1.25);
	iforest_value_add(&sum, real(-INFINITY), IFOREST_FLOAT64);
	assert_true(isnan(iforest_real_sum(&sum)));
	sum.n_plus_infinity = 0;
	assert_true(iforest_real_sum(&sum) == -INFINITY);
	iforest_value_add(&sum, real(NAN), IFOREST_FLOAT64);
	assert_true(isnan(iforest_real_sum(&sum)) && sum.n_nan == 1 && sum.n == 5 && sum.real_sum == 1.25);
}

static const struct iforest_accumulators none;

static struct iforest_aggregate random_aggregate(struct random *dice, const uint8_t *kinds, unsigned n_values)
{
	struct iforest_aggregate made;

	iforest_aggregate_clear(&made, n_values, &none);
	made.n_rows = random_below(dice, 5);
	if (made.n_rows == 0)
		return made;
	made.n_dead = random_below(dice, 3);
	iforest_aggregate_add_time(&made, random_between(dice, -9, 9));
	made.latest_end = made.last_time;
	made.lowest_block = (uint32_t)random_below(dice, 9);
	made.highest_block = made.lowest_block + 2;
	for (unsigned v = 0; v < n_values; v++) {
		int64_t x = random_between(dice, -3, 3);
		struct iforest_extreme r = row(kinds[v] == IFOREST_INT64 ? integer(x) : real((double)x), made.last_time,
					   random_between(dice, 0, 1000));

		iforest_value_add(&made.values[v], r.value, (enum iforest_value_type)kinds[v]);
		made.values[v].min = made.values[v].max = made.values[v].first = made.values[v].last = r;
	}
	return made;
}

/* The answer of a window is folded from runs in any order. */
static void combining_is_commutative_and_associative(void **state)
{
	static const uint8_t kinds[] = { IFOREST_INT64, IFOREST_FLOAT64 };
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		struct iforest_aggregate a = random_aggregate(&dice, kinds, 2), b = random_aggregate(&dice, kinds, 2);
		struct iforest_aggregate c = random_aggregate(&dice, kinds, 2), left = a, right = b, other = b, nothing;
		size_t n_bytes = iforest_aggregate_bytes(2, &none);

		iforest_aggregate_combine(&left, &b, kinds, 2, &none);
		iforest_aggregate_combine(&other, &a, kinds, 2, &none);
		if (a.values[0].min.ref != b.values[0].min.ref)
			assert_memory_equal(&left.values[0], &other.values[0], sizeof left.values[0]);
		assert_true(left.n_rows == other.n_rows && left.first_time == other.first_time &&
			    left.last_time == other.last_time);
		assert_true(left.n_rows == a.n_rows + b.n_rows && left.n_dead == a.n_dead + b.n_dead);
		iforest_aggregate_combine(&left, &c, kinds, 2, &none);
		iforest_aggregate_combine(&right, &c, kinds, 2, &none);
		other = a;
		iforest_aggregate_combine(&other, &right, kinds, 2, &none);
		assert_memory_equal(&left.values[0], &other.values[0], sizeof left.values[0]);
		assert_true(left.latest_end == other.latest_end && left.lowest_block == other.lowest_block &&
			    left.highest_block == other.highest_block && left.has_times == other.has_times);
		iforest_aggregate_clear(&nothing, 2, &none);
		other = left;
		iforest_aggregate_combine(&other, &nothing, kinds, 2, &none);
		assert_memory_equal(&other, &left, n_bytes);
	}
}

static void ends_saturate_and_points_end_where_they_start(void **state)
{
	(void)state;
	assert_int_equal(iforest_span_end(5, 10, true, IFOREST_END_DURATION), 15);
	assert_int_equal(iforest_span_end(5, 10, false, IFOREST_END_DURATION), 5);
	assert_int_equal(iforest_span_end(5, 0, true, IFOREST_END_DURATION), 5);
	assert_int_equal(iforest_span_end(5, INT64_MIN, true, IFOREST_END_DURATION), 5);
	assert_true(iforest_span_end(5, INT64_MAX, true, IFOREST_END_DURATION) == INT64_MAX);
	assert_true(iforest_span_end(INT64_MIN, INT64_MAX, true, IFOREST_END_DURATION) == -1);
	for (int rule = 0; rule < IFOREST_END_RULES; rule++) {
		enum iforest_end_rule end_rule = (enum iforest_end_rule)rule;

		assert_int_equal(iforest_span_end(50, 1000000, false, end_rule), 50);
		assert_int_equal(iforest_span_end(50, 0, true, end_rule), 50);
		assert_int_equal(iforest_span_end(50, -1, true, end_rule), 50);
		assert_true(iforest_span_end(INT64_MAX, INT64_MAX, true, end_rule) == INT64_MAX);
		assert_true(iforest_span_end(INT64_MAX, INT64_MIN, true, end_rule) == INT64_MAX);
	}
}

static void a_value_tells_the_end_by_a_rule(void **state)
{
	(void)state;
	assert_int_equal(iforest_span_end(50, 60, true, IFOREST_END_COLUMN), 60);
	assert_int_equal(iforest_span_end(50, 40, true, IFOREST_END_COLUMN), 50); /* before the start */
	assert_int_equal(iforest_span_end(-50, -40, true, IFOREST_END_COLUMN), -40);
	assert_int_equal(iforest_span_end(50, 1, true, IFOREST_END_PER_1000), 51); /* rounded up */
	assert_int_equal(iforest_span_end(50, 1000, true, IFOREST_END_PER_1000), 51);
	assert_int_equal(iforest_span_end(50, 1001, true, IFOREST_END_PER_1000), 52);
	assert_true(iforest_span_end(0, INT64_MAX, true, IFOREST_END_PER_1000) == INT64_MAX / 1000 + 1);
	assert_int_equal(iforest_span_end(50, 3, true, IFOREST_END_TIMES_1000), 3050);
	assert_int_equal(iforest_span_end(50, 3, true, IFOREST_END_TIMES_1000000), 3000050);
	assert_true(iforest_span_end(50, INT64_MAX / 1000 + 1, true, IFOREST_END_TIMES_1000) == INT64_MAX);
	assert_true(iforest_span_end(50, INT64_MAX, true, IFOREST_END_TIMES_1000000) == INT64_MAX);
	/* the duration alone is beyond int64, the end is not */
	assert_true(iforest_span_end(INT64_MIN, INT64_MAX / 1000 + 1, true, IFOREST_END_TIMES_1000) ==
		    INT64_MIN + INT64_MAX / 1000 * 1000 + 1000);
}

/* Only the value columns that an index has are touched. */
static void bytes_beyond_the_value_columns_stay(void **state)
{
	static const uint8_t kinds[] = { IFOREST_INT64 };
	static const struct iforest_accumulators most = { .n_words = IFOREST_MAX_ACCUMULATOR_WORDS };
	struct iforest_aggregate aggregate, from;
	uint8_t *beyond = (uint8_t *)&aggregate + iforest_aggregate_bytes(1, &none);
	size_t n_beyond = sizeof aggregate - iforest_aggregate_bytes(1, &none);

	(void)state;
	memset(&aggregate, 0x5a, sizeof aggregate);
	memset(&from, 0, sizeof from);
	iforest_aggregate_clear(&aggregate, 1, &none);
	iforest_aggregate_combine(&aggregate, &from, kinds, 1, &none);
	for (size_t i = 0; i < n_beyond; i++)
		assert_int_equal(beyond[i], 0x5a);
	assert_int_equal(iforest_aggregate_bytes(IFOREST_MAX_VALUES, &most), sizeof aggregate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_of_numbers),
		cmocka_unit_test(ties_go_to_the_earliest_then_the_lowest_ref),
		cmocka_unit_test(values_decide_before_ties),
		cmocka_unit_test(first_and_last_are_by_time_then_ref),
		cmocka_unit_test(integer_sums_are_exact_in_128_bits),
		cmocka_unit_test(nan_and_infinities_are_counted_apart),
		cmocka_unit_test(combining_is_commutative_and_associative),
		cmocka_unit_test(ends_saturate_and_points_end_where_they_start),
		cmocka_unit_test(a_value_tells_the_end_by_a_rule),
		cmocka_unit_test(bytes_beyond_the_value_columns_stay),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
