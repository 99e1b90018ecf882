/* n appends make fewer than n combines, none of them more than log2 n, and in place no byte is ever copied; by moving fewer
 * than two for each that there is in the end. The worst append's time is shown, and not judged: it belongs to the machine. */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "core/forest/forest.h"
#include "tests/support/harness.h"
#include "tests/support/limited.h"

enum { N_APPENDS = LIMITED_IS_POSSIBLE ? 10000000 : 500000 }; /* sanitizers are slow */

static uint64_t n_combined;

static void identity(void *state) { *(uint64_t *)state = 0; }
static void lift(void *state, const void *sample) { *(uint64_t *)state = *(const uint64_t *)sample; }

static void combine(void *state, const void *left, const void *right)
{
	n_combined++;
	*(uint64_t *)state = *(const uint64_t *)left + *(const uint64_t *)right;
}

static const struct iforest_monoid counting = { "counting", sizeof(uint64_t), identity, lift, combine, NULL };

static void *reallocate(void *context, void *memory, size_t n_bytes)
{
	(void)context;
	return realloc(memory, n_bytes);
}

static void release(void *context, void *memory)
{
	(void)context;
	free(memory);
}

static const struct iforest_alloc alloc = { reallocate, release, NULL };

static uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

static unsigned floor_log2(uint64_t n)
{
	unsigned log = 0;

	while (n >>= 1)
		log++;
	return log;
}

static void append_all(enum iforest_growth growth, const char *how, struct iforest_forest *forest)
{
	uint64_t most_combined = 0, worst = 0, begin = now(), sum;

	n_combined = 0;
	iforest_forest_init(forest, &counting, &alloc, growth);
	for (uint64_t i = 0; i < N_APPENDS; i++) {
		uint64_t n_before = n_combined, start = now(), time;

		assert_ok(iforest_forest_append(forest, &i));
		time = now() - start;
		worst = time > worst ? time : worst;
		n_before = n_combined - n_before;
		assert_true(n_before <= floor_log2(i + 1));
		most_combined = n_before > most_combined ? n_before : most_combined;
	}
	print_message("%d appends %s: %" PRIu64 " combines, at most %" PRIu64 " in one; worst %" PRIu64 " ns, mean %" PRIu64
		      " ns; %" PRIu64 " bytes copied\n", N_APPENDS, how, n_combined, most_combined, worst,
		      (now() - begin) / N_APPENDS, forest->slots.n_moved);
	assert_true(n_combined < N_APPENDS);
	assert_int_equal(most_combined, floor_log2(N_APPENDS));
	iforest_forest_fold(forest, 0, N_APPENDS, &sum);
	assert_true(sum == (uint64_t)N_APPENDS * (N_APPENDS - 1) / 2);
}

static void in_place(void **state)
{
	struct iforest_forest forest;

	(void)state;
	append_all(IFOREST_GROW_IN_PLACE, "in place", &forest);
	assert_true(forest.slots.n_reserved > 0);
	assert_int_equal(forest.slots.n_moved, 0);
	iforest_forest_release(&forest);
}

static void by_moving(void **state)
{
	struct iforest_forest forest;

	(void)state;
	append_all(IFOREST_GROW_BY_MOVING, "by moving", &forest);
	assert_true(forest.slots.n_moved <= 2 * iforest_forest_bytes(&counting, N_APPENDS));
	iforest_forest_release(&forest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_place),
		cmocka_unit_test(by_moving),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
