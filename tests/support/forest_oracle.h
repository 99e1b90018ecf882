/* tests/support/forest_oracle.h -- Oracle of the forests in memory: a kind that is associative but not commutative, folded leaf
 * by leaf.
 *
 * A leaf is a function x -> a x + b modulo 2^64, and a fold composes the functions. So a leaf that is left out, folded twice or
 * in the wrong place changes the result. A leaf also has a weight, and weights are added up.
 */
#ifndef TESTS_FOREST_ORACLE_H
#define TESTS_FOREST_ORACLE_H

#include "core/forest/forest.h"
#include "tests/support/random.h"

struct affine {
	uint64_t a, b, weight;
};

extern const struct iforest_monoid affine_kind; /* lifts a struct affine */
extern const struct affine affine_nothing;

/* Makes random leaves of weight 0 to 3. */
void affine_random(struct affine *leaves, uint64_t n, struct random *dice);

/* Folds leaves [from, to), one by one. */
struct affine affine_fold(const struct affine *leaves, uint64_t from, uint64_t to);
struct affine affine_compose(struct affine first, struct affine then);
bool affine_equal(struct affine f, struct affine g);

/* Returns the predicate that the weight is at least that. */
struct iforest_predicate affine_weighs(const uint64_t *least);

/* True if all complete nodes of the two forests have the same bytes, or those that these leaves give. */
bool slots_equal(const struct iforest_forest *a, const struct iforest_forest *b);
bool slots_are_of(const struct iforest_forest *forest, const struct affine *leaves);

/* Makes times that never decrease, from `first` on: many equal, some far from the next. */
void times_random(int64_t *times, uint64_t n, int64_t first, struct random *dice);

/* Returns the position of the first of n times that is not less than the bound, by looking at all of them. */
uint64_t times_before(const int64_t *times, uint64_t n, int64_t bound);

#endif
