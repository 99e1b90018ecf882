#include "sqlite_ext/query/bound.h"

#include <math.h>

#include "core/base/bits.h"

enum { UNKNOWN = 0 }; /* there is no memory to tell */

/* The value as SQLite compares it with a column of numbers. */
struct number {
	int type;            /* SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_NULL, SQLITE_TEXT: greater than all numbers, or UNKNOWN */
	int64_t integer;
	double real;
};

static struct number read_number(sqlite3_value *value)
{
	/* a copy, for the text that looks like a number becomes one */
	bool is_text = sqlite3_value_type(value) == SQLITE_TEXT;
	sqlite3_value *copy = is_text ? sqlite3_value_dup(value) : NULL, *read = copy ? copy : value;
	struct number number = { .type = copy ? sqlite3_value_numeric_type(copy) : sqlite3_value_type(value) };

	if (is_text && !copy)
		return (struct number){ .type = UNKNOWN };
	if (number.type == SQLITE_INTEGER)
		number.integer = sqlite3_value_int64(read);
	else if (number.type == SQLITE_FLOAT)
		number.real = sqlite3_value_double(read);
	else if (number.type != SQLITE_NULL)
		number.type = SQLITE_TEXT;
	sqlite3_value_free(copy);
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
	if (real >= 0x1p63 || real < -0x1p63) /* beyond all of them */
		return op != '=' && is_upper(op) == (real > 0);
	if (op == '=')
		return false;
	return is_lower(op) ? narrow_by_integer('g', (int64_t)ceil(real), low, high) :
			      narrow_by_integer('l', (int64_t)floor(real), low, high);
}

bool iforest_bound_integers(char op, sqlite3_value *value, int64_t *low, int64_t *high)
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

bool iforest_bound_reals(char op, sqlite3_value *value, double *low, double *high)
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
