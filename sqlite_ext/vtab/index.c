#include "sqlite_ext/vtab/commands.h"

#include "sqlite_ext/query/arguments.h"
#include "sqlite_ext/maintain/build.h"
#include "sqlite_ext/maintain/export.h"
#include "sqlite_ext/storage/sidecar.h"
#include "sqlite_ext/storage/tokens.h"
#include "sqlite_ext/maintain/compact.h"
#include "sqlite_ext/maintain/verify.h"
#include "sqlite_ext/follow/triggers.h"

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

int iforest_command_run(struct iforest_table *table, const char *command, sqlite3_value **arguments,
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
