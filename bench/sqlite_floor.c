#include "bench/sqlite_floor.h"

#include <string.h>

struct counting {
	sqlite3_vtab_cursor base;
	sqlite3_int64 at, total;
};

static int counting_connect(sqlite3 *connection, void *context, int n, const char *const *arguments, sqlite3_vtab **table,
			    char **message)
{
	(void)context, (void)n, (void)arguments, (void)message;
	*table = sqlite3_malloc(sizeof **table);
	memset(*table, 0, sizeof **table);
	return sqlite3_declare_vtab(connection, "CREATE TABLE x(a, b, c, d, total HIDDEN)");
}

static int counting_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

static int counting_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	for (int i = 0; i < info->nConstraint; i++)
		if (info->aConstraint[i].iColumn == 4 && info->aConstraint[i].usable) {
			info->aConstraintUsage[i].argvIndex = 1;
			info->aConstraintUsage[i].omit = 1;
		}
	return SQLITE_OK;
}

static int counting_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor)
{
	(void)table;
	*cursor = sqlite3_malloc(sizeof(struct counting));
	memset(*cursor, 0, sizeof(struct counting));
	return SQLITE_OK;
}

static int counting_close(sqlite3_vtab_cursor *cursor)
{
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static int counting_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int n, sqlite3_value **values)
{
	(void)number, (void)text;
	((struct counting *)cursor)->at = 0;
	((struct counting *)cursor)->total = n ? sqlite3_value_int64(values[0]) : 0;
	return SQLITE_OK;
}

static int counting_next(sqlite3_vtab_cursor *cursor)
{
	((struct counting *)cursor)->at++;
	return SQLITE_OK;
}

static int counting_eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct counting *)cursor)->at >= ((struct counting *)cursor)->total;
}

static int counting_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
	sqlite3_result_int64(context, ((struct counting *)cursor)->at + column);
	return SQLITE_OK;
}

static int counting_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	*rowid = ((struct counting *)cursor)->at;
	return SQLITE_OK;
}

const sqlite3_module sqlite_floor_module = {
	.xConnect = counting_connect, .xBestIndex = counting_best_index, .xDisconnect = counting_disconnect,
	.xOpen = counting_open, .xClose = counting_close, .xFilter = counting_filter, .xNext = counting_next,
	.xEof = counting_eof, .xColumn = counting_column, .xRowid = counting_rowid,
};
