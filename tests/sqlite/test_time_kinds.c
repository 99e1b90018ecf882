/* tests/sqlite/test_time_kinds.c -- Tests of indexes over times that are integers, reals or texts: every answer is that of
 * plain SQL over integers that count the same times, while connections with and without the extension change the table. */
#include <math.h>
#include <time.h>

#include "harness.h"

__extension__ typedef __int128 int128;

/* ---- kinds of columns ---- */

enum kind { INTEGERS, REALS, TEXTS };
enum spans { POINTS, DURATIONS, ENDS };

/* A time of the table stands for `count` units, of which per_second make a second. Reals are count / scale. */
static const struct form {
	const char *name, *type, *unit;
	enum kind kind;
	enum spans spans;
	int64_t per_second;
} forms[] = {
	{ "integers", "INTEGER", "", INTEGERS, POINTS, 1 },
	{ "integers with durations", "", "", INTEGERS, DURATIONS, 1 },
	{ "reals", "REAL", "", REALS, POINTS, 1 },
	{ "reals and integers with durations", "", "", REALS, DURATIONS, 1 },
	{ "reals with ends", "DOUBLE", "", REALS, ENDS, 1 },
	{ "texts", "TEXT", "", TEXTS, POINTS, 1000000000 },
	{ "texts with ends", "DATETIME", "", TEXTS, ENDS, 1000000000 },
	{ "texts in milliseconds with durations", "timestamp", ", unit=ms", TEXTS, DURATIONS, 1000 },
	{ "texts in microseconds with ends", "", ", unit=us", TEXTS, ENDS, 1000000 },
	{ "texts in seconds", "TEXT", ", unit=s", TEXTS, POINTS, 1 },
};

enum { N_FORMS = sizeof forms / sizeof *forms };

/* The range of a round's times. */
struct range {
	const struct form *form;
	int64_t base, spread;
	double scale; /* for reals */
};

static struct range range; /* the current one, also for the SQL functions below */

static int64_t floor_divide(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Returns the text of a time, by the C library's calendar. */
static char *spell(int64_t count, const char *separator, int offset_minutes, int n_digits, bool has_seconds)
{
	int64_t seconds = floor_divide(count, range.form->per_second), part = count - seconds * range.form->per_second;
	time_t at = (time_t)(seconds + 60 * offset_minutes);
	struct tm tm;
	char *text, fraction[16] = "";
	int year;

	if (!gmtime_r(&at, &tm))
		fail_msg("no date");
	year = tm.tm_year + 1900;
	if (n_digits > 0)
		snprintf(fraction, sizeof fraction, ".%09lld", (long long)(part * (1000000000 / range.form->per_second)));
	fraction[n_digits > 0 ? n_digits + 1 : 0] = 0;
	text = sqlite3_mprintf("%s%04d-%02d-%02d%s%02d:%02d", year < 0 ? "-" : "", year < 0 ? -year : year, tm.tm_mon + 1, tm.tm_mday, separator, tm.tm_hour, tm.tm_min);
	if (has_seconds)
		text = sqlite3_mprintf("%z:%02d%s", text, tm.tm_sec, fraction);
	return text;
}

/* Returns a time as the index shows it, with numbers as text and reals by their bits. */
static char *show(int64_t count)
{
	double real = (double)count / range.scale;
	int64_t part = count - floor_divide(count, range.form->per_second) * range.form->per_second, bits;
	int n_digits = 9;

	if (range.form->kind == INTEGERS)
		return sqlite3_mprintf("%lld", count);
	if (range.form->kind == REALS) {
		memcpy(&bits, &real, sizeof bits);
		return sqlite3_mprintf("real %llx", real == 0 ? 0 : bits);
	}
	part *= 1000000000 / range.form->per_second;
	for (; n_digits > 0 && part % 10 == 0; n_digits--)
		part /= 10;
	return spell(count, " ", 0, n_digits, true);
}

/* Returns one of the many texts of a time. */
static char *any_spelling(struct random *random, int64_t count)
{
	static const char *const separators[] = { " ", "T", " T", "  " };
	int64_t seconds = floor_divide(count, range.form->per_second), part = count - seconds * range.form->per_second;
	int n_least = 9, n_digits, offset = 0;
	bool has_zone = one_in(random, 3), has_seconds = part || seconds % 60 || !one_in(random, 3);
	char *text;

	part *= 1000000000 / range.form->per_second;
	for (; n_least > 0 && part % 10 == 0; n_least--)
		part /= 10;
	n_digits = n_least + (int)random_below(random, 10 - n_least);
	if (has_zone && seconds > -62000000000 && seconds < 253400000000)
		offset = (int)random_below(random, 2 * 899 + 1) - 899;
	text = spell(count, separators[random_below(random, 4)], offset, n_digits, has_seconds);
	if (!has_zone && seconds % 86400 == 0 && part == 0 && one_in(random, 2))
		text[strcspn(text, " T")] = 0;
	if (has_zone && offset == 0)
		text = sqlite3_mprintf("%z%s", text, one_in(random, 2) ? "Z" : "+00:00");
	else if (has_zone)
		text = sqlite3_mprintf("%z%s%c%02d:%02d", text, one_in(random, 4) ? " " : "", offset < 0 ? '-' : '+', abs(offset) / 60, abs(offset) % 60);
	return text;
}

/* Returns the SQL of a time, for the table or as an argument. */
static char *literal(struct random *random, int64_t count)
{
	char *text;

	if (range.form->kind == INTEGERS)
		return sqlite3_mprintf("%lld", count);
	if (range.form->kind == REALS && count % (int64_t)range.scale == 0 && one_in(random, 2))
		return sqlite3_mprintf("%lld", count / (int64_t)range.scale);
	if (range.form->kind == REALS)
		return sqlite3_mprintf("(%lld / %.1f)", count, range.scale);
	text = any_spelling(random, count);
	return sqlite3_mprintf("'%z'", text);
}

/* Returns the SQL of a length of time. */
static char *length(struct random *random, int64_t count)
{
	static const struct {
		const char *name;
		int64_t nanoseconds;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "seconds", 1000000000 }, { "minutes", 60000000000 }, { "h", 3600000000000 }, { "day", 86400000000000 } };
	int64_t unit = 1000000000 / range.form->per_second;
	int u = (int)random_below(random, 7);

	if (range.form->kind == INTEGERS)
		return sqlite3_mprintf("%lld", count);
	if (range.form->kind == REALS)
		return sqlite3_mprintf("(%lld / %.1f)", count, range.scale);
	while (units[u].nanoseconds < unit) /* in smaller units, the number might not fit into 64 bits */
		u++;
	while (((int128)count * unit) % units[u].nanoseconds)
		u--;
	return sqlite3_mprintf("'%lld %s'", (int64_t)((int128)count * unit / units[u].nanoseconds), units[u].name);
}

/* ---- SQL functions of the reference ---- */

static void show_function(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n;
	if (sqlite3_value_type(values[0]) != SQLITE_NULL)
		sqlite3_result_text(context, show(sqlite3_value_int64(values[0])), -1, sqlite3_free);
}

/* Returns a time in the form of datetime(). The index returns it in that form, or in the form of its column. */
static char *in_one_form(const char *text)
{
	size_t n_date = text[0] == '-' ? 11 : 10, n = strlen(text);
	char *time;

	n -= n > n_date && text[n - 1] == 'Z' ? 1 : n > n_date + 6 && strcmp(text + n - 6, "+00:00") == 0 ? 6 : 0;
	time = sqlite3_mprintf("%.*s%.*s%s", (int)n, text, n > n_date ? 0 : 6, " 00:00", n > n_date + 6 ? "" : ":00");
	time[n_date] = ' ';
	for (n = strlen(time); strchr(time, '.') && (time[n - 1] == '0' || time[n - 1] == '.'); n--) {
		bool is_point = time[n - 1] == '.';

		time[n - 1] = 0;
		if (is_point)
			break;
	}
	return time;
}

/* SQL function: a value that the index returned, with numbers as text and reals by their bits. */
static void bits_function(sqlite3_context *context, int n, sqlite3_value **values)
{
	double real = sqlite3_value_double(values[0]);
	int64_t bits;

	(void)n;
	memcpy(&bits, &real, sizeof bits);
	if (sqlite3_value_type(values[0]) == SQLITE_FLOAT)
		sqlite3_result_text(context, sqlite3_mprintf("real %llx", bits), -1, sqlite3_free);
	else if (range.form->kind == TEXTS && sqlite3_value_type(values[0]) == SQLITE_TEXT)
		sqlite3_result_text(context, in_one_form((const char *)sqlite3_value_text(values[0])), -1, sqlite3_free);
	else
		sqlite3_result_text(context, (const char *)sqlite3_value_text(values[0]), -1, SQLITE_TRANSIENT);
}

/* SQL function bucket_of(count, t0, t1, n). */
static void bucket_function(sqlite3_context *context, int n, sqlite3_value **values)
{
	int64_t count = sqlite3_value_int64(values[0]), t0 = sqlite3_value_int64(values[1]), t1 = sqlite3_value_int64(values[2]), n_buckets = sqlite3_value_int64(values[3]);
	int128 width = (int128)t1 - t0, distance = (int128)count - t0;

	(void)n;
	if (sqlite3_value_type(values[0]) == SQLITE_NULL || count < t0 || count >= t1)
		return;
	if (range.form->kind == INTEGERS)
		sqlite3_result_int64(context, (int64_t)(((distance + 1) * n_buckets - 1) / width));
	else
		sqlite3_result_int64(context, (int64_t)(distance * n_buckets / width));
}

/* SQL function start_of(bucket, t0, t1, n): the start as the index shows it. For reals, NULL if it is not a whole count. */
static void start_function(sqlite3_context *context, int n, sqlite3_value **values)
{
	int64_t t0 = sqlite3_value_int64(values[1]), t1 = sqlite3_value_int64(values[2]), n_buckets = sqlite3_value_int64(values[3]);
	int128 product = ((int128)t1 - t0) * sqlite3_value_int64(values[0]);

	(void)n;
	if (range.form->kind == TEXTS)
		product += n_buckets - 1;
	if (range.form->kind != REALS || product % n_buckets == 0)
		sqlite3_result_text(context, show(t0 + (int64_t)(product / n_buckets)), -1, sqlite3_free);
}

/* SQL function step_of(count, origin, step). */
static void step_function(sqlite3_context *context, int n, sqlite3_value **values)
{
	int128 distance = (int128)sqlite3_value_int64(values[0]) - sqlite3_value_int64(values[1]);
	int64_t step = sqlite3_value_int64(values[2]);

	(void)n;
	if (sqlite3_value_type(values[0]) != SQLITE_NULL)
		sqlite3_result_int64(context, (int64_t)(distance / step - (distance % step < 0)));
}

static void add_functions(sqlite3 *db)
{
	sqlite3_create_function(db, "show", 1, SQLITE_UTF8 | SQLITE_INNOCUOUS, NULL, show_function, NULL, NULL);
	sqlite3_create_function(db, "bits", 1, SQLITE_UTF8 | SQLITE_INNOCUOUS, NULL, bits_function, NULL, NULL);
	sqlite3_create_function(db, "bucket_of", 4, SQLITE_UTF8 | SQLITE_INNOCUOUS, NULL, bucket_function, NULL, NULL);
	sqlite3_create_function(db, "start_of", 4, SQLITE_UTF8 | SQLITE_INNOCUOUS, NULL, start_function, NULL, NULL);
	sqlite3_create_function(db, "step_of", 3, SQLITE_UTF8 | SQLITE_INNOCUOUS, NULL, step_function, NULL, NULL);
}

/* ---- tables ---- */

/* `count` and `length` are in units. Table `t` gets what they stand for, table `c` the numbers themselves. */
static void put_row(sqlite3 *db, struct random *random, int64_t id, const int64_t *count, const int64_t *length, const int64_t *v)
{
	enum spans spans = range.form->spans;
	char *ts = count ? literal(random, *count) : sqlite3_mprintf("NULL"), *d = NULL, *number = v ? sqlite3_mprintf("%lld", *v) : sqlite3_mprintf("NULL");
	bool has_length = length && spans != POINTS && (spans == DURATIONS || count);
	int64_t g = random_below(random, 3);

	if (has_length && spans == ENDS)
		d = literal(random, *count + *length);
	else if (has_length && range.form->kind == REALS)
		d = sqlite3_mprintf("(%lld / %.1f)", *length, range.scale);
	else if (has_length)
		d = sqlite3_mprintf("%lld", *length);
	run(db, "REPLACE INTO t(id, g, ts, d, v) VALUES(%lld, %lld, %s, %s, %s)", id, g, ts, d ? d : "NULL", number);
	sqlite3_free(ts);
	ts = count ? sqlite3_mprintf("%lld", *count) : sqlite3_mprintf("NULL");
	sqlite3_free(d);
	d = has_length ? sqlite3_mprintf("%lld", *length) : NULL;
	run(db, "REPLACE INTO c(id, g, k, d, v) VALUES(%lld, %lld, %s, %s, %s)", id, g, ts, d ? d : "NULL", number);
	sqlite3_free(ts);
	sqlite3_free(d);
	sqlite3_free(number);
}

static int64_t random_count(struct random *random)
{
	return range.base + random_below(random, range.spread);
}

static void put_random_row(sqlite3 *db, struct random *random, int64_t id)
{
	int64_t count = random_count(random), v = random_below(random, 50) - 10;
	int64_t length = one_in(random, 8) ? random_below(random, 3) - 2 : random_below(random, 1 + range.spread / (one_in(random, 5) ? 2 : 50));

	put_row(db, random, id, one_in(random, 25) ? NULL : &count, one_in(random, 9) ? NULL : &length, one_in(random, 12) ? NULL : &v);
}

/* The id of a row whose time has a fraction, so that the times stay reals. */
enum { FRACTION = 1000000 };

static void put_fraction(sqlite3 *db, struct random *random)
{
	int64_t count = range.base | 1, length = 1, v = 3;

	if (range.form->kind == REALS)
		put_row(db, random, FRACTION, &count, &length, &v);
}

static void choose_range(struct random *random, const struct form *form)
{
	static const int64_t spreads[] = { 3, 60, 5000, 1000000, 90000000000, INT64_C(3000000000000000) }; /* so small that sums of reals are exact */

	range = (struct range){ .form = form, .scale = 1, .spread = spreads[random_below(random, form->kind == REALS ? 5 : 6)] };
	if (form->kind == REALS) {
		range.scale = (double)(1 << (one_in(random, 2) ? 22 : 1 + random_below(random, 12)));
		range.base = one_in(random, 3) ? -range.spread / 3 : random_below(random, 1800000000) * (int64_t)range.scale;
	} else if (form->kind == INTEGERS) {
		range.base = (int64_t)random64(random) >> (2 + random_below(random, 50));
	} else if (form->per_second == 1000000000) { /* the years 1677 to 2262, at either end or anywhere */
		range.base = one_in(random, 4)	 ? INT64_MIN + INT64_C(1000000000) * 60
			     : one_in(random, 3) ? INT64_MAX - 4 * range.spread
						 : (int64_t)random64(random) >> (2 + random_below(random, 10));
	} else { /* the years 0 to 9999 */
		if (range.spread > 1000 * form->per_second)
			range.spread = 1000 * form->per_second * (one_in(random, 3) ? 86400 * 365 : 1);
		range.base = (-62167219200 + random_below(random, 62167219200 + 253402300800 - 86400 * INT64_C(366) * 2000)) * form->per_second;
	}
}

static void make_tables(sqlite3 *db, struct random *random)
{
	static const char *const spans[] = { "", ", duration=d", ", end=d AS d" };
	const struct form *form = range.form;
	int64_t n = (int64_t[]){ 0, 1, 7, 120, 800, 5000 }[random_below(random, one_in(random, 8) ? 6 : 5)];

	run(db, "BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, g, ts %s, d %s, v); CREATE TABLE c(id INTEGER PRIMARY KEY, g, k INTEGER, d INTEGER, v)", form->type,
	    form->spans == ENDS ? form->type : "");
	put_fraction(db, random);
	for (int64_t id = 1; id <= n; id++)
		put_random_row(db, random, id);
	run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=v, by=g%s%s%s); CREATE VIRTUAL TABLE x_counter USING iforest_counter(x)", form->unit, spans[form->spans], one_in(random, 2) ? ", counter=v" : "");
	run(db, "COMMIT; CREATE VIRTUAL TABLE x_rows USING iforest_rows(x); CREATE VIRTUAL TABLE x_all USING iforest_fold(x); CREATE VIRTUAL TABLE x_gaps USING iforest_gaps(x)");
	if (form->spans != POINTS)
		run(db, "CREATE VIRTUAL TABLE x_overlap USING iforest_overlap(x); CREATE VIRTUAL TABLE x_overlap_all USING iforest_overlap(x, ())");
}

static void change(sqlite3 *db, struct random *random)
{
	int64_t n = one_in(random, 6) ? 100 : random_below(random, 8), last = integer_of(db, "SELECT ifnull(max(id), 0) FROM t WHERE id < %d", FRACTION);

	run(db, "BEGIN");
	for (int64_t i = 0; i < n; i++) {
		int64_t id = 1 + random_below(random, last + 20);

		if (one_in(random, 4))
			run(db, "DELETE FROM t WHERE id = %lld; DELETE FROM c WHERE id = %lld", id, id);
		else
			put_random_row(db, random, one_in(random, 3) ? last + 1 + i : id);
	}
	run(db, one_in(random, 10) ? "ROLLBACK" : "COMMIT");
}

/* ---- questions ---- */

struct question {
	int64_t t0, t1, n;
	char *from, *to; /* the window in SQL */
};

static struct question random_window(struct random *random)
{
	struct question question = { .n = 1 + random_below(random, one_in(random, 3) ? 300 : 12) };
	int64_t a = random_count(random), b = random_count(random);

	question.t0 = a < b ? a : b;
	question.t1 = a < b ? b : a;
	question.from = literal(random, question.t0);
	question.to = literal(random, question.t1);
	return question;
}

static void same(sqlite3 *db, char *sql, char *reference)
{
	same_rows(db, sql, reference);
	sqlite3_free(sql);
	sqlite3_free(reference);
}

#define OF_V "count(*), count(v), sum(v), min(v), max(v), max(iif(r = 1 AND v IS NOT NULL, id, NULL)), show(min(k)), show(max(k)), show(max(iif(r = 1 AND v IS NOT NULL, k, NULL)))"
#define OF_X "count, count_v, sum_v, min_v, max_v, max_v_id, bits(first_ts), bits(last_ts), bits(max_v_ts)"

static void ask_window(sqlite3 *db, struct random *random)
{
	struct question q = random_window(random);

	same(db, sqlite3_mprintf("SELECT g, " OF_X " FROM x(%s, %s) ORDER BY g", q.from, q.to),
	     sqlite3_mprintf("WITH w AS (SELECT *, row_number() OVER (PARTITION BY g ORDER BY v DESC, k, id) AS r FROM c WHERE k >= %lld AND k < %lld) "
			     "SELECT g, " OF_V " FROM w GROUP BY g ORDER BY g", q.t0, q.t1));
	if (range.form->spans != POINTS)
		same(db, sqlite3_mprintf("SELECT g, count_d, bits(sum_d), bits(max_d) FROM x(%s, %s) ORDER BY g", q.from, q.to),
		     sqlite3_mprintf("SELECT g, count(d), %s, %s FROM c WHERE k >= %lld AND k < %lld GROUP BY g ORDER BY g",
				     range.form->kind == REALS ? "show(sum(d))" : "sum(d) || ''", range.form->kind == REALS ? "show(max(d))" : "max(d) || ''", q.t0, q.t1));
	same(db, sqlite3_mprintf("SELECT count, bits(first_ts), bits(last_ts) FROM x_all WHERE t0 = %s", q.from),
	     sqlite3_mprintf("SELECT * FROM (SELECT count(*) AS n, show(min(k)), show(max(k)) FROM c WHERE k >= %lld) WHERE n > 0", q.t0));
	sqlite3_free(q.from);
	sqlite3_free(q.to);
}

static void ask_buckets(sqlite3 *db, struct random *random)
{
	struct question q = random_window(random);
	char *where = sqlite3_mprintf("k >= %lld AND k < %lld", q.t0, q.t1);

	if (q.t0 < q.t1 && q.n > 1) {
		same(db, sqlite3_mprintf("SELECT g, bucket, iif(start_of(bucket, %lld, %lld, %lld) IS NULL, NULL, bits(bucket_start)), iif(start_of(bucket + 1, %lld, %lld, %lld) IS NULL, NULL, bits(bucket_end)), " OF_X
					 " FROM x(%s, %s, %lld) ORDER BY g, bucket", q.t0, q.t1, q.n, q.t0, q.t1, q.n, q.from, q.to, q.n),
		     sqlite3_mprintf("WITH b AS (SELECT *, bucket_of(k, %lld, %lld, %lld) AS b FROM c WHERE %s), w AS (SELECT *, row_number() OVER (PARTITION BY g, b ORDER BY v DESC, k, id) AS r FROM b) "
				     "SELECT g, b, start_of(b, %lld, %lld, %lld), start_of(b + 1, %lld, %lld, %lld), " OF_V " FROM w GROUP BY g, b ORDER BY g, b",
				     q.t0, q.t1, q.n, where, q.t0, q.t1, q.n, q.t0, q.t1, q.n));
		same(db, sqlite3_mprintf("SELECT iforest_bucket(%s, %s, %s, %lld) AS b, count(*) FROM t WHERE b IS NOT NULL GROUP BY b ORDER BY b",
					 range.form->kind == REALS ? "CAST(ts AS REAL)" : "ts", q.from, q.to, q.n),
		     sqlite3_mprintf("SELECT bucket_of(k, %lld, %lld, %lld), count(*) FROM c WHERE %s GROUP BY 1 ORDER BY 1", q.t0, q.t1, q.n, where));
		same(db, sqlite3_mprintf("SELECT bucket, count, first_ts >= bucket_start AND last_ts < bucket_end FROM x_all(%s, %s, %lld)", q.from, q.to, q.n),
		     sqlite3_mprintf("SELECT bucket_of(k, %lld, %lld, %lld), count(*), 1 FROM c WHERE %s GROUP BY 1 ORDER BY 1", q.t0, q.t1, q.n, where));
	}
	sqlite3_free(where);
	sqlite3_free(q.from);
	sqlite3_free(q.to);
}

static void ask_steps(sqlite3 *db, struct random *random)
{
	struct question q = random_window(random);
	int64_t step = 1 + random_below(random, 1 + range.spread / (1 + random_below(random, 40))), at = random_count(random);
	char *width, *origin = literal(random, at);

	if (one_in(random, 2) && range.form->kind == TEXTS) /* a step of whole seconds */
		step = (step / range.form->per_second + 1) * range.form->per_second;
	width = length(random, step);
	same(db, sqlite3_mprintf("SELECT g, bucket, bits(bucket_start), bits(bucket_end), " OF_X " FROM x(%s, %s) WHERE step = %s AND origin = %s ORDER BY g, bucket", q.from, q.to, width, origin),
	     sqlite3_mprintf("WITH b AS (SELECT *, step_of(k, %lld, %lld) AS b FROM c WHERE k >= %lld AND k < %lld), w AS (SELECT *, row_number() OVER (PARTITION BY g, b ORDER BY v DESC, k, id) AS r FROM b) "
			     "SELECT g, b, show(max(%s, %lld + b * %lld)), show(min(%s, %lld + (b + 1) * %lld)), " OF_V " FROM w GROUP BY g, b ORDER BY g, b", at, step, q.t0, q.t1,
			     "-9223372036854775807 - 1", at, step, "9223372036854775807", at, step));
	sqlite3_free(width);
	sqlite3_free(origin);
	sqlite3_free(q.from);
	sqlite3_free(q.to);
}

/* Returns the SQL of a bound. A column of texts is compared as text, so that the bound must have the form in which the index
 * writes times. */
static char *bound(sqlite3 *db, struct random *random, int64_t count)
{
	char *sql, *text, *quoted;

	if (range.form->kind != TEXTS)
		return literal(random, count);
	sql = sqlite3_mprintf("SELECT bucket_start FROM x_all('%z', %z, 1) WHERE fill = 'zero'", show(count), literal(random, count + 1));
	text = rows_of(db, sql);
	quoted = sqlite3_mprintf("'%.*s'", (int)strcspn(text, "\n"), text);
	free(text);
	sqlite3_free(sql);
	return quoted;
}

static void ask_rows(sqlite3 *db, struct random *random)
{
	static const char *const orders[] = { "ts, id", "ts DESC, id DESC", "v, ts, id", "v DESC, ts, id" }, *const references[] = { "k, id", "k DESC, id DESC", "v, k, id", "v DESC, k, id" };
	struct question q = random_window(random);
	char *low = bound(db, random, q.t0), *high = bound(db, random, q.t1);
	int order = (int)random_below(random, 4), limit = (int)random_below(random, 40) - 1;
	bool has_spans = range.form->spans != POINTS;
	int64_t id = 1 + random_below(random, 100);

	same(db, sqlite3_mprintf("SELECT id, g, bits(ts), v%s FROM x_rows WHERE ts >= %s AND ts < %s ORDER BY %s LIMIT %d", has_spans ? ", bits(d), bits(\"end\")" : "", low, high, orders[order], limit),
	     sqlite3_mprintf("SELECT id, g, show(k), v%s FROM c WHERE k >= %lld AND k < %lld ORDER BY %s LIMIT %d",
			     !has_spans ? "" : range.form->kind == REALS ? ", show(d), show(k + max(ifnull(d, 0), 0))" : ", d || '', show(k + max(ifnull(d, 0), 0))", q.t0, q.t1, references[order], limit));
	same(db, sqlite3_mprintf("SELECT id FROM x_rows WHERE ts > %s AND ts <= %s ORDER BY 1", low, high),
	     sqlite3_mprintf("SELECT id FROM c WHERE k > %lld AND k <= %lld ORDER BY 1", q.t0, q.t1));
	same(db, sqlite3_mprintf("SELECT id FROM x_rows WHERE ts = %s ORDER BY 1", low), sqlite3_mprintf("SELECT id FROM c WHERE k = %lld ORDER BY 1", q.t0));
	same(db, sqlite3_mprintf("SELECT id, bits(ts) FROM x_rows(%s, %s) ORDER BY 1", q.from, q.to),
	     sqlite3_mprintf("SELECT id, show(k) FROM c WHERE k < %lld AND %lld < %lld AND (k >= %lld AND ifnull(d <= 0, 1) OR k + d > %lld AND d > 0) ORDER BY 1", q.t1, q.t0, q.t1, q.t0, q.t0));
	same(db, sqlite3_mprintf("SELECT id, bits(ts) FROM x_rows WHERE id = %lld", id), sqlite3_mprintf("SELECT id, show(k) FROM c WHERE id = %lld", id));
	sqlite3_free(low);
	sqlite3_free(high);
	sqlite3_free(q.from);
	sqlite3_free(q.to);
}

/* Compares overlaps of n buckets of width w, from t0 on. */
static void ask_overlaps(sqlite3 *db, const char *from, const char *to, int64_t t0, int64_t w, int64_t n)
{
	static const char *const buckets = "WITH RECURSIVE b(b, a, z) AS (VALUES(0, %lld, %lld) UNION ALL SELECT b + 1, z, z + %lld FROM b WHERE b < %lld - 1),"
					   " o AS (SELECT * FROM b, c WHERE k < z AND (k >= a AND ifnull(d <= 0, 1) OR d > 0 AND k + d > a)),"
					   " w AS (SELECT *, row_number() OVER (PARTITION BY g, b ORDER BY d DESC, k, id) AS r FROM o) ";
	static const char *const longest = "max(iif(r = 1 AND d IS NOT NULL, id, NULL)), show(max(iif(r = 1 AND d IS NOT NULL, k, NULL)))";
	bool is_real = range.form->kind == REALS;
	char *list = sqlite3_mprintf(buckets, t0, t0 + w, w, n), *length_of = is_real ? "show(%s)" : "%s || ''";
	char *clipped = sqlite3_mprintf(length_of, "sum(max(0, min(z, k + ifnull(d, 0)) - max(a, k)))"), *greatest = sqlite3_mprintf(length_of, "max(d)");

	same(db, sqlite3_mprintf("SELECT g, bucket, bits(bucket_start), overlaps, bits(clipped_d), bits(longest_d), longest_d_id, bits(longest_d_ts) FROM x_overlap(%s, %s, %lld) ORDER BY g, bucket", from, to, n),
	     sqlite3_mprintf("%s SELECT g, b, show(a), count(*), %s, %s, %s FROM w GROUP BY g, b ORDER BY g, b", list, clipped, greatest, longest));
	same(db, sqlite3_mprintf("SELECT g, bucket, bits(longest_d), longest_d_id FROM x_overlap(%s, %s, %lld) ORDER BY g, bucket", from, to, n),
	     sqlite3_mprintf("%s SELECT g, b, %s, max(iif(r = 1 AND d IS NOT NULL, id, NULL)) FROM w GROUP BY g, b ORDER BY g, b", list, greatest));
	same(db, sqlite3_mprintf("SELECT bucket, overlaps, bits(clipped_d) FROM x_overlap_all(%s, %s, %lld)", from, to, n),
	     sqlite3_mprintf("%s SELECT b, count(*), %s FROM w GROUP BY b ORDER BY b", list, clipped));
	same(db, sqlite3_mprintf("SELECT overlaps, bits(clipped_d) FROM x_overlap_all WHERE t0 = %s", from),
	     sqlite3_mprintf("SELECT n, s FROM (SELECT count(*) AS n, %s AS s FROM (SELECT *, %lld AS a, k + max(0, ifnull(d, 0)) AS z FROM c WHERE k >= %lld OR d > 0 AND k + d > %lld)) WHERE n > 0", clipped, t0, t0, t0));
	sqlite3_free(list);
	sqlite3_free(clipped);
	sqlite3_free(greatest);
}

/* Compares counters. A sample holds until the next one of its series, or for its own duration. */
static void ask_counters(sqlite3 *db, struct random *random)
{
	struct question q = random_window(random);
	int64_t n = 1 + q.n % 7, w = 1 + (q.t1 - q.t0) / n;
	char *to;

	if (q.t0 < INT64_MAX - n * w) {
		to = literal(random, q.t0 + n * w);
		same(db, sqlite3_mprintf("SELECT g, bucket, bits(bucket_start), count, count_v, start_v, end_v, twa_v, increase_v, rate_v, resets_v FROM x_counter(%s, %s, %lld) ORDER BY g, bucket", q.from, to, n),
		     sqlite3_mprintf("WITH RECURSIVE b(b, a, z) AS (VALUES(0, %lld, %lld) UNION ALL SELECT b + 1, z, z + %lld FROM b WHERE b < %lld - 1), f AS (SELECT g, min(k) AS first FROM c GROUP BY g HAVING first IS NOT NULL),"
				     " s AS MATERIALIZED (SELECT g, k, id, v, lag(v) OVER w AS p, min(ifnull(lead(k) OVER w, 9223372036854775807), iif(d >= 0, k + d, 9223372036854775807)) AS e FROM c"
				     " WHERE k IS NOT NULL AND v IS NOT NULL WINDOW w AS (PARTITION BY g ORDER BY k, id)),"
				     " r AS (SELECT f.g, b, a, z, count(v) AS known, count(iif(k >= a, 1, NULL)) AS n, sum(v * max(0, min(e, z) - max(k, a))) * 1.0 / sum(max(0, min(e, z) - max(k, a))) AS mean,"
				     " sum(iif(k < a OR p IS NULL, 0, iif(v < p, v, v - p))) AS increase, sum(k >= a AND ifnull(v < p, 0)) AS resets FROM b JOIN f ON first < z LEFT JOIN s ON s.g = f.g AND k < z GROUP BY f.g, b)"
				     " SELECT g, b, show(a), (SELECT count(*) FROM c WHERE c.g = r.g AND k >= a AND k < z), n, (SELECT v FROM s WHERE s.g = r.g AND k < a ORDER BY k DESC, id DESC LIMIT 1),"
				     " (SELECT v FROM s WHERE s.g = r.g AND k < z ORDER BY k DESC, id DESC LIMIT 1), mean, iif(known, increase, NULL), iif(known, increase / ((z - a) / %.1f), NULL), iif(known, resets, NULL) FROM r ORDER BY g, b",
				     q.t0, q.t0 + w, w, n, range.scale));
		sqlite3_free(to);
	}
	sqlite3_free(q.from);
	sqlite3_free(q.to);
}

static void ask_spans(sqlite3 *db, struct random *random)
{
	struct question q = random_window(random);
	int64_t w = 1 + (q.t1 - q.t0) / q.n, longer = random_below(random, 1 + range.spread / 20);
	char *longer_than = length(random, longer), *to;
	const char *length_of = range.form->spans == POINTS ? "0" : "max(ifnull(d, 0), 0)";

	same(db, sqlite3_mprintf("SELECT g, bits(gap_start), bits(gap_end) FROM x_gaps WHERE longer_than = %s ORDER BY g, gap_end", longer_than),
	     sqlite3_mprintf("WITH s AS (SELECT g, k, max(k + %s) OVER (PARTITION BY g ORDER BY k, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS e FROM c WHERE k IS NOT NULL) "
			     "SELECT g, show(e), show(k) FROM s WHERE k - e > %lld ORDER BY g, k", length_of, longer));
	if (range.form->spans != POINTS && q.t0 < INT64_MAX - q.n * w) {
		to = literal(random, q.t0 + q.n * w);
		ask_overlaps(db, q.from, to, q.t0, w, q.n);
		sqlite3_free(to);
	}
	sqlite3_free(longer_than);
	sqlite3_free(q.from);
	sqlite3_free(q.to);
}

static uint64_t seed_of_round;

static int print_seed(void **state)
{
	(void)state;
	print_message("last round: IFOREST_SEED=%" PRIu64 " IFOREST_ROUNDS=1\n", seed_of_round);
	return 0;
}

static void an_index_of_any_kind_follows(void **state)
{
	static const char *const commands[] = { "flush", "flush", "optimize", "rebuild", "integrity-check", "merge" };
	static void (*const questions[])(sqlite3 *, struct random *) = { ask_window, ask_buckets, ask_steps, ask_rows, ask_spans, ask_counters };

	int n_rounds = test_rounds(4 * N_FORMS);

	(void)state;
	for (int round = 0; round < n_rounds; round++) {
		struct random random = { seed_of_round = test_seed() + (uint64_t)round };
		const char *path = test_path("kinds.db");
		sqlite3 *db, *plain;

		choose_range(&random, &forms[seed_of_round % N_FORMS]);
		db = open_database(path, 0);
		plain = open_plain(path, 0);
		add_functions(db);
		make_tables(db, &random);
		for (int step = 0; step < 15; step++) {
			change(one_in(&random, 2) ? plain : db, &random);
			if (one_in(&random, 4))
				run(db, "INSERT INTO x(x) VALUES(%Q)", commands[random_below(&random, 6)]);
			if (one_in(&random, 8))
				run(one_in(&random, 2) ? plain : db, "VACUUM");
			for (int i = 0; i < 6; i++)
				questions[random_below(&random, 6)](db, &random);
		}
		run(db, "INSERT INTO x(x) VALUES('integrity-check')");
		close_database(plain);
		close_database(db);
		remove_database(path);
	}
}

/* ---- extreme times, and refusals ---- */

static void the_years_that_there_are(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts); INSERT INTO t(ts) VALUES ('-4713-11-24 12:00:00'), ('-0001-12-31 23:59:59.5'), ('0000-01-01'), ('2024-02-29 23:59:59.999999'),"
		" ('2024-03-01'), ('9999-12-31 23:59:59.999999')");
	run_fails(db, "iforest: time column \"ts\" of row 1 holds '-4713-11-24 12:00:00', which lies outside the years 1677 to 2262, all that 64 bits of nanoseconds can count; make the index with unit=us",
		  "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts)");
	run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, unit=us)");
	run_gives(db, "6|-4713-11-24 12:00:00|9999-12-31 23:59:59.999999\n", "SELECT count, first_ts, last_ts FROM x");
	run_gives(db, "1|2024-02-29 23:59:59.999999\n1|2024-03-01 00:00:00\n", "SELECT count, first_ts FROM x('2024-02-29', '2024-03-02') WHERE step = '1 day' ORDER BY bucket");
	run_gives(db, "-4713-11-24 12:00:00|-4713-11-25 00:00:00|1\n", "SELECT bucket_start, bucket_end, count FROM x('-4713-11-24 12:00', '-4713-12-01') WHERE step = '1 day'");
	run_gives(db, "-4713-11-24 12:00:00|1\n", "SELECT bucket_start, count FROM x('-4713-11-24 12:00', '-4713-12-01') WHERE step = '1 week'"); /* the week begins before all times */
	run_gives(db, "9999-12-31 23:59:59.999999|1\n", "SELECT bucket_end, count FROM x('9999-12-31') WHERE step = '1 week'");
	run(db, "INSERT INTO t VALUES(7, '2024-02-29 12:00:00.0000001')");
	run_fails(db, "iforest: time column \"ts\" of row 7 holds '2024-02-29 12:00:00.0000001', which has digits beyond the index's unit=us", "SELECT count FROM x");
	run(db, "UPDATE t SET ts = '2024-02-30' WHERE id = 7");
	run_gives(db, "2024-03-01 00:00:00\n", "SELECT max(first_ts) FROM x('2024-02-29', '2024-03-02', 2)");
	run_fails(db, "x: argument t0 has more digits than times of this index: 2024-02-29 12:00:00.0000001", "SELECT count FROM x('2024-02-29 12:00:00.0000001')");
	run_fails(db, "x: argument step is no whole number of us, in which this index counts: 100 ns", "SELECT count FROM x WHERE step = '100 ns'");
	close_database(db);
}

static void the_nanoseconds_that_there_are(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts TEXT); INSERT INTO t(ts) VALUES ('1677-09-21 00:12:43.145224192'), ('2262-04-11T23:47:16.854775807Z'), ('2024-02-29 23:59:59.999999999'), ('2024-03-01'), ('2024-02-29 23:59:59.999999998'),"
		" ('2024-03-01 00:30:00.000000001+00:31'), ('2024-02-28 23:59:59.999999999-14:59'), ('1970-01-01 00:00:00.000000000'), ('1969-12-31 23:59:59.999999999'), ('2024-03-01 00:00:00+14:59');"
		"CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts); CREATE VIRTUAL TABLE x_rows USING iforest_rows(x)");
	run_gives(db, "10|1677-09-21 00:12:43.145224192|2262-04-11 23:47:16.854775807\n", "SELECT count, first_ts, last_ts FROM x");
	run_gives(db, "10|2024-02-29 09:01:00\n7|2024-02-29 14:58:59.999999999\n6|2024-02-29 23:59:00.000000001\n5|2024-02-29 23:59:59.999999998\n3|2024-02-29 23:59:59.999999999\n4|2024-03-01 00:00:00\n",
		  "SELECT id, ts FROM x_rows('2024-02-01', '2024-04-01') ORDER BY ts");
	run_gives(db, "5|2024-02-29 23:59:59.999999999\n1|2024-03-01 00:00:00\n", "SELECT count, last_ts FROM x('2024-02-01', '2024-04-01') WHERE step = '1 day' ORDER BY bucket");
	run_gives(db, "1|2024-02-29 23:59:59.999999998\n1|2024-02-29 23:59:59.999999999\n1|2024-03-01 00:00:00\n", "SELECT count, bucket_start FROM x('2024-02-29 23:59:59.999999998', '2024-03-01 00:00:00.000000001') WHERE step = '1 ns' ORDER BY bucket");
	run_gives(db, "1969-12-31 23:59:59.999999999|-1\n1970-01-01 00:00:00|0\n", "SELECT first_ts, bucket FROM x('1969-12-31', '1970-01-02') WHERE step = '1 ns' ORDER BY bucket");
	run_gives(db, "1|1|1\n", "SELECT a.count, b.count, c.count FROM x('2262-04-11 23:47:16.854775807') a, x('1677-09-21 00:12:43.145224192', '1677-09-21 00:12:43.145224193') b, x('2024-02-28 23:59:59.999999999-14:59', '2024-02-29T14:59Z') c");
	run(db, "INSERT INTO t VALUES(20, '2262-04-11 23:47:16.854775808')");
	run_fails(db, "iforest: time column \"ts\" of row 20 holds '2262-04-11 23:47:16.854775808', which lies outside the years 1677 to 2262", "SELECT count FROM x");
	run(db, "UPDATE t SET ts = '2024-02-29 23:59:59.9999999990' WHERE id = 20");
	run_gives(db, "11\n", "SELECT count FROM x");
	run(db, "UPDATE t SET ts = '2024-02-29 23:59:59.9999999991' WHERE id = 20");
	run_fails(db, "iforest: time column \"ts\" of row 20 holds '2024-02-29 23:59:59.9999999991', which ", "SELECT count FROM x");
	close_database(db);
}

/* Texts are read as SQLite's own functions read them. These know only milliseconds. */
static void texts_are_read_as_sqlite_reads_them(void **state)
{
	struct random random = { test_seed() };
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts TEXT)");
	for (int i = 0; i < 500; i++) {
		static const char *const parts[] = { "2024-02-29", "0000-01-01", "9999-12-31", "2023-02-31", "-0044-03-15", "-4713-11-24", "2026-13-01", "T", " ", "  ", "24:00", "23:59", "00:00",
						     "12:30:59", "12:30:60", ".5", ".125", ".", "Z", "z", "+01:00", "-14:59", "+15:00", "-00:30", "+0100", "x", "", "now", "12" };
		char *text = sqlite3_mprintf("%s%s%s%s%s%s", parts[random_below(&random, 7)], parts[7 + random_below(&random, 3)], one_in(&random, 6) ? "" : parts[10 + random_below(&random, 5)],
					     one_in(&random, 2) ? "" : parts[15 + random_below(&random, 3)], one_in(&random, 2) ? "" : parts[18 + random_below(&random, 11)], one_in(&random, 9) ? " " : "");

		run(db, "DELETE FROM t; INSERT INTO t VALUES(1, %Q)", text);
		if (integer_of(db, "SELECT datetime(ts) IS NULL FROM t")) {
			run_fails(db, "iforest: time column \"ts\" of row 1 holds ", "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, unit=us)");
		} else {
			run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, unit=us)");
			same_rows(db, "SELECT CAST(round(julianday(first_ts) * 86400000) AS INTEGER) FROM x", "SELECT CAST(round(julianday(ts) * 86400000) AS INTEGER) FROM t");
			run(db, "DROP TABLE x");
		}
		sqlite3_free(text);
	}
	close_database(db);
}

/* Compares with SQL that people write without an index. */
static void windows_and_buckets_are_those_of_sqlites_functions(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts TEXT, v INTEGER); WITH RECURSIVE n(n) AS (VALUES(0) UNION ALL SELECT n + 1 FROM n WHERE n < 3000), s AS (SELECT n, 820454400 + n * 7919 * 61 %% 400000 - iif(n %% 9, 0, n * 86400) AS s FROM n)"
		" INSERT INTO t SELECT n, CASE n %% 6 WHEN 0 THEN datetime(s, 'unixepoch') WHEN 1 THEN strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', s, 'unixepoch') WHEN 2 THEN datetime(s + 5400, 'unixepoch') || '+01:30'"
		" WHEN 3 THEN strftime('%%Y-%%m-%%d %%H:%%M', s, 'unixepoch') WHEN 4 THEN date(s, 'unixepoch') ELSE datetime(s, 'unixepoch') || '.250' END, n %% 101 FROM s;"
		"CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=v)");
	same_rows(db, "SELECT bucket_start, count, sum_v, max_v FROM x WHERE step = '5 minutes' ORDER BY bucket",
		  "SELECT datetime(CAST(strftime('%s', ts) AS INTEGER) / 300 * 300, 'unixepoch') AS b, count(*), sum(v), max(v) FROM t GROUP BY b ORDER BY b");
	same_rows(db, "SELECT bucket_start, count, sum_v FROM x WHERE step = '1 day' ORDER BY bucket", "SELECT date(ts) || ' 00:00:00' AS b, count(*), sum(v) FROM t GROUP BY b ORDER BY b");
	same_rows(db, "SELECT substr(bucket_start, 1, 13), count FROM x('1995-12-31 22:00', '1996-01-03T12:00:00Z') WHERE step = '1 h' ORDER BY bucket",
		  "SELECT strftime('%Y-%m-%d %H', ts) AS b, count(*) FROM t WHERE julianday(ts) >= julianday('1995-12-31 22:00') AND julianday(ts) < julianday('1996-01-03 12:00') GROUP BY b ORDER BY b");
	same_rows(db, "SELECT bucket_start, count FROM x WHERE step = '1 week' AND origin = '2000-01-03' ORDER BY bucket", "SELECT datetime(ts, 'start of day', 'weekday 0', '-6 days') AS b, count(*) FROM t GROUP BY b ORDER BY b");
	same_rows(db, "SELECT count, sum_v FROM x('1996-01-01', '1996-01-02 06:00')", "SELECT count(*), sum(v) FROM t WHERE datetime(ts) >= '1996-01-01' AND datetime(ts) < '1996-01-02 06:00:00'");
	close_database(db);
}

static void reals_at_their_ends(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts REAL, d REAL); INSERT INTO t(ts, d) VALUES(-0.0, 1), (0.0, 0.5), (4.9406564584124654e-324, 1), (-4.9406564584124654e-324, 2), (1.7976931348623157e308, 1),"
		" (-1.7976931348623157e308, 3.0e308), (0.1, NULL), (NULL, 7.5)");
	run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, duration=d); CREATE VIRTUAL TABLE x_rows USING iforest_rows(x);"
		"CREATE VIRTUAL TABLE x_overlap USING iforest_overlap(x); CREATE VIRTUAL TABLE x_gaps USING iforest_gaps(x)");
	same_rows(db, "SELECT count, first_ts, last_ts, count_d, min_d, max_d FROM x", "SELECT count(*), min(ts), max(ts), count(d), min(d), max(d) FROM t");
	run_gives(db, "2|0.0|0.0\n", "SELECT count, first_ts, last_ts FROM x(0, 4.9406564584124654e-324)");
	run_gives(db, "2\n", "SELECT count FROM x(-0.0, 4.9406564584124654e-324)");
	run_gives(db, "1\n", "SELECT count FROM x(-4.9406564584124654e-324, 0.0)");
	run_gives(db, "0|5\n", "SELECT bucket, count FROM x(-4.9406564584124654e-324, 0.5, 2)");
	run_gives(db, "0|1\n1|2\n", "SELECT bucket, count FROM x(-4.9406564584124654e-324, 4.9406564584124654e-324, 2)");
	run_gives(db, "1\n2\n4\n6\n", "SELECT id FROM x_rows(-0.0, 4.9406564584124654e-324) ORDER BY id");
	run_gives(db, "1\n2\n", "SELECT id FROM x_rows WHERE ts = -0.0 ORDER BY id");
	run_gives(db, "3\n7\n5\n", "SELECT id FROM x_rows WHERE ts > 0 ORDER BY ts");
	run_gives(db, "5\n", "SELECT id FROM x_rows WHERE ts > 9223372036854775807 AND ts < 9e999");
	run_gives(db, "6\n", "SELECT id FROM x_rows WHERE ts <= -9223372036854775807");
	run_gives(db, "0.0|Inf\n1.0e+308|1\n", "SELECT min(bucket_start), max(bucket_end) FROM x WHERE step = 1e308 AND t0 = 0 UNION ALL SELECT bucket_start, count FROM x WHERE step = 1e308 AND t0 = 1");
	run_fails(db, "x: a bucket number exceeds 64 bits", "SELECT bucket FROM x WHERE step = 1e-300");
	run_fails(db, "x: argument t1 is infinite: leave it out", "SELECT count FROM x(0, 9e999)");
	run_fails(db, "x: argument step is infinite", "SELECT count FROM x WHERE step = 9e999");
	run_fails(db, "x: step must be greater than 0", "SELECT count FROM x WHERE step = -0.5");
	run_fails(db, "x: argument t0 is not a number: 2026-01-01", "SELECT count FROM x('2026-01-01')");
	run_fails(db, "x: argument step is '1 hour', but the unit of the time column is not known: give a number in it", "SELECT count FROM x WHERE step = '1 hour'");
	run(db, "INSERT INTO t VALUES(20, 9e999, 1)");
	run_fails(db, "iforest: time column \"ts\" of row 20 holds Inf, which is no time; store NULL", "SELECT count FROM x");
	run(db, "UPDATE t SET ts = 'soon' WHERE id = 20");
	run_fails(db, "iforest: time column \"ts\" of row 20 holds text (soon), and times of the index are numbers; store times of one kind alone", "SELECT count FROM x");
	run(db, "UPDATE t SET ts = NULL WHERE id = 20; INSERT INTO x(x) VALUES('integrity-check')");
	run_gives(db, "9\n", "SELECT count FROM x");
	run_fails(db, "x: times are reals or texts, and an export has buckets of integers", "INSERT INTO x(x, step) VALUES('export', 1)");
	for (size_t w = 0; w < 4; w++) {
		static const char *const windows[][2] = { { "0.0", "1.0" }, { "-1e308", "1e308" }, { "-4.9406564584124654e-324", "4.9406564584124654e-324" }, { "-1.7976931348623157e308", "1.7976931348623157e308" } };
		const char *from = windows[w][0], *to = windows[w][1];
		char *sql = sqlite3_mprintf("SELECT overlaps, clipped_d, longest_d, longest_d_id FROM x_overlap(%s, %s)", from, to);
		char *reference = sqlite3_mprintf("SELECT count(*), sum(min(%s, ts + ifnull(d, 0)) - max(%s, ts)), max(d), (SELECT id FROM t WHERE ts < %s AND ts + d > %s ORDER BY d DESC, ts, id LIMIT 1) FROM t"
						  " WHERE ts < %s AND (ts + d > %s OR ts >= %s AND d IS NULL)", to, from, to, from, to, from, from);

		same_rows(db, sql, reference);
		sqlite3_free(sql);
		sqlite3_free(reference);
	}
	run_gives(db, "Inf\n", "SELECT clipped_d FROM x_overlap(0.0)");
	run_gives(db, "1.0e+308\nInf\n", "SELECT clipped_d FROM x_overlap WHERE step = 1e308 AND t0 = 0.0 ORDER BY bucket");
	run(db, "CREATE VIRTUAL TABLE x_counter USING iforest_counter(x)");
	close_database(db);
}

/* A build decides the kind of times. Later rows of another kind are refused until a rebuild. */
static void the_kind_is_settled_by_a_build(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts, d, v); CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=v); CREATE VIRTUAL TABLE x_rows USING iforest_rows(x)");
	run(db, "INSERT INTO t VALUES(3, 1, NULL, 5), (4, 2.0, NULL, 6)");
	run_gives(db, "2|1|2\n", "SELECT count, first_ts, last_ts FROM x");
	run(db, "INSERT INTO x(x) VALUES('flush'); INSERT INTO t VALUES(5, 2.5, NULL, 7)");
	run_fails(db, "iforest: time column \"ts\" of row 5 holds 2.5, and the index was made when it held integers only; run the command 'rebuild'", "SELECT count FROM x");
	run_fails(db, "iforest: time column \"ts\" of row 5 holds 2.5", "SELECT id FROM x_rows");
	run(db, "INSERT INTO x(x) VALUES('rebuild')");
	run_gives(db, "3|1.0|2.5\n", "SELECT count, first_ts, last_ts FROM x");
	run_fails(db, "x: the index was made anew with other columns; drop the tables over it", "SELECT id FROM x_rows");
	run(db, "DROP TABLE x_rows; CREATE VIRTUAL TABLE x_rows USING iforest_rows(x)");
	run_gives(db, "3|1.0\n4|2.0\n5|2.5\n", "SELECT id, ts FROM x_rows ORDER BY ts");
	run(db, "UPDATE t SET ts = '2026-01-0' || id");
	run_fails(db, "iforest: time column \"ts\" of row 3 holds text (2026-01-03), and times of the index are numbers", "SELECT count FROM x");
	run(db, "INSERT INTO x(x) VALUES('rebuild'); DROP TABLE x_rows; CREATE VIRTUAL TABLE x_rows USING iforest_rows(x)");
	run_gives(db, "3|2026-01-03|2026-01-05\n", "SELECT count, first_ts, last_ts FROM x");
	run_gives(db, "TEXT\n", "SELECT type FROM pragma_table_info('x_rows') WHERE name = 'ts'");
	run(db, "UPDATE t SET ts = 7.5 WHERE id = 4");
	run_fails(db, "iforest: time column \"ts\" of row 4 holds a number (7.5), and times of the index are texts", "SELECT count FROM x");
	run_fails(db, "iforest: time column \"ts\" of row 4 holds a number (7.5), and times of the index are texts", "INSERT INTO x(x) VALUES('rebuild')");
	run(db, "UPDATE t SET ts = '7.5' WHERE id = 4");
	run_fails(db, "iforest: time column \"ts\" of row 4 holds '7.5', which is no time as SQLite's date functions read it", "INSERT INTO x(x) VALUES('rebuild')");
	run(db, "UPDATE t SET ts = id; INSERT INTO x(x) VALUES('rebuild')");
	run_gives(db, "3|3|5\n", "SELECT count, first_ts, last_ts FROM x");
	close_database(db);
}

static void an_empty_column_is_of_its_declared_type(void **state)
{
	static const struct {
		const char *type, *arguments, *row, *shown;
	} empty[] = {
		{ "TEXT", "", "'2026-01-01'", "2026-01-01 00:00:00\n" },     { "DATETIME", "", "'2026-01-01T12:00Z'", "2026-01-01 12:00:00\n" }, { "timestamp", "", "'2026-01-01'", "2026-01-01 00:00:00\n" },
		{ "date", "", "'2026-01-01'", "2026-01-01 00:00:00\n" },     { "VARCHAR(30)", "", "'2026-01-01'", "2026-01-01 00:00:00\n" },     { "REAL", "", "1", "1.0\n" },
		{ "DOUBLE PRECISION", "", "0.5", "0.5\n" },		     { "INTEGER", "", "7", "7\n" },					 { "", "", "7", "7\n" },
		{ "NUMERIC", "", "7", "7\n" },				     { "", ", unit=s", "'2026-01-01'", "2026-01-01 00:00:00\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts %s); INSERT INTO t VALUES(1, NULL); CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts%s)", empty[i].type, empty[i].arguments);
		run(db, "INSERT INTO t(ts) VALUES(%s)", empty[i].row);
		run_gives(db, empty[i].shown, "SELECT last_ts FROM x");
		run(db, "INSERT INTO x(x) VALUES('flush'), ('integrity-check')");
		run_gives(db, empty[i].shown, "SELECT first_ts FROM x");
		close_database(db);
	}
}

static const struct {
	const char *rows, *arguments, *message;
} refused[] = {
	{ "('2026-01-01', 5, 1)", "duration=d", "iforest: times of \"t\" are texts, which do not tell the unit of column \"d\"; say in what durations are counted: unit=s, unit=ms, unit=us or unit=ns" },
	{ "('2026-01-01', 5.5, 1)", "duration=d, unit=s", "iforest: duration column \"d\" of row 1 holds the real 5.5; durations beside texts are integers in the unit that unit=... says; add a column of integers: "
	  "ALTER TABLE \"t\" ADD COLUMN \"d_us\" INTEGER AS (CAST(round(\"d\" * 1000000) AS INTEGER)), and name that in duration=..., with unit=us" },
	{ "('2026-01-01 00:00:00.5', 5, 1)", "duration=d, unit=s", "iforest: time column \"ts\" of row 1 holds '2026-01-01 00:00:00.5', which has digits beyond the index's unit=s" },
	{ "(1, 5, 1)", "duration=d, unit=s", "iforest: unit=s is for times of text, and those of \"t\" are numbers, whose unit is the column's own; leave it out" },
	{ "(1.5, 5, 1)", "unit=s", "iforest: unit=s is for times of text" },
	{ "('2026-01-01', 5, 1)", "unit=minutes", "iforest: cannot read argument \"unit=minutes\": it is ns, us, ms or s" },
	{ "('2026-01-01', 5, 1)", "unit=s, unit=s", "iforest: argument \"unit\" is given twice" },
	{ "('01/02/2026', 5, 1)", "value=v", "iforest: time column \"ts\" of row 1 holds '01/02/2026', which is no time as SQLite's date functions read it, such as '2026-01-31 23:59:59.5'; add a generated column" },
	{ "('2026-01-01', 5, 1), (12, 1, 1)", "value=v", "iforest: time column \"ts\" of row 2 holds a number (12), and times of the index are texts" },
	{ "(12, 5, 1), ('2026-01-01', 1, 1)", "value=v", "iforest: time column \"ts\" of row 2 holds text (2026-01-01), and times of the index are integers" },
	{ "('2026-01-01', 5, 1)", "end=d", "iforest: end column \"d\" of row 1 holds a number (5), and times are texts; ends are, too" },
	{ "('2026-01-01', '9999-12-31', 1)", "end=d", "iforest: end column \"d\" of row 1 holds '9999-12-31', which lies outside the years 1677 to 2262, all that 64 bits of nanoseconds can count; make the index with unit=us" },
	{ "('1677-09-22', '2262-04-11', 1)", "end=d", "iforest: end column \"d\" of row 1 holds 2262-04-11, further from the time than 64 bits can say" },
	{ "('2026-01-01', 'x', 1)", "end=d", "iforest: end column \"d\" of row 1 holds 'x', which is no time as SQLite's date functions read it" },
	{ "(9007199254740993, 5, 1), (0.5, 1, 1)", "value=v", "iforest: time column \"ts\" of row 1 holds the integer 9007199254740993 beside reals, which cannot hold it exactly" },
	{ "(0.5, 5, 1)", "end=d AS took, variance=took", "iforest: times of \"t\" are reals, and so are the durations, but variances are kept of integers alone; add a column of integers: "
	  "ALTER TABLE \"t\" ADD COLUMN \"took_integer\" INTEGER AS (CAST(round((\"d\" - \"ts\") * 1000000) AS INTEGER)), and name that in value=(...) and variance=..." },
	{ "(0.5, 5, 1)", "duration=d, value=(v, id, d AS a, d AS b, d AS c, d AS e, d)", "" },
	{ "(0.5, 5, 1)", "duration=d, value=(v, id, v AS a, v AS b, v AS c, v AS e, v AS f)", "iforest: at most 7 value columns beside durations of reals" },
	{ "(0.5, 'x', 1)", "duration=d", "iforest: value column \"d\" of row 1 holds text or a blob (x)" },
	{ "(0.5, 'x', 1)", "end=d", "iforest: end column \"d\" of row 1 holds text or a blob (x)" },
	{ "(0.5, 9e999, 1)", "end=d", "iforest: end column \"d\" of row 1 holds Inf, which is no time" },
};

static void what_cannot_be_is_refused_by_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts, d, v); INSERT INTO t(ts, d, v) VALUES %s", refused[i].rows);
		if (*refused[i].message)
			run_fails(db, refused[i].message, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, %s)", refused[i].arguments);
		else
			run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, %s)", refused[i].arguments);
		close_database(db);
	}
}

static int compare_texts(void *context, int n, const void *a, int m, const void *b)
{
	(void)context;
	(void)a;
	(void)b;
	return n - m;
}

static void questions_in_other_forms_are_refused(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts TEXT); INSERT INTO t(ts) VALUES('2026-01-01'), ('2026-01-01 00:00:00.5'), ('2026-01-02'), ('2026-03-01');"
		"CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts); CREATE VIRTUAL TABLE x_rows USING iforest_rows(x)");
	run_fails(db, "x: argument step is '1 month', but months and years differ in length; ask for days and group them: GROUP BY strftime('%Y-%m', bucket_start)", "SELECT count FROM x WHERE step = '1 month'");
	run_gives(db, "2026-01|3\n2026-03|1\n", "SELECT strftime('%%Y-%%m', bucket_start) AS month, sum(count) FROM x WHERE step = '1 day' GROUP BY month");
	run_fails(db, "x: argument step is no length such as '5 minutes', '1 h', '1 day' or '500 ms': 60", "SELECT count FROM x WHERE step = 60");
	run_fails(db, "x: argument step is no length such as", "SELECT count FROM x WHERE step = 'often'");
	run_fails(db, "x: step must be greater than 0", "SELECT count FROM x WHERE step = '0 s'");
	run_fails(db, "x: argument t0 is no time such as '2026-01-31 23:59:59.5': 5", "SELECT count FROM x(5)");
	run_fails(db, "x: argument t0 is no time such as '2026-01-31 23:59:59.5': now", "SELECT count FROM x('now')");
	run_fails(db, "x: argument t1 lies outside the years 1677 to 2262, which nanoseconds can count: 9999-12-31", "SELECT count FROM x('2026-01-01', '9999-12-31')");
	run_fails(db, "x: argument origin is no time", "SELECT count FROM x WHERE step = '1 day' AND origin = 7");
	run_gives(db, "", "SELECT count FROM x(NULL)");
	run_fails(db, "x_rows: column ts is compared as text, in the form of the index's times: write '2026-01-01 00:00:00' for '2026-01-01T00:00Z', or use t0 and t1", "SELECT id FROM x_rows WHERE ts >= '2026-01-01T00:00Z'");
	run_fails(db, "x_rows: column ts is compared as text", "SELECT id FROM x_rows WHERE ts < '2026-02-30'");
	run_fails(db, "x_rows: column ts is compared as text", "SELECT id FROM x_rows WHERE ts = '2026-01-01 00:00:00 '");
	/* other bounds are compared as SQLite compares texts */
	for (size_t i = 0; i < 6; i++) {
		static const char *const operators[] = { "<", "<=", ">", ">=", "=", "IS" };
		static const char *const bounds[] = { "'2026-01-01'", "'2026-01-01 00:00'", "'2026-01-01 00:00:00'", "'2026-01-01 00:00:00.5'", "'2026-01-01 00:00:00.500'", "'2026-01-01 00:00:00.'", "'2026'", "'x'", "''", "NULL",
						      "x'00'", "5", "'2026-01-01 00:00:00.50000000001'", "'-0001-01-01'" };

		for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
			char *sql = sqlite3_mprintf("SELECT id FROM x_rows WHERE ts %s %s ORDER BY id", operators[i], bounds[b]);
			char *reference = sqlite3_mprintf("SELECT id FROM (SELECT id, rtrim(rtrim(strftime('%%Y-%%m-%%d %%H:%%M:%%f', ts), '0'), '.') AS f FROM t), (SELECT 1) WHERE CAST(substr(f || ':00', 1, max(19, length(f))) AS TEXT) %s %s ORDER BY id",
							   operators[i], bounds[b]);

			same_rows(db, sql, reference);
			sqlite3_free(sql);
			sqlite3_free(reference);
		}
	}
	sqlite3_create_collation(db, "by_length", SQLITE_UTF8, NULL, compare_texts);
	run(db, "CREATE TABLE u(id INTEGER PRIMARY KEY, ts TEXT COLLATE by_length); INSERT INTO u(ts) VALUES('2026-01-01')");
	run_fails(db, "iforest: column \"ts\" has collation by_length, under which different times may be equal; add one without: ALTER TABLE \"u\" ADD COLUMN \"ts_binary\" TEXT AS (\"ts\"), and name that",
		  "CREATE VIRTUAL TABLE y USING iforest(content=u, time=ts)");
	run(db, "ALTER TABLE \"u\" ADD COLUMN \"ts_binary\" TEXT AS (\"ts\"); CREATE VIRTUAL TABLE y USING iforest(content=u, time=ts_binary); UPDATE u SET ts = '2026-01-02'");
	run_gives(db, "1|2026-01-02\n", "SELECT count, last_ts_binary FROM (SELECT count, last_ts AS last_ts_binary FROM y)");
	close_database(db);
}

static void the_kind_is_that_of_the_rows_of_the_index(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts, s); INSERT INTO t(ts, s) VALUES('never', 0), (5, 1), (7, 1), (8.5, 2), (x'00', 0), ('2026-01-01', 3)");
	for (int s = 1; s <= 3; s++)
		run(db, "CREATE VIRTUAL TABLE x%d USING iforest(content=t, time=ts, where=(s = %d))", s, s);
	run_gives(db, "2|7\n1|8.5\n1|2026-01-01\n", "SELECT count, last_ts FROM x1 UNION ALL SELECT count, last_ts FROM x2 UNION ALL SELECT count, last_ts FROM x3");
	run(db, "CREATE VIRTUAL TABLE x12 USING iforest(content=t, time=ts, where=(s = 1 OR s = 2)); UPDATE t SET s = 1 WHERE id = 4");
	run_gives(db, "3|8.5\n", "SELECT count, last_ts FROM x12");
	run_fails(db, "iforest: time column \"ts\" of row 4 holds 8.5, and the index was made when it held integers only", "SELECT count FROM x1");
	close_database(db);
}

/* If all texts of a column have one form, the index returns times in that form, and rows join by their times. */
static void texts_come_out_in_the_form_of_the_column(void **state)
{
	static const struct {
		const char *spelling; /* SQL of the second s and the millisecond m */
		const char *bucket, *other;
		const char *bound; /* a bound for x_rows; `refused` has another form */
		const char *refused;
	} spelled[] = {
		{ "strftime('%Y-%m-%d %H:%M:%S', s, 'unixepoch')", "2026-01-01 00:30:00", "2026-01-03T00:00Z", "2026-01-01 00:30:00", "2026-01-01T00:30:00" },
		{ "strftime('%Y-%m-%dT%H:%M:%S', s, 'unixepoch')", "2026-01-01T00:30:00", "2026-01-03 00:00", "2026-01-01T00:30", "2026-01-01 00:30:00" },
		{ "strftime('%Y-%m-%dT%H:%M:%SZ', s, 'unixepoch')", "2026-01-01T00:30:00Z", "2026-01-03", "2026-01-01T00:30:00Z", "2026-01-01T00:30:00.000Z" },
		{ "strftime('%Y-%m-%dT%H:%M:%S', s, 'unixepoch') || printf('.%03dZ', m)", "2026-01-01T00:30:00.000Z", "2026-01-03 00:00:00", "2026-01-01T00:30:00.000Z", "2026-01-01T00:30:00Z" },
		{ "strftime('%Y-%m-%d %H:%M:%S', s, 'unixepoch') || printf('.%06d', 1000 * m)", "2026-01-01 00:30:00.000000", "2026-01-03", "2026-01-01 00:30:00", "2026-01-01T00:30:00" },
		{ "strftime('%Y-%m-%dT%H:%M:%S', s, 'unixepoch') || iif(m, printf('.%06d', 1000 * m), '')", "2026-01-01T00:30:00", "2026-01-03", "2026-01-01T00:30:00.5", "2026-01-01 00:30:00" }, /* isoformat() */
		{ "strftime('%Y-%m-%dT%H:%M:%S+00:00', s, 'unixepoch')", "2026-01-01T00:30:00+00:00", "2026-01-03", "2026-01-01T00:30:00+00:00", "2026-01-01T00:30:00Z" },
		{ "strftime('%Y-%m-%dT%H:%M:%S', s, 'unixepoch') || rtrim(rtrim(printf('.%03d', m), '0'), '.')", "2026-01-01T00:30:00", "2026-01-03", "2026-01-01T00:30:00", "2026-01-01 00:30:00" },
		{ "strftime('%Y-%m-%dT%H:%M', s, 'unixepoch')", "2026-01-01T00:30", "2026-01-03", "2026-01-01T00:30", "2026-01-01 00:30" },
		{ "date(s, 'unixepoch')", "2026-01-01 00:30:00", "2026-01-03 00:00", "2026-01-01", "2026-01-01T00:30" },
		/* the column has no single form, or texts in its form are not in the order of their times */
		{ "strftime(iif(id % 2, '%Y-%m-%d %H:%M:%S', '%Y-%m-%dT%H:%M:%S'), s, 'unixepoch')", "2026-01-01 00:30:00", NULL, "2026-01-01 00:30:00", "2026-01-01T00:30:00" },
		{ "strftime('%Y-%m-%dT%H:%M:%S', s, 'unixepoch') || iif(m, printf('.%06dZ', 1000 * m), 'Z')", "2026-01-01 00:30:00", NULL, "2026-01-01 00:30:00", "2026-01-01T00:30:00Z" },
		{ "strftime('%Y-%m-%d %H:%M:%S+01:00', s, 'unixepoch')", "2026-01-01 00:30:00", NULL, "2026-01-01 00:30:00", "2026-01-01 00:30:00+01:00" },
		{ "strftime('%Y-%m-%d %H:%M:%S', s, 'unixepoch') || iif(m, printf('.%06d', 1000 * m), '.0')", "2026-01-01 00:30:00", NULL, "2026-01-01 00:30:00", "2026-01-01T00:30:00" },
	};

	(void)state;
	for (size_t f = 0; f < sizeof spelled / sizeof *spelled; f++) {
		sqlite3 *db = open_database(":memory:", 0);
		const char *spelling = spelled[f].spelling;
		char *expected;

		run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts TEXT, v INTEGER); WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 300),"
			" p AS (SELECT id, 1767225600 + id * 7919 %% 90000 AS s, id * 37 %% 10 * 100 AS m FROM n) INSERT INTO t SELECT id, %s, id FROM p", spelling);
		run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=v); CREATE VIRTUAL TABLE x_rows USING iforest_rows(x)");
		expected = sqlite3_mprintf("%s\n", spelled[f].bucket);
		run_gives(db, expected, "SELECT bucket_start FROM x('2026-01-01 00:30', '2026-01-02') WHERE step = '30 min' AND fill = 'zero' LIMIT 1");
		sqlite3_free(expected);
		same(db, sqlite3_mprintf("SELECT count(*) FROM x_rows WHERE ts >= '%s'", spelled[f].bound),
		     sqlite3_mprintf("SELECT count(*) FROM t WHERE julianday(ts) >= julianday('%s')", spelled[f].bound));
		run_fails(db, "x_rows: column ts is compared as text, in the form of the index's times", "SELECT count(*) FROM x_rows WHERE ts >= '%s'", spelled[f].refused);
		if (spelled[f].other) {
			run_gives(db, "300|0|1\n", "SELECT count(*), sum(t.ts <> r.ts), (SELECT first_ts = (SELECT min(ts) FROM t) AND last_ts = (SELECT max(ts) FROM t) FROM x) FROM t JOIN x_rows r USING(id)");
			run(db, "INSERT INTO t(id, ts, v) VALUES(301, '%s', 1000); INSERT INTO x(x) VALUES('flush'); DELETE FROM t WHERE id < 9; INSERT INTO x(x) VALUES('optimize')", spelled[f].other);
			same(db, sqlite3_mprintf("SELECT count, max_v_ts, max_v FROM x"), sqlite3_mprintf("SELECT 293, %s, 1000 FROM (SELECT 301 AS id, 1767398400 AS s, 0 AS m)", spelling));
		}
		run(db, "INSERT INTO x(x) VALUES('integrity-check'); DELETE FROM t; INSERT INTO t(ts) VALUES('2026-01-01T10:00:00Z'); INSERT INTO x(x) VALUES('rebuild')");
		run_gives(db, "2026-01-01T10:00:00Z\n2026-01-01T10:00:00.5Z\n", "SELECT first_ts FROM x UNION ALL SELECT bucket_start FROM x('2026-01-01 10:00:00.5', '2026-01-02', 1) WHERE fill = 'zero'");
		close_database(db);
	}
}

static void durations_beside_texts(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts TEXT, fin TEXT); INSERT INTO t(ts, fin) VALUES('2026-01-01 00:00:00', '2026-01-01T00:00:10Z'), ('2026-01-01 00:00:05.5', '2026-01-01 01:00:07+01:00'), ('2026-01-01 00:00:08', NULL);"
		"CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, end=fin AS took, unit=ms); CREATE VIRTUAL TABLE x_overlap USING iforest_overlap(x)");
	run_gives(db, "3|2|11500|10000|1\n", "SELECT count, count_took, sum_took, max_took, max_took_id FROM x");
	run_gives(db, "2026-01-01 00:00:05|2026-01-01 00:00:10|3|6500|10000|2026-01-01 00:00:00\n",
		  "SELECT bucket_start, bucket_end, overlaps, clipped_took, longest_took, longest_took_ts FROM x_overlap('2026-01-01 00:00:05', '2026-01-01 00:00:10')");
	run_gives(db, "0|5000\n1|6500\n", "SELECT bucket - 353445120, clipped_took FROM x_overlap WHERE step = '5 s' ORDER BY 1");
	close_database(db);
}

/* Follows the advice of messages, and then changes rows. */
static void columns_of_integers_follow_reals(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE runs(id INTEGER PRIMARY KEY, began REAL, took REAL); INSERT INTO runs(began, took) VALUES(1760000000.25, 0.5), (1760000001.5, 2.25), (1760000002.125, NULL)");
	run_fails(db, "iforest: times of \"runs\" are reals, and so are the durations, but variances are kept of integers alone; add a column of integers: "
		      "ALTER TABLE \"runs\" ADD COLUMN \"took_integer\" INTEGER AS (CAST(round(\"took\" * 1000000) AS INTEGER)), and name that in value=(...) and variance=...",
		  "CREATE VIRTUAL TABLE x USING iforest(content=runs, time=began, duration=took, variance=took)");
	run(db, "ALTER TABLE \"runs\" ADD COLUMN \"took_integer\" INTEGER AS (CAST(round(\"took\" * 1000000) AS INTEGER));"
		"CREATE VIRTUAL TABLE x USING iforest(content=runs, time=began, duration=took, value=(took, took_integer), variance=took_integer, histogram=took_integer(1000000))");
	run_gives(db, "2|2.75|1531250000000.0|1\n", "SELECT count_took, sum_took, var_took_integer, count_took_integer_le_1000000 FROM x");
	run(db, "INSERT INTO runs(began, took) VALUES(1760000003.0, 5); UPDATE runs SET took = 0.75 WHERE id = 1; DELETE FROM runs WHERE id = 3");
	run_gives(db, "3|8.0|1\n", "SELECT count_took, sum_took, count_took_integer_le_1000000 FROM x");
	run_fails(db, "iforest: times of \"runs\" are reals, and so are the durations, but products are kept of integers alone; add a column of integers: "
		      "ALTER TABLE \"runs\" ADD COLUMN \"began_integer\" INTEGER AS (CAST(round(\"began\" * 1000000) AS INTEGER)), and name that in value=(...) and products=...",
		  "CREATE VIRTUAL TABLE y USING iforest(content=runs, time=began, value=took_integer, products=(took_integer*began))");
	run(db, "ALTER TABLE \"runs\" ADD COLUMN \"began_integer\" INTEGER AS (CAST(round(\"began\" * 1000000) AS INTEGER));"
		"CREATE VIRTUAL TABLE y USING iforest(content=runs, time=began, value=(took_integer, began_integer), products=(took_integer*began_integer))");
	run(db, "INSERT INTO runs(began, took) VALUES(1760000004.0, 6.5)");
	run_gives(db, "4\n", "SELECT regr_count_took_integer_began_integer FROM y");
	close_database(db);
}

/* Durations and times are not multiples of each other. Sums may differ from those of plain SQL by the order of summing, which
 * loses half a unit of the last digit per row. */
static void sums_over_reals_are_plain_sql_but_for_rounding(void **state)
{
	(void)state;
	for (int round = 0; round < 12; round++) {
		struct random random = { test_seed() + (uint64_t)round };
		sqlite3 *db = open_database(":memory:", 0);
		double base = round % 3 == 0 ? 0 : round % 3 == 1 ? 1760000000.1 : -0.3;
		bool has_ends = round % 2;

		run(db, "BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, g, ts REAL, d REAL, v REAL)");
		for (int i = 0; i < 2000; i++) {
			double ts = base + (double)random_below(&random, 1000000) / 997, d = one_in(&random, 50) ? -0.1 : (double)random_below(&random, 1000) / (one_in(&random, 20) ? 0.7 : 313);

			run(db, "INSERT INTO t(g, ts, d, v) VALUES(%lld, %!.17g, %!.17g, %!.17g)", random_below(&random, 2), ts, has_ends ? ts + d : d, (double)random_below(&random, 1000) / 7);
			if (i == 1500)
				run(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, %s, by=g)", has_ends ? "end=d AS d, value=v" : "duration=d, value=(d, v)");
		}
		run(db, "COMMIT; CREATE VIRTUAL TABLE o USING iforest_overlap(x); CREATE VIRTUAL TABLE c USING iforest_counter(x);"
			"CREATE TABLE s AS SELECT g, id, ts, %s AS d, %s AS e, v FROM t", has_ends ? "d - ts" : "d", has_ends ? "d" : "ts + d");
		for (int i = 0; i < 40; i++) {
			double a = base + (double)random_below(&random, 1000) / 3, z = a + (double)random_below(&random, 100000) / 91;
			char *sql = sqlite3_mprintf("SELECT g, overlaps, longest_d, longest_d_id FROM o(%!.17g, %!.17g) ORDER BY g", a, z);
			char *reference = sqlite3_mprintf("SELECT g, n, m, id FROM (SELECT g, count(*) OVER (PARTITION BY g) AS n, max(d) OVER (PARTITION BY g) AS m, id, row_number() OVER (PARTITION BY g ORDER BY d DESC, ts, id) AS r"
							  " FROM s WHERE ts < %!.17g AND (d > 0 AND e > %!.17g OR d <= 0 AND ts >= %!.17g)) WHERE r = 1 ORDER BY g", z, a, a);

			same_rows(db, sql, reference);
			sqlite3_free(sql);
			sqlite3_free(reference);
			run_gives(db, "", "WITH p AS (SELECT g, count(*) AS n, sum(iif(ts >= %!.17g AND e <= %!.17g, d, min(e, %!.17g) - max(ts, %!.17g))) AS c FROM s WHERE d > 0 AND ts < %!.17g AND e > %!.17g GROUP BY g)"
				      " SELECT p.g, c, clipped_d FROM p JOIN o(%!.17g, %!.17g) AS o ON o.g = p.g WHERE NOT abs(c - clipped_d) <= p.n * c / 4503599627370496.0", a, z, z, a, z, a, a, z);
			run_gives(db, "", "WITH w AS (SELECT g, v, max(ts, %!.17g) AS f, min(%!.17g, ifnull(lead(ts) OVER (PARTITION BY g ORDER BY ts, id), 9e99), iif(d < 0, 9e99, e)) AS t, ts FROM s),"
				      " p AS (SELECT g, count(*) AS n, sum(v * (t - f)) / sum(t - f) AS m, max(v) AS most FROM w WHERE f < t GROUP BY g)"
				      " SELECT p.g, m, twa_v FROM p JOIN c(%!.17g, %!.17g) AS c ON c.g = p.g WHERE NOT abs(m - twa_v) <= 4 * p.n * most / 4503599627370496.0", a, z, a, z);
		}
		close_database(db);
	}
}

/* Tests samples that are carried or interpolated, and counters over texts. */
static void samples_between_times(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts TEXT, v INTEGER); INSERT INTO t(ts, v) VALUES('2026-01-01T00:00:05Z', 100), ('2026-01-01 00:00:28', 330), ('2026-01-01 00:00:29', 340), ('2026-01-01 01:00:52+01:00', 800);"
		"CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=v, unit=ms)");
	run_gives(db, "2026-01-01 00:00:10|0|100|2026-01-01 00:00:05\n2026-01-01 00:00:20|2|340|2026-01-01 00:00:29\n2026-01-01 00:00:30|0|340|2026-01-01 00:00:29\n2026-01-01 00:00:40|0|340|2026-01-01 00:00:29\n",
		  "SELECT bucket_start, count, max_v, max_v_ts FROM x('2026-01-01 00:00:10', '2026-01-01 00:00:50') WHERE step = '10 seconds' AND fill = 'last' ORDER BY bucket");
	run_gives(db, "150.0\n340\n360.0\n560.0\n", "SELECT last_v FROM x('2026-01-01 00:00:10', '2026-01-01 00:00:50') WHERE step = '10 seconds' AND fill = 'linear' ORDER BY bucket");
	run(db, "CREATE VIRTUAL TABLE x_counter USING iforest_counter(x)");
	run_gives(db, "100|800|700|14.0\n", "SELECT start_v, end_v, increase_v, rate_v * 1000 FROM x_counter('2026-01-01 00:00:10', '2026-01-01 00:01')");
	run(db, "CREATE TABLE r(id INTEGER PRIMARY KEY, ts REAL, v INTEGER); INSERT INTO r(ts, v) VALUES(0.5, 100), (2.8125, 330), (2.875, 340), (5.25, 800);"
		"CREATE VIRTUAL TABLE y USING iforest(content=r, time=ts, value=v)");
	run_gives(db, "1.0|0|100|0.5\n2.0|2|340|2.875\n3.0|0|340|2.875\n4.0|0|340|2.875\n", "SELECT bucket_start, count, max_v, max_v_ts FROM y(1, 5) WHERE step = 1 AND fill = 'last' ORDER BY bucket");
	same_rows(db, "SELECT last_v FROM y(1, 5) WHERE step = 1 AND fill = 'linear' ORDER BY bucket",
		  "VALUES(100 + 230 * 0.5 / 2.3125), (340), (340 + 460 * 0.125 / 2.375), (340 + 460 * 1.125 / 2.375)");
	close_database(db);
}

/* The end of a span, which core stores beside a real duration, is not a value column of the index. */
static void accumulators_beside_real_durations(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts REAL, dur REAL, x INTEGER); INSERT INTO t VALUES(1, 1.5, 2.5, 10), (2, 2.5, 3.25, 20), (3, 3.5, 1.0, 40);"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, duration=dur, value=x, variance=x, histogram=(x(15, 30)))");
	same_rows(db, "SELECT count, var_x, count_x_le_15, count_x_le_30 FROM t_if",
		  "SELECT count(*), (sum(x * x) - sum(x) * sum(x) / 3.0) / 2, sum(x <= 15), sum(x <= 30) FROM t");
	close_database(db);
}

static void threads_answer_over_reals(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, g, ts REAL, v); WITH RECURSIVE n(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM n WHERE n < 60000) INSERT INTO t(g, ts, v) SELECT n %% 40, n * 0.25 + 0.125, n FROM n;"
		"CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=v, by=g); PRAGMA threads = 3");
	same_rows(db, "SELECT g, bucket, count, sum_v FROM x(100, 14000) WHERE step = 0.5 ORDER BY g, bucket", "SELECT g, CAST(floor(ts / 0.5) AS INTEGER) AS b, count(*), sum(v) FROM t WHERE ts >= 100 AND ts < 14000 GROUP BY g, b ORDER BY g, b");
	same_rows(db, "SELECT g, bucket, count, sum_v FROM x(100, 14000, 640) ORDER BY g, bucket", "SELECT g, iforest_bucket(ts, 100, 14000, 640) AS b, count(*), sum(v) FROM t WHERE b IS NOT NULL GROUP BY g, b ORDER BY g, b");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_years_that_there_are),
		cmocka_unit_test(the_nanoseconds_that_there_are),
		cmocka_unit_test(texts_are_read_as_sqlite_reads_them),
		cmocka_unit_test(windows_and_buckets_are_those_of_sqlites_functions),
		cmocka_unit_test(reals_at_their_ends),
		cmocka_unit_test(the_kind_is_settled_by_a_build),
		cmocka_unit_test(an_empty_column_is_of_its_declared_type),
		cmocka_unit_test(what_cannot_be_is_refused_by_name),
		cmocka_unit_test(questions_in_other_forms_are_refused),
		cmocka_unit_test(the_kind_is_that_of_the_rows_of_the_index),
		cmocka_unit_test(texts_come_out_in_the_form_of_the_column),
		cmocka_unit_test(durations_beside_texts),
		cmocka_unit_test(columns_of_integers_follow_reals),
		cmocka_unit_test(sums_over_reals_are_plain_sql_but_for_rounding),
		cmocka_unit_test(samples_between_times),
		cmocka_unit_test(threads_answer_over_reals),
		cmocka_unit_test(accumulators_beside_real_durations),
		cmocka_unit_test_teardown(an_index_of_any_kind_follows, print_seed),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
