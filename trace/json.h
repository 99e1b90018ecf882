/* trace/json.h -- JSON value in memory: its members, elements, texts and numbers as written; strict or lenient.
 *
 *     status = trace_json_parse(&json, text, false);
 *     value = 0;
 *     while ((status = trace_json_next_member(&json, 0, &value, &key)) == TRACE_ROW)
 *         ...
 *
 * A node is a value or the key of a member; 0 is the whole value, and means "none" as a result. Nothing is copied: numbers and
 * strings without escapes are slices of the text. Only json.c depends on the library (jsmn).
 *
 * The library finds the tokens, but does not check that their order follows the grammar; json.c does. Violations that lenient
 * reading accepts are counted in `mended`.
 */
#ifndef IFOREST_JSON_H
#define IFOREST_JSON_H

#include <stdbool.h>

#include "trace/bytes.h"

/* Violations that real writers commit. */
enum trace_json_mend {
	TRACE_MEND_EXTRA_COMMA,	  /* before the end of an object or array, or twice */
	TRACE_MEND_MISSING_COMMA, /* between two values */
	TRACE_MEND_NO_NUMBER,	  /* NaN, Infinity and the like, read as null */
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
	struct trace_text text; /* the text parsed last, or its repaired copy */
	void *tokens;		/* owned */
	size_t n_tokens, n_allocated;
	struct trace_json_block *decoded; /* owned: texts that are not slices */
	struct trace_bytes copy;
	bool is_mended; /* this text violates a rule */
	bool has_control_bytes, has_high_bytes, has_escapes;
	uint64_t mended[TRACE_N_MENDS]; /* so far, over all texts */
	size_t problem_at;		/* byte of the text */
	char problem[100];
};

/* Parses a text that is one value, with optional white space around it. The text must outlive the use of its nodes.
 * Returns TRACE_OK; TRACE_ERROR_FORMAT with problem and problem_at; TRACE_ERROR_LIMIT; TRACE_ERROR_MEMORY. O(bytes). */
int trace_json_parse(struct trace_json *json, struct trace_text text, bool is_strict);

enum trace_json_type trace_json_type_of(const struct trace_json *json, size_t node);

/* The first element of an array, or the key of the first member of an object; the next one. 0 if there is none. */
size_t trace_json_first(const struct trace_json *json, size_t node);
size_t trace_json_next(const struct trace_json *json, size_t node);

/* The value of a key. */
size_t trace_json_value(const struct trace_json *json, size_t key);

/* Gives the next member of an object, after the one with this value (0: the first): its value and the text of its key. Returns
 * TRACE_ROW, TRACE_OK after the last, or TRACE_ERROR_MEMORY. */
int trace_json_next_member(struct trace_json *json, size_t object, size_t *value, struct trace_text *key);

/* The byte of the text at which a node begins: of a string, after its quote. */
size_t trace_json_place(const struct trace_json *json, size_t node);

/* A string with its escapes decoded, or a number or word as written; without data for null, objects and arrays. Unpaired
 * surrogates, and bytes that are not UTF-8, become U+FFFD. Valid until the next text is parsed. TRACE_OK or
 * TRACE_ERROR_MEMORY. */
int trace_json_text(struct trace_json *json, size_t node, struct trace_text *text);

/* A value as valid JSON: as written, except for repairs of lenient reading. Returns the same. */
int trace_json_written(struct trace_json *json, size_t node, struct trace_text *text);

/* The 16 bits of the escape \uXXXX at the start of the text, or -1 if there is none. */
int trace_json_escape_unit(const char *text, size_t n_bytes);

/* Describes a repair, such as "comma too many". */
const char *trace_json_mend_name(enum trace_json_mend mend);

void trace_json_release(struct trace_json *json);

#endif
