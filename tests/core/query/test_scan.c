/* Everything core does, against the oracle: build, scan, remove, merge, publish and read again. */
#include "core/query/scan.h"

#include "core/base/bits.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

static const struct sample_shape shapes[] = {
	{ .page_bytes = 1024, .max_batch_pages = 8, .kinds = "s", .duration = 0 },
	{ .page_bytes = 1024, .max_batch_pages = 1, .kinds = "", .duration = ORACLE_NONE },
	{ .page_bytes = 4000, .max_batch_pages = 16, .kinds = "if", .duration = 0 },
	{ .page_bytes = 1024, .max_batch_pages = 3, .kinds = "fsi", .duration = 2, .end_rule = IFOREST_END_COLUMN, .has_blocks = true },
	{ .page_bytes = 8152, .max_batch_pages = 4, .fixed_pages = true, .kinds = "sf", .duration = 0, .has_blocks = true },
	{ .page_bytes = 8152, .max_batch_pages = 4, .fixed_pages = true, .kinds = "f", .duration = ORACLE_NONE, .has_blocks = true },
	{ .page_bytes = 2048, .max_batch_pages = 2, .kinds = "fififsfi", .duration = 1 },
	{ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "i", .duration = 0, .end_rule = IFOREST_END_PER_1000 },
	{ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "i", .duration = 0, .end_rule = IFOREST_END_TIMES_1000 },
	{ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "i", .duration = 0, .end_rule = IFOREST_END_TIMES_1000000 },
	{ .page_bytes = 1025, .max_batch_pages = 2, .kinds = "is", .duration = 1 },
	{ .page_bytes = 2048, .max_batch_pages = 2, .kinds = "ssssssss", .duration = 7, .has_blocks = true },
	{ .page_bytes = 32768, .max_batch_pages = 1, .kinds = "i", .duration = 0 },
	{ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "h", .duration = 0 },
	{ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "p", .duration = 0 },
	{ .page_bytes = 2048, .max_batch_pages = 4, .kinds = "ipfsp", .duration = 0 },
	{ .page_bytes = 2048, .max_batch_pages = 4, .fixed_pages = true, .kinds = "shfh", .duration = 3, .has_blocks = true },
};

static size_t random_size(struct random *dice)
{
	return random_below(dice, 2 + random_below(dice, UINT64_C(1) << (2 + random_below(dice, 11))));
}

static void one_round(uint64_t seed)
{
	struct random dice = random_from(seed);
	struct sample_index index;
	unsigned n_runs = 1 + (unsigned)random_below(&dice, 4),
		 n_series = 1 + (unsigned)random_below(&dice, 1 + random_below(&dice, 50));

	sample_start(&index, &shapes[random_below(&dice, COUNT_OF(shapes))]);
	index.seed = seed;
	if (random_chance(&dice, 50))
		pager_fault_lend(&index.pager);
	for (unsigned r = 0; r < n_runs; r++) {
		unsigned group = sample_entries(&index, &dice, random_size(&dice), n_series,
						(enum sample_times)random_below(&dice, SAMPLE_STYLES));

		assert_ok(sample_build(&index, group));
	}
	sample_check(&index);
	sample_compare_many(&index, &dice, 30);
	for (unsigned phase = 0; phase < 3; phase++) {
		unsigned chosen[SAMPLE_GROUPS], n_chosen = 0;

		for (unsigned g = 0; g < index.n_groups; g++)
			if (sample_run(&index, g) < index.manifest.n_runs) {
				sample_remove(&index, &dice, g, (unsigned)random_below(&dice, 101));
				if (random_chance(&dice, 50))
					chosen[n_chosen++] = g;
			}
		sample_check(&index);
		sample_compare_many(&index, &dice, 20);
		if (n_chosen > 0)
			sample_merge(&index, chosen, n_chosen);
		assert_ok(sample_reread(&index));
		sample_check(&index);
		sample_compare_many(&index, &dice, 20);
		assert_ok(sample_build(&index, sample_entries(&index, &dice, random_size(&dice) / 4, n_series, SAMPLE_MIXED)));
	}
	sample_stop(&index);
}

static void random_indexes_answer_as_the_oracle_does(void **state)
{
	unsigned n_rounds = random_rounds(60);

	(void)state;
	for (unsigned r = 0; r < n_rounds; r++)
		one_round(random_seed() + r);
}

/* Every window, bucket count and step over a handful of entries. */
static void all_windows_of_a_small_index(void **state)
{
	struct sample_index index;
	struct iforest_request all = { .values = 3, .firsts = 3, .lasts = 3, .times = true, .node_fields = true };
	struct oracle_question q = { .series = 1 };

	(void)state;
	sample_start(&index, &(struct sample_shape){ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "if", .duration = 0 });
	for (int i = 0; i < 24; i++) {
		struct oracle_entry *entry = sample_append(&index, i % 2, i % 5 ? 1 : i % 3, i * 7 % 11 - 4, i);

		entry->has[0] = entry->has[1] = i % 7;
		entry->value[0].integer = entry->has[0] ? i % 4 - 1 : 0;
		entry->value[1].real = entry->has[1] ? i / 4.0 : 0;
		entry->time_is_null = i % 6 == 5;
		entry->time = entry->time_is_null ? 0 : entry->time;
	}
	assert_ok(sample_build(&index, 0));
	assert_ok(sample_build(&index, 1));
	for (unsigned open = 0; open < 4; open++)
		for (q.t0 = -6; q.t0 <= 8; q.t0++)
			for (q.t1 = -6; q.t1 <= 8; q.t1++) {
				q.has_t0 = open & 1;
				q.has_t1 = open & 2;
				q.mode = ORACLE_WHOLE;
				sample_compare(&index, &q, &all);
				q.mode = ORACLE_COUNT;
				for (q.n = 1; q.n <= 16 && open == 3; q.n++)
					sample_compare(&index, &q, &all);
				q.mode = ORACLE_STEP;
				for (q.step = 1; q.step <= 5; q.step++)
					for (q.origin = -2; q.origin <= 2; q.origin++)
						sample_compare(&index, &q, &all);
			}
	sample_stop(&index);
}

static void an_index_without_runs_has_no_rows(void **state)
{
	struct sample_index index;
	struct random dice = random_from(random_seed());

	(void)state;
	sample_start(&index, &shapes[0]);
	assert_ok(sample_build(&index, sample_entries(&index, &dice, 0, 1, SAMPLE_CROWDED)));
	assert_int_equal(index.manifest.n_runs, 0);
	assert_ok(sample_reread(&index));
	sample_compare_many(&index, &dice, 10);
	sample_stop(&index);
}

static void step_buckets_beyond_int64_are_an_error(void **state)
{
	struct sample_index index;
	struct iforest_request count = { .values = 0 };
	struct oracle_question q = { .series = 0, .mode = ORACLE_STEP, .step = 1, .origin = INT64_MIN };

	(void)state;
	sample_start(&index, &shapes[1]);
	sample_append(&index, 0, 0, INT64_MIN, 1);
	sample_append(&index, 0, 0, -1, 2);
	sample_append(&index, 0, 0, 0, 3);
	assert_ok(sample_build(&index, 0));
	sample_compare(&index, &q, &count);
	q.origin = INT64_MAX;
	sample_compare(&index, &q, &count);
	sample_stop(&index);
}

/* The last bucket that has a number, and has many entries, so that the next one is taken to be adjacent. */
static void the_last_step_bucket_has_no_neighbour(void **state)
{
	static const struct iforest_request extremes = { .values = 1, .extremes_alone = true };
	struct sample_index index;
	struct oracle_question q = { .series = 0, .mode = ORACLE_STEP, .step = 1, .origin = -INT64_MAX };

	(void)state;
	sample_start(&index, &shapes[0]);
	for (int i = 0; i < 400; i++) {
		struct oracle_entry *entry = sample_append(&index, 0, 0, i / 300, i);

		entry->has[0] = true;
		entry->value[0].integer = i * 7 % 100;
	}
	assert_ok(sample_build(&index, 0));
	sample_compare(&index, &q, &extremes);
	sample_stop(&index);
}

/* Two blocks of a page that change places: entries are out of order, but the checksum is right and the nodes are what they
 * were. */
static void forge_order(struct sample_index *index)
{
	const struct iforest_run *run = &index->manifest.runs[0];
	uint32_t *n_bytes;
	uint8_t *page = iforest_pager_memory_bytes(&index->memory, run->place.location, 0, &n_bytes);
	struct iforest_page_header header;
	const char *what;

	assert_ok(iforest_page_check(page, *n_bytes, run->place.run_id, 0, 0, false, &header, &what));
	assert_true(header.n_items > 1);
	iforest_store64(page + IFOREST_PAGE_HEADER + 8, 1000);
	iforest_page_finish(page, &header);
}

/* Whoever goes on from time to time is not held where he stands, be it by hand, in steps or in steps without numbers. */
static void pages_out_of_order_hold_nobody(void **state)
{
	static const struct iforest_bucketing buckets[] = {
		{ .mode = IFOREST_STEP, .step = 1 },
		{ .mode = IFOREST_STEP, .step = 1, .origin = INT64_MIN },
		{ .mode = IFOREST_COUNT, .n = 100, .window = { true, true, 0, 128 } },
	};
	static const struct iforest_request count = { .values = 0 };
	struct sample_index index;
	struct iforest_scan scan;
	struct iforest_aggregate aggregate;
	int64_t bucket, time;
	enum iforest_status status = IFOREST_OK;
	bool found = true;

	(void)state;
	sample_start(&index, &shapes[1]);
	for (int i = 0; i < 128; i++)
		sample_append(&index, 0, 0, i, i * i);
	assert_ok(sample_build(&index, 0));
	forge_order(&index);
	assert_ok(iforest_scan_init(&scan, &index.store, &index.manifest));
	for (unsigned n = 0; n < 1000 && !status && found; n++) {
		if (n == 0)
			status = iforest_scan_start(&scan, 0);
		if (!status)
			status = iforest_scan_earliest(&scan, &time, &found);
		if (!status && found)
			status = iforest_scan_through(&scan, time, &count, &aggregate);
	}
	assert_status(status, IFOREST_CORRUPT);
	assert_string_equal(index.store.fault.what, "entries are out of order");
	for (unsigned b = 0; b < COUNT_OF(buckets); b++) {
		scan.bucketing = buckets[b];
		status = iforest_scan_start(&scan, 0);
		for (found = true; !status && found;)
			status = iforest_scan_next(&scan, &bucket, &aggregate, &found);
		assert_status(status, IFOREST_CORRUPT);
		assert_string_equal(index.store.fault.what, "entries are out of order");
	}
	iforest_scan_release(&scan);
	sample_stop(&index);
}

/* Nobody asks for the bucket of an entry that was removed. */
static void removed_entries_exceed_nothing(void **state)
{
	struct sample_index index;
	struct iforest_request count = { .values = 0 };
	struct oracle_question q = { .series = 0, .mode = ORACLE_STEP, .step = 1, .origin = 5 };
	struct random dice = random_from(random_seed());

	(void)state;
	sample_start(&index, &shapes[1]);
	sample_append(&index, 0, 0, INT64_MIN, 1);
	sample_append(&index, 0, 0, INT64_MIN + 1, 2);
	assert_ok(sample_build(&index, 0));
	sample_append(&index, 1, 0, 0, 3);
	assert_ok(sample_build(&index, 1));
	sample_compare(&index, &q, &count);
	sample_remove(&index, &dice, 0, 100);
	sample_compare(&index, &q, &count);
	sample_stop(&index);
}

static enum iforest_filter_class no_node(void *context, const uint8_t *node)
{
	(void)context;
	(void)node;
	return IFOREST_COUNTS_NONE;
}

static enum iforest_status no_entry(void *context, struct iforest_block_reader *reader, uint64_t *live)
{
	(void)context;
	(void)reader;
	*live = 0;
	return IFOREST_OK;
}

static uint64_t rows_of_series(struct iforest_scan *scan, uint64_t series)
{
	struct iforest_aggregate aggregate;
	uint64_t n_rows = 0;
	int64_t bucket;
	bool found;

	assert_ok(iforest_scan_start(scan, series));
	for (;;) {
		assert_ok(iforest_scan_next(scan, &bucket, &aggregate, &found));
		if (!found)
			return n_rows;
		n_rows += aggregate.n_rows;
	}
}

/* One index cut in two: what its first run has and what the others have, as of two stores. */
static void runs_of_another_store_join(void **state)
{
	static const struct iforest_filter nothing = { .of_node = no_node, .of_entries = no_entry };
	struct sample_index index;
	struct iforest_manifest first, others;
	struct iforest_store store;
	struct iforest_scan scan, joined;
	struct random dice = random_from(random_seed());

	(void)state;
	sample_start(&index, &shapes[0]);
	for (unsigned group = 0; group < 3; group++) {
		sample_entries(&index, &dice, 400, 3, SAMPLE_STEADY);
		assert_ok(sample_build(&index, group));
	}
	first = others = index.manifest;
	first.n_runs = 1;
	others.runs++;
	others.n_runs--;
	store = index.store;
	assert_ok(iforest_scan_init(&scan, &index.store, &index.manifest));
	assert_ok(iforest_scan_init(&joined, &index.store, &first));
	assert_ok(iforest_scan_join(&joined, &store, &others));
	for (int filtered = 0; filtered < 2; filtered++)
		for (uint64_t series = 0; series < 4; series++)
			for (int buckets = 0; buckets < 2; buckets++) {
				joined.bucketing = (struct iforest_bucketing){ .mode = buckets ? IFOREST_STEP : IFOREST_WHOLE,
									       .step = 1000 };
				scan.bucketing = joined.bucketing;
				joined.request = (struct iforest_request){ .filter = filtered ? &nothing : NULL };
				if (!filtered) {
					assert_int_equal(rows_of_series(&joined, series), rows_of_series(&scan, series));
				} else {
					uint64_t n_all = rows_of_series(&scan, series),
						 n_others = rows_of_series(&joined, series);

					assert_true(n_others <= n_all && (n_others < n_all || n_all == 0));
				}
			}
	iforest_scan_release(&joined);
	iforest_scan_release(&scan);
	sample_stop(&index);
}

/* A series gone on with from any of its buckets gives what follows it. */
static void a_series_is_gone_on_with(void **state)
{
	static const struct iforest_request all = { .values = 1 },
					   extremes = { .values = 1, .no_mins = 1, .extremes_alone = true };
	struct sample_index index;
	struct iforest_scan scan, other;
	struct random dice = random_from(random_seed());

	(void)state;
	sample_start(&index, &shapes[0]);
	for (unsigned group = 0; group < 3; group++) {
		sample_entries(&index, &dice, 3000, 3, SAMPLE_STEADY);
		assert_ok(sample_build(&index, group));
	}
	assert_ok(iforest_scan_init(&scan, &index.store, &index.manifest));
	assert_ok(iforest_scan_init(&other, &index.store, &index.manifest));
	for (unsigned round = 0; round < 60; round++) {
		uint64_t series = random_below(&dice, 4);
		unsigned after = (unsigned)random_below(&dice, 40), n = 0;
		struct iforest_aggregate a, b;
		int64_t bucket, same;
		bool found = true, found_too = true;

		scan.bucketing = (struct iforest_bucketing){ .mode = round % 3 ? IFOREST_STEP : IFOREST_WHOLE,
							     .step = random_between(&dice, 1, 100000),
							     .window = { .has_t0 = round & 1, .t0 = 500 } };
		scan.request = round & 1 ? all : extremes;
		other.bucketing = scan.bucketing;
		other.request = scan.request;
		assert_ok(iforest_scan_start(&scan, series));
		while (found) {
			assert_ok(iforest_scan_next(&scan, &bucket, &a, &found));
			if (n > after) {
				assert_ok(iforest_scan_next(&other, &same, &b, &found_too));
				assert_true(found_too == found && (!found || same == bucket));
				assert_true(!found || memcmp(&a.values[0].max, &b.values[0].max, sizeof a.values[0].max) == 0);
			} else if (n == after && found) {
				iforest_scan_unpin(&other);
				assert_ok(iforest_scan_start_after(&other, series, bucket));
			}
			n++;
		}
	}
	iforest_scan_release(&other);
	iforest_scan_release(&scan);
	sample_stop(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_indexes_answer_as_the_oracle_does),
		cmocka_unit_test(all_windows_of_a_small_index),
		cmocka_unit_test(an_index_without_runs_has_no_rows),
		cmocka_unit_test(step_buckets_beyond_int64_are_an_error),
		cmocka_unit_test(the_last_step_bucket_has_no_neighbour),
		cmocka_unit_test(pages_out_of_order_hold_nobody),
		cmocka_unit_test(removed_entries_exceed_nothing),
		cmocka_unit_test(runs_of_another_store_join),
		cmocka_unit_test(a_series_is_gone_on_with),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
