/* trace/json_events.h -- Parser from JSON text, in pieces of any size, to trace events.
 *
 * The only file that knows YAJL is json_events.c.
 */
#ifndef IFOREST_JSON_EVENTS_H
#define IFOREST_JSON_EVENTS_H

#include <stdbool.h>

#include "trace/bytes.h"
#include "trace/event_fields.h"

struct trace_json_events;

struct trace_json_handler {
	/* Called with each complete event. Answers TRACE_OK, or a negative status that ends the parsing, with
     * *problem set to a literal. Fields are the parser's; the call may settle their samples. */
	int (*on_event)(void *context, struct trace_event_fields *fields, const char **problem);
	void *context;
	bool keep_args;	   /* of phases X and B, as written */
	bool keep_samples; /* the members of args of phase C */
};

/* What stopped the parsing. */
struct trace_json_problem {
	uint64_t offset; /* byte of the text */
	char text[160];
};

/* NULL if out of memory. Free with trace_json_events_free (which takes NULL). */
struct trace_json_events *trace_json_events_new(const struct trace_json_handler *handler);
void trace_json_events_free(struct trace_json_events *parser);

/* Parses the next n_bytes of the text, or *n_taken of them: the next piece has to begin with the others, a few at most.
 * TRACE_OK or a negative status, after which nothing more may be fed. O(n_bytes) amortised, if pieces are as large as
 * trace_json_events_piece_bytes says. */
int trace_json_events_feed(struct trace_json_events *parser, const char *text, size_t n_bytes, size_t *n_taken);

/* How large the next piece should at least be: more than 0 only inside a long string that must be kept. */
size_t trace_json_events_piece_bytes(const struct trace_json_events *parser);

/* To be called behind the last piece, of which something may be left. TRACE_OK, also if the array of events is cut short
 * (*truncated); TRACE_ERROR_NOT_TRACE if there was none. */
int trace_json_events_end(struct trace_json_events *parser, bool *truncated);

const struct trace_json_problem *trace_json_events_problem(const struct trace_json_events *parser);

/* ---- Escape sequences with lone surrogate halves or cut ends, and their repair ----
 *
 * YAJL must not be shown such a half (\ud83d without \ude00, as names have it that were cut): it takes any \uXXXX behind it
 * for the other half. Releases without the distributions' patches swallow one byte, and end the process if an escape
 * sequence begins with that. Nor must YAJL be shown the beginning of an escape sequence before the rest is known.
 */

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
