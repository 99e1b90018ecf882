/* tests/core/model/test_variance.c -- Variances against fractions: those of small numbers, which a division of doubles
 * rounds once, and of great ones, which Python's fractions.Fraction gave. */
#include "tests/support/harness.h"

#include "core/model/aggregate.h"
#include "tests/support/random.h"

static struct iforest_value_aggregate aggregate_of(const int64_t *numbers, unsigned n, uint64_t *squares)
{
	struct iforest_value_aggregate aggregate = { .n = 0 };

	for (unsigned i = 0; i < n; i++)
		iforest_value_add(&aggregate, (union iforest_number){ .integer = numbers[i] }, IFOREST_INT64);
	iforest_kind_find(IFOREST_KIND_SQUARES)
		->lift(&(struct iforest_lift){ .numbers = numbers, .which = iforest_low_bits(n) }, squares);
	return aggregate;
}

static void small_numbers_are_rounded_once(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(5000); round++) {
		struct random dice = random_from(random_seed() + round);
		unsigned n = 2 + (unsigned)random_below(&dice, 60);
		uint64_t words[3] = { 0 };
		int64_t numbers[64], sum = 0, squares = 0, spread = random_between(&dice, 0, 100000);
		struct iforest_value_aggregate aggregate;

		for (unsigned i = 0; i < n; i++) {
			numbers[i] = random_between(&dice, -spread, spread);
			sum += numbers[i];
			squares += numbers[i] * numbers[i];
		}
		aggregate = aggregate_of(numbers, n, words);
		/* both are integers below 2^53 */
		assert_true(iforest_sample_variance(&aggregate, words) ==
			    (double)(n * squares - sum * sum) / (double)(n * (n - 1)));
	}
}

/* Two values, each as often as you like: n, their sum (high and low word), the sum of their squares, the variance. */
static const struct {
	uint64_t n;
	int64_t sum_high;
	uint64_t sum_low, squares[3];
	double variance;
} great[] = {
	{ UINT64_C(2),
	  INT64_C(-1),
	  UINT64_C(0xffffffffffffffff),
	  { UINT64_C(0x1), UINT64_C(0x7fffffffffffffff), UINT64_C(0x0) },
	  0x1.0000000000000p+127 },
	{ UINT64_C(3),
	  INT64_C(1),
	  UINT64_C(0x7ffffffffffffffd),
	  { UINT64_C(0x3), UINT64_C(0xbffffffffffffffd), UINT64_C(0x0) },
	  0.0 },
	{ UINT64_C(2),
	  INT64_C(0),
	  UINT64_C(0xfffffffffffffffd),
	  { UINT64_C(0x5), UINT64_C(0x7ffffffffffffffd), UINT64_C(0x0) },
	  0x1.0000000000000p-1 },
	{ UINT64_C(5),
	  INT64_C(-3),
	  UINT64_C(0x8000000000000001),
	  { UINT64_C(0x1), UINT64_C(0x3fffffffffffffff), UINT64_C(0x1) },
	  0x1.999999999999ap-3 },
	{ UINT64_C(3),
	  INT64_C(0),
	  UINT64_C(0x29a2241af62c0004),
	  { UINT64_C(0x88e892cd3b20000a), UINT64_C(0x241c76b735b1541), UINT64_C(0x0) },
	  0x1.2aaaaaaaaaaabp+1 },
	{ UINT64_C(331),
	  INT64_C(-106),
	  UINT64_C(0xc260f62d1d6850e0),
	  { UINT64_C(0x41b5ecf5ec213408), UINT64_C(0xe56f64c37e0e070c), UINT64_C(0x37) },
	  0x1.1677dd50bb5c0p+124 },
	{ UINT64_C(931247023),
	  INT64_C(-152844352),
	  UINT64_C(0x9e153c203809bf39),
	  { UINT64_C(0xc661c383f2636e67), UINT64_C(0x68a60fd319a1e844), UINT64_C(0x1f6b6d9) },
	  0x1.148ff9cf0770dp+121 },
	{ UINT64_C(7846270127),
	  INT64_C(2419252427),
	  UINT64_C(0xab4a318ca5e60249),
	  { UINT64_C(0x7b96cf90585a454f), UINT64_C(0x9ad195d6a737d691), UINT64_C(0x3afbb150) },
	  0x1.fcc125b4c5434p+122 },
	{ UINT64_C(1099163948409503),
	  INT64_C(-65838028743303),
	  UINT64_C(0xc596603637aec52),
	  { UINT64_C(0x8e0d46dc18d0a3bc), UINT64_C(0x1e826b6a0e0a5e4c), UINT64_C(0xc5a9ea77fa9) },
	  0x1.1f60d304bed3cp+121 },
	{ UINT64_C(543220800131064815),
	  INT64_C(68187947120597492),
	  UINT64_C(0x116bad8ea00730f9),
	  { UINT64_C(0xe207c33f51ecd49), UINT64_C(0x9d8fbc441212dccd), UINT64_C(0x1e93bf2c4ff594) },
	  0x1.6de2020333f80p+114 },
	{ UINT64_C(6275582095063844135),
	  INT64_C(254380488124310499),
	  UINT64_C(0x14b8bf02329a2d4c),
	  { UINT64_C(0xa1f692dfe016cd04), UINT64_C(0x92e570d577f3705c), UINT64_C(0x7b1501150af77a5) },
	  0x1.63102a7a87599p+124 },
};

static void great_numbers_are_rounded_once(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT_OF(great); i++) {
		struct iforest_value_aggregate aggregate = {
			.n = great[i].n,
			.sum = (iforest_int128)great[i].sum_high * ((iforest_int128)1 << 64) + great[i].sum_low
		};
		double variance = iforest_sample_variance(&aggregate, great[i].squares);

		if (variance != great[i].variance)
			fail_msg("case %u: %a, not %a", i, variance, great[i].variance);
	}
}

/* Sums that no numbers have, as a forged page may: some answer, and no trap. */
static void forged_sums_give_some_number(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(2000); round++) {
		struct random dice = random_from(random_seed() + round);
		struct iforest_value_aggregate aggregate = {
			.n = random_chance(&dice, 20) ? UINT64_MAX : 2 + random_next(&dice) / 2,
			.sum = (iforest_int128)((iforest_uint128)random_next(&dice) << 64 | random_next(&dice)) };
		uint64_t squares[3] = { random_next(&dice), random_next(&dice), random_next(&dice) };

		assert_true(iforest_sample_variance(&aggregate, squares) >= 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_numbers_are_rounded_once),
		cmocka_unit_test(great_numbers_are_rounded_once),
		cmocka_unit_test(forged_sums_give_some_number),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
