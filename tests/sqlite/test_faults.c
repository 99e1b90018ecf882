/* tests/sqlite/test_faults.c -- Tests in which every allocation, read, write and fsync fails, once or from some point on,
 * during CREATE, queries, writes to the table, commands, rename and DROP: the statement reports it, the database stays sound, a
 * second try works, and no memory leaks. */
#include "harness.h"

#include <stdatomic.h>

#include "tests/support/sanitizer.h"

#define TABLE                                                                                                    \
	"CREATE TABLE d(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER, r REAL);"                   \
	"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 700)"                         \
	" INSERT INTO d SELECT x, 'track ' || (x % 7), x * 7919 % 10007, x % 31, x / 7.0 FROM n;"
#define INDEX "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, value=(dur, r), by=track);"

#define GAPS "CREATE VIRTUAL TABLE g USING iforest_gaps(d_if);"
#define ROWS "CREATE VIRTUAL TABLE e USING iforest_rows(d_if);"
#define SPREAD "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, variance=dur, by=track);"
#define SUMS "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, histogram=(dur(5, 500)), products=(dur*ts), by=track);"

/* Times and durations with fractions, and a column of texts. */
#define REALS "UPDATE d SET ts = ts + 0.5, dur = dur / 4.0;"
#define TEXTS "ALTER TABLE d ADD COLUMN at TEXT AS (strftime('%Y-%m-%dT%H:%M:%S', ts * 1000, 'unixepoch'));"
#define TEXT_INDEX "CREATE VIRTUAL TABLE t_if USING iforest(content=d, time=at, duration=dur, value=(dur, r), by=track, unit=ms);"

#define CHANGES                                                                                                  \
	"INSERT OR REPLACE INTO d SELECT id * 3, 'new ' || (id % 2), ts, id % 7, r FROM d WHERE id < 60 ORDER BY id;"
#define WRITES CHANGES "UPDATE OR REPLACE d SET id = id + 3, ts = ts - 1 WHERE id % 100 = 7; DELETE FROM d WHERE id % 90 = 5;"
#define APPENDED "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, value=(dur, r), by=track, sync=append);"
#define EXPORT "INSERT INTO d_if(d_if, step) VALUES('export', 6000);"
#define FLUSH "UPDATE d SET dur = dur + 1 WHERE id % 50 = 1; INSERT INTO d_if(d_if) VALUES('flush');"
#define FLUSHES FLUSH FLUSH FLUSH FLUSH FLUSH FLUSH

/* A condition that all rows meet. */
#define CONDITION "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, value=(dur, r), by=track, where=(dur >= 0 AND track GLOB '*'));"

/* A table without a key: its index has a mark. */
#define NO_KEY                                                                                                   \
	"CREATE TABLE d(id INTEGER, track TEXT, ts INTEGER, dur INTEGER, r REAL, u UNIQUE);"                     \
	"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 700)"                         \
	" INSERT INTO d SELECT x, 'track ' || (x % 7), x * 7919 % 10007, x % 31, x / 7.0, x FROM n;"
#define GAP "DELETE FROM d WHERE id % 90 = 5; INSERT OR REPLACE INTO d SELECT * FROM d WHERE id = 9;"

/* Enough rows for sketches and summaries of counters to be kept. */
#define MANY                                                                                                     \
	"CREATE TABLE d(id INTEGER PRIMARY KEY, track TEXT, ts INTEGER, dur INTEGER, r REAL);"                   \
	"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 4200)"                        \
	" INSERT INTO d SELECT x, 'track', x, x % 31, x / 7.0 FROM n;"
#define SKETCHES "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, value=(dur, r), by=track, sketch=(dur, r));"
#define DISTINCT "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, value=(dur, r), by=track, distinct=(dur, r, track AS who));"
#define PIECES "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, value=(dur, r), by=track, counter=(dur, r));"

/* The step from the n-th failing access or allocation to the next is about n / fineness(). It is larger under the sanitizer,
 * and in emulators (tests/dist/suite.sh): these are slow, wine above all at opening, writing and removing files. */
static int fineness(void)
{
#if defined FEW_FAULTS
	return 2;
#else
	return sanitizer_shortens() ? 2 : 4;
#endif
}

/* A statement under test, and the SQL that prepares for it. */
static const struct step {
	const char *name, *setup, *sql;
	bool is_query;
} steps[] = {
	{ "create", TABLE, INDEX, false },
	{ "create in parts", TABLE, "PRAGMA cache_size = 1; " INDEX, false },
	{ "create in parts, in memory", TABLE, "PRAGMA cache_size = 1; PRAGMA temp_store = MEMORY; " INDEX, false },
	{ "whole", TABLE INDEX, "SELECT track, count, sum_dur, max_r_id FROM d_if", true },
	{ "affinity", TABLE "INSERT INTO d VALUES(1000, '5', 5, 5, 5);" INDEX "CREATE VIRTUAL TABLE f USING iforest_fold(d_if, track);",
	  "SELECT d_if.count, f.count FROM d_if, f WHERE d_if.track = 5 AND f.track = 5", true },
	{ "window", TABLE INDEX, "SELECT track, count, sum_dur, min_r, first_r, last_dur FROM d_if(55, 9000) WHERE track IN ('track 1', 'track 3')", true },
	{ "buckets", TABLE INDEX, "SELECT track, bucket, count, avg_dur FROM d_if(0, 10007, 20) ORDER BY track, bucket", true },
	{ "extremes", TABLE INDEX, "SELECT track, bucket, max_dur_id, min_dur FROM d_if(0, 10007, 3) ORDER BY track, bucket", true },
	{ "fill", TABLE INDEX, "SELECT track, bucket, count FROM d_if(0, 10000) WHERE step = 1000 AND fill = 'zero' AND track = 'track 2'", true },
	{ "fold", TABLE INDEX "CREATE VIRTUAL TABLE f USING iforest_fold(d_if);", "SELECT count, sum_dur, max_dur_id FROM f(17, 8000)", true },
	{ "fill last", TABLE INDEX CHANGES, "SELECT track, bucket, last_r, min_dur_id FROM d_if(1000, 1100) WHERE step = 5 AND fill = 'last' AND track = 'track 2'", true },
	{ "fill linear", TABLE INDEX CHANGES "CREATE VIRTUAL TABLE f USING iforest_fold(d_if);",
	  "SELECT bucket, avg_r, max_dur FROM f(1000, 1100) WHERE n = 50 AND fill = 'linear'", true },
	{ "counter", TABLE INDEX CHANGES "CREATE VIRTUAL TABLE c USING iforest_counter(d_if);",
	  "SELECT track, bucket, twa_r, increase_dur, start_dur FROM c(500, 9000, 7) WHERE track IN ('track 1', 'new 1') ORDER BY 1, 2", true },
	{ "create counter", TABLE INDEX, "CREATE VIRTUAL TABLE c USING iforest_counter(d_if)", false },
	{ "variance", TABLE SPREAD CHANGES, "SELECT track, var_dur, stddev_dur FROM d_if(55, 9000)", true },
	{ "create accumulators", TABLE, SUMS, false },
	{ "accumulators", TABLE SUMS CHANGES, "SELECT track, count_dur_le_5, count_dur_le_500, regr_slope_dur_ts FROM d_if(55, 9000)", true },
	{ "overlap", TABLE INDEX CHANGES "CREATE VIRTUAL TABLE o USING iforest_overlap(d_if);",
	  "SELECT track, bucket, overlaps, clipped_dur, longest_dur_id FROM o(1000, 9000, 30) ORDER BY track, bucket", true },
	{ "peaks", TABLE INDEX CHANGES "CREATE VIRTUAL TABLE o USING iforest_overlap(d_if);",
	  "SELECT track, bucket, overlaps, peak, peak_ts FROM o(1000, 9000, 30) ORDER BY track, bucket", true },
	{ "peaks of a fold", TABLE INDEX CHANGES "CREATE VIRTUAL TABLE o USING iforest_overlap(d_if, ());",
	  "SELECT bucket, peak FROM o(1000, 9000) WHERE step = 500 AND fill = 'zero'", true },
	{ "overlap fold", TABLE INDEX CHANGES "CREATE VIRTUAL TABLE o USING iforest_overlap(d_if, ());",
	  "SELECT bucket, overlaps, clipped_dur FROM o(1000, 9000) WHERE step = 500 AND fill = 'zero'", true },
	{ "pending", TABLE INDEX CHANGES, "SELECT track, count, sum_dur, max_r_id FROM d_if(55, 9000)", true },
	{ "sketch functions", TABLE INDEX, "SELECT track, iforest_quantile(iforest_sketch_merge(s), 0.5), iforest_sketch_count(max(s)) FROM "
		"(SELECT track, iforest_sketch(dur) OVER (ORDER BY id ROWS 20 PRECEDING) AS s FROM d WHERE id < 60) GROUP BY track", true },
	{ "histogram", TABLE INDEX, "SELECT track, lower, h.count FROM (SELECT track, iforest_sketch(dur) AS s FROM d WHERE id < 60 GROUP BY track), "
		"iforest_histogram(s, iif(track = 'track 1', '[1, 5, 20, 300]', '[5]')) AS h UNION ALL SELECT '', upper, h.count FROM iforest_histogram((SELECT iforest_sketch(r) FROM d)) AS h", true },
	{ "line", TABLE, "SELECT track, iforest_lttb(ts, dur, 20), iforest_lttb(ts, r, 7) FROM d GROUP BY track", true },
	{ "sketch column", MANY SKETCHES, "SELECT iforest_quantile(sketch_dur, 0.9), iforest_quantile(sketch_dur, 0.1), iforest_sketch_count(sketch_r) FROM d_if UNION ALL "
		"SELECT iforest_quantile(sketch_dur, 0.9), 0, 0 FROM d_if(300, 3900)", true },
	{ "sketch kept", MANY, SKETCHES, false },
	{ "sketch flush", MANY SKETCHES "DELETE FROM d WHERE id = 3000;", "INSERT INTO d_if(d_if) VALUES('flush')", false },
	{ "distinct functions", TABLE INDEX, "SELECT track, iforest_distinct_count(iforest_distinct_merge(s)) FROM (SELECT track, ts % 7, iforest_distinct(track || (id * 31)) AS s "
		"FROM d GROUP BY 1, 2 UNION ALL SELECT '', 0, iforest_distinct(id / 4.0) FROM (SELECT a.id * 700 + b.id AS id FROM d AS a, d AS b LIMIT 2000)) GROUP BY track", true },
	{ "distinct column", MANY DISTINCT, "SELECT iforest_distinct_count(distinct_dur), iforest_distinct_count(distinct_who), iforest_distinct_count(distinct_r) FROM d_if UNION ALL "
		"SELECT iforest_distinct_count(distinct_who), 0, 0 FROM d_if(300, 3900)", true },
	{ "distinct kept", MANY, DISTINCT, false },
	{ "distinct flush", MANY DISTINCT "DELETE FROM d WHERE id = 3000;", "INSERT INTO d_if(d_if) VALUES('flush')", false },
	{ "counter pieces", MANY PIECES "CREATE VIRTUAL TABLE c USING iforest_counter(d_if);",
	  "SELECT bucket, twa_dur, increase_r, first_ts FROM c(-5, 4000, 2) UNION ALL SELECT 0, twa_r, 0, count FROM c(1, 5000)", true },
	{ "pieces kept", MANY, PIECES, false },
	{ "pieces flush", MANY PIECES "DELETE FROM d WHERE id = 3000;", "INSERT INTO d_if(d_if) VALUES('flush')", false },
	{ "write rows", TABLE INDEX, WRITES, false },
	{ "write rows in one transaction", TABLE INDEX, "SAVEPOINT w; " WRITES "INSERT INTO d_if(d_if) VALUES('flush'); " WRITES "RELEASE w", false },
	{ "append rows", TABLE APPENDED, "INSERT INTO d(track, ts, dur, r) SELECT 'more', ts, dur, r FROM d WHERE id < 60; INSERT INTO d_if(d_if) VALUES('flush')", false },
	{ "optimize", TABLE INDEX FLUSHES CHANGES, "INSERT INTO d_if(d_if) VALUES('optimize')", false },
	{ "flush", TABLE INDEX CHANGES, "INSERT INTO d_if(d_if) VALUES('flush')", false },
	{ "merge", TABLE INDEX FLUSHES CHANGES, "INSERT INTO d_if(d_if) VALUES('flush')", false },
	{ "automerge", TABLE INDEX, "INSERT INTO d_if(d_if, n) VALUES('automerge', 3)", false },
	{ "merge some", TABLE INDEX FLUSHES "INSERT INTO d_if(d_if, n) VALUES('automerge', 3);", "INSERT INTO d_if(d_if, n) VALUES('merge', 1000)", false },
	{ "create fold", TABLE INDEX, "CREATE VIRTUAL TABLE f USING iforest_fold(d_if, track)", false },
	{ "create rows", TABLE INDEX, "CREATE VIRTUAL TABLE e USING iforest_rows(d_if, id AS key)", false },
	{ "rows", TABLE INDEX ROWS, "SELECT * FROM e WHERE track >= 'track 3' AND r > '7' AND ts IN (SELECT ts FROM d WHERE id < 400) ORDER BY id", true },
	{ "top", TABLE INDEX ROWS CHANGES, "SELECT * FROM e WHERE track IN ('track 1', 'new 1') AND ts >= 5 ORDER BY dur DESC, ts, id LIMIT 40", true },
	{ "reach", TABLE INDEX ROWS CHANGES, "SELECT * FROM e(500, 600) ORDER BY ts, id", true },
	{ "create overlap", TABLE INDEX, "CREATE VIRTUAL TABLE f USING iforest_overlap(d_if, track)", false },
	{ "cover", TABLE INDEX CHANGES "CREATE VIRTUAL TABLE c USING iforest_cover(d_if);", "SELECT track, node_level, count, max_r FROM c(55, 9000)", true },
	{ "create cover", TABLE INDEX, "CREATE VIRTUAL TABLE c USING iforest_cover(d_if)", false },
	{ "export", TABLE INDEX, "INSERT INTO d_if(d_if, step) VALUES('export', 6000)", false },
	{ "export again", TABLE INDEX EXPORT CHANGES, "INSERT INTO d_if(d_if) VALUES('export')", false },
	{ "stats", TABLE INDEX CHANGES, "SELECT rows, runs, pending, bytes, sync FROM iforest_stats('d_if')", true },
	{ "advise in full", TABLE, "SELECT statement, query, reason FROM iforest_advise('SELECT count(DISTINCT track), sum(dur) / 2 AS s, max(ts) FROM d WHERE ts > 5.5 AND ts < 3 * ? AND track LIKE ''t%'' HAVING count(*) > 1 ORDER BY s DESC')", true },
	{ "advise", TABLE, "SELECT statement, query FROM iforest_advise('SELECT track, max(dur) FROM d WHERE ts > 5 AND ts < 90 GROUP BY track')", true },
	{ "gaps", TABLE INDEX GAPS CHANGES, "SELECT * FROM g(500, 9000, 100) WHERE track IN ('track 1', 'track 3') ORDER BY gap_start, track", true },
	{ "create of some rows", TABLE, CONDITION, false },
	{ "pending of some rows", TABLE CONDITION CHANGES, "SELECT track, count, sum_dur, max_r_id FROM d_if(55, 9000)", true },
	{ "write some rows", TABLE CONDITION, WRITES, false },
	{ "create without key", NO_KEY, INDEX, false },
	{ "write rows without key", NO_KEY INDEX, GAP, false },
	{ "pending without key", NO_KEY INDEX GAP, "SELECT track, count, sum_dur, max_r_id FROM d_if(55, 9000)", true },
	{ "flush without key", NO_KEY INDEX "UPDATE d SET r = 5;" GAP, "INSERT INTO d_if(d_if) VALUES('flush')", false },
	{ "rebuild without key", NO_KEY INDEX GAP, "INSERT INTO d_if(d_if) VALUES('rebuild')", false },
	{ "rename without key", NO_KEY INDEX GAP, "ALTER TABLE d_if RENAME TO other", false },
	{ "create over reals", TABLE REALS, INDEX, false },
	{ "reals", TABLE REALS INDEX CHANGES "CREATE VIRTUAL TABLE f USING iforest_fold(d_if, track);",
	  "SELECT track, bucket, count, sum_dur, max_dur_ts FROM f(0.25, 10007, 9) UNION ALL SELECT track, bucket, count, max_dur, first_ts FROM f(5, 9000.5) WHERE step = 1000.5 ORDER BY 1, 2, 3", true },
	{ "rows of reals", TABLE REALS INDEX ROWS GAPS CHANGES, "SELECT id, ts, \"end\" FROM e(500.5, 600) UNION ALL SELECT id, ts, dur FROM e WHERE ts > 9000.5 UNION ALL SELECT 0, gap_start, gap_end FROM g(500, 900, 10.5) ORDER BY 1, 2", true },
	{ "overlap of reals", TABLE REALS INDEX CHANGES "CREATE VIRTUAL TABLE o USING iforest_overlap(d_if);", "SELECT track, bucket, bucket_start, overlaps FROM o(1000, 9000, 30) ORDER BY track, bucket", true },
	{ "flush of reals", TABLE REALS INDEX CHANGES, "INSERT INTO d_if(d_if) VALUES('flush')", false },
	{ "create over texts", TABLE TEXTS, TEXT_INDEX, false },
	{ "texts", TABLE TEXTS TEXT_INDEX CHANGES, "SELECT track, bucket_start, count, last_ts, max_dur_ts FROM t_if('1970-01-01', '1970-04-26T10:30:00.5Z') WHERE step = '1 day' AND fill = 'last' AND track = 'track 1'", true },
	{ "rows of texts", TABLE TEXTS TEXT_INDEX "CREATE VIRTUAL TABLE e USING iforest_rows(t_if);" CHANGES,
	  "SELECT id, at, \"end\" FROM e WHERE at >= '1970-02-03' AND at < '1970-02-03T12:00' UNION ALL SELECT id, at, dur FROM e('1970-01-01 10:00', '1970-01-03') ORDER BY 1, 2", true },
	{ "flush of texts", TABLE TEXTS TEXT_INDEX CHANGES, "INSERT INTO t_if(t_if) VALUES('flush')", false },
	{ "rebuild", TABLE INDEX, "INSERT INTO d_if(d_if) VALUES('rebuild')", false },
	{ "check", TABLE INDEX, "INSERT INTO d_if(d_if) VALUES('integrity-check')", false },
	{ "rename", TABLE INDEX EXPORT, "ALTER TABLE d_if RENAME TO other", false },
	{ "drop", TABLE INDEX EXPORT, "DROP TABLE d_if", false },
};

enum { N_STEPS = sizeof steps / sizeof steps[0] };

#define PLAIN "SELECT track, count(*), sum(dur), max(dur) FROM d WHERE ts >= 100 AND ts < 9000 GROUP BY track ORDER BY track"
#define ANSWER "SELECT track, count, sum_dur, max_dur FROM %s(100, 9000) ORDER BY track"

/* After a step, failed or not: checks that the index is complete and correct, or does not exist. Returns its name, or NULL. */
static const char *expect_right(sqlite3 *db)
{
	static const char *const names[] = { "d_if", "other" };
	const char *found = NULL;

	for (int i = 0; i < 2; i++) {
		char *sql = sqlite3_mprintf(ANSWER, names[i]);

		if (integer_of(db, "SELECT count(*) FROM sqlite_schema WHERE name = %Q", names[i])) {
			/* tables and triggers if there is a log; otherwise only tables */
			int n_parts = (int)integer_of(db, "SELECT iif(sql LIKE '%%sync=append%%', 3, 7) FROM sqlite_schema WHERE name = %Q", names[i]);

			assert_null(found);
			found = names[i];
			same_rows(db, sql, PLAIN);
			assert_int_equal(integer_of(db, "SELECT count(*) FROM sqlite_schema WHERE tbl_name LIKE '%q\\_%%' ESCAPE '\\' OR name LIKE '%q\\_%%' ESCAPE '\\'",
						    names[i], names[i]) >= n_parts, 1);
		} else {
			assert_int_equal(integer_of(db, "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%q\\_%%' ESCAPE '\\'", names[i]), 0);
		}
		sqlite3_free(sql);
	}
	return found;
}

/* Databases of this step that were found sound. A check takes half of the time, and a rollback restores the same bytes. */
static struct {
	unsigned char *bytes;
	sqlite3_int64 n_bytes;
} found_sound[12];
static size_t n_found_sound;

enum { MAX_FOUND_SOUND = sizeof found_sound / sizeof *found_sound };

static void forget_found_sound(void)
{
	while (n_found_sound)
		free(found_sound[--n_found_sound].bytes);
}

/* True if the database has the bytes of one that was found sound; otherwise remembers them. */
static bool was_found_sound(sqlite3 *db)
{
	sqlite3_int64 n_bytes;
	unsigned char *bytes = sqlite3_serialize(db, "main", &n_bytes, 0), *copy;
	bool was_found = false;

	assert_non_null(bytes);
	for (size_t i = 0; i < n_found_sound && !was_found; i++)
		was_found = found_sound[i].n_bytes == n_bytes && memcmp(found_sound[i].bytes, bytes, (size_t)n_bytes) == 0;
	if (!was_found && n_found_sound < MAX_FOUND_SOUND) {
		copy = malloc((size_t)n_bytes); /* not SQLite's memory, because the test compares how much of that is in use */
		assert_non_null(copy);
		memcpy(copy, bytes, (size_t)n_bytes);
		found_sound[n_found_sound].bytes = copy;
		found_sound[n_found_sound++].n_bytes = n_bytes;
	}
	sqlite3_free(bytes);
	return was_found;
}

/* Checks also that the whole database and index are sound. */
static void expect_sound(sqlite3 *db)
{
	const char *name = expect_right(db);

	if (was_found_sound(db))
		return;
	run_gives(db, "ok\n", "PRAGMA integrity_check");
	if (name)
		run(db, "INSERT INTO %s(%s) VALUES('integrity-check')", name, name);
}

/* ---- allocations ---- */

static sqlite3_mem_methods real_memory;
static atomic_long until_failure; /* 0: no call will fail */
static atomic_bool fails_for_ever, has_failed;

/* GROW: writes that make the file longer, which fail when the disk is full */
static enum access { MEMORY, READ, WRITE, SYNC, GROW } armed; /* the kind that fails */

static bool fails_now(enum access access)
{
	long left = atomic_load(&until_failure);

	if (access != armed || left == 0 || atomic_fetch_sub(&until_failure, 1) > 1)
		return false;
	atomic_store(&until_failure, atomic_load(&fails_for_ever) ? 1 : 0);
	atomic_store(&has_failed, true);
	return true;
}

static void *faulty_malloc(int n)
{
	return fails_now(MEMORY) ? NULL : real_memory.xMalloc(n);
}

static void *faulty_realloc(void *memory, int n)
{
	return fails_now(MEMORY) ? NULL : real_memory.xRealloc(memory, n);
}

static void install_faulty_memory(void)
{
	sqlite3_mem_methods methods;

	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
	methods = real_memory;
	methods.xMalloc = faulty_malloc;
	methods.xRealloc = faulty_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}

static void arm(enum access access, long n, bool for_ever)
{
	armed = access;
	atomic_store(&has_failed, false);
	atomic_store(&fails_for_ever, for_ever);
	atomic_store(&until_failure, n);
}

/* Returns whether a call has failed. */
static bool disarm(void)
{
	atomic_store(&until_failure, 0);
	return atomic_load(&has_failed);
}

static sqlite3 *anchor; /* keeps the library loaded */

/* Returns the bytes of a database that is prepared for the step. */
static unsigned char *image_of(const struct step *step, sqlite3_int64 *n_bytes, char **expected)
{
	sqlite3 *db = open_database(":memory:", 0);
	unsigned char *image;

	forget_found_sound();
	run(db, "%s", step->setup);
	expect_sound(db);
	image = sqlite3_serialize(db, "main", n_bytes, 0);
	*expected = step->is_query ? rows_of(db, step->sql) : NULL;
	if (step->is_query && !*expected)
		*expected = strdup(last_message());
	close_database(db);
	assert_non_null(image);
	return image;
}

static sqlite3 *open_image(const unsigned char *image, sqlite3_int64 n_bytes)
{
	sqlite3 *db = open_database(":memory:", 0);
	unsigned char *copy = sqlite3_malloc64((sqlite3_uint64)n_bytes);

	assert_non_null(copy);
	memcpy(copy, image, (size_t)n_bytes);
	assert_int_equal(sqlite3_deserialize(db, "main", copy, n_bytes, n_bytes, SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE), SQLITE_OK);
	return db;
}

/* After a query that may have failed: checks that the connection answers it, and another one. The caller checks that the
 * database has the same bytes as before. */
static void expect_answered(sqlite3 *db, const struct step *step, const char *expected)
{
	run_gives(db, expected, "%s", step->sql);
	expect_right(db);
}

/* Runs the step with the n-th allocation failing. Returns whether there were so many. */
static bool try_without_memory(const struct step *step, const unsigned char *image, sqlite3_int64 n_bytes, const char *expected,
			       long n, bool for_ever)
{
	sqlite3 *db = open_image(image, n_bytes);
	sqlite3_int64 n_left;
	char *rows = NULL;
	int rc = SQLITE_OK;
	bool failed;

	arm(MEMORY, n, for_ever);
	if (step->is_query) {
		rows = rows_of(db, step->sql);
		rc = rows ? SQLITE_OK : sqlite3_errcode(db);
	} else {
		rc = run_any(db, "%s", step->sql);
	}
	failed = disarm();
	if (rc && (rc & 0xff) != SQLITE_NOMEM && !strstr(last_message(), "memory"))
		fail_msg("%s, allocation %ld fails%s: code %d, %s", step->name, n, for_ever ? " and all after it" : "", rc, last_message());
	if (rows && strcmp(rows, expected) != 0)
		fail_msg("%s, allocation %ld fails, and it gives:\n%s", step->name, n, rows);
	free(rows);
	if (step->is_query) {
		expect_answered(db, step, expected);
		assert_memory_equal(sqlite3_serialize(db, "main", &n_left, SQLITE_SERIALIZE_NOCOPY), image, (size_t)n_bytes);
		assert_int_equal(n_left, n_bytes);
	} else {
		if (rc) {
			if (!sqlite3_get_autocommit(db))
				run(db, "ROLLBACK");
			expect_sound(db);
			run(db, "%s", step->sql); /* the second try */
		}
		expect_sound(db);
	}
	close_database(db);
	return failed;
}

static void every_allocation_may_fail(void **state)
{
	const struct step *step = *state;
	sqlite3_int64 n_bytes, before;
	char *expected;
	unsigned char *image = image_of(step, &n_bytes, &expected);

	try_without_memory(step, image, n_bytes, expected, 1000000000, false); /* so that memory that is never freed is already allocated */
	before = sqlite3_memory_used();
	for (int for_ever = 0; for_ever < 2; for_ever++)
		for (long n = 1; try_without_memory(step, image, n_bytes, expected, n, for_ever);
		     n += 1 + n / (for_ever ? 2 : fineness())) {
			if (sqlite3_memory_used() != before)
				fail_msg("%s, allocation %ld fails%s: %lld bytes leak", step->name, n, for_ever ? " and all after it" : "",
					 sqlite3_memory_used() - before);
		}
	sqlite3_free(image);
	free(expected);
}

/* ---- a query in a transaction ---- */

#define COUNT "SELECT count, sum_dur FROM f"

static void expect_counted(sqlite3 *db)
{
	same_rows(db, COUNT, "SELECT count(*), sum(dur) FROM d");
	same_rows(db, "SELECT track, count FROM d_if ORDER BY track", "SELECT track, count(*) FROM d GROUP BY track ORDER BY track");
}

/* The query makes SQLite delete no row of the index, so that SQLite reports a rollback to it. Even if there is no memory for
 * that, rows that replace others must be seen. Returns whether there were n allocations. */
static bool ask_without_memory(const char *take_back, long n, bool for_ever)
{
	sqlite3 *db = open_database(":memory:", 0);
	char *rows, *plain;
	bool failed;

	run(db, "CREATE TABLE d(id INTEGER PRIMARY KEY, track, ts, dur, r); INSERT INTO d VALUES(1, 'a', 5, 10, NULL), (2, 'b', 6, 20, 0.5), (3, 'a', 7, 30, 1);"
		INDEX "CREATE VIRTUAL TABLE f USING iforest_fold(d_if); BEGIN; SAVEPOINT a; UPDATE d SET dur = 50 WHERE id = 1");
	arm(MEMORY, n, for_ever);
	rows = rows_of(db, COUNT);
	failed = disarm();
	if (!rows && sqlite3_errcode(db) != SQLITE_NOMEM && !strstr(last_message(), "memory"))
		fail_msg("allocation %ld fails%s: %s", n, for_ever ? " and all after it" : "", last_message());
	if (!failed) /* SQLite counts deleted rows, of which there were none */
		assert_int_equal(sqlite3_changes(db), 0);
	plain = rows_of(db, "SELECT count(*), sum(dur) FROM d");
	assert_non_null(plain);
	if (rows)
		assert_string_equal(rows, plain);
	free(rows);
	free(plain);
	run_any(db, "%s", take_back);
	run(db, "UPDATE d SET dur = 60 WHERE id = 2");
	expect_counted(db);
	run_any(db, "ROLLBACK");
	run(db, "UPDATE d SET dur = 70 WHERE id = 3");
	expect_counted(db);
	close_database(db);
	return failed;
}

static void a_question_in_a_transaction_may_lack_memory(void **state)
{
	static const char *const ways[] = { "ROLLBACK TO a", "ROLLBACK" };
	sqlite3_int64 before;

	(void)state;
	for (int way = 0; way < 2; way++)
		for (int for_ever = 0; for_ever < 2; for_ever++) {
			ask_without_memory(ways[way], 1000000000, false);
			before = sqlite3_memory_used();
			for (long n = 1; ask_without_memory(ways[way], n, for_ever);
			     n += 1 + n / (for_ever ? 1 : 2 * fineness()))
				assert_int_equal(sqlite3_memory_used(), before);
		}
}

/* ---- reads and writes ---- */

struct faulty_file {
	sqlite3_file base;
	sqlite3_file *real;
};

static sqlite3_vfs faulty_vfs;
static int failure_code;

#define REAL(file) (((struct faulty_file *)(file))->real)

static int faulty_Close(sqlite3_file *file)
{
	return REAL(file)->pMethods->xClose(REAL(file));
}

static int faulty_Read(sqlite3_file *file, void *bytes, int n, sqlite3_int64 offset)
{
	if (fails_now(READ))
		return SQLITE_IOERR_READ;
	return REAL(file)->pMethods->xRead(REAL(file), bytes, n, offset);
}

static bool grows(sqlite3_file *file, sqlite3_int64 end)
{
	sqlite3_int64 n;

	return REAL(file)->pMethods->xFileSize(REAL(file), &n) == SQLITE_OK && end > n;
}

static int faulty_Write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 offset)
{
	if (fails_now(WRITE) || (armed == GROW && grows(file, offset + n) && fails_now(GROW)))
		return failure_code;
	return REAL(file)->pMethods->xWrite(REAL(file), bytes, n, offset);
}

static int faulty_Sync(sqlite3_file *file, int flags)
{
	(void)file;
	(void)flags;
	/* the test does not cut the power, so nothing has to reach the disk */
	return fails_now(SYNC) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int faulty_Truncate(sqlite3_file *file, sqlite3_int64 n)
{
	if (fails_now(WRITE))
		return SQLITE_IOERR_TRUNCATE;
	return REAL(file)->pMethods->xTruncate(REAL(file), n);
}

static int faulty_FileSize(sqlite3_file *file, sqlite3_int64 *n)
{
	return REAL(file)->pMethods->xFileSize(REAL(file), n);
}

static int faulty_Lock(sqlite3_file *file, int level)
{
	return REAL(file)->pMethods->xLock(REAL(file), level);
}

static int faulty_Unlock(sqlite3_file *file, int level)
{
	return REAL(file)->pMethods->xUnlock(REAL(file), level);
}

static int faulty_CheckReservedLock(sqlite3_file *file, int *result)
{
	return REAL(file)->pMethods->xCheckReservedLock(REAL(file), result);
}

static int faulty_FileControl(sqlite3_file *file, int op, void *argument)
{
	return REAL(file)->pMethods->xFileControl(REAL(file), op, argument);
}

static int faulty_SectorSize(sqlite3_file *file)
{
	return REAL(file)->pMethods->xSectorSize(REAL(file));
}

static int faulty_DeviceCharacteristics(sqlite3_file *file)
{
	(void)file;
	return 0;
}

static const sqlite3_io_methods faulty_methods = {
	.iVersion = 1, .xClose = faulty_Close, .xRead = faulty_Read, .xWrite = faulty_Write, .xTruncate = faulty_Truncate,
	.xSync = faulty_Sync, .xFileSize = faulty_FileSize, .xLock = faulty_Lock, .xUnlock = faulty_Unlock,
	.xCheckReservedLock = faulty_CheckReservedLock, .xFileControl = faulty_FileControl, .xSectorSize = faulty_SectorSize,
	.xDeviceCharacteristics = faulty_DeviceCharacteristics,
};

static int faulty_Open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out_flags)
{
	sqlite3_vfs *real = vfs->pAppData;
	struct faulty_file *faulty = (struct faulty_file *)file;
	int rc;

	faulty->real = (sqlite3_file *)&faulty[1];
	rc = real->xOpen(real, path, faulty->real, flags, out_flags);
	faulty->base.pMethods = faulty->real->pMethods ? &faulty_methods : NULL;
	return rc;
}

static void install_faulty_vfs(void)
{
	sqlite3_vfs *real = sqlite3_vfs_find(NULL);

	faulty_vfs = *real;
	faulty_vfs.zName = "faulty";
	faulty_vfs.pAppData = real;
	faulty_vfs.szOsFile = (int)sizeof(struct faulty_file) + real->szOsFile;
	faulty_vfs.xOpen = faulty_Open;
	faulty_vfs.pNext = NULL;
	sqlite3_vfs_register(&faulty_vfs, 0);
}

static void write_file(const char *path, const unsigned char *bytes, sqlite3_int64 n)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, (size_t)n, file), (size_t)n);
	fclose(file);
}

static void expect_file(const char *path, const unsigned char *bytes, sqlite3_int64 n)
{
	FILE *file = fopen(path, "rb");
	unsigned char *found = malloc((size_t)n + 1);

	assert_non_null(file);
	assert_non_null(found);
	assert_int_equal(fread(found, 1, (size_t)n + 1, file), (size_t)n);
	assert_memory_equal(found, bytes, (size_t)n);
	free(found);
	fclose(file);
}

/* How the step is run: by itself or in a transaction, and with which journal. The index of the WAL is in memory here. */
enum setting { ALONE, IN_TRANSACTION, WITH_WAL };

static const char *const preparations[] = { "", "BEGIN", "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; SELECT count(*) FROM sqlite_schema" };

/* Runs the step with the n-th access failing, and with GROW all after it, too. Returns whether there were so many. */
static bool try_without_disk(const struct step *step, const unsigned char *image, sqlite3_int64 n_bytes, const char *expected,
			     enum access access, long n, enum setting setting)
{
	const char *path = test_path("faulty.db");
	char *uri = sqlite3_mprintf("file:%s?vfs=faulty", path), *rows = NULL;
	sqlite3 *db;
	int rc;
	bool failed;

	remove_database(path);
	write_file(path, image, n_bytes);
	db = open_database(uri, 0);
	run(db, "PRAGMA cache_size = 5; SELECT count(*) FROM sqlite_schema; %s", preparations[setting]);
	arm(access, n, access == GROW);
	if (step->is_query) {
		rows = rows_of(db, step->sql);
		rc = rows ? SQLITE_OK : sqlite3_errcode(db);
	} else {
		rc = run_any(db, "%s", step->sql);
	}
	failed = disarm();
	if (rc && rc != failure_code && (rc & 0xff) != SQLITE_IOERR && (rc & 0xff) != SQLITE_NOMEM)
		fail_msg("%s, access %ld fails: code %d, %s", step->name, n, rc, last_message());
	if (rows && strcmp(rows, expected) != 0)
		fail_msg("%s, access %ld fails, and it gives:\n%s", step->name, n, rows);
	free(rows);
	if (!sqlite3_get_autocommit(db))
		run(db, "ROLLBACK");
	if (step->is_query) {
		expect_answered(db, step, expected);
	} else {
		if (rc) {
			expect_sound(db);
			run(db, "%s", step->sql);
		}
		expect_right(db);
	}
	close_database(db);
	if (step->is_query) {
		expect_file(path, image, n_bytes);
	} else {
		db = open_database(path, 0); /* in the state that another program finds */
		expect_sound(db);
		close_database(db);
	}
	remove_database(path);
	sqlite3_free(uri);
	return failed;
}

static void check_disk(const struct step *step, enum access access, int code, enum setting setting)
{
	sqlite3_int64 n_bytes, before;
	char *expected;
	unsigned char *image = image_of(step, &n_bytes, &expected);
	bool failed = true;

	failure_code = code;
	try_without_disk(step, image, n_bytes, expected, access, 1000000000, setting); /* so that memory that is never freed is already allocated */
	before = sqlite3_memory_used();
	for (long n = 1; failed; n += access == SYNC ? 1 : 1 + n / (fineness() / 2)) {
		failed = try_without_disk(step, image, n_bytes, expected, access, n, setting);
		if (sqlite3_memory_used() != before)
			fail_msg("%s, access %ld fails: %lld bytes leak", step->name, n, sqlite3_memory_used() - before);
	}
	sqlite3_free(image);
	free(expected);
}

static void every_write_may_fail(void **state)
{
	const struct step *step = *state;

	check_disk(step, WRITE, SQLITE_IOERR_WRITE, ALONE);
	check_disk(step, WRITE, SQLITE_IOERR_WRITE, IN_TRANSACTION);
	check_disk(step, WRITE, SQLITE_IOERR_WRITE, WITH_WAL);
}

/* Not in a transaction, because the test rolls it back, and a rollback is not synced. */
static void every_sync_may_fail(void **state)
{
	check_disk(*state, SYNC, SQLITE_IOERR_FSYNC, ALONE);
	check_disk(*state, SYNC, SQLITE_IOERR_FSYNC, WITH_WAL);
}

static void the_disk_may_be_full(void **state)
{
	const struct step *step = *state;

	check_disk(step, GROW, SQLITE_FULL, ALONE);
	check_disk(step, GROW, SQLITE_FULL, IN_TRANSACTION);
	check_disk(step, GROW, SQLITE_FULL, WITH_WAL);
}

static void every_read_may_fail(void **state)
{
	check_disk(*state, READ, SQLITE_IOERR_READ, ALONE);
}

static int start(void **state)
{
	(void)state;
	anchor = open_database(":memory:", 0);
	return 0;
}

static int finish(void **state)
{
	forget_found_sound();
	close_database(anchor);
	return remove_test_directory(state);
}

int main(void)
{
	static void (*const functions[])(void **) = { every_allocation_may_fail, every_read_may_fail, every_write_may_fail,
						      every_sync_may_fail, the_disk_may_be_full };
	static const char *const kinds[] = { "every allocation", "every read", "every write", "every sync", "the disk" };
	enum { N_KINDS = sizeof kinds / sizeof *kinds, N_OF_QUERIES = 2 };
	static struct CMUnitTest tests[N_KINDS * N_STEPS + 1];
	static char names[N_KINDS * N_STEPS][60];
	size_t n = 0;

	install_faulty_memory();
	install_faulty_vfs();
	for (size_t i = 0; i < N_STEPS; i++)
		for (int f = 0; f < (steps[i].is_query ? N_OF_QUERIES : N_KINDS); f++) {
			snprintf(names[n], sizeof names[n], "%s may fail: %s", kinds[f], steps[i].name);
			tests[n] = (struct CMUnitTest){ .name = names[n],
							.test_func = functions[f],
							.initial_state = (void *)&steps[i] };
			n++;
		}
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_question_in_a_transaction_may_lack_memory);
	return _cmocka_run_group_tests("faults", tests, n, start, finish);
}
