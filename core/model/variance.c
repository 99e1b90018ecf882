#include "core/model/variance.h"

/* An unsigned number of 256 bits. Sums of real entries leave the upper bits free; what forged ones give is kept modulo
 * 2^256. */
struct wide {
	iforest_uint128 high, low;
};

static struct wide subtract(struct wide a, struct wide b)
{
	return (struct wide){ a.high - b.high - (a.low < b.low), a.low - b.low };
}

static struct wide square(iforest_uint128 x)
{
	iforest_uint128 high = x >> 64, low = (uint64_t)x, middle = high * low;
	struct wide result = { high * high + (middle >> 63), low * low };

	result.low += middle << 65;
	result.high += result.low < middle << 65;
	return result;
}

static struct wide multiply(const struct iforest_squares *squares, uint64_t n)
{
	iforest_uint128 first = (iforest_uint128)squares->words[0] * n, second = (iforest_uint128)squares->words[1] * n;
	struct wide result = { (iforest_uint128)squares->words[2] * n + (second >> 64), first };

	result.low += second << 64;
	result.high += result.low < first;
	return result;
}

static unsigned leading_zeros(iforest_uint128 x)
{
	return x >> 64 ? 63 - iforest_highest_bit((uint64_t)(x >> 64)) : 127 - iforest_highest_bit((uint64_t)x);
}

/* The highest set bit becomes bit 255; x != 0. Returns by how many bits it was shifted. */
static unsigned normalise(struct wide *x)
{
	unsigned shift = 0;

	if (x->high == 0) {
		*x = (struct wide){ x->low, 0 };
		shift = 128;
	}
	if (x->high >> 127 == 0) {
		unsigned n = leading_zeros(x->high);

		x->high = x->high << n | x->low >> (128 - n);
		x->low <<= n;
		shift += n;
	}
	return shift;
}

/* 2^exponent, of which a double has -1022 to 1023. */
static double power_of_two(int exponent)
{
	union iforest_number number = { .integer = (int64_t)(exponent + 1023) << 52 };

	return number.real;
}

/* a / b, rounded once: 64 bits of the quotient by long division, and the last one is set where there is a rest. b != 0 */
static double divide(struct wide a, iforest_uint128 b)
{
	unsigned shift_b = leading_zeros(b), shift_a;
	uint64_t quotient = 0;
	bool carry = false;

	if (a.high == 0 && a.low == 0)
		return 0;
	shift_a = normalise(&a);
	b <<= shift_b;
	for (unsigned i = 0; i < 64; i++) {
		bool goes = carry || a.high >= b;

		quotient = quotient << 1 | goes;
		if (goes)
			a.high -= b;
		carry = a.high >> 127;
		a.high = a.high << 1 | a.low >> 127;
		a.low <<= 1;
	}
	quotient |= carry || a.high || a.low;
	/* b counts as if it stood in the upper half */
	return (double)quotient * power_of_two(128 + (int)shift_b - (int)shift_a - 63);
}

double iforest_sample_variance(const struct iforest_value_aggregate *aggregate)
{
	iforest_uint128 magnitude = aggregate->sum < 0 ? -(iforest_uint128)aggregate->sum : (iforest_uint128)aggregate->sum;
	struct wide spread = subtract(multiply(&aggregate->squares, aggregate->n), square(magnitude));

	return divide(spread, (iforest_uint128)aggregate->n * (aggregate->n - 1));
}
