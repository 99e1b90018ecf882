/* tests/core/model/test_distinct.c -- Distinct sketches against sets: lists and registers computed bit by bit from the hashes, the
 * error over many random sets, bytes that do not depend on the order of anything, and hostile bytes. */
#include "tests/support/harness.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/base/xxh64.h"
#include "core/model/distinct.h"
#include "tests/support/alloc_fault.h"
#include "tests/support/random.h"

static struct alloc_fault memory;

static struct iforest_distinct empty(void)
{
	struct iforest_distinct distinct;

	iforest_distinct_init(&distinct, &memory.alloc);
	return distinct;
}

static enum iforest_status add_integer(struct iforest_distinct *distinct, int64_t integer)
{
	return iforest_distinct_add(distinct, (union iforest_number){ .integer = integer }, IFOREST_INT64);
}

static uint64_t count_of(const struct iforest_distinct *distinct)
{
	uint8_t *bytes;
	size_t n_bytes;
	uint64_t n;

	assert_ok(iforest_distinct_write(distinct, &bytes, &n_bytes));
	assert_ok(iforest_distinct_count(bytes, n_bytes, &n));
	iforest_release(&memory.alloc, bytes);
	return n;
}

/* ---- the reference: everything from the bits of each hash ---- */

static bool bit_of(uint64_t hash, unsigned i)
{
	return hash >> (63 - i) & 1;
}

/* The place of the first bit set from bit `from` on. */
static unsigned place_from(uint64_t hash, unsigned from)
{
	unsigned place = 1;

	while (from + place <= 64 && !bit_of(hash, from + place - 1))
		place++;
	return place;
}

static uint64_t hash_of(int64_t key)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)((uint64_t)key >> 8 * i);
	return iforest_xxh64(bytes, 8);
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The bytes after the header. Returns how many. */
static size_t expect(const int64_t *keys, size_t n, uint8_t *out, bool *is_list)
{
	uint32_t *list = malloc((n + 1) * sizeof *list);
	size_t n_kept = 0;

	assert_non_null(list);
	for (size_t i = 0; i < n; i++)
		list[i] = (uint32_t)(hash_of(keys[i]) >> 38) << 6 | place_from(hash_of(keys[i]), 26);
	qsort(list, n, sizeof *list, by_value);
	for (size_t i = 0; i < n; i++)
		if (i + 1 == n || list[i] >> 6 != list[i + 1] >> 6)
			list[n_kept++] = list[i];
	*is_list = n_kept <= 768;
	if (*is_list) {
		for (size_t i = 0; i < 4 * n_kept; i++)
			out[i] = (uint8_t)(list[i / 4] >> i % 4 * 8);
	} else {
		memset(out, 0, 3072);
		for (unsigned r = 0; r < 4096; r++) {
			unsigned most = 0;

			for (size_t i = 0; i < n; i++)
				if (hash_of(keys[i]) >> 52 == r && place_from(hash_of(keys[i]), 12) > most)
					most = place_from(hash_of(keys[i]), 12);
			for (unsigned b = 0; b < 6; b++)
				out[(6 * r + b) / 8] |= (uint8_t)((most >> b & 1) << (6 * r + b) % 8);
		}
	}
	free(list);
	return *is_list ? 4 * n_kept : 3072;
}

static void bytes_are_those_of_the_hashes(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 100, 767, 768, 769, 800, 1500, 3000 };

	(void)state;
	for (unsigned s = 0; s < COUNT_OF(sizes); s++) {
		struct random dice = random_from(random_seed() + s);
		struct iforest_distinct distinct = empty();
		int64_t *keys = malloc((sizes[s] + 1) * sizeof *keys);
		uint8_t expected[4096], *bytes;
		size_t n_bytes, n_expected;
		bool is_list;

		assert_non_null(keys);
		for (size_t i = 0; i < sizes[s]; i++) {
			keys[i] = (int64_t)(random_next(&dice) >> random_below(&dice, 32));
			assert_ok(add_integer(&distinct, keys[i]));
		}
		n_expected = expect(keys, sizes[s], expected, &is_list);
		assert_ok(iforest_distinct_write(&distinct, &bytes, &n_bytes));
		assert_int_equal(n_bytes, 12 + n_expected);
		assert_memory_equal(bytes, "IFhl", 4);
		assert_int_equal(bytes[10], is_list ? 0 : 1);
		assert_memory_equal(bytes + 12, expected, n_expected);
		assert_int_equal(iforest_distinct_is_empty(&distinct), sizes[s] == 0);
		iforest_release(&memory.alloc, bytes);
		iforest_distinct_release(&distinct);
		free(keys);
	}
	assert_int_equal(memory.n_live, 0);
}

/* ---- the error ---- */

static double relative_error(struct random *dice, size_t n)
{
	struct iforest_distinct distinct = empty();
	int64_t base = (int64_t)(random_next(dice) >> 2), step = 1 + (int64_t)random_below(dice, 1000);
	double error;

	for (size_t i = 0; i < n; i++)
		assert_ok(add_integer(&distinct, base + (int64_t)i * step));
	for (size_t i = 0; i < n; i += 1 + random_below(dice, 10)) /* again */
		assert_ok(add_integer(&distinct, base + (int64_t)i * step));
	error = ((double)count_of(&distinct) - (double)n) / (double)n;
	iforest_distinct_release(&distinct);
	return error;
}

/* Of R sets the root mean square of the errors is within a sixth of the standard error with all but certainty for R = 200, and
 * their mean within four times its own standard error of 0. No single error is beyond six. */
static void the_standard_error_holds(void **state)
{
	static const size_t sizes[] = { 800, 2000, 5000, 20000, 60000 };

	(void)state;
	for (unsigned s = 0; s < COUNT_OF(sizes); s++) {
		unsigned n_rounds = random_rounds(200);
		double sum = 0, squares = 0, most = 0;

		for (unsigned round = 0; round < n_rounds; round++) {
			struct random dice = random_from(random_seed() + 1000 * s + round);
			double error = relative_error(&dice, sizes[s]);

			sum += error;
			squares += error * error;
			most = fabs(error) > most ? fabs(error) : most;
			if (fabs(error) > 6 * IFOREST_DISTINCT_ERROR)
				fail_msg("%zu values are %.3f off, seed %" PRIu64, sizes[s], error, random_seed() + round);
		}
		print_message("%zu values: rms %.4f, mean %+.4f, most %.4f over %u sets\n", sizes[s], sqrt(squares / n_rounds),
			      sum / n_rounds, most, n_rounds);
		if (n_rounds < 200)
			continue;
		assert_true(sqrt(squares / n_rounds) < IFOREST_DISTINCT_ERROR * 7 / 6);
		assert_true(fabs(sum / n_rounds) < 4 * IFOREST_DISTINCT_ERROR / sqrt(n_rounds));
	}
}

static void few_values_are_counted_exactly(void **state)
{
	unsigned n_off = 0;

	(void)state;
	for (unsigned round = 0; round < random_rounds(100); round++) {
		struct random dice = random_from(random_seed() + round);
		size_t n = (size_t)random_below(&dice, 769);
		double error = relative_error(&dice, n ? n : 1);

		n_off += error != 0;
		assert_true(fabs(error) * (double)n < 1.5);
	}
	assert_true(n_off <= 5);
}

/* ---- order ---- */

static void assert_same_bytes(const struct iforest_distinct *a, const struct iforest_distinct *b)
{
	uint8_t *of_a, *of_b;
	size_t n_a, n_b;

	assert_ok(iforest_distinct_write(a, &of_a, &n_a));
	assert_ok(iforest_distinct_write(b, &of_b, &n_b));
	assert_int_equal(n_a, n_b);
	assert_memory_equal(of_a, of_b, n_a);
	iforest_release(&memory.alloc, of_a);
	iforest_release(&memory.alloc, of_b);
}

static void merging_parts_is_one_pass_byte_for_byte(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(60); round++) {
		struct random dice = random_from(random_seed() + round);
		size_t n = (size_t)random_below(&dice, round % 2 ? 1000 : 20000);
		uint64_t span = 1 + random_below(&dice, 2 * n + 1);
		struct iforest_distinct whole = empty(), merged = empty(), parts[5];

		for (unsigned p = 0; p < COUNT_OF(parts); p++)
			parts[p] = empty();
		for (size_t i = 0; i < n; i++) {
			int64_t value = (int64_t)random_below(&dice, span);
			uint64_t part = random_below(&dice, COUNT_OF(parts) - 1);

			assert_ok(add_integer(&whole, value));
			assert_ok(add_integer(&parts[random_chance(&dice, 90) ? 0 : part], value));
		}
		for (unsigned p = COUNT_OF(parts); p-- > 0;) {
			uint8_t *bytes;
			size_t n_bytes;

			assert_ok(iforest_distinct_write(&parts[p], &bytes, &n_bytes));
			for (unsigned twice = 0; twice < 2; twice++)
				assert_ok(iforest_distinct_merge(&merged, bytes, n_bytes));
			iforest_release(&memory.alloc, bytes);
			iforest_distinct_release(&parts[p]);
		}
		assert_same_bytes(&whole, &merged);
		iforest_distinct_release(&whole);
		iforest_distinct_release(&merged);
	}
	assert_int_equal(memory.n_live, 0);
}

/* ---- what is equal ---- */

static int64_t real_key(double real)
{
	return iforest_distinct_key_of_number((union iforest_number){ .real = real }, IFOREST_FLOAT64);
}

static void equal_values_have_equal_keys(void **state)
{
	(void)state;
	assert_int_equal(real_key(17), 17);
	assert_int_equal(real_key(-0.0), 0);
	assert_int_equal(real_key(-0x1p63), INT64_MIN);
	assert_int_equal(real_key(NAN), real_key(-NAN));
	assert_int_equal(iforest_distinct_key_of_number((union iforest_number){ .integer = INT64_MAX }, IFOREST_INT64), INT64_MAX);
	/* XXH64 of no bytes is ef46db3751d8e999, of "a" d24ec4f1a98c6e5b (the reference implementation's) */
	assert_int_equal(iforest_distinct_key_of_text("", 0), -(INT64_C(1) << 62) + INT64_C(0x3751d8e999));
	assert_int_equal(iforest_distinct_key_of_text("a", 1), -(INT64_C(1) << 62) + INT64_C(0xf1a98c6e5b));
	assert_int_equal(iforest_distinct_key_of_blob("a", 1) - iforest_distinct_key_of_text("a", 1), INT64_C(1) << 40);
	assert_int_not_equal(real_key(0.5), real_key(0.25));
	assert_in_range(real_key(INFINITY) + (INT64_C(1) << 62), INT64_C(2) << 40, (INT64_C(3) << 40) - 1);
	assert_int_not_equal(real_key(INFINITY), real_key(-INFINITY));
}

/* ---- hostile bytes ---- */

static void sum_up(uint8_t *bytes, size_t n_bytes)
{
	iforest_store32(bytes + 4, (uint32_t)iforest_xxh64(bytes + 8, n_bytes - 8));
}

/* Whatever passes is what would be written of it. */
static void judge(const uint8_t *bytes, size_t n_bytes)
{
	struct iforest_distinct distinct = empty();
	uint64_t n;
	enum iforest_status status = iforest_distinct_merge(&distinct, bytes, n_bytes);
	uint8_t *again;
	size_t n_again;

	assert_int_equal(iforest_distinct_count(bytes, n_bytes, &n), status);
	if (status) {
		assert_true(status == IFOREST_CORRUPT || status == IFOREST_FORMAT);
	} else {
		assert_ok(iforest_distinct_write(&distinct, &again, &n_again));
		assert_int_equal(n_again, n_bytes);
		assert_memory_equal(again, bytes, n_bytes);
		iforest_release(&memory.alloc, again);
	}
	iforest_distinct_release(&distinct);
}

static void forged_bytes_are_refused(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(400); round++) {
		struct random dice = random_from(random_seed() + round);
		struct iforest_distinct distinct = empty();
		size_t n = (size_t)random_below(&dice, round % 3 ? 60 : 2000), n_bytes;
		uint8_t *bytes, *cut;

		for (size_t i = 0; i < n; i++)
			assert_ok(add_integer(&distinct, (int64_t)random_next(&dice)));
		assert_ok(iforest_distinct_write(&distinct, &bytes, &n_bytes));
		cut = malloc(n_bytes); /* exactly as long, for the address sanitizer */
		assert_non_null(cut);
		memcpy(cut, bytes, n_bytes);
		cut[random_below(&dice, n_bytes)] ^= (uint8_t)(1 << random_below(&dice, 8));
		assert_int_equal(iforest_distinct_count(cut, n_bytes, &(uint64_t){ 0 }), IFOREST_CORRUPT);
		sum_up(cut, n_bytes);
		iforest_store32(cut, 0x6c684649);
		judge(cut, n_bytes);
		memcpy(cut, bytes, n_bytes);
		n_bytes = (size_t)random_below(&dice, n_bytes);
		if (n_bytes >= 8)
			sum_up(cut, n_bytes);
		judge(cut, n_bytes);
		free(cut);
		iforest_release(&memory.alloc, bytes);
		iforest_distinct_release(&distinct);
	}
	assert_int_equal(memory.n_live, 0);
}

static void other_versions_are_told_apart(void **state)
{
	struct iforest_distinct distinct = empty();
	uint8_t *bytes;
	size_t n_bytes;
	uint64_t n;

	(void)state;
	assert_ok(add_integer(&distinct, 5));
	assert_ok(iforest_distinct_write(&distinct, &bytes, &n_bytes));
	for (unsigned at = 8; at <= 9; at++) {
		bytes[at]++;
		sum_up(bytes, n_bytes);
		assert_status(iforest_distinct_count(bytes, n_bytes, &n), IFOREST_FORMAT);
		bytes[at]--;
	}
	bytes[10] = 2;
	sum_up(bytes, n_bytes);
	assert_status(iforest_distinct_count(bytes, n_bytes, &n), IFOREST_CORRUPT);
	iforest_release(&memory.alloc, bytes);
	iforest_distinct_release(&distinct);
}

static void every_allocation_may_fail(void **state)
{
	enum { N = 1000 };
	enum iforest_status status = IFOREST_NO_MEMORY;
	unsigned long n = 0;

	(void)state;
	while (status) {
		struct iforest_distinct distinct = empty(), whole = empty();
		uint8_t *bytes = NULL;
		size_t n_bytes;

		memory.fail_at = memory.n_calls + ++n;
		status = IFOREST_OK;
		for (int64_t i = 0; i < N; i++)
			if (add_integer(&distinct, i)) {
				status = IFOREST_NO_MEMORY;
				assert_ok(add_integer(&distinct, i)); /* it is as it was */
			}
		if (iforest_distinct_write(&distinct, &bytes, &n_bytes)) {
			status = IFOREST_NO_MEMORY;
			assert_ok(iforest_distinct_write(&distinct, &bytes, &n_bytes));
		}
		memory.fail_at = 0;
		for (int64_t i = N - 1; i >= 0; i--)
			assert_ok(add_integer(&whole, i));
		assert_same_bytes(&distinct, &whole);
		iforest_release(&memory.alloc, bytes);
		iforest_distinct_release(&distinct);
		iforest_distinct_release(&whole);
	}
	assert_true(n > 5);
	assert_int_equal(memory.n_live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_those_of_the_hashes),
		cmocka_unit_test(the_standard_error_holds),
		cmocka_unit_test(few_values_are_counted_exactly),
		cmocka_unit_test(merging_parts_is_one_pass_byte_for_byte),
		cmocka_unit_test(equal_values_have_equal_keys),
		cmocka_unit_test(forged_bytes_are_refused),
		cmocka_unit_test(other_versions_are_told_apart),
		cmocka_unit_test(every_allocation_may_fail),
	};

	alloc_fault_init(&memory);
	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
