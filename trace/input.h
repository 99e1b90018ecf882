/* trace/input.h -- Bytes of a trace file, decompressed if it is gzip. */
#ifndef IFOREST_INPUT_H
#define IFOREST_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "trace/status.h"

/* A source of bytes: writes up to n_bytes to data. *n_read = 0 at the end. Returns TRACE_OK or TRACE_ERROR_READ. */
typedef int (*trace_source)(void *context, char *data, size_t n_bytes, size_t *n_read);

enum trace_input_form {
	TRACE_INPUT_UNKNOWN, /* nothing was read yet */
	TRACE_INPUT_PLAIN,
	TRACE_INPUT_IN_MEMBER, /* of a gzip file */
	TRACE_INPUT_BEHIND_MEMBER
};

struct trace_input {
	trace_source source; /* source of the bytes, called with `context` */
	void *context;
	int file;	       /* owned; -1 if there is none */
	unsigned char *buffer; /* owned: bytes read from the file; the stream points to the unused ones */
	z_stream stream;
	enum trace_input_form form;
	bool at_file_end;      /* no bytes follow the buffer */
	uint64_t position;     /* in the file, after the buffer */
	uint64_t n_bytes_read; /* unpacked */
	char problem[160];     /* set with every negative status */
};

/* Opens a file, plain or gzip, recognised by its first bytes, not by its name.
 * Returns TRACE_OK, TRACE_ERROR_OPEN or TRACE_ERROR_MEMORY. Close it in any case. */
int trace_input_open(struct trace_input *input, const char *path);

/* The same for bytes from a function. */
int trace_input_open_source(struct trace_input *input, trace_source source, void *context);

/* Reads up to n_bytes, fewer only before the end of the file or before an error. *n_read = 0 is the end.
 * A gzip file may have several members, with zeros after each. Any other byte there is an error.
 * Returns TRACE_OK, TRACE_ERROR_READ, TRACE_ERROR_GZIP or TRACE_ERROR_MEMORY. */
int trace_input_read(struct trace_input *input, char *data, size_t n_bytes, size_t *n_read);

/* Returns the number of bytes read from the file so far, before decompression. */
uint64_t trace_input_position(const struct trace_input *input);

void trace_input_close(struct trace_input *input);

#endif
