/* sql_sqlgen_overlap_own.h -- Not for others. */
#ifndef IFOREST_PG_SQL_SQLGEN_OVERLAP_OWN_H
#define IFOREST_PG_SQL_SQLGEN_OVERLAP_OWN_H

#include "pg_ext/base/engine.h"
#include "pg_ext/sql/sqlgen_overlap.h"

/* r: the rows that reach into the window, with by columns c1 ..., ts, ends, length and id, their ctid. Requires a length. */
void iforest_add_spans(StringInfo text, const struct iforest_functions *functions);

#endif
