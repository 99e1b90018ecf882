#include "tests/pg/bi_large.h"

#include <time.h>

#include "tests/pg/bi_run.h"

enum { ROWS_OF_A_TABLE = 1000000, N_TIMES = 3, MOST_SLOWER = 100 };

static struct bi_suite suite;

/* What was found of one query. */
struct finding {
	bool is_timed;             /* the first statement of a query is */
	unsigned n_statements, n_taken;
	double plain_ms, index_ms;
};

/* ---- times ---- */

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Runs the statement; *ms is what it took, preparing it included. */
static PGresult *ask(const struct bi_statement *statement, const char *setting, double *ms)
{
	double start = now_ms();
	PGresult *result = bi_ask(statement, setting, "");

	*ms = now_ms() - start;
	return result;
}

/* The median of the times that a statement takes, of which the first is known. */
static double median_ms(const struct bi_statement *statement, const char *setting, double first_ms)
{
	double times[N_TIMES] = { first_ms };

	for (int i = 1; i < N_TIMES; i++)
		PQclear(ask(statement, setting, &times[i]));
	qsort(times, N_TIMES, sizeof *times, compare_doubles);
	return times[N_TIMES / 2];
}

/* ---- one query ---- */

static void check_nodes(const struct bi_statement *statement, unsigned n_nodes)
{
	const struct bi_query *query = statement->query;
	unsigned n_expected = strcmp(query->large, "plain") == 0 ? 0 : query->n_nodes;

	if (n_nodes != n_expected && strcmp(query->large, "some") != 0)
		bi_mismatch(statement, "%u nodes, expected %u", n_nodes, n_expected);
}

/* Of a statement that no index answers, the plan alone: its answers would be those of one plan twice, some of which take hours. */
static void examine_declined(const struct bi_statement *statement, struct finding *finding)
{
	PGresult *plan;

	client_run(bi_pg, "BEGIN");
	plan = bi_ask(statement, "enable = on", "EXPLAIN (COSTS OFF) ");
	if (plan) {
		check_nodes(statement, bi_count_nodes(plan));
		finding->n_statements++;
	}
	PQclear(plan);
	client_run(bi_pg, "ROLLBACK");
}

static void examine(const struct bi_statement *statement, void *context)
{
	struct finding *finding = context;
	PGresult *expected, *actual, *plan;
	double plain_ms, index_ms = 0;

	if (statement->query->n_nodes == 0) {
		examine_declined(statement, finding);
		return;
	}
	client_run(bi_pg, "BEGIN"); /* now() is the same for all that is compared */
	expected = ask(statement, "enable = off", &plain_ms);
	actual = expected ? ask(statement, "enable = on", &index_ms) : NULL;
	plan = actual ? bi_ask(statement, "enable = on", "EXPLAIN (COSTS OFF) ") : NULL;
	if (plan) {
		bi_compare(statement, actual, expected);
		check_nodes(statement, bi_count_nodes(plan));
		finding->n_statements++;
		finding->n_taken += bi_count_nodes(plan) > 0;
	}
	if (plan && !finding->is_timed && bi_count_nodes(plan) > 0) {
		finding->is_timed = true;
		finding->plain_ms = median_ms(statement, "enable = off", plain_ms);
		finding->index_ms = median_ms(statement, "enable = on", index_ms);
	}
	PQclear(expected);
	PQclear(actual);
	PQclear(plan);
	client_run(bi_pg, "ROLLBACK");
}

static void print_finding(const struct bi_query *query, const struct finding *finding)
{
	printf("%-36s %-6s taken %u of %-2u", query->name, query->large, finding->n_taken, finding->n_statements);
	if (finding->is_timed)
		printf("  plain %8.1f ms  index %8.1f ms  %7.1fx", finding->plain_ms, finding->index_ms,
		       finding->plain_ms / finding->index_ms);
	putchar('\n');
	fflush(stdout);
}

/* ---- all ---- */

static int set_up(void **state)
{
	const char *rows = getenv("IFOREST_ROWS");

	bi_read(&suite);
	bi_zone = "UTC";
	bi_set_up(state, rows ? (unsigned)strtoul(rows, NULL, 10) : ROWS_OF_A_TABLE);
	client_run(bi_pg, "SET plan_cache_mode = force_custom_plan");
	return 0;
}

static int tear_down(void **state)
{
	bi_free(&suite);
	return client_tear_down(state);
}

static void plans_are_those_expected(void **state)
{
	const char *only = getenv("IFOREST_BI"), *slower[MOST_SLOWER];
	unsigned n_slower = 0;

	(void)state;
	for (unsigned i = 0; i < suite.n; i++) {
		struct finding finding = { .is_timed = false };

		if (only && !strstr(suite.queries[i].name, only))
			continue;
		bi_each_statement(&suite, &suite.queries[i], examine, &finding);
		print_finding(&suite.queries[i], &finding);
		if (finding.index_ms > finding.plain_ms && n_slower < MOST_SLOWER)
			slower[n_slower++] = suite.queries[i].name;
	}
	printf("slower with the index: %u\n", n_slower);
	for (unsigned i = 0; i < n_slower; i++)
		printf("\t%s\n", slower[i]);
	bi_no_mismatch_may_be_left();
}

int bi_large_run(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(plans_are_those_expected) };

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
