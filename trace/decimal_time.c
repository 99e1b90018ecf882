#include "trace/decimal_time.h"

/* The parts of a number. Its digits are in [first, end), with at most one '.' among them. */
struct decimal {
	bool negative;
	const char *first, *end;
	long n_integer_digits; /* those before the '.' */
	long exponent;
};

/* An exponent beyond this decides the result alone: no text has enough digits to make up for it. */
enum { EXPONENT_MAX = 1000000000 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool split_exponent(const char *at, const char *end, long *exponent)
{
	bool negative = false;
	long value = 0;

	if (at < end && (*at == '+' || *at == '-'))
		negative = *at++ == '-';
	if (at == end)
		return false;
	for (; at < end; at++) {
		if (!is_digit(*at))
			return false;
		if (value < EXPONENT_MAX)
			value = value * 10 + (*at - '0');
	}
	*exponent = negative ? -value : value;
	return true;
}

static bool split_decimal(const char *text, size_t n_bytes, struct decimal *number)
{
	const char *at = text, *end = text + n_bytes, *fraction;

	if (n_bytes > EXPONENT_MAX / 10)
		return false;
	number->negative = at < end && *at == '-';
	at += number->negative;
	number->first = at;
	while (at < end && is_digit(*at))
		at++;
	number->n_integer_digits = at - number->first;
	if (number->n_integer_digits == 0)
		return false;
	if (at < end && *at == '.') {
		for (fraction = ++at; at < end && is_digit(*at); at++)
			continue;
		if (at == fraction)
			return false;
	}
	number->end = at;
	number->exponent = 0;
	if (at == end)
		return true;
	return (*at == 'e' || *at == 'E') && split_exponent(at + 1, end, &number->exponent);
}

/* True if value is to be rounded up (half to even); rest has the digits that follow those of value. */
static bool rounds_up(uint64_t value, const char *rest, const char *end)
{
	if (rest < end && *rest == '.')
		rest++;
	if (rest == end || *rest != '5')
		return rest != end && *rest > '5';
	for (rest++; rest < end; rest++)
		if (*rest != '.' && *rest != '0')
			return true;
	return value & 1;
}

bool trace_is_decimal(const char *text, size_t n_bytes)
{
	struct decimal number;

	return split_decimal(text, n_bytes, &number);
}

/* Reads the form that nearly all times have, in one pass: up to 15 digits, then perhaps a point and more digits, without an
 * exponent. False for any other form. */
static bool read_short(const char *text, size_t n_bytes, int64_t *time_ns)
{
	const char *at = text, *end = text + n_bytes, *last = n_bytes > 15 ? text + 15 : end;
	uint64_t value = 0;
	int n_decimals = 0;

	for (; at < last && is_digit(*at); at++)
		value = value * 10 + (unsigned)(*at - '0');
	if (at == text || (at < end && (*at != '.' || ++at == end)))
		return false;
	for (; n_decimals < 3; n_decimals++) {
		unsigned digit = 0;

		if (at < end && is_digit(*at))
			digit = (unsigned)(*at++ - '0');
		value = value * 10 + digit;
	}
	if (at < end && !is_digit(*at))
		return false;
	text = at;
	while (at < end && is_digit(*at))
		at++;
	*time_ns = (int64_t)(value + rounds_up(value, text, end));
	return at == end;
}

enum trace_time_status trace_time_from_us(const char *text, size_t n_bytes, int64_t *time_ns)
{
	struct decimal number;
	uint64_t value = 0, limit;
	long n_wanted;
	const char *at;

	if (read_short(text, n_bytes, time_ns))
		return TRACE_TIME_OK;
	if (!split_decimal(text, n_bytes, &number))
		return TRACE_TIME_NOT_A_NUMBER;
	limit = (uint64_t)INT64_MAX + number.negative;
	n_wanted = number.n_integer_digits + number.exponent + 3;
	at = number.first;
	for (; n_wanted > 0; n_wanted--) {
		unsigned digit = 0;

		if (at < number.end && *at == '.')
			at++;
		if (at < number.end)
			digit = (unsigned)(*at++ - '0');
		else if (value == 0)
			break;
		if (value > (limit - digit) / 10)
			return TRACE_TIME_OUT_OF_RANGE;
		value = value * 10 + digit;
	}
	/* if n_wanted < 0, a zero follows the point, so the rest is below one half */
	if (n_wanted == 0 && rounds_up(value, at, number.end) && value++ == limit)
		return TRACE_TIME_OUT_OF_RANGE;
	if (number.negative)
		*time_ns = value == limit ? INT64_MIN : -(int64_t)value;
	else
		*time_ns = (int64_t)value;
	return TRACE_TIME_OK;
}
