#include "tests/pg/bi_queries.h"

#include <ctype.h>
#include <glob.h>
#include <strings.h>

#include "tests/support/examples.h"

static const char folder[] = "tests/pg/bi/";

/* ---- reading ---- */

/* "key: value | key: value ..." of a header, cut in place. */
static void read_header(struct bi_query *query, char *header)
{
	const struct { const char *key; const char **value;
	} fields[] = { { "name", &query->name }, { "tool", &query->tool }, { "rows", &query->rows }, { "on", &query->on },
		       { "expect", &query->expect }, { "large", &query->large }, { "execute", &query->execute }, { "then", &query->then },
		       { "within", &query->within } };

	for (size_t i = 0; i < COUNT_OF(fields); i++)
		*fields[i].value = "";
	for (char *field = header, *end; field; field = end) {
		size_t i = 0, n = strcspn(field, ":");

		end = strstr(field, " | ");
		if (end) {
			*end = '\0';
			end += 3;
		}
		while (i < COUNT_OF(fields) && (strlen(fields[i].key) != n || strncmp(fields[i].key, field, n) != 0))
			i++;
		if (i == COUNT_OF(fields) || strncmp(field + n, ": ", 2) != 0)
			client_fail("%s%s.sql has a header with '%s'", folder, query->file, field);
		*fields[i].value = field + n + 2;
	}
}

/* "node", "2 nodes", "declined: reason", "node, declined: reason", "plain" */
static void read_expectation(struct bi_query *query)
{
	const char *expect = query->expect, *declined = strstr(expect, "declined: ");

	query->n_nodes = strncmp(expect, "node", 4) == 0 ? 1 : (unsigned)strtoul(expect, NULL, 10);
	query->reason = declined ? declined + strlen("declined: ") : NULL;
	if (query->n_nodes == 0 && !query->reason && strcmp(expect, "plain") != 0)
		client_fail("%s expects '%s'", query->name, expect);
	if (query->large[0] &&
	    (query->n_nodes == 0 || (strcmp(query->large, "plain") != 0 && strcmp(query->large, "some") != 0)))
		client_fail("%s expects '%s' of large tables", query->name, query->large);
}

/* Takes the lines from *at on that begin with "--" as one header, joined in place. */
static char *take_header(char **at)
{
	char *header = *at + 3, *to = header;

	for (char *line = *at; strncmp(line, "-- ", 3) == 0; line = *at) {
		size_t n = strcspn(line, "\n") - 3;

		if (to > header)
			*to++ = ' ';
		*at = line + 3 + n + (line[3 + n] == '\n');
		memmove(to, line + 3, n);
		to += n;
	}
	*to = '\0';
	return header;
}

/* Takes the lines up to one that ends with ';'. */
static char *take_sql(char **at, const struct bi_query *query)
{
	char *sql = *at, *end = strstr(sql, ";\n");

	if (!end)
		client_fail("%s has no end", query->name);
	*end = '\0';
	*at = end + 2;
	return sql;
}

static void add_query(struct bi_suite *suite, const struct bi_query *query)
{
	if (strcmp(query->file, "bounds") == 0) {
		assert_true(suite->n_bounds < MOST_BI_FILES);
		suite->bounds[suite->n_bounds++] = *query;
		return;
	}
	for (unsigned i = 0; i < suite->n; i++)
		if (strcmp(suite->queries[i].name, query->name) == 0)
			client_fail("two queries are called %s", query->name);
	assert_true(suite->n < MOST_BI_QUERIES);
	suite->queries[suite->n] = *query;
	read_expectation(&suite->queries[suite->n++]);
}

/* Entries begin with "-- name: "; other lines between them are for readers. */
static void read_queries(struct bi_suite *suite, const char *file, char *at)
{
	struct bi_query query = { .file = file };

	while (*at) {
		if (strncmp(at, "-- name: ", 9) == 0) {
			char *header = take_header(&at);

			query.sql = take_sql(&at, &query);
			read_header(&query, header);
			add_query(suite, &query);
		} else if (strncmp(at, "--", 2) == 0 || *at == '\n') {
			at += strcspn(at, "\n") + 1;
		} else {
			client_fail("%s%s.sql has SQL without a name: %.80s", folder, file, at);
		}
	}
}

void bi_read(struct bi_suite *suite)
{
	glob_t files;

	*suite = (struct bi_suite){ .n = 0 };
	if (glob("tests/pg/bi/*.sql", 0, NULL, &files) != 0)
		client_fail("no %s: run this from the top of the project", folder);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		char *name = strdup(files.gl_pathv[i] + strlen(folder)), *text = read_whole_file(files.gl_pathv[i]);

		*strrchr(name, '.') = '\0';
		assert_true(suite->n_texts + 2 <= MOST_BI_FILES);
		suite->texts[suite->n_texts++] = name;
		suite->texts[suite->n_texts++] = text;
		if (strcmp(name, "tables") != 0)
			read_queries(suite, name, text);
	}
	globfree(&files);
}

void bi_free(struct bi_suite *suite)
{
	while (suite->n_texts > 0)
		free(suite->texts[--suite->n_texts]);
}

/* ---- statements ---- */

/* Adds the text with each `name` in it that is a whole word replaced. */
static void add_replaced(struct text *to, const char *text, const char *name, const char *by)
{
	for (const char *at = text; (at = strstr(at, name));) {
		const char *after = at + strlen(name);

		if (!isalnum((unsigned char)*after) && (at == text || at[-1] != ':')) {
			text_add(to, "%.*s%s", (int)(at - text), text, by);
			text = after;
		}
		at = after;
	}
	text_add(to, "%s", text);
}

/* Does the statement end with an ORDER BY of its own, not one of a part in parentheses? */
static bool is_ordered(const char *sql)
{
	static const char words[] = "ORDER BY";
	bool found = false;
	int depth = 0;

	for (; *sql; sql++) {
		depth += (*sql == '(') - (*sql == ')');
		found |= depth == 0 && strncasecmp(sql, words, strlen(words)) == 0;
	}
	return found;
}

static void visit_bound(const struct bi_query *query, const struct bi_query *bound, const char *table, bi_visit visit,
			void *context)
{
	struct bi_statement statement = { .query = query, .execute = bound ? bound->execute : query->execute };
	struct text bounded, whole;

	text_set(&statement.name, "%s", query->name);
	text_set(&bounded, "%s", "");
	text_set(&whole, "%s", "");
	text_set(&statement.sql, "%s", "");
	add_replaced(&bounded, query->sql, ":range", bound ? bound->sql : ":range");
	if (bound && bound->within[0])
		add_replaced(&whole, bound->within, ":query", bounded.at);
	else
		text_set(&whole, "%s", bounded.at);
	add_replaced(&statement.sql, whole.at, ":t", table);
	if (query->on[0])
		text_add(&statement.name, " on %s", table);
	if (bound)
		text_add(&statement.name, " with %s", bound->name);
	statement.is_ordered = is_ordered(query->then[0] ? query->then : statement.sql.at);
	visit(&statement, context);
}

void bi_each_statement(const struct bi_suite *suite, const struct bi_query *query, bi_visit visit, void *context)
{
	unsigned n_bounds = strstr(query->sql, ":range") ? suite->n_bounds : 0;
	const char *tables = query->on;

	do {
		size_t n = strcspn(tables, " ");
		char table[40];

		snprintf(table, sizeof table, "%.*s", (int)n, tables);
		for (unsigned i = 0; i < n_bounds; i++)
			visit_bound(query, &suite->bounds[i], table, visit, context);
		if (n_bounds == 0)
			visit_bound(query, NULL, table, visit, context);
		tables += n;
		tables += *tables == ' ';
	} while (*tables);
}
