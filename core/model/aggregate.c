#include "core/model/aggregate.h"

#include <math.h>

size_t iforest_aggregate_bytes(unsigned n_values)
{
	return offsetof(struct iforest_aggregate, values) + n_values * sizeof(struct iforest_value_aggregate);
}

void iforest_aggregate_clear(struct iforest_aggregate *aggregate, unsigned n_values)
{
	memset(aggregate, 0, iforest_aggregate_bytes(n_values));
	aggregate->latest_end = INT64_MIN;
	aggregate->lowest_block = UINT32_MAX;
}

int iforest_number_compare(union iforest_number a, union iforest_number b, enum iforest_value_kind kind)
{
	if (kind == IFOREST_INT64)
		return (a.integer > b.integer) - (a.integer < b.integer);
	if (isnan(a.real) || isnan(b.real))
		return (isnan(a.real) != 0) - (isnan(b.real) != 0);
	return (a.real > b.real) - (a.real < b.real);
}

int iforest_row_compare(const struct iforest_row *a, const struct iforest_row *b)
{
	if (a->time_is_null != b->time_is_null)
		return a->time_is_null ? 1 : -1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->ref > b->ref) - (a->ref < b->ref);
}

/* Keeps the row whose value stands further in the direction of sign. */
static void keep_extreme(struct iforest_row *into, const struct iforest_row *row, enum iforest_value_kind kind, int sign)
{
	int order;

	if (!row->is_set)
		return;
	order = into->is_set ? sign * iforest_number_compare(row->value, into->value, kind) : 1;
	if (order > 0 || (order == 0 && iforest_row_compare(row, into) < 0))
		*into = *row;
}

void iforest_row_min(struct iforest_row *into, const struct iforest_row *row, enum iforest_value_kind kind)
{
	keep_extreme(into, row, kind, -1);
}

void iforest_row_max(struct iforest_row *into, const struct iforest_row *row, enum iforest_value_kind kind)
{
	keep_extreme(into, row, kind, 1);
}

void iforest_row_first(struct iforest_row *into, const struct iforest_row *row)
{
	if (row->is_set && !row->time_is_null && (!into->is_set || iforest_row_compare(row, into) < 0))
		*into = *row;
}

void iforest_row_last(struct iforest_row *into, const struct iforest_row *row)
{
	if (row->is_set && !row->time_is_null && (!into->is_set || iforest_row_compare(row, into) > 0))
		*into = *row;
}

void iforest_squares_combine(struct iforest_squares *into, const struct iforest_squares *from)
{
	iforest_uint128 carry = 0;

	for (unsigned i = 0; i < 3; i++) {
		carry += (iforest_uint128)into->words[i] + from->words[i];
		into->words[i] = (uint64_t)carry;
		carry >>= 64;
	}
}

void iforest_squares_add(struct iforest_squares *into, int64_t number)
{
	iforest_uint128 square = (iforest_uint128)((iforest_int128)number * number);

	iforest_squares_combine(into, &(struct iforest_squares){ .words = { (uint64_t)square, (uint64_t)(square >> 64), 0 } });
}

void iforest_value_add(struct iforest_value_aggregate *into, union iforest_number value, enum iforest_value_kind kind)
{
	into->n++;
	if (kind == IFOREST_INT64)
		into->sum = iforest_add_wrapping(into->sum, value.integer);
	else if (isnan(value.real))
		into->n_nan++;
	else if (isinf(value.real))
		*(value.real > 0 ? &into->n_plus_infinity : &into->n_minus_infinity) += 1;
	else
		into->real_sum += value.real;
}

void iforest_value_combine(struct iforest_value_aggregate *into, const struct iforest_value_aggregate *from,
			   enum iforest_value_kind kind)
{
	into->n += from->n;
	if (kind == IFOREST_INT64) {
		into->sum = iforest_add_wrapping(into->sum, from->sum);
		iforest_squares_combine(&into->squares, &from->squares);
	} else {
		into->real_sum += from->real_sum;
		into->n_nan += from->n_nan;
		into->n_plus_infinity += from->n_plus_infinity;
		into->n_minus_infinity += from->n_minus_infinity;
	}
	iforest_row_min(&into->min, &from->min, kind);
	iforest_row_max(&into->max, &from->max, kind);
	iforest_row_first(&into->first, &from->first);
	iforest_row_last(&into->last, &from->last);
}

void iforest_aggregate_combine(struct iforest_aggregate *into, const struct iforest_aggregate *from,
			       const uint8_t *kinds, unsigned n_values)
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
		iforest_value_combine(&into->values[v], &from->values[v], (enum iforest_value_kind)kinds[v]);
}

double iforest_real_sum(const struct iforest_value_aggregate *aggregate)
{
	if (aggregate->n_nan || (aggregate->n_plus_infinity && aggregate->n_minus_infinity))
		return NAN;
	if (aggregate->n_plus_infinity)
		return INFINITY;
	return aggregate->n_minus_infinity ? -INFINITY : aggregate->real_sum;
}

double iforest_mean(const struct iforest_value_aggregate *aggregate, enum iforest_value_kind kind)
{
	double sum = kind == IFOREST_INT64 ? (double)aggregate->sum : iforest_real_sum(aggregate);

	return sum / (double)aggregate->n;
}
