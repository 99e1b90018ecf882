/* Open spans against a list of them that is gone through each time. */
#include "core/query/overlap.h"

#include "core/base/bits.h"
#include "tests/support/alloc_fault.h"
#include "tests/support/harness.h"
#include "tests/support/random.h"

enum { MOST_SPANS = 600 };

struct list {
	struct iforest_open_span spans[MOST_SPANS];
	size_t n;
};

static iforest_int128 end_of(const struct iforest_open_span *span)
{
	return (iforest_int128)span->time + span->duration;
}

static void check_stretch(const struct list *list, iforest_int128 from, iforest_int128 to, const struct iforest_stretch *got,
			  bool wants_longest)
{
	struct iforest_stretch expected = { .n = 0 };

	for (size_t i = 0; i < list->n; i++) {
		const struct iforest_open_span *span = &list->spans[i];
		struct iforest_extreme row = {
			.value.integer = span->duration, .time = span->time, .ref = span->ref, .is_set = wants_longest
		};

		if (end_of(span) <= from)
			continue;
		expected.n++;
		expected.inside += (end_of(span) < to ? end_of(span) : to) - from;
		iforest_extreme_max(&expected.longest, &row, IFOREST_INT64);
	}
	assert_int_equal(got->n, expected.n);
	assert_true(got->inside == expected.inside);
	assert_memory_equal(&got->longest, &expected.longest, sizeof expected.longest);
}

/* Starts near `now`: durations short, long, equal and beyond the end of time. */
static struct iforest_open_span random_span(struct random *dice, int64_t now, int64_t ref)
{
	struct iforest_open_span span = { .time = now - random_between(dice, 1, 20), .ref = ref % 7 ? ref : -ref };
	int64_t reach = now - span.time;

	span.duration = reach + 1 + (int64_t)random_below(dice, UINT64_C(1) << random_below(dice, 10));
	if (random_chance(dice, 5))
		span.duration = random_between(dice, INT64_MAX - 3, INT64_MAX);
	return span;
}

static void one_round(uint64_t seed)
{
	struct random dice = random_from(seed);
	struct alloc_fault alloc;
	struct iforest_open_spans open;
	struct list list = { .n = 0 };
	struct iforest_stretch stretch;
	int64_t now = random_chance(&dice, 20) ? INT64_MAX - 300 : random_between(&dice, -1000, 1000);
	unsigned most_a_step = 1 + (unsigned)random_below(&dice, 20);
	bool wants_longest = !random_chance(&dice, 10);

	alloc_fault_init(&alloc);
	iforest_open_spans_init(&open, &alloc.alloc, wants_longest);
	while (list.n + most_a_step < MOST_SPANS) {
		int64_t to = now > INT64_MAX - 30 ? now : now + random_between(&dice, 0, 30);

		for (uint64_t n = random_below(&dice, most_a_step + 1); n > 0; n--) {
			list.spans[list.n] = random_span(&dice, now, (int64_t)list.n);
			assert_ok(iforest_open_spans_add(&open, &list.spans[list.n++]));
		}
		iforest_open_spans_pass(&open, now, to, &stretch);
		check_stretch(&list, now, to, &stretch, wants_longest);
		assert_true(open.by_duration.n <= 2 * open.by_end.n + 16);
		now = to;
	}
	iforest_open_spans_pass(&open, now, IFOREST_NEVER, &stretch);
	check_stretch(&list, now, IFOREST_NEVER, &stretch, wants_longest);
	assert_int_equal(open.by_end.n, 0);
	iforest_open_spans_clear(&open, true);
	iforest_open_spans_pass(&open, now, now, &stretch);
	assert_int_equal(stretch.n, 0);
	assert_false(stretch.longest.is_set);
	iforest_open_spans_release(&open);
	assert_int_equal(alloc.n_live, 0);
}

static void open_spans_are_those_of_a_list(void **state)
{
	unsigned n_rounds = random_rounds(200);

	(void)state;
	for (unsigned r = 0; r < n_rounds; r++)
		one_round(random_seed() + r);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(open_spans_are_those_of_a_list) };

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
