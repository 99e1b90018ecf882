/* query_groups.h -- which series a query is about, and which of them make a group. */
#ifndef IFOREST_SQLITE_QUERY_GROUPS_H
#define IFOREST_SQLITE_QUERY_GROUPS_H

#include "sqlite_ext/query/query.h"

/* Fills in the query's members and groups, from the dictionary of its snapshot. argv are the values of the plan's
 * conditions. */
int iforest_query_choose(struct iforest_query *query, const struct iforest_plan *plan, sqlite3_value **argv,
			 struct iforest_error *error);

#endif
