/* trace/json_writer.h -- JSON text that is being written: objects, arrays, strings and numbers, one behind the other.
 *
 *     trace_write_open(&writer, '{');
 *     trace_write_key(&writer, TRACE_LITERAL("kind"));
 *     trace_write_string(&writer, kind);
 *     trace_write_close(&writer, '}');
 *     if (writer.out_of_memory) ...
 *
 * Commas and colons are inserted. The caller must balance brackets and keys.
 */
#ifndef IFOREST_JSON_WRITER_H
#define IFOREST_JSON_WRITER_H

#include <stdbool.h>

#include "trace/bytes.h"

#define TRACE_LITERAL(literal) ((struct trace_text){ "" literal, sizeof literal - 1 })

/* All zero is empty. A failed allocation sets out_of_memory, after which all functions do nothing. */
struct trace_json_writer {
	struct trace_bytes bytes; /* what was written */
	bool out_of_memory;
	bool needs_comma;  /* before the next key or value */
	uint64_t n_mended; /* strings so far that were not UTF-8 */
};

/* Clears the output, but not n_mended. */
void trace_write_clear(struct trace_json_writer *writer);
void trace_write_release(struct trace_json_writer *writer);

/* Returns the output so far; valid until more is written. */
struct trace_text trace_written(const struct trace_json_writer *writer);

/* '{' or '[', and their ends. */
void trace_write_open(struct trace_json_writer *writer, char bracket);
void trace_write_close(struct trace_json_writer *writer, char bracket);

void trace_write_key(struct trace_json_writer *writer, struct trace_text key);

/* Values. A string may hold any bytes: those that are not UTF-8 become U+FFFD. A double that is not finite becomes the string
 * "NaN", "Infinity" or "-Infinity". Bytes become a base64 string. The last function copies JSON unchanged. */
void trace_write_string(struct trace_json_writer *writer, struct trace_text text);
void trace_write_int64(struct trace_json_writer *writer, int64_t value);
void trace_write_uint64(struct trace_json_writer *writer, uint64_t value);
void trace_write_double(struct trace_json_writer *writer, double value);
void trace_write_bool(struct trace_json_writer *writer, bool value);
void trace_write_null(struct trace_json_writer *writer);
void trace_write_base64(struct trace_json_writer *writer, struct trace_text bytes);
void trace_write_json(struct trace_json_writer *writer, struct trace_text json);

#endif
