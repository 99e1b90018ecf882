/* Events of a trace as rows of COPY. */
#ifndef TOOLS_ROWS_H
#define TOOLS_ROWS_H

#include "tools/copy_rows.h"
#include "tools/storable.h"
#include "trace/chrome_trace.h"

/* By these the rows of a table are recognised as those of a file: a sum over all rows. tables.c has the same as SQL. */
struct row_sums {
	uint64_t n_rows;
	__int128 ts_ns, dur_ns;	 /* a counter's dur is 0 */
	uint64_t n_name_bytes;	 /* of names, tracks (or pids) and keys, as stored */
	uint64_t n_optional;	 /* args, or the counters' ids: how many are not NULL */
};

enum { ROW_SUMS_TEXT_BYTES = 200 };

/* The sums as the text that the SQL in tables.c gives. */
void row_sums_text(const struct row_sums *sums, char text[ROW_SUMS_TEXT_BYTES]);

/* All zero is ready for use. */
struct row_encoder {
	struct storable_counts replaced; /* in all texts so far */
	struct trace_bytes copy;
	bool out_of_memory;
};

/* Appends the event as a row, with the columns that tables.c lists, and adds it to the sums of its table: its id is its
 * number there, from 1 on. What did not fit into memory shows in encoder->out_of_memory. */
void row_encode(struct row_encoder *encoder, const struct trace_event *event, struct copy_binary *rows,
		struct row_sums *sums);

void row_encoder_release(struct row_encoder *encoder);

#endif
