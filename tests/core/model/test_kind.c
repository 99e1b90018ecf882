/* tests/core/model/test_kind.c -- Accumulators: sums of several words, lists of them, and lists as text. */
#include "core/model/kind.h"

#include <string.h>

#include "core/model/aggregate.h"
#include "tests/support/harness.h"
#include "tests/support/random.h"

static const uint8_t types[] = { IFOREST_INT64, IFOREST_FLOAT64, IFOREST_INT64 };

static struct iforest_accumulators squares_of(unsigned value)
{
	struct iforest_accumulators all = { .n = 0 };

	assert_ok(iforest_accumulators_add(&all, IFOREST_KIND_SQUARES, value, IFOREST_NO_VALUE, NULL, 0));
	return all;
}

static void lift(const struct iforest_accumulators *all, const int64_t *numbers, uint64_t which, uint64_t *words)
{
	iforest_accumulator_lift(all, 0, &(struct iforest_lift){ .numbers = numbers, .which = which }, words);
}

static void sums_of_squares_are_exact_in_192_bits(void **state)
{
	static const int64_t numbers[] = { INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN,
					   INT64_MIN, INT64_MIN, INT64_MIN, -3,	       INT64_MAX, 7 };
	struct iforest_accumulators all = squares_of(0);
	uint64_t sum[3] = { 0 }, doubled[3], one[3] = { 1 };

	(void)state;
	assert_ok(iforest_accumulators_finish(&all, types, 3, 3 * IFOREST_VALUE_WORDS));
	lift(&all, numbers, 0x7ff, sum); /* 9 times 2^126, 9, 2^126 - 2^64 + 1 */
	assert_true(sum[2] == 2 && sum[1] == (UINT64_C(1) << 63) - 1 && sum[0] == 10);
	memcpy(doubled, sum, sizeof doubled);
	iforest_accumulator_combine(&all.list[0], doubled, sum);
	assert_true(doubled[2] == 4 && doubled[1] == UINT64_MAX - 1 && doubled[0] == 20);
	doubled[0] = doubled[1] = UINT64_MAX;
	doubled[2] = 1;
	iforest_accumulator_combine(&all.list[0], doubled, one);
	assert_true(doubled[0] == 0 && doubled[1] == 0 && doubled[2] == 2);
	iforest_accumulator_subtract(&all.list[0], doubled, one);
	assert_true(doubled[0] == UINT64_MAX && doubled[1] == UINT64_MAX && doubled[2] == 1);
}

/* What was added can be subtracted, in any order, and one entry at a time is as all at once. */
static void parts_can_be_subtracted(void **state)
{
	struct random dice = random_from(random_seed());
	struct iforest_accumulators all = squares_of(2);

	(void)state;
	assert_ok(iforest_accumulators_finish(&all, types, 3, 3 * IFOREST_VALUE_WORDS));
	for (unsigned round = 0; round < 2000; round++) {
		uint64_t left = random_next(&dice), right = random_next(&dice) & ~left;
		uint64_t sum[3] = { 0 }, part[3] = { 0 }, rest[3] = { 0 }, single[3] = { 0 };
		int64_t numbers[64];

		for (unsigned i = 0; i < 64; i++)
			numbers[i] = (int64_t)random_next(&dice) >> random_below(&dice, 64);
		lift(&all, numbers, left | right, sum);
		lift(&all, numbers, left, part);
		lift(&all, numbers, right, rest);
		for (unsigned i = 0; i < 64; i++)
			if ((left | right) >> i & 1)
				lift(&all, numbers + i, 1, single);
		assert_memory_equal(single, sum, sizeof sum);
		iforest_accumulator_subtract(&all.list[0], sum, part);
		assert_memory_equal(sum, rest, sizeof sum);
	}
}

static void lists_are_in_order(void **state)
{
	struct iforest_accumulators all = squares_of(2), same = squares_of(0), other = squares_of(0);

	(void)state;
	assert_ok(iforest_accumulators_add(&all, IFOREST_KIND_SQUARES, 0, IFOREST_NO_VALUE, NULL, 0));
	assert_status(iforest_accumulators_add(&all, IFOREST_KIND_SQUARES, 2, IFOREST_NO_VALUE, NULL, 0), IFOREST_ARGUMENT);
	assert_ok(iforest_accumulators_finish(&all, types, 3, 3 * IFOREST_VALUE_WORDS));
	assert_true(all.n == 2 && all.list[0].value == 0 && all.list[1].value == 2 && all.n_words == 6);
	assert_int_equal(all.list[0].word, 3 * IFOREST_VALUE_WORDS);
	assert_int_equal(all.list[1].word, 3 * IFOREST_VALUE_WORDS + 3);
	assert_int_equal(iforest_accumulators_named(&all, IFOREST_KIND_SQUARES, 2, IFOREST_NO_VALUE), 1);
	assert_int_equal(iforest_accumulators_named(&all, IFOREST_KIND_SQUARES, 1, IFOREST_NO_VALUE), -1);
	assert_int_equal(iforest_accumulators_find(&same, &all, 0), 0);
	assert_int_equal(iforest_accumulators_find(&same, &all, 1), -1);
	assert_true(iforest_accumulators_equal(&same, &other));
	assert_false(iforest_accumulators_equal(&same, &all));
	assert_false(iforest_accumulators_equal(&all, &same));
}

static void what_no_kind_has_is_refused(void **state)
{
	struct iforest_accumulators all = squares_of(1); /* of reals */

	(void)state;
	assert_status(iforest_accumulators_finish(&all, types, 3, 3 * IFOREST_VALUE_WORDS), IFOREST_ARGUMENT);
	all = squares_of(3); /* of no column */
	assert_status(iforest_accumulators_finish(&all, types, 3, 3 * IFOREST_VALUE_WORDS), IFOREST_ARGUMENT);
	all = squares_of(0);
	all.list[0].code = 1; /* of no kind */
	assert_status(iforest_accumulators_finish(&all, types, 3, 3 * IFOREST_VALUE_WORDS), IFOREST_ARGUMENT);
	all = squares_of(0);
	all.list[0].second = 2;
	assert_status(iforest_accumulators_finish(&all, types, 3, 3 * IFOREST_VALUE_WORDS), IFOREST_ARGUMENT);
	all = squares_of(0);
	all.list[0].n_parameters = 1;
	assert_status(iforest_accumulators_finish(&all, types, 3, 3 * IFOREST_VALUE_WORDS), IFOREST_ARGUMENT);
	all = squares_of(0);
	all.list[1] = all.list[0]; /* twice */
	all.n = 2;
	assert_status(iforest_accumulators_finish(&all, types, 3, 3 * IFOREST_VALUE_WORDS), IFOREST_ARGUMENT);
}

static void a_histogram_counts_up_to_each_bound(void **state)
{
	static const int64_t bounds[] = { INT64_MIN, -100, -3, 0, 1, 50, INT64_MAX };
	struct random dice = random_from(random_seed());
	struct iforest_accumulators all = { .n = 0 };

	(void)state;
	assert_ok(iforest_accumulators_add(&all, IFOREST_KIND_HISTOGRAM, 0, IFOREST_NO_VALUE, bounds, COUNT_OF(bounds)));
	assert_ok(iforest_accumulators_finish(&all, types, 3, 0));
	assert_int_equal(all.n_words, COUNT_OF(bounds));
	for (unsigned round = 0; round < 1000; round++) {
		uint64_t words[COUNT_OF(bounds)] = { 7 }, which = random_next(&dice);
		int64_t numbers[64];

		for (unsigned i = 0; i < 64; i++)
			numbers[i] = random_chance(&dice, 10) ? INT64_MIN : random_chance(&dice, 10) ? INT64_MAX
										: random_between(&dice, -110, 60);
		lift(&all, numbers, which, words);
		for (unsigned b = 0; b < COUNT_OF(bounds); b++) {
			uint64_t expected = b == 0 ? 7 : 0;

			for (unsigned i = 0; i < 64; i++)
				expected += (which >> i & 1) && numbers[i] <= bounds[b];
			assert_int_equal(words[b], expected);
		}
	}
}

static void histograms_of_any_number_of_bounds_count(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned n = 1; n <= IFOREST_MAX_BOUNDS; n++) {
		struct iforest_accumulators all = { .n = 0 };
		int64_t bounds[IFOREST_MAX_BOUNDS], numbers[64];
		uint64_t words[IFOREST_MAX_BOUNDS] = { 0 }, which = random_chance(&dice, 50) ? UINT64_MAX : random_next(&dice);

		for (unsigned i = 0; i < n; i++)
			bounds[i] = i + 1 == n && random_chance(&dice, 30) ? INT64_MAX : 10 * (int64_t)i - 100;
		for (unsigned i = 0; i < 64; i++)
			numbers[i] = random_chance(&dice, 5) ? INT64_MAX : random_between(&dice, -110, 10 * (int64_t)n - 90);
		assert_ok(iforest_accumulators_add(&all, IFOREST_KIND_HISTOGRAM, 0, IFOREST_NO_VALUE, bounds, n));
		assert_ok(iforest_accumulators_finish(&all, types, 3, 0));
		lift(&all, numbers, which, words);
		for (unsigned b = 0; b < n; b++) {
			uint64_t expected = 0;

			for (unsigned i = 0; i < 64; i++)
				expected += (which >> i & 1) && numbers[i] <= bounds[b];
			assert_int_equal(words[b], expected);
		}
	}
}

static void bounds_ascend_and_have_a_limit(void **state)
{
	static const int64_t equal[] = { 3, 3 };
	struct iforest_accumulators all = { .n = 0 };
	int64_t bounds[IFOREST_MAX_BOUNDS + 1];

	(void)state;
	for (unsigned i = 0; i <= IFOREST_MAX_BOUNDS; i++)
		bounds[i] = i;
	assert_ok(iforest_accumulators_add(&all, IFOREST_KIND_HISTOGRAM, 0, IFOREST_NO_VALUE, bounds, IFOREST_MAX_BOUNDS));
	assert_ok(iforest_accumulators_finish(&all, types, 3, 0));
	assert_ok(iforest_accumulators_add(&all, IFOREST_KIND_HISTOGRAM, 2, IFOREST_NO_VALUE, bounds + 1, 3));
	assert_ok(iforest_accumulators_finish(&all, types, 3, 0));
	assert_int_equal(iforest_accumulator_parameters(&all, 1)[0], 1);
	all = (struct iforest_accumulators){ .n = 0 };
	assert_ok(iforest_accumulators_add(&all, IFOREST_KIND_HISTOGRAM, 0, IFOREST_NO_VALUE, bounds, IFOREST_MAX_BOUNDS + 1));
	assert_status(iforest_accumulators_finish(&all, types, 3, 0), IFOREST_ARGUMENT);
	all = (struct iforest_accumulators){ .n = 0 };
	assert_ok(iforest_accumulators_add(&all, IFOREST_KIND_HISTOGRAM, 0, IFOREST_NO_VALUE, equal, 2));
	assert_status(iforest_accumulators_finish(&all, types, 3, 0), IFOREST_ARGUMENT);
	all = (struct iforest_accumulators){ .n = 0 };
	assert_ok(iforest_accumulators_add(&all, IFOREST_KIND_HISTOGRAM, 0, IFOREST_NO_VALUE, NULL, 0));
	assert_status(iforest_accumulators_finish(&all, types, 3, 0), IFOREST_ARGUMENT);
}

/* Other bounds are another histogram. */
static void histograms_are_the_same_by_their_bounds(void **state)
{
	static const int64_t some[] = { 1, 2 }, others[] = { 1, 3 };
	struct iforest_accumulators a = { .n = 0 }, b = { .n = 0 };

	(void)state;
	assert_ok(iforest_accumulators_add(&a, IFOREST_KIND_HISTOGRAM, 0, IFOREST_NO_VALUE, some, 2));
	assert_ok(iforest_accumulators_add(&b, IFOREST_KIND_HISTOGRAM, 0, IFOREST_NO_VALUE, others, 2));
	assert_false(iforest_accumulators_equal(&a, &b));
	assert_true(iforest_accumulators_equal(&a, &a));
	assert_status(iforest_accumulators_add(&a, IFOREST_KIND_HISTOGRAM, 0, IFOREST_NO_VALUE, others, 2), IFOREST_ARGUMENT);
}

/* ---- Text ---- */

/* Names of one letter: a, b and c are value columns, t is the time. */
static int read_letter(void *context, const char **at)
{
	char letter = **at;

	*(char *)context = letter;
	if (letter < 'a' || letter > 'z')
		return IFOREST_NAME_MISSING;
	do
		++*at;
	while (**at == ' ');
	return letter == 't' ? IFOREST_TIME_COLUMN : letter <= 'c' ? letter - 'a' : IFOREST_NAME_UNKNOWN;
}

static void lists_of_columns(void **state)
{
	static const struct {
		const char *text;
		enum iforest_text_error error;
		unsigned values; /* a bit each */
		const char *rest;
	} lists[] = {
		{ "", IFOREST_TEXT_OK, 0, "" },
		{ "  ", IFOREST_TEXT_OK, 0, "" },
		{ ")", IFOREST_TEXT_OK, 0, ")" },
		{ "a", IFOREST_TEXT_OK, 1, "" },
		{ " c , a ) ", IFOREST_TEXT_OK, 5, ") " },
		{ "c,b,a", IFOREST_TEXT_OK, 7, "" },
		{ "a, a", IFOREST_TEXT_TWICE, 1, "" },
		{ "a, b b", IFOREST_TEXT_WRONG, 3, "b" },
		{ "a,", IFOREST_TEXT_WRONG, 1, "" },
		{ "a,)", IFOREST_TEXT_WRONG, 1, ")" },
		{ ",a", IFOREST_TEXT_WRONG, 0, ",a" },
		{ "a(3)", IFOREST_TEXT_WRONG, 1, "(3)" },
		{ "a * b", IFOREST_TEXT_WRONG, 1, "* b" },
		{ "3", IFOREST_TEXT_WRONG, 0, "3" },
		{ "a, d", IFOREST_TEXT_UNKNOWN, 1, "" },
		{ "a, t", IFOREST_TEXT_UNKNOWN, 1, "" },
	};
	const struct iforest_kind *kind = iforest_kind_find(IFOREST_KIND_SQUARES);

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(lists); i++) {
		struct iforest_accumulators all = { .n = 0 };
		const char *at = lists[i].text;
		unsigned values = 0;
		char last;

		if (iforest_accumulators_parse(&all, kind, &at, read_letter, &last) != lists[i].error)
			fail_msg("'%s' is not read as expected", lists[i].text);
		assert_string_equal(at, lists[i].rest);
		for (unsigned a = 0; a < all.n; a++)
			values |= 1u << all.list[a].value;
		assert_int_equal(values, lists[i].values);
	}
}

static void lists_of_bounds(void **state)
{
	static const struct {
		const char *text;
		enum iforest_text_error error;
		unsigned n; /* accumulators, and parameters */
		unsigned n_parameters;
		const char *rest;
	} lists[] = {
		{ "a(1)", IFOREST_TEXT_OK, 1, 1, "" },
		{ " c ( -9223372036854775808 , 0,9223372036854775807 ) , a(5) ) ", IFOREST_TEXT_OK, 2, 4, ") " },
		{ "a", IFOREST_TEXT_WRONG, 0, 0, "" },
		{ "a()", IFOREST_TEXT_WRONG, 0, 0, ")" },
		{ "a(1", IFOREST_TEXT_WRONG, 0, 0, "" },
		{ "a(1,)", IFOREST_TEXT_WRONG, 0, 0, ")" },
		{ "a(1, b)", IFOREST_TEXT_WRONG, 0, 0, "b)" },
		{ "a(1.5)", IFOREST_TEXT_WRONG, 0, 0, ".5)" },
		{ "a(9223372036854775808)", IFOREST_TEXT_WRONG, 0, 0, "9223372036854775808)" },
		{ "a(99999999999999999999999999999999999999999999)", IFOREST_TEXT_WRONG, 0, 0,
		  "99999999999999999999999999999999999999999999)" },
		{ "a(2, 1)", IFOREST_TEXT_NOT_ASCENDING, 0, 0, ")" },
		{ "a(1, 1)", IFOREST_TEXT_NOT_ASCENDING, 0, 0, ")" },
		{ "a(1), a(2)", IFOREST_TEXT_TWICE, 1, 1, "" },
		{ "d(1)", IFOREST_TEXT_UNKNOWN, 0, 0, "(1)" },
		{ "a(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32)", IFOREST_TEXT_OK, 1, 32,
		  "" },
		{ "a(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33)",
		  IFOREST_TEXT_TOO_MANY, 0, 0, "33)" },
	};
	const struct iforest_kind *kind = iforest_kind_find(IFOREST_KIND_HISTOGRAM);

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(lists); i++) {
		struct iforest_accumulators all = { .n = 0 };
		const char *at = lists[i].text;
		char last;

		if (iforest_accumulators_parse(&all, kind, &at, read_letter, &last) != lists[i].error)
			fail_msg("'%s' is not read as expected", lists[i].text);
		assert_string_equal(at, lists[i].rest);
		assert_int_equal(all.n, lists[i].n);
		assert_int_equal(all.n_parameters, lists[i].n_parameters);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_of_squares_are_exact_in_192_bits),
		cmocka_unit_test(parts_can_be_subtracted),
		cmocka_unit_test(lists_are_in_order),
		cmocka_unit_test(what_no_kind_has_is_refused),
		cmocka_unit_test(lists_of_columns),
		cmocka_unit_test(a_histogram_counts_up_to_each_bound),
		cmocka_unit_test(histograms_of_any_number_of_bounds_count),
		cmocka_unit_test(bounds_ascend_and_have_a_limit),
		cmocka_unit_test(histograms_are_the_same_by_their_bounds),
		cmocka_unit_test(lists_of_bounds),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
