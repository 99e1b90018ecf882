/* Four real traces, loaded and indexed, against answers that were computed elsewhere, to the last nanosecond. The traces lie in
 * $IFOREST_TRACES (X.json.gz beside X.expected.json); without them the tests skip. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tools/harness.h"

static const char *const traces[] = { "fuchsia_trace", "chrome_thread_time", "pytorch_hta_rank0", "bazel_profile_queuing" };

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
	run("DELETE FROM spans WHERE kind <> 'thread' OR dur < 0");
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

static void a_real_trace_is_exact(void **state)
{
	char path[400];
	struct child child;

	if (!load_expected(*state)) {
		print_message("%s: skipped, it is not in $IFOREST_TRACES\n", (const char *)*state);
		skip();
	}
	LOAD(&child, 0, "--replace", "--batch", "10000", trace_path(*state, ".json.gz", path));
	/* A column of one's own does not keep a load from going on. */
	run("ALTER TABLE spans ADD mine integer");
	LOAD(&child, 0, "--resume", path);
	keep_closed_spans_of_threads();
	check_windows_one_by_one();
	check_spans();
	check_counters();
	assert_int_equal(number_of("SELECT count(args) - count(args::jsonb) FROM spans"), 0);
}

/* Totals of everything, and all spans where the answers list them. Texts are compared as PostgreSQL stores them: without NUL, and
 * with one U+FFFD for each byte that is none. */
static void check_model(const char *path)
{
	struct child child;

	LOAD(&child, 0, "--replace", "--no-index", path);
	same_rows("SELECT count(*), count(*) FILTER (WHERE dur < 0), coalesce(sum(dur) FILTER (WHERE dur >= 0), 0), coalesce(max(depth) + 1, 0), "
		  "(SELECT count(*) FROM instants), (SELECT count(*) FROM flows), (SELECT count(*) FROM counters), "
		  "(SELECT coalesce(sum(n), 0) FROM left_out WHERE finding = 'left out'), "
		  "(SELECT count(*) FROM tracks WHERE kind = 'thread' AND name IS NOT NULL) FROM spans WHERE kind <> 'state'",
		  "SELECT json #>> '{totals,spans}', json #>> '{totals,unclosed}', json #>> '{totals,sum}', json #>> '{totals,max_depth}', "
		  "json #>> '{instants,n}', json #>> '{flows,n}', "
		  "(SELECT coalesce(sum((value ->> 'n')::int), 0) FROM jsonb_each(json -> 'counters')), "
		  "(SELECT coalesce(sum(value::int), 0) FROM jsonb_each_text(json -> 'left_out')), "
		  "(SELECT count(*) FROM jsonb_each(json #> '{names,thread}')) FROM expected");
	assert_int_equal(number_of("SELECT count(*) FROM (SELECT ts, dur, track, depth, category FROM spans WHERE kind <> 'state' EXCEPT ALL "
				   "SELECT (value ->> 'ts')::bigint, (value ->> 'dur')::bigint, value ->> 'track', (value ->> 'depth')::bigint, "
				   "value ->> 'cat' FROM expected, jsonb_array_elements(json -> 'spans')) d, expected WHERE json ? 'spans'"), 0);
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

static void every_json_file_gives_the_expected_model(void **state)
{
	const char *suffix = ".expected.json";
	char format_folder[400], path[800];
	struct dirent *entry;
	DIR *files;

	(void)state;
	trace_path("formats/chrome_json", "", format_folder);
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
		check_model(path);
	}
	closedir(files);
}

int main(void)
{
	enum { N_TRACES = sizeof traces / sizeof traces[0] };
	struct CMUnitTest tests[N_TRACES + 1] = { [N_TRACES] = cmocka_unit_test(every_json_file_gives_the_expected_model) };

	for (size_t i = 0; i < N_TRACES; i++)
		tests[i] = (struct CMUnitTest){ .name = traces[i],
						.test_func = a_real_trace_is_exact,
						.initial_state = (void *)traces[i] };
	return _cmocka_run_group_tests("loaded traces", tests, sizeof tests / sizeof tests[0], harness_start, harness_stop);
}
