/* trace/format.h -- Interface of a reader of a trace format: recognition of its files, and a parser that is fed in pieces.
 *
 * A new format is one source that defines a struct trace_format, and a line in formats[] of trace/trace.c.
 */
#ifndef IFOREST_FORMAT_H
#define IFOREST_FORMAT_H

#include "trace/assembly.h"

enum { TRACE_HEAD_BYTES = 4096 /* number of first bytes by which a format is recognised */ };

struct trace_format {
	const char *name; /* such as "Chrome JSON" */

	/* True if an uncompressed file that begins with these bytes is of this format; is_all: they are the whole file. Formats
	 * are tried in the order of formats[], and the first match reads the file. */
	bool (*recognise)(const char *head, size_t n_bytes, bool is_all);

	/* Returns a new parser that adds to the assembly and may keep a pointer to it; NULL if out of memory. */
	void *(*begin)(struct trace_assembly *assembly, const struct trace_options *options);

	/* Parses n_bytes > 0 bytes, and sets *n_taken to the number consumed. The next call begins with the rest and more of
	 * the file. If the parser consumes none, it is fed twice as many, up to TRACE_MAX_KEPT_BYTES, beyond which the file is
	 * refused. The parser counts the consumed bytes, for error messages. Returns TRACE_OK or a negative status, after which
	 * it is not called again. */
	int (*feed)(void *parser, const char *bytes, size_t n_bytes, size_t *n_taken);

	/* Called at the end of the file with the n_bytes >= 0 bytes that feed did not consume. Returns TRACE_OK or a negative
	 * status. */
	int (*end)(void *parser, const char *bytes, size_t n_bytes);

	void (*release)(void *parser); /* NULL is allowed */
};

#endif
