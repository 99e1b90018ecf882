/* vtab/common.h -- Virtual table object shared by all modules: creation, errors, and tables over another table's index. */
#ifndef IFS_VTAB_COMMON_H
#define IFS_VTAB_COMMON_H

#include "sqlite_ext/follow/snapshot.h"

struct ifs_table {
	sqlite3_vtab base;
	struct ifs_definition definition; /* of a fold: with only the by columns kept */
	struct ifs_index index;
	unsigned kept[IFS_MAX_BY];    /* the number in the index of each by column */
	char *name;		      /* of this table */
	const char *const *arguments; /* copies of the arguments of xCreate or xConnect: module, schema, name, ... */
	char *broken;		      /* why the index of a table over it is gone or damaged; NULL if all is well */
};

/* ---- Creation: xCreate and xConnect ---- */

/* Makes a table with nothing but its name and copies of the arguments. (SQLite's own are not valid once SQL was run: if
 * memory runs out in it, SQLite drops its schema, and them.) On failure the error is set; release the result if it is not
 * NULL. */
struct ifs_table *ifs_table_new(int n_arguments, const char *const *arguments, struct ifs_error *error);
void ifs_table_release(struct ifs_table *table);

/* Declares the columns to SQLite. command is the name of the command column, NULL for none. */
int ifs_table_declare(struct ifs_table *table, sqlite3 *db, const char *command, struct ifs_error *error);

/* Declares the columns by a CREATE TABLE text from sqlite3_mprintf(), which is freed. NULL is an error for want of memory. An
 * error that is set already is returned. */
int ifs_table_declare_text(sqlite3 *db, char *sql, struct ifs_error *error);

/* Ends xCreate and xConnect: hands over the table, or the error and no table. */
int ifs_table_finish(struct ifs_table *table, sqlite3_vtab **base, char **message, struct ifs_error *error);

/* Hands an error to SQLite, which frees the message. A message of SQLite's own, which does not name the index, gets the
 * table's name. */
int ifs_table_report(sqlite3_vtab *base, struct ifs_error *error);

/* In xBestIndex: returns the error of a table whose index is gone or damaged. */
int ifs_table_check_index(sqlite3_vtab *base);

/* Copies the arguments whose bits are set in `given` from argv, in order. Returns SQLITE_NOMEM, or SQLITE_OK. Free the copies
 * in either case; those that are NULL may be freed, too, and all are NULL afterwards. */
int ifs_table_copy_arguments(sqlite3_value **copies, unsigned n, unsigned given, sqlite3_value **argv);
void ifs_table_free_arguments(sqlite3_value **copies, unsigned n);

/* In xColumn: sets the result to the copy of an argument. Refuses an argument that was not given with "=" (NULL). SQLite reads
 * it to check a condition that it did not offer to the table: the rows it checks are those of another query, so any result
 * would be wrong. name is the argument's. Returns SQLITE_OK, SQLITE_ERROR or SQLITE_NOMEM. */
int ifs_table_argument_column(sqlite3_context *context, const struct ifs_table *table, const char *name, sqlite3_value *copy);

/* In xFilter: returns an error if ifs_plan_take_arguments() noted an unusable argument. names are those of the arguments. */
int ifs_table_check_arguments(sqlite3_vtab *base, int index_number, const char *const *names);

/* xDisconnect, and xDestroy of tables that store nothing. */
int ifs_table_disconnect(sqlite3_vtab *base);

/* ---- Tables over the index of another table, found by its name in the same schema ---- */

/* Opens the index that the table's first argument names, and copies its definition to the table, with all by columns.
 * module is the name of the table's module, for messages. */
int ifs_table_open_index(struct ifs_table *table, sqlite3 *db, struct ifs_connection *connection, const char *module,
			 int n_arguments, struct ifs_error *error);

/* Returns the name of a virtual table as the schema spells it, from sqlite3_mprintf(). NULL if there is none, and with an
 * error. */
char *ifs_table_spelling(sqlite3 *db, const char *schema, const char *name, struct ifs_error *error);

/* Creates or connects a table of a module over an index, from ifs_table_open_index() to ifs_table_declare(). */
typedef int ifs_open_derived(struct ifs_table *table, sqlite3 *db, struct ifs_connection *connection, int n_arguments,
			     struct ifs_error *error);

/* The context of a module, which SQLite passes to xCreate and xConnect. */
struct ifs_registration {
	struct ifs_connection *connection;
	ifs_open_derived *open; /* of a module over an index */
};

/* xCreate and xConnect of a module over an index. Connecting succeeds even if the index is gone or damaged, so that the
 * table can be dropped: a query of it is an error then (table->broken). */
int ifs_derived_create(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
		       char **message);
int ifs_derived_connect(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			char **message);

/* ---- Modules ---- */

struct ifs_module {
	const char *name;
	const sqlite3_module *methods;
	ifs_open_derived *open; /* of modules over an index; otherwise NULL */
};

#endif
