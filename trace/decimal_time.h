/* trace/decimal_time.h -- Exact conversion of decimal microseconds to integer nanoseconds.
 *
 * Trace times are microseconds written in decimal, with up to 19 significant digits. A double has 53 bits, so converting
 * through it would be wrong by up to hundreds of nanoseconds. Instead the digits are shifted by three places and rounded half
 * to even.
 */
#ifndef IFOREST_DECIMAL_TIME_H
#define IFOREST_DECIMAL_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_time_status {
	TRACE_TIME_OK,
	TRACE_TIME_NOT_A_NUMBER, /* the text is not of the form [-]digits[.digits][(e|E)[+|-]digits] */
	TRACE_TIME_OUT_OF_RANGE	 /* the rounded value does not fit into int64_t */
};

/* True if the whole text is a decimal number: JSON's grammar, leading zeros allowed.
 * O(n_bytes). */
bool trace_is_decimal(const char *text, size_t n_bytes);

/* Microseconds in decimal to nanoseconds.
 * Requires: text has n_bytes bytes and need not be NUL-terminated. time_ns is not NULL.
 * Returns:  TRACE_TIME_OK and *time_ns = text * 1000 rounded half to even ("0.0005" is 0, "0.0015" is 2,
 *           "-0.0015" is -2); otherwise *time_ns is unchanged.
 * Complexity: O(n_bytes), whatever the exponent. */
enum trace_time_status trace_time_from_us(const char *text, size_t n_bytes, int64_t *time_ns);

#endif
