#include "core/page/column.h"

#include <math.h>
#include <stdbool.h>

#include "core/base/bits.h"

enum { DELTA = 1, FACTOR = 2, NULLS = 4 };

/* How to pack numbers: the distance of each from the smallest, divided by the factor, in `width` bits. */
struct packing {
	const int64_t *numbers;
	unsigned n;
	uint64_t factor;
	unsigned width;
	int64_t smallest;
};

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static uint64_t residual(const struct packing *packing, unsigned i)
{
	return (uint64_t)packing->numbers[i] - (uint64_t)packing->smallest;
}

static void plan_packing(struct packing *packing, const int64_t *numbers, unsigned n)
{
	int64_t smallest = n ? numbers[0] : 0, largest = smallest;
	uint64_t divisor = 0;

	for (unsigned i = 1; i < n; i++) {
		smallest = numbers[i] < smallest ? numbers[i] : smallest;
		largest = numbers[i] > largest ? numbers[i] : largest;
	}
	*packing = (struct packing){ .numbers = numbers, .n = n, .smallest = smallest };
	for (unsigned i = 0; i < n && divisor != 1; i++)
		divisor = greatest_common_divisor(residual(packing, i), divisor);
	packing->factor = divisor ? divisor : 1;
	packing->width = iforest_bit_width(((uint64_t)largest - (uint64_t)smallest) / packing->factor);
}

/* Writes packed numbers word by word, and only the bytes that are needed of the last word. */
static uint8_t *put_packed(uint8_t *out, const struct packing *packing)
{
	unsigned width = packing->width, n_bits = 0;
	uint64_t pending = 0;

	for (unsigned i = 0; i < packing->n; i++) {
		uint64_t quotient = packing->factor > 1 ? residual(packing, i) / packing->factor : residual(packing, i);

		pending |= quotient << n_bits;
		n_bits += width;
		if (n_bits >= 64) {
			iforest_store64(out, pending);
			out += 8;
			n_bits -= 64;
			pending = n_bits ? quotient >> (width - n_bits) : 0;
		}
	}
	for (unsigned bit = 0; bit < n_bits; bit += 8)
		*out++ = (uint8_t)(pending >> bit);
	return out;
}

/* Fills gaps: a missing number repeats the one before it, the first ones the first present one. */
static void repeat_missing(const int64_t *numbers, uint64_t present, unsigned n, int64_t *repeated)
{
	int64_t previous = present ? numbers[iforest_trailing_zeros(present)] : 0;

	for (unsigned i = 0; i < n; i++) {
		if (present >> i & 1)
			previous = numbers[i];
		repeated[i] = previous;
	}
}

unsigned iforest_column_pack(uint8_t *out, const int64_t *numbers, uint64_t present, unsigned n, int64_t reference)
{
	uint64_t all = iforest_low_bits(n);
	int64_t repeated[IFOREST_BLOCK_ENTRIES] = { 0 }, differences[IFOREST_BLOCK_ENTRIES] = { 0 };
	const int64_t *filled = numbers;
	struct packing plain, delta, *packing = &plain;
	uint8_t *start = out;
	unsigned flags = 0;

	present &= all;
	if (present != all) {
		repeat_missing(numbers, present, n, repeated);
		filled = repeated;
	}
	for (unsigned i = 1; i < n; i++)
		differences[i - 1] = (int64_t)((uint64_t)filled[i] - (uint64_t)filled[i - 1]);
	plan_packing(&plain, filled, n);
	plan_packing(&delta, differences, n - 1);
	if (delta.width * (n - 1) < plain.width * n) {
		packing = &delta;
		flags |= DELTA;
	}
	if (packing->factor > 1 && packing->width > 0)
		flags |= FACTOR;
	if (present != all)
		flags |= NULLS;

	*out++ = (uint8_t)packing->width;
	*out++ = (uint8_t)flags;
	out = iforest_varint_write(
		out, iforest_zigzag((int64_t)((uint64_t)(flags & DELTA ? filled[0] : plain.smallest) - (uint64_t)reference)));
	if (flags & DELTA)
		out = iforest_varint_write(out, iforest_zigzag(delta.smallest));
	if (flags & FACTOR)
		out = iforest_varint_write(out, packing->factor);
	if (flags & NULLS)
		for (unsigned i = 0; i < n; i += 8)
			*out++ = (uint8_t)(present >> i);
	if (packing->width)
		out = put_packed(out, packing);
	return (unsigned)(out - start);
}

bool iforest_column_has_gaps(const uint8_t *bytes)
{
	return bytes[1] & NULLS;
}

enum iforest_status iforest_column_open(struct iforest_column *column, const uint8_t *bytes, const uint8_t *end, unsigned n,
					int64_t reference)
{
	uint64_t base, difference = 0, factor = 1, present = iforest_low_bits(n);
	unsigned flags, n_packed;

	if (end - bytes < 2 || bytes[0] > 64 || bytes[1] > (DELTA | FACTOR | NULLS))
		return IFOREST_CORRUPT;
	column->width = bytes[0];
	flags = bytes[1];
	bytes = iforest_varint_read(bytes + 2, end, &base);
	if (bytes && flags & DELTA)
		bytes = iforest_varint_read(bytes, end, &difference);
	if (bytes && flags & FACTOR)
		bytes = iforest_varint_read(bytes, end, &factor);
	if (!bytes || (flags & FACTOR && factor < 2))
		return IFOREST_CORRUPT;
	if (flags & NULLS) {
		if ((size_t)(end - bytes) < (n + 7) / 8)
			return IFOREST_CORRUPT;
		present = 0;
		for (unsigned i = 0; i < n; i += 8)
			present |= (uint64_t)*bytes++ << i;
		present &= iforest_low_bits(n);
	}
	n_packed = flags & DELTA ? n - 1 : n;
	if ((size_t)(end - bytes) < (n_packed * column->width + 7) / 8)
		return IFOREST_CORRUPT;
	column->packed = bytes;
	column->end = bytes + (n_packed * column->width + 7) / 8;
	column->present = present;
	column->base = (int64_t)((uint64_t)reference + (uint64_t)iforest_unzigzag(base));
	column->difference = iforest_unzigzag(difference);
	column->factor = factor;
	column->is_delta = flags & DELTA;
	return IFOREST_OK;
}

/* Returns packed number i; may read, without using them, 8 bytes past the last. `wide`: the width exceeds 57, so that a number
 * may extend into a ninth byte. */
static inline uint64_t packed_at(const struct iforest_column *column, bool wide, unsigned i)
{
	unsigned bit = i * column->width, shift = bit & 7;
	const uint8_t *from = column->packed + (bit >> 3);
	uint64_t x = iforest_load64(from) >> shift;

	if (wide && column->width + shift > 64)
		x |= (uint64_t)from[8] << (64 - shift);
	return x & iforest_low_bits(column->width);
}

/* Returns the packed numbers from number i on, as many as fit 57 bits. */
static inline uint64_t packed_from(const struct iforest_column *column, unsigned i)
{
	unsigned bit = i * column->width;

	return iforest_load64(column->packed + (bit >> 3)) >> (bit & 7);
}

/* Sums packed numbers [i, n). One load gives several narrow ones; or all of a block if they are single bits (differences of
 * refs, if all pages of a table have equally many rows). */
static uint64_t sum_packed(const struct iforest_column *column, unsigned i, unsigned n)
{
	unsigned width = column->width;
	uint64_t sum = 0, mask = iforest_low_bits(width);

	if (width == 1 && n <= 64)
		return iforest_popcount(iforest_load64(column->packed) & iforest_low_bits(n) & ~iforest_low_bits(i));
	for (; width <= 14 && i + 4 <= n; i += 4) {
		uint64_t x = packed_from(column, i);

		sum += (x & mask) + (x >> width & mask) + (x >> 2 * width & mask) + (x >> 3 * width & mask);
	}
	for (; width <= 28 && i + 2 <= n; i += 2) {
		uint64_t x = packed_from(column, i);

		sum += (x & mask) + (x >> width & mask);
	}
	for (; i < n; i++)
		sum += packed_at(column, width > 57, i);
	return sum;
}

int64_t iforest_column_at(const struct iforest_column *column, unsigned i)
{
	uint64_t x = (uint64_t)column->base;

	if (!column->is_delta)
		return (int64_t)(x + packed_at(column, true, i) * column->factor);
	x += i * (uint64_t)column->difference;
	return (int64_t)(x + sum_packed(column, 0, i) * column->factor);
}

/* Moves from number i of an ascending DELTA column, which is *at, to the first one >= `number`. Returns its index, n if none.
 * Several narrow steps per load, then one by one if the number is among them. */
static inline unsigned find_delta(const struct iforest_column *column, unsigned n, int64_t number, unsigned i, uint64_t *at)
{
	uint64_t x = *at, difference = (uint64_t)column->difference, mask = iforest_low_bits(column->width);
	unsigned width = column->width;

	for (; width <= 14 && i + 4 < n; i += 4) {
		uint64_t steps = packed_from(column, i);
		uint64_t sum =
			(steps & mask) + (steps >> width & mask) + (steps >> 2 * width & mask) + (steps >> 3 * width & mask);
		uint64_t next = x + 4 * difference + sum * column->factor;

		if ((int64_t)next >= number)
			break;
		x = next;
	}
	while (i < n && (int64_t)x < number && ++i < n)
		x += difference + packed_at(column, width > 57, i - 1) * column->factor;
	*at = x;
	return i;
}

static unsigned find_plain(const struct iforest_column *column, unsigned n, int64_t number, unsigned from, int64_t *found)
{
	unsigned low = from, high = n;

	*found = 0;
	while (low < high) {
		unsigned middle = (low + high) / 2;
		int64_t x = iforest_column_at(column, middle);

		if (x < number) {
			low = middle + 1;
		} else {
			high = middle;
			*found = x;
		}
	}
	return low;
}

unsigned iforest_column_find(const struct iforest_column *column, unsigned n, int64_t number, int64_t *found)
{
	uint64_t x = (uint64_t)column->base;
	unsigned i;

	if (!column->is_delta)
		return find_plain(column, n, number, 0, found);
	i = find_delta(column, n, number, 0, &x);
	*found = (int64_t)x;
	return i;
}

void iforest_column_find_range(const struct iforest_column *column, unsigned n, int64_t low, int64_t high, unsigned *from,
			       unsigned *to)
{
	uint64_t x = (uint64_t)column->base;
	int64_t found;

	if (column->is_delta) {
		*from = find_delta(column, n, low, 0, &x);
		*to = find_delta(column, n, high, *from, &x);
	} else {
		*from = find_plain(column, n, low, 0, &found);
		*to = find_plain(column, n, high, *from, &found);
	}
}

/* True if neither a number nor the sum of 64 packed ones exceeds 64 bits. */
static bool can_sum_packed(const struct iforest_column *column)
{
	return !column->is_delta && column->width <= 58 && column->width + iforest_bit_width(column->factor) <= 100 &&
	       column->base + (iforest_int128)iforest_low_bits(column->width) * column->factor <= INT64_MAX;
}

bool iforest_column_sum(const struct iforest_column *column, unsigned from, unsigned to, iforest_int128 *sum)
{
	iforest_int128 n = to - from;

	if (!can_sum_packed(column))
		return false;
	*sum = n * column->base + (iforest_int128)sum_packed(column, from, to) * column->factor;
	return true;
}

/* Sums packed numbers [from, to), and finds the least and the greatest. */
static inline uint64_t fold_packed(const struct iforest_column *column, bool wide, unsigned from, unsigned to, uint64_t *least,
				   uint64_t *greatest)
{
	uint64_t sum = 0, low = UINT64_MAX, high = 0;

	for (unsigned i = from; i < to; i++) {
		uint64_t x = packed_at(column, wide, i);

		sum += x;
		low = x < low ? x : low;
		high = x > high ? x : high;
	}
	*least = low;
	*greatest = high;
	return sum;
}

bool iforest_column_fold(const struct iforest_column *column, unsigned from, unsigned to, iforest_int128 *sum, int64_t *least,
			 int64_t *greatest)
{
	iforest_int128 n = to - from;
	uint64_t packed_sum, low, high;

	if (!can_sum_packed(column))
		return false;
	packed_sum = (column->width > 57 ? fold_packed(column, true, from, to, &low, &high)
					 : fold_packed(column, false, from, to, &low, &high));
	*sum = n * column->base + (iforest_int128)packed_sum * column->factor;
	*least = (int64_t)((uint64_t)column->base + low * column->factor);
	*greatest = (int64_t)((uint64_t)column->base + high * column->factor);
	return true;
}

enum { MOST_TAKEN_OUT = 16 };

bool iforest_column_subtract(const struct iforest_column *column, uint64_t which, iforest_int128 *sum)
{
	bool can = which == 0 || (!column->is_delta && iforest_popcount(which) <= MOST_TAKEN_OUT);

	for (; can && which; which &= which - 1)
		*sum = iforest_add_wrapping(*sum, -(iforest_int128)iforest_column_at(column, iforest_trailing_zeros(which)));
	return can;
}

bool iforest_column_bounds(const struct iforest_column *column, unsigned n, int64_t *low, int64_t *high)
{
	iforest_int128 most;

	/* a sum of 64 such steps fits 128 bits */
	if (column->width + iforest_bit_width(column->factor) > 100)
		return false;
	most = (iforest_int128)iforest_low_bits(column->width) * column->factor;
	if (column->is_delta) {
		/* ascending: every step is at least the difference */
		most = (most + column->difference) * (n - 1);
		if (column->difference < 0 || column->base + most > INT64_MAX)
			return false;
		*low = column->base;
		*high = iforest_column_at(column, n - 1);
		return true;
	}
	if (column->base + most > INT64_MAX)
		return false;
	*low = column->base;
	*high = (int64_t)(column->base + most);
	return true;
}

static inline void unpack_delta(const struct iforest_column *column, bool wide, unsigned n, int64_t *numbers)
{
	uint64_t x = (uint64_t)column->base;

	numbers[0] = column->base;
	for (unsigned i = 1; i < n; i++) {
		x += (uint64_t)column->difference + packed_at(column, wide, i - 1) * column->factor;
		numbers[i] = (int64_t)x;
	}
}

static inline void unpack_plain(const struct iforest_column *column, bool wide, unsigned n, int64_t *numbers)
{
	for (unsigned i = 0; i < n; i++)
		numbers[i] = (int64_t)((uint64_t)column->base + packed_at(column, wide, i) * column->factor);
}

void iforest_column_unpack(const struct iforest_column *column, unsigned n, int64_t *numbers)
{
	struct iforest_column copy = *column; /* tells the compiler that `numbers` does not alias the header */

	if (copy.is_delta && copy.width > 57)
		unpack_delta(&copy, true, n, numbers);
	else if (copy.is_delta)
		unpack_delta(&copy, false, n, numbers);
	else if (copy.width > 57)
		unpack_plain(&copy, true, n, numbers);
	else
		unpack_plain(&copy, false, n, numbers);
}

/* ---- Summary of a block's value column: n, sum, and the places of its minimum and maximum ---- */

enum { NO_SUMMARY = 255 };

/* The numbers to summarise, without gaps; number k is that of entry entry_of(k). */
struct gathered {
	const int64_t *numbers;
	unsigned n;
	unsigned first; /* entry of number 0, if there are no gaps */
	bool has_gaps;
	uint8_t entries[IFOREST_BLOCK_ENTRIES];
	int64_t copies[IFOREST_BLOCK_ENTRIES];
};

static void gather(struct gathered *gathered, const int64_t *values, uint64_t which)
{
	unsigned first = iforest_trailing_zeros(which), n = iforest_popcount(which);

	gathered->n = n;
	gathered->first = first;
	gathered->numbers = values + first;
	gathered->has_gaps = which != iforest_low_bits(n) << first;
	if (!gathered->has_gaps)
		return;
	gathered->numbers = gathered->copies;
	for (unsigned k = 0; k < n; k++, which &= which - 1) {
		gathered->entries[k] = (uint8_t)iforest_trailing_zeros(which);
		gathered->copies[k] = values[gathered->entries[k]];
	}
}

static unsigned entry_of(const struct gathered *gathered, unsigned k)
{
	return gathered->has_gaps ? gathered->entries[k] : gathered->first + k;
}

/* Exact, without 128-bit additions in the loop: the sum of 64 halves of 32 bits fits 64 bits. */
static iforest_int128 add_integers(const struct gathered *gathered)
{
	uint64_t low = 0;
	int64_t high = 0;

	for (unsigned k = 0; k < gathered->n; k++) {
		low += (uint32_t)gathered->numbers[k];
		high += gathered->numbers[k] >> 32;
	}
	return (iforest_int128)high * ((int64_t)1 << 32) + low;
}

/* Finds the first of the smallest numbers and the first of the greatest. */
static void find_integers(const struct gathered *gathered, unsigned *low, unsigned *high)
{
	const int64_t *numbers = gathered->numbers;
	int64_t least = numbers[0], greatest = numbers[0];

	for (unsigned k = 1; k < gathered->n; k++) {
		least = numbers[k] < least ? numbers[k] : least;
		greatest = numbers[k] > greatest ? numbers[k] : greatest;
	}
	for (*low = 0; numbers[*low] != least; ++*low)
		;
	for (*high = 0; numbers[*high] != greatest; ++*high)
		;
}

static void summarize_reals(const struct gathered *gathered, struct iforest_summary *summary, unsigned *low, unsigned *high)
{
	union iforest_number least = { .integer = gathered->numbers[0] }, greatest = least;

	*low = *high = 0;
	for (unsigned k = 0; k < gathered->n; k++) {
		union iforest_number x = { .integer = gathered->numbers[k] };

		if (isnan(x.real))
			summary->n_nan++;
		else if (isinf(x.real))
			*(x.real > 0 ? &summary->n_plus_infinity : &summary->n_minus_infinity) += 1;
		else
			summary->real_sum += x.real;
		if (iforest_number_compare(x, least, IFOREST_FLOAT64) < 0) {
			least = x;
			*low = k;
		}
		if (iforest_number_compare(x, greatest, IFOREST_FLOAT64) > 0) {
			greatest = x;
			*high = k;
		}
	}
}

void iforest_summarize(struct iforest_summary *summary, const int64_t *numbers, uint64_t which, enum iforest_value_type type)
{
	struct gathered gathered;
	unsigned low = 0, high = 0;

	*summary = (struct iforest_summary){ .n = iforest_popcount(which) };
	if (!which)
		return;
	gather(&gathered, numbers, which);
	if (type == IFOREST_INT64) {
		summary->sum = add_integers(&gathered);
		find_integers(&gathered, &low, &high);
	} else {
		summarize_reals(&gathered, summary, &low, &high);
	}
	summary->low = entry_of(&gathered, low);
	summary->high = entry_of(&gathered, high);
}

unsigned iforest_summary_write(const struct iforest_summary *summary, enum iforest_value_type type, uint8_t *bytes)
{
	uint8_t *out = bytes;

	if (summary->n == 0 || summary->sum > INT64_MAX || summary->sum < INT64_MIN || summary->n_nan ||
	    summary->n_plus_infinity || summary->n_minus_infinity) {
		*bytes = NO_SUMMARY;
		return 1;
	}
	*out++ = (uint8_t)summary->low;
	*out++ = (uint8_t)summary->high;
	if (type == IFOREST_INT64) {
		out = iforest_varint_write(out, iforest_zigzag((int64_t)summary->sum));
	} else {
		union iforest_number sum = { .real = summary->real_sum };

		iforest_store64(out, (uint64_t)sum.integer);
		out += 8;
	}
	return (unsigned)(out - bytes);
}

const uint8_t *iforest_summary_read(struct iforest_summary *summary, enum iforest_value_type type, const uint8_t *bytes,
				    const uint8_t *end, bool *is_there)
{
	uint64_t sum;

	*is_there = false;
	if (bytes >= end)
		return NULL;
	if (*bytes == NO_SUMMARY)
		return bytes + 1;
	*is_there = true;
	if (end - bytes < (type == IFOREST_INT64 ? 3 : 10) || bytes[0] >= IFOREST_BLOCK_ENTRIES ||
	    bytes[1] >= IFOREST_BLOCK_ENTRIES)
		return NULL;
	*summary = (struct iforest_summary){ .low = bytes[0], .high = bytes[1] };
	if (type == IFOREST_INT64) {
		bytes = iforest_varint_read(bytes + 2, end, &sum);
		summary->sum = bytes ? iforest_unzigzag(sum) : 0;
		return bytes;
	}
	summary->real_sum = (union iforest_number){ .integer = iforest_load_int64(bytes + 2) }.real;
	return bytes + 10;
}

const uint8_t *iforest_summary_read_sum(const uint8_t *bytes, const uint8_t *end, int64_t *sum)
{
	uint64_t zigzag = 0;

	if (end - bytes < 3 || bytes[0] >= IFOREST_BLOCK_ENTRIES ||
	    bytes[1] >= IFOREST_BLOCK_ENTRIES) /* NO_SUMMARY is greater */
		return NULL;
	bytes = iforest_varint_read(bytes + 2, end, &zigzag);
	*sum = iforest_unzigzag(zigzag);
	return bytes;
}

bool iforest_summary_agrees(const struct iforest_summary *stored, const struct iforest_summary *computed,
			    enum iforest_value_type type)
{
	uint8_t stored_bytes[IFOREST_MAX_SUMMARY_BYTES], computed_bytes[IFOREST_MAX_SUMMARY_BYTES];
	struct iforest_summary complete = { .n = 0 };
	unsigned n_bytes = iforest_summary_write(computed, type, computed_bytes);

	if (stored) {
		complete = *stored;
		complete.n = computed->n;
	}
	return iforest_summary_write(&complete, type, stored_bytes) == n_bytes &&
	       memcmp(stored_bytes, computed_bytes, n_bytes) == 0;
}
