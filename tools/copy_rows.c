#include "tools/copy_rows.h"

#include <stdio.h>
#include <string.h>

#include "trace/json.h"
#include "trace/utf8.h"

static void append(struct copy_binary *copy, const void *data, size_t n_bytes)
{
	if (!copy->out_of_memory && trace_bytes_append(&copy->bytes, (struct trace_text){ data, n_bytes }, NULL) < 0)
		copy->out_of_memory = true;
}

static void append_big_endian(struct copy_binary *copy, uint64_t value, int n_bytes)
{
	unsigned char bytes[8];

	for (int i = 0; i < n_bytes; i++)
		bytes[i] = (unsigned char)(value >> 8 * (n_bytes - 1 - i));
	append(copy, bytes, (size_t)n_bytes);
}

void copy_binary_start(struct copy_binary *copy)
{
	static const char signature[11] = "PGCOPY\n\377\r\n";

	append(copy, signature, sizeof signature);
	append_big_endian(copy, 0, 4); /* flags */
	append_big_endian(copy, 0, 4); /* length of an extended header */
}

void copy_binary_row(struct copy_binary *copy, int n_columns)
{
	append_big_endian(copy, (uint64_t)n_columns, 2);
}

void copy_binary_int64(struct copy_binary *copy, int64_t value)
{
	append_big_endian(copy, 8, 4);
	append_big_endian(copy, (uint64_t)value, 8);
}

void copy_binary_float8(struct copy_binary *copy, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	append_big_endian(copy, 8, 4);
	append_big_endian(copy, bits, 8);
}

void copy_binary_text(struct copy_binary *copy, struct trace_text text)
{
	append_big_endian(copy, text.data ? text.n_bytes : UINT32_MAX, 4);
	if (text.data)
		append(copy, text.data, text.n_bytes);
}

void copy_binary_end(struct copy_binary *copy)
{
	append_big_endian(copy, UINT16_MAX, 2);
}

#define REPLACEMENT ((struct trace_text){ "\xEF\xBF\xBD", 3 })
#define REPLACEMENT_ESCAPE ((struct trace_text){ "\\ufffd", 6 })

/* The number of bytes, at most n, of the character at the start of data; 0 if it is NUL or not valid UTF-8. */
static size_t character_bytes(const unsigned char *data, size_t n)
{
	return data[0] == 0 ? 0 : trace_utf8_bytes(data, n);
}

static int unicode_escape(const unsigned char *data, size_t n)
{
	return trace_json_escape_unit((const char *)data, n);
}

/* The number of bytes of the escape sequence at the start of data, 12 for a surrogate pair; 0 if PostgreSQL cannot read it. */
static size_t escape_bytes(const unsigned char *data, size_t n)
{
	int value = unicode_escape(data, n);

	if (value < 0)
		return n < 2 ? n : 2;
	if (value >= 0xD800 && value <= 0xDBFF) {
		int low = unicode_escape(data + 6, n - 6);

		return low >= 0xDC00 && low <= 0xDFFF ? 12 : 0;
	}
	return value != 0 && (value < 0xDC00 || value > 0xDFFF) ? 6 : 0;
}

/* The number of bytes at the start of data that need no repair. */
static size_t storable_bytes(const unsigned char *data, size_t n, bool is_json)
{
	size_t i = 0;

	while (i < n) {
		bool is_escape = is_json && data[i] == '\\';
		size_t n_bytes = is_escape ? escape_bytes(data + i, n - i) : character_bytes(data + i, n - i);

		if (n_bytes == 0)
			break;
		i += n_bytes;
	}
	return i;
}

/* Appends a replacement for the first *n_replaced bytes of data. */
static int append_replacement(const unsigned char *data, size_t n, struct trace_bytes *copy, size_t *n_replaced,
			      struct storable_counts *counts)
{
	bool is_escape = data[0] == '\\';
	bool is_nul = is_escape ? unicode_escape(data, n) == 0 : data[0] == 0;

	*(is_nul ? &counts->n_nul : &counts->n_malformed) += 1;
	*n_replaced = is_escape ? REPLACEMENT_ESCAPE.n_bytes : 1;
	return trace_bytes_append(copy, is_escape ? REPLACEMENT_ESCAPE : REPLACEMENT, NULL);
}

int storable_repair(struct trace_text *text, bool is_json, struct trace_bytes *copy, struct storable_counts *counts)
{
	const unsigned char *data = (const unsigned char *)text->data;
	size_t n_good = text->data ? storable_bytes(data, text->n_bytes, is_json) : 0, i = 0, n_replaced;

	if (!text->data || n_good == text->n_bytes)
		return TRACE_OK;
	trace_bytes_clear(copy);
	while (i < text->n_bytes) {
		n_good = storable_bytes(data + i, text->n_bytes - i, is_json);
		if (trace_bytes_append(copy, (struct trace_text){ text->data + i, n_good }, NULL) < 0)
			return TRACE_ERROR_MEMORY;
		i += n_good;
		if (i < text->n_bytes) {
			if (append_replacement(data + i, text->n_bytes - i, copy, &n_replaced, counts) < 0)
				return TRACE_ERROR_MEMORY;
			i += n_replaced;
		}
	}
	*text = (struct trace_text){ copy->data, copy->n_bytes };
	return TRACE_OK;
}

/* ---- Rows ---- */

static const char *decimal(__int128 value, char digits[42])
{
	unsigned __int128 magnitude = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
	char *first = digits + 41;

	*first = '\0';
	do {
		*--first = (char)('0' + (int)(magnitude % 10));
		magnitude /= 10;
	} while (magnitude);
	if (value < 0)
		*--first = '-';
	return first;
}

void row_sums_text(const struct row_sums *sums, enum loaded_table table, char text[ROW_SUMS_TEXT_BYTES])
{
	int n_bytes = snprintf(text, ROW_SUMS_TEXT_BYTES, "%llu", (unsigned long long)sums->n_rows);

	for (int i = 0; i < loaded_definitions[table].n_columns; i++) {
		char digits[42];

		n_bytes += snprintf(text + n_bytes, ROW_SUMS_TEXT_BYTES - (size_t)n_bytes, " %s",
				    decimal(sums->columns[i], digits));
	}
}

/* Appends the text, repaired if necessary. Returns the length of what was appended. */
static size_t encode_text(struct row_encoder *encoder, struct copy_binary *rows, struct trace_text text, bool is_json)
{
	if (storable_repair(&text, is_json, &encoder->copy, &encoder->replaced) < 0)
		encoder->out_of_memory = true;
	copy_binary_text(rows, text);
	return text.n_bytes;
}

/* Appends a value. Returns what it adds to the sum of its column. */
static __int128 encode_value(struct row_encoder *encoder, struct copy_binary *rows, enum loaded_type type,
			     const struct loaded_value *value)
{
	switch (type) {
	case LOADED_INTEGER:
		copy_binary_int64(rows, value->integer);
		return value->integer;
	case LOADED_REAL:
		copy_binary_float8(rows, value->real);
		return 1;
	case LOADED_TEXT:
		return (__int128)encode_text(encoder, rows, value->text, false);
	case LOADED_JSON:
		encode_text(encoder, rows, value->text, true);
		return 1;
	}
	return 0;
}

void row_encode(struct row_encoder *encoder, const struct loaded_row *row, struct copy_binary *rows, struct row_sums *sums)
{
	const struct loaded_definition *definition = &loaded_definitions[row->table];

	sums->n_rows++;
	copy_binary_row(rows, definition->n_columns);
	for (int i = 0; i < definition->n_columns; i++) {
		if (row->values[i].is_null)
			copy_binary_text(rows, (struct trace_text){ NULL, 0 });
		else
			sums->columns[i] += encode_value(encoder, rows, definition->columns[i].type, &row->values[i]);
	}
	if (rows->out_of_memory)
		encoder->out_of_memory = true;
}

void row_encoder_release(struct row_encoder *encoder)
{
	trace_bytes_release(&encoder->copy);
}
