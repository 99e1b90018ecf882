/* model/aggregate.h -- Aggregate of entries: the one definition of count, sum, min, max, first, last, variance.
 *
 * Every aggregate here is commutative and associative (floats within rounding), because the answer of a window is folded
 * from several runs in any order. Extremes therefore carry their row, and ties are decided by it: the earliest
 * time wins, then the lowest ref; a row without a time loses against one with a time.
 *
 *   first    the value of the smallest (time, ref) among rows with a time and a value
 *   last     the value of the greatest (time, ref) among them
 *   sum      int64 values: exact in 128 bits (2^63 rows of any value fit). float64: the finite values in double, in any order
 *            of summing; NaN and infinities are counted separately, so that they never poison a node
 *   min max  float64: NaN is greater than every number (PostgreSQL's order); -0 and 0 are equal
 *
 * Counts, sums and accumulators (model/kind.h) are invertible: the contribution of a part can be subtracted again. Extremes,
 * first and last are ordered: the better of two rows is kept, and a part that cannot contain a better row is skipped.
 */
#ifndef IFOREST_MODEL_AGGREGATE_H
#define IFOREST_MODEL_AGGREGATE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/bits.h"
#include "core/model/kind.h"

union iforest_number {
	int64_t integer;
	double real;
};

/* A value and the row that has it. */
struct iforest_extreme {
	union iforest_number value;
	int64_t time; /* 0 when time_is_null */
	int64_t ref;
	bool time_is_null;
	bool is_set;	  /* false: there is no such row */
	uint8_t zeros[6]; /* explicit padding, so that equal rows are equal bytes */
};

/* Aggregate of the non-NULL values of one value column. */
struct iforest_value_aggregate {
	uint64_t n;
	iforest_int128 sum; /* IFOREST_INT64 */
	double real_sum;    /* IFOREST_FLOAT64: of the finite values */
	uint64_t n_nan, n_plus_infinity, n_minus_infinity;
	struct iforest_extreme min, max; /* if requested, set when n > 0 */
	struct iforest_extreme first, last;
};

#define IFOREST_VALUE_WORDS (sizeof(struct iforest_value_aggregate) / sizeof(uint64_t))

/* Aggregate of entries. */
struct iforest_aggregate {
	uint64_t n_rows; /* live entries */
	uint64_t n_dead; /* removed entries that are still on their pages */
	bool has_times;
	int64_t first_time, last_time;	      /* of live entries with a time, if has_times */
	int64_t latest_end;		      /* INT64_MIN if there is none or it is not kept; saturates at INT64_MAX */
	uint32_t lowest_block, highest_block; /* heap blocks of the refs; lowest > highest where not kept */
	/* the value columns, followed by the words of the accumulators, each from its `word` on */
	union {
		struct iforest_value_aggregate values[IFOREST_MAX_VALUES];
		uint64_t words[IFOREST_MAX_VALUES * IFOREST_VALUE_WORDS + IFOREST_MAX_ACCUMULATOR_WORDS];
	};
};

/* Returns the size of an aggregate of n_values value columns and these accumulators. The functions below read and write no more
 * than that. */
size_t iforest_aggregate_bytes(unsigned n_values, const struct iforest_accumulators *accumulators);

/* Makes it the aggregate of no entries. */
void iforest_aggregate_clear(struct iforest_aggregate *aggregate, unsigned n_values,
			     const struct iforest_accumulators *accumulators);

/* into = into + from. types has n_values entries, enum iforest_value_type. */
void iforest_aggregate_combine(struct iforest_aggregate *into, const struct iforest_aggregate *from, const uint8_t *types,
			       unsigned n_values, const struct iforest_accumulators *accumulators);

/* into = into + from: n, sums, and the rows that are set. */
void iforest_value_combine(struct iforest_value_aggregate *into, const struct iforest_value_aggregate *from,
			   enum iforest_value_type type);

/* Adds a number to n and sum alone; the caller adds rows and accumulators where requested. */
void iforest_value_add(struct iforest_value_aggregate *into, union iforest_number value, enum iforest_value_type type);

/* Replace `into` by `row` if that is better; a row that is not set never is. */
void iforest_extreme_min(struct iforest_extreme *into, const struct iforest_extreme *row, enum iforest_value_type type);
void iforest_extreme_max(struct iforest_extreme *into, const struct iforest_extreme *row, enum iforest_value_type type);
void iforest_extreme_first(struct iforest_extreme *into, const struct iforest_extreme *row);
void iforest_extreme_last(struct iforest_extreme *into, const struct iforest_extreme *row);

/* Compares rows in the (time, ref) order that decides ties: rows with a time first, then the earlier time, then the lower ref.
 * Returns a negative number, 0 or a positive one. */
int iforest_extreme_compare(const struct iforest_extreme *a, const struct iforest_extreme *b);

/* True if row a has the greater integer, or an equal one and comes first in that order. Requires: both rows are set. */
static inline bool iforest_row_is_greater(const struct iforest_extreme *a, const struct iforest_extreme *b)
{
	if (a->value.integer != b->value.integer)
		return a->value.integer > b->value.integer;
	return iforest_extreme_compare(a, b) < 0;
}

/* Returns -1, 0 or 1; NaN equals NaN and is greater than every other number. */
static inline int iforest_number_compare(union iforest_number a, union iforest_number b, enum iforest_value_type type)
{
	if (type == IFOREST_INT64)
		return (a.integer > b.integer) - (a.integer < b.integer);
	if (isnan(a.real) || isnan(b.real))
		return (isnan(a.real) != 0) - (isnan(b.real) != 0);
	return (a.real > b.real) - (a.real < b.real);
}

/* Returns the sum of a float64 column with NaN and infinities put back: NaN if there was one, or infinities of both signs. */
double iforest_real_sum(const struct iforest_value_aggregate *aggregate);

/* Returns the mean of a value column; n > 0. The exact sum is rounded to double once, then divided. */
double iforest_mean(const struct iforest_value_aggregate *aggregate, enum iforest_value_type type);

/* Adds the time of a live entry. */
static inline void iforest_aggregate_add_time(struct iforest_aggregate *aggregate, int64_t time)
{
	if (!aggregate->has_times || time < aggregate->first_time)
		aggregate->first_time = time;
	if (!aggregate->has_times || time > aggregate->last_time)
		aggregate->last_time = time;
	aggregate->has_times = true;
}

/* How the end of a span is computed from a value column. The last three are durations in another unit than the time's:
 * nanoseconds, milliseconds and seconds beside timestamps in microseconds. */
enum iforest_end_rule {
	IFOREST_END_DURATION = 0,  /* time + value */
	IFOREST_END_COLUMN,	   /* the value is the end itself */
	IFOREST_END_PER_1000,	   /* time + ceil(value / 1000) */
	IFOREST_END_TIMES_1000,	   /* time + 1000 value */
	IFOREST_END_TIMES_1000000, /* time + 1000000 value */
	IFOREST_END_RULES	   /* sentinel: the number of rules */
};

/* Returns the end of a span, saturated. A span ends where it starts if the value is NULL, the duration is zero or negative, or
 * the end lies before the start. */
static inline int64_t iforest_span_end(int64_t time, int64_t value, bool has_value, enum iforest_end_rule rule)
{
	iforest_int128 end = value;

	if (has_value && rule == IFOREST_END_COLUMN)
		return value > time ? value : time;
	if (!has_value || value <= 0)
		return time;
	if (rule == IFOREST_END_PER_1000)
		end = value / 1000 + (value % 1000 != 0);
	else if (rule != IFOREST_END_DURATION)
		end *= rule == IFOREST_END_TIMES_1000 ? 1000 : 1000000;
	end += time;
	return end > INT64_MAX ? INT64_MAX : (int64_t)end;
}

/* Returns the sample variance (n squares - sum^2) / (n (n - 1)), rounded once to the nearest double. The numerator is exact, in
 * 256 bits; the quotient has 64.
 * Requires  the aggregate of an IFOREST_INT64 column, n >= 2; squares: the words of its IFOREST_KIND_SQUARES accumulator. */
double iforest_sample_variance(const struct iforest_value_aggregate *aggregate, const uint64_t *squares);

#endif
