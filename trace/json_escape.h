/* trace/json_escape.h -- Repair of JSON escape sequences with lone surrogate halves or cut ends.
 *
 * YAJL must not be shown such a half (\ud83d without \ude00, as names have it that were cut): it takes any \uXXXX behind it
 * for the other half. Releases without the distributions' patches swallow one byte, and end the process if an escape
 * sequence begins with that. Nor must YAJL be shown the beginning of an escape sequence before the rest is known.
 */
#ifndef IFOREST_JSON_ESCAPE_H
#define IFOREST_JSON_ESCAPE_H

#include <stdbool.h>

#include "trace/bytes.h"

/* The 16 bits of the escape \uXXXX that text begins with, or -1 if it begins with none. */
int trace_json_escape_unit(const char *text, size_t n_bytes);

/* Bytes of the escape sequence that text, which has a byte at least, begins with: a surrogate pair is one. *is_half is true
 * for half a pair that stands alone. 0 if the text ends before that can be told. */
size_t trace_json_escape_bytes(const char *text, size_t n_bytes, bool *is_half);

/* Makes text that YAJL can be shown: *mended is as long as the text, except that it ends before an escape sequence that
 * the text leaves unfinished, and has \ufffd for each half of a pair that stands alone. It is the text itself, or copy's.
 * Requires: the text does not begin inside an escape sequence.
 * Returns:  TRACE_OK or TRACE_ERROR_MEMORY. O(bytes of text). */
int trace_json_mend(struct trace_text text, struct trace_bytes *copy, struct trace_text *mended);

#endif
