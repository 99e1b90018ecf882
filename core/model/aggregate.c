#include "core/model/aggregate.h"

#include <math.h>

size_t iforest_aggregate_bytes(unsigned n_values, const struct iforest_accumulators *accumulators)
{
	return offsetof(struct iforest_aggregate, values) + n_values * sizeof(struct iforest_value_aggregate) +
	       accumulators->n_words * sizeof(uint64_t);
}

void iforest_aggregate_clear(struct iforest_aggregate *aggregate, unsigned n_values,
			     const struct iforest_accumulators *accumulators)
{
	memset(aggregate, 0, iforest_aggregate_bytes(n_values, accumulators));
	aggregate->latest_end = INT64_MIN;
	aggregate->lowest_block = UINT32_MAX;
}

int iforest_extreme_compare(const struct iforest_extreme *a, const struct iforest_extreme *b)
{
	if (a->time_is_null != b->time_is_null)
		return a->time_is_null ? 1 : -1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->ref > b->ref) - (a->ref < b->ref);
}

/* Keeps the row with the greater value (sign 1) or the smaller one (sign -1). */
static void keep_extreme(struct iforest_extreme *into, const struct iforest_extreme *row, enum iforest_value_type type,
			 int sign)
{
	int order;

	if (!row->is_set)
		return;
	order = into->is_set ? sign * iforest_number_compare(row->value, into->value, type) : 1;
	if (order > 0 || (order == 0 && iforest_extreme_compare(row, into) < 0))
		*into = *row;
}

void iforest_extreme_min(struct iforest_extreme *into, const struct iforest_extreme *row, enum iforest_value_type type)
{
	keep_extreme(into, row, type, -1);
}

void iforest_extreme_max(struct iforest_extreme *into, const struct iforest_extreme *row, enum iforest_value_type type)
{
	keep_extreme(into, row, type, 1);
}

void iforest_extreme_first(struct iforest_extreme *into, const struct iforest_extreme *row)
{
	if (row->is_set && !row->time_is_null && (!into->is_set || iforest_extreme_compare(row, into) < 0))
		*into = *row;
}

void iforest_extreme_last(struct iforest_extreme *into, const struct iforest_extreme *row)
{
	if (row->is_set && !row->time_is_null && (!into->is_set || iforest_extreme_compare(row, into) > 0))
		*into = *row;
}

void iforest_value_add(struct iforest_value_aggregate *into, union iforest_number value, enum iforest_value_type type)
{
	into->n++;
	if (type == IFOREST_INT64)
		into->sum = iforest_add_wrapping(into->sum, value.integer);
	else if (isnan(value.real))
		into->n_nan++;
	else if (isinf(value.real))
		*(value.real > 0 ? &into->n_plus_infinity : &into->n_minus_infinity) += 1;
	else
		into->real_sum += value.real;
}

void iforest_value_combine(struct iforest_value_aggregate *into, const struct iforest_value_aggregate *from,
			   enum iforest_value_type type)
{
	into->n += from->n;
	if (type == IFOREST_INT64) {
		into->sum = iforest_add_wrapping(into->sum, from->sum);
	} else {
		into->real_sum += from->real_sum;
		into->n_nan += from->n_nan;
		into->n_plus_infinity += from->n_plus_infinity;
		into->n_minus_infinity += from->n_minus_infinity;
	}
	iforest_extreme_min(&into->min, &from->min, type);
	iforest_extreme_max(&into->max, &from->max, type);
	iforest_extreme_first(&into->first, &from->first);
	iforest_extreme_last(&into->last, &from->last);
}

void iforest_aggregate_combine(struct iforest_aggregate *into, const struct iforest_aggregate *from, const uint8_t *types,
			       unsigned n_values, const struct iforest_accumulators *accumulators)
{
	into->n_rows += from->n_rows;
	into->n_dead += from->n_dead;
	if (from->has_times) {
		iforest_aggregate_add_time(into, from->first_time);
		iforest_aggregate_add_time(into, from->last_time);
	}
	if (from->latest_end > into->latest_end)
		into->latest_end = from->latest_end;
	if (from->lowest_block < into->lowest_block)
		into->lowest_block = from->lowest_block;
	if (from->highest_block > into->highest_block)
		into->highest_block = from->highest_block;
	for (unsigned v = 0; v < n_values; v++)
		iforest_value_combine(&into->values[v], &from->values[v], (enum iforest_value_type)types[v]);
	for (unsigned a = 0; a < accumulators->n; a++) {
		const struct iforest_accumulator *accumulator = &accumulators->list[a];

		iforest_accumulator_combine(accumulator, into->words + accumulator->word, from->words + accumulator->word);
	}
}

double iforest_real_sum(const struct iforest_value_aggregate *aggregate)
{
	if (aggregate->n_nan || (aggregate->n_plus_infinity && aggregate->n_minus_infinity))
		return NAN;
	if (aggregate->n_plus_infinity)
		return INFINITY;
	return aggregate->n_minus_infinity ? -INFINITY : aggregate->real_sum;
}

double iforest_mean(const struct iforest_value_aggregate *aggregate, enum iforest_value_type type)
{
	double sum = type == IFOREST_INT64 ? (double)aggregate->sum : iforest_real_sum(aggregate);

	return sum / (double)aggregate->n;
}

/* An unsigned number of 256 bits. Sums of real entries fit; those of forged nodes are reduced modulo 2^256. */
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

static struct wide multiply(const uint64_t *words, uint64_t n)
{
	iforest_uint128 first = (iforest_uint128)words[0] * n, second = (iforest_uint128)words[1] * n;
	struct wide result = { (iforest_uint128)words[2] * n + (second >> 64), first };

	result.low += second << 64;
	result.high += result.low < first;
	return result;
}

static unsigned leading_zeros(iforest_uint128 x)
{
	return x >> 64 ? 63 - iforest_highest_bit((uint64_t)(x >> 64)) : 127 - iforest_highest_bit((uint64_t)x);
}

/* Shifts x, which is not 0, until its highest set bit is bit 255. Returns the number of bits. */
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

/* Returns a / b, rounded once, b != 0: computes 64 bits of the quotient by long division, and sets the last if there is a
 * remainder (sticky bit). */
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
	/* the division treated b as the upper half of a number of 256 bits */
	return (double)quotient * iforest_power_of_two(128 + (int)shift_b - (int)shift_a - 63);
}

double iforest_sample_variance(const struct iforest_value_aggregate *aggregate, const uint64_t *squares)
{
	iforest_uint128 magnitude = aggregate->sum < 0 ? -(iforest_uint128)aggregate->sum : (iforest_uint128)aggregate->sum;
	struct wide spread = subtract(multiply(squares, aggregate->n), square(magnitude));

	return divide(spread, (iforest_uint128)aggregate->n * (aggregate->n - 1));
}
