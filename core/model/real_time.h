/* model/real_time.h -- Reals as times: an order-preserving map to int64, and exact bounds of buckets of reals.
 *
 * The difference of two mapped reals is the number of doubles between them: mapped reals can be compared, but not subtracted.
 * So the bounds of buckets are computed from the reals, without rounding, and then mapped:
 *
 *   n buckets    bucket i is [t0 + i (t1 - t0) / n, t0 + (i + 1) (t1 - t0) / n)
 *   step s       bucket i is [origin + i s, origin + (i + 1) s)
 *
 * A bound that is not a double is represented by the next greater double, which divides the doubles in the same way.
 *
 * All functions are pure, and require finite reals unless stated otherwise.
 */
#ifndef IFOREST_MODEL_REAL_TIME_H
#define IFOREST_MODEL_REAL_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/bits.h"
#include "core/base/status.h"

/* The time to which infinity is mapped, after all finite ones. */
#define IFOREST_TIME_OF_INFINITY INT64_C(0x7ff0000000000000)

#define IFOREST_GREATEST_REAL 0x1.fffffffffffffp1023

/* Returns the time of a real, which may be infinite; -0.0 is 0.0. */
int64_t iforest_time_of_real(double real);

/* The inverse. A time beyond the finite ones gives an infinity. */
double iforest_real_of_time(int64_t time);

/* Returns the time of the first double that is not less than an integer. */
int64_t iforest_time_not_before(int64_t integer);

/* A product factor * real, |factor| <= 2^64. */
struct iforest_real_term {
	iforest_int128 factor;
	double real;
};

/* Returns the sign of the exact sum of 1 to 3 terms: -1, 0 or 1.
 * Cost  O(1) where the exponents are close; else proportional to their distance. */
int iforest_real_sum_sign(const struct iforest_real_term *terms, unsigned n);

/* Return the time of the first double in bucket i or after it; IFOREST_TIME_OF_INFINITY if there is none.
 * Requires  n > 0, 0 <= i <= n + 1; step > 0, |i| <= 2^63. */
int64_t iforest_real_start_of_n(double t0, double t1, int64_t n, iforest_int128 i);
int64_t iforest_real_start_of_step(double origin, double step, iforest_int128 i);

/* Returns the number of the bucket of a real.
 * Requires  t0 <= real < t1. */
int64_t iforest_real_bucket_of_n(double t0, double t1, int64_t n, double real);

/* The same for buckets of a step > 0. Errors: IFOREST_RANGE, the number does not fit int64. */
enum iforest_status iforest_real_bucket_of_step(double origin, double step, double real, int64_t *bucket);

#endif
