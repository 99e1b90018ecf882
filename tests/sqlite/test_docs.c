/* test_docs.c -- the SQL of the documentation works and gives what it says. Every ```sql block of a file runs, in order, on
 * one fresh database; "-- " lines after a statement are its rows, columns parted by '|'. */
#include "harness.h"

/* The whole file, or NULL if there is none. To be freed. */
static char *read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *text;
	long n;

	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	n = ftell(file);
	rewind(file);
	text = calloc(1, (size_t)n + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)n, file), (size_t)n);
	fclose(file);
	return text;
}

/* Cuts the line at *text off and moves on. NULL at the end. */
static char *next_line(char **text)
{
	char *line = *text, *end;

	if (!line || !*line)
		return NULL;
	end = strchr(line, '\n');
	*text = end ? end + 1 : NULL;
	if (end)
		*end = '\0';
	return line;
}

/* A statement and the rows that the file shows below it. */
struct example {
	char sql[5000], rows[5000];
	bool has_rows;
	int line;
};

static int n_examples;

static void run_example(sqlite3 *db, const char *path, struct example *example)
{
	char *rows;

	if (!example->sql[0])
		return;
	rows = rows_of(db, example->sql);
	if (!rows)
		fail_msg("%s:%d: %s\n  fails: %s", path, example->line, example->sql, last_message());
	if (example->has_rows && strcmp(rows, example->rows) != 0)
		fail_msg("%s:%d: %s\n  gives:\n%s  instead of:\n%s", path, example->line, example->sql, rows, example->rows);
	free(rows);
	n_examples++;
	*example = (struct example){ .has_rows = false };
}

static void append(char *text, size_t n_bytes, const char *line)
{
	assert_true(strlen(text) + strlen(line) + 2 < n_bytes);
	strcat(text, line);
	strcat(text, "\n");
}

/* Takes one line of a block: a part of a statement, or a row of the statement before. */
static void take_line(sqlite3 *db, const char *path, struct example *example, const char *line, int number)
{
	bool is_complete = example->sql[0] && sqlite3_complete(example->sql);

	if (is_complete && strncmp(line, "-- ", 3) == 0) {
		example->has_rows = true;
		append(example->rows, sizeof example->rows, line + 3);
		return;
	}
	if (is_complete)
		run_example(db, path, example);
	if (!line[0])
		return;
	if (!example->sql[0])
		example->line = number;
	append(example->sql, sizeof example->sql, line);
}

static void run_file(const char *path)
{
	static struct example example;
	char *text = read_file(path), *rest = text, *line;
	sqlite3 *db = open_database(":memory:", 0);
	bool in_block = false;

	for (int number = 1; (line = next_line(&rest)); number++) {
		if (strncmp(line, "```", 3) == 0) {
			if (in_block)
				run_example(db, path, &example);
			in_block = strcmp(line, "```sql") == 0;
		} else if (in_block) {
			take_line(db, path, &example, line, number);
		}
	}
	free(text);
	close_database(db);
}

static void the_examples_of_sqlite_md_hold(void **state)
{
	char *text = read_file("docs/sqlite.md");

	(void)state;
	if (!text)
		fail_msg("docs/sqlite.md is missing: run this from the top of the project");
	free(text);
	n_examples = 0;
	run_file("docs/sqlite.md");
	assert_true(n_examples >= 10);
}

static void the_examples_of_the_readme_hold(void **state)
{
	char *text = read_file("README.md");

	(void)state;
	if (!text)
		skip();
	free(text);
	run_file("README.md");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_examples_of_sqlite_md_hold),
		cmocka_unit_test(the_examples_of_the_readme_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
