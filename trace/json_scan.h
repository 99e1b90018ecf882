/* trace/json_scan.h -- Ends of JSON values in possibly incomplete text, found only by quotes and brackets. */
#ifndef IFOREST_JSON_SCAN_H
#define IFOREST_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

bool trace_json_is_space(char c);

/* Returns the byte after the closing quote of a string whose opening quote precedes data; NULL if it is incomplete.
 * O(bytes). */
const char *trace_json_string_end(const char *data, const char *end);

/* Returns the end of the object or array that begins at data; NULL if it is incomplete. *most_depth is its nesting depth; the
 * search stops beyond TRACE_MAX_NESTING. O(bytes). */
const char *trace_json_end(const char *data, const char *end, unsigned *most_depth);

/* State of skipping a value piece by piece. All zero before its first byte. */
struct trace_json_skip {
	unsigned depth;
	bool has_begun, in_string, in_escape;
};

enum trace_json_skipped { TRACE_SKIP_MORE, TRACE_SKIP_OVER, TRACE_SKIP_TOO_DEEP };

/* Skips the part of the value in the next n_bytes: *n_taken bytes. TRACE_SKIP_MORE if these are all, and the value
 * continues. */
enum trace_json_skipped trace_json_skip(struct trace_json_skip *skip, const char *data, size_t n_bytes, size_t *n_taken);

#endif
