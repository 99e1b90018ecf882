/* model/counter.h -- Time-weighted mean and increase of a sampled counter, bucket by bucket.
 *
 *   for (each bucket, ascending) {
 *           iforest_counter_open(&counter, start);
 *           for (each sample in it, by time) iforest_counter_add(&counter, kind, time, value, until);
 *           iforest_counter_close(&counter, kind, end);
 *   }
 *
 * The increase is the sum of increases from each sample to the next, the one before the bucket included, so that those of
 * adjacent buckets add up. A sample less than the one before it is a reset: the counter began again at 0, and the increase is
 * the sample.
 *
 * A piece summarises adjacent samples for any bucket that has all of them. Two pieces add up to one: only the stretch between
 * the last sample of the first and the first of the second is added to both.
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

	/* of the present bucket: */
	bool has_start; /* a sample came before the bucket, with value `start` */
	union iforest_number start;
	uint64_t n, n_resets; /* samples; samples less than the one before */
	uint64_t known;	      /* width of the part in which the counter has a value */
	double real_known;    /* the same of real times: known is 0 then */
	/* IFOREST_INT64: exact (2^63 samples of any value). The integral of the value over time */
	iforest_int128 integral, increase;
	double real_integral, real_increase; /* IFOREST_FLOAT64; the integral over real times is real_integral, too */
};

/* A counter before any sample is all zero but for has_real_times; to carry a value in, set is_known, value and until.
 * Requires  start <= the times of the samples < end, each at or after the one before. */
void iforest_counter_open(struct iforest_counter *counter, int64_t start);
void iforest_counter_add(struct iforest_counter *counter, enum iforest_value_type type, int64_t time,
			 union iforest_number value, int64_t until);
void iforest_counter_close(struct iforest_counter *counter, enum iforest_value_type type, int64_t end);

/* Summary of adjacent samples. All zero but for has_real_times: none. */
struct iforest_counter_piece {
	int64_t first_time;
	union iforest_number first; /* value of the first sample */
	/* of a bucket that begins at the first sample and ends at the last; since: the last one's time */
	struct iforest_counter samples;
};

/* Adds a sample at or after the last one. */
void iforest_counter_piece_add(struct iforest_counter_piece *piece, enum iforest_value_type type, int64_t time,
			       union iforest_number value, int64_t until);

/* Add a piece to a counter or a piece; its samples are at or after the last one. A piece without samples adds nothing. For
 * integers the result is that of the samples one by one; sums of reals are added in another order. */
void iforest_counter_add_piece(struct iforest_counter *counter, enum iforest_value_type type,
			       const struct iforest_counter_piece *piece);
void iforest_counter_piece_join(struct iforest_counter_piece *into, enum iforest_value_type type,
				const struct iforest_counter_piece *from);

/* True if there is a time in which the counter has a value. */
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
