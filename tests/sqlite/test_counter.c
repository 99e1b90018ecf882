/* tests/sqlite/test_counter.c -- Tests of iforest_counter against plain SQL with window functions, and over random tables,
 * windows and changes against the definitions of docs/sqlite_counter.md, row by row in 128 bits. */
#include "random_windows.h"

#include <float.h>
#include <math.h>

/* ---- plain SQL ---- */

#define SAMPLES                                                                                                            \
	"CREATE TABLE samples(id INTEGER PRIMARY KEY, name TEXT, ts INTEGER, v INTEGER, r REAL);"                         \
	"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 900)"                                   \
	" INSERT INTO samples SELECT x, 'counter ' || (x %% 3), x * 7919 %% 10007, iif(x %% 11, x * 31 %% 97, NULL), x / 8.0 FROM n;"

static void plain_sql_gives_the_same(void **state)
{
	static const char *const changes[] = {
		"SELECT 1", "UPDATE samples SET v = v * 2 WHERE id % 5 = 0", "DELETE FROM samples WHERE id % 7 = 3",
		"INSERT INTO samples(name, ts, v) VALUES('counter 1', 4000, 1), ('counter 1', 4000, 2), ('counter 2', NULL, 7), ('counter 4', 5555, 9)",
		"INSERT INTO samples_if(samples_if) VALUES('flush')", "UPDATE samples SET ts = ts + 10 WHERE id BETWEEN 100 AND 200",
	};
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SAMPLES "CREATE TABLE generate(value); WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x < 15)"
		" INSERT INTO generate SELECT x FROM n;"
		"CREATE VIRTUAL TABLE samples_if USING iforest(content=samples, time=ts, value=(v, r), by=name);"
		"CREATE VIRTUAL TABLE c USING iforest_counter(samples_if)");
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		run(db, "%s", changes[i]);
		same_rows(db, "SELECT name, bucket, twa_v FROM c(1000, 9000, 16) WHERE twa_v IS NOT NULL ORDER BY name, bucket",
			  "WITH s AS (SELECT name, ts, v, lead(ts, 1, 20000) OVER w AS until FROM samples WHERE v IS NOT NULL AND ts IS NOT NULL"
			  " WINDOW w AS (PARTITION BY name ORDER BY ts, id))"
			  " SELECT name, value, sum(v * (min(until, 1500 + 500 * value) - max(ts, 1000 + 500 * value))) * 1.0 /"
			  " sum(min(until, 1500 + 500 * value) - max(ts, 1000 + 500 * value)) FROM s, generate"
			  " WHERE ts < 1500 + 500 * value AND until > 1000 + 500 * value GROUP BY name, value ORDER BY name, value");
		same_rows(db, "SELECT name, bucket, count_v, increase_v, rate_v, resets_v FROM c(1000, 9000, 16) WHERE count_v > 0 ORDER BY name, bucket",
			  "WITH s AS (SELECT name, ts, v, lag(v) OVER w AS was FROM samples WHERE v IS NOT NULL AND ts IS NOT NULL"
			  " WINDOW w AS (PARTITION BY name ORDER BY ts, id))"
			  " SELECT name, (ts - 1000) / 500, count(*), total(iif(v < was, v, v - was)), total(iif(v < was, v, v - was)) / 500,"
			  " total(v < was) FROM s WHERE ts >= 1000 AND ts < 9000 GROUP BY 1, 2 ORDER BY 1, 2");
	}
	/* adjacent buckets add up to the window, whatever their width */
	same_rows(db, "SELECT name, sum(increase_v), sum(resets_v), sum(count) FROM c(777, 9011) WHERE step = 13 GROUP BY name ORDER BY name",
		  "SELECT name, increase_v, resets_v, count FROM c(777, 9011) ORDER BY name");
	close_database(db);
}

/* A sample with a duration holds for that time, at most until the next sample. Windows and buckets cut both ends. */
static void samples_hold_for_their_durations(void **state)
{
	static const char *const changes[] = {
		"SELECT 1", "UPDATE samples SET dur = dur * 3 WHERE id % 5 = 0", "DELETE FROM samples WHERE id % 7 = 3",
		"INSERT INTO samples(name, ts, v, dur) VALUES('counter 1', 4000, 1, 5), ('counter 1', 4000, 2, 700), ('counter 2', NULL, 7, 10), ('counter 4', 5555, 9, 9223372036854775807)",
		"INSERT INTO samples_if(samples_if) VALUES('flush')", "UPDATE samples SET ts = ts + 10 WHERE id BETWEEN 100 AND 200",
	};
	sqlite3 *db = open_database(":memory:", 0);
	struct random random = { test_seed() };

	(void)state;
	run(db, SAMPLES "CREATE TABLE generate(value); WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x < 15)"
		" INSERT INTO generate SELECT x FROM n; ALTER TABLE samples ADD COLUMN dur INTEGER;"
		"UPDATE samples SET dur = CASE id %% 10 WHEN 0 THEN NULL WHEN 1 THEN -1 WHEN 2 THEN 0 WHEN 3 THEN 4000 ELSE id * 37 %% 41 END;"
		"CREATE VIRTUAL TABLE samples_if USING iforest(content=samples, time=ts, duration=dur, value=(v, dur), by=name);"
		"CREATE VIRTUAL TABLE c USING iforest_counter(samples_if)");
	for (size_t i = 0; i < sizeof changes / sizeof *changes * 4; i++) {
		long long t0 = random_below(&random, 9000), step = 1 + random_below(&random, 300);
		char *ours, *plain;

		if (i % 4 == 0)
			run(db, "%s", changes[i / 4]);
		ours = sqlite3_mprintf("SELECT name, bucket, twa_v FROM c(%lld, %lld, 16) WHERE twa_v IS NOT NULL ORDER BY name, bucket", t0, t0 + 16 * step);
		plain = sqlite3_mprintf(
			"WITH s AS (SELECT name, ts, v, min(lead(ts, 1, 20000) OVER w, iif(dur >= 0, ts + min(dur, 20000), 20000)) AS until"
			" FROM samples WHERE v IS NOT NULL AND ts IS NOT NULL WINDOW w AS (PARTITION BY name ORDER BY ts, id)),"
			" b AS (SELECT value AS bucket, %lld + %lld * value AS a, %lld + %lld * (value + 1) AS z FROM generate)"
			" SELECT name, bucket, sum(v * (min(until, z) - max(ts, a))) * 1.0 / sum(min(until, z) - max(ts, a)) FROM s, b"
			" WHERE ts < z AND until > a AND until > ts GROUP BY name, bucket ORDER BY name, bucket", t0, step, t0, step);
		same_rows(db, ours, plain);
		sqlite3_free(ours);
		sqlite3_free(plain);
	}
	close_database(db);
}

/* ---- random tables ---- */

static char context[600];

#define CHECK(condition, ...)                                                                                 \
	do {                                                                                                  \
		if (!(condition)) {                                                                           \
			char what[300];                                                                       \
			snprintf(what, sizeof what, __VA_ARGS__);                                             \
			fail_msg("%s\n  %s (IFOREST_SEED=%" PRIu64 ")", context, what, test_seed());          \
		}                                                                                             \
	} while (0)

/* The rows of a series that have a time, in order of (time, rowid); or only those that have a v. */
struct samples {
	int n;
	const struct row *rows[MAX_ROWS];
};

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static void gather(const struct table *table, int series, int v, struct samples *samples)
{
	samples->n = 0;
	for (int i = 0; i < table->n_rows; i++)
		if (table->rows[i].series == series && table->rows[i].has_time &&
		    (v < 0 || table->rows[i].values[v].type != SQLITE_NULL))
			samples->rows[samples->n++] = &table->rows[i];
	qsort(samples->rows, (size_t)samples->n, sizeof samples->rows[0], compare_rows);
}

static void expect_integer(sqlite3_stmt *answer, int *i, bool is_set, int64_t expected)
{
	int type = sqlite3_column_type(answer, *i);

	CHECK(type == (is_set ? SQLITE_INTEGER : SQLITE_NULL), "%s has type %d", sqlite3_column_name(answer, *i), type);
	CHECK(!is_set || sqlite3_column_int64(answer, *i) == expected, "%s is %lld, not %" PRId64, sqlite3_column_name(answer, *i),
	      sqlite3_column_int64(answer, *i), expected);
	++*i;
}

static void expect_real(sqlite3_stmt *answer, int *i, bool is_set, double expected, double tolerance)
{
	int type = sqlite3_column_type(answer, *i);
	double real = sqlite3_column_double(answer, *i);

	CHECK(type == (is_set ? SQLITE_FLOAT : SQLITE_NULL), "%s has type %d", sqlite3_column_name(answer, *i), type);
	CHECK(!is_set || real == expected || fabs(real - expected) <= tolerance, "%s is %.17g, not %.17g",
	      sqlite3_column_name(answer, *i), real, expected);
	++*i;
}

static void expect_number(sqlite3_stmt *answer, int *i, const struct row *row, int v, bool is_real)
{
	if (is_real)
		expect_real(answer, i, row, row ? row->values[v].real : 0, 0);
	else
		expect_integer(answer, i, row, row ? row->values[v].integer : 0);
}

/* The expected aggregates of the samples of v in the bucket [start, end). */
struct expected {
	int n, n_resets;
	const struct row *before, *last;
	wide integral, increase, known;
	long double real_integral, real_increase, magnitude; /* magnitude: the largest of all values involved */
};

static bool v_is_duration; /* in the current table */

static wide hold_end(const struct row *row)
{
	bool has_end = v_is_duration && row->values[0].type != SQLITE_NULL && row->values[0].integer >= 0;

	return has_end ? (wide)row->time + row->values[0].integer : INT64_MAX;
}

static struct expected count_samples(const struct samples *samples, int v, bool is_real, int64_t start, int64_t end)
{
	struct expected expected = { .n = 0 };

	for (int i = 0; i < samples->n; i++) {
		const struct row *row = samples->rows[i], *was = i ? samples->rows[i - 1] : NULL;
		const struct cell *cell = &row->values[v];
		wide from = row->time > start ? row->time : start, to = end;
		bool is_reset;

		if (i + 1 < samples->n && samples->rows[i + 1]->time < to)
			to = samples->rows[i + 1]->time;
		if (hold_end(row) < to)
			to = hold_end(row);
		if (from < to && row->time < end) {
			expected.known += to - from;
			expected.integral += cell->integer * (to - from);
			expected.real_integral += (long double)cell->real * (long double)(to - from);
			expected.magnitude = fmaxl(expected.magnitude, fabsl((long double)cell->real));
		}
		if (row->time < end)
			expected.last = row;
		if (row->time < start)
			expected.before = row;
		if (row->time < start || row->time >= end)
			continue;
		expected.n++;
		is_reset = was && (is_real ? cell->real < was->values[v].real : cell->integer < was->values[v].integer);
		expected.n_resets += is_reset;
		if (!was)
			continue;
		expected.increase += (wide)cell->integer - (is_reset ? 0 : was->values[v].integer);
		expected.real_increase += (long double)cell->real - (is_reset ? 0 : (long double)was->values[v].real);
		expected.magnitude =
			fmaxl(expected.magnitude, fabsl((long double)cell->real) + fabsl((long double)was->values[v].real));
	}
	return expected;
}

/* Infinities, and sums beyond doubles, are left to another test. */
static bool is_beyond(const struct expected *expected)
{
	return !(expected->magnitude < 1e200L) || !(fabsl(expected->real_integral) < 1e300L);
}

static void expect_counter(sqlite3_stmt *answer, int *i, const struct samples *samples, int v, bool is_real, int64_t start,
			   int64_t end, bool with_increases)
{
	struct expected expected = count_samples(samples, v, is_real, start, end);
	const struct row *last = expected.last;
	double width = (double)((wide)end - start), known = expected.known > 0 ? (double)expected.known : 1;
	double tolerance = is_real ? 1e-10 * (double)expected.magnitude : 0;

	expect_integer(answer, i, true, expected.n);
	expect_number(answer, i, expected.before, v, is_real);
	expect_number(answer, i, last, v, is_real);
	expect_integer(answer, i, last, expected.n_resets);
	if (is_real && is_beyond(&expected)) {
		*i += with_increases ? 3 : 2;
		return;
	}
	expect_real(answer, i, last && expected.known > 0,
		    is_real ? (double)(expected.real_integral / (long double)expected.known) :
			      (double)expected.integral / known,
		    tolerance);
	expect_real(answer, i, last, (is_real ? (double)expected.real_increase : (double)expected.increase) / width, tolerance);
	if (with_increases && is_real)
		expect_real(answer, i, last, (double)expected.real_increase, (expected.n + 1) * tolerance);
	else if (with_increases)
		expect_integer(answer, i, last, (int64_t)expected.increase);
}

static int n_buckets(const struct window *window, int64_t *first)
{
	*first = 0;
	if (window->mode == WHOLE)
		return 1;
	if (window->mode == COUNT)
		return (int)window->n;
	*first = (int64_t)(((wide)window->t0 - window->origin) / window->step);
	while (bucket_start(window, *first) > window->t0)
		--*first;
	return (int)(((wide)window->t1 - 1 - bucket_start(window, *first)) / window->step) + 1;
}

static int64_t cut_end(const struct window *window, int64_t bucket)
{
	wide end = window->mode == WHOLE ? window->t1 : bucket_start(window, (wide)bucket + 1);

	return end > window->t1 ? window->t1 : (int64_t)end;
}

static void expect_series(sqlite3_stmt *answer, const struct table *table, const struct window *window, int series,
			  bool with_increases)
{
	static struct samples all, samples[2];
	int64_t first;
	int n = n_buckets(window, &first), k = 0, n_passed = 0;

	gather(table, series, -1, &all);
	for (int v = 0; v < table->n_values; v++)
		gather(table, series, v, &samples[v]);
	for (int64_t bucket = first; bucket < first + n; bucket++) {
		int64_t start = cut_start(window, bucket), end = cut_end(window, bucket);
		int i = table->n_by, rc;

		if (start >= end)
			continue;
		for (n_passed = k; k < all.n && all.rows[k]->time < end; k++)
			n_passed += all.rows[k]->time < start;
		if (k == 0)
			continue;
		rc = sqlite3_step(answer);
		CHECK(rc == SQLITE_ROW, "code %d instead of bucket %" PRId64 " of series %d: %s", rc, bucket, series,
		      sqlite3_errmsg(sqlite3_db_handle(answer)));
		expect_integer(answer, &i, true, bucket);
		expect_integer(answer, &i, true, k - n_passed);
		expect_integer(answer, &i, k > n_passed, k > n_passed ? all.rows[n_passed]->time : 0);
		expect_integer(answer, &i, k > n_passed, k > n_passed ? all.rows[k - 1]->time : 0);
		for (int v = 0; v < table->n_values; v++)
			expect_counter(answer, &i, &samples[v], v, table->is_real[v], start, end, with_increases);
	}
}

static struct window random_window(const struct table *table, struct random *random)
{
	struct window window = { .has_t0 = true, .has_t1 = true, .mode = (enum mode)random_below(random, 3) };
	int64_t bounds[2];

	for (int i = 0; i < 2; i++) {
		const struct row *row = table->n_rows ? &table->rows[random_below(random, table->n_rows)] : NULL;

		bounds[i] = one_in(random, 15) ? (i ? INT64_MAX : INT64_MIN) :
			    saturate((wide)(row && row->has_time ? row->time : 0) + random_below(random, 200) - 100);
	}
	window.t0 = bounds[0] < bounds[1] ? bounds[0] : bounds[1];
	window.t1 = bounds[0] < bounds[1] ? bounds[1] : bounds[0];
	if (window.t0 == window.t1)
		window.t0 -= window.t0 > INT64_MIN;
	window.n = 1 + random_below(random, 60);
	window.step = saturate(((wide)window.t1 - window.t0) / (1 + random_below(random, 40)) + 1);
	window.origin = one_in(random, 2) ? 0 : saturate((wide)window.t0 + random_below(random, 1000));
	return window;
}

static void ask(sqlite3 *db, const struct table *table, const struct window *window, struct random *random)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);
	bool with_increases = one_in(random, 2);
	sqlite3_stmt *answer = NULL;
	char *text;
	int rc;

	sqlite3_str_appendf(sql, "SELECT %sbucket, count, first_ts, last_ts", table->n_by == 2 ? "a, b, " : table->n_by ? "a, " : "");
	for (int v = 0; v < table->n_values; v++) {
		sqlite3_str_appendf(sql, ", count_%c, start_%c, end_%c, resets_%c, twa_%c, rate_%c", "vw"[v], "vw"[v], "vw"[v], "vw"[v], "vw"[v], "vw"[v]);
		if (with_increases)
			sqlite3_str_appendf(sql, ", increase_%c", "vw"[v]);
	}
	sqlite3_str_appendf(sql, " FROM c(%lld, %lld)", window->t0, window->t1);
	if (window->mode == COUNT)
		sqlite3_str_appendf(sql, " WHERE n = %lld", window->n);
	if (window->mode == STEP)
		sqlite3_str_appendf(sql, " WHERE step = %lld AND origin = %lld", window->step, window->origin);
	text = sqlite3_str_finish(sql);
	snprintf(context, sizeof context, "%s", text);
	sqlite3_free(text);
	rc = sqlite3_prepare_v2(db, context, -1, &answer, NULL);
	CHECK(rc == SQLITE_OK, "%s", sqlite3_errmsg(db));
	for (int series = 1; series <= table->n_series; series++)
		expect_series(answer, table, window, series, with_increases);
	rc = sqlite3_step(answer);
	CHECK(rc == SQLITE_DONE, "code %d instead of the end: %s", rc, sqlite3_errmsg(db));
	sqlite3_finalize(answer);
}

/* Increases of extreme integers may not fit into 64 bits. */
static bool may_overflow(const struct row_style *style, const struct table *table)
{
	return style->values[0] == 2 || (table->n_values == 2 && style->values[1] == 2);
}

static void change(sqlite3 *db, struct table *table, const struct row_style *style, struct random *random)
{
	static const char *const writes[] = {
		"INSERT OR REPLACE INTO t(id, a, ts, v, b, w) VALUES(?1, ?2, ?3, ?4, ?5, ?6)", "UPDATE OR IGNORE t SET ts = ?3, v = ?4 WHERE id % 50 = abs(?1 % 50)",
		"DELETE FROM t WHERE id % 50 = abs(?1 % 50)", "INSERT INTO t_if(t_if) VALUES(iif(?1 % 2, 'flush', 'merge'))",
	};

	for (int i = (int)random_below(random, 12); i > 0; i--) {
		sqlite3_stmt *write;

		assert_int_equal(sqlite3_prepare_v2(db, writes[random_below(random, 4)], -1, &write, NULL), SQLITE_OK);
		bind_random_row(write, style, random);
		sqlite3_step(write);
		sqlite3_finalize(write);
	}
	/* a real may have been written into a column of integers, or removed */
	run(db, "INSERT INTO t_if(t_if) VALUES('rebuild')");
	read_rows(db, table);
	memcpy(table->was_real, table->is_real, sizeof table->was_real);
	forget_rows(table);
	for (int i = (int)random_below(random, 6); i > 0; i--)
		run(db, "DELETE FROM t WHERE id = (SELECT id FROM t ORDER BY abs(id %% 1009 - %lld) LIMIT 1)", random_below(random, 1009));
	run(db, "UPDATE t SET ts = ts - 1 WHERE id %% 13 = %lld AND ts > -4611686018427387904", random_below(random, 13));
}

static void random_counters_are_what_the_definition_says(void **state)
{
	static struct table table;

	(void)state;
	for (int round = 0; round < 120; round++) {
		struct random random = { test_seed() + (uint64_t)round };
		sqlite3 *db = open_database(":memory:", 0);
		struct row_style style;

		make_table(db, "", &table, &style, &random);
		if (style.n_rows > 700 || may_overflow(&style, &table)) {
			close_database(db);
			continue;
		}
		run(db, "CREATE VIRTUAL TABLE c USING iforest_counter(t_if)");
		v_is_duration = integer_of(db, "SELECT sql LIKE '%%duration=v%%' FROM sqlite_schema WHERE name = 't_if'");
		table.columns[0] = "a";
		table.columns[1] = "b";
		table.was_real[0] = table.was_real[1] = false;
		for (int phase = 0; phase < 3; phase++) {
			read_rows(db, &table);
			for (int v = 0; v < 2; v++)
				table.is_real[v] = table.is_real[v] || table.was_real[v];
			for (int w = 0; w < 10; w++) {
				struct window window = random_window(&table, &random);

				ask(db, &table, &window, &random);
			}
			forget_rows(&table);
			change(db, &table, &style, &random);
		}
		close_database(db);
	}
}

/* ---- edges ---- */

static void extremes_are_exact(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, v INTEGER, r REAL);"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=(v, r), variance=v);"
		"CREATE VIRTUAL TABLE c USING iforest_counter(t_if)");
	run_gives(db, "", "SELECT * FROM c(0, 10)");
	run(db, "INSERT INTO t VALUES(1, -9223372036854775807 - 1, 9223372036854775807, 1e300), (2, 9223372036854775806, -9223372036854775807 - 1, 9e999)");
	run_gives(db, "2|9.2233720369e+18|1\n", "SELECT count, printf('%%.10e', twa_v), resets_v FROM c(-9223372036854775807 - 1, 9223372036854775807)");
	run(db, "INSERT INTO t VALUES(3, 9223372036854775806, 9223372036854775807, 9e999)");
	run_gives(db, "9223372036854775807|1\n", "SELECT increase_v, resets_v FROM c(-9223372036854775807, 9223372036854775807)");
	run(db, "UPDATE t SET v = NULL WHERE id = 1");
	run_fails(db, "integer overflow", "SELECT increase_v FROM c(-9223372036854775807, 9223372036854775807)");
	run_gives(db, "1.8446744074e+19\n", "SELECT printf('%%.10e', rate_v) FROM c(9223372036854775806, 9223372036854775807)");
	run(db, "UPDATE t SET v = 9223372036854775807 WHERE id = 1; DELETE FROM t WHERE id = 2");
	run_gives(db, "0|0\n", "SELECT increase_v, resets_v FROM c(-9223372036854775807, 9223372036854775807)");
	run_gives(db, "Inf|1.0e+300|Inf\n", "SELECT increase_r, start_r, end_r FROM c(-9223372036854775807, 9223372036854775807)");
	/* only rows that are not before the end, or have no time or value */
	run(db, "DELETE FROM t; INSERT INTO t VALUES(1, NULL, 5, 5), (2, 100, 5, 5), (3, 20, NULL, 1)");
	run_gives(db, "2|1|0||\n3|0|0||\n", "SELECT bucket, count, count_v, twa_v, increase_v FROM c(0, 40, 4)");
	run_gives(db, "2|1.0\n3|1.0\n", "SELECT bucket, twa_r FROM c(0, 40, 4)");
	run_gives(db, "2\n3\n", "SELECT bucket FROM c(0, 40, 4)");
	run_gives(db, "", "SELECT bucket FROM c(40, 40)");
	run_gives(db, "", "SELECT bucket FROM c(NULL, 40)");
	close_database(db);
}

/* ---- cost ---- */

static int count_page(unsigned type, void *n_pages, void *statement, void *text)
{
	(void)type;
	(void)text;
	if (strstr(sqlite3_sql(statement), "_page\""))
		++*(int *)n_pages;
	return 0;
}

/* Returns how many pages of the index a query reads on a connection that has none in memory, including the manifest. */
static int pages_read(const char *path, const char *sql, const char *expected)
{
	sqlite3 *db = open_database(path, SQLITE_OPEN_READONLY);
	int n_pages = 0;

	run_gives(db, "0\n", "SELECT count FROM t_if(0, 1) WHERE fill = 'zero'"); /* reads what is read once per connection */
	sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count_page, &n_pages);
	run_gives(db, expected, "%s", sql);
	close_database(db);
	return n_pages;
}

/* Two counters over 120 000 rows, one with a single sample and one with a sample in each row. The windows are at the end. */
static void what_is_carried_in_is_found_by_index(void **state)
{
	const char *path = test_path("carried.db");
	sqlite3 *db = open_database(path, 0);
	int n_walked;

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, rare INTEGER, v INTEGER);"
		"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 120000)"
		" INSERT INTO t SELECT x, 10 * x, iif(x = 1000, 77, NULL), x * x * 7919 %% 1000003 FROM n;"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, value=(rare, v)); CREATE VIRTUAL TABLE c USING iforest_counter(t_if)");
	assert_true(integer_of(db, "SELECT count(*) FROM t_if_page") > 100);
	close_database(db);
	assert_in_range(pages_read(path, "SELECT last_rare, max_rare_id FROM t_if(1190001, 1190003) WHERE fill = 'last'", "77|1000\n"), 2, 12);
	assert_in_range(pages_read(path, "SELECT sum(last_rare), count(*) FROM t_if(1190001, 1190101, 200) WHERE fill = 'last'", "15400|200\n"), 2, 12);
	assert_in_range(pages_read(path, "SELECT first_rare FROM t_if(5001, 5002) WHERE fill = 'linear'", "\n"), 2, 12);
	assert_in_range(pages_read(path, "SELECT twa_rare, count FROM c(1190001, 1190003)", "77.0|0\n"), 2, 12);
	/* the samples of a window are read, but not those before it */
	n_walked = pages_read(path, "SELECT count, end_v FROM c(600001, 610001)", "1000|600470\n");
	assert_in_range(n_walked, 4, 30);
	remove_database(path);
}

static void a_bad_question_is_an_error(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SAMPLES "CREATE VIRTUAL TABLE samples_if USING iforest(content=samples, time=ts, value=v, by=name);"
		"CREATE VIRTUAL TABLE bare_if USING iforest(content=samples, time=ts); CREATE VIRTUAL TABLE c USING iforest_counter(samples_if)");
	run_fails(db, "iforest_counter: name an index", "CREATE VIRTUAL TABLE d USING iforest_counter()");
	run_fails(db, "iforest_counter: no index \"x\" in schema \"main\"", "CREATE VIRTUAL TABLE d USING iforest_counter(x)");
	run_fails(db, "iforest_counter: it takes one argument", "CREATE VIRTUAL TABLE d USING iforest_counter(samples_if, name)");
	run_fails(db, "iforest_counter: \"bare_if\" has no value column", "CREATE VIRTUAL TABLE d USING iforest_counter(bare_if)");
	run(db, "CREATE VIRTUAL TABLE named_if USING iforest(content=samples, time=ts, value=v, by=(name AS TWA_v))");
	run_fails(db, "iforest: two columns named", "CREATE VIRTUAL TABLE d USING iforest_counter(named_if)");
	run_fails(db, "c: a counter needs both t0 and t1", "SELECT * FROM c");
	run_fails(db, "c: a counter needs both t0 and t1", "SELECT * FROM c(5)");
	run_fails(db, "c: n and step exclude each other", "SELECT * FROM c(5, 10, 3, 3)");
	run_fails(db, "c: the window has more than 10000000 buckets", "SELECT * FROM c(0, 1000000000) WHERE step = 1");
	run_fails(db, "c: argument t0 takes = only", "SELECT * FROM c WHERE t0 > 5 AND t1 = 9");
	run_fails(db, "c: argument t1 is used, but not given with =", "SELECT * FROM c WHERE t0 = 5 AND (t1 = 7 OR name = 'x')");
	run_fails(db, "c: argument n is used, but not given with =", "SELECT * FROM c(0, 100) WHERE n = 7 OR name = 'x'");
	run_fails(db, "no such column: fill", "SELECT * FROM c(0, 100) WHERE fill = 'zero'");
	/* a condition on a by column, alone and in a join */
	run_gives(db, "counter 1|counter 1\n", "SELECT min(name), max(name) FROM c(0, 10000, 10) WHERE name = 'counter 1'");
	same_rows(db, "SELECT p.column1, increase_v FROM (VALUES(3000), (5000)) p, c(p.column1, p.column1 + 100) WHERE name = 'counter 2'",
		  "SELECT 3000, increase_v FROM c(3000, 3100) WHERE name = 'counter 2' UNION ALL SELECT 5000, increase_v FROM c(5000, 5100) WHERE name = 'counter 2'");
	run(db, "DROP TABLE samples_if");
	run_fails(db, "c: ", "SELECT * FROM c(0, 100)");
	run(db, "DROP TABLE c");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_sql_gives_the_same), cmocka_unit_test(samples_hold_for_their_durations),
		cmocka_unit_test(random_counters_are_what_the_definition_says),
		cmocka_unit_test(extremes_are_exact),
		cmocka_unit_test(what_is_carried_in_is_found_by_index),
		cmocka_unit_test(a_bad_question_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
