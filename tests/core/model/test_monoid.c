#include "core/model/monoid.h"

#include <math.h>
#include <string.h>

#include "tests/support/harness.h"
#include "tests/support/random.h"

enum { N = 40 };

union state {
	uint64_t count;
	struct iforest_sum_int64 sum;
	struct iforest_sum_float64 real_sum;
	struct iforest_extreme row;
};

static struct iforest_sample random_sample(struct random *dice, bool is_real)
{
	struct iforest_sample sample = { .has_value = !random_chance(dice, 25), .time = random_between(dice, -4, 4),
					 .ref = random_between(dice, 0, 1000000) };

	if (is_real)
		sample.value.real = random_chance(dice, 10) ? NAN : (double)random_between(dice, -3, 3);
	else
		sample.value.integer = random_chance(dice, 10) ? INT64_MIN : random_between(dice, -3, 3);
	return sample;
}

/* Folds samples one by one onto the identity. */
static union state fold(const struct iforest_monoid *kind, const struct iforest_sample *samples, unsigned n)
{
	union state sum, lifted;

	kind->identity(&sum);
	for (unsigned i = 0; i < n; i++) {
		kind->lift(&lifted, &samples[i]);
		kind->combine(&sum, &sum, &lifted);
	}
	return sum;
}

/* The first sample of which `better` holds against all others that have a value. */
static const struct iforest_sample *best(const struct iforest_sample *samples, unsigned n,
					 bool (*better)(const struct iforest_sample *, const struct iforest_sample *))
{
	const struct iforest_sample *found = NULL;

	for (unsigned i = 0; i < n; i++)
		if (samples[i].has_value && (!found || better(&samples[i], found)))
			found = &samples[i];
	return found;
}

static bool earlier(const struct iforest_sample *a, const struct iforest_sample *b)
{
	return a->time != b->time ? a->time < b->time : a->ref < b->ref;
}

static bool later(const struct iforest_sample *a, const struct iforest_sample *b) { return earlier(b, a); }

static bool less(const struct iforest_sample *a, const struct iforest_sample *b)
{
	return a->value.integer != b->value.integer ? a->value.integer < b->value.integer : earlier(a, b);
}

static bool greater(const struct iforest_sample *a, const struct iforest_sample *b)
{
	return a->value.integer != b->value.integer ? a->value.integer > b->value.integer : earlier(a, b);
}

/* NaN above all numbers. */
static double rank(double x) { return isnan(x) ? INFINITY : x; }

static bool less_real(const struct iforest_sample *a, const struct iforest_sample *b)
{
	return rank(a->value.real) != rank(b->value.real) ? rank(a->value.real) < rank(b->value.real) : earlier(a, b);
}

static bool greater_real(const struct iforest_sample *a, const struct iforest_sample *b)
{
	return rank(a->value.real) != rank(b->value.real) ? rank(a->value.real) > rank(b->value.real) : earlier(a, b);
}

static void rows_are_the_best_samples(void **state)
{
	static const struct {
		const struct iforest_monoid *kind;
		bool is_real;
		bool (*better)(const struct iforest_sample *, const struct iforest_sample *);
	} cases[] = {
		{ &iforest_monoid_min_int64, false, less }, { &iforest_monoid_max_int64, false, greater },
		{ &iforest_monoid_min_float64, true, less_real }, { &iforest_monoid_max_float64, true, greater_real },
		{ &iforest_monoid_first, false, earlier }, { &iforest_monoid_last, false, later },
	};
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned c = 0; c < COUNT_OF(cases); c++)
		for (unsigned round = 0; round < 300; round++) {
			struct iforest_sample samples[N];
			unsigned n = (unsigned)random_below(&dice, N);
			const struct iforest_sample *expected;
			union state got;

			for (unsigned i = 0; i < n; i++)
				samples[i] = random_sample(&dice, cases[c].is_real);
			expected = best(samples, n, cases[c].better);
			got = fold(cases[c].kind, samples, n);
			assert_int_equal(got.row.is_set, expected != NULL);
			if (expected)
				assert_true(got.row.ref == expected->ref && got.row.value.integer == expected->value.integer);
		}
}

static void sums_and_counts_skip_missing_values(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		struct iforest_sample samples[N];
		unsigned n = (unsigned)random_below(&dice, N), count = 0;
		iforest_int128 sum = 0;

		for (unsigned i = 0; i < n; i++) {
			samples[i] = random_sample(&dice, false);
			count += samples[i].has_value;
			sum += samples[i].has_value ? samples[i].value.integer : 0;
		}
		assert_int_equal(fold(&iforest_monoid_count, samples, n).count, count);
		assert_true(fold(&iforest_monoid_sum_int64, samples, n).sum.sum == sum);
		assert_int_equal(fold(&iforest_monoid_sum_int64, samples, n).sum.n, count);
	}
}

static void real_sums_keep_nan_apart(void **state)
{
	const struct iforest_sample samples[] = { { .value.real = 1.5, .has_value = true },
						  { .value.real = NAN, .has_value = true },
						  { .value.real = 9, .has_value = false },
						  { .value.real = 2, .has_value = true } };
	union state got = fold(&iforest_monoid_sum_float64, samples, COUNT_OF(samples));
	struct iforest_value_aggregate sum = iforest_sum_float64_aggregate(&got.real_sum);

	(void)state;
	assert_true(got.real_sum.n == 3 && got.real_sum.n_nan == 1 && got.real_sum.sum == 3.5 && isnan(iforest_real_sum(&sum)));
}

/* As many of each as there are, and the sum of the rest, are what an aggregate of the same values has. */
static void real_sums_are_those_of_aggregates(void **state)
{
	static const double values[] = { 0.25, -3, 1e18, NAN, INFINITY, -INFINITY };
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		struct iforest_sample samples[N];
		unsigned n = (unsigned)random_below(&dice, N);
		uint64_t counts[COUNT_OF(values)] = { 0 }, n_values = 0;
		double finite = 0;
		struct iforest_value_aggregate sum;
		union state got;

		for (unsigned i = 0; i < n; i++) {
			unsigned which = (unsigned)random_below(&dice, random_chance(&dice, 50) ? 3 : COUNT_OF(values));

			samples[i] =
				(struct iforest_sample){ .value.real = values[which], .has_value = !random_chance(&dice, 25) };
			counts[which] += samples[i].has_value;
			n_values += samples[i].has_value;
			finite += samples[i].has_value && which < 3 ? values[which] : 0;
		}
		got = fold(&iforest_monoid_sum_float64, samples, n);
		sum = iforest_sum_float64_aggregate(&got.real_sum);
		assert_true(sum.n == n_values && sum.n_nan == counts[3] && sum.n_plus_infinity == counts[4] &&
			    sum.n_minus_infinity == counts[5]);
		assert_true(fabs(sum.real_sum - finite) <= 1e-9 * 1e18 * N);
		assert_int_equal(isfinite(iforest_real_sum(&sum)), counts[3] + counts[4] + counts[5] == 0);
	}
}

/* A sum that 64 bits do not hold, its mean, and one that wraps as 128 bits do. */
static void whole_sums_are_exact(void **state)
{
	struct iforest_sample most = { .value.integer = INT64_MAX, .has_value = true };
	const struct iforest_monoid *kind = &iforest_monoid_sum_int64;
	struct iforest_sum_int64 sum, two;
	struct iforest_value_aggregate aggregate;

	(void)state;
	kind->lift(&sum, &most);
	kind->combine(&two, &sum, &sum);
	assert_true(two.n == 2 && two.sum == (iforest_int128)INT64_MAX + INT64_MAX);
	aggregate = iforest_sum_int64_aggregate(&two);
	assert_true(aggregate.n == 2 && aggregate.sum == two.sum);
	assert_true(iforest_mean(&aggregate, IFOREST_INT64) == (double)INT64_MAX);
	two.sum = (iforest_int128)((iforest_uint128)1 << 127);
	kind->combine(&sum, &two, &two);
	assert_true(sum.sum == 0 && sum.n == 4);
}

/* lift and identity write a whole state: nothing of the memory's past is left. */
static void states_are_written_whole(void **state)
{
	static const struct iforest_monoid *const kinds[] = { &iforest_monoid_count,       &iforest_monoid_sum_int64,
							    &iforest_monoid_sum_float64, &iforest_monoid_min_int64,
							    &iforest_monoid_max_int64,   &iforest_monoid_min_float64,
							    &iforest_monoid_max_float64, &iforest_monoid_first,
							    &iforest_monoid_last };
	struct iforest_sample sample = { .value.integer = 3, .has_value = true, .time = 1, .ref = 2 };

	(void)state;
	for (unsigned k = 0; k < COUNT_OF(kinds); k++) {
		union state a, b, sum;

		assert_true(kinds[k]->state_bytes <= sizeof a && kinds[k]->state_bytes <= 40);
		memset(&a, 0x00, sizeof a);
		memset(&b, 0xff, sizeof b);
		kinds[k]->identity(&a);
		kinds[k]->identity(&b);
		kinds[k]->lift(&sum, &sample);
		kinds[k]->combine(&a, &a, &sum);
		kinds[k]->combine(&sum, &sum, &b); /* identity on the right */
		b = sum;
		if (kinds[k]->state_bytes == sizeof(uint64_t))
			assert_int_equal(a.count, b.count);
		else if (kinds[k]->state_bytes == sizeof(struct iforest_extreme))
			assert_true(a.row.is_set && b.row.is_set && a.row.ref == b.row.ref);
		else if (kinds[k]->state_bytes == sizeof(struct iforest_sum_int64))
			assert_true(a.sum.n == b.sum.n && a.sum.sum == b.sum.sum && a.sum.n == 1);
		else
			assert_memory_equal(&a.real_sum, &b.real_sum, sizeof a.real_sum);
		assert_non_null(kinds[k]->name);
	}
}

static bool same_row(const struct iforest_extreme *a, const struct iforest_extreme *b)
{
	return a->is_set == b->is_set && (!a->is_set || (a->ref == b->ref && a->time == b->time));
}

/* What a kind says to absorb changes nothing, whatever part of it is added from either side; and what is worse it absorbs. */
static void what_is_absorbed_changes_nothing(void **state)
{
	static const struct iforest_monoid *const kinds[] = { &iforest_monoid_min_int64, &iforest_monoid_max_int64,
							    &iforest_monoid_min_float64, &iforest_monoid_max_float64 };
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned k = 0; k < COUNT_OF(kinds); k++) {
		unsigned n_absorbed = 0;

		for (unsigned round = 0; round < 2000; round++) {
			struct iforest_sample samples[N];
			unsigned n = 1 + (unsigned)random_below(&dice, 8), n_before = (unsigned)random_below(&dice, 4);
			union state kept, whole;

			for (unsigned i = 0; i < n_before + n; i++)
				samples[i] = random_sample(&dice, k >= 2);
			kept = fold(kinds[k], samples, n_before);
			whole = fold(kinds[k], samples + n_before, n);
			if (!kinds[k]->absorbs(&kept, &whole, random_chance(&dice, 50)))
				continue;
			n_absorbed++;
			for (unsigned from = 0; from < n; from++)
				for (unsigned to = from; to <= n; to++) {
					union state part = fold(kinds[k], samples + n_before + from, to - from), sum;

					kinds[k]->combine(&sum, &kept, &part);
					assert_true(same_row(&sum.row, &kept.row));
					kinds[k]->combine(&sum, &part, &kept);
					assert_true(same_row(&sum.row, &kept.row));
				}
		}
		assert_in_range(n_absorbed, 200, 1999);
	}
}

static void what_is_worse_is_absorbed(void **state)
{
	struct iforest_sample low = { .value.integer = 3, .has_value = true }, high = { .value.integer = 4, .has_value = true },
			      none = { 0 };
	union state three, four, nothing;

	(void)state;
	iforest_monoid_max_int64.lift(&three, &low);
	iforest_monoid_max_int64.lift(&four, &high);
	iforest_monoid_max_int64.lift(&nothing, &none);
	assert_true(iforest_monoid_max_int64.absorbs(&four, &three, true) &&
		    iforest_monoid_min_int64.absorbs(&three, &four, false));
	assert_false(iforest_monoid_max_int64.absorbs(&three, &four, true) ||
		     iforest_monoid_min_int64.absorbs(&four, &three, false));
	assert_true(iforest_monoid_max_int64.absorbs(&nothing, &nothing, true) &&
		    iforest_monoid_max_int64.absorbs(&three, &nothing, false));
	assert_false(iforest_monoid_max_int64.absorbs(&nothing, &three, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_the_best_samples),
		cmocka_unit_test(sums_and_counts_skip_missing_values),
		cmocka_unit_test(real_sums_keep_nan_apart),
		cmocka_unit_test(real_sums_are_those_of_aggregates),
		cmocka_unit_test(whole_sums_are_exact),
		cmocka_unit_test(states_are_written_whole),
		cmocka_unit_test(what_is_absorbed_changes_nothing),
		cmocka_unit_test(what_is_worse_is_absorbed),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
