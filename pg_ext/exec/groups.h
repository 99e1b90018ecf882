/* exec/groups.h -- Groups of an aggregate query: their keys, and the aggregate states of each.
 *
 * Groups are in a hash table. If the buckets of each group are consecutive, comparing with the last group is enough.
 *
 * The rows of a bucket may be in pieces (planner/value_steps.h), each in its own group. If the group keys that depend on the
 * piece have no other column, they are evaluated once for each piece, and one lookup by the other keys finds the groups of all
 * pieces of a bucket.
 */
#ifndef IFP_EXEC_GROUPS_H
#define IFP_EXEC_GROUPS_H

#include "pg_ext/planner/index_query.h"

#include "executor/executor.h"

struct ifp_groups;

/* Prepares groups by the keys with these numbers (IntList), with states of state_bytes each, in the current memory context.
 * Keys are evaluated in econtext. */
struct ifp_groups *ifp_groups_begin(const struct ifp_index_query *query, const List *numbers, Size state_bytes, PlanState *node,
				    ExprContext *econtext);

/* Discards all groups; new ones are allocated in the context. Without group keys there is one group from the start. */
void ifp_groups_reset(struct ifp_groups *groups, MemoryContext context);

/* Tells that the row in econtext has changed in more than its piece.
 * note  NULL, or a place that the rows of a bucket share, of all series. If no key has a column but the time, their group is kept
 *       there, and looked up once. *note must be NULL at first, and again after a reset; `note` is used until the next call. */
void ifp_groups_move(struct ifp_groups *groups, void **note);

/* Returns the states of the group of the row in econtext, for that piece; 0 if there are no pieces. States of a new group are
 * zeros. */
void *ifp_groups_find(struct ifp_groups *groups, int piece);

/* Returns the states of the next group and writes each key at its number; NULL after the last. The order is undefined. */
void *ifp_groups_next(struct ifp_groups *groups, Datum *keys, bool *are_null);

#endif
