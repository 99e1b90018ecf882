/* trace/format.h -- What a reader of a trace format provides: how its files are told, and a parser that is fed pieces.
 *
 * A new format is one source that defines a struct trace_format, and a line in formats[] of trace/trace.c.
 */
#ifndef IFOREST_FORMAT_H
#define IFOREST_FORMAT_H

#include "trace/assembly.h"

enum { TRACE_HEAD_BYTES = 4096 /* by so many first bytes a format is told */ };

struct trace_format {
	const char *name; /* such as "Chrome JSON" */

	/* True if an unpacked file that begins with these bytes is of this format; is_all says that it has no others. The
	 * formats are asked in the order of formats[], the first that says so reads the file. */
	bool (*recognise)(const char *head, size_t n_bytes, bool is_all);

	/* A new parser that adds to the assembly, to which it may hold on; NULL if out of memory. */
	void *(*begin)(struct trace_assembly *assembly, const struct trace_options *options);

	/* Parses the first *n_taken of n_bytes > 0 bytes. The next call begins with the others and more of the file: a parser
	 * that takes none is fed twice as many, up to TRACE_MAX_KEPT_BYTES, beyond which the file is refused. The parser counts
	 * the bytes that it has taken, for errors. TRACE_OK or a negative status, after which it is fed no more. */
	int (*feed)(void *parser, const char *bytes, size_t n_bytes, size_t *n_taken);

	/* The file ends, behind n_bytes >= 0 bytes that feed has left. TRACE_OK or a negative status. */
	int (*end)(void *parser, const char *bytes, size_t n_bytes);

	void (*release)(void *parser); /* NULL is allowed */
};

#endif
