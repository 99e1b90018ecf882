#include "sqlite_ext/vtab/borrow.h"

char *iforest_table_spelling(sqlite3 *db, const char *schema, const char *name, struct iforest_error *error)
{
	sqlite3_stmt *statement;
	char *spelling = NULL;
	int rc;

	if (iforest_prepare(error, db, &statement,
			    "SELECT name FROM \"%w\".sqlite_schema WHERE name = %Q COLLATE NOCASE AND sql LIKE 'CREATE VIRTUAL "
			    "TABLE%%'",
			    schema, name))
		return NULL;
	if (sqlite3_step(statement) == SQLITE_ROW && !(spelling = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0))))
		iforest_error_set(error, SQLITE_NOMEM, "");
	rc = sqlite3_finalize(statement);
	if (rc)
		iforest_error_from_db(error, db, rc);
	return spelling;
}

int iforest_table_borrow(struct iforest_table *table, sqlite3 *db, struct iforest_connection *connection, const char *module,
			 int n_arguments, struct iforest_error *error)
{
	const char *const *arguments = table->arguments;
	char *name = NULL, *spelling = NULL;
	int rc;

	if (n_arguments < 4)
		return iforest_error_set(error, SQLITE_ERROR, "%s: name an index: %s(index)", module, module);
	rc = iforest_definition_parse_name(arguments[3], &name, error);
	/* which may have set an error of its own: the first one stands */
	if (!rc && !(spelling = iforest_table_spelling(db, arguments[1], name, error)))
		rc = iforest_error_set(error, SQLITE_ERROR, "%s: no index \"%s\" in schema \"%s\"", module, name, arguments[1]);
	if (!rc) /* names of triggers are compared byte by byte */
		rc = iforest_index_init(&table->index, db, connection, arguments[1], spelling, error);
	if (!rc)
		rc = iforest_index_read_definition(&table->index, &table->definition, error);
	if (rc == SQLITE_ERROR && error->message && strncmp(error->message, "iforest", 7) != 0) {
		char *why = error->message;

		*error = (struct iforest_error){ .rc = SQLITE_OK };
		iforest_error_set(error, rc, "%s: \"%s\" is no index of iforest: %s", module, name, why);
		sqlite3_free(why);
	}
	if (!rc)
		rc = iforest_index_describe(&table->index, &table->definition, error);
	table->index.is_borrowed = true;
	memcpy(table->index.by_types, table->definition.by_types, sizeof table->index.by_types);
	sqlite3_free(spelling);
	sqlite3_free(name);
	return rc;
}

int iforest_borrowed_create(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			    char **message)
{
	const struct iforest_registration *registration = context;
	struct iforest_error error = { .rc = SQLITE_OK };
	struct iforest_table *table = iforest_table_new(n_arguments, arguments, &error);

	if (!error.rc)
		registration->open(table, db, registration->connection, n_arguments, &error);
	return iforest_table_finish(table, base, message, &error);
}

int iforest_borrowed_connect(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			     char **message)
{
	const struct iforest_registration *registration = context;
	struct iforest_error error = { .rc = SQLITE_OK };
	struct iforest_table *table = iforest_table_new(n_arguments, arguments, &error);

	if (!error.rc)
		registration->open(table, db, registration->connection, n_arguments, &error);
	if (table && error.rc && iforest_is_lasting(error.rc)) {
		/* SQLite connects it again where it reads the schema again, not where this connection makes the index */
		table->broken = sqlite3_mprintf("%s; once that is put right, drop this table and create it again, or open the "
						"database again", error.message);
		iforest_error_clear(&error);
		if (!table->broken)
			iforest_error_set(&error, SQLITE_NOMEM, "");
	}
	if (table && table->broken) {
		/* with room for the arguments of any module, so that what is told is what is wrong */
		if (sqlite3_declare_vtab(
			    db,
			    "CREATE TABLE x(broken, t0 HIDDEN, t1 HIDDEN, n HIDDEN, step HIDDEN, origin HIDDEN, fill HIDDEN)"))
			iforest_error_from_db(&error, db, SQLITE_ERROR);
	}
	return iforest_table_finish(table, base, message, &error);
}
