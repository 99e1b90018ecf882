#include <sqlite3ext.h>
#include <stdbool.h>
#include <string.h>

#include "sqlite_ext/trace/chrometrace_depths.h"
#include "trace/chrome_trace.h"

enum span_column {
	SPAN_TS_NS,
	SPAN_DUR_NS,
	SPAN_PID,
	SPAN_TID,
	SPAN_TRACK,
	SPAN_DEPTH,
	SPAN_NAME,
	SPAN_CATEGORY,
	SPAN_ARGS,
	SPAN_PATH
};

enum counter_column { COUNTER_TS_NS, COUNTER_PID, COUNTER_NAME, COUNTER_ID, COUNTER_KEY, COUNTER_VALUE, COUNTER_PATH };

/* A plan, passed from xBestIndex to xFilter as idxNum:
 *
 *   bit  set if                               then
 *   0x1  path = VALUE is among the terms      argv[0] is the path; otherwise xFilter refuses to run
 *   0x2  the column args is used              arguments are read, not skipped
 *   0x4  the column depth is used             a first pass over the file computes the depths
 */
enum plan { PLAN_PATH = 0x1, PLAN_ARGS = 0x2, PLAN_DEPTH = 0x4 };

/* One of the two functions. */
struct trace_function {
	const char *name;
	const char *declaration;
	int path_column;
	sqlite3_uint64 args_columns, depth_columns; /* bits of colUsed that call for them */
	struct trace_options options;		    /* those that hold for every plan */
	void (*result)(sqlite3_context *context, const struct trace_event *event, sqlite3_int64 depth, int column);
};

struct trace_table {
	sqlite3_vtab base; /* must be first */
	const struct trace_function *function;
};

struct trace_cursor {
	sqlite3_vtab_cursor base; /* must be first */
	char *path;
	struct trace_reader *reader;
	struct chrometrace_depths *depths; /* NULL unless wanted */
	struct trace_event event;	   /* the present row */
	sqlite3_int64 depth;		   /* of the present row, if wanted */
	sqlite3_int64 row;		   /* its number from 1 on */
	bool at_end;
};

static void result_text(sqlite3_context *context, struct trace_text text)
{
	if (text.data)
		sqlite3_result_text64(context, text.data, text.n_bytes, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void result_of_span(sqlite3_context *context, const struct trace_event *span, sqlite3_int64 depth, int column)
{
	switch ((enum span_column)column) {
	case SPAN_TS_NS: sqlite3_result_int64(context, span->ts_ns); break;
	case SPAN_DUR_NS: sqlite3_result_int64(context, span->dur_ns); break;
	case SPAN_PID: result_text(context, span->pid); break;
	case SPAN_TID: result_text(context, span->tid); break;
	case SPAN_TRACK: result_text(context, span->track); break;
	case SPAN_DEPTH: sqlite3_result_int64(context, depth); break;
	case SPAN_NAME: result_text(context, span->name); break;
	case SPAN_CATEGORY: result_text(context, span->category); break;
	case SPAN_ARGS: result_text(context, span->args); break;
	case SPAN_PATH: break;
	}
}

static void result_of_counter(sqlite3_context *context, const struct trace_event *sample, sqlite3_int64 depth, int column)
{
	(void)depth;
	switch ((enum counter_column)column) {
	case COUNTER_TS_NS: sqlite3_result_int64(context, sample->ts_ns); break;
	case COUNTER_PID: result_text(context, sample->pid); break;
	case COUNTER_NAME: result_text(context, sample->name); break;
	case COUNTER_ID: result_text(context, sample->id); break;
	case COUNTER_KEY: result_text(context, sample->key); break;
	case COUNTER_VALUE: sqlite3_result_double(context, sample->value); break;
	case COUNTER_PATH: break;
	}
}

static const struct trace_function read_chrome_trace = {
	.name = "read_chrome_trace",
	.declaration = "CREATE TABLE x(ts_ns INTEGER, dur_ns INTEGER, pid TEXT, tid TEXT, track TEXT, depth INTEGER, "
		       "name TEXT, category TEXT, args TEXT, path TEXT HIDDEN)",
	.path_column = SPAN_PATH,
	.args_columns = 1u << SPAN_ARGS,
	.depth_columns = 1u << SPAN_DEPTH,
	.options = { .spans = true },
	.result = result_of_span,
};

static const struct trace_function read_chrome_counters = {
	.name = "read_chrome_counters",
	.declaration = "CREATE TABLE x(ts_ns INTEGER, pid TEXT, name TEXT, id TEXT, key TEXT, value REAL, "
		       "path TEXT HIDDEN)",
	.path_column = COUNTER_PATH,
	.options = { .counters = true },
	.result = result_of_counter,
};

static const struct trace_function *function_of(struct trace_cursor *cursor)
{
	return ((struct trace_table *)cursor->base.pVtab)->function;
}

/* Sets the table's error; takes over the message. A message without text means out of memory. */
static int fail(struct trace_cursor *cursor, int rc, char *message)
{
	sqlite3_vtab *table = cursor->base.pVtab;

	if (!message || rc == SQLITE_NOMEM) {
		sqlite3_free(message);
		return SQLITE_NOMEM;
	}
	sqlite3_free(table->zErrMsg);
	table->zErrMsg = sqlite3_mprintf("%s: %s", function_of(cursor)->name, message);
	sqlite3_free(message);
	return rc;
}

static int table_connect(sqlite3 *database, void *function, int argc, const char *const *argv, sqlite3_vtab **table,
			 char **message)
{
	struct trace_table *connected;
	int rc = sqlite3_declare_vtab(database, ((const struct trace_function *)function)->declaration);

	(void)argc, (void)argv, (void)message;
	if (rc != SQLITE_OK)
		return rc;
	connected = sqlite3_malloc64(sizeof *connected);
	if (!connected)
		return SQLITE_NOMEM;
	*connected = (struct trace_table){ .function = function };
	sqlite3_vtab_config(database, SQLITE_VTAB_DIRECTONLY);
	*table = &connected->base;
	return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

static int table_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	const struct trace_function *function = ((struct trace_table *)table)->function;
	bool has_unusable_path = false;

	info->idxNum = 0;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *term = &info->aConstraint[i];

		if (term->iColumn != function->path_column || term->op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (!term->usable) {
			has_unusable_path = true;
		} else if (!(info->idxNum & PLAN_PATH)) {
			info->aConstraintUsage[i].argvIndex = 1;
			info->aConstraintUsage[i].omit = 1;
			info->idxNum |= PLAN_PATH;
		}
	}
	/* The path is known in another order of the join: have the planner try that. */
	if (has_unusable_path && !(info->idxNum & PLAN_PATH))
		return SQLITE_CONSTRAINT;
	if (info->colUsed & function->args_columns)
		info->idxNum |= PLAN_ARGS;
	if (info->colUsed & function->depth_columns)
		info->idxNum |= PLAN_DEPTH;
	info->estimatedCost = info->idxNum & PLAN_PATH ? 1e6 : 1e12;
	info->estimatedRows = 100000;
	return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor)
{
	struct trace_cursor *opened = sqlite3_malloc64(sizeof *opened);

	(void)table;
	if (!opened)
		return SQLITE_NOMEM;
	memset(opened, 0, sizeof *opened);
	*cursor = &opened->base;
	return SQLITE_OK;
}

static void forget_file(struct trace_cursor *cursor)
{
	trace_reader_close(cursor->reader);
	cursor->reader = NULL;
	chrometrace_depths_close(cursor->depths);
	cursor->depths = NULL;
	sqlite3_free(cursor->path);
	cursor->path = NULL;
}

static int cursor_close(sqlite3_vtab_cursor *base)
{
	forget_file((struct trace_cursor *)base);
	sqlite3_free(base);
	return SQLITE_OK;
}

static int reader_failed(struct trace_cursor *cursor, int status)
{
	return fail(cursor, status == TRACE_ERROR_MEMORY ? SQLITE_NOMEM : SQLITE_ERROR,
		    sqlite3_mprintf("%s", trace_reader_error(cursor->reader)));
}

/* Both passes must have seen the same spans. */
static int next_depth(struct trace_cursor *cursor)
{
	char *message = NULL;
	int rc = chrometrace_depths_next(cursor->depths, &cursor->depth, &message);

	if (rc == (cursor->at_end ? SQLITE_DONE : SQLITE_ROW))
		return SQLITE_OK;
	if (rc == SQLITE_DONE || rc == SQLITE_ROW) {
		rc = SQLITE_ERROR;
		message = sqlite3_mprintf("%s: the file has changed while it was being read", cursor->path);
	}
	return fail(cursor, rc, message);
}

static int cursor_next(sqlite3_vtab_cursor *base)
{
	struct trace_cursor *cursor = (struct trace_cursor *)base;
	int status = trace_reader_next(cursor->reader, &cursor->event);

	if (status < 0)
		return reader_failed(cursor, status);
	cursor->at_end = status == TRACE_OK;
	cursor->row++;
	return cursor->depths ? next_depth(cursor) : SQLITE_OK;
}

static int take_path(struct trace_cursor *cursor, sqlite3_value *value)
{
	const char *path = (const char *)sqlite3_value_text(value);

	if (sqlite3_value_type(value) == SQLITE_NULL)
		return fail(cursor, SQLITE_ERROR, sqlite3_mprintf("the path is NULL; give the path of a trace file"));
	if (!path)
		return SQLITE_NOMEM;
	if (strlen(path) != (size_t)sqlite3_value_bytes(value))
		return fail(cursor, SQLITE_ERROR, sqlite3_mprintf("%s: the path contains a NUL byte", path));
	cursor->path = sqlite3_mprintf("%s", path);
	return cursor->path ? SQLITE_OK : SQLITE_NOMEM;
}

static int cursor_filter(sqlite3_vtab_cursor *base, int plan, const char *plan_text, int argc, sqlite3_value **argv)
{
	struct trace_cursor *cursor = (struct trace_cursor *)base;
	const struct trace_function *function = function_of(cursor);
	struct trace_options options = function->options;
	char *message = NULL;
	int rc, status;

	(void)plan_text, (void)argc;
	forget_file(cursor);
	cursor->row = 0;
	if (!(plan & PLAN_PATH)) {
		sqlite3_free(base->pVtab->zErrMsg);
		base->pVtab->zErrMsg = sqlite3_mprintf("%s(path) needs the path of a trace file", function->name);
		return SQLITE_ERROR;
	}
	rc = take_path(cursor, argv[0]);
	if (rc != SQLITE_OK)
		return rc;
	if (plan & PLAN_DEPTH) {
		rc = chrometrace_depths_open(cursor->path, &cursor->depths, &message);
		if (rc != SQLITE_OK)
			return fail(cursor, rc, message);
	}
	options.args = plan & PLAN_ARGS;
	status = trace_reader_open(cursor->path, &options, &cursor->reader);
	return status < 0 ? reader_failed(cursor, status) : cursor_next(base);
}

static int cursor_eof(sqlite3_vtab_cursor *base)
{
	return ((struct trace_cursor *)base)->at_end;
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct trace_cursor *cursor = (struct trace_cursor *)base;
	const struct trace_function *function = function_of(cursor);

	if (column == function->path_column)
		sqlite3_result_text(context, cursor->path, -1, SQLITE_TRANSIENT);
	else
		function->result(context, &cursor->event, cursor->depth, column);
	return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
	*rowid = ((struct trace_cursor *)base)->row;
	return SQLITE_OK;
}

/* No xCreate: the tables are there under their own names, and CREATE VIRTUAL TABLE is refused. */
static const sqlite3_module trace_module = {
	.xConnect = table_connect,
	.xBestIndex = table_best_index,
	.xDisconnect = table_disconnect,
	.xOpen = cursor_open,
	.xClose = cursor_close,
	.xFilter = cursor_filter,
	.xNext = cursor_next,
	.xEof = cursor_eof,
	.xColumn = cursor_column,
	.xRowid = cursor_rowid,
};

__attribute__((visibility("default"))) int sqlite3_chrometrace_init(sqlite3 *database, char **message,
								    const sqlite3_api_routines *api);

int sqlite3_chrometrace_init(sqlite3 *database, char **message, const sqlite3_api_routines *api)
{
	static const struct trace_function *const functions[] = { &read_chrome_trace, &read_chrome_counters };
	int rc = SQLITE_OK;

	SQLITE_EXTENSION_INIT2(api);
	if (sqlite3_libversion_number() < 3038000) {
		*message = sqlite3_mprintf("chrometrace needs SQLite 3.38 or newer, this is %s", sqlite3_libversion());
		return SQLITE_ERROR;
	}
	for (size_t i = 0; rc == SQLITE_OK && i < sizeof functions / sizeof *functions; i++)
		rc = sqlite3_create_module_v2(database, functions[i]->name, &trace_module, (void *)functions[i], NULL);
	return rc;
}
