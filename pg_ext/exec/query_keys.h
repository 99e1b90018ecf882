/* exec/query_keys.h -- Key conditions of an index query, evaluated to the series and ranges of time that they select. */
#ifndef IFP_EXEC_QUERY_KEYS_H
#define IFP_EXEC_QUERY_KEYS_H

#include "pg_ext/planner/index_query.h"

#include "pg_ext/am/scan_keys.h"

struct ifp_query_keys;

/* Prepares the conditions of a query, in the current memory context. */
struct ifp_query_keys *ifp_query_keys_begin(const struct ifp_index_query *query);

/* Evaluates them in econtext for an index with this definition and id. Returns false if one is NULL, so that nothing passes. */
bool ifp_query_keys_read(struct ifp_query_keys *keys, ExprContext *econtext, Relation index,
			 const struct ifp_definition *definition, uint64 index_id, struct ifp_scan_keys *result);

#endif
