/* trace/json_frames.h -- Frames of a JSON file in pieces: where each element of the array of events begins and ends.
 *
 * Finds the array "traceEvents" of an object, or a bare array, and its elements that are objects. It looks only at brackets,
 * commas and the ends of strings; json.h parses the content of a frame.
 */
#ifndef IFOREST_JSON_FRAMES_H
#define IFOREST_JSON_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/bytes.h"
#include "trace/json_scan.h"

/* Violations between events. */
enum trace_frame_mend {
	TRACE_FRAME_EXTRA_COMMA,
	TRACE_FRAME_MISSING_COMMA,
	TRACE_FRAME_TEXT_BEHIND, /* the end of the trace */
	TRACE_FRAME_CUT_EVENT,	 /* the file ends in an event */
	TRACE_FRAME_NO_END,	 /* the file ends in the array of events, or in the object around it */
	TRACE_N_FRAME_MENDS
};

enum trace_frame_place {
	TRACE_FRAME_AT_START,
	TRACE_FRAME_AT_KEY, /* in the object around the array */
	TRACE_FRAME_AT_COLON,
	TRACE_FRAME_AT_VALUE,
	TRACE_FRAME_SKIPPING, /* a value that is not an event */
	TRACE_FRAME_IN_ARRAY,
	TRACE_FRAME_BEHIND
};

/* All zero is before the file. */
struct trace_json_frames {
	enum trace_frame_place place, place_behind; /* after the skipped value */
	bool is_bare, has_array;		    /* an array without an object around it; the array has begun */
	bool is_key_of_events;
	bool has_comma, has_element; /* since the last element; at all */
	uint64_t n_other_elements;   /* elements of the array that are not objects */
	uint64_t n_system_traces;    /* members "systemTraceEvents" beside the array */
	uint64_t mended[TRACE_N_FRAME_MENDS];
	struct trace_json_skip skip;
	const char *problem; /* a literal */
	size_t problem_at;   /* byte of what was fed */
};

/* Gives the next event in the n_bytes at data, which follow the bytes taken so far.
 * Returns TRACE_ROW with *event, TRACE_OK if it needs more of the file, TRACE_ERROR_NOT_TRACE, TRACE_ERROR_FORMAT or
 * TRACE_ERROR_LIMIT. *n_taken bytes are consumed, the event included. O(bytes), except that an incomplete event is scanned
 * again. */
int trace_frames_next(struct trace_json_frames *frames, const char *data, size_t n_bytes, size_t *n_taken,
		      struct trace_text *event);

/* Ends the file, with n_bytes left over. Returns TRACE_OK or TRACE_ERROR_NOT_TRACE. */
int trace_frames_end(struct trace_json_frames *frames, size_t n_bytes);

/* Describes a repair. */
const char *trace_frame_mend_name(enum trace_frame_mend mend);

#endif
