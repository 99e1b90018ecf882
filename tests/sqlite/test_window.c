/* test_window.c -- every column of an index and of its folds against a fold in C over the rows of the table, for random
 * tables, windows and bucketings. What is expected never comes from the extension: rows are read by plain SQL, which also
 * says which of them belong to one series (dense_rank). */
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
