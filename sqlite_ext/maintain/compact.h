/* maintain/compact.h -- Flush of the delta into a stored run, and merges of runs: the commands flush, merge and optimize.
 *
 * A command runs within the statement that requests it, never in a read. If it runs out of memory or disk space, the whole
 * transaction fails, as in SQLite; if it is refused, nothing has changed. Afterwards the handle has no cached state
 * (ifs_index_forget()).
 */
#ifndef IFS_MAINTAIN_COMPACT_H
#define IFS_MAINTAIN_COMPACT_H

#include "sqlite_ext/follow/snapshot.h"

/* flush: writes all pending rows to a new run and empties the log. It flushes all or nothing, so that no rowid is half flushed.
 * Then merges some runs, within a limit that grows with the number of runs.
 * Cost  the time and memory to read the pending rows, and the merges */
int ifs_flush(struct ifs_index *index, struct ifs_error *error);

/* merge: runs the merges that the policy chooses (core/run/compact.h), as long as they read at most most_pages in all.
 * optimize: flushes, then merges all runs into one. */
int ifs_merge(struct ifs_index *index, uint64_t most_pages, struct ifs_error *error);
int ifs_optimize(struct ifs_index *index, struct ifs_error *error);

#endif
