#include "trace/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/chrome_json.h"
#include "trace/foreign.h"
#include "trace/format.h"
#include "trace/otlp_json.h"
#include "trace/otlp_protobuf.h"
#include "trace/perfetto.h"
#include "trace/spall.h"

enum {
	DEFAULT_PIECE_BYTES = 64 * 1024,
	SHOWN_PATH_BYTES = 300 /* an error shows only the end of a longer path */
};

/* Tried in this order. Formats that are recognised by a few bytes come first. */
static const struct trace_format *const formats[] = { &trace_spall, &trace_otlp_protobuf, &trace_otlp_json, &trace_chrome_json,
						      &trace_perfetto };

enum { N_FORMATS = sizeof formats / sizeof *formats };

struct trace {
	struct trace_options options;
	char *name;
	struct trace_input input;
	struct trace_assembly *assembly;
	const struct trace_format *format; /* NULL before it is known */
	void *parser;
	struct trace_bytes piece;
	uint64_t n_taken; /* bytes of the unpacked file that the parser has taken */
	bool takes_none;  /* the parser took nothing of the current piece: it needs more bytes */
	bool is_read;	  /* the file, to its end or to an error */
	int read_status;  /* the error, which is returned only after everything that was read before it */
	int status;	  /* TRACE_ROW while there is more to do */
	char error[900];
};

static int fail(struct trace *trace, int status, const char *format, ...)
{
	size_t n_name = strlen(trace->name);
	bool cut = n_name > SHOWN_PATH_BYTES;
	int n_prefix = snprintf(trace->error, sizeof trace->error, "%s%s: ", cut ? "..." : "",
				trace->name + (cut ? n_name - SHOWN_PATH_BYTES : 0));
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(trace->error + n_prefix, sizeof trace->error - (size_t)n_prefix, format, arguments);
	va_end(arguments);
	return status;
}

static int assembly_failed(struct trace *trace, int status)
{
	const struct trace_problem *problem = &trace_assembly_report(trace->assembly)->problem;

	uint64_t offset = problem->has_offset ? problem->offset : trace->n_taken;

	/* an error without an offset is reported without one, except for a limit, which was exceeded where the parser is */
	if (!problem->has_offset && (status != TRACE_ERROR_LIMIT || !trace->parser))
		return fail(trace, status, "%s", problem->text);
	if (status == TRACE_ERROR_NOT_TRACE && trace->format != &trace_spall)
		return fail(trace, status, "byte %llu: %s. %s", (unsigned long long)offset, problem->text, trace_formats_read);
	return fail(trace, status, "byte %llu: %s", (unsigned long long)offset, problem->text);
}

/* ---- Opening ---- */

static struct trace *new_trace(const char *name, const struct trace_options *options)
{
	struct trace *trace = calloc(1, sizeof *trace);

	if (!trace)
		return NULL;
	trace->options = *options;
	if (trace->options.piece_bytes == 0)
		trace->options.piece_bytes = DEFAULT_PIECE_BYTES;
	trace->input.file = -1;
	trace->name = strdup(name);
	if (trace->name)
		return trace;
	free(trace);
	return NULL;
}

/* Starts to read. status is that of opening the input. */
static int start(struct trace *trace, int status, const struct trace_sink *sink)
{
	if (status < 0) {
		trace->status = fail(trace, status, "%s", trace->input.problem);
		return status;
	}
	trace->assembly = trace_assembly_new(&trace->options, sink);
	trace->status = trace->assembly ? TRACE_ROW : fail(trace, TRACE_ERROR_MEMORY, "out of memory");
	return trace->status < 0 ? trace->status : TRACE_OK;
}

int trace_open(const char *path, const struct trace_options *options, const struct trace_sink *sink, struct trace **trace)
{
	*trace = new_trace(path, options);
	return *trace ? start(*trace, trace_input_open(&(*trace)->input, path), sink) : TRACE_ERROR_MEMORY;
}

int trace_open_source(trace_source source, void *context, const char *name, const struct trace_options *options,
		      const struct trace_sink *sink, struct trace **trace)
{
	*trace = new_trace(name, options);
	return *trace ? start(*trace, trace_input_open_source(&(*trace)->input, source, context), sink) : TRACE_ERROR_MEMORY;
}

/* ---- Reading ---- */

/* Appends n_wanted bytes to the piece, or as many as there are. */
static int read_on(struct trace *trace, size_t n_wanted)
{
	const uint64_t max_bytes = trace->options.max_bytes;
	struct trace_bytes *piece = &trace->piece;
	size_t n_read;
	int status;

	if (trace_bytes_reserve(piece, n_wanted) < 0)
		return fail(trace, TRACE_ERROR_MEMORY, "out of memory");
	status = trace_input_read(&trace->input, piece->data + piece->n_bytes, n_wanted, &n_read);
	if (status < 0)
		trace->read_status = fail(trace, status, "%s", trace->input.problem);
	else if (max_bytes > 0 && trace->input.n_bytes_read > max_bytes)
		trace->read_status =
			fail(trace, TRACE_ERROR_LIMIT, "the unpacked file has more than the %llu bytes that are allowed",
			     (unsigned long long)max_bytes);
	piece->n_bytes += n_read;
	trace->is_read = n_read == 0 || trace->read_status < 0;
	return TRACE_ROW;
}

/* PowerShell writes UTF-16 where the output of a program is sent to a file by ">". */
static bool is_utf_16(const struct trace_bytes *piece)
{
	return piece->n_bytes >= 2 && (!memcmp(piece->data, "\xFF\xFE", 2) || !memcmp(piece->data, "\xFE\xFF", 2));
}

/* What a file is that is in no format, or that is told by little: by a brace, or by a field's number. */
static const char *advice_on(const struct trace *trace, size_t n_head)
{
	if (trace->format && trace->format != &trace_chrome_json && trace->format != &trace_perfetto)
		return NULL;
	return trace_foreign_advice(trace->piece.data, n_head);
}

static int find_format(struct trace *trace)
{
	const char *advice;
	const struct trace_bytes *piece = &trace->piece;
	bool is_longer = piece->n_bytes > TRACE_HEAD_BYTES;
	size_t n_head = is_longer ? TRACE_HEAD_BYTES : piece->n_bytes;

	if (piece->n_bytes == 0)
		return trace->read_status < 0 ? trace->read_status : fail(trace, TRACE_ERROR_NOT_TRACE, "the file is empty");
	for (int i = 0; i < N_FORMATS && !trace->format; i++) {
		if (formats[i]->recognise(piece->data, n_head, trace->is_read && !is_longer))
			trace->format = formats[i];
	}
	if (!trace->format && trace->read_status < 0)
		return trace->read_status;
	if (!trace->format && is_utf_16(piece))
		return fail(trace, TRACE_ERROR_NOT_TRACE, "the file is a text in UTF-16; make it UTF-8");
	advice = advice_on(trace, n_head);
	if (!advice && !trace->format)
		advice = "the file is in no trace format that is known";
	if (advice) {
		trace->format = NULL;
		return fail(trace, TRACE_ERROR_NOT_TRACE, "%s. %s", advice, trace_formats_read);
	}
	trace->parser = trace->format->begin(trace->assembly, &trace->options);
	return trace->parser ? TRACE_ROW : fail(trace, TRACE_ERROR_MEMORY, "out of memory");
}

static int feed(struct trace *trace)
{
	struct trace_bytes *piece = &trace->piece;
	size_t n_taken = 0;
	int status = piece->n_bytes > 0 ? trace->format->feed(trace->parser, piece->data, piece->n_bytes, &n_taken) : TRACE_OK;

	trace->n_taken += n_taken;
	if (status < 0)
		return assembly_failed(trace, status);
	trace->takes_none = n_taken == 0;
	piece->n_bytes -= n_taken;
	memmove(piece->data, piece->data + n_taken, piece->n_bytes);
	if (trace->takes_none && piece->n_bytes >= TRACE_MAX_KEPT_BYTES)
		return fail(trace, TRACE_ERROR_LIMIT, "byte %llu: the event that starts here is longer than 256 MiB",
			    (unsigned long long)trace->n_taken);
	return TRACE_ROW;
}

static int end_parser(struct trace *trace)
{
	struct trace_bytes *piece = &trace->piece;
	int status = trace->format->end(trace->parser, piece->data, piece->n_bytes);

	if (status < 0)
		return assembly_failed(trace, status);
	trace_bytes_release(piece);
	trace->format->release(trace->parser);
	trace->parser = NULL;
	return TRACE_ROW;
}

/* Parses the next piece; at the end of the file, all the rest. */
static int advance(struct trace *trace)
{
	struct trace_bytes *piece = &trace->piece;
	size_t n_wanted = trace->options.piece_bytes;
	int status;

	if (trace->format && trace->is_read && (trace->takes_none || piece->n_bytes == 0))
		return trace->read_status < 0 ? trace->read_status : end_parser(trace);
	if (piece->n_allocated > 4 * n_wanted && piece->n_bytes == 0)
		trace_bytes_release(piece);
	if (!trace->format && n_wanted < TRACE_HEAD_BYTES)
		n_wanted = TRACE_HEAD_BYTES;
	if (trace->takes_none && n_wanted < piece->n_bytes)
		n_wanted = piece->n_bytes;
	if (n_wanted > TRACE_MAX_KEPT_BYTES - piece->n_bytes)
		n_wanted = TRACE_MAX_KEPT_BYTES - piece->n_bytes;
	if (!trace->is_read && (status = read_on(trace, n_wanted)) < 0)
		return status;
	if (!trace->format && !trace->is_read && piece->n_bytes < TRACE_HEAD_BYTES)
		return TRACE_ROW;
	if (!trace->format && (status = find_format(trace)) < 0)
		return status;
	return feed(trace);
}

/* At the end: an error if there was something, and all of it was left out. */
static int check_rows(struct trace *trace)
{
	const struct trace_counts *counts = trace_counts(trace);
	struct trace_share share = trace_left_out(trace);

	if (!trace->options.needs_rows || !share.cause ||
	    counts->n_spans + counts->n_samples + counts->n_instants + counts->n_flows > 0)
		return TRACE_OK;
	return fail(trace, TRACE_ERROR_NOT_TRACE,
		    "nothing in it is a span, a counter sample or an instant: all is left out, most of it as \"%s\"",
		    share.cause);
}

int trace_step(struct trace *trace)
{
	if (trace->status != TRACE_ROW)
		return trace->status;
	if (!trace->format || trace->parser) {
		trace->status = advance(trace);
	} else {
		trace->status = trace_assembly_finish(trace->assembly);
		if (trace->status < 0)
			assembly_failed(trace, trace->status);
		else if (trace->status == TRACE_OK)
			trace->status = check_rows(trace);
	}
	return trace->status;
}

/* ---- Properties ---- */

const char *trace_error(const struct trace *trace)
{
	return trace ? trace->error : "out of memory";
}

const char *trace_format_name(const struct trace *trace)
{
	return trace->format ? trace->format->name : "";
}

const struct trace_counts *trace_counts(const struct trace *trace)
{
	static const struct trace_counts none;

	return trace->assembly ? trace_assembly_counts(trace->assembly) : &none;
}

const struct trace_report_line *trace_report(const struct trace *trace, size_t i)
{
	return trace->assembly ? trace_report_line(trace_assembly_report(trace->assembly), i) : NULL;
}

static bool is_of_flows(const char *what)
{
	return strncmp(what, "flow", 4) == 0 || strncmp(what, "link", 4) == 0 || strstr(what, "flow id");
}

struct trace_share trace_left_out(const struct trace *trace)
{
	const struct trace_counts *counts = trace_counts(trace);
	const struct trace_report_line *line;
	struct trace_share share = { 0 };
	uint64_t n_most = 0;

	for (size_t i = 0; (line = trace_report(trace, i)); i++) {
		if (line->finding != TRACE_LEFT_OUT || is_of_flows(line->what))
			continue;
		share.n_left_out += line->n;
		if (line->n > n_most)
			share.cause = line->what;
		n_most = line->n > n_most ? line->n : n_most;
	}
	share.n_all = share.n_left_out + counts->n_spans + counts->n_samples + counts->n_instants;
	return share;
}

bool trace_share_is_notable(const struct trace_share *share)
{
	return share->n_left_out > 0 && share->n_left_out > (share->n_all - 1) / 20;
}

uint64_t trace_position(const struct trace *trace)
{
	return trace_input_position(&trace->input);
}

void trace_close(struct trace *trace)
{
	if (!trace)
		return;
	if (trace->parser)
		trace->format->release(trace->parser);
	trace_input_close(&trace->input);
	trace_assembly_free(trace->assembly);
	trace_bytes_release(&trace->piece);
	free(trace->name);
	free(trace);
}
