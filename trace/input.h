/* trace/input.h -- Bytes of a trace file, decompressed if it is gzip. */
#ifndef IFOREST_INPUT_H
#define IFOREST_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "trace/status.h"

/* Where bytes come from: up to n_bytes are put at data. *n_read = 0 is the end. Answers TRACE_OK or TRACE_ERROR_READ. */
typedef int (*trace_source)(void *context, char *data, size_t n_bytes, size_t *n_read);

enum trace_input_form {
	TRACE_INPUT_UNKNOWN, /* nothing was read yet */
	TRACE_INPUT_PLAIN,
	TRACE_INPUT_IN_MEMBER, /* of a gzip file */
	TRACE_INPUT_BEHIND_MEMBER
};

struct trace_input {
	trace_source source; /* where bytes come from, and what it is given */
	void *context;
	int file;	       /* owned; -1 if there is none */
	unsigned char *buffer; /* owned: what was read of the file; the stream says where the rest of it begins */
	z_stream stream;
	enum trace_input_form form;
	bool at_file_end;      /* nothing comes behind the buffer */
	uint64_t position;     /* in the file, behind the buffer */
	uint64_t n_bytes_read; /* unpacked */
	char problem[160];     /* what went wrong, set with every negative answer */
};

/* Opens a file, plain or gzip: told apart by its first bytes, not by its name.
 * Returns TRACE_OK, TRACE_ERROR_OPEN or TRACE_ERROR_MEMORY. Close it in any case. */
int trace_input_open(struct trace_input *input, const char *path);

/* The same with bytes that a function gives. */
int trace_input_open_source(struct trace_input *input, trace_source source, void *context);

/* Reads up to n_bytes, fewer only before the end of the file or before an error. *n_read = 0 is the end.
 * A gzip file may have several members, and zeros behind each. Anything else there is an error: nobody can tell what it was.
 * Returns TRACE_OK, TRACE_ERROR_READ, TRACE_ERROR_GZIP or TRACE_ERROR_MEMORY. */
int trace_input_read(struct trace_input *input, char *data, size_t n_bytes, size_t *n_read);

/* Bytes of the file read so far, packed as they are. */
uint64_t trace_input_position(const struct trace_input *input);

void trace_input_close(struct trace_input *input);

#endif
