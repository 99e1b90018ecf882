#include "core/forest/forest.h"

#include "tests/support/alloc_fault.h"
#include "tests/support/forest_oracle.h"
#include "tests/support/harness.h"

enum { N_SMALL = 70, N_LARGE = 3000 };

/* An answer of a seek: the position, and the folds without it and with it. */
struct found {
	bool is_there;
	uint64_t i;
	struct affine without, with;
};

/* From the definition: position by position, away from where the seek begins. */
static struct found first_by_hand(const struct affine *leaves, uint64_t n, uint64_t from, uint64_t least)
{
	struct found found = { .without = affine_nothing };

	for (uint64_t i = from; i < n && !found.is_there; i++) {
		found.with = affine_compose(found.without, leaves[i]);
		found.i = i;
		found.is_there = found.with.weight >= least;
		if (!found.is_there)
			found.without = found.with;
	}
	return found;
}

static struct found last_by_hand(const struct affine *leaves, uint64_t to, uint64_t least)
{
	struct found found = { .without = affine_nothing };

	for (uint64_t i = to; i > 0 && !found.is_there; i--) {
		found.with = affine_compose(leaves[i - 1], found.without);
		found.i = i - 1;
		found.is_there = found.with.weight >= least;
		if (!found.is_there)
			found.without = found.with;
	}
	return found;
}

static void assert_found(const struct found *got, const struct found *expected)
{
	assert_int_equal(got->is_there, expected->is_there);
	assert_true(affine_equal(got->without, expected->without));
	if (expected->is_there) {
		assert_int_equal(got->i, expected->i);
		assert_true(affine_equal(got->with, expected->with));
	}
}

static void assert_seeks(const struct iforest_forest *forest, const struct affine *leaves, uint64_t at, uint64_t least)
{
	struct iforest_predicate weighs = affine_weighs(&least);
	struct found got = { .is_there = false }, expected = first_by_hand(leaves, forest->n_leaves, at, least);

	got.is_there = iforest_forest_seek_first(forest, at, &weighs, &got.i, &got.without, &got.with);
	assert_found(&got, &expected);
	expected = last_by_hand(leaves, at, least);
	got.is_there = iforest_forest_seek_last(forest, at, &weighs, &got.i, &got.without, &got.with);
	assert_found(&got, &expected);
}

static void every_start_and_every_weight(void **state)
{
	struct affine leaves[N_SMALL];
	struct alloc_fault fault;
	struct iforest_forest forest;
	struct random dice = random_from(random_seed());

	(void)state;
	alloc_fault_init(&fault);
	affine_random(leaves, N_SMALL, &dice);
	iforest_forest_init(&forest, &affine_kind, &fault.alloc, IFOREST_GROW_BY_MOVING);
	for (uint64_t n = 0; n <= N_SMALL; n++) {
		uint64_t whole = affine_fold(leaves, 0, n).weight;

		for (uint64_t at = 0; at <= n; at++)
			for (uint64_t least = 0; least <= whole + 1; least++)
				assert_seeks(&forest, leaves, at, least);
		if (n < N_SMALL)
			assert_ok(iforest_forest_append(&forest, &leaves[n]));
	}
	iforest_forest_release(&forest);
	assert_int_equal(fault.n_live, 0);
}

static void large_forests(void **state)
{
	static struct affine leaves[N_LARGE];
	struct alloc_fault fault;

	(void)state;
	alloc_fault_init(&fault);
	for (unsigned round = 0; round < random_rounds(30); round++) {
		struct random dice = random_from(random_seed() + round);
		struct iforest_forest forest;
		uint64_t n = random_below(&dice, N_LARGE + 1), whole;

		affine_random(leaves, n, &dice);
		iforest_forest_init(&forest, &affine_kind, &fault.alloc,
				    round % 2 ? IFOREST_GROW_IN_PLACE : IFOREST_GROW_BY_MOVING);
		assert_ok(iforest_forest_append_many(&forest, leaves, sizeof leaves[0], n, 2));
		whole = affine_fold(leaves, 0, n).weight;
		for (unsigned k = 0; k < 200; k++)
			assert_seeks(&forest, leaves, random_below(&dice, n + 1), random_below(&dice, whole + 2));
		n = random_below(&dice, n + 1);
		assert_ok(iforest_forest_truncate(&forest, n)); /* what stood behind is seen by no seek */
		for (unsigned k = 0; k < 200; k++)
			assert_seeks(&forest, leaves, random_below(&dice, n + 1), random_below(&dice, whole + 2));
		iforest_forest_release(&forest);
	}
	assert_int_equal(fault.n_live, 0);
}

/* A predicate that holds of every fold, and of none. */
static void predicates_of_all_and_of_none(void **state)
{
	struct affine leaves[N_SMALL];
	struct alloc_fault fault;
	struct iforest_forest forest;
	struct random dice = random_from(random_seed());

	(void)state;
	alloc_fault_init(&fault);
	affine_random(leaves, N_SMALL, &dice);
	iforest_forest_init(&forest, &affine_kind, &fault.alloc, IFOREST_GROW_BY_MOVING);
	assert_seeks(&forest, leaves, 0, 0); /* an empty forest, and no memory behind it */
	assert_ok(iforest_forest_append_many(&forest, leaves, sizeof leaves[0], N_SMALL, 1));
	for (uint64_t at = 0; at <= N_SMALL; at++) {
		assert_seeks(&forest, leaves, at, 0);
		assert_seeks(&forest, leaves, at, UINT64_MAX);
	}
	iforest_forest_release(&forest);
}

static bool reaches(void *context, const void *state)
{
	return ((const struct iforest_sum_float64 *)state)->sum >= *(const double *)context;
}

/* Sums of reals that are those of a node, to the last bit: leaf by leaf they may be a little less. What is found has the sum
 * that was asked for. */
static void sums_of_reals_are_reached(void **state)
{
	enum { N = 1024 };
	struct random dice = random_from(random_seed());
	struct alloc_fault fault;
	struct iforest_forest forest;
	unsigned n_late = 0;

	(void)state;
	alloc_fault_init(&fault);
	iforest_forest_init(&forest, &iforest_monoid_sum_float64, &fault.alloc, IFOREST_GROW_BY_MOVING);
	for (unsigned k = 0; k < N; k++)
		assert_ok(iforest_forest_append(&forest, &(struct iforest_sample){
			.value.real = 1.0 + (double)random_below(&dice, 1000000) / 999983.0, .has_value = true }));
	for (uint64_t at = 8; at < N - 8; at++) {
		struct iforest_sum_float64 least, without, with;
		struct iforest_predicate predicate = { .holds = reaches, .context = &least.sum };
		uint64_t i;

		iforest_forest_fold(&forest, 1, at, &least);
		assert_true(iforest_forest_seek_first(&forest, 1, &predicate, &i, &without, &with));
		assert_in_range(i, at - 1, at);
		assert_true(without.sum < least.sum && with.sum >= least.sum);
		n_late += i == at;
		iforest_forest_fold(&forest, at, N - 1, &least);
		assert_true(iforest_forest_seek_last(&forest, N - 1, &predicate, &i, &without, &with));
		assert_in_range(i, at - 1, at);
		assert_true(without.sum < least.sum && with.sum >= least.sum);
		n_late += i == at - 1;
	}
	assert_true(n_late > 10);
	iforest_forest_release(&forest);
	assert_int_equal(fault.n_live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_start_and_every_weight),
		cmocka_unit_test(large_forests),
		cmocka_unit_test(predicates_of_all_and_of_none),
		cmocka_unit_test(sums_of_reals_are_reached),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
