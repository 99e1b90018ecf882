#include "core/crew.h"

#include <string.h>

#include "tests/support/harness.h"

enum { MOST_ITEMS = 5000 };

struct tally {
	uint8_t n_calls[MOST_ITEMS];
	uint64_t sums[IFOREST_MAX_THREADS]; /* what each thread did; it alone writes there */
	unsigned n_threads;
};

static void take(void *context, unsigned thread, uint32_t item)
{
	struct tally *tally = context;

	assert_true(thread < tally->n_threads);
	tally->n_calls[item]++;
	tally->sums[thread] += item;
}

static void each_item_is_taken_once(void **state)
{
	static const unsigned threads[] = { 1, 2, 3, 8, IFOREST_MAX_THREADS };
	static const uint32_t items[] = { 0, 1, 2, 7, 300, MOST_ITEMS };

	(void)state;
	for (unsigned t = 0; t < COUNT_OF(threads); t++)
		for (unsigned i = 0; i < COUNT_OF(items); i++) {
			static struct tally tally;
			uint64_t sum = 0;

			memset(&tally, 0, sizeof tally);
			tally.n_threads = threads[t];
			iforest_crew_run(threads[t], items[i], take, &tally);
			for (unsigned k = 0; k < IFOREST_MAX_THREADS; k++)
				sum += tally.sums[k];
			assert_int_equal(sum, items[i] ? (uint64_t)items[i] * (items[i] - 1) / 2 : 0);
			for (unsigned k = 0; k < MOST_ITEMS; k++)
				assert_int_equal(tally.n_calls[k], k < items[i]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_item_is_taken_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
