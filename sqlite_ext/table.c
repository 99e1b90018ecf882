#include "sqlite_ext/table.h"

#include <stddef.h>

#include "sqlite_ext/plan.h"
#include "sqlite_ext/row.h"

struct cursor {
	sqlite3_vtab_cursor base;
	sqlite3_value *arguments[IFOREST_N_ARGUMENTS];
	struct iforest_query query;
};

static bool begins_with(const char *text, const char *start)
{
	return start && strncmp(text, start, strlen(start)) == 0;
}

int iforest_table_report(sqlite3_vtab *base, struct iforest_error *error)
{
	const struct iforest_table *table = (const struct iforest_table *)base;
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

/* ---- making one ---- */

void iforest_table_release(struct iforest_table *table)
{
	if (!table)
		return;
	iforest_index_release(&table->index);
	iforest_definition_release(&table->definition);
	sqlite3_free(table->name);
	sqlite3_free(table->broken);
	sqlite3_free((void *)table->arguments);
	sqlite3_free(table->base.zErrMsg); /* SQLite takes it over, but not after a DROP that failed */
	sqlite3_free(table);
}

int iforest_table_declare(struct iforest_table *table, sqlite3 *db, const char *command, struct iforest_error *error)
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

/* One block: the pointers, then the strings. NULL without memory. */
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

struct iforest_table *iforest_table_new(int n_arguments, const char *const *arguments, struct iforest_error *error)
{
	struct iforest_table *table = sqlite3_malloc64(sizeof *table);

	if (table) {
		*table = (struct iforest_table){ .name = sqlite3_mprintf("%s", arguments[2]),
						 .arguments = copy_arguments(n_arguments, arguments) };
		for (unsigned b = 0; b < IFOREST_MAX_BY; b++)
			table->kept[b] = b;
	}
	if (!table || !table->name || !table->arguments)
		iforest_error_set(error, SQLITE_NOMEM, "");
	return table;
}

int iforest_table_finish(struct iforest_table *table, sqlite3_vtab **base, char **message, struct iforest_error *error)
{
	if (error->rc) {
		*message = error->message;
		iforest_table_release(table);
	} else {
		*base = &table->base;
	}
	return error->rc;
}

int iforest_table_disconnect(sqlite3_vtab *base)
{
	iforest_table_release((struct iforest_table *)base);
	return SQLITE_OK;
}

/* ---- reading ---- */

int iforest_table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct iforest_table *table = (struct iforest_table *)base;
	struct iforest_error error = { .rc = SQLITE_OK };
	int rc;

	if (table->broken) {
		iforest_error_set(&error, SQLITE_ERROR, "%s: %s", table->name, table->broken);
		return iforest_table_report(base, &error);
	}
	rc = iforest_plan_make(&table->definition, table->name, info, &error);
	return rc == SQLITE_CONSTRAINT ? rc : iforest_table_report(base, &error);
}

int iforest_table_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct cursor *cursor = sqlite3_malloc64(sizeof *cursor);

	(void)base;
	if (!cursor)
		return SQLITE_NOMEM;
	memset(cursor, 0, offsetof(struct cursor, query));
	iforest_query_init(&cursor->query);
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
}

int iforest_table_close(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	reset_cursor(cursor);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

int iforest_table_next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	struct iforest_error error = { .rc = SQLITE_OK };

	return iforest_query_next(&cursor->query, &error) ? iforest_table_report(base->pVtab, &error) : SQLITE_OK;
}

int iforest_table_filter(sqlite3_vtab_cursor *base, int index_number, const char *index_text, int n_argv, sqlite3_value **argv)
{
	struct cursor *cursor = (struct cursor *)base;
	struct iforest_table *table = (struct iforest_table *)base->pVtab;
	struct iforest_error error = { .rc = SQLITE_OK };
	struct iforest_plan plan;
	int at = 0, rc;

	reset_cursor(cursor);
	if ((rc = iforest_table_check_arguments(base->pVtab, index_number, iforest_argument_names)))
		return rc;
	if (!iforest_plan_read(&plan, &table->definition, table->name, index_number, index_text))
		return SQLITE_INTERNAL;
	for (unsigned a = 0; a < IFOREST_N_ARGUMENTS && at < n_argv; a++) {
		if (!(plan.arguments >> a & 1))
			continue;
		cursor->arguments[a] = sqlite3_value_dup(argv[at++]);
		if (!cursor->arguments[a])
			return SQLITE_NOMEM;
	}
	if (!iforest_query_start(&cursor->query, &table->index, &table->definition, table->kept, &plan, argv, &error))
		iforest_query_next(&cursor->query, &error);
	if (error.rc)
		cursor->query.at_end = true;
	return iforest_table_report(base->pVtab, &error);
}

int iforest_table_eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->query.at_end;
}

static const char argument_is_lost[] =
	"%s: argument %s is used, but not given with =: write %s(t0, t1), not inside OR, an expression, "
	"a row value or the far side of an outer join";

int iforest_table_check_arguments(sqlite3_vtab *base, int index_number, const char *const *names)
{
	const char *name = ((struct iforest_table *)base)->name;
	struct iforest_error error = { .rc = SQLITE_OK };
	int lost = index_number >> IFOREST_LOST_SHIFT;

	if (lost > 0)
		iforest_error_set(&error, SQLITE_ERROR, argument_is_lost, name, names[lost - 1], name);
	return iforest_table_report(base, &error);
}

int iforest_table_refuse_argument(sqlite3_context *context, const char *name, const char *argument)
{
	char *message = sqlite3_mprintf(argument_is_lost, name, argument, name);

	if (!message) {
		sqlite3_result_error_nomem(context);
		return SQLITE_NOMEM;
	}
	sqlite3_result_error(context, message, -1);
	sqlite3_free(message);
	return SQLITE_ERROR;
}

int iforest_table_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct cursor *cursor = (struct cursor *)base;
	const struct iforest_table *table = (const struct iforest_table *)base->pVtab;
	int n_hidden = (int)table->definition.n_hidden;

	if (column >= n_hidden)
		return iforest_row_column(context, &cursor->query, &table->definition, column - n_hidden);
	/* an UPDATE, which is refused later */
	if (column >= iforest_n_arguments(&table->definition) || sqlite3_vtab_nochange(context))
		return SQLITE_OK;
	if (!cursor->arguments[column])
		return iforest_table_refuse_argument(context, table->name, iforest_argument_names[column]);
	sqlite3_result_value(context, cursor->arguments[column]);
	return SQLITE_OK;
}

int iforest_table_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
	*rowid = iforest_query_rowid(&((struct cursor *)base)->query);
	return SQLITE_OK;
}
