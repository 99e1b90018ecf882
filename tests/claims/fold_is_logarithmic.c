/* What a fold costs, counted:
 *
 *   a forest         at most 2 log2(w) + 1 combines for w leaves, a cover and a seek as few nodes
 *   over blocks      the same for w blocks, and fewer than two blocks of entries, in at most two calls
 *   zoom             a bucket costs what its fold costs; a kind that absorbs is seldom asked for the entries at the ends
 *
 * How often a zoom looks at a time cannot be seen from outside; test_gallop.c has what it finds, bench/ what it takes. */
#include <inttypes.h>
#include <stdlib.h>

#include "core/forest/block_forest.h"
#include "tests/support/alloc_fault.h"
#include "tests/support/harness.h"
#include "tests/support/random.h"

enum { N = 1 << 20, N_QUESTIONS = 20000, BLOCK = IFOREST_DEFAULT_BLOCK, N_BUCKETS = 300 };

static uint64_t n_combined, n_asked, n_calls, n_folded;

static void sum_identity(void *state) { *(uint64_t *)state = 0; }
static void max_identity(void *state) { *(uint64_t *)state = 0; }
static void lift(void *state, const void *sample) { *(uint64_t *)state = *(const uint64_t *)sample; }

static void sum_combine(void *state, const void *left, const void *right)
{
	n_combined++;
	*(uint64_t *)state = *(const uint64_t *)left + *(const uint64_t *)right;
}

static void max_combine(void *state, const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	n_combined++;
	*(uint64_t *)state = a > b ? a : b;
}

static bool max_absorbs(const void *state, const void *whole, bool from_left)
{
	(void)from_left;
	return *(const uint64_t *)state >= *(const uint64_t *)whole;
}

static const struct iforest_monoid sum_kind = { "sum", sizeof(uint64_t), sum_identity, lift, sum_combine, NULL };
static const struct iforest_monoid max_kind = { "max", sizeof(uint64_t), max_identity, lift, max_combine, NULL };
static const struct iforest_monoid absorbing_kind = { "absorbing", sizeof(uint64_t), max_identity, lift, max_combine, max_absorbs };

/* Values at times of their own, and sums of all before each, to compare with. */
static struct {
	uint64_t value[N], before[N + 1];
	int64_t time[N];
} *entries;

static void fold_sums(void *context, uint64_t from, uint64_t to, void *state)
{
	(void)context;
	n_calls++;
	for (n_folded += to - from; from < to; from++)
		*(uint64_t *)state += entries->value[from];
}

static void fold_greatest(void *context, uint64_t from, uint64_t to, void *state)
{
	uint64_t *greatest = state;

	(void)context;
	n_calls++;
	for (n_folded += to - from; from < to; from++)
		*greatest = entries->value[from] > *greatest ? entries->value[from] : *greatest;
}

static int make_entries(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	entries = malloc(sizeof *entries);
	assert_non_null(entries);
	entries->before[0] = 0;
	for (uint64_t i = 0; i < N; i++) {
		entries->value[i] = random_below(&dice, 1000000000);
		entries->before[i + 1] = entries->before[i] + entries->value[i];
		entries->time[i] = (int64_t)(10 * i + random_below(&dice, 10));
	}
	return 0;
}

static int drop_entries(void **state)
{
	(void)state;
	free(entries);
	return 0;
}

static unsigned floor_log2(uint64_t n)
{
	unsigned log = 0;

	while (n >>= 1)
		log++;
	return log;
}

/* Wide and narrow ones in equal parts. */
static struct iforest_range random_range(struct random *dice)
{
	uint64_t width = random_below(dice, UINT64_C(2) << random_below(dice, floor_log2(N)));
	uint64_t from = random_below(dice, N - width + 1);

	return (struct iforest_range){ from, from + width };
}

/* floor(2 log2(w)) + 1, nothing for no leaves. The floor is found without a logarithm: 2 log2(w) is log2(w^2). */
static uint64_t most_combines(uint64_t width)
{
	return width ? floor_log2(width * width) + 1 : 0;
}

static bool reaches(void *context, const void *state)
{
	n_asked++;
	return *(const uint64_t *)state >= *(const uint64_t *)context;
}

static void of_a_forest(void **state)
{
	struct random dice = random_from(random_seed() + 1);
	struct alloc_fault fault;
	struct iforest_forest forest;
	uint64_t most = 0, most_seek = 0;

	(void)state;
	alloc_fault_init(&fault);
	iforest_forest_init(&forest, &sum_kind, &fault.alloc, IFOREST_GROW_IN_PLACE);
	assert_ok(iforest_forest_append_many(&forest, entries->value, sizeof entries->value[0], N, 1));
	for (unsigned k = 0; k < N_QUESTIONS; k++) {
		struct iforest_range range = random_range(&dice);
		uint64_t sum, least, i, before, with;
		struct iforest_predicate predicate = { reaches, &least };

		n_combined = 0;
		iforest_forest_fold(&forest, range.from, range.to, &sum);
		assert_true(sum == entries->before[range.to] - entries->before[range.from]);
		assert_true(n_combined <= most_combines(range.to - range.from));
		most = n_combined > most ? n_combined : most;
		if (range.from == range.to)
			continue;
		n_combined = n_asked = 0;
		least = sum;
		assert_true(iforest_forest_seek_first(&forest, range.from, &predicate, &i, &before, &with));
		assert_true(with == sum && i < range.to);
		most_seek = n_combined > most_seek ? n_combined : most_seek;
		assert_true(n_combined <= 2 * floor_log2(N) && n_asked <= 2 * floor_log2(N));
		n_combined = n_asked = 0;
		assert_true(iforest_forest_seek_last(&forest, range.to, &predicate, &i, &before, &with));
		assert_true(with == sum && i >= range.from);
		assert_true(n_combined <= 2 * floor_log2(N) && n_asked <= 2 * floor_log2(N));
	}
	print_message("%d leaves: at most %" PRIu64 " combines a fold, %" PRIu64 " a seek\n", N, most, most_seek);
	iforest_forest_release(&forest);
}

static void start(struct iforest_block_forest *blocks, struct alloc_fault *fault, const struct iforest_monoid *kind)
{
	struct iforest_entries of = { .fold = kind == &sum_kind ? fold_sums : fold_greatest,
				      .times = { entries->time, sizeof entries->time[0] } };

	alloc_fault_init(fault);
	assert_ok(iforest_block_forest_init(blocks, kind, &fault->alloc, IFOREST_GROW_IN_PLACE, &of, BLOCK));
	n_folded = n_combined = 0;
	assert_ok(iforest_block_forest_extend(blocks, N - 7, 1));
	assert_int_equal(n_folded, (N - 7) / BLOCK * BLOCK); /* each entry of a full block once */
	assert_true(n_combined < (N - 7) / BLOCK);
}

static void over_blocks(void **state)
{
	struct random dice = random_from(random_seed() + 2);
	struct alloc_fault fault;
	struct iforest_block_forest blocks;
	uint64_t most = 0, most_folded = 0;

	(void)state;
	start(&blocks, &fault, &sum_kind);
	for (unsigned k = 0; k < N_QUESTIONS; k++) {
		struct iforest_range range = random_range(&dice);
		uint64_t sum;

		if (range.to > blocks.n_entries)
			continue;
		n_combined = n_calls = n_folded = 0;
		iforest_block_forest_fold(&blocks, range.from, range.to, &sum);
		assert_true(sum == entries->before[range.to] - entries->before[range.from]);
		assert_true(n_calls <= 2 && n_folded < 2 * BLOCK);
		assert_true(n_combined <= most_combines((range.to - range.from) / BLOCK));
		most = n_combined > most ? n_combined : most;
		most_folded = n_folded > most_folded ? n_folded : most_folded;
	}
	print_message("%d entries in blocks of %d: at most %" PRIu64 " combines and %" PRIu64 " entries a fold\n", N, BLOCK, most,
		      most_folded);
	iforest_block_forest_release(&blocks);
}

/* Zooms over all; the entries and combines that it takes. */
static void zoom_of(const struct iforest_monoid *kind, uint64_t *states)
{
	int64_t bounds[N_BUCKETS + 1];
	struct alloc_fault fault;
	struct iforest_block_forest blocks;

	for (unsigned b = 0; b <= N_BUCKETS; b++)
		bounds[b] = 333 + (int64_t)b * 10 * N / N_BUCKETS;
	start(&blocks, &fault, kind);
	n_combined = n_calls = n_folded = 0;
	iforest_block_forest_zoom(&blocks, bounds, N_BUCKETS, states);
	print_message("%d buckets of %d entries, kind %s: %" PRIu64 " combines, %" PRIu64 " entries in %" PRIu64 " calls\n", N_BUCKETS, N,
		      kind->name, n_combined, n_folded, n_calls);
	iforest_block_forest_release(&blocks);
}

static void of_adjacent_buckets(void **state)
{
	uint64_t sums[N_BUCKETS], greatest[N_BUCKETS], absorbed[N_BUCKETS], n_folded_all;
	uint64_t bound = N_BUCKETS * most_combines(N / N_BUCKETS / BLOCK + 1);

	(void)state;
	zoom_of(&sum_kind, sums);
	assert_true(n_combined <= bound && n_calls <= 2 * N_BUCKETS && n_folded < 2 * BLOCK * N_BUCKETS);
	zoom_of(&max_kind, greatest);
	assert_true(n_combined <= bound && n_folded < 2 * BLOCK * N_BUCKETS);
	n_folded_all = n_folded;
	zoom_of(&absorbing_kind, absorbed);
	assert_true(n_combined <= bound + N_BUCKETS); /* one more where what stands before the whole blocks matters */
	assert_true(n_folded < n_folded_all / 2);
	assert_memory_equal(greatest, absorbed, sizeof greatest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_forest),
		cmocka_unit_test(over_blocks),
		cmocka_unit_test(of_adjacent_buckets),
	};

	return random_report(cmocka_run_group_tests(tests, make_entries, drop_entries));
}
