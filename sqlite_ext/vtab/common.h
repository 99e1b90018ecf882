/* table.h -- a virtual table of any module: what they share, from making one to reading its rows. */
#ifndef IFOREST_SQLITE_TABLE_H
#define IFOREST_SQLITE_TABLE_H

#include "sqlite_ext/follow/snapshot.h"

struct iforest_table {
	sqlite3_vtab base;
	struct iforest_definition definition;   /* of a fold: with the by columns kept */
	struct iforest_index index;
	unsigned kept[IFOREST_MAX_BY];          /* number in the index of each by column */
	char *name;                             /* of this table */
	const char *const *arguments;           /* copies of what xCreate or xConnect was given: module, schema, name, ... */
	char *broken;                           /* a fold whose index is gone or damaged: why; NULL if all is well */
};

/* ---- making one: xCreate and xConnect ---- */

/* A table that holds nothing but its name and arguments. Those that SQLite gives are not to be used once SQL was run: where
 * memory runs out in it, SQLite forgets its schema, and them. On failure the error is set; release what was returned, if not
 * NULL. */
struct iforest_table *iforest_table_new(int n_arguments, const char *const *arguments, struct iforest_error *error);
void iforest_table_release(struct iforest_table *table);

/* Tells SQLite the columns. command is the name of the command column, NULL for none. */
int iforest_table_declare(struct iforest_table *table, sqlite3 *db, const char *command, struct iforest_error *error);

/* The end of xCreate and xConnect: hands over the table, or the error and no table. */
int iforest_table_finish(struct iforest_table *table, sqlite3_vtab **base, char **message, struct iforest_error *error);

/* Hands an error to SQLite, which frees the message. One of SQLite's own, which knows nothing of the index, gets its name. */
int iforest_table_report(sqlite3_vtab *base, struct iforest_error *error);

/* Refuses, in xColumn, an argument that is read and was not given with "=". SQLite reads it to check a condition that it did not
 * offer to the table: the rows it checks are those of another query, so whatever came out would be wrong. name is the table's.
 * Returns SQLITE_ERROR or SQLITE_NOMEM. */
int iforest_table_refuse_argument(sqlite3_context *context, const char *name, const char *argument);

/* In xFilter: SQLITE_OK, or an error if iforest_plan_take_arguments() noted one that is lost. names are those of the
 * arguments. */
int iforest_table_check_arguments(sqlite3_vtab *base, int index_number, const char *const *names);

/* xDisconnect, and xDestroy of those that store nothing. */
int iforest_table_disconnect(sqlite3_vtab *base);

#endif
