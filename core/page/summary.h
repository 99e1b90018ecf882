/* summary.h -- n, sum, and the places of the smallest and greatest of up to 64 numbers: what a block of a leaf page says of
 * each value column, so that an edge of a window unpacks the blocks it cuts and no others. */
#ifndef IFOREST_SUMMARY_H
#define IFOREST_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/model/aggregate.h"
#include "core/base/status.h"

struct iforest_summary {
	unsigned n;
	unsigned low, high;        /* entries with the smallest and the greatest number; of several the first. n > 0 */
	iforest_int128 sum;        /* IFOREST_INT64 */
	double real_sum;           /* IFOREST_FLOAT64: of the finite numbers */
	unsigned n_nan, n_plus_infinity, n_minus_infinity;
};

/* Summarises the numbers whose bit is set in `which` (doubles as their bits). */
void iforest_summarize(struct iforest_summary *summary, const int64_t *numbers, uint64_t which, enum iforest_value_kind kind);

#define IFOREST_MAX_SUMMARY_BYTES 12

/* As bytes, in front of a value column of a block:
 *
 *   u8      entry of the smallest number; 255: there is no summary, and this is its only byte
 *   u8      entry of the greatest
 *   INT64   varint: zigzag(sum)        FLOAT64   f64: sum
 *
 * There is none without numbers, where an exact sum exceeds 64 bits, and where there are NaNs or infinities.
 * n is not written: the column knows it. Returns bytes written. */
unsigned iforest_summary_write(const struct iforest_summary *summary, enum iforest_value_kind kind, uint8_t *bytes);

/* Reads what iforest_summary_write() wrote, but for n. *is_there is false where there is no summary.
 * Returns the first byte after it, NULL where the bytes before `end` are none. */
const uint8_t *iforest_summary_read(struct iforest_summary *summary, enum iforest_value_kind kind, const uint8_t *bytes,
				    const uint8_t *end, bool *is_there);

/* Reads the sum of integers alone. Returns NULL also where there is no summary. */
const uint8_t *iforest_summary_read_sum(const uint8_t *bytes, const uint8_t *end, int64_t *sum);

/* Is the stored summary (NULL: none) the one that would be written for what was computed from the numbers? */
bool iforest_summary_agrees(const struct iforest_summary *stored, const struct iforest_summary *computed,
			    enum iforest_value_kind kind);

#endif
