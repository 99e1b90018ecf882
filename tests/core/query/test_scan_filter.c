/* Scans by hand (buckets that end anywhere) under a filter, against brute force over the oracle's entries. */
#include "core/query/scan.h"

#include "core/base/bits.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

/* Entries count if value 0 lies between low and high. */
struct range {
	const struct iforest_node_schema *fields;
	int64_t low, high;
	const struct pager_fault *pager; /* has lent no page while anything is asked */
	bool asks_for_most; /* IFOREST_COUNTS_MOST instead of IFOREST_COUNTS_SOME */
	uint64_t n_nodes[4];
};

static bool is_inside(const struct range *range, int64_t value)
{
	return value >= range->low && value <= range->high;
}

static enum iforest_filter_class of_node(void *context, const uint8_t *bytes)
{
	struct range *range = context;
	struct iforest_node node;
	const struct iforest_value_aggregate *values = &node.aggregate.values[0];
	enum iforest_filter_class verdict = range->asks_for_most ? IFOREST_COUNTS_MOST : IFOREST_COUNTS_SOME;

	assert_false(range->pager->is_lent);
	iforest_node_read(&node, range->fields, bytes);
	if (values->n == 0 || values->min.value.integer > range->high || values->max.value.integer < range->low)
		verdict = IFOREST_COUNTS_NONE;
	else if (values->n == node.aggregate.n_rows && is_inside(range, values->min.value.integer) &&
		 is_inside(range, values->max.value.integer))
		verdict = IFOREST_COUNTS_ALL;
	range->n_nodes[verdict]++;
	return verdict;
}

static enum iforest_status of_entries(void *context, struct iforest_block_reader *reader, uint64_t *live)
{
	struct range *range = context;
	enum iforest_status status = iforest_block_need(reader, IFOREST_VALUES);

	assert_false(range->pager->is_lent);
	for (unsigned i = 0; i < reader->block.n && !status; i++)
		if (!(reader->block.present[0] >> i & 1) || !is_inside(range, reader->block.values[0][i]))
			*live &= ~(UINT64_C(1) << i);
	return status;
}

/* What a bucket is by definition. */
struct expected {
	uint64_t n_rows;
	oracle_int128 sum;
	int64_t min, max, first, last;
};

static struct expected brute_force(const struct sample_index *index, const struct range *range, uint32_t series, bool nulls,
				   int64_t from, int64_t through)
{
	struct expected expected = { .n_rows = 0 };

	for (size_t i = 0; i < index->oracle.n_entries; i++) {
		const struct oracle_entry *entry = &index->oracle.entries[i];
		int64_t value = entry->value[0].integer;

		if (entry->is_dead || entry->series != series || entry->time_is_null != nulls || !entry->has[0] ||
		    !is_inside(range, value) || (!nulls && (entry->time < from || entry->time > through)))
			continue;
		if (expected.n_rows == 0)
			expected = (struct expected){ .min = value, .max = value, .first = entry->time, .last = entry->time };
		expected.n_rows++;
		expected.sum += value;
		expected.min = value < expected.min ? value : expected.min;
		expected.max = value > expected.max ? value : expected.max;
		expected.first = entry->time < expected.first ? entry->time : expected.first;
		expected.last = entry->time > expected.last ? entry->time : expected.last;
	}
	return expected;
}

static void compare(const struct expected *expected, const struct iforest_aggregate *got, const struct iforest_request *request,
		    bool nulls)
{
	assert_int_equal(got->n_rows, expected->n_rows);
	if (expected->n_rows == 0)
		return;
	assert_int_equal(got->values[0].n, expected->n_rows);
	assert_true(got->values[0].sum == expected->sum);
	if (!request->no_mins)
		assert_true(got->values[0].min.value.integer == expected->min);
	if (!request->no_maxs)
		assert_true(got->values[0].max.value.integer == expected->max);
	assert_true(got->has_times == (request->times && !nulls));
	if (got->has_times)
		assert_true(got->first_time == expected->first && got->last_time == expected->last);
}

static int64_t latest_by_hand(const struct sample_index *index, uint32_t series, int64_t until, bool *found)
{
	int64_t latest = INT64_MIN;

	*found = false;
	for (size_t i = 0; i < index->oracle.n_entries; i++) {
		const struct oracle_entry *entry = &index->oracle.entries[i];

		if (entry->series != series || entry->time_is_null || entry->time > until)
			continue;
		latest = entry->time > latest ? entry->time : latest;
		*found = true;
	}
	return latest;
}

/* The end of a bucket: near, or the time of any entry, so that nodes lie in between. */
static int64_t random_end(const struct sample_index *index, struct random *dice, int64_t time)
{
	int64_t other = index->oracle.entries[random_below(dice, index->oracle.n_entries)].time;

	if (time > INT64_MAX - 2000 || random_chance(dice, 3))
		return INT64_MAX;
	return other > time && random_chance(dice, 20) ? other : time + (int64_t)random_below(dice, 1000);
}

/* Passes a series in buckets of random width, and then its entries without a time. */
static void one_series(struct sample_index *index, struct random *dice, struct iforest_scan *scan,
		       const struct iforest_request *request, const struct range *range, uint32_t series)
{
	struct iforest_request timeless = { .values = 1, .no_mins = request->no_mins, .filter = request->filter };
	struct iforest_aggregate got;
	int64_t from = INT64_MIN, time, latest, until = random_chance(dice, 50) ? INT64_MAX : random_between(dice, -200, 2000);
	bool found, expected_found, at_end = false;
	struct expected expected;

	latest = latest_by_hand(index, series, until, &expected_found);
	assert_ok(iforest_scan_latest(scan, series, until, &time, &found));
	assert_int_equal(found, expected_found);
	assert_true(!found || time == latest);
	assert_ok(iforest_scan_start(scan, series));
	while (!at_end) {
		int64_t through;

		assert_ok(iforest_scan_earliest(scan, &time, &found));
		assert_true(!found || time >= from);
		/* where it finds no more, there is none */
		through = found ? random_end(index, dice, time) : INT64_MAX;
		iforest_aggregate_clear(&got, index->manifest.fields.n_values, &index->manifest.fields.accumulators);
		if (found)
			assert_ok(iforest_scan_through(scan, through, request, &got));
		expected = brute_force(index, range, series, false, from, through);
		compare(&expected, &got, request, false);
		at_end = through == INT64_MAX;
		from = at_end ? from : through + 1;
	}
	iforest_aggregate_clear(&got, index->manifest.fields.n_values, &index->manifest.fields.accumulators);
	assert_ok(iforest_scan_nulls(scan, &timeless, &got));
	expected = brute_force(index, range, series, true, 0, 0);
	compare(&expected, &got, &timeless, true);
}

static void everything(struct sample_index *index, struct iforest_scan *scan, const struct iforest_request *request,
		       const struct range *range)
{
	struct iforest_aggregate got;
	uint64_t n_rows = 0;
	oracle_int128 sum = 0;

	for (size_t i = 0; i < index->oracle.n_entries; i++) {
		const struct oracle_entry *entry = &index->oracle.entries[i];

		if (entry->is_dead || !entry->has[0] || !is_inside(range, entry->value[0].integer))
			continue;
		n_rows++;
		sum += entry->value[0].integer;
	}
	iforest_aggregate_clear(&got, index->manifest.fields.n_values, &index->manifest.fields.accumulators);
	assert_ok(iforest_scan_everything(scan, &(struct iforest_request){ .values = 1, .filter = request->filter }, &got));
	assert_int_equal(got.n_rows, n_rows);
	assert_true(got.values[0].sum == sum);
}

static void one_round(uint64_t seed, uint64_t *n_nodes)
{
	struct random dice = random_from(seed);
	unsigned n_series = 1 + (unsigned)random_below(&dice, 5);
	struct sample_index index;
	struct iforest_scan scan;
	struct range range = { .low = random_between(&dice, -50, 400) };
	struct iforest_filter filter = { .context = &range, .of_node = of_node, .of_entries = of_entries };
	struct iforest_request request = { .values = 1, .times = random_chance(&dice, 50), .no_mins = random_chance(&dice, 30),
					 .no_maxs = random_chance(&dice, 30), .no_rows = random_chance(&dice, 50),
					 .filter = &filter };

	range.asks_for_most = random_chance(&dice, 60);
	range.high = range.low + random_between(&dice, 0, 100000);
	if (random_chance(&dice, 30))
		range.low = INT64_MIN;
	if (random_chance(&dice, 50))
		range.high = INT64_MAX;
	if (random_chance(&dice, 30))
		range.low = INT64_MIN, range.high = INT64_MAX;
	sample_start(&index, &(struct sample_shape){ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "i", .duration = 0 });
	index.seed = seed;
	range.fields = &index.manifest.fields;
	range.pager = &index.pager;
	if (random_chance(&dice, 50))
		pager_fault_lend(&index.pager);
	for (unsigned r = 0; r < 3; r++) {
		unsigned group = sample_entries(&index, &dice, random_below(&dice, 3000), n_series,
						(enum sample_times)random_below(&dice, SAMPLE_STYLES));

		assert_ok(sample_build(&index, group));
		if (sample_run(&index, group) < index.manifest.n_runs)
			sample_remove(&index, &dice, group, (unsigned)random_below(&dice, 60));
	}
	assert_ok(iforest_scan_init(&scan, &index.store, &index.manifest));
	for (uint32_t series = 0; series < n_series; series++)
		one_series(&index, &dice, &scan, &request, &range, series);
	everything(&index, &scan, &request, &range);
	assert_true(iforest_scan_leaf_pages(&scan) <= iforest_scan_pages(&scan));
	iforest_scan_release(&scan);
	for (unsigned verdict = 0; verdict < 4; verdict++)
		n_nodes[verdict] += range.n_nodes[verdict];
	sample_stop(&index);
}

static void filtered_buckets_are_what_brute_force_says(void **state)
{
	unsigned n_rounds = random_rounds(40);
	uint64_t n_nodes[4] = { 0 };

	(void)state;
	for (unsigned r = 0; r < n_rounds; r++)
		one_round(random_seed() + r, n_nodes);
	/* each verdict was given: else nothing was tried */
	for (unsigned verdict = 0; verdict < 4; verdict++)
		assert_true(n_nodes[verdict] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filtered_buckets_are_what_brute_force_says),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
