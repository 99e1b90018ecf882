/* planner_index_query_own.h -- Not for others. */
#ifndef IFOREST_PG_PLANNER_INDEX_QUERY_OWN_H
#define IFOREST_PG_PLANNER_INDEX_QUERY_OWN_H

#include "pg_ext/base/engine.h"
#include "pg_ext/planner/index_query.h"
#include "pg_ext/planner/aggregates.h"

/* Which function that is; false: none of these. */
bool iforest_function_find(Oid oid, enum iforest_function *function);

#endif
