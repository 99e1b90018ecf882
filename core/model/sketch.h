/* model/sketch.h -- Quantile sketch: a mergeable, subtractable histogram of numbers with a fixed relative error.
 *
 * A sketch counts numbers in fixed buckets: one for zero, one for each infinity, one for NaN, and for every power of two and
 * sign 64 of equal width. The bucket of a number depends on the number alone, none is ever split or joined, so a sketch is
 * the same whatever the order in which numbers came and sketches were merged; equal multisets are equal bytes, and what was
 * added can be taken out.
 *
 *   error   a quantile is off by at most 1/128 of the true one (IFOREST_SKETCH_ERROR), for every finite number: the middle of a
 *           bucket [x, x + x/64) is off by half its width. Zero, infinities and NaN are exact, and, where all numbers are
 *           integers, those between -128 and 128
 *   order   -infinity, negative numbers, 0 (as -0), positive numbers, infinity, NaN
 *
 * After DDSketch (Masson, Rim, Lee: DDSketch: a fast and fully-mergeable quantile sketch with relative-error guarantees,
 * VLDB 2019), with the log-linear buckets of HdrHistogram (Gil Tene), which are found by bits alone, and without its
 * collapsing of low buckets.
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

/* A sketch being filled. At most 2^63 - 1 numbers. */
struct iforest_sketch {
	const struct iforest_alloc *alloc;
	struct iforest_sketch_chunk **chunks; /* ascending: 64 counters each */
	uint32_t n_chunks;
	size_t n_reserved;
	struct iforest_sketch_chunk *recent[32]; /* chunk number modulo 32: the one used last of those, or NULL */
	uint64_t n, n_reals;
};

/* Starts an empty sketch. alloc must outlive it. */
void iforest_sketch_init(struct iforest_sketch *sketch, const struct iforest_alloc *alloc);
void iforest_sketch_release(struct iforest_sketch *sketch);

/* Adds a number. Cost: log2 of the powers of two seen.
 * Errors  IFOREST_NO_MEMORY; IFOREST_RANGE: there are 2^63 - 1 numbers already. The sketch is then as it was. */
enum iforest_status iforest_sketch_add(struct iforest_sketch *sketch, union iforest_number number,
				       enum iforest_value_type type);

/* Removes a number.
 * Requires  it was added. IFOREST_NOT_FOUND, and no change, where its bucket or the count of its type is empty. */
enum iforest_status iforest_sketch_remove(struct iforest_sketch *sketch, union iforest_number number,
					  enum iforest_value_type type);

/* sketch = sketch + bytes, sketch - bytes. After an error the sketch can only be released.
 * Errors  IFOREST_CORRUPT, IFOREST_FORMAT: the bytes are no sketch; IFOREST_NO_MEMORY, IFOREST_RANGE; IFOREST_NOT_FOUND: the
 *         bytes have numbers that the sketch does not. */
enum iforest_status iforest_sketch_merge(struct iforest_sketch *sketch, const uint8_t *bytes, size_t n_bytes);
enum iforest_status iforest_sketch_subtract(struct iforest_sketch *sketch, const uint8_t *bytes, size_t n_bytes);

/* Writes it as bytes, to be given back with iforest_release(). Cost: O(powers of two seen). Errors: IFOREST_NO_MEMORY. */
enum iforest_status iforest_sketch_write(const struct iforest_sketch *sketch, uint8_t **bytes, size_t *n_bytes);

/* ---- Stored sketches, read in place ---- */

struct iforest_sketch_view {
	const uint8_t *bytes, *end; /* of the buckets */
	uint64_t n, n_reals;
	uint32_t first, last; /* lowest and highest bucket, if n > 0 */
};

/* Checks foreign bytes completely: only what iforest_sketch_write() would write of some multiset passes.
 * Errors  IFOREST_CORRUPT, IFOREST_FORMAT. */
enum iforest_status iforest_sketch_open(struct iforest_sketch_view *view, const uint8_t *bytes, size_t n_bytes);

/* A number of either type. */
struct iforest_sketch_number {
	enum iforest_value_type kind;
	union iforest_number value;
};

/* Smallest and greatest number of a sketch, if known from elsewhere. */
struct iforest_sketch_extremes {
	struct iforest_sketch_number min, max;
};

/* Computes the quantile of q: of n numbers in order the one at place ceil(q n), the first where that is 0, as SQL's
 * percentile_disc() does. It is an integer if all numbers were integers, else a real. With the extremes given (NULL: not known)
 * the answer lies between them, and the first and the last place are exact: the extreme as given, of whichever type.
 * Requires  n > 0; 0 <= q <= 1.
 * Errors    IFOREST_ARGUMENT: the extremes are not those of the sketch. */
enum iforest_status iforest_sketch_quantile(const struct iforest_sketch_view *view, double q,
					    const struct iforest_sketch_extremes *extremes,
					    struct iforest_sketch_number *answer);

/* Computes the number at a place in order, as iforest_sketch_quantile() does.
 * Requires  1 <= place <= n. Errors as there. */
enum iforest_status iforest_sketch_number_at(const struct iforest_sketch_view *view, uint64_t place,
					     const struct iforest_sketch_extremes *extremes,
					     struct iforest_sketch_number *answer);

/* ---- Counts below a bound ----
 *
 * A number counts as what the quantiles give for it, the middle of its bucket, as double precision. So a count at or below v > 0
 * lies between the true ones at or below v * 128/129 and v * 128/127. Where v is the start of a bucket (a number of at most 7
 * significant bits) the count of positive numbers below it is exact. */

/* Returns how many numbers are at or below v; NaN is above all others. Cost: O(buckets). */
uint64_t iforest_sketch_count_through(const struct iforest_sketch_view *view, double v);

/* True if the bounds ascend, without equals and NaN. */
bool iforest_sketch_are_bounds(const double *bounds, size_t n_bounds);

/* Counts the numbers in each of the n_bounds + 1 bins that the bounds part: below bounds[0], from bounds[0] and below bounds[1],
 * ..., from the last bound on.
 * Requires  iforest_sketch_are_bounds(); counts has room for n_bounds + 1. Cost: O(buckets + bounds). */
void iforest_sketch_histogram(const struct iforest_sketch_view *view, const double *bounds, size_t n_bounds, uint64_t *counts);

/* A bucket that has numbers: those from lower to upper; of a positive bucket without upper, of a negative one without lower. Zero,
 * infinities and NaN have buckets of their own, with lower and upper the same. */
struct iforest_sketch_bin {
	double lower, upper;
	uint64_t n;
};

/* A position among the buckets, zeroed at first. */
struct iforest_sketch_place {
	size_t offset;
	uint32_t next;
};

/* Reads the next bucket, in ascending order. Returns false after the last. */
bool iforest_sketch_next_bin(const struct iforest_sketch_view *view, struct iforest_sketch_place *place,
			     struct iforest_sketch_bin *bin);

#endif
