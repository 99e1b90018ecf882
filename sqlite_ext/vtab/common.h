/* vtab/common.h -- Virtual table object shared by all modules: creation, errors, and tables over another table's index. */
#ifndef IFS_VTAB_COMMON_H
#define IFS_VTAB_COMMON_H

#include "sqlite_ext/follow/snapshot.h"

struct ifs_table {
	sqlite3_vtab base;
	struct ifs_definition definition; /* of a fold: with the by columns kept */
	struct ifs_index index;
	unsigned kept[IFS_MAX_BY];    /* number in the index of each by column */
	char *name;		      /* of this table */
	const char *const *arguments; /* copies of what xCreate or xConnect was given: module, schema, name, ... */
	char *broken;		      /* a fold whose index is gone or damaged: why; NULL if all is well */
};

/* ---- making one: xCreate and xConnect ---- */

/* A table that holds nothing but its name and arguments. Those that SQLite gives are not to be used once SQL was run: where
 * memory runs out in it, SQLite forgets its schema, and them. On failure the error is set; release what was returned, if not
 * NULL. */
struct ifs_table *ifs_table_new(int n_arguments, const char *const *arguments, struct ifs_error *error);
void ifs_table_release(struct ifs_table *table);

/* Tells SQLite the columns. command is the name of the command column, NULL for none. */
int ifs_table_declare(struct ifs_table *table, sqlite3 *db, const char *command, struct ifs_error *error);

/* The end of xCreate and xConnect: hands over the table, or the error and no table. */
int ifs_table_finish(struct ifs_table *table, sqlite3_vtab **base, char **message, struct ifs_error *error);

/* Hands an error to SQLite, which frees the message. One of SQLite's own, which knows nothing of the index, gets its name. */
int ifs_table_report(sqlite3_vtab *base, struct ifs_error *error);

/* Refuses, in xColumn, an argument that is read and was not given with "=". SQLite reads it to check a condition that it
 * did not
 * offer to the table: the rows it checks are those of another query, so whatever came out would be wrong. name is the table's.
 * Returns SQLITE_ERROR or SQLITE_NOMEM. */
int ifs_table_refuse_argument(sqlite3_context *context, const char *name, const char *argument);

/* In xFilter: SQLITE_OK, or an error if ifs_plan_take_arguments() noted one that is lost. names are those of the
 * arguments. */
int ifs_table_check_arguments(sqlite3_vtab *base, int index_number, const char *const *names);

/* xDisconnect, and xDestroy of those that store nothing. */
int ifs_table_disconnect(sqlite3_vtab *base);

/* ---- Tables over the index of another table, found by its name in the same schema ---- */

/* Finds the index that the first argument of the table names, and takes its definition for the table's, with all by columns.
 * module is the name of the table's module, for messages. */
int ifs_table_open_index(struct ifs_table *table, sqlite3 *db, struct ifs_connection *connection, const char *module,
			 int n_arguments, struct ifs_error *error);

/* The name of the virtual table that is called so in the schema, as it is spelled there, from sqlite3_mprintf(). NULL if there
 * is none, and with an error. */
char *ifs_table_spelling(sqlite3 *db, const char *schema, const char *name, struct ifs_error *error);

/* What a module does to make or connect a table that holds nothing yet, from ifs_table_borrow() to
 * ifs_table_declare(). */
typedef int ifs_open_derived(struct ifs_table *table, sqlite3 *db, struct ifs_connection *connection, int n_arguments,
			     struct ifs_error *error);

/* What SQLite is given with a module, and hands to xCreate and xConnect as their context. */
struct ifs_registration {
	struct ifs_connection *connection;
	ifs_open_derived *open; /* of a module over an index */
};

/* xCreate and xConnect of a module over an index. To connect succeeds also where the index is gone or damaged, so that the
 * table can be dropped: to ask it is an error then (table->broken). */
int ifs_derived_create(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
		       char **message);
int ifs_derived_connect(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			char **message);

/* ---- Modules ---- */

struct ifs_module {
	const char *name;
	const sqlite3_module *methods;
	ifs_open_derived *open; /* of those whose tables stand over an index; else NULL */
};

#endif
