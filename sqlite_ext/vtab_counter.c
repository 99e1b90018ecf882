#include "sqlite_ext/borrow.h"
#include "sqlite_ext/vtab.h"

static int open_counter(struct iforest_table *table, sqlite3 *db, void *connection, int n_arguments, struct iforest_error *error)
{
	int rc = iforest_table_borrow(table, db, connection, "iforest_counter", n_arguments, error);

	if (!rc && n_arguments > 4)
		rc = iforest_error_set(error, SQLITE_ERROR, "iforest_counter: it takes one argument, the index");
	if (!rc && table->definition.n_values == 0)
		rc = iforest_error_set(error, SQLITE_ERROR, "iforest_counter: \"%s\" has no value column; make an index with value=...",
				       table->index.name);
	table->definition.is_counter = true;
	return rc ? rc : iforest_table_declare(table, db, NULL, error);
}

static int counter_create(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			  char **message)
{
	return iforest_borrowed_create(open_counter, db, context, n_arguments, arguments, base, message);
}

static int counter_connect(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			   char **message)
{
	return iforest_borrowed_connect(open_counter, db, context, n_arguments, arguments, base, message);
}

static const sqlite3_module module = {
	.iVersion = 3,
	.xCreate = counter_create,
	.xConnect = counter_connect,
	.xBestIndex = iforest_table_best_index,
	.xDisconnect = iforest_table_disconnect,
	.xDestroy = iforest_table_disconnect,
	.xOpen = iforest_table_open,
	.xClose = iforest_table_close,
	.xFilter = iforest_table_filter,
	.xNext = iforest_table_next,
	.xEof = iforest_table_eof,
	.xColumn = iforest_table_column,
	.xRowid = iforest_table_rowid,
};

const sqlite3_module *iforest_counter_module(void)
{
	return &module;
}
