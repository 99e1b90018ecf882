/* query/prefetch.h -- Prefetch of the pages and cache lines that the next folds of a sequence will need.
 *
 * Both functions read only pages that are pinned or in memory, and cannot fail. They do nothing if the pager has no prefetch().
 */
#ifndef IFOREST_QUERY_PREFETCH_H
#define IFOREST_QUERY_PREFETCH_H

#include "core/query/fold.h"

/* Prefetches the leaf page of the next position, if pinned node pages tell which one it is. */
void iforest_fold_prefetch(struct iforest_fold *fold, const struct iforest_key *key);

/* Prefetches for a sequence of folds of sums, each of which opens the leaf page that its key cuts. Call it before fold i with
 * the key of fold i + 2: it prefetches the page that this key cuts, and the cut block in the page of fold i + 1, which should
 * have arrived by then. */
void iforest_fold_prefetch_cut(struct iforest_fold *fold, const struct iforest_key *key);

#endif
