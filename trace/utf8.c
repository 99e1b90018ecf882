#include "trace/utf8.h"

#include <string.h>

size_t trace_utf8_bytes(const unsigned char *data, size_t n)
{
	unsigned char lowest = 0x80, highest = 0xBF;
	size_t n_bytes;

	if (data[0] < 0x80)
		return 1;
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

int trace_utf8_append(struct trace_bytes *buffer, unsigned code_point)
{
	char bytes[4];
	size_t n_bytes = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
	static const unsigned char marks[5] = { 0, 0, 0xC0, 0xE0, 0xF0 };

	for (size_t i = n_bytes; i-- > 1; code_point >>= 6)
		bytes[i] = (char)(0x80 | (code_point & 0x3F));
	bytes[0] = (char)(marks[n_bytes] | code_point);
	return trace_bytes_append(buffer, (struct trace_text){ bytes, n_bytes }, NULL);
}

/* Returns the number of ASCII bytes at the start of the text, a multiple of eight. */
static size_t ascii_bytes(struct trace_text text)
{
	size_t i = 0;
	uint64_t word;

	for (; text.n_bytes - i >= sizeof word; i += sizeof word) {
		memcpy(&word, text.data + i, sizeof word);
		if (word & UINT64_C(0x8080808080808080))
			break;
	}
	return i;
}

/* Returns the number of bytes of whole characters at the start of the text. */
static size_t valid_bytes(struct trace_text text)
{
	const unsigned char *data = (const unsigned char *)text.data;
	size_t i = ascii_bytes(text), n_bytes = 1;

	for (; i < text.n_bytes && n_bytes > 0; i += n_bytes)
		n_bytes = data[i] < 0x80 ? 1 : trace_utf8_bytes(data + i, text.n_bytes - i);
	return i;
}

bool trace_utf8_is_valid(struct trace_text text)
{
	return valid_bytes(text) == text.n_bytes;
}

int trace_utf8_append_mended(struct trace_bytes *buffer, struct trace_text text)
{
	int status = TRACE_OK;

	while (status == TRACE_OK && text.n_bytes > 0) {
		size_t n_valid = valid_bytes(text);

		status = trace_bytes_append(buffer, (struct trace_text){ text.data, n_valid }, NULL);
		text.data += n_valid;
		text.n_bytes -= n_valid;
		if (status == TRACE_OK && text.n_bytes > 0) {
			status = trace_utf8_append(buffer, TRACE_REPLACEMENT_CHARACTER);
			text.data++;
			text.n_bytes--;
		}
	}
	return status;
}

int trace_utf8_mend(struct trace_bytes *copy, struct trace_text *text, uint64_t *n_mended)
{
	int status;

	if (!text->data || trace_utf8_is_valid(*text))
		return TRACE_OK;
	++*n_mended;
	trace_bytes_clear(copy);
	status = trace_utf8_append_mended(copy, *text);
	*text = (struct trace_text){ copy->data, copy->n_bytes };
	return status;
}
