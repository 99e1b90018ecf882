/* tests/sqlite/test_build.c -- Tests of builds from rows in any order: the index is the same whether all rows fit into memory,
 * or are sorted in batches that wait in a temporary file or in memory. */
#include "harness.h"

/* With so little memory, a batch has about 600 rows. */
#define LITTLE_MEMORY "PRAGMA cache_size = 1; "
#define MUCH_MEMORY "PRAGMA cache_size = -2000; "

static const char *const by_values[] = {
	"NULL", "abs(random() %% 7)", "CASE abs(random() %% 5) WHEN 0 THEN 1 WHEN 1 THEN 1.0 WHEN 2 THEN '1' WHEN 3 THEN x'31' END",
	"'track ' || abs(random() %% 300)", "abs(random() %% 100000)", "id / 500",
};

static const char *const times[] = {
	"id", "id * 1000 - abs(random() %% 20000)", "random()", "nullif(abs(random() %% 50), 7)", "-id",
};

/* reals from the beginning, from the middle on, never; the column has no affinity */
static const char *const values[] = { "id / 8.0", "CASE WHEN id > 1700 THEN id / 8.0 ELSE id END", "random() %% 1000", "nullif(id %% 3, 0)" };

enum { N_BY = sizeof by_values / sizeof *by_values, N_TIMES = sizeof times / sizeof *times, N_VALUES = sizeof values / sizeof *values };

static const char *any(struct random *dice, const char *const *list, int n)
{
	return list[random_below(dice, n)];
}

static void fill(sqlite3 *db, struct random *dice)
{
	int n = (int)random_below(dice, one_in(dice, 4) ? 5 : 4000);
	char *insert = sqlite3_mprintf("WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n LIMIT %d) INSERT INTO t SELECT id, %s, %s, %s, %s, %s FROM n WHERE %d",
				       n, any(dice, by_values, N_BY), any(dice, by_values, N_BY), any(dice, times, N_TIMES),
				       "random() %% 500", any(dice, values, N_VALUES), n > 0);

	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, ts INTEGER, dur INTEGER, v)");
	run(db, insert);
	sqlite3_free(insert);
}

/* The format has the name of an index. */
static void same_in_both(sqlite3 *db, const char *format)
{
	char *of_whole = sqlite3_mprintf(format, "whole"), *of_parts = sqlite3_mprintf(format, "parts");

	same_rows(db, of_parts, of_whole);
	sqlite3_free(of_whole);
	sqlite3_free(of_parts);
}

static void the_index_is_the_same_in_batches(void **state)
{
	struct random dice = { test_seed() };

	(void)state;
	for (int round = 0; round < 40; round++) {
		sqlite3 *db = open_database(one_in(&dice, 2) ? ":memory:" : "", 0);
		const char *by = one_in(&dice, 3) ? "" : one_in(&dice, 2) ? ", by=a" : ", by=(a, b)";
		char *definition = sqlite3_mprintf("iforest(content=t, time=ts, duration=dur, value=(dur, v)%s)", by);

		fill(db, &dice);
		run(db, "PRAGMA temp_store = %d", (int)random_below(&dice, 3));
		run(db, MUCH_MEMORY "CREATE VIRTUAL TABLE whole USING %s", definition);
		run(db, LITTLE_MEMORY "CREATE VIRTUAL TABLE parts USING %s", definition);
		run(db, "INSERT INTO parts(parts) VALUES('integrity-check'); INSERT INTO whole(whole) VALUES('integrity-check')");
		same_in_both(db, "SELECT count(*), sum(length(bytes)) FROM %s_page WHERE id > 0");
		same_in_both(db, "SELECT id, hex(key) FROM %s_series ORDER BY id");
		run(db, "CREATE VIRTUAL TABLE all_parts USING iforest_fold(parts)");
		same_rows(db, "SELECT total(count), total(sum_dur), min(min_dur), max(max_dur), min(min_v), max(max_v), min(first_ts), max(last_ts) FROM all_parts",
			  "SELECT count(*), total(dur), min(dur), max(dur), min(v), max(v), min(ts), max(ts) FROM t");
		if (*by)
			same_rows(db, "SELECT a, sum(count), total(sum_dur), min(min_v), max(last_ts) FROM parts GROUP BY a ORDER BY a",
				  "SELECT a, count(*), total(dur), min(v), max(ts) FROM t GROUP BY a ORDER BY a");
		sqlite3_free(definition);
		close_database(db);
	}
}

/* Ids follow the order of values, so that queries that read series in order read pages in order. */
static void ids_of_series_follow_their_values(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a, ts); INSERT INTO t(a, ts) VALUES('b', 1), (x'00', 2), (3, 3), (NULL, 4), ('a', 5), (2.5, 6), ('B', 7);"
		"CREATE VIRTUAL TABLE i USING iforest(content=t, time=ts, by=a); CREATE VIRTUAL TABLE c USING iforest_cover(i)");
	run_gives(db, "4\n6\n3\n7\n5\n1\n2\n", "SELECT ts FROM t ORDER BY a");
	/* a key begins with the tag of its value: NULL, a real, an integer, three texts, a blob */
	run_gives(db, "0|01\n1|03\n2|02\n3|04\n4|04\n5|04\n6|05\n", "SELECT id, hex(substr(key, 1, 1)) FROM i_series ORDER BY id");
	run_gives(db, "42\n61\n62\n", "SELECT hex(substr(key, -1)) FROM i_series WHERE id BETWEEN 3 AND 5 ORDER BY id");
	close_database(db);
}

/* A function that is declared deterministic, but returns another number at each call. */
static void restless(sqlite3_context *context, int n, sqlite3_value **arguments)
{
	static int next;

	(void)n;
	(void)arguments;
	sqlite3_result_int(context, next++);
}

static void by_values_that_do_not_stay_are_refused(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	sqlite3_create_function_v2(db, "restless", 0, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL, restless, NULL, NULL, NULL);
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts, a AS (restless())); INSERT INTO t(ts) VALUES(1), (2), (3)");
	run_fails(db, "i: \"t\" gives other values when it is read again: its indexes are damaged (PRAGMA integrity_check; REINDEX), or a by "
		  "column is generated at random", "CREATE VIRTUAL TABLE i USING iforest(content=t, time=ts, by=a, sync=manual)");
	assert_int_equal(integer_of(db, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'i%%'"), 0);
	close_database(db);
}

/* ---- a file system without room for temporary files ---- */

static sqlite3_vfs *real_vfs;

static int open_named_alone(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
	(void)vfs;
	if (!name) {
		file->pMethods = NULL;
		return SQLITE_CANTOPEN;
	}
	return real_vfs->xOpen(real_vfs, name, file, flags, out);
}

static void a_missing_temporary_file_is_told(void **state)
{
	sqlite3_vfs vfs = *(real_vfs = sqlite3_vfs_find(NULL));
	sqlite3 *db;

	(void)state;
	vfs.zName = "without temporary files";
	vfs.xOpen = open_named_alone;
	assert_int_equal(sqlite3_vfs_register(&vfs, true), SQLITE_OK);
	db = open_database(test_path("build.db"), 0);
	run(db, LITTLE_MEMORY "CREATE TABLE t(id INTEGER PRIMARY KEY, a, ts);"
		"WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n LIMIT 3000) INSERT INTO t SELECT id, 'track ' || (id %% 7), -id FROM n");
	run_fails(db, "i: the temporary file in which rows are sorted: unable to open database file; name a folder with room in the "
		  "environment variable SQLITE_TMPDIR, or sort in memory: PRAGMA temp_store = MEMORY",
		  "CREATE VIRTUAL TABLE i USING iforest(content=t, time=ts, by=a)");
	assert_int_equal(integer_of(db, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'i%%'"), 0);
	run(db, "PRAGMA temp_store = MEMORY; CREATE VIRTUAL TABLE i USING iforest(content=t, time=ts, by=a); INSERT INTO i(i) VALUES('integrity-check')");
	run(db, "PRAGMA temp_store = FILE");
	run_fails(db, "i: the temporary file", "INSERT INTO i(i) VALUES('rebuild')");
	run_gives(db, "track 0|428\n", "SELECT a, count FROM i WHERE a = 'track 0'");
	run(db, "INSERT INTO i(i) VALUES('integrity-check')");
	close_database(db);
	sqlite3_vfs_unregister(&vfs);
	sqlite3_vfs_register(real_vfs, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_index_is_the_same_in_batches),
		cmocka_unit_test(ids_of_series_follow_their_values),
		cmocka_unit_test(by_values_that_do_not_stay_are_refused),
		cmocka_unit_test(a_missing_temporary_file_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
