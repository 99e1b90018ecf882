/* exec/groups.h -- Groups of an aggregate query: their keys, and the aggregate states of each. */
#ifndef IFP_EXEC_GROUPS_H
#define IFP_EXEC_GROUPS_H

#include "pg_ext/planner/index_query.h"

#include "executor/executor.h"

struct ifp_groups;

/* Prepares. Keys are evaluated in econtext. Lives in the current memory context. */
struct ifp_groups *ifp_groups_begin(const struct ifp_index_query *query, Size state_bytes, PlanState *node,
				    ExprContext *econtext);

/* Starts without groups (but with the one of a query without group keys), with memory of the context. */
void ifp_groups_reset(struct ifp_groups *groups, MemoryContext context);

/* The states of the group that the row in econtext belongs to. */
void *ifp_groups_find(struct ifp_groups *groups);

/* Groups one after the other, in no order: the states, or NULL after the last. The keys are written. */
void *ifp_groups_next(struct ifp_groups *groups, Datum *keys, bool *are_null);

#endif
