#include "tests/pg/bi_run.h"

#include "tests/support/examples.h"

PGconn *bi_pg;
const char *bi_zone;
unsigned bi_n_mismatches;
struct text bi_details;

/* ---- mismatches ---- */

void bi_mismatch(const struct bi_statement *statement, const char *format, ...)
{
	char message[4000];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	print_error("%s, %s: %s\n", statement->name.at, bi_zone, message);
	bi_n_mismatches++;
}

void bi_no_mismatch_may_be_left(void)
{
	if (bi_n_mismatches > 0)
		client_fail("%u mismatches", bi_n_mismatches);
}

/* ---- running ---- */

static void keep_detail(void *context, const PGresult *notice)
{
	const char *detail = PQresultErrorField(notice, PG_DIAG_MESSAGE_DETAIL);

	(void)context;
	if (detail)
		text_add(&bi_details, "%.*s\n", (int)strcspn(detail, "\n") - 1, detail); /* a sentence, without its point */
}

/* The text with each `mark` replaced. To be freed. */
static char *with_number(const char *text, const char *mark, unsigned number)
{
	char *result = NULL;
	size_t n_bytes;
	FILE *to = open_memstream(&result, &n_bytes);

	assert_non_null(to);
	for (const char *at; (at = strstr(text, mark)); text = at + strlen(mark))
		fprintf(to, "%.*s%u", (int)(at - text), text, number);
	fputs(text, to);
	fclose(to);
	return result;
}

void bi_set_up(void **state, unsigned n_rows)
{
	char *tables = read_whole_file("tests/pg/bi/tables.sql"), *sql = with_number(tables, ":rows", n_rows);

	client_set_up(state);
	bi_pg = *state;
	client_note("tests/pg/bi");
	client_run(bi_pg, "SET TimeZone = 'UTC'");
	client_run(bi_pg, "%s", sql);
	client_run(bi_pg, "VACUUM ANALYZE");
	client_run(bi_pg, "SET client_min_messages = notice");
	PQsetNoticeReceiver(bi_pg, keep_detail, NULL);
	free(tables);
	free(sql);
}

/* Runs one command. Returns NULL, and has told it, if it fails. */
static PGresult *run(const struct bi_statement *statement, const char *sql)
{
	PGresult *result = PQexec(bi_pg, sql);
	ExecStatusType status = PQresultStatus(result);

	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return result;
	bi_mismatch(statement, "%s  %s", PQerrorMessage(bi_pg), sql);
	PQclear(result);
	return NULL;
}

PGresult *bi_ask(const struct bi_statement *statement, const char *setting, const char *explain)
{
	const struct bi_query *query = statement->query;
	PGresult *result;
	struct text sql;

	client_run(bi_pg, "SAVEPOINT before; SET LOCAL iforest.%s", setting);
	if (statement->execute[0]) {
		client_run(bi_pg, "DEALLOCATE ALL");
		text_set(&sql, "PREPARE question AS %s", statement->sql.at);
		PQclear(run(statement, sql.at));
		text_set(&sql, "%sEXECUTE question(%s)", explain, statement->execute);
	} else {
		text_set(&sql, "%s%s", explain, statement->sql.at);
	}
	bi_details.n = 0;
	bi_details.at[0] = '\0';
	result = run(statement, sql.at);
	if (result && query->then[0] && !explain[0]) {
		PQclear(result);
		result = run(statement, query->then);
	}
	client_run(bi_pg, "ROLLBACK TO before");
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
		bi_mismatch(statement, "of %d rows, expected %d, row %d is\n\t%.1500s\nexpected\n\t%.1500s", PQntuples(actual),
			 PQntuples(expected), n, actual_rows[n] ? actual_rows[n] : "none", rows[n] ? rows[n] : "none");
	free_texts(actual_rows);
	free_texts(rows);
}

static void compare_columns(const struct bi_statement *statement, const PGresult *actual, const PGresult *expected)
{
	if (PQnfields(actual) != PQnfields(expected)) {
		bi_mismatch(statement, "%d columns, expected %d", PQnfields(actual), PQnfields(expected));
		return;
	}
	for (int i = 0; i < PQnfields(expected); i++)
		if (strcmp(PQfname(actual, i), PQfname(expected, i)) != 0 || PQftype(actual, i) != PQftype(expected, i) ||
		    PQfmod(actual, i) != PQfmod(expected, i))
			bi_mismatch(statement, "column %d is %s of type %u (%d), expected %s of %u (%d)", i, PQfname(actual, i),
				 PQftype(actual, i), PQfmod(actual, i), PQfname(expected, i), PQftype(expected, i),
				 PQfmod(expected, i));
}

void bi_compare(const struct bi_statement *statement, const PGresult *actual, const PGresult *expected)
{
	compare_columns(statement, actual, expected);
	compare_rows(statement, actual, expected);
}

/* ---- plans ---- */

unsigned bi_count_nodes(const PGresult *plan)
{
	unsigned n = 0;

	for (int row = 0; row < PQntuples(plan); row++)
		n += strstr(PQgetvalue(plan, row, 0), "Custom Scan (IForestAggregate)") != NULL ||
		     strstr(PQgetvalue(plan, row, 0), "Custom Scan (IForestSkip)") != NULL;
	return n;
}
