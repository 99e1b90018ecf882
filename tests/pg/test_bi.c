/* test_bi.c -- queries as dashboards and reporting tools send them (bi/): answered from the index or not, in whatever time
 * zone, the rows are those of the plain plan, with their types, names and order; and those that the index answers are those
 * of docs/postgres_queries.md.
 *
 *   IFOREST_BI=grafana_ tests/pg/cluster.sh run build/tests/pg/test_bi     only queries that have this in their names
 *   build/tests/pg/test_bi --table                                         writes docs/postgres_queries.md, without a server
 */
#include "tests/pg/bi_queries.h"
#include "tests/pg/bi_table.h"
#include "tests/support/examples.h"

static const char *const zones[] = { "UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/St_Johns",
				     "America/Havana" };

static struct bi_suite suite;
static PGconn *pg;

/* ---- mismatches: all are told before the test fails ---- */

static unsigned n_mismatches;
static const char *zone;
static bool plans_are_custom;

FORMAT(2) static void mismatch(const struct bi_statement *statement, const char *format, ...)
{
	char message[4000];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	print_error("%s, %s: %s\n", statement->name.at, zone, message);
	n_mismatches++;
}

static void no_mismatch_may_be_left(void)
{
	if (n_mismatches > 0)
		client_fail("%u mismatches", n_mismatches);
}

/* ---- running ---- */

/* The details of the notices since the last statement of ours. */
static struct text details;

static void keep_detail(void *context, const PGresult *notice)
{
	const char *detail = PQresultErrorField(notice, PG_DIAG_MESSAGE_DETAIL);

	(void)context;
	if (detail)
		text_add(&details, "%.*s\n", (int)strcspn(detail, "\n") - 1, detail); /* a sentence, without its point */
}

static int set_up(void **state)
{
	char *tables = read_whole_file("tests/pg/bi/tables.sql");

	bi_read(&suite);
	client_set_up(state);
	pg = *state;
	client_note("tests/pg/bi");
	client_run(pg, "SET TimeZone = 'UTC'");
	client_run(pg, "%s", tables);
	client_run(pg, "VACUUM ANALYZE");
	/* the plans that compete with the index are dear, so that their tables may be small; PostgreSQL 18 forgets that a scan
	 * is disabled where it is that of the only partition left */
	client_run(pg, "SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off; SET cpu_tuple_cost = 10;"
		       "SET enable_bitmapscan = off; SET jit = off; SET client_min_messages = notice");
	PQsetNoticeReceiver(pg, keep_detail, NULL);
	free(tables);
	return 0;
}

static int tear_down(void **state)
{
	bi_free(&suite);
	return client_tear_down(state);
}

/* Runs one command. Returns NULL, and has told it, if it fails. */
static PGresult *run(const struct bi_statement *statement, const char *sql)
{
	PGresult *result = PQexec(pg, sql);
	ExecStatusType status = PQresultStatus(result);

	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return result;
	mismatch(statement, "%s  %s", PQerrorMessage(pg), sql);
	PQclear(result);
	return NULL;
}

/* Runs the statement under a setting, with `explain` (maybe "") before it, and takes back what it did. */
static PGresult *ask(const struct bi_statement *statement, const char *setting, const char *explain)
{
	const struct bi_query *query = statement->query;
	PGresult *result;
	struct text sql;

	client_run(pg, "SAVEPOINT before; SET LOCAL iforest.%s", setting);
	if (statement->execute[0]) {
		client_run(pg, "DEALLOCATE ALL");
		text_set(&sql, "PREPARE question AS %s", statement->sql.at);
		PQclear(run(statement, sql.at));
		text_set(&sql, "%sEXECUTE question(%s)", explain, statement->execute);
	} else {
		text_set(&sql, "%s%s", explain, statement->sql.at);
	}
	details.n = 0;
	details.at[0] = '\0';
	result = run(statement, sql.at);
	if (result && query->then[0] && !explain[0]) {
		PQclear(result);
		result = run(statement, query->then);
	}
	client_run(pg, "ROLLBACK TO before");
	return result;
}

/* ---- rows ---- */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Each row as one text; sorted, if order is not to be compared. The array and its texts are to be freed. */
static char **row_texts(const PGresult *result, bool is_ordered)
{
	int n = PQntuples(result);
	char **rows = calloc((size_t)n + 1, sizeof *rows);
	struct text row;

	assert_non_null(rows);
	for (int i = 0; i < n; i++) {
		text_set(&row, "%s", "");
		for (int column = 0; column < PQnfields(result); column++)
			text_add(&row, "%s%s", column > 0 ? "|" : "",
				 PQgetisnull(result, i, column) ? "NULL" : PQgetvalue(result, i, column));
		rows[i] = strdup(row.at);
	}
	if (!is_ordered)
		qsort(rows, (size_t)n, sizeof *rows, compare_texts);
	return rows;
}

static void free_texts(char **rows)
{
	for (char **row = rows; *row; row++)
		free(*row);
	free(rows);
}

static void compare_rows(const struct bi_statement *statement, const PGresult *actual, const PGresult *expected)
{
	char **actual_rows = row_texts(actual, statement->is_ordered), **rows = row_texts(expected, statement->is_ordered);
	int n = 0;

	while (actual_rows[n] && rows[n] && strcmp(actual_rows[n], rows[n]) == 0)
		n++;
	if (actual_rows[n] || rows[n])
		mismatch(statement, "of %d rows, expected %d, row %d is\n\t%.1500s\nexpected\n\t%.1500s", PQntuples(actual),
			 PQntuples(expected), n, actual_rows[n] ? actual_rows[n] : "none", rows[n] ? rows[n] : "none");
	free_texts(actual_rows);
	free_texts(rows);
}

static void compare_columns(const struct bi_statement *statement, const PGresult *actual, const PGresult *expected)
{
	if (PQnfields(actual) != PQnfields(expected)) {
		mismatch(statement, "%d columns, expected %d", PQnfields(actual), PQnfields(expected));
		return;
	}
	for (int i = 0; i < PQnfields(expected); i++)
		if (strcmp(PQfname(actual, i), PQfname(expected, i)) != 0 || PQftype(actual, i) != PQftype(expected, i) ||
		    PQfmod(actual, i) != PQfmod(expected, i))
			mismatch(statement, "column %d is %s of type %u (%d), expected %s of %u (%d)", i, PQfname(actual, i),
				 PQftype(actual, i), PQfmod(actual, i), PQfname(expected, i), PQftype(expected, i),
				 PQfmod(expected, i));
}

/* ---- plans ---- */

static unsigned count_nodes(const PGresult *plan)
{
	unsigned n = 0;

	for (int row = 0; row < PQntuples(plan); row++)
		n += strstr(PQgetvalue(plan, row, 0), "Custom Scan (IForestAggregate)") != NULL;
	return n;
}

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
	PGresult *plan = ask(statement, "explain_decline = on", "EXPLAIN (COSTS OFF) ");
	unsigned n_nodes = plan ? count_nodes(plan) : 0;

	if (plan && (n_nodes != query->n_nodes || (query->reason && !has_line(details.at, query->reason))))
		mismatch(statement, "%u nodes, declined: %s\texpected %s", n_nodes, details.n ? details.at : "nothing\n",
			 query->expect);
	PQclear(plan);
}

/* ---- tests ---- */

static void compare_answers(const struct bi_statement *statement, void *context)
{
	PGresult *expected, *actual;

	(void)context;
	client_run(pg, "BEGIN"); /* now() is the same for all that is compared */
	expected = ask(statement, "enable = off", "");
	actual = expected ? ask(statement, "enable = on", "") : NULL;
	if (actual) {
		compare_columns(statement, actual, expected);
		compare_rows(statement, actual, expected);
	}
	if (expected && PQntuples(expected) == 0)
		mismatch(statement, "no rows");
	if (!plans_are_custom || !statement->execute[0]) /* given its parameters, a query may need no plan at all */
		check_plan(statement);
	PQclear(expected);
	PQclear(actual);
	client_run(pg, "ROLLBACK");
}

/* Rows are changed and removed: what the index knows of them must be checked in the tables, and some of it is pending. */
static void change_tables(void)
{
	static const char *const tables[] = { "spans", "local_spans", "ns_spans", "parted_spans", "recent_spans",
					      "odd_spans" };

	for (size_t i = 0; i < COUNT_OF(tables); i++) {
		client_run(pg, "UPDATE %s SET dur = dur + 7, status = 'error' WHERE id %% 41 = 7", tables[i]);
		client_run(pg, "DELETE FROM %s WHERE id %% 61 = 5", tables[i]);
	}
}

static void answers_are_those_of_the_plain_plan(void **state)
{
	const char *only = getenv("IFOREST_BI");

	(void)state;
	n_mismatches = 0;
	for (size_t i = 0; i < COUNT_OF(zones); i++) {
		zone = zones[i];
		plans_are_custom = i % 2 == 1;
		client_run(pg, "SET TimeZone = '%s'; SET plan_cache_mode = force_%s_plan", zone,
			   plans_are_custom ? "custom" : "generic");
		if (i == COUNT_OF(zones) / 2)
			change_tables();
		for (unsigned j = 0; j < suite.n; j++)
			if (!only || strstr(suite.queries[j].name, only))
				bi_each_statement(&suite, &suite.queries[j], compare_answers, NULL);
	}
	no_mismatch_may_be_left();
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

static void the_table_in_the_docs_is_current(void **state)
{
	char *expected = bi_table(&suite), *actual = read_whole_file(BI_TABLE_PATH);

	(void)state;
	if (!actual || strcmp(actual, expected) != 0)
		client_fail("%s is not what the queries say: run build/tests/pg/test_bi --table", BI_TABLE_PATH);
	free(expected);
	free(actual);
}

static int write_table(void)
{
	FILE *file = fopen(BI_TABLE_PATH, "w");
	char *table;
	bool failed;

	if (!file)
		return 1;
	bi_read(&suite);
	table = bi_table(&suite);
	failed = fputs(table, file) < 0;
	failed |= fclose(file) != 0;
	free(table);
	bi_free(&suite);
	return failed;
}

int main(int n_arguments, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_those_of_the_plain_plan),
		cmocka_unit_test(every_shape_is_there),
		cmocka_unit_test(the_table_in_the_docs_is_current),
	};

	if (n_arguments > 1 && strcmp(arguments[1], "--table") == 0)
		return write_table();
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
