/* model/monoid.h -- Aggregate kinds of the in-memory forest: monoids over a caller-chosen state.
 *
 * A kind is an identity, a lift function (which turns one sample into a state) and a combine function, which need only be
 * associative: the forest keeps order, so "first", "last" and string concatenation are kinds just as sums are. Callers may
 * define their own. Sums of reals are associative only up to rounding, so a seek (forest.h) for a sum may find a leaf next to
 * the one that summing from left to right would find.
 *
 * States are copied as bytes, and aligned to 8 at most. The built-in kinds are built from aggregate.h, so that `max` means the
 * same in memory and on pages.
 */
#ifndef IFOREST_MODEL_MONOID_H
#define IFOREST_MODEL_MONOID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/model/aggregate.h"

/* A sample, as the built-in kinds lift it. */
struct iforest_sample {
	union iforest_number value;
	bool has_value;
	int64_t time;
	int64_t ref;
};

struct iforest_monoid {
	const char *name;
	size_t state_bytes;
	void (*identity)(void *state);
	void (*lift)(void *state, const void *sample);			   /* writes a whole state */
	void (*combine)(void *state, const void *left, const void *right); /* state may be left, not right */

	/* Optional. True if the state would not change whichever of the samples under `whole` were added to it, from the left
	 * or from the right; false if that is not certain. It lets a fold skip the entries at its ends, which rarely matter to
	 * a maximum. Requires state_bytes <= IFOREST_ABSORBING_BYTES. */
	bool (*absorbs)(const void *state, const void *whole, bool from_left);
};

#define IFOREST_ABSORBING_BYTES 64

static inline bool iforest_monoid_fits(const struct iforest_monoid *kind)
{
	return !kind->absorbs || kind->state_bytes <= IFOREST_ABSORBING_BYTES;
}

/* States of sums: parts of struct iforest_value_aggregate. */
struct iforest_sum_int64 {
	iforest_int128 sum;
	uint64_t n;
};

struct iforest_sum_float64 {
	double sum; /* of the finite values */
	uint64_t n, n_nan, n_plus_infinity, n_minus_infinity;
};

/* Convert the state of a sum to an aggregate, for iforest_mean() and iforest_real_sum(). */
struct iforest_value_aggregate iforest_sum_int64_aggregate(const struct iforest_sum_int64 *state);
struct iforest_value_aggregate iforest_sum_float64_aggregate(const struct iforest_sum_float64 *state);

/* The built-in kinds. Their states are uint64_t (count), the sums above, and struct iforest_extreme (all others). */
extern const struct iforest_monoid iforest_monoid_count; /* samples that have a value */
extern const struct iforest_monoid iforest_monoid_sum_int64;
extern const struct iforest_monoid iforest_monoid_sum_float64;
extern const struct iforest_monoid iforest_monoid_min_int64;
extern const struct iforest_monoid iforest_monoid_max_int64;
extern const struct iforest_monoid iforest_monoid_min_float64;
extern const struct iforest_monoid iforest_monoid_max_float64;
extern const struct iforest_monoid iforest_monoid_first;
extern const struct iforest_monoid iforest_monoid_last;

#endif
