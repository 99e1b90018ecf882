#include "sqlite_ext/vtab/rows.h"

#include "sqlite_ext/query/rows.h"

enum { N_ARGUMENTS = 2, MAX_COLUMNS = 1 + IFS_MAX_BY + 1 + IFOREST_MAX_VALUES + 1 + N_ARGUMENTS };

struct cursor {
	struct ifs_cursor base;
	struct ifs_row_query rows;
};

/* ---- columns ---- */

/* Lists names and declared types, each name from sqlite3_mprintf(). */
static unsigned list_columns(const struct ifs_definition *definition, char **names, const char **types)
{
	unsigned n = 0;

	for (unsigned c = 0; c < MAX_COLUMNS; c++)
		types[c] = ifs_time_types[definition->time_kind];
	types[n] = "INTEGER";
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

/* Applies `column AS name` to the first column of that name that was not renamed yet. Hidden columns cannot be renamed. */
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

	table->first_by = IFS_ROWS_FIRST_BY;
	table->first_argument = ifs_rows_first_argument(&table->definition);
	return rc ? rc : declare(table, db, n_arguments, error);
}

/* ---- reading ---- */

/* Estimates the size from the snapshot that was read last; guesses it if there is none. */
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

static int plan_rows(struct ifs_table *table, sqlite3_index_info *info, struct ifs_error *error)
{
	struct ifs_rows_size size = size_of(&table->index);

	return ifs_rows_plan_make(&table->definition, table->number_texts, table->name, &size, info, error);
}

static void release_rows(struct ifs_cursor *cursor)
{
	ifs_row_query_release(&((struct cursor *)cursor)->rows);
}

static int start_rows(struct ifs_cursor *cursor, int index_number, const char *index_text, sqlite3_value **argv,
		      struct ifs_error *error)
{
	struct ifs_table *table = (struct ifs_table *)cursor->base.pVtab;
	struct ifs_rows_plan plan;

	ifs_rows_plan_read(&plan, table->name, index_number, index_text);
	return ifs_row_query_start(&((struct cursor *)cursor)->rows, &table->index, &plan, argv, error);
}

static int next_row(struct ifs_cursor *cursor, struct ifs_error *error)
{
	return ifs_row_query_next(&((struct cursor *)cursor)->rows, &cursor->at_end, error);
}

static int column_of_row(struct ifs_cursor *cursor, sqlite3_context *context, int column)
{
	const struct ifs_definition *definition = &ifs_cursor_table(cursor)->definition;
	const struct ifs_row_query *rows = &((struct cursor *)cursor)->rows;
	int v = column - ifs_rows_first_value(definition);
	int64_t end;

	if (column == IFS_ROWS_ID) {
		sqlite3_result_int64(context, rows->entry.key.ref);
	} else if (column < ifs_rows_time(definition)) {
		ifs_by_result(context, &ifs_row_query_series(rows)->values[column - IFS_ROWS_FIRST_BY]);
	} else if (column == ifs_rows_time(definition)) {
		if (!rows->entry.key.time_is_null)
			ifs_time_result(context, &rows->snapshot->times, rows->entry.key.time);
	} else if (column == ifs_rows_end(definition)) {
		if (ifs_row_query_end_of(rows, &end))
			ifs_time_result(context, &rows->snapshot->times, end);
	} else if (rows->entry.present >> v & 1) {
		ifs_table_number(context, rows->entry.values[v], rows->snapshot->manifest.fields.value_types[v]);
	}
	return SQLITE_OK;
}

static sqlite3_int64 rowid_of_row(const struct ifs_cursor *cursor)
{
	return ((const struct cursor *)cursor)->rows.entry.key.ref;
}

static const struct ifs_reader reader = {
	.cursor_bytes = sizeof(struct cursor),
	.n_zeros = sizeof(struct cursor),
	.n_arguments = N_ARGUMENTS,
	.argument_names = ifs_argument_names,
	.plan = plan_rows,
	.start = start_rows,
	.next = next_row,
	.column = column_of_row,
	.rowid = rowid_of_row,
	.release = release_rows,
};

const struct ifs_module ifs_rows_module = {
	.name = "iforest_rows", .methods = &ifs_derived_methods, .open = open_rows, .reader = &reader
};
