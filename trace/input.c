#include "trace/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { FILE_BUFFER_BYTES = 64 * 1024 };

int trace_input_open(struct trace_input *input, const char *path)
{
	int file;

	*input = (struct trace_input){ 0 };
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0) {
		snprintf(input->problem, sizeof input->problem, "cannot open the file: %s", strerror(errno));
		return TRACE_ERROR_OPEN;
	}
	input->file = gzdopen(file, "rb");
	if (!input->file) {
		close(file);
		snprintf(input->problem, sizeof input->problem, "out of memory");
		return TRACE_ERROR_MEMORY;
	}
	gzbuffer(input->file, FILE_BUFFER_BYTES);
	return TRACE_OK;
}

/* zlib reports a cut stream as a short count, and as an error only to those who ask. */
static int read_failed(struct trace_input *input)
{
	int system_error = errno, zlib_error = Z_OK;
	const char *text = gzerror(input->file, &zlib_error);
	unsigned long long n_read = input->n_bytes_read;

	if (zlib_error == Z_OK || zlib_error == Z_STREAM_END)
		return TRACE_OK;
	if (zlib_error == Z_ERRNO) {
		snprintf(input->problem, sizeof input->problem, "cannot read beyond byte %llu: %s", n_read,
			 strerror(system_error));
		return TRACE_ERROR_READ;
	}
	if (zlib_error == Z_BUF_ERROR)
		text = "it ends too early";
	snprintf(input->problem, sizeof input->problem, "the gzip stream is broken after %llu unpacked bytes: %s", n_read,
		 text);
	return TRACE_ERROR_GZIP;
}

int trace_input_read(struct trace_input *input, char *data, size_t n_bytes, size_t *n_read)
{
	int n;

	errno = 0;
	n = gzread(input->file, data, (unsigned)n_bytes);
	*n_read = n > 0 ? (size_t)n : 0;
	input->n_bytes_read += *n_read;
	return n > 0 ? TRACE_OK : read_failed(input);
}

uint64_t trace_input_position(const struct trace_input *input)
{
	z_off_t position = input->file ? gzoffset(input->file) : 0;

	return position > 0 ? (uint64_t)position : 0;
}

void trace_input_close(struct trace_input *input)
{
	if (input->file)
		gzclose_r(input->file);
	input->file = NULL;
}
