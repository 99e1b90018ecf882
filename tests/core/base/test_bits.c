#include "core/base/bits.h"

#include "tests/support/harness.h"
#include "tests/support/random.h"

static void words(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t x = UINT64_C(1) << bit;

		assert_int_equal(iforest_trailing_zeros(x), bit);
		assert_int_equal(iforest_trailing_zeros(UINT64_MAX << bit), bit);
		assert_int_equal(iforest_highest_bit(x), bit);
		assert_int_equal(iforest_highest_bit(x | (x - 1)), bit);
		assert_int_equal(iforest_bit_width(x), bit + 1);
		assert_int_equal(iforest_popcount(x - 1), bit);
		assert_true(iforest_low_bits(bit) == x - 1);
	}
	assert_true(iforest_low_bits(64) == UINT64_MAX);
	assert_int_equal(iforest_bit_width(0), 0);
	assert_int_equal(iforest_bit_width(UINT64_MAX), 64);
}

static void zigzag_keeps_small_numbers_small(void **state)
{
	static const int64_t numbers[] = { 0, -1, 1, -2, 2, -3 };
	static const int64_t extremes[] = { INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1 };

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(numbers); i++)
		assert_true(iforest_zigzag(numbers[i]) == i && iforest_unzigzag(i) == numbers[i]);
	for (unsigned i = 0; i < COUNT_OF(extremes); i++)
		assert_true(iforest_unzigzag(iforest_zigzag(extremes[i])) == extremes[i]);
	assert_true(iforest_zigzag(INT64_MIN) == UINT64_MAX);
}

static void division_is_floored(void **state)
{
	(void)state;
	for (int a = -30; a <= 30; a++)
		for (int b = 1; b <= 7; b++) {
			int quotient = (int)iforest_floor_divide(a, b);

			assert_true(quotient * b <= a && a < (quotient + 1) * b);
		}
	assert_true(iforest_floor_divide((iforest_int128)INT64_MIN - INT64_MAX, 1) == (iforest_int128)INT64_MIN - INT64_MAX);
}

static void sums_wrap_without_a_trap(void **state)
{
	iforest_int128 greatest = (iforest_int128)(~(iforest_uint128)0 >> 1);

	(void)state;
	assert_true(iforest_add_wrapping(greatest, 1) == -greatest - 1);
	assert_true(iforest_add_wrapping(-greatest - 1, -1) == greatest);
	assert_true(iforest_add_wrapping(-5, 3) == -2);
}

static void bytes_are_little_endian_at_any_alignment(void **state)
{
	uint8_t bytes[16];

	(void)state;
	for (unsigned at = 0; at < 8; at++) {
		iforest_store64(bytes + at, UINT64_C(0x8877665544332211));
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(bytes[at + i], 0x11 * (i + 1));
		assert_true(iforest_load64(bytes + at) == UINT64_C(0x8877665544332211));
		assert_true(iforest_load_int64(bytes + at) == (int64_t)UINT64_C(0x8877665544332211));
		assert_int_equal(iforest_load32(bytes + at), 0x44332211);
		assert_int_equal(iforest_load16(bytes + at + 1), 0x3322);
		iforest_store32(bytes + at, 0xa1b2c3d4);
		iforest_store16(bytes + at + 4, 0xe5f6);
		assert_memory_equal(bytes + at, "\xd4\xc3\xb2\xa1\xf6\xe5", 6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(zigzag_keeps_small_numbers_small),
		cmocka_unit_test(division_is_floored),
		cmocka_unit_test(sums_wrap_without_a_trap),
		cmocka_unit_test(bytes_are_little_endian_at_any_alignment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
