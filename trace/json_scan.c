#include "trace/json_scan.h"

#include <stdint.h>
#include <string.h>

#include "trace/status.h"

bool trace_json_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

static bool has_quote(uint64_t word)
{
	word ^= EACH_BYTE('"');
	return (word - EACH_BYTE(1)) & ~word & EACH_BYTE(0x80);
}

/* Returns the end of a string that ends soon, as most strings of an event do: a call of memchr() would take longer. NULL if it
 * does not end soon, or if its first quote may belong to an escape. */
static inline const char *near_string_end(const char *data, const char *end)
{
	enum { NEAR_BYTES = 32 };
	const char *near = end - data > NEAR_BYTES ? data + NEAR_BYTES : end;
	uint64_t word;

	for (; near - data >= 8; data += 8) {
		memcpy(&word, data, 8);
		if (has_quote(word))
			break;
	}
	for (; data < near; data++) {
		if (*data == '"')
			return data[-1] == '\\' ? NULL : data + 1;
	}
	return NULL;
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

static const unsigned char stops[256] = { ['"'] = 1, ['{'] = 1, ['}'] = 1, ['['] = 1, [']'] = 1 };

const char *trace_json_end(const char *data, const char *end, unsigned *most_depth)
{
	unsigned depth = 0;

	*most_depth = 0;
	while (data < end) {
		char c = *data++;

		if (!stops[(unsigned char)c])
			continue;
		if (c == '"') {
			const char *behind = near_string_end(data, end);

			data = behind ? behind : trace_json_string_end(data, end);
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

/* Inside a string: moves behind its closing quote, or to the end of the data. */
static const char *pass_string(struct trace_json_skip *skip, const char *at, const char *end)
{
	at += skip->in_escape;
	skip->in_escape = false;
	for (; at < end; at++) {
		if (*at == '"') {
			skip->in_string = false;
			return at + 1;
		}
		if (*at == '\\' && ++at == end) {
			skip->in_escape = true;
			break;
		}
	}
	return end;
}

/* Inside an object or array: moves behind an opening quote, a bracket nested too deep, or the bracket that closes it. */
static const char *pass_nested(struct trace_json_skip *skip, const char *at, const char *end)
{
	while (at < end) {
		char c = *at++;

		if (!stops[(unsigned char)c])
			continue;
		if (c == '"')
			skip->in_string = true;
		else if (c == '{' || c == '[')
			skip->depth++;
		else
			skip->depth--;
		if (skip->in_string || skip->depth == 0 || skip->depth > TRACE_MAX_NESTING)
			break;
	}
	return at;
}

static const char *pass_first(struct trace_json_skip *skip, const char *at)
{
	skip->in_string = *at == '"';
	skip->depth = *at == '{' || *at == '[';
	return at + 1;
}

static bool ends_word(char c)
{
	return c == ',' || c == '}' || c == ']' || c == ':' || c == '"' || c == '{' || c == '[' || trace_json_is_space(c);
}

/* True if the last byte, a quote or bracket, has closed the value. Numbers and words have no such end. */
static bool is_over(const struct trace_json_skip *skip, char last)
{
	return skip->depth == 0 && !skip->in_string && (last == '"' || last == '}' || last == ']');
}

enum trace_json_skipped trace_json_skip(struct trace_json_skip *skip, const char *data, size_t n_bytes, size_t *n_taken)
{
	enum trace_json_skipped skipped = TRACE_SKIP_MORE;
	const char *at = data, *end = data + n_bytes;

	while (skipped == TRACE_SKIP_MORE && at < end) {
		if (skip->in_string) {
			at = pass_string(skip, at, end);
		} else if (skip->depth > 0) {
			at = pass_nested(skip, at, end);
		} else if (skip->has_begun && ends_word(*at)) {
			skipped = TRACE_SKIP_OVER;
			break;
		} else {
			at = pass_first(skip, at);
		}
		skip->has_begun = true;
		if (skip->depth > TRACE_MAX_NESTING)
			skipped = TRACE_SKIP_TOO_DEEP;
		else if (is_over(skip, at[-1]))
			skipped = TRACE_SKIP_OVER;
	}
	*n_taken = (size_t)(at - data);
	return skipped;
}
