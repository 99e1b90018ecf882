/* storage/compact.h -- Flush of pending chains to runs, and merges of many runs to few, also by a background worker. */
#ifndef IFP_STORAGE_COMPACT_H
#define IFP_STORAGE_COMPACT_H

#include "pg_ext/storage/index.h"

/* Takes the maintenance lock and says so in the metapage: all runs that index->manifest then names are the caller's, but for
 * those numbered worklist_below or later. With `wait` everything appended before the call is in one of these runs, and runs
 * whose removal was cut off are repaired; without, the lock may be refused, and the work is bounded. */
bool ifp_maintenance_begin(struct ifp_index *index, bool wait);
void ifp_maintenance_end(struct ifp_index *index);

/* Merges by policy until nothing is left to merge, or all runs to one. Requires the maintenance lock. */
void ifp_compact_all(struct ifp_index *index, bool complete);

/* After this backend's chain has grown to its length: closes and seals it and merges a little, or asks a worker to merge
 * where there is much. Bounded: what it writes does not grow with the index. */
void ifp_compact_after_append(Relation relation, bool background);

/* Frees what is named nowhere. Requires the maintenance lock; does nothing while others write runs. */
void ifp_compact_reclaim(struct ifp_index *index);

#endif
