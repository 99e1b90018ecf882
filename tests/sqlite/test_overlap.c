/* tests/sqlite/test_overlap.c -- Tests of iforest_overlap against plain SQL: random tables with pending and removed rows, in
 * and after transactions, by all, some or none of the by columns; then single rows: ends beyond 64 bits, errors, and the
 * table's life cycle. */
#include "harness.h"

enum { N_TABLES = 25, QUESTIONS = 4 };

/* ---- random tables ---- */

static const char *const by_values[] = { "1", "2", "'gpu'", "NULL", "'1'" };

/* Returns a duration: often NULL, sometimes unfinished, seldom long. */
static char *random_duration(struct random *random)
{
	if (one_in(random, 12))
		return sqlite3_mprintf("NULL");
	if (one_in(random, 3))
		return sqlite3_mprintf("0");
	if (one_in(random, 10))
		return sqlite3_mprintf("%lld", -1 - random_below(random, 5));
	return sqlite3_mprintf("%lld", random_below(random, INT64_C(1) << random_below(random, 11)));
}

static void put_row(sqlite3 *db, struct random *random, const char *verb, int64_t id)
{
	char *duration = random_duration(random);
	char *time = one_in(random, 25) ? sqlite3_mprintf("NULL") : sqlite3_mprintf("%lld", random_below(random, 2000) - 500);

	run(db, "%s INTO t(id, a, b, ts, dur) VALUES(%lld, %s, %s, %s, %s)", verb, id, by_values[random_below(random, 5)],
	    by_values[random_below(random, 2)], time, duration);
	sqlite3_free(duration);
	sqlite3_free(time);
}

static void change_rows(sqlite3 *db, struct random *random, int n)
{
	for (int i = 0; i < n; i++) {
		char *duration = random_duration(random);

		switch (random_below(random, 4)) {
		case 0: put_row(db, random, "INSERT OR REPLACE", 1 + random_below(random, 600)); break;
		case 1: run(db, "UPDATE t SET dur = %s WHERE id %% 50 = %lld", duration, random_below(random, 50)); break;
		case 2: run(db, "UPDATE t SET ts = ts + 7, a = 1 WHERE id = %lld", random_below(random, 600)); break;
		default: run(db, "DELETE FROM t WHERE id %% 40 = %lld", random_below(random, 40)); break;
		}
		sqlite3_free(duration);
	}
}

/* ---- questions ---- */

/* The arguments of a query, and a SELECT of its buckets b(k, lo, hi). */
struct question {
	char arguments[200], buckets[800];
	bool is_bounded;
};

static int64_t random_bound(struct random *random)
{
	return random_below(random, 2600) - 700;
}

/* If a bound is missing, the buckets extend beyond all times. */
static struct question random_question(struct random *random)
{
	struct question q = { .is_bounded = false };
	int64_t t0 = random_bound(random), t1 = one_in(random, 4) ? t0 + random_below(random, 12) : random_bound(random);
	int64_t n = 1 + random_below(random, one_in(random, 3) ? 60 : 12), step = 20 + random_below(random, 300),
		origin = random_bound(random);
	bool has_t0 = !one_in(random, 5), has_t1 = !one_in(random, 5);
	char *from = sqlite3_mprintf(has_t0 ? "AND t0 = %lld" : "", t0), *window = sqlite3_mprintf(has_t1 ? "%s AND t1 = %lld" : "%s", from, t1);

	sqlite3_free(from);
	t0 = has_t0 ? t0 : -1000;
	t1 = has_t1 ? t1 : 4000;
	q.is_bounded = has_t0 && has_t1;
	if (one_in(random, 3)) {
		sqlite3_snprintf(sizeof q.arguments, q.arguments, "%s", window);
		sqlite3_snprintf(sizeof q.buckets, q.buckets, "SELECT 0 AS k, %lld AS lo, %lld AS hi WHERE %lld < %lld", t0, t1, t0, t1);
	} else if (q.is_bounded && one_in(random, 2)) {
		sqlite3_snprintf(sizeof q.arguments, q.arguments, "%s AND n = %lld", window, n);
		sqlite3_snprintf(sizeof q.buckets, q.buckets,
				 "WITH RECURSIVE i(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM i WHERE k + 1 < %lld)"
				 " SELECT k, %lld + k * (%lld - %lld) / %lld AS lo, %lld + (k + 1) * (%lld - %lld) / %lld AS hi FROM i WHERE %lld < %lld",
				 n, t0, t1, t0, n, t0, t1, t0, n, t0, t1);
	} else {
		sqlite3_snprintf(sizeof q.arguments, q.arguments, "%s AND step = %lld AND origin = %lld", window, step, origin);
		sqlite3_snprintf(sizeof q.buckets, q.buckets,
				 "WITH RECURSIVE i(k) AS (SELECT -300 UNION ALL SELECT k + 1 FROM i WHERE k < 300)"
				 " SELECT k, max(%lld + k * %lld, %lld) AS lo, min(%lld + (k + 1) * %lld, %lld) AS hi FROM i"
				 " WHERE max(%lld + k * %lld, %lld) < min(%lld + (k + 1) * %lld, %lld)",
				 origin, step, t0, origin, step, t1, origin, step, t0, origin, step, t1);
	}
	sqlite3_free(window);
	return q;
}

/* Returns a query by the definition, which compares every span with every bucket. by: the columns that form a group, "" for
 * none. */
static char *reference(const char *by, const char *fill)
{
	const char *comma = *by ? "," : "", *of_group = strchr(by, 'b') ? "g.a, g.b" : *by ? "g.a" : "";
	const char *inside = strcmp(fill, "zero") == 0 ? "coalesce(inside, 0)" : "inside";
	char *groups = *by ? sqlite3_mprintf("(SELECT DISTINCT %s FROM t)", by) : sqlite3_mprintf("(SELECT 1)");
	char *join = *by ? sqlite3_mprintf("f.a IS g.a%s", strchr(by, 'b') ? " AND f.b IS g.b" : "") : sqlite3_mprintf("1");
	char *sql = sqlite3_mprintf(
		"WITH o AS (SELECT t.*, k, lo, hi, row_number() OVER (PARTITION BY %s%s k ORDER BY dur IS NULL, dur DESC, ts, id) AS place FROM b JOIN t"
		"  ON ts < hi AND CASE WHEN dur > 0 THEN ts + dur > lo ELSE ts >= lo END),"
		" f AS (SELECT a, b, k, count(*) AS n, sum(CASE WHEN dur > 0 THEN min(ts + dur, hi) - max(ts, lo) ELSE 0 END) AS inside, max(dur) AS longest,"
		"  max(CASE WHEN place = 1 AND dur IS NOT NULL THEN id END) AS id, max(CASE WHEN place = 1 AND dur IS NOT NULL THEN ts END) AS time"
		"  FROM o GROUP BY %s%s k)"
		" SELECT %s%s b.k, coalesce(n, 0), %s, longest, id, time FROM %s g CROSS JOIN b %s JOIN f ON f.k = b.k AND %s ORDER BY %s%s b.k",
		by, comma, by, comma, of_group, comma, inside, groups,
		strcmp(fill, "none") ? "LEFT" : "", join, of_group, comma);

	sqlite3_free(groups);
	sqlite3_free(join);
	return sql;
}

static void compare(sqlite3 *db, const struct question *q, const char *table, const char *by, const char *fill,
		    const char *columns)
{
	char *expected = reference(by, fill), *all = expected;
	char *sql = sqlite3_mprintf("SELECT %s%s bucket, overlaps, %s FROM %s WHERE fill = '%s' %s ORDER BY %s%s bucket", by, *by ? "," : "", columns,
				    table, fill, q->arguments, by, *by ? "," : "");

	if (strcmp(columns, "1") == 0) { /* only the number of spans */
		expected = sqlite3_mprintf("SELECT %s%s k, \"coalesce(n, 0)\", 1 FROM (%s)", by, *by ? "," : "", all);
		sqlite3_free(all);
	}
	same_rows(db, sql, expected);
	sqlite3_free(sql);
	sqlite3_free(expected);
}

/* Compares peaks by their definition: how many of the spans that overlap a bucket are open at each time at which a span or the
 * bucket starts. */
static void compare_peaks(sqlite3 *db, const struct question *q, const char *table, const char *by)
{
	const char *comma = *by ? "," : "", *of_group = strchr(by, 'b') ? "c.a, c.b," : *by ? "c.a," : "";
	const char *join = strchr(by, 'b') ? "o.a IS c.a AND o.b IS c.b AND" : *by ? "o.a IS c.a AND" : "";
	char *expected = sqlite3_mprintf(
		"WITH o AS (SELECT t.*, k, max(ts, lo) AS at FROM b JOIN t ON ts < hi AND CASE WHEN dur > 0 THEN ts + dur > lo ELSE ts >= lo END),"
		" c AS (SELECT DISTINCT %s%s k, at FROM o), n AS (SELECT %s c.k, c.at, count(*) AS n FROM c JOIN o ON %s o.k = c.k AND o.ts <= c.at"
		"  AND CASE WHEN o.dur > 0 THEN o.ts + o.dur > c.at ELSE o.ts = c.at END GROUP BY %s c.k, c.at)"
		" SELECT %s%s k, n, at FROM (SELECT *, row_number() OVER (PARTITION BY %s%s k ORDER BY n DESC, at) AS place FROM n)"
		" WHERE place = 1 ORDER BY %s%s k", by, comma, of_group, join, of_group, by, comma, by, comma, by, comma);
	char *sql = sqlite3_mprintf("SELECT %s%s bucket, peak, peak_ts FROM %s WHERE fill = 'none' %s ORDER BY %s%s bucket", by, comma, table,
				    q->arguments, by, comma);

	same_rows(db, sql, expected);
	sqlite3_free(sql);
	sqlite3_free(expected);
}

static void ask(sqlite3 *db, struct random *random)
{
	static const char *const all_columns = "clipped_dur, longest_dur, longest_dur_id, longest_dur_ts";

	for (int i = 0; i < QUESTIONS; i++) {
		struct question q = random_question(random);
		const char *columns = one_in(random, 4) ? "1" : all_columns;
		const char *fill = !q.is_bounded && strstr(q.arguments, "step") ? "none" :
				   one_in(random, 3) ? "zero" : one_in(random, 2) ? "null" : "none";

		run(db, "CREATE TEMP TABLE b AS %s", q.buckets);
		compare(db, &q, "by_both", "a,b", fill, columns);
		compare(db, &q, "by_a", "a", fill, columns);
		compare(db, &q, "by_none", "", fill, columns);
		compare_peaks(db, &q, "by_both", "a,b");
		compare_peaks(db, &q, "by_a", "a");
		compare_peaks(db, &q, "by_none", "");
		run(db, "DROP TABLE b");
	}
}

static void random_tables_overlap_as_plain_sql_says(void **state)
{
	(void)state;
	for (int i = 0; i < N_TABLES; i++) {
		struct random random = { test_seed() + (uint64_t)i };
		sqlite3 *db = open_database(":memory:", 0);
		int64_t n_rows = one_in(&random, 8) ? random_below(&random, 3) : random_below(&random, 600);

		run(db, "BEGIN; CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, ts INTEGER, dur INTEGER)");
		for (int64_t id = 1; id <= n_rows; id++)
			put_row(db, &random, "INSERT", id);
		run(db, "COMMIT; CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, duration=dur, by=(a, b));"
			"CREATE VIRTUAL TABLE by_both USING iforest_overlap(t_if); CREATE VIRTUAL TABLE by_a USING iforest_overlap(t_if, a);"
			"CREATE VIRTUAL TABLE by_none USING iforest_overlap(t_if, ())");
		ask(db, &random);
		change_rows(db, &random, 20);
		ask(db, &random);
		run(db, "BEGIN");
		change_rows(db, &random, 10);
		ask(db, &random);
		run(db, "ROLLBACK");
		ask(db, &random);
		run(db, "INSERT INTO t_if(t_if) VALUES('flush')");
		change_rows(db, &random, 5);
		ask(db, &random);
		close_database(db);
	}
}

/* ---- single rows ---- */

static sqlite3 *open_spans(const char *rows)
{
	sqlite3 *db = open_database(":memory:", 0);

	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a, ts INTEGER, dur INTEGER); INSERT INTO t(id, ts, dur) VALUES %s;"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, duration=dur, by=a); CREATE VIRTUAL TABLE o USING iforest_overlap(t_if)", rows);
	return db;
}

#define LATEST "9223372036854775807"
#define COLUMNS "bucket, overlaps, clipped_dur, longest_dur, longest_dur_id, longest_dur_ts"

/* Ends beyond 64 bits are valid. The clipped time is exact, or an error if it does not fit. */
static void ends_may_exceed_64_bits(void **state)
{
	sqlite3 *db = open_spans("(1, " LATEST " - 7, 100), (2, " LATEST ", " LATEST "), (3, -" LATEST " - 1, 5), (4, " LATEST ", 0),"
				 "(5, " LATEST " - 1, -" LATEST " - 1)");

	(void)state;
	run_gives(db, "0|2|7|100|1|9223372036854775800\n", "SELECT " COLUMNS " FROM o(" LATEST " - 7, " LATEST ")");
	run_gives(db, "0|1|5|5|3|-9223372036854775808\n", "SELECT " COLUMNS " FROM o WHERE t1 = 0");
	/* the window has no end: 93 of span 1 and all of span 2 are in it */
	run_gives(db, "0|3|" LATEST "\n", "SELECT bucket, overlaps, longest_dur FROM o WHERE t0 = " LATEST);
	run_fails(db, "integer overflow", "SELECT clipped_dur FROM o WHERE t0 = " LATEST);
	run(db, "DELETE FROM t WHERE id = 2");
	run_gives(db, "0|2|93|100|1|9223372036854775800\n", "SELECT " COLUMNS " FROM o WHERE t0 = " LATEST);
	run_gives(db, "9223372036854775|3|100|100|1|9223372036854775800\n", "SELECT " COLUMNS " FROM o WHERE t0 = 0 AND step = 1000");
	run_gives(db, "-9223372036854776|1|5|5|3|-9223372036854775808\n9223372036854775|3|100|100|1|9223372036854775800\n",
		  "SELECT " COLUMNS " FROM o WHERE step = 1000");
	run_fails(db, "o: a bucket number exceeds 64 bits", "SELECT * FROM o WHERE step = 1 AND origin = -3");
	close_database(db);
}

/* One span covers all pixels; some pixels are narrower than a unit of time. */
static void every_pixel_knows_the_span_that_covers_it(void **state)
{
	sqlite3 *db = open_spans("(1, 0, 1000), (2, 500, 1), (3, 502, 0)");

	(void)state;
	run_gives(db, "0|1|1|1000|1\n1|2|2|1000|1\n2|1|1|1000|1\n3|2|1|1000|1\n", "SELECT bucket, overlaps, clipped_dur, longest_dur, longest_dur_id FROM o(499, 503, 4)");
	run_gives(db, "0|1|0|1\n1|1|0|1\n2|2|2|1\n3|1|0|1\n4|1|0|1\n5|1|1|1\n",
		  "SELECT bucket, overlaps, clipped_dur, longest_dur_id FROM o(500, 502, 6)");
	run_gives(db, "0|1|499\n1|2|500\n2|1|501\n3|2|502\n", "SELECT bucket, peak, peak_ts FROM o(499, 503, 4)");
	run_gives(db, "0|1|500\n1|1|500\n2|2|500\n3|1|501\n4|1|501\n5|1|501\n", "SELECT bucket, peak, peak_ts FROM o(500, 502, 6)");
	run_gives(db, "", "SELECT * FROM o(500, 500)");
	run_gives(db, "", "SELECT * FROM o(501, 500) WHERE fill = 'zero'");
	run_gives(db, "", "SELECT * FROM o(1000, 2000)");
	run_gives(db, "0|0|\n", "SELECT bucket, peak, peak_ts FROM o(1000, 2000) WHERE fill = 'null'");
	run_gives(db, "0|0|||\n", "SELECT bucket, overlaps, clipped_dur, longest_dur, longest_dur_id FROM o(1000, 2000) WHERE fill = 'null'");
	run_gives(db, "", "SELECT * FROM o(NULL, 2000)");
	close_database(db);
}

/* Times may be reals, whose spans are stored by their ends, or texts. */
static void peaks_of_other_kinds_of_times(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts REAL, dur REAL); INSERT INTO t(ts, dur) VALUES"
		"(0.5, 1.0), (1.0, 0.25), (1.25, 2.0), (1.5, 0.0), (1.5, -1), (3.0, NULL), (0.75, 10.0);"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, duration=dur); CREATE VIRTUAL TABLE o USING iforest_overlap(t_if);"
		"CREATE TABLE d(id INTEGER PRIMARY KEY, ts TEXT, dur INTEGER); INSERT INTO d(ts, dur) VALUES"
		"('2024-01-01 00:00:00', 10), ('2024-01-01 00:00:05', 2), ('2024-01-01 00:00:07', 1);"
		"CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, unit=s); CREATE VIRTUAL TABLE od USING iforest_overlap(d_if)");
	run_gives(db, "7|4|1.5\n", "SELECT overlaps, peak, peak_ts FROM o");
	run_gives(db, "3|3|3.0\n", "SELECT overlaps, peak, peak_ts FROM o(1.6, 4.0)");
	run_gives(db, "0|2|2|0.75\n1|6|4|1.5\n2|2|2|2.0\n3|3|3|3.0\n", "SELECT bucket, overlaps, peak, peak_ts FROM o(0.0, 4.0, 4)");
	run_gives(db, "3|2|1\n", "SELECT overlaps, peak, peak_ts LIKE '2024-01-01 00:00:05%%' FROM od");
	close_database(db);
}

/* The duration of a span of reals may be too short to move its end. By the formula of docs/sqlite_overlap.md, the span is in
 * the bucket in which it starts. */
static void a_real_span_that_ends_where_it_starts(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts REAL, dur REAL); INSERT INTO t(ts, dur) VALUES (99.0, 1e-300), (98.5, 0.5), (1.0, 200.0), (99.5, -1.0);"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, duration=dur); CREATE VIRTUAL TABLE o USING iforest_overlap(t_if)");
	run_gives(db, "98.0|2\n99.0|3\n",
		  "SELECT a, count(*) FROM t, (SELECT 98.0 AS a UNION ALL SELECT 99.0) WHERE ts < a + 1 AND (ts >= a OR ts + dur > a) GROUP BY a ORDER BY a");
	run_gives(db, "98.0|2\n99.0|3\n", "SELECT bucket_start, overlaps FROM o(98.0, 100.0, 2)");
	run_gives(db, "3\n", "SELECT overlaps FROM o(99.0, 99.75)");
	close_database(db);
}

static void errors_say_what_to_do(void **state)
{
	sqlite3 *db = open_spans("(1, 0, 10)");

	(void)state;
	run(db, "CREATE VIRTUAL TABLE durationless USING iforest(content=t, time=ts, value=dur)");
	run_fails(db, "iforest_overlap: index \"durationless\" has no durations", "CREATE VIRTUAL TABLE x USING iforest_overlap(durationless)");
	run_fails(db, "iforest_overlap: name an index", "CREATE VIRTUAL TABLE x USING iforest_overlap");
	run_fails(db, "iforest_overlap: no index \"nothing\"", "CREATE VIRTUAL TABLE x USING iforest_overlap(nothing)");
	run_fails(db, "iforest_overlap: \"dur\" is no by column of the index", "CREATE VIRTUAL TABLE x USING iforest_overlap(t_if, dur)");
	run_fails(db, "iforest_overlap: by column \"a\" is named twice", "CREATE VIRTUAL TABLE x USING iforest_overlap(t_if, a, a)");
	run_fails(db, "o: fill of overlaps is one of 'none', 'null', 'zero'", "SELECT * FROM o(0, 10, 2) WHERE fill = 'last'");
	run_fails(db, "o: argument t0 takes = only", "SELECT * FROM o WHERE t0 > 1");
	run_fails(db, "o: argument n is used, but not given with =", "SELECT n FROM o(0, 10)");
	run_fails(db, "table o may not be modified", "INSERT INTO o(overlaps) VALUES(1)");
	run_fails(db, "folded: spans of several series overlap more than 1000000 buckets",
		  "INSERT INTO t(a, ts, dur) VALUES(1, 0, 2000000); CREATE VIRTUAL TABLE folded USING iforest_overlap(t_if, ());"
		  "SELECT count(*) FROM folded(0, 2000000, 2000000)");
	run_gives(db, "2000000\n", "SELECT count(*) FROM o(0, 2000000, 2000000) WHERE a = 1");
	close_database(db);
}

/* The buckets that a group keeps in memory are bounded together, not for each of its series. */
static void buckets_of_a_group_are_bounded_together(void **state)
{
	sqlite3 *db = open_spans("(1, 0, 600000), (2, 0, 600000), (3, 5, 0), (4, 0, 599999)");
	int64_t before, highest;

	(void)state;
	run(db, "UPDATE t SET a = id; CREATE VIRTUAL TABLE folded USING iforest_overlap(t_if, ())");
	run_gives(db, "600000|1800000\n", "SELECT count(*), sum(overlaps) FROM folded(0, 1200000, 1200000)"); /* shared buckets count once */
	run(db, "UPDATE t SET ts = 600000 WHERE a = 2");
	before = sqlite3_memory_used();
	sqlite3_memory_highwater(1);
	run_fails(db, "folded: spans of several series overlap more than 1000000 buckets", "SELECT count(*) FROM folded(0, 1200000, 1200000)");
	highest = sqlite3_memory_highwater(1);
	for (int a = 5; a < 13; a++)
		run(db, "INSERT INTO t(a, ts, dur) VALUES(%d, %d * 600000, 600000)", a, a);
	run_fails(db, "folded: spans of several series overlap more than 1000000 buckets", "SELECT count(*) FROM folded(0, 12000000, 12000000)");
	assert_true(sqlite3_memory_highwater(1) < highest + (highest - before) / 2); /* whatever the number of series */
	close_database(db);
}

/* The table finds its index by name, and may exist without it. */
static void the_table_may_be_dropped_without_its_index(void **state)
{
	const char *path = test_path("overlap.db");
	sqlite3 *db = open_database(path, 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts, dur); INSERT INTO t(ts, dur) VALUES(0, 10), (5, 10);"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, duration=dur); CREATE VIRTUAL TABLE o USING iforest_overlap(t_if)");
	close_database(db);
	db = open_database(path, 0);
	run_gives(db, "0|2|20|10|1|0\n", "SELECT " COLUMNS " FROM o");
	run(db, "DROP TABLE t_if");
	run_fails(db, "", "SELECT * FROM o");
	close_database(db);
	db = open_database(path, 0);
	run_fails(db, "o: iforest_overlap: no index \"t_if\"", "SELECT * FROM o");
	run_fails(db, "o: iforest_overlap: no index \"t_if\"", "SELECT * FROM o(0, 10, 5)");
	run_fails(db, "o: iforest_overlap: no index \"t_if\"", "SELECT * FROM o WHERE t0 = 0 AND t1 = 10 AND step = 1 AND origin = 0 AND fill = 'zero'");
	run(db, "DROP TABLE o");
	close_database(db);
	remove_database(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_tables_overlap_as_plain_sql_says),
		cmocka_unit_test(ends_may_exceed_64_bits),
		cmocka_unit_test(every_pixel_knows_the_span_that_covers_it),
		cmocka_unit_test(peaks_of_other_kinds_of_times),
		cmocka_unit_test(a_real_span_that_ends_where_it_starts),
		cmocka_unit_test(errors_say_what_to_do),
		cmocka_unit_test(buckets_of_a_group_are_bounded_together),
		cmocka_unit_test(the_table_may_be_dropped_without_its_index),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
