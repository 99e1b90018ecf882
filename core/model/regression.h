/* model/regression.h -- Statistics of pairs of numbers from their exact sums: covariance, correlation, the least-squares line.
 *
 * Definitions and NULL results are those of SQL (ISO/IEC 9075-2:2016, 10.9): y is the first argument, x the second, and rows in
 * which either is NULL are ignored.
 */
#ifndef IFOREST_MODEL_REGRESSION_H
#define IFOREST_MODEL_REGRESSION_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum iforest_pair_function {
	IFOREST_REGR_COUNT,
	IFOREST_CORR,
	IFOREST_COVAR_POP,
	IFOREST_COVAR_SAMP,
	IFOREST_REGR_SLOPE,
	IFOREST_REGR_INTERCEPT,
	IFOREST_REGR_R2,
	IFOREST_REGR_AVGX,
	IFOREST_REGR_AVGY,
	IFOREST_REGR_SXX,
	IFOREST_REGR_SYY,
	IFOREST_REGR_SXY,
	IFOREST_PAIR_FUNCTIONS
};

/* The numbers of an IFOREST_KIND_PRODUCTS accumulator, of three words each. OTHER is the second column. */
enum {
	IFOREST_PAIR_N,
	IFOREST_PAIR_SUM,
	IFOREST_PAIR_OTHER_SUM,
	IFOREST_PAIR_SQUARES,
	IFOREST_PAIR_OTHER_SQUARES,
	IFOREST_PAIR_PRODUCTS,
	IFOREST_PAIR_NUMBERS
};

/* Computes a function of y and x from the words of an accumulator; for IFOREST_CORR, the square of the correlation with its
 * sign. is_swapped: x is the accumulator's first column. Returns false for NULL. All sums and differences are exact, and
 * rounded to double once before they are divided or multiplied. */
bool iforest_pair_ratio(const uint64_t *words, bool is_swapped, enum iforest_pair_function function, double *result);

/* Computes a function of y and x. Inline, because the core library does not link libm. */
static inline bool iforest_pair_result(const uint64_t *words, bool is_swapped, enum iforest_pair_function function,
				       double *result)
{
	bool is_known = iforest_pair_ratio(words, is_swapped, function, result);

	if (is_known && function == IFOREST_CORR)
		*result = copysign(sqrt(fabs(*result)), *result);
	return is_known;
}

#endif
