#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "trace/span_depth.h"

struct span {
	int64_t ts_ns, dur_ns;
};

static void expect_depths(const struct span *spans, const int64_t *expected, size_t n_spans)
{
	struct trace_span_depth depths = { 0 };

	trace_span_depth_start_track(&depths);
	for (size_t i = 0; i < n_spans; i++) {
		int64_t depth = -1;

		assert_int_equal(trace_span_depth_next(&depths, spans[i].ts_ns, spans[i].dur_ns, &depth), TRACE_OK);
		if (depth != expected[i])
			fail_msg("span %zu has depth %lld instead of %lld", i, (long long)depth, (long long)expected[i]);
	}
	trace_span_depth_release(&depths);
}

#define EXPECT_DEPTHS(spans, expected) expect_depths(spans, expected, sizeof(spans) / sizeof *(spans))

static void nested_spans_are_deeper(void **state)
{
	static const struct span spans[] = {
		{ 0, 100 }, { 0, 50 }, { 10, 10 }, { 20, 10 }, { 50, 50 }, { 99, 1 }, { 100, 5 }
	};
	static const int64_t expected[] = { 0, 1, 2, 2, 1, 2, 0 };

	(void)state;
	EXPECT_DEPTHS(spans, expected);
}

static void zero_holds_nothing_and_a_negative_duration_never_ends(void **state)
{
	static const struct span spans[] = { { 0, 10 }, { 5, 0 }, { 5, 0 }, { 5, -1 }, { 6, 10 }, { 10, 0 } };
	static const int64_t expected[] = { 0, 1, 1, 1, 2, 3 };

	(void)state;
	EXPECT_DEPTHS(spans, expected);
}

/* The second span outlives the first: while it is on top, the first, though ended, counts. */
static void partial_overlaps_follow_the_stack(void **state)
{
	static const struct span spans[] = { { 0, 10 }, { 5, 20 }, { 12, 1 }, { 25, 1 } };
	static const int64_t expected[] = { 0, 1, 2, 0 };

	(void)state;
	EXPECT_DEPTHS(spans, expected);
}

static void extreme_times_do_not_overflow(void **state)
{
	static const struct span spans[] = {
		{ INT64_MIN, INT64_MAX },     { INT64_MIN, 1 }, { -2, 1 },	  { -1, INT64_MAX },
		{ INT64_MAX - 2, INT64_MAX }, { INT64_MAX - 1, 5 },	{ INT64_MAX, 3 }, { INT64_MAX, 0 },
	};
	static const int64_t expected[] = { 0, 1, 1, 0, 1, 2, 3, 4 };

	(void)state;
	/* INT64_MIN + INT64_MAX is -1, so the first span ends there; -1 + INT64_MAX is INT64_MAX - 1, but a span above
     * that one is open by then. */
	EXPECT_DEPTHS(spans, expected);
}

static void a_new_track_starts_flat(void **state)
{
	struct trace_span_depth depths = { 0 };
	int64_t depth;

	(void)state;
	for (int track = 0; track < 3; track++) {
		trace_span_depth_start_track(&depths);
		for (int64_t i = 0; i < 1000; i++) {
			assert_int_equal(trace_span_depth_next(&depths, i, 5000, &depth), TRACE_OK);
			assert_int_equal(depth, i);
		}
	}
	trace_span_depth_release(&depths);
}

static int by_ts_then_longest(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	if (a->ts_ns != b->ts_ns)
		return a->ts_ns < b->ts_ns ? -1 : 1;
	return (a->dur_ns < b->dur_ns) - (a->dur_ns > b->dur_ns);
}

/* The rule by its words: when span i starts, those before it are looked at from the latest on; an ended one is gone for
 * good, and the first that has not ended protects all below it. */
static void random_spans_agree_with_the_rule_by_hand(void **state)
{
	enum { N_SPANS = 200 };
	unsigned seed = 4711;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct span spans[N_SPANS];
		int64_t expected[N_SPANS];
		int gone[N_SPANS] = { 0 };

		for (int i = 0; i < N_SPANS; i++) {
			seed = seed * 1664525u + 1013904223u;
			spans[i] = (struct span){ (int64_t)(seed >> 8) % 300, (int64_t)(seed >> 20) % (round + 2) - 1 };
		}
		qsort(spans, N_SPANS, sizeof *spans, by_ts_then_longest);
		for (int i = 0; i < N_SPANS; i++) {
			expected[i] = 0;
			for (int k = i - 1; k >= 0; k--) {
				if (gone[k])
					continue;
				if (spans[k].dur_ns < 0 || spans[k].ts_ns + spans[k].dur_ns > spans[i].ts_ns)
					break;
				gone[k] = 1;
			}
			for (int k = 0; k < i; k++)
				expected[i] += !gone[k];
		}
		expect_depths(spans, expected, N_SPANS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested_spans_are_deeper),
		cmocka_unit_test(zero_holds_nothing_and_a_negative_duration_never_ends),
		cmocka_unit_test(partial_overlaps_follow_the_stack),
		cmocka_unit_test(extreme_times_do_not_overflow),
		cmocka_unit_test(a_new_track_starts_flat),
		cmocka_unit_test(random_spans_agree_with_the_rule_by_hand),
	};

	return cmocka_run_group_tests_name("span_depth", tests, NULL, NULL);
}
