#include "sqlite_ext/vtab/index.h"

#include "sqlite_ext/follow/condition.h"
#include "sqlite_ext/follow/mark.h"
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

/* ---- Commands: INSERT INTO spans_if(spans_if) VALUES('...') ---- */

/* Inspects a base table of which an index is to be built, and judges the index's condition. */
static int inspect_for_build(struct ifs_table *table, struct ifs_base_table *base_table, struct ifs_error *error)
{
	struct ifs_definition *definition = &table->definition;
	sqlite3 *db = table->index.db;
	int rc = ifs_base_table_inspect(base_table, db, table->index.schema, definition, error);

	if (!rc)
		rc = ifs_condition_judge(db, table->index.schema, base_table->name, definition, error);
	return rc ? rc : ifs_condition_check_like(db, definition, error);
}

/* Inspects the base table as it is now. SQLite compares by columns as they were declared when the table was connected,
 * which no command can change. */
static int inspect(struct ifs_table *table, struct ifs_base_table *base_table, struct ifs_error *error)
{
	struct ifs_definition *definition = &table->definition;
	const char *declared[IFS_MAX_BY];
	int rc;

	memcpy(declared, definition->by_types, sizeof declared);
	rc = inspect_for_build(table, base_table, error);
	for (unsigned b = 0; b < definition->n_by && !rc; b++)
		if (declared[b] && strcmp(declared[b], definition->by_types[b]) != 0)
			rc = ifs_error_set(error, SQLITE_ERROR,
					   "%s: by column \"%s\" has affinity %s now, and had %s when the index was made; "
					   "run DROP TABLE \"%w\", and create it again",
					   table->name, definition->by[b].name, definition->by_types[b], declared[b],
					   table->name);
	if (rc)
		memcpy(definition->by_types, declared, sizeof declared);
	return rc;
}

static int rebuild(struct ifs_table *table, int64_t number, struct ifs_error *error)
{
	struct ifs_index *index = &table->index;
	struct ifs_base_table base_table = { .name = NULL };
	char *renamed = NULL;
	int rc = SQLITE_OK;

	(void)number;
	if (index->definition.sync == IFS_SYNC_LOG)
		rc = ifs_triggers_table(index->db, index->schema, index->name, &renamed, error);
	if (!rc && renamed) {
		sqlite3_free(table->definition.content);
		table->definition.content = renamed;
	}
	if (!rc)
		rc = inspect(table, &base_table, error);
	if (!rc)
		rc = ifs_index_make_tables(index, &table->definition, true, error);
	if (!rc)
		rc = ifs_build(index, &table->definition, &base_table, false, error);
	if (!rc)
		rc = ifs_export_note_all(index, error);
	ifs_base_table_release(&base_table);
	ifs_index_forget(index);
	return rc ? rc : ifs_index_find_base_table(index, error);
}

static int flush(struct ifs_table *table, int64_t number, struct ifs_error *error)
{
	(void)number;
	return ifs_flush(&table->index, error);
}

static int merge(struct ifs_table *table, int64_t most_pages, struct ifs_error *error)
{
	if (most_pages <= 0)
		return ifs_error_set(error, SQLITE_ERROR, "%s: n must be greater than 0", table->name);
	return ifs_merge(&table->index, (uint64_t)most_pages, error);
}

static int automerge(struct ifs_table *table, int64_t fan_in, struct ifs_error *error)
{
	if (fan_in < IFS_LEAST_AUTOMERGE || fan_in > IFS_MOST_AUTOMERGE)
		return ifs_error_set(error, SQLITE_ERROR, "%s: automerge takes n from %d to %d", table->name,
				     IFS_LEAST_AUTOMERGE, IFS_MOST_AUTOMERGE);
	return ifs_index_set_automerge(&table->index, (uint32_t)fan_in, error);
}

static int optimize(struct ifs_table *table, int64_t number, struct ifs_error *error)
{
	(void)number;
	return ifs_optimize(&table->index, error);
}

static int integrity_check(struct ifs_table *table, int64_t number, struct ifs_error *error)
{
	(void)number;
	return ifs_verify(&table->index, true, error);
}

/* usual: the number that a command gets if none is given. */
static const struct command {
	const char *name;
	int (*run)(struct ifs_table *table, int64_t number, struct ifs_error *error);
	bool takes_number, writes_runs;
	int64_t usual;
} commands[] = {
	{ "flush", flush, false, true, 0 },
	{ "merge", merge, true, true, INT64_MAX },
	{ "optimize", optimize, false, true, 0 },
	{ "rebuild", rebuild, false, true, 0 },
	{ "integrity-check", integrity_check, false, false, 0 },
	{ "automerge", automerge, true, false, 0 },
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

/* True if the SQL is an INSERT INTO this index. */
static bool is_command(const struct ifs_table *table, const char *sql)
{
	const char *token, *dot, *after;
	int n, n_dot;

	while ((token = ifs_token_next(&sql, &n)) && !ifs_token_is(token, n, "into")) {}
	token = ifs_token_next(&sql, &n);
	after = sql;
	if (token && (dot = ifs_token_next(&after, &n_dot)) && ifs_token_is(dot, n_dot, "."))
		token = ifs_token_next(&after, &n);
	return token && ifs_token_names(token, n, table->name);
}

/* Refuses a command while another statement writes. In a trigger the running statement is the one that fired it. */
static int check_alone(const struct ifs_table *table, struct ifs_error *error)
{
	sqlite3_stmt *writer = NULL;

	while ((writer = ifs_next_writer(table->index.db, writer))) {
		const char *sql = sqlite3_sql(writer);

		if (!is_command(table, sql ? sql : ""))
			return ifs_error_set(
				error, SQLITE_ERROR,
				"%s: a command cannot be run by a trigger, or while another statement writes; run it by itself",
				table->name);
	}
	return SQLITE_OK;
}

static int run_command(struct ifs_table *table, const struct command *command, sqlite3_value *number, struct ifs_error *error)
{
	bool is_given = sqlite3_value_type(number) != SQLITE_NULL;
	int64_t n = command->usual;
	int rc;

	if (is_given && !command->takes_number)
		return ifs_error_set(error, SQLITE_ERROR, "%s: command \"%s\" takes no n", table->name, command->name);
	if (is_given && ifs_value_to_integer(table->name, "n", number, &n, error))
		return error->rc;
	rc = command->run(table, n, error);
	return rc || !command->writes_runs ? rc : ifs_sidecars_update(&table->index, error);
}

/* Runs a command on the index: flush, merge, optimize, rebuild, integrity-check, automerge, export. arguments are the
 * values in the argument columns beside it (enum ifs_argument): n goes with merge and automerge, step with export. Refused
 * in a trigger and while another statement writes, because a half-changed row would be read as it is. */
static int dispatch_command(struct ifs_table *table, const char *command, sqlite3_value **arguments, struct ifs_error *error)
{
	sqlite3_value *number = arguments[IFS_ARGUMENT_N], *step = arguments[IFS_ARGUMENT_STEP];
	bool is_export = sqlite3_stricmp(command, "export") == 0;
	int rc = check_alone(table, error);

	if (rc)
		return rc;
	table->index.connection->n_changes++;
	if (is_export && sqlite3_value_type(number) != SQLITE_NULL)
		return ifs_error_set(error, SQLITE_ERROR, "%s: command \"export\" takes no n", table->name);
	if (is_export) {
		rc = ifs_flush(&table->index, error);
		return rc ? rc : ifs_export(&table->index, &table->definition, step, error);
	}
	if (sqlite3_value_type(step) != SQLITE_NULL)
		return ifs_error_set(error, SQLITE_ERROR, "%s: step goes with the command export alone", table->name);
	for (int c = 0; c < N_COMMANDS; c++)
		if (sqlite3_stricmp(command, commands[c].name) == 0)
			return run_command(table, &commands[c], number, error);
	return ifs_error_set(
		error, SQLITE_ERROR,
		"%s: unknown command \"%s\"; there are flush, merge, optimize, rebuild, integrity-check, automerge and export",
		table->name, command);
}

/* ---- Leftovers of an index ---- */

/* Appends DROP ... for each trigger and table of an index, in the order in which they may be dropped. */
#define LEFT_BEHIND                                                                                                 \
	"SELECT group_concat('DROP ' || upper(type) || ' \"' || replace(name, '\"', '\"\"') || '\"', '; '), "       \
	"total(lower(suffix) IN ('page', 'series', 'config')) = 3 FROM "                                            \
	"(SELECT type, name, substr(name, length(%Q) + 2) AS suffix FROM \"%w\".sqlite_schema "                     \
	"WHERE type IN ('trigger', 'table') AND substr(name, 1, length(%Q) + 1) = %Q || '_' COLLATE NOCASE "        \
	"ORDER BY type DESC, name) WHERE suffix COLLATE NOCASE IN ('before_insert', 'insert', 'update', 'delete', " \
	"'config', 'distinct', 'front', 'log', 'mark', 'page', 'piece', 'series', 'sketch')"

/* Refuses a name for a new index of which the tables are there, but not the index, as a restore leaves them that failed. */
static int check_leftovers(const struct ifs_index *index, struct ifs_error *error)
{
	const char *name = index->name;
	sqlite3_stmt *statement;
	int failed, rc = ifs_prepare(error, index->db, &statement, LEFT_BEHIND, name, index->schema, name, name);

	if (rc)
		return rc;
	if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 1))
		rc = ifs_error_set(
			error, SQLITE_ERROR,
			"iforest: tables and triggers of an index \"%s\" are there without it, as a restore leaves them "
			"that failed; drop them, and create the index again: %s",
			name, sqlite3_column_text(statement, 0));
	failed = sqlite3_finalize(statement);
	return !rc && failed ? ifs_error_from_db(error, index->db, failed) : rc;
}

/* ---- Methods ---- */

/* Parses the arguments and initializes the handle, without looking at the index's tables. */
static int start_index(struct ifs_table *table, sqlite3 *db, void *context, int n_arguments, struct ifs_error *error)
{
	const struct ifs_registration *registration = context;
	int rc = ifs_definition_parse(&table->definition, n_arguments - 3, table->arguments + 3, error);

	if (!rc)
		rc = ifs_index_init(&table->index, db, registration->connection, table->arguments[1], table->arguments[2],
				    error);
	return rc ? rc : ifs_index_describe(&table->index, &table->definition, error);
}

/* arguments: module, schema and table name, then those in the parentheses. */
static int index_create(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			char **message)
{
	struct ifs_error error = { .rc = SQLITE_OK };
	struct ifs_base_table base_table = { .name = NULL };
	struct ifs_table *table = ifs_table_new(&ifs_index_module, n_arguments, arguments, &error);
	int rc = error.rc;

	if (!rc)
		rc = start_index(table, db, context, n_arguments, &error);
	if (!rc)
		rc = inspect_for_build(table, &base_table, &error);
	if (!rc)
		rc = check_leftovers(&table->index, &error);
	if (!rc && table->definition.sync == IFS_SYNC_LOG)
		rc = ifs_triggers_check_names(db, table->index.schema, table->index.name, &error);
	if (!rc)
		rc = ifs_table_declare(table, db, table->index.name, &error);
	if (!rc)
		rc = ifs_index_make_tables(&table->index, &table->definition, false, &error);
	if (!rc)
		rc = ifs_build(&table->index, &table->definition, &base_table, true, &error);
	if (!rc)
		ifs_sidecars_update(&table->index, &error);
	ifs_base_table_release(&base_table);
	return ifs_table_finish(table, base, message, &error);
}

/* Succeeds even if what the index's tables hold is damaged: it must be possible to drop or rebuild it. */
static int index_connect(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			 char **message)
{
	struct ifs_error error = { .rc = SQLITE_OK };
	struct ifs_table *table = ifs_table_new(&ifs_index_module, n_arguments, arguments, &error);

	if (!error.rc && !start_index(table, db, context, n_arguments, &error) &&
	    !ifs_index_check_tables(&table->index, true, &error) &&
	    !ifs_index_read_types(&table->index, &table->definition, &error))
		ifs_table_declare(table, db, table->index.name, &error);
	return ifs_table_finish(table, base, message, &error);
}

static int index_destroy(sqlite3_vtab *base)
{
	struct ifs_table *table = (struct ifs_table *)base;
	struct ifs_index *index = &table->index;
	struct ifs_error error = { .rc = SQLITE_OK };
	int rc = SQLITE_OK;

	if (index->definition.sync == IFS_SYNC_LOG)
		rc = ifs_triggers_drop(index->db, index->schema, index->name, &error);
	if (!rc)
		rc = ifs_export_drop(index, &error);
	if (!rc) {
		ifs_index_forget(index);
		rc = ifs_index_drop_tables(index, &error);
	}
	if (rc)
		return ifs_table_report(base, &error);
	ifs_table_release(table);
	return SQLITE_OK;
}

/* Refuses a new name that one of the columns has, because the command column is named like the index. */
static int check_new_name(struct ifs_table *table, const char *new_name, struct ifs_error *error)
{
	sqlite3_free(ifs_definition_declare(&table->definition, new_name, error));
	return error->rc;
}

static int index_rename(sqlite3_vtab *base, const char *new_name)
{
	struct ifs_table *table = (struct ifs_table *)base;
	struct ifs_index *index = &table->index;
	struct ifs_error error = { .rc = SQLITE_OK };
	struct ifs_base_table base_table = { .name = NULL };
	char *name = sqlite3_mprintf("%s", new_name);
	bool is_log = index->definition.sync == IFS_SYNC_LOG, has_mark;
	int rc = name ? SQLITE_OK : ifs_error_set(&error, SQLITE_NOMEM, "");

	if (!rc)
		rc = check_new_name(table, new_name, &error);
	if (!rc && is_log)
		rc = ifs_triggers_check_names(index->db, index->schema, new_name, &error);
	if (!rc && is_log)
		rc = ifs_triggers_find_table(index->db, index->schema, index->name, &index->definition, &base_table, &error);
	if (!rc && base_table.name)
		rc = ifs_condition_judge(index->db, index->schema, base_table.name, &index->definition, &error);
	if (!rc)
		rc = ifs_mark_check(index, is_log ? base_table.name : index->definition.content, &has_mark, &error);
	if (!rc && is_log)
		rc = ifs_triggers_drop(index->db, index->schema, index->name, &error);
	if (!rc)
		rc = ifs_export_rename(index, &table->definition, new_name, &error);
	if (!rc) {
		ifs_index_forget(index);
		rc = ifs_index_rename_tables(index, new_name, &error);
	}
	if (!rc && base_table.name)
		rc = ifs_triggers_create(index->db, index->schema, new_name, &base_table, &index->definition, &error);
	if (!rc) {
		sqlite3_free(table->name);
		table->name = name;
		name = NULL;
	}
	index->connection->n_changes++;
	ifs_base_table_release(&base_table);
	sqlite3_free(name);
	return ifs_table_report(base, &error);
}

static int index_shadow_name(const char *suffix)
{
	return sqlite3_stricmp(suffix, "page") == 0 || sqlite3_stricmp(suffix, "series") == 0 ||
	       sqlite3_stricmp(suffix, "config") == 0 || sqlite3_stricmp(suffix, "sketch") == 0 ||
	       sqlite3_stricmp(suffix, "piece") == 0 || sqlite3_stricmp(suffix, "distinct") == 0;
}

/* argv has the rowid to delete; for an INSERT, the new rowid and every column follow: arguments, command, the others. */
static int index_update(sqlite3_vtab *base, int n_argv, sqlite3_value **argv, sqlite3_int64 *rowid)
{
	struct ifs_table *table = (struct ifs_table *)base;
	struct ifs_error error = { .rc = SQLITE_OK };
	bool is_insert = n_argv > 1 && sqlite3_value_type(argv[0]) == SQLITE_NULL;
	const char *command = is_insert ? (const char *)sqlite3_value_text(argv[2 + IFS_N_ARGUMENTS]) : NULL;
	sqlite3_int64 last_inserted = sqlite3_last_insert_rowid(table->index.db);

	if (!command)
		ifs_error_set(&error, SQLITE_CONSTRAINT_VTAB, "%s may not be modified; write to \"%s\"", table->name,
			      table->definition.content);
	else
		dispatch_command(table, command, argv + 2, &error);
	/* a command inserts no row of the user's, so last_insert_rowid() must not change */
	sqlite3_set_last_insert_rowid(table->index.db, last_inserted);
	*rowid = last_inserted;
	return ifs_table_report(base, &error);
}

/* ---- transactions: after a rollback, cached reads of what was rolled back are dropped ---- */

static int index_begin(sqlite3_vtab *base)
{
	ifs_transaction_begin(&((struct ifs_table *)base)->index);
	return SQLITE_OK;
}

static int index_commit(sqlite3_vtab *base)
{
	ifs_transaction_commit(&((struct ifs_table *)base)->index);
	return SQLITE_OK;
}

static int index_rollback(sqlite3_vtab *base)
{
	ifs_transaction_roll_back(&((struct ifs_table *)base)->index);
	return SQLITE_OK;
}

static int index_savepoint(sqlite3_vtab *base, int savepoint)
{
	ifs_transaction_save(&((struct ifs_table *)base)->index, savepoint);
	return SQLITE_OK;
}

static int index_release(sqlite3_vtab *base, int savepoint)
{
	ifs_transaction_release(&((struct ifs_table *)base)->index, savepoint);
	return SQLITE_OK;
}

static int index_rollback_to(sqlite3_vtab *base, int savepoint)
{
	ifs_transaction_roll_back_to(&((struct ifs_table *)base)->index, savepoint);
	return SQLITE_OK;
}

/* ---- PRAGMA integrity_check, from SQLite 3.44 on ---- */

enum { QUICK_CHECK = 1 };

static int index_integrity(sqlite3_vtab *base, const char *schema, const char *name, int flags, char **message)
{
	struct ifs_table *table = (struct ifs_table *)base;
	struct ifs_error error = { .rc = SQLITE_OK };
	bool may_lag = table->definition.sync == IFS_SYNC_MANUAL;
	int rc = ifs_verify(&table->index, !(flags & QUICK_CHECK) && !may_lag, &error);

	(void)schema;
	(void)name;
	if ((rc & 0xff) != SQLITE_CORRUPT && rc != SQLITE_ERROR) {
		ifs_error_clear(&error);
		return rc;
	}
	*message = error.message;
	return SQLITE_OK;
}

/* Headers before 3.44 do not declare the method. Libraries before 3.44 ignore it, because it lies behind what they read. */
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
	.base.xBestIndex = ifs_table_best_index,
	.base.xDisconnect = ifs_table_disconnect,
	.base.xDestroy = index_destroy,
	.base.xOpen = ifs_cursor_open,
	.base.xClose = ifs_cursor_close,
	.base.xFilter = ifs_cursor_filter,
	.base.xNext = ifs_cursor_next,
	.base.xEof = ifs_cursor_eof,
	.base.xColumn = ifs_cursor_column,
	.base.xRowid = ifs_cursor_rowid,
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

const struct ifs_module ifs_index_module = { .name = "iforest", .methods = &module.base, .reader = &ifs_bucket_reader };
