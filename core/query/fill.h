/* query/fill.h -- Filling of empty buckets: with the last value before them, or on the line between their neighbours.
 *
 *   iforest_fill_init(&fill, mode, values, &scan, ...);
 *   for (each group of series) {
 *           iforest_fill_turn(&fill);
 *           for (each bucket, ascending, with rows or without)
 *                   iforest_fill_bucket(&fill, series, n, &bucketing, bucket, &aggregate);
 *   }
 *   iforest_fill_release(&fill);
 */
#ifndef IFOREST_QUERY_FILL_H
#define IFOREST_QUERY_FILL_H

#include "core/query/scan.h"

enum iforest_fill_mode {
	IFOREST_FILL_LAST,  /* the last value before the bucket */
	IFOREST_FILL_LINEAR /* at the bucket's start, between the values before and after it */
};

struct iforest_fill {
	struct iforest_scan scan; /* a second scan, so that the scan of the buckets keeps its position */
	bool is_open;
	enum iforest_fill_mode mode;
	uint32_t values; /* bit v: fill value column v */
	/* bit v: before[v], or after[v], is known for the current run of empty buckets */
	uint32_t knows_before, knows_after;
	struct iforest_extreme before[IFOREST_MAX_VALUES], after[IFOREST_MAX_VALUES];

	/* of the last bucket passed */
	uint32_t filled;		  /* bit v: the bucket has no value v, and is filled with: */
	double lines[IFOREST_MAX_VALUES]; /* IFOREST_FILL_LINEAR; else before[v].value, of the column's type */
};

/* Prepares to fill the value columns in `values` (bits) in the buckets of the scan `beside`, whose runs and filter it uses.
 * That scan must request counts of these values. It and the joined runs must outlive the filling.
 * Errors  IFOREST_NO_MEMORY; release it even then. */
enum iforest_status iforest_fill_init(struct iforest_fill *fill, enum iforest_fill_mode mode, uint32_t values,
				      const struct iforest_scan *beside, struct iforest_store *joined,
				      const struct iforest_manifest *joined_manifest);

/* Accepts a struct that is all zero. */
void iforest_fill_release(struct iforest_fill *fill);

/* Starts the next group. */
void iforest_fill_turn(struct iforest_fill *fill);

/* Passes the next bucket of the group of n series, and sets `filled` and its values. Nothing is filled in a window without t0.
 * Cost    O(log N) per series, run and gap: at the first bucket without a value, and after each with one.
 * Errors  as iforest_cursor_seek(). */
enum iforest_status iforest_fill_bucket(struct iforest_fill *fill, const uint32_t *series, uint32_t n,
					const struct iforest_bucketing *bucketing, int64_t bucket,
					const struct iforest_aggregate *aggregate);

/* Returns the value at part / width of the way from a to b, 0 <= part <= width. */
static inline double iforest_line_real(double a, double b, uint64_t part, uint64_t width)
{
	return a * ((double)(width - part) / (double)width) + b * ((double)part / (double)width);
}

#endif
