/* tests/support/forest_oracle.h -- Oracle of the forests in memory: a kind that is associative and no more, folded leaf by
 * leaf.
 *
 * A leaf is a function x -> a x + b modulo 2^64, and a fold the functions one after another: a leaf left out, folded twice
 * or in another place shows. It also carries a weight, which is added up.
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

/* Leaves of weight 0 to 3. */
void affine_random(struct affine *leaves, uint64_t n, struct random *dice);

/* Leaves [from, to), one by one. */
struct affine affine_fold(const struct affine *leaves, uint64_t from, uint64_t to);
struct affine affine_compose(struct affine first, struct affine then);
bool affine_equal(struct affine f, struct affine g);

/* Predicate: the weight is at least that. */
struct iforest_predicate affine_weighs(const uint64_t *least);

/* Are all complete nodes of the two forests the same bytes, and those of these leaves? */
bool slots_equal(const struct iforest_forest *a, const struct iforest_forest *b);
bool slots_are_of(const struct iforest_forest *forest, const struct affine *leaves);

/* Times that do not descend, from `first` on: many equal, some far from the next. */
void times_random(int64_t *times, uint64_t n, int64_t first, struct random *dice);

/* Position of the first of n times that is not less than the bound, by looking at all of them. */
uint64_t times_before(const int64_t *times, uint64_t n, int64_t bound);

#endif
