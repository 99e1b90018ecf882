#include "tests/pg/bi_table.h"

#include "tests/support/examples.h"

/* What the pages are called, in the order in which people ask, and the files of bi/ that each has. */
static const struct subject {
	const char *name, *title;
	const char *files[4]; /* the first ones; NULL ends them */
	const char *headings[4];
} subjects[] = {
	{ "grafana", "Grafana", { "grafana" }, { "PostgreSQL data source" } },
	{ "metabase", "Metabase", { "metabase" }, { "Questions, filters, and what Metabase makes of them" } },
	{ "superset", "Superset", { "superset" }, { "Charts" } },
	{ "powerbi", "Power BI and Tableau", { "powerbi", "tableau" }, { "Power BI, DirectQuery", "Tableau" } },
	{ "looker", "Looker, Redash, Cube and Lightdash", { "looker", "cube" }, { "Looker and Redash", "Cube and Lightdash" } },
	{ "orms", "object mappers and R", { "orms" }, { "Django, Rails, SQLAlchemy, dbplyr and others" } },
	{ "shapes", "the ten most frequent shapes", { "shapes" }, { "With every kind of bound" } },
	{ "sets", "totals, joins and unions", { "grouping_sets", "joins", "unions" }, { "GROUPING SETS, ROLLUP, CUBE", "Joins with dimensions", "UNION ALL" } },
	{ "handwritten", "queries as people write them", { "handwritten" }, { "By hand" } },
	{ "values", "conditions on values, and counts of different ones", { "bands", "classes", "nulls", "distinct" },
	  { "Shares, Apdex, heatmaps", "Keys of few values, and several values at once", "Values that are NULL", "Different values" } },
	{ "rows", "first rows of groups, and subqueries", { "first_rows", "subqueries" },
	  { "The last and first rows of each group", "Subqueries that are kept apart" } },
	{ "keys", "keys and conditions in every form", { "keys", "conditions", "edges" },
	  { "Group keys", "Conditions", "Ends of time, and buckets that are not of one length" } },
	{ "declined", "what is declined", { "declined" }, { "Declined, and why" } },
};

static const char introduction[] =
	"# Queries of dashboards, and what becomes of them\n\n"
	"Which queries of Grafana, Metabase, Superset, Power BI and others, in the words that these tools send, the index answers.\n"
	"`test_bi --table` writes these pages from the queries of `tests/pg/bi/`; the tests fail if they say anything else. They\n"
	"run each query with and without the index in six time zones, and it gives the same rows, types and names.\n\n";

static const char explanation[] =
	"\n## How to read the pages\n\n"
	"The tables have indexes like\n\n"
	"```\n"
	"CREATE INDEX spans_if ON spans USING iforest (service, status, ts) INCLUDE (dur, amount, x) WITH (histogram = 'dur(99999, 499999, 900000)');\n"
	"CREATE INDEX spans_time_if ON spans USING iforest (ts) INCLUDE (dur, amount, x) WITH (histogram = 'dur(99999, 499999, 900000)');\n"
	"```\n\n"
	"**index** means that the grouped part of the query is `Custom Scan (IForestAggregate)`, or that a `Custom Scan\n"
	"(IForestSkip)` reads the first rows of each group; sorting, limits, window\n"
	"functions and what is computed above the groups are PostgreSQL's in any case. A reason why not is in the words of\n"
	"`SET iforest.explain_decline = on`, and PostgreSQL answers as it would without the index. `-` means that no part of\n"
	"the query is one that an index could answer. The planner takes what it estimates to cost less: with tables of a\n"
	"million rows and default costs that is the index where these pages say so (`make check-bi-large` tests it). With\n"
	"**index, if forced** it is another plan, and the tests make others expensive to see that the index gives the same\n"
	"rows: its keys change with nearly each row, or the window has few rows, or there are nearly as many groups as rows.\n"
	"**index or not** stands for a query that has several forms or levels, for some of which the index is taken.\n";

enum { MOST_SHOWN = 190, MOST_WORDS = 2300 };

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

/* ---- pages ---- */

static FILE *begin_page(struct bi_pages *made, const struct subject *subject, unsigned part)
{
	struct bi_page *page = &made->pages[made->n++];
	char number[12] = "";
	FILE *to;

	assert_true(made->n <= MOST_BI_PAGES);
	if (part > 1)
		snprintf(number, sizeof number, "_%u", part);
	snprintf(page->path, sizeof page->path, "%s%s%s%s.md", BI_TABLE_PATH, subject ? "_" : "", subject ? subject->name : "", number);
	page->subject = subject;
	page->part = part;
	to = open_memstream(&page->text, &page->n_bytes);
	assert_non_null(to);
	return to;
}

static size_t count_words(const char *text)
{
	size_t n = 0;

	for (text += strspn(text, " \n"); *text; n++) {
		text += strcspn(text, " \n");
		text += strspn(text, " \n");
	}
	return n;
}

static void add_heading(FILE *to, const char *heading)
{
	fprintf(to, "\n## %s\n\n| query | tool | SQL | answered by |\n|---|---|---|---|\n", heading);
}

static void add_top(FILE *to, const struct subject *subject, unsigned part)
{
	fprintf(to, "# Queries: %s%s\n\n[What the last column means](postgres_queries.md#how-to-read-the-pages).\n", subject->title, part > 1 ? ", continued" : "");
}

/* The queries of a page, and what does not fit on it on further ones. */
static void add_page(struct bi_pages *made, const struct bi_suite *suite, const struct subject *subject)
{
	unsigned part = 1;
	FILE *to = begin_page(made, subject, part);

	add_top(to, subject, part);
	for (size_t f = 0; f < COUNT_OF(subject->files) && subject->files[f]; f++) {
		add_heading(to, subject->headings[f]);
		for (unsigned i = 0; i < suite->n; i++) {
			struct row row = { .to = to };

			if (strcmp(suite->queries[i].file, subject->files[f]) != 0)
				continue;
			bi_each_statement(suite, &suite->queries[i], add_row, &row);
			fflush(to);
			if (count_words(made->pages[made->n - 1].text) > MOST_WORDS && i + 1 < suite->n && strcmp(suite->queries[i + 1].file, subject->files[f]) == 0) {
				fclose(to);
				to = begin_page(made, subject, ++part);
				add_top(to, subject, part);
				add_heading(to, subject->headings[f]);
			}
		}
	}
	fclose(to);
}

/* ---- the overview ---- */

static bool is_on(const struct subject *subject, const struct bi_query *query)
{
	for (size_t f = 0; f < COUNT_OF(subject->files) && subject->files[f]; f++)
		if (strcmp(subject->files[f], query->file) == 0)
			return true;
	return false;
}

struct sums {
	unsigned n, n_answered, n_taken, n_declined;
};

/* Of a page; NULL: of all. */
static struct sums sums_of(const struct bi_suite *suite, const struct subject *subject)
{
	struct sums sums = { .n = 0 };

	for (unsigned i = 0; i < suite->n; i++) {
		const struct bi_query *query = &suite->queries[i];

		if (subject && !is_on(subject, query))
			continue;
		sums.n++;
		sums.n_answered += query->n_nodes > 0;
		sums.n_taken += query->n_nodes > 0 && strcmp(query->large, "plain") != 0;
		sums.n_declined += query->n_nodes == 0 && query->reason;
	}
	return sums;
}

static void add_sums(FILE *to, const struct bi_suite *suite, const struct bi_pages *made)
{
	struct sums all = sums_of(suite, NULL);
	unsigned n_on_pages = 0;

	fprintf(to, "%u queries; %u can be answered from the index, wholly or in part, and of a million rows %u are.\n\n", all.n, all.n_answered, all.n_taken);
	fprintf(to, "| of | queries | answered from the index | of a million rows | declined |\n|---|---|---|---|---|\n");
	for (size_t p = 0; p < COUNT_OF(subjects); p++) {
		struct sums sums = sums_of(suite, &subjects[p]);

		fprintf(to, "| ");
		for (unsigned i = 0; i < made->n; i++) {
			const struct bi_page *page = &made->pages[i];
			const char *file = page->path + strlen("docs/");

			if (page->subject == &subjects[p] && page->part == 1)
				fprintf(to, "[%s](%s)", subjects[p].title, file);
			else if (page->subject == &subjects[p])
				fprintf(to, ", [%u](%s)", page->part, file);
		}
		fprintf(to, " | %u | %u | %u | %u |\n", sums.n, sums.n_answered, sums.n_taken, sums.n_declined);
		n_on_pages += sums.n;
	}
	if (n_on_pages != all.n)
		client_fail("a file of tests/pg/bi is on no page, or on two, of tests/pg/bi_table.c");
}

/* Each reason once, at its first query. */
static void add_reasons(FILE *to, const struct bi_suite *suite)
{
	fprintf(to, "\n## Why not\n\nThe reasons that the pages have, and the first query of each. [What can be done](postgres_declined.md).\n\n| reason | queries | such as |\n|---|---|---|\n");
	for (unsigned i = 0; i < suite->n; i++) {
		const char *reason = suite->queries[i].reason;
		unsigned n = 0, first = suite->n;

		for (unsigned j = 0; reason && j < suite->n; j++)
			if (suite->queries[j].reason && strcmp(suite->queries[j].reason, reason) == 0) {
				first = first < j ? first : j;
				n++;
			}
		if (first == i)
			fprintf(to, "| %s | %u | %s |\n", reason, n, suite->queries[i].name);
	}
}

void bi_table(const struct bi_suite *suite, struct bi_pages *made)
{
	FILE *to;

	*made = (struct bi_pages){ .n = 0 };
	for (size_t p = 0; p < COUNT_OF(subjects); p++)
		add_page(made, suite, &subjects[p]);
	to = begin_page(made, NULL, 1);
	fputs(introduction, to);
	add_sums(to, suite, made);
	add_clients(to);
	add_reasons(to, suite);
	fputs(explanation, to);
	fclose(to);
}

void bi_table_free(struct bi_pages *made)
{
	for (unsigned i = 0; i < made->n; i++)
		free(made->pages[i].text);
}
