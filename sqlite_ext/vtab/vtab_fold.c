#include "sqlite_ext/vtab/buckets.h"

static int open_fold(struct iforest_table *table, sqlite3 *db, struct iforest_connection *connection, int n_arguments,
		     struct iforest_error *error)
{
	int rc = iforest_table_borrow(table, db, connection, "iforest_fold", n_arguments, error);

	if (!rc)
		rc = iforest_definition_keep_by(&table->definition, "iforest_fold", n_arguments - 4, table->arguments + 4,
						table->kept, error);
	return rc ? rc : iforest_table_declare(table, db, NULL, error);
}

const struct iforest_module iforest_fold_module = { .name = "iforest_fold",
						    .methods = &iforest_bucket_methods,
						    .open = open_fold };
