#include "tools/copy_rows.h"

#include <stdio.h>
#include <string.h>

#include "trace/json_events.h"

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

/* Bytes of the character that data begins with, at most n; 0 if it is no valid UTF-8, or NUL. */
static size_t character_bytes(const unsigned char *data, size_t n)
{
	unsigned char lowest = 0x80, highest = 0xBF;
	size_t n_bytes;

	if (data[0] < 0x80)
		return data[0] != 0;
	n_bytes = data[0] < 0xC2 ? 0 : data[0] < 0xE0 ? 2 : data[0] < 0xF0 ? 3 : data[0] < 0xF5 ? 4 : 0;
	if (n_bytes == 0 || n_bytes > n)
		return 0;
	switch (data[0]) {
	case 0xE0:
		lowest = 0xA0;
		break; /* overlong */
	case 0xED:
		highest = 0x9F;
		break; /* surrogates */
	case 0xF0:
		lowest = 0x90;
		break; /* overlong */
	case 0xF4:
		highest = 0x8F;
		break; /* beyond U+10FFFF */
	}
	if (data[1] < lowest || data[1] > highest)
		return 0;
	for (size_t i = 2; i < n_bytes; i++) {
		if ((data[i] & 0xC0) != 0x80)
			return 0;
	}
	return n_bytes;
}

static int unicode_escape(const unsigned char *data, size_t n)
{
	return trace_json_escape_unit((const char *)data, n);
}

/* Bytes of the escape sequence that data begins with (two for a pair: 12); 0 if PostgreSQL cannot read it. */
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

/* Bytes from start on that need no repair. */
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

/* Appends a replacement for what stands at the beginning of data. *n_replaced bytes are replaced. */
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

/* ---- Events as rows ---- */

enum { N_SPAN_COLUMNS = 9, N_COUNTER_COLUMNS = 7 };

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

void row_sums_text(const struct row_sums *sums, char text[ROW_SUMS_TEXT_BYTES])
{
	char ts_digits[42], dur_digits[42];

	snprintf(text, ROW_SUMS_TEXT_BYTES, "%llu %llu %s %s %llu %llu", (unsigned long long)sums->n_rows,
		 (unsigned long long)sums->n_rows, decimal(sums->ts_ns, ts_digits), decimal(sums->dur_ns, dur_digits),
		 (unsigned long long)sums->n_name_bytes, (unsigned long long)sums->n_optional);
}

/* Appends the text as it can be stored; its length then. */
static size_t encode_text(struct row_encoder *encoder, struct copy_binary *rows, struct trace_text text, bool is_json)
{
	if (storable_repair(&text, is_json, &encoder->copy, &encoder->replaced) < 0)
		encoder->out_of_memory = true;
	copy_binary_text(rows, text);
	return text.n_bytes;
}

static void encode_span(struct row_encoder *encoder, const struct trace_event *span, struct copy_binary *rows,
			struct row_sums *sums)
{
	copy_binary_row(rows, N_SPAN_COLUMNS);
	copy_binary_int64(rows, (int64_t)sums->n_rows);
	copy_binary_int64(rows, span->ts_ns);
	copy_binary_int64(rows, span->dur_ns);
	encode_text(encoder, rows, span->pid, false);
	encode_text(encoder, rows, span->tid, false);
	sums->n_name_bytes += encode_text(encoder, rows, span->track, false);
	sums->n_name_bytes += encode_text(encoder, rows, span->name, false);
	encode_text(encoder, rows, span->category, false);
	encode_text(encoder, rows, span->args, true);
	sums->dur_ns += span->dur_ns;
	sums->n_optional += span->args.data != NULL;
}

static void encode_counter(struct row_encoder *encoder, const struct trace_event *sample, struct copy_binary *rows,
			   struct row_sums *sums)
{
	copy_binary_row(rows, N_COUNTER_COLUMNS);
	copy_binary_int64(rows, (int64_t)sums->n_rows);
	copy_binary_int64(rows, sample->ts_ns);
	sums->n_name_bytes += encode_text(encoder, rows, sample->pid, false);
	sums->n_name_bytes += encode_text(encoder, rows, sample->name, false);
	encode_text(encoder, rows, sample->id, false);
	sums->n_name_bytes += encode_text(encoder, rows, sample->key, false);
	copy_binary_float8(rows, sample->value);
	sums->n_optional += sample->id.data != NULL;
}

void row_encode(struct row_encoder *encoder, const struct trace_event *event, struct copy_binary *rows, struct row_sums *sums)
{
	sums->n_rows++;
	sums->ts_ns += event->ts_ns;
	if (event->kind == TRACE_SPAN)
		encode_span(encoder, event, rows, sums);
	else
		encode_counter(encoder, event, rows, sums);
	if (rows->out_of_memory)
		encoder->out_of_memory = true;
}

void row_encoder_release(struct row_encoder *encoder)
{
	trace_bytes_release(&encoder->copy);
}
