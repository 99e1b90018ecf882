#include "sqlite_ext/vtab/index.h"

#include "sqlite_ext/follow/snapshot.h"
#include "sqlite_ext/follow/triggers.h"
#include "sqlite_ext/maintain/build.h"
#include "sqlite_ext/maintain/compact.h"
#include "sqlite_ext/maintain/export.h"
#include "sqlite_ext/maintain/verify.h"
#include "sqlite_ext/query/plan.h"
#include "sqlite_ext/storage/engine.h"
#include "sqlite_ext/storage/sidecar.h"
#include "sqlite_ext/vtab/buckets.h"
#include "sqlite_ext/vtab/common.h"

/* INSERT INTO spans_if(spans_if) VALUES('...'). */

/* Runs a command on the index: flush, merge, optimize, rebuild, integrity-check, automerge, export. arguments are what stands
 * beside it in the columns of the arguments (enum iforest_argument): n goes with merge and automerge, step with export.
 * Refused inside a trigger and within another statement that writes: a row that is half changed would be taken for whole. */
static int command_run(struct iforest_table *table, const char *command, sqlite3_value **arguments,
			struct iforest_error *error);

/* The table as it is today. SQLite compares by columns as they were declared when the table was connected, of which no command
 * can tell it anew. */
static int inspect(struct iforest_table *table, struct iforest_source *source, struct iforest_error *error)
{
	struct iforest_definition *definition = &table->definition;
	const char *declared[IFOREST_MAX_BY];
	int rc;

	memcpy(declared, definition->by_types, sizeof declared);
	rc = iforest_source_inspect(source, table->index.db, table->index.schema, definition, error);
	for (unsigned b = 0; b < definition->n_by && !rc; b++)
		if (declared[b] && strcmp(declared[b], definition->by_types[b]) != 0)
			rc = iforest_error_set(error, SQLITE_ERROR,
					       "%s: by column \"%s\" has affinity %s now, and had %s when the index was made; "
					       "run DROP TABLE \"%w\", and create it again",
					       table->name, definition->by[b].name, definition->by_types[b], declared[b],
					       table->name);
	if (rc)
		memcpy(definition->by_types, declared, sizeof declared);
	return rc;
}

static int rebuild(struct iforest_table *table, int64_t number, struct iforest_error *error)
{
	struct iforest_index *index = &table->index;
	struct iforest_source source = { .name = NULL };
	char *renamed = NULL;
	int rc = SQLITE_OK;

	(void)number;
	if (index->definition.sync == IFOREST_SYNC_LOG)
		rc = iforest_watch_table(index->db, index->schema, index->name, &renamed, error);
	if (!rc && renamed) {
		sqlite3_free(table->definition.content);
		table->definition.content = renamed;
	}
	if (!rc)
		rc = inspect(table, &source, error);
	if (!rc)
		rc = iforest_index_make_tables(index, &table->definition, true, error);
	if (!rc)
		rc = iforest_build(index, &table->definition, &source, error);
	if (!rc)
		rc = iforest_export_note_all(index, error);
	iforest_source_release(&source);
	iforest_index_forget(index);
	return rc ? rc : iforest_index_find_source(index, error);
}

static int flush(struct iforest_table *table, int64_t number, struct iforest_error *error)
{
	(void)number;
	return iforest_flush(&table->index, error);
}

static int merge(struct iforest_table *table, int64_t most_pages, struct iforest_error *error)
{
	if (most_pages <= 0)
		return iforest_error_set(error, SQLITE_ERROR, "%s: n must be greater than 0", table->name);
	return iforest_merge(&table->index, (uint64_t)most_pages, error);
}

static int automerge(struct iforest_table *table, int64_t fan_in, struct iforest_error *error)
{
	if (fan_in < IFOREST_LEAST_AUTOMERGE || fan_in > IFOREST_MOST_AUTOMERGE)
		return iforest_error_set(error, SQLITE_ERROR, "%s: automerge takes n from %d to %d", table->name,
					 IFOREST_LEAST_AUTOMERGE, IFOREST_MOST_AUTOMERGE);
	return iforest_index_set_automerge(&table->index, (uint32_t)fan_in, error);
}

static int optimize(struct iforest_table *table, int64_t number, struct iforest_error *error)
{
	(void)number;
	return iforest_optimize(&table->index, error);
}

static int integrity_check(struct iforest_table *table, int64_t number, struct iforest_error *error)
{
	(void)number;
	return iforest_verify(&table->index, true, error);
}

/* usual: n where none is given. */
static const struct command {
	const char *name;
	int (*run)(struct iforest_table *table, int64_t number, struct iforest_error *error);
	bool takes_number, writes_runs;
	int64_t usual;
} commands[] = {
	{ "flush", flush, false, true, 0 }, { "merge", merge, true, true, INT64_MAX }, { "optimize", optimize, false, true, 0 },
	{ "rebuild", rebuild, false, true, 0 }, { "integrity-check", integrity_check, false, false, 0 },
	{ "automerge", automerge, true, false, 0 },
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

/* Is the text INSERT INTO this index? */
static bool is_command(const struct iforest_table *table, const char *sql)
{
	const char *token, *dot, *after;
	int n, n_dot;

	while ((token = iforest_token_next(&sql, &n)) && !iforest_token_is(token, n, "into")) {}
	token = iforest_token_next(&sql, &n);
	after = sql;
	if (token && (dot = iforest_token_next(&after, &n_dot)) && iforest_token_is(dot, n_dot, "."))
		token = iforest_token_next(&after, &n);
	return token && iforest_token_names(token, n, table->name);
}

/* The statement at work must be the command itself: in a trigger it would be the one that fired it. */
static int check_alone(const struct iforest_table *table, struct iforest_error *error)
{
	sqlite3_stmt *writer = NULL;

	while ((writer = iforest_next_writer(table->index.db, writer))) {
		const char *sql = sqlite3_sql(writer);

		if (!is_command(table, sql ? sql : ""))
			return iforest_error_set(
				error, SQLITE_ERROR,
				"%s: a command cannot be run by a trigger, or while another statement writes; run it by itself",
				table->name);
	}
	return SQLITE_OK;
}

static int run_command(struct iforest_table *table, const struct command *command, sqlite3_value *number,
		       struct iforest_error *error)
{
	bool is_given = sqlite3_value_type(number) != SQLITE_NULL;
	int64_t n = command->usual;
	int rc;

	if (is_given && !command->takes_number)
		return iforest_error_set(error, SQLITE_ERROR, "%s: command \"%s\" takes no n", table->name, command->name);
	if (is_given && iforest_argument_integer(table->name, "n", number, &n, error))
		return error->rc;
	rc = command->run(table, n, error);
	return rc || !command->writes_runs ? rc : iforest_shelves_keep(&table->index, error);
}

static int command_run(struct iforest_table *table, const char *command, sqlite3_value **arguments,
			struct iforest_error *error)
{
	sqlite3_value *number = arguments[IFOREST_ARGUMENT_N], *step = arguments[IFOREST_ARGUMENT_STEP];
	bool is_export = sqlite3_stricmp(command, "export") == 0;
	int rc = check_alone(table, error);

	if (rc)
		return rc;
	table->index.connection->n_changes++;
	if (is_export && sqlite3_value_type(number) != SQLITE_NULL)
		return iforest_error_set(error, SQLITE_ERROR, "%s: command \"export\" takes no n", table->name);
	if (is_export) {
		rc = iforest_flush(&table->index, error);
		return rc ? rc : iforest_export(&table->index, &table->definition, step, error);
	}
	if (sqlite3_value_type(step) != SQLITE_NULL)
		return iforest_error_set(error, SQLITE_ERROR, "%s: step goes with the command export alone", table->name);
	for (int c = 0; c < N_COMMANDS; c++)
		if (sqlite3_stricmp(command, commands[c].name) == 0)
			return run_command(table, &commands[c], number, error);
	return iforest_error_set(
		error, SQLITE_ERROR,
		"%s: unknown command \"%s\"; there are flush, merge, optimize, rebuild, integrity-check, automerge and export",
		table->name, command);
}

/* ---- Methods ---- */

/* What making and opening an index begin with: its arguments read, its handle ready, none of its tables looked at. */
static int start_index(struct iforest_table *table, sqlite3 *db, void *context, int n_arguments, struct iforest_error *error)
{
	const struct iforest_registration *registration = context;
	int rc = iforest_definition_parse(&table->definition, n_arguments - 3, table->arguments + 3, error);

	if (!rc)
		rc = iforest_index_init(&table->index, db, registration->connection, table->arguments[1], table->arguments[2],
					error);
	return rc ? rc : iforest_index_describe(&table->index, &table->definition, error);
}

/* arguments: module, schema and table name, then what stands in the parentheses. */
static int index_create(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			char **message)
{
	struct iforest_error error = { .rc = SQLITE_OK };
	struct iforest_source source = { .name = NULL };
	struct iforest_table *table = iforest_table_new(n_arguments, arguments, &error);
	int rc = error.rc;

	if (!rc)
		rc = start_index(table, db, context, n_arguments, &error);
	if (!rc)
		rc = iforest_source_inspect(&source, db, table->index.schema, &table->definition, &error);
	if (!rc && table->definition.sync == IFOREST_SYNC_LOG)
		rc = iforest_watch_make_room(db, table->index.schema, table->index.name, &error);
	if (!rc)
		rc = iforest_table_declare(table, db, table->index.name, &error);
	if (!rc)
		rc = iforest_index_make_tables(&table->index, &table->definition, false, &error);
	if (!rc)
		rc = iforest_build(&table->index, &table->definition, &source, &error);
	if (!rc)
		iforest_shelves_keep(&table->index, &error);
	iforest_source_release(&source);
	return iforest_table_finish(table, base, message, &error);
}

/* Succeeds also where the index's tables are damaged: it must be possible to drop or rebuild it. */
static int index_connect(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			 char **message)
{
	struct iforest_error error = { .rc = SQLITE_OK };
	struct iforest_table *table = iforest_table_new(n_arguments, arguments, &error);

	if (!error.rc && !start_index(table, db, context, n_arguments, &error) &&
	    !iforest_index_read_by_types(&table->index, &table->definition, &error))
		iforest_table_declare(table, db, table->index.name, &error);
	return iforest_table_finish(table, base, message, &error);
}

static int index_destroy(sqlite3_vtab *base)
{
	struct iforest_table *table = (struct iforest_table *)base;
	struct iforest_index *index = &table->index;
	struct iforest_error error = { .rc = SQLITE_OK };
	int rc = SQLITE_OK;

	if (index->definition.sync == IFOREST_SYNC_LOG)
		rc = iforest_watch_stop(index->db, index->schema, index->name, &error);
	if (!rc)
		rc = iforest_export_drop(index, &error);
	if (!rc) {
		iforest_index_forget(index);
		rc = iforest_index_drop_tables(index, &error);
	}
	if (rc)
		return iforest_table_report(base, &error);
	iforest_table_release(table);
	return SQLITE_OK;
}

/* The command column bears the index's name: no other column may. */
static int check_new_name(struct iforest_table *table, const char *new_name, struct iforest_error *error)
{
	sqlite3_free(iforest_definition_declare(&table->definition, new_name, error));
	return error->rc;
}

static int index_rename(sqlite3_vtab *base, const char *new_name)
{
	struct iforest_table *table = (struct iforest_table *)base;
	struct iforest_index *index = &table->index;
	struct iforest_error error = { .rc = SQLITE_OK };
	struct iforest_source source = { .name = NULL };
	char *name = sqlite3_mprintf("%s", new_name);
	bool is_log = index->definition.sync == IFOREST_SYNC_LOG;
	int rc = name ? SQLITE_OK : iforest_error_set(&error, SQLITE_NOMEM, "");

	if (!rc)
		rc = check_new_name(table, new_name, &error);
	if (!rc && is_log)
		rc = iforest_watch_make_room(index->db, index->schema, new_name, &error);
	if (!rc && is_log)
		rc = iforest_watch_find(index->db, index->schema, index->name, &index->definition, &source, &error);
	if (!rc && is_log)
		rc = iforest_watch_stop(index->db, index->schema, index->name, &error);
	if (!rc)
		rc = iforest_export_rename(index, &table->definition, new_name, &error);
	if (!rc) {
		iforest_index_forget(index);
		rc = iforest_index_rename_tables(index, new_name, &error);
	}
	if (!rc && source.name)
		rc = iforest_watch_start(index->db, index->schema, new_name, &source, &index->definition, &error);
	if (!rc) {
		sqlite3_free(table->name);
		table->name = name;
		name = NULL;
	}
	index->connection->n_changes++;
	iforest_source_release(&source);
	sqlite3_free(name);
	return iforest_table_report(base, &error);
}

static int index_shadow_name(const char *suffix)
{
	return sqlite3_stricmp(suffix, "page") == 0 || sqlite3_stricmp(suffix, "series") == 0 ||
	       sqlite3_stricmp(suffix, "config") == 0 || sqlite3_stricmp(suffix, "sketch") == 0 ||
	       sqlite3_stricmp(suffix, "piece") == 0;
}

/* argv: the rowid to delete; for an INSERT then the new rowid and every column: arguments, command, the others. */
static int index_update(sqlite3_vtab *base, int n_argv, sqlite3_value **argv, sqlite3_int64 *rowid)
{
	struct iforest_table *table = (struct iforest_table *)base;
	struct iforest_error error = { .rc = SQLITE_OK };
	bool is_insert = n_argv > 1 && sqlite3_value_type(argv[0]) == SQLITE_NULL;
	const char *command = is_insert ? (const char *)sqlite3_value_text(argv[2 + IFOREST_N_ARGUMENTS]) : NULL;
	sqlite3_int64 last_inserted = sqlite3_last_insert_rowid(table->index.db);

	if (!command)
		iforest_error_set(&error, SQLITE_CONSTRAINT_VTAB, "%s may not be modified; write to \"%s\"", table->name,
				  table->definition.content);
	else
		command_run(table, command, argv + 2, &error);
	/* a command inserts no row of the user's: what it wrote into our tables does not count, be it done or not */
	sqlite3_set_last_insert_rowid(table->index.db, last_inserted);
	*rowid = last_inserted;
	return iforest_table_report(base, &error);
}

/* ---- transactions: what is rolled back may have been read ---- */

static int index_begin(sqlite3_vtab *base)
{
	iforest_transaction_begin(&((struct iforest_table *)base)->index);
	return SQLITE_OK;
}

static int index_commit(sqlite3_vtab *base)
{
	iforest_transaction_commit(&((struct iforest_table *)base)->index);
	return SQLITE_OK;
}

static int index_rollback(sqlite3_vtab *base)
{
	iforest_transaction_roll_back(&((struct iforest_table *)base)->index);
	return SQLITE_OK;
}

static int index_savepoint(sqlite3_vtab *base, int savepoint)
{
	iforest_transaction_save(&((struct iforest_table *)base)->index, savepoint);
	return SQLITE_OK;
}

static int index_release(sqlite3_vtab *base, int savepoint)
{
	iforest_transaction_release(&((struct iforest_table *)base)->index, savepoint);
	return SQLITE_OK;
}

static int index_rollback_to(sqlite3_vtab *base, int savepoint)
{
	iforest_transaction_roll_back_to(&((struct iforest_table *)base)->index, savepoint);
	return SQLITE_OK;
}

/* ---- PRAGMA integrity_check, from SQLite 3.44 on ---- */

enum { QUICK_CHECK = 1 };

static int index_integrity(sqlite3_vtab *base, const char *schema, const char *name, int flags, char **message)
{
	struct iforest_table *table = (struct iforest_table *)base;
	struct iforest_error error = { .rc = SQLITE_OK };
	bool may_lag = table->definition.sync == IFOREST_SYNC_MANUAL;
	int rc = iforest_verify(&table->index, !(flags & QUICK_CHECK) && !may_lag, &error);

	(void)schema;
	(void)name;
	if ((rc & 0xff) != SQLITE_CORRUPT && rc != SQLITE_ERROR) {
		iforest_error_clear(&error);
		return rc;
	}
	*message = error.message;
	return SQLITE_OK;
}

/* Headers before 3.44 do not know the method, and libraries before do not look so far. */
#if SQLITE_VERSION_NUMBER >= 3044000
#define INTEGRITY .base.xIntegrity
#else
#define INTEGRITY .xIntegrity
#endif

static const struct {
	sqlite3_module base;
	int (*xIntegrity)(sqlite3_vtab *base, const char *schema, const char *name, int flags, char **message);
} module = {
	INTEGRITY = index_integrity,
	.base.iVersion = 4,
	.base.xCreate = index_create,
	.base.xConnect = index_connect,
	.base.xBestIndex = iforest_table_best_index,
	.base.xDisconnect = iforest_table_disconnect,
	.base.xDestroy = index_destroy,
	.base.xOpen = iforest_table_open,
	.base.xClose = iforest_table_close,
	.base.xFilter = iforest_table_filter,
	.base.xNext = iforest_table_next,
	.base.xEof = iforest_table_eof,
	.base.xColumn = iforest_table_column,
	.base.xRowid = iforest_table_rowid,
	.base.xUpdate = index_update,
	.base.xBegin = index_begin,
	.base.xCommit = index_commit,
	.base.xRollback = index_rollback,
	.base.xRename = index_rename,
	.base.xSavepoint = index_savepoint,
	.base.xRelease = index_release,
	.base.xRollbackTo = index_rollback_to,
	.base.xShadowName = index_shadow_name,
};

const struct iforest_module iforest_index_module = { .name = "iforest", .methods = &module.base };
