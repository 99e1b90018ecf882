#include "core/forest/search.h"

#include <string.h>

#include "tests/support/forest_oracle.h"
#include "tests/support/harness.h"

enum { MOST = 2000, WIDEST = 40, MOST_BOUNDS = 150 };

/* Times, and the same among other bytes, so many apart. */
struct row_of_times {
	int64_t times[MOST];
	uint64_t n;
	uint8_t bytes[MOST * WIDEST];
	struct iforest_times apart;
};

static void lay_apart(struct row_of_times *row, size_t stride, size_t offset)
{
	memset(row->bytes, 0x5A, sizeof row->bytes);
	for (uint64_t i = 0; i < row->n; i++)
		memcpy(row->bytes + offset + i * stride, &row->times[i], sizeof row->times[i]);
	row->apart = (struct iforest_times){ row->bytes + offset, stride };
}

static struct row_of_times *random_row(struct random *dice)
{
	static struct row_of_times row;
	size_t stride = 8 + random_below(dice, WIDEST - 8 + 1);

	row.n = random_below(dice, random_chance(dice, 50) ? MOST : 30);
	times_random(row.times, row.n, random_between(dice, -2000, 2000), dice);
	if (row.n > 0 && random_chance(dice, 30))
		row.times[0] = INT64_MIN;
	if (row.n > 1 && random_chance(dice, 30))
		row.times[row.n - 1] = INT64_MAX;
	lay_apart(&row, stride, random_below(dice, stride - 8 + 1));
	return &row;
}

/* A bound that stands in the row, beside a time of it, or anywhere. */
static int64_t random_bound(const struct row_of_times *row, struct random *dice)
{
	int64_t time = row->n ? row->times[random_below(dice, row->n)] : 0;

	switch (random_below(dice, 6)) {
	case 0: return time;
	case 1: return time == INT64_MAX ? time : time + 1;
	case 2: return time == INT64_MIN ? time : time - 1;
	case 3: return random_chance(dice, 50) ? INT64_MIN : INT64_MAX;
	case 4: return random_between(dice, INT64_MIN, INT64_MAX);
	default: return random_between(dice, -5000, 5000);
	}
}

/* By looking at each time of [from, to). */
static uint64_t by_hand(const struct row_of_times *row, uint64_t from, uint64_t to, int64_t bound)
{
	return from + times_before(row->times + from, to - from, bound);
}

static void every_guess_of_every_range(void **state)
{
	static const int64_t times[] = { INT64_MIN, INT64_MIN,	   -7,	      -7,	-7, 0, 1, 1, 1, 1, 2, 900,
					 900,	    INT64_MAX - 1, INT64_MAX, INT64_MAX };
	static const int64_t bounds[] = {
		INT64_MIN, INT64_MIN + 1, -8, -7, -6, 0, 1, 2, 3, 900, 901, INT64_MAX - 1, INT64_MAX
	};
	static struct row_of_times row = { .n = COUNT_OF(times) };

	(void)state;
	memcpy(row.times, times, sizeof times);
	for (size_t stride = 8; stride <= WIDEST; stride += 4) {
		lay_apart(&row, stride, stride - 8);
		for (uint64_t from = 0; from <= row.n; from++)
			for (uint64_t to = from; to <= row.n; to++)
				for (uint64_t guess = from; guess <= to; guess++)
					for (unsigned b = 0; b < COUNT_OF(bounds); b++)
						assert_int_equal(iforest_gallop(&row.apart, from, to, guess, bounds[b]),
								 by_hand(&row, from, to, bounds[b]));
	}
}

static void one_bound_at_random(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(500); round++) {
		struct random dice = random_from(random_seed() + round);
		const struct row_of_times *row = random_row(&dice);

		for (unsigned k = 0; k < 40; k++) {
			uint64_t from = random_below(&dice, row->n + 1), to = from + random_below(&dice, row->n + 1 - from);
			uint64_t guess = from + random_below(&dice, to - from + 1);
			int64_t bound = random_bound(row, &dice);

			assert_int_equal(iforest_gallop(&row->apart, from, to, guess, bound), by_hand(row, from, to, bound));
			assert_int_equal(iforest_search(&row->apart, from, to, bound), by_hand(row, from, to, bound));
			assert_int_equal(iforest_linear_search(&row->apart, from, to, bound), by_hand(row, from, to, bound));
		}
	}
}

static void sort(int64_t *bounds, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t j = i; j > 0 && bounds[j] < bounds[j - 1]; j--) {
			int64_t swapped = bounds[j];

			bounds[j] = bounds[j - 1];
			bounds[j - 1] = swapped;
		}
}

/* So few bounds that they are searched for, so many that the times are passed over, equal ones, and none. */
static void many_bounds_at_random(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(2000); round++) {
		struct random dice = random_from(random_seed() + round);
		const struct row_of_times *row = random_row(&dice);
		uint64_t from = random_below(&dice, row->n + 1), to = from + random_below(&dice, row->n + 1 - from);
		size_t n = random_below(&dice, random_chance(&dice, 50) ? MOST_BOUNDS : 5);
		int64_t bounds[MOST_BOUNDS];
		uint64_t positions[MOST_BOUNDS + 1];

		for (size_t i = 0; i < n; i++)
			bounds[i] = i > 0 && random_chance(&dice, 20) ? bounds[i - 1] : random_bound(row, &dice);
		sort(bounds, n);
		positions[n] = 12345;
		iforest_gallop_many(&row->apart, from, to, bounds, n, positions);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(positions[i], by_hand(row, from, to, bounds[i]));
		assert_int_equal(positions[n], 12345);
	}
}

/* Interpolation is led astray: all times but a few stand at one end. */
static void times_that_are_not_spread_evenly(void **state)
{
	static struct row_of_times row = { .n = MOST };

	(void)state;
	for (unsigned round = 0; round < random_rounds(300); round++) {
		struct random dice = random_from(random_seed() + round);
		uint64_t n_low = random_below(&dice, MOST);
		int64_t bounds[5] = { INT64_MIN, -1, 0, 1, INT64_MAX };
		uint64_t positions[5];

		for (uint64_t i = 0; i < MOST; i++)
			row.times[i] = i < n_low ? INT64_MIN + (int64_t)i : INT64_MAX - (int64_t)(MOST - i);
		bounds[1 + random_below(&dice, 3)] = row.times[random_below(&dice, MOST)];
		sort(bounds, 5);
		lay_apart(&row, 16, 0);
		iforest_gallop_many(&row.apart, 0, MOST, bounds, 5, positions);
		for (size_t i = 0; i < 5; i++)
			assert_int_equal(positions[i], by_hand(&row, 0, MOST, bounds[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_guess_of_every_range),
		cmocka_unit_test(one_bound_at_random),
		cmocka_unit_test(many_bounds_at_random),
		cmocka_unit_test(times_that_are_not_spread_evenly),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
