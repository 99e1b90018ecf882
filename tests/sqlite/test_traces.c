/* tests/sqlite/test_traces.c -- Tests of four real traces whose answers were computed elsewhere, to the last nanosecond:
 * totals, every track, every window, every counter. The traces are in $IFOREST_TRACES (X.json.gz beside X.expected.json);
 * without them the tests are skipped. */
#include "harness.h"

#include "tests/support/sanitizer.h"

/* The short traces come first: the sanitizer runs only those. */
static const char *const traces[] = { "bazel_profile_queuing", "chrome_thread_time", "fuchsia_trace", "pytorch_hta_rank0" };
enum { N_SHORT = 2, N_TRACES = sizeof traces / sizeof *traces };

static char *trace_path(const char *trace, const char *suffix)
{
	const char *directory = getenv("IFOREST_TRACES");

	return sqlite3_mprintf("%s/%s%s", directory ? directory : "../shared/data/traces", trace, suffix);
}

/* Loads the file as a text into the table expected(json). */
static bool load_expected(sqlite3 *db, const char *trace)
{
	char *path = trace_path(trace, ".expected.json");
	FILE *file = fopen(path, "rb");
	sqlite3_stmt *insert;
	char *text;
	long n;

	sqlite3_free(path);
	if (!file)
		return false;
	fseek(file, 0, SEEK_END);
	n = ftell(file);
	rewind(file);
	text = malloc((size_t)n + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)n, file), (size_t)n);
	fclose(file);
	run(db, "CREATE TABLE expected(json TEXT)");
	assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO expected VALUES(?1)", -1, &insert, NULL), SQLITE_OK);
	sqlite3_bind_text(insert, 1, text, (int)n, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
	sqlite3_finalize(insert);
	free(text);
	return true;
}

/* Loads spans, counters and the expected answers. Returns NULL if there is no such trace. */
static sqlite3 *load_trace(const char *trace)
{
	sqlite3 *db = open_database(":memory:", 0);
	char *path = trace_path(trace, ".json.gz"), *error = NULL;

	if (!load_expected(db, trace)) {
		sqlite3_free(path);
		close_database(db);
		return NULL;
	}
	if (!load_library(db, "chrometrace.so", &error))
		fail_msg("cannot load chrometrace.so: %s", error);
	run(db, "CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, depth INTEGER, ts INTEGER, dur INTEGER, name TEXT);"
		"INSERT INTO spans(track, depth, ts, dur, name) SELECT track, depth, ts_ns, dur_ns, name FROM read_chrome_trace(%Q)", path);
	run(db, "CREATE TABLE samples(id INTEGER PRIMARY KEY, series TEXT, ts INTEGER, value REAL);"
		"INSERT INTO samples(series, ts, value) SELECT pid || '|' || name || coalesce('|id=' || id, '') || '|' || key, ts_ns, value"
		" FROM read_chrome_counters(%Q)", path);
	sqlite3_free(path);
	return db;
}

#define EXPECTED(path) "json_extract(expected.json, '$." path "')"
#define FIELD(name) "json_extract(e.value, '$." name "')"

/* `by_track` has one row per track, `all_spans` folds all tracks. */
static void check_spans(sqlite3 *db, const char *by_track, const char *all_spans)
{
	char *sql = sqlite3_mprintf("SELECT count, sum_dur, min_dur, max_dur, first_ts FROM %s", all_spans);

	same_rows(db, sql, "SELECT " EXPECTED("totals.spans") ", " EXPECTED("totals.sum") ", " EXPECTED("totals.min") ", " EXPECTED("totals.max") ", "
			   EXPECTED("totals.first_ts") " FROM expected");
	sqlite3_free(sql);

	sql = sqlite3_mprintf("SELECT track, count, sum_dur, max_dur FROM %s ORDER BY track", by_track);
	same_rows(db, sql, "SELECT e.key, " FIELD("count") ", " FIELD("sum") ", " FIELD("max") " FROM expected, json_each(expected.json, '$.tracks') e ORDER BY e.key");
	sqlite3_free(sql);

	sql = sqlite3_mprintf("SELECT e.key, coalesce(count, 0), coalesce(sum_dur, 0), min_dur, max_dur FROM expected, json_each(expected.json, '$.windows') e"
			      " LEFT JOIN %s ON t0 = " FIELD("a") " AND t1 = " FIELD("b") " ORDER BY e.key", all_spans);
	same_rows(db, sql, "SELECT e.key, " FIELD("count") ", " FIELD("sum") ", " FIELD("min") ", " FIELD("max")
			   " FROM expected, json_each(expected.json, '$.windows') e ORDER BY e.key");
	sqlite3_free(sql);

	sql = sqlite3_mprintf("SELECT e.key, total(count), coalesce(sum(sum_dur), 0), min(min_dur), max(max_dur) FROM expected, json_each(expected.json, '$.windows') e"
			      " LEFT JOIN %s ON t0 = " FIELD("a") " AND t1 = " FIELD("b") " GROUP BY e.key ORDER BY e.key", by_track);
	same_rows(db, sql, "SELECT e.key, " FIELD("count") ", " FIELD("sum") ", " FIELD("min") ", " FIELD("max")
			   " FROM expected, json_each(expected.json, '$.windows') e ORDER BY e.key");
	sqlite3_free(sql);
	assert_true(integer_of(db, "SELECT json_array_length(expected.json, '$.windows') FROM expected") >= 15);
}

/* Compares the rows of the longest spans, and all buckets of a screen, with plain SQL. */
static void check_screen(sqlite3 *db)
{
	run(db, "CREATE TABLE screen AS SELECT min(ts) AS a, max(ts) + 1 AS b FROM spans");
	same_rows(db, "SELECT track, bucket, count, sum_dur, max_dur FROM screen, by_track(a, b, 1920) ORDER BY track, bucket",
		  "WITH x AS (SELECT track, (ts - a) / ((b - a) / 1920) AS guess, ts - a AS d, b - a AS w, dur FROM spans, screen),"
		  " y AS (SELECT track, dur, (SELECT max(i) FROM (SELECT guess - 2 AS i UNION SELECT guess - 1 UNION SELECT guess UNION SELECT guess + 1)"
		  " WHERE i * (w / 1920) + i * (w % 1920) / 1920 <= d) AS bucket FROM x)"
		  " SELECT track, bucket, count(*), sum(dur), max(dur) FROM y GROUP BY track, bucket ORDER BY track, bucket");
	same_rows(db, "SELECT track, s.ts, s.dur, s.id FROM by_track JOIN spans s USING(track) WHERE s.id = max_dur_id ORDER BY track",
		  "SELECT track, ts, dur, id FROM (SELECT *, row_number() OVER (PARTITION BY track ORDER BY dur DESC, ts, id) AS place FROM spans)"
		  " WHERE place = 1 ORDER BY track");
}

/* Compares for every window the five longest spans, with ties by time and name, and the number of spans that reach into it. */
static void check_rows(sqlite3 *db, const char *rows)
{
	char *window = sqlite3_mprintf("%s WHERE ts >= " FIELD("a") " AND ts < " FIELD("b"), rows);
	char *sql = sqlite3_mprintf("SELECT e.key, (SELECT json_group_array(json_array(ts, dur, name)) FROM (SELECT r.ts, r.dur, s.name FROM (SELECT * FROM %s "
				    "AND dur >= (SELECT min(dur) FROM (SELECT dur FROM %s ORDER BY dur DESC LIMIT 5))) r JOIN spans s ON s.id = r.id "
				    "ORDER BY r.dur DESC, r.ts, s.name LIMIT 5)) FROM expected, json_each(expected.json, '$.windows') e ORDER BY e.key",
				    window, window);

	same_rows(db, sql, "SELECT e.key, " FIELD("top5") " FROM expected, json_each(expected.json, '$.windows') e ORDER BY e.key");
	sqlite3_free(sql);
	sqlite3_free(window);

	sql = sqlite3_mprintf("SELECT e.key, count(r.id) FROM expected, json_each(expected.json, '$.windows') e LEFT JOIN %s r ON t0 = " FIELD("a")
			      " AND t1 = " FIELD("b") " GROUP BY e.key ORDER BY e.key", rows);
	same_rows(db, sql, "SELECT e.key, " FIELD("overlap_instant") " FROM expected, json_each(expected.json, '$.windows') e ORDER BY e.key");
	sqlite3_free(sql);
}

/* A span without length counts as a point in [a, b). The expected half-open counts have it only within (a, b), the closed ones
 * in [a, b], with all spans that end at a. */
static void check_overlaps(sqlite3 *db, const char *overlaps)
{
	char *sql = sqlite3_mprintf(
		"SELECT e.key, coalesce((SELECT overlaps FROM %s(" FIELD("a") ", " FIELD("b") ")), 0) - (SELECT count(*) FROM spans WHERE ts = " FIELD("a") " AND dur = 0),"
		" coalesce((SELECT overlaps FROM %s(" FIELD("a") ", " FIELD("b") ")), 0),"
		" coalesce((SELECT overlaps FROM %s(" FIELD("a") " - 1, " FIELD("b") " + 1)), 0) - (SELECT count(*) FROM spans WHERE ts = " FIELD("a") " - 1 AND dur = 0)"
		" FROM expected, json_each(expected.json, '$.windows') e ORDER BY e.key", overlaps, overlaps, overlaps);

	same_rows(db, sql, "SELECT e.key, " FIELD("overlap_half_open") ", " FIELD("overlap_instant") ", " FIELD("overlap_closed")
			   " FROM expected, json_each(expected.json, '$.windows') e ORDER BY e.key");
	sqlite3_free(sql);
}

enum { N_PIXELS = 1920, MOST_TRACKS = 200 };

struct pixel {
	int64_t n, inside, longest, ts, id;
};

/* Adds a span to the pixels of its track, from that of its start, or the first, to that of its end. */
static void draw_span(struct pixel *pixels, const int64_t *bounds, int64_t ts, int64_t dur, int64_t id)
{
	int p = 0;

	for (int step = 1024; step > 0; step /= 2) /* the pixel starts at or before ts */
		p += p + step < N_PIXELS && bounds[p + step] <= ts ? step : 0;
	for (; p < N_PIXELS && (bounds[p] <= ts || bounds[p] < ts + dur); p++) {
		int64_t lo = bounds[p], hi = bounds[p + 1];
		struct pixel *pixel = &pixels[p];

		if (ts >= hi || (dur > 0 ? ts + dur <= lo : ts < lo))
			continue;
		if (pixel->n++ == 0) {
			pixel->longest = dur;
			pixel->ts = ts;
			pixel->id = id;
		}
		pixel->inside += dur > 0 ? (ts + dur < hi ? ts + dur : hi) - (ts > lo ? ts : lo) : 0;
	}
}

/* Computes the pixels from the spans. These are ordered by length, so that the longest one of a pixel comes first. */
static void expect_pixels(sqlite3 *db, int64_t a, int64_t b)
{
	struct pixel *pixels = calloc((size_t)MOST_TRACKS * N_PIXELS, sizeof *pixels);
	int64_t bounds[N_PIXELS + 1];
	sqlite3_stmt *spans, *insert;

	assert_non_null(pixels);
	for (int p = 0; p <= N_PIXELS; p++)
		bounds[p] = a + (int64_t)((__int128)p * (b - a) / N_PIXELS);
	run(db, "CREATE TABLE tracks AS SELECT track, row_number() OVER (ORDER BY track) - 1 AS number FROM (SELECT DISTINCT track FROM spans);"
		"CREATE TABLE pixels(number, bucket, n, inside, longest, ts, id)");
	sqlite3_prepare_v2(db, "SELECT number, ts, dur, id FROM spans JOIN tracks USING(track) ORDER BY dur DESC, ts, id", -1, &spans, NULL);
	while (sqlite3_step(spans) == SQLITE_ROW) {
		int64_t track = sqlite3_column_int64(spans, 0), ts = sqlite3_column_int64(spans, 1),
			dur = sqlite3_column_int64(spans, 2);

		assert_in_range(track, 0, MOST_TRACKS - 1);
		draw_span(&pixels[track * N_PIXELS], bounds, ts, dur, sqlite3_column_int64(spans, 3));
	}
	sqlite3_finalize(spans);
	run(db, "BEGIN");
	sqlite3_prepare_v2(db, "INSERT INTO pixels VALUES(?, ?, ?, ?, ?, ?, ?)", -1, &insert, NULL);
	for (int64_t i = 0; i < MOST_TRACKS * N_PIXELS; i++) {
		const struct pixel *pixel = &pixels[i];
		int64_t columns[] = {
			i / N_PIXELS, i % N_PIXELS, pixel->n, pixel->inside, pixel->longest, pixel->ts, pixel->id
		};

		for (int c = 0; c < 7; c++)
			sqlite3_bind_int64(insert, c + 1, columns[c]);
		if (pixel->n > 0)
			assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
		sqlite3_reset(insert);
	}
	sqlite3_finalize(insert);
	run(db, "COMMIT");
	free(pixels);
}

/* Compares what a timeline viewer draws by track, for all time and for the middle tenth. */
static void check_pixels(sqlite3 *db, const char *overlaps)
{
	int64_t a = integer_of(db, "SELECT min(ts) FROM spans"), b = integer_of(db, "SELECT max(ts + dur) FROM spans"), tenth = (b - a) / 10;

	for (int part = 0; part < 2; part++) {
		char *sql;

		expect_pixels(db, a + part * 4 * tenth, b - part * 5 * tenth);
		sql = sqlite3_mprintf("SELECT track, bucket, overlaps, clipped_dur, longest_dur, longest_dur_ts, longest_dur_id FROM %s(%lld, %lld, 1920)"
				      " ORDER BY track, bucket", overlaps, a + part * 4 * tenth, b - part * 5 * tenth);
		same_rows(db, sql, "SELECT track, bucket, n, inside, longest, ts, id FROM pixels JOIN tracks USING(number) ORDER BY track, bucket");
		sqlite3_free(sql);
		run(db, "DROP TABLE tracks; DROP TABLE pixels");
	}
}

static void check_counters(sqlite3 *db)
{
	run(db, "CREATE VIRTUAL TABLE counters USING iforest(content=samples, time=ts, value=value, by=series)");
	same_rows(db, "SELECT series, count, min_value, max_value, first_ts, last_ts FROM counters ORDER BY series",
		  "SELECT e.key, " FIELD("n") ", " FIELD("min") ", " FIELD("max") ", " FIELD("t0") ", " FIELD("t1")
		  " FROM expected, json_each(expected.json, '$.counters') e ORDER BY e.key");
	same_rows(db, "SELECT series, sum_value FROM counters ORDER BY series",
		  "SELECT e.key, " FIELD("sum") " FROM expected, json_each(expected.json, '$.counters') e ORDER BY e.key");
}

/* Compares counters over the middle third of the trace, and their values for each of 300 pixels. */
static void check_counters_over_time(sqlite3 *db)
{
	run(db, "CREATE VIRTUAL TABLE over_time USING iforest_counter(counters);"
		"CREATE TABLE middle AS SELECT min(ts) + (max(ts) - min(ts)) / 3 AS a, min(ts) + (max(ts) - min(ts)) / 3 + 300 * ((max(ts) - min(ts)) / 900 + 1) AS b"
		" FROM samples");
	same_rows(db, "SELECT series, count_value, increase_value, resets_value, twa_value FROM middle, over_time(a, b) ORDER BY series",
		  "WITH s AS (SELECT series, ts, value, lag(value) OVER w AS was, lead(ts, 1, 9223372036854775807) OVER w AS until FROM samples"
		  " WINDOW w AS (PARTITION BY series ORDER BY ts, id))"
		  " SELECT series, total(ts >= a), total(iif(ts < a, 0, iif(value < was, value, value - was))), total(ts >= a AND value < was),"
		  " sum(value * (min(until, b) - max(ts, a))) / sum(min(until, b) - max(ts, a))"
		  " FROM s, middle WHERE ts < b AND (ts >= a OR until > a) GROUP BY series HAVING sum(min(until, b) - max(ts, a)) > 0 ORDER BY series");
	run(db, "CREATE INDEX samples_by_time ON samples(series, ts, id)");
	same_rows(db, "SELECT series, bucket, last_value FROM middle, counters(a, b, 300) WHERE fill = 'last' ORDER BY series, bucket",
		  "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)"
		  " SELECT k.series, i, (SELECT value FROM samples s WHERE s.series = k.series AND s.ts < a + (i + 1) * ((b - a) / 300) ORDER BY ts DESC, id DESC LIMIT 1)"
		  " FROM (SELECT DISTINCT series FROM samples) k, n, middle ORDER BY k.series, i");
}

static void check_spread(sqlite3 *db)
{
	run(db, "CREATE VIRTUAL TABLE spread USING iforest(content=spans, time=ts, duration=dur, variance=dur, by=track)");
	same_rows(db, "SELECT track, var_dur, stddev_dur * stddev_dur FROM spread ORDER BY track",
		  "WITH m AS (SELECT track, avg(dur) AS mean, count(dur) AS n FROM spans GROUP BY track)"
		  " SELECT track, iif(n > 1, sum((dur - mean) * (dur - mean)) / (n - 1), NULL), iif(n > 1, sum((dur - mean) * (dur - mean)) / (n - 1), NULL)"
		  " FROM spans JOIN m USING(track) GROUP BY track ORDER BY track");
}

static void a_real_trace_is_exact(void **state)
{
	sqlite3 *db = load_trace(*state);

	if (!db) {
		print_message("%s: skipped, it is not in $IFOREST_TRACES\n", (const char *)*state);
		skip();
	}
	run(db, "CREATE VIRTUAL TABLE by_track USING iforest(content=spans, time=ts, duration=dur, by=track)");
	run(db, "CREATE VIRTUAL TABLE all_spans USING iforest_fold(by_track)");
	check_spans(db, "by_track", "all_spans");
	check_screen(db);
	run(db, "CREATE VIRTUAL TABLE rows_by_track USING iforest_rows(by_track)");
	check_rows(db, "rows_by_track");
	run(db, "CREATE VIRTUAL TABLE by_depth USING iforest(content=spans, time=ts, duration=dur, by=(track, depth))");
	run(db, "CREATE VIRTUAL TABLE rows_by_depth USING iforest_rows(by_depth)");
	check_rows(db, "rows_by_depth");
	run(db, "CREATE VIRTUAL TABLE folded_track USING iforest_fold(by_depth, track)");
	run(db, "CREATE VIRTUAL TABLE folded_all USING iforest_fold(by_depth)");
	check_spans(db, "folded_track", "folded_all");
	run(db, "CREATE VIRTUAL TABLE overlaps USING iforest_overlap(by_depth, track); CREATE VIRTUAL TABLE all_overlaps USING iforest_overlap(by_track, ())");
	check_overlaps(db, "all_overlaps");
	check_pixels(db, "overlaps");
	same_rows(db, "SELECT track, max(depth) - min(depth) + 1 FROM by_depth GROUP BY track ORDER BY track",
		  "SELECT e.key, " FIELD("max_depth") " FROM expected, json_each(expected.json, '$.tracks') e ORDER BY e.key");
	check_counters(db);
	check_counters_over_time(db);
	check_spread(db);
	run(db, "INSERT INTO by_track(by_track) VALUES('integrity-check'); INSERT INTO by_depth(by_depth) VALUES('integrity-check');"
		"INSERT INTO counters(counters) VALUES('integrity-check')");
	close_database(db);
}

int main(void)
{
	struct CMUnitTest tests[N_TRACES];
	size_t n = sanitizer_shortens() ? N_SHORT : N_TRACES;

	for (size_t i = 0; i < n; i++)
		tests[i] = (struct CMUnitTest){ .name = traces[i],
						.test_func = a_real_trace_is_exact,
						.initial_state = (void *)traces[i] };
	return _cmocka_run_group_tests("traces", tests, n, NULL, NULL);
}
