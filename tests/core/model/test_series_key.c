#include "core/model/series_key.h"

#include <math.h>
#include <string.h>

#include "tests/support/alloc_fault.h"
#include "tests/support/harness.h"
#include "tests/support/random.h"

static struct alloc_fault fault;

static int start(void **state)
{
	(void)state;
	alloc_fault_init(&fault);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	assert_int_equal(fault.n_live, 0);
	return 0;
}

static struct iforest_by_value null(void) { return (struct iforest_by_value){ .tag = IFOREST_BY_NULL }; }
static struct iforest_by_value integer(int64_t x)
{
	return (struct iforest_by_value){ .tag = IFOREST_BY_INTEGER, .integer = x };
}
static struct iforest_by_value real(double x) { return (struct iforest_by_value){ .tag = IFOREST_BY_REAL, .real = x }; }

static struct iforest_by_value text(const char *s)
{
	return (struct iforest_by_value){ .tag = IFOREST_BY_TEXT, .data = (const uint8_t *)s, .n_bytes = (uint32_t)strlen(s) };
}

static struct iforest_by_value blob(const char *s)
{
	struct iforest_by_value value = text(s);

	value.tag = IFOREST_BY_BLOB;
	return value;
}

static struct iforest_series_key key_of(struct iforest_by_value a, struct iforest_by_value b)
{
	struct iforest_series_key key = { .alloc = &fault.alloc };

	assert_ok(iforest_series_key_append(&key, &a));
	assert_ok(iforest_series_key_append(&key, &b));
	return key;
}

static bool are_one_series(struct iforest_by_value a, struct iforest_by_value b)
{
	struct iforest_series_key x = key_of(a, null()), y = key_of(b, null());
	bool same = x.n_bytes == y.n_bytes && memcmp(x.bytes, y.bytes, x.n_bytes) == 0;

	iforest_series_key_release(&x);
	iforest_series_key_release(&y);
	return same;
}

static void equal_values_are_one_series(void **state)
{
	(void)state;
	assert_true(are_one_series(integer(1), real(1.0)));
	assert_true(are_one_series(integer(0), real(-0.0)));
	assert_true(are_one_series(integer(INT64_MIN), real(-0x1p63)));
	assert_true(are_one_series(real(NAN), null()));
	assert_true(are_one_series(text(""), text("")));
}

static void different_values_are_different_series(void **state)
{
	const struct iforest_by_value values[] = {
		null(),	    integer(0),	  integer(1),	    integer(-1),    integer(INT64_MIN), integer(INT64_MAX), real(0.5),
		real(-0.5), real(0x1p63), real(0x1p62 * 3), real(INFINITY), real(-INFINITY),	real(5e-324),	    text(""),
		text("1"),  text("a"),	  text("ab"),	    blob(""),	    blob("1"),		blob("a")
	};

	(void)state;
	for (unsigned a = 0; a < COUNT_OF(values); a++)
		for (unsigned b = 0; b < COUNT_OF(values); b++)
			assert_int_equal(are_one_series(values[a], values[b]), a == b);
}

/* ("a", "bc") is not ("ab", "c"). */
static void columns_do_not_run_together(void **state)
{
	struct iforest_series_key x = key_of(text("a"), text("bc")), y = key_of(text("ab"), text("c"));

	(void)state;
	assert_true(x.n_bytes == y.n_bytes && memcmp(x.bytes, y.bytes, x.n_bytes) != 0);
	iforest_series_key_release(&x);
	iforest_series_key_release(&y);
}

static void bytes_of_numbers_are_in_their_order(void **state)
{
	static const double reals[] = { -INFINITY, -1e300, -1.5, -5e-324, 5e-324, 1.5, 1e300, INFINITY };
	static const int64_t integers[] = { INT64_MIN, -256, -1, 0, 1, 255, 256, INT64_MAX };

	(void)state;
	for (unsigned i = 0; i + 1 < COUNT_OF(reals); i++) {
		struct iforest_series_key x = key_of(real(reals[i]), null()), y = key_of(real(reals[i + 1]), null());

		assert_true(memcmp(x.bytes, y.bytes, 9) < 0);
		iforest_series_key_release(&x);
		iforest_series_key_release(&y);
		x = key_of(integer(integers[i]), null());
		y = key_of(integer(integers[i + 1]), null());
		assert_true(memcmp(x.bytes, y.bytes, 9) < 0);
		iforest_series_key_release(&x);
		iforest_series_key_release(&y);
	}
}

static void bytes_are_as_documented(void **state)
{
	struct iforest_series_key key = key_of(integer(258), text("hi"));

	(void)state;
	assert_int_equal(key.n_bytes, 16);
	assert_memory_equal(key.bytes, "\x02\x80\0\0\0\0\0\x01\x02\x04\x02\0\0\0hi", 16);
	iforest_series_key_release(&key);
}

static void values_are_read_back(void **state)
{
	const struct iforest_by_value values[] = { integer(-7), real(0.75), text("gpu"), null(), blob("\x01"), text(""), integer(INT64_MAX) };
	struct iforest_series_key key = { .alloc = &fault.alloc };
	uint32_t offset = 0;

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(values); i++)
		assert_ok(iforest_series_key_append(&key, &values[i]));
	for (unsigned i = 0; i < COUNT_OF(values); i++) {
		struct iforest_by_value read;

		assert_ok(iforest_series_key_next(key.bytes, key.n_bytes, &offset, &read));
		assert_int_equal(read.tag, values[i].tag);
		assert_true(read.tag != IFOREST_BY_INTEGER || read.integer == values[i].integer);
		assert_true(read.tag != IFOREST_BY_REAL || read.real == values[i].real);
		assert_int_equal(read.n_bytes, values[i].n_bytes);
		if (read.n_bytes)
			assert_memory_equal(read.data, values[i].data, read.n_bytes);
	}
	assert_int_equal(offset, key.n_bytes);
	iforest_series_key_release(&key);
}

static void foreign_bytes_are_checked(void **state)
{
	struct iforest_series_key key = key_of(text("spans"), integer(5));
	struct iforest_by_value value = { .tag = IFOREST_BY_BLOB, .n_bytes = 77 };
	static const uint8_t long_text[] = { 4, 0xff, 0xff, 0xff, 0xff, 'x' };

	(void)state;
	for (uint32_t cut = 0; cut < 10; cut++) {
		uint32_t offset = 0;

		assert_status(iforest_series_key_next(key.bytes, cut, &offset, &value), IFOREST_CORRUPT);
		assert_int_equal(offset, 0);
	}
	for (uint32_t cut = 10; cut < key.n_bytes; cut++) {
		uint32_t offset = 10;

		assert_status(iforest_series_key_next(key.bytes, cut, &offset, &value), IFOREST_CORRUPT);
		assert_int_equal(offset, 10);
	}
	for (unsigned tag = 0; tag < 256; tag++) {
		uint8_t bytes[9] = { (uint8_t)tag };
		uint32_t offset = 0;

		if (tag < IFOREST_BY_NULL || tag > IFOREST_BY_BLOB)
			assert_status(iforest_series_key_next(bytes, sizeof bytes, &offset, &value), IFOREST_CORRUPT);
	}
	assert_status(iforest_series_key_next(long_text, sizeof long_text, &(uint32_t){ 0 }, &value), IFOREST_CORRUPT);
	assert_true(value.tag == IFOREST_BY_BLOB && value.n_bytes == 77); /* a failed call leaves it alone */
	iforest_series_key_release(&key);
}

/* Lengths that no memory has, and that wrap around when a header is added. The data are never looked at. */
static void oversized_values_are_refused(void **state)
{
	static const uint32_t lengths[] = {
		(1u << 30) - 8, 1u << 30, UINT32_MAX - 9, UINT32_MAX - 8, UINT32_MAX - 4, UINT32_MAX
	};
	struct iforest_series_key key = key_of(integer(1), null());

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(lengths); i++) {
		struct iforest_by_value value = { .tag = IFOREST_BY_BLOB, .data = (const uint8_t *)"", .n_bytes = lengths[i] };

		assert_status(iforest_series_key_append(&key, &value), IFOREST_TOO_LARGE);
		assert_int_equal(key.n_bytes, 10);
	}
	iforest_series_key_release(&key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_values_are_one_series),
		cmocka_unit_test(different_values_are_different_series),
		cmocka_unit_test(columns_do_not_run_together),
		cmocka_unit_test(bytes_of_numbers_are_in_their_order),
		cmocka_unit_test(bytes_are_as_documented),
		cmocka_unit_test(values_are_read_back),
		cmocka_unit_test(foreign_bytes_are_checked),
		cmocka_unit_test(oversized_values_are_refused),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
