/* tests/core/query/test_counter_scan.c -- Counters over random runs, with and without what is kept of nodes, against the
 * oracle's entries sample by sample. */
#include "core/query/counter_scan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/bits.h"
#include "tests/support/harness.h"
#include "tests/support/memory_sidecar.h"
#include "tests/support/sample_index.h"

/* The index, and what is pending beside it. */
static struct sample_index index_, pending;
static struct memory_sidecar sidecar;

/* ---- the oracle ---- */

struct series {
	const struct oracle_entry **entries; /* live, with a time, by (time, ref) */
	size_t n;
};

static int compare_entries(const void *a, const void *b)
{
	return oracle_entry_order(*(const struct oracle_entry *const *)a, *(const struct oracle_entry *const *)b);
}

static bool counts(const struct oracle_entry *entry, uint32_t series)
{
	return !entry->is_dead && entry->series == series && !entry->time_is_null;
}

static struct series gather(uint32_t series, bool is_filtered)
{
	struct series all = { .entries = malloc((index_.oracle.n_entries + pending.oracle.n_entries) * sizeof *all.entries) };

	assert_non_null(all.entries);
	for (size_t i = 0; i < index_.oracle.n_entries; i++)
		if (counts(&index_.oracle.entries[i], series) && !(is_filtered && index_.oracle.entries[i].ref % 2 == 0))
			all.entries[all.n++] = &index_.oracle.entries[i];
	for (size_t i = 0; i < pending.oracle.n_entries; i++)
		if (counts(&pending.oracle.entries[i], series))
			all.entries[all.n++] = &pending.oracle.entries[i];
	qsort(all.entries, all.n, sizeof *all.entries, compare_entries);
	return all;
}

struct expected {
	uint64_t n, n_resets;
	const struct oracle_entry *before, *last;
	iforest_int128 known, integral, increase;
	long double real_integral, real_increase, magnitude; /* magnitude: of what is added up */
};

/* To when a sample holds, before `end`. */
static int64_t hold_end(const struct oracle_entry *entry, const struct oracle_entry *next, int64_t end)
{
	int d = index_.oracle.duration;
	iforest_int128 to = end;

	if (d != ORACLE_NONE && entry->has[d] && entry->value[d].integer >= 0 &&
	    (iforest_int128)entry->time + entry->value[d].integer < to)
		to = (iforest_int128)entry->time + entry->value[d].integer;
	return next && next->time < to ? next->time : (int64_t)to;
}

static void expect_step(struct expected *expected, const struct oracle_entry *was, const struct oracle_entry *entry, unsigned v)
{
	bool is_real = index_.oracle.is_real[v];
	bool is_reset =
		was && (is_real ? entry->value[v].real < was->value[v].real : entry->value[v].integer < was->value[v].integer);

	expected->n++;
	expected->n_resets += is_reset;
	if (was && is_real) {
		expected->real_increase += (long double)entry->value[v].real - (is_reset ? 0 : (long double)was->value[v].real);
		expected->magnitude += fabsl((long double)entry->value[v].real) + fabsl((long double)was->value[v].real);
	} else if (was) {
		expected->increase += (iforest_int128)entry->value[v].integer - (is_reset ? 0 : was->value[v].integer);
	}
}

static void expect_hold(struct expected *expected, const struct oracle_entry *entry, const struct oracle_entry *next,
			unsigned v, int64_t start, int64_t end)
{
	int64_t from = entry->time > start ? entry->time : start, to = hold_end(entry, next, end);

	if (to <= from)
		return;
	expected->known += (iforest_int128)to - from;
	if (index_.oracle.is_real[v]) {
		expected->real_integral += (long double)entry->value[v].real * (long double)((iforest_int128)to - from);
		expected->magnitude += fabsl((long double)entry->value[v].real) * (long double)((iforest_int128)to - from);
	} else {
		expected->integral += entry->value[v].integer * ((iforest_int128)to - from);
	}
}

static struct expected expect_bucket(const struct series *series, unsigned v, int64_t start, int64_t end)
{
	struct expected expected = { .n = 0 };
	const struct oracle_entry *was = NULL;

	for (size_t i = 0; i < series->n && series->entries[i]->time < end; i++) {
		const struct oracle_entry *entry = series->entries[i];

		if (!entry->has[v])
			continue;
		if (was)
			expect_hold(&expected, was, entry, v, start, end);
		if (entry->time < start)
			expected.before = entry;
		else
			expect_step(&expected, was, entry, v);
		was = entry;
	}
	if (was)
		expect_hold(&expected, was, NULL, v, start, end);
	expected.last = was;
	return expected;
}

/* ---- comparing ---- */

static void check_real(double real, long double expected, long double magnitude)
{
	if (!(fabsl((long double)real - expected) <= 1e-12L * magnitude))
		fail_msg("%.17g instead of %.17Lg, seed %" PRIu64, real, expected, index_.seed);
}

static void check_counter(const struct iforest_counter *counter, const struct expected *expected, unsigned v)
{
	assert_int_equal(counter->n, expected->n);
	assert_int_equal(counter->n_resets, expected->n_resets);
	assert_true(counter->known == (iforest_uint128)expected->known);
	assert_int_equal(counter->has_start, expected->before != NULL);
	assert_int_equal(counter->is_known, expected->last != NULL);
	if (expected->before)
		assert_int_equal(counter->start.integer, expected->before->value[v].integer);
	if (expected->last)
		assert_int_equal(counter->value.integer, expected->last->value[v].integer);
	if (index_.oracle.is_real[v]) {
		check_real(counter->real_integral, expected->real_integral, expected->magnitude);
		check_real(counter->real_increase, expected->real_increase, expected->magnitude);
	} else {
		assert_true(counter->integral == expected->integral);
		assert_true(counter->increase == expected->increase);
	}
}

/* The bucket as a whole: rows with a value or without. */
static void check_bucket(const struct iforest_counter_scan *counting, const struct iforest_aggregate *aggregate,
			 const struct series *series, int64_t start, int64_t end, bool found)
{
	const struct oracle_entry *first = NULL, *last = NULL;
	uint64_t n = 0, n_before = 0;

	for (size_t i = 0; i < series->n && series->entries[i]->time < end; i++) {
		if (series->entries[i]->time < start) {
			n_before++;
			continue;
		}
		first = first ? first : series->entries[i];
		last = series->entries[i];
		n++;
	}
	assert_int_equal(found, n_before + n > 0);
	assert_int_equal(aggregate->n_rows, n);
	if (n > 0) {
		assert_int_equal(aggregate->first_time, first->time);
		assert_int_equal(aggregate->last_time, last->time);
	}
	for (unsigned v = 0; v < index_.oracle.n_values; v++) {
		struct expected expected = expect_bucket(series, v, start, end);

		if (counting->request >> v & 1)
			check_counter(&counting->values[v], &expected, v);
	}
}

static enum iforest_filter_class of_node(void *context, const uint8_t *node)
{
	(void)context;
	(void)node;
	return IFOREST_COUNTS_SOME;
}

static enum iforest_status of_entries(void *context, struct iforest_block_reader *reader, uint64_t *live)
{
	enum iforest_status status = iforest_block_need(reader, IFOREST_REFS);

	(void)context;
	for (unsigned i = 0; i < reader->block.n && !status; i++)
		if (reader->block.refs[i] % 2 == 0)
			*live &= ~(UINT64_C(1) << i);
	return status;
}

static const struct iforest_filter odd_refs = { .of_node = of_node, .of_entries = of_entries };

/* What a question has taken: with the sidecar store, and without it. */
struct taken {
	uint64_t n_nodes, n_entries, n_entries_without;
};

enum { MOST_BUCKETS = 20 };

/* Bounds of 1 to MOST_BUCKETS buckets, mostly at and beside entries. */
static unsigned random_bounds(struct random *dice, const struct series *series, int64_t *bounds)
{
	unsigned n = 2 + (unsigned)random_below(dice, random_chance(dice, 50) ? 1 : MOST_BUCKETS), n_left = 0;

	for (unsigned b = 0; b < n; b++) {
		int64_t time = series->n ? series->entries[random_below(dice, series->n)]->time : 0;

		if (random_chance(dice, 10))
			time = random_chance(dice, 50) ? INT64_MIN : INT64_MAX;
		else if (time > INT64_MIN + 2 && time < INT64_MAX - 2)
			time += random_between(dice, -2, 2);
		bounds[b] = time;
	}
	for (unsigned b = 1; b < n; b++)
		for (unsigned a = b; a > 0 && bounds[a - 1] > bounds[a]; a--) {
			int64_t other = bounds[a];

			bounds[a] = bounds[a - 1];
			bounds[a - 1] = other;
		}
	for (unsigned b = 0; b < n; b++)
		if (n_left == 0 || bounds[b] > bounds[n_left - 1])
			bounds[n_left++] = bounds[b];
	return n_left;
}

static void ask(uint32_t number, const struct series *series, uint32_t request, bool is_filtered, const int64_t *bounds,
		unsigned n_bounds, const struct iforest_sidecar *used, struct taken *taken)
{
	struct iforest_counter_scan *counting = calloc(1, sizeof *counting);
	struct iforest_aggregate aggregate;

	assert_non_null(counting);
	assert_ok(iforest_counter_scan_start(counting, request, is_filtered ? &odd_refs : NULL, &index_.store, &index_.manifest,
					 &pending.store, &pending.manifest));
	if (used)
		assert_ok(iforest_counter_scan_use(counting, used, (1u << index_.oracle.n_values) - 1));
	assert_ok(iforest_counter_scan_turn(counting, number, bounds[0], bounds[n_bounds - 1]));
	for (unsigned b = 0; b + 1 < n_bounds; b++) {
		bool found;

		assert_ok(iforest_counter_scan_bucket(counting, bounds[b], bounds[b + 1], &aggregate, &found));
		check_bucket(counting, &aggregate, series, bounds[b], bounds[b + 1], found);
	}
	taken->n_nodes += used ? counting->n_nodes : 0;
	*(used ? &taken->n_entries : &taken->n_entries_without) += counting->n_entries;
	iforest_counter_scan_release(counting);
	free(counting);
}

static struct taken compare_many(struct random *dice, unsigned n)
{
	static const uint32_t series[] = { 0, 1, UINT32_MAX };
	struct taken taken = { .n_nodes = 0 };

	for (unsigned i = 0; i < n; i++) {
		uint32_t number = series[random_below(dice, COUNT_OF(series))];
		uint32_t request = (uint32_t)random_below(dice, UINT64_C(1) << index_.oracle.n_values);
		bool is_filtered = random_chance(dice, 10);
		struct series all = gather(number, is_filtered);
		int64_t bounds[MOST_BUCKETS + 2];
		unsigned n_bounds = random_bounds(dice, &all, bounds);

		if (n_bounds > 1) {
			ask(number, &all, request, is_filtered, bounds, n_bounds, &sidecar.base, &taken);
			ask(number, &all, request, is_filtered, bounds, n_bounds, NULL, &taken);
		}
		free(all.entries);
	}
	return taken;
}

/* ---- random indexes ---- */

static void keep(void)
{
	for (uint32_t r = 0; r < index_.manifest.n_runs; r++)
		for (unsigned v = 0; v < index_.manifest.fields.n_values; v++)
			assert_ok(iforest_run_keep_counters(&index_.store, &index_.manifest, &index_.manifest.runs[r], v,
							    &sidecar.base));
}

/* A group more; times of a steady one begin at `start`. Reals are not so large that sums say nothing of their terms. */
static void add_run(struct sample_index *index, struct random *dice, size_t n, unsigned n_series, enum sample_times style,
		    int64_t start)
{
	unsigned group = sample_entries(index, dice, n, n_series, style);

	for (size_t i = 0; i < index->oracle.n_entries; i++) {
		struct oracle_entry *entry = &index->oracle.entries[i];

		if (entry->run != group)
			continue;
		if (style == SAMPLE_STEADY && !entry->time_is_null)
			entry->time += start;
		for (unsigned v = 0; v < index->oracle.n_values; v++)
			if (index->oracle.is_real[v] && entry->has[v])
				entry->value[v].real = (double)random_between(dice, -4000, 40000) / 8;
	}
	assert_ok(sample_build(index, group));
}

static void start_index(struct random *dice, unsigned round)
{
	static const struct { const char *kinds; int duration; } columns[] = { { "if", ORACLE_NONE }, { "if", 0 }, { "iif", 1 }, { "f", ORACLE_NONE } };
	struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 4, .kinds = columns[round % 4].kinds,
				      .duration = columns[round % 4].duration };
	unsigned n_series = 1 + round % 3;

	sample_start(&index_, &shape);
	sample_start(&pending, &shape);
	index_.seed = pending.seed = dice->seed;
	add_run(&index_, dice, 20000, n_series, SAMPLE_STEADY, 0);
	add_run(&index_, dice, 9000, n_series, SAMPLE_STEADY, INT64_C(20000000));
	add_run(&index_, dice, 30, n_series, SAMPLE_STEADY, INT64_C(12345678)); /* late samples */
	add_run(&index_, dice, 3000, n_series, round % 2 ? SAMPLE_STEADY : (enum sample_times)random_below(dice, SAMPLE_STYLES),
		INT64_C(29000000));
	pending.n_refs = 400000;
	memory_sidecar_start(&sidecar, &index_.core_alloc.alloc);
}

static void stop_index(void)
{
	memory_sidecar_clear(&sidecar);
	sample_stop(&pending);
	sample_stop(&index_);
}

static void any_bucket_is_the_oracles(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(8); round++) {
		struct random dice = random_from(random_seed() + round);
		struct taken taken;

		start_index(&dice, round);
		taken = compare_many(&dice, 4);
		assert_int_equal(taken.n_nodes, 0);
		keep();
		taken = compare_many(&dice, 12);
		assert_true(taken.n_nodes > 0 && taken.n_entries < taken.n_entries_without);
		for (unsigned k = 0; k < 4; k++) { /* old tables are not found, whether new ones are there or not */
			sample_remove(&index_, &dice, k % 2, 1 + 20 * (k / 2));
			compare_many(&dice, 4);
			keep();
			taken = compare_many(&dice, 6);
			assert_true(taken.n_nodes > 0);
		}
		add_run(&pending, &dice, 40, 1 + round % 3, SAMPLE_STEADY, INT64_C(28000000));
		add_run(&pending, &dice, 30, 1 + round % 3, (enum sample_times)random_below(&dice, SAMPLE_STYLES), 0);
		compare_many(&dice, 10);
		stop_index();
	}
}

/* ---- what goes wrong ---- */

static enum iforest_status whole(void)
{
	static struct iforest_counter_scan counting;
	struct iforest_aggregate aggregate;
	bool found;
	enum iforest_status status;

	memset(&counting, 0, sizeof counting);
	status = iforest_counter_scan_start(&counting, 1, NULL, &index_.store, &index_.manifest, &pending.store, &pending.manifest);
	if (!status)
		status = iforest_counter_scan_use(&counting, &sidecar.base, 1);
	if (!status)
		status = iforest_counter_scan_turn(&counting, 0, INT64_MIN, INT64_MAX);
	if (!status)
		status = iforest_counter_scan_bucket(&counting, INT64_MIN, INT64_MAX, &aggregate, &found);
	iforest_counter_scan_release(&counting);
	return status;
}

static void damaged_tables_are_reported(void **state)
{
	struct random dice = random_from(random_seed());
	unsigned n_wrong = 0;

	(void)state;
	start_index(&dice, 0);
	keep();
	assert_ok(whole());
	for (unsigned k = 0; k < sidecar.n; k++) {
		uint8_t *byte = &sidecar.kept[k].bytes[random_below(&dice, sidecar.kept[k].n_bytes)];

		*byte ^= 4;
		n_wrong += whole() == IFOREST_CORRUPT;
		*byte ^= 4;
	}
	assert_true(n_wrong > 0);
	assert_string_equal(index_.store.fault.what, IFOREST_COUNTER_WRONG);
	for (unsigned k = 0; k < sidecar.n; k++) /* sound ones, of other nodes */
		if (k + 1 < sidecar.n && sidecar.kept[k].name.level == sidecar.kept[k + 1].name.level &&
		    sidecar.kept[k].name.value == sidecar.kept[k + 1].name.value)
			assert_ok(sidecar.base.put(&sidecar, &sidecar.kept[k].name, sidecar.kept[k + 1].bytes,
						 sidecar.kept[k + 1].n_bytes));
	assert_status(whole(), IFOREST_CORRUPT);
	stop_index();
}

static void every_allocation_may_fail(void **state)
{
	struct random dice = random_from(random_seed());
	enum iforest_status status = IFOREST_NO_MEMORY;
	unsigned long n = 0;

	(void)state;
	start_index(&dice, 0);
	keep();
	while (status) {
		index_.core_alloc.fail_at = index_.core_alloc.n_calls + ++n;
		status = whole();
		assert_true(!status || status == IFOREST_NO_MEMORY);
	}
	index_.core_alloc.fail_at = 0;
	assert_true(n > 5);
	compare_many(&dice, 3);
	stop_index();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_bucket_is_the_oracles),
		cmocka_unit_test(damaged_tables_are_reported),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
