#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/decimal_time.h"

static void expect_ns(const char *text, int64_t expected_ns)
{
	int64_t time_ns = 77;
	enum trace_time_status status = trace_time_from_us(text, strlen(text), &time_ns);

	if (status != TRACE_TIME_OK || time_ns != expected_ns)
		fail_msg("%s gives status %d, %" PRId64 " ns instead of %" PRId64, text, (int)status, time_ns, expected_ns);
	assert_true(trace_is_decimal(text, strlen(text)));
}

static void expect_status(const char *text, enum trace_time_status expected)
{
	int64_t time_ns = 77;

	if (trace_time_from_us(text, strlen(text), &time_ns) != expected || time_ns != 77)
		fail_msg("%s is not answered with status %d", text, (int)expected);
	assert_int_equal(trace_is_decimal(text, strlen(text)), expected != TRACE_TIME_NOT_A_NUMBER);
}

static void microseconds_become_nanoseconds(void **state)
{
	(void)state;
	expect_ns("0", 0);
	expect_ns("-0", 0);
	expect_ns("1", 1000);
	expect_ns("007", 7000);
	expect_ns("-1891000", -1891000000);
	expect_ns("1712195495406752.797", 1712195495406752797);
	expect_ns("1683564901540885", 1683564901540885000);
	expect_ns("1124609193879.8843", 1124609193879884);
}

static void rounding_is_half_to_even(void **state)
{
	(void)state;
	expect_ns("0.0005", 0);
	expect_ns("0.0015", 2);
	expect_ns("0.0025", 2);
	expect_ns("-0.0005", 0);
	expect_ns("-0.0015", -2);
	expect_ns("-0.0025", -2);
	expect_ns("0.00050000000000000000000000001", 1);
	expect_ns("0.00249999999999999999999999999", 2);
	expect_ns("0.0004", 0);
	expect_ns("0.0006", 1);
	expect_ns("0.00005", 0);
	expect_ns("0.9995", 1000);
	expect_ns("9.9995", 10000);
	expect_ns("9.9985", 9998);
}

static void exponents_move_the_point(void **state)
{
	(void)state;
	expect_ns("1.5e3", 1500000);
	expect_ns("1.5E+3", 1500000);
	expect_ns("15e-1", 1500);
	expect_ns("5e-4", 0);
	expect_ns("15e-4", 2);
	expect_ns("5e-5", 0);
	expect_ns("99999e-9", 0);
	expect_ns("1.683564901540885e15", 1683564901540885000);
	expect_ns("0e999999999999", 0);
	expect_ns("0.000e9223372036854775807", 0);
	expect_ns("1e-999999999999", 0);
	expect_ns("0.00000000000000000000000000001e30", 10000);
	expect_status("1e999999999999", TRACE_TIME_OUT_OF_RANGE);
}

static void range_is_that_of_int64(void **state)
{
	(void)state;
	expect_ns("9223372036854775.807", INT64_MAX);
	expect_ns("9223372036854775.8074999", INT64_MAX);
	expect_ns("-9223372036854775.808", INT64_MIN);
	expect_ns("-9223372036854775.8085", INT64_MIN);
	expect_status("9223372036854775.808", TRACE_TIME_OUT_OF_RANGE);
	expect_status("9223372036854775.8075", TRACE_TIME_OUT_OF_RANGE);
	expect_status("-9223372036854775.809", TRACE_TIME_OUT_OF_RANGE);
	expect_status("-9223372036854775.80850001", TRACE_TIME_OUT_OF_RANGE);
	expect_status("9223372036854776", TRACE_TIME_OUT_OF_RANGE);
	expect_status("99999999999999999999999999999999999999999", TRACE_TIME_OUT_OF_RANGE);
}

static void other_text_is_not_a_number(void **state)
{
	static const char *const texts[] = { "",   "-",	  ".",	 ".5",	 "5.",	"+5",	 "1e",	"1e+", "1.e3",	"0x10", "1 ",
					     " 1", "1_0", "abc", "1e5.", "--1", "1.2.3", "NaN", "inf", "1e1e1", "true" };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		expect_status(texts[i], TRACE_TIME_NOT_A_NUMBER);
}

static void text_need_not_be_terminated(void **state)
{
	int64_t time_ns;

	(void)state;
	assert_int_equal(trace_time_from_us("12.5junk", 4, &time_ns), TRACE_TIME_OK);
	assert_int_equal(time_ns, 12500);
	assert_int_equal(trace_time_from_us("12.5", 2, &time_ns), TRACE_TIME_OK);
	assert_int_equal(time_ns, 12000);
}

/* Builds texts out of an integer and three digits behind it, so that the answer follows from integers alone. */
static void random_texts_agree_with_integers(void **state)
{
	unsigned seed = 20240607;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		int64_t ns = 0, expected;
		int rest, shift;
		char text[80];

		for (int i = 0; i < 4; i++) {
			seed = seed * 1664525u + 1013904223u;
			ns = ns << 15 | (seed >> 17);
		}
		ns >>= seed % 60;
		rest = (int)(seed >> 8) % 1000;
		shift = (int)(seed >> 3) % 12;
		if (rest % 7 == 0)
			rest = 500;
		expected = ns + (rest > 500 || (rest == 500 && (ns & 1)));
		snprintf(text, sizeof text, "%s%" PRId64 "%03d%.*se-%d", seed & 4 ? "-" : "", ns, rest, shift,
			 "000000000000", 6 + shift);
		expect_ns(text, seed & 4 ? -expected : expected);
	}
}

static void huge_texts_are_linear(void **state)
{
	enum { N_DIGITS = 4000000 };
	char *text = malloc(N_DIGITS + 16);
	int64_t time_ns;

	(void)state;
	assert_non_null(text);
	memset(text, '0', N_DIGITS);
	memcpy(text + N_DIGITS, "12", 2);
	assert_int_equal(trace_time_from_us(text, N_DIGITS + 2, &time_ns), TRACE_TIME_OK);
	assert_int_equal(time_ns, 12000);
	memset(text, '9', N_DIGITS);
	assert_int_equal(trace_time_from_us(text, N_DIGITS, &time_ns), TRACE_TIME_OUT_OF_RANGE);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(microseconds_become_nanoseconds),  cmocka_unit_test(rounding_is_half_to_even),
		cmocka_unit_test(exponents_move_the_point),	    cmocka_unit_test(range_is_that_of_int64),
		cmocka_unit_test(other_text_is_not_a_number),	    cmocka_unit_test(text_need_not_be_terminated),
		cmocka_unit_test(random_texts_agree_with_integers), cmocka_unit_test(huge_texts_are_linear),
	};

	return cmocka_run_group_tests_name("decimal_time", tests, NULL, NULL);
}
