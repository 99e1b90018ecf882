/* The longest span of each bucket, of those that overlap it and of those that start in it, against looking at all spans:
 * many spans of few lengths, short ones and some over everything, in several pages and runs; with the maxima of pages and
 * without; from the middle on. */
#include "core/query/longest.h"

#include "core/query/overlap.h"
#include "tests/support/harness.h"
#include "tests/support/pager_maxima.h"
#include "tests/support/sample_index.h"

struct question {
	const struct sample_index *index;
	struct iforest_bucketing bucketing;
	uint32_t series;
};

/* Times near one another, in no order, so that runs interleave; lengths with as many bits as chance says, some the same. */
static void append_spans(struct sample_index *index, struct random *dice, unsigned group, unsigned n_series)
{
	size_t n = 1 + random_below(dice, 3000);
	int64_t span_every = INT64_C(1) << random_below(dice, 6), end = (int64_t)n * span_every;
	unsigned most_bits = (unsigned)random_between(dice, 1, 14), percent_long = (unsigned)random_below(dice, 3);
	int64_t mask = random_chance(dice, 30) ? ~INT64_C(7) : -1;

	for (size_t i = 0; i < n; i++) {
		struct oracle_entry *entry = sample_append(index, group, (uint32_t)random_below(dice, n_series),
							   random_between(dice, 0, end), (int64_t)index->n_refs++);

		entry->has[0] = random_chance(dice, 97);
		entry->value[0].integer = random_between(dice, -1, INT64_C(1) << random_below(dice, most_bits)) & mask;
		if (random_chance(dice, percent_long))
			entry->value[0].integer = random_between(dice, 0, 2 * end);
		if (!entry->has[0])
			entry->value[0].integer = 0;
		entry->time_is_null = random_chance(dice, percent_long);
		if (entry->time_is_null)
			entry->time = 0;
	}
}

static struct iforest_extreme expected_row(const struct question *q, int64_t from, int64_t to, bool overlaps, bool *found)
{
	struct iforest_extreme best = { .is_set = false };

	*found = false;
	for (size_t i = 0; i < q->index->oracle.n_entries; i++) {
		const struct oracle_entry *entry = &q->index->oracle.entries[i];
		struct iforest_extreme row = { .value.integer = entry->value[0].integer, .time = entry->time, .ref = entry->ref,
			.is_set = entry->has[0] };

		if (entry->is_dead || entry->time_is_null || entry->series != q->series || entry->time >= to)
			continue;
		if (entry->time < from && !(overlaps && entry->has[0] && entry->value[0].integer > from - entry->time))
			continue;
		*found = true;
		iforest_extreme_max(&best, &row, IFOREST_INT64);
	}
	return best;
}

static void check(const struct question *q, int64_t expected, int64_t bucket, bool found, const struct iforest_extreme *row,
		  bool overlaps)
{
	int64_t from, to, at = expected;
	bool after_all, is_there = false;
	struct iforest_extreme best = { .is_set = false };

	for (; at < q->bucketing.n && !is_there; at++) {
		from = iforest_bucket_start(&q->bucketing, at);
		to = iforest_bucket_end(&q->bucketing, at, &after_all);
		best = expected_row(q, from, to, overlaps, &is_there);
	}
	if (found != is_there || (found && (bucket != at - 1 || row->is_set != best.is_set)) ||
	    (found && best.is_set && (row->value.integer != best.value.integer || row->time != best.time ||
				      row->ref != best.ref)))
		fail_msg("seed %llu: series %u, window %lld to %lld, n %lld: %s bucket %lld (%d) has %lld at %lld, "
			 "not bucket %lld (%d) %lld at %lld",
			 (unsigned long long)q->index->seed, q->series, (long long)q->bucketing.window.t0,
				 (long long)q->bucketing.window.t1,
			 (long long)q->bucketing.n, overlaps ? "overlapped" : "started in", (long long)bucket, found,
				 (long long)row->value.integer,
			 (long long)row->time, (long long)at - 1, is_there, (long long)best.value.integer,
				 (long long)best.time);
}

static unsigned compare_overlaps(const struct question *q, struct iforest_overlap *overlap, struct random *dice)
{
	struct iforest_aggregate aggregate;
	int64_t bucket = -1, after = 0;
	bool found = true, restarts = random_chance(dice, 20);
	unsigned n_longest;

	overlap->bucketing = q->bucketing;
	overlap->wants_longest = overlap->longest_alone = true;
	assert_ok(iforest_overlap_start(overlap, q->series));
	n_longest = overlap->is_longest;
	while (found) {
		assert_ok(iforest_overlap_next(overlap, &bucket, &aggregate, &found));
		check(q, after, bucket, found, &aggregate.values[0].max, true);
		assert_int_equal(aggregate.n_rows > 0, found);
		after = bucket + 1;
		if (found && restarts && random_chance(dice, 10))
			assert_ok(iforest_overlap_start_after(overlap, q->series, bucket));
	}
	return n_longest;
}

static void compare_starts(const struct question *q, struct iforest_scan *scan)
{
	struct iforest_aggregate aggregate;
	int64_t bucket = -1, after = 0;
	bool found = true;

	scan->bucketing = q->bucketing;
	scan->joined_filter = NULL;
	scan->request = (struct iforest_request){ .values = 1, .no_mins = 1, .extremes_alone = true };
	assert_ok(iforest_scan_start(scan, q->series));
	while (found) {
		assert_ok(iforest_scan_next(scan, &bucket, &aggregate, &found));
		check(q, after, bucket, found, &aggregate.values[0].max, false);
		after = bucket + 1;
	}
}

static unsigned one_round(uint64_t seed)
{
	static const struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 8, .kinds = "i", .duration = 0 };
	struct random dice = random_from(seed);
	unsigned n_runs = 1 + (unsigned)random_below(&dice, 3), n_series = 1 + (unsigned)random_below(&dice, 3), n_longest = 0;
	struct sample_index index;
	struct pager_maxima maxima;
	struct iforest_scan scan;
	struct iforest_overlap overlap;
	struct question q = { .index = &index, .bucketing = { .mode = IFOREST_COUNT, .window = { .has_t0 = true,
		.has_t1 = true } } };

	sample_start(&index, &shape);
	index.seed = seed;
	for (unsigned r = 0; r < n_runs; r++) {
		append_spans(&index, &dice, r, n_series);
		assert_ok(sample_build(&index, r));
		if (random_chance(&dice, 15))
			sample_remove(&index, &dice, r, (unsigned)random_below(&dice, 30));
	}
	pager_maxima_start(&maxima, index.store.pager);
	if (random_chance(&dice, 75))
		index.store.pager = &maxima.pager;
	assert_ok(iforest_scan_init(&scan, &index.store, &index.manifest));
	assert_ok(iforest_overlap_init(&overlap, &scan));
	for (unsigned i = 0; i < 12; i++) {
		struct iforest_window *window = &q.bucketing.window;

		window->t0 = random_between(&dice, -100, INT64_C(1) << random_between(&dice, 4, 16));
		window->t1 = window->t0 + random_between(&dice, 1, INT64_C(1) << random_below(&dice, 18));
		q.bucketing.n = 1 + (int64_t)random_below(&dice, UINT64_C(1) << random_below(&dice, 9));
		q.series = (uint32_t)random_below(&dice, n_series + 1);
		n_longest += compare_overlaps(&q, &overlap, &dice);
		if (q.bucketing.n <= window->t1 - window->t0)
			compare_starts(&q, &scan);
	}
	iforest_overlap_release(&overlap);
	iforest_scan_release(&scan);
	index.store.pager = maxima.inner;
	pager_maxima_stop(&maxima);
	sample_stop(&index);
	return n_longest;
}

static void longest_spans_are_those_of_all_spans(void **state)
{
	unsigned n_rounds = random_rounds(60), n_longest = 0;

	(void)state;
	for (unsigned r = 0; r < n_rounds; r++)
		n_longest += one_round(random_seed() + r);
	assert_true(n_longest > n_rounds);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(longest_spans_are_those_of_all_spans) };

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
