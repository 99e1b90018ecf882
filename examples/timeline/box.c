#include "box.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* ---- what is allowed ---- */

static bool is_one_of(const char *name, const char *const *names)
{
	for (; name && *names; names++)
		if (sqlite3_stricmp(name, *names) == 0)
			return true;
	return false;
}

/* The schema may be looked at. The settings are what the extension itself asks, and may be read, not set. */
static bool may_pragma(const char *name, const char *argument)
{
	static const char *const described[] = { "table_info", "table_xinfo", "table_list", "index_list", "index_info", NULL };
	static const char *const settings[] = { "cache_size",	"count_changes",    "database_list",
						"data_version", "read_uncommitted", "schema_version",
						"temp_store",	"function_list",    NULL };

	return is_one_of(name, described) || (!argument && is_one_of(name, settings));
}

/* Functions and tables that reach beyond the database, should a library or a later version bring them. */
static bool reaches_out(const char *name)
{
	static const char *const names[] = { "load_extension", "readfile",	 "writefile", "fsdir",
					     "edit",	       "fts3_tokenizer", "zipfile",   NULL };

	return is_one_of(name, names) ||
	       (name && (sqlite3_strnicmp(name, "read_trace", 10) == 0 || sqlite3_strnicmp(name, "read_chrome", 11) == 0));
}

static int authorize(void *context, int action, const char *first, const char *second, const char *schema, const char *trigger)
{
	bool is_allowed = false;

	(void)context, (void)schema, (void)trigger;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
		is_allowed = true;
		break;
	case SQLITE_READ:
		is_allowed = !reaches_out(first);
		break;
	case SQLITE_FUNCTION:
		is_allowed = !reaches_out(second);
		break;
	case SQLITE_UPDATE:
		/* SQLite asks this of a virtual table's declaration, which is then not run; of an UPDATE the table is refused later */
		is_allowed = sqlite3_stricmp(first, "sqlite_master") == 0;
		break;
	case SQLITE_PRAGMA:
		is_allowed = may_pragma(first, second);
		break;
	default:
		break;
	}
	return is_allowed ? SQLITE_OK : SQLITE_DENY;
}

bool box_open(struct box *box, const char *path, const char *extension, int n_seconds)
{
	pthread_mutex_init(&box->lock, NULL);
	box->n_seconds = n_seconds;
	time_limit_start(&box->limit, n_seconds);
	box->db = database_open(path, extension, &box->limit);
	if (!box->db)
		return false;
	sqlite3_exec(box->db, "PRAGMA query_only = 1", NULL, NULL, NULL);
	sqlite3_limit(box->db, SQLITE_LIMIT_SQL_LENGTH, BOX_SQL_BYTES);
	sqlite3_set_authorizer(box->db, authorize, box);
	return true;
}

/* ---- the answer ---- */

static void append_blob(struct bytes *out, const unsigned char *blob, int n)
{
	int n_shown = n > BOX_CELL_BYTES / 2 ? BOX_CELL_BYTES / 2 : n;

	bytes_print(out, "\"X'");
	for (int i = 0; i < n_shown; i++)
		bytes_print(out, "%02x", blob[i]);
	bytes_print(out, n_shown < n ? "…\"" : "'\"");
}

static void append_cell(struct bytes *out, sqlite3_stmt *statement, int column)
{
	int n, type = sqlite3_column_type(statement, column);
	const char *text;

	bytes_append(out, ", ", 2);
	if (type == SQLITE_BLOB) {
		const unsigned char *blob = sqlite3_column_blob(statement, column);

		append_blob(out, blob, sqlite3_column_bytes(statement, column));
		return;
	}
	text = (const char *)sqlite3_column_text(statement, column);
	n = sqlite3_column_bytes(statement, column);
	if (n <= BOX_CELL_BYTES) {
		bytes_quote(out, text ? text : "", text ? (size_t)n : 0);
		return;
	}
	for (n = BOX_CELL_BYTES; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
		; /* not within a character */
	bytes_quote(out, text, (size_t)n);
	out->n--;
	bytes_print(out, "…\"");
}

static void append_row(struct bytes *out, sqlite3_stmt *statement, int n_columns)
{
	static const char letters[] = {
		[SQLITE_INTEGER] = 'i', [SQLITE_FLOAT] = 'r', [SQLITE_TEXT] = 't', [SQLITE_BLOB] = 'b', [SQLITE_NULL] = 'n'
	};

	bytes_append(out, "[\"", 2);
	for (int i = 0; i < n_columns; i++)
		bytes_append(out, &letters[sqlite3_column_type(statement, i)], 1);
	bytes_append(out, "\"", 1);
	for (int i = 0; i < n_columns; i++)
		append_cell(out, statement, i);
	bytes_append(out, "]", 1);
}

/* Returns the status of the last step. */
static int append_rows(struct bytes *out, sqlite3_stmt *statement)
{
	int n_columns = sqlite3_column_count(statement), n_rows = 0, rc;
	bool is_cut = false;

	bytes_print(out, "{\"columns\": [");
	for (int i = 0; i < n_columns; i++) {
		bytes_append(out, ", ", i ? 2 : 0);
		bytes_quote_text(out, sqlite3_column_name(statement, i));
	}
	bytes_print(out, "], \"rows\": [");
	while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
		is_cut = n_rows == BOX_ROWS || out->n > BOX_ANSWER_BYTES;
		if (is_cut)
			break;
		bytes_append(out, ",\n", n_rows++ ? 2 : 0);
		append_row(out, statement, n_columns);
	}
	bytes_print(out, "], \"is_cut\": %s", is_cut ? "true" : "false");
	return is_cut ? SQLITE_DONE : rc;
}

static void bind_window(sqlite3_stmt *statement, int64_t t0, int64_t t1)
{
	for (int i = 1; i <= sqlite3_bind_parameter_count(statement); i++) {
		const char *name = sqlite3_bind_parameter_name(statement, i);

		if (name && strcmp(name + 1, "t0") == 0)
			sqlite3_bind_int64(statement, i, t0);
		else if (name && strcmp(name + 1, "t1") == 0)
			sqlite3_bind_int64(statement, i, t1);
	}
}

/* In the words of the one who asked. */
static char *explain(struct box *box, int rc)
{
	const char *message = sqlite3_errmsg(box->db);
	char *error = NULL;

	if (rc == SQLITE_INTERRUPT && time_limit_is_over(&box->limit))
		return asprintf(&error, "stopped after %d seconds", box->n_seconds) < 0 ? NULL : error;
	if (rc == SQLITE_INTERRUPT)
		return strdup("stopped");
	if (rc == SQLITE_AUTH || rc == SQLITE_READONLY || strcmp(message, "not authorized") == 0 ||
	    strncmp(message, "no such table: read_", 20) == 0)
		return asprintf(&error, "this box only reads the database that is shown: %s", message) < 0 ? NULL : error;
	return strdup(message);
}

static char *ask(struct box *box, const char *sql, int64_t t0, int64_t t1, struct bytes *out)
{
	sqlite3_stmt *statement = NULL, *second = NULL;
	const char *rest;
	char *error = NULL;
	int rc = sqlite3_prepare_v2(box->db, sql, -1, &statement, &rest);

	if (rc)
		return explain(box, rc);
	if (!statement)
		return strdup("there is no statement");
	/* what follows may be a comment */
	if (sqlite3_prepare_v2(box->db, rest, -1, &second, NULL) || second) {
		error = strdup("one statement at a time");
	} else if (!sqlite3_stmt_readonly(statement)) {
		error = strdup("this box only reads the database that is shown");
	} else {
		bind_window(statement, t0, t1);
		rc = append_rows(out, statement);
		error = rc == SQLITE_DONE ? NULL : explain(box, rc);
	}
	sqlite3_finalize(second);
	sqlite3_finalize(statement);
	return error;
}

char *box_ask(struct box *box, const char *sql, int64_t t0, int64_t t1, struct bytes *out)
{
	int64_t began;
	char *error;

	pthread_mutex_lock(&box->lock);
	began = now_us();
	time_limit_start(&box->limit, box->n_seconds);
	error = ask(box, sql, t0, t1, out);
	bytes_print(out, ", \"ms\": %.2f}", (double)(now_us() - began) / 1e3);
	pthread_mutex_unlock(&box->lock);
	if (!error && out->failed)
		error = strdup(sqlite3_errstr(SQLITE_NOMEM));
	return error;
}

void box_stop(struct box *box)
{
	sqlite3_interrupt(box->db);
}
