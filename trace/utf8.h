/* trace/utf8.h -- Characters of UTF-8: how long one is, and what replaces bytes that are none. */
#ifndef IFOREST_UTF8_H
#define IFOREST_UTF8_H

#include <stdbool.h>

#include "trace/bytes.h"

/* Bytes of the character that data begins with, at most n; 0 if it is no valid UTF-8. NUL is a character. Requires n > 0. */
size_t trace_utf8_bytes(const unsigned char *data, size_t n);

/* Appends a code point below 0x110000 that is no half of a surrogate pair. TRACE_OK or TRACE_ERROR_MEMORY. */
int trace_utf8_append(struct trace_bytes *buffer, unsigned code_point);

/* True if all of the text is valid. O(bytes). */
bool trace_utf8_is_valid(struct trace_text text);

/* Appends the text with U+FFFD for each byte that belongs to no character. The same. */
int trace_utf8_append_mended(struct trace_bytes *buffer, struct trace_text text);

enum { TRACE_REPLACEMENT_CHARACTER = 0xFFFD };

#endif
