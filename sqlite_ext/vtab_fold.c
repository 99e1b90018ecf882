#include "sqlite_ext/borrow.h"
#include "sqlite_ext/vtab.h"

static int open_fold(struct iforest_table *table, sqlite3 *db, void *connection, int n_arguments, struct iforest_error *error)
{
	int rc = iforest_table_borrow(table, db, connection, "iforest_fold", n_arguments, error);

	if (!rc)
		rc = iforest_definition_keep_by(&table->definition, "iforest_fold", n_arguments - 4, table->arguments + 4, table->kept,
						error);
	return rc ? rc : iforest_table_declare(table, db, NULL, error);
}

static int fold_create(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			char **message)
{
	return iforest_borrowed_create(open_fold, db, context, n_arguments, arguments, base, message);
}

static int fold_connect(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			char **message)
{
	return iforest_borrowed_connect(open_fold, db, context, n_arguments, arguments, base, message);
}

static const sqlite3_module module = {
	.iVersion = 3,
	.xCreate = fold_create,
	.xConnect = fold_connect,
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

const sqlite3_module *iforest_fold_module(void)
{
	return &module;
}
