#include "core/forest.h"

#include <string.h>

#include "tests/support/alloc_fault.h"
#include "tests/support/harness.h"
#include "tests/support/random.h"

enum { N = 200, LONGEST = N + 1 };

/* Kinds that are associative and no more. */

/* The text of the leaves in order. */
struct text {
	unsigned n;
	char letters[LONGEST];
};

static void text_identity(void *state) { ((struct text *)state)->n = 0; }

static void text_lift(void *state, const void *sample)
{
	*(struct text *)state = (struct text){ .n = 1, .letters = { *(const char *)sample } };
}

static void text_combine(void *state, const void *left, const void *right)
{
	struct text joined = *(const struct text *)left;
	const struct text *tail = right;

	assert_true(joined.n + tail->n < LONGEST);
	memcpy(joined.letters + joined.n, tail->letters, tail->n);
	joined.n += tail->n;
	*(struct text *)state = joined;
}

static const struct iforest_kind text_kind = { "text", sizeof(struct text), text_identity, text_lift, text_combine };

/* Functions x -> a x + b modulo 2^64, composed; and how many there were, so that a leaf folded twice shows. */
struct affine {
	uint64_t a, b, n;
};

static void affine_identity(void *state) { *(struct affine *)state = (struct affine){ 1, 0, 0 }; }
static void affine_lift(void *state, const void *sample) { *(struct affine *)state = *(const struct affine *)sample; }

static struct affine compose(struct affine f, struct affine g)
{
	return (struct affine){ f.a * g.a, g.a * f.b + g.b, f.n + g.n };
}

static void affine_combine(void *state, const void *left, const void *right)
{
	*(struct affine *)state = compose(*(const struct affine *)left, *(const struct affine *)right);
}

static const struct iforest_kind affine_kind = { "affine", sizeof(struct affine), affine_identity, affine_lift, affine_combine };

static void text_of_every_range(void **state)
{
	struct alloc_fault fault;
	struct iforest_forest forest;
	char letters[N];
	struct text text;

	(void)state;
	alloc_fault_init(&fault);
	iforest_forest_init(&forest, &text_kind, &fault.alloc);
	assert_int_equal(fault.n_calls, 0);
	for (unsigned n = 0; n < N; n++) {
		letters[n] = (char)('a' + n * 7 % 26);
		assert_ok(iforest_forest_append(&forest, &letters[n]));
		if (n % 20 != 19 && n > 40)
			continue;
		for (unsigned i = 0; i <= n + 1; i++)
			for (unsigned j = i; j <= n + 1; j++) {
				iforest_forest_fold(&forest, i, j, &text);
				assert_int_equal(text.n, j - i);
				assert_memory_equal(text.letters, letters + i, j - i);
			}
	}
	assert_int_equal(forest.n_leaves, N);
	iforest_forest_release(&forest);
	assert_int_equal(fault.n_live, 0);
	iforest_forest_fold(&forest, 0, 0, &text);
	assert_int_equal(text.n, 0);
}

static unsigned n_combined;

static void counting_combine(void *state, const void *left, const void *right)
{
	n_combined++;
	affine_combine(state, left, right);
}

static void large_forests_fold_in_log_combines(void **state)
{
	enum { N_LEAVES = 20000 };
	static struct affine prefix[N_LEAVES + 1];
	struct iforest_kind kind = affine_kind;
	struct alloc_fault fault;
	struct iforest_forest forest;
	struct random dice = random_from(random_seed());

	(void)state;
	kind.combine = counting_combine;
	alloc_fault_init(&fault);
	iforest_forest_init(&forest, &kind, &fault.alloc);
	n_combined = 0;
	for (unsigned i = 0; i < N_LEAVES; i++) {
		struct affine leaf = { random_next(&dice) | 1, random_next(&dice), 1 };

		prefix[i + 1] = compose(i ? prefix[i] : (struct affine){ 1, 0, 0 }, leaf);
		assert_ok(iforest_forest_append(&forest, &leaf));
	}
	assert_in_range(n_combined, 1, N_LEAVES);
	prefix[0] = (struct affine){ 1, 0, 0 };
	for (unsigned k = 0; k < 20000; k++) {
		uint64_t i = random_below(&dice, N_LEAVES + 1), j = i + random_below(&dice, N_LEAVES + 1 - i);
		struct affine fold, whole;
		unsigned log = 0;

		while ((UINT64_C(2) << log) <= j - i)
			log++;
		n_combined = 0;
		iforest_forest_fold(&forest, i, j, &fold);
		assert_in_range(n_combined, 0, 2 * log + 1);
		whole = compose(prefix[i], fold); /* all up to j is all up to i and then the rest */
		assert_true(whole.a == prefix[j].a && whole.b == prefix[j].b && whole.n == prefix[j].n && fold.n == j - i);
	}
	iforest_forest_release(&forest);
	assert_int_equal(fault.n_live, 0);
}

/* The first and last sample by time, though leaves stand in another order. */
static void first_and_last(void **state)
{
	static const struct iforest_kind *const kinds[] = { &iforest_kind_first, &iforest_kind_last };
	struct alloc_fault fault;
	struct iforest_forest forest;
	struct iforest_sample samples[100];
	struct random dice = random_from(random_seed());

	(void)state;
	alloc_fault_init(&fault);
	for (unsigned i = 0; i < COUNT_OF(samples); i++)
		samples[i] = (struct iforest_sample){ .value.integer = i, .has_value = !random_chance(&dice, 20),
						      .time = random_between(&dice, -9, 9), .ref = (int64_t)(i * 37 % 100) };
	for (unsigned k = 0; k < 2; k++) {
		iforest_forest_init(&forest, kinds[k], &fault.alloc);
		for (unsigned i = 0; i < COUNT_OF(samples); i++)
			assert_ok(iforest_forest_append(&forest, &samples[i]));
		for (unsigned i = 0; i < COUNT_OF(samples); i++) {
			const struct iforest_sample *best = NULL;
			struct iforest_row row;

			for (unsigned j = i; j < COUNT_OF(samples); j++) {
				const struct iforest_sample *s = &samples[j];
				bool earlier = best && (s->time < best->time || (s->time == best->time && s->ref < best->ref));

				if (s->has_value && (!best || earlier == (k == 0)))
					best = s;
				iforest_forest_fold(&forest, i, j + 1, &row);
				assert_int_equal(row.is_set, best != NULL);
				if (best)
					assert_true(row.ref == best->ref && row.time == best->time && row.value.integer == best->value.integer);
			}
		}
		iforest_forest_release(&forest);
	}
	assert_int_equal(fault.n_live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_every_range),
		cmocka_unit_test(large_forests_fold_in_log_combines),
		cmocka_unit_test(first_and_last),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
