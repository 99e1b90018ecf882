/* Random queries over random tables without an index: what iforest_advise() proposes for a query is a statement that runs as it
 * stands, and EXPLAIN then has the index, while scans of the table are allowed; the answer is that of the plain plan. Where nothing
 * is proposed there is a reason. Queries are advised one by one, or all of a table together.
 *
 *   IFOREST_QUERIES=100000 IFOREST_SEED=7 tests/pg/cluster.sh run build/tests/pg/test_advised     another and longer run
 *   IFOREST_QUERIES=20 IFOREST_SEED=20240300 ...           a round that failed alone
 *   IFOREST_FAILURES=100 ...                               ends after so many failures, not after the fifth
 *   IFOREST_SHOW=1 ...                                     each query that has no proposal though an index answers it, and why
 *
 * Which queries an index can answer is told by another one: that which the random table has, with most of its columns.
 */
#include <inttypes.h>

#include "tests/pg/client.h"
#include "tests/pg/random_query_answer.h"
#include "tests/pg/random_table.h"

enum { QUERIES_OF_ROUND = 20, MOST_FAILURES = 5 };

struct advised {
	struct query query;
	char *text; /* with the types of parameters */
	bool is_answerable;
	PGresult *advice; /* statement, reason */
};

static PGconn *pg;
static uint64_t round_seed;
static bool is_shown;
static unsigned n_asked, n_answerable, n_advised, n_failures;
static struct advised queries[QUERIES_OF_ROUND];
static unsigned n_queries;
static struct text table_sql;

static unsigned most_failures(void)
{
	const char *request = getenv("IFOREST_FAILURES");

	return request ? (unsigned)strtoul(request, NULL, 10) : MOST_FAILURES;
}

FORMAT(2) static void report(const struct advised *advised, const char *format, ...)
{
	va_list arguments;

	if (n_failures++ == 0)
		fprintf(stderr, "---- IFOREST_SEED=%" PRIu64 " IFOREST_QUERIES=%d; the table:\n%s\n", round_seed, QUERIES_OF_ROUND,
			table_sql.at);
	va_start(arguments, format);
	fprintf(stderr, "-- IFOREST_SEED=%" PRIu64 ": ", round_seed);
	vfprintf(stderr, format, arguments);
	fprintf(stderr, "\n%s;\n", advised->text);
	va_end(arguments);
}

/* ---- plans ---- */

static const struct manner manner = { .plans = "force_generic_plan", .cost_of_row = "1" };

/* The lines of the plan, or NULL: the query raises an error. */
static PGresult *explain(const struct advised *advised)
{
	PGresult *plan = NULL;
	struct text sql;

	answer_set_up(pg, &manner, true);
	if (!advised->query.is_prepared) {
		text_set(&sql, "EXPLAIN %s", advised->text);
	} else {
		query_write_prepare(&advised->query, &sql);
		if (*client_try(pg, "%s", sql.at))
			return NULL;
		text_set(&sql, "EXPLAIN ");
		query_write_execute(&advised->query, true, &sql);
	}
	plan = PQexec(pg, sql.at);
	client_run(pg, "DEALLOCATE ALL");
	if (PQresultStatus(plan) == PGRES_TUPLES_OK)
		return plan;
	PQclear(plan);
	return NULL;
}

static bool plan_has(const PGresult *plan, const char *name)
{
	for (int row = 0; plan && row < PQntuples(plan); row++)
		if (strstr(PQgetvalue(plan, row, 0), name))
			return true;
	return false;
}

/* The names of the iforest indexes that the statement makes, with those of partitions. */
static PGresult *names_of_indexes(void)
{
	return client_rows(pg, "SELECT c.relname, c.oid FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE amname = 'iforest' ORDER BY 2");
}

static bool plan_has_index(const PGresult *plan)
{
	PGresult *names = names_of_indexes();
	bool has = false;

	for (int row = 0; row < PQntuples(names); row++)
		has = has || plan_has(plan, PQgetvalue(names, row, 0));
	PQclear(names);
	return has;
}

static void print_plan(const PGresult *plan)
{
	for (int row = 0; plan && row < PQntuples(plan); row++)
		fprintf(stderr, "--   %s\n", PQgetvalue(plan, row, 0));
}

static void drop_indexes(void)
{
	client_run(pg, "DO $$ DECLARE i regclass; BEGIN FOR i IN SELECT c.oid FROM pg_class c JOIN pg_am a ON a.oid = c.relam"
		       " WHERE amname = 'iforest' AND NOT relispartition LOOP EXECUTE format('DROP INDEX %%s', i); END LOOP; END $$");
}

/* ---- queries ---- */

/* The query as one text, each parameter with its type. */
static char *write_typed(const struct query *query)
{
	struct text statement, typed;

	query_write(query, &statement);
	text_set(&typed, "%s", "");
	for (const char *c = statement.at; *c; c++) {
		const char *type = *c == '$' && c[1] >= '1' && c[1] <= '9' ? query->parameter_types[c[1] - '1'] : NULL;

		if (type)
			text_add(&typed, "$%c::%.*s", *++c, strncmp(type, "char(", 5) == 0 ? 6 : (int)strcspn(type, "("),
				 strncmp(type, "char(", 5) == 0 ? "bpchar" : type);
		else
			text_add(&typed, "%c", *c);
	}
	return strdup(typed.at);
}

static void make_query(struct advised *advised, struct query_table *table)
{
	PGresult *plan;

	query_make(&advised->query, table);
	advised->query.n_earlier = 0;
	advised->text = write_typed(&advised->query);
	plan = explain(advised);
	advised->is_answerable = plan_has_index(plan);
	PQclear(plan);
	advised->advice = NULL;
}

static void forget(void)
{
	for (unsigned i = 0; i < n_queries; i++) {
		free(queries[i].text);
		PQclear(queries[i].advice);
	}
	n_queries = 0;
}

/* ---- advice ---- */

/* Why the planner takes an index, or not. */
static void print_verdicts(const struct advised *advised)
{
	const char *parameters[] = { advised->text };
	PGresult *verdicts = PQexecParams(pg, "SELECT index, taken, node, reason, cost, cost_without FROM iforest_explain($1)", 1, NULL,
					  parameters, NULL, NULL, 0);

	for (int row = 0; row < PQntuples(verdicts); row++)
		fprintf(stderr, "-- %s: %s %s %s, costs %s, else %s\n", PQgetvalue(verdicts, row, 0), PQgetvalue(verdicts, row, 1),
			PQgetvalue(verdicts, row, 2), PQgetvalue(verdicts, row, 3), PQgetvalue(verdicts, row, 4),
			PQgetvalue(verdicts, row, 5));
	PQclear(verdicts);
}

/* For some queries together. */
static void advise(struct advised *some, unsigned n)
{
	const char *parameters[1];

	answer_set_up(pg, &manner, true);
	client_run(pg, "CREATE TEMP TABLE IF NOT EXISTS asked(n integer GENERATED ALWAYS AS IDENTITY, sql text); TRUNCATE asked RESTART IDENTITY");
	for (unsigned i = 0; i < n; i++) {
		parameters[0] = some[i].text;
		PQclear(PQexecParams(pg, "INSERT INTO asked(sql) VALUES ($1)", 1, NULL, parameters, NULL, NULL, 0));
	}
	client_run(pg, "DROP TABLE IF EXISTS advices; CREATE TEMP TABLE advices AS"
		       " SELECT * FROM iforest_advise((SELECT array_agg(sql ORDER BY n) FROM asked))");
	for (unsigned i = 0; i < n; i++)
		some[i].advice = client_rows(pg, "SELECT statement, reason, cost, cost_with FROM advices WHERE query = %u ORDER BY 1", i + 1);
}

/* Makes what is proposed for one of these queries or more. */
static bool make_indexes(const struct advised *advised)
{
	PGresult *statements = client_rows(pg, "SELECT DISTINCT statement FROM advices WHERE statement IS NOT NULL");
	bool is_made = true;

	for (int row = 0; is_made && row < PQntuples(statements); row++)
		if (*client_try(pg, "%s", PQgetvalue(statements, row, 0))) {
			report(advised, "the statement fails: %s: %s", PQgetvalue(statements, row, 0), PQerrorMessage(pg));
			is_made = false;
		}
	PQclear(statements);
	return is_made;
}

static void check_advice(const struct advised *advised)
{
	PGresult *plan;
	struct text difference;
	bool is_advised = PQntuples(advised->advice) > 0 && !PQgetisnull(advised->advice, 0, 0);

	n_asked++;
	n_advised += is_advised;
	n_answerable += is_advised || advised->is_answerable;
	for (int row = 0; row < PQntuples(advised->advice); row++)
		if (PQgetisnull(advised->advice, row, 0) == PQgetisnull(advised->advice, row, 1))
			report(advised, "a statement and no reason, or a reason and no statement");
	if (PQntuples(advised->advice) == 0)
		report(advised, "no row of advice");
	if (!is_advised) {
		if (is_shown && advised->is_answerable)
			fprintf(stderr, "-- IFOREST_SEED=%" PRIu64 ": no proposal: %s\n%s;\n", round_seed, PQgetvalue(advised->advice, 0, 1),
				advised->text);
		return;
	}
	plan = explain(advised);
	/* EXPLAIN of a generic plan does not show the partitions that its parameters, or the clock, leave out */
	if (plan && !plan_has_index(plan) && !plan_has(plan, "Subplans Removed")) {
		report(advised, "not taken: %s (costs %s, %s)", PQgetvalue(advised->advice, 0, 0), PQgetvalue(advised->advice, 0, 2),
		       PQgetvalue(advised->advice, 0, 3));
		print_verdicts(advised);
		print_plan(plan);
	}
	PQclear(plan);
	if (answers_differ(pg, &advised->query, &manner, &difference))
		report(advised, "%s; the answers differ: %s", PQgetvalue(advised->advice, 0, 0), difference.at);
}

/* ---- rounds ---- */

static void make_table(struct query_table *table, struct random *dice)
{
	text_set(&table_sql, "%s", "");
	query_table_make(table, dice, &table_sql);
	query_table_insert(table, 200 + (long long)random_below(dice, 1200), &table_sql);
	client_run(pg, "%s", table_sql.at);
	query_table_sample(table, pg);
	client_run(pg, "VACUUM ANALYZE t");
	client_run(pg, "SET TimeZone = '%s'", query_zone(table, dice));
}

static void play_round(uint64_t seed, unsigned n)
{
	struct random dice = random_from(seed);
	static struct query_table table;
	bool are_together = random_chance(&dice, 50);

	round_seed = seed;
	client_note("IFOREST_SEED=%" PRIu64 " IFOREST_QUERIES=%d", seed, QUERIES_OF_ROUND);
	make_table(&table, &dice);
	for (n_queries = 0; n_queries < n; n_queries++)
		make_query(&queries[n_queries], &table);
	drop_indexes();
	for (unsigned i = 0; i < n; i += are_together ? n : 1) {
		advise(&queries[i], are_together ? n : 1);
		if (make_indexes(&queries[i]))
			for (unsigned k = i; k < (are_together ? n : i + 1); k++)
				check_advice(&queries[k]);
		drop_indexes();
	}
	forget();
}

/* ---- the test ---- */

static int set_up(void **state)
{
	(void)state;
	is_shown = getenv("IFOREST_SHOW") != NULL;
	pg = client_connect(NULL);
	random_table_prepare(pg);
	client_run(pg, "CREATE ROLE reader; SET statement_timeout = '60s'; SET client_min_messages = error");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	PQfinish(pg);
	return 0;
}

static void what_is_advised_is_taken(void **state)
{
	const char *request = getenv("IFOREST_QUERIES");
	unsigned long n = request ? strtoul(request, NULL, 10) : 400;

	(void)state;
	for (uint64_t seed = random_seed(); n > 0 && n_failures < most_failures(); seed++) {
		unsigned n_round = (unsigned)(n < QUERIES_OF_ROUND ? n : QUERIES_OF_ROUND);

		play_round(seed, n_round);
		n -= n_round;
	}
	fprintf(stderr, "%u queries, %u that an index can answer, %u of these advised (%.0f %%), %u failures\n", n_asked, n_answerable,
		n_advised, 100.0 * n_advised / (n_answerable ? n_answerable : 1), n_failures);
	assert_int_equal(n_failures, 0);
	assert_true(2 * n_advised >= n_answerable);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_advised_is_taken) };

	return random_report(cmocka_run_group_tests(tests, set_up, tear_down));
}
