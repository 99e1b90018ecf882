#include "sqlite_ext/query/numeric_bound.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/model/real_time.h"

enum { UNKNOWN = 0 }; /* no memory to convert the value */

/* The value as SQLite compares it with a column of numbers. */
struct number {
	int type; /* SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_NULL, SQLITE_TEXT: greater than all numbers, or UNKNOWN */
	int64_t integer;
	double real;
};

/* Returns SQLITE_INTEGER and sets *integer, or SQLITE_FLOAT, if all of the text but spaces around it is a number; otherwise
 * SQLITE_TEXT. sqlite3_value_numeric_type() does the same, but on a copy of a value it crashes in SQLite 3.53. */
static int type_of_text(const char *text, int n_bytes, int64_t *integer)
{
	static const char spaces[] = " \t\n\v\f\r", digits[] = "0123456789";
	const char *sign = text + strspn(text, spaces), *at = sign + (*sign == '-' || *sign == '+');
	size_t n_digits = strspn(at, digits);
	int type = SQLITE_INTEGER;

	at += n_digits;
	if (*at == '.') {
		n_digits += strspn(++at, digits);
		at += strspn(at, digits);
		type = SQLITE_FLOAT;
	}
	if (*at == 'e' || *at == 'E') {
		at += 1 + (at[1] == '-' || at[1] == '+');
		n_digits = strspn(at, digits) > 0 ? n_digits : 0;
		at += strspn(at, digits);
		type = SQLITE_FLOAT;
	}
	at += strspn(at, spaces);
	if (n_digits == 0 || at != text + n_bytes)
		return SQLITE_TEXT;
	errno = 0;
	*integer = strtoll(sign, NULL, 10);
	return errno == ERANGE ? SQLITE_FLOAT : type;
}

/* Of a copy: the text may have to be converted. */
static struct number read_text(sqlite3_value *value)
{
	struct number number = { .type = UNKNOWN };
	sqlite3_value *copy = sqlite3_value_dup(value);
	const char *text = copy ? (const char *)sqlite3_value_text(copy) : NULL;

	if (text)
		number.type = type_of_text(text, sqlite3_value_bytes(copy), &number.integer);
	if (number.type == SQLITE_FLOAT)
		number.real = sqlite3_value_double(copy);
	sqlite3_value_free(copy);
	return number;
}

static struct number read_number(sqlite3_value *value)
{
	struct number number = { .type = sqlite3_value_type(value) };

	if (number.type == SQLITE_TEXT)
		return read_text(value);
	if (number.type == SQLITE_INTEGER)
		number.integer = sqlite3_value_int64(value);
	else if (number.type == SQLITE_FLOAT)
		number.real = sqlite3_value_double(value);
	else if (number.type == SQLITE_BLOB)
		number.type = SQLITE_TEXT;
	return number;
}

static bool is_lower(char op)
{
	return op == '=' || op == '>' || op == 'g';
}

static bool is_upper(char op)
{
	return op == '=' || op == '<' || op == 'l';
}

static void raise_integer(int64_t bound, int64_t *low)
{
	if (bound > *low)
		*low = bound;
}

static void lower_integer(int64_t bound, int64_t *high)
{
	if (bound < *high)
		*high = bound;
}

static bool narrow_by_integer(char op, int64_t integer, int64_t *low, int64_t *high)
{
	if ((op == '>' && integer == INT64_MAX) || (op == '<' && integer == INT64_MIN))
		return false;
	if (is_lower(op))
		raise_integer(integer + (op == '>'), low);
	if (is_upper(op))
		lower_integer(integer - (op == '<'), high);
	return true;
}

static bool narrow_by_real(char op, double real, int64_t *low, int64_t *high)
{
	int64_t integer;

	if (iforest_integral(real, &integer))
		return narrow_by_integer(op, integer, low, high);
	if (real >= 0x1p63 || real < -0x1p63) /* beyond all integers */
		return op != '=' && is_upper(op) == (real > 0);
	if (op == '=')
		return false;
	return is_lower(op) ? narrow_by_integer('g', (int64_t)ceil(real), low, high)
			    : narrow_by_integer('l', (int64_t)floor(real), low, high);
}

bool ifs_bound_integers(char op, sqlite3_value *value, int64_t *low, int64_t *high)
{
	struct number number = read_number(value);

	switch (number.type) {
	case UNKNOWN:
		return true;
	case SQLITE_NULL:
		return false;
	case SQLITE_TEXT:
		return op == '<' || op == 'l';
	case SQLITE_FLOAT:
		return narrow_by_real(op, number.real, low, high);
	default:
		return narrow_by_integer(op, number.integer, low, high);
	}
}

bool ifs_bound_reals(char op, sqlite3_value *value, double *low, double *high)
{
	struct number number = read_number(value);
	double below = number.real, above = number.real;

	if (number.type == UNKNOWN || number.type == SQLITE_NULL)
		return number.type == UNKNOWN;
	if (number.type == SQLITE_TEXT)
		return op == '<' || op == 'l';
	if (number.type == SQLITE_INTEGER) { /* which may lie between two reals */
		below = nextafter((double)number.integer, -INFINITY);
		above = nextafter((double)number.integer, INFINITY);
	}
	if (is_lower(op) && below > *low)
		*low = below;
	if (is_upper(op) && above < *high)
		*high = above;
	return true;
}

bool ifs_bound_real_times(char op, sqlite3_value *value, int64_t *low, int64_t *high)
{
	struct number number = read_number(value);
	int64_t time, back;

	if (number.type == UNKNOWN || number.type == SQLITE_NULL)
		return number.type == UNKNOWN;
	if (number.type == SQLITE_TEXT)
		return op == '<' || op == 'l';
	if (number.type == SQLITE_FLOAT)
		return narrow_by_integer(op, iforest_time_of_real(number.real), low, high);
	time = iforest_time_not_before(number.integer);
	if (iforest_integral(iforest_real_of_time(time), &back) && back == number.integer)
		return narrow_by_integer(op, time, low, high);
	if (op == '=')
		return false;
	return is_lower(op) ? narrow_by_integer('g', time, low, high) : narrow_by_integer('<', time, low, high);
}
