#include "core/model/bucket.h"

#include "core/base/bits.h"
#include "tests/support/harness.h"
#include "tests/support/random.h"

static struct iforest_bucketing count(int64_t t0, int64_t t1, int64_t n)
{
	return (struct iforest_bucketing){ .mode = IFOREST_COUNT, .n = n, .window = { true, true, t0, t1 } };
}

static struct iforest_bucketing step(int64_t width, int64_t origin)
{
	return (struct iforest_bucketing){ .mode = IFOREST_STEP, .step = width, .origin = origin };
}

static int64_t bucket_of(const struct iforest_bucketing *bucketing, int64_t time)
{
	int64_t bucket;

	assert_ok(iforest_bucket_of(bucketing, time, &bucket));
	return bucket;
}

/* A time lies between the bounds of its bucket. */
static void assert_inside(const struct iforest_bucketing *bucketing, int64_t time)
{
	int64_t bucket = bucket_of(bucketing, time), end;
	bool after_all;

	end = iforest_bucket_end(bucketing, bucket, &after_all);
	assert_true(iforest_bucket_start(bucketing, bucket) <= time);
	assert_true(after_all || time < end);
	if (bucketing->mode == IFOREST_COUNT)
		assert_true(bucket >= 0 && bucket < bucketing->n);
}

static void windows(void **state)
{
	struct iforest_window w = { true, true, -2, 3 };

	(void)state;
	assert_false(iforest_window_holds(&w, -3));
	assert_true(iforest_window_holds(&w, -2));
	assert_true(iforest_window_holds(&w, 2));
	assert_false(iforest_window_holds(&w, 3));
	assert_false(iforest_window_is_empty(&w));
	w.has_t0 = false;
	assert_true(iforest_window_holds(&w, INT64_MIN));
	w.has_t1 = false;
	assert_true(iforest_window_holds(&w, INT64_MAX));
	assert_false(iforest_window_is_empty(&w));
	assert_true(iforest_window_is_empty(&(struct iforest_window){ true, true, 3, 3 }));
	assert_true(iforest_window_is_empty(&(struct iforest_window){ true, true, 4, 3 }));
	assert_true(iforest_window_is_empty(&(struct iforest_window){ .has_t1 = true, .t1 = INT64_MIN }));
	assert_false(iforest_window_is_empty(&(struct iforest_window){ .has_t1 = true, .t1 = INT64_MIN + 1 }));
	assert_false(iforest_window_is_empty(&(struct iforest_window){ .has_t0 = true, .t0 = INT64_MAX }));
}

static void senseless_bucketings_are_refused(void **state)
{
	struct iforest_bucketing open = count(0, 10, 3), whole = { .mode = IFOREST_WHOLE };

	(void)state;
	assert_ok(iforest_bucketing_check(&whole));
	assert_ok(iforest_bucketing_check(&open));
	open.window.has_t0 = false;
	assert_status(iforest_bucketing_check(&open), IFOREST_ARGUMENT);
	open.window.has_t0 = true;
	open.window.has_t1 = false;
	assert_status(iforest_bucketing_check(&open), IFOREST_ARGUMENT);
	for (int64_t n = -1; n <= 1; n++) {
		struct iforest_bucketing by_n = count(0, 10, n), by_step = step(n, 0);

		assert_status(iforest_bucketing_check(&by_n), n > 0 ? IFOREST_OK : IFOREST_ARGUMENT);
		assert_status(iforest_bucketing_check(&by_step), n > 0 ? IFOREST_OK : IFOREST_ARGUMENT);
	}
}

/* By definition: bucket i is [t0 + floor(i W / n), t0 + floor((i + 1) W / n)). */
static void n_buckets_are_as_defined(void **state)
{
	(void)state;
	for (int64_t width = 1; width <= 25; width++)
		for (int64_t n = 1; n <= 40; n++) {
			struct iforest_bucketing b = count(-7, -7 + width, n);
			bool after_all;

			for (int64_t i = 0; i < n; i++) {
				assert_int_equal(iforest_bucket_start(&b, i), -7 + i * width / n);
				assert_int_equal(iforest_bucket_end(&b, i, &after_all), -7 + (i + 1) * width / n);
				assert_false(after_all);
				for (int64_t time = -7 + i * width / n; time < -7 + (i + 1) * width / n; time++)
					assert_int_equal(bucket_of(&b, time), i);
			}
		}
}

static void step_buckets_are_as_defined(void **state)
{
	(void)state;
	for (int64_t width = 1; width <= 6; width++)
		for (int64_t origin = -4; origin <= 4; origin++) {
			struct iforest_bucketing b = step(width, origin);
			bool after_all;

			for (int64_t i = -5; i <= 5; i++) {
				assert_int_equal(iforest_bucket_start(&b, i), origin + i * width);
				assert_int_equal(iforest_bucket_end(&b, i, &after_all), origin + (i + 1) * width);
				for (int64_t time = origin + i * width; time < origin + (i + 1) * width; time++)
					assert_int_equal(bucket_of(&b, time), i);
			}
		}
}

/* With bounds that are rounded up the number of a bucket is floor((t - t0) n / W). */
static void bounds_may_be_rounded_up(void **state)
{
	(void)state;
	for (int64_t width = 1; width <= 12; width++)
		for (int64_t n = 1; n <= 15; n++) {
			struct iforest_bucketing b = count(-5, width - 5, n);

			b.edges = IFOREST_EDGES_UP;
			for (int64_t time = -5; time < width - 5; time++) {
				assert_int_equal(bucket_of(&b, time), (time + 5) * n / width);
				assert_inside(&b, time);
			}
		}
	for (unsigned i = 0; i < 2; i++) {
		struct iforest_bucketing b = count(INT64_MIN, INT64_MAX, i ? INT64_MAX : 7);

		b.edges = IFOREST_EDGES_UP;
		assert_inside(&b, INT64_MIN);
		assert_inside(&b, 0);
		assert_inside(&b, INT64_MAX - 1);
	}
}

static void nothing_overflows_at_the_ends_of_int64(void **state)
{
	static const int64_t times[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1 };
	static const int64_t widths[] = { 1, 2, 3, 1920, INT64_MAX - 1, INT64_MAX };
	struct iforest_bucketing all = { .mode = IFOREST_WHOLE };
	int64_t bucket;
	bool after_all;

	(void)state;
	for (unsigned t = 0; t < COUNT_OF(times); t++)
		for (unsigned w = 0; w < COUNT_OF(widths); w++) {
			struct iforest_bucketing by_n = count(INT64_MIN, INT64_MAX, widths[w]), by_step = step(widths[w], 0);

			assert_inside(&by_n, times[t]);
			assert_inside(&by_step, times[t]);
		}
	assert_int_equal(iforest_bucket_start(&all, 0), INT64_MIN);
	assert_int_equal(iforest_bucket_end(&all, 0, &after_all), INT64_MAX);
	assert_true(after_all);
	all = step(INT64_MAX, 0); /* the bucket of INT64_MAX ends beyond int64, that of INT64_MIN starts before it */
	assert_int_equal(bucket_of(&all, INT64_MAX), 1);
	assert_int_equal(iforest_bucket_end(&all, 1, &after_all), INT64_MAX);
	assert_true(after_all);
	assert_int_equal(bucket_of(&all, INT64_MIN), -2);
	assert_true(iforest_bucket_start(&all, -2) == INT64_MIN);
	all = step(1, INT64_MAX); /* numbers that do not fit */
	assert_status(iforest_bucket_of(&all, INT64_MIN, &bucket), IFOREST_RANGE);
	all = step(1, INT64_MIN);
	assert_int_equal(bucket_of(&all, -1), INT64_MAX);
	assert_status(iforest_bucket_of(&all, 0, &bucket), IFOREST_RANGE);
}

static void random_times_lie_in_their_bucket(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		int64_t a = random_between(&dice, INT64_MIN, INT64_MAX) >> random_below(&dice, 64);
		int64_t b = random_between(&dice, INT64_MIN, INT64_MAX) >> random_below(&dice, 64);
		struct iforest_bucketing by_n = count(a < b ? a : b, a < b ? b : a,
						      1 + (random_between(&dice, 0, INT64_MAX - 1) >> random_below(&dice, 63)));
		struct iforest_bucketing by_step = step(by_n.n, random_between(&dice, -1000, 1000));
		int64_t bucket;

		if (a == b)
			continue;
		assert_inside(&by_n, random_between(&dice, by_n.window.t0, by_n.window.t1 - 1));
		if (!iforest_bucket_of(&by_step, a, &bucket)) /* with step 1 the origin can push it out of int64 */
			assert_inside(&by_step, a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows),
		cmocka_unit_test(senseless_bucketings_are_refused),
		cmocka_unit_test(n_buckets_are_as_defined),
		cmocka_unit_test(step_buckets_are_as_defined),
		cmocka_unit_test(bounds_may_be_rounded_up),
		cmocka_unit_test(nothing_overflows_at_the_ends_of_int64),
		cmocka_unit_test(random_times_lie_in_their_bucket),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
