#include "sqlite_ext/vtab/rows.h"

#include "sqlite_ext/query/rows.h"

enum { N_ARGUMENTS = 2, MAX_COLUMNS = 1 + IFS_MAX_BY + 1 + IFOREST_MAX_VALUES + 1 + N_ARGUMENTS };

struct cursor {
	sqlite3_vtab_cursor base;
	struct ifs_row_query rows;
	sqlite3_value *arguments[N_ARGUMENTS];
};

/* ---- columns ---- */

/* Lists names and declared types, each name from sqlite3_mprintf(). */
static unsigned list_columns(const struct ifs_definition *definition, char **names, const char **types)
{
	unsigned n = 0;

	for (unsigned c = 0; c < MAX_COLUMNS; c++)
		types[c] = "INTEGER";
	names[n++] = sqlite3_mprintf("id");
	for (unsigned b = 0; b < definition->n_by; b++) {
		types[n] = definition->by_types[b] ? definition->by_types[b] : "";
		names[n++] = sqlite3_mprintf("%s", definition->by[b].name);
	}
	names[n++] = sqlite3_mprintf("%s", definition->time);
	for (unsigned v = 0; v < definition->n_values; v++) {
		types[n] = "NUMERIC";
		names[n++] = sqlite3_mprintf("%s", definition->values[v].name);
	}
	if (ifs_rows_has_end(definition))
		names[n++] = sqlite3_mprintf("end");
	for (unsigned a = 0; a < N_ARGUMENTS; a++) {
		types[n] = "HIDDEN";
		names[n++] = sqlite3_mprintf("%s", ifs_argument_names[a]);
	}
	return n;
}

/* Applies `column AS name` to the first column of that name that was not renamed yet. The hidden ones stay. */
static int rename_column(const char *text, char **names, bool *is_renamed, unsigned n, struct ifs_error *error)
{
	struct ifs_column_name column;
	unsigned c = 0;
	int rc = ifs_definition_parse_column(text, &column, error);

	while (!rc && c < n && (is_renamed[c] || sqlite3_stricmp(names[c], column.source) != 0))
		c++;
	if (!rc && c == n)
		rc = ifs_error_set(error, SQLITE_ERROR, "iforest_rows: there is no column \"%s\" to be called \"%s\"",
				   column.source, column.name);
	if (!rc) {
		sqlite3_free(names[c]);
		names[c] = column.name;
		column.name = NULL;
		is_renamed[c] = true;
	}
	sqlite3_free(column.source);
	sqlite3_free(column.name);
	return rc;
}

static int check_names(char **names, unsigned n, struct ifs_error *error)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < i; k++)
			if (sqlite3_stricmp(names[i], names[k]) == 0)
				return ifs_error_set(error, SQLITE_ERROR,
						     "iforest_rows: two columns named \"%s\"; give the first of them another "
						     "name: iforest_rows(index, \"%w\" AS \"%w_\")",
						     names[i], names[i], names[i]);
	return SQLITE_OK;
}

static int declare(struct ifs_table *table, sqlite3 *db, int n_arguments, struct ifs_error *error)
{
	char *names[MAX_COLUMNS], *text;
	const char *types[MAX_COLUMNS];
	bool is_renamed[MAX_COLUMNS] = { false };
	unsigned n = list_columns(&table->definition, names, types);
	sqlite3_str *sql = sqlite3_str_new(db);
	int rc = SQLITE_OK;

	for (unsigned c = 0; c < n; c++)
		if (!names[c])
			rc = ifs_error_set(error, SQLITE_NOMEM, "");
	for (int a = 4; a < n_arguments && !rc; a++)
		rc = rename_column(table->arguments[a], names, is_renamed, n - N_ARGUMENTS, error);
	if (!rc)
		rc = check_names(names, n, error);
	sqlite3_str_appendall(sql, "CREATE TABLE x(");
	for (unsigned c = 0; c < n && !rc; c++)
		sqlite3_str_appendf(sql, "%s\"%w\" %s", c ? ", " : "", names[c], types[c]);
	sqlite3_str_appendall(sql, ")");
	text = sqlite3_str_finish(sql);
	for (unsigned c = 0; c < n; c++)
		sqlite3_free(names[c]);
	return ifs_table_declare_text(db, text, error);
}

static int open_rows(struct ifs_table *table, sqlite3 *db, struct ifs_connection *connection, int n_arguments,
		     struct ifs_error *error)
{
	int rc = ifs_table_open_index(table, db, connection, "iforest_rows", n_arguments, error);

	return rc ? rc : declare(table, db, n_arguments, error);
}

/* ---- reading ---- */

/* Estimates by the snapshot that was read last; otherwise guesses. */
static struct ifs_rows_size size_of(const struct ifs_index *index)
{
	struct ifs_rows_size size = { .n_rows = 0, .n_series = 0 };
	const struct ifs_snapshot *snapshot = index->snapshot;

	for (uint32_t r = 0; snapshot && r < snapshot->manifest.n_runs; r++)
		size.n_rows += (double)iforest_node_rows(snapshot->manifest.runs[r].root);
	if (snapshot)
		size.n_series = snapshot->dictionary.n_series;
	if (size.n_rows < 1)
		size.n_rows = snapshot ? 100 : 1e6;
	if (size.n_series < 1)
		size.n_series = snapshot ? 1 : 32;
	return size;
}

static int rows_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct ifs_table *table = (struct ifs_table *)base;
	struct ifs_error error = { .rc = SQLITE_OK };
	struct ifs_rows_size size = size_of(&table->index);
	int rc;

	if ((rc = ifs_table_check_index(base)))
		return rc;
	rc = ifs_rows_plan_make(&table->definition, table->name, &size, info, &error);
	return rc == SQLITE_CONSTRAINT ? rc : ifs_table_report(base, &error);
}

static int rows_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct cursor *cursor = sqlite3_malloc64(sizeof *cursor);

	(void)base;
	if (!cursor)
		return SQLITE_NOMEM;
	memset(cursor, 0, sizeof *cursor);
	cursor->rows.at_end = true;
	*out = &cursor->base;
	return SQLITE_OK;
}

static int rows_close(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	ifs_table_free_arguments(cursor->arguments, N_ARGUMENTS);
	ifs_row_query_release(&cursor->rows);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static int rows_next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	struct ifs_error error = { .rc = SQLITE_OK };

	ifs_row_query_next(&cursor->rows, &error);
	return ifs_table_report(base->pVtab, &error);
}

static int rows_filter(sqlite3_vtab_cursor *base, int index_number, const char *index_text, int n_argv, sqlite3_value **argv)
{
	struct cursor *cursor = (struct cursor *)base;
	struct ifs_table *table = (struct ifs_table *)base->pVtab;
	struct ifs_error error = { .rc = SQLITE_OK };
	struct ifs_rows_plan plan;
	int rc;

	(void)n_argv;
	ifs_table_free_arguments(cursor->arguments, N_ARGUMENTS);
	cursor->rows.at_end = true;
	if ((rc = ifs_table_check_arguments(base->pVtab, index_number, ifs_argument_names)))
		return rc;
	ifs_rows_plan_read(&plan, table->name, index_number, index_text);
	if ((rc = ifs_table_copy_arguments(cursor->arguments, N_ARGUMENTS, (unsigned)plan.has_t0 | (unsigned)plan.has_t1 << 1,
					   argv)))
		return rc;
	if (!ifs_row_query_start(&cursor->rows, &table->index, &plan, argv, &error))
		ifs_row_query_next(&cursor->rows, &error);
	if (error.rc)
		cursor->rows.at_end = true;
	return ifs_table_report(base->pVtab, &error);
}

static int rows_eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->rows.at_end;
}

static int value_column(sqlite3_context *context, const struct ifs_row_query *rows, unsigned v)
{
	const struct iforest_entry *entry = &rows->entry;

	if (!(entry->present >> v & 1))
		return SQLITE_OK;
	if (rows->snapshot->manifest.fields.value_types[v] == IFOREST_INT64)
		sqlite3_result_int64(context, entry->values[v].integer);
	else
		sqlite3_result_double(context, entry->values[v].real);
	return SQLITE_OK;
}

/* The result stays NULL if nothing is set. */
static int rows_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct cursor *cursor = (struct cursor *)base;
	const struct ifs_table *table = (const struct ifs_table *)base->pVtab;
	const struct ifs_definition *definition = &table->definition;
	const struct ifs_row_query *rows = &cursor->rows;
	int argument = column - ifs_rows_first_argument(definition);
	int64_t end;

	if (argument >= 0) {
		return ifs_table_argument_column(context, table, ifs_argument_names[argument], cursor->arguments[argument]);
	} else if (column == IFS_ROWS_ID) {
		sqlite3_result_int64(context, rows->entry.key.ref);
	} else if (column < ifs_rows_time(definition)) {
		ifs_by_result(context, &ifs_row_query_series(rows)->values[column - IFS_ROWS_FIRST_BY]);
	} else if (column == ifs_rows_time(definition)) {
		if (!rows->entry.key.time_is_null)
			sqlite3_result_int64(context, rows->entry.key.time);
	} else if (column == ifs_rows_end(definition)) {
		if (ifs_row_query_end_of(rows, &end))
			sqlite3_result_int64(context, end);
	} else {
		return value_column(context, rows, (unsigned)(column - ifs_rows_first_value(definition)));
	}
	return SQLITE_OK;
}

static int rows_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
	*rowid = ((struct cursor *)base)->rows.entry.key.ref;
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.iVersion = 3,
	.xCreate = ifs_derived_create,
	.xConnect = ifs_derived_connect,
	.xBestIndex = rows_best_index,
	.xDisconnect = ifs_table_disconnect,
	.xDestroy = ifs_table_disconnect,
	.xOpen = rows_open,
	.xClose = rows_close,
	.xFilter = rows_filter,
	.xNext = rows_next,
	.xEof = rows_eof,
	.xColumn = rows_column,
	.xRowid = rows_rowid,
};

const struct ifs_module ifs_rows_module = { .name = "iforest_rows", .methods = &module, .open = open_rows };
