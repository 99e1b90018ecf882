#include "trace/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_BYTES = 64 * 1024, GZIP_ALONE = 15 + 16 /* for inflateInit2: the largest window, and no other format */ };

static int out_of_memory(struct trace_input *input)
{
	snprintf(input->problem, sizeof input->problem, "out of memory");
	return TRACE_ERROR_MEMORY;
}

static int broken(struct trace_input *input, const char *why)
{
	snprintf(input->problem, sizeof input->problem, "the gzip stream is broken after %llu unpacked bytes: %s",
		 (unsigned long long)input->n_bytes_read, why);
	return TRACE_ERROR_GZIP;
}

static int read_file(void *context, char *data, size_t n_bytes, size_t *n_read)
{
	const struct trace_input *input = context;
	ssize_t n = read(input->file, data, n_bytes);

	*n_read = n < 0 ? 0 : (size_t)n;
	return n < 0 ? TRACE_ERROR_READ : TRACE_OK;
}

int trace_input_open_source(struct trace_input *input, trace_source source, void *context)
{
	*input = (struct trace_input){ .source = source, .context = context, .file = -1 };
	input->buffer = malloc(BUFFER_BYTES);
	return input->buffer ? TRACE_OK : out_of_memory(input);
}

int trace_input_open(struct trace_input *input, const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC), status;

	if (file < 0) {
		*input = (struct trace_input){ .file = -1 };
		snprintf(input->problem, sizeof input->problem, "cannot open the file: %s", strerror(errno));
		return TRACE_ERROR_OPEN;
	}
	status = trace_input_open_source(input, read_file, input);
	input->file = file;
	return status;
}

/* Reads more of the file. */
static int read_on(struct trace_input *input, unsigned char *data, size_t n_bytes, size_t *n_read)
{
	if (input->source(input->context, (char *)data, n_bytes, n_read) < 0) {
		snprintf(input->problem, sizeof input->problem, "cannot read beyond byte %llu: %s",
			 (unsigned long long)input->n_bytes_read, strerror(errno));
		return TRACE_ERROR_READ;
	}
	input->at_file_end = *n_read == 0;
	input->position += *n_read;
	return TRACE_OK;
}

/* Reads more bytes after the unused ones in the buffer. */
static int fill(struct trace_input *input)
{
	z_stream *stream = &input->stream;
	size_t n = 0;
	int status;

	if (stream->avail_in > 0)
		memmove(input->buffer, stream->next_in, stream->avail_in);
	stream->next_in = input->buffer;
	status = read_on(input, input->buffer + stream->avail_in, BUFFER_BYTES - stream->avail_in, &n);
	stream->avail_in += (unsigned)n;
	return status;
}

/* Reads plain bytes directly to the output. Requires an empty buffer. */
static int fill_output(struct trace_input *input)
{
	z_stream *stream = &input->stream;
	size_t n = 0;
	int status = read_on(input, stream->next_out, stream->avail_out, &n);

	stream->next_out += n;
	stream->avail_out -= (unsigned)n;
	return status;
}

static bool begins_member(const z_stream *stream)
{
	return stream->avail_in >= 2 && stream->next_in[0] == 0x1F && stream->next_in[1] == 0x8B;
}

static int begin_member(struct trace_input *input)
{
	z_stream *stream = &input->stream;

	if ((stream->state ? inflateReset(stream) : inflateInit2(stream, GZIP_ALONE)) != Z_OK)
		return out_of_memory(input);
	input->form = TRACE_INPUT_IN_MEMBER;
	return TRACE_OK;
}

static int unpack(struct trace_input *input)
{
	int code = inflate(&input->stream, Z_NO_FLUSH);

	if (code == Z_STREAM_END)
		input->form = TRACE_INPUT_BEHIND_MEMBER;
	if (code == Z_STREAM_END || code == Z_OK)
		return TRACE_OK;
	if (code == Z_MEM_ERROR)
		return out_of_memory(input);
	return broken(input, code == Z_BUF_ERROR ? "it ends too early" : input->stream.msg);
}

static int skip_zeros(struct trace_input *input)
{
	z_stream *stream = &input->stream;

	if (*stream->next_in != 0)
		return broken(input, "what follows is not gzip");
	for (; stream->avail_in > 0 && *stream->next_in == 0; stream->avail_in--)
		stream->next_in++;
	return TRACE_OK;
}

static void copy(z_stream *stream)
{
	unsigned n = stream->avail_in < stream->avail_out ? stream->avail_in : stream->avail_out;

	memcpy(stream->next_out, stream->next_in, n);
	stream->next_in += n;
	stream->avail_in -= n;
	stream->next_out += n;
	stream->avail_out -= n;
}

static bool is_at_end(const struct trace_input *input)
{
	return input->at_file_end && input->stream.avail_in == 0 && input->form != TRACE_INPUT_IN_MEMBER;
}

/* Does the step that the buffer's bytes call for. Requires that this is not the end, and that the output has room. */
static int step(struct trace_input *input)
{
	z_stream *stream = &input->stream;

	if (input->form == TRACE_INPUT_PLAIN && stream->avail_in == 0)
		return fill_output(input);
	/* a member is recognised by two bytes */
	if (stream->avail_in < 2 && !input->at_file_end)
		return fill(input);
	if (input->form == TRACE_INPUT_IN_MEMBER)
		return unpack(input);
	if (input->form != TRACE_INPUT_PLAIN && begins_member(stream))
		return begin_member(input);
	if (input->form == TRACE_INPUT_BEHIND_MEMBER)
		return skip_zeros(input);
	input->form = TRACE_INPUT_PLAIN;
	copy(stream);
	return TRACE_OK;
}

int trace_input_read(struct trace_input *input, char *data, size_t n_bytes, size_t *n_read)
{
	z_stream *stream = &input->stream;
	int status = TRACE_OK;

	stream->next_out = (unsigned char *)data;
	stream->avail_out = (unsigned)n_bytes;
	while (status == TRACE_OK && stream->avail_out > 0 && !is_at_end(input))
		status = step(input);
	*n_read = n_bytes - stream->avail_out;
	input->n_bytes_read += *n_read;
	/* the next call meets an error behind these bytes again */
	return *n_read > 0 ? TRACE_OK : status;
}

uint64_t trace_input_position(const struct trace_input *input)
{
	return input->position - input->stream.avail_in;
}

void trace_input_close(struct trace_input *input)
{
	if (input->file >= 0)
		close(input->file);
	if (input->stream.state)
		inflateEnd(&input->stream);
	free(input->buffer);
	*input = (struct trace_input){ .file = -1 };
}
