/* Rows in the format of PostgreSQL's COPY ... (FORMAT binary): one COPY is the start, rows, the end.
 *
 *     struct copy_binary copy = {0};
 *     copy_binary_start(&copy);
 *     for each row:
 *         copy_binary_row(&copy, 2);
 *         copy_binary_int64(&copy, 7);
 *         copy_binary_text(&copy, text);
 *     copy_binary_end(&copy);
 *     if (copy.out_of_memory) ...
 *
 * The bytes gather in copy.bytes; the caller sends and clears them whenever it likes. */
#ifndef TOOLS_COPY_BINARY_H
#define TOOLS_COPY_BINARY_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/bytes.h"

/* All zero is empty. An allocation that fails sets out_of_memory, and all that follows does nothing. */
struct copy_binary {
	struct trace_bytes bytes;
	bool out_of_memory;
};

void copy_binary_start(struct copy_binary *copy);
void copy_binary_row(struct copy_binary *copy, int n_columns);
void copy_binary_int64(struct copy_binary *copy, int64_t value);
void copy_binary_float8(struct copy_binary *copy, double value);

/* Text (json is sent alike); NULL where text.data is. Requires fewer than 2^31 bytes. */
void copy_binary_text(struct copy_binary *copy, struct trace_text text);
void copy_binary_end(struct copy_binary *copy);

#endif
