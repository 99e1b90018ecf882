#include "sqlite_ext/vtab/buckets.h"

static int open_counter(struct iforest_table *table, sqlite3 *db, struct iforest_connection *connection, int n_arguments,
			struct iforest_error *error)
{
	int rc = iforest_table_borrow(table, db, connection, "iforest_counter", n_arguments, error);

	if (!rc && n_arguments > 4)
		rc = iforest_error_set(error, SQLITE_ERROR, "iforest_counter: it takes one argument, the index");
	if (!rc && table->definition.n_values == 0)
		rc = iforest_error_set(error, SQLITE_ERROR,
				       "iforest_counter: \"%s\" has no value column; make an index with value=...",
				       table->index.name);
	table->definition.is_counter = true;
	return rc ? rc : iforest_table_declare(table, db, NULL, error);
}

const struct iforest_module iforest_counter_module = { .name = "iforest_counter",
						       .methods = &iforest_bucket_methods,
						       .open = open_counter };
