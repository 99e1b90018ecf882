#include "core/model/text_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "tests/support/harness.h"
#include "tests/support/random.h"
#include "tests/support/sanitizer.h"

static bool is_leap(int year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int n_days(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	return days[month - 1] + (month == 2 && is_leap(year));
}

static void assert_reads(const char *text, int64_t seconds, int64_t nanoseconds)
{
	struct iforest_text_time time;

	if (iforest_text_time_read(text, strlen(text), &time) != IFOREST_TEXT_READ || time.seconds != seconds || time.nanoseconds != nanoseconds)
		fail_msg("%s: not %lld and %lld, but %lld and %lld", text, (long long)seconds, (long long)nanoseconds, (long long)time.seconds,
			 (long long)time.nanoseconds);
}

static void assert_writes(int64_t seconds, int64_t nanoseconds, const char *expected)
{
	char text[IFOREST_TEXT_TIME_BYTES];

	iforest_text_time_write(&(struct iforest_text_time){ seconds, nanoseconds }, &(struct iforest_text_form){ .digits = 0 }, text);
	assert_string_equal(text, expected);
}

/* Every day that there is, counted one by one. */
static void days_are_counted(void **state)
{
	int64_t day = -2440588; /* 1970-01-01 is day 0, -4713-11-25 day 1 of the count of Julian days */
	int year = -4713, month = 11, of_month = 24;
	bool is_first = true;

	(void)state;
	while (year < 10000) {
		char text[48], with_time[96];
		int64_t seconds = day * 86400;

		snprintf(text, sizeof text, "%s%04d-%02d-%02d", year < 0 ? "-" : "", year < 0 ? -year : year, month, of_month);
		snprintf(with_time, sizeof with_time, "%s 12:00:00", text);
		assert_reads(with_time, seconds + 43200, 0);
		assert_writes(seconds + 43200, 0, with_time);
		if (!is_first) {
			assert_reads(text, seconds, 0);
			snprintf(with_time, sizeof with_time, "%s 00:00:00.999999999", text);
			assert_writes(seconds, 999999999, with_time);
		}
		is_first = false;
		day++;
		if (++of_month > n_days(year, month)) {
			of_month = 1;
			month = month % 12 + 1;
			year += month == 1;
		}
	}
	assert_false(iforest_text_time_has(day * 86400));
	assert_true(iforest_text_time_has(day * 86400 - 1));
}

static void the_forms_of_a_time(void **state)
{
	(void)state;
	assert_reads("1970-01-01", 0, 0);
	assert_reads("1970-01-01T", 0, 0);
	assert_reads("1970-01-01  ", 0, 0);
	assert_reads("1970-01-01 01:02", 3720, 0);
	assert_reads("1970-01-01T01:02:03", 3723, 0);
	assert_reads("1970-01-01 \t T 01:02:03Z", 3723, 0);
	assert_reads("1970-01-01 01:02:03 z ", 3723, 0);
	assert_reads("1970-01-01T01:02:03.5", 3723, 500000000);
	assert_reads("1970-01-01 00:00:59.999999999", 59, 999999999);
	assert_reads("1970-01-01 00:00:59.9999999990000", 59, 999999999);
	assert_reads("1970-01-01 00:00:00.000000001+00:00", 0, 1);
	assert_reads("1970-01-01 00:30+01:00", -1800, 0);
	assert_reads("1969-12-31 23:30:00.25-14:59", -1800 + 14 * 3600 + 59 * 60, 250000000);
	assert_reads("1970-01-01 24:00", 86400, 0);
	assert_reads("2024-02-29", 1709164800, 0);
	assert_reads("2023-02-29", 1677628800, 0);
	assert_reads("2023-02-31 00:00:01", 1677801601, 0);
	assert_reads("0000-01-01", -62167219200, 0);
	assert_reads("9999-12-31 23:59:59.999999999", 253402300799, 999999999);
	assert_reads("-4713-11-24 12:00:00", -210866760000, 0);
	assert_writes(-1, 100000000, "1969-12-31 23:59:59.1");
	assert_writes(-62167219201, 0, "-0001-12-31 23:59:59");
}

static void what_is_no_time(void **state)
{
	static const char *const texts[] = {
		"", "x", "now", "12:00", "2460000.5", "1970-01", "1970-1-1", "1970-13-01", "1970-00-01", "1970-01-00", "1970-01-32", "+1970-01-01", "--970-01-01", "10000-01-01",
		" 1970-01-01", "1970-01-01x", "1970-01-01Z", "1970-01-01+01:00", "1970-01-01 1:00", "1970-01-01 25:00", "1970-01-01 12:60", "1970-01-01 12:00:60", "1970-01-01 12:00:00.",
		"1970-01-01 12:00:0", "1970-01-01 12", "1970-01-01 12:00:", "1970-01-01 12:00:00,5", "1970-01-01 12:00:00.5 x", "1970-01-01 12:00 +1:00", "1970-01-01 12:00 +15:00",
		"1970-01-01 12:00 +01:60", "1970-01-01 12:00 +01", "1970-01-01 12:00 +0100", "1970-01-01 12:00ZZ", "1970/01/01", "-4713-11-24 11:59:59", "-9999-01-01",
		"9999-12-31 23:00:00-01:00", "9999-12-31 24:00", "1970-01-01 12:00:00 UTC",
	};
	struct iforest_text_time time;

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(texts); i++)
		if (iforest_text_time_read(texts[i], strlen(texts[i]), &time) != IFOREST_TEXT_NONE)
			fail_msg("\"%s\" is read", texts[i]);
	assert_int_equal(iforest_text_time_read("1970-01-01\0", 11, &time), IFOREST_TEXT_NONE);
	assert_int_equal(iforest_text_time_read("1970-01-01 00:00:00.0000000001", 30, &time), IFOREST_TEXT_TOO_FINE);
}

/* In the order of their times, after a round trip, and never past the end of a text. */
static void texts_keep_the_order(void **state)
{
	struct random dice = random_from(random_seed());
	struct iforest_text_time before = { 0, 0 };
	char text[IFOREST_TEXT_TIME_BYTES], last[IFOREST_TEXT_TIME_BYTES] = "1970-01-01 00:00:00";

	(void)state;
	for (unsigned i = 0; i < (sanitizer_shortens() ? 10000 : 200000); i++) {
		struct iforest_text_time time = { random_between(&dice, -62167219200, 253402300799) >> random_below(&dice, 38), 0 }, again;

		if (random_chance(&dice, 70))
			time.nanoseconds = random_between(&dice, 0, 999999999) / 1000 * (random_chance(&dice, 50) ? 1000 : 1);
		if (random_chance(&dice, 30))
			time.seconds = before.seconds;
		iforest_text_time_write(&time, &(struct iforest_text_form){ .digits = 0 }, text);
		assert_int_equal(iforest_text_time_read(text, strlen(text), &again), IFOREST_TEXT_READ);
		assert_true(again.seconds == time.seconds && again.nanoseconds == time.nanoseconds);
		assert_true((strcmp(text, last) < 0) == (time.seconds < before.seconds || (time.seconds == before.seconds && time.nanoseconds < before.nanoseconds)));
		for (size_t n = 0; n < strlen(text); n++) {
			char *cut = malloc(n); /* not cmocka's, which has bytes of its own behind */

			assert_non_null(cut);
			memcpy(cut, text, n);
			(void)iforest_text_time_read(cut, n, &again);
			free(cut);
		}
		before = time;
		memcpy(last, text, sizeof last);
	}
}

/* Any form: what is written in it is read back, is of that form, and has its order. */
static void forms(void **state)
{
	struct random dice = random_from(random_seed());
	struct iforest_text_form form, back;
	uint32_t n_forms = 0;

	(void)state;
	assert_int_equal(iforest_text_form_code(&(struct iforest_text_form){ .digits = 0 }), 0);
	for (uint32_t code = 0; code < 1 << 17; code++) {
		struct iforest_text_time before = { 0, -1 };
		char text[IFOREST_TEXT_TIME_BYTES], last[IFOREST_TEXT_TIME_BYTES] = "";
		struct iforest_text_forms seen = { .has_any = false };
		int64_t unit = 1;

		if (!iforest_text_form_decode(code, &form))
			continue;
		n_forms++;
		assert_int_equal(iforest_text_form_code(&form), code);
		for (int d = form.digits; d < 9; d++)
			unit *= 10;
		for (int i = 0; i < 50; i++) {
			int64_t whole = form.digits ? 1 : form.shortest == IFOREST_TEXT_DATES ? 86400 : form.shortest == IFOREST_TEXT_MINUTES ? 60 : 1;
			struct iforest_text_time time = { random_between(&dice, 0, 253402300799) / whole * whole, form.digits ? random_between(&dice, 0, 999999999) / unit * unit : 0 }, again;

			if (form.drops_zero && random_chance(&dice, 50))
				time.nanoseconds = 0;
			iforest_text_time_write(&time, &form, text);
			assert_int_equal(iforest_text_time_read(text, strlen(text), &again), IFOREST_TEXT_READ);
			assert_true(again.seconds == time.seconds && again.nanoseconds == time.nanoseconds);
			if (!form.drops_zero || form.zone == IFOREST_TEXT_NO_ZONE)
				assert_true((strcmp(text, last) > 0) == (time.seconds > before.seconds || (time.seconds == before.seconds && time.nanoseconds > before.nanoseconds)));
			iforest_text_forms_add(&seen, text, strlen(text), &time);
			before = time;
			memcpy(last, text, sizeof last);
		}
		back = iforest_text_forms_common(&seen);
		for (int i = 0; i < 2 && back.digits == form.digits; i++) { /* each in its form, whatever code that has */
			iforest_text_time_write(&before, &back, text);
			assert_string_equal(text, last);
		}
		if (form.drops_zero && form.digits > 0 && form.zone != IFOREST_TEXT_NO_ZONE)
			assert_int_equal(iforest_text_form_code(&back), 0);
		iforest_text_forms_add(&seen, "2026-01-01 00:00 ", 17, &before);
		back = iforest_text_forms_common(&seen);
		assert_int_equal(iforest_text_form_code(&back), 0);
	}
	assert_int_equal(n_forms, 2 * 2 * 10 * (3 * 3 - 2)); /* a date has no zone */
	assert_false(iforest_text_form_decode(0x0a00, &form) || iforest_text_form_decode(0x0c, &form) || iforest_text_form_decode(0x30, &form) || iforest_text_form_decode(0x40, &form));
}

static void lengths(void **state)
{
	static const struct {
		const char *text;
		int64_t nanoseconds;
	} right[] = {
		{ "1 ns", 1 }, { "5us", 5000 }, { "500 ms", 500000000 }, { "1 s", 1000000000 }, { "2 sec", 2000000000 }, { "1 second", 1000000000 }, { " 5  Minutes ", 300000000000 },
		{ "1.5 h", 5400000000000 }, { "0.25s", 250000000 }, { "1 hour", 3600000000000 }, { "1 DAY", 86400000000000 }, { "2 weeks", 1209600000000000 }, { "1 min", 60000000000 },
		{ "1.000000000 ns", 1 }, { "0 days", 0 }, { "3 microseconds", 3000 }, { "7 nanoseconds", 7 }, { "1 millisecond", 1000000 }, { "10 d", 864000000000000 },
	};
	static const char *const wrong[] = { "", "5", "hour", "1 fortnight", "-1 day", "1  ", "1 h 5 min", "1e3 s", "1 m", "99999999999999999999 s", "1 day hours", ".5 s", "1 day\n2" };
	iforest_int128 length;

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(right); i++) {
		assert_int_equal(iforest_text_length_read(right[i].text, strlen(right[i].text), &length), IFOREST_TEXT_READ);
		assert_true(length == right[i].nanoseconds);
	}
	for (unsigned i = 0; i < COUNT_OF(wrong); i++)
		if (iforest_text_length_read(wrong[i], strlen(wrong[i]), &length) != IFOREST_TEXT_NONE)
			fail_msg("\"%s\" is read", wrong[i]);
	assert_int_equal(iforest_text_length_read("1 month", 7, &length), IFOREST_TEXT_CALENDAR);
	assert_int_equal(iforest_text_length_read("2 Years", 7, &length), IFOREST_TEXT_CALENDAR);
	assert_int_equal(iforest_text_length_read("0.5 ns", 6, &length), IFOREST_TEXT_TOO_FINE);
	assert_int_equal(iforest_text_length_read("0.0000000001 s", 14, &length), IFOREST_TEXT_TOO_FINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(days_are_counted), cmocka_unit_test(the_forms_of_a_time), cmocka_unit_test(what_is_no_time),
		cmocka_unit_test(texts_keep_the_order), cmocka_unit_test(forms), cmocka_unit_test(lengths),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
