/* Numbers of every length, read wherever the bytes end. */
#include "core/base/bits.h"

#include <stdlib.h>

#include "tests/support/harness.h"
#include "tests/support/random.h"

static uint64_t random_number(struct random *dice)
{
	return random_next(dice) & iforest_low_bits((unsigned)random_below(dice, 65));
}

/* Before other bytes, and where memory ends after it: with fewer, the number is cut. */
static void what_is_written_is_read(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		uint64_t number = random_number(&dice), read = 0;
		unsigned n_after = (unsigned)random_below(&dice, 10), n;
		uint8_t written[IFOREST_MAX_VARINT_BYTES], *bytes;

		n = (unsigned)(iforest_varint_write(written, number) - written);
		assert_int_equal(n, number < 0x80 ? 1 : (iforest_bit_width(number) + 6) / 7);
		bytes = malloc(n + n_after);
		assert_non_null(bytes);
		memcpy(bytes, written, n);
		for (unsigned i = 0; i < n_after; i++)
			bytes[n + i] = (uint8_t)random_next(&dice);
		assert_ptr_equal(iforest_varint_read(bytes, bytes + n + n_after, &read), bytes + n);
		assert_true(read == number);
		assert_null(iforest_varint_read(bytes, bytes + random_below(&dice, n), &read));
		free(bytes);
	}
}

static void a_number_that_does_not_end_is_refused(void **state)
{
	uint8_t bytes[20];
	uint64_t read;

	(void)state;
	memset(bytes, 0x80, sizeof bytes);
	for (unsigned n = 0; n <= sizeof bytes; n++)
		assert_null(iforest_varint_read(bytes, bytes + n, &read));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(a_number_that_does_not_end_is_refused),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
