/* sqlite_ext/trace/chrometrace.c -- Chrome trace files as eponymous virtual tables; the entry point of chrometrace.so.
 *
 *     SELECT track, count(*), sum(dur_ns) FROM read_chrome_trace('trace.json.gz') GROUP BY track;
 *
 * read_chrome_trace(path) has a row for each span, read_chrome_counters(path) one for each counter sample. trace/ has the
 * reader and says what a span is; docs/chrometrace.md is for users. The tables read files, so they are
 * SQLITE_VTAB_DIRECTONLY: the schema of a hostile database cannot use them.
 */
#include <sqlite3ext.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/chrome_trace.h"
#include "trace/span_depth.h"

SQLITE_EXTENSION_INIT1

/* ---- Depths of spans ---- */

/* The depths of all spans of a trace, in the order in which the reader returns the spans.
 *
 * A depth is known only when the spans of its track are sorted, so it takes another pass over the file. A private temporary
 * SQLite database sorts the spans and spills to disk: memory does not grow with the file. */
struct chrometrace_depths {
	sqlite3 *database; /* private; a temporary file that SQLite deletes */
	sqlite3_stmt *in_order;
};

/* NULL is allowed. */
static void chrometrace_depths_close(struct chrometrace_depths *depths)
{
	if (!depths)
		return;
	sqlite3_finalize(depths->in_order);
	sqlite3_close(depths->database);
	sqlite3_free(depths);
}

/* The file is never read again, so it need not survive a crash. */
static const char schema_sql[] = "PRAGMA journal_mode = OFF;"
				 "PRAGMA synchronous = OFF;"
				 "PRAGMA temp_store = FILE;"
				 "PRAGMA cache_size = -1000;"
				 "BEGIN;"
				 "CREATE TABLE span(seq INTEGER PRIMARY KEY, track TEXT, ts_ns INT, dur_ns INT);"
				 "CREATE TABLE depth(seq INT, depth INT);";

static const char insert_span_sql[] = "INSERT INTO span(track, ts_ns, dur_ns) VALUES(?1, ?2, ?3)";
static const char sorted_spans_sql[] = "SELECT seq, track, ts_ns, dur_ns FROM span ORDER BY track, ts_ns, dur_ns DESC, seq";
static const char insert_depth_sql[] = "INSERT INTO depth(seq, depth) VALUES(?1, ?2)";
static const char depths_sql[] = "SELECT depth FROM depth ORDER BY seq";

static int database_failed(struct chrometrace_depths *depths, int rc, char **message)
{
	*message = sqlite3_mprintf("depth cannot be computed: %s", sqlite3_errmsg(depths->database));
	return rc;
}

static int prepare(struct chrometrace_depths *depths, const char *sql, sqlite3_stmt **statement, char **message)
{
	int rc = sqlite3_prepare_v2(depths->database, sql, -1, statement, NULL);

	return rc == SQLITE_OK ? SQLITE_OK : database_failed(depths, rc, message);
}

static int insert_row(struct chrometrace_depths *depths, sqlite3_stmt *insert, char **message)
{
	sqlite3_step(insert);
	return sqlite3_reset(insert) == SQLITE_OK ? SQLITE_OK
						  : database_failed(depths, sqlite3_errcode(depths->database), message);
}

static int load_spans(struct chrometrace_depths *depths, const char *path, char **message)
{
	struct trace_options options = { .spans = true };
	struct trace_reader *reader = NULL;
	struct trace_event span;
	sqlite3_stmt *insert = NULL;
	int status, rc = prepare(depths, insert_span_sql, &insert, message);

	if (rc != SQLITE_OK)
		return rc;
	status = trace_reader_open(path, &options, &reader);
	while (rc == SQLITE_OK && status >= 0 && (status = trace_reader_next(reader, &span)) == TRACE_ROW) {
		sqlite3_bind_text64(insert, 1, span.track.data, span.track.n_bytes, SQLITE_STATIC, SQLITE_UTF8);
		sqlite3_bind_int64(insert, 2, span.ts_ns);
		sqlite3_bind_int64(insert, 3, span.dur_ns);
		rc = insert_row(depths, insert, message);
	}
	if (rc == SQLITE_OK && status < 0) {
		rc = status == TRACE_ERROR_MEMORY ? SQLITE_NOMEM : SQLITE_ERROR;
		*message = sqlite3_mprintf("%s", trace_reader_error(reader));
	}
	trace_reader_close(reader);
	sqlite3_finalize(insert);
	return rc;
}

static bool same_track(const struct trace_bytes *track, sqlite3_stmt *sorted)
{
	struct trace_text text = { (const char *)sqlite3_column_text(sorted, 1), (size_t)sqlite3_column_bytes(sorted, 1) };

	return track->n_bytes == text.n_bytes && memcmp(track->data, text.data, text.n_bytes) == 0;
}

static int remember_track(struct trace_bytes *track, sqlite3_stmt *sorted)
{
	struct trace_text text = { (const char *)sqlite3_column_text(sorted, 1), (size_t)sqlite3_column_bytes(sorted, 1) };

	trace_bytes_clear(track);
	return trace_bytes_append(track, text, NULL);
}

static int store_depths(struct chrometrace_depths *depths, char **message)
{
	struct trace_span_depth stack = { 0 };
	struct trace_bytes track = { 0 };
	sqlite3_stmt *sorted = NULL, *insert = NULL;
	int rc = prepare(depths, sorted_spans_sql, &sorted, message);

	if (rc == SQLITE_OK)
		rc = prepare(depths, insert_depth_sql, &insert, message);
	while (rc == SQLITE_OK && (rc = sqlite3_step(sorted)) == SQLITE_ROW) {
		int64_t depth;

		rc = SQLITE_NOMEM;
		if (!same_track(&track, sorted)) {
			if (remember_track(&track, sorted) < 0)
				break;
			trace_span_depth_start_track(&stack);
		}
		if (trace_span_depth_next(&stack, sqlite3_column_int64(sorted, 2), sqlite3_column_int64(sorted, 3), &depth) < 0)
			break;
		sqlite3_bind_int64(insert, 1, sqlite3_column_int64(sorted, 0));
		sqlite3_bind_int64(insert, 2, depth);
		rc = insert_row(depths, insert, message);
	}
	if (rc == SQLITE_DONE)
		rc = SQLITE_OK;
	else if (rc != SQLITE_OK && rc != SQLITE_NOMEM && !*message)
		database_failed(depths, rc, message);
	sqlite3_finalize(insert);
	sqlite3_finalize(sorted);
	trace_bytes_release(&track);
	trace_span_depth_release(&stack);
	return rc;
}

/* Refuses a file that cannot be read twice. A missing file is left to the reader's message. */
static int check_regular_file(const char *path, char **message)
{
	struct stat file;

	if (stat(path, &file) != 0 || S_ISREG(file.st_mode))
		return SQLITE_OK;
	*message = sqlite3_mprintf("%s: the column depth needs to read the file twice, and this is not a regular file; "
				   "select the other columns only",
				   path);
	return SQLITE_ERROR;
}

static int open_database(struct chrometrace_depths *depths, char **message)
{
	int rc = sqlite3_open_v2("", &depths->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(depths->database, schema_sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? SQLITE_OK : database_failed(depths, rc, message);
}

/* Computes the depths of the spans of a trace.
 * Returns SQLITE_OK, or an error with *message (to be freed with sqlite3_free; NULL if out of memory) and
 * *depths = NULL.
 * O(n log n) for n spans. */
static int chrometrace_depths_open(const char *path, struct chrometrace_depths **depths, char **message)
{
	struct chrometrace_depths *opened;
	int rc;

	*depths = NULL;
	*message = NULL;
	rc = check_regular_file(path, message);
	if (rc != SQLITE_OK)
		return rc;
	opened = sqlite3_malloc64(sizeof *opened);
	if (!opened)
		return SQLITE_NOMEM;
	*opened = (struct chrometrace_depths){ 0 };
	rc = open_database(opened, message);
	if (rc == SQLITE_OK)
		rc = load_spans(opened, path, message);
	if (rc == SQLITE_OK)
		rc = store_depths(opened, message);
	if (rc == SQLITE_OK)
		rc = prepare(opened, depths_sql, &opened->in_order, message);
	if (rc == SQLITE_OK)
		*depths = opened;
	else
		chrometrace_depths_close(opened);
	return rc;
}

/* Returns the depth of the next span.
 * Returns SQLITE_ROW, SQLITE_DONE if there were no more spans, or an error as above. */
static int chrometrace_depths_next(struct chrometrace_depths *depths, sqlite3_int64 *depth, char **message)
{
	int rc = sqlite3_step(depths->in_order);

	*message = NULL;
	if (rc == SQLITE_ROW)
		*depth = sqlite3_column_int64(depths->in_order, 0);
	else if (rc != SQLITE_DONE)
		database_failed(depths, rc, message);
	return rc;
}

/* ---- Virtual tables ---- */

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

/* One of the two tables. */
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
	struct chrometrace_depths *depths; /* NULL unless requested */
	struct trace_event event;	   /* the current row */
	sqlite3_int64 depth;		   /* of the current row, if requested */
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
	case SPAN_TS_NS:
		sqlite3_result_int64(context, span->ts_ns);
		break;
	case SPAN_DUR_NS:
		sqlite3_result_int64(context, span->dur_ns);
		break;
	case SPAN_PID:
		result_text(context, span->pid);
		break;
	case SPAN_TID:
		result_text(context, span->tid);
		break;
	case SPAN_TRACK:
		result_text(context, span->track);
		break;
	case SPAN_DEPTH:
		sqlite3_result_int64(context, depth);
		break;
	case SPAN_NAME:
		result_text(context, span->name);
		break;
	case SPAN_CATEGORY:
		result_text(context, span->category);
		break;
	case SPAN_ARGS:
		result_text(context, span->args);
		break;
	case SPAN_PATH:
		break;
	}
}

static void result_of_counter(sqlite3_context *context, const struct trace_event *sample, sqlite3_int64 depth, int column)
{
	(void)depth;
	switch ((enum counter_column)column) {
	case COUNTER_TS_NS:
		sqlite3_result_int64(context, sample->ts_ns);
		break;
	case COUNTER_PID:
		result_text(context, sample->pid);
		break;
	case COUNTER_NAME:
		result_text(context, sample->name);
		break;
	case COUNTER_ID:
		result_text(context, sample->id);
		break;
	case COUNTER_KEY:
		result_text(context, sample->key);
		break;
	case COUNTER_VALUE:
		sqlite3_result_double(context, sample->value);
		break;
	case COUNTER_PATH:
		break;
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
	/* the path is known in another join order: the planner is to try that */
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
