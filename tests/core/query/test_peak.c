/* Peaks of a series, or of several at once, against their definition: how many are open at each time at which a span starts,
 * and at the start of each bucket. */
#include "core/query/peak.h"

#include <stdlib.h>

#include "tests/support/harness.h"
#include "tests/support/sample_list.h"

enum { MOST_BUCKETS = 40 };

/* ---- the definition ---- */

/* Sorted: starts and ends of spans with a length, and the times of points. */
struct spans {
	oracle_int128 *starts, *ends, *points;
	size_t n, n_points;
};

static int compare(const void *left, const void *right)
{
	oracle_int128 a = *(const oracle_int128 *)left, b = *(const oracle_int128 *)right;

	return (a > b) - (a < b);
}

static void add_entries(struct spans *spans, const struct oracle_entry **entries, size_t n, bool are_ends)
{
	spans->starts = realloc(spans->starts, (spans->n + n + 1) * sizeof *spans->starts);
	spans->ends = realloc(spans->ends, (spans->n + n + 1) * sizeof *spans->ends);
	spans->points = realloc(spans->points, (spans->n_points + n + 1) * sizeof *spans->points);
	assert_true(spans->starts && spans->ends && spans->points);
	for (size_t i = 0; i < n; i++) {
		if (entries[i]->has[0] && entries[i]->value[0].integer > (are_ends ? entries[i]->time : 0)) {
			spans->starts[spans->n] = entries[i]->time;
			spans->ends[spans->n++] = (oracle_int128)(are_ends ? 0 : entries[i]->time) + entries[i]->value[0].integer;
		} else {
			spans->points[spans->n_points++] = entries[i]->time;
		}
	}
	qsort(spans->starts, spans->n, sizeof *spans->starts, compare);
	qsort(spans->ends, spans->n, sizeof *spans->ends, compare);
	qsort(spans->points, spans->n_points, sizeof *spans->points, compare);
}

static void forget(struct spans *spans)
{
	free(spans->starts);
	free(spans->ends);
	free(spans->points);
}

/* How many of the sorted times are at or before that one. */
static size_t up_to(const oracle_int128 *times, size_t n, oracle_int128 time)
{
	size_t low = 0;

	while (n > 0) {
		size_t half = n / 2;

		if (times[low + half] <= time) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low;
}

static void consider(const struct spans *spans, oracle_int128 time, bool with_points, struct iforest_peak *peak)
{
	size_t n = up_to(spans->starts, spans->n, time - !with_points) - up_to(spans->ends, spans->n, time);

	if (with_points)
		n += up_to(spans->points, spans->n_points, time) - up_to(spans->points, spans->n_points, time - 1);
	if (n > 0 && (n > peak->n || (n == peak->n && time < peak->time)))
		*peak = (struct iforest_peak){ .n = n, .time = (int64_t)time };
}

static struct iforest_peak definition(const struct spans *spans, const struct iforest_bucketing *bucketing, int64_t bucket)
{
	const struct iforest_window *window = &bucketing->window;
	bool after_all, has_start = bucketing->mode != IFOREST_WHOLE || window->has_t0;
	oracle_int128 start = iforest_bucket_start(bucketing, bucket), end = iforest_bucket_end(bucketing, bucket, &after_all);
	struct iforest_peak peak = { .n = 0 };

	if (after_all)
		end = (oracle_int128)INT64_MAX + 1;
	if (window->has_t0 && start < window->t0)
		start = window->t0;
	if (window->has_t1 && end > window->t1)
		end = window->t1;
	if (iforest_window_is_empty(window))
		return peak;
	if (has_start)
		consider(spans, start, start < end, &peak);
	for (size_t i = 0; i < spans->n; i++)
		if (spans->starts[i] >= start && spans->starts[i] < end)
			consider(spans, spans->starts[i], true, &peak);
	for (size_t i = 0; i < spans->n_points; i++)
		if (spans->points[i] >= start && spans->points[i] < end)
			consider(spans, spans->points[i], true, &peak);
	return peak;
}

/* ---- questions ---- */

static uint32_t choose_series(struct random *dice, uint32_t *series)
{
	uint32_t n = random_chance(dice, 60) ? 1 : (uint32_t)random_below(dice, 5);

	for (uint32_t s = 0; s < n; s++)
		series[s] = n == 1 ? (uint32_t)random_below(dice, 4) : s;
	return n;
}

/* Around the time of some entry, so that it is seldom of nothing. */
static struct iforest_bucketing random_bucketing(struct random *dice, int64_t time, int64_t other)
{
	struct iforest_bucketing bucketing = { .mode = (enum iforest_bucketing_mode)random_below(dice, 3),
					       .n = 1 + (int64_t)random_below(dice, MOST_BUCKETS),
					       .step = 1 + (int64_t)random_below(dice, UINT64_C(1) << random_below(dice, 62)),
					       .origin = random_chance(dice, 50) ? 0 : time,
					       .window = { .has_t0 = random_chance(dice, 60),
							   .has_t1 = random_chance(dice, 60),
							   .t0 = time,
							   .t1 = other } };

	if (random_chance(dice, 20) && time < INT64_MAX - 20)
		bucketing.window.t1 = time + 1 + (int64_t)random_below(dice, 20);
	if (bucketing.mode == IFOREST_COUNT)
		bucketing.window.has_t0 = bucketing.window.has_t1 = true;
	return bucketing;
}

static unsigned n_peaks, n_high;

static void one_bucket(const struct spans *spans, struct iforest_peak_reader *reader, int64_t bucket, uint64_t seed)
{
	struct iforest_peak expected = definition(spans, &reader->bucketing, bucket), got;

	assert_ok(iforest_peak_of_bucket(reader, bucket, &got));
	if (got.n != expected.n || got.time != expected.time)
		fail_msg("seed %llu: bucket %lld: %llu at %lld, not %llu at %lld", (unsigned long long)seed, (long long)bucket,
			 (unsigned long long)got.n, (long long)got.time, (unsigned long long)expected.n,
			 (long long)expected.time);
	n_peaks += got.n > 0;
	n_high += got.n > 5;
}

/* Buckets in ascending order, with some left out. */
static void ask_buckets(const struct spans *spans, struct iforest_peak_reader *reader, struct random *dice,
			const int64_t *times, size_t n_times, uint64_t seed)
{
	const struct iforest_bucketing *bucketing = &reader->bucketing;
	int64_t bucket, last = INT64_MIN;
	bool has_last = false;

	if (bucketing->mode != IFOREST_STEP) {
		for (bucket = 0; bucket < (bucketing->mode == IFOREST_COUNT ? bucketing->n : 1); bucket++)
			if (random_chance(dice, 80))
				one_bucket(spans, reader, bucket, seed);
		return;
	}
	for (size_t i = 0; i < n_times; i++)
		if (iforest_window_holds(&bucketing->window, times[i]) &&
		    !iforest_bucket_of(bucketing, times[i], &bucket) && (!has_last || bucket > last)) {
			one_bucket(spans, reader, bucket, seed);
			has_last = true;
			last = bucket;
		}
}

static void one_question(struct sample_index *two, struct random *dice, struct iforest_peak_reader *reader,
			 struct sample_hidden *hidden, uint64_t seed)
{
	uint32_t series[5], n_series = choose_series(dice, series);
	struct sample_hidden *hides = random_chance(dice, 50) ? hidden : NULL;
	struct spans spans = { .n = 0 };
	int64_t times[MOST_BUCKETS + 2] = { 0, 100 };
	size_t n_times = 2;

	for (uint32_t s = 0; s < n_series; s++) {
		struct sample_list_question asked = { .from = iforest_key_at(series[s], INT64_MIN),
						      .to = iforest_key_nulls(series[s]),
						      .order = sample_ascending,
						      .hidden = hides };
		const struct oracle_entry **entries;
		size_t n;

		entries = sample_list(two, 2, &asked, &n);
		add_entries(&spans, entries, n, two[0].manifest.fields.end_rule == IFOREST_END_COLUMN);
		for (size_t i = 0; n > 0 && n_times < COUNT_OF(times) && i < 10; i++)
			times[n_times++] = entries[random_below(dice, n)]->time;
		free(entries);
	}
	reader->bucketing = random_bucketing(dice, times[random_below(dice, n_times)], times[random_below(dice, n_times)]);
	reader->filter = hides ? &hidden->filter : NULL;
	for (size_t i = 1; i < n_times; i++) /* ascending */
		for (size_t k = i; k > 0 && times[k - 1] > times[k]; k--) {
			int64_t time = times[k];

			times[k] = times[k - 1];
			times[k - 1] = time;
		}
	assert_ok(iforest_bucketing_check(&reader->bucketing));
	assert_ok(iforest_peak_start(reader, series, n_series));
	ask_buckets(&spans, reader, dice, times, n_times, seed);
	forget(&spans);
}

static void one_round(uint64_t seed)
{
	struct random dice = random_from(seed);
	struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 4, .kinds = "i", .duration = 0,
				      .end_rule = random_chance(&dice, 30) ? IFOREST_END_COLUMN : IFOREST_END_DURATION };
	struct sample_index two[2];
	struct sample_hidden hidden;
	struct iforest_peak_reader reader;

	sample_start_two(two, &dice, &shape, 1 + (unsigned)random_below(&dice, 5),
			 (enum sample_times)random_below(&dice, SAMPLE_STYLES));
	sample_hide(&hidden, &two[0], &dice);
	assert_ok(iforest_peak_init(&reader, &two[0].store, &two[0].manifest));
	assert_ok(iforest_peak_join(&reader, &two[1].store, &two[1].manifest));
	for (unsigned q = 0; q < 30; q++)
		one_question(two, &dice, &reader, &hidden, seed);
	iforest_peak_release(&reader);
	sample_stop(&two[0]);
	sample_stop(&two[1]);
}

static void peaks_are_those_of_the_definition(void **state)
{
	unsigned n_rounds = random_rounds(100);

	(void)state;
	for (unsigned r = 0; r < n_rounds; r++)
		one_round(random_seed() + r);
	print_message("%u peaks, %u above 5\n", n_peaks, n_high);
	assert_true(n_peaks > 50 * n_rounds && n_high > 40 * n_rounds);
}

/* Every window and number of buckets over a handful of spans. */
static void all_windows_of_a_small_index(void **state)
{
	static const int64_t durations[] = { 0, 3, 12, 1, -1, 2, 5, INT64_MAX, -7, 0 };
	struct sample_index index;
	struct iforest_peak_reader reader;
	const struct oracle_entry *entries[20];
	struct spans spans = { .n = 0 };

	(void)state;
	sample_start(&index, &(struct sample_shape){ .page_bytes = 1024, .max_batch_pages = 8, .kinds = "i", .duration = 0 });
	for (int i = 0; i < 20; i++) {
		struct oracle_entry *entry = sample_append(&index, i % 2, 1, i * 7 % 11 - 4, i);

		entry->has[0] = i % 7;
		entry->value[0].integer = entry->has[0] ? durations[i % 10] : 0;
	}
	for (size_t i = 0; i < COUNT_OF(entries); i++)
		entries[i] = &index.oracle.entries[i];
	add_entries(&spans, entries, COUNT_OF(entries), false);
	assert_ok(sample_build(&index, 0));
	assert_ok(sample_build(&index, 1));
	assert_ok(iforest_peak_init(&reader, &index.store, &index.manifest));
	for (int64_t t0 = -6; t0 <= 9; t0++)
		for (int64_t t1 = t0 + 1; t1 <= 10; t1++)
			for (int64_t n = 1; n <= 24; n++) {
				reader.bucketing = (struct iforest_bucketing){ .mode = IFOREST_COUNT,
									       .n = n,
									       .window = { true, true, t0, t1 } };
				assert_ok(iforest_peak_start(&reader, (const uint32_t[]){ 1 }, 1));
				for (int64_t bucket = 0; bucket < n; bucket++)
					one_bucket(&spans, &reader, bucket, 0);
			}
	iforest_peak_release(&reader);
	forget(&spans);
	sample_stop(&index);
}

/* Those that end beyond the greatest time are open at it; those that end there are not. */
static void ends_are_exact_at_the_greatest_time(void **state)
{
	struct sample_index index;
	struct iforest_peak_reader reader;
	struct iforest_peak peak;

	(void)state;
	sample_start(&index, &(struct sample_shape){ .page_bytes = 1024, .max_batch_pages = 8, .kinds = "i", .duration = 0 });
	for (int i = 0; i < 6; i++) {
		struct oracle_entry *entry = sample_append(&index, 0, 1, INT64_MAX - 10, i);

		entry->has[0] = true;
		entry->value[0].integer = i < 3 ? 10 : 11;
	}
	assert_ok(sample_build(&index, 0));
	assert_ok(iforest_peak_init(&reader, &index.store, &index.manifest));
	for (int64_t ago = 0; ago < 2; ago++) {
		reader.bucketing.window = (struct iforest_window){ .has_t0 = true, .t0 = INT64_MAX - ago };
		assert_ok(iforest_peak_start(&reader, (const uint32_t[]){ 1 }, 1));
		assert_ok(iforest_peak_of_bucket(&reader, 0, &peak));
		assert_int_equal(peak.n, ago ? 6 : 3);
		assert_true(peak.time == INT64_MAX - ago);
	}
	iforest_peak_release(&reader);
	sample_stop(&index);
}

/* An index that keeps no durations has no spans. */
static void without_durations_there_are_none(void **state)
{
	struct sample_index index;
	struct iforest_peak_reader reader;

	(void)state;
	sample_start(&index, &(struct sample_shape){ .page_bytes = 1024, .max_batch_pages = 8, .kinds = "i", .duration = ORACLE_NONE });
	assert_status(iforest_peak_init(&reader, &index.store, &index.manifest), IFOREST_ARGUMENT);
	iforest_peak_release(&reader);
	sample_stop(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peaks_are_those_of_the_definition),
		cmocka_unit_test(all_windows_of_a_small_index),
		cmocka_unit_test(ends_are_exact_at_the_greatest_time),
		cmocka_unit_test(without_durations_there_are_none),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
