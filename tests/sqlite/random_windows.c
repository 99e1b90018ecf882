#include "random_windows.h"

#include <float.h>
#include <math.h>

static char context[1000];

#define CHECK(condition, ...)                                                                                 \
	do {                                                                                                  \
		if (!(condition)) {                                                                           \
			char what[500];                                                                       \
			snprintf(what, sizeof what, __VA_ARGS__);                                             \
			fail_msg("%s\n  %s (IFOREST_SEED=%" PRIu64 ")", context, what, test_seed());          \
		}                                                                                             \
	} while (0)

/* ---- random tables ---- */

static int64_t random_extreme(struct random *random)
{
	static const int64_t extremes[] = { INT64_MIN, INT64_MIN + 1, INT64_MAX,    INT64_MAX - 1, 0, -1,
					    1,	       INT64_MAX / 2, INT64_MIN / 2 };

	return one_in(random, 2) ? extremes[random_below(random, 9)] : (int64_t)random64(random);
}

static int64_t random_time(struct random *random, int style)
{
	switch (style) {
	case 0: return random_below(random, 100) - 50;
	case 1: return 1000 * random_below(random, 8) + random_below(random, 3);
	case 2: return INT64_C(1683564901540885000) + random_below(random, INT64_C(3000000000));
	case 3: return random_extreme(random);
	default: return random_below(random, INT64_C(2000000000000)) - INT64_C(1000000000000);
	}
}

static void bind_time(sqlite3_stmt *insert, int i, struct random *random, int style)
{
	int64_t time = random_time(random, style);

	if (one_in(random, 30))
		sqlite3_bind_null(insert, i);
	else if (one_in(random, 8) && time > -(INT64_C(1) << 53) && time < INT64_C(1) << 53)
		sqlite3_bind_double(insert, i, (double)time);
	else
		sqlite3_bind_int64(insert, i, time);
}

static void bind_value(sqlite3_stmt *insert, int i, struct random *random, int style)
{
	static const double odd[] = { 0.0, -0.0, 1e300, -1e300, 1e-300, 0.1, -7.25, 3.0, INFINITY, -INFINITY };

	if (style == 6 || one_in(random, 12)) {
		sqlite3_bind_null(insert, i);
		return;
	}
	switch (style) {
	case 0: sqlite3_bind_int64(insert, i, random_below(random, 21) - 10); break;
	case 1: sqlite3_bind_int64(insert, i, random_below(random, INT64_C(1) << 40)); break;
	case 2: sqlite3_bind_int64(insert, i, random_extreme(random)); break;
	case 3: sqlite3_bind_double(insert, i, (double)random_below(random, 2000001) / 1000.0 - 1000.0); break;
	case 4:
		if (one_in(random, 2))
			sqlite3_bind_int64(insert, i, random_below(random, INT64_C(1) << 53) - (INT64_C(1) << 52));
		else
			sqlite3_bind_double(insert, i, (double)random_below(random, 1000) / 7);
		break;
	default: sqlite3_bind_double(insert, i, odd[random_below(random, one_in(random, 40) ? 10 : 8)]); break;
	}
}

static void bind_by(sqlite3_stmt *insert, int i, struct random *random, int n_series)
{
	int64_t pick = random_below(random, n_series);

	switch (pick) {
	case 0: sqlite3_bind_int64(insert, i, 1); break;
	case 1: sqlite3_bind_double(insert, i, one_in(random, 2) ? 1.0 : 1.5); break;
	case 2: sqlite3_bind_text(insert, i, "1", -1, SQLITE_STATIC); break;
	case 3: sqlite3_bind_blob(insert, i, "1", 1, SQLITE_STATIC); break;
	case 4: sqlite3_bind_null(insert, i); break;
	case 5: sqlite3_bind_text(insert, i, "", 0, SQLITE_STATIC); break;
	case 6: sqlite3_bind_zeroblob(insert, i, 0); break;
	case 7: sqlite3_bind_int64(insert, i, (INT64_C(1) << 53) + random_below(random, 2)); break;
	case 8: sqlite3_bind_double(insert, i, one_in(random, 2) ? 9007199254740992.0 : 1e300); break;
	case 9: sqlite3_bind_text(insert, i, "na\xc3\xafve 'x' \"y\"", -1, SQLITE_STATIC); break;
	case 10: sqlite3_bind_double(insert, i, one_in(random, 2) ? -0.0 : 9223372036854775808.0); break;
	case 11: sqlite3_bind_text(insert, i, "a\0b", 3, SQLITE_STATIC); break;
	default: sqlite3_bind_int64(insert, i, pick - 30); break;
	}
}

void bind_random_row(sqlite3_stmt *statement, const struct row_style *style, struct random *random)
{
	sqlite3_bind_int64(statement, 1,
			   one_in(random, 4) ? (int64_t)random64(random) : random_below(random, 4 * (style->n_rows + 1)));
	bind_by(statement, 2, random, style->n_series);
	bind_time(statement, 3, random, style->times);
	bind_value(statement, 4, random, style->values[0]);
	bind_by(statement, 5, random, 3);
	bind_value(statement, 6, random, style->values[1]);
}

static bool is_integral(int style)
{
	return style <= 2 || style == 6;
}

void make_table(sqlite3 *db, const char *more, struct table *table, struct row_style *style, struct random *random)
{
	static const int sizes[] = { 0, 1, 2, 3, 17, 64, 65, 200, 600, 600, 1500, MOST_RANDOM_ROWS };
	bool is_duration;
	const char *variance;
	sqlite3_stmt *insert;

	style->n_rows = sizes[random_below(random, 12)];
	style->n_series = 1 + (int)random_below(random, one_in(random, 2) ? 4 : one_in(random, 2) ? 50 : 300);
	style->times = (int)random_below(random, 5);
	style->values[0] = (int)random_below(random, 7);
	style->values[1] = (int)random_below(random, 7);
	is_duration = style->values[0] <= 2 && one_in(random, 2);
	table->n_by = (int)random_below(random, 3);
	table->n_values = 1 + (int)random_below(random, 2);
	run(db, "BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, a, ts, v, b, w%s)", more);
	sqlite3_prepare_v2(db, "INSERT OR IGNORE INTO t(id, a, ts, v, b, w) VALUES(?, ?, ?, ?, ?, ?)", -1, &insert, NULL);
	for (int i = 0; i < style->n_rows; i++) {
		bind_random_row(insert, style, random);
		assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
		sqlite3_reset(insert);
	}
	sqlite3_finalize(insert);
	for (int v = 0; v < 2; v++)
		table->has_variance[v] = v < table->n_values && is_integral(style->values[v]) && !one_in(random, 3);
	variance = table->has_variance[0] && table->has_variance[1] ? ", variance=(w, v)" : table->has_variance[0] ? ", variance=v" :
		   table->has_variance[1] ? ", variance=w" : "";
	run(db, "COMMIT; CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts%s%s%s%s)", is_duration ? ", duration=v" : "", variance,
	    table->n_values == 2 ? ", value=(v, w)" : is_duration ? "" : ", value=v",
	    table->n_by == 2 ? ", by=(a, b)" : table->n_by == 1 ? ", by=a" : "");
}

/* ---- asking and comparing ---- */

static void expect_integer(sqlite3_stmt *answer, int *i, bool is_set, int64_t expected)
{
	const char *name = sqlite3_column_name(answer, *i);
	int type = sqlite3_column_type(answer, *i);

	CHECK(type == (is_set ? SQLITE_INTEGER : SQLITE_NULL), "%s has type %d", name, type);
	CHECK(!is_set || sqlite3_column_int64(answer, *i) == expected, "%s is %lld, not %lld", name,
	      sqlite3_column_int64(answer, *i), (long long)expected);
	++*i;
}

static void expect_real(sqlite3_stmt *answer, int *i, bool is_set, double expected, double tolerance)
{
	const char *name = sqlite3_column_name(answer, *i);
	double real = sqlite3_column_double(answer, *i);
	int type = sqlite3_column_type(answer, *i);

	CHECK(type == (is_set ? SQLITE_FLOAT : SQLITE_NULL), "%s has type %d", name, type);
	CHECK(!is_set || real == expected || fabs(real - expected) <= tolerance, "%s is %.17g, not %.17g", name, real, expected);
	++*i;
}

/* An argument column has the value as it was given: 5 or 5.0. */
static void expect_argument(sqlite3_stmt *answer, int *i, bool is_set, int64_t value)
{
	if (sqlite3_column_type(answer, *i) == SQLITE_FLOAT)
		expect_real(answer, i, is_set, (double)value, 0);
	else
		expect_integer(answer, i, is_set, value);
}

static void expect_number(sqlite3_stmt *answer, int *i, const struct row *row, int v, bool is_real)
{
	if (is_real)
		expect_real(answer, i, row, row ? row->values[v].real : 0, 0);
	else
		expect_integer(answer, i, row, row ? row->values[v].integer : 0);
}

static void expect_sum(sqlite3_stmt *answer, int *i, const struct value_sum *sum, bool is_real, bool is_mean, bool zero)
{
	double real = sum->has_plus ? INFINITY : sum->has_minus ? -INFINITY : (double)sum->real_sum;
	bool is_nan = sum->has_plus && sum->has_minus;
	double divisor = is_mean ? (double)sum->n : 1;

	if (is_real)
		expect_real(answer, i, (sum->n && !is_nan) || zero, sum->n ? real / divisor : 0,
			    64 * DBL_EPSILON * (double)sum->magnitude / divisor);
	else if (is_mean)
		expect_real(answer, i, sum->n, sum->n ? (double)sum->sum / divisor : 0, 0);
	else
		expect_integer(answer, i, sum->n || zero, (int64_t)sum->sum);
}

static double line_at(const struct cell *a, const struct cell *b, bool is_real, int64_t from, int64_t to, int64_t time)
{
	long double part = (long double)((wide)time - from) / (long double)((wide)to - from);

	if (is_real)
		return (double)((long double)a->real * (1 - part) + (long double)b->real * part);
	return (double)((long double)a->integer + (long double)((wide)b->integer - a->integer) * part);
}

/* Expects min, max, avg, first, last, the sum and the rows of a bucket without v, which are filled from its neighbours. */
static void expect_filled(sqlite3_stmt *answer, int *i, const struct value_sum *sum, int v, bool is_real, bool is_linear,
			  int64_t start, bool with_sums)
{
	const struct row *row = sum->before && (sum->after || !is_linear) ? sum->before : NULL, *next = sum->after;
	double real = !row ? 0 : is_linear ? line_at(&row->values[v], &next->values[v], is_real, row->time, next->time, start) :
		      is_real ? row->values[v].real : (double)row->values[v].integer;
	double tolerance = !is_linear || !row ? 0 : is_real ? 1e-12 * (fabs(row->values[v].real) + fabs(next->values[v].real)) :
			   1e-12 * (fabs((double)row->values[v].integer) + fabs((double)next->values[v].integer));
	const struct row *carried = is_linear ? NULL : row;

	for (int c = 0; c < 9; c++) {
		enum { MIN, MAX, AVG, MIN_ID, MAX_ID, MIN_TS, MAX_TS };

		if (c == MIN_ID || c == MAX_ID)
			expect_integer(answer, i, carried, carried ? carried->id : 0);
		else if (c == MIN_TS || c == MAX_TS)
			expect_integer(answer, i, carried, carried ? carried->time : 0);
		else if (is_linear && isnan(real))
			expect_integer(answer, i, false, 0);
		else if (is_linear || c == AVG)
			expect_real(answer, i, row, real, tolerance);
		else
			expect_number(answer, i, row, v, is_real);
	}
	if (with_sums)
		expect_integer(answer, i, false, 0);
}

static void expect_variance(sqlite3_stmt *answer, int *i, const struct value_sum *sum)
{
	double variance = sum->n > 1 ? (double)(sum->spread / (long double)(sum->n - 1)) : 0;

	expect_real(answer, i, sum->n > 1, variance, 1e-12 * variance);
	expect_real(answer, i, sum->n > 1, sqrt(variance), 1e-12 * sqrt(variance));
}

static void expect_by(sqlite3_stmt *answer, int *i, sqlite3_value *expected)
{
	const char *name = sqlite3_column_name(answer, *i);
	int type = sqlite3_value_type(expected);
	double real = sqlite3_value_double(expected);

	if (type == SQLITE_FLOAT && real >= -0x1p63 && real < 0x1p63 && real == floor(real)) {
		expect_integer(answer, i, true, (int64_t)real);
		return;
	}
	CHECK(sqlite3_column_type(answer, *i) == type, "%s has type %d, not %d", name, sqlite3_column_type(answer, *i), type);
	if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
		CHECK(sqlite3_column_int64(answer, *i) == sqlite3_value_int64(expected) &&
		      sqlite3_column_double(answer, *i) == real, "%s is %s", name, sqlite3_column_text(answer, *i));
	else if (type != SQLITE_NULL)
		CHECK(sqlite3_column_bytes(answer, *i) == sqlite3_value_bytes(expected) &&
		      memcmp(sqlite3_column_blob(answer, *i) ? sqlite3_column_blob(answer, *i) : "",
			     sqlite3_value_blob(expected) ? sqlite3_value_blob(expected) : "",
			     (size_t)sqlite3_value_bytes(expected)) == 0, "%s is wrong", name);
	++*i;
}

static void expect_group(sqlite3_stmt *answer, const struct table *table, const struct window *window,
			 const struct group *group, bool with_sums)
{
	bool zero = group->count == 0 && window->fill && strcmp(window->fill, "zero") == 0, is_empty = group->count == 0;
	bool is_null = window->fill && strcmp(window->fill, "null") == 0;
	int i = 0;

	for (int b = 0; b < table->n_by; b++)
		expect_by(answer, &i, table->by[group->series][b]);
	expect_integer(answer, &i, true, group->bucket);
	expect_integer(answer, &i, window->mode != WHOLE || window->has_t0,
		       window->mode == WHOLE ? window->t0 : saturate(bucket_start(window, group->bucket)));
	expect_integer(answer, &i, window->mode != WHOLE || window->has_t1,
		       window->mode == WHOLE ? window->t1 : saturate(bucket_start(window, (wide)group->bucket + 1)));
	expect_integer(answer, &i, true, group->count);
	expect_integer(answer, &i, group->has_times, group->first);
	expect_integer(answer, &i, group->has_times, group->last);
	for (int v = 0; v < table->n_values; v++) {
		const struct value_sum *sum = &group->values[v];
		bool is_real = table->is_real[v];

		expect_integer(answer, &i, !is_empty || !is_null, sum->n);
		if (sum->n == 0 && window->fill && window->fill[0] == 'l') {
			expect_filled(answer, &i, sum, v, is_real, window->fill[1] == 'i', cut_start(window, group->bucket),
				      with_sums);
			if (table->has_variance[v])
				expect_variance(answer, &i, sum);
			continue;
		}
		expect_number(answer, &i, sum->min, v, is_real);
		expect_number(answer, &i, sum->max, v, is_real);
		expect_sum(answer, &i, sum, is_real, true, false);
		expect_integer(answer, &i, sum->min, sum->min ? sum->min->id : 0);
		expect_integer(answer, &i, sum->max, sum->max ? sum->max->id : 0);
		expect_integer(answer, &i, sum->min && sum->min->has_time, sum->min ? sum->min->time : 0);
		expect_integer(answer, &i, sum->max && sum->max->has_time, sum->max ? sum->max->time : 0);
		expect_number(answer, &i, sum->first, v, is_real);
		expect_number(answer, &i, sum->last, v, is_real);
		if (with_sums)
			expect_sum(answer, &i, sum, is_real, false, zero);
		if (table->has_variance[v])
			expect_variance(answer, &i, sum);
	}
	expect_argument(answer, &i, window->has_t0, window->t0);
	expect_argument(answer, &i, window->has_t1, window->t1);
}

static void append_argument(sqlite3_str *sql, struct random *random, const char *name, bool is_set, int64_t value)
{
	bool is_small = value > -(INT64_C(1) << 53) && value < INT64_C(1) << 53;

	if (is_set)
		sqlite3_str_appendf(sql, one_in(random, 4) && is_small ? " AND %s = %lld.0" : " AND %s = %lld", name, value);
}

/* Returns the query, with the arguments at random in parentheses or in WHERE. */
static char *query_of(const struct table *table, const struct window *window, bool with_sums, struct random *random)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);
	bool in_parentheses = window->has_t0 && one_in(random, 2), is_second = in_parentheses && window->has_t1;

	sqlite3_str_appendall(sql, "SELECT ");
	for (int i = 0; i < table->n_by; i++)
		sqlite3_str_appendf(sql, "%s, ", table->columns[i]);
	sqlite3_str_appendall(sql, "bucket, bucket_start, bucket_end, count, first_ts, last_ts, ");
	for (int v = 0; v < table->n_values; v++) {
		sqlite3_str_appendf(sql, "count_%c, min_%c, max_%c, avg_%c, min_%c_id, max_%c_id, min_%c_ts, max_%c_ts, first_%c, last_%c, ",
				    "vw"[v], "vw"[v], "vw"[v], "vw"[v], "vw"[v], "vw"[v], "vw"[v], "vw"[v], "vw"[v], "vw"[v]);
		if (with_sums)
			sqlite3_str_appendf(sql, "sum_%c, ", "vw"[v]);
		if (table->has_variance[v])
			sqlite3_str_appendf(sql, "var_%c, stddev_%c, ", "vw"[v], "vw"[v]);
	}
	sqlite3_str_appendf(sql, "%s, %s FROM %s", window->has_t0 ? "t0" : "NULL", window->has_t1 ? "t1" : "NULL", table->index);
	if (in_parentheses && is_second)
		sqlite3_str_appendf(sql, "(%lld, %lld)", window->t0, window->t1);
	else if (in_parentheses)
		sqlite3_str_appendf(sql, "(%lld)", window->t0);
	sqlite3_str_appendall(sql, " WHERE 1");
	append_argument(sql, random, "t0", window->has_t0 && !in_parentheses, window->t0);
	append_argument(sql, random, "t1", window->has_t1 && !is_second, window->t1);
	append_argument(sql, random, "n", window->mode == COUNT, window->n);
	append_argument(sql, random, "step", window->mode == STEP, window->step);
	append_argument(sql, random, "origin", window->mode == STEP && (window->origin || one_in(random, 2)), window->origin);
	if (window->fill)
		sqlite3_str_appendf(sql, " AND fill = %Q", window->fill);
	sqlite3_str_appendall(sql, " ORDER BY ");
	for (int i = 0; i < table->n_by; i++)
		sqlite3_str_appendf(sql, "%s, ", table->columns[i]);
	sqlite3_str_appendall(sql, "bucket");
	return sqlite3_str_finish(sql);
}

static void ask(sqlite3 *db, const char *sql, const struct table *table, const struct window *window,
		const struct group *groups, int n_groups, bool with_sums)
{
	sqlite3_stmt *answer = NULL;
	int rc, n = 0;

	snprintf(context, sizeof context, "%s", sql);
	rc = sqlite3_prepare_v2(db, sql, -1, &answer, NULL);
	CHECK(rc == SQLITE_OK, "%s", sqlite3_errmsg(db));
	while ((rc = sqlite3_step(answer)) == SQLITE_ROW) {
		CHECK(n < n_groups, "there are more than the %d expected rows", n_groups);
		expect_group(answer, table, window, &groups[n++], with_sums);
	}
	CHECK(rc == SQLITE_DONE, "%s", sqlite3_errmsg(db));
	CHECK(n == n_groups, "%d rows instead of %d", n, n_groups);
	sqlite3_finalize(answer);
}

/* A query of extremes alone has its own algorithm: it must return the same extremes as a query that also reads counts. */
static void check_extremes(sqlite3 *db, const struct table *table, const char *sql)
{
	const char *from = strstr(sql, " FROM "), *order = strstr(sql, " ORDER BY ");
	sqlite3_str *alone = sqlite3_str_new(NULL);
	char *extremes, *beside;

	sqlite3_str_appendall(alone, "SELECT bucket, bucket_end");
	for (int i = 0; i < table->n_by; i++)
		sqlite3_str_appendf(alone, ", %s", table->columns[i]);
	for (int v = 0; v < table->n_values; v++)
		sqlite3_str_appendf(alone, ", min_%c, max_%c, min_%c_id, max_%c_id, max_%c_ts", "vw"[v], "vw"[v], "vw"[v], "vw"[v], "vw"[v]);
	extremes = sqlite3_str_finish(alone);
	beside = sqlite3_mprintf("%s%.*s AND count >= 0%s", extremes, (int)(order - from), from, order);
	extremes = sqlite3_mprintf("%z%s", extremes, from);
	same_rows(db, extremes, beside);
	sqlite3_free(extremes);
	sqlite3_free(beside);
}

static void check_window(sqlite3 *db, const struct table *table, const struct window *window, struct random *random)
{
	static struct group groups[MAX_GROUPS];
	bool exceeds, overflows;
	int n_groups = fold_rows(table, window, groups, &exceeds);
	char *sql;

	overflows = has_overflow(table, groups, n_groups);
	sql = query_of(table, window, !overflows, random);
	if (exceeds) {
		char message[80];

		snprintf(message, sizeof message, "%s: a bucket number exceeds 64 bits", table->index);
		run_fails(db, message, "%s", sql);
	} else {
		ask(db, sql, table, window, groups, n_groups, !overflows);
		check_extremes(db, table, sql);
	}
	sqlite3_free(sql);
	if (overflows && !exceeds) {
		sql = query_of(table, window, true, random);
		run_fails(db, "integer overflow", "%s", sql);
		sqlite3_free(sql);
	}
}

static int64_t random_bound(const struct table *table, struct random *random)
{
	const struct row *row = table->n_rows ? &table->rows[random_below(random, table->n_rows)] : NULL;
	int64_t time = row && row->has_time ? row->time : random_below(random, 100);

	if (one_in(random, 12))
		return random_extreme(random);
	if (one_in(random, 2))
		return time;
	return saturate((wide)time + random_below(random, 5) - 2);
}

static struct window random_window(const struct table *table, struct random *random)
{
	struct window window = { .has_t0 = !one_in(random, 6), .has_t1 = !one_in(random, 6) };
	wide width;

	window.t0 = random_bound(table, random);
	window.t1 = one_in(random, 12) ? window.t0 : random_bound(table, random);
	if (window.t1 < window.t0 && !one_in(random, 10)) {
		int64_t swap = window.t0;

		window.t0 = window.t1;
		window.t1 = swap;
	}
	width = window.t1 > window.t0 ? (wide)window.t1 - window.t0 : 1;
	window.mode = (enum mode)random_below(random, 3);
	if (window.mode == COUNT && !(window.has_t0 && window.has_t1))
		window.mode = STEP;
	if (window.mode == COUNT)
		window.n = one_in(random, 15) ? INT64_MAX - random_below(random, 3) :
						1 + random_below(random, one_in(random, 2) ? 10 : 2000);
	if (window.mode == STEP) {
		window.step = one_in(random, 10) ? 1 + (int64_t)(random64(random) >> 1) / 2 :
						   saturate(width / (1 + random_below(random, 40)) + 1);
		window.origin = one_in(random, 2) ? 0 : random_bound(table, random);
	}
	if (window.has_t0 && window.has_t1 && window.t0 < window.t1 && one_in(random, 2)) {
		static const char *const fills[] = { "none", "null", "zero", "last", "linear", "last", "linear" };
		wide n_groups = (window.mode == COUNT ? window.n :
				 window.mode == STEP  ? width / window.step + 2 :
							1) *
				(table->n_series + 1);

		if (n_groups < 4 * MAX_ROWS)
			window.fill = fills[random_below(random, n_groups * table->n_rows < 500000 ? 7 : 3)];
	}
	return window;
}

static void check_views(sqlite3 *db, struct table *table, struct random *random, int n_windows)
{
	read_rows(db, table);
	for (int v = 0; v < 2; v++)
		table->is_real[v] = table->is_real[v] || table->was_real[v];
	for (int i = 0; i < n_windows; i++) {
		struct window window = random_window(table, random);

		check_window(db, table, &window, random);
	}
	forget_rows(table);
}

static const struct {
	const char *name, *columns[2];
	int n_by, least_by;
} folds[] = {
	{ "f_none", { "", "" }, 0, 0 }, { "f_a", { "a", "" }, 1, 1 }, { "f_b", { "b", "" }, 1, 2 },
	{ "f_ab", { "a", "b" }, 2, 2 }, { "f_ba", { "b", "a" }, 2, 2 },
};

void check_table(sqlite3 *db, struct table *table, struct random *random, int n_windows)
{
	int n_by = table->n_by;

	table->index = "t_if";
	table->columns[0] = "a";
	table->columns[1] = "b";
	check_views(db, table, random, n_windows);
	for (size_t f = 0; f < sizeof folds / sizeof folds[0]; f++) {
		if (folds[f].least_by > n_by)
			continue;
		run(db, "CREATE VIRTUAL TABLE IF NOT EXISTS %s USING iforest_fold(t_if%s%s%s%s)", folds[f].name, folds[f].n_by ? ", " : "",
		    folds[f].columns[0], folds[f].n_by > 1 ? ", " : "", folds[f].columns[1]);
		table->index = folds[f].name;
		table->n_by = folds[f].n_by;
		memcpy(table->columns, folds[f].columns, sizeof table->columns);
		check_views(db, table, random, (n_windows + 3) / 4);
	}
	table->n_by = n_by;
}
