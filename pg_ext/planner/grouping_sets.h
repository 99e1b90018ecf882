/* planner/grouping_sets.h -- Grouping sets of a query level: GROUPING SETS, ROLLUP and CUBE, and GROUPING().
 *
 * A set is a list of indexes of its group keys, from 0. Keys that are not in the set are NULL in its groups. The executor adds
 * each bucket to one group of each set (exec/set_groups.h), so the index is read once, in buckets of all keys combined.
 */
#ifndef IFP_PLANNER_GROUPING_SETS_H
#define IFP_PLANNER_GROUPING_SETS_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

/* Reads the sets of a query whose group keys are `groups`, in the order of GROUP BY: *sets is a list of IntLists, NIL if it has
 * no grouping sets. Returns NULL, or why no index can answer them. */
const char *ifp_grouping_sets_read(const PlannerInfo *root, const List *groups, List **sets);

/* Returns the indexes of the keys that a GROUPING() names, as an IntList. The first is the highest bit of the result. */
List *ifp_grouping_keys(const PlannerInfo *root, const GroupingFunc *grouping);

#endif
