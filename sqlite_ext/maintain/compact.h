/* maintain/compact.h -- Flush of the delta into a stored run, and merges of runs: the commands flush, merge and optimize.
 *
 * A command runs within the statement that requests it, never in a read. If it fails for want of memory or disk, the whole
 * transaction fails, as SQLite does; if it is refused, nothing has changed. Afterwards the handle has no cached state
 * (ifs_index_forget()).
 */
#ifndef IFS_MAINTAIN_COMPACT_H
#define IFS_MAINTAIN_COMPACT_H

#include "sqlite_ext/follow/snapshot.h"

/* flush: makes a run of all pending rows and empties the log. It takes all or nothing, so that no rowid is half flushed.
 * Then merges some runs, within a bound that grows with their number.
 * Cost  time and memory of reading what is pending */
int ifs_flush(struct ifs_index *index, struct ifs_error *error);

/* merge: runs all merges that the policy chooses (core/run/compact.h), as long as they read at most most_pages together.
 * optimize: flushes, then merges all runs into one. */
int ifs_merge(struct ifs_index *index, uint64_t most_pages, struct ifs_error *error);
int ifs_optimize(struct ifs_index *index, struct ifs_error *error);

#endif
