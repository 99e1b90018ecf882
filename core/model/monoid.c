#include "core/model/monoid.h"

static struct iforest_extreme row_of(const struct iforest_sample *sample)
{
	return (struct iforest_extreme){
		.value = sample->value, .time = sample->time, .ref = sample->ref, .is_set = sample->has_value
	};
}

static void count_identity(void *state)
{
	*(uint64_t *)state = 0;
}

static void count_lift(void *state, const void *sample)
{
	*(uint64_t *)state = ((const struct iforest_sample *)sample)->has_value;
}

static void count_combine(void *state, const void *left, const void *right)
{
	*(uint64_t *)state = *(const uint64_t *)left + *(const uint64_t *)right;
}

static void sum_int64_identity(void *state)
{
	*(struct iforest_sum_int64 *)state = (struct iforest_sum_int64){ 0 };
}
static void sum_float64_identity(void *state)
{
	*(struct iforest_sum_float64 *)state = (struct iforest_sum_float64){ 0 };
}

static void sum_int64_lift(void *state, const void *sample)
{
	const struct iforest_sample *of = sample;

	*(struct iforest_sum_int64 *)state =
		(struct iforest_sum_int64){ .sum = of->has_value ? of->value.integer : 0, .n = of->has_value };
}

static void sum_float64_lift(void *state, const void *sample)
{
	const struct iforest_sample *of = sample;
	struct iforest_value_aggregate one = { .n = 0 };

	if (of->has_value)
		iforest_value_add(&one, of->value, IFOREST_FLOAT64);
	*(struct iforest_sum_float64 *)state = (struct iforest_sum_float64){ .sum = one.real_sum,
									     .n = one.n,
									     .n_nan = one.n_nan,
									     .n_plus_infinity = one.n_plus_infinity,
									     .n_minus_infinity = one.n_minus_infinity };
}

static void sum_int64_combine(void *state, const void *left, const void *right)
{
	const struct iforest_sum_int64 *a = left, *b = right;

	*(struct iforest_sum_int64 *)state =
		(struct iforest_sum_int64){ .sum = iforest_add_wrapping(a->sum, b->sum), .n = a->n + b->n };
}

static void sum_float64_combine(void *state, const void *left, const void *right)
{
	const struct iforest_sum_float64 *a = left, *b = right;

	*(struct iforest_sum_float64 *)state =
		(struct iforest_sum_float64){ .sum = a->sum + b->sum,
					      .n = a->n + b->n,
					      .n_nan = a->n_nan + b->n_nan,
					      .n_plus_infinity = a->n_plus_infinity + b->n_plus_infinity,
					      .n_minus_infinity = a->n_minus_infinity + b->n_minus_infinity };
}

struct iforest_value_aggregate iforest_sum_int64_aggregate(const struct iforest_sum_int64 *state)
{
	return (struct iforest_value_aggregate){ .n = state->n, .sum = state->sum };
}

struct iforest_value_aggregate iforest_sum_float64_aggregate(const struct iforest_sum_float64 *state)
{
	return (struct iforest_value_aggregate){ .n = state->n,
						 .real_sum = state->sum,
						 .n_nan = state->n_nan,
						 .n_plus_infinity = state->n_plus_infinity,
						 .n_minus_infinity = state->n_minus_infinity };
}

static void row_identity(void *state)
{
	*(struct iforest_extreme *)state = (struct iforest_extreme){ .is_set = false };
}
static void row_lift(void *state, const void *sample)
{
	*(struct iforest_extreme *)state = row_of(sample);
}

#define ROW_COMBINE(name, keep)                                                     \
	static void name(void *state, const void *left, const void *right)          \
	{                                                                           \
		struct iforest_extreme row = *(const struct iforest_extreme *)left; \
                                                                                    \
		keep;                                                               \
		*(struct iforest_extreme *)state = row;                             \
	}

ROW_COMBINE(min_combine_int64, iforest_extreme_min(&row, right, IFOREST_INT64))
ROW_COMBINE(max_combine_int64, iforest_extreme_max(&row, right, IFOREST_INT64))
ROW_COMBINE(min_combine_float64, iforest_extreme_min(&row, right, IFOREST_FLOAT64))
ROW_COMBINE(max_combine_float64, iforest_extreme_max(&row, right, IFOREST_FLOAT64))
ROW_COMBINE(first_combine, iforest_extreme_first(&row, right))
ROW_COMBINE(last_combine, iforest_extreme_last(&row, right))

/* Only worse values are absorbed: a row with an equal value may win the tie. */
static bool is_worse(const void *state, const void *whole, enum iforest_value_type type, int sign)
{
	const struct iforest_extreme *row = state, *best = whole;

	return !best->is_set || (row->is_set && sign * iforest_number_compare(best->value, row->value, type) < 0);
}

#define ROW_ABSORBS(name, kind, sign)                                          \
	static bool name(const void *state, const void *whole, bool from_left) \
	{                                                                      \
		(void)from_left;                                               \
		return is_worse(state, whole, kind, sign);                     \
	}

ROW_ABSORBS(min_absorbs_int64, IFOREST_INT64, -1)
ROW_ABSORBS(max_absorbs_int64, IFOREST_INT64, 1)
ROW_ABSORBS(min_absorbs_float64, IFOREST_FLOAT64, -1)
ROW_ABSORBS(max_absorbs_float64, IFOREST_FLOAT64, 1)

#define ROW_BYTES sizeof(struct iforest_extreme)

const struct iforest_monoid iforest_monoid_count = {
	"count", sizeof(uint64_t), count_identity, count_lift, count_combine, NULL
};
const struct iforest_monoid iforest_monoid_sum_int64 = { "sum_int64",	     sizeof(struct iforest_sum_int64),
							 sum_int64_identity, sum_int64_lift,
							 sum_int64_combine,  NULL };
const struct iforest_monoid iforest_monoid_sum_float64 = { "sum_float64",	 sizeof(struct iforest_sum_float64),
							   sum_float64_identity, sum_float64_lift,
							   sum_float64_combine,	 NULL };
const struct iforest_monoid iforest_monoid_min_int64 = { "min_int64", ROW_BYTES,	 row_identity,
							 row_lift,    min_combine_int64, min_absorbs_int64 };
const struct iforest_monoid iforest_monoid_max_int64 = { "max_int64", ROW_BYTES,	 row_identity,
							 row_lift,    max_combine_int64, max_absorbs_int64 };
const struct iforest_monoid iforest_monoid_min_float64 = { "min_float64", ROW_BYTES,	       row_identity,
							   row_lift,	  min_combine_float64, min_absorbs_float64 };
const struct iforest_monoid iforest_monoid_max_float64 = { "max_float64", ROW_BYTES,	       row_identity,
							   row_lift,	  max_combine_float64, max_absorbs_float64 };
const struct iforest_monoid iforest_monoid_first = { "first", ROW_BYTES, row_identity, row_lift, first_combine, NULL };
const struct iforest_monoid iforest_monoid_last = { "last", ROW_BYTES, row_identity, row_lift, last_combine, NULL };
