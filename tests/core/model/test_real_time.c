#include "core/model/real_time.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/model/bucket.h"
#include "tests/support/harness.h"
#include "tests/support/random.h"

static double random_real(struct random *dice)
{
	static const double special[] = { 0.0, -0.0, 1, -1, DBL_MIN, DBL_TRUE_MIN, -DBL_TRUE_MIN, DBL_MAX, -DBL_MAX, 0x1p53, 1.7e9, 0.1, 1e300 };
	uint64_t bits;
	double real;

	switch (random_below(dice, 4)) {
	case 0:
		return special[random_below(dice, COUNT_OF(special))];
	case 1:
		return (double)random_between(dice, -1000, 1000) / (double)(1 << random_below(dice, 8));
	case 2: /* as time.time() gives them */
		return 1.7e9 + (double)random_between(dice, 0, INT32_MAX) * 0x1p-22;
	}
	do {
		bits = random_next(dice);
		memcpy(&real, &bits, sizeof real);
	} while (!isfinite(real));
	return real;
}

static void the_map_keeps_the_order(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	assert_int_equal(iforest_time_of_real(-0.0), 0);
	assert_int_equal(iforest_time_of_real(INFINITY), IFOREST_TIME_OF_INFINITY);
	assert_true(iforest_real_of_time(INT64_MAX) == INFINITY && iforest_real_of_time(INT64_MIN) == -INFINITY);
	for (unsigned i = 0; i < 200000; i++) {
		double a = random_real(&dice), b = random_real(&dice);
		int64_t at = iforest_time_of_real(a), bt = iforest_time_of_real(b);

		assert_true((a < b) == (at < bt) && (a == b) == (at == bt));
		assert_true(iforest_real_of_time(at) == a);
		assert_true(iforest_real_of_time(at + 1) == nextafter(a, INFINITY));
	}
}

static void the_first_double_not_before_an_integer(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	assert_true(iforest_real_of_time(iforest_time_not_before(INT64_MAX)) == 0x1p63);
	assert_true(iforest_real_of_time(iforest_time_not_before(INT64_MIN)) == -0x1p63);
	for (unsigned i = 0; i < 200000; i++) {
		int64_t integer = random_between(&dice, INT64_MIN, INT64_MAX) >> random_below(&dice, 64);
		double real = iforest_real_of_time(iforest_time_not_before(integer)), below = nextafter(real, -INFINITY);

		assert_true(real >= 0x1p63 || (int64_t)real >= integer);
		assert_true((iforest_int128)below < integer || below != (double)(iforest_int128)below);
	}
}

/* ---- the oracle: sums bit by bit, in two numbers of 2400 bits ---- */

enum { BITS = 2400, BIAS = 1100 };

struct sums {
	uint8_t plus[BITS], minus[BITS];
};

static void add_bit(uint8_t *bits, int at)
{
	for (; bits[at]; at++)
		bits[at] = 0;
	bits[at] = 1;
}

static void add_product(struct sums *sums, iforest_int128 factor, double real)
{
	bool is_negative = (factor < 0) != (real < 0);
	uint8_t *bits = is_negative ? sums->minus : sums->plus;
	iforest_uint128 whole = factor < 0 ? -(iforest_uint128)factor : (iforest_uint128)factor;
	int exponent;
	double share = frexp(fabs(real), &exponent);
	uint64_t mantissa = (uint64_t)ldexp(share, 53);

	for (int f = 0; f < 70; f++)
		for (int m = 0; m < 53; m++)
			if (whole >> f & 1 && mantissa >> m & 1)
				add_bit(bits, BIAS + exponent - 53 + f + m);
}

static int oracle_sign(const struct iforest_real_term *terms, unsigned n)
{
	struct sums sums = { .plus = { 0 } };

	for (unsigned t = 0; t < n; t++)
		add_product(&sums, terms[t].factor, terms[t].real);
	for (int b = BITS - 1; b >= 0; b--)
		if (sums.plus[b] != sums.minus[b])
			return sums.plus[b] ? 1 : -1;
	return 0;
}

static iforest_int128 random_factor(struct random *dice)
{
	iforest_int128 factor = random_between(dice, INT64_MIN, INT64_MAX) >> random_below(dice, 64);

	return random_chance(dice, 10) ? factor * 2 : factor;
}

static void signs_are_those_of_exact_sums(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		struct iforest_real_term terms[3];
		unsigned n = 1 + (unsigned)random_below(&dice, 3);

		for (unsigned t = 0; t < n; t++)
			terms[t] = (struct iforest_real_term){ random_factor(&dice), random_real(&dice) };
		if (n > 1 && random_chance(&dice, 30)) /* that cancel each other */
			terms[1] = (struct iforest_real_term){ -terms[0].factor, random_chance(&dice, 50) ? terms[0].real : nextafter(terms[0].real, 0) };
		assert_int_equal(iforest_real_sum_sign(terms, n), oracle_sign(terms, n));
	}
}

/* ---- buckets ---- */

static int sign_of_n(double t0, double t1, int64_t n, iforest_int128 i, double real)
{
	struct iforest_real_term terms[] = { { n, real }, { i - n, t0 }, { -i, t1 } };

	return oracle_sign(terms, 3);
}

static int sign_of_step(double origin, double step, iforest_int128 i, double real)
{
	struct iforest_real_term terms[] = { { 1, real }, { -1, origin }, { -i, step } };

	return oracle_sign(terms, 3);
}

static void n_buckets_divide_the_doubles_exactly(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned round = 0; round < random_rounds(2000); round++) {
		double a = random_real(&dice), b = random_real(&dice), t0 = a < b ? a : b, t1 = a < b ? b : a, real;
		int64_t n = 1 + (random_between(&dice, 0, INT64_MAX - 1) >> random_below(&dice, 63)), i, bucket;
		double start;

		if (!(t0 < t1))
			continue;
		real = iforest_real_of_time(random_between(&dice, iforest_time_of_real(t0), iforest_time_of_real(t1) - 1));
		bucket = iforest_real_bucket_of_n(t0, t1, n, real);
		assert_true(bucket >= 0 && bucket < n);
		assert_true(sign_of_n(t0, t1, n, bucket, real) >= 0 && sign_of_n(t0, t1, n, (iforest_int128)bucket + 1, real) < 0);
		i = random_between(&dice, 0, n);
		start = iforest_real_of_time(iforest_real_start_of_n(t0, t1, n, i));
		assert_true(sign_of_n(t0, t1, n, i, start) >= 0 && (start == -DBL_MAX || sign_of_n(t0, t1, n, i, nextafter(start, -INFINITY)) < 0));
		assert_true(iforest_real_of_time(iforest_real_start_of_n(t0, t1, n, 0)) == t0);
		assert_true(iforest_real_of_time(iforest_real_start_of_n(t0, t1, n, n)) == t1);
	}
}

static void step_buckets_divide_the_doubles_exactly(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned round = 0; round < random_rounds(2000); round++) {
		double origin = random_real(&dice), step = fabs(random_real(&dice)), real = random_real(&dice), start;
		int64_t bucket, i = random_between(&dice, INT64_MIN, INT64_MAX) >> random_below(&dice, 64);

		if (step == 0)
			continue;
		if (iforest_real_bucket_of_step(origin, step, real, &bucket) == IFOREST_RANGE)
			assert_true(sign_of_step(origin, step, INT64_MIN, real) < 0 || sign_of_step(origin, step, (iforest_int128)INT64_MAX + 1, real) >= 0);
		else
			assert_true(sign_of_step(origin, step, bucket, real) >= 0 && sign_of_step(origin, step, (iforest_int128)bucket + 1, real) < 0);
		start = iforest_real_of_time(iforest_real_start_of_step(origin, step, i));
		if (start == INFINITY)
			assert_true(sign_of_step(origin, step, i, DBL_MAX) < 0);
		else
			assert_true(sign_of_step(origin, step, i, start) >= 0 &&
				    (start == -DBL_MAX || sign_of_step(origin, step, i, nextafter(start, -INFINITY)) < 0));
	}
}

static void buckets_of_mapped_reals(void **state)
{
	struct iforest_bucketing tenths = { .mode = IFOREST_COUNT, .edges = IFOREST_EDGES_OF_REALS, .n = 10,
					    .window = { true, true, 0, iforest_time_of_real(1) } };
	struct iforest_bucketing halves = { .mode = IFOREST_STEP, .edges = IFOREST_EDGES_OF_REALS, .step = iforest_time_of_real(0.5),
					    .origin = iforest_time_of_real(-0.25) };
	bool after_all;
	int64_t bucket;

	(void)state;
	assert_true(iforest_real_of_time(iforest_bucket_start(&tenths, 5)) == 0.5);
	assert_true(iforest_real_of_time(iforest_bucket_end(&tenths, 9, &after_all)) == 1 && !after_all);
	assert_ok(iforest_bucket_of(&tenths, iforest_time_of_real(0.75), &bucket));
	assert_int_equal(bucket, 7);
	assert_true(iforest_real_of_time(iforest_bucket_start(&halves, -3)) == -1.75);
	assert_ok(iforest_bucket_of(&halves, iforest_time_of_real(-0.26), &bucket));
	assert_int_equal(bucket, -1);
	assert_false(iforest_bucketing_is_dense(&tenths));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_map_keeps_the_order),
		cmocka_unit_test(the_first_double_not_before_an_integer),
		cmocka_unit_test(signs_are_those_of_exact_sums),
		cmocka_unit_test(n_buckets_divide_the_doubles_exactly),
		cmocka_unit_test(step_buckets_divide_the_doubles_exactly),
		cmocka_unit_test(buckets_of_mapped_reals),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
