#include "sqlite_ext/vtab/common.h"

#include "sqlite_ext/query/plan.h"

static bool begins_with(const char *text, const char *start)
{
	return start && strncmp(text, start, strlen(start)) == 0;
}

int ifs_table_report(sqlite3_vtab *base, struct ifs_error *error)
{
	const struct ifs_table *table = (const struct ifs_table *)base;
	int rc = error->rc;

	if (!rc)
		return SQLITE_OK;
	sqlite3_free(base->zErrMsg);
	base->zErrMsg = error->message;
	if (error->message && !begins_with(error->message, table->name) && !begins_with(error->message, table->index.name) &&
	    !begins_with(error->message, "iforest")) {
		base->zErrMsg = sqlite3_mprintf("%s: %s", table->name, error->message);
		sqlite3_free(error->message);
	}
	error->message = NULL;
	return rc;
}

/* ---- Creation ---- */

void ifs_table_release(struct ifs_table *table)
{
	if (!table)
		return;
	ifs_index_release(&table->index);
	ifs_definition_release(&table->definition);
	sqlite3_free(table->name);
	sqlite3_free(table->broken);
	sqlite3_free((void *)table->arguments);
	sqlite3_free(table->base.zErrMsg); /* SQLite takes it over, but not after a DROP that failed */
	sqlite3_free(table);
}

int ifs_table_declare_text(sqlite3 *db, char *sql, struct ifs_error *error)
{
	int rc = sql ? error->rc : ifs_error_set(error, SQLITE_NOMEM, "");

	if (!rc && (rc = sqlite3_declare_vtab(db, sql)))
		ifs_error_from_db(error, db, rc);
	if (!rc)
		sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	sqlite3_free(sql);
	return rc;
}

int ifs_table_declare(struct ifs_table *table, sqlite3 *db, const char *command, struct ifs_error *error)
{
	return ifs_table_declare_text(db, ifs_definition_declare(&table->definition, command, error), error);
}

/* Copies into one allocation: the pointers, then the strings. NULL without memory. */
static const char *const *copy_arguments(int n_arguments, const char *const *arguments)
{
	size_t n_pointer_bytes = (size_t)n_arguments * sizeof(char *), n_bytes = n_pointer_bytes;
	const char **copies;
	char *text;

	for (int i = 0; i < n_arguments; i++)
		n_bytes += strlen(arguments[i]) + 1;
	copies = sqlite3_malloc64(n_bytes);
	if (!copies)
		return NULL;
	text = (char *)copies + n_pointer_bytes;
	for (int i = 0; i < n_arguments; i++) {
		size_t n = strlen(arguments[i]) + 1;

		copies[i] = memcpy(text, arguments[i], n);
		text += n;
	}
	return copies;
}

struct ifs_table *ifs_table_new(int n_arguments, const char *const *arguments, struct ifs_error *error)
{
	struct ifs_table *table = sqlite3_malloc64(sizeof *table);

	if (table) {
		*table = (struct ifs_table){ .name = sqlite3_mprintf("%s", arguments[2]),
					     .arguments = copy_arguments(n_arguments, arguments) };
		for (unsigned b = 0; b < IFS_MAX_BY; b++)
			table->kept[b] = b;
	}
	if (!table || !table->name || !table->arguments)
		ifs_error_set(error, SQLITE_NOMEM, "");
	return table;
}

int ifs_table_finish(struct ifs_table *table, sqlite3_vtab **base, char **message, struct ifs_error *error)
{
	if (error->rc) {
		*message = error->message;
		ifs_table_release(table);
	} else {
		*base = &table->base;
	}
	return error->rc;
}

int ifs_table_disconnect(sqlite3_vtab *base)
{
	ifs_table_release((struct ifs_table *)base);
	return SQLITE_OK;
}

static const char argument_is_unusable[] =
	"%s: argument %s is used, but not given with =: write %s(t0, t1), not inside OR, an expression, "
	"a row value or the far side of an outer join";

int ifs_table_check_arguments(sqlite3_vtab *base, int index_number, const char *const *names)
{
	const char *name = ((struct ifs_table *)base)->name;
	struct ifs_error error = { .rc = SQLITE_OK };
	int unusable = index_number >> IFS_UNUSABLE_SHIFT;

	if (unusable > 0)
		ifs_error_set(&error, SQLITE_ERROR, argument_is_unusable, name, names[unusable - 1], name);
	return ifs_table_report(base, &error);
}

int ifs_table_check_index(sqlite3_vtab *base)
{
	const struct ifs_table *table = (const struct ifs_table *)base;
	struct ifs_error error = { .rc = SQLITE_OK };

	if (table->broken)
		ifs_error_set(&error, SQLITE_ERROR, "%s: %s", table->name, table->broken);
	return ifs_table_report(base, &error);
}

int ifs_table_copy_arguments(sqlite3_value **copies, unsigned n, unsigned given, sqlite3_value **argv)
{
	for (unsigned a = 0; a < n; a++)
		if (given >> a & 1 && !(copies[a] = sqlite3_value_dup(*argv++)))
			return SQLITE_NOMEM;
	return SQLITE_OK;
}

void ifs_table_free_arguments(sqlite3_value **copies, unsigned n)
{
	for (unsigned a = 0; a < n; a++) {
		sqlite3_value_free(copies[a]);
		copies[a] = NULL;
	}
}

int ifs_table_argument_column(sqlite3_context *context, const struct ifs_table *table, const char *name, sqlite3_value *copy)
{
	char *message;

	if (copy) {
		sqlite3_result_value(context, copy);
		return SQLITE_OK;
	}
	message = sqlite3_mprintf(argument_is_unusable, table->name, name, table->name);
	if (!message) {
		sqlite3_result_error_nomem(context);
		return SQLITE_NOMEM;
	}
	sqlite3_result_error(context, message, -1);
	sqlite3_free(message);
	return SQLITE_ERROR;
}

/* ---- Tables over the index of another table, found by its name in the same schema ---- */

char *ifs_table_spelling(sqlite3 *db, const char *schema, const char *name, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	char *spelling = NULL;
	int rc;

	if (ifs_prepare(error, db, &statement,
			"SELECT name FROM \"%w\".sqlite_schema WHERE name = %Q COLLATE NOCASE AND sql LIKE 'CREATE VIRTUAL "
			"TABLE%%'",
			schema, name))
		return NULL;
	if (sqlite3_step(statement) == SQLITE_ROW && !(spelling = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0))))
		ifs_error_set(error, SQLITE_NOMEM, "");
	rc = sqlite3_finalize(statement);
	if (rc)
		ifs_error_from_db(error, db, rc);
	return spelling;
}

int ifs_table_open_index(struct ifs_table *table, sqlite3 *db, struct ifs_connection *connection, const char *module,
			 int n_arguments, struct ifs_error *error)
{
	const char *const *arguments = table->arguments;
	char *name = NULL, *spelling = NULL;
	int rc;

	if (n_arguments < 4)
		return ifs_error_set(error, SQLITE_ERROR, "%s: name an index: %s(index)", module, module);
	rc = ifs_definition_parse_name(arguments[3], &name, error);
	/* a former error stands */
	if (!rc && !(spelling = ifs_table_spelling(db, arguments[1], name, error)))
		rc = ifs_error_set(error, SQLITE_ERROR, "%s: no index \"%s\" in schema \"%s\"", module, name, arguments[1]);
	if (!rc) /* names of triggers are compared byte by byte */
		rc = ifs_index_init(&table->index, db, connection, arguments[1], spelling, error);
	if (!rc)
		rc = ifs_index_read_definition(&table->index, &table->definition, error);
	if (rc == SQLITE_ERROR && error->message && strncmp(error->message, "iforest", 7) != 0) {
		char *why = error->message;

		*error = (struct ifs_error){ .rc = SQLITE_OK };
		ifs_error_set(error, rc, "%s: \"%s\" is no index of iforest: %s", module, name, why);
		sqlite3_free(why);
	}
	if (!rc)
		rc = ifs_index_describe(&table->index, &table->definition, error);
	table->index.is_derived = true;
	memcpy(table->index.by_types, table->definition.by_types, sizeof table->index.by_types);
	sqlite3_free(spelling);
	sqlite3_free(name);
	return rc;
}

int ifs_derived_create(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
		       char **message)
{
	const struct ifs_registration *registration = context;
	struct ifs_error error = { .rc = SQLITE_OK };
	struct ifs_table *table = ifs_table_new(n_arguments, arguments, &error);

	if (!error.rc)
		registration->open(table, db, registration->connection, n_arguments, &error);
	return ifs_table_finish(table, base, message, &error);
}

int ifs_derived_connect(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			char **message)
{
	const struct ifs_registration *registration = context;
	struct ifs_error error = { .rc = SQLITE_OK };
	struct ifs_table *table = ifs_table_new(n_arguments, arguments, &error);

	if (!error.rc)
		registration->open(table, db, registration->connection, n_arguments, &error);
	if (table && error.rc && ifs_error_is_permanent(error.rc)) {
		/* SQLite connects it again when it reads the schema again, not when this connection makes the index */
		table->broken = sqlite3_mprintf("%s; once that is put right, drop this table and create it again, or open the "
						"database again",
						error.message);
		ifs_error_clear(&error);
		if (!table->broken)
			ifs_error_set(&error, SQLITE_NOMEM, "");
	}
	if (table && table->broken) {
		/* with the arguments of any module, so that the query fails with this message */
		if (sqlite3_declare_vtab(
			    db,
			    "CREATE TABLE x(broken, t0 HIDDEN, t1 HIDDEN, n HIDDEN, step HIDDEN, origin HIDDEN, fill HIDDEN)"))
			ifs_error_from_db(&error, db, SQLITE_ERROR);
	}
	return ifs_table_finish(table, base, message, &error);
}
