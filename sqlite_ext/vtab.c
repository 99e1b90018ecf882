#include "sqlite_ext/vtab.h"

#include "core/check.h"
#include "sqlite_ext/build.h"
#include "sqlite_ext/row.h"

/* A virtual table: an index, or a fold over one. */
struct table {
	sqlite3_vtab base;
	struct iforest_definition definition;   /* of a fold: with the by columns kept */
	struct iforest_index index;
	unsigned kept[IFOREST_MAX_BY];          /* number in the index of each by column */
	char *name;                             /* of this table */
	char *broken;                           /* a fold whose index is gone or damaged: why; NULL if all is well */
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct iforest_query query;
	sqlite3_value *arguments[IFOREST_N_ARGUMENTS];
	sqlite3_int64 rowid;
};

static bool begins_with(const char *text, const char *start)
{
	return start && strncmp(text, start, strlen(start)) == 0;
}

/* Hands an error to SQLite, which frees the message. One of SQLite's own, which knows nothing of the index, gets its name. */
static int report(sqlite3_vtab *base, struct iforest_error *error)
{
	const struct table *table = (const struct table *)base;
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

/* ---- making and opening ---- */

static void release_table(struct table *table)
{
	if (!table)
		return;
	iforest_index_release(&table->index);
	iforest_definition_release(&table->definition);
	sqlite3_free(table->name);
	sqlite3_free(table->broken);
	sqlite3_free(table->base.zErrMsg); /* SQLite takes it over, but not after a DROP that failed */
	sqlite3_free(table);
}

static int declare(struct table *table, sqlite3 *db, const char *command, struct iforest_error *error)
{
	char *sql = iforest_definition_declare(&table->definition, command, error);
	int rc = sql ? sqlite3_declare_vtab(db, sql) : error->rc;

	if (rc)
		iforest_error_from_db(error, db, rc);
	else
		sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	sqlite3_free(sql);
	return rc;
}

static struct table *new_table(const char *name, struct iforest_error *error)
{
	struct table *table = sqlite3_malloc64(sizeof *table);

	if (table) {
		*table = (struct table){ .name = sqlite3_mprintf("%s", name) };
		for (unsigned b = 0; b < IFOREST_MAX_BY; b++)
			table->kept[b] = b;
	}
	if (!table || !table->name)
		iforest_error_set(error, SQLITE_NOMEM, "");
	return table;
}

static int finish_table(struct table *table, sqlite3_vtab **base, char **message, struct iforest_error *error)
{
	if (error->rc) {
		*message = error->message;
		release_table(table);
	} else {
		*base = &table->base;
	}
	return error->rc;
}

/* arguments: module, schema and table name, then what stands in the parentheses. */
static int index_create(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			char **message)
{
	struct iforest_error error = { .rc = SQLITE_OK };
	struct iforest_source source = { .name = NULL };
	struct table *table = new_table(arguments[2], &error);
	int rc = error.rc;

	(void)context;
	if (!rc)
		rc = iforest_definition_parse(&table->definition, n_arguments - 3, arguments + 3, &error);
	if (!rc)
		rc = iforest_source_inspect(&source, db, arguments[1], &table->definition, &error);
	if (!rc)
		rc = iforest_source_make_room(db, arguments[1], arguments[2], &error);
	if (!rc)
		rc = declare(table, db, arguments[2], &error);
	if (!rc)
		rc = iforest_index_init(&table->index, db, arguments[1], arguments[2], table->definition.n_by, &error);
	if (!rc)
		rc = iforest_index_name_columns(&table->index, &table->definition, &error);
	if (!rc)
		rc = iforest_index_make_tables(&table->index, &table->definition, false, &error);
	if (!rc)
		iforest_build(&table->index, &table->definition, &source, &error);
	iforest_source_release(&source);
	return finish_table(table, base, message, &error);
}

/* Succeeds also where the index's tables are damaged: it must be possible to drop or rebuild it. */
static int index_connect(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			 char **message)
{
	struct iforest_error error = { .rc = SQLITE_OK };
	struct table *table = new_table(arguments[2], &error);
	int rc = error.rc;

	(void)context;
	if (!rc)
		rc = iforest_definition_parse(&table->definition, n_arguments - 3, arguments + 3, &error);
	if (!rc)
		rc = iforest_index_init(&table->index, db, arguments[1], arguments[2], table->definition.n_by, &error);
	if (!rc)
		rc = iforest_index_name_columns(&table->index, &table->definition, &error);
	if (!rc)
		iforest_index_read_by_types(&table->index, &table->definition);
	if (!rc)
		declare(table, db, arguments[2], &error);
	return finish_table(table, base, message, &error);
}

static bool is_index(sqlite3 *db, const char *schema, const char *name, struct iforest_error *error)
{
	sqlite3_stmt *statement;
	bool found = false;
	int rc;

	if (iforest_prepare(error, db, &statement,
			    "SELECT 1 FROM \"%w\".sqlite_schema WHERE name = %Q COLLATE NOCASE AND sql LIKE 'CREATE VIRTUAL TABLE%%'",
			    schema, name))
		return false;
	found = sqlite3_step(statement) == SQLITE_ROW;
	rc = sqlite3_finalize(statement);
	if (rc)
		iforest_error_from_db(error, db, rc);
	return found;
}

static int open_fold(struct table *table, sqlite3 *db, int n_arguments, const char *const *arguments,
		     struct iforest_error *error)
{
	char *name = NULL;
	int rc;

	if (n_arguments < 4)
		return iforest_error_set(error, SQLITE_ERROR, "iforest_fold: name an index: iforest_fold(index, by columns kept)");
	rc = iforest_definition_parse_name(arguments[3], &name, error);
	if (!rc && !is_index(db, arguments[1], name, error)) /* which may have set an error of its own: the first one stands */
		rc = iforest_error_set(error, SQLITE_ERROR, "iforest_fold: no index \"%s\" in schema \"%s\"", name, arguments[1]);
	if (!rc)
		rc = iforest_index_init(&table->index, db, arguments[1], name, 0, error);
	if (!rc)
		rc = iforest_index_read_definition(&table->index, &table->definition, error);
	if (rc == SQLITE_ERROR && error->message && strncmp(error->message, "iforest", 7) != 0) {
		char *why = error->message;

		*error = (struct iforest_error){ .rc = SQLITE_OK };
		iforest_error_set(error, rc, "iforest_fold: \"%s\" is no index of iforest: %s", name, why);
		sqlite3_free(why);
	}
	table->index.n_by = table->definition.n_by;
	if (!rc)
		rc = iforest_index_name_columns(&table->index, &table->definition, error);
	if (!rc)
		rc = iforest_definition_keep_by(&table->definition, n_arguments - 4, arguments + 4, table->kept, error);
	sqlite3_free(name);
	return rc ? rc : declare(table, db, NULL, error);
}

static int fold_create(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
		       char **message)
{
	struct iforest_error error = { .rc = SQLITE_OK };
	struct table *table = new_table(arguments[2], &error);

	(void)context;
	if (!error.rc)
		open_fold(table, db, n_arguments, arguments, &error);
	return finish_table(table, base, message, &error);
}

/* Will it be the same at the next try? Not so where memory, the disk or a lock is the trouble. */
static bool is_lasting(int rc)
{
	return (rc & 0xff) == SQLITE_ERROR || (rc & 0xff) == SQLITE_CORRUPT;
}

/* Succeeds also where the index is gone, so that the fold can be dropped; to read it is an error then. */
static int fold_connect(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			char **message)
{
	struct iforest_error error = { .rc = SQLITE_OK };
	struct table *table = new_table(arguments[2], &error);

	(void)context;
	if (!error.rc && open_fold(table, db, n_arguments, arguments, &error) && is_lasting(error.rc)) {
		table->broken = error.message;
		error = (struct iforest_error){ .rc = SQLITE_OK };
		if (sqlite3_declare_vtab(db, "CREATE TABLE x(broken)"))
			iforest_error_from_db(&error, db, SQLITE_ERROR);
	}
	return finish_table(table, base, message, &error);
}

static int table_disconnect(sqlite3_vtab *base)
{
	release_table((struct table *)base);
	return SQLITE_OK;
}

static int index_destroy(sqlite3_vtab *base)
{
	struct table *table = (struct table *)base;
	struct iforest_index *index = &table->index;
	struct iforest_error error = { .rc = SQLITE_OK };
	int rc = iforest_source_unwatch(index->db, index->schema, index->name, &error);

	if (!rc)
		rc = iforest_index_drop_tables(index, &error);
	if (rc)
		return report(base, &error);
	release_table(table);
	return SQLITE_OK;
}

static int index_rename(sqlite3_vtab *base, const char *new_name)
{
	struct table *table = (struct table *)base;
	struct iforest_index *index = &table->index;
	struct iforest_error error = { .rc = SQLITE_OK };
	char *source = NULL, *name = sqlite3_mprintf("%s", new_name);
	int rc = name ? SQLITE_OK : iforest_error_set(&error, SQLITE_NOMEM, "");

	if (!rc)
		rc = iforest_source_find(index->db, index->schema, index->name, index->columns, &source, &error);
	if (!rc)
		rc = iforest_source_unwatch(index->db, index->schema, index->name, &error);
	if (!rc)
		rc = iforest_index_rename_tables(index, new_name, &error);
	if (!rc && source)
		rc = iforest_source_watch(index->db, index->schema, new_name, source, index->columns, &error);
	if (!rc) {
		sqlite3_free(table->name);
		table->name = name;
		name = NULL;
	}
	sqlite3_free(source);
	sqlite3_free(name);
	return report(base, &error);
}

static int index_shadow_name(const char *suffix)
{
	return sqlite3_stricmp(suffix, "page") == 0 || sqlite3_stricmp(suffix, "series") == 0 ||
	       sqlite3_stricmp(suffix, "config") == 0;
}

/* ---- reading ---- */

static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct table *table = (struct table *)base;
	struct iforest_error error = { .rc = SQLITE_OK };
	int rc;

	if (table->broken) {
		iforest_error_set(&error, SQLITE_ERROR, "%s: %s", table->name, table->broken);
		return report(base, &error);
	}
	rc = iforest_plan_make(&table->definition, table->name, info, &error);
	return rc == SQLITE_CONSTRAINT ? rc : report(base, &error);
}

static int table_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct cursor *cursor = sqlite3_malloc64(sizeof *cursor);

	(void)base;
	if (!cursor)
		return SQLITE_NOMEM;
	memset(cursor, 0, sizeof *cursor);
	*out = &cursor->base;
	return SQLITE_OK;
}

static void reset_cursor(struct cursor *cursor)
{
	iforest_query_release(&cursor->query);
	for (unsigned a = 0; a < IFOREST_N_ARGUMENTS; a++) {
		sqlite3_value_free(cursor->arguments[a]);
		cursor->arguments[a] = NULL;
	}
	cursor->query.at_end = true;
}

static int table_close(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	reset_cursor(cursor);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static int table_next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	struct iforest_error error = { .rc = SQLITE_OK };

	cursor->rowid++;
	iforest_query_next(&cursor->query, &error);
	return report(base->pVtab, &error);
}

static int table_filter(sqlite3_vtab_cursor *base, int index_number, const char *index_text, int n_argv, sqlite3_value **argv)
{
	struct cursor *cursor = (struct cursor *)base;
	struct table *table = (struct table *)base->pVtab;
	struct iforest_error error = { .rc = SQLITE_OK };
	struct iforest_plan plan;
	int at = 0;

	reset_cursor(cursor);
	cursor->rowid = 0;
	iforest_plan_read(&plan, index_number, index_text);
	for (unsigned a = 0; a < IFOREST_N_ARGUMENTS && at < n_argv; a++) {
		if (!(plan.arguments >> a & 1))
			continue;
		cursor->arguments[a] = sqlite3_value_dup(argv[at++]);
		if (!cursor->arguments[a])
			return SQLITE_NOMEM;
	}
	if (!iforest_query_start(&cursor->query, &table->index, &plan, table->definition.n_by, table->kept, argv, &error))
		iforest_query_next(&cursor->query, &error);
	if (error.rc)
		cursor->query.at_end = true;
	return report(base->pVtab, &error);
}

static int table_eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->query.at_end;
}

static int table_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct cursor *cursor = (struct cursor *)base;
	const struct table *table = (const struct table *)base->pVtab;
	int argument = column - iforest_first_argument(&table->definition);

	if (argument < 0)
		return iforest_row_column(context, &cursor->query, &table->definition, column);
	if (argument < IFOREST_N_ARGUMENTS && cursor->arguments[argument])
		sqlite3_result_value(context, cursor->arguments[argument]);
	return SQLITE_OK;
}

static int table_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
	*rowid = ((struct cursor *)base)->rowid;
	return SQLITE_OK;
}

/* ---- commands ---- */

static int rebuild(struct table *table, struct iforest_error *error)
{
	struct iforest_index *index = &table->index;
	struct iforest_source source;
	char *found = NULL;
	int rc = iforest_source_find(index->db, index->schema, index->name, index->columns, &found, error);

	if (!rc && found) {
		/* the table may have been renamed since */
		sqlite3_free(table->definition.content);
		table->definition.content = found;
	}
	if (!rc)
		rc = iforest_source_inspect(&source, index->db, index->schema, &table->definition, error);
	if (rc)
		return rc;
	rc = iforest_index_make_tables(index, &table->definition, true, error);
	if (!rc)
		rc = iforest_build(index, &table->definition, &source, error);
	iforest_source_release(&source);
	iforest_index_forget(index);
	return rc;
}

static int integrity_check(struct table *table, struct iforest_error *error)
{
	struct iforest_index *index = &table->index;
	struct iforest_snapshot *snapshot = NULL;
	struct iforest_check_result result;
	int rc;

	iforest_index_forget(index);
	rc = iforest_index_open_unguarded(index, &snapshot, error);
	if (!rc)
		rc = iforest_index_error(index, snapshot, iforest_check(&index->store, &snapshot->manifest, &result), error);
	iforest_snapshot_release(snapshot);
	return rc;
}

/* argv: the rowid to delete; for an INSERT then the new rowid and every column, the command last. */
static int index_update(sqlite3_vtab *base, int n_argv, sqlite3_value **argv, sqlite3_int64 *rowid)
{
	struct table *table = (struct table *)base;
	struct iforest_error error = { .rc = SQLITE_OK };
	bool is_insert = n_argv > 1 && sqlite3_value_type(argv[0]) == SQLITE_NULL;
	const char *command = is_insert ? (const char *)sqlite3_value_text(argv[n_argv - 1]) : NULL;

	if (!command)
		iforest_error_set(&error, SQLITE_CONSTRAINT_VTAB, "%s may not be modified; write to \"%s\"", table->name,
				  table->definition.content);
	else if (sqlite3_stricmp(command, "rebuild") == 0)
		rebuild(table, &error);
	else if (sqlite3_stricmp(command, "integrity-check") == 0)
		integrity_check(table, &error);
	else
		iforest_error_set(&error, SQLITE_ERROR, "%s: unknown command \"%s\"; there are rebuild and integrity-check",
				  table->name, command);
	*rowid = 0;
	return report(base, &error);
}

const sqlite3_module iforest_index_module = {
	.iVersion = 3,
	.xCreate = index_create,
	.xConnect = index_connect,
	.xBestIndex = table_best_index,
	.xDisconnect = table_disconnect,
	.xDestroy = index_destroy,
	.xOpen = table_open,
	.xClose = table_close,
	.xFilter = table_filter,
	.xNext = table_next,
	.xEof = table_eof,
	.xColumn = table_column,
	.xRowid = table_rowid,
	.xUpdate = index_update,
	.xRename = index_rename,
	.xShadowName = index_shadow_name,
};

const sqlite3_module iforest_fold_module = {
	.iVersion = 3,
	.xCreate = fold_create,
	.xConnect = fold_connect,
	.xBestIndex = table_best_index,
	.xDisconnect = table_disconnect,
	.xDestroy = table_disconnect,
	.xOpen = table_open,
	.xClose = table_close,
	.xFilter = table_filter,
	.xNext = table_next,
	.xEof = table_eof,
	.xColumn = table_column,
	.xRowid = table_rowid,
};
