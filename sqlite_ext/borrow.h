/* borrow.h -- a table over the index that another table is, found by its name in the same schema. It stores nothing. */
#ifndef IFOREST_SQLITE_BORROW_H
#define IFOREST_SQLITE_BORROW_H

#include "sqlite_ext/table.h"

/* Finds the index that the first argument of the table names, and takes its definition for the table's, with all by columns.
 * module is the name of the table's module, for messages. */
int iforest_table_borrow(struct iforest_table *table, sqlite3 *db, struct iforest_connection *connection, const char *module,
			 int n_arguments, struct iforest_error *error);

/* The end of an xConnect, as iforest_table_finish(). Succeeds also where the index is gone or damaged, so that the table can be
 * dropped: to ask it is an error then (table->broken). */
int iforest_table_finish_borrowed(struct iforest_table *table, sqlite3 *db, sqlite3_vtab **base, char **message,
				  struct iforest_error *error);

#endif
