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
	int64_t duration_units; /* units in one of the table's durations; negative: those in one unit; 0: durations are in units */
} forms[] = {
	{ "integers", "INTEGER", "", INTEGERS, POINTS, 1, 0 },
	{ "integers with durations", "", "", INTEGERS, DURATIONS, 1, 0 },
	{ "reals", "REAL", "", REALS, POINTS, 1, 0 },
	{ "reals and integers with durations", "", "", REALS, DURATIONS, 1, 0 },
	{ "reals with ends", "DOUBLE", "", REALS, ENDS, 1, 0 },
	{ "texts", "TEXT", "", TEXTS, POINTS, 1000000000, 0 },
	{ "texts with ends", "DATETIME", "", TEXTS, ENDS, 1000000000, 0 },
	{ "texts in milliseconds with durations", "timestamp", ", unit=ms", TEXTS, DURATIONS, 1000, 0 },
	{ "texts in microseconds with ends", "", ", unit=us", TEXTS, ENDS, 1000000, 0 },
	{ "texts in seconds", "TEXT", ", unit=s", TEXTS, POINTS, 1, 0 },
	{ "integers in microseconds with durations in milliseconds", "INTEGER", ", unit=us, duration_unit=ms", INTEGERS, DURATIONS, 1, 1000 },
	{ "reals in seconds with durations in milliseconds", "REAL", ", unit=s, duration_unit=ms", REALS, DURATIONS, 1, -1000 },
	{ "texts in microseconds with durations in seconds", "DATETIME", ", unit=us, duration_unit=s", TEXTS, DURATIONS, 1000000, 1000000 },
	{ "texts with durations in milliseconds", "TEXT", ", unit=ns, duration_unit=ms", TEXTS, DURATIONS, 1000000000, 1000000 },
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
	int64_t g = random_below(random, 3), whole = has_length ? *length : 0;

	if (range.form->duration_units > 0 && whole > INT64_C(1) << 50) /* reals do not tell each of them apart */
		whole = (INT64_C(1) << 50) - 1;
	if (has_length && spans == ENDS)
		d = literal(random, *count + *length);
	else if (has_length && range.form->kind == REALS)
		d = sqlite3_mprintf("(%lld / %.1f)", *length * (range.form->duration_units ? -range.form->duration_units : 1), range.scale);
	else if (has_length && range.form->duration_units && whole % range.form->duration_units == 0 && one_in(random, 2))
		d = sqlite3_mprintf("%lld", whole / range.form->duration_units);
	else if (has_length && range.form->duration_units)
		d = sqlite3_mprintf("(%lld / %lld.0)", whole, range.form->duration_units);
	else if (has_length)
		d = sqlite3_mprintf("%lld", whole);
	run(db, "REPLACE INTO t(id, g, ts, d, v) VALUES(%lld, %lld, %s, %s, %s)", id, g, ts, d ? d : "NULL", number);
	sqlite3_free(ts);
	ts = count ? sqlite3_mprintf("%lld", *count) : sqlite3_mprintf("NULL");
	sqlite3_free(d);
	d = has_length ? sqlite3_mprintf("%lld", whole) : NULL;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(an_index_of_any_kind_follows, print_seed),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
