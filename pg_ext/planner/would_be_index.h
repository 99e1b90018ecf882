/* planner/would_be_index.h -- An index of an empty copy of a table, which the planner takes for one of the table itself.
 *
 * The copy has the same columns with the same numbers. So the hypothetical index has all properties of a real one and passes
 * the same checks; only its size is estimated. Plans that use it must not be run.
 */
#ifndef IFP_PLANNER_WOULD_BE_INDEX_H
#define IFP_PLANNER_WOULD_BE_INDEX_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

struct ifp_would_be_index {
	Oid table;	       /* the table that would have the index, itself or on its partitions */
	Oid copied;	       /* that, or a partition with columns of other numbers */
	Oid copy, index;       /* the empty copy of the latter, and the index that it has */
	int n_values, n_reals; /* n_reals: value columns of a real type */
};

/* Returns the approximate size of such an index for n_rows rows. Differences of times and values may pack into fewer bytes. */
double ifp_would_be_bytes(double n_rows, int n_values, int n_reals);

/* True if the table would have the index: it is the copied one, or a partition whose columns have the same numbers. */
bool ifp_would_be_index_is_of(const struct ifp_would_be_index *index, Oid table);

/* Makes the planner see these indexes (list of struct ifp_would_be_index); NIL: none. The list belongs to the caller, who must
 * reset it to NIL, also after an error. */
void ifp_would_be_indexes_set(List *indexes);

/* Adds them to a table whose indexes the planner has just collected. */
void ifp_would_be_indexes_add(PlannerInfo *root, Oid table, bool is_parent, RelOptInfo *rel);

#endif
