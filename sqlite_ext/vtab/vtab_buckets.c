#include "sqlite_ext/vtab/buckets.h"

#include <stddef.h>

#include "sqlite_ext/query/plan.h"
#include "sqlite_ext/vtab/row.h"

struct cursor {
	sqlite3_vtab_cursor base;
	sqlite3_value *arguments[IFOREST_N_ARGUMENTS];
	struct iforest_query query;
};

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

const sqlite3_module iforest_bucket_methods = {
	.iVersion = 3,
	.xCreate = iforest_borrowed_create,
	.xConnect = iforest_borrowed_connect,
	.xBestIndex = iforest_table_best_index,
	.xDisconnect = iforest_table_disconnect,
	.xDestroy = iforest_table_disconnect,
	.xOpen = iforest_table_open,
	.xClose = iforest_table_close,
	.xFilter = iforest_table_filter,
	.xNext = iforest_table_next,
	.xEof = iforest_table_eof,
	.xColumn = iforest_table_column,
	.xRowid = iforest_table_rowid,
};
