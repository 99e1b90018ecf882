/* variance.h -- the variance of integers from their sums, exact until it is rounded once. */
#ifndef IFOREST_VARIANCE_H
#define IFOREST_VARIANCE_H

#include "core/model/aggregate.h"

/* The sample variance (n squares - sum^2) / (n (n - 1)), the double nearest to it. Its numerator is computed exactly, in 256
 * bits, as are 64 bits of the quotient.
 * Requires  n >= 2, of an IFOREST_INT64 column that keeps its squares. */
double iforest_sample_variance(const struct iforest_value_aggregate *aggregate);

#endif
