/* tests/sqlite/test_affinity.c -- Tests that compare by columns of any declared type with columns of any other, in every form
 * that SQL has, on every table over an index: the rows are those of a plain table with the same columns and values. */
#include "harness.h"

/* All pairs of these are compared. IFOREST_ROUNDS=2 does so on all tables, and not only on two of them. */
static const char *const types[] = { "", "INTEGER", "TEXT", "REAL", "NUMERIC", "BLOB", "BIGINT", "VARCHAR(10)", "CLOB", "DOUBLE",
				     "FLOAT", "DECIMAL(10,2)", "BOOLEAN", "DATETIME", "STRING", "JSON" };
enum { N_TYPES = sizeof types / sizeof *types, N_AFFINITIES = 6 };

static const char *const values[] = { "1", "'1'", "'1.0'", "' 1'", "1.5", "'1.5'", "2", "'2'", "'a'", "'b'", "x'31'", "NULL", "-1",
				      "'-1'", "'1e0'", "''" };
enum { N_VALUES = sizeof values / sizeof *values };

/* Conditions on the table i, alone or after a join with w. The columns of w are pid INTEGER and k. */
static const struct form {
	const char *from, *where;
} forms[] = {
	{ "%s i", "i.name = (SELECT k FROM w WHERE id = 1)" },
	{ "%s i", "i.name IS (SELECT k FROM w WHERE id = 2)" },
	{ "%s i", "i.name IN ((SELECT k FROM w WHERE id = 1), 2, 'a')" },
	{ "%s i", "i.name IN (SELECT k FROM w)" },
	{ "%s i", "i.name IN (1, '1.5', 'a')" },
	{ "%s i", "i.name NOT IN (SELECT k FROM w WHERE k IS NOT NULL)" },
	{ "%s i", "(i.pid, i.name) IN (SELECT pid, k FROM w)" },
	{ "%s i", "(i.name, i.pid) IN (SELECT k, pid FROM w)" },
	{ "%s i", "(i.name, i.pid) IN (SELECT k, pid FROM w WHERE pid > 0) AND i.pid = 1" },
	{ "%s i", "(i.name, i.pid) IN (SELECT k, pid FROM w) AND i.name IN (SELECT k FROM w)" },
	{ "%s i", "(i.name, i.name) IN (SELECT k, k FROM w)" },
	{ "%s i", "(i.name, 1) IN (SELECT k, pid FROM w)" },
	{ "%s i", "(i.name, i.pid) NOT IN (SELECT k, pid FROM w WHERE k IS NOT NULL)" },
	{ "%s i", "(i.pid, i.name) IN (SELECT k, k FROM w)" },
	{ "%s i", "(i.pid, i.name) IN (VALUES (1, 1), (1, '1.0'), (2, 'a'))" },
	{ "%s i", "(i.pid, i.name) IN (SELECT pid, k FROM w UNION ALL SELECT pid, k FROM w)" },
	{ "%s i", "(i.pid, i.name) = (SELECT pid, k FROM w WHERE id = 1)" },
	{ "%s i", "(i.pid, i.name) IS (SELECT pid, k FROM w WHERE id = 2)" },
	{ "%s i", "(i.pid, i.name) = (1, '1')" },
	{ "%s i", "(i.pid, i.name) IN (SELECT pid, k FROM w) OR i.name = 'b'" },
	{ "%s i", "((i.pid, i.name) IN (SELECT pid, k FROM w) AND i.pid = 1) OR ((i.name, i.pid) IN (SELECT k, pid FROM w) AND i.pid = 2)" },
	{ "%s i", "EXISTS (SELECT 1 FROM w WHERE w.k = i.name AND w.pid = i.pid)" },
	{ "%s i", "i.name IN (SELECT k FROM w WHERE w.pid = i.pid)" },
	{ "w JOIN %s i ON i.name = w.k", "1" },
	{ "w JOIN %s i ON w.k = i.name AND w.pid = i.pid", "1" },
	{ "w CROSS JOIN %s i", "i.name = w.k" },
	{ "w CROSS JOIN %s i", "w.k IS i.name" },
	{ "w LEFT JOIN %s i ON i.name = w.k", "i.pid IS NOT NULL" },
	{ "w LEFT JOIN %s i ON (i.pid, i.name) IN (SELECT pid, k FROM w) AND i.pid = w.pid", "i.pid IS NOT NULL" },
	{ "w CROSS JOIN %s i", "(i.pid, i.name) IN (SELECT pid, k FROM w) AND i.name = w.k" },
	{ "w CROSS JOIN %s i", "(i.pid, i.name) = (w.pid, w.k)" },
	{ "%s i CROSS JOIN w", "(i.pid, i.name) IN (SELECT pid, k FROM w x WHERE x.id >= w.id)" },
};
enum { N_FORMS = sizeof forms / sizeof *forms };

/* 1.0 reads as 1 */
#define NAME "CASE WHEN typeof(i.name) = 'real' AND i.name = CAST(i.name AS INTEGER) THEN quote(CAST(i.name AS INTEGER)) ELSE quote(i.name) END"

static const char *const tables[] = { "t_if", "t_rows", "t_fold", "t_overlap", "t_counter(0, 1000)", "t_gaps", "t_cover" };
enum { N_TABLES = sizeof tables / sizeof *tables, N_USUAL = 2 };

/* Makes t(pid, name) with values of the type, an index over it, all tables over that, and a plain copy of each of them. */
static sqlite3 *make_tables(const char *type)
{
	struct random random = { test_seed() };
	sqlite3 *db = open_database(":memory:", 0);

	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, pid INTEGER, name %s); BEGIN", type);
	for (int row = 0; row < 3 * N_VALUES; row++)
		run(db, "INSERT INTO t(ts, dur, pid, name) VALUES (%d, %d, %d, %s)", 10 * row, row % 3, row % 2 + 1,
		    row < N_VALUES ? values[row] : values[random_below(&random, N_VALUES)]);
	run(db, "COMMIT; CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, duration=dur, by=(pid, name));"
		"CREATE VIRTUAL TABLE t_rows USING iforest_rows(t_if); CREATE VIRTUAL TABLE t_fold USING iforest_fold(t_if, name, pid);"
		"CREATE VIRTUAL TABLE t_overlap USING iforest_overlap(t_if); CREATE VIRTUAL TABLE t_counter USING iforest_counter(t_if);"
		"CREATE VIRTUAL TABLE t_gaps USING iforest_gaps(t_if); CREATE VIRTUAL TABLE t_cover USING iforest_cover(t_if)");
	for (int table = 0; table < N_TABLES; table++)
		run(db, "CREATE TABLE copy%d(pid INTEGER, name %s); INSERT INTO copy%d SELECT pid, name FROM %s", table, type, table,
		    tables[table]);
	return db;
}

static void fill_other(sqlite3 *db, const char *type, uint64_t seed)
{
	struct random random = { seed };

	run(db, "DROP TABLE IF EXISTS w; CREATE TABLE w(id INTEGER PRIMARY KEY, pid INTEGER, k %s); BEGIN", type);
	for (int row = 0; row < 6; row++)
		run(db, "INSERT INTO w(pid, k) VALUES (%d, %s)", row % 2 + 1, values[random_below(&random, N_VALUES)]);
	run(db, "INSERT INTO w(pid, k) VALUES (1, 1), (1, '1'), (2, '1'); COMMIT");
}

static char *question(const char *columns, const struct form *form, const char *table)
{
	char *from = sqlite3_mprintf(form->from, table);
	char *sql = sqlite3_mprintf("SELECT q, count(*) FROM (SELECT %s AS q FROM %s WHERE %s LIMIT -1) GROUP BY q ORDER BY q",
				    columns, from, form->where);

	sqlite3_free(from);
	return sql;
}

static void compare(sqlite3 *db, const char *columns, const struct form *form, const char *table, const char *plain)
{
	char *sql = question(columns, form, table), *reference = question(columns, form, plain);

	same_rows(db, sql, reference);
	sqlite3_free(sql);
	sqlite3_free(reference);
}

static void columns_of_all_types_compare_as_in_plain_sql(void **state)
{
	int n_rounds = test_rounds(1), n_compared = 0;

	(void)state;
	for (int left = 0; left < N_TYPES; left++) {
		sqlite3 *db = make_tables(types[left]);

		for (int right = 0; right < N_TYPES; right++) {
			bool all = n_rounds > 1 || (left < N_AFFINITIES && right < N_AFFINITIES);

			fill_other(db, types[right], test_seed() + (uint64_t)right);
			for (int f = 0; f < N_FORMS; f++) {
				compare(db, "1", &forms[f], "t_rows", "t");
				for (int table = 0; table < (all ? N_TABLES : N_USUAL); table++) {
					char copy[16];

					snprintf(copy, sizeof copy, "copy%d", table);
					compare(db, NAME, &forms[f], tables[table], copy);
					n_compared++;
				}
			}
		}
		close_database(db);
	}
	print_message("%d comparisons of %d pairs of types\n", n_compared, N_TYPES * N_TYPES);
}

/* A part of a row value gets no loop of its own if that could be wrong. Other plans stay as they are. */
static void plans_narrow_where_affinities_cannot_matter(void **state)
{
	static const char *const explain = "EXPLAIN QUERY PLAN SELECT count FROM t_if WHERE ";
	sqlite3 *db = open_database(":memory:", 0);
	char *plan;

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, pid INTEGER, name TEXT); CREATE TABLE w(pid, k);"
		"INSERT INTO t(ts, pid, name) VALUES (1, 1, 'a'), (2, 2, 'b');"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, by=(pid, name))");
	for (int round = 0; round < 2; round++) {
		static const struct {
			const char *where, *words[2]; /* before and after the column has a text that is a number */
		} plans[] = {
			{ "(pid, name) IN (SELECT pid, k FROM w)", { "all time; by \"pid\" =; by \"name\" =\n", "all time\n" } },
			{ "name = ?", { "by \"name\" =\n", "by \"name\" = text or number\n" } },
			{ "name = 'a'", { "by \"name\" =\n", "by \"name\" =\n" } },
			{ "name = 7", { "by \"name\" =\n", "by \"name\" = text or number\n" } },
			{ "pid = ?", { "by \"pid\" =\n", "by \"pid\" =\n" } },
		};

		for (size_t p = 0; p < sizeof plans / sizeof *plans; p++) {
			char *sql = sqlite3_mprintf("%s%s", explain, plans[p].where);

			plan = rows_of(db, sql);
			assert_non_null(plan);
			if (!strstr(plan, plans[p].words[round]))
				fail_msg("%s\n  gives: %s  not: %s", sql, plan, plans[p].words[round]);
			free(plan);
			sqlite3_free(sql);
		}
		run(db, "INSERT INTO t(ts, pid, name) VALUES (3, 3, '7')");
	}
	close_database(db);
}

/* A statement is prepared while no text is a number, and run when one is. */
static void outdated_plans_are_refused(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);
	sqlite3_stmt *statement;

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, pid INTEGER, name TEXT); CREATE TABLE w(pid INTEGER, k INTEGER);"
		"INSERT INTO t(ts, pid, name) VALUES (1, 1, 'a'); INSERT INTO w VALUES (1, 7);"
		"CREATE VIRTUAL TABLE t_if USING iforest(content=t, time=ts, by=(pid, name))");
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT sum(count) FROM t_if WHERE (pid, name) IN (SELECT pid, k FROM w)", -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	assert_int_equal(sqlite3_column_type(statement, 0), SQLITE_NULL);
	sqlite3_reset(statement);
	run(db, "INSERT INTO t(ts, pid, name) VALUES (2, 1, '7.0')");
	assert_int_equal(sqlite3_step(statement), SQLITE_ERROR);
	assert_non_null(strstr(sqlite3_errmsg(db), "since this statement was prepared, a by column that it compares with numbers has got texts"));
	sqlite3_finalize(statement);
	run_gives(db, "1\n", "SELECT sum(count) FROM t_if WHERE (pid, name) IN (SELECT pid, k FROM w)");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_of_all_types_compare_as_in_plain_sql),
		cmocka_unit_test(plans_narrow_where_affinities_cannot_matter),
		cmocka_unit_test(outdated_plans_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
