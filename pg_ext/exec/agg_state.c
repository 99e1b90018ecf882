#include "pg_ext/exec/variance.h"

#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "pg_ext/types/values.h"

static Datum multiply(Datum a, Datum b)
{
	return DirectFunctionCall2(numeric_mul, a, b);
}

static bool is_greater(Datum a, Datum b)
{
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp, a, b)) > 0;
}

Datum iforest_numeric_from_squares(const struct iforest_squares *squares, int scale)
{
	Datum number = iforest_numeric_from_int128(0, 0), word = iforest_numeric_from_int128((iforest_int128)1 << 64, 0);

	for (int i = 2; i >= 0; i--)
		number = DirectFunctionCall2(numeric_add, multiply(number, word),
					     iforest_numeric_from_int128(squares->words[i], 0));
	return scale > 0 ? multiply(number, iforest_numeric_from_int128(1, 2 * scale)) : number;
}

/* The root rounded to the digits that the number has after the point. What numeric_sqrt() rounded to more of them is cut off,
 * and the last digit decided by the square of the middle between two roots, which no number of so few digits is equal to. */
static Datum root(Datum number)
{
	int32 scale = DatumGetInt32(DirectFunctionCall1(numeric_scale, number));
	Datum low = DirectFunctionCall2(numeric_trunc, DirectFunctionCall1(numeric_sqrt, number), Int32GetDatum(scale));
	Datum half = iforest_numeric_from_int128(5, scale + 1);
	Datum middle = DirectFunctionCall2(numeric_add, low, half);

	if (is_greater(number, multiply(middle, middle)))
		low = DirectFunctionCall2(numeric_add, middle, half);
	return DirectFunctionCall2(numeric_trunc, low, Int32GetDatum(scale));
}

Datum iforest_variance(enum iforest_function function, uint64 n, Datum sum, Datum squares, bool *is_null)
{
	bool is_sample = function == IFOREST_FUNCTION_VAR_SAMP || function == IFOREST_FUNCTION_STDDEV_SAMP;
	bool is_deviation = function == IFOREST_FUNCTION_STDDEV_SAMP || function == IFOREST_FUNCTION_STDDEV_POP;
	Datum zero = iforest_numeric_from_int128(0, 0), count = iforest_numeric_from_int128((iforest_int128)n, 0);
	Datum spread, divisor, variance;

	*is_null = n == 0 || (is_sample && n == 1);
	if (*is_null)
		return (Datum)0;
	spread = DirectFunctionCall2(numeric_sub, multiply(count, squares), multiply(sum, sum));
	if (!is_greater(spread, zero))
		return zero;
	divisor = multiply(count, iforest_numeric_from_int128((iforest_int128)(is_sample ? n - 1 : n), 0));
	variance = DirectFunctionCall2(numeric_div, spread, divisor);
	return is_deviation ? root(variance) : variance;
}
