/* Sorted items are the same items, in order: random ones, equal ones, ascending and descending ones. */
#include "core/base/heap_sort.h"

#include "tests/support/harness.h"
#include "tests/support/random.h"

struct item {
	uint64_t key, mark;
};

static bool comes_before(const void *a, const void *b)
{
	return ((const struct item *)a)->key < ((const struct item *)b)->key;
}

static void items_are_sorted(void **state)
{
	unsigned n_rounds = random_rounds(500);

	(void)state;
	for (unsigned r = 0; r < n_rounds; r++) {
		struct random dice = random_from(random_seed() + r);
		size_t n = random_below(&dice, 300);
		uint64_t kinds = 1 + random_below(&dice, UINT64_C(1) << random_below(&dice, 60)), way = random_below(&dice, 4);
		struct item items[300];
		uint64_t sum = 0, marks = 0;

		for (size_t i = 0; i < n; i++) {
			items[i].key = way == 0 ? i : way == 1 ? n - i : random_below(&dice, kinds);
			items[i].mark = items[i].key * 7 + 1;
			sum += items[i].key;
			marks ^= items[i].mark * UINT64_C(0x9E3779B97F4A7C15);
		}
		assert_ok(iforest_heap_sort(items, n, sizeof *items, comes_before, NULL));
		for (size_t i = 0; i < n; i++) {
			assert_true(i == 0 || items[i - 1].key <= items[i].key);
			assert_true(items[i].mark == items[i].key * 7 + 1);
			sum -= items[i].key;
			marks ^= items[i].mark * UINT64_C(0x9E3779B97F4A7C15);
		}
		assert_true(sum == 0 && marks == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(items_are_sorted) };

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
