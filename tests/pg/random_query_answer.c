#include "tests/pg/random_query_answer.h"

static int compare_rows(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The rows as text, sorted unless their order is part of the answer. Zero has no sign: 0 and -0 are equal. */
static void write_rows(struct answer *answer, bool is_ordered)
{
	int n = PQntuples(answer->result), n_columns = PQnfields(answer->result);

	answer->rows = calloc((size_t)n + 1, sizeof *answer->rows);
	for (int row = 0; row < n; row++) {
		size_t size;
		FILE *text = open_memstream(&answer->rows[row], &size);

		for (int column = 0; column < n_columns; column++) {
			const char *value = PQgetvalue(answer->result, row, column);

			if (PQgetisnull(answer->result, row, column))
				value = "NULL";
			fprintf(text, "%s%s", column ? " | " : "", strcmp(value, "-0") == 0 ? "0" : value);
		}
		fclose(text);
	}
	if (!is_ordered)
		qsort(answer->rows, (size_t)n, sizeof *answer->rows, compare_rows);
}

void answer_forget(struct answer *answer)
{
	for (int row = 0; answer->rows && row < PQntuples(answer->result); row++)
		free(answer->rows[row]);
	free(answer->rows);
	PQclear(answer->result);
}

/* Runs it, unless what went before has failed. */
static void execute(PGconn *pg, struct answer *answer, const char *sql)
{
	const char *state;

	if (*answer->state)
		return;
	PQclear(answer->result);
	answer->result = PQexec(pg, sql);
	if (PQstatus(pg) == CONNECTION_BAD)
		client_fail("the server went away: %s\n%s", PQerrorMessage(pg), sql);
	state = PQresultErrorField(answer->result, PG_DIAG_SQLSTATE);
	snprintf(answer->state, sizeof answer->state, "%s", state ? state : "");
}

bool answer_plan_is_taken(const PGresult *plan)
{
	for (int row = 0; row < PQntuples(plan); row++)
		if (strstr(PQgetvalue(plan, row, 0), "Custom Scan (IForestAggregate)") ||
		    strstr(PQgetvalue(plan, row, 0), "Custom Scan (IForestSkip)"))
			return true;
	return false;
}

bool answer_is_indexed(PGconn *pg, const char *sql, PGresult *plain)
{
	PGresult *plan = client_rows(pg, "EXPLAIN (COSTS off) %s", sql), *rows = client_rows(pg, "%s", sql);
	bool is_taken = answer_plan_is_taken(plan);

	client_same_rows(rows, plain, sql);
	PQclear(rows);
	PQclear(plan);
	return is_taken;
}

void answer_set_up(PGconn *pg, const struct manner *manner, bool with_index)
{
	const char *others = with_index && manner->is_forced ? "off" : "on";
	/* an index scan is below the node that gives the first rows of series, which takes the fewest */
	const char *index_scans = manner->is_of_rows ? "on" : others;
	const char *cost_of_row = manner->cost_of_row			     ? manner->cost_of_row
				  : manner->is_of_rows && manner->is_forced ? "100"
									     : "0.01";

	client_run(pg, "SET iforest.enable = %s; SET enable_seqscan = %s; SET enable_indexscan = %s;"
		       " SET enable_bitmapscan = %s; SET enable_indexonlyscan = %s; SET plan_cache_mode = %s;"
		       " SET cpu_tuple_cost = %s; SET ROLE %s",
		   with_index ? "on" : "off", others, index_scans, others, others, manner->plans, cost_of_row,
		   manner->is_reader ? "reader" : "NONE");
	if (manner->is_in_transaction || manner->way != AS_ROWS)
		client_run(pg, manner->is_in_transaction ? "SAVEPOINT ask" : "BEGIN");
}

/* Each row as the note of a row of the same table. */
static void write_insert(struct query_table *table, const char *statement, struct text *sql)
{
	text_set(sql, "INSERT INTO t(id, note");
	for (unsigned i = 0; i < query_table_n_columns(table); i++)
		text_add(sql, ", %s", query_table_column(table, i)->name);
	text_add(sql, ") SELECT -1, q::text");
	for (unsigned i = 0; i < query_table_n_columns(table); i++)
		text_add(sql, ", model.%s", query_table_column(table, i)->name);
	text_add(sql, " FROM (%s) q CROSS JOIN (SELECT * FROM t ORDER BY id LIMIT 1) model", statement);
}

static void execute_in_its_way(PGconn *pg, enum manner_way way, struct query_table *table, const char *statement,
			       struct answer *answer)
{
	struct text sql;

	if (way == BY_CURSOR) {
		text_set(&sql, "DECLARE c SCROLL CURSOR FOR %s", statement);
		execute(pg, answer, sql.at);
		execute(pg, answer, "FETCH 3 FROM c");
		execute(pg, answer, "MOVE ABSOLUTE 0 IN c");
		execute(pg, answer, "FETCH ALL FROM c");
	} else if (way == INTO_TABLE) {
		text_set(&sql, "CREATE TEMP TABLE kept AS %s", statement);
		execute(pg, answer, sql.at);
		execute(pg, answer, "SELECT * FROM kept");
	} else if (way == INTO_ITSELF) {
		write_insert(table, statement, &sql);
		execute(pg, answer, sql.at);
		execute(pg, answer, "SELECT regexp_replace(note, '([(,])-0(?=[,)])', '\\10', 'g') FROM t WHERE id = -1");
	} else {
		execute(pg, answer, statement);
	}
}

struct answer answer_ask(PGconn *pg, const struct query *query, const struct manner *manner, bool with_index)
{
	struct answer answer = { .result = NULL };
	struct text prepare, statement, explain;

	answer_set_up(pg, manner, with_index);
	text_set(&statement, "%s", "");
	if (query->is_prepared) {
		query_write_prepare(query, &prepare);
		execute(pg, &answer, prepare.at);
		query_write_execute(query, false, &statement);
		for (unsigned i = 0; i < query->n_earlier; i++)
			execute(pg, &answer, statement.at);
		text_set(&statement, "%s", "");
		query_write_execute(query, true, &statement);
	} else {
		query_write(query, &statement);
	}
	execute_in_its_way(pg, manner->way, query->table, statement.at, &answer);
	if (!*answer.state && with_index) {
		PGresult *plan;

		text_set(&explain, "EXPLAIN (COSTS off) %s", statement.at);
		plan = PQexec(pg, explain.at);
		answer.is_taken = answer_plan_is_taken(plan);
		PQclear(plan);
	}
	write_rows(&answer, query->is_ordered && manner->way <= BY_CURSOR);
	if (manner->is_in_transaction || manner->way != AS_ROWS)
		client_run(pg, manner->is_in_transaction ? "ROLLBACK TO ask; RELEASE ask" : "ROLLBACK");
	if (query->is_prepared)
		client_run(pg, "DEALLOCATE ALL");
	client_run(pg, "RESET ROLE");
	return answer;
}

/* ---- two answers ---- */

/* Whether a row's values raise it: no type's range holds the result, or the function is not for it. */
static bool is_of_rows(const char *state)
{
	return strncmp(state, "22", 2) == 0 || strcmp(state, "0A000") == 0;
}

/* Whether it is raised at some row: by its values, or by a key that is stored already. */
static bool comes_by_row(const char *state)
{
	return is_of_rows(state) || strcmp(state, "23505") == 0;
}

bool answer_is_spared(const struct answer *plain, const struct answer *indexed)
{
	/* plans of the server alone differ in the rows for which they evaluate a condition */
	if (!indexed->is_taken && is_of_rows(indexed->state) && !*plain->state)
		return true;
	return is_of_rows(plain->state) && !*indexed->state;
}

void answer_compare(const struct answer *plain, const struct answer *indexed, struct text *difference)
{
	int n = PQntuples(plain->result), m = PQntuples(indexed->result), row = 0;

	text_set(difference, "%s", "");
	/* which of several errors comes first, the order of rows decides */
	if ((comes_by_row(plain->state) && comes_by_row(indexed->state)) || answer_is_spared(plain, indexed))
		return;
	if (strcmp(plain->state, indexed->state) != 0) {
		text_add(difference, "SQLSTATE '%s' without the index (%.200s), '%s' with it (%.200s)", plain->state,
			 PQresultErrorMessage(plain->result), indexed->state, PQresultErrorMessage(indexed->result));
		return;
	}
	for (int column = 0; column < PQnfields(plain->result); column++)
		if (PQftype(plain->result, column) != PQftype(indexed->result, column) ||
		    PQfmod(plain->result, column) != PQfmod(indexed->result, column) ||
		    strcmp(PQfname(plain->result, column), PQfname(indexed->result, column)) != 0)
			text_add(difference, "column %d is of another type or name\n", column);
	while (row < n && row < m && strcmp(plain->rows[row], indexed->rows[row]) == 0)
		row++;
	if (n == m && row == n)
		return;
	text_add(difference, "%d rows without the index, %d with it; from row %d on\n", n, m, row);
	for (int i = row; i < row + 4; i++)
		text_add(difference, "  without: %.500s\n  with:    %.500s\n", i < n ? plain->rows[i] : "-",
			 i < m ? indexed->rows[i] : "-");
}

bool answers_differ(PGconn *pg, const struct query *query, const struct manner *manner, struct text *difference)
{
	struct answer plain = answer_ask(pg, query, manner, false), indexed = answer_ask(pg, query, manner, true);

	answer_compare(&plain, &indexed, difference);
	answer_forget(&plain);
	answer_forget(&indexed);
	return difference->n > 0;
}
