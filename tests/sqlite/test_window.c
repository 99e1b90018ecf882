/* tests/sqlite/test_window.c -- Test of every column of an index and of its folds against a fold in C over the rows of the
 * table, for random tables, windows and bucketings. Expected answers never come from the extension: plain SQL reads the rows,
 * and numbers their series (dense_rank). */
#include "random_windows.h"

#include "tests/support/sanitizer.h"

enum { N_TABLES = 250, WINDOWS = 40 };

static void every_window_of_random_tables_is_exact(void **state)
{
	static struct table table;
	struct row_style style;
	int n_tables = sanitizer_shortens() ? N_TABLES / 3 : N_TABLES;

	(void)state;
	for (int i = 0; i < n_tables; i++) {
		struct random random = { test_seed() + (uint64_t)i };
		sqlite3 *db = open_database(":memory:", 0);

		make_table(db, "", &table, &style, &random);
		check_table(db, &table, &random, WINDOWS);
		close_database(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_window_of_random_tables_is_exact) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
