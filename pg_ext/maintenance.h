/* maintenance.h -- sealing and merging: what keeps the number of runs small. locks.h says who may do what at the same time. */
#ifndef IFOREST_PG_MAINTENANCE_H
#define IFOREST_PG_MAINTENANCE_H

#include "pg_ext/index.h"

/* Makes closed chains into runs: those whose lock is free, or all of them (`wait`) up to and including those closed before
 * the call. Sorts in memory, a chain at a time. Returns the number of chains sealed. */
uint32 iforest_seal(struct iforest_index *index, bool wait);

/* Takes the maintenance lock and says so in the metapage: all runs that index->manifest then names are the caller's, but for
 * those numbered worklist_below or later. With `wait` everything appended before the call is in one of these runs, and runs
 * whose removal was cut off are repaired; without, the lock may be refused, and the work is bounded. */
bool iforest_maintenance_begin(struct iforest_index *index, bool wait);
void iforest_maintenance_end(struct iforest_index *index);

/* Merges once what the policy chooses among what may be merged now, of at most most_pages source pages. Returns false if
 * there is more to merge that nobody is at. index is refreshed. */
bool iforest_merge_some(struct iforest_index *index, uint64 most_pages);

/* Merges by policy until nothing is left to merge, or all runs to one. Requires the maintenance lock. */
void iforest_merge_all(struct iforest_index *index, bool complete);

/* After this backend's chain has grown to its length: closes and seals it and merges a little, or asks a worker to merge
 * where there is much. Bounded: what it writes does not grow with the index. */
void iforest_after_append(Relation relation, bool background);

/* Is the manifest so long that no more runs should be sealed before some are merged? index has been refreshed. */
bool iforest_is_crowded(const struct iforest_index *index);

/* Frees what is named nowhere. Requires the maintenance lock; does nothing while others write runs. */
void iforest_reclaim(struct iforest_index *index);

#endif
