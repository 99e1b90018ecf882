#include "database.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

void time_limit_start(struct time_limit *limit, int n_seconds)
{
	limit->n_seconds = n_seconds;
	limit->deadline_ms = now_ms() + (int64_t)n_seconds * 1000;
}

bool time_limit_is_over(const struct time_limit *limit)
{
	return now_ms() >= limit->deadline_ms;
}

static int check_time(void *context)
{
	return time_limit_is_over(context);
}

const char *database_error(sqlite3 *db, int rc, const struct time_limit *limit)
{
	static _Thread_local char told[500]; /* other threads may ask through the connection meanwhile */
	const char *message = sqlite3_errcode(db) == rc ? sqlite3_errmsg(db) : sqlite3_errstr(rc);

	if (rc == SQLITE_INTERRUPT && time_limit_is_over(limit))
		message = "stopped, because it takes too long: TIMELINE_SECONDS says how long a query may take";
	snprintf(told, sizeof told, "%s", message);
	return told;
}

void database_complain(const char *format, ...)
{
	va_list arguments;
	char text[2000];

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	fputs("timeline: ", stderr);
	for (const char *at = text; *at; at++)
		fprintf(stderr, *at >= ' ' && *at <= '~' ? "%c" : "\\x%02x", (unsigned char)*at);
	fputc('\n', stderr);
}

/* What a stranger's file may make of a connection. */
static void restrain(sqlite3 *db, struct time_limit *limit)
{
	static const struct {
		int id, most;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, 64 << 20 },
		{ SQLITE_LIMIT_SQL_LENGTH, 1 << 20 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 500 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 50 },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 10 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100 },
	};

	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		sqlite3_limit(db, limits[i].id, limits[i].most);
	sqlite3_progress_handler(db, 1000, check_time, limit);
}

sqlite3 *database_open(const char *path, const char *extension, struct time_limit *limit)
{
	sqlite3 *db = NULL;
	char *message = NULL;

	/* one thread at a time asks, and locks would cost a tenth of a frame */
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL)) {
		database_complain("%s: %s", path, sqlite3_errmsg(db));
		sqlite3_close(db);
		return NULL;
	}
	restrain(db, limit);
	sqlite3_exec(db, "PRAGMA cell_size_check = 1", NULL, NULL, NULL);
	sqlite3_busy_timeout(db, LONGEST_WAIT_MS); /* who writes may lock the file for a moment */
	if (!extension)
		return db;
#ifndef SQLITE_OMIT_LOAD_EXTENSION
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
	if (sqlite3_load_extension(db, extension, NULL, &message)) {
		database_complain("%s (build it with make all, or name it with IFOREST=...)", message);
		sqlite3_free(message);
		sqlite3_close(db);
		return NULL;
	}
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
#endif
	return db;
}

bool database_prepare(sqlite3 *db, sqlite3_stmt **statement, const char *sql)
{
	if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) == SQLITE_OK)
		return true;
	database_complain("%s", sqlite3_errmsg(db));
	return false;
}

/* Also where it is not to be read, which then is an error of its own. */
static bool has_table(sqlite3 *db, const char *name)
{
	sqlite3_stmt *statement;
	bool has = false;

	if (sqlite3_prepare_v2(db, "SELECT 1 FROM sqlite_schema WHERE name = ?1", -1, &statement, NULL) == SQLITE_OK) {
		sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
		has = sqlite3_step(statement) == SQLITE_ROW;
	}
	sqlite3_finalize(statement);
	return has;
}

static void note_missing(const char *path, const char *what)
{
	database_complain("%s has no %s: load the trace again with trace2sqlite --replace, or see examples/timeline/index.sql",
			  path, what);
}

/* What the file is instead, where that can be told. */
static void note_no_spans(sqlite3 *db, const char *path)
{
	if (has_table(db, "StringIds") && (has_table(db, "CUPTI_ACTIVITY_KIND_RUNTIME") || has_table(db, "NVTX_EVENTS") ||
					   has_table(db, "TARGET_INFO_SESSION_START_TIME")))
		database_complain(
			"%s is an export of Nsight Systems, which the timeline does not show: docs/nsys.md has queries over it",
			path);
	else
		database_complain("%s has no table spans: trace2sqlite creates one from a trace", path);
}

/* An index, or two; without them what they are of is not shown. */
static bool is_indexed(sqlite3 *db, const char *path, const char *table, const char *index, const char *other)
{
	if (!has_table(db, table))
		return false;
	if (has_table(db, index) && has_table(db, other))
		return true;
	note_missing(path, has_table(db, index) ? other : index);
	return false;
}

bool database_tables(sqlite3 *db, const char *path, struct tables *tables)
{
	static const char *const needed[] = { "spans", "spans_if", "spans_overlap", "spans_rows" };

	if (sqlite3_exec(db, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL)) {
		database_complain("%s: %s", path, sqlite3_errmsg(db));
		return false;
	}
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
		if (!has_table(db, needed[i])) {
			if (i == 0)
				note_no_spans(db, path);
			else
				note_missing(path, needed[i]);
			return false;
		}
	}
	tables->tracks = has_table(db, "tracks");
	tables->left_out = has_table(db, "left_out");
	tables->counters = is_indexed(db, path, "counters", "counters_if", "counters_if");
	tables->instants = is_indexed(db, path, "instants", "instants_if", "instants_if");
	tables->flows = is_indexed(db, path, "flows", "flows_if", "flows_to_if");
	if ((!tables->tracks &&
	     sqlite3_exec(db, "CREATE TEMP TABLE tracks(id, track, kind, name, pid, tid, parent, sort_index, labels)", NULL,
			  NULL, NULL)) ||
	    (!tables->instants &&
	     sqlite3_exec(db, "CREATE TEMP TABLE instants_if(track, first_ts, last_ts, first_id)", NULL, NULL, NULL)) ||
	    (!tables->counters && sqlite3_exec(db,
					       "CREATE TEMP TABLE counters_if(track, name, counter_id, key, first_ts, last_ts, "
					       "min_value, max_value, max_value_id); CREATE TEMP TABLE counters(id, unit)",
					       NULL, NULL, NULL))) {
		database_complain("%s", sqlite3_errmsg(db));
		return false;
	}
	return true;
}
