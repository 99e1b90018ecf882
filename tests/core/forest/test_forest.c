#include "core/forest/forest.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/platform.h"
#include "tests/support/alloc_fault.h"
#include "tests/support/forest_oracle.h"
#include "tests/support/harness.h"
#include "tests/support/random.h"

enum { N = 200, LONGEST = N + 1, N_MANY = 3000, MOST_THREADS = 5 };

static const enum iforest_growth growths[] = { IFOREST_GROW_IN_PLACE, IFOREST_GROW_BY_MOVING };

/* A kind of texts: the leaves' letters in order. */
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

static const struct iforest_monoid text_kind = { "text", sizeof(struct text), text_identity, text_lift, text_combine, NULL };

static void assert_text_of_every_range(const struct iforest_forest *forest, const char *letters)
{
	struct text text;

	for (unsigned i = 0; i <= forest->n_leaves; i++)
		for (unsigned j = i; j <= forest->n_leaves; j++) {
			iforest_forest_fold(forest, i, j, &text);
			assert_int_equal(text.n, j - i);
			assert_memory_equal(text.letters, letters + i, j - i);
		}
}

static void text_of_every_range(void **state)
{
	struct alloc_fault fault;
	struct iforest_forest forest;
	char letters[N];
	struct text text;

	(void)state;
	alloc_fault_init(&fault);
	for (unsigned g = 0; g < COUNT_OF(growths); g++) {
		iforest_forest_init(&forest, &text_kind, &fault.alloc, growths[g]);
		for (unsigned n = 0; n < N; n++) {
			letters[n] = (char)('a' + n * 7 % 26);
			assert_ok(iforest_forest_append(&forest, &letters[n]));
			if (n % 40 == 39 || n <= 40)
				assert_text_of_every_range(&forest, letters);
		}
		assert_int_equal(forest.n_leaves, N);
		/* test_arena has what is reserved; an emulated machine may have no address space for it */
		assert_int_equal(fault.n_calls > 0, forest.slots.n_reserved == 0);
		assert_true(growths[g] == IFOREST_GROW_IN_PLACE || forest.slots.n_reserved == 0);
		iforest_forest_release(&forest);
		assert_int_equal(fault.n_live, 0);
		iforest_forest_fold(&forest, 0, 0, &text);
		assert_int_equal(text.n, 0);
	}
}

/* What stands in a forest is the leaves, and each range folds to what they fold to one by one. */
static void assert_forest_is(const struct iforest_forest *forest, const struct affine *leaves, uint64_t n, struct random *dice)
{
	assert_int_equal(forest->n_leaves, n);
	assert_true(slots_are_of(forest, leaves));
	for (unsigned k = 0; k < 20; k++) {
		uint64_t from = random_below(dice, n + 1), to = from + random_below(dice, n + 1 - from);
		struct affine fold;

		iforest_forest_fold(forest, from, to, &fold);
		assert_true(affine_equal(fold, affine_fold(leaves, from, to)));
	}
}

static void many_are_as_good_as_each(void **state)
{
	static struct affine leaves[2 * N_MANY];
	struct alloc_fault fault;

	(void)state;
	alloc_fault_init(&fault);
	for (unsigned round = 0; round < random_rounds(150); round++) {
		struct random dice = random_from(random_seed() + round);
		uint64_t n_first = random_below(&dice, random_chance(&dice, 50) ? N_MANY : 70);
		uint64_t n_more = random_below(&dice, random_chance(&dice, 50) ? N_MANY : 70);
		unsigned n_threads = 1 + round % MOST_THREADS;
		struct iforest_forest each, many;

		affine_random(leaves, n_first + n_more, &dice);
		iforest_forest_init(&each, &affine_kind, &fault.alloc, growths[round / 2 % 2]);
		iforest_forest_init(&many, &affine_kind, &fault.alloc, growths[round % 2]);
		for (uint64_t i = 0; i < n_first + n_more; i++)
			assert_ok(iforest_forest_append(&each, &leaves[i]));
		assert_ok(iforest_forest_append_many(&many, leaves, sizeof leaves[0], n_first, n_threads));
		assert_ok(iforest_forest_append_many(&many, leaves + n_first, sizeof leaves[0], n_more, n_threads));
		assert_true(slots_equal(&each, &many));
		assert_forest_is(&many, leaves, n_first + n_more, &dice);
		iforest_forest_release(&each);
		iforest_forest_release(&many);
		assert_int_equal(fault.n_live, 0);
	}
}

/* Samples lie further apart than they are long, and none is read behind the last. */
static void samples_may_lie_apart(void **state)
{
	enum { APART = 40, N_SAMPLES = 500 };
	struct affine leaves[N_SAMPLES];
	struct alloc_fault fault;
	struct iforest_forest forest;
	struct random dice = random_from(random_seed());
	uint8_t *samples = malloc(APART * (N_SAMPLES - 1) + sizeof leaves[0]);

	(void)state;
	assert_non_null(samples);
	affine_random(leaves, N_SAMPLES, &dice);
	for (unsigned i = 0; i < N_SAMPLES; i++)
		memcpy(samples + APART * i, &leaves[i], sizeof leaves[0]);
	alloc_fault_init(&fault);
	for (unsigned n_threads = 1; n_threads <= MOST_THREADS; n_threads++) {
		iforest_forest_init(&forest, &affine_kind, &fault.alloc, IFOREST_GROW_BY_MOVING);
		assert_ok(iforest_forest_append_many(&forest, samples, APART, N_SAMPLES, n_threads));
		assert_forest_is(&forest, leaves, N_SAMPLES, &dice);
		iforest_forest_release(&forest);
	}
	free(samples);
}

static void refused_calls_change_nothing(void **state)
{
	struct affine leaves[100];
	struct alloc_fault fault;
	struct iforest_forest forest;
	struct random dice = random_from(random_seed());

	(void)state;
	affine_random(leaves, 100, &dice);
	alloc_fault_init(&fault);
	for (unsigned g = 0; g < COUNT_OF(growths); g++) {
		iforest_forest_init(&forest, &affine_kind, &fault.alloc, growths[g]);
		assert_ok(iforest_forest_append_many(&forest, leaves, sizeof leaves[0], 60, 1));
		assert_status(iforest_forest_append_many(&forest, leaves, sizeof leaves[0], 1, 0), IFOREST_ARGUMENT);
		assert_status(iforest_forest_append_many(&forest, leaves, sizeof leaves[0], 1, IFOREST_MAX_THREADS + 1),
			      IFOREST_ARGUMENT);
		assert_status(iforest_forest_append_many(&forest, leaves, sizeof leaves[0], UINT64_MAX, 1), IFOREST_NO_MEMORY);
		assert_status(iforest_forest_append_many(&forest, leaves, sizeof leaves[0], UINT64_MAX - 60, 1),
			      IFOREST_NO_MEMORY);
		assert_status(iforest_forest_append_many(&forest, leaves, sizeof leaves[0], UINT64_MAX / 48, 2),
			      IFOREST_NO_MEMORY);
		assert_forest_is(&forest, leaves, 60, &dice);
		assert_ok(iforest_forest_append_many(&forest, leaves, sizeof leaves[0], 0, 3));
		assert_forest_is(&forest, leaves, 60, &dice);
		assert_ok(iforest_forest_append_many(&forest, leaves + 60, sizeof leaves[0], 40, 2));
		assert_forest_is(&forest, leaves, 100, &dice);
		iforest_forest_release(&forest);
	}
	assert_int_equal(fault.n_live, 0);
}

/* Every change at random, beside the leaves as an array. */
static void any_change(void **state)
{
	static struct affine leaves[N_MANY];
	struct alloc_fault fault;

	(void)state;
	alloc_fault_init(&fault);
	for (unsigned round = 0; round < random_rounds(60); round++) {
		struct random dice = random_from(random_seed() + round);
		struct iforest_forest forest;
		uint64_t n = 0;

		iforest_forest_init(&forest, &affine_kind, &fault.alloc, growths[round % 2]);
		for (unsigned step = 0; step < 60; step++) {
			uint64_t what = random_below(&dice, 10),
				 n_more = random_below(&dice, random_chance(&dice, 10) ? 800 : 40);

			if (what < 4 && n + n_more <= N_MANY) {
				affine_random(leaves + n, n_more, &dice);
				for (uint64_t i = 0; i < n_more; i++)
					assert_ok(iforest_forest_append(&forest, &leaves[n + i]));
				n += n_more;
			} else if (what < 6 && n + n_more <= N_MANY) {
				affine_random(leaves + n, n_more, &dice);
				assert_ok(iforest_forest_append_many(&forest, leaves + n, sizeof leaves[0], n_more,
								     1 + (unsigned)random_below(&dice, MOST_THREADS)));
				n += n_more;
			} else if (what < 9 && n > 0) {
				uint64_t i = random_below(&dice, n);

				affine_random(leaves + i, 1, &dice);
				assert_ok(iforest_forest_update(&forest, i, &leaves[i]));
			} else {
				n -= random_below(&dice, n + 1) / (1 + random_below(&dice, 20));
				assert_ok(iforest_forest_truncate(&forest, n));
			}
			assert_forest_is(&forest, leaves, n, &dice);
		}
		iforest_forest_release(&forest);
	}
	assert_int_equal(fault.n_live, 0);
}

static void many_folds_are_each_fold(void **state)
{
	enum { N_LEAVES = 1000, MOST_RANGES = 40 };
	static struct affine leaves[N_LEAVES];
	struct affine states[MOST_RANGES + 1];
	struct iforest_range ranges[MOST_RANGES];
	struct alloc_fault fault;
	struct iforest_forest forest;
	struct random dice = random_from(random_seed());

	(void)state;
	alloc_fault_init(&fault);
	affine_random(leaves, N_LEAVES, &dice);
	iforest_forest_init(&forest, &affine_kind, &fault.alloc, IFOREST_GROW_BY_MOVING);
	assert_ok(iforest_forest_append_many(&forest, leaves, sizeof leaves[0], N_LEAVES, 1));
	for (unsigned n = 0; n <= MOST_RANGES; n++) {
		for (unsigned r = 0; r < n; r++) {
			ranges[r].from = random_below(&dice, N_LEAVES + 1);
			ranges[r].to = ranges[r].from + random_below(&dice, N_LEAVES + 1 - ranges[r].from);
		}
		states[n] = (struct affine){ 5, 6, 7 };
		iforest_forest_fold_many(&forest, ranges, n, states);
		for (unsigned r = 0; r < n; r++)
			assert_true(affine_equal(states[r], affine_fold(leaves, ranges[r].from, ranges[r].to)));
		assert_true(affine_equal(states[n], (struct affine){ 5, 6, 7 })); /* and no state more */
	}
	iforest_forest_release(&forest);
}

/* Buckets of every width and place, over times of which many are equal. */
static void buckets_are_the_leaves_between_their_bounds(void **state)
{
	enum { MOST_BUCKETS = 200 };
	static struct affine leaves[N_MANY], states[MOST_BUCKETS];
	static int64_t times[N_MANY], bounds[MOST_BUCKETS + 1];
	struct alloc_fault fault;

	(void)state;
	alloc_fault_init(&fault);
	for (unsigned round = 0; round < random_rounds(300); round++) {
		struct random dice = random_from(random_seed() + round);
		uint64_t n = random_below(&dice, random_chance(&dice, 50) ? N_MANY : 50);
		size_t n_buckets = random_below(&dice, random_chance(&dice, 50) ? MOST_BUCKETS : 4);
		struct iforest_times of = { times, sizeof times[0] };
		struct iforest_forest forest;

		affine_random(leaves, n, &dice);
		times_random(times, n, random_between(&dice, -3000, 3000), &dice);
		times_random(bounds, n_buckets + 1, random_between(&dice, -5000, 5000), &dice);
		iforest_forest_init(&forest, &affine_kind, &fault.alloc, growths[round % 2]);
		assert_ok(iforest_forest_append_many(&forest, leaves, sizeof leaves[0], n, 1));
		iforest_forest_zoom(&forest, &of, bounds, n_buckets, states);
		for (size_t b = 0; b < n_buckets; b++)
			assert_true(affine_equal(states[b], affine_fold(leaves, times_before(times, n, bounds[b]),
									times_before(times, n, bounds[b + 1]))));
		iforest_forest_release(&forest);
	}
	assert_int_equal(fault.n_live, 0);
}

static unsigned floor_log2(uint64_t n)
{
	unsigned log = 0;

	while ((UINT64_C(2) << log) <= n)
		log++;
	return log;
}

static void covers_adjoin_and_are_few(void **state)
{
	struct affine leaves[N];
	struct alloc_fault fault;
	struct iforest_forest forest;
	struct random dice = random_from(random_seed());

	(void)state;
	alloc_fault_init(&fault);
	affine_random(leaves, N, &dice);
	iforest_forest_init(&forest, &affine_kind, &fault.alloc, IFOREST_GROW_BY_MOVING);
	assert_ok(iforest_forest_append_many(&forest, leaves, sizeof leaves[0], N, 1));
	for (uint64_t from = 0; from <= N; from++)
		for (uint64_t to = from; to <= N; to++) {
			struct iforest_cover cover = { .from = from, .to = to };
			struct affine sum = affine_nothing;
			uint64_t at = from, n_nodes = 0;

			while (iforest_forest_cover_next(&forest, &cover)) {
				assert_int_equal(cover.first, at);
				assert_int_equal(cover.from, at + (UINT64_C(1) << cover.level));
				assert_true(
					affine_equal(*(const struct affine *)cover.state, affine_fold(leaves, at, cover.from)));
				sum = affine_compose(sum, *(const struct affine *)cover.state);
				at = cover.from;
				n_nodes++;
			}
			assert_int_equal(at, to);
			assert_true(affine_equal(sum, affine_fold(leaves, from, to)));
			assert_in_range(n_nodes, from < to, to - from < 2 ? to - from : 2 * floor_log2(to - from));
		}
	iforest_forest_release(&forest);
}

/* The built-in kinds keep unused bytes in their states; forests are the same bytes nevertheless. */
static void built_in_kinds_give_the_same_bytes(void **state)
{
	static const struct iforest_monoid *const kinds[] = { &iforest_monoid_count,       &iforest_monoid_sum_int64,
							    &iforest_monoid_sum_float64, &iforest_monoid_min_int64,
							    &iforest_monoid_max_int64,   &iforest_monoid_min_float64,
							    &iforest_monoid_max_float64, &iforest_monoid_first,
							    &iforest_monoid_last };
	enum { N_SAMPLES = 700 };
	static struct iforest_sample samples[N_SAMPLES];
	struct alloc_fault fault;
	struct random dice = random_from(random_seed());

	(void)state;
	alloc_fault_init(&fault);
	for (unsigned i = 0; i < N_SAMPLES; i++)
		samples[i] = (struct iforest_sample){ .value.integer = random_between(&dice, -9, 9),
						      .has_value = random_chance(&dice, 80),
						      .time = random_between(&dice, -9, 9),
						      .ref = i };
	for (unsigned k = 0; k < COUNT_OF(kinds); k++)
		for (unsigned n_threads = 1; n_threads <= MOST_THREADS; n_threads++) {
			struct iforest_forest each, many;

			iforest_forest_init(&each, kinds[k], &fault.alloc, IFOREST_GROW_IN_PLACE);
			/* memory that is not zeros */
			iforest_forest_init(&many, kinds[k], &fault.alloc, IFOREST_GROW_BY_MOVING);
			for (unsigned i = 0; i < N_SAMPLES; i++)
				assert_ok(iforest_forest_append(&each, &samples[i]));
			assert_ok(iforest_forest_append_many(&many, samples, sizeof samples[0], N_SAMPLES, n_threads));
			assert_true(slots_equal(&each, &many));
			iforest_forest_release(&each);
			iforest_forest_release(&many);
		}
	assert_int_equal(fault.n_live, 0);
}

/* The first and last sample by time, though leaves stand in another order. */
static void first_and_last(void **state)
{
	static const struct iforest_monoid *const kinds[] = { &iforest_monoid_first, &iforest_monoid_last };
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
		iforest_forest_init(&forest, kinds[k], &fault.alloc, growths[k]);
		for (unsigned i = 0; i < COUNT_OF(samples); i++)
			assert_ok(iforest_forest_append(&forest, &samples[i]));
		for (unsigned i = 0; i < COUNT_OF(samples); i++) {
			const struct iforest_sample *best = NULL;
			struct iforest_extreme row;

			for (unsigned j = i; j < COUNT_OF(samples); j++) {
				const struct iforest_sample *s = &samples[j];
				bool earlier = best && (s->time < best->time || (s->time == best->time && s->ref < best->ref));

				if (s->has_value && (!best || earlier == (k == 0)))
					best = s;
				iforest_forest_fold(&forest, i, j + 1, &row);
				assert_int_equal(row.is_set, best != NULL);
				if (best)
					assert_true(row.ref == best->ref && row.time == best->time &&
						    row.value.integer == best->value.integer);
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
		cmocka_unit_test(many_are_as_good_as_each),
		cmocka_unit_test(samples_may_lie_apart),
		cmocka_unit_test(refused_calls_change_nothing),
		cmocka_unit_test(any_change),
		cmocka_unit_test(many_folds_are_each_fold),
		cmocka_unit_test(buckets_are_the_leaves_between_their_bounds),
		cmocka_unit_test(covers_adjoin_and_are_few),
		cmocka_unit_test(built_in_kinds_give_the_same_bytes),
		cmocka_unit_test(first_and_last),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
