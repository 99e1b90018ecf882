/* tests/core/model/test_regression.c -- Functions of pairs against their definitions in 128-bit integers, and on lines of great
 * numbers, where they are known. */
#include "core/model/regression.h"

#include <math.h>

#include "core/base/bits.h"
#include "core/model/kind.h"
#include "tests/support/harness.h"
#include "tests/support/random.h"

enum { N_WORDS = 3 * IFOREST_PAIR_NUMBERS };

static void add(const int64_t *y, const int64_t *x, uint64_t which, uint64_t *words)
{
	iforest_kind_find(IFOREST_KIND_PRODUCTS)
		->lift(&(struct iforest_lift){ .numbers = y, .others = x, .which = which }, words);
}

static void assert_near(double got, double expected)
{
	if (fabs(got - expected) > 1e-14 * fabs(expected))
		fail_msg("%.17g, not %.17g", got, expected);
}

static void check(const uint64_t *words, bool is_swapped, enum iforest_pair_function function, bool is_known, double expected)
{
	double got;

	assert_int_equal(iforest_pair_result(words, is_swapped, function, &got), is_known);
	if (is_known)
		assert_near(got, expected);
}

/* All functions, from sums that fit 128 bits with their products. */
static void check_all(const uint64_t *words, bool is_swapped, const int64_t *y, const int64_t *x, unsigned count)
{
	iforest_int128 n = count, sy = 0, sx = 0, syy = 0, sxx = 0, sxy = 0;
	double yy, xx, xy;

	for (unsigned i = 0; i < count; i++) {
		sy += y[i];
		sx += x[i];
		syy += (iforest_int128)y[i] * y[i];
		sxx += (iforest_int128)x[i] * x[i];
		sxy += (iforest_int128)x[i] * y[i];
	}
	yy = (double)(n * syy - sy * sy);
	xx = (double)(n * sxx - sx * sx);
	xy = (double)(n * sxy - sx * sy);
	check(words, is_swapped, IFOREST_REGR_COUNT, true, count);
	check(words, is_swapped, IFOREST_CORR, xx > 0 && yy > 0, xy / sqrt(xx) / sqrt(yy));
	check(words, is_swapped, IFOREST_COVAR_POP, count > 0, xy / count / count);
	check(words, is_swapped, IFOREST_COVAR_SAMP, count > 1, xy / count / ((double)count - 1));
	check(words, is_swapped, IFOREST_REGR_SLOPE, xx > 0, xy / xx);
	check(words, is_swapped, IFOREST_REGR_INTERCEPT, xx > 0, (double)(sy * sxx - sx * sxy) / xx);
	check(words, is_swapped, IFOREST_REGR_R2, xx > 0, yy > 0 ? xy * xy / xx / yy : 1);
	check(words, is_swapped, IFOREST_REGR_AVGX, count > 0, (double)sx / count);
	check(words, is_swapped, IFOREST_REGR_AVGY, count > 0, (double)sy / count);
	check(words, is_swapped, IFOREST_REGR_SXX, count > 0, xx / count);
	check(words, is_swapped, IFOREST_REGR_SYY, count > 0, yy / count);
	check(words, is_swapped, IFOREST_REGR_SXY, count > 0, xy / count);
}

static void small_numbers_are_as_defined(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(3000); round++) {
		struct random dice = random_from(random_seed() + round);
		int64_t y[64], x[64], spread = random_between(&dice, 0, 1000000);
		unsigned n = (unsigned)random_below(&dice, 65);
		uint64_t words[N_WORDS] = { 0 };

		for (unsigned i = 0; i < n; i++) {
			y[i] = random_between(&dice, -spread, spread);
			x[i] = random_between(&dice, -spread / 3, spread) + (random_chance(&dice, 50) ? y[i] : 0);
		}
		add(y, x, n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1, words);
		check_all(words, false, y, x, n);
		check_all(words, true, x, y, n);
	}
}

/* The sums of 10^5 numbers of 63 bits exceed 128 bits; on a line the results are integers. */
static void great_numbers_stay_exact(void **state)
{
	static const struct {
		int64_t first_x, step_x, first_y, step_y;
	} lines[] = {
		{ INT64_MAX - 6400000, 1, INT64_MIN, 3 },   { INT64_MIN, 17, INT64_MIN, 17 },
		{ INT64_MAX, -40, INT64_MAX, -4000 },	    { -3200000, 1, INT64_MIN / 2, 1000000000 },
		{ INT64_MAX, -100000, INT64_MIN, 100000 },
	};

	(void)state;
	for (unsigned l = 0; l < COUNT_OF(lines); l++) {
		uint64_t words[N_WORDS] = { 0 };
		double slope = (double)lines[l].step_y / (double)lines[l].step_x;

		for (int64_t k = 0; k < 2000; k++) {
			int64_t x[64], y[64];

			for (int64_t i = 0; i < 64; i++) {
				x[i] = lines[l].first_x + (64 * k + i) * lines[l].step_x;
				y[i] = lines[l].first_y + (64 * k + i) * lines[l].step_y;
			}
			add(y, x, UINT64_MAX, words);
		}
		check(words, false, IFOREST_REGR_SLOPE, true, slope);
		check(words, true, IFOREST_REGR_SLOPE, true, 1 / slope);
		check(words, false, IFOREST_CORR, true, slope < 0 ? -1 : 1);
		check(words, false, IFOREST_REGR_R2, true, 1);
		check(words, false, IFOREST_REGR_COUNT, true, 128000);
		/* the long double has 64 bits */
		check(words, false, IFOREST_REGR_INTERCEPT, true,
		      (double)((long double)lines[l].first_y - (long double)slope * (long double)lines[l].first_x));
	}
}

/* Sums that no numbers have, as a forged page may: some answer, and no trap. */
static void forged_sums_give_some_number(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(1000); round++) {
		struct random dice = random_from(random_seed() + round);
		uint64_t words[N_WORDS];
		double result;

		for (unsigned i = 0; i < N_WORDS; i++)
			words[i] = random_next(&dice);
		for (int f = 0; f < IFOREST_PAIR_FUNCTIONS; f++)
			(void)iforest_pair_result(words, round % 2, (enum iforest_pair_function)f, &result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_numbers_are_as_defined),
		cmocka_unit_test(great_numbers_stay_exact),
		cmocka_unit_test(forged_sums_give_some_number),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
