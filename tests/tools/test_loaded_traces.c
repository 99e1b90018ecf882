/* Four real traces, loaded and indexed, against answers that were computed elsewhere, to the last nanosecond; and files of all
 * formats, each row of which is to be as in SQLite, where it is compared with such answers. They lie in $IFOREST_TRACES
 * (X.json.gz beside X.expected.json); without them the tests skip. */
#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/sanitizer.h"
#include "tests/tools/harness.h"

/* The short ones first: the sanitizer is shown those alone. */
static const char *const traces[] = { "bazel_profile_queuing", "chrome_thread_time", "fuchsia_trace", "pytorch_hta_rank0" };
enum { N_SHORT = 2, N_TRACES = sizeof traces / sizeof *traces };

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *text;
	long n;

	if (!file)
		return NULL;
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	n = ftell(file);
	rewind(file);
	text = calloc(1, (size_t)n + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)n, file), (size_t)n);
	fclose(file);
	return text;
}

static const char *trace_path(const char *trace, const char *suffix, char path[400])
{
	const char *directory = getenv("IFOREST_TRACES");

	snprintf(path, 400, "%s/%s%s", directory ? directory : "../shared/data/traces", trace, suffix);
	return path;
}

/* Takes over the answers. */
static void insert_expected(char *json)
{
	const char *parameter = json;
	PGresult *result;

	run("DROP TABLE IF EXISTS expected; CREATE TABLE expected(json jsonb)");
	result = PQexecParams(pg, "INSERT INTO expected VALUES($1)", 1, NULL, &parameter, NULL, NULL, 0);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fail_msg("%s", PQerrorMessage(pg));
	PQclear(result);
	free(json);
}

static bool load_expected(const char *trace)
{
	char path[400], *json = read_file(trace_path(trace, ".expected.json", path));
	bool is_there = json;

	if (is_there)
		insert_expected(json);
	return is_there;
}


/* The answers of these files are about spans of threads that have an end. */
static void keep_closed_spans_of_threads(void)
{
	run("DELETE FROM spans WHERE kind <> 'thread' OR dur IS NULL");
}

static void check_spans(void)
{
	same_rows("SELECT count(*), sum(dur), min(dur), max(dur), min(ts), max(ts + dur), count(DISTINCT name) FROM spans",
		  "SELECT t ->> 'spans', t ->> 'sum', t ->> 'min', t ->> 'max', t ->> 'first_ts', t ->> 'last_end', t ->> 'distinct_names' "
		  "FROM (SELECT json -> 'totals' AS t FROM expected) x");
	same_rows("SELECT track, count(*), sum(dur), max(dur), max(depth) + 1 FROM spans GROUP BY track ORDER BY track COLLATE \"C\"",
		  "SELECT key, value ->> 'count', value ->> 'sum', value ->> 'max', value ->> 'max_depth' "
		  "FROM expected, jsonb_each(json -> 'tracks') ORDER BY key COLLATE \"C\"");
	same_rows("SELECT n, count(id), coalesce(sum(dur), 0), min(dur), max(dur) "
		  "FROM expected, jsonb_array_elements(json -> 'windows') WITH ORDINALITY w(window_, n) "
		  "LEFT JOIN spans ON ts >= (window_ ->> 'a')::bigint AND ts < (window_ ->> 'b')::bigint GROUP BY n ORDER BY n",
		  "SELECT n, value ->> 'count', value ->> 'sum', value ->> 'min', value ->> 'max' "
		  "FROM expected, jsonb_array_elements(json -> 'windows') WITH ORDINALITY w(value, n) ORDER BY n");
	assert_true(number_of("SELECT jsonb_array_length(json -> 'windows') FROM expected") >= 15);
}

/* Each window as a query with constant bounds, as users ask it. */
static void check_windows_one_by_one(void)
{
	PGresult *windows = PQexec(pg, "SELECT value ->> 'a', value ->> 'b', value ->> 'count', value ->> 'sum' "
				       "FROM expected, jsonb_array_elements(json -> 'windows')");

	for (int i = 0; i < PQntuples(windows); i++) {
		const char *a = PQgetvalue(windows, i, 0), *b = PQgetvalue(windows, i, 1);

		assert_int_equal(number_of("SELECT count(*) FROM spans WHERE ts >= %s AND ts < %s", a, b),
				 atoll(PQgetvalue(windows, i, 2)));
		assert_int_equal(number_of("SELECT coalesce(sum(dur), 0) FROM spans WHERE ts >= %s AND ts < %s", a, b),
				 atoll(PQgetvalue(windows, i, 3)));
	}
	PQclear(windows);
}

static void check_counters(void)
{
	if (number_of("SELECT json #>> '{stats,counter_series}' FROM expected") == 0) {
		assert_int_equal(number_of("SELECT count(*) FROM counters"), 0);
		return;
	}
	same_rows("SELECT concat(pid, '|', name, '|id=' || counter_id, '|', key) COLLATE \"C\", count(*), min(value), max(value), min(ts), max(ts), "
		  "round(sum(value)::numeric, 3) FROM counters GROUP BY 1 ORDER BY 1",
		  "SELECT key, value ->> 'n', (value ->> 'min')::float8, (value ->> 'max')::float8, value ->> 't0', value ->> 't1', "
		  "round((value ->> 'sum')::float8::numeric, 3) FROM expected, jsonb_each(json -> 'counters') ORDER BY key COLLATE \"C\"");
}

/* ---- The same rows as in SQLite ---- */

/* What tests/sqlite/test_chrometrace and tests/trace compare with the expected answers, through SQL and before. */
static const struct {
	const char *table, *loaded, *read;
} same_in_sqlite[] = {
	{ "spans", "id, ts, dur, pid, tid, track, name, category, args, depth, process, thread, span_id, parent_id, trace_id",
	  "rowid, ts_ns, dur_ns, pid, tid, track, name, category, args, depth, process, thread, id, parent, trace_id FROM read_trace(?1)" },
	{ "counters", "id, ts, pid, name, counter_id, key, value, unit, track",
	  "rowid, ts_ns, pid, name, id, key, value, unit, track FROM read_trace_counters(?1)" },
	{ "instants", "id, ts, pid, tid, track, name, category, args, instant_id",
	  "rowid, ts_ns, pid, tid, track, name, category, args, id FROM read_trace_instants(?1)" },
	{ "flows", "id, flow_id, name, category, from_span, from_instant, from_ts, from_track, to_span, to_instant, to_ts, to_track",
	  "rowid, id, name, category, from_span, from_instant, from_ts_ns, from_track, to_span, to_instant, to_ts_ns, to_track "
	  "FROM read_trace_flows(?1)" },
	{ "tracks", "id, track, kind, name, pid, tid, process, parent, sort_index, labels",
	  "rowid, track, kind, name, pid, tid, process, parent, sort_index, labels FROM read_trace_tracks(?1)" },
	{ "left_out", "finding, what, n", "finding, what, n FROM read_trace_report(?1) WHERE finding IN ('left out', 'mended')" },
};

enum { N_SAME = sizeof same_in_sqlite / sizeof *same_in_sqlite };

static sqlite3_stmt *prepare(sqlite3 *database, const char *path, const char *format, ...)
{
	sqlite3_stmt *statement;
	va_list arguments;
	char *sql;

	va_start(arguments, format);
	sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sqlite3_errmsg(database), sql);
	sqlite3_free(sql);
	if (sqlite3_bind_parameter_count(statement) > 0)
		sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC);
	return statement;
}

/* Four hexadecimal digits; -1 if they are none. */
static int unit_of(const char *digits)
{
	char copy[5] = "", *end;
	long unit;

	memcpy(copy, digits, strnlen(digits, 4));
	unit = strtol(copy, &end, 16);
	return end == copy + 4 ? (int)unit : -1;
}

/* The text as PostgreSQL can store it: no NUL, and in JSON no escape of one, nor of half a surrogate pair. */
static char *storable(const char *text, size_t n_bytes, bool is_json)
{
	char *copy = malloc(3 * n_bytes + 1), *at = copy;

	assert_non_null(copy);
	for (size_t i = 0; i < n_bytes; i++) {
		bool is_escape = is_json && text[i] == '\\';
		int unit = is_escape && text[i + 1] == 'u' ? unit_of(text + i + 2) : -1;
		int low = unit >= 0xD800 && unit < 0xDC00 && strncmp(text + i + 6, "\\u", 2) == 0 ? unit_of(text + i + 8) : -1;
		size_t n = !is_escape ? 1 : unit < 0 ? 2 : low >= 0xDC00 && low <= 0xDFFF ? 12 : 6;
		const char *piece = unit == 0 || (n == 6 && unit >= 0xD800 && unit <= 0xDFFF) ? "\\ufffd" : text + i;

		memcpy(at, text[i] ? piece : "\xEF\xBF\xBD", text[i] ? n : 3);
		at += text[i] ? n : 3;
		i += n - 1;
	}
	*at = 0;
	return copy;
}

static bool is_same_value(sqlite3_stmt *row, int column, const PGresult *result, int i)
{
	const char *value = PQgetvalue(result, i, column);
	char *text;
	bool is_same;

	if (PQgetisnull(result, i, column) || sqlite3_column_type(row, column) == SQLITE_NULL)
		return PQgetisnull(result, i, column) && sqlite3_column_type(row, column) == SQLITE_NULL;
	if (sqlite3_column_type(row, column) == SQLITE_FLOAT)
		return strtod(value, NULL) == sqlite3_column_double(row, column);
	text = storable((const char *)sqlite3_column_text(row, column), (size_t)sqlite3_column_bytes(row, column),
			strcmp(sqlite3_column_name(row, column), "args") == 0);
	is_same = strcmp(text, value) == 0;
	free(text);
	return is_same;
}

/* All columns of all rows, which both programs number. */
static void compare_table(sqlite3 *database, const char *table, const char *path)
{
	sqlite3_stmt *rows = prepare(database, path, "SELECT * FROM %s ORDER BY id", table);
	char sql[100];
	PGresult *result;
	int n = 0;

	snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY id", table);
	result = PQexec(pg, sql);
	assert_int_equal(PQnfields(result), sqlite3_column_count(rows));
	for (int i = 0; i < PQnfields(result); i++)
		assert_string_equal(PQfname(result, i), sqlite3_column_name(rows, i));
	for (; sqlite3_step(rows) == SQLITE_ROW; n++) {
		assert_true(n < PQntuples(result));
		for (int i = 0; i < PQnfields(result); i++) {
			if (!is_same_value(rows, i, result, n))
				fail_msg("%s: row %d of %s, %s: '%s' in PostgreSQL, '%s' in SQLite", path, n + 1, table, PQfname(result, i),
					 PQgetvalue(result, n, i), sqlite3_column_text(rows, i));
		}
	}
	assert_int_equal(PQntuples(result), n);
	PQclear(result);
	sqlite3_finalize(rows);
}

/* The functions give what the program has loaded. */
static void compare_functions(sqlite3 *database, int i, const char *path)
{
	sqlite3_stmt *rows = prepare(database, path,
				     "WITH loaded AS MATERIALIZED (SELECT %s FROM %s), read AS MATERIALIZED (SELECT %s) "
				     "SELECT 'loaded', * FROM (SELECT * FROM loaded EXCEPT SELECT * FROM read) UNION ALL "
				     "SELECT 'read', * FROM (SELECT * FROM read EXCEPT SELECT * FROM loaded)",
				     same_in_sqlite[i].loaded, same_in_sqlite[i].table, same_in_sqlite[i].read);

	if (sqlite3_step(rows) != SQLITE_DONE)
		fail_msg("%s: in %s, %s: %s %s %s", path, same_in_sqlite[i].table, sqlite3_errmsg(database), sqlite3_column_text(rows, 0),
			 sqlite3_column_text(rows, 1), sqlite3_column_text(rows, 2));
	sqlite3_finalize(rows);
}

/* Loads the trace; the answer is the database, or NULL if the trace is refused. */
static sqlite3 *load_into_sqlite(const char *path)
{
	const char *build = getenv("IFOREST_BUILD"), *file = file_path("t.db");
	char command[2000], module[500];
	sqlite3 *database;

	build = build && *build ? build : "build";
	snprintf(command, sizeof command, "'%s/trace2sqlite' --replace --no-index '%s' '%s' >/dev/null 2>&1", build, file, path);
	if (system(command) != 0)
		return NULL;
	assert_int_equal(sqlite3_open(file, &database), SQLITE_OK);
	snprintf(module, sizeof module, "%s%s/chrometrace", *build == '/' ? "" : "./", build);
	sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
	assert_int_equal(sqlite3_load_extension(database, module, NULL, NULL), SQLITE_OK);
	return database;
}

static void check_same_in_sqlite(const char *path)
{
	sqlite3 *database = load_into_sqlite(path);

	assert_non_null(database);
	for (int i = 0; i < N_SAME; i++) {
		compare_table(database, same_in_sqlite[i].table, path);
		compare_functions(database, i, path);
	}
	sqlite3_close(database);
}

static void a_real_trace_is_exact(void **state)
{
	char path[400];
	struct child child;

	if (!load_expected(*state)) {
		print_message("%s: skipped, it is not in $IFOREST_TRACES\n", (const char *)*state);
		skip();
	}
	LOAD(&child, 0, "--replace", "--batch", "10000", trace_path(*state, ".json.gz", path));
	check_same_in_sqlite(path);
	/* A column of one's own does not keep a load from going on. */
	run("ALTER TABLE spans ADD mine integer");
	LOAD(&child, 0, "--resume", path);
	keep_closed_spans_of_threads();
	check_windows_one_by_one();
	check_spans();
	check_counters();
	assert_int_equal(number_of("SELECT count(args) - count(args::jsonb) FROM spans"), 0);
}

/* A file that is no trace is refused by both. */
static void check_file(const char *path)
{
	const char *const arguments[] = { "--replace", "--no-index", path, NULL };
	struct child child;

	start_child(&child, arguments);
	wait_child(&child);
	if (child.status == 0) {
		check_same_in_sqlite(path);
	} else {
		assert_true((number_of("SELECT (json ? 'error')::int FROM expected") == 1 && strstr(child.err, ": byte ")) ||
			    strstr(child.err, "nothing in it is a span"));
		assert_null(load_into_sqlite(path));
	}
}

/* jsonb has no NUL. */
static bool load_answers(const char *path)
{
	char *json = read_file(path), *nul;

	if (!json)
		return false;
	while ((nul = strstr(json, "\\u0000")))
		memcpy(nul, "\\ufffd", 6);
	insert_expected(json);
	return true;
}

/* Every file of a folder that has expected answers beside it. */
static void every_file_gives_the_expected_model(void **state)
{
	const char *suffix = ".expected.json";
	char format_folder[400], path[800];
	struct dirent *entry;
	DIR *files;

	trace_path(*state, "", format_folder);
	files = opendir(format_folder);
	if (!files) {
		print_message("skipped: there is no folder %s\n", format_folder);
		skip();
	}
	while ((entry = readdir(files))) {
		size_t n_bytes = strlen(entry->d_name);

		if (n_bytes <= strlen(suffix) || strcmp(entry->d_name + n_bytes - strlen(suffix), suffix) != 0)
			continue;
		snprintf(path, sizeof path, "%s/%s", format_folder, entry->d_name);
		assert_true(load_answers(path));
		path[strlen(path) - strlen(suffix)] = 0;
		check_file(path);
	}
	closedir(files);
}

int main(void)
{
	static const char *const folders[] = { "formats/chrome_json", "formats/otlp", "formats/perfetto", "formats/spall" };
	enum { N_FOLDERS = sizeof folders / sizeof folders[0] };
	struct CMUnitTest tests[N_TRACES + N_FOLDERS];
	size_t n = sanitizer_shortens() ? N_SHORT : N_TRACES;

	for (size_t i = 0; i < n; i++)
		tests[i] = (struct CMUnitTest){ .name = traces[i],
						.test_func = a_real_trace_is_exact,
						.initial_state = (void *)traces[i] };
	for (size_t i = 0; i < N_FOLDERS; i++)
		tests[n + i] = (struct CMUnitTest){ .name = folders[i],
						    .test_func = every_file_gives_the_expected_model,
						    .initial_state = (void *)folders[i] };
	return _cmocka_run_group_tests("loaded traces", tests, n + N_FOLDERS, harness_start, harness_stop);
}
