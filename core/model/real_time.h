/* model/real_time.h -- Reals as times: a map to int64 that keeps their order, and the bounds of buckets of reals, exactly.
 *
 * Two reals are as far from each other on the map as there are doubles between them: their order can be compared, but no
 * distance computed. So the bounds of buckets are computed among the reals, without rounding, and then mapped:
 *
 *   n buckets    bucket i is [t0 + i (t1 - t0) / n, t0 + (i + 1) (t1 - t0) / n)
 *   step s       bucket i is [origin + i s, origin + (i + 1) s)
 *
 * A bound that is no double is stood for by the first one above it, which divides the doubles as the bound does.
 *
 * All functions are pure; reals passed to them are finite.
 */
#ifndef IFOREST_MODEL_REAL_TIME_H
#define IFOREST_MODEL_REAL_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/bits.h"
#include "core/base/status.h"

/* What infinity is mapped to: the time after all finite ones. */
#define IFOREST_TIME_OF_INFINITY INT64_C(0x7ff0000000000000)

#define IFOREST_GREATEST_REAL 0x1.fffffffffffffp1023

/* Returns the time of a real, which may be infinite; -0.0 is 0.0. */
int64_t iforest_time_of_real(double real);

/* The inverse. A time beyond those of all reals is an infinity. */
double iforest_real_of_time(int64_t time);

/* Returns the time of the first double that is not less than an integer. */
int64_t iforest_time_not_before(int64_t integer);

/* A product; numbers of terms are added exactly. |factor| <= 2^64. */
struct iforest_real_term {
	iforest_int128 factor;
	double real;
};

/* Returns the sign of the sum of 1 to 3 terms: -1, 0 or 1.
 * Cost  some nanoseconds where the exponents are close; else proportional to the distance between them. */
int iforest_real_sum_sign(const struct iforest_real_term *terms, unsigned n);

/* Return the time of the first double in bucket i or after it; IFOREST_TIME_OF_INFINITY if there is none.
 * Requires  n > 0, 0 <= i <= n + 1; step > 0; |i| <= 2^63 */
int64_t iforest_real_start_of_n(double t0, double t1, int64_t n, iforest_int128 i);
int64_t iforest_real_start_of_step(double origin, double step, iforest_int128 i);

/* Returns the number of the bucket in which a real lies.
 * Requires  t0 <= real < t1 */
int64_t iforest_real_bucket_of_n(double t0, double t1, int64_t n, double real);

/* Gives it for a step > 0. IFOREST_RANGE where it does not fit int64. */
enum iforest_status iforest_real_bucket_of_step(double origin, double step, double real, int64_t *bucket);

#endif
