/* storage/compact.h -- Flush of pending chains to runs, and merges of runs, in the foreground or by a background worker.
 *
 * The worker merges one index and exits. It exits at once if the table is locked, and early, with an error in the server's log,
 * if somebody waits for the table, the index or the database. Later inserts start another worker.
 */
#ifndef IFP_STORAGE_COMPACT_H
#define IFP_STORAGE_COMPACT_H

#include "pg_ext/storage/index.h"

/* Takes the maintenance lock and sets the worklist in the metapage: the runs that index->manifest then names, except those
 * numbered worklist_below or later, are the caller's. With `wait`, these contain everything appended before the call, and runs
 * whose removal was interrupted are repaired. Without it, the work is bounded, and it returns false if the lock is taken. */
bool ifp_maintenance_begin(struct ifp_index *index, bool wait);
void ifp_maintenance_end(struct ifp_index *index);

/* Merges by policy until nothing is left to merge; if `complete`, to a single run. Requires  the maintenance lock. */
void ifp_compact_all(struct ifp_index *index, bool complete);

/* Must be called when this backend's chain has reached its maximum length. Closes and flushes it and merges a little, or starts
 * a worker if there is much to merge.
 * Cost      bounded: the number of pages written does not grow with the index. */
void ifp_compact_after_append(Relation relation, bool background);

/* Frees extents that nothing names; does nothing while other backends write runs. Requires  the maintenance lock. */
void ifp_compact_reclaim(struct ifp_index *index);

#endif
