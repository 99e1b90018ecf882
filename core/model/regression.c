#include "core/model/regression.h"

#include "core/base/bits.h"

/* A number of 384 bits in two's complement, lowest word first: room for the product of a sum and a sum of products. */
enum { WORDS = 6 };

struct wide {
	uint64_t words[WORDS];
};

static struct wide wide_from_words(const uint64_t *words)
{
	struct wide number = { { words[0], words[1], words[2] } };

	for (unsigned i = 3; i < WORDS; i++)
		number.words[i] = words[2] >> 63 ? UINT64_MAX : 0;
	return number;
}

/* a - b */
static struct wide difference(struct wide a, const struct wide *b)
{
	uint64_t borrow = 0;

	for (unsigned i = 0; i < WORDS; i++) {
		uint64_t rest = a.words[i] - b->words[i], less = a.words[i] < b->words[i];

		a.words[i] = rest - borrow;
		borrow = less | (rest < borrow);
	}
	return a;
}

/* a b, modulo 2^384 */
static struct wide product(const struct wide *a, const struct wide *b)
{
	struct wide result = { { 0 } };

	for (unsigned i = 0; i < WORDS; i++) {
		iforest_uint128 carry = 0;

		for (unsigned k = 0; i + k < WORDS; k++) {
			carry += (iforest_uint128)a->words[i] * b->words[k] + result.words[i + k];
			result.words[i + k] = (uint64_t)carry;
			carry >>= 64;
		}
	}
	return result;
}

/* Rounds once: the highest 64 bits, of which the last is set if there are more. */
static double to_double(struct wide number)
{
	bool is_negative = number.words[WORDS - 1] >> 63;
	unsigned top = WORDS, shift;
	uint64_t highest, below = 0;

	if (is_negative)
		number = difference((struct wide){ { 0 } }, &number);
	while (top > 0 && number.words[top - 1] == 0)
		top--;
	if (top == 0)
		return 0;
	shift = 63 - iforest_highest_bit(number.words[top - 1]);
	highest = number.words[top - 1] << shift;
	if (top > 1 && shift > 0)
		highest |= number.words[top - 2] >> (64 - shift);
	if (top > 1)
		below = number.words[top - 2] << shift;
	for (unsigned i = 0; i + 2 < top; i++)
		below |= number.words[i];
	highest |= below != 0;
	return (is_negative ? -(double)highest : (double)highest) * iforest_power_of_two((int)(64 * (top - 1)) - (int)shift);
}

/* The sums as wide numbers, y first. */
struct sums {
	struct wide n, y, x, yy, xx, xy;
};

static struct sums read_sums(const uint64_t *words, bool is_swapped)
{
	struct sums sums = { .n = wide_from_words(words + 3 * IFOREST_PAIR_N),
			     .y = wide_from_words(words + 3 * IFOREST_PAIR_SUM),
			     .x = wide_from_words(words + 3 * IFOREST_PAIR_OTHER_SUM),
			     .yy = wide_from_words(words + 3 * IFOREST_PAIR_SQUARES),
			     .xx = wide_from_words(words + 3 * IFOREST_PAIR_OTHER_SQUARES),
			     .xy = wide_from_words(words + 3 * IFOREST_PAIR_PRODUCTS) };

	return is_swapped ? (struct sums){ sums.n, sums.x, sums.y, sums.xx, sums.yy, sums.xy } : sums;
}

/* a b - c d */
static double cross(const struct wide *a, const struct wide *b, const struct wide *c, const struct wide *d)
{
	struct wide other = product(c, d);

	return to_double(difference(product(a, b), &other));
}

bool iforest_pair_ratio(const uint64_t *words, bool is_swapped, enum iforest_pair_function function, double *result)
{
	struct sums sums = read_sums(words, is_swapped);
	double n = to_double(sums.n);
	/* n times SQL's Sxx, Syy and Sxy */
	double xx = cross(&sums.n, &sums.xx, &sums.x, &sums.x), yy = cross(&sums.n, &sums.yy, &sums.y, &sums.y);
	double xy = cross(&sums.n, &sums.xy, &sums.x, &sums.y), square;

	*result = n;
	if (function == IFOREST_REGR_COUNT)
		return true;
	if (n < (function == IFOREST_COVAR_SAMP ? 2 : 1))
		return false;
	switch (function) {
	case IFOREST_CORR:
		square = xy / xx * (xy / yy);
		square = square > 1 ? 1 : square;
		*result = xy < 0 ? -square : square;
		return xx != 0 && yy != 0;
	case IFOREST_COVAR_POP:
		*result = xy / n / n;
		return true;
	case IFOREST_COVAR_SAMP:
		*result = xy / n / (n - 1);
		return true;
	case IFOREST_REGR_SLOPE:
		*result = xy / xx;
		return xx != 0;
	case IFOREST_REGR_INTERCEPT:
		*result = cross(&sums.y, &sums.xx, &sums.x, &sums.xy) / xx;
		return xx != 0;
	case IFOREST_REGR_R2:
		*result = yy == 0 ? 1 : xy / xx * (xy / yy);
		return xx != 0;
	case IFOREST_REGR_AVGX:
		*result = to_double(sums.x) / n;
		return true;
	case IFOREST_REGR_AVGY:
		*result = to_double(sums.y) / n;
		return true;
	case IFOREST_REGR_SXX:
		*result = xx / n;
		return true;
	case IFOREST_REGR_SYY:
		*result = yy / n;
		return true;
	default:
		*result = xy / n;
		return true;
	}
}
