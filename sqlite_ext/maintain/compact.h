/* maintain/compact.h -- Flush of the delta into a stored run, and merges of runs: the commands flush, merge and optimize.
 *
 * A command runs within the statement that asks for it, never in a read. If it fails for want of memory or disk, the whole
 * transaction fails, as is SQLite's way; if it is refused, nothing has changed. Afterwards the handle has no cached state
 * (ifs_index_forget).
 */
#ifndef IFS_MAINTAIN_COMPACT_H
#define IFS_MAINTAIN_COMPACT_H

#include "sqlite_ext/follow/snapshot.h"

/* flush: what is pending becomes a run, and nothing is pending any more: the log is consumed as a whole, so that no rowid keeps
 * a part of its rows. Then merges some runs, within a bound that grows with their number.
 * Cost  that of reading what is pending; memory of it. */
int ifs_flush(struct ifs_index *index, struct ifs_error *error);

/* merge: all merges that the policy sees (core/run/compact.h), as long as they read no more than most_pages
 * together. optimize: flush, then all runs become one. */
int ifs_merge(struct ifs_index *index, uint64_t most_pages, struct ifs_error *error);
int ifs_optimize(struct ifs_index *index, struct ifs_error *error);

#endif
