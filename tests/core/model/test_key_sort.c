#include "core/model/key.h"

#include <string.h>

#include "tests/support/harness.h"
#include "tests/support/random.h"

enum { MOST = 3000 };

/* In order of time but for some; series in turn, or any; sometimes stretches that begin again, as chains that are read one
 * after the other. */
static uint32_t random_arrivals(struct iforest_arrival *arrivals, struct random *dice)
{
	uint32_t n = (uint32_t)random_below(dice, random_chance(dice, 50) ? MOST : 12);
	uint64_t n_series =
		random_chance(dice, 30) ? UINT64_C(1) << 32 : 1 + random_below(dice, random_chance(dice, 50) ? 4 : 70000);
	uint64_t late = random_chance(dice, 50) ? 0 : random_below(dice, 101), stretch = 1 + random_below(dice, 2 * MOST);
	bool ties = random_chance(dice, 30);

	for (uint32_t i = 0; i < n; i++) {
		struct iforest_key *key = &arrivals[i].key;

		memset(&arrivals[i], 0, sizeof arrivals[i]);
		arrivals[i].entry = i;
		key->series = random_below(dice, n_series);
		key->time_is_null = random_chance(dice, 3);
		key->time = key->time_is_null ? 0 : (int64_t)(i % stretch);
		if (!key->time_is_null && random_below(dice, 100) < late)
			key->time = random_chance(dice, 5) ? random_between(dice, INT64_MIN, INT64_MAX) :
							     random_between(dice, -9, MOST);
		key->ref = ties ? (int64_t)random_below(dice, 3) : (int64_t)i;
	}
	return n;
}

/* By putting each where it belongs among those before it, after those that are equal. */
static void sort_by_hand(struct iforest_arrival *arrivals, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		struct iforest_arrival arrival = arrivals[i];
		uint32_t at = i;

		for (; at > 0 && iforest_key_compare(&arrivals[at - 1].key, &arrival.key) > 0; at--)
			arrivals[at] = arrivals[at - 1];
		arrivals[at] = arrival;
	}
}

static void any_order_as_by_hand(void **state)
{
	static struct iforest_arrival arrivals[MOST], room[MOST], expected[MOST];

	(void)state;
	for (unsigned round = 0; round < random_rounds(150); round++) {
		struct random dice = random_from(random_seed() + round);
		uint32_t n = random_arrivals(arrivals, &dice);

		memcpy(expected, arrivals, n * sizeof *arrivals);
		sort_by_hand(expected, n);
		assert_ok(iforest_key_sort(arrivals, room, n, NULL));
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(iforest_key_compare(&arrivals[i].key, &expected[i].key), 0);
			assert_int_equal(arrivals[i].entry, expected[i].entry);
		}
	}
}

/* Series that share their low bytes, and differ in higher ones. */
static void series_may_differ_in_any_byte(void **state)
{
	static struct iforest_arrival arrivals[MOST], room[MOST], expected[MOST];

	(void)state;
	for (unsigned shift = 0; shift < 32; shift += 8) {
		struct random dice = random_from(random_seed() + shift);
		uint32_t n = random_arrivals(arrivals, &dice);

		for (uint32_t i = 0; i < n; i++)
			arrivals[i].key.series = random_below(&dice, 3) << shift | (i % 5 == 0 ? UINT64_C(1) << 24 : 0);
		memcpy(expected, arrivals, n * sizeof *arrivals);
		sort_by_hand(expected, n);
		assert_ok(iforest_key_sort(arrivals, room, n, NULL));
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(arrivals[i].entry, expected[i].entry);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order_as_by_hand),
		cmocka_unit_test(series_may_differ_in_any_byte),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
