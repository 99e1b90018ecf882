/* test_docs.c -- the SQL of the documentation works and gives what it says, and no error is left out of it.
 *
 * Every ```sql block of docs/advisor.md and of each page docs/postgres*.md runs, in order, in a fresh database, after those of the
 * page that it goes on from. So do the ```sql postgres blocks of docs/choosing.md, docs/charts.md, docs/recipes.md and
 * docs/install.md, and those of README.md beside the table that its other blocks make and one of requests.
 * "-- " lines after a statement are its rows, columns parted by '|', or the error that it raises. */
#include <ctype.h>
#include <glob.h>

#include "tests/pg/client.h"
#include "tests/support/examples.h"

/* ---- examples ---- */

/* What psql would show, as the files write it. */
static void show(const PGresult *result, struct text *shown)
{
	static const struct { int field; const char *label;
	} parts[] = { { PG_DIAG_MESSAGE_PRIMARY, "ERROR" },
		      { PG_DIAG_MESSAGE_DETAIL, "DETAIL" },
		      { PG_DIAG_MESSAGE_HINT, "HINT" } };

	text_set(shown, "%s", "");
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		if (PQresultErrorField(result, parts[i].field))
			text_add(shown, "%s:  %s\n", parts[i].label, PQresultErrorField(result, parts[i].field));
	for (int row = 0; row < PQntuples(result); row++)
		for (int column = 0; column < PQnfields(result); column++)
			text_add(shown, "%s%s", PQgetvalue(result, row, column),
				 column + 1 < PQnfields(result) ? "|" : "\n");
}

static bool has_failed(const PGresult *result)
{
	return PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK;
}

static void run_example(void *pg, const struct example *example)
{
	static struct text shown;
	PGresult *result = PQexec(pg, example->sql);

	show(result, &shown);
	if (has_failed(result) && !example->has_shown)
		fail_msg("%s:%d: %s  fails: %s", example->path, example->line, example->sql, shown.at);
	if (example->has_shown && strcmp(shown.at, example->shown) != 0)
		fail_msg("%s:%d: %s  gives:\n%s  instead of:\n%s", example->path, example->line, example->sql, shown.at,
			 example->shown);
	PQclear(result);
}

/* Does the statement end with its last line? A comment may follow. */
static bool is_complete(const char *sql)
{
	size_t n = strlen(sql) - 1;
	const char *line, *comment;

	while (n > 0 && sql[n - 1] != '\n')
		n--;
	line = sql + n;
	comment = strstr(line, " -- ");
	n = comment ? (size_t)(comment - line) : strcspn(line, "\n");
	while (n > 0 && line[n - 1] == ' ')
		n--;
	return n > 0 && line[n - 1] == ';';
}

/* A connection to a fresh database. */
static PGconn *connect_to_new(const char *name)
{
	PGconn *first = client_connect(NULL), *pg;
	char target[100];

	client_run(first, "DROP DATABASE IF EXISTS %s", name);
	client_run(first, "CREATE DATABASE %s", name);
	snprintf(target, sizeof target, "dbname=%s", name);
	PQfinish(first);
	pg = PQconnectdb(target);
	assert_int_equal(PQstatus(pg), CONNECTION_OK);
	return pg;
}

/* docs/postgres.md and the pages beside it; the page of the queries of tools is written by test_bi. */
static void the_examples_of_the_pages_hold(void **state)
{
	glob_t pages;
	int n = 0;

	(void)state;
	assert_int_equal(glob("docs/postgres*.md", 0, NULL, &pages), 0);
	assert_int_equal(glob("docs/advisor.md", GLOB_APPEND, NULL, &pages), 0);
	for (size_t p = 0; p < pages.gl_pathc; p++) {
		PGconn *pg;

		if (strstr(pages.gl_pathv[p], "postgres_queries"))
			continue;
		pg = connect_to_new("docs_postgres");
		n += examples_run(pages.gl_pathv[p], "```sql", &(struct example_runner){ is_complete, run_example, pg });
		PQfinish(pg);
	}
	assert_true(n >= 104);
	globfree(&pages);
}

static void the_examples_of_choosing_hold(void **state)
{
	PGconn *pg = connect_to_new("docs_choosing");

	(void)state;
	client_run(pg, "CREATE EXTENSION iforest");
	assert_true(examples_run("docs/choosing.md", "```sql postgres", &(struct example_runner){ is_complete, run_example, pg }) > 5);
	assert_true(examples_run("docs/charts.md", "```sql postgres", &(struct example_runner){ is_complete, run_example, pg }) > 5);
	PQfinish(pg);
}

static void the_examples_of_recipes_hold(void **state)
{
	PGconn *pg = connect_to_new("docs_recipes");

	(void)state;
	client_run(pg, "CREATE EXTENSION iforest");
	assert_true(examples_run("docs/recipes.md", "```sql postgres", &(struct example_runner){ is_complete, run_example, pg }) > 12);
	PQfinish(pg);
}

static void the_examples_of_install_md_hold(void **state)
{
	PGconn *pg = connect_to_new("docs_install");

	(void)state;
	assert_true(examples_run("docs/install.md", "```sql postgres", &(struct example_runner){ is_complete, run_example, pg }) > 0);
	PQfinish(pg);
}

static void the_examples_of_the_readme_hold(void **state)
{
	char *text = read_whole_file("README.md");
	bool has_examples = text && strstr(text, "\n```sql postgres\n");
	PGconn *pg;

	(void)state;
	free(text);
	if (!has_examples)
		skip();
	pg = connect_to_new("docs_readme");
	client_run(pg, "CREATE TABLE spans(id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ts bigint, dur bigint, "
		       "track text, name text)");
	client_run(pg, "INSERT INTO spans(ts, dur, track, name) VALUES (0, 40, 'main', 'load'), (5, 10, 'main', 'parse'), "
		       "(60, 25, 'main', 'draw'), (20, 70, 'io', 'read')");
	client_run(pg, "CREATE TABLE requests AS SELECT timestamptz '2024-03-01' + i * interval '1 minute' AS ts, "
		       "CASE i %% 3 WHEN 0 THEN 'api' ELSE 'web' END AS service, i %% 100 AS took FROM generate_series(1, 50000) i");
	client_run(pg, "VACUUM ANALYZE requests");
	(void)examples_run("README.md", "```sql postgres", &(struct example_runner){ is_complete, run_example, pg });
	PQfinish(pg);
}

/* ---- errors ---- */

/* Do the pieces of a format between its conversions stand in the line, in their order? */
static bool says(const char *line, const char *format)
{
	char piece[400];
	size_t n = 0;

	for (const char *at = format;; at++) {
		bool is_conversion = at[0] == '%' && at[1] != '%';

		if (*at && !is_conversion) {
			assert_true(n + 1 < sizeof piece);
			piece[n++] = *at;
			continue;
		}
		piece[n] = '\0';
		line = strstr(line, piece);
		if (!line || !*at)
			return line != NULL;
		line += n;
		n = 0;
		at += strcspn(at, "diouxcs"); /* the letter that ends a conversion */
	}
}

static bool is_documented(const char *docs, const char *format)
{
	char *copy = strdup(docs), *rest = copy, *line;
	bool found = false;

	while (!found && (line = cut_line(&rest)))
		found = says(line, format);
	free(copy);
	return found;
}

/* The string literal that begins at the text, without its quotes and backslashes. */
static void read_literal(const char *text, char *literal, size_t n_bytes)
{
	size_t n = 0;

	for (const char *at = text + 1; *at && *at != '"'; at++) {
		at += *at == '\\';
		assert_true(n + 1 < n_bytes);
		literal[n++] = *at;
	}
	literal[n] = '\0';
}

/* All files, one after the other. */
static char *read_docs(void)
{
	char *all = strdup("");
	glob_t pages;

	assert_int_equal(glob("docs/postgres*.md", 0, NULL, &pages), 0);
	assert_int_equal(glob("docs/advisor.md", GLOB_APPEND, NULL, &pages), 0);
	for (size_t p = 0; p < pages.gl_pathc; p++) {
		char *one = read_whole_file(pages.gl_pathv[p]);

		assert_non_null(one);
		all = realloc(all, strlen(all) + strlen(one) + 1);
		assert_non_null(all);
		strcat(all, one);
		free(one);
	}
	globfree(&pages);
	return all;
}

static void every_error_is_documented(void **state)
{
	static const char call[] = "errmsg(";
	char *docs = read_docs(), literal[400];
	glob_t sources;
	int n_errors = 0;

	(void)state;
	assert_int_equal(glob("pg_ext/*/*.c", 0, NULL, &sources), 0);
	for (size_t i = 0; i < sources.gl_pathc; i++) {
		char *source = read_whole_file(sources.gl_pathv[i]);

		for (char *at = source; (at = strstr(at, call)); at++, n_errors++) {
			read_literal(at + strlen(call), literal, sizeof literal);
			if (!is_documented(docs, literal))
				fail_msg("no file of docs/ has the error of %s: %s", sources.gl_pathv[i], literal);
		}
		free(source);
	}
	assert_true(n_errors >= 40);
	globfree(&sources);
	free(docs);
}

/* ---- why an index does not answer, and how it does ---- */

/* Reasons are the strings of three words and more that begin with a small letter. */
static bool is_reason(const char *literal)
{
	const char *space = strchr(literal, ' ');

	return islower((unsigned char)literal[0]) && space && strchr(space + 1, ' ');
}

/* What EXPLAIN calls things begins with a capital, and is no name of a node. */
static bool is_property(const char *literal)
{
	return isupper((unsigned char)literal[0]) && strcmp(literal, "IForestAggregate") != 0;
}

/* The string literals of a source that are asked for must be in the documentation, between backticks; gives their number. */
static int check_literals(const char *path, bool (*is_asked_for)(const char *literal), const char *docs)
{
	char *source = read_whole_file(path), *rest = source, *line, literal[400], quoted[410];
	int n = 0;

	assert_non_null(source);
	while ((line = cut_line(&rest))) {
		for (char *at = line; line[0] != '#' && (at = strchr(at, '"')); at++) {
			read_literal(at, literal, sizeof literal);
			for (at++; *at && *at != '"'; at++)
				at += at[0] == '\\' && at[1];
			if (!*at)
				break;
			if (!is_asked_for(literal))
				continue;
			n++;
			snprintf(quoted, sizeof quoted, "`%s`", literal);
			if (!is_documented(docs, quoted))
				fail_msg("no page docs/postgres*.md has this of %s: %s", path, literal);
		}
	}
	free(source);
	return n;
}

static void every_reason_not_to_answer_is_documented(void **state)
{
	static const char *const sources[] = { "planner/query_level", "planner/query_match", "planner/index_query", "planner/aggregate_arms",
						"planner/agg_path", "planner/candidate", "planner/dimension", "planner/grouping_sets", "planner/skip_path", "planner/verdict", "planner/wish", "sql/advise" };
	char *docs = read_docs(), path[60];
	int n = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(sources); i++) {
		snprintf(path, sizeof path, "pg_ext/%s.c", sources[i]);
		n += check_literals(path, is_reason, docs);
	}
	assert_true(n >= 25);
	free(docs);
}

static void every_property_of_explain_is_documented(void **state)
{
	char *docs = read_docs();

	(void)state;
	assert_true(check_literals("pg_ext/exec/agg_explain.c", is_property, docs) >= 15);
	free(docs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_examples_of_the_pages_hold),
		cmocka_unit_test(the_examples_of_choosing_hold),
		cmocka_unit_test(the_examples_of_recipes_hold),
		cmocka_unit_test(the_examples_of_install_md_hold),
		cmocka_unit_test(the_examples_of_the_readme_hold),
		cmocka_unit_test(every_error_is_documented),
		cmocka_unit_test(every_reason_not_to_answer_is_documented),
		cmocka_unit_test(every_property_of_explain_is_documented),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
