#include "trace/json_escape.h"

#include <string.h>

enum { UNIT_BYTES = 6, PAIR_BYTES = 12 };

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int trace_json_escape_unit(const char *text, size_t n_bytes)
{
	int unit = 0;

	if (n_bytes < UNIT_BYTES || text[0] != '\\' || text[1] != 'u')
		return -1;
	for (int i = 2; i < UNIT_BYTES; i++) {
		int digit = hex_digit(text[i]);

		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

static bool is_high_half(int unit)
{
	return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low_half(int unit)
{
	return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* Does the text end before it is known whether it begins with \uXXXX? */
static bool may_become_unit(const char *text, size_t n_bytes)
{
	return n_bytes < UNIT_BYTES && (n_bytes < 1 || text[0] == '\\') && (n_bytes < 2 || text[1] == 'u');
}

size_t trace_json_escape_bytes(const char *text, size_t n_bytes, bool *is_half)
{
	int unit = trace_json_escape_unit(text, n_bytes);

	*is_half = false;
	if (may_become_unit(text, n_bytes))
		return 0;
	if (unit < 0)
		return 2;
	if (is_high_half(unit)) {
		if (is_low_half(trace_json_escape_unit(text + UNIT_BYTES, n_bytes - UNIT_BYTES)))
			return PAIR_BYTES;
		if (may_become_unit(text + UNIT_BYTES, n_bytes - UNIT_BYTES))
			return 0;
	}
	*is_half = is_high_half(unit) || is_low_half(unit);
	return UNIT_BYTES;
}

int trace_json_mend(struct trace_text text, struct trace_bytes *copy, struct trace_text *mended)
{
	const char *at = text.data, *end = text.data + text.n_bytes;
	bool is_half;

	*mended = text;
	while ((at = memchr(at, '\\', (size_t)(end - at)))) {
		size_t position = (size_t)(at - text.data), n_bytes = trace_json_escape_bytes(at, (size_t)(end - at), &is_half);

		if (n_bytes == 0) {
			mended->n_bytes = position;
			break;
		}
		if (is_half && mended->data == text.data) {
			trace_bytes_clear(copy);
			if (trace_bytes_append(copy, text, NULL) < 0)
				return TRACE_ERROR_MEMORY;
			mended->data = copy->data;
		}
		if (is_half)
			memcpy(copy->data + position, "\\ufffd", UNIT_BYTES);
		at += n_bytes;
	}
	return TRACE_OK;
}
