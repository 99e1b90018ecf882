/* test_bi.c -- queries as dashboards and reporting tools send them (bi/): answered from the index or not, in whatever time
 * zone, the rows are those of the plain plan, with their types, names and order; and those that the index answers are those
 * of docs/postgres_queries.md and the pages beside it.
 *
 *   IFOREST_BI=grafana_ tests/pg/cluster.sh run build/tests/pg/test_bi     only queries that have this in their names
 *   tests/pg/cluster.sh run build/tests/pg/test_bi --large                 over a million rows, at default costs (bi_large.h)
 *   build/tests/pg/test_bi --table                                         writes docs/postgres_queries*.md, without a server
 */
#include <glob.h>
#include <unistd.h>

#include "tests/pg/bi_large.h"
#include "tests/pg/bi_run.h"
#include "tests/pg/bi_table.h"
#include "tests/support/examples.h"

static const char *const zones[] = { "UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/St_Johns",
				     "America/Havana" };

static struct bi_suite suite;
static bool plans_are_custom;

/* The plans that compete with the index are dear, so that tables may be small; PostgreSQL 18 forgets that a scan is disabled
 * where it is that of the only partition left. */
static int set_up(void **state)
{
	bi_read(&suite);
	bi_set_up(state, 4800);
	client_run(bi_pg, "SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off;"
			  "SET cpu_tuple_cost = 10; SET enable_bitmapscan = off");
	return 0;
}

static int tear_down(void **state)
{
	bi_free(&suite);
	return client_tear_down(state);
}

/* ---- plans ---- */

/* Is this one of the lines? */
static bool has_line(const char *lines, const char *line)
{
	size_t n = strlen(line);
	const char *at = lines;

	while (at && (strncmp(at, line, n) != 0 || at[n] != '\n')) {
		at = strchr(at, '\n');
		at = at && at[1] ? at + 1 : NULL;
	}
	return at != NULL;
}

static void check_plan(const struct bi_statement *statement)
{
	const struct bi_query *query = statement->query;
	PGresult *plan = bi_ask(statement, "explain_decline = on", "EXPLAIN (COSTS OFF) ");
	unsigned n_nodes = plan ? bi_count_nodes(plan) : 0;

	if (plan && (n_nodes != query->n_nodes || (query->reason && !has_line(bi_details.at, query->reason))))
		bi_mismatch(statement, "%u nodes, declined: %s\texpected %s", n_nodes,
			    bi_details.n ? bi_details.at : "nothing\n", query->expect);
	PQclear(plan);
	/* more is found out early where nobody is told why: not of queries that are answered */
	plan = bi_ask(statement, "explain_decline = off", "EXPLAIN (COSTS OFF) ");
	if (plan && bi_count_nodes(plan) != n_nodes)
		bi_mismatch(statement, "%u nodes, and %u if reasons are asked for", bi_count_nodes(plan), n_nodes);
	PQclear(plan);
}

/* ---- tests ---- */

static void compare_answers(const struct bi_statement *statement, void *context)
{
	PGresult *expected, *actual;

	(void)context;
	client_run(bi_pg, "BEGIN"); /* now() is the same for all that is compared */
	expected = bi_ask(statement, "enable = off", "");
	actual = expected ? bi_ask(statement, "enable = on", "") : NULL;
	if (actual)
		bi_compare(statement, actual, expected);
	if (expected && PQntuples(expected) == 0)
		bi_mismatch(statement, "no rows");
	if (!plans_are_custom || !statement->execute[0]) /* given its parameters, a query may need no plan at all */
		check_plan(statement);
	PQclear(expected);
	PQclear(actual);
	client_run(bi_pg, "ROLLBACK");
}

/* Rows are changed and removed: what the index knows of them must be checked in the tables, and some of it is pending. */
static void change_tables(void)
{
	static const char *const tables[] = { "spans", "local_spans", "ns_spans", "parted_spans", "recent_spans",
					      "deep_spans", "odd_spans" };

	for (size_t i = 0; i < COUNT_OF(tables); i++) {
		client_run(bi_pg, "UPDATE %s SET dur = dur + 7, status = 'error' WHERE id %% 41 = 7", tables[i]);
		client_run(bi_pg, "DELETE FROM %s WHERE id %% 61 = 5", tables[i]);
	}
}

static void answers_are_those_of_the_plain_plan(void **state)
{
	const char *only = getenv("IFOREST_BI");

	(void)state;
	bi_n_mismatches = 0;
	for (size_t i = 0; i < COUNT_OF(zones); i++) {
		bi_zone = zones[i];
		plans_are_custom = i % 2 == 1;
		client_run(bi_pg, "SET TimeZone = '%s'; SET plan_cache_mode = force_%s_plan", bi_zone,
			   plans_are_custom ? "custom" : "generic");
		if (i == COUNT_OF(zones) / 2)
			change_tables();
		for (unsigned j = 0; j < suite.n; j++)
			if (!only || strstr(suite.queries[j].name, only))
				bi_each_statement(&suite, &suite.queries[j], compare_answers, NULL);
	}
	bi_no_mismatch_may_be_left();
}

static bool is_covered(const char *number)
{
	size_t n = strlen(number);

	for (unsigned i = 0; i < suite.n; i++)
		for (const char *at = suite.queries[i].rows; *at; at += strspn(at, ", ")) {
			size_t length = strcspn(at, ", ");

			if (length == n && strncmp(at, number, n) == 0)
				return true;
			at += length;
		}
	return false;
}

/* Every number of bi/README.md. */
static void every_shape_is_there(void **state)
{
	static const struct { const char *prefix; int n;
	} kinds[] = { { "", 25 }, { "S", 10 }, { "N", 10 } };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		for (int j = 1; j <= kinds[i].n; j++) {
			char number[20];

			snprintf(number, sizeof number, "%s%d", kinds[i].prefix, j);
			if (!is_covered(number))
				client_fail("no query has row %s", number);
		}
	assert_true(suite.n >= 150);
}

/* Calls for each file that there is of these pages. */
static unsigned each_page_there_is(const struct bi_pages *made, void (*visit)(const struct bi_pages *made, const char *path))
{
	glob_t files;
	unsigned n;

	assert_int_equal(glob(BI_TABLE_PATH "*.md", 0, NULL, &files), 0);
	n = (unsigned)files.gl_pathc;
	for (unsigned i = 0; i < n; i++)
		visit(made, files.gl_pathv[i]);
	globfree(&files);
	return n;
}

static const struct bi_page *page_at(const struct bi_pages *made, const char *path)
{
	for (unsigned i = 0; i < made->n; i++)
		if (strcmp(made->pages[i].path, path) == 0)
			return &made->pages[i];
	return NULL;
}

static void compare_page(const struct bi_pages *made, const char *path)
{
	const struct bi_page *page = page_at(made, path);
	char *actual = read_whole_file(path);

	if (!page || !actual || strcmp(actual, page->text) != 0)
		client_fail("%s is not what the queries say: run build/tests/pg/test_bi --table", path);
	free(actual);
}

static void the_pages_in_the_docs_are_current(void **state)
{
	struct bi_pages made;

	(void)state;
	bi_table(&suite, &made);
	assert_int_equal(each_page_there_is(&made, compare_page), made.n);
	bi_table_free(&made);
}

static void remove_page(const struct bi_pages *made, const char *path)
{
	if (!page_at(made, path))
		unlink(path);
}

static int write_pages(void)
{
	struct bi_pages made;
	bool failed = false;

	bi_read(&suite);
	bi_table(&suite, &made);
	for (unsigned i = 0; i < made.n && !failed; i++) {
		FILE *file = fopen(made.pages[i].path, "w");

		failed = !file || fputs(made.pages[i].text, file) < 0;
		failed |= file && fclose(file) != 0;
	}
	each_page_there_is(&made, remove_page);
	bi_table_free(&made);
	bi_free(&suite);
	return failed;
}

int main(int n_arguments, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_those_of_the_plain_plan),
		cmocka_unit_test(every_shape_is_there),
		cmocka_unit_test(the_pages_in_the_docs_are_current),
	};

	if (n_arguments > 1 && strcmp(arguments[1], "--table") == 0)
		return write_pages();
	if (n_arguments > 1 && strcmp(arguments[1], "--large") == 0)
		return bi_large_run();
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
