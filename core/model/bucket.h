/* model/bucket.h -- Time windows and their division into adjacent buckets.
 *
 * A window is [t0, t1); either end may be open. It is one bucket, or n buckets of equal width, or buckets of a step:
 *
 *   n buckets    bucket i is [t0 + floor(i W / n), t0 + floor((i+1) W / n)) with W = t1 - t0, in 128 bits: no overflow
 *                over the whole int64 range, and each time of the window lies in exactly one bucket. Where n > W some
 *                buckets are empty intervals.
 *   step s       bucket i is [origin + i s, origin + (i+1) s), i = floor((time - origin) / s), right for negative times.
 *                The window cuts the rows of the first and last bucket, not their bounds.
 *
 * The bounds of n buckets may be rounded up instead (IFOREST_EDGES_UP), so that they are the same in a finer unit: a time t
 * lies in bucket floor((t - t0) n / W). Times may also be reals (IFOREST_EDGES_OF_REALS), mapped to int64 as in real_time.h;
 * then t0, t1, step and origin are mapped, too.
 *
 * All functions are pure.
 */
#ifndef IFOREST_MODEL_BUCKET_H
#define IFOREST_MODEL_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"

struct iforest_window {
	bool has_t0, has_t1;
	int64_t t0, t1; /* valid if has_... is set */
};

enum iforest_bucketing_mode { IFOREST_WHOLE, IFOREST_COUNT, IFOREST_STEP };

enum iforest_bucket_edges { IFOREST_EDGES_DOWN, IFOREST_EDGES_UP, IFOREST_EDGES_OF_REALS };

struct iforest_bucketing {
	enum iforest_bucketing_mode mode;
	enum iforest_bucket_edges edges;
	struct iforest_window window;
	int64_t n;	/* IFOREST_COUNT: > 0 */
	int64_t step;	/* IFOREST_STEP: > 0 */
	int64_t origin; /* IFOREST_STEP */
};

/* True if the window contains the time. */
bool iforest_window_holds(const struct iforest_window *window, int64_t time);

/* True if no time can lie in the window. */
bool iforest_window_is_empty(const struct iforest_window *window);

/* Checks a bucketing.
 * Errors  IFOREST_ARGUMENT unless n > 0 (IFOREST_COUNT, both bounds given) and step > 0 (IFOREST_STEP). */
enum iforest_status iforest_bucketing_check(const struct iforest_bucketing *bucketing);

/* True if there are n buckets, and none is an empty interval. False with reals, where this is not known. */
bool iforest_bucketing_is_dense(const struct iforest_bucketing *bucketing);

/* Gives the number of the bucket of a time inside the window.
 * Errors  IFOREST_RANGE: the number of a step bucket does not fit int64. */
enum iforest_status iforest_bucket_of(const struct iforest_bucketing *bucketing, int64_t time, int64_t *bucket);

/* Return the start and the end of a bucket. They saturate at the ends of int64; *after_all is set if the true end lies beyond
 * INT64_MAX, so that "time < end" holds for every time. For IFOREST_WHOLE they are the window's bounds; an open start is
 * INT64_MIN. */
int64_t iforest_bucket_start(const struct iforest_bucketing *bucketing, int64_t bucket);
int64_t iforest_bucket_end(const struct iforest_bucketing *bucketing, int64_t bucket, bool *after_all);

#endif
