#include "core/model/sketch_internal.h"

#include <math.h>

#include "core/base/bits.h"

/* The first `SKETCH_BITS` bits after the highest of a fixed-point number, which is the bit of 2^exponent. */
static uint32_t bucket_of_bits(uint64_t bits, int exponent, bool is_negative)
{
	unsigned highest = iforest_highest_bit(bits);
	uint64_t start = highest >= SKETCH_BITS ? bits >> (highest - SKETCH_BITS) : bits << (SKETCH_BITS - highest);
	uint32_t k = (uint32_t)start % SKETCH_PER_POWER;
	uint32_t distance = (uint32_t)(exponent - SKETCH_LEAST_EXPONENT) * SKETCH_PER_POWER + k + 1;

	return is_negative ? SKETCH_ZERO - distance : SKETCH_ZERO + distance;
}

static uint32_t bucket_of_integer(int64_t number)
{
	uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

	return number == 0 ? SKETCH_ZERO : bucket_of_bits(magnitude, (int)iforest_highest_bit(magnitude), number < 0);
}

static uint32_t bucket_of_real(double number)
{
	uint64_t bits, fraction;
	int exponent;

	if (isnan(number))
		return SKETCH_NAN;
	if (isinf(number))
		return number < 0 ? SKETCH_MINUS_INFINITY : SKETCH_PLUS_INFINITY;
	if (number == 0)
		return SKETCH_ZERO;
	memcpy(&bits, &number, sizeof bits);
	fraction = bits & iforest_low_bits(52);
	exponent = (int)(bits >> 52 & 0x7ff);
	if (exponent == 0) /* denormal: fraction 2^-1074 */
		return bucket_of_bits(fraction, (int)iforest_highest_bit(fraction) + SKETCH_LEAST_EXPONENT, number < 0);
	return bucket_of_bits(fraction | UINT64_C(1) << 52, exponent - 1023, number < 0);
}

uint32_t iforest_sketch_bucket(union iforest_number number, enum iforest_value_kind kind)
{
	return kind == IFOREST_INT64 ? bucket_of_integer(number.integer) : bucket_of_real(number.real);
}

/* ---- what a bucket stands for ---- */

/* A bucket of finite numbers other than zero: those from `start` 2^(exponent - SKETCH_BITS), `start` in [64, 128). */
struct span_of_bucket {
	bool is_negative;
	int exponent;
	uint64_t start;
};

static bool is_finite_bucket(uint32_t bucket)
{
	return bucket != SKETCH_MINUS_INFINITY && bucket != SKETCH_ZERO && bucket < SKETCH_PLUS_INFINITY;
}

static struct span_of_bucket span_of(uint32_t bucket)
{
	bool is_negative = bucket < SKETCH_ZERO;
	uint32_t distance = (is_negative ? SKETCH_ZERO - bucket : bucket - SKETCH_ZERO) - 1;

	return (struct span_of_bucket){
		.is_negative = is_negative,
		.exponent = (int)(distance / SKETCH_PER_POWER) + SKETCH_LEAST_EXPONENT,
		.start = SKETCH_PER_POWER + distance % SKETCH_PER_POWER,
	};
}

bool iforest_sketch_holds_integer(uint32_t bucket)
{
	struct span_of_bucket span;

	if (!is_finite_bucket(bucket))
		return bucket == SKETCH_ZERO;
	span = span_of(bucket);
	if (span.exponent >= 63)
		return span.is_negative && span.exponent == 63 && span.start == SKETCH_PER_POWER;
	if (span.exponent < 0)
		return false;
	return span.exponent >= (int)SKETCH_BITS || (span.start & iforest_low_bits(SKETCH_BITS - (unsigned)span.exponent)) == 0;
}

int64_t iforest_sketch_integer(uint32_t bucket)
{
	struct span_of_bucket span;
	int64_t middle;

	if (bucket == SKETCH_ZERO)
		return 0;
	span = span_of(bucket);
	if (span.exponent == 63)
		return INT64_MIN;
	if (span.exponent <= (int)SKETCH_BITS) {
		middle = (int64_t)(span.start >> (SKETCH_BITS - (unsigned)span.exponent));
	} else {
		unsigned shift = (unsigned)span.exponent - SKETCH_BITS;

		middle = (int64_t)((span.start << shift) + iforest_low_bits(shift) / 2);
	}
	return span.is_negative ? -middle : middle;
}

/* -1022 <= exponent <= 1023 */
static double power_of_two(int exponent)
{
	uint64_t bits = (uint64_t)(exponent + 1023) << 52;
	double power;

	memcpy(&power, &bits, sizeof power);
	return power;
}

/* x 2^exponent, which is a double. Denormals are reached in two steps, of which neither rounds. */
static double scale(double x, int exponent)
{
	return exponent < -1022 ? x * power_of_two(-1022) * power_of_two(exponent + 1022) : x * power_of_two(exponent);
}

double iforest_sketch_real(uint32_t bucket)
{
	struct span_of_bucket span;
	double middle;

	if (bucket == SKETCH_ZERO)
		return 0;
	if (!is_finite_bucket(bucket))
		return bucket == SKETCH_NAN ? NAN : bucket == SKETCH_PLUS_INFINITY ? INFINITY : -INFINITY;
	span = span_of(bucket);
	if (span.exponent - (int)SKETCH_BITS <= SKETCH_LEAST_EXPONENT)
		middle = scale((double)span.start, span.exponent - (int)SKETCH_BITS);
	else
		middle = scale((double)(2 * span.start + 1), span.exponent - (int)SKETCH_BITS - 1);
	return span.is_negative ? -middle : middle;
}
