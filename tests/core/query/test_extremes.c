/* Extremes alone, under a filter or none, against the oracle; and what of a page is left closed. */
#include "core/base/bits.h"
#include "core/query/scan.h"
#include "core/query/extremes.h"

#include "tests/support/harness.h"
#include "tests/support/pager_maxima.h"
#include "tests/support/sample_index.h"

/* Entries count unless value 0 lies between low and high. */
struct hole {
	const struct iforest_node_schema *fields;
	int64_t low, high;
	enum iforest_filter_class mixed;
	uint64_t n_nodes[4];
};

static enum iforest_filter_class of_node(void *context, const uint8_t *bytes)
{
	struct hole *hole = context;
	struct iforest_node node;
	const struct iforest_value_aggregate *values = &node.aggregate.values[0];
	enum iforest_filter_class verdict = hole->mixed;

	iforest_node_read(&node, hole->fields, bytes);
	if (values->n == 0 || values->max.value.integer < hole->low || values->min.value.integer > hole->high)
		verdict = IFOREST_COUNTS_ALL;
	else if (values->n == node.aggregate.n_rows && values->min.value.integer >= hole->low &&
		 values->max.value.integer <= hole->high)
		verdict = IFOREST_COUNTS_NONE;
	hole->n_nodes[verdict]++;
	return verdict;
}

static enum iforest_status of_entries(void *context, struct iforest_block_reader *reader, uint64_t *live)
{
	const struct hole *hole = context;
	enum iforest_status status = iforest_block_need(reader, IFOREST_VALUES);

	for (unsigned i = 0; i < reader->block.n && !status; i++)
		if (reader->block.present[0] >> i & 1 && reader->block.values[0][i] >= hole->low &&
		    reader->block.values[0][i] <= hole->high)
			*live &= ~(UINT64_C(1) << i);
	return status;
}

/* To the oracle, what the filter leaves out is dead. */
static void fill_hole(struct sample_index *index, const struct hole *hole)
{
	for (size_t i = 0; i < index->oracle.n_entries; i++) {
		struct oracle_entry *entry = &index->oracle.entries[i];

		if (entry->has[0] && entry->value[0].integer >= hole->low && entry->value[0].integer <= hole->high)
			entry->is_dead = true;
	}
}

/* Thousands of entries of few series, few values among them so that many tie, in up to 3 runs; few buckets over many
 * entries. */
static void one_round(uint64_t seed, uint64_t *n_nodes, uint64_t *n_maxima)
{
	static const struct sample_shape shapes[] = {
		{ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "i", .duration = 0 },
		{ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "if", .duration = ORACLE_NONE },
		{ .page_bytes = 4000, .max_batch_pages = 4, .kinds = "is", .duration = ORACLE_NONE },
	};
	struct random dice = random_from(seed);
	unsigned n_series = 1 + (unsigned)random_below(&dice, 3), n_runs = 1 + (unsigned)random_below(&dice, 3);
	struct hole hole = { .low = random_between(&dice, -50, 400),
			     .mixed = random_chance(&dice, 50) ? IFOREST_COUNTS_SOME : IFOREST_COUNTS_MOST };
	struct iforest_filter filter = { .context = &hole, .of_node = of_node, .of_entries = of_entries };
	struct sample_index index;
	struct pager_maxima maxima;
	bool filtered = random_chance(&dice, 40), tied = random_chance(&dice, 50);

	hole.high = hole.low + random_between(&dice, 0, 1000);
	if (random_chance(&dice, 20))
		hole.low = INT64_MIN;
	if (random_chance(&dice, 30))
		hole.high = INT64_MAX;
	sample_start(&index, &shapes[random_below(&dice, COUNT_OF(shapes))]);
	index.seed = seed;
	hole.fields = &index.manifest.fields;
	for (unsigned r = 0; r < n_runs; r++) {
		size_t n_before = index.oracle.n_entries;
		unsigned group = sample_entries(&index, &dice, random_below(&dice, 6000), n_series,
						(enum sample_times)random_below(&dice, 2));

		for (size_t i = n_before; i < index.oracle.n_entries && tied; i++)
			if (index.oracle.entries[i].has[0])
				index.oracle.entries[i].value[0].integer &= 3;
		assert_ok(sample_build(&index, group));
		if (sample_run(&index, group) < index.manifest.n_runs && random_chance(&dice, 50))
			sample_remove(&index, &dice, group, (unsigned)random_below(&dice, 60));
	}
	if (filtered)
		fill_hole(&index, &hole);
	pager_maxima_start(&maxima, index.store.pager);
	if (random_chance(&dice, 60))
		index.store.pager = &maxima.pager;
	for (unsigned i = 0; i < 20; i++) {
		struct oracle_question question = sample_question(&index, &dice);
		struct iforest_request request = { .values = (uint32_t)random_below(&dice, 4), .extremes_alone = true,
						 .no_mins = random_chance(&dice, 50) ? UINT32_MAX : 0,
						 .no_rows = random_chance(&dice, 30) ? UINT32_MAX : 0,
						 .filter = filtered ? &filter : NULL };

		request.values &= iforest_low_bits(index.oracle.n_values);
		if (question.mode == ORACLE_COUNT && random_chance(&dice, 80))
			question.n = 1 + (int64_t)random_below(&dice, random_chance(&dice, 50) ? 40 : 400);
		sample_compare(&index, &question, &request);
	}
	for (unsigned verdict = 0; verdict < 4; verdict++)
		n_nodes[verdict] += hole.n_nodes[verdict];
	*n_maxima += pager_maxima_made(&maxima);
	index.store.pager = maxima.inner;
	pager_maxima_stop(&maxima);
	sample_stop(&index);
}

static void extremes_are_the_oracles(void **state)
{
	unsigned n_rounds = random_rounds(60);
	uint64_t n_nodes[4] = { 0 }, n_maxima = 0;

	(void)state;
	for (unsigned r = 0; r < n_rounds; r++)
		one_round(random_seed() + r, n_nodes, &n_maxima);
	/* each verdict was given, and maxima were used: else nothing was tried */
	assert_true(n_maxima > 0);
	for (unsigned verdict = 0; verdict < 4; verdict++)
		assert_true(n_nodes[verdict] > 0);
}

/* One series, a time an entry; entry `peak` has the greatest value. */
static void build_with_peak(struct sample_index *index, int64_t n, int64_t peak)
{
	sample_start(index, &(struct sample_shape){ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "i", .duration = ORACLE_NONE });
	for (int64_t i = 0; i < n; i++) {
		struct oracle_entry *entry = sample_append(index, 0, 0, i, i);

		entry->has[0] = true;
		entry->value[0].integer = i == peak ? 1000000 : (i * 2654435761 >> 7) % 1000;
	}
	assert_ok(sample_build(index, 0));
}

/* Leaf pages opened for the greatest value of [t0, t1). */
static uint64_t leaf_pages_of(struct sample_index *index, int64_t t0, int64_t t1)
{
	struct iforest_key from = iforest_key_at(0, t0), to = iforest_key_at(0, t1);
	struct iforest_request request = { .values = 1, .no_mins = 1, .extremes_alone = true };
	struct iforest_fold fold;
	struct iforest_aggregate aggregate;
	int64_t expected = 0;
	uint64_t n;
	bool is_narrow;

	for (int64_t i = t0; i < t1; i++)
		if (index->oracle.entries[i].value[0].integer > expected)
			expected = index->oracle.entries[i].value[0].integer;
	iforest_fold_init(&fold, &index->store, &index->manifest, &index->manifest.runs[0]);
	iforest_aggregate_clear(&aggregate, 1, &index->manifest.fields.accumulators);
	assert_ok(iforest_extremes_of_range(&fold, &from, &to, &request, &aggregate, &is_narrow));
	assert_true(aggregate.n_rows > 0);
	assert_int_equal(aggregate.values[0].max.value.integer, expected);
	n = fold.cursor.n_leaf_pages_opened;
	iforest_fold_release(&fold);
	return n;
}

static void a_page_is_opened_only_if_its_best_lies_outside(void **state)
{
	struct sample_index index;
	int64_t n = 20000, peak = 10000;

	(void)state;
	build_with_peak(&index, n, peak);
	assert_true(index.manifest.runs[0].n_leaves > 20);
	assert_int_equal(leaf_pages_of(&index, 1, n - 1), 0);            /* the peak lies inside, neither end can beat it */
	assert_int_equal(leaf_pages_of(&index, peak, peak + 1), 0);      /* the page is cut twice, its best is in the range */
	assert_int_equal(leaf_pages_of(&index, peak - 1, n - 1), 0);
	/* the best of the first page lies before the range */
	assert_int_equal(leaf_pages_of(&index, peak + 1, n - 1), 1);
	assert_int_equal(leaf_pages_of(&index, peak + 1, peak + 2), 1);
	sample_stop(&index);
}

enum { AT_A_TIME = 50, N_TIMES = 1000 };

/* The greatest value of [t0, t1), of entries that stand in the order of time, so many of each. */
static struct iforest_extreme greatest_of(const struct sample_index *index, int64_t t0, int64_t t1)
{
	struct iforest_extreme best = { .is_set = false };

	for (int64_t i = t0 * AT_A_TIME; i < t1 * AT_A_TIME; i++) {
		const struct oracle_entry *entry = &index->oracle.entries[i];
		struct iforest_extreme row = { .value.integer = entry->value[0].integer, .time = entry->time, .ref = entry->ref,
					   .is_set = true };

		iforest_extreme_max(&best, &row, IFOREST_INT64);
	}
	return best;
}

/* Ranges of one cursor that go back. Pages that are held begin with times that the pages before them end with. */
static void ranges_may_go_back(void **state)
{
	struct iforest_request request = { .values = 1, .no_mins = 1, .extremes_alone = true };
	struct sample_index index;
	struct pager_maxima maxima;
	struct iforest_fold fold;

	(void)state;
	sample_start(&index, &(struct sample_shape){
				     .page_bytes = 1024, .max_batch_pages = 4, .kinds = "i", .duration = ORACLE_NONE });
	for (int64_t i = 0; i < N_TIMES * AT_A_TIME; i++) {
		struct oracle_entry *entry = sample_append(&index, 0, 0, i / AT_A_TIME, i);

		entry->has[0] = true;
		entry->value[0].integer = (i * 2654435761 >> 7) % 1000;
	}
	assert_ok(sample_build(&index, 0));
	assert_true(index.manifest.runs[0].n_leaves > 10 * index.manifest.fanout);
	pager_maxima_start(&maxima, index.store.pager);
	for (unsigned has_maxima = 0; has_maxima < 2; has_maxima++) {
		index.store.pager = has_maxima ? &maxima.pager : maxima.inner;
		iforest_fold_init(&fold, &index.store, &index.manifest, &index.manifest.runs[0]);
		for (int64_t width = 1; width <= 64; width *= 4)
			for (int64_t t0 = N_TIMES - width; t0 >= 0; t0--) {
				struct iforest_key from = iforest_key_at(0, t0), to = iforest_key_at(0, t0 + width);
				struct iforest_extreme expected = greatest_of(&index, t0, t0 + width);
				struct iforest_aggregate aggregate;
				bool is_narrow;

				iforest_aggregate_clear(&aggregate, 1, &index.manifest.fields.accumulators);
				assert_ok(iforest_extremes_of_range(&fold, &from, &to, &request, &aggregate, &is_narrow));
				assert_true(aggregate.n_rows > 0);
				assert_memory_equal(&aggregate.values[0].max, &expected, sizeof expected);
			}
		iforest_fold_release(&fold);
	}
	assert_true(pager_maxima_made(&maxima) > 0);
	index.store.pager = maxima.inner;
	pager_maxima_stop(&maxima);
	sample_stop(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(extremes_are_the_oracles),
		cmocka_unit_test(a_page_is_opened_only_if_its_best_lies_outside),
		cmocka_unit_test(ranges_may_go_back),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
