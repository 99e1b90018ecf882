#include "trace/bytes.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT_WHEN_EMPTY_BYTES = 1024 * 1024 };

int trace_bytes_reserve(struct trace_bytes *buffer, size_t n_more)
{
	size_t n_allocated = buffer->n_allocated ? buffer->n_allocated : 256;
	char *data;

	if (n_more > SIZE_MAX / 4 - buffer->n_bytes)
		return TRACE_ERROR_MEMORY;
	if (buffer->data && buffer->n_bytes + n_more <= buffer->n_allocated)
		return TRACE_OK;
	while (n_allocated < buffer->n_bytes + n_more)
		n_allocated *= 2;
	data = realloc(buffer->data, n_allocated);
	if (!data)
		return TRACE_ERROR_MEMORY;
	buffer->data = data;
	buffer->n_allocated = n_allocated;
	return TRACE_OK;
}

int trace_bytes_append(struct trace_bytes *buffer, struct trace_text text, struct trace_slice *slice)
{
	struct trace_slice where = TRACE_NO_SLICE;

	if (text.data) {
		if (trace_bytes_reserve(buffer, text.n_bytes) < 0)
			return TRACE_ERROR_MEMORY;
		memcpy(buffer->data + buffer->n_bytes, text.data, text.n_bytes);
		where = (struct trace_slice){ buffer->n_bytes, text.n_bytes };
		buffer->n_bytes += text.n_bytes;
	}
	if (slice)
		*slice = where;
	return TRACE_OK;
}

struct trace_text trace_bytes_text(const struct trace_bytes *buffer, struct trace_slice slice)
{
	if (slice.start == SIZE_MAX)
		return (struct trace_text){ NULL, 0 };
	return (struct trace_text){ buffer->data + slice.start, slice.n_bytes };
}

void trace_bytes_clear(struct trace_bytes *buffer)
{
	if (buffer->n_allocated > KEPT_WHEN_EMPTY_BYTES)
		trace_bytes_release(buffer);
	buffer->n_bytes = 0;
}

void trace_bytes_release(struct trace_bytes *buffer)
{
	free(buffer->data);
	*buffer = (struct trace_bytes){ 0 };
}
