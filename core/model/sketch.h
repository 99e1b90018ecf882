/* model/sketch.h -- Quantile sketch: a mergeable, subtractable histogram of numbers with a fixed relative error.
 *
 * A sketch counts numbers in fixed buckets: one for zero, one for each infinity, one for NaN, and 64 of equal width for every
 * power of two and sign. The bucket of a number depends on the number alone, and buckets are never split or joined. So the
 * sketch does not depend on the order in which numbers are added and sketches merged; equal multisets are equal bytes, and
 * numbers that were added can be removed.
 *
 *   error   a quantile is off by at most 1/128 of the true one (IFOREST_SKETCH_ERROR): the middle of a bucket [x, x + x/64) is
 *           off by at most half its width. Exact are zero, infinities, NaN, and, where all numbers are integers, those between
 *           -128 and 128
 *   order   -infinity, negative numbers, 0 (as -0), positive numbers, infinity, NaN
 *
 * After DDSketch (Masson, Rim, Lee: DDSketch: a fast and fully-mergeable quantile sketch with relative-error guarantees,
 * VLDB 2019), but with the log-linear buckets of HdrHistogram (Gil Tene), which need no logarithm, and without collapsing of
 * low buckets.
 *
 * Bytes: FORMAT.md, "Sketches".
 */
#ifndef IFOREST_MODEL_SKETCH_H
#define IFOREST_MODEL_SKETCH_H

#include "core/base/alloc.h"
#include "core/base/status.h"
#include "core/model/aggregate.h"

#define IFOREST_SKETCH_BITS 6u
#define IFOREST_SKETCH_ERROR (1.0 / (2u << IFOREST_SKETCH_BITS))

struct iforest_sketch_chunk;

/* A sketch being filled, of at most 2^63 - 1 numbers. */
struct iforest_sketch {
	const struct iforest_alloc *alloc;
	struct iforest_sketch_chunk **chunks; /* ascending, of 64 counters each */
	uint32_t n_chunks;
	size_t n_reserved;
	struct iforest_sketch_chunk *recent[32]; /* cache: the last used chunk for each chunk number modulo 32, or NULL */
	uint64_t n, n_reals;
};

/* Starts an empty sketch. alloc must outlive it. */
void iforest_sketch_init(struct iforest_sketch *sketch, const struct iforest_alloc *alloc);
void iforest_sketch_release(struct iforest_sketch *sketch);

/* Adds a number.
 * Cost    O(log(powers of two seen)).
 * Errors  IFOREST_NO_MEMORY; IFOREST_RANGE: there are 2^63 - 1 numbers already. The sketch is then unchanged. */
enum iforest_status iforest_sketch_add(struct iforest_sketch *sketch, union iforest_number number,
				       enum iforest_value_type type);

/* Removes a number.
 * Requires  it was added.
 * Errors    IFOREST_NOT_FOUND: its bucket or the count of its type is empty. The sketch is then unchanged. */
enum iforest_status iforest_sketch_remove(struct iforest_sketch *sketch, union iforest_number number,
					  enum iforest_value_type type);

/* sketch = sketch + bytes, sketch = sketch - bytes: of a stored sketch. After an error the sketch can only be released.
 * Errors  IFOREST_CORRUPT, IFOREST_FORMAT: the bytes are not a sketch; IFOREST_NO_MEMORY, IFOREST_RANGE; IFOREST_NOT_FOUND: the
 *         bytes have numbers that the sketch does not have. */
enum iforest_status iforest_sketch_merge(struct iforest_sketch *sketch, const uint8_t *bytes, size_t n_bytes);
enum iforest_status iforest_sketch_subtract(struct iforest_sketch *sketch, const uint8_t *bytes, size_t n_bytes);

/* Serializes the sketch. The caller frees the bytes with iforest_release(). Cost: O(powers of two seen). Errors:
 * IFOREST_NO_MEMORY. */
enum iforest_status iforest_sketch_write(const struct iforest_sketch *sketch, uint8_t **bytes, size_t *n_bytes);

/* ---- Stored sketches, read in place ---- */

struct iforest_sketch_view {
	const uint8_t *bytes, *end; /* of the buckets */
	uint64_t n, n_reals;
	uint32_t first, last; /* lowest and highest bucket, if n > 0 */
};

/* Opens untrusted bytes, which must outlive the view. Validates them completely: only bytes that iforest_sketch_write() could
 * have written pass.
 * Errors  IFOREST_CORRUPT, IFOREST_FORMAT. */
enum iforest_status iforest_sketch_open(struct iforest_sketch_view *view, const uint8_t *bytes, size_t n_bytes);

/* A number of either type. */
struct iforest_sketch_number {
	enum iforest_value_type kind;
	union iforest_number value;
};

/* Smallest and greatest number that were added to a sketch, if the caller knows them. */
struct iforest_sketch_extremes {
	struct iforest_sketch_number min, max;
};

/* Computes the q-quantile as SQL's percentile_disc() does: the number at position ceil(q n) of n numbers in order, at position
 * 1 where that is 0. The answer is an integer if all numbers were integers, else a real. With extremes (NULL: not known) it
 * lies between them, and positions 1 and n are exact: the extreme as given, with its type.
 * Requires  n > 0; 0 <= q <= 1.
 * Errors    IFOREST_ARGUMENT: the extremes are not those of the sketch. */
enum iforest_status iforest_sketch_quantile(const struct iforest_sketch_view *view, double q,
					    const struct iforest_sketch_extremes *extremes,
					    struct iforest_sketch_number *answer);

/* Computes the number at a position in order, as iforest_sketch_quantile() does.
 * Requires  1 <= place <= n.
 * Errors    as iforest_sketch_quantile(). */
enum iforest_status iforest_sketch_number_at(const struct iforest_sketch_view *view, uint64_t place,
					     const struct iforest_sketch_extremes *extremes,
					     struct iforest_sketch_number *answer);

/* ---- Counts below a bound ----
 *
 * A number counts as the middle of its bucket, as it does for quantiles, in double precision. So the count at or below v > 0
 * lies between the true counts at or below v * 128/129 and v * 128/127. If v is the start of a bucket (a number of at most 7
 * significant bits), the count of positive numbers below it is exact. */

/* Returns how many numbers are at or below v; NaN is above all others.
 * Cost  O(buckets). */
uint64_t iforest_sketch_count_through(const struct iforest_sketch_view *view, double v);

/* True if the bounds ascend strictly, and none is NaN. */
bool iforest_sketch_are_bounds(const double *bounds, size_t n_bounds);

/* Counts the numbers in each of n_bounds + 1 bins: below bounds[0], in [bounds[0], bounds[1]), ..., from the last bound on.
 * Requires  iforest_sketch_are_bounds(); counts has room for n_bounds + 1.
 * Cost      O(buckets + bounds). */
void iforest_sketch_histogram(const struct iforest_sketch_view *view, const double *bounds, size_t n_bounds, uint64_t *counts);

/* A bucket that is not empty: [lower, upper) if positive, (lower, upper] if negative. Zero, the infinities and NaN have buckets
 * of their own, in which lower and upper are the same. */
struct iforest_sketch_bin {
	double lower, upper;
	uint64_t n;
};

/* A position among the buckets; all zero at first. */
struct iforest_sketch_place {
	size_t offset;
	uint32_t next;
};

/* Reads the next bucket, in ascending order. Returns false after the last. */
bool iforest_sketch_next_bin(const struct iforest_sketch_view *view, struct iforest_sketch_place *place,
			     struct iforest_sketch_bin *bin);

#endif
