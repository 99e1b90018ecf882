/* variance.h -- variances of exact numbers from their sums, with the digits that the server's own aggregates give them.
 *
 * The server (numeric.c, as described in its comments) computes (n squares - sum^2) / (n (n - 1)), or / n^2, and takes the
 * square root of what that division gave, to as many digits after the point. Both come out here by the server's own functions
 * of numerics; only the root, which numeric_sqrt() gives with more digits, has to be rounded. */
#ifndef IFOREST_PG_VARIANCE_H
#define IFOREST_PG_VARIANCE_H

#include "pg_ext/planner/aggregates.h"

#include "core/model/aggregate.h"

/* A sum of squares of integers in units of 10^-scale, as a numeric. */
Datum iforest_numeric_from_squares(const struct iforest_squares *squares, int scale);

/* The result of a function that needs squares (aggregates.h), a numeric; sum and squares are numerics. NULL of no numbers, and
 * of one unless that is the population. */
Datum iforest_variance(enum iforest_function function, uint64 n, Datum sum, Datum squares, bool *is_null);

#endif
