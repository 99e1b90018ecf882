/* trace/otlp_frames.h -- Frames of OTLP's JSON in pieces: where each resource, scope and span begins and ends.
 *
 *     { "resourceSpans": [
 *         { "resource": RESOURCE,
 *           "scopeSpans": [
 *             { "scope": SCOPE,
 *               "spans": [ SPAN, SPAN, ... ] } ] } ] }
 *
 * A file is one such object or several, most often one in a line. Members may come in any order, but a resource is handed out
 * before the spans under it, and so is a scope: where a file has them behind, all of the object around them must fit into
 * memory. All else is skipped. The frames look at keys, brackets, commas and the ends of strings alone; json.h parses what is
 * in a frame.
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

/* All zero, but for is_strict, is before the file. */
struct trace_otlp_frames {
	bool is_strict; /* commas too many or missing are errors, not mended */
	enum trace_otlp_place place;
	unsigned level; /* open objects and arrays, as drawn above: 6 in the array of spans */
	enum trace_otlp_key key;
	bool has_header; /* the resource or the scope of the object at hand was handed out */
	bool is_ahead;	 /* looks for a header, and skips what stands before it */
	bool has_spans;	 /* the top object at hand has resourceSpans */
	struct trace_json_skip skip;
	uint64_t n_objects, n_without_spans; /* at the top */
	uint64_t n_extra_commas, n_missing_commas;
	const char *problem; /* a literal */
	size_t problem_at;   /* byte of what was fed */
};

/* The next frame in the n_bytes at data, which begin behind what was taken so far. A resource or scope that is missing has a text
 * without data; it comes all the same.
 * Returns TRACE_ROW with *frame and *text, TRACE_OK if it needs more of the file, TRACE_ERROR_FORMAT or TRACE_ERROR_LIMIT.
 * *n_taken bytes are taken, those of the frame among them. O(bytes), but for a frame that is not all there, which is looked for
 * anew. */
int trace_otlp_frames_next(struct trace_otlp_frames *frames, const char *data, size_t n_bytes, size_t *n_taken,
			   enum trace_otlp_frame *frame, struct trace_text *text);

/* The file ends, behind n_bytes that were not taken. TRACE_OK or TRACE_ERROR_FORMAT. */
int trace_otlp_frames_end(struct trace_otlp_frames *frames, size_t n_bytes);

/* True if the text is the name, which is in lowerCamelCase, in this form or in snake_case. */
bool trace_otlp_is_name(struct trace_text text, const char *name);

#endif
