/* tests/core/page/test_summary.c -- Summaries against a plain loop, and as bytes. */
#include "tests/support/harness.h"

#include <math.h>
#include <string.h>

#include "core/page/column.h"
#include "tests/support/random.h"

static int64_t random_number(struct random *dice, enum iforest_value_type kind)
{
	static const double specials[] = { 0.0, -0.0, 1.5, -1e300, INFINITY, -INFINITY, NAN };
	union iforest_number number = { .integer = random_between(dice, -50, 50) };

	if (kind == IFOREST_FLOAT64)
		number.real =
			random_chance(dice, 5) ? specials[random_below(dice, COUNT_OF(specials))] : (double)number.integer / 4;
	else if (random_chance(dice, 3))
		number.integer = random_chance(dice, 50) ? INT64_MIN : INT64_MAX;
	return number.integer;
}

/* The definition, one number after the other. */
static void assert_summary(const struct iforest_summary *summary, const int64_t *numbers, uint64_t which,
			   enum iforest_value_type kind)
{
	iforest_int128 sum = 0;
	double real_sum = 0;
	unsigned n = 0, n_special = 0;

	for (unsigned i = 0; i < 64; i++) {
		union iforest_number x = { .integer = numbers[i] }, low = { .integer = numbers[summary->low] };
		union iforest_number high = { .integer = numbers[summary->high] };

		if (!(which >> i & 1))
			continue;
		n++;
		sum += x.integer;
		n_special += !isfinite(x.real);
		real_sum += isfinite(x.real) ? x.real : 0;
		assert_true(iforest_number_compare(low, x, kind) < (i < summary->low ? 0 : 1));
		assert_true(iforest_number_compare(high, x, kind) > (i < summary->high ? 0 : -1));
	}
	assert_int_equal(summary->n, n);
	assert_true(n == 0 || (which >> summary->low & which >> summary->high & 1));
	if (kind == IFOREST_INT64) {
		assert_true(summary->sum == sum);
	} else {
		assert_true(summary->real_sum == real_sum);
		assert_int_equal(summary->n_nan + summary->n_plus_infinity + summary->n_minus_infinity, n_special);
	}
}

static void assert_survives_bytes(const struct iforest_summary *summary, enum iforest_value_type kind)
{
	uint8_t bytes[IFOREST_MAX_SUMMARY_BYTES];
	unsigned n_bytes = iforest_summary_write(summary, kind, bytes);
	struct iforest_summary read = { .n = 0 };
	bool is_there;

	assert_true(n_bytes <= sizeof bytes);
	assert_ptr_equal(iforest_summary_read(&read, kind, bytes, bytes + n_bytes, &is_there), bytes + n_bytes);
	if (kind == IFOREST_INT64) {
		int64_t sum;

		assert_ptr_equal(iforest_summary_read_sum(bytes, bytes + n_bytes, &sum), is_there ? bytes + n_bytes : NULL);
		assert_true(!is_there || sum == read.sum);
	}
	assert_int_equal(is_there, n_bytes > 1);
	assert_true(iforest_summary_agrees(is_there ? &read : NULL, summary, kind));
	for (unsigned n = 0; n < n_bytes; n++)
		assert_null(iforest_summary_read(&read, kind, bytes, bytes + n, &is_there));
	if (n_bytes > 1) {
		assert_false(iforest_summary_agrees(NULL, summary, kind));
		read.high ^= 1;
		assert_false(iforest_summary_agrees(&read, summary, kind));
		read.high ^= 1;
		read.sum++;
		read.real_sum = read.real_sum == 0 ? 1 : -read.real_sum;
		assert_false(iforest_summary_agrees(&read, summary, kind));
	}
}

static void random_numbers_are_summarised(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned round = 0; round < random_rounds(20000); round++) {
		enum iforest_value_type kind = random_chance(&dice, 50) ? IFOREST_INT64 : IFOREST_FLOAT64;
		uint64_t which = random_next(&dice);
		struct iforest_summary summary;
		int64_t numbers[64];

		for (unsigned i = 0; i < 64; i++)
			numbers[i] = random_number(&dice, kind);
		if (random_chance(&dice, 50)) /* one stretch, also an empty one */
			which = iforest_low_bits((unsigned)random_below(&dice, 65)) &
				~iforest_low_bits((unsigned)random_below(&dice, 64));
		iforest_summarize(&summary, numbers, which, kind);
		assert_summary(&summary, numbers, which, kind);
		assert_survives_bytes(&summary, kind);
	}
}

static void what_cannot_be_written_exactly_is_not_written(void **state)
{
	static const int64_t large[] = { INT64_MAX, INT64_MAX };
	union iforest_number infinite = { .real = INFINITY };
	struct iforest_summary summary;
	uint8_t bytes[IFOREST_MAX_SUMMARY_BYTES];

	(void)state;
	iforest_summarize(&summary, large, 3, IFOREST_INT64);
	assert_int_equal(iforest_summary_write(&summary, IFOREST_INT64, bytes), 1);
	iforest_summarize(&summary, large, 2, IFOREST_INT64);
	assert_int_equal(iforest_summary_write(&summary, IFOREST_INT64, bytes), IFOREST_MAX_SUMMARY_BYTES);
	iforest_summarize(&summary, &infinite.integer, 1, IFOREST_FLOAT64);
	assert_int_equal(iforest_summary_write(&summary, IFOREST_FLOAT64, bytes), 1);
}

static void foreign_bytes_are_refused(void **state)
{
	static const uint8_t entry_too_high[] = { 3, 64, 0 },
			     endless[] = { 0, 0, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1 };
	struct iforest_summary summary;
	bool is_there;

	(void)state;
	assert_null(iforest_summary_read(&summary, IFOREST_INT64, entry_too_high, entry_too_high + 3, &is_there));
	assert_null(iforest_summary_read(&summary, IFOREST_INT64, endless, endless + sizeof endless, &is_there));
	assert_null(iforest_summary_read_sum(entry_too_high, entry_too_high + 3, &(int64_t){ 0 }));
	assert_null(iforest_summary_read_sum(endless, endless + sizeof endless, &(int64_t){ 0 }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_numbers_are_summarised),
		cmocka_unit_test(what_cannot_be_written_exactly_is_not_written),
		cmocka_unit_test(foreign_bytes_are_refused),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
