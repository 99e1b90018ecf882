/* model/lttb.h -- Largest triangle three buckets: downsampling of a line that keeps its visual shape.
 *
 *   first | bucket 1 | bucket 2 | ... | bucket n - 2 | last
 *
 * The first and the last point are kept; the others are divided into n - 2 buckets of equally many points, give or take one.
 * From each bucket the point is kept that forms the largest triangle with the point kept before it and the mean of the next
 * bucket.
 *
 * Sveinn Steinarsson, "Downsampling Time Series for Visual Representation", University of Iceland, 2013. Applied to the
 * smallest and the largest point of each of many time buckets instead of all points, it is MinMaxLTTB: Van Der Donckt, Van Der
 * Donckt, Rademaker and Van Hoecke, "MinMaxLTTB: Leveraging MinMax-Preselection to Scale LTTB in Visualizations", IEEE VIS
 * 2023.
 */
#ifndef IFOREST_MODEL_LTTB_H
#define IFOREST_MODEL_LTTB_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/interrupt.h"

struct iforest_line_point {
	int64_t time;
	double value;
	size_t row; /* for the caller */
};

/* Sorts points by time, value and row. `interrupt` may be NULL. Errors: those of the interrupt. */
enum iforest_status iforest_line_sort(struct iforest_line_point *points, size_t n, const struct iforest_interrupt *interrupt);

/* Moves n_wanted of n sorted points to the front of the array. Returns the number of points kept: n if that is not greater. Of
 * points with the same area the first is kept; so is the first of a bucket in which no area is a number.
 * Requires  n_wanted >= 2. */
size_t iforest_lttb(struct iforest_line_point *points, size_t n, size_t n_wanted);

#endif
