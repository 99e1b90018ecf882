/* trace/bytes.h -- Growable byte buffer, and references to text in it that survive its growth. */
#ifndef IFOREST_BYTES_H
#define IFOREST_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "trace/status.h"

/* Text that someone else owns; not NUL-terminated, may hold any byte. data is NULL where there is none. */
struct trace_text {
	const char *data;
	size_t n_bytes;
};

/* All zero is an empty buffer. */
struct trace_bytes {
	char *data; /* owned */
	size_t n_bytes, n_allocated;
};

/* Where a text lies in a buffer. */
struct trace_slice {
	size_t start, n_bytes;
};

#define TRACE_NO_SLICE ((struct trace_slice){ SIZE_MAX, 0 })

/* Makes room for n_more bytes behind the present ones. TRACE_OK or TRACE_ERROR_MEMORY. Amortised O(n_more). */
int trace_bytes_reserve(struct trace_bytes *buffer, size_t n_more);

/* Appends; *slice (if not NULL) tells where. Text without data is TRACE_NO_SLICE and appends nothing.
 * TRACE_OK or TRACE_ERROR_MEMORY. */
int trace_bytes_append(struct trace_bytes *buffer, struct trace_text text, struct trace_slice *slice);

/* The text of a slice, valid until the buffer changes. */
struct trace_text trace_bytes_text(const struct trace_bytes *buffer, struct trace_slice slice);

/* Empties the buffer and keeps its memory for the next use, unless that is uncommonly much. */
void trace_bytes_clear(struct trace_bytes *buffer);

void trace_bytes_release(struct trace_bytes *buffer);

#endif
