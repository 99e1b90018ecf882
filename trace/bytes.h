/* trace/bytes.h -- Growable byte buffer, and references to text in it that survive its growth. */
#ifndef IFOREST_BYTES_H
#define IFOREST_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "trace/status.h"

/* Borrowed text; not NUL-terminated, may contain any byte. data is NULL if there is none. */
struct trace_text {
	const char *data;
	size_t n_bytes;
};

/* All zero is an empty buffer. */
struct trace_bytes {
	char *data; /* owned */
	size_t n_bytes, n_allocated;
};

/* Position of a text in a buffer. */
struct trace_slice {
	size_t start, n_bytes;
};

#define TRACE_NO_SLICE ((struct trace_slice){ SIZE_MAX, 0 })

/* Makes room for n_more bytes at the end. Returns TRACE_OK or TRACE_ERROR_MEMORY. Amortised O(n_more). */
int trace_bytes_reserve(struct trace_bytes *buffer, size_t n_more);

/* Appends a text; *slice (if not NULL) becomes its position. For text without data, appends nothing and gives TRACE_NO_SLICE.
 * TRACE_OK or TRACE_ERROR_MEMORY. */
int trace_bytes_append(struct trace_bytes *buffer, struct trace_text text, struct trace_slice *slice);

/* The text of a slice, valid until the buffer changes. */
struct trace_text trace_bytes_text(const struct trace_bytes *buffer, struct trace_slice slice);

/* Empties the buffer and keeps its memory for reuse, unless it is unusually large. */
void trace_bytes_clear(struct trace_bytes *buffer);

void trace_bytes_release(struct trace_bytes *buffer);

#endif
