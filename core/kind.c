#include "core/kind.h"

static struct iforest_row row_of(const struct iforest_sample *sample)
{
	return (struct iforest_row){ .value = sample->value, .time = sample->time, .ref = sample->ref,
				     .is_set = sample->has_value };
}

static void count_identity(void *state) { *(uint64_t *)state = 0; }

static void count_lift(void *state, const void *sample)
{
	*(uint64_t *)state = ((const struct iforest_sample *)sample)->has_value;
}

static void count_combine(void *state, const void *left, const void *right)
{
	*(uint64_t *)state = *(const uint64_t *)left + *(const uint64_t *)right;
}

static void sum_identity(void *state)
{
	*(struct iforest_value_aggregate *)state = (struct iforest_value_aggregate){ 0 };
}

static void sum_lift(void *state, const struct iforest_sample *sample, enum iforest_value_kind kind)
{
	sum_identity(state);
	if (sample->has_value)
		iforest_value_add(state, sample->value, kind);
}

static void sum_combine(void *state, const void *left, const void *right, enum iforest_value_kind kind)
{
	struct iforest_value_aggregate sum = *(const struct iforest_value_aggregate *)left;

	iforest_value_combine(&sum, right, kind);
	*(struct iforest_value_aggregate *)state = sum;
}

static void sum_lift_int64(void *state, const void *sample) { sum_lift(state, sample, IFOREST_INT64); }
static void sum_lift_float64(void *state, const void *sample) { sum_lift(state, sample, IFOREST_FLOAT64); }

static void sum_combine_int64(void *state, const void *left, const void *right)
{
	sum_combine(state, left, right, IFOREST_INT64);
}

static void sum_combine_float64(void *state, const void *left, const void *right)
{
	sum_combine(state, left, right, IFOREST_FLOAT64);
}

static void row_identity(void *state) { *(struct iforest_row *)state = (struct iforest_row){ .is_set = false }; }
static void row_lift(void *state, const void *sample) { *(struct iforest_row *)state = row_of(sample); }

#define ROW_COMBINE(name, keep)                                              \
	static void name(void *state, const void *left, const void *right)   \
	{                                                                    \
		struct iforest_row row = *(const struct iforest_row *)left;  \
                                                                             \
		keep;                                                        \
		*(struct iforest_row *)state = row;                          \
	}

ROW_COMBINE(min_combine_int64, iforest_row_min(&row, right, IFOREST_INT64))
ROW_COMBINE(max_combine_int64, iforest_row_max(&row, right, IFOREST_INT64))
ROW_COMBINE(min_combine_float64, iforest_row_min(&row, right, IFOREST_FLOAT64))
ROW_COMBINE(max_combine_float64, iforest_row_max(&row, right, IFOREST_FLOAT64))
ROW_COMBINE(first_combine, iforest_row_first(&row, right))
ROW_COMBINE(last_combine, iforest_row_last(&row, right))

#define SUM_BYTES sizeof(struct iforest_value_aggregate)
#define ROW_BYTES sizeof(struct iforest_row)

const struct iforest_kind iforest_kind_count = { "count", sizeof(uint64_t), count_identity, count_lift, count_combine };
const struct iforest_kind iforest_kind_sum_int64 =
	{ "sum", SUM_BYTES, sum_identity, sum_lift_int64, sum_combine_int64 };
const struct iforest_kind iforest_kind_sum_float64 =
	{ "sum", SUM_BYTES, sum_identity, sum_lift_float64, sum_combine_float64 };
const struct iforest_kind iforest_kind_min_int64 = { "min", ROW_BYTES, row_identity, row_lift, min_combine_int64 };
const struct iforest_kind iforest_kind_max_int64 = { "max", ROW_BYTES, row_identity, row_lift, max_combine_int64 };
const struct iforest_kind iforest_kind_min_float64 = { "min", ROW_BYTES, row_identity, row_lift, min_combine_float64 };
const struct iforest_kind iforest_kind_max_float64 = { "max", ROW_BYTES, row_identity, row_lift, max_combine_float64 };
const struct iforest_kind iforest_kind_first = { "first", ROW_BYTES, row_identity, row_lift, first_combine };
const struct iforest_kind iforest_kind_last = { "last", ROW_BYTES, row_identity, row_lift, last_combine };
