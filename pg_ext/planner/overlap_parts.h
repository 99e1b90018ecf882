/* overlap_parts.h -- of which indexes an index is made up: itself; of a partitioned one those of all leaf partitions. */
#ifndef IFOREST_PG_OVERLAP_PARTS_H
#define IFOREST_PG_OVERLAP_PARTS_H

#include "pg_ext/base/engine.h"

#include "nodes/pg_list.h"

struct iforest_overlap_parts {
	List *tables, *indexes;  /* OIDs, in pairs; locked with AccessShareLock, until the transaction ends */
	bool has_foreign;        /* and there are partitions elsewhere, of which an index knows nothing */
};

/* Requires  the index and its table to be open and locked. Partitions are those that a query sees now: one that is being
 *           detached is none any more.
 * Raises an error where a partition has no valid index that belongs to this one. The lists are in the current memory context.
 */
struct iforest_overlap_parts iforest_overlap_parts(Relation heap, Relation index);

#endif
