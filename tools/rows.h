/* tools/rows.h -- Definitions of the six tables that a trace is loaded into (spans, counters ...), and their rows, whatever the
 * database. */
#ifndef IFOREST_ROWS_H
#define IFOREST_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "trace/model.h"

enum loaded_table { TABLE_SPANS, TABLE_COUNTERS, TABLE_INSTANTS, TABLE_FLOWS, TABLE_TRACKS, TABLE_LEFT_OUT, N_TABLES };

enum { MOST_LOADED_COLUMNS = 16 };

enum loaded_type { LOADED_INTEGER, LOADED_REAL, LOADED_TEXT, LOADED_JSON };

struct loaded_column {
	const char *name;
	enum loaded_type type;
	bool is_required; /* NOT NULL */
};

/* A table: the first column is its primary key. */
struct loaded_definition {
	const char *name; /* default; the user may choose another */
	const char *what; /* a row, such as "counter sample" */
	int n_columns;
	struct loaded_column columns[MOST_LOADED_COLUMNS];
};

extern const struct loaded_definition loaded_definitions[N_TABLES];

/* Prints how many rows there are, such as "1 span" or "0 counter samples". */
void rows_print_count(FILE *file, enum loaded_table table, uint64_t n);

/* Prints a line that says how much of a file was left out, and why, if that is a notable part of it. */
void rows_print_share(FILE *file, const char *path, const struct trace_share *share);

struct loaded_value {
	bool is_null;
	int64_t integer;
	double real;
	struct trace_text text;
};

/* A row of a table; its texts are those of what it was made of. */
struct loaded_row {
	enum loaded_table table;
	struct loaded_value values[MOST_LOADED_COLUMNS];
};

/* What is added where several files go into one table: to numbers, and before the keys of tracks. All zero adds nothing. */
struct loaded_base {
	int64_t n_rows[N_TABLES];
	const char *prefix; /* or NULL */
};

/* Makes rows. All zero, or with a base, is ready for use. A row is valid until the next one is made; NULL if out of memory. */
struct row_maker {
	struct loaded_base base;
	int64_t n_rows[N_TABLES]; /* made so far */
	struct loaded_row row;
	struct trace_bytes keys; /* with their prefix */
};

struct loaded_row *row_of_span(struct row_maker *maker, const struct trace_span *span);
struct loaded_row *row_of_sample(struct row_maker *maker, const struct trace_sample *sample);
struct loaded_row *row_of_instant(struct row_maker *maker, const struct trace_instant *instant);
struct loaded_row *row_of_flow(struct row_maker *maker, const struct trace_flow *flow);
struct loaded_row *row_of_track(struct row_maker *maker, const struct trace_track *track);
struct loaded_row *row_of_report_line(struct row_maker *maker, const struct trace_report_line *line);

void row_maker_release(struct row_maker *maker);

#endif
