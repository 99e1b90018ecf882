#include "sqlite_ext/trace/chrometrace_depths.h"

#include <string.h>
#include <sys/stat.h>

#include "trace/chrome_trace.h"
#include "trace/span_depth.h"

struct chrometrace_depths {
	sqlite3 *database; /* private; a temporary file that SQLite deletes */
	sqlite3_stmt *in_order;
};

/* Nobody ever reads this file again, so nothing of it need survive a crash. */
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
		if (trace_span_depth_next(&stack, sqlite3_column_int64(sorted, 2), sqlite3_column_int64(sorted, 3), &depth) <
		    0)
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

/* The file has to be read twice. What does not exist is left to the reader's message. */
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

static void chrometrace_depths_close(struct chrometrace_depths *depths)
{
	if (!depths)
		return;
	sqlite3_finalize(depths->in_order);
	sqlite3_close(depths->database);
	sqlite3_free(depths);
}
