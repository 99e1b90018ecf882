/* tools/tables.h -- Tables of a trace in PostgreSQL: statements that define, fill, index and verify them, and sample queries.
 *
 * Names are quoted; functions answer false with the connection's problem set.
 */
#ifndef IFOREST_TABLES_H
#define IFOREST_TABLES_H

#include <stdint.h>
#include <stdio.h>

#include "tools/connection.h"
#include "tools/options.h"
#include "tools/time_sample.h"

/* Creates the tables; with replace, drops existing tables of these names first. */
bool tables_create(struct connection *connection, char *const names[N_TABLES], bool replace);

/* True if the last error was that a table, or another object of its name, exists already. */
bool tables_exist_already(const struct connection *connection);

/* Counts how many of the tables exist. */
bool tables_count(struct connection *connection, char *const names[N_TABLES], int *n_tables);

/* The sums of a table's rows as copy_rows.h writes them; owned by the caller. Reads the whole table. */
bool tables_sums(struct connection *connection, enum loaded_table table, const char *name, char **sums);

/* Starts COPY ... FROM STDIN (FORMAT binary) into a table. */
bool tables_copy_start(struct connection *connection, enum loaded_table table, const char *name);

enum tables_indexed {
	TABLES_INDEXED,
	TABLES_INDEXED_BEFORE, /* there are iforest indexes on them already */
	TABLES_NO_EXTENSION,   /* the server does not have iforest, or cannot load it: the connection has its message */
	TABLES_INDEX_FAILED    /* the connection has the error */
};

/* Creates the extension and the iforest indexes; all indexes or none. */
enum tables_indexed tables_index(struct connection *connection, char *const names[N_TABLES]);

/* Writes the statements that tables_index runs. */
void tables_print_indexes(FILE *file, char *const names[N_TABLES]);

bool tables_vacuum(struct connection *connection, const char *name);

/* The times of the loaded rows. */
struct tables_times {
	struct time_sample spans, counters;
	int64_t first_ns, last_ns; /* of spans */
};

/* Writes queries for psql that show what to ask. */
void tables_print_questions(FILE *file, char *const names[N_TABLES], const uint64_t n_rows[N_TABLES],
			    struct tables_times *times);

#endif
