/* exec/set_groups.h -- Groups of all grouping sets of a query; of one set with all keys if it has no grouping sets.
 *
 * Each set has its own groups (exec/groups.h), by some of the keys. A bucket is added to one group of each set.
 */
#ifndef IFP_EXEC_SET_GROUPS_H
#define IFP_EXEC_SET_GROUPS_H

#include "pg_ext/exec/groups.h"

struct ifp_set_groups;

/* Prepares groups with states of state_bytes each, in the current memory context. Keys are evaluated in econtext. */
struct ifp_set_groups *ifp_set_groups_begin(const struct ifp_index_query *query, Size state_bytes, PlanState *node,
					    ExprContext *econtext);

/* Discards all groups; new ones are allocated in the context. */
void ifp_set_groups_reset(struct ifp_set_groups *sets, MemoryContext context);

/* Tells that the row in econtext has changed in more than its piece. note: as for ifp_groups_move(), of a query with one set;
 * others leave it as it is. */
void ifp_set_groups_move(struct ifp_set_groups *sets, void **note);

/* Returns the number of sets. */
int ifp_set_groups_n(const struct ifp_set_groups *sets);

/* Returns the states of the row's group in set number i, as ifp_groups_find() does. */
void *ifp_set_groups_find(struct ifp_set_groups *sets, int i, int piece);

/* Returns the states of the next group; NULL after the last. Writes its keys, NULL for those not in its set, and from index
 * `groupings` on the values of the query's GROUPING() calls. */
void *ifp_set_groups_next(struct ifp_set_groups *sets, Datum *keys, bool *are_null, int groupings);

#endif
