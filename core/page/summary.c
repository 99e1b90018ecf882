#include "core/page/summary.h"

#include <math.h>

#include "core/page/column.h"
#include "core/base/varint.h"

enum { NO_SUMMARY = 255 };

/* The numbers to summarise, without gaps; number k stands in entry entry_of(k). */
struct gathered {
	const int64_t *numbers;
	unsigned n;
	unsigned first;                         /* entry of number 0, where there are no gaps */
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

/* Exact, and without 128-bit additions in the loop: 64 halves of 32 bits cannot overflow 64. */
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

/* The first of the smallest numbers and the first of the greatest. */
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

void iforest_summarize(struct iforest_summary *summary, const int64_t *numbers, uint64_t which, enum iforest_value_kind kind)
{
	struct gathered gathered;
	unsigned low = 0, high = 0;

	*summary = (struct iforest_summary){ .n = iforest_popcount(which) };
	if (!which)
		return;
	gather(&gathered, numbers, which);
	if (kind == IFOREST_INT64) {
		summary->sum = add_integers(&gathered);
		find_integers(&gathered, &low, &high);
	} else {
		summarize_reals(&gathered, summary, &low, &high);
	}
	summary->low = entry_of(&gathered, low);
	summary->high = entry_of(&gathered, high);
}

unsigned iforest_summary_write(const struct iforest_summary *summary, enum iforest_value_kind kind, uint8_t *bytes)
{
	uint8_t *out = bytes;

	if (summary->n == 0 || summary->sum > INT64_MAX || summary->sum < INT64_MIN || summary->n_nan ||
	    summary->n_plus_infinity || summary->n_minus_infinity) {
		*bytes = NO_SUMMARY;
		return 1;
	}
	*out++ = (uint8_t)summary->low;
	*out++ = (uint8_t)summary->high;
	if (kind == IFOREST_INT64) {
		out = iforest_varint_write(out, iforest_zigzag((int64_t)summary->sum));
	} else {
		union iforest_number sum = { .real = summary->real_sum };

		iforest_store64(out, (uint64_t)sum.integer);
		out += 8;
	}
	return (unsigned)(out - bytes);
}

const uint8_t *iforest_summary_read(struct iforest_summary *summary, enum iforest_value_kind kind, const uint8_t *bytes,
				    const uint8_t *end, bool *is_there)
{
	uint64_t sum;

	*is_there = false;
	if (bytes >= end)
		return NULL;
	if (*bytes == NO_SUMMARY)
		return bytes + 1;
	*is_there = true;
	if (end - bytes < (kind == IFOREST_INT64 ? 3 : 10) || bytes[0] >= IFOREST_BLOCK_ENTRIES ||
	    bytes[1] >= IFOREST_BLOCK_ENTRIES)
		return NULL;
	*summary = (struct iforest_summary){ .low = bytes[0], .high = bytes[1] };
	if (kind == IFOREST_INT64) {
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

	if (end - bytes < 3 || bytes[0] >= IFOREST_BLOCK_ENTRIES || bytes[1] >= IFOREST_BLOCK_ENTRIES) /* NO_SUMMARY is more */
		return NULL;
	bytes = iforest_varint_read(bytes + 2, end, &zigzag);
	*sum = iforest_unzigzag(zigzag);
	return bytes;
}

bool iforest_summary_agrees(const struct iforest_summary *stored, const struct iforest_summary *computed,
			    enum iforest_value_kind kind)
{
	uint8_t stored_bytes[IFOREST_MAX_SUMMARY_BYTES], computed_bytes[IFOREST_MAX_SUMMARY_BYTES];
	struct iforest_summary complete = { .n = 0 };
	unsigned n_bytes = iforest_summary_write(computed, kind, computed_bytes);

	if (stored) {
		complete = *stored;
		complete.n = computed->n;
	}
	return iforest_summary_write(&complete, kind, stored_bytes) == n_bytes &&
	       memcmp(stored_bytes, computed_bytes, n_bytes) == 0;
}
