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
	sqlite3_free(table->base.zErrMsg); /* SQLite takes it over, except after a DROP that failed */
	sqlite3_free(table);
}

int ifs_table_declare_text(sqlite3 *db, char *sql, struct ifs_error *error)
{
	int rc = sql ? error->rc : ifs_error_set(error, SQLITE_NOMEM, "");

	if (!rc && (rc = sqlite3_declare_vtab(db, sql)))
		ifs_error_from_db(error, db, rc);
	/* A view or a trigger of a database file that is not trusted may read the table. That is innocuous only because all text of
	 * the file that becomes part of a statement is a name in quotes, one of a few words, or a condition that was judged
	 * (follow/condition.h); statements of the index are the connection's own, which SQLite does not restrain. */
	if (!rc)
		sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	sqlite3_free(sql);
	return rc;
}

int ifs_table_declare(struct ifs_table *table, sqlite3 *db, const char *command, struct ifs_error *error)
{
	char *sql = ifs_definition_declare(&table->definition, command, error);

	table->first_by = (int)table->definition.n_hidden;
	return ifs_table_declare_text(db, sql, error);
}

/* Copies the arguments into one allocation: the pointers, then the strings. NULL if out of memory. */
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

struct ifs_table *ifs_table_new(const struct ifs_module *module, int n_arguments, const char *const *arguments,
				struct ifs_error *error)
{
	struct ifs_table *table = sqlite3_malloc64(sizeof *table);

	if (table) {
		*table = (struct ifs_table){ .module = module,
					     .n_arguments = module->reader ? module->reader->n_arguments : 0,
					     .name = sqlite3_mprintf("%s", arguments[2]),
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
	/* ifs_error_set() keeps an earlier error */
	if (!rc && !(spelling = ifs_table_spelling(db, arguments[1], name, error)))
		rc = ifs_error_set(error, SQLITE_ERROR, "%s: no index \"%s\" in schema \"%s\"", module, name, arguments[1]);
	if (!rc) /* in the schema's own spelling, because names of triggers are compared byte by byte */
		rc = ifs_index_init(&table->index, db, connection, arguments[1], spelling, error);
	if (!rc)
		rc = ifs_index_check_tables(&table->index, false, error);
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
	if (!rc)
		rc = ifs_index_check_tables(&table->index, true, error);
	table->index.is_derived = true;
	memcpy(table->index.by_types, table->definition.by_types, sizeof table->index.by_types);
	table->index.time_kind = table->definition.time_kind;
	sqlite3_free(spelling);
	sqlite3_free(name);
	return rc;
}

void ifs_table_add_by(sqlite3_str *sql, const struct ifs_definition *definition)
{
	for (unsigned b = 0; b < definition->n_by; b++)
		sqlite3_str_appendf(sql, "\"%w\" %s, ", definition->by[b].name,
				    definition->by_types[b] ? definition->by_types[b] : "");
}

static struct ifs_table *open_derived(sqlite3 *db, const struct ifs_registration *registration, int n_arguments,
				      const char *const *arguments, struct ifs_error *error)
{
	struct ifs_table *table = ifs_table_new(registration->module, n_arguments, arguments, error);

	if (!error->rc)
		registration->module->open(table, db, registration->connection, n_arguments, error);
	return table;
}

static int create_derived(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			  char **message)
{
	struct ifs_error error = { .rc = SQLITE_OK };
	struct ifs_table *table = open_derived(db, context, n_arguments, arguments, &error);

	return ifs_table_finish(table, base, message, &error);
}

/* Succeeds even if the index is gone or damaged, so that the table can be dropped. Queries of it then fail (table->broken). */
static int connect_derived(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			   char **message)
{
	struct ifs_error error = { .rc = SQLITE_OK };
	struct ifs_table *table = open_derived(db, context, n_arguments, arguments, &error);

	if (table && error.rc && ifs_error_is_permanent(error.rc)) {
		/* SQLite connects the table again when it rereads the schema, but not when this connection creates the index */
		table->broken = sqlite3_mprintf("%s; once that is put right, drop this table and create it again, or open the "
						"database again",
						error.message);
		ifs_error_clear(&error);
		if (!table->broken)
			ifs_error_set(&error, SQLITE_NOMEM, "");
	}
	if (table && table->broken) {
		/* with the arguments of all modules, so that a query fails with this message */
		if (sqlite3_declare_vtab(
			    db,
			    "CREATE TABLE x(broken, t0 HIDDEN, t1 HIDDEN, n HIDDEN, step HIDDEN, origin HIDDEN, fill HIDDEN)"))
			ifs_error_from_db(&error, db, SQLITE_ERROR);
	}
	return ifs_table_finish(table, base, message, &error);
}

/* ---- Planning and reading ---- */

static const char argument_is_unusable[] =
	"%s: argument %s is used, but not given with =: write %s(t0, t1), not inside OR, an expression, "
	"a row value or the far side of an outer join";

/* True if condition i compares by column b with what may be a number. */
static bool may_compare_number(const struct ifs_table *table, sqlite3_index_info *info, int i, unsigned b)
{
	sqlite3_value *value;
	int type;

	if (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ || info->aConstraint[i].iColumn != table->first_by + (int)b ||
	    sqlite3_vtab_in(info, i, -1))
		return false;
	if (sqlite3_vtab_rhs_value(info, i, &value) != SQLITE_OK)
		return true;
	type = sqlite3_value_type(value);
	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

/* Returns the by columns, as bits, that have texts that are numbers, but no numeric affinity. The index is read only if that
 * matters to the plan; if it cannot be read, all of them may have. */
static uint32_t find_number_texts(struct ifs_table *table, sqlite3_index_info *info)
{
	const struct ifs_definition *definition = &table->definition;
	struct ifs_error error = { .rc = SQLITE_OK };
	struct ifs_snapshot *snapshot = NULL;
	uint32_t found = 0;

	for (unsigned b = 0; b < definition->n_by; b++) {
		const char *type = definition->by_types[b] ? definition->by_types[b] : "BLOB";

		for (int i = 0; i < info->nConstraint && (strcmp(type, "TEXT") == 0 || strcmp(type, "BLOB") == 0); i++)
			if (may_compare_number(table, info, i, b))
				found |= 1u << b;
	}
	if (!found)
		return 0;
	if (ifs_snapshot_open(&table->index, &snapshot, &error) == SQLITE_OK) {
		for (unsigned b = 0; b < definition->n_by; b++)
			if (!(snapshot->dictionary.number_texts >> table->kept[b] & 1))
				found &= ~(1u << b);
		ifs_snapshot_release(snapshot);
	}
	ifs_error_clear(&error);
	return found;
}

int ifs_table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct ifs_table *table = (struct ifs_table *)base;
	struct ifs_error error = { .rc = SQLITE_OK };
	int rc = SQLITE_OK;

	if (table->broken)
		ifs_error_set(&error, SQLITE_ERROR, "%s: %s", table->name, table->broken);
	if (!error.rc) {
		table->number_texts = find_number_texts(table, info);
		rc = table->module->reader->plan(table, info, &error);
	}
	return rc == SQLITE_CONSTRAINT ? rc : ifs_table_report(base, &error);
}

int ifs_cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	const struct ifs_reader *reader = ((const struct ifs_table *)base)->module->reader;
	struct ifs_cursor *cursor = sqlite3_malloc64(reader->cursor_bytes);

	if (!cursor)
		return SQLITE_NOMEM;
	memset(cursor, 0, reader->n_zeros);
	cursor->reader = reader;
	cursor->at_end = true;
	*out = &cursor->base;
	return SQLITE_OK;
}

static void free_arguments(struct ifs_cursor *cursor)
{
	for (unsigned a = 0; a < IFS_N_ARGUMENTS; a++) {
		sqlite3_value_free(cursor->arguments[a]);
		cursor->arguments[a] = NULL;
	}
}

int ifs_cursor_close(sqlite3_vtab_cursor *base)
{
	struct ifs_cursor *cursor = (struct ifs_cursor *)base;

	cursor->reader->release(cursor);
	free_arguments(cursor);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

int ifs_cursor_next(sqlite3_vtab_cursor *base)
{
	struct ifs_cursor *cursor = (struct ifs_cursor *)base;
	struct ifs_error error = { .rc = SQLITE_OK };

	return cursor->reader->next(cursor, &error) ? ifs_table_report(base->pVtab, &error) : SQLITE_OK;
}

int ifs_cursor_filter(sqlite3_vtab_cursor *base, int index_number, const char *index_text, int n_argv, sqlite3_value **argv)
{
	struct ifs_cursor *cursor = (struct ifs_cursor *)base;
	const struct ifs_table *table = ifs_cursor_table(cursor);
	const struct ifs_reader *reader = cursor->reader;
	struct ifs_error error = { .rc = SQLITE_OK };
	int unusable = index_number >> IFS_UNUSABLE_SHIFT, rc;
	sqlite3_value **given = argv;

	(void)n_argv;
	free_arguments(cursor);
	cursor->at_end = true;
	if (unusable > 0) {
		ifs_error_set(&error, SQLITE_ERROR, argument_is_unusable, table->name, reader->argument_names[unusable - 1],
			      table->name);
		return ifs_table_report(base->pVtab, &error);
	}
	for (unsigned a = 0; a < reader->n_arguments; a++)
		if ((unsigned)index_number >> a & 1 && !(cursor->arguments[a] = sqlite3_value_dup(*given++)))
			return SQLITE_NOMEM;
	rc = reader->start(cursor, index_number, index_text, argv, &error);
	if (!rc)
		rc = reader->next(cursor, &error);
	if (rc)
		cursor->at_end = true;
	return rc && error.rc ? ifs_table_report(base->pVtab, &error) : rc;
}

int ifs_cursor_eof(sqlite3_vtab_cursor *base)
{
	return ((struct ifs_cursor *)base)->at_end;
}

/* Refuses an argument that was not given with "=". SQLite reads it to check a condition that it did not offer to the table. The
 * rows that it checks are those of another query, so any result would be wrong. */
static int refuse_argument(sqlite3_context *context, const struct ifs_table *table, const char *name)
{
	char *message = sqlite3_mprintf(argument_is_unusable, table->name, name, table->name);

	if (!message) {
		sqlite3_result_error_nomem(context);
		return SQLITE_NOMEM;
	}
	sqlite3_result_error(context, message, -1);
	sqlite3_free(message);
	return SQLITE_ERROR;
}

int ifs_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct ifs_cursor *cursor = (struct ifs_cursor *)base;
	const struct ifs_table *table = ifs_cursor_table(cursor);
	unsigned argument = (unsigned)(column - table->first_argument);

	if (argument >= table->n_arguments)
		return cursor->reader->column(cursor, context, column);
	if (sqlite3_vtab_nochange(context)) /* an UPDATE, which is refused later */
		return SQLITE_OK;
	if (!cursor->arguments[argument])
		return refuse_argument(context, table, cursor->reader->argument_names[argument]);
	sqlite3_result_value(context, cursor->arguments[argument]);
	return SQLITE_OK;
}

int ifs_cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
	const struct ifs_cursor *cursor = (const struct ifs_cursor *)base;

	*rowid = cursor->reader->rowid(cursor);
	return SQLITE_OK;
}

const sqlite3_module ifs_derived_methods = {
	.iVersion = 3,
	.xCreate = create_derived,
	.xConnect = connect_derived,
	.xBestIndex = ifs_table_best_index,
	.xDisconnect = ifs_table_disconnect,
	.xDestroy = ifs_table_disconnect,
	.xOpen = ifs_cursor_open,
	.xClose = ifs_cursor_close,
	.xFilter = ifs_cursor_filter,
	.xNext = ifs_cursor_next,
	.xEof = ifs_cursor_eof,
	.xColumn = ifs_cursor_column,
	.xRowid = ifs_cursor_rowid,
};

/* ---- Table-valued functions ---- */

int ifs_function_connect(sqlite3 *db, void *context, const char *declaration, int risk, sqlite3_vtab **base)
{
	struct ifs_function_table *table = sqlite3_malloc64(sizeof *table);
	int rc = table ? sqlite3_declare_vtab(db, declaration) : SQLITE_NOMEM;

	if (rc) {
		sqlite3_free(table);
		return rc;
	}
	sqlite3_vtab_config(db, risk);
	*table = (struct ifs_function_table){ .db = db, .registration = context };
	*base = &table->base;
	return SQLITE_OK;
}

int ifs_function_disconnect(sqlite3_vtab *base)
{
	sqlite3_free(base);
	return SQLITE_OK;
}

int ifs_function_arguments(sqlite3_index_info *info, int first)
{
	int constraint_of[] = { -1, -1 }, n_argv = 0;
	bool is_late[] = { false, false };

	for (int i = 0; i < info->nConstraint; i++) {
		int argument = info->aConstraint[i].iColumn - first;

		if (argument < 0 || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (info->aConstraint[i].usable)
			constraint_of[argument] = i;
		else
			is_late[argument] = true;
	}
	for (int a = 0; a < 2; a++) {
		if (constraint_of[a] < 0 && is_late[a])
			return SQLITE_CONSTRAINT;
		if (constraint_of[a] < 0)
			continue;
		info->aConstraintUsage[constraint_of[a]].argvIndex = ++n_argv;
		info->aConstraintUsage[constraint_of[a]].omit = 1;
		info->idxNum |= 1 << a;
	}
	return SQLITE_OK;
}

int ifs_function_open(size_t cursor_bytes, sqlite3_vtab_cursor **out)
{
	struct ifs_function_cursor *cursor = sqlite3_malloc64(cursor_bytes);

	if (!cursor)
		return SQLITE_NOMEM;
	memset(cursor, 0, cursor_bytes);
	cursor->at_end = true;
	*out = &cursor->base;
	return SQLITE_OK;
}

int ifs_function_eof(sqlite3_vtab_cursor *base)
{
	return ((struct ifs_function_cursor *)base)->at_end;
}

int ifs_function_report(sqlite3_vtab *base, struct ifs_error *error)
{
	if (!error->rc)
		return SQLITE_OK;
	sqlite3_free(base->zErrMsg);
	base->zErrMsg = error->message;
	return error->rc;
}
