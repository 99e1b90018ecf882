/* tests/core/query/test_sketch_scan.c -- Sketches of both kinds of ranges of runs, with and without kept ones, byte for byte those of the
 * oracle's entries. */
#include "core/base/xxh64.h"
#include "core/query/sketch_scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/run/writer.h"
#include "tests/support/harness.h"
#include "tests/support/memory_sidecar.h"
#include "tests/support/sample_index.h"

static struct memory_sidecar sidecar;
static enum iforest_digest_kind kind; /* of the test at work */

static int of_quantiles(void **state)
{
	(void)state;
	kind = IFOREST_DIGEST_QUANTILES;
	return 0;
}

static int of_distinct_values(void **state)
{
	(void)state;
	kind = IFOREST_DIGEST_DISTINCT;
	return 0;
}

static enum iforest_status keep_value(struct sample_index *index, uint32_t r, unsigned v)
{
	const struct iforest_run *run = &index->manifest.runs[r];

	return kind == IFOREST_DIGEST_DISTINCT
		       ? iforest_run_keep_distincts(&index->store, &index->manifest, run, v, &sidecar.base)
		       : iforest_run_keep_sketches(&index->store, &index->manifest, run, v, &sidecar.base);
}

static void keep(struct sample_index *index)
{
	for (uint32_t r = 0; r < index->manifest.n_runs; r++)
		for (unsigned v = 0; v < index->manifest.fields.n_values; v++)
			assert_ok(keep_value(index, r, v));
}

/* ---- comparing ---- */

static void oracle_sketch(const struct sample_index *index, const struct iforest_key *from, const struct iforest_key *to,
			  unsigned v, bool is_filtered, struct iforest_digest *sketch)
{
	for (size_t i = 0; i < index->oracle.n_entries; i++) {
		const struct oracle_entry *entry = &index->oracle.entries[i];
		struct iforest_key key = sample_key(entry);
		bool is_real = index->oracle.is_real[v];
		union iforest_number number = { .integer = entry->value[v].integer };

		if (entry->is_dead || !entry->has[v] || (is_filtered && entry->series > 0 && entry->ref % 2 == 0))
			continue;
		if (iforest_key_compare(&key, from) >= 0 && iforest_key_compare(&key, to) < 0)
			assert_ok(iforest_digest_add(sketch, number, is_real ? IFOREST_FLOAT64 : IFOREST_INT64));
	}
}

/* A multiset of numbers, by a sum of hashes. */
struct hashed_numbers {
	uint64_t n, sum;
};

static enum iforest_status take_number(void *context, union iforest_number number)
{
	struct hashed_numbers *numbers = context;

	numbers->n++;
	numbers->sum += iforest_xxh64((const uint8_t *)&number, sizeof number);
	return IFOREST_OK;
}

static struct hashed_numbers oracle_numbers(const struct sample_index *index, const struct iforest_key *from,
					    const struct iforest_key *to, unsigned v, bool is_filtered)
{
	struct hashed_numbers numbers = { .n = 0 };

	for (size_t i = 0; i < index->oracle.n_entries; i++) {
		const struct oracle_entry *entry = &index->oracle.entries[i];
		struct iforest_key key = sample_key(entry);

		if (entry->is_dead || !entry->has[v] || (is_filtered && entry->series > 0 && entry->ref % 2 == 0))
			continue;
		if (iforest_key_compare(&key, from) >= 0 && iforest_key_compare(&key, to) < 0)
			(void)take_number(&numbers, (union iforest_number){ .integer = entry->value[v].integer });
	}
	return numbers;
}

static void compare_values(struct sample_index *index, struct iforest_scan *scan, const struct iforest_key *from,
			   const struct iforest_key *to, unsigned v)
{
	struct hashed_numbers expected = oracle_numbers(index, from, to, v, scan->request.filter), actual = { .n = 0 };

	assert_ok(iforest_scan_values(scan, from, to, v, take_number, &actual));
	assert_int_equal(actual.n, expected.n);
	assert_int_equal(actual.sum, expected.sum);
}

static enum iforest_status refuse_third(void *context, union iforest_number number)
{
	unsigned *n = context;

	(void)number;
	return ++*n == 3 ? IFOREST_RANGE : IFOREST_OK;
}

static void compare(struct sample_index *index, struct iforest_scan *scan, const struct iforest_key *from,
		    const struct iforest_key *to, unsigned v)
{
	struct iforest_digest expected, actual;
	uint8_t *expected_bytes, *bytes;
	size_t n_expected, n_bytes;

	iforest_digest_init(&expected, kind, &index->core_alloc.alloc);
	iforest_digest_init(&actual, kind, &index->core_alloc.alloc);
	oracle_sketch(index, from, to, v, scan->request.filter, &expected);
	compare_values(index, scan, from, to, v);
	assert_ok(iforest_scan_sketch(scan, from, to, v, &sidecar.base, &actual));
	assert_ok(iforest_digest_write(&expected, &expected_bytes, &n_expected));
	assert_ok(iforest_digest_write(&actual, &bytes, &n_bytes));
	if (n_bytes != n_expected || memcmp(bytes, expected_bytes, n_bytes) != 0)
		fail_msg("another sketch of %zu bytes instead of %zu, seed %" PRIu64, n_bytes, n_expected, index->seed);
	iforest_release(&index->core_alloc.alloc, bytes);
	iforest_release(&index->core_alloc.alloc, expected_bytes);
	iforest_digest_release(&expected);
	iforest_digest_release(&actual);
}

/* Random ranges, within series and over several, from and to entries that are there. */
static void compare_many(struct sample_index *index, struct random *dice, unsigned n)
{
	struct iforest_scan scan;

	assert_ok(iforest_scan_init(&scan, &index->store, &index->manifest));
	for (unsigned i = 0; i < n; i++) {
		struct iforest_key from = sample_key(&index->oracle.entries[random_below(dice, index->oracle.n_entries)]);
		struct iforest_key to = sample_key(&index->oracle.entries[random_below(dice, index->oracle.n_entries)]);
		uint32_t series = (uint32_t)random_below(dice, 4);

		if (random_chance(dice, 30)) { /* a whole series */
			from = iforest_key_at(series, INT64_MIN);
			to = random_chance(dice, 50) ? iforest_key_nulls(series) : iforest_key_at(series + 1, INT64_MIN);
		}
		if (random_chance(dice, 10))
			to = iforest_key_at((uint64_t)UINT32_MAX + 1, INT64_MIN);
		scan.request.filter = random_chance(dice, 30) ? &sample_odd_refs : NULL;
		compare(index, &scan, &from, &to, (unsigned)random_below(dice, index->manifest.fields.n_values));
	}
	iforest_scan_release(&scan);
}

static void start(struct sample_index *index, struct random *dice, unsigned n_series)
{
	static const struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 4, .kinds = "if", .duration = 0 };

	sample_start(index, &shape);
	index->seed = dice->seed;
	sample_entries(index, dice, 30000, n_series, SAMPLE_STEADY);
	assert_ok(sample_build(index, 0));
	sample_entries(index, dice, 6000, n_series, SAMPLE_CROWDED);
	assert_ok(sample_build(index, 1));
	memory_sidecar_start(&sidecar, &index->core_alloc.alloc);
}

static void any_range_is_the_oracles(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(3); round++) {
		struct random dice = random_from(random_seed() + round);
		struct sample_index index;
		unsigned n_put;

		start(&index, &dice, 1 + round % 3);
		compare_many(&index, &dice, 20);
		assert_int_equal(sidecar.n_got, 0);
		keep(&index);
		n_put = sidecar.n_put;
		assert_true(n_put > 0);
		keep(&index);
		assert_int_equal(sidecar.n_put, n_put);
		compare_many(&index, &dice, 60);
		assert_true(sidecar.n_got > 0);
		for (unsigned k = 0; k < 4; k++) { /* old sketches are not found, whether new ones are there or not */
			sample_remove(&index, &dice, k % 2, 1 + 20 * (k / 2));
			compare_many(&index, &dice, 20);
			keep(&index);
			compare_many(&index, &dice, 20);
		}
		assert_true(sidecar.n_put > n_put);
		memory_sidecar_clear(&sidecar);
		sample_stop(&index);
	}
}

static void few_removals_make_few_sketches_old(void **state)
{
	struct random dice = random_from(random_seed());
	struct sample_index index;
	struct iforest_key *keys;
	size_t *picked, n;
	unsigned n_put;

	(void)state;
	start(&index, &dice, 1);
	keep(&index);
	n_put = sidecar.n_put;
	n = sample_pick(&index, &dice, 0, 100, &keys, &picked);
	assert_true(n > 20000);
	assert_ok(iforest_run_remove(&index.store, &index.manifest, index.run_ids[0], keys + n / 2, 1));
	index.oracle.entries[picked[n / 2]].is_dead = true;
	keep(&index);
	assert_true(sidecar.n_put - n_put <= 2 * index.manifest.runs[0].n_levels);
	assert_true(sidecar.n_put - n_put < n_put);
	compare_many(&index, &dice, 20);
	free(keys);
	free(picked);
	memory_sidecar_clear(&sidecar);
	sample_stop(&index);
}

/* ---- what it costs ---- */

/* The bytes of a sketch, with and without what is kept, must be the same. Gives the leaf pages that it took with it. */
static uint64_t leaf_pages_of(struct sample_index *index, struct iforest_scan *scan, const struct iforest_key *from,
			      const struct iforest_key *to)
{
	uint64_t n_before = iforest_scan_leaf_pages(scan), n_pages = 0;
	uint8_t *bytes[2];
	size_t n_bytes[2];

	for (unsigned k = 0; k < 2; k++) {
		struct iforest_digest sketch;

		iforest_digest_init(&sketch, kind, &index->core_alloc.alloc);
		assert_ok(iforest_scan_sketch(scan, from, to, 0, k ? NULL : &sidecar.base, &sketch));
		n_pages = k ? n_pages : iforest_scan_leaf_pages(scan) - n_before;
		assert_ok(iforest_digest_write(&sketch, &bytes[k], &n_bytes[k]));
		iforest_digest_release(&sketch);
	}
	assert_int_equal(n_bytes[0], n_bytes[1]);
	assert_memory_equal(bytes[0], bytes[1], n_bytes[0]);
	iforest_release(&index->core_alloc.alloc, bytes[0]);
	iforest_release(&index->core_alloc.alloc, bytes[1]);
	return n_pages;
}

/* Asks for windows of one series between two times. */
static uint64_t most_leaf_pages(struct sample_index *index, struct iforest_scan *scan, int64_t earliest, int64_t latest,
				struct random *dice)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < 300; i++) {
		uint64_t series = random_below(dice, 4), n_pages;
		int64_t from_time = random_between(dice, earliest, latest);
		struct iforest_key from = iforest_key_at(series, from_time),
				   to = iforest_key_at(series, random_between(dice, from_time, latest));

		n_pages = leaf_pages_of(index, scan, &from, &to);
		most = n_pages > most ? n_pages : most;
	}
	print_message("at most %u leaf pages a window\n", (unsigned)most);
	return most;
}

static void a_window_reads_the_leaf_pages_of_one_node_page(void **state)
{
	enum { N = 400000, A_SERIES = N / 4 };
	struct sample_index index;
	struct random dice = random_from(random_seed());
	struct iforest_run_writer *builder = malloc(sizeof *builder);
	struct iforest_run run;
	struct iforest_scan scan;
	uint64_t n_bytes, most;
	int64_t margin;

	(void)state;
	assert_non_null(builder);
	sample_start(&index, &(struct sample_shape){ .page_bytes = 4000, .max_batch_pages = 16, .kinds = "i", .duration = 0 });
	assert_ok(iforest_run_writer_start(builder, &index.store, &index.manifest));
	for (int64_t i = 0; i < N; i++) {
		struct iforest_entry entry = {
			.key = { .series = (uint64_t)(i / A_SERIES), .time = i % A_SERIES * 1000, .ref = i }, .present = 1
		};

		entry.values[0].integer = (int64_t)(random_next(&dice) >> (40 + random_below(&dice, 24)));
		assert_ok(iforest_run_writer_add(builder, &entry));
	}
	assert_ok(iforest_run_writer_finish(builder, &run));
	assert_ok(sample_add_run(&index, &run));
	free(builder);
	memory_sidecar_start(&sidecar, &index.core_alloc.alloc);
	keep(&index);
	n_bytes = memory_sidecar_bytes(&sidecar);
	print_message("%u leaf pages, %u sketches of %.3f bytes an entry\n", run.n_leaves, sidecar.n, (double)n_bytes / N);
	/* a tenth of a byte an entry; distinct sketches of many values are larger */
	assert_true(n_bytes * (kind == IFOREST_DIGEST_DISTINCT ? 5 : 10) < N);
	assert_ok(iforest_scan_init(&scan, &index.store, &index.manifest));
	/* the entries inside are read at either end, or, where they can be taken out, those outside */
	margin = (N / run.n_leaves + 1) * index.manifest.fanout * INT64_C(1000);
	most = most_leaf_pages(&index, &scan, margin, A_SERIES * INT64_C(1000) - margin, &dice);
	assert_in_range(most, 1, (kind == IFOREST_DIGEST_DISTINCT ? 2 : 1) * index.manifest.fanout + 4);
	/* in a node page where a series begins or ends there is nothing to take out of */
	most = most_leaf_pages(&index, &scan, 0, A_SERIES * INT64_C(1000), &dice);
	assert_in_range(most, 1, 2 * index.manifest.fanout + 4);
	iforest_scan_release(&scan);
	memory_sidecar_clear(&sidecar);
	sample_stop(&index);
}

/* ---- what goes wrong ---- */

static enum iforest_status whole(struct sample_index *index)
{
	struct iforest_key from = iforest_key_at(0, INT64_MIN), to = iforest_key_at(1, INT64_MIN);
	struct iforest_digest sketch;
	struct iforest_scan scan;
	enum iforest_status status = iforest_scan_init(&scan, &index->store, &index->manifest);

	if (status)
		return status;
	iforest_digest_init(&sketch, kind, &index->core_alloc.alloc);
	status = iforest_scan_sketch(&scan, &from, &to, 0, &sidecar.base, &sketch);
	iforest_digest_release(&sketch);
	iforest_scan_release(&scan);
	return status;
}

static void whoever_takes_values_may_end_the_scan(void **state)
{
	struct random dice = random_from(random_seed());
	struct iforest_key from = iforest_key_at(0, INT64_MIN), to = iforest_key_at(UINT32_MAX, INT64_MIN);
	struct sample_index index;
	struct iforest_scan scan;
	unsigned n = 0;

	(void)state;
	start(&index, &dice, 1);
	assert_ok(iforest_scan_init(&scan, &index.store, &index.manifest));
	assert_status(iforest_scan_values(&scan, &from, &to, 0, refuse_third, &n), IFOREST_RANGE);
	assert_int_equal(n, 3);
	iforest_scan_release(&scan);
	memory_sidecar_clear(&sidecar);
	sample_stop(&index);
}

static void damaged_sketches_are_reported(void **state)
{
	struct random dice = random_from(random_seed());
	struct sample_index index;
	struct iforest_digest other;
	uint8_t *bytes;
	size_t n_bytes;

	(void)state;
	start(&index, &dice, 1);
	keep(&index);
	assert_ok(whole(&index));
	for (unsigned k = 0; k < sidecar.n; k++)
		sidecar.kept[k].bytes[random_below(&dice, sidecar.kept[k].n_bytes)] ^= 4;
	assert_status(whole(&index), IFOREST_CORRUPT);
	assert_string_equal(index.store.fault.what, "the sketch kept of the page is wrong");
	assert_int_equal(index.store.fault.run_id, index.manifest.runs[0].place.run_id);
	assert_in_range(index.store.fault.level, 1, index.manifest.runs[0].n_levels);
	iforest_digest_init(&other, kind, &index.core_alloc.alloc); /* a sound one, of other numbers */
	assert_ok(iforest_digest_write(&other, &bytes, &n_bytes));
	for (unsigned k = 0; k < sidecar.n; k++)
		assert_ok(sidecar.base.put(&sidecar, &sidecar.kept[k].name, bytes, n_bytes));
	iforest_release(&index.core_alloc.alloc, bytes);
	assert_status(whole(&index), IFOREST_CORRUPT);
	memory_sidecar_clear(&sidecar);
	sample_stop(&index);
}

static void every_allocation_may_fail(void **state)
{
	struct random dice = random_from(random_seed());
	struct sample_index index;
	enum iforest_status status = IFOREST_NO_MEMORY;
	unsigned long n = 0;

	(void)state;
	start(&index, &dice, 1);
	while (status) {
		index.core_alloc.fail_at = index.core_alloc.n_calls + ++n;
		status = keep_value(&index, 0, 0);
		if (!status)
			status = whole(&index);
		assert_true(!status || status == IFOREST_NO_MEMORY);
	}
	index.core_alloc.fail_at = 0;
	assert_true(n > 5);
	compare_many(&index, &dice, 10);
	memory_sidecar_clear(&sidecar);
	sample_stop(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(any_range_is_the_oracles, of_quantiles),
		cmocka_unit_test_setup(few_removals_make_few_sketches_old, of_quantiles),
		cmocka_unit_test_setup(a_window_reads_the_leaf_pages_of_one_node_page, of_quantiles),
		cmocka_unit_test_setup(whoever_takes_values_may_end_the_scan, of_quantiles),
		cmocka_unit_test_setup(damaged_sketches_are_reported, of_quantiles),
		cmocka_unit_test_setup(every_allocation_may_fail, of_quantiles),
		cmocka_unit_test_setup(any_range_is_the_oracles, of_distinct_values),
		cmocka_unit_test_setup(few_removals_make_few_sketches_old, of_distinct_values),
		cmocka_unit_test_setup(a_window_reads_the_leaf_pages_of_one_node_page, of_distinct_values),
		cmocka_unit_test_setup(damaged_sketches_are_reported, of_distinct_values),
		cmocka_unit_test_setup(every_allocation_may_fail, of_distinct_values),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
