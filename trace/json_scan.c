#include "trace/json_scan.h"

#include <string.h>

#include "trace/status.h"

bool trace_json_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

const char *trace_json_string_end(const char *data, const char *end)
{
	while (data < end && (data = memchr(data, '"', (size_t)(end - data)))) {
		size_t n_backslashes = 0;

		while (data[-1 - (ptrdiff_t)n_backslashes] == '\\')
			n_backslashes++;
		data++;
		if (n_backslashes % 2 == 0)
			return data;
	}
	return NULL;
}

const char *trace_json_end(const char *data, const char *end, unsigned *most_depth)
{
	static const unsigned char stops[256] = { ['"'] = 1, ['{'] = 1, ['}'] = 1, ['['] = 1, [']'] = 1 };
	unsigned depth = 0;

	*most_depth = 0;
	while (data < end) {
		char c = *data++;

		if (!stops[(unsigned char)c])
			continue;
		if (c == '"') {
			data = trace_json_string_end(data, end);
			if (!data)
				return NULL;
		} else if (c == '{' || c == '[') {
			if (++depth > *most_depth)
				*most_depth = depth;
			if (depth > TRACE_MAX_NESTING)
				return NULL;
		} else if (--depth == 0) {
			return data;
		}
	}
	return NULL;
}

/* Inside a string: the bytes of it; in_string is false at its end. */
static size_t skip_string(struct trace_json_skip *skip, const char *data, size_t n_bytes)
{
	size_t i;

	for (i = 0; i < n_bytes && skip->in_string; i++) {
		if (skip->in_escape)
			skip->in_escape = false;
		else if (data[i] == '\\')
			skip->in_escape = true;
		else
			skip->in_string = data[i] != '"';
	}
	return i;
}

static bool ends_word(char c)
{
	return c == ',' || c == '}' || c == ']' || c == ':' || c == '"' || c == '{' || c == '[' || trace_json_is_space(c);
}

enum trace_json_skipped trace_json_skip(struct trace_json_skip *skip, const char *data, size_t n_bytes, size_t *n_taken)
{
	size_t i = 0;

	*n_taken = 0;
	while (i < n_bytes) {
		bool was_string = skip->in_string;
		char c = data[i];

		if (was_string) {
			i += skip_string(skip, data + i, n_bytes - i);
		} else if (skip->depth == 0 && skip->has_begun && ends_word(c)) {
			*n_taken = i;
			return TRACE_SKIP_OVER;
		} else {
			skip->in_string = c == '"';
			skip->depth += c == '{' || c == '[';
			skip->depth -= skip->depth > 0 && (c == '}' || c == ']');
			i++;
		}
		skip->has_begun = true;
		*n_taken = i;
		if (skip->depth > TRACE_MAX_NESTING)
			return TRACE_SKIP_TOO_DEEP;
		if (skip->depth == 0 && (was_string ? !skip->in_string : c == '}' || c == ']'))
			return TRACE_SKIP_OVER;
	}
	return TRACE_SKIP_MORE;
}
