#include "core/forest/block_forest.h"

#include <string.h>

#include "tests/support/alloc_fault.h"
#include "tests/support/block_sample.h"
#include "tests/support/harness.h"

enum { N_ENTRIES = 6000, MOST_BUCKETS = 600 };

static const uint64_t block_sizes[] = { 1, 2, 16, 128, 4096 };

/* A forest over n entries with times, of any kind and block size; sometimes first more of them, and then truncated. */
static void start(struct iforest_block_forest *blocks, struct block_sample *sample, struct alloc_fault *fault,
		  const struct iforest_monoid *kind, uint64_t n, struct random *dice)
{
	uint64_t n_more = random_chance(dice, 20) ? random_below(dice, 300) : 0;

	alloc_fault_init(fault);
	block_sample_start(sample, kind, n + n_more, random_chance(dice, 50), true);
	block_sample_add(sample, n + n_more, dice);
	assert_ok(iforest_block_forest_init(blocks, kind, &fault->alloc,
					    random_chance(dice, 50) ? IFOREST_GROW_IN_PLACE : IFOREST_GROW_BY_MOVING,
					    &sample->of, block_sizes[random_below(dice, COUNT_OF(block_sizes))]));
	assert_ok(iforest_block_forest_extend(blocks, n + n_more, 1 + (unsigned)random_below(dice, 3)));
	sample->n = n;
	assert_ok(iforest_block_forest_truncate(blocks, n));
}

static void stop(struct iforest_block_forest *blocks, struct block_sample *sample, struct alloc_fault *fault)
{
	iforest_block_forest_release(blocks);
	assert_int_equal(fault->n_live, 0);
	block_sample_stop(sample);
}

static void assert_finds(const struct iforest_block_forest *blocks, const struct block_sample *sample, int64_t time)
{
	assert_int_equal(iforest_block_forest_find(blocks, time), block_sample_before(sample, time));
}

static void every_time_is_found(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(60); round++) {
		struct random dice = random_from(random_seed() + round);
		struct block_sample sample;
		struct iforest_block_forest blocks;
		struct alloc_fault fault;

		start(&blocks, &sample, &fault, &affine_kind, random_below(&dice, 400), &dice);
		assert_finds(&blocks, &sample, INT64_MIN);
		assert_finds(&blocks, &sample, INT64_MAX);
		for (uint64_t i = 0; i < sample.n; i++)
			for (int beside = -1; beside <= 1; beside++)
				assert_finds(&blocks, &sample, sample.entries[i].time + beside);
		stop(&blocks, &sample, &fault);
	}
}

/* Bounds around the window of all times, inside of it, far outside, of one time alone. */
static void random_bounds(int64_t *bounds, size_t n, const struct block_sample *sample, struct random *dice)
{
	int64_t first = sample->n ? sample->entries[0].time : 0, last = sample->n ? sample->entries[sample->n - 1].time : 100;
	int64_t low = random_between(dice, first - 50, last + 50), high = random_between(dice, low, last + 50);

	switch (random_below(dice, 4)) {
	case 0: low = first; high = last + 1; break;
	case 1: low = first - 100000; high = last + 100000; break;
	case 2: high = low + (int64_t)random_below(dice, 3); break;
	default: break;
	}
	for (size_t b = 0; b < n; b++)
		bounds[b] = low + (int64_t)((double)(high - low) * (double)b / (double)(n > 1 ? n - 1 : 1));
	if (random_chance(dice, 10))
		bounds[0] = INT64_MIN;
	if (random_chance(dice, 10))
		bounds[n - 1] = INT64_MAX;
}

static void assert_zooms(const struct iforest_block_forest *blocks, const struct block_sample *sample, const int64_t *bounds,
			 size_t n_buckets)
{
	static uint8_t states[(MOST_BUCKETS + 1) * sizeof(union block_state)];
	const struct iforest_monoid *kind = sample->kind;

	uint64_t from, to = block_sample_before(sample, bounds[0]);

	memset(states, 0x5A, sizeof states);
	iforest_block_forest_zoom(blocks, bounds, n_buckets, states);
	for (size_t b = 0; b < n_buckets; b++) {
		union block_state expected;

		from = to;
		to = block_sample_before(sample, bounds[b + 1]);
		block_sample_fold(sample, from, to, &expected);
		if (!block_states_equal(kind, states + b * kind->state_bytes, &expected))
			fail_msg("%s: bucket %zu of %zu, blocks of %u", kind->name, b, n_buckets, 1u << blocks->block_level);
	}
	assert_int_equal(states[n_buckets * kind->state_bytes], 0x5A); /* no state more */
}

static void buckets_of_every_kind(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(20 * BLOCK_KINDS); round++) {
		struct random dice = random_from(random_seed() + round);
		uint64_t n = random_below(&dice, random_chance(&dice, 60) ? N_ENTRIES : 200);
		int64_t bounds[MOST_BUCKETS + 1];
		struct block_sample sample;
		struct iforest_block_forest blocks;
		struct alloc_fault fault;

		start(&blocks, &sample, &fault, block_kinds[round % BLOCK_KINDS], n, &dice);
		for (unsigned k = 0; k < 5; k++) {
			size_t n_buckets = random_below(&dice, random_chance(&dice, 25) ? MOST_BUCKETS : 12);

			random_bounds(bounds, n_buckets + 1, &sample, &dice);
			assert_zooms(&blocks, &sample, bounds, n_buckets);
		}
		stop(&blocks, &sample, &fault);
	}
}

/* Bounds that lie nowhere near each other, and many equal ones. */
static void buckets_of_uneven_width(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(8 * BLOCK_KINDS); round++) {
		struct random dice = random_from(random_seed() + round);
		int64_t bounds[MOST_BUCKETS + 1];
		struct block_sample sample;
		struct iforest_block_forest blocks;
		struct alloc_fault fault;

		start(&blocks, &sample, &fault, block_kinds[round % BLOCK_KINDS], random_below(&dice, N_ENTRIES), &dice);
		times_random(bounds, MOST_BUCKETS + 1, random_between(&dice, -4000, 6000), &dice);
		assert_zooms(&blocks, &sample, bounds, MOST_BUCKETS);
		stop(&blocks, &sample, &fault);
	}
}

/* Times of changed and of moved entries are followed. */
static void changed_times_are_followed(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(60); round++) {
		struct random dice = random_from(random_seed() + round);
		int64_t bounds[MOST_BUCKETS + 1];
		struct block_sample sample;
		struct iforest_block_forest blocks;
		struct alloc_fault fault;

		start(&blocks, &sample, &fault, block_kinds[round % BLOCK_KINDS], 1 + random_below(&dice, 500), &dice);
		for (unsigned step = 0; step < 40; step++) {
			uint64_t i = random_below(&dice, sample.n);

			if (random_chance(&dice, 50))
				i &= ~(uint64_t)127; /* the first of a block */
			block_sample_change(&sample, i, &dice);
			assert_ok(iforest_block_forest_update(&blocks, i));
			if (random_chance(&dice, 20)) {
				block_sample_move(&sample);
				blocks.entries = sample.of;
			}
			assert_finds(&blocks, &sample, sample.entries[i].time);
			assert_finds(&blocks, &sample, sample.entries[i].time + 1);
			random_bounds(bounds, 11, &sample, &dice);
			assert_zooms(&blocks, &sample, bounds, 10);
		}
		stop(&blocks, &sample, &fault);
	}
}

/* All entries at one time, and times at both ends of what there are. */
static void extreme_times(void **state)
{
	static const int64_t bounds[] = { INT64_MIN, INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX, INT64_MAX };
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned k = 0; k < BLOCK_KINDS; k++)
		for (uint64_t n = 0; n < 300; n += 1 + random_below(&dice, 30)) {
			uint64_t n_low = random_below(&dice, n + 1), n_zero = random_below(&dice, n - n_low + 1);
			struct block_sample sample;
			struct iforest_block_forest blocks;
			struct alloc_fault fault;

			start(&blocks, &sample, &fault, block_kinds[k], n, &dice);
			for (uint64_t i = 0; i < n; i++) {
				sample.entries[i].time = i < n_low ? INT64_MIN : i < n_low + n_zero ? 0 : INT64_MAX;
				sample.entries[i].sample.time = sample.entries[i].time;
			}
			assert_ok(iforest_block_forest_truncate(&blocks, 0));
			assert_ok(iforest_block_forest_extend(&blocks, n, 1));
			assert_zooms(&blocks, &sample, bounds, COUNT_OF(bounds) - 1);
			assert_zooms(&blocks, &sample, bounds, 0);
			for (unsigned b = 0; b < COUNT_OF(bounds); b++)
				assert_finds(&blocks, &sample, bounds[b]);
			stop(&blocks, &sample, &fault);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_time_is_found),
		cmocka_unit_test(buckets_of_every_kind),
		cmocka_unit_test(buckets_of_uneven_width),
		cmocka_unit_test(changed_times_are_followed),
		cmocka_unit_test(extreme_times),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
