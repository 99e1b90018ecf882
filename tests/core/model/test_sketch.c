/* tests/core/model/test_sketch.c -- Sketches against the sorted numbers themselves: the error bound on distributions chosen
 * to break it, bytes that do not depend on the order of anything, and hostile bytes. */
#include "tests/support/harness.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/base/xxh64.h"
#include "core/model/sketch.h"
#include "tests/support/alloc_fault.h"
#include "tests/support/random.h"

enum { MOST = 4000 };

/* Numbers of one kind. */
struct numbers {
	const char *name;
	enum iforest_value_type kind;
	unsigned n;
	union iforest_number all[MOST];
};

static struct alloc_fault memory;
static struct numbers numbers; /* of the test at work */

static void push_integer(int64_t integer)
{
	numbers.all[numbers.n++].integer = integer;
}

static void push_real(double real)
{
	numbers.all[numbers.n++].real = real;
}

/* ---- distributions ---- */

static void all_equal(struct random *dice)
{
	int64_t integer = (int64_t)random_next(dice);

	for (unsigned i = 0; i < 1000; i++)
		push_integer(integer);
}

static void two_points_far_apart(struct random *dice)
{
	for (unsigned i = 0; i < 1000; i++)
		push_integer(random_chance(dice, 99) ? 1 : INT64_MAX);
}

static void powers_and_their_neighbours(struct random *dice)
{
	(void)dice;
	for (int e = 0; e < 63; e++)
		for (int64_t d = -2; d <= 2; d++) {
			push_integer((INT64_C(1) << e) + d);
			push_integer(-(INT64_C(1) << e) - d);
		}
}

static void ends_of_int64(struct random *dice)
{
	static const int64_t ends[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX };

	for (unsigned i = 0; i < 500; i++)
		push_integer(ends[random_below(dice, COUNT_OF(ends))]);
}

static void sorted_integers(struct random *dice)
{
	for (int64_t i = 0; i < MOST; i++)
		push_integer(i * i * i - (int64_t)random_below(dice, 2));
}

static void heavy_tail_of_integers(struct random *dice)
{
	for (unsigned i = 0; i < MOST; i++)
		push_integer((int64_t)(random_next(dice) >> random_below(dice, 64)));
}

static void edges_of_buckets(struct random *dice)
{
	for (unsigned i = 0; i < MOST; i++) {
		unsigned shift = (unsigned)random_below(dice, 57);
		int64_t edge = (int64_t)(64 + random_below(dice, 64)) << shift;

		push_integer((edge > INT64_MAX - 1 ? INT64_MAX - 1 : edge) - 1 + (int64_t)random_below(dice, 3));
	}
}

static void denormals(struct random *dice)
{
	for (unsigned i = 0; i < 2000; i++) {
		uint64_t bits = random_next(dice) >> (12 + random_below(dice, 52));
		double real;

		memcpy(&real, &bits, sizeof real);
		push_real(random_chance(dice, 50) ? real : -real);
	}
}

static void all_bits_of_reals(struct random *dice)
{
	for (unsigned i = 0; i < MOST; i++)
		numbers.all[numbers.n++].integer = (int64_t)random_next(dice);
}

static void specials(struct random *dice)
{
	static const double some[] = {
		NAN, INFINITY, -INFINITY, 0.0, -0.0, 0x1p-1074, 0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023, 1.0
	};

	for (unsigned i = 0; i < 500; i++)
		push_real(some[random_below(dice, COUNT_OF(some))]);
}

static void pareto(struct random *dice)
{
	for (unsigned i = 0; i < MOST; i++)
		push_real(pow(1.0 - (double)random_below(dice, UINT64_C(1) << 53) / 0x1p53, -5.0));
}

static void edges_of_real_buckets(struct random *dice)
{
	for (unsigned i = 0; i < MOST; i++) {
		double edge = ldexp((double)(64 + random_below(dice, 64)), (int)random_below(dice, 2000) - 1070);

		push_real(random_chance(dice, 50) ? edge : nextafter(edge, random_chance(dice, 50) ? 0 : INFINITY));
	}
}

static const struct {
	const char *name;
	enum iforest_value_type kind;
	void (*fill)(struct random *dice);
} distributions[] = {
	{ "all equal", IFOREST_INT64, all_equal },
	{ "two points", IFOREST_INT64, two_points_far_apart },
	{ "powers", IFOREST_INT64, powers_and_their_neighbours },
	{ "ends", IFOREST_INT64, ends_of_int64 },
	{ "sorted", IFOREST_INT64, sorted_integers },
	{ "heavy tail", IFOREST_INT64, heavy_tail_of_integers },
	{ "edges", IFOREST_INT64, edges_of_buckets },
	{ "denormals", IFOREST_FLOAT64, denormals },
	{ "all bits", IFOREST_FLOAT64, all_bits_of_reals },
	{ "specials", IFOREST_FLOAT64, specials },
	{ "pareto", IFOREST_FLOAT64, pareto },
	{ "real edges", IFOREST_FLOAT64, edges_of_real_buckets },
};

static void draw(unsigned d, struct random *dice)
{
	numbers.n = 0;
	numbers.name = distributions[d].name;
	numbers.kind = distributions[d].kind;
	distributions[d].fill(dice);
	assert_true(numbers.n <= MOST);
}

/* ---- the reference ---- */

static int by_value(const void *a, const void *b)
{
	return iforest_number_compare(*(const union iforest_number *)a, *(const union iforest_number *)b, numbers.kind);
}

/* Is the answer within the bound of the true number? */
static bool is_near(union iforest_number answer, union iforest_number truth)
{
	iforest_int128 off = (iforest_int128)answer.integer - truth.integer, size = truth.integer;

	if (numbers.kind == IFOREST_INT64)
		return (off < 0 ? -off : off) * 128 <= (size < 0 ? -size : size);
	if (!isfinite(truth.real) || truth.real == 0)
		return iforest_number_compare(answer, truth, IFOREST_FLOAT64) == 0;
	/* their difference is exact, and so is the division by 128 of all but the smallest, whose buckets hold one number
	 * each */
	return answer.real == truth.real || fabs(answer.real - truth.real) <= fabs(truth.real) * IFOREST_SKETCH_ERROR;
}

/* ---- */

static struct iforest_sketch empty(void)
{
	struct iforest_sketch sketch;

	iforest_sketch_init(&sketch, &memory.alloc);
	return sketch;
}

/* The sketch of numbers [from, to), as bytes. */
static uint8_t *bytes_of(unsigned from, unsigned to, size_t *n_bytes)
{
	struct iforest_sketch sketch = empty();
	uint8_t *bytes;

	for (unsigned i = from; i < to; i++)
		assert_ok(iforest_sketch_add(&sketch, numbers.all[i], numbers.kind));
	assert_ok(iforest_sketch_write(&sketch, &bytes, n_bytes));
	iforest_sketch_release(&sketch);
	return bytes;
}

static void assert_quantiles(const struct iforest_sketch_view *view)
{
	struct iforest_sketch_number low = { numbers.kind, numbers.all[0] },
				     high = { numbers.kind, numbers.all[numbers.n - 1] };
	struct iforest_sketch_extremes extremes = { low, high };

	for (unsigned place = 1; place <= numbers.n; place += 1 + place / 7) {
		struct iforest_sketch_number answer;

		assert_ok(iforest_sketch_number_at(view, place, NULL, &answer));
		assert_true(is_near(answer.value, numbers.all[place - 1]));
	}
	for (unsigned step = 0; step <= 1000; step++) {
		double q = step / 1000.0, place = ceil(q * numbers.n);
		union iforest_number truth = numbers.all[place < 1 ? 0 : (unsigned)place - 1];
		struct iforest_sketch_number answer;

		assert_ok(iforest_sketch_quantile(view, q, NULL, &answer));
		assert_int_equal(answer.kind, numbers.kind);
		if (!is_near(answer.value, truth))
			fail_msg("%s: quantile %g is %" PRId64 " (%a) instead of %" PRId64 " (%a)", numbers.name, q, answer.value.integer,
				 answer.value.real, truth.integer, truth.real);
		assert_ok(iforest_sketch_quantile(view, q, &extremes, &answer));
		assert_true(is_near(answer.value, truth));
		assert_true(iforest_number_compare(answer.value, low.value, numbers.kind) >= 0);
		assert_true(iforest_number_compare(answer.value, high.value, numbers.kind) <= 0);
		if (place <= 1 || place >= numbers.n)
			assert_int_equal(iforest_number_compare(answer.value, truth, numbers.kind), 0);
	}
}

static void quantiles_are_within_the_bound(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(10); round++)
		for (unsigned d = 0; d < COUNT_OF(distributions); d++) {
			struct random dice = random_from(random_seed() + round);
			struct iforest_sketch_view view;
			size_t n_bytes;
			uint8_t *bytes;

			draw(d, &dice);
			bytes = bytes_of(0, numbers.n, &n_bytes);
			assert_ok(iforest_sketch_open(&view, bytes, n_bytes));
			assert_int_equal(view.n, numbers.n);
			assert_int_equal(view.n_reals, numbers.kind == IFOREST_FLOAT64 ? numbers.n : 0);
			qsort(numbers.all, numbers.n, sizeof *numbers.all, by_value);
			assert_quantiles(&view);
			iforest_release(&memory.alloc, bytes);
		}
	assert_int_equal(memory.n_live, 0);
}

/* ---- order ---- */

/* Merges the sketches of parts of [from, to), cut and joined at random; of each join either side may be the one merged into. */
static uint8_t *random_tree(struct random *dice, unsigned from, unsigned to, size_t *n_bytes)
{
	unsigned middle = from + (unsigned)random_below(dice, to - from + 1);
	struct iforest_sketch sketch = empty();
	size_t n_left, n_right;
	uint8_t *left, *right, *bytes;
	bool swaps = random_chance(dice, 50);

	if (to - from < 2 || random_chance(dice, 5))
		return bytes_of(from, to, n_bytes);
	left = random_tree(dice, from, middle, &n_left);
	right = random_tree(dice, middle, to, &n_right);
	assert_ok(iforest_sketch_merge(&sketch, swaps ? right : left, swaps ? n_right : n_left));
	assert_ok(iforest_sketch_merge(&sketch, swaps ? left : right, swaps ? n_left : n_right));
	assert_ok(iforest_sketch_write(&sketch, &bytes, n_bytes));
	iforest_sketch_release(&sketch);
	iforest_release(&memory.alloc, left);
	iforest_release(&memory.alloc, right);
	return bytes;
}

static void assert_same(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b)
{
	assert_int_equal(n_a, n_b);
	assert_memory_equal(a, b, n_a);
}

static void shuffle(struct random *dice)
{
	for (unsigned i = numbers.n; i > 1; i--) {
		unsigned other = (unsigned)random_below(dice, i);
		union iforest_number number = numbers.all[other];

		numbers.all[other] = numbers.all[i - 1];
		numbers.all[i - 1] = number;
	}
}

static void merging_in_any_tree_is_one_pass_byte_for_byte(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(5); round++)
		for (unsigned d = 0; d < COUNT_OF(distributions); d++) {
			struct random dice = random_from(random_seed() + round);
			size_t n_bytes, n_tree;
			uint8_t *bytes, *tree;

			draw(d, &dice);
			bytes = bytes_of(0, numbers.n, &n_bytes);
			shuffle(&dice);
			tree = random_tree(&dice, 0, numbers.n, &n_tree);
			assert_same(bytes, n_bytes, tree, n_tree);
			iforest_release(&memory.alloc, bytes);
			iforest_release(&memory.alloc, tree);
		}
	assert_int_equal(memory.n_live, 0);
}

static void what_is_taken_out_leaves_no_trace(void **state)
{
	(void)state;
	for (unsigned d = 0; d < COUNT_OF(distributions); d++) {
		struct random dice = random_from(random_seed() + d);
		struct iforest_sketch sketch = empty();
		unsigned middle, third;
		size_t n_expected, n_bytes;
		uint8_t *expected, *bytes, *last;

		draw(d, &dice);
		middle = (unsigned)random_below(&dice, numbers.n);
		third = middle + (unsigned)random_below(&dice, numbers.n - middle);
		expected = bytes_of(0, middle, &n_expected);
		last = bytes_of(third, numbers.n, &n_bytes);
		for (unsigned i = 0; i < numbers.n; i++)
			assert_ok(iforest_sketch_add(&sketch, numbers.all[i], numbers.kind));
		for (unsigned i = middle; i < third; i++)
			assert_ok(iforest_sketch_remove(&sketch, numbers.all[i], numbers.kind));
		assert_ok(iforest_sketch_subtract(&sketch, last, n_bytes));
		iforest_release(&memory.alloc, last);
		assert_ok(iforest_sketch_write(&sketch, &bytes, &n_bytes));
		assert_same(expected, n_expected, bytes, n_bytes);
		iforest_release(&memory.alloc, expected);
		iforest_release(&memory.alloc, bytes);
		iforest_sketch_release(&sketch);
	}
	assert_int_equal(memory.n_live, 0);
}

static void what_is_not_there_is_not_taken_out(void **state)
{
	struct iforest_sketch sketch = empty();
	size_t n_bytes;
	uint8_t *bytes;

	(void)state;
	numbers.kind = IFOREST_INT64;
	numbers.n = 0;
	push_integer(1000);
	push_integer(2000);
	bytes = bytes_of(0, 2, &n_bytes);
	assert_status(iforest_sketch_remove(&sketch, numbers.all[0], IFOREST_INT64), IFOREST_NOT_FOUND);
	assert_ok(iforest_sketch_add(&sketch, numbers.all[0], IFOREST_INT64));
	assert_status(iforest_sketch_remove(&sketch, numbers.all[1], IFOREST_INT64), IFOREST_NOT_FOUND);
	assert_status(iforest_sketch_remove(&sketch, (union iforest_number){ .real = 1000 }, IFOREST_FLOAT64),
		      IFOREST_NOT_FOUND);
	assert_int_equal(sketch.n, 1);
	assert_status(iforest_sketch_subtract(&sketch, bytes, n_bytes), IFOREST_NOT_FOUND);
	iforest_sketch_release(&sketch);
	sketch = empty();
	assert_ok(iforest_sketch_add(&sketch, (union iforest_number){ .real = 1000 }, IFOREST_FLOAT64));
	assert_status(iforest_sketch_remove(&sketch, numbers.all[0], IFOREST_INT64), IFOREST_NOT_FOUND);
	iforest_sketch_release(&sketch);
	iforest_release(&memory.alloc, bytes);
	assert_int_equal(memory.n_live, 0);
}

/* ---- kinds together ---- */

static void integers_and_reals_share_buckets(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(200); round++) {
		struct random dice = random_from(random_seed() + round);
		int64_t integer = (int64_t)(random_next(&dice) >> (11 + random_below(&dice, 50)));
		struct iforest_sketch sketch = empty();
		struct iforest_sketch_view view;
		struct iforest_sketch_number answer;
		size_t n_bytes;
		uint8_t *bytes;

		assert_ok(iforest_sketch_add(&sketch, (union iforest_number){ .integer = -integer }, IFOREST_INT64));
		assert_ok(iforest_sketch_add(&sketch, (union iforest_number){ .real = -(double)integer }, IFOREST_FLOAT64));
		assert_ok(iforest_sketch_write(&sketch, &bytes, &n_bytes));
		assert_ok(iforest_sketch_open(&view, bytes, n_bytes));
		assert_int_equal(view.first, view.last);
		assert_int_equal(view.n, 2);
		assert_int_equal(view.n_reals, 1);
		assert_ok(iforest_sketch_quantile(&view, 0, NULL, &answer));
		assert_int_equal(answer.kind, IFOREST_FLOAT64);
		iforest_release(&memory.alloc, bytes);
		iforest_sketch_release(&sketch);
	}
}

/* All in the bucket [1000, 1008) or its negative, on one side of the middle that stands for it: the last is no less exact for
 * the first one being beyond the middle, too. */
static void the_ends_are_exact_within_one_bucket(void **state)
{
	(void)state;
	for (int64_t low = -1007; low <= 1007; low += low == -1000 ? 2000 : 1)
		for (int64_t high = low; high <= (low < 0 ? -1000 : 1007); high++) {
			struct iforest_sketch_view view;
			size_t n_bytes;
			uint8_t *bytes;

			numbers.name = "one bucket";
			numbers.kind = IFOREST_INT64;
			numbers.n = 0;
			for (int64_t number = low; number <= high; number++)
				push_integer(number);
			bytes = bytes_of(0, numbers.n, &n_bytes);
			assert_ok(iforest_sketch_open(&view, bytes, n_bytes));
			assert_int_equal(view.first, view.last);
			assert_quantiles(&view);
			iforest_release(&memory.alloc, bytes);
		}
}

static void extremes_of_other_numbers_are_refused(void **state)
{
	struct iforest_sketch_extremes extremes = { { IFOREST_INT64, { 1000 } }, { IFOREST_INT64, { 2000 } } };
	struct iforest_sketch_view view;
	struct iforest_sketch_number answer;
	size_t n_bytes;
	uint8_t *bytes;

	(void)state;
	numbers.kind = IFOREST_INT64;
	numbers.n = 0;
	push_integer(1000);
	push_integer(2000);
	bytes = bytes_of(0, 2, &n_bytes);
	assert_ok(iforest_sketch_open(&view, bytes, n_bytes));
	assert_ok(iforest_sketch_quantile(&view, 0.5, &extremes, &answer));
	assert_int_equal(answer.value.integer, 1000);
	extremes.min.value.integer = 900;
	assert_status(iforest_sketch_quantile(&view, 0.5, &extremes, &answer), IFOREST_ARGUMENT);
	extremes.min.value.integer = 1000;
	extremes.max.value.integer = 2100;
	assert_status(iforest_sketch_quantile(&view, 0.5, &extremes, &answer), IFOREST_ARGUMENT);
	extremes.max.value.integer = 2000;
	assert_ok(iforest_sketch_quantile(&view, 0.5, &extremes, &answer));
	iforest_release(&memory.alloc, bytes);
}

/* Of integers and reals together the ends are as exact as they are given, and what lies between them is real. */
static void extremes_may_be_of_either_kind(void **state)
{
	static const int64_t high = (INT64_C(1) << 60) + 1; /* which no real is */
	struct iforest_sketch_extremes extremes = { { IFOREST_FLOAT64, { .real = 0.5 } },
						    { IFOREST_INT64, { .integer = high } } };
	struct iforest_sketch sketch = empty();
	struct iforest_sketch_view view;
	struct iforest_sketch_number answer;
	size_t n_bytes;
	uint8_t *bytes;

	(void)state;
	assert_ok(iforest_sketch_add(&sketch, extremes.min.value, IFOREST_FLOAT64));
	assert_ok(iforest_sketch_add(&sketch, (union iforest_number){ .integer = 1000 }, IFOREST_INT64));
	assert_ok(iforest_sketch_add(&sketch, extremes.max.value, IFOREST_INT64));
	assert_ok(iforest_sketch_write(&sketch, &bytes, &n_bytes));
	assert_ok(iforest_sketch_open(&view, bytes, n_bytes));
	assert_ok(iforest_sketch_quantile(&view, 0, &extremes, &answer));
	assert_true(answer.kind == IFOREST_FLOAT64 && answer.value.real == 0.5);
	assert_ok(iforest_sketch_quantile(&view, 0.5, &extremes, &answer));
	assert_true(answer.kind == IFOREST_FLOAT64 && answer.value.real > 990 && answer.value.real < 1010);
	assert_ok(iforest_sketch_quantile(&view, 1, &extremes, &answer));
	assert_true(answer.kind == IFOREST_INT64 && answer.value.integer == high);
	extremes.min = extremes.max;
	assert_status(iforest_sketch_quantile(&view, 1, &extremes, &answer), IFOREST_ARGUMENT);
	iforest_release(&memory.alloc, bytes);
	iforest_sketch_release(&sketch);
}

/* ---- bytes ---- */

static void seal(uint8_t *bytes, size_t n_bytes)
{
	iforest_store32(bytes + 4, (uint32_t)iforest_xxh64(bytes + 8, n_bytes - 8));
}

static void sketches_of_nothing_are_bytes_too(void **state)
{
	struct iforest_sketch_view view;
	size_t n_bytes;
	uint8_t *bytes;

	(void)state;
	bytes = bytes_of(0, 0, &n_bytes);
	assert_int_equal(n_bytes, 11);
	assert_ok(iforest_sketch_open(&view, bytes, n_bytes));
	assert_int_equal(view.n, 0);
	iforest_release(&memory.alloc, bytes);
}

/* What is opened is what a sketch of it would be written as; all else is refused. */
static void assert_refused_or_canonical(const uint8_t *bytes, size_t n_bytes)
{
	struct iforest_sketch sketch = empty();
	struct iforest_sketch_view view = { .n = 77 };
	enum iforest_status status = iforest_sketch_open(&view, bytes, n_bytes);
	struct iforest_sketch_number answer;
	size_t n_again;
	uint8_t *again;

	if (status) {
		assert_true(status == IFOREST_CORRUPT || status == IFOREST_FORMAT);
		assert_int_equal(view.n, 77);
		assert_status(iforest_sketch_merge(&sketch, bytes, n_bytes), status);
	} else {
		assert_ok(iforest_sketch_merge(&sketch, bytes, n_bytes));
		assert_ok(iforest_sketch_write(&sketch, &again, &n_again));
		assert_same(bytes, n_bytes, again, n_again);
		iforest_release(&memory.alloc, again);
		for (unsigned step = 0; step <= 4 && view.n > 0; step++)
			assert_ok(iforest_sketch_quantile(&view, step / 4.0, NULL, &answer));
	}
	iforest_sketch_release(&sketch);
}

static void damaged_bytes_are_refused(void **state)
{
	unsigned n_opened = 0;

	(void)state;
	for (unsigned round = 0; round < random_rounds(300); round++) {
		struct random dice = random_from(random_seed() + round);
		unsigned d = (unsigned)random_below(&dice, COUNT_OF(distributions));
		struct iforest_sketch_view view;
		size_t n_bytes, n_cut;
		uint8_t *bytes, *copy;

		draw(d, &dice);
		numbers.n = 1 + (unsigned)random_below(&dice, 20);
		bytes = bytes_of(0, numbers.n, &n_bytes);
		n_cut = random_chance(&dice, 30) ? random_below(&dice, n_bytes) : n_bytes;
		copy = malloc(n_cut + 1); /* of its own size, for the sanitizers */
		assert_non_null(copy);
		memcpy(copy, bytes, n_cut);
		if (n_cut == n_bytes || random_chance(&dice, 50))
			for (unsigned i = 0; i < 3 && n_cut > 0; i++)
				copy[random_below(&dice, n_cut)] ^= (uint8_t)(1u << random_below(&dice, 8));
		if (memcmp(copy, bytes, n_cut) != 0 || n_cut < n_bytes)
			assert_true(iforest_sketch_open(&view, copy, n_cut) != IFOREST_OK); /* the checksum */
		if (n_cut >= 10) {
			iforest_store32(copy, iforest_load32(bytes));
			copy[8] = 1;
			copy[9] = IFOREST_SKETCH_BITS;
			seal(copy, n_cut);
		}
		n_opened += iforest_sketch_open(&view, copy, n_cut) == IFOREST_OK;
		assert_refused_or_canonical(copy, n_cut);
		free(copy);
		iforest_release(&memory.alloc, bytes);
	}
	assert_true(n_opened > 0 && n_opened < random_rounds(300));
	assert_int_equal(memory.n_live, 0);
}

/* Bytes with a right checksum, from numbers as varints. */
static size_t forge(uint8_t *bytes, unsigned version, unsigned bits, unsigned n, const uint64_t *varints)
{
	uint8_t *at = bytes + 10;

	iforest_store32(bytes, 0x6b734649);
	bytes[8] = (uint8_t)version;
	bytes[9] = (uint8_t)bits;
	for (unsigned i = 0; i < n; i++)
		at = iforest_varint_write(at, varints[i]);
	seal(bytes, (size_t)(at - bytes));
	return (size_t)(at - bytes);
}

static void forged_bytes_are_refused(void **state)
{
	enum { ZERO = 134273, NOT_A_NUMBER = 2 * ZERO + 1 };
	uint8_t bytes[100];
	struct iforest_sketch_view view;
	static const struct {
		unsigned n;
		uint64_t varints[5];
		enum iforest_status status;
	} cases[] = {
		{ 3, { 0, 1, ZERO }, IFOREST_OK },                                        /* one zero */
		{ 3, { 1, 1, ZERO }, IFOREST_OK },                                        /* a real one */
		{ 3, { 2, 1, ZERO }, IFOREST_CORRUPT },                                   /* more reals than numbers */
		{ 3, { 0, 1, 0 }, IFOREST_CORRUPT },                                      /* a gap of none */
		{ 1, { 0 }, IFOREST_OK },
		{ 2, { 0, 1 }, IFOREST_CORRUPT },                                         /* a gap that is cut off */
		{ 2, { 1, 0 }, IFOREST_OK },                                              /* -infinity */
		{ 2, { 0, 0 }, IFOREST_CORRUPT },                                         /* the same as an integer */
		{ 3, { 1, 1, NOT_A_NUMBER }, IFOREST_OK },
		{ 3, { 0, 1, NOT_A_NUMBER }, IFOREST_CORRUPT },
		{ 3, { 1, 1, NOT_A_NUMBER + 1 }, IFOREST_CORRUPT },                       /* beyond the last bucket */
		{ 3, { 1, 1, UINT64_MAX }, IFOREST_CORRUPT },
		{ 5, { 1, 1, ZERO, 1, UINT64_MAX - ZERO }, IFOREST_CORRUPT },
		{ 4, { 1, 1, NOT_A_NUMBER, 0 }, IFOREST_CORRUPT },
		{ 3, { 0, 1, ZERO + 1 }, IFOREST_CORRUPT },                               /* 2^-1074 as an integer */
		{ 3, { 0, 1, ZERO + 1 + 64 * 1074 }, IFOREST_OK },                        /* 1 */
		{ 3, { 0, 1, ZERO + 2 + 64 * 1074 }, IFOREST_CORRUPT },                   /* 1 + 1/64 */
		{ 3, { 0, 1, ZERO + 1 + 64 * (1074 + 63) }, IFOREST_CORRUPT },            /* 2^63 */
		{ 3, { 0, 1, ZERO - 1 - 64 * (1074 + 63) }, IFOREST_OK },                 /* -2^63 */
		{ 3, { 0, 1, ZERO - 2 - 64 * (1074 + 63) }, IFOREST_CORRUPT },
		/* 2^63 - 1 times -2^-1074 as integers */
		{ 3, { 0, UINT64_MAX - 2, ZERO - 1 }, IFOREST_CORRUPT },
		{ 3, { 0, UINT64_C(2) * INT64_MAX - 1, ZERO }, IFOREST_OK },              /* 2^63 - 1 zeros */
		{ 4, { 0, UINT64_C(2) * INT64_MAX - 1, ZERO, 0 }, IFOREST_CORRUPT },      /* and one more */
		{ 3, { 0, UINT64_MAX, ZERO }, IFOREST_CORRUPT },                          /* 2^63 zeros */
	};

	(void)state;
	for (unsigned c = 0; c < COUNT_OF(cases); c++) {
		size_t n_bytes = forge(bytes, 1, IFOREST_SKETCH_BITS, cases[c].n, cases[c].varints);
		enum iforest_status status = iforest_sketch_open(&view, bytes, n_bytes);

		if (status != cases[c].status)
			fail_msg("case %u: %s", c, iforest_status_text(status));
		assert_refused_or_canonical(bytes, n_bytes);
	}
	assert_status(iforest_sketch_open(&view, bytes, forge(bytes, 2, IFOREST_SKETCH_BITS, 1, cases[0].varints)),
		      IFOREST_FORMAT);
	assert_status(iforest_sketch_open(&view, bytes, forge(bytes, 1, IFOREST_SKETCH_BITS + 1, 1, cases[0].varints)),
		      IFOREST_FORMAT);
	assert_status(iforest_sketch_open(&view, bytes, 0), IFOREST_CORRUPT);
}

static void more_numbers_than_it_can_count_are_refused(void **state)
{
	static const uint64_t most[] = { 0, UINT64_C(2) * INT64_MAX - 1, 134273 };
	struct iforest_sketch sketch = empty();
	uint8_t bytes[50];
	size_t n_bytes = forge(bytes, 1, IFOREST_SKETCH_BITS, 3, most);

	(void)state;
	assert_ok(iforest_sketch_merge(&sketch, bytes, n_bytes));
	assert_status(iforest_sketch_add(&sketch, (union iforest_number){ .integer = 1 }, IFOREST_INT64), IFOREST_RANGE);
	assert_status(iforest_sketch_merge(&sketch, bytes, n_bytes), IFOREST_RANGE);
	iforest_sketch_release(&sketch);
}

static void without_memory_it_stays_as_it_is(void **state)
{
	struct random dice = random_from(random_seed());
	unsigned n_failed = 0;

	(void)state;
	draw(5, &dice);
	for (unsigned long fail_at = 1; fail_at < 60; fail_at++) {
		struct iforest_sketch sketch = empty();

		memory.fail_at = memory.n_calls + fail_at;
		for (unsigned i = 0; i < 300; i++) {
			uint64_t n = sketch.n;
			enum iforest_status status = iforest_sketch_add(&sketch, numbers.all[i], numbers.kind);

			if (!status)
				continue;
			assert_status(status, IFOREST_NO_MEMORY);
			assert_int_equal(sketch.n, n);
			n_failed++;
			assert_ok(iforest_sketch_add(&sketch, numbers.all[i], numbers.kind));
		}
		assert_int_equal(sketch.n, 300);
		iforest_sketch_release(&sketch);
	}
	memory.fail_at = 0;
	assert_true(n_failed > 30);
	assert_int_equal(memory.n_live, 0);
}

/* ---- counts below a bound ---- */

static long double exactly(union iforest_number number)
{
	return numbers.kind == IFOREST_INT64 ? (long double)number.integer : (long double)number.real;
}

/* What each number counts as: the quantile of the number alone. */
static const double *held_numbers(void)
{
	static double held[MOST];

	for (unsigned i = 0; i < numbers.n; i++) {
		struct iforest_sketch_view view;
		struct iforest_sketch_number answer;
		size_t n_bytes;
		uint8_t *bytes = bytes_of(i, i + 1, &n_bytes);

		assert_ok(iforest_sketch_open(&view, bytes, n_bytes));
		assert_ok(iforest_sketch_quantile(&view, 0.5, NULL, &answer));
		held[i] = answer.kind == IFOREST_INT64 ? (double)answer.value.integer : answer.value.real;
		iforest_release(&memory.alloc, bytes);
	}
	return held;
}

/* A bound at one of the numbers, near it, or of few bits. */
static double draw_bound(struct random *dice)
{
	double near = (double)exactly(numbers.all[random_below(dice, numbers.n)]);

	switch (random_below(dice, 5)) {
	case 0:
		return near;
	case 1:
		return nextafter(near, random_chance(dice, 50) ? -INFINITY : INFINITY);
	case 2:
		return near * (1 + (double)random_below(dice, 5) / 128 - 2.0 / 128);
	case 3:
		return random_chance(dice, 10) ? INFINITY : random_chance(dice, 10) ? -INFINITY : 0;
	default:
		return ldexp((double)(64 + random_below(dice, 64)), (int)random_below(dice, 80) - 30);
	}
}

/* Is x a / 128 at or below v? Both products are exact: 53 + 8 bits, or integers. */
static bool scaled_is_through(union iforest_number x, int a, double v)
{
	if (numbers.kind == IFOREST_FLOAT64 || fabs(v) > 0x1p80)
		return exactly(x) * a <= (long double)v * 128;
	return (iforest_int128)x.integer * a <= (iforest_int128)floorl((long double)v * 128);
}

static void assert_count_through(const struct iforest_sketch_view *view, const double *held, double v)
{
	uint64_t n = iforest_sketch_count_through(view, v), n_held = 0, least = 0, most = 0;

	for (unsigned i = 0; i < numbers.n; i++) {
		union iforest_number x = numbers.all[i];
		bool is_negative = exactly(x) < 0;

		n_held += held[i] <= v || isnan(v);
		least += scaled_is_through(x, is_negative ? 127 : 129, v);
		most += scaled_is_through(x, is_negative ? 129 : 127, v);
	}
	if (n != n_held || (!isnan(v) && (n < least || n > most)))
		fail_msg("%s: %" PRIu64 " of %u through %a instead of %" PRIu64 ", which is to be from %" PRIu64 " to %" PRIu64,
			 numbers.name, n, numbers.n, v, n_held, least, most);
}

static int by_real(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void assert_histogram(const struct iforest_sketch_view *view, const double *held, struct random *dice)
{
	double bounds[12];
	uint64_t counts[13], n_positive_below = 0, n_not_positive = 0, n_passed = 0;
	size_t n_drawn = (size_t)random_below(dice, 13), n = 0;

	for (size_t i = 0; i < n_drawn; i++)
		bounds[i] = draw_bound(dice);
	qsort(bounds, n_drawn, sizeof *bounds, by_real);
	for (size_t i = 0; i < n_drawn; i++)
		if (!isnan(bounds[i]) && (n == 0 || bounds[n - 1] < bounds[i]))
			bounds[n++] = bounds[i];
	assert_true(iforest_sketch_are_bounds(bounds, n));
	iforest_sketch_histogram(view, bounds, n, counts);
	for (size_t bin = 0; bin <= n; bin++) {
		uint64_t n_in = 0;

		for (unsigned i = 0; i < numbers.n; i++)
			n_in += (bin == 0 || held[i] >= bounds[bin - 1] || isnan(held[i])) && (bin == n || held[i] < bounds[bin]);
		assert_int_equal(counts[bin], n_in);
		n_passed += n_in;
	}
	assert_int_equal(n_passed, numbers.n);
	/* what lies below a power of two is known exactly */
	bounds[0] = ldexp(1, (int)random_below(dice, 64));
	iforest_sketch_histogram(view, bounds, 1, counts);
	for (unsigned i = 0; i < numbers.n; i++) {
		n_not_positive += exactly(numbers.all[i]) <= 0;
		n_positive_below += exactly(numbers.all[i]) > 0 && exactly(numbers.all[i]) < bounds[0];
	}
	assert_int_equal(counts[0], n_not_positive + n_positive_below);
}

static void counts_below_bounds_are_those_of_the_numbers(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(3); round++)
		for (unsigned d = 0; d < COUNT_OF(distributions); d++) {
			struct random dice = random_from(random_seed() + round);
			struct iforest_sketch_view view;
			const double *held;
			size_t n_bytes;
			uint8_t *bytes;

			draw(d, &dice);
			bytes = bytes_of(0, numbers.n, &n_bytes);
			assert_ok(iforest_sketch_open(&view, bytes, n_bytes));
			held = held_numbers();
			for (unsigned i = 0; i < 60; i++)
				assert_count_through(&view, held, draw_bound(&dice));
			assert_int_equal(iforest_sketch_count_through(&view, NAN), numbers.n);
			for (unsigned i = 0; i < 60; i++)
				assert_histogram(&view, held, &dice);
			iforest_release(&memory.alloc, bytes);
		}
	assert_int_equal(memory.n_live, 0);
}

static void bounds_ascend(void **state)
{
	static const double good[] = { -INFINITY, -1, 0, 0x1p-1074, 1, INFINITY };
	static const double equal[] = { 1, 1 }, zeros[] = { -0.0, 0 }, falling[] = { 2, 1 }, no_number[] = { 1, NAN };

	(void)state;
	assert_true(iforest_sketch_are_bounds(good, COUNT_OF(good)));
	assert_true(iforest_sketch_are_bounds(good, 0));
	assert_false(iforest_sketch_are_bounds(equal, 2));
	assert_false(iforest_sketch_are_bounds(zeros, 2));
	assert_false(iforest_sketch_are_bounds(falling, 2));
	assert_false(iforest_sketch_are_bounds(no_number, 2));
	assert_false(iforest_sketch_are_bounds(no_number + 1, 1));
}

static bool is_in(const struct iforest_sketch_bin *bin, long double x)
{
	if (bin->lower == bin->upper || isnan(bin->lower))
		return x == bin->lower || (isnan(x) && isnan(bin->lower));
	return bin->lower < 0 ? bin->lower < x && x <= bin->upper : bin->lower <= x && x < bin->upper;
}

static void each_number_is_in_one_bin(void **state)
{
	(void)state;
	for (unsigned d = 0; d < COUNT_OF(distributions); d++) {
		struct random dice = random_from(random_seed());
		struct iforest_sketch_place place = { .next = 0 };
		struct iforest_sketch_view view;
		struct iforest_sketch_bin bin;
		double passed = -INFINITY;
		uint64_t n = 0;
		size_t n_bytes;
		uint8_t *bytes;

		draw(d, &dice);
		bytes = bytes_of(0, numbers.n, &n_bytes);
		assert_ok(iforest_sketch_open(&view, bytes, n_bytes));
		while (iforest_sketch_next_bin(&view, &place, &bin)) {
			uint64_t n_in = 0;

			for (unsigned i = 0; i < numbers.n; i++)
				n_in += is_in(&bin, exactly(numbers.all[i]));
			assert_int_equal(bin.n, n_in);
			assert_true(bin.n > 0);
			assert_true(bin.lower >= passed || isnan(bin.lower));
			passed = bin.upper;
			n += n_in;
		}
		assert_int_equal(n, numbers.n);
		iforest_release(&memory.alloc, bytes);
	}
}

static void a_sketch_of_nothing_has_no_bins(void **state)
{
	struct iforest_sketch_view view = { .n = 0 };
	struct iforest_sketch_place place = { .next = 0 };
	struct iforest_sketch_bin bin;
	const double bound = 1;
	uint64_t counts[2] = { 7, 7 };

	(void)state;
	assert_int_equal(iforest_sketch_count_through(&view, 1), 0);
	assert_false(iforest_sketch_next_bin(&view, &place, &bin));
	iforest_sketch_histogram(&view, &bound, 1, counts);
	assert_int_equal(counts[0], 0);
	assert_int_equal(counts[1], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_within_the_bound),
		cmocka_unit_test(merging_in_any_tree_is_one_pass_byte_for_byte),
		cmocka_unit_test(what_is_taken_out_leaves_no_trace),
		cmocka_unit_test(what_is_not_there_is_not_taken_out),
		cmocka_unit_test(integers_and_reals_share_buckets),
		cmocka_unit_test(the_ends_are_exact_within_one_bucket),
		cmocka_unit_test(extremes_of_other_numbers_are_refused),
		cmocka_unit_test(extremes_may_be_of_either_kind),
		cmocka_unit_test(sketches_of_nothing_are_bytes_too),
		cmocka_unit_test(damaged_bytes_are_refused),
		cmocka_unit_test(forged_bytes_are_refused),
		cmocka_unit_test(more_numbers_than_it_can_count_are_refused),
		cmocka_unit_test(without_memory_it_stays_as_it_is),
		cmocka_unit_test(counts_below_bounds_are_those_of_the_numbers),
		cmocka_unit_test(bounds_ascend),
		cmocka_unit_test(each_number_is_in_one_bin),
		cmocka_unit_test(a_sketch_of_nothing_has_no_bins),
	};

	alloc_fault_init(&memory);
	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
