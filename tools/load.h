/* tools/load.h -- Load of a trace into the two tables, in one pass, bounded memory and resumable transactions.
 *
 * Rows are numbered from 1 on in each table, in the order of the file. A transaction holds what lies between two places of
 * the file: the spans go to COPY as they come, the counter samples gather in memory (COUNTER_BYTES at most, or one sample)
 * and follow in a COPY of their own. The first transaction also makes the tables. What is committed is therefore at any
 * time the rows of a beginning of the file, in both tables; to resume is to read that many rows again without sending
 * them, after which their sums must be those of the tables.
 */
#ifndef IFOREST_LOAD_H
#define IFOREST_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/connection.h"
#include "tools/copy_rows.h"
#include "tools/options.h"
#include "tools/tables.h"
#include "trace/chrome_trace.h"

/* ---- Progress bar, where standard error is a terminal ---- */

struct progress {
	bool is_on;
	uint64_t n_file_bytes; /* as it lies on the disk; 0 if unknown */
	double start_s, shown_s;
};

double progress_now_s(void);

/* Begins; path is the file that will be read. */
void progress_start(struct progress *progress, const char *path);

/* Shows that n_bytes of the file and n_rows rows have been read; at most some times a second. */
void progress_step(struct progress *progress, uint64_t n_bytes, uint64_t n_rows);

/* Shows what the server is doing now. */
__attribute__((format(printf, 2, 3))) void progress_stage(struct progress *progress, const char *format, ...);

/* Takes it off the screen. May be called twice. */
void progress_end(struct progress *progress);

/* ---- The load ---- */

enum load_status {
	LOAD_OK,
	LOAD_INTERRUPTED,
	LOAD_BAD_TRACE,	 /* the reader has the problem; the rows before it are committed */
	LOAD_SERVER,	 /* the connection has the problem */
	LOAD_OTHER_ROWS, /* the rows in the tables are not those that the file begins with; nothing was loaded */
	LOAD_MEMORY
};

/* All zero, and connection and options set, is ready for use. */
struct load {
	struct connection *connection;
	const struct options *options;
	struct trace_reader *reader;
	struct progress progress;
	struct row_encoder encoder;
	struct copy_binary rows[N_TABLES]; /* encoded and not sent yet */
	struct row_sums sums[N_TABLES];	   /* of all rows read */
	uint64_t n_committed[N_TABLES];
	bool has_tables; /* committed ones */
	bool in_transaction, in_copy;
	bool is_commit_uncertain; /* the connection broke during a COMMIT: all rows read may be committed */
	struct tables_range range;
};

/* Opens the file; LOAD_OK, LOAD_BAD_TRACE or LOAD_MEMORY. */
enum load_status load_open(struct load *load);

/* Loads the opened file. With has_tables set: behind the n_committed rows that are in them and have these sums. */
enum load_status load_run(struct load *load, char *const sums[N_TABLES]);

/* All rows read. */
uint64_t load_n_rows(const struct load *load);

void load_release(struct load *load);

#endif
