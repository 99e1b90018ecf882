/* bi_table.h -- docs/postgres_queries.md and the pages beside it, as the queries of bi/ say them.
 */
#ifndef TESTS_PG_BI_TABLE_H
#define TESTS_PG_BI_TABLE_H

#include "tests/pg/bi_queries.h"

#define BI_TABLE_PATH "docs/postgres_queries"

enum { MOST_BI_PAGES = 40, BI_PATH_BYTES = 80 };

struct subject;

struct bi_pages {
	struct bi_page {
		char path[BI_PATH_BYTES]; /* from the project's root */
		const struct subject *subject; /* NULL: the overview */
		unsigned part;
		char *text;
		size_t n_bytes;
	} pages[MOST_BI_PAGES];
	unsigned n;
};

/* Makes the pages, each of at most some 2 400 words; bi_table_free() frees them. */
void bi_table(const struct bi_suite *suite, struct bi_pages *made);
void bi_table_free(struct bi_pages *made);

#endif
