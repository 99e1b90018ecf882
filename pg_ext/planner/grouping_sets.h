/* planner/grouping_sets.h -- Grouping sets of a query level: GROUPING SETS, ROLLUP and CUBE, and GROUPING().
 *
 * A set is a list of the numbers of its group keys, from 0. The keys that a set lacks are NULL in its groups. The executor adds
 * each bucket to a group of each set (exec/set_groups.h), so the index is read once, in the buckets of all keys together.
 */
#ifndef IFP_PLANNER_GROUPING_SETS_H
#define IFP_PLANNER_GROUPING_SETS_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

/* Reads the sets of a query whose group keys are `groups`, in the order of GROUP BY: *sets is a list of IntLists, NIL if it has
 * no grouping sets. Returns NULL, or why no index can answer them. */
const char *ifp_grouping_sets_read(const PlannerInfo *root, const List *groups, List **sets);

/* Returns the numbers of the keys that a GROUPING() is about, as an IntList: the first is of the highest bit. */
List *ifp_grouping_keys(const PlannerInfo *root, const GroupingFunc *grouping);

#endif
