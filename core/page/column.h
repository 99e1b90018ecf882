/* page/column.h -- Packed column: up to 64 integers of a block in few bits each, and their stored summary.
 *
 *   plain    x[i] = base + r[i] factor                                 (frame of reference: base is the smallest)
 *   DELTA    x[0] = base, x[i] = x[i-1] + difference + r[i-1] factor   (sorted or evenly spaced numbers)
 *
 * All arithmetic is modulo 2^64, so any int64 can be stored. The factor is the greatest common divisor: it removes the constant
 * trailing digits of whole microseconds kept as nanoseconds, and of doubles with few significant bits. A missing number repeats
 * the one before it. `reference` is a number that writer and reader know (such as the block's first time), so that base takes
 * one byte.
 * Bytes: FORMAT.md, "Column" and "Summary".
 */
#ifndef IFOREST_PAGE_COLUMN_H
#define IFOREST_PAGE_COLUMN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/bits.h"
#include "core/base/status.h"
#include "core/model/aggregate.h"

#define IFOREST_BLOCK_ENTRIES 64u
#define IFOREST_MAX_COLUMN_BYTES (2 + 3 * 10 + 8 + 8 * IFOREST_BLOCK_ENTRIES)

/* Bytes that a decoder may read past the end of a column, without using them: pages end with as many zero bytes. */
#define IFOREST_COLUMN_SLACK 8u

/* Packs numbers[0, n); number i is missing unless bit i of `present` is set.
 * Requires  1 <= n <= 64; out has IFOREST_MAX_COLUMN_BYTES.
 * Returns   bytes written. */
unsigned iforest_column_pack(uint8_t *out, const int64_t *numbers, uint64_t present, unsigned n, int64_t reference);

/* The header of a packed column. The bytes are untrusted: opening checks that all of the column lies before `end`. */
struct iforest_column {
	const uint8_t *packed;
	const uint8_t *end; /* of the column */
	uint64_t present;
	int64_t base, difference;
	uint64_t factor;
	uint8_t width;
	uint8_t is_delta;
};

/* Opens a packed column.
 * Requires  end + IFOREST_COLUMN_SLACK bytes may be read.
 * Errors    IFOREST_CORRUPT. */
enum iforest_status iforest_column_open(struct iforest_column *column, const uint8_t *bytes, const uint8_t *end, unsigned n,
					int64_t reference);

/* True if, by the first two bytes of a column, numbers may be missing. */
bool iforest_column_has_gaps(const uint8_t *bytes);

/* Returns number i < n. Cost: O(1); O(i) if the column is DELTA. */
int64_t iforest_column_at(const struct iforest_column *column, unsigned i);

/* Returns the index of the first of n numbers that is >= `number`, n if there is none, without unpacking them. *found is that
 * number, if there is one. If the numbers do not ascend, the result is any i <= n.
 * Cost  O(log n), O(n) where the column is DELTA. */
unsigned iforest_column_find(const struct iforest_column *column, unsigned n, int64_t number, int64_t *found);

/* Finds the numbers [*from, *to) of n ascending ones that are in [low, high), as two searches do, but in one pass.
 * Requires  low <= high. */
void iforest_column_find_range(const struct iforest_column *column, unsigned n, int64_t low, int64_t high, unsigned *from,
			       unsigned *to);

/* Computes the sum of numbers [from, to), from < to, without unpacking them. Returns false if that would not be exact.
 * Cost  O(to - from). */
bool iforest_column_sum(const struct iforest_column *column, unsigned from, unsigned to, iforest_int128 *sum);

/* iforest_column_sum(), and the least and greatest of these numbers. A missing one counts as the number that it repeats. */
bool iforest_column_fold(const struct iforest_column *column, unsigned from, unsigned to, iforest_int128 *sum, int64_t *least,
			 int64_t *greatest);

/* Subtracts the numbers whose bit is set from a sum, without unpacking them. Returns false, and subtracts nothing, if unpacking
 * all would be cheaper: if they are many, or the column is DELTA.
 * Cost  O(1) each. */
bool iforest_column_subtract(const struct iforest_column *column, uint64_t which, iforest_int128 *sum);

/* Gives bounds of all n numbers, not always tight, without unpacking them. Returns false if the header does not tell.
 * Cost  O(1), O(n) where the column is DELTA. */
bool iforest_column_bounds(const struct iforest_column *column, unsigned n, int64_t *low, int64_t *high);

/* True if, by the header alone, all numbers are less (greater) than a bound. Cost: O(1). */
static inline bool iforest_column_is_below(const struct iforest_column *column, int64_t bound)
{
	iforest_uint128 most = (iforest_uint128)iforest_low_bits(column->width) * column->factor;

	return !column->is_delta && column->base < bound && most < (uint64_t)bound - (uint64_t)column->base;
}

static inline bool iforest_column_is_above(const struct iforest_column *column, int64_t bound)
{
	iforest_uint128 most = (iforest_uint128)iforest_low_bits(column->width) * column->factor;

	return !column->is_delta && column->base > bound && most <= (uint64_t)INT64_MAX - (uint64_t)column->base;
}

/* Unpacks all n numbers; missing ones are undefined. */
void iforest_column_unpack(const struct iforest_column *column, unsigned n, int64_t *numbers);

/* ---- Summary of a block's value column: n, sum, and the places of its minimum and maximum ---- */

struct iforest_summary {
	unsigned n;
	unsigned low, high; /* entries with the smallest and the greatest number; the first of several. n > 0 */
	iforest_int128 sum; /* IFOREST_INT64 */
	double real_sum;    /* IFOREST_FLOAT64: of the finite numbers */
	unsigned n_nan, n_plus_infinity, n_minus_infinity;
};

/* Summarises the numbers whose bit is set in `which` (doubles as their bits). */
void iforest_summarize(struct iforest_summary *summary, const int64_t *numbers, uint64_t which, enum iforest_value_type type);

#define IFOREST_MAX_SUMMARY_BYTES 12

/* Writes a summary as bytes, which go before its column; or a byte that stands for "no summary" if there are no numbers, an
 * exact sum exceeds 64 bits, or there are NaNs or infinities. Does not write n, which the column has.
 * Returns  bytes written. */
unsigned iforest_summary_write(const struct iforest_summary *summary, enum iforest_value_type type, uint8_t *bytes);

/* Reads a summary without n. *is_there becomes false if there is none.
 * Returns  the first byte after it; NULL if the bytes before `end` are not valid. */
const uint8_t *iforest_summary_read(struct iforest_summary *summary, enum iforest_value_type type, const uint8_t *bytes,
				    const uint8_t *end, bool *is_there);

/* Reads the sum of a summary of integers.
 * Returns  the first byte after the summary; NULL if there is none or it is not valid. */
const uint8_t *iforest_summary_read_sum(const uint8_t *bytes, const uint8_t *end, int64_t *sum);

/* True if the stored summary (NULL: none) is the one that would be written for the computed one. */
bool iforest_summary_agrees(const struct iforest_summary *stored, const struct iforest_summary *computed,
			    enum iforest_value_type type);

#endif
