/* model/lttb.h -- Largest triangle three buckets: which points of a line to draw, so that it looks like all of them.
 *
 *   first | bucket 1 | bucket 2 | ... | bucket n - 2 | last
 *
 * First and last point are kept, the others stand in n - 2 buckets of as many points each, one more or less. Of each bucket the
 * point is kept that makes the largest triangle with the point kept before and the mean of the next bucket's points.
 *
 * Sveinn Steinarsson, "Downsampling Time Series for Visual Representation", University of Iceland, 2013. Over the smallest and
 * the largest point of each of many buckets of time instead of all points, it is MinMaxLTTB: Van Der Donckt, Van Der Donckt,
 * Rademaker and Van Hoecke, "MinMaxLTTB: Leveraging MinMax-Preselection to Scale LTTB in Visualizations", IEEE VIS 2023.
 */
#ifndef IFOREST_MODEL_LTTB_H
#define IFOREST_MODEL_LTTB_H

#include <stddef.h>
#include <stdint.h>

struct iforest_line_point {
	int64_t time;
	double value;
	size_t row; /* the caller's */
};

/* Sorts points by time, those of one time by value and row. */
void iforest_line_sort(struct iforest_line_point *points, size_t n);

/* Keeps n_wanted of n sorted points, at the front of the array, and returns how many: all if there are no more than that.
 * Between points of the same area the first is kept; a bucket of which no area is a number keeps its first.
 * Requires  n_wanted >= 2. */
size_t iforest_lttb(struct iforest_line_point *points, size_t n, size_t n_wanted);

#endif
