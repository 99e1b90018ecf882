/* trace/json_scan.h -- Ends of JSON values in text that may break off: found by quotes and brackets alone, before it is parsed. */
#ifndef IFOREST_JSON_SCAN_H
#define IFOREST_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

bool trace_json_is_space(char c);

/* The end of the string whose opening quote stands before data, behind its closing quote; NULL if it is not there. O(bytes). */
const char *trace_json_string_end(const char *data, const char *end);

/* The end of the object or array that begins at data; NULL if it is not there. *most_depth is how deep it is nested; beyond
 * TRACE_MAX_NESTING it is looked for no further. O(bytes). */
const char *trace_json_end(const char *data, const char *end, unsigned *most_depth);

/* A value that is skipped, piece by piece. All zero is before its first byte. */
struct trace_json_skip {
	unsigned depth;
	bool has_begun, in_string, in_escape;
};

enum trace_json_skipped { TRACE_SKIP_MORE, TRACE_SKIP_OVER, TRACE_SKIP_TOO_DEEP };

/* Follows the value through the next n_bytes, of which *n_taken belong to it. TRACE_SKIP_MORE if all do, and there is more. */
enum trace_json_skipped trace_json_skip(struct trace_json_skip *skip, const char *data, size_t n_bytes, size_t *n_taken);

#endif
