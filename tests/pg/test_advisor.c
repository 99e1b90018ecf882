/* test_advisor.c -- iforest_advise() over what dashboards send (bi/) and other clients: the index that it proposes is taken when
 * it is made, and docs/advisor.md has what was gained.
 *
 *   tests/pg/cluster.sh run build/tests/pg/test_advisor --table [ROWS]     writes that part of docs/advisor.md; minutes
 */
#include <time.h>

#include "tests/pg/bi_run.h"
#include "tests/support/examples.h"

enum { ROWS_OF_A_TABLE = 20000, ROWS_FOR_THE_TABLE = 100000, N_TIMES = 3, MOST_MS = 4000 };

#define PATH "docs/advisor.md"
#define BEGINNING "<!-- written by test_advisor -->\n"
#define END "<!-- to here -->\n"

/* What clients send beyond bi/, as a table of ordinary SQL. */
static const struct { const char *what, *sql;
} of_clients[] = {
	{ "Prisma `count()`", "SELECT count(*) FROM (SELECT id FROM spans WHERE status = 'ok' OFFSET 0) AS sub" },
	{ "p95 beside counts", "SELECT service, count(*), percentile_cont(0.95) WITHIN GROUP (ORDER BY dur) FROM spans WHERE ts >= '2024-03-09' AND ts < '2024-03-12' GROUP BY 1" },
	{ "Apdex", "SELECT service, count(*) FILTER (WHERE dur <= 100000), count(*) FILTER (WHERE dur <= 400000), count(*) FROM spans GROUP BY 1" },
	{ "a unit inside", "SELECT date_trunc('day', ts), avg(dur / 1000.0) FROM spans GROUP BY 1" },
	{ "the slowest, in ms", "SELECT id, dur / 1000.0 AS dur_ms FROM spans WHERE ts >= '2024-03-01' ORDER BY dur / 1000.0 DESC LIMIT 10" },
	{ "distinct by columns", "SELECT date_trunc('day', ts), count(DISTINCT service) FROM spans GROUP BY 1" },
	{ "a star join", "SELECT service, count(*) FROM spans JOIN (VALUES ('api', 'a team')) AS owner(service, team) USING (service) GROUP BY 1" },
	{ "a value histogram", "SELECT width_bucket(dur, ARRAY[1000, 10000, 100000]), count(*) FROM spans GROUP BY 1" },
	{ "a CTE used twice", "WITH s AS (SELECT * FROM spans WHERE status = 'error') SELECT (SELECT count(*) FROM s), (SELECT max(dur) FROM s)" },
	{ "counts of NULLs", "SELECT service, count(*) FILTER (WHERE dur IS NULL) FROM spans GROUP BY 1" },
	{ "the last row of each", "SELECT DISTINCT ON (service) * FROM spans ORDER BY service, ts DESC NULLS LAST" },
	{ "top 3 of each", "SELECT * FROM (SELECT id, service, row_number() OVER (PARTITION BY service ORDER BY ts DESC NULLS LAST) AS n FROM spans) q WHERE n <= 3" },
	{ "arms of a UNION ALL", "SELECT 'slow', count(*) FROM spans WHERE dur > 900000 UNION ALL SELECT 'all', count(*) FROM spans" },
};

static struct bi_suite suite;

/* ---- the questions ---- */

static void add_question(const char *file, const char *name, const char *sql, const char *execute)
{
	const char *values[] = { file, name, sql, execute };
	PGresult *result = PQexecParams(bi_pg, "INSERT INTO questions(file, name, sql, execute) VALUES ($1, $2, $3, $4)", 4, NULL, values, NULL,
					NULL, 0);

	assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
	PQclear(result);
}

static void add_first(const struct bi_statement *statement, void *last)
{
	const struct bi_query *query = statement->query;

	if (*(const struct bi_query **)last == query || query->then[0])
		return;
	*(const struct bi_query **)last = query;
	add_question(query->file, query->name, statement->sql.at, statement->execute);
}

static void set_up_tables(void **state, unsigned n_rows)
{
	const struct bi_query *last = NULL;

	bi_read(&suite);
	bi_zone = "UTC";
	bi_set_up(state, n_rows);
	client_run(bi_pg, "SET client_min_messages = warning");
	client_run(bi_pg, "DO $$ DECLARE i regclass; BEGIN FOR i IN SELECT c.oid FROM pg_class c JOIN pg_am a ON a.oid = c.relam"
			  " WHERE amname = 'iforest' AND NOT relispartition LOOP EXECUTE format('DROP INDEX %%s', i); END LOOP; END $$");
	client_run(bi_pg, "CREATE TEMPORARY TABLE questions(n integer GENERATED ALWAYS AS IDENTITY, file text, name text, sql text, execute text,"
			  " plain_ms float8, index_ms float8, is_taken boolean)");
	for (unsigned i = 0; i < suite.n; i++)
		bi_each_statement(&suite, &suite.queries[i], add_first, &last);
	for (size_t i = 0; i < COUNT_OF(of_clients); i++)
		add_question("clients", of_clients[i].what, of_clients[i].sql, "");
	client_run(bi_pg, "CREATE TEMPORARY TABLE advices AS SELECT file, ns[a.query] AS n, a.* FROM (SELECT file, array_agg(n ORDER BY n) AS ns,"
			  " array_agg(sql ORDER BY n) AS sqls FROM questions GROUP BY file) AS f, iforest_advise(sqls) AS a");
}

/* ---- proposals, made ---- */

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* The least of some times that a question takes. */
static double least_ms(const char *sql, const char *execute)
{
	double least = 1e9;

	for (int i = 0; i < N_TIMES; i++) {
		double start;

		client_run(bi_pg, "DEALLOCATE ALL");
		if (execute[0])
			client_run(bi_pg, "PREPARE question AS %s", sql);
		start = now_ms();
		(void)(execute[0] ? client_try(bi_pg, "EXECUTE question(%s)", execute) : client_try(bi_pg, "%s", sql));
		if (now_ms() - start < least)
			least = now_ms() - start;
		if (least > MOST_MS / N_TIMES)
			break;
	}
	return least;
}

/* For each question of the file that has a proposal. What takes longer than MOST_MS is cut off there. */
static void time_questions(const char *file, const char *column)
{
	PGresult *questions = client_rows(bi_pg, "SELECT n, sql, execute FROM questions q WHERE file = '%s' AND EXISTS (SELECT FROM advices a"
					  " WHERE a.n = q.n AND statement IS NOT NULL)", file);

	client_run(bi_pg, "SET statement_timeout = %d", MOST_MS);
	for (int row = 0; row < PQntuples(questions); row++)
		client_run(bi_pg, "UPDATE questions SET %s = %f WHERE n = %s", column,
			   least_ms(PQgetvalue(questions, row, 1), PQgetvalue(questions, row, 2)), PQgetvalue(questions, row, 0));
	client_run(bi_pg, "RESET statement_timeout");
	PQclear(questions);
}

static void make_indexes(const char *file)
{
	client_run(bi_pg, "DROP TABLE IF EXISTS made; CREATE TEMPORARY TABLE made(statement text, index regclass)");
	client_run(bi_pg, "DO $$ DECLARE s text; BEGIN FOR s IN SELECT DISTINCT statement FROM advices WHERE file = '%s' AND statement IS NOT NULL LOOP"
			  " EXECUTE replace(s, 'INDEX ON', 'INDEX advised ON'); INSERT INTO made VALUES (s, 'advised');"
			  " EXECUTE format('ALTER INDEX advised RENAME TO advised_%%s', (SELECT count(*) FROM made)); END LOOP; END $$", file);
	client_run(bi_pg, "UPDATE questions q SET is_taken = EXISTS (SELECT FROM iforest_explain(sql) e JOIN made m ON m.index = e.index WHERE e.taken)"
			  " WHERE file = '%s'", file);
}

static void try_file(const char *file, bool with_times)
{
	if (with_times)
		time_questions(file, "plain_ms");
	make_indexes(file);
	if (with_times)
		time_questions(file, "index_ms");
	client_run(bi_pg, "DO $$ DECLARE i regclass; BEGIN FOR i IN SELECT index FROM made LOOP EXECUTE format('DROP INDEX %%s', i); END LOOP; END $$");
}

static void try_all(bool with_times)
{
	PGresult *files = client_rows(bi_pg, "SELECT DISTINCT file FROM questions ORDER BY 1");

	for (int row = 0; row < PQntuples(files); row++)
		try_file(PQgetvalue(files, row, 0), with_times);
	PQclear(files);
}

/* ---- docs/advisor.md ---- */

static void write_rows(FILE *to, PGresult *rows)
{
	for (int row = 0; row < PQntuples(rows); row++) {
		for (int column = 0; column < PQnfields(rows); column++)
			fprintf(to, "| %s ", PQgetvalue(rows, row, column));
		fputs("|\n", to);
	}
	PQclear(rows);
}

static void write_tables(FILE *to, unsigned n_rows)
{
	PGresult *statements;

	fprintf(to, "Of the queries of [postgres_queries.md](postgres_queries.md), over tables of %u rows that have no index: those of a file were asked for together,\n"
		"what was proposed was made, and they were run before and after. **Gains** are medians, estimated and seen.\n\n"
		"| file | queries | with a proposal | taken when made | indexes | gain by costs | gain seen |\n|---|---|---|---|---|---|---|\n", n_rows);
	write_rows(to, client_rows(bi_pg, "SELECT file, count(DISTINCT n), count(DISTINCT n) FILTER (WHERE statement IS NOT NULL),"
				   " count(DISTINCT n) FILTER (WHERE statement IS NOT NULL AND is_taken), count(DISTINCT statement),"
				   " coalesce(round(percentile_cont(0.5) WITHIN GROUP (ORDER BY gain)) || 'x', '-'),"
				   " coalesce(round(percentile_cont(0.5) WITHIN GROUP (ORDER BY plain_ms / index_ms)) || 'x', '-')"
				   " FROM questions q JOIN advices a USING (file, n) WHERE file <> 'clients' GROUP BY 1 ORDER BY 1"));
	fputs("\nOther clients' queries over the table `spans`, asked for together as well, for which it proposes\n\n```\n", to);
	statements = client_rows(bi_pg, "SELECT DISTINCT statement FROM advices WHERE file = 'clients' AND statement IS NOT NULL ORDER BY 1");
	for (int row = 0; row < PQntuples(statements); row++)
		fprintf(to, "%s;\n", PQgetvalue(statements, row, 0));
	PQclear(statements);
	fputs("```\n\nMilliseconds before and after:\n\n| query | before | after | or why not |\n|---|---|---|---|\n", to);
	write_rows(to, client_rows(bi_pg, "SELECT name, coalesce(round(plain_ms::numeric, 1)::text, '-'), coalesce(round(index_ms::numeric, 2)::text, '-'),"
				   " string_agg(reason, ', ') FROM questions q JOIN advices a USING (n) WHERE q.file = 'clients' GROUP BY n, name, plain_ms, index_ms ORDER BY n"));
}

static int write_docs(unsigned n_rows)
{
	char *text = read_whole_file(PATH), *from, *until;
	void *state = NULL;
	FILE *to;
	bool failed;

	from = text ? strstr(text, BEGINNING) : NULL;
	until = from ? strstr(from, END) : NULL;
	if (!until)
		return 1;
	set_up_tables(&state, n_rows);
	try_all(true);
	to = fopen(PATH, "w");
	if (!to)
		return 1;
	fprintf(to, "%.*s\n", (int)(from - text) + (int)strlen(BEGINNING), text);
	write_tables(to, n_rows);
	failed = fprintf(to, "\n%s", until) < 0;
	failed |= fclose(to) != 0;
	free(text);
	bi_free(&suite);
	(void)client_tear_down(&state);
	return failed;
}

/* ---- tests ---- */

static int set_up(void **state)
{
	set_up_tables(state, ROWS_OF_A_TABLE);
	try_all(false);
	return 0;
}

static int tear_down(void **state)
{
	bi_free(&suite);
	return client_tear_down(state);
}

/* Most of what an index can answer has a proposal, although the tables are small, and what has none has a reason. */
static void most_queries_have_a_proposal(void **state)
{
	(void)state;
	assert_int_equal(client_number(bi_pg, "SELECT count(*) FROM questions q WHERE NOT EXISTS (SELECT FROM advices a WHERE a.n = q.n)"), 0);
	assert_int_equal(client_number(bi_pg, "SELECT count(*) FROM advices WHERE (statement IS NULL) <> (reason IS NOT NULL)"), 0);
	assert_true(client_number(bi_pg, "SELECT count(DISTINCT n) FROM advices WHERE statement IS NOT NULL") > 200);
}

/* Where costs are nearly the same, the size of the index that is made may make the difference. */
static void what_is_proposed_is_taken(void **state)
{
	PGresult *lost = client_rows(bi_pg, "SELECT file, name, min(statement), min(gain) FROM questions JOIN advices USING (file, n)"
				     " WHERE statement IS NOT NULL AND gain >= 2 AND NOT is_taken GROUP BY 1, 2 ORDER BY 4 DESC");

	(void)state;
	for (int row = 0; row < PQntuples(lost); row++)
		print_message("%s, %s: not taken: %s, gain %s\n", PQgetvalue(lost, row, 0), PQgetvalue(lost, row, 1), PQgetvalue(lost, row, 2),
			      PQgetvalue(lost, row, 3));
	assert_int_equal(PQntuples(lost), 0);
	PQclear(lost);
}

static void queries_share_indexes(void **state)
{
	(void)state;
	assert_true(client_number(bi_pg, "SELECT count(DISTINCT n) - 3 * count(DISTINCT (file, statement)) FROM advices WHERE statement IS NOT NULL") > 0);
}

static void the_docs_have_each_file(void **state)
{
	PGresult *rows = client_rows(bi_pg, "SELECT '| ' || file || ' | ' || count(*) || ' |' FROM questions WHERE file <> 'clients' GROUP BY file"
				     " UNION ALL SELECT '| ' || name || ' | ' FROM questions WHERE file = 'clients'");
	char *text = read_whole_file(PATH);

	(void)state;
	assert_non_null(text);
	for (int row = 0; row < PQntuples(rows); row++)
		if (!strstr(text, PQgetvalue(rows, row, 0)))
			client_fail("%s lacks \"%s\": run test_advisor --table", PATH, PQgetvalue(rows, row, 0));
	PQclear(rows);
	free(text);
}

int main(int n_arguments, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(most_queries_have_a_proposal),
		cmocka_unit_test(what_is_proposed_is_taken),
		cmocka_unit_test(queries_share_indexes),
		cmocka_unit_test(the_docs_have_each_file),
	};

	if (n_arguments > 1 && strcmp(arguments[1], "--table") == 0)
		return write_docs(n_arguments > 2 ? (unsigned)strtoul(arguments[2], NULL, 10) : ROWS_FOR_THE_TABLE);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
