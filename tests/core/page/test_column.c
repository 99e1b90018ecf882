#include "core/page/column.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "tests/support/harness.h"
#include "tests/support/random.h"

enum { N = IFOREST_BLOCK_ENTRIES };

/* What is told of the packed numbers, against the numbers. */
static void compare_packed(const struct iforest_column *column, const int64_t *numbers, unsigned n)
{
	unsigned from = n / 3, to = n - n / 5, n_below = 0;
	iforest_int128 sum, expected = 0;
	int64_t found, low, high, least = INT64_MAX, greatest = INT64_MIN;
	bool ascend = true;

	for (unsigned i = 0; i < n; i++) {
		ascend = ascend && (i == 0 || numbers[i] >= numbers[i - 1]);
		expected += i >= from && i < to ? numbers[i] : 0;
		n_below += numbers[i] < numbers[from];
		least = i >= from && i < to && numbers[i] < least ? numbers[i] : least;
		greatest = i >= from && i < to && numbers[i] > greatest ? numbers[i] : greatest;
	}
	if (iforest_column_sum(column, from, to, &sum))
		assert_true(sum == expected);
	if (iforest_column_fold(column, from, to, &sum, &low, &high))
		assert_true(sum == expected && low == least && high == greatest);
	assert_true(iforest_column_find(column, n, numbers[from], &found) <= n);
	if (!ascend)
		return;
	assert_int_equal(iforest_column_find(column, n, numbers[from], &found), n_below);
	assert_true(found == numbers[from]);
	assert_int_equal(iforest_column_find(column, n, INT64_MIN, &found), 0);
	assert_true(found == numbers[0]);
	if (numbers[n - 1] < INT64_MAX)
		assert_int_equal(iforest_column_find(column, n, INT64_MAX, &found), n);
}

/* Packs and unpacks; the column lies at the very end of its memory, so that a read beyond the slack shows. Returns its
 * bytes. */
static unsigned round_trip(const int64_t *numbers, uint64_t present, unsigned n, int64_t reference)
{
	uint8_t packed[IFOREST_MAX_COLUMN_BYTES], *placed;
	int64_t unpacked[N];
	struct iforest_column column;
	unsigned n_bytes = iforest_column_pack(packed, numbers, present, n, reference);

	assert_true(n_bytes <= IFOREST_MAX_COLUMN_BYTES);
	placed = calloc(1, n_bytes + IFOREST_COLUMN_SLACK);
	assert_non_null(placed);
	memcpy(placed, packed, n_bytes);
	assert_ok(iforest_column_open(&column, placed, placed + n_bytes, n, reference));
	assert_ptr_equal(column.end, placed + n_bytes);
	assert_true(column.present == (present & iforest_low_bits(n)));
	iforest_column_unpack(&column, n, unpacked);
	for (unsigned i = 0; i < n; i++)
		if (present >> i & 1)
			assert_true(unpacked[i] == numbers[i]);
	compare_packed(&column, unpacked, n);
	free(placed);
	return n_bytes;
}

/* Numbers of different makes: each is what one way of packing is good at. */
static void random_numbers(struct random *dice, int64_t *numbers, unsigned n)
{
	unsigned make = (unsigned)random_below(dice, 7), bits = (unsigned)random_below(dice, 65);
	int64_t base = random_between(dice, INT64_MIN, INT64_MAX), factor = 1 + (int64_t)random_below(dice, 1000);

	for (unsigned i = 0; i < n; i++) {
		uint64_t small = random_next(dice) & iforest_low_bits(bits);

		switch (make) {
		case 0: numbers[i] = (int64_t)small; break;
		case 1: numbers[i] = (int64_t)((uint64_t)base + small); break;
		case 2: numbers[i] = (int64_t)((uint64_t)base + small * (uint64_t)factor); break;
		case 3: numbers[i] = (int64_t)((uint64_t)(i ? numbers[i - 1] : base) + small); break;
		case 4: numbers[i] = (int64_t)((uint64_t)base + i * (uint64_t)factor); break;
		case 5: numbers[i] = random_chance(dice, 50) ? INT64_MIN : INT64_MAX; break;
		default: numbers[i] = base; break;
		}
	}
}

static void every_number_survives(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned round = 0; round < 40000; round++) {
		int64_t numbers[N];
		unsigned n = 1 + (unsigned)random_below(&dice, N);
		uint64_t present = random_chance(&dice, 50) ? UINT64_MAX : random_next(&dice) | random_next(&dice);

		random_numbers(&dice, numbers, n);
		round_trip(numbers, present, n,
			   random_chance(&dice, 50) ? numbers[0] : random_between(&dice, INT64_MIN, INT64_MAX));
	}
}

/* Durations of a trace, the usual case, are added up where they are packed. */
static void plain_numbers_are_summed_packed(void **state)
{
	uint8_t packed[IFOREST_MAX_COLUMN_BYTES + IFOREST_COLUMN_SLACK] = { 0 };
	struct random dice = random_from(random_seed());
	int64_t numbers[N];
	struct iforest_column column;
	iforest_int128 sum, expected = 0;
	int64_t least, greatest;
	unsigned n_bytes;

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		numbers[i] = random_between(&dice, 0, 1 << 24);
		expected += numbers[i];
	}
	n_bytes = iforest_column_pack(packed, numbers, UINT64_MAX, N, 0);
	assert_ok(iforest_column_open(&column, packed, packed + n_bytes, N, 0));
	assert_true(iforest_column_sum(&column, 0, N, &sum) && sum == expected);
	assert_true(iforest_column_fold(&column, 0, N, &sum, &least, &greatest) && sum == expected);
}

/* That all numbers are on one side of a bound is said only where it is so. */
static void compare_with_bounds(const struct iforest_column *column, const int64_t *numbers, unsigned n, struct random *dice,
				unsigned *n_told)
{
	int64_t bound = numbers[random_below(dice, n)], step = random_between(dice, -2, 2), lowest = numbers[0],
		highest = lowest;

	if (random_chance(dice, 30))
		bound = random_between(dice, INT64_MIN, INT64_MAX);
	bound = (int64_t)((uint64_t)bound + (uint64_t)step);
	for (unsigned i = 1; i < n; i++) {
		lowest = numbers[i] < lowest ? numbers[i] : lowest;
		highest = numbers[i] > highest ? numbers[i] : highest;
	}
	*n_told += iforest_column_is_below(column, bound) + iforest_column_is_above(column, bound);
	assert_true(!iforest_column_is_below(column, bound) || highest < bound);
	assert_true(!iforest_column_is_above(column, bound) || lowest > bound);
}

/* Bounds hold every number, and say nothing rather than something wrong. */
static void bounds_hold_every_number(void **state)
{
	struct random dice = random_from(random_seed());
	unsigned n_known = 0, n_told = 0;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		uint8_t packed[IFOREST_MAX_COLUMN_BYTES + IFOREST_COLUMN_SLACK] = { 0 };
		int64_t numbers[N], low, high;
		unsigned n = 1 + (unsigned)random_below(&dice, N), n_bytes;
		struct iforest_column column;

		random_numbers(&dice, numbers, n);
		n_bytes = iforest_column_pack(packed, numbers, UINT64_MAX, n, numbers[0]);
		assert_ok(iforest_column_open(&column, packed, packed + n_bytes, n, numbers[0]));
		compare_with_bounds(&column, numbers, n, &dice, &n_told);
		if (!iforest_column_bounds(&column, n, &low, &high))
			continue;
		n_known++;
		for (unsigned i = 0; i < n; i++)
			assert_true(numbers[i] >= low && numbers[i] <= high);
	}
	assert_true(n_known > 1000 && n_told > 1000);
}

static void every_width_survives(void **state)
{
	(void)state;
	for (unsigned width = 0; width <= 64; width++)
		for (unsigned n = 1; n <= N; n++) {
			int64_t numbers[N], sums[N];

			for (unsigned i = 0; i < n; i++) {
				numbers[i] = (int64_t)(iforest_low_bits(width) ^ (i % 3 ? 0 : i & iforest_low_bits(width)));
				numbers[i] = i % 2 ? numbers[i] : (int64_t)(i & iforest_low_bits(width));
				sums[i] = (int64_t)((i ? (uint64_t)sums[i - 1] : 0) + (uint64_t)numbers[i]);
			}
			round_trip(numbers, UINT64_MAX, n, 0);
			round_trip(sums, UINT64_MAX, n, -5);
		}
}

static void columns_of_missing_numbers(void **state)
{
	int64_t numbers[N];

	(void)state;
	memset(numbers, 0x77, sizeof numbers);
	for (unsigned n = 1; n <= N; n++) {
		assert_in_range(round_trip(numbers, 0, n, 0), 3, 3 + 8);
		round_trip(numbers, UINT64_C(1) << (n - 1), n, 0);
		round_trip(numbers, 1, n, 0);
	}
}

/* The sizes that the format is chosen for. */
static void regular_numbers_cost_next_to_nothing(void **state)
{
	int64_t even[N], same[N], micro[N];

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		even[i] = 1000000 + (int64_t)i * 250;
		same[i] = -42;
		micro[i] = (int64_t)(i * 7 % 16) * 1000;
	}
	assert_in_range(round_trip(even, UINT64_MAX, N, 1000000), 1, 6);
	assert_in_range(round_trip(same, UINT64_MAX, N, 0), 1, 4);
	assert_in_range(round_trip(micro, UINT64_MAX, N, 0), 1, 2 + 1 + 2 + 4 * N / 8); /* 4 bits each, not 14 */
}

/* Any bytes either open, and then unpack within them, or are refused. */
static void foreign_bytes(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned round = 0; round < 60000; round++) {
		unsigned n_bytes = (unsigned)random_below(&dice, 80), n = 1 + (unsigned)random_below(&dice, N);
		uint8_t *bytes = calloc(1, n_bytes + IFOREST_COLUMN_SLACK);
		struct iforest_column column;
		int64_t numbers[N];

		assert_non_null(bytes);
		for (unsigned i = 0; i < n_bytes; i++)
			bytes[i] = (uint8_t)random_next(&dice);
		if (n_bytes > 2) {
			bytes[0] %= 70;
			bytes[1] %= 10;
		}
		if (!iforest_column_open(&column, bytes, bytes + n_bytes, n, 0)) {
			assert_true(column.end >= bytes && column.end <= bytes + n_bytes && column.width <= 64);
			iforest_column_unpack(&column, n, numbers);
			compare_packed(&column, numbers, n);
		}
		free(bytes);
	}
}

static void cut_columns_are_refused(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		uint8_t packed[IFOREST_MAX_COLUMN_BYTES + IFOREST_COLUMN_SLACK] = { 0 };
		int64_t numbers[N];
		struct iforest_column column;
		unsigned n_bytes;

		random_numbers(&dice, numbers, N);
		n_bytes = iforest_column_pack(packed, numbers, random_next(&dice), N, 0);
		for (unsigned cut = 0; cut < n_bytes; cut++)
			assert_status(iforest_column_open(&column, packed, packed + cut, N, 0), IFOREST_CORRUPT);
		assert_ok(iforest_column_open(&column, packed, packed + n_bytes, N, 0));
		packed[0] = 65;
		assert_status(iforest_column_open(&column, packed, packed + n_bytes, N, 0), IFOREST_CORRUPT);
		packed[0] = 0;
		packed[1] = 8;
		assert_status(iforest_column_open(&column, packed, packed + n_bytes, N, 0), IFOREST_CORRUPT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_survives),
		cmocka_unit_test(bounds_hold_every_number),
		cmocka_unit_test(plain_numbers_are_summed_packed),
		cmocka_unit_test(every_width_survives),
		cmocka_unit_test(columns_of_missing_numbers),
		cmocka_unit_test(regular_numbers_cost_next_to_nothing),
		cmocka_unit_test(foreign_bytes),
		cmocka_unit_test(cut_columns_are_refused),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
