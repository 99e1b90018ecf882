/* upkeep.h -- what the commands do to an index: sealing what is pending into a run, merging runs.
 *
 * All of it within the statement that asks for it, never in a read. A command that fails for want of memory or disk takes the
 * whole transaction with it, as SQLite does; one that is refused has changed nothing. Afterwards the handle has forgotten its
 * state (iforest_index_forget).
 */
#ifndef IFOREST_SQLITE_UPKEEP_H
#define IFOREST_SQLITE_UPKEEP_H

#include "sqlite_ext/follow/snapshot.h"

/* flush: what is pending becomes a run, and nothing is pending any more: the log is consumed as a whole, so that no rowid keeps
 * a part of its rows. Then merges some runs, within a bound that grows with their number.
 * Cost  that of reading what is pending; memory of it. */
int iforest_flush(struct iforest_index *index, struct iforest_error *error);

/* merge: all merges that the policy sees (core/run/compact.h), as long as they read no more than most_pages
 * together. optimize: flush, then all runs become one. */
int iforest_merge(struct iforest_index *index, uint64_t most_pages, struct iforest_error *error);
int iforest_optimize(struct iforest_index *index, struct iforest_error *error);

#endif
