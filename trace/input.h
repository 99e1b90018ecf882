/* The bytes of a file, unpacked if it is gzip. */
#ifndef TRACE_INPUT_H
#define TRACE_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "trace/status.h"

struct trace_input {
	void *file;	       /* zlib's gzFile, owned */
	uint64_t n_bytes_read; /* unpacked */
	char problem[160];     /* what went wrong, set with every negative answer */
};

/* Opens a file, plain or gzip: told apart by its first bytes, not by its name.
 * Returns TRACE_OK, TRACE_ERROR_OPEN or TRACE_ERROR_MEMORY. Close it in any case. */
int trace_input_open(struct trace_input *input, const char *path);

/* Reads up to n_bytes, fewer only before the end of the file or before an error. *n_read = 0 is the end.
 * Returns TRACE_OK, TRACE_ERROR_READ or TRACE_ERROR_GZIP. */
int trace_input_read(struct trace_input *input, char *data, size_t n_bytes, size_t *n_read);

/* Bytes of the file read so far, packed as they are. */
uint64_t trace_input_position(const struct trace_input *input);

void trace_input_close(struct trace_input *input);

#endif
