/* bi_queries.h -- the queries of bi/: read from their files, and made into the statements that they stand for.
 */
#ifndef TESTS_PG_BI_QUERIES_H
#define TESTS_PG_BI_QUERIES_H

#include "tests/pg/client.h"

/* An entry of a file, as bi/README.md explains it. All text belongs to the suite; "" stands for what is not said. */
struct bi_query {
	const char *file;    /* "grafana" */
	const char *name, *tool, *rows, *expect, *large, *on, *execute, *then, *within;
	const char *sql;     /* without the semicolon */
	unsigned n_nodes;    /* custom scans expected in its plan; of large tables unless `large` says otherwise */
	const char *reason;  /* why a level of it is declined, NULL: none is */
};

enum { MOST_BI_QUERIES = 600, MOST_BI_FILES = 50 };

struct bi_suite {
	struct bi_query queries[MOST_BI_QUERIES]; /* file by file */
	unsigned n;
	struct bi_query bounds[MOST_BI_FILES];    /* what :range stands for, one after the other */
	unsigned n_bounds;
	char *texts[MOST_BI_FILES];
	unsigned n_texts;
};

/* Reads bi/; fails if something in it cannot be understood, or two queries have the same name. */
void bi_read(struct bi_suite *suite);
void bi_free(struct bi_suite *suite);

/* One statement out of a query. */
struct bi_statement {
	const struct bi_query *query;
	struct text name;    /* the query's, with table and bound where it has several */
	struct text sql;
	const char *execute; /* arguments of a prepared statement, "": it is none */
	bool is_ordered;     /* ORDER BY says where each row stands */
};

typedef void (*bi_visit)(const struct bi_statement *statement, void *context);

/* Calls for each statement that a query stands for: for each of its tables, for each bound. */
void bi_each_statement(const struct bi_suite *suite, const struct bi_query *query, bi_visit visit, void *context);

#endif
