#include "tests/pg/bi_table.h"

#include "tests/support/examples.h"

static const char introduction[] =
	"# Queries of dashboards, and what becomes of them\n\n"
	"`test_bi --table` writes this page from the queries of `tests/pg/bi/`; the tests fail if it says anything else. They\n"
	"run each query with and without the index in six time zones, and it gives the same rows, types and names. The tables\n"
	"have indexes like\n\n"
	"```\n"
	"CREATE INDEX spans_if ON spans USING iforest (service, status, ts) INCLUDE (dur, amount, x) WITH (histogram = 'dur(99999, 499999, 900000)');\n"
	"CREATE INDEX spans_time_if ON spans USING iforest (ts) INCLUDE (dur, amount, x) WITH (histogram = 'dur(99999, 499999, 900000)');\n"
	"```\n\n"
	"**index** means that the grouped part of the query is `Custom Scan (IForestAggregate)`, or that a `Custom Scan\n"
	"(IForestSkip)` reads the first rows of each group; sorting, limits, window\n"
	"functions and what is computed above the groups are PostgreSQL's in any case. A reason why not is in the words of\n"
	"`SET iforest.explain_decline = on`, and PostgreSQL answers as it would without the index. `-` means that no part of\n"
	"the query is one that an index could answer. The planner takes what it estimates to cost less: with tables of a\n"
	"million rows and default costs that is the index where this page says so (`make check-bi-large` tests it). With\n"
	"**index, if forced** it is another plan, and the tests make others expensive to see that the index gives the same\n"
	"rows: its keys change with nearly each row, or the window has few rows, or there are nearly as many groups as rows.\n"
	"**index or not** stands for a query that has several forms or levels, for some of which the index is taken.\n";

enum { MOST_SHOWN = 190 };

/* The SQL in one line that a table can hold, cut off where it is long. */
static void add_line(FILE *to, const char *sql)
{
	size_t n = 0;

	for (; *sql && n < MOST_SHOWN; sql++, n++) {
		if (*sql == '\n' || *sql == '\t' || *sql == ' ') {
			sql += strspn(sql, " \n\t") - 1;
			fputc(' ', to);
		} else {
			fprintf(to, *sql == '|' ? "\\%c" : "%c", *sql);
		}
	}
	while (((unsigned char)*sql & 0xc0) == 0x80) /* inside a character of UTF-8 */
		fputc(*sql++, to);
	if (*sql)
		fputs(" ...", to);
}

/* Whom the row is for: where a query stands for several statements, the first. */
struct row {
	FILE *to;
	bool is_written;
};

static const char *taken_as(const struct bi_query *query)
{
	if (strcmp(query->large, "plain") == 0)
		return "**index, if forced**";
	return query->large[0] ? "**index or not**" : "**index**";
}

static void add_row(const struct bi_statement *statement, void *context)
{
	const struct bi_query *query = statement->query;
	struct row *row = context;

	if (row->is_written)
		return;
	row->is_written = true;
	fprintf(row->to, "| %s | %s | `", query->name, query->tool);
	add_line(row->to, statement->sql.at);
	fprintf(row->to, "` | %s%s%s |\n", query->n_nodes > 0 ? taken_as(query) : query->reason ? "" : "-",
		query->n_nodes > 0 && query->reason ? " in part: " : "", query->reason ? query->reason : "");
}

/* ---- client programs ---- */

static const char of_clients[] =
	"\n## Client programs\n\n"
	"`make check-clients` has client programs ask the questions below in their own words (`tests/clients`), as a role with the\n"
	"index and as one without: the answers are the same. How each is answered of 200 000 rows: **index**, by a node that aggregates,\n"
	"finds the largest values or skips over series; scan, by a scan of the index in the order of the time; no, otherwise. `-`: the\n"
	"client was not asked.\n";

enum { MOST_CLIENTS = 20, MOST_QUESTIONS = 30, NAME_BYTES = 40 };

struct clients {
	char names[MOST_CLIENTS][NAME_BYTES], titles[MOST_CLIENTS][NAME_BYTES], questions[MOST_QUESTIONS][NAME_BYTES];
	char found[MOST_CLIENTS][MOST_QUESTIONS][NAME_BYTES];
	unsigned n, n_questions;
};

/* Finds a name in a list, or adds it. */
static unsigned number_of(char (*names)[NAME_BYTES], unsigned *n, unsigned most, const char *name)
{
	for (unsigned i = 0; i < *n; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	assert_true(*n < most);
	snprintf(names[*n], NAME_BYTES, "%s", name);
	return (*n)++;
}

static void read_clients(struct clients *clients)
{
	char *text = read_whole_file("tests/clients/clients.txt"), *rest = text, *line;

	assert_non_null(text);
	while ((line = strtok_r(rest, "\n", &rest))) {
		char client[NAME_BYTES], question[NAME_BYTES], found[NAME_BYTES];
		unsigned c;

		if (*line == '#' || *line == '\0')
			continue;
		if (sscanf(line, "%39[a-z]: %39[^\n]", client, found) == 2) {
			c = number_of(clients->names, &clients->n, MOST_CLIENTS, client);
			snprintf(clients->titles[c], NAME_BYTES, "%s", found);
		} else {
			assert_int_equal(sscanf(line, "%39s %39s %39s", client, question, found), 3);
			c = number_of(clients->names, &clients->n, MOST_CLIENTS, client);
			snprintf(clients->found[c][number_of(clients->questions, &clients->n_questions, MOST_QUESTIONS, question)],
				 NAME_BYTES, "%s", found);
		}
	}
	free(text);
}

static void add_clients(FILE *to)
{
	static struct clients clients;

	clients = (struct clients){ .n = 0 };
	read_clients(&clients);
	fprintf(to, "%s\n| question |", of_clients);
	for (unsigned c = 0; c < clients.n; c++)
		fprintf(to, " %s |", clients.titles[c]);
	fprintf(to, "\n|---|");
	for (unsigned c = 0; c < clients.n; c++)
		fprintf(to, "---|");
	fprintf(to, "\n");
	for (unsigned q = 0; q < clients.n_questions; q++) {
		fprintf(to, "| %s |", clients.questions[q]);
		for (unsigned c = 0; c < clients.n; c++) {
			const char *found = clients.found[c][q], *mark = strcmp(found, "index") == 0 ? "**" : "";

			fprintf(to, " %s%s%s |", mark, *found ? found : "-", mark);
		}
		fprintf(to, "\n");
	}
}

char *bi_table(const struct bi_suite *suite)
{
	char *table = NULL;
	size_t n_bytes;
	FILE *to = open_memstream(&table, &n_bytes);
	unsigned n_taken = 0, n_answered = 0;

	assert_non_null(to);
	for (unsigned i = 0; i < suite->n; i++) {
		n_answered += suite->queries[i].n_nodes > 0;
		n_taken += suite->queries[i].n_nodes > 0 && strcmp(suite->queries[i].large, "plain") != 0;
	}
	fprintf(to, "%s\n%u queries; %u can be answered from the index, wholly or in part, and of a million rows %u are.\n",
		introduction, suite->n, n_answered, n_taken);
	for (unsigned i = 0; i < suite->n; i++) {
		struct row row = { .to = to };

		if (i == 0 || strcmp(suite->queries[i].file, suite->queries[i - 1].file) != 0)
			fprintf(to, "\n## %s\n\n| query | tool | SQL | answered by |\n|---|---|---|---|\n",
				suite->queries[i].file);
		bi_each_statement(suite, &suite->queries[i], add_row, &row);
	}
	add_clients(to);
	fclose(to);
	return table;
}
