/* function_index.h -- Not for others. */
#ifndef IFOREST_PG_FUNCTION_INDEX_H
#define IFOREST_PG_FUNCTION_INDEX_H

#include "pg_ext/sql/sqlgen.h"

/* function_index.c: the index as it is, and what the extension in that schema has. */
void iforest_functions_read(Relation heap, Relation index, Oid extension_schema, struct iforest_functions *functions);

#endif
