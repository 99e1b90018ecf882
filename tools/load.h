/* tools/load.h -- Load of a trace into PostgreSQL's tables, in one pass, bounded memory and resumable transactions.
 *
 * Rows come in the same order each time a file is read: first counter samples and instants, then spans, flows, tracks and what
 * was left out. A transaction loads a range of rows in that order: spans go to COPY at once, all others accumulate in memory
 * (at most GATHERED_BYTES, or one row) and follow in a COPY of their own. The first transaction also creates the tables. So the
 * committed rows are always a prefix of all rows; to resume, the loader reads that many rows again without sending them, and
 * then compares their sums with those of the tables.
 */
#ifndef IFOREST_LOAD_H
#define IFOREST_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/connection.h"
#include "tools/copy_rows.h"
#include "tools/options.h"
#include "tools/progress.h"
#include "tools/tables.h"
#include "trace/trace.h"

enum load_status {
	LOAD_OK,
	LOAD_INTERRUPTED,
	LOAD_BAD_TRACE,	    /* the trace has the problem; the rows before it are committed */
	LOAD_SERVER,	    /* the connection has the problem */
	LOAD_TOO_MANY_ROWS, /* more than options->max_rows; those before are committed */
	LOAD_OTHER_ROWS,    /* the rows in the tables are not those that the file begins with; nothing was loaded */
	LOAD_MEMORY
};

/* All zero, and connection and options set, is ready for use. */
struct load {
	struct connection *connection;
	const struct options *options;
	struct trace *trace;
	struct progress progress;
	struct row_maker maker;
	struct row_encoder encoder;
	struct copy_binary rows[N_TABLES]; /* encoded and not sent yet */
	struct row_sums sums[N_TABLES];	   /* of all rows read */
	uint64_t n_committed[N_TABLES];
	char *const *committed_sums; /* of the rows that are read again and not sent; NULL if there are none, or no more */
	enum load_status status;     /* why the sink stops the reading */
	bool has_tables;	     /* committed ones */
	bool in_transaction, in_copy;
	bool is_commit_uncertain; /* the connection broke during a COMMIT: all rows read may be committed */
	struct tables_times times;
};

/* Opens the file; LOAD_OK, LOAD_BAD_TRACE or LOAD_MEMORY. */
enum load_status load_open(struct load *load);

/* Loads the opened file. With has_tables set: behind the n_committed rows that are in them and have these sums. */
enum load_status load_run(struct load *load, char *const sums[N_TABLES]);

/* All rows read. */
uint64_t load_n_rows(const struct load *load);

void load_release(struct load *load);

#endif
