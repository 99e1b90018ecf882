/* trace/json.h -- JSON value in memory: its members, elements, texts and numbers as written; strict or lenient.
 *
 *     status = trace_json_parse(&json, text, false);
 *     value = 0;
 *     while ((status = trace_json_next_member(&json, 0, &value, &key)) == TRACE_ROW)
 *         ...
 *
 * A node is a value or the key of a member; 0 is the whole value, and stands for "none" as an answer. Nothing is copied: numbers
 * and strings without escapes are slices of the text. The only file that knows the library (jsmn) is json.c.
 *
 * The library finds the tokens. That they stand in the order of the grammar is checked here, for it does not look. What lenient
 * reading allows is counted in `mended`.
 */
#ifndef IFOREST_JSON_H
#define IFOREST_JSON_H

#include <stdbool.h>

#include "trace/bytes.h"

/* What real writers do wrong. */
enum trace_json_mend {
	TRACE_MEND_EXTRA_COMMA,	  /* before the end of an object or array, or twice */
	TRACE_MEND_MISSING_COMMA, /* between two values */
	TRACE_MEND_NO_NUMBER,	  /* NaN, Infinity and the like, which count as null */
	TRACE_MEND_CONTROL_BYTE,  /* in a string */
	TRACE_MEND_UTF8,	  /* a string that is not UTF-8 */
	TRACE_N_MENDS
};

enum { TRACE_MAX_JSON_NODES = 4 * 1024 * 1024 };

enum trace_json_type {
	TRACE_JSON_NULL,
	TRACE_JSON_WORD,
	TRACE_JSON_NUMBER,
	TRACE_JSON_STRING,
	TRACE_JSON_OBJECT,
	TRACE_JSON_ARRAY
};

struct trace_json_block;

/* All zero is ready for use. */
struct trace_json {
	struct trace_text text; /* that was parsed last, or its mended copy */
	void *tokens;		/* owned */
	size_t n_tokens, n_allocated;
	struct trace_json_block *decoded; /* owned: texts that are no slices */
	struct trace_bytes copy;
	bool is_mended; /* this text breaks a rule */
	bool has_control_bytes, has_high_bytes, has_escapes;
	uint64_t mended[TRACE_N_MENDS]; /* so far, of all texts */
	size_t problem_at;		/* byte of the text */
	char problem[100];
};

/* Parses a text that is one value; white space may stand around it. The text must live as long as its nodes are used.
 * Returns TRACE_OK; TRACE_ERROR_FORMAT with problem and problem_at; TRACE_ERROR_LIMIT; TRACE_ERROR_MEMORY. O(bytes). */
int trace_json_parse(struct trace_json *json, struct trace_text text, bool is_strict);

enum trace_json_type trace_json_type_of(const struct trace_json *json, size_t node);

/* The first element of an array, or the key of the first member of an object; the next one. 0 if there is none. */
size_t trace_json_first(const struct trace_json *json, size_t node);
size_t trace_json_next(const struct trace_json *json, size_t node);

/* The value behind a key. */
size_t trace_json_value(const struct trace_json *json, size_t key);

/* The next member of an object, behind the one with this value, 0 before the first: its value and the text of its key.
 * TRACE_ROW, TRACE_OK behind the last, or TRACE_ERROR_MEMORY. */
int trace_json_next_member(struct trace_json *json, size_t object, size_t *value, struct trace_text *key);

/* The byte of the text at which a node begins: of a string, behind its quote. */
size_t trace_json_place(const struct trace_json *json, size_t node);

/* A string with its escapes decoded, or a number or word as written; without data for null, objects and arrays. Half of a
 * surrogate pair that stands alone, and bytes that are not UTF-8, are U+FFFD. Valid until the next text is parsed.
 * TRACE_OK or TRACE_ERROR_MEMORY. */
int trace_json_text(struct trace_json *json, size_t node, struct trace_text *text);

/* A value as JSON that every parser takes: as written, but for what lenient reading allowed. The same. */
int trace_json_written(struct trace_json *json, size_t node, struct trace_text *text);

/* The 16 bits of the escape \uXXXX that text begins with, or -1 if it begins with none. */
int trace_json_escape_unit(const char *text, size_t n_bytes);

/* Says what a mend is, such as "comma too many". */
const char *trace_json_mend_name(enum trace_json_mend mend);

void trace_json_release(struct trace_json *json);

#endif
