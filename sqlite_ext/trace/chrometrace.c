/* sqlite_ext/trace/chrometrace.c -- Trace files as eponymous virtual tables; the entry point of chrometrace.so.
 *
 *     SELECT track, count(*), sum(dur_ns) FROM read_trace('trace.json.gz') GROUP BY track;
 *
 * Each query reads the file anew. trace/ has the readers and says what a span is; docs/traces.md is for users. The tables read
 * files, so they are SQLITE_VTAB_DIRECTONLY: the schema of a hostile database cannot use them.
 */
#include <sqlite3ext.h>
#include <stdbool.h>
#include <string.h>

#include "trace/record.h"
#include "trace/trace.h"

SQLITE_EXTENSION_INIT1

/* ---- Rows on their way from the reader to SQLite ---- */

enum { MOST_COLUMNS = 20 };

enum value_type { VALUE_NULL, VALUE_INTEGER, VALUE_REAL, VALUE_TEXT };

struct row_value {
	enum value_type type;
	sqlite3_int64 integer;
	double real;
	struct trace_text text;
};

/* A queue of packed rows: each is a row id, and the values of the columns that the query uses. */
struct row_queue {
	struct trace_record rows;
	size_t n_taken; /* bytes */
	sqlite3_uint64 used;
	int column; /* the next column of the row that is being put */
};

static void begin_row(struct row_queue *queue, sqlite3_int64 rowid)
{
	trace_put_i64(&queue->rows, rowid);
	queue->column = 0;
}

/* Moves to the next column. True if the query uses it. */
static bool takes_column(struct row_queue *queue)
{
	return queue->used >> queue->column++ & 1;
}

static void put_integer(struct row_queue *queue, sqlite3_int64 value)
{
	if (!takes_column(queue))
		return;
	trace_put_u8(&queue->rows, VALUE_INTEGER);
	trace_put_i64(&queue->rows, value);
}

/* Puts a value, or NULL if there is none. */
static void put_optional(struct row_queue *queue, bool is_there, sqlite3_int64 value)
{
	if (is_there)
		put_integer(queue, value);
	else if (takes_column(queue))
		trace_put_u8(&queue->rows, VALUE_NULL);
}

static void put_real(struct row_queue *queue, double value)
{
	uint64_t bits;

	if (!takes_column(queue))
		return;
	memcpy(&bits, &value, sizeof bits);
	trace_put_u8(&queue->rows, VALUE_REAL);
	trace_put_u64(&queue->rows, bits);
}

static void put_text(struct row_queue *queue, struct trace_text text)
{
	if (!takes_column(queue))
		return;
	trace_put_u8(&queue->rows, text.data ? VALUE_TEXT : VALUE_NULL);
	if (text.data)
		trace_put_text(&queue->rows, text);
}

static void put_word(struct row_queue *queue, const char *word)
{
	put_text(queue, (struct trace_text){ word, word ? strlen(word) : 0 });
}

static int end_row(const struct row_queue *queue)
{
	return queue->rows.out_of_memory ? TRACE_ERROR_MEMORY : TRACE_OK;
}

static void take_value(struct trace_unpacking *unpacking, struct row_value *value)
{
	uint64_t bits;

	value->type = trace_take_u8(unpacking);
	if (value->type == VALUE_INTEGER) {
		value->integer = trace_take_i64(unpacking);
	} else if (value->type == VALUE_REAL) {
		bits = trace_take_u64(unpacking);
		memcpy(&value->real, &bits, sizeof bits);
	} else if (value->type == VALUE_TEXT) {
		value->text = trace_take_text(unpacking);
	}
}

/* Takes the oldest row; false if there is none. Its texts are valid until the queue is cleared. */
static bool take_row(struct row_queue *queue, int n_columns, sqlite3_int64 *rowid, struct row_value *values)
{
	struct trace_unpacking unpacking = { queue->rows.bytes.data + queue->n_taken };

	if (queue->n_taken == queue->rows.bytes.n_bytes)
		return false;
	*rowid = trace_take_i64(&unpacking);
	for (int i = 0; i < n_columns; i++) {
		values[i].type = VALUE_NULL;
		if (queue->used >> i & 1)
			take_value(&unpacking, &values[i]);
	}
	queue->n_taken = (size_t)(unpacking.at - queue->rows.bytes.data);
	return true;
}

static void clear_rows(struct row_queue *queue)
{
	trace_record_clear(&queue->rows);
	queue->n_taken = 0;
}

/* ---- Tables ---- */

/* Bits of a plan, which xBestIndex passes to xFilter as idxNum; from COLUMNS_SHIFT on, a bit for each column that is used. argv
 * has the path, then the value of strict. */
enum plan { PLAN_PATH = 0x1, PLAN_STRICT = 0x2, COLUMNS_SHIFT = 2 };

struct trace_cursor;

struct trace_function {
	const char *name;
	const char *declaration;		       /* ends with the hidden columns path and strict */
	int n_columns;				       /* without the hidden ones */
	sqlite3_uint64 args_columns, complete_columns; /* those that need trace_options.args and .complete */
	struct trace_sink sink;
	void (*at_end)(struct trace_cursor *cursor); /* adds rows at the end of the file; or NULL */
};

struct trace_table {
	sqlite3_vtab base; /* must be first */
	const struct trace_function *function;
};

struct trace_cursor {
	sqlite3_vtab_cursor base; /* must be first */
	char *path;
	bool is_strict;
	struct trace *trace;
	struct row_queue queue;
	sqlite3_int64 n_rows; /* put so far; the row ids of rows that have no number of their own */
	sqlite3_int64 rowid;
	struct row_value values[MOST_COLUMNS];
	bool is_read, at_end;
};

#define HIDDEN_COLUMNS ", path TEXT HIDDEN, strict INTEGER HIDDEN)"

static struct trace_text no_text(void)
{
	return (struct trace_text){ NULL, 0 };
}

static void put_pid_and_tid(struct row_queue *queue, const struct trace_track *track, const struct trace_track *thread)
{
	put_text(queue, thread ? thread->pid : track->pid);
	put_text(queue, thread ? thread->tid : track->tid);
}

/* Returns the process that a track belongs to, or NULL. */
static const struct trace_track *process_of(const struct trace_track *track)
{
	while (track && track->kind != TRACE_TRACK_PROCESS)
		track = track->parent;
	return track;
}

static void put_span(struct row_queue *queue, const struct trace_span *span)
{
	begin_row(queue, (sqlite3_int64)span->number);
	put_integer(queue, span->ts_ns);
	put_optional(queue, span->dur_ns != TRACE_NEVER_CLOSED, span->dur_ns);
	put_pid_and_tid(queue, span->track, span->thread);
	put_text(queue, span->track->key);
	put_integer(queue, span->depth);
	put_text(queue, span->name);
	put_text(queue, span->category);
	put_text(queue, span->args);
}

static int on_span(void *context, const struct trace_span *span)
{
	struct row_queue *queue = &((struct trace_cursor *)context)->queue;
	const struct trace_track *thread = trace_thread_of(span->track, span->thread);
	const struct trace_track *process = process_of(thread ? thread : span->track);

	put_span(queue, span);
	put_text(queue, process ? process->name : no_text());
	put_text(queue, thread ? thread->name : no_text());
	put_text(queue, span->id);
	put_text(queue, span->parent_id);
	put_text(queue, span->trace_id);
	return end_row(queue);
}

/* Puts only spans of threads, and of these only spans that have an end. */
static int on_thread_span(void *context, const struct trace_span *span)
{
	struct row_queue *queue = &((struct trace_cursor *)context)->queue;

	if (span->track->kind != TRACE_TRACK_THREAD || span->dur_ns < 0)
		return TRACE_OK;
	put_span(queue, span);
	return end_row(queue);
}

static int on_sample(void *context, const struct trace_sample *sample)
{
	struct trace_cursor *cursor = context;
	struct row_queue *queue = &cursor->queue;

	begin_row(queue, ++cursor->n_rows);
	put_integer(queue, sample->ts_ns);
	put_text(queue, sample->track ? sample->track->pid : (struct trace_text){ "", 0 });
	put_text(queue, sample->name);
	put_text(queue, sample->id);
	put_text(queue, sample->key);
	put_real(queue, sample->value);
	put_text(queue, sample->unit);
	put_text(queue, sample->track ? sample->track->key : (struct trace_text){ "", 0 });
	return end_row(queue);
}

static int on_instant(void *context, const struct trace_instant *instant)
{
	struct row_queue *queue = &((struct trace_cursor *)context)->queue;

	begin_row(queue, (sqlite3_int64)instant->number);
	put_integer(queue, instant->ts_ns);
	put_pid_and_tid(queue, instant->track, instant->thread);
	put_text(queue, instant->track->key);
	put_text(queue, instant->name);
	put_text(queue, instant->category);
	put_text(queue, instant->args);
	put_text(queue, instant->id);
	return end_row(queue);
}

static void put_flow_end(struct row_queue *queue, const struct trace_flow_end *end)
{
	put_optional(queue, end->span, (sqlite3_int64)end->span);
	put_optional(queue, end->instant, (sqlite3_int64)end->instant);
	put_integer(queue, end->ts_ns);
	put_text(queue, end->track->key);
}

static int on_flow(void *context, const struct trace_flow *flow)
{
	struct trace_cursor *cursor = context;
	struct row_queue *queue = &cursor->queue;

	begin_row(queue, ++cursor->n_rows);
	put_text(queue, flow->id);
	put_text(queue, flow->name);
	put_text(queue, flow->category);
	put_flow_end(queue, &flow->from);
	put_flow_end(queue, &flow->to);
	return end_row(queue);
}

static int on_track(void *context, const struct trace_track *track)
{
	struct row_queue *queue = &((struct trace_cursor *)context)->queue;
	const struct trace_track *process = process_of(track);

	begin_row(queue, track->number);
	put_text(queue, track->key);
	put_word(queue, trace_track_kind_name(track->kind));
	put_text(queue, track->name);
	put_text(queue, track->pid);
	put_text(queue, track->tid);
	put_text(queue, process ? process->name : no_text());
	put_text(queue, track->parent ? track->parent->key : no_text());
	put_optional(queue, track->has_sort_index, track->sort_index);
	put_text(queue, track->labels);
	put_integer(queue, track->is_used);
	return end_row(queue);
}

/* A report needs all spans to be read, but keeps none. */
static int pass_span(void *context, const struct trace_span *span)
{
	(void)context, (void)span;
	return TRACE_OK;
}

static int pass_sample(void *context, const struct trace_sample *sample)
{
	(void)context, (void)sample;
	return TRACE_OK;
}

static int pass_instant(void *context, const struct trace_instant *instant)
{
	(void)context, (void)instant;
	return TRACE_OK;
}

static int pass_flow(void *context, const struct trace_flow *flow)
{
	(void)context, (void)flow;
	return TRACE_OK;
}

static void put_finding(struct trace_cursor *cursor, const char *finding, const char *what, uint64_t n)
{
	begin_row(&cursor->queue, ++cursor->n_rows);
	put_word(&cursor->queue, finding);
	put_word(&cursor->queue, what);
	put_integer(&cursor->queue, (sqlite3_int64)n);
}

static void put_report(struct trace_cursor *cursor)
{
	const struct trace_counts *counts = trace_counts(cursor->trace);
	const struct trace_report_line *line;

	put_finding(cursor, "format", trace_format_name(cursor->trace), counts->n_events);
	put_finding(cursor, "read", "spans", counts->n_spans);
	put_finding(cursor, "read", "counter samples", counts->n_samples);
	put_finding(cursor, "read", "instants", counts->n_instants);
	put_finding(cursor, "read", "flows", counts->n_flows);
	put_finding(cursor, "read", "tracks", counts->n_tracks);
	for (size_t i = 0; (line = trace_report(cursor->trace, i)); i++)
		put_finding(cursor, line->finding == TRACE_MENDED ? "mended" : "left out", line->what, line->n);
}

#define SPAN_COLUMNS \
	"ts_ns INTEGER, dur_ns INTEGER, pid TEXT, tid TEXT, track TEXT, depth INTEGER, name TEXT, category TEXT, args TEXT"
enum { DEPTH_COLUMN = 1 << 5, ARGS_COLUMN = 1 << 8, NAME_COLUMNS = 3 << 9, INSTANT_ARGS_COLUMN = 1 << 6 };

static const struct trace_function functions[] = {
	{
		.name = "read_trace",
		.declaration = "CREATE TABLE x(" SPAN_COLUMNS
			       ", process TEXT, thread TEXT, id TEXT, parent TEXT, trace_id TEXT" HIDDEN_COLUMNS,
		.n_columns = 14,
		.args_columns = ARGS_COLUMN,
		.complete_columns = DEPTH_COLUMN | NAME_COLUMNS,
		.sink = { .on_span = on_span },
	},
	{
		.name = "read_trace_counters",
		.declaration = "CREATE TABLE x(ts_ns INTEGER, pid TEXT, name TEXT, id TEXT, key TEXT, value REAL, unit TEXT, "
			       "track TEXT" HIDDEN_COLUMNS,
		.n_columns = 8,
		.sink = { .on_sample = on_sample },
	},
	{
		.name = "read_trace_instants",
		.declaration = "CREATE TABLE x(ts_ns INTEGER, pid TEXT, tid TEXT, track TEXT, name TEXT, category TEXT, "
			       "args TEXT, id TEXT" HIDDEN_COLUMNS,
		.n_columns = 8,
		.args_columns = INSTANT_ARGS_COLUMN,
		.sink = { .on_instant = on_instant },
	},
	{
		.name = "read_trace_flows",
		.declaration = "CREATE TABLE x(id TEXT, name TEXT, category TEXT, from_span INTEGER, from_instant INTEGER, "
			       "from_ts_ns INTEGER, from_track TEXT, to_span INTEGER, to_instant INTEGER, to_ts_ns INTEGER, "
			       "to_track TEXT" HIDDEN_COLUMNS,
		.n_columns = 11,
		.sink = { .on_flow = on_flow },
	},
	{
		.name = "read_trace_tracks",
		.declaration = "CREATE TABLE x(track TEXT, kind TEXT, name TEXT, pid TEXT, tid TEXT, process TEXT, "
			       "parent TEXT, sort_index INTEGER, labels TEXT, is_used INTEGER" HIDDEN_COLUMNS,
		.n_columns = 10,
		.sink = { .on_span = pass_span, .on_sample = pass_sample, .on_instant = pass_instant, .on_track = on_track },
	},
	{
		.name = "read_trace_report",
		.declaration = "CREATE TABLE x(finding TEXT, what TEXT, n INTEGER" HIDDEN_COLUMNS,
		.n_columns = 3,
		.sink = { .on_span = pass_span, .on_sample = pass_sample, .on_instant = pass_instant, .on_flow = pass_flow },
		.at_end = put_report,
	},
	{
		.name = "read_chrome_trace",
		.declaration = "CREATE TABLE x(" SPAN_COLUMNS HIDDEN_COLUMNS,
		.n_columns = 9,
		.args_columns = ARGS_COLUMN,
		.complete_columns = DEPTH_COLUMN,
		.sink = { .on_span = on_thread_span },
	},
	{
		.name = "read_chrome_counters",
		.declaration =
			"CREATE TABLE x(ts_ns INTEGER, pid TEXT, name TEXT, id TEXT, key TEXT, value REAL" HIDDEN_COLUMNS,
		.n_columns = 6,
		.sink = { .on_sample = on_sample },
	},
};

enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

/* ---- The methods of a table ---- */

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

/* Returns the number of the term that gives a hidden column its value, or -1; *is_unusable: there are such terms, but none can
 * be used. */
static int find_term(const sqlite3_index_info *info, int column, bool *is_unusable)
{
	*is_unusable = false;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *term = &info->aConstraint[i];

		if (term->iColumn != column || term->op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (term->usable)
			return i;
		*is_unusable = true;
	}
	return -1;
}

static int table_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	const struct trace_function *function = ((struct trace_table *)table)->function;
	sqlite3_uint64 columns = info->colUsed & (((sqlite3_uint64)1 << function->n_columns) - 1);
	int n_arguments = 0;

	info->idxNum = (int)(columns << COLUMNS_SHIFT);
	for (int i = 0; i < 2; i++) {
		bool is_unusable;
		int term = find_term(info, function->n_columns + i, &is_unusable);

		/* the value is known in another join order, which the planner then tries */
		if (term < 0 && is_unusable)
			return SQLITE_CONSTRAINT;
		if (term < 0)
			continue;
		info->aConstraintUsage[term].argvIndex = ++n_arguments;
		info->aConstraintUsage[term].omit = 1;
		info->idxNum |= i == 0 ? PLAN_PATH : PLAN_STRICT;
	}
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
	trace_close(cursor->trace);
	cursor->trace = NULL;
	clear_rows(&cursor->queue);
	sqlite3_free(cursor->path);
	cursor->path = NULL;
}

static int cursor_close(sqlite3_vtab_cursor *base)
{
	struct trace_cursor *cursor = (struct trace_cursor *)base;

	forget_file(cursor);
	trace_record_release(&cursor->queue.rows);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static int trace_failed(struct trace_cursor *cursor, int status)
{
	return fail(cursor, status == TRACE_ERROR_MEMORY ? SQLITE_NOMEM : SQLITE_ERROR,
		    sqlite3_mprintf("%s", trace_error(cursor->trace)));
}

/* Reads on until there is a row, or the end of the file is reached. */
static int cursor_next(sqlite3_vtab_cursor *base)
{
	struct trace_cursor *cursor = (struct trace_cursor *)base;
	const struct trace_function *function = function_of(cursor);

	while (!take_row(&cursor->queue, function->n_columns, &cursor->rowid, cursor->values)) {
		int status;

		clear_rows(&cursor->queue);
		if (cursor->is_read) {
			cursor->at_end = true;
			return SQLITE_OK;
		}
		status = trace_step(cursor->trace);
		/* rows that were read before an error are returned before it is reported */
		if (status < 0 && cursor->queue.rows.bytes.n_bytes == 0)
			return trace_failed(cursor, status);
		cursor->is_read = status == TRACE_OK;
		if (cursor->is_read && function->at_end)
			function->at_end(cursor);
		if (cursor->queue.rows.out_of_memory)
			return SQLITE_NOMEM;
	}
	return SQLITE_OK;
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
	sqlite3_uint64 columns = (unsigned)plan >> COLUMNS_SHIFT;
	struct trace_sink sink = function->sink;
	struct trace_options options = { .args = columns & function->args_columns,
					 .complete = columns & function->complete_columns };
	int rc, status;

	(void)plan_text, (void)argc;
	forget_file(cursor);
	cursor->n_rows = 0;
	cursor->is_read = cursor->at_end = false;
	cursor->queue.used = columns;
	if (!(plan & PLAN_PATH)) {
		sqlite3_free(base->pVtab->zErrMsg);
		base->pVtab->zErrMsg = sqlite3_mprintf("%s(path) needs the path of a trace file", function->name);
		return SQLITE_ERROR;
	}
	rc = take_path(cursor, argv[0]);
	if (rc != SQLITE_OK)
		return rc;
	cursor->is_strict = plan & PLAN_STRICT && sqlite3_value_int(argv[1]);
	options.strict = cursor->is_strict;
	sink.context = cursor;
	status = trace_open(cursor->path, &options, &sink, &cursor->trace);
	return status < 0 ? trace_failed(cursor, status) : cursor_next(base);
}

static int cursor_eof(sqlite3_vtab_cursor *base)
{
	return ((struct trace_cursor *)base)->at_end;
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct trace_cursor *cursor = (struct trace_cursor *)base;
	int n_columns = function_of(cursor)->n_columns;
	const struct row_value *value = &cursor->values[column];

	if (column == n_columns)
		sqlite3_result_text(context, cursor->path, -1, SQLITE_TRANSIENT);
	else if (column > n_columns)
		sqlite3_result_int(context, cursor->is_strict);
	else if (value->type == VALUE_INTEGER)
		sqlite3_result_int64(context, value->integer);
	else if (value->type == VALUE_REAL)
		sqlite3_result_double(context, value->real);
	else if (value->type == VALUE_TEXT)
		sqlite3_result_text64(context, value->text.data, value->text.n_bytes, SQLITE_TRANSIENT, SQLITE_UTF8);
	return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
	*rowid = ((struct trace_cursor *)base)->rowid;
	return SQLITE_OK;
}

/* Without xCreate the tables exist under their own names, and CREATE VIRTUAL TABLE is refused. */
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
	int rc = SQLITE_OK;

	SQLITE_EXTENSION_INIT2(api);
	if (sqlite3_libversion_number() < 3038000) {
		*message = sqlite3_mprintf("chrometrace needs SQLite 3.38 or newer, this is %s", sqlite3_libversion());
		return SQLITE_ERROR;
	}
	for (int i = 0; rc == SQLITE_OK && i < N_FUNCTIONS; i++)
		rc = sqlite3_create_module_v2(database, functions[i].name, &trace_module, (void *)&functions[i], NULL);
	return rc;
}
