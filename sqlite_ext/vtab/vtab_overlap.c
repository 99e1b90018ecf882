#include "sqlite_ext/vtab/buckets.h"

/* All by columns are kept unless some are named, or none: (). */
static int keep_by(struct iforest_table *table, int n_arguments, struct iforest_error *error)
{
	int n_names = n_arguments - 4;
	const char *const *names = table->arguments + 4;

	if (n_names == 0)
		return SQLITE_OK;
	if (n_names == 1 && strcmp(names[0], "()") == 0)
		n_names = 0;
	return iforest_definition_keep_by(&table->definition, "iforest_overlap", n_names, names, table->kept, error);
}

static int open_overlap(struct iforest_table *table, sqlite3 *db, struct iforest_connection *connection, int n_arguments,
			struct iforest_error *error)
{
	int rc = iforest_table_borrow(table, db, connection, "iforest_overlap", n_arguments, error);

	if (!rc && table->definition.duration_value == IFOREST_NO_VALUE)
		rc = iforest_error_set(error, SQLITE_ERROR,
				       "iforest_overlap: index \"%s\" has no durations: make it with duration=...",
				       table->index.name);
	if (!rc)
		rc = keep_by(table, n_arguments, error);
	table->definition.is_overlap = true;
	return rc ? rc : iforest_table_declare(table, db, NULL, error);
}

const struct iforest_module iforest_overlap_module = { .name = "iforest_overlap",
						       .methods = &iforest_bucket_methods,
						       .open = open_overlap };
