/* storage/compact.h -- Flush of pending chains to runs, and merges of many runs to few, also by a background worker.
 *
 * The worker merges one index and ends. It ends at once if the table is locked, and sooner, with an error in the server's log,
 * if somebody waits for the table, the index or the database. Another worker is started when there are more rows.
 */
#ifndef IFP_STORAGE_COMPACT_H
#define IFP_STORAGE_COMPACT_H

#include "pg_ext/storage/index.h"

/* Takes the maintenance lock and sets the worklist in the metapage: all runs that index->manifest then names, except for those
 * numbered worklist_below or later, are the caller's. With `wait`, everything appended before the call is in one of these runs,
 * and runs whose removal was interrupted are repaired. Without it, the work is bounded, and it returns false if the lock is
 * taken. */
bool ifp_maintenance_begin(struct ifp_index *index, bool wait);
void ifp_maintenance_end(struct ifp_index *index);

/* Merges by policy until nothing is left to merge, or all runs to one. Requires  the maintenance lock. */
void ifp_compact_all(struct ifp_index *index, bool complete);

/* Called when this backend's chain has grown to its length: closes and flushes it and merges a little, or starts a worker if
 * there is much to merge.
 * Cost      bounded: the number of pages written does not grow with the index. */
void ifp_compact_after_append(Relation relation, bool background);

/* Frees extents that are named nowhere; does nothing while others write runs. Requires  the maintenance lock. */
void ifp_compact_reclaim(struct ifp_index *index);

#endif
