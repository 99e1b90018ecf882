#include "core/kind.h"

#include <math.h>
#include <string.h>

#include "tests/support/harness.h"
#include "tests/support/random.h"

enum { N = 40 };

union state {
	uint64_t count;
	struct iforest_value_aggregate sum;
	struct iforest_row row;
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
static union state fold(const struct iforest_kind *kind, const struct iforest_sample *samples, unsigned n)
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
		const struct iforest_kind *kind;
		bool is_real;
		bool (*better)(const struct iforest_sample *, const struct iforest_sample *);
	} cases[] = {
		{ &iforest_kind_min_int64, false, less }, { &iforest_kind_max_int64, false, greater },
		{ &iforest_kind_min_float64, true, less_real }, { &iforest_kind_max_float64, true, greater_real },
		{ &iforest_kind_first, false, earlier }, { &iforest_kind_last, false, later },
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
		assert_int_equal(fold(&iforest_kind_count, samples, n).count, count);
		assert_true(fold(&iforest_kind_sum_int64, samples, n).sum.sum == sum);
		assert_int_equal(fold(&iforest_kind_sum_int64, samples, n).sum.n, count);
	}
}

static void real_sums_keep_nan_apart(void **state)
{
	const struct iforest_sample samples[] = { { .value.real = 1.5, .has_value = true }, { .value.real = NAN, .has_value = true },
						  { .value.real = 9, .has_value = false }, { .value.real = 2, .has_value = true } };
	union state got = fold(&iforest_kind_sum_float64, samples, COUNT_OF(samples));

	(void)state;
	assert_true(got.sum.n == 3 && got.sum.n_nan == 1 && got.sum.real_sum == 3.5 && isnan(iforest_real_sum(&got.sum)));
}

/* lift and identity write a whole state: nothing of the memory's past is left. */
static void states_are_written_whole(void **state)
{
	static const struct iforest_kind *const kinds[] = {
		&iforest_kind_count, &iforest_kind_sum_int64, &iforest_kind_sum_float64, &iforest_kind_min_int64, &iforest_kind_max_int64,
		&iforest_kind_min_float64, &iforest_kind_max_float64, &iforest_kind_first, &iforest_kind_last };
	struct iforest_sample sample = { .value.integer = 3, .has_value = true, .time = 1, .ref = 2 };

	(void)state;
	for (unsigned k = 0; k < COUNT_OF(kinds); k++) {
		union state a, b, sum;

		assert_true(kinds[k]->state_bytes <= sizeof a);
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
		else if (kinds[k]->state_bytes == sizeof(struct iforest_row))
			assert_true(a.row.is_set && b.row.is_set && a.row.ref == b.row.ref);
		else
			assert_true(a.sum.n == b.sum.n && a.sum.sum == b.sum.sum && a.sum.n == 1);
		assert_non_null(kinds[k]->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_the_best_samples),
		cmocka_unit_test(sums_and_counts_skip_missing_values),
		cmocka_unit_test(real_sums_keep_nan_apart),
		cmocka_unit_test(states_are_written_whole),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
