#include "tools/storable.h"

#include "trace/json_escape.h"

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
	case 0xE0: lowest = 0xA0; break;  /* overlong */
	case 0xED: highest = 0x9F; break; /* surrogates */
	case 0xF0: lowest = 0x90; break;  /* overlong */
	case 0xF4: highest = 0x8F; break; /* beyond U+10FFFF */
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
