/* Names of tables as SQL writes them: spans, public.spans, "My Schema"."Spans". */
#ifndef TOOLS_TABLE_NAME_H
#define TOOLS_TABLE_NAME_H

#include <stdbool.h>

/* The name with every part in quotes, ready for SQL: letters outside of quotes are small ones, as in SQL. Owned by the
 * caller; NULL with *problem set to a literal if it is no name. */
char *table_name_parse(const char *text, const char **problem);

#endif
