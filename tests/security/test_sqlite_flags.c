/* tests/security/test_sqlite_flags.c -- Who may call what from the schema of a database file: the flags of all functions and modules,
 * as SQLite has them of the libraries themselves, are those of the table in docs/sqlite_security.md; and so are the functions that a
 * condition may call. */
#include "tests/sqlite/harness.h"

/* ---- the page ---- */

/* Returns what the page has between two marks, from malloc(). */
static char *read_marked(const char *name)
{
	FILE *file = fopen("docs/sqlite_security.md", "rb");
	static char page[1 << 16];
	char mark[100], *begin, *end;
	size_t n;

	assert_non_null(file);
	n = fread(page, 1, sizeof page - 1, file);
	fclose(file);
	page[n] = 0;
	snprintf(mark, sizeof mark, "<!-- %s: begin -->\n", name);
	begin = strstr(page, mark);
	assert_non_null(begin);
	begin += strlen(mark);
	snprintf(mark, sizeof mark, "<!-- %s: end -->", name);
	end = strstr(begin, mark);
	assert_non_null(end);
	return strndup(begin, (size_t)(end - begin));
}

/* ---- the libraries ---- */

enum flag { INNOCUOUS, NEITHER, DIRECTONLY, N_FLAGS };

static const char *const flag_names[N_FLAGS] = { "INNOCUOUS", "none", "DIRECTONLY" };

/* Can a statement over a view be prepared, with this trust in the schema? */
static bool may_use(sqlite3 *db, bool is_trusted)
{
	sqlite3_stmt *statement = NULL;
	bool may;

	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, is_trusted, NULL);
	may = sqlite3_prepare_v2(db, "SELECT * FROM v", -1, &statement, NULL) == SQLITE_OK || !strstr(sqlite3_errmsg(db), "unsafe use of");
	sqlite3_finalize(statement);
	return may;
}

/* The flag that SQLite goes by, found with a view that has the expression or the table. */
static enum flag flag_of(sqlite3 *db, const char *format, const char *name, const char *arguments)
{
	enum flag flag;

	run(db, format, name, arguments);
	flag = may_use(db, false) ? INNOCUOUS : may_use(db, true) ? NEITHER : DIRECTONLY;
	run(db, "DROP VIEW v");
	return flag;
}

/* Appends the names of a query, each once, with their flags, as rows of the table. The second column is what stands between a
 * function's parentheses. */
static void append_rows(sqlite3 *db, sqlite3_str *table, const char *kind, const char *names, const char *view)
{
	static const char *const verdicts[N_FLAGS] = { "may be used", "may be used if the schema is trusted", "refused" };
	sqlite3_str *lists[N_FLAGS];
	char *rows = rows_of(db, names); /* read whole: no table is dropped while a statement runs */

	for (int f = 0; f < N_FLAGS; f++)
		lists[f] = sqlite3_str_new(NULL);
	assert_non_null(rows);
	for (char *name = strtok(rows, "\n"); name; name = strtok(NULL, "\n")) {
		char *arguments = strchr(name, '|');

		*arguments++ = 0;
		sqlite3_str_appendf(lists[flag_of(db, view, name, arguments)], " `%s`", name);
	}
	free(rows);
	for (int f = 0; f < N_FLAGS; f++) {
		char *list = sqlite3_str_finish(lists[f]);

		if (list)
			sqlite3_str_appendf(table, "| %s | %s | %s |%s |\n", kind, flag_names[f], verdicts[f], list);
		sqlite3_free(list);
	}
}

static void flags_are_those_of_the_page(void **state)
{
	sqlite3 *db = open_plain(":memory:", 0);
	sqlite3_str *table = sqlite3_str_new(NULL);
	char *error = NULL, *marked = read_marked("flags"), *made;

	(void)state;
	run(db, "CREATE TABLE before_functions AS SELECT name FROM pragma_function_list; CREATE TABLE before_modules AS SELECT name FROM pragma_module_list");
	if (!load_library(db, "iforest.so", &error) || !load_library(db, "chrometrace.so", &error)) {
		print_message("skipped: %s\n", error);
		sqlite3_free(error);
		skip();
	}
	run(db, "CREATE TABLE t(ts INTEGER, dur INTEGER); CREATE VIRTUAL TABLE made USING iforest(content=t, time=ts, duration=dur)");
	sqlite3_str_appendall(table, "| | flag | in views and triggers of a file | |\n|---|---|---|---|\n");
	append_rows(db, table, "functions",
		    "SELECT name, substr('NULL, NULL, NULL, NULL, NULL, NULL', 1, 6 * iif(max(narg) < 0, 1, max(narg)) - 2) FROM pragma_function_list WHERE NOT builtin AND name NOT IN before_functions GROUP BY name ORDER BY name",
		    "CREATE VIEW v AS SELECT %s(%s)");
	/* of modules over an index a table is made */
	append_rows(db, table, "modules",
		    "SELECT name, '' FROM pragma_module_list WHERE name NOT IN before_modules AND name NOT GLOB 'pragma_*' AND name NOT IN ('iforest', 'iforest_fold', 'iforest_rows', 'iforest_overlap', 'iforest_cover', 'iforest_gaps', 'iforest_counter') ORDER BY name",
		    "CREATE VIEW v AS SELECT * FROM \"%w\"%s");
	append_rows(db, table, "modules over an index",
		    "SELECT name, iif(name = 'iforest', 'content=t, time=ts, duration=dur', 'made') FROM pragma_module_list WHERE name IN ('iforest', 'iforest_fold', 'iforest_rows', 'iforest_overlap', 'iforest_cover', 'iforest_gaps', 'iforest_counter') ORDER BY name",
		    "DROP TABLE IF EXISTS x; CREATE VIRTUAL TABLE x USING %s(%s); CREATE VIEW v AS SELECT * FROM x");
	made = sqlite3_str_finish(table);
	if (strcmp(made, marked) != 0)
		fail_msg("docs/sqlite_security.md has another table than the libraries:\n%s", made);
	sqlite3_free(made);
	free(marked);
	close_database(db);
}

/* ---- functions of conditions ---- */

static bool is_in_list(const char *list, const char *name)
{
	char quoted[200];

	snprintf(quoted, sizeof quoted, "`%s`", name);
	return strstr(list, quoted);
}

/* The condition that calls a function with n arguments; functions of dates have their modifiers as texts. */
static char *call(const char *name, int n)
{
	static const char *const dates[] = { "date", "time", "datetime", "julianday", "unixepoch" };
	bool is_date = false;
	sqlite3_str *text = sqlite3_str_new(NULL);

	for (size_t d = 0; d < sizeof dates / sizeof *dates; d++)
		is_date = is_date || strcmp(name, dates[d]) == 0;
	if (strchr("-", *name))
		sqlite3_str_appendf(text, "(name %s '$.a' = 1)", name);
	else
		sqlite3_str_appendf(text, "(%s(", name);
	for (int i = 0; i < n && *name != '-'; i++)
		sqlite3_str_appendf(text, "%s%s", i ? ", " : "", is_date && i ? "'+1 day'" : strcmp(name, "likelihood") == 0 && i ? "0.5" : "name");
	if (*name != '-')
		sqlite3_str_appendall(text, ") = 1)");
	return sqlite3_str_finish(text);
}

/* Of all functions of this SQLite, with each number of arguments from 0 to 4: those of the page are accepted, where SQLite takes so
 * many arguments, and no others. */
static void conditions_call_the_functions_of_the_page(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);
	char *list = read_marked("functions"), *names = rows_of(db, "SELECT DISTINCT name FROM pragma_function_list");
	unsigned n_accepted = 0;

	(void)state;
	run(db, "CREATE TABLE t(ts INTEGER, name TEXT)");
	assert_non_null(names);
	for (const char *name = strtok(names, "\n"); name; name = strtok(NULL, "\n")) {
		bool is_listed = is_in_list(list, name), is_once = false;

		for (int n = 0; n <= 4; n++) {
			char *text = call(name, n);
			bool is_accepted = run_any(db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, where=%s)", text) == SQLITE_OK;

			if (is_accepted)
				run(db, "DROP TABLE x");
			if (is_accepted && !is_listed)
				fail_msg("a condition may call %s, which docs/sqlite_security.md does not list", text);
			is_once = is_once || is_accepted;
			sqlite3_free(text);
		}
		n_accepted += is_once;
		if (is_listed && !is_once)
			fail_msg("no condition may call %s, which docs/sqlite_security.md lists: %s", name, last_message());
	}
	assert_true(n_accepted > 40);
	free(names);
	free(list);
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags_are_those_of_the_page),
		cmocka_unit_test(conditions_call_the_functions_of_the_page),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
