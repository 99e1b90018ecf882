/* trace/utf8.h -- Characters of UTF-8: their lengths, and replacement of invalid bytes. */
#ifndef IFOREST_UTF8_H
#define IFOREST_UTF8_H

#include <stdbool.h>

#include "trace/bytes.h"

/* Returns the length of the character at data, at most n; 0 if it is not valid UTF-8. NUL is a character. Requires n > 0. */
size_t trace_utf8_bytes(const unsigned char *data, size_t n);

/* Appends a code point below 0x110000 that is not a surrogate. TRACE_OK or TRACE_ERROR_MEMORY. */
int trace_utf8_append(struct trace_bytes *buffer, unsigned code_point);

/* True if all of the text is valid. O(bytes). */
bool trace_utf8_is_valid(struct trace_text text);

/* Appends the text with U+FFFD for each invalid byte. Returns the same. */
int trace_utf8_append_mended(struct trace_bytes *buffer, struct trace_text text);

/* If the text is not valid, repairs it in `copy`, to which *text then points, and increments *n_mended. Returns the same. */
int trace_utf8_mend(struct trace_bytes *copy, struct trace_text *text, uint64_t *n_mended);

enum { TRACE_REPLACEMENT_CHARACTER = 0xFFFD };

#endif
