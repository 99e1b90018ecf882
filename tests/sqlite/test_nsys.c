/* tests/sqlite/test_nsys.c -- Tests of sql/sqlite/nsys.sql over exports of Nsight Systems, against plain SQL and against
 * answers computed elsewhere: two replicas of NVIDIA's schema, of today and of 2020, and two real exports. The latter are in
 * $IFOREST_TRACES/formats. Tests are skipped without them, or without python3, which makes the replicas. */
#include "harness.h"

#include <unistd.h>

#define KERNELS "CUPTI_ACTIVITY_KIND_KERNEL"
#define COPIES "CUPTI_ACTIVITY_KIND_MEMCPY"
#define GRAPHS "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
/* what keeps a GPU busy */
#define WORK                                                                                                                                         \
	"(SELECT start, \"end\", deviceId, streamId FROM " KERNELS " UNION ALL SELECT start, \"end\", deviceId, streamId FROM " GRAPHS \
	" WHERE (start, \"end\") <> (0, 0))"

static char *trace_path(const char *name)
{
	const char *directory = getenv("IFOREST_TRACES");

	return sqlite3_mprintf("%s/formats/%s", directory ? directory : "../shared/data/traces", name);
}

/* Returns the text of a file. The caller frees it. */
static char *text_of(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *text;
	long n;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	n = ftell(file);
	rewind(file);
	text = malloc((size_t)n + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)n, file), (size_t)n);
	text[n] = 0;
	fclose(file);
	return text;
}

static void run_script(sqlite3 *db)
{
	char *script = text_of("sql/sqlite/nsys.sql");

	run(db, "%s", script);
	free(script);
}

static void compare_streams(sqlite3 *db, int64_t a, int64_t b)
{
	char *ours = sqlite3_mprintf("SELECT deviceId, streamId, overlaps, clipped_dur, longest_dur FROM streams_overlap(%lld, %lld) ORDER BY 1, 2", a, b);
	char *plain = sqlite3_mprintf("SELECT deviceId, streamId, count(*), sum(min(\"end\", %lld) - max(start, %lld)), max(\"end\" - start) FROM " WORK
				      " WHERE start < %lld AND (\"end\" > %lld OR (\"end\" = start AND start >= %lld)) GROUP BY 1, 2 ORDER BY 1, 2", b, a, b, a, a);

	same_rows(db, ours, plain);
	sqlite3_free(ours);
	sqlite3_free(plain);
	ours = sqlite3_mprintf("SELECT s.value, count, sum_dur, min_dur, max_dur FROM kernel_names(%lld, %lld) JOIN StringIds s ON s.id = shortName ORDER BY 1", a, b);
	plain = sqlite3_mprintf("SELECT s.value, count(*), sum(\"end\" - start), min(\"end\" - start), max(\"end\" - start) FROM " KERNELS
				" JOIN StringIds s ON s.id = shortName WHERE start >= %lld AND start < %lld GROUP BY 1 ORDER BY 1", a, b);
	same_rows(db, ours, plain);
	sqlite3_free(ours);
	sqlite3_free(plain);
	ours = sqlite3_mprintf("SELECT id, deviceId, streamId, start, dur, name FROM named_kernels WHERE start >= %lld AND start < %lld ORDER BY dur DESC, id LIMIT 20", a, b);
	plain = sqlite3_mprintf("SELECT k.rowid, deviceId, streamId, start, \"end\" - start AS dur, s.value FROM " KERNELS
				" k JOIN StringIds s ON s.id = shortName WHERE start >= %lld AND start < %lld ORDER BY dur DESC, 1 LIMIT 20", a, b);
	same_rows(db, ours, plain);
	sqlite3_free(ours);
	sqlite3_free(plain);
}

/* In plain SQL, the start of each gap is the greatest end so far. */
static void compare_gaps(sqlite3 *db)
{
	static const char *const tables[] = { "streams_gaps", "gpus_gaps" }, *const series[] = { "deviceId, streamId", "deviceId" };

	for (int t = 0; t < 2; t++) {
		char *ours = sqlite3_mprintf("SELECT %s, gap_start, gap_end FROM %s ORDER BY gap_start, gap_end, 1", series[t], tables[t]);
		char *plain = sqlite3_mprintf("SELECT %s, last, start FROM (SELECT %s, start, max(\"end\") OVER (PARTITION BY %s ORDER BY start, \"end\" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last"
					      " FROM " WORK ") WHERE last < start ORDER BY last, start, 1", series[t], series[t], series[t]);

		same_rows(db, ours, plain);
		sqlite3_free(ours);
		sqlite3_free(plain);
	}
}

/* Compares the kernels that run during each copy, and the time of a copy in which none runs. In plain SQL, that is its duration
 * without the islands of overlapping kernels. */
static void compare_copies(sqlite3 *db)
{
	same_rows(db, "SELECT copyKind, count, sum_bytes, sum_dur FROM copies ORDER BY deviceId, streamId, 1",
	     "SELECT copyKind, count(*), sum(bytes), sum(\"end\" - start) FROM " COPIES " GROUP BY deviceId, streamId, 1 ORDER BY deviceId, streamId, 1");
	same_rows(db, "SELECT c.rowid, k.overlaps, k.clipped_dur FROM " COPIES " c JOIN gpus_overlap(c.start, c.\"end\") k ON k.deviceId = c.deviceId WHERE c.\"end\" > c.start ORDER BY 1",
	     "SELECT c.rowid, count(*), sum(min(c.\"end\", k.\"end\") - max(c.start, k.start)) FROM " COPIES " c JOIN " WORK
	     " k ON k.deviceId = c.deviceId AND k.start < c.\"end\" AND (k.\"end\" > c.start OR (k.\"end\" = k.start AND k.start >= c.start)) WHERE c.\"end\" > c.start GROUP BY 1 ORDER BY 1");
	run(db, "DROP TABLE IF EXISTS temp.islands; CREATE TEMP TABLE islands AS SELECT deviceId, min(start) AS start, max(\"end\") AS last FROM (SELECT *, sum(is_new) OVER (PARTITION BY deviceId ORDER BY start, \"end\") AS island FROM"
		" (SELECT *, ifnull(start > max(\"end\") OVER (PARTITION BY deviceId ORDER BY start, \"end\" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1) AS is_new FROM " WORK ")) GROUP BY deviceId, island");
	same_rows(db, "WITH edges AS (SELECT deviceId, first_ts AS first, (SELECT max(\"end\") FROM gpu_work w WHERE w.deviceId = gpus.deviceId) AS last FROM gpus)"
		 " SELECT c.rowid, max(0, min(c.\"end\", first) - c.start) + max(0, c.\"end\" - max(c.start, last))"
		 " + coalesce((SELECT sum(min(gap_end, c.\"end\") - max(gap_start, c.start)) FROM gpus_gaps(c.start, c.\"end\") g WHERE g.deviceId = c.deviceId), 0)"
		 " FROM " COPIES " c JOIN edges e ON e.deviceId = c.deviceId ORDER BY 1",
	     "SELECT c.rowid, c.\"end\" - c.start - ifnull((SELECT sum(max(0, min(last, c.\"end\") - max(i.start, c.start))) FROM islands i WHERE i.deviceId = c.deviceId), 0)"
	     " FROM " COPIES " c WHERE deviceId IN (SELECT deviceId FROM islands) ORDER BY 1");
}

static void compare_threads(sqlite3 *db)
{
	same_rows(db, "SELECT globalTid, nameId, count, sum_dur, max_dur FROM calls ORDER BY 1, 2",
	     "SELECT globalTid, nameId, count(*), sum(\"end\" - start), max(\"end\" - start) FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY 1, 2 ORDER BY 1, 2");
	same_rows(db, "SELECT globalTid, nameId, count, sum_dur FROM os_calls ORDER BY 1, 2", "SELECT globalTid, nameId, count(*), sum(\"end\" - start) FROM OSRT_API GROUP BY 1, 2 ORDER BY 1, 2");
	same_rows(db, "SELECT globalTid, eventType, count, count_dur, sum_dur FROM ranges ORDER BY 1, 2",
	     "SELECT globalTid, eventType, count(*), count(\"end\"), sum(\"end\" - start) FROM NVTX_EVENTS GROUP BY 1, 2 ORDER BY 1, 2");
	same_rows(db, "SELECT id, pid, tid, start, dur, name FROM named_ranges ORDER BY dur DESC, id LIMIT 50",
	     "SELECT n.rowid, globalTid / 16777216 % 16777216, globalTid % 16777216, start, \"end\" - start AS dur, coalesce(text, value) FROM NVTX_EVENTS n LEFT JOIN StringIds ON id = textId"
	     " WHERE eventType IN (59, 60) ORDER BY dur DESC, 1 LIMIT 50");
}

static void compare(sqlite3 *db)
{
	int64_t first = integer_of(db, "SELECT min(start) FROM " WORK), last = integer_of(db, "SELECT max(\"end\") FROM " WORK);
	struct random random = { test_seed() };

	compare_streams(db, first, last);
	compare_streams(db, first - 5, last + 5);
	if (last - first > 1000000)
		for (int i = 0; i < 10; i++) {
			int64_t a = first + random_below(&random, (last - first) / 2);

			compare_streams(db, a, a + (last - first) / 4 + random_below(&random, (last - first) / 8));
		}
	compare_gaps(db);
	compare_copies(db);
	compare_threads(db);
}

/* Checks that rows are not copied, and not sorted if the index has them in order. */
static void check_cost(sqlite3 *db)
{
	char *plan = rows_of(db, "EXPLAIN QUERY PLAN SELECT * FROM named_kernels ORDER BY dur DESC LIMIT 10");

	assert_non_null(plan);
	assert_null(strstr(plan, "TEMP B-TREE"));
	free(plan);
	run(db, "INSERT INTO kernels(kernels) VALUES('integrity-check'); INSERT INTO ranges(ranges) VALUES('integrity-check'); INSERT INTO calls(calls) VALUES('integrity-check')");
}

static void check_replica(const char *arguments)
{
	char *program = trace_path("make_nsys.py"), *path = sqlite3_mprintf("%s", test_path("replica.sqlite"));
	char *command = sqlite3_mprintf("python3 '%s' '%s' %s >/dev/null", program, path, arguments);
	sqlite3 *db;

	if (access(program, R_OK) != 0 || system("python3 -c 'import sqlite3' 2>/dev/null") != 0)
		skip();
	assert_int_equal(system(command), 0);
	db = open_database(path, 0);
	run(db, "CREATE TABLE " GRAPHS "(start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, deviceId INTEGER NOT NULL, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER);"
		"INSERT INTO " GRAPHS " SELECT \"end\", \"end\" + rowid %% 5 * 20000, deviceId, streamId, NULL, NULL, rowid %% 3 FROM " KERNELS " WHERE rowid %% 9 = 0 UNION ALL SELECT 0, 0, deviceId, streamId, NULL, NULL, 1 FROM " KERNELS " WHERE rowid < 3");
	run_script(db);
	assert_true(integer_of(db, "SELECT sum(count) FROM kernels") > 5000);
	assert_true(integer_of(db, "SELECT sum(count) FROM gpus") > integer_of(db, "SELECT sum(count) FROM kernels") + 500);
	assert_true(integer_of(db, "SELECT count(*) FROM " COPIES " c JOIN gpus_overlap(c.start, c.\"end\") k ON k.deviceId = c.deviceId") > 100);
	compare(db);
	check_cost(db);
	run(db, "DELETE FROM " KERNELS " WHERE rowid %% 7 = 3; UPDATE " KERNELS " SET \"end\" = \"end\" + 5000 WHERE rowid %% 11 = 0; INSERT INTO " COPIES
		"(start, \"end\", deviceId, contextId, streamId, bytes, copyKind) SELECT start + 17, \"end\" + 99, deviceId, contextId, streamId, bytes, copyKind FROM " COPIES "; DELETE FROM gpu_work");
	run_script(db); /* again: what was there stays, and gpu_work, which is empty, is filled */
	compare(db);
	run_script(db);
	compare(db);
	close_database(db);
	remove_database(path);
	sqlite3_free(program);
	sqlite3_free(path);
	sqlite3_free(command);
}

static void a_replica_is_answered_like_plain_sql(void **state)
{
	(void)state;
	check_replica("1 6000");
}

static void a_replica_of_2020_too(void **state)
{
	(void)state;
	check_replica("2 6000 old");
}

/* ---- real exports, with expected answers ---- */

#define EXPECTED(path) "json_extract(expected.json, '$." path "')"
#define PROCESS "(globalTid >> 24 & 0xffffff)"
#define THREAD "(globalTid & 0xffffff)"

/* Sums over all indexes, by track as the expected answers name it. Marks are not spans. */
static const char tracks[] = "SELECT track, sum(count) AS n, sum(sum_dur) AS total, max(max_dur) AS longest FROM ("
			     "SELECT printf('gpu %d/stream %d', deviceId, streamId) AS track, count, sum_dur, max_dur FROM kernels%s UNION ALL "
			     "SELECT printf('gpu %d/stream %d', deviceId, streamId), count, sum_dur, max_dur FROM copies%s UNION ALL "
			     "SELECT printf('gpu %d/stream %d', deviceId, streamId), count, sum_dur, max_dur FROM fills%s UNION ALL "
			     "SELECT " PROCESS " || '/' || " THREAD ", count, sum_dur, max_dur FROM calls%s UNION ALL "
			     "SELECT " PROCESS " || '/' || " THREAD ", count, sum_dur, max_dur FROM os_calls%s UNION ALL "
			     "SELECT " PROCESS " || '/' || " THREAD ", count, sum_dur, max_dur FROM ranges%s WHERE eventType IN (59, 60)) GROUP BY 1";

/* Returns `tracks` for a window; "" for all time. The caller frees it. */
static char *tracks_in(const char *window)
{
	char *sql = sqlite3_mprintf("%s", "");

	for (const char *at = tracks; *at; at++) {
		bool is_window = at[0] == '%' && at[1] == 's';

		sql = sqlite3_mprintf("%z%s%.*s", sql, is_window ? window : "", is_window ? 0 : 1, at);
		at += is_window;
	}
	return sql;
}

static void check_export(const char *name)
{
	char *from = trace_path(name), *expected = sqlite3_mprintf("%s.expected.json", from), *path = sqlite3_mprintf("%s", test_path("export.sqlite"));
	char *command = sqlite3_mprintf("cp '%s' '%s' && chmod u+w '%s'", from, path, path), *json, *sql;
	sqlite3_stmt *statement;
	sqlite3 *db;

	if (access(from, R_OK) != 0)
		skip();
	assert_int_equal(system(command), 0);
	db = open_database(path, 0);
	json = text_of(expected);
	run(db, "CREATE TEMP TABLE expected AS SELECT %Q AS json", json);
	run_script(db);
	compare(db);
	check_cost(db);
	sql = tracks_in("");
	same_rows(db, sql, "SELECT e.key, json_extract(e.value, '$.count'), json_extract(e.value, '$.sum'), json_extract(e.value, '$.max') FROM expected, json_each(expected.json, '$.tracks') e ORDER BY 1");
	sqlite3_free(sql);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT e.key, json_extract(e.value, '$.a'), json_extract(e.value, '$.b') FROM expected, json_each(expected.json, '$.windows') e", -1, &statement, NULL), SQLITE_OK);
	for (int i = 0; sqlite3_step(statement) == SQLITE_ROW; i++) {
		char *window = sqlite3_mprintf("(%lld, %lld)", sqlite3_column_int64(statement, 1), sqlite3_column_int64(statement, 2)), *inner = tracks_in(window), *plain;

		sql = sqlite3_mprintf("SELECT total(n), total(total), max(longest) FROM (%s)", inner);
		plain = sqlite3_mprintf("SELECT ifnull(" EXPECTED("windows[%d].count") ", 0.0), ifnull(" EXPECTED("windows[%d].sum") ", 0.0), " EXPECTED("windows[%d].max") " FROM expected", i, i, i);
		same_rows(db, sql, plain);
		sqlite3_free(window);
		sqlite3_free(inner);
		sqlite3_free(sql);
		sqlite3_free(plain);
	}
	sqlite3_finalize(statement);
	close_database(db);
	free(json);
	remove_database(path);
	sqlite3_free(from);
	sqlite3_free(expected);
	sqlite3_free(path);
	sqlite3_free(command);
}

static void a_real_export_of_training_is_as_expected(void **state)
{
	(void)state;
	check_export("nsys/mfu_2gpu_before.sqlite");
}

static void a_real_export_with_os_calls_is_as_expected(void **state)
{
	(void)state;
	check_export("nsys/nsight-2025.5.2.sqlite");
}

/* Two kernels with a graph between them, as inference servers leave it; and indexes of a time when graphs were not known. */
static void launches_of_graphs_are_busy_time(void **state)
{
	sqlite3 *db = open_database(test_path("graphs.sqlite"), 0);
	char *script = text_of("sql/sqlite/nsys.sql"), *error = NULL;

	(void)state;
	run(db, "CREATE TABLE " KERNELS "(start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, shortName INTEGER NOT NULL);"
		"INSERT INTO " KERNELS " VALUES(1000, 1500, 0, 7, 1), (9000, 9400, 0, 7, 1);"
		"CREATE TABLE " GRAPHS "(start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, graphId INTEGER); INSERT INTO " GRAPHS " VALUES(2000, 8000, 0, 7, 1);"
		"CREATE VIRTUAL TABLE gpus USING iforest(content=" KERNELS ", time=start, end=\"end\", by=(deviceId))");
	assert_int_equal(sqlite3_exec(db, script, NULL, NULL, &error), SQLITE_CONSTRAINT_CHECK);
	assert_non_null(strstr(error, "DROP TABLE gpus;"));
	sqlite3_free(error);
	run(db, "ROLLBACK; DROP TABLE gpus; %s", script);
	assert_int_equal(integer_of(db, "SELECT 8400 - sum(gap_end - gap_start) FROM gpus_gaps(1000, 9400) WHERE deviceId = 0"), 6900);
	assert_int_equal(integer_of(db, "SELECT clipped_dur FROM streams_overlap(1000, 9400)"), 6900);
	free(script);
	close_database(db);
	remove_database(test_path("graphs.sqlite"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launches_of_graphs_are_busy_time),
		cmocka_unit_test(a_replica_is_answered_like_plain_sql),
		cmocka_unit_test(a_replica_of_2020_too),
		cmocka_unit_test(a_real_export_of_training_is_as_expected),
		cmocka_unit_test(a_real_export_with_os_calls_is_as_expected),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
