#include "trace/json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/utf8.h"

static void put(struct trace_json_writer *writer, const char *data, size_t n_bytes)
{
	if (!writer->out_of_memory && trace_bytes_append(&writer->bytes, (struct trace_text){ data, n_bytes }, NULL) < 0)
		writer->out_of_memory = true;
}

void trace_write_clear(struct trace_json_writer *writer)
{
	trace_bytes_clear(&writer->bytes);
	writer->out_of_memory = false;
	writer->needs_comma = false;
}

void trace_write_release(struct trace_json_writer *writer)
{
	trace_bytes_release(&writer->bytes);
}

struct trace_text trace_written(const struct trace_json_writer *writer)
{
	return (struct trace_text){ writer->bytes.data, writer->bytes.n_bytes };
}

static void begin_value(struct trace_json_writer *writer)
{
	if (writer->needs_comma)
		put(writer, ",", 1);
	writer->needs_comma = true;
}

void trace_write_open(struct trace_json_writer *writer, char bracket)
{
	begin_value(writer);
	put(writer, &bracket, 1);
	writer->needs_comma = false;
}

void trace_write_close(struct trace_json_writer *writer, char bracket)
{
	put(writer, &bracket, 1);
	writer->needs_comma = true;
}

/* The number of bytes at the start of a text that need no escape: all but quotes, backslashes and control bytes. */
static size_t plain_bytes(struct trace_text text)
{
	size_t n = 0;

	while (n < text.n_bytes && (unsigned char)text.data[n] >= 0x20 && text.data[n] != '"' && text.data[n] != '\\')
		n++;
	return n;
}

static void put_escape(struct trace_json_writer *writer, char c)
{
	static const char letters[32] = { ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't' };
	unsigned char byte = (unsigned char)c;
	char escape[8] = { '\\', byte < sizeof letters ? letters[byte] : c };

	if (escape[1])
		put(writer, escape, 2);
	else
		put(writer, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", byte));
}

static void put_string(struct trace_json_writer *writer, struct trace_text text)
{
	bool is_valid = trace_utf8_is_valid(text);

	writer->n_mended += !is_valid;
	put(writer, "\"", 1);
	while (text.n_bytes > 0 && !writer->out_of_memory) {
		size_t n = plain_bytes(text);

		if (is_valid)
			put(writer, text.data, n);
		else if (trace_utf8_append_mended(&writer->bytes, (struct trace_text){ text.data, n }) < 0)
			writer->out_of_memory = true;
		if (n < text.n_bytes)
			put_escape(writer, text.data[n++]);
		text.data += n;
		text.n_bytes -= n;
	}
	put(writer, "\"", 1);
}

void trace_write_key(struct trace_json_writer *writer, struct trace_text key)
{
	begin_value(writer);
	put_string(writer, key);
	put(writer, ":", 1);
	writer->needs_comma = false;
}

void trace_write_string(struct trace_json_writer *writer, struct trace_text text)
{
	begin_value(writer);
	put_string(writer, text);
}

void trace_write_json(struct trace_json_writer *writer, struct trace_text json)
{
	begin_value(writer);
	put(writer, json.data, json.n_bytes);
}

void trace_write_int64(struct trace_json_writer *writer, int64_t value)
{
	char digits[24];

	trace_write_json(writer, (struct trace_text){ digits, (size_t)snprintf(digits, sizeof digits, "%" PRId64, value) });
}

void trace_write_uint64(struct trace_json_writer *writer, uint64_t value)
{
	char digits[24];

	trace_write_json(writer, (struct trace_text){ digits, (size_t)snprintf(digits, sizeof digits, "%" PRIu64, value) });
}

/* Prints as few digits as are needed to read the same value back. strtod and printf agree on the locale's decimal point. */
static int print_double(char text[40], double value)
{
	int n = 0;

	for (int n_digits = 15; n_digits <= 17; n_digits++) {
		n = snprintf(text, 40, "%.*g", n_digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	return n;
}

void trace_write_double(struct trace_json_writer *writer, double value)
{
	char text[40];
	int n;

	if (isnan(value)) {
		trace_write_string(writer, TRACE_LITERAL("NaN"));
	} else if (isinf(value)) {
		trace_write_string(writer, value > 0 ? TRACE_LITERAL("Infinity") : TRACE_LITERAL("-Infinity"));
	} else {
		n = print_double(text, value);
		for (int i = 0; i < n; i++) {
			if (!strchr("0123456789+-e", text[i]))
				text[i] = '.';
		}
		trace_write_json(writer, (struct trace_text){ text, (size_t)n });
	}
}

void trace_write_bool(struct trace_json_writer *writer, bool value)
{
	trace_write_json(writer, value ? TRACE_LITERAL("true") : TRACE_LITERAL("false"));
}

void trace_write_null(struct trace_json_writer *writer)
{
	trace_write_json(writer, TRACE_LITERAL("null"));
}

void trace_write_base64(struct trace_json_writer *writer, struct trace_text bytes)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	begin_value(writer);
	put(writer, "\"", 1);
	for (size_t i = 0; i < bytes.n_bytes && !writer->out_of_memory; i += 3) {
		size_t n = bytes.n_bytes - i < 3 ? bytes.n_bytes - i : 3;
		unsigned bits = 0;
		char group[4];

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (k < n ? (unsigned char)bytes.data[i + k] : 0);
		for (size_t k = 0; k < 4; k++)
			group[k] = k <= n ? digits[bits >> (18 - 6 * k) & 63] : '=';
		put(writer, group, sizeof group);
	}
	put(writer, "\"", 1);
}
