/* tests/sqlite/test_line.c -- Tests of points of line charts, for random series and for counters of recorded traces in
 * $IFOREST_TRACES: iforest_lttb() against the algorithm as its author wrote it, MinMaxLTTB from an index against the same over
 * the smallest and the largest sample of each bucket, M4 against plain SQL. */
#include "harness.h"

#include <dirent.h>
#include <math.h>

struct point {
	int64_t ts;
	double v;
};

struct points {
	struct point *at;
	size_t n;
};

/* ---- the algorithms, step by step ---- */

/* Steinarsson 2013, section 4.2. A point's bucket follows from its position; areas are those of the triangles, not halved. */
static struct points reference_lttb(const struct points *all, size_t wanted)
{
	struct points chosen = { .at = malloc((all->n + wanted) * sizeof *chosen.at) };
	size_t within = all->n > 2 ? all->n - 2 : 0, n_buckets = wanted - 2, kept = 0;

	assert_non_null(chosen.at);
	if (all->n <= wanted) {
		memcpy(chosen.at, all->at, all->n * sizeof *all->at);
		chosen.n = all->n;
		return chosen;
	}
	chosen.at[chosen.n++] = all->at[0];
	for (size_t b = 0; b < n_buckets; b++) {
		double mean_ts = 0, mean_v = 0, greatest = -1;
		size_t n_next = 0, best = 0;

		/* point i + 1 is in bucket b if b = floor(i * buckets / within), rounded so that buckets have equal sizes */
		for (size_t i = 0; i < within; i++)
			if (i >= (b + 1) * within / n_buckets && i < (b + 2) * within / n_buckets) {
				mean_ts += (double)(all->at[i + 1].ts - all->at[0].ts);
				mean_v += all->at[i + 1].v;
				n_next++;
			}
		if (b + 1 == n_buckets) {
			mean_ts = (double)(all->at[all->n - 1].ts - all->at[0].ts);
			mean_v = all->at[all->n - 1].v;
			n_next = 1;
		}
		mean_ts /= (double)n_next;
		mean_v /= (double)n_next;
		for (size_t i = b * within / n_buckets; i < (b + 1) * within / n_buckets; i++) {
			const struct point *point = &all->at[i + 1], *before = &all->at[kept];
			double x = (double)(before->ts - all->at[0].ts), at = (double)(point->ts - all->at[0].ts);
			double area = fabs((x - mean_ts) * (point->v - before->v) - (x - at) * (mean_v - before->v));

			if (area > greatest) {
				greatest = area;
				best = i + 1;
			}
		}
		kept = best;
		chosen.at[chosen.n++] = all->at[kept];
	}
	chosen.at[chosen.n++] = all->at[all->n - 1];
	return chosen;
}

static int compare_points(const void *left, const void *right)
{
	const struct point *a = left, *b = right;

	if (a->ts != b->ts)
		return a->ts < b->ts ? -1 : 1;
	return (a->v > b->v) - (a->v < b->v);
}

static void keep_once(struct points *points, struct point point)
{
	for (size_t i = 0; i < points->n; i++)
		if (points->at[i].ts == point.ts && points->at[i].v == point.v)
			return;
	points->at[points->n++] = point;
}

/* Selects the smallest and the largest point of each bucket of time, and the first and the last of all. Points are ordered by
 * time, then id. */
static struct points reference_preselected(const struct points *all, int64_t t0, int64_t t1, int64_t n)
{
	struct points chosen = { .at = malloc((2 * all->n + 2) * sizeof *chosen.at) };
	const struct point *first = NULL, *last = NULL;

	assert_non_null(chosen.at);
	for (int64_t b = 0; b < n; b++) {
		const struct point *least = NULL, *most = NULL;

		for (size_t i = 0; i < all->n; i++) {
			const struct point *point = &all->at[i];

			if (point->ts < t0 + b * (t1 - t0) / n || point->ts >= t0 + (b + 1) * (t1 - t0) / n)
				continue;
			least = !least || point->v < least->v ? point : least;
			most = !most || point->v > most->v ? point : most;
			first = first ? first : point;
			last = point;
		}
		if (least)
			keep_once(&chosen, *least);
		if (most)
			keep_once(&chosen, *most);
	}
	if (first)
		keep_once(&chosen, *first);
	if (last)
		keep_once(&chosen, *last);
	qsort(chosen.at, chosen.n, sizeof *chosen.at, compare_points);
	return chosen;
}

/* ---- reading ---- */

static struct points read_points(sqlite3 *db, const char *sql)
{
	struct points points = { .at = malloc(sizeof *points.at) };
	sqlite3_stmt *statement;
	size_t n_reserved = 1;

	assert_non_null(points.at);
	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	while (sqlite3_step(statement) == SQLITE_ROW) {
		if (points.n == n_reserved) {
			n_reserved *= 2;
			points.at = realloc(points.at, n_reserved * sizeof *points.at);
			assert_non_null(points.at);
		}
		points.at[points.n++] = (struct point){ sqlite3_column_int64(statement, 0), sqlite3_column_double(statement, 1) };
	}
	if (sqlite3_finalize(statement))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	return points;
}

static void same_points(sqlite3 *db, const char *sql, const struct points *expected, const char *what)
{
	struct points got = read_points(db, sql);

	if (got.n != expected->n)
		fail_msg("%s: %zu points, not %zu: %s", what, got.n, expected->n, sql);
	for (size_t i = 0; i < got.n; i++)
		if (got.at[i].ts != expected->at[i].ts || got.at[i].v != expected->at[i].v)
			fail_msg("%s: point %zu is %lld, %.17g, not %lld, %.17g: %s", what, i, (long long)got.at[i].ts, got.at[i].v,
				 (long long)expected->at[i].ts, expected->at[i].v, sql);
	free(got.at);
}

#define OF_JSON "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each((%s)) ORDER BY key"

static void check_lttb(sqlite3 *db, const struct points *all, int64_t wanted)
{
	struct points expected = reference_lttb(all, (size_t)wanted);
	char *sql = sqlite3_mprintf(OF_JSON, "SELECT iforest_lttb(ts, v, %lld) FROM s"), *asked = sqlite3_mprintf(sql, wanted);

	same_points(db, asked, &expected, "LTTB");
	sqlite3_free(asked);
	sqlite3_free(sql);
	free(expected.at);
}

/* Runs the query of docs/charts.md. */
static void check_min_max_lttb(sqlite3 *db, const struct points *all, int64_t t0, int64_t t1, int64_t wanted)
{
	struct points selected = reference_preselected(all, t0, t1, 2 * wanted), expected = reference_lttb(&selected, (size_t)wanted);
	char *sql = sqlite3_mprintf(
		"WITH p AS MATERIALIZED (SELECT * FROM s_if(%lld, %lld, 2 * %lld)), w AS MATERIALIZED (SELECT * FROM s_if(%lld, %lld)),"
		" points(ts, v) AS (SELECT min_v_ts, min_v FROM p UNION SELECT max_v_ts, max_v FROM p UNION SELECT first_v_ts, first_v FROM w"
		"  UNION SELECT last_v_ts, last_v FROM w)"
		" SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]')"
		" FROM json_each((SELECT iforest_lttb(ts, v, %lld) FROM points)) ORDER BY key", t0, t1, wanted, t0, t1, wanted);

	same_points(db, sql, &expected, "MinMaxLTTB");
	sqlite3_free(sql);
	free(expected.at);
	free(selected.at);
}

static void check_m4(sqlite3 *db, int64_t t0, int64_t t1, int64_t n)
{
	char *sql = sqlite3_mprintf(
		"SELECT bucket, first_v_ts, first_v, first_v_id, min_v_ts, min_v, max_v_ts, max_v, last_v_ts, last_v, last_v_id"
		" FROM s_if(%lld, %lld, %lld) ORDER BY bucket", t0, t1, n);
	char *reference = sqlite3_mprintf(
		"WITH x AS (SELECT iforest_bucket(ts, %lld, %lld, %lld) AS b, * FROM s WHERE ts >= %lld AND ts < %lld),"
		" r AS (SELECT *, row_number() OVER (PARTITION BY b ORDER BY ts, id) AS f, row_number() OVER (PARTITION BY b ORDER BY ts DESC, id DESC) AS l,"
		"  row_number() OVER (PARTITION BY b ORDER BY v, ts, id) AS lo, row_number() OVER (PARTITION BY b ORDER BY v DESC, ts, id) AS hi FROM x)"
		" SELECT b, max(iif(f = 1, ts, NULL)), max(iif(f = 1, v, NULL)), max(iif(f = 1, id, NULL)), max(iif(lo = 1, ts, NULL)), max(iif(lo = 1, v, NULL)),"
		"  max(iif(hi = 1, ts, NULL)), max(iif(hi = 1, v, NULL)), max(iif(l = 1, ts, NULL)), max(iif(l = 1, v, NULL)), max(iif(l = 1, id, NULL))"
		" FROM r GROUP BY b ORDER BY b", t0, t1, n, t0, t1);

	same_rows(db, sql, reference);
	sqlite3_free(sql);
	sqlite3_free(reference);
}

/* Checks the series in the table s(id, ts, v). */
static void check_series(sqlite3 *db, struct random *random)
{
	struct points by_value, by_id;
	int64_t first, last;

	run(db, "CREATE VIRTUAL TABLE s_if USING iforest(content=s, time=ts, value=v)");
	by_value = read_points(db, "SELECT ts, v FROM s ORDER BY ts, v");
	by_id = read_points(db, "SELECT ts, v FROM s ORDER BY ts, id");
	first = by_id.n ? by_id.at[0].ts : 0;
	last = by_id.n ? by_id.at[by_id.n - 1].ts : 0;
	for (int i = 0; i < 4; i++) {
		int64_t wanted = 2 + random_below(random, i == 0 ? 4 : 200), t0 = first + random_below(random, 1 + (last - first) / 2),
			t1 = i == 1 ? last + 1 : t0 + 1 + random_below(random, 1 + last - t0);

		check_lttb(db, &by_value, wanted);
		check_min_max_lttb(db, &by_id, t0, t1, wanted);
		check_m4(db, t0, t1, wanted);
	}
	run(db, "DROP TABLE s_if");
	free(by_value.at);
	free(by_id.at);
}

/* ---- tests ---- */

static void lines_of_random_series(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 40; round++) {
		struct random random = { test_seed() + round };
		sqlite3 *db = open_database(":memory:", 0);
		int64_t n = random_below(&random, 1 + random_below(&random, 3000)), step = 1 + random_below(&random, 20), ts = -1000;
		bool is_real = one_in(&random, 2);

		run(db, "BEGIN; CREATE TABLE s(id INTEGER PRIMARY KEY, ts INTEGER, v)");
		for (int64_t i = 0; i < n; i++) {
			int64_t v = random_below(&random, 1000) - 300;

			ts += one_in(&random, 5) ? 0 : random_below(&random, step + 1);
			run(db, is_real ? "INSERT INTO s(ts, v) VALUES(%lld, %lld / 16.0)" : "INSERT INTO s(ts, v) VALUES(%lld, %lld)", ts, v);
		}
		run(db, "COMMIT");
		check_series(db, &random);
		close_database(db);
	}
}

/* Checks the counters with the most samples of each trace. */
static void lines_of_recorded_counters(void **state)
{
	const char *directory = getenv("IFOREST_TRACES") ? getenv("IFOREST_TRACES") : "../shared/data/traces";
	DIR *traces = opendir(directory);
	struct random random = { test_seed() };
	struct dirent *entry;
	unsigned n_series = 0;

	(void)state;
	if (!traces)
		skip();
	while ((entry = readdir(traces)) != NULL) {
		sqlite3 *db;
		char *error = NULL;

		if (!strstr(entry->d_name, ".json.gz"))
			continue;
		db = open_database(":memory:", 0);
		if (!load_library(db, "chrometrace.so", &error))
			fail_msg("cannot load chrometrace.so: %s", error);
		run(db, "CREATE TABLE c AS SELECT * FROM read_trace_counters('%q/%q')", directory, entry->d_name);
		for (int64_t place = 0; place < 3; place++) {
			run(db, "CREATE TABLE s(id INTEGER PRIMARY KEY, ts INTEGER, v);"
				"INSERT INTO s(ts, v) SELECT ts_ns, value FROM c WHERE value IS NOT NULL AND (track, name, key) IN"
				" (SELECT track, name, key FROM c GROUP BY 1, 2, 3 ORDER BY count(*) DESC, 1, 2, 3 LIMIT 1 OFFSET %lld)", place);
			if (integer_of(db, "SELECT count(*) FROM s") > 2) {
				check_series(db, &random);
				n_series++;
			}
			run(db, "DROP TABLE s");
		}
		close_database(db);
	}
	closedir(traces);
	print_message("%u recorded series\n", n_series);
}

static void what_is_no_line_is_refused(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run_gives(db, "\n", "SELECT iforest_lttb(1, 2, 3) WHERE false");
	run_gives(db, "[[1,2]]\n", "SELECT iforest_lttb(1, 2, 3)");
	run_gives(db, "[[1,2.5]]\n", "SELECT iforest_lttb(1, 2.5, 3)");
	run_gives(db, "[[-9223372036854775808,9223372036854775807],[9223372036854775807,1]]\n",
		  "WITH t(ts, v) AS (VALUES(9223372036854775807, 1), (0, 5), (-9223372036854775807 - 1, 9223372036854775807), (NULL, 9), (7, NULL))"
		  " SELECT iforest_lttb(ts, v, 2) FROM t");
	run_gives(db, "[[1,9e999],[2,-9e999]]\n", "WITH t(ts, v) AS (VALUES(1, 9e999), (2, -9e999)) SELECT iforest_lttb(ts, v, 9) FROM t");
	run_fails(db, "iforest_lttb: n must be at least 2", "SELECT iforest_lttb(1, 2, 1)");
	run_fails(db, "iforest_lttb: n must be at least 2", "SELECT iforest_lttb(1, 2, NULL)");
	run_fails(db, "iforest_lttb: a time is no integer", "SELECT iforest_lttb(1.5, 2, 3)");
	run_fails(db, "iforest_lttb: a value is not a number", "SELECT iforest_lttb(1, 'much', 3)");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_random_series),
		cmocka_unit_test(lines_of_recorded_counters),
		cmocka_unit_test(what_is_no_line_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
