/* trace/otlp_frames.h -- Frames of OTLP's JSON in pieces: where each resource, scope and span begins and ends.
 *
 *     { "resourceSpans": [
 *         { "resource": RESOURCE,
 *           "scopeSpans": [
 *             { "scope": SCOPE,
 *               "spans": [ SPAN, SPAN, ... ] } ] } ] }
 *
 * A file is one such object or several, most often one in a line. Members may come in any order, but a resource or scope is
 * returned before the spans under it: if it follows them in the file, the object around them must fit into memory. All else is
 * skipped. The scan looks only at keys, brackets, commas and the ends of strings; json.h parses the content of a frame.
 */
#ifndef IFOREST_OTLP_FRAMES_H
#define IFOREST_OTLP_FRAMES_H

#include <stdint.h>

#include "trace/bytes.h"
#include "trace/json_scan.h"

enum trace_otlp_frame { TRACE_OTLP_RESOURCE, TRACE_OTLP_SCOPE, TRACE_OTLP_SPAN };

enum trace_otlp_place {
	TRACE_OTLP_AT_FIRST, /* key or element, or the end */
	TRACE_OTLP_AT_NEXT,  /* behind a comma */
	TRACE_OTLP_AT_COLON,
	TRACE_OTLP_AT_VALUE,
	TRACE_OTLP_SKIPPING,
	TRACE_OTLP_AT_COMMA
};

enum trace_otlp_key { TRACE_OTLP_KEY_OTHER, TRACE_OTLP_KEY_HEADER, TRACE_OTLP_KEY_CHILDREN };

/* All zero except is_strict before the file. */
struct trace_otlp_frames {
	bool is_strict; /* extra and missing commas are errors, not repaired */
	enum trace_otlp_place place;
	unsigned level; /* open objects and arrays, as drawn above: 6 in the array of spans */
	enum trace_otlp_key key;
	bool has_header; /* the resource or scope of the current object was returned */
	bool is_ahead;	 /* is searching ahead for a header */
	bool has_spans;	 /* the current top-level object has resourceSpans */
	struct trace_json_skip skip;
	uint64_t n_objects, n_without_spans; /* at the top */
	uint64_t n_extra_commas, n_missing_commas;
	const char *problem; /* a literal */
	size_t problem_at;   /* byte of what was fed */
};

/* Gives the next frame in the n_bytes at data, which follow the bytes taken so far. A missing resource or scope is returned
 * with a text without data. Returns TRACE_ROW with *frame and *text, TRACE_OK if it needs more of the file, TRACE_ERROR_FORMAT
 * or TRACE_ERROR_LIMIT. *n_taken bytes are consumed, the frame included. O(bytes), except that an incomplete frame is scanned
 * again. */
int trace_otlp_frames_next(struct trace_otlp_frames *frames, const char *data, size_t n_bytes, size_t *n_taken,
			   enum trace_otlp_frame *frame, struct trace_text *text);

/* Ends the file, with n_bytes left over. Returns TRACE_OK or TRACE_ERROR_FORMAT. */
int trace_otlp_frames_end(struct trace_otlp_frames *frames, size_t n_bytes);

/* True if the text is the name, given in lowerCamelCase, in that form or in snake_case. */
bool trace_otlp_is_name(struct trace_text text, const char *name);

#endif
