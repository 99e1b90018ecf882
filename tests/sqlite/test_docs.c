/* tests/sqlite/test_docs.c -- Tests of the SQL in the documentation: it works and returns what the page shows. All ```sql
 * blocks of a file run in order, on one new database; "-- " lines after a statement are its rows, with '|' between columns. */
#include "harness.h"

#include "tests/support/examples.h"

#include <glob.h>
#include <unistd.h>

static bool is_complete(const char *sql)
{
	return sqlite3_complete(sql);
}

static void run_example(void *db, const struct example *example)
{
	char *rows = rows_of(db, example->sql);

	if (!rows && example->has_shown) {
		char *error = sqlite3_mprintf("Error: %s\n", last_message());

		rows = strdup(error);
		sqlite3_free(error);
	}
	if (!rows)
		fail_msg("%s:%d: %s  fails: %s", example->path, example->line, example->sql, last_message());
	if (example->has_shown && strcmp(rows, example->shown) != 0)
		fail_msg("%s:%d: %s  gives:\n%s  instead of:\n%s", example->path, example->line, example->sql, rows,
			 example->shown);
	free(rows);
}

static int run_file(const char *path)
{
	struct example_runner runner = { is_complete, run_example, open_database(":memory:", 0) };
	int n = examples_run(path, "```sql", &runner);

	close_database(runner.context);
	return n;
}

/* docs/sqlite.md and the pages beside it. */
static void the_examples_of_the_pages_hold(void **state)
{
	glob_t pages;

	(void)state;
	assert_int_equal(glob("docs/sqlite*.md", 0, NULL, &pages), 0);
	for (size_t p = 0; p < pages.gl_pathc; p++) {
		const char *page = pages.gl_pathv[p];

		assert_true(run_file(page) > 0 || strstr(page, "_errors") || strstr(page, "_limits"));
	}
	globfree(&pages);
}

static void the_examples_of_choosing_hold(void **state)
{
	(void)state;
	assert_true(run_file("docs/choosing.md") > 5);
	assert_true(run_file("docs/charts.md") > 5);
}

static void the_examples_of_recipes_hold(void **state)
{
	(void)state;
	assert_true(run_file("docs/recipes.md") > 12);
}

static void the_examples_of_install_hold(void **state)
{
	(void)state;
	assert_true(run_file("docs/install.md") > 0);
}

static void the_examples_of_your_table_hold(void **state)
{
	(void)state;
	assert_true(run_file("docs/your_table.md") > 20);
}

/* Runs the export that the page shows, the script that it runs, and the other examples. */
static void the_examples_of_nsys_hold(void **state)
{
	struct example_runner runner = { is_complete, run_example, open_database(":memory:", 0) };
	static char script[1 << 16];
	FILE *file = fopen("sql/sqlite/nsys.sql", "rb");

	(void)state;
	assert_non_null(file);
	script[fread(script, 1, sizeof script - 1, file)] = 0;
	fclose(file);
	assert_true(examples_run("docs/nsys.md", "```sql export", &runner) > 8);
	run(runner.context, "%s", script);
	assert_true(examples_run("docs/nsys.md", "```sql", &runner) > 10);
	close_database(runner.context);
}

static void the_examples_of_the_readme_hold(void **state)
{
	(void)state;
	if (access("README.md", R_OK) != 0)
		skip();
	(void)run_file("README.md");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_examples_of_the_pages_hold),
		cmocka_unit_test(the_examples_of_choosing_hold),
		cmocka_unit_test(the_examples_of_recipes_hold),
		cmocka_unit_test(the_examples_of_install_hold),
		cmocka_unit_test(the_examples_of_your_table_hold),
		cmocka_unit_test(the_examples_of_nsys_hold),
		cmocka_unit_test(the_examples_of_the_readme_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
