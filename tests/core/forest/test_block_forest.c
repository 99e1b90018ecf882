#include "core/forest/block_forest.h"

#include <string.h>

#include "tests/support/alloc_fault.h"
#include "tests/support/block_sample.h"
#include "tests/support/harness.h"

enum { N_SMALL = 150, N_LARGE = 5000, MOST_THREADS = 4 };

static const uint64_t block_sizes[] = { 1, 2, 16, 64 };

static void start(struct iforest_block_forest *blocks, const struct block_sample *sample, struct alloc_fault *fault,
		  enum iforest_growth growth, uint64_t block_entries)
{
	alloc_fault_init(fault);
	assert_ok(iforest_block_forest_init(blocks, sample->kind, &fault->alloc, growth, &sample->of, block_entries));
}

static void stop(struct iforest_block_forest *blocks, struct block_sample *sample, struct alloc_fault *fault)
{
	iforest_block_forest_release(blocks);
	assert_int_equal(fault->n_live, 0);
	block_sample_stop(sample);
}

/* One fold, and what of the entries it may ask for. */
static void assert_folds_to(const struct iforest_block_forest *blocks, struct block_sample *sample, uint64_t from, uint64_t to,
			    const union block_state *expected)
{
	union block_state got;

	sample->n_calls = sample->n_folded = 0;
	iforest_block_forest_fold(blocks, from, to, &got);
	assert_true(block_states_equal(sample->kind, &got, expected));
	assert_true(sample->n_calls <= 2 && sample->n_folded < UINT64_C(2) << blocks->block_level);
}

static void assert_every_range(const struct iforest_block_forest *blocks, struct block_sample *sample)
{
	for (uint64_t from = 0; from <= sample->n; from++) {
		union block_state expected;

		sample->kind->identity(&expected);
		for (uint64_t to = from; to <= sample->n; to++) {
			assert_folds_to(blocks, sample, from, to, &expected);
			if (to < sample->n)
				block_sample_next(sample, to, &expected);
		}
	}
}

static void every_range_of_every_kind(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned k = 0; k < BLOCK_KINDS; k++)
		for (unsigned b = 0; b < COUNT_OF(block_sizes); b++)
			for (uint64_t n = 0; n <= N_SMALL; n += n < 4 ? 1 : 1 + random_below(&dice, 40)) {
				struct block_sample sample;
				struct iforest_block_forest blocks;
				struct alloc_fault fault;

				block_sample_start(&sample, block_kinds[k], n, n % 2, n % 3 == 0);
				block_sample_add(&sample, n, &dice);
				start(&blocks, &sample, &fault, n % 2 ? IFOREST_GROW_IN_PLACE : IFOREST_GROW_BY_MOVING,
				      block_sizes[b]);
				assert_ok(iforest_block_forest_extend(&blocks, n, 1));
				assert_int_equal(blocks.n_entries, n);
				assert_every_range(&blocks, &sample);
				stop(&blocks, &sample, &fault);
			}
}

/* Some ranges, one by one and many at a time. */
static void assert_some_ranges(const struct iforest_block_forest *blocks, struct block_sample *sample, struct random *dice)
{
	enum { N_RANGES = 20 };
	struct iforest_range ranges[N_RANGES];
	union block_state expected;
	size_t n_bytes = sample->kind->state_bytes;
	uint8_t states[(N_RANGES + 1) * sizeof expected];

	assert_int_equal(blocks->n_entries, sample->n);
	for (unsigned r = 0; r < N_RANGES; r++) {
		ranges[r].from = random_below(dice, sample->n + 1);
		ranges[r].to = random_chance(dice, 20) ? sample->n :
							 ranges[r].from + random_below(dice, sample->n + 1 - ranges[r].from);
	}
	memset(states, 0x5A, sizeof states);
	iforest_block_forest_fold_many(blocks, ranges, N_RANGES, states);
	for (unsigned r = 0; r < N_RANGES; r++) {
		block_sample_fold(sample, ranges[r].from, ranges[r].to, &expected);
		assert_folds_to(blocks, sample, ranges[r].from, ranges[r].to, &expected);
		assert_true(block_states_equal(sample->kind, states + r * n_bytes, &expected));
	}
	assert_int_equal(states[N_RANGES * n_bytes], 0x5A); /* no state more */
}

/* Truncating and then adding others, too: nothing of what was there before is seen. */
static void change(struct iforest_block_forest *blocks, struct block_sample *sample, struct random *dice)
{
	uint64_t n_more = random_below(dice, random_chance(dice, 20) ? 900 : 70);

	switch (random_below(dice, 6)) {
	case 0: case 1:
		if (sample->n + n_more > sample->n_most)
			return;
		block_sample_add(sample, n_more, dice);
		assert_ok(iforest_block_forest_extend(blocks, sample->n, 1 + (unsigned)random_below(dice, MOST_THREADS)));
		return;
	case 2:
		sample->n -= random_below(dice, sample->n + 1) / (1 + random_below(dice, 30));
		assert_ok(iforest_block_forest_truncate(blocks, sample->n));
		return;
	case 3:
		block_sample_move(sample);
		blocks->entries = sample->of;
		return;
	default:
		if (sample->n > 0) {
			uint64_t i = random_below(dice, sample->n);

			block_sample_change(sample, i, dice);
			assert_ok(iforest_block_forest_update(blocks, i));
		}
	}
}

static void any_change(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(10 * BLOCK_KINDS); round++) {
		struct random dice = random_from(random_seed() + round);
		struct block_sample sample;
		struct iforest_block_forest blocks;
		struct alloc_fault fault;

		block_sample_start(&sample, block_kinds[round % BLOCK_KINDS], N_LARGE, random_chance(&dice, 50),
				   random_chance(&dice, 50));
		start(&blocks, &sample, &fault, random_chance(&dice, 50) ? IFOREST_GROW_IN_PLACE : IFOREST_GROW_BY_MOVING,
		      block_sizes[random_below(&dice, COUNT_OF(block_sizes))]);
		for (unsigned step = 0; step < 50; step++) {
			change(&blocks, &sample, &dice);
			assert_some_ranges(&blocks, &sample, &dice);
		}
		stop(&blocks, &sample, &fault);
	}
}

static void threads_give_the_same_bytes(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(60); round++) {
		struct random dice = random_from(random_seed() + round);
		const struct iforest_monoid *kind = block_kinds[round % 3];
		uint64_t n = random_below(&dice, N_LARGE), block = block_sizes[random_below(&dice, 3)];
		struct block_sample sample;
		struct iforest_block_forest one, many;
		struct alloc_fault fault, other;

		block_sample_start(&sample, kind, n, false, round % 2);
		block_sample_add(&sample, n, &dice);
		start(&one, &sample, &fault, IFOREST_GROW_IN_PLACE, block);
		start(&many, &sample, &other, IFOREST_GROW_BY_MOVING, block);
		assert_ok(iforest_block_forest_extend(&one, n, 1));
		assert_ok(iforest_block_forest_extend(&many, n / 3, 1 + (unsigned)random_below(&dice, 5)));
		assert_ok(iforest_block_forest_extend(&many, n, 2 + (unsigned)random_below(&dice, 4)));
		assert_true(slots_equal(&one.forest, &many.forest));
		if (sample.of.times.first)
			assert_memory_equal(one.times.bytes, many.times.bytes, one.forest.n_leaves * sizeof(int64_t));
		assert_true(sample.n_folded == 2 * one.forest.n_leaves * block); /* each entry of a full block once */
		iforest_block_forest_release(&many);
		assert_int_equal(other.n_live, 0);
		stop(&one, &sample, &fault);
	}
}

/* The first entry with which the weight from `from` on is reached, by trying each. */
static void assert_seek(const struct iforest_block_forest *blocks, const struct block_sample *sample, uint64_t from,
			uint64_t least)
{
	struct iforest_predicate weighs = affine_weighs(&least);
	struct affine before = affine_nothing, with = affine_nothing, got_before, got_with;
	uint64_t i = from, got = UINT64_MAX;
	bool is_there = false, got_it = iforest_block_forest_seek_first(blocks, from, &weighs, &got, &got_before, &got_with);

	for (; i < sample->n && !is_there; i += !is_there) {
		with = affine_compose(before, sample->entries[i].leaf);
		is_there = with.weight >= least;
		before = is_there ? before : with;
	}
	assert_int_equal(got_it, is_there);
	assert_true(affine_equal(got_before, before));
	if (is_there)
		assert_true(got == i && affine_equal(got_with, with));
}

static void seeks(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned b = 0; b < COUNT_OF(block_sizes); b++)
		for (uint64_t n = 0; n <= 200; n += 1 + random_below(&dice, 25)) {
			struct block_sample sample;
			struct iforest_block_forest blocks;
			struct alloc_fault fault;

			block_sample_start(&sample, &affine_kind, n, false, false);
			block_sample_add(&sample, n, &dice);
			start(&blocks, &sample, &fault, IFOREST_GROW_BY_MOVING, block_sizes[b]);
			assert_ok(iforest_block_forest_extend(&blocks, n, 1));
			for (uint64_t from = 0; from <= n; from++) {
				for (uint64_t least = 0; least < 40; least++)
					assert_seek(&blocks, &sample, from, least);
				for (unsigned k = 0; k < 20; k++)
					assert_seek(&blocks, &sample, from, random_below(&dice, 2 * n + 2));
			}
			stop(&blocks, &sample, &fault);
		}
}

struct reals {
	double numbers[3000];
};

static void add_reals(void *context, uint64_t from, uint64_t to, void *state)
{
	const struct reals *reals = context;
	struct iforest_sum_float64 *sum = state;

	for (; from < to; from++)
		sum->sum += reals->numbers[from];
}

static bool reaches(void *context, const void *state)
{
	return ((const struct iforest_sum_float64 *)state)->sum >= *(const double *)context;
}

/* Sums of reals that end with a block, to the last bit: entry by entry they may be a little less there, and reached after
 * it. */
static void sums_of_reals_are_reached(void **state)
{
	static struct reals reals;
	struct random dice = random_from(random_seed());
	struct iforest_entries entries = { .fold = add_reals, .context = &reals };
	struct iforest_block_forest blocks;
	struct alloc_fault fault;
	unsigned n_late = 0;

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(reals.numbers); i++)
		reals.numbers[i] = 1.0 + (double)random_below(&dice, 1000000) / 999983.0;
	alloc_fault_init(&fault);
	assert_ok(iforest_block_forest_init(&blocks, &iforest_monoid_sum_float64, &fault.alloc, IFOREST_GROW_BY_MOVING, &entries,
					    32));
	assert_ok(iforest_block_forest_extend(&blocks, COUNT_OF(reals.numbers), 1));
	for (uint64_t from = 0; from < 64; from++)
		for (uint64_t end = 64; end < COUNT_OF(reals.numbers); end += 32) {
			struct iforest_sum_float64 least, before, with;
			struct iforest_predicate predicate = { .holds = reaches, .context = &least.sum };
			uint64_t i;

			iforest_block_forest_fold(&blocks, from, end, &least);
			assert_true(iforest_block_forest_seek_first(&blocks, from, &predicate, &i, &before, &with));
			assert_in_range(i, end - 1, end);
			assert_true(before.sum < least.sum && with.sum >= least.sum);
			n_late += i == end;
		}
	assert_true(n_late > 10);
	iforest_block_forest_release(&blocks);
	assert_int_equal(fault.n_live, 0);
}

static void sizes_of_blocks(void **state)
{
	static const uint64_t wrong[] = { 3, 5, 6, 63, 65, 96, UINT64_MAX, (UINT64_C(1) << 63) + 1 };
	struct block_sample sample;
	struct iforest_block_forest blocks = { .n_entries = 77 };
	struct alloc_fault fault;
	struct random dice = random_from(random_seed());

	(void)state;
	block_sample_start(&sample, &affine_kind, 100, false, false);
	block_sample_add(&sample, 100, &dice);
	alloc_fault_init(&fault);
	for (unsigned i = 0; i < COUNT_OF(wrong); i++)
		assert_status(iforest_block_forest_init(&blocks, &affine_kind, &fault.alloc, IFOREST_GROW_BY_MOVING, &sample.of,
							wrong[i]),
			      IFOREST_ARGUMENT);
	assert_int_equal(blocks.n_entries, 77);
	start(&blocks, &sample, &fault, IFOREST_GROW_BY_MOVING, 0);
	assert_int_equal(UINT64_C(1) << blocks.block_level, IFOREST_DEFAULT_BLOCK);
	iforest_block_forest_release(&blocks);
	start(&blocks, &sample, &fault, IFOREST_GROW_BY_MOVING, UINT64_C(1) << 63); /* a block that is never full */
	assert_ok(iforest_block_forest_extend(&blocks, 100, 3));
	assert_int_equal(fault.n_calls, 0);
	for (unsigned k = 0; k < 20; k++) {
		union block_state expected, got;
		uint64_t from = random_below(&dice, 101), to = from + random_below(&dice, 101 - from);

		block_sample_fold(&sample, from, to, &expected);
		iforest_block_forest_fold(&blocks, from, to, &got);
		assert_true(block_states_equal(&affine_kind, &got, &expected));
	}
	stop(&blocks, &sample, &fault);
}

/* The first or the second allocation of a call fails, or none; then the call is made again. */
static void refused_calls_change_nothing(void **state)
{
	struct block_sample sample;
	struct iforest_block_forest blocks;
	struct alloc_fault fault;
	struct random dice = random_from(random_seed());
	unsigned n_refused = 0;

	(void)state;
	block_sample_start(&sample, &affine_kind, N_LARGE, false, true);
	block_sample_add(&sample, N_LARGE, &dice);
	start(&blocks, &sample, &fault, IFOREST_GROW_BY_MOVING, 2);
	for (sample.n = 0; sample.n < N_LARGE; sample.n += 50) {
		enum iforest_status status = IFOREST_OK;

		while (blocks.n_entries < sample.n) {
			struct iforest_block_forest before = blocks;

			/* the first allocation of each growth, then any */
			fault.fail_at = fault.n_calls + 1 + (status ? random_below(&dice, 3) : 0);
			status = iforest_block_forest_extend(&blocks, sample.n, 1 + (unsigned)random_below(&dice, 3));
			fault.fail_at = 0;
			if (status) {
				assert_status(status, IFOREST_NO_MEMORY);
				assert_true(blocks.n_entries == before.n_entries &&
					    blocks.forest.n_leaves == before.forest.n_leaves);
				n_refused++;
			}
		}
		assert_some_ranges(&blocks, &sample, &dice);
		assert_status(iforest_block_forest_extend(&blocks, sample.n, 0), IFOREST_ARGUMENT);
		assert_int_equal(blocks.n_entries, sample.n);
	}
	assert_true(n_refused > 2);
	stop(&blocks, &sample, &fault);
}

static bool never_absorbs(const void *state, const void *whole, bool from_left)
{
	(void)state;
	(void)whole;
	(void)from_left;
	return false;
}

static void what_cannot_be_is_refused(void **state)
{
	struct iforest_monoid large = affine_kind;
	struct block_sample sample;
	struct iforest_block_forest blocks;
	struct alloc_fault fault;
	struct random dice = random_from(random_seed());

	(void)state;
	block_sample_start(&sample, &affine_kind, 100, false, true);
	block_sample_add(&sample, 100, &dice);
	large.absorbs = never_absorbs;
	large.state_bytes = IFOREST_ABSORBING_BYTES + 8;
	alloc_fault_init(&fault);
	assert_status(iforest_block_forest_init(&blocks, &large, &fault.alloc, IFOREST_GROW_BY_MOVING, &sample.of, 0),
		      IFOREST_ARGUMENT);
	start(&blocks, &sample, &fault, IFOREST_GROW_BY_MOVING, 16);
	assert_ok(iforest_block_forest_extend(&blocks, 100, 1));
	assert_status(iforest_block_forest_extend(&blocks, 99, 1), IFOREST_ARGUMENT);
	assert_status(iforest_block_forest_extend(&blocks, 20, 4), IFOREST_ARGUMENT);
	assert_int_equal(blocks.n_entries, 100);
	stop(&blocks, &sample, &fault);
}

/* A forest is made before there is an array: its stride says that there will be times. */
static void an_array_may_come_later(void **state)
{
	struct block_sample sample;
	struct iforest_block_forest blocks;
	struct iforest_entries none;
	struct alloc_fault fault;
	struct random dice = random_from(random_seed());

	(void)state;
	block_sample_start(&sample, &affine_kind, 100, false, true);
	block_sample_add(&sample, 100, &dice);
	alloc_fault_init(&fault);
	none = sample.of;
	none.times.first = none.array = NULL;
	assert_ok(iforest_block_forest_init(&blocks, &affine_kind, &fault.alloc, IFOREST_GROW_BY_MOVING, &none, 16));
	assert_int_equal(iforest_block_forest_find(&blocks, 0), 0);
	blocks.entries = sample.of;
	assert_ok(iforest_block_forest_extend(&blocks, 100, 1));
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(iforest_block_forest_find(&blocks, sample.entries[i].time),
				 block_sample_before(&sample, sample.entries[i].time));
	stop(&blocks, &sample, &fault);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_range_of_every_kind),
		cmocka_unit_test(any_change),
		cmocka_unit_test(threads_give_the_same_bytes),
		cmocka_unit_test(seeks),
		cmocka_unit_test(sums_of_reals_are_reached),
		cmocka_unit_test(sizes_of_blocks),
		cmocka_unit_test(refused_calls_change_nothing),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(an_array_may_come_later),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
