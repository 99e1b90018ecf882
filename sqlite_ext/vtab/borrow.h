/* borrow.h -- a table over the index that another table is, found by its name in the same schema. It stores nothing. */
#ifndef IFOREST_SQLITE_BORROW_H
#define IFOREST_SQLITE_BORROW_H

#include "sqlite_ext/vtab/common.h"

/* Finds the index that the first argument of the table names, and takes its definition for the table's, with all by columns.
 * module is the name of the table's module, for messages. */
int iforest_table_borrow(struct iforest_table *table, sqlite3 *db, struct iforest_connection *connection, const char *module,
			 int n_arguments, struct iforest_error *error);

/* The name of the virtual table that is called so in the schema, as it is spelled there, from sqlite3_mprintf(). NULL if there
 * is none, and with an error. */
char *iforest_table_spelling(sqlite3 *db, const char *schema, const char *name, struct iforest_error *error);

/* What a module does to make or connect a table that holds nothing yet, from iforest_table_borrow() to
 * iforest_table_declare(). */
typedef int iforest_open_borrowed(struct iforest_table *table, sqlite3 *db, struct iforest_connection *connection,
				  int n_arguments, struct iforest_error *error);

/* What SQLite is given with a module, and hands to xCreate and xConnect as their context. */
struct iforest_registration {
	struct iforest_connection *connection;
	iforest_open_borrowed *open;            /* of a module over an index */
};

/* xCreate and xConnect of a module over an index. To connect succeeds also where the index is gone or damaged, so that the
 * table can be dropped: to ask it is an error then (table->broken). */
int iforest_borrowed_create(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			    char **message);
int iforest_borrowed_connect(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			     char **message);

#endif
