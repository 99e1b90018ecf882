/* bi_table.h -- docs/postgres_queries.md, as the queries of bi/ say it.
 */
#ifndef TESTS_PG_BI_TABLE_H
#define TESTS_PG_BI_TABLE_H

#include "tests/pg/bi_queries.h"

#define BI_TABLE_PATH "docs/postgres_queries.md"

/* The whole file. To be freed. */
char *bi_table(const struct bi_suite *suite);

#endif
