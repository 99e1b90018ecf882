/* storage_compact_own.h -- Not for others. */
#ifndef IFOREST_PG_STORAGE_COMPACT_OWN_H
#define IFOREST_PG_STORAGE_COMPACT_OWN_H

#include "pg_ext/base/engine.h"
#include "pg_ext/storage/compact.h"

/* Merges once what the policy chooses among what may be merged now, of at most most_pages source pages. Returns false if
 * there is more to merge that nobody is at. index is refreshed. */
bool iforest_merge_some(struct iforest_index *index, uint64 most_pages);

/* Is the manifest so long that no more runs should be sealed before some are merged? index has been refreshed. */
bool iforest_is_crowded(const struct iforest_index *index);

#endif
