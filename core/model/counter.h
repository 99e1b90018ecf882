/* model/counter.h -- Time-weighted mean and increase of a sampled counter, bucket by bucket.
 *
 *   for (each bucket, ascending) {
 *           iforest_counter_open(&counter, start);
 *           for (each sample in it, by time) iforest_counter_add(&counter, kind, time, value, until);
 *           iforest_counter_close(&counter, kind, end);
 *   }
 *
 * The increase of a bucket is the sum of the increases from sample to sample, beginning with the last one before the bucket, so
 * that the increases of adjacent buckets add up. A sample less than its predecessor is a reset: the counter restarted at 0, and
 * the increase is the sample.
 *
 * A piece summarises adjacent samples for any bucket that contains all of them. Two adjacent pieces can be joined, by adding
 * the stretch between the last sample of the first and the first sample of the second.
 */
#ifndef IFOREST_MODEL_COUNTER_H
#define IFOREST_MODEL_COUNTER_H

#include "core/model/aggregate.h"

struct iforest_counter {
	bool has_real_times;	    /* set by the caller: times are reals, mapped (model/real_time.h) */
	bool is_known;		    /* there was a sample, and the next three are set */
	union iforest_number value; /* of the last sample */
	int64_t until;		    /* the value holds no longer than this; INT64_MAX: until the next sample */
	int64_t since;		    /* the bucket is accounted for up to this time */

	/* of the current bucket: */
	bool has_start; /* a sample came before the bucket, with value `start` */
	union iforest_number start;
	uint64_t n, n_resets; /* samples; samples less than the one before */
	uint64_t known;	      /* width of the part in which the counter has a value */
	double real_known;    /* the same for real times; `known` is then 0 */
	/* of IFOREST_INT64 values, exact up to 2^63 samples: the integral of the value over time, and the increase */
	iforest_int128 integral, increase;
	double real_integral, real_increase; /* of IFOREST_FLOAT64 values; real_integral also of any over real times */
};

/* Before the first sample a counter is all zero except has_real_times. To carry a value in, set is_known, value and until.
 * Requires  start <= the times of the samples < end, each at or after the one before. */
void iforest_counter_open(struct iforest_counter *counter, int64_t start);
void iforest_counter_add(struct iforest_counter *counter, enum iforest_value_type type, int64_t time,
			 union iforest_number value, int64_t until);
void iforest_counter_close(struct iforest_counter *counter, enum iforest_value_type type, int64_t end);

/* Summary of adjacent samples. All zero except has_real_times: no samples. */
struct iforest_counter_piece {
	int64_t first_time;
	union iforest_number first; /* value of the first sample */
	/* a bucket that begins at the first sample and ends at the last; `since` is the time of the last */
	struct iforest_counter samples;
};

/* Adds a sample. Requires: it is at or after the last one. */
void iforest_counter_piece_add(struct iforest_counter_piece *piece, enum iforest_value_type type, int64_t time,
			       union iforest_number value, int64_t until);

/* Add a piece to a counter or to a piece. A piece without samples adds nothing. For integers the result is the same as from
 * adding the samples one by one; reals are summed in another order.
 * Requires  the samples of the added piece are at or after the last one. */
void iforest_counter_add_piece(struct iforest_counter *counter, enum iforest_value_type type,
			       const struct iforest_counter_piece *piece);
void iforest_counter_piece_join(struct iforest_counter_piece *into, enum iforest_value_type type,
				const struct iforest_counter_piece *from);

/* True if the counter has a value in a part of the bucket that is not empty. */
static inline bool iforest_counter_has_mean(const struct iforest_counter *counter)
{
	return counter->known > 0 || counter->real_known > 0;
}

/* Return the mean over the time in which the counter has a value, and the increase as a double. The mean of integers is the
 * exact integral divided by the width, each rounded to double; over real times both are sums of doubles.
 * Requires  iforest_counter_has_mean(), for the mean. */
double iforest_counter_mean(const struct iforest_counter *counter, enum iforest_value_type type);
double iforest_counter_increase(const struct iforest_counter *counter, enum iforest_value_type type);

#endif
