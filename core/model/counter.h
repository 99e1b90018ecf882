/* model/counter.h -- Time-weighted mean and increase of a sampled counter, bucket by bucket.
 *
 *   for (each bucket, ascending) {
 *           iforest_counter_open(&counter, start);
 *           for (each sample in it, by time) iforest_counter_add(&counter, kind, time, value, until);
 *           iforest_counter_close(&counter, kind, end);
 *   }
 *
 * The increase is that from each sample to the next, the one before the bucket included, so that those of adjacent buckets add
 * up. A sample less than the one before it is a reset: the counter began again at 0, and the increase is the sample.
 *
 * A piece is what adjacent samples, of any number, add to any bucket that has all of them. Pieces add up: what lies between the
 * last sample of one and the first of the next is all that is to be added to both.
 */
#ifndef IFOREST_MODEL_COUNTER_H
#define IFOREST_MODEL_COUNTER_H

#include "core/model/aggregate.h"

struct iforest_counter {
	bool is_known;		    /* there was a sample: */
	union iforest_number value; /* the last one */
	int64_t until;		    /* it holds no longer than to this time; INT64_MAX: till the next one */
	int64_t since;		    /* up to this time the bucket is accounted for */

	/* of the bucket */
	bool has_start; /* a sample came before it: */
	union iforest_number start;
	uint64_t n, n_resets; /* samples; those less than the one before */
	uint64_t known;	      /* width of the part in which the counter has a value */
	/* IFOREST_INT64: exact (2^63 samples of any value). The integral of the value over time */
	iforest_int128 integral, increase;
	double real_integral, real_increase; /* IFOREST_FLOAT64 */
};

/* The counter before any sample is all zero; one carried in has is_known, value and until.
 * Requires  start <= the times of the samples < end, each at or after the one before. */
void iforest_counter_open(struct iforest_counter *counter, int64_t start);
void iforest_counter_add(struct iforest_counter *counter, enum iforest_value_type kind, int64_t time,
			 union iforest_number value, int64_t until);
void iforest_counter_close(struct iforest_counter *counter, enum iforest_value_type kind, int64_t end);

/* Samples that follow each other. All zero: none. */
struct iforest_counter_piece {
	int64_t first_time;
	union iforest_number first; /* value of the first sample */
	/* of a bucket that begins at the first sample and ends at the last; since: the last one's time */
	struct iforest_counter samples;
};

/* Adds a sample at or after the last one. */
void iforest_counter_piece_add(struct iforest_counter_piece *piece, enum iforest_value_type kind, int64_t time,
			       union iforest_number value, int64_t until);

/* counter + piece, into + from, whose samples are all at or after the last one. From a piece without samples nothing is added.
 * Of integers the same as the samples one by one; sums of reals are added in another order. */
void iforest_counter_add_piece(struct iforest_counter *counter, enum iforest_value_type kind,
			       const struct iforest_counter_piece *piece);
void iforest_counter_piece_join(struct iforest_counter_piece *into, enum iforest_value_type kind,
				const struct iforest_counter_piece *from);

/* Requires  known > 0. The mean over the time in which it has a value: of integers the exact integral and the width, each
 *           rounded to double, divided.
 * The increase as a double. */
double iforest_counter_mean(const struct iforest_counter *counter, enum iforest_value_type kind);
double iforest_counter_increase(const struct iforest_counter *counter, enum iforest_value_type kind);

#endif
