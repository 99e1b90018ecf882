#include "core/model/real_time.h"

#include <string.h>

int64_t iforest_time_of_real(double real)
{
	int64_t bits;

	memcpy(&bits, &real, sizeof bits);
	return bits < 0 ? -(bits & INT64_MAX) : bits;
}

double iforest_real_of_time(int64_t time)
{
	bool is_negative = time < 0;
	uint64_t bits = is_negative ? 0 - (uint64_t)time : (uint64_t)time;
	double real;

	if (bits > IFOREST_TIME_OF_INFINITY)
		bits = IFOREST_TIME_OF_INFINITY;
	bits |= (uint64_t)is_negative << 63;
	memcpy(&real, &bits, sizeof real);
	return real;
}

int64_t iforest_time_not_before(int64_t integer)
{
	double real = (double)integer; /* to nearest */
	int64_t rounded = INT64_MAX;

	if (real < 0x1p63)
		rounded = (int64_t)real;
	return iforest_time_of_real(real) + (rounded < integer);
}

/* ---- exact sums ---- */

/* factor * real = number * 2^exponent, |number| < 2^118. */
struct product {
	iforest_int128 number;
	int exponent;
};

static struct product multiply(const struct iforest_real_term *term)
{
	uint64_t bits, fraction;
	int exponent;
	iforest_int128 number;

	memcpy(&bits, &term->real, sizeof bits);
	fraction = bits & iforest_low_bits(52);
	exponent = (int)(bits >> 52 & 0x7ff);
	number = (iforest_int128)(exponent ? fraction | UINT64_C(1) << 52 : fraction) * term->factor;
	return (struct product){ .number = bits >> 63 ? -number : number, .exponent = exponent ? exponent : 1 };
}

static int sign_of(iforest_int128 number)
{
	return (number > 0) - (number < 0);
}

enum { MOST_TERMS = 3, WORDS = (0x7ff + 128) / 64 + 2 };

/* Adds number * 2^shift to a number of n words in two's complement. */
static void add_shifted(uint64_t *words, unsigned n, iforest_int128 number, unsigned shift)
{
	iforest_uint128 bits = (iforest_uint128)number;
	uint64_t extension = number < 0 ? UINT64_MAX : 0, parts[3];
	unsigned first = shift / 64, low = shift % 64;
	bool carry = false;

	parts[0] = (uint64_t)(bits << low);
	parts[1] = (uint64_t)(low ? bits >> (64 - low) : bits >> 64);
	parts[2] = low ? (uint64_t)(bits >> 64 >> (64 - low)) | extension << low : extension;
	for (unsigned w = first; w < n; w++) {
		uint64_t part = w - first < 3 ? parts[w - first] : extension;
		uint64_t sum = words[w] + part, with = sum + carry;

		carry = sum < part || with < sum;
		words[w] = with;
	}
}

static int long_sign(const struct product *products, unsigned n, int least, int greatest)
{
	uint64_t words[WORDS] = { 0 }, any = 0;
	unsigned n_words = (unsigned)(greatest - least + 128) / 64 + 2;

	for (unsigned p = 0; p < n; p++)
		if (products[p].number != 0)
			add_shifted(words, n_words, products[p].number, (unsigned)(products[p].exponent - least));
	for (unsigned w = 0; w < n_words; w++)
		any |= words[w];
	return words[n_words - 1] >> 63 ? -1 : any != 0;
}

int iforest_real_sum_sign(const struct iforest_real_term *terms, unsigned n)
{
	struct product products[MOST_TERMS];
	int least = INT32_MAX, greatest = INT32_MIN;
	iforest_int128 sum = 0;
	bool is_short = true;

	for (unsigned t = 0; t < n; t++) {
		products[t] = multiply(&terms[t]);
		if (products[t].number == 0)
			continue;
		if (products[t].exponent < least)
			least = products[t].exponent;
		if (products[t].exponent > greatest)
			greatest = products[t].exponent;
	}
	for (unsigned t = 0; t < n && is_short; t++) {
		int shift = products[t].exponent - least;
		iforest_int128 limit;

		if (products[t].number == 0)
			continue;
		limit = shift < 124 ? (iforest_int128)1 << (124 - shift) : 0;
		is_short = products[t].number < limit && products[t].number > -limit;
		if (is_short)
			sum += products[t].number * ((iforest_int128)1 << shift);
	}
	return is_short ? sign_of(sum) : long_sign(products, n, least, greatest);
}

/* ---- searches ---- */

/* A predicate that is false up to some number and true from then on. */
typedef bool passes(const void *context, iforest_int128 at);

/* Galloping search away from a guess. Returns the first number in [low, high) that passes; `high` if there is none. */
static iforest_int128 find_first(iforest_int128 low, iforest_int128 high, iforest_int128 guess, passes *is_passed,
				 const void *context)
{
	iforest_int128 width = 1;

	guess = guess < low ? low : guess > high ? high : guess;
	if (guess == high || is_passed(context, guess)) {
		high = guess;
		while (high - width > low && is_passed(context, high - width)) {
			high -= width;
			width *= 2;
		}
		if (high - width > low)
			low = high - width + 1;
	} else {
		low = guess + 1;
		while (low - 1 + width < high && !is_passed(context, low - 1 + width)) {
			low += width;
			width *= 2;
		}
		if (low - 1 + width < high)
			high = low - 1 + width;
	}
	while (low < high) {
		iforest_int128 middle = low + (high - low) / 2;

		if (is_passed(context, middle))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Context of a search: a real x is in bucket i or later if n x >= (n - i) t0 + i t1, or x >= origin + i step. */
struct buckets {
	double first, second; /* t0 and t1, or origin and step */
	int64_t n;	      /* number of buckets; 0: buckets of a step */
	iforest_int128 i;     /* to search for the start of this bucket */
	double real;	      /* to search for the bucket of this real */
};

static bool begins(const struct buckets *buckets, double real, iforest_int128 i)
{
	struct iforest_real_term of_n[] = { { buckets->n, real }, { i - buckets->n, buckets->first }, { -i, buckets->second } };
	struct iforest_real_term of_step[] = { { 1, real }, { -1, buckets->first }, { -i, buckets->second } };

	return iforest_real_sum_sign(buckets->n ? of_n : of_step, MOST_TERMS) >= 0;
}

static bool begins_by_time(const void *context, iforest_int128 time)
{
	const struct buckets *buckets = context;

	return begins(buckets, iforest_real_of_time((int64_t)time), buckets->i);
}

/* Returns the time of the first double of the bucket, which is expected near an estimate. */
static int64_t start_near(const struct buckets *buckets, double estimate)
{
	int64_t last = iforest_time_of_real(IFOREST_GREATEST_REAL);

	return (int64_t)find_first(-last, last + 1, iforest_time_of_real(estimate), begins_by_time, buckets);
}

int64_t iforest_real_start_of_n(double t0, double t1, int64_t n, iforest_int128 i)
{
	struct buckets buckets = { .first = t0, .second = t1, .n = n, .i = i };
	double share = (double)i / (double)n;

	return start_near(&buckets, t0 * (1 - share) + t1 * share);
}

int64_t iforest_real_start_of_step(double origin, double step, iforest_int128 i)
{
	struct buckets buckets = { .first = origin, .second = step, .i = i };

	return start_near(&buckets, origin + (double)i * step); /* perhaps infinite */
}

/* True if the real lies before bucket i. */
static bool begins_later(const void *context, iforest_int128 i)
{
	const struct buckets *buckets = context;

	return !begins(buckets, buckets->real, i);
}

/* Clamps an estimate, which may be infinite or NaN, to int64. */
static iforest_int128 to_guess(double estimate)
{
	if (!(estimate > -0x1p63))
		return INT64_MIN;
	return estimate < 0x1p63 ? (int64_t)estimate : INT64_MAX;
}

int64_t iforest_real_bucket_of_n(double t0, double t1, int64_t n, double real)
{
	struct buckets buckets = { .first = t0, .second = t1, .n = n, .real = real };
	double share = (real / 2 - t0 / 2) / (t1 / 2 - t0 / 2); /* no infinity */

	return (int64_t)find_first(1, n, to_guess(share * (double)n) + 1, begins_later, &buckets) - 1;
}

enum iforest_status iforest_real_bucket_of_step(double origin, double step, double real, int64_t *bucket)
{
	struct buckets buckets = { .first = origin, .second = step, .real = real };
	iforest_int128 low = INT64_MIN, high = (iforest_int128)INT64_MAX + 2, first;

	first = find_first(low, high, to_guess((real - origin) / step) + 1, begins_later, &buckets);
	if (first == low || first == high)
		return IFOREST_RANGE;
	*bucket = (int64_t)(first - 1);
	return IFOREST_OK;
}
