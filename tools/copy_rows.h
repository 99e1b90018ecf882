/* tools/copy_rows.h -- Rows of a trace in the format of COPY ... (FORMAT binary).
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
 * The bytes accumulate in copy.bytes; the caller may send and clear them at any time.
 */
#ifndef IFOREST_COPY_ROWS_H
#define IFOREST_COPY_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/rows.h"
#include "trace/bytes.h"

/* Initialize with zeros. A failed allocation sets out_of_memory, and later calls do nothing. */
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

/* Texts that PostgreSQL can store: UTF-8 without NUL.
 *
 * Each byte that is NUL or belongs to no valid UTF-8 character becomes U+FFFD. In JSON so does each escape \u0000 and each
 * half of a surrogate pair that stands alone: the type json takes them, but no operator could then look into the value. */

/* How often something was replaced. */
struct storable_counts {
	uint64_t n_nul;
	uint64_t n_malformed;
};

/* Makes *text storable: leaves it alone where it is, otherwise lets it point to a repaired *copy, which is good until the
 * next repair. Returns TRACE_OK or TRACE_ERROR_MEMORY. O(n). */
int storable_repair(struct trace_text *text, bool is_json, struct trace_bytes *copy, struct storable_counts *counts);

/* ---- Rows ---- */

/* By these the rows of a table are recognised as those of a file: of each column a sum over all rows. Of integers it is their
 * sum, of texts that of their bytes as stored, of the others how many are not NULL. tables.c has the same as SQL. */
struct row_sums {
	uint64_t n_rows;
	__int128 columns[MOST_LOADED_COLUMNS];
};

enum { ROW_SUMS_TEXT_BYTES = 42 * (MOST_LOADED_COLUMNS + 1) };

/* The sums of a table's rows as the text that the SQL in tables.c gives. */
void row_sums_text(const struct row_sums *sums, enum loaded_table table, char text[ROW_SUMS_TEXT_BYTES]);

/* All zero is ready for use. */
struct row_encoder {
	struct storable_counts replaced; /* in all texts so far */
	struct trace_bytes copy;
	bool out_of_memory;
};

/* Appends the row, and adds it to the sums of its table. What did not fit into memory shows in encoder->out_of_memory. */
void row_encode(struct row_encoder *encoder, const struct loaded_row *row, struct copy_binary *rows, struct row_sums *sums);

void row_encoder_release(struct row_encoder *encoder);

#endif
